"""What a graph asks of an index: the trees at its ends, its core, and what is said of them."""

from __future__ import annotations

import json

import pytest
from commands import ROOT
from dags import layers
from strategies import dag_of

from grailbench.data.registry import registry, sets
from grailbench.problems.reachability.core import index
from grailbench.problems.reachability.ends import ends, published, record, records
from grailbench.problems.reachability.index import NoTimer, Params
from grailbench.util.words import size

#: two vertices that both reach two others: none has degree one
CORE = [(0, 2), (0, 3), (1, 2), (1, 3)]


@pytest.mark.parametrize(
    ("vertices", "edges", "found"),
    [
        (0, [], ("", 0, 0, 0)),
        (3, [], ("out-forest", 0, 3, 0)),
        (4, [(0, 2), (1, 2), (2, 3)], ("in-forest", 4, 0, 0)),
        (4, [(0, 1), (1, 2), (1, 3)], ("out-forest", 0, 4, 0)),
        (5, [(0, 2), (1, 2), (2, 3), (2, 4)], ("", 2, 3, 0)),
        (4, CORE, ("", 0, 0, 4)),
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


def test_published_graphs_are_named_once_and_those_that_cannot_be_had_by_their_look_alikes():
    names = published()
    assert len(set(names)) == len(names)
    assert {"kegg", "uniprotenc_22", "cit-patents-like", "uniprotenc_150-like", "dag_01-like"} <= set(names)
    assert not {"cit-patents", "kegg-like"} & set(names)


@pytest.fixture(scope="module")
def kept():
    """The records from which the page is made."""
    text = (ROOT / "docs" / "benchmark-graphs.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_the_kept_records_are_of_every_published_graph(kept):
    assert [each["name"] for each in kept] == published()
    for each in kept:
        assert each["sources"] + each["sinks"] + each["core"] == each["vertices"]
        dataset = registry().get(each["name"])
        assert dataset is None or each["sha256"] == dataset.sha256


def test_the_kept_records_are_those_of_the_graphs(kept, real_graphs):
    small = [each for each in kept if each["name"] in real_graphs and each["vertices"] < 50_000]
    assert len(small) >= 15
    assert list(records([each["name"] for each in small])) == small


def test_what_the_page_says_of_single_graphs_is_so(kept):
    text = " ".join((ROOT / "docs" / "benchmark-graphs.md").read_text(encoding="utf-8").split())
    real = {each["name"]: each for each in kept if not each["generated"]}
    assert [name for name, each in real.items() if each["forest"]] == ["citeseer-large", "uniprotenc_22"]
    assert "**citeseer-large** and **uniprotenc_22** are in-forests" in text
    sparse = [real[dataset.name] for dataset in sets()["small-sparse"]]
    cores, sizes = ([each[field] for each in sparse] for field in ("core", "closure_bytes"))
    assert f"a core of {min(cores):,} to {max(cores):,} vertices" in text
    assert f"takes {min(sizes) // 1024} to {size(max(sizes))}" in text
    most = max(real.values(), key=lambda each: each["closure_bytes"])
    assert f"of the {len(real)} graphs whose files can be had none keeps more than {most['core']:,} vertices" in text
    assert f"takes more than {size(most['closure_bytes'])}" in text
    home = [each for each in kept if each["name"].startswith("dag_")]
    assert all(each["core"] == each["vertices"] for each in home)
    assert all(each["closure_bytes"] > 15e9 for each in home if each["vertices"] >= 500_000)


def test_a_record_names_the_tables_that_print_the_graph(kept, diamond):
    from grailbench.data.library import open_graph

    made = record(open_graph(diamond))
    assert (made["tables"], made["generated"], made["core"]) == ("", False, 4)
    assert {each["name"]: each["tables"] for each in kept}["cit-patents-like"] == (
        "thesis, table 2.3; Computation 2020, table 1"
    )
