"""The objects of a git history are a graph that depends on the commit alone."""

import subprocess

import numpy as np
import pytest

from grailbench.data import objects
from grailbench.errors import InputError


@pytest.fixture
def repository(tmp_path):
    """Two commits: the second has the content of a file in a folder once more."""

    def git(*words):
        author = "-c", "user.name=a", "-c", "user.email=a@b"
        subprocess.run(["git", "-C", str(tmp_path), *author, *words], check=True, capture_output=True)

    git("init")
    (tmp_path / "in").mkdir()
    for number, name in enumerate(["a", "in/b", "in/c"]):
        (tmp_path / name).write_text("b" if name == "in/b" else "a")
        if number > 0:
            git("add", ".")
            git("commit", "-m", name)
    return tmp_path


def test_each_object_is_one_vertex_however_many_hold_it(repository):
    found = objects.edges(repository, "HEAD")
    assert (len(found), len(np.unique(found))) == (10, 8)  # 2 commits, 2 folders each, 2 contents
    assert np.array_equal(found, np.unique(found, axis=0))
    assert sorted(np.bincount(found[:, 0], minlength=8)) == [0, 0, 1, 1, 2, 2, 2, 2]
    assert len(objects.edges(repository, "HEAD~")) == 4


def test_a_commit_that_is_not_there_is_an_error(repository):
    with pytest.raises(InputError, match="git rev-list"):
        objects.edges(repository, "nowhere")
