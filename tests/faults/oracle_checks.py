"""A digraph, what plain Python (`naive`) finds on it, and all that an implementation of any problem is asked there."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from naive import closure, distances_from, reachable_from

MOST_PAIRS = 4_000  #: pairs asked of an index on one digraph
#: pairs asked of implementations that search a group of at most 64 pairs at a time, level by level
FEW_PAIRS, IN_GROUPS = 70, ("gpu", "gpu-32", "gpu-unfiltered", "gpu-path")
MOST_CLOSED = 1_000  #: vertices of digraphs of which plain Python closes all
ON_WORKERS = ("dask", "dask-gpu")  #: implementations that are others on worker processes, which have tests of their own
SEARCHES = ("bfs", "sssp")  #: problems whose answers are distances from some sources
MOST_WEIGHED = 100  #: vertices of digraphs on which plain Python finds distances
DIMS = (1, 2, 1, 3, 2, 1, 5, 2, 1, 2, 3, 1, 2)  #: label pairs of each set of parameters
VARIANTS = len(DIMS)  #: with as many processes each process has one


class Digraph:
    """A digraph as each problem takes it, with what plain Python finds on it."""

    def __init__(self, name: str, number: int, vertices: int, ends: np.ndarray):
        """number: the seed of what is asked; ends: the edges, int64[m, 2]."""
        from grailbench.data.library import BenchGraph, RawGraph
        from grailbench.graph.condense import condense
        from grailbench.graph.csr import Graph
        from grailbench.graph.ids import Counted

        self.number, self.vertices = number, vertices
        self.edges = [tuple(pair) for pair in ends.tolist()]
        self.graph = Graph.from_edges(self.vertices, ends[:, 0].copy(), ends[:, 1].copy())
        self.dag = condense(self.graph)
        common = (name, "", "synthetic", "synthetic", "0" * 64, None)
        self.raw = RawGraph(*common, self.graph, Counted(self.vertices))
        self.bench = BenchGraph(*common, self.dag)
        self.works: dict[str, tuple] = {}  #: of each problem the data and the workload, once asked for
        self._plain: dict[tuple, int | None] = {}

    @cached_property
    def reach(self) -> np.ndarray:
        """bool[n, n]: what each vertex reaches."""
        found = np.zeros((self.vertices, self.vertices), bool)
        for u, reached in enumerate(closure(self.vertices, self.edges)):
            found[u, list(reached)] = True
        return found

    def answers(self, sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """bool[k]: whether each source reaches its target."""
        if self.vertices <= MOST_CLOSED:
            return self.reach[sources, targets]
        by_source = {s: reachable_from(self.vertices, self.edges, s) for s in set(sources.tolist())}
        return np.array([t in by_source[s] for s, t in zip(sources.tolist(), targets.tolist(), strict=True)], bool)

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of vertices, int64[k] each, in any order: all of them, or drawn ones."""
        random = np.random.default_rng((21, self.number))
        if self.vertices > MOST_CLOSED:
            few = random.integers(0, self.vertices, 30)
            return random.choice(few, MOST_PAIRS), random.integers(0, self.vertices, MOST_PAIRS)
        every = random.permutation(self.vertices * self.vertices)[:MOST_PAIRS]
        return np.divmod(every, max(self.vertices, 1))

    def work(self, problem) -> tuple:
        """What a problem other than reachability asks here: its data, and its workload."""
        if problem.name not in self.works:
            from grailbench.problems.contract import Checks

            opened = self.bench if problem.name == "counts" else self.raw
            spec = problem.spec("random", min(3, max(self.vertices, 1)), self.number)
            data = problem.data(opened, spec)
            self.works[problem.name] = data, problem.workload(spec, opened, data, Checks())
        return self.works[problem.name]

    def reached(self, problem: str, data, asked) -> int | None:
        """How many are reached, by plain Python; None where that would take long."""
        weights = getattr(data, "weights", None)
        key = problem, None if weights is None else weights.tobytes()
        if key not in self._plain:
            self._plain[key] = self._reached(problem, data, weights, asked)
        return self._plain[key]

    def _reached(self, problem: str, data, weights, asked) -> int | None:
        if self.vertices > MOST_CLOSED:
            return None
        if problem in ("closure", "counts"):
            return int(self.reach.sum()) - self.vertices
        if problem == "apsp":
            return int(self.reach.sum())
        if self.vertices > MOST_WEIGHED:
            return int(self.reach[np.asarray(asked)].sum())
        weights = np.ones(data.targets.size, int) if weights is None else weights
        heads = np.repeat(np.arange(data.vertices), np.diff(data.offsets))
        weighted = list(zip(heads.tolist(), data.targets.tolist(), weights.tolist(), strict=True))
        return sum(len(distances_from(data.vertices, weighted, int(source))) for source in asked)


def check(found: Digraph, problem, implementation: type, params) -> int:
    """Ask an implementation everything; returns the number of answers compared. Raises AssertionError."""
    if problem.name == "reachability":
        return check_index(found, implementation, params)
    if found.vertices == 0:
        return 0  # there is nothing to ask, which they say
    return check_other(found, problem, implementation, params)


def asked_of(found: Digraph, implementation: type) -> tuple[np.ndarray, np.ndarray]:
    """The pairs that an index of reachability is asked: fewer of one that searches few at a time."""
    sources, targets = found.pairs
    most = FEW_PAIRS if implementation.name in IN_GROUPS else MOST_PAIRS
    return sources[:most], targets[:most]


def some_pairs(found: Digraph, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """At most so many pairs, int32[k] each, as vertices of the condensed graph, and what is right."""
    sources, targets = (ends[:most] for ends in found.pairs)
    places = (found.dag.component[ends].astype(np.int32) for ends in (sources, targets))
    return *places, found.answers(sources, targets)


def check_index(found: Digraph, implementation: type, params) -> int:
    """Ask an index of reachability, and one from edges; returns the number of answers. Raises AssertionError."""
    from grailbench.problems.reachability.index import NoTimer

    sources, targets = asked_of(found, implementation)
    right = found.answers(sources, targets)
    places = [found.dag.component[ends].astype(np.int32) for ends in (sources, targets)]
    index = implementation.build(found.dag, params, NoTimer())
    fault = index.check_labels(found.dag)
    assert fault is None, f"labels: {fault}"
    _equal(index.query_batch(*places, NoTimer()), right, "the condensed graph")
    if not implementation.from_edges:
        return right.size
    index = implementation.ready(found.graph, params, NoTimer())
    own = implementation.condenses(found.graph, params)
    asked = (sources.astype(np.int32), targets.astype(np.int32)) if own else places
    index.expect(right.size, NoTimer())
    _equal(index.query_batch(*asked, NoTimer()), right, "edges")
    return 2 * right.size


def _equal(answers: np.ndarray, right: np.ndarray, of: str) -> None:
    wrong = np.flatnonzero(answers != right)
    assert wrong.size == 0, f"from {of}: {wrong.size} of {right.size} answers, the first at {wrong[0]}"


def check_other(found: Digraph, problem, implementation: type, params) -> int:
    """Have another problem's answers judged by its check, and counted by plain Python; returns their number."""
    from grailbench.harness.timing import PhaseTimer

    data, work = found.work(problem)
    attempt = problem.attempt(implementation, params, data, work.batch, dict)
    verdict = work.judge("digraph", attempt)
    assert verdict.fault is None, verdict.fault
    if getattr(attempt.answers, "error", None) is None:  # else they are estimates
        expected = found.reached(problem.name, data, work.batch)
        assert expected in (None, verdict.positives), f"{verdict.positives} reached, plain Python {expected}"
    trial = problem.trial(implementation, params, data, work.batch, PhaseTimer(), found.graph)
    assert trial.checksum == verdict.checksum, "a trial from edges gives other answers"
    if problem.name == "counts":
        return found.vertices
    return found.vertices * (np.size(work.batch) if problem.name in SEARCHES else found.vertices)


def implementations(gpu: bool, only: tuple[str, ...] = ()) -> Iterator[tuple]:
    """Problem, name and class of each implementation on a GPU, or of each of ours on the CPU."""
    from grailbench.problems.contract import PROBLEMS, problem
    from grailbench.problems.contract import implementations as registered

    for solved in map(problem, PROBLEMS):
        for name, found in registered(solved.name).items():
            if name in ON_WORKERS or solved.name == "read" or name.startswith(("peer:", "program:")):
                continue
            label = f"{solved.name}/{name}"
            if (("gpu" in found.needs) == gpu and not getattr(found, "racy", False)) and (not only or label in only):
                yield solved, name, found


def params_of(problem, implementation: type, number: int):
    """Parameters of an implementation for one digraph: one of `VARIANTS` draws, since kernels are compiled for each."""
    random = np.random.default_rng((22, number % VARIANTS))
    if problem.name != "reachability":
        return problem.params(threads=int(random.integers(1, 4)), seed=number)
    from grailbench.problems.reachability.index import FILTERS, Params

    chosen = Params(
        dim=DIMS[number % VARIANTS], search=str(random.choice(["dfs", "bfs", "bbfs"])),
        filters=tuple(name for name in FILTERS if random.random() < 0.5), threads=int(random.integers(1, 4)),
        order=str(random.choice(["random", "lexicographic"])), seed=number,
        memory=0 if "streamed" in implementation.__module__ else int(random.choice([0, 1, 200])),
    )  # fmt: skip
    own = {name: getattr(chosen, name) for name in (*implementation.axes, "seed")}
    return replace(Params(), **own)


@contextmanager
def condensing(on_device: bool) -> Iterator[None]:
    """Has implementations on a GPU condense graphs of any size on the device, as they do large ones only."""
    if not on_device:
        yield
        return
    from grailbench.problems.closure.gpu import sweep
    from grailbench.problems.reachability.gpu.fused import index

    known = [(module, module.FEWEST) for module in (sweep, index)]
    sweep.FEWEST = index.FEWEST = 0
    try:
        yield
    finally:
        for module, fewest in known:
            module.FEWEST = fewest
