"""Kernels are compiled in several processes at once, each of them once, and `grailbench warmup` says what was done."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from commands import NO_GPU, PATIENCE, ROOT, call, call_apart, in_python
from numba.core.caching import IndexDataCacheFile
from planned import planned
from strategies import dag_of

from grailbench.api import first
from grailbench.graph.readers.parsers import parse_gra
from grailbench.problems.contract import implementations
from grailbench.util import ahead, kernelcache, temporary
from grailbench.util.ahead import Job

pytestmark = pytest.mark.processes


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """No process is left behind, nor expected."""
    monkeypatch.setattr(kernelcache, "on_first", None)
    monkeypatch.setattr(ahead, "_helping", False)
    yield
    ahead.stop()


def test_processes_share_jobs_and_say_what_failed():
    jobs = [Job("time:sleep", (0,)), Job("operator:truediv", (1, 0)), Job("nowhere:f"), Job("builtins:print", ("x",))]
    done = sorted(ahead.finished(ahead.start(jobs, 2)))
    assert [each.number for each in done] == [0, 1, 2, 3]
    assert [each.error for each in done] == [
        "", "ZeroDivisionError: division by zero", "ModuleNotFoundError: No module named 'nowhere'", "",
    ]  # fmt: skip
    assert all(each.kernels == 0 and each.seconds >= 0 for each in done)
    assert not ahead._running


def test_a_process_that_dies_says_nothing_of_the_rest():
    jobs = [Job("time:sleep", (0,)), Job("os:_exit", (3,)), Job("time:sleep", (0,))]
    assert [each.number for each in ahead.finished(ahead.start(jobs, 1))] == [0]


def gone(pid):
    """Whether a process ends, sooner or later."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def test_processes_end_with_the_one_that_started_them_however_it_ends():
    code = (
        "import time\nfrom grailbench.util import ahead\nfrom grailbench.util.ahead import Job\n"
        f"print(ahead.start([Job('time:sleep', ({PATIENCE},))], 1)[0].pid, flush=True)\ntime.sleep({PATIENCE})"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=os.environ | NO_GPU, cwd=ROOT)
    pid = int(parent.stdout.readline())
    os.kill(pid, 0)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert gone(pid)


def test_others_are_started_at_once_where_no_kernel_was_ever_compiled(monkeypatch, tmp_path):
    started = []
    monkeypatch.setattr(ahead, "start", lambda jobs, processes, *_: started.append((jobs, processes)))
    monkeypatch.setattr(ahead, "usable_cores", lambda: 2)
    monkeypatch.setattr(kernelcache, "lasting_folder", lambda: tmp_path)
    (tmp_path / "kernels").mkdir()  # as numba does before it compiles
    ahead.expect("grailbench.api.first:of_answer", True)
    assert started == [(first.of_answer(True), 1)]
    assert kernelcache.on_first is None
    (tmp_path / "kernels" / "kernel.nbi").touch()
    ahead.expect("grailbench.api.first:of_answer", True)
    assert len(started) == 1
    assert kernelcache.on_first is not None


def test_others_are_started_when_a_kernel_is_compiled_and_a_core_is_free(monkeypatch, tmp_path):
    started = []
    (tmp_path / "kernel.nbi").touch()
    monkeypatch.setattr(kernelcache, "lasting_folder", lambda: tmp_path)
    monkeypatch.setattr(ahead, "start", lambda jobs, processes, *_: started.append((jobs, processes)))
    for cores, helping in ((1, False), (2, True), (2, False)):
        monkeypatch.setattr(ahead, "usable_cores", lambda cores=cores: cores)
        monkeypatch.setattr(ahead, "_helping", helping)
        ahead.expect("grailbench.api.first:of_answer", True)
    assert started == []
    kernelcache.on_first()
    assert started == [(first.of_answer(True), 1)]


@pytest.mark.parametrize("empty", [False, True])
def test_where_no_process_can_be_started_one_compiles_all(empty, monkeypatch):
    def refused(*_):
        raise BlockingIOError

    monkeypatch.setattr(ahead, "start", refused)
    monkeypatch.setattr(ahead, "usable_cores", lambda: 2)
    monkeypatch.setattr(ahead, "_nothing_compiled", lambda: empty)
    ahead.expect("grailbench.api.first:of_answer", True)
    if not empty:
        kernelcache.on_first()


COUNTED = "from grailbench.util import kernelcache\nfrom grailbench.api import first\n{}\nprint(kernelcache.compiled)"


def test_of_processes_that_need_kernels_at_once_each_compiles_those_that_no_other_does(tmp_path):
    env = os.environ | NO_GPU | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    code = [sys.executable, "-c", COUNTED.format("first.checked()")]
    several = [subprocess.Popen(code, stdout=subprocess.PIPE, env=env, cwd=ROOT, text=True) for _ in range(3)]
    found = [int(each.communicate(timeout=PATIENCE)[0]) for each in several]
    code, alone = in_python(COUNTED.format("first.checked()"), NUMBA_CACHE_DIR=str(tmp_path / "alone"))
    assert code == 0
    assert sum(found) == int(alone) > 1
    assert not list((tmp_path / "kernels").glob("*.lock"))
    assert in_python(COUNTED.format("first.checked()"), NUMBA_CACHE_DIR=str(tmp_path / "kernels")) == (0, "0\n")


def test_a_process_waits_for_one_that_compiles_and_not_for_ever_for_one_that_was_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(kernelcache, "folder", lambda: tmp_path)
    kernelcache.adopt()
    files = IndexDataCacheFile(str(tmp_path / "of-kernel"), "kernel", "stamp")
    Path(files._cache_path).mkdir()
    path, looks = kernelcache._lock_of(files, "int32"), []
    handle = os.open(path, os.O_CREAT | os.O_RDWR)
    assert temporary.lock(handle)
    monkeypatch.setattr(kernelcache, "LONGEST_S", 0)
    assert files.load("int32") is None  # and it compiles the kernel itself
    monkeypatch.setattr(kernelcache, "LONGEST_S", PATIENCE)

    def look(self):
        looks.append(self)
        return {"int32": "kernel.1.nbc"} if len(looks) > 3 else {}

    monkeypatch.setattr(IndexDataCacheFile, "_load_index", look)
    monkeypatch.setattr(IndexDataCacheFile, "_load_data", lambda self, name: name)
    assert files.load("int32") == "kernel.1.nbc"
    assert len(looks) == 4
    os.close(handle)
    looks.clear()
    monkeypatch.setattr(IndexDataCacheFile, "_load_index", lambda self: {})
    assert files.load("int32") is None
    assert path in kernelcache._locked  # other processes wait for this one now
    kernelcache._release(path)
    assert not os.path.exists(path)


def test_parsers_are_compiled_when_they_are_called_for_one_signature(tmp_path):
    code = COUNTED.format("import grailbench.graph.readers.rows\nprint(kernelcache.compiled)\nfirst.read()")
    done, out = in_python(code, NUMBA_CACHE_DIR=str(tmp_path))
    before, after = map(int, out.split())
    assert (done, before) == (0, 0)
    assert after > 0
    arrays = np.frombuffer(b"0: #\n", np.uint8).copy(), np.zeros(13, np.int64), *(np.empty(1, np.int32) for _ in "uv")
    parse_gra(*arrays, np.zeros(1, np.uint8))
    assert len(parse_gra.signatures) == 1
    with pytest.raises(TypeError):
        parse_gra(*arrays, np.zeros(1, np.int64))


def test_each_job_does_what_it_is_named_for():
    for job in (*first.of_answer(True), Job("grailbench.api.first:read"), Job("grailbench.api.first:questions")):
        job()
    known = implementations()
    jobs = first.of_all(gpu=False)
    assert {job.args[0] for job in jobs if job.args} == {
        name for name, each in known.items() if not each.needs and ":" not in name
    }
    of_gpu = [job for job in first.of_all(gpu=True) if job not in jobs]
    assert {job.args[0] for job in of_gpu} >= {"gpu", "gpu-path", "gpu-fused", "core-gpu"}
    assert [job.args[2] for job in of_gpu if job.function.endswith(":part") and job.args[0] == "gpu"] == [*range(6)]


@pytest.mark.parametrize(("made", "edges"), [(first.path(), [(0, 1)]), (first.in_tree(), [(0, 2), (1, 2)])])
def test_graphs_that_are_made_without_kernels_are_those_that_condensing_makes(made, edges):
    wanted = dag_of(made.super_root, edges)
    for name in ("offsets", "children", "levels", "order", "component"):
        found = getattr(made, name)
        assert (found.dtype, found.tolist()) == (getattr(wanted, name).dtype, getattr(wanted, name).tolist())


def test_a_run_expects_the_kernels_of_its_cells_those_of_a_gpu_first():
    cells = planned({"implementations": ["dfs", "gpu", "sequential"], "datasets": ["path-9"]}).cells
    jobs = [job.function.partition(":")[2] for job in first.of_cells(cells, simulated=False)]
    assert jobs == [*["part"] * 6, "prime", "prime", "checked", "turned", "condensed"]
    assert [job.function.partition(":")[2] for job in first.of_cells(cells, simulated=True)][:1] == ["prime"]


def test_warmup_says_what_it_did(monkeypatch, capsys):
    monkeypatch.setattr(first, "of_all", lambda gpu: [Job("time:sleep", (0,))] * 3)
    code, out, _ = call(capsys, "warmup", "--jobs", 2)
    assert code == 0
    assert out.startswith("0 kernels compiled in ")
    assert out.strip().endswith(f" s by 2 processes: {kernelcache.folder()}")
    code, out, _ = call(capsys, "warmup", "--json")
    (record,) = map(json.loads, out.splitlines())
    assert code == 0
    assert (record["kernels"], record["failed"]) == (0, {})


def test_warmup_names_what_could_not_be_compiled(monkeypatch, capsys):
    monkeypatch.setattr(first, "of_all", lambda gpu: [Job("operator:truediv", (1, 0)), Job("os:_exit", (1,))])
    code, _, err = call(capsys, "warmup", "--jobs", 1)
    assert (code, err) == (1, "error: truediv 1 0: ZeroDivisionError: division by zero, and 1 more\n")


def test_warmup_needs_a_folder_and_for_a_gpu_one(tmp_path):
    (tmp_path / "file").write_text("")
    code, _, err = call_apart("warmup", NUMBA_CACHE_DIR=str(tmp_path / "file"))
    assert code == 2
    assert err.startswith(f"error: {tmp_path / 'file'}: cannot be written")
    code, _, err = call_apart("warmup", "--gpu", NUMBA_CACHE_DIR=str(tmp_path))
    assert (code, err[:19]) == (4, "error: no CUDA here")
