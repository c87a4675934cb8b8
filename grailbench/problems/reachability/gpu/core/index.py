"""`core-gpu`: the index of `core`, built and queried on the GPU.

Importing this module imports no CUDA module, so that the registry works without one.
"""

import numpy as np

from grailbench.cuda import simulating
from grailbench.graph.csr import Dag, Graph
from grailbench.problems.reachability.core.index import SIZES, CoreIndex, fault, size_counters
from grailbench.problems.reachability.core.records import OPEN
from grailbench.problems.reachability.gpu.fused.index import Fused, on_the_device
from grailbench.problems.reachability.index import Implementation, Index, Params, Timer, edge_fault, register


class CoreGpuIndex(Index):
    """The records and the closure on the device; `inner` is a `gpu-fused` index of the core if there is no closure."""

    def __init__(
        self, params: Params, device, inner: Index | None = None, inner_dag: Dag | None = None, component=None
    ):
        """component: of each vertex that queries name, int32[n] on the device; None if they name those of the DAG."""
        self._params, self._device, self._inner, self._inner_dag = params, device, inner, inner_dag
        self._component = component
        self._queries = self._positives = 0
        self._batch = None

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Copies the pairs to the device, answers them in one launch, and copies the answers back."""
        k = sources.shape[0]
        self.expect(k, timer)
        answers = np.empty(k, np.bool_)
        if k:
            found = self._batch.answer(sources, targets, timer)
            if self._inner is None:
                self._batch.hand_over(answers)
            else:
                np.equal(found, 1, out=answers)
                opened = np.flatnonzero(found == OPEN)
                if opened.size:
                    rows, columns = (array.copy_to_host()[opened] for array in self._batch.inside)
                    answers[opened] = self._inner.query_batch(rows, columns, timer)
        if self._params.count:
            self._queries += k
            self._positives += int(np.count_nonzero(answers))
        return answers

    def expect(self, queries: int, timer: Timer) -> None:
        """Allocates pinned and device memory for a batch (phase `allocate`), unless done before."""
        from grailbench.problems.reachability.gpu.core.build import Batch

        with timer.phase("allocate", excluded=True):
            if queries and (self._batch is None or self._batch.size != queries):
                self._batch = None
                self._batch = Batch(queries, self._device, self._component)

    @property
    def counters(self) -> dict[str, int]:
        if not self._params.count:
            return {}
        device, bits = self._device, 0 if self._device.bits is None else self._device.bits.nbytes
        shape, labels = (device.core if bits else 0,) * 2, 0 if self._inner is None else self._inner.index_bytes
        counters = size_counters(device.vertices - 1, device.above, device.core, shape, bits, labels=labels)
        return {"queries": self._queries, "positives": self._positives, **counters}

    @property
    def index_bytes(self) -> int:
        """Bytes of the records and of the closure, or of the index of the core."""
        return self._device.nbytes + (0 if self._inner is None else self._inner.index_bytes)

    def check_labels(self, dag: Dag) -> str | None:
        """Checks answers to every edge, and the arrays, or the labels of the core, on the host."""
        if self._inner is not None:
            return self._inner.check_labels(self._inner_dag) or edge_fault(self.query_batch, dag)
        return fault(CoreIndex(dag, self._params, self.fetch()), dag, self.query_batch)

    def fetch(self) -> dict[str, np.ndarray]:
        """Returns the arrays of `core.index.CoreIndex` from the device."""
        device = self._device
        kind = np.uint16 if device.narrow else np.uint32
        found = {"shape": np.array([device.above, device.core], np.int64)}
        if device.tree is not None:
            return found | {"tree": device.tree.copy_to_host().view(kind).reshape(-1, 2)}
        sources, targets = device.sources.copy_to_host().view(kind), device.targets.copy_to_host().view(kind)
        found |= {"sources": sources.reshape(-1, 4), "targets": targets.reshape(-1, 2)}
        return found if device.bits is None else found | {"bits": device.bits.copy_to_host()}

    def stored(self) -> dict[str, np.ndarray]:
        """Returns the arrays; none if the core has labels, which are made again on the GPU."""
        return self.fetch() if self._inner is None else {}


@register
class CoreGpu(Implementation):
    """The index of `core`, built and queried on the GPU.

    From many edges the device condenses too. One launch peels both forests by pointer jumping and finds positions by
    prefix sums; one closes the core, a barrier a level; one writes the records. A batch is one launch, a thread a pair,
    and one before it that finds components. If the bits do not fit `memory`, the core alone is labelled and searched as
    by `gpu-fused`.
    """

    name = "core-gpu"
    source = "as `core`; pointer jumping of Wyllie 1979"
    cost = "O((n + m) log depth), k^2 / 16 bytes and O(k m / 64) for a core of k; a query O(1); 4 to 24 bytes a vertex"
    counts = ("queries", "positives", *SIZES)
    neutral = (*Implementation.neutral, *SIZES)
    needs = ("gpu",)
    axes = frozenset({"memory"})
    label_free = True

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> CoreGpuIndex:
        """Copies the DAG to the device and builds there. Raises MachineLacks for too little memory."""
        with timer.phase("allocate", excluded=True):
            cls.require()
        from grailbench.problems.reachability.gpu.core.build import of_dag

        return _built(of_dag(dag, params.memory, timer), params, timer)

    @classmethod
    def load_ready(cls, params: Params) -> None:
        """Condenses a matching, a ring and a deep path on the device, which the simulator need not do."""
        if not simulating():
            cls.require()
            from grailbench.problems.reachability.gpu.core.build import load

            load(params)

    @classmethod
    def condenses(cls, graph: Graph, params: Params) -> bool:
        return on_the_device(graph, params)

    @classmethod
    def ready(cls, graph: Graph, params: Params, timer: Timer) -> Index:
        """Has the device condense the edges of a large graph, as `gpu-fused` does, and build; the host condenses a
        small one (`condenses`)."""
        with timer.phase("allocate", excluded=True):
            cls.require()
        if not cls.condenses(graph, params):
            return super().ready(graph, params, timer)
        from grailbench.problems.reachability.gpu.core.build import of_edges

        builder, component = of_edges(graph, params.memory, timer)
        with timer.phase("label"):
            return _built(builder, params, timer, component)

    @classmethod
    def restored(cls, dag: Dag, params: Params, arrays: dict[str, np.ndarray]) -> CoreGpuIndex:
        """Copies the arrays to the device, or builds the index again if there are none."""
        if not arrays:
            return super().restored(dag, params, arrays)
        cls.require()
        from grailbench.problems.reachability.gpu.core.build import upload_index

        return CoreGpuIndex(params, upload_index(arrays))


def _built(builder, params: Params, timer: Timer, component=None) -> CoreGpuIndex:
    """Returns the index of a `build.Builder`. component: as in `CoreGpuIndex`."""
    device = builder.run(timer)
    if device.tree is not None or device.bits is not None:
        return CoreGpuIndex(params, device, component=component)
    inner_dag = builder.core_dag()
    inner = Fused.build(inner_dag, Params(seed=params.seed), timer)
    return CoreGpuIndex(params, device, inner, inner_dag, component)
