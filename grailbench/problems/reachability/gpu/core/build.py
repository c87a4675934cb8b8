"""Batches of pairs on the device: one thread a pair, by the records of its two vertices and one word of the closure.

Builds the index of `core` on the device: peel, close, write the records; `core.records` says when they are short.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import NamedTuple

import numpy as np

from grailbench.cuda.describe import memory, require_memory
from grailbench.cuda.device_arrays import cleared
from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.launch import Prepared, Shape, prepared_copy
from grailbench.cuda.timers import Span
from grailbench.errors import MachineLacks
from grailbench.graph.csr import Dag
from grailbench.problems.reachability.core import records as of_cpu
from grailbench.problems.reachability.core.closure import words
from grailbench.problems.reachability.core.index import SHARE, SMALL
from grailbench.problems.reachability.core.peel import Peeled
from grailbench.problems.reachability.gpu.core import records
from grailbench.problems.reachability.gpu.core.peel import OF_ABOVE, OF_CORE, peeling, peeling_bytes, upload
from grailbench.problems.reachability.gpu.core.records import closing, fill_records, fill_tree
from grailbench.problems.reachability.index import NoTimer, Timer

_BATCH_BYTES = 9  #: of a pair: two ids and an answer
_THREADS = 4 if simulated else 256
_BLOCKS = 16  #: most blocks of a multiprocessor, each of which takes several pairs a thread


class DeviceIndex(NamedTuple):
    """The index on the device, in the layout of `records`; `tree`, or the others, are None.

    tree     uint32[n] or int64[n]
    sources  int64[n] or int64[2 n]
    targets  uint32[n] or int64[n]
    bits     uint64[words], or None where another index answers pairs of the core
    above, core  numbers of vertices in the in-trees and in the core
    """

    tree: object
    sources: object
    targets: object
    bits: object
    above: int
    core: int

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(array.nbytes for array in self[:4] if array is not None)

    @property
    def narrow(self) -> bool:
        """Whether fields have 16 bits."""
        return (self.targets if self.tree is None else self.tree).dtype == np.uint32


def launch_of(index: DeviceIndex, us, vs, answers, rows=None, columns=None) -> Prepared:
    """Returns the launch that answers pairs on the device: us, vs int32[k] to answers uint8[k].

    Without a closure, pairs of the core are left `records.OPEN`, with their ends there in rows and columns, int32[k].
    """
    pairs = us.shape[0]
    most = _BLOCKS * (1 if simulated else cuda.get_current_device().MULTIPROCESSOR_COUNT)
    shape = Shape(min(-(-pairs // _THREADS), most), _THREADS)
    if index.tree is not None:
        return Prepared(records.answer_tree, (us, vs, index.tree, index.above > 0, index.narrow, answers), shape)
    own = us, vs, index.sources, index.targets, index.above
    if index.bits is None:
        return Prepared(records.settle, (*own, index.narrow, answers, rows, columns), shape)
    kernel = records.answer_narrow if index.narrow else records.answer_wide
    return Prepared(kernel, (*own, index.core // 64 + 1, index.bits, answers), shape)


class Batch:
    """Pinned host memory and device memory for batches of k pairs, and the launch that answers them.

    inside  the ends of open pairs in the core, int32[k] each on the device, where there is no closure; else None
    """

    def __init__(self, k: int, index: DeviceIndex):
        """Raises TooLittleMemory if the device has too little."""
        open_ = index.tree is None and index.bits is None
        need = (_BATCH_BYTES + (8 if open_ else 0)) * k
        require_memory(need, f"a batch of {k:,} queries", "ask fewer at once with --count")
        self.size = k
        self._sources, self._targets = (cuda.pinned_array(k, np.int32) for _ in range(2))
        self._found = cuda.pinned_array(k, np.uint8)
        ends = [cuda.device_array(k, np.int32) for _ in range(2)]
        answers = cuda.device_array(k, np.uint8)
        # only those of open pairs are written, and all are copied
        self.inside = [cleared(k, np.int32) for _ in range(2)] if open_ else None
        self._bring = [
            prepared_copy(to, own, wait=False) for to, own in zip(ends, (self._sources, self._targets), strict=True)
        ]
        self._take = prepared_copy(self._found, answers)
        self._launch = launch_of(index, *ends, answers, *(self.inside or ()))
        self._span = Span()
        cuda.synchronize()

    def answer(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Answers, and returns uint8[k] that the next batch overwrites. The targets are copied into pinned memory while
        the sources are on their way."""
        for own, given, bring in zip((self._sources, self._targets), (sources, targets), self._bring, strict=True):
            own[:] = given
            bring()
        timed = not isinstance(timer, NoTimer)
        with self._span if timed else nullcontext():
            self._launch.launch()
        self._take()
        if timed:
            timer.record("on_device", self._span.ms)
        return self._found


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
        with timer.phase("allocate", excluded=True):
            require_memory(peeling_bytes(n, m), f"peeling {n:,} vertices and {m:,} edges on the GPU")
        with timer.phase("transpose", excluded=True):
            dag.parents  # noqa: B018 - made on first use
        with timer.phase("transfer", excluded=True):
            self._graph = upload(dag)
            cuda.synchronize()
        with timer.phase("allocate", excluded=True):
            (self._peel, self._parts), self._span = peeling(dag, self._graph), Span()
            self._totals = cuda.pinned_array(3, np.int64)
            cuda.synchronize()
        self._vertices, self._budget = n, budget

    def run(self, timer: Timer) -> DeviceIndex:
        """Returns the index, without a closure if its bits do not fit; `on_device` is the time of the launches."""
        parts = self._parts
        self._launch(timer, self._peel)
        parts.totals.copy_to_host(self._totals)
        above, core, n = int(self._totals[OF_ABOVE]), int(self._totals[OF_CORE]), self._vertices - 1
        shape = Shape(1 if simulated else min(-(-self._vertices // _THREADS), _MOST_BLOCKS), _THREADS)
        tree = sources = targets = bits = None
        with timer.phase("allocate", excluded=True):
            if n in (above, n - above - core):
                short = n < of_cpu.SHORT - 1
                tree = cuda.device_array(n + 1, np.uint32 if short else np.int64)
                steps = (Prepared(fill_tree, (parts, short, tree), shape),)
            else:
                short, size = n + above + core + 2 < of_cpu.SHORT, words(core)
                steps = ()
                free, _ = memory()
                if not core or 8 * size <= (self._budget or max(SMALL, free // SHARE)) and 8 * size < free:
                    close, bits = closing(self._graph, parts, size)
                    steps = (close,)
                sources = cuda.device_array((n + 1) * (1 if short else 2), np.int64)
                targets = cuda.device_array(n + 1, np.uint32 if short else np.int64)
                steps += (Prepared(fill_records, (parts, short, sources, targets), shape),)
        self._launch(timer, *steps)
        return DeviceIndex(tree, sources, targets, bits, above, core)

    def _launch(self, timer: Timer, *steps: Prepared) -> None:
        with self._span:
            for step in steps:
                step.launch()
        timer.record("on_device", self._span.ms)

    def peeled(self) -> Peeled:
        """Returns the forests and the core, on the host."""
        parts, core = self._parts, int(self._totals[OF_CORE])
        place = [getattr(parts, name).copy_to_host() for name in ("position", "end", "gate")]
        return Peeled(int(self._totals[OF_ABOVE]), parts.core[:core].copy_to_host(), *place)


def upload_index(arrays: dict[str, np.ndarray]) -> DeviceIndex:
    """Copies the arrays of `reachability.core.index.CoreIndex`, of an index with a closure or of a forest."""
    above, core = (int(number) for number in arrays["shape"])

    def words_of(array: np.ndarray, short, long):
        return cuda.to_device(np.ascontiguousarray(array).reshape(-1).view(short if array.dtype == np.uint16 else long))

    if "tree" in arrays:
        return DeviceIndex(words_of(arrays["tree"], np.uint32, np.int64), None, None, None, above, core)
    sources = words_of(arrays["sources"], np.int64, np.int64)
    targets = words_of(arrays["targets"], np.uint32, np.int64)
    return DeviceIndex(None, sources, targets, cuda.to_device(np.ascontiguousarray(arrays["bits"])), above, core)
