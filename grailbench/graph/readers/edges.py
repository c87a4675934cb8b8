"""Reads edge lists (SNAP, KONECT, plain), Matrix Market files and those of the closure report: a line for each edge.

Edge lists. A line has a source, a target, and optionally a weight (see `weights`) and a time, which is ignored. Lines
that start with '#' or '%' are comments; blank lines are ignored. Edges are directed, unless the header says otherwise
(SNAP 'Undirected graph', KONECT 'sym'): then each line stands for both directions.

A header is one of these comments before the first edge:

    # Nodes: 3774768 Edges: 16518948      SNAP
    % asym unweighted                     KONECT, first line: asym, sym or bip (an error)
    % 16518947 3774768 3774768            KONECT, second line: edges, vertices, vertices

A first line `vertices edges`, after which as many edges follow as it says and no id is beyond the vertices, is no edge:
so course and contest files begin. That is noted; with fewer than `COUNTED` edges it is only noted, as an edge may look
so. Where the caller states the number of vertices it is an edge.

Without a stated number of vertices, the ids are 0 to the greatest id. If a header or the caller states the number N,
the first rule that applies decides: if all ids are below N, the ids are 0 to N - 1; if they are in 1..N, they are
1 to N; if exactly N different ids occur (as in SNAP's patents), they are these; otherwise it is an error. The ids of
KONECT files are always 1 to N. If no number is stated, more than `UNSTATED` vertices and also more than `AN_EDGE` for
each edge are an error, because a single wrong id would make a huge graph. The caller can also request that exactly the
ids that occur are the vertices.

Matrix Market. The matrix must be square and in coordinate format. An entry (i, j) that is not 0 is the edge i -> j, and
its value is the weight; the ids are 1 to the number of rows. Symmetric, skew-symmetric and hermitian matrices give both
directions.

The format of the closure report (Fenz et al., TU Wien 2022, section 1.1): a first line `vertices edges directed`, and
`source destination weight` a line. The report does not define the spelling of the third word: `directed` and
`undirected` are written; `d`, `u`, `1`, `0`, `true` and `false` are read too. Ids start at 0. Weights are kept if they
are usable (see `weights`). The number of edges must be that of the first line, so that a truncated file is detected.
"""

import re
from dataclasses import dataclass, replace

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import MAX_VERTICES, VERTEX, Graph
from grailbench.graph.ids import Counted, Ids, ids_from
from grailbench.graph.readers import parsers
from grailbench.graph.readers.parsers import (
    DONE,
    NEWLINE,
    check_stated,
    fault,
    new_state,
    parse,
    parse_edges,
    usable_weights,
)
from grailbench.graph.readers.text import (
    Found,
    are_counts,
    check_memory,
    check_vertices,
    first_line,
    lines,
    zeros_left_out,
)
from grailbench.graph.weights import NEEDED, WEIGHT, of_values
from grailbench.util.files import REFETCH
from grailbench.util.words import count

_SNAP = re.compile(rb"[#%]\s*Nodes:?\s*(\d+)[,;\s]+Edges:?\s*(\d+)\s*$", re.IGNORECASE)
_SNAP_UNDIRECTED = re.compile(rb"[#%]\s*Undirected graph\b", re.IGNORECASE)
_KONECT = re.compile(rb"%\s*(sym|asym|bip)\s+\w+", re.IGNORECASE)
_KONECT_COUNTS = re.compile(rb"%\s*(\d+)\s+(\d+)\s+(\d+)\s*$")
_BANNER = re.compile(rb"%%?MatrixMarket\s+matrix\s+(\w+)\s+([\w-]+)\s+([\w-]+)\s*$", re.IGNORECASE)
_VALUES = {
    b"pattern": 0,
    b"integer": 1,
    b"unsigned-integer": 1,
    b"real": 1,
    b"double": 1,
    b"complex": 2,
}  # columns after the two indices
_BOTH_WAYS = {b"general": False, b"symmetric": True, b"skew-symmetric": True, b"hermitian": True}
_NUMBER = rb"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?!\S)"
#: the numbers of an edge, the one attribute `weight` that networkx.write_edgelist may write after it, or other words
_WORDS_AFTER = re.compile(
    rb"^(?P<edge>[ \t]*\d+[ \t]+\d+(?:[ \t]+" + _NUMBER + rb"){0,2}[ \t]+)"
    rb"(?:\{'weight': (?P<weight>[-+.\deE]+)\}|(?P<words>(?!" + _NUMBER + rb")\S[^\n]*))[ \t\r]*$",
    re.MULTILINE,
)
_EDGE_LINES = re.compile(rb"^[ \t]*\d[^\n]*$", re.MULTILINE)
_HEADER_BYTES = 1 << 16  # a header is searched only in this many bytes of leading comments
_ADJACENCY = "--format adjlist if a line is a vertex and all that it has edges to"
_NAMES = "--format names if the ids are words or negative, csv or tsv if this is a table"
_LARGE = "--format names takes ids of any size"
#: what is wrong with the columns of an edge, by state[parsers.VALUE] of `parse_edges`
_COLUMN_FAULTS = {
    -1: "an edge has a source and a target, only one number is here",
    0: "something that is no number follows the edge",
    1: "more than a weight and a time follow the edge",
}
COUNTED = 10  #: edges from which on a first line of counts is none of them
_MAY_COUNT = "its first line, read as an edge, counts vertices and edges if it is none: then begin it with #"
UNSTATED, AN_EDGE = 1_000_000, 64  #: vertices allowed without a stated number: in all, or for each edge


# ---------------------------------------------------------------------------------------- edge lists


@dataclass
class _Header:
    """What the leading comments state. `line` has the counts; `counted` names the source of the number of vertices."""

    vertices: int | None = None
    edges: int | None = None
    undirected: bool = False
    konect: bool = False
    line: int = 1
    counted: str = ""

    @property
    def first(self) -> int:
        """The least id allowed in the file."""
        return int(self.konect)


def read_edges(
    text: np.ndarray,
    named: bool = True,
    vertices: int | None = None,
    renumber: bool = False,
    words: bool = False,
) -> Found:
    """Reads a graph from an edge list (uint8[size]). Raises InputError if it is malformed, and TooLittleMemory.

    named     whether the user named the format; if not, and without a header, lines with different numbers of columns
              are an error, because the file may be an adjacency list
    vertices  the number of vertices, which replaces that of a header
    renumber  whether exactly the ids that occur are the vertices, in ascending order; stated numbers are ignored
    words     whether words followed each edge, so that the first line is one too
    """
    header = edge_header(text)
    alone = vertices is None and not (
        renumber or words or header.konect or header.undirected or header.vertices is not None
    )
    named |= header.konect or header.vertices is not None
    if vertices is not None or renumber:
        header.vertices, header.counted = None if renumber else vertices, "--vertices"
    if header.vertices is not None:
        counted = header.line if vertices is None else None
        check_vertices(header.vertices, counted)
        check_memory(header.vertices, counted)
    state = new_state(0, 1)
    columns = (header.first, MAX_VERTICES - 1 + header.first, 0, 2, False)
    first, room = new_state(0, 1), np.empty(1, VERTEX)
    parse_edges(text, first, room, room.copy(), np.empty(0, WEIGHT), *columns)  # of the first edge, for its columns
    weighted = first[parsers.MOST] >= 1
    status, sources, targets, weights = parse(parse_edges, text, state, *columns, weighted=weighted)
    if status == parsers.COLUMNS and state[parsers.VALUE] == 0 and (bare := _without_words(text)) is not None:
        found = read_edges(bare[0], True, vertices, renumber, words=True)
        return replace(found, notes=(*found.notes, bare[1]))
    if status != DONE:
        raise edge_fault(text, state, status, header.first)
    others = _after_counts(text, named, sources, targets) if alone and first[parsers.MOST] == 0 else None
    if others is not None and (sources.size > COUNTED or others.weights is not None):
        return others
    if state[parsers.VARIED] and not named:
        message = "this line has another number of columns than those before"
        remedy = f"--format edges if they are edges, some with a weight; {_ADJACENCY}"
        raise InputError(message, line=int(state[parsers.VARIED]), remedy=remedy)
    if header.edges is not None:
        remedy = "correct the header, or take it out"
        check_stated(state, sources.size, header.edges, "edges", header.line, remedy)
    if sources.size == 0 and header.vertices is None:
        raise InputError("the file holds no edge", line=int(state[parsers.LINE]))
    numbered = _occurring(header, sources, targets) if renumber else _numbered(text, header, sources, targets)
    ids, sources, targets, notes = numbered
    notes = notes if others is None else [_MAY_COUNT, *notes]
    weights, description = _weights_of(text, state, weights)
    if state[parsers.MOST] == 2:
        notes.append("column 4 (a time) is not used")
    if header.undirected:
        sources, targets, weights = both_ways(sources, targets, weights)
        notes.append("undirected: each edge in both directions")
    return Found(Graph(ids.vertices, sources, targets, weights), ids, tuple(notes), description)


def _without_words(text: np.ndarray) -> tuple[np.ndarray, str] | None:
    """The text with blanks for what follows the numbers of an edge, if words do so in every line of an edge, and a note
    on it; an attribute `weight` alone becomes a column. None if they do not."""
    raw, first = text.tobytes(), []

    def blanked(line: re.Match) -> bytes:
        if line["words"] is not None and not first:
            first.append(line["words"].strip()[:40].decode("utf-8", "backslashreplace"))
        return line["edge"] + (line["weight"] or b"").ljust(line.end() - line.end("edge"))

    bare, changed = _WORDS_AFTER.subn(blanked, raw)
    if changed < len(_EDGE_LINES.findall(raw)):
        return None
    note = (
        f"what follows the numbers of an edge is not used, such as {first[0]!r}"
        if first
        else "weights are the attribute 'weight'"
    )
    return np.frombuffer(bytearray(bare), np.uint8), note


def _after_counts(text: np.ndarray, named: bool, sources: np.ndarray, targets: np.ndarray) -> Found | None:
    """The graph after a first line `vertices edges`; None if the first of these edges cannot be one. They are the lines
    of a file without a header, by the ids in it."""
    if sources.size < 2 or targets[0] != sources.size - 1 or max(sources.max(), targets[1:].max()) > sources[0]:
        return None
    begin = 0
    for _, after, content in lines(text):
        if content and content[:1] not in b"#%":
            break
        begin = after
    without = text.copy()
    without[begin : after - 1] = ord("#")  # a comment, so that lines have their numbers
    try:
        found = read_edges(without, named, int(sources[0]))
    except InputError:
        return None  # a line that is no edge, which the caller names
    counts = f"{sources[0]:,} vertices and {count(int(targets[0]), 'edge')}"
    note = f"its first line counts {counts} (with --vertices it is an edge)"
    return replace(found, notes=(note, *found.notes)) if isinstance(found.ids, Counted) else None


def _weights_of(text: np.ndarray, state: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray | None, str | None]:
    """The weights of column 3 if they are usable, and a description of them; None if there is no such column."""
    if state[parsers.MOST] < 1:
        return None, None
    if state[parsers.FEWEST] < 1:
        return None, f"not used: not every edge has one (line {int(state[parsers.VARIED])} differs from those before)"
    return usable_weights(text, state, weights, "column 3")


def edge_header(text: np.ndarray) -> _Header:
    header = _Header()
    for line, _, content in lines(text, _HEADER_BYTES):
        if content and content[:1] not in b"#%":
            break
        if found := _SNAP.match(content):
            header.vertices, header.edges, header.line = int(found[1]), int(found[2]), line
        elif _SNAP_UNDIRECTED.match(content):
            header.undirected = True
        elif found := _KONECT.match(content):
            header.konect = True
            header.undirected = found[1].lower() == b"sym"
            if found[1].lower() == b"bip":
                raise InputError("a bipartite graph: its two sides share ids", line=line)
        elif header.konect and (found := _KONECT_COUNTS.match(content)):
            header.edges, header.vertices, header.line = int(found[1]), int(found[2]), line
            if int(found[2]) != int(found[3]):
                raise InputError(f"{int(found[2])} and {int(found[3])} vertices: two sides, not one graph", line=line)
    header.counted = f"line {header.line}"
    return header


def _numbered(
    text: np.ndarray, header: _Header, sources: np.ndarray, targets: np.ndarray
) -> tuple[Ids, np.ndarray, np.ndarray, list[str]]:
    """The ids, the edges as vertices, and notes, by the rules of this module.

    The given arrays hold the ids of the file minus `header.first`, and may be changed in place.
    """
    stated, first = header.vertices, header.first
    if sources.size == 0:
        return Counted(stated or 0, first), sources, targets, []
    least = int(min(sources.min(), targets.min())) + first
    greatest = int(max(sources.max(), targets.max())) + first
    if stated is None:
        _check_unstated(text, header, sources, targets, greatest)
        unused = least > first
        note = f"the least id of an edge is {least}; those below are vertices without an edge"
        return Counted(greatest + 1 - first, first), sources, targets, [note] * unused
    if greatest < stated + first:
        return Counted(stated, first), sources, targets, []
    if least >= 1 and greatest == stated:
        sources -= 1
        targets -= 1
        return Counted(stated, 1), sources, targets, []
    occurring = _occurring(header, sources, targets)
    if (used := occurring[0].vertices) == stated:
        return occurring
    too_far = stated + (least >= 1) - first
    worst = int(np.argmax((sources >= too_far) | (targets >= too_far)))
    message = f"ids reach {greatest}, and {used} of them occur, but {header.counted} says {stated} vertices"
    raise InputError(message, line=_line_of_edge(text, worst, first), remedy="correct the count, or leave it out")


def _check_unstated(text: np.ndarray, header: _Header, sources: np.ndarray, targets: np.ndarray, greatest: int) -> None:
    """Raises InputError if the greatest id makes too many vertices for the number of edges; see the module's rules."""
    vertices = greatest + 1 - header.first
    if vertices > max(UNSTATED, AN_EDGE * sources.size):
        last = vertices - 1
        worst = int(np.argmax((sources == last) | (targets == last)))
        message = f"id {greatest} makes a graph of {vertices:,} vertices out of {sources.size:,} edges"
        remedy = "a header '# Nodes: N Edges: M' or --vertices N if they are meant, --renumber if not"
        raise InputError(message, line=_line_of_edge(text, worst, header.first), remedy=remedy)
    check_memory(vertices, edges=sources.size)


def _occurring(header: _Header, sources: np.ndarray, targets: np.ndarray) -> tuple[Ids, np.ndarray, np.ndarray, list]:
    """As `_numbered`, but exactly the ids that occur are the vertices, in ascending order."""
    known, rank = ranks(sources, targets)
    return ids_from(known + header.first), rank(sources), rank(targets), []


def ranks(sources: np.ndarray, targets: np.ndarray):
    """The distinct numbers in two int32 arrays, int64[k], ascending; and a function that maps an array of such numbers
    to their ranks."""
    greatest = int(max(sources.max(), targets.max()))
    if greatest < 16 * sources.size + (1 << 20):
        place = np.zeros(greatest + 1, VERTEX)
        place[sources] = 1
        place[targets] = 1
        known = np.flatnonzero(place)
        np.cumsum(place, dtype=VERTEX, out=place)
        return known, lambda ids: place[ids] - VERTEX(1)
    known = np.unique(np.concatenate((np.unique(sources), np.unique(targets)))).astype(np.int64)
    return known, lambda ids: np.searchsorted(known, ids).astype(VERTEX)


def both_ways(
    sources: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray | None = None,
    undirected: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Every edge and its reverse with the same weight; self-loops only once.

    undirected  bool[m], which edges lead both ways; None for all
    """
    other = sources != targets if undirected is None else (sources != targets) & undirected
    return (
        np.concatenate((sources, targets[other])),
        np.concatenate((targets, sources[other])),
        None if weights is None else np.concatenate((weights, weights[other])),
    )


def with_reverses(graph: Graph, undirected: np.ndarray) -> tuple[Graph, tuple[str, ...]]:
    """The graph with the reverses of its undirected edges (bool[m], or [0] if there are none), and a note on them."""
    if not undirected.any():
        return graph, ()
    which = "each edge" if undirected.all() else f"{np.count_nonzero(undirected):,} of {undirected.size:,} edges"
    ends, kinds = (graph.sources, graph.targets), graph.kinds
    if kinds is not None:
        kinds = kinds._replace(codes=both_ways(*ends, kinds.codes, undirected)[2])
    return Graph(graph.vertices, *both_ways(*ends, graph.weights, undirected), kinds), (
        f"undirected: {which} in both directions",
    )


def _line_of_edge(text: np.ndarray, edge: int, first: int) -> int:
    """The line of edge number `edge`, where the parser stops if its arrays have room for only that many edges."""
    state = new_state(0, 1)
    room = np.empty(edge, VERTEX)
    parse_edges(text, state, room, room.copy(), np.empty(0, WEIGHT), first, MAX_VERTICES - 1 + first, 0, 2, False)
    return int(state[parsers.LINE])


def edge_fault(text: np.ndarray, state: np.ndarray, status: int, first: int) -> InputError:
    """The error for the status with which `parse_edges` stopped in an edge list."""
    remedy, value = "'source target [weight [time]]', separated by blanks", int(state[parsers.VALUE])
    hints = {parsers.NOT_A_NUMBER: _NAMES, parsers.TOO_LONG: _LARGE, parsers.OUT_OF_RANGE: _LARGE}
    if status == parsers.COLUMNS and value:
        hints[status] = _ADJACENCY
    remedy += f"; {hints[status]}" if status in hints else ""
    messages = {status: _COLUMN_FAULTS[value]} if status == parsers.COLUMNS else {}
    if status == parsers.OUT_OF_RANGE and first and value == 0:
        messages = {parsers.OUT_OF_RANGE: "a vertex id 0, but KONECT counts from 1"}
        remedy = "take the '% sym' or '% asym' line out to count from 0"
    return fault(text, state, status, "a vertex id", MAX_VERTICES, first, messages, remedy)


# ---------------------------------------------------------------------------------------- Matrix Market


def read_mtx(text: np.ndarray) -> Found:
    """Reads a graph from a Matrix Market text (uint8[size]). Raises InputError if it is malformed."""
    layout, columns, symmetry = _banner(text)
    if layout == b"array":
        return _dense(text, columns, symmetry)
    vertices, entries, pos, line = _sizes(text)
    state = new_state(pos, line)
    status, sources, targets, weights = parse(
        parse_edges, text, state, 1, vertices, columns, columns, True, weighted=columns == 1
    )
    if status != DONE:
        messages = {parsers.COLUMNS: f"an entry has two indices and {columns} values after them"}
        raise fault(text, state, status, "an index", vertices, 1, messages)
    zeros = int(state[parsers.ZEROS])
    check_stated(state, sources.size + zeros, entries, "entries", line - 1, "correct the size line")
    weights, description = _values_of(text, state, weights, symmetry)
    return _of_matrix(vertices, sources, targets, weights, symmetry, zeros_left_out(zeros), description)


def _dense(text: np.ndarray, columns: int, symmetry: bytes) -> Found:
    """The graph of a matrix all of whose values are written, column after column: of a symmetric or hermitian one those
    from the diagonal on, of a skew-symmetric one those below it."""
    line, _, content = first_line(text, "the size line", comment=b"%")
    size = content.split()
    rest = [(at, content.split()) for at, _, content in lines(text) if content[:1] not in (b"", b"%")][1:]
    if len(size) != 2 or not are_counts(size) or size[0] != size[1]:
        raise InputError("the size line 'rows columns' of a square matrix expected", line=line)
    n = int(size[0])
    below = {b"general": n * n, b"skew-symmetric": n * (n - 1) // 2}.get(symmetry, n * (n + 1) // 2)
    if len(rest) != below:
        raise InputError(f"{len(rest):,} lines of values, but the matrix has {below:,}", line=line, remedy=REFETCH)
    check_vertices(n, line)
    values = np.empty((below, columns))
    for place, (line, words) in enumerate(rest):
        try:
            values[place] = [float(word) for word in words]
        except ValueError:
            shown = b" ".join(words)[:60].decode("ascii", "backslashreplace")
            raise InputError(f"{columns} numbers expected, found {shown!r}", line=line) from None
    stored = np.flatnonzero((values != 0).any(axis=1))
    whole = symmetry == b"general"
    targets, sources = np.divmod(stored, n) if whole else np.triu_indices(n, int(symmetry == b"skew-symmetric"))
    ends = [each.astype(VERTEX) for each in ((sources, targets) if whole else (sources[stored], targets[stored]))]
    given = values[stored, 0] if columns == 1 and symmetry in (b"general", b"symmetric") else None
    weights, description = (None, None) if given is None else of_values(given, "values")
    return _of_matrix(n, *ends, weights, symmetry, (), description)


def _of_matrix(
    vertices: int, sources: np.ndarray, targets: np.ndarray, weights: np.ndarray | None, symmetry: bytes,
    notes: tuple[str, ...], description: str | None,
) -> Found:  # fmt: skip
    """The graph of the entries of a matrix, which lead both ways if it is symmetric in any sense."""
    if _BOTH_WAYS[symmetry]:
        sources, targets, weights = both_ways(sources, targets, weights)
        notes += (f"{symmetry.decode()}: each entry in both directions",)
    return Found(Graph(vertices, sources, targets, weights), Counted(vertices, 1), notes, description)


def _values_of(
    text: np.ndarray, state: np.ndarray, weights: np.ndarray, symmetry: bytes
) -> tuple[np.ndarray | None, str | None]:
    """The values of a matrix as weights if they are usable, and a description of them; None if it has no values."""
    if state[parsers.MOST] < 1:
        return None, None
    if state[parsers.MOST] == 2:
        return None, f"not used: the values are complex; {NEEDED}"
    if symmetry == b"skew-symmetric":
        return None, f"not used: half of the values of a skew-symmetric matrix are negative; {NEEDED}"
    return usable_weights(text, state, weights, "values")


def _banner(text: np.ndarray) -> tuple[bytes, int, bytes]:
    """The layout, the number of value columns of an entry, and the word for the symmetry."""
    content = next((content for _, _, content in lines(text, 4096)), b"")
    found = _BANNER.match(content)
    if not found:
        raise InputError("no '%%MatrixMarket matrix FORMAT FIELD SYMMETRY' line", line=1)
    layout, field, symmetry = (word.lower() for word in found.groups())
    read = field in _VALUES and (layout == b"coordinate" or (layout == b"array" and field != b"pattern"))
    if not read or symmetry not in _BOTH_WAYS:
        message = f"a Matrix Market file of kind {' '.join(word.decode() for word in found.groups())!r}"
        remedy = "'coordinate' or 'array', one of " + ", ".join(word.decode() for word in (*_VALUES, *_BOTH_WAYS))
        raise InputError(message, line=1, remedy=remedy)
    return layout, _VALUES[field], symmetry


def _sizes(text: np.ndarray) -> tuple[int, int, int, int]:
    """Vertices, entries, and the byte and line after the size line."""
    line, after, content = first_line(text, "the size line", comment=b"%")
    words = content.split()
    if len(words) != 3 or not are_counts(words):
        raise InputError("the size line 'rows columns entries' expected", line=line)
    rows, columns, entries = (int(word) for word in words)
    if rows != columns:
        raise InputError(f"a matrix of {rows} by {columns} is no graph: not square", line=line)
    check_vertices(rows, line)
    check_memory(rows, line)
    return rows, entries, after, line + 1


# ---------------------------------------------------------------------------------------- DIMACS


_PROBLEM = re.compile(rb"p[ \t]+(sp|edge|col)[ \t]+(\d{1,18})[ \t]+(\d{1,18})$")
_LINES_OF = {b"sp": (b"a", 1), b"edge": (b"e", 0), b"col": (b"e", 0)}  #: the letter of an edge, the values after it


def read_dimacs(text: np.ndarray) -> Found:
    """Reads a graph from a DIMACS text (uint8[size]): `a u v weight` a line after `p sp vertices arcs`, or the
    undirected `e u v` after `p edge vertices edges`. Raises InputError if it is malformed."""
    for line, _, content in lines(text):  # noqa: B007 - of the problem
        if content and not content.startswith(b"c"):
            break
    else:
        content = b""
    if not (problem := _PROBLEM.match(content)):
        raise InputError("'p sp vertices arcs' or 'p edge vertices edges' expected", line=line)
    (letter, values), vertices = _LINES_OF[problem[1]], int(problem[2])
    check_vertices(vertices, line)
    check_memory(vertices, line)
    text = text.copy()
    starts = np.concatenate(([0], np.flatnonzero(text[:-1] == NEWLINE) + 1))
    firsts = text[starts]
    text[starts[firsts == ord(letter)]] = ord(" ")
    text[starts[np.isin(firsts, (ord("c"), ord("p")))]] = ord("%")
    state = new_state(0, 1)
    columns = (1, vertices, values, values, False)
    status, sources, targets, weights = parse(parse_edges, text, state, *columns, weighted=bool(values))
    if status != DONE:
        form = f"{letter.decode()} source target{' weight' * values}"
        raise fault(text, state, status, "a vertex id", vertices, 1, {parsers.COLUMNS: f"{form!r} expected"}, form)
    check_stated(state, sources.size, int(problem[3]), "edges", line, "correct the line 'p'")
    weights, description = usable_weights(text, state, weights, "of arcs") if values else (None, None)
    notes: tuple[str, ...] = ()
    if not values:
        sources, targets, _ = both_ways(sources, targets)
        notes = ("undirected: each edge in both directions",)
    return Found(Graph(vertices, sources, targets, weights), Counted(vertices, 1), notes, description)


# ---------------------------------------------------------------------------------------- the closure report


_DIRECTED = {b"directed": True, b"d": True, b"1": True, b"true": True}
_DIRECTED |= {b"undirected": False, b"u": False, b"0": False, b"false": False}
_MEND = "correct the line; where the file ends with it, fetch or copy it again"


def read_tuwien(text: np.ndarray) -> Found:
    """Reads a graph from a text (uint8[size]) in the report's format. Raises InputError if it is malformed."""
    vertices, edges, directed, pos, line = _tuwien_header(text)
    state = new_state(pos, line + 1)
    status, sources, targets, weights = parse(parse_edges, text, state, 0, vertices - 1, 1, 1, False, weighted=True)
    if status != DONE:
        messages = {parsers.COLUMNS: "an edge is 'source destination weight'"}
        raise fault(text, state, status, "a vertex id", vertices, 0, messages, _MEND)
    check_stated(state, sources.size, edges, "edges", line, "correct the first line")
    weights, description = usable_weights(text, state, weights, "column 3")
    notes: tuple[str, ...] = ()
    if not directed:
        sources, targets, weights = both_ways(sources, targets, weights)
        notes = ("undirected: each edge in both directions",)
    return Found(Graph(vertices, sources, targets, weights), Counted(vertices), notes, description)


def _tuwien_header(text: np.ndarray) -> tuple[int, int, bool, int, int]:
    """Vertices, edges, whether they are directed, the byte after the first line, and its number."""
    line, after, content = first_line(text, "its first line of counts")
    words = content.split()
    counts = are_counts(words[:2])
    if len(words) != 3 or not counts or words[2].lower() not in _DIRECTED:
        whole = len(words) == 3 and counts
        message = f"'vertices edges directed' expected, found {content[:60].decode('ascii', 'backslashreplace')!r}"
        remedy = "the third word is 'directed' or 'undirected' (or 1 or 0)" if whole else "such as 4 4 directed"
        raise InputError(message, line=line, remedy=remedy)
    check_vertices(int(words[0]), line)
    check_memory(int(words[0]), line)
    return int(words[0]), int(words[1]), _DIRECTED[words[2].lower()], after, line
