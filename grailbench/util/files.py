"""Files that a user names: each is opened and read only once, and never beyond the memory that is available.

Format, checksum and content all come from the same bytes, so a file cannot change in between, and a pipe works as well.
"""

import bz2
import errno
import gzip
import hashlib
import io
import lzma
import mmap
import os
import re
import select
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from grailbench.errors import InputError, MachineLacks, TooLittleMemory
from grailbench.util import memory, outputs

REFETCH = "the file is not whole: fetch or copy it again"
SILENCE_S = 30.0  #: how long to wait for the next bytes of a pipe
#: the exceptions that reading a damaged archive or array can raise
FAULTS = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, LookupError, TypeError, AttributeError,
    RuntimeError, OverflowError, OSError,
)  # fmt: skip
SETTINGS = 16 << 20  #: the most bytes of a config, a gate or a profile
RATIO, SLACK = 100, 256 << 20  #: compressed data may unpack to RATIO times its size, and always to SLACK bytes
#: the name and what opens compressed data, by its first bytes
_UNPACKERS = {
    b"\x1f\x8b": ("gzip", lambda file: gzip.GzipFile(fileobj=file)),
    b"BZh": ("bzip2", bz2.BZ2File),
    b"\xfd7zXZ\0": ("xz", lzma.LZMAFile),
    b"\x28\xb5\x2f\xfd": ("zstd", lambda file: _zstd(file)),
}
_TAR, _ZIP = b"ustar", b"PK\x03\x04"
PACKED = (".gz", ".bz2", ".xz", ".zst", ".tar", ".tgz", ".zip")  #: endings of what `Source.text` unpacks
_ASIDE = re.compile(r"(?i:\.|readme|licen[cs]e|copying|_+macosx)|.*\.html?$")  # files beside the one of an archive
_SHARE = 4  # a text may take 1/_SHARE of the free memory; the graph that is read from it takes the rest
_BLOCK = 1 << 20
_KINDS = {
    stat.S_IFDIR: "a folder, no file", stat.S_IFCHR: "a device or a terminal, no file", stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket", stat.S_IFIFO: "a pipe, and this file is read more than once",
}  # fmt: skip
_INSTEAD = "write it to a file first"


@dataclass(frozen=True)
class Source:
    """The content of a file or pipe that was opened once.

    path    the path for messages
    origin  the name for records: the absolute path, 'standard input' or 'a pipe'
    raw     uint8[size]: the bytes; a file is mapped copy-on-write, which is twice as fast as reading it
    """

    path: Path
    origin: str
    raw: np.ndarray

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of `raw`, as 64 hex digits."""
        return hashlib.sha256(self.raw).hexdigest()

    @property
    def text(self) -> np.ndarray:
        """uint8[size]: the content, decompressed, and taken out of a tar or zip archive that has one file alone.

        Raises InputError if the data is damaged, unpacks to implausibly many bytes, or is an archive of several files;
        TooLittleMemory if it does not fit the memory.
        """
        return self._unpacked[0]

    @property
    def named(self) -> Path:
        """The path by whose ending the format is recognised: of the file in an archive, else of the file."""
        return Path(self._unpacked[1] or self.path) if _is_archive(self.head(512)) else self.path

    def head(self, size: int) -> bytes:
        """At most `size` bytes from the beginning of `text`. Raises InputError as `text` does."""
        start = self.raw[:size].tobytes()
        if unpacker := _unpacker_of(self.raw):
            with self._whole(unpacker[0]), unpacker[1](io.BufferedReader(Bytes(self.raw))) as stream:
                start = stream.read(size)  # not all, which may be more than memory holds
        return self.text[:size].tobytes() if _is_archive(start) else start

    @cached_property
    def _unpacked(self) -> tuple[np.ndarray, str | None]:
        """The content, and the name that it has in an archive."""
        content = self.raw
        if unpacker := _unpacker_of(content):
            with self._whole(unpacker[0]), unpacker[1](io.BufferedReader(Bytes(content))) as stream:
                content = self._all_of(stream, unpacker[0])
        if content[257:262].tobytes() == _TAR:
            with self._whole("tar"), tarfile.open(fileobj=io.BufferedReader(Bytes(content))) as archive:
                files = {each.name: each for each in archive.getmembers() if each.isfile()}
                if name := self._only(files):
                    return self._all_of(archive.extractfile(files[name]), "tar"), name
        if self.raw[:4].tobytes() == _ZIP:
            try:
                archive = zipfile.ZipFile(io.BufferedReader(Bytes(content)))
            except FAULTS:
                return content, None  # what reads arrays of numpy says what is wrong with it
            names = [name for name in archive.namelist() if not name.endswith("/")]
            ours = any(name.endswith(".npy") or name == "[Content_Types].xml" for name in names)  # .npz, or .xlsx
            if not ours and (name := self._only(names)):
                with self._whole("zip"), archive.open(name) as stream:
                    return self._all_of(stream, "zip"), name
        return content, None

    def _only(self, names: Iterable[str]) -> str | None:
        """The one file of an archive. Raises InputError if there are several, but for notes beside one."""
        files = [name for name in names if not _ASIDE.match(name.rpartition("/")[2])]
        if len(files) > 1:
            shown = ", ".join(files[:3]) + ", ..." * (len(files) > 3)
            raise InputError(f"an archive of {len(files)} files: {shown}", path=self.path, remedy="unpack it")
        return files[0] if files else None

    def _all_of(self, stream, kind: str) -> np.ndarray:
        """All that a stream gives. Raises InputError or TooLittleMemory if it is too much."""
        most, plausible = memory.available() // _SHARE, max(SLACK, RATIO * self.raw.size)
        many = f"the {kind} data unpacks to more than {plausible:,} bytes, too many for its size"
        implausible = InputError(many, path=self.path, remedy="unpack it first, if it is meant to")
        error = implausible if plausible <= most else _too_much(self.path, "unpacks to", most)
        return _gathered(lambda: stream.read1(_BLOCK), min(plausible, most), error)

    @contextmanager
    def _whole(self, kind: str) -> Iterator[None]:
        """In the block, damage becomes an InputError."""
        try:
            yield
        except (*FAULTS, lzma.LZMAError, tarfile.TarError) as error:
            raise InputError(
                f"the {kind} data is cut off or damaged: {error}", path=self.path, remedy=REFETCH
            ) from None


def _unpacker_of(raw: np.ndarray) -> tuple[str, Callable] | None:
    """The name of the compression of a content and what opens it; None if it is not compressed."""
    start = raw[:6].tobytes()
    return next((found for magic, found in _UNPACKERS.items() if start.startswith(magic)), None)


def _is_archive(start: bytes) -> bool:
    return start[257:262] == _TAR or start[:4] == _ZIP


def _zstd(file: io.BufferedReader):
    """A stream of what zstd compressed. Raises MachineLacks without pyarrow."""
    try:
        from pyarrow import input_stream
    except ImportError as error:
        raise MachineLacks(f"zstd is unpacked by pyarrow, which cannot be imported ({error}): unzstd it") from error
    return input_stream(file, compression="zstd")


@contextmanager
def opened(path: str | os.PathLike, pipes: bool = True) -> Iterator[Source]:
    """Opens a file, or if `pipes` also a pipe; '-' is the standard input.

    Raises InputError if it cannot be read, is neither a file nor a pipe, gives nothing for `SILENCE_S` seconds, or
    changes while the block uses it; TooLittleMemory if a pipe gives more than memory allows.
    """
    shown = Path("standard input") if str(path) == "-" else Path(path)
    with _readable(shown):
        handle = os.dup(0) if str(path) == "-" else os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    outputs.protect("/dev/stdin" if str(path) == "-" else path)
    try:
        with _readable(shown):
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode) and not (pipes and stat.S_ISFIFO(found.st_mode)):
                kind = _KINDS.get(stat.S_IFMT(found.st_mode), "no regular file")
                raise InputError(f"it is {kind}", path=shown, remedy=_INSTEAD)
            if stat.S_ISREG(found.st_mode) and found.st_size:  # files of /proc have size 0 and cannot be mapped
                raw = _mapped(handle, found.st_size, shown)
            else:
                raw = _drained(handle, shown)
        piped = stat.S_ISFIFO(found.st_mode)
        origin = str(shown) if str(path) == "-" else "a pipe" if piped else str(shown.resolve())
        yield Source(shown, origin, raw)
        now = os.fstat(handle)
        if not piped and (now.st_size, now.st_mtime_ns) != (found.st_size, found.st_mtime_ns):
            raise InputError("the file changed while it was read", path=shown, remedy="try again once it is whole")
    finally:
        os.close(handle)


def read_text(path: str | os.PathLike, encoding: str = "utf-8", most: int = SETTINGS) -> str:
    """The text of a small file or a pipe, such as a config.

    Raises FileNotFoundError, UnicodeDecodeError, and InputError as `opened` does or if there are over `most` bytes.
    """
    if str(path) != "-":
        os.stat(path)  # raises FileNotFoundError: callers treat a missing file differently
    with opened(path) as source:
        if source.raw.size > most:
            raise InputError(f"{source.raw.size:,} bytes; at most {most:,} are read", path=source.path)
        return source.raw.tobytes().decode(encoding)


def git_blob(path: str | os.PathLike) -> str:
    """The id of a file in git, in hex: SHA-1 of 'blob <size>\\0' and the content."""
    head = b"blob %d\0" % os.stat(path).st_size
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.sha1(head, usedforsecurity=False)).hexdigest()


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turns an OSError in the block into an InputError."""
    try:
        yield
    except FileNotFoundError:
        raise InputError("there is no such file", path=path) from None
    except (OSError, ValueError) as error:  # a path with a zero byte raises ValueError
        raise InputError(f"the file cannot be read: {getattr(error, 'strerror', None) or error}", path=path) from None


def _mapped(handle: int, size: int, path: Path) -> np.ndarray:
    try:
        return np.frombuffer(mmap.mmap(handle, 0, access=mmap.ACCESS_COPY), np.uint8)
    except OSError as error:
        if error.errno != errno.ENOMEM:
            raise
        raise TooLittleMemory(f"{path}: a file of {size:,} bytes is more than memory allows here") from None


def _drained(handle: int, path: Path) -> np.ndarray:
    """The content of a pipe. Raises InputError if it stays silent, TooLittleMemory if it gives too much."""
    waiting, most = select.poll(), memory.available() // _SHARE
    waiting.register(handle, select.POLLIN)

    def read() -> bytes:
        if not waiting.poll(1000 * SILENCE_S):
            raise InputError(f"the pipe gave nothing for {SILENCE_S:g} s", path=path, remedy=_INSTEAD)
        return os.read(handle, _BLOCK)

    return _gathered(read, most, _too_much(path, "gives", most))


def _gathered(read: Callable[[], bytes], most: int, error: Exception) -> np.ndarray:
    """uint8: all that a function gives until it gives nothing. Raises the error for more than `most` bytes."""
    content = bytearray()
    while block := read():
        content += block
        if len(content) > most:
            raise error
    return np.frombuffer(content, np.uint8)


def _too_much(path: Path, gives: str, most: int) -> TooLittleMemory:
    return TooLittleMemory(f"{path}: it {gives} more than {most:,} bytes, which is all that memory allows here")


class Bytes(io.RawIOBase):
    """An array (uint8[size]) as a seekable stream, without a copy."""

    def __init__(self, content: np.ndarray):
        self._content, self._at = memoryview(content), 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        begin = (0, self._at, len(self._content))[whence]
        if begin + offset < 0:
            raise ValueError(f"no place {begin + offset} in a stream")
        self._at = begin + offset
        return self._at

    def readinto(self, into) -> int:
        some = self._content[self._at : self._at + len(into)]
        into[: len(some)] = some
        self._at += len(some)
        return len(some)
