"""Cells in processes of their own: measured memory, hard limits, and deaths that are rows."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from commands import PATIENCE
from planned import planned, ran
from strategies import dag_of
from toys import GREED
from watchers import Silent

from grailbench.harness import passes, processes, session
from grailbench.harness.plan import Cell
from grailbench.harness.runner import run, verify
from grailbench.problems.contract import Checks
from grailbench.problems.reachability.cpu import search, traverse
from grailbench.problems.reachability.queries import QuerySpec

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="cells are forked and watched by /proc"),
    pytest.mark.processes,
]


@pytest.fixture
def apart(toys, diamond, tmp_path):
    """Runs toys on the diamond, each cell in a process of its own; returns what came of it.

    A limit is that of `forever` and `stopped` alone: no other cell is to be quick.
    """

    def measure(*impls, action=run, checks=Checks(), time_limit=None, **block):  # noqa: B008 - frozen
        impls = [i if i in ("dfs", "sequential") else f"toy:{i}" for i in impls]
        block = {"datasets": [diamond], "count": 50, "trials": 3, "process": "own"} | block
        limits = dict.fromkeys(("toy:forever", "toy:stopped"), time_limit)
        blocks = [block | {"implementations": impl, "time_limit": limits.get(impl)} for impl in impls]
        plan = planned(*blocks)
        where = {} if action is verify else {"out": tmp_path / "run"}
        return action(plan, Silent(), fetch=False, checks=checks, **where)

    return measure


def ends(rows):
    """Status and reason of each cell's last row, by implementation."""
    return {row["impl"].removeprefix("toy:"): (row["status"], row["reason"]) for row in rows}


def queries(rows, impl):
    return [row for row in rows if row["impl"] == impl and row["phase"] == "query"]


def test_cells_apart_are_verified_timed_and_counted_as_in_one_process(apart, toys):
    done = apart("right", "dfs")
    done.check()
    assert toys == []  # nothing was built in this process
    for impl in ("toy:right", "dfs"):
        assert [row["trial"] for row in queries(done.rows, impl)] == [0, 1, 2]
    assert len({row["checksum"] for row in done.rows}) == 1
    assert queries(done.rows, "toy:right")[0]["counters"] == {"asked": 50}


@pytest.mark.parametrize("problem", ["bfs", "closure"])
def test_cells_of_other_problems_have_processes_of_their_own(problem, apart, diamond, tmp_path):
    block = {"problem": problem, "datasets": [diamond], "trials": 2, "process": "own"}
    done = ran(tmp_path / "run", block)
    done.check()
    assert done.statuses["ok"] > 0
    assert all(row["host_peak_bytes"] for row in done.rows if row["phase"] == "solve" and row["status"] == "ok")


def test_peak_memory_of_a_cell_is_its_own_and_no_other_cells(apart):
    rows = apart("right", "greedy", trials=1).rows
    peaks = {row["impl"]: row["host_peak_bytes"] for row in rows if row["phase"] == "query"}
    assert 0.98 * GREED < peaks["toy:greedy"] - peaks["toy:right"] < 1.2 * GREED  # to a few pages of the interpreter
    assert {row["host_peak_bytes"] for row in rows if row["phase"] != "query"} == {None}
    assert all(row["read_ms"] > 0 for row in rows)


def test_the_peak_of_a_trial_from_edges_has_what_it_takes_from_edges(apart):
    rows = apart("right", "wasteful", trials=1, from_edges=True).rows
    (usual,), (most,) = (
        [row["host_peak_bytes"] for row in queries(rows, f"toy:{impl}")] for impl in ("right", "wasteful")
    )
    assert most - usual > 0.9 * GREED
    assert sum(row["phase"] == "ready" for row in rows if not row["under"]) == 2


def test_the_processes_of_cells_are_gone_when_their_graph_is_done(apart, monkeypatch):
    true, ended, there = processes.GraphProcess.close, [], []

    def close(self):
        ended.extend(cell._pid for cell in self.cells)
        true(self)
        there.extend(pid for pid in ended if os.path.exists(f"/proc/{pid}"))

    monkeypatch.setattr(processes.GraphProcess, "close", close)
    apart("right", "killed", trials=1)
    assert len(ended) == 2
    assert there == []


def test_a_kernel_that_does_not_return_and_a_stopped_cell_are_ended_at_the_limit(apart):
    done = apart("forever", "stopped", "right", time_limit=1)
    late = "timeout", "the cell's time limit was reached (1 s)"
    assert ends(done.rows) == {"forever": late, "stopped": late, "right": ("ok", None)}


def test_where_the_process_that_opened_the_graph_is_stopped_cells_fail(apart, monkeypatch):
    """Each cell waited ten minutes for it."""
    begin = processes.GraphProcess.begin

    def stopping(self, cell):
        self._process.send_signal(signal.SIGSTOP)
        return begin(self, cell)

    monkeypatch.setattr(processes.GraphProcess, "begin", stopping)
    done = apart("right", "other")
    reasons = {reason for status, reason in ends(done.rows).values() if status == "failed"}
    assert len(ends(done.rows)) == 2
    assert any("the process that opened the graph was stopped (SIGSTOP)" in reason for reason in reasons)
    assert {row["status"] for row in done.rows} == {"failed"}


def test_cells_on_a_large_graph_have_processes_of_their_own_and_a_limit(apart, monkeypatch):
    monkeypatch.setattr(session, "LARGE", 1)
    monkeypatch.setattr(session, "LARGE_SECONDS", 3.0)
    rows = apart("forever", "right", process=None).rows
    assert ends(rows)["forever"] == ("timeout", "the cell's time limit was reached (3 s)")
    assert all(row["host_peak_bytes"] for row in queries(rows, "toy:right"))


def test_what_a_cell_may_allocate_is_bounded_and_the_others_go_on(apart):
    done = apart("greedy", "right", memory_limit=0.2, trials=1)
    found = ends(done.rows)
    assert found["right"] == ("ok", None)
    status, reason = found["greedy"]
    assert status == "out of memory"
    assert reason.endswith("(limit 0.2 GiB)")


def test_what_ran_out_of_time_is_not_tried_with_other_queries_if_so_planned(apart):
    asked = {"queries": ["random", "balanced"], "trials": 1, "retry": False}
    done = apart("forever", "right", time_limit=1, checks=Checks(jobs=2), **asked)
    found = {(row["impl"], row["query_set"]): (row["status"], row["reason"]) for row in done.rows}
    assert found["toy:forever", "random-50-s1"] == ("timeout", "the cell's time limit was reached (1 s)")
    assert found["toy:forever", "balanced-50-s1"] == (
        "timeout", "not tried: it ran out of time with random-50-s1 (1 s)"
    )  # fmt: skip
    assert {found["toy:right", name] for name in ("random-50-s1", "balanced-50-s1")} == {("ok", None)}


def test_whatever_kills_a_cell_is_a_row_and_the_others_go_on(apart):
    done = apart("killed", "abort", "unsendable", "full", "memory", "crash", "lacks", "right", trials=1)
    found = ends(done.rows)
    assert found["killed"][0] == "out of memory"
    assert "GiB resident" in found["killed"][1]
    assert found["abort"][0] == "failed"
    assert "SIGABRT" in found["abort"][1]
    assert found["unsendable"][0] == "failed"
    assert "ended with code 1" in found["unsendable"][1]
    assert found["full"] == ("out of memory", "needs 5 GiB")
    assert [found[name][0] for name in ("memory", "crash", "lacks", "right")] == [
        "out of memory", "failed", "skipped", "ok",
    ]  # fmt: skip
    assert "ZeroDivisionError" in (done.folder / "errors.txt").read_text()


def test_no_trial_pays_for_kernels_that_a_new_process_must_load(apart, monkeypatch):
    """What is compiled is told by numba's own count of what it compiled or loaded."""
    params = {"dim": 7, "search": "dfs", "filters": "none", "order": "random", "seed": 1}
    params |= {"threads": None, "devices": None, "memory": None}
    cell = Cell(dataset="none", impl="sequential", queries=QuerySpec("random", 5, 1), **params)
    kernels = traverse.label_pair, search.answer_blocks
    passes.prime(cell)
    known = [len(kernel.signatures) for kernel in kernels]
    assert min(known) > 0
    dag = dag_of(40, [(u, u + 1) for u in range(39)])
    pairs = np.arange(30, dtype=np.int32), np.arange(1, 31, dtype=np.int32)
    passes.measure(cell, dag, pairs, None)
    assert [len(kernel.signatures) for kernel in kernels] == known


def test_cells_verified_at_once_are_as_those_verified_one_by_one(apart):
    toys = ("right", "wrong", "killed", "labels", "fickle", "forever", "dfs")
    done = apart(*toys, time_limit=1, checks=Checks(jobs=4), trials=2, warmup=0)
    assert {name: status for name, (status, _) in ends(done.rows).items()} == {
        "right": "ok", "dfs": "ok", "wrong": "wrong", "labels": "wrong", "fickle": "wrong",
        "killed": "out of memory", "forever": "timeout",
    }  # fmt: skip
    assert len(queries(done.rows, "toy:right")) == len(queries(done.rows, "dfs")) == 2


@pytest.mark.parametrize("whom", ["run", "graph"])
def test_cells_in_kernels_end_with_the_processes_that_began_them(diamond, tmp_path, whom):
    """The process of the graph ignores a SIGTERM, which terminals and batch systems send to all."""
    toys = Path(__file__).with_name("toys.py")
    words = ["run", "--dataset", diamond, "--impl", "toy:forever", "--process", "own", "--no-fetch"]
    running = subprocess.Popen(
        [sys.executable, str(toys), *words, "--out", str(tmp_path / "run")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(toys.parent)])},
        stdout=subprocess.DEVNULL,
    )
    watched, deadline = [], time.monotonic() + PATIENCE
    while time.monotonic() < deadline and not any(child.cpu_times().user > 0.3 for child in watched[1:]):
        time.sleep(0.1)
        watched = psutil.Process(running.pid).children(recursive=True)  # that of the graph, then those of its cells
    assert len(watched) == 2
    if whom == "graph":
        watched[0].terminate()
        assert len(psutil.wait_procs(watched, timeout=0.5)[1]) == 2
    (running if whom == "run" else watched[0]).kill()
    assert psutil.wait_procs(watched, timeout=PATIENCE)[1] == []
    assert running.wait(PATIENCE) == (1 if whom == "graph" else -signal.SIGKILL)
