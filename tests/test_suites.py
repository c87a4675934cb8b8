"""Reports and figures of runs of other problems than reachability: closures."""

import pytest
from commands import call
from outcomes import as_json, succeeds
from planned import ran
from stored import lost, made, row
from tabled import all_records, parts

from grailbench.errors import InputError, NothingMeasured
from grailbench.harness.cells import cells
from grailbench.harness.rows import FIELDS
from grailbench.report import document, draw
from grailbench.report.captions import CAPTIONS
from grailbench.report.papers import closures as closure
from grailbench.report.papers import figures


def rows_of(*given, threads=None):
    """Cells of rows: (dataset, impl, vertices, {(under, phase): [ms a trial]}, status)."""
    lines = []
    for dataset, impl, vertices, times, status in given:
        head = dict.fromkeys(FIELDS) | {
            "problem": "closure", "dataset": dataset, "impl": impl, "vertices": vertices, "edges": 3 * vertices,
            "status": status, "positives": vertices**2, "under": "", "key": "k", "threads": threads,
        }  # fmt: skip
        if not times:
            lines.append(head | {"reason": "3 pairs are wrong", "positives": None})
        for (under, phase), several in times.items():
            lines += [head | {"under": under, "phase": phase, "ms": ms, "trial": i} for i, ms in enumerate(several)]
    return cells(lines)


SOLVED = {("", "prepare"): [1.0, 1.0], ("solve", "host_to_device"): [0.2, 0.4], ("solve", "kernel"): [2.0, 4.0],
          ("solve", "device_to_host"): [0.1, 0.1], ("", "solve"): [3.0, 5.0]}  # fmt: skip
ROWS = rows_of(
    ("erdos-renyi-100-0.1", "tiled", 100, SOLVED, "ok"),
    ("erdos-renyi-1000-0.1", "tiled", 1000, SOLVED, "ok"),
    ("erdos-renyi-2000-0.001", "tiled", 2000, {("", "solve"): [40.0]}, "ok"),
    ("erdos-renyi-2000-0.001", "warshall-bits-gpu", 2000, {("", "solve"): [0.5]}, "ok"),
    ("erdos-renyi-100-0.1", "naive", 100, {}, "wrong"),
    ("mine", "tiled", 50, SOLVED, "ok"),
)


REACHED = [row(phase="query", ms=1.0, trial=0, problem="reachability")]
LOST = lost("wrong", "3 pairs are wrong", problem="closure")


def test_a_line_is_a_cell_and_phase_with_its_mean_and_range():
    found = closure.cells(ROWS)
    solved = found[(found.dataset == "erdos-renyi-100-0.1") & (found.phase == "solve")].iloc[0]
    assert (solved["mean"], solved.least, solved.most, solved.trials, solved.closure) == (4.0, 3.0, 5.0, 2, 10_000)
    assert (solved.kind, solved.density, solved.number) == ("erdos-renyi", 0.1, 7)


def test_a_wrong_cell_has_a_reason_and_no_time():
    found = closure.cells(ROWS)
    wrong = found[found.status == "wrong"]
    assert list(wrong.phase) == [""]
    assert list(wrong.reason) == ["3 pairs are wrong"]
    assert wrong["mean"].isna().all()


def test_figures_take_the_sizes_and_kernels_of_the_report():
    drawn = figures.closures(ROWS)
    assert list(drawn) == [name for name in CAPTIONS if name.startswith("closure")]
    assert set(drawn["closure-5"].frame.vertices) == {100, 1000}
    assert list(drawn["closure-6"].frame["mean"]) == pytest.approx([0.3, 0.1, 0.3, 0.1])
    assert set(drawn["closure-7"].frame.vertices) == {1000, 2000}
    assert set(drawn["closure-8"].frame.impl) == {"tiled", "warshall-bits-gpu"}
    assert set(drawn["closure-kernels"].frame["mean"]) == {3.0}
    assert "mine" not in {name for figure in drawn.values() for name in figure.frame.get("dataset", [])}


def test_a_line_of_a_figure_is_of_one_number_of_threads():
    rows = [("erdos-renyi-2000-0.1", impl, 2000, {("", "solve"): [9.0]}, "ok") for impl in ("condense-bits", "tiled")]
    measured = [*rows_of(*rows, threads=1), *rows_of(rows[0], threads=16)]
    series = {mark.series for panel in figures.closures(measured)["closure-8"].form.panels for mark in panel.items}
    assert series == {"tiled (7)", "condense-bits, 1 thread", "condense-bits, 16 threads"}


def test_a_run_of_small_graphs_has_no_figure_8():
    assert figures.closures([cell for cell in ROWS if cell.vertices <= 1000])["closure-8"].frame.empty


def test_the_table_has_the_ratio_to_the_tiled_kernel():
    headers, lines, _ = parts(closure.table(ROWS))
    ours = next(dict(zip(headers, line, strict=True)) for line in lines if line[1] == "warshall-bits-gpu")
    assert (ours["tiled / this"], ours["solve ms"]) == ("80‡", "0.50‡")


def test_a_ratio_has_the_mark_of_the_tiled_kernel_too():
    steady = {("", "solve"): [0.5] * 10}
    graph = "erdos-renyi-2000-0.001"
    made = rows_of(
        (graph, "tiled", 2000, {("", "solve"): [40.0]}, "ok"), (graph, "warshall-bits-gpu", 2000, steady, "ok")
    )
    headers, lines, _ = parts(closure.table(made))
    ours = next(dict(zip(headers, line, strict=True)) for line in lines if line[1] == "warshall-bits-gpu")
    assert (ours["tiled / this"], ours["solve ms"]) == ("80‡", "0.50")


def test_the_way_from_edges_has_columns_where_it_was_timed_and_its_parts_are_no_times_of_the_closure():
    headers, _, notes = parts(closure.table(ROWS))
    assert "from edges ms" not in headers
    assert "From edges: not measured, add --from-edges." in notes
    graph, tiled = "erdos-renyi-2000-0.001", {("", "ready"): [90.0], ("ready", "solve"): [70.0], ("", "solve"): [40.0]}
    ours = {("", "ready"): [30.0], ("ready", "input"): [9.0], ("", "solve"): [0.5]}
    more = rows_of((graph, "tiled", 2000, tiled, "ok"), (graph, "warshall-bits-gpu", 2000, ours, "ok"))
    whole = [*(cell for cell in ROWS if cell.dataset != graph), *more]
    headers, lines, _ = parts(closure.table(whole))
    ours = next(dict(zip(headers, line, strict=True)) for line in lines if line[1] == "warshall-bits-gpu")
    assert [ours[name] for name in ("from edges ms", "tiled / this, from edges", "tiled / this", "solve ms")] == [
        "30.00‡", "3‡", "80‡", "0.50‡"
    ]  # fmt: skip
    (other,) = (line for line in lines if line[0] == "mine")
    assert other[headers.index("from edges ms")] == "–"
    before, after = (figures.closures(each)["closure-7"].frame for each in (ROWS, whole))
    assert list(before["mean"]) == list(after["mean"])


def test_implementations_stand_in_one_order_for_every_graph_whatever_the_order_of_the_trials():
    _, lines, _ = parts(closure.table(ROWS[::-1]))
    assert [line[:2] for line in lines] == [
        ["mine", "tiled (7)"], ["erdos-renyi-100-0.1", "naive (2)"], ["erdos-renyi-100-0.1", "tiled (7)"],
        ["erdos-renyi-2000-0.001", "tiled (7)"], ["erdos-renyi-2000-0.001", "warshall-bits-gpu"],
        ["erdos-renyi-1000-0.1", "tiled (7)"],
    ]  # fmt: skip


def test_a_run_of_several_problems_reports_all_of_them():
    report = document.make(made([*LOST, *REACHED]))
    assert [table.name for table in report.shown] == ["cells", "2.1", "2.4", "closure"]
    assert len(report.cells) == 1
    assert report.status_counts() == "2 cells: 1 incomplete, 1 wrong"
    page = document.as_markdown(report)
    assert "3 pairs are wrong" in page
    assert page.index("What was measured") < page.index("## closure") < page.index("All cells")
    assert {each["table"] for each in all_records(report)} == {"cells", "2.1", "2.4", "closure"}


def test_the_statistics_of_all_cells_name_the_problem_where_there_are_others():
    both, alone = (document.make(made(rows)).details for rows in ([*LOST, *REACHED], REACHED))
    assert both.headers == [alone.headers[0], "problem", *alone.headers[1:]]
    assert [line[1] for line in both.lines] == ["closure", "reachability"]
    assert list(both.data.dataset) == list(alone.data.dataset)  # closures have a CSV of their own


def test_a_table_of_another_problem_can_be_asked_for_alone():
    run = made([*LOST, *REACHED])
    assert [table.name for table in document.make(run, ["closure"]).shown] == ["closure"]
    assert [table.name for table in document.make(run, ["2.4", "closure"]).shown] == ["2.4", "closure"]
    with pytest.raises(InputError, match=r"computation-2, cells, closure"):
        document.make(run, ["traversal"])


def test_a_run_without_a_time_measured_nothing(tmp_path):
    with pytest.raises(NothingMeasured):
        document.check_measured(document.make(made(LOST)))


@pytest.fixture(scope="module")
def closed(session_cache, tmp_path_factory):
    """Folder of a run of closures."""
    block = {
        "problem": "closure", "datasets": ["custom-70-0.3", "scale-free-90"], "trials": 2, "warmup": 0,
        "implementations": ["floyd-warshall", "condense-bits"],
    }  # fmt: skip
    folder = tmp_path_factory.mktemp("runs") / "closed"
    ran(folder, block).check()
    return folder


def test_report_prints_and_writes_the_table(capsys, closed):
    out, _ = succeeds(capsys, "report", closed, "--out", closed / "report")
    assert "held" in out
    assert "floyd-warshall (0)" in out
    assert {"report.md", "closure.csv"} <= {path.name for path in (closed / "report").iterdir()}
    assert "4,830" in (closed / "report" / "report.md").read_text()  # the custom graph is one component
    assert {each["phase"] for each in as_json(capsys, "report", closed)} >= {"solve", "condense", "sweep"}


def test_a_run_of_closures_compares_with_itself(capsys, closed):
    code, out, _ = call(capsys, "compare", closed, closed, "--format", "json")
    assert code in (0, 3)  # two trials are too few to compare times; counters are compared
    assert "components" in out or "solve" in out


@pytest.mark.slow
def test_plot_draws_the_same_files_each_time(capsys, closed, tmp_path):
    for folder in ("one", "two"):
        succeeds(capsys, "plot", closed, "--out", tmp_path / folder)
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert {name.partition(".")[0] for name in names} == {"closure-5", "strips", "tradeoff-memory"}
    for name in (name for name in names if not name.endswith(".png")):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert call(capsys, "plot", closed, "--figure", "closure-8")[0] == 3


@pytest.mark.slow
def test_every_figure_can_be_drawn():
    for figure in figures.closures(ROWS).values():
        assert [name for name, _ in draw.files(figure, "source", "svg")] == [f"{figure.name}.svg", f"{figure.name}.csv"]
