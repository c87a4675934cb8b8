"""Both CUDA pipelines, the thesis's and that of Computation 2020: labels equal the sequential DFS's element by element,
answers are the oracle's, and what the machine lacks is said.

In the simulator blocks and queues are tiny, so that a dozen vertices span all of them; on a GPU the same tests run,
and with the thesis's sizes too.
"""

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401
from commands import call_apart
from dags import layers
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import closure
from strategies import dag_of, dags, digraphs

from grailbench.cuda import frontier, gateway, primitives
from grailbench.cuda.frontier import Enterprise, Frontier, Schedule, usual
from grailbench.cuda.gateway import cuda
from grailbench.errors import InputError, MachineLacks, TooLittleMemory
from grailbench.graph import csr
from grailbench.graph.condense import condense
from grailbench.graph.csr import Dag
from grailbench.graph.rows import transpose
from grailbench.harness.cells import load
from grailbench.harness.folder import find_run
from grailbench.problems.reachability.cpu.traverse import shuffle_rows
from grailbench.problems.reachability.gpu import index as gpu_index
from grailbench.problems.reachability.gpu import parents, pipeline, search
from grailbench.problems.reachability.index import NoTimer, Params, implementation
from grailbench.problems.reachability.labels import fault

gateway.require()
on_gpu = [pytest.mark.gpu, pytest.mark.skipif(gateway.simulated, reason="needs a GPU")]

SMALLEST = Enterprise(blocks=2, threads=2, lanes=1, small=1, large=1)
SHAPES = [SMALLEST, Enterprise(blocks=2, threads=4, lanes=2, small=2, large=3)]
SHAPES += [] if gateway.simulated else [Enterprise(blocks=3, threads=64, lanes=32, small=2, large=4), Enterprise()]
MANY = settings(max_examples=5 if gateway.simulated else 150)

shapes = st.sampled_from(SHAPES)
some_params = st.builds(
    Params,
    dim=st.sampled_from([1, 2, 3]),
    order=st.sampled_from(["random", "lexicographic"]),
    seed=st.integers(0, 99),
)


def assert_as_sequential(built, dag, params):
    """Labels on the host and on the device equal the sequential DFS's, element by element."""
    expected = implementation("sequential").build(dag, params, NoTimer()).labels
    assert np.array_equal(built.labels.lanes, expected.lanes)
    starts, ends = (column.copy_to_host() for column in built.pairs)
    on_device = np.stack([starts, -ends], axis=1).reshape(2 * params.dim, -1)
    assert np.array_equal(on_device, expected.lanes.reshape(dag.vertices, -1)[:, : 2 * params.dim].T)


def test_what_is_known_of_gpu_names_the_thresholds_of_its_queues_here_and_in_the_simulator():
    known = " ".join(implementation("gpu").__doc__.split())
    few, many = Enterprise(), frontier.SIMULATED
    assert f"less than {few.small} neighbours is one thread's, with more than {few.large} a block's" in known
    assert f"less than {many.small} and more than {many.large}, so that" in known


METHODS = {"gpu": pipeline.ThesisWork, "gpu-path": pipeline.PathWork}
both = pytest.mark.parametrize("method", METHODS)
SEARCHES = {  # by implementation: who labels, what searches its graph and labels, queries in a group
    "gpu": ("gpu", lambda *made: search.Searcher(*made, 64), 64),
    "gpu-32": ("gpu", lambda *made: search.Searcher(*made, 32), 32),
    "gpu-path": ("gpu-path", search.PathSearcher, 64),
}
PHASES = {
    "gpu": {"subsizes_dag", "parent_sssp", "edges_rc", "subsizes_dt", "post_order", "min_post", "overhead"},
    "gpu-path": {"child_order", "dag_to_dt", "sizes", "post_order", "min_post", "overhead"},
}


def labelled(method, dag, params, shape):
    return pipeline.label(METHODS[method], dag, params, NoTimer(), shape)


LOW = np.uint64(6)  # a ceiling that even tiny graphs reach


def by_weights(dag, params, shape, ceiling=pipeline.ranks.CEILING):
    work = type("Work", (pipeline.ThesisWork,), {"ceiling": ceiling})
    return pipeline.label(work, dag, params, NoTimer(), shape)


@both
@MANY
@given(graph=dags(max_vertices=14), params=some_params, shape=shapes, low=st.booleans())
def test_labels_are_the_sequential_dfs_element_by_element(method, graph, params, shape, low):
    dag, low = dag_of(*graph), low and method == "gpu"  # weights that saturate, of the thesis's alone
    built = by_weights(dag, params, shape, LOW) if low else labelled(method, dag, params, shape)
    assert_as_sequential(built, dag, params)
    assert low or built.counts.get("settled_comparisons", 0) == 0


def with_one_tree(dag, params):
    """Starts and ends of each pair by a tree of all, in plain Python: sections 4.6 and 6.1 of Computation 2020."""

    def rows(offsets, edges):
        return [edges[a:b].tolist() for a, b in zip(offsets, offsets[1:], strict=False)]

    def ordered(offsets, edges, pair):
        if params.order == "random" or pair > 1:
            return rows(offsets, shuffle_rows(offsets, edges, params.seed, pair))
        return [row[:: -1 if pair else 1] for row in rows(offsets, edges)]

    def walk(of, v, post):
        for c in of[v]:
            if c not in post:
                tree[v].append(c)
                walk(of, c, post)
        post[v] = len(post) + 1

    n, down = dag.vertices, rows(dag.offsets, dag.children)
    reached = {}
    for v in dag.order[::-1].tolist():
        reached[v] = {v}.union(*(reached[c] for c in down[v]))
    tree, post = [[] for _ in range(n)], {}
    walk(ordered(dag.offsets, dag.children, 0), dag.super_root, post)
    own = np.append(0, np.cumsum(list(map(len, tree)))), np.array(sum(tree, []), np.int32)
    for pair in range(params.dim):
        if pair:
            tree, post = [[] for _ in range(n)], {}
            walk(ordered(*own, pair), dag.super_root, post)
        yield [min(post[w] for w in reached[v]) for v in range(n)], [max(post[w] for w in reached[v]) for v in range(n)]


@MANY
@given(graph=dags(max_vertices=14), params=some_params, shape=shapes)
def test_one_tree_for_all_pairs_gives_the_labels_of_its_twin(graph, params, shape):
    dag = dag_of(*graph)
    built = pipeline.label(pipeline.OneTreeWork, dag, params, NoTimer(), shape)
    starts, ends = (column.copy_to_host().tolist() for column in built.pairs)
    assert list(zip(starts, ends, strict=True)) == list(with_one_tree(dag, params))
    assert fault(built.labels, dag.offsets, dag.children, trees=1) is None


@pytest.mark.parametrize("work", [pipeline.PathWork, pipeline.OneTreeWork])
def test_a_budget_has_finished_pairs_wait_on_the_host_and_changes_no_label(work):
    dag, params = dag_of(*layers(12, 4)), Params(dim=3)
    need = [pipeline.device_bytes(work, dag, 3, SMALLEST, one_pair) for one_pair in (False, True)]
    assert need[0] - need[1] == 2 * 8 * dag.vertices
    free, bound = (pipeline.label(work, dag, params, NoTimer(), SMALLEST, budget) for budget in (0, need[1]))
    assert np.array_equal(free.labels.lanes, bound.labels.lanes)
    for mine, other in zip(free.pairs, bound.pairs, strict=True):
        assert np.array_equal(mine.copy_to_host(), other.copy_to_host())
    with pytest.raises(TooLittleMemory, match=f"needs {need[1]:,} bytes .* with finished pairs on the host .*--memory"):
        pipeline.label(work, dag, params, NoTimer(), SMALLEST, need[1] - 1)


def test_later_pairs_take_the_first_pairs_tree_where_that_is_chosen():
    dag = dag_of(*layers(12, 4))
    each, one = (implementation("gpu-path").build(dag, Params(trees=trees), NoTimer()) for trees in ("each", "one"))
    (first, later), (same, other) = (
        index.labels.lanes.reshape(dag.vertices, -1)[:, :4].reshape(-1, 2, 2).swapaxes(0, 1) for index in (each, one)
    )
    assert np.array_equal(first, same)
    assert not np.array_equal(later, other)
    assert (each.check_labels(dag), one.check_labels(dag)) == (None, None)
    assert "permutation" in fault(one.labels, dag.offsets, dag.children)


@pytest.mark.parametrize(
    ("method", "offsets", "children", "levels", "fault"),
    [
        ("gpu", [0, 1, 2, 2], [2, 2], [0, 0, 1], "2 vertices have no parent"),
        ("gpu-path", [0, 2, 2, 2], [1, 2], [0, 1, 1], "vertex 0 has no parent, and is not the last vertex"),
    ],
)
def test_roots_other_than_a_super_root_are_refused(method, offsets, children, levels, fault):
    offsets, children, levels = np.array(offsets), np.array(children, np.int32), np.array(levels, np.int32)
    order = np.array([0, 1, 2], np.int32)
    dag = Dag(offsets, children, levels, order, order, reverse=transpose(offsets, children))
    with pytest.raises(InputError, match=f"{fault} .*super-root"):
        labelled(method, dag, Params(dim=1), SMALLEST)


@both
def test_too_little_memory_is_said_with_need_and_free_before_anything_is_allocated(method, monkeypatch, device_memory):
    device_memory(1000)
    monkeypatch.setattr(pipeline, "upload_dag", None)
    monkeypatch.setattr(pipeline, "device_bytes", lambda *args: 5 << 30)
    with pytest.raises(TooLittleMemory, match=r"3 vertices .* needs 5\.00 GiB .* 0\.00 GiB of 1\.00 GiB are free"):
        labelled(method, dag_of(2, [(0, 1)]), Params(), SMALLEST)


@both
@pytest.mark.parametrize("vertices", [0, 9])
def test_trees_and_the_super_root_alone_are_labelled_for_every_pair(method, vertices):
    dag, params = dag_of(vertices, [((v - 1) // 2, v) for v in range(1, vertices)]), Params(dim=3)
    assert dag.edges == dag.vertices - 1
    assert_as_sequential(labelled(method, dag, params, SHAPES[1]), dag, params)


@both
def test_phases_are_the_columns_of_its_paper(method):
    from grailbench.harness.timing import PhaseTimer

    timer, dag = PhaseTimer(), dag_of(5, [(0, 1), (1, 2), (0, 3)])
    ids = np.arange(5, dtype=np.int32)
    with timer.phase("label"):
        index = implementation(method).build(dag, Params(dim=2), timer)
    with timer.phase("query"):
        index.query_batch(ids, ids, timer)
    assert {name for under, name in timer.phases if under == "label"} == PHASES[method]
    assert [name for under, name in timer.phases if under == "query"] == ["cpu_filter", "gpu_search"]
    assert {name for under, name in timer.phases if under == ""} == {"label", "query", "transfer", "allocate"}
    parts = sum(ms for (under, _), ms in timer.phases.items() if under == "label")
    assert parts == pytest.approx(timer.phases["", "label"])


@pytest.mark.parametrize("name", SEARCHES)
@settings(max_examples=4 if gateway.simulated else 150)
@given(graph=digraphs().filter(lambda g: 0 < g[0] <= 14), dim=st.sampled_from([1, 2]), shape=shapes)
def test_answers_are_the_oracles(name, graph, dim, shape):
    method, searcher_of, group = SEARCHES[name]
    dag, reach = dag_of(*graph), closure(*graph)
    built = labelled(method, dag, Params(dim=dim), shape)
    searcher = searcher_of(built.graph.children, built.pairs, shape)
    u, v = np.divmod(np.random.default_rng(1).permutation(graph[0] ** 2)[: group + 9], graph[0])
    answers, positives = searcher.search(dag.component[u], dag.component[v])
    other = dag.component[u] != dag.component[v]  # a vertex itself is the CPU filter's to find
    expected = [b in reach[a] for a, b in zip(u.tolist(), v.tolist(), strict=True)] & other
    assert answers.tolist() == expected.tolist()
    assert positives == int(answers.sum())


@pytest.mark.parametrize("name", SEARCHES)
def test_batches_larger_than_a_group_are_answered_and_counted(name):
    dag, size = dag_of(*layers(18, 5)), 18
    index = implementation(name).build(dag, Params(dim=1, count=True), NoTimer())
    sources, targets = (ends.astype(np.int32) for ends in np.divmod(np.arange(size * size), size))
    reach = closure(*layers(18, 5))
    expected = [t in reach[s] for s, t in zip(sources.tolist(), targets.tolist(), strict=True)]
    assert index.query_batch(sources, targets, NoTimer()).tolist() == expected
    counters = index.counters
    assert counters["queries"] == size * size
    assert counters["positives"] + size == sum(expected)  # what reaches itself needs no search
    assert counters["groups"] == -(-counters["queries_on_gpu"] // SEARCHES[name][2]) > 1
    assert index.check_labels(dag) is None
    assert index.query_batch(sources[:0], targets[:0], NoTimer()).tolist() == []


def test_without_a_comparison_on_the_host_the_gpu_searches_every_query_of_two_vertices():
    size, dag = 10, dag_of(*layers(10, 3))
    sources, targets = (ends.astype(np.int32) for ends in np.divmod(np.arange(size * size), size))
    made = [implementation(name).build(dag, Params(dim=1, count=True), NoTimer()) for name in ("gpu", "gpu-unfiltered")]
    answers = [index.query_batch(sources, targets, NoTimer()).tolist() for index in made]
    assert answers[0] == answers[1]
    assert made[0].counters["queries_on_gpu"] < made[1].counters["queries_on_gpu"] == size * (size - 1)


def test_more_queries_than_their_places_can_represent_are_refused(monkeypatch):
    index = implementation("gpu").build(dag_of(3, [(0, 1), (1, 2)]), Params(dim=1), NoTimer())
    monkeypatch.setattr(gpu_index, "MOST_QUERIES", 4)
    ids = np.zeros(5, np.int32)
    with pytest.raises(MachineLacks, match="up to 4 queries at once, not 5 .*--count"):
        index.query_batch(ids, ids, NoTimer())
    assert index.query_batch(ids[:4], ids[:4], NoTimer()).all()


def test_without_a_gpu_one_error_names_extra_and_simulator_and_the_code_is_4(tmp_path):
    words = ["run", "--dataset", "kegg", "--impl", "gpu-path", "--dim", "2"]
    code, out, err = call_apart(*words, GRAILBENCH_CACHE=str(tmp_path))
    assert (code, out, err.count("\n")) == (4, "", 1), err
    assert "numba-cuda" in err
    assert "--simulate" in err
    recorded = err.partition("a recorded run has it: grailbench report ")[2].strip()
    assert any((cell.impl, cell.dataset) == ("gpu-path", "kegg") for cell in load(find_run(recorded)).cells)
    assert list(tmp_path.iterdir()) == []  # nothing was fetched, nothing was begun


def test_simulated_run_checks_and_records_no_time(diamond):
    words = ["run", "--dataset", diamond, "--impl", "gpu-path", "--dim", "1", "--count", "50", "--simulate", "--json"]
    code, out, err = call_apart(*words)
    assert code == 0, err
    assert '"ms": null' in out
    assert '"phase": null' in out


@both
@pytest.mark.parametrize("degree", [50, 100])
@pytest.mark.parametrize("order", ["random", "lexicographic"])
class TestDense:
    pytestmark = on_gpu

    def test_labels_hold_on_dense_random_dags(self, method, degree, order):
        from grailbench.graph.condense import condense
        from grailbench.graph.generate import random_dag

        dag, params = condense(random_dag(20_000, degree, seed=1)), Params(dim=2, order=order)
        built = labelled(method, dag, params, Enterprise())
        assert_as_sequential(built, dag, params)
        assert built.counts.get("saturated_pairs", 2) == 2  # of the thesis's alone


@pytest.mark.gpu
@pytest.mark.mirror
@pytest.mark.skipif(gateway.simulated, reason="needs a GPU")
@both
@pytest.mark.parametrize("order", ["random", "lexicographic"])
def test_labels_hold_on_every_real_graph(method, real_graphs, order):
    from grailbench.data.library import open_graph

    for name in real_graphs:
        dag = open_graph(name).dag
        for dim in (1, 2, 3):
            params = Params(dim=dim, order=order)
            assert_as_sequential(labelled(method, dag, params, Enterprise()), dag, params)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("method", "ceiling"), [("gpu", pipeline.ranks.CEILING), ("gpu", LOW), ("gpu-path", None)])
def test_labels_hold_where_queues_of_all_sizes_meet_hubs(method, shape, ceiling):
    dag, order = dag_of(*layers(22, 6)), "random" if shape is SMALLEST else "lexicographic"
    params = Params(dim=3 if order == "random" and ceiling is None else 2, seed=3, order=order)
    built = by_weights(dag, params, shape, ceiling) if ceiling else labelled(method, dag, params, shape)
    assert_as_sequential(built, dag, params)
    assert (built.counts.get("settled_comparisons", 0) > 0) == (ceiling == LOW)


def test_the_number_of_settled_comparisons_is_exact_for_a_graph():
    dag = dag_of(*layers(16, 4))
    found = {by_weights(dag, Params(dim=1, seed=2), shape, LOW).counts["settled_comparisons"] for shape in SHAPES}
    assert len(found) == 1
    assert found.pop() > 0


def test_labels_hold_where_64_bits_overflow():
    """22 times eight ways in a row: 2**66 paths; then a diamond apart, whose costs are all beyond the ceiling."""
    starts = range(0, 198, 9)
    ladder = [edge for a in starts for way in range(1, 9) for edge in ((a, a + way), (a + way, a + 9))]
    dag = dag_of(203, ladder + [(199, 200), (199, 201), (200, 202), (201, 202)])
    params = Params(dim=1, order="lexicographic")
    built = labelled("gpu", dag, params, SMALLEST)
    assert_as_sequential(built, dag, params)
    assert {built.counts[name] for name in ("saturated_pairs", "settled_comparisons")} == {1}


@pytest.mark.parametrize(("size", "threads"), [(1, 1), (1, 4), (7, 4), (8, 4), (13, 2)])
def test_scan_gives_prefix_sums_of_every_row(size, threads):
    rows = np.random.default_rng(1).integers(0, 9, (3, size)).astype(np.int32)
    made = primitives.Scan(3, size, threads)
    made.run(cuda.to_device(rows))
    within, totals = made.within.copy_to_host(), made.totals.copy_to_host()
    block = np.arange(size) // threads
    earlier = np.where(block > 0, totals[:, np.maximum(block - 1, 0)], 0)
    assert np.array_equal(within + earlier, np.cumsum(rows, axis=1))


@MANY
@given(status=st.lists(st.integers(0, 1), min_size=1, max_size=30), shape=shapes, clear=st.booleans(), data=st.data())
def test_queues_hold_exactly_the_frontier_sorted_by_cardinality(status, shape, clear, data):
    size = len(status)
    cards = np.array(data.draw(st.lists(st.integers(0, 6), min_size=size, max_size=size)), np.int32)
    status, made = np.array(status, np.uint8), frontier.Frontier(size, shape)
    there = cuda.to_device(status)
    assert made.generate(there, cuda.to_device(cards), clear) == status.sum()
    queues = [queue.copy_to_host()[:many].tolist() for queue, many in zip(made.queues, made.sizes, strict=True)]
    few, many = cards < shape.small, cards > shape.large
    for queue, kind in zip(queues, (few, ~few & ~many, ~few & many), strict=True):
        assert sorted(queue) == np.flatnonzero(kind & (status > 0)).tolist()
    assert there.copy_to_host().any() == (status.any() and not clear)


@cuda.jit
def _compare(path, pairs, found):
    for i in range(cuda.grid(1), found.shape[0], cuda.gridsize(1)):
        found[i] = parents.before(path, pairs[i, 0], pairs[i, 1], pairs[i, 2], pairs[i, 3])


@MANY
@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=40), st.booleans())
def test_paths_compare_as_the_lists_of_their_ranks(choices, deep):
    n = len(choices) + 1
    path, ranks, children = np.zeros((n, 4), np.int32), [()], [0] * n
    for v, choice in enumerate(choices, 1):
        p = max(0, v - 1 - choice % 2) if deep else choice % v
        jump = path[p, parents.JUMP]
        depth = path[:, parents.DEPTH]
        even = depth[p] - depth[jump] == depth[jump] - depth[path[jump, parents.JUMP]]
        path[v] = p, children[p], depth[p] + 1, path[jump, parents.JUMP] if even else p
        ranks.append((*ranks[p], children[p]))
        children[p] += 1
    rng = np.random.default_rng(1)
    ends = [sorted(rng.permutation(n)[:2].tolist(), key=lambda _: rng.random()) for _ in range(20)]
    rows = np.array([(p, children[p], q, children[q]) for p, q in ends], np.int32)
    found = cuda.to_device(np.zeros(len(rows), np.uint8))
    _compare[2, 2](cuda.to_device(path), cuda.to_device(rows), found)
    expected = [(*ranks[p], children[p]) < (*ranks[q], children[q]) for p, q in ends]
    assert found.copy_to_host().astype(bool).tolist() == expected


@pytest.mark.parametrize(
    "wrong", [{"threads": 3}, {"lanes": 16, "threads": 8}, {"lanes": 64}, {"threads": 2048}, {"blocks": 0}]
)
def test_impossible_launches_are_refused(wrong):
    with pytest.raises(ValueError, match="powers of two"):
        Enterprise(**wrong)


def test_later_pairs_find_no_frontier_of_the_dag_again():
    """Layers that are completely linked: every pair's tree has a level a layer, so both sweeps of it do."""
    dag = dag_of(*layers(22, 6))
    found = [labelled("gpu-path", dag, Params(dim=dim), SMALLEST) for dim in (1, 2, 3)]
    one, two, three = (built.counts["label_generations"] for built in found)
    sweep = dag.depth + 1  # the last frontier is empty
    assert one == 2 * sweep + 2 + 2 * sweep  # down and up the DAG, everyone once, up and down the tree
    assert two - one == three - two == 2 * sweep


@pytest.mark.parametrize("threads", [2, 3, 16])
def test_threads_change_no_child_order(threads, monkeypatch):
    from grailbench.problems.reachability.cpu import traverse

    monkeypatch.setattr(traverse, "_SHARE", 20)
    dag = dag_of(*layers(60, 9))
    one = shuffle_rows(dag.offsets, dag.children, 5, 1)
    assert np.array_equal(one, shuffle_rows(dag.offsets, dag.children, 5, 1, threads))
    assert not np.array_equal(one, dag.children)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_schedule_replays_the_frontiers_of_the_first(shape):
    status = np.array([1, 0, 1, 1, 1, 0, 1, 1], np.uint8)
    cards, frontier = np.array([0, 1, 2, 3, 4, 5, 6, 7], np.int32), Frontier(8, shape)
    schedule, seen = Schedule(frontier, 8), []
    there = cuda.to_device(status)
    for _ in range(2):
        for _ in schedule.levels(there, cuda.to_device(cards)):
            queues = zip(frontier.queues, frontier.sizes, strict=True)
            seen.append([sorted(queue.copy_to_host()[:size].tolist()) for queue, size in queues])
    assert len(seen) == 2
    assert seen[0] == seen[1]
    assert sorted(sum(seen[0], [])) == np.flatnonzero(status).tolist()


def test_a_query_visits_a_vertex_once_and_stops_when_it_is_answered():
    """Ten diamonds in a row: whoever remembers expands each level once."""
    ladder = [(3 * i + a, 3 * i + b) for i in range(10) for a, b in ((0, 1), (0, 2), (1, 3), (2, 3))]
    dag = dag_of(31, [*ladder, (0, 30)])
    built = labelled("gpu-path", dag, Params(dim=1), SMALLEST)
    searcher = search.PathSearcher(built.graph.children, built.pairs, SMALLEST)
    for target, levels in ((3, 3), (30, 2)):  # the level after the one that found it finds nobody left to go on
        before = searcher.levels
        answers, _ = searcher.search(np.array([0], np.int32), np.array([target], np.int32))
        assert answers.tolist() == [True]
        assert searcher.levels - before <= levels


def test_the_simulator_counts_no_device_memory():
    from grailbench.cuda import allocator

    if gateway.simulated:
        allocator.restart()
        assert (allocator.in_use(), allocator.peak()) == (None, None)


class TestMemory:
    pytestmark = on_gpu

    def test_an_array_that_does_not_fit_says_its_need_and_what_is_free(self):
        with pytest.raises(TooLittleMemory, match=r"4096\.00 GiB beside .* does not fit .* GiB are free"):
            cuda.device_array(1 << 42, np.uint8)

    def test_what_is_dropped_is_held_until_it_is_released(self):
        from grailbench.cuda import allocator

        allocator.restart()
        before = allocator.in_use()
        array = cuda.device_array(1 << 24, np.uint8)
        assert allocator.in_use() == allocator.peak() == before + (1 << 24)
        del array
        allocator.release()
        assert (allocator.in_use(), allocator.peak()) == (before, before + (1 << 24))

    def test_the_high_water_mark_is_the_need_within_a_tenth(self):
        from grailbench.cuda import allocator
        from grailbench.graph.condense import condense
        from grailbench.graph.generate import random_dag

        dag = condense(random_dag(200_000, 20, seed=1))
        allocator.restart()
        before = allocator.in_use()
        implementation("gpu-path").build(dag, Params(dim=2), NoTimer())
        need = pipeline.device_bytes(pipeline.PathWork, dag, 2, Enterprise())
        assert 0.9 * need < allocator.peak() - before < 1.1 * need


@pytest.mark.parametrize("name", ["gpu", "gpu-32", "gpu-unfiltered", "gpu-path"])
def test_parts_launch_every_kernel_of_an_index_and_of_its_queries(name, monkeypatch):
    """Each `Trio` on vertices of a thread, a warp and a block, so that processes compile all of them."""
    cls, launched = implementation(name), {}
    consume = Frontier.consume

    def noted(self, kernels, *args):
        sizes = launched.setdefault(id(kernels), set())
        sizes.update(place for place, size in enumerate(self.sizes) if size)
        consume(self, kernels, *args)

    monkeypatch.setattr(Frontier, "consume", noted)
    shape = usual()
    dag = pipeline._of_all_degrees(shape.small, shape.large)
    made = condense(csr.Graph(dag.super_root, *map(np.ascontiguousarray, dag.edges_without_super_root())))
    for field in ("offsets", "children", "levels", "order", "component", "parent_offsets", "parents"):
        assert np.array_equal(getattr(dag, field), getattr(made, field)), field
    index = cls.build(dag, Params(), NoTimer())
    ends = np.arange(index.dag.vertices - 1, dtype=np.int32)
    index.query_batch(ends, ends[::-1].copy(), NoTimer())
    wanted = dict(launched)
    launched.clear()
    for part in range(cls.parts):
        cls.load_part(part, Params())
    assert launched == {kernels: {0, 1, 2} for kernels in wanted}
    with pytest.raises(IndexError):
        cls.load_part(cls.parts, Params())
