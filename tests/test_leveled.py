"""A DAG renumbered by level is the same DAG, its levels contiguous; small graphs are numbered so by one call."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import dag_of, digraphs

from grailbench.graph import numbering
from grailbench.graph.condense import condense
from grailbench.graph.csr import Graph
from grailbench.graph.leveled import Leveled, by_level


@given(graph=digraphs())
def test_it_is_the_same_dag(graph):
    dag = dag_of(*graph)
    leveled = by_level(dag)
    x, y = leveled.sources, leveled.targets
    assert np.array_equal(leveled.vertex[leveled.rank], np.arange(dag.vertices))
    assert np.array_equal(np.repeat(np.arange(dag.vertices), np.diff(leveled.starts)), x)
    found = sorted(zip(leveled.vertex[x].tolist(), leveled.vertex[y].tolist(), strict=True))
    sources = np.repeat(np.arange(dag.vertices), np.diff(dag.offsets))
    assert found == sorted(zip(sources.tolist(), dag.children.tolist(), strict=True))
    levels = np.repeat(np.arange(dag.depth), np.diff(leveled.level_starts))
    assert np.array_equal(levels, dag.levels[leveled.vertex])
    deep = levels[y] == levels[x] + 1
    assert np.array_equal(leveled.deep_sources, x[deep])
    assert np.array_equal(leveled.deep_targets, y[deep])
    assert np.array_equal(np.repeat(np.arange(dag.vertices), np.diff(leveled.deep_starts)), x[deep])
    assert set(y[deep].tolist()) == set(range(1, dag.vertices))


@given(graph=digraphs())
def test_parents_are_the_reverse(graph):
    leveled = by_level(dag_of(*graph))
    starts, parents = leveled.parents()
    children = np.repeat(np.arange(starts.shape[0] - 1), np.diff(starts))
    edges = list(zip(parents.tolist(), children.tolist(), strict=True))
    assert sorted(edges) == sorted(zip(leveled.sources.tolist(), leveled.targets.tolist(), strict=True))
    assert edges == sorted(edges, key=lambda edge: (edge[1], edge[0]))


# ---------------------------------------------------------------------------------------- small graphs, in one call


def assert_as_in_steps(graph, room=0, spare=0):
    """Every field is that of the separate steps, whatever was in the buffer before."""
    words = np.full(numbering.most_words(graph.vertices, graph.edges) + room + spare, -7, np.int32)
    fields, component = numbering.number(graph, words, spare)
    assert fields.parents.start >= fields.deep_targets.stop + spare
    numbering.transpose(words, fields)
    dag = condense(graph)
    wanted = by_level(dag)
    own = np.arange(graph.vertices)
    assert np.array_equal(own if component is None else component, dag.component)
    for name in Leveled._fields:
        assert np.array_equal(words[getattr(fields, name)], getattr(wanted, name)), name
    assert np.array_equal(words[fields.edge_starts], wanted.starts[wanted.level_starts])
    for field, array in zip((fields.parent_starts, fields.parents), wanted.parents(), strict=True):
        assert np.array_equal(words[field], array)
    ends = sorted((field.start, field.stop) for field in fields)
    assert all(one[1] <= other[0] for one, other in zip(ends, ends[1:], strict=False)), "fields overlap"
    return component


SIZES = st.sampled_from([0, 1, 1000])


@given(graph=digraphs().filter(lambda graph: graph[0] > 0), room=SIZES, spare=SIZES, ordered=st.booleans())
def test_fields_are_those_of_the_separate_steps(graph, room, spare, ordered):
    vertices, edges = graph
    ends = np.array(sorted(edges) if ordered else edges, np.int32).reshape(-1, 2)
    assert_as_in_steps(Graph(vertices, *np.ascontiguousarray(ends.T)), room, spare)


def test_a_graph_with_cycles_has_components_and_one_without_has_none():
    ring, path = np.array([1, 2, 0], np.int32), np.array([1, 2], np.int32)
    assert assert_as_in_steps(Graph(3, np.arange(3, dtype=np.int32), ring)).tolist() == [0, 0, 0]
    assert assert_as_in_steps(Graph(3, np.arange(2, dtype=np.int32), path)) is None


@pytest.mark.parametrize("shuffled", [False, True])
def test_long_rows_and_many_levels(shuffled):
    rng = np.random.default_rng(5)
    ends = rng.integers(0, 3000, (2, 9000))
    ends[0, :2000] = 7
    sources, targets = (ends.min(axis=0), ends.max(axis=0)) if shuffled else np.sort(ends, axis=0)
    assert_as_in_steps(Graph(3000, sources.astype(np.int32), targets.astype(np.int32)))
