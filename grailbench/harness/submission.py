"""Packing a run to be sent to others, without what is nobody's business; and judging a pack that was sent.

What a pack is, and what it must be to be read at all, is in `harness.pack`.
"""

import getpass
import json
import os
import platform
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from grailbench.data.registry import Dataset, registry
from grailbench.errors import CheckFailed, InputError, of_system
from grailbench.harness import folder as results
from grailbench.harness import pack
from grailbench.harness.cells import Cell, Run, cells, load, read
from grailbench.problems.contract import USUAL
from grailbench.util import words
from grailbench.util.outputs import atomic_file
from grailbench.util.records import opened, sealed

_END = r"[^/\\\s'\",;]"  # a letter of the name of a folder or host
#: a host behind the scheme of an address, or a path from the root
_PLACE = re.compile(
    rf"\b(?!file:)(?P<how>[a-z][a-z0-9+]*)://{_END}+"
    rf"|(?<![\w.])(?:~[\w.-]*|[A-Za-z]:|file:)?[/\\]+(?:{_END}+[/\\]+)*(?P<last>{_END}*)"
)
_LEFT_OUT = "..."  #: in the place of folders and hosts
_COMMON = ("root", "user", "home", "data", "test", "admin", "ubuntu")  #: names of users that say nothing of anybody


@dataclass(frozen=True)
class Packed:
    """A pack that was written.

    path      the file, of `size` bytes
    run       the run in it
    clean     whether it is from clean commits
    redacted  what was left out of its files
    says      what its files say of this machine's user and folders, a sentence each
    """

    path: Path
    size: int
    run: Run
    clean: bool
    redacted: list[str]
    says: list[str]


def submit(run: str, out: str | Path | None = None, redact: bool = False) -> Packed:
    """Write the pack of a run (a folder or a name) to the file `out`, by default NAME.pack.zip in this folder.

    redact  leave out folders, hosts and the name of the user: in the command, in the config, and in the reasons of
            cells without times; rows with times are packed as they are

    Raises InputError when the run is not whole, when a cell failed or is wrong (unless its implementation is wrong as
    printed), and when `out` is another file already.
    """
    where = results.find_run(run)
    rows = pack.require_whole(where)
    pack.require_sound(rows, where)
    files = {name: results.content(where, name) or b"" for name in pack.FILES}
    environment, redacted = results.read_environment(where), []
    if redact:
        files, redacted = _redacted(files)
    is_clean, found = pack.clean(environment), cells(rows)
    data = pack.packed(files, is_clean, len(found), redacted)
    path = Path(f"{where.resolve().name}{pack.SUFFIX}" if out is None else out)
    try:
        if not path.is_file() or path.read_bytes() != data:
            if path.is_file():
                raise InputError("another file is there", path=path, remedy="--out FILE")
            with atomic_file(path, follow=True) as stream:
                stream.write(data)
    except OSError as error:
        raise of_system(error, path) from None
    return Packed(path, len(data), load(path), is_clean, redacted, _says(files))


# ------------------------------------------------------------------ what it says beside measurements


def _redacted(files: Mapping[str, bytes]) -> tuple[dict[str, bytes], list[str]]:
    """The files without folders, hosts and names of users, and where these were."""
    found, where = dict(files), []
    for name, shorten in ((results.ENVIRONMENT, _environment), (results.PLAN, _plan)):
        value, _ = opened(files[name])
        if (less := shorten(value)) != value:
            where += [f"{name}: {key}" for key in value if less[key] != value[key]]
            found[name] = (json.dumps(sealed(less), indent=1, allow_nan=False) + "\n").encode()
    lines, changed = [], 0
    for line in files[results.ROWS].splitlines(keepends=True):
        row, had = opened(line)
        less = _without(row["reason"]) if row.get("reason") and row["phase"] is None else row.get("reason")
        if less != row.get("reason"):
            row["reason"], changed = less, changed + 1
            line = (json.dumps(sealed(row) if had else row, allow_nan=False) + "\n").encode()
        lines.append(line)
    if changed:
        where.append(f"{results.ROWS}: reasons of {words.count(changed, 'row')} without times")
        found[results.ROWS] = b"".join(lines)
    return found, where


def _environment(value: Mapping) -> dict:
    """An environment without folders in its command, and without names of users and hosts in what is not measured."""
    less = {key: _each_text(each, _without if key == "command" else _unnamed) for key, each in value.items()}
    if "earlier" in value:
        less["earlier"] = [_environment(each) for each in value["earlier"]]
    if value.get("workers"):
        less["workers"] = {name: _environment(each) for name, each in value["workers"].items()}
    return less


def _plan(value: Mapping) -> dict:
    """A plan whose config has no folders; its cells are those of the rows."""
    return {key: each if key == "cells" else _each_text(each, _without) for key, each in value.items()}


def _says(files: Mapping[str, bytes]) -> list[str]:
    """What files of a run say of the user's folders and name, a sentence each."""
    environment, _ = opened(files[results.ENVIRONMENT])
    found = []
    for session in (environment, *environment.get("earlier", ())):
        command = " ".join(map(str, session.get("command") or ()))
        if command and _without(command) != command:
            found.append(f"{results.ENVIRONMENT} has the command: {command}")
    for name, content in files.items():
        text = content.decode()
        found += [f"{name} names {word!r}, {what}" for word, what in _own() if re.search(_whole(word), text)]
    return list(dict.fromkeys(found))


def _own() -> list[tuple[str, str]]:
    """Names that lead to the user of this machine, and what each is; the longest first."""
    found = [(os.path.expanduser("~"), "the home folder"), (platform.node(), "this machine")]
    with suppress(OSError, KeyError, ImportError):  # a user without a name
        found.append((getpass.getuser(), "the user"))
    named = [(word, what) for word, what in found if len(word) > 3 and word.strip("/").lower() not in _COMMON]
    return sorted(named, key=lambda each: -len(each[0]))


def _whole(word: str) -> str:
    return rf"(?<!\w){re.escape(word)}(?!\w)"


def _without(text: str) -> str:
    """The same without folders and hosts; of a path the last part stays."""
    return _unnamed(_PLACE.sub(_shortened, text))


def _unnamed(text: str) -> str:
    """A text without names of users and of this machine."""
    for word, _ in _own():
        text = re.sub(_whole(word), _LEFT_OUT, text)
    return text


def _shortened(found: re.Match) -> str:
    if found["how"]:
        return f"{found['how']}://{_LEFT_OUT}"
    return f"{_LEFT_OUT}/{found['last']}" if found["last"] else found[0]


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with each text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_each_text(each, change) for each in value]
    if isinstance(value, dict):
        return {name: _each_text(each, change) for name, each in value.items()}
    return value


# ------------------------------------------------------------------ judging


@dataclass(frozen=True)
class Judged:
    """What is in a pack that is whole, and whether it may be what it says.

    graphs  by their name: 'as registered', 'not as registered', 'not registered', 'generated' or 'not known'
    unlike  questions on a graph to which implementations gave unlike answers
    """

    path: Path
    run: Run
    clean: bool
    redacted: list[str]
    graphs: Mapping[str, str]
    unlike: list[str] = field(default_factory=list)

    @property
    def statuses(self) -> Counter:
        """Number of cells by status."""
        return Counter(cell.status for cell in self.run.cells)

    @property
    def methods(self) -> Counter:
        """Number of sound cells by how their answers were verified."""
        return Counter(cell.verified or "not said" for cell in self.run.cells if cell.sound)

    @property
    def faults(self) -> list[str]:
        """What cannot be as it says."""
        wrong = [name for name, standing in self.graphs.items() if standing == WRONG]
        found = [f"not the registered file of the name: {words.listing(wrong, 5)}"] if wrong else []
        return found + ([f"unlike answers to the same questions: {words.listing(self.unlike)}"] if self.unlike else [])

    def check(self) -> None:
        """Raises CheckFailed if there are faults."""
        if self.faults:
            raise CheckFailed(f"{self.path}: {'; '.join(self.faults)}")


WRONG = "not as registered"


def judge(path: str | Path) -> Judged:
    """Verify a pack and judge its content by what is known here. Raises the errors of `pack.unpacked`."""
    with pack.unpacked(path) as (where, contents):
        run = replace(read(where), folder=Path(path))
    graphs: dict[str, str] = {}
    for cell in run.cells:
        if cell.dataset not in graphs or cell.graph_sha256 is not None:
            graphs[cell.dataset] = _standing(cell)
    return Judged(Path(path), run, contents.clean, contents.redacted, graphs, _unlike(run.cells))


def _standing(cell: Cell) -> str:
    """Whether the graph of a cell is the one that the registry knows by its name."""
    dataset: Dataset | None = registry().get(cell.dataset)
    if dataset is None:
        return "generated" if cell.generated else "not registered"
    known = {form.sha256 for form in dataset.forms}
    if cell.graph_sha256 is None or known == {None}:
        return "not known"
    return "as registered" if cell.graph_sha256 in known else WRONG


def _unlike(found: Iterable[Cell]) -> list[str]:
    """Questions on a graph with several answers; of reachability, where every right answer is the same bits."""
    answers: dict[tuple, set] = {}
    for cell in found:
        if cell.problem == USUAL and cell.sound and cell.checksum is not None:
            answers.setdefault((cell.dataset, cell.graph_sha256, cell.query_set), set()).add(cell.checksum)
    return [f"{name} {queries}" for (name, _, queries), several in answers.items() if len(several) > 1]
