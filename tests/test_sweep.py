"""`sweep` answers as the oracle does by searches alone, by sweeps alone, up or down, in groups of any size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import closure
from strategies import dag_of, digraphs

from grailbench.graph import threads
from grailbench.problems.reachability.index import NoTimer, Params, implementation
from grailbench.problems.reachability.sweep import groups, index

FREE = {"THROUGH": 1e9}  #: searches may take as long as they like
NEVER = {"THROUGH": 0.0, "AGAIN": 0.0, "ASKED": 0}
WAYS = {
    "searches": FREE,
    "searches of a sample, then sweeps": {"THROUGH": 0.5, "SAMPLE": 3},
    "narrow sweeps": NEVER | {"DENSE": 2**30},
    "wide sweeps": NEVER | {"DENSE": 0, "WIDE": 1024},
}


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """Leaves no choice of the way, and gives every thread a part of the least batch."""
    monkeypatch.setattr(threads, "PER_THREAD", 1)
    for name, value in WAYS[request.param].items():
        monkeypatch.setattr(index, name, value)
    return request.param


def built(dag, threads=1, count=False):
    return implementation("sweep").build(dag, Params(threads=threads, count=count), NoTimer())


def ask(found, sources, targets):
    return found.query_batch(np.asarray(sources, np.int32), np.asarray(targets, np.int32), NoTimer())


def every_pair(dag):
    """Sources and targets of all pairs of the DAG's vertices, the super-root among them."""
    ids = np.arange(dag.vertices, dtype=np.int32)
    return np.repeat(ids, dag.vertices), np.tile(ids, dag.vertices)


def truth(graph, dag):
    """The oracle's word on all pairs of components, bool[n * n]."""
    table = np.zeros((dag.vertices, dag.vertices), bool)
    for vertex, reached in enumerate(closure(*graph)):
        table[dag.component[vertex], dag.component[list(reached)]] = True
    table[dag.super_root] = True
    return table.ravel()


@pytest.mark.slow
@pytest.mark.usefixtures("way")
@given(graph=digraphs(), threads=st.sampled_from([1, 2, 3]), seed=st.integers(0, 99))
def test_any_batch_of_pairs_is_answered_as_the_oracle_does(graph, threads, seed):
    dag = dag_of(*graph)
    sources, targets = every_pair(dag)
    drawn = np.random.default_rng(seed).integers(0, sources.size, min(3_000, 2 * sources.size))  # some of them twice
    answers = ask(built(dag, threads), sources[drawn], targets[drawn])
    np.testing.assert_array_equal(answers, truth(graph, dag)[drawn])


@pytest.mark.slow
@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_chain_of_many_groups_is_answered_by_rank(threads):
    vertices = 2_500
    dag = dag_of(vertices, [(v, v - 1) for v in range(1, vertices)])
    sources, targets = np.random.default_rng(threads).integers(0, vertices, (2, 9_000))
    sources[:2], targets[:2] = (0, vertices - 1), (vertices - 1, 0)
    index = built(dag, threads)
    assert (ask(index, sources, targets) == (sources >= targets)).all()
    assert (ask(index, targets, sources) == (targets >= sources)).all()


@pytest.fixture
def shared_work(monkeypatch):
    """What is asked of `threads.on`, in order: the number of threads and that of parts."""
    seen, on_threads = [], index.on_threads

    def on(threads, work, parts):
        seen.append((threads, len(parts)))
        on_threads(threads, work, parts)

    monkeypatch.setattr(index, "on_threads", on)
    return seen


def lattice(vertices):
    """A DAG in which searches are long: each vertex leads to the next one, the third and the ninth."""
    return dag_of(vertices, [(v, v + step) for v in range(vertices) for step in (1, 3, 9) if v + step < vertices])


@pytest.mark.usefixtures("way")
def test_every_step_of_a_small_batch_is_shared_where_a_thread_needs_little_work(shared_work):
    dag = lattice(3_000)
    sources, targets = np.random.default_rng(1).integers(0, 3_000, (2, 9_000))
    answers = ask(built(dag, 3), sources, targets)
    levels, sample, *_, last = shared_work
    assert levels[0] == last[0] == 3
    assert min(levels[1], last[1]) > 1
    assert sample == (1, 1)
    assert answers.tolist() == ask(built(dag, 1), sources, targets).tolist()


def test_a_batch_is_shared_only_if_each_thread_gets_enough_work(shared_work, monkeypatch):
    dag = lattice(1_500)
    sources, targets = np.random.default_rng(1).integers(0, 1_500, (2, 4_000))
    ask(built(dag, 8), sources, targets)
    assert {threads for threads, _ in shared_work} == {1}
    shared_work.clear()
    monkeypatch.setattr(threads, "PER_THREAD", 2_000)
    ask(built(dag, 8), sources, targets)
    assert shared_work[0] == (2, 16)  # 4,000 pairs, whose levels are in the cache
    shared_work.clear()
    monkeypatch.setattr(index, "FAR", 1_000)
    ask(built(dag, 64), sources, targets)
    assert shared_work[0][0] == 2 * index.ASKED


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("many", ["sources", "targets"])
def test_many_sources_of_few_targets_are_swept_from_the_few(many):
    """A layer of 3,000 vertices between two that are not complete: full rows, shared rows and rows of their own."""
    rng = np.random.default_rng(1)
    layers = [np.arange(0, 3_000), np.arange(3_000, 3_040), np.arange(3_040, 6_040)]
    edges = {(int(rng.choice(a)), int(b)) for a, b in ((layers[0], b) for b in layers[1]) for _ in range(9)}
    edges |= {(int(rng.choice(layers[1])), int(c)) for c in layers[2] for _ in range(2)}
    graph = 6_040, sorted(edges)
    dag, few = dag_of(*graph), rng.choice(layers[0] if many == "targets" else layers[2], 5)
    sources, targets = (layers[0], few) if many == "sources" else (few, layers[2])
    sources, targets = np.repeat(sources, targets.size), np.tile(targets, sources.size)
    parents = {}
    for a, b in edges:
        parents.setdefault(b, set()).add(a)
    pairs = zip(sources.tolist(), targets.tolist(), strict=True)
    expected = [any(s in parents.get(m, ()) for m in parents.get(t, ())) for s, t in pairs]
    found = built(dag, 2, count=True)
    assert ask(found, sources, targets).tolist() == expected


@pytest.mark.parametrize("way", ["narrow sweeps"], indirect=True)
@pytest.mark.usefixtures("way")
def test_rows_that_have_used_up_their_names_begin_anew(monkeypatch):
    vertices, made = 3_000, []

    def rows_for(*sizes):
        made.append(groups.rows_for(*sizes))
        made[-1].first[0] = groups.MOST - vertices - 1_000  # enough for one group
        return made[-1]

    monkeypatch.setattr(index, "rows_for", rows_for)
    dag = dag_of(vertices, [(v, v + 1) for v in range(vertices - 1)])
    sources, targets = np.random.default_rng(5).integers(0, vertices, (2, 8_000))
    assert (ask(built(dag), sources, targets) == (sources <= targets)).all()
    assert made[0].first[0] < groups.MOST // 2


def test_a_search_that_has_used_up_its_stamps_begins_anew():
    dag = dag_of(4, [(0, 1), (1, 2), (2, 3)])
    found = built(dag)
    with found.scratch() as (seen, _):
        seen[:] = 2**31 - 4
    assert ask(found, *every_pair(dag)).tolist() == truth((4, [(0, 1), (1, 2), (2, 3)]), dag).tolist()


def test_without_memory_for_a_sweep_everything_is_searched(monkeypatch):
    for name, value in NEVER.items():
        monkeypatch.setattr(index, name, value)
    graph = 40, [(u, v) for u in range(40) for v in (u + 1, u + 7, u * u % 40) if u < v < 40]
    dag = dag_of(*graph)
    monkeypatch.setattr(index.memory, "available", lambda: 10_000)
    assert index.fitting(dag.vertices, dag.edges, 2)[1] == 0
    found = built(dag, 2, count=True)
    assert ask(found, *every_pair(dag)).tolist() == truth(graph, dag).tolist()


@given(graph=digraphs())
def test_one_pair_and_a_decision_say_what_the_batch_says(graph):
    dag = dag_of(*graph)
    found = built(dag)
    one, expected = found.one_pair(dag.component), closure(*graph)
    for u in range(min(graph[0], 12)):
        for v in range(min(graph[0], 12)):
            quick = one.quick(one.at, u, v)
            assert one.search(u, v) == (v in expected[u])
            assert quick in (None, v in expected[u])
            decision = found.decide(int(dag.component[u]), int(dag.component[v]))
            assert decision.reachable == (v in expected[u])
    assert one.quick(one.at, -1, 0) is one.quick(one.at, 0, graph[0]) is None


def test_the_work_is_counted_and_is_the_same_on_any_number_of_threads():
    graph = 300, [(u, v) for u in range(300) for v in (u + 1, u + 9, u * u % 300) if u < v < 300]
    dag = dag_of(*graph)
    found = [built(dag, threads, count=True) for threads in (1, 3)]
    for each in found:
        ask(each, *every_pair(dag))
    assert found[0].counters == found[1].counters
    assert found[0].counters["queries"] == 301 * 301
    assert found[0].counters["queries_swept"] > 0
    assert found[0].counters["edges_scanned"] > dag.edges
    assert built(dag).counters == {}
