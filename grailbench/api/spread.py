"""An index that the workers of a cluster hold: `grailbench.build` and `grailbench.load` with a client of dask."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from grailbench.api import engine
from grailbench.api.engine import Engine
from grailbench.api.graph import Graph
from grailbench.api.index import Index
from grailbench.distributed.implementations import OpenedIndex, SpreadIndex
from grailbench.distributed.spread import Spread
from grailbench.problems.reachability import stored
from grailbench.util import temporary

if TYPE_CHECKING:
    from distributed import Client


class OpenedGraph(OpenedIndex):
    """What a worker opens: an index that answers pairs of the user's ids too."""

    def __init__(self, index: Index):
        engine = index._engine
        super().__init__(engine.index, index.graph.dag, engine.run, engine.check)
        self._public = index

    def answers(self, sources: np.ndarray, targets: np.ndarray, ids: bool) -> np.ndarray:
        """Whether each source reaches its target, bool[k], for ids of the user or vertices of the condensed graph.
        Raises InputError if one is no vertex, or the file was changed."""
        return self._public.reaches_many(sources, targets) if ids else super().answers(sources, targets, ids)


def opened(path: Path, threads: int, device: int | None = None) -> OpenedGraph:
    """Opens an index file on a worker, on a GPU if it needs one, checks its content, and loads the kernels that shards
    need."""
    graph, own = engine.load(path).restored(threads, device)
    index = Index(graph, own)
    if graph.vertices:  # the first question checks all arrays
        index.reaches_many_vertices(*np.zeros((2, 1), np.int32))
    return OpenedGraph(index)


def built(client: Client, index: Index) -> Index:
    """Spreads an index that was built here, by a file that lives as long as the index."""
    folder = temporary.Folder("spread")
    path = folder.path / "spread.index"
    index.save(path)
    return Index(index.graph, _spread(client, path, engine.load(path), folder))


def loaded(client: Client, path: str | os.PathLike[str], graph: Graph | None) -> Index:
    """Spreads an index file, which must stay until all workers have it."""
    found = engine.load(path, graph)
    return Index(found.graph, _spread(client, Path(path), found, None))


def _spread(client: Client, path: Path, found: engine.Opened, folder: temporary.Folder | None) -> Engine:
    on_gpu = "gpu" in found.implementation.needs
    spread = Spread(client, path, opened, on_gpu)
    index = None if on_gpu else found.restored()[1].index
    spread_index = SpreadIndex(spread, index, folder)
    return Engine(found.implementation, found.params, lambda: spread_index, stored.here, found.check, spread=spread)
