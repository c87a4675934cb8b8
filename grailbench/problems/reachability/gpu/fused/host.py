"""What the CPU has to do with the labels of `gpu-fused`: the width of records, the salts of trees and the order of
siblings (which kernels take by `gateway.of_cpu`), the labels of deep graphs, bit for bit those of `grid`, and the check
of labels."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit

from grailbench.graph.hashing import draw, mixed, stream
from grailbench.graph.leveled import Leveled
from grailbench.problems.reachability import hubs
from grailbench.problems.reachability.labels import first_found, is_permutation


def record_width(dim: int) -> int:
    """Returns the lanes per record of `dim` pairs: 2 dim + 3, rounded up so that records cross few cache lines."""
    lanes = 2 * dim + 3
    return 1 << (lanes - 1).bit_length() if lanes <= 16 else -(-lanes // 16) * 16


def salts(seed: int, pairs) -> np.ndarray:
    """Returns salts below 2**32, uint64[2 d]: for pair i the salt of parents is at 2 i, of siblings at 2 i + 1."""
    key = stream(seed, 0x6675736564)
    return np.array([int(draw(key, 2 * p + i)) >> 32 for p in pairs for i in (0, 1)], np.uint64)


TILE = 1024  #: elements per tile of a long row, a power of two
_1, _3 = np.uint64(1), np.uint64(3)
_TILE, _SPREAD = np.uint64(TILE), np.uint64(167)
# Each is coprime to the length of every row, and they differ modulo small lengths.
STEPS_OF_ROWS = np.array(
    [2147483647, 2147483629, 2147483587, 2147483579, 2147483563, 2147483549, 2147483543, 2147483497], np.uint64
)


@njit(cache=True, inline="always")
def nth(position, length, h, step):
    """Returns the element at `position` in the order of a row of `length` elements, int64.

    h: `graph.hashing.mixed` of the vertex of the row; step: number h & 7 of `STEPS_OF_ROWS`. A long row is ordered tile
    by tile. The order of the tiles is affine, and so is the order in each tile, so that elements that are close in
    memory are read together.
    """
    shift = h >> _3
    q, n = np.uint64(position), np.uint64(length)  # unsigned, since a signed remainder costs more than the division
    if n < _TILE + _TILE:
        at = (q * (step % n) + shift % n) % n
    else:
        tiles, tile = n // _TILE, q // _TILE
        at = q
        if tile != tiles:
            tile = (tile * (step % tiles) + shift % tiles) % tiles
            at = tile * _TILE + ((q * step + shift + tile * _SPREAD) & (_TILE - _1))
    return np.int64(at)


def labels_on_host(graph: Leveled, dim: int, salts: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Returns the columns of the records, int32[n] each: for each pair starts and negated ends, then the level, then
    start and negated end of the subtree of pair 0; and the hubs' words, uint64[2 n]. A thread for each pair.

    salts: as `layout.salts` returns them.
    """
    n = graph.vertex.shape[0]

    def label(pair: int) -> tuple[np.ndarray, ...]:
        parent, size, base = np.zeros(n, np.int32), np.ones(n, np.int32), np.zeros(n, np.int32)
        own = salts[2 * pair : 2 * pair + 2]
        _plant(graph.deep_starts, graph.deep_targets, *own, STEPS_OF_ROWS, parent, size, base)
        return _repaired(graph.starts, graph.targets, base, size)

    def hub_words() -> np.ndarray:
        chosen = hubs.heaviest(hubs.weights(graph.starts, graph.targets)[1:], graph.vertex[1:]) + 1
        words, order = hubs.marked(n, chosen), np.arange(n, dtype=np.int32)
        hubs.sweep_forward(graph.starts, graph.targets, order, words, None)
        hubs.sweep_backward(graph.starts, graph.targets, order, words, None)
        return words

    with ThreadPoolExecutor(dim + 1) as threads:
        words = threads.submit(hub_words)
        made = list(threads.map(label, range(dim)))
        levels = np.repeat(np.arange(graph.level_starts.size - 1, dtype=np.int32), np.diff(graph.level_starts))
        columns = [column for start, end, _, _ in made for column in (start, end)]
        return [*columns, levels, *made[0][2:]], words.result()


@njit(cache=True, nogil=True)
def _plant(starts, targets, salt, sibling_salt, steps, parent, size, base):
    """Chooses the parent of each vertex, sums the sizes of subtrees, and places siblings one after the other."""
    n = parent.shape[0]
    key = np.full(n, np.uint64(2**32), np.uint64)
    for u in range(n):
        if starts[u] < starts[u + 1]:
            mine = mixed(u, salt)
            for k in range(starts[u], starts[u + 1]):
                v = targets[k]
                if mine < key[v]:
                    key[v], parent[v] = mine, u
    for v in range(n - 1, 0, -1):
        size[parent[v]] += size[v]
    for u in range(n):
        row, free = starts[u], base[u]
        length = starts[u + 1] - row
        if length == 1:
            if parent[targets[row]] == u:
                base[targets[row]] = free
        elif length > 1:
            h = mixed(u, sibling_salt)
            step = steps[np.int64(h) & 7]
            for i in range(length):
                v = targets[row + nth(i, length, h, step)]
                if parent[v] == u:
                    base[v] = free
                    free += size[v]


@njit(cache=True, nogil=True)
def _repaired(starts, targets, base, size):
    """Returns starts and negated ends, the least of what each vertex reaches, and those of the subtrees, int32[n]."""
    n = base.shape[0]
    start, end = np.empty(n, np.int32), np.empty(n, np.int32)
    first, last = np.empty(n, np.int32), np.empty(n, np.int32)
    for u in range(n - 1, -1, -1):
        first[u], last[u] = base[u] + 1, -(base[u] + size[u])
        least, greatest = first[u], last[u]
        if u > 0:  # the super-root reaches every vertex
            for k in range(starts[u], starts[u + 1]):
                v = targets[k]
                least, greatest = min(least, start[v]), min(greatest, end[v])
        start[u], end[u] = least, greatest
    return start, end, first, last


def label_fault(lanes: np.ndarray, hubs: np.ndarray, dim: int, graph: Leveled) -> str | None:
    """Returns what is wrong with the labels of a graph, or None.

    lanes int32[n, width], hubs uint64[2 n]: as in `filter.Records`, on the host. It checks containment, levels and
    hubs' words on every edge; that the ranks of the first tree are a permutation of 1..n, and the root's subtree is [1,
    n]; that the intervals of subtrees are those of a tree of edges; and that every interval contains its subtree.
    """
    n = lanes.shape[0]
    m = graph.sources.shape[0]
    given = graph.sources, graph.targets, lanes, hubs, 2 * dim + 1
    u, v, lane = first_found(lambda low, high: _first_violation(*given, low, high), m, m)
    if u >= 0:
        kinds = [f"pair {i // 2}, {'end' if i % 2 else 'start'}" for i in range(2 * dim)] + ["level", "hubs"]
        edge = f"edge {graph.vertex[u]} -> {graph.vertex[v]}"
        return f"{edge}: the labels of the one do not contain those of the other ({kinds[lane]})"
    starts, ranks = lanes[:, 2 * dim + 1], -lanes[:, 2 * dim + 2]
    if not is_permutation(ranks):
        return f"the ranks in the first tree are no permutation of 1..{n}"
    if (starts[0], ranks[0]) != (1, n):
        return f"the root's subtree is [{starts[0]}, {ranks[0]}], not [1, {n}]"
    v, parents = _parents_in_tree(starts, ranks)
    if v < 0:
        given = graph.sources, graph.targets, parents
        first_found(lambda low, high: _tick_off(*given, low, high), m, m)
        v = next(iter(np.flatnonzero(parents >= 0)), -1)
    if v >= 0:
        return f"vertex {graph.vertex[v]}: [{starts[v]}, {ranks[v]}] is no subtree of a tree of edges"
    narrow = np.flatnonzero((lanes[:, 0] > starts) | (-lanes[:, 1] < ranks))
    if narrow.size:
        return f"vertex {graph.vertex[narrow[0]]}: its interval does not contain its subtree"
    return None


@njit(cache=True, nogil=True)
def _first_violation(sources, targets, lanes, hubs, upto, low, high):
    for k in range(low, high):
        u, v = sources[k], targets[k]
        for lane in range(upto):
            if lanes[u, lane] > lanes[v, lane] or (lane == upto - 1 and lanes[u, lane] == lanes[v, lane]):
                return u, v, lane
        if (hubs[2 * v] & ~hubs[2 * u]) | (hubs[2 * u + 1] & ~hubs[2 * v + 1]):
            return u, v, upto
    return -1, -1, -1


@njit(cache=True)
def _parents_in_tree(starts, ranks):
    """Returns a vertex whose [start, rank] no post-order of a tree gives it, or -1, and the parents in that tree.

    starts, ranks int32[n]; ranks are a permutation of 1..n, and the interval of vertex 0 is [1, n]. parents int32[n]:
    -1 for vertex 0.
    """
    n = starts.shape[0]
    by_rank, parents, open_ = np.empty(n, np.int32), np.full(n, -1, np.int32), np.empty(n, np.int32)
    for v in range(n):
        by_rank[ranks[v] - 1] = v
    count = 0  # number of subtrees whose parent comes later
    for v in by_rank:
        least = ranks[v]
        while count > 0 and starts[open_[count - 1]] >= starts[v]:
            count -= 1
            parents[open_[count]] = v
            least = starts[open_[count]]
        if starts[v] != least:
            return v, parents
        open_[count] = v
        count += 1
    return -1, parents


@njit(cache=True, nogil=True)
def _tick_off(sources, targets, parents, low, high):
    """Makes the parents -1 to which an edge leads from them. Other threads may do the same with other edges."""
    for k in range(low, high):
        if parents[targets[k]] == sources[k]:
            parents[targets[k]] = -1
    return (-1,)
