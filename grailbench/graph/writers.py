"""Writes graphs as text, each edge once and in ascending order, so that equal graphs give equal files."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import Graph
from grailbench.graph.ids import Counted, Ids

_ROWS_AT_ONCE = 1 << 16


def distinct_edges(graph: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The distinct edges in ascending order: sources and targets, int64[k], and weights, int32[k] or None.

    Of several duplicates the least weight is taken.
    """
    packed = graph.sources.astype(np.int64) << 32 | graph.targets
    weights = None
    if graph.weights is None:
        packed = np.unique(packed)
    else:
        order = np.lexsort((graph.weights, packed))
        packed, first = np.unique(packed[order], return_index=True)
        weights = graph.weights[order][first]
    return packed >> 32, packed & 0xFFFFFFFF, weights


def write_lines(path: str | os.PathLike, head: str, *columns: np.ndarray) -> None:
    """Writes a header and one line for each row of the columns, separated by blanks. The file is replaced atomically.

    Raises InputError if it cannot be written.
    """
    from grailbench.graph.store import atomic_file

    path = Path(path)
    line = " ".join(["%d"] * len(columns)) + "\n"
    try:
        with atomic_file(path) as stream:
            stream.write(head.encode())
            for first in range(0, columns[0].size, _ROWS_AT_ONCE):
                rows = zip(*(column[first : first + _ROWS_AT_ONCE].tolist() for column in columns), strict=True)
                stream.write("".join(line % row for row in rows).encode())
    except OSError as error:
        raise InputError(f"the file cannot be written: {error.strerror or error}", path=path) from None


def write_edges(path: str | os.PathLike, graph: Graph, ids: Ids) -> tuple[int, int]:
    """Writes an edge list with the given ids, and weights if the graph has them.

    Returns the number of edges written, and the number of vertices that a reader of the file will not see. These are
    the vertices without an edge if the ids are neither 0..n-1 (SNAP header) nor 1..n (KONECT header). Raises InputError
    if the file cannot be written.
    """
    sources, targets, weights = distinct_edges(graph)
    n, m, lost = graph.vertices, sources.size, 0
    if isinstance(ids, Counted) and ids.first == 1:
        head = f"% asym {'unweighted' if weights is None else 'posweighted'}\n% {m} {n} {n}\n"
    else:
        if not (isinstance(ids, Counted) and ids.first == 0):
            lost = n - int(np.count_nonzero(np.bincount(np.concatenate((sources, targets)), minlength=n)))
        head = f"# {lost} of {n} vertices have no edge, and no line\n" if lost else f"# Nodes: {n} Edges: {m}\n"
    ends = (ids.labels_of(sources), ids.labels_of(targets))
    write_lines(path, head, *ends, *([] if weights is None else [weights]))
    return m, lost
