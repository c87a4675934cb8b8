"""Generated graphs in sets of their own: as their files state them, the same everywhere, and hard where they say so."""

import json
from functools import cache
from hashlib import sha256

import numpy as np
import pytest
from click.testing import CliRunner

from grailbench.cli.info import known
from grailbench.cli.list import datasets
from grailbench.cli.main import cli
from grailbench.data import locate, registry
from grailbench.data.fetch import fetch
from grailbench.data.library import open_graph
from grailbench.errors import InputError
from grailbench.graph import generate
from grailbench.graph.condense import condense
from grailbench.graph.csr import Graph
from grailbench.graph.generate import catalogue
from grailbench.graph.generate.models import chain, comb, commits, layers, papers, releases
from grailbench.graph.generate.uniform import random_digraph
from grailbench.graph.hashing import permutation, stream
from grailbench.harness.plan import Config, make_plan
from grailbench.problems.reachability.core.peel import peel

FAMILIES = ("dense-random", "citations", "commits", "dependencies", "layered")
SMALL = catalogue.sets()["hard-small"].members
#: the first half of the sha256 of sources and targets, of seed 1
SUMS = {
    "dense-small": "ad5e707a2efb96193c021156aa8028c6",
    "citations-small": "20886890b7f4fe315262f93e3d43e913",
    "commits-small": "a5256cf649a6b702359740f3596333ce",
    "dependencies-small": "908791b5938b528ad63413b5aeac57b0",
    "layered-small": "c042421ca8a001edc7773eca8e2aae06",
}


@cache
def made(name: str) -> Graph:
    return generate.like(name)


def placed(graph: Graph, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Sources and targets of the edges as places in the order in which a generator numbered its vertices."""
    place = np.empty(graph.vertices, int)
    place[permutation(graph.vertices, stream(seed, 0))] = np.arange(graph.vertices)
    return place[graph.sources], place[graph.targets]


def core(graph: Graph) -> int:
    """The vertices left when sources with at most one child are peeled, then sinks with at most one parent."""
    children = {v: set() for v in range(graph.vertices)}
    parents = {v: set() for v in range(graph.vertices)}
    for u, v in zip(graph.sources.tolist(), graph.targets.tolist(), strict=True):
        children[u].add(v)
        parents[v].add(u)
    for ahead, behind in ((children, parents), (parents, children)):
        ready = [v for v in ahead if not behind[v] and len(ahead[v]) <= 1]
        while ready:
            v = ready.pop()
            for w in ahead.pop(v):
                behind[w].discard(v)
                if not behind[w] and len(ahead[w]) <= 1:
                    ready.append(w)
            del behind[v]
    return len(children)


# ---------------------------------------------------------------------------------------- the sets


def test_the_hard_set_is_two_graphs_of_each_family_whose_closures_exceed_memory():
    sets = catalogue.sets()
    assert tuple(sets) == (*FAMILIES, "hard", "hard-small", "deep", "digraphs")
    assert [catalogue.set_of(name) for name in sets["hard"].names] == [each for each in FAMILIES for _ in range(2)]
    assert [catalogue.set_of(name) for name in SMALL] == list(FAMILIES)
    known = {*sets["hard"].names, *SMALL, *sets["deep"].names, *sets["digraphs"].names}
    assert known - set(sets["deep"].real) == set(catalogue.graphs())
    for name in sets["hard"].names:
        measured = catalogue.graphs()[name].measured
        assert measured.core >= catalogue.HARD, name
        assert 1_000_000 <= measured.vertices <= 10_000_000, name
    assert catalogue.HARD**2 / 16 == 62.5e9


@pytest.mark.parametrize("vertices", [1, 2, 3, 8, 9])
def test_chains_and_combs_are_as_deep_as_they_say(vertices):
    for shape, levels in ((chain, vertices), (comb, vertices // 2 + 1)):
        graph = shape(vertices, seed=3)
        dag = condense(graph)
        assert (graph.edges, dag.depth - 1, dag.roots.size) == (vertices - 1, levels, 1), shape
    with pytest.raises(InputError, match="0 vertices"):
        comb(0)


@pytest.mark.mirror
def test_the_roads_of_the_deep_set_are_those_of_more_than_256_levels(mirror, session_cache, monkeypatch):
    monkeypatch.setenv("GRAILBENCH_CACHE", str(session_cache))
    roads = ("usroad", "sf-cedge", "luxembourg_osm", "cal-cedge", "tg-cedge", "ol-cedge")
    fetch([registry.find(name) for name in roads], str(mirror), offline=True)
    assert catalogue.sets()["deep"].real == tuple(name for name in roads if open_graph(name).dag.depth > 257)


def test_real_graphs_of_a_generated_set_are_fetched_with_it():
    assert [dataset.name for dataset in locate.choose(set_names=["deep"])] == ["usroad", "luxembourg_osm", "sf-cedge"]
    assert all(name in registry.registry() for found in catalogue.sets().values() for name in found.real)


def test_sets_of_generated_graphs_are_planned_by_name_and_none_is_among_all():
    def graphs(*names):
        return list(make_plan(Config.model_validate({"experiment": [{"sets": list(names)}]})).by_dataset())

    assert graphs("hard-small") == list(SMALL)
    assert graphs("citations", "small-dense")[:3] == ["citations-2m", "citations-4m", "citations-small"]
    assert graphs("all") == list(registry.registry())
    with pytest.raises(InputError, match=r"no set is named 'hardest'.*deep, digraphs, all"):
        graphs("hardest")


def test_every_graph_is_listed_with_its_set_and_explained_before_it_is_made():
    listed = {record["name"]: record["set"] for record in datasets()}
    assert {name: listed[name] for name in catalogue.graphs()} == {n: catalogue.set_of(n) for n in catalogue.graphs()}
    (found,) = known("commits-10m")
    assert (found["set"], found["here"], found["file_vertices"]) == ("commits", False, 10_000_000)
    assert found["recorded"]["core"] == catalogue.graphs()["commits-10m"].measured.core
    assert open_graph("layered-small").title == "32 layers, small"
    (found,) = known("layered-small")
    assert (found["set"], found["model"], found["file_edges"]) == ("layered", "layers", 8341)


def test_the_generate_command_finds_the_recorded_numbers():
    out = CliRunner().invoke(cli, ["generate", "dependencies-small", "--json"], catch_exceptions=False).output
    assert [(row["wanted"], row["relative"]) for row in json.loads(out)["differences"]] == [(3000, 0), (10942, 0)]
    assert json.loads(out)["basis"] == "seed 1"


HEAD = 'set = "s"\ntitle = "S"\nposition = 1\nabout = "x"\n'
GRAPH = (
    '[[graphs]]\nname = "a"\ntitle = "A"\nmodel = "papers"\nparameters = {}\n'
    "measured = { vertices = 1, edges = 1, levels = 1, core = 1 }\n"
)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (HEAD + GRAPH + GRAPH, "a second graph is named 'a'"),
        (HEAD + 'members = ["b"]\n', "member 'b': no set describes it"),
        (HEAD + GRAPH.replace("papers", "paper"), "paper"),
        (HEAD + "colour = 1\n", "colour"),
    ],
)
def test_a_faulty_file_is_refused_by_name(tmp_path, text, fault):
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(InputError, match=fault) as caught:
        catalogue.read(tmp_path)
    assert caught.value.path == tmp_path / "s.toml"


# ---------------------------------------------------------------------------------------- the graphs


@pytest.mark.parametrize("name", SMALL)
def test_a_small_graph_is_what_its_file_states_and_the_same_everywhere(name):
    graph, stated = made(name), catalogue.graphs()[name].measured
    dag = condense(graph)
    assert (graph.vertices, graph.edges) == (stated.vertices, stated.edges)
    assert (dag.vertices, dag.duplicates, dag.loops) == (graph.vertices + 1, 0, 0)  # no cycle was contracted
    assert int(dag.levels.max()) == stated.levels
    assert core(graph) == stated.core
    assert graph.sources.dtype == graph.targets.dtype == np.int32
    digest = sha256(graph.sources.astype("<i4").tobytes() + graph.targets.astype("<i4").tobytes()).hexdigest()
    assert digest[:32] == SUMS[name]
    assert abs(np.mean(graph.sources < graph.targets) - 0.5) < 0.05  # ids tell nothing of the order
    other = generate.like(name, 2)
    assert not np.array_equal(graph.targets[:1000], other.targets[:1000])


def test_a_digraph_has_one_giant_component_and_is_the_same_everywhere():
    graph, stated = made("digraph-small"), catalogue.graphs()["digraph-small"].measured
    dag = condense(graph)
    assert (graph.vertices, graph.edges) == (stated.vertices, stated.edges)
    assert np.bincount(dag.component).max() == stated.giant
    assert (dag.depth - 1, peel(dag).core.size) == (stated.levels, stated.core)
    assert (graph.sources != graph.targets).all()
    digest = sha256(graph.sources.astype("<i4").tobytes() + graph.targets.astype("<i4").tobytes()).hexdigest()
    assert digest[:32] == "5cc8bb617d39478f0f8cbbb09449a271"
    counts = np.bincount(graph.targets, minlength=3000)
    assert counts.var() == pytest.approx(3, rel=0.15)  # of a Poisson distribution, the mean
    assert random_digraph(1, 0).edges == 0
    for vertices, degree in ((1, 1.0), (0, 0.0), (10, -1.0), (2**30, 2.0)):
        with pytest.raises(InputError):
            random_digraph(vertices, degree)


def test_papers_cite_older_ones_within_the_window_and_what_these_cite():
    fresh = papers(4000, 4.0, 0, 50, seed=3)
    source, target = placed(fresh, 3)
    assert (source > target).all()
    assert (source - target).max() <= 50
    assert fresh.edges / 4000 == pytest.approx(4.0, rel=0.15)
    copied = papers(4000, 4.0, 70, 50, seed=3)
    source, target = placed(copied, 3)
    assert (source > target).all()
    assert (source - target).max() > 150
    assert np.bincount(copied.targets).max() > 2 * np.bincount(fresh.targets).max()


def test_commits_have_a_root_of_all_two_parents_at_most_and_the_merges_asked_for():
    graph = commits(20_000, 20.0, 50, 10, seed=5)
    source, target = placed(graph, 5)
    assert (source > target).all()
    parents = np.bincount(source, minlength=20_000)
    assert (parents[0], parents[1:].min(), parents.max()) == (0, 1, 2)
    assert np.mean(parents == 2) == pytest.approx(0.20, abs=0.04)
    assert commits(50, 0.0, 4, 2).edges == 49


def test_releases_keep_most_dependencies_and_a_few_packages_are_needed_by_many():
    graph = releases(20_000, 4.0, 20, 80, 5, seed=7)
    source, target = placed(graph, 7)
    assert (source > target).all()
    needed = np.sort(np.bincount(target, minlength=20_000))
    assert needed[-200:].sum() > 0.15 * graph.edges
    assert np.mean(needed == 0) > 0.25
    same = releases(20_000, 4.0, 20, 80, 0, seed=7)
    assert abs(same.edges - graph.edges) / graph.edges < 0.25


def test_layers_lead_down_to_places_near_by_and_skip_as_many_layers_as_asked():
    depth, width, span = 40, 100, 7
    graph = layers(depth, width, 3, span, 20, seed=9)
    source, target = placed(graph, 9)
    down = target // width - source // width
    side = (target - source) % width
    assert down.min() == 1
    assert np.minimum(side, width - side).max() == span
    assert np.mean(down[source // width < depth // 2] > 1) == pytest.approx(0.2, abs=0.03)
    straight = layers(5, 10, 1, 0, 0)
    source, target = placed(straight)
    assert np.array_equal(target - source, np.full(40, 10))


@pytest.mark.parametrize(
    "make",
    [
        lambda: papers(0, 1.0, 50, 5), lambda: papers(5, 0.0, 50, 5), lambda: papers(5, 1.0, 101, 5),
        lambda: papers(5, 1.0, 50, 0), lambda: papers(5, float("nan"), 50, 5), lambda: papers(2**30, 15.0, 50, 5),
        lambda: commits(0, 5.0, 2, 1), lambda: commits(5, 101.0, 2, 1), lambda: commits(5, 5.0, 2, 3),
        lambda: releases(5, 1.0, -1, 50, 5), lambda: releases(5, 99.0, 20, 50, 5), lambda: releases(0, 1.0, 20, 50, 5),
        lambda: layers(0, 5, 1, 1, 0), lambda: layers(5, 5, 0, 1, 0), lambda: layers(5, 5, 1, 3, 0),
        lambda: layers(5, 5, 1, 1, 100), lambda: layers(2**20, 2**12, 1, 1, 0),
    ],
)  # fmt: skip
def test_impossible_sizes_are_refused(make):
    with pytest.raises(InputError):
        make()


@pytest.mark.parametrize(
    ("make", "edges"),
    [
        (lambda: papers(1, 4.0, 50, 5), 0), (lambda: commits(1, 5.0, 1, 1), 0), (lambda: commits(2, 100.0, 1, 1), 1),
        (lambda: releases(1, 4.0, 20, 70, 5), 0), (lambda: layers(1, 1, 1, 0, 0), 0),
        (lambda: layers(2, 1, 4, 0, 0), 1),
    ],
)  # fmt: skip
def test_the_smallest_graphs(make, edges):
    assert make().edges == edges
