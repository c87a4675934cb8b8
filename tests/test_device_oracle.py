"""The oracle on the device agrees with that of the host, and refuses what it relies on and is not so."""

from dataclasses import replace

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import dag_of, digraphs

from grailbench.cuda import gateway, oracle
from grailbench.errors import CheckFailed, TooLittleMemory
from grailbench.graph.oracle import closure_answers
from grailbench.problems.contract import Checks
from grailbench.problems.reachability import verify
from grailbench.problems.reachability.queries import QuerySpec, query_set

gateway.require()
HUB = (90, [(0, v) for v in range(1, 60)] + [(v, v + 30) for v in range(1, 60)])


@settings(max_examples=3 if gateway.simulated else 100)
@given(digraphs().filter(lambda graph: 0 < graph[0] < 40), st.integers(1, 200))
def test_it_gives_what_the_closure_gives(graph, count):
    dag = dag_of(*graph)
    u, v = np.random.default_rng(count).integers(0, dag.vertices, (2, count), dtype=np.int32)
    answers, known = oracle.swept_answers(dag, u, v)
    assert known.all()
    assert answers.tolist() == closure_answers(dag, u, v).tolist()


def test_long_rows_and_several_groups_of_targets_give_the_same():
    dag = dag_of(*HUB)
    u, v = (ends.ravel().astype(np.int32) for ends in np.indices((dag.vertices, dag.vertices)))
    assert np.unique(v).size > 64 * oracle.MOST_WORDS or not gateway.simulated
    assert np.diff(dag.offsets).max() > 2 * oracle.LONG or not gateway.simulated
    assert oracle.swept_answers(dag, u, v)[0].tolist() == closure_answers(dag, u, v).tolist()
    _, known = oracle.swept_answers(dag, u, v, seconds=0)
    assert known.all() == (not gateway.simulated)
    assert known.any()


@pytest.mark.parametrize("field", ["levels", "order"])
def test_levels_that_do_not_rise_and_an_order_of_other_vertices_are_found(field):
    dag = dag_of(*HUB)
    wrong = getattr(dag, field).copy()
    wrong[1] = wrong[0]
    ends = np.zeros(1, np.int32)
    with pytest.raises(CheckFailed, match="level"):
        oracle.swept_answers(replace(dag, **{field: wrong}), ends, ends)


@pytest.mark.parametrize("fails", [False, True])
def test_many_queries_on_a_large_graph_are_answered_there_if_it_can(fails, monkeypatch, tmp_path):
    monkeypatch.setenv("GRAILBENCH_CACHE", str(tmp_path))
    monkeypatch.setattr(verify, "DEVICE_FROM", 1)
    monkeypatch.setattr(verify, "SOURCES", 8)
    monkeypatch.setattr(verify, "gpus", lambda: ["one"])
    monkeypatch.setattr(verify.device, "simulating", lambda: False)
    if fails:
        monkeypatch.setattr(oracle, "memory", lambda: (0, 0))
        with pytest.raises(TooLittleMemory):
            oracle.swept_answers(dag_of(*HUB), *np.zeros((2, 1), np.int32))
    dag = dag_of(*HUB)
    queries = query_set(QuerySpec("random", 50, 1), dag, "0" * 64)
    verify.consult_oracle(dag, queries, Checks(closure_limit=0))
    assert queries.method == ("sweep" if fails else "sweep on the GPU")
    assert queries.answers.tolist() == closure_answers(dag, queries.u, queries.v).tolist()
