"""The recorded outlines of graphs: against plain Python, against the graphs, and against the recorded runs."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from commands import call
from dags import some_graph
from hypothesis import given
from hypothesis import strategies as st
from naive import closure

from grailbench.data.library import BenchGraph, open_graph
from grailbench.errors import InputError
from grailbench.graph import outline as outlines
from grailbench.graph.condense import condense
from grailbench.graph.csr import Graph
from grailbench.graph.outline import BINS, FILE, bit_range, bits, level_bins
from grailbench.harness import folder as results
from grailbench.harness import provenance
from grailbench.problems.reachability.outline import outline
from grailbench.report.outlined import figures
from grailbench.util import paths

GENERATED = ("kegg-like", "erdos-renyi-100-0.1", "random-tree-1000", "scale-free-1000", "slides-apsp-4-like")
ROW = re.compile(r'"dataset": ?"([^"]*)".*?"graph_sha256": ?"([0-9a-f]{64})"')
REAL = ("kegg", "citeseer", "arxiv", "wiki-vote")


class Opened(BenchGraph):
    """A graph in memory as `open_graph` opens those of files."""

    raw = property(lambda self: graphs[self.name])


graphs: dict[str, Graph] = {}


def opened(graph, name="made"):
    graphs[name] = graph
    return Opened(name, name, "imported", "imported", "0" * 64, None, condense(graph))


def edges_of(vertices, edges):
    return Graph.from_edges(vertices, *np.array(edges, np.int64).reshape(-1, 2).T)


def test_outline_of_a_graph_with_cycles_is_that_of_plain_python():
    graph = some_graph(vertices=60, edges=80)
    pairs = list(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))
    whole, found = closure(60, pairs), outline(opened(graph))
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
    path = edges_of(1300, [(u, u + 1) for u in range(999)] + [(998, v) for v in range(1000, 1300)])
    found = outline(opened(path))
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


@given(st.lists(st.integers(0, 2**40), max_size=50))
def test_numbers_are_counted_by_their_bits(values):
    found = bits(np.array(values, np.int64))
    assert sum(found) == len(values)
    for k, number in enumerate(found):
        low, high = bit_range(k)
        assert number == sum(low <= value <= high for value in values)


@pytest.mark.parametrize(("vertices", "edges"), [(0, []), (1, []), (1, [(0, 0)]), (3, [(0, 1), (1, 2), (2, 0)])])
def test_graphs_with_little_in_them_have_an_outline_and_figures(vertices, edges):
    found = outline(opened(edges_of(vertices, edges)))
    assert outlines.Outline(**json.loads(outlines.text([found]))) == found
    assert found.vertices == vertices
    assert (found.rate is None, found.in_trees is None, found.density is None) == (vertices == 0,) * 3
    for figure in figures(found):
        assert figure.title
        assert not figure.form.empty or figure.note.startswith("Unavailable")


# ------------------------------------------------------------------ the recorded ones


@pytest.fixture(scope="module")
def kept():
    return outlines.recorded()


@pytest.fixture(scope="module")
def checksums():
    """The SHA-256 of each graph of the recorded runs, as their rows have it."""
    found: dict[str, set[str]] = {}
    for path in provenance.baselines().rglob(results.COMPRESSED):
        rows = results.content(path.parent, results.ROWS).decode()
        for name, checksum in ROW.findall(rows):  # parsing 24,000 rows takes seconds
            found.setdefault(name, set()).add(checksum)
    return found


def test_every_outline_is_of_a_graph_of_recorded_rows(kept, checksums):
    assert len(kept) > 100
    for name, found in kept.items():
        assert checksums[name] == {found.sha256}, name
    assert all(name in kept for name in (*GENERATED, *REAL))


def test_outlines_are_short_sorted_and_whole(kept):
    path = paths.published_dir() / FILE
    text = path.read_text(encoding="utf-8")
    assert text == outlines.text(kept.values())
    assert max(map(len, text.splitlines())) < 1500
    for found in kept.values():
        assert sum(found.levels) == found.components == found.above + found.below + found.core
        assert sum(found.incoming) == sum(found.outgoing) == found.vertices
        assert sum(found.strong) == found.components
        assert len(found.levels) <= BINS


@pytest.mark.parametrize("name", GENERATED)
def test_recorded_outlines_are_those_of_generated_graphs(kept, name):
    assert outline(open_graph(name)) == kept[name]


def test_recorded_outlines_are_those_of_real_graphs(kept, mirror):
    from grailbench.data.fetch import fetch
    from grailbench.data.registry import registry

    fetch([registry()[name] for name in REAL], mirror=str(mirror), offline=True)
    for name in REAL:
        assert outline(open_graph(name)) == kept[name]


def test_command_puts_outlines_into_a_file_and_keeps_the_others(cache, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.edges").write_text("0 1\n1 2\n")
    assert call(capsys, "profile", "kegg-like", "mine.edges", "--record", "o.jsonl")[0] == 0
    first = outlines.read(tmp_path / "o.jsonl")
    assert list(first) == ["kegg-like", "mine"]
    assert (first["mine"].levels, first["mine"].sha256) == ((1, 1, 1), open_graph("mine").sha256)
    assert call(capsys, "profile", "erdos-renyi-100-0.1", "--record", "o.jsonl")[0] == 0
    assert outlines.read(tmp_path / "o.jsonl") == first | {"erdos-renyi-100-0.1": outline(open_graph(GENERATED[1]))}


def test_command_without_graphs_takes_those_of_recorded_runs_that_can_be_had(capsys, tmp_path, monkeypatch):
    from grailbench.cli import profile

    monkeypatch.setattr(provenance, "manifest", lambda: {"h200/closure": {}, "speed": {}})
    found = dict(profile._recorded(500))
    _, err = capsys.readouterr()
    assert "random-tree-400" in found
    assert not {"kegg", "erdos-renyi-1000-0.1"} & set(found)
    assert "left out: erdos-renyi-1000-0.1, 100,232 edges" in err
    monkeypatch.setattr(profile, "_recorded", lambda most: (("erdos-renyi-100-0.1", "x"), ("random-tree-100", None)))
    code, _, err = call(capsys, "profile", "--record", str(tmp_path / "o.jsonl"))
    assert code == 0
    assert "left out: erdos-renyi-100-0.1, which is another graph here" in err
    assert list(outlines.read(tmp_path / "o.jsonl")) == ["random-tree-100"]


def test_command_needs_a_graph_unless_it_records(capsys):
    code, _, err = call(capsys, "profile")
    assert code == 2
    assert "GRAPH" in err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "line 1: is no JSON"),
        ("[1]", "line 1: no profile of a graph"),
        ('{"name": "a"}', "line 1: no profile of a graph"),
        ("[" * 100_000, "line 1: is no JSON"),
        ("twice", "line 2: a second line of graph 'made'"),
    ],
)
def test_a_wrong_file_is_refused_by_line(tmp_path, text, said):
    path = tmp_path / "o.jsonl"
    line = outlines.text([outline(opened(edges_of(2, [(0, 1)])))])
    path.write_text(2 * line if text == "twice" else text)
    with pytest.raises(InputError, match=said):
        outlines.read(path)
    assert outlines.read(tmp_path / "none.jsonl") == {}
