"""Profiles and outlines tell the truth of a graph: against plain Python on small graphs, where there is hardly
anything, and against what is recorded."""

import json
import re

import numpy as np
import pytest
from commands import ROOT, call
from dags import layers, some_graph
from hypothesis import given
from hypothesis import strategies as st
from naive import closure
from outcomes import succeeds

from grailbench.data.fetch import fetch
from grailbench.data.library import BenchGraph, open_graph
from grailbench.data.registry import registry
from grailbench.errors import InputError
from grailbench.graph import profile as outlines
from grailbench.graph.condense import condense
from grailbench.graph.csr import Graph
from grailbench.graph.profile import BINS, FILE, level_bins, reach
from grailbench.harness import folder as results
from grailbench.harness import provenance
from grailbench.problems.reachability import profile as profiles
from grailbench.problems.reachability.core import index
from grailbench.problems.reachability.index import NoTimer, Params
from grailbench.problems.reachability.profile import INDEX, PAIRS, STAGES, profile, remarks, settle
from grailbench.report.profiled import of_answers, of_outline
from grailbench.util import paths

#: generated and real graphs of recorded runs, whose outlines are made again
GENERATED = ("kegg-like", "erdos-renyi-100-0.1", "random-tree-1000", "slides-apsp-4-like")
REAL = ("kegg", "citeseer", "wiki-vote")
ROW = re.compile(r'"dataset": ?"([^"]*)".*?"graph_sha256": ?"([0-9a-f]{64})"')


pytestmark = pytest.mark.usefixtures("cache")


class Opened(BenchGraph):
    """A graph in memory as `open_graph` opens those of files."""

    raw = property(lambda self: graphs[self.name])


graphs: dict[str, Graph] = {}


def opened(vertices, edges, name="made"):
    graphs[name] = Graph.from_edges(vertices, *np.array(edges, np.int64).reshape(-1, 2).T)
    return Opened(name, name, "imported", "imported", "0" * 64, None, condense(graphs[name]))


def described(vertices, edges):
    """The profile of a graph, without its pairs."""
    return profile(opened(vertices, edges), pairs=0)


def test_structure_of_a_graph_that_has_some_of_everything():
    # 0 and 1 on a cycle; 2 and 3 below it, 3 twice; 4 -> 3; 5 with a self-loop alone
    found = described(6, [(0, 1), (1, 0), (0, 2), (1, 2), (1, 3), (1, 3), (4, 3), (5, 5), (2, 3)])
    assert (found.vertices, found.edges, found.duplicates, found.loops) == (6, 9, 1, 1)
    assert (found.components, found.largest, found.nontrivial, found.cyclic) == (5, 2, 1, 2)
    assert (found.dag_edges, found.roots, found.sinks, found.isolated) == (4, 3, 2, 1)
    assert (found.weak, found.widest_weak, found.beyond_forest) == (2, 4, 1)
    assert (found.levels, found.depth, found.widest, found.median_level) == ((3, 1, 1), 3, 3, 1.0)
    assert (found.children.most, found.children.at_most_one, found.parents.at_most_one) == (2, 4, 4)


def test_degrees_of_a_star_with_a_tail():
    found = described(200, [(0, leaf) for leaf in range(1, 200)])
    assert found.children.quantiles == {"50": 0, "90": 0, "99": 0, "99.9": 199}
    assert (found.children.top, found.parents.top) == (1.0, 2 / 199)
    assert found.children.mean == pytest.approx(199 / 200)


#: two vertices that both reach two others: none has degree one
CORE = [(0, 2), (0, 3), (1, 2), (1, 3)]


@pytest.mark.parametrize(
    ("vertices", "edges", "found"),
    [
        (0, [], ("", 0, 0, 0)),
        (3, [], ("out-forest", 0, 3, 0)),
        (4, [(0, 2), (1, 2), (2, 3)], ("in-forest", 4, 0, 0)),
        (5, [(0, 2), (1, 2), (2, 3), (2, 4)], ("", 2, 3, 0)),
        (8, [*CORE, (4, 0), (5, 4), (3, 6), (3, 7)], ("", 2, 2, 4)),
        (3, [(0, 1), (1, 0), (1, 2), (1, 2)], ("out-forest", 0, 2, 0)),  # a cycle is one vertex, an edge counts once
    ],
)
def test_trees_and_core_of_small_graphs(vertices, edges, found):
    measured = described(vertices, edges)
    assert (measured.forest, measured.above, measured.below, measured.core) == found
    assert measured.components == sum(found[1:])
    assert (measured.closure_bytes > 0) == (measured.core > 0)


def test_the_closure_takes_half_a_bit_a_pair_and_fits_where_core_makes_it(monkeypatch):
    vertices, edges = layers()
    graph = opened(vertices, edges)
    found = profile(graph, pairs=0)
    assert found.core == 320
    assert 320**2 / 16 < found.closure_bytes < 2 * 320**2 / 16
    for room in (found.needed_bytes, found.needed_bytes - 1):
        monkeypatch.setattr(index, "SMALL", room)
        monkeypatch.setattr(index.memory, "available", lambda: 0)
        made = index.Core.build(graph.dag, Params(), NoTimer())
        assert found.fits == (made.inner is None) == (room == found.needed_bytes)


def test_reach_is_that_of_plain_python_on_a_graph_with_cycles():
    graph = some_graph(vertices=60, edges=80)
    sizes = [len(each) for each in closure(60, list(zip(graph.sources, graph.targets, strict=True)))]
    found = reach(condense(graph))
    assert (found.sources, found.whole, found.error, found.most) == (60, True, 0.0, max(sizes) - 1)
    assert found.mean == pytest.approx(np.mean(sizes) - 1)
    assert found.rate == pytest.approx(sum(sizes) / 3600)


def test_reach_of_a_sample_has_an_error_that_covers_the_truth():
    dag = condense(some_graph(vertices=400, edges=440))
    whole = reach(dag)
    found = reach(dag, sources=150)
    assert (found.sources, found.whole) == (150, False)
    assert 0 < found.error < whole.mean
    assert abs(found.rate - whole.rate) < 4 * found.rate_error


def test_every_pair_is_settled_once_and_reachable_as_in_plain_python():
    graph = some_graph(seed=3, vertices=120, edges=150)
    dag = condense(graph)
    pairs = profiles.draw_random(120, 500, 1)
    index = profiles.Sequential.build(dag, INDEX, profiles.NoTimer())
    found = settle(index, "random", *(dag.component[ends] for ends in pairs))
    whole = closure(120, list(zip(graph.sources, graph.targets, strict=True)))
    assert found.positives == sum(v in whole[u] for u, v in zip(*pairs, strict=True))
    assert sum(getattr(found, stage) for stage in STAGES) == found.pairs == 500
    assert found.component == sum(u in whole[v] and v in whole[u] for u, v in zip(*pairs, strict=True))


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
def test_graphs_with_little_in_them_have_a_profile_and_figures(vertices, edges, says):
    found = profile(opened(vertices, edges))
    record = json.loads(json.dumps(found.record()))
    assert record["vertices"] == vertices
    assert (record["reach"] is None) == (vertices == 0)
    recorded = outlines.Outline.model_validate_json(outlines.text([found]))
    assert (recorded.rate is None, recorded.in_trees is None, recorded.density is None) == (vertices == 0,) * 3
    for figure in (*of_outline(recorded), of_answers([])):
        assert figure.title
        assert not figure.form.empty or figure.note.startswith("Unavailable")
    said = remarks(found)
    assert len(said) == len(says)
    assert all(part in whole for part, whole in zip(says, said, strict=True))


def test_remarks_follow_their_rules():
    found = profile(opened(40, [(u, u + 1) for u in range(39)]))
    assert any("forest." in each for each in remarks(found))
    many = found.settled[0]._replace(search=5_000, scanned=200_000, pairs=10_000)
    searched = found.model_copy(update={"settled": (many,)})
    assert "Searches answer 50.0 % of random pairs and scan 20 edges a pair" in remarks(searched)[-1]
    rare = found.model_copy(update={"reach": found.reach._replace(rate=0.01)})
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
    parts = {"forest": "", "above": 7, "below": 0, "core": 4, "closure_bytes": 40, "needed_bytes": 40, "fits": True}
    assert found.record() | parts == found.record()
    monkeypatch.setattr(index, "SMALL", 8)
    monkeypatch.setattr(index.memory, "available", lambda: 0)
    assert found.record()["fits"] is False
    assert any(each.endswith("than `core` takes here, so the core needs an index.") for each in remarks(found))


@pytest.mark.slow
def test_command_prints_tables_and_one_object_and_draws(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.edges").write_text("".join(f"{u} {u // 2 + 40}\n" for u in range(200)))
    out, err = succeeds(capsys, "profile", "mine.edges", "--out", "figures", "--format", "svg")
    for part in (
        "mine: structure", "Trees at the ends: an in-forest", "levels by longest path", "degrees of components",
        "what answers the pairs",
    ):  # fmt: skip
        assert part in out
    assert err.startswith("imported as mine\n")
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    drawn = ("outline-ends", "outline-levels", "outline-degrees", "outline-components", "profile-settled")
    assert names == {f"{name}.{end}" for name in drawn for end in ("svg", "csv")}
    code, out, err = call(capsys, "profile", "mine", "--json")
    assert (code, err, len(out.splitlines())) == (0, "", 1)
    record = json.loads(out)
    assert sum(record["settled"]["balanced"][stage] for stage in STAGES) == PAIRS
    assert (tmp_path / "figures" / "outline-ends.csv").read_text().splitlines()[1] == "trees above,200,1.0"
    shares = (tmp_path / "figures" / "profile-settled.csv").read_text().splitlines()
    assert f"balanced,tree,{record['settled']['balanced']['tree']}," in "\n".join(shares)


def test_the_guide_shows_what_the_command_prints(capsys):
    text = (ROOT / "docs" / "how-to" / "graphs.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^\$ grailbench profile kegg-like\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    out, _ = succeeds(capsys, "profile", "kegg-like")
    parts = [part for part in re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE) if part]
    assert len(parts) >= 2
    assert all(part in out for part in parts)


# ------------------------------------------------------------------ outlines


def test_outline_of_a_graph_with_cycles_is_that_of_plain_python():
    graph = some_graph(vertices=60, edges=80)
    pairs = list(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))
    whole, found = closure(60, pairs), described(60, pairs)
    strong = {frozenset(v for v in range(60) if v in whole[u] and u in whole[v]) or frozenset([u]) for u in range(60)}
    assert found.components == len(strong) == sum(found.levels) == sum(found.strong)
    assert found.largest == max(map(len, strong))
    assert found.cyclic == sum(len(each) for each in strong if len(each) > 1)
    assert found.strong == tuple(
        sum(len(each).bit_length() == k for each in strong) for k in range(found.largest.bit_length() + 1)
    )
    for side, at in ((found.incoming, 1), (found.outgoing, 0)):
        degrees = [sum(pair[at] == v for pair in pairs) for v in range(60)]
        most = max(degrees).bit_length()
        assert side == tuple(sum(degree.bit_length() == k for degree in degrees) for k in range(most + 1))
    assert found.above + found.below + found.core == found.components
    assert (found.vertices, found.edges) == (60, len(pairs))
    assert found.rate == pytest.approx(sum(len(row | {u}) for u, row in enumerate(whole)) / 3600, rel=1e-5)


def test_levels_of_a_long_path_with_a_wide_end_are_binned():
    found = described(1300, [(u, u + 1) for u in range(999)] + [(998, v) for v in range(1000, 1300)])
    assert (found.depth, found.widest, len(found.levels), sum(found.levels)) == (1000, 301, BINS, 1300)
    cuts = level_bins(1000)
    assert found.levels[:-1] == tuple(np.diff(cuts)[:-1])
    assert found.levels[-1] == cuts[-1] - cuts[-2] + 300


@given(st.integers(0, 100_000))
def test_bins_of_levels_cover_each_level_once(depth):
    cuts = level_bins(depth)
    assert (cuts[0], cuts[-1], cuts.size) == (0, depth, min(BINS, depth) + 1)
    sizes = np.diff(cuts)
    assert depth == 0 or (sizes.min() >= 1 and sizes.max() - sizes.min() <= 1)


# ------------------------------------------------------------------ the recorded ones


@pytest.fixture(scope="module")
def recorded():
    return outlines.recorded()


@pytest.mark.slow
def test_every_outline_is_of_a_graph_of_recorded_rows(recorded):
    checksums: dict[str, set[str]] = {}
    for path in provenance.baselines().rglob(results.COMPRESSED):
        rows = results.content(path.parent, results.ROWS).decode()
        for name, checksum in ROW.findall(rows):  # parsing 24,000 rows takes seconds
            checksums.setdefault(name, set()).add(checksum)
    assert len(recorded) > 100
    for name, found in recorded.items():
        assert checksums[name] == {found.sha256}, name


def test_outlines_are_short_sorted_and_whole(recorded):
    text = (paths.shipped("results/published") / FILE).read_text(encoding="utf-8")
    assert text == outlines.text(recorded.values())
    assert max(map(len, text.splitlines())) < 1500
    for found in recorded.values():
        assert sum(found.levels) == found.components == found.above + found.below + found.core
        assert sum(found.incoming) == sum(found.outgoing) == found.vertices
        assert sum(found.strong) == found.components
        assert len(found.levels) <= BINS


def test_recorded_outlines_are_those_of_the_graphs(recorded, mirror):
    fetch([registry()[name] for name in REAL], mirror=str(mirror), offline=True)
    for name in (*GENERATED, *REAL):
        assert outlines.text([profile(open_graph(name), pairs=0)]) == outlines.text([recorded[name]])


def test_recorded_trees_and_cores_are_those_of_the_graphs(real_graphs):
    text = (ROOT / "docs" / "results" / "benchmark-graphs.jsonl").read_text(encoding="utf-8")
    lines = {each["name"]: each for each in map(json.loads, text.splitlines())}
    small = [name for name in real_graphs if name in lines and lines[name]["vertices"] < 50_000]
    assert len(small) >= 15
    for name in small:
        found, line = profile(open_graph(name), pairs=0), lines[name]
        parts = (found.components, found.dag_edges, found.above, found.below, found.core, found.closure_bytes)
        assert parts == tuple(line[key] for key in ("vertices", "edges", "sources", "sinks", "core", "closure_bytes"))
        assert (found.forest, found.sha256) == (line["forest"], line["sha256"])


def test_command_puts_outlines_into_a_file_and_keeps_the_others(cache, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.edges").write_text("0 1\n1 2\n")
    assert call(capsys, "profile", "kegg-like", "mine.edges", "--record", "o.jsonl")[0] == 0
    first = outlines.read(tmp_path / "o.jsonl")
    assert list(first) == ["kegg-like", "mine"]
    assert (first["mine"].levels, first["mine"].sha256) == ((1, 1, 1), open_graph("mine").sha256)
    assert call(capsys, "profile", "erdos-renyi-100-0.1", "--record", "o.jsonl")[0] == 0
    second = outlines.read(tmp_path / "o.jsonl")
    assert second == first | {"erdos-renyi-100-0.1": second["erdos-renyi-100-0.1"]}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[1]", "line 1: no outline of a graph"),
        ('{"name": "a"}', "line 1: no outline of a graph: kind: Field required"),
        ("[" * 100_000, "line 1: no outline of a graph: Invalid JSON"),
        ("twice", "line 2: a second line of graph 'made'"),
    ],
)
def test_a_wrong_file_is_refused_by_line(tmp_path, text, error):
    path = tmp_path / "o.jsonl"
    line = outlines.text([described(2, [(0, 1)])])
    path.write_text(2 * line if text == "twice" else text)
    with pytest.raises(InputError, match=error):
        outlines.read(path)
    assert outlines.read(tmp_path / "none.jsonl") == {}
