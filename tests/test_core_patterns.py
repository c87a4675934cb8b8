"""The closure of a core by its patterns: rows that overlap, commonest words, arrays that grow, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from naive import closure
from strategies import dag_of

from grailbench.problems.contract import NoTimer
from grailbench.problems.reachability.core import index as core_index
from grailbench.problems.reachability.core import patterns
from grailbench.problems.reachability.core.index import Core
from grailbench.problems.reachability.core.peel import peel
from grailbench.problems.reachability.core.rows import contracted
from grailbench.problems.reachability.index import Params


def layered(vertices, degree, reach, seed=1):
    """A DAG in which each vertex has `degree` edges to vertices at most `reach` further on."""
    rng = np.random.default_rng(seed)
    steps = rng.integers(1, reach, (vertices, degree))
    return vertices, [(u, u + int(step)) for u in range(vertices) for step in steps[u] if u + step < vertices]


SPARSE, DENSE = layered(700, 2, 400), layered(700, 6, 60)


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """Closures are kept by their patterns, however small they are."""
    monkeypatch.setattr(core_index, "PLAIN", -1)


def all_right(graph):
    """Whether all answers are the oracle's; returns the index too."""
    dag, reach = dag_of(*graph), closure(*graph)
    index = Core.build(dag, Params(threads=1), NoTimer())
    us, vs = np.divmod(np.arange(graph[0] ** 2, dtype=np.int32), graph[0])
    found = index.query_batch(us, vs, NoTimer()).reshape(graph[0], -1)
    return all(set(np.flatnonzero(found[u]).tolist()) == reach[u] for u in range(graph[0])), index, dag


@pytest.mark.parametrize("graph", [SPARSE, DENSE])
def test_answers_are_the_oracles_and_words_that_most_rows_have_are_no_entries(graph):
    right, index, dag = all_right(graph)
    assert right
    assert index.check_labels(dag) is None
    assert index.arrays["usual"].any() == (graph is DENSE)
    bits = index.arrays["usual"].shape[0] * 8 * 700
    assert sum(index.arrays[name].nbytes for name in ("table", "owner", "words", "usual")) < bits // 2


def test_no_two_rows_start_at_one_place_and_every_damaged_row_is_found():
    _, index, dag = all_right(SPARSE)
    table = index.arrays["table"]
    entries = np.flatnonzero(table)
    assert entries.size > table.size // 2
    for at in entries[:: entries.size // 7]:
        kept, table[at] = table[at], 0
        assert index.check_labels(dag) is not None
        table[at] = kept
    assert index.check_labels(dag) is None


def test_arrays_that_run_full_grow(monkeypatch):
    first = patterns._Rows.__init__

    def small(self, rows, blocks):
        first(self, rows, blocks)
        self.entries, self.slots = np.empty(blocks + 1, np.uint16), np.zeros(64, np.uint16)

    wanted = all_right(SPARSE)[1].arrays
    monkeypatch.setattr(patterns._Rows, "__init__", small)
    right, index, _ = all_right(SPARSE)
    assert right
    assert all(np.array_equal(each, index.arrays[name]) for name, each in wanted.items())


@pytest.mark.parametrize("name", ["WIDEST", "MOST"])
def test_closures_of_too_many_columns_or_patterns_are_kept_as_bits(monkeypatch, name):
    monkeypatch.setattr(patterns, name, 64)
    right, index, dag = all_right(SPARSE)
    assert right
    assert index.bits is not None
    assert contracted(dag, peel(dag), lambda size: True, 1 << 30) is None


def test_a_budget_that_bits_do_not_fit_is_not_tried_and_the_limit_is_of_all_arrays():
    _, index, dag = all_right(SPARSE)
    size = sum(index.arrays[name].nbytes for name in ("table", "owner", "words", "usual"))
    assert contracted(dag, peel(dag), lambda size: False, size) is None
    assert contracted(dag, peel(dag), lambda size: True, size) is not None
    assert contracted(dag, peel(dag), lambda size: True, size - 1) is None
