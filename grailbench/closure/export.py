"""A graph of the library, or its closure, written in the closure report's format."""

from __future__ import annotations

import os

from grailbench.closure import bits as packed
from grailbench.closure.check import require_memory
from grailbench.closure.condense import condense
from grailbench.closure.cpu.sweep import sweep
from grailbench.graph.readers_tuwien import write_tuwien


def export(name: str, path: str | os.PathLike, closure: bool = False) -> dict:
    """Write the raw graph of that name, with `closure` its transitive closure; returns name, path, vertices, edges.

    Raises InputError when nothing has the name or the file cannot be written, TooLittleMemory for a closure that does
    not fit.
    """
    from grailbench.datasets.library import open_raw

    graph = open_raw(name).graph
    if closure:
        require_memory(name, graph.vertices)
        bits = packed.pack_graph(graph)
        graph = packed.graph_of_bits(sweep(bits, condense(bits)))
    edges = write_tuwien(path, graph)
    return {"name": name, "path": str(path), "vertices": graph.vertices, "edges": edges}
