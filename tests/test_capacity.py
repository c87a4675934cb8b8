"""`grailbench capacity`: predictions add up, stand beside recorded runs, and bad input is refused."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from commands import ROOT, call
from hypothesis import given, settings
from hypothesis import strategies as st

from grailbench.capacity import check, fitted, plan, terms
from grailbench.capacity.machine import SHIPPED, Machine, gather_ms, machine
from grailbench.capacity.model import Model, Part, Sample, left_out
from grailbench.capacity.model import fitted as fit
from grailbench.capacity.work import Work
from grailbench.errors import InputError
from grailbench.report import capacities
from grailbench.runs.cells import read

GOOD = {"--vertices": 50_000_000, "--edges": 10**9, "--depth": 110, "--queries-per-second": 200_000}
BILLION = plan.Demand(50_000_000, 10**9, 110, 200_000)


def words(**changed):
    options = GOOD | {f"--{name.replace('_', '-')}": value for name, value in changed.items()}
    return [word for pair in options.items() if pair[1] is not None for word in pair]


# ------------------------------------------------------------------ the check


def test_every_recorded_graph_is_predicted_within_what_the_page_promises():
    assert [line for line in check.checked() if not line.kept] == []


@pytest.mark.parametrize("impl", [check.CPU, check.GPU])
@pytest.mark.parametrize("quantity", [check.BUILD, check.MEMORY, check.QUERIES])
def test_eight_graphs_at_least_are_checked(impl, quantity):
    assert len({line.graph for line in check.of(check.checked(), impl, quantity)}) >= 8


def test_the_shipped_constants_and_errors_are_those_of_the_recorded_runs():
    made, kept = fitted.made(), fitted._kept()
    assert made["searches"] == kept["searches"]
    assert made["elsewhere"] == kept["elsewhere"]
    assert made["models"].keys() == kept["models"].keys()
    for name, model in made["models"].items():
        assert np.allclose(model.pop("constants"), kept["models"][name]["constants"], rtol=1e-3), name
        assert json.loads(json.dumps(model)) == {k: v for k, v in kept["models"][name].items() if k != "constants"}


def test_a_graph_is_predicted_without_its_own_cells():
    model = Model("x", (Part((), ("call",)),))
    samples = [Sample(graph, 1, "", np.array([1.0]), np.array([value])) for graph, value in
               (("a", 1.0), ("a", 1.0), ("b", 2.0), ("c", 2.0))]  # fmt: skip
    assert left_out(model, samples) == pytest.approx([2.0, 2.0, math.sqrt(2), math.sqrt(2)], rel=0.1)


def test_constants_of_a_sum_of_terms_are_found_again():
    random = np.random.default_rng(1)
    model = Model("x", (Part(("first",), ("call", "pairs")), Part(("second",), ("call",))))
    samples = []
    for number in range(9):
        one, two, three = random.uniform(1, 9, 3)
        parts = np.array([2 * one + 3 * two, 5 * three])
        samples.append(Sample(str(number), 1, "", np.array([one, two, three]), parts))
    assert fit(model, samples) == pytest.approx([2, 3, 5])


def test_the_line_of_a_graph_is_its_middle_cell_and_names_the_worst():
    lines = [line for line in check.checked() if line.cells > 2]
    assert lines
    assert all(abs(line.worst) >= abs(line.error) for line in lines)


def test_a_wrong_prediction_fails_the_check(capsys, monkeypatch):
    lines = check.checked()
    wrong = replace(lines[0], predicted=1.31 * lines[0].measured)
    monkeypatch.setattr(check, "checked", lambda: (wrong, *lines[1:]))
    code, out, error = call(capsys, "capacity", "--check")
    assert code == 1
    assert wrong.graph in error
    assert "+31 %" in error
    assert "beyond 30 %" in out


def test_the_check_prints_each_graph_once_for_each_implementation(capsys):
    code, out, _ = call(capsys, "capacity", "--check", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert {(row["impl"], row["quantity"], row["graph"]) for row in rows if "graph" in row} == {
        (line.impl, line.quantity, line.graph) for line in check.checked()
    }
    assert all(abs(row["predicted"] / row["measured"] - 1 - row["error"]) < 1e-9 for row in rows if "error" in row)


def test_the_check_says_where_recorded_runs_are_missing(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(check.paths, "baselines_dir", lambda: tmp_path)
    monkeypatch.setattr(check, "shipped", lambda name: None)
    monkeypatch.setattr(check, "checked", lambda: check.lines(check.POPULATIONS["gpu build"]))
    code, _, error = call(capsys, "capacity", "--check")
    assert code == 3
    assert "recorded runs" in error


# ------------------------------------------------------------------ terms


def test_a_work_has_the_counters_of_its_cell():
    (cell,) = read(ROOT / "results/baselines/h200/billion").cells
    work = Work.of(cell)
    counted = cell.counters
    assert (work.vertices, work.edges, work.raw_edges) == (cell.vertices, cell.edges, 10**9)
    assert (work.scanned, work.again) == (counted["edges_scanned"], counted["queries_searched_again"])
    assert 100 < work.depth < 200


def test_known_depths_are_those_of_the_graphs():
    lines = [json.loads(line) for line in (ROOT / "grailbench/capacity/depths.jsonl").read_text().splitlines()]
    by = {line["graph"]: line for line in lines}
    assert len(by) == len(lines) == len({line["sha256"] for line in lines})
    assert by["chain-1m"]["depth"] == by["chain-1m"]["vertices"]  # a path, below the super-root
    for cell in read(ROOT / "results/baselines/h200/edges-to-index").cells:
        if cell.dataset in by:
            assert by[cell.dataset]["sha256"] == cell.graph_sha256
            assert (by[cell.dataset]["vertices"], by[cell.dataset]["edges"]) == (cell.vertices, cell.edges)


def test_gathers_between_measured_tables_are_between_their_rates():
    ceilings = machine("h200").one
    for (small, fast), (large, slow) in zip(ceilings.gather, ceilings.gather[1:], strict=False):
        assert 1e-6 / fast <= gather_ms(ceilings, math.sqrt(small * large)) <= 1e-6 / slow
        assert gather_ms(ceilings, large) == pytest.approx(1e-6 / slow)
    assert gather_ms(ceilings, 1) == 1e-6 / ceilings.gather[0][1]
    assert gather_ms(ceilings, 1 << 60) == 1e-6 / ceilings.gather[-1][1]


def test_threads_between_one_and_all_are_between_their_rates():
    on = machine("h200")
    half = on.with_threads(on.cores // 2)
    assert on.one.read < half.read < on.with_threads(on.cores).read
    assert on.with_threads(1) == on.one
    assert on.with_threads(10 * on.cores) == on.with_threads(on.cores)


@pytest.mark.parametrize("name", terms.TERMS)
def test_no_term_falls_when_there_is_more_to_do(name):
    _, term = terms.TERMS[name]
    on = machine("h200")
    small = Work(10**6, 10**7, 10**7, 1, 300, queries=10**5, filtered=100, beyond_labels=10, searches=10, expanded=100,
                 scanned=1000, pushed=50, again=3, groups=1, threads=4)  # fmt: skip
    larger = {"vertices", "edges", "raw_edges", "queries", "filtered", "scanned", "expanded", "again", "groups"}
    if name == "narrow":
        larger -= {"edges"}  # with more edges a level, all multiprocessors take it
    for field in larger:
        assert term(replace(small, **{field: 2 * getattr(small, field)}), on) >= term(small, on) >= 0, field


# ------------------------------------------------------------------ plans


def test_a_billion_edges_take_one_gpu_as_they_did_when_they_were_recorded():
    found = plan.plan(BILLION, machine("h200"))
    chosen = found.chosen
    (cell,) = read(ROOT / "results/baselines/h200/billion").cells
    assert (chosen.impl, chosen.gpus, chosen.parts) == ("gpu-fused", 1, 1)
    assert chosen.memory == pytest.approx(cell.device_peak_bytes, rel=check.WANTED)
    assert 1e3 * chosen.build == pytest.approx(cell.stats("ready").median, rel=check.WANTED)
    rate = 1e3 * cell.queries / cell.stats("query").median
    known = plan.plan(replace(BILLION, scanned=cell.counters["edges_scanned"] / cell.queries), machine("h200")).chosen
    assert known.hard == known.easy == pytest.approx(rate, rel=check.WANTED)


def test_labels_over_several_gpus_are_a_way_where_one_does_not_hold_the_graph():
    small, large = (plan.plan(plan.Demand(edges // 20, edges, 100, 1.0), machine("h200")) for edges in (10**9, 10**10))
    assert plan.SPREAD not in {way.impl for way in small.ways}
    (way,) = (way for way in large.ways if way.impl == plan.SPREAD)
    assert way.parts >= 3
    assert not way.possible


def test_few_scanned_edges_are_not_swept():
    on = machine("h200")
    few, many = (plan.plan(replace(BILLION, scanned=scanned), on).ways for scanned in (5, 1e5))
    for impl in (plan.ONE, plan.GPU):
        rates = [next(way.hard for way in ways if way.impl == impl) for ways in (few, many)]
        assert rates[0] > 100 * rates[1]


def test_without_a_gpu_there_is_no_way_of_a_gpu():
    found = plan.plan(BILLION, machine("cpu-2core"))
    assert {way.impl for way in found.ways} == {plan.ONE, plan.STREAMED}
    assert found.chosen.impl == plan.ONE


def test_what_fits_nowhere_is_not_chosen_and_says_why():
    found = plan.plan(plan.Demand(5 * 10**10, 10**12, 100, 1e6), machine("h200"))
    assert found.chosen is None
    assert not any(way.possible for way in found.ways)
    said = " ".join(note for way in found.ways for note in way.notes)
    assert "2,147,483,646 vertices" in said
    assert "do not fit" in said


def test_a_gpu_needs_a_host_that_holds_the_edges():
    on = machine("h200")
    small = replace(on, document=on.document | {"machine": on.document["machine"] | {"memory_bytes": 8 * 10**9}})
    (way,) = (way for way in plan.plan(BILLION, small).ways if way.impl == plan.GPU)
    assert not way.possible
    assert way.limits["memory"] == "of the host"


def test_more_queries_take_more_machines_and_no_more_than_the_network_brings():
    network, on = plan.Network(bandwidth=1.0), machine("h200")
    few, many = (plan.plan(replace(BILLION, rate=rate), on, network).ways[0] for rate in (1.0, 1e12))
    assert (few.machines_easy, few.machines_hard) == (1, 1)
    assert many.machines_easy == math.ceil(1e12 / network.pairs)
    assert many.machines_hard > many.machines_easy


def test_edges_of_nothing_are_moved_in_no_time():
    assert plan.Network(bandwidth=2.0, latency=0.0).seconds(8e9) == 4.0
    assert plan.Network(bandwidth=2.0, latency=0.25).seconds(8e9, 4) == 5.0


@settings(max_examples=40, deadline=None)
@given(
    vertices=st.integers(1, 2**40), degree=st.floats(0, 500), depth=st.integers(1, 10**6), rate=st.floats(0, 1e12),
    scanned=st.none() | st.floats(0, 1e9), name=st.sampled_from(SHIPPED),
)  # fmt: skip
def test_every_graph_that_there_can_be_has_a_plan(vertices, degree, depth, rate, scanned, name):
    edges = min(int(degree * vertices), vertices * (vertices - 1) // 2)
    demand = plan.Demand(vertices, edges, min(depth, vertices, edges + 1), rate, scanned)
    found = plan.plan(demand, machine(name))
    assert found.ways
    for way in found.ways:
        assert math.isfinite(way.memory)
        assert way.build >= 0
        assert way.easy is None or way.hard is None or way.easy >= 0.9 * way.hard or scanned is not None
    assert sum(1 for _ in capacities.ways(found).lines) == len(found.ways)
    json.dumps(capacities.ways(found).records)


def test_a_gpu_holds_more_than_was_run_and_less_than_its_memory():
    on = machine("h200")
    held = plan.edges_held(on)
    assert 2 * 10**9 < held < on.gpu_memory_bytes / 8
    (line,) = capacities.held().lines[-1:]
    assert line[0] == "random-n100000000-k20-s1"


# ------------------------------------------------------------------ the command


def test_the_command_prints_the_plan_as_a_table_and_as_json(capsys):
    code, out, error = call(capsys, "capacity", *words(), "--machine", "h200")
    assert (code, error) == (0, "")
    assert "take this" in out
    assert "take gpu-fused: 29" in out
    assert "200 k queries a second wanted, 1 machine with 1 GPU each" in out
    assert "Predicted, not measured" in out
    code, out, _ = call(capsys, "capacity", *words(), "--machine", "h200", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert rows[0]["table"] == "capacity"
    assert rows[0]["impl"] == "gpu-fused"
    assert {"memory", "build", "easy", "hard", "machines_hard", "moved", "limits", "band", "possible"} <= rows[0].keys()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"vertices": -1}, "--vertices -1"),
        ({"vertices": 0}, "--vertices 0"),
        ({"edges": -5}, "--edges -5"),
        ({"depth": 0}, "--depth 0"),
        ({"queries_per_second": -1}, "--queries-per-second -1"),
        ({"queries_per_second": "nan"}, "--queries-per-second nan"),
        ({"scanned": -1}, "--scanned -1"),
        ({"vertices": 10, "edges": 46, "depth": 5}, "45 at most"),
        ({"vertices": 10, "edges": 40, "depth": 11}, "--depth 11"),
        ({"vertices": 10, "edges": 3, "depth": 9}, "more than 3 edges"),
        ({"machine": "h2000"}, "did you mean h200"),
        ({"machine": "docs"}, "grailbench limits --out"),
        ({"bandwidth": 0}, "--bandwidth 0"),
        ({"latency": -1}, "--latency"),
        ({"disk": 0}, "--disk 0"),
        ({"depth": None}, "--depth missing"),
        ({"check": ""}, "--check goes without"),
    ],
)
def test_bad_input_is_refused_in_one_line_with_the_remedy(capsys, changed, said):
    given = [word for word in words(**changed) if word != ""]
    code, out, error = call(capsys, "capacity", *given)
    assert (code, out) == (2, "")
    assert said in error
    assert "(" in error
    assert len(error.splitlines()) == 1


def test_a_folder_of_limits_is_a_machine(capsys, tmp_path):
    folder = ROOT / "results/baselines/cpu-2core/limits"
    assert machine(str(folder)).document == machine("cpu-2core").document
    (tmp_path / "limits.json").write_text("{}")
    with pytest.raises(InputError, match="no measured ceilings"):
        machine(str(tmp_path))


def test_a_machine_without_measured_limits_is_named(capsys, monkeypatch):
    monkeypatch.setattr("grailbench.capacity.machine.measured_here", lambda: None)
    code, out, _ = call(capsys, "capacity", *words())
    assert code == 0
    assert "shipped 'h200'" in out
    mine = machine("cpu-2core").document
    monkeypatch.setattr("grailbench.capacity.machine.measured_here", lambda: mine)
    assert machine() == Machine("this machine", mine)


def test_the_error_of_another_machine_is_a_factor_and_that_of_a_like_one_is_not(tmp_path, capsys):
    _, out, _ = call(capsys, "capacity", *words(), "--machine", "cpu-2core")
    assert f"factor of {fitted.elsewhere():.1f}" in out
    document = machine("h200").document
    (tmp_path / "limits.json").write_text(json.dumps(document))
    _, out, _ = call(capsys, "capacity", *words(), "--machine", tmp_path)
    assert "factor of" not in out.split("errors of gpu-fused")[1].splitlines()[0]
    (tmp_path / "limits.json").write_text(json.dumps(document | {"machine": document["machine"] | {"cores": 8}}))
    _, out, _ = call(capsys, "capacity", *words(), "--machine", tmp_path)
    assert "factor of" in out.split("errors of gpu-fused")[1].splitlines()[0]


# ------------------------------------------------------------------ the page


def test_the_page_promises_what_the_check_holds():
    page = (ROOT / "docs/scale.md").read_text(encoding="utf-8")
    assert f"off by more than {100 * check.WANTED:.0f} %" in page
    for name in capacities.BLOCKS:
        assert f'capacity = "{name}"' in page, name


def test_an_unknown_table_of_predictions_is_refused(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text('<!-- grailbench\ncapacity = "scal"\n-->\n<!-- end -->\n')
    code, _, error = call(capsys, "report", "--into", page)
    assert code == 2
    assert "did you mean scale" in error
