"""Which commit the files here are of: what a run is measured with.

A checkout asks git. A copy without git data carries a stamp: `COMMIT.json`, the commit and the git blob id of each of
its files, written by `python -m grailbench.bench.provenance` in a clean checkout. A stamp counts only as far as the
files beside it are those that it lists, so that it cannot vouch for a changed copy.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from grailbench import paths
from grailbench.commands import output
from grailbench.errors import InputError
from grailbench.files import git_blob
from grailbench.runs.folder import write_json

STAMP = "COMMIT.json"
_APART = "results"  #: rows and pages: what lies there does not change what is measured
_WATCHED = ("grailbench", "configs", "datasets")  #: where a file that the stamp does not list makes a copy dirty
#: packages of reading, showing and downloading: what changes there changes no measurement
_UNMEASURED = ("cli", "report", "datasets", "runs", "limits")
_COMMAND_SECONDS = 20


def commit_state() -> tuple[str | None, bool | None]:
    """The commit of this checkout or copy, and whether its files differ from that commit's.

    (None, None) in an installed wheel, and where there is neither git nor a stamp. Files below `results` do not count.
    """
    root = paths.checkout()
    if root is None:
        return None, None
    stamp = _stamp(root)
    if stamp is not None and not _changed(root, stamp["blobs"]):
        return stamp["commit"], False
    if (commit := _git(root, "rev-parse", "HEAD")) is not None:
        status = _git(root, "status", "--porcelain", "--", ".", f":(exclude){_APART}")
        return commit, None if status is None else bool(status)
    return (None, None) if stamp is None else (stamp["commit"], True)


def write_stamp() -> Path:
    """Write `COMMIT.json` for copies of this checkout. Raises InputError outside a checkout and in a dirty one."""
    root = paths.checkout()
    listed = None if root is None else _git(root, "ls-tree", "-r", "HEAD")
    if listed is None:
        raise InputError("this is no git checkout, so it has no commit to name")
    if _git(root, "status", "--porcelain", "--", ".", f":(exclude){_APART}") != "":
        raise InputError("files here differ from the commit", path=root, remedy="commit them first")
    blobs = {}
    for line in listed.splitlines():
        (_, kind, blob), path = line.partition("\t")[0].split(), line.partition("\t")[2]
        if kind == "blob" and PurePosixPath(path).parts[0] != _APART:
            blobs[path] = blob
    write_json(root / STAMP, {"commit": _git(root, "rev-parse", "HEAD"), "blobs": blobs})
    return root / STAMP


def code_hash(files: Iterable[tuple[PurePosixPath, bytes]]) -> str:
    """12 hex digits of the Python sources that measuring runs through: (path inside the package, content) of each.

    Packages that only read, show or download are left out, so that a change there keeps the hash.
    """
    digest = hashlib.sha256()
    for path, content in sorted(files):
        if path.suffix == ".py" and path.parts[0] not in _UNMEASURED:
            digest.update(path.as_posix().encode())
            digest.update(content)
    return digest.hexdigest()[:12]


def _stamp(root: Path) -> dict | None:
    try:
        stamp = json.loads((root / STAMP).read_text(encoding="utf-8"))
        return stamp if isinstance(stamp["commit"], str) and isinstance(stamp["blobs"], dict) else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _changed(root: Path, blobs: dict[str, str]) -> bool:
    """Whether a listed file is missing or another one, or a source is there that is not listed."""
    try:
        if any(git_blob(root / path) != blob for path, blob in blobs.items()):
            return True
    except OSError:
        return True
    sources = (path for folder in _WATCHED for kind in ("*.py", "*.toml") for path in (root / folder).rglob(kind))
    return any(path.relative_to(root).as_posix() not in blobs for path in sources)


def _git(root: Path, *arguments: str) -> str | None:
    return output(["git", "-C", str(root), *arguments], _COMMAND_SECONDS)
