"""The passes of a cell, in any process (`made`): one that is verified, and the timed ones."""

import gc
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import psutil

from grailbench.cuda import energy as energies
from grailbench.errors import MachineLacks
from grailbench.graph.csr import Graph
from grailbench.harness import peaks
from grailbench.harness.plan import Cell
from grailbench.harness.timing import PhaseTimer
from grailbench.problems.contract import Attempt, implementation, problem

HELD = 64 << 20  #: bytes of what earlier graphs may have left behind before it is looked for
_held = 0  # resident bytes after it was


@dataclass(frozen=True)
class Measured:
    """One trial: milliseconds by (under, phase), the checksum of the answers, and the rate if the problem has one.

    memory  as in `contract.Attempt`, of a trial from edges, which may take more than the verified pass
    """

    phases: dict[tuple[str, str], float]
    checksum: str
    rate: float | None = None
    memory: dict[str, int | None] | None = None


def prime(cell: Cell, counted: bool = False, large: bool = False) -> None:
    """Compile or load the kernels that the trials run, and those of the verified pass, which counts, if `counted`; on a
    large graph also those that only cells from edges run on smaller ones. Raises what the implementation raises."""
    solved, impl = problem(cell.problem), implementation(cell.impl, cell.problem)
    if counted and impl.counts:
        solved.prime(impl, replace(cell.params, count=True), False)
    solved.prime(impl, cell.params, cell.from_edges or (large and impl.from_edges))


def made(what: str, cell: Cell, data: Any, batch: Any, edges: Graph | None, *more) -> Any:
    """Make a pass: 'attempt', 'measure', or 'energy' of the phase and for the seconds that are `more`."""
    if what == "attempt":
        return attempt(cell, data, batch)
    return (energy if what == "energy" else measure)(cell, data, batch, edges, *more)


def attempt(cell: Cell, data: Any, batch: Any) -> Attempt:
    """Make the pass that is verified, on the data of the problem. Raises what the implementation raises."""
    peaks.restart()
    solved, impl = problem(cell.problem), implementation(cell.impl, cell.problem)
    if impl.repeats or cell.single:
        return solved.attempt(impl, cell.params, data, batch, _peaks)
    timer = PhaseTimer()
    return replace(solved.attempt(impl, cell.params, data, batch, _peaks, timer), phases=timer.phases)


def _peaks() -> dict[str, int | None]:
    return {"host_peak_bytes": peaks.host_peak(), "device_peak_bytes": peaks.device_peak()}


def freeze(first: bool) -> None:
    """Exclude all current objects, mainly compilers and kernels, from the garbage collections before each pass. At the
    `first` call on a graph, objects of previous graphs are collected before, once they took `HELD` bytes: more often
    would take longer than the cells of tiny graphs."""
    global _held
    if first and (gc.get_freeze_count() == 0 or psutil.Process().memory_info().rss > _held + HELD):
        gc.unfreeze()
        gc.collect()
        _held = psutil.Process().memory_info().rss
    else:
        gc.collect()
    gc.freeze()


def measure(cell: Cell, data: Any, batch: Any, edges: Graph | None) -> Measured:
    """Make one timed pass, also from edges if the cell has `from_edges`. All that it built is freed afterwards."""
    impl, params = implementation(cell.impl, cell.problem), cell.params
    timer, whole = PhaseTimer(tidy=peaks.release), cell.from_edges and edges is not None
    gc.collect()
    if whole:
        peaks.restart_host()
    gc.disable()
    try:
        more = {"single": True} if cell.single else {}
        trial = problem(cell.problem).trial(impl, params, data, batch, timer, edges if whole else None, **more)
    finally:
        gc.enable()
    return Measured(timer.phases, trial.checksum, trial.rate, _peaks() if whole else None)


def phases_of_energy(cell: Cell) -> tuple[str, ...]:
    """The phases of a cell whose energy is measured if it is asked for; the last one of a problem that has none."""
    solved = problem(cell.problem)
    phases = tuple(each for each in solved.repeated if each != "ready" or cell.from_edges)
    return phases or solved.phases[-1:]


def energy(cell: Cell, data: Any, batch: Any, edges: Graph | None, phase: str, seconds: float | None = None) -> dict:
    """Repeat what a trial times as a phase until its energy is known, for so many seconds at most. Returns the record
    of an `energy.Energy`.

    Raises MachineLacks where no meter can be read, and what the implementation raises.
    """
    began, impl = perf_counter(), implementation(cell.impl, cell.problem)
    devices = (cell.devices or 1) if "gpu" in impl.needs else 0
    found, unread = energies.find_meters(devices)
    if not found:
        raise MachineLacks(energies.reasons(unread))
    gc.collect()
    again = problem(cell.problem).again(impl, cell.params, data, batch, phase, edges)
    if again is None:
        raise MachineLacks(f"{cell.impl}: phase {phase} of {cell.problem} is not repeated, so its energy is not known")
    left = None if seconds is None else seconds - (perf_counter() - began)
    measured = energies.of(again, found, left, lambda: energies.wait_for_gpus(devices))
    return replace(measured, unread={**measured.unread, **unread}).record()
