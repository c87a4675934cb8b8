"""Edges as a stream of blocks, of graphs that are never in memory: from edge lists, Parquet files and a generator.

A block is two columns of integers, sources and targets. Vertices are 0, 1, ... up to the greatest id that occurs, or as
many as are stated; those of a KONECT file count from 1. `graph.readers`, which has all edges at hand, finds out more.
"""

import gzip
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grailbench.errors import InputError, in_file
from grailbench.graph.arguments import check_path, id_columns, shown, whole_number
from grailbench.graph.csr import MAX_VERTICES
from grailbench.graph.generate.uniform import parse_random, random_blocks
from grailbench.graph.readers import guess_format
from grailbench.graph.readers.cells import ends_of, needed, parsing, unrecognised
from grailbench.graph.readers.edges import edge_fault, edge_header
from grailbench.graph.readers.parsers import DONE, LINE, new_state, parse, parse_edges
from grailbench.graph.readers.text import with_line_feeds
from grailbench.util import outputs
from grailbench.util.files import REFETCH

Block = tuple[np.ndarray, np.ndarray]
BYTES = 8 << 20  #: of text that are parsed at a time
ROWS = 1 << 18  #: of a table that are read at a time
FORMATS = ("edges", "parquet")
_RENAME = "name the columns source and target"
_VERTICES = b"grailbench.vertices"  #: key of the metadata of Parquet files


@dataclass(frozen=True)
class Stream:
    """A graph as a stream.

    blocks    returns the edges from the first one on, as often as it is called, unless the user gave an iterator
    origin    what it is of: equal for equal edges, as far as can be told without reading them
    vertices  None for one more than the greatest id
    first     the least id of a vertex
    edges     about how many edges come; 0 if nobody knows
    """

    blocks: Callable[[], Iterable[Block]]
    origin: dict[str, Any]
    vertices: int | None = None
    first: int = 0
    edges: int = 0


def opened(source: Any, vertices: int | None = None) -> Stream:
    """The stream of a file (a path), of a name such as 'random-n4000000-k150-s1', or of blocks that a caller makes: an
    iterable, or a function that returns one.

    vertices: their number, in place of what a file states. Raises InputError for anything else.
    """
    if vertices is not None:
        vertices = whole_number(vertices, "vertices", 0)
        if vertices > MAX_VERTICES:
            raise InputError(f"{vertices} vertices; at most {MAX_VERTICES} fit 32-bit ids")
    if callable(source):
        return Stream(lambda: _blocks(source()), {"stream": "a function"}, vertices)
    if not isinstance(source, str | os.PathLike):
        return Stream(lambda: _blocks(source), {"stream": type(source).__name__}, vertices)
    check_path(source, "stream")
    if not os.path.exists(source) and (found := parse_random(str(source))) is not None:
        n, degree, seed = found
        return Stream(lambda: random_blocks(n, degree, seed), {"generated": str(source)}, n, 0, round(n * degree))
    path = Path(source)
    format = guess_format(path)
    if format not in FORMATS:
        message = f"{format} files do not come as a stream"
        remedy = f"{' and '.join(FORMATS)} do; or import the graph, if it fits the memory"
        raise InputError(message, path=path, remedy=remedy)
    outputs.protect(path)
    stat = path.stat()
    origin = {"file": str(path.resolve()), "bytes": stat.st_size, "changed": stat.st_mtime_ns, "vertices": vertices}
    with in_file(path):
        return (_of_parquet if format == "parquet" else _of_text)(path, origin, vertices)


def _columns(block: Any) -> Block:
    try:
        sources, targets = block
    except (TypeError, ValueError):
        raise InputError(f"a block {shown(block)}: two columns, sources and targets, are expected") from None
    ends = id_columns(sources, targets)
    if any(each.dtype == object for each in ends):
        raise InputError("a block of names: whole numbers are expected", remedy="number the vertices from 0 first")
    return ends


def _blocks(source: Any) -> Iterable[Block]:
    """The blocks of an iterable. Raises InputError if it is none."""
    if not isinstance(source, Iterable):
        remedy = "a path, a name, or an iterable of blocks is"
        raise InputError(f"{shown(source)} is not a stream of edges", remedy=remedy)
    return map(_columns, source)


# ------------------------------------------------------------------ edge lists


def _of_text(path: Path, origin: dict, vertices: int | None) -> Stream:
    with _text(path) as file:
        head = with_line_feeds(np.frombuffer(bytearray(_piece(file, 1 << 16)), np.uint8))
    header = edge_header(head)
    if header.undirected:
        message = "an undirected graph: each edge leads both ways, so that all edges are on cycles"
        raise InputError(message, remedy="`streamed` takes graphs without cycles")
    stated = header.vertices if header.konect and vertices is None else vertices
    return Stream(lambda: _parsed(path, header.first), origin, stated, header.first, header.edges or 0)


def _text(path: Path):
    with open(path, "rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if zipped else open(path, "rb", buffering=0)


def _piece(file: Any, size: int) -> bytes:
    """At most so many bytes of a file. Raises InputError if it cannot be read, or its gzip data is damaged."""
    try:
        return file.read(size)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"the file cannot be read: {error}", remedy=REFETCH) from None


def _parsed(path: Path, first: int) -> Iterator[Block]:
    """The edges of a list, which is read and parsed piece by piece."""
    line, rest = 1, b""
    with in_file(path), _text(path) as file:
        while True:
            piece = _piece(file, BYTES)
            text = rest + piece
            # up to the last line end, which is not a CR at the end of the piece: LF may follow
            end = max(text.rfind(b"\n"), text.rfind(b"\r", 0, -1)) + 1 if piece else len(text)
            rest = text[end:]
            if end:
                part, state = with_line_feeds(np.frombuffer(bytearray(text[:end]), np.uint8)), new_state(0, line)
                columns = first, MAX_VERTICES - 1 + first, 0, 2, False
                status, sources, targets, _ = parse(parse_edges, part, state, *columns, weighted=False)
                if status != DONE:
                    raise edge_fault(part, state, status, first)
                line = int(state[LINE])
                yield sources, targets
            if not piece:
                return


# ------------------------------------------------------------------ Parquet


def _of_parquet(path: Path, origin: dict, vertices: int | None) -> Stream:
    parquet = needed("pyarrow.parquet", "Parquet")
    with parsing("a Parquet file", REFETCH), parquet.ParquetFile(path) as file:
        names, rows = list(file.schema_arrow.names), file.metadata.num_rows
        metadata = (file.metadata.metadata or {}).get(_VERTICES)
    if (places := ends_of(None, names, _RENAME)) is None:
        raise unrecognised(None, names, _RENAME)
    stated = int(metadata) if vertices is None and metadata is not None else vertices
    return Stream(lambda: _batches(path, [names[place] for place in places]), origin, stated, 0, rows)


def _batches(path: Path, names: list[str]) -> Iterator[Block]:
    parquet, arrow = needed("pyarrow.parquet", "Parquet"), needed("pyarrow", "Parquet")
    with in_file(path), parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20) as file:
        row = 0
        for batch in file.iter_batches(ROWS, columns=names, use_threads=False):
            for name in names:
                column = batch.column(name)
                if not arrow.types.is_integer(column.type):
                    message = f"column {name!r} is of type {column.type}: whole numbers are expected"
                    remedy = "number the vertices from 0 first: names would have to be held in memory"
                    raise InputError(message, remedy=remedy)
                if column.null_count:
                    raise InputError(f"a value of column {name!r} is missing from row {row + 1} on")
            row += batch.num_rows
            yield tuple(batch.column(name).to_numpy() for name in names)


def write_parquet(path: Path, stream: Stream) -> dict:
    """Writes a stream to a Parquet file, columns 'source' and 'target' of 32-bit integers, which is there once it is
    whole. Returns path, vertices, edges and bytes. Raises OSError if it cannot be written."""
    parquet, arrow = needed("pyarrow.parquet", "Parquet"), needed("pyarrow", "Parquet")
    schema = arrow.schema([(name, arrow.int32()) for name in ("source", "target")])
    edges = 0
    with outputs.atomic_file(path, seeks=True, follow=True) as file:
        metadata = {} if stream.vertices is None else {_VERTICES: str(stream.vertices)}
        schema = schema.with_metadata(metadata)
        with parquet.ParquetWriter(file, schema, compression="none", use_dictionary=False) as writer:
            for sources, targets in stream.blocks():
                columns = [np.ascontiguousarray(column, np.int32) for column in (sources, targets)]
                writer.write_batch(arrow.record_batch(columns, schema=schema))
                edges += sources.size
    return {"path": str(path), "vertices": stream.vertices, "edges": edges, "bytes": path.stat().st_size}


def streamed(names, seed: int, vertices: int | None, degree: float | None, path: Path) -> dict:
    """Writes the edges of a uniform random DAG to a Parquet file as they are made; see `write_parquet`.

    Raises InputError unless 'random' is named alone, with vertices and degree.
    """
    if tuple(names) != ("random",) or vertices is None or degree is None:
        raise InputError("--stream is for 'random' alone, with --vertices and --degree")
    return write_parquet(path, opened(f"random-n{vertices}-k{degree:f}-s{seed}"))
