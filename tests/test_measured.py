"""The report shows what was measured, whatever the thesis has tables of; one with peers opens with who is fastest."""

import json

import pytest
from stored import made
from tabled import all_records, parts
from test_tables import ENVIRONMENT, parallel, rows, unguided

from grailbench.compare import ranking
from grailbench.harness.cells import cells
from grailbench.report import document, measured
from grailbench.util.screen import Grid

GRAIL, BFL = "peer:pyreachability-grail", "peer:pyreachability-bfl"


def frame(*groups):
    return [row for group in groups for row in group]


def report(*groups, names=()):
    return document.make(made(frame(*groups), ENVIRONMENT), names)


def shown(*groups):
    """A dictionary a line of the table of what was measured."""
    headers, lines, _ = parts(measured.table(cells(frame(*groups))))
    return [dict(zip(headers, line, strict=True)) for line in lines]


def timed(dataset="kegg", impl="sequential", ms=1.0, **other):
    """A cell of label, query and ready; times ms, 2 ms, 3 ms."""
    both = [rows(dataset, impl, ms=(factor * ms,) * 3, phase=phase, **other)
            for factor, phase in ((1, "label"), (2, "query"), (3, "ready"))]  # fmt: skip
    return [row for group in both for row in group]


# ------------------------------------------------------------------ what was measured


def test_every_cell_has_a_line_of_its_own_with_filters_d_threads_and_batch():
    groups = [rows(), rows(dim=5), rows(filters="level,tree"), rows(query_set="random-1000-s1"), unguided()]
    groups += [parallel(), parallel(threads=4), rows("xmark", dim=3)]
    lines = shown(*groups)
    names = ("graph", "implementation", "d", "filters", "threads", "queries")
    assert [tuple(line[name] for name in names) for line in lines] == [
        ("kegg", "dfs", "", "", "", "random-100000-s1"),
        ("kegg", "parallel", "2", "none", "2", "random-100000-s1"),
        ("kegg", "parallel", "2", "none", "4", "random-100000-s1"),
        ("kegg", "sequential", "2", "none", "", "random-1000-s1"),
        ("kegg", "sequential", "2", "none", "", "random-100000-s1"),
        ("kegg", "sequential", "2", "level,tree", "", "random-100000-s1"),
        ("kegg", "sequential", "5", "none", "", "random-100000-s1"),
        ("xmark", "sequential", "3", "none", "", "random-100000-s1"),
    ]


def test_times_are_medians_and_only_of_phases_that_were_timed():
    (line,) = shown(rows(ms=(1.0, 2.0, 90.0)), rows(phase="label", ms=(0.5,)))
    assert (line["label ms"], line["query ms"]) == ("0.50‡", "2.00‡")
    assert "ready ms" not in line
    (line,) = shown(timed())
    assert line["ready ms"] == "3.00‡"


def test_sizes_have_units_and_columns_where_they_were_measured():
    (line,) = shown(rows(index_bytes=115_776, host_peak_bytes=3 << 29, device_peak_bytes=1 << 20))
    assert (line["index size"], line["host peak"], line["device peak"]) == ("113 KiB", "1.5 GiB", "1 MiB")
    (line,) = shown(rows())
    assert not {"index size", "host peak", "device peak"} & line.keys()
    assert [measured.size(count) for count in (0, 1023, 1024, 10 << 20)] == ["0 B", "1023 B", "1 KiB", "10 MiB"]


def test_what_goes_without_saying_has_no_column_until_a_cell_differs():
    (line,) = shown(rows())
    assert not {"search", "order", "GPUs", "seed"} & line.keys()
    two = shown(rows(), rows(search="bfs", order="lexicographic", seed=2), rows(impl="gpu-fused", devices=2))
    assert all({"search", "order", "GPUs", "seed"} <= line.keys() for line in two)


def test_a_cell_without_times_says_its_status_and_why_once_below():
    bad = rows(status="failed", ms=(None,), phase=None, reason="no memory left")
    worse = rows(dim=5, status="failed", ms=(None,), phase=None, reason="no memory left")
    headers, lines, notes = parts(measured.table(cells(frame(bad, worse))))
    assert [line[headers.index("status")] for line in lines] == ["failed [1]", "failed [1]"]
    assert "query ms" not in headers
    assert notes.count("[1] no memory left") == 1


def test_a_look_alike_that_ran_in_the_place_of_a_graph_says_so():
    *_, notes = parts(measured.table(cells(rows("kegg-like", stands_for="kegg"))))
    assert "kegg-like ran in the place of kegg." in notes


# ------------------------------------------------------------------ the report


def test_report_begins_with_what_was_measured_and_the_thesis_comes_after():
    page = document.as_markdown(report(rows(filters="level,tree"), rows()))
    assert page.index(measured.TITLE) < page.index("Table 2.1") < page.index("Table 2.4")
    assert page.count("level,tree") >= 2
    tables = [part for part in document.show(report(rows())) if isinstance(part, Grid)]
    assert [table.title.partition(":")[0] for table in tables] == ["What was measured", "Table 2.1", "Table 2.4"]


def test_report_has_no_row_of_a_graph_that_did_not_run_unless_its_table_is_asked_for():
    whole, asked = report(rows()), report(rows(), names=["2.4"])
    assert {row.dataset for table in whole.tables for row in table.rows} == {"kegg"}
    assert len(asked.tables[0].rows) == 10
    assert "not in the run" not in document.as_markdown(whole)
    assert "What was measured" not in document.as_markdown(asked)


@pytest.mark.parametrize("change", [{"filters": "level,tree"}, {"dim": 5}])
def test_a_table_of_times_that_no_cell_is_of_is_not_made(change):
    found = report(rows(**change))
    assert [table.name for table in found.tables] == ["2.1"]
    assert report(rows("mine", **change)).part("printed") == []


def test_a_table_is_made_for_a_cell_that_failed():
    assert "2.4" in [table.name for table in report(rows(status="failed", ms=(None,), reason="x")).tables]


def test_header_says_nothing_of_print_where_nothing_stands_beside_it():
    assert not any("CROSSES" in line or "Printed" in line for line in report(rows("mine")).header)
    assert any("CROSSES" in line for line in report(rows()).header)


def test_json_has_a_record_a_cell():
    found = [json.loads(json.dumps(each)) for each in all_records(report(rows(dim=5, index_bytes=7), rows()))]
    assert [(e["dim"], e["query_ms"], e["index_bytes"]) for e in found if e["table"] == "cells"] == [
        (2, 3.0, None), (5, 3.0, 7)
    ]  # fmt: skip
    assert {e["table"] for e in all_records(report(rows(), names=["2.4"]))} == {"2.4"}


# ------------------------------------------------------------------ the ranking


def test_places_are_by_the_geometric_mean_of_times_over_the_best_of_each_graph():
    groups = [timed("kegg", ms=1.0), timed("human", ms=8.0)]
    groups += [timed("kegg", BFL, dim=None, search=None, ms=4.0), timed("human", BFL, dim=None, search=None, ms=4.0)]
    groups += [timed("kegg", "parallel", threads=2, ms=3.0), timed("human", "parallel", threads=2, ms=40.0)]
    first = ranking.rankings(cells(frame(*groups)))[0]
    assert {graph: best.value for graph, best in first.best.items()} == {"kegg": 2.0, "human": 8.0}
    assert [(place.name, pytest.approx(place.mean.value)) for place in first.places] == [
        ("sequential d=2 dfs", 2**0.5), (BFL, 2.0), ("parallel d=2 dfs 2 threads", 30**0.5)
    ]  # fmt: skip


def test_like_stands_with_like_d():
    groups = [timed(dim=2), timed(dim=5, ms=9.0), timed(impl=BFL, dim=None, search=None)]
    groups += [timed(impl=GRAIL, dim=5, search=None, ms=8.0)]
    found = {each.dim: {place.name for place in each.places}
             for each in ranking.rankings(cells(frame(*groups))) if each.phase == "query"}  # fmt: skip
    assert found == {2: {"sequential d=2 dfs", BFL}, 5: {"sequential d=5 dfs", f"{GRAIL} d=5", BFL}}


def test_other_queries_and_generated_graphs_are_ranked_apart():
    groups = [timed(), timed(impl=BFL, dim=None), timed("kegg-like"), timed("kegg-like", BFL, dim=None)]
    groups += [timed(query_set="balanced-10-s1"), timed(impl=BFL, dim=None, query_set="balanced-10-s1")]
    found = [each for each in ranking.rankings(cells(frame(*groups))) if each.phase == "query"]
    assert [(each.query_set, each.like, list(each.best)) for each in found] == [
        ("random-100000-s1", False, ["kegg"]), ("balanced-10-s1", False, ["kegg"]),
        ("random-100000-s1", True, ["kegg-like"]),
    ]  # fmt: skip


def test_a_lost_graph_counts_and_one_that_was_not_asked_does_not():
    lost = rows("human", BFL, dim=None, search=None, status="timeout", ms=(None,), phase=None, reason="60 s")
    groups = [timed("kegg"), timed("human"), timed("kegg", BFL, dim=None, search=None, ms=0.5), lost]
    groups += [timed("kegg", "parallel", threads=2, ms=0.25)]
    first = ranking.rankings(cells(frame(*groups)))[0]
    assert [place.name for place in first.places] == [
        "sequential d=2 dfs", BFL, "parallel d=2 dfs 2 threads"  # the last was not run on every graph
    ]  # fmt: skip
    assert first.places[1].mean.value == pytest.approx((2.0 * 10.0) ** 0.5)


def test_labels_are_ranked_where_nothing_was_timed_from_edges():
    group = [row for row in timed() + timed(impl=BFL, dim=None, index_bytes=9) if row["phase"] != "ready"]
    last = ranking.rankings(cells(frame(group)))[-1]
    assert last.phase == "label"


def test_a_sound_cell_that_was_not_timed_from_edges_is_not_ranked_by_ready():
    group = [row for row in timed(impl="parallel", threads=2) if row["phase"] != "ready"]
    last = ranking.rankings(cells(frame(timed(), timed(impl=BFL, dim=None, search=None, index_bytes=9), group)))[-1]
    assert last.phase == "ready"
    assert [place.name for place in last.places] == [BFL, "sequential d=2 dfs"]
