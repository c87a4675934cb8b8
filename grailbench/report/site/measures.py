"""What pages of graphs and implementations compare: machines, places, and times of a number of answers.

Only cells of one machine, graph and query set are compared: `machine` and `graph_of` say which are the same. Runs that
were measured on several machines at once are in no comparison.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from grailbench.harness.cells import Cell
from grailbench.harness.statistics import Interval, median_interval
from grailbench.problems import contract
from grailbench.problems.contract import USUAL
from grailbench.report.papers.columns import on_gpu
from grailbench.report.render.csv import csv
from grailbench.report.site.entries import Entry
from grailbench.report.table import Table
from grailbench.util import words

FROM_EDGES, AT_HAND = "from edges", "graph at hand"
#: counters of pairs that were searched, or of searches
_SEARCHES = ("searches", "queries_searched", "queries_swept", "groups", "search_levels")
_DRAWN = re.compile(r"([a-z]+)-\d+-s\d+")  # names of query sets that were drawn
ONE, MANY, GPU = "one core", "many cores", "GPU"
PEERS = "peers"
PLACES = (ONE, MANY, GPU)  #: where a cell ran


class Machine(NamedTuple):
    """A machine, or a run of which none is known. `key` is the same for cells whose times may be compared."""

    key: tuple[str, str]
    title: str


def machine(entry: Entry) -> Machine | None:
    """The machine of a cell; None if its run was measured on several."""
    run = entry.source.run
    if run.mixed:
        return None
    title = words.machine({**run.environment, "commit": None}, whole=False)
    if run.fingerprint is None:
        return Machine(("run", entry.source.name), f"{title} (run {entry.source.name})")
    return Machine(("machine", run.fingerprint), f"{title} (machine {run.fingerprint[:6]})")


def graph_of(cell: Cell) -> tuple[str, str | None]:
    """What is the same for cells of the same graph: its name and its checksum."""
    return cell.dataset, cell.graph_sha256


def queries(cell: Cell) -> str:
    """The kind of a cell's questions, of which the best are taken together: of reachability 'random', 'balanced' or the
    name of another query set, of others the query set."""
    found = _DRAWN.fullmatch(cell.whole_set) if by_pair(cell) else None
    return found[1] if found else asked(cell)


def comparable(cell: Cell) -> str:
    """What is the same for cells that were asked the same: the query set. Pairs are compared one by one, so there the
    first of a set count as it; estimates are compared with estimates alone."""
    return cell.whole_set if by_pair(cell) else asked(cell)


def place(cell: Cell) -> str:
    """Where a cell ran, one of `PLACES`. Workers of dask are many cores, also with one thread each."""
    known = contract.registered(cell.impl, cell.problem)
    if known is None:  # a cell on a CPU may have a device's peak too, in a process that it shared
        return GPU if on_gpu([cell]) or cell.device_peak_bytes else MANY if (cell.threads or 1) > 1 else ONE
    return GPU if "gpu" in known.needs else MANY if (cell.threads or 1) > 1 or "dask" in known.needs else ONE


def searchless(cell: Cell) -> bool | None:
    """True if it counted its work and answered every pair without a search; None if it counted nothing."""
    return None if not cell.counters else not any(cell.counters.get(name) for name in _SEARCHES)


def by_pair(cell: Cell) -> bool:
    """True if an index is built first and questions cost extra: problem reachability."""
    return cell.problem == USUAL


def totals(cell: Cell, way: str, answers: int | None = None) -> tuple[float, ...]:
    """ms of each trial from `FROM_EDGES` in memory, or from the `AT_HAND` graph, to so many answers.

    Of reachability: `ready` or `label`, and `answers` times the trial's time of a pair; with None, all pairs of the
    batch. Of others: `ready`, which is the whole way, or the last phase. Empty without these times, and for a cell
    that is not sound.
    """
    if not cell.sound:
        return ()
    last = cell.times.get(("", cell.last_phase), {})
    if not by_pair(cell):
        return tuple((cell.times.get(("", "ready"), {}) if way == FROM_EDGES else last).values())
    built = cell.times.get(("", "ready" if way == FROM_EDGES else "label"), {})
    if not cell.queries:
        return ()
    factor = 1.0 if answers is None else answers / cell.queries
    return tuple(built[trial] + factor * last[trial] for trial in built if trial in last)


def answering(cell: Cell) -> tuple[float, ...]:
    """What is compared first, by trial: ns of a pair, or of other problems ms of the last phase. Empty as `totals`."""
    times = cell.times.get(("", cell.last_phase), {}).values() if cell.sound else ()
    if not by_pair(cell):
        return tuple(times)
    return tuple(time * 1e6 / cell.queries for time in times) if cell.queries else ()


def middle(sample: tuple[float, ...]) -> float | None:
    """The median of some times; None without one."""
    return float(np.median(sample)) if sample else None


def interval(sample: tuple[float, ...]) -> Interval | None:
    """The 95 % interval of the median; None for less than two times."""
    return median_interval(sample) if len(sample) > 1 else None


def joules(cell: Cell) -> float | None:
    """The energy of one pass of the last phase, in joules; None where it is not known."""
    return cell.joules(cell.last_phase)


@dataclass(frozen=True)
class Best:
    """The cell with the least value of some, and that value."""

    value: float
    entry: Entry

    @property
    def cell(self) -> Cell:
        return self.entry.cell


def best(entries: Iterable[Entry], value) -> Best | None:
    """The entry with the least value, of those that have one; the first by label and run of equal ones."""
    found = [(number, each.cell.label, each.source.name, i, each) for i, each in enumerate(entries)
             if (number := value(each.cell)) is not None]  # fmt: skip
    if not found:
        return None
    number, *_, entry = min(found, key=lambda each: each[:-1])
    return Best(number, entry)


# ------------------------------------------------------------------ texts and blocks


def asked(cell: Cell) -> str:
    """Its query set; how many pairs if only the first of a set; whether it gives estimates."""
    part = "" if cell.part is None else f", first {cell.part:,}"
    return cell.whole_set + part + (", estimates" if "error_permille" in (cell.counters or {}) else "")


def to(up: str, address: str) -> str:
    """An address of the site for a page in a folder; `up` leads to the site's."""
    return f"{up}{address}"


def tables(table: Table) -> list[tuple[str, object]]:
    """The blocks of a table: itself, and its CSV if it has data."""
    return [("table", table), *([("data", (table.file or table.name, csv([table])))] if table.data is not None else [])]
