"""The format of the closure report (Fenz et al., TU Wien 2022, section 1.1), read and written.

    4 4 directed              vertices, edges, whether the edges are directed
    0 1 1                     a line an edge: source, destination, weight
    1 2 1

The report says what the lines hold and not how they are spelt. Here the third word of the first line is `directed`
or `undirected` when written, and `d`, `u`, `1`, `0`, `true`, `false` are read too; ids count from 0; weights are
passed over. An undirected edge stands for both directions. The edges must be as many as the first line says, so a
file that was cut off is told from a whole one. Edges are written in ascending order of source and destination, each
once, as the report's writer does, so that two files of one graph are equal byte by byte.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import Graph
from grailbench.graph.readers_edges import both_ways, parse_edges
from grailbench.graph.readers_text import (
    DONE,
    LINE,
    REFETCH,
    check_vertices,
    lines,
    malformed,
    new_state,
    number_fault,
    parse,
)

_DIRECTED = {b"directed": True, b"d": True, b"1": True, b"true": True}
_DIRECTED |= {b"undirected": False, b"u": False, b"0": False, b"false": False}
_MEND = "correct the line; where the file ends with it, fetch or copy it again"
_ROWS_AT_ONCE = 1 << 16


def read_tuwien(path: Path, text: np.ndarray) -> tuple[Graph, str]:
    """The graph in a text of the report's format (uint8[size]), and a word on its ids. Raises InputError."""
    vertices, edges, directed, pos, line = _header(path, text)
    state = new_state(pos, line + 1)
    status, sources, targets = parse(parse_edges, text, state, 0, vertices - 1, 1, 1)
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
    done = "ids as given"
    if not directed:
        sources, targets = both_ways(sources, targets)
        done += "; undirected: each edge in both directions"
    return Graph(vertices, sources, targets), done


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
        return int(words[0]), int(words[1]), _DIRECTED[words[2].lower()], after, line
    raise InputError("the file ends before its first line of counts", path=path, line=line, remedy=REFETCH)


def write_tuwien(path: str | os.PathLike, graph: Graph) -> int:
    """Write a graph in the report's format, directed, weights 1, edges in strict order, duplicates left out.

    Returns the number of edges written. The file appears whole or not at all. Raises InputError when it cannot be
    written.
    """
    from grailbench.graph.store import atomic_file

    path = Path(path)
    packed = np.unique(graph.sources.astype(np.int64) << 32 | graph.targets)
    sources, targets = packed >> 32, packed & 0xFFFFFFFF
    try:
        with atomic_file(path) as stream:
            stream.write(f"{graph.vertices} {packed.size} directed\n".encode())
            for first in range(0, packed.size, _ROWS_AT_ONCE):
                some = slice(first, first + _ROWS_AT_ONCE)
                rows = zip(sources[some].tolist(), targets[some].tolist(), strict=True)
                stream.write("".join(f"{u} {v} 1\n" for u, v in rows).encode())
    except OSError as error:
        raise InputError(f"the file cannot be written: {error.strerror or error}", path=path) from None
    return int(packed.size)
