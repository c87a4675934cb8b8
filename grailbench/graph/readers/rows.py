"""Reads the formats with a line for each vertex and its neighbours: `.gra`, METIS and adjacency lists.

`.gra`, of GRAIL and related programs: perhaps the line `graph_for_greach`, the number of vertices n, and for each
vertex of 0..n-1, in any order, one line `0: 1 2 #`. A vertex without a line is an error, because the file may be
truncated. Children may repeat and may include the vertex itself; such edges are kept.

METIS (also Chaco, DIMACS10), whose graphs are undirected: a header `vertices edges [fmt [ncon]]`, and for each vertex a
line with its neighbours, numbered from 1. Weights of edges (fmt 1, 11, 101, 111) are kept if they are usable (see
`weights`); weights and sizes of vertices are ignored. It is an error if the number of neighbours is not twice the
header's number of edges, or if a vertex does not list as many neighbours as list it.

Adjacency lists of `networkx.write_adjlist`: a vertex and all that it has edges to on a line. The vertices are the ids
that occur. A second line for a vertex is an error; by that networkx's multi-line adjacency lists, another format, are
detected. networkx does not mark a graph as undirected, so every edge is read as directed.
"""

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import MAX_VERTICES, Graph
from grailbench.graph.ids import Counted, ids_from
from grailbench.graph.readers import parsers
from grailbench.graph.readers.edges import ranks
from grailbench.graph.readers.parsers import DONE, fault, new_state, parse, parse_gra, parse_rows, usable_weights
from grailbench.graph.readers.text import Found, are_counts, check_vertices, first_line, lines
from grailbench.util.files import REFETCH

# ---------------------------------------------------------------------------------------- .gra


_HEADER = b"graph_for_greach"
_SHORTEST = len("0:#\n")  # bytes of a vertex line
_FEW = 1 << 20  # vertices for which an array is made without asking whether the file can have a line of each


def read_gra(text: np.ndarray) -> Found:
    """Reads a graph from a `.gra` text (uint8[size]), edges in the order of the file. Raises InputError if it is
    malformed."""
    vertices, pos, line = _gra_header(text)
    if vertices > max(_FEW, (text.size - pos + 1) // _SHORTEST):
        message = f"{vertices} vertices, but {text.size - pos} bytes follow, too few for a line of each"
        raise InputError(message, line=line - 1, remedy=REFETCH)
    state, seen = new_state(pos, line), np.zeros(vertices, np.uint8)
    status, sources, targets = parse(parse_gra, text, state, seen)
    whole, current = int(state[parsers.LINES]), int(state[parsers.CURRENT])
    if status != DONE:
        messages = {
            parsers.CUT_OFF: f"the file ends inside a vertex line, after {whole} of {vertices} whole ones",
            parsers.NO_COLON: "a colon expected after the vertex id",
            parsers.NO_END: f"the line of vertex {current} does not end with '#'",
            parsers.AFTER_END: "something follows the '#' that ends the line",
            parsers.TWICE: f"vertex {int(state[parsers.VALUE])} has a second line",
        }
        what = "a child" if current >= 0 else "a vertex id"
        raise fault(text, state, status, what, vertices, messages=messages)
    if whole != vertices:
        missing = int(np.argmin(seen[: whole + 1]))  # does not scan all of a `seen` of 2^31 bytes
        message = f"the file ends after {whole} of {vertices} vertex lines (vertex {missing} has none)"
        raise InputError(message, line=int(state[parsers.LINE]), remedy=REFETCH)
    return Found(Graph(vertices, sources, targets), Counted(vertices))


def _gra_header(text: np.ndarray) -> tuple[int, int, int]:
    """The number of vertices, and the byte and line where the vertex lines start."""
    named, line = False, 1
    for line, after, content in lines(text):
        if not content:
            continue
        if content == _HEADER and not named:
            named = True
            continue
        if not content.isdigit() or len(content) > 18:
            message = f"the vertex count expected, found {content[:60].decode('ascii', 'backslashreplace')!r}"
            remedy = "a .gra file starts with 'graph_for_greach' or with the vertex count alone on a line"
            raise InputError(message, line=line, remedy=remedy)
        check_vertices(int(content), line)
        return int(content), after, line + 1
    raise InputError("the file ends before the vertex count", line=line, remedy=REFETCH)


# ---------------------------------------------------------------------------------------- METIS


_BOTH_ENDS = "METIS lists an edge at both its ends; a directed graph must come in another format"


def read_metis(text: np.ndarray) -> Found:
    """Reads a graph from a METIS text (uint8[size]). Raises InputError if it is malformed."""
    vertices, edges, skipped, stride, pos, line = _metis_header(text)
    state = new_state(pos, line)
    weighted = stride == 2
    row = vertices, 1, vertices, parsers.PERCENT, skipped, stride
    status, sources, targets, weights = parse(parse_rows, text, state, *row, weighted=weighted)
    if status != DONE:
        messages = {
            parsers.CUT_OFF: f"the file ends after {int(state[parsers.LINES])} of {vertices} vertex lines",
            parsers.COLUMNS: "the line of a vertex ends before the weights that fmt promises",
            parsers.AFTER_END: f"something follows the lines of all {vertices} vertices",
        }
        raise fault(text, state, status, "a neighbour or weight", vertices, 1, messages)
    if sources.size != 2 * edges:
        message = f"{sources.size} neighbours are listed, but the {edges} edges of line {line - 1} need {2 * edges}"
        raise InputError(message, line=int(state[parsers.LINE]), remedy=_BOTH_ENDS)
    out, into = (np.bincount(ids, minlength=vertices) for ids in (sources, targets))
    if (uneven := np.flatnonzero(out != into)).size:
        v = int(uneven[0])
        message = f"vertex {v + 1} lists {out[v]} neighbours, but {into[v]} list it"
        raise InputError(message, remedy=_BOTH_ENDS)
    weights, description = usable_weights(text, state, weights, "of edges") if weighted else (None, None)
    graph = Graph(vertices, sources, targets, weights)
    return Found(graph, Counted(vertices, 1), ("undirected: each edge in both directions",), description)


def _metis_header(text: np.ndarray) -> tuple[int, int, int, int, int, int]:
    """Vertices, edges, how many numbers precede the neighbours of a line, how many numbers there are for each
    neighbour, and the byte and line after the header."""
    line, after, content = first_line(text, "the header", comment=b"%")
    words = content.split()
    if not 2 <= len(words) <= 4 or not are_counts(words):
        raise InputError("the header 'vertices edges [fmt [ncon]]' expected", line=line)
    form = words[2].zfill(3) if len(words) > 2 else b"000"
    if len(form) > 3 or form.strip(b"01"):
        raise InputError(f"fmt {words[2].decode()!r} is not made of three 0 or 1", line=line)
    sizes, weights, edge_weights = (digit == ord("1") for digit in form)
    constraints = int(words[3]) if len(words) > 3 else int(weights)
    check_vertices(int(words[0]), line)
    skipped = sizes + (constraints if weights else 0)
    return int(words[0]), int(words[1]), skipped, 1 + edge_weights, after, line + 1


# ---------------------------------------------------------------------------------------- adjacency lists


def read_adjlist(text: np.ndarray) -> Found:
    """Reads a graph from an adjacency list (uint8[size]), edges in the order of the file. Raises InputError if it is
    malformed."""
    state = new_state(0, 1)
    status, row, ids, _ = parse(parse_rows, text, state, -1, 0, MAX_VERTICES - 1, parsers.HASH, 0, 1, weighted=False)
    if status != DONE:
        remedy = "'vertex neighbour neighbour ...', ids separated by blanks"
        raise fault(text, state, status, "a vertex id", MAX_VERTICES, remedy=remedy)
    if ids.size == 0:
        raise InputError("the file holds no vertex", line=int(state[parsers.LINE]))
    begins = np.diff(row, prepend=-1) != 0
    vertices, edges = ids[begins], ~begins
    known, rank = ranks(vertices, ids)
    lines_of = np.bincount(rank(vertices), minlength=known.size)
    if (twice := np.flatnonzero(lines_of > 1)).size:
        message = f"vertex {known[twice[0]]} begins {lines_of[twice[0]]} lines"
        remedy = "a line has a vertex and all that it has edges to, as networkx.write_adjlist writes it"
        raise InputError(message, remedy=f"{remedy}; write_multiline_adjlist writes another format")
    return Found(Graph(known.size, rank(vertices[row[edges]]), rank(ids[edges])), ids_from(known))
