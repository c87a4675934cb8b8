"""The functions of NetworkX that this backend answers.

Where NetworkX raises an exception, or gets arguments that leave nothing to compute, its own function is called with
the NetworkX graph: then exceptions are the same in every version of NetworkX.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import ceil
from typing import Any

import networkx as nx
import numpy as np

from grailbench.api.nx.graph import Converted, Search
from grailbench.util.guard import interruptible_but

#: nodes from which NetworkX is left to answer itself where it may choose, see docs/how-to/networkx.md
FEW = 100


@interruptible_but("has_path", "should_run", "convert_to_nx")  # which run no compiled code but what others protect
class Backend:
    """What the entry point `networkx.backends` names; its functions have the names and arguments of NetworkX's."""

    @staticmethod
    def convert_from_nx(graph: Any, **wanted: Any) -> Converted:
        """A NetworkX graph as arrays, once whatever attributes NetworkX wants: they stay where they are."""
        cached = (getattr(graph, "__networkx_cache__", None) or {}).get("backends", {}).get("grailbench", {})
        for found in list(cached.values()):
            if isinstance(found, Converted) and not found.changed:
                return found
        return Converted(graph)

    @staticmethod
    def convert_to_nx(result: Any) -> Any:
        """The NetworkX graph of a converted one; any other result is one of NetworkX's kind already."""
        return result.source if isinstance(result, Converted) else result

    @staticmethod
    def should_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
        """Whether the call is worth a conversion, where NetworkX may choose."""
        graph = args[0] if args else kwargs["G"]
        if len(graph) >= FEW:
            return True
        cached = (getattr(graph, "__networkx_cache__", None) or {}).get("backends", {})
        return bool(cached.get("grailbench")) or f"a graph of less than {FEW} nodes is not worth a conversion"

    @staticmethod
    def has_path(G: Converted, source: Any, target: Any) -> Any:
        G.check()
        try:
            u, v = G.vertex_of[source], G.vertex_of[target]
        except (KeyError, TypeError):
            return _by_networkx("has_path", G, source, target)
        return G.index.reaches(u, v)

    @staticmethod
    def descendants(G: Converted, source: Any) -> Any:
        return _reached("descendants", G, source, (G.offsets, G.targets))

    @staticmethod
    def ancestors(G: Converted, source: Any) -> Any:
        return _reached("ancestors", G, source, G.backward)

    @staticmethod
    def single_source_shortest_path_length(G: Converted, source: Any, cutoff: Any = None) -> Any:
        G.check()
        try:
            place = G.vertex_of[source]
        except (KeyError, TypeError):
            return _by_networkx("single_source_shortest_path_length", G, source, cutoff)
        n = len(G.nodes)
        deepest = n if cutoff is None or cutoff >= n else ceil(cutoff) if cutoff > 0 else 0
        search = Search(G.offsets, G.targets)
        found = search.reach(place, deepest)
        levels = search.levels[: found.size].tolist()
        return {source: 0, **dict(zip(_named(G, found), levels, strict=True))}

    @staticmethod
    def is_directed_acyclic_graph(G: Converted) -> bool:
        G.check(edges=True)
        return G.is_directed() and G.acyclic

    @staticmethod
    def topological_generations(G: Converted) -> Any:
        G.check(edges=True)
        return _generations(G) if G.is_directed() else _by_networkx("topological_generations", G)

    @staticmethod
    def transitive_closure(G: Converted, reflexive: Any = False) -> Any:
        if reflexive not in (None, False, True):
            return _by_networkx("transitive_closure", G, reflexive)
        G.check(edges=True)
        return _closed(G, reflexive)

    @staticmethod
    def transitive_closure_dag(G: Converted, topo_order: Any = None) -> Any:
        G.check(edges=True)
        if not (G.acyclic if topo_order is None else _is_topological(G, topo_order)):
            return _by_networkx("transitive_closure_dag", G, topo_order)
        return _closed(G, None)

    @staticmethod
    def condensation(G: Converted, scc: Any = None) -> Any:
        if scc is not None:
            return _by_networkx("condensation", G, scc)
        G.check(edges=True)
        members, ends, component = G.components
        nodes, starts = _named(G, members), [0, *ends.tolist()]
        parts = [set(nodes[first:end]) for first, end in pairwise(starts)]
        condensed: nx.DiGraph[int] = nx.DiGraph(
            mapping={node: number for number, part in enumerate(parts) for node in part}
        )
        condensed.add_nodes_from(range(len(parts)))
        nx.set_node_attributes(condensed, dict(enumerate(parts)), "members")
        sources, targets = (component[ends] for ends in G.edges())
        between = sources != targets
        pairs = sources[between] * np.int64(len(parts)) + targets[between]
        first = np.sort(np.unique(pairs, return_index=True)[1])
        _add_edges(condensed, sources[between][first], targets[between][first])
        return condensed


def _add_edges(graph: Any, sources: np.ndarray, targets: np.ndarray) -> None:
    """Adds edges (int[k] twice, all different) to a DiGraph that has their ends and no edges: row by row, in a third of
    the time that `add_edges_from` takes."""
    attributes = np.empty(sources.size, object)
    attributes[:] = [{} for _ in range(sources.size)]
    for rows, ends, others in ((graph._succ, sources, targets), (graph._pred, targets, sources)):
        order = np.argsort(ends, kind="stable")
        grouped, starts = ends[order], np.flatnonzero(np.diff(ends[order], prepend=-1))
        found, its = others[order].tolist(), attributes[order].tolist()
        cuts = pairwise([*starts.tolist(), len(found)])
        for end, (first, last) in zip(grouped[starts].tolist(), cuts, strict=True):
            rows[end].update(zip(found[first:last], its[first:last], strict=True))


def _by_networkx(name: str, graph: Converted, *arguments: Any) -> Any:
    """What NetworkX's own function returns, or raises, for the NetworkX graph."""
    return getattr(nx, name).orig_func(graph.source, *arguments)


def _named(graph: Converted, vertices: np.ndarray) -> list[Any]:
    """The nodes of vertices int[k]."""
    return list(map(graph.nodes.__getitem__, vertices.tolist()))


def _reached(name: str, graph: Converted, source: Any, rows: tuple[np.ndarray, np.ndarray]) -> Any:
    """The set of nodes that a search of these rows finds from a node, without itself."""
    graph.check()
    try:
        place = graph.vertex_of[source]
    except (KeyError, TypeError):
        return _by_networkx(name, graph, source)
    return set(_named(graph, Search(*rows).reach(place, len(graph.nodes))))


def _generations(graph: Converted) -> Iterator[list[Any]]:
    """Yields the generations of a directed graph. If it is changed meanwhile, it goes on as NetworkX does."""
    order, ends = graph.generations
    following = np.split(order, ends)
    for number, generation in enumerate(following[:-1]):
        yield _named(graph, generation)
        if graph.changed:
            yield from _changed_generations(graph, order[: ends[number]], following[number + 1])
            return
    if not graph.acyclic:
        raise nx.NetworkXUnfeasible("Graph contains a cycle or graph changed during iteration")


def _changed_generations(graph: Converted, taken: np.ndarray, following: np.ndarray) -> Iterator[list[Any]]:
    """Yields the other generations of a graph that was changed after those with the vertices `taken` (int[k]).

    As in NetworkX, the vertices of the `following` generation (int[l]) and the numbers of missing parents are those
    before the change, and edges those after it. Raises RuntimeError or NetworkXUnfeasible if that shows.
    """
    source, (parents, children) = graph.source, graph.edges()
    waiting = np.ones(len(graph.nodes), np.bool_)
    waiting[taken] = False
    counts = np.bincount(children[waiting[parents]], minlength=waiting.size).tolist()
    missing = {graph.nodes[v]: counts[v] for v in np.flatnonzero(waiting).tolist() if counts[v]}
    ready = _named(graph, following)
    while ready:
        generation, ready = ready, []
        for node in generation:
            if node not in source or not missing.keys() >= set(source.neighbors(node)):
                raise RuntimeError("Graph changed during iteration")
            for child in source.neighbors(node):
                missing[child] -= 1
                if missing[child] == 0:
                    ready.append(child)
                    del missing[child]
        yield generation
    if missing:
        raise nx.NetworkXUnfeasible("Graph contains a cycle or graph changed during iteration")


def _is_topological(graph: Converted, order: Iterable[Any]) -> bool:
    """Whether a sequence has every node once, each before all that it has edges to."""
    try:
        places = [graph.vertex_of[node] for node in order]
    except (KeyError, TypeError):
        return False
    if sorted(places) != list(range(len(graph.nodes))):
        return False
    position = np.argsort(places)
    sources, targets = graph.edges()
    return bool((position[sources] < position[targets]).all())


def _closed(graph: Converted, reflexive: bool | None) -> Any:
    """The closure as a NetworkX graph of the same class with the attributes of the graph and of its edges.

    Edges are added in the order of NetworkX; `reflexive` as there: True, None (never an edge from a node to itself) or
    False (such an edge where the node is on a cycle).
    """
    closed, search = graph.source.copy(), Search(graph.offsets, graph.targets)
    again = reflexive is False and graph.is_directed()
    for place, node in enumerate(graph.nodes):
        reached: Iterable[Any] = _named(graph, search.reach(place, len(graph.nodes), again))
        if reflexive is None:
            reached = set(reached)
        elif reflexive is True:
            reached = set(reached) | {node}
        row = closed._adj[node]
        closed.add_edges_from((node, other) for other in reached if other not in row)
    return closed
