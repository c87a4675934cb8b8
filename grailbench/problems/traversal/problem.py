"""The problems `bfs`, `sssp` and `apsp`: networks, sources, checked distances, traversed edges per second.

TEPS as in Graph500: the edges that leave the reached vertices (an undirected edge counts once) over the time of the
search; of several sources the harmonic mean, of searches made together all edges over their time.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import ClassVar

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import Graph, rows_of, weighted_rows_of
from grailbench.graph.ids import Ids
from grailbench.problems import contract
from grailbench.problems.contract import (
    Attempt,
    NoTimer,
    Params,
    Problem,
    SolverProblem,
    Spec,
    Trial,
    Verdict,
    Workload,
)
from grailbench.problems.traversal import check
from grailbench.problems.traversal.index import FAR, Found, Implementation, Network, Solver, Together, drawn_weights
from grailbench.util.cores import usable_cores
from grailbench.util.words import count

MOST_ALL_PAIRS = math.isqrt(2**31)  #: vertices of the largest matrix of all pairs


class _Traversal(Problem):
    """What the three problems share. The results of phase `solve` stay on the device; phase `ready` ends with all
    distances on the host."""

    modules = ("grailbench.problems.traversal.cpu", "grailbench.problems.traversal.gpu.catalog")
    phases = ("prepare", "solve")
    answer = "reached"
    repeated = ()
    weighted = True
    searches: ClassVar[str]  #: the searches in words

    @property
    def ranked(self):
        return {"solve": self.searches, "ready": f"{self.searches} from edges"}

    def data(self, graph, spec: Spec) -> Network:
        """Returns the graph in CSR form; if the problem has weights, with those of the file or else drawn ones."""
        if self.weighted and (rows := graph.weighted_rows) is not None:
            return Network(*rows, of_file=True)
        return self._weighted(Network(*graph.rows), spec.seed, NoTimer())

    def _weighted(self, plain: Network, seed: int, timer) -> Network:
        if not self.weighted:
            return plain
        with timer.phase("weights"):
            return replace(plain, weights=drawn_weights(plain.offsets, plain.targets, seed, plain.symmetric))

    def data_of(self, edges: Graph, params: Params, batch, timer) -> Network:
        """Makes the CSR form (phase `rows`), and draws weights if the graph has none (`weights`)."""
        with timer.phase("rows"):
            if self.weighted and edges.weights is not None:
                return Network(*weighted_rows_of(edges), of_file=True)
            plain = Network(*rows_of(edges))
        return self._weighted(plain, params.seed, timer)

    def share(self, data: Network) -> None:
        """Makes the reversed edges."""
        data.symmetric  # noqa: B018


class Bfs(_Traversal):
    """The levels of a breadth-first search from each source."""

    name = "bfs"
    searches = "breadth-first searches"
    asks = "sources"
    count = 16
    usual = ("sequential",)
    rate = "TEPS"
    weighted = False

    def spec(self, text: str, count: int, seed: int) -> Spec:
        """Returns the workload of `count` random sources. Raises InputError for any query set but 'random'."""
        self.only(text, "its sources are 'random'")
        return Spec("random", count, seed)

    def workload(self, spec: Spec, graph, data: Network, checks) -> Searches:
        """Returns searches from different random vertices that have children."""
        return Searches(data, draw_sources(data, spec.count, spec.seed), graph.ids)

    def attempt(
        self, implementation: type[Implementation], params: Params, data: Network, batch, peaks: Callable[[], dict]
    ) -> Attempt:
        """Makes all searches, `rounds` times, and certifies each as it ends. Searches together are made twice: without
        distances, as in trials, and with them."""
        solver = _prepared(implementation, params, data, batch, NoTimer())
        found = solver.search(batch, NoTimer()) if isinstance(solver, Together) else None
        counters = dict(solver.counters) if found else None
        answers = _certified(data, implementation.rounds, batch, solver, found)
        counters = counters or {name: int(each) // implementation.rounds for name, each in solver.counters.items()}
        return Attempt(answers, None, None, counters, peaks())

    def trial(
        self, implementation: type[Implementation], params: Params, data: Network, batch, timer, edges=None
    ) -> Trial:
        """Prepares and searches from every source; with `edges` does so once more from the raw edges."""
        solver = _prepared(implementation, params, data, batch, timer)
        together = isinstance(solver, Together)
        marks, rate = (_timed_together if together else _timed_each)(solver, data, batch, timer)
        if edges is not None:
            del solver
            with timer.whole("ready"):
                network = self.data_of(edges, params, batch, timer)
                solver = _prepared(implementation, params, network, batch, timer)
                with timer.phase("solve"):
                    found = list(solver.solve_each(batch, timer))
            marks = [_mark(data, distances, together) for distances in found]
        return Trial(_joined(marks), rate)


def _prepared(implementation: type[Implementation], params: Params, data: Network, batch, timer) -> Solver:
    """Returns a solver, ready for searches from all the sources, in phase `prepare`."""
    with timer.phase("prepare"):
        solver = implementation.prepare(data, params, timer)
        if isinstance(solver, Together):
            solver.expect(batch.size)
    return solver


def _timed_each(solver: Solver, data: Network, batch: np.ndarray, timer) -> tuple[list[str], float]:
    """Searches from each source; returns the marks and the harmonic mean of the rates."""
    marks, share = [], 0.0
    for source in batch.tolist():
        with timer.phase("solve") as search:
            distances = solver.solve(source, timer)
        marks.append(check.checksum(distances))
        share += search.ms / 1e3 / max(traversed(data, distances), 1)
    return marks, len(marks) / share


def _timed_together(solver: Together, data: Network, batch: np.ndarray, timer) -> tuple[list[str], float]:
    """Searches from all sources at once; returns the marks and the rate."""
    with timer.phase("solve") as search:
        found = solver.search(batch, timer)
    return _marks(found), _once(data, int(found.edges.sum())) / (search.ms / 1e3)


class Sssp(Bfs):
    """Distances from each source, by the weights of the file, or drawn ones (see `weights`)."""

    name = "sssp"
    searches = "shortest paths"
    usual = ("dijkstra",)
    weighted = True


class Apsp(_Traversal, SolverProblem):
    """Distances between all pairs, by the weights of the file, or drawn ones (see `weights`)."""

    name = "apsp"
    searches = "all pairs"
    asks = "pairs"
    count = 1
    counted = False
    most_vertices = MOST_ALL_PAIRS
    usual = ("dijkstra",)

    def spec(self, text: str, count: int, seed: int) -> Spec:
        """Returns the only workload: all pairs; the seed is that of drawn weights. Raises InputError for any other."""
        self.only(text, "it takes all pairs")
        return Spec("all", 0, seed)

    def workload(self, spec: Spec, graph, data: Network, checks) -> AllPairs:
        """The matrix of all pairs. Raises InputError for a graph of more than `MOST_ALL_PAIRS` vertices."""
        self.require_few(graph.name, data.vertices)
        return AllPairs(data, graph.ids)

    def solve(self, solver: Solver, data: Network, batch, timer) -> np.ndarray:
        return solver.solve(0, timer)

    def checksum(self, found: np.ndarray) -> str:
        return check.checksum(found)


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
    return _once(network, check.summary(network.offsets, distances)[1])


def _once(network: Network, edges: int) -> int:
    return edges // 2 if network.symmetric else edges


def _mark(network: Network, distances: np.ndarray, together: bool) -> str:
    """Returns the checksum of a search: of its distances or, where they are not kept, of what `Found` has of them."""
    return _written(check.summary(network.offsets, distances)) if together else check.checksum(distances)


def _marks(found: Found) -> list[str]:
    return [_written(each) for each in zip(*found, strict=True)]


def _written(summary) -> str:
    return ",".join(str(int(each)) for each in summary)


class Answers:
    """What is left of many searches, after their check.

    marks    the checksum of each search (turn, source), None if it is wrong
    reached  the number of vertices that right searches from a source reach
    first    of the first wrong search the source, the distances, and what else was found
    """

    def __init__(self):
        self.marks: dict[tuple[int, int], str | None] = {}
        self.reached: dict[int, int] = {}
        self.first: tuple[int, np.ndarray, str | None] | None = None


def _certified(network: Network, rounds: int, batch: np.ndarray, solver: Solver, found: Found | None) -> Answers:
    """Certifies the distances from each source as they come, on all cores, `rounds` times. found: what searches
    together claimed of themselves, which must be true of the distances."""
    answers, waiting, cores = Answers(), deque(), _cores()
    claimed = [None] * batch.size if found is None else _marks(found)

    def take() -> None:
        turn, source, distances, mine, task = waiting.popleft()
        mark, reached = task.result()
        answers.marks[turn, source] = mark
        if mark is not None:
            answers.reached[source] = reached
        elif answers.first is None:
            answers.first = source, distances, mine

    with ThreadPoolExecutor(cores) as pool:
        for turn in range(rounds):
            for source, mine, distances in zip(
                batch.tolist(), claimed, solver.solve_each(batch, NoTimer()), strict=True
            ):
                task = pool.submit(_certify, network, source, distances, mine)
                waiting.append((turn, source, distances, mine, task))
                if len(waiting) > 2 * cores:
                    take()
        while waiting:
            take()
    return answers


def _certify(network: Network, source: int, distances: np.ndarray, claimed: str | None):
    """Returns the mark of a search, None if it is wrong, and how many vertices it reaches."""
    if _wrong(network, source, distances, claimed) is not None:
        return None, 0
    check.refuse_long(distances)
    summary = check.summary(network.offsets, distances)
    return check.checksum(distances) if claimed is None else _written(summary), int(summary[0])


def _wrong(network: Network, source: int, distances: np.ndarray, claimed: str | None, name=int) -> str | None:
    """Returns what is wrong with a search, or None. claimed: what it found (`_marks`), if not only distances; name:
    gives the id of a vertex."""
    fault = check.shape_fault(distances, (network.vertices,)) or check.fault(network, source, distances, name)
    if fault:
        return fault
    if claimed is not None and claimed != (due := _written(check.summary(network.offsets, distances))):
        return f"from {name(source)}: vertices, edges, distance and mark are {due}, and {claimed} were found"
    return None


class Searches(Workload):
    """Searches from the same sources for every implementation. They are certified in the pass that makes them."""

    method = "certificate"

    def __init__(self, network: Network, sources: np.ndarray, ids: Ids):
        self.network, self.batch, self.ids = network, sources, ids
        self._reached: dict[int, int] = {}

    @property
    def size(self) -> int:
        """Number of sources."""
        return int(self.batch.size)

    def describe(self) -> str:
        """Returns a description, such as '16 sources, drawn weights, 1,600 vertices reached'."""
        known = f", {sum(self._reached.values()):,} vertices reached" if len(self._reached) == self.size else ""
        return f"{count(self.size, 'source')}{_weights(self.network)}{known}"

    def judge(self, key: str, attempt: Attempt) -> Verdict:
        """Every search of every round must be right."""
        found: Answers = attempt.answers
        wrong = sum(mark is None for mark in found.marks.values())
        self._reached |= found.reached
        if not wrong:
            marks = _joined([found.marks[0, source] for source in self.batch.tolist()])
            return attempt.verdict(None, sum(self._reached.values()), marks)
        source, distances, claimed = found.first
        why = _wrong(self.network, source, distances, claimed, self.ids.label_of)
        errors = {"searches": len(found.marks), "wrong_searches": wrong}
        fault = f"{wrong} of {len(found.marks)} searches are wrong: {why}"
        return attempt.verdict(fault, None, "", errors=errors)


class AllPairs(Workload):
    """The matrix of all distances, checked row by row."""

    method = "certificate"

    def __init__(self, network: Network, ids: Ids):
        if network.vertices == 0:
            raise InputError("the graph has no vertices, so there are no pairs")
        self.network, self.ids = network, ids
        self._right = ""
        self._reached: int | None = None

    @property
    def size(self) -> int:
        """Number of sources: all vertices."""
        return self.network.vertices

    def describe(self) -> str:
        """Returns a description, such as '16 of 25 pairs have a path, drawn weights'."""
        known = "" if self._reached is None else f"{self._reached:,} of "
        return f"{known}{self.size**2:,} pairs{'' if self._reached is None else ' have a path'}{_weights(self.network)}"

    def judge(self, key: str, attempt: Attempt) -> Verdict:
        """Certifies every row, unless the matrix equals one that was certified before."""
        distances = attempt.answers
        fault = check.shape_fault(distances, (self.size, self.size))
        found = "" if fault else check.checksum(distances)
        if not fault and found != self._right:
            fault = self._fault(distances)
        if fault:
            return attempt.verdict(fault, None, "")
        if not self._right:
            self._right, self._reached = found, int((distances != FAR).sum())
        return attempt.verdict(None, self._reached, found)

    def _fault(self, distances: np.ndarray) -> str | None:
        with ThreadPoolExecutor(_cores()) as pool:
            name = self.ids.label_of
            faults = pool.map(
                lambda source: check.fault(self.network, source, distances[source], name), range(self.size)
            )
            wrong = [fault for fault in faults if fault]
        if wrong:
            return f"{len(wrong)} of {self.size} rows are wrong: {wrong[0]}"
        check.refuse_long(distances)
        return None


def _weights(network: Network) -> str:
    """Returns a remark on the weights, such as ', weights of the file'; '' if there are none."""
    if network.weights is None:
        return ""
    return ", weights of the file" if network.of_file else ", drawn weights"


def _cores() -> int:
    """Returns on how many threads to certify, outside the trials; the certificate releases the GIL."""
    return usable_cores()


def _joined(marks: list[str]) -> str:
    return contract.checksum("".join(marks).encode())
