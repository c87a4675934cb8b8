"""A run's report: the tables chosen, made from its rows, shown and written beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from grailbench.errors import GrailbenchError, InputError, NothingMeasured
from grailbench.graph.store import atomic_file
from grailbench.report import computation, measured, published, ranking, render, runs, tables
from grailbench.report.footnotes import Footnotes
from grailbench.report.peers import Comparison, compare, unpaired
from grailbench.report.places import place
from grailbench.report.tables import COUNT_TABLES, Table
from grailbench.runs.cells import Cell, cells, detail, plain
from grailbench.runs.environment import busy
from grailbench.runs.rows import STATUSES

if TYPE_CHECKING:
    import pandas

FOLDER = "report"
CLAIMS = "Claims of Computation 2020"


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
    tables: list[Table]
    others: list[Table]
    peers: list[Comparison]
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
    def every_table(self) -> list[Table]:
        """The published tables, then the others."""
        return [*self.tables, *self.others]

    def status_counts(self) -> str:
        """'24 cells: 23 ok, 1 failed'."""
        counts = {status: sum(c.status == status for c in self.cells) for status in STATUSES}
        parts = [f"{n} {status}" for status, n in counts.items() if n]
        return f"{len(self.cells)} cell{'s' if len(self.cells) != 1 else ''}: {', '.join(parts)}"

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
        papers = [name in tables.PAPER_TABLES for name in (table.name for table in self.tables)]
        printed = "; ".join([published.THESIS, *([published.COMPUTATION] if any(papers) or self.claims else [])])
        return [
            f"Printed: {printed}, on {published.PRINTED_MACHINE}.",
            "Beside print, times are means over the trials, as print shows them. A ratio is measured / printed and "
            "CROSSES MACHINES: below 1 says no more than that this code on this machine took less time.",
        ]

    def drifts(self) -> list[str]:
        """A warning where the trials of a phase grew slower or faster as they went on; else nothing."""
        found = [s for cell in self.cells if cell.sound for (under, _), s in cell.phases.items() if not under]
        count = sum(s.drift is not None for s in found)
        if not count:
            return []
        return [f"{count} of {len(found)} phases drifted: first and last third of the trials differ (see all cells)."]


def of_run(run: str | None, names: Iterable[str] = ()) -> tuple[Report, Path]:
    """The report on a run (a folder, a name or its beginning; None: the latest) and the run's folder.

    Raises InputError when there is no such run, else as `make`.
    """
    from grailbench.runs import folder as results

    folder = results.latest_results() if run is None else results.find_run(run)
    rows, environment = results.load_run(folder)
    return make(rows, environment, f"Run {folder.name}", names), folder


def check_measured(report: Report) -> None:
    """Raises NothingMeasured when no cell of the run has a sound time."""
    if not any(cell.sound for cell in report.cells):
        raise NothingMeasured(f"{report.title}: no cell was measured ({report.status_counts()})")


def records(report: Report) -> Iterator[dict]:
    """The ranking's plain records and one a cell of the run, then one a table cell, the claims', the peers'."""
    for each in report.rankings:
        yield from ranking.records(each)
    if report.whole:
        yield from measured.records(report.cells)
    for table in report.every_table:
        yield from render.records(table)
    for check in report.claims:
        yield {"table": "claims", **check.record()}
    for comparison in report.peers:
        yield from render.peer_records(comparison)


def make(rows: pandas.DataFrame, environment: Mapping, title: str, names: Iterable[str] = ()) -> Report:
    """The report on a run's rows. `names`: the published tables to show, blank rows and all; without names all that
    was measured, and of the published tables those that a cell of the run fits, with the graphs of the run.

    Raises NothingMeasured when there are no rows, InputError for a table of which there is no report.
    """
    names = list(names)
    for name in names:
        if name not in tables.NAMES:
            raise InputError(f"no report of table {name!r}", remedy=f"choose among {', '.join(tables.NAMES)}")
    if rows.empty:
        raise NothingMeasured(f"{title}: the run has no rows")
    others: list[str] = []
    if "problem" in rows:
        others = [name for name in dict.fromkeys(rows["problem"].dropna()) if name != "reachability"]
        rows = rows[rows["problem"].isna() | (rows["problem"] == "reachability")]
    if rows.empty:
        raise NothingMeasured(f"{title}: the run has no rows of reachability")
    found = cells(rows)
    graphs = graph_counts(rows, names)
    built = [tables.build(name, found, graphs) for name in names or tables.NAMES]
    shown = built if names else [tables.of_graphs(t, found) for t in built if _belongs(t, found)]
    peers = [] if names else compare(found)
    return Report(
        title=title,
        machine=machine(environment),
        tables=shown,
        others=[] if names else tables.others(found),
        peers=peers,
        cells=found,
        left_out=[] if names else _left_out(built, found),
        claims=[] if names else computation.checks(found),
        other_problems=others,
        unpaired=[] if names else unpaired(found, peers),
        whole=not names,
        disturbed=disturbed(environment),
    )


def _left_out(built: list[Table], found: list[Cell]) -> list[str]:
    """Names of the tables that no cell of the run fits; those of the GPU only where one was asked."""
    gpu = tables.on_gpu(found)
    asked = [t for t in built if t.name not in tables.PAPER_TABLES and (gpu or t.name not in tables.GPU_TABLES)]
    return [t.name for t in asked if not _belongs(t, found)]


def _belongs(table: Table, found: list[Cell]) -> bool:
    """Whether a run without a wish shows a table: 2.1-2.3 with a graph of it, 2.4-2.6 with a cell that one of its
    columns is of, 6.1-6.6 with a GPU's cell on a graph of it, the paper's when the run takes the paper up."""
    if table.name in tables.PAPER_TABLES:
        return computation.of_paper(found)
    own = [cell for cell in found if cell.dataset in {row.dataset for row in table.rows}]
    if table.name in tables.GPU_TABLES:
        return tables.on_gpu(own)
    return bool(own) if table.name in tables.COUNT_TABLES else any(map(tables.fits, table.rows))


def graph_counts(rows: pandas.DataFrame, names: Iterable[str]) -> dict[str, Mapping | str]:
    """Vertices and edges of the run's published graphs, or why they cannot be had.

    They are those of the file held here where its sha256 is that of the rows, else those that the rows say.
    """
    wanted = [name for name in names or COUNT_TABLES if name in COUNT_TABLES]
    printed = {dataset for name in wanted for dataset in published.table(name).rows}
    printed |= {f"{dataset}{tables.LIKE}" for dataset in printed}
    newest = {row["dataset"]: row for row in plain(rows) if row["dataset"] in printed}
    return {name: _counts(name, row) for name, row in newest.items()}


def _counts(name: str, row: Mapping) -> Mapping | str:
    from grailbench.datasets.library import describe
    from grailbench.datasets.registry import registry

    reason = "the run has no counts of it, and its file is not here to be counted"
    try:
        found = describe(registry()[name]) if name in registry() else {"vertices": None}
        if found["vertices"] is not None and found["sha256"] == row.get("graph_sha256"):
            return found
    except GrailbenchError as error:
        reason = str(error)
    if row.get("vertices") is None or row.get("edges") is None:
        return row.get("reason") or reason
    counts = {"vertices": int(row["vertices"]), "edges": int(row["edges"])}
    if row.get("roots") is not None:
        counts |= {"file_vertices": counts["vertices"] - 1, "file_edges": counts["edges"] - int(row["roots"])}
    return counts


def machine(environment: Mapping) -> str:
    """One line: processor, cores, memory, GPUs, system, Python and numba, commit."""
    packages = environment.get("packages") or {}
    memory = environment.get("memory_bytes")
    commit = environment.get("commit")
    parts = [
        environment.get("cpu") or "unknown processor",
        f"{environment.get('cores', '?')} cores",
        f"{memory / 2**30:.0f} GiB" if memory else None,
        *runs.gpus(environment),
        environment.get("os"),
        environment.get("python"),
        f"numba {packages['numba']}" if "numba" in packages else None,
        f"commit {commit[:12]}{' with changes' if environment.get('dirty') else ''}" if commit else None,
    ]
    return ", ".join(part for part in parts if part)


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
    for each in report.rankings:
        yield ""
        yield from render.terminal(each.title, *ranking.grid(each), right=ranking.right(each), keys=2)
    if report.whole:
        headers, lines, notes = measured.grid(report.cells)
        yield ""
        yield from render.terminal(
            measured.TITLE, headers, lines, notes, right=measured.right(headers), keys=measured.keys(headers)
        )
    for table in report.every_table:
        headers, lines, notes = render.grid(table)
        yield ""
        yield from render.terminal(render.heading(table), headers, lines, notes)
    if report.claims:
        yield ""
        yield from render.terminal(CLAIMS, *computation.check_grid(report.claims), right=("theirs", "ours"))
    for comparison in report.peers:
        yield ""
        yield from render.terminal(render.peer_heading(comparison), *render.peer_grid(comparison))
    if report.unpaired:
        yield from ("", *report.unpaired)
    if details:
        yield ""
        yield from render.terminal("All cells (ms)", *detail_grid(report.cells), keys=8)
    if report.left_out:
        yield _not_here(report)


def _not_here(report: Report) -> str:
    return f"No cell of the run is for table {', '.join(report.left_out)}: --table NUMBER shows one all the same."


def detail_grid(found: list[Cell]) -> tuple[list[str], list[list[str]], list[str]]:
    """Headers, lines and notes of the table of all cells: one line a cell and phase, with the statistics of its
    trials; the notes say, each once, why cells have none."""
    foot = Footnotes()
    headers = ["Data set", "implementation", "d", "search", "filters", "threads", "query set", "phase", "n", "mean",
               "95 % of mean", "median", "95 % of median", "min", "IQR", "outliers", "drift", "positives",
               "status"]  # fmt: skip
    lines = []
    for cell in found:
        for (under, phase), s in list(cell.phases.items()) or [(("", ""), None)]:
            times = ["0", *[""] * 8] if s is None else [
                str(s.trials), render.ms(s.mean), f"{render.ms(s.low)}..{render.ms(s.high)}",
                render.ms(s.median), f"{render.ms(s.median_low)}..{render.ms(s.median_high)}",
                render.ms(s.least), render.ms(s.iqr), str(s.outliers or ""),
                "" if s.drift is None else f"{s.drift:+.0%}",
            ]  # fmt: skip
            lines.append([
                cell.dataset, cell.impl, str(cell.dim or ""), cell.search or "", cell.filtering,
                f"{cell.devices} GPUs" if (cell.devices or 1) > 1 else str(cell.threads or ""),
                cell.query_set, f"{under}/{phase}" if under else phase, *times,
                "" if cell.positives is None else f"{cell.positives}",
                foot.status(cell.status, cell.reason),
            ])  # fmt: skip
    return headers, lines, foot.lines()


def as_markdown(report: Report) -> str:
    """The whole report as one Markdown page, all cells at its end."""
    parts = [f"# {report.title}\n", "\n".join(f"- {line}" for line in report.header) + "\n"]
    for each in report.rankings:
        parts.append(render.markdown(each.title, *ranking.grid(each), right=ranking.right(each)))
    if report.whole:
        headers, lines, notes = measured.grid(report.cells)
        parts.append(render.markdown(measured.TITLE, headers, lines, notes, right=measured.right(headers)))
    if report.left_out:
        parts.append(f"{_not_here(report)}\n")
    for table in report.every_table:
        parts.append(render.table_markdown(table))
    if report.claims:
        parts.append(render.markdown(CLAIMS, *computation.check_grid(report.claims)))
    for comparison in report.peers:
        parts.append(render.markdown(render.peer_heading(comparison), *render.peer_grid(comparison)))
    parts += [f"- {line}\n" for line in report.unpaired]
    parts.append(render.markdown("All cells (ms)", *detail_grid(report.cells)))
    return "\n".join(parts)


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
        for table in report.every_table:
            stem = f"table-{table.name}" if table.name in tables.NAMES else table.name
            files[f"{stem}.csv"] = render.wide_csv(table)
        if report.claims:
            files["claims.csv"] = computation.checks_csv(report.claims)
        if report.peers:
            files["peers.csv"] = render.peers_csv(report.peers)
        files["cells.csv"] = detail(report.cells).to_csv(index=False, lineterminator="\n")
    for name, text in files.items():
        with atomic_file(folder / name) as file:
            file.write(text.encode())
    return [folder / name for name in files]
