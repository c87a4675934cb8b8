"""Branches of kernels that no small graph takes by itself: for each some graph of its own, and what is launched on it.

A corner is a graph, its edges drawn by a seed, and functions like those of `ways`: more than 64 vertices for what is
stored by words, a row of more than two tiles, hubs of equal weight, lists that overflow.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from unittest import mock

import asked
import numpy as np
import ways
from naive import distances_from

FARTHEST = 2**31 - 1


def _pairs(found: asked.Digraph) -> np.ndarray:
    """bool[n, n]: what each vertex reaches but itself."""
    return found.reach & ~np.eye(found.vertices, dtype=bool)


def _asking(found: asked.Digraph, us: np.ndarray, vs: np.ndarray) -> asked.Digraph:
    """The same digraph, of which other pairs are asked."""
    found = copy(found)
    found.pairs = us, vs
    return found


# ------------------------------------------------------------------ closures and counts


def of_sets(found: asked.Digraph) -> None:
    """Sets of all targets at once, and in blocks; with strips that divide the threads of a block, and that do not."""
    from grailbench.cuda.gateway import cuda
    from grailbench.problems.closure.gpu import sweep
    from grailbench.problems.reachability.index import NoTimer

    right, given = _pairs(found), sweep.ordered(found.graph, NoTimer())
    wide = -(-found.vertices // 64)
    for strip, width in ((sweep.STRIP, 1), (6, wide)):
        with mock.patch.object(sweep, "STRIP", strip):
            sets = sweep.Sets(given, found.vertices, width)
            assert sets.count() == right.sum(), f"sets of {width} words, by strips of {strip}"
            assert np.array_equal(sets.reached, right.sum(1))
            pairs = np.concatenate([piece.copy() for piece in sets.pairs()])
            assert sorted(map(tuple, pairs.tolist())) == list(
                zip(*map(np.ndarray.tolist, np.nonzero(right)), strict=True)
            )
        if sets.whole:
            sets.fill(0)
            host = cuda.pinned_array((found.vertices, wide), np.uint64)
            sets.bits_to(host)
            bits = np.unpackbits(host.view(np.uint8), axis=1, bitorder="little")[:, : found.vertices]
            assert np.array_equal(bits, right)


def of_bits(found: asked.Digraph) -> None:
    """Warshall's algorithm on bits, by the usual grid, and by one block that has several strips of a word."""
    from grailbench.cuda import launch
    from grailbench.cuda.gateway import cuda
    from grailbench.problems.closure.gpu import warshall

    right, few = _pairs(found), launch.Shape(1, 5 * warshall.THREADS // 8)
    for tile, how in ((warshall.TILE, {}), (1, {"return_value": few})):
        with mock.patch.object(warshall, "TILE", tile):
            bits = np.zeros((found.vertices, 64 * warshall.padded(found.vertices)[1]), bool)
            bits[found.graph.sources, found.graph.targets] = True
            matrix = np.zeros(warshall.padded(found.vertices), np.uint64)
            matrix[: found.vertices] = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
            there, total = cuda.to_device(matrix), cuda.to_device(np.zeros(1, np.int64))
            with mock.patch.object(launch, "cooperative_shape", **how) if how else mock.MagicMock():
                warshall.close(there)
            warshall.count_and_clear[2, 32](there, found.vertices, total)
        assert int(total.copy_to_host()[0]) == right.sum(), f"bits by tiles of {tile}"


def of_tiles(found: asked.Digraph) -> None:
    """Floyd-Warshall by tiles whose pivots are staged in parts, and by tiles that are higher than the pivots."""
    from grailbench.cuda.floyd_warshall import Tile, Tiles
    from grailbench.problems.traversal.gpu.shortest import InRegisters

    network = _network(found, 255)
    every = [_plain(network, source) for source in range(found.vertices)]
    for tiles in (
        Tiles(Tile(2, 2, 4, 4), Tile(2, 2, 4, 2), Tile(2, 2, 4, 4), 4),
        Tiles(Tile(2, 2, 2, 2), Tile(1, 2, 4, 1), Tile(2, 2, 4, 4), 4),
    ):
        solver = InRegisters(network, tiles)
        solver.search(0)
        assert np.array_equal(solver.distances.copy_to_host(), every), f"distances by {tiles}"


def of_columns(found: asked.Digraph) -> None:
    """Counts by several chunks of columns, in one pass and in several."""
    from grailbench.cuda.gateway import simulated
    from grailbench.cuda.timers import Phases
    from grailbench.problems.counts.gpu import sweep
    from grailbench.problems.counts.index import task_of
    from grailbench.problems.counts.reduce import expanded, listed

    task = task_of(found.dag)
    form = listed(task)
    assert form.columns.size > sweep.GROUP, "all columns are in one chunk"
    reached = [0] * task.vertices  # bits of vertices, in a number
    for u in task.order[::-1].tolist():
        reached[u] = 1 << u
        for v in task.children[task.offsets[u] : task.offsets[u + 1]].tolist():
            reached[u] |= reached[v]
    # in the simulator a grid is one group, which never shares a vertex
    with mock.patch.object(sweep, "PARTS", 2 if simulated else sweep.PARTS):
        for most in (1, sweep.CHUNKS):
            columns, _, _ = sweep.swept(task, form, Phases(), most)
            counts = expanded(task, form, columns)
            assert counts.tolist() == [each.bit_count() for each in reached], f"counts by {most} chunks"


# ------------------------------------------------------------------ reachability


def of_the_core(found: asked.Digraph) -> None:
    """The index of the core, with and without room for its closure."""
    from grailbench.problems.reachability.gpu.core.index import CoreGpu
    from grailbench.problems.reachability.index import Params

    for memory in (0, 200):
        asked.check_index(found, CoreGpu, Params(memory=memory, seed=found.number))


def of_lower_vertices(found: asked.Digraph) -> None:
    """Searches of pairs that begin below the upper levels, so that parents of what they meet are above them all."""
    us, vs = found.pairs
    lower = found.dag.levels[found.dag.component][us] >= 3
    ways.in_small_tables(_asking(found, us[lower], vs[lower]))
    ways.in_small_tables(found)


def of_a_full_table(found: asked.Digraph) -> None:
    """A search whose table is full when it meets what the other side has found."""
    ways.in_small_tables(_asking(found, np.array([0]), np.array([found.vertices - 1])))


def of_wide_levels(found: asked.Digraph) -> None:
    """Labels on the grid of more vertices than there are hubs."""
    ways.on_the_grid(_asking(found, *(ends[:64] for ends in found.pairs)))


def of_stored_levels(found: asked.Digraph) -> None:
    """Several pairs of labels by paths, which store the levels that the first pair finds."""
    from grailbench.problems.reachability.gpu import pipeline
    from grailbench.problems.reachability.index import Params, implementation

    with mock.patch.object(pipeline, "usual", ways.narrow_queues):
        asked.check_index(found, implementation("gpu-path"), Params(dim=2, seed=found.number))


def of_long_rows(found: asked.Digraph) -> None:
    """The order of siblings of rows that are longer than two tiles, in shared memory and on the grid."""
    from grailbench.problems.reachability.gpu.fused.host import TILE

    assert np.bincount(found.graph.sources).max() >= 2 * TILE
    ways.one_index(found)
    ways.on_the_grid(found)


# ------------------------------------------------------------------ condensing


def of_walks(found: asked.Digraph) -> None:
    """Components and levels by walks that end early because the graph is deep, at once or after some levels."""
    from grailbench.cuda.edges import build, library, staging

    n, m, right = found.vertices, found.graph.edges, found.dag.component
    for how in ({}, {"narrow": 2}, {"free": 0, "edges_a_level": 1}, {"free": 3, "edges_a_level": 10**6}):
        ends = staging.to_device(found.graph.sources.astype(np.int32), found.graph.targets.astype(np.int32))
        _, component = build.condensed(n, m, *ends, **how)
        component = np.arange(n) if component is None else library.to_host(component)
        assert np.array_equal(component, right), f"components by a walk with {how}"


def of_sums(found: asked.Digraph) -> None:
    """Prefix sums by blocks whose number is no power of two, of rows that do not fill them."""
    from grailbench.cuda.gateway import cuda
    from grailbench.cuda.primitives import Scan

    terms = np.arange(2 * found.vertices, dtype=np.int32).reshape(2, -1)
    threads = -(-found.vertices // 3) // 2 * 2
    scan = Scan(2, found.vertices, threads)
    scan.run(cuda.to_device(terms))
    within, totals = scan.within.copy_to_host(), scan.totals.copy_to_host()
    before = np.repeat(np.pad(totals, ((0, 0), (1, 0)))[:, :-1], threads, axis=1)[:, : found.vertices]
    assert np.array_equal(within + before, terms.cumsum(1)), "prefix sums"


def of_a_wrong_order(found: asked.Digraph) -> None:
    """The oracle refuses levels that do not rise along every edge."""
    from dataclasses import replace

    from grailbench.cuda import oracle
    from grailbench.errors import CheckFailed

    us, vs, _ = ways.some_pairs(found)
    try:
        oracle.swept_answers(replace(found.dag, levels=np.zeros_like(found.dag.levels)), us, vs)
    except CheckFailed:
        return
    raise AssertionError("the oracle takes levels that do not rise")


# ------------------------------------------------------------------ distances


def _network(found: asked.Digraph, most: int = 0):
    """The graph with weights from 1 to `most`, the same on duplicates of an edge, or without."""
    from grailbench.graph.csr import rows_of
    from grailbench.problems.traversal.index import Network, drawn_weights

    offsets, targets = rows_of(found.graph)
    return Network(offsets, targets, 1 + drawn_weights(offsets, targets, 1, False) % most if most else None)


def _plain(network, source: int) -> list[int]:
    """The distances from a source, by plain Python."""
    sources = np.repeat(np.arange(network.vertices), np.diff(network.offsets))
    weights = np.ones(network.edges, int) if network.weights is None else network.weights
    edges = zip(sources.tolist(), network.targets.tolist(), weights.tolist(), strict=True)
    found = distances_from(network.vertices, list(edges), source)
    return [found.get(v, FARTHEST) for v in range(network.vertices)]


def _searched(solver, network, sources: list[int]) -> None:
    from grailbench.problems.reachability.index import NoTimer

    for source in sources:
        assert solver.solve(source, NoTimer()).tolist() == _plain(network, source), f"distances from {source}"


def of_one_launch(found: asked.Digraph) -> None:
    """Searches by levels with each rule: one block alone or the grid, forward or backward, with and without hubs."""
    from grailbench.cuda.gateway import simulated
    from grailbench.problems.traversal.gpu.fused import Fused

    network = _network(found)
    rules = (128, 256, 2, 100, 2), (2, 1, 4, 10**6, 10**6), (128, 256, 1024, 14, 24), (128, 2, 0, 14, 24)
    for rule in rules:
        for threads in (8, 32) if simulated else (32,):
            _searched(Fused(network, threads, rule), network, [0, found.vertices // 2])


def of_many_sources(found: asked.Digraph) -> None:
    """Searches from more sources than a word has bits, pushed and pulled, with rows in pieces."""
    from grailbench.cuda.gateway import simulated
    from grailbench.problems.reachability.index import NoTimer
    from grailbench.problems.traversal.gpu.many import Many

    network, sources = _network(found), np.arange(found.vertices)[::-1].copy()
    right = np.array([_plain(network, source) for source in sources.tolist()])
    for rule in ((0, 0, 1), (10**6, 1, 2), (2, 5, 3)):
        solver = Many(network, 8 if simulated else 1024, rule=rule)
        solver.expect(sources.size)
        reached = solver.search(sources, NoTimer()).reached
        assert np.array_equal(reached, (right != FARTHEST).sum(1)), f"reached from many sources by {rule}"
    assert np.array_equal(np.array(list(solver.solve_each(sources, NoTimer()))), right), "distances of many sources"


def of_near_and_far(found: asked.Digraph) -> None:
    """Near and far piles with each rule: queues that overflow, rows in pieces, bands that hold one weight or all; and
    weights of which two are more than any distance."""
    from dataclasses import replace

    from grailbench.cuda.gateway import simulated
    from grailbench.problems.traversal.gpu.nearfar import NearFar

    network = _network(found, 200)
    heaviest = network.weights.astype(np.int64 if simulated else np.int32)  # numpy's sums of 32 bits overflow
    heaviest[1::7] = FARTHEST
    rules = (2, 10**4, 2**20, 1, 0), (1, 60, 2**20, 2, 0), (3, 30, 2**20, 4, 1), (2, 60, 0, 2, 0), (128, 0, 1024, 3)
    for each in (network, replace(network, weights=heaviest)):
        for rule in rules:
            solver = NearFar(each, 8 if simulated else 64, rule)
            _searched(solver, each, [0, found.vertices // 2])


def of_many_far(found: asked.Digraph) -> None:
    """More vertices for the far pile than a block keeps, each found twice."""
    from dataclasses import replace

    from grailbench.problems.traversal.gpu.nearfar import ROOM, NearFar

    network = _network(found, 1)
    weights = np.full(network.edges, 100, np.int32)
    weights[: network.offsets[1]] = 200
    weights[0] = 1  # to the second vertex, which is nearer to all others
    assert found.vertices > ROOM + 2
    assert network.targets[0] == 1
    network = replace(network, weights=weights)
    solver = NearFar(network, rule=(2 * found.vertices, 10, 2**20))
    assert solver.search(0) is None
    assert solver.distances.copy_to_host().tolist() == [0, 1, *[101] * (found.vertices - 2)]


# ------------------------------------------------------------------ graphs


def _layers(layers: int, wide: int, degree: int, seed: int) -> np.ndarray:
    """Edges, int64[m, 2], from each vertex of a layer but the last to some of the next, and a few to any later one; the
    first vertex has edges to all of the next two layers."""
    random, vertices = np.random.default_rng(seed), layers * wide
    inner = np.repeat(np.arange(vertices - wide), degree)
    near = (inner // wide + 1) * wide + random.integers(0, wide, inner.size)
    far = np.sort(random.integers(0, vertices, (wide, 2)), axis=1)
    hub = np.stack([np.zeros(2 * wide, int), wide + np.arange(2 * wide)], axis=1)
    return np.concatenate([np.stack([inner, near], axis=1), far[far[:, 0] // wide < far[:, 1] // wide], hub])


def _wide() -> tuple[int, np.ndarray]:
    """Eight layers of 193 vertices: four words, the last of one bit. One in the midst has edges to all layers below."""
    ends = _layers(8, 26, 3, 1)
    below = np.arange(104, 193)
    ends = np.concatenate([ends, np.stack([np.full(below.size, 78), below], axis=1)])
    return 193, ends[(ends < 193).all(axis=1)]


def _columns() -> tuple[int, np.ndarray]:
    """More vertices of two parents than two chunks have columns."""
    from grailbench.problems.counts.gpu.sweep import GROUP

    wide = GROUP // 2
    return 5 * wide, _layers(5, wide, 3, 2)


def _star() -> tuple[int, np.ndarray]:
    """A vertex of more children than two tiles of a row have, some of which have one child."""
    leaves = np.arange(1, 2_101)
    ends = np.stack([np.zeros(leaves.size, int), leaves], axis=1)
    return leaves.size + 2, np.concatenate([ends, [[1, 2_101], [2, 2_101]]])


def _hubs() -> tuple[int, np.ndarray]:
    """Eight vertices of seven parents and seven children, and two of seven and eight."""
    of = np.arange(10)
    above = [(10 + j, v) for v in of for j in range(8) if j != v % 8]
    below = [(v, 18 + j) for v in of for j in range(8) if v >= 8 or j != v]
    return 26, np.array(above + below)


def _trees() -> tuple[int, np.ndarray]:
    """Trees that all lead to their roots."""
    below = np.arange(1, 14)
    return 16, np.stack([below, (below - 1) // 3], axis=1)


def _trees_alone() -> tuple[int, np.ndarray]:
    """A tree of three layers that leads to the root of one that leads away, a vertex alone, and a core."""
    into = [(0, 2), (1, 2), (2, 4), (3, 4), (4, 5)]
    away = [(5, 6), (5, 7), (7, 8), (7, 9)]
    core = [(u, v) for u in (11, 12, 13) for v in (14, 15, 16)] + [(u, 17) for u in (14, 15, 16)]
    return 18, np.array(into + away + core)


def _cycles() -> tuple[int, np.ndarray]:
    """Nine chains of three cycles, and one cycle against the order of its vertices; a path leads to it."""
    chains = []
    for c in range(9):
        for i in range(3):
            a = 9 * c + 3 * i
            chains += [(a, a + 1), (a + 1, a + 2), (a + 2, a)] + ([(a + 2, a + 3)] if i < 2 else [])
    loop = [(v, v - 1) for v in range(82, 105)] + [(81, 104)]
    path = [(v, v + 1) for v in range(105, 110)] + [(110, 90)]
    return 111, np.array(chains + loop + path)


def _dense() -> tuple[int, np.ndarray]:
    return 61, np.random.default_rng(4).integers(0, 61, (366, 2))


def _two_hubs() -> tuple[int, np.ndarray]:
    """A vertex with edges to all others, and one of them with edges to all but the first, to which all lead back."""
    rest = np.arange(2, 1_103)
    both = [np.stack([np.full(rest.size, u), rest], axis=1) for u in (0, 1)]
    back = np.stack([rest, np.zeros(rest.size, int)], axis=1)
    return 1_103, np.concatenate([[[0, 1]], *both, back])


def _full() -> tuple[int, np.ndarray]:
    """A vertex of 60 children: the last three are parents of the last vertex, with 25 more parents each; the others
    lead there by a longer path, which a deeper one joins."""
    middle, last = 136, 141
    above = [(61 + 25 * i + j, 58 + i) for i in range(3) for j in range(25)]
    path = [(middle, 137), (137, last), (138, 139), (139, 140), (140, 137)]
    first = [(0, v) for v in range(1, 61)] + [(v, middle) for v in range(1, 58)]
    return last + 1, np.array(first + [(v, last) for v in (58, 59, 60)] + above + path)


def _few() -> tuple[int, np.ndarray]:
    """Two layers, and a vertex alone, which fill three blocks of threads but for one."""
    return 23, _layers(3, 8, 2, 3) % 23


#: by name a function of the graph, and what is launched on it
ALL: dict[str, tuple[Callable[[], tuple[int, np.ndarray]], tuple[Callable[[asked.Digraph], None], ...]]] = {
    "four words": (
        _wide,
        (of_sets, of_bits, of_the_core, of_lower_vertices, of_wide_levels, of_many_sources, of_walks),
    ),
    "many columns": (_columns, (of_columns,)),
    "long row": (_star, (of_long_rows,)),
    "equal hubs": (_hubs, (ways.of_few_candidates, ways.of_large_weights, of_stored_levels)),
    "trees": (_trees, (of_the_core,)),
    "trees and a core": (_trees_alone, (of_the_core,)),
    "cycles": (_cycles, (of_walks,)),
    "dense": (_dense, (of_one_launch, of_near_and_far)),
    "full table": (_full, (of_a_full_table,)),
    "two hubs": (_two_hubs, (of_many_far, of_one_launch)),
    "few": (_few, (of_tiles, of_sums, of_a_wrong_order)),
}
