"""What the benchmark graphs ask of an index: trees at their ends, their core, and what reductions leave of it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from commands import ROOT
from dags import layers
from strategies import dag_of

from grailbench.graph import generate
from grailbench.graph.condense import condense
from grailbench.graph.generate import catalogue
from grailbench.problems.reachability.core import index
from grailbench.problems.reachability.index import NoTimer, Params
from grailbench.problems.reachability.profile import ends
from grailbench.problems.reachability.survey import GRAPHS, CoreGraph, core_of, published, records, reductions

#: two vertices that both reach two others: none has degree one
CORE = [(0, 2), (0, 3), (1, 2), (1, 3)]
#: the same, and two more below, so that three pairs of twins follow one another
LADDER = [*CORE, (2, 4), (2, 5), (3, 4), (3, 5)]


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
    measured = ends(dag_of(vertices, edges))
    assert (measured.forest, measured.sources, measured.sinks, measured.core) == found
    assert measured.vertices == sum(found[1:])
    assert (measured.closure_bytes > 0) == (measured.core > 0)


def test_the_closure_takes_half_a_bit_a_pair_and_fits_where_core_makes_it(monkeypatch):
    dag = dag_of(*layers())
    found = ends(dag)
    assert found.core == 320
    assert 320**2 / 16 < found.closure_bytes < 2 * 320**2 / 16
    for room in (found.needed_bytes, found.needed_bytes - 1):
        monkeypatch.setattr(index, "SMALL", room)
        monkeypatch.setattr(index.memory, "available", lambda: 0)
        made = index.Core.build(dag, Params(), NoTimer())
        assert found.fits == (made.inner is None) == (room == found.needed_bytes)


def core(size: int, edges: list[tuple[int, int]]) -> CoreGraph:
    """Edges between vertices in topological order, with nothing peeled."""
    sources, targets = np.array(sorted(edges), int).reshape(-1, 2).T
    starts = np.concatenate(([0], np.cumsum(np.bincount(sources, minlength=size)))).astype(np.int64)
    return CoreGraph(starts, targets.astype(np.int32))


def picked(counted: dict, names: str) -> tuple:
    return tuple(counted[name] for name in names.split())


def test_twins_have_the_same_parents_and_the_same_children():
    found = core(6, LADDER)
    assert found.twins().tolist() == [False, True, False, True, False, True]
    assert (found.merged().size, found.merged().targets.tolist()) == (3, [1, 2])
    assert not core(4, [(0, 2), (0, 3), (1, 3)]).twins().any(), "half of the neighbours alike"


def test_an_edge_is_transitive_if_another_path_has_its_ends():
    counted = reductions(core(6, [*LADDER, (0, 4), (1, 5)]))
    assert picked(counted, "edges tested transitive_share") == (10, 10, 0.2)
    assert counted["twins"] == 1, "the edges part the twins at both ends"
    # without them, and with twins merged, a path is left, which needs neither a row nor a column
    assert picked(counted, "irreducible_rows irreducible_columns all_bytes") == (0, 0, 0)


def test_chains_and_components_of_a_core():
    square = [(0, 1), (0, 2), (1, 3), (2, 3)]
    counted = reductions(core(8, [*square, *((u + 4, v + 4) for u, v in square)]))
    assert picked(counted, "rows columns chains_bytes") == (4, 2, 1)  # a row of the top, and one of the bottom, taken
    assert picked(counted, "components largest closure_bytes components_bytes") == (2, 4, 4, 2)


@pytest.mark.parametrize("edges", [[], [(0, 1), (1, 2)]])
def test_nothing_is_left_of_a_forest(edges):
    counted = reductions(core_of(dag_of(3, edges)))
    assert picked(counted, "core edges components all_bytes packed_bytes") == (0, 0, 0, 0, 0)


@pytest.mark.parametrize("name", ["dense-small", "commits-small"])
def test_transitive_edges_are_those_whose_target_another_child_reaches_and_a_sample_is_near(name):
    found = core_of(condense(generate.like(name)))
    reached = [0] * found.size  # a bit for each vertex that is reached, and for the vertex itself
    beside = 0
    for u in reversed(range(found.size)):
        children = found.targets[found.starts[u] : found.starts[u + 1]].tolist()
        beside += sum(any(reached[w] >> v & 1 for w in children if w != v) for v in children)
        for w in children:
            reached[u] |= reached[w]
        reached[u] |= 1 << u
    counted = reductions(found)
    assert round(counted["transitive_share"] * counted["edges"]) == beside > 0
    assert counted["packed_irreducible_bytes"] <= counted["packed_bytes"]
    near = reductions(found, exact=0, sample=2000)
    assert near["transitive_share"] == pytest.approx(counted["transitive_share"], abs=0.06)
    assert (near["packed_bytes"], near["twins"]) == (None, counted["twins"])
    assert near["irreducible_rows"] == pytest.approx(counted["irreducible_rows"], abs=0.1 * found.size)


# ------------------------------------------------------------------ the records of the page


def kept(file: str) -> dict[str, dict]:
    text = (ROOT / "docs" / file).read_text(encoding="utf-8")
    return {each["name"]: each for each in map(json.loads, text.splitlines())}


def test_the_kept_records_are_of_every_published_graph_and_of_the_hard_set():
    known = kept("benchmark-graphs.jsonl")
    assert [*known] == published()
    assert {"kegg", "uniprotenc_22", "cit-patents-like", "uniprotenc_150-like", "dag_01-like"} <= known.keys()
    assert not {"cit-patents", "kegg-like"} & known.keys()
    assert known["cit-patents-like"]["tables"] == "thesis, table 2.3; Computation 2020, table 1"
    counted = kept("reductions.jsonl")
    hard = catalogue.sets()["hard"].names
    assert [*counted] == [*GRAPHS, *hard]
    for name in hard:
        assert counted[name]["core"] == catalogue.graphs()[name].measured.core
        assert counted[name]["chains_bytes"] >= catalogue.CONTRACTED, name


def test_the_kept_records_are_those_of_the_graphs(real_graphs):
    known = kept("benchmark-graphs.jsonl")
    small = [name for name in real_graphs if name in known and known[name]["vertices"] < 50_000]
    assert len(small) >= 15
    assert list(records("ends", small)) == [known[name] for name in small]
    counted = kept("reductions.jsonl")
    exact = [name for name in GRAPHS if name in real_graphs][:3]
    assert list(records("reductions", exact)) == [counted[name] for name in exact]
