"""The content of a run's page: sections of blocks, in reading order."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from grailbench.compare import answer
from grailbench.errors import InputError
from grailbench.problems import contract
from grailbench.report import figures, floors, frames, measured
from grailbench.report.document import Report
from grailbench.report.figure import Figure
from grailbench.report.render.csv import csv
from grailbench.report.render.html import TALL
from grailbench.report.table import Column, Table, tabulate
from grailbench.util.words import count, gib, listing

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
    """The sections that have content: the summary, each part of the report with its figures, other figures, all cells
    and trials, the environment.

    Raises the errors of `figures.of_cells`.
    """
    references = _references(report, reference)
    drawn = figures.of_report(report, references.get(contract.USUAL), phase, profile)
    found, cells = [Section("summary", "Summary", list(_summary(report)))], []
    for part, tables in report.parts.items():
        names = [name for name in drawn if name.startswith(part.figures or part.name)]
        blocks = [block for figure in map(drawn.pop, names) for block in _headed(figure)] + _tables(tables)
        if part.name == measured.NAME:
            cells = blocks
        else:
            found.append(Section(part.name, part.title or tables[0].title, blocks))
    strips = drawn.pop(figures.TRIALS)
    for problem in (name for name in references if name != contract.USUAL):
        first = next(iter(contract.problem(problem).ranked))
        faster = figures.speedup(report.run.of(problem), references[problem], first, problem=problem)
        drawn[faster.name] = faster
    counted = [cell for cell in frames.ordered(report.cells) if cell.counters and cell.status != "wrong"]
    work = _tables([floors.table(floors.COUNTERS, floors.counters(counted))] if counted else [])
    found += [Section(name, figure.title, _figure(figure) + work * (name == "counters"))
              for name, figure in drawn.items()]  # fmt: skip
    strip_count = sum(len(panel.items) for panel in strips.form.panels)
    trials = [_folded(count(strip_count, "strip"), _figure(strips), strip_count)] if strip_count else []
    every = _folded("Every cell and phase with its statistics", _tables([report.details]), len(report.details.lines))
    found += [
        Section("cells", "All cells", [*cells, every]),
        Section("trials", "Every trial", trials),
        Section("environment", "Environment", list(environment(report.run.environment))),
    ]
    return [section for section in found if section.blocks]


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


def _tables(found: Iterable[Table]) -> list[Block]:
    """Blocks of tables; a link to the data of a CSV file stands below the last of its tables."""
    found, blocks = list(found), []
    for table in found:
        blocks.append(("table", table))
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
    yield "lines", lines
    if troubled := frames.absent(frames.edges(frames.ordered(report.run.cells)), incomplete=True):
        columns = [
            Column("graph", lambda each: each.graph),
            Column("configuration", lambda each: listing(each.configs, 6, "configuration")),
            Column("status", lambda each: each.status, notes=lambda each: [each.reason] if each.reason else []),
        ]
        title = "Cells without times, with fewer than planned, or sampled"
        yield "table", tabulate("troubled", title, columns, troubled)


def _folded(summary: str, blocks: list[Block], lines: int) -> Block:
    """Blocks that are open at first if they have few lines."""
    return ("folded", Folded(summary, blocks, lines <= TALL))


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
