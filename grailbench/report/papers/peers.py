"""Our index against indexes by other authors, on the same graphs, queries and machine in one interleaved run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grailbench.compare.measures import median
from grailbench.harness.cells import Cell
from grailbench.harness.statistics import geometric_mean
from grailbench.problems.contract import OTHERS
from grailbench.report.papers import Part, Place
from grailbench.report.table import Table
from grailbench.util.words import count, listing, ms, ratio

OURS = "sequential"
PHASES = ("label", "query", "ready")
MOST_PAIRED = 3  #: peers of a run of which each is compared with each of our configurations in a table of its own
USUAL_DIM = 2  #: our label pairs in a comparison with a peer that has no label pairs
NOTE = (
    "One machine, one run, trials interleaved. A peer's build condenses the graph too, ours is handed a condensed one: "
    "compare 'ready' (edges in memory to ready index) for like with like."
)


@dataclass(frozen=True)
class Pair:
    """One graph: our medians and those of the peer in ms by phase, None where a side has no sound time."""

    dataset: str
    ours: dict[str, float | None]
    theirs: dict[str, float | None]
    status: str

    def ratio(self, phase: str) -> float | None:
        """Our time / their time, or None if either is missing."""
        ours, theirs = self.ours[phase], self.theirs[phase]
        return None if ours is None or not theirs else ours / theirs


@dataclass(frozen=True)
class Comparison:
    """One of our configurations against one peer on one query set, with as many label pairs if the peer has any.

    The graphs are either all real or all look-alikes (`like`). Ours runs on one thread, theirs on `threads`.
    """

    ours: str
    theirs: str
    like: bool
    pairs: list[Pair]
    query_set: str
    threads: int = 1

    def geometric_mean(self, phase: str) -> tuple[float | None, int]:
        """The geometric mean of the ratios, and the number of graphs with both times.

        A graph on which only the peer succeeded counts against us, as `runs.statistics.geometric_mean` documents; a
        graph on which only we succeeded is left out.
        """
        ratios = [pair.ratio(phase) for pair in self.pairs if pair.theirs[phase] and pair.ratio(phase) != 0]
        mean = geometric_mean(ratios)
        return (None, 0) if mean is None else (mean.value, mean.measured)

    @property
    def phases(self) -> list[str]:
        """The phases for which at least one graph has both times, in the order of `PHASES`; all if there are none."""
        return [phase for phase in PHASES if any(pair.ratio(phase) is not None for pair in self.pairs)] or [*PHASES]

    def worst(self, phase: str) -> tuple[float | None, str]:
        """The largest ratio and its graph."""
        found = [(r, pair.dataset) for pair in self.pairs if (r := pair.ratio(phase)) is not None]
        return max(found, default=(None, ""))


def compare(cells: Iterable[Cell]) -> list[Comparison]:
    """Every peer of the run against `sequential` on the same graphs and queries, with and without filters.

    A peer with label pairs is compared with our index with as many label pairs, a peer without them with ours with
    `USUAL_DIM` or, if the run has none such, the fewest in the run. Real graphs, look-alikes and query sets are
    separate comparisons. `unpaired` reports the cells of peers that are in no comparison. A run with more than
    `MOST_PAIRED` peers has none.
    """
    if not _few(cells := list(cells)):
        return []
    groups: dict[tuple[bool, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.generated, cell.query_set), []).append(cell)
    out = []
    for (like, query_set), part in sorted(groups.items(), key=lambda item: item[0][0]):  # real graphs first
        mine = _by_label(cell for cell in part if cell.impl == OURS and cell.search == "dfs")
        dims = {cell.dim for own in mine.values() for cell in own.values() if cell.dim is not None}
        usual = USUAL_DIM if USUAL_DIM in dims else min(dims, default=None)
        for theirs, peer in _by_label(cell for cell in part if cell.impl.startswith(OTHERS)).items():
            for ours, own in sorted(mine.items(), key=lambda item: -len(item[0])):  # with filters first
                pairs = [_pair(own[name], peer[name]) for name in own if name in peer
                         and own[name].dim == (usual if peer[name].dim is None else peer[name].dim)]  # fmt: skip
                if pairs:
                    threads = max(cell.threads for cell in peer.values()) or 1
                    out.append(Comparison(ours, theirs, like, pairs, query_set, threads))
    return out


def unpaired(cells: Iterable[Cell], compared: Iterable[Comparison]) -> list[str]:
    """A sentence per configuration and query set on the cells of peers that are in none of these comparisons; none of a
    run with more than `MOST_PAIRED` peers."""
    if not _few(cells := list(cells)):
        return []
    paired = {(each.theirs, each.query_set, pair.dataset) for each in compared for pair in each.pairs}
    left: dict[tuple[str, str, int | None], list[str]] = {}
    for cell in cells:
        if cell.impl.startswith(OTHERS) and (cell.label, cell.query_set, cell.dataset) not in paired:
            left.setdefault((cell.label, cell.query_set, cell.dim), []).append(cell.dataset)
    return [
        f"{label} on {listing(dict.fromkeys(graphs), thing='graph')} is compared with nothing: the run has no cell of "
        f"{OURS}{'' if dim is None else f' with d={dim}'} on {query_set} there."
        for (label, query_set, dim), graphs in left.items()
    ]


def _by_label(cells: Iterable[Cell]) -> dict[str, dict[str, Cell]]:
    found: dict[str, dict[str, Cell]] = {}
    for cell in cells:
        found.setdefault(cell.label, {}).setdefault(cell.dataset, cell)
    return found


def _pair(ours: Cell, theirs: Cell) -> Pair:
    faults = [f"{cell.impl} {cell.status}" for cell in (ours, theirs) if cell.status != "ok"]
    return Pair(ours.dataset, _medians(ours), _medians(theirs), "; ".join(faults) or "ok")


def _medians(cell: Cell) -> dict[str, float | None]:
    return {phase: median(cell, phase) for phase in PHASES}


# ------------------------------------------------------------------ the table


def table(comparison: Comparison) -> Table:
    """A line per graph with our median, their median (ms) and the ratio of each phase; then the geometric means and the
    largest ratios. The CSV has a line per graph and phase; the records also have the means, with `dataset` None."""
    import pandas

    headers = ["Data set"]
    for phase in comparison.phases:
        headers += [f"{phase} ours", f"{phase} theirs", "ratio"]
    lines = []
    for pair in comparison.pairs:
        line = [pair.dataset if pair.status == "ok" else f"{pair.dataset} ({pair.status})"]
        for phase in comparison.phases:
            line += [ms(pair.ours[phase]), ms(pair.theirs[phase]), ratio(pair.ratio(phase))]
        lines.append(line)
    means, largest = ["geometric mean"], ["largest ratio"]
    for phase in comparison.phases:
        mean, graphs = comparison.geometric_mean(phase)
        means += ["", count(graphs, "graph"), ratio(mean)]
        worst, where = comparison.worst(phase)
        largest += ["", where, ratio(worst)]
    records = list(_records(comparison))
    return Table(
        "peers", heading(comparison), headers, [*lines, means, largest], frozenset(headers[1:]),
        notes=[NOTE], records=records, file="peers",
        data=pandas.DataFrame([each for each in records if each["dataset"]], columns=[*records[0]]),
        units={name: "ms" for name in headers if name.endswith((" ours", " theirs"))},
    )  # fmt: skip


def heading(comparison: Comparison) -> str:
    """'Peers: A against B (random-100000-s1, one thread each; median ms; ratio = ours / theirs)'."""
    kind = "look-alikes, " if comparison.like else ""
    threads = "one thread each" if comparison.threads == 1 else f"ours on one thread, theirs on {comparison.threads}"
    how = f"{kind}{comparison.query_set}, {threads}; median ms; ratio = ours / theirs"
    return f"Peers: {comparison.ours} against {comparison.theirs} ({how})"


def _records(comparison: Comparison) -> Iterator[dict]:
    """A record per graph and phase, then one per phase with the mean."""
    head = {"ours": comparison.ours, "theirs": comparison.theirs, "query_set": comparison.query_set}
    for pair in comparison.pairs:
        for phase in PHASES:
            times = {"ours_ms": pair.ours[phase], "theirs_ms": pair.theirs[phase], "ratio": pair.ratio(phase)}
            yield {**head, "dataset": pair.dataset, "phase": phase, **times, "status": pair.status}
    for phase in PHASES:
        mean, graphs = comparison.geometric_mean(phase)
        yield {**head, "dataset": None, "phase": phase, "geometric_mean": mean, "graphs": graphs}


def _few(cells: Iterable[Cell]) -> bool:
    return len({cell.impl for cell in cells if cell.impl.startswith(OTHERS)}) <= MOST_PAIRED


PARTS = (Part("peers", lambda report: map(table, compare(report.cells)), place=Place.PEERS),)
