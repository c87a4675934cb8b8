"""Graphs on disk: raw edges of imported and generated graphs, condensed graphs of every source.

Every file is an uncompressed `.npz` (numpy's own format, so that `numpy.load` opens it anywhere) with one
more member, `meta.json`: what the file holds, and the shape, dtype and CRC of each array. A file is written
under a temporary name in its own folder and moved into place, so that two writers at once leave one whole file,
never a mixture. On loading, every byte of every array is checked against the zip CRC; anything that does not
fit is `Damaged`.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import re
import secrets
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import numpy as np

from grailbench.errors import InputError
from grailbench.graph import npy
from grailbench.graph.csr import OFFSET, VERTEX, Dag, Graph
from grailbench.graph.ids import Counted, Ids, from_stored
from grailbench.graph.weights import WEIGHT
from grailbench.paths import cache_dir

FORMAT_VERSION = 1  # raise it when Dag, condense or the layout changes: older caches are then never read

_META = "meta.json"
_AS_GIVEN = {"kind": "counted", "first": 0}  # of graphs stored before the ids were
_DAG_FIELDS = {
    "offsets": OFFSET,
    "children": VERTEX,
    "levels": VERTEX,
    "order": VERTEX,
    "component": VERTEX,
    "parent_offsets": OFFSET,
    "parents": VERTEX,
}
_DAG_COUNTS = ("vertices", "edges", "duplicates", "loops")
_log = logging.getLogger(__name__)


class Damaged(InputError):
    """A stored file does not hold what was written to it."""


# ---------------------------------------------------------------------------------------- public


def sha256_file(path: str | os.PathLike) -> str:
    """The sha256 of a file's bytes, as 64 hex digits. Raises OSError when it cannot be read."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def graph_sha256(graph: Graph, ids: Ids | None = None) -> str:
    """The sha256 of a graph itself: vertex count and edges in their order, whatever file they came from; also weights
    and ids, where there are weights, and ids other than 0, 1, ..."""
    digest = hashlib.sha256(f"graph {graph.vertices} {graph.edges}\n".encode())
    for ends in (graph.sources, graph.targets):
        digest.update(np.ascontiguousarray(ends, dtype="<i4"))
    if graph.weights is not None:
        digest.update(b"weights\n")
        digest.update(np.ascontiguousarray(graph.weights, dtype="<i4"))
    if ids is not None and ids.digest:
        digest.update(f"ids {ids.digest}\n".encode())
    return digest.hexdigest()


def save_graph(path: str | os.PathLike, graph: Graph, meta: dict | None = None, ids: Ids | None = None) -> dict:
    """Write the raw edges of `graph`, weights if it has any, and `meta` (anything JSON holds) to `path`, atomically.

    ids  those that the vertices have in the file the graph came from; None for 0, 1, ...

    Returns the whole meta: `vertices`, `edges`, `numbering` (of the ids) and `sha256` (of the graph itself, see
    `graph_sha256`) are set in it, whatever `meta` says about them. The bytes written are a pure function of graph, ids
    and meta.
    """
    numbering, labels = (ids or Counted(graph.vertices)).stored()
    whole = {
        **(meta or {}),
        "kind": "graph",
        "vertices": graph.vertices,
        "edges": graph.edges,
        "numbering": numbering,
        "sha256": graph_sha256(graph, ids),
    }
    arrays = {"sources": graph.sources, "targets": graph.targets, "weights": graph.weights, "labels": labels}
    return _write(Path(path), whole, {name: array for name, array in arrays.items() if array is not None})


def load_graph(path: str | os.PathLike) -> tuple[Graph, dict]:
    """Read back what `save_graph` wrote: the graph and its meta; the ids are `load_ids`'.

    Raises InputError when there is no such file, or it was written when ids were not kept and needs them, `Damaged`
    (an InputError) when it is not whole.
    """
    path = Path(path)
    meta, arrays = _read(path, "graph", {"sources": VERTEX, "targets": VERTEX}, {"weights": WEIGHT})
    _require_ids(path, meta)
    if arrays["sources"].shape != (meta.get("edges"),) or arrays["targets"].shape != (meta.get("edges"),):
        raise _damaged(path, "its edge arrays are not as long as its edge count")
    try:
        return Graph.from_edges(meta["vertices"], **arrays), meta
    except (InputError, KeyError, TypeError) as error:
        raise _damaged(path, str(error)) from None


def load_ids(path: str | os.PathLike) -> Ids:
    """The ids that the vertices of a stored graph have in the file it came from. Raises as `load_graph` does."""
    path = Path(path)
    meta, arrays = _read(path, "graph", {}, {"labels": np.int64})
    _require_ids(path, meta)
    try:
        return from_stored(meta["vertices"], meta.get("numbering", _AS_GIVEN), arrays.get("labels"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(path, str(error)) from None


def _require_ids(path: Path, meta: dict) -> None:
    """Raises InputError for a graph imported when ids were changed and the change was not kept."""
    if "numbering" not in meta and re.search("taken down|renumbered", str(meta.get("ids", ""))):
        source, name = meta.get("source", "FILE"), meta.get("name", path.stem)
        stated = f" --vertices {meta['vertices_stated']}" if "vertices_stated" in meta else ""
        stated += " --renumber" if meta.get("renumbered") else ""
        raise InputError(
            f"{name!r} was imported by an older version, which changed the ids of the file and did not keep them",
            path=path,
            remedy=f"import it again: grailbench import {source} --name {name} --replace{stated}",
        )


def read_meta(path: str | os.PathLike) -> dict:
    """The meta of a stored graph, without reading its edges. Raises as `load_graph` does."""
    path = Path(path)
    with _opened(path) as archive:
        meta = _meta(archive, path, "graph")
        if not isinstance(meta.get("sha256"), str) or not isinstance(meta.get("vertices"), int):
            raise _damaged(path, "its meta lacks checksum or vertices")
        return meta


def stored_dag(path: str | os.PathLike, graph: Graph | None = None) -> tuple[Dag, dict]:
    """The condensed form of a graph that `save_graph` wrote, and its meta; its edges are read only if needed, and not
    where `graph` is what was written."""
    meta = read_meta(path)
    _require_ids(Path(path), meta)
    return cached_dag(meta["sha256"], lambda: load_graph(path)[0] if graph is None else graph), meta


def cached_dag(sha256: str, make: Callable[[], Graph]) -> Dag:
    """The condensed graph of the source with this sha256, from the cache when it is there and whole.

    `make` gives the raw graph; it is called only when the cache has none, or a damaged one, which is then
    rebuilt with a logged warning. Two sources that differ must have different keys. A cache that cannot be
    written is no error: the graph is returned all the same, with a warning.
    """
    path = _dag_path(sha256)
    if path.exists():
        try:
            return _load_dag(path, sha256)
        except InputError as error:
            _log.warning("rebuilding a cached graph: %s", error)
    dag = condensed(make())
    keep_dag(dag, sha256)
    return dag


def condensed(graph: Graph) -> Dag:
    """The condensed form of a graph, made by all cores that this process may use."""
    from grailbench.graph.condense import condense

    return condense(graph, threads=len(os.sched_getaffinity(0)))


def keep_dag(dag: Dag, sha256: str) -> None:
    """Put a condensed graph into the cache; a cache that cannot be written is a logged warning."""
    path = _dag_path(sha256)
    try:
        _save_dag(path, dag, sha256)
    except OSError as error:
        _log.warning("%s: the condensed graph was not cached: %s", path, error.strerror or error)


def _dag_path(sha256: str) -> Path:
    if not re.fullmatch(r"[0-9A-Za-z][0-9A-Za-z._-]*", sha256):
        raise ValueError(f"{sha256!r} is no key of a cached graph")
    return cache_dir() / "dags" / f"{sha256}-v{FORMAT_VERSION}.npz"


# ---------------------------------------------------------------------------------------- condensed graphs


def _save_dag(path: Path, dag: Dag, key: str) -> None:
    meta = {"kind": "dag", "key": key, "version": FORMAT_VERSION}
    meta |= {name: getattr(dag, name) for name in _DAG_COUNTS}
    _write(path, meta, {name: getattr(dag, name) for name in _DAG_FIELDS})


def _load_dag(path: Path, key: str) -> Dag:
    """Read a condensed graph and check what a kernel relies on; raises Damaged."""
    meta, arrays = _read(path, "dag", _DAG_FIELDS)
    if (meta.get("key"), meta.get("version")) != (key, FORMAT_VERSION):
        raise _damaged(path, "it was written for another source or format")
    counts = {name: meta.get(name) for name in _DAG_COUNTS}
    if not all(isinstance(count, int) and count >= 0 for count in counts.values()):
        raise _damaged(path, "its counts are no counts")
    reverse = (arrays.pop("parent_offsets"), arrays.pop("parents"))
    dag = Dag(**arrays, duplicates=counts["duplicates"], loops=counts["loops"], reverse=reverse)
    fault = _dag_fault(dag, counts["vertices"], counts["edges"])
    if fault:
        raise _damaged(path, fault)
    return dag


def _dag_fault(dag: Dag, n: int, m: int) -> str | None:
    """What is wrong with a loaded condensed graph of n vertices and m edges; None when nothing is."""
    if dag.offsets.shape != (n + 1,) or dag.parent_offsets.shape != (n + 1,):
        return "its offsets are not one longer than its vertices"
    if dag.children.shape != (m,) or dag.parents.shape != (m,):
        return "its edge arrays are not as long as its edge count"
    if dag.levels.shape != (n,) or dag.order.shape != (n,):
        return "its levels or order are not as long as its vertices"
    for name, offsets in (("offsets", dag.offsets), ("parent offsets", dag.parent_offsets)):
        if offsets[0] != 0 or offsets[-1] != m or not (offsets[1:] >= offsets[:-1]).all():
            return f"its {name} do not rise from 0 to the edge count"
    for name, below in (("children", n), ("parents", n), ("levels", n), ("order", n), ("component", n - 1)):
        values = getattr(dag, name)
        if values.size and (values.min() < 0 or values.max() >= below):
            return f"its {name} are out of range"
    return None


# ---------------------------------------------------------------------------------------- files


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """A new binary file that takes the place of `path` when the block ends well, else vanishes.

    Where the system can, it has no name before that, so that a killed process leaves nothing. An OSError that names no
    file, as that of a full disk, is given the name of this one.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        nameless = _nameless(path.parent)
        with open(temporary, "xb") if nameless is None else open(nameless, "r+b") as stream:
            yield stream
            stream.flush()
            if nameless is not None:
                # the folder of an absolute path counts for nothing, but only with one is the link followed
                os.link(f"/proc/self/fd/{nameless}", temporary, src_dir_fd=nameless, follow_symlinks=True)
        os.replace(temporary, path)
    except OSError as error:
        if error.filename in (None, str(temporary)):
            error.filename = str(path)
        raise
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _nameless(folder: Path) -> int | None:
    """A new file of a folder that has no name yet; None where the file system or the system has no such thing."""
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666)
    except OSError:
        return None  # what is really wrong with the folder is told by opening a file in it


def _write(path: Path, meta: dict, arrays: dict[str, np.ndarray]) -> dict:
    """Write arrays and meta; zip dates stay at 1980, so that equal content gives equal bytes."""
    with atomic_file(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        described = {}
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy")
            with archive.open(entry, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
            described[name] = {"dtype": array.dtype.str, "shape": list(array.shape), "crc": entry.CRC}
        whole = {**meta, "arrays": described}
        archive.writestr(zipfile.ZipInfo(_META), json.dumps(whole, sort_keys=True, allow_nan=False))
    return whole


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """The archive, with everything a damaged one can raise turned into Damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except FileNotFoundError:
        raise InputError("there is no such stored graph", path=path) from None
    except OSError as error:
        if error.errno == errno.EINVAL:  # a torn offset sent zipfile to a place before the file
            raise _damaged(path, "its directory is torn") from None
        raise InputError(f"the stored graph cannot be read: {error.strerror or error}", path=path) from None
    except InputError:
        raise
    except npy.FAULTS as error:
        raise _damaged(path, str(error)) from None


def _meta(archive: zipfile.ZipFile, path: Path, kind: str) -> dict:
    meta = json.loads(archive.read(_META))
    if not isinstance(meta, dict) or meta.get("kind") != kind or not isinstance(meta.get("arrays"), dict):
        raise _damaged(path, f"it holds no {kind}")
    return meta


def _read(path: Path, kind: str, fields: dict, optional: dict | None = None) -> tuple[dict, dict[str, np.ndarray]]:
    """Meta and arrays of a stored file, every byte checked, of the optional ones those it has; raises Damaged."""
    with _opened(path) as archive:
        meta = _meta(archive, path, kind)
        arrays = {}
        present = {name: dtype for name, dtype in (optional or {}).items() if name in meta["arrays"]}
        for name, dtype in (fields | present).items():
            wanted = meta["arrays"][name]
            if (wanted["dtype"], wanted["crc"]) != (np.dtype(dtype).str, archive.getinfo(f"{name}.npy").CRC):
                raise _damaged(path, f"array {name} is not the one that was written")
            with archive.open(f"{name}.npy") as member:
                arrays[name] = _array(member, path, name, wanted)
        return meta, arrays


def _array(member: IO[bytes], path: Path, name: str, wanted: dict) -> np.ndarray:
    """One array. The meta, checked already, says how large it is: no torn header chooses the allocation."""
    shape, dtype, columns_first = npy.header(member)
    if columns_first or dtype.str != wanted["dtype"] or list(shape) != wanted["shape"]:
        raise _damaged(path, f"array {name} has another type or shape than was written")
    return npy.content(member, shape, dtype)


def _damaged(path: Path, why: str) -> Damaged:
    return Damaged(f"the stored graph is damaged: {why}", path=path, remedy="import or generate it again")
