"""`gpu-fused` from edges, or a condensed graph, in the memory of the host, renumbered and labelled on the device.

Small graphs are numbered by the host in one call, brought by one copy and labelled by one launch, unless they are deep;
memory and launches for that are kept and serve one index after the other. Importing this module imports CUDA.
"""

import weakref
from types import ModuleType

import numpy as np

from grailbench.cuda import describe, device_arrays
from grailbench.cuda.allocator import Reused
from grailbench.cuda.edges import build, library, rows, staging
from grailbench.cuda.gateway import cuda
from grailbench.cuda.graphs import DEEP_LEVELS, DeviceLeveled, Outline
from grailbench.cuda.launch import Moving, moved
from grailbench.cuda.timers import Span
from grailbench.graph import numbering
from grailbench.graph.condense import condense
from grailbench.graph.csr import Dag, Graph
from grailbench.graph.leveled import Leveled, by_level
from grailbench.problems.reachability.gpu.fused import grid, small, small_below
from grailbench.problems.reachability.gpu.fused.batch import Labelled, Searcher
from grailbench.problems.reachability.gpu.fused.filter import records_of
from grailbench.problems.reachability.gpu.fused.host import record_width, salts
from grailbench.problems.reachability.gpu.fused.replicas import FusedIndex, index_of, labelled, launches, way_of
from grailbench.problems.reachability.gpu.fused.search import Adjacency
from grailbench.problems.reachability.index import NoTimer, Params, Timer

MOST_VERTICES, MOST_EDGES = small_below()  #: the super-root counts as a vertex

_workspaces = Reused()


def built_at_once(graph: Graph, params: Params, timer: Timer) -> FusedIndex:
    """Returns the index of a small graph with vertices, which is asked vertices of `graph`. The host labels it if it is
    deep."""
    with timer.phase("allocate"):
        device = describe.current_device()
        kind = device, params.dim, params.seed, graph.vertices < small.most_vertices()
        space = _workspaces.take(kind) or Workspace(kind)
    with timer.phase("condense"):
        fields, component = numbering.number(graph, space.given, 2 * graph.vertices)
        lengths = (part.stop - part.start for part in (fields.vertex, fields.sources, fields.deep_sources))
        levels, firsts, deep = (
            space.given[part] for part in (fields.level_starts, fields.edge_starts, fields.deep_starts)
        )
        outline = Outline(*lengths, levels.copy(), firsts.copy(), deep[levels])
    if outline.deep:
        wide = {"starts": np.int64, "deep_starts": np.int64}
        own = {name: space.given[getattr(fields, name)].astype(wide.get(name, np.int32)) for name in Leveled._fields}
        _workspaces.give(space.kind, space)
        graph = Leveled(**own)
        numbers = None if component is None else device_arrays.copied(graph.rank[component])[0]
        return index_of(graph, params, timer, numbers)
    with timer.phase("label"):
        searcher, work, ms = space.label(fields, outline, component)
        timer.record("on_device", ms)
    records = [searcher.graph.records]
    index = FusedIndex(lambda: by_level(condense(graph)), outline.edges, [searcher], records, work, params)
    weakref.finalize(index, _workspaces.give, space.kind, space).atexit = False
    return index


class Workspace:
    """Memory for one small index, pinned memory `given` in which its graph is numbered, and launches."""

    def __init__(self, kind: tuple[int, int, int, bool]):
        """kind: the device, the number of label pairs, the seed, and whether graphs are of a size for `small`."""
        self.kind = kind
        _, dim, seed, shared = kind
        self._most = n = small.most_vertices() if shared else MOST_VERTICES
        size = numbering.most_words(n - 1, MOST_EDGES) + 2 * n  # and `grid.wide_levels`, and numbers of components
        self.given = cuda.pinned_array(size, np.int32)
        rows = (size, np.int32), (n * record_width(dim), np.int32), (2 * n, np.int64)
        self._there, self._lanes, self._hubs = device_arrays.allocate(*rows)
        (salt,) = device_arrays.copied(salts(seed, range(dim)))
        fields = numbering.Fields._make(Moving(self._there[:1]) for _ in numbering.Fields._fields)
        self._wide = Moving(device_arrays.reshaped(self._there[:1], (1, 1), np.int8))
        self._moving = *fields, self._wide
        self._graph = DeviceLeveled(*(getattr(fields, name) for name in DeviceLeveled._fields))
        self._written, self._edge_starts = (salt, self._lanes, self._hubs), fields.edge_starts
        self._launches: dict[ModuleType, tuple] = {}
        self._span, self._searcher = Span(), None

    def _launches_of(self, way: ModuleType) -> tuple:
        """Returns the launches of a way (`replicas.way_of`) for graphs of any size that this serves."""
        if way not in self._launches:
            most = self._most if way is grid else min(self._most, way.most_vertices())
            levels = self._wide if way is grid else self._edge_starts
            arrays = self._graph, self.kind[1], most, *self._written, levels
            self._launches[way] = launches(way, *arrays, moving=self._moving)
        return self._launches[way]

    def label(self, fields: numbering.Fields, outline: Outline, component=None) -> tuple[Searcher, dict, float]:
        """Labels the graph in `given`; returns a searcher, counts of the work and the milliseconds of the device.

        The host lists the parents, which searches need, while the device labels.

        component int32[n]: of each vertex that queries name, the vertex of the DAG; None if they name these.
        """
        dim, way = self.kind[1], way_of(outline)
        end, n, wide, barriers = fields.deep_targets.stop, outline.vertices, self._wide.now, 0
        arrays = numbering.Fields._make([self._there[field] for field in fields])
        if way is grid:
            levels, begin = grid.wide_levels(outline), end
            end += -(-levels.size // 4)
            self.given[begin:end].view(np.int8)[: levels.size] = levels.reshape(-1)
            wide = device_arrays.reshaped(self._there[begin:end], levels.shape, np.int8)
            barriers = grid.barriers(levels)
        rank = arrays.rank
        if component is not None:
            begin, end = end, end + component.shape[0]
            self.given[begin:end] = self.given[fields.rank][component]
            rank = self._there[begin:end]
        device_arrays.bring(self._there[:end], self.given[:end])
        launches, words = self._launches_of(way), moved(self._moving, (*arrays, wide))
        with self._span:
            for launch in launches:
                launch.move(words)
                launch.launch()
        numbering.transpose(self.given, fields)
        device_arrays.bring(arrays.parents, self.given[fields.parents])
        cuda.synchronize()
        records = records_of(self._lanes[: n * record_width(dim)], dim, self._hubs[: 2 * n])
        adjacency = Adjacency(arrays.starts, arrays.targets, arrays.parent_starts, arrays.parents)
        own = Labelled(rank, outline.level_starts, adjacency, records)
        if self._searcher is None:
            self._searcher = Searcher(own, most=self._most)
        else:
            self._searcher.serve(own)
        work = {"label_launches": len(launches), "label_barriers": barriers}
        return self._searcher, work, self._span.ms


def built(graph: Graph, params: Params, timer: Timer) -> FusedIndex:
    """Builds the index of a graph with vertices; the host learns a few counts only, unless the graph is deep.

    The index is asked vertices of `graph`. Raises TooLittleMemory, before anything is allocated, if the device has too
    little.
    """
    build.require_room(graph, "condensing and labeling")
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
            return _labelled(there, outline, params, timer, numbers)


def built_of_dag(dag: Dag, params: Params, timer: Timer) -> FusedIndex:
    """As `built`, of a condensed graph of one root, whose rows travel as they are."""
    build.require_room(dag, "labeling")
    inner = int(dag.offsets[-2])  # the walk adds the super-root, which is the last vertex, and its edges
    with library.counted():
        with timer.phase("transfer", excluded=True):
            there = rows.given_rows(dag.offsets[:-1], dag.children[:inner])
            cuda.synchronize()
        with timer.phase("renumber", excluded=True):
            walked = build.walked_from(there, dag.vertices - 1)
            del there
            leveled, outline = build.leveled(walked.reached, walked)
            del walked
            cuda.synchronize()
        return _labelled(leveled, outline, params, timer)


def _labelled(there: DeviceLeveled, outline: Outline, params: Params, timer: Timer, numbers=None) -> FusedIndex:
    """Labels a graph on the device, or on the host if it is deep. numbers: as in `replicas.labelled`."""
    n, m, deep = outline.vertices, outline.edges, outline.deep_edges

    def on_the_host() -> Leveled:
        lengths = n, n, None, n + 1, m, m, n + 1, deep, deep  # offsets keep their type
        return Leveled(*(library.to_host(each)[:length] for each, length in zip(there, lengths, strict=False)))

    graph = None
    if outline.deep:  # `host.labels_on_host` needs some fields; the others are as they are on the device
        needed = "vertex", "starts", "targets", "deep_starts", "deep_targets"
        fields = {name: library.to_host(getattr(there, name)) for name in needed}
        graph = Leveled(*there[: len(Leveled._fields)])._replace(level_starts=outline.level_starts, **fields)
    return labelled(outline, on_the_host, lambda: there, params, timer, graph, numbers)


def load(params: Params) -> None:
    """Compiles or loads every kernel of this way, and takes the pinned memory in which edges travel."""
    staging.prepare()
    for graph in build.samples():
        built(graph, params, NoTimer())
    for path in (np.arange(2, dtype=np.int32), np.arange(2 * DEEP_LEVELS, dtype=np.int32)):
        built_at_once(Graph(path.size, path[:-1], path[1:]), params, NoTimer())
