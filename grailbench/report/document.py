"""A run's report: the tables chosen, made from its cells, shown and written beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from grailbench.compare import answer, ranking, stability
from grailbench.compare.stability import Verdict
from grailbench.errors import GrailbenchError, InputError, NothingMeasured
from grailbench.harness.cells import Cell, Run, load, of_machine
from grailbench.harness.folder import spoken
from grailbench.harness.rows import STATUSES
from grailbench.problems.contract import USUAL
from grailbench.report import (
    dictionary,
    measured,
    paying,
    published,
    rankings,
)
from grailbench.report.destination import folder_for, recorded, save
from grailbench.report.papers import beside, computation, peers, thesis
from grailbench.report.papers.beside import Filled
from grailbench.report.problems import shown
from grailbench.report.published import COUNT_TABLES, PAPER_TABLES
from grailbench.report.render import terminal
from grailbench.report.render.csv import csv
from grailbench.report.render.latex import latex
from grailbench.report.render.markdown import markdown, paragraph, text
from grailbench.report.table import Table
from grailbench.util.words import count, machine

FOLDER = "report"
MOST_PAIRED = 3  #: peers of a run of which each is compared with each of our configurations in a table of its own


@dataclass(frozen=True)
class Report:
    """The tables of a run, whatever problems it has cells of.

    tables    the published tables that the run's cells fit
    others    the tables of graphs that are in no published table
    peers     the comparisons with each peer, unless the run has more than `MOST_PAIRED`
    left_out  names of the published tables that no cell of the run fits
    claims    the checks of Computation 2020, if the run has that paper's graphs
    problems  the tables of problems other than reachability
    unpaired  sentences on the cells of peers that have no counterpart among our cells
    verdicts  on the stability of the run's cells, by key
    whole     False if tables were asked for by name: then the report has only those, with every printed row
    """

    run: Run
    tables: list[Filled]
    others: list[Filled] = field(default_factory=list)
    peers: list[peers.Comparison] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    claims: list[computation.Check] = field(default_factory=list)
    problems: list[Table] = field(default_factory=list)
    unpaired: list[str] = field(default_factory=list)
    verdicts: Mapping[tuple, Verdict] = field(default_factory=dict)
    whole: bool = True

    @property
    def title(self) -> str:
        return self.run.title

    @property
    def machine(self) -> str:
        """The machine, in one line."""
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
        """The rankings, if the run has peers."""
        return ranking.with_peers(self.cells) if self.whole else []

    @cached_property
    def rivals(self) -> list[Table]:
        """The best of ours against the best of the others, if the run has several peers."""
        return rankings.rivals(self.cells) if self.whole else []

    @cached_property
    def pays(self) -> list[Table]:
        """From how many pairs an index pays, if the run has `sweep`."""
        return paying.pays(self.cells) if self.whole else []

    @cached_property
    def tradeoffs(self) -> list[Table]:
        """The front of build and query, and from how many queries a build pays, if the run has both an index and a
        search without one, on one machine."""
        return paying.tables(self.cells) if self.whole and not self.run.mixed else []

    @cached_property
    def workers(self) -> list[Table]:
        """What workers of a cluster add, if the run has `dask`."""
        return rankings.workers(self.cells) if self.whole else []

    @property
    def every_table(self) -> list[Filled]:
        """The published tables, then those of other graphs."""
        return [*self.tables, *self.others]

    @cached_property
    def shown(self) -> list[Table]:
        """Every table except `details`, in the order in which they are shown."""
        return [
            *self.rivals,
            *map(rankings.table, self.rankings),
            *self.pays,
            *self.tradeoffs,
            *self.workers,
            *([measured.table(self.cells, verdicts=self.verdicts)] if self.whole and self.cells else []),
            *map(beside.table, self.every_table),
            *([computation.claims_table(self.claims)] if self.claims else []),
            *map(peers.table, self.peers),
            *self.problems,
        ]

    @cached_property
    def details(self) -> Table:
        """One line per cell and phase, with the statistics of its trials; its CSV has the cells of reachability."""
        return measured.details(self.run.cells, self.verdicts)

    def status_counts(self) -> str:
        """'24 cells: 23 ok, 1 failed'."""
        counts = Counter(cell.status for cell in self.run.cells)
        parts = [f"{counts[status]} {status}" for status in STATUSES if counts[status]]
        return f"{count(len(self.run.cells), 'cell')}: {', '.join(parts)}"

    @property
    def header(self) -> list[str]:
        """The lines on machines, statistics and the meaning of a ratio."""
        return [
            f"Measured on: {self.machine}",
            *self.unstable,
            *self._printed(),
            self.status_counts(),
        ]

    @cached_property
    def unstable(self) -> list[str]:
        """Warnings of times that cannot be trusted, with the remedy; none if all are stable."""
        name = "" if recorded(self.run.folder) else spoken(self.run.folder)
        return stability.warnings(self.run.cells, self.run.environment, name, self.verdicts or None)

    def _printed(self) -> list[str]:
        """What the printed numbers are and how to compare with them; nothing if the report shows none."""
        if not self.tables and not self.claims:
            return []
        paper = self.claims or any(table.name in PAPER_TABLES for table in self.tables)
        printed = "; ".join([published.THESIS, *([published.COMPUTATION] if paper else [])])
        return [
            f"Printed: {printed}, on {published.PRINTED_MACHINE}.",
            "Beside print, times are means over the trials, as print shows them. A ratio is measured / printed and "
            "CROSSES MACHINES: below 1 says no more than that this code on this machine took less time.",
        ]


def of_run(run: str | None, names: Iterable[str] = (), machine: str | None = None) -> Report:
    """The report on a run (a folder, a name or its beginning; None: the latest), or on what one machine measured of it.

    Raises InputError if there is no such run, or if workers on unlike machines measured it and none is chosen, and the
    errors of `make`.
    """
    return make(of_machine(load(run), machine), names)


def check_measured(report: Report) -> None:
    """Raises NothingMeasured if no cell of the run has a sound time."""
    if not any(cell.sound for cell in report.run.cells):
        raise NothingMeasured(f"{report.title}: no cell was measured ({report.status_counts()})")


def make(run: Run, names: Iterable[str] = ()) -> Report:
    """The report on a run.

    `names` are the tables to show: published ones, with every printed row, or those of the run's other problems.
    Without names the report has everything that was measured, and those published tables that a cell of the run fits,
    with the graphs of the run only. Raises NothingMeasured if there are no rows, InputError for an unknown table.
    """
    if not run.cells:
        raise NothingMeasured(f"{run.title}: the run has no rows")
    verdicts = stability.verdicts(run.cells, run.environment)
    names, problems = list(dict.fromkeys(names)), _problem_tables(run, verdicts)
    known = [*thesis.NAMES, *(table.name for table in problems)]
    for name in names:
        if name not in known:
            raise InputError(f"no report of table {name!r}", remedy=f"choose among {', '.join(known)}")
    found = run.of(USUAL)
    printed = [name for name in names if name in thesis.NAMES] if names else thesis.NAMES if found else ()
    graphs = graph_counts(found, printed)
    built = [thesis.build(name, found, graphs) for name in printed]
    if names:
        return Report(run, built, problems=[table for table in problems if table.name in names],
                      verdicts=verdicts, whole=False)  # fmt: skip
    few = len(rankings.others(found)) <= MOST_PAIRED
    compared = peers.compare(found) if few else []
    return Report(
        run=run,
        tables=[thesis.of_graphs(t, found) for t in built if _belongs(t, found)],
        others=thesis.others(found),
        peers=compared,
        left_out=_left_out(built, found),
        claims=computation.checks(found),
        problems=problems,
        unpaired=peers.unpaired(found, compared) if few else [],
        verdicts=verdicts,
    )


def _problem_tables(run: Run, verdicts: Mapping[tuple, Verdict]) -> list[Table]:
    """The tables of a run's problems other than reachability. Problems with the same maker share one table."""
    tables: dict[Callable | str, Table] = {}
    for name in run.problems:
        make = shown(name).table
        if name != USUAL and (make or name) not in tables:
            tables[make or name] = make(run.cells, verdicts) if make else measured.table(run.of(name), name, verdicts)
    further = [more for name in run.problems if (more := shown(name).more)]
    return [*tables.values(), *(table for more in dict.fromkeys(further) for table in more(run.cells))]


def _left_out(built: list[Filled], found: list[Cell]) -> list[str]:
    """Names of the tables that no cell of the run fits; those of the GPU only if the run has cells of a GPU."""
    gpu = thesis.on_gpu(found)
    asked = [t for t in built if t.name not in PAPER_TABLES and (gpu or t.name not in thesis.GPU_TABLES)]
    return [t.name for t in asked if not _belongs(t, found)]


def _belongs(table: Filled, found: list[Cell]) -> bool:
    """Whether the report on a run shows a table that was not asked for by name.

    Tables 2.1-2.3 need a graph of the table, 2.4-2.6 a cell for one of the columns, 6.1-6.6 a cell of a GPU on a graph
    of the table, and those of Computation 2020 the graphs of that paper.
    """
    if table.name in PAPER_TABLES:
        return computation.of_paper(found)
    own = [cell for cell in found if cell.dataset in {row.dataset for row in table.rows}]
    if table.name in thesis.GPU_TABLES:
        return thesis.on_gpu(own)
    return bool(own) if table.name in COUNT_TABLES else any(map(thesis.fits, table.rows))


def graph_counts(found: Iterable[Cell], names: Iterable[str]) -> dict[str, Mapping | str]:
    """Vertices and edges of the run's published graphs, or the reason why they are unknown.

    They are counted in the graph's file here if its sha256 is that of the rows; else they come from the rows.
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
    from grailbench.data.library import describe
    from grailbench.data.registry import registry

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


def show(report: Report, details: bool = False) -> Iterator:
    """Lines and tables for the screen: the header, the answer, each table with its notes, and with `details` the
    statistics of every cell."""
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
    return f"No cell of the run belongs to table {', '.join(report.left_out)}; --table NUMBER shows one anyway."


def as_markdown(report: Report) -> str:
    """The whole report as one Markdown page, with the statistics of all cells at its end."""
    parts = [f"# {text(report.title)}\n", _listed(report.header)]
    if report.answer:
        parts.append(f"## {answer.TITLE}\n\n{_listed(report.answer)}")
    for table in report.shown:
        parts.append(markdown(table))
        if table.name == measured.NAME and report.left_out:
            parts.append(f"{paragraph(_not_here(report))}\n")
    parts += [f"- {paragraph(line)}\n" for line in report.unpaired]
    return "\n".join([*parts, markdown(report.details)])


def _listed(lines: Iterable[str]) -> str:
    """Lines as a list of Markdown; those that begin with a space are a list below the one above."""
    return "".join(f"{'  ' * line.startswith(' ')}- {paragraph(line.strip())}\n" for line in lines)


def write(report: Report, form: str = "both", out: str | Path | None = None, added: Iterable[Table] = ()) -> list[Path]:
    """Write the report's files atomically and return their paths.

    form   'markdown' (`report.md`), 'csv' (one file per table, and `datapackage.json` with the meaning of all columns),
           'latex' (one file per table), or 'both' (Markdown and CSV)
    out    the folder, by default `report` in the run's folder; for a recorded run nothing is written without it
    added  tables that get files too, but are not in `report.md`
    """
    folder = folder_for(report.run.folder, FOLDER, out)
    if folder is None:
        return []
    files: dict[str, str] = {}
    if form == "markdown" or (form == "both" and report.whole):
        files["report.md"] = as_markdown(report)
    if form == "latex":
        source = f"{report.title}, on {machine(report.run.environment, whole=False)}"
        files |= _files(
            [*report.shown, *added], "tex", lambda tables: "\n".join(latex(each, source) for each in tables)
        )
    else:
        shown = [*report.shown, report.details] if form in ("csv", "both") else []
        tables = [table for table in (*shown, *added) if table.data is not None]
        files |= _files(tables, "csv", csv)
        if tables:
            frames: dict[str, list] = {}
            for table in tables:
                frames.setdefault(f"{table.file or table.name}.csv", []).append(table.data)
            files[dictionary.NAME] = dictionary.package(frames, report.run.name, report.title)
    return [save(folder / name, text.encode()) for name, text in files.items()]


def _files(tables: Iterable[Table], ending: str, text: Callable[[list[Table]], str]) -> dict[str, str]:
    """The text of each file, by its name; several tables may share a file."""
    groups: dict[str, list[Table]] = {}
    for table in tables:
        groups.setdefault(f"{table.file or table.name}.{ending}", []).append(table)
    return {name: text(group) for name, group in groups.items()}
