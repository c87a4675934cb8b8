"""Bidirectional breadth-first search, pruned by level: for batches so small that a sweep would cost more."""

import numpy as np
from numba import njit

UNSETTLED, UNREACHED, REACHED = 0, 1, 2  #: what is known of a pair
STAMPS = 2**31 - 4  #: the greatest stamp; then `seen` is cleared


def scratch(vertices: int) -> tuple[np.ndarray, np.ndarray]:
    """New memory for `settle`."""
    return np.zeros(vertices + 1, np.int32), np.empty(vertices, np.int32)


@njit(cache=True, nogil=True)
def settle(down, up, levels, pairs, most, scratch, answers, block, counts):
    """Searches for the pairs of a block of a batch, and says of each what it found in `answers` (an array of integers).
    Returns the edges that were looked at.

    down, up   (int64[n + 1], int32[m]): CSR of children and of parents
    levels     int32[n]: every edge leads to a greater level
    pairs      (sources, targets), int32[q] each
    most       edges that may be looked at for a pair; it stays `UNSETTLED` if they do not suffice
    scratch    int32[n + 1], stamps of earlier searches, the last place the greatest of them; and int32[n], the vertices
               met from the source, from the left, and from the target, from the right
    block      the first pair, and the one after the last
    counts     int64[2] or None: vertices expanded, edges scanned
    """
    offsets, children = down
    parent_offsets, parents = up
    sources, targets = pairs
    seen, queue = scratch
    n, looked = levels.shape[0], 0
    for q in range(block[0], block[1]):
        source, target = sources[q], targets[q]
        if source == target:
            answers[q] = REACHED
            continue
        top, bottom = levels[source], levels[target]
        if top >= bottom:
            answers[q] = UNREACHED
            continue
        if seen[n] >= STAMPS:
            seen[:] = 0
        below, above = seen[n] + 1, seen[n] + 2
        seen[n] = above
        seen[source], seen[target] = below, above
        queue[0], queue[n - 1] = source, target
        head, tail, left, right = 0, 1, n - 1, n - 2
        # edges that the next step of either side looks at
        ahead, behind = offsets[source + 1] - offsets[source], parent_offsets[target + 1] - parent_offsets[target]
        scanned, expanded, state = np.int64(0), 0, UNSETTLED
        while state == UNSETTLED:
            if head == tail or left == right:
                state = UNREACHED
            elif scanned >= most:
                break
            elif ahead <= behind:
                end, ahead = tail, 0
                while head < end and state == UNSETTLED:
                    u = queue[head]
                    head += 1
                    expanded += 1
                    scanned += offsets[u + 1] - offsets[u]
                    for k in range(offsets[u], offsets[u + 1]):
                        v = children[k]
                        if seen[v] == above:
                            state = REACHED
                            break
                        if seen[v] != below and levels[v] < bottom:
                            seen[v] = below
                            queue[tail] = v
                            tail += 1
                            ahead += offsets[v + 1] - offsets[v]
            else:
                end, behind = right, 0
                while left > end and state == UNSETTLED:
                    u = queue[left]
                    left -= 1
                    expanded += 1
                    scanned += parent_offsets[u + 1] - parent_offsets[u]
                    for k in range(parent_offsets[u], parent_offsets[u + 1]):
                        v = parents[k]
                        if seen[v] == below:
                            state = REACHED
                            break
                        if seen[v] != above and levels[v] > top:
                            seen[v] = above
                            queue[right] = v
                            right -= 1
                            behind += parent_offsets[v + 1] - parent_offsets[v]
        answers[q] = state
        looked += scanned
        if counts is not None:
            counts[0] += expanded
            counts[1] += scanned
    return looked
