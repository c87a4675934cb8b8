"""Ours against other people's indexes: the same graphs, queries and machine, one interleaved run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grailbench.report.table import Table
from grailbench.runs.cells import Cell, Stats
from grailbench.runs.statistics import geometric_mean
from grailbench.words import count, ms, ratio, some

PREFIX = "peer:"
OURS = "sequential"
PHASES = ("label", "query", "ready")
USUAL_DIM = 2  #: label pairs of ours beside a peer that has no such choice
NOTE = (
    "One machine, one run, trials interleaved. A peer's build condenses the graph too, ours is handed a condensed one: "
    "compare 'ready' (edges in memory to ready index) for like with like."
)


@dataclass(frozen=True)
class Pair:
    """One graph: median ms of ours and of the peer by phase; None where a side has no sound value."""

    dataset: str
    ours: dict[str, float | None]
    theirs: dict[str, float | None]
    status: str

    def ratio(self, phase: str) -> float | None:
        """Ours / theirs, or None."""
        ours, theirs = self.ours[phase], self.theirs[phase]
        return None if ours is None or not theirs else ours / theirs


@dataclass(frozen=True)
class Comparison:
    """One of our configurations against one peer on one query set, real graphs or look-alikes (never both in one mean).

    Both sides agree in the axis that both have, label pairs. Ours works on one thread, theirs on `threads`.
    """

    ours: str
    theirs: str
    like: bool
    pairs: list[Pair]
    query_set: str
    threads: int = 1

    def geometric_mean(self, phase: str) -> tuple[float | None, int]:
        """The geometric mean of ours / theirs over the graphs that have both, and their number.

        A graph that the peer managed and we did not counts against us, as `geometric_mean` says; one that
        only we managed is left out.
        """
        ratios = [pair.ratio(phase) for pair in self.pairs if pair.theirs[phase] and pair.ratio(phase) != 0]
        mean = geometric_mean(ratios)
        return (None, 0) if mean is None else (mean.value, mean.measured)

    @property
    def phases(self) -> list[str]:
        """The phases that both sides have on some graph, in the order of `PHASES`."""
        return [phase for phase in PHASES if any(pair.ratio(phase) is not None for pair in self.pairs)] or [*PHASES]

    def worst(self, phase: str) -> tuple[float | None, str]:
        """The largest ours / theirs, and its graph."""
        found = [(r, pair.dataset) for pair in self.pairs if (r := pair.ratio(phase)) is not None]
        return max(found, default=(None, ""))


def compare(cells: Iterable[Cell]) -> list[Comparison]:
    """Every peer of the run against `sequential` on the same graphs and queries, with and without filters.

    A peer with label pairs is set against ours with as many; one without, against ours with `USUAL_DIM`, or the fewest
    that the run has. Look-alikes and query sets are compared apart. Empty when the run has no peer rows or none of ours
    like them: what found no counterpart is in `unpaired`.
    """
    groups: dict[tuple[bool, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.generated, cell.query_set), []).append(cell)
    out = []
    for (like, query_set), part in sorted(groups.items(), key=lambda item: item[0][0]):  # real graphs first
        mine = _by_label(cell for cell in part if cell.impl == OURS and cell.search == "dfs")
        dims = {cell.dim for own in mine.values() for cell in own.values() if cell.dim is not None}
        usual = USUAL_DIM if USUAL_DIM in dims else min(dims, default=None)
        for theirs, peer in _by_label(cell for cell in part if cell.impl.startswith(PREFIX)).items():
            for ours, own in sorted(mine.items(), key=lambda item: -len(item[0])):  # with filters first
                pairs = [_pair(own[name], peer[name]) for name in own if name in peer
                         and own[name].dim == (usual if peer[name].dim is None else peer[name].dim)]  # fmt: skip
                if pairs:
                    threads = max(cell.threads for cell in peer.values()) or 1
                    out.append(Comparison(ours, theirs, like, pairs, query_set, threads))
    return out


def unpaired(cells: Iterable[Cell], compared: Iterable[Comparison]) -> list[str]:
    """The cells of peers that stand in none of these comparisons, a sentence a configuration and query set."""
    paired = {(each.theirs, each.query_set, pair.dataset) for each in compared for pair in each.pairs}
    left: dict[tuple[str, str, int | None], list[str]] = {}
    for cell in cells:
        if cell.impl.startswith(PREFIX) and (cell.label, cell.query_set, cell.dataset) not in paired:
            left.setdefault((cell.label, cell.query_set, cell.dim), []).append(cell.dataset)
    return [
        f"{label} on {some(dict.fromkeys(graphs), thing='graph')} is compared with nothing: the run has no cell of "
        f"{OURS}{'' if dim is None else f' with d={dim}'} on {query_set} there."
        for (label, query_set, dim), graphs in left.items()
    ]


def _by_label(cells: Iterable[Cell]) -> dict[str, dict[str, Cell]]:
    found: dict[str, dict[str, Cell]] = {}
    for cell in cells:
        found.setdefault(cell.label, {}).setdefault(cell.dataset, cell)
    return found


def _pair(ours: Cell, theirs: Cell) -> Pair:
    bad = [f"{cell.impl} {cell.status}" for cell in (ours, theirs) if cell.status != "ok"]
    return Pair(ours.dataset, _medians(ours), _medians(theirs), "; ".join(bad) or "ok")


def _medians(cell: Cell) -> dict[str, float | None]:
    found: dict[str, Stats | None] = {phase: cell.stats(phase) if cell.sound else None for phase in PHASES}
    return {phase: None if s is None else s.median for phase, s in found.items()}


# ------------------------------------------------------------------ the table


def table(comparison: Comparison) -> Table:
    """A line a graph: median ms of ours and theirs and the ratio, by phase; then the geometric means and the largest
    ratios. The CSV has a line a graph and phase, the records one a phase with the means too (`dataset` null)."""
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
        notes=[NOTE], records=[*records, *_means(comparison)], file="peers",
        data=pandas.DataFrame(records),
    )  # fmt: skip


def heading(comparison: Comparison) -> str:
    """'Peers: A against B (random-100000-s1, one thread each; median ms; ratio = ours / theirs)'."""
    kind = "look-alikes, " if comparison.like else ""
    threads = "one thread each" if comparison.threads == 1 else f"ours on one thread, theirs on {comparison.threads}"
    how = f"{kind}{comparison.query_set}, {threads}; median ms; ratio = ours / theirs"
    return f"Peers: {comparison.ours} against {comparison.theirs} ({how})"


def _records(comparison: Comparison) -> Iterator[dict]:
    for pair in comparison.pairs:
        for phase in PHASES:
            yield {
                "ours": comparison.ours, "theirs": comparison.theirs, "query_set": comparison.query_set,
                "dataset": pair.dataset, "phase": phase, "ours_ms": pair.ours[phase],
                "theirs_ms": pair.theirs[phase], "ratio": pair.ratio(phase), "status": pair.status,
            }  # fmt: skip


def _means(comparison: Comparison) -> Iterator[dict]:
    base = {"ours": comparison.ours, "theirs": comparison.theirs, "query_set": comparison.query_set, "dataset": None}
    for phase in PHASES:
        mean, graphs = comparison.geometric_mean(phase)
        yield {**base, "phase": phase, "geometric_mean": mean, "graphs": graphs}
