"""A graph of the library, or its closure, written as a file."""

from __future__ import annotations

import os

from grailbench.closure import bits as packed
from grailbench.closure.check import require_memory
from grailbench.closure.condense import condense
from grailbench.closure.cpu.sweep import sweep
from grailbench.errors import InputError
from grailbench.graph.ids import Counted
from grailbench.graph.readers.tuwien import write_tuwien
from grailbench.graph.writers import write_edges

#: format -> what it is
FORMATS = {"tuwien": "the closure report's, vertices from 0", "edges": "an edge list in the ids of the graph's file"}


def export(name: str, path: str | os.PathLike, closure: bool = False, format: str = "tuwien") -> dict:
    """Write the raw graph of that name, with its weights if it has any; with `closure` its transitive closure.

    Returns name, path, format, vertices, edges; `weights`, whether they are in the file; `ids`, those of the graph;
    `written_ids`, those in the file; `notes`, what else should be known, each in a few words. Raises InputError when
    nothing has the name, the format is none or the file cannot be written, TooLittleMemory for a closure that does
    not fit.
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
    if format == "edges":
        written, (edges, lost) = ids, write_edges(path, graph, ids)
        if lost:
            notes.append(f"{lost} vertices have no edge there, and are left out")
    else:
        written, edges = Counted(graph.vertices), write_tuwien(path, graph)
        if ids.digest:
            notes.append(f"vertices are numbered anew from 0, in the order of their ids ({ids.extent()}); "
                         "--format edges keeps the ids")  # fmt: skip
    return {
        "name": name, "path": str(path), "format": format, "vertices": graph.vertices, "edges": edges,
        "weights": graph.weights is not None, "ids": ids.extent(), "written_ids": written.extent(), "notes": notes,
    }  # fmt: skip
