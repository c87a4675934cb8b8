"""What is the thesis's CUDA pipeline's alone: weights that saturate, its phases, its parts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipelines import MANY, SHAPES, SMALLEST, assert_as_sequential, hubs, shapes, some_params
from strategies import dag_of, dags

from grailbench.cuda import frontier, primitives
from grailbench.cuda.frontier import Enterprise
from grailbench.cuda.gateway import cuda
from grailbench.errors import InputError
from grailbench.graph.csr import Dag, transpose
from grailbench.problems.reachability.gpu import parents, pipeline
from grailbench.problems.reachability.index import NoTimer, Params

LOW = np.uint64(6)  # a ceiling that even tiny graphs reach


def labelled(dag, params, shape, ceiling=pipeline.CEILING):
    return pipeline.label(dag, params, NoTimer(), shape, ceiling)


# ------------------------------------------------------------------ labels


@MANY
@given(graph=dags(max_vertices=14), params=some_params, shape=shapes)
def test_saturated_weights_are_settled_and_give_the_same_labels(graph, params, shape):
    dag = dag_of(*graph)
    assert_as_sequential(labelled(dag, params, shape, LOW), dag, params)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ceiling", [pipeline.CEILING, LOW])
def test_labels_hold_where_queues_of_all_sizes_meet_hubs(shape, ceiling):
    dag, params = dag_of(*hubs(22, 6)), Params(dim=2, seed=3)
    built = labelled(dag, params, shape, ceiling)
    assert_as_sequential(built, dag, params)
    assert (built.counts["settled_comparisons"] > 0) == (ceiling == LOW)


def test_the_number_of_settled_comparisons_is_exact_for_a_graph():
    dag = dag_of(*hubs(16, 4))
    found = {labelled(dag, Params(dim=1, seed=2), shape, LOW).counts["settled_comparisons"] for shape in SHAPES}
    assert len(found) == 1
    assert found.pop() > 0


@pytest.mark.parametrize("label", [pipeline.label, pipeline.label_by_paths])
def test_labels_hold_where_64_bits_overflow(label):
    """22 times eight ways in a row: 2**66 paths; then a diamond apart, whose costs are all beyond the ceiling."""
    starts = range(0, 198, 9)
    ladder = [edge for a in starts for way in range(1, 9) for edge in ((a, a + way), (a + way, a + 9))]
    dag = dag_of(203, ladder + [(199, 200), (199, 201), (200, 202), (201, 202)])
    params = Params(dim=1, order="lexicographic")
    built = label(dag, params, NoTimer(), SMALLEST)
    assert_as_sequential(built, dag, params)
    assert {built.counts.get(name, 1) for name in ("saturated_pairs", "settled_comparisons")} == {1}  # of the thesis's


def test_a_root_that_is_not_the_last_vertex_is_refused():
    offsets, children = np.array([0, 2, 2, 2]), np.array([1, 2], np.int32)
    order = np.array([0, 1, 2], np.int32)
    dag = Dag(offsets, children, np.array([0, 1, 1], np.int32), order, order, reverse=transpose(offsets, children))
    with pytest.raises(InputError, match="not the last vertex .*super-root"):
        labelled(dag, Params(dim=1), SMALLEST)


# ------------------------------------------------------------------ parts


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
