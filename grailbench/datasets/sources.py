"""Where a file may come from, and getting it from there without waiting long for a host that is not there.

pooch carries the bytes of an http source; folders need nothing but the standard library.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from grailbench.errors import InputError

CONNECT_S = 3.0  #: the most to wait for a host's name and connection
READ_S = 10.0  #: the most to wait for the next bytes
_BLOCK = 1 << 18


class SourceFailed(Exception):
    """One source did not give a usable file; the next may."""


class Cancelled(Exception):
    """The user interrupted; stop at the next block."""


def folder_of(source: str) -> Path | None:
    """The path of a source that lies on this machine (a plain path or a file:// URL), None for a remote one.

    Raises InputError for a scheme nobody here can read.
    """
    parts = urlsplit(source)
    if parts.scheme in ("http", "https"):
        return None
    if parts.scheme == "file":
        if parts.netloc not in ("", "localhost"):
            raise InputError(f"{source}: a file:// URL names a path of this machine", remedy="use file:///path")
        return Path(unquote(parts.path))
    if "://" in source:
        raise InputError(f"{source}: sources are folders, file://, http:// or https:// URLs")
    return Path(source).expanduser()


@dataclass
class Hosts:
    """Remembers which hosts cannot be reached, so that only the first file of a host waits for it.

    connect, read  seconds to wait for a connection, and for the next bytes
    """

    connect: float = CONNECT_S
    read: float = READ_S
    _dead: dict[str, str] = field(default_factory=dict)
    _alive: set[str] = field(default_factory=set)
    _locks: dict[str, threading.Lock] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def check(self, url: str) -> None:
        """Raise SourceFailed when the host of `url` is known, or found, to be out of reach."""
        host, door = urlsplit(url).hostname or "", _door(url)
        with self._guard:
            lock = self._locks.setdefault(host, threading.Lock())
        with lock:
            if host not in self._dead and host not in self._alive:
                reason = _knock(*door, self.connect)
                if reason is None:
                    self._alive.add(host)
                else:
                    self._dead[host] = reason
        if host in self._dead:
            raise SourceFailed(f"{host} is out of reach: {self._dead[host]}")

    def bury(self, url: str, reason: str) -> SourceFailed:
        """Remember that the host of `url` failed us; returns the error to raise."""
        host = urlsplit(url).hostname or ""
        self._dead[host] = reason
        return SourceFailed(f"{host} is out of reach: {reason}")


#: What this process has learnt about hosts.
HOSTS = Hosts()


def _door(url: str) -> tuple[str, int]:
    """Host and port to connect to for a URL: its own, or those of the proxy that the environment names."""
    parts = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if proxy and not proxy_bypass(parts.hostname or ""):
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def _knock(host: str, port: int, seconds: float) -> str | None:
    """Why a host cannot be reached, or None. Resolvers take no timeout: they wait in a thread left behind."""
    answer: list[str | None] = []

    def knock():
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            answer.append(error.strerror or str(error))
            return
        # One address a family: where IPv6 leads nowhere, IPv4 still gets its turn in time.
        doors = {family: address for family, _, _, _, address in reversed(found)}
        reason = "it has no address"
        for address in doors.values():
            try:
                socket.create_connection(address[:2], timeout=seconds / len(doors)).close()
                answer.append(None)
                return
            except OSError as error:
                reason = error.strerror or str(error)
        answer.append(reason)

    thread = threading.Thread(target=knock, daemon=True)
    thread.start()
    thread.join(seconds + 0.5)
    return answer[0] if answer else f"no answer in {seconds:g} s"


class Progress:
    """What `transfer` tells of itself; this one says nothing. Also pooch's progress-bar protocol."""

    total: int | None = None

    def update(self, count: int) -> None:
        """`count` more bytes came."""

    def reset(self) -> None:
        """Begin again at zero."""

    def close(self) -> None:
        """The file is here, or will not come."""


def transfer(source: str, into: Path, hosts: Hosts, progress: Progress, cancelled: Callable[[], bool]) -> None:
    """Copy or download `source` to the temporary file `into`.

    Raises SourceFailed when it cannot be had, Cancelled when `cancelled()` turns true on the way.
    """
    watched = _Watched(progress, cancelled)
    folder = folder_of(source)
    if folder is not None:
        _copy(folder, into, watched)
    else:
        hosts.check(source)
        _download(source, into, hosts, watched)


class _Watched(Progress):
    def __init__(self, progress: Progress, cancelled: Callable[[], bool]):
        self._progress, self._cancelled = progress, cancelled

    @property
    def total(self) -> int | None:
        return self._progress.total

    @total.setter
    def total(self, value: int | None) -> None:
        self._progress.total = value

    def update(self, count: int) -> None:
        if self._cancelled():
            raise Cancelled
        self._progress.update(count)

    def reset(self) -> None:
        self._progress.reset()

    def close(self) -> None:
        self._progress.close()


def _copy(path: Path, into: Path, progress: Progress) -> None:
    try:
        source = path.open("rb")
    except OSError as error:
        raise SourceFailed("no such file" if isinstance(error, FileNotFoundError) else str(error)) from error
    with source, into.open("wb") as out:
        progress.total = os.fstat(source.fileno()).st_size
        while True:
            try:
                block = source.read(_BLOCK)
            except OSError as error:
                raise SourceFailed(str(error)) from error
            if not block:
                break
            out.write(block)
            progress.update(len(block))
    progress.close()


def _download(url: str, into: Path, hosts: Hosts, progress: Progress) -> None:
    try:
        import pooch
        import requests
    except ImportError as error:
        raise SourceFailed(f"{error.name} is not installed, and only it can download") from error
    # Asked for gzip, a server may unpack a .gz on the way, and its checksum would not hold.
    get = pooch.HTTPDownloader(
        progressbar=progress,
        chunk_size=_BLOCK,
        timeout=(hosts.connect, hosts.read),
        headers={"Accept-Encoding": "identity", "User-Agent": "grailbench"},
    )
    try:
        get(url, str(into), None)
    except requests.HTTPError as error:
        raise SourceFailed(f"the server answered {error.response.status_code} {error.response.reason}") from error
    except (requests.ConnectionError, requests.Timeout) as error:
        raise hosts.bury(url, _innermost(error)) from error
    except requests.RequestException as error:
        raise SourceFailed(_innermost(error)) from error


def _innermost(error: BaseException) -> str:
    """The cause at the root of a chain that requests and urllib3 wrap many times."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return str(error) or type(error).__name__


def git_blob(path: Path) -> str:
    """Hex id under which git stores a file: SHA-1 over 'blob <size>\\0' and the content."""
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as file:
        shutil.copyfileobj(file, _Digesting(digest), _BLOCK)
    return digest.hexdigest()


class _Digesting:
    def __init__(self, digest):
        self.write = digest.update
