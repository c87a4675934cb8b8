"""The committed baseline belongs to the committed config, passes its own gate, and can carry it."""

from pathlib import Path

import numpy as np
import pytest

from grailbench.bench import results
from grailbench.bench.plan import load_config, make_plan
from grailbench.report import compare
from grailbench.report.gate import load_gate
from grailbench.report.runs import load

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
    assert stored["cells"] == [cell.record() for cell in plan.cells], AGAIN


def test_every_cell_is_sound_counted_and_timed_unless_threads_share_the_cores(baseline):
    assert len(baseline.cells) == len(make_plan(load_config("ci")).cells)
    for cell in baseline.cells.values():
        assert cell.sound
        assert cell.counters
        assert (cell.sample("query").size >= compare.MIN_TRIALS) == (cell.columns["threads"] is None)


def test_graphs_need_no_download_and_threads_are_the_same_everywhere(baseline):
    assert {cell.kind for cell in baseline.cells.values()} == {"synthetic"}
    assert {cell.columns["threads"] for cell in baseline.cells.values()} <= {None, 2}


def test_phases_are_short_enough_to_be_hardly_disturbed(baseline):
    long = [c.label for c in baseline.cells.values() for t in ("label", "query") if np.median(c.sample(t)) > LONGEST_MS]
    assert long == []


def test_baseline_was_recorded_from_a_clean_tree(baseline):
    assert baseline.environment["commit"]
    assert baseline.environment["dirty"] is False


def test_gate_compares_counters_and_times_on_this_and_on_another_machine(baseline):
    gate = load_gate(FOLDER / "gate.toml")
    assert gate.reference in baseline.implementations()
    found = compare.compare(baseline, baseline, gate)
    assert found.exit_code == 0
    assert found.counted > 100
    assert len(found.times) > 20
