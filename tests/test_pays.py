"""From how many pairs an index pays against `sweep`: what is computed, what is said of it, and where it is shown."""

import pytest
from stored import lost, made, trials, unguided

from grailbench.harness.cells import cells
from grailbench.report import break_even, document
from grailbench.report.page import page as page_of

NONE = {"dim": None, "search": None, "filters": None, "order": None}


def timed(impl, label, query, ready, index_bytes=400, **fields):
    """A cell of 100,000 pairs unless said otherwise: ms to build, to ask, and from edges to a ready index."""
    return trials(count=1, impl=impl, label=label, query=query, apart={"ready": ready} if ready is not None else None,
                  **NONE, **{"index_bytes": index_bytes, "threads": None, **fields})  # fmt: skip


def sweep(query=10.0, ready=2.0, **fields):
    return timed("sweep", 0.0, query, ready, 0, **{"threads": 1, **fields})


def only(rows):
    (found,) = break_even.against_sweep(cells(rows))
    return found


def line(rows, graph="kegg"):
    found = only(rows)
    (line,) = [dict(zip(found.headers, each, strict=True)) for each in found.lines if each[0] == graph]
    return line


def test_an_index_pays_where_its_longer_way_from_edges_is_saved_by_its_shorter_pairs():
    # 100 ns a swept pair and 20 of the index: 4 ms more to build are saved by 4e6 / 80 = 50,000 pairs
    found = line([*sweep(), *timed("core", 4.0, 2.0, 6.0), *timed("peer:a", 9.0, 5.0, 3.0)])
    assert found == {
        "graph": "kegg", "swept, one thread: ns a pair": "100",
        "ours, one thread: pays from": "50,000", "ours, one thread": "core",
        "others, one thread: pays from": "20,000", "others, one thread": "peer:a",
    }  # fmt: skip


def test_the_index_that_pays_first_is_shown_and_records_have_all():
    rows = [*sweep(), *timed("core", 4.0, 2.0, 6.0), *timed("slow", 1.0, 9.0, 3.0), *timed("dear", 1.0, 1.0, 9.0)]
    assert line(rows)["ours, one thread"] == "core"
    records = {each["configuration"]: each["pays_from"] for each in only(rows).records}
    assert records == {"core": 50_000, "slow": 100_000, "dear": 77_778}
    assert only(rows).data["pays_from"].tolist() == [50_000, 100_000, 77_778]


def test_beyond_the_batch_it_is_a_lower_bound_and_what_is_no_faster_never_pays():
    rows = [*sweep(), *timed("core", 4.0, 2.0, 102.0), *timed("peer:a", 1.0, 10.0, 2.0)]
    assert line(rows)["ours, one thread: pays from"] == "≥ 1,250,000"
    assert line(rows)["others, one thread: pays from"] == "never"
    notes = " ".join(only(rows).notes)
    assert "lower bound" in notes
    assert "never: " in notes
    assert "lower bound" not in " ".join(only([*sweep(), *timed("core", 4.0, 2.0, 6.0)]).notes)


def test_without_the_way_from_edges_the_labeling_counts_and_that_is_said():
    rows = [*sweep(ready=None), *timed("core", 4.0, 2.0, None)]
    assert line(rows)["ours, one thread: pays from"] == "50,000"
    assert "labeling alone" in only(rows).notes[-1]
    assert "labeling alone" not in " ".join(only([*sweep(), *timed("core", 4.0, 2.0, 6.0)]).notes)


def test_threads_are_compared_with_threads_and_else_with_the_sweep_there_is():
    rows = [*sweep(), *sweep(query=5.0, threads=2), *timed("core", 4.0, 2.0, 6.0)]
    rows += timed("parallel", 4.0, 1.0, 6.0, threads=2)
    found = line(rows)
    assert (found["swept, one thread: ns a pair"], found["swept, all threads: ns a pair"]) == ("100", "50.0")
    assert found["ours, all threads: pays from"] == "100,000"
    alone = [row for row in rows if (row["impl"], row["threads"]) != ("sweep", 2)]
    assert line(alone)["ours, one thread: pays from"] == "44,445"


def test_a_part_of_a_query_set_is_compared_with_the_sweep_of_the_whole():
    part = {"query_set": "random-100000-s1-first-1000", "queries": 1000}
    found = line([*sweep(), *timed("peer:slow", 4.0, 0.02, 6.0, **part)])
    assert found["others, one thread"] == "peer:slow (first 1,000 pairs)"
    assert found["others, one thread: pays from"] == "50,000"


@pytest.mark.parametrize("rows", [
    [*timed("core", 4.0, 2.0, 6.0), *unguided()],
    [*sweep(), *unguided(index_bytes=0)],
    [*lost("failed", "why", impl="sweep", **NONE), *timed("core", 4.0, 2.0, 6.0)],
    [*sweep(), *lost("wrong", "why", impl="core", **NONE)],
    [*sweep(query_set="balanced-100000-s1"), *timed("core", 4.0, 2.0, 6.0)],
])  # fmt: skip
def test_there_is_no_table_without_a_sweep_and_an_index_of_the_same_queries(rows):
    assert break_even.against_sweep(cells(rows)) == []


def test_real_and_generated_graphs_and_query_sets_have_tables_of_their_own():
    rows = []
    for fields in ({}, {"dataset": "kegg-like"}, {"query_set": "balanced-100000-s1"}):
        rows += [*sweep(**fields), *timed("core", 4.0, 2.0, 6.0, **fields)]
    assert [each.title for each in break_even.against_sweep(cells(rows))] == [
        f"From how many pairs an index pays, {name}"
        for name in ("random-100000-s1", "balanced-100000-s1", "random-100000-s1 (look-alikes)")
    ]


@pytest.mark.slow
def test_reports_and_pages_show_it_and_those_of_runs_without_sweep_are_as_they_were():
    rows = timed("core", 4.0, 2.0, 6.0)
    for own, shown in ((rows, False), ([*sweep(), *rows], True)):
        report = document.make(made(own))
        assert ("From how many pairs an index pays" in document.as_markdown(report)) is shown
        assert ('id="pays"' in page_of(report)) is shown
