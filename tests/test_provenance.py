"""A run names the commit it was measured with, in a copy without git data too; only clean runs are recorded."""

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import PurePosixPath
from threading import Event
from time import sleep

import pytest
from commands import call
from outcomes import tells
from stored import lost, trials

from grailbench.errors import InputError
from grailbench.harness import folder as results
from grailbench.harness import provenance
from grailbench.harness.environment import STAMP, code_hash, commit_state, write_stamp
from grailbench.util import paths


def git(folder, *arguments):
    name = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    done = subprocess.run(["git", "-C", folder, *name, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A small checkout with one commit, taken for the project's own."""
    root, ours = tmp_path / "project", paths.checkout()
    monkeypatch.setattr(paths, "shipped", lambda name: ours / name)
    (root / "grailbench").mkdir(parents=True)
    (root / "results" / "baselines").mkdir(parents=True)
    (root / "grailbench" / "a.py").write_text("x = 1\n")
    (root / "pyproject.toml").write_text("[project]\n")
    (root / ".gitignore").write_text("/COMMIT.json\n")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    monkeypatch.setattr(paths, "checkout", lambda: root)
    return root


@pytest.fixture
def copy(checkout, monkeypatch):
    """The same without git data, but with a stamp."""
    (checkout / "grailbench" / "a.py").write_text("x = 2\n")
    with pytest.raises(InputError, match="differ from the commit"):
        write_stamp()
    git(checkout, "commit", "-qam", "second")
    write_stamp()
    root = checkout.parent / "copy"
    shutil.copytree(checkout, root, ignore=shutil.ignore_patterns(".git"))
    monkeypatch.setattr(paths, "checkout", lambda: root)
    return root


def test_a_checkout_names_its_commit_and_whether_it_is_clean(checkout):
    commit = git(checkout, "rev-parse", "HEAD")
    assert commit_state() == (commit, False)
    (checkout / "results" / "baselines" / "new.txt").write_text("rows do not change what is measured")
    assert commit_state() == (commit, False)
    (checkout / "grailbench" / "a.py").write_text("x = 2\n")
    assert commit_state() == (commit, True)


def test_outside_a_checkout_there_is_no_commit(monkeypatch):
    monkeypatch.setattr(paths, "checkout", lambda: None)
    assert commit_state() == (None, None)
    with pytest.raises(InputError, match="not a git checkout"):
        write_stamp()


@pytest.mark.parametrize("ignored", [True, False])
def test_a_folder_inside_another_repository_is_of_no_commit_of_that(copy, ignored):
    """A copy in a folder that another repository ignores was said to be a clean checkout of that one's commit."""
    (copy / STAMP).unlink()
    above = copy.parent
    (above / ".gitignore").write_text("copy\nproject\n" if ignored else "project\n")
    git(above, "init", "-q")
    git(above, "add", ".gitignore")
    git(above, "commit", "-qm", "of another project")
    assert commit_state() == (None, None)


def test_the_commit_is_of_this_checkout_whatever_repository_git_is_pointed_to(checkout, tmp_path, monkeypatch):
    commit = git(checkout, "rev-parse", "HEAD")
    git(tmp_path, "init", "-q", "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    assert commit_state() == (commit, False)


def test_a_copy_without_git_data_names_the_commit_of_its_stamp(checkout, copy):
    assert commit_state() == (git(checkout, "rev-parse", "HEAD"), False)


@pytest.mark.parametrize("change", ["edit", "add"])
def test_a_changed_copy_is_dirty_whatever_its_stamp_says(checkout, copy, change):
    (copy / "grailbench" / ("a.py" if change == "edit" else "b.py")).write_text("x = 3\n")
    assert commit_state() == (git(checkout, "rev-parse", "HEAD"), True)


@pytest.mark.parametrize("stamp", ["", "{}", '{"commit": "a", "blobs": []}'])
def test_a_damaged_stamp_names_no_commit(copy, stamp):
    (copy / STAMP).write_text(stamp)
    assert commit_state() == (None, None)


def test_code_hash_is_of_what_measuring_runs_through():
    files = {"harness/a.py": b"1", "cli/b.py": b"2", "report/c.py": b"3", "notes.txt": b"4"}

    def hashed(**changed):
        both = files | {name.replace("__", "/").replace("_py", ".py"): text for name, text in changed.items()}
        return code_hash((PurePosixPath(path), text) for path, text in both.items())

    assert hashed() == hashed(cli__b_py=b"other", report__c_py=b"other")
    assert hashed() != hashed(bench__a_py=b"other")
    assert hashed() != hashed(bench__new_py=b"")


# ------------------------------------------------------------------ record


@pytest.fixture
def a_run(checkout, tmp_path):
    """Makes a run's folder: its rows and what its sessions say of their commit."""

    def made(*sessions, rows=None):
        folder = tmp_path / "run"
        folder.mkdir(exist_ok=True)
        with open(folder / results.ROWS, "w") as stream:
            stream.writelines(json.dumps(row) + "\n" for row in (trials() if rows is None else rows))
        *earlier, last = sessions
        results.write_json(folder / results.ENVIRONMENT, {**last, "earlier": earlier})
        results.write_json(folder / results.PLAN, {"run": "run", "name": "mine", "cells": []})
        return folder

    return made


def session(commit="c1", dirty=False, code="0.1.0+aaa"):
    return {"commit": commit, "dirty": dirty, "code": code}


def test_unstable_times_are_recorded_only_if_that_is_said(checkout, a_run, capsys):
    rows = [row | {"others": 1.5} for row in trials()]
    folder = a_run(session() | {"cores": 2}, rows=rows)
    code, _, err = call(capsys, "record", folder, "here/mine")
    assert (code, provenance.manifest()) == (2, {})
    assert "the times of 1 of 1 cell are unstable: load (1) (measure again on a quiet machine, or --unstable" in err
    assert call(capsys, "record", folder, "here/mine", "--unstable")[0] == 0
    assert list(provenance.manifest()) == ["here/mine"]


def test_recording_copies_a_clean_run_and_enters_it_in_the_manifest(checkout, a_run, capsys):
    folder = a_run(session("c1"), session("c2"), session("c3", code="0.1.0+bbb"))
    code, out, _ = call(capsys, "record", folder, "here/mine")
    kept = checkout / "results" / "baselines" / "here" / "mine"
    assert (code, out) == (0, f"recorded: {kept}\n")
    assert {path.name for path in kept.iterdir()} == {results.COMPRESSED, results.PLAN, results.ENVIRONMENT}
    assert results.content(kept, results.ROWS) == (folder / results.ROWS).read_bytes()
    entry = provenance.manifest()["here/mine"]
    assert entry["found"] == "commit"
    assert entry["codes"] == {"0.1.0+aaa": ["c1", "c2"], "0.1.0+bbb": ["c3"]}
    assert set(entry["files"]) == set(results.FILES)


@pytest.mark.parametrize(
    ("sessions", "said"),
    [([session(commit=None, dirty=None)], "no commit"), ([session(dirty=True), session()], "commit c1 with changes")],
)
def test_a_run_of_changed_files_is_not_recorded(checkout, a_run, capsys, sessions, said):
    tells(capsys, 2, said, "record", a_run(*sessions), "mine")
    assert provenance.manifest() == {}
    assert not (checkout / "results" / "baselines" / "mine").exists()


@pytest.mark.parametrize("rows", [[], trials(status="wrong"), trials()[:-1]], ids=["none", "wrong", "torn"])
def test_a_run_without_whole_and_sound_rows_is_not_recorded(checkout, a_run, capsys, rows):
    assert call(capsys, "record", a_run(session(), rows=rows), "mine")[0] == 2
    assert provenance.manifest() == {}


def test_what_is_wrong_as_printed_is_recorded_as_wrong(checkout, a_run, capsys):
    rows = lost("wrong", "1 of 10 searches is wrong", problem="sssp", impl="harish-racy")
    assert call(capsys, "record", a_run(session(), rows=rows), "mine")[0] == 0
    also = lost("wrong", "1 of 1 searches is wrong", problem="sssp", impl="harish-atomic")
    tells(capsys, 2, "has cells that are wrong", "record", a_run(session(), rows=rows + also), "others")


def test_a_recorded_run_is_replaced_only_when_asked(checkout, a_run, capsys):
    folder = a_run(session())
    assert call(capsys, "record", folder, "mine")[0] == 0
    tells(capsys, 2, "--replace", "record", folder, "mine")
    assert call(capsys, "record", folder, "mine", "--replace")[0] == 0


def test_nothing_is_recorded_where_the_manifest_is_damaged(checkout, a_run, capsys):
    assert call(capsys, "record", a_run(session()), "mine")[0] == 0
    manifest = checkout / "results" / "baselines" / provenance.MANIFEST
    manifest.write_text(manifest.read_text().replace("commit", "tommic"))
    tells(capsys, 2, "its checksum does not fit it", "record", a_run(session()), "other")
    assert not (checkout / "results" / "baselines" / "other").exists()


def test_of_two_runs_recorded_under_one_name_at_once_one_is_refused_and_no_entry_is_lost(checkout, a_run, monkeypatch):
    """Each wrote the manifest that it had read, without the entry of the other, and both said that they were done."""
    folder, started = a_run(session()), Event()

    def slow(*given):
        started.set()
        sleep(1)  # in which the others wait
        place(*given)

    place = provenance.place
    monkeypatch.setattr(provenance, "place", slow)
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(provenance.record, str(folder), "mine")
        assert started.wait(60)
        other = [pool.submit(provenance.record, str(folder), name) for name in ("mine", "theirs")]
        first.result()
        other[1].result()
        with pytest.raises(InputError, match="a run is recorded there"):
            other[0].result()
    assert sorted(provenance.manifest()) == ["mine", "theirs"]


@pytest.mark.parametrize("name", ["", "../elsewhere", "/tmp/elsewhere"])
def test_a_run_is_recorded_below_the_baselines_only(checkout, a_run, capsys, name):
    assert call(capsys, "record", a_run(session()), name)[0] == 2
    assert provenance.manifest() == {}


def test_no_run_is_measured_among_the_recorded_ones(checkout, diamond, capsys):
    words = ("run", "--dataset", diamond, "--impl", "dfs", "--count", 10, "--trials", 1, "--warmup", 0)
    tells(capsys, 2, "grailbench record", *words, "--out", checkout / "results" / "baselines" / "mine")
    assert not (checkout / "results" / "baselines" / "mine").exists()
