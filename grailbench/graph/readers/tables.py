"""Reads edges between names: word lists `source target [weight]`, and tables (CSV, TSV, Parquet), an edge a line.

The columns of source and target of a table are those that the caller names; else those whose names are recognised
(`cells.readings`); 'Formats' in docs has the rules. If all ids are numbers they stay numbers, else they are names.
The vertices are the ids that occur. What may be read in several ways is an error.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.ids import is_number
from grailbench.graph.readers.cells import (
    decoded,
    ends_of,
    first_row,
    found_of,
    needed,
    parsing,
    place_of,
    rows,
    unrecognised,
    words_of,
)
from grailbench.graph.readers.edges import with_reverses
from grailbench.graph.readers.text import Found
from grailbench.graph.weights import of_values
from grailbench.util.files import REFETCH
from grailbench.util.words import count

_NAME_THEM = "--source COLUMN --target COLUMN"
_NO_HEADER = f"{_NAME_THEM}; with --no-header, if the first line is an edge, columns are 1, 2, ..."
_PLACES = "--source 1 --target 3 takes those words of a line"
#: what networkx.write_edgelist writes after an edge: its attributes, of which a weight alone is read
_ATTRIBUTES = re.compile(r"[ \t]+\{(?:'weight': ([-+.\deE]+)|[^{}\n]*)\}[ \t\r]*$", re.MULTILINE)
_NO_EDGE = "the file holds no edge"
_TYPES = {"directed", "undirected", "mutual"}  # of Gephi's edges
_DIRECTED = np.empty(0, np.bool_)  #: which edges are undirected: none


def read_names(
    text: np.ndarray, source: str | None = None, target: str | None = None, kind: str | None = None
) -> Found:
    """Reads a graph from an edge list of names (uint8[size]). Raises InputError if it is malformed.

    source, target  the places of the two words of an edge, from 1, where lines have others too; weights are not read
    kind            that of the kind of the edge
    """
    whole = decoded(text)
    if bare := _ATTRIBUTES.search(whole):
        whole = _ATTRIBUTES.sub(lambda found: f" {found[1] or ''}", whole)
    if source is not None or kind is not None:
        return _read_words(whole, source or "1", target or "2", kind)
    sources: list[str] = []
    targets: list[str] = []
    weights: list[float] = []
    varied = 0
    for line, cells in words_of(whole):
        words = [word.strip() for word in cells]
        if words[0][:1] in ("#", "%"):
            continue
        if len(words) not in (2, 3) or not all(words):
            message = f"{len(words)} words, or an empty one: {' '.join(words)[:60]!r}"
            remedy = f"'source target [weight]'; in a line with a tab only tabs separate; {_PLACES}"
            raise InputError(message, line=line, remedy=remedy)
        sources.append(words[0])
        targets.append(words[1])
        if len(words) == 3:
            remedy = f"names that hold blanks are separated by tabs; {_PLACES}"
            weights.append(_number(line, words[2], "after the edge is no weight", remedy))
        if not varied and len(weights) not in (0, len(sources)):
            varied = line
    if not sources:
        raise InputError(_NO_EDGE)
    found = found_of(sources, targets)
    if bare:
        found = replace(found, notes=("attributes of edges are not used, but for a weight alone",))
    if varied:
        return replace(found, weights=f"not used: not every edge has one (line {varied} differs from those before)")
    return _made(found, weights, "column 3", notes=found.notes) if weights else found


def _read_words(text: str, source: str, target: str, kind: str | None) -> Found:
    """The graph of an edge list in which the words of these places are the ends of an edge, and perhaps its kind."""
    places = [source, target] if kind is None else [source, target, kind]
    if not all(place.isdecimal() and int(place) for place in places):
        given = " ".join(f"--{name} {place}" for name, place in zip(("source", "target", "kind"), places, strict=False))
        raise InputError(f"{given}: places of words, from 1, are expected")
    ends = [int(place) - 1 for place in places]
    found: list[list[str]] = []
    for line, words in words_of(text):
        if words[0][:1] in ("#", "%"):
            continue
        if len(words) <= max(ends):
            what = "the end of an edge" if kind is None else "an end of an edge or its kind"
            raise InputError(f"{count(len(words), 'word')}, but {what} is word {max(ends) + 1}", line=line)
        found.append([words[end].strip() for end in ends])
    if not found:
        raise InputError(_NO_EDGE)
    note = f"edges go from word {source} to word {target} of a line; others are not used"
    sources, targets, *kinds = zip(*found, strict=True)
    return replace(found_of(sources, targets, kinds=kinds[0] if kinds else None), notes=(note,))


def _number(line: int, cell: str, why: str, remedy: str | None = None) -> float:
    try:
        return float(cell)
    except ValueError:
        raise InputError(f"{cell[:60]!r} {why}", line=line, remedy=remedy) from None


def read_csv(text: np.ndarray, **options) -> Found:
    """Reads a table whose cells are separated by commas or semicolons (uint8[size]). Options as of `Options`.

    Raises InputError if it is malformed, a cell is missing, it has no such column, or may be read in several ways.
    """
    return _read(rows(decoded(text)), **options)


def read_tsv(text: np.ndarray, **options) -> Found:
    """As `read_csv`, with cells separated by tabs."""
    return _read(rows(decoded(text), "\t"), **options)


def _read(
    found: Iterator[tuple[int, list[str]]], source: str | None, target: str | None, weight: str | None,
    kind: str | None, header: bool,
) -> Found:  # fmt: skip
    line, first = first_row(found, header)
    numbers = [str(column) for column in range(1, len(first) + 1)]
    known = _ends(line, first if header else numbers, source, target) if header or source is not None else None
    if known is None and len(first) != 2:
        raise unrecognised(line, first, _NO_HEADER)
    headed = header and known is not None
    names, body = (first, found) if headed else (numbers, itertools.chain([(line, first)], found))
    ends = known or (0, 1)
    weight_at, kind_at = (None if each is None else place_of(line, names, each) for each in (weight, kind))
    type_at = _type_of(names)
    sources, targets, weights, kinds, types = _cells(names, ends, (weight_at, kind_at, type_at), body)
    if not sources:
        raise InputError(_NO_EDGE, line=line)
    notes = []
    if header and not headed:
        if not (all(map(is_number, first)) or {*first} & {*sources[1:], *targets[1:]}):
            raise unrecognised(line, first, _NO_HEADER)
        notes = ["its first line is an edge and no header, because it looks like the others"]
    notes.append(_direction(names, ends))
    what = None if weight_at is None else f"column {names[weight_at]!r}"
    undirected = _DIRECTED if type_at == kind_at else _undirected(types)
    return _made(found_of(sources, targets, kinds=None if kind is None else kinds), weights, what, undirected, notes)


def _ends(line: int | None, names: list[str], source: str | None, target: str | None) -> tuple[int, int] | None:
    """The places of source and target, by the names that the user gave, else as they are recognised."""
    if source is None or target is None:
        return ends_of(line, names, _NAME_THEM)
    return place_of(line, names, source), place_of(line, names, target)


def _direction(names: list[str], ends: tuple[int, int]) -> str:
    return f"edges go from column {names[ends[0]]!r} to column {names[ends[1]]!r}"


def _type_of(names: list[str]) -> int | None:
    """The place of the one column named Type."""
    places = [place for place, name in enumerate(names) if name.casefold() == "type"]
    return places[0] if len(places) == 1 else None


def _cells(
    names: list[str],
    ends: tuple[int, int],
    others: tuple[int | None, int | None, int | None],
    body: Iterator[tuple[int, list[str]]],
) -> tuple[list[str], list[str], list[float], list[str], list[tuple[int, str]]]:
    """The cells of the columns of source, target, and those that there are of weight, kind and type, the latter with
    their lines. Raises InputError at the first that is missing; an edge need not have a kind."""
    sources: list[str] = []
    targets: list[str] = []
    weights: list[float] = []
    kinds: list[str] = []
    types: list[tuple[int, str]] = []
    source, target = ends
    weight, kind, type = others
    width = len(names)
    for line, cells in body:
        if len(cells) != width:
            message = f"{len(cells)} cells, but the first line has {width}"
            raise InputError(message, line=line, remedy="as many cells in every line")
        if not (cells[source] and cells[target]):
            empty = names[target if cells[source] else source]
            raise InputError(f"the cell of column {empty!r} is empty", line=line, remedy="an id is expected")
        sources.append(cells[source])
        targets.append(cells[target])
        if weight is not None:
            weights.append(_number(line, cells[weight], f"in column {names[weight]!r}: a number is expected"))
        if kind is not None:
            kinds.append(cells[kind])
        if type is not None:
            types.append((line, cells[type]))
    return sources, targets, weights, kinds, types


def _undirected(types: list[tuple[int | None, str]]) -> np.ndarray:
    """Which edges a column Type says to be undirected, bool[m]; [0] if it is none of Gephi's, which says only that."""
    kinds = [cell.strip().casefold() for _, cell in types]
    if not _TYPES & set(kinds):
        return _DIRECTED
    for (line, cell), word in zip(types, kinds, strict=True):
        if word not in _TYPES:
            message = f"{cell[:60]!r} in column 'Type': Directed or Undirected is expected, as in other lines"
            raise InputError(message, line=line, remedy="another name for the column if it is not Gephi's")
    return np.array([word != "directed" for word in kinds])


def _made(
    found: Found, weights, what: str | None, undirected: np.ndarray = _DIRECTED, notes: Sequence[str] = ()
) -> Found:
    """The graph with weights, if there is a column `what` of them, and the reverses of undirected edges."""
    graph, description = found.graph, None
    if what is not None:
        usable, description = of_values(np.asarray(weights), what)
        graph = replace(graph, weights=usable)
    graph, more = with_reverses(graph, undirected)
    return replace(found, graph=graph, notes=(*notes, *more), weights=description)


def read_parquet(
    content: np.ndarray, source: str | None, target: str | None, weight: str | None, kind: str | None
) -> Found:
    """Reads a Parquet file (uint8[size]) with an edge in each row; columns as of CSV with a header. Raises InputError
    as `read_csv`, and MachineLacks without pyarrow."""
    needed("pyarrow", "Parquet")
    parquet = needed("pyarrow.parquet", "Parquet")
    arrow = needed("pyarrow", "Parquet")
    with parsing("a Parquet file", REFETCH):
        file = parquet.ParquetFile(arrow.BufferReader(arrow.py_buffer(content)))
        names = list(file.schema_arrow.names)
        if (ends := _ends(None, names, source, target)) is None:
            raise unrecognised(None, names, _NAME_THEM)
        weight_at, kind_at = (None if each is None else place_of(None, names, each) for each in (weight, kind))
        type_at = None if _type_of(names) == kind_at else _type_of(names)
        places = [place for place in (*ends, weight_at, kind_at, type_at) if place is not None]
        table = file.read(columns=[names[place] for place in places])
        if not table.num_rows:
            raise InputError(_NO_EDGE)
        labels = [_labels(names[place], table.column(names[place]), arrow) for place in ends]
        if not all(each.dtype.kind == "i" for each in labels):
            labels = [each if each.dtype == object else each.astype(str).astype(object) for each in labels]
        weights = None if weight_at is None else _values(names[weight_at], table.column(names[weight_at]), arrow)
        kinds = None if kind_at is None else _texts(table.column(names[kind_at]), arrow)
        types = [] if type_at is None else table.column(names[type_at]).to_pylist()
    undirected = _undirected([(None, str(cell or "")) for cell in types])
    what = None if weight_at is None else f"column {names[weight_at]!r}"
    return _made(found_of(*labels, kinds=kinds), weights, what, undirected, [_direction(names, ends)])


def _texts(column, arrow) -> list[str]:
    """The kinds in a column: '' where one is missing."""
    return ["" if each is None else each for each in column.cast(arrow.string()).to_pylist()]


def _whole(name: str, column) -> None:
    """Raises InputError if a value of a column is missing."""
    if column.null_count:
        row = column.is_null().index(True).as_py()
        raise InputError(f"row {row + 1} of column {name!r} is missing", remedy="an id is expected")


def _labels(name: str, column, arrow) -> np.ndarray:
    """The ids in a column: int64[m] if they are numbers, else object[m] of str."""
    _whole(name, column)
    kind = column.type.value_type if arrow.types.is_dictionary(column.type) else column.type
    if arrow.types.is_integer(kind):
        try:
            return column.cast(arrow.int64()).to_numpy()
        except arrow.ArrowInvalid:
            message = f"column {name!r} has an id beyond 64 bits with a sign"
            raise InputError(message, remedy="a column of text may hold ids of any size") from None
    if not (arrow.types.is_string(kind) or arrow.types.is_large_string(kind)):
        raise InputError(f"column {name!r} is of type {column.type}: text or whole numbers are expected")
    labels = np.array([*column.cast(arrow.string()).to_pylist(), None], object)[:-1]
    if (empty := np.flatnonzero(labels == "")).size:
        raise InputError(f"row {empty[0] + 1} of column {name!r} is empty", remedy="an id is expected")
    return labels


def _values(name: str, column, arrow) -> np.ndarray:
    _whole(name, column)
    if not (arrow.types.is_integer(column.type) or arrow.types.is_floating(column.type)):
        raise InputError(f"column {name!r} is of type {column.type}: numbers are expected")
    return column.to_numpy()
