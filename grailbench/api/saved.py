"""Index files: a graph and its index in one file that is mapped into memory, not read.

    magic      16 bytes: b'grailbench index'
    header     uint32 length, uint32 CRC, then that many bytes of JSON
    arrays     each begins at a multiple of 4,096 bytes, in the byte order of the machine that wrote it

The header has the version of this format, the implementation and its parameters, the checksum of the graph, and of each
array the type, shape, place, and the CRC of every 4 MiB. Opening a file checks the header and the size of the file, in
milliseconds whatever the size is. The arrays are checked on all cores when the first question is asked: no kernel reads
an array that was not checked.
"""

from __future__ import annotations

import dataclasses
import io
import json
import mmap
import os
import struct
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

import numpy as np

from grailbench import __version__, contract
from grailbench.api.graph import Graph
from grailbench.api.inside import Inside, restored
from grailbench.errors import InputError, of_system
from grailbench.graph.csr import OFFSET, VERTEX, Dag
from grailbench.graph.ids import from_stored
from grailbench.graph.store import atomic_file
from grailbench.reachability.index import Params

MAGIC = b"grailbench index"
VERSION = 1  #: of the layout of files and of the arrays of every implementation; another one is refused
_LENGTHS = struct.Struct("<II")
_PAGE, _BLOCK = 4096, 4 << 20
_LONGEST = 64 << 20  #: bytes of the longest header that is accepted
_DAG = {"offsets": OFFSET, "children": VERTEX, "levels": VERTEX, "order": VERTEX, "component": VERTEX}
_AGAIN = "build it again and save it"


def save(graph: Graph, inside: Inside, path: str | os.PathLike) -> None:
    """Writes an index to a file, which appears whole or not at all, beside readers of an older one.

    Raises InputError if the implementation cannot store its index or the file cannot be written, and MachineLacks if
    the disk is full.
    """
    header, arrays = _described(graph, inside)
    try:
        with atomic_file(Path(path)) as stream:
            _write(stream, header, arrays)
    except OSError as error:
        raise of_system(error) from None


def load(path: str | os.PathLike, graph: Graph | None = None) -> tuple[Graph, Inside]:
    """Opens an index file; see `grailbench.load`."""
    path = Path(path)
    try:
        with open(path, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            # copy-on-write: numba compiles other kernels for arrays that cannot be written
            content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY) if size else b""
    except FileNotFoundError:
        raise InputError("there is no such index file", path=path) from None
    except (OSError, ValueError) as error:
        raise InputError(f"the index file cannot be read: {error}", path=path) from None
    return _opened(content, path, graph)


def packed(graph: Graph, inside: Inside) -> bytes:
    """An index as the bytes of its file, for pickle. Raises InputError as `save` does."""
    stream = io.BytesIO()
    _write(stream, *_described(graph, inside))
    return stream.getvalue()


def unpacked(content: bytes) -> tuple[Graph, Inside]:
    """The index of `packed` bytes."""
    return _opened(bytearray(content), None, None)


# ------------------------------------------------------------------ writing


def _described(graph: Graph, inside: Inside) -> tuple[dict, dict[str, np.ndarray]]:
    """The header, without the places of arrays, and the arrays."""
    stored = inside.run(inside.index.stored)
    if stored is None:
        raise InputError(
            f"{inside.implementation.name} keeps its index to itself, so it cannot be saved",
            remedy="gb.build(graph) makes one that can",
        )
    numbering, ids = graph.ids.stored()
    arrays = {f"dag/{name}": getattr(graph.dag, name) for name in _DAG}
    if not graph.acyclic:
        arrays |= dict(zip(("rows/offsets", "rows/targets"), graph.rows, strict=True))
    arrays |= {f"ids/{name}": array for name, array in ids.items()}
    arrays |= {f"index/{name}": array for name, array in stored.items()}
    header = {
        "version": VERSION,
        "written_by": f"grailbench {__version__}",
        "implementation": inside.implementation.name,
        "params": dataclasses.asdict(inside.params),
        "graph": {"checksum": graph.checksum, "vertices": graph.vertices, "numbering": numbering},
        "dropped": [graph.dag.duplicates, graph.dag.loops],
    }
    return header, {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def _write(stream: IO[bytes], header: dict, arrays: dict[str, np.ndarray]) -> None:
    described, at = {}, 0
    for name, array in arrays.items():
        checks = _checks(array.reshape(-1).view(np.uint8))
        described[name] = {"dtype": array.dtype.str, "shape": array.shape, "at": at, "checks": checks}
        at += -(-array.nbytes // _PAGE) * _PAGE
    said = json.dumps({**header, "arrays": described, "bytes": at}, sort_keys=True).encode()
    start = _start(len(said))
    stream.write(MAGIC + _LENGTHS.pack(len(said), zlib.crc32(said)) + said)
    stream.write(bytes(start - len(MAGIC) - _LENGTHS.size - len(said)))
    for array in arrays.values():
        stream.write(array.reshape(-1).view(np.uint8).data)
        stream.write(bytes(-array.nbytes % _PAGE))


def _start(length: int) -> int:
    """Where the arrays begin after a header of that length."""
    return -(-(len(MAGIC) + _LENGTHS.size + length) // _PAGE) * _PAGE


def _checks(content: np.ndarray) -> list[int]:
    """The CRC of every 4 MiB of uint8[k]."""
    return [zlib.crc32(content[first : first + _BLOCK]) for first in range(0, content.size, _BLOCK)]


# ------------------------------------------------------------------ reading


def _opened(content, path: Path | None, graph: Graph | None) -> tuple[Graph, Inside]:
    """The graph and index in the content of a file, a buffer that can be written."""
    header, start = _header(content, path)
    try:
        said = header["graph"]
        if graph is not None and graph.checksum != said["checksum"]:
            raise InputError(
                f"it is the index of another graph, of {said['vertices']:,} vertices with checksum "
                f"{said['checksum'][:12]}; this one has {graph.vertices:,} and {graph.checksum[:12]}",
                path=path, remedy=_AGAIN,
            )  # fmt: skip
        arrays = {name: _array(content, start, each) for name, each in header["arrays"].items()}
        check = _Check(arrays, {name: each["checks"] for name, each in header["arrays"].items()}, path)
        dag = Dag(*(arrays[f"dag/{name}"] for name in _DAG), *header["dropped"])
        params = Params(**header["params"] | {"filters": tuple(header["params"]["filters"])})
        found = contract.implementation(header["implementation"])
        own = _named(arrays, "index/")
        rows = _named(arrays, "rows/")
        if graph is None:
            # the ids of a damaged file are not made before the check
            ids = lambda: from_stored(said["vertices"], said["numbering"], _named(arrays, "ids/"))  # noqa: E731
            graph = Graph.kept(dag, (rows["offsets"], rows["targets"]) if rows else None, ids, said["checksum"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _damaged(path, f"its header does not hold together ({type(error).__name__}: {error})") from None
    return graph, restored(found, params, dag, own, check)


def _header(content, path: Path | None) -> tuple[dict, int]:
    """The header, and where the arrays begin."""
    fixed = len(MAGIC) + _LENGTHS.size
    if len(content) < fixed or bytes(content[: len(MAGIC)]) != MAGIC:
        raise InputError("it is no index that grailbench saved", path=path)
    length, check = _LENGTHS.unpack(bytes(content[len(MAGIC) : fixed]))
    said = bytes(content[fixed : fixed + length]) if length <= _LONGEST else b""
    if len(said) != length or zlib.crc32(said) != check:
        raise _damaged(path, "its header is not the one that was written")
    header = json.loads(said)
    if header.get("version") != VERSION:
        raise InputError(
            f"it is of format {header.get('version')}, written by {header.get('written_by')}; this version reads "
            f"format {VERSION}", path=path, remedy=_AGAIN,
        )  # fmt: skip
    start = _start(length)
    if len(content) != start + header["bytes"]:
        raise _damaged(path, f"it has {len(content):,} bytes of {start + header['bytes']:,}")
    return header, start


def _array(content, start: int, said: dict) -> np.ndarray:
    dtype, count = np.dtype(said["dtype"]), int(np.prod(said["shape"], dtype=np.int64))
    if dtype != dtype.newbyteorder("="):
        raise ValueError("it was written on a machine of another byte order")
    return np.frombuffer(content, dtype, count, start + said["at"]).reshape(said["shape"])


def _named(arrays: dict, prefix: str) -> dict:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


class _Check:
    """Compares arrays with their CRCs when it is called for the first time; other threads wait for it."""

    def __init__(self, arrays: dict[str, np.ndarray], checks: dict[str, list[int]], path: Path | None):
        self._arrays, self._checks, self._path = arrays, checks, path
        self._lock, self._done = threading.Lock(), False

    def __call__(self) -> None:
        """Raises InputError if an array is not the one that was written."""
        if self._done:
            return
        with self._lock:
            if not self._done:
                self._compare()
                self._done = True

    def _compare(self) -> None:
        blocks = [
            (name, first, check)
            for name, array in self._arrays.items()
            for first, check in zip(range(0, array.nbytes, _BLOCK), self._checks[name], strict=True)
        ]
        content = {name: array.reshape(-1).view(np.uint8) for name, array in self._arrays.items()}

        def holds(block: tuple[str, int, int]) -> bool:
            name, first, check = block
            return zlib.crc32(content[name][first : first + _BLOCK]) == check

        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            for (name, first, _), whole in zip(blocks, pool.map(holds, blocks), strict=True):
                if not whole:
                    raise _damaged(self._path, f"array {name} differs from what was written, from byte {first:,} on")


def _damaged(path: Path | None, why: str) -> InputError:
    return InputError(f"the index is damaged: {why}", path=path, remedy=_AGAIN)
