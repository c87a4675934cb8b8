"""Stores graphs on disk: raw edges of imported and generated graphs, and condensed graphs of every source.

Each file is an uncompressed `.npz` that `numpy.load` can open, with an additional member `meta.json` that describes
the content and the shape, dtype and CRC of each array. Files are replaced atomically, so two processes that write the
same file at once cannot mix their contents. Loading checks every array against the CRC and raises `Damaged` if
anything is wrong.
"""

import errno
import hashlib
import json
import logging
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from grailbench.errors import InputError
from grailbench.graph import npy
from grailbench.graph.csr import MOST_REVERSED, OFFSET, VERTEX, Dag, Graph
from grailbench.graph.ids import Counted, Ids, from_stored
from grailbench.graph.kinds import STORED, Kinds
from grailbench.graph.weights import WEIGHT
from grailbench.util import caches, outputs
from grailbench.util.cores import usable_cores
from grailbench.util.paths import cache_dir

FORMAT_VERSION = 1  # increase it when Dag, condense or the layout changes, so that older cached files are not read

_MESSAGE = 200  #: most letters of a library's message, which may be as long as the file
_META = "meta.json"
_LABELS = {"labels": np.int64, "name_bytes": np.uint8, "name_ends": np.int64}  # see `Ids.stored`
_DAG_FIELDS = {"offsets": OFFSET, "children": VERTEX, "levels": VERTEX, "order": VERTEX, "component": VERTEX}
_REVERSE = {"parent_offsets": OFFSET, "parents": VERTEX}  # not of large graphs
_DAG_COUNTS = ("vertices", "edges", "duplicates", "loops")
_log = logging.getLogger(__name__)


class Taken(InputError):
    """The name of a graph is that of another one."""


class Damaged(InputError):
    """A stored file does not contain what was written to it."""


def sha256_file(path: str | os.PathLike) -> str:
    """The sha256 of a file as 64 hex digits. Raises OSError if it cannot be read."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def graph_sha256(graph: Graph, ids: Ids | None = None) -> str:
    """The sha256 of a graph: of its vertex count, its edges in order, their weights and kinds if they have any, and its
    ids if they are not 0, 1, ... It does not depend on the format of the file."""
    digest = hashlib.sha256(f"graph {graph.vertices} {graph.edges}\n".encode())
    for ends in (graph.sources, graph.targets):
        digest.update(np.ascontiguousarray(ends, dtype="<i4"))
    if graph.weights is not None:
        digest.update(b"weights\n")
        digest.update(np.ascontiguousarray(graph.weights, dtype="<i4"))
    if graph.kinds is not None:
        digest.update(f"kinds {json.dumps(graph.kinds.names)}\n".encode())
        digest.update(np.ascontiguousarray(graph.kinds.codes, dtype="<u2"))
    if ids is not None and ids.digest:
        digest.update(f"ids {ids.digest}\n".encode())
    return digest.hexdigest()


def save_graph(
    path: str | os.PathLike, graph: Graph, meta: dict | None = None, ids: Ids | None = None,
    check: Callable[[], None] | None = None,
) -> dict:  # fmt: skip
    """Writes a raw graph and `meta` (anything that JSON can represent) to `path` atomically.

    `ids` are the ids of the vertices in the file that the graph came from; None for 0, 1, ... `check` is as of
    `atomic_file`. Returns the meta that was written: `meta` with `kind`, `vertices`, `edges`, `numbering` (of the ids),
    `sha256` (see `graph_sha256`) and the arrays. Equal arguments give equal bytes.
    """
    numbering, labels = (ids or Counted(graph.vertices)).stored()
    whole = {
        **(meta or {}), "kind": "graph", "vertices": graph.vertices, "edges": graph.edges, "numbering": numbering,
        "sha256": graph_sha256(graph, ids),
    }  # fmt: skip
    arrays = {"sources": graph.sources, "targets": graph.targets, "weights": graph.weights, **labels}
    if graph.kinds is not None:
        arrays["kinds"], whole["kinds"] = graph.kinds.codes.astype(STORED), list(graph.kinds.names)
    return _write(Path(path), whole, {name: array for name, array in arrays.items() if array is not None}, check=check)


def load_graph(path: str | os.PathLike, sha256: str | None = None) -> tuple[Graph, dict]:
    """Reads a graph and its meta as written by `save_graph`.

    Raises InputError if the file is missing or another graph than that with this `sha256` (None for any), and `Damaged`
    (an InputError) if the file is damaged, or of an old version that did not store the ids.
    """
    path = Path(path)
    meta, arrays = _read(path, "graph", {"sources": VERTEX, "targets": VERTEX}, {"weights": WEIGHT, "kinds": STORED})
    require_same(meta.get("sha256"), sha256, path)
    if arrays["sources"].shape != (meta.get("edges"),) or arrays["targets"].shape != (meta.get("edges"),):
        raise _damaged(path, "its edge arrays are not as long as its edge count")
    try:
        codes = arrays.pop("kinds", None)
        kinds = None if codes is None else Kinds.restored(codes, meta["kinds"])
        return Graph.from_edges(meta["vertices"], **arrays, kinds=kinds), meta
    except (InputError, KeyError, TypeError) as error:
        raise _damaged(path, str(error)) from None


def load_ids(path: str | os.PathLike, sha256: str | None = None) -> Ids:
    """The ids of a stored graph's vertices in the file it came from. Raises the same errors as `load_graph`."""
    path = Path(path)
    meta, arrays = _read(path, "graph", {}, _LABELS)
    require_same(meta.get("sha256"), sha256, path)
    try:
        return from_stored(meta["vertices"], meta["numbering"], arrays)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(path, str(error)) from None


def require_same(found: str | None, wanted: str | None, name: str | Path) -> None:
    """Raises InputError if a graph has another sha256 than is wanted; None is that of any."""
    if wanted not in (None, found):
        raise InputError(f"{name}: another graph has this name now", remedy="try again")


def require_free(name: str, beside: str, remedy: str) -> None:
    """Raises Taken if a graph in that folder of the cache, 'imported' or 'generated', has this name."""
    if (cache_dir() / beside / f"{name}.npz").exists():
        article = "an" if beside == "imported" else "a"
        raise Taken(f"{article} {beside} graph is named {name!r}", remedy=remedy)


def read_meta(path: str | os.PathLike) -> dict:
    """The meta of a stored graph; its edges are not read. Raises the same errors as `load_graph`."""
    path = Path(path)
    with _opened(path) as archive:
        meta = _meta(archive, path, "graph")
        if not isinstance(meta.get("sha256"), str) or not isinstance(meta.get("vertices"), int):
            raise _damaged(path, "its meta lacks checksum or vertices")
        return meta


def stored_dag(path: str | os.PathLike, graph: Graph | None = None) -> tuple[Dag, dict]:
    """The condensed form of a graph that `save_graph` wrote, and its meta. If it is not cached, it is made of `graph`,
    or of the stored edges if `graph` is None."""
    caches.use(Path(path))
    meta = read_meta(path)
    return cached_dag(meta["sha256"], lambda: load_graph(path, meta["sha256"])[0] if graph is None else graph), meta


def cached_dag(sha256: str, make: Callable[[], Graph]) -> Dag:
    """The condensed graph of the source with this sha256, which must identify the source, from the cache if possible.

    `make` returns the raw graph; it is called only if the graph is not in the cache or is damaged there. A damaged
    graph is replaced and a warning is logged; a warning is also logged if the cache cannot be written.
    """
    path = _dag_path(sha256)
    caches.use(path)
    if path.exists():
        try:
            return _load_dag(path, sha256)
        except InputError as error:
            _log.warning("rebuilding a cached graph: %s", error)
    dag = condensed(make())
    keep_dag(dag, sha256)
    return dag


def condensed(graph: Graph) -> Dag:
    """Condenses a graph on all cores that this process may use."""
    from grailbench.graph.condense import condense

    return condense(graph, threads=usable_cores())


def keep_dag(dag: Dag, sha256: str) -> None:
    """Writes a condensed graph to the cache; logs a warning if that fails."""
    path = _dag_path(sha256)
    try:
        _save_dag(path, dag, sha256)
    except OSError as error:
        _log.warning("%s: the condensed graph was not cached: %s", path, error.strerror or error)


def is_former(path: Path) -> bool:
    """Whether a cached condensed graph is of another version of the format, so that nothing reads it."""
    return not path.name.endswith(f"-v{FORMAT_VERSION}.npz")


def _dag_path(sha256: str) -> Path:
    if not re.fullmatch(r"[0-9A-Za-z][0-9A-Za-z._-]*", sha256):
        raise ValueError(f"{sha256!r} is no key of a cached graph")
    return cache_dir() / "dags" / f"{sha256}-v{FORMAT_VERSION}.npz"


# ---------------------------------------------------------------------------------------- condensed graphs


def _save_dag(path: Path, dag: Dag, key: str) -> None:
    meta = {"kind": "dag", "key": key, "version": FORMAT_VERSION}
    meta |= {name: getattr(dag, name) for name in _DAG_COUNTS}
    reverse = _REVERSE if dag.edges <= MOST_REVERSED else {}
    _write(path, meta, {name: getattr(dag, name) for name in _DAG_FIELDS | reverse}, durable=False)


def _load_dag(path: Path, key: str) -> Dag:
    """Reads a condensed graph and checks everything that kernels rely on. Raises Damaged."""
    meta, arrays = _read(path, "dag", _DAG_FIELDS, _REVERSE)
    if (meta.get("key"), meta.get("version")) != (key, FORMAT_VERSION):
        raise _damaged(path, "it was written for another source or format")
    counts = {name: meta.get(name) for name in _DAG_COUNTS}
    if not all(isinstance(count, int) and count >= 0 for count in counts.values()):
        raise _damaged(path, "its counts are no counts")
    rows = [arrays.pop(name, None) for name in _REVERSE]
    reverse = None if any(each is None for each in rows) else tuple(rows)
    dag = Dag(**arrays, duplicates=counts["duplicates"], loops=counts["loops"], reverse=reverse)
    fault = _dag_fault(dag, counts["vertices"], counts["edges"])
    if fault:
        raise _damaged(path, fault)
    return dag


def _dag_fault(dag: Dag, n: int, m: int) -> str | None:
    """What is wrong with a loaded condensed graph that should have n vertices and m edges; None if it is valid."""
    rows = {"": (dag.offsets, dag.children)} | ({} if dag.reverse is None else {"parent ": dag.reverse})
    if any(offsets.shape != (n + 1,) for offsets, _ in rows.values()):
        return "its offsets are not one longer than its vertices"
    if any(ends.shape != (m,) for _, ends in rows.values()):
        return "its edge arrays are not as long as its edge count"
    if dag.levels.shape != (n,) or dag.order.shape != (n,):
        return "its levels or order are not as long as its vertices"
    for name, (offsets, _) in rows.items():
        if offsets[0] != 0 or offsets[-1] != m or not (offsets[1:] >= offsets[:-1]).all():
            return f"its {name}offsets do not rise from 0 to the edge count"
    parents = None if dag.reverse is None else dag.parents
    vertices = {"children": dag.children, "parents": parents, "levels": dag.levels, "order": dag.order}
    for name, values, below in (*((*each, n) for each in vertices.items()), ("component", dag.component, n - 1)):
        if values is not None and values.size and (values.min() < 0 or values.max() >= below):
            return f"its {name} are out of range"
    return None


# ---------------------------------------------------------------------------------------- files


def _write(
    path: Path, meta: dict, arrays: dict[str, np.ndarray], durable: bool = True,
    check: Callable[[], None] | None = None,
) -> dict:  # fmt: skip
    """Writes arrays and meta. All zip dates are 1980, so that equal content gives equal bytes."""
    # what there was is ours
    opened = outputs.atomic_file(path, durable, seeks=True, over=b"", check=check, added=caches.added)
    with opened as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
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
    """Opens an archive and turns every error that a damaged one can cause into Damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            outputs.protect(path)
            yield archive
    except FileNotFoundError:
        raise InputError("there is no such stored graph", path=path) from None
    except OSError as error:
        if error.errno == errno.EINVAL:  # a damaged offset made zipfile seek to a negative position
            raise _damaged(path, "its directory is torn") from None
        raise InputError(f"the stored graph cannot be read: {error.strerror or error}", path=path) from None
    except InputError:
        raise
    except npy.FAULTS as error:
        raise _damaged(path, str(error)) from None


def _meta(archive: zipfile.ZipFile, path: Path, kind: str) -> dict:
    entry = archive.getinfo(_META)
    size = npy.size_of(archive, entry)
    with archive.open(entry) as member:
        meta = json.loads(member.read(size))
    if not isinstance(meta, dict) or meta.get("kind") != kind or not isinstance(meta.get("arrays"), dict):
        raise _damaged(path, f"it holds no {kind}")
    if kind == "graph" and "numbering" not in meta:
        raise _damaged(path, "an old version stored it, without its ids")
    return meta


def _read(path: Path, kind: str, fields: dict, optional: dict | None = None) -> tuple[dict, dict[str, np.ndarray]]:
    """The meta and the checked arrays of a stored file; optional arrays may be missing. Raises Damaged."""
    with _opened(path) as archive:
        meta = _meta(archive, path, kind)
        arrays = {}
        present = {name: dtype for name, dtype in (optional or {}).items() if name in meta["arrays"]}
        stored = npy.Archive(archive)
        for name, dtype in (fields | present).items():
            wanted, entry = meta["arrays"][name], archive.getinfo(f"{name}.npy")
            if (wanted["dtype"], wanted["crc"]) != (np.dtype(dtype).str, entry.CRC):
                raise _damaged(path, f"array {name} is not the one that was written")
            arrays[name] = stored[name]
            if (arrays[name].dtype.str, list(arrays[name].shape)) != (wanted["dtype"], wanted["shape"]):
                raise _damaged(path, f"array {name} has another type or shape than was written")
        return meta, arrays


def _damaged(path: Path, why: str) -> Damaged:
    return Damaged(f"the stored graph is damaged: {why[:_MESSAGE]}", path=path, remedy="import or generate it again")
