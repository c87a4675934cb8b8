"""Batches of queries on the device: filter, search, search with more memory (modules `filter` and `search`), and a
sweep of the queries that no search decided.

A sweep has a bit per query and a row of words per vertex, level by level: the thesis's masks (algorithm 11) for `64 *
WIDTH` queries. A group is one cooperative launch from its highest source to its lowest target.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from grailbench.cuda import block_group, describe, device_arrays, warp_group
from grailbench.cuda.describe import require_memory
from grailbench.cuda.edges import staging
from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.launch import Moving, Prepared, Shape, launch_cooperative, moved, prepared_copy
from grailbench.cuda.timers import Span
from grailbench.errors import MachineLacks
from grailbench.problems.reachability.gpu.fused import filter as stages
from grailbench.problems.reachability.gpu.fused import search
from grailbench.problems.reachability.gpu.fused.filter import COUNTS, Open, Outcome, Records
from grailbench.problems.reachability.gpu.fused.search import MOST_VERTICES, Adjacency
from grailbench.problems.reachability.index import Timer

GROUP = 64 * warp_group.WIDTH  #: queries per group
CHUNK = 64  #: edges that a warp group processes at a time
_1 = np.uint64(1)


@cuda.jit(device=True)
def _row_of(starts, low, high, k):
    """Returns the last of rows low..high - 1 that begins at edge k or before. starts ascends."""
    while high - low > 1:
        middle = (low + high) // 2
        if starts[middle] <= k:
            low = middle
        else:
            high = middle
    return low


@cuda.jit(device=True)
def _pull(level, base, level_starts, graph, rows):
    """Ors the rows of their parents into the rows of the vertices of a level."""
    thread, threads, lane = cuda.grid(1), cuda.gridsize(1), warp_group.lane()
    first, last = level_starts[level], level_starts[level + 1]
    stop = graph.parent_starts[last]
    start = graph.parent_starts[first] + np.int64(thread // warp_group.WIDTH) * CHUNK
    for chunk in range(start, stop, (threads // warp_group.WIDTH) * CHUNK):
        v = _row_of(graph.parent_starts, first, last, chunk)
        k, until = np.int64(chunk), min(np.int64(chunk) + CHUNK, np.int64(stop))
        while k < until:
            bound = min(np.int64(graph.parent_starts[v + 1]), until)
            found = np.uint64(0)
            while k < bound:
                parent = graph.parents[k]
                if parent >= base:
                    found |= rows[np.int64(parent - base) * warp_group.WIDTH + lane]
                k += 1
            if found != 0:  # other warp groups may write the same row
                cuda.atomic.or_(rows, np.int64(v - base) * warp_group.WIDTH + lane, found)
            v += 1


@cuda.jit(cache=True)
def sweep(queries, level_starts, graph, rows, span, answers):
    """Answers at most GROUP queries. Cooperative launch, blocks of whole warp groups.

    queries: `filter.Open`; level_starts int32[depth + 1]; graph: `search.Adjacency`; rows uint64[(end - base) * WIDTH]:
    scratch, one row per vertex from number base on; span (low, high): all sources are on level low or deeper, all
    targets on level high or higher up, where base and end are the begin of level low and the end of level high;
    answers uint8: written at the queries' places.
    """
    low, high = span
    grid = cuda.cg.this_grid()
    thread, threads = cuda.grid(1), cuda.gridsize(1)
    base, end = level_starts[low], level_starts[high + 1]
    for i in range(thread, np.int64(end - base) * warp_group.WIDTH, threads):
        rows[i] = np.uint64(0)
    grid.sync()
    for q in range(thread, queries.sources.shape[0], threads):
        word = np.int64(queries.sources[q] - base) * warp_group.WIDTH + (q >> 6)
        cuda.atomic.or_(rows, word, _1 << np.uint64(q & 63))
    grid.sync()
    for level in range(low + 1, high + 1):
        _pull(level, base, level_starts, graph, rows)
        grid.sync()
    for q in range(thread, queries.sources.shape[0], threads):
        word = rows[np.int64(queries.targets[q] - base) * warp_group.WIDTH + (q >> 6)]
        answers[queries.places[q]] = (word >> np.uint64(q & 63)) & _1


@dataclass(frozen=True)
class SearchSizes:
    """Sizes of the searches. The answers do not depend on them.

    warps                    warp groups per block of the first search
    blocks, late_blocks      blocks per multiprocessor of the first and the second search
    size, budget             most vertices (a power of two) and edges of the first search
    late_size, late_budget   most vertices and edges of the second search
    peeked                   most children or parents that a thread looks at before the searches
    """

    warps: int = 4
    blocks: int = 8
    size: int = 256
    budget: int = 8192
    late_blocks: int = 4
    peeked: int = 8
    late_size: int = 1 << 15
    late_budget: int = 1 << 18


#: In the simulator a block is one warp group; the sizes are small, so that small graphs overflow every stage
SIMULATED = SearchSizes(warps=1, blocks=2, size=16, budget=60, late_blocks=2, late_size=32, late_budget=200, peeked=2)


def usual() -> SearchSizes:
    """Returns the sizes for this machine."""
    return SIMULATED if simulated else SearchSizes()


def require_few(vertices: int) -> None:
    """Raises MachineLacks if a graph has more vertices than the keys of a search's table can represent."""
    if vertices >= MOST_VERTICES:
        raise MachineLacks(
            f"gpu-fused searches graphs of fewer than {MOST_VERTICES:,} vertices, this one has {vertices:,}: "
            "take `parallel`"
        )


MOST_QUERIES = 2**31 - 2**20  #: of a batch: counts are int32, and each group of threads takes one beyond the last
BATCH_BYTES = 9  #: device bytes per query of a batch: two ids and an answer
LARGE = 1 << 20  #: queries of a batch for which a searcher without an index keeps no memory
LIST_BYTES = 24  #: device bytes per query of the lists of open queries, which the batches of a searcher share


class _Batch:
    """Pinned host and device memory for batches of k queries, one allocation with one copy each way, and their
    launches."""

    def __init__(self, k: int, stages_for):
        self.size = k
        inward, outward = 8 * k + 4 * COUNTS, 4 * COUNTS + k
        self._given = cuda.pinned_array(inward, np.uint8)
        self._given[8 * k :] = 0
        self.host_sources, self.host_targets = (self._given[4 * k * i : 4 * k * (i + 1)].view(np.int32) for i in (0, 1))
        self._found = cuda.pinned_array(outward, np.uint8)
        self.host_counts = self._found[: 4 * COUNTS].view(np.int32)
        self.host_answers = self._found[4 * COUNTS :].view(np.bool_)
        (self._device,) = device_arrays.allocate((8 * k + outward, np.uint8))
        self._bring = prepared_copy(self._device[:inward], self._given)
        self._clear = prepared_copy(self._device[8 * k : inward], self._given[8 * k :])
        self.take = prepared_copy(self._found, self._device[8 * k :])
        sources, targets = (self._device[4 * k * i : 4 * k * (i + 1)].view(np.int32) for i in (0, 1))
        self.answers = self._device[inward:]
        self.span = Span()
        self.stages = stages_for(sources, targets, self.answers, self._device[8 * k : inward].view(np.int32))

    def bring(self, sources: np.ndarray, targets: np.ndarray) -> None:
        given = sources is self.host_sources and targets is self.host_targets
        if not given and staging.many(self.size):
            self._clear()
            place = self._device.device_ctypes_pointer.value
            staging.bring((sources, targets), (place, place + 4 * self.size))
            return
        if not given:
            self.host_sources[:] = sources
            self.host_targets[:] = targets
        self._bring()

    def hand_over(self, answers: np.ndarray) -> None:
        """Copies the answers that `take` brought to an array of the caller."""
        staging.spread(self.host_answers, answers)

    def launch(self) -> None:
        for stage in self.stages:
            stage.launch()


def _late_size(vertices: int, sizes: SearchSizes) -> int:
    """Returns the most vertices of the second search, a power of two, for a graph of so many."""
    return min(sizes.late_size, 1 << (int(vertices) + 2 * block_group.WIDTH).bit_length())


class Labelled(NamedTuple):
    """A labelled graph on the device, whose vertices are numbered by level.

    rank          int32: the number of each id that queries have
    level_starts  int32[depth + 1], on the host
    """

    rank: object
    level_starts: np.ndarray
    adjacency: Adjacency
    records: Records

    @property
    def vertices(self) -> int:
        return int(self.level_starts[-1])

    @property
    def kind(self) -> tuple:
        """What graphs that one searcher can serve have in common, on one device."""
        types = self.adjacency.child_starts.dtype.char, self.adjacency.parent_starts.dtype.char
        return *types, len(self.records.pairs), _late_size(self.vertices, usual())

    @property
    def arrays(self) -> tuple:
        """The device arrays."""
        return self.rank, *self.adjacency, self.records.lanes, self.records.hubs


class Searcher:
    """Answers batches on one labelled graph on the device, whose vertices are numbered by level. Its memory and
    launches can serve another index after that (`serve`)."""

    def __init__(self, graph: Labelled, sizes: SearchSizes | None = None, counting: bool = False, most: int = 0):
        """counting: whether searches count the edges that they scan (`scanned`); most: vertices of the largest graph
        that this shall serve, if it is not this one.

        Raises MachineLacks if the graph has more vertices than the keys of a search's table can represent.
        """
        self.sizes = sizes or usual()
        self.counting, self.device = counting, describe.current_device()
        self._multiprocessors = 1 if simulated else cuda.get_current_device().MULTIPROCESSOR_COUNT
        self._filter_threads = warp_group.WIDTH if simulated else 256
        self._explore = search.explore_kernel(self.sizes.size, self.sizes.warps, counting)
        self._shape = Shape(self.sizes.blocks * self._multiprocessors, self.sizes.warps * warp_group.WIDTH)
        self._late_shape = Shape(self.sizes.late_blocks * self._multiprocessors, block_group.WIDTH)
        blocks, late_size = self._late_shape.blocks, _late_size(most or graph.vertices, self.sizes)
        self._queues, self._tables = device_arrays.allocate(
            ((blocks, late_size), np.int32), ((blocks, 2 * late_size), np.int32)
        )
        (self._scanned,) = device_arrays.copied(np.zeros(1, np.int64))
        Prepared(search.clear, (self._tables,), self._late_shape).launch()
        self._batch: _Batch | None = None
        self._lists: tuple[Open, Open] | None = None
        self._moving = [Moving(row) for row in graph.arrays]
        self.serve(graph)

    def serve(self, graph: Labelled) -> None:
        """Answers from now on for another graph of the same kind."""
        require_few(graph.vertices)
        self.graph: Labelled | None = graph
        #: numbers of queries that each stage left open, and of groups of sweeps
        self.opened = self.searched = self.searched_again = self.swept = self.groups = 0
        rows = moved(self._moving, graph.arrays)
        for stage in self._batch.stages if self._batch is not None else ():
            stage.move(rows)

    def rest(self) -> None:
        """Lets go of the index, and of the memory of a large batch."""
        self.graph = None
        for row in self._moving:
            row.now = None
        if self._batch is not None and self._batch.size > LARGE:
            self._batch = self._lists = None

    @property
    def scanned(self) -> int:
        """Edges of all completed rounds of searches; 0 unless built to count."""
        return int(self._scanned.copy_to_host()[0])

    @property
    def bytes(self) -> int:
        """Device bytes of the late searches, without those of a batch (33 per query) and of sweeps."""
        return 12 * self._queues.size

    def prepare(self, k: int) -> None:
        """Allocates for batches of k queries, unless done before; otherwise `search` does so, within its time.

        Raises TooLittleMemory, before it allocates, if the device has too little memory, and MachineLacks if there are
        more queries than the counts of a batch can represent.
        """
        remedy = "ask fewer at once with --count, or share them among GPUs with --devices"
        if k > MOST_QUERIES:
            raise MachineLacks(f"gpu-fused takes up to {MOST_QUERIES:,} queries at once, not {k:,} ({remedy})")
        if k and (self._batch is None or self._batch.size != k):
            self._batch = None
            if self._lists is not None and self._lists[0].sources.shape[0] < k:
                self._lists = None
            need = BATCH_BYTES * k + 8 * COUNTS + (LIST_BYTES * k if self._lists is None else 0)
            require_memory(need, f"a batch of {k:,} queries", remedy)
            self._batch = _Batch(k, self._stages)
            if staging.many(k):
                staging.prepare()
            cuda.synchronize()

    def columns(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns pinned arrays, int32[k] with k > 0, in which `search` takes the next batch without copying it."""
        self.prepare(k)
        return self._batch.host_sources, self._batch.host_targets

    def search(
        self, sources: np.ndarray, targets: np.ndarray, timer: Timer | None = None, answers: np.ndarray | None = None
    ) -> np.ndarray:
        """Returns answers, bool[k], to int32[k] sources and targets, ids in `rank`, all on the host.

        They are written to `answers` if given, else to a new array. A timer records the device's milliseconds between
        the transfers, as the phase `on_device`.
        """
        k = sources.shape[0]
        answers = np.empty(k, np.bool_) if answers is None else answers
        if k == 0:
            return answers
        self.prepare(k)
        batch = self._batch
        batch.bring(sources, targets)
        with batch.span:
            batch.launch()
        batch.take()
        counts = batch.host_counts
        self.opened += int(counts[stages.OPEN])
        self.searched += int(counts[stages.KEPT])
        self.searched_again += int(counts[stages.LATE])
        self.swept += (lost := int(counts[stages.LOST]))
        if timer is not None:
            timer.record("on_device", batch.span.ms)
        if lost:
            with batch.span:
                self._sweep(lost, batch.answers)
            batch.take()
            if timer is not None:
                timer.record("on_device", batch.span.ms)
        batch.hand_over(answers)
        return answers

    def _stages(self, sources, targets, answers, counts) -> tuple[Prepared, ...]:
        """Returns the launches that filter and search, and leave the open queries in the second list."""
        k = sources.shape[0]
        if self._lists is None or self._lists[0].sources.shape[0] < k:
            self._lists = self._batch = None  # the launches of a batch write to the lists of its creation
            columns = device_arrays.allocate(*[(k, np.int32)] * 6)
            self._lists = Open(*columns[:3]), Open(*columns[3:])
        (one, other), sizes = self._lists, self.sizes
        rank, lanes, hubs = self._moving[0], *self._moving[5:]
        records, outcome = self.graph.records._replace(lanes=lanes, hubs=hubs), Outcome(answers, counts, self._scanned)
        index = Adjacency(*self._moving[1:5]), records, outcome
        blocks = min(-(-k // self._filter_threads), 16 * self._multiprocessors)
        filtering = Shape(blocks, self._filter_threads)
        peeking = Shape(min(blocks, 8 * self._multiprocessors), self._filter_threads)
        late = search.explore_late_kernel(self.counting)
        steps = (
            (stages.filter_queries, (sources, targets, rank, records, outcome, one), filtering),
            (search.peek_kernel(self.counting), (one, other, *index, sizes.peeked), peeking),
            (self._explore, (other, one, *index, sizes.budget), self._shape),
            (late, (one, other, *index, sizes.late_budget, self._queues, self._tables), self._late_shape),
        )
        return tuple(Prepared(*step, moving=self._moving) for step in steps)

    def _sweep(self, lost: int, answers) -> None:
        """Sweeps the first `lost` queries of the second list, in groups of neighbouring levels.

        Without the level filter the list may have queries whose source is not above their target. They are answered
        already: the first pass wrote 'no'.
        """
        sources, targets, places = (column[:lost].copy_to_host() for column in self._lists[1])
        high, low = (np.searchsorted(self.graph.level_starts, ends, "right") - 1 for ends in (sources, targets))
        order = np.lexsort((places, low, high))
        order = order[high[order] < low[order]]
        if not order.size:
            return
        groups = [order[first : first + GROUP] for first in range(0, order.size, GROUP)]
        spans = [(int(high[group].min()), int(low[group].max())) for group in groups]
        vertices = max(int(self.graph.level_starts[last + 1] - self.graph.level_starts[first]) for first, last in spans)
        need = 8 * warp_group.WIDTH * vertices
        require_memory(need, f"sweeping {order.size} queries that filters and searches left open")
        rows, level_starts = (
            cuda.device_array(warp_group.WIDTH * vertices, np.uint64),
            cuda.to_device(self.graph.level_starts),
        )
        for group, span in zip(groups, spans, strict=True):
            queries = Open(*(cuda.to_device(column[group]) for column in (sources, targets, places)))
            launch_cooperative(sweep, (queries, level_starts, self.graph.adjacency, rows, span, answers), 512)
        self.groups += len(groups)
