"""The shape of a condensed graph in a few numbers: what the papers' tables of data sets hold, and more."""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.graph.csr import Dag


def characteristics(dag: Dag) -> dict[str, int | float]:
    """Count a condensed graph.

    vertices, edges   with the super-root and its edges, duplicate edges counted, as the thesis prints them
    distinct_edges    the same without duplicates: the edges there are to scan
    degree            edges / vertices
    levels            of the longest-path leveling, that of the super-root counted
    roots, sinks      vertices without parents but the super-root, vertices without children
    max_in_degree, max_out_degree
                      over distinct edges, those of the super-root (one to each root) left out
    """
    sinks, most_out, most_in = _degrees(dag.offsets, dag.children)
    return {
        "vertices": dag.vertices,
        "edges": dag.printed_edges,
        "distinct_edges": dag.edges,
        "degree": dag.printed_edges / dag.vertices,
        "levels": dag.depth,
        "roots": int(dag.roots.shape[0]),
        "sinks": int(sinks),
        "max_in_degree": int(most_in),
        "max_out_degree": int(most_out),
    }


@njit(cache=True)
def _degrees(offsets, children):
    """Sinks, largest out-degree and in-degree; the last vertex, the super-root, is left out."""
    n = offsets.shape[0] - 2
    parents = np.zeros(n, np.int32)
    sinks = most_out = most_in = 0
    for u in range(n):
        out = offsets[u + 1] - offsets[u]
        sinks += out == 0
        most_out = max(most_out, out)
        for k in range(offsets[u], offsets[u + 1]):
            parents[children[k]] += 1
    for v in range(n):
        most_in = max(most_in, parents[v])
    return sinks, most_out, most_in
