"""Runs git: the commits of a repository, and the commits that revisions such as HEAD~3, tags or short hashes mean."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from grailbench.errors import InputError, MachineLacks
from grailbench.util import commands, outputs


def is_repository(folder: Path) -> bool:
    """Whether a folder looks like a git repository, with a work tree or bare."""
    return (folder / ".git").exists() or ((folder / "HEAD").is_file() and (folder / "objects").is_dir())


def is_shallow(folder: Path) -> bool:
    """Whether a repository is a clone with a part of the history, as CI makes it. Raises as `commits`."""
    return _git(folder, "rev-parse", "--is-shallow-repository").strip() == b"true"


def commits(folder: Path) -> bytes:
    """A line for each commit that a branch or tag reaches: its hash and those of its parents.

    Raises InputError if git refuses, and MachineLacks if there is no git.
    """
    return _git(folder, "rev-list", "--parents", "--all")


def listed_objects(folder: Path, commit: str) -> bytes:
    """The commits and folders that a commit reaches, as `git cat-file --batch` prints them. Raises as `commits`."""
    words = "--objects", "--no-object-names", "--filter=blob:none", "--end-of-options", f"{commit}^{{commit}}"
    names = _git(folder, "rev-list", *words)
    return _git(folder, "cat-file", "--batch", text=names)


def resolved(folder: str, revisions: Sequence[str]) -> list[str | None]:
    """The full hash of the commit that each revision means; None where git knows no such commit.

    Raises InputError if the repository is gone, and MachineLacks if there is no git.
    """
    if not is_repository(Path(folder)):
        message = "the graph was imported from this git repository, which is no longer there"
        raise InputError(message, path=folder, remedy="full hashes of 40 digits need no repository")
    names = [f"{revision}^{{commit}}" for revision in revisions]
    wrong = [any(character in "\n\0" for character in revision) for revision in revisions]
    lines = "".join("\n" if bad else f"{word}\n" for word, bad in zip(names, wrong, strict=True))
    output = _git(Path(folder), "cat-file", "--batch-check=%(objectname)", text=lines.encode("utf-8", "replace"))
    found = output.decode("utf-8", "replace").splitlines()
    if len(found) != len(names):
        raise InputError(f"git answered {len(found)} of {len(names)} revisions", path=folder)
    return [None if " " in line else line for line in found]


def _git(folder: Path, *words: str, text: bytes = b"") -> bytes:
    """What git prints. Raises InputError if it fails, and MachineLacks if there is no git."""
    inside = folder / ".git" if (folder / ".git").exists() else folder
    outputs.protect(inside)
    command = commands.git(f"--git-dir={inside}", *words)
    try:
        done = subprocess.run(  # noqa: S603 - git's path is one word, as no shell reads it
            command, input=text, capture_output=True, check=False, env=commands.git_environment()
        )
    except FileNotFoundError:
        raise MachineLacks("there is no program git, which reads repositories (install git)") from None
    if done.returncode:
        why = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit code {done.returncode}"]
        raise InputError(f"git {words[0]}: {why[-1][:200]}", path=folder)
    return done.stdout
