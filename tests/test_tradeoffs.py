"""Trade-offs and every trial: what is drawn, what is said, and what is told of what is missing; from how many pairs an
index pays against `sweep`."""

import math
import re
from xml.etree import ElementTree

import pytest
from outcomes import succeeds
from stored import HOSTILE, lost, made, row, store, trials, unguided

from grailbench.compare import costs
from grailbench.harness.cells import cells
from grailbench.report import break_even, document, draw, figures, tradeoffs
from grailbench.report.page import page as page_of

SVG = "{http://www.w3.org/2000/svg}"


def cell(impl="sequential", label=1.0, query=2.0, index=4096, count=1, **fields):
    """Rows of a configuration with a build and a batch of 100,000 queries, in ms."""
    return trials(impl=impl, label=label, query=query, index_bytes=index, count=count, **fields)


def search(query=100.0, **fields):
    return unguided(**{"label": 0.0, "query": query, "index_bytes": 0, "count": 1, **fields})


def gpu(**fields):
    return cell(impl="gpu-fused", search=None, **fields)


def figure(rows, name="tradeoff-build", **more):
    found = {each.name: each for each in tradeoffs.figures(cells(rows), **more)}
    assert tuple(found) == tradeoffs.NAMES
    return found[name]


def marks(found):
    return [mark for panel in found.form.panels for mark in panel.items]


# ------------------------------------------------------------------ figures


def test_a_cell_on_a_cpu_has_no_device_peak_whatever_its_process_had():
    rows = [*cell(device_peak_bytes=7 << 20, host_peak_bytes=9), *gpu(device_peak_bytes=5 << 20, host_peak_bytes=9)]
    found = figure(rows, "tradeoff-memory").frame.set_index("impl").device_peak_bytes
    assert found["gpu-fused"] == 5 << 20
    assert found.isna()["sequential"]


def test_the_front_is_filled_and_joined_and_the_dominated_are_open():
    found = figure([*search(), *cell(label=4.0, query=10.0), *cell(dim=5, label=5.0, query=20.0)])
    (panel,) = found.form.panels
    assert [(mark.series, mark.open) for mark in panel.items] == [
        ("dfs", False), ("sequential", False), ("sequential", True)
    ]  # fmt: skip
    assert panel.steps == ((0.0, 100.0), (4.0, 10.0))
    assert "dfs" in panel.items[0].hint
    assert list(found.frame.label_ms_front) == [True, True, False]
    assert len(drawn(found).findall(f".//{SVG}use")) >= 3, "a build of 0 ms has a mark"


def drawn(found):
    return ElementTree.fromstring(dict(draw.files(found, "", "svg"))[f"{found.name}.svg"])


def test_times_are_of_a_query_where_batches_differ():
    part = cell(impl="peer:a", query=3.0, query_set="random-100000-s1-first-1000", queries=1000)
    (panel,) = figure([*search(), *cell(), *part]).form.panels
    assert panel.y == "a query, ns"
    assert [round(mark.y) for mark in panel.items] == [1000, 20, 3000]
    (panel,) = figure([*search(), *cell()]).form.panels
    assert panel.y == "100,000 queries, ms"


def test_labels_on_a_gpu_never_stand_without_the_time_from_edges_or_a_word_on_it():
    alone = figure([*cell(), *gpu()])
    assert "Without from edges (not measured, add --from-edges)" in alone.missing
    both = figure([*cell(apart={"ready": 3.0}), *gpu(apart={"ready": 9.0})])
    assert [panel.x for panel in both.form.panels] == ["labels, ms", "from edges to a ready index, ms"]
    assert "not measured" not in both.missing


def test_query_sets_have_panels_of_their_own_and_runs_on_several_machines_none():
    rows = [*search(), *cell(), *search(query_set="balanced-9-s1"), *cell(query_set="balanced-9-s1")]
    assert [panel.title for panel in figure(rows).form.panels] == ["kegg", "kegg, balanced"]
    mixed = made(rows, {"fingerprint": "a", "earlier": [{"fingerprint": "b"}]})
    for each in tradeoffs.of_run(mixed):
        assert each.form.empty
        assert each.note == tradeoffs.MIXED
    assert document.make(mixed).part("tradeoffs") == [] != document.make(made(rows)).part("tradeoffs")


def test_of_many_graphs_the_largest_are_drawn_and_the_others_named():
    rows = [each for n in range(5) for each in (*search(dataset=f"g{n}", edges=n), *cell(dataset=f"g{n}", edges=n))]
    found = figure(rows)
    assert [panel.title for panel in found.form.panels] == ["g2", "g3", "g4"]
    assert "left out: g0, g1." in found.note
    assert set(found.frame.dataset) == {f"g{n}" for n in range(5)}


def test_what_has_no_mark_is_told_with_its_reason():
    rows = [*cell(host_peak_bytes=1 << 20), *cell(dim=5, host_peak_bytes=1 << 21), *search(),
            *lost("timeout", "too slow", dim=9)]  # fmt: skip
    found = figure(rows, "tradeoff-memory")
    assert "Without host peak (measured of cells in a process of their own): dfs." in found.missing
    assert "kegg, sequential d=9 dfs: TIMEOUT, too slow" in found.missing
    assert "device" not in found.missing, "nobody used a device"


@pytest.mark.parametrize("rows", [cell(), lost("failed", "boom"), [*cell(), *lost("failed", "x", impl="parallel")]])
def test_one_configuration_is_no_trade_off(rows):
    assert all(each.form.empty and not each.drawable for each in tradeoffs.figures(cells(rows)))
    assert front_table(cells(rows)).lines == []


def test_zero_times_and_equal_points_are_drawn_and_nothing_is_no_number():
    found = figure([*search(query=0.0), *cell(label=0.0, query=0.0), *cell(dim=5, label=0.0, query=0.0)])
    assert [mark.open for mark in marks(found)] == [False] * 3
    values = [value for mark in marks(found) for value in (mark.x, mark.y, mark.low, mark.high) if value is not None]
    values += [value for panel in found.form.panels for step in panel.steps for value in step]
    assert all(map(math.isfinite, values))
    assert drawn(found) is not None
    table = front_table(cells([*search(query=0.0), *cell(label=0.0, query=0.0)]))
    assert [line[-1] for line in table.lines] == ["1 on", ""]


def test_energy_and_memory_stand_against_the_time_of_a_solution(monkeypatch):
    of = {"problem": "closure", "dim": None, "search": None, "filters": None, "order": None, "query_set": "all",
          "phase": "solve", "trial": 0}  # fmt: skip
    watts = {"joules": 2.0, "seconds": 1.0, "calls": 1, "idle_watts": 1.0}
    rows = [row(impl="a", ms=3.0, index_bytes=10, energy=watts, **of),
            row(impl="b", ms=4.0, index_bytes=5, energy={**watts, "joules": 1.0}, **of)]  # fmt: skip
    found = figure(rows, "tradeoff-energy")
    assert [(mark.x, mark.y, mark.open) for mark in marks(found)] == [(2.0, 3.0, False), (1.0, 4.0, False)]
    assert [panel.x for panel in found.form.panels] == ["the answers, J"]
    assert len(figure(rows, "tradeoff-memory").form.panels) == 1
    assert figure(rows).form.empty, "nothing is built"


# ------------------------------------------------------------------ break-even


def front_table(cells):
    return break_even.table(costs.fronts(break_even.groups_of(cells)))


def told(rows):
    (found,) = break_even.tables(cells(rows))
    return found


def test_it_says_from_how_many_queries_an_index_pays():
    # 1,000 ns a searched query and 20 of the index: 39.2 ms of building are saved by 40,000 queries
    rows = [*search(), *cell(label=39.2, query=2.0)]
    table = told(rows)
    said = "kegg, labels: dfs for fewer; from 40,000{} queries on sequential d=2 dfs pays, against dfs."
    assert table.notes[0] == said.format("")
    assert told([*search(count=3), *cell(label=39.2, query=2.0, count=3)]).notes[0] == said.format(" (95 %: 40,000)")
    first, second = (dict(zip(table.headers, line, strict=True)) for line in table.lines)
    assert (first["configuration"], first["pays from"], first["cheapest for"]) == ("dfs", "–", "1 to 40,000")
    assert (second["pays from"], second["over searching from"], second["cheapest for"]) == ("40,000‡",) * 2 + (
        "40,000 on",
    )
    assert second["index size"] == "4 KiB"
    record = table.records[1]
    assert record["search"] == "dfs"
    assert record["search_from"] == record["cheapest_from"] == pytest.approx(40_000, abs=1)


def test_builds_are_from_edges_where_they_were_timed_so():
    table = told([*search(apart={"ready": 1.0}), *cell(apart={"ready": 41.0}), *gpu(label=0.1)])
    assert {line[3] for line in table.lines} == {"from edges"}
    assert "not in the table: 1 configuration" in " ".join(table.notes)
    labels = " ".join(told([*search(), *gpu()]).notes)
    assert "on a GPU of a graph that is there already" in labels
    assert "not measured, add --from-edges" in labels


def test_what_may_never_pay_is_said_to_pay_if_at_all():
    noisy = [
        row(impl="sequential", phase=phase, trial=trial, ms=ms, index_bytes=9)
        for trial, query in enumerate((50.0, 150.0, 99.0))
        for phase, ms in (("label", 4.0), ("query", query))
    ]
    assert (
        "to never) queries on sequential d=2 dfs pays if at all, against dfs"
        in told([*search(count=3), *noisy]).notes[0]
    )


def test_reports_of_runs_with_an_index_and_a_search_show_it_and_others_do_not(tmp_path, capsys):
    run = store(tmp_path / "run", [*search(), *cell()])
    out, _ = succeeds(capsys, "report", run)
    assert "queries on sequential d=2 dfs pays, against dfs" in " ".join(out.split())
    assert break_even.tables(cells([*cell(), *cell(dim=5)])) == []
    assert break_even.tables(cells([*search(), *search(impl="bfs", search=None)])) == []


# ------------------------------------------------------------------ strips


def test_every_trial_is_a_dot_of_its_strip_the_first_lowest():
    rows = [row(phase=phase, trial=n, ms=10.0 + n) for n in range(4) for phase in ("label", "query")]
    found = figures.trials(cells(rows))
    assert [panel.title for panel in found.form.panels] == ["kegg: label", "kegg: query"]
    (strip,) = found.form.panels[1].items
    assert strip.trials == (10.0, 11.0, 12.0, 13.0)
    assert strip.low <= strip.x <= strip.high
    shapes = [each.get("d") for group in drawn(found).iter() if group.get("data-series") for each in group
              if each.tag == f"{SVG}path" and len(each) and each[0].tag == f"{SVG}title"]  # fmt: skip
    dots = [[tuple(map(float, at.split())) for at in re.findall(r"M ([\d.]+ [\d.]+)", shape)] for shape in shapes]
    assert [len(each) for each in dots] == [4, 4]
    for own in dots:
        assert [x for x, _ in own] == sorted({x for x, _ in own}), "slower to the right"
        assert [y for _, y in own] == sorted({y for _, y in own}, reverse=True), "later further up"
    assert found.frame[["phase", "trial", "ms"]].values.tolist()[:2] == [["label", 0, 10.0], ["label", 1, 11.0]]


@pytest.mark.slow
def test_lost_cells_have_their_word_and_long_panels_go_on():
    rows = [each for dim in range(1, 60) for each in cell(dim=dim)] + lost("wrong", HOSTILE, impl="parallel")
    found = figures.trials(cells(rows))
    assert f"WRONG: {HOSTILE}" in [strip.word for strip in found.form.panels[-1].items]
    files = [name for name, _ in draw.files(found, "", "svg")]
    assert files == ["strips.svg", "strips-2.svg", "strips-3.svg", "strips-4.svg", "strips.csv"]


# ------------------------------------------------------------------ links, pages and files


def test_links_are_in_pages_escaped_and_named_and_in_no_file():
    address = 'a b.html?x=1&y="<script>"#c1'
    found = figure([*search(), *cell()], link=lambda cell: address if cell.impl == "dfs" else "")
    page = draw.svg(found)
    assert "<script" not in page
    (link,) = re.findall("<a [^>]*>", page)
    element = ElementTree.fromstring(link.removesuffix(">") + "/>")
    assert element.get("href") == address
    assert element.get("aria-label").startswith("kegg, dfs: ")
    for name, content in draw.files(found, "", "svg"):
        assert b'href="a b' not in content, name
        assert b"data-address" not in content
    trial = figures.trials(cells(cell()), link=lambda cell: "#c1")
    assert draw.svg(trial).count('href="#c1"') == 2


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", " JavaScript:alert(1)", "data:text/html,x", "java\nscript:x"]
)
def test_addresses_that_a_browser_would_run_are_refused(address):
    with pytest.raises(ValueError, match="no address"):
        draw.svg(figure([*search(), *cell()], link=lambda cell: address))


# ------------------------------------------------------------------ against sweep


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
        "graph": "kegg", "swept, one thread: ns a pair": "100‡",
        "ours, one thread: pays from": "50,000‡", "ours, one thread": "core",
        "others, one thread: pays from": "20,000‡", "others, one thread": "peer:a",
    }  # fmt: skip


def test_the_index_that_pays_first_is_shown_and_records_have_all():
    rows = [*sweep(), *timed("core", 4.0, 2.0, 6.0), *timed("slow", 1.0, 9.0, 3.0), *timed("dear", 1.0, 1.0, 9.0)]
    assert line(rows)["ours, one thread"] == "core"
    records = {each["configuration"]: each["pays_from"] for each in only(rows).records}
    assert records == {"core": 50_000, "slow": 100_000, "dear": 77_778}
    assert only(rows).data["pays_from"].tolist() == [50_000, 100_000, 77_778]


def test_beyond_the_batch_it_is_a_lower_bound_and_what_is_no_faster_never_pays():
    rows = [*sweep(), *timed("core", 4.0, 2.0, 102.0), *timed("peer:a", 1.0, 10.0, 2.0)]
    assert line(rows)["ours, one thread: pays from"] == "≥ 1,250,000‡"
    assert line(rows)["others, one thread: pays from"] == "never‡"
    notes = " ".join(only(rows).notes)
    assert "lower bound" in notes
    assert "never: " in notes
    assert "lower bound" not in " ".join(only([*sweep(), *timed("core", 4.0, 2.0, 6.0)]).notes)


def test_without_the_way_from_edges_the_labeling_counts_and_that_is_said():
    rows = [*sweep(ready=None), *timed("core", 4.0, 2.0, None)]
    assert line(rows)["ours, one thread: pays from"] == "50,000‡"
    assert "labeling alone" in only(rows).notes[-2]
    assert "labeling alone" not in " ".join(only([*sweep(), *timed("core", 4.0, 2.0, 6.0)]).notes)


def test_threads_are_compared_with_threads_and_else_with_the_sweep_there_is():
    rows = [*sweep(), *sweep(query=5.0, threads=2), *timed("core", 4.0, 2.0, 6.0)]
    rows += timed("parallel", 4.0, 1.0, 6.0, threads=2)
    found = line(rows)
    assert (found["swept, one thread: ns a pair"], found["swept, all threads: ns a pair"]) == ("100‡", "50.0‡")
    assert found["ours, all threads: pays from"] == "100,000‡"
    alone = [row for row in rows if (row["impl"], row["threads"]) != ("sweep", 2)]
    assert line(alone)["ours, one thread: pays from"] == "44,445‡"


def test_a_part_of_a_query_set_is_compared_with_the_sweep_of_the_whole():
    part = {"query_set": "random-100000-s1-first-1000", "queries": 1000}
    found = line([*sweep(), *timed("peer:slow", 4.0, 0.02, 6.0, **part)])
    assert found["others, one thread"] == "peer:slow (first 1,000 pairs)"
    assert found["others, one thread: pays from"] == "50,000‡"


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
