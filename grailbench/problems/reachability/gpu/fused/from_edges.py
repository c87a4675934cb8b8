"""`gpu-fused` from edges, or a condensed graph, in the memory of the host: renumbered and labelled on the device.

Importing this module imports CUDA.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grailbench.cuda.describe import require_memory
from grailbench.cuda.edges import build, library, rows, staging
from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.graphs import DEEP_LEVELS, DeviceLeveled, Outline
from grailbench.graph.csr import Dag, Graph
from grailbench.graph.leveled import Leveled
from grailbench.problems.reachability.gpu.fused import at_once
from grailbench.problems.reachability.gpu.fused.labeler import Labeler
from grailbench.problems.reachability.gpu.fused.replicas import Replicas, on_host
from grailbench.problems.reachability.index import NoTimer, Params, Timer

EDGE_BYTES, VERTEX_BYTES = 32, 120  #: of the device, at most at once, with offsets of 64 bits: most of them keys


def built(graph: Graph, params: Params, timer: Timer) -> tuple[Callable[[], Leveled], int, Replicas]:
    """Builds the index of a graph with vertices; the host learns a few counts only, unless the graph is deep.

    Returns a function that copies the graph by levels to the host, the number of its edges, and the index, which is
    asked vertices of `graph`. Raises TooLittleMemory, before anything is allocated, if the device has too little.
    """
    what = f"condensing and labeling {graph.vertices:,} vertices and {graph.edges:,} edges on the GPU"
    require_memory(
        EDGE_BYTES * graph.edges + VERTEX_BYTES * graph.vertices, what, "take `parallel`, or a GPU with more"
    )
    with library.counted():
        with timer.phase("transfer"):
            sources, targets = staging.to_device(graph.sources, graph.targets)
        with timer.phase("condense"):
            walked, component = build.condensed(graph.vertices, graph.edges, sources, targets)
            del sources, targets
            cuda.synchronize()
        with timer.phase("renumber"):
            there, outline = build.leveled(walked.reached, walked)
            numbers = build.numbered(graph.vertices, there.rank, component)
            del walked, component
            cuda.synchronize()
        with timer.phase("label"):
            replicas = _labelled(there, outline, params, timer, numbers)
    return lambda: _on_the_host(there, outline), outline.edges, replicas


def built_of_dag(dag: Dag, params: Params, timer: Timer) -> tuple[Callable[[], Leveled], int, Replicas]:
    """As `built`, of a condensed graph of one root, whose rows travel as they are."""
    what = f"labeling {dag.vertices:,} vertices and {dag.edges:,} edges on the GPU"
    require_memory(EDGE_BYTES * dag.edges + VERTEX_BYTES * dag.vertices, what, "take `parallel`, or a GPU with more")
    inner = int(dag.offsets[-2])  # the walk adds the super-root, which is the last vertex, and its edges
    with library.counted():
        with timer.phase("transfer", apart=True):
            there = rows.given_rows(dag.offsets[:-1], dag.children[:inner])
            cuda.synchronize()
        with timer.phase("renumber", apart=True):
            walked = build.walked_from(there, dag.vertices - 1)
            del there
            leveled, outline = build.leveled(walked.reached, walked)
            del walked
            cuda.synchronize()
        replicas = _labelled(leveled, outline, params, timer)
    return lambda: _on_the_host(leveled, outline), outline.edges, replicas


def _labelled(there: DeviceLeveled, outline: Outline, params: Params, timer: Timer, numbers=None) -> Replicas:
    """numbers: as in `Replicas`."""
    make_labeler = on_host(_for_labels(there, outline)) if outline.deep else Labeler
    return Replicas(outline, lambda: there, params.dim, params.seed, 1, timer, params.count, make_labeler, numbers)


def load(params: Params) -> None:
    """Compiles or loads every kernel of this way, those of the library for large arrays too, and takes the pinned
    memory in which edges travel: a matching, a ring and a deep path."""
    staging.prepare()
    many, path = np.arange(8 if simulated else 1 << 18, dtype=np.int32), np.arange(2 * DEEP_LEVELS, dtype=np.int32)
    matching = Graph(2 * many.size, many, many + many.size)
    ring = Graph(many.size, many, np.roll(many, -1))
    for graph in (matching, ring, Graph(path.size, path[:-1], path[1:])):
        built(graph, params, NoTimer())
    at_once.built(Graph(2, path[:1], path[1:2]), params, NoTimer())


def _on_the_host(there: DeviceLeveled, outline: Outline) -> Leveled:
    """Copies the graph to the host; offsets keep their type."""
    n, m, deep = outline.vertices, outline.edges, outline.deep_edges
    lengths = n, n, None, n + 1, m, m, n + 1, deep, deep
    return Leveled(*(library.to_host(each)[:length] for each, length in zip(there, lengths, strict=False)))


def _for_labels(there: DeviceLeveled, outline: Outline) -> Leveled:
    """Copies to the host what `host.labels` needs of the graph; the other fields are as they are on the device."""
    needed = "vertex", "starts", "targets", "deep_starts", "deep_targets"
    fields = {name: library.to_host(getattr(there, name)) for name in needed}
    return Leveled(*there[: len(Leveled._fields)])._replace(level_starts=outline.level_starts, **fields)
