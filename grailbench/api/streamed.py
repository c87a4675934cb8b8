"""An index of a graph that is never in memory, from a stream of edges: for `grailbench.build` and its command."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grailbench.api import engine
from grailbench.api.engine import restored
from grailbench.api.graph import Graph
from grailbench.api.index import Index
from grailbench.errors import InputError
from grailbench.graph.ids import Counted
from grailbench.outofcore import build, edges, streams
from grailbench.outofcore.folder import SAVED, STAGES, Folder
from grailbench.outofcore.index import Streamed, allowed_memory
from grailbench.outofcore.stored import EDGES
from grailbench.problems.reachability.index import Params
from grailbench.util import temporary

_FILE = "index"


def built(
    source: Any,
    params: Params,
    folder: str | os.PathLike[str] | None = None,
    vertices: int | None = None,
    resume: bool = False,
    note: Callable[[str], None] | None = None,
    block: int = EDGES,
) -> tuple[Index, dict[str, dict[str, Any]]]:
    """Builds an index of a stream of edges (`outofcore.streams.opened`) in a folder, and opens the file it is saved in.

    folder  keeps the stages until the index is whole, and then the index; None for a temporary one, which is deleted
    resume  go on with a build that was begun in that folder: the edges are read again, and refused if they are others
    note    is told of each stage when it is whole
    block   edges of a block

    Returns the index and what the stages said of themselves. Raises InputError and MachineLacks as the stages do.
    """
    Streamed.require()
    stream = streams.opened(source, vertices)
    made = None
    if folder is None:
        made = temporary.Folder("streamed")
        kept = made.path / "build"
    else:
        kept = Path(folder)
    try:
        given = {"of": stream.origin, "vertices": stream.vertices, "first": stream.first}
        held = Folder(kept, given | {"dim": params.dim, "seed": params.seed}, resume, note)
        try:
            finished = held.said(SAVED)
            if sorted_before := finished["stages"][STAGES[0]] if finished else held.said(STAGES[0]):
                _require_same_edges(kept, stream, sorted_before["checksum"])
            said = finished or _built(held, stream, params, block)
            return Index(*engine.load(kept / SAVED / _FILE).restored()), said["stages"]
        finally:
            held.close()
    finally:
        if made is not None:  # what is mapped stays readable
            made.close()


def file_of(folder: str | os.PathLike[str]) -> Path:
    """The file in which `built` saved the index."""
    return Path(folder) / SAVED / _FILE


def _require_same_edges(folder: Path, stream: streams.Stream, checksum: str) -> None:
    """Raises InputError if a stream has other edges than those of which a build was begun, or a file cannot be read."""
    if edges.checksum(stream.blocks(), stream.vertices) != checksum:
        raise InputError("it holds a build of other edges", path=folder, remedy="name another folder")


def _built(held: Folder, stream: streams.Stream, params: Params, block: int) -> dict[str, Any]:
    allowed = allowed_memory(params)
    dag, arrays, stages = build.build(
        held, stream.blocks, stream.vertices, allowed, params.dim, params.seed, stream.edges, block, stream.first
    )
    ids = Counted(dag.vertices - 1, stream.first)
    graph = Graph(lambda: None, ids, dag)  # type: ignore[arg-type,return-value]
    inside = restored(Streamed, params, dag, arrays, lambda: None)

    def save(to: Path) -> dict[str, Any]:
        engine.write(graph, inside, to / _FILE)
        return {"stages": stages}

    room = sum(array.nbytes for array in (dag.offsets, dag.children, *arrays.values())) + 12 * dag.vertices
    whole = held.stage(SAVED, room, save)
    held.drop(*STAGES)
    return whole | {"stages": whole["stages"] | {SAVED: {key: whole[key] for key in whole if key != "stages"}}}
