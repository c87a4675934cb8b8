"""One answer to what a name names; asking makes nothing."""

import pytest

from grailbench.data.library import open_graph
from grailbench.data.locate import dataset_named, locate, look_up, stored_here
from grailbench.errors import InputError
from grailbench.graph.csr import Graph
from grailbench.graph.store import save_graph
from grailbench.util import paths

pytestmark = pytest.mark.usefixtures("cache")


@pytest.mark.parametrize(
    ("typed", "name", "kind", "vertices"),
    [
        ("KEGG", "kegg", "real", 3617),
        ("kegg-like", "kegg-like", "synthetic", 3617),
        ("erdos-renyi-20-0.50", "erdos-renyi-20-0.5", "synthetic", 20),
        ("random-n50000000-k20-s1", "random-n50000000-k20-s1", "synthetic", 50_000_000),
        ("citations-n3800000-k4.6-w500000-s1", "citations-n3800000-k4.6-w500000-s1", "synthetic", 3_800_000),
    ],
)
def test_asking_what_a_name_names_stores_nothing(cache, typed, name, kind, vertices):
    found = locate(typed)
    assert (found.name, found.kind, found.here, found.vertices) == (name, kind, False, vertices)
    assert [path.name for path in cache.rglob("*") if path.is_file()] == [paths.CACHE_MARK]


def test_a_generated_graph_lies_where_its_location_says():
    before = locate("path-7")
    assert open_graph("path-7").dag.vertices == 8
    assert locate("path-7") == before
    assert (before.here, before.vertices, stored_here()) == (True, 7, ["path-7"])


def test_an_imported_graph_goes_before_an_alias_but_not_before_a_dataset(cache):
    for name in ("patents", "kegg"):
        save_graph(cache / "imported" / f"{name}.npz", Graph.from_edges(3, [0], [1]))
    assert [locate(name).kind for name in ("patents", "kegg", "cit-Patents.txt.gz")] == ["imported", "real", "real"]
    assert dataset_named("patents").name == "cit-patents"  # what can be fetched is the dataset
    assert stored_here() == ["patents"]


def test_a_damaged_graph_has_no_number_of_vertices(cache):
    (cache / "imported").mkdir()
    (cache / "imported" / "torn.npz").write_bytes(b"PK")
    assert locate("torn").vertices is None


@pytest.mark.parametrize(
    ("name", "words"),
    [("keggg", "no graph is named 'keggg' .*kegg"), ("", "list datasets"), ("../generated/x", "no graph"),
     ("path-0", "vertices")],
)  # fmt: skip
def test_a_name_of_nothing_is_one_error(name, words):
    with pytest.raises(InputError, match=words):
        locate(name)


def test_a_file_is_answered_with_the_command_that_makes_it_a_graph(tmp_path):
    (tmp_path / "g.gra").write_text("graph_for_greach\n1\n0: #\n")
    assert look_up(str(tmp_path / "g.gra")) is None
    with pytest.raises(InputError, match=r"g\.gra: is a file.*grailbench import .*g\.gra --name NAME"):
        locate(str(tmp_path / "g.gra"))


def test_what_is_generated_is_not_fetched():
    with pytest.raises(InputError, match="kegg-like is synthetic, so there is nothing to fetch"):
        dataset_named("kegg-like")
