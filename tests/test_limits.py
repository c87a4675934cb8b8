"""The machine's ceilings: operations checked before they are timed, rows that make sense, a cache a machine."""

import dataclasses

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401
from commands import call_apart
from outcomes import as_json, succeeds

from grailbench.cuda.describe import describe
from grailbench.cuda.gateway import simulated
from grailbench.errors import CheckFailed, InputError, MachineLacks
from grailbench.harness import environment
from grailbench.harness import limits as scale
from grailbench.harness.folder import read_json
from grailbench.harness.limits import ceilings, cpu, gpu
from grailbench.util import paths

SMALL = dataclasses.replace(scale.TINY, cpu_copy=1 << 18)


def cpu_rows(threads=2):
    return cpu.measure(SMALL, threads, 0, lambda text: None)


def document(*measurements, **changes):
    """A document as it is stored, of these measurements."""
    recorded = environment.environment()
    found = ceilings._new(recorded, quick=False)
    return found | {"cpu": {"at": "now", "seconds": 1.0, "measurements": list(measurements)}} | changes


def gather(size, *values, **shape):
    return scale.row("cpu", "gather", "G/s", list(values), bytes=size, threads=1, **shape)


# ------------------------------------------------------------------ what is measured


def test_processor_has_streams_and_a_gather_a_table_for_one_thread_and_for_all():
    rows = cpu_rows()
    kinds = {(each["what"], each["threads"], each["bytes"] if each["what"] == "gather" else 0) for each in rows}
    assert kinds == {(what, threads, 0) for what in ("read", "copy") for threads in (1, 2)} | {
        ("gather", threads, size) for size in SMALL.cpu_tables for threads in (1, 2)
    }
    assert all(0 < each["least"] <= each["median"] <= each["most"] for each in rows)
    assert all(each["repeats"] == SMALL.repeats for each in rows)


def test_copied_array_is_several_times_the_last_level_cache():
    rows = cpu.measure(SMALL, 1, 1 << 20, lambda text: None)
    assert [each["bytes"] for each in rows if each["what"] == "copy"] == [4 << 20]
    assert ceilings.last_level_bytes({"L1d": "48K", "L2": "1024K", "L3": "32M"}) == 32 << 20
    assert ceilings.last_level_bytes({}) == 64 << 20


@pytest.mark.parametrize("kernel", ["_gather", "_read"])
def test_a_processor_kernel_that_computes_something_wrong_is_not_timed(monkeypatch, kernel):
    monkeypatch.setattr(cpu, kernel, lambda *args: 1)
    with pytest.raises(CheckFailed, match="processor"):
        cpu_rows()


@pytest.mark.skipif(not simulated, reason="of the simulator")
def test_simulator_checks_every_operation_and_records_no_time(cache):
    found = ceilings.measure(simulate=True)
    rows = ceilings.rows(found)
    whats = {each["what"] for each in rows}
    assert whats == {"copy", "gather", "atomic add", "launch", "grid barrier", "transfer"}
    assert all(each["median"] is None and each["where"] == "gpu" for each in rows)
    assert found["gpu"]["device"]["simulated"]
    assert [path.name for path in cache.iterdir()] == [paths.CACHE_MARK]


@pytest.mark.parametrize("operation", ["gather", "atomic add"])
def test_a_device_operation_that_computes_something_wrong_is_not_timed(monkeypatch, operation):
    walk = gpu._walk
    monkeypatch.setattr(gpu, "_walk", lambda seeds, steps: walk(seeds + np.uint32(2), steps))
    part = {"gather": gpu._gathers, "atomic add": gpu._atomics}[operation]
    with pytest.raises(CheckFailed, match=operation):
        part(scale.TINY, describe())


@pytest.mark.gpu
@pytest.mark.skipif(simulated, reason="needs a GPU")
def test_gpu_ceilings_are_plausible():
    rows = gpu.measure(scale.QUICK, lambda text: None)
    assert all(0 < each["least"] <= each["median"] <= each["most"] for each in rows)


# ------------------------------------------------------------------ the cache


def test_what_is_saved_is_loaded_on_this_machine_only(cache):
    assert ceilings.load() is None
    stored = document(gather(1 << 14, 2.0))
    path = ceilings.save(stored)
    assert ceilings.load() == stored
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    ceilings.save(stored | {"fingerprint": "0" * 16})
    assert ceilings.load() == stored
    path.unlink()
    assert ceilings.load() is None


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"format": 1, "cpu": {"measurements": [{}]}}', "\x00", '"x"', pytest.param("[" * 100_000, id="deep")],
)
def test_a_damaged_cache_counts_as_none(cache, text):
    path = ceilings.save(document(gather(64, 1.0)))
    path.write_text(text)
    assert ceilings.load() is None


def test_what_the_cache_holds_is_not_measured_again_unless_asked(cache, monkeypatch):
    parts = iter([[gather(64, 1.0)], [gather(64, 2.0)]])
    monkeypatch.setattr(cpu, "measure", lambda *args: next(parts))
    first = ceilings.measure(("cpu",))
    assert ceilings.measure(("cpu",)) == first
    assert ceilings.measure(("cpu",), again=True) != first
    assert ceilings.load()["cpu"]["measurements"][0]["median"] == 2.0


@pytest.mark.parametrize("name", ["limits.json", "environment.json"])
def test_export_replaces_no_file_of_the_user(tmp_path, name):
    """It did."""
    (tmp_path / name).write_text('{"mine": 1}')
    with pytest.raises(InputError, match=f"{name}: was not written by grailbench, and is not replaced"):
        ceilings.export(document(gather(64, 1.0)), tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {name: '{"mine": 1}'}


# ------------------------------------------------------------------ without a GPU


def test_without_a_gpu_the_processor_is_measured_and_a_note_says_what_lacks(cache, monkeypatch):
    def lacks(*args):
        raise MachineLacks("no driver")

    monkeypatch.setattr(ceilings, "_measure_gpu", lacks)
    monkeypatch.setattr(cpu, "measure", lambda *args: [gather(64, 1.0)])
    notes = []
    assert "gpu" not in ceilings.measure(note=notes.append)
    assert any("no driver" in text for text in notes)
    with pytest.raises(MachineLacks, match="no driver"):
        ceilings.measure(("gpu",))


def test_asking_for_the_gpu_where_there_is_none_exits_with_4_and_one_line(tmp_path):
    code, out, err = call_apart("limits", "--only", "gpu", GRAILBENCH_CACHE=str(tmp_path))
    assert (code, out, err.count("\n")) == (4, "", 1)
    assert "numba-cuda" in err


@pytest.mark.skipif(not simulated, reason="of the simulator")
def test_simulator_left_on_in_the_environment_is_never_taken_for_a_gpu(cache):
    with pytest.raises(MachineLacks, match="NUMBA_ENABLE_CUDASIM"):
        ceilings.measure(("gpu",))


# ------------------------------------------------------------------ the command


def test_command_prints_an_object_a_measurement_and_exports_them(cache, capsys, tmp_path):
    stored = document(gather(1 << 14, 2.0), gather(1 << 16, 1.0))
    ceilings.save(stored)
    for _ in range(2):  # its own files are replaced
        rows = as_json(capsys, "limits", "--only", "cpu", "--out", tmp_path / "machine" / "limits")
        assert [each["median"] for each in rows] == [2.0, 1.0]
        assert all(list(each) == list(scale.FIELDS) for each in rows)
        assert read_json(tmp_path / "machine" / "limits" / "limits.json") == stored
        assert read_json(tmp_path / "machine" / "limits" / "environment.json")["cpu"]


def test_table_for_people_gives_size_threads_figure_and_marks_noise(cache, capsys):
    ceilings.save(document(gather(1 << 14, 2.5), gather(1 << 30, 0.1, 0.11, 0.3)))
    out, _ = succeeds(capsys, "limits", "--only", "cpu")
    assert "\x1b" not in out
    assert all(word in out for word in ("gather", "16 KiB", "1 GiB", "2.5", "0.11*", "G/s"))
