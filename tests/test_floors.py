"""The floor that counters set, on a machine made up for the purpose."""

import json

import pytest

from grailbench.errors import InputError, MachineLacks
from grailbench.harness import environment
from grailbench.harness.cells import cells
from grailbench.harness.limits.ceilings import Ceilings
from grailbench.report import floors

DOCUMENT = {
    "machine": {"caches": {"L1d": "32K", "L3": "1024K"}},
    "cpu": {
        "measurements": [
            {"what": "read", "threads": 1, "bytes": 1 << 30, "median": 10.0},
            {"what": "gather", "threads": 1, "bytes": 1 << 14, "median": 2.0},
            {"what": "gather", "threads": 1, "bytes": 1 << 20, "median": 0.5},
            {"what": "read", "threads": 8, "bytes": 1 << 30, "median": 40.0},
            {"what": "gather", "threads": 8, "bytes": 1 << 14, "median": 16.0},
        ]
    },
}
ONE = Ceilings.of(DOCUMENT, 1)


def counted(gathers, streamed, table, phase="query"):
    return {
        f"{phase}_gathers": gathers,
        f"{phase}_bytes_streamed": streamed,
        f"{phase}_pass_bytes": streamed // 2,
        "gather_table_bytes": table,
    }


def test_gathers_take_the_rate_of_the_largest_table_that_is_not_larger_and_passes_beyond_the_cache_are_streamed():
    assert floors.least_ms(counted(10**6, 0, 1 << 19), "query", ONE) == (0.5, "gather")
    assert floors.least_ms(counted(10**6, 0, 1 << 20), "query", ONE) == (2.0, "gather")
    assert floors.least_ms(counted(10**6, 0, 8), "query", ONE)[0] == 0.5, "the fastest rate where all are larger"
    assert floors.least_ms(counted(1, 2 << 20, 8), "query", ONE)[1] == "gather"
    assert floors.least_ms(counted(1, 10**8, 8), "query", ONE) == (10.0, "stream")
    assert Ceilings.of(DOCUMENT, 4).gathers_per_ms(1 << 14) == 16e6


def test_ceilings_that_are_missing_or_of_another_machine_are_asked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAILBENCH_CACHE", str(tmp_path / "cache"))
    here = environment.fingerprint(environment.environment())
    for fingerprint, error, remedy in (
        ("elsewhere", InputError, "--limit=limits.json"),
        (here, MachineLacks, "grailbench limits"),
    ):
        (tmp_path / "environment.json").write_text(json.dumps({"fingerprint": fingerprint}))
        with pytest.raises(error, match=remedy):
            floors.ceilings_for(tmp_path)
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(InputError, match="other.json"):
        floors.ceilings_for(tmp_path, str(tmp_path / "other.json"))
    with pytest.raises(InputError, match=r"gone\.json: there is no such file \('grailbench limits --out DIR'"):
        floors.ceilings_for(tmp_path, str(tmp_path / "gone.json"))


def test_a_time_is_told_as_a_multiple_of_its_floor_apart_by_queries_and_called_sampled():
    counters = counted(0, 0, 0, "label") | counted(10**6, 0, 1 << 14)
    rows = [
        {**CELL, "phase": phase, "ms": ms, "trial": trial, "counters": counters}
        for trial in range(3)
        for phase, ms in (("label", 1.0), ("query", 2.0))
    ]
    frame = floors.multiples(cells(rows), DOCUMENT)
    assert frame[["phase", "least_ms", "x_limit", "bound"]].values.tolist() == [["query", 0.5, 4.0, "gather"]]
    row = {**CELL, "phase": "query", "ms": 2.0, "trial": 0, "counters": counters}
    found = cells([row, {**row, "query_set": "balanced-10-s1", "verified": "sample of 9"}])
    assert floors.counters(found).query_set.tolist() == ["random-10-s1", "balanced-10-s1"]
    frame = floors.multiples(found, DOCUMENT)
    assert frame.query_set.tolist() == ["random-10-s1", "balanced-10-s1"]
    assert [name.endswith(", sampled") for name in frame.cell] == [False, True]


CELL = {
    "dataset": "kegg", "impl": "sequential", "dim": 2, "search": "dfs", "filters": "none", "threads": None,
    "order": "random", "seed": 1, "query_set": "random-10-s1", "under": "", "status": "ok", "planned": 3,
}  # fmt: skip


GPU = {
    "device": {"l2_bytes": 1 << 20},
    "measurements": [
        {"what": "copy", "variant": "driver", "bytes": 1 << 30, "median": 4000.0},
        {"what": "copy", "variant": "kernel", "bytes": 1 << 30, "median": 3000.0},
        {"what": "gather", "bytes": 1 << 18, "median": 100.0},
        {"what": "gather", "bytes": 1 << 30, "median": 20.0},
        {"what": "grid barrier", "median": 2.0},
        {"what": "grid barrier", "median": 1.5},
    ],
}


def on_a_gpu(**changes):
    counters = counted(10**6, 0, 1 << 30, "label") | counted(10**8, 4 * 10**9, 1 << 30) | {"label_barriers": 100}
    base = {**CELL, "impl": "gpu-fused", "counters": counters, "devices": 1, **changes}
    times = (("label", "", 9.0), ("on_device", "label", 0.4), ("query", "", 30.0), ("on_device", "query", 10.0))
    rows = [{**base, "phase": phase, "under": under, "ms": ms, "trial": 0} for phase, under, ms in times]
    return cells(rows)


def test_a_gpu_stands_with_its_part_of_a_phase_against_its_own_ceilings_and_barriers():
    frame = floors.multiples(on_a_gpu(), {**DOCUMENT, "gpu": GPU})
    assert frame[["phase", "least_ms", "bound"]].values.tolist() == [
        ["label/on_device", pytest.approx(1 / 20 + 0.15), "barrier"],
        ["query/on_device", pytest.approx(5.0), "gather"],
    ]
    assert frame["x_limit"].tolist() == [pytest.approx(2.0), pytest.approx(2.0)]
    # without ceilings of a GPU, or on several, nothing is claimed
    assert floors.multiples(on_a_gpu(), DOCUMENT).empty
    assert floors.multiples(on_a_gpu(devices=2), {**DOCUMENT, "gpu": GPU}).empty
