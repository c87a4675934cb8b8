"""The components of a digraph by level on the device, from its edges in the memory of the host.

Large graphs are condensed and numbered by the device (`cuda.edges`), small ones by the host, in one call and one copy
(`graph.numbering`). Importing this module imports CUDA.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grailbench.cuda.describe import require_memory
from grailbench.cuda.edges import build, library, staging
from grailbench.cuda.gateway import cuda, simulated
from grailbench.graph import numbering
from grailbench.graph.csr import Graph
from grailbench.problems.contract import Timer

FEWEST = 1 << 17  #: edges, and vertices, from which on the device condenses; with fewer, the host is ready before
LONG = 6 if simulated else 64  #: children from which on a set is made by all threads of a block together
EDGE_BYTES, VERTEX_BYTES = 32, 120  #: of the device, at most at once, as in condensing for `gpu-fused`


class Order(NamedTuple):
    """The k components on the device, by level: the edges of each lead to later levels. Place 0 is the super-root's.

    numbers       int32[n]          the place of each vertex, from 1 on
    starts        int32[k + 2], or int64  where the children of each place begin
    children      int32             places
    level_starts  int32[levels + 1] the first place of each level, and the end
    long          int32             places with more than `LONG` children, ascending, then `k + 1`
    """

    numbers: object
    starts: object
    children: object
    level_starts: object
    long: object


class Ordered(NamedTuple):
    """An `Order`, the numbers of its places (k + 1), levels and long places, and of edges between components."""

    order: Order
    places: int
    levels: int
    long: int
    edges: int


def ordered(graph: Graph, timer: Timer) -> Ordered:
    """Orders the components of a graph with vertices. Records the phases `host_to_device` and `condense`.

    Raises TooLittleMemory.
    """
    small = graph.edges < FEWEST and graph.vertices < FEWEST
    with library.counted():
        numbers, starts, children, level_starts, edges = (_by_host if small else _by_device)(graph, timer)
        with timer.phase("condense"):
            xp = library.arrays()
            places, levels = int(starts.shape[0]) - 1, int(level_starts.shape[0]) - 1
            long = 1 + xp.flatnonzero((starts[2:] - starts[1:-1]) > LONG)
            count = int(long.shape[0])
            found = library.full(count + 1, places, np.int32)
            found[:count] = long
            library.arrays()
            order = Order(numbers, starts, children, level_starts, found)
            cuda.synchronize()
    return Ordered(order, places, levels, count, edges)


def _by_host(graph: Graph, timer: Timer):
    n = graph.vertices
    with timer.phase("condense"):
        words = np.empty(numbering.most_words(n, graph.edges), np.int32)
        fields, component = numbering.number(graph, words)
        rank = words[fields.rank]
        numbers = rank[:n] if component is None else rank[component]
        starts, children, levels = words[fields.starts], words[fields.targets], words[fields.level_starts]
        packed = np.concatenate((numbers, starts, children, levels))
        ends = np.cumsum([each.shape[0] for each in (numbers, starts, children, levels)]).tolist()
    with timer.phase("host_to_device"):
        (there,) = staging.to_device(packed)
        cuda.synchronize()
    columns = [there[low:high] for low, high in zip([0, *ends], ends, strict=False)]
    if not children.shape[0]:
        columns[2] = library.full(0, 0, np.int32)
    return *columns, int(children.shape[0] - starts[1])


@cuda.jit(cache=True)
def _to_places(targets, rank, edges):
    """Makes places of the targets of a walk (`cuda.edges.walk.Walk`)."""
    for k in range(cuda.grid(1), edges, cuda.gridsize(1)):
        v = targets[k]
        targets[k] = rank[~v if v < 0 else v]


def _by_device(graph: Graph, timer: Timer):
    n = graph.vertices
    what = f"condensing {n:,} vertices and {graph.edges:,} edges on the GPU"
    require_memory(EDGE_BYTES * graph.edges + VERTEX_BYTES * n, what, "take `condense-bits`, or a GPU with more")
    with timer.phase("host_to_device"):
        sources, targets = staging.to_device(graph.sources, graph.targets)
        cuda.synchronize()
    with timer.phase("condense"):
        walked, component = build.condensed(n, graph.edges, sources, targets)
        del sources, targets
        walk = walked.arrays
        library.launch(_to_places, walked.edges, walk.targets, walk.rank, walked.edges)
        numbers = walk.rank[:n] if component is None else walk.rank[component]
        starts, levels = walk.starts[: walked.reached + 1], walk.level_starts[: walked.depth + 1]
        return numbers, starts, walk.targets, levels, walked.edges - library.last_of(starts[:2])
