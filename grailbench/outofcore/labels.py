"""Stages 4 and 5 of `streamed`: the trees, labels and hubs of `gpu-fused`, by passes over the blocks.

The labels are those of `gpu.fused.host`, bit for bit. What it does in steps over edges in memory is three passes here,
for up to `TOGETHER` label pairs at once:

    ascending, all edges      every vertex takes its parent in each tree; hubs mark what they reach
    ascending, deep edges     siblings are placed one after the other
    descending, all edges     intervals are widened; hubs mark what reaches them

Sizes are summed between the first and the second pass, from the parents alone. Vertices are numbered by level.
"""

from pathlib import Path

import numpy as np

from grailbench.graph.hashing import mixed
from grailbench.outofcore import edges, levels
from grailbench.outofcore.blocks import read as read_blocks
from grailbench.problems.reachability import hubs
from grailbench.problems.reachability.gpu.fused.host import STEPS_OF_ROWS, nth, record_width, salts
from grailbench.util.compiled import njit

TOGETHER = 3  #: pairs of one pass: so many fit 48 bytes a vertex
BACKWARD, LABELS, HUBS = "backward", "labels", "hubs"
_CHUNK = 1 << 16  #: vertices of which records are written at a time
_0 = np.uint64(0)


def groups(dim: int) -> list[range]:
    """The pairs of each round of passes."""
    return [range(first, min(first + TOGETHER, dim)) for first in range(0, dim, TOGETHER)]


def trees(rows: Path, leveled: Path, blocks: Path, to: Path, dim: int, seed: int) -> dict:
    """Writes for each pair bases and sizes of subtrees (int32[n]), and the hubs' backward words (uint64[n]).

    rows, leveled, blocks: folders of stages 1 to 3. Returns the number of edges that were read.
    """
    starts = np.fromfile(leveled / levels.STARTS, np.int32)
    n, roots = int(starts[-1]), int(starts[2] if starts.shape[0] > 2 else 1)
    words: np.ndarray | None = _marked(rows, leveled)
    read = 0
    for pairs in groups(dim):
        salt = salts(seed, pairs)
        parents = np.full((n, len(pairs)), -1, np.int32)
        parents[1:roots] = 0
        for deep, far in read_blocks(blocks):
            _take_parents(*deep, salt, parents)
            read += deep.targets.shape[0]
            if words is not None:
                _mark_down(*deep, *far[1:], words)
                read += far.targets.shape[0]
        if words is not None:
            words.tofile(to / BACKWARD)
            words = None
        sizes, bases = np.ones_like(parents), np.zeros_like(parents)
        _sum_sizes(parents, sizes)
        siblings = np.arange(1, roots, dtype=np.int32)
        _place(0, np.array([0, roots - 1]), siblings, salt, STEPS_OF_ROWS, parents, sizes, bases)
        for (deep,) in read_blocks(blocks, only_deep=True):
            _place(*deep, salt, STEPS_OF_ROWS, parents, sizes, bases)
            read += deep.targets.shape[0]
        for place, pair in enumerate(pairs):
            bases[:, place].tofile(to / f"bases-{pair}")
            sizes[:, place].tofile(to / f"sizes-{pair}")
    return {"edges_read": read}


def label(rows: Path, leveled: Path, blocks: Path, planted: Path, to: Path, dim: int) -> dict:
    """Writes the label records (int32[n * width], by vertex, the super-root last) and the hubs' words (uint64[2 n]).

    Returns the number of edges that were read.
    """
    order = np.fromfile(leveled / levels.ORDER, np.int32)
    roots = int(np.fromfile(leveled / levels.STARTS, np.int32)[2:3].sum() or 1)
    width, read = record_width(dim), 0
    words: np.ndarray | None = _marked(rows, leveled)
    for pairs in groups(dim):
        ends = np.empty((order.shape[0], 2 * len(pairs)), np.int32)
        for place, pair in enumerate(pairs):
            bases, sizes = (np.fromfile(planted / f"{name}-{pair}", np.int32) for name in ("bases", "sizes"))
            ends[:, 2 * place] = bases + 1
            ends[:, 2 * place + 1] = -(bases + sizes)
        own = ends[:, :2].copy() if pairs[0] == 0 else None
        for deep, far in read_blocks(blocks, backward=True):
            _widen(*deep, *far[1:], ends, words if words is not None else np.empty(0, np.uint64))
            read += deep.targets.shape[0] + far.targets.shape[0]
        if words is not None:
            words[0] = np.bitwise_or.reduce(words[1:roots], initial=_0)
            words.tofile(to / "forward")
            words = None
        _write_lanes(to / LABELS, order, width, 2 * pairs[0], ends)
        if own is not None:
            _write_lanes(to / LABELS, order, width, 2 * dim + 1, own)
        del ends, own
    depths = np.fromfile(leveled / levels.LEVELS, np.int32)[order].reshape(-1, 1)
    _write_lanes(to / LABELS, order, width, 2 * dim, depths)
    del depths
    for place, path in enumerate((to / "forward", planted / BACKWARD)):
        _write_lanes(to / HUBS, order, 2, place, np.fromfile(path, np.uint64).reshape(-1, 1))
    (to / "forward").unlink()
    return {"edges_read": read}


def _marked(rows: Path, leveled: Path) -> np.ndarray:
    """One word for each vertex, uint64[n], in which each hub has its own bit."""
    order = np.fromfile(leveled / levels.ORDER, np.int32)
    offsets, parents = np.fromfile(rows / edges.OFFSETS, np.int64), np.fromfile(rows / edges.PARENTS, np.int32)
    chosen = hubs.heaviest(_weights(offsets, parents)) if parents.shape[0] else np.empty(0, np.int32)
    words = np.zeros(order.shape[0], np.uint64)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.shape[0], dtype=np.int32)
    words[rank[chosen]] = np.uint64(1) << np.arange(chosen.shape[0], dtype=np.uint64)
    return words


def _write_lanes(path: Path, order: np.ndarray, width: int, lane: int, columns: np.ndarray) -> None:
    """Writes columns of vertices by level, [n, k], to lanes of records by vertex; the other lanes stay as they are."""
    n, rank = order.shape[0], np.empty_like(order)
    rank[order] = np.arange(n, dtype=np.int32)
    records = np.memmap(path, columns.dtype, "r+" if path.exists() else "w+", shape=(n, width))
    for first in range(0, n, _CHUNK):
        part = slice(first, first + _CHUNK)
        records[part, lane : lane + columns.shape[1]] = columns[rank[part]]
    records.flush()


@njit(cache=True)
def _weights(offsets, parents):
    """As `hubs.weights`, of degrees: the super-root is a parent of vertices without one."""
    weight = np.empty(parents.shape[0], np.int64)
    for v in range(parents.shape[0]):
        weight[v] = (offsets[v + 1] - offsets[v] + 1) * (max(parents[v], 1) + np.int64(1))
    return weight


@njit(cache=True, nogil=True)
def _take_parents(first, starts, targets, salt, parents):
    for row in range(starts.shape[0] - 1):
        if starts[row] < starts[row + 1]:
            u = np.int32(first + row)
            for p in range(parents.shape[1]):
                mine = mixed(u, salt[2 * p])
                for k in range(starts[row], starts[row + 1]):
                    v = targets[k]
                    if parents[v, p] < 0 or mine < mixed(parents[v, p], salt[2 * p]):
                        parents[v, p] = u


@njit(cache=True, nogil=True)
def _mark_down(first, deep_starts, deep_targets, far_starts, far_targets, words):
    """Hands the words of vertices on to their children, from the first one down."""
    for row in range(deep_starts.shape[0] - 1):
        word = words[first + row]
        if word != _0:
            for k in range(deep_starts[row], deep_starts[row + 1]):
                words[deep_targets[k]] |= word
            for k in range(far_starts[row], far_starts[row + 1]):
                words[far_targets[k]] |= word


@njit(cache=True, nogil=True)
def _sum_sizes(parents, sizes):
    for v in range(parents.shape[0] - 1, 0, -1):
        for p in range(parents.shape[1]):
            sizes[parents[v, p], p] += sizes[v, p]


@njit(cache=True, nogil=True)
def _place(first, starts, targets, salt, steps, parents, sizes, bases):
    """Places the children of vertices in each tree one after the other, in the sibling order of their rows."""
    for row in range(starts.shape[0] - 1):
        u, begin = first + row, starts[row]
        length = starts[row + 1] - begin
        for p in range(parents.shape[1] if length else 0):
            free = bases[u, p]
            h = mixed(u, salt[2 * p + 1])
            step = steps[np.int64(h) & 7]
            for i in range(length):
                v = targets[begin + nth(i, length, h, step)]
                if parents[v, p] == u:
                    bases[v, p] = free
                    free += sizes[v, p]


@njit(cache=True, nogil=True)
def _widen(first, deep_starts, deep_targets, far_starts, far_targets, ends, words):
    """Widens the intervals of vertices to those of their children, from the last one up; and joins the hubs' words, if
    there are some."""
    lanes = ends.shape[1]
    for row in range(deep_starts.shape[0] - 2, -1, -1):
        u = first + row
        for k in range(deep_starts[row], deep_starts[row + 1]):
            v = deep_targets[k]
            for lane in range(lanes):
                ends[u, lane] = min(ends[u, lane], ends[v, lane])
        for k in range(far_starts[row], far_starts[row + 1]):
            v = far_targets[k]
            for lane in range(lanes):
                ends[u, lane] = min(ends[u, lane], ends[v, lane])
        if words.shape[0]:
            word = words[u]
            for k in range(deep_starts[row], deep_starts[row + 1]):
                word |= words[deep_targets[k]]
            for k in range(far_starts[row], far_starts[row + 1]):
                word |= words[far_targets[k]]
            words[u] = word
