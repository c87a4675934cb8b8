"""Runs on workers of dask: a real scheduler and two worker processes, and what can go wrong with them."""

import csv
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import dask
import psutil
import pytest
from commands import PATIENCE, call, call_apart
from stored import ENVIRONMENT, store, trials, unguided
from watchers import Notes

from grailbench.distributed import connection, remote, workers
from grailbench.distributed.runner import DaskRunner, on_workers
from grailbench.errors import InputError
from grailbench.harness import folder as results
from grailbench.harness import runner
from grailbench.harness.cells import cells, load, of_machine
from grailbench.harness.folder import read_rows
from grailbench.harness.plan import Config, make_plan
from grailbench.problems.contract import Checks

pytestmark = pytest.mark.processes
TOYS = Path(__file__).with_name("toys.py")
RUN = ("run", "--dataset", "diamond", "--count", "50", "--warmup", "0", "--no-fetch")
VARYING = {"others", "run", "ms", "rate", "at", "key", "worker", "trial"}  #: what differs between two runs of one plan


@pytest.fixture(scope="module")
def client(diamond):
    """A client of two workers, each with half of the cores and no GPU, also where this process has the simulator of
    others."""
    if connection.usable_cores() < 2:
        pytest.skip("two workers need two cores")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_ENABLE_CUDASIM", "0")
        patch.setattr(connection, "visible_gpus", lambda: ())
        with connection.started(2) as found:
            yield found


@pytest.fixture(scope="module")
def halves():
    """The numbers of the cores that each of the two workers is pinned to."""
    own = sorted(os.sched_getaffinity(0))
    half = len(own) // 2
    return [own[:half], own[half : 2 * half]]


@pytest.fixture
def address(client):
    """The address of their scheduler; both workers are there again."""
    client.wait_for_workers(2, timeout=PATIENCE)
    return client.scheduler.address


@pytest.fixture
def measured(toys, diamond, client, address, tmp_path):
    """Runs toys on the diamond on the workers; returns what came of it and the watcher."""

    def measure(*impls, checks=Checks(), **block):  # noqa: B008 - frozen
        block = {"datasets": [diamond], "implementations": [f"toy:{i}" for i in impls], "count": 50, "trials": 3,
                 "warmup": 0} | block  # fmt: skip
        plan, notes = make_plan(Config.model_validate({"experiment": [block]})), Notes()
        return runner.run(
            plan, notes, fetch=False, out=tmp_path / "run", checks=checks, elsewhere=on_workers(client)
        ), notes

    return measure


def times(rows):
    return [row for row in rows if row["phase"] == "query" and not row["under"]]


def taken(folder):
    """How often each trial of each cell was taken."""
    return Counter((row["impl"], row["dim"], row["trial"]) for row in times(read_rows(folder)[0]))


def whole_trials(folder):
    try:
        return len(times(read_rows(folder)[0]))
    except InputError:
        return 0


def same(rows):
    """The rows without what differs between two runs, in an order that does not depend on who was first."""
    return sorted(json.dumps({k: v for k, v in row.items() if k not in VARYING}, sort_keys=True) for row in rows)


# ------------------------------------------------------------------ who may speak to them


def test_workers_of_this_machine_listen_to_this_machine_alone(client, address):
    own = psutil.Process()
    ports = [place for process in (own, *own.children(recursive=True)) for place in process.net_connections("inet")
             if place.status == psutil.CONN_LISTEN]  # fmt: skip
    assert len(ports) >= 4, "the scheduler, its server of pages, and of each worker the same"
    assert {place.laddr.ip for place in ports} == {"127.0.0.1"}


# ------------------------------------------------------------------ runs


def test_workers_give_the_rows_of_a_local_run(toys, address, halves, tmp_path, capsys):
    flags = (*RUN, "--impl", "toy:right", "--impl", "toy:wrong", "--impl", "toy:crash", "--impl", "toy:lacks",
             "--dim", "2", "--dim", "3", "--trials", "2")  # fmt: skip
    local, afar = tmp_path / "local", tmp_path / "afar"
    assert call(capsys, *flags, "--out", local)[0] == 1
    assert call(capsys, *flags, "--out", afar, "--scheduler", address)[0] == 1
    (here, _), (there, _) = read_rows(local), read_rows(afar)
    assert same(here) == same(there)
    assert "worker" not in {name for row in here for name in row}
    known = results.read_environment(afar)["workers"]
    assert {row["worker"] for row in there} <= known.keys()
    assert sorted((env["cores"], env["pinned"]) for env in known.values()) == [(len(half), half) for half in halves]
    assert "by zero" in (afar / "errors.txt").read_text()
    one, other = (results.read_json(folder / results.PLAN) for folder in (local, afar))
    assert {**one, "run": ""} == {**other, "run": ""}
    assert load(afar).machine.startswith(load(local).machine.split(",")[0])
    code, out, err = call(capsys, "compare", local, afar)
    assert "counters compared, all equal" in out
    assert "no times" in out  # half of the cores are another machine than all
    assert call(capsys, "report", afar, "--out", tmp_path / "report")[0] == 0


def test_a_worker_that_is_lost_in_a_cell_costs_no_finished_trial(measured, session_cache):
    done, notes = measured("lost-once", "right", trials=5, dim=[2])
    assert (session_cache / "lost-1-0").exists()
    assert done.statuses == {"ok": 2}
    assert taken(done.folder) == {(f"toy:{name}", 2, trial): 1 for name in ("lost-once", "right") for trial in range(5)}
    assert any("TRIED AGAIN" in note and "was lost" in note for note in notes.notes)


def test_a_cell_that_loses_two_workers_fails_and_the_others_go_on(measured, session_cache):
    done, _ = measured("lost-twice", "right", trials=5)  # alone: passes of both toys are counted together
    assert (session_cache / "lost-2-1").exists()
    assert done.statuses == {"failed": 1, "ok": 1}
    (failed,) = (row for row in done.rows if row["status"] == "failed")
    assert failed["reason"].startswith("tried 2 times: ")
    assert failed["reason"].count("was lost") == 2
    assert failed["graph_sha256"] == times(done.rows)[0]["graph_sha256"]


def test_rows_that_come_twice_stand_once(measured, monkeypatch):
    take = DaskRunner.take

    def twice(self, *message):
        take(self, *message)
        if message[2] == "rows":
            take(self, *message)

    monkeypatch.setattr(DaskRunner, "take", twice)
    done, _ = measured("right", "crash", trials=4, dim=[2])
    assert taken(done.folder) == {("toy:right", 2, trial): 1 for trial in range(4)}
    assert len([row for row in done.rows if row["status"] == "failed"]) == 1


def test_cells_whose_answers_differ_are_compared_on_one_worker(measured):
    part = Checks(sample=10, closure_limit=1)
    done, _ = measured("right", "wrong", trials=1, checks=part, count=61)
    (wrong,) = (row for row in done.rows if row["status"] == "wrong")
    assert wrong["impl"] == "toy:wrong"
    assert "1 of 61 answers are wrong" in wrong["reason"]
    assert "worker" in wrong
    assert {row["impl"] for row in times(done.rows)} == {"toy:right", "toy:wrong"}  # each was right in its sample
    assert done.statuses == {"sampled": 1, "wrong": 1}


@contextmanager
def elsewhere(cache):
    """The address of a scheduler with one worker, in a process of its own with a cache of its own; and that process."""
    code = "import sys, time\nfrom grailbench.distributed import connection\nif __name__ == '__main__':\n"
    code += "    with connection.started(1) as c:\n        print(c.scheduler.address, flush=True)\n"
    code += "        time.sleep(900)\n"
    script = cache.with_name("elsewhere.py")
    script.write_text(code)
    env = {**os.environ, "GRAILBENCH_CACHE": str(cache), "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen([sys.executable, str(script)], env=env, stdout=subprocess.PIPE, text=True)
    try:
        yield child.stdout.readline().strip(), child
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def test_a_graph_is_sent_and_a_scheduler_that_goes_away_loses_nothing(toys, address, diamond, tmp_path, capsys):
    folder = tmp_path / "run"
    flags = (*RUN, "--impl", "toy:slow", "--dim", "2", "--trials", "40")

    def end_when_begun(child):
        while whole_trials(folder) < 3 and child.poll() is None:
            time.sleep(0.02)
        child.kill()

    with elsewhere(tmp_path / "cache") as (there, child):
        killer = threading.Thread(target=end_when_begun, args=(child,))
        killer.start()
        code, _, err = call(capsys, *flags, "--out", folder, "--scheduler", there)
        child.kill()  # if the run ended before
        killer.join()
    assert f"sending {diamond} to tcp://" in err
    assert code == 4
    assert "went away" in err
    assert f"go on with: grailbench run --resume={folder}" in err
    assert "Traceback" not in err
    before = whole_trials(folder)
    assert 3 <= before < 40
    assert call(capsys, "run", f"--resume={folder}", "--no-fetch", "--scheduler", address)[0] == 0
    assert set(taken(folder)) == {("toy:slow", 2, trial) for trial in range(40)}
    kept = read_rows(folder)[0]
    assert call(capsys, "run", f"--resume={folder}", "--no-fetch")[0] == 0  # nothing is left to do here
    assert read_rows(folder)[0] == kept


@contextmanager
def begun(tmp_path, *where):
    """A client, in a process of its own, whose run in tmp_path/run has three trials."""
    flags = (*RUN, "--impl", "toy:slow", "--dim", "2", "--dim", "3", "--trials", "40", "--out", str(tmp_path / "run"))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with open(tmp_path / "err", "w") as err:
        child = subprocess.Popen([sys.executable, str(TOYS), *flags, *where], env=env, stderr=err,
                                 stdout=subprocess.DEVNULL)  # fmt: skip
    try:
        while whole_trials(tmp_path / "run") < 3:
            assert child.poll() is None, (tmp_path / "err").read_text()
            time.sleep(0.02)
        yield child
    finally:
        child.kill()
        child.wait()


def test_workers_end_with_their_client_and_resume_finishes(address, toys, tmp_path, capsys):
    folder = tmp_path / "run"
    with begun(tmp_path, "--workers", "2") as child:
        family = psutil.Process(child.pid).children(recursive=True)
        assert len(family) >= 4  # two workers, each with the process that runs cells
        child.kill()
        child.wait(PATIENCE)
        assert psutil.wait_procs(family, timeout=PATIENCE)[1] == []
    kept = times(read_rows(folder)[0])
    assert 3 <= len(kept) < 80
    assert call(capsys, "run", f"--resume={folder}", "--no-fetch", "--scheduler", address)[0] == 0
    assert taken(folder) == {("toy:slow", dim, trial): 1 for dim in (2, 3) for trial in range(40)}
    assert times(read_rows(folder)[0])[: len(kept)] == kept


def test_what_workers_do_for_a_client_that_went_away_ends(client, address, toys, tmp_path):
    with begun(tmp_path, "--scheduler", address) as child:
        workers = [psutil.Process(pid) for pid in client.run(os.getpid).values()]
        running = [process for worker in workers for process in worker.children()]
        assert len(running) == 2
        child.kill()
        child.wait(PATIENCE)
        assert psutil.wait_procs(running, timeout=PATIENCE)[1] == []
        assert all(worker.is_running() for worker in workers)


def test_the_cell_of_a_stopped_worker_is_done_elsewhere(toys, diamond, tmp_path):
    """The run waited for ever, whatever --time-limit said."""
    with begun(tmp_path, "--workers", "2", "--time-limit", "300") as child:
        family = psutil.Process(child.pid).children(recursive=True)
        next(each for each in psutil.Process(child.pid).children() if each.children()).suspend()
        assert child.wait(PATIENCE) == 0
        assert psutil.wait_procs(family, timeout=PATIENCE)[1] == []
    said = (tmp_path / "err").read_text()
    assert "TRIED AGAIN" in said
    assert "stopped" in said
    assert taken(tmp_path / "run") == {("toy:slow", dim, trial): 1 for dim in (2, 3) for trial in range(40)}


def test_workers_go_on_with_a_local_run_and_the_other_way_round(toys, address, tmp_path, capsys):
    folder = tmp_path / "run"
    assert call(capsys, *RUN, "--impl", "toy:right", "--trials", "2", "--out", folder)[0] == 0
    local, again = read_rows(folder)[0], ("run", f"--resume={folder}", "--no-fetch")
    code, _, err = call(capsys, *again, "--scheduler", address)
    assert (code, "already complete" in err, read_rows(folder)[0]) == (0, True, local)
    assert call(capsys, *again, "--trials", "3", "--scheduler", address)[0] == 0  # half of the cores
    run = load(folder)
    assert [row["trial"] for row in times(run.rows)] == [0, 1, 2]
    assert {row["worker"] for row in run.rows} <= results.read_environment(folder)["workers"].keys()
    assert not run.mixed
    afar = read_rows(folder)[0]
    assert afar[: len(local)] == local
    code, _, err = call(capsys, *again)
    assert (code, "already complete" in err, read_rows(folder)[0]) == (0, True, afar)


# ------------------------------------------------------------------ refused


def test_a_worker_of_another_version_is_refused(toys, address, tmp_path, capsys, monkeypatch):
    out = tmp_path / "run"
    flags = (*RUN, "--impl", "toy:right", "--trials", "1", "--out", out, "--scheduler", address)
    with monkeypatch.context() as other:
        other.setattr(workers, "code_version", lambda: "0.0.1+0123456789ab")
        code, _, err = call(capsys, *flags)
        assert code == 4
        assert "workers with another grailbench are refused" in err
        assert "0.0.1+0123456789ab" in err
        assert not out.exists()
        code, _, err = call(capsys, "cluster", "--check", "--scheduler", address)
        assert code == 4
        assert "has another grailbench" in err
    monkeypatch.setattr(workers, "commit_state", lambda: ("f" * 40, False))
    code, _, err = call(capsys, *flags)
    assert (code, "commit ffffffffffff" in err) == (4, True)


def test_cluster_check_says_what_workers_have(address, halves, diamond, capsys):
    code, out, _ = call(capsys, "cluster", "--check", "--scheduler", address, "--dataset", diamond, "--json")
    records = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [each["pinned"] for each in records] == halves
    assert all(each["graphs"] == {diamond: "there"} and each["faults"] == [] for each in records)
    assert all(each["packages"]["numba"] and each["memory"] > 0 and each["stored"] >= 1 for each in records)
    code, out, _ = call(capsys, "cluster", "--scheduler", address)
    assert (code, out.count("tcp://127.0.0.1")) == (0, 2)


def test_a_cell_that_no_worker_can_run_is_skipped_with_the_reason(address, diamond, tmp_path):
    folder = tmp_path / "run"
    both = ("--impl", "gpu", "--impl", "peer:networkx", "--memory-limit", "1000")
    words = map(str, (*RUN, *both, "--trials", "1", "--out", folder, "--scheduler", address))
    code, _, err = call_apart(*words, NUMBA_ENABLE_CUDASIM="0")  # this process may have the simulator
    assert code == 4, err
    assert {row["impl"]: (row["status"], row["reason"]) for row in read_rows(folder)[0]} == {
        "gpu": ("skipped", "it needs 1 GPU, and no free worker declares so many"),
        "peer:networkx": ("skipped", "no worker declares the 1000 GiB of memory that it may take"),
    }


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        (("--scheduler", "tcp://127.0.0.1:1"), 4, "no scheduler answers"),
        (("--scheduler", "nonsense"), 2, "tcp://HOST:8786"),
        (("--workers", "1000"), 2, "no two share one"),
        (("--workers", "1", "--scheduler", "tcp://127.0.0.1:1"), 2, "give only one of them"),
        (("--workers", "1", "--simulate"), 2, "--simulate"),
    ],
)
def test_wrong_workers_are_one_line(toys, diamond, capsys, flags, code, said):
    found, _, err = call(capsys, *RUN, "--impl", "toy:right", *flags)
    assert (found, said in err) == (code, True), err


def test_without_dask_one_line_says_what_to_install(monkeypatch, capsys, diamond):
    monkeypatch.setitem(sys.modules, "distributed", None)
    code, _, err = call(capsys, *RUN, "--workers", "1")
    assert (code, "pip install 'dask[distributed]" in err) == (4, True)


# ------------------------------------------------------------------ seats and machines


def worker(name, declared=(), gpus=(), machine="m"):
    """A worker whose process may use four cores and some GPUs, and that declares resources."""
    return workers.Facts(name, "host", machine, (0, 1, 2, 3), tuple(gpus), (), 1 << 30, "1", "1+a", None, None, "3", {},
                       dict(declared), 1)  # fmt: skip


def test_workers_of_one_machine_share_no_core_and_no_gpu():
    found, faults = workers.allocate(
        [
            worker("a", {"cores": 2, "gpu": 1}, gpus="01"),
            worker("b", {"cores": 1, "gpu": 1}, gpus="10"),
            worker("c", {"cores": 2}),
            worker("d", {"cores": 4}, machine="other"),
            worker("e", {"cores": 1, "gpu": 2}, gpus="0", machine="third"),
            worker("f", machine="fourth"),
        ]
    )
    assert [(seat.worker, seat.cores, seat.gpus) for seat in found] == [
        ("a", (0, 1), ("0",)), ("b", (2,), ("1",)), ("d", (0, 1, 2, 3), ()),
    ]  # fmt: skip
    assert ["2 cores, and 1 are left" in faults[0], "2 GPUs, and 1 are left" in faults[1]] == [True, True]
    assert "declares no cores" in faults[2]
    again, _ = workers.allocate([worker("g", {"cores": 1})], found)
    assert again[0].cores == (3,)


def test_a_cell_sees_the_gpus_of_its_seat_alone_and_no_threads_that_dask_set(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    seat = worker("a", gpus="13")
    with dask.config.set({"distributed.nanny.pre-spawn-environ": {"OMP_NUM_THREADS": 1}}):
        found = remote._environment_for(seat)
        assert found["CUDA_VISIBLE_DEVICES"] == "1,3"
        assert "OMP_NUM_THREADS" not in found
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
        monkeypatch.setenv("OMP_NUM_THREADS", "7")
        found = remote._environment_for(replace(seat, gpus=()))
        assert (found["CUDA_VISIBLE_DEVICES"], found["OMP_NUM_THREADS"]) == ("", "7")


@pytest.fixture
def unlike(tmp_path):
    """The folder of a run whose cells two unlike workers measured."""
    workers = {"aaaa": {**ENVIRONMENT, "fingerprint": "1111111122222222", "cpu": "Small"},
               "bbbb": {**ENVIRONMENT, "fingerprint": "3333333344444444", "cpu": "Large"}}  # fmt: skip
    three = {"count": 3, "planned": 3, "worker": "aaaa"}
    rows = [*unguided(query=40.0, **three), *trials(query=20.0, dim=1, **three), *trials(query=8.0, worker="bbbb")]
    return store(tmp_path / "run", rows, {**ENVIRONMENT, "client": True, "workers": workers})


def test_times_of_unlike_workers_are_no_ratio(unlike, capsys, tmp_path):
    code, out, err = call(capsys, "report", unlike, "--out", tmp_path / "out")
    assert (code, out) == (2, "")
    assert "11111111: Small" in err
    assert "33333333: Large" in err
    code, out, _ = call(capsys, "report", unlike, "--machine", "1111", "--out", tmp_path / "out")
    assert code == 0
    assert "Measured on: Small" in out
    assert "times as fast as dfs" in out
    with open(tmp_path / "out" / "cells.csv", newline="") as lines:
        assert {(line["impl"], line["dim"]) for line in csv.DictReader(lines)} == {("dfs", ""), ("sequential", "1.0")}
    code, out, _ = call(capsys, "compare", unlike, unlike)
    assert "no times: a run was measured on more than one machine" in out


def test_a_run_says_who_is_fastest_on_each_machine_by_itself_and_a_row_of_an_unknown_worker_is_refused(
    unlike, tmp_path
):
    run = load(unlike)
    done = runner.Finished(unlike, None, run.rows, environment=dict(run.stored))
    assert [own["cpu"] for own, _ in done.by_machine] == ["Small", "Large"]
    assert [[cell.key for cell in found] for _, found in done.by_machine] == [
        [cell.key for cell in cells([row for row in run.rows if row["worker"] == name])] for name in ("aaaa", "bbbb")
    ]
    assert run.mixed
    assert [of_machine(run, name).mixed for name in ("1111", "3333")] == [False, False]
    with pytest.raises(InputError, match="no machine of the run is named 'x'"):
        of_machine(run, "x")
    folder = store(tmp_path / "unknown", trials(worker="cccc"), {**ENVIRONMENT, "workers": {"aaaa": ENVIRONMENT}})
    with pytest.raises(InputError, match="'cccc'"):
        load(folder)
