"""A user's own graph under a name of its own: read, checked, condensed, kept in the cache."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grailbench import files, paths
from grailbench.errors import InputError

if TYPE_CHECKING:
    from grailbench.graph.csr import Dag
    from grailbench.graph.readers import Reading

_READ_AS = ("source_sha256", "format", "vertices_stated", "renumbered")  # what of the meta makes two imports one
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class ImportResult:
    """An imported graph: where it lies, how it was read, what it is once condensed."""

    name: str
    path: Path
    meta: dict
    reading: Reading
    dag: Dag

    def record(self) -> dict:
        """One flat record, as `grailbench import --json` prints it.

        `file_vertices` and `file_edges` are those of the file; `vertices` and `edges` are counted after
        condensation, with the super-root, as everywhere. `ids`, `weights` and `notes` say in words which ids the
        file has, what its weights are or why they are not used, and what else was done. Times are in ms, the rate in
        MB of text a second.
        """
        from grailbench.graph.profile import characteristics

        return {
            "name": self.name,
            "set": "imported",
            **characteristics(self.dag),
            "file_vertices": self.reading.graph.vertices,
            "file_edges": self.reading.graph.edges,
            "components": self.dag.vertices - 1,
            "duplicates": self.dag.duplicates,
            "loops": self.dag.loops,
            "format": self.reading.format,
            **_said(self.reading),
            "source": self.meta["source"],
            "source_sha256": self.meta["source_sha256"],
            "sha256": self.meta["sha256"],
            "read_ms": 1e3 * (self.reading.load_seconds + self.reading.parse_seconds),
            "mb_per_s": self.reading.mb_per_s,
        }


def import_graph(
    path: str | os.PathLike,
    name: str,
    format: str | None = None,
    replace: bool = False,
    vertices: int | None = None,
    renumber: bool = False,
) -> ImportResult:
    """Read a graph file, or a pipe, and keep it as `name`; from then on `open_graph(name)` opens it.

    path      '-' is the standard input
    format    one of `grailbench.graph.readers.FORMATS`, None to tell it from content and name
    replace   whether a graph imported before under this name, from another file, gives way
    vertices  the vertex count of an edge list, in a header's stead
    renumber  whether the vertices of an edge list are the ids that occur, and no others

    The name appears last: an import that fails, or is killed, leaves neither a name nor a file. Raises InputError when
    the name is taken or no name, and when the file is at fault (file, line, remedy); TooLittleMemory.
    """
    from grailbench.graph.readers import read_source
    from grailbench.graph.readers.text import check_memory
    from grailbench.graph.store import condensed, keep_dag, save_graph

    check_name(name)
    stored = paths.cache_dir() / "imported" / f"{name}.npz"
    with files.opened(path) as source:
        reading = read_source(source, format, vertices, renumber)
        read_as = {
            "source_sha256": source.sha256,
            "format": reading.format,
            **({"vertices_stated": vertices} if vertices is not None else {}),
            **({"renumbered": True} if renumber else {}),
        }
    if not replace:
        _check_untaken(stored, name, read_as)
    check_memory(reading.graph.vertices, source.path, edges=reading.graph.edges)
    dag = condensed(reading.graph)
    said = {"name": name, "source": source.origin, **_said(reading), **read_as}
    meta = save_graph(stored, reading.graph, said, reading.ids)
    keep_dag(dag, meta["sha256"])
    return ImportResult(name, stored, meta, reading, dag)


def _said(reading: Reading) -> dict:
    """What was read, in words."""
    return {"ids": reading.ids.describe(), "weights": reading.weights, "notes": list(reading.notes)}


def check_name(name: str, beside: str = "generated") -> None:
    """Raises InputError unless a user's graph may have this name: no dataset, no look-alike has it, and no graph in
    the cache's folder `beside` ('generated' for an import, 'imported' for a generated one)."""
    from grailbench.datasets.registry import find

    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r} is no name", remedy="letters, digits, '.', '_' and '-', at most 100")
    if (dataset := find(name)) is not None:
        raise InputError(f"{name!r} is a name of the dataset {dataset.name}", remedy="choose another --name")
    if "-like" in name.casefold() or name == "random":
        raise InputError(f"{name!r} is kept for generated graphs", remedy="choose another --name")
    if (paths.cache_dir() / beside / f"{name}.npz").exists():
        article = "an" if beside == "imported" else "a"
        raise InputError(f"{article} {beside} graph is named {name!r}", remedy="choose another --name")


def _check_untaken(stored: Path, name: str, read_as: dict) -> None:
    """Raises InputError when the name is that of a graph from another file, or one that was read in another way; a
    damaged one gives way."""
    from grailbench.graph.store import Damaged, read_meta

    if not stored.exists():
        return
    try:
        meta = read_meta(stored)
    except Damaged:
        return
    if {key: meta[key] for key in _READ_AS if key in meta} != read_as:
        raise InputError(
            f"{name!r} was imported before, from {meta.get('source')}", remedy="--replace, or another --name"
        )
