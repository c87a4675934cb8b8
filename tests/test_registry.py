"""The registry of datasets: names, files, printed counts. One answer to what a name names; asking makes nothing."""

import csv

import pytest

from grailbench.data import library, registry
from grailbench.data.library import open_graph
from grailbench.data.locate import choose, dataset_named, locate, look_up, stored_here
from grailbench.errors import InputError
from grailbench.graph.condense import condense
from grailbench.graph.csr import Graph
from grailbench.graph.profile import characteristics
from grailbench.graph.store import save_graph
from grailbench.util import paths

pytestmark = pytest.mark.usefixtures("cache")

UNKNOWN = {"cit-patents", "uniprotenc_100", "uniprotenc_150", "citeseerx", "go-uniprot"}


def _csv(name):
    with (paths.shipped("results/published") / f"{name}.csv").open() as file:
        return list(csv.reader(file))[1:]


def test_tables_equal_their_independent_transcriptions():
    rows = [(d, row) for d in registry.registry().values() for row in d.published]
    for table in ("2.1", "2.2", "2.3"):
        ours = [[d.name, d.title, str(row.vertices), str(row.edges), row.degree] for d, row in rows
                if (row.paper, row.table) == ("thesis", table)]  # fmt: skip
        assert ours == _csv(f"thesis-{table}")
    ours = {(d.name, str(row.vertices), str(row.edges), row.degree) for d, row in rows if row.paper == "computation"}
    assert ours == {(name, *counts) for name, _, *counts in _csv("computation-1")}


def test_both_conventions_differ_by_one_vertex():
    for dataset in registry.registry().values():
        after, before = dataset.printed(super_root=True), dataset.printed(super_root=False) or dataset.counted
        if after and before:
            assert after.vertices == before.vertices + 1, dataset.name


def test_sets_come_in_the_papers_order():
    sizes = {"small-sparse": 10, "small-dense": 5, "large": 7, "scale-free": 2, "datalog": 17}
    assert [(name, len(datasets)) for name, datasets in registry.sets().items()] == list(sizes.items())


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("kegg", "kegg"), ("KEGG", "kegg"), ("kegg_dag_uniq.gra", "kegg"),
        ("Citeseer", "citeseer"), ("citeseer_sub_10720", "citeseer"), ("citeseer.scc", "citeseer-large"),
        ("cit-Patents.txt.gz", "cit-patents"), ("Uniprot 22", "uniprotenc_22"), ("OL.cedge", "ol-cedge"),
        ("data_165435.txt", "usroad"),
    ],
)  # fmt: skip
def test_a_graph_is_found_however_its_name_is_spelled(typed, name):
    assert dataset_named(typed).name == name


def test_an_unknown_name_is_answered_with_near_ones():
    with pytest.raises(InputError, match="did you mean .*uniprotenc_22"):
        dataset_named("uniprotenc_23")
    with pytest.raises(InputError, match="grailbench list datasets"):
        dataset_named("")


@pytest.mark.mirror
def test_checksums_are_those_of_the_files_at_hand(mirror):
    for folder, of_set in ((mirror, False), (mirror / "datalog", True)):
        sums = dict(reversed(line.split()) for line in (folder / "SHA256SUMS").read_text().splitlines())
        known = [d for d in registry.registry().values() if d.sha256 and (d.set == "datalog") == of_set]
        archives = {d.archive: d.archives[d.archive] for d in known}
        assert {name: archive.sha256 for name, archive in archives.items()} == sums
        for name, archive in archives.items():
            assert archive.bytes == (folder / name).stat().st_size


def test_choose_defaults_to_the_graphs_with_a_known_checksum():
    assert {d.name for d in choose()} == set(registry.registry()) - UNKNOWN
    assert [d.name for d in choose(["Human", "kegg"], ["scale-free"])] == [
        "human", "kegg", "ba10k2d", "ba10k5d",
    ]  # fmt: skip
    assert len(choose(everything=True)) == 41
    with pytest.raises(InputError, match="small-dense"):
        choose(set_names=["dense"])


FAULTY = {
    "not toml": "set = ",
    "an unknown key": 'set = "s"\ntitle = "S"\nposition = 1\narchives = {}\n'
    '[[datasets]]\nname = "a"\ntitle = "A"\narchive = "a.gra.gz"\nvertixes = 3\n',
    "an archive nobody describes": 'set = "s"\ntitle = "S"\nposition = 1\narchives = {}\n'
    '[[datasets]]\nname = "a"\ntitle = "A"\narchive = "a.gra.gz"\n',
    "a tar without a member": 'set = "s"\ntitle = "S"\nposition = 1\n[archives."a.tar.gz"]\n'
    '[[datasets]]\nname = "a"\ntitle = "A"\narchive = "a.tar.gz"\n',
    "a name taken twice": 'set = "s"\ntitle = "S"\nposition = 1\n[archives."a.gra.gz"]\n[archives."b.gra.gz"]\n'
    '[[datasets]]\nname = "a"\ntitle = "A"\narchive = "a.gra.gz"\n'
    '[[datasets]]\nname = "b"\naliases = ["A"]\ntitle = "B"\narchive = "b.gra.gz"\n',
}


@pytest.mark.parametrize("fault", FAULTY)
def test_a_faulty_registry_is_refused_by_file_name(fault, tmp_path):
    (tmp_path / "wrong.toml").write_text(FAULTY[fault])
    with pytest.raises(InputError, match=r"wrong\.toml"):
        registry.load(tmp_path)


def test_both_conventions_are_compared_with_print_and_known_errata_are_not():
    dataset = dataset_named("uniprotenc_150")
    assert [row.edges for row in dataset.published if row.erratum] == [184670]
    right = {"vertices": 25037601, "edges": 46687655, "roots": 21650057}
    assert library.matches(dataset, right) is True
    assert library.matches(dataset, right | {"edges": 46687654}) is False
    dataset = dataset_named("citeseer-large")
    right = {"vertices": 693948, "edges": 925779, "roots": 613497}
    assert library.matches(dataset, right) is True
    assert library.matches(dataset, right | {"roots": 613496}) is False
    assert library.matches(dataset, None) is None
    assert library.matches(dataset_named("arxiv"), right) is None


def test_characteristics_of_a_graph_counted_by_hand():
    # 0 -> 2 twice, 1 -> 2, 2 -> 3, 2 -> 4; 5 alone: roots 0, 1, 5; sinks 3, 4, 5
    sources, targets = [0, 0, 1, 2, 2], [2, 2, 2, 3, 4]
    assert characteristics(condense(Graph.from_edges(6, sources, targets))) == {
        "vertices": 7, "edges": 8, "distinct_edges": 7, "degree": 8 / 7, "levels": 4, "roots": 3, "sinks": 3,
        "max_in_degree": 2, "max_out_degree": 2,
    }  # fmt: skip


# ------------------------------------------------------------------ what a name names


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
