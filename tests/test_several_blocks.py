"""Searches in one cooperative launch of several blocks: whatever order blocks take, distances are the oracle's."""

import random

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import distances_from
from several_blocks import launch, load
from strategies import digraphs, graph_of

from grailbench.cuda import gateway
from grailbench.graph.csr import rows_of
from grailbench.graph.rows import transpose
from grailbench.problems.traversal import check
from grailbench.problems.traversal.gpu.resident import Rows
from grailbench.problems.traversal.index import FAR, drawn_weights

pytestmark = pytest.mark.skipif(not gateway.simulated, reason="runs beside the simulator")
NAMES = "worklist", "nearfar", "fused", "many"
worklist, nearfar, fused, many = load(*(f"grailbench.problems.traversal.gpu.{name}" for name in NAMES))


@st.composite
def lattices(draw):
    """Grids of up to 60 vertices, both ways, without some edges: many steps and bands, which other graphs lack."""
    side, n, kept = draw(st.integers(2, 7)), draw(st.integers(20, 60)), random.Random(draw(st.integers(0, 999)))
    edges = [(u, v) for u in range(n) for v in (u - side, u - 1, u + 1, u + side) if 0 <= v < n]
    return n, [edge for edge in edges if kept.random() < 0.8]


graphs = st.one_of(lattices(), digraphs().filter(lambda graph: 0 < graph[0] <= 40))
shapes = st.sampled_from([(3, 2), (2, 4), (4, 1)])


def rows(offsets, targets, weights):
    """int64, as numba computes, so that no sum of two distances overflows."""
    return Rows(
        *(values.astype(np.int64) if values.size else np.zeros(1, np.int64) for values in (offsets, targets, weights))
    )


def blank(*shape):
    return np.full(shape, -99, np.int64)


def expected(graph, offsets, targets, weights, source):
    sources = np.repeat(np.arange(graph[0]), np.diff(offsets))
    found = distances_from(
        graph[0], list(zip(sources.tolist(), targets.tolist(), weights.tolist(), strict=True)), source
    )
    return [found.get(v, int(FAR)) for v in range(graph[0])]


@settings(max_examples=20)
@given(graph=graphs, shape=shapes, data=st.data())
def test_near_far(graph, shape, data):
    offsets, targets = rows_of(graph_of(*graph))
    heaviest, short = data.draw(st.sampled_from([1, 3, 255])), data.draw(st.booleans())
    weights = 1 + drawn_weights(offsets, targets, 1, False) % heaviest
    rule = nearfar.Rule(
        chunk=data.draw(st.sampled_from([1, 2, 128])),
        width=data.draw(st.sampled_from([1, 2, heaviest, 5 * heaviest])),
        share=data.draw(st.sampled_from([0, 8, 2**20])),
        room=data.draw(st.sampled_from([1, 3])) if short else nearfar.ROOM,
        bits=data.draw(st.integers(0, shape[1].bit_length() - 1)),
    )
    n, most, source = graph[0], worklist.most_ranges(offsets, rule.chunk), data.draw(st.integers(0, graph[0] - 1))
    state = nearfar.State(blank(n), blank(n), blank(n), blank(2, most, 3), blank(2, n), blank(6), blank(6), blank(3))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(nearfar, "ROOM", 3 if short else nearfar.ROOM)
        launch(nearfar._search, (np.array([source]), rows(offsets, targets, weights), state, rule), *shape)
    assert state.distances.tolist() == expected(graph, offsets, targets, weights, source)


@settings(max_examples=20)
@given(graph=graphs, shape=shapes, data=st.data())
def test_fused(graph, shape, data):
    offsets, targets = rows_of(graph_of(*graph))
    back, sources = transpose(offsets, targets)
    rule = fused.Rule(
        chunk=data.draw(st.sampled_from([1, 2, 128])),
        large=data.draw(st.sampled_from([1, 256])),
        alone=data.draw(st.sampled_from([0, 1, 4, 1024])),
        alpha=data.draw(st.sampled_from([2, 14, 10**6])),
        beta=data.draw(st.sampled_from([2, 24, 10**6])),
    )
    n, most, source = graph[0], worklist.most_ranges(offsets, rule.chunk), data.draw(st.integers(0, graph[0] - 1))
    big = np.flatnonzero(np.diff(back) > rule.large)
    state = fused.State(blank(n), blank(2, most, 3), big if big.size else np.full(1, -1), blank(6), blank(5))
    ones = np.ones(targets.size, np.int32)
    edges = rows(offsets, targets, ones), rows(back, sources, ones)
    launch(fused._search, (np.array([source]), *edges, state, rule), *shape)
    assert state.distances.tolist() == expected(graph, offsets, targets, ones, source)


@settings(max_examples=15)
@given(graph=graphs, shape=shapes, data=st.data())
def test_many(graph, shape, data):
    offsets, targets = rows_of(graph_of(*graph))
    back, sources = transpose(offsets, targets)
    n, ones = graph[0], np.ones(targets.size, np.int32)
    rule = many.Rule(*(data.draw(st.sampled_from(each)) for each in ((0, 8, 10**6), (0, 2), (1, 3, 128))))
    asked = data.draw(st.permutations(range(n)))[: data.draw(st.integers(1, n))]
    words = (len(asked) + 63) // 64
    bits = (np.full(size * n, 99, np.uint64) for size in (words, 2 * words, 3, 1))
    levels, counted = np.full(len(asked) * n, FAR, np.int32), np.zeros(2, np.int32)
    kinds = np.int64, np.int64, np.int32, np.uint32
    sums = many.Sums(*(np.full(64 * words, 99, kind) for kind in kinds), counted)
    edges = [
        many.Edges(starts, ends if ends.size else np.zeros(1, np.int32), many.pieces(starts, rule.long))
        for starts, ends in ((offsets, targets), (back, sources))
    ]
    state = many.Bits(*bits, blank(6), levels)
    launch(many._search.fn, (np.array([len(asked), 1, *asked]), *edges, state, sums, rule), *shape)
    truth = [expected(graph, offsets, targets, ones, source) for source in asked]
    assert levels.reshape(len(asked), n).tolist() == truth
    told = zip(*(each[: len(asked)].tolist() for each in sums[:4]), strict=True)
    assert list(told) == [check.summary(offsets, np.array(each, np.int32)) for each in truth]
