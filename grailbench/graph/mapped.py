"""Files of arrays that are mapped into memory, not read: those of saved indexes, and of indexes that workers hold.

    magic      16 bytes: b'grailbench index'
    header     uint32 length, uint32 CRC, then that many bytes of JSON
    arrays     each begins at a multiple of 4,096 bytes, in the byte order of the machine that wrote it

The header has the version of this format, what its writer says of the arrays, and of each array the type, shape, place,
and the CRC of every 4 MiB. Opening a file checks the header and the size of the file, in milliseconds whatever the size
is. The arrays are checked on all cores when they are first needed: no code reads an array that was not checked. What is
mapped shows what others write to the file later, so `Content` notices that.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import struct
import threading
import weakref
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

import numpy as np

from grailbench.errors import InputError
from grailbench.util import __version__, memory, outputs
from grailbench.util.cores import usable_cores

MAGIC = b"grailbench index"
VERSION = 1  #: of the layout of files and of the arrays of every implementation; another one is refused
AGAIN = "build it again and save it"
_LENGTHS = struct.Struct("<II")
_PAGE, _BLOCK, _MESSAGE = 4096, 4 << 20, 200
_LONGEST = 64 << 20  #: bytes of the longest header that is accepted


def write(stream: IO[bytes], description: dict, arrays: dict[str, np.ndarray]) -> None:
    """Writes what the writer says (anything that JSON can represent) and its arrays. Equal arguments give equal
    bytes."""
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    described, at = {}, 0
    for name, array in arrays.items():
        checks = _checks(array.reshape(-1).view(np.uint8))
        described[name] = {"dtype": array.dtype.str, "shape": array.shape, "at": at, "checks": checks}
        at += -(-array.nbytes // _PAGE) * _PAGE
    written = {"version": VERSION, "written_by": f"grailbench {__version__}"}
    header = json.dumps({**description, **written, "arrays": described, "bytes": at}, sort_keys=True).encode()
    start = _start(len(header))
    stream.write(MAGIC + _LENGTHS.pack(len(header), zlib.crc32(header)) + header)
    stream.write(bytes(start - len(MAGIC) - _LENGTHS.size - len(header)))
    for array in arrays.values():
        stream.write(array.reshape(-1).view(np.uint8).data)
        stream.write(bytes(-array.nbytes % _PAGE))


def is_index(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as an index file does."""
    try:
        with open(path, "rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


class Content:
    """The bytes of an index file.

    buffer  a buffer that can be written
    path    the file; None if there is none
    """

    def __init__(self, buffer: mmap.mmap | bytearray, path: Path | None = None):
        self.buffer, self.path, self._descriptor = buffer, path, None

    @classmethod
    def mapped(cls, stream: IO[bytes], path: Path) -> Content:
        """The map of an open file that is not empty."""
        state = _state(stream.fileno())
        # copy-on-write: numba compiles other kernels for arrays that cannot be written
        made = cls(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY), path)
        made._state, made._descriptor = state, os.dup(stream.fileno())
        weakref.finalize(made, os.close, made._descriptor)
        return made

    def require_unchanged(self) -> None:
        """Raises InputError if the mapped file was written to or cut since it was opened. One that was replaced (a new
        file got its name) or deleted stays as it is under the map."""
        if self._descriptor is not None and _state(self._descriptor) != self._state:
            message = "the index file was changed while it was in use"
            remedy = "load it again; Index.save replaces a file without changing the old one"
            raise InputError(message, path=self.path, remedy=remedy)


def _state(descriptor: int) -> tuple[int, int]:
    """What changes when a file is written to: its size, and the time of the last change of its content in ns."""
    found = os.fstat(descriptor)
    return found.st_size, found.st_mtime_ns


def content_of(path: str | os.PathLike, in_memory: bool = False) -> Content:
    """Maps a file, or reads it into memory. Raises InputError if it cannot be read, TooLittleMemory if it does not fit
    the memory."""
    path = Path(path)
    try:
        with open(path, "rb", buffering=0) as stream:
            size = os.fstat(stream.fileno()).st_size
            outputs.protect(path)
            if size and not in_memory:
                return Content.mapped(stream, path)
            memory.require(size, str(path))
            buffer = bytearray(size)
            view = memoryview(buffer)
            while view and (count := stream.readinto(view)):
                view = view[count:]
            return Content(buffer, path)
    except FileNotFoundError:
        raise InputError("there is no such index file", path=path) from None
    except (OSError, ValueError) as error:
        raise InputError(f"the index file cannot be read: {error}", path=path) from None


def identity(path: str | os.PathLike) -> str:
    """The sha256 of the header, which has the checks of all arrays: equal for files of equal content. It takes
    milliseconds, and not affected by damage to the arrays. Raises InputError as `Mapped` does."""
    content = content_of(path).buffer
    header(content, Path(path))
    length, _ = _LENGTHS.unpack(bytes(content[len(MAGIC) : len(MAGIC) + _LENGTHS.size]))
    return hashlib.sha256(bytes(content[: len(MAGIC) + _LENGTHS.size + length])).hexdigest()


def header(content, path: Path | None) -> tuple[dict, int]:
    """The header, and where the arrays begin. Raises InputError."""
    fixed = len(MAGIC) + _LENGTHS.size
    if len(content) < fixed or bytes(content[: len(MAGIC)]) != MAGIC:
        raise InputError("it is no index that grailbench saved", path=path, remedy="Index.save writes one")
    length, check = _LENGTHS.unpack(bytes(content[len(MAGIC) : fixed]))
    written = bytes(content[fixed : fixed + length]) if length <= _LONGEST else b""
    if len(written) != length or zlib.crc32(written) != check:
        raise damaged(path, "its header is not the one that was written")
    try:
        found = json.loads(written)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("bytes"), int):
        raise damaged(path, "its header is no header of an index")
    if found.get("version") != VERSION:
        raise InputError(
            f"it is of format {found.get('version')}, written by {found.get('written_by')}; this version reads "
            f"format {VERSION}", path=path, remedy=AGAIN,
        )  # fmt: skip
    start = _start(length)
    if len(content) != start + found["bytes"]:
        raise damaged(path, f"it has {len(content):,} bytes of {start + found['bytes']:,}")
    return found, start


def arrays_of(content, description: dict, start: int) -> dict[str, np.ndarray]:
    """The arrays in the content of a file, a buffer that can be written. Raises KeyError, TypeError or ValueError if
    the header does not hold together."""
    return {name: _array(content, start, each) for name, each in description["arrays"].items()}


def named(arrays: dict, prefix: str) -> dict:
    """The arrays whose names begin so, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def damaged(path: Path | None, why: str) -> InputError:
    """The error for a file that is not as it was written."""
    return InputError(f"the index is damaged: {why}", path=path, remedy=AGAIN)


class Check:
    """Compares arrays with their CRCs when it is called for the first time; other threads wait for it. Each call looks
    whether the file was changed, in a microsecond."""

    def __init__(self, arrays: dict[str, np.ndarray], description: dict, content: Content):
        """Raises KeyError, TypeError or ValueError if the header does not hold together."""
        self._arrays, self._content = arrays, content
        self._blocks = [
            (name, first, check)
            for name, array in arrays.items()
            for first, check in zip(range(0, array.nbytes, _BLOCK), description["arrays"][name]["checks"], strict=True)
        ]
        self._lock, self._done = threading.Lock(), False

    def __call__(self) -> None:
        """Raises InputError if an array is not the one that was written, or the file was changed."""
        self._content.require_unchanged()
        if self._done:
            return
        with self._lock:
            if not self._done:
                self._compare()
                self._content.require_unchanged()
                self._done = True

    def _compare(self) -> None:
        content = {name: array.reshape(-1).view(np.uint8) for name, array in self._arrays.items()}

        def holds(block: tuple[str, int, int]) -> bool:
            name, first, check = block
            return zlib.crc32(content[name][first : first + _BLOCK]) == check

        with ThreadPoolExecutor(usable_cores()) as pool:
            for (name, first, _), whole in zip(self._blocks, pool.map(holds, self._blocks), strict=True):
                if not whole:
                    why = f"array {name} differs from what was written, from byte {first:,} on"
                    raise damaged(self._content.path, why)


def _start(length: int) -> int:
    """Where the arrays begin after a header of that length."""
    return -(-(len(MAGIC) + _LENGTHS.size + length) // _PAGE) * _PAGE


def _checks(content: np.ndarray) -> list[int]:
    """The CRC of every 4 MiB of uint8[k]."""
    return [zlib.crc32(content[first : first + _BLOCK]) for first in range(0, content.size, _BLOCK)]


def _array(content, start: int, description: dict) -> np.ndarray:
    try:
        dtype, count = np.dtype(description["dtype"]), int(np.prod(description["shape"], dtype=np.int64))
    except (SyntaxError, OverflowError) as error:
        raise ValueError(f"no type or shape: {error}"[:_MESSAGE]) from None
    if dtype != dtype.newbyteorder("="):
        raise ValueError("it was written on a machine of another byte order")
    if not 0 <= description["at"] <= len(content):
        raise ValueError("an array begins where the file does not go on")
    return np.frombuffer(content, dtype, count, start + description["at"]).reshape(description["shape"])
