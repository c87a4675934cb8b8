"""What the benchmark graphs ask of an index, counted for `docs/benchmark-graphs.md`, a JSON line a graph:

    python -m grailbench.problems.reachability.survey ends [GRAPH]...        > docs/benchmark-graphs.jsonl
    python -m grailbench.problems.reachability.survey reductions [GRAPH]...  > docs/reductions.jsonl

`ends` has the trees at the ends and the core of each graph of the papers' tables, and of the sets that come with them;
look-alikes stand for those that cannot be had. `reductions` has what the core of a graph loses without its chains, its
twins and its transitive edges, for `GRAPHS` and the set `hard`. Equivalence and transitive reduction are those of Zhou,
Zhou, Yu, Wei, Chen and Tang, *DAG Reduction: Fast answering reachability queries*, SIGMOD 2017. They are counted; what
`core` builds of them is the contraction of chains, and that equal rows and words of the closure are kept once.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import click
import numpy as np
from numba import njit
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from grailbench.data.library import BenchGraph, open_graph
from grailbench.data.registry import registry
from grailbench.errors import GrailbenchError
from grailbench.graph.condense import condense
from grailbench.graph.csr import Dag, Graph
from grailbench.graph.generate import HOME_MADE, catalogue
from grailbench.graph.hashing import draw, permutation, stream
from grailbench.problems.reachability.core.index import Core
from grailbench.problems.reachability.core.peel import peel
from grailbench.problems.reachability.core.rows import count, graph_of_core
from grailbench.problems.reachability.index import NoTimer, Params
from grailbench.problems.reachability.profile import ends

SETS = ("small-sparse", "small-dense", "large", "scale-free")  #: those of the graphs that the papers compare
_LIKE = "-like"
GRAPHS = ("arxiv", "citeseer", "go", "pubmed", "yago", "cit-patents-like", "citeseerx-like", "dag_01-like")
EXACT = 100_000  #: edges up to which every one is tested
RECORDS = ("tree", "sources", "targets")  #: the arrays of the vertices in an index of `core`
SAMPLE = 20_000  #: edges that are tested of a larger core: those from, and to, vertices drawn at random


@dataclass(frozen=True)
class CoreGraph:
    """The edges between k vertices in topological order, without duplicates: int64[k + 1] and int32[m], as CSR."""

    starts: np.ndarray
    targets: np.ndarray

    @property
    def size(self) -> int:
        """Number of vertices."""
        return int(self.starts.shape[0] - 1)

    @property
    def sources(self) -> np.ndarray:
        """The source of each edge, int32[m]."""
        return np.repeat(np.arange(self.size, dtype=np.int32), np.diff(self.starts))

    def rows_and_columns(self) -> tuple[int, int]:
        """How many rows and columns of the closure are needed once chains are contracted; see `core.rows`."""
        parents = np.minimum(np.bincount(self.targets, minlength=self.size), 2).astype(np.int8)
        columns, rows = count(self.starts, self.targets, parents)
        return rows, columns

    def without(self, edges: np.ndarray) -> CoreGraph:
        """The core without the edges of a mask, bool[m]."""
        return _core(self.size, self.sources[~edges], self.targets[~edges])

    def twins(self) -> np.ndarray:
        """Which vertices have the same parents and the same children as one before them, bool[k].

        Two vertices are compared by 64 random bits for their parents and 64 for their children, summed.
        """
        sums = _sums(self.starts, self.targets, stream(1, 0))
        order = np.lexsort(sums)
        same = (np.diff(sums[0][order]) == 0) & (np.diff(sums[1][order]) == 0)
        found = np.zeros(self.size, bool)
        found[order[1:][same]] = True  # lexsort is stable: the first of equals stays
        return found

    def merged(self) -> CoreGraph:
        """The core with one vertex in place of each group of twins."""
        kept = ~self.twins()
        place, sources = np.cumsum(kept) - 1, self.sources
        both = kept[sources] & kept[self.targets]
        return _core(int(kept.sum()), place[sources[both]], place[self.targets[both]])


def _core(size: int, sources: np.ndarray, targets: np.ndarray) -> CoreGraph:
    """The core of edges that are sorted by source."""
    starts = np.concatenate(([0], np.cumsum(np.bincount(sources, minlength=size)))).astype(np.int64)
    return CoreGraph(starts, targets.astype(np.int32))


def core_of(dag: Dag) -> CoreGraph:
    """What peeling leaves of a condensed graph."""
    peeled = peel(dag)
    starts, targets, _, _ = graph_of_core(dag.offsets, dag.children, peeled.core, peeled.position, peeled.above)
    return CoreGraph(starts, targets)


@njit(cache=True, nogil=True)
def _sums(starts, targets, key):
    """Sums of the random numbers of the parents and of the children of each vertex, uint64[2, k]."""
    k = starts.shape[0] - 1
    sums = np.zeros((2, k), np.uint64)
    for u in range(k):
        for j in range(starts[u], starts[u + 1]):
            v = targets[j]
            sums[0, v] += draw(key, u)
            sums[1, u] += draw(key, v)
    return sums


@njit(cache=True, nogil=True)
def transitive(starts, targets, sources, edges):
    """Which edges (int64[e], ascending places in `targets`) have another path between their ends, bool[e].

    Of 64 edges at a time, each a bit, the other children of the source are marked, and marks passed on to the children
    in topological order: the target of a transitive edge receives its bit.
    """
    k, e = starts.shape[0] - 1, edges.shape[0]
    found, marks = np.zeros(e, np.bool_), np.zeros(k, np.uint64)
    for low in range(0, e, 64):
        high, last = min(low + 64, e), 0
        first = sources[edges[low]]
        for i in range(low, high):
            edge, bit = edges[i], np.uint64(1) << np.uint64(i - low)
            last = max(last, targets[edge])
            for j in range(starts[sources[edge]], starts[sources[edge] + 1]):
                if j != edge:
                    marks[targets[j]] |= bit
        for u in range(first, last):
            mark = marks[u]
            if mark:
                for j in range(starts[u], starts[u + 1]):
                    marks[targets[j]] |= mark
        for i in range(low, high):
            found[i] = marks[targets[edges[i]]] >> np.uint64(i - low) & np.uint64(1)
        marks[first:] = 0
    return found


def reductions(core: CoreGraph, exact: int = EXACT, sample: int = SAMPLE) -> dict[str, int | float | None]:
    """Counts what each reduction leaves of a core. The sample is the same for the same core.

    core, edges       of what peeling leaves
    rows, columns     of the closure once chains are contracted
    twins             vertices with the same parents and the same children as another one that stays
    components        weakly connected components of the core
    largest           vertices of the largest of them
    tested            edges that were tested for another path between their ends: all of them up to `exact`
    transitive_share  the share of these that have one
    irreducible_rows, irreducible_columns
                      without transitive edges and then twins and chains; of a sample, vertices that keep two children
                      or more, and two parents or more: estimates, with twins left in, no more than `rows` and
                      `columns`
    closure_bytes, chains_bytes, twins_bytes, components_bytes, both_bytes, all_bytes
                      of the closure of r rows and c columns, r * c / 16: of the core, without chains, with one of the
                      twins, with a closure for each component, without chains after twins are merged, and without
                      transitive edges, twins and chains
    packed_bytes, packed_irreducible_bytes
                      what `core` keeps of the closure, and what it would keep without transitive edges; None if they
                      were sampled
    """
    k, merged, sources = core.size, core.merged(), core.sources
    edges = core.targets.shape[0]
    rows, columns = core.rows_and_columns()
    adjacency = csr_array((np.ones(edges, np.int8), core.targets, core.starts), shape=(k, k))
    components, labels = connected_components(adjacency, directed=False)
    sizes = np.bincount(labels, minlength=1).astype(np.int64)
    packed = None, None
    if edges <= exact:
        tested = edges
        known = transitive(core.starts, core.targets, sources, np.arange(edges))
        share = float(known.mean()) if edges else 0.0
        reduced = core.without(known)
        left, packed = reduced.merged().rows_and_columns(), (_packed(core), _packed(reduced))
    else:
        out, share = _sampled(core, sources, sources, sample)
        into, _ = _sampled(core, sources, core.targets, sample)
        tested, left = sample, (min(out, rows), min(into, columns))
    return {
        "core": k, "edges": edges, "rows": rows, "columns": columns, "twins": k - merged.size,
        "components": components, "largest": int(sizes.max()), "tested": tested, "transitive_share": share,
        "irreducible_rows": left[0], "irreducible_columns": left[1],
        "closure_bytes": _bytes(k, k), "chains_bytes": _bytes(rows, columns),
        "twins_bytes": _bytes(merged.size, merged.size), "components_bytes": _bytes(1, int((sizes**2).sum())),
        "both_bytes": _bytes(*merged.rows_and_columns()), "all_bytes": _bytes(*left),
        "packed_bytes": packed[0], "packed_irreducible_bytes": packed[1],
    }  # fmt: skip


def _packed(core: CoreGraph) -> int:
    """Bytes of the closure as `core` keeps it, without the records of the vertices."""
    index = Core.build(condense(Graph(core.size, core.sources, core.targets)), Params(), NoTimer())
    return sum(array.nbytes for name, array in index.arrays.items() if name not in ("shape", *RECORDS))


def _bytes(rows: int, columns: int) -> int:
    return -(-rows * columns // 16)


def _sampled(core: CoreGraph, sources: np.ndarray, ends: np.ndarray, sample: int) -> tuple[int, float]:
    """Tests all edges of vertices drawn at random, about `sample` edges. Returns how many vertices of the core keep two
    edges or more, and which share of the edges is transitive, as the sample has it.

    ends  the end of each edge at which vertices are drawn, int32[m]
    """
    order, degrees = permutation(core.size, stream(1, 1)), np.bincount(ends, minlength=core.size)
    drawn = order[: 1 + int(np.searchsorted(np.cumsum(degrees[order]), sample))]
    chosen = np.zeros(core.size, bool)
    chosen[drawn] = True
    edges = np.flatnonzero(chosen[ends])
    found = transitive(core.starts, core.targets, sources, edges)
    kept = np.bincount(ends[edges[~found]], minlength=core.size)
    return round(core.size * float(np.mean(kept[drawn] >= 2))), float(found.mean())


# ------------------------------------------------------------------ the records


def published() -> list[str]:
    """The graphs of `SETS`, with the look-alikes of those whose files cannot be had, and the home-made graphs of
    Computation 2020."""
    known = [(name, dataset.sha256) for name, dataset in registry().items() if dataset.set in SETS]
    real = [name if sha256 else f"{name}{_LIKE}" for name, sha256 in known]
    return [*real, *(f"{name}{_LIKE}" for name in HOME_MADE)]


def ends_record(graph: BenchGraph) -> dict:
    """A record of a graph: its name, whether it is generated, the tables that print it, its SHA-256, the number of
    distinct edges between its vertices, and what `Ends` says of the graph alone, with shares."""
    found = ends(graph.dag)
    whole = max(1, found.vertices)
    return {
        "name": graph.name,
        "generated": graph.kind == "synthetic",
        "tables": _tables(graph.name.removesuffix(_LIKE)),
        "sha256": graph.sha256,
        "edges": int(graph.dag.offsets[-2]),
        **{name: value for name, value in vars(found).items() if name != "needed_bytes"},
        "forest": found.forest,
        **{f"{part}_share": getattr(found, part) / whole for part in ("sources", "sinks", "core")},
    }


def _tables(name: str) -> str:
    """'thesis, table 2.3; Computation 2020, table 1'."""
    if name in HOME_MADE:
        return "Computation 2020, table 2"
    dataset = registry().get(name)
    return "; ".join(row.where for row in dataset.published) if dataset else ""


def reductions_record(graph: BenchGraph) -> dict:
    """A record of a graph: its name, whether every edge was tested, and its reductions."""
    found = reductions(core_of(graph.dag))
    return {"name": graph.name, "exact": found["tested"] == found["edges"], **found}


def records(kind: str, names: Iterable[str] = ()) -> Iterator[dict]:
    """The record of each graph, of a kind: 'ends' or 'reductions'; without names, of the graphs of the page.

    Raises the errors of `open_graph`.
    """
    record, usual = {
        "ends": (ends_record, published),
        "reductions": (reductions_record, lambda: [*GRAPHS, *catalogue.sets()["hard"].names]),
    }[kind]
    for name in names or usual():
        yield record(open_graph(name))


@click.command()
@click.argument("kind", type=click.Choice(["ends", "reductions"]))
@click.argument("names", nargs=-1, metavar="[GRAPH]...")
def main(kind: str, names: tuple[str, ...]) -> None:
    """Writes a JSON line for each GRAPH, or for each graph of the page, once it is measured."""
    try:
        for each in records(kind, names):
            click.echo(json.dumps(each))
    except GrailbenchError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
