"""Who wins where: every implementation against the best other on the same machine, graph, questions and place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from grailbench.compare import ratios
from grailbench.compare.ratios import EQUAL, Ratio
from grailbench.harness.rows import STATUSES
from grailbench.harness.statistics import Interval
from grailbench.report.site import measures
from grailbench.report.site.entries import Entry
from grailbench.report.site.measures import FROM_EDGES, Best, Machine, answering, best, middle, totals

WINS, LOSES = "wins", "loses"
_VERDICTS = {-1: WINS, 0: EQUAL, 1: LOSES}  #: by `Ratio.order` of its time over that of the other


@dataclass(frozen=True, eq=False)
class Duel:
    """The best of an implementation against the best of the others, by one measure. `own` or `other` is None if no cell
    of that side has a sound time."""

    own: Best | None
    other: Best | None
    samples: tuple[tuple[float, ...], tuple[float, ...]]

    @cached_property
    def compared(self) -> Ratio | None:
        """Own time / other's; None without both, and for a time of 0."""
        return ratios.of_samples(*self.samples)

    @property
    def ratio(self) -> float | None:
        """The value of `compared`."""
        return self.compared and self.compared.value

    @property
    def interval(self) -> Interval | None:
        """The interval of `compared`."""
        return self.compared and self.compared.interval

    @property
    def verdict(self) -> str | None:
        """`WINS`, `LOSES`, or `EQUAL` if 1 is in the interval; None without a ratio."""
        return self.compared and _VERDICTS[self.compared.order]


@dataclass(frozen=True, eq=False)
class Round:
    """An implementation on one machine, graph, query set and place.

    answering  by the time of a pair, or of the last phase; `whole` from edges to all answers of the set
    lost       its cell with the worst status, if no cell of it is sound
    """

    machine: Machine
    graph: tuple[str, str | None]
    asked: str
    place: str
    answering: Duel
    whole: Duel
    lost: Entry | None

    @property
    def verdict(self) -> str | None:
        """That of `answering`; `LOSES` if it has no sound cell there and another has; None with nothing to compare."""
        if self.answering.own is None:
            return None if self.answering.other is None else LOSES
        return self.answering.verdict


@dataclass(frozen=True, eq=False)
class _Seat:
    """A cell in a group: its samples by both measures, and their medians."""

    entry: Entry
    samples: tuple[tuple[float, ...], tuple[float, ...]]
    medians: tuple[float | None, float | None]


@lru_cache(maxsize=1)  # pages of one site ask for the same entries
def _grouped(entries: tuple[Entry, ...]) -> dict[tuple, list[_Seat]]:
    """The entries that may be compared with one another; those of runs on several machines are left out."""
    groups: dict[tuple, list[Entry]] = {}
    for entry in entries:
        at, cell = measures.machine(entry), entry.cell
        if at is not None:
            key = cell.problem, at, measures.graph_of(cell), measures.comparable(cell), measures.place(cell)
            groups.setdefault(key, []).append(entry)
    return {key: list(_seated(group)) for key, group in groups.items()}


def _seated(group: list[Entry]) -> Iterator[_Seat]:
    size = max((entry.cell.queries or 0 for entry in group), default=0) or None
    for entry in group:
        samples = answering(entry.cell), totals(entry.cell, FROM_EDGES, size)
        yield _Seat(entry, samples, tuple(map(middle, samples)))


def rounds(name: str, problem: str, entries: Iterable[Entry]) -> list[Round]:
    """Every round of an implementation, in the order of its cells."""
    found = []
    for (solved, at, graph, asked, place), group in _grouped(tuple(entries)).items():
        own = [seat for seat in group if seat.entry.cell.impl == name]
        if solved != problem or not own:
            continue
        others = [seat for seat in group if seat.entry.cell.impl != name]
        cells = [seat.entry for seat in own]
        lost = None if any(each.cell.sound for each in cells) else max(
            cells, key=lambda each: STATUSES.index(each.cell.status))  # fmt: skip
        found.append(Round(at, graph, asked, place, _duel(own, others, 0), _duel(own, others, 1), lost))
    return found


def _duel(own: list[_Seat], others: list[_Seat], measure: int) -> Duel:
    sides, samples = [], []
    for side in (own, others):
        by_entry = {id(seat.entry.cell): seat for seat in side}
        least = best((seat.entry for seat in side), lambda cell, of=by_entry: of[id(cell)].medians[measure])
        sides.append(least)
        samples.append(() if least is None else by_entry[id(least.cell)].samples[measure])
    return Duel(*sides, tuple(samples))


def graphs_won(found: Iterable[Round], whole: bool = False) -> tuple[set[str], set[str]]:
    """The graphs on which an implementation wins a round and loses none, and all on which it had another beside it; by
    the time of the answers or, if `whole`, from edges."""
    verdicts = _verdicts(found, whole)
    return {graph for graph, seen in verdicts.items() if WINS in seen and LOSES not in seen}, set(verdicts)


def graphs_lost(found: Iterable[Round]) -> set[str]:
    """The graphs on which an implementation loses a round and wins none."""
    return {graph for graph, seen in _verdicts(found).items() if LOSES in seen and WINS not in seen}


def _verdicts(found: Iterable[Round], whole: bool = False) -> dict[str, set[str]]:
    verdicts: dict[str, set[str]] = {}
    for each in found:
        verdict = each.whole.verdict if whole else each.verdict
        if verdict is not None:
            verdicts.setdefault(each.graph[0], set()).add(verdict)
    return verdicts
