"""Fetching graph files into the cache: each source is tried in turn, and only complete, checked files stay.

An archive is downloaded to a temporary file, checked against its checksum and moved into place; then its graph is
unpacked to a temporary file, which is checked (or read completely where no checksum is known) and moved into place.
"""

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from grailbench.data import cache, sources
from grailbench.data.cache import CachedFile
from grailbench.data.registry import Archive, Dataset, Form
from grailbench.data.sources import OutOfReach, SourceFailed, folder_of
from grailbench.errors import InputError, of_system
from grailbench.graph.store import sha256_file
from grailbench.util import caches, paths, temporary
from grailbench.util.files import git_blob

_HOSTS = sources.Hosts()  # of this process
_SILENT = nullcontext(lambda total, more: None)
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


def fetch(
    datasets: Iterable[Dataset],
    mirror: str | None = None,
    offline: bool = False,
    jobs: int = 1,
    progress: Callable[[str], AbstractContextManager[sources.Tell]] = lambda name: _SILENT,
    hosts: sources.Hosts = _HOSTS,
) -> list[FetchResult]:
    """Fetch the graph files of `datasets` into the cache. Returns the results in the same order.

    mirror    folder or URL that is tried before the sources of the registry; `GRAILBENCH_MIRROR` when None. A folder
              may hold the archives or the unpacked graph files, at their paths in the archive or side by side, in it
              or in a folder of it that has the name of their set
    offline   use folders only, no network
    jobs      number of threads; an archive is fetched only once, even if it holds several datasets
    progress  gives what takes the progress of the transfer of a file, given the name of the file, until it ends
    hosts     which hosts failed before, and how long they may take; shared by the process by default

    A source that fails is a reason in the result, not an error. Raises InputError when the mirror is neither a
    folder nor a URL, or when the cache cannot be written.
    """
    datasets = list(datasets)
    if jobs < 1:
        raise InputError(f"{jobs} jobs: at least one is needed")
    mirror = mirror if mirror is not None else os.environ.get("GRAILBENCH_MIRROR") or None
    if mirror is not None:
        folder = folder_of(mirror)
        mirror = mirror if folder is None else str(folder.absolute())
        if folder is not None and not folder.is_dir():
            raise InputError(f"the mirror {mirror} is no folder", remedy="name a folder of archives, or a URL")
    try:
        for folder in ("downloads", "graphs"):
            temporary.sweep(paths.cache_dir() / folder)
        return _Fetch(mirror, offline, progress, hosts).all(datasets, jobs)
    except OSError as error:
        error.filename = error.filename or str(paths.cache_dir())
        raise of_system(error) from error


class _Fetch:
    def __init__(self, mirror: str | None, offline: bool, progress, hosts: sources.Hosts):
        self.mirror, self.offline, self.progress, self.hosts = mirror, offline, progress, hosts
        self._stop = threading.Event()
        self._locks: dict[str, threading.Lock] = {}  # by archive
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
            if (found := cache.cached_file(dataset)) is not None:
                return FetchResult(dataset, "held", found)
        except InputError as error:
            reasons.append(str(error))
            if any(cache.foreign(cache.graph_path(dataset, form)) for form in dataset.forms):
                return FetchResult(dataset, "missing", reasons=tuple(reasons))
        for form, place in self._sources(dataset):
            if self.offline and folder_of(place) is None:
                continue
            if self._stop.is_set():
                raise sources.Cancelled
            try:
                return FetchResult(dataset, "fetched", self._take(dataset, form, place), tuple(reasons))
            except SourceFailed as error:
                _log.info("%s: %s: %s", dataset.name, place, error)
                reasons.append(str(error) if isinstance(error, OutOfReach) else f"{place}: {error}")
        if self.offline and not reasons:
            reasons.append("not in the cache, and no folder is named to fetch it from")
        return FetchResult(dataset, "missing", reasons=tuple(dict.fromkeys(reasons)))

    def _sources(self, dataset: Dataset) -> Iterator[tuple[Form, str]]:
        """The places to get a form of the graph from, its archive or the unpacked file, in the order to try them."""
        for form in dataset.forms:
            if (path := cache.download_path(form.archive)).is_file():
                yield form, str(path)
        for form in dataset.forms if self.mirror is not None else ():
            if (folder := folder_of(self.mirror)) is None:
                yield form, f"{self.mirror.rstrip('/')}/{form.archive}"
                continue
            for place in (folder, folder / dataset.set):
                for inside in dict.fromkeys((form.member, form.graph_file)):
                    if inside is not None and (place / inside).is_file():
                        yield form, str(place / inside)
            of_set = folder / dataset.set / form.archive
            yield form, str(of_set if of_set.is_file() else folder / form.archive)
        for form in dataset.forms:
            yield from ((form, url) for url in dataset.archives[form.archive].urls)

    def _take(self, dataset: Dataset, form: Form, place: str) -> CachedFile:
        """Bring the graph file from one place into the cache and write its note. Raises SourceFailed."""
        archive, graph = dataset.archives[form.archive], cache.graph_path(dataset, form)
        if place.endswith(f"/{form.graph_file}") and form.graph_file != form.archive:
            with temporary.File(graph) as made:
                self._transfer(place, made.path, sources.UNPACKED)
                return _install(dataset, form, made, {"source": place})
        with self._locks[archive.file]:
            if (archive.file, place) in self._failed:
                raise SourceFailed(self._failed[archive.file, place])
            path = cache.download_path(archive.file)
            try:
                note = self._archive(archive, place, path)
                with temporary.File(graph) as made:
                    sources.unpack(path, form.member, made.path)
                    return _install(dataset, form, made, note)
            except SourceFailed as error:
                self._failed[archive.file, place] = str(error)
                cache.discard(path)
                raise

    def _archive(self, archive: Archive, place: str, path: Path) -> dict:
        """Bring the archive from one place to its path in the cache, checked. Returns its note. Raises SourceFailed."""
        caches.use(path)
        if path.is_file() and ((note := cache.read_note(path)) or place == str(path)):
            return {"source": place} | note | _checked(archive, path)
        with temporary.File(path) as made:
            self._transfer(place, made.path, archive.bytes or sources.UNREGISTERED)
            with open(made.path, "rb") as file:
                begin = file.read(256).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
            if begin.startswith((b"<!doctype html", b"<html")):
                raise SourceFailed("a web page came in place of the file: open the address in a browser to read it")
            note = {"source": place} | _checked(archive, made.path)
            if cache.foreign(path):
                raise SourceFailed(f"{path} was not fetched by grailbench: move it elsewhere")
            cache.publish(made, path, note)
        return note

    def _transfer(self, place: str, into: Path, most: int) -> None:
        with self.progress(place.rpartition("/")[2]) as tell:
            sources.transfer(place, into, most, self.hosts, tell, self._stop.is_set)


def _install(dataset: Dataset, form: Form, made: temporary.File, note: dict) -> CachedFile:
    """Check an unpacked graph file, and move it into place. Raises SourceFailed."""
    digest, path = sha256_file(made.path), cache.graph_path(dataset, form)
    if form.sha256 is None:
        _check_readable(dataset, form, made.path)
    elif digest != form.sha256:
        raise SourceFailed(f"the graph file's sha256 is {digest}, not the registered {form.sha256}")
    for other in dataset.forms:
        if cache.graph_path(dataset, other) != path:
            cache.discard(cache.graph_path(dataset, other))
    note = note | {"sha256": digest, "fetched": datetime.now(UTC).isoformat(timespec="seconds")}
    cache.publish(made, path, note)
    return CachedFile(dataset, form, path, digest, note)


def _checked(archive: Archive, path: Path) -> dict:
    """The sha256 of an archive, and what it was checked against. Raises SourceFailed when it is not the registered
    one."""
    digest = sha256_file(path)
    if archive.sha256 not in (None, digest):
        raise SourceFailed(f"its sha256 is {digest}, not the registered {archive.sha256}")
    known = archive.git_blob is not None and git_blob(path) == archive.git_blob
    return {"archive_sha256": digest, "checked": "sha256" if archive.sha256 else "git-blob" if known else "none"}


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
