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


def distinct_edges(
    graph: Graph, by_kind: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]:
    """The distinct edges in ascending order: sources and targets, int64[k], weights, int32[k] or None, and kinds,
    object[k] of str, or None.

    Of several duplicates the least weight is taken; `by_kind`, edges of different kinds are no duplicates.
    """
    packed = graph.sources.astype(np.int64) << 32 | graph.targets
    weights = kinds = None
    by_kind = by_kind and graph.kinds is not None
    if graph.weights is None and not by_kind:
        packed = np.unique(packed)
    else:
        codes, names = np.zeros(packed.size, np.int64), np.array([""], object)
        if by_kind:
            names = np.array(graph.kinds.names, object)
            codes = np.argsort(np.argsort(names))[graph.kinds.codes]
        given = codes if graph.weights is None else graph.weights
        order = np.lexsort((given, codes, packed))
        packed, codes = packed[order], codes[order]
        first = np.flatnonzero(np.append(True, (np.diff(packed) != 0) | (np.diff(codes) != 0))[: packed.size])
        packed = packed[first]
        weights = None if graph.weights is None else graph.weights[order][first]
        kinds = np.sort(names)[codes[first]] if by_kind else None
    return packed >> 32, packed & 0xFFFFFFFF, weights, kinds


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
    sources, targets, weights, _ = distinct_edges(graph)
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
    """Writes a table with a header 'source,target', also 'weight' and 'kind' if the graph has them, and an edge in each
    row; one of several kinds is in as many rows.

    Returns the number of edges and of vertices without an edge, which the table does not have. Raises InputError if it
    cannot be written.
    """
    sources, targets, weights, kinds = distinct_edges(graph, by_kind=True)
    columns = {"source": ids.labels_of(sources), "target": ids.labels_of(targets), "weight": weights, "kind": kinds}
    columns = {name: column for name, column in columns.items() if column is not None}
    others = () if graph.kinds is None else graph.kinds.names
    with replaced(path) as stream:
        write_table(stream, [*columns], [*columns.values()], ids, others)
    return sources.size, _without_edge(graph.vertices, sources, targets)


def write_table(
    stream: IO[bytes], headers: Sequence[str], columns: Sequence[np.ndarray], ids: Ids, others: Sequence[str] = ()
) -> None:
    """Writes columns as CSV, with a line of headers; `ids` tell whether a name of theirs, or of the others, needs
    quotes."""
    names = [*others, *([] if ids.numeric else ids.labels_of(np.arange(ids.vertices)))]
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
    sources, targets, weights, _ = distinct_edges(graph)
    weights = np.ones(sources.size, np.int8) if weights is None else weights
    write_lines(path, f"{graph.vertices} {sources.size} directed\n", sources, targets, weights)
    return int(sources.size)
