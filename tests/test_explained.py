"""`grailbench info` says of every implementation what it does, what it costs and what it counts, and that is so."""

import json

import pytest
from commands import ROOT, call

from grailbench.harness import folder as results
from grailbench.problems import contract

OURS = [
    (problem, name)
    for problem in contract.PROBLEMS
    for name, found in contract.implementations(problem).items()
    if found.__module__.startswith("grailbench.")
]
#: what `counters` has beside counted work: the traffic that follows from it
TRAFFIC = ("_bytes_read", "_bytes_written", "_bytes_streamed", "_pass_bytes", "_gathers", "gather_table_bytes")


def explained(capsys, name):
    """The records of implementations of that name, by problem."""
    code, out, _ = call(capsys, "info", name, "--json")
    assert code == 0
    records = [json.loads(line) for line in out.splitlines()]
    return {record["problem"]: record for record in records if record["kind"] == "implementation"}


@pytest.mark.parametrize(("problem", "name"), OURS)
def test_info_explains(capsys, problem, name):
    record = explained(capsys, name)[problem]
    assert 10 < len(record["what"]) < 160
    assert record["what"].endswith(".")
    assert all(step[0].isupper() or step[0] in "`1" for step in record["steps"])
    assert sum(map(len, record["steps"])) > 40
    assert record["cost"]
    assert set(record) >= {"problem", "name", "needs", "source", "axes", "counters"}


def test_info_says_it_to_people_a_sentence_a_line(capsys):
    code, out, _ = call(capsys, "info", "sequential")
    assert code == 0
    lines = out.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("steps "))
    assert lines[at].endswith("among all that it reaches.")
    assert lines[at + 1].startswith("          A query u -> v is 'no'")
    assert any(line.startswith("counters") and "label_edges_scanned, levels_compared" not in line for line in lines)


def recorded():
    """Nonzero counters of the sound cells of all recorded runs, by problem and implementation."""
    found = {}
    for path in (ROOT / "results" / "baselines").rglob(results.COMPRESSED):
        for line in results.content(path.parent, results.ROWS).decode().splitlines():
            if '"counters": {' in line and (row := json.loads(line))["status"] == "ok":
                work = {name for name, count in row["counters"].items() if count and not name.endswith(TRAFFIC)}
                found.setdefault((row.get("problem") or "reachability", row["impl"]), set()).update(work)
    return found


#: counters of recorded runs that their implementations no longer have: what they counted is no longer done
RETIRED = {("sssp", "near-far"): {"by_one_block"}, ("reachability", "core"): {"queries_to_labels"}}


@pytest.mark.slow
def test_counters_that_recorded_runs_have_are_named():
    found = recorded()
    assert len(found) > 30
    missing = {
        key: work
        - {*contract.implementation(key[1], key[0]).counts, *contract.problem(key[0]).counts}
        - RETIRED.get(key, set())
        for key, work in found.items()
        if not key[1].startswith("peer:")
    }
    assert {key: names for key, names in missing.items() if names} == {}
    assert {"label_edges_scanned", "searches"} <= found["reachability", "sequential"]
