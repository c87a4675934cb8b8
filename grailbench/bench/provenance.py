"""Which commit a run was measured with, and the manifest that vouches for recorded runs.

A checkout asks git. A copy without git data carries a stamp: `COMMIT.json`, the commit and the git blob id of each of
its files, written by `python -m grailbench.bench.provenance` in a clean checkout. A stamp counts only as far as the
files beside it are those that it lists, so that it cannot vouch for a changed copy.

Recorded runs lie in `results/baselines`; `grailbench record` puts them there. `manifest.json` beside them holds, for
each, the sha256 of its files and the commits of each code version in it. `found` says how the commits are known:
'commit', the run names them and its files were those of the commit; 'code', the run names another commit or none, and
the sources of these commits have the code hash that the keys of its rows were made with; 'none', no commit in the
history has that code.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from grailbench import paths
from grailbench.errors import InputError
from grailbench.graph.store import sha256_file
from grailbench.runs import folder as results

STAMP = "COMMIT.json"
MANIFEST = "manifest.json"
RECORDED = (results.ROWS, results.PLAN, results.ENVIRONMENT)  #: what a run is; all else is made from it
_LISTED = (*RECORDED, "limits.json")  #: files that the manifest vouches for
_APART = "results"  #: rows and pages: what lies there does not change what is measured
_WATCHED = ("grailbench", "configs", "datasets")  #: where a file that the stamp does not list makes a copy dirty
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
    results.write_json(root / STAMP, {"commit": _git(root, "rev-parse", "HEAD"), "blobs": blobs})
    return root / STAMP


def code_hash(files: Iterable[tuple[PurePosixPath, bytes]]) -> str:
    """12 hex digits of the Python sources that measuring runs through: (path inside the package, content) of each.

    The command line, reports and downloads are left out, so that a change there keeps the hash.
    """
    digest = hashlib.sha256()
    for path, content in sorted(files):
        if path.suffix == ".py" and path.parts[0] not in ("cli", "report", "datasets"):
            digest.update(path.as_posix().encode())
            digest.update(content)
    return digest.hexdigest()[:12]


# ------------------------------------------------------------------ recorded runs


def baselines() -> Path:
    """The folder of recorded runs. Raises InputError outside a checkout."""
    root = paths.checkout()
    if root is None:
        raise InputError("recorded runs lie in a checkout of the project, and this is none")
    return root / "results" / "baselines"


def is_recorded(folder: Path) -> bool:
    """Whether a folder lies among the recorded runs."""
    root = paths.checkout()
    return root is not None and folder.resolve().is_relative_to((root / "results" / "baselines").resolve())


def record(run: str, name: str, replace: bool = False) -> Path:
    """Copy a run to `results/baselines/NAME` and enter it in the manifest; returns its folder.

    Raises InputError when rows are damaged or a trial is torn, when a cell is wrong or failed, when the run does not
    name the clean commit of each of its sittings, and when a run of that name is recorded and `replace` is not given.
    """
    folder, home = results.find_run(run), baselines()
    target = home / name
    if not target.resolve().is_relative_to(home.resolve()) or target.resolve() == home.resolve():
        raise InputError(f"{name!r} is no name of a recorded run", remedy="such as my-machine/fused")
    if (target / results.PLAN).exists() and not replace:
        raise InputError("a run is recorded there", path=target, remedy="--replace, or another name")
    rows, damage = results.read_rows(folder)
    if damage.torn or damage.rows or not rows:
        raise InputError("holds no whole rows", path=folder, remedy=f"grailbench run --resume={folder}")
    bad = sorted({row["status"] for row in results.current(rows)} & {"wrong", "failed"})
    if bad:
        raise InputError(f"has cells that are {' and '.join(bad)}", path=folder)
    codes = _clean_commits(folder)
    target.mkdir(parents=True, exist_ok=True)
    for file in RECORDED:
        if (folder / file).resolve() != (target / file).resolve():
            shutil.copyfile(folder / file, target / file)
    enter(name, target, codes, "commit")
    return target


def enter(name: str, folder: Path, codes: dict[str, list[str]], found: str) -> None:
    """Write a run's entry of the manifest; `codes`: the commits of each code version in its rows."""
    known = manifest()
    files = {file: sha256_file(folder / file) for file in _LISTED if (folder / file).exists()}
    known[name] = {"found": found, "codes": codes, "files": files}
    results.write_json(baselines() / MANIFEST, dict(sorted(known.items())))


def manifest() -> dict[str, dict]:
    """The entries by the name of the run, its folder below `results/baselines`; see the module's text."""
    path = baselines() / MANIFEST
    return results.read_json(path) if path.exists() else {}


def entry(folder: Path) -> dict | None:
    """A recorded run's entry of the manifest; None of any other run."""
    if not is_recorded(folder):
        return None
    return manifest().get(folder.resolve().relative_to(baselines().resolve()).as_posix())


def _clean_commits(folder: Path) -> dict[str, list[str]]:
    """Code version -> commits, of every sitting of a run. Raises InputError unless all were clean."""
    environment = results.read_environment(folder)
    codes: dict[str, list[str]] = {}
    for sitting in (*environment.get("earlier", []), environment):
        if not sitting.get("commit") or sitting.get("dirty") is not False:
            which = f"commit {sitting['commit'][:12]} with changes" if sitting.get("commit") else "no commit"
            raise InputError(
                f"was measured with {which}, so nobody can repeat it",
                path=folder,
                remedy="commit, then run again; a copy without git data needs COMMIT.json, see docs/measuring.md",
            )
        known = codes.setdefault(sitting["code"], [])
        if sitting["commit"] not in known:
            known.append(sitting["commit"])
    return codes


# ------------------------------------------------------------------ git


def _stamp(root: Path) -> dict | None:
    try:
        stamp = json.loads((root / STAMP).read_text(encoding="utf-8"))
        return stamp if isinstance(stamp["commit"], str) and isinstance(stamp["blobs"], dict) else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _changed(root: Path, blobs: dict[str, str]) -> bool:
    """Whether a listed file is missing or another one, or a source is there that is not listed."""
    from grailbench.datasets.sources import git_blob

    try:
        if any(git_blob(root / path) != blob for path, blob in blobs.items()):
            return True
    except OSError:
        return True
    sources = (path for folder in _WATCHED for kind in ("*.py", "*.toml") for path in (root / folder).rglob(kind))
    return any(path.relative_to(root).as_posix() not in blobs for path in sources)


def _git(root: Path, *arguments: str) -> str | None:
    """What a git command prints, stripped; None when git is missing, refuses or takes too long."""
    command = ["git", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_COMMAND_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{write_stamp()}\n")
    except InputError as error:
        sys.exit(f"error: {error}")
