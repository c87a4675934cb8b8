"""Reads the commits of a git repository: an edge from each commit to each of its parents.

The vertices are the commits that a branch, tag or other reference reaches, named by their full hashes; every revision
that git knows in the repository is understood as well (see `grailbench.graph.ids.Named`). What `git rev-list --parents
--all` printed is read, too, as a file; then only full hashes are understood.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.readers.labelled import found_of
from grailbench.graph.readers.table import decoded
from grailbench.graph.readers.text import Found
from grailbench.graph.revisions import commits, is_repository

_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def content(folder: Path) -> bytes:
    """What git prints of all commits of a repository. Raises InputError if it refuses, MachineLacks without git."""
    return commits(folder)


def read_git(path: Path, text: np.ndarray) -> Found:
    """Reads lines with the hash of a commit and those of its parents (uint8[size]), of the repository `path` if that is
    a folder. Raises InputError if one is malformed."""
    sources, targets, known = [], [], []
    for line, said in enumerate(decoded(path, text).split("\n"), 1):
        hashes = said.split()
        if not all(map(_HASH.fullmatch, hashes)):
            message = f"full hashes of commits expected: {said[:60]!r}"
            raise InputError(message, path=path, line=line, remedy="git rev-list --parents --all")
        if hashes:
            known.append(hashes[0])
            sources += hashes[:1] * (len(hashes) - 1)
            targets += hashes[1:]
    repository = str(path.resolve()) if is_repository(path) else None
    return found_of(path, sources, targets, list(dict.fromkeys(known)), repository)
