"""Report and figures of traversals: times a search, rates, ratios to the CPU, and wrong cells without a time."""

import numpy as np
import pytest
from outcomes import succeeds
from tabled import parts

from grailbench.compare.stability import DRIFT, Finding, Verdict
from grailbench.harness import folder as results
from grailbench.harness.cells import cells
from grailbench.harness.folder import Writer
from grailbench.harness.rows import FIELDS
from grailbench.report.papers import figures
from grailbench.report.papers import traversals as traversal

SOURCES = 4


def trial(problem, impl, dataset="slides-bfs-1-like", ms=8.0, number=0, **more):
    base = dict.fromkeys(FIELDS) | {
        "problem": problem, "dataset": dataset, "impl": impl, "kind": "synthetic", "vertices": 10, "edges": 40,
        "queries": SOURCES, "query_set": "random-4-s1", "status": "ok", "under": "", "trial": number, "planned": 2,
        "seed": 1, "key": f"{problem}-{impl}-{dataset}",
    }  # fmt: skip
    base |= {name: more.pop(name) for name in ("query_set", "queries", "seed") if name in more}
    return [base | {"phase": "prepare", "ms": 1.0}, base | {"phase": "solve", "ms": ms, "rate": 5e6, **more}]


def wrong(impl, dataset="slides-bfs-1-like"):
    (_, row) = trial("sssp", impl, dataset)
    why = {"status": "wrong", "phase": None, "ms": None, "rate": None, "reason": "3 of 40 searches are wrong: ..."}
    return [row | why | {"queries": None, "trial": None, "counters": {"searches": 40, "wrong_searches": 3}}]


@pytest.fixture
def rows():
    made = [
        *trial("bfs", "sequential", ms=40.0), *trial("bfs", "sequential", ms=44.0, number=1),
        *trial("bfs", "fused", ms=4.0, counters={"launches": SOURCES, "levels": 10 * SOURCES}),
        *wrong("harish-racy"), *trial("sssp", "coarsened-1", ms=8.0), *trial("sssp", "coarsened-4", ms=12.0),
        *trial("apsp", "floyd-warshall", ms=100.0), *trial("apsp", "floyd-warshall-blocked", ms=20.0),
    ]  # fmt: skip
    return made


def cell(rows, impl):
    found = traversal.cells(cells(rows))
    return found[found.impl == impl].iloc[0]


def test_times_are_a_search_and_steps_are_counted_a_search(rows):
    fused = cell(rows, "fused")
    assert (fused.ms, fused.steps, fused.launches, fused.rate) == (1.0, 10.0, 1.0, 5e6)
    assert cell(rows, "sequential").ms == 10.5
    assert cell(rows, "floyd-warshall").ms == 100.0  # all pairs are one answer


def test_cells_with_other_sources_are_other_cells(rows):
    more = [
        *trial("bfs", "sequential", ms=24.0, query_set="random-8-s1", queries=8),
        *trial("bfs", "sequential", "kegg", ms=12.0),
    ]
    found = traversal.cells(cells(rows + more))
    ms = found[found.impl == "sequential"].set_index("dataset").ms.to_dict()
    assert ms == {"slides-bfs-1-like, random-4-s1": 10.5, "slides-bfs-1-like, random-8-s1": 3.0, "kegg": 3.0}
    assert found[found.impl == "coarsened-4"].dataset.item() == "slides-bfs-1-like"  # sssp has but one set


def test_sources_from_files_are_told_apart_by_file_and_by_seed(rows):
    asked = [(name, seed) for name in ("mine-1a2b", "yours-3c4d") for seed in (1, 2)]
    more = [row for name, seed in asked for row in trial("sssp", "near-far", query_set=name, seed=seed)]
    found = traversal.cells(cells([row for row in rows if row["problem"] == "apsp"] + more))
    assert list(found[found.impl == "near-far"].dataset) == [
        f"slides-bfs-1-like, {name}, seed {seed}" for name, seed in asked
    ]


def test_a_wrong_cell_has_no_time_and_says_how_often(rows):
    racy = cell(rows, "harish-racy")
    assert np.isnan(racy.ms)
    assert (racy.searches, racy.wrong) == (40, 3)
    headers, lines, notes = parts(traversal.table(cells(rows)))
    (line,) = (line for line in lines if line[2] == "harish-racy")
    assert line[headers.index("ms a search")] == ""
    assert "harish-racy on slides-bfs-1-like: 3 of 40 searches wrong" in notes
    drawn = figures.traversals(cells(rows))["traversal-sssp"]
    assert "harish-racy" not in set(drawn.frame.impl)
    assert "3 of 40" in drawn.note


def test_the_table_holds_ratios_to_the_cpu_and_time_a_step(rows):
    headers, lines, _ = parts(traversal.table(cells(rows)))
    (line,) = (line for line in lines if line[2] == "fused")
    assert (line[headers.index("CPU / this")], line[headers.index("us a step")]) == ("10.5", "100")


def test_a_ratio_has_the_mark_of_the_time_on_the_cpu_too(rows):
    found = cells(rows)
    shaky = Verdict((Finding(DRIFT, "", "it drifts"),))
    verdicts = {cell.key: shaky if cell.impl == "sequential" else Verdict() for cell in found}
    headers, lines, _ = parts(traversal.table(found, verdicts))
    (line,) = (line for line in lines if line[2] == "fused")
    assert (line[headers.index("ms a search")], line[headers.index("CPU / this")]) == ("1.00", "10.5†")


def test_shortest_paths_are_compared_with_the_faster_of_two_on_one_core(rows):
    more = [
        row
        for impl, ms in (("dijkstra", 40.0), ("buckets", 20.0), ("near-far", 4.0))
        for row in trial("sssp", impl, ms=ms)
    ]
    headers, lines, _ = parts(traversal.table(cells(rows + more)))
    ratio = {line[2]: line[headers.index("CPU / this")] for line in lines if line[1] == "sssp"}
    assert (ratio["dijkstra"], ratio["buckets"], ratio["near-far"]) == ("0.500", "1.00", "5.00")


def test_the_way_from_edges_stands_beside_what_a_device_alone_takes(rows):
    headers, lines, notes = parts(traversal.table(cells(rows)))
    (line,) = (line for line in lines if line[2] == "fused")
    assert line[headers.index("CPU / this") + 1 : headers.index("status")] == ["–", "–"]
    assert "From edges: not measured, add --from-edges." in notes
    way = [{"ready": 120.0, "solve": 44.0}, {"ready": 60.0, "solve": 4.0, "transfer": 20.0}]
    more = [
        trial("bfs", impl)[1] | {"phase": phase, "under": "" if phase == "ready" else "ready", "ms": ms}
        for impl, times in zip(("sequential", "fused"), way, strict=True)
        for phase, ms in times.items()
    ]
    headers, lines, notes = parts(traversal.table(cells(rows + more)))
    (line,) = (line for line in lines if line[2] == "fused")
    assert line[headers.index("CPU / this") : headers.index("status")] == ["10.5", "60.00", "2.00"]
    assert not [note for note in notes if "not measured" in note]


def test_coarsening_is_relative_to_one_vertex_a_thread(rows):
    frame = figures.traversals(cells(rows))["traversal-coarsening"].frame
    assert dict(zip(frame.factor, frame.relative, strict=True)) == {1: 1.0, 4: 1.5}


@pytest.mark.slow
def test_report_and_plot_write_tables_and_figures_of_all_problems_once(rows, tmp_path, capfd):
    run = tmp_path / "run"
    run.mkdir()
    results.write_json(run / results.PLAN, {"name": "made"})
    results.write_json(run / results.ENVIRONMENT, {"cpu": "made", "cores": 1})
    writer = Writer(run)
    writer.append(rows)
    writer.close()
    for words in (["report", run, "--out", run / "report"], ["plot", run, "--all", "--format", "svg"]):
        succeeds(capfd, *words)
    assert {path.name for path in (run / "report").iterdir()} == {"report.md", "traversal.csv"}
    names = {path.stem for path in (run / "figures").iterdir()}
    assert names == {"strips", *(f"traversal-{name}" for name in ("bfs", "sssp", "apsp", "coarsening", "teps"))}
    assert "fused" in (run / "report" / "report.md").read_text()
