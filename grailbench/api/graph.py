"""A graph of the user's, with her own ids: `grailbench.Graph`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from grailbench.api.notebook import card
from grailbench.errors import InputError
from grailbench.graph import csr
from grailbench.graph.arguments import (
    GREATEST,
    LEAST,
    Coded,
    Column,
    check_path,
    coded_column,
    coded_columns,
    flag,
    id_column,
    shown,
    uncoded,
    whole_number,
)
from grailbench.graph.condense import simple_rows
from grailbench.graph.csr import VERTEX, Dag
from grailbench.graph.ids import Counted, Ids, Named, ids_from
from grailbench.graph.kinds import Kinds
from grailbench.graph.readers.edges import with_reverses
from grailbench.graph.rows import transpose
from grailbench.graph.store import condensed
from grailbench.util import ahead
from grailbench.util.cores import usable_cores
from grailbench.util.guard import interruptible_but

if TYPE_CHECKING:
    import igraph
    import networkx

#: whole numbers are taken for 0, 1, 2, ... if that makes at most SPARSE vertices an edge, and UNUSED more
SPARSE, UNUSED = 8, 1_000_000


@interruptible_but("vertex")  # which takes less time than that
class Graph:
    """A directed graph whose vertices have ids of the user's own: whole numbers or names.

    Make one by `from_edges`, `from_scipy`, `from_networkx`, `from_igraph`, `read` (a file) or `open` (a name). Cycles,
    self-loops and duplicate edges are allowed. A graph does not change. `len(graph)` is the number of vertices,
    `id in graph` whether a vertex has that id, and iteration gives all ids.

    >>> import grailbench as gb
    >>> graph = gb.Graph.from_edges(["shirt", "tie", "trousers"], ["tie", "jacket", "shoes"])
    >>> graph
    <grailbench.Graph: 5 vertices, 3 edges, ids 'shirt', 'tie', 'jacket', ...>
    """

    def __init__(
        self,
        raw: csr.Graph | Callable[[], csr.Graph],
        ids: Ids | Callable[[], Ids],
        dag: Dag | None = None,
        rows: tuple[np.ndarray, np.ndarray] | None = None,
        check: Callable[[], None] | None = None,
        kinds: Sequence[str] | None = None,
    ):
        """For those who have these parts. raw and ids may be functions that are called when they are needed.

        dag    the condensed graph, if it is at hand
        rows   the CSR without duplicates and self-loops, int64[n + 1] and int32[m], if it is at hand
        check  raises InputError if the arrays are in a file that is damaged or was changed; None if they are in memory
        kinds  those of the edges, if they are known without these
        """
        self._raw, self._ids, self.check = raw, ids, check or whole
        if kinds is not None:
            self.__dict__["kinds"] = tuple(kinds)
        if dag is not None:
            self.__dict__["dag"] = dag
        if rows is not None:
            self.__dict__["rows"] = rows

    # ------------------------------------------------------------------ making one

    @classmethod
    def from_edges(
        cls,
        sources: Iterable[Any],
        targets: Iterable[Any],
        names: Sequence[str] | None = None,
        *,
        vertices: int | None = None,
        renumber: bool = False,
        kinds: Iterable[Any] | None = None,
    ) -> Graph:
        """A graph of m edges, from two columns of equal length: lists, arrays of numpy, columns of pandas or Arrow.

        Strings are names: the vertices are the names that occur. Whole numbers are ids from 0 on, unless `names` gives
        a name to each of these numbers.

        names     the name of vertex 0, 1, ...: different, not empty; `sources` and `targets` are then numbers
        vertices  the number of vertices, where the last ones have no edge
        renumber  whether exactly the numbers that occur are the ids, as for account numbers: from -2^63 to 2^63 - 1
        kinds     the kind of each edge, a third column, see `only`: texts, or whole numbers, of which texts are made

        Raises InputError if the columns differ in length, hold something else (None, NaN, fractions), an id is
        out of range (a negative one is, unless `renumber`), or the greatest id makes far more vertices than there are
        edges.

        >>> gb.Graph.from_edges([0, 1], [1, 2]).vertices
        3
        >>> gb.Graph.from_edges([0, 1], [1, 2], names=["a", "b", "c"]).ids.label_of(2)
        'c'
        >>> gb.Graph.from_edges([956203, 70], [70, 6009554], renumber=True).vertices
        3
        """
        us, vs = coded_columns(sources, targets)
        own = None if kinds is None else Kinds.of_column(kinds)
        vertices = None if vertices is None else whole_number(vertices, "vertices", 0)
        renumber = flag(renumber, "renumber")
        if object in (us.dtype, vs.dtype):
            if names is not None or vertices is not None or renumber:
                raise InputError("the columns hold names, so `names`, `vertices` and `renumber` have no meaning")
            if us.size and us.dtype != vs.dtype:
                raise InputError("one column holds names and the other one numbers: both hold the ids of vertices")
            return cls._named(us, vs, own)
        ends = uncoded(us), uncoded(vs)
        if renumber:
            known, places = np.unique(np.concatenate(ends), return_inverse=True)
            if names is not None or vertices is not None:
                raise InputError("`renumber` counts the vertices itself: leave out `names` and `vertices`")
            sources, targets = places.reshape(2, -1).astype(VERTEX)
            graph = csr.Graph.from_edges(known.size, sources, targets, kinds=own)
            return cls(graph, ids_from(known.astype(np.int64)))
        if names is not None:
            ids: Ids = _named(names)
            if vertices not in (None, ids.vertices):
                raise InputError(f"{ids.vertices:,} names for {vertices:,} vertices")
        else:
            ids = Counted(_vertices(ends) if vertices is None else vertices)
        return cls(csr.Graph.from_edges(ids.vertices, *ends, kinds=own), ids)

    @classmethod
    def _named(cls, sources: Column, targets: Column, kinds: Kinds | None) -> Graph:
        """The graph of two columns of text; vertices in the order in which their names occur."""
        from grailbench.graph.readers.cells import factorized

        names = None
        if isinstance(sources, Coded) and isinstance(targets, Coded):
            codes, names = factorized(np.concatenate((sources.names, targets.names)))
            us, vs = codes[: sources.names.size][sources.codes], codes[sources.names.size :][targets.codes]
        else:
            us, vs = uncoded(sources), uncoded(targets)
        both = np.stack((us, vs), axis=1).reshape(-1)  # so that the first edge has the first two vertices
        places, known = factorized(both)
        us, vs = places.reshape(-1, 2).T
        ids = Named((known if names is None else names[known]).tolist())
        return cls(csr.Graph.from_edges(ids.vertices, us, vs, kinds=kinds), ids)

    @classmethod
    def from_scipy(cls, matrix: Any, names: Sequence[str] | None = None) -> Graph:
        """The graph of a square sparse matrix or array of scipy: each stored entry that is not 0 is an edge from its
        row to its column. Raises InputError if it is not square.

        >>> import scipy.sparse
        >>> gb.Graph.from_scipy(scipy.sparse.csr_array([[0, 1], [0, 0]])).edges
        1
        """
        shape: Any = getattr(matrix, "shape", ())
        if not hasattr(matrix, "tocoo") or len(shape) != 2 or shape[0] != shape[1]:
            raise InputError(f"{type(matrix).__name__} of shape {shape}: a square sparse matrix is expected")
        entries = matrix.tocoo()
        set_ = entries.data != 0
        return cls.from_edges(entries.row[set_], entries.col[set_], names, vertices=int(shape[0]))

    @classmethod
    def from_networkx(cls, graph: networkx.Graph[Any], kind: str | None = None) -> Graph:
        """The graph of a networkx graph whose nodes are all strings or all whole numbers, which are the ids.

        kind  the attribute of edges that is their kind, see `only`; an edge without it is of kind ''

        An undirected edge is one in each direction. Raises InputError for nodes of other types;
        `networkx.relabel_nodes(graph, str)` makes names of them.
        """
        _require_has(graph, "a graph of networkx", "nodes", "edges", "is_directed")
        nodes = list(graph)
        place = {node: at for at, node in enumerate(nodes)}
        flat = np.fromiter((place[end] for edge in graph.edges() for end in edge[:2]), np.int64).reshape(-1, 2)
        labels = id_column(nodes, "nodes", remedy="networkx.relabel_nodes(graph, str) makes names of all")
        edges: Any = () if kind is None else graph.edges(data=_attribute(kind))
        kinds = None if kind is None else [edge[2] for edge in edges]
        return cls._placed(_ids_of(labels, "nodes"), flat, graph.is_directed(), kinds)

    @classmethod
    def from_igraph(cls, graph: igraph.Graph, kind: str | None = None) -> Graph:
        """The graph of an igraph graph; ids are its vertex attribute 'name' if it has one, else 0, 1, ...

        kind  as of `from_networkx`

        An undirected edge is one in each direction. Raises InputError if a name occurs twice.
        """
        _require_has(graph, "a graph of igraph", "get_edgelist", "vs", "is_directed")
        flat = np.array(graph.get_edgelist(), np.int64).reshape(-1, 2)
        named = "name" in graph.vs.attributes()
        ids = _ids_of(graph.vs["name"], "vertex attribute 'name'") if named else Counted(graph.vcount())
        kinds = None
        if kind is not None:
            known = _attribute(kind) in graph.es.attributes()
            kinds = graph.es[kind] if known else [None] * graph.ecount()
        return cls._placed(ids, flat, graph.is_directed(), kinds)

    @classmethod
    def _placed(cls, ids: Ids, ends: np.ndarray, directed: bool, kinds: list[Any] | None) -> Graph:
        """The graph of edges between vertices, int64[m, 2], and their kinds; those of an undirected graph lead both
        ways. Raises InputError if all kinds are None."""
        if kinds and all(each is None for each in kinds):
            raise InputError("no edge has the attribute `kind`", remedy="one that edges have, or None")
        own = None if kinds is None else Kinds.of(["" if each is None else str(each) for each in kinds])
        made = csr.Graph.from_edges(ids.vertices, ends[:, 0], ends[:, 1], kinds=own)
        return cls(made if directed else with_reverses(made, np.ones(made.edges, np.bool_))[0], ids)

    @classmethod
    def read(cls, path: str | os.PathLike[str], format: str | None = None, **options: Any) -> Graph:
        """The graph in a file, a git repository or a source tree; formats and options are those of `grailbench import`.

        Raises InputError, which names file and line, for a faulty file, and MachineLacks if a format needs the extra
        `formats`, or for too little memory.
        """
        from grailbench.graph.readers import read

        check_path(path)
        ahead.expect("grailbench.api.first:of_answer", True)
        reading = read(path, format, **options)
        return cls(reading.graph, reading.ids)

    @classmethod
    def open(cls, name: str, sha256: str | None = None) -> Graph:
        """The graph of that name, as `grailbench list datasets` shows them: fetched, imported or generated.

        sha256  that of the graph which is meant, as `grailbench import --json` says it; None for any of that name

        Raises InputError, which suggests similar names, if there is none, if it is not the graph that is meant, or if
        it was not fetched yet.

        >>> gb.Graph.open("path-4").edges
        3
        """
        from grailbench.data.library import open_graph

        if not isinstance(name, str):
            raise InputError(f"{shown(name)} is no name of a graph", remedy="Graph.read reads a file")
        if not isinstance(sha256, str | None):
            raise InputError(f"{shown(sha256)} is no sha256 of a graph", remedy="64 hex digits")
        found = open_graph(name, sha256)
        return cls(lambda: found.raw, lambda: found.ids, found.dag, kinds=found.kinds)

    @classmethod
    def of_parts(
        cls,
        dag: Dag,
        rows: tuple[Any, ...] | None,
        ids: Ids | Callable[[], Ids],
        checksum: str,
        check: Callable[[], None],
        edges: Callable[[], csr.Graph] | None,
        kinds: Sequence[str],
    ) -> Graph:
        """A graph of which there are only these parts, as in an index file; `rows` is None if it is acyclic, `edges`
        if they have no kinds."""
        made = cls(edges or (lambda: _raw_of(made)), ids, dag, rows, check, kinds)
        made.__dict__["checksum"] = checksum
        return made

    # ------------------------------------------------------------------ what it is

    @cached_property
    def raw(self) -> csr.Graph:
        """The edges as they were given, with duplicates and self-loops, between vertices 0..n - 1."""
        return self._raw() if callable(self._raw) else self._raw

    @property
    def loaded(self) -> bool:
        """Whether the edges as they were given are in memory."""
        return "raw" in self.__dict__ or not callable(self._raw)

    @cached_property
    def ids(self) -> Ids:
        """The user's ids and the vertices 0..n - 1 that stand for them."""
        return self._ids() if callable(self._ids) else self._ids

    @cached_property
    def dag(self) -> Dag:
        """The condensed graph, from which indexes are built; it is made when it is first needed."""
        return condensed(self.raw)

    @property
    def vertices(self) -> int:
        """Number of vertices n."""
        if "dag" in self.__dict__:
            return int(self.dag.component.shape[0])
        return self.raw.vertices if callable(self._ids) else self._ids.vertices

    @property
    def edges(self) -> int:
        """Number of different edges, without self-loops."""
        return int(self.rows[1].shape[0])

    @property
    def acyclic(self) -> bool:
        """Whether there is no cycle of two or more vertices."""
        return self.dag.vertices - 1 == self.vertices

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of edges, in the order in which they first occur; none if edges have no kinds.

        >>> gb.Graph.from_edges(["app", "app"], ["lib", "pytest"], kinds=["runtime", "dev"]).kinds
        ('runtime', 'dev')
        """
        return () if self.raw.kinds is None else self.raw.kinds.names

    def only(self, kind: str | Iterable[str]) -> Graph:
        """The graph of the same vertices and the edges of one kind, or of several.

        Raises InputError, which suggests similar ones, for a kind that no edge has.

        >>> graph = gb.Graph.from_edges(["app", "lib"], ["lib", "pytest"], kinds=["runtime", "dev"])
        >>> gb.build(graph.only(kind="runtime")).descendants("app").tolist()
        ['lib']
        """
        wanted = [kind] if isinstance(kind, str) else [*map(str, id_column(kind, "kind"))]
        if not self.kinds or (kinds := self.raw.kinds) is None:
            remedy = "from_edges(..., kinds=[...]); of a file --kind COLUMN of import, kind=COLUMN of Graph.read"
            raise InputError("the edges of this graph have no kinds", remedy=remedy)
        return Graph(self.raw.at(kinds.of_some(wanted)), self.ids, check=self.check)

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The CSR of the different edges without self-loops: int64[n + 1], int32[m], rows ascending."""
        if self.acyclic:
            inner = int(self.dag.offsets[-2])
            return self.dag.offsets[:-1], self.dag.children[:inner]
        return simple_rows(self.raw, usable_cores())

    @cached_property
    def reverse_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """As `rows`, of the edges turned round."""
        rows: tuple[np.ndarray, np.ndarray] = transpose(*self.rows)
        return rows

    @cached_property
    def checksum(self) -> str:
        """The sha256 of the condensed graph, of which vertices are in which component, and of the ids: equal for two
        graphs if every question of reachability has the same answer on both."""
        digest = hashlib.sha256(f"reachability {self.vertices} {self.ids.digest}\n".encode())
        for array in (self.dag.offsets, self.dag.children, self.dag.component):
            content: Any = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
            digest.update(content)
        return digest.hexdigest()

    @property
    def nbytes(self) -> int:
        """Bytes of the condensed graph and of the different edges."""
        dag = self.dag
        own = [dag.offsets, dag.children, dag.levels, dag.order, dag.component, *([] if self.acyclic else self.rows)]
        return sum(array.nbytes for array in own)

    # ------------------------------------------------------------------ ids

    def vertex(self, id: Hashable) -> int:
        """The vertex 0..n - 1 of an id. Raises InputError, which suggests similar names, if there is no such id."""
        if isinstance(id, str):
            return self.ids.vertex_of(str.__str__(id))  # its characters, whatever a subclass such as an Enum shows
        remedy = None
        if isinstance(id, int | np.integer) and not isinstance(id, bool):
            if self.ids.numeric and LEAST <= id <= GREATEST:
                return self.ids.vertex_of(str(int(id)))
            remedy = None if self.ids.numeric else "its ids are names: str(id)"
        raise InputError(f"{shown(id)} is no id of a vertex: the graph has {self.ids.extent()}", remedy=remedy)

    def vertices_of(self, ids: Iterable[Any]) -> np.ndarray:
        """The vertices, int32[k], of k ids: a list, an array of numpy, a column of pandas or Arrow.

        Raises InputError, which names the first that is no id of the graph, and its place.
        """
        column = ids if isinstance(ids, Coded) else coded_column(ids, "ids")
        found = self.ids.vertices_of(column.names if isinstance(column, Coded) else column).astype(VERTEX)
        found = found[column.codes] if isinstance(column, Coded) else found
        if found.size and int(found.min()) < 0:
            raise self._unknown(uncoded(column))
        return found

    def _unknown(self, column: np.ndarray) -> InputError:
        """The error for the first of these ids that is no id of the graph."""
        at = int(np.argmax(self.ids.vertices_of(column) < 0))
        try:
            self.vertex(column[at])
        except InputError as error:
            return InputError(f"place {at:,} of {column.size:,}: {error}")
        raise AssertionError("every one is an id of the graph")

    def ids_of(self, vertices: np.ndarray) -> np.ndarray:
        """The ids of vertices int[k]: int64[k], or object[k] of names. Raises InputError for what is no vertex."""
        column = id_column(vertices, "vertices")
        least, greatest = (0, -1) if column.dtype == object else csr.extent(column)
        if column.size and not 0 <= least <= greatest < self.vertices:
            raise InputError(f"vertices: whole numbers from 0 to {self.vertices - 1:,} are expected")
        return self.ids.labels_of(column)

    # ------------------------------------------------------------------ as an object

    def __len__(self) -> int:
        return self.vertices

    def __bool__(self) -> bool:
        return True  # also one without vertices

    def __contains__(self, id: object) -> bool:
        try:
            self.vertex(id)
        except InputError:
            return False
        return True

    def __iter__(self) -> Iterator[Any]:
        return iter(self.ids_of(np.arange(self.vertices)).tolist())

    def successors(self, id: Hashable) -> np.ndarray:
        """The ids of the vertices to which there is an edge from this one, without itself, in the order of the graph's
        vertices. Raises InputError if there is no such id.

        >>> gb.Graph.from_edges(["a", "a"], ["b", "c"]).successors("a").tolist()
        ['b', 'c']
        """
        return self._beside(id, self.rows)

    def predecessors(self, id: Hashable) -> np.ndarray:
        """As `successors`, of edges to this vertex."""
        return self._beside(id, self.reverse_rows)

    def _beside(self, id: Hashable, rows: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        vertex = self.vertex(id)
        return self.ids_of(rows[1][rows[0][vertex] : rows[0][vertex + 1]])

    def __getstate__(self) -> dict[str, Any]:
        whole = {"raw": self.raw} if self.kinds else {"kinds": ()}
        return {"ids": self.ids, "dag": self.dag, "rows": None if self.acyclic else self.rows} | whole

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**{"raw": lambda: _raw_of(self)} | state)  # type: ignore[misc]

    def __repr__(self) -> str:
        known = [repr(self.ids.label_of(vertex)) for vertex in range(min(self.vertices, 3))]
        more = ", ..." if self.vertices > len(known) else ""
        ids = f", ids {', '.join(known)}{more}" if known else ""
        return f"<grailbench.Graph: {self.vertices:,} vertices, {self.edges:,} edges{ids}>"

    def _repr_html_(self) -> str:
        ids = [repr(self.ids.label_of(vertex)) for vertex in range(min(self.vertices, 5))]
        facts = {"vertices": f"{self.vertices:,}", "edges": f"{self.edges:,}", "first ids": ", ".join(ids)}
        return card("grailbench.Graph", facts.items())


def whole() -> None:
    """The check of arrays in memory."""


def _raw_of(graph: Graph) -> csr.Graph:
    """The edges of a graph of which there are only the different ones."""
    offsets, targets = graph.rows
    return csr.Graph(graph.vertices, np.repeat(np.arange(graph.vertices, dtype=VERTEX), np.diff(offsets)), targets)


def _vertices(ends: Sequence[np.ndarray]) -> int:
    """The number of vertices of edges whose ids count from 0."""
    extents = [csr.extent(each) for each in ends]
    for (least, _), side in zip(extents, ("source", "target"), strict=True):
        if least < 0:
            raise InputError(
                f"{side} {least} is out of range: ids count from 0",
                remedy="renumber=True if exactly the ids that occur are vertices",
            )
    greatest = max(greatest for _, greatest in extents)
    vertices, edges = greatest + 1, ends[0].size
    if vertices > SPARSE * edges + UNUSED:
        raise InputError(
            f"id {greatest} makes a graph of {vertices:,} vertices out of {edges:,} edges",
            remedy="renumber=True if only the ids that occur are vertices, vertices=N if all are",
        )
    return vertices


def _ids_of(nodes: Iterable[Any], what: str) -> Ids:
    """The mapping whose ids these are, in this order."""
    labels = id_column(nodes, what)
    if labels.dtype == object:
        return Named(labels.tolist())
    if np.unique(labels).size != labels.size:
        raise InputError(f"{what}: an id occurs twice")
    return ids_from(labels.astype(np.int64))


def _attribute(name: Any) -> str:
    """The name of an attribute of edges. Raises InputError for what is none."""
    if not isinstance(name, str):
        raise InputError(f"kind {shown(name)}: the name of an attribute of edges is expected")
    return name


def _named(names: Sequence[str]) -> Named:
    """The mapping of vertices 0..n - 1 to these names."""
    column = id_column(names, "names", ordered=True)
    if column.size and column.dtype != object:
        raise InputError(f"names of {column.dtype}: texts are expected", remedy="str(name) makes a text of each")
    return Named(column.tolist())


def _require_has(graph: Any, what: str, *methods: str) -> None:
    """Raises InputError if an object of another library lacks what its graphs have."""
    if not all(hasattr(graph, method) for method in methods):
        raise InputError(f"{shown(graph)}: {what} is expected")
