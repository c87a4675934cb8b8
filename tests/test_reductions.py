"""What reductions leave of a core: counted by hand on small graphs, by sets on generated ones, kept for the page."""

from __future__ import annotations

import json

import numpy as np
import pytest
from commands import ROOT
from strategies import dag_of

from grailbench.graph import generate
from grailbench.graph.condense import condense
from grailbench.graph.generate import catalogue
from grailbench.problems.reachability.reductions import GRAPHS, SAMPLE, Core, core_of, records, reductions

#: a root with two children, of which one has a chain of two beside a twin of the other's, that meet twice below
LADDER = [(0, 2), (0, 3), (1, 2), (1, 3), (2, 4), (2, 5), (3, 4), (3, 5)]


def core(size: int, edges: list[tuple[int, int]]) -> Core:
    """Edges between vertices in topological order, with nothing peeled."""
    sources, targets = np.array(sorted(edges), int).reshape(-1, 2).T
    starts = np.concatenate(([0], np.cumsum(np.bincount(sources, minlength=size)))).astype(np.int64)
    return Core(starts, targets.astype(np.int32))


def test_twins_have_the_same_parents_and_the_same_children():
    found = core(6, LADDER)
    assert found.twins().tolist() == [False, True, False, True, False, True]
    assert (found.merged().size, found.merged().targets.tolist()) == (3, [1, 2])
    assert not core(4, [(0, 2), (0, 3), (1, 3)]).twins().any(), "half of the neighbours alike"


def test_an_edge_is_transitive_if_another_path_has_its_ends():
    found = core(6, [*LADDER, (0, 4), (1, 5)])
    counted = reductions(found)
    assert (counted.edges, counted.tested, counted.transitive_share) == (10, 10, 0.2)
    assert counted.twins == 1, "the edges part the twins at both ends"
    # without them, and with twins merged, a path is left, which needs neither a row nor a column
    assert (counted.irreducible_rows, counted.irreducible_columns, counted.all_bytes) == (0, 0, 0)


def test_chains_and_components_of_a_core():
    square = [(0, 1), (0, 2), (1, 3), (2, 3)]
    counted = reductions(core(8, [*square, *((u + 4, v + 4) for u, v in square)]))
    assert (counted.rows, counted.columns, counted.chains_bytes) == (
        4,
        2,
        1,
    )  # a row of the top, and one of the bottom, taken
    assert (counted.components, counted.largest, counted.closure_bytes, counted.components_bytes) == (2, 4, 4, 2)


@pytest.mark.parametrize("edges", [[], [(0, 1), (1, 2)]])
def test_nothing_is_left_of_a_forest(edges):
    counted = reductions(core_of(dag_of(3, edges)))
    assert (counted.core, counted.edges, counted.components, counted.all_bytes, counted.packed_bytes) == (0, 0, 0, 0, 0)


@pytest.mark.parametrize("name", ["dense-small", "citations-small", "commits-small"])
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
    assert round(counted.transitive_share * counted.edges) == beside > 0
    assert counted.packed_irreducible_bytes <= counted.packed_bytes
    near = reductions(found, exact=0, sample=2000)
    assert near.transitive_share == pytest.approx(counted.transitive_share, abs=0.06)
    assert (near.packed_bytes, near.twins) == (None, counted.twins)
    assert near.irreducible_rows == pytest.approx(counted.irreducible_rows, abs=0.1 * found.size)


# ---------------------------------------------------------------------------------------- the page


@pytest.fixture(scope="module")
def kept():
    text = (ROOT / "docs" / "reductions.jsonl").read_text(encoding="utf-8")
    return {each["name"]: each for each in map(json.loads, text.splitlines())}


def test_the_kept_records_are_those_of_the_graphs(kept, real_graphs):
    small = [name for name in GRAPHS if name in real_graphs]
    assert len(small) == 5
    assert list(records(small)) == [kept[name] for name in small]
    assert [*kept] == [*GRAPHS, *catalogue.sets()["hard"].names]


def test_the_closures_of_the_hard_set_exceed_memory_without_chains_too(kept):
    for name in catalogue.sets()["hard"].names:
        assert kept[name]["core"] == catalogue.graphs()[name].measured.core
        assert kept[name]["chains_bytes"] >= catalogue.CONTRACTED, name
        assert kept[name]["tested"] == SAMPLE
    text = " ".join((ROOT / "docs" / "datasets.md").read_text(encoding="utf-8").split())
    assert catalogue.CONTRACTED == 50e9
    assert "r · c / 16 bytes are 50 GB or more" in text


def test_what_the_page_says_of_single_graphs_is_so(kept):
    text = " ".join((ROOT / "docs" / "benchmark-graphs.md").read_text(encoding="utf-8").split())
    patents, arxiv, commits = (kept[name] for name in ("cit-patents-like", "arxiv", "commits-6m"))
    gib = [round(patents[f"{name}_bytes"] / 2**30) for name in ("closure", "chains", "all")]
    assert f"cit-patents-like from {gib[0]} to {gib[1]} GiB" in text
    assert f"near memory, which takes {gib[2]} GiB when all is done" in text
    gib = [round(commits[f"{name}_bytes"] / 2**30) for name in ("closure", "chains")]
    assert f"commits-6m from {gib[0]} to {gib[1]} GiB" in text
    before, after = arxiv["packed_bytes"], arxiv["packed_irreducible_bytes"]
    assert f"{1 - after / before:.0%}".replace("%", " % less of arXiv") in text
    assert f"({round(after / 1024)} KiB for {round(before / 1024)} KiB)" in text
