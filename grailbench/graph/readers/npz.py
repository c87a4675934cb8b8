"""Reads a CSR in numpy's `.npz`: the arrays `offsets` and `targets`, or what `scipy.sparse.save_npz` writes.

offsets: any integer dtype, n + 1 values ascending from 0 to m; targets: any integer dtype, m vertex ids; weights
(optional): m numbers (see `weights`). Each entry (i, j) of a scipy matrix of any format that is not 0, whether stored
or inside a block, is an edge i -> j; values that are not bool are the weights.

Types, shapes, the order of offsets and the range of indices are checked, those of matrices by scipy, before anything is
computed from them, so a malformed file is an error and never an access outside of an array.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from grailbench.errors import InputError
from grailbench.graph import npy
from grailbench.graph.csr import VERTEX, Graph
from grailbench.graph.ids import Counted
from grailbench.graph.readers.text import Found, check_memory, check_vertices, zeros_left_out
from grailbench.graph.weights import of_values
from grailbench.util import memory
from grailbench.util.files import RATIO, REFETCH, SLACK, Bytes

if TYPE_CHECKING:
    from scipy.sparse import coo_array

_REMEDY = "arrays 'offsets' and 'targets', or scipy.sparse.save_npz"
_SCALAR = 64  # most bytes of the arrays 'format' and 'shape'

#: scipy's formats and the arrays of indices of each, beside `data`
_LAYOUTS = {
    "csr": ("indices", "indptr"),
    "csc": ("indices", "indptr"),
    "bsr": ("indices", "indptr"),
    "coo": ("row", "col"),
    "dia": ("offsets",),
}


def read_npz(content: np.ndarray) -> Found:
    """Reads a graph from an `.npz` (uint8[size]). Raises InputError if it is malformed, and TooLittleMemory."""
    try:
        with zipfile.ZipFile(io.BufferedReader(Bytes(content))) as archive:
            return _read(_arrays(archive, content.size))
    except npy.FAULTS as error:
        if content[:6].tobytes() == b"\x93NUMPY":
            raise InputError("one bare array, no archive of arrays", remedy=_REMEDY) from None
        raise InputError(f"a damaged .npz: {error or type(error).__name__}", remedy=REFETCH) from None


def _arrays(archive: zipfile.ZipFile, size: int) -> npy.Archive:
    """The arrays of a file of `size` bytes. Encrypted, unusually compressed or implausibly long ones raise errors."""
    plausible = max(SLACK, RATIO * size)

    def check(name: str, entry: zipfile.ZipInfo, size: int) -> None:
        if size > plausible:
            raise ValueError(f"it unpacks to {size:,} bytes, too many for the size of the file")
        memory.require(2 * size, f"array {name}")

    for entry in archive.infolist():
        if entry.flag_bits & 1:
            raise InputError(f"{entry.filename} is encrypted", remedy="save it without a password")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InputError(f"{entry.filename} is not compressed as numpy does it", remedy=_REMEDY)
    return npy.Archive(archive, check)


def _read(arrays: npy.Archive) -> Found:
    if {"offsets", "targets"} <= arrays.names.keys():
        names = ("offsets", "targets", "weights")
        return _from_csr(*(arrays[name] for name in names if name in arrays.names))
    if {"format", "shape"} <= arrays.names.keys():
        return _from_scipy(arrays)
    found = ", ".join(sorted(arrays.names)) or "nothing"
    raise InputError(f"an .npz that holds {found}", remedy=_REMEDY)


def _from_csr(offsets: np.ndarray, targets: np.ndarray, weights: np.ndarray | None = None) -> Found:
    n, edges = _row("offsets", offsets).size - 1, _row("targets", targets).size
    check_memory(n, edges=edges)
    if n < 0 or offsets[0] != 0 or offsets[-1] != edges:
        raise InputError(f"offsets do not run from 0 to the {edges} targets", remedy=REFETCH)
    if (falls := np.flatnonzero(offsets[1:] < offsets[:-1])).size:
        raise InputError(f"offsets fall after vertex {int(falls[0])}", remedy=REFETCH)
    sources = np.repeat(np.arange(n, dtype=VERTEX), np.diff(offsets.astype(np.int64, copy=False)))
    if weights is not None and weights.shape != targets.shape:
        raise InputError(f"weights of shape {weights.shape}; each of {targets.size} targets needs one")
    return _checked(n, sources, targets, weights)


def _from_scipy(arrays: npy.Archive) -> Found:
    layout, shape = arrays["format"], arrays["shape"]
    if layout.size != 1 or layout.dtype.kind not in "SU" or layout.nbytes > _SCALAR:
        raise InputError("its format is not a word", remedy=_REMEDY)
    word = layout.item()
    word = word.decode("ascii", "replace") if isinstance(word, bytes) else word
    if word not in _LAYOUTS:
        raise InputError(f"a matrix of format {word!r}", remedy=f"one of {', '.join(_LAYOUTS)}")
    if shape.ndim != 1 or shape.dtype.kind not in "iu" or shape.nbytes > _SCALAR:
        raise InputError("its shape is not a row of integers", remedy=_REMEDY)
    sizes = tuple(int(size) for size in shape)
    if len(sizes) != 2 or sizes[0] != sizes[1] or sizes[0] < 0:
        raise InputError(f"a matrix of shape {sizes} is no graph: not square")
    n = sizes[0]
    check_vertices(n)
    check_memory(n)
    found = _matrix(arrays, word, n)
    sources, targets, values = found.row, found.col, found.data
    if word == "dia":  # scipy gives diagonal after diagonal
        order = np.lexsort((targets, sources))
        sources, targets, values = sources[order], targets[order], values[order]
    kept = values != 0
    zeros = values.size - np.count_nonzero(kept)
    if zeros:
        sources, targets, values = sources[kept], targets[kept], values[kept]
    found = _checked(n, sources, targets, None if values.dtype == np.bool_ else values)
    return replace(found, notes=zeros_left_out(zeros))


def _matrix(arrays: npy.Archive, layout: str, n: int) -> coo_array:
    """The matrix of these arrays as a list of entries, which scipy makes and checks."""
    from scipy import sparse

    if layout == "coo" and "coords" in arrays.names:
        coords = arrays["coords"]
        if coords.shape[:1] != (2,):
            raise InputError(f"coords of shape {coords.shape}; two rows are needed")
        indices = [_row("coords", array) for array in coords]
    else:
        missing = [name for name in (*_LAYOUTS[layout], "data") if name not in arrays.names]
        if missing:
            raise InputError(f"a {layout} matrix without the array {missing[0]!r}", remedy=_REMEDY)
        indices = [_row(name, arrays[name]) for name in _LAYOUTS[layout]]
    data = arrays["data"]
    check_memory(n, edges=data.size)
    if layout == "dia" and (np.abs(indices[0]) > n).any():
        raise InputError(f"diagonals lie outside of {n} rows and columns")
    try:
        given = (data, tuple(indices)) if layout == "coo" else (data, *indices)
        matrix = getattr(sparse, f"{layout}_array")(given, shape=(n, n))
        if layout in ("csr", "csc", "bsr"):
            matrix.check_format(full_check=True)
        return matrix.tocoo(copy=False)
    except (ValueError, TypeError, IndexError, ArithmeticError) as error:
        raise InputError(f"its arrays are no {layout} matrix: {error}", remedy=REFETCH) from None


def _row(name: str, array: np.ndarray) -> np.ndarray:
    """A row of integers. Raises InputError for another array."""
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputError(f"{name}: {array.dtype} of shape {array.shape}; a row of integers is needed")
    return array


def _checked(vertices: int, sources: np.ndarray, targets: np.ndarray, values: np.ndarray | None) -> Found:
    weights, description = (None, None) if values is None else of_values(values, "values")
    return Found(Graph.from_edges(vertices, sources, targets, weights), Counted(vertices), weights=description)
