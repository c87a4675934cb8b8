"""Reads the `.gra` format of GRAIL and related programs.

    graph_for_greach          this line may be missing
    3                         the number of vertices
    0: 1 2 #                  one line for each vertex: its id, a colon, its children, a hash
    1: 2 #
    2: #

Every vertex of 0..n-1 must have exactly one line; the order is arbitrary. A vertex without a line is an error, because
the file may be truncated. Children may repeat and may include the vertex itself; such edges are kept. Blank lines,
spaces, tabs and CRLF are ignored.
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
    COLON,
    COUNT,
    CURRENT,
    CUT_OFF,
    DONE,
    FULL,
    HASH,
    LINE,
    LINES,
    NEWLINE,
    NO_COLON,
    NO_END,
    NOT_A_NUMBER,
    OUT_OF_RANGE,
    PARSER,
    POS,
    REFETCH,
    TOO_LONG,
    TWICE,
    VALUE,
    Found,
    at,
    check_vertices,
    is_blank,
    is_space,
    lines,
    malformed,
    new_state,
    number,
    number_fault,
    parse,
)

_HEADER = b"graph_for_greach"
_SHORTEST = len("0:#\n")  # bytes of a vertex line
_FEW = 1 << 20  # vertices for which an array is made without asking whether the file can have a line of each


def read_gra(path: Path, text: np.ndarray) -> Found:
    """Reads a graph from a `.gra` text (uint8[size]), edges in the order of the file. Raises InputError if it is
    malformed."""
    vertices, pos, line = _header(path, text)
    if vertices > max(_FEW, (text.size - pos + 1) // _SHORTEST):
        raise InputError(
            f"{vertices} vertices, but {text.size - pos} bytes follow, too few for a line of each",
            path=path,
            line=line - 1,
            remedy=REFETCH,
        )
    state = new_state(pos, line)
    seen = np.zeros(vertices, np.uint8)
    status, sources, targets = parse(_parse, text, state, seen)
    if status != DONE:
        raise _fault(path, text, state, status, vertices)
    if state[LINES] != vertices:
        missing = int(np.argmin(seen[: int(state[LINES]) + 1]))  # does not scan all of a `seen` of 2^31 bytes
        raise InputError(
            f"the file ends after {int(state[LINES])} of {vertices} vertex lines (vertex {missing} has none)",
            path=path,
            line=int(state[LINE]),
            remedy=REFETCH,
        )
    return Found(Graph(vertices, sources, targets), Counted(vertices))


def _header(path: Path, text: np.ndarray) -> tuple[int, int, int]:
    """The number of vertices, and the byte and line where the vertex lines start."""
    named, line = False, 1
    for line, after, said in lines(text):
        if not said:
            continue
        if said == _HEADER and not named:
            named = True
            continue
        if not said.isdigit() or len(said) > 18:
            raise InputError(
                f"the vertex count expected, found {said[:60].decode('ascii', 'backslashreplace')!r}",
                path=path,
                line=line,
                remedy="a .gra file starts with 'graph_for_greach' or with the vertex count alone on a line",
            )
        check_vertices(int(said), path, line)
        return int(said), after, line + 1
    raise InputError("the file ends before the vertex count", path=path, line=line, remedy=REFETCH)


def _fault(path: Path, text: np.ndarray, state: np.ndarray, status: int, vertices: int) -> InputError:
    what = "a child" if state[CURRENT] >= 0 else "a vertex id"
    if status == CUT_OFF:
        return InputError(
            f"the file ends inside a vertex line, after {int(state[LINES])} of {vertices} whole ones",
            path=path,
            line=int(state[LINE]),
            remedy=REFETCH,
        )
    message = number_fault(status, state, vertices, 0, what)
    if status == NO_COLON:
        message = "a colon expected after the vertex id"
    elif status == NO_END:
        message = f"the line of vertex {int(state[CURRENT])} does not end with '#'"
    elif status == AFTER_END:
        message = "something follows the '#' that ends the line"
    elif status == TWICE:
        message = f"vertex {int(state[VALUE])} has a second line"
    return malformed(path, text, state, message)


@njit(PARSER.format("uint8[::1]"), cache=True)
def _parse(text, state, sources, targets, seen):
    """Parses vertex lines from state[POS] on; returns a status code.

    seen: uint8[n], set to 1 for every vertex that has a line. There are two nested loops, because a single loop over
    parser states takes twice as long.
    """
    end, room, n = text.size, targets.size, seen.size
    pos, line, count, vertex, lines = state[POS], state[LINE], state[COUNT], state[CURRENT], state[LINES]
    status = np.int64(-1)
    while status < 0:
        if vertex < 0:  # before a vertex line
            while pos < end and is_space(text[at(pos)]):
                line += text[at(pos)] == NEWLINE
                pos += 1
            if pos == end:
                status = DONE
                break
            start = pos
            value, pos = number(text, pos)
            while pos < end and is_blank(text[at(pos)]):
                pos += 1
            if pos == end:
                status = CUT_OFF
            elif value < 0:
                status, pos = (NOT_A_NUMBER if value == -1 else TOO_LONG), start
            elif text[at(pos)] != COLON:
                status = NO_COLON
            elif value >= n:
                status, state[VALUE], pos = OUT_OF_RANGE, value, start
            elif seen[value]:
                status, state[VALUE], pos = TWICE, value, start
            if status >= 0:
                break
            vertex = value
            pos += 1
        while status < 0:  # its children
            if pos == end:
                status = CUT_OFF
                break
            byte = text[at(pos)]
            if is_blank(byte):
                pos += 1
            elif byte == HASH:
                break
            elif byte == NEWLINE:
                status = NO_END
            else:
                start = pos
                value, pos = number(text, pos)
                if value < 0:
                    status, pos = (NOT_A_NUMBER if value == -1 else TOO_LONG), start
                elif value >= n:
                    status, state[VALUE], pos = OUT_OF_RANGE, value, start
                elif count == room:
                    status, pos = FULL, start
                else:
                    sources[at(count)] = vertex
                    targets[at(count)] = value
                    count += 1
        if status >= 0:
            break
        pos += 1
        while pos < end and is_blank(text[at(pos)]):
            pos += 1
        if pos < end and text[at(pos)] != NEWLINE:
            status = AFTER_END
            break
        seen[vertex] = 1
        lines += 1
        vertex = np.int64(-1)
    state[POS], state[LINE], state[COUNT], state[CURRENT], state[LINES] = pos, line, count, vertex, lines
    return status
