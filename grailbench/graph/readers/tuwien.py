"""The format of the closure report (Fenz et al., TU Wien 2022, section 1.1), read and written.

    4 4 directed              vertices, edges, whether the edges are directed
    0 1 1                     a line an edge: source, destination, weight
    1 2 1

The report says what the lines hold and not how they are spelt. Here the third word of the first line is `directed` or
`undirected` when written, and `d`, `u`, `1`, `0`, `true`, `false` are read too; ids count from 0; weights are kept
where they serve (see `weights`). An undirected edge stands for both directions. The edges must be as many as the
first line says, so a file that was cut off is told from a whole one. Edges are written in ascending order of source
and destination, each once, as the report's writer does, so that two files of one graph are equal byte by byte.
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
    LINE,
    REFETCH,
    UNFIT,
    Found,
    check_memory,
    check_vertices,
    lines,
    malformed,
    new_state,
    number_fault,
    parse,
    unfit,
)
from grailbench.graph.weights import kept
from grailbench.graph.writers import distinct_edges, write_lines

_DIRECTED = {b"directed": True, b"d": True, b"1": True, b"true": True}
_DIRECTED |= {b"undirected": False, b"u": False, b"0": False, b"false": False}
_MEND = "correct the line; where the file ends with it, fetch or copy it again"


def read_tuwien(path: Path, text: np.ndarray) -> Found:
    """The graph in a text of the report's format (uint8[size]). Raises InputError."""
    vertices, edges, directed, pos, line = _header(path, text)
    state = new_state(pos, line + 1)
    status, sources, targets, weights = parse(parse_edges, text, state, 0, vertices - 1, 1, 1, weighed=True)
    if status != DONE:
        message = number_fault(status, state, vertices, 0, "a vertex id")
        raise malformed(path, text, state, message or "an edge is 'source destination weight'", _MEND)
    if sources.size != edges:
        raise InputError(
            f"{sources.size} edges, but line {line} says {edges}",
            path=path,
            line=int(state[LINE]),
            remedy=REFETCH if sources.size < edges else "correct the first line",
        )
    weights, said = (weights, kept(weights, "column 3")) if state[UNFIT] == 0 else (None, unfit(text, state))
    notes: tuple[str, ...] = ()
    if not directed:
        sources, targets, weights = both_ways(sources, targets, weights)
        notes = ("undirected: each edge in both directions",)
    return Found(Graph(vertices, sources, targets, weights), Counted(vertices), notes, said)


def _header(path: Path, text: np.ndarray) -> tuple[int, int, bool, int, int]:
    """Vertices, edges, whether directed, the byte after the first line, and its number."""
    line = 1
    for line, after, said in lines(text):
        if not said:
            continue
        words = said.split()
        counts = all(word.isdigit() and len(word) < 19 for word in words[:2])
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
    raise InputError("the file ends before its first line of counts", path=path, line=line, remedy=REFETCH)


def write_tuwien(path: str | os.PathLike, graph: Graph) -> int:
    """Write a graph in the report's format, directed, edges in strict order, of duplicates the lightest; edges of a
    graph without weights weigh 1.

    Returns the number of edges written. The file appears whole or not at all. Raises InputError when it cannot be
    written.
    """
    sources, targets, weights = distinct_edges(graph)
    weights = np.ones(sources.size, np.int8) if weights is None else weights
    write_lines(path, f"{graph.vertices} {sources.size} directed\n", sources, targets, weights)
    return int(sources.size)
