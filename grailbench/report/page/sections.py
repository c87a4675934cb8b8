"""The content of a run's page: sections of blocks, in reading order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from grailbench.compare import answer, costs
from grailbench.errors import InputError
from grailbench.harness.statistics import PENALTY
from grailbench.problems import contract
from grailbench.problems.contract import USUAL
from grailbench.report import figures, floors, frames, measured, paying, rankings, tradeoffs
from grailbench.report.document import GENERAL, Report
from grailbench.report.figure import Figure
from grailbench.report.papers import Place, computation, wording
from grailbench.report.published import COUNT_TABLES
from grailbench.report.render.csv import csv
from grailbench.report.render.html import TALL
from grailbench.report.table import Column, Table, tabulate
from grailbench.util.words import count, gib, listing, times

MEANS = (
    "Means are geometric, over the graphs that a configuration ran on and the reference has a time on; a lost cell "
    f"counts as {times(1 / PENALTY)}, or as the configuration's worst where that is worse. Means over other graphs "
    "than those of another column are not to be compared with it."
)
#: the kind of a block, as the template names it, and its content
Block = tuple[str, object]


class Section(NamedTuple):
    """A part of the page with a heading; `name` is its HTML id."""

    name: str
    title: str
    blocks: list[Block]


class Folded(NamedTuple):
    """Blocks that unfold at a click on their summary."""

    summary: str
    blocks: list[Block]
    open: bool


def of_report(report: Report, reference: str | None, phase: str, profile: Path | None) -> list[Section]:
    """The sections that have content: summary and ranking, reachability, other problems, all cells, environment.

    Raises the errors of `figures.of_cells`.
    """
    cells, references = _tables([report.details]), _references(report, reference)
    found = [
        Section("summary", "Summary", list(_summary(report))),
        Section("rivals", "Everybody in one ranking", [
            block for table in report.part("rivals")
            for block in _tables([table], last=0 if table.name == rankings.RIVALS else 2)
        ]),
        Section("pays", "From how many pairs an index pays", _tables(report.part("pays"))),
        Section("tradeoffs", "Trade-offs", _tradeoffs(report)),
        Section("workers", "What workers add", _tables(report.part("workers"))),
        *(_reachability(report, references[USUAL], phase, profile) if report.cells else ()),
        *(Section(name, name.capitalize(), blocks) for name, blocks in _problems(report, references)),
        Section("cells", "All cells", [
            *_tables(report.part(measured.NAME)),
            _folded("Every cell and phase with its statistics", cells, len(report.details.lines)),
        ]),
        Section("trials", "Every trial", _trials(report)),
        Section("environment", "Environment", list(environment(report.run.environment))),
    ]  # fmt: skip
    return [section for section in found if section.blocks]


def _reachability(report: Report, reference: str, phase: str, profile: Path | None) -> list[Section]:
    drawn = figures.of_cells(report.cells, report.tables, reference, phase, profile)
    paper = [figure for name, figure in drawn.items() if name.startswith("computation-")]
    printed = report.part("printed")
    return [
        Section("printed", "Printed against measured", [
            *_figure(drawn["printed"]), *_tables(table for table in printed if table.name not in COUNT_TABLES),
        ]),
        Section("phases", "Where the time goes", _figure(drawn["phases"])),
        Section("weights", "Weight of sub algorithms", _figure(drawn["weights"])),
        Section("edges", "Time against edges", _figure(drawn["edges"])),
        Section("speedup", "Speed-up", _speedup(drawn["speedup"])),
        Section("claims", computation.TITLE, [
            *_tables(report.part("claims")), *(block for figure in paper for block in _headed(figure)),
        ] if report.claims else []),
        *(Section(part.name, tables[0].title, _tables(tables)) for part, tables in report.parts.items()
          if USUAL in part.problems and part.place == Place.MORE and part not in GENERAL),
        Section("counters", "Counters", [*_figure(drawn["counters"]), *_counters(report)]),
        Section("graphs", "Graphs", _tables(table for table in printed if table.name in COUNT_TABLES)),
    ]  # fmt: skip


def _problems(report: Report, references: Mapping[str, str]) -> Iterator[tuple[str, list[Block]]]:
    """Each table of a problem other than reachability: its name, and blocks of the table, figures and speed-ups."""
    names = [name for name in report.run.problems if name != USUAL]
    drawn = [figure for make in dict.fromkeys(wording(name).figures for name in names) if make and report.whole
             for figure in make(report.run.cells).values() if figure.drawable]  # fmt: skip
    for part, tables in report.parts.items():
        for table in tables if USUAL not in part.problems else ():
            blocks = _tables([table])
            blocks += [block for figure in drawn if figure.name.startswith(table.name) for block in _headed(figure)]
            for name in (name for name in names if name in part.problems and table.name == part.name):
                phases = list(contract.problem(name).ranked)
                faster = figures.speedup(report.run.of(name), references[name], phases[0], name=f"speedup-{name}")
                if not faster.form.empty:
                    blocks += [("heading", f"Speed-up, {name}"), ("figure", faster), ("text", MEANS)]
            yield table.name, blocks


def _references(report: Report, wanted: str | None) -> dict[str, str]:
    """The reference configuration of each problem. Raises InputError if no problem has the configuration `wanted`."""
    found, refused = {}, []
    for name in report.run.problems:
        cells = frames.ordered(report.run.of(name))
        try:
            found[name] = frames.choose_reference(cells, wanted)
        except InputError as error:
            found[name] = frames.choose_reference(cells)
            refused.append(error)
    if refused and len(refused) == len(found):
        raise refused[0]
    return found


def _tables(found: Iterable[Table], last: int = 0) -> list[Block]:
    """Blocks of tables; a link to the data of a CSV file stands below the last of its tables. When a table is sorted,
    its `last` lines stay at the end."""
    found, blocks = list(found), []
    for table in found:
        blocks.append(("table", replace(table, ends=frozenset([len(table.lines) - last - 1])) if last else table))
        of_file = [each for each in found if each.data is not None and each.file == table.file]
        if of_file and table is of_file[-1]:
            blocks.append(("data", (table.file, csv(of_file))))
    return blocks


def _figure(figure: Figure) -> list[Block]:
    return [("figure", figure)] if figure.drawable else []


def _headed(figure: Figure) -> list[Block]:
    """A figure below a heading; if it cannot be drawn, its note says why."""
    return [("heading", figure.title), *(_figure(figure) or [("text", figure.note)])]


def _summary(report: Report) -> Iterator[Block]:
    if report.unstable:
        yield "caution", report.unstable
    if report.answer:
        yield "heading", answer.TITLE
        yield "answer", report.answer
        yield "heading", "What was measured"
    shown_apart = {*report.unstable, report.status_counts()}  # the latter is already below the title
    lines = [line for line in report.header if line not in shown_apart]
    if any(cell.generated for cell in report.run.cells):
        lines.append("Graphs named -like are generated look-alikes; none of them stands in a published row.")
    if earlier := report.run.environment.get("earlier"):
        lines.append(f"Rows were measured in {len(earlier) + 1} sessions; see Environment.")
    if report.left_out:
        lines.append(f"No graph of the run is in table {', '.join(report.left_out)}.")
    yield "lines", lines
    if troubled := frames.absent(frames.edges(frames.ordered(report.run.cells)), incomplete=True):
        columns = [
            Column("graph", lambda each: each.graph),
            Column("configuration", lambda each: listing(each.configs, 6, "configuration")),
            Column("status", lambda each: each.status, notes=lambda each: [each.reason] if each.reason else []),
        ]
        title = "Cells without times, with fewer than planned, or sampled"
        yield "table", tabulate("troubled", title, columns, troubled)


def _tradeoffs(report: Report) -> list[Block]:
    """From how many queries a build pays, in sentences and as a table, then the figures."""
    if not report.whole:
        return []
    blocks: list[Block] = []
    if found := [] if report.run.mixed else costs.fronts(paying.groups_of(report.cells)):
        table = replace(paying.table(found), notes=list(paying.notes_of(found)))
        blocks += [("heading", paying.ASKED), ("lines", costs.sentences(found)),
                   _folded(paying.TITLE, _tables([table]), len(table.lines))]  # fmt: skip
    for figure in tradeoffs.of_run(report.run):
        if figure.drawable:
            blocks += [("heading", figure.title), *_figure(figure)]
    return blocks


def _trials(report: Report) -> list[Block]:
    """The figure of every trial."""
    figure = figures.trials(report.run.cells) if report.whole else None
    if figure is None or not figure.drawable:
        return []
    drawn = sum(len(panel.items) for panel in figure.form.panels)
    return [_folded(f"Every trial of {count(drawn, 'strip')}", _figure(figure), drawn)]


def _folded(summary: str, blocks: list[Block], lines: int) -> Block:
    """Blocks that are open at first if they have few lines."""
    return ("folded", Folded(summary, blocks, lines <= TALL))


def _speedup(figure: Figure) -> list[Block]:
    if figure.form.empty:
        return []
    return [("figure", figure), ("text", MEANS)]


def _counters(report: Report) -> list[Block]:
    """A table with one line per cell that has counters and one column per counter."""
    counted = [cell for cell in frames.ordered(report.cells) if cell.counters and cell.status != "wrong"]
    if not counted:
        return [("text", "The run has none: its implementations did not count their work.")]
    return _tables([replace(floors.table(floors.COUNTERS, floors.counters(counted)), title="Exact work by counter")])


def environment(found: Mapping) -> Iterator[Block]:
    """The facts of an environment, and of those of earlier sessions and other workers."""
    yield "facts", _facts({key: value for key, value in found.items() if key not in ("earlier", "workers")})
    for session in found.get("earlier") or []:
        where = "On another worker" if "pinned" in session else "An earlier session"
        yield "heading", f"{where}, {session.get('at', 'at an unknown time')}"
        yield "facts", _facts(session)


def _facts(record: Mapping) -> list[tuple[str, str]]:
    """The names and values of a record that are not empty."""
    names = {"dirty": "uncommitted changes", "at": "began at"}
    pairs = [(names.get(key, key.removesuffix("_bytes").replace("_", " ")), _fact(key, record[key])) for key in record]
    return [(name, value) for name, value in pairs if value]


def _fact(key: str, value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_fact(name, item)}" for name, item in value.items() if item is not None)
    if isinstance(value, list):
        return (" " if key == "command" else ", ").join(_fact("", item) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}"
    if value is None:
        return ""
    return gib(value, 1) if key.endswith("_bytes") else str(value)
