"""The code of implementations that are not of this package: a plug-in's distribution, version, files and commit.

An installed distribution is known by its version and its files. Code that a distribution does not list among its
files, as that of an editable install, can change at any time: it is known by the commit of the git checkout around it.
"""

import hashlib
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution, entry_points, packages_distributions
from pathlib import Path

from grailbench.harness.environment import state_of
from grailbench.problems.contract import ENTRY_POINTS, Implementation

UNKNOWN = "unknown"  #: the hash of files that cannot be read


def outside(implementation: type) -> bool:
    """Whether an implementation is defined in another package than this one."""
    return implementation.__module__.partition(".")[0] != "grailbench"


def key(problem: str, name: str) -> str:
    """The name of an implementation in `implementations` of an environment."""
    return f"{problem}/{name}"


def facts(implementations: Iterable[type[Implementation]]) -> dict[str, dict]:
    """What an environment says of those implementations that have code, or files, outside this package.

    By `key`: `files`, the hash of all of them, and of a plug-in its `source`, `distribution` and `version` (None if its
    code is of none), `editable`, and where that is true `commit` and `dirty` (None outside a git checkout).
    """
    found = {}
    for each in implementations:
        if (files := source_hash(each)) != "":
            found[key(each.problem, each.name)] = {
                **({"source": each.source, **_described(each)} if outside(each) else {}),
                "files": files,
            }
    return found


def named(implementation: type) -> str:
    """'bitclosure 0.1': the distribution of a plug-in and its version; the module of one without a distribution."""
    return title(_described(implementation)) or f"{implementation.__module__.partition('.')[0]}, of no distribution"


def title(fact: Mapping) -> str:
    """The distribution and its version of a value of `facts`; '' without one."""
    return f"{fact['distribution']} {fact['version']}" if fact.get("distribution") else ""


def unclean(fact: Mapping) -> bool:
    """Whether nobody can have the code of a plug-in again: it is of no release, and of no commit without changes."""
    return bool(fact.get("editable")) and not (fact.get("commit") and fact.get("dirty") is False)


def sentences(environment: Mapping) -> list[str]:
    """What an environment says of its plug-ins: 'bitclosure 0.1', 'bitclosure 0.1 (editable, commit 0123abc with
    changes)'."""
    found = []
    for name, fact in (environment.get("implementations") or {}).items():
        if "editable" in fact:
            code = f"commit {fact['commit'][:12]}" if fact.get("commit") else "of no commit"
            code += " with changes" if fact.get("commit") and fact.get("dirty") is not False else ""
            shown = title(fact) or f"{name}, of no distribution"
            found.append(f"{shown} (editable, {code})" if fact["editable"] else shown)
    return list(dict.fromkeys(found))


def source_hash(implementation: type[Implementation]) -> str:
    """16 hex digits of the code of an implementation outside this package, and of its `files`; '' if there is none of
    both."""
    try:
        own = implementation.files()
        if not outside(implementation):
            return hashlib.sha256(b"".join(map(Path.read_bytes, own))).hexdigest()[:16] if own else ""
        digest = hashlib.sha256(_code_hash(implementation).encode())
        for path in own:
            digest.update(path.read_bytes())
        return digest.hexdigest()[:16]
    except OSError:
        return UNKNOWN


# ------------------------------------------------------------------ where its code is


def module_file(implementation: type) -> Path:
    """The file of the outermost module or package of a plug-in, below the folder that it is imported from."""
    name, file = _root(implementation)
    path = Path(*name.split("."))
    return path / file.name if file.name == "__init__.py" else path.with_suffix(file.suffix)


def _root(implementation: type) -> tuple[str, Path]:
    """The outermost module or package around a class that is no namespace package, and its file. Raises
    FileNotFoundError for a class that is in no file."""
    parts = implementation.__module__.split(".")
    for number in range(1, len(parts) + 1):
        name = ".".join(parts[:number])
        if file := getattr(sys.modules.get(name), "__file__", None):
            return name, Path(file).resolve()
    raise FileNotFoundError(f"{implementation.__module__} is no file")


@cache
def _distribution(implementation: type) -> Distribution | None:
    """The distribution that names the module of a class in its entry points, or has it."""
    name, _ = _root(implementation)
    for point in entry_points(group=ENTRY_POINTS):
        if point.dist is not None and f"{point.module}.".startswith(f"{name}."):
            return point.dist
    try:
        return distribution(packages_distributions()[name.partition(".")[0]][0])
    except (KeyError, PackageNotFoundError):
        return None


@cache
def _listed(implementation: type) -> tuple[Path, ...]:
    """The files of the distribution of a class as they were installed; empty if the code of the class is not among
    them, as in an editable install."""
    found = _distribution(implementation)
    if found is None or found.read_text("RECORD") is None:
        return ()
    files = tuple(Path(str(found.locate_file(each))).resolve() for each in found.files or ()
                  if "__pycache__" not in each.parts and not each.parts[0].endswith(".dist-info"))  # fmt: skip
    return files if _root(implementation)[1] in files else ()


@cache
def _code_hash(implementation: type) -> str:
    """The hash of the files of a plug-in, once in a process, which does not read its code again either. Raises
    OSError."""
    _, file = _root(implementation)
    files = set(_listed(implementation))
    if not files:  # its package, or its module with those beside it
        inside = file.parent.rglob("*") if file.name == "__init__.py" else file.parent.glob("*.py")
        files = {path for path in inside if "__pycache__" not in path.parts and path.is_file()} | {file}
    found = sorted((path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files)
    return hashlib.sha256(repr(found).encode()).hexdigest()


@cache
def _described(implementation: type) -> dict:
    """The values of `facts` without `files`."""
    try:
        found = _distribution(implementation)
        named = {"distribution": found and found.name, "version": found and found.version}
        if _listed(implementation):
            return {**named, "editable": False}
        commit, dirty = state_of(_root(implementation)[1])
    except FileNotFoundError:
        named, commit, dirty = {"distribution": None, "version": None}, None, None
    return {**named, "editable": True, "commit": commit, "dirty": dirty}
