"""Trade-offs and every trial: what is drawn, what is said, and what is told of what is missing."""

import math
import re
from xml.etree import ElementTree

import pytest
from commands import call
from stored import HOSTILE, lost, made, row, store, trials, unguided

from grailbench.compare import costs
from grailbench.harness.cells import cells
from grailbench.report import break_even, document, draw, figures, tradeoffs

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


def numbers(found):
    values = [value for mark in marks(found) for value in (mark.x, mark.y, mark.low, mark.high) if value is not None]
    return [*values, *(value for panel in found.form.panels for step in panel.steps for value in step)]


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
    assert all(map(math.isfinite, numbers(found)))
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
    assert (second["pays from"], second["over searching from"], second["cheapest for"]) == ("40,000",) * 2 + (
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
    code, out, _ = call(capsys, "report", run)
    assert code == 0
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
