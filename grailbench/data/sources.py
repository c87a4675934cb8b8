"""Brings files here: copies them from a folder or downloads them, and unpacks one graph file from an archive.

Unreachable hosts cost no long wait. Downloads use pooch; folders need only the standard library. Archives are not
trusted: only the wanted file is written, under a name that the caller chooses, and an archive is refused as a whole if
it holds a link, a device or a path that leads out of its folder, or if it unpacks to implausibly many bytes.
"""

from __future__ import annotations

import gzip
import shutil
import socket
import tarfile
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from grailbench.errors import InputError
from grailbench.util import paths
from grailbench.util.files import opened
from grailbench.util.words import clip

LEAST_RATE = 16 << 10  #: bytes a second that a download must reach in the long run
UNREGISTERED = 4 << 30  #: bytes that are accepted of a file whose size the registry does not give
_BLOCK = 1 << 18
_POLL_S = 0.1


class SourceFailed(Exception):
    """One source did not give a usable file. The next source is tried."""


class Cancelled(Exception):
    """The fetch was interrupted. Transfers stop at their next block."""


def folder_of(source: str) -> Path | None:
    """The path of a source on this machine (a plain path or a file:// URL), or None for a remote one.

    Raises InputError for an unknown URL scheme.
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
    return paths.expanded(source)


@dataclass
class Hosts:
    """Remembers which hosts cannot be reached, so that only the first file of a host waits for it.

    connect  seconds to wait for the address of a host and a connection
    read     seconds to wait for the next bytes
    grace    seconds that every download may take, in addition to one second for each `LEAST_RATE` bytes
    total    seconds that a download may take at most
    """

    connect: float = 3.0
    read: float = 10.0
    grace: float = 60.0
    total: float = 3600.0
    _faults: dict[str, str | None] = field(default_factory=dict)  # why a host cannot be reached, None if it can
    _locks: dict[str, threading.Lock] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def patience(self, size: int) -> float:
        """Seconds that the download of at most `size` bytes may take."""
        return min(self.total, self.grace + size / LEAST_RATE)

    def check(self, url: str) -> None:
        """Try to connect to the host of `url`, once for each host. Raises SourceFailed when it is out of reach."""
        host = urlsplit(url).hostname or ""
        with self._guard:
            lock = self._locks.setdefault(host, threading.Lock())
        with lock:
            if host not in self._faults:
                self._faults[host] = _try_connection(*_address(url), self.connect)
        if (reason := self._faults[host]) is not None:
            raise SourceFailed(f"{host} is out of reach: {reason}")

    def mark_dead(self, url: str, reason: str) -> SourceFailed:
        """Remember that the host of `url` cannot be used. Returns the error to raise."""
        host = urlsplit(url).hostname or ""
        self._faults[host] = reason
        return SourceFailed(f"{url}: {host} is out of reach: {reason}")


#: the hosts of this process
HOSTS = Hosts()


def _address(url: str) -> tuple[str, int]:
    """Host and port to connect to for a URL: its own, or those of the proxy set in the environment."""
    parts = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if proxy and not proxy_bypass(parts.hostname or ""):
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def _try_connection(host: str, port: int, seconds: float) -> str | None:
    """Why a host cannot be reached, or None. Name resolution has no timeout, so it runs in a thread that is abandoned
    if it takes too long."""
    answer: list[str | None] = []

    def connect():
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            answer.append(error.strerror or str(error))
            return
        # One address of each family, so that IPv4 is still tried in time where IPv6 does not work.
        addresses = {family: address for family, _, _, _, address in reversed(found)}
        reason = "it has no address"
        for address in addresses.values():
            try:
                socket.create_connection(address[:2], timeout=seconds / len(addresses)).close()
                answer.append(None)
                return
            except OSError as error:
                reason = error.strerror or str(error)
        answer.append(reason)

    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(seconds + 0.5)
    return answer[0] if answer else f"no answer in {seconds:g} s"


class Progress:
    """Receives the progress of a transfer and ignores it; subclasses show it. It has the methods of pooch's progress
    bars."""

    total: int | None = None

    def update(self, count: int) -> None:
        """Count `count` more bytes."""

    def reset(self) -> None:
        """Start again at zero."""

    def close(self) -> None:
        """End: the transfer is complete or has failed."""


def transfer(
    source: str, into: Path, most: int, hosts: Hosts, progress: Progress, cancelled: Callable[[], bool]
) -> None:
    """Copy or download `source` to the temporary file `into`. A download ends within `hosts.patience(most)` seconds.

    Raises SourceFailed when the file cannot be read or has more than `most` bytes, and Cancelled when `cancelled()`
    becomes true during the transfer.
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
    """A file that accepts at most a number of bytes and reports its progress."""

    def __init__(self, out, most: int, progress: Progress, cancelled: Callable[[], bool]):
        self._out, self.most, self._left, self._progress, self.cancelled = out, most, most, progress, cancelled
        self._over = False
        self._writing = threading.Lock()

    def expect(self, size: int | None) -> None:
        """Set the size of the file in bytes, None when it is unknown. Raises SourceFailed when it is too large."""
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
        """Do nothing: the file is flushed when it is closed."""

    def end(self) -> None:
        """Accept nothing more: later writes raise Cancelled."""
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
    """Download in a thread, which is abandoned if the server is too slow: a blocked read cannot be interrupted."""
    ended: list[BaseException | None] = []
    done = threading.Event()

    def work():
        try:
            _get(url, out, hosts)
            ended.append(None)
        except BaseException as error:  # the waiting thread raises it
            ended.append(error)
        done.set()

    patience = hosts.patience(out.most)
    last = time.monotonic() + patience
    try:
        threading.Thread(target=work, name="download", daemon=True).start()
        while not done.wait(min(_POLL_S, max(0.0, last - time.monotonic()))):
            if out.cancelled():
                raise Cancelled
            if time.monotonic() >= last:
                raise hosts.mark_dead(url, f"the file was not whole after {patience:g} s")
    finally:
        out.end()
    if ended[0] is not None:
        raise ended[0]


def _get(url: str, out: _Metered, hosts: Hosts) -> None:
    try:
        import pooch
        import requests
        import urllib3
    except ImportError as error:
        raise SourceFailed(f"{error.name} is not installed, and only it can download") from error
    # 'identity', because a server that is asked for gzip may send a .gz file unpacked, with another checksum.
    get = pooch.HTTPDownloader(
        progressbar=_Total(out),
        chunk_size=_BLOCK,
        timeout=(hosts.connect, hosts.read),
        headers={"Accept-Encoding": "identity", "User-Agent": "grailbench"},
        hooks={"response": _check_redirect},
    )
    try:
        get(url, out, None)
    except requests.HTTPError as error:
        raise _answered(url, error.response, hosts) from error
    except requests.TooManyRedirects as error:
        raise SourceFailed("it redirects in a circle") from error
    except requests.exceptions.ChunkedEncodingError as error:
        raise SourceFailed(f"the transfer was cut short: {_innermost(error)}") from error
    except (requests.ConnectionError, requests.Timeout) as error:
        raise hosts.mark_dead(url, _silence(error, hosts) or _innermost(error)) from error
    except (requests.RequestException, urllib3.exceptions.HTTPError, ValueError) as error:  # a size that is no number
        raise SourceFailed(_innermost(error)) from error


def _check_redirect(response, **named) -> None:
    """Raises SourceFailed for a redirect to anything but http and https, and from https to http."""
    if not response.is_redirect:
        return
    to = urljoin(response.url, response.headers["location"])
    scheme = urlsplit(to).scheme
    if scheme not in ("http", "https"):
        raise SourceFailed(f"it redirects to {_shown(to)}: only http and https are followed")
    if scheme == "http" and response.url.startswith("https:"):
        raise SourceFailed(f"it redirects from https to {_shown(to)}, which is not secure: not followed")


def _answered(url: str, response, hosts: Hosts) -> SourceFailed:
    """The error for an answer that is no file. A server that asks to wait is not asked for other files."""
    said = f"the server answered {response.status_code} {_shown(response.reason or '')}".rstrip()
    if response.status_code not in (429, 503):
        return SourceFailed(said)
    after = _shown(response.headers.get("retry-after", ""))
    when = f"in {after} s" if after.isdecimal() else f"after {after}" if after else "later"
    return hosts.mark_dead(url, f"{said}: try again {when}")


def _shown(text: str) -> str:
    """What a server said, as one short line without signs that a terminal would act on."""
    return clip("".join(sign if sign.isprintable() else "?" for sign in text), 120)


def _silence(error: BaseException, hosts: Hosts) -> str | None:
    """The message if the server sent nothing for too long, else None."""
    each: BaseException | None = error
    while each is not None:
        if isinstance(each, TimeoutError) or type(each).__name__ == "ReadTimeoutError":
            return f"it sent nothing for {hosts.read:g} s (--timeout waits longer)"
        each = each.__cause__ or each.__context__
    return None


class _Total(Progress):
    """A progress bar for pooch that uses only the total: the counts that pooch reports are of whole blocks."""

    def __init__(self, out: _Metered):
        self._out = out

    @property
    def total(self) -> int | None:
        return None

    @total.setter
    def total(self, value: int | None) -> None:
        self._out.expect(value or None)


def _innermost(error: BaseException) -> str:
    """The message of the first error of a chain: requests and urllib3 wrap errors several times. It may hold what a
    server sent."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return _shown(str(error)) or type(error).__name__


# ---------------------------------------------------------------------------------------- unpacking


_UNPACKED = 1 << 20


@dataclass(frozen=True)
class Limits:
    """How many bytes an archive may unpack to: at most `bytes`, and at most `ratio` times its own size, but `slack`
    bytes in any case.

    The archives of the registry unpack to 3 to 6 times their size, and to 0.6 GB at most.
    """

    bytes: int = 16 << 30
    ratio: float = 60.0
    slack: int = 1 << 20

    def of(self, archive: Path) -> int:
        """The number of bytes that this archive may unpack to."""
        return int(min(self.bytes, max(self.slack, self.ratio * archive.stat().st_size)))


LIMITS = Limits()


def unpack(archive: Path, member: str | None, into: Path, limits: Limits = LIMITS) -> None:
    """Write the graph file of `archive` to `into`, a temporary file that the caller discards on error.

    `member` is a path inside a .tar.gz. If it is None, the archive is a .gz file or the plain graph file itself.
    Raises InputError naming the archive when it is damaged, unsafe, over the limits, or lacks the member.
    """
    try:
        with into.open("wb") as out:
            if member is None and not archive.name.endswith(".gz"):
                with archive.open("rb") as plain:
                    shutil.copyfileobj(plain, out, _UNPACKED)
                return
            with gzip.open(archive) as unzipped:
                metered = _Bounded(unzipped, limits.of(archive), archive)
                if member is None:
                    shutil.copyfileobj(metered, out, _UNPACKED)
                else:
                    _untar(metered, archive, member, out)
                while metered.read(_UNPACKED):  # gzip checks its CRC only at the end of the stream
                    pass
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"damaged archive: {error}", path=archive) from error


class _Bounded:
    """A stream that raises InputError once more than `most` bytes were read from it."""

    def __init__(self, stream, most: int, archive: Path):
        self._stream, self._left, self._most, self._archive = stream, most, most, archive

    def read(self, size: int = -1) -> bytes:
        block = self._stream.read(_UNPACKED if size < 0 else size)
        self._left -= len(block)
        if self._left < 0:
            raise InputError(f"unpacks to more than {self._most:,} bytes, too many for its size", path=self._archive)
        return block


def _untar(stream: _Bounded, archive: Path, member: str, out) -> None:
    wanted, found = PurePosixPath(member), 0
    with tarfile.open(fileobj=stream, mode="r|", errorlevel=2) as tar:
        for entry in tar:
            _refuse_unsafe(entry, archive)
            if PurePosixPath(entry.name) != wanted:
                continue
            if not entry.isreg():
                raise InputError(f"member {member!r} is a folder", path=archive)
            found += 1
            if found > 1:
                raise InputError(f"holds member {member!r} twice", path=archive)
            shutil.copyfileobj(tar.extractfile(entry), out, _UNPACKED)
    if not found:
        raise InputError(f"holds no member {member!r}", path=archive)


def _refuse_unsafe(entry: tarfile.TarInfo, archive: Path) -> None:
    path = PurePosixPath(entry.name)
    if path.is_absolute() or ".." in path.parts:
        raise InputError(f"unsafe archive: member {entry.name!r} leads out of its folder", path=archive)
    if entry.isdir() or entry.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and not entry.issparse():
        return
    kind = "a link" if entry.issym() or entry.islnk() else "a device" if entry.isdev() else "not a plain file"
    raise InputError(f"unsafe archive: member {entry.name!r} is {kind}", path=archive)
