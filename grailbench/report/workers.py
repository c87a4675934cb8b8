"""What workers of a cluster add: the rate of W workers over W times that of one, for a run that has `dask`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grailbench.report.measured import median
from grailbench.report.table import Table
from grailbench.runs.cells import Cell
from grailbench.words import BLANK, short

NAME = "workers"
DASK, THREADS = "dask", "parallel"  #: the same index, on workers and on threads of one process
_HEADERS = ["graph", "configuration", "workers", "pairs", "M pairs/s", "efficiency", "of threads"]


@dataclass(frozen=True)
class Share:
    """A cell of `dask`.

    one       the cell with one worker; None if the run has none
    threads   the cell of `parallel` with as many threads; None if the run has none
    """

    cell: Cell
    one: Cell | None
    threads: Cell | None

    @property
    def efficiency(self) -> float | None:
        """The rate over that of one worker times the workers."""
        rates = rate(self.cell), None if self.one is None else rate(self.one)
        return rates[0] / (self.cell.threads * rates[1]) if all(rates) else None

    @property
    def of_threads(self) -> float | None:
        """The rate over that of as many threads of one process."""
        rates = rate(self.cell), None if self.threads is None else rate(self.threads)
        return rates[0] / rates[1] if all(rates) else None


def rate(cell: Cell) -> float | None:
    """Pairs a second, by the median of the trials; None without times."""
    ms = median(cell, "query")
    return cell.queries / ms * 1e3 if ms and cell.queries else None


def shares(cells: Iterable[Cell]) -> list[Share]:
    """Every cell of `dask`, with those that it is compared with."""
    sound = {_key(cell, cell.impl, cell.threads): cell for cell in cells if cell.sound}
    return [
        Share(cell, sound.get(_key(cell, DASK, 1)), sound.get(_key(cell, THREADS, cell.threads)))
        for cell in sound.values() if cell.impl == DASK and cell.threads and rate(cell)
    ]  # fmt: skip


def _key(cell: Cell, impl: str, threads: int | None) -> tuple:
    """What two compared cells have in common."""
    axes = tuple(sorted((name, str(value)) for name, value in cell.axes.items() if name != "threads"))
    return cell.dataset, cell.query_set, cell.seed, axes, impl, threads


def tables(cells: Iterable[Cell]) -> list[Table]:
    """One table with a line for each cell of `dask`; none for a run without."""
    found = shares(cells)
    return [_table(found)] if found else []


def _table(found: list[Share]) -> Table:
    import pandas

    lines = [
        [one.cell.dataset, one.cell.label, str(one.cell.threads), f"{one.cell.queries:,}", short(rate(one.cell) / 1e6),
         short(one.efficiency) or BLANK, short(one.of_threads) or BLANK]
        for one in found
    ]  # fmt: skip
    records = list(_records(found))
    return Table(
        NAME, "What workers add", _HEADERS, lines, frozenset(_HEADERS[2:]), keys=3,
        notes=["Efficiency: the rate of W workers over W times the rate of one. Sending and scheduling run in the "
               "process that asks, on the same cores if the workers are on its machine.",
               "Of threads: the rate over that of `parallel` with as many threads, which asks the same index."],
        records=records, file=NAME, data=pandas.DataFrame(records),
    )  # fmt: skip


def _records(found: list[Share]) -> Iterator[dict]:
    for one in found:
        yield {
            "dataset": one.cell.dataset, "configuration": one.cell.label, "queries": one.cell.query_set,
            "workers": one.cell.threads, "pairs": one.cell.queries, "pairs_per_second": rate(one.cell),
            "efficiency": one.efficiency, "of_threads": one.of_threads,
        }  # fmt: skip
