"""What workers of a cluster add: the rate of W workers over W times that of one, for a run of `dask` or `dask-gpu`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grailbench.harness.cells import Cell
from grailbench.report.measured import median
from grailbench.report.table import Table
from grailbench.util.words import BLANK, short

NAME = "workers"
#: what has workers -> how many, and the same index in one process
SAME = {"dask": ("threads", "parallel"), "dask-gpu": ("devices", "gpu-fused")}
_AXES = {(name, other): axis for name, (axis, other) in SAME.items()}
_HEADERS = ["graph", "configuration", "workers", "pairs", "M pairs/s", "efficiency", "of one process"]


@dataclass(frozen=True)
class Share:
    """A cell of workers.

    workers  how many there are
    one      the cell with one worker; None if the run has none
    process  the cell of the same index in one process, with as many threads or GPUs; None if the run has none
    """

    cell: Cell
    workers: int
    one: Cell | None
    process: Cell | None

    @property
    def efficiency(self) -> float | None:
        """The rate over that of one worker times the workers."""
        rates = rate(self.cell), None if self.one is None else rate(self.one)
        return rates[0] / (self.workers * rates[1]) if all(rates) else None

    @property
    def of_process(self) -> float | None:
        """The rate over that of as many threads or GPUs of one process."""
        rates = rate(self.cell), None if self.process is None else rate(self.process)
        return rates[0] / rates[1] if all(rates) else None


def rate(cell: Cell) -> float | None:
    """Pairs a second, by the median of the trials; None without times."""
    ms = median(cell, "query")
    return cell.queries / ms * 1e3 if ms and cell.queries else None


def shares(cells: Iterable[Cell]) -> list[Share]:
    """Every cell of workers, with those that it is compared with."""
    sound = {_key(cell, cell.impl, _many(cell)): cell for cell in cells if cell.sound}
    return [
        Share(cell, many, sound.get(_key(cell, cell.impl, 1)), sound.get(_key(cell, SAME[cell.impl][1], many)))
        for cell in sound.values() if cell.impl in SAME and (many := _many(cell)) and rate(cell)
    ]  # fmt: skip


def _many(cell: Cell) -> int | None:
    """The workers of a cell, or the threads or GPUs of one in one process."""
    return next((getattr(cell, axis) for names, axis in _AXES.items() if cell.impl in names), None)


def _key(cell: Cell, impl: str, many: int | None) -> tuple:
    """What two compared cells have in common."""
    counted = {"threads", "devices"}
    axes = tuple(sorted((name, str(value)) for name, value in cell.axes.items() if name not in counted))
    return cell.dataset, cell.query_set, cell.seed, axes, impl, many


def tables(cells: Iterable[Cell]) -> list[Table]:
    """One table with a line for each cell of workers; none for a run without."""
    found = shares(cells)
    return [_table(found)] if found else []


def _table(found: list[Share]) -> Table:
    import pandas

    lines = [
        [one.cell.dataset, one.cell.label, str(one.workers), f"{one.cell.queries:,}", short(rate(one.cell) / 1e6),
         short(one.efficiency) or BLANK, short(one.of_process) or BLANK]
        for one in found
    ]  # fmt: skip
    records = list(_records(found))
    return Table(
        NAME, "What workers add", _HEADERS, lines, frozenset(_HEADERS[2:]), keys=3,
        notes=["Efficiency: the rate of W workers over W times the rate of one. Sending and scheduling run in the "
               "process that asks, on the same cores if the workers are on its machine.",
               "Of one process: the rate over that of `parallel` with as many threads, or of `gpu-fused` with as many "
               "GPUs, which ask the same index."],
        records=records, file=NAME, data=pandas.DataFrame(records),
    )  # fmt: skip


def _records(found: list[Share]) -> Iterator[dict]:
    for one in found:
        yield {
            "dataset": one.cell.dataset, "configuration": one.cell.label, "queries": one.cell.query_set,
            "workers": one.workers, "pairs": one.cell.queries, "pairs_per_second": rate(one.cell),
            "efficiency": one.efficiency, "of_process": one.of_process,
        }  # fmt: skip
