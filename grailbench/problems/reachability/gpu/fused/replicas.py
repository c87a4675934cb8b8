"""`gpu-fused` on one or several GPUs of a host: each copies and labels the graph, and takes a share of the queries.
Searchers serve one index after the other.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from concurrent.futures import wait
from functools import partial

import numpy as np

from grailbench.cuda import describe, graphs
from grailbench.cuda.allocator import Reused
from grailbench.cuda.describe import require_memory
from grailbench.cuda.gateway import cuda
from grailbench.cuda.graphs import DeviceLeveled, Outline
from grailbench.cuda.several import DeviceThread, device_threads
from grailbench.cuda.timers import Span
from grailbench.graph.leveled import Leveled
from grailbench.problems.reachability.gpu.fused.batch import Searcher, kind_of, require_few
from grailbench.problems.reachability.gpu.fused.labeler import HostLabeler, Labeler, device_bytes
from grailbench.problems.reachability.gpu.fused.records import Records
from grailbench.problems.reachability.gpu.fused.search import Adjacency
from grailbench.problems.reachability.index import NoTimer, Timer

_reusable = Reused()


def searcher_of(rank, level_starts: np.ndarray, adjacency: Adjacency, records: Records, counting: bool) -> Searcher:
    """Returns a searcher of an index, as `Searcher` makes it, on the current device."""
    found = (
        None if counting else _reusable.take((describe.current_device(), *kind_of(level_starts, adjacency, records)))
    )
    if found is None:
        return Searcher(rank, level_starts, adjacency, records, counting=counting)
    found.serve(rank, level_starts, adjacency, records)
    return found


def give_back(searchers: list[Searcher]) -> None:
    """Keeps the searchers of an index that is gone, unless they count."""
    for each in searchers:
        if not each.counting:
            kind = each.device, *kind_of(each.level_starts, each.adjacency, each.records)
            each.rest()
            _reusable.give(kind, each)


class _Sum(NoTimer):
    """A timer that adds up the times that it records."""

    ms = 0.0

    def record(self, name: str, ms: float, excluded: bool = False) -> None:
        self.ms += ms


class _Replica:
    """The part of one GPU: the graph, its labels and a searcher."""

    def __init__(self, graph: Outline, bring, make_labeler, dim: int, seed: int):
        """bring: returns the graph on the current device; make_labeler: a `Labeler`, given graph, dim and seed."""
        self._graph, self._bring, self._make_labeler, self._dim, self._seed = graph, bring, make_labeler, dim, seed

    def upload(self) -> None:
        self._there = self._bring()
        cuda.synchronize()
        del self._bring

    def allocate(self) -> None:
        self._labeler = self._make_labeler(self._graph, self._there, self._dim, self._seed)
        self._span = Span()
        self.work = self._labeler.work
        cuda.synchronize()

    def label(self) -> float:
        with self._span:
            self.records = self._labeler.run()
        return self._span.ms

    def make_searcher(self, counting: bool, numbers) -> Searcher:
        self._labeler.release()
        there = self._there
        adjacency = Adjacency(there.starts, there.targets, there.parent_starts, there.parents)
        rank = there.rank if numbers is None else numbers
        searcher = searcher_of(rank, self._graph.level_starts, adjacency, self.records, counting)
        cuda.synchronize()
        return searcher


def on_host(graph: Leveled) -> Callable:
    """Returns what makes a `Labeler` that labels a graph by levels on the host."""
    return lambda _outline, _there, dim, seed: HostLabeler(graph, dim, seed)


class Replicas:
    """The index on one or several GPUs; labels and answers do not depend on their number."""

    def __init__(
        self,
        graph: Outline,
        bring: Callable[[], DeviceLeveled],
        dim: int,
        seed: int,
        devices: int,
        timer: Timer,
        counting: bool = False,
        make_labeler: Callable = Labeler,
        numbers=None,
    ):
        """Has `bring` give the graph of each device, labels there, and makes searchers, `counting` edges or not.

        numbers: int32 on the device, the place of each id that queries have; None for the ids of the DAG.

        Raises MachineLacks if the host has too few devices, one has too little memory, or the graph has too many
        vertices to be searched.
        """
        with timer.phase("allocate", excluded=True):
            require_few(graph.vertices)
            self._threads: list[DeviceThread] = device_threads(devices) if devices > 1 else []
            n, m, depth = graph.vertices, graph.edges, graph.level_starts.shape[0] - 1
            what = f"labeling {n:,} vertices and {m:,} edges on the GPU, d = {dim},"
            need = device_bytes(n, m, depth, dim)
            self._everywhere([lambda: require_memory(need, what, "take `parallel`, or a GPU with more")] * devices)
        replicas = [_Replica(graph, bring, make_labeler, dim, seed) for _ in range(devices)]
        with timer.phase("transfer", excluded=True):
            self._everywhere([each.upload for each in replicas])
            del bring  # freeing what it holds takes time too
        with timer.phase("allocate", excluded=True):
            self._everywhere([each.allocate for each in replicas])
        if make_labeler is Labeler:
            timer.record("on_device", max(self._everywhere([each.label for each in replicas])))
        else:
            with timer.phase("on_host"):
                self._everywhere([each.label for each in replicas])
        with timer.phase("allocate", excluded=True):
            making = [lambda each=each: each.make_searcher(counting, numbers) for each in replicas]
            self.searchers: list[Searcher] = self._everywhere(making)
        weakref.finalize(self, give_back, self.searchers).atexit = False
        self.records: list[Records] = [each.records for each in replicas]
        self.work = {name: sum(each.work[name] for each in replicas) for name in replicas[0].work}

    @classmethod
    def alone(cls, searcher: Searcher, records: Records, work: dict[str, int]) -> Replicas:
        """Returns the index of one device that was labelled already. work: counts of the labeling."""
        made = cls.__new__(cls)
        made._threads, made.searchers, made.records, made.work = [], [searcher], [records], work
        return made

    @classmethod
    def of_host(
        cls, graph: Leveled, dim: int, seed: int, devices: int, timer: Timer, counting: bool = False
    ) -> Replicas:
        """Copies a graph by levels from the host to each device, and labels it on the host if it is deep."""
        with timer.phase("renumber", excluded=True):
            bring = partial(graphs.upload_leveled, graph, graph.parents())
            outline = Outline.of(graph)
        make_labeler = on_host(graph) if outline.deep else Labeler
        return cls(outline, bring, dim, seed, devices, timer, counting, make_labeler)

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
