"""Fetching graph files into the cache: each source is tried in turn, and only complete, checked files are kept.

The sources of a graph file are, in this order: the cache, archives that were downloaded before, the mirror, and the
sources in the registry. An archive is downloaded to a temporary file, checked against its checksum and moved into
place. Then it is unpacked to a temporary file, which is checked against the checksum of the graph (or read completely
where none is known) and moved into place. Files in the cache are not fetched again, so an interrupted fetch continues
with the next file.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from grailbench.data import cache
from grailbench.data.cache import CachedFile
from grailbench.data.registry import Archive, Dataset, Form
from grailbench.data.sources import (
    HOSTS,
    LIMITS,
    UNREGISTERED,
    Cancelled,
    Hosts,
    Limits,
    Progress,
    SourceFailed,
    folder_of,
    transfer,
    unpack,
)
from grailbench.errors import InputError, of_system
from grailbench.graph.store import sha256_file
from grailbench.util import caches, paths, temporary
from grailbench.util.files import git_blob

#: What a graph file was checked against. Only the first is verification.
CHECKS = {
    "sha256": "the registry's sha256",
    "git-blob": "its id in the GRAIL authors' repository (SHA-1)",
    "lock": "the sha256 of the first fetch on this machine",
    "first": "nothing: first fetched here, its sha256 written to the lock file",
}

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FetchResult:
    """The result of fetching one dataset.

    status   'held' (it was in the cache), 'fetched' or 'missing'
    file     its file in the cache; None when missing
    reasons  why each source that was tried failed
    """

    dataset: Dataset
    status: str
    file: CachedFile | None = None
    reasons: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The dataset's canonical name."""
        return self.dataset.name


@dataclass(frozen=True)
class _Source:
    """A place to get the archive of a form from or, if `plain`, its unpacked graph file."""

    form: Form
    place: str
    plain: bool = False


def fetch(
    datasets: Iterable[Dataset],
    mirror: str | None = None,
    offline: bool = False,
    jobs: int = 1,
    progress: Callable[[str], Progress] = lambda name: Progress(),
    *,
    hosts: Hosts = HOSTS,
    limits: Limits = LIMITS,
) -> list[FetchResult]:
    """Fetch the graph files of `datasets` into the cache. Returns the results in the same order.

    mirror    folder or URL that is tried before the sources of the registry; `GRAILBENCH_MIRROR` when None. A folder
              may hold the archives or the unpacked graph files, at their paths in the archive or side by side, in it
              or in a folder of it that has the name of their set
    offline   use folders only, no network
    jobs      number of threads; an archive is fetched only once, even if it holds several datasets
    progress  makes the `Progress` for the transfer of a file, given the name of the file
    hosts     which hosts are known to be unreachable; shared by the process by default
    limits    how many bytes an archive may unpack to

    A source that fails is a reason in the result, not an error. Raises InputError when the mirror is neither a
    folder nor a URL, or when the cache cannot be written.
    """
    datasets = list(datasets)
    if jobs < 1:
        raise InputError(f"{jobs} jobs: at least one is needed")
    mirror = mirror if mirror is not None else paths.mirror()
    if mirror is not None:
        folder = folder_of(mirror)
        mirror = mirror if folder is None else str(folder.absolute())
        if folder is not None and not folder.is_dir():
            raise InputError(f"the mirror {mirror} is no folder", remedy="name a folder of archives, or a URL")
    try:
        for folder in ("downloads", "graphs"):
            temporary.sweep(paths.cache_dir() / folder)
        return _Fetch(mirror, offline, progress, hosts, limits).all(datasets, jobs)
    except OSError as error:
        error.filename = error.filename or str(paths.cache_dir())
        raise of_system(error) from error


class _Fetch:
    def __init__(self, mirror, offline, progress: Callable[[str], Progress], hosts: Hosts, limits: Limits):
        self.mirror, self.offline, self.progress = mirror, offline, progress
        self.hosts, self.limits = hosts, limits
        self._stop = threading.Event()
        self._locks: dict[str, threading.Lock] = {}  # by archive
        self._arrived: dict[str, dict] = {}  # the notes of checked archives in the cache, by archive
        self._failed: dict[tuple[str, str], str] = {}  # reasons by (archive, place), so that no place is tried twice

    def all(self, datasets: list[Dataset], jobs: int) -> list[FetchResult]:
        self._locks = {form.archive: threading.Lock() for dataset in datasets for form in dataset.forms}
        if jobs == 1:
            return [self.one(dataset) for dataset in datasets]
        pool = ThreadPoolExecutor(jobs, thread_name_prefix="fetch")
        try:
            return list(pool.map(self.one, datasets))
        finally:
            # After Ctrl-C or an error such as a full disk, the other threads stop at their next block and clean up.
            self._stop.set()
            pool.shutdown(wait=True, cancel_futures=True)

    def one(self, dataset: Dataset) -> FetchResult:
        reasons = []
        try:
            found = cache.cached_file(dataset)
            if found is not None:
                return FetchResult(dataset, "held", found)
        except InputError as error:
            reasons.append(str(error))
            if any(cache.foreign(cache.graph_path(dataset, form)) for form in dataset.forms):
                return FetchResult(dataset, "missing", reasons=tuple(reasons))
        for source in self._sources(dataset):
            if self._stop.is_set():
                raise Cancelled
            try:
                return FetchResult(dataset, "fetched", self._take(dataset, source), tuple(reasons))
            except SourceFailed as error:
                reason = str(error)
                _log.info("%s: %s: %s", dataset.name, source.place, reason)
                reasons.append(reason if "out of reach" in reason else f"{source.place}: {reason}")
        if self.offline and not reasons:
            reasons.append("not in the cache, and no folder is named to fetch it from")
        return FetchResult(dataset, "missing", reasons=tuple(dict.fromkeys(reasons)))

    def _sources(self, dataset: Dataset) -> Iterator[_Source]:
        for form in dataset.forms:
            if (path := cache.download_path(form.archive)).is_file():
                yield _Source(form, str(path))
        if self.mirror is not None:
            for form in dataset.forms:
                yield from self._mirrored(form, dataset.set)
        for form in dataset.forms:
            for url in dataset.archives[form.archive].urls:
                if folder_of(url) is not None or not self.offline:
                    yield _Source(form, url)

    def _mirrored(self, form: Form, part: str) -> Iterator[_Source]:
        folder = folder_of(self.mirror)
        if folder is None:
            if not self.offline:
                yield _Source(form, f"{self.mirror.rstrip('/')}/{form.archive}")
            return
        for place in (folder, folder / part):
            for inside in dict.fromkeys((form.member, form.graph_file)):
                if inside is not None and (place / inside).is_file():
                    yield _Source(form, str(place / inside), plain=True)
        of_set = folder / part / form.archive
        yield _Source(form, str(of_set if of_set.is_file() else folder / form.archive))

    def _take(self, dataset: Dataset, source: _Source) -> CachedFile:
        """Bring the graph file from one source into the cache and write its note. Raises SourceFailed."""
        form, archive = source.form, dataset.archives[source.form.archive]
        if source.plain:
            with cache.temporary(cache.graph_path(dataset, form)) as graph:
                self._transfer(source.place, graph, self.limits.bytes)
                note = self._checked(dataset, form, graph, {"source": source.place})
                return self._install(dataset, form, graph, note)
        with self._locks[archive.file]:
            path, note = self._archive(archive, source.place)
            try:
                with cache.temporary(cache.graph_path(dataset, form)) as graph:
                    _unpack(path, form, graph, self.limits)
                    checked = self._checked(dataset, form, graph, note)
                    if archive.sha256 is None:  # before the graph is there: then nothing asks for the archive again
                        _lock(archive.file, note["archive_sha256"], path, note["source"])
                    return self._install(dataset, form, graph, checked)
            except SourceFailed as error:
                self._arrived.pop(archive.file, None)
                self._failed[archive.file, source.place] = str(error)
                cache.discard(path)
                raise

    def _archive(self, archive: Archive, place: str) -> tuple[Path, dict]:
        """Bring the archive from one place into the cache, checked. Returns its path and note. Raises SourceFailed."""
        path = cache.download_path(archive.file)
        caches.use(path, coming=True)
        if archive.file in self._arrived:
            return path, self._arrived[archive.file]
        if (archive.file, place) in self._failed:
            raise SourceFailed(self._failed[archive.file, place])
        try:
            if place == str(path):
                note = {"source": place} | cache.read_note(path) | _check(archive, path)
            else:
                with cache.temporary(path) as arriving:
                    self._transfer(place, arriving, archive.bytes or UNREGISTERED)
                    _check_no_page(arriving)
                    note = {"source": place} | _check(archive, arriving)
                    if cache.foreign(path):
                        raise SourceFailed(f"{path} was not fetched by grailbench: move it elsewhere")
                    cache.write_note(path, {"source": place, "archive_sha256": note["archive_sha256"]})
                    cache.publish(arriving, path)
        except SourceFailed as error:
            if place == str(path):
                cache.discard(path)
            else:
                self._failed[archive.file, place] = str(error)
            raise
        self._arrived[archive.file] = note
        return path, note

    def _transfer(self, place: str, into: Path, most: int) -> None:
        progress = self.progress(place.rpartition("/")[2])
        try:
            transfer(place, into, most, self.hosts, progress, self._stop.is_set)
        finally:
            progress.close()

    def _checked(self, dataset: Dataset, form: Form, graph: Path, note: dict) -> dict:
        """Check an unpacked graph file. Returns the note with its checksum, and how it was checked. Raises
        SourceFailed."""
        digest = sha256_file(graph)
        if form.sha256 is None:
            if "checked" not in note:
                note = note | {"checked": _compare_with_lock(form.graph_file, digest)}
            _check_readable(dataset, form, graph)
            if "archive_sha256" not in note:
                _lock(form.graph_file, digest, graph, note["source"])
        elif digest != form.sha256:
            raise SourceFailed(f"the graph file's sha256 is {digest}, not the registered {form.sha256}")
        else:
            note = note | {"checked": "sha256"}
        return note | {"sha256": digest}

    def _install(self, dataset: Dataset, form: Form, graph: Path, note: dict) -> CachedFile:
        """Move a checked graph file into place, with its note. The note comes first: whoever is killed in between has a
        note without its file, which is not used, and no file without knowing where it is from."""
        path = cache.graph_path(dataset, form)
        for other in dataset.forms:
            if cache.graph_path(dataset, other) != path:
                cache.discard(cache.graph_path(dataset, other))
        caches.use(path, coming=True)
        note = note | {"fetched": datetime.now(UTC).isoformat(timespec="seconds")}
        cache.write_note(path, note)
        cache.publish(graph, path)
        return CachedFile(dataset, form, path, note["sha256"], note["checked"] == "sha256", note)


def _check_no_page(path: Path) -> None:
    """Raises SourceFailed for a web page, which servers send in place of a file."""
    with open(path, "rb") as file:
        begin = file.read(256).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if begin.startswith((b"<!doctype html", b"<html")):
        raise SourceFailed("a web page came in place of the file: open the address in a browser to see what it says")


def _check(archive: Archive, path: Path) -> dict:
    """Compare an archive with its known checksums. Raises SourceFailed when one differs."""
    digest = sha256_file(path)
    if archive.sha256 is not None:
        if digest != archive.sha256:
            raise SourceFailed(f"its sha256 is {digest}, not the registered {archive.sha256}")
        return {"archive_sha256": digest, "checked": "sha256"}
    checked = _compare_with_lock(archive.file, digest)
    if archive.git_blob is not None and git_blob(path) == archive.git_blob:
        checked = "git-blob"
    return {"archive_sha256": digest, "checked": checked}


def _compare_with_lock(file: str, digest: str) -> str:
    """'lock' when the checksum is that of the first fetch on this machine, 'first' when this is the first fetch.

    Raises SourceFailed when the checksum is another one.
    """
    locked = cache.locked_sha256(file)
    _require_locked(locked or digest, digest)
    return "first" if locked is None else "lock"


def _lock(file: str, digest: str, path: Path, source: str) -> None:
    """Record the checksum of a first fetch. Raises SourceFailed when another process fetched another file meanwhile."""
    _require_locked(cache.lock(file, digest, path.stat().st_size, source), digest)


def _require_locked(locked: str, digest: str) -> None:
    if locked != digest:
        raise SourceFailed(
            f"its sha256 is {digest}, but {locked} when first fetched here; "
            f"delete its entry in {cache.lock_path()} to accept the new file"
        )


def _unpack(archive: Path, form: Form, graph: Path, limits: Limits) -> None:
    try:
        unpack(archive, form.member, graph, limits)
    except InputError as error:
        raise SourceFailed(str(error).replace(str(archive), archive.name)) from error


def _check_readable(dataset: Dataset, form: Form, graph: Path) -> None:
    """Read a graph file whose checksum is unknown, before its checksum is recorded: truncated copies exist.

    Raises SourceFailed when it cannot be read or its number of vertices is not the printed one.
    """
    from grailbench.graph.readers import read_graph

    try:
        vertices = read_graph(graph, form.format).vertices
    except InputError as error:
        raise SourceFailed(str(error).replace(str(graph), form.graph_file)) from error
    for row in dataset.published:
        if vertices != row.vertices - row.super_root:
            raise SourceFailed(f"it holds {vertices:,} vertices, but {row.where} prints {row.vertices:,}")
