"""`gpu-fused` on one or several GPUs of a host: each copies the graph, labels it by the kernel that suits its size, and
takes a share of the queries. Searchers serve one index after the other.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from functools import partial
from types import ModuleType

import numpy as np

from grailbench.cuda import describe, device_arrays, graphs
from grailbench.cuda.allocator import Reused
from grailbench.cuda.describe import require_memory
from grailbench.cuda.edges import library, staging
from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.graphs import DeviceLeveled, Outline, leveled_bytes
from grailbench.cuda.launch import SIMULATED_THREADS, Moving, Prepared, Shape, cooperative_shape
from grailbench.cuda.several import DeviceThread, device_threads
from grailbench.cuda.timers import Span
from grailbench.graph.csr import Dag
from grailbench.graph.leveled import Leveled
from grailbench.problems.reachability.gpu.fused import columns, grid, host, small
from grailbench.problems.reachability.gpu.fused.batch import Labelled, Searcher, require_few
from grailbench.problems.reachability.gpu.fused.filter import Records, records_of
from grailbench.problems.reachability.gpu.fused.host import record_width, salts
from grailbench.problems.reachability.gpu.fused.hubs import HubArrays, choosing
from grailbench.problems.reachability.gpu.fused.search import Adjacency
from grailbench.problems.reachability.index import Index, NoTimer, Params, Timer

_reusable = Reused()


def way_of(graph: Outline) -> ModuleType:
    """Returns the module whose kernels label a graph: `small`, `columns` or `grid`."""
    return small if small.fits(graph.vertices) else columns if columns.suit(graph) else grid


def launches(
    way: ModuleType, graph: DeviceLeveled, dim: int, vertices: int, salt, lanes, hubs, levels,
    shape: Shape | None = None, registers: int | None = None, moving: Sequence[Moving] = (),
) -> tuple:  # fmt: skip
    """Returns the launches that label a graph of at most so many vertices on the device.

    way: as `way_of` returns; salt, lanes, hubs: as in the kernels; levels: for `grid` the wide ones
    (`grid.wide_levels`), for the others int32[depth + 1], where the edges of each begin; shape and registers: for
    `grid`; moving: arrays that may be replaced (`launch.Moving`).
    """
    if way is grid:
        (choose, chosen), (trees, sums) = choosing(graph, moving=moving), grid.rooms(vertices, dim)
        written = grid.Written(lanes, lanes.view(np.int64), hubs)
        args, code = (graph, levels, chosen, salt, trees, sums, written), grid.kernel(dim, registers)
        shape = shape or cooperative_shape(code, args, grid.THREADS, grid.PER_MULTIPROCESSOR)
        return choose, Prepared(code, args, shape, moving=moving)
    shared, words = way.shared_bytes(vertices), hubs.view(np.int32)

    def prepared(kernel, blocks: int, *args) -> Prepared:
        shape = Shape(blocks, SIMULATED_THREADS if simulated else way.THREADS)
        return Prepared(kernel, (graph, levels, *args), shape, shared, moving=moving)

    if way is small:
        return (prepared(small.kernel(dim), dim + 2, HubArrays.make(2), salt, lanes, words),)
    room, chosen = columns.room(vertices, dim), HubArrays.make(columns.HALVES)
    plant = prepared(columns.planting(dim), dim + columns.HALVES, chosen, salt, room, lanes, words)
    return plant, prepared(columns.repairing(dim), 2 * dim, room, lanes)


class Labeler:
    """Labels one graph with `dim` pairs; allocates the device arrays once, for any number of runs.

    `device` is the graph on the device, with its rows of parents; `graph` is what the host knows of it. The others are
    for tests: `way` in place of that of `way_of`; `shape` and `narrow` are for that of the grid.
    """

    def __init__(
        self, graph: Outline, device: DeviceLeveled, dim: int, seed: int, way: ModuleType | None = None,
        shape: Shape | None = None, narrow: int = grid.NARROW,
    ):  # fmt: skip
        n = graph.vertices
        lanes, hubs = device_arrays.allocate((n * record_width(dim), np.int32), (2 * n, np.int64))
        self.records, self._span = records_of(lanes, dim, hubs), Span()
        way = way or way_of(graph)
        levels = grid.wide_levels(graph, narrow) if way is grid else graph.edge_starts.astype(np.int32)
        there, salt = device_arrays.copied(levels, salts(seed, range(dim)))
        self._launches = launches(
            way, device, dim, n, salt, lanes, hubs, there, shape=shape, registers=grid.REGISTERS
        )  # fmt: skip
        barriers = grid.barriers(levels) if way is grid else 0
        self.work = {"label_launches": len(self._launches), "label_barriers": barriers}

    def release(self) -> None:
        """Frees all device arrays but the labels."""
        self._launches = ()

    def run(self) -> float:
        """Labels, and returns the milliseconds of the device."""
        with self._span:
            for launch in self._launches:
                launch.launch()
        return self._span.ms


@cuda.jit(cache=True)
def _interleave(column, lanes, width, lane):
    """Copies a column, int32[n], to a lane of the records, int32[n * width]."""
    for v in range(cuda.grid(1), column.shape[0], cuda.gridsize(1)):
        lanes[np.int64(v) * width + lane] = column[v]


class HostLabeler:
    """As `Labeler`, for a deep graph: `host` makes the labels, which are copied to the device."""

    work = {"label_launches": 0, "label_barriers": 0}

    def __init__(self, graph: Leveled, device: DeviceLeveled, dim: int, seed: int):
        self._graph, self._dim, self._seed = graph, dim, seed

    def release(self) -> None:
        """Nothing on the device but the labels is held."""

    def run(self) -> None:
        """Labels, and waits for the copies."""
        n, dim = self._graph.vertex.shape[0], self._dim
        width = record_width(dim)
        columns, words = host.labels_on_host(self._graph, dim, salts(self._seed, range(dim)))
        (lanes,), (hubs,) = device_arrays.allocate((n * width, np.int32)), device_arrays.copied(words.view(np.int64))
        columns = staging.to_device(*columns)
        for lane in range(width):
            column = columns[lane] if lane < len(columns) else library.full(n, 0, np.int32)
            library.launch(_interleave, n, column, lanes, width, lane)
        self.records = records_of(lanes, dim, hubs)
        cuda.synchronize()


def device_bytes(vertices: int, edges: int, depth: int, dim: int) -> int:
    """Returns the most bytes of the device for graph, index, scratch and searches of a DAG, without batches of queries
    and sweeps."""
    return leveled_bytes(vertices, edges, depth) + vertices * (4 * record_width(dim) + 16 + 24 * dim) + 256 * 2**20


def give_back(searchers: list[Searcher]) -> None:
    """Keeps the searchers of an index that is gone, unless they count."""
    for each in searchers:
        if not each.counting:
            kind = each.device, *each.graph.kind
            each.rest()
            _reusable.give(kind, each)


class _Sum(NoTimer):
    """A timer that adds up the times that it records."""

    ms = 0.0

    def record(self, name: str, ms: float, excluded: bool = False) -> None:
        self.ms += ms


def _waited(work: Callable, *args):
    """Calls `work(*args)` and waits for the device."""
    done = work(*args)
    cuda.synchronize()
    return done


def labelled(
    graph: Outline, leveled: Callable[[], Leveled], bring: Callable[[], DeviceLeveled], params: Params, timer: Timer,
    deep: Leveled | None = None, numbers=None,
) -> FusedIndex:  # fmt: skip
    """Has `bring` give the graph of each device, labels there, and makes searchers, counting edges or not.

    leveled: returns the graph on the host; deep: that graph, where it is to be labelled on the host; numbers: int32 on
    the device, the place of each id that queries have, None for the ids of the DAG. Raises MachineLacks if the host has
    too few devices, one has too little memory, or the graph has too many vertices to be searched.
    """
    dim, devices = params.dim, params.devices
    with timer.phase("allocate", excluded=True):
        require_few(graph.vertices)
        threads = device_threads(devices) if devices > 1 else []
        everywhere = partial(_everywhere, threads)
        n, m, depth = graph.vertices, graph.edges, graph.level_starts.shape[0] - 1
        what = f"labeling {n:,} vertices and {m:,} edges on the GPU, d = {dim},"
        need = device_bytes(n, m, depth, dim)
        everywhere([lambda: require_memory(need, what, "take `parallel`, or a GPU with more")] * devices)
    with timer.phase("transfer", excluded=True):
        there = everywhere([partial(_waited, bring)] * devices)
    with timer.phase("allocate", excluded=True):
        make = partial(Labeler, graph) if deep is None else partial(HostLabeler, deep)
        labelers = everywhere([partial(_waited, make, each, dim, params.seed) for each in there])
    works = [each.run for each in labelers]
    if deep is None:
        timer.record("on_device", max(everywhere(works)))
    else:
        with timer.phase("on_host"):
            everywhere(works)

    def searcher(rows: DeviceLeveled, labeler) -> Searcher:
        """One of a graph that is gone, if it counts nothing, or a new one."""
        labeler.release()
        adjacency = Adjacency(rows.starts, rows.targets, rows.parent_starts, rows.parents)
        rank = rows.rank if numbers is None else numbers
        own = Labelled(rank, graph.level_starts, adjacency, labeler.records)
        found = None if params.count else _reusable.take((describe.current_device(), *own.kind))
        if found is None:
            return Searcher(own, counting=params.count)
        found.serve(own)
        return found

    with timer.phase("allocate", excluded=True):
        searchers = everywhere([partial(_waited, searcher, *each) for each in zip(there, labelers, strict=True)])
    records = [each.records for each in labelers]
    work = {name: sum(each.work[name] for each in labelers) for name in labelers[0].work}
    index = FusedIndex(leveled, m, searchers, records, work, params, threads)
    weakref.finalize(index, give_back, searchers).atexit = False
    return index


def index_of(graph: Leveled, params: Params, timer: Timer, numbers=None) -> FusedIndex:
    """Copies a graph by levels from the host to each device, and labels it there, or on the host if it is deep.
    numbers: as in `labelled`."""
    with timer.phase("renumber", excluded=True):
        bring = partial(graphs.upload_leveled, graph, graph.parents())
        outline = Outline.of(graph)
    return labelled(outline, lambda: graph, bring, params, timer, graph if outline.deep else None, numbers)


def _everywhere(threads: Sequence[DeviceThread], works: list[Callable]) -> list:
    """Calls `works[i]()` on device i, all at the same time, and returns the results by device."""
    if not threads:
        return [work() for work in works]
    doing = [thread.submit(work) for thread, work in zip(threads, works, strict=True)]
    wait(doing)  # none may go on when an error frees what it uses
    return [done.result() for done in doing]


class FusedIndex(Index):
    """Graph, labels, hubs and searchers on one or several GPUs; labels and answers do not depend on their number."""

    rebuilt = True

    def __init__(
        self, leveled: Callable[[], Leveled], edges: int, searchers: list[Searcher], records: list[Records],
        work: dict[str, int], params: Params, threads: Sequence[DeviceThread] = (),
    ):  # fmt: skip
        """leveled: returns the graph by levels on the host; edges: how many it has; work: counts of the labeling."""
        self._leveled, self._edges, self._count, self._threads = leveled, edges, params.count, threads
        self.searchers, self.records, self._work = searchers, records, work
        self._queries = self._positives = 0

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Filters, searches the open queries, then sweeps those that the searches leave open.

        The timer records the milliseconds of the slowest device, as the phase `on_device`.
        """
        self.expect(sources.shape[0], timer)
        if len(self.searchers) == 1:
            answers = self.searchers[0].search(sources, targets, timer)
        else:
            answers = np.empty(sources.shape[0], np.bool_)

            def part(searcher: Searcher, share: slice) -> float:
                clock = _Sum()
                searcher.search(sources[share], targets[share], clock, answers[share])
                return clock.ms

            longest = _everywhere(self._threads, [partial(part, *each) for each in self._shared(sources.shape[0])])
            timer.record("on_device", max(longest))
        if self._count:
            self._queries += sources.shape[0]
            self._positives += int(np.count_nonzero(answers))
        return answers

    def columns(self, queries: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Returns pinned arrays for the next batch; None if several GPUs share it."""
        return self.searchers[0].columns(queries) if len(self.searchers) == 1 and queries else None

    def expect(self, queries: int, timer: Timer) -> None:
        """Allocates pinned and device memory for a batch, on each device for its share, unless done before."""
        with timer.phase("allocate", excluded=True):
            works = [partial(each.prepare, part.stop - part.start) for each, part in self._shared(queries)]
            _everywhere(self._threads, works)

    def _shared(self, queries: int) -> list[tuple[Searcher, slice]]:
        """Returns the searcher of each device, and its share of so many queries."""
        devices = len(self.searchers)
        cuts = [queries * device // devices for device in range(devices + 1)]
        return list(zip(self.searchers, map(slice, cuts[:-1], cuts[1:]), strict=True))

    @property
    def counters(self) -> dict[str, int]:
        if not self._count:
            return {}

        def counted(name: str) -> int:
            """The sum of an attribute of all searchers."""
            return sum(_everywhere(self._threads, [partial(getattr, each, name) for each in self.searchers]))

        edges, scanned = self._edges, counted("scanned")
        return self._work | {
            "queries": self._queries,
            "positives": self._positives,
            "queries_open": counted("opened"),
            "queries_searched": counted("searched"),
            "queries_searched_again": counted("searched_again"),
            "queries_swept": counted("swept"),
            "groups": counted("groups"),
            "edges_scanned": scanned,
            # The least traffic: for each edge a child's record for the repair and a parent's word for the hubs; two
            # records per query and one per edge scanned.
            "label_gathers": 2 * edges,
            "label_bytes_streamed": 2 * 8 * edges,
            "label_pass_bytes": 8 * edges,
            "query_gathers": 2 * self._queries + scanned,
            "query_bytes_streamed": 9 * self._queries + 4 * scanned,
            "query_pass_bytes": 9 * self._queries + 4 * scanned,
            "gather_table_bytes": self.records[0].lanes.nbytes,
        }

    @property
    def index_bytes(self) -> int:
        """Bytes of the records and the hubs' words on all devices, without the graphs and the memory of searches."""
        return sum(each.lanes.nbytes + each.hubs.nbytes for each in self.records)

    def fetch(self, device: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Returns the records, int32[n, width], and the hubs' words, uint64[2 n], of one device, on the host."""
        records = self.records[device]

        def copy():
            lanes = records.lanes.copy_to_host().reshape(-1, int(records.width))
            return lanes, records.hubs.copy_to_host()

        return self._threads[device].run(copy) if self._threads else copy()

    def check_labels(self, dag: Dag) -> str | None:
        return host.label_fault(*self.fetch(), len(self.records[0].pairs), self._leveled())
