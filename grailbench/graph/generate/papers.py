"""Generates citations by copying: every paper cites recent ones and some of what those cite.

The copying model is that of Kleinberg et al., *The web as a graph*, COCOON 1999, and of Vazquez, *Growing network with
local rules*, Physical Review E 67, 2003: following the references of what one cites makes the number of citations
heavy-tailed, as cumulative advantage does (Price, *A general theory of bibliometric and other cumulative advantage
processes*, JASIS 1976), and makes triangles. `citations` has neither.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.errors import InputError
from grailbench.graph.csr import Graph
from grailbench.graph.generate.rows import absent, checked, edges_of, renumbered
from grailbench.graph.hashing import GAMMA, below, draw, mix64, stream

_ORDER, _ROWS = 0, 1  # random streams of a seed
MOST = 64  #: references of a paper at most


def papers(vertices: int, references: float, copied: int, window: int, seed: int = 1) -> Graph:
    """A DAG of papers, each of which cites older ones.

    references  mean number that a paper asks for; numbers are geometric, at most `MOST`, and repetitions are dropped
    copied      percent of a paper's references that are drawn from those of a paper it cites already
    window      the others are at most that many papers back; the product of two uniform numbers, so mostly recent

    Edges are grouped by source, without duplicates; ids do not depend on age. Raises InputError if a number is out of
    range.
    """
    n, key = checked(vertices), stream(seed, _ROWS)
    if not 0 < references <= MOST / 4:
        raise InputError(f"{references} references a paper: a number above 0, at most {MOST // 4}")
    if not 0 <= copied <= 100:
        raise InputError(f"{copied} percent copied: a number from 0 to 100")
    if not 1 <= window < 2**31:
        raise InputError(f"window {window}: a number of vertices from 1 to 2^31 - 1")
    more = np.uint64(int(references / (1 + references) * 2.0**64))
    room = edges_of(n, 1.2 * references + 1)
    offsets, targets = _cite(n, more, copied, window, room, key)
    return renumbered(offsets, targets, stream(seed, _ORDER))


@njit(cache=True, nogil=True)
def _cite(n, more, copied, window, room, key):
    """CSR of the papers by age, the oldest first: int64[n + 1], int32[m]. `room`: edges to expect."""
    offsets, targets = np.zeros(n + 1, np.int64), np.empty(room, np.int32)
    end = np.int64(0)
    for i in range(n):
        row_key, t, begin = mix64(key + np.uint64(i) * GAMMA), 0, end
        wanted = 0
        while wanted < MOST and draw(row_key, t) < more:
            wanted += 1
            t += 1
        t += 1
        if end + wanted > targets.shape[0]:
            targets = np.append(targets, np.empty(targets.shape[0] // 4 + MOST, np.int32))
        for _ in range(wanted if i else 0):
            found = np.int64(-1)
            if end > begin and below(draw(row_key, t), 100) < copied:
                model = targets[begin + below(draw(row_key, t + 1), end - begin)]
                size = offsets[model + 1] - offsets[model]
                if size:
                    found = np.int64(targets[offsets[model] + below(draw(row_key, t + 2), size)])
            if found < 0:
                reach = 1 + below(draw(row_key, t + 1), min(i, window))
                found = i - 1 - below(draw(row_key, t + 2), reach)
            t += 3
            if absent(targets, begin, end, found):
                targets[end] = found
                end += 1
        offsets[i + 1] = end
    return offsets, targets[:end].copy()
