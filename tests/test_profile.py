"""A profile tells the truth of a graph: against plain Python on small graphs, and where there is hardly anything."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from commands import ROOT, call
from dags import some_graph
from naive import closure

from grailbench.data.library import BenchGraph
from grailbench.graph.condense import condense
from grailbench.graph.csr import Graph
from grailbench.graph.profile import structure
from grailbench.problems.reachability import profile as profiles
from grailbench.problems.reachability.core import index
from grailbench.problems.reachability.profile import INDEX, PAIRS, STAGES, draw_near, profile, reach, remarks, settle


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache for each test."""
    monkeypatch.setenv("GRAILBENCH_CACHE", str(tmp_path / "cache"))


class Opened(BenchGraph):
    """A graph in memory as `open_graph` opens those of files."""

    raw = property(lambda self: graphs[self.name])


graphs: dict[str, Graph] = {}


def opened(vertices, edges, name="made"):
    graphs[name] = Graph.from_edges(vertices, *np.array(edges, np.int64).reshape(-1, 2).T)
    return Opened(name, name, "imported", "imported", "0" * 64, None, condense(graphs[name]))


def structure_of(vertices, edges):
    graph = opened(vertices, edges)
    return structure(graph.raw, graph.dag)


def test_structure_of_a_graph_that_has_some_of_everything():
    # 0 and 1 on a cycle; 2 and 3 below it, 3 twice; 4 -> 3; 5 with a self-loop alone
    found = structure_of(6, [(0, 1), (1, 0), (0, 2), (1, 2), (1, 3), (1, 3), (4, 3), (5, 5), (2, 3)])
    assert (found.vertices, found.edges, found.duplicates, found.loops) == (6, 9, 1, 1)
    assert (found.components, found.largest, found.nontrivial, found.cyclic) == (5, 2, 1, 2)
    assert (found.dag_edges, found.roots, found.sinks, found.isolated) == (4, 3, 2, 1)
    assert (found.weak, found.widest_weak, found.beyond_forest) == (2, 4, 1)
    assert found.widths.tolist() == [3, 1, 1]
    assert found.parents.counts.tolist() == [[0, 3], [1, 1], [3, 1]]
    assert (found.children.most, found.children.at_most_one, found.parents.at_most_one) == (2, 4, 4)


def test_degrees_of_a_star_with_a_tail():
    star = [(0, leaf) for leaf in range(1, 200)]
    found = structure_of(200, star)
    assert found.children.quantiles == (0, 0, 0, 199)
    assert (found.children.top, found.parents.top) == (1.0, 2 / 199)
    assert found.children.mean == pytest.approx(199 / 200)


def test_reach_is_that_of_plain_python_on_a_graph_with_cycles():
    graph = some_graph(vertices=60, edges=80)
    sizes = [len(each) for each in closure(60, list(zip(graph.sources, graph.targets, strict=True)))]
    found = reach(condense(graph))
    assert (found.sources, found.whole, found.error, found.most) == (60, True, 0.0, max(sizes) - 1)
    assert found.mean == pytest.approx(np.mean(sizes) - 1)
    assert found.rate == pytest.approx(sum(sizes) / 3600)


def test_reach_of_a_sample_has_an_error_that_covers_the_truth(monkeypatch):
    dag = condense(some_graph(vertices=400, edges=440))
    whole = reach(dag)
    monkeypatch.setattr(profiles, "SOURCES", 150)
    found = reach(dag)
    assert (found.sources, found.whole) == (150, False)
    assert 0 < found.error < whole.mean
    assert abs(found.rate - whole.rate) < 4 * found.rate_error


def test_every_pair_is_settled_once_and_reachable_as_in_plain_python():
    graph = some_graph(seed=3, vertices=120, edges=150)
    dag = condense(graph)
    pairs = draw_near(dag, 500, 1)
    index = profiles.Sequential.build(dag, INDEX, profiles.NoTimer())
    found = settle(index, "near", *(dag.component[ends] for ends in pairs))
    whole = closure(120, list(zip(graph.sources, graph.targets, strict=True)))
    assert found.positives == sum(v in whole[u] for u, v in zip(*pairs, strict=True))
    assert sum(getattr(found, stage) for stage in STAGES) == found.pairs == 500
    assert found.component == sum(u in whole[v] and v in whole[u] for u, v in zip(*pairs, strict=True))


def test_near_pairs_are_at_most_four_steps_apart_and_mostly_of_two_components():
    path = Graph.from_edges(300, np.arange(299), np.arange(1, 300))
    sources, targets = draw_near(condense(path), 2000, 1)
    apart = np.abs(sources - targets)
    assert set(apart.tolist()) >= {1, 2, 3, 4}
    assert apart.max() == 4
    assert np.count_nonzero(apart == 0) < 20


def test_near_pairs_begin_where_there_is_an_edge():
    sources, targets = draw_near(condense(Graph.from_edges(50, np.array([7]), np.array([3]))), 200, 1)
    assert set(zip(sources.tolist(), targets.tolist(), strict=True)) <= {(7, 3), (3, 7), (3, 3), (7, 7)}
    assert np.count_nonzero(sources == targets) < 20


def test_searches_stop_at_their_budget(monkeypatch):
    monkeypatch.setattr(profiles, "PAIRS_BUDGET", 1)
    graph = profile(opened(200, [(u, v) for u in range(200) for v in (u + 1, u + 7, u * 2 + 1) if v < 200]))
    hard = [each for each in graph.settled if each.scanned]
    assert hard
    assert all(0 < each.pairs < PAIRS for each in hard)


@pytest.mark.parametrize(
    ("vertices", "edges", "says"),
    [
        (0, [], []),
        (1, [], ["No edge joins"]),
        (1, [(0, 0)], ["No edge joins"]),
        (3, [(0, 1), (1, 2), (2, 0)], ["All vertices are in one"]),
        (
            4,
            [(0, 1), (1, 0), (1, 2), (2, 3)],
            ["Cycles hold 50.0 %", "is a forest.", "It is an out-forest (no component", "less than one edge"],
        ),
    ],
)
def test_graphs_with_little_in_them_have_a_profile(vertices, edges, says):
    found = profile(opened(vertices, edges))
    record = json.loads(json.dumps(found.record()))
    assert record["vertices"] == vertices
    assert (record["reach"] is None) == (vertices == 0)
    said = remarks(found)
    assert len(said) == len(says)
    assert all(part in whole for part, whole in zip(says, said, strict=True))


def test_remarks_follow_their_rules():
    found = profile(opened(40, [(u, u + 1) for u in range(39)]))
    assert any("forest." in each for each in remarks(found))
    searched = replace(found, settled=(replace(found.settled[0], search=5_000, scanned=200_000, pairs=10_000),))
    assert "Searches answer 50.0 % of random pairs and scan 20 edges a pair" in remarks(searched)[-1]
    rare = replace(found, reach=replace(found.reach, rate=0.01))
    assert any("At most 1 % of random pairs" in each for each in remarks(rare))
    assert not any("At most 1 %" in each for each in remarks(found))


def test_a_profile_says_what_trees_and_core_ask_of_an_index(monkeypatch):
    star = [(0, u) for u in range(1, 9)]
    square = [(0, 2), (0, 3), (1, 2), (1, 3), (4, 0)]
    for edges, said in (
        (star, "It is an out-forest (no component has more than one parent): `core` answers every pair from an"),
        ([*star, (9, 0), (10, 0)], "Trees at its ends are all of it: `core` answers every pair from intervals."),
        (square, "`core` answers every pair without a search: the closure of the 4 vertices between its trees takes "),
    ):
        assert [each for each in remarks(profile(opened(11, edges))) if each.startswith(said)]
    found = profile(opened(11, square))
    assert found.record()["ends"] == {
        "vertices": 11, "forest": "", "sources": 7, "sinks": 0, "core": 4, "closure_bytes": 40,
        "needed_bytes": 40, "fits": True,
    }  # fmt: skip
    monkeypatch.setattr(index, "SMALL", 8)
    monkeypatch.setattr(index.memory, "available", lambda: 0)
    assert found.record()["ends"]["fits"] is False
    assert any(each.endswith("than `core` takes here, so the core needs an index.") for each in remarks(found))


def test_the_same_seed_gives_the_same_profile_and_another_one_another():
    graph = opened(300, np.random.default_rng(2).integers(0, 300, (330, 2)))
    assert profile(graph).record() == profile(graph).record()
    assert profile(graph, 2).record()["settled"] != profile(graph).record()["settled"]


def test_command_prints_tables_and_one_object_and_draws(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.edges").write_text("".join(f"{u} {u // 2 + 40}\n" for u in range(200)))
    code, out, err = call(capsys, "profile", "mine.edges", "--out", "figures", "--format", "svg")
    assert code == 0, err
    for part in (
        "mine: structure", "trees at the ends: an in-forest", "levels by longest path", "degrees of components",
        "what answers the pairs",
    ):  # fmt: skip
        assert part in out
    assert err.startswith("imported as mine\n")
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    drawn = ("ends", "levels", "degrees", "settled")
    assert names == {f"profile-{name}.{end}" for name in drawn for end in ("svg", "csv")}
    code, out, err = call(capsys, "profile", "mine", "--json")
    assert (code, err, len(out.splitlines())) == (0, "", 1)
    record = json.loads(out)
    assert sum(record["settled"]["balanced"][stage] for stage in STAGES) == PAIRS
    assert (tmp_path / "figures" / "profile-ends.csv").read_text().splitlines()[1] == "trees above,200,1.0"
    shares = (tmp_path / "figures" / "profile-settled.csv").read_text().splitlines()
    assert f"balanced,tree,{record['settled']['balanced']['tree']}," in "\n".join(shares)


def test_command_on_a_graph_without_edges_says_so_in_figures_too(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.gra").write_text("1\n0: #\n")
    code, out, err = call(capsys, "profile", "one.gra", "--out", ".", "--format", "svg")
    assert code == 0, err
    assert "No edge joins two strong components" in out
    assert "Unavailable: no edge joins two components." in (tmp_path / "profile-degrees.svg").read_text()


def test_the_guide_shows_what_the_command_prints(capsys):
    text = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^\$ grailbench profile kegg-like\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    code, out, err = call(capsys, "profile", "kegg-like")
    assert code == 0, err
    parts = [part for part in re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE) if part]
    assert len(parts) >= 2
    assert all(part in out for part in parts)
