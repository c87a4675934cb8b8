"""Questions to an index in the user's own ids: `grailbench.Index`."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cached_property
from numbers import Real
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from grailbench.api import kernels
from grailbench.api.engine import Engine, packed, unpacked, write
from grailbench.api.explain import Explanation
from grailbench.api.graph import Graph, whole
from grailbench.api.kernels import place, place_at_once, within
from grailbench.api.notebook import card
from grailbench.api.updates import Updates
from grailbench.distributed import shards
from grailbench.errors import InputError, of_system
from grailbench.graph.arguments import check_path, coded_columns, flag, id_columns, shown, uncoded, whole_number
from grailbench.graph.csr import VERTEX
from grailbench.graph.ids import Counted
from grailbench.problems.contract import NoTimer
from grailbench.problems.counts import sketch
from grailbench.problems.counts.catalog import searched
from grailbench.problems.counts.index import task_of
from grailbench.problems.counts.sweep import count_all
from grailbench.problems.reachability.index import Decision, OnePair, Params
from grailbench.util.guard import interruptible, interruptible_but
from grailbench.util.words import count, size

_A_BATCH = 1 << 20  #: most pairs that a matrix asks at once
_NO_LEVELS = np.empty(0, VERTEX)
_UNASKED = object()
_CHECK_EVERY = 0.01  #: seconds between two looks of single questions whether the file was changed


@interruptible_but("reaches", "reaches_vertices")  # which take less time than that, and ask by `_prepare` and `_ask`
class Index(Updates):
    """An index of a graph, which answers questions of reachability; `grailbench.build` and `grailbench.load` make one.

    Every vertex reaches itself. Vertices are given and returned as the ids of the graph. Any number of threads may ask
    at the same time. A vertex that the graph has not raises InputError, which suggests similar names.

    Of an index that `grailbench.load` mapped, questions raise InputError once the file was changed in place: `reaches`
    and `reaches_vertices` within 10 ms of the change, all others at once.

    >>> import grailbench as gb
    >>> graph = gb.Graph.from_edges(["flour", "dough", "oven"], ["dough", "bread", "bread"])
    >>> index = gb.build(graph)
    >>> index.reaches("flour", "bread"), index.reaches("oven", "dough")
    (True, False)

    graph           the graph
    implementation  the name of the implementation, as `grailbench list implementations` shows it
    params          its parameters
    """

    def __init__(self, graph: Graph, engine: Engine):
        self._graph, self._engine = graph, engine
        self._lock = threading.Lock()
        self._component = None if engine.raw or graph.acyclic else graph.dag.component  # of each vertex in queries
        if engine.added is not None:
            self._component = engine.added.component
        self._one_pair: Any = _UNASKED
        # the filters, where they can be asked by ids as each id is its vertex
        self._quick: Callable[[int, int, int], bool | None] = lambda at, source, target: None
        self._at = 0
        self._first = self._counted = 0  # ids that count: the first, and how many
        self._of_file = engine.check is not whole
        self._due = 0.0  # when a single question looks again whether the file was changed

    @property
    def graph(self) -> Graph:
        """The graph. Raises InputError if the file that it was loaded from is damaged or was changed."""
        self._engine.check()
        return self._graph

    @property
    def implementation(self) -> str:
        """The name of the implementation."""
        return self._engine.implementation.name

    @property
    def params(self) -> Params:
        """The parameters it was built with."""
        return self._engine.params

    @property
    def nbytes(self) -> int:
        """Bytes of the index, without those of the graph (`graph.nbytes`)."""
        return int(self._engine.index.index_bytes or 0)

    # ------------------------------------------------------------------ pairs

    def reaches(self, source: Hashable, target: Hashable) -> bool:
        """Whether there is a path from `source` to `target`; the empty path counts.

        >>> index.reaches("bread", "bread")
        True
        """
        if self._of_file and monotonic() >= self._due:
            self._look()
        if type(source) is int and type(target) is int:
            try:
                answer = self._quick(self._at, source, target)
            except OverflowError:  # an integer of more than 64 bits is no vertex
                answer = None
            if answer is not None:
                return answer
        return self._reaches(self._vertex(source), self._vertex(target))

    def reaches_vertices(self, source: int, target: int) -> bool:
        """As `reaches`, for vertices 0..n - 1 (Python integers) in place of ids; see `Graph.vertex`."""
        if self._of_file and monotonic() >= self._due:
            self._look()
        vertices = self._graph.vertices
        if type(source) is not int or type(target) is not int:
            source, target = whole_number(source, "vertex"), whole_number(target, "vertex")
        if not (0 <= source < vertices and 0 <= target < vertices):
            raise InputError(f"vertices {shown(source)} and {shown(target)}: the graph has {vertices:,}, from 0")
        return self._reaches(source, target)

    def reaches_many(self, sources: Iterable[Any], targets: Iterable[Any]) -> np.ndarray:
        """Whether each source reaches its target, bool[k], for two columns of k ids: lists, arrays of numpy, columns of
        pandas or Arrow.

        >>> index.reaches_many(["flour", "oven"], ["bread", "dough"])
        array([ True, False])
        """
        us, vs = coded_columns(sources, targets)
        graph = self._graph
        if object in (us.dtype, vs.dtype) or not isinstance(graph.ids, Counted):
            return self._answers(self.graph.vertices_of(us), graph.vertices_of(vs))
        us, vs = uncoded(us), uncoded(vs)
        answers = self._ask(us, vs, graph.ids.first)
        if answers is None:
            raise graph._unknown(us if (graph.ids.vertices_of(us) < 0).any() else vs)
        return answers

    def reaches_many_vertices(self, sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """As `reaches_many`, for vertices 0..n - 1 (int32[k] each) in place of ids; see `Graph.vertices_of`."""
        us, vs = id_columns(sources, targets)
        if us.dtype == object or vs.dtype == object:
            raise InputError("names in the place of vertices", remedy="`reaches_many` takes names")
        return self._answers(us, vs)

    def reaches_any(self, sources: Iterable[Any], targets: Iterable[Any]) -> bool:
        """Whether any of the sources (k ids) reaches any of the targets (t ids), by one search from all sources.

        >>> index.reaches_any(["oven", "flour"], ["dough"])
        True
        """
        dag = self.graph.dag
        starts = dag.component[self.graph.vertices_of(sources)]
        ends = dag.component[self.graph.vertices_of(targets)]
        if not starts.size or not ends.size:
            return False
        seen = np.zeros(dag.vertices, np.bool_)
        kernels.reached(dag.offsets, dag.children, starts, dag.levels, int(dag.levels[ends].max()), seen)
        return bool(seen[ends].any())

    def matrix(self, sources: Iterable[Any], targets: Iterable[Any]) -> np.ndarray:
        """Whether each of k sources reaches each of t targets, as bits: uint8[k, ceil(t / 8)], for `numpy.unpackbits`.

        Asks pair by pair, or sweeps the graph from 512 sources at once if those are many.

        >>> bits = index.matrix(["flour", "oven"], ["dough", "bread"])
        >>> np.unpackbits(bits, axis=1, count=2)
        array([[1, 1],
               [0, 1]], dtype=uint8)
        """
        us, vs = self.graph.vertices_of(sources), self.graph.vertices_of(targets)
        packed = np.zeros((us.size, -(-vs.size // 8)), np.uint8)
        if not us.size or not vs.size:
            return packed
        if us.size * vs.size <= kernels.FEW or us.size * vs.size <= self._swept(us.size):
            step = max(1, _A_BATCH // vs.size)
            for first in range(0, us.size, step):
                some = us[first : first + step]
                answers = self._answers(np.repeat(some, vs.size), np.tile(vs, some.size))
                packed[first : first + step] = np.packbits(answers.reshape(some.size, -1), axis=1)
            return packed
        dag = self.graph.dag
        for rows, bits in kernels.reach_matrix(dag, dag.component[us], dag.component[vs]):
            packed[rows] = np.packbits(bits, axis=1)
        return packed

    def stream(
        self, pairs: Any, *, shard: int = shards.SHARD, columns: tuple[str, str] | None = None
    ) -> Iterator[np.ndarray]:
        """Answers any number of pairs of ids in order and in bounded memory: gives arrays of bits, uint8, that put
        together are `numpy.packbits` of all answers.

        Of an index that was built for workers (`client`), each worker answers a shard while the next arrives; a shard
        of a worker that is lost goes to another. Nothing is read or sent ahead of a few shards a worker.

        pairs    two columns of ids; an array of shape [k, 2]; the path of a `.parquet` or `.npy` file; or an iterable
                 of columns, arrays, and functions without arguments that make such: these are called where their pairs
                 are answered
        shard    about how many pairs are asked at once
        columns  the names of two columns of a parquet file; None for those named as source and target

        Raises InputError at the first pair that is none, ClusterLost (a MachineLacks) if the scheduler or all workers
        are gone. What was given out before is right.

        >>> halves = (["flour"], ["bread"]), (["oven", "dough"], ["dough", "bread"])
        >>> [np.unpackbits(bits).tolist() for bits in index.stream(iter(halves))]
        [[1, 0, 1, 0, 0, 0, 0, 0]]
        """
        return shards.aligned(self._streamed(pairs, shard, columns))

    def stream_to(
        self,
        path: str | os.PathLike[str],
        pairs: Any,
        *,
        shard: int = shards.SHARD,
        columns: tuple[str, str] | None = None,
    ) -> int:
        """Writes the bits of `stream` to a file, which appears when all are there, and returns the number of pairs k;
        `numpy.unpackbits(numpy.fromfile(path, numpy.uint8), count=k)` reads them.

        Raises what `stream` raises; InputError if the file was read as pairs or a graph, or cannot be written, and
        MachineLacks if the disk is full.
        """
        check_path(path)
        return shards.written(path, self._streamed(pairs, shard, columns))

    @property
    def workers(self) -> list[str]:
        """The addresses of the workers that hold the index; none if it is in this process."""
        spread = self._engine.spread
        return [] if spread is None else [each.worker for each in spread.workers]

    def _streamed(self, pairs: Any, shard: int, columns: tuple[str, str] | None) -> Iterator[tuple[int, np.ndarray]]:
        """The number of pairs and the bits of each shard."""
        cut, spread = shards.cut(pairs, shard, columns), self._engine.spread
        if spread is None:
            self._engine.check()  # here, so that damage is no fault of a shard
        return shards.here(cut, self.reaches_many) if spread is None else spread.stream(cut)

    def _swept(self, sources: int) -> int:
        """Vertices and edges that sweeps from so many sources look at; it needs the condensed graph on the host."""
        return -(-sources // kernels.BITS) * (self.graph.dag.vertices + self.graph.dag.edges)

    # ------------------------------------------------------------------ sets of vertices

    def descendants(
        self, source: Any, *, within: int | None = None, topological: bool = False, distances: bool = False
    ) -> Any:
        """The ids of all other vertices that `source` reaches, in the order of the graph's vertices.

        source       an id, or ids in a list, an array or a column: then what at least one of them reaches, without
                     these themselves, by one search
        within       the most edges on the way there; None for any number
        topological  whether each comes after all that reach it, but for those in a cycle with it
        distances    whether to return a pair: the ids, and for each the edges from the nearest source, int32[k]

        >>> index.descendants("flour").tolist()
        ['dough', 'bread']
        >>> ids, edges = index.descendants(["flour", "oven"], within=1, distances=True)
        >>> dict(zip(ids.tolist(), edges.tolist()))
        {'dough': 1, 'bread': 1}
        """
        return self._others(source, False, within, topological, distances)

    def ancestors(
        self, target: Any, *, within: int | None = None, topological: bool = False, distances: bool = False
    ) -> Any:
        """The ids of all other vertices that reach `target`, as `descendants` gives those that it reaches.

        >>> index.ancestors("bread").tolist()
        ['flour', 'dough', 'oven']
        """
        return self._others(target, True, within, topological, distances)

    def count_descendants(self, sources: Iterable[Any] | None = None) -> np.ndarray:
        """How many other vertices each source reaches, int64[k]; without `sources`, for every vertex of the graph.

        Counts exactly: by a search from each of a few sources, for many by sweeps of 2,048 vertices at once on all
        cores (`counts` of `grailbench list implementations`).

        >>> index.count_descendants(["flour", "bread"]).tolist()
        [2, 0]
        """
        return self._counts(sources, ancestors=False)

    def count_ancestors(self, targets: Iterable[Any] | None = None) -> np.ndarray:
        """How many other vertices reach each target, int64[k]; without `targets`, for every vertex of the graph.

        >>> index.count_ancestors().tolist()
        [0, 1, 3, 0]
        """
        return self._counts(targets, ancestors=True)

    def estimate_descendants(self, confidence: float = 0.95, seed: int = 1) -> tuple[np.ndarray, ...]:
        """About how many other vertices each vertex of the graph reaches, and the bounds between which that number lies
        with this confidence: three times float64[n]. For graphs too large to count exactly (`counts-sketch`).

        The standard error is 12.7 % at most; what lies in trees is exact.

        >>> estimates, least, most = index.estimate_descendants()
        >>> estimates.round().tolist()
        [2.0, 1.0, 0.0, 1.0]
        """
        if not (isinstance(confidence, Real) and 0 < confidence < 1):
            raise InputError(f"confidence {shown(confidence)}: a number between 0 and 1")
        dag, seed = self.graph.dag, whole_number(seed, "seed", 0)
        found, exact, _ = sketch.estimated(task_of(dag), Params().workers, seed)
        low, high = sketch.bounds(sketch.RANKS, 1 - confidence)
        found, exact = found[dag.component], exact[dag.component]
        return found - 1, exact + (found - exact) / high - 1, exact + (found - exact) / low - 1

    def common_ancestors(self, first: Hashable, second: Hashable) -> np.ndarray:
        """The ids of all vertices that reach both, in the order of the graph's vertices; a vertex reaches itself.

        >>> index.common_ancestors("dough", "bread").tolist()
        ['flour', 'dough']
        """
        _, chosen = self._common(first, second)
        return self.graph.ids.labels_of(self._members(chosen))

    def lowest_common_ancestors(self, first: Hashable, second: Hashable) -> np.ndarray:
        """The ids of those common ancestors that reach no other one, but for those in a cycle with them.

        >>> index.lowest_common_ancestors("dough", "bread").tolist()
        ['dough']
        """
        common, chosen = self._common(first, second)
        dag = self.graph.dag
        return self.graph.ids.labels_of(self._members(kernels.lowest(dag.offsets, dag.children, common, chosen)))

    # ------------------------------------------------------------------ evidence

    def path(self, source: Hashable, target: Hashable) -> list[Any] | None:
        """The ids on a shortest path from `source` to `target`, both included; None if there is no path.

        >>> index.path("flour", "bread")
        ['flour', 'dough', 'bread']
        """
        u, v = self._vertex(source), self._vertex(target)
        if not self.reaches_vertices(u, v):
            return None
        dag = self.graph.dag
        found = kernels.shortest_path(*self.graph.rows, dag.component, dag.levels, u, v)
        return list(self.graph.ids.labels_of(found).tolist())

    def explain(self, source: Hashable, target: Hashable) -> Explanation:
        """The answer, and which step or search gave it, what it looked at, and a shortest path if there is one.

        >>> print(index.explain("oven", "dough"))
        oven does not reach dough (by in-tree): oven is not above dough in an in-tree, the only way to dough
        """
        path, component, ids = self.path(source, target), self.graph.dag.component, self.graph.ids
        u, v = self.graph.vertex(source), self.graph.vertex(target)
        a, b = int(component[u]), int(component[v])
        if u == v:
            return Explanation(source, target, True, "same vertex", "every vertex reaches itself", path=path)
        if a == b:
            size = int(np.count_nonzero(component == a))
            why = f"both are in one strong component of {size:,} vertices, so there is a cycle through them"
            return Explanation(source, target, True, "component", why, path=path)
        found = self._engine.index.decide(a, b)
        if found is None:
            why = "this implementation does not tell which of its steps answered"
            if self._engine.added is not None:
                why = f"asked together with {count(self._engine.added.sources.size, 'new edge')} on top of the index"
            found = Decision(path is not None, self.implementation, why)
        known = {a: u, b: v}  # of other components the least vertex
        names = [ids.label_of(known.get(c, int(np.argmax(component == c)))) for c in found.vertices]
        return Explanation(source, target, found.reachable, found.by, found.why.format(*names), found.looked, path)

    # ------------------------------------------------------------------ keeping it

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes graph and index to one file for `grailbench.load`; it appears whole or not at all.

        Raises InputError if this implementation cannot store its index, if this process read the file as anything but
        an index, or if the file cannot be written.
        """
        check_path(path)
        try:
            write(self.graph, self._engine, Path(path))
        except OSError as error:
            raise of_system(error) from None

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked, (packed(self.graph, self._engine),)

    def __repr__(self) -> str:
        added = self._engine.added
        more = "" if added is None else f" and {count(added.sources.size, 'new edge')}"
        of = f"of {self.graph.vertices:,} vertices{more}"
        return f"<grailbench.Index: {self.implementation}, {self.nbytes:,} bytes, {of}>"

    def _repr_html_(self) -> str:
        of = f"{self.graph.vertices:,} vertices, {self.graph.edges:,} edges"
        facts = {"implementation": self.implementation, "size": size(self.nbytes), "of a graph of": of}
        return card("grailbench.Index", facts.items())

    # ------------------------------------------------------------------ inside

    @interruptible
    def _look(self) -> None:
        """Raises InputError if the file is damaged or was changed; single questions trust it for a while."""
        self._engine.check()
        self._due = monotonic() + _CHECK_EVERY

    @interruptible
    def _prepare(self) -> None:
        """Gets what answers single pairs, if the implementation has that, when the first one is asked."""
        ids = self.graph.ids
        with self._lock:
            if self._one_pair is not _UNASKED:  # another thread was first
                return
            one = self._engine.index.one_pair(self._component)
            # Others may ask meanwhile: each value is set after those that it needs.
            if isinstance(ids, Counted):
                self._first = ids.first
                self._counted = ids.vertices
                if one is not None and ids.first == 0:
                    self._at = one.at
                    self._quick = one.quick
            self._one_pair = one

    def _reaches(self, source: int, target: int) -> bool:
        """The answer for two vertices in range."""
        if self._one_pair is _UNASKED:
            self._prepare()
        one: OnePair | None = self._one_pair
        if one is None:
            return bool(self._answers(np.array([source], VERTEX), np.array([target], VERTEX))[0])
        answer = one.quick(one.at, source, target)
        return one.search(source, target) if answer is None else answer

    def _vertex(self, id: Any) -> int:
        vertex: int
        kind = type(id)
        if kind is int and 0 <= (vertex := id - self._first) < self._counted:
            return vertex
        places = self._places
        if places is None or (kind is not str and kind is not int):  # True and 1.0 equal ids and are none
            return self.graph.vertex(id)
        try:
            return places[id]
        except KeyError:
            return self.graph.vertex(id)

    @cached_property
    def _places(self) -> dict[Any, int] | None:
        """Id -> vertex, where that is faster than asking the graph; it is made when the first id is asked for."""
        if isinstance(self.graph.ids, Counted):
            return None
        labels = self.graph.ids.labels_of(np.arange(self.graph.vertices)).tolist()
        return dict(zip(labels, range(len(labels)), strict=True))

    @interruptible
    def _ask(self, us: np.ndarray, vs: np.ndarray, first: int = 0) -> np.ndarray | None:
        """The answers, bool[k], to pairs of vertices plus `first`, integers of any type, [k] each; None if some are out
        of range. The file is looked at before and after: no answers are returned of one that was changed meanwhile."""
        self._engine.check()
        if self._engine.index.concurrent:
            answers = self._answered(us, vs, first)
        else:
            with self._lock:
                answers = self._engine.run(self._answered, us, vs, first)
        self._engine.check()
        return answers

    def _answers(self, us: np.ndarray, vs: np.ndarray) -> np.ndarray:
        """The answers, bool[k], to pairs of vertices, int[k] each. Raises InputError if some are out of range."""
        answers = self._ask(us, vs)
        if answers is None:
            raise InputError(f"a vertex is out of range: the graph has {self.graph.vertices:,}, from 0")
        return answers

    def _answered(self, us: np.ndarray, vs: np.ndarray, first: int) -> np.ndarray | None:
        """As `_ask`, where the index lives."""
        index, vertices = self._engine.index, self._graph.vertices
        given = index.columns(us.shape[0])
        if given is None and self._component is None and first == 0 and us.dtype == vs.dtype == VERTEX:
            sources, targets = np.ascontiguousarray(us), np.ascontiguousarray(vs)
            fit = bool(within(sources, targets, vertices))
        else:
            component = _NO_LEVELS if self._component is None else self._component
            placing = place if given is None else place_at_once
            sources, targets = np.empty((2, us.shape[0]), VERTEX) if given is None else given
            fit = all(
                placing(each, first, vertices, component, found) for each, found in ((us, sources), (vs, targets))
            )
        return index.query_batch(sources, targets, NoTimer()) if fit else None

    @cached_property
    def _members_of(self) -> tuple[np.ndarray, np.ndarray]:
        """The vertices of each component as a CSR: int64[components + 1], int32[n]."""
        component = self.graph.dag.component
        members = np.argsort(component, kind="stable")
        offsets = np.searchsorted(component[members], np.arange(self.graph.dag.vertices))
        return offsets, members.astype(VERTEX)

    def _members(self, components: np.ndarray) -> np.ndarray:
        """The vertices of some components (without the super-root), ascending, int32[k]."""
        if self.graph.acyclic:
            return np.sort(components)
        offsets, members = self._members_of
        parts = [members[offsets[c] : offsets[c + 1]] for c in components.tolist()]
        return np.sort(np.concatenate([np.empty(0, VERTEX), *parts]))

    def _others(self, ids: Any, up: bool, within: int | None, topological: bool, distances: bool) -> Any:
        """The ids of all other vertices that one of these reaches or, `up`, that reach one of these."""
        graph, dag = self.graph, self.graph.dag
        topological, distances = flag(topological, "topological"), flag(distances, "distances")
        one = isinstance(ids, str | int | np.integer) or not isinstance(ids, Iterable)
        given = np.array([self._vertex(ids)], VERTEX) if one else graph.vertices_of(ids)
        away = np.empty(0, VERTEX)
        if within is None and not distances:
            found = self._members(self._reached(dag.component[given], up))
        else:
            most = graph.vertices if within is None else whole_number(within, "within", 0)
            away = np.full(graph.vertices, -1, VERTEX)
            found = np.sort(kernels.nearest(*(graph.reverse_rows if up else graph.rows), given, most, away))
        found = found[~np.isin(found, given)]
        if topological:
            found = found[np.argsort(kernels.positions(dag)[dag.component[found]], kind="stable")]
        named = graph.ids.labels_of(found)
        return (named, away[found]) if distances else named

    def _reached(self, components: np.ndarray, up: bool) -> np.ndarray:
        """The components that one of these reaches or, `up`, that reach one, int32[k], without the super-root."""
        dag, seen = self.graph.dag, np.zeros(self.graph.dag.vertices, np.bool_)
        seen[dag.super_root] = True
        rows = (dag.parent_offsets, dag.parents) if up else (dag.offsets, dag.children)
        return np.asarray(kernels.reached(*rows, components, _NO_LEVELS, 0, seen))

    def _counts(self, ids: Iterable[Any] | None, ancestors: bool) -> np.ndarray:
        """How many other vertices each vertex of some ids (None: of all) reaches, or is reached by, int64[k]."""
        graph, dag = self.graph, self.graph.dag
        if ids is None:
            return np.asarray(count_all(task_of(dag, ancestors), Params().workers)[dag.component] - 1)
        vertices = graph.vertices_of(ids)
        if vertices.size > graph.vertices // kernels.BITS:
            return np.asarray(self._counts(None, ancestors)[vertices])
        rows = (dag.parent_offsets, dag.parents) if ancestors else (dag.offsets, dag.children)
        sizes = np.bincount(dag.component, minlength=dag.vertices)  # the super-root has none
        return np.asarray(searched(*rows, sizes, dag.component[vertices])[0] - 1)

    def _common(self, first: Hashable, second: Hashable) -> tuple[np.ndarray, np.ndarray]:
        """The components that reach both: bool[components], and int32[k]."""
        dag = self.graph.dag
        common = np.zeros(dag.vertices, np.bool_)
        one, other = (self._reached(dag.component[[self._vertex(id)]], up=True) for id in (first, second))
        chosen = np.intersect1d(one, other, assume_unique=True)
        common[chosen] = True
        return common, chosen


def _unpacked(content: bytes) -> Index:
    return Index(*unpacked(content))
