"""An index of a graph that is never in memory, from a stream of edges: for `grailbench.build` and its command."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from grailbench.api import engine
from grailbench.api.engine import Engine
from grailbench.api.graph import Graph
from grailbench.api.index import Index
from grailbench.graph.csr import Dag
from grailbench.graph.ids import Counted
from grailbench.outofcore import streams
from grailbench.outofcore.blocks import EDGES
from grailbench.outofcore.build import build_in, file_of
from grailbench.outofcore.index import Streamed
from grailbench.problems.reachability.index import Params
from grailbench.problems.reachability.stored import here
from grailbench.util import temporary


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

    folder  as of `outofcore.build.build_in`; None for a temporary one, which is deleted
    resume, note, block  as there

    Returns the index and the records of the stages. Raises InputError and MachineLacks as the stages do.
    """
    stream = streams.opened(source, vertices)

    def save(dag: Dag, arrays: dict[str, np.ndarray], path: Path) -> None:
        graph = Graph(lambda: None, Counted(dag.vertices - 1, stream.first), dag, kinds=())  # type: ignore[arg-type,return-value]
        made = Engine(Streamed, params, lambda: Streamed.restored(dag, params, arrays), here, lambda: None)
        engine.write(graph, made, path)

    with ExitStack() as ending:  # what is mapped stays readable when its folder is deleted
        place = ending.enter_context(temporary.Folder("streamed")) / "build" if folder is None else Path(folder)
        stages = build_in(place, stream, params, save, resume, note, block)
        return Index(*engine.load(file_of(place)).restored()), stages
