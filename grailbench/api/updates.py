"""Indexes of graphs that change: edges on top of an index, edges that are removed, and when to build anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from time import perf_counter
from typing import Any, Literal, Self, overload

import numpy as np

from grailbench.api.engine import Added, Engine, built
from grailbench.api.graph import Graph
from grailbench.errors import InputError
from grailbench.graph import csr
from grailbench.graph.arguments import flag, id_columns, whole_number
from grailbench.graph.csr import VERTEX
from grailbench.graph.ids import with_more
from grailbench.graph.kinds import Kinds, joined
from grailbench.problems.reachability.updated import UpdatedIndex
from grailbench.util.guard import interruptible_but

_LEAST, _MOST = 1000, 1 << 14  #: pairs, and new edges, that `rebuild_pays_from` tries


@interruptible_but()
class Updates:
    """Methods of `grailbench.Index` for graphs that change."""

    _engine: Engine

    def __init__(self, graph: Graph, engine: Engine):
        raise NotImplementedError

    @property
    def graph(self) -> Graph:
        """The graph of the index."""
        raise NotImplementedError

    def _answers(self, us: np.ndarray, vs: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def with_edges(
        self,
        sources: Iterable[Any],
        targets: Iterable[Any],
        *,
        add_vertices: bool = False,
        kinds: Iterable[Any] | None = None,
    ) -> Self:
        """An index of the graph and new edges, for two columns of k ids, without building anew. It answers exactly,
        also where new edges close cycles, and may get further edges. This index stays as it is.

        Meant for up to some thousand new edges in all: the first question follows them through the graph, k / 64
        words a vertex, and closes them among themselves. `rebuild_pays_from` tells how many are too many.

        add_vertices  whether ids that the graph has not become vertices; else they are refused
        kinds         the kinds of the new edges, '' by default, in a graph whose edges have kinds

        Raises InputError also for an index that workers hold, and MachineLacks for too little memory. The new index
        cannot be saved or pickled; `rebuild` makes one that can.

        >>> changed = index.with_edges(["bread", "bread"], ["oven", "toast"], add_vertices=True)
        >>> changed.reaches("flour", "toast"), changed.reaches("oven", "oven"), index.reaches("flour", "oven")
        (True, True, False)
        """
        return type(self)(*_added(self.graph, self._engine, sources, targets, add_vertices, kinds))

    @overload
    def without_edges(
        self, sources: Iterable[Any], targets: Iterable[Any], *, background: Literal[False] = ...
    ) -> Self: ...

    @overload
    def without_edges(
        self, sources: Iterable[Any], targets: Iterable[Any], *, background: Literal[True]
    ) -> Future[Self]: ...

    def without_edges(
        self, sources: Iterable[Any], targets: Iterable[Any], *, background: bool = False
    ) -> Self | Future[Self]:
        """An index of the graph without all edges from each source to its target, for two columns of k ids; it is built
        anew, as `rebuild` does. Raises InputError for a pair between which there is no edge.

        >>> index.without_edges(["dough"], ["bread"]).reaches("flour", "bread")
        False
        """
        return self._built_anew(_without(self.graph, sources, targets), background)

    @overload
    def rebuild(self, *, background: Literal[False] = ...) -> Self: ...

    @overload
    def rebuild(self, *, background: Literal[True]) -> Future[Self]: ...

    def rebuild(self, *, background: bool = False) -> Self | Future[Self]:
        """An index of the graph as it is now, with new edges, built anew by the same implementation and parameters.

        background  whether to return a `concurrent.futures.Future` of it at once, and build on a thread; this index
                    answers meanwhile

        >>> future = index.with_edges(["bread"], ["oven"]).rebuild(background=True)
        >>> future.result().reaches("dough", "oven")
        True
        """
        return self._built_anew(self.graph, background)

    def rebuild_pays_from(self, pairs: int = 100_000) -> int:
        """From how many new edges on it takes less time to build anew than to go on with `with_edges`, if so many pairs
        are asked at once afterwards. Both are measured here, with edges and pairs of random vertices: it takes as long
        as building a few times. Pairs are as many as this index answers in an eighth of that time, if that is fewer,
        but 1,000. The result is 16,384 at most.

        >>> 1 <= index.rebuild_pays_from(pairs=1000) <= 16_384
        True
        """
        pairs = whole_number(pairs, "pairs", 0, 1 << 30)
        _require_here(self._engine)
        below, random = _below(self.graph, self._engine), np.random.default_rng(1)
        graph, index = below.graph, type(self)(below.graph, below.engine)
        if not graph.vertices:
            return 1
        ends = random.integers(0, graph.vertices, (2, max(pairs, _MOST)))

        def ask(index: Self, count: int) -> float:
            us, vs = ends[:, :count]
            return _seconds(lambda: index._answers(us, vs))

        def change(edges: int, count: int) -> float:
            columns = graph.ids_of(ends[:, :edges].reshape(-1)).reshape(2, edges)
            return _seconds(lambda: ask(index.with_edges(*columns), count))

        some = min(pairs, _LEAST)
        ask(index, some)
        change(1, some)  # loads kernels
        anew = _seconds(lambda: _rebuilt(Graph(graph.raw, graph.ids), below.engine))
        some = min(pairs, max(some, int(some * anew / max(1e-9, 8 * ask(index, some)))))
        anew += ask(index, some)
        few, many, low, high = 0, 1, 0.0, change(1, some)
        while high < anew and many < _MOST:
            few, many, low = many, 4 * many, high
            high = change(many, some)
        share = min(1.0, max(0.0, (anew - low) / (high - low))) if high > low else 1.0
        return max(1, round(few + (many - few) * share))

    def _built_anew(self, graph: Graph, background: bool) -> Self | Future[Self]:
        work: Callable[[], Self] = lambda: type(self)(graph, _rebuilt(graph, self._engine))  # noqa: E731
        if not flag(background, "background"):
            return work()
        pool = ThreadPoolExecutor(1)
        started = pool.submit(work)
        pool.shutdown(wait=False)  # lets the thread end with its work
        return started


def _below(graph: Graph, engine: Engine) -> Added:
    """The graph and the index under the new edges of an engine, and these, if there are some."""
    none = np.empty(0, VERTEX)
    return engine.added or Added(graph, engine, none, none, None, None)


def _added(
    graph: Graph, engine: Engine, sources: Iterable[Any], targets: Iterable[Any], add_vertices: bool, kinds: Any
) -> tuple[Graph, Engine]:
    """The graph with new edges, and what answers on it; see `Updates.with_edges`."""
    _require_here(engine)
    us, vs = id_columns(sources, targets)
    own, below, ids = None if kinds is None else Kinds.of_column(kinds), _below(graph, engine), graph.ids
    if own is not None and (fault := own.fault(us.size)):
        raise InputError(fault)
    if flag(add_vertices, "add_vertices"):
        ids = with_more(ids, np.stack((us, vs), axis=1).reshape(-1))

    def raw() -> csr.Graph:
        old = below.graph.raw
        ends = np.concatenate((old.sources, new.sources)), np.concatenate((old.targets, new.targets))
        return csr.Graph(ids.vertices, *ends, None, joined([(old.kinds, old.edges), (new.kinds, new.sources.size)]))

    made = Graph(raw, ids, check=graph.check)
    try:
        us, vs = made.vertices_of(us), made.vertices_of(vs)
    except InputError as error:
        error.remedy = "add_vertices=True if it is new" if ids.numeric == (us.dtype != object) else None
        raise
    dag, more, component = below.graph.dag, ids.vertices - below.graph.vertices, None
    if more or not below.graph.acyclic:
        component = np.concatenate((dag.component, np.arange(dag.vertices, dag.vertices + more, dtype=VERTEX)))
    new = Added(
        below.graph, below.engine, np.concatenate((below.sources, us)), np.concatenate((below.targets, vs)),
        joined([(below.kinds, below.sources.size), (own, us.size)]), component,
    )  # fmt: skip
    base, old = below.engine.index, below.engine

    def make() -> UpdatedIndex:
        us, vs = new.sources, new.targets
        if component is not None:
            us, vs = component[us], component[vs]
        member = None
        if old.raw:
            member = np.zeros(dag.vertices, VERTEX)
            member[dag.component] = np.arange(dag.component.size)
        return UpdatedIndex(base, dag, us, vs, more, member)

    return made, Engine(old.implementation, old.params, make, old.run, old.check, raw=True, added=new)


def _without(graph: Graph, sources: Iterable[Any], targets: Iterable[Any]) -> Graph:
    """The graph without all edges from a source to its target. Raises InputError for a pair between which none is."""
    us, vs = (graph.vertices_of(column) for column in id_columns(sources, targets))
    raw, n = graph.raw, max(1, graph.vertices)
    edges, gone = raw.sources.astype(np.int64) * n + raw.targets, us.astype(np.int64) * n + vs
    if (missing := ~np.isin(gone, edges)).any():
        at = int(np.argmax(missing))
        u, v = (graph.ids.label_of(int(column[at])) for column in (us, vs))
        raise InputError(f"place {at:,} of {us.size:,}: there is no edge from {u!r} to {v!r}")
    return Graph(raw.at(np.flatnonzero(~np.isin(edges, gone))), graph.ids, check=graph.check)


def _rebuilt(graph: Graph, engine: Engine) -> Engine:
    """Builds an index of a graph with the implementation and the parameters of another one."""
    _require_here(engine)
    own = _below(graph, engine).engine
    return built(own.implementation, own.params, graph, None, own.run)


def _require_here(engine: Engine) -> None:
    if engine.spread is not None:
        raise InputError("the workers hold this index as it was built", remedy="gb.build(graph, client=client)")


def _seconds(work: Callable[[], object]) -> float:
    begin = perf_counter()
    work()
    return perf_counter() - begin
