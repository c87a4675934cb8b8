"""The report: from rows to the thesis's tables, the peers and the files beside a run."""

import csv
import json

import pytest
from stored import made
from tabled import (
    ENVIRONMENT,
    built,
    entry,
    filled_rows,
    parallel,
    parts,
    peer_rows,
    rows,
    table_markdown,
    unguided,
)

from grailbench.errors import InputError
from grailbench.harness.cells import cells
from grailbench.report import document, published
from grailbench.report.measured import detail, details
from grailbench.report.page import page as page_of
from grailbench.report.papers import beside, thesis
from grailbench.report.render import records
from grailbench.util import words

# ------------------------------------------------------------------ cells


def test_report_warns_of_drift_and_its_files_hold_the_statistics(tmp_path):
    frame = rows(ms=[10.0 + i / 10 for i in range(20)])
    report = document.make(made(frame, {}))
    assert "query drifts" in "".join(report.unstable)
    document.write(report, out=tmp_path / "report")
    (line,) = csv.DictReader((tmp_path / "report" / "cells.csv").open())
    assert float(line["median_low"]) < float(line["median"]) < float(line["median_high"])
    assert float(line["drift"]) > 0.05
    assert line["outliers"] == "0"
    assert (line["stability"], line["unstable_by"]) == ("unstable", "drift")


def test_means_of_too_few_trials_are_marked_in_the_table_of_all_cells():
    report = document.make(made(rows(ms=(3.0,) * 2) + rows("human", ms=(3.0,) * 10), ENVIRONMENT))
    headers, lines, _ = parts(details(report.run.cells, report.verdicts))
    assert [line[headers.index("mean")] for line in lines] == ["3.00‡", "3.00"]


def test_rows_of_one_configuration_make_one_cell_with_its_phases():
    (cell,) = cells(rows() + rows(phase="label", ms=(0.5,)) + rows(phase="sort", under="label"))
    assert set(cell.phases) == {("", "query"), ("", "label"), ("label", "sort")}
    assert cell.label == "sequential d=2 dfs"


def test_reason_of_many_lines_becomes_one_short_line():
    (cell,) = cells(rows(status="failed", ms=(None,), reason="first\n\n  second " + "x " * 500))
    assert cell.reason.startswith("first second x")
    assert len(cell.reason) <= 240


def test_detail_keeps_a_line_for_a_cell_without_times():
    frame = detail(cells(rows(status="failed", ms=(None,), phase=None, reason="boom")))
    assert frame.loc[0, ["status", "reason", "trials"]].tolist() == ["failed", "boom", 0]


def test_all_cells_say_their_filters_their_queries_their_gpus_and_their_memory():
    known = {"device_peak_bytes": 48, "host_peak_bytes": 4096}
    groups = [rows(), rows(filters="level,tree"), rows(query_set="balanced-10-s1"), unguided()]
    groups += [rows(impl="gpu-path", filters=None), rows(impl="peer:pyreachability-grail", filters=None)]
    groups += [rows(impl="gpu-fused", filters="level", devices=count, **known) for count in (1, 2)]
    measured = cells([row for group in groups for row in group])
    headers, lines, _ = parts(details(measured))
    shown = [{name: line[headers.index(name)] for name in ("filters", "query set", "threads")} for line in lines]
    assert [each["filters"] for each in shown] == ["none", "level,tree", "none", "", "none", "", "level", "level"]
    assert shown[2]["query set"] == "balanced-10-s1"
    assert len({tuple(line[:7]) for line in lines}) == len(lines)
    frame = detail(measured)
    assert frame.filters.tolist() == [each["filters"] for each in shown]
    assert frame.devices.tolist()[-2:] == [1, 2]
    assert frame[["host_peak_bytes", "device_peak_bytes"]].iloc[-1].tolist() == [4096, 48]


# ------------------------------------------------------------------ which cell feeds which column


@pytest.mark.parametrize(
    ("column", "group"),
    [
        ("Pure DFS", unguided()),
        ("Index CT", rows(phase="label")),
        ("Sequential DFS", rows()),
        ("Sequential BFS", rows(search="bfs")),
        ("Parallel DFS", parallel()),
        ("Parallel BFS", parallel(search="bfs")),
    ],
)
def test_column_shows_the_mean_of_its_cell_and_of_no_other(column, group):
    table = built(group)
    filled = [c for c in table.columns[1:] if entry(table, c).measured is not None]
    assert filled == (["Positive Queries", column])
    assert entry(table, column).measured == 3.0


def test_positive_queries_are_counted_beside_print():
    positives = entry(built(rows()), "Positive Queries")
    assert (positives.measured, positives.printed) == (20146, "20214")


@pytest.mark.parametrize("change", [{"filters": "level,tree"}, {"dim": 5}, {"query_set": "balanced-100000-s1"}])
def test_cell_that_print_does_not_have_fills_no_printed_column(change):
    assert entry(built(rows(**change)), "Sequential DFS").status == "missing"


def test_other_number_of_queries_is_shown_without_ratio_and_with_a_note():
    shown = entry(built(rows(queries=1000)), "Sequential DFS")
    assert (shown.measured, shown.ratio) == (3.0, None)
    assert "1,000 queries" in shown.measured_notes[0]
    assert entry(built(rows(queries=1000, phase="label")), "Index CT").ratio is not None


def test_most_threads_feed_the_parallel_columns_and_the_count_is_stated():
    table = built(parallel(threads=1, ms=(9.0,)), parallel(threads=4, ms=(5.0,)))
    assert entry(table, "Parallel DFS").measured == 5.0
    assert table.notes[1] == "Parallel columns: measured with 4 threads; the thesis used 16."


def test_child_order_other_than_print_is_stated():
    table = built(rows(order="lexicographic"))
    assert entry(table, "Sequential DFS").measured == 3.0
    assert any("lexicographic order" in note for note in table.notes)


def test_each_printed_column_has_the_child_order_that_fits_print_and_the_other_stands_beside():
    table = built(*(rows(order=order, phase=phase, ms=(ms,)) for order, phase, ms in (
        ("lexicographic", "query", 9.0), ("random", "query", 5.0),
        ("lexicographic", "label", 0.2), ("random", "label", 0.4))))  # fmt: skip
    columns = ("Sequential DFS", "Sequential DFS, lexicographic order", "Index CT", "Index CT, random order")
    assert [entry(table, column).measured for column in columns] == [5.0, 9.0, 0.2, 0.4]


def test_a_graph_that_has_one_child_order_is_blank_in_the_column_of_the_other():
    table = built(rows(order="random"), rows(order="lexicographic"), rows("amaze", order="random"))
    (amaze,) = [row.entries for row in table.rows if row.dataset == "amaze"]
    assert amaze["Sequential DFS"].measured == 3.0
    assert amaze["Sequential DFS, lexicographic order"].measured is None


def test_seeds_of_one_trial_each_are_one_cell_with_means_and_the_least_and_the_greatest():
    seeds = [rows(ms=(ms,), seed=seed, query_set=f"random-100000-s{seed}", planned=1, positives=positives)
             for seed, ms, positives in ((1, 2.0, 20_000), (2, 4.0, 20_300), (7, 6.0, 20_600))]  # fmt: skip
    (cell,) = cells([row for group in seeds for row in group])
    assert (cell.seed, cell.query_set, cell.trials, cell.status) == (None, "random-100000", 3, "ok")
    shown = beside.table(built(*seeds))
    line = dict(zip(shown.headers, next(line for line in shown.lines if line[0] == "Kegg"), strict=True))
    assert (line["Positive Queries"], line["Sequential DFS"]) == ("20300 (20000 to 20600)", "4.00‡")
    apart = [row | {"planned": 2} for group in seeds for row in group]
    assert [each.seed for each in cells(apart)] == [1, 2, 7]  # of more trials each is a cell


def exact(impl="core", **other):
    return rows(impl=impl, **{"dim": None, "search": None, "filters": None, "order": None} | other)


def test_core_has_columns_after_the_printed_ones_where_the_run_has_it():
    printed = built(rows()).columns
    table = built(rows(), rows(phase="label", ms=(0.5,)), exact(ms=(0.2,)), exact(phase="label", ms=(0.1,)), unguided())
    assert table.columns == (*printed, "core, index", "sequential / core, index", "core", "sequential / core")
    shown = {column: entry(table, column) for column in table.columns[-4:]}
    assert [shown[column].measured for column in shown] == [0.1, pytest.approx(5.0), 0.2, pytest.approx(15.0)]
    assert {(each.printed, each.ratio) for each in shown.values()} == {(None, None)}
    assert any("core: no label pairs" in note for note in table.notes)
    several = built(rows(), exact(threads=1), exact(threads=2)).columns
    assert [name for name in several if name.startswith("core")] == [
        "core, index", "core", "core, 2 threads, index", "core, 2 threads"
    ]  # fmt: skip
    assert built(rows(), exact(query_set="balanced-100000-s1")).columns == printed


def test_a_run_of_core_alone_fills_no_printed_table():
    report = document.make(made(exact() + exact(phase="label"), ENVIRONMENT))
    assert [table.name for table in report.tables] == ["2.1"]


# ------------------------------------------------------------------ what is missing or bad


def test_every_printed_row_is_there_in_order_even_when_one_graph_was_measured():
    table = built(rows(), name="2.4")
    assert [row.title for row in table.rows] == [
        "Agrocyc", "Amaze", "Anthra", "Ecoo", "Human", "Kegg", "Mtbrv", "Nasa", "Vchocyc", "Xmark"
    ]  # fmt: skip


def test_graph_missing_from_the_run_is_blank_with_the_reason():
    assert "Agrocyc [1]" in table_markdown(built(rows()))
    assert "[1] the graph is not in the run" in table_markdown(built(rows()))


@pytest.mark.parametrize("status", ["wrong", "out of memory"])
def test_bad_cell_shows_its_status_instead_of_a_time(status):
    table = built(rows(status=status, ms=(1.0,), reason="why"))
    shown = entry(table, "Sequential DFS")
    assert (shown.measured, shown.ratio, shown.status) == (None, None, status)
    assert status.upper() in table_markdown(table)
    assert f"sequential d=2 dfs: {status}, why" in table_markdown(table)


def test_incomplete_cell_shows_how_many_trials_it_has():
    assert "3.00 (2 of 20)‡" in table_markdown(built(rows(), planned=20))


@pytest.mark.parametrize(("ms", "said"), [(1800.0, True), (82.0, False)])
def test_a_ratio_far_from_1_carries_the_known_reason(ms, said):
    page = table_markdown(built(rows("uniprotenc_22", phase="label", ms=(ms,)), name="2.6"))
    printed = published.table("2.6").number("uniprotenc_22", "Index CT")
    assert (f"{ms / printed:.2f}‡ [" in page) == said
    assert ("children are visited in random order" in page) == said


# ------------------------------------------------------------------ counts


def test_counts_that_differ_show_by_how_much():
    table = built(rows(vertices=3618, edges=5576), rows("human", vertices=38811, edges=39817), name="2.1")
    assert [entry(table, column).ratio for column in ("Vertices", "Edges", "Avg Degree")] == [0, 0, 0]
    assert ["", "difference", "-1", "0", "0"] in parts(beside.table(table))[1]
    assert "cut off, not rounded" in table_markdown(table), "the erratum of a printed cell"
    assert "no counts of it" in table_markdown(built(rows(), name="2.1"))


# ------------------------------------------------------------------ look-alikes and others


@pytest.mark.parametrize("fields", [{"dataset": "kegg-like"}, {"kind": "imported"}])
def test_no_other_graph_stands_in_a_published_row(fields):
    frame = rows(**fields) + rows(phase="label", **fields)
    for name in thesis.TIME_TABLES:
        table = thesis.build(name, cells(frame))
        entries = [entry for row in table.rows if row.dataset != "kegg-like" for entry in row.entries.values()]
        assert all(entry.measured is None for entry in entries)


def test_blank_row_names_the_look_alike_that_ran_in_its_place():
    table = built(rows("kegg-like", stands_for="kegg"))
    assert "not in the run; kegg-like is" in entry(table, "Pure DFS").measured_notes[0]


# ------------------------------------------------------------------ the whole report


@pytest.mark.slow
def test_the_reason_of_many_skipped_cells_stands_once_below_each_table():
    def skipped(dim):
        return rows(impl="gpu", dim=dim, ms=(None,), phase=None, status="skipped", reason="no GPU here")

    report = document.make(made(rows() + skipped(1) + skipped(2) + skipped(3), ENVIRONMENT))
    _, lines, notes = parts(details(report.cells))
    assert [line[-1] for line in lines] == ["ok", *["skipped [1]"] * 3]
    assert notes == ["[1] no GPU here"]
    assert document.as_markdown(report).partition("All cells")[2].count("no GPU here") == 1
    shown = page_of(report).partition("<caption>All cells (ms)")[2].partition("</ul>")[0]
    assert shown.count("no GPU here") == 1
    assert shown.count(" [1]") == 3


@pytest.fixture
def report():
    frame = rows() + unguided() + parallel() + rows("kegg-like") + peer_rows("kegg", 1.0, 2.0)
    return document.make(made(frame, ENVIRONMENT))


def test_report_shows_the_tables_that_hold_a_graph_of_the_run(report):
    assert [t.name for t in report.tables] == ["2.1", "2.4"]


def test_table_asked_for_is_shown_though_nothing_of_it_was_measured():
    report = document.make(made(rows(), ENVIRONMENT), ["2.6"])
    assert [(t.name, filled_rows(t)) for t in report.tables] == [("2.6", 0)]


def test_unknown_table_names_those_there_are():
    with pytest.raises(InputError, match=r"2\.6"):
        document.make(made(rows(), ENVIRONMENT), ["7.1"])


def test_report_says_that_its_ratios_cross_machines(report):
    page = document.as_markdown(report)
    assert "CROSSES MACHINES" in page
    assert "Test CPU" in page
    assert "i7-7770HQ" in page
    assert "with changes" in page


def test_written_csv_holds_measured_printed_and_ratio_by_column(report, tmp_path):
    document.write(report, out=tmp_path / "report")
    with open(tmp_path / "report" / "table-2.4.csv", newline="") as file:
        kegg = next(row for row in csv.DictReader(file) if row["dataset"] == "kegg")
    assert float(kegg["Pure DFS measured"]) == 3.0
    assert kegg["Pure DFS printed"] == "209.85"
    assert float(kegg["Pure DFS ratio"]) == pytest.approx(3.0 / 209.85)
    assert kegg["Pure DFS status"] == "ok"


@pytest.mark.parametrize(("form", "names"), [
    ("markdown", {"report.md"}), ("csv", {"table-2.1.csv", "table-2.4.csv", "rivals.csv", "cells.csv"})])  # fmt: skip
def test_only_the_files_of_the_format_are_written(report, tmp_path, form, names):
    assert {p.name for p in document.write(report, tmp_path / "report", form)} == names
    assert {p.name for p in (tmp_path / "report").iterdir()} == names


def test_records_are_plain_json(report):
    lines = [json.loads(json.dumps(r)) for t in report.part("printed") for r in records(t)]
    dfs = next(r for r in lines if (r["table"], r["dataset"], r["column"]) == ("2.4", "kegg", "Pure DFS"))
    assert (dfs["measured"], dfs["printed"], dfs["impl"], dfs["status"]) == (3.0, 209.85, "dfs", "ok")


def test_the_line_of_the_machine_names_its_gpus_each_once():
    gpus = [{"name": "NVIDIA H200"}, {"name": "NVIDIA H200"}, {"name": "NVIDIA H100"}]
    environment = {"cpu": "an abacus", "cores": 2, "gpus": gpus}
    assert words.machine(environment) == "an abacus, 2 cores, 2 x NVIDIA H200, NVIDIA H100"
    assert made([], environment).machine == "an abacus, 2 cores, 2 x NVIDIA H200, NVIDIA H100"
    assert words.machine({"cpu": "an abacus", "cores": 2, "gpus": []}) == "an abacus, 2 cores"
