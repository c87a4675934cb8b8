"""`ready` is the whole way from edges, for every implementation: all that a trial takes apart elsewhere is inside."""

import itertools
from collections import Counter

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401
from planned import planned, ran
from strategies import dag_of, graph_of
from workers import has_workers

from grailbench.cuda import gateway
from grailbench.errors import InputError, MachineLacks
from grailbench.graph import condense, kahn
from grailbench.graph.store import save_graph
from grailbench.harness.timing import PhaseTimer
from grailbench.problems.contract import PROBLEMS, implementations, problem
from grailbench.problems.reachability.index import Index, Params
from grailbench.util import paths

gateway.require()
GRAPH = (7, [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 5), (5, 4), (0, 0), (0, 1)])


def ticking():
    """A timer whose clock moves on by a millisecond whenever it is read: times depend on the phases alone."""
    ticks = itertools.count()
    return PhaseTimer(lambda: next(ticks) * 10**6)


def able(cls):
    try:
        cls.require()
    except MachineLacks as lack:
        pytest.skip(str(lack))
    return cls


def tried(cls, params, data, asked, edges):
    """The phases of one trial of an implementation, by the ticking clock."""
    timer = ticking()
    try:
        problem(cls.problem).trial(cls, params, data, asked, timer, edges)
    except MachineLacks as lack:
        if has_workers(cls.name):
            raise
        pytest.skip(str(lack))
    return timer.phases


def assert_whole(found, without):
    """`ready` holds all its parts, which do not overlap; the rest of the trial is as it is without."""
    parts = {part: ms for (under, part), ms in found.items() if under == "ready"}
    assert 0 < sum(parts.values()) <= found["", "ready"]
    assert {under for under, _ in found} <= {under for under, _ in without} | {"ready"}
    assert {key for key in found if "ready" not in key} == set(without)
    assert all(found[key] == ms for key, ms in without.items() if not key[0])
    return parts


CASES = [(name, 1) for name in implementations()] + [("gpu-fused", 2)]


@pytest.mark.parametrize(("name", "devices"), CASES)
def test_an_index_is_ready_when_all_of_its_build_is_done(name, devices):
    cls, dag = able(implementations()[name]), dag_of(*GRAPH)
    ends = np.divmod(np.arange(16, dtype=np.int32), 4)
    case = cls, Params(devices=devices), dag, ends
    found, without = tried(*case, graph_of(*GRAPH)), tried(*case, None)
    parts = assert_whole(found, without)
    outside = {phase for under, phase in without if not under} - {"label", "query", "arrange"}
    if not cls.condenses(graph_of(*GRAPH), case[1]):  # which then has phases of its own
        assert outside <= set(parts)
    library = {"load"} if name.startswith("peer:") else {"condense", "label"}  # which searches, and builds nothing
    assert set(parts) >= ({"load", "build"} if name.startswith("peer:pyreachability") else library)


#: what is made of the edges before a search
MADE = {"bfs": {"rows"}, "sssp": {"rows", "weights"}, "apsp": {"rows", "weights"}, "closure": {"input"}}
SEARCHES = [(problem, name) for problem in MADE for name in implementations(problem)]


@pytest.mark.parametrize(("solved", "name"), SEARCHES)
def test_without_an_index_ready_ends_with_all_answers_on_the_host(solved, name, diamond):
    cls, home = able(implementations(solved)[name]), problem(solved)
    graph, spec = home.open(diamond), home.spec("random", 3, 5)
    data = home.data(graph, spec)
    asked = home.workload(spec, graph, data, None).batch
    case = cls, home.params(seed=5), data, asked
    found, without = tried(*case, graph.raw), tried(*case, None)
    parts = assert_whole(found, without)
    outside = {phase for under, phase in without if not under}
    made = set() if name in {"condense-bits-gpu", "condense-pairs-gpu"} else MADE[solved]
    kept = {"transfer"} if name == "fused-many" else set()  # whose distances are kept where they are asked
    assert set(parts) == outside | made | kept


@pytest.mark.parametrize(
    ("solved", "name"),
    [("bfs", "sequential"), ("sssp", "dijkstra"), ("apsp", "dijkstra"), ("closure", "condense-bits")],
)
def test_other_answers_from_edges_make_a_trial_differ(solved, name, diamond):
    home = problem(solved)
    graph, spec = home.open(diamond), home.spec("random", 3, 5)
    data = home.data(graph, spec)
    asked = home.workload(spec, graph, data, None).batch
    cls = implementations(solved)[name]
    same, other = graph_of(7, GRAPH[1][:7]), graph_of(7, [])

    def checksum(edges):
        return home.trial(cls, home.params(seed=5), data, asked, PhaseTimer(), edges).checksum

    assert checksum(same) == checksum(None) != checksum(other)


def test_every_way_of_condensing_is_loaded_before_a_trial_that_nothing_warms_up(monkeypatch):
    problem("reachability").prime(implementations()["dfs"], Params(), from_edges=True)  # compiles what others inline
    steps = condense, kahn
    made = [(at, name) for at in steps for name, each in vars(at).items() if hasattr(each, "py_func")]
    called = []
    for at, name in made:
        kernel = getattr(at, name)
        monkeypatch.setattr(at, name, lambda *a, name=name, kernel=kernel: called.append(name) or kernel(*a))
    problem("reachability").prime(implementations()["dfs"], Params(), from_edges=True)
    inlined = {"_deal", "_deal_digit"}  # compiled into others
    assert set(called) == {name for _, name in made} - inlined
    assert len(made) >= 17
    called.clear()
    problem("reachability").prime(implementations()["dfs"], Params(), from_edges=False)
    assert "_renumber_by_first" not in called


def test_cells_of_every_problem_are_timed_from_edges(diamond, tmp_path):
    blocks = [
        {"problem": name, "datasets": [diamond], "trials": 2, "warmup": 0, "from_edges": True, "process": "shared"}
        for name in PROBLEMS
        if problem(name).from_edges
    ]
    done = ran(tmp_path / "run", *blocks)
    done.check()
    ready = Counter((row["problem"], row["impl"]) for row in done.rows if (row["under"], row["phase"]) == ("", "ready"))
    assert ready == {(cell.problem, cell.impl): 2 for cell in planned(*blocks).cells}


@pytest.mark.parametrize("from_edges", [False, True])
def test_rows_of_cells_timed_from_edges_say_how_many_the_file_has(from_edges, cache, tmp_path):
    save_graph(paths.cache_dir() / "imported" / "some.npz", graph_of(*GRAPH))  # a cycle, a self-loop, a duplicate
    block = {"datasets": ["some"], "implementations": ["dfs"], "trials": 1, "warmup": 0, "from_edges": from_edges}
    assert {row["raw_edges"] for row in ran(tmp_path / "run", block).rows} == {len(GRAPH[1]) if from_edges else None}


def test_what_ends_with_edges_is_not_timed_from_them(diamond):
    block = {"problem": "read", "datasets": [diamond], "from_edges": True}
    with pytest.raises(InputError, match="not timed from them"):
        planned(block)


@pytest.mark.parametrize("name", ["supports", "sequential", "dfs"])
def test_pairs_asked_one_at_a_time_are_a_phase_and_their_answers_are_checked(name, diamond, tmp_path, monkeypatch):
    block = {"datasets": [diamond], "implementations": [name], "trials": 1, "warmup": 0, "process": "shared"}
    assert {"single"} == {row["phase"] for row in ran(tmp_path / "one", block | {"single": True}).rows} - {
        row["phase"] for row in ran(tmp_path / "none", block).rows
    }
    monkeypatch.setattr(Index, "single", lambda self: lambda u, v: False)
    assert {row["status"] for row in ran(tmp_path / "wrong", block | {"single": True}).rows} == {"wrong"}


def test_no_other_problem_is_asked_one_at_a_time(diamond):
    with pytest.raises(InputError, match="one question at a time"):
        planned({"problem": "bfs", "datasets": [diamond], "single": True})


def test_programs_are_not_asked_one_at_a_time(diamond):
    block = {"datasets": [diamond], "implementations": ["program:preach", "dfs"], "single": True}
    assert [cell.single for cell in planned(block).cells] == [False, True]
