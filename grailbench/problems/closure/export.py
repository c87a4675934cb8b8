"""Writes a graph of the library, or its closure, to a file."""

import os
from collections.abc import Iterator

import numpy as np

from grailbench.errors import InputError, TooLittleMemory
from grailbench.graph.csr import Graph
from grailbench.graph.ids import Counted
from grailbench.graph.kinds import Kinds
from grailbench.graph.readers.cells import needed
from grailbench.graph.writers import write_csv, write_edges, write_tuwien
from grailbench.problems.closure.index import NoTimer, Params, Relation, Streaming
from grailbench.problems.contract import implementation
from grailbench.util import memory
from grailbench.util.outputs import replaced
from grailbench.util.words import decimal_size

#: format to its description
FORMATS = {
    "tuwien": "the closure report's, vertices from 0",
    "edges": "an edge list in the ids of the graph's file",
    "csv": "a table of edges in the ids of the graph's file",
    "pairs": "pairs of 32-bit integers, little-endian, vertices from 0",
    "parquet": "columns source and target of 32-bit integers, vertices from 0, and kind, a text, if edges have kinds",
}
SORT_BYTES = 48  #: of memory for an edge of a closure that is written in order
KEEPS_KINDS = "csv", "parquet"  #: formats that have the kinds of edges
STREAMED = "pairs", "parquet"  #: formats whose edges are in no order and need not fit into memory


def export(
    name: str, path: str | os.PathLike, closure: bool = False, format: str = "tuwien", impl: str = "condense-pairs",
    block: int = 0,
) -> dict:  # fmt: skip
    """Writes the raw graph of that name, with its weights if it has any, or, with `closure`, its transitive closure.

    impl, block: the implementation that makes the pairs of a closure, and the bytes that a block of it may take.
    Returns a record, with `ids` and `written_ids`, those of the graph and of the file, and `notes`. Raises InputError
    for an unknown name or format or a file that cannot be written, MachineLacks without memory, or what `impl` or the
    format needs.
    """
    from grailbench.data.library import open_raw

    if format not in FORMATS:
        raise InputError(f"unknown format {format!r}", remedy=f"one of {', '.join(FORMATS)}")
    opened = open_raw(name)
    graph, ids, notes, weighted = opened.graph, opened.ids, [], opened.graph.weights is not None
    kinds = None
    if closure:
        weighted = False
        pairs = _pairs(graph, impl, block)
        notes.append("no vertex has an edge to itself, also where it lies on a cycle")
    elif format in STREAMED:
        weighted, pairs = False, iter([np.stack((graph.sources, graph.targets), axis=1)])
        kinds = graph.kinds
        notes.append("edges are as in the graph's file, in its order")
    if graph.kinds is not None and not closure:
        kept = "kinds of edges are in the column 'kind': import with --kind kind"
        notes.append(
            kept if format in KEEPS_KINDS else "kinds of edges are not in it: --format csv or parquet keeps them"
        )
    if format in STREAMED:
        edges = _write(pairs, path, format, kinds)
        written = Counted(graph.vertices)
    else:
        if closure:
            graph = _graph_of(graph.vertices, pairs)
        if format == "tuwien":
            written, edges = Counted(graph.vertices), write_tuwien(path, graph)
        else:
            write = write_edges if format == "edges" else write_csv
            written, (edges, lost) = ids, write(path, graph, ids)
            if lost:
                notes.append(f"{lost} vertices have no edge there, and are left out")
    if written is not ids and ids.digest:
        order = "order of their ids" if ids.numeric else "order in which they were imported"
        notes.append(f"vertices are numbered anew from 0, in the {order} ({ids.extent()}); "
                     "--format edges or csv keeps the ids")  # fmt: skip
    return {
        "name": name, "path": str(path), "format": format, "vertices": opened.graph.vertices, "edges": edges,
        "weights": weighted, "ids": ids.extent(), "written_ids": written.extent(), "notes": notes,
    }  # fmt: skip


def _pairs(graph: Graph, impl: str, block: int) -> Iterator[np.ndarray]:
    """Returns all pairs of the closure of a graph, int32[k, 2] a piece, by an implementation that makes pairs."""
    cls = implementation(impl, "closure")
    cls.require()
    if not graph.vertices:
        return iter(())
    solver = cls.prepare(Relation(graph), Params(memory=block), NoTimer())
    if not isinstance(solver, Streaming):
        raise InputError(f"{impl} makes no pairs", remedy="condense-pairs or condense-pairs-gpu")
    return solver.pairs(NoTimer())


def _graph_of(vertices: int, pairs: Iterator[np.ndarray]) -> Graph:
    """Returns pairs as a graph. Raises TooLittleMemory unless there is room to sort them."""
    found, total, free = [np.empty((0, 2), np.int32)], 0, memory.available()
    for piece in pairs:
        found.append(piece.copy())
        total += piece.shape[0]
        if SORT_BYTES * total > free:
            raise TooLittleMemory(
                f"a closure of {vertices:,} vertices and {total:,} edges or more does not fit {decimal_size(free)} of "
                f"memory to sort them (--format {' or '.join(STREAMED)}, which take edges as they come)"
            )
    sources, targets = np.ascontiguousarray(np.concatenate(found).T)
    return Graph(vertices, sources, targets)


def _write(pairs: Iterator[np.ndarray], path: str | os.PathLike, format: str, kinds: Kinds | None = None) -> int:
    """Writes pairs as they come, in Parquet with their kinds; returns how many. Raises InputError, and MachineLacks
    without pyarrow."""
    parquet, arrow = (
        needed(each, "Parquet") if format == "parquet" else None for each in ("pyarrow.parquet", "pyarrow")
    )
    total = 0
    with replaced(path, seeks=parquet is not None) as stream:
        if parquet is None:
            for piece in pairs:
                stream.write(memoryview(np.ascontiguousarray(piece, "<i4")).cast("B"))
                total += piece.shape[0]
            return total
        schema = arrow.schema([("source", arrow.int32()), ("target", arrow.int32())])
        if kinds is not None:
            schema = schema.append(arrow.field("kind", arrow.dictionary(arrow.int32(), arrow.string())))
        with parquet.ParquetWriter(stream, schema, compression="none", use_dictionary=["source", "kind"]) as writer:
            for piece in pairs:
                columns = [arrow.array(np.ascontiguousarray(column)) for column in piece.T]
                if kinds is not None:
                    codes = kinds.codes[total : total + piece.shape[0]].astype(np.int32)
                    columns.append(arrow.DictionaryArray.from_arrays(arrow.array(codes), [*kinds.names]))
                writer.write_table(arrow.table(columns, schema=schema))
                total += piece.shape[0]
    return total
