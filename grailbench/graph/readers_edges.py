"""Edge lists (SNAP, KONECT, plain) and Matrix Market: a line an edge, one parser for all.

Edge lists. `source target` on a line, then at most two more numbers (a weight, a time), which are read over:
every listed edge counts, whatever its weight. Lines that start with '#' or '%' are comments, blank lines are
nothing. Edges are directed, unless the header says otherwise (SNAP 'Undirected graph', KONECT 'sym'): then
each line gives both directions.

A header is one of these among the comments before the first edge:

    # Nodes: 3774768 Edges: 16518948      SNAP
    % asym unweighted                     KONECT, first line: asym, sym or bip (refused)
    % 16518947 3774768 3774768            KONECT, second line: edges, vertices, vertices

Ids are kept as given, and there are as many vertices as the greatest id plus one (0-based or not), unless a
header states the count N. Then, in this order: ids below N are kept; ids of 1..N are taken down by one; exactly
N different ids, wherever they lie (SNAP's patents), are renumbered in ascending order; anything else is an error.

Matrix Market. Coordinate form, square; an entry (i, j) is the edge i-1 -> j-1 whatever its value; symmetric,
skew-symmetric and hermitian give both directions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba import njit

from grailbench.errors import InputError
from grailbench.graph.csr import MAX_VERTICES, VERTEX, Graph
from grailbench.graph.readers_text import (
    COLUMNS,
    COUNT,
    DONE,
    FULL,
    HASH,
    LINE,
    NEWLINE,
    NOT_A_NUMBER,
    OUT_OF_RANGE,
    PARSER,
    PERCENT,
    POS,
    REFETCH,
    TOO_LONG,
    VALUE,
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

_SNAP = re.compile(rb"[#%]\s*Nodes:?\s*(\d+)[,;\s]+Edges:?\s*(\d+)\s*$", re.IGNORECASE)
_SNAP_UNDIRECTED = re.compile(rb"[#%]\s*Undirected graph\b", re.IGNORECASE)
_KONECT = re.compile(rb"%\s*(sym|asym|bip)\s+\w+", re.IGNORECASE)
_KONECT_COUNTS = re.compile(rb"%\s*(\d+)\s+(\d+)\s+(\d+)\s*$")
_BANNER = re.compile(rb"%%MatrixMarket\s+matrix\s+(\w+)\s+(\w+)\s+([\w-]+)\s*$", re.IGNORECASE)
_VALUES = {b"pattern": 0, b"integer": 1, b"real": 1, b"complex": 2}  # columns after the two indices
_BOTH_WAYS = {b"general": False, b"symmetric": True, b"skew-symmetric": True, b"hermitian": True}
_HEADER_BYTES = 1 << 16  # a header lies within this much of leading comments


# ---------------------------------------------------------------------------------------- edge lists


@dataclass
class _Header:
    """What the leading comments state; `line` is where the counts stand."""

    vertices: int | None = None
    edges: int | None = None
    undirected: bool = False
    line: int = 1


def read_edges(path: Path, text: np.ndarray) -> tuple[Graph, str]:
    """The graph in an edge list (uint8[size]), and what was done to its ids. Raises InputError."""
    header = _edge_header(path, text)
    state = new_state(0, 1)
    status, sources, targets = parse(parse_edges, text, state, 0, MAX_VERTICES - 1, 0, 2)
    if status != DONE:
        raise _edge_fault(path, text, state, status)
    if header.edges is not None and header.edges != sources.size:
        raise InputError(
            f"{sources.size} edges, but line {header.line} says {header.edges}",
            path=path,
            line=int(state[LINE]),
            remedy=REFETCH if sources.size < header.edges else "correct the header, or take it out",
        )
    if sources.size == 0 and header.vertices is None:
        raise InputError("the file holds no edge", path=path, line=int(state[LINE]))
    vertices, sources, targets, done = _numbered(path, text, header, sources, targets)
    if header.undirected:
        sources, targets = both_ways(sources, targets)
        done += "; undirected: each edge in both directions"
    return Graph(vertices, sources, targets), done


def _edge_header(path: Path, text: np.ndarray) -> _Header:
    header = _Header()
    konect = False
    for line, _, said in lines(text, _HEADER_BYTES):
        if said and said[:1] not in b"#%":
            break
        if found := _SNAP.match(said):
            header.vertices, header.edges, header.line = int(found[1]), int(found[2]), line
        elif _SNAP_UNDIRECTED.match(said):
            header.undirected = True
        elif found := _KONECT.match(said):
            konect = True
            header.undirected = found[1].lower() == b"sym"
            if found[1].lower() == b"bip":
                raise InputError("a bipartite graph: its two sides share ids", path=path, line=line)
        elif konect and (found := _KONECT_COUNTS.match(said)):
            header.edges, header.vertices, header.line = int(found[1]), int(found[2]), line
            if int(found[2]) != int(found[3]):
                raise InputError(
                    f"{int(found[2])} and {int(found[3])} vertices: two sides, not one graph",
                    path=path,
                    line=line,
                )
    if header.vertices is not None:
        check_vertices(header.vertices, path, header.line)
    return header


def _numbered(
    path: Path, text: np.ndarray, header: _Header, sources: np.ndarray, targets: np.ndarray
) -> tuple[int, np.ndarray, np.ndarray, str]:
    """Vertex count, edges with their final ids, and a word on the ids. See the module's rules."""
    stated = header.vertices
    if sources.size == 0:
        return stated, sources, targets, "ids as given"
    least = int(min(sources.min(), targets.min()))
    greatest = int(max(sources.max(), targets.max()))
    if stated is None:
        unused = f"; ids start at {least}, those below are isolated vertices" if least else ""
        return greatest + 1, sources, targets, f"ids as given{unused}"
    if greatest < stated:
        return stated, sources, targets, "ids as given"
    if least >= 1 and greatest == stated:
        sources -= 1
        targets -= 1
        return stated, sources, targets, f"ids 1 to {stated} taken down by one"
    used, rank = _ranks(sources, targets, greatest)
    if used == stated:
        done = f"ids up to {greatest} renumbered in ascending order"
        return stated, rank(sources), rank(targets), done
    too_far = stated + (least >= 1)
    first = int(np.argmax((sources >= too_far) | (targets >= too_far)))
    raise InputError(
        f"ids reach {greatest}, and {used} of them occur, but line {header.line} says {stated} vertices",
        path=path,
        line=_line_of_edge(text, first),
        remedy="correct the header, or take it out",
    )


def _ranks(sources: np.ndarray, targets: np.ndarray, greatest: int):
    """How many different ids occur, and the function that gives an id array's ranks among them."""
    if greatest < 16 * sources.size + (1 << 20):
        place = np.zeros(greatest + 1, VERTEX)
        place[sources] = 1
        place[targets] = 1
        np.cumsum(place, dtype=VERTEX, out=place)
        return int(place[-1]), lambda ids: place[ids] - VERTEX(1)
    known = np.unique(np.concatenate((np.unique(sources), np.unique(targets))))
    return known.size, lambda ids: np.searchsorted(known, ids).astype(VERTEX)


def both_ways(sources: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every edge and its reverse; a self-loop once."""
    other = sources != targets
    return np.concatenate((sources, targets[other])), np.concatenate((targets, sources[other]))


def _line_of_edge(text: np.ndarray, edge: int) -> int:
    """The line of the edge with this rank: the parser stops there when it has room for no more."""
    state = new_state(0, 1)
    room = np.empty(edge, VERTEX)
    parse_edges(text, state, room, room.copy(), 0, MAX_VERTICES - 1, 0, 2)
    return int(state[LINE])


def _edge_fault(path: Path, text: np.ndarray, state: np.ndarray, status: int) -> InputError:
    message = number_fault(status, state, MAX_VERTICES, 0, "a vertex id")
    if message is None:
        message = (
            "an edge has a source and a target, only one number is here"
            if state[VALUE] < 0
            else "something that is no number follows the edge"
            if state[VALUE] == 0
            else "more than a weight and a time follow the edge"
        )
    return malformed(path, text, state, message, "'source target [weight [time]]', separated by blanks")


# ---------------------------------------------------------------------------------------- Matrix Market


def read_mtx(path: Path, text: np.ndarray) -> tuple[Graph, str]:
    """The graph in a Matrix Market text (uint8[size]), and what was done to its ids. Raises InputError."""
    columns, symmetric = _banner(path, text)
    vertices, entries, pos, line = _sizes(path, text)
    state = new_state(pos, line)
    status, sources, targets = parse(parse_edges, text, state, 1, vertices, columns, columns)
    if status != DONE:
        raise _mtx_fault(path, text, state, status, vertices, columns)
    if sources.size != entries:
        raise InputError(
            f"{sources.size} entries, but line {line - 1} says {entries}",
            path=path,
            line=int(state[LINE]),
            remedy=REFETCH if sources.size < entries else "correct the size line",
        )
    done = "indices taken down by one"
    if symmetric:
        sources, targets = both_ways(sources, targets)
        done += "; symmetric: each entry in both directions"
    return Graph(vertices, sources, targets), done


def _banner(path: Path, text: np.ndarray) -> tuple[int, bool]:
    """Value columns of an entry, and whether an entry stands for both directions."""
    said = next((said for _, _, said in lines(text, 4096)), b"")
    found = _BANNER.match(said)
    if not found:
        raise InputError("no '%%MatrixMarket matrix FORMAT FIELD SYMMETRY' line", path=path, line=1)
    layout, field, symmetry = (word.lower() for word in found.groups())
    if layout != b"coordinate" or field not in _VALUES or symmetry not in _BOTH_WAYS:
        raise InputError(
            f"a Matrix Market file of kind {' '.join(word.decode() for word in found.groups())!r}",
            path=path,
            line=1,
            remedy="'coordinate', one of " + ", ".join(word.decode() for word in (*_VALUES, *_BOTH_WAYS)),
        )
    return _VALUES[field], _BOTH_WAYS[symmetry]


def _sizes(path: Path, text: np.ndarray) -> tuple[int, int, int, int]:
    """Vertices, entries, and the byte and line after the size line."""
    line = 1
    for line, after, said in lines(text, text.size):
        if not said or said.startswith(b"%"):
            continue
        words = said.split()
        if len(words) != 3 or not all(word.isdigit() and len(word) < 19 for word in words):
            raise InputError("the size line 'rows columns entries' expected", path=path, line=line)
        rows, columns, entries = (int(word) for word in words)
        if rows != columns:
            raise InputError(f"a matrix of {rows} by {columns} is no graph: not square", path=path, line=line)
        check_vertices(rows, path, line)
        return rows, entries, after, line + 1
    raise InputError("the file ends before the size line", path=path, line=line, remedy=REFETCH)


def _mtx_fault(path: Path, text: np.ndarray, state: np.ndarray, status: int, vertices: int, columns: int) -> InputError:
    message = number_fault(status, state, vertices, 1, "an index")
    if message is None:
        message = f"an entry has two indices and {columns} values after them"
    return malformed(path, text, state, message)


# ---------------------------------------------------------------------------------------- the parser


@njit(cache=True)
def _fault_of(value, first, last):
    """The code of a vertex id that `number` gave and that may not stand here."""
    if value == -2:
        return TOO_LONG
    return NOT_A_NUMBER if first <= value <= last or value == -1 else OUT_OF_RANGE


@njit(cache=True, inline="always")
def _in_number(byte):
    """Digits, signs, the point and the e of an exponent."""
    return 48 <= byte <= 57 or byte == 43 or byte == 45 or byte == 46 or byte == 69 or byte == 101


@njit(PARSER.format("int64, int64, int64, int64"), cache=True)
def parse_edges(text, state, sources, targets, first, last, fewest, most):
    """Edge lines from state[POS] on; returns a status code.

    Ids of first..last are allowed and stored less `first`; `fewest` to `most` numbers may follow an edge. On
    COLUMNS, state[VALUE] is -1 when there is no target, 0 for a column that is no number, 1 for their count.
    """
    end, room = text.size, targets.size
    pos, line, count = state[POS], state[LINE], state[COUNT]
    status = np.int64(-1)
    while status < 0:
        while pos < end and is_space(text[at(pos)]):
            line += text[at(pos)] == NEWLINE
            pos += 1
        if pos == end:
            status = DONE
            break
        if text[at(pos)] == HASH or text[at(pos)] == PERCENT:
            while pos < end and text[at(pos)] != NEWLINE:
                pos += 1
            continue
        if count == room:
            status = FULL
            break
        start = pos
        source, pos = number(text, pos)
        if source < first or source > last or (pos < end and not is_space(text[at(pos)])):
            status, state[VALUE], pos = _fault_of(source, first, last), source, start
            break
        while pos < end and is_blank(text[at(pos)]):
            pos += 1
        if pos == end or text[at(pos)] == NEWLINE:
            status, state[VALUE], pos = COLUMNS, -1, start
            break
        start = pos
        target, pos = number(text, pos)
        if target < first or target > last or (pos < end and not is_space(text[at(pos)])):
            status, state[VALUE], pos = _fault_of(target, first, last), target, start
            break
        columns = 0
        while True:
            while pos < end and is_blank(text[at(pos)]):
                pos += 1
            if pos == end or text[at(pos)] == NEWLINE:
                break
            start = pos
            while pos < end and _in_number(text[at(pos)]):
                pos += 1
            columns += 1
            if pos == start or (pos < end and not is_space(text[at(pos)])):
                status, state[VALUE], pos = COLUMNS, 0, start
                break
        if status >= 0:
            break
        if columns < fewest or columns > most:
            status, state[VALUE] = COLUMNS, 1
            break
        sources[at(count)] = source - first
        targets[at(count)] = target - first
        count += 1
    state[POS], state[LINE], state[COUNT] = pos, line, count
    return status
