"""The problem `reachability`: each trial builds an index on a condensed graph and asks it one batch of pairs."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from grailbench.data.library import BenchGraph
from grailbench.errors import InputError
from grailbench.graph.condense import condense, load_kernels
from grailbench.graph.csr import MOST_REVERSED, Dag, Graph
from grailbench.problems.contract import Attempt, Checks, NoTimer, Problem, Trial
from grailbench.problems.reachability.index import CHOICES, FILTERS, Implementation, Index, Params
from grailbench.problems.reachability.queries import QuerySpec, query_set
from grailbench.problems.reachability.verify import Checker, checksum, label_fault

SINGLE = 1_000  #: pairs of a batch that are asked one at a time
FEW = 1_000  #: pairs, each of which may take a tenth of a second on a billion edges
Pairs = tuple[np.ndarray, np.ndarray]


class Reachability(Problem):
    """The problem `reachability`, whose trials have these phases.

    label  builds the index
    query  answers the whole batch
    single if asked for: answers the first `SINGLE` pairs of the batch, or all of a smaller one, a call a pair
    ready  if asked for: from raw edges in memory to an index that is ready for a batch of this size
    """

    name = "reachability"
    asks = "pairs"
    count = 100_000
    modules = (
        "grailbench.problems.reachability.cpu.grail",
        "grailbench.problems.reachability.cpu.unguided",
        "grailbench.problems.reachability.core.index",
        "grailbench.problems.reachability.sweep.index",
        "grailbench.problems.reachability.supports.index",
        "grailbench.problems.reachability.inserted",
        "grailbench.problems.reachability.gpu.index",
        "grailbench.problems.reachability.gpu.fused.index",
        "grailbench.problems.reachability.gpu.core.index",
        "grailbench.problems.reachability.peers.libraries",
    )
    phases = ("label", "query")
    ranked = {"query": "queries", "ready": "edges to ready index", "label": "building the index"}
    usual = ("sequential", "parallel")
    written = True
    exact = True
    single = True
    repeated = ("label", "query", "ready")

    def value(self, axis: str, value):
        """Returns a word of `CHOICES`, or filters in the order of `FILTERS`, such as 'level,tree' or 'none'."""
        if axis in CHOICES and value not in CHOICES[axis]:
            raise InputError(f"should be {' or '.join(map(repr, CHOICES[axis]))}")
        if axis != "filters":
            return value
        if not isinstance(value, str):
            raise InputError("filters are named in a string, such as 'level,tree'")
        batch = {part.strip() for part in value.split(",")} - {"", "none"}
        if unknown := sorted(batch - set(FILTERS)):
            raise InputError(f"no filter is named {unknown[0]!r}: choose among {', '.join(FILTERS)}, or none")
        return ",".join(name for name in FILTERS if name in batch) or "none"

    def beside(self, folder: Path, text: str) -> str:
        """Returns the absolute path of a query file, so that a run can be continued from another folder."""
        path = folder / text
        return text if text in QuerySpec.DRAWN else str(path.resolve() if path.is_file() else path)

    def described(self, name: str) -> type[Implementation] | None:
        """Returns the adapter of the program that a TOML file describes, which is given or, for 'program:NAME',
        shipped."""
        from grailbench.problems.reachability.peers.program import described

        return described(name)

    def params(self, filters: str | None = None, **axes) -> Params:
        """Returns the parameters of a cell; `filters` are spelled as in a config ('level,tree', 'none')."""
        return Params(filters=() if filters in (None, "none") else tuple(filters.split(",")), **axes)

    def open(self, name: str) -> BenchGraph:
        from grailbench.data.library import open_graph

        return open_graph(name)

    def spec(self, text: str, count: int, seed: int) -> QuerySpec:
        """Returns the query set 'random' or 'balanced', or that of a file of pairs."""
        return QuerySpec.parse(text, count, seed)

    def part(self, spec: QuerySpec, implementation: type[Implementation], large: bool = False) -> QuerySpec:
        """The first `Implementation.sample` pairs, for an implementation that takes one pair at a time; on a large
        graph the first `FEW`, for one that searches on the host."""
        some = FEW if large and "gpu" not in implementation.needs else None
        most = [each for each in (implementation.sample, some, spec.first) if each is not None]
        return spec.head(min(most)) if most else spec

    def data(self, graph: BenchGraph, spec: QuerySpec) -> Dag:
        """Returns the condensed graph."""
        return graph.dag

    def share(self, data: Dag) -> None:
        """Makes the rows of parents unless that takes long, and loads the kernels that condense: every cell primes
        with them."""
        if data.edges <= MOST_REVERSED:
            data.parents  # noqa: B018
        load_kernels()

    def prime(self, implementation: type[Implementation], params: Params, from_edges: bool) -> None:
        """Labels a path of three vertices and asks two queries on it."""
        if from_edges:
            load_kernels()
            implementation.load_ready(params)
        ends = np.array([0, 1], np.int32), np.array([1, 2], np.int32)
        dag = condense(Graph.from_edges(3, *ends))
        implementation.build(dag, params, NoTimer()).query_batch(*ends, NoTimer())

    def workload(self, spec: QuerySpec, graph: BenchGraph, data: Dag, checks: Checks) -> Checker:
        """Returns the pairs, with the answers of the oracle."""
        return Checker(data, query_set(spec, data, graph.sha256, lambda: graph.ids), checks)

    def attempt(
        self, implementation: type[Implementation], params: Params, data: Dag, batch: Pairs, peaks: Callable[[], dict],
        timer=None,
    ) -> Attempt:  # fmt: skip
        """Builds the counting variant once, and answers the batch once."""
        index, answers = _once(implementation, replace(params, count=True), data, batch, timer or NoTimer())
        memory = peaks() | index.memory
        size = None if index.index_bytes is None else int(index.index_bytes)
        counters = dict(index.counters)  # before the check, which may ask the index
        return Attempt(answers, label_fault(index, data), size, counters, memory)

    def trial(
        self, implementation: type[Implementation], params: Params, data: Dag, batch: Pairs, timer, edges=None,
        single: bool = False,
    ) -> Trial:  # fmt: skip
        """Builds the index and asks the batch, if `single` also pairs one at a time; with `edges` also measures
        `ready`, from the raw edges alone.

        An index that did not come from the condensed graph is asked the batch too, outside the times.
        """
        index, answers = _once(implementation, params, data, batch, timer)
        alone = _one_at_a_time(index, batch, timer) if single else []
        if edges is not None:
            del index
            with timer.whole("ready"):
                index = _ready(implementation, params, batch, edges, timer)  # kept, so that freeing it is not timed
            if implementation.condenses(edges, params):
                answers = index.query_batch(*_members(data, batch), NoTimer())
        if alone:  # an answer that differs from that of the batch makes the trial differ
            answers = np.concatenate((np.array(alone, answers.dtype), answers[len(alone) :]))
        return Trial(checksum(answers))

    def again(
        self, implementation: type[Implementation], params: Params, data: Dag, batch: Pairs, phase: str, edges=None
    ) -> Callable[[], object] | None:
        """Returns what builds an index anew (`label`), asks one and the same the batch (`query`), or goes from raw
        edges to an index that is ready for it (`ready`); None of a program, whose phases are what it prints."""
        if not implementation.repeats:
            return None
        timer = NoTimer()
        if phase == "label":
            return lambda: implementation.build(data, params, timer)
        if phase == "query":
            index = implementation.build(data, params, timer)
            index.expect(batch[0].shape[0], timer)
            return lambda: index.query_batch(*batch, timer)
        return lambda: _ready(implementation, params, batch, edges, timer)


def _once(implementation: type[Implementation], params: Params, data: Dag, batch: Pairs, timer) -> tuple:
    """Returns an index and its answers to a batch. Times both."""
    with timer.phase("label"):
        index = implementation.build(data, params, timer)
    with timer.phase("query"):
        return index, index.query_batch(*batch, timer)


def _ready(implementation: type[Implementation], params: Params, batch: Pairs, edges, timer) -> Index:
    """Returns an index that is ready for a batch of this size, from raw edges."""
    index = implementation.ready(edges, params, timer)
    index.expect(batch[0].shape[0], timer)
    return index


def _one_at_a_time(index: Index, batch: Pairs, timer) -> list[bool]:
    """Times the first pairs as phase `single`, after some that are not timed. Returns the answers."""
    pairs = list(zip(*(ends[:SINGLE].tolist() for ends in batch), strict=True))
    ask = index.single()
    for source, target in pairs[: SINGLE // 10]:
        ask(target, source)
    with timer.phase("single"):
        return [ask(source, target) for source, target in pairs]


def _members(dag: Dag, batch: Pairs) -> Pairs:
    """Returns an original vertex of each component."""
    member = np.empty(dag.vertices, np.int32)
    member[dag.component] = np.arange(dag.component.shape[0], dtype=np.int32)
    return member[batch[0]], member[batch[1]]
