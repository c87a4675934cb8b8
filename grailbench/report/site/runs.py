"""The pages of runs: what was measured, on what, by which command, and every cell with all of its phases."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from markupsafe import Markup

from grailbench.contract import USUAL
from grailbench.graph.store import sha256_file
from grailbench.report import answer, measured, recorded, strips
from grailbench.report.footnotes import Footnotes
from grailbench.report.page import sections as report_sections
from grailbench.report.page.sections import Block, Folded, Section
from grailbench.report.render.html import signed, templates
from grailbench.report.site.entries import Source, anchor, graph_address, implementation_address, slug
from grailbench.report.table import Table
from grailbench.runs import axes
from grailbench.runs import folder as results
from grailbench.runs.cells import Cell
from grailbench.runs.rows import cell_of
from grailbench.runs.statistics import Stats
from grailbench.words import BLANK, count, gpus, grouped, machine, short, size, some

FEW = 40  #: cells; the graphs of a run with more are folded
LONGEST = 8  #: counters, and graphs of a run, that are told in a line
#: the columns of a run's data, a line a time; `cell` is the anchor on its page
COLUMNS = ("cell", "problem", "dataset", "impl", *axes.NAMES, "seed", "query_set", "phase", "under", "trial", "ms",
           "rate", "status", "reason", "at")  # fmt: skip


class Phase(NamedTuple):
    """A line of a cell: texts of the statistics of a phase, and its trials as a strip."""

    name: str
    trials: str
    median: str
    interval: str
    least: str
    strip: Markup
    outliers: str
    drift: str


class Line(NamedTuple):
    """A cell: the name of its anchor, its configuration and the address of that, its status, all else in a line."""

    anchor: str
    name: str
    address: str
    status: str
    state: str
    sign: str
    about: str
    phases: list[Phase]


class Group(NamedTuple):
    """The cells of a problem on a graph, and what is known of the graph."""

    title: str
    address: str
    about: str
    cells: list[Line]


def data_address(source: Source) -> str:
    """The address of the CSV file with every time of a run."""
    return f"data/runs/{slug(source.name)}.csv"


def data(source: Source) -> Iterator[bytes]:
    """Every row of a run as CSV with the columns `COLUMNS`, in parts. The run still has its rows."""
    names: dict[tuple, str] = {cell.key: anchor(cell) for cell in source.run.cells}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for number, row in enumerate(source.run.rows, 1):
        key = cell_of(row)
        writer.writerow([names[key], key[0], *(row.get(name) for name in COLUMNS[2:])])
        if number % 1000 == 0:
            yield out.getvalue().encode("utf-8", "replace")
            out.seek(0)
            out.truncate()
    yield out.getvalue().encode("utf-8", "replace")


def page(source: Source, up: str = "../") -> list[Section]:
    """The page of a run: its summary, its cells graph by graph, its environment."""
    return [
        Section("summary", "Summary", list(_summary(source, up))),
        Section("cells", "Every cell", list(_cells(source, up))),
        Section("environment", "Environment", list(report_sections.environment(source.run.environment))),
    ]


def description(source: Source) -> str:
    """A sentence on a run: how many cells of which problems, on which machine."""
    run = source.run
    graphs = {(cell.problem, cell.dataset) for cell in run.cells}
    what = f"{count(len(run.cells), 'cell')} of {some(run.problems, 4)} on {count(len(graphs), 'graph')}"
    return f"{what}. {machine(run.environment)}."


def table(sources: Iterable[Source], up: str = "") -> Table:
    """A line a run, with links to its page."""
    foot, lines, links = Footnotes(), [], []
    for source in sources:
        run = source.run
        found = run.environment
        named, notes = recorded.commits(run.folder, found)
        graphs = list(dict.fromkeys(cell.dataset for cell in run.cells))
        cores = count(found["cores"], "core") if found.get("cores") else found.get("cpu") or BLANK
        lines.append([
            source.name, ", ".join(run.problems), ", ".join([*gpus(found), cores]), some(graphs, LONGEST, "graph"),
            recorded.counted(run.cells), (found.get("at") or "")[:10], (", ".join(named) or BLANK) + foot.mark(notes),
            source.origin,
        ])  # fmt: skip
        links.append([f"{up}{source.address}", *[None] * 7])
    headers = ["run", "problem", "machine", "graphs", "cells", "on", "commit", "from"]
    return Table("runs", "The runs of this site", headers, lines, notes=foot.lines(), links=links)


def _summary(source: Source, up: str) -> Iterator[Block]:
    run = source.run
    if said := answer.sentences(run.cells):
        yield "answer", said
    named, notes = recorded.commits(run.folder, run.environment)
    plan = results.read_json(run.folder / results.PLAN) if (run.folder / results.PLAN).is_file() else {}
    about = (plan.get("config") or {}).get("description") if isinstance(plan.get("config"), Mapping) else None
    facts = [
        ("what it is", about),
        ("machine", machine(run.environment)),
        ("commit", ", ".join([*named, *notes])),
        ("cells", recorded.counted(run.cells)),
        ("to repeat it", recorded.repeated(run.folder, run.environment)),
        ("its rows", f"sha256 {_checksum(source)}"),
    ]
    yield "facts", [(name, value) for name, value in facts if value]
    if run.mixed:
        yield "text", "Its sittings were on different machines: see Environment before comparing its times."
    if run.damage.torn or run.damage.rows:
        yield "text", "It was interrupted: an incomplete trial at the end is left out."
    yield (
        "markup",
        Markup(
            '<p class="data">Data: <a class="csv" href="{}">every time as CSV</a>, a line a time. The column cell has '
            "the names of the links below.</p>"
        ).format(up + data_address(source)),
    )


def _checksum(source: Source) -> str:
    return sha256_file(source.run.folder / results.ROWS)


def _cells(source: Source, up: str) -> Iterator[Block]:
    macro = templates().get_template("site/cells.html").module.cells
    for problem in source.run.problems:
        own = source.run.of(problem)
        if len(source.run.problems) > 1:
            yield "heading", problem.capitalize()
        for dataset in dict.fromkeys(cell.dataset for cell in own):
            found = [cell for cell in own if cell.dataset == dataset]
            drawn: Block = ("markup", macro(_group(found), up))
            if len(source.run.cells) <= FEW:
                yield drawn
            else:
                yield "folded", Folded(f"{dataset}: {recorded.counted(found)}", [drawn], False)


def _group(found: list[Cell]) -> Group:
    first = found[0]
    known = []
    for name, values in (
        ("vertices", [cell.vertices for cell in found]), ("edges", [cell.edges for cell in found]),
    ):  # fmt: skip
        known += [f"{value:,} {name}" for value in dict.fromkeys(values) if value is not None]
    known += [f"sha256 {value}" for value in dict.fromkeys(cell.graph_sha256 for cell in found) if value]
    title = first.dataset if first.problem == USUAL else f"{first.dataset}, {first.problem}"
    return Group(
        title, graph_address(first.dataset), ", ".join(known), [_line(cell) for cell in measured.ordered(found)]
    )


def _line(cell: Cell) -> Line:
    state, sign = signed(cell.status)
    queries = "" if cell.query_set in ("random", "all") else cell.query_set
    name = axes.label(cell.impl, cell.axes, long=True, after=queries)
    phases = [_phase(under, phase, found) for (under, phase), found in cell.phases.items()]
    address = implementation_address(cell.impl, cell.problem)
    return Line(anchor(cell), name, address, cell.status, state, sign, "; ".join(_about(cell)), phases)


def _about(cell: Cell) -> Iterator[str]:
    """What is known of a cell beside its times."""
    if cell.reason:
        yield cell.reason
    if cell.verified:
        yield f"checked by {cell.verified}"
    if cell.checksum:
        yield f"answers {cell.checksum}"
    if cell.positives is not None:
        of = f" of {cell.queries:,}" if cell.queries is not None and cell.problem == USUAL else ""
        yield f"{grouped(cell.positives)}{of} positive" if of else f"answer {grouped(cell.positives)}"
    for name, value in measured.sizes(cell).items():
        yield f"{measured.SIZES[name]} {size(value)}"
    if cell.rate is not None:
        yield f"rate {short(cell.rate)}"
    if cell.energy:
        known = measured.energy(cell)
        yield f"{short(known['joules'])} J" if known else f"energy: {cell.energy.get('reason', 'not read')}"
    if cell.counters:
        known = [f"{name} {grouped(value)}" for name, value in cell.counters.items()]
        yield f"counted: {some(known, LONGEST, 'counter')}"


def _phase(under: str, phase: str, found: Stats) -> Phase:
    many = found.trials > 1
    strip = (
        strips.inline(found.times, found.median_low, found.median, found.median_high)
        if many and not under
        else Markup()
    )
    return Phase(
        f"{under}/{phase}" if under else phase, str(found.trials), short(found.median),
        f"{short(found.median_low)} – {short(found.median_high)}" if many else "", short(found.least), strip,
        str(found.outliers or ""), f"{found.drift:+.0%}" if found.drift is not None else "",
    )  # fmt: skip
