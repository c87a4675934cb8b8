"""`gpu-fused` on one or several GPUs of a host: each copies the graph, labels it by the kernel that suits its size, and
takes a share of the queries. Searchers serve one index after the other.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from functools import partial

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
from grailbench.graph.leveled import Leveled
from grailbench.problems.reachability.gpu.fused import grid, host, small
from grailbench.problems.reachability.gpu.fused.batch import Labelled, Searcher, require_few
from grailbench.problems.reachability.gpu.fused.host import record_width, salts
from grailbench.problems.reachability.gpu.fused.hubs import Chooser, HubArrays
from grailbench.problems.reachability.gpu.fused.records import Records, records_of
from grailbench.problems.reachability.gpu.fused.search import Adjacency
from grailbench.problems.reachability.index import NoTimer, Params, Timer

_reusable = Reused()


def launches(
    graph: DeviceLeveled, dim: int, vertices: int, salt, lanes, hubs, edge_starts=None, wide=None,
    shape: Shape | None = None, registers: int | None = None, moving: Sequence[Moving] = (),
) -> tuple:  # fmt: skip
    """Returns the launches that label a graph of at most so many vertices on the device: one in shared memory or, given
    the `wide` levels (`grid.wide_levels`), two on the grid.

    edge_starts int32[depth + 1]: where the edges of each level begin; salt, lanes, hubs: as in the kernels; shape,
    registers: for that of the grid; moving: arrays that may be replaced (`launch.Moving`).
    """
    if wide is None:
        args = graph, edge_starts, HubArrays.make(2), salt, lanes, hubs.view(np.int32)
        shape = Shape(dim + 2, SIMULATED_THREADS if simulated else small.THREADS)
        return (Prepared(small.kernel(dim), args, shape, small.shared_bytes(vertices), moving=moving),)
    chooser, (trees, sums) = Chooser(graph, moving=moving), grid.rooms(vertices, dim)
    written = grid.Written(lanes, lanes.view(np.int64), hubs)
    args, code = (graph, wide, chooser.chosen, salt, trees, sums, written), grid.kernel(dim, registers)
    shape = shape or cooperative_shape(code, args, grid.THREADS, grid.PER_MULTIPROCESSOR)
    return chooser, Prepared(code, args, shape, moving=moving)


class Labeler:
    """Labels one graph with `dim` pairs; allocates the device arrays once, for any number of runs.

    `device` is the graph on the device, with its rows of parents; `graph` is what the host knows of it. The others are
    for tests: `shared` forces or forbids the kernel in shared memory; `shape` and `narrow` are for that of the grid.
    """

    def __init__(
        self,
        graph: Outline,
        device: DeviceLeveled,
        dim: int,
        seed: int,
        shared: bool | None = None,
        shape: Shape | None = None,
        narrow: int = grid.NARROW,
    ):
        n = graph.vertices
        lanes, hubs = device_arrays.allocate((n * record_width(dim), np.int32), (2 * n, np.int64))
        self.records, self._span = records_of(lanes, dim, hubs), Span()
        if shared if shared is not None else small.fits(n):
            edge_starts, salt = device_arrays.copied(graph.edge_starts.astype(np.int32), salts(seed, range(dim)))
            self._launches, barriers = launches(device, dim, n, salt, lanes, hubs, edge_starts), 0
        else:
            wide = grid.wide_levels(graph, narrow)
            there, salt = device_arrays.copied(wide, salts(seed, range(dim)))
            self._launches = launches(
                device, dim, n, salt, lanes, hubs, wide=there, shape=shape, registers=grid.REGISTERS
            )
            barriers = grid.barriers(wide)
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

    def __init__(self, graph: Leveled, dim: int, seed: int):
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
    graph = leveled_bytes(vertices, edges, edges, depth, True)
    return graph + vertices * (4 * record_width(dim) + 16 + 24 * dim) + 256 * 2**20


def searcher_of(graph: Labelled, counting: bool) -> Searcher:
    """Returns a searcher of a graph on the current device: one whose graph is gone, or a new one."""
    found = None if counting else _reusable.take((describe.current_device(), *graph.kind))
    if found is None:
        return Searcher(graph, counting=counting)
    found.serve(graph)
    return found


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


def on_host(graph: Leveled) -> Callable:
    """Returns what makes a `Labeler` that labels a graph by levels on the host."""
    return lambda _outline, _there, dim, seed: HostLabeler(graph, dim, seed)


class Replicas:
    """The index on one or several GPUs; labels and answers do not depend on their number."""

    def __init__(
        self,
        graph: Outline,
        bring: Callable[[], DeviceLeveled],
        params: Params,
        timer: Timer,
        make_labeler: Callable = Labeler,
        numbers=None,
    ):
        """Has `bring` give the graph of each device, labels there, and makes searchers, counting edges or not.

        numbers: int32 on the device, the place of each id that queries have; None for the ids of the DAG.

        Raises MachineLacks if the host has too few devices, one has too little memory, or the graph has too many
        vertices to be searched.
        """
        dim, devices = params.dim, params.devices
        with timer.phase("allocate", excluded=True):
            require_few(graph.vertices)
            self._threads: list[DeviceThread] = device_threads(devices) if devices > 1 else []
            n, m, depth = graph.vertices, graph.edges, graph.level_starts.shape[0] - 1
            what = f"labeling {n:,} vertices and {m:,} edges on the GPU, d = {dim},"
            need = device_bytes(n, m, depth, dim)
            self._everywhere([lambda: require_memory(need, what, "take `parallel`, or a GPU with more")] * devices)
        with timer.phase("transfer", excluded=True):
            there = self._everywhere([partial(_waited, bring)] * devices)
        with timer.phase("allocate", excluded=True):
            labelers = self._everywhere(
                [partial(_waited, make_labeler, graph, each, dim, params.seed) for each in there]
            )
        works = [each.run for each in labelers]
        if make_labeler is Labeler:
            timer.record("on_device", max(self._everywhere(works)))
        else:
            with timer.phase("on_host"):
                self._everywhere(works)

        def searcher(rows: DeviceLeveled, labeler) -> Searcher:
            labeler.release()
            adjacency = Adjacency(rows.starts, rows.targets, rows.parent_starts, rows.parents)
            rank = rows.rank if numbers is None else numbers
            return searcher_of(Labelled(rank, graph.level_starts, adjacency, labeler.records), params.count)

        with timer.phase("allocate", excluded=True):
            making = [partial(_waited, searcher, *each) for each in zip(there, labelers, strict=True)]
            self.searchers: list[Searcher] = self._everywhere(making)
        weakref.finalize(self, give_back, self.searchers).atexit = False
        self.records: list[Records] = [each.records for each in labelers]
        self.work = {name: sum(each.work[name] for each in labelers) for name in labelers[0].work}

    @classmethod
    def alone(cls, searcher: Searcher, records: Records, work: dict[str, int]) -> Replicas:
        """Returns the index of one device that was labelled already. work: counts of the labeling."""
        made = cls.__new__(cls)
        made._threads, made.searchers, made.records, made.work = [], [searcher], [records], work
        return made

    @classmethod
    def of_host(cls, graph: Leveled, params: Params, timer: Timer) -> Replicas:
        """Copies a graph by levels from the host to each device, and labels it on the host if it is deep."""
        with timer.phase("renumber", excluded=True):
            bring = partial(graphs.upload_leveled, graph, graph.parents())
            outline = Outline.of(graph)
        make_labeler = on_host(graph) if outline.deep else Labeler
        return cls(outline, bring, params, timer, make_labeler)

    def _everywhere(self, works: list[Callable]) -> list:
        """Calls `works[i]()` on device i, all at the same time, and returns the results by device."""
        if not self._threads:
            return [work() for work in works]
        doing = [thread.submit(work) for thread, work in zip(self._threads, works, strict=True)]
        wait(doing)  # none may go on when an error frees what it uses
        return [done.result() for done in doing]

    def fetch(self, device: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Returns the records, int32[n, width], and the hubs' words, uint64[2 n], of one device, on the host."""
        records = self.records[device]

        def copy():
            lanes = records.lanes.copy_to_host().reshape(-1, int(records.width))
            return lanes, records.hubs.copy_to_host()

        return self._threads[device].run(copy) if self._threads else copy()

    def expect(self, queries: int, timer: Timer) -> None:
        """Allocates for a batch of so many queries (phase `allocate`), unless done before."""
        with timer.phase("allocate", excluded=True):
            self._everywhere([partial(each.prepare, part.stop - part.start) for each, part in self._shared(queries)])

    def columns(self, queries: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Returns pinned arrays for the next batch; None if several GPUs share it."""
        return self.searchers[0].columns(queries) if len(self.searchers) == 1 and queries else None

    def search(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Returns answers, bool[k], to int32[k] sources and targets, all on the host.

        The timer records the milliseconds of the slowest device, as the phase `on_device`.
        """
        self.expect(sources.shape[0], timer)
        if len(self.searchers) == 1:
            return self.searchers[0].search(sources, targets, timer)
        answers = np.empty(sources.shape[0], np.bool_)

        def part(searcher: Searcher, share: slice) -> float:
            clock = _Sum()
            searcher.search(sources[share], targets[share], clock, answers[share])
            return clock.ms

        longest = self._everywhere([partial(part, *each) for each in self._shared(sources.shape[0])])
        timer.record("on_device", max(longest))
        return answers

    def _shared(self, queries: int) -> list[tuple[Searcher, slice]]:
        """Returns the searcher of each device, and its share of so many queries."""
        devices = len(self.searchers)
        cuts = [queries * device // devices for device in range(devices + 1)]
        return list(zip(self.searchers, map(slice, cuts[:-1], cuts[1:]), strict=True))

    def counted(self, name: str) -> int:
        """Returns the sum of an attribute of all searchers."""
        return sum(self._everywhere([lambda searcher=searcher: getattr(searcher, name) for searcher in self.searchers]))
