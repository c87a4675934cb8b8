"""The problems `bfs`, `sssp` and `apsp`: networks, sources, checked distances, traversed edges per second.

The rate is TEPS as in Graph500: the edges that leave the reached vertices (an undirected edge counts once) over the
time of the search; of several sources the harmonic mean.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from grailbench.contract import Attempt, Params, Problem, Spec, Trial, Verdict, Workload
from grailbench.errors import InputError
from grailbench.graph.csr import Graph, rows_of, weighted_rows_of
from grailbench.graph.ids import Ids
from grailbench.traversal import check
from grailbench.traversal.index import FAR, Implementation, Network, NoTimer, Timer
from grailbench.traversal.weights import drawn
from grailbench.words import count

MOST_ALL_PAIRS = math.isqrt(2**31)  #: vertices of the largest matrix of all pairs


class _Traversal(Problem):
    """What the three problems share. Their trials have these phases.

    prepare  everything before the first search
    solve    all searches; the results stay on the device
    ready    if asked for: from raw edges in memory to all distances on the host. Its parts are `rows` (make the CSR
             form), `weights` (draw them if the graph has none), `prepare`, `solve` and the phases apart
    """

    modules = ("grailbench.traversal.cpu.plain", "grailbench.traversal.gpu.catalog")
    phases = ("prepare", "solve")
    answer = "reached"
    weighted = True

    def params(self, **axes) -> Params:
        return Params(**{name: axes[name] for name in ("threads", "seed") if name in axes})

    def open(self, name: str):
        from grailbench.datasets.library import open_raw

        return open_raw(name)

    def data(self, graph, spec: Spec) -> Network:
        """Returns the graph in CSR form; if the problem has weights, with those of the file or else drawn ones."""
        if self.weighted and (rows := graph.weighted_rows) is not None:
            return Network(*rows, of_file=True)
        return self._weighted(Network(*graph.rows), spec.seed, NoTimer())

    def _weighted(self, plain: Network, seed: int, timer: Timer) -> Network:
        if not self.weighted:
            return plain
        with timer.phase("weights"):
            return replace(plain, weights=drawn(plain.offsets, plain.targets, seed, plain.symmetric))

    def _ready(
        self, implementation: type[Implementation], params: Params, edges: Graph, sources: list[int], timer
    ) -> list[np.ndarray]:
        """Returns the distances from each source, computed from the raw edges."""
        with timer.whole("ready"):
            with timer.phase("rows"):
                given = self.weighted and edges.weights is not None
                network = Network(*weighted_rows_of(edges), of_file=True) if given else Network(*rows_of(edges))
            network, found = network if given else self._weighted(network, params.seed, timer), []
            with timer.phase("prepare"):
                solver = implementation.prepare(network, params, timer)
            for source in sources:
                with timer.phase("solve"):
                    found.append(solver.solve(source, timer))
        return found

    def share(self, data: Network) -> None:
        """Makes the reversed edges."""
        data.symmetric  # noqa: B018


class Bfs(_Traversal):
    """The levels of a breadth-first search from each source."""

    name = "bfs"
    asks = "sources"
    count = 16
    usual = ("sequential",)
    rate = "TEPS"
    weighted = False

    def spec(self, text: str, count: int, seed: int) -> Spec:
        """Returns the workload of `count` random sources. Raises InputError for any query set but 'random'."""
        if text != "random":
            raise InputError(f"{self.name} has no query set {text!r}", remedy="its sources are 'random'")
        return Spec("random", count, seed)

    def workload(self, spec: Spec, graph, data: Network, checks) -> Searches:
        """Returns searches from different random vertices that have children."""
        return Searches(data, draw_sources(data, spec.count, spec.seed), graph.ids)

    def attempt(
        self, implementation: type[Implementation], params: Params, data: Network, asked, peaks: Callable[[], dict]
    ) -> Attempt:
        """Makes all searches, `rounds` times."""
        solver = implementation.prepare(data, params, NoTimer())
        found = Answers()
        for turn in range(implementation.rounds):
            for source in asked.tolist():
                found.add(turn, source, solver.solve(source, NoTimer()))
        counters = {name: int(count) // implementation.rounds for name, count in solver.counters.items()}
        return Attempt(found, None, None, counters, peaks())

    def trial(
        self, implementation: type[Implementation], params: Params, data: Network, asked, timer, edges=None
    ) -> Trial:
        """Prepares and searches from every source; with `edges` does so once more from the raw edges."""
        with timer.phase("prepare"):
            solver = implementation.prepare(data, params, timer)
        sums, share = [], 0.0
        for source in asked.tolist():
            with timer.phase("solve") as search:
                distances = solver.solve(source, timer)
            sums.append(check.checksum(distances))
            share += search.ms / 1e3 / max(traversed(data, distances), 1)
        checksum = _together(sums)
        if edges is not None:
            del solver, distances
            found = self._ready(implementation, params, edges, asked.tolist(), timer)
            checksum = _together([check.checksum(each) for each in found])
        return Trial(checksum, len(sums) / share)


class Sssp(Bfs):
    """Distances from each source, by the weights of the file, or drawn ones (see `weights`)."""

    name = "sssp"
    usual = ("dijkstra",)
    weighted = True


class Apsp(_Traversal):
    """Distances between all pairs, by the weights of the file, or drawn ones (see `weights`)."""

    name = "apsp"
    asks = "pairs"
    count = 1
    counted = False
    most_vertices = MOST_ALL_PAIRS
    usual = ("dijkstra",)

    def spec(self, text: str, count: int, seed: int) -> Spec:
        """Returns the only workload: all pairs; the seed is that of drawn weights. Raises InputError for any other."""
        if text != "random":
            raise InputError(f"{self.name} has no query set {text!r}", remedy="it takes all pairs")
        return Spec("all", 0, seed)

    def workload(self, spec: Spec, graph, data: Network, checks) -> AllPairs:
        """The matrix of all pairs. Raises InputError for a graph of more than `MOST_ALL_PAIRS` vertices."""
        self.require_few(graph.name, data.vertices)
        return AllPairs(data, graph.ids)

    def attempt(
        self, implementation: type[Implementation], params: Params, data: Network, asked, peaks: Callable[[], dict]
    ) -> Attempt:
        """Computes all distances once."""
        solver = implementation.prepare(data, params, NoTimer())
        distances = solver.solve(0, NoTimer())
        return Attempt(distances, None, None, dict(solver.counters), peaks())

    def trial(
        self, implementation: type[Implementation], params: Params, data: Network, asked, timer, edges=None
    ) -> Trial:
        """Prepares and solves all pairs; with `edges` does so once more from the raw edges."""
        with timer.phase("prepare"):
            solver = implementation.prepare(data, params, timer)
        with timer.phase("solve"):
            distances = solver.solve(0, timer)
        checksum = check.checksum(distances)
        if edges is not None:
            del solver, distances
            (distances,) = self._ready(implementation, params, edges, [0], timer)
            checksum = check.checksum(distances)
        return Trial(checksum)


def draw_sources(network: Network, count: int, seed: int) -> np.ndarray:
    """Returns up to `count` different random vertices that have children, int64[k]; vertex 0 if none has."""
    if network.vertices == 0:
        raise InputError("the graph has no vertices, so there is nothing to search")
    able = np.flatnonzero(np.diff(network.offsets))
    if able.size == 0:
        return np.zeros(1, np.int64)
    return np.random.default_rng(seed).choice(able, min(count, able.size), replace=False)


def traversed(network: Network, distances: np.ndarray) -> int:
    """Returns how many edges leave the reached vertices; in an undirected graph each counts once."""
    edges = check.reached(network.offsets, distances)[1]
    return edges // 2 if network.symmetric else edges


class Answers:
    """The distances of many searches: the checksum of each search (turn, source), and one array per checksum."""

    def __init__(self):
        self.sums: dict[tuple[int, int], str] = {}
        self.arrays: dict[str, np.ndarray] = {}

    def add(self, turn: int, source: int, distances: np.ndarray) -> None:
        """Adds the distances of a search."""
        found = check.checksum(distances)
        self.sums[turn, source] = found
        self.arrays.setdefault(found, distances)


class Searches(Workload):
    """Searches from the same sources for every implementation. Certified answers are known by their checksums."""

    def __init__(self, network: Network, sources: np.ndarray, ids: Ids):
        self.network, self.asked, self.ids = network, sources, ids
        self._right: dict[int, str] = {}
        self._reached: dict[int, int] = {}
        self._scipy = network.edges * sources.size <= check.SCIPY_EDGES

    @property
    def size(self) -> int:
        """Number of sources."""
        return int(self.asked.size)

    @property
    def method(self) -> str:
        return "certificate, scipy" if self._scipy else "certificate"

    def describe(self) -> str:
        """Returns a description, such as '16 sources, drawn weights, 1,600 vertices reached'."""
        known = f", {sum(self._reached.values()):,} vertices reached" if len(self._right) == self.size else ""
        return f"{count(self.size, 'source')}{_weighed(self.network)}{known}"

    def judge(self, key: str, attempt: Attempt) -> Verdict:
        """Certifies the answers; every search of every round must be right."""
        found: Answers = attempt.answers
        unknown = {(source, total) for (_, source), total in found.sums.items() if self._right.get(source) != total}
        with _workers() as pool:
            judged = pool.map(lambda each: self._fault(*each, found.arrays[each[1]]), sorted(unknown))
            wrong_ones = {each: fault for each, fault in zip(sorted(unknown), judged, strict=True) if fault}
        faults = [wrong_ones.get((source, total)) for (_, source), total in found.sums.items()]
        wrong = [fault for fault in faults if fault]
        if not wrong:
            sums = [self._right[source] for source in self.asked.tolist()]
            return Verdict(None, sum(self._reached.values()), _together(sums), None, attempt.counters, attempt.memory)
        errors = {"searches": len(faults), "wrong_searches": len(wrong)}
        fault = f"{len(wrong)} of {len(faults)} searches are wrong: {wrong[0]}"
        return Verdict(fault, None, "", None, attempt.counters, attempt.memory, errors)

    def _fault(self, source: int, total: str, distances: np.ndarray) -> str | None:
        """Returns what is wrong with the distances from a source, or keeps their checksum and returns None."""
        name = self.ids.label_of
        fault = check.shape_fault(distances, (self.network.vertices,))
        fault = fault or check.fault(self.network, source, distances, name)
        if fault:
            return fault
        check.refuse_long(distances)
        if self._scipy and not np.array_equal(check.scipy_distances(self.network, [source])[0], distances):
            return f"from {name(source)}: scipy has other distances"
        self._right[source] = total
        self._reached[source] = check.reached(self.network.offsets, distances)[0]
        return None


class AllPairs(Workload):
    """The matrix of all distances, checked row by row."""

    def __init__(self, network: Network, ids: Ids):
        if network.vertices == 0:
            raise InputError("the graph has no vertices, so there are no pairs")
        self.network, self.ids = network, ids
        self._right = ""
        self._reached: int | None = None
        self._scipy = network.edges * network.vertices <= 16 * check.SCIPY_EDGES

    @property
    def size(self) -> int:
        """Number of sources: all vertices."""
        return self.network.vertices

    @property
    def method(self) -> str:
        return "certificate, scipy" if self._scipy else "certificate"

    def describe(self) -> str:
        """Returns a description, such as '16 of 25 pairs have a path, drawn weights'."""
        known = "" if self._reached is None else f"{self._reached:,} of "
        return f"{known}{self.size**2:,} pairs{'' if self._reached is None else ' have a path'}{_weighed(self.network)}"

    def judge(self, key: str, attempt: Attempt) -> Verdict:
        """Certifies every row, unless the matrix equals one that was certified before."""
        distances = attempt.answers
        fault = check.shape_fault(distances, (self.size, self.size))
        found = "" if fault else check.checksum(distances)
        if not fault and found != self._right:
            fault = self._fault(distances)
        if fault:
            return Verdict(fault, None, "", None, attempt.counters, attempt.memory)
        if not self._right:
            self._right, self._reached = found, int((distances != FAR).sum())
        return Verdict(None, self._reached, found, None, attempt.counters, attempt.memory)

    def _fault(self, distances: np.ndarray) -> str | None:
        with _workers() as pool:
            name = self.ids.label_of
            faults = pool.map(
                lambda source: check.fault(self.network, source, distances[source], name), range(self.size)
            )
            wrong = [fault for fault in faults if fault]
        if wrong:
            return f"{len(wrong)} of {self.size} rows are wrong: {wrong[0]}"
        check.refuse_long(distances)
        if self._scipy and not np.array_equal(check.scipy_distances(self.network, range(self.size)), distances):
            return "scipy has other distances"
        return None


def _weighed(network: Network) -> str:
    """Returns a remark on the weights, such as ', weights of the file'; '' if there are none."""
    if network.weights is None:
        return ""
    return ", weights of the file" if network.of_file else ", drawn weights"


def _workers() -> ThreadPoolExecutor:
    """Returns threads to certify with, outside the trials; the certificate releases the GIL."""
    return ThreadPoolExecutor(len(os.sched_getaffinity(0)))


def _together(sums: list[str]) -> str:
    return hashlib.sha256("".join(sums).encode()).hexdigest()[:16]
