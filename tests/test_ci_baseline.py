"""The committed baseline belongs to the committed config, passes its own gate, and can carry it."""

from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from strategies import dag_of

from grailbench.compare import runs as compare
from grailbench.compare.runs import gate_of
from grailbench.harness import folder as results
from grailbench.harness.cells import load
from grailbench.harness.plan import load_config, make_plan
from grailbench.harness.rows import cell_of
from grailbench.problems.reachability.index import NoTimer, Params, implementation

FOLDER = Path(__file__).parents[1] / "results" / "baselines" / "ci"
AGAIN = "record it anew: results/baselines/ci/README.md"
LONGEST_MS = 4.0  #: between two turns of the scheduler


@pytest.fixture(scope="module")
def baseline():
    return load(FOLDER)


def test_baseline_is_of_the_config_as_it_stands():
    stored = results.read_json(FOLDER / results.PLAN)
    plan = make_plan(load_config("ci"))
    assert stored["digest"] == plan.digest, AGAIN
    assert stored["cells"] == [cell.stored() for cell in plan.cells], AGAIN


def test_every_cell_is_sound_counted_and_timed_unless_threads_share_the_cores(baseline):
    assert len(baseline.cells) == len(make_plan(load_config("ci")).cells)
    for cell in baseline.cells:
        assert cell.sound
        assert cell.counters
        assert (cell.sample("query").size >= compare.MIN_TRIALS) == (cell.threads == 0)
        assert cell.kind == "synthetic", "it needs no download"
        assert cell.threads in (0, 2), "which are the same everywhere"
        for phase in ("label", "query"):
            assert np.median(cell.sample(phase)) <= LONGEST_MS, "short enough to be hardly disturbed"


def test_baseline_was_recorded_from_a_clean_tree(baseline):
    assert baseline.environment["commit"]
    assert baseline.environment["dirty"] is False


@pytest.mark.slow
def test_a_cell_or_counter_that_the_baseline_lacks_fails_the_gate(baseline):
    gate = gate_of(FOLDER / "gate.toml")
    short = deepcopy(baseline)
    del short.cells[0].counters["edges_scanned"]
    assert compare.compare(short, baseline, gate).exit_code == 1
    fewer = replace(baseline, rows=[row for row in baseline.rows if cell_of(row) != baseline.cells[0].key])
    assert compare.compare(fewer, baseline, gate).exit_code == 1
    assert compare.compare(baseline, fewer, gate).exit_code == 1


def test_baseline_has_the_counters_that_its_implementations_count_now(baseline):
    graph = dag_of(4, [(0, 1), (1, 2), (0, 2)])
    for name in baseline.implementations:
        params = Params(dim=2, threads=2, count=True)
        made = implementation(name).build(graph, params, NoTimer())
        made.query_batch(np.array([1, 2], dtype=np.int32), np.array([3, 1], dtype=np.int32), NoTimer())
        for cell in baseline.cells:
            if cell.impl == name:
                assert cell.counters.keys() == made.counters.keys(), AGAIN


def test_gate_compares_counters_and_times_on_this_and_on_another_machine(baseline):
    gate = gate_of(FOLDER / "gate.toml")
    assert gate.reference in baseline.implementations
    found = compare.compare(baseline, baseline, gate)
    assert found.exit_code == 0
    assert found.counted > 100
    assert len(found.times) > 20
