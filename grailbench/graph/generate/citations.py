"""Generates synthetic citations: a DAG in which every vertex cites older ones within a window of ages."""

from __future__ import annotations

import re

import numpy as np
from numba import njit

from grailbench.errors import InputError
from grailbench.graph.csr import MAX_VERTICES, Graph
from grailbench.graph.hashing import GAMMA, below, draw, mix64, permutation, stream

_ORDER, _ROWS, _CITING = 0, 1, 2  # random streams of a seed
_NAME = re.compile(r"citations-n(\d{1,10})-k(\d{1,10}(?:\.\d{1,10})?)-w(\d{1,10})-s(\d{1,18})")


def parse_citations(name: str) -> tuple[int, float, int, int] | None:
    """Vertices, degree, window and seed of a name like 'citations-n3800000-k4.6-w500000-s1'; None for other names."""
    found = _NAME.fullmatch(name)
    return None if found is None else (int(found[1]), float(found[2]), int(found[3]), int(found[4]))


def citations(vertices: int, degree: float, window: int, seed: int = 1) -> Graph:
    """A DAG of citations. The order of ages is random, and ids do not depend on it.

    The model: `round(vertices * degree)` times, a uniformly random vertex cites the vertex that is `1 + x` places
    older, where x is uniform in [0, window). Citations of vertices older than the oldest one are dropped, about
    `degree * window / 2` edges, as real citation data begin with some year. A narrower window gives more levels and a
    higher positive rate.

    Edges are grouped by source and include a few duplicates. All arithmetic is on integers, so the result is the same
    on every machine. Raises InputError if a number is out of range.
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
    """Sources and targets, each int32[k], k <= m. order: int32[n], the vertex of each age, the oldest first."""
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
