"""The ceilings of a machine: `ceilings` keeps what `cpu` and `gpu` measure, `report.floors` compares times with them.

Here are the scales of measurement, and the row of a measurement.
"""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

FIELDS = ("where", "what", "variant", "bytes", "blocks", "threads", "unit", "median", "least", "most", "repeats")

Note = Callable[[str], None]  #: takes a progress message


@dataclass(frozen=True)
class Scale:
    """How much to measure: sizes of tables, copies and transfers in bytes, the number of repeats, the least seconds of
    one repeat, and the numbers of gathers, barriers and launches in one repeat."""

    repeats: int
    seconds: float
    cpu_tables: tuple[int, ...]
    cpu_copy: int
    gpu_tables: tuple[int, ...]
    gpu_copy: int
    gathers: int
    barriers: int
    launches: int
    transfers: tuple[int, ...]


def _powers_of_4(first: int, last: int) -> tuple[int, ...]:
    return tuple(1 << bits for bits in range(first, last + 1, 2))


FULL = Scale(
    repeats=7, seconds=0.1, cpu_tables=_powers_of_4(14, 30), cpu_copy=1 << 30, gpu_tables=_powers_of_4(18, 32),
    gpu_copy=2 << 30, gathers=1 << 30, barriers=1000, launches=1000,
    transfers=(4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20),
)  # fmt: skip
QUICK = Scale(
    repeats=3, seconds=0.01, cpu_tables=_powers_of_4(14, 26), cpu_copy=256 << 20, gpu_tables=_powers_of_4(22, 28),
    gpu_copy=512 << 20, gathers=1 << 28, barriers=500, launches=300, transfers=(64 << 10, 16 << 20),
)  # fmt: skip
#: for the simulator and for tests, which check results and not times
TINY = Scale(
    repeats=3, seconds=0.0005, cpu_tables=(1 << 14, 1 << 16), cpu_copy=1 << 20, gpu_tables=(1 << 8, 1 << 10),
    gpu_copy=1 << 10, gathers=256, barriers=3, launches=2, transfers=(64, 1024),
)  # fmt: skip


def row(where: str, what: str, unit: str, values: list[float] | None, **shape) -> dict:
    """A measurement with the fields `FIELDS`: median, least and most of `values` and their number as `repeats`.

    where   'cpu' or 'gpu'
    what    the operation
    unit    GB/s (10^9 bytes, read and written ones both counted), G/s (10^9 operations) or us
    values  None or empty if the operation was only checked and not timed
    shape   any of variant, bytes (of the table, array or transfer), blocks, threads
    """
    found = dict.fromkeys(FIELDS) | {"where": where, "what": what, "unit": unit} | shape
    if values:
        found |= {"median": statistics.median(values), "least": min(values), "most": max(values)}
        found["repeats"] = len(values)
    return found
