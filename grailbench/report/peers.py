"""Ours against other people's indexes: the same graphs, queries and machine, one interleaved run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from grailbench.report.statistics import geometric_mean
from grailbench.report.summary import Cell, Stats

PREFIX = "peer:"
OURS = "sequential"
PHASES = ("label", "query", "ready")


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
    """One of our configurations against one peer, real graphs or look-alikes (never both in one mean)."""

    ours: str
    theirs: str
    like: bool
    pairs: list[Pair]

    def geometric_mean(self, phase: str) -> tuple[float | None, int]:
        """The geometric mean of ours / theirs over the graphs that have both, and their number.

        A graph that the peer managed and we did not counts against us, as `statistics.geometric_mean` says; one that
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
    """Every peer of the run against `sequential` on one thread, two label pairs, with and without filters.

    Look-alikes and other graphs are compared apart. Empty when the run has no peer rows or none of ours
    beside them.
    """
    cells = [cell for cell in cells if cell.random]
    out = []
    for like in (False, True):
        part = [cell for cell in cells if cell.generated == like]
        mine = _by_label(c for c in part if c.impl == OURS and c.dim == 2 and c.search == "dfs")
        yours = _by_label(c for c in part if c.impl.startswith(PREFIX))
        for theirs, peer in yours.items():
            for ours, own in sorted(mine.items(), key=lambda item: -len(item[0])):  # with filters first
                pairs = [_pair(own[name], peer[name]) for name in own if name in peer]
                if pairs:
                    out.append(Comparison(ours, theirs, like, pairs))
    return out


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
