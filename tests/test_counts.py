"""Problem `counts`: every implementation against the naive closure, blocks of few columns, faults that are planted."""

import csv

import numpy as np
import pytest
from commands import call
from hypothesis import example, given
from hypothesis import strategies as st
from naive import closure
from strategies import dag_of, digraphs
from watchers import Notes

from grailbench.errors import TooLittleMemory
from grailbench.graph.condense import condense
from grailbench.graph.csr import Graph
from grailbench.harness.plan import Config, make_plan
from grailbench.harness.runner import run
from grailbench.problems import contract
from grailbench.problems.contract import Spec, problem
from grailbench.problems.counts import export as counts_export
from grailbench.problems.counts import problem as counting
from grailbench.problems.counts import sketch, sweep
from grailbench.problems.counts.export import export
from grailbench.problems.counts.index import Counted, NoTimer, Params, Solver, task_of
from grailbench.problems.counts.reduce import expanded, reduced
from grailbench.util import memory

TREE = 7, [(0, 1), (1, 2), (3, 2), (2, 4), (5, 4)]  # one isolated
DIAMONDS = 7, [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 5), (4, 6), (5, 6), (6, 6)]
RINGS = 8, [(0, 1), (1, 0), (1, 2), (2, 3), (3, 2), (0, 4), (4, 3), (4, 5), (5, 6), (3, 6), (6, 5)]


def naive_counts(vertices, edges, ancestors=False):
    """How many vertices each one reaches, itself included, or is reached by."""
    reach = closure(vertices, [(v, u) for u, v in edges] if ancestors else edges)
    return [len(each) for each in reach]


def of_vertices(task, counts):
    return counts[task.component].tolist()


def counted(name, task, **params):
    solver = contract.implementation(name, "counts").prepare(task, Params(**params), NoTimer())
    return solver.solve(None, NoTimer())


def some_dag(vertices=1500, edges=6000, seed=1):
    """Vertices of about the same reach, so that rows are dense."""
    ends = np.sort(np.random.default_rng(seed).integers(0, vertices, (2, edges)), axis=0)
    return condense(Graph.from_edges(vertices, *ends))


@given(drawn=digraphs(), ancestors=st.booleans())
@example(drawn=TREE, ancestors=True)
@example(drawn=DIAMONDS, ancestors=False)
@example(drawn=RINGS, ancestors=False)
@example(drawn=(0, []), ancestors=False)
def test_cpu_counts_and_the_reference_agree_with_the_naive_closure(drawn, ancestors):
    task, right = task_of(dag_of(*drawn), ancestors), naive_counts(*drawn, ancestors)
    assert of_vertices(task, counting.closed(task.offsets, task.children, task.order, task.sizes)) == right
    for name in ("counts", "search"):
        assert of_vertices(task, counted(name, task, threads=2).counts) == right, name


@given(drawn=digraphs(), ancestors=st.booleans(), block=st.integers(1, 5), threads=st.integers(1, 3))
@example(drawn=DIAMONDS, ancestors=False, block=1, threads=1)
@example(drawn=RINGS, ancestors=True, block=2, threads=2)
def test_blocks_of_few_columns_count_the_same(drawn, ancestors, block, threads):
    task = task_of(dag_of(*drawn), ancestors)
    form = reduced(task)
    columns, work, _ = sweep.swept(form, threads, block)
    assert of_vertices(task, expanded(task, form, columns)) == naive_counts(*drawn, ancestors)
    assert work["blocks"] == -(-form.columns.shape[0] // block)


@pytest.mark.parametrize("block", [512, 2048])
@pytest.mark.parametrize("ancestors", [False, True])
def test_rows_of_many_words_count_the_same(block, ancestors):
    task = task_of(some_dag(), ancestors)
    form = reduced(task)
    assert form.columns.shape[0] > 1024  # two words and more, each with bits
    columns, work, _ = sweep.swept(form, 2, block)
    right = counting.closed(task.offsets, task.children, task.order, task.sizes)
    assert expanded(task, form, columns).tolist() == right.tolist()
    assert work["rows_joined"] > work["rows_made"] > 0


def test_components_weigh_what_they_hold():
    """40 rings of 1 to 40 vertices, each with edges to two later ones: planes of several bits, two columns a word."""
    starts = np.concatenate(([0], np.cumsum(np.arange(1, 41))))
    edges = [(u, u + 1 if u + 1 < starts[i + 1] else starts[i]) for i in range(40) for u in range(*starts[i : i + 2])]
    edges += [(starts[i], starts[j]) for i in range(40) for j in (i + 1, i + 3) if j < 40]
    vertices, edges = int(starts[40]), [(int(u), int(v)) for u, v in edges]
    task = task_of(dag_of(vertices, edges))
    assert of_vertices(task, counted("counts", task).counts) == naive_counts(vertices, edges)


def test_forests_need_no_sweep():
    for vertices, edges in (TREE, (50, [(u, u // 2) for u in range(1, 50)]), (50, [(u, u + 1) for u in range(49)])):
        assert reduced(task_of(dag_of(vertices, edges))).vertices == 0
    both = [(u, u // 2) for u in range(1, 50)] + [(0, 50 + u) for u in range(9)]
    assert reduced(task_of(dag_of(59, both))).columns.shape[0] == 0  # where the in-tree ends, the out-tree begins


def test_the_numbers_of_rows_begin_anew(monkeypatch):
    task = task_of(some_dag(300, 900))
    form, made = reduced(task), sweep._rows_for

    def late(vertices, width):
        rows = made(vertices, width)
        rows.first[0], rows.refs[:] = sweep.MOST + 1, sweep.MOST
        return rows

    monkeypatch.setattr(sweep, "_rows_for", late)
    right = counting.closed(task.offsets, task.children, task.order, task.sizes)
    assert expanded(task, form, sweep.swept(form, 1)[0]).tolist() == right.tolist()


def test_rows_are_narrower_before_threads_are_fewer(monkeypatch):
    one = sweep.memory_of(10**6, 8)
    assert sweep.fitting(10**6, 2048, 2, 2 * sweep.memory_of(10**6, 32)) == (32, 2)
    assert sweep.fitting(10**6, 2048, 2, 2 * one) == (8, 2)
    assert sweep.fitting(10**6, 2048, 2, one) == (8, 1)
    monkeypatch.setattr(memory, "available", lambda: 1000)
    with pytest.raises(TooLittleMemory, match="counting .* vertices needs .*, 0.0 MB may be used"):
        sweep.swept(reduced(task_of(some_dag())), 2)


@pytest.mark.parametrize("name", ["search", "peer:scipy", "peer:networkx"])
def test_what_searches_from_each_vertex_counts_those_that_are_asked(name):
    task = task_of(dag_of(*RINGS))
    solver = contract.implementation(name, "counts").prepare(task, Params(), NoTimer())
    assert of_vertices(task, solver.solve(None, NoTimer()).counts) == naive_counts(*RINGS)
    assert solver.solve(np.array([2, 0], np.int32), NoTimer()).counts.tolist() == [
        naive_counts(*RINGS)[int(np.argmax(task.component == each))] for each in (2, 0)
    ]


# ------------------------------------------------------------------ the problem


class _Spoiled(Solver):
    def __init__(self, right, spoil):
        self.right, self.spoil = right, spoil

    def solve(self, asked, timer):
        found = self.right.solve(asked, timer)
        counts = found.counts.copy()
        self.spoil(counts)
        return Counted(counts)


@pytest.fixture
def spoiled(monkeypatch):
    """Plants `toy`, which is `counts` but for what `spoil` does to the counts."""

    def plant(spoil):
        right = contract.implementation("counts", "counts")
        prepare = classmethod(lambda cls, *given: _Spoiled(right.prepare(*given), spoil))
        monkeypatch.setitem(
            contract._registry["counts"], "toy", type("Toy", (right,), {"name": "toy", "prepare": prepare})
        )

    return plant


def measured(graph, folder, **block):
    block = {"problem": "counts", "datasets": [graph], "trials": 1} | block
    return run(make_plan(Config.model_validate({"experiment": [block]})), Notes(), out=folder / "run", fetch=False)


def test_descendants_and_ancestors_are_verified_timed_and_rated(diamond, tmp_path):
    queries, impls = ["descendants", "ancestors"], ["counts", "search"]
    done = measured(diamond, tmp_path, queries=queries, implementations=impls, from_edges=True)
    done.check()
    ends = [row for row in done.rows if (row["under"], row["phase"]) == ("", "solve")]
    assert {(row["query_set"].split("-")[0], row["verified"]) for row in ends} == {
        ("all", "closure"), ("ancestors", "closure")
    }  # fmt: skip
    assert len({row["positives"] for row in ends}) == 1  # as many pairs from above as from below
    assert all(row["rate"] > 0 for row in ends)
    assert ("ready", "condense") in {(row["under"], row["phase"]) for row in done.rows}


@pytest.mark.slow
def test_a_wrong_count_is_found_by_the_closure(diamond, tmp_path, spoiled):
    def one_more(counts):
        counts[0] += 1

    spoiled(one_more)
    (row,) = measured(diamond, tmp_path, implementations=["toy"]).rows
    assert row["status"] == "wrong"
    assert "1 of 6 counts are wrong" in row["reason"]


@pytest.fixture
def large(monkeypatch):
    """Graphs are large: nothing is closed, and one search is made."""
    monkeypatch.setattr(counting, "CLOSED", 0)
    monkeypatch.setattr(counting, "SCANNED", 0)


@pytest.mark.slow
def test_counts_of_large_graphs_are_searched_for_and_go_with_their_edges(diamond, tmp_path, large, spoiled):
    def none_below(counts):
        counts[:] = 1

    spoiled(none_below)
    rows = measured(diamond, tmp_path, implementations=["toy", "counts"]).rows
    assert {(row["impl"], row["status"]) for row in rows} == {("toy", "wrong"), ("counts", "ok")}
    assert "does not go with those of its children" in rows[0]["reason"]
    assert rows[-1]["verified"] == "sample of 1"


@pytest.mark.slow
def test_implementations_that_differ_where_none_was_searched_are_wrong(diamond, tmp_path, large, spoiled, monkeypatch):
    def more_below(counts):  # the diamond's bottom and the ring below it, whose parents would allow it
        counts[counts >= 4] += 1

    spoiled(more_below)
    monkeypatch.setattr(counting, "reached_from", lambda *given: np.empty(0, np.int64))
    rows = measured(diamond, tmp_path, implementations=["toy", "counts"], queries=["ancestors"]).rows
    assert {row["status"] for row in rows} == {"wrong"}
    assert {row["reason"] for row in rows} == {"implementations differ in counts that no search checked"}


def test_drawn_vertices_are_the_same_for_all_and_checked(monkeypatch):
    monkeypatch.setattr(counting, "CLOSED", 0)
    dag = some_dag(60, 200)
    task = task_of(dag)

    class Named:
        name = "some"
        ids = None

    made = problem("counts").workload(Spec("all", 20, 3), Named(), task, None)
    where, ancestors = made.batch
    assert (made.size, where.shape[0], ancestors) == (20, 20, False)
    right = np.array(of_vertices(task, counting.closed(task.offsets, task.children, task.order, task.sizes)))[where]
    drawn, found = made._searched(task.component[where])
    assert found.tolist() == right[drawn].tolist()


# ------------------------------------------------------------------ estimates


@given(drawn=digraphs(), ancestors=st.booleans())
@example(drawn=RINGS, ancestors=False)
@example(drawn=(0, []), ancestors=False)
def test_estimates_keep_their_bounds_and_are_exact_where_nothing_is_swept(drawn, ancestors):
    task, right = task_of(dag_of(*drawn), ancestors), np.array(naive_counts(*drawn, ancestors), float)
    found, exact, _ = sketch.estimated(task, 2, 1)
    low, high = sketch.bounds(sketch.RANKS, 1e-9)
    found, exact = found[task.component], exact[task.component]
    assert (exact + low * (right - exact) - 1e-9 <= found).all()
    assert (found <= exact + high * (right - exact) + 1e-9).all()


def test_errors_of_estimates_are_as_large_as_is_said():
    """60 seeds, one vertex above 900 columns of weights 1 to 9: mean and spread of what is gamma-distributed."""
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 10, 900)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    rings = [(int(starts[i]) + j, int(starts[i]) + (j + 1) % int(n)) for i, n in enumerate(sizes) for j in range(n)]
    vertices = int(starts[-1]) + 2
    tops = [(top, int(first)) for first in starts[:-1] for top in (vertices - 1, vertices - 2)]
    task = task_of(dag_of(vertices, rings + tops))
    top, right = task.component[-1], vertices - 1
    found = np.array([sketch.estimated(task, 1, seed)[0][top] for seed in range(60)]) / right
    assert abs(found.mean() - 1) < 4 * sketch.ERROR / 60**0.5
    assert 0.7 * sketch.ERROR < found.std() < 1.4 * sketch.ERROR


@pytest.mark.parametrize("small", [True, False])
def test_estimates_are_verified_by_their_bounds(session_cache, tmp_path, monkeypatch, small):
    monkeypatch.setattr(counting, "CLOSED", counting.CLOSED if small else 0)
    name = "random-n1500-k4-s1"
    done = measured(name, tmp_path, implementations=["counts-sketch", "counts"])
    done.check()
    (row,) = (row for row in done.rows if row["impl"] == "counts-sketch" and row["phase"] == "solve")
    assert (row["counters"]["error_permille"], row["verified"]) == (127, "closure" if small else "searches")
    (seen,) = {row["counters"]["seen_permille"] for row in done.rows if "seen_permille" in (row["counters"] or {})}
    assert 20 < seen < 300
    monkeypatch.setattr(sketch, "ERROR", 0.01)  # bars that are too short
    (row,) = measured(name, tmp_path / "again", implementations=["counts-sketch"]).rows
    assert row["status"] == "wrong"


# ------------------------------------------------------------------ written to a file


@pytest.fixture
def people(session_cache, tmp_path, monkeypatch, capsys):
    """Imports a graph of names with a cycle: ann and bob reach each other, and through New York the other two."""
    monkeypatch.setenv("GRAILBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "people.tsv").write_text("ann\tbob\nbob\tann\nbob\tNew York\nNew York\tx,y\nx,y\tEve\n")
    code, _, err = call(capsys, "import", tmp_path / "people.tsv", "--format", "names", "--name", "people")
    assert code == 0, err
    return "people"


COUNTS = {"ann": (4, 1), "bob": (4, 1), "New York": (2, 2), "x,y": (1, 3), "Eve": (0, 4)}


def test_counts_of_all_vertices_are_written_in_the_ids_of_the_file(people, capsys, tmp_path):
    code, out, err = call(capsys, "export", people, tmp_path / "c.csv", "--counts")
    assert (code, "5 vertices" in out, "11 pairs" in out) == (0, True, True), err
    with open(tmp_path / "c.csv", newline="", encoding="utf-8") as stream:
        head, *lines = csv.reader(stream)
    assert head == ["vertex", "descendants", "ancestors"]
    assert {name: (int(below), int(above)) for name, below, above in lines} == COUNTS


def test_counts_are_written_as_parquet_with_64_bits(people, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert export(people, tmp_path / "c.parquet", "parquet")["pairs"] == 11
    found = parquet.read_table(tmp_path / "c.parquet")
    columns = [found[name].to_pylist() for name in ("vertex", "descendants", "ancestors")]
    assert dict(zip(columns[0], zip(*columns[1:], strict=True), strict=True)) == COUNTS
    assert [str(found[name].type) for name in ("descendants", "ancestors")] == ["int64", "int64"]


def test_estimates_are_called_so_and_what_is_for_closures_does_not_go_with_counts(people, capsys, tmp_path):
    code, out, _ = call(capsys, "export", people, tmp_path / "c.csv", "--counts", "--impl", "counts-sketch")
    assert (code, "estimates, of a standard error of 12.7 %" in out) == (0, True)
    for flag in (["--closure"], ["--memory", "1MB"]):
        code, _, err = call(capsys, "export", people, tmp_path / "c.csv", "--counts", *flag)
        assert (code, f"--counts goes without {flag[0]}" in err) == (2, True)


def test_a_count_that_is_interrupted_leaves_no_file(people, monkeypatch, tmp_path):
    def interrupted(*args):
        raise KeyboardInterrupt

    out = tmp_path / "out"
    out.mkdir()
    (out / "c.csv").write_text("older")
    monkeypatch.setattr(counts_export, "write_table", interrupted)
    with pytest.raises(KeyboardInterrupt):
        export(people, out / "c.csv")
    assert {path.name: path.read_text() for path in out.iterdir()} == {"c.csv": "older"}
