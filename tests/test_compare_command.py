"""The command: exit codes, formats and errors; and comparisons of real runs with planted faults."""

import dataclasses
import json

import pytest
from commands import call
from compared import cell, steady, writer

from grailbench.compare.runs import gate_of
from grailbench.harness import folder as results
from grailbench.problems.reachability.index import implementation


@pytest.fixture
def stored(tmp_path):
    return writer(tmp_path)


# ------------------------------------------------------------------ the command


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ratio = 0.9", "key 'ratio'"),
        ("ratio = 'wide'", "key 'ratio'"),
        ("ration = 1.2", "did you mean 'ratio'"),
        ("ratio = = 2\n", "line 1"),
        ("times = 'always'", "key 'times'"),
    ],
)
def test_a_bad_gate_file_is_refused_with_its_key(capsys, stored, tmp_path, text, says):
    run, gate = stored("a", cell()), tmp_path / "gate.toml"
    gate.write_text(text)
    code, _, err = call(capsys, "compare", run, run, "--gate", gate)
    assert code == 2
    assert says in err
    assert "gate.toml" in err
    assert "Traceback" not in err


def test_a_gate_file_gives_every_key_and_a_busy_machine_is_said(tmp_path, capsys, stored):
    gate = tmp_path / "gate.toml"
    gate.write_text('ratio = 1.5\nreference = "dfs"\ntimes = "none"\n')
    found = gate_of(gate)
    assert (found.ratio, found.reference, found.times, found.across) == (1.5, "dfs", "none", 2.0)
    run = stored("a", cell(), load_average=[3.1, 2.0, 2.0])
    lines = call(capsys, "compare", run, run)[1].splitlines()
    assert lines[2].startswith("the base run: load average 3.1 on 2 cores, which disturbs its times")


def test_bad_runs_and_files_exit_with_2(capsys, stored, tmp_path):
    good = stored("good", cell())
    assert call(capsys, "compare", good, "no-such-run")[0] == 2
    assert call(capsys, "compare", good, good, "--gate", tmp_path / "none.toml")[0] == 2
    no_environment = stored("bare", cell())
    (no_environment / results.ENVIRONMENT).unlink()
    assert call(capsys, "compare", good, no_environment)[0] == 2
    torn = stored("torn", cell())
    (torn / results.ROWS).write_text("{oops\n" + (torn / results.ROWS).read_text())
    code, _, err = call(capsys, "compare", torn, good)
    assert code == 2
    assert "line 1" in err
    old = stored("old", [{"status": "ok", "key": "k", "phase": "query", "under": "", "trial": 0, "ms": 1.0}])
    code, _, err = call(capsys, "compare", old, good)
    assert code == 2
    assert "Traceback" not in err


def test_json_is_one_object_a_line_with_the_verdict_last(capsys, stored):
    base = stored("a", cell("dfs"), cell())
    new = stored("b", cell("dfs", status="failed"), cell(ms=steady(20.0), counters={"edges_scanned": 2000}))
    code, out, _ = call(capsys, "compare", base, new, "--format", "json")
    records = [json.loads(line) for line in out.splitlines()]
    assert code == 1
    assert [record["kind"] for record in records] == ["cell", "counter", "counter", "time", "verdict"]
    time = records[3]
    assert time["base"]["interval"][0] < time["base"]["median"] < time["new"]["median"]
    assert records[-1]["kind"] == "verdict"
    assert records[-1]["exit_code"] == 1
    assert call(capsys, "compare", base, new, "--json")[1] == out


def test_markdown_is_the_verdict_and_all_else_folded_away(capsys, stored):
    base, slower = stored("a", cell()), stored("b", cell(ms=steady(20.0)))
    code, out, _ = call(capsys, "compare", base, slower, "--format", "markdown")
    assert code == 1
    first, *folded = out.split("<details>")
    assert first.strip() == "## grailbench: 1 regression: 1 in times"
    titles = [each.partition("</summary>")[0].removeprefix("<summary>") for each in folded]
    assert titles == ["What was compared", "Times that differ", "All 1 times"]
    assert all(each.rstrip().endswith("</details>") for each in folded)
    assert "| kegg" in folded[1]


def test_geometric_means_over_sampled_cells_say_so(capsys, stored):
    some = {"verified": "sample of 10"}
    runs = [
        stored(name, cell(ms=ms), cell(dataset="human", ms=ms), cell("dfs", ms=ms), cell("dfs", ms, "human", **some))
        for name, ms in (("a", steady()), ("b", steady(10.1)))
    ]
    for form in ("table", "markdown"):
        _, out, _ = call(capsys, "compare", *runs, "--format", form)
        part = out.partition("Geometric means")[2].partition("All 4 times")[0]
        means = [line for line in part.splitlines() if " query " in line]
        assert {"dfs" in line.split("d=2")[0]: "(sampled)" in line for line in means} == {True: True, False: False}
    records = [json.loads(line) for line in call(capsys, "compare", *runs, "--json")[1].splitlines()]
    assert [each["sampled"] for each in records if each["kind"] == "mean"] == [False, True]


def test_table_shows_what_differs_and_with_all_everything(capsys, stored):
    run, slower = stored("a", cell()), stored("b", cell(ms=steady(20.0)))
    code, out, err = call(capsys, "compare", run, slower)
    assert (code, "SLOWER" in out, "1 regression of b from a" in err) == (1, True, True)
    assert call(capsys, "compare", run, stored("c", cell(dataset="human")))[0] == 3
    code, out, _ = call(capsys, "compare", run, run)
    assert code == 0
    assert "no regression" in out
    assert "kegg" not in out
    assert "kegg" in call(capsys, "compare", run, run, "--all")[1]


@pytest.mark.slow
def test_a_fault_that_makes_searches_longer_is_caught_by_the_counters_of_two_runs(capsys, monkeypatch, tmp_path):
    right = implementation("sequential").build.__func__

    def with_one_label_pair(cls, dag, params, timer):
        return right(cls, dag, dataclasses.replace(params, dim=1), timer)

    words = ["--dataset", "kegg-like", "--impl", "sequential", "--dim", 2, "--count", 5000, "--trials", 1, "--out"]
    assert call(capsys, "run", *words, tmp_path / "base")[0] == 0
    monkeypatch.setattr(implementation("sequential"), "build", classmethod(with_one_label_pair))
    assert call(capsys, "run", *words, tmp_path / "new")[0] == 0
    code, out, _ = call(capsys, "compare", tmp_path / "base", tmp_path / "new", "--times", "none", "--json")
    worse = [each for each in map(json.loads, out.splitlines()) if each.get("verdict") == "regression"]
    assert code == 1
    assert "edges_scanned" in {each["counter"] for each in worse if each["kind"] == "counter"}
    assert {each["kind"] for each in worse} <= {"counter", "verdict"}
