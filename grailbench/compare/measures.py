"""What cells are compared by, and which may be set beside each other.

Only cells of one machine, one graph, one set of questions and one kind of place to run are compared: `graph_of`,
`questions` and `place` are equal for these.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from grailbench.harness.cells import Cell
from grailbench.harness.rows import grouped  # noqa: F401 - also for those who compare cells
from grailbench.harness.statistics import Stats
from grailbench.problems import contract
from grailbench.problems.contract import USUAL

Trials = Mapping[int, float]  #: a value by the number of its trial
ONE, MANY, GPU = PLACES = ("one core", "many cores", "GPU")  #: where a cell ran
NS = 1e6  #: ns in a ms
_GPU = re.compile(r"gpu.*|.*-gpu")  # names of our implementations on GPUs, of which some are no more


class Measure(NamedTuple):
    """What cells are compared by, where less is better.

    trials  takes a cell to its value by trial; to {} if it has none, or is not sound
    phases  whose stability the values depend on
    exact   True for sizes, which have one value and no interval
    """

    trials: Callable[[Cell], Trials]
    phases: tuple[str, ...] = ()
    exact: bool = False

    def value(self, cell: Cell) -> float | None:
        """The median of a cell's values; None without one."""
        found = self.stats(cell)
        return None if found is None else found.median

    def stats(self, cell: Cell) -> Stats | None:
        """Statistics of a cell's values; None without one."""
        found = self.trials(cell)
        return Stats(tuple(found.values())) if found else None


def of_phase(phase: str) -> Measure:
    """ms of a phase."""
    return Measure(lambda cell: cell.times.get(("", phase), {}) if cell.sound else {}, (phase,))


def _answers(cell: Cell) -> Trials:
    return cell.times.get(("", cell.last_phase), {}) if cell.sound else {}


def _each(cell: Cell) -> Trials:
    if not by_pair(cell):
        return _answers(cell)
    return {trial: ms * NS / cell.queries for trial, ms in _answers(cell).items()} if cell.queries else {}


#: what is compared first: ns of a pair, or of problems without pairs ms of the last phase
ANSWERS = Measure(_each, ("query", "solve"))


def from_edges(answers: int | None = None) -> Measure:
    """ms from edges in memory to so many answers.

    Of reachability: `ready`, and `answers` times the trial's time of a pair; with None, all pairs of the batch. Of
    others: `ready`, which is the whole way.
    """

    def trials(cell: Cell) -> Trials:
        built = cell.times.get(("", "ready"), {}) if cell.sound else {}
        if not by_pair(cell):
            return built
        if not cell.queries:
            return {}
        factor, last = 1.0 if answers is None else answers / cell.queries, _answers(cell)
        return {trial: built[trial] + factor * last[trial] for trial in built if trial in last}

    return Measure(trials, ("ready", "query", "solve"))


def of_value(value: Callable[[Cell], float | None]) -> Measure:
    """A size of a sound cell, such as the bytes of its index; those of 0 bytes have none."""
    return Measure(lambda cell: {0: found} if cell.sound and (found := value(cell)) else {}, exact=True)


def keeps_index(cell: Cell) -> bool:
    """False for a search, whose index has 0 bytes; rows that do not say how many have one if they have labels."""
    return bool(cell.index_bytes or (cell.index_bytes is None and cell.dim))


def of_index(measure: Measure) -> Measure:
    """The same of cells that keep an index: what has none has no time to build one."""
    return measure._replace(trials=lambda cell: measure.trials(cell) if keeps_index(cell) else {})


def median(cell: Cell, phase: str) -> float | None:
    """The median ms of a phase of a sound cell, or None."""
    return of_phase(phase).value(cell)


# ------------------------------------------------------------------ which cells


def graph_of(cell: Cell) -> tuple[str, str | None]:
    """What is the same for cells of the same graph: its name and its checksum."""
    return cell.dataset, cell.graph_sha256


def questions(cell: Cell) -> str:
    """What is the same for cells that were asked the same: the query set. Pairs are compared one by one, so there the
    first of a set count as it; estimates are compared with estimates alone."""
    return cell.whole_set if by_pair(cell) else query_set_of(cell)


def query_set_of(cell: Cell) -> str:
    """Its query set; how many pairs if only the first of a set; whether it gives estimates."""
    part = "" if cell.part is None else f", first {cell.part:,}"
    return cell.whole_set + part + (", estimates" if "error_permille" in (cell.counters or {}) else "")


def named(cell: Cell) -> str:
    """Its configuration, and how many pairs it was asked if only the first of a set."""
    return cell.label if cell.part is None else f"{cell.label} (first {cell.part:,} pairs)"


def place(cell: Cell) -> str:
    """Where a cell ran, one of `PLACES`. Workers of dask are many cores, also with one thread each."""
    known = contract.registered(cell.impl, cell.problem)
    if known is None:  # a cell on a CPU may have a device's peak too, in a process that it shared
        gpu = _GPU.fullmatch(cell.impl) or cell.device_peak_bytes
        return GPU if gpu else MANY if (cell.threads or 1) > 1 else ONE
    return GPU if "gpu" in known.needs else MANY if (cell.threads or 1) > 1 or "dask" in known.needs else ONE


def by_pair(cell: Cell) -> bool:
    """True if an index is built first and questions cost extra: problem reachability."""
    return cell.problem == USUAL


class Best(NamedTuple):
    """The least value of some cells, and the cell, or what has it as `cell`."""

    value: float
    item: Any

    @property
    def cell(self) -> Cell:
        return getattr(self.item, "cell", self.item)


def best(items: Iterable[Any], measure: Measure, order: Callable[[Any], Any] = lambda item: 0) -> Best | None:
    """The cell with the least value, or what has it as `cell`; of equal ones the first by `order`. None without one."""
    found = [Best(value, item) for item in items if (value := measure.value(getattr(item, "cell", item))) is not None]
    return min(found, key=lambda each: (each.value, order(each.item)), default=None)
