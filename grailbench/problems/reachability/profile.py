"""What decides which index suits a graph: its structure, the trees at its ends and the core between them, how much is
reachable, and what answers its pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grailbench.data.library import BenchGraph
from grailbench.graph.csr import Dag
from grailbench.graph.generate.profiles import reached_from
from grailbench.graph.profile import (
    QUANTILES,
    Outline,
    Structure,
    Tail,
    bits,
    component_sizes,
    level_bins,
    structure,
)
from grailbench.problems.reachability.core.closure import words
from grailbench.problems.reachability.core.index import fits, needed
from grailbench.problems.reachability.core.peel import peel
from grailbench.problems.reachability.cpu.grail import Sequential
from grailbench.problems.reachability.index import FILTERS, Index, NoTimer, Params
from grailbench.problems.reachability.queries import draw_balanced, draw_random
from grailbench.util.words import share, size

#: what `Ends.forest` may be, in words
FORESTS = {
    "in-forest": "no component has more than one child",
    "out-forest": "no component has more than one parent",
}
SOURCES, SOURCES_BUDGET = 20_000, 50_000_000  #: searches that count descendants, and the edges that these may scan
PAIRS, PAIRS_BUDGET = 10_000, 100_000_000  #: pairs of a kind, and the edges that searches may scan for them
INDEX = Params(dim=2, filters=FILTERS, count=True)  #: of the index whose work is counted
_TOGETHER = 64  # pairs that are asked before the budget is looked at


@dataclass(frozen=True)
class Ends:
    """What is peeled from the ends of a condensed graph, without the super-root, and what is left; see `core.peel`.

    vertices       of the condensed graph
    sources        vertices of the in-trees, peeled from the end of the sources
    sinks          vertices of the out-trees, peeled from the end of the sinks
    core           vertices that are left
    closure_bytes  of the packed closure of the core: a bit for each pair in one order, about k^2 / 16 bytes for a core
                   of k vertices
    needed_bytes   of the closure that `core` makes, as bits; it may be of fewer vertices (`core.rows`), and is packed
    """

    vertices: int
    sources: int
    sinks: int
    core: int
    closure_bytes: int
    needed_bytes: int

    @property
    def forest(self) -> str:
        """A key of `FORESTS`, 'out-forest' if the graph is both; '' if it is neither, or has no vertices."""
        whole = {self.sinks: "out-forest", self.sources: "in-forest"}
        return whole.get(self.vertices, "") if self.vertices else ""

    @property
    def fits(self) -> bool:
        """Whether `core` makes its closure on this machine now, unless it is told otherwise."""
        return fits(self.needed_bytes, Params())


@dataclass(frozen=True)
class Reach:
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


@dataclass(frozen=True)
class Settled:
    """What answered pairs of a kind: the steps of `sequential` with d = 2 and all filters, in their order.

    kind       'random' or 'balanced', see `profile`
    pairs      pairs that were asked; fewer than drawn if their searches scanned more edges than allowed
    positives  how many of them are reachable
    component  both ends are in one strong component
    level, labels, tree, hubs
               answered by the level filter (no), the label pairs (no), the spanning trees (yes), the hubs (yes or no)
    search     left to a search
    scanned    edges that these searches scanned
    """

    kind: str
    pairs: int
    positives: int
    component: int
    level: int
    labels: int
    tree: int
    hubs: int
    search: int
    scanned: int

    @property
    def rate_error(self) -> float:
        """The standard error of the share of reachable pairs."""
        share = self.positives / self.pairs
        return float(np.sqrt(share * (1 - share) / self.pairs))

    @property
    def edges_a_search(self) -> float | None:
        """Edges that a search scanned on average; None without searches."""
        return self.scanned / self.search if self.search else None

    def record(self) -> dict:
        """The fields but for the kind, and the properties, by name."""
        counts = {name: value for name, value in vars(self).items() if name != "kind"}
        return counts | {"rate_error": self.rate_error, "edges_a_search": self.edges_a_search}


STAGES = ("component", "level", "labels", "tree", "hubs", "search")  #: the fields of `Settled` that add up to `pairs`


@dataclass(frozen=True)
class Profile:
    """The profile of a graph. `reach` and `ends` are None and `settled` empty for a graph without vertices."""

    name: str
    sha256: str
    seed: int
    structure: Structure
    ends: Ends | None
    reach: Reach | None
    settled: tuple[Settled, ...]

    def record(self) -> dict:
        """The profile as JSON has it: numbers of the structure, `ends`, `reach`, and `settled` by kind of pairs.

        Of the level widths it has `depth`, the most and the median. Shares are between 0 and 1; `remarks` are
        sentences. `fits` of `ends`, and the remark on it, depend on the memory of this machine.
        """
        graph = self.structure
        found = {name: value for name, value in vars(graph).items() if name not in ("widths", "parents", "children")}
        return {
            "name": self.name,
            "sha256": self.sha256,
            "seed": self.seed,
            **found,
            "beyond_forest": graph.beyond_forest,
            "depth": graph.depth,
            "widest_level": int(graph.widths.max(initial=0)),
            "median_level": float(np.median(graph.widths)) if graph.depth else 0.0,
            **{side: _tail_record(getattr(graph, side)) for side in ("parents", "children")},
            "ends": self.ends and {**vars(self.ends), "forest": self.ends.forest, "fits": self.ends.fits},
            "reach": self.reach and vars(self.reach),
            "settled": {each.kind: each.record() for each in self.settled},
            "remarks": remarks(self),
        }


def _tail_record(tail: Tail) -> dict:
    quantiles = dict(zip(map(str, QUANTILES), tail.quantiles, strict=True))
    return {name: value for name, value in vars(tail).items() if name != "counts"} | {"quantiles": quantiles}


def remarks(profile: Profile) -> list[str]:
    """What the numbers of a profile say of the choice, in sentences; empty where no rule holds."""
    graph, found = profile.structure, []
    if graph.components == 1 and graph.vertices > 1:
        return ["All vertices are in one strong component: every pair is reachable, and there is nothing to index."]
    if graph.vertices and graph.dag_edges == 0:
        return ["No edge joins two strong components: a vertex reaches those of its own component, and no other."]
    if graph.cyclic and graph.cyclic >= graph.vertices / 2:
        cyclic = share(graph.cyclic, graph.vertices)
        found.append(f"Cycles hold {cyclic} of the vertices: a pair inside a component needs no index.")
    if graph.dag_edges and graph.beyond_forest <= 0.05 * graph.dag_edges:
        but = f" but for {share(graph.beyond_forest, graph.dag_edges)} of its edges" if graph.beyond_forest else ""
        found.append(f"The condensed graph is a forest{but}.")
    found += [_asked(profile.ends)] if profile.ends is not None else []
    if profile.reach is not None and graph.vertices > 1 and profile.reach.rate <= 0.01:
        found.append("At most 1 % of random pairs are reachable: they time little but saying no.")
    costs = {each.kind: each.scanned / each.pairs for each in profile.settled}
    if not costs:
        return found
    kind = max(costs, key=costs.__getitem__)
    if costs[kind] < 1:
        found.append(
            "Searches scan less than one edge a pair, whatever the pairs: components, levels, labels and hubs decide "
            "the time of a query."
        )
    elif costs[kind] >= 10:
        searched = next(share(each.search, each.pairs) for each in profile.settled if each.kind == kind)
        found.append(
            f"Searches answer {searched} of {kind} pairs and scan {costs[kind]:,.0f} edges a pair: with many queries "
            "an index that is dearer to build and searches less may pay."
        )
    return found


def _asked(ends: Ends) -> str:
    """What the ends and the core of a graph ask of an index."""
    if ends.forest:
        return f"It is an {ends.forest} ({FORESTS[ends.forest]}): `core` answers every pair from an interval a vertex."
    if not ends.core:
        return "Trees at its ends are all of it: `core` answers every pair from intervals."
    bits = f"the closure of the {ends.core:,} vertices between its trees takes {size(ends.closure_bytes)}"
    if ends.fits:
        return f"`core` answers every pair without a search: {bits}."
    return f"The trees at its ends are not enough: {bits}, more than `core` takes here, so the core needs an index."


def profile(graph: BenchGraph, seed: int = 1) -> Profile:
    """Measures the profile of an opened graph; the same seed gives the same profile on every machine.

    Pairs of original vertices are asked, `PAIRS` as with `--queries random` and as many as with `balanced`.
    """
    dag = graph.dag
    measured = structure(graph.raw, dag)
    if measured.vertices == 0:
        return Profile(graph.name, graph.sha256, seed, measured, None, None, ())
    index = Sequential.build(dag, INDEX, NoTimer())
    drawn = {
        "random": draw_random(measured.vertices, PAIRS, seed),
        "balanced": draw_balanced(dag, PAIRS, seed)[:2],
    }
    settled = tuple(settle(index, kind, *(dag.component[ends] for ends in pairs)) for kind, pairs in drawn.items())
    return Profile(graph.name, graph.sha256, seed, measured, ends(dag), reach(dag, seed), settled)


def ends(dag: Dag) -> Ends:
    """Peels a condensed graph."""
    peeled = peel(dag)
    core = int(peeled.core.shape[0])
    closure = 8 * words(core) if core else 0
    return Ends(peeled.vertices, peeled.above, peeled.below, core, closure, needed(dag, peeled))


def outline(graph: BenchGraph) -> Outline:
    """The outline of an opened graph, the same on every machine.

    Raises InputError if its file is no longer the one that was opened.
    """
    raw, dag = graph.raw, graph.dag
    found = structure(raw, dag)
    trees = ends(dag)
    reached = reach(dag) if found.vertices else None
    cuts = level_bins(found.depth)
    return Outline(
        name=graph.name, kind=graph.kind, sha256=graph.sha256,
        vertices=found.vertices, edges=found.edges, duplicates=found.duplicates, loops=found.loops,
        components=found.components, largest=found.largest, cyclic=found.cyclic, weak=found.weak,
        dag_edges=found.dag_edges, roots=found.roots, sinks=found.sinks,
        depth=found.depth, widest=int(found.widths.max(initial=0)),
        above=trees.sources, below=trees.sinks, core=trees.core,
        rate=reached and _rounded(reached.rate), rate_error=reached and _rounded(reached.rate_error),
        levels=tuple(np.diff(np.concatenate(([0], np.cumsum(found.widths)))[cuts]).tolist()),
        incoming=bits(np.bincount(raw.targets, minlength=raw.vertices)),
        outgoing=bits(np.bincount(raw.sources, minlength=raw.vertices)),
        strong=bits(component_sizes(dag)),
    )  # fmt: skip


def _rounded(value: float) -> float:
    """To six digits, so that sums in another order give the same."""
    return float(f"{value:.6g}")


def reach(dag: Dag, seed: int = 1) -> Reach:
    """Searches a graph with vertices from `SOURCES` random ones, or from fewer once `SOURCES_BUDGET` edges were
    scanned."""
    vertices = dag.component.shape[0]
    sources = np.random.default_rng(seed).permutation(vertices)[:SOURCES]
    sizes = component_sizes(dag)
    found, _ = reached_from(dag.offsets, dag.children, dag.component[sources], SOURCES_BUDGET, sizes)
    whole = found.size == vertices
    error = 0.0 if whole else float(found.std() / np.sqrt(found.size))
    mean = float(found.mean())
    return Reach(int(found.size), whole, mean - 1, error, int(found.max()) - 1, mean / vertices, error / vertices)


def settle(index: Index, kind: str, u: np.ndarray, v: np.ndarray) -> Settled:
    """Asks pairs of vertices of the condensed graph (int32[k] each, k > 0) and says what answered them.

    `index` is one of `Sequential`, built with `INDEX`. Pairs are asked in order, until their searches have scanned
    `PAIRS_BUDGET` edges.
    """
    before, asked, positives = index.counters, 0, 0
    while asked < u.size and index.counters["edges_scanned"] - before["edges_scanned"] < PAIRS_BUDGET:
        some = slice(asked, asked + _TOGETHER)
        answers = index.query_batch(np.ascontiguousarray(u[some]), np.ascontiguousarray(v[some]), NoTimer())
        asked, positives = asked + answers.size, positives + int(answers.sum())
    work = {name: count - before[name] for name, count in index.counters.items()}
    same = int(np.count_nonzero(u[:asked] == v[:asked]))
    return Settled(
        kind=kind,
        pairs=asked,
        positives=positives,
        component=same,
        level=work["excluded_by_level"] - same,  # a vertex is not above itself
        labels=work["excluded_by_labels"],
        tree=work["accepted_by_tree"],
        hubs=work["excluded_by_hubs"] + work["accepted_by_hubs"],
        search=work["searches"],
        scanned=work["edges_scanned"],
    )
