"""What a cell does, in whichever process it lives: a pass to be verified, and timed ones."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import Any

from grailbench.bench import peaks
from grailbench.bench.plan import Cell
from grailbench.bench.timing import PhaseTimer
from grailbench.contract import Attempt, implementation, problem
from grailbench.graph.csr import Graph


@dataclass(frozen=True)
class Measured:
    """One trial: milliseconds by (under, phase), the checksum of the answers, and the problem's rate, if any."""

    phases: dict[tuple[str, str], float]
    checksum: str
    rate: float | None = None


def prime(cell: Cell) -> None:
    """Have the kernels that trials run compiled or loaded. Raises what the implementation raises."""
    problem(cell.problem).prime(implementation(cell.impl, cell.problem), cell.params, cell.from_edges)


def attempt(cell: Cell, data: Any, asked: Any) -> Attempt:
    """One pass on what the problem gives, to be judged. Raises what the implementation raises."""
    peaks.restart()
    return problem(cell.problem).attempt(implementation(cell.impl, cell.problem), cell.params, data, asked, _peaks)


def _peaks() -> dict[str, int | None]:
    return {"host_peak_bytes": peaks.host_peak(), "device_peak_bytes": peaks.device_peak()}


def freeze(first: bool) -> None:
    """What this process holds now, compilers and kernels above all, is not looked at before every pass. `first` on a
    graph also lets go of what was held for the graph before."""
    if first:
        gc.unfreeze()
    gc.collect()
    gc.freeze()


def measure(cell: Cell, data: Any, asked: Any, edges: Graph | None) -> Measured:
    """One timed pass, with `from_edges` also from edges; nothing that it built outlives the call."""
    impl, params = implementation(cell.impl, cell.problem), cell.params
    timer = PhaseTimer(tidy=peaks.release)
    gc.collect()
    gc.disable()
    try:
        trial = problem(cell.problem).trial(impl, params, data, asked, timer, edges if cell.from_edges else None)
    finally:
        gc.enable()
    return Measured(timer.phases, trial.checksum, trial.rate)
