"""Reads and writes the format of the closure report (Fenz et al., TU Wien 2022, section 1.1).

    4 4 directed              vertices, edges, whether the edges are directed
    0 1 1                     one line for each edge: source, destination, weight
    1 2 1

The report does not define the spelling of the third word of the first line. `directed` and `undirected` are written;
`d`, `u`, `1`, `0`, `true` and `false` are read too. Ids start at 0. Weights are kept if they are usable (see
`weights`). An undirected edge stands for both directions. The number of edges must be that of the first line, so that
a truncated file is detected. Edges are written in ascending order and without duplicates, as the report's writer does,
so that equal graphs give equal files.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import Graph
from grailbench.graph.ids import Counted
from grailbench.graph.readers.edges import both_ways, parse_edges
from grailbench.graph.readers.text import (
    DONE,
    Found,
    are_counts,
    check_memory,
    check_stated,
    check_vertices,
    first_line,
    malformed,
    new_state,
    number_fault,
    parse,
    usable_weights,
)
from grailbench.graph.writers import distinct_edges, write_lines

_DIRECTED = {b"directed": True, b"d": True, b"1": True, b"true": True}
_DIRECTED |= {b"undirected": False, b"u": False, b"0": False, b"false": False}
_MEND = "correct the line; where the file ends with it, fetch or copy it again"


def read_tuwien(path: Path, text: np.ndarray) -> Found:
    """Reads a graph from a text (uint8[size]) in the report's format. Raises InputError if it is malformed."""
    vertices, edges, directed, pos, line = _header(path, text)
    state = new_state(pos, line + 1)
    status, sources, targets, weights = parse(parse_edges, text, state, 0, vertices - 1, 1, 1, False, weighed=True)
    if status != DONE:
        message = number_fault(status, state, vertices, 0, "a vertex id")
        raise malformed(path, text, state, message or "an edge is 'source destination weight'", _MEND)
    check_stated(path, state, sources.size, edges, "edges", line, "correct the first line")
    weights, said = usable_weights(text, state, weights, "column 3")
    notes: tuple[str, ...] = ()
    if not directed:
        sources, targets, weights = both_ways(sources, targets, weights)
        notes = ("undirected: each edge in both directions",)
    return Found(Graph(vertices, sources, targets, weights), Counted(vertices), notes, said)


def _header(path: Path, text: np.ndarray) -> tuple[int, int, bool, int, int]:
    """Vertices, edges, whether they are directed, the byte after the first line, and its number."""
    line, after, said = first_line(path, text, "its first line of counts")
    words = said.split()
    counts = are_counts(words[:2])
    if len(words) != 3 or not counts or words[2].lower() not in _DIRECTED:
        whole = len(words) == 3 and counts
        raise InputError(
            f"'vertices edges directed' expected, found {said[:60].decode('ascii', 'backslashreplace')!r}",
            path=path,
            line=line,
            remedy="the third word is 'directed' or 'undirected' (or 1 or 0)" if whole else "such as 4 4 directed",
        )
    check_vertices(int(words[0]), path, line)
    check_memory(int(words[0]), path, line)
    return int(words[0]), int(words[1]), _DIRECTED[words[2].lower()], after, line


def write_tuwien(path: str | os.PathLike, graph: Graph) -> int:
    """Writes a graph in the report's format as directed, with distinct edges in ascending order.

    Of several duplicates the least weight is written; all weights are 1 if the graph has none. Returns the number of
    edges written. The file is replaced atomically. Raises InputError if it cannot be written.
    """
    sources, targets, weights = distinct_edges(graph)
    weights = np.ones(sources.size, np.int8) if weights is None else weights
    write_lines(path, f"{graph.vertices} {sources.size} directed\n", sources, targets, weights)
    return int(sources.size)
