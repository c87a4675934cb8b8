"""Reads METIS graphs (also Chaco, DIMACS10), which are undirected: each edge is read in both directions.

    % a comment
    4 3 [fmt [ncon]]          vertices, edges (each counted once), which weights there are, and how many per vertex
    2 3                       one line for each vertex: its neighbours, numbered from 1
    1 3
    1 2

    (the fourth vertex has no neighbour: its line is empty)

Weights of edges (fmt 1, 11, 101, 111) are kept if they are usable (see `weights`); weights and sizes of vertices are
ignored. The lines must list every edge twice, once for each end: it is an error if the number of neighbours is not
twice the header's number of edges, or if a vertex does not list as many neighbours as list it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numba import njit

from grailbench.errors import InputError
from grailbench.graph.csr import Graph
from grailbench.graph.ids import Counted
from grailbench.graph.readers.text import (
    AFTER_END,
    COLUMNS,
    COUNT,
    CURRENT,
    CUT_OFF,
    DONE,
    FULL,
    LINE,
    LINES,
    NEWLINE,
    NOT_A_NUMBER,
    OUT_OF_RANGE,
    PERCENT,
    POS,
    REFETCH,
    TOO_LONG,
    VALUE,
    WEIGHING_PARSER,
    Found,
    are_counts,
    at,
    check_vertices,
    first_line,
    is_blank,
    is_space,
    malformed,
    new_state,
    number,
    number_fault,
    parse,
    usable_weights,
    weigh,
)

_BOTH_ENDS = "METIS lists an edge at both its ends; a directed graph must come in another format"


def read_metis(path: Path, text: np.ndarray) -> Found:
    """Reads a graph from a METIS text (uint8[size]). Raises InputError if it is malformed."""
    vertices, edges, skipped, stride, pos, line = _header(path, text)
    state = new_state(pos, line)
    weighed = stride == 2
    status, sources, targets, weights = parse(_parse, text, state, vertices, skipped, stride, weighed=weighed)
    if status != DONE:
        raise _fault(path, text, state, status, vertices)
    if sources.size != 2 * edges:
        raise InputError(
            f"{sources.size} neighbours are listed, but the {edges} edges of line {line - 1} need {2 * edges}",
            path=path,
            line=int(state[LINE]),
            remedy=_BOTH_ENDS,
        )
    out, into = (np.bincount(ids, minlength=vertices) for ids in (sources, targets))
    if (uneven := np.flatnonzero(out != into)).size:
        v = int(uneven[0])
        message = f"vertex {v + 1} lists {out[v]} neighbours, but {into[v]} list it"
        raise InputError(message, path=path, remedy=_BOTH_ENDS)
    weights, said = usable_weights(text, state, weights, "of edges") if weighed else (None, None)
    graph = Graph(vertices, sources, targets, weights)
    return Found(graph, Counted(vertices, 1), ("undirected: each edge in both directions",), said)


def _header(path: Path, text: np.ndarray) -> tuple[int, int, int, int, int, int]:
    """Vertices, edges, how many numbers precede the neighbours of a line, how many numbers there are for each
    neighbour, and the byte and line after the header."""
    line, after, said = first_line(path, text, "the header", comment=b"%")
    words = said.split()
    if not 2 <= len(words) <= 4 or not are_counts(words):
        raise InputError("the header 'vertices edges [fmt [ncon]]' expected", path=path, line=line)
    form = words[2].zfill(3) if len(words) > 2 else b"000"
    if len(form) > 3 or form.strip(b"01"):
        raise InputError(f"fmt {words[2].decode()!r} is not made of three 0 or 1", path=path, line=line)
    sizes, weights, edge_weights = (digit == ord("1") for digit in form)
    constraints = int(words[3]) if len(words) > 3 else int(weights)
    check_vertices(int(words[0]), path, line)
    skipped = sizes + (constraints if weights else 0)
    return int(words[0]), int(words[1]), skipped, 1 + edge_weights, after, line + 1


def _fault(path: Path, text: np.ndarray, state: np.ndarray, status: int, vertices: int) -> InputError:
    if status == CUT_OFF:
        return InputError(
            f"the file ends after {int(state[LINES])} of {vertices} vertex lines",
            path=path,
            line=int(state[LINE]),
            remedy=REFETCH,
        )
    message = number_fault(status, state, vertices, 1, "a neighbour or weight")
    if status == COLUMNS:
        message = "the line of a vertex ends before the weights that fmt promises"
    elif status == AFTER_END:
        message = f"something follows the lines of all {vertices} vertices"
    return malformed(path, text, state, message)


@njit(WEIGHING_PARSER.format("int64, int64, int64"), cache=True)
def _parse(text, state, sources, targets, weights, n, skipped, stride):
    """Parses vertex lines from state[POS] on; returns a status code.

    A line has `skipped` numbers, then `stride` numbers for each neighbour: its id and, if `stride` is 2, the edge's
    weight. state[LINES] is the current vertex; state[CURRENT] is how many numbers of its line were read, -1 at its
    start.
    """
    end, room = text.size, targets.size
    pos, line, count, vertex, read = state[POS], state[LINE], state[COUNT], state[LINES], state[CURRENT]
    status = np.int64(-1)
    while status < 0:
        while pos < end and is_blank(text[at(pos)]):
            pos += 1
        if read < 0 and pos < end and text[at(pos)] == PERCENT:
            while pos < end and text[at(pos)] != NEWLINE:
                pos += 1
            pos = min(pos + 1, end)
            line += 1
        elif pos == end and read < 0 and (vertex >= n - 1 or vertex == n):
            status = DONE if vertex == n or skipped == 0 else CUT_OFF  # the last line may be empty and lack a newline
        elif pos == end and read < 0:
            status = CUT_OFF
        elif pos == end or text[at(pos)] == NEWLINE:
            if vertex < n:
                read = max(read, 0)
                if read < skipped or (read - skipped) % stride:
                    status = COLUMNS
                    break
                vertex += 1
            read = np.int64(-1)
            line += pos < end
            pos = min(pos + 1, end)
        elif vertex >= n:
            status = AFTER_END
        else:
            start = pos
            value, pos = number(text, pos)
            read = max(read, 0)
            neighbour = read >= skipped and (read - skipped) % stride == 0
            if value < 0 or (pos < end and not is_space(text[at(pos)])):
                status, pos = (TOO_LONG if value == -2 else NOT_A_NUMBER), start
            elif neighbour and (value < 1 or value > n):
                status, state[VALUE], pos = OUT_OF_RANGE, value, start
            elif neighbour and count == room:
                status, pos = FULL, start
            else:
                if neighbour:
                    sources[at(count)] = vertex
                    targets[at(count)] = value - 1
                    count += 1
                elif read >= skipped:
                    weigh(text, start, pos, line, count - 1, weights, state)
                read += 1
    state[POS], state[LINE], state[COUNT], state[LINES], state[CURRENT] = pos, line, count, vertex, read
    return status
