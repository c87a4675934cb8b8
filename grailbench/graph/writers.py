"""Writes graphs as text, each edge once and in ascending order, so that equal graphs give equal files."""

import csv
import io
import os
import re
from collections.abc import Iterator, Sequence
from typing import IO

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import Graph
from grailbench.graph.ids import Counted, Ids
from grailbench.util.outputs import replaced

_ROWS_AT_ONCE = 1 << 16
_BREAK = re.compile(r"[\t\r\n]")


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


def write_lines(path: str | os.PathLike, head: str, *columns: np.ndarray, between: str = " ") -> None:
    """Writes a header and one line for each row of the columns, with `between` between them.

    The file is replaced atomically. Raises InputError if it cannot be written.
    """
    line = between.join(["%s"] * len(columns)) + "\n"
    with replaced(path) as stream:
        stream.write(head.encode())
        for rows in _rows(columns):
            stream.write(_encoded("".join(line % row for row in rows)))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _rows(columns: tuple[np.ndarray, ...]) -> Iterator[Iterator[tuple]]:
    """The rows of columns, some thousand at a time."""
    for first in range(0, columns[0].size, _ROWS_AT_ONCE):
        yield zip(*(column[first : first + _ROWS_AT_ONCE].tolist() for column in columns), strict=True)


def write_edges(path: str | os.PathLike, graph: Graph, ids: Ids) -> tuple[int, int]:
    """Writes an edge list with the given ids, and weights if the graph has them.

    Names are separated by tabs if one of them holds a blank. Returns the number of edges written, and the number of
    vertices that a reader of the file will not see. These are the vertices without an edge if the ids are neither
    0..n-1 (SNAP header) nor 1..n (KONECT header). Raises InputError if the file cannot be written, or if a name cannot
    stand in it.
    """
    sources, targets, weights = distinct_edges(graph)
    n, m, lost = graph.vertices, sources.size, 0
    if isinstance(ids, Counted) and ids.first == 1:
        head = f"% asym {'unweighted' if weights is None else 'posweighted'}\n% {m} {n} {n}\n"
    else:
        if not (isinstance(ids, Counted) and ids.first == 0):
            lost = _without_edge(n, sources, targets)
        head = f"# Nodes: {n - lost} Edges: {m}\n" if ids.numeric and lost < max(n, 1) else ""
        if lost or not ids.numeric:
            head = f"# {lost} of {n} vertices have no edge, and no line\n{head}"
    ends = (ids.labels_of(sources), ids.labels_of(targets))
    between = " " if ids.numeric else _separator(path, *ends)
    write_lines(path, head, *ends, *([] if weights is None else [weights]), between=between)
    return m, lost


def _without_edge(vertices: int, sources: np.ndarray, targets: np.ndarray) -> int:
    """The number of vertices that no edge has."""
    return vertices - int(np.count_nonzero(np.bincount(np.concatenate((sources, targets)), minlength=vertices)))


def _separator(path: str | os.PathLike, sources: np.ndarray, targets: np.ndarray) -> str:
    """A blank, or a tab if a name holds a blank. Raises InputError for a name that an edge list cannot hold."""
    found = " "
    for name in {*sources.tolist(), *targets.tolist()}:
        why = (
            "begins a comment" if name[0] in "#%" else "holds a tab or the end of a line" if _BREAK.search(name) else ""
        )
        why = why or ("begins or ends with a blank" if name != name.strip() else "")
        if why:
            raise InputError(f"{name[:60]!r} {why}, which an edge list cannot hold", path=path, remedy="--format csv")
        found = "\t" if len(name.split()) > 1 else found
    return found


def write_csv(path: str | os.PathLike, graph: Graph, ids: Ids) -> tuple[int, int]:
    """Writes a table with a header 'source,target', also 'weight' if the graph has weights, and an edge in each row.

    Returns the number of edges and of vertices without an edge, which the table does not have. Raises InputError if it
    cannot be written.
    """
    sources, targets, weights = distinct_edges(graph)
    columns = [ids.labels_of(sources), ids.labels_of(targets)] + ([] if weights is None else [weights])
    with replaced(path) as stream:
        write_table(stream, ("source", "target", "weight")[: len(columns)], columns, ids)
    return sources.size, _without_edge(graph.vertices, sources, targets)


def write_table(stream: IO[bytes], headers: Sequence[str], columns: Sequence[np.ndarray], ids: Ids) -> None:
    """Writes columns as CSV, with a line of headers; `ids` tell whether a name of theirs needs quotes."""
    names = [] if ids.numeric else ids.labels_of(np.arange(ids.vertices))
    bare = any("\r" in name or name != name.strip() for name in names)
    quoting = csv.QUOTE_NONNUMERIC if bare else csv.QUOTE_MINIMAL  # which leaves a CR and outer blanks without quotes
    stream.write(",".join(headers).encode() + b"\n")
    for rows in _rows(tuple(columns)):
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n", quoting=quoting).writerows(rows)
        stream.write(_encoded(text.getvalue()))


def write_tuwien(path: str | os.PathLike, graph: Graph) -> int:
    """Writes a graph in the report's format as directed, with distinct edges in ascending order.

    Of several duplicates the least weight is written; all weights are 1 if the graph has none. Returns the number of
    edges written. The file is replaced atomically. Raises InputError if it cannot be written.
    """
    sources, targets, weights = distinct_edges(graph)
    weights = np.ones(sources.size, np.int8) if weights is None else weights
    write_lines(path, f"{graph.vertices} {sources.size} directed\n", sources, targets, weights)
    return int(sources.size)
