"""From edges to a DAG by levels in one call, for small graphs: the result of `condense` and `by_level`, in one buffer.

A small graph is condensed and numbered in some tens of microseconds, of which separate calls, with an array or two for
each step, take more than half. Compiled code here sees unsigned numbers: where an index could be negative, numba adds
a test of it, and loops with such tests take up to twice as long.
"""

from typing import NamedTuple

import numpy as np

from grailbench.graph.condense import find_between, strong_components
from grailbench.graph.csr import VERTEX, Graph
from grailbench.util.compiled import njit


class Fields(NamedTuple):
    """Where fields lie in the buffer, one behind the other: the names of `leveled.Leveled`, with the CSR of parents and
    `edge_starts`, int32[depth + 1], the first edge of each level. Offsets are int32 here."""

    vertex: slice
    rank: slice
    starts: slice
    sources: slice
    targets: slice
    parent_starts: slice
    deep_starts: slice
    level_starts: slice
    edge_starts: slice
    deep_sources: slice
    deep_targets: slice
    parents: slice


_ALIGNED = 32  #: int32; where a field may begin
_BLOCK = 1 << 10  #: edges after which it is seen whether they ascend
_NONE = np.uint32(2**32 - 1)
_ROWS = 5  #: arrays of the scratch that have a place for each vertex


def most_words(vertices: int, edges: int) -> int:
    """Returns the int32 that `number` needs for a graph of so many vertices and edges, scratch included."""
    n, m = vertices + 1, edges + vertices
    return 5 * (n + 1) + 2 * (n + 2) + 5 * m + 4 + len(Fields._fields) * _ALIGNED + _scratch(vertices, edges)


def number(graph: Graph, words: np.ndarray, spare: int = 0) -> tuple[Fields, np.ndarray | None]:
    """Condenses a graph of n > 0 vertices and numbers it by level into `words`, int32[>= most_words + spare].

    Returns where the fields are, and the component of each vertex, int32[n], or None if each vertex is its own. There
    are at least `spare` words before the field `parents`, which `transpose` fills.
    """
    found, component = _number(graph.vertices, *map(_unsigned, (graph.sources, graph.targets, words))), None
    if found[0] < 0:
        components, component, *ends = _condensed(graph, words, *found[1:3])
        found = _number(components, *map(_unsigned, (*ends, words)))
    ends = found.tolist()
    begin = _up(ends[-1] + spare)
    ends += [begin, begin + ends[7] - ends[6]]  # as long as `sources`
    return Fields._make(map(slice, ends[::2], ends[1::2])), component


def transpose(words: np.ndarray, fields: Fields) -> None:
    """Fills the field `parents`; rows ascend."""
    fields = fields._make(map(_unsigned(words).__getitem__, fields))
    _transpose(fields.sources, fields.targets, fields.parent_starts.copy(), fields.parents)


def _unsigned(array: np.ndarray) -> np.ndarray:
    return array.view(np.uint32)


def _condensed(graph: Graph, words: np.ndarray, kept: int, taken: int) -> tuple:
    """Returns the number of components, the component of each vertex, and the components at both ends of the edges
    between different ones; of the rows that `_number` left in its scratch, and the vertices that it took."""
    n, m = graph.vertices, graph.edges
    scratch = words[words.shape[0] - _scratch(n, m) :]
    us, vs = (scratch[_ROWS * (n + 2) + i * m :][:kept] for i in (0, 1))
    levels = np.full(n, -1, VERTEX)
    levels[words[1:taken]] = 0  # each is a component of its own
    components, component = strong_components(scratch[: n + 1].astype(np.int64), vs, levels)
    ends = words[:kept], words[kept : 2 * kept]  # `_number` has read them before it writes there
    between = find_between(component, us, vs, *ends, 0, kept)
    return components, component, *(side[:between] for side in ends)


@njit(cache=True)
def _scratch(n, m):
    return _ROWS * (n + 2) + 4 * m


@njit(cache=True)
def _number(n, sources, targets, words):
    """Returns begin and end of each of `Fields` but `parents`, int64[22]. If the graph has a cycle: -1, the
    number of edges left, and that of the vertices taken before it, the super-root included.

    Loops are flat and free of branches where they can be: a branch that is guessed wrong costs more than the rest of
    its turn. Scratch is at the end of `words`.
    """
    m, found = sources.shape[0], np.empty(22, np.int64)
    scratch = words[words.shape[0] - _scratch(n, m) :]
    starts, missing, levels, by_vertex, below = (
        scratch[: n + 2], scratch[n + 2 : 2 * n + 4], scratch[2 * n + 4 : 3 * n + 6], scratch[3 * n + 6 : 4 * n + 8],
        scratch[4 * n + 8 : 5 * n + 10],
    )  # fmt: skip
    scratch = scratch[_ROWS * (n + 2) :]
    us, vs = scratch[:m], scratch[m : 2 * m]
    if _ascend(sources, targets):
        kept = _unique(n, sources, targets, us, vs, starts, missing)
    else:
        more = scratch[2 * m : 3 * m], scratch[3 * m : 4 * m]
        kept = _sorted(n, sources, targets, by_vertex, below, levels, *more, us, vs, starts, missing)
    us, vs = us[:kept], vs[:kept]
    below[:n] = missing[:n]
    order, first_rank = words[: n + 2], _up(n + 2)
    rank = words[first_rank : first_rank + n + 1]
    first_row = _up(first_rank + n + 1)
    row_starts = words[first_row : first_row + n + 2]
    taken, depth = _walk(n, starts, vs, missing, order, rank, levels, by_vertex, row_starts)
    if taken < n + 1:
        found[0], found[1], found[2] = -1, kept, taken
        return found
    m, at = kept + levels[2] - 1, 0
    for i, length in enumerate((n + 1, n + 1, n + 2, m, m, n + 2, n + 2, depth + 1, depth + 1, m + 1, m + 1)):
        found[2 * i], found[2 * i + 1] = at, at + length
        at = first_rank if i == 0 else _up(at + length)
    _count_parents(below, words[: n + 1], words[found[10] : found[11]])
    for level in range(depth):
        below[levels[level] : levels[level + 1]] = levels[level + 2] if level + 2 <= depth else 0
    edges = words[found[6] : found[7]], words[found[8] : found[9]]
    _renumber(us, vs, rank, by_vertex, levels[2] - 1, *edges)
    deep_edges = words[found[18] : found[19]], words[found[20] : found[21]]
    deep = _keep_deep(*edges, below, words[found[12] : found[13]], *deep_edges)
    level_starts, edge_starts = words[found[14] : found[15]], words[found[16] : found[17]]
    for level in range(depth + 1):
        level_starts[level], edge_starts[level] = levels[level], row_starts[levels[level]]
    found[19] = found[18] + deep
    at = _up(found[19])  # the targets of deep edges move up to their sources
    for k in range(deep):
        words[at + k] = words[found[20] + k]
    found[20], found[21] = at, at + deep
    return found


@njit(cache=True)
def _up(at):
    """Returns the next place where a field may begin."""
    return (at + _ALIGNED - 1) // _ALIGNED * _ALIGNED


@njit(cache=True)
def _ascend(sources, targets):
    """Returns whether edges ascend by source and target. Its inner loop takes several edges at a time."""
    last = max(sources.shape[0] - 1, 0)
    for first in range(0, last, _BLOCK):
        end, falls = min(first + _BLOCK, last), False
        u, v, next_u, next_v = sources[first:end], targets[first:end], sources[first + 1 :], targets[first + 1 :]
        for k in range(end - first):
            falls |= (next_u[k] < u[k]) | ((next_u[k] == u[k]) & (next_v[k] < v[k]))
        if falls:
            return False
    return True


@njit(cache=True)
def _unique(n, sources, targets, us, vs, starts, missing):
    """Writes edges that ascend by source and target without duplicates and self-loops, where rows begin, and the number
    of parents of each vertex; returns how many edges are left."""
    starts[:], missing[:] = 0, 0
    kept, last, before = np.uint32(0), _NONE, _NONE
    for k in range(sources.shape[0]):
        u, v = sources[k], targets[k]
        new = np.uint32((u != v) & ((u != last) | (v != before)))
        us[kept], vs[kept] = u, v
        kept = np.uint32(kept + new)
        missing[v] += new
        starts[u + 1] = kept
        last, before = u, v
    for u in range(n):
        starts[u + 1] = max(starts[u], starts[u + 1])
    return kept


@njit(cache=True)
def _sorted(n, sources, targets, by_target, by_source, seen, parents, children, us, vs, starts, missing):
    """As `_unique`, of edges in any order. The others are overwritten: parents and children uint32[m], by_target,
    by_source and seen uint32[> n]."""
    m = sources.shape[0]
    by_target[:], starts[:], missing[:], seen[:], us[:] = 0, 0, 0, _NONE, _NONE
    for k in range(m):
        by_target[targets[k] + 1] += 1
        starts[sources[k] + 1] += 1
    for v in range(n):
        by_target[v + 1] += by_target[v]
        starts[v + 1] += starts[v]
        by_source[v] = starts[v]
    for k in range(m):
        v = targets[k]
        at = by_target[v]
        parents[at], children[at] = sources[k], v
        by_target[v] = at + 1
    kept = np.uint32(0)
    for k in range(m):
        u, v = parents[k], children[k]
        new = np.uint32((u != v) & (seen[u] != v))
        seen[u] = v
        at = by_source[u]
        us[at], vs[at] = u if new else _NONE, v
        by_source[u] = at + new
        missing[v] += new
        kept = np.uint32(kept + new)
    if kept < m:
        kept = np.uint32(0)
        for k in range(m):
            us[kept], vs[kept] = us[k], vs[k]
            kept = np.uint32(kept + np.uint32(us[k] != _NONE))
        end = np.uint32(0)
        for u in range(n):
            length = by_source[u] - starts[u]
            starts[u] = end
            end = np.uint32(end + length)
        starts[n] = end
    return kept


@njit(cache=True)
def _walk(n, starts, children, missing, order, rank, levels, shift, row_starts):
    """Takes the vertices level by level, as `condense.kahn`; returns how many are taken, and the number of levels.

    order uint32[n + 2]: the queue; levels uint32[n + 2]: the first vertex of each level, and the end; row_starts
    uint32[n + 2]: where rows begin, by number; shift uint32[n]: how far the edges of a vertex move, modulo 2^32.
    """
    order[0], rank[n], levels[0], levels[1] = n, 0, 0, 1
    taken, at, depth = np.uint32(1), np.uint32(1), 1
    for v in range(n):
        order[taken] = v
        taken = np.uint32(taken + np.uint32(missing[v] == 0))
    row = np.uint32(taken - 1)
    row_starts[0], row_starts[1] = 0, row
    while at < taken:
        end = taken
        depth += 1
        levels[depth] = end
        for x in range(at, end):
            u = order[x]
            rank[u] = x
            first, last = starts[u], starts[u + 1]
            shift[u] = np.uint32(row - first)
            row = np.uint32(row + np.uint32(last - first))
            row_starts[x + 1] = row
            for k in range(first, last):
                v = children[k]
                left = np.uint32(missing[v] - 1)
                missing[v] = left
                order[taken] = v
                taken = np.uint32(taken + np.uint32(left == 0))
        at = end
    return taken, depth


@njit(cache=True)
def _renumber(us, vs, rank, shift, roots, sources, targets):
    for k in range(roots):
        sources[k], targets[k] = 0, k + 1
    for k in range(us.shape[0]):
        u = us[k]
        at = np.uint32(shift[u] + np.uint32(k))
        sources[at], targets[at] = rank[u], rank[vs[k]]


@njit(cache=True)
def _keep_deep(sources, targets, below, starts, deep_sources, deep_targets):
    """Writes the CSR of the deep edges, whose arrays have room for one more, and returns how many there are."""
    starts[:] = 0
    deep = np.uint32(0)
    for k in range(sources.shape[0]):
        x, y = sources[k], targets[k]
        deep_sources[deep], deep_targets[deep] = x, y
        deep = np.uint32(deep + np.uint32(y < below[x]))
        starts[x + 1] = deep
    for x in range(starts.shape[0] - 1):
        starts[x + 1] = max(starts[x], starts[x + 1])
    return deep


@njit(cache=True)
def _count_parents(parents, order, starts):
    """Writes where the rows of parents begin. parents uint32[n]: their numbers, without the super-root, by vertex."""
    starts[0], starts[1] = 0, 0
    for x in range(1, order.shape[0]):
        starts[x + 1] = starts[x] + max(parents[order[x]], np.uint32(1))


@njit(cache=True)
def _transpose(sources, targets, at, parents):
    """Writes the parents of all vertices; rows ascend as the sources do. at uint32[n + 2]: where rows begin, is
    overwritten."""
    for k in range(targets.shape[0]):
        y = targets[k]
        parents[at[y]] = sources[k]
        at[y] += 1
