"""Brings files here: copies them from a folder or downloads them, and unpacks one graph file from an archive.

Servers and archives are not trusted: a download is bounded in bytes and in time, and what an archive unpacks to too.
"""

import gzip
import shutil
import tarfile
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urljoin, urlsplit

from grailbench.errors import InputError
from grailbench.util import paths
from grailbench.util.faults import chain
from grailbench.util.files import opened
from grailbench.util.visible import visible
from grailbench.util.words import clip

UNREGISTERED = 4 << 30  #: bytes that are accepted of a file whose size the registry does not give
UNPACKED, RATIO, SLACK = 16 << 30, 60, 1 << 20  #: what an archive may unpack to; see `most_unpacked`
_BLOCK = 1 << 16
_POLL_S = 0.1
Tell = Callable[[int | None, int], object]  #: takes the progress of a transfer: its bytes if known, how many more came


class SourceFailed(Exception):
    """One source did not give a usable file. The next source is tried."""


class OutOfReach(SourceFailed):
    """A host is not asked, as it failed before."""


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
    """How long servers may take, and which hosts failed, so that only the first file of a host waits for it.

    timeout  seconds for each block of a download, the first one included
    total    seconds for a whole download
    failed   why a host is not asked any more, by its name
    """

    timeout: float = 10.0
    total: float = 3600.0
    failed: dict[str, str] = field(default_factory=dict)

    def give_up(self, url: str, reason: str) -> SourceFailed:
        """Remembers that the host of `url` failed. Returns the error to raise."""
        self.failed[urlsplit(url).hostname or ""] = reason
        return SourceFailed(reason)


def transfer(source: str, into: Path, most: int, hosts: Hosts, tell: Tell, cancelled: Callable[[], bool]) -> None:
    """Copies or downloads `source` to the temporary file `into`.

    Raises SourceFailed when the file cannot be read, has more than `most` bytes or takes too long (`hosts`), and
    Cancelled when `cancelled()` becomes true during the transfer.
    """
    path = folder_of(source)
    with into.open("wb") as file:
        out = _Metered(file, most, tell, cancelled)
        if path is None:
            host = urlsplit(source).hostname or ""
            if (reason := hosts.failed.get(host)) is not None:
                raise OutOfReach(f"{host} is out of reach: {reason}")
            _download(source, out, hosts)
            return
        try:
            with opened(path, pipes=False) as found:
                out.expect(found.raw.size)
                for begin in range(0, found.raw.size, _BLOCK):
                    out.write(found.raw[begin : begin + _BLOCK])
        except InputError as error:
            raise SourceFailed("no such file" if not path.exists() else str(error)) from error


class _Metered:
    """A file that accepts at most a number of bytes and reports its progress; `at` is when the last ones came."""

    def __init__(self, out, most: int, tell: Tell, cancelled: Callable[[], bool]):
        self._out, self._most, self._left, self._tell, self.cancelled = out, most, most, tell, cancelled
        self.abandoned, self.at = False, time.monotonic()

    def expect(self, size: int) -> None:
        """Sets the size of the file in bytes, 0 when it is unknown. Raises SourceFailed when it is too large."""
        if size > self._left:
            raise SourceFailed(f"it has more than {self._most:,} bytes, the most that are taken of it")
        self._tell(size or None, 0)

    def write(self, block) -> None:
        if self.abandoned or self.cancelled():
            raise Cancelled
        self._left -= len(block)
        if self._left < 0:
            raise SourceFailed(f"it has more than {self._most:,} bytes, the most that are taken of it")
        self._out.write(block)
        self.at = time.monotonic()
        self._tell(None, len(block))


def _download(url: str, out: _Metered, hosts: Hosts) -> None:
    """Downloads in a thread, which is abandoned if the server is too slow: a blocked read cannot be interrupted."""
    failed: list[BaseException] = []

    def work():
        try:
            _get(url, out, hosts)
        except BaseException as error:  # the waiting thread raises it
            failed.append(error)

    last = time.monotonic() + hosts.total
    thread = threading.Thread(target=work, name="download", daemon=True)
    try:
        thread.start()
        while thread.is_alive():
            if out.cancelled():
                raise Cancelled
            if (now := time.monotonic()) - out.at > hosts.timeout:
                less = f"it sent less than {_BLOCK >> 10} KiB in {hosts.timeout:g} s (--timeout waits longer)"
                raise hosts.give_up(url, less)
            if now > last:
                raise hosts.give_up(url, f"the file was not whole after {hosts.total:g} s")
            thread.join(_POLL_S)
    finally:
        out.abandoned = True
    if failed:
        raise failed[0]


def _get(url: str, out: _Metered, hosts: Hosts) -> None:
    import requests
    import urllib3

    # 'identity', because a server that is asked for gzip may send a .gz file unpacked, with another checksum.
    headers = {"Accept-Encoding": "identity", "User-Agent": "grailbench"}
    late = 2 * hosts.timeout  # for a thread that was abandoned
    try:
        answer = requests.get(url, stream=True, timeout=late, headers=headers, hooks={"response": _check_redirect})
        with answer:
            if not answer.ok:
                fault = f"the server answered {answer.status_code} {_shown(answer.reason or '')}".rstrip()
                if answer.status_code not in (429, 503):
                    raise SourceFailed(fault)
                after = _shown(answer.headers.get("retry-after", ""))
                when = f"in {after} s" if after.isdecimal() else f"after {after}" if after else "later"
                raise hosts.give_up(url, f"{fault}: try again {when}")
            out.expect(int(answer.headers.get("Content-Length", 0)))
            for block in answer.iter_content(_BLOCK):
                out.write(block)
    except requests.TooManyRedirects as error:
        raise SourceFailed("it redirects in a circle") from error
    except requests.exceptions.ChunkedEncodingError as error:
        raise SourceFailed(f"the transfer was cut short: {_innermost(error)}") from error
    except (requests.ConnectionError, requests.Timeout) as error:
        raise hosts.give_up(url, _innermost(error)) from error
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


def _shown(text: str) -> str:
    return clip(visible(text), 120)  # of a server, which may send anything


def _innermost(error: BaseException) -> str:
    """The message of the first error of a chain: requests and urllib3 wrap errors several times."""
    first = list(chain(error))[-1]
    return _shown(str(first)) or type(first).__name__


# ---------------------------------------------------------------------------------------- unpacking


def most_unpacked(archive: Path) -> int:
    """The bytes that an archive may unpack to: `RATIO` times its size, but `SLACK` in any case and at most `UNPACKED`.
    The archives of the registry unpack to 3 to 6 times their size, and to 0.6 GB at most."""
    return min(UNPACKED, max(SLACK, RATIO * archive.stat().st_size))


def unpack(archive: Path, member: str | None, into: Path) -> None:
    """Writes the graph file of `archive` to `into`, a temporary file that the caller discards on error.

    `member` is a path inside a .tar.gz. If it is None, the archive is a .gz file or the plain graph file itself.
    Raises SourceFailed when it is damaged, unpacks to too much, or lacks the member.
    """
    with into.open("wb") as out, archive.open("rb") as packed:
        if member is None and not archive.name.endswith(".gz"):
            shutil.copyfileobj(packed, out)
            return
        try:
            stream = _Bounded(gzip.GzipFile(fileobj=packed), most_unpacked(archive))
            if member is None:
                shutil.copyfileobj(stream, out)
            else:
                with tarfile.open(fileobj=stream, mode="r|") as tar:
                    found = next((entry for entry in tar if PurePosixPath(entry.name) == PurePosixPath(member)), None)
                    if found is None:
                        raise SourceFailed(f"{archive.name} holds no member {member!r}")
                    if not found.isreg() or found.issparse():  # a sparse file may be of any size
                        raise SourceFailed(f"unsafe archive: member {member!r} is not a plain file")
                    shutil.copyfileobj(tar.extractfile(found), out)
            while stream.read():  # gzip checks its CRC only at the end of the stream
                pass
        except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise SourceFailed(f"damaged archive: {error}") from error


class _Bounded:
    """A stream that raises SourceFailed once more than `most` bytes were read from it."""

    def __init__(self, stream, most: int):
        self._stream, self._left, self._most = stream, most, most

    def read(self, size: int = 1 << 20) -> bytes:
        block = self._stream.read(size)
        self._left -= len(block)
        if self._left < 0:
            raise SourceFailed(f"the archive unpacks to more than {self._most:,} bytes, too many for its size")
        return block
