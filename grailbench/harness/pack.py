"""A run in one file, to be sent to others: what is in it, how it is written, and how it is verified before it is read.

A pack is a zip file with the members of `MEMBERS`, in that order, and no others. Nothing is unpacked to a path that the
file names. The manifest has the size and the sha256 of each file.

The checksums show damage, not lies: who makes a pack makes them too.
"""

import hashlib
import io
import json
import os
import shutil
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from grailbench.errors import InputError
from grailbench.harness import folder, plugins
from grailbench.harness.rows import cell_of, grouped, part_of, status_of
from grailbench.problems.contract import registered
from grailbench.util import __version__, records, temporary
from grailbench.util.files import Bytes
from grailbench.util.files import opened as file_opened

SUFFIX = ".pack.zip"
FORMAT = 2
MANIFEST = "manifest.json"
FILES = (folder.ENVIRONMENT, folder.PLAN, folder.ROWS)  #: the files of a run, as a pack orders them
MEMBERS = (MANIFEST, *FILES)
#: the most bytes of a member. The largest recorded run has 51 MB of rows and 0.6 MB of plan
MOST = {MANIFEST: 1 << 16, folder.ENVIRONMENT: 4 << 20, folder.PLAN: 64 << 20, folder.ROWS: 256 << 20}
RATIO, SLACK = 200, 1 << 20  #: a pack may unpack to RATIO times its size, recorded runs do to 53, and always to SLACK
REMEDY = "ask for the pack again, as 'grailbench pack' writes it"

_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, struct.error, OSError)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    bytes: Annotated[int, Field(ge=0)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Manifest(BaseModel):
    """What a pack says of itself; all of it is checked, but for the version.

    format      of the pack
    grailbench  the version that packed it
    clean       whether every session of the run was made from commits without changes (`clean`)
    cells       the number of its cells
    redacted    what was left out of the run's files, in words
    files       size and sha256 by the name of the member
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    format: int
    grailbench: Annotated[str, Field(max_length=100)]
    clean: bool
    cells: Annotated[int, Field(gt=0)]
    redacted: Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=100)]
    files: dict[str, _File]


# ------------------------------------------------------------------ what a run must be


def clean(environment: Mapping) -> bool:
    """Whether every session of a run names a commit, its files were those of the commit, and so is the code of each
    plug-in that is not an installed release."""
    return not any(map(doubt, every_session(environment)))


def doubt(session: Mapping) -> str:
    """The code of a session that nobody can have again, in words; '' for none."""
    if not session.get("commit"):
        return "no commit"
    if session.get("dirty") is not False:
        return f"commit {session['commit'][:12]} with changes"
    bad = {name: fact for name, fact in (session.get("implementations") or {}).items() if plugins.unclean(fact)}
    return f"plug-in {plugins.sentences({'implementations': bad})[0]}" if bad else ""


def every_session(environment: Mapping) -> list[Mapping]:
    """The environments of all sessions of a run and of its workers, also of sessions that measured nothing."""
    return [*environment.get("earlier", []), environment, *(environment.get("workers") or {}).values()]


def require_sound(rows: Iterable[Mapping], path: Path) -> None:
    """Raise InputError when a cell failed or is wrong, unless its implementation is wrong as printed.

    rows  current ones
    path  the run, for the message
    """
    bad = {status for (problem, _, impl, *_), status in _statuses(rows).items()
           if status == "failed" or (status == "wrong" and not racy(problem, impl))}  # fmt: skip
    if bad:
        raise InputError(f"has cells that are {' and '.join(sorted(bad))}", path=path)


def require_whole(where: Path) -> list[dict]:
    """The current rows of the run in a folder. Raises InputError when its last trial is not whole, when a row is of a
    cell that its plan does not have, and when a graph of one name has two checksums."""
    rows, damage = folder.read_rows(where)
    path = folder.rows_path(where)
    if damage.torn or damage.rows or not rows:
        raise InputError("has no complete trials", path=path)
    planned = _planned(where / folder.PLAN)
    for number, row in enumerate(rows, 1):
        graphs, sets = {row["dataset"], row.get("stands_for") or row["dataset"]}, row.get("query_set")
        sets = {sets, sets and part_of(sets)[0]}  # of a slow cell the first pairs of the set of its plan
        if planned.isdisjoint(cell_of({**row, "dataset": graph, "query_set": of}) for graph in graphs for of in sets):
            what, remedy = "is of a cell that the plan of its run does not have", "rows of other runs were added"
            raise InputError(what, path=path, line=number, remedy=remedy)
    rows, graphs = folder.current(rows), {}
    for row in rows:
        if (sha256 := row["graph_sha256"]) is not None and graphs.setdefault(row["dataset"], sha256) != sha256:
            raise InputError(f"holds rows of two graphs of the name {row['dataset']!r}", path=path)
    return rows


def _statuses(rows: Iterable[Mapping]) -> dict[tuple, str]:
    return {cell: status_of(group)[0] for cell, group in grouped(rows, cell_of).items()}


def racy(problem: str, impl: str) -> bool:
    """Whether an implementation is wrong as printed."""
    made_by = registered(impl, problem)
    return made_by is not None and made_by.racy


def _planned(path: Path) -> set[tuple]:
    """The keys of the cells of a plan."""
    try:
        return {cell_of(cell) for cell in folder.read_json(path)["cells"]}
    except (KeyError, TypeError, AttributeError):
        raise InputError("names no cells", path=path) from None


# ------------------------------------------------------------------ writing


def packed(files: Mapping[str, bytes], is_clean: bool, cells: int, redacted: Sequence[str] = ()) -> bytes:
    """The bytes of the pack of these files, by the names of `FILES`; equal arguments give equal bytes.

    Raises InputError when a file is larger than a reader takes.
    """
    listed = {}
    for name in FILES:
        content = files[name]
        if len(content) > MOST[name]:
            raise InputError(f"{name} has {len(content):,} bytes; a pack takes {MOST[name]:,}")
        listed[name] = _File(bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
    manifest = Manifest(format=FORMAT, grailbench=__version__, clean=is_clean, cells=cells, redacted=list(redacted),
                    files=listed)  # fmt: skip
    content = (json.dumps(records.sealed(manifest.model_dump()), indent=1) + "\n").encode()
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w") as archive:
        for name, each in {MANIFEST: content, **{name: files[name] for name in FILES}}.items():
            archive.writestr(zipfile.ZipInfo(name), each, zipfile.ZIP_DEFLATED, 9)  # of a fixed time
    return into.getvalue()


# ------------------------------------------------------------------ reading


def name_of(path: str | os.PathLike) -> str:
    """The name of the run in a pack: that of its file, without the ending."""
    return Path(path).name.removesuffix(SUFFIX)


def place_of(run: str | os.PathLike) -> Path:
    """The file of a pack, or the folder of a run by its place or name. Raises InputError if there is neither."""
    return Path(run) if Path(run).is_file() else folder.find_run(run)


@contextmanager
def folder_of(place: Path) -> Iterator[Path]:
    """The folder of a run, given that or its pack (`unpacked`), while the block lasts."""
    if place.is_file():
        with unpacked(place) as (where, _):
            yield where
    else:
        yield place


@contextmanager
def unpacked(path: str | os.PathLike) -> Iterator[tuple[Path, Manifest]]:
    """The folder of the run in a pack, of that name, while the block lasts, and the manifest; it is removed after.

    The pack is verified before: its members are as the manifest says, and the run as `require_whole` and
    `require_sound` demand. Nothing is written outside of the folder, and memory and disk are bounded by `MOST` and
    `RATIO`. Raises InputError, which names the file and what is wrong.
    """
    path = Path(path)
    name = name_of(path)
    with temporary.Folder("pack") as above:
        where = Path(above, "run" if name in ("", ".", "..") else name)
        where.mkdir()
        with file_opened(path, pipes=False) as source:
            manifest = read(Bytes(source.raw), source.raw.size, where, path)
        yield where, manifest


def read(stream: BinaryIO, size: int, into: Path, path: Path) -> Manifest:
    """Verify a pack of `size` bytes, write its files to the folder `into` as `unpacked` says; returns its manifest."""
    try:
        with zipfile.ZipFile(stream) as archive:
            members = dict(zip(MEMBERS, _members(archive, size), strict=True))
            manifest = _manifest(archive.read(members[MANIFEST]))
            for name in FILES:
                _unpack(archive, members[name], manifest.files[name], into / name)
    except (ValueError, *_UNREADABLE) as error:
        what = str(error).partition("\n")[0]
        raise InputError(f"is not a complete pack of a run: {what}", path=path, remedy=REMEDY) from None
    try:
        rows = require_whole(into)
        require_sound(rows, into / folder.ROWS)
        found = {"cells": len(_statuses(rows)), "clean": clean(folder.read_environment(into))}
    except InputError as error:  # which names a file that nobody else will see
        raise InputError(str(error).replace(f"{into}{os.sep}", ""), path=path, remedy=REMEDY) from None
    for name, value in found.items():
        if getattr(manifest, name) != value:
            raise InputError(f"its manifest is wrong: {name} is {value}, not {getattr(manifest, name)}", path=path)
    return manifest


def _members(archive: zipfile.ZipFile, size: int) -> list[zipfile.ZipInfo]:
    """The members of a pack, by what the file says of them. Raises ValueError unless they are `MEMBERS`, of sizes that
    are read."""
    found = archive.infolist()
    if [each.orig_filename for each in found] != [*MEMBERS]:
        raise ValueError(f"its members are not {', '.join(MEMBERS)}")
    for name, each in zip(MEMBERS, found, strict=True):
        if each.file_size > MOST[name]:
            raise ValueError(f"{name} has {each.file_size:,} bytes, more than the {MOST[name]:,} that are read")
        if each.compress_type != zipfile.ZIP_DEFLATED:
            raise ValueError(f"{name} is not packed as packs are")
    most = max(SLACK, RATIO * size)
    if sum(each.file_size for each in found) > most:
        raise ValueError(f"it unpacks to more than {most:,} bytes, too many for its size")
    return found


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, entry: _File, into: Path) -> None:
    """Write a member, of the size and checksum that the manifest says, to a file."""
    with archive.open(member) as packed, open(into, "w+b") as file:
        shutil.copyfileobj(packed, file)
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if (member.file_size, digest) != (entry.bytes, entry.sha256):
        raise ValueError(f"{into.name} is not the file of which the manifest has the checksum")


def _manifest(content: bytes) -> Manifest:
    """The manifest of a pack. Raises ValueError."""
    try:
        value, sealed = records.opened(content)
        manifest = Manifest.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{MANIFEST}: field {'.'.join(map(str, first['loc']))!r}: {first['msg']}") from None
    if not sealed:
        raise ValueError(f"{MANIFEST} has no checksum")
    if manifest.format != FORMAT:
        raise ValueError(f"it is of format {manifest.format}, this version reads {FORMAT}")
    if list(manifest.files) != list(FILES):
        raise ValueError(f"{MANIFEST} lists {', '.join(map(repr, manifest.files))}")
    return manifest
