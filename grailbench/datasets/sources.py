"""Where a file may come from, and getting it from there without waiting long for a host that is not there.

pooch carries the bytes of an http source; folders need nothing but the standard library.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from grailbench.errors import InputError
from grailbench.files import opened

CONNECT_S = 3.0  #: the most to wait for a host's name and connection
READ_S = 10.0  #: the most to wait for the next bytes
GRACE_S, LEAST_RATE = 60.0, 16 << 10  #: a download may take so long, and longer by a second for so many bytes,
TOTAL_S = 3600.0  #: and this long at most
UNREGISTERED = 4 << 30  #: bytes that are taken of a file whose size the registry does not know
_BLOCK = 1 << 18
_GLANCE_S = 0.1


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
    grace, total   seconds that a whole file may take, whatever its size
    """

    connect: float = CONNECT_S
    read: float = READ_S
    grace: float = GRACE_S
    total: float = TOTAL_S
    _dead: dict[str, str] = field(default_factory=dict)
    _alive: set[str] = field(default_factory=set)
    _locks: dict[str, threading.Lock] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def patience(self, size: int) -> float:
        """Seconds that a file of at most `size` bytes may take."""
        return min(self.total, self.grace + size / LEAST_RATE)

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


def transfer(
    source: str, into: Path, most: int, hosts: Hosts, progress: Progress, cancelled: Callable[[], bool]
) -> None:
    """Copy or download `source` to the temporary file `into`; a download ends within `hosts.patience(most)`.

    Raises SourceFailed when it cannot be had or has more than `most` bytes, Cancelled when `cancelled()` turns true on
    the way.
    """
    folder = folder_of(source)
    with into.open("wb") as out:
        metered = _Metered(out, most, progress, cancelled)
        if folder is not None:
            _copy(folder, metered)
        else:
            hosts.check(source)
            _download(source, metered, hosts)
    progress.close()


class _Metered:
    """A file that takes no more than a number of bytes, and tells how it fills."""

    def __init__(self, out, most: int, progress: Progress, cancelled: Callable[[], bool]):
        self._out, self.most, self._left, self._progress, self.cancelled = out, most, most, progress, cancelled
        self._over = False
        self._writing = threading.Lock()

    def expect(self, size: int | None) -> None:
        """So many bytes are to come; None when nobody knows. Raises SourceFailed when they are too many."""
        self._check(size or 0)
        self._progress.total = size

    def write(self, block) -> None:
        with self._writing:
            if self._over or self.cancelled():
                raise Cancelled
            self._check(len(block))
            self._left -= len(block)
            self._out.write(block)
        self._progress.update(len(block))

    def flush(self) -> None:
        """What was written goes to the disk when the file is closed."""

    def end(self) -> None:
        """Take nothing any more: whoever still writes is stopped."""
        with self._writing:
            self._over = True

    def _check(self, coming: int) -> None:
        if coming > self._left:
            raise SourceFailed(f"it has more than {self.most:,} bytes, the most that are taken of it")


def _copy(path: Path, out: _Metered) -> None:
    try:
        with opened(path, pipes=False) as source:
            out.expect(source.raw.size)
            for begin in range(0, source.raw.size, _BLOCK):
                out.write(source.raw[begin : begin + _BLOCK])
    except InputError as error:
        raise SourceFailed("no such file" if not path.exists() else str(error)) from error


def _download(url: str, out: _Metered, hosts: Hosts) -> None:
    """Download in a thread that is left behind where the server is too slow: a read that waits cannot be ended."""
    ended: list[BaseException | None] = []
    done = threading.Event()

    def work():
        try:
            _get(url, out, hosts)
            ended.append(None)
        except BaseException as error:  # handed to the thread that waits
            ended.append(error)
        done.set()

    patience = hosts.patience(out.most)
    last = time.monotonic() + patience
    try:
        threading.Thread(target=work, name="download", daemon=True).start()
        while not done.wait(min(_GLANCE_S, max(0.0, last - time.monotonic()))):
            if out.cancelled():
                raise Cancelled
            if time.monotonic() >= last:
                raise hosts.bury(url, f"the file was not whole after {patience:g} s")
    finally:
        out.end()
    if ended[0] is not None:
        raise ended[0]


def _get(url: str, out: _Metered, hosts: Hosts) -> None:
    try:
        import pooch
        import requests
    except ImportError as error:
        raise SourceFailed(f"{error.name} is not installed, and only it can download") from error
    # Asked for gzip, a server may unpack a .gz on the way, and its checksum would not hold.
    get = pooch.HTTPDownloader(
        progressbar=_Total(out),
        chunk_size=_BLOCK,
        timeout=(hosts.connect, hosts.read),
        headers={"Accept-Encoding": "identity", "User-Agent": "grailbench"},
    )
    try:
        get(url, out, None)
    except requests.HTTPError as error:
        raise SourceFailed(f"the server answered {error.response.status_code} {error.response.reason}") from error
    except (requests.ConnectionError, requests.Timeout) as error:
        raise hosts.bury(url, _innermost(error)) from error
    except requests.RequestException as error:
        raise SourceFailed(_innermost(error)) from error


class _Total(Progress):
    """pooch's progress bar, of which only the total is heard: it counts whole blocks, whatever came."""

    def __init__(self, out: _Metered):
        self._out = out

    @property
    def total(self) -> int | None:
        return None

    @total.setter
    def total(self, value: int | None) -> None:
        self._out.expect(value or None)


def _innermost(error: BaseException) -> str:
    """The cause at the root of a chain that requests and urllib3 wrap many times."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return str(error) or type(error).__name__
