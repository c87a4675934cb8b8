"""`streamed`: labels of graphs larger than memory, built by passes over edges on disk."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial

import numpy as np

from grailbench.graph.csr import Dag
from grailbench.graph.leveled import by_level
from grailbench.graph.threads import Lender
from grailbench.outofcore import search
from grailbench.outofcore.build import build
from grailbench.outofcore.folder import Folder
from grailbench.outofcore.paged import Mapped
from grailbench.outofcore.streams import Stream
from grailbench.problems.reachability.counters import NAMES, QUERIES, SEARCHES, named, with_traffic, zeros
from grailbench.problems.reachability.cpu.search import scratch
from grailbench.problems.reachability.gpu.fused.host import label_fault, record_width
from grailbench.problems.reachability.index import FILTERS, Implementation, Index, Params, Timer, register
from grailbench.problems.reachability.labels import Labels
from grailbench.util import temporary

_BLOCK = 1024  #: queries that a thread takes at a time
_FEW = 64  #: queries that are answered one by one
_STREAMED = 1 << 20  #: edges of a condensed graph that are handed out at a time


class StreamedIndex(Index):
    """The records of `gpu-fused` by vertex of a `Dag`, which may all be mapped from a file.

    lanes: int32[n * width]; hubs: uint64[2 n]
    """

    concurrent = True

    def __init__(self, dag: Dag, lanes: np.ndarray, hubs: np.ndarray, params: Params):
        self.dag, self.params, self.hubs = dag, params, hubs
        self.records = Labels(lanes, np.uint64(record_width(params.dim)), (0,) * params.dim)
        self._scratches = Lender(partial(scratch, dag.vertices), 1)
        self._counts: list[np.ndarray] = []
        self._mapped, self._offsets = Mapped.of(dag.children), dag.offsets

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Filters and searches, in blocks over the threads."""
        answers = np.empty(sources.shape[0], np.bool_)
        if self._mapped is not None and answers.shape[0] > _FEW:
            self._answer_in_rounds(sources, targets, answers)
            return answers
        firsts = range(0, answers.shape[0], _BLOCK)
        if self.params.workers > 1 and len(firsts) > 1:
            with ThreadPoolExecutor(self.params.workers) as threads:
                list(threads.map(lambda first: self._answer(sources, targets, answers, first), firsts))
        else:
            for first in firsts:
                self._answer(sources, targets, answers, first)
        return answers

    def _answer_in_rounds(self, sources, targets, answers) -> None:
        """Filters all, and searches what is left by `search.Rounds`; what is too much for these, one by one.

        What belongs to a vertex is held from then on: pages of it would give way to rows, and be read again.
        """
        if Mapped.of(self.hubs) is not None:
            self.records, self.hubs = self.records._replace(lanes=self.records.lanes.copy()), self.hubs.copy()
            self._offsets = self.dag.offsets.copy()
        outcomes = np.empty(sources.shape[0], np.int8)
        search.sift(sources, targets, self.records, self.hubs, outcomes)
        counts = zeros()
        left, size = np.flatnonzero(outcomes == search.OPEN), search.AT_ONCE
        counts[QUERIES], counts[SEARCHES] = sources.shape[0], left.shape[0]
        rows = self._offsets, self.dag.children
        self._mapped.at_random()
        rounds = search.Rounds(rows, self.records, self.hubs, self._mapped.ask, self._mapped.base)
        while left.shape[0] and size:
            for first in range(0, left.shape[0], size):
                some = left[first : first + size]
                outcomes[some] = rounds.answer(sources[some], targets[some], counts)
            left, size = left[outcomes[left] == search.OPEN], size // 8
        np.equal(outcomes, search.YES, out=answers)
        if self.params.count:
            self._counts.append(counts)
        for i in left.tolist():
            self._answer(sources[i : i + 1], targets[i : i + 1], answers[i : i + 1], 0)

    def _answer(self, sources, targets, answers, first: int) -> None:
        part, counts = slice(first, first + _BLOCK), zeros() if self.params.count else None
        rows = self.dag.offsets, self.dag.children
        with self._scratches.lent() as scratch:
            search.answer(
                sources[part], targets[part], answers[part], rows, self.records, self.hubs, scratch.stamps,
                scratch.stack, scratch.marks, counts,
            )  # fmt: skip
        if counts is not None:
            self._counts.append(counts)

    @property
    def counters(self) -> dict[str, int]:
        if not self.params.count:
            return {}
        work = named(zeros(), *self._counts)
        return with_traffic(work, self.params.dim, 4 * int(self.records.width), self.records.lanes.nbytes, 4)

    @property
    def index_bytes(self) -> int:
        """Bytes of the records and the hubs' words."""
        return self.records.lanes.nbytes + self.hubs.nbytes

    def stored(self) -> dict[str, np.ndarray]:
        """Returns the records and the hubs' words."""
        return {"labels": self.records.lanes, "hubs": self.hubs}

    def check_labels(self, dag: Dag) -> str | None:
        """As of `gpu-fused`, in its numbering."""
        lanes = self.records.lanes.reshape(-1, int(self.records.width))[dag.order]
        words = self.hubs.reshape(-1, 2)[dag.order].reshape(-1)
        return label_fault(lanes, words, self.params.dim, by_level(dag))


@register
class Streamed(Implementation):
    """The labels of `gpu-fused`, for graphs whose edges do not fit the memory.

    What belongs to a vertex is held, at most 48 bytes; edges pass by. They are sorted on disk, without duplicates.
    Levels are taken one after the other, and each row of edges is read once. The rows are then written in the order of
    levels, as compressed blocks, and three passes over these make trees, labels and hubs. A query is filtered, and
    searched depth-first where the labels leave it open, over rows that are mapped from the disk. From a file or a
    generator, `grailbench build` saves an index of a graph that was never in memory.
    """

    name = "streamed"
    source = "grailbench"
    cost = "labels O(d n + m) work, edges read from disk about seven times; 4 (2 d + 3) bytes a vertex, hubs 16 more"
    counts = NAMES
    axes = frozenset({"dim", "threads", "memory"})
    fixed = {"filters": ",".join(FILTERS)}

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> StreamedIndex:
        """Streams the edges of the condensed graph through a temporary folder, which is deleted.

        Raises TooLittleMemory if 48 bytes a vertex are not allowed, and MachineLacks for a full disk.
        """
        with temporary.Folder("streamed") as where:
            stream = Stream(lambda: _edges_of(dag), {"source": "dag"}, dag.vertices - 1, edges=dag.edges)
            with closing(Folder(where / "build", stream.origin, False)) as folder:
                made, arrays, _ = build(folder, stream, params)
            if not np.array_equal(made.order, dag.order):
                raise RuntimeError("the order that was streamed is not that of Kahn's queue")
            return StreamedIndex(dag, arrays["labels"].copy(), arrays["hubs"].copy(), params)

    @classmethod
    def restored(cls, dag: Dag, params: Params, arrays: dict[str, np.ndarray]) -> StreamedIndex:
        """Returns the index whose arrays these are; nothing is copied."""
        return StreamedIndex(dag, arrays["labels"], arrays["hubs"], params)


def _edges_of(dag: Dag) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The edges of a condensed graph without those of the super-root."""
    inner, n = int(dag.offsets[-2]), dag.vertices - 1
    for first in range(0, inner, _STREAMED):
        end = min(first + _STREAMED, inner)
        low, high = np.searchsorted(dag.offsets, [first, end - 1], "right") - 1
        bounds = np.clip(dag.offsets[low : high + 2], first, end)
        yield np.repeat(np.arange(low, min(high, n) + 1, dtype=np.int32), np.diff(bounds)), dag.children[first:end]
