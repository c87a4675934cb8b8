"""Reads folders as graphs: the commits of a git repository, and the imports of a Python source tree.

In a repository an edge leads from each commit to each of its parents. The vertices are the commits that a reference
reaches, named by their full hashes (see `grailbench.graph.ids.Named`). What `git rev-list --parents --all` printed is
read, too, as a file.

In a source tree an edge leads from importer to imported. The vertices are the modules in the tree, named as they are
imported: with dots, from the outermost folder with an `__init__.py`, or from the tree's root where two modules would
have one name. `from a import b` leads to a.b if that is a module, else to a. Hidden folders and virtual environments
are left out.
"""

import ast
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from pathlib import Path, PurePosixPath

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.readers.cells import decoded, found_of
from grailbench.graph.readers.text import Found
from grailbench.graph.revisions import is_repository, is_shallow
from grailbench.util import outputs
from grailbench.util.words import count

# ---------------------------------------------------------------------------------------- git


_SHALLOW = (
    "a shallow clone: its history is cut, so that a commit may have ancestors that are not here (git fetch --unshallow)"
)
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def read_git(text: np.ndarray, path: Path) -> Found:
    """Reads lines with the hash of a commit and those of its parents (uint8[size]), of the repository `path` if that is
    a folder. Raises InputError if one is malformed."""
    sources, targets, known = [], [], []
    for line, content in enumerate(decoded(text).split("\n"), 1):
        hashes = content.split()
        if not all(map(_HASH.fullmatch, hashes)):
            message = f"full hashes of commits expected: {content[:60]!r}"
            raise InputError(message, line=line, remedy="git rev-list --parents --all")
        if hashes:
            known.append(hashes[0])
            sources += hashes[:1] * (len(hashes) - 1)
            targets += hashes[1:]
    repository = str(path.resolve()) if is_repository(path) else None
    found = found_of(sources, targets, list(dict.fromkeys(known)), repository)
    return replace(found, notes=(*found.notes, _SHALLOW)) if repository and is_shallow(path) else found


# ---------------------------------------------------------------------------------------- Python


_VERSION = ".".join(map(str, sys.version_info[:2]))
_LEFT_OUT = ("__pycache__", "node_modules")
_RENAME = "rename it"


def python_files(folder: Path) -> bytes:
    """All Python files of a tree, in the order of their paths: for each a line 'size path' and then its text.

    Raises InputError if one cannot be read, or has a line break in its path.
    """
    parts = []
    for path in sorted(_files(folder)):
        if "\n" in path:
            raise InputError("the path of a Python file has a line break", path=folder / path, remedy=_RENAME)
        try:
            text = (folder / path).read_bytes()
            outputs.protect(folder / path)
        except OSError as error:
            raise InputError(f"the file cannot be read: {error.strerror or error}", path=folder / path) from None
        parts += [f"{len(text)} {path}\n".encode("utf-8", "surrogateescape"), text]
    return b"".join(parts)


def has_python_files(folder: Path) -> bool:
    """Whether there is a Python file in a tree."""
    return next(_files(folder), None) is not None


def _files(folder: Path) -> Iterator[str]:
    """The paths of the Python files below a folder."""
    for here, folders, files in os.walk(folder):
        folders[:] = [
            name for name in folders
            if not (name.startswith(".") or name in _LEFT_OUT or os.path.exists(os.path.join(here, name, "pyvenv.cfg")))
        ]  # fmt: skip
        yield from (os.path.relpath(os.path.join(here, name), folder) for name in files if name.endswith(".py"))


def read_python(text: np.ndarray, path: Path, outside: bool) -> Found:
    """Reads the imports of the tree `path` from what `python_files` returned (uint8[size]).

    outside  whether imported modules that are not in the tree are vertices, named as in the statement

    A file that is no Python of this version has no edges, which is noted. Raises InputError where the name of a module
    is no UTF-8 text.
    """
    files = dict(_split(text.tobytes()))
    names, places = _named(path.resolve().name, list(files))
    if (odd := next((file for file, name in names.items() if not _is_text(name)), None)) is not None:
        raise InputError("the name of this file, or of its folder, is no UTF-8 text", path=path / odd, remedy=_RENAME)
    edges, left_out, broken = [], set(), []
    for file, source in files.items():
        package = names[file].split(".") if PurePosixPath(file).name == "__init__.py" else names[file].split(".")[:-1]
        try:
            imports = list(_imports(source, package))
        except InputError as error:
            error.path = file
            broken.append(str(error))
            continue
        for imported, parts in imports:
            found = _module(imported, parts, places)
            if found is None and not outside:
                left_out.add(imported)
            elif found != names[file]:
                edges.append((names[file], found or imported))
    edges = list(dict.fromkeys(edges))
    if not files:
        raise InputError("no Python file in this folder")
    found = found_of([u for u, _ in edges], [v for _, v in edges], list(names.values()))
    notes = ["edges go from importer to imported"]
    if broken:
        notes.append(f"{count(len(broken), 'file')} without edges: {broken[0]}{', ...' * (len(broken) > 1)}")
    if left_out:
        notes.append(f"{count(len(left_out), 'imported module')} outside of the tree left out (--outside)")
    return replace(found, notes=tuple(notes))


def _split(raw: bytes) -> Iterator[tuple[str, bytes]]:
    """The path and the text of each file in what `python_files` returned."""
    at = 0
    while at < len(raw):
        end = raw.find(b"\n", at)
        size, _, name = raw[at:end].partition(b" ")
        if end < 0 or not size.isdigit() or not name:
            raise InputError("Python sources are read from a folder", remedy="name the folder")
        at = end + 1 + int(size)
        yield name.decode("utf-8", "surrogateescape"), raw[end + 1 : at]


def _named(root: str, files: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """The name of the module in each file, and the name for every dotted path by which a statement may import it: its
    name, that from the root, and that from the outermost of the packages that follow one another up to it."""
    packages = {str(PurePosixPath(file).parent) for file in files if PurePosixPath(file).name == "__init__.py"}
    short, long, near = {}, {}, {}
    for file in files:
        folder = PurePosixPath(file).parent
        parts = [] if PurePosixPath(file).name == "__init__.py" else [PurePosixPath(file).stem]
        whole = [root] * ("." in packages) + [*folder.parts, *parts]
        inside = [str(each) in packages for each in (folder, *folder.parents)]  # a folder between may have none
        depth = max((above + 1 for above, package in enumerate(inside) if package), default=0)
        short[file] = ".".join(whole[-depth - len(parts) :])
        long[file] = ".".join(whole)
        near[file] = ".".join(whole[-sum(takewhile(bool, inside)) - len(parts) :])
    twice = {name for name, times in Counter(short.values()).items() if times > 1}
    names = {file: long[file] if short[file] in twice else short[file] for file in files}
    times = Counter(near.values())
    places = {near[file]: names[file] for file in files if times[near[file]] == 1}
    return names, places | {long[file]: names[file] for file in files} | {name: name for name in names.values()}


def _is_text(name: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def _imports(source: bytes, package: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The module that each statement of a file imports: its name, and names in it that may be modules too."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of invalid escape sequences and the like in the file
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        message = f"no Python of version {_VERSION}: {getattr(error, 'msg', error)}"
        raise InputError(message, line=getattr(error, "lineno", None)) from None
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            if node.level > len(package) or not module:
                dots = "." * node.level + (node.module or "")
                module = dots  # a relative import that leaves the tree
            yield from ((module, [alias.name]) for alias in node.names)


def _module(imported: str, parts: list[str], places: dict[str, str]) -> str | None:
    """The module in the tree that a statement imports, or the nearest package of it there; None if it has none."""
    words = [*imported.split("."), *parts]
    for end in range(len(words), 0, -1):
        if found := places.get(".".join(words[:end])):
            return found
    return None
