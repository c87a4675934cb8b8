"""The commit of the code that measures a run.

In a checkout, git knows the commit. A copy without git data has a stamp instead: `COMMIT.json`, with the commit and the
git blob id of each file, written by `python -m grailbench.harness.provenance` in a clean checkout. The files are
compared with the stamp, so that a changed copy is not taken for the commit.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from grailbench.errors import InputError
from grailbench.harness.folder import write_json
from grailbench.util import commands, paths
from grailbench.util.commands import output
from grailbench.util.files import git_blob

STAMP = "COMMIT.json"
_RESULTS = "results"  # files in this folder do not affect measurements
_WATCHED = ("grailbench", "configs", "datasets")  # files in these folders that the stamp does not list count as changes
#: packages that read, show or download; they do not affect measurements
_UNMEASURED = ("cli", "report", "compare", "data", "datasets", "runs", "limits")  # the last three: of earlier layouts
_COMMAND_SECONDS = 20


def commit_state() -> tuple[str | None, bool | None]:
    """The commit of this checkout or copy, and whether its files differ from that commit.

    (None, None) in an installed wheel, and without both git and a stamp. Files in `results` are ignored.
    """
    root = paths.checkout()
    if root is None:
        return None, None
    stamp = _stamp(root)
    if stamp is not None and not _changed(root, stamp["blobs"]):
        return stamp["commit"], False
    if (commit := _commit_of(root / "pyproject.toml")) is not None:
        status = _changes(root)
        return commit, None if status is None else bool(status)
    return (None, None) if stamp is None else (stamp["commit"], True)


def state_of(file: Path) -> tuple[str | None, bool | None]:
    """The commit of a module or package outside this checkout, given its file, and whether its Python files, or other
    files of the package, differ from it. (None, None) if not a git checkout has the file."""
    if (commit := _commit_of(file)) is None:
        return None, None
    package = file.name == "__init__.py"
    folder, code = (file.parent.parent, file.parent.name) if package else (file.parent, file.name)
    status = git(folder, "status", "--porcelain", "--", f"./{code}", "*.py")
    return commit, None if status is None else bool(status)


def _commit_of(file: Path) -> str | None:
    """The commit of the git checkout that has this file; None for a file that git does not track, as in a folder that
    another repository ignores."""
    if git(file.parent, "ls-files", "--error-unmatch", "--", file.name) is None:
        return None
    return git(file.parent, "rev-parse", "HEAD")


def write_stamp() -> Path:
    """Write `COMMIT.json` for copies of this checkout, and return its path.

    Raises InputError outside a checkout, and if files differ from the commit.
    """
    root = paths.checkout()
    listed = None if root is None else git(root, "ls-tree", "-r", "HEAD")
    if listed is None:
        raise InputError("this is not a git checkout, so it has no commit to name")
    if _changes(root) != "":
        raise InputError("files here differ from the commit", path=root, remedy="commit them first")
    blobs = {}
    for line in listed.splitlines():
        details, _, path = line.partition("\t")
        _, kind, blob = details.split()
        if kind == "blob" and PurePosixPath(path).parts[0] != _RESULTS:
            blobs[path] = blob
    write_json(root / STAMP, {"commit": git(root, "rev-parse", "HEAD"), "blobs": blobs})
    return root / STAMP


def code_hash(files: Iterable[tuple[PurePosixPath, bytes]]) -> str:
    """12 hex digits of the Python sources that affect measurements.

    `files` are (path inside the package, content) of all sources. Packages that only read, show or download are left
    out, so that the hash does not change with them.
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
    """Whether a listed file is missing or changed, or there is a source file that is not listed."""
    try:
        if any(git_blob(root / path) != blob for path, blob in blobs.items()):
            return True
    except OSError:
        return True
    sources = (path for folder in _WATCHED for kind in ("*.py", "*.toml") for path in (root / folder).rglob(kind))
    return any(path.relative_to(root).as_posix() not in blobs for path in sources)


def _changes(root: Path) -> str | None:
    """What git reports as changed, outside `results`; None without git."""
    return git(root, "status", "--porcelain", "--", ".", f":(exclude){_RESULTS}")


def git(root: Path, *arguments: str) -> str | None:
    """The output of git in the folder `root`, stripped; None when it fails. It starts no program that the repository
    names."""
    return output(commands.git("-C", str(root), *arguments), _COMMAND_SECONDS, commands.git_environment())
