"""CSR in numpy's `.npz`: the arrays `offsets` and `targets`, or what `scipy.sparse.save_npz` writes.

offsets: any integer dtype, n + 1 values rising from 0 to m; targets: any integer dtype, m vertex ids; weights, where
there are any: m numbers (see `weights`). Of a scipy matrix (any of its formats) each stored entry (i, j) is an edge
i -> j, whatever its value; values other than truth values are its weights.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import MAX_VERTICES, VERTEX, Graph
from grailbench.graph.ids import Counted
from grailbench.graph.readers_text import REFETCH, Found, file_bytes, is_gzip
from grailbench.graph.weights import of_values

_REMEDY = "arrays 'offsets' and 'targets', or scipy.sparse.save_npz"


def read_npz(path: Path) -> Found:
    """The graph in an `.npz`. Raises InputError."""
    try:
        source = path
        if is_gzip(path):
            import io

            source = io.BytesIO(file_bytes(path))
        with np.load(source, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise InputError("one bare array, no archive of arrays", path=path, remedy=_REMEDY)
            names = set(archive.files)
            arrays = {name: archive[name] for name in ("offsets", "targets", "weights") if name in names}
        if "offsets" in arrays and "targets" in arrays:
            return _from_csr(path, **arrays)
        if "format" in names and "shape" in names:
            return _from_scipy(path, source)
    except FileNotFoundError:
        raise InputError("there is no such file", path=path) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, KeyError, TypeError, OSError) as error:
        raise InputError(f"a damaged .npz: {error}", path=path, remedy=REFETCH) from None
    raise InputError(f"an .npz of {', '.join(sorted(names)) or 'nothing'}", path=path, remedy=_REMEDY)


def _from_csr(path: Path, offsets: np.ndarray, targets: np.ndarray, weights: np.ndarray | None = None) -> Found:
    for name, array in (("offsets", offsets), ("targets", targets)):
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise InputError(f"{name}: {array.dtype} of shape {array.shape}; a row of integers is needed", path=path)
    if offsets.size == 0 or offsets[0] != 0 or offsets[-1] != targets.size:
        raise InputError(f"offsets do not run from 0 to the {targets.size} targets", path=path)
    if offsets.size - 1 > MAX_VERTICES:
        raise InputError(f"{offsets.size - 1} vertices; at most {MAX_VERTICES} fit 32-bit ids", path=path)
    falls = np.flatnonzero(offsets[1:] < offsets[:-1])
    if falls.size:
        raise InputError(f"offsets fall after vertex {int(falls[0])}", path=path)
    n = offsets.size - 1
    sources = np.repeat(np.arange(n, dtype=VERTEX), np.diff(offsets.astype(np.int64, copy=False)))
    if weights is not None and weights.shape != targets.shape:
        raise InputError(f"weights of shape {weights.shape}; each of {targets.size} targets needs one", path=path)
    return _checked(path, n, sources, targets, weights)


def _from_scipy(path: Path, source) -> Found:
    from scipy.sparse import load_npz

    if hasattr(source, "seek"):
        source.seek(0)
    matrix = load_npz(source)
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"a matrix of shape {matrix.shape} is no graph: not square", path=path)
    entries = matrix.tocoo()
    values = None if entries.data.dtype == np.bool_ else entries.data
    return _checked(path, matrix.shape[0], entries.row, entries.col, values)


def _checked(path: Path, vertices: int, sources: np.ndarray, targets: np.ndarray, values: np.ndarray | None) -> Found:
    weights, said = (None, None) if values is None else of_values(values, "values")
    try:
        return Found(Graph.from_edges(vertices, sources, targets, weights), Counted(vertices), weights=said)
    except InputError as error:
        raise InputError(str(error), path=path) from None
