"""A comparison finds planted regressions, stays quiet on noise, and says when there is nothing to compare."""

import numpy as np
import pytest
from commands import call
from compared import HERE, THERE, both, cell, steady, writer

from grailbench.cli import compare as compare_view
from grailbench.compare import runs as compare
from grailbench.compare.runs import Gate
from grailbench.errors import InputError, NothingMeasured
from grailbench.problems import contract
from grailbench.problems.reachability.core.index import SIZES


@pytest.fixture
def stored(tmp_path):
    return writer(tmp_path)


# ------------------------------------------------------------------ times


@pytest.mark.parametrize("problem", ["bfs", "closure", "counts"])
def test_the_phases_of_other_problems_are_compared_by_the_same_rule(stored, problem):
    runs = [stored(side, cell(ms=ms, phase="solve", problem=problem)) for side, ms in (
        ("a", steady()), ("b", steady(12.0, 1)))]  # fmt: skip
    found = compare.of_runs(*runs)
    assert [(each.phase, each.verdict) for each in found.times] == [("solve", "regression")]


WIDE = [5.0, 25.0] * 10
PAIRS = {
    "within the gate": (steady(), steady(10.6, 1, scale=0.001), {}, "same"),
    "microseconds": (steady(0.004), steady(0.03, 1), {}, "small"),
    "fewer microseconds": (steady(0.03), steady(0.004, 1), {}, "small"),
    "noise of microseconds": (steady(0.03), steady(0.0301, 1), {}, "same"),
    "microseconds that the gate counts": (steady(0.004), steady(0.03, 1), {"least_ms": 0.0}, "regression"),
    "slower": (steady(), steady(12.0, 1), {}, "regression"),
    "faster": (steady(), steady(5.0, 1), {}, "improvement"),
    "1 in the interval": (WIDE, [*WIDE[:-1], 26.0, 27.0, 28.0], {}, "unclear"),
    "other work on the machine": (
        steady(), np.where(np.arange(20) % 4 > 0, 15.0, 10.0) * steady(1.0, 1), {}, "unclear"),
    "of a phase that is not asked for": (steady(), steady(12.0, 1), {"metrics": ["label", "query/search"]}, None),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_only_what_is_slower_beyond_the_gate_without_doubt_is_a_regression(stored, name):
    base, new, gate, verdict = PAIRS[name]
    runs = [
        stored(side, both(steady(5.0, trials=len(ms)), ms, planned=len(ms))) for side, ms in (("a", base), ("b", new))
    ]
    found = compare.of_runs(*runs, Gate.model_validate(gate))
    assert [each.verdict for each in found.times if each.phase == "query"] == ([verdict] if verdict else [])
    assert all(each.bounds.low <= each.ratio <= each.bounds.high and each.unit == "ms" for each in found.times)
    assert found.exit_code == (verdict == "regression")


def test_a_change_of_an_unstable_cell_is_unclear_where_trials_overlap(stored):
    two_modes = np.where(np.arange(20) % 2 > 0, 14.0, 11.5) * steady(1.0, 1, scale=0.001)
    overlapping = steady()
    overlapping[3] = 13.0
    new = stored("new", cell(ms=two_modes))
    for ms, verdict in ((overlapping, "unclear"), (steady(), "regression")):
        (change,) = compare.of_runs(stored(verdict, cell(ms=ms)), new).times
        assert change.bounds.low > 1.1
        assert change.verdict == verdict
    (change,) = compare.of_runs(stored("c", cell(ms=overlapping)), stored("d", cell(ms=steady(12.5, 1)))).times
    assert change.verdict == "regression", "both are stable"


def test_drift_of_a_side_is_shown_beside_its_verdict_and_too_few_trials_are_not_compared(stored):
    found = compare.of_runs(stored("a", cell()), stored("b", cell(ms=steady(12.0, 1) * np.linspace(1.0, 1.5, 20))))
    assert found.times[0].drifts
    assert "SLOWER~" in compare_view.markdown(found)
    found = compare.of_runs(stored("c", cell(ms=[1.0] * 4)), stored("d", cell(ms=[9.0] * 4)))
    assert found.times == []
    assert found.left_out[0].reason == "4 trials in the base run, 5 are needed"


# ------------------------------------------------------------------ counters


@pytest.mark.parametrize(
    ("counters", "changes"),
    [
        ({"edges_scanned": 1001, "excluded_by_labels": 60}, {"edges_scanned": ("regression", 1000, 1001)}),
        ({"edges_scanned": 10, "excluded_by_labels": 60}, {"edges_scanned": ("improvement", 1000, 10)}),
        ({"edges_scanned": 1000, "excluded_by_labels": 61}, {"excluded_by_labels": ("changed", 60, 61)}),
        (
            {"excluded_by_labels": 60, "launches": 3},
            {"edges_scanned": ("regression", 1000, None), "launches": ("note", None, 3)},
        ),
    ],
)
def test_more_work_or_none_counted_is_a_regression_on_any_machine_less_passes_and_outcomes_are_not_judged(
    stored, counters, changes
):
    found = compare.of_runs(stored("a", cell()), stored("b", cell(counters=counters), machine=THERE))
    assert {each.counter: (each.verdict, each.base, each.new) for each in found.counters} == changes
    verdicts = {verdict for verdict, *_ in changes.values()}
    assert found.exit_code == ("regression" in verdicts)
    assert "record a new baseline" in compare_view.markdown(found) or verdicts != {"improvement"}
    assert {*SIZES, "excluded_by_labels"} < contract.neutral("reachability")


def test_a_counter_that_the_timing_of_threads_changes_is_not_held_on_to(stored):
    def of(impl, **counters):
        return cell(impl, phase="solve", problem="sssp", counters={"launches": 1, **counters})

    def compared(impl, before, after):
        return compare.of_runs(stored("a", of(impl, **before)), stored("b", of(impl, **after)))

    found = compared("near-far", {"rounds": 200}, {"rounds": 204})
    assert (found.counters, found.counted, found.exit_code) == ([], 1, 0)
    assert compared("near-far", {"rounds": 200}, {"rounds": 200}).counted == 2
    (change,) = compared("near-far", {"rounds": 200}, {}).counters
    assert change.verdict == "regression", "it is counted no more"
    (change,) = compared("near-far", {"launches": 1}, {"launches": 2}).counters
    assert change.verdict == "regression", "the others are exact"
    (change,) = compared("coarsened-2", {"rounds": 200}, {"rounds": 204}).counters
    assert change.verdict == "regression", "and so are those of others"


# ------------------------------------------------------------------ cells


@pytest.mark.parametrize("status", ["wrong", "failed", "timeout", "out of memory", "skipped"])
def test_a_cell_that_was_ok_and_is_no_more_is_a_regression(stored, status):
    base = stored("a", cell("dfs"), cell())
    found = compare.of_runs(base, stored("b", cell("dfs"), cell(status=status)))
    (lost,) = found.of("regression")
    assert (lost.new, lost.reason) == (status, "planted")
    assert found.exit_code == 1


def test_a_missing_cell_is_listed_apart_and_a_regression_only_where_all_are_required(stored):
    base, new = stored("a", cell("dfs"), cell()), stored("b", cell("dfs"), cell("bfs"))
    found = compare.of_runs(base, new)
    assert (found.exit_code, found.matched, found.cells) == (0, 1, [])
    assert [(each.label, each.base, each.new, each.verdict) for each in found.one_sided] == [
        ("sequential d=2 dfs", "ok", "absent", "note"), ("bfs d=2 dfs", "absent", "ok", "note"),
    ]  # fmt: skip
    strict = compare.of_runs(base, new, Gate(require_all=True))
    assert strict.exit_code == 1
    assert strict.of("regression") == strict.one_sided


@pytest.mark.slow
def test_a_run_of_one_graph_beside_a_large_one_is_compared_on_that_graph_alone(stored, capsys):
    graphs = ("kegg", *(f"graph-{i}" for i in range(40)))
    impls = ("dfs", "sequential")
    large = stored("large", *(cell(impl, dataset=name) for name in graphs for impl in impls))
    small = stored("small", *(cell(impl, steady(10.0, 3)) for impl in impls))
    for base, new, side in ((large, small, "base"), (small, large, "new")):
        code, out, _ = call(capsys, "compare", base, new)
        assert code == 0
        assert f"2 cells in both; 80 only in {side}, not compared" in out
        assert "no regression in the 2 cells of both" in out
        assert "Geometric means" not in out
        assert "75 more cells: --all shows them." in out
        assert len(out.splitlines()) < 20
        assert "graph-39" in call(capsys, "compare", base, new, "--all")[1]


def test_require_all_fails_with_1_for_a_missing_cell_and_3_where_nothing_is_common(stored, capsys, tmp_path):
    base, less, other = stored("a", cell("dfs"), cell()), stored("b", cell("dfs")), stored("c", cell("bfs"))
    gate = tmp_path / "gate.toml"
    gate.write_text("require_all = true\n")
    for flags in (("--require-all",), ("--gate", gate)):
        code, out, err = call(capsys, "compare", base, less, *flags)
        assert code == 1
        assert "1 in cells that only one run has" in out
        assert "LOST" in out
        assert call(capsys, "compare", less, base, *flags)[0] == 1
        assert call(capsys, "compare", base, other, *flags)[0] == 3
        assert call(capsys, "compare", base, base, *flags)[0] == 0


def test_a_lost_cell_weighs_on_the_mean_as_the_penalty_and_microseconds_are_in_none(stored):
    base = stored("a", *(cell(dataset=name) for name in ("kegg", "human", "amaze")))
    lost = cell(dataset="amaze", status="failed")
    found = compare.of_runs(base, stored("b", cell(dataset="kegg"), cell(dataset="human"), lost))
    (change,) = found.means
    assert (change.mean.measured, change.mean.missing) == (2, 1)
    assert change.mean.value == pytest.approx(10.0 ** (1 / 3), rel=0.05)
    base = stored("c", *(cell(dataset=name, ms=steady(0.01)) for name in ("kegg", "human")))
    assert compare.of_runs(base, base).means == []
    assert compare.of_runs(base, base, Gate(least_ms=0.0)).means[0].mean.value == 1.0


def test_other_answers_to_the_same_queries_are_a_regression_and_not_timed(stored):
    found = compare.of_runs(stored("a", cell()), stored("b", cell(checksum="bad")))
    assert "answers differ" in found.of("regression")[0].reason
    assert found.times == []


# ------------------------------------------------------------------ machines


def reference_and(name, stored, ms, speed=1.0, seed=0, machine=HERE, **other):
    """A run with `dfs` at 10 ms and `sequential` at `ms`, all times `speed` times longer."""
    dfs = cell("dfs", steady(10.0 * speed, seed + 1), dim=None, search=None, filters=None, order=None)
    return stored(name, dfs, cell(ms=steady(ms * speed, seed + 2)), machine=machine, **other)


def test_times_of_two_machines_are_not_compared_without_a_reference(stored):
    found = compare.of_runs(stored("a", cell()), stored("b", cell(ms=steady(99.0)), machine=THERE))
    assert found.times == []
    assert "no reference implementation is named" in found.left_out[0].reason
    assert found.counted == 2
    assert found.exit_code == 0


def test_a_slower_machine_is_no_regression_when_the_reference_is_as_slow(stored):
    base = reference_and("a", stored, 3.0)
    new = reference_and("b", stored, 3.0, speed=4.0, seed=5, machine=THERE)
    found = compare.of_runs(base, new, Gate(reference="dfs"))
    (change,) = found.times
    assert (change.unit, change.verdict) == ("dfs query", "same")
    assert change.base.median == pytest.approx(0.3, rel=0.05)
    assert [each.reason for each in found.left_out] == ["is the unit"]


def test_a_slower_kernel_is_found_on_a_faster_machine_and_on_one_machine_the_gate_may_ask_for_the_reference(stored):
    base = reference_and("a", stored, 3.0)
    new = reference_and("b", stored, 9.0, speed=0.25, seed=5, machine=THERE)
    found = compare.of_runs(base, new, Gate(reference="dfs", across=2.0))
    assert [each.ratio for each in found.of("regression")] == [pytest.approx(3.0, rel=0.05)]
    assert compare.of_runs(base, new, Gate(reference="dfs", across=4.0)).exit_code == 0
    new = reference_and("c", stored, 3.0, speed=1.6, seed=5)
    assert compare.of_runs(base, new).exit_code == 1
    assert compare.of_runs(base, new, Gate(reference="dfs", times="reference")).exit_code == 0


def test_on_one_machine_a_change_of_the_reference_alone_is_no_regression(stored):
    base = stored("a", cell("dfs", steady(9.0, 1)), cell(ms=steady(3.0, 2)))
    new = stored("b", cell("dfs", steady(3.0, 3)), cell(ms=steady(3.0, 4)))
    found = compare.of_runs(base, new, Gate(reference="dfs", times="reference"))
    assert [(each.ratio, each.verdict) for each in found.times] == [(pytest.approx(3.0, rel=0.05), "unclear")]


def test_a_reference_with_labels_is_the_unit_phase_by_phase(stored):
    def run(name, label, machine):
        ours = both(steady(label, 1), steady(3.2, 2))
        theirs = both(steady(4.0, 3), steady(8.0, 4), impl="parallel", threads=2)
        return stored(name, theirs, ours, machine=machine)

    found = compare.of_runs(run("a", 2.0, HERE), run("b", 2.0, THERE), Gate(reference="parallel"))
    units = {each.phase: (each.unit, round(each.base.median, 1)) for each in found.times}
    assert units == {"label": ("parallel label", 0.5), "query": ("parallel query", 0.4)}


def test_a_run_of_two_machines_has_no_times_to_compare(stored):
    base = reference_and("a", stored, 3.0, earlier=[{"fingerprint": THERE}])
    found = compare.of_runs(base, base, Gate(reference="dfs"))
    assert found.times == []
    assert "more than one machine" in found.how


@pytest.mark.parametrize(
    ("gate", "said"),
    [({"reference": "dfs"}, "no cell of the reference 'dfs'.*sequential"),
     ({"metrics": ["labl"]}, "no phase 'labl' was measured.*query")],
)  # fmt: skip
def test_a_reference_or_a_phase_that_no_run_has_is_bad_input(stored, gate, said):
    run = stored("a", cell())
    with pytest.raises(InputError, match=said):
        compare.of_runs(run, run, Gate.model_validate(gate))


# ------------------------------------------------------------------ nothing comparable


def test_runs_without_a_common_cell_and_another_graph_under_the_same_name_are_not_comparable(stored):
    found = compare.of_runs(stored("e", cell(dataset="kegg")), stored("f", cell(dataset="human")))
    assert found.exit_code == 3
    with pytest.raises(NothingMeasured, match="nothing comparable"):
        found.check()
    base, new = stored("a", cell()), stored("b", cell(graph_sha256="other"))
    found = compare.of_runs(base, new)
    assert found.exit_code == 3
    assert [each.reason for each in found.one_sided] == ["the graph of that name is another one"]
    also = compare.of_runs(stored("c", cell(), cell("dfs")), stored("d", cell(graph_sha256="other"), cell("dfs")))
    assert also.exit_code == 0
    assert "1 on other graphs of the same name, not compared" in compare_view.markdown(also)
