"""The pages of graphs and implementations: their numbers against plain pandas, their links, and what they say of runs
that lack something."""

import numpy as np
import pandas as pd
import pytest
from stored import ENVIRONMENT, HOSTILE, enough, everything, lost, made, row, trials

from grailbench.compare import measures, stability
from grailbench.compare.ratios import EQUAL, UNCLEAR
from grailbench.graph import profile as outlines
from grailbench.harness import provenance
from grailbench.harness.cells import of_machine, read
from grailbench.report import draw
from grailbench.report.profiled import of_outline
from grailbench.report.render.html import html, linked
from grailbench.report.site import graphs, implementations, runs
from grailbench.report.site.entries import RECORDED, Entry, Source, by_graph, by_implementation, entries
from grailbench.report.site.implementations import LOSES, WINS, graphs_won
from grailbench.util.words import ratio

MACHINE = {"cpu": "Test CPU", "cores": 2, "fingerprint": "aaaaaaaa"}
OTHER = {"cpu": "Other CPU", "cores": 8, "fingerprint": "bbbbbbbb"}


def three(**fields):
    """As many trials as a verdict needs."""
    return trials(count=3, **fields)


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


def values(table):
    """A table by the first text of each line, with the values of numbers and the texts of all else."""
    columns = {name: [line[at] for line in (table.values if name in table.right else table.lines)]
               for at, name in enumerate(table.headers)}  # fmt: skip
    return pd.DataFrame(columns, index=[line[0] for line in table.lines])


def graph_page(name, shown):
    return graphs.page(name, by_graph(shown).get(name, []))


def rounds(name, problem, shown):
    return implementations.rounds(shown).get((problem, name), [])


def page_of(name, problem, shown):
    own = by_implementation(shown).get((problem, name), [])
    return implementations.page(name, problem, own, rounds(name, problem, shown))


def index(shown):
    return implementations.index(shown, implementations.rounds(shown))


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


# ------------------------------------------------------------------ against the best other


def test_machines_are_never_compared_and_neither_are_two_graphs_of_one_name():
    here, there = cells(trials(query=5.0)), cells(trials(query=1.0, impl="core"), environment=OTHER, name="b")
    assert not rounds("core", "reachability", here + there)[0].answering.other
    changed = cells(trials(query=5.0, graph_sha256="a" * 64), trials(query=1.0, impl="core", graph_sha256="b" * 64))
    assert rounds("core", "reachability", changed)[0].verdict is None


def test_runs_on_several_machines_are_in_no_comparison():
    shown = cells(trials(), trials(impl="core", query=1.0), environment=MACHINE | {"earlier": [OTHER]})
    assert rounds("core", "reachability", shown) == []
    page = page_of("core", "reachability", shown)
    assert not found(page)
    assert any("measured on several machines: run" in text for text in found(page, "text"))


def test_runs_without_a_machine_are_compared_within_the_run_alone():
    one = cells(trials(), trials(impl="core", query=1.0), environment={}, name="a")
    other = cells(trials(impl="dfs", query=0.1), environment={}, name="b")
    (only,) = rounds("core", "reachability", one + other)
    assert only.answering.other.cell.impl == "sequential"


@pytest.mark.slow
def test_rounds_are_those_of_pandas(recorded):
    plain = flat(recorded)
    plain = plain[(plain.problem == "reachability") & (plain.phase == "query")]
    plain["ns"] = plain.ms * 1e6 / plain.queries
    medians = plain.groupby(["machine", "graph", "set", "many", "impl", "address"]).ns.median()
    best = medians.groupby(["machine", "graph", "set", "many", "impl"]).min()
    checked = 0
    for name in ("core", "sequential", "parallel", "dfs"):
        for each in rounds(name, "reachability", recorded):
            group = best.loc[each.machine.name, each.graph, each.queries, each.place == measures.MANY]
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
        *(three(impl="core", query=ms, dataset=name) for name, ms in (("a", 4.0), ("b", 1.0), ("c", 30.0))),
        *(three(query=10.0, dataset=name) for name in "abc"),
    )
    page = page_of("core", "reachability", shown)
    against = table(page, "against")
    assert [(line[0], line[2]) for line in against.lines] == [("b", "wins"), ("a", "wins"), ("c", "loses")]
    assert "From edges: not measured, add --from-edges." in against.notes
    mean = ratio((0.4 * 0.1 * 3.0) ** (1 / 3))
    assert any(text.startswith("One core: 2 won and 1 lost of 3") and mean in text for text in found(page, "text"))


def test_a_cell_without_a_time_is_a_loss_with_its_status_and_reason():
    shown = cells(trials(), lost("wrong", "pair 17 is", impl="core"))
    page = page_of("core", "reachability", shown)
    at = table(page, "against")
    assert at.lines[0][2] == "wrong [1]"
    assert at.notes[-2] == "[1] pair 17 is"
    assert at.links[0][2] == f"../{shown[-1].address}"
    assert table(page, "troubled").lines[0][3] == "wrong [1]"
    assert rounds("core", "reachability", shown)[0].verdict == LOSES


def test_single_trials_have_no_interval_and_single_cells_no_other():
    page = page_of("sequential", "reachability", cells(trials(count=1)))
    assert any("No other implementation ran" in text for text in found(page, "text"))
    both = cells(trials(count=1), trials(impl="core", query=1.0, count=1))
    (one,) = rounds("core", "reachability", both)
    assert (one.answering.interval, one.verdict) == (None, UNCLEAR)
    assert table(page_of("core", "reachability", both), "against").lines[0][8] == "–"


def test_an_interval_with_1_in_it_is_no_win():
    shown = [
        row(phase=phase, trial=t, ms=ms, impl=impl) for impl, times in (("core", (1, 2, 9, 3)), ("dfs", (2, 8, 1, 4)))
        for t, ms in enumerate(times) for phase in ("label", "query")
    ]  # fmt: skip
    (one,) = rounds("core", "reachability", cells(shown))
    assert one.answering.interval.low < one.answering.value < 1 < one.answering.interval.high
    assert one.verdict == EQUAL


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
        three(impl="core", query=1.0), three(query=9.0),
        three(impl="core", query=1.0, dataset="b"), three(query=9.0, dataset="b"),
        three(impl="core", query=9.0, dataset="b", query_set="balanced-100000-s1"),
        three(query=1.0, dataset="b", query_set="balanced-100000-s1"),
    )  # fmt: skip
    assert graphs_won(rounds("core", "reachability", shown)) == ({"kegg"}, {"kegg", "b"})
    won = {line[0]: line[6] for line in found(index(shown))[0].lines}
    assert won == {"core": "1 of 2", "sequential": "0 of 2"}


# ------------------------------------------------------------------ what a page says


def test_page_of_an_implementation_says_what_it_is_and_how_to_run_it():
    page = page_of("core", "reachability", cells(trials(impl="core", threads=2)))
    facts = dict(found(page, "facts")[0])
    assert facts["module"] == "grailbench/problems/reachability/core/index.py"
    assert "Agrawal" in facts["source"]
    assert facts["measured with"] == "dim 2; search dfs; threads 2"
    assert found(page, "text")[0].startswith("Exact answers without search")
    assert any(text == "To run it: grailbench run --dataset kegg --impl core" for text in found(page, "text"))
    peer = cells(trials(impl="peer:pyreachability-tc"), environment=MACHINE | {"packages": {"pyreachability": "9.8"}})
    facts = dict(found(page_of("peer:pyreachability-tc", "reachability", peer), "facts")[0])
    assert facts["version"] == "pyreachability 9.8"


def test_unknown_implementations_have_pages_from_their_rows_alone():
    shown = cells(three(impl=HOSTILE), three(query=1.0))
    for name in (HOSTILE, "gone"):
        assert any("from its rows alone" in text for text in found(page_of(name, "reachability", shown), "text"))
    assert table(page_of(HOSTILE, "reachability", shown), "against").lines[0][2] == "loses"
    (line,) = [line for line in found(index(shown))[0].lines if line[0] == HOSTILE]
    assert line[3] == "not part of this installation"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("kegg", "a real graph of the set Small sparse"),
        ("kegg-like", "Generated, no real graph: a look-alike of kegg"),
        ("commits-6m", "Generated, no real graph"),
        ("roads-1m-like", "a network of kind"),
        ("erdos-renyi-100-0.1", "from its name"),
        ("path-0", "knows no graph of this name"),
        (HOSTILE, "knows no graph of this name"),
    ],
)
def test_page_of_a_graph_says_what_it_is(name, said):
    page = graphs.page(name, [])
    assert said in found(page[page.index(("heading", "What it is")) :], "text")[0]


def test_the_page_of_a_graph_begins_with_a_picture_where_there_is_one():
    """Where no answers were timed, what the graph is came first."""
    for name, first in (("kegg", "figure"), ("path-0", "text")):
        kinds = [kind for kind, _ in graphs.page(name, []) if kind != "heading"]
        assert kinds[0] == first


def test_a_graph_without_an_outline_says_how_to_make_one():
    page = graphs.page("dense-1m-8", [])
    assert dict(found(page, "facts")[0])["how to get it"] == "grailbench generate dense-1m-8"
    assert found(page, "figure") or any("profile dense-1m-8 --record" in text for text in found(page, "text"))


def test_an_outline_of_another_graph_of_the_name_is_not_shown():
    assert found(graph_page("kegg", cells(trials(graph_sha256="a" * 64))), "figure") == []
    own = outlines.recorded()["kegg"].sha256
    assert len(found(graph_page("kegg", cells(trials(graph_sha256=own))), "figure")) == 3


def test_figures_have_every_number_in_their_data_and_draw_the_same_twice():
    for name in ("kegg", "wiki-vote"):
        one = outlines.recorded()[name]
        drawn = {figure.name: figure for figure in of_outline(one) if not figure.form.empty}
        assert ("outline-components" in drawn) == (one.largest > 1)
        assert drawn["outline-levels"].frame.components.sum() == one.components
        degrees = drawn["outline-degrees"].frame
        assert set(degrees.groupby("of").vertices.sum()) == {one.vertices}
        marks = drawn["outline-degrees"].form.panels[0].items
        assert len(marks) == (degrees.least_degree > 0).sum()
        assert drawn["outline-ends"].frame.share.sum() == pytest.approx(1)
        assert draw.svg(drawn["outline-levels"]) == draw.svg(drawn["outline-levels"])


def every_page(shown: list[Entry]):
    yield graphs.index(shown)
    yield index(shown)
    for name in by_graph(shown):
        yield graph_page(name, shown)
    for problem, name in by_implementation(shown):
        yield page_of(name, problem, shown)


@pytest.mark.slow
def test_links_lead_to_pages_and_rows_that_there_are_and_names_are_text(recorded):
    shown = [*recorded, *cells(everything(), environment=ENVIRONMENT, name=HOSTILE)]
    known = {each.address for each in shown} | {each.graph_address for each in shown}
    known |= {each.implementation_address for each in shown} | {each.source.address for each in shown}
    for blocks in every_page(shown):
        for each in found(blocks):
            for line, links in zip(each.lines, each.links or [[None] * len(line) for line in each.lines], strict=True):
                assert len(line) == len(links) == len(each.headers)
                for text, link in zip(line, links, strict=True):
                    assert isinstance(text, str)
                    if link is not None:
                        assert link.removeprefix("../") in known
                        assert linked(link) == link
                        assert text not in ("", "–")
            assert "<script" not in html(each)
            assert "<img" not in html(each)


def test_index_of_graphs_has_a_line_each_and_the_best_time_with_its_machine():
    shown = cells(from_edges(3.0, query=10.0), from_edges(1.0, query=90.0, impl="core"), trials(dataset="b", query=1.0))
    (at,) = found(graphs.index(shown))
    at = values(at)
    assert at.cells.to_dict() == {"b": 1, "kegg": 2}
    assert at["10,000 answers: ms"]["kegg"] == pytest.approx((3.0 + 1.0) * 1.005)
    assert np.isnan(at["10,000 answers: ms"]["b"])
    assert at.machine["kegg"] == "Test CPU, 2 cores"


def test_a_cell_of_too_few_trials_is_marked_and_says_so():
    few, many = (made(rows).cells for rows in (trials(), enough()))
    shown = [runs._group(each, stability.verdicts(each))["cells"][0] for each in (few, many)]
    assert [{mark for *_, mark in each["phases"]} for each in shown] == [{"‡"}, {""}]
    assert "stability unknown: 2 trials, 10 are needed to tell" in shown[0]["about"]
    assert "stability" not in shown[1]["about"]


def test_a_cell_says_how_large_it_was():
    (cell,) = made(trials(index_bytes=2048, host_peak_bytes=3 << 20)).cells
    assert {"held 2 KiB", "host peak 3 MiB"} <= {*runs._about(cell, stability.verdict(cell))}
