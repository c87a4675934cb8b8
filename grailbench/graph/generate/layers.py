"""Generates layered DAGs with wide layers, as circuits, pipelines and task graphs are.

The layer-by-layer method of Tobita and Kasahara, *A standard task graph set for fair evaluation of multiprocessor
scheduling algorithms*, Journal of Scheduling 2002: every vertex of a layer has edges to vertices of the next ones. Here
these are near its own place, as wires are short, so that what a vertex reaches is a cone that widens layer by layer.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.errors import InputError
from grailbench.graph.csr import Graph
from grailbench.graph.generate.rows import absent, checked, edges_of, renumbered
from grailbench.graph.hashing import GAMMA, below, draw, mix64, stream

_ORDER, _ROWS = 0, 1  # random streams of a seed


def layers(depth: int, width: int, degree: int, span: int, skipped: int, seed: int = 1) -> Graph:
    """A DAG of `depth` layers of `width` vertices.

    degree   edges of a vertex; repetitions and those beyond the last layer are dropped
    span     an edge leads at most that many places to either side, around the ends
    skipped  percent of the edges that skip a layer; of these the same share skips another one, and so on

    Edges are grouped by source, without duplicates; ids do not depend on layer and place. Raises InputError if a number
    is out of range.
    """
    if not (depth >= 1 and width >= 1):
        raise InputError(f"{depth} layers of {width} vertices: at least one of one")
    n = checked(depth * width)
    if not 1 <= degree <= 256:
        raise InputError(f"degree {degree}: a number from 1 to 256")
    if not 0 <= span <= width // 2:
        raise InputError(f"span {span}: a number of places from 0 to half of the width")
    if not 0 <= skipped < 100:
        raise InputError(f"{skipped} percent skipped: a number from 0 to 99")
    edges_of(n, degree)
    offsets, ends = _wire(depth, width, degree, span, skipped, stream(seed, _ROWS))
    return renumbered(offsets, ends, stream(seed, _ORDER))


@njit(cache=True, nogil=True)
def _wire(depth, width, degree, span, skipped, key):
    """CSR of the children, vertices numbered layer by layer: int64[n + 1], int32[m]."""
    offsets, ends = np.zeros(depth * width + 1, np.int64), np.empty(depth * width * degree, np.int32)
    end = np.int64(0)
    for layer in range(depth):
        for place in range(width):
            u = layer * width + place
            row_key, t, begin = mix64(key + np.uint64(u) * GAMMA), 0, end
            for _ in range(degree):
                below_it = layer + 1
                while below(draw(row_key, t), 100) < skipped:
                    below_it += 1
                    t += 1
                side = below(draw(row_key, t + 1), 2 * span + 1) - span
                t += 2
                if below_it >= depth:
                    continue
                v = below_it * width + (place + side + width) % width
                if absent(ends, begin, end, v):
                    ends[end] = v
                    end += 1
            offsets[u + 1] = end
    return offsets, ends[:end].copy()
