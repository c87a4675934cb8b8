"""What a cell does, in whichever process it lives: a pass to be verified, and timed ones."""

from __future__ import annotations

import gc
from dataclasses import dataclass, field, replace

import numpy as np

from grailbench.bench import memory
from grailbench.bench.plan import Cell
from grailbench.bench.provide import raw_edges
from grailbench.bench.timing import PhaseTimer
from grailbench.bench.verify import checksum, label_fault
from grailbench.graph.csr import Dag, Graph
from grailbench.reachability.index import NoTimer, implementation

edges_of = raw_edges


@dataclass(frozen=True)
class Attempt:
    """One build and one batch, not yet judged.

    answers      what the implementation returned; a bool[k] array if it is right
    label_fault  what the index finds wrong with its own labels, or None
    counters     exact work of this build, which counts; those of the trials do not
    memory       row fields: host_peak_bytes, device_peak_bytes, as the process had them when the answers were there
    """

    answers: object
    label_fault: str | None
    index_bytes: int
    counters: dict[str, int]
    memory: dict[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """One trial: milliseconds by (under, phase), and the checksum of the answers."""

    phases: dict[tuple[str, str], float]
    checksum: str


def attempt(cell: Cell, dag: Dag, queries: tuple[np.ndarray, np.ndarray]) -> Attempt:
    """Build once, in the build that counts, and answer once. Raises what the implementation raises."""
    memory.restart()
    index = implementation(cell.impl).build(dag, replace(cell.params, count=True), NoTimer())
    answers = index.query_batch(*queries, NoTimer())
    peaks = {"host_peak_bytes": memory.host_peak(), "device_peak_bytes": memory.device_peak()}
    return Attempt(answers, label_fault(index, dag), int(index.index_bytes), dict(index.counters), peaks)


def measure(cell: Cell, dag: Dag, queries: tuple[np.ndarray, np.ndarray], edges: Graph | None) -> Measured:
    """Build, ask the batch once, with `from_edges` also make ready from edges; no index outlives the call."""
    impl, params = implementation(cell.impl), cell.params
    timer = PhaseTimer()
    gc.collect()
    gc.disable()
    try:
        with timer.phase("label"):
            index = impl.build(dag, params, timer)
        with timer.phase("query"):
            answers = index.query_batch(*queries, timer)
        if cell.from_edges:
            del index
            with timer.phase("ready"):
                index = impl.ready(edges, params, timer)  # bound, so that dropping it is not timed
    finally:
        gc.enable()
    return Measured(timer.phases, checksum(answers))
