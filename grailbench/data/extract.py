"""Unpacking one graph file from an archive that is not trusted.

Only the wanted file is written, under a name that the caller chooses. An archive is refused as a whole if it holds a
link, a device or a path that leads out of its folder, or if it unpacks to implausibly many bytes.
"""

from __future__ import annotations

import gzip
import shutil
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from grailbench.errors import InputError

_BLOCK = 1 << 20


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
                    shutil.copyfileobj(plain, out, _BLOCK)
                return
            with gzip.open(archive) as unzipped:
                metered = _Metered(unzipped, limits.of(archive), archive)
                if member is None:
                    shutil.copyfileobj(metered, out, _BLOCK)
                else:
                    _untar(metered, archive, member, out)
                while metered.read(_BLOCK):  # gzip checks its CRC only at the end of the stream
                    pass
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"damaged archive: {error}", path=archive) from error


class _Metered:
    """A stream that raises InputError once more than `most` bytes were read from it."""

    def __init__(self, stream, most: int, archive: Path):
        self._stream, self._left, self._most, self._archive = stream, most, most, archive

    def read(self, size: int = -1) -> bytes:
        block = self._stream.read(_BLOCK if size < 0 else size)
        self._left -= len(block)
        if self._left < 0:
            raise InputError(f"unpacks to more than {self._most:,} bytes, too many for its size", path=self._archive)
        return block


def _untar(stream: _Metered, archive: Path, member: str, out) -> None:
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
            shutil.copyfileobj(tar.extractfile(entry), out, _BLOCK)
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
