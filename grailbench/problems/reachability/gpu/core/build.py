"""Builds the index of `core` on the device: peel, close, write the records; `core.records` says when they are short."""

from __future__ import annotations

import numpy as np

from grailbench.cuda.describe import memory, require_memory
from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.launch import Prepared, Shape
from grailbench.cuda.timers import Span
from grailbench.errors import MachineLacks
from grailbench.graph.csr import Dag
from grailbench.problems.reachability.core import records as of_cpu
from grailbench.problems.reachability.core.closure import words
from grailbench.problems.reachability.core.index import SHARE, SMALL
from grailbench.problems.reachability.core.peel import Peeled
from grailbench.problems.reachability.gpu.core.batch import Held
from grailbench.problems.reachability.gpu.core.closure import Closer
from grailbench.problems.reachability.gpu.core.peel import OF_ABOVE, OF_CORE, Peeler, peeling_bytes, upload
from grailbench.problems.reachability.gpu.core.records import fill_records, fill_tree
from grailbench.problems.reachability.index import Timer

_THREADS = 4 if simulated else 256
_MOST_BLOCKS = 4096
MOST_EDGES = 2**31 - 1


class Builder:
    """Builds the index of one DAG; `budget`: bytes that the closure may take, 0 for a share of the free memory.

    The constructor copies the DAG to the device. Raises TooLittleMemory if the device has too little for it, and
    MachineLacks if it has more edges than 32 bits count: rows of the core are `peel.Parts`.
    """

    def __init__(self, dag: Dag, budget: int, timer: Timer):
        n, m = dag.vertices, dag.edges
        if m > MOST_EDGES:
            raise MachineLacks(f"core-gpu counts up to {MOST_EDGES:,} edges, this graph has {m:,}: take `core`")
        with timer.phase("allocate", apart=True):
            require_memory(peeling_bytes(n, m), f"peeling {n:,} vertices and {m:,} edges on the GPU")
        with timer.phase("transpose", apart=True):
            dag.parents  # noqa: B018 - made on first use
        with timer.phase("transfer", apart=True):
            self._graph = upload(dag)
            cuda.synchronize()
        with timer.phase("allocate", apart=True):
            self._peeler, self._span = Peeler(dag, self._graph), Span()
            self._totals = cuda.pinned_array(3, np.int64)
            cuda.synchronize()
        self._vertices, self._budget = n, budget

    def run(self, timer: Timer) -> Held:
        """Returns the index, without a closure if its bits do not fit; `on_device` is the time of the launches."""
        with self._span:
            parts = self._peeler.run()
        parts.totals.copy_to_host(self._totals)
        timer.record("on_device", self._span.ms)
        above, core = int(self._totals[OF_ABOVE]), int(self._totals[OF_CORE])
        n = self._vertices - 1
        if n in (above, n - above - core):
            return self._forest(parts, n, above, timer)
        size = words(core)
        with timer.phase("allocate", apart=True):
            short = n + above + core + 2 < of_cpu.SHORT
            closer = Closer(self._graph, parts, size) if not core or self._fits(8 * size) else None
            sources = cuda.device_array((n + 1) * (1 if short else 2), np.int64)
            targets = cuda.device_array(n + 1, np.uint32 if short else np.int64)
            fill = Prepared(fill_records, (parts, short, sources, targets), self._shape())
        with self._span:
            if closer is not None:
                closer.run()
            fill.launch()
        timer.record("on_device", self._span.ms)
        return Held(None, sources, targets, None if closer is None else closer.bits, above, core)

    def _forest(self, parts, n: int, above: int, timer: Timer) -> Held:
        short = n < of_cpu.SHORT - 1
        with timer.phase("allocate", apart=True):
            tree = cuda.device_array(n + 1, np.uint32 if short else np.int64)
            fill = Prepared(fill_tree, (parts, short, tree), self._shape())
        with self._span:
            fill.launch()
        timer.record("on_device", self._span.ms)
        return Held(tree, None, None, None, above, 0)

    def _shape(self) -> Shape:
        return Shape(1 if simulated else min(-(-self._vertices // _THREADS), _MOST_BLOCKS), _THREADS)

    def _fits(self, size: int) -> bool:
        free, _ = memory()
        return size <= (self._budget or max(SMALL, free // SHARE)) and size < free

    def peeled(self) -> Peeled:
        """Returns the forests and the core, on the host."""
        parts = self._peeler.parts
        above, core = int(self._totals[OF_ABOVE]), int(self._totals[OF_CORE])
        place = [getattr(parts, name).copy_to_host() for name in ("position", "end", "gate")]
        return Peeled(above, parts.core[:core].copy_to_host(), *place)


def upload_index(arrays: dict[str, np.ndarray]) -> Held:
    """Copies the arrays of `reachability.core.index.CoreIndex`, of an index with a closure or of a forest."""
    above, core = (int(number) for number in arrays["shape"])

    def words_of(array: np.ndarray, short, long):
        return cuda.to_device(np.ascontiguousarray(array).reshape(-1).view(short if array.dtype == np.uint16 else long))

    if "tree" in arrays:
        return Held(words_of(arrays["tree"], np.uint32, np.int64), None, None, None, above, core)
    sources = words_of(arrays["sources"], np.int64, np.int64)
    targets = words_of(arrays["targets"], np.uint32, np.int64)
    return Held(None, sources, targets, cuda.to_device(np.ascontiguousarray(arrays["bits"])), above, core)
