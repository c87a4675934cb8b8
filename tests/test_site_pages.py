"""The pages of graphs and implementations: their numbers against plain pandas, their links, and what they say of runs
that lack something."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from stored import ENVIRONMENT, HOSTILE, everything, lost, made, row, trials, unguided

from grailbench.compare import measures
from grailbench.compare.ratios import EQUAL, UNCLEAR
from grailbench.graph import profile as outlines
from grailbench.harness import provenance
from grailbench.harness.cells import of_machine, read
from grailbench.report import draw
from grailbench.report.profiled import figures
from grailbench.report.render.html import html, linked
from grailbench.report.site import budgets, graphs, implementations
from grailbench.report.site.entries import RECORDED, Entry, Source, entries
from grailbench.report.site.rounds import LOSES, WINS, graphs_lost, graphs_won, rounds

MACHINE = {"cpu": "Test CPU", "cores": 2, "fingerprint": "aaaaaaaa"}
OTHER = {"cpu": "Other CPU", "cores": 8, "fingerprint": "bbbbbbbb"}


def cells(*rows, environment=MACHINE, name="run"):
    """The entries of a run of these rows."""
    return Source(name, made([each for group in rows for each in group], environment, name)).entries


def from_edges(ready, **fields):
    return trials(apart={"ready": ready}, **fields)


def found(blocks, kind="table"):
    return [content for name, content in blocks if name == kind]


def table(blocks, name):
    (one,) = [each for each in found(blocks) if each.name.startswith(name)]
    return one


def frame(blocks, name):
    """A table's CSV, as a reader of the page gets it."""
    (text,) = [text for file, text in found(blocks, "data") if file.startswith(name)]
    return pd.read_csv(io.StringIO(text))


@pytest.fixture(scope="module")
def recorded():
    """The entries of small recorded runs: pairs on two CPUs, and other problems on a GPU."""
    names = ("cpu-2core/sweep", "h200/from-edges", "xeon-2core/thesis-cpu")
    return list(entries(Source(name, of_machine(read(provenance.baselines() / name)), RECORDED) for name in names))


def flat(shown):
    """The times of entries, a line for each trial, as plain as it gets."""
    return pd.DataFrame([
        {"graph": e.cell.dataset, "problem": e.cell.problem, "impl": e.cell.impl, "label": e.cell.label,
         "set": e.cell.query_set, "machine": e.source.run.fingerprint, "many": (e.cell.threads or 1) > 1,
         "phase": phase, "trial": trial, "ms": ms, "queries": e.cell.queries, "address": e.address}
        for e in shown if e.cell.sound for (under, phase), times in e.cell.times.items() if not under
        for trial, ms in times.items()
    ])  # fmt: skip


# ------------------------------------------------------------------ best of each budget


def test_best_of_each_budget_is_that_of_pandas(recorded):
    plain = flat(recorded)
    plain = plain[(plain.graph == "kegg") & (plain.problem == "reachability") & plain.address.str.contains("sweep")]
    assert plain.machine.nunique() == 1
    page = graphs.page("kegg", [each for each in recorded if each.source.name == "cpu-2core/sweep"])
    for kind in ("random", "balanced"):
        own = plain[plain.set.str.startswith(kind)]
        wide = own.pivot_table(index=["address", "queries", "trial"], columns="phase", values="ms").reset_index()
        (number,) = [t.name for t in found(page) if t.title.startswith(f"Fastest, {kind}")]
        shown = frame(page, number).set_index("answers")
        for answers in budgets.BUDGETS:
            total = wide.label + answers / wide.queries * wide["query"]
            least = total.groupby(wide.address).median()
            lines = shown.loc[[answers]]
            assert lines.at_hand_ms.min() == pytest.approx(least.min())
            at = [t for t in found(page) if t.name == number][0]
            (line,) = [i for i, value in enumerate(at.values) if value[0] == answers]
            assert at.links[line][5] == f"../{least.idxmin()}"


def test_best_from_edges_of_other_problems_is_that_of_pandas(recorded):
    plain = flat(recorded)
    plain = plain[(plain.problem != "reachability") & (plain.phase == "ready")]
    assert plain.graph.nunique() > 2
    for (graph, problem), own in plain.groupby(["graph", "problem"]):
        medians = own.groupby(["set", "address"]).ms.median()
        for name, of in medians.groupby("set"):
            (at,) = [
                t for t in found(graphs.page(graph, recorded))
                if t.title == f"Fastest, {name}" and f"-{problem}-" in t.name
            ]  # fmt: skip
            line = next(i for i, texts in enumerate(at.lines) if "from edges" in texts[1])
            assert at.values[line][3] == pytest.approx(of.min())
            assert at.links[line][3] == f"../{of.idxmin()[1]}"


def test_interval_is_that_of_the_median_of_the_totals():
    (entry,) = cells(from_edges(3.0, label=1.0, query=2.0, count=9))
    million = measures.total(measures.FROM_EDGES, 1_000_000)
    low, high = million.stats(entry.cell).median_low, million.stats(entry.cell).median_high
    totals = [(3.0 + 10 * 2.0) * (1 + trial / 100) for trial in range(9)]
    assert list(million.trials(entry.cell).values()) == pytest.approx(totals)
    assert min(totals) <= low < np.median(totals) < high <= max(totals)


def test_a_quick_build_wins_few_answers_and_a_quick_query_many():
    shown = cells(from_edges(1.0, label=0.5, query=100.0), from_edges(50.0, label=20.0, query=1.0, impl="core"))
    at = table(graphs.page("kegg", shown), "fastest")
    by = {line[0]: line[2] for line in at.lines}
    assert by["1"].startswith("sequential")
    assert by["1,000,000"] == by["1,000,000,000"] == "core d=2 dfs"
    shown_both = [line[3:7:2] for line in at.lines]
    assert all("–" not in times for times in shown_both)


def test_graph_at_hand_has_from_edges_beside_it_or_says_that_it_was_not_measured():
    with_both = table(graphs.page("kegg", cells(from_edges(9.0))), "fastest")
    assert all(line[3] != "–" and line[5] != "–" for line in with_both.lines)
    assert with_both.notes == []
    without = table(graphs.page("kegg", cells(trials())), "fastest")
    assert all(line[3] == "–" and line[5] != "–" for line in without.lines)
    assert without.notes == ["From edges: not measured, add --from-edges."]


def test_no_search_is_told_only_of_those_that_counted_none():
    counted = {"searches": 0, "queries": 9}
    shown = cells(
        from_edges(1.0, query=1.0, counters={"searches": 5}), from_edges(9.0, query=9.0, impl="core", counters=counted),
        from_edges(0.5, query=0.5, impl="peer:pyreachability-tc"),
    )  # fmt: skip
    at = table(graphs.page("kegg", shown), "fastest")
    least = {line[1]: line[2] for line in at.lines if line[0] == "1"}
    assert least == {
        "from edges, graph at hand": "peer:pyreachability-tc d=2 dfs", "from edges, no search": "core d=2 dfs",
    }  # fmt: skip
    assert [measures.searchless(each.cell) for each in shown] == [False, True, None]


def test_machines_are_never_compared_and_neither_are_two_graphs_of_one_name():
    here, there = cells(trials(query=5.0)), cells(trials(query=1.0, impl="core"), environment=OTHER, name="b")
    page = graphs.page("kegg", here + there)
    assert [t.lines[0][2].split()[0] for t in found(page) if t.name.startswith("fastest")] == ["sequential", "core"]
    assert not rounds("core", "reachability", here + there)[0].answering.other
    changed = cells(trials(query=5.0, graph_sha256="a" * 64), trials(query=1.0, impl="core", graph_sha256="b" * 64))
    assert rounds("core", "reachability", changed)[0].verdict is None
    assert len([t for t in found(graphs.page("kegg", changed)) if t.name.startswith("fastest")]) == 2


def test_runs_on_several_machines_are_in_no_comparison():
    mixed = MACHINE | {"earlier": [OTHER]}
    shown = cells(trials(), trials(impl="core", query=1.0), environment=mixed)
    page = graphs.page("kegg", shown)
    assert not found(page)
    assert any("measured on several machines: run" in text for text in found(page, "text"))
    assert rounds("core", "reachability", shown) == []
    assert any(
        "several machines" in text for text in found(implementations.page("core", "reachability", shown), "text")
    )


def test_runs_without_a_machine_are_compared_within_the_run_alone():
    one = cells(trials(), trials(impl="core", query=1.0), environment={}, name="a")
    other = cells(trials(impl="dfs", query=0.1), environment={}, name="b")
    (found_,) = rounds("core", "reachability", one + other)
    assert found_.answering.other.cell.impl == "sequential"


def test_estimates_are_compared_with_estimates():
    of = {"problem": "counts", "query_set": "all", "dim": None, "search": None, "filters": None, "order": None}
    solve = [row(phase="solve", trial=t, ms=ms, **of, **more) for t in (0, 1) for ms, more in (
        (5.0, {"impl": "counts"}), (1.0, {"impl": "counts-sketch", "counters": {"error_permille": 127}}))]  # fmt: skip
    titles = {t.title: t.lines[0][2] for t in found(graphs.page("kegg", cells(solve))) if t.title.startswith("Fast")}
    assert titles == {"Fastest, all": "counts", "Fastest, all, estimates": "counts-sketch"}


def test_least_memory_counts_a_gpu_with_its_host_and_no_index_is_no_small_index():
    shown = cells(
        trials(index_bytes=500, host_peak_bytes=900), unguided(index_bytes=0, host_peak_bytes=800),
        trials(impl="gpu-fused", index_bytes=100, host_peak_bytes=500, device_peak_bytes=700),
        trials(impl="core", host_peak_bytes=1000, device_peak_bytes=7),
    )  # fmt: skip
    at = frame(graphs.page("kegg", shown), "least").set_index("least")
    assert at.value.to_dict() == {"bytes of the index": 100, "peak memory": 800}
    assert at.configuration["peak memory"] == "dfs"


def test_least_energy_is_a_pairs():
    read = {"seconds": 0.01, "calls": 100, "meters": {"cpu": {"joules": 4.0, "idle_watts": 80.0, "resolution": 0.01}}}
    (shown, other) = cells(
        trials(energy={"phases": {"query": read}}), trials(impl="core", energy={"reason": "no counter"})
    )
    at = frame(graphs.page("kegg", [shown, other]), "least").set_index("least")
    assert at.value["joules of a million pairs"] == pytest.approx(4.0 * 1e6 / shown.cell.queries)
    assert other.cell.joules("query") is None


# ------------------------------------------------------------------ against the best other


def test_rounds_are_those_of_pandas(recorded):
    plain = flat(recorded)
    plain = plain[(plain.problem == "reachability") & (plain.phase == "query")]
    plain["ns"] = plain.ms * 1e6 / plain.queries
    medians = plain.groupby(["machine", "graph", "set", "many", "impl", "address"]).ns.median()
    best = medians.groupby(["machine", "graph", "set", "many", "impl"]).min()
    checked = 0
    for name in ("core", "sequential", "parallel", "dfs"):
        for each in rounds(name, "reachability", recorded):
            group = best.loc[each.machine.key[1], each.graph[0], each.asked, each.place == measures.MANY]
            assert each.answering.own.value == pytest.approx(group[name])
            others = group.drop(name)
            assert (each.answering.other is None) == others.empty
            if not others.empty:
                assert each.answering.value == pytest.approx(group[name] / others.min())
                low, high = each.answering.interval or (each.answering.value,) * 2
                assert low <= 1.0001 * each.answering.value <= 1.0002 * high
                word = WINS if high < 1 else LOSES if low > 1 else EQUAL
                assert each.verdict == word or (each.verdict == UNCLEAR and word != EQUAL)
                checked += 1
    assert checked > 20


def test_page_has_wins_first_and_the_geometric_mean_of_all():
    shown = cells(
        *(trials(impl="core", query=ms, dataset=name) for name, ms in (("a", 4.0), ("b", 1.0), ("c", 30.0))),
        *(trials(query=10.0, dataset=name) for name in "abc"),
    )
    page = implementations.page("core", "reachability", shown)
    at = table(page, "against")
    assert [(line[0], line[2]) for line in at.lines] == [("b", "wins"), ("a", "wins"), ("c", "loses")]
    mean = frame(page, "standing").iloc[0]
    assert (mean.won, mean.lost, mean.graphs) == (2, 1, 3)
    assert mean.mean_ratio == pytest.approx((0.4 * 0.1 * 3.0) ** (1 / 3))
    assert "From edges: not measured, add --from-edges." in table(page, "standing").notes


def test_what_has_no_way_from_edges_is_not_counted_as_lost_there():
    shown = cells(
        from_edges(9.0, dataset="a"), trials(impl="core", query=1.0, dataset="a"),
        from_edges(9.0, dataset="b"), from_edges(3.0, dataset="b", impl="core"),
    )  # fmt: skip
    mean = frame(implementations.page("core", "reachability", shown), "standing").iloc[0]
    assert (mean.graphs, mean.graphs_from_edges) == (2, 1)
    assert mean.mean_ratio_from_edges == pytest.approx(5.0 / 11.0)
    lost_there = cells(
        from_edges(9.0, dataset="a"), from_edges(9.0, dataset="b"), from_edges(9.0, dataset="b", impl="core"),
        lost("timeout", "too long", impl="core", dataset="a"),
    )  # fmt: skip
    assert frame(implementations.page("core", "reachability", lost_there), "standing").graphs_from_edges[0] == 2


def test_a_cell_without_a_time_is_a_loss_with_its_status_and_reason():
    shown = cells(trials(), lost("wrong", "pair 17 is", impl="core"))
    page = implementations.page("core", "reachability", shown)
    at = table(page, "against")
    assert at.lines[0][2] == "wrong [1]"
    assert at.notes[-1] == "[1] pair 17 is"
    assert at.links[0][2] == f"../{shown[-1].address}"
    assert table(page, "troubled").lines[0][3] == "wrong [1]"
    assert graphs_lost(rounds("core", "reachability", shown)) == {"kegg"}


def test_single_trials_have_no_interval_and_single_cells_no_other():
    (alone,) = cells(trials(count=1))
    page = implementations.page("sequential", "reachability", [alone])
    assert any("No other implementation ran" in text for text in found(page, "text"))
    both = cells(trials(count=1), trials(impl="core", query=1.0, count=1))
    (one,) = rounds("core", "reachability", both)
    assert (one.answering.interval, one.verdict) == (None, WINS)
    assert table(implementations.page("core", "reachability", both), "against").lines[0][8] == "–"


def test_an_interval_with_1_in_it_is_no_win():
    shown = [
        row(phase=phase, trial=t, ms=ms, impl=impl) for impl, times in (("core", (1, 2, 9, 3)), ("dfs", (2, 8, 1, 4)))
        for t, ms in enumerate(times) for phase in ("label", "query")
    ]  # fmt: skip
    (one,) = rounds("core", "reachability", cells(shown))
    assert one.answering.interval.low < one.answering.value < 1 < one.answering.interval.high
    assert one.verdict == EQUAL
    assert table(implementations.page("core", "reachability", cells(shown)), "against").lines[0][2] == EQUAL


def test_places_are_one_core_many_cores_and_gpus():
    shown = cells(
        trials(), trials(impl="parallel", threads=1), trials(impl="parallel", threads=8), trials(impl="gpu-fused"),
        trials(impl="core", device_peak_bytes=9), trials(impl="dask", threads=1), trials(impl="mine-gpu"),
        trials(impl="mine", device_peak_bytes=9), trials(impl="mine", threads=2, dim=3),
    )  # fmt: skip
    one, many, gpu = measures.PLACES
    assert [measures.place(each.cell) for each in shown] == [one, one, many, gpu, one, many, gpu, gpu, many]


def test_graphs_are_won_where_it_wins_and_loses_nowhere():
    shown = cells(
        trials(impl="core", query=1.0), trials(query=9.0),
        trials(impl="core", query=1.0, dataset="b"), trials(query=9.0, dataset="b"),
        trials(impl="core", query=9.0, dataset="b", query_set="balanced-100000-s1"),
        trials(query=1.0, dataset="b", query_set="balanced-100000-s1"),
    )  # fmt: skip
    assert graphs_won(rounds("core", "reachability", shown)) == ({"kegg"}, {"kegg", "b"})
    at = frame(implementations.index(shown), "implementations-reachability-one-core").set_index("implementation")
    assert at.graphs_won.to_dict() == {"core": 1, "sequential": 0}
    assert at.graphs_compared.to_dict() == {"core": 2, "sequential": 2}


def test_features_are_told_only_where_won_and_lost_graphs_differ(monkeypatch):
    kegg = outlines.recorded()["kegg"]
    known = {f"g{i}": kegg.model_copy(update={"name": f"g{i}", "depth": 10 + i + 100 * (i >= 8)}) for i in range(16)}
    monkeypatch.setattr(outlines, "recorded", lambda: known)
    shown = cells(
        *(trials(impl="core", query=1.0 if i < 8 else 99.0, dataset=f"g{i}") for i in range(16)),
        *(trials(query=9.0, dataset=f"g{i}") for i in range(16)),
    )
    (said,) = implementations.features(rounds("core", "reachability", shown))
    assert said.startswith("Levels: median 13.5 of the 8 graphs that it won, 122 of the 8 that it lost")
    even = cells(
        *(trials(impl="core", query=1.0 if i % 2 else 99.0, dataset=f"g{i}") for i in range(16)),
        *(trials(query=9.0, dataset=f"g{i}") for i in range(16)),
    )
    assert implementations.features(rounds("core", "reachability", even)) == []


# ------------------------------------------------------------------ what a page says


def test_page_of_an_implementation_says_what_it_is_and_how_to_run_it():
    page = implementations.page("core", "reachability", cells(trials(impl="core", threads=2)))
    facts = dict(found(page, "facts")[0])
    assert facts["module"] == "grailbench/problems/reachability/core/index.py"
    assert "Agrawal" in facts["source"]
    assert facts["measured with"] == "dim 2; search dfs; threads 2"
    assert found(page, "text")[0].startswith("Exact answers without search")
    assert any(text == "To run it: grailbench run --dataset kegg --impl core" for text in found(page, "text"))
    peer = cells(trials(impl="peer:pyreachability-tc"), environment=MACHINE | {"packages": {"pyreachability": "9.8"}})
    assert dict(found(implementations.page("peer:pyreachability-tc", "reachability", peer), "facts")[0])["version"] == (
        "pyreachability 9.8"
    )


def test_unknown_implementations_have_pages_from_their_rows_alone():
    shown = cells(trials(impl=HOSTILE), trials(query=1.0))
    for name in (HOSTILE, "gone"):
        page = implementations.page(name, "reachability", shown)
        assert any("from its rows alone" in text for text in found(page, "text"))
    assert table(implementations.page(HOSTILE, "reachability", shown), "against").lines[0][2] == "loses"
    (line,) = [line for line in table(implementations.index(shown), "implementations").lines if line[0] == HOSTILE]
    assert line[1] == "not part of this installation"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("kegg", "a real graph of the set Small sparse"),
        ("kegg-like", "A look-alike: generated, no real graph. It stands for kegg"),
        ("dag_01-like", "no real graph: a random DAG of the size of dag_01"),
        ("commits-6m", "Generated, no real graph"),
        ("roads-1m-like", "it stands for a road network"),
        ("erdos-renyi-100-0.1", "Generated from its name"),
        ("path-0", "knows no graph of this name"),
        (HOSTILE, "knows no graph of this name"),
    ],
)
def test_page_of_a_graph_says_what_it_is(name, said):
    assert said in found(graphs.page(name, []), "text")[0]


def test_a_graph_without_an_outline_says_how_to_make_one():
    page = graphs.page("random-n50000000-k20-s1", [])
    assert dict(found(page, "facts")[0])["how to get it"] == (
        "grailbench generate random --vertices 50000000 --degree 20 --seed 1 --name random-n50000000-k20-s1"
    )
    assert any("grailbench profile random-n50000000-k20-s1 --record" in text for text in found(page, "text"))
    assert not found(page, "figure")


def test_an_outline_of_another_graph_of_the_name_is_not_shown():
    assert found(graphs.page("kegg", cells(trials(graph_sha256="a" * 64))), "figure") == []
    own = outlines.recorded()["kegg"].sha256
    assert len(found(graphs.page("kegg", cells(trials(graph_sha256=own))), "figure")) == 3


def test_figures_have_every_number_in_their_data_and_draw_the_same_twice():
    for name in ("kegg", "wiki-vote"):
        one = outlines.recorded()[name]
        drawn = {figure.name: figure for figure in figures(one) if not figure.form.empty}
        assert ("outline-components" in drawn) == (one.largest > 1)
        assert drawn["outline-levels"].frame.components.sum() == one.components
        degrees = drawn["outline-degrees"].frame
        assert set(degrees.groupby("of").vertices.sum()) == {one.vertices}
        marks = drawn["outline-degrees"].form.panels[0].items
        assert len(marks) == (degrees.least_degree > 0).sum()
        assert drawn["outline-ends"].frame.share.sum() == pytest.approx(1)
        assert draw.svg(drawn["outline-levels"]) == draw.svg(drawn["outline-levels"])


def every_page(shown: list[Entry]):
    yield "", graphs.index(shown, "")
    yield "", implementations.index(shown, "")
    for name in dict.fromkeys(each.cell.dataset for each in shown):
        yield "../", graphs.page(name, shown)
    for name, problem in dict.fromkeys((each.cell.impl, each.cell.problem) for each in shown):
        yield "../", implementations.page(name, problem, shown)


def test_links_lead_to_pages_and_rows_that_there_are(recorded):
    shown = [*recorded, *cells(everything(), environment=ENVIRONMENT, name=HOSTILE)]
    known = {each.address for each in shown} | {each.graph_address for each in shown}
    known |= {each.implementation_address for each in shown} | {each.source.address for each in shown}
    for up, blocks in every_page(shown):
        for each in found(blocks):
            for line, links in zip(each.lines, each.links or [[None] * len(line) for line in each.lines], strict=True):
                assert len(line) == len(links) == len(each.headers)
                for text, link in zip(line, links, strict=True):
                    if link is not None:
                        assert link.removeprefix(up) in known
                        assert linked(link) == link
                        assert text not in ("", "–")


def test_hostile_names_are_text(recorded):
    shown = cells(everything(), environment=ENVIRONMENT, name=HOSTILE)
    for _, blocks in every_page(shown):
        for each in found(blocks):
            assert "<script" not in html(each).replace("<script src", "")
            assert "<img" not in html(each)
            assert all(isinstance(text, str) for line in each.lines for text in line)


def test_the_same_runs_give_the_same_blocks():
    def said():
        shown = cells(everything(), environment=ENVIRONMENT)
        return [[(kind, html(b) if kind == "table" else b.csv if kind == "figure" else b) for kind, b in blocks]
                for _, blocks in every_page(shown)]  # fmt: skip

    assert said() == said()


def test_index_of_graphs_has_a_line_each_and_the_best_time_with_its_machine():
    shown = cells(from_edges(3.0, query=10.0), from_edges(1.0, query=90.0, impl="core"), trials(dataset="b", query=1.0))
    at = frame(graphs.index(shown), "graphs").set_index("graph")
    assert at.cells.to_dict() == {"b": 1, "kegg": 2}
    assert at.best_ms["kegg"] == pytest.approx((3.0 + 1.0) * 1.005)
    assert np.isnan(at.best_ms["b"])
    assert at.machine["kegg"] == "Test CPU, 2 cores (machine aaaaaa)"
    assert graphs.index([]) == [("text", "There is no graph.")]
    assert implementations.index([]) == [("text", "There is no implementation.")]
