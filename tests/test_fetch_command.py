"""`grailbench fetch`, and the graphs that were really fetched."""

import json

import pytest
from archives import GRAPH, PACKED, registry, sha256
from click.testing import CliRunner

from grailbench.cli.main import cli
from grailbench.data import library, locate
from grailbench.data.fetch import fetch
from grailbench.errors import CheckFailed, InputError
from grailbench.util import paths

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def toys(tmp_path, folder, monkeypatch):
    """A registry of two toy graphs served by `folder`, one with a published row; returns a writer of that row."""
    for name in "ab":
        (folder / f"{name}.gra.gz").write_bytes(PACKED)

    def publish(vertices, edges):
        where = tmp_path / f"registry-{vertices}-{edges}"
        where.mkdir()
        row = f'{{ paper = "thesis", table = "2.1", vertices = {vertices}, edges = {edges}, degree = "0.7" }}'
        text = registry(more=f'sources = ["{folder}/{{file}}"]', published=f"published = [{row}]")
        (where / "toy.toml").write_text(text)
        monkeypatch.setattr(paths, "shipped", {"datasets": where}.__getitem__)

    return publish


def run(*words):
    return CliRunner().invoke(cli, ["fetch", *words], catch_exceptions=True)


def test_json_has_one_row_a_graph_with_measured_beside_published(toys):
    toys(4, 3)
    ran = run("a", "b", "--json")
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    assert ran.exit_code == 0
    wanted = ("name", "set", "vertices", "edges", "published_vertices", "published_edges", "matches", "verified")
    assert [[row[key] for key in wanted] for row in rows] == [
        ["a", "toy", 4, 3, 4, 3, True, True],
        ["b", "toy", 4, 3, None, None, None, False],
    ]
    assert rows[0]["sha256"] == sha256(GRAPH)
    assert (rows[0]["levels"], rows[0]["roots"], rows[0]["status"]) == (4, 1, "fetched")


@pytest.mark.parametrize("stripped", [False, True])
def test_counts_edited_in_the_cache_are_not_believed(toys, cache, caplog, stripped):
    toys(4, 3)
    first = json.loads(run("a", "--json").stdout)
    path = cache / "graphs" / "a.gra.json"
    note = json.loads(path.read_text())
    note["measured"]["levels"] = 77
    if stripped:  # as notes were before they had checksums
        del note["sum"]
    path.write_text(json.dumps(note))
    again = json.loads(run("a", "--json").stdout)
    assert again["levels"] == first["levels"] == 4
    assert json.loads(path.read_text())["measured"]["levels"] == 4
    assert ("a.gra.json is damaged" in caplog.text) == (not stripped)


def test_a_count_that_differs_from_print_is_crossed_and_fails(toys):
    toys(4, 4)
    ran = run("a")
    assert isinstance(ran.exception, CheckFailed)
    assert ran.exception.exit_code == 1
    assert "✗" in ran.stdout
    assert "✓" not in ran.stdout


def test_a_graph_that_cannot_be_had_fails_with_two_and_says_why_and_the_table_what_is_not_verified(toys, folder):
    toys(4, 3)
    (folder / "b.gra.gz").unlink()
    ran = run("--all")
    assert isinstance(ran.exception, InputError)
    assert ran.exception.exit_code == 2
    assert "b.gra.gz: no such file" in ran.stderr
    assert "Table 2.1" in ran.stdout
    (folder / "b.gra.gz").write_bytes(PACKED)
    ran = run("--all")
    assert all(shown in ran.stdout for shown in ("Table 2.1", "✓", "b: not verified"))


# ---------------------------------------------------------------------------------------------- the real graphs


@pytest.mark.mirror
def test_the_sixteen_thesis_graphs_match_their_tables_exactly(mirror, session_cache, monkeypatch):
    monkeypatch.setenv("GRAILBENCH_CACHE", str(session_cache))
    wanted = [dataset for dataset in locate.choose() if dataset.set != "datalog"]
    results = fetch(wanted, str(mirror), offline=True, jobs=2)
    assert [r.file.verified for r in results] == [True] * 19
    rows = {d.name: library.describe(d) for d in wanted}
    assert sum(row["matches"] is True for row in rows.values()) == 16
    assert {name for name, row in rows.items() if row["matches"] is None} == {"arxiv", "ba10k2d", "ba10k5d"}
    for d in wanted:
        assert (rows[d.name]["file_vertices"], rows[d.name]["file_edges"]) == (d.counted.vertices, d.counted.edges)


@pytest.mark.mirror
def test_a_real_graph_opens_the_same_from_the_cache(mirror, session_cache, monkeypatch):
    monkeypatch.setenv("GRAILBENCH_CACHE", str(session_cache))
    fetch([locate.dataset_named("kegg")], str(mirror))
    first, again = library.open_graph("kegg"), library.open_graph("Kegg")
    assert (first.kind, first.title, first.set, first.verified) == ("real", "Kegg", "small-sparse", True)
    assert first.dag.printed_edges == again.dag.printed_edges == 5576
    assert first.dag.edges == again.dag.edges == 5089
