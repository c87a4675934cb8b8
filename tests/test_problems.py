"""Problems other than reachability go through the same plan, runner, rows and screen."""

from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event

import numpy as np
import pytest
from commands import PATIENCE
from planned import planned, ran

from grailbench.errors import InputError
from grailbench.harness import folder as results
from grailbench.harness.plan import config_from_flags, make_plan
from grailbench.harness.rows import cell_of
from grailbench.problems import contract
from grailbench.problems.contract import PROBLEMS, problem
from grailbench.problems.traversal.index import FAR, Implementation, Solver


class Late(Solver):
    """Right levels, but that the last are too far in every third search."""

    def __init__(self, right):
        self.right, self.asked = right, 0

    def solve(self, source, timer):
        self.asked += 1
        found = self.right.solve(source, timer)
        found[found == found.max(where=found != FAR, initial=0)] += self.asked % 3 == 0
        return found


class Far(Late):
    """Calls reached vertices unreached."""

    def solve(self, source, timer):
        return np.full_like(self.right.solve(source, timer), FAR)


@pytest.fixture
def planted(monkeypatch):
    """`toy:late` and `toy:far`, which are wrong."""
    right = contract.implementation("sequential", "bfs")
    for name, solver, rounds in (("toy:late", Late, 3), ("toy:far", Far, 1)):
        prepare = classmethod(lambda cls, *given, solver=solver: solver(right.prepare(*given)))
        body = {"name": name, "problem": "bfs", "source": "tests", "rounds": rounds, "prepare": prepare}
        monkeypatch.setitem(contract._registry["bfs"], name, type(name, (Implementation,), body))


def measured(diamond, tmp_path, **block):
    return ran(tmp_path / "run", {"problem": "bfs", "datasets": [diamond], "trials": 2, "count": 3} | block)


def test_trials_have_the_phases_of_the_problem_and_its_rate(diamond, tmp_path):
    done = measured(diamond, tmp_path)
    done.check()
    assert [(row["phase"], row["trial"]) for row in done.rows] == [
        ("prepare", 0), ("solve", 0), ("prepare", 1), ("solve", 1)
    ]  # fmt: skip
    assert {row["problem"] for row in done.rows} == {"bfs"}
    assert all((row["rate"] is not None and row["rate"] > 0) == (row["phase"] == "solve") for row in done.rows)
    assert done.rows[0]["vertices"] == 7  # not condensed, no super-root
    assert results.read_rows(done.folder)[0] == done.rows


@pytest.mark.slow
def test_a_wrong_search_is_caught_counted_and_not_timed(diamond, tmp_path, planted):
    done = measured(diamond, tmp_path, implementations=["toy:late", "toy:far", "sequential"])
    rows = {row["impl"]: row for row in done.rows}
    assert rows["sequential"]["status"] == "ok"
    for name, searches, wrong in (("toy:late", 9, 3), ("toy:far", 3, 3)):
        row = rows[name]
        assert (row["status"], row["phase"], row["ms"]) == ("wrong", None, None)
        assert row["counters"] == {"searches": searches, "wrong_searches": wrong}


def test_a_run_of_several_problems_keeps_cells_of_one_name_apart(diamond, tmp_path):
    blocks = [{"problem": name, "datasets": [diamond], "trials": 1, "count": 3} for name in ("bfs", "sssp", "apsp")] + [
        {"datasets": [diamond], "trials": 1, "count": 50}
    ]
    plan, done = planned(*blocks), ran(tmp_path / "run", *blocks)
    done.check()
    assert [c.label() for c in plan.cells[:3]] == ["bfs sequential", "sssp dijkstra", "apsp dijkstra"]
    assert len({cell_of(row) for row in done.rows}) == len(plan.cells) == 5
    assert [(found, name) for found, name, _ in plan.groups()] == [
        (found, "diamond") for found in ("bfs", "sssp", "apsp", "reachability")
    ]


def test_flags_that_change_the_problem_change_its_usual_implementations_and_count(diamond, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(f'[[experiment]]\ndatasets = ["{diamond}"]\ncount = 9\n')
    (cell,) = make_plan(config_from_flags(str(path), problem="bfs")).cells
    assert (cell.problem, cell.impl, cell.queries.name) == ("bfs", "sequential", "random-16-s1")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"problem": "bsf"}, "did you mean bfs"),
        ({"problem": "bfs", "queries": ["balanced"]}, "no query set 'balanced'"),
        ({"problem": "bfs", "implementations": ["parallel"]}, "--problem reachability"),
        ({"problem": "bfs", "dim": (3,)}, r"--dim: it changes nothing for sequential of bfs \(leave --dim out\)"),
        ({"problem": "bfs", "threads": (2,)}, "--threads: it changes nothing"),
        ({"problem": "sssp", "filters": ("level",)}, "--filters: it changes nothing for dijkstra of sssp"),
        ({"problem": "closure", "implementations": ["floyd-warshall"], "threads": (2,)}, "or take warshall-bits"),
        ({"problem": "closure", "count": 3}, "closure takes the whole graph"),
        ({"problem": "apsp", "count": 3}, "apsp takes the whole graph"),
        ({"implementations": ["sequential"], "devices": (2,)}, "--devices: .*or take gpu-fused"),
        ({"implementations": ["gpu"], "search": ("bfs",)}, "--search: .*or take sequential, parallel"),
        ({"implementations": ["gpu-fused"], "filters": ("none",)}, "it changes nothing for gpu-fused"),
        ({"implementations": ["dijkstra"]}, "--problem sssp or apsp"),
    ],
)
def test_what_a_problem_does_not_know_is_one_error_with_a_remedy(diamond, flags, words):
    with pytest.raises(InputError, match=words):
        make_plan(config_from_flags(datasets=[diamond], **flags))


@pytest.mark.parametrize(
    "name", ["uniprotenc_150", "cit-patents-like", "dag_01-like", "roads-1m-like", "path-50000",
             "citations-n3800000-k4.6-w500000-s1"],
)  # fmt: skip
def test_a_graph_too_large_for_all_pairs_is_refused_before_it_is_had(name):
    with pytest.raises(InputError, match=rf"{name}: .* too many for apsp \(a graph of at most 46,340\)"):
        make_plan(config_from_flags(datasets=[name], problem="apsp"))
    assert make_plan(config_from_flags(datasets=[name], problem="sssp")).cells


def test_a_flag_over_a_config_must_be_obeyed_in_one_of_its_experiments(diamond, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(f"""
[[experiment]]\nproblem = "bfs"\ndatasets = ["{diamond}"]
[[experiment]]\nproblem = "closure"\ndatasets = ["{diamond}"]
""")
    assert {cell.threads for cell in make_plan(config_from_flags(str(path), threads=(3,))).cells} == {None, 3}
    with pytest.raises(InputError, match="--dim: it changes nothing for sequential of bfs or condense-bits of closure"):
        config_from_flags(str(path), dim=(3,))


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problem_is_whole(name):
    found = problem(name)
    assert found.name == name
    assert len(set(found.phases)) == len(found.phases) > 0
    assert set(found.usual) <= set(contract.implementations(name))


def test_a_thread_that_asks_while_another_loads_sees_all_implementations(monkeypatch):
    whole, begun, go_on = contract.implementations("bfs"), Event(), Event()

    def load(module):
        begun.set()
        assert go_on.wait(PATIENCE)
        contract._registry["bfs"] = whole

    monkeypatch.setattr(contract, "_loaded", contract._loaded - {"bfs"})
    monkeypatch.setitem(contract._registry, "bfs", {})
    monkeypatch.setattr(contract, "import_module", load)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(contract.implementations, "bfs")
        assert begun.wait(PATIENCE)
        second = pool.submit(contract.implementations, "bfs")
        wait([second], timeout=0.2)
        go_on.set()
        assert first.result() == second.result() == whole
