"""A git repository as a graph: its commits, revisions as ids, and what is said when it or git is gone."""

import shutil
import subprocess

import numpy as np
import pytest
from commands import ROOT, call
from strategies import edges_of

from grailbench.data.imported import import_graph
from grailbench.data.library import open_graph
from grailbench.errors import InputError, MachineLacks
from grailbench.graph.ids import Named, from_stored
from grailbench.graph.readers import read
from grailbench.graph.revisions import resolved
from grailbench.problems.reachability.pairs import read_pairs
from grailbench.report.destination import recorded

pytestmark = pytest.mark.usefixtures("module_cache")

HISTORY = """\
commit refs/heads/main
mark :1
committer A <a@b> 1 +0000
data 0
commit refs/heads/main
mark :2
committer A <a@b> 2 +0000
data 0
from :1
commit refs/heads/side
mark :3
committer A <a@b> 3 +0000
data 0
from :1
commit refs/heads/main
mark :4
committer A <a@b> 4 +0000
data 0
from :2
merge :3
reset refs/tags/v1
from :2

"""


def git(*words, text=None):
    return subprocess.run(["git", *map(str, words)], input=text, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A bare repository: 4 merges 2 and 3, whose parent is 1; branches main and side, tag v1."""
    folder = tmp_path_factory.mktemp("git") / "project.git"
    git("init", "-q", "--bare", "--initial-branch=main", folder)
    git("-C", folder, "fast-import", "--quiet", text=HISTORY)
    return folder


@pytest.fixture(scope="module")
def found(bare):
    return read(bare)


def test_commits_lead_to_their_parents(found):
    names = dict(zip(["main", "main~1", "side", "side~1"], [4, 2, 3, 1], strict=True))
    of = {found.ids.vertex_of(revision): number for revision, number in names.items()}
    assert found.format == "git"
    assert sorted((of[u], of[v]) for u, v in edges_of(found.graph)) == [(2, 1), (3, 1), (4, 2), (4, 3)]
    assert all(len(name) == 40 for name in found.ids.names)


def test_revisions_are_resolved_in_one_call(found, bare, monkeypatch, tmp_path):
    from grailbench.graph import revisions

    calls, run = [], subprocess.run
    monkeypatch.setattr(revisions.subprocess, "run", lambda *words, **more: calls.append(words) or run(*words, **more))
    whole = found.ids.names[0]
    asked = ["v1", "HEAD~3", whole, whole[:8], "HEAD^2", "no\nname", "HEAD:x"]
    vertices = found.ids.vertices_of(asked).tolist()
    assert len(calls) == 1
    assert (vertices[1], vertices[2], vertices[3]) == (-1, 0, 0)
    assert vertices[5:] == [-1, -1]
    assert found.ids.label_of(vertices[0]) == git("-C", bare, "rev-parse", "main~1").strip()
    (tmp_path / "q").write_text("main v1 1\nv1 side 0\n")
    pairs = read_pairs(tmp_path / "q", found.ids)
    assert pairs.sources.tolist() == found.ids.vertices_of(["main", "v1"]).tolist()
    (tmp_path / "q").write_text("main v1\nmain v2\n")
    with pytest.raises(InputError, match=rf"q, line 2: 'v2' is no commit of this graph .a revision.*{bare}"):
        read_pairs(tmp_path / "q", found.ids)


def test_a_repository_is_imported_and_keeps_its_revisions(capsys, bare, tmp_path):
    copy = tmp_path / "work"
    shutil.copytree(bare, copy / ".git")
    result = import_graph(copy, "history")
    ids = open_graph("history").ids
    assert (ids.repository, ids.digest) == (str(copy), result.reading.ids.digest)
    assert f"4 commits, and every revision of {copy}, as in the file" in call(capsys, "info", "history")[1]
    assert import_graph(copy, "history").meta["sha256"] == result.meta["sha256"]
    whole = ids.names[0]
    shutil.rmtree(copy)
    assert open_graph("history").ids.vertex_of(whole) == 0
    with pytest.raises(InputError, match="was imported from this git repository, which is no longer there"):
        open_graph("history").ids.vertex_of("main")


def test_an_empty_or_broken_repository_is_said_to_be_so(tmp_path):
    git("init", "-q", tmp_path / "new")
    with pytest.raises(InputError, match="new: the folder holds no commit"):
        read(tmp_path / "new")
    (tmp_path / "broken" / ".git").mkdir(parents=True)
    with pytest.raises(InputError, match="broken: git rev-list: fatal: not a git repository"):
        read(tmp_path / "broken")


def test_a_shallow_clone_is_noted(bare, tmp_path):
    git("clone", "-q", "--depth", "1", f"file://{bare}", tmp_path / "shallow")
    git("clone", "-q", f"file://{bare}", tmp_path / "full")
    shallow, full = (read(tmp_path / name) for name in ("shallow", "full"))
    assert (shallow.graph.vertices, full.graph.vertices) == (1, 4)
    assert ["its history is cut" in note for note in shallow.notes] == [True]
    assert full.notes == ()


def test_without_git_that_is_said(bare, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(MachineLacks, match="there is no program git"):
        resolved(str(bare), ["main"])


def test_another_repository_of_the_environment_is_not_asked(bare, monkeypatch):
    monkeypatch.setenv("GIT_DIR", str(ROOT / ".git"))
    assert read(bare).graph.vertices == 4


def test_a_list_of_commits_is_read_from_a_file_without_revisions(bare, found, tmp_path):
    (tmp_path / "log").write_text(git("-C", bare, "rev-list", "--parents", "--all"))
    listed = read(tmp_path / "log", "git")
    assert (listed.ids.names.tolist(), listed.ids.repository) == (found.ids.names.tolist(), None)
    (tmp_path / "log").write_text("0" * 40 + "\nmain\n")
    with pytest.raises(InputError, match="log, line 2: full hashes of commits expected: 'main'"):
        read(tmp_path / "log", "git")


def test_names_keep_their_repository(found):
    again = from_stored(4, *found.ids.stored())
    assert isinstance(again, Named)
    assert again.vertices_of(np.array(["side"])).tolist() == [found.ids.vertex_of("side")]


@pytest.fixture
def trapped(tmp_path):
    """A repository whose configuration names programs, one for each way in which git starts one, and the folder where
    each would leave a file. Its first commit is missing, so that git would fetch it."""
    folder, sprung = tmp_path / "stranger", tmp_path / "sprung"
    sprung.mkdir()
    git("init", "-q", folder)
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    first = ""
    for number in range(3):
        git("-C", folder, *who, "commit", "-q", "--allow-empty", "-m", str(number))
        first = first or git("-C", folder, "rev-parse", "HEAD").strip()
    (folder / "trials.jsonl").write_text("{}\n")
    git("-C", folder, "add", "-A")
    (folder / ".git" / "objects" / first[:2] / first[2:]).unlink()
    hook = folder / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {sprung}/hook\n")
    hook.chmod(0o755)
    for key, value in {
        "core.repositoryformatversion": 1,
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::touch {sprung}/ext",
        "protocol.ext.allow": "always",
        "core.fsmonitor": f"touch {sprung}/fsmonitor; false",
        "core.sshCommand": f"touch {sprung}/ssh; false",
        "core.pager": f"touch {sprung}/pager",
        "log.showSignature": "true",
    }.items():
        git("-C", folder, "config", key, value)
    return folder, sprung


def test_no_program_that_a_repository_names_is_started(trapped):
    folder, sprung = trapped
    with pytest.raises(InputError):
        read(folder)
    assert resolved(str(folder), ["HEAD", "HEAD~2"])[1] is None
    assert recorded(folder)
    assert list(sprung.iterdir()) == []


def test_git_as_it_is_would_start_them(trapped):
    folder, sprung = trapped
    subprocess.run(["git", "-C", folder, "rev-list", "--parents", "--all"], capture_output=True)
    subprocess.run(["git", "-C", folder, "ls-files"], capture_output=True)
    assert {"ext", "fsmonitor"} <= {path.name for path in sprung.iterdir()}
