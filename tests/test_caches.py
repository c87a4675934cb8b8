"""The caches: their list, their bound, and what is removed of them and what never is."""

import fcntl
import json
import logging
import os
import subprocess
import sys
from collections import OrderedDict

import numpy as np
import pytest
from click.testing import CliRunner
from commands import call
from strategies import graph_of
from test_disk import one_line

from grailbench.cli.main import cli
from grailbench.data.library import open_graph
from grailbench.errors import InputError
from grailbench.graph import generate, store
from grailbench.graph.generate.uniform import random_dag
from grailbench.util import caches, kernelcache, paths, temporary

DAY_NS = 86_400 * 10**9


@pytest.fixture(autouse=True)
def _here(cache, tmp_path, monkeypatch):
    """A cache of its own, in which this process has used nothing, and folders for kernels and temporary files."""
    monkeypatch.setattr(caches, "_in_use", OrderedDict())
    temporary._sweep_once.cache_clear()
    monkeypatch.setattr(kernelcache, "_places", lambda: (tmp_path / "compiled",))
    monkeypatch.setattr(kernelcache, "folder", lambda: tmp_path / "compiled")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delenv(caches.SIZE, raising=False)


def stored(cache, kind, name, size, used):
    """An entry of so many bytes that was used so many days after 1970."""
    path = cache / kind / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))
    os.utime(path, ns=(used * DAY_NS, DAY_NS))
    return path


def noted(cache, kind, name, size, used):
    """One that was fetched, with its note of 100 bytes."""
    note = stored(cache, kind, f"{name}.json", 0, used)
    note.write_text(json.dumps({"sha256": "ab" * 32}).ljust(100))
    os.utime(note, ns=(used * DAY_NS, DAY_NS))
    return stored(cache, kind, name, size, used)


def called(*words, code=0):
    result = CliRunner().invoke(cli, ["cache", *words], standalone_mode=False)
    if result.exception and not code:
        raise result.exception
    assert isinstance(result.exception, InputError) == bool(code)
    return result.output


def removed(*words):
    return {os.path.basename(row["removed"]): row["why"]
            for row in map(json.loads, called("--prune", "--json", *words).splitlines())}  # fmt: skip


def test_the_list_has_each_cache_with_its_entries_and_their_bytes(cache):
    noted(cache, "downloads", "a.tgz", 1000, 3)
    store.save_graph(cache / "imported" / "mine.npz", graph_of(2, [(0, 1)]), {"name": "mine"})
    size = os.path.getsize(cache / "imported" / "mine.npz")
    os.utime(cache / "imported" / "mine.npz", ns=(4 * DAY_NS, DAY_NS))
    rows = {row["cache"]: row for row in map(json.loads, called("--json").splitlines())}
    assert [rows["downloads"][key] for key in ("entries", "bytes", "counted")] == [1, 1100, 1100]
    assert [rows["imported"][key] for key in ("entries", "bytes", "counted", "bound")] == [1, size, 0, None]
    assert rows["imported"]["used"].startswith("1970-01-05")
    assert rows["downloads"]["bound"] == 64_000_000_000
    text = called()
    assert all(kind in text for kind in caches.KINDS)
    assert "the bound is 64.0 GB (GRAILBENCH_CACHE_SIZE sets it)" in text


def test_pruning_removes_what_nobody_reads_then_what_was_used_longest_ago(cache, monkeypatch):
    old = stored(cache, "dags", f"{'a' * 64}-v{store.FORMAT_VERSION - 1}.npz", 100, 9)
    left = stored(cache, "dags", f".b.npz.{temporary.boot()}-1-0123abcd.tmp", 100, 9)
    damaged = stored(cache, "queries", f"{'b' * 16}-random.npz", 100, 9)
    three = [noted(cache, "graphs", "x.gra", 300, 1), stored(cache, "texts", f"{'c' * 16}.gra", 400, 2),
             noted(cache, "downloads", "x.gra", 300, 3)]  # fmt: skip
    mine = stored(cache, "imported", "mine.npz", 5000, 0)
    custom = stored(cache, "generated", "mine.npz", 5000, 0)
    monkeypatch.setenv(caches.SIZE, "1000")
    told = removed("--dry-run")
    assert all(path.exists() for path in (old, left, damaged, *three))
    assert removed() == told == {
        old.name: "of a former version", damaged.name: "of a former version", "x.gra": told["x.gra"],
        left.name: "left by a process that is gone",
    }  # fmt: skip
    assert [path.exists() for path in three] == [False, True, True]
    assert mine.exists()
    assert custom.exists()
    assert removed() == {}
    assert "nothing removed" in called("--prune")


def test_adding_keeps_the_bound_and_says_one_line(cache, monkeypatch, caplog):
    oldest, older = (stored(cache, "dags", f"{n:064x}-v1.npz", 3000, n) for n in (1, 2))
    monkeypatch.setenv(caches.SIZE, "7kB")
    with caplog.at_level(logging.WARNING):
        store.cached_dag("ab" * 32, lambda: random_dag(300, 2, 1))
    assert (oldest.exists(), older.exists()) == (False, False)
    assert len(os.listdir(cache / "dags")) == 1
    (line,) = caplog.messages
    assert "removed 2 entries that can be had again, 0.0 MB, used longest ago (GRAILBENCH_CACHE_SIZE sets it)" in line
    caplog.clear()
    newer = stored(cache, "dags", f"{3:064x}-v1.npz", 3000, 30_000)
    monkeypatch.setenv(caches.SIZE, "none")
    store.cached_dag("cd" * 32, lambda: random_dag(300, 2, 2))
    assert newer.exists()
    assert not caplog.messages


def test_what_another_process_uses_stays_until_that_ends(cache, monkeypatch):
    places = [noted(cache, "graphs", f"{name}.gra", 3000, day) for day, name in enumerate(("used", "not"), 1)]
    monkeypatch.setenv(caches.SIZE, "1")
    using = (
        "import sys; from pathlib import Path; from grailbench.util import caches\n"
        "caches.use(Path(sys.argv[1])); print('ready', flush=True); sys.stdin.read()"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", using, str(places[0])], stdin=pipe, stdout=pipe) as running:
        try:
            assert running.stdout.readline() == b"ready\n"
            assert list(removed()) == ["not.gra"]
        finally:
            running.kill()
    assert list(removed()) == ["used.gra"]


def test_only_the_entries_that_a_process_used_last_are_locked_and_what_replaces_one_is(cache, monkeypatch):
    monkeypatch.setattr(caches, "_MOST_USED", 2)
    places = [stored(cache, "graphs", name, 4, 1) for name in ("a.gra", "b.gra", "c.gra")]
    for path in places:
        caches.use(path)
    assert [caches.in_use(path) for path in places] == [False, True, True]
    os.replace(places[0], places[1])
    assert not caches.in_use(places[1])
    caches.use(places[1])
    assert caches.in_use(places[1])


def test_where_there_are_no_locks_the_last_use_decides(cache, monkeypatch):
    def none(*args):
        raise OSError("no locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    used, other = (stored(cache, "dags", f"{n:064x}-v1.npz", 4, 1) for n in (1, 2))
    caches.use(used)
    assert (caches.in_use(used), caches.in_use(other)) == (True, False)


def test_a_graph_that_is_generated_by_its_name_alone_can_be_had_again(cache):
    generate.made(generate.of_random(20, 2.0, 3, "random-n20-k2-s3"))
    generate.made(generate.of_random(20, 2.0, 3, "mine"))
    with pytest.raises(InputError, match="the name of another graph that can be generated"):
        generate.made(generate.of_random(20, 2.0000001, 3, "random-n20-k2-s4"))
    again = {entry.path.stem: entry.again for entry in caches.entries() if entry.kind == "generated"}
    assert again == {"random-n20-k2-s3": True, "mine": False}
    assert generate.recipe_of("kegg-like").spec == {"like": "kegg-like", "seed": 1}
    assert generate.recipe_of("kegg-like-seed2") is None


def test_a_note_that_is_left_alone_goes_and_an_archive_may_be_called_like_one(cache, monkeypatch):
    noted(cache, "downloads", "a.tgz", 100, 1).unlink()
    note = cache / "downloads" / "a.tgz.json"
    files = [noted(cache, "downloads", "b.json", 100, 1), cache / "downloads" / "b.json.json"]
    assert sorted((entry.path.name, entry.bytes) for entry in caches.entries()) == [
        ("a.tgz.json", 100),
        ("b.json", 200),
    ]
    monkeypatch.setenv(caches.SIZE, "200")
    assert set(removed()) == {"a.tgz.json"}
    assert not note.exists()
    monkeypatch.setenv(caches.SIZE, "1")
    assert set(removed()) == {"b.json"}
    assert not any(path.exists() for path in files)


def test_what_was_removed_is_had_again_and_the_same(cache, monkeypatch):
    store.save_graph(cache / "imported" / "mine.npz", graph_of(4, [(0, 1), (1, 2)]), {"name": "mine"})
    first = [open_graph(name).dag for name in ("mine", "random-n20-k2-s3")]
    caches._in_use.clear()
    monkeypatch.setenv(caches.SIZE, "1")
    assert len(removed()) == 3
    monkeypatch.delenv(caches.SIZE)
    for before, name in zip(first, ("mine", "random-n20-k2-s3"), strict=True):
        assert np.array_equal(before.children, open_graph(name).dag.children)


def test_kernels_of_former_states_go(tmp_path):
    names = [f"graph.hashing-{number:012x}" for number in range(5)] + ["graph.csr-0123456789ab", "kernels-mine"]
    for day, name in enumerate(names):
        (tmp_path / "compiled" / name).mkdir(parents=True)
        os.utime(tmp_path / "compiled" / name, (day, day))
    assert {path.name for path in kernelcache.former(3)} == {*names[:2]}
    assert set(removed("--dry-run")) == set(removed()) == {*names[:4]}
    assert sorted(os.listdir(tmp_path / "compiled")) == sorted(names[4:])
    assert removed() == {}


def test_files_of_the_user_in_a_cache_are_no_entries_and_stay(cache, monkeypatch):
    """They were evicted as used longest ago, or removed as of a former version."""
    names = ("graphs/thesis.txt", "graphs/huge.bin", "graphs/.env", "graphs/.git/config", "downloads/holiday.jpg",
             "downloads/notes.json", "downloads/a.json.json", "queries/report.sql", "dags/airflow.py",
             "dags/pay-v2.npz", "texts/a.gra", "limits/bounds.json", "imported/data.npz", "generated/data.npz",
             "mine.txt", ".env")  # fmt: skip
    mine = [stored(cache, *name.rpartition("/")[::2], 5000, 1) for name in names]
    (cache / "downloads" / "notes.json").write_text('{"a": 1}')
    monkeypatch.setenv(caches.SIZE, "1")
    assert caches.entries() == []
    store.cached_dag("ab" * 32, lambda: random_dag(30, 2, 1))
    caches.use(cache / "graphs" / "thesis.txt")
    assert removed() == {}
    assert all(path.exists() for path in mine)


@pytest.mark.parametrize("words", [("cache", "--prune"), ("fetch", "kegg"), ("cache",), ("list", "datasets")])
def test_a_folder_of_the_user_is_no_cache_until_it_is_marked(tmp_path, monkeypatch, capsys, words):
    """Its files were taken for entries, and deleted."""
    folder = tmp_path / "my data"
    mine = [stored(folder, "graphs", "thesis.txt", 9, 1), stored(folder, "queries", "report.sql", 9, 1)]
    monkeypatch.setenv("GRAILBENCH_CACHE", str(folder))
    remedy = f"touch '{folder}/grailbench-cache'"
    one_line(call(capsys, *words), 2, f"{folder}: is not empty, and no cache of grailbench's", remedy)
    assert sorted(path for path in folder.rglob("*") if path.is_file()) == mine
    (folder / "grailbench-cache").touch()
    assert call(capsys, "cache", "--prune")[0] == 0
    assert all(path.exists() for path in mine)


def test_an_empty_folder_is_marked_and_the_usual_cache_needs_no_mark(tmp_path, monkeypatch):
    (tmp_path / "named").mkdir()
    monkeypatch.setenv("GRAILBENCH_CACHE", str(tmp_path / "named"))
    assert paths.cache_dir() == tmp_path / "named"
    assert os.listdir(tmp_path / "named") == ["grailbench-cache"]
    monkeypatch.delenv("GRAILBENCH_CACHE")
    monkeypatch.setattr(paths, "checkout", lambda: tmp_path / "checkout")
    usual = tmp_path / "checkout" / "cache"
    stored(usual, "graphs", "old.gra", 9, 1)
    assert paths.cache_dir() == usual
    monkeypatch.setenv("GRAILBENCH_CACHE", str(usual))  # as for the processes that `ab` starts
    assert paths.cache_dir() == usual


@pytest.mark.parametrize("said", ["much", "-1", "20 apples"])
def test_a_bound_that_is_no_size_is_refused(cache, monkeypatch, said):
    monkeypatch.setenv(caches.SIZE, said)
    with pytest.raises(InputError, match=r"GRAILBENCH_CACHE_SIZE is .* \(a size, such as 20GB, or none for no bound\)"):
        caches.bound()
    called("--prune", code=2)
    monkeypatch.delenv(caches.SIZE)
    called("--dry-run", code=2)  # alone
