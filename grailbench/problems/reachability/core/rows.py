"""The core without its chains: which of its vertices need a row or a column of the closure, and the closure of these.

Only vertices with two parents or more in the core own a column; others hang below their parent in an out-tree. A vertex
with one child takes that vertex's row, unless it owns a column and another vertex takes its own row. Columns count from
1 in the order of searches from the last source, then the one before it: what is reached together is near. 0 stands for
no column, and row `rows` for none.
"""

from collections.abc import Callable

import numpy as np
from numba import njit

from grailbench.graph.csr import Dag
from grailbench.problems.reachability.core import records
from grailbench.problems.reachability.core.patterns import find_patterns
from grailbench.problems.reachability.core.peel import Peeled


@njit(cache=True, nogil=True)
def graph_of_core(offsets, children, core, place, first):
    """Returns the edges of the core as a CSR (int64[k + 1], int32[e]), the number of parents, up to 2, of each vertex
    (int8[k]) and the last of them (int32[k])."""
    k, count = core.shape[0], 0
    starts, targets = np.empty(k + 1, np.int64), np.empty(children.shape[0] + 1, np.int32)
    parents, parent = np.zeros(k + 1, np.int8), np.full(k + 1, -1, np.int32)  # the last entries: of all vertices below
    for i in range(k):
        starts[i] = count
        u = core[i]
        for j in range(np.uint64(offsets[u]), np.uint64(offsets[u + 1])):
            child = np.uint64(min(place[children[j]] - first, k))
            targets[count] = child
            count += child < k
            parent[child] = i
            parents[child] = min(parents[child] + 1, 2)
    starts[k] = count
    return starts, targets[:count], parents[:k], parent[:k]


@njit(cache=True, nogil=True)
def count(starts, targets, parents):
    """Returns the numbers of columns and of rows that `number` deals out, by one pass over the vertices."""
    k = parents.shape[0]
    taken, columns, rows = np.zeros(k, np.bool_), 0, 0
    for i in range(k):  # a vertex comes before its children
        degree = starts[i + 1] - starts[i]
        if degree == 1:
            taken[targets[starts[i]]] = True
        columns += parents[i] >= 2
        rows += degree >= 2 or (parents[i] >= 2 and taken[i])
    return columns, rows


@njit(cache=True, nogil=True)
def number(starts, targets, parents, parent):
    """Returns the column of each vertex, owned or taken (int32[k]), the row of each, owned or taken, -1 for none
    (int32[k]), and int8[k]: 0 for a vertex without a row of its own, 2 for one whose row another vertex takes, so that
    it has the vertex's column, else 1."""
    k = parents.shape[0]
    column, row, owned = np.zeros(k, np.int32), np.full(k, -1, np.int32), np.zeros(k, np.int8)
    taken, columns, rows = np.zeros(k, np.bool_), 0, 0
    todo = np.empty(k, np.int32)
    for root in range(k - 1, -1, -1):
        if parents[root] > 0:
            continue
        todo[0], waiting = root, 1
        while waiting > 0:
            waiting -= 1
            at = np.uint64(todo[waiting])
            if parents[at] >= 2:
                columns += 1
                column[at] = columns
            for j in range(np.uint64(starts[at]), np.uint64(starts[at + np.uint64(1)])):
                child = np.uint64(targets[j])
                if column[child] == 0:
                    column[child] = -1
                    todo[waiting] = child
                    waiting += 1
    for i in range(k):
        if parents[i] == 1:
            column[i] = max(column[parent[i]], 0)
        if starts[i + 1] - starts[i] == 1:
            taken[targets[starts[i]]] = True
    for i in range(k - 1, -1, -1):
        degree = starts[i + 1] - starts[i]
        if degree >= 2 or (parents[i] >= 2 and taken[i]):
            row[i] = rows
            owned[i] = 2 if parents[i] >= 2 and taken[i] else 1
            rows += 1
        elif degree == 1:
            row[i] = row[targets[starts[i]]]
    return column, row, owned


@njit(cache=True, nogil=True)
def place_below(position, gate, above, parents, parent):
    """Returns the positions (int32[k]) and sizes (int32[k]) of the core in the out-trees that its vertices with one
    parent and the peeled ones form, and the positions of the peeled ones (int32[below]), by their present ones.

    A vertex is followed by the peeled trees that hang at it, and then by its vertices of one parent, each with its own.
    """
    k, n = parents.shape[0], position.shape[0] - 1
    first = above + k
    sizes, places, moved = np.ones(k, np.int32), np.empty(k, np.int32), np.full(n - first, -1, np.int32)
    for v in range(n):
        at = position[v] - first
        if at >= 0 and gate[v] >= 0:
            moved[at] = position[gate[v]] - above  # first at which vertex of the core it hangs
            sizes[moved[at]] += 1
    next_peeled, next_core = np.empty(k, np.int32), sizes.copy()
    for i in range(k - 1, -1, -1):
        if parents[i] == 1:
            sizes[parent[i]] += sizes[i]
    free = above
    for i in range(k):
        if parents[i] == 1:
            places[i] = next_core[parent[i]]
            next_core[parent[i]] += sizes[i]
        else:
            places[i] = free
            free += sizes[i]
        next_peeled[i] = places[i] + 1
        next_core[i] += places[i]
    for p in range(n - first):
        i = moved[p]
        if i < 0:
            moved[p] = free
            free += 1
        else:
            moved[p] = next_peeled[i]
            next_peeled[i] += 1
    return places, sizes, moved


@njit(cache=True, nogil=True)
def fill(position, end, gate, above, core, places, sizes, moved, column, row, numbers, never, sources, targets):
    """Fills the records as `records` describes them. numbers: of `packed`, the last of which is the empty row."""
    n, below = position.shape[0] - 1, above + core
    none = numbers[numbers.shape[0] - 1]
    for v in range(n):
        at, beyond = position[v], gate[v]
        if at < above:
            targets[v, 0], targets[v, 1] = at, end[v] - at
            sources[v, 0], sources[v, 1], sources[v, 2], sources[v, 3] = at, none, 0, 0
            if beyond < 0:
                continue
            gate_at = position[beyond]
            if gate_at >= below:
                sources[v, 2], sources[v, 3] = moved[gate_at - below], end[beyond] - gate_at
                continue
            i = gate_at - above
        elif at < below:
            i = at - above
            targets[v, 0] = places[i]
            targets[v, 1] = above + column[i] if column[i] > 0 else 0
            sources[v, 0] = never
        else:
            low = moved[at - below]
            owner = 0 if beyond < 0 else column[position[beyond] - above]
            targets[v, 0], targets[v, 1] = low, (above + owner if owner > 0 else 0)
            sources[v, 0], sources[v, 1], sources[v, 2], sources[v, 3] = never, none, low, end[v] - at
            continue
        sources[v, 1] = none if row[i] < 0 else numbers[row[i]]
        sources[v, 2], sources[v, 3] = places[i], sizes[i]
    sources[n, 0], sources[n, 1], sources[n, 2], sources[n, 3] = never, none, 0, never
    targets[n, 0], targets[n, 1] = n, 0


empty_bits = np.zeros  #: where memory may run out


def contracted(dag: Dag, peeled: Peeled, fits: Callable[[int], bool], most: int) -> dict[str, np.ndarray] | None:
    """Returns the records and the arrays of `patterns.Patterns` by name, and 'shape' as `CoreIndex` has it.

    None if `fits` says no to the bytes that the contracted closure takes as bits, if its patterns take more than
    `most`, or if there are too many of them. Raises MemoryError.
    """
    core, above = peeled.core, peeled.above
    edges = graph_of_core(dag.offsets, dag.children, core, peeled.position, above)
    columns, rows = count(*edges[:3])
    if not fits(_as_bits(rows, columns)):
        return None
    column, row, owned = number(*edges)
    short = peeled.vertices + above + columns + 2 < records.SHORT
    found = find_patterns((*edges[:3], column, row, owned), columns, rows, most, short)
    if found is None:
        return None
    patterns, known = found
    kind, n = np.uint16 if short else np.uint32, peeled.vertices
    tall, flat = np.empty((n + 1, 4), kind), np.empty((n + 1, 2), kind)
    trees = peeled.position, peeled.end, peeled.gate, above
    places, sizes, moved = place_below(peeled.position, peeled.gate, above, *edges[2:])
    never = np.iinfo(kind).max
    fill(*trees, core.shape[0], places, sizes, moved, column, row, known, never, tall, flat)
    arrays = patterns._asdict()
    shape = np.array([above, core.shape[0], arrays.pop("grid"), rows, columns], np.int64)
    return {"shape": shape, "sources": tall, "targets": flat, **arrays}


def bytes_needed(dag: Dag, peeled: Peeled) -> int:
    """Returns how many bytes `contracted` asks `fits` for."""
    edges = graph_of_core(dag.offsets, dag.children, peeled.core, peeled.position, peeled.above)
    columns, rows = count(*edges[:3])
    return _as_bits(rows, columns)


def _as_bits(rows: int, columns: int) -> int:
    return 8 * rows * (columns // 64 + 1)
