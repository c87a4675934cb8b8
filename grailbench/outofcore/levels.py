"""Stage 2 of `streamed`: levels and the order of `graph.kahn`, with the edges on disk.

Levels are taken one after the other. The rows of a level are asked for in the order in which they stand on disk, so
many at a time as fit the memory, and each row is read once. What this costs: the edges once, and where a level has few
rows, far apart, a page for each row instead of its bytes; so never more than the edges and one page a vertex.

The vertices that a level sets free follow in Kahn's queue by the last of their parents, then by their number: that is
what sorting by both gives, in whatever order the edges come. Levels with few vertices are walked as a queue.
"""

from pathlib import Path

import numpy as np

from grailbench.errors import InputError
from grailbench.graph import kahn
from grailbench.outofcore import edges
from grailbench.outofcore.paged import PAGE, Mapped, read_runs
from grailbench.util.compiled import njit

LEVELS, ORDER, STARTS = "levels", "order", "starts"
NARROW = 64  #: levels of fewer vertices are walked as a queue
_GAP = 16  #: pages between two rows that are read along
_32, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


def peel(rows: Path, to: Path, spare: int, first: int = 0) -> dict:
    """Writes levels (int32[n + 1], by vertex, the super-root n last), the order (int32[n + 1], from the super-root) and
    where levels begin in it (int32[depth + 1]).

    rows    the folder of stage 1
    spare   bytes for rows that are asked for at once
    first   the id of vertex 0, for errors

    Returns depth and roots. Raises InputError if there is a cycle, with one as an example.
    """
    offsets = np.fromfile(rows / edges.OFFSETS, np.int64)
    n = offsets.shape[0] - 1
    children = Mapped(rows / edges.CHILDREN, np.int32, int(offsets[-1]))
    children.at_random()
    levels, order = np.empty(n + 1, np.int32), np.empty(n + 1, np.int32)
    np.negative(np.fromfile(rows / edges.PARENTS, np.int32), out=levels[:n])
    levels[n], order[0] = 0, n
    found = roots = kahn.take_roots(levels, order, 0, n, 1)
    at, level, most = 1, 1, np.zeros(n, np.int32)
    while at < found:
        at, found, level = kahn.walk(offsets, children.array, levels, order, at, found, level, NARROW)
        if at < found:
            at, found, level = *_step(offsets, children, levels, order, most, at, found, level, spare), level + 1
    if found <= n:
        what = f"the graph has cycles, and `streamed` takes graphs without: {_cycle(offsets, children, levels, first)}"
        remedy = "condense it first, in an implementation that holds the edges, or break its cycles"
        raise InputError(what, remedy=remedy)
    starts = np.searchsorted(levels[order], np.arange(int(levels[order[n]]) + 2)).astype(np.int32)
    for name, array in ((LEVELS, levels), (ORDER, order), (STARTS, starts)):
        array.tofile(to / name)
    return {"depth": int(starts.shape[0] - 1), "roots": int(roots - 1)}


def _step(offsets, children: Mapped, levels, order, most, at: int, found: int, level: int, spare: int):
    """Takes a level, `order[at:found]`; returns where the next one begins and ends."""
    keys = _keys(order, at, found)
    keys.sort()
    end, first = found, 0
    runs = np.empty((2, keys.shape[0]), np.int64)
    while first < keys.shape[0]:
        last, count = read_runs(offsets, keys, first, max(1, spare // 2 // PAGE), 0, _GAP, *runs)
        children.ask(*runs[:, :count])
        end = _take(offsets, children.array, keys, first, last, levels, most, level, order, end)
        first = last
    del keys, runs
    keys = (most[order[found:end]].astype(np.uint64) << _32) | order[found:end].astype(np.uint64)
    keys.sort()
    order[found:end] = (keys & _LOW).astype(np.int32)
    return found, end


@njit(cache=True)
def _keys(order, at, found):
    """Vertices and their places in the order, uint64[found - at], the vertex in the upper half."""
    keys = np.empty(found - at, np.uint64)
    for i in range(at, found):
        keys[i - at] = (np.uint64(order[i]) << _32) | np.uint64(i)
    return keys


@njit(cache=True)
def _take(offsets, children, keys, first, last, levels, most, level, order, found):
    """Counts down what the children of vertices miss, and appends those that miss nothing to the order."""
    for i in range(first, last):
        u, place = np.int64(keys[i] >> _32), np.int32(keys[i] & _LOW)
        for k in range(offsets[u], offsets[u + 1]):
            v = children[k]
            most[v] = max(most[v], place)
            missing = levels[v] + 1
            if missing == 0:
                levels[v] = level + 1
                order[found] = v
                found += 1
            else:
                levels[v] = missing
    return found


def _cycle(offsets, children: Mapped, levels, first: int, most: int = 6) -> str:
    """A cycle among the vertices that were not taken, in words."""
    above = np.full(levels.shape[0], -1, np.int32)
    left = _left_parents(offsets, children.array, levels, above)
    seen, v = {}, int(np.flatnonzero(above >= 0)[0])
    while v not in seen:
        seen[v] = len(seen)
        v = int(above[v])
    found = [each for each in seen if seen[each] >= seen[v]][::-1]
    found = found[-1:] + found[:-1]
    found = [each + first for each in found]
    shown = found if len(found) <= most else [*found[: most - 1], "..."]
    return (
        f"{' -> '.join(map(str, [*shown, found[0]]))} is one, of {len(found):,} vertices; {left:,} of "
        f"{levels.shape[0] - 1:,} are on cycles or behind them"
    )


@njit(cache=True)
def _left_parents(offsets, children, levels, above):
    """Sets a parent that was not taken for each vertex that was not; returns how many vertices these are."""
    left = 0
    for u in range(offsets.shape[0] - 1):
        if levels[u] < 0:
            left += 1
            for k in range(offsets[u], offsets[u + 1]):
                if levels[children[k]] < 0:
                    above[children[k]] = u
    return left
