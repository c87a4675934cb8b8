"""The forests and the core that `peel` finds: their shape, and that they answer as the oracle does."""

from __future__ import annotations

from hypothesis import given
from naive import condensed_edges, reachable_from
from strategies import dag_of, digraphs

from grailbench.problems.reachability.core.peel import NONE, peel


def _condensed(graph):
    """A drawn graph as (vertices, edges) without cycles or super-root, and what is peeled from it."""
    dag = dag_of(*graph)
    edges = [(u, v) for u, v in condensed_edges(*graph) if u != dag.super_root]
    return dag.vertices - 1, edges, peel(dag)


def _peeled_by_hand(vertices, edges):
    """The sets B and A by the definition: remove sources with at most one child, then sinks with one parent."""
    targets = [v for _, v in edges]
    left, sides = set(range(vertices)), []
    for end in (1, 0):
        side = set()
        if end == 1 and len(targets) == len(set(targets)):
            sides.append(side)  # nothing but out-trees
            continue
        while True:
            inner = [(u, v) for u, v in edges if u in left and v in left]
            into, out = ([each[at] for each in inner] for at in (end, 1 - end))
            found = {v for v in left if v not in into and out.count(v) <= 1}
            if not found:
                break
            left -= found
            side |= found
        sides.append(side)
    return *sides, left


@given(digraphs().filter(lambda graph: graph[0] <= 40))
def test_the_sides_are_those_of_the_definition(graph):
    vertices, edges, found = _condensed(graph)
    above, below, core = _peeled_by_hand(vertices, edges)
    places = {int(found.position[v]): v for v in range(vertices)}
    assert sorted(places) == list(range(vertices))
    assert found.position[-1] == vertices == found.vertices
    assert {places[at] for at in range(found.above)} == above
    assert {places[at] for at in range(vertices - found.below, vertices)} == below
    assert [places[found.above + at] for at in range(len(found.core))] == found.core.tolist()
    assert set(found.core.tolist()) == core
    ranks = {v: at for at, v in enumerate(found.core.tolist())}
    assert all(ranks[u] < ranks[v] for u, v in edges if u in ranks and v in ranks)


@given(digraphs().filter(lambda graph: graph[0] <= 40))
def test_intervals_and_gates_leave_only_pairs_of_the_core_open(graph):
    vertices, edges, found = _condensed(graph)
    reach = [reachable_from(vertices, edges, u) for u in range(vertices)]
    for u in range(vertices):
        for v in range(vertices):
            assert _answer(found, reach, u, v) == (v in reach[u]), (u, v)


def _answer(found, reach, u, v):
    """The answer as `Peeled` describes it; `reach` is asked for pairs of the core alone."""
    position, end = found.position.tolist(), found.end.tolist()
    first_below = found.vertices - found.below
    if position[v] < found.above:
        return position[u] < found.above and position[v] <= position[u] < end[v]
    if position[u] < found.above:
        u = int(found.gate[u])
    if u != NONE and position[v] >= first_below:
        if position[u] >= first_below:
            return position[u] <= position[v] < end[u]
        v = int(found.gate[v])
    if NONE in (u, v) or position[u] >= first_below:
        return False
    assert {u, v} <= set(found.core.tolist())
    return v in reach[u]
