"""The cache: graph files with a note beside each, and a lock file with the checksums of first downloads.

cache/downloads/<archive>     archives as they were downloaded, after their checksum was checked
cache/graphs/<name>.<format>  one unpacked graph file per dataset
cache/*/<file>.json           the note about a file: its source, its sha256 and when it was fetched
cache/datasets.lock.toml      the sha256, at the first fetch, of files for which the registry has none
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, RootModel

from grailbench.data.registry import Dataset, Form
from grailbench.errors import InputError
from grailbench.graph.store import sha256_file
from grailbench.util import caches, outputs, paths, settings
from grailbench.util.outputs import atomic_file
from grailbench.util.records import opened, sealed
from grailbench.util.temporary import File

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CachedFile:
    """A graph file in the cache, with its current checksum.

    verified  whether its sha256, or that of its archive, is the one in the registry
    note      recorded when the file was fetched: source, archive_sha256, checked, fetched
    """

    dataset: Dataset
    form: Form
    path: Path
    sha256: str
    verified: bool
    note: dict

    @property
    def checked(self) -> str:
        """How the file was checked; a key of `grailbench.data.fetch.CHECKS`."""
        return "sha256" if self.verified else self.note.get("checked", "none")

    @property
    def source(self) -> str | None:
        """Where the file came from; None if that was not recorded."""
        return self.note.get("source")

    @property
    def archive_sha256(self) -> str | None:
        """The sha256 of the archive it was unpacked from; None if there was none."""
        return self.note.get("archive_sha256")


def graph_path(dataset: Dataset, form: Form) -> Path:
    """The path of the unpacked graph file of a form, whether it exists or not."""
    return paths.cache_dir() / "graphs" / f"{dataset.name}.{form.format}"


def download_path(archive: str) -> Path:
    """The path of a downloaded archive, whether it exists or not."""
    return paths.cache_dir() / "downloads" / archive


def note_path(path: Path) -> Path:
    """The path of the note about a graph file or an archive, whether it exists or not."""
    return path.with_name(f"{path.name}.json")


def local_file(dataset: Dataset) -> Path | None:
    """The path of the unpacked graph file of a dataset, or None when there is none. Its content is not checked."""
    form = _local_form(dataset)
    return None if form is None else graph_path(dataset, form)


def _local_form(dataset: Dataset) -> Form | None:
    return next((form for form in dataset.forms if graph_path(dataset, form).is_file()), None)


def cached_file(dataset: Dataset) -> CachedFile | None:
    """The graph file of a dataset, with its checksum computed again; None when there is no file.

    Raises InputError when the file is neither the registered one nor the one that was fetched.
    """
    for each in dataset.forms:
        caches.use(graph_path(dataset, each))
    form = _local_form(dataset)
    if form is not None:
        caches.use(graph_path(dataset, form))  # it may have come since, and is not removed from here on
        form = _local_form(dataset)
    if form is None:
        return None
    path, remedy = graph_path(dataset, form), f"grailbench fetch {dataset.name}"
    if foreign(path):
        remedy = f"it has no note, so grailbench did not fetch it: move it elsewhere, then {remedy}"
    digest, note = sha256_file(path), read_note(path)
    if note.get("sha256") != digest:
        note = {}
    if form.sha256 not in (None, digest):
        raise InputError(f"sha256 {digest} is not the registered {form.sha256}", path=path, remedy=remedy)
    if form.sha256 is None and not note:
        raise InputError("the file changed since it was fetched", path=path, remedy=remedy)
    verified = form.sha256 is not None or note.get("checked") == "sha256"
    return CachedFile(dataset, form, path, digest, verified, note)


def read_note(path: Path) -> dict:
    """The note about a graph file or an archive; empty when there is none. A damaged note is ignored and logged.

    Notes of older versions have no checksum. The characteristics of the graph (`measured`) are left out of those, so
    that they are computed again.
    """
    where = note_path(path)
    try:
        note, summed = opened(where.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        _log.warning("%s is damaged and is not used: %s", where, error)
        return {}
    return note if summed else {name: value for name, value in note.items() if name != "measured"}


def write_note(path: Path, note: dict) -> None:
    """Replace the note about a graph file or an archive."""
    with atomic_file(note_path(path)) as stream:
        stream.write(json.dumps(sealed(note), indent=1, sort_keys=True).encode() + b"\n")


def discard(path: Path) -> None:
    """Remove a graph file or an archive, and the note about it; a file without a note is the user's, and stays."""
    if note_path(path).exists():
        path.unlink(missing_ok=True)
        note_path(path).unlink(missing_ok=True)


def foreign(path: Path) -> bool:
    """Whether there is a file without a note, so that it was not fetched: it is not replaced."""
    return path.exists() and not note_path(path).exists()


@contextmanager
def temporary(to: Path) -> Iterator[Path]:
    """An empty file in the folder of a path; it is deleted at the end unless it was moved there (`publish`)."""
    made = File(to)
    try:
        yield made.path
    finally:
        made.close()


def publish(path: Path, to: Path) -> None:
    """Move a finished temporary file to its place and onto the disk, with the permissions of an ordinary file."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)
    outputs.sync(path)
    os.replace(path, to)
    for folder in (to.parent, to.parent.parent):  # which may be new
        outputs.sync(folder)
    caches.keep_bound(to)


# ---------------------------------------------------------------------------------------------- the lock file


def lock_path() -> Path:
    """The lock file, with the checksums of files at their first fetch on this machine."""
    return paths.cache_dir() / "datasets.lock.toml"


class _Locked(BaseModel):
    model_config = ConfigDict(extra="allow")

    sha256: str


_Lock = RootModel[dict[str, _Locked]]


def locked_sha256(file: str) -> str | None:
    """The sha256 of a file when it was first fetched on this machine; None when it never was."""
    return _read_lock().get(file, {}).get("sha256")


def lock(file: str, digest: str, size: int, source: str) -> str:
    """Record the sha256 of a file at its first fetch, unless another process did so before. Returns the sha256 that is
    recorded."""
    path = lock_path()
    with path.with_suffix(".guard").open("a") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        entries = _read_lock()
        if file in entries:
            return entries[file]["sha256"]
        entries[file] = {
            "sha256": digest,
            "bytes": size,
            "source": source,
            "first_fetched": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        with atomic_file(path, over=b"") as stream:
            stream.write(_toml(entries).encode())
        return digest


def _read_lock() -> dict:
    path = lock_path()
    return settings.read(path, _Lock, remedy="correct or delete it").model_dump() if path.exists() else {}


def _toml(entries: dict) -> str:
    lines = ["# sha256 of files as first fetched here; the registry cannot vouch for them.\n"]
    for file, entry in sorted(entries.items()):
        lines.append(f"\n[{json.dumps(file)}]\n")
        # A JSON string without control characters is a TOML basic string, and so is an integer.
        lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in entry.items()]
    return "".join(lines)
