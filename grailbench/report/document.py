"""A run's report: the tables chosen, made from its cells, shown and written beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from grailbench.contract import USUAL
from grailbench.errors import GrailbenchError, InputError, NothingMeasured
from grailbench.graph.store import atomic_file
from grailbench.report import answer, measured, published, ranking
from grailbench.report.papers import beside, computation, peers, thesis
from grailbench.report.papers.beside import Filled
from grailbench.report.places import place
from grailbench.report.problems import shown
from grailbench.report.published import COUNT_TABLES, PAPER_TABLES
from grailbench.report.render.csv import csv
from grailbench.report.render.latex import latex
from grailbench.report.render.markdown import markdown
from grailbench.report.render.terminal import terminal
from grailbench.report.table import Table
from grailbench.runs.cells import Cell, Run, load
from grailbench.runs.environment import busy
from grailbench.runs.rows import STATUSES
from grailbench.words import count, machine

FOLDER = "report"


@dataclass(frozen=True)
class Report:
    """What a run gives, whatever problems it has cells of: who is fastest, all cells, the published tables that its
    cells fit, the tables of other graphs, peers, the claims of Computation 2020 where the run takes that paper up, and
    the table of each other problem.

    `cells` are those of reachability. `whole` is False when tables were asked for by name: then it is those alone, with
    every printed row. `left_out` are the published tables that no cell of the run fits; `unpaired` says which cells of
    peers none of ours is like; `problems` are the tables of other problems.
    """

    run: Run
    tables: list[Filled]
    others: list[Filled] = field(default_factory=list)
    peers: list[peers.Comparison] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    claims: list[computation.Check] = field(default_factory=list)
    problems: list[Table] = field(default_factory=list)
    unpaired: list[str] = field(default_factory=list)
    whole: bool = True

    @property
    def title(self) -> str:
        return self.run.title

    @property
    def machine(self) -> str:
        """The machine in a line."""
        return machine(self.run.environment)

    @cached_property
    def cells(self) -> list[Cell]:
        """The cells of reachability."""
        return self.run.of(USUAL)

    @cached_property
    def answer(self) -> list[str]:
        """Who is fastest, in sentences."""
        return answer.sentences(self.run.cells) if self.whole else []

    @cached_property
    def rankings(self) -> list[ranking.Ranking]:
        """The rankings of a run with peers."""
        return ranking.rankings(self.cells) if self.whole else []

    @property
    def every_table(self) -> list[Filled]:
        """The published tables, then the others."""
        return [*self.tables, *self.others]

    @cached_property
    def shown(self) -> list[Table]:
        """Every table but that of all statistics, in the order in which they are shown."""
        return [
            *map(ranking.table, self.rankings),
            *([measured.table(self.cells)] if self.whole and self.cells else []),
            *map(beside.table, self.every_table),
            *([computation.claims_table(self.claims)] if self.claims else []),
            *map(peers.table, self.peers),
            *self.problems,
        ]

    @cached_property
    def details(self) -> Table:
        """One line a cell and phase, with the statistics of its trials; its CSV has the cells of reachability, whose
        other tables have none of all cells."""
        return measured.details(self.run.cells)

    def status_counts(self) -> str:
        """'24 cells: 23 ok, 1 failed'."""
        counts = {status: sum(c.status == status for c in self.run.cells) for status in STATUSES}
        parts = [f"{n} {status}" for status, n in counts.items() if n]
        return f"{count(len(self.run.cells), 'cell')}: {', '.join(parts)}"

    @property
    def header(self) -> list[str]:
        """The lines that say what the numbers are: machines, statistics, what a ratio means."""
        return [
            f"Measured on: {self.machine}",
            *disturbed(self.run.environment),
            *self._printed(),
            self.status_counts(),
            *self.drifts(),
        ]

    def _printed(self) -> list[str]:
        """What stands beside print, where anything does."""
        if not self.tables and not self.claims:
            return []
        papers = [name in PAPER_TABLES for name in (table.name for table in self.tables)]
        printed = "; ".join([published.THESIS, *([published.COMPUTATION] if any(papers) or self.claims else [])])
        return [
            f"Printed: {printed}, on {published.PRINTED_MACHINE}.",
            "Beside print, times are means over the trials, as print shows them. A ratio is measured / printed and "
            "CROSSES MACHINES: below 1 says no more than that this code on this machine took less time.",
        ]

    def drifts(self) -> list[str]:
        """A warning where the trials of a phase grew slower or faster as they went on; else nothing."""
        found = [s for cell in self.run.cells if cell.sound for (under, _), s in cell.phases.items() if not under]
        drifted = sum(s.drift is not None for s in found)
        if not drifted:
            return []
        return [f"{drifted} of {len(found)} phases drifted: first and last third of the trials differ (see all cells)."]


def of_run(run: str | None, names: Iterable[str] = ()) -> Report:
    """The report on a run (a folder, a name or its beginning; None: the latest).

    Raises InputError when there is no such run, else as `make`.
    """
    return make(load(run), names)


def check_measured(report: Report) -> None:
    """Raises NothingMeasured when no cell of the run has a sound time."""
    if not any(cell.sound for cell in report.run.cells):
        raise NothingMeasured(f"{report.title}: no cell was measured ({report.status_counts()})")


def make(run: Run, names: Iterable[str] = ()) -> Report:
    """The report on a run. `names`: the tables to show, published ones with blank rows and all, or those of the run's
    other problems; without names all that was measured, and of the published tables those that a cell of the run fits,
    with the graphs of the run.

    Raises NothingMeasured when there are no rows, InputError for a table of which there is no report.
    """
    if not run.cells:
        raise NothingMeasured(f"{run.title}: the run has no rows")
    names, problems = list(dict.fromkeys(names)), _problem_tables(run)
    known = [*thesis.NAMES, *(table.name for table in problems)]
    for name in names:
        if name not in known:
            raise InputError(f"no report of table {name!r}", remedy=f"choose among {', '.join(known)}")
    found = run.of(USUAL)
    printed = [name for name in names if name in thesis.NAMES] if names else thesis.NAMES if found else ()
    graphs = graph_counts(found, printed)
    built = [thesis.build(name, found, graphs) for name in printed]
    if names:
        return Report(run, built, problems=[table for table in problems if table.name in names], whole=False)
    compared = peers.compare(found)
    return Report(
        run=run,
        tables=[thesis.of_graphs(t, found) for t in built if _belongs(t, found)],
        others=thesis.others(found),
        peers=compared,
        left_out=_left_out(built, found),
        claims=computation.checks(found),
        problems=problems,
        unpaired=peers.unpaired(found, compared),
    )


def _problem_tables(run: Run) -> list[Table]:
    """The tables of a run's problems other than reachability. Problems with the same maker share one table."""
    tables: dict[Callable | str, Table] = {}
    for name in run.problems:
        make = shown(name).table
        if name != USUAL and (make or name) not in tables:
            tables[make or name] = make(run.cells) if make else measured.table(run.of(name), name)
    return list(tables.values())


def _left_out(built: list[Filled], found: list[Cell]) -> list[str]:
    """Names of the tables that no cell of the run fits; those of the GPU only where one was asked."""
    gpu = thesis.on_gpu(found)
    asked = [t for t in built if t.name not in PAPER_TABLES and (gpu or t.name not in thesis.GPU_TABLES)]
    return [t.name for t in asked if not _belongs(t, found)]


def _belongs(table: Filled, found: list[Cell]) -> bool:
    """Whether a run without a wish shows a table: 2.1-2.3 with a graph of it, 2.4-2.6 with a cell that one of its
    columns is of, 6.1-6.6 with a GPU's cell on a graph of it, the paper's when the run takes the paper up."""
    if table.name in PAPER_TABLES:
        return computation.of_paper(found)
    own = [cell for cell in found if cell.dataset in {row.dataset for row in table.rows}]
    if table.name in thesis.GPU_TABLES:
        return thesis.on_gpu(own)
    return bool(own) if table.name in COUNT_TABLES else any(map(thesis.fits, table.rows))


def graph_counts(found: Iterable[Cell], names: Iterable[str]) -> dict[str, Mapping | str]:
    """Vertices and edges of the run's published graphs, or why they cannot be had.

    They are those of the file held here where its sha256 is that of the rows, else those that the rows say.
    """
    wanted = [name for name in names or COUNT_TABLES if name in COUNT_TABLES]
    printed = {dataset for name in wanted for dataset in published.table(name).rows}
    printed |= {f"{dataset}{thesis.LIKE}" for dataset in printed}
    newest: dict[str, Cell] = {}
    for cell in found:
        if cell.dataset in printed and (cell.vertices is not None or cell.dataset not in newest):
            newest[cell.dataset] = cell
    return {name: _counts(name, cell) for name, cell in newest.items()}


def _counts(name: str, cell: Cell) -> Mapping | str:
    from grailbench.datasets.library import describe
    from grailbench.datasets.registry import registry

    reason = "the run has no counts of it, and its file is not here to be counted"
    try:
        found = describe(registry()[name]) if name in registry() else {"vertices": None}
        if found["vertices"] is not None and found["sha256"] == cell.graph_sha256:
            return found
    except GrailbenchError as error:
        reason = str(error)
    if cell.vertices is None or cell.edges is None:
        return cell.reason or reason
    counts = {"vertices": cell.vertices, "edges": cell.edges}
    if cell.roots is not None:
        counts |= {"file_vertices": cell.vertices - 1, "file_edges": cell.edges - cell.roots}
    return counts


def disturbed(environment: Mapping) -> list[str]:
    """A warning where the machine had other work as the run, or an earlier sitting of it, began; else nothing."""
    sittings = (*environment.get("earlier", ()), environment)
    loads = [load for each in sittings if (load := busy(each))]
    if not loads:
        return []
    return [f"DISTURBED: the run began at {', later at '.join(loads)}; other work on the machine lengthens its times."]


def show(report: Report, details: bool = False) -> Iterator:
    """Lines and tables for the screen: the header, who is fastest, what was measured, each table with its notes, the
    peers, and with `details` the statistics of every cell."""
    yield from report.header
    if report.answer:
        yield from ("", f"{answer.TITLE}:", *report.answer)
    for table in report.shown:
        yield ""
        yield from terminal(table)
    if report.unpaired:
        yield from ("", *report.unpaired)
    if details:
        yield ""
        yield from terminal(report.details)
    if report.left_out:
        yield _not_here(report)


def _not_here(report: Report) -> str:
    return f"No cell of the run is for table {', '.join(report.left_out)}: --table NUMBER shows one all the same."


def as_markdown(report: Report) -> str:
    """The whole report as one Markdown page, all cells at its end."""
    parts = [f"# {report.title}\n", "\n".join(f"- {line}" for line in report.header) + "\n"]
    if report.answer:
        lines = (f"  - {line.strip()}" if line.startswith(" ") else f"- {line}" for line in report.answer)
        parts.append(f"## {answer.TITLE}\n\n" + "\n".join(lines) + "\n")
    for table in report.shown:
        parts.append(markdown(table))
        if table.name == measured.NAME and report.left_out:
            parts.append(f"{_not_here(report)}\n")
    parts += [f"- {line}\n" for line in report.unpaired]
    return "\n".join([*parts, markdown(report.details)])


def write(report: Report, form: str = "both", out: str | Path | None = None, added: Iterable[Table] = ()) -> list[Path]:
    """Write `report.md` and a CSV a table (`form` 'markdown', 'csv' or 'both'), or a LaTeX file a table ('latex'), into
    `out`, by default the run's folder `report`, each file atomically; returns the paths: none of a recorded run without
    `out`. `added` are tables that are written beside the report's, and stand in no `report.md`."""
    folder = place(report.run.folder, FOLDER, out)
    if folder is None:
        return []
    files: dict[str, str] = {}
    if form == "markdown" or (form == "both" and report.whole):
        files["report.md"] = as_markdown(report)
    if form == "latex":
        files |= _files([*report.shown, *added], "tex", lambda tables: "\n".join(map(latex, tables)))
    else:
        told = [*report.shown, report.details] if form in ("csv", "both") else []
        files |= _files([table for table in (*told, *added) if table.data is not None], "csv", csv)
    for name, text in files.items():
        with atomic_file(folder / name) as file:
            file.write(text.encode())
    return [folder / name for name in files]


def _files(tables: Iterable[Table], ending: str, text: Callable[[list[Table]], str]) -> dict[str, str]:
    """The text of each file that some tables have, by its name."""
    groups: dict[str, list[Table]] = {}
    for table in tables:
        groups.setdefault(f"{table.file or table.name}.{ending}", []).append(table)
    return {name: text(group) for name, group in groups.items()}
