"""Reads a CSR in numpy's `.npz`: the arrays `offsets` and `targets`, or what `scipy.sparse.save_npz` writes.

offsets: any integer dtype, n + 1 values ascending from 0 to m; targets: any integer dtype, m vertex ids; weights
(optional): m numbers (see `weights`). Each entry (i, j) of a scipy matrix of any format that is not 0, whether stored
or inside a block, is an edge i -> j; values that are not bool are the weights.

Types, shapes, the order of offsets and the range of indices are checked before anything is computed from them, so a
malformed file is an error and never an access outside of an array.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from grailbench.errors import InputError
from grailbench.graph import npy
from grailbench.graph.csr import MAX_VERTICES, VERTEX, Graph
from grailbench.graph.ids import Counted
from grailbench.graph.readers.text import Found, check_memory, zeros_left_out
from grailbench.graph.weights import of_values
from grailbench.util import memory
from grailbench.util.files import RATIO, REFETCH, SLACK, Bytes

_REMEDY = "arrays 'offsets' and 'targets', or scipy.sparse.save_npz"
_SCALAR = 64  # most bytes of the arrays 'format' and 'shape'

#: scipy's formats and the arrays of each; a coo matrix can have `coords` instead of row and col
_LAYOUTS = {
    "csr": ("indptr", "indices", "data"),
    "csc": ("indptr", "indices", "data"),
    "bsr": ("indptr", "indices", "data"),
    "coo": ("row", "col", "data"),
    "dia": ("offsets", "data"),
}


def read_npz(path: Path, content: np.ndarray) -> Found:
    """Reads a graph from an `.npz` (uint8[size]). Raises InputError if it is malformed, and TooLittleMemory."""
    try:
        with zipfile.ZipFile(io.BufferedReader(Bytes(content))) as archive:
            return _read(path, _arrays(path, archive, content.size))
    except InputError:
        raise
    except npy.FAULTS as error:
        if content[:6].tobytes() == b"\x93NUMPY":
            raise InputError("one bare array, no archive of arrays", path=path, remedy=_REMEDY) from None
        raise InputError(f"a damaged .npz: {error or type(error).__name__}", path=path, remedy=REFETCH) from None


def _arrays(path: Path, archive: zipfile.ZipFile, size: int) -> npy.Archive:
    """The arrays of a file of `size` bytes. Encrypted, unusually compressed or implausibly long ones raise errors."""
    plausible = max(SLACK, RATIO * size)

    def check(name: str, entry: zipfile.ZipInfo, size: int) -> None:
        if size > plausible:
            raise ValueError(f"it unpacks to {size:,} bytes, too many for the size of the file")
        memory.require(2 * size, f"{path}: array {name}")

    for entry in archive.infolist():
        if entry.flag_bits & 1:
            raise InputError(f"{entry.filename} is encrypted", path=path, remedy="save it without a password")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InputError(f"{entry.filename} is not compressed as numpy does it", path=path, remedy=_REMEDY)
    return npy.Archive(archive, check)


def _read(path: Path, arrays: npy.Archive) -> Found:
    if {"offsets", "targets"} <= arrays.names.keys():
        names = ("offsets", "targets", "weights")
        return _from_csr(path, *(arrays[name] for name in names if name in arrays.names))
    if {"format", "shape"} <= arrays.names.keys():
        return _from_scipy(path, arrays)
    held = ", ".join(sorted(arrays.names)) or "nothing"
    raise InputError(f"an .npz that holds {held}", path=path, remedy=_REMEDY)


def _from_csr(path: Path, offsets: np.ndarray, targets: np.ndarray, weights: np.ndarray | None = None) -> Found:
    _check_row(path, "offsets", offsets)
    _check_row(path, "targets", targets)
    n = offsets.size - 1
    check_memory(n, path, edges=targets.size)
    _check_rise(path, "offsets", offsets, n, targets.size)
    if offsets[-1] != targets.size:
        raise InputError(f"offsets do not run from 0 to the {targets.size} targets", path=path)
    sources = np.repeat(np.arange(n, dtype=VERTEX), np.diff(offsets.astype(np.int64, copy=False)))
    if weights is not None and weights.shape != targets.shape:
        raise InputError(f"weights of shape {weights.shape}; each of {targets.size} targets needs one", path=path)
    return _checked(path, n, sources, targets, weights)


def _from_scipy(path: Path, arrays: npy.Archive) -> Found:
    layout, shape = arrays["format"], arrays["shape"]
    if layout.size != 1 or layout.dtype.kind not in "SU" or layout.nbytes > _SCALAR:
        raise InputError("its format is not a word", path=path, remedy=_REMEDY)
    word = layout.item()
    word = word.decode("ascii", "replace") if isinstance(word, bytes) else word
    if word not in _LAYOUTS:
        raise InputError(f"a matrix of format {word!r}", path=path, remedy=f"one of {', '.join(_LAYOUTS)}")
    if shape.ndim != 1 or shape.dtype.kind not in "iu" or shape.nbytes > _SCALAR:
        raise InputError("its shape is not a row of integers", path=path, remedy=_REMEDY)
    sizes = tuple(int(size) for size in shape)
    if len(sizes) != 2 or sizes[0] != sizes[1] or sizes[0] < 0:
        raise InputError(f"a matrix of shape {sizes} is no graph: not square", path=path)
    n = sizes[0]
    if n > MAX_VERTICES:
        raise InputError(f"{n} vertices; at most {MAX_VERTICES} fit 32-bit ids", path=path)
    check_memory(n, path)
    if word == "coo" and "coords" in arrays.names:
        coords, data = arrays["coords"], arrays["data"]
        if coords.ndim != 2 or coords.shape[0] != 2:
            raise InputError(f"coords of shape {coords.shape}; two rows are needed", path=path)
        parts = [coords[0], coords[1], data]
    else:
        missing = [name for name in _LAYOUTS[word] if name not in arrays.names]
        if missing:
            raise InputError(f"a {word} matrix without the array {missing[0]!r}", path=path, remedy=_REMEDY)
        parts = [arrays[name] for name in _LAYOUTS[word]]
    sources, targets, values = _ENTRIES[word](path, n, *parts)
    zeros = 0
    if values.dtype.kind in "biufc" and not (kept := values != 0).all():
        zeros = values.size - np.count_nonzero(kept)
        sources, targets, values = sources[kept], targets[kept], values[kept]
    check_memory(n, path, edges=sources.size)
    found = _checked(path, n, sources, targets, None if values.dtype == np.bool_ else values)
    return replace(found, notes=zeros_left_out(zeros))


def _csr_entries(path: Path, n: int, indptr, indices, data) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row, column and value of every stored entry, each [m], as those of the other formats below."""
    if data.ndim != 1:
        raise InputError(f"data of shape {data.shape}; a row is needed", path=path, remedy=REFETCH)
    return *_compressed(path, n, indptr, indices, data), data[: int(indptr[-1])]


def _compressed(path: Path, n: int, indptr, indices, data) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of each entry, or block, of a matrix in compressed rows."""
    _check_row(path, "indptr", indptr)
    _check_row(path, "indices", indices)
    if data.shape[:1] != indices.shape:
        raise InputError(f"{indices.size} indices, but data of shape {data.shape}", path=path, remedy=REFETCH)
    _check_rise(path, "indptr", indptr, n, indices.size)
    rows = np.repeat(np.arange(n, dtype=VERTEX), np.diff(indptr.astype(np.int64, copy=False)))
    return rows, indices[: rows.size]


def _csc_entries(path: Path, n: int, indptr, indices, data) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    columns, rows, values = _csr_entries(path, n, indptr, indices, data)
    return rows, columns, values


def _coo_entries(path: Path, n: int, row, col, data) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    for name, array in (("row", row), ("col", col)):
        _check_row(path, name, array)
        if array.shape != data.shape:
            raise InputError(f"{array.size} in {name}, but data of shape {data.shape}", path=path, remedy=REFETCH)
    return row, col, data


def _bsr_entries(path: Path, n: int, indptr, indices, data) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All entries of all blocks, block by block."""
    if data.ndim != 3 or not all(size > 0 and n % size == 0 for size in data.shape[1:]):
        raise InputError(f"blocks of shape {data.shape[1:]} do not tile {n} rows and columns", path=path)
    _, height, width = data.shape
    rows, columns = _compressed(path, n // height, indptr, indices, data)
    values = data[: rows.size].reshape(-1)
    _check_range(path, "indices", columns, n // width)
    memory.require(4 * VERTEX().nbytes * rows.size * height * width, f"{path}: its blocks")
    down, across = (np.arange(size, dtype=VERTEX) for size in (height, width))
    rows = (rows * VERTEX(height))[:, None, None] + down[:, None]
    columns = (columns.astype(VERTEX) * VERTEX(width))[:, None, None] + across
    sources, targets = np.broadcast_arrays(rows, columns)
    return sources.reshape(-1), targets.reshape(-1), values


def _dia_entries(path: Path, n: int, offsets, data) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The entries row by row, without zeros, because those only pad the diagonals."""
    _check_row(path, "offsets", offsets)
    if data.ndim != 2 or data.shape[0] != offsets.size or np.unique(offsets).size != offsets.size:
        raise InputError(f"{offsets.size} diagonals, but data of shape {data.shape}", path=path, remedy=REFETCH)
    low, high = (int(offsets.min()), int(offsets.max())) if offsets.size else (0, 0)
    if low < -n or high > n:
        raise InputError(f"diagonals from {low} to {high} lie outside of {n} rows and columns", path=path)
    diagonal, columns = np.nonzero(data[:, :n])
    rows = columns - offsets.astype(np.int64)[diagonal]
    inside = (rows >= 0) & (rows < n)
    diagonal, rows, columns = diagonal[inside], rows[inside], columns[inside]
    order = np.lexsort((columns, rows))
    return rows[order], columns[order], data[diagonal[order], columns[order]]


_ENTRIES: dict[str, Callable] = {
    "csr": _csr_entries,
    "csc": _csc_entries,
    "coo": _coo_entries,
    "bsr": _bsr_entries,
    "dia": _dia_entries,
}


def _check_row(path: Path, name: str, array: np.ndarray) -> None:
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputError(f"{name}: {array.dtype} of shape {array.shape}; a row of integers is needed", path=path)


def _check_rise(path: Path, name: str, offsets: np.ndarray, rows: int, entries: int) -> None:
    """Raises InputError unless `offsets` has rows + 1 values that ascend from 0 to at most `entries`."""
    if offsets.size != rows + 1 or offsets.size == 0 or offsets[0] != 0 or offsets[-1] > entries:
        raise InputError(f"{name} do not run from 0 to the {entries} targets", path=path, remedy=REFETCH)
    falls = np.flatnonzero(offsets[1:] < offsets[:-1])
    if falls.size:
        raise InputError(f"{name} fall after vertex {int(falls[0])}", path=path, remedy=REFETCH)


def _check_range(path: Path, name: str, ids: np.ndarray, below: int) -> None:
    if ids.size and (int(ids.min()) < 0 or int(ids.max()) >= below):
        raise InputError(f"{name} from {ids.min()} to {ids.max()}; 0 to {below - 1} are possible", path=path)


def _checked(path: Path, vertices: int, sources: np.ndarray, targets: np.ndarray, values: np.ndarray | None) -> Found:
    weights, said = (None, None) if values is None else of_values(values, "values")
    try:
        return Found(Graph.from_edges(vertices, sources, targets, weights), Counted(vertices), weights=said)
    except InputError as error:
        raise InputError(str(error), path=path) from None
