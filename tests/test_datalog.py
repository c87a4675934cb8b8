"""The set `datalog`: printed tables, registry and files agree on edges and on closures, counted both ways."""

import numpy as np
import pytest

from grailbench.data import library, registry
from grailbench.data.fetch import fetch
from grailbench.graph.condense import condense
from grailbench.graph.csr import Graph
from grailbench.problems.closure.check import cyclic
from grailbench.report import published

SET = {dataset.name: dataset for dataset in registry.sets()["datalog"]}
SMALL = ["ol-cedge", "wiki-vote"]
#: the columns with edges and with the pairs of the closure, (v, v) on cycles included
SIZES = {"datalog-atc23": ("Number of rows", "TC size"), "datalog-sizes": ("# Input", "# TC")}


@pytest.fixture
def raw(mirror):
    """Opens a graph of the set, fetched from the mirror."""

    def opened(name: str) -> Graph:
        (result,) = fetch([SET[name]], str(mirror), offline=True)
        assert result.file.verified
        return library.open_raw(name).graph

    return opened


def closure_pairs(graph: Graph, block: int = 16_384) -> int:
    """The pairs (u, v), v != u, with a path from u to v: sets of `block` vertices at a time, as bits of integers."""
    dag = condense(graph)
    sizes = np.bincount(dag.component, minlength=dag.vertices).tolist()
    offsets, children, order = dag.offsets.tolist(), dag.children.tolist(), dag.order[::-1].tolist()
    total = 0
    for low in range(0, graph.vertices, block):
        reached = [0] * dag.vertices
        for bit, component in enumerate(dag.component[low : low + block].tolist()):
            reached[component] |= 1 << bit
        for u in order:
            found = reached[u]
            for k in range(offsets[u], offsets[u + 1]):
                found |= reached[children[k]]
            reached[u] = found
            total += sizes[u] * found.bit_count()
    return total - graph.vertices


@pytest.mark.parametrize("name", SIZES)
def test_every_printed_size_is_the_registered_one_with_pairs_on_cycles(name):
    edges, pairs = SIZES[name]
    printed = published.table(name)
    for dataset in printed.rows:
        assert SET[dataset].counted.edges == printed.number(dataset, edges), dataset
        assert SET[dataset].closure.with_cycles == printed.number(dataset, pairs), dataset


def test_sizes_of_all_graphs_are_printed_tables_have_only_graphs_of_the_set_and_errata_name_printed_cells():
    tables = {name: set(published.table(name).rows) for name in published.DATALOG}
    assert set.union(*(tables[name] for name in SIZES)) == set(SET)
    assert {name: len(rows) for name, rows in tables.items()} == {
        "datalog-atc23": 16, "datalog-sizes": 5, "datalog-scaling": 3, "datalog-energy": 3,
    }  # fmt: skip
    assert len(SET) == 17
    seen = [each for name in published.DATALOG for each in published.table(name).errata]
    assert len(seen) == 3
    for each in seen:
        assert not each.row or each.column in published.table(each.table).rows[each.row]


@pytest.mark.mirror
@pytest.mark.parametrize("name", SET)
def test_a_file_has_the_registered_vertices_edges_and_cycles(name, raw):
    graph = raw(name)
    assert (graph.vertices, graph.edges) == (SET[name].counted.vertices, SET[name].counted.edges)
    assert cyclic(graph) == SET[name].closure.cyclic


@pytest.mark.mirror
def test_the_description_counts_the_file_and_not_its_components(raw):
    raw("wiki-vote")
    row = library.describe(SET["wiki-vote"])
    assert (row["file_vertices"], row["file_edges"], row["vertices"]) == (8298, 103_689, 7000)
    assert row["closure_pairs_with_cycles"] - row["closure_pairs"] == 1300


@pytest.mark.mirror
@pytest.mark.parametrize("name", SMALL)
def test_a_closure_has_the_registered_pairs(name, raw):
    assert closure_pairs(raw(name)) == SET[name].closure.pairs
