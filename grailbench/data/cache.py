"""Graph files in the cache, with a note beside each.

cache/downloads/<archive>     archives as they were downloaded, after their checksum was checked
cache/graphs/<name>.<format>  one unpacked graph file per dataset
cache/*/<file>.json           the note about a file: its source, its sha256 and when it was fetched
"""

import json
import logging
from dataclasses import dataclass
from pathlib import Path

from grailbench.data.registry import Dataset, Form
from grailbench.errors import InputError
from grailbench.graph.store import sha256_file
from grailbench.util import caches, outputs, paths, temporary
from grailbench.util.outputs import atomic_file
from grailbench.util.records import opened, sealed

_log = logging.getLogger(__name__)


#: what a graph file was checked against; only the first is verification
CHECKS = {
    "sha256": "the registry's sha256",
    "git-blob": "its id in the GRAIL authors' repository (SHA-1)",
    "none": "nothing: no checksum of it is known",
}


@dataclass(frozen=True)
class CachedFile:
    """A graph file in the cache, with its current checksum.

    note  recorded when the file was fetched: source, archive_sha256, checked, fetched; empty if there is none
    """

    dataset: Dataset
    form: Form
    path: Path
    sha256: str
    note: dict

    @property
    def verified(self) -> bool:
        """Whether its sha256, or that of its archive, is the one in the registry."""
        return self.checked == "sha256"

    @property
    def checked(self) -> str:
        """How the file was checked, a key of `CHECKS`."""
        found = "sha256" if self.form.sha256 is not None else self.note.get("checked")
        return found if found in CHECKS else "none"


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
    return next((path for form in dataset.forms if (path := graph_path(dataset, form)).is_file()), None)


def cached_file(dataset: Dataset) -> CachedFile | None:
    """The graph file of a dataset, with its checksum computed again; None when there is no file.

    Raises InputError when the file is neither the registered one nor the one that was fetched.
    """
    for each in dataset.forms:
        caches.use(graph_path(dataset, each))
    form = next((form for form in dataset.forms if graph_path(dataset, form).is_file()), None)
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
    return CachedFile(dataset, form, path, digest, note)


def read_note(path: Path) -> dict:
    """The note about a graph file or an archive; empty when there is none, or one without a checksum, of an older
    version. A damaged note is ignored and logged."""
    where = note_path(path)
    try:
        note, summed = opened(where.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        _log.warning("%s is damaged and is not used: %s", where, error)
        return {}
    return note if summed else {}


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


def publish(made: temporary.File, to: Path, note: dict) -> None:
    """Move a finished temporary file to its place and onto the disk, with its note, if any, and close it.

    The note comes first: whoever is killed in between has a note without its file, which is not used, and no file
    without knowing where it is from.
    """
    if note:
        write_note(to, note)
        caches.use(note_path(to))  # an entry as long as it is alone
    outputs.sync(made.path)
    made.rename(to)
    for folder in (to.parent, to.parent.parent):  # which may be new
        outputs.sync(folder)
    caches.added(to)
    made.close()
