"""What the cache holds: graph files with a note beside each, and the lock file of checksums first seen here.

cache/downloads/<archive>     as they came, checksum checked
cache/graphs/<name>.<format>  one unpacked graph file a dataset
cache/*/<file>.json           the note about a file: where it came from, when, its sha256
cache/datasets.lock.toml      sha256 of files that the registry has no sha256 for, from the first fetch on
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, RootModel

from grailbench import paths, settings
from grailbench.datasets.registry import Dataset, Form
from grailbench.errors import InputError
from grailbench.graph.store import atomic_file, sha256_file
from grailbench.records import opened, sealed

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Held:
    """A graph file in the cache, hashed just now.

    verified  its sha256, or that of the archive it came out of, is the registry's
    note      what was written down when it came: source, archive_sha256, checked, fetched
    """

    dataset: Dataset
    form: Form
    path: Path
    sha256: str
    verified: bool
    note: dict

    @property
    def checked(self) -> str:
        """What the file was held against; see `grailbench.datasets.fetch.CHECKS`."""
        return "sha256" if self.verified else self.note.get("checked", "none")


def graph_path(dataset: Dataset, form: Form) -> Path:
    """Where the unpacked graph file of a form lies, or would lie."""
    return paths.cache_dir() / "graphs" / f"{dataset.name}.{form.format}"


def download_path(archive: str) -> Path:
    """Where a downloaded archive lies, or would lie."""
    return paths.cache_dir() / "downloads" / archive


def note_path(path: Path) -> Path:
    """Where the note about a graph file or an archive lies, or would lie."""
    return path.with_name(f"{path.name}.json")


def local_file(dataset: Dataset) -> Path | None:
    """The unpacked graph file of a dataset, whatever its content; None when there is none."""
    for form in dataset.forms:
        if (path := graph_path(dataset, form)).is_file():
            return path
    return None


def held(dataset: Dataset) -> Held | None:
    """The graph file of a dataset, its checksum computed anew; None when there is none.

    Raises InputError when the file is neither the registry's nor the one that was fetched.
    """
    path = local_file(dataset)
    if path is None:
        return None
    form = next(form for form in dataset.forms if graph_path(dataset, form) == path)
    digest, note = sha256_file(path), read_note(path)
    if note.get("sha256") != digest:
        note = {}
    if form.sha256 is not None:
        if digest == form.sha256:
            return Held(dataset, form, path, digest, True, note)
        raise InputError(f"sha256 {digest} is not the registered {form.sha256}", path=path, remedy=_again(dataset))
    if not note:
        raise InputError("the file changed since it was fetched", path=path, remedy=_again(dataset))
    return Held(dataset, form, path, digest, note.get("checked") == "sha256", note)


def _again(dataset: Dataset) -> str:
    return f"grailbench fetch {dataset.name}"


def read_note(path: Path) -> dict:
    """The note about a graph file or an archive; empty when there is none. A damaged one is none, and the log says so.

    What was counted of the graph is left out of a note from before notes had checksums, and is counted anew.
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
    """Remove a graph file or an archive, and the note about it."""
    note_path(path).unlink(missing_ok=True)
    path.unlink(missing_ok=True)


@contextmanager
def temporary(beside: Path) -> Iterator[Path]:
    """An empty file in the folder of `beside`, ending in its name; gone at the end unless moved away."""
    beside.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".", suffix=f".{beside.name}", dir=beside.parent)
    os.close(handle)
    path = Path(name)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def publish(path: Path, to: Path) -> None:
    """Move a finished temporary file to its place, readable as any other file of the user's."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)
    os.replace(path, to)


# ---------------------------------------------------------------------------------------------- the lock file


def lock_path() -> Path:
    """Where the checksums first seen on this machine are kept."""
    return paths.cache_dir() / "datasets.lock.toml"


class _Locked(BaseModel):
    model_config = ConfigDict(extra="allow")

    sha256: str


_Lock = RootModel[dict[str, _Locked]]


def locked_sha256(file: str) -> str | None:
    """The sha256 a file had when it was first fetched here; None when it never was."""
    return _read_lock().get(file, {}).get("sha256")


def lock(file: str, digest: str, size: int, source: str) -> None:
    """Write down the sha256 of a file's first fetch; an entry that is there already stays."""
    path = lock_path()
    with (path.with_suffix(".guard")).open("a") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        entries = _read_lock()
        if file in entries:
            return
        entries[file] = {
            "sha256": digest,
            "bytes": size,
            "source": source,
            "first_fetched": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        with atomic_file(path) as stream:
            stream.write(_toml(entries).encode())


def _read_lock() -> dict:
    path = lock_path()
    return settings.read(path, _Lock, remedy="mend or delete it").model_dump() if path.exists() else {}


def _toml(entries: dict) -> str:
    lines = ["# sha256 of files as first fetched here; the registry cannot vouch for them.\n"]
    for file, entry in sorted(entries.items()):
        lines.append(f"\n[{json.dumps(file)}]\n")
        # A JSON string without control characters is a TOML basic string, and so is an integer.
        lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in entry.items()]
    return "".join(lines)
