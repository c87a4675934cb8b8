"""`core`: every answer is the oracle's, for every kind of record and every budget; its check finds what is broken. The
forests that it peels, and the patterns of its closure: what overlaps, grows or is refused."""

from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import closure, condensed_edges, reachable_from
from strategies import dag_of, dags, digraphs

from grailbench.errors import InputError
from grailbench.problems.contract import NoTimer, problem
from grailbench.problems.reachability.core import index as core_index
from grailbench.problems.reachability.core import patterns, records
from grailbench.problems.reachability.core import rows as packing
from grailbench.problems.reachability.core.closure import words
from grailbench.problems.reachability.core.index import SIZES, Core
from grailbench.problems.reachability.core.peel import NONE, peel
from grailbench.problems.reachability.core.rows import contracted, count, graph_of_core, number
from grailbench.problems.reachability.index import Params
from grailbench.problems.reachability.supports.index import SupportsIndex

REACHABILITY = problem("reachability")
CHAIN = (200, [(u, u + 1) for u in range(199)])
IN_TREES = (30, [(v, v // 3) for v in range(1, 28)])
OUT_TREES = (30, [(v // 3, v) for v in range(1, 28)])
ONE_IN_CORE = (5, [(0, 2), (1, 2), (2, 3), (2, 4), (0, 1)])
LATTICE = (90, [(u, u + step) for u in range(90) for step in (1, 7, 9) if u + step < 90])


@contextmanager
def kept(form):
    """Closures are kept as plain 'bits', or as 'rows' of the contracted core, however small they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core_index, "PLAIN", -1 if form == "rows" else 1 << 40)
        yield


def build(graph, memory=0, threads=1, form="rows"):
    dag = dag_of(*graph)
    with kept(form):
        return Core.build(dag, Params(threads=threads, memory=memory), NoTimer()), dag


def answers(index, dag, vertices):
    """The answers to all pairs of original vertices, a set for each source."""
    us, vs = np.divmod(np.arange(vertices * vertices), max(vertices, 1))
    found = index.query_batch(dag.component[us], dag.component[vs], NoTimer()).reshape(vertices, vertices)
    return [set(np.flatnonzero(row).tolist()) for row in found]


def budgets(dag, form):
    """The least budget for a closure, one word too few, and one byte; 0 stands for what is free."""
    with kept(form):
        size = core_index.needed(dag, peel(dag))
    return [0, size, max(1, size - 8), 1]


@pytest.fixture(params=["short", "long"])
def fields(request, monkeypatch):
    """Records of 16-bit fields, or of 32-bit ones, which only large graphs need otherwise."""
    if request.param == "long":
        monkeypatch.setattr(records, "SHORT", 0)
    return request.param


@pytest.mark.parametrize("form", ["bits", "rows"])
@given(graph=st.one_of(digraphs(), dags(12)))
def test_answers_with_every_budget_are_the_oracles(form, graph):
    wanted = closure(*graph)
    whole, dag = build(graph, form=form)
    for memory in budgets(dag, form) if whole.tree is None and whole.core else [0]:
        index, _ = build(graph, memory, form=form)
        assert answers(index, dag, graph[0]) == wanted
        assert index.check_labels(dag) is None
        too_few = whole.tree is None and 0 < memory < budgets(dag, form)[1]
        assert isinstance(index, SupportsIndex) == too_few
        assert too_few or (form == "bits") == (index.bits is not None) or whole.tree is not None


@pytest.mark.parametrize("graph", [(0, []), (1, []), CHAIN, IN_TREES, OUT_TREES, ONE_IN_CORE, LATTICE])
@pytest.mark.parametrize("form", ["bits", "rows"])
def test_shapes_in_short_and_long_records(graph, form, fields):
    index, dag = build(graph, form=form)
    kept = index.arrays["sources" if index.tree is None else "tree"]
    assert kept.dtype == (np.uint16 if fields == "short" else np.uint32)
    assert answers(index, dag, graph[0]) == closure(*graph)
    root = np.full(dag.vertices, dag.super_root, np.int32)
    everything = np.arange(dag.vertices, dtype=np.int32)
    assert index.query_batch(root, everything, NoTimer()).all()
    assert index.query_batch(everything, root, NoTimer()).sum() == 1
    one = index.one_pair(None)
    reach = closure(*graph)
    assert all(one.search(u, v) == (v in reach[u]) for u in range(graph[0]) for v in range(graph[0]))
    assert one.search(0, graph[0]) is False
    assert one.quick(one.at, -1, 0) is None


@pytest.mark.parametrize("graph", [CHAIN, IN_TREES, OUT_TREES])
def test_forests_have_one_record_of_two_fields_and_no_closure(graph):
    index, _ = build(graph)
    assert set(index.arrays) == {"shape", "tree"}
    assert index.index_bytes == 4 * (graph[0] + 1)


@pytest.mark.parametrize("form", ["bits", "rows"])
def test_memory_that_is_gone_while_the_closure_is_made_leaves_labels(form, monkeypatch):
    def gone(size, kind):
        raise MemoryError

    dag = dag_of(*LATTICE)
    with monkeypatch.context() as patch:
        patch.setattr(packing, "empty_bits", gone)
        patch.setattr(patterns, "empty", gone)
        index, _ = build(LATTICE, form=form)
    assert isinstance(index, SupportsIndex)
    assert answers(index, dag, 90) == closure(*LATTICE)


def test_without_a_stated_budget_a_large_closure_takes_a_share_of_the_free_memory(monkeypatch):
    monkeypatch.setattr(core_index, "SMALL", 8)
    monkeypatch.setattr(core_index.memory, "available", lambda: 8 * words(len(peel(dag_of(*LATTICE)).core)))
    assert isinstance(build(LATTICE, form="bits")[0], SupportsIndex)
    monkeypatch.setattr(core_index, "SHARE", 1)
    assert not isinstance(build(LATTICE, form="bits")[0], SupportsIndex)
    with pytest.raises(InputError, match="memory -1"):
        Params(memory=-1)


@pytest.mark.parametrize("form", ["bits", "rows"])
@given(graph=digraphs(), data=st.data())
def test_damage_is_found_by_the_check(form, graph, data):
    index, dag = build(graph, form=form)
    name = data.draw(st.sampled_from(sorted(set(index.arrays) - {"shape"})))
    before = answers(index, dag, graph[0])
    array = index.arrays[name].reshape(-1).view(np.uint8)
    if array.size == 0:
        return
    at = data.draw(st.integers(0, array.size - 1))
    array[at] ^= np.uint8(1 << data.draw(st.integers(0, 7)))
    if index.check_labels(dag) is None:  # else kernels may read beyond the arrays
        assert answers(index, dag, graph[0]) == before


@pytest.mark.parametrize(
    ("memory", "form", "name", "at"),
    [(memory, form, name, (5, 1)) for memory, form in ((0, "bits"), (0, "rows"))
     for name in ("sources", "targets")] + [(0, "rows", "table", 0)],
)  # fmt: skip
def test_the_check_asks_nothing_of_records_that_lead_out_of_the_closure(monkeypatch, memory, form, name, at):
    index, dag = build(LATTICE, memory, form=form)
    assert index.check_labels(dag) is None
    index.arrays[name][at] = np.iinfo(index.arrays[name].dtype).max
    monkeypatch.setattr(index, "query_batch", None)
    assert index.check_labels(dag) == "a record or an entry of the closure leads out of it"


@pytest.mark.slow
@pytest.mark.parametrize("graph", [LATTICE, IN_TREES, OUT_TREES, ONE_IN_CORE])
@pytest.mark.parametrize(("memory", "form"), [(0, "bits"), (0, "rows"), (1, "rows")])
def test_decisions_agree_with_answers_and_name_vertices(graph, memory, form):
    index, dag = build(graph, memory, form=form)
    reach = closure(*graph)
    found = set()
    for u in range(dag.vertices - 1):
        for v in range(dag.vertices - 1):
            decision = index.decide(u, v)
            assert decision.reachable == (v in reach[u])
            assert decision.why.format(*decision.vertices)
            found.add(decision.by)
    assert found <= {"same", "in-tree", "out-tree", "core", "closure", "level", "labels", "tree", "hubs", "search"}
    assert index.decide(dag.super_root, 0).by == "root"


@pytest.mark.parametrize(("memory", "form"), [(0, "bits"), (0, "rows"), (1, "rows")])
@pytest.mark.parametrize("graph", [LATTICE, IN_TREES])
def test_stored_arrays_make_the_index_again(graph, memory, form):
    index, dag = build(graph, memory, form=form)
    again = Core.restored(dag, Params(threads=1), index.stored())
    assert answers(again, dag, graph[0]) == closure(*graph)
    assert again.index_bytes == index.index_bytes


@pytest.mark.parametrize(("graph", "memory", "form", "held"), [
    (LATTICE, 0, "bits", "bits"), (LATTICE, 0, "rows", "patterns"),
    (IN_TREES, 0, "rows", None), (OUT_TREES, 0, "rows", None), (CHAIN, 1, "bits", None),
])  # fmt: skip
def test_counters_tell_the_form_of_the_index(graph, memory, form, held):
    dag = dag_of(*graph)
    ends = tuple(np.ascontiguousarray(each, np.int32) for each in np.divmod(np.arange(graph[0] ** 2), graph[0]))
    with kept(form):
        attempt = REACHABILITY.attempt(Core, Params(threads=1, memory=memory), dag, ends, dict)
    found, peeled = attempt.counters, peel(dag)
    assert set(found) == {"queries", *SIZES}
    assert found["queries"] == graph[0] ** 2  # without those that check the labels
    forest = held is None
    whole = found["peeled_above"], found["peeled_below"], found["core_vertices"]
    assert whole == (peeled.above, peeled.below, len(peeled.core))
    assert sum(whole) == graph[0]
    assert {name: found[f"bytes_of_{name}"] > 0 for name in ("bits", "patterns")} == {
        name: name == held for name in ("bits", "patterns")
    }
    edges = graph_of_core(dag.offsets, dag.children, peeled.core, peeled.position, peeled.above)[:3]
    columns, rows = {"bits": (whole[2],) * 2, "patterns": count(*edges)}.get(held, (0, 0))
    assert (found["closure_rows"], found["closure_columns"]) == (rows, columns)
    index, _ = build(graph, memory, form=form)
    records = sum(index.arrays[name].nbytes for name in ("tree", "sources", "targets") if name in index.arrays)
    assert sum(found[f"bytes_of_{name}"] for name in ("bits", "patterns")) == index.index_bytes - records
    assert forest == (whole[2] == 0)
    assert index.counters == {}


@given(graph=st.one_of(digraphs(), dags(12)))
def test_the_closure_of_the_core_is_counted_before_it_is_made(graph):
    dag = dag_of(*graph)
    peeled = peel(dag)
    edges = graph_of_core(dag.offsets, dag.children, peeled.core, peeled.position, peeled.above)
    column, _, owned = number(*edges)
    assert count(*edges[:3]) == (int(max(column, default=0)), int((owned > 0).sum()))


def layered(vertices, degree, reach, seed=1):
    """A DAG in which each vertex has `degree` edges to vertices at most `reach` further on."""
    rng = np.random.default_rng(seed)
    steps = rng.integers(1, reach, (vertices, degree))
    return vertices, [(u, u + int(step)) for u in range(vertices) for step in steps[u] if u + step < vertices]


SPARSE, DENSE = layered(700, 2, 400), layered(700, 6, 60)


def all_right(graph):
    """Whether all answers are the oracle's; returns the index too."""
    index, dag = build(graph)
    return answers(index, dag, graph[0]) == closure(*graph), index, dag


@pytest.mark.slow
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


def _condensed(graph):
    """A drawn graph as (vertices, edges) without cycles or super-root, and what is peeled from it."""
    dag = dag_of(*graph)
    edges = [(u, v) for u, v in condensed_edges(*graph) if u != dag.super_root]
    return dag.vertices - 1, edges, peel(dag)


def _peeled_by_hand(vertices, edges):
    """The sets B and A by the definition: remove sources with at most one child, then sinks with one parent."""
    targets = [v for _, v in edges]
    left, sides = set(range(vertices)), []
    for end in (1, 0):
        side = set()
        if end == 1 and len(targets) == len(set(targets)):
            sides.append(side)  # nothing but out-trees
            continue
        while True:
            inner = [(u, v) for u, v in edges if u in left and v in left]
            into, out = ([each[at] for each in inner] for at in (end, 1 - end))
            found = {v for v in left if v not in into and out.count(v) <= 1}
            if not found:
                break
            left -= found
            side |= found
        sides.append(side)
    return *sides, left


@given(digraphs().filter(lambda graph: graph[0] <= 40))
def test_the_sides_are_those_of_the_definition(graph):
    vertices, edges, found = _condensed(graph)
    above, below, core = _peeled_by_hand(vertices, edges)
    places = {int(found.position[v]): v for v in range(vertices)}
    assert sorted(places) == list(range(vertices))
    assert found.position[-1] == vertices == found.vertices
    assert {places[at] for at in range(found.above)} == above
    assert {places[at] for at in range(vertices - found.below, vertices)} == below
    assert [places[found.above + at] for at in range(len(found.core))] == found.core.tolist()
    assert set(found.core.tolist()) == core
    ranks = {v: at for at, v in enumerate(found.core.tolist())}
    assert all(ranks[u] < ranks[v] for u, v in edges if u in ranks and v in ranks)


@given(digraphs().filter(lambda graph: graph[0] <= 40))
def test_intervals_and_gates_leave_only_pairs_of_the_core_open(graph):
    vertices, edges, found = _condensed(graph)
    reach = [reachable_from(vertices, edges, u) for u in range(vertices)]
    for u in range(vertices):
        for v in range(vertices):
            assert _answer(found, reach, u, v) == (v in reach[u]), (u, v)


def _answer(found, reach, u, v):
    """The answer as `Peeled` describes it; `reach` is asked for pairs of the core alone."""
    position, end = found.position.tolist(), found.end.tolist()
    first_below = found.vertices - found.below
    if position[v] < found.above:
        return position[u] < found.above and position[v] <= position[u] < end[v]
    if position[u] < found.above:
        u = int(found.gate[u])
    if u != NONE and position[v] >= first_below:
        if position[u] >= first_below:
            return position[u] <= position[v] < end[u]
        v = int(found.gate[v])
    if NONE in (u, v) or position[u] >= first_below:
        return False
    assert {u, v} <= set(found.core.tolist())
    return v in reach[u]
