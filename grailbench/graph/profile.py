"""The characteristics of a condensed graph, including those in the papers' tables of data sets."""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.graph.csr import Dag


def characteristics(dag: Dag) -> dict[str, int | float]:
    """The characteristics of a condensed graph.

    vertices, edges   including the super-root, its edges, and duplicate edges, as printed in the thesis
    distinct_edges    the same without duplicates: the edges that a search can scan
    degree            edges / vertices
    levels            levels by longest path, including that of the super-root
    roots, sinks      vertices whose only parent is the super-root, vertices without children
    max_in_degree, max_out_degree
                      over distinct edges, without those of the super-root
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
    """Number of sinks, largest out-degree and in-degree, all without the last vertex, the super-root."""
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
