"""The pages of runs: what was measured, on what, by which command, and every cell with all of its phases."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pandas
from markupsafe import Markup

from grailbench.compare import answer, stability
from grailbench.compare.measures import grouped
from grailbench.harness import axes
from grailbench.harness import folder as results
from grailbench.harness.cells import Cell, Run, without_seed
from grailbench.harness.rows import cell_of
from grailbench.problems.contract import USUAL
from grailbench.problems.contract import problem as problem_of
from grailbench.report import measured, recorded
from grailbench.report.page import sections as report_sections
from grailbench.report.page.sections import Block, Folded, Section
from grailbench.report.render.csv import line
from grailbench.report.render.html import SIGNS, state, templates
from grailbench.report.site.entries import Source, anchor, graph_address, implementation_address, link
from grailbench.report.table import Column, Table, tabulate
from grailbench.util import words
from grailbench.util.words import BLANK, count, listing, short

FEW = 40  #: cells; the graphs of a run with more are folded
LONGEST, SHOWN = 8, 4  #: counters of a cell, and graphs of a run, that are named in a line
#: the columns of a run's data, a line a time; `cell` is the anchor on its page
COLUMNS = ("cell", "problem", "dataset", "impl", *axes.NAMES, "seed", "query_set", "phase", "under", "trial", "ms",
           "rate", "status", "reason", "at")  # fmt: skip


def data(source: Source) -> Iterator[bytes]:
    """Every row of a run as CSV with the columns `COLUMNS`, line by line. The run still has its rows."""
    names: dict[tuple, str] = {cell.key: anchor(cell) for cell in source.run.cells}
    begun: dict[tuple, str] = {}  # the part of a line that all rows of a cell have
    yield line(COLUMNS).encode("utf-8", "replace")
    for row in source.run.rows:
        key = cell_of(row)
        if key not in begun:
            cell = names[key] if key in names else names[without_seed(key)]
            begun[key] = line([cell, *key]).removesuffix("\n") + ","
        yield (begun[key] + line(map(row.get, COLUMNS[len(key) + 1 :]))).encode("utf-8", "replace")


class Described(NamedTuple):
    """A run without its rows, and what its folder says of it, which may be gone later.

    facts           names and texts
    commits, notes  of `recorded.commits`
    statistics      of every cell and phase, a line each
    """

    source: Source
    facts: list[tuple[str, str]]
    commits: list[str]
    notes: list[str]
    statistics: pandas.DataFrame


def described(source: Source) -> Described:
    """What the page of a run needs of its folder. Raises InputError if a file of it cannot be read."""
    run = source.run
    named, notes = recorded.commits(run.folder, run.environment)
    command, how = recorded.repeated(run.folder, run.environment, len(run.cells))
    facts = {
        "what it is": _planned(run.folder),
        "machine": words.machine({**run.environment, "commit": None}),
        "commit": "; ".join(filter(None, (", ".join(named), *notes))),
        "measured": (run.environment.get("at") or "")[:10],
        "cells": recorded.counted(run.cells),
        "to repeat it": "; ".join([command, *how]),
        "its rows": f"{results.ROWS}, sha256 {results.checksums(run.folder, [results.ROWS])[results.ROWS]}",
    }
    shown = [(name, value) for name, value in facts.items() if value]
    return Described(replace(source, run=run.rowless()), shown, named, notes, _statistics(source))


def _statistics(source: Source) -> pandas.DataFrame:
    """Of every cell and phase, a line each."""
    found = measured.detail(source.run.cells)
    cells = [cell for cell in source.run.cells for _ in range(len(cell.phases) or 1)]
    for name, values in (("problem", [cell.problem for cell in cells]), ("cell", list(map(anchor, cells))),
                         ("run", source.name)):  # fmt: skip
        found.insert(0, name, values)
    return found.astype(object)


def _planned(folder: Path) -> str:
    """The description in the config of a run, '' for none."""
    plan = results.read_json(folder / results.PLAN) if (folder / results.PLAN).is_file() else {}
    config = plan.get("config")
    return str(config.get("description") or "") if isinstance(config, Mapping) else ""


def page(found: Described) -> list[Section]:
    """The page of a run: its summary, its cells graph by graph, its environment."""
    run = found.source.run
    return [
        Section("summary", "Summary", list(_summary(found))),
        Section("cells", "Every cell", list(_cells(run))),
        Section("environment", "Environment", list(report_sections.environment(run.environment))),
    ]


def description(source: Source) -> str:
    """A sentence on a run: how many cells of which problems, on which machine."""
    graphs = {(cell.problem, cell.dataset) for cell in source.run.cells}
    what = f"{count(len(source.run.cells), 'cell')} of {listing(source.run.problems, 4)}"
    return f"{what} on {count(len(graphs), 'graph')}. {source.hardware}."


def table(found: Iterable[Described]) -> Table:
    """A line a run, with links to its page."""

    def graphs(each: Described) -> str:
        return listing(dict.fromkeys(cell.dataset for cell in each.source.run.cells), SHOWN, "graph")

    columns = [
        Column("run", lambda each: each.source.name, link=lambda each: link(each.source.address)),
        Column("problem", lambda each: ", ".join(each.source.run.problems)),
        Column("machine", lambda each: each.source.hardware), Column("graphs", graphs),
        Column("cells", lambda each: recorded.counted(each.source.run.cells)),
        Column("on", lambda each: (each.source.run.environment.get("at") or "")[:10]),
        Column("commit", lambda each: ", ".join(each.commits) or BLANK, notes=lambda each: each.notes),
        Column("from", lambda each: each.source.origin),
    ]  # fmt: skip
    return tabulate("runs", "The runs of this site", columns, found, right=frozenset())


def _summary(found: Described) -> Iterator[Block]:
    run = found.source.run
    yield "facts", found.facts
    if run.mixed:
        yield "text", "Its sessions ran on different machines; see Environment before comparing its times."
    if run.damage.torn or run.damage.rows:
        yield "text", "It was interrupted: an incomplete trial at the end is left out."
    data = Markup(
        '<p class="data">Data: <a class="csv" href="{}">every time as CSV</a>, a line a time; its column cell has the '
        "names of the links below.</p>"
    )
    yield "markup", data.format(link(found.source.data_address))
    if warned := stability.warnings(run.cells):
        yield "caution", warned
    if sentences := answer.sentences(run.cells):
        yield "heading", answer.TITLE
        yield "answer", sentences


def _cells(run: Run) -> Iterator[Block]:
    macro = templates().get_template("site/cells.html", globals={"short": short, "signs": SIGNS}).module.cells
    verdicts = stability.verdicts(run.cells)
    for problem in run.problems:
        if len(run.problems) > 1:
            yield "heading", problem.capitalize()
        for dataset, found in grouped(run.of(problem), lambda cell: cell.dataset).items():
            drawn: Block = ("markup", macro(_group(found, verdicts), link("")))
            many = len(run.cells) > FEW
            yield ("folded", Folded(f"{dataset}: {recorded.counted(found)}", [drawn], False)) if many else drawn


def _group(found: list[Cell], verdicts: Mapping[tuple, stability.Verdict]) -> dict[str, object]:
    """The cells of a problem on a graph, with what is known of the graph, as the template takes them."""
    first = found[0]
    sized = dict.fromkeys((cell.vertices, cell.edges) for cell in found if cell.vertices is not None)
    condensed = " as condensed, with a super-root" if first.problem in (USUAL, "counts") else ""
    known = [f"{vertices:,} vertices and {edges or 0:,} edges{condensed}" for vertices, edges in sized]
    known += [f"sha256 {value}" for value in dict.fromkeys(cell.graph_sha256 for cell in found) if value]
    lines = []
    for cell in measured.ordered(found):
        queries = "" if cell.query_set in ("random", "all") else cell.query_set
        lines.append({
            "anchor": anchor(cell), "name": axes.label(cell.impl, cell.axes, long=True, after=queries),
            "address": implementation_address(cell.impl, cell.problem), "status": cell.status,
            "state": state(cell.status), "about": "; ".join(_about(cell, verdicts[cell.key])),
            "phases": [(f"{under}/{phase}" if under else phase, stats, verdicts[cell.key].mark(under or phase))
                       for (under, phase), stats in cell.phases.items()],
        })  # fmt: skip
    title = first.dataset if first.problem == USUAL else f"{first.dataset}, {first.problem}"
    return {"title": title, "address": graph_address(first.dataset), "about": ", ".join(known), "cells": lines}


def _about(cell: Cell, verdict: stability.Verdict) -> Iterator[str]:
    """What is known of a cell beside its times."""
    if not verdict.stable:
        yield f"UNSTABLE: {'; '.join(verdict.reasons)}"
    elif verdict.few:
        yield f"stability unknown: {verdict.unknown}"
    if cell.reason:
        yield cell.reason
    if cell.verified:
        yield f"checked by {cell.verified}"
    if cell.checksum:
        yield f"answers {cell.checksum}"
    if cell.positives is not None:
        of = f" of {cell.queries:,}" if cell.queries is not None and cell.problem == USUAL else ""
        yield f"{words.grouped(cell.positives)}{of} positive" if of else f"answer {words.grouped(cell.positives)}"
    for name, value in measured.sizes(cell).items():
        yield f"{measured.SIZES[name][0]} {words.size(value)}"
    if cell.rate is not None:
        yield f"{short(cell.rate)} {problem_of(cell.problem).rate}"
    if cell.energies:
        for phase in cell.energies.named:
            joules, meters = cell.joules(phase), ", ".join(cell.energies.meters(phase))
            spent = "not read" if joules is None else f"{short(joules)} J ({meters})"
            yield f"energy of {phase}: {'; '.join(filter(None, (spent, cell.energies.why(phase))))}"
        if cell.energies.reason:
            yield f"energy: {cell.energies.reason}"
    if cell.counters:
        known = [f"{name} {words.grouped(value)}" for name, value in cell.counters.items()]
        yield f"counted: {listing(known, LONGEST, 'counter')}"
