"""Graphs of edges between labels, which are texts or numbers, and the libraries that parse other formats."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd

from grailbench.errors import GrailbenchError, InputError, MachineLacks
from grailbench.graph.csr import VERTEX, Graph
from grailbench.graph.ids import Ids, Named, ids_from, is_number
from grailbench.graph.readers.text import Found, check_memory, check_vertices


def factorized(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The place of each label, int64[k], among the different ones, and these, in the order in which they first occur.

    labels  int64[k], or object[k] of str
    """
    if labels.dtype == object and any("\0" in label for label in labels):
        # pandas before 3 ends a text at its first NUL, unless not all are text; it leaves out None
        codes, known = pd.factorize(np.append(labels, None))
        return codes[:-1], known
    return pd.factorize(labels)


def found_of(
    path: Path,
    sources: Sequence | np.ndarray,
    targets: Sequence | np.ndarray,
    vertices: Sequence[str] = (),
    repository: str | None = None,
) -> Found:
    """The graph with these edges, from sources[i] to targets[i], and its ids.

    sources, targets  the labels of the ends of each edge: both str, or both numpy arrays of integers
    vertices          labels of vertices that need not have an edge
    repository        the git repository whose commits the vertices are, see `Named`

    If all labels are numbers, the vertices are in their order and the ids are these; otherwise they are in the order of
    `vertices` and then of the file. Raises InputError if there are more than fit, and TooLittleMemory.
    """
    numeric = isinstance(sources, np.ndarray) and sources.dtype.kind in "iu"
    labels = np.empty(len(vertices) + 2 * len(sources), np.int64 if numeric else object)
    ends = labels[len(vertices) :]
    if len(vertices):
        labels[: len(vertices)] = vertices
    ends[0::2], ends[1::2] = sources, targets
    codes, known = factorized(labels)
    if not numeric and "" in known:
        raise InputError("an id is empty", path=path)
    check_vertices(known.size, path, None)
    check_memory(known.size, path, edges=len(sources))
    ids: Ids
    if numeric or all(map(is_number, known)):
        known = known.astype(np.int64)
        order = np.argsort(known)
        rank = np.empty(known.size, np.int64)
        rank[order] = np.arange(known.size)
        codes, ids = rank[codes], ids_from(known[order])
    else:
        ids = Named(known, repository)
    codes = codes[len(vertices) :].astype(VERTEX)
    return Found(Graph(known.size, codes[0::2].copy(), codes[1::2].copy()), ids)


def needed(module: str, format: str) -> ModuleType:
    """Imports a library that a format needs. Raises MachineLacks if it is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # a library's own, of what it uses of others
            return importlib.import_module(module)
    except ImportError as error:
        raise MachineLacks(f"{format} is read by {module}, which cannot be imported ({error}): "
                           "pip install 'grailbench[formats]'") from error  # fmt: skip


@contextmanager
def parsing(path: Path, expected: str, remedy: str | None = None) -> Iterator[None]:
    """Turns every exception of a parsing library into one InputError: libraries raise all kinds for damaged files."""
    try:
        yield
    except InputError as error:
        if error.path is not None:
            raise
        raise InputError(str(error), path=path) from None
    except (GrailbenchError, MemoryError):
        raise
    except RecursionError:
        raise InputError(f"{expected} expected; its parts are nested too deep", path=path, remedy=remedy) from None
    except Exception as error:
        why = " ".join(str(error).split())[:200] or type(error).__name__
        line = getattr(error, "lineno", None) or next(iter(getattr(error, "position", ())), None)
        raise InputError(f"{expected} expected: {why}", path=path, line=line, remedy=remedy) from None
