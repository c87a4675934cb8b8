"""The environment record: complete, plain JSON, and a fingerprint that moves when it should."""

import json

from grailbench.harness import environment


def test_record_is_plain_json_and_names_machine_and_software():
    record = environment.environment()
    assert json.loads(json.dumps(record)) == record
    assert record["cores"] >= 1
    assert record["memory_bytes"] > 1 << 20
    assert record["cpu"]
    assert {"numpy", "numba"} <= set(record["packages"])
    assert record["threads"].keys() >= {"NUMBA_NUM_THREADS", "OMP_NUM_THREADS"}


def test_fingerprint_ignores_load_and_commit_but_not_threads():
    record = environment.environment()
    same = {**record, "load_average": [99, 99], "commit": "0", "dirty": not record["dirty"], "command": []}
    same["memory_bytes"] *= 2
    other = {**record, "threads": {**record["threads"], "NUMBA_NUM_THREADS": "77"}}
    assert environment.fingerprint(same) == environment.fingerprint(record)
    assert environment.fingerprint(other) != environment.fingerprint(record)


def test_code_version_changes_with_a_measuring_source_and_no_other(monkeypatch, tmp_path):
    package = tmp_path / "grailbench"
    (package / "bench").mkdir(parents=True)
    (package / "bench" / "a.py").write_text("x = 1\n")
    monkeypatch.setattr(environment, "__file__", str(package / "bench" / "environment.py"))
    code_version = environment.code_version.__wrapped__  # which a process asks for once
    before = code_version()
    for name in ("cli", "report", "datasets", "runs", "limits"):
        (package / name).mkdir()
        (package / name / "b.py").write_text("y = 1\n")
    assert code_version() == before
    (package / "bench" / "a.py").write_text("x = 2\n")
    assert code_version() != before


def test_a_machine_is_busy_from_a_load_of_0_6_a_core():
    assert environment.busy({"cores": 2, "load_average": [1.3, 0, 0]}) == "load average 1.3 on 2 cores"
    odd = ("x", [], ["x"], None, 3, {"a": 1})
    known = [{"cores": 2, "load_average": [1.1, 9, 9]}, {}, *({"cores": 2, "load_average": load} for load in odd)]
    assert [environment.busy(each) for each in [*known, {"cores": "x", "load_average": [9.0]}]] == [None] * 9
