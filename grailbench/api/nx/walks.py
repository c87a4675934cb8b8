"""Searches of a CSR (offsets int64[n + 1], targets int32[m]) that find vertices in the order of NetworkX.

A row has the neighbours of a vertex in the order of the NetworkX graph, each once.
"""

import numpy as np

from grailbench.util.compiled import njit


@njit(cache=True, nogil=True)
def breadth_first(
    offsets: np.ndarray,
    targets: np.ndarray,
    source: int,
    deepest: int,
    again: bool,
    marks: np.ndarray,
    mark: int,
    found: np.ndarray,
    levels: np.ndarray,
) -> int:
    """Searches from `source` as far as `deepest` edges, and returns how many vertices it found.

    found, levels  int32[n], filled in the order of discovery: a vertex, and its distance from the source
    again          whether the source is found too, where an edge leads back to it
    marks, mark    int32[n] without the value `mark`, which the vertices found get
    """
    if not again:
        marks[source] = mark
    filled = at = level = 0
    u = source
    while level < deepest:
        for k in range(offsets[u], offsets[u + 1]):
            v = targets[k]
            if marks[v] != mark:
                marks[v] = mark
                found[filled] = v
                levels[filled] = level + 1
                filled += 1
        if at == filled:
            break
        u = found[at]
        level = levels[at]
        at += 1
    return filled


@njit(cache=True, nogil=True)
def generations(offsets: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Kahn's algorithm, a generation at a time.

    Returns the vertices by generation (int32[k]; k < n if there is a cycle), and where each generation ends in that
    (int32[g]). The vertices of a generation are in the order in which their last parent was taken.
    """
    n = offsets.shape[0] - 1
    missing = np.zeros(n, np.int32)
    for k in range(targets.shape[0]):
        missing[targets[k]] += 1
    order, ends = np.empty(n, np.int32), np.empty(n, np.int32)
    filled = 0
    for v in range(n):
        if missing[v] == 0:
            order[filled] = v
            filled += 1
    at = count = 0
    while at < filled:
        end = filled
        ends[count] = end
        count += 1
        while at < end:
            u = order[at]
            at += 1
            for k in range(offsets[u], offsets[u + 1]):
                v = targets[k]
                missing[v] -= 1
                if missing[v] == 0:
                    order[filled] = v
                    filled += 1
    return order[:filled], ends[:count]


@njit(cache=True, nogil=True)
def strong_components(offsets: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tarjan's algorithm with Nuutila's changes, as `networkx.strongly_connected_components` has it.

    Returns the vertices by component (int32[n]), where each component ends in that (int32[c]), and the component of
    each vertex (int32[n]). A component comes after all that it reaches; its root is its first vertex.
    """
    n = offsets.shape[0] - 1
    number, low = np.zeros(n, np.int32), np.zeros(n, np.int32)  # in the order of discovery, from 1
    component = np.full(n, -1, np.int32)
    at = offsets[:n].copy()
    path, waiting = np.empty(n, np.int32), np.empty(n, np.int32)
    members, ends = np.empty(n, np.int32), np.empty(n, np.int32)
    numbered = stacked = filled = count = 0
    for source in range(n):
        if number[source] > 0:
            continue
        path[0], deep = source, 1
        numbered += 1
        number[source] = low[source] = numbered
        while deep > 0:
            v = path[deep - 1]
            if at[v] < offsets[v + 1]:
                w = targets[at[v]]
                at[v] += 1
                if number[w] == 0:
                    numbered += 1
                    number[w] = low[w] = numbered
                    path[deep] = w
                    deep += 1
                elif component[w] < 0:
                    low[v] = min(low[v], number[w])
                continue
            deep -= 1
            if low[v] < number[v]:
                waiting[stacked] = v
                stacked += 1
            else:
                members[filled] = v
                component[v] = count
                filled += 1
                while stacked > 0 and number[waiting[stacked - 1]] > number[v]:
                    stacked -= 1
                    members[filled] = waiting[stacked]
                    component[waiting[stacked]] = count
                    filled += 1
                ends[count] = filled
                count += 1
            if deep > 0:
                parent = path[deep - 1]
                low[parent] = min(low[parent], low[v]) if component[v] < 0 else low[parent]
    return members, ends[:count], component
