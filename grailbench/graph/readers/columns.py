"""Reads tables with an edge in each row: CSV, TSV and Parquet.

    source,target,weight      CSV: commas, or semicolons if the first line has no comma; TSV: tabs
    alice,bob,3
    "Smith, J.",alice,1       a cell in double quotes may hold the delimiter, and doubled quotes for quotes

The columns are those that the caller names; else the first pair of usual names (`table.USUAL`), else the first two.
Lines before the header that begin with '#' or '%' are comments. A first line with numbers in both columns is an edge.
Blanks around a cell do not count. If all ids are numbers they stay numbers, otherwise they are names. The vertices are
the ids that occur.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import Graph
from grailbench.graph.ids import is_number
from grailbench.graph.readers.labelled import found_of, needed, parsing
from grailbench.graph.readers.table import decoded, rows, usual_columns
from grailbench.graph.readers.text import REFETCH, Found
from grailbench.graph.weights import of_values
from grailbench.words import did_you_mean


def read_csv(path: Path, text: np.ndarray, **asked) -> Found:
    """Reads a table whose cells are separated by commas or semicolons (uint8[size]). Options as of `Options`.

    Raises InputError if it is malformed, a cell is missing or it has no such column.
    """
    whole = decoded(path, text)
    first = whole.lstrip().partition("\n")[0]
    return _read(path, whole, "," if "," in first or ";" not in first else ";", **asked)


def read_tsv(path: Path, text: np.ndarray, **asked) -> Found:
    """As `read_csv`, with cells separated by tabs."""
    return _read(path, decoded(path, text), "\t", **asked)


def _read(
    path: Path, text: str, delimiter: str, source: str | None, target: str | None, weight: str | None, header: bool
) -> Found:
    padded = {said for said in _QUOTED.findall(text) if said != said.strip()}
    found = ((line, [_cell(cell, padded) for cell in cells]) for line, cells in rows(path, text, delimiter))
    line, first = _first(path, found)
    usual = usual_columns(first)
    notes = []
    if header and source is None and usual is None and len(first) > 1 and all(map(is_number, first[:2])):
        header = False
        notes.append("its first line has numbers, so it is an edge and no header")
    names = first if header else [str(column) for column in range(1, len(first) + 1)]
    places, said = _places(path, line, names, (source, target, weight), usual if header else None)
    body = found if header else itertools.chain([(line, first)], found)
    sources, targets, weights = _cells(path, names, places, body)
    if not sources:
        raise InputError("the file holds no edge", path=path, line=line)
    return _with_weights(found_of(path, sources, targets), weights, names, places, (*notes, said))


_QUOTED = re.compile(r'"((?:[^"]|"")*)"')


def _cell(cell: str, padded: set[str]) -> str:
    """A cell without the blanks at its ends, unless they stand in quotes."""
    bare = cell.strip()
    return bare if bare == cell or cell.replace('"', '""') not in padded else cell


def _first(path: Path, found: Iterator[tuple[int, list[str]]]) -> tuple[int, list[str]]:
    """The line and the cells of the first row that is no comment; '#' before a usual header is left out."""
    for line, cells in found:
        if cells[0][:1] not in ("#", "%"):
            return line, cells
        cells[0] = cells[0].lstrip("#% ")
        if usual_columns(cells):
            return line, cells
    raise InputError("the file holds no edge, only comments", path=path)


def _places(
    path: Path, line: int | None, names: list[str], asked: tuple[str | None, ...], usual: tuple[int, int] | None
) -> tuple[list[int], str]:
    """The places of the columns of source, target and perhaps weight, and a note on which they are."""
    source, target, weight = asked
    if source is not None:
        ends, why = (_place(path, line, names, source), _place(path, line, names, target)), ""
    else:
        ends, why = usual or (0, 1), "" if usual else ", the first two; --source and --target name others"
        if len(names) < 2:
            raise InputError(
                "one column; an edge needs two", path=path, line=line,
                remedy="commas or semicolons in csv, tabs in tsv, words in names (--format)",
            )  # fmt: skip
    places = [*ends, *([] if weight is None else [_place(path, line, names, weight)])]
    return places, f"edges go from column {names[ends[0]]!r} to column {names[ends[1]]!r}{why}"


def _place(path: Path, line: int | None, names: list[str], asked: str) -> int:
    places = [place for place, name in enumerate(names) if name == asked]
    places = places or [place for place, name in enumerate(names) if name.casefold() == asked.casefold()]
    if len(places) == 1:
        return places[0]
    if places:
        raise InputError(f"{len(places)} columns are named {asked!r}", path=path, line=line)
    raise InputError(f"no column is named {asked!r}", path=path, line=line, remedy=did_you_mean(asked, names))


def _cells(
    path: Path, names: list[str], places: list[int], body: Iterator[tuple[int, list[str]]]
) -> tuple[list[str], list[str], list[float]]:
    """The cells of the columns of source, target and weight. Raises InputError at the first that is missing."""
    sources: list[str] = []
    targets: list[str] = []
    weights: list[float] = []
    source, target, *others = places
    width = len(names)
    for line, cells in body:
        if len(cells) != width:
            message = f"{len(cells)} cells, but the first line has {width}"
            raise InputError(message, path=path, line=line, remedy="as many cells in every line")
        if not (cells[source] and cells[target]):
            empty = names[target if cells[source] else source]
            raise InputError(f"the cell of column {empty!r} is empty", path=path, line=line, remedy="an id is expected")
        sources.append(cells[source])
        targets.append(cells[target])
        if others:
            weights.append(_number(path, line, names[others[0]], cells[others[0]]))
    return sources, targets, weights


def _number(path: Path, line: int, name: str, cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        message = f"{cell[:60]!r} in column {name!r}: a number is expected"
        raise InputError(message, path=path, line=line) from None


def _with_weights(found: Found, weights, names: list[str], places: list[int], notes: tuple[str, ...]) -> Found:
    """The graph with weights, if a column of them was asked for, and notes."""
    if len(places) < 3:
        return replace(found, notes=notes)
    graph = found.graph
    usable, said = of_values(np.asarray(weights), f"column {names[places[2]]!r}")
    return replace(found, graph=Graph(graph.vertices, graph.sources, graph.targets, usable), notes=notes, weights=said)


def read_parquet(path: Path, content: np.ndarray, source: str | None, target: str | None, weight: str | None) -> Found:
    """Reads a Parquet file (uint8[size]) with an edge in each row; columns as of CSV. Raises InputError as `read_csv`,
    and MachineLacks without pyarrow."""
    needed("pyarrow", "Parquet")
    parquet = needed("pyarrow.parquet", "Parquet")
    arrow = needed("pyarrow", "Parquet")
    with parsing(path, "a Parquet file", REFETCH):
        file = parquet.ParquetFile(arrow.BufferReader(arrow.py_buffer(content)))
        names = list(file.schema_arrow.names)
        places, said = _places(path, None, names, (source, target, weight), usual_columns(names))
        table = file.read(columns=[names[place] for place in places])
        columns = [table.column(names[place]) for place in places]
        if not len(columns[0]):
            raise InputError("the file holds no edge", path=path)
        ends = [_labels(path, names[place], column, arrow) for place, column in zip(places, columns[:2], strict=False)]
        if not all(end.dtype.kind == "i" for end in ends):
            ends = [end if end.dtype == object else end.astype(str).astype(object) for end in ends]
        weights = [_values(path, names[places[2]], column, arrow) for column in columns[2:]]
    return _with_weights(found_of(path, *ends), weights[0] if weights else None, names, places, (said,))


def _whole(path: Path, name: str, column) -> None:
    """Raises InputError if a value of a column is missing."""
    if column.null_count:
        row = column.is_null().index(True).as_py()
        raise InputError(f"row {row + 1} of column {name!r} is missing", path=path, remedy="an id is expected")


def _labels(path: Path, name: str, column, arrow) -> np.ndarray:
    """The ids in a column: int64[m] if they are numbers, else object[m] of str."""
    _whole(path, name, column)
    kind = column.type.value_type if arrow.types.is_dictionary(column.type) else column.type
    if arrow.types.is_integer(kind):
        try:
            return column.cast(arrow.int64()).to_numpy()
        except arrow.ArrowInvalid:
            raise InputError(
                f"column {name!r} has an id beyond 64 bits with a sign", path=path,
                remedy="a column of text may hold ids of any size",
            ) from None  # fmt: skip
    if not (arrow.types.is_string(kind) or arrow.types.is_large_string(kind)):
        raise InputError(f"column {name!r} is of type {column.type}: text or whole numbers are expected", path=path)
    labels = np.array([*column.cast(arrow.string()).to_pylist(), None], object)[:-1]
    if (empty := np.flatnonzero(labels == "")).size:
        raise InputError(f"row {empty[0] + 1} of column {name!r} is empty", path=path, remedy="an id is expected")
    return labels


def _values(path: Path, name: str, column, arrow) -> np.ndarray:
    _whole(path, name, column)
    if not (arrow.types.is_integer(column.type) or arrow.types.is_floating(column.type)):
        raise InputError(f"column {name!r} is of type {column.type}: numbers are expected", path=path)
    return column.to_numpy()
