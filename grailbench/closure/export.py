"""Writes a graph of the library, or its closure, to a file."""

from __future__ import annotations

import os

from grailbench.closure import bits as packed
from grailbench.closure.check import require_memory
from grailbench.closure.condense import condense
from grailbench.closure.cpu.sweep import sweep
from grailbench.errors import InputError
from grailbench.graph.ids import Counted
from grailbench.graph.readers.tuwien import write_tuwien
from grailbench.graph.writers import write_csv, write_edges

#: format to its description
FORMATS = {
    "tuwien": "the closure report's, vertices from 0",
    "edges": "an edge list in the ids of the graph's file",
    "csv": "a table of edges in the ids of the graph's file",
}


def export(name: str, path: str | os.PathLike, closure: bool = False, format: str = "tuwien") -> dict:
    """Writes the raw graph of that name, with its weights if it has any, or, with `closure`, its transitive closure.

    Returns a record: `name`, `path`, `format`, `vertices`, `edges`; `weights`, whether the graph has weights; `ids`,
    the ids of the graph; `written_ids`, the ids in the file; `notes`, a list of short remarks. Raises InputError for an
    unknown name, an unknown format or a file that cannot be written, TooLittleMemory for a closure that does not fit.
    """
    from grailbench.datasets.library import open_raw

    if format not in FORMATS:
        raise InputError(f"unknown format {format!r}", remedy=f"one of {', '.join(FORMATS)}")
    opened = open_raw(name)
    graph, ids, notes = opened.graph, opened.ids, []
    if closure:
        require_memory(name, graph.vertices)
        bits = packed.pack_graph(graph)
        graph = packed.graph_of_bits(sweep(bits, condense(bits)))
        notes.append("no vertex has an edge to itself, also where it lies on a cycle")
    if format != "tuwien":
        write = write_edges if format == "edges" else write_csv
        written, (edges, lost) = ids, write(path, graph, ids)
        if lost:
            notes.append(f"{lost} vertices have no edge there, and are left out")
    else:
        written, edges = Counted(graph.vertices), write_tuwien(path, graph)
        if ids.digest:
            order = "order of their ids" if ids.numeric else "order in which they were imported"
            notes.append(f"vertices are numbered anew from 0, in the {order} ({ids.extent()}); "
                         "--format edges or csv keeps the ids")  # fmt: skip
    return {
        "name": name, "path": str(path), "format": format, "vertices": graph.vertices, "edges": edges,
        "weights": graph.weights is not None, "ids": ids.extent(), "written_ids": written.extent(), "notes": notes,
    }  # fmt: skip
