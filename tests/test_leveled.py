"""A DAG renumbered by level is the same DAG, its levels contiguous."""

import numpy as np
from hypothesis import given
from strategies import dag_of, digraphs

from grailbench.graph.leveled import by_level


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
