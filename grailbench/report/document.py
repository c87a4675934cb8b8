"""A run's report: the tables chosen, made from its rows, shown and written beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from grailbench.errors import GrailbenchError, InputError, NothingMeasured
from grailbench.graph.store import atomic_file
from grailbench.report import measured, published, ranking
from grailbench.report.footnotes import Footnotes
from grailbench.report.papers import beside, computation, peers, thesis
from grailbench.report.papers.beside import Filled
from grailbench.report.places import place
from grailbench.report.published import COUNT_TABLES, PAPER_TABLES
from grailbench.report.render import json
from grailbench.report.render.csv import csv
from grailbench.report.render.markdown import markdown
from grailbench.report.render.terminal import terminal
from grailbench.report.table import Table, numbers
from grailbench.runs.cells import Cell, Run, detail, load
from grailbench.runs.environment import busy
from grailbench.runs.rows import STATUSES
from grailbench.words import count, machine, ms

FOLDER = "report"


@dataclass(frozen=True)
class Report:
    """What a run gives: a ranking where it has peers, all cells, the published tables that its cells fit, the tables of
    other graphs, the peers, and the claims of Computation 2020 where the run takes that paper up.

    `whole` is False when tables were asked for by name: then it is those alone, with every printed row. `left_out` are
    the published tables that no cell of the run fits; `other_problems` those that the run has cells of too, and this
    report none; `unpaired` says which cells of peers none of ours is like, `disturbed` that the machine had other work.
    """

    title: str
    machine: str
    tables: list[Filled]
    others: list[Filled]
    peers: list[peers.Comparison]
    cells: list[Cell]
    left_out: list[str]
    claims: list[computation.Check] = field(default_factory=list)
    other_problems: list[str] = field(default_factory=list)
    unpaired: list[str] = field(default_factory=list)
    whole: bool = True
    disturbed: list[str] = field(default_factory=list)

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
            *([measured.table(self.cells)] if self.whole else []),
            *map(beside.table, self.every_table),
            *([computation.claims_table(self.claims)] if self.claims else []),
            *map(peers.table, self.peers),
        ]

    @cached_property
    def details(self) -> Table:
        """One line a cell and phase, with the statistics of its trials."""
        return detail_table(self.cells)

    def status_counts(self) -> str:
        """'24 cells: 23 ok, 1 failed'."""
        counts = {status: sum(c.status == status for c in self.cells) for status in STATUSES}
        parts = [f"{n} {status}" for status, n in counts.items() if n]
        return f"{count(len(self.cells), 'cell')}: {', '.join(parts)}"

    @property
    def header(self) -> list[str]:
        """The lines that say what the numbers are: machines, statistics, what a ratio means."""
        return [
            f"Measured on: {self.machine}",
            *self.disturbed,
            *self._printed(),
            self.status_counts(),
            *self.drifts(),
            *(f"The run has cells of {name} too, which are not shown here: run that problem apart."
              for name in self.other_problems),
        ]  # fmt: skip

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
        found = [s for cell in self.cells if cell.sound for (under, _), s in cell.phases.items() if not under]
        drifted = sum(s.drift is not None for s in found)
        if not drifted:
            return []
        return [f"{drifted} of {len(found)} phases drifted: first and last third of the trials differ (see all cells)."]


def of_run(run: str | None, names: Iterable[str] = ()) -> tuple[Report, Path]:
    """The report on a run (a folder, a name or its beginning; None: the latest) and the run's folder.

    Raises InputError when there is no such run, else as `make`.
    """
    found = load(run)
    return make(found, names), found.folder


def check_measured(report: Report) -> None:
    """Raises NothingMeasured when no cell of the run has a sound time."""
    if not any(cell.sound for cell in report.cells):
        raise NothingMeasured(f"{report.title}: no cell was measured ({report.status_counts()})")


def records(report: Report) -> Iterator[dict]:
    """The ranking's plain records and one a cell of the run, then one a table cell, the claims', the peers'."""
    for table in report.shown:
        yield from json.records(table)


def make(run: Run, names: Iterable[str] = ()) -> Report:
    """The report on a run. `names`: the published tables to show, blank rows and all; without names all that
    was measured, and of the published tables those that a cell of the run fits, with the graphs of the run.

    Raises NothingMeasured when there are no rows, InputError for a table of which there is no report.
    """
    names = list(names)
    for name in names:
        if name not in thesis.NAMES:
            raise InputError(f"no report of table {name!r}", remedy=f"choose among {', '.join(thesis.NAMES)}")
    if not run.cells:
        raise NothingMeasured(f"{run.title}: the run has no rows")
    found = run.of("reachability")
    if not found:
        raise NothingMeasured(f"{run.title}: the run has no rows of reachability")
    graphs = graph_counts(found, names)
    built = [thesis.build(name, found, graphs) for name in names or thesis.NAMES]
    shown = built if names else [thesis.of_graphs(t, found) for t in built if _belongs(t, found)]
    compared = [] if names else peers.compare(found)
    return Report(
        title=run.title,
        machine=machine(run.environment),
        tables=shown,
        others=[] if names else thesis.others(found),
        peers=compared,
        cells=found,
        left_out=[] if names else _left_out(built, found),
        claims=[] if names else computation.checks(found),
        other_problems=[name for name in run.problems if name != "reachability"],
        unpaired=[] if names else peers.unpaired(found, compared),
        whole=not names,
        disturbed=disturbed(run.environment),
    )


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
    """Lines and tables for the screen: the header, who is fastest where there are peers, what was measured, each table
    with its notes, the peers, and with `details` the statistics of every cell."""
    yield from report.header
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


def detail_table(found: list[Cell]) -> Table:
    """One line a cell and phase, with the statistics of its trials; the notes say, each once, why cells have none. Its
    CSV is that of `grailbench.runs.cells.detail`."""
    foot = Footnotes()
    headers = ["Data set", "implementation", "d", "search", "filters", "threads", "query set", "phase", "n", "mean",
               "95 % of mean", "median", "95 % of median", "min", "IQR", "outliers", "drift", "positives",
               "status"]  # fmt: skip
    lines = []
    for cell in found:
        for (under, phase), s in list(cell.phases.items()) or [(("", ""), None)]:
            times = ["0", *[""] * 8] if s is None else [
                str(s.trials), ms(s.mean), f"{ms(s.low)}..{ms(s.high)}",
                ms(s.median), f"{ms(s.median_low)}..{ms(s.median_high)}",
                ms(s.least), ms(s.iqr), str(s.outliers or ""),
                "" if s.drift is None else f"{s.drift:+.0%}",
            ]  # fmt: skip
            lines.append([
                cell.dataset, cell.impl, str(cell.dim or ""), cell.search or "", cell.filtering,
                f"{cell.devices} GPUs" if (cell.devices or 1) > 1 else str(cell.threads or ""),
                cell.query_set, f"{under}/{phase}" if under else phase, *times,
                "" if cell.positives is None else f"{cell.positives}",
                foot.status(cell.status, cell.reason),
            ])  # fmt: skip
    return Table(
        "details", "All cells (ms)", headers, lines, numbers(headers), keys=8, notes=foot.lines(), file="cells",
        data=detail(found),
    )  # fmt: skip


def as_markdown(report: Report) -> str:
    """The whole report as one Markdown page, all cells at its end."""
    parts = [f"# {report.title}\n", "\n".join(f"- {line}" for line in report.header) + "\n"]
    for table in report.shown:
        parts.append(markdown(table))
        if table.name == measured.NAME and report.left_out:
            parts.append(f"{_not_here(report)}\n")
    parts += [f"- {line}\n" for line in report.unpaired]
    return "\n".join([*parts, markdown(report.details)])


def write(report: Report, run: Path, form: str = "both", out: str | Path | None = None) -> list[Path]:
    """Write `report.md` and a CSV a table (`form` 'markdown', 'csv' or 'both') into `out`, by default the run's folder
    `report`, each file atomically; returns the paths: none of a recorded run without `out`."""
    folder = place(run, FOLDER, out)
    if folder is None:
        return []
    files: dict[str, str] = {}
    if form in ("markdown", "both"):
        files["report.md"] = as_markdown(report)
    if form in ("csv", "both"):
        files |= csv_files([*report.shown, report.details])
    return put_files(folder, files)


def put_files(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Write files into a folder, each atomically; their paths."""
    for name, text in files.items():
        with atomic_file(folder / name) as file:
            file.write(text.encode())
    return [folder / name for name in files]


def csv_files(tables: Iterable[Table]) -> dict[str, str]:
    """The text of each CSV file that some tables have, by its name."""
    groups: dict[str, list[Table]] = {}
    for table in tables:
        if table.data is not None:
            groups.setdefault(f"{table.file}.csv", []).append(table)
    return {name: csv(group) for name, group in groups.items()}
