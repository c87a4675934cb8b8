"""Problem `read`: every reader gives back what was written; one that does not is wrong, a slow one fails the gate."""

from pathlib import Path

import pytest
from clock import Clock
from watchers import Notes

from grailbench.compare import runs as compare
from grailbench.compare.runs import gate_of
from grailbench.graph.csr import Graph
from grailbench.harness import timing
from grailbench.harness.cells import load
from grailbench.harness.plan import Config, load_config, make_plan
from grailbench.harness.runner import run
from grailbench.problems import contract

FOLDER = Path(__file__).parents[1] / "results" / "baselines" / "speed"
CLOCK = Clock(tick_ns=1_000_000)


@pytest.fixture
def measured(diamond, tmp_path, monkeypatch):
    """Runs readers on the diamond by a clock that nothing but the test moves; returns what came of it."""
    monkeypatch.setattr(timing, "perf_counter_ns", CLOCK)

    def measure(name="run", **block):
        block = {"problem": "read", "datasets": [diamond], "trials": 15} | block
        return run(make_plan(Config.model_validate({"experiment": [block]})), Notes(), out=tmp_path / name, fetch=False)

    return measure


def plant(monkeypatch, name, read):
    """A reader in the place of `name` that reads as `read(right, path, vertices)` says."""
    right = contract.implementation(name, "read")
    spoiled = classmethod(lambda cls, path, vertices: read(right, path, vertices))
    monkeypatch.setitem(contract._registry["read"], name, type("Planted", (right,), {"read": spoiled}))


@pytest.mark.slow
def test_every_reader_gives_what_was_written(measured):
    done = measured()
    done.check()
    assert {row["impl"] for row in done.rows} == set(contract.implementations("read"))
    assert {(row["phase"], row["positives"]) for row in done.rows} == {("solve", 7)}
    size = {row["impl"]: row["counters"]["text_bytes"] for row in done.rows}
    assert all(row["rate"] == pytest.approx(size[row["impl"]] / 1e3) for row in done.rows)  # in the one millisecond


@pytest.mark.slow
@pytest.mark.parametrize(
    "spoil",
    [
        lambda found: Graph(found.vertices + 1, found.sources, found.targets),
        lambda found: Graph(found.vertices, found.targets, found.sources),
        lambda found: Graph(found.vertices, found.sources[1:], found.targets[1:]),
    ],
)
def test_a_reader_that_gives_another_graph_is_wrong(measured, monkeypatch, spoil):
    plant(monkeypatch, "edges", lambda right, *given: spoil(right.read(*given)))
    status = {row["impl"]: row["status"] for row in measured().rows}
    assert status == {"gra": "ok", "edges": "wrong", "mtx": "ok", "pandas": "ok"}


@pytest.mark.slow
def test_a_reader_that_became_slow_fails_the_gate_and_no_other_does(measured, monkeypatch):
    def slowly(right, *given):
        CLOCK.sleep(0.003)
        return right.read(*given)

    base = measured("base").folder
    again = compare.of_runs(base, measured("again").folder, gate_of(FOLDER / "gate.toml"))
    plant(monkeypatch, "mtx", slowly)
    slow = compare.of_runs(base, measured("slow").folder, gate_of(FOLDER / "gate.toml"))
    assert (again.exit_code, slow.exit_code) == (0, 1)
    assert [(each.label, each.phase) for each in slow.of("regression")] == [("read mtx all", "solve")]


def test_the_baseline_is_of_the_config_as_it_stands():
    baseline, plan = load(FOLDER), make_plan(load_config("speed"))
    assert len(baseline.cells) == len(plan.cells)
    assert all(cell.sound and cell.sample("solve").size >= compare.MIN_TRIALS for cell in baseline.cells)
    assert {cell.dataset for cell in baseline.cells} == {cell.dataset for cell in plan.cells}
    assert compare.compare(baseline, baseline, gate_of(FOLDER / "gate.toml")).exit_code == 0
