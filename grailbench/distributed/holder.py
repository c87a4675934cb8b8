"""What a worker holds: an index file that is mapped once, and answers shards of pairs."""

from __future__ import annotations

import os
import secrets
import shutil
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from grailbench.distributed.shards import columns_of
from grailbench.errors import InputError, MachineLacks, of_system
from grailbench.graph import mapped
from grailbench.util.faults import freeing

_open: weakref.WeakValueDictionary = weakref.WeakValueDictionary()  # what is mapped here, by identity, opener, GPU


class Answering(Protocol):
    """An index that was opened from a file."""

    def answers(self, sources: np.ndarray, targets: np.ndarray, ids: bool) -> np.ndarray:
        """Whether each source reaches its target, bool[k], for ids of the user or for vertices of the condensed graph.
        Raises InputError if one is no vertex."""


#: opens a file, for queries on so many threads, on the GPU of that number if the index needs one
Opener = Callable[[Path, int, int | None], Answering]


class IndexHolder:
    """An actor: the index file of one identity in one worker process.

    A worker that sees the file under the path of the client maps it there. Any other is sent the file in pieces, once,
    and keeps it in its local folder.
    """

    def __init__(self, identity: str):
        from distributed import get_worker

        worker = get_worker()
        self._identity, self._threads = identity, worker.state.nthreads
        self._copy = Path(worker.local_directory) / f"grailbench-{identity}.index"
        self._partial = self._copy.with_name(f".{self._copy.name}.{secrets.token_hex(4)}.tmp")
        self._path: Path | None = None
        self._index: Answering | None = None

    def do(self, method: str, *arguments: Any) -> tuple[bool, Any]:
        """Calls one of the methods below: whether it went well, and the result or the error. So an error that is not
        given like this is one of dask, and means that the worker is lost."""
        try:
            return True, getattr(self, method)(*arguments)
        except Exception as error:
            return False, error

    def find(self, path: str) -> bool:
        """Whether the file is here: under that path, or as a copy that was sent before."""
        for each in (Path(path), self._copy):
            try:
                if mapped.identity(each) == self._identity:
                    self._path = each
                    return True
            except InputError:
                continue
        return False

    def put(self, at: int, piece: np.ndarray, size: int) -> None:
        """Writes uint8[k] at a place of the copy; it is whole with its last piece. Raises InputError if it then is
        another file, and MachineLacks if the disk is full."""
        try:
            with open(self._partial, "r+b" if at else "w+b") as stream:
                if at == 0 and shutil.disk_usage(self._copy.parent).free < size:
                    raise MachineLacks(f"{self._copy.parent}: the disk has no room for an index of {size:,} bytes")
                stream.seek(at)
                stream.write(memoryview(piece))
            if at + piece.nbytes < size:
                return
            if mapped.identity(self._partial) != self._identity:
                raise InputError("what arrived is another index than was sent", path=self._copy)
            os.replace(self._partial, self._copy)
            self._path = self._copy
        except BaseException as error:
            self._partial.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise of_system(error) from None
            raise

    def open(self, opener: Opener, device: int | None) -> None:
        """Maps the file and checks its content, unless this process has it open already."""
        key = (self._identity, opener, device)
        self._index = _open.get(key)
        if self._index is None:
            try:
                self._index = _open[key] = freeing(opener, self._path, self._threads, device)
            except InputError:
                self._copy.unlink(missing_ok=True)  # to be sent again
                raise

    def attribute(self, what: str) -> Any:
        """An attribute of the index."""
        return getattr(self._index, what)

    def answer(self, identity: str, columns: tuple | None, make: Callable | None, ids: bool) -> tuple[int, np.ndarray]:
        """The number of pairs and their answers as bits (`numpy.packbits`), of two columns or of what `make()` returns:
        two columns, or an array of shape [k, 2]. Raises InputError."""
        if identity != self._identity or self._index is None:
            raise InputError(
                f"this worker holds index {self._identity[:12]}, and was asked of {identity[:12]}",
                remedy="load the index again for this cluster",
            )
        try:
            sources, targets = columns_of(make() if columns is None else columns)
        except OSError as error:
            raise of_system(error) from None
        found = self._index.answers(sources, targets, ids)
        return int(found.size), np.packbits(found)
