"""The trees at the ends and the core of the benchmark graphs."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from commands import ROOT
from dags import layers
from strategies import dag_of

from grailbench.problems.reachability.core import index
from grailbench.problems.reachability.index import NoTimer, Params
from grailbench.problems.reachability.profile import ends
from grailbench.problems.reachability.survey import main, published

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


@pytest.fixture(scope="module")
def recorded():
    """The records of `docs/benchmark-graphs.jsonl`, by name of the graph."""
    text = (ROOT / "docs" / "benchmark-graphs.jsonl").read_text(encoding="utf-8")
    return {each["name"]: each for each in map(json.loads, text.splitlines())}


def test_there_is_a_record_of_every_published_graph(recorded):
    assert [*recorded] == published()
    assert {"kegg", "uniprotenc_22", "cit-patents-like", "uniprotenc_150-like", "dag_01-like"} <= recorded.keys()
    assert not {"cit-patents", "kegg-like"} & recorded.keys()
    assert recorded["cit-patents-like"]["tables"] == "thesis, table 2.3; Computation 2020, table 1"


def test_the_records_are_those_of_the_graphs(recorded, real_graphs):
    small = [name for name in real_graphs if name in recorded and recorded[name]["vertices"] < 50_000]
    assert len(small) >= 15
    made = CliRunner().invoke(main, small)
    assert made.exit_code == 0
    assert [json.loads(line) for line in made.stdout.splitlines()] == [recorded[name] for name in small]
