"""What a graph is, in numbers: the characteristics that papers print, degrees, reach, and its outline.

An `Outline` is a line of JSON, for pages about graphs that are not on this machine:
`results/published/graph-profiles.jsonl` has those of graphs of the recorded runs, and `grailbench profile --record`
writes such files. `grailbench.problems.reachability.profile` measures an outline and what answers pairs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from grailbench.errors import InputError
from grailbench.graph.csr import Dag, Graph, rows_of
from grailbench.util import paths
from grailbench.util.compiled import njit
from grailbench.util.files import read_text
from grailbench.util.outputs import replaced

QUANTILES = (50, 90, 99, 99.9)  #: of the degrees, in per cent
FILE = "graph-profiles.jsonl"
BINS = 64  #: most bins of the levels of an outline


def characteristics(dag: Dag) -> dict[str, int | float]:
    """The characteristics of a condensed graph.

    vertices, edges   including the super-root, its edges, and duplicate edges, as printed in the thesis
    distinct_edges    the same without duplicates: the edges that a search can scan
    degree            edges / vertices
    levels            levels by longest path, including that of the super-root
    roots, sinks      vertices whose only parent is the super-root, vertices without children
    max_in_degree, max_out_degree
                      over distinct edges, without those of the super-root
    """
    parents, children = degrees(dag)
    return {
        "vertices": dag.vertices,
        "edges": dag.printed_edges,
        "distinct_edges": dag.edges,
        "degree": dag.printed_edges / dag.vertices,
        "levels": dag.depth,
        "roots": int(dag.roots.shape[0]),
        "sinks": int(np.count_nonzero(children == 0)),
        "max_in_degree": int(parents.max(initial=0)),
        "max_out_degree": int(children.max(initial=0)),
    }


def degrees(dag: Dag) -> tuple[np.ndarray, np.ndarray]:
    """The number of parents and of children of each vertex, int64[n - 1] each, without the super-root."""
    inner = dag.children[: int(dag.offsets[-2])]
    return np.bincount(inner, minlength=dag.vertices - 1), np.diff(dag.offsets[:-1])


class Degrees(NamedTuple):
    """A distribution of degrees, of the parents or of the children of the vertices of a condensed graph.

    mean, most  the mean and the largest degree
    quantiles   the degrees at `QUANTILES`, by these as text: that many per cent of the vertices have no larger one
    top         the share of the edges at the 1 % of the vertices (at least one) with the largest degrees
    at_most_one number of vertices with degree 0 or 1
    """

    mean: float
    most: int
    quantiles: dict[str, int]
    top: float
    at_most_one: int

    @classmethod
    def of(cls, degree: np.ndarray) -> Degrees:
        """The distribution of the degrees of all vertices, int[n]."""
        if degree.size == 0:
            return cls(0.0, 0, dict.fromkeys(map(str, QUANTILES), 0), 0.0, 0)
        ascending = np.sort(degree)
        top = int(ascending[-max(1, degree.size // 100) :].sum())
        return cls(
            mean=float(degree.mean()),
            most=int(ascending[-1]),
            quantiles={str(q): int(ascending[math.ceil(q / 100 * degree.size) - 1]) for q in QUANTILES},
            top=top / max(1, int(degree.sum())),
            at_most_one=int(np.count_nonzero(degree <= 1)),
        )


def component_sizes(dag: Dag) -> np.ndarray:
    """The number of original vertices of each vertex of a condensed graph, int64[n - 1], without the super-root."""
    return np.bincount(dag.component, minlength=dag.vertices - 1)


def weak_components(dag: Dag) -> np.ndarray:
    """The number of vertices of each weak component, int64[k], without the super-root."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = dag.vertices - 1
    if n == 0:
        return np.empty(0, np.int64)
    inner = dag.children[: int(dag.offsets[-2])]
    adjacency = csr_array((np.ones(inner.shape[0], np.int8), inner, dag.offsets[:-1]), shape=(n, n))
    return np.bincount(connected_components(adjacency, directed=True, connection="weak")[1])


def repeated(graph: Graph) -> int:
    """The number of edges of a raw graph that repeat another."""
    offsets, targets = rows_of(graph)
    sources = np.repeat(np.arange(graph.vertices, dtype=np.int32), np.diff(offsets))
    return int(np.count_nonzero((targets[1:] == targets[:-1]) & (sources[1:] == sources[:-1])))


# ---------------------------------------------------------------------------------------- reach


SOURCES, BUDGET = 20_000, 50_000_000  #: searches that count descendants, and the edges that these may scan


class Reach(NamedTuple):
    """How much the vertices reach, by searches from `sources` random ones; `whole` if these are all.

    mean, error, most  other vertices reached from a vertex: mean, its standard error (0 if `whole`), the most
    rate, rate_error   share of the ordered pairs (u, v), including u = v, with a path from u to v; its standard error
    """

    sources: int
    whole: bool
    mean: float
    error: float
    most: int
    rate: float
    rate_error: float


def reach(dag: Dag, seed: int = 1, sources: int = SOURCES) -> Reach:
    """Searches a graph with vertices from `sources` random ones, or from fewer once `BUDGET` edges were scanned."""
    vertices = dag.component.shape[0]
    drawn = np.random.default_rng(seed).permutation(vertices)[:sources]
    found = reached_from(dag.offsets, dag.children, dag.component[drawn], BUDGET, component_sizes(dag))
    whole = found.size == vertices
    error = 0.0 if whole else float(found.std() / np.sqrt(found.size))
    mean = float(found.mean())
    return Reach(int(found.size), whole, mean - 1, error, int(found.max()) - 1, mean / vertices, error / vertices)


@njit(cache=True, nogil=True)
def reached_from(offsets, children, sources, budget, sizes):
    """The number of vertices that each source reaches, including itself, int64[k], until more edges than `budget` are
    scanned, but of the first always; a vertex counts as `sizes` (int64[n]) says."""
    stamp, stack = np.full(offsets.shape[0] - 1, -1, np.int32), np.empty(offsets.shape[0] - 1, np.int32)
    reached, scanned = np.empty(sources.shape[0], np.int64), 0
    for k in range(sources.shape[0]):
        if k and scanned > budget:
            return reached[:k]
        stack[0], stamp[sources[k]] = sources[k], k
        top, reached[k] = 1, sizes[sources[k]]
        while top > 0:
            top -= 1
            u = stack[top]
            scanned += offsets[u + 1] - offsets[u]
            for e in range(offsets[u], offsets[u + 1]):
                v = children[e]
                if stamp[v] != k:
                    stamp[v] = k
                    reached[k] += sizes[v]
                    stack[top] = v
                    top += 1
    return reached


# ---------------------------------------------------------------------------------------- outlines


class Outline(BaseModel):
    """The recorded outline of a graph.

    sha256               as rows have it (`Cell.graph_sha256`)
    vertices, edges      of the file; `duplicates` and `loops` of its edges repeat another, or join a vertex to itself
    components, largest  strong components; vertices of the largest of them
    cyclic               vertices in components of more than one vertex
    weak                 weak components
    dag_edges            edges between strong components, each once
    roots, sinks         components without parents, and without children
    depth, widest        levels of the condensed graph by longest path from a root; components on the widest
    above, below, core   components in the trees at the sources' end, in those at the sinks' end, and between them
    rate, rate_error     share of the ordered pairs of vertices, (v, v) included, with a path; its standard error
    levels               components in each of `level_bins(depth)`, whose sum is `components`
    incoming, outgoing   vertices by in- and out-degree in the file, every edge counted: [k] those with a degree of k
                         bits, that is 0, 1, 2 to 3, 4 to 7, ...
    strong               strong components by number of vertices: [k] those with k bits; [0] is always 0
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    kind: str
    sha256: str
    vertices: int
    edges: int
    duplicates: int
    loops: int
    components: int
    largest: int
    cyclic: int
    weak: int
    dag_edges: int
    roots: int
    sinks: int
    depth: int
    widest: int
    above: int
    below: int
    core: int
    rate: float | None
    rate_error: float | None
    levels: tuple[int, ...]
    incoming: tuple[int, ...]
    outgoing: tuple[int, ...]
    strong: tuple[int, ...]

    @property
    def density(self) -> float | None:
        """Edges a vertex; None without vertices."""
        return self.edges / self.vertices if self.vertices else None

    @property
    def in_trees(self) -> float | None:
        """Share of the components that lie in the trees at the ends; None without vertices."""
        return (self.above + self.below) / self.components if self.components else None


def level_bins(depth: int, most: int = BINS) -> np.ndarray:
    """int64[bins + 1]: where the bins of `depth` levels begin and end, counted from 0; at most `most`, of about the
    same number of levels each."""
    return np.linspace(0, depth, min(most, depth) + 1).round().astype(np.int64)


def bits(values: np.ndarray) -> tuple[int, ...]:
    """How many of some numbers >= 0, int[k], have each number of bits, from 0 on; empty without numbers."""
    return tuple(np.bincount(np.frexp(values.astype(np.float64))[1]).tolist()) if values.size else ()


def bit_range(bits: int) -> tuple[int, int]:
    """The least and the largest number of so many bits."""
    return (1 << bits) >> 1, (1 << bits) - 1


@cache
def recorded() -> dict[str, Outline]:
    """The outlines that come with the program, by name of the graph. Raises InputError for a wrong line."""
    return read(paths.shipped("results/published") / FILE)


def read(path: Path) -> dict[str, Outline]:
    """The outlines of a file, by name; none if there is no such file. Raises InputError, with the line, for a line
    that is no outline, or the second of a graph."""
    try:
        lines = read_text(path).splitlines()
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError:
        raise InputError("is not text", path=path, remedy="a file that --record wrote") from None
    found: dict[str, Outline] = {}
    for number, line in enumerate(lines, 1):
        try:
            one = Outline.model_validate_json(line)
        except ValidationError as error:
            fault = error.errors()[0]
            where = ".".join(map(str, fault["loc"]))
            why = f"{where}: {fault['msg']}" if where else fault["msg"]
            raise InputError(f"no outline of a graph: {why}", path=path, line=number) from None
        if one.name in found:
            raise InputError(f"a second line of graph {one.name!r}", path=path, line=number)
        found[one.name] = one
    return found


def text(outlines: Iterable[Outline]) -> str:
    """The lines of a file, sorted by name."""
    fields = set(Outline.model_fields)  # not those of a whole profile
    ordered = sorted(outlines, key=lambda one: one.name)
    dumped = (json.dumps(one.model_dump(include=fields), separators=(",", ":")) for one in ordered)
    return "".join(f"{line}\n" for line in dumped)


def write(path: Path, outlines: Iterable[Outline]) -> None:
    """Writes a file of outlines, which replaces the one there when it is whole. Raises InputError if it cannot."""
    with replaced(path, over=b"") as stream:
        stream.write(text(outlines).encode())
