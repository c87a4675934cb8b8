"""Reads arrays of an `.npz` safely: a damaged header causes neither a huge allocation nor an unexpected exception."""

import math
import re
import zipfile
from collections.abc import Callable
from typing import IO

import numpy as np

from grailbench.util.files import FAULTS as FAULTS

_CHUNK = 1 << 20  # bytes that are read at a time, so that they are still in the cache when the CRC is computed
_MOST_OF_A_BYTE = 1032  # bytes that deflate makes of one at most
_LONGEST = 1 << 14  # bytes of the longest header that is accepted
_HEADER = re.compile(  # the header as numpy and others write it, parsed without evaluating Python code
    rb"\s*\{\s*'descr':\s*'([<>|=]?[biufcSU]\d+)',\s*'fortran_order':\s*(True|False),"
    rb"\s*'shape':\s*\(([\d, ]*)\),?\s*\}\s*"
)


def header(member: IO[bytes]) -> tuple[tuple[int, ...], np.dtype, bool]:
    """Reads the header of an array: its shape, its type, and whether it is in Fortran order.

    Raises ValueError if it is not an array of plain numbers or text.
    """
    version = np.lib.format.read_magic(member)
    length = int.from_bytes(member.read(2 if version == (1, 0) else 4), "little")
    if version not in ((1, 0), (2, 0), (3, 0)) or length > _LONGEST:
        raise ValueError(f"its header is of version {version} and {length} bytes")
    fields = _HEADER.fullmatch(member.read(length))
    if not fields:
        raise ValueError("its header does not describe an array of plain values")
    dtype = np.dtype(fields[1].decode("ascii"))
    shape = tuple(int(size) for size in fields[3].replace(b",", b" ").split())
    if not dtype.itemsize:
        raise ValueError(f"it is of type {dtype}")
    return shape, dtype, fields[2] == b"True"


def content(member: IO[bytes], shape: tuple[int, ...], dtype: np.dtype, columns_first: bool = False) -> np.ndarray:
    """Reads the data of an array. Raises ValueError unless exactly that many bytes are left in the stream."""
    array = np.empty(shape[::-1] if columns_first else shape, dtype)
    into = memoryview(array.reshape(-1).view(np.uint8) if array.size else b"")
    filled = 0
    while filled < len(into) and (got := member.readinto(into[filled : filled + _CHUNK])):
        filled += got
    if filled < len(into) or member.read(1):  # zipfile checks the CRC only when the end is reached
        raise ValueError("it is not as long as its header says")
    return array.T if columns_first else array


def size_of(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> int:
    """The bytes of a member. Raises ValueError if its archive is too small for so many, whatever its directory says:
    zipfile allocates what that says."""
    times = 1 if entry.compress_type == zipfile.ZIP_STORED else _MOST_OF_A_BYTE
    if entry.file_size > times * archive.start_dir:
        raise ValueError(f"{entry.filename} of {entry.file_size:,} bytes is larger than the archive")
    return entry.file_size


class Archive:
    """The arrays of an open `.npz` by name. `archive[name]` raises one of `FAULTS` if the array is damaged."""

    def __init__(self, archive: zipfile.ZipFile, check: Callable[[str, zipfile.ZipInfo, int], None] | None = None):
        """`check(name, entry, bytes)` is called before an array is read, and may raise an exception."""
        self._archive, self._check = archive, check
        self.names = {name.removesuffix(".npy"): name for name in archive.namelist()}

    def __getitem__(self, name: str) -> np.ndarray:
        entry = self._archive.getinfo(self.names[name])
        try:
            with self._archive.open(entry) as member:
                shape, dtype, columns_first = header(member)
                size = dtype.itemsize * math.prod(shape)
                if size > size_of(self._archive, entry):
                    raise ValueError(f"its shape {shape} does not fit its {entry.file_size:,} bytes")
                if self._check is not None:
                    self._check(name, entry, size)
                return content(member, shape, dtype, columns_first)
        except FAULTS as error:
            raise ValueError(f"array {name}: {error}") from error
