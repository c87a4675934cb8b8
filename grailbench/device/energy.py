"""Measures the energy that a GPU takes, in joules, by the counter of its driver.

The counter goes up in steps, some 20 to 100 ms apart, and counts the whole board, whoever uses it: its memory, its idle
power and other programs. So work is repeated for a second or more, and what is measured begins and ends with a step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import perf_counter, sleep

from grailbench.errors import MachineLacks

LEAST_SECONDS = 1.0  #: for which work is repeated
IDLE_SECONDS = 0.3  #: for which the device is left alone, to know its idle power
STANDING_SECONDS = 1.0  #: after which a counter without a step is broken


@dataclass(frozen=True)
class Energy:
    """What one call of some work took.

    joules      of the whole device while the work went on, its idle power included
    seconds     of the call, by the host's clock
    calls       over which both are means
    idle_watts  of the device just before, with its context and its clocks, and without work
    """

    joules: float
    seconds: float
    calls: int
    idle_watts: float

    def record(self) -> dict[str, float]:
        """The fields, rounded to what a counter of mJ can tell."""
        return {name: round(value, 6) for name, value in asdict(self).items()}


def counter() -> Callable[[], float]:
    """Returns a function that reads the energy in joules that the current device has taken since its driver was loaded.

    Raises MachineLacks, which says why, where it cannot be read.
    """
    from grailbench.device.gateway import cuda, require, simulated

    if simulated:
        raise MachineLacks("the simulator takes no energy of a GPU")
    require()
    try:
        import pynvml
    except ImportError as error:
        raise MachineLacks(f"energy cannot be read: {error} (pip install nvidia-ml-py)") from error
    uuid = cuda.get_current_device().uuid
    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByUUID(uuid.encode())
        pynvml.nvmlDeviceGetTotalEnergyConsumption(handle)
    except pynvml.NVMLError as error:
        raise MachineLacks(f"energy of this GPU cannot be read: {error}") from error
    return lambda: pynvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1e3


def of(
    work: Callable[[], object],
    read: Callable[[], float] | None = None,
    clock: Callable[[], float] = perf_counter,
    wait: Callable[[float], None] = sleep,
) -> Energy:
    """Calls `work` until `LEAST_SECONDS` have passed, and returns what one call took. It must leave the device idle.

    read   the counter, by default that of the current device; its steps are waited for
    clock  seconds; `wait` lets some pass

    Raises MachineLacks where the counter cannot be read, or stands still.
    """
    read = counter() if read is None else read
    began, before = _step(read, clock)
    wait(IDLE_SECONDS)
    start, first = _step(read, clock)
    idle, calls = (first - before) / (start - began), 0
    while not calls or clock() - start < LEAST_SECONDS:
        work()
        calls += 1
    done = clock()
    end, last = _step(read, clock)
    joules = last - first - idle * (end - done)  # the device idles until the step that has all of the work in it
    return Energy(joules / calls, (done - start) / calls, calls, idle)


def _step(read: Callable[[], float], clock: Callable[[], float]) -> tuple[float, float]:
    """Waits until the counter goes up; returns the time and what it shows then."""
    began, before = clock(), read()
    while True:
        now, found = clock(), read()
        if found != before:
            return now, found
        if now - began > STANDING_SECONDS:
            raise MachineLacks(f"energy of this GPU cannot be read: its counter stands at {before:,.0f} J")
