"""Reads adjacency lists of `networkx.write_adjlist`: a line for each vertex with its id and then its children.

    #script.py
    # GMT Sat Nov 21 12:00:00 2026
    # name of the graph
    0 1 2
    1 2
    2

Lines that start with '#' are comments. The vertices are the ids that occur. A second line for a vertex is an error; by
that networkx's multi-line adjacency lists, another format, are detected. networkx writes each edge of an undirected
graph once and does not mark the graph as undirected, so every edge is read as directed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numba import njit

from grailbench.errors import InputError
from grailbench.graph.csr import MAX_VERTICES, Graph
from grailbench.graph.ids import ids_from
from grailbench.graph.readers.edges import ranks
from grailbench.graph.readers.text import (
    COUNT,
    CURRENT,
    DONE,
    FULL,
    HASH,
    LINE,
    NEWLINE,
    NOT_A_NUMBER,
    OUT_OF_RANGE,
    PARSER,
    POS,
    TOO_LONG,
    VALUE,
    Found,
    at,
    is_blank,
    is_space,
    malformed,
    new_state,
    number,
    number_fault,
    parse,
)


def read_adjlist(path: Path, text: np.ndarray) -> Found:
    """Reads a graph from an adjacency list (uint8[size]), edges in the order of the file. Raises InputError if it is
    malformed."""
    state = new_state(0, 1)
    status, sources, targets = parse(_parse, text, state, MAX_VERTICES - 1)
    if status != DONE:
        message = number_fault(status, state, MAX_VERTICES, 0, "a vertex id")
        raise malformed(path, text, state, message, "'vertex neighbour neighbour ...', ids separated by blanks")
    if sources.size == 0:
        raise InputError("the file holds no vertex", path=path, line=int(state[LINE]))
    begins = targets < 0
    targets[begins] = sources[begins]
    known, rank = ranks(sources, targets)
    sources, targets = rank(sources), rank(targets)
    lines_of = np.bincount(sources[begins], minlength=known.size)
    if (twice := np.flatnonzero(lines_of > 1)).size:
        raise InputError(
            f"vertex {known[twice[0]]} begins {lines_of[twice[0]]} lines",
            path=path,
            remedy="a line has a vertex and all that it has edges to, as networkx.write_adjlist writes it; "
            "write_multiline_adjlist writes another format",
        )
    return Found(Graph(known.size, sources[~begins], targets[~begins]), ids_from(known))


@njit(PARSER.format("int64"), cache=True)
def _parse(text, state, sources, targets, last):
    """Parses lines from state[POS] on; returns a status code. Ids of 0..last are allowed.

    The first id of a line is stored as a source with the target -1; state[CURRENT] is the vertex of the current line.
    """
    end, room = text.size, targets.size
    pos, line, count, vertex = state[POS], state[LINE], state[COUNT], state[CURRENT]
    status = np.int64(-1)
    while status < 0:
        while pos < end and is_blank(text[at(pos)]):
            pos += 1
        if pos == end:
            status = DONE
        elif text[at(pos)] == NEWLINE:
            vertex = np.int64(-1)
            line += 1
            pos += 1
        elif text[at(pos)] == HASH:  # also after the last id of a line, as networkx reads it
            while pos < end and text[at(pos)] != NEWLINE:
                pos += 1
        elif count == room:
            status = FULL
        else:
            start = pos
            value, pos = number(text, pos)
            if value < 0 or (pos < end and not is_space(text[at(pos)])):
                status, pos = (TOO_LONG if value == -2 else NOT_A_NUMBER), start
            elif value > last:
                status, state[VALUE], pos = OUT_OF_RANGE, value, start
            else:
                targets[at(count)] = -1 if vertex < 0 else value
                vertex = value if vertex < 0 else vertex
                sources[at(count)] = vertex
                count += 1
    state[POS], state[LINE], state[COUNT], state[CURRENT] = pos, line, count, vertex
    return status
