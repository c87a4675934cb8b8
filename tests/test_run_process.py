"""`grailbench run` as a process: interrupted, killed, continued; its exit codes and its rows on stdout."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from commands import PATIENCE, call
from outcomes import as_json, tells
from planned import planned

from grailbench.errors import InputError
from grailbench.harness import folder as results
from grailbench.harness.folder import read_rows
from grailbench.harness.runner import _slow_simulation

TOYS = Path(__file__).with_name("toys.py")


def times(rows, phase="query"):
    return [row for row in rows if row["phase"] == phase and not row["under"]]


@pytest.fixture
def process(diamond, session_cache, tmp_path):
    """Starts `grailbench` with the toys; output goes to tmp_path/out and err."""
    started = []

    def start(*args):
        env = {**os.environ, "GRAILBENCH_CACHE": str(session_cache), "PYTHONPATH": os.pathsep.join(sys.path)}
        with open(tmp_path / "out", "w") as out, open(tmp_path / "err", "w") as err:
            child = subprocess.Popen([sys.executable, str(TOYS), *args], stdout=out, stderr=err, env=env)
        started.append(child)
        return child

    yield start
    for child in started:
        child.kill()
        child.wait()


def wait_for(child, what, seconds=PATIENCE):
    ends = time.monotonic() + seconds
    while not what():
        assert child.poll() is None, "the process ended"
        assert time.monotonic() < ends, "waited in vain"
        time.sleep(0.01)


def whole_trials(folder):
    try:
        return len(times(read_rows(folder)[0]))
    except InputError:
        return 0


RUN = ("run", "--dataset", "diamond", "--count", "50", "--warmup", "0", "--no-fetch")
SLOW = (*RUN, "--impl", "toy:slow", "--dim", "2", "--dim", "3")


def test_kill_loses_nothing_finished_and_resume_completes_the_run(process, tmp_path):
    folder = tmp_path / "run"
    child = process(*SLOW, "--trials", "100", "--out", str(folder))
    wait_for(child, lambda: whole_trials(folder) >= 5)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    assert 5 <= whole_trials(folder) < 200
    with open(folder / results.ROWS, "a") as rows:
        rows.write('{"run": "torn')
    assert process("run", f"--resume={folder}").wait(PATIENCE) == 0
    found = Counter((row["dim"], row["trial"]) for row in times(read_rows(folder)[0]))
    assert found == {(dim, trial): 1 for dim in (2, 3) for trial in range(100)}


def test_interrupt_is_heard_inside_a_kernel_that_runs_for_hours(process, tmp_path):
    folder = tmp_path / "run"
    child = process(*RUN, "--warmup", "1", "--impl", "toy:spin", "--out", str(folder))
    wait_for(child, lambda: "spinning" in (tmp_path / "out").read_text())
    child.send_signal(signal.SIGINT)
    assert child.wait(PATIENCE) == 130
    assert "--resume=" in (tmp_path / "err").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(("toy", "code"), [("right", 0), ("wrong", 1), ("crash", 1), ("memory", 3), ("lacks", 4)])
def test_exit_codes_of_run(toys, diamond, tmp_path, capsys, toy, code):
    assert call(capsys, *RUN, "--impl", f"toy:{toy}", "--trials", "1", "--out", tmp_path / "run")[0] == code


@pytest.mark.slow
def test_exit_code_of_verify_and_of_bad_usage(toys, diamond, capsys):
    verify = ("verify", "--dataset", "diamond", "--no-fetch", "--impl")
    assert [call(capsys, *verify, f"toy:{toy}")[0] for toy in ("wrong", "right")] == [1, 0]
    tells(capsys, 2, "no-such-graph", "run", "--dataset", "no-such-graph")


def test_json_is_one_row_a_line_and_nothing_else(toys, diamond, tmp_path, capsys):
    rows = as_json(capsys, *RUN, "--impl", "toy:right", "--trials", "2", "--out", tmp_path / "run")
    assert rows == read_rows(tmp_path / "run")[0]


@pytest.mark.slow
def test_plan_prints_the_cells_that_run_executes(toys, diamond, tmp_path, capsys):
    flags = ("--dataset", "diamond", "--impl", "toy:right", "--impl", "toy:other", "--dim", "2", "--dim", "4")
    cells, out = as_json(capsys, "plan", *flags), tmp_path / "run"
    assert call(capsys, "run", *flags, "--trials", "1", "--count", "50", "--no-fetch", "--out", out)[0] == 0
    measured = {(row["impl"], row["dim"]) for row in read_rows(out)[0]}
    assert {(cell["impl"], cell["dim"]) for cell in cells} == measured
    assert len(cells) == 3


@pytest.mark.parametrize(
    ("impl", "count", "warned"), [("gpu", 100_000, True), ("gpu", 1000, False), ("dfs", 100_000, False)]
)
def test_who_simulates_many_queries_is_told_of_count(diamond, impl, count, warned):
    told = _slow_simulation(planned({"datasets": [diamond], "implementations": [impl], "count": count}))
    assert (told is not None and "100,000 queries: --count 1000" in told) == warned
