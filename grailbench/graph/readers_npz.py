"""CSR in numpy's `.npz`: the arrays `offsets` and `targets`, or what `scipy.sparse.save_npz` writes.

offsets: any integer dtype, n + 1 values rising from 0 to m; targets: any integer dtype, m vertex ids. Of a scipy
matrix (any of its formats) each stored entry (i, j) is an edge i -> j, whatever its value.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import MAX_VERTICES, VERTEX, Graph
from grailbench.graph.readers_text import REFETCH, file_bytes, is_gzip

_REMEDY = "arrays 'offsets' and 'targets', or scipy.sparse.save_npz"


def read_npz(path: Path) -> tuple[Graph, str]:
    """The graph in an `.npz`, and a word on its ids. Raises InputError."""
    try:
        source = path
        if is_gzip(path):
            import io

            source = io.BytesIO(file_bytes(path))
        with np.load(source, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise InputError("one bare array, no archive of arrays", path=path, remedy=_REMEDY)
            names = set(archive.files)
            arrays = {name: archive[name] for name in ("offsets", "targets") if name in names}
        if len(arrays) == 2:
            return _from_csr(path, **arrays), "ids as given"
        if "format" in names and "shape" in names:
            return _from_scipy(path, source), "ids as given"
    except FileNotFoundError:
        raise InputError("there is no such file", path=path) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, KeyError, TypeError, OSError) as error:
        raise InputError(f"a damaged .npz: {error}", path=path, remedy=REFETCH) from None
    raise InputError(f"an .npz of {', '.join(sorted(names)) or 'nothing'}", path=path, remedy=_REMEDY)


def _from_csr(path: Path, offsets: np.ndarray, targets: np.ndarray) -> Graph:
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
    return _checked(path, n, sources, targets)


def _from_scipy(path: Path, source) -> Graph:
    from scipy.sparse import load_npz

    if hasattr(source, "seek"):
        source.seek(0)
    matrix = load_npz(source)
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"a matrix of shape {matrix.shape} is no graph: not square", path=path)
    entries = matrix.tocoo()
    return _checked(path, matrix.shape[0], entries.row, entries.col)


def _checked(path: Path, vertices: int, sources: np.ndarray, targets: np.ndarray) -> Graph:
    try:
        return Graph.from_edges(vertices, sources, targets)
    except InputError as error:
        raise InputError(str(error), path=path) from None
