"""From measured cells to a recommendation, costs, break-even numbers, what is about equal.

The cost of a configuration for n queries is a straight line: the time from edges in memory to a ready index (phase
`ready`), once, and n times the time of a query (phase `query`, divided by the pairs of the batch). Where several query
sets were measured, each counts the same. Times are medians of the trials, in ms.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from grailbench.api.build import build
from grailbench.compare import costs
from grailbench.compare.costs import Cost, Step
from grailbench.compare.ratios import FEW, Ratio
from grailbench.errors import InputError, NothingMeasured
from grailbench.harness import axes
from grailbench.harness.cells import Cell
from grailbench.harness.rows import STATUSES
from grailbench.harness.statistics import Interval, interval_of, resampled
from grailbench.problems.contract import Params, implementation
from grailbench.report.figure import Axis, Figure, Mark, Marks, Panel
from grailbench.util.words import decimal_size, short, size

LEVEL = 1.03  #: a configuration that takes at most so many times as long is about equal, whatever its trials say
ROUGH = 1.25  #: the same where there is no interval


@dataclass(frozen=True, eq=False)
class Option:
    """A configuration that can be taken: its cells on the graph, one a query set."""

    cells: tuple[Cell, ...]

    @property
    def name(self) -> str:
        """The configuration in words: 'sequential d=2 dfs level,tree'."""
        return axes.label(self.impl, self.cells[0].axes)

    @property
    def impl(self) -> str:
        return self.cells[0].impl

    @property
    def worst(self) -> Cell:
        """The cell with the worst status."""
        return max(self.cells, key=lambda cell: STATUSES.index(cell.status))

    @property
    def sound(self) -> bool:
        """True if it has times, from edges and of queries, on every query set, and no wrong answer."""
        return all(cell.sound and cell.stats("ready") and cell.stats("query") and cell.queries for cell in self.cells)

    @property
    def sampled(self) -> bool:
        """True if not all of its answers were checked."""
        return any(cell.status == "sampled" for cell in self.cells)

    @property
    def part(self) -> int | None:
        """How many pairs it was asked, if it takes one at a time and was asked the first of each query set; or None."""
        return self._most("part")

    @cached_property
    def build(self) -> float:
        """ms from edges in memory to a ready index."""
        return float(np.mean([cell.stats("ready").median for cell in self.cells]))

    @cached_property
    def query(self) -> float:
        """ms of one query of a batch."""
        return float(np.mean([cell.stats("query").median / cell.queries for cell in self.cells]))

    def _most(self, field: str) -> int | None:
        """The most of a field of the cells that have it."""
        return max((value for cell in self.cells if (value := getattr(cell, field)) is not None), default=None)

    @property
    def index_bytes(self) -> int | None:
        """Bytes of the index beside the graph; None if not known."""
        return self._most("index_bytes")

    @property
    def peak_bytes(self) -> int | None:
        """The most memory of the process that built and asked it, interpreter and graph included; None if it had no
        process of its own."""
        return self._most("host_peak_bytes")

    @property
    def memory(self) -> int:
        """The bytes that count against a bound on memory: the peak of its process, or those of the index if that is
        not known."""
        return max(self.peak_bytes or 0, self.index_bytes or 0)

    @property
    def trials(self) -> int:
        """The least number of trials of a cell."""
        return min(cell.trials for cell in self.cells)

    def cost(self, queries: float) -> float:
        """ms to build it and to ask so many queries."""
        return self.build + queries * self.query

    def draws(self, queries: float) -> np.ndarray:
        """float64[RESAMPLES]: bootstrap draws of `cost`. Options with the same number of trials are drawn by the same
        trials, so that what slowed a trial down for both cancels in their ratio."""
        drawn = [resampled(cell.sample("ready"), seed=seed) for seed, cell in enumerate(self.cells, 1)]
        return np.mean(drawn, axis=0) + queries * self._query_draws

    @cached_property
    def _query_draws(self) -> np.ndarray:
        drawn = [resampled(cell.sample("query"), seed=seed) / cell.queries for seed, cell in enumerate(self.cells, 1)]
        return np.mean(drawn, axis=0)

    @property
    def query_interval(self) -> Interval | None:
        """The 95 % interval of `query`; None with too few trials."""
        return None if self.trials < FEW else interval_of(self._query_draws)


def options(cells: Iterable[Cell]) -> list[Option]:
    """The configurations of some cells on one graph, in the order of their first cells."""
    found: dict[tuple, list[Cell]] = {}
    for cell in cells:
        found.setdefault((cell.impl, *cell.axes.items(), cell.seed), []).append(cell)
    return [Option(tuple(own)) for own in found.values()]


def envelope(found: Iterable[Option]) -> list[Step]:
    """Which of some sound options costs least for how many queries, from 0 queries on (`compare.costs.envelope`).

    `since` of a step is the least whole number of queries from which its option is the cheapest: there its dearer
    build has paid.
    """
    return costs.envelope(list(found), _line)


def _line(option: Option) -> Cost:
    return Cost(option.build, option.query)


class Unindexed(NamedTuple):
    """The configuration without an index that has the shortest query, and the number of queries from which building
    another one pays against it; None if it never does."""

    option: Option
    since: int | None


def unindexed(found: Iterable[Option], built: Option) -> Unindexed | None:
    """From how many queries `built` pays against searching and sweeping; None if it keeps no index, or nothing else
    does without one."""
    none = min((o for o in found if o.sound and o.index_bytes == 0), key=lambda o: o.query, default=None)
    if none is None or not built.index_bytes:
        return None
    if built.query >= none.query:
        return Unindexed(none, None if built.build >= none.build else 0)
    return Unindexed(none, costs.break_even(_line(built), _line(none)))


def front(found: Iterable[Option]) -> list[Option]:
    """The Pareto front of build, query and index bytes: see `compare.costs.front`."""
    found = [option for option in found if option.sound]
    best = costs.front([(option.build, option.query, option.index_bytes or 0) for option in found])
    return [option for option, kept in zip(found, best, strict=True) if kept]


def compared(option: Option, base: Option, queries: float) -> Ratio:
    """How many times as long an option takes as another, for so many queries."""
    value = option.cost(queries) / base.cost(queries)
    if min(option.trials, base.trials) < FEW:
        return Ratio(value)
    return Ratio(value, interval_of(option.draws(queries) / base.draws(queries)))


def level(ratio: Ratio) -> bool:
    """Whether two options are to be taken as equal in time."""
    most = ROUGH if ratio.interval is None else LEVEL
    return 1 / most <= ratio.value <= most or (ratio.interval is not None and ratio.order == 0)


@dataclass(frozen=True, eq=False)
class Advice:
    """The recommendation, and what it rests on.

    queries   the number of queries that a build is for
    best      the option to take
    level     the options that are about equal to the cheapest, which is the first; `best` is one of them
    ratios    how many times as long each sound option that fits the memory takes as `best`, the cheapest first
    steps     what is cheapest for how many queries, among those that fit the memory
    too_large the sound options that need more memory than is allowed
    lost      the options without times on some query set: wrong, failed, out of time or memory, not run
    """

    queries: int
    best: Option
    level: Sequence[Option]
    ratios: dict[Option, Ratio]
    steps: Sequence[Step]
    too_large: Sequence[Option] = ()
    lost: Sequence[Option] = ()

    @property
    def fastest(self) -> Option:
        """The option of least cost; another than `best` if that is level with it and smaller."""
        return self.level[0]


def advise(found: Iterable[Option], queries: int, memory: int | None = None) -> Advice:
    """What to take for so many queries to a build, within so many bytes of memory (None: any).

    The option of least cost wins, unless others are level with it: among these the one with the smallest index, then
    with fewer needs (extras, a GPU), then on fewer threads, then the cheapest. Wrong and failed options never win.

    Raises NothingMeasured if no option has times, and InputError if none fits the memory.
    """
    found = list(found)
    sound = sorted((option for option in found if option.sound), key=lambda option: option.cost(queries))
    lost = [option for option in found if not option.sound]
    if not sound:
        reasons = dict.fromkeys(f"{option.name}: {option.worst.reason or option.worst.status}" for option in lost)
        raise NothingMeasured(f"no candidate could be measured: {'; '.join(list(reasons)[:3]) or 'there is none'}")
    fitting = [option for option in sound if memory is None or option.memory <= memory]
    if not fitting:
        least = min(sound, key=lambda option: option.memory)
        needs = f"the least, {least.name}, needs {decimal_size(least.memory)}"
        raise InputError(f"no candidate fits {decimal_size(memory)}: {needs}", remedy="a larger --memory, or without")
    # in ascending order up to the first that takes longer, so that none is taken that takes longer than that
    equal = list(takewhile(lambda option: level(compared(option, fitting[0], queries)), fitting))
    best = min(equal, key=lambda option: (*_burden(option), option.cost(queries)))
    return Advice(
        queries, best, equal, {option: compared(option, best, queries) for option in fitting}, envelope(fitting),
        [option for option in sound if option not in fitting], lost,
    )  # fmt: skip


def _burden(option: Option) -> tuple[float, int, int]:
    """What an option asks of its user beside time: bytes of the index, things to install, threads."""
    known = math.inf if option.index_bytes is None else option.index_bytes
    return known, len(implementation(option.impl).needs), option.cells[0].threads or 1


OTHERS = "first round alone"  #: the series of the configurations that did not come to the last round
NS = 1e6  #: ns in a ms


def figure(last: list[Option], dropped: list[Option]) -> Figure:
    """The figure of the last round's configurations, in their order, and of those that were dropped before."""
    import pandas

    best = front(last)
    rows, times, sizes = [], [], []
    for option in (*last, *dropped):
        final, sound, known = option in last, option.sound, option.index_bytes
        bounds = option.query_interval if final and sound else None
        low, high = (None, None) if bounds is None else (NS * bounds.low, NS * bounds.high)
        rows.append({
            "configuration": option.name, "round": "last" if final else "first", "front": option in best,
            "build_ms": option.build if sound else None, "query_ns": NS * option.query if sound else None,
            "query_ns_low": low, "query_ns_high": high, "index_bytes": known, "peak_bytes": option.peak_bytes,
            "status": option.worst.status, "reason": option.worst.reason,
        })  # fmt: skip
        if not sound:
            continue
        hint = f"{option.name}: {short(option.build)} ms to build, {short(NS * option.query)} ns a query"
        hint += "" if known is None else f", index of {size(known)}"
        series, place = option.name if final else OTHERS, (NS * option.query, hint, low, high, not final)
        times.append(Mark(series, option.build, *place))
        sizes += [Mark(series, known / 1024, *place)] if known else []
    panels = [Panel("ns a query against ms to build", tuple(times))] if times else []
    panels += [Panel("ns a query against KiB of index", tuple(sizes))] if sizes else []
    names = tuple(dict.fromkeys(mark.series for mark in times))
    none = [option.name for option in (*last, *dropped) if option.sound and not option.index_bytes]
    note = f"Without an index, and so not on the right: {', '.join(none)}." if none and sizes else ""
    form = Marks(tuple(panels), names, Axis(), Axis("ns a query"))
    return Figure("advise", pandas.DataFrame(rows), form, note)


#: axes that `build` takes by their own names, d aside
_SAID = ("filters", "threads", "search", "order", "devices", "memory")


def program(graph: str, option: Option) -> list[str]:
    """Three lines of Python that build an option's index on a graph of that name and ask it for the pair (u, v)."""
    cell, has = option.cells[0], implementation(option.impl).axes
    usual = {name: parameter.default for name, parameter in inspect.signature(build).parameters.items()}
    usual["threads"] = Params(threads=usual["threads"]).workers  # a cell has the number of all cores
    given = [f"gb.Graph.open({graph!r})", repr(option.impl)]
    given += [f"d={cell.dim}"] if "dim" in has else []
    for axis in _SAID:
        value = getattr(cell, axis) or ("none" if axis == "filters" else None)
        if axis in has and value not in (None, usual[axis]):
            given.append(f"{axis}={value!r}")
    return ["import grailbench as gb", f"index = gb.build({', '.join(given)})", "index.reaches(u, v)"]
