"""The profile of a graph, which decides which index suits it: its structure, the trees at its ends and the core between
them, how much is reachable, and what answers its pairs."""

from typing import NamedTuple

import numpy as np

from grailbench.data.library import BenchGraph
from grailbench.graph import profile as structure
from grailbench.graph.profile import Degrees, Outline, Reach, bits
from grailbench.problems.reachability.core.closure import words
from grailbench.problems.reachability.core.index import fits, needed
from grailbench.problems.reachability.core.peel import peel
from grailbench.problems.reachability.cpu.grail import Sequential
from grailbench.problems.reachability.index import FILTERS, Index, NoTimer, Params
from grailbench.problems.reachability.queries import draw_balanced, draw_random
from grailbench.util.words import share, size

#: what `Profile.forest` may be, in words
FORESTS = {"in-forest": "no component has more than one child", "out-forest": "no component has more than one parent"}
PAIRS, PAIRS_BUDGET = 10_000, 100_000_000  #: pairs of a kind, and the edges that searches may scan for them
INDEX = Params(dim=2, filters=FILTERS, count=True)  #: of the index whose work is counted
_TOGETHER = 64  # pairs that are asked before the budget is looked at


class Settled(NamedTuple):
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
        counts = {name: value for name, value in self._asdict().items() if name != "kind"}
        return counts | {"rate_error": self.rate_error, "edges_a_search": self.edges_a_search}


STAGES = ("component", "level", "labels", "tree", "hubs", "search")  #: the fields of `Settled` that add up to `pairs`


class Profile(Outline):
    """The profile of a graph: its outline, and what is not recorded of other graphs.

    nontrivial          strong components of more than one vertex
    widest_weak         strong components in the largest weak one
    isolated            strong components without parents and children
    median_level        median number of components on a level
    parents, children   degrees of the condensed graph
    closure_bytes       of the packed closure of the core: a bit for each pair in one order, about k^2 / 16 bytes for a
                        core of k vertices
    needed_bytes        of the closure that `core` makes, as bits; it may be of fewer vertices (`core.rows`), and is
                        packed
    reach               None for a graph without vertices
    settled             by kind of pairs; none for a graph without vertices
    """

    seed: int
    nontrivial: int
    widest_weak: int
    isolated: int
    median_level: float
    parents: Degrees
    children: Degrees
    closure_bytes: int
    needed_bytes: int
    reach: Reach | None
    settled: tuple[Settled, ...] = ()

    @property
    def beyond_forest(self) -> int:
        """Edges of the condensed graph that a spanning forest of it, directions ignored, does not need."""
        return self.dag_edges - self.components + self.weak

    @property
    def forest(self) -> str:
        """A key of `FORESTS`, 'out-forest' if the graph is both; '' if it is neither, or has no vertices."""
        whole = {self.below: "out-forest", self.above: "in-forest"}
        return whole.get(self.components, "") if self.components else ""

    @property
    def fits(self) -> bool:
        """Whether `core` makes the closure on this machine now, unless its options say otherwise."""
        return fits(self.needed_bytes, Params())

    def record(self) -> dict:
        """The profile as JSON has it: the fields and properties by name, pairs by kind, and `remarks`, sentences.

        Shares are between 0 and 1. `fits`, and the remark on it, depend on the memory of this machine.
        """
        found = {
            name: value._asdict() if hasattr(value := getattr(self, name), "_asdict") else value
            for name in type(self).model_fields
        }
        found["settled"] = {each.kind: each.record() for each in self.settled}
        more = {name: getattr(self, name) for name in ("beyond_forest", "forest", "fits")}
        return found | more | {"remarks": remarks(self)}


def remarks(graph: Profile) -> list[str]:
    """What the numbers of a profile say of the choice, in sentences; empty where none of these rules holds.

    - all vertices are in one strong component, or no edge joins two components
    - at least half of the vertices lie on cycles
    - at most 5 % of the edges of the condensed graph are beyond a forest
    - no component has more than one child, or none more than one parent; or how large the closure of the core is
    - at most 1 % of random pairs are reachable
    - searches scan less than one edge a pair on average for every kind of pairs, or at least 10 for some kind
    """
    found: list[str] = []
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
    found += [_answered_by(graph)] if graph.vertices else []
    if graph.reach is not None and graph.vertices > 1 and graph.reach.rate <= 0.01:
        found.append("At most 1 % of random pairs are reachable: they time little but saying no.")
    costs = {each.kind: each.scanned / each.pairs for each in graph.settled}
    if not costs:
        return found
    kind = max(costs, key=costs.__getitem__)
    if costs[kind] < 1:
        found.append(
            "Searches scan less than one edge a pair, whatever the pairs: components, levels, labels and hubs decide "
            "the time of a query."
        )
    elif costs[kind] >= 10:
        searched = next(share(each.search, each.pairs) for each in graph.settled if each.kind == kind)
        found.append(
            f"Searches answer {searched} of {kind} pairs and scan {costs[kind]:,.0f} edges a pair: with many queries "
            "an index that is dearer to build and searches less may pay."
        )
    return found


def _answered_by(graph: Profile) -> str:
    """What the trees and the core of a graph ask of an index."""
    if graph.forest:
        return (
            f"It is an {graph.forest} ({FORESTS[graph.forest]}): `core` answers every pair from an interval a vertex."
        )
    if not graph.core:
        return "Trees at its ends are all of it: `core` answers every pair from intervals."
    bits = f"the closure of the {graph.core:,} vertices between its trees takes {size(graph.closure_bytes)}"
    if graph.fits:
        return f"`core` answers every pair without a search: {bits}."
    return f"The trees at its ends are not enough: {bits}, more than `core` takes here, so the core needs an index."


def profile(graph: BenchGraph, seed: int = 1, pairs: int = PAIRS) -> Profile:
    """Measures the profile of an opened graph; the same seed gives the same profile on every machine. `pairs` original
    vertices are asked as with `--queries random` and as many as with `balanced`. Raises InputError if its file is no
    longer the one that was opened."""
    raw, dag = graph.raw, graph.dag
    sizes, weak, widths = (
        structure.component_sizes(dag),
        structure.weak_components(dag),
        np.bincount(dag.levels[:-1])[1:],
    )
    parents, children = structure.degrees(dag)
    peeled = peel(dag)
    core = int(peeled.core.shape[0])
    reached, drawn, index = structure.reach(dag, seed) if raw.vertices else None, {}, None
    if raw.vertices and pairs:
        index = Sequential.build(dag, INDEX, NoTimer())
        drawn = {"random": draw_random(raw.vertices, pairs, seed), "balanced": draw_balanced(dag, pairs, seed)[:2]}
    return Profile(
        name=graph.name, kind=graph.kind, sha256=graph.sha256, seed=seed,
        vertices=raw.vertices, edges=raw.edges, duplicates=structure.repeated(raw),
        loops=int(np.count_nonzero(raw.sources == raw.targets)),
        components=sizes.size, largest=int(sizes.max(initial=0)),
        nontrivial=int(np.count_nonzero(sizes > 1)), cyclic=int(sizes[sizes > 1].sum()),
        weak=weak.size, widest_weak=int(weak.max(initial=0)), dag_edges=int(dag.offsets[-2]),
        roots=dag.roots.size, sinks=int(np.count_nonzero(children == 0)),
        isolated=int(np.count_nonzero((parents == 0) & (children == 0))),
        depth=widths.size, widest=int(widths.max(initial=0)),
        median_level=float(np.median(widths)) if widths.size else 0.0,
        levels=tuple(np.diff(np.concatenate(([0], np.cumsum(widths)))[structure.level_bins(widths.size)]).tolist()),
        parents=Degrees.of(parents), children=Degrees.of(children),
        incoming=bits(np.bincount(raw.targets, minlength=raw.vertices)),
        outgoing=bits(np.bincount(raw.sources, minlength=raw.vertices)),
        strong=bits(sizes),
        above=peeled.above, below=peeled.below, core=core,
        closure_bytes=8 * words(core) if core else 0, needed_bytes=needed(dag, peeled),
        rate=reached and _rounded(reached.rate), rate_error=reached and _rounded(reached.rate_error),
        reach=reached,
        settled=tuple(settle(index, kind, *dag.component[np.stack(ends)]) for kind, ends in drawn.items()),
    )  # fmt: skip


def _rounded(value: float) -> float:
    """To six digits, so that sums in another order give the same."""
    return float(f"{value:.6g}")


def settle(index: Index, kind: str, u: np.ndarray, v: np.ndarray) -> Settled:
    """Asks pairs of vertices of the condensed graph (int32[k] each, k > 0) and says what answered them.

    `index` is one of `Sequential`, built with `INDEX`. Pairs are asked in order, until their searches have scanned
    `PAIRS_BUDGET` edges.
    """
    before, done, positives = index.counters, 0, 0
    while done < u.size and index.counters["edges_scanned"] - before["edges_scanned"] < PAIRS_BUDGET:
        some = slice(done, done + _TOGETHER)
        answers = index.query_batch(np.ascontiguousarray(u[some]), np.ascontiguousarray(v[some]), NoTimer())
        done, positives = done + answers.size, positives + int(answers.sum())
    work = {name: count - before[name] for name, count in index.counters.items()}
    same = int(np.count_nonzero(u[:done] == v[:done]))
    return Settled(
        kind=kind,
        pairs=done,
        positives=positives,
        component=same,
        level=work["excluded_by_level"] - same,  # a vertex is not above itself
        labels=work["excluded_by_labels"],
        tree=work["accepted_by_tree"],
        hubs=work["excluded_by_hubs"] + work["accepted_by_hubs"],
        search=work["searches"],
        scanned=work["edges_scanned"],
    )
