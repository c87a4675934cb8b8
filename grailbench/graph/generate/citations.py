"""Synthetic citations: a DAG in which every vertex cites older ones, none older than a window."""

from __future__ import annotations

import re

import numpy as np
from numba import njit

from grailbench.errors import InputError
from grailbench.graph.csr import MAX_VERTICES, Graph
from grailbench.graph.hashing import GAMMA, below, draw, mix64, permutation, stream

_ORDER, _ROWS, _CITING = 0, 1, 2  # streams of a seed
_NAME = re.compile(r"citations-n(\d{1,10})-k(\d{1,10}(?:\.\d{1,10})?)-w(\d{1,10})-s(\d{1,18})")


def parse_citations(name: str) -> tuple[int, float, int, int] | None:
    """Vertices, degree, window and seed of 'citations-n3800000-k4.6-w500000-s1'; None when it is no such name."""
    found = _NAME.fullmatch(name)
    return None if found is None else (int(found[1]), float(found[2]), int(found[3]), int(found[4]))


def citations(vertices: int, degree: float, window: int, seed: int = 1) -> Graph:
    """A DAG of citations under a hidden random order of age; ids say nothing about age.

    The model: `round(vertices * degree)` times a vertex, drawn uniformly, cites the one that is `1 + x` places older,
    x uniform below `window`. What would be older than the oldest vertex falls away, as it does in real citation data
    that begin with some year: about `degree * window / 2` edges. The narrower the window, the more levels, and the
    more pairs reach each other.

    The edges come grouped by source; the few repeated ones stay in, condensation drops them. Everything is integer
    arithmetic on (vertices, edges, window, seed), the same on every machine.

    Raises InputError when a number is out of range.
    """
    if not 1 <= vertices <= MAX_VERTICES:
        raise InputError(f"{vertices} vertices; between 1 and {MAX_VERTICES} fit")
    if not 0 <= degree < 2**31 / vertices:
        raise InputError(f"degree {degree}: a number of edges a vertex, 0 or more, and fewer than 2^31 edges in all")
    if not 1 <= window < 2**31:
        raise InputError(f"window {window}: a number of vertices from 1 to 2^31 - 1")
    order = permutation(vertices, stream(seed, _ORDER))
    keys = stream(seed, _ROWS), stream(seed, _CITING)
    return Graph(vertices, *_cite(vertices, round(vertices * degree), window, order, *keys))


@njit(cache=True, nogil=True)
def _cite(n, m, window, order, rows_key, citing_key):
    """int32[k] twice, k <= m: sources and targets. order int32[n]: the vertex of each age, oldest first."""
    drawn = np.zeros(n, np.int32)  # by age
    for k in range(m):
        drawn[below(draw(citing_key, k), n)] += 1
    offsets = np.zeros(n + 1, np.int64)
    for age in range(n):
        row_key = mix64(rows_key + np.uint64(age) * GAMMA)
        kept = 0
        for k in range(drawn[age]):
            kept += below(draw(row_key, k), window) < age
        offsets[order[age] + 1] = kept
    for v in range(n):
        offsets[v + 1] += offsets[v]
    sources, targets = np.empty(offsets[n], np.int32), np.empty(offsets[n], np.int32)
    for age in range(n):
        u = order[age]
        row_key = mix64(rows_key + np.uint64(age) * GAMMA)
        at = offsets[u]
        for k in range(drawn[age]):
            back = below(draw(row_key, k), window)
            if back < age:
                sources[at], targets[at] = u, order[age - 1 - back]
                at += 1
    return sources, targets
