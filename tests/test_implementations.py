"""Every registered implementation, with every axis that it obeys, against the one oracle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import closure, reachable_from
from strategies import dag_of, digraphs, graph_of
from workers import has_workers

from grailbench import cuda as device
from grailbench.errors import MachineLacks
from grailbench.problems.contract import implementations
from grailbench.problems.reachability.counters import QUERIES
from grailbench.problems.reachability.cpu import grail
from grailbench.problems.reachability.index import FILTERS, NoTimer, Params
from grailbench.problems.reachability.labels import columns

AXES = {
    "dim": st.sampled_from([1, 2, 3, 5]),
    "search": st.sampled_from(["dfs", "bfs", "bbfs"]),
    "filters": st.sampled_from([(), ("level",), ("tree",), ("hubs",), FILTERS]),
    "order": st.sampled_from(["random", "lexicographic"]),
    "trees": st.sampled_from(["each", "one"]),
    "threads": st.sampled_from([1, 2, 3]),
    "devices": st.just(1),
    "memory": st.sampled_from([0, 1, 200]),
    "inserted": st.sampled_from([0, 1, 5, 1000]),
    "seed": st.integers(0, 1000),
}
MOST_PAIRS = 3_000
FEW_PAIRS = 200  #: of an implementation that takes one pair at a time
OURS = [name for name in implementations() if not name.startswith("peer:")]

peers = [pytest.param(name, marks=pytest.mark.slow) for name in implementations() if name not in OURS]
mine = [pytest.param(name, marks=[pytest.mark.slow, pytest.mark.processes] if name == "dask" else []) for name in OURS]
every = pytest.mark.parametrize("name", mine + peers)
ours = pytest.mark.parametrize("name", mine)


OF_ITS_OWN = {
    "dask": {"threads": st.sampled_from([1, 2])},  # each is a worker with a core
    "gpu-path": {"memory": st.just(0)},  # which refuses a budget that is too small
}


def params_of(name):
    axes = AXES | OF_ITS_OWN.get(name, {})
    return st.builds(Params, **{axis: axes[axis] for axis in (*implementations()[name].axes, "seed")})


def build(name, dag, params):
    if "gpu" in implementations()[name].needs and device.simulating():
        pytest.skip("too slow in the simulator: each has tests of its own")
    try:
        return implementations()[name].build(dag, params, NoTimer())
    except MachineLacks as lack:
        if has_workers(name):
            raise
        pytest.skip(str(lack))


def ask(index, sources, targets):
    answers = index.query_batch(np.asarray(sources, np.int32), np.asarray(targets, np.int32), NoTimer())
    assert answers.dtype == np.bool_
    assert answers.shape == (len(sources),)
    return answers


def pairs_of(vertices, seed, most=MOST_PAIRS):
    """All pairs, in a seeded order, or the first of them where there are too many."""
    every_pair = np.random.default_rng(seed).permutation(vertices * vertices)[:most]
    return np.divmod(every_pair, max(vertices, 1))


def check(name, graph, params):
    """All answers on one graph, asked of components, compared with the oracle on original vertices."""
    dag, reach = dag_of(*graph), closure(*graph)
    sources, targets = pairs_of(graph[0], params.seed, FEW_PAIRS if implementations()[name].sample else MOST_PAIRS)
    expected = [t in reach[s] for s, t in zip(sources.tolist(), targets.tolist(), strict=True)]
    index = build(name, dag, params)
    assert ask(index, dag.component[sources], dag.component[targets]).tolist() == expected
    assert isinstance(index.index_bytes, int)
    assert ask(index, [], []).tolist() == []
    if name in OURS:
        everything, root = np.arange(dag.vertices), np.full(dag.vertices, dag.super_root)
        assert ask(index, root, everything).all()
        assert ask(index, everything, root).tolist() == [False] * dag.super_root + [True]
        assert index.check_labels(dag) is None
    return index, dag


@every
@given(data=st.data())
def test_answers_are_the_oracles(name, data):
    check(name, data.draw(digraphs()), data.draw(params_of(name)))


@pytest.mark.slow
@ours
@given(data=st.data())
def test_second_batch_and_a_batch_of_many_blocks_answer_alike(name, data):
    graph = data.draw(digraphs().filter(lambda g: g[0] > 0))
    index, dag = check(name, graph, data.draw(params_of(name)))
    sources, targets = (dag.component[np.resize(ends, 10_000)] for ends in pairs_of(graph[0], 1))
    once = ask(index, sources, targets)
    assert (ask(index, sources, targets) == once).all()
    backwards = ask(index, np.ascontiguousarray(sources[::-1]), np.ascontiguousarray(targets[::-1]))
    assert (backwards[::-1] == once).all()


@every
def test_ready_from_edges_answers_as_build_does(name):
    graph = (40, [(u, v) for u in range(40) for v in (u + 1, u + 7, u * u % 40) if u < v < 40])
    made, dag = implementations()[name], dag_of(*graph)
    index = build(name, dag, Params())
    ready = made.ready(graph_of(*graph), Params(), NoTimer())
    sources, targets = pairs_of(40, 1)
    assert (ask(ready, sources, targets) == ask(index, sources, targets)).all()


@pytest.mark.parametrize("alone", [0.0, 60.0])
@pytest.mark.parametrize("pairs", [1, 2, 65, 5_000, 3 * 2_048, 20_000])
def test_parallel_answers_each_query_once_however_it_shares_them(monkeypatch, alone, pairs):
    monkeypatch.setattr(grail, "ALONE", alone)
    dag = dag_of(6, [(0, 1), (1, 2), (3, 4)])
    index = build("parallel", dag, Params(threads=3, count=True))
    ends = np.random.default_rng(pairs).integers(0, 6, (2, pairs)).astype(np.int32)
    wanted = build("sequential", dag, Params()).query_batch(*ends, NoTimer())
    np.testing.assert_array_equal(index.query_batch(*ends, NoTimer()), wanted)
    assert index.counters["queries"] == pairs
    shares = [int(counts[QUERIES]) for counts in index.counts]
    shared = alone == 0 or pairs >= 3 * 2_048
    assert (max(shares) - min(shares) <= grail.BLOCK and min(shares) > 0) == (shared and pairs > 2)


@given(digraphs(), params_of("parallel"))
def test_parallel_makes_the_labels_of_sequential_bit_for_bit(graph, params):
    dag = dag_of(*graph)
    one, many = (columns(build(name, dag, params).labels) for name in ("sequential", "parallel"))
    assert all((a == b).all() for a, b in zip(one, many, strict=True))


@pytest.fixture(scope="session")
def small_graphs(tmp_path_factory):
    """Canonical name to (Graph, Dag) of the real graphs of tables 2.1 and 2.2 and arXiv; empty without a mirror."""
    from conftest import MIRROR

    from grailbench.data.fetch import fetch
    from grailbench.data.registry import sets
    from grailbench.graph.condense import condense
    from grailbench.graph.readers import read_graph

    if not MIRROR:
        return {}
    wanted = [dataset for name in ("small-sparse", "small-dense") for dataset in sets()[name]]
    results = fetch(wanted, mirror=MIRROR, offline=True)
    graphs = {result.dataset.name: read_graph(result.file.path) for result in results}
    return {name: (graph, condense(graph)) for name, graph in graphs.items()}


def _variants():
    """Our implementations with either search, without filters and with all, where they have those axes."""
    for name in OURS:
        axes = implementations()[name].axes
        several = name != "dask"  # its workers run the kernels of `parallel`
        for search in ("dfs", "bfs", "bbfs") if "search" in axes and several else ("dfs",):
            for filters in ((), FILTERS) if "filters" in axes and several else ((),):
                yield pytest.param(name, search, filters, id=" ".join((name, search, *filters)))


@pytest.mark.mirror
@pytest.mark.parametrize(("name", "search", "filters"), list(_variants()))
def test_real_graphs_are_answered_as_the_oracle_does(name, search, filters, mirror, small_graphs):
    for title, (graph, dag) in small_graphs.items():
        index = build(name, dag, Params(search=search, filters=filters, threads=2))
        for source, reached in truths(title, graph):
            expected = np.zeros(graph.vertices, bool)
            expected[list(reached)] = True
            found = ask(index, np.full(graph.vertices, dag.component[source]), dag.component)
            assert (found == expected).all(), f"{title}: from {source}"


_TRUTHS = {}


def truths(title, graph):
    """The oracle's word on three vertices of a real graph: (source, what it reaches). Kept, because it is slow."""
    if title not in _TRUTHS:
        edges = list(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))
        busy = int(np.bincount(graph.sources).argmax())
        sources = {busy, *np.random.default_rng(1).integers(0, graph.vertices, 2).tolist()}
        _TRUTHS[title] = [(source, reachable_from(graph.vertices, edges, source)) for source in sources]
    return _TRUTHS[title]
