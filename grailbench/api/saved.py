"""Index files: a graph and its index in one file of arrays (`graph.mapped`) that is mapped into memory, not read.

Beside what is kept of an index (`reachability.kept`), the header has the checksum of the graph.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from grailbench.api.graph import Graph
from grailbench.api.inside import Inside, restored
from grailbench.errors import InputError, of_system
from grailbench.graph import mapped
from grailbench.graph.csr import Dag
from grailbench.graph.ids import Ids, from_stored
from grailbench.problems.reachability.index import Implementation, Params
from grailbench.problems.reachability.stored import from_arrays, to_arrays
from grailbench.util.outputs import atomic_file


def save(graph: Graph, inside: Inside, path: str | os.PathLike[str]) -> None:
    """Writes an index to a file, which appears whole or not at all, beside readers of an older one.

    Raises InputError if the implementation cannot store its index or the file cannot be written, and MachineLacks if
    the disk is full.
    """
    try:
        write(graph, inside, Path(path))
    except OSError as error:
        raise of_system(error) from None


def write(graph: Graph, inside: Inside, path: Path) -> None:
    """As `save`, but raises OSError if the file cannot be written."""
    said, arrays = _described(graph, inside)
    with atomic_file(path, seeks=True, over=mapped.MAGIC, follow=True) as stream:  # an index may replace one
        mapped.write(stream, said, arrays)


@dataclass(frozen=True)
class Opened:
    """What a file holds: the graph, and what makes the index of it.

    dag    the condensed graph in the file
    check  raises InputError if an array is damaged, or the file was changed since
    """

    graph: Graph
    dag: Dag
    implementation: type[Implementation]
    params: Params
    stored: dict[str, np.ndarray]
    check: Callable[[], None]

    def restored(self, threads: int | None = None, device: int | None = None) -> tuple[Graph, Inside]:
        """The graph and the index, for queries on so many threads, None for those it was built with, and on the GPU of
        that number if it needs one, None for the first."""
        params = self.params if threads is None else replace(self.params, threads=threads)
        return self.graph, restored(self.implementation, params, self.dag, self.stored, self.check, device)


def load(path: str | os.PathLike[str], graph: Graph | None = None, in_memory: bool = False) -> Opened:
    """Opens an index file, mapped or read into memory; see `grailbench.load`."""
    return _opened(mapped.content_of(path, in_memory), graph)


def is_saved(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as an index file does."""
    try:
        with open(path, "rb") as stream:
            return stream.read(len(mapped.MAGIC)) == mapped.MAGIC
    except OSError:
        return False


def packed(graph: Graph, inside: Inside) -> bytes:
    """An index as the bytes of its file, for pickle. Raises InputError as `save` does."""
    stream = io.BytesIO()
    mapped.write(stream, *_described(graph, inside))
    return stream.getvalue()


def unpacked(content: bytes) -> tuple[Graph, Inside]:
    """The index of `packed` bytes."""
    return _opened(mapped.Content(bytearray(content)), None).restored()


def _described(graph: Graph, inside: Inside) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What the header says, and the arrays."""
    stored = inside.run(inside.index.stored)
    if stored is None:
        raise InputError(
            f"{inside.implementation.name} keeps its index to itself, so it cannot be saved",
            remedy="gb.build(graph) makes one that can",
        )
    said, arrays = to_arrays(inside.implementation, inside.params, graph.dag, stored)
    numbering, ids = graph.ids.stored()
    if not graph.acyclic:
        arrays |= dict(zip(("rows/offsets", "rows/targets"), graph.rows, strict=True))
    arrays |= {f"ids/{name}": array for name, array in ids.items()}
    return said | {"graph": {"checksum": graph.checksum, "vertices": graph.vertices, "numbering": numbering}}, arrays


def _opened(content: mapped.Content, graph: Graph | None) -> Opened:
    """What is in the content of a file. No array is read here: what is made of one is made after the check."""
    path = content.path
    header, start = mapped.header(content.buffer, path)
    try:
        said = header["graph"]
        if graph is not None and graph.checksum != said["checksum"]:
            raise InputError(
                f"it is the index of another graph, of {said['vertices']:,} vertices with checksum "
                f"{said['checksum'][:12]}; this one has {graph.vertices:,} and {graph.checksum[:12]}",
                path=path, remedy=mapped.AGAIN,
            )  # fmt: skip
        arrays = mapped.arrays_of(content.buffer, header, start)
        check = mapped.Check(arrays, header, content)
        found, params, dag, own = from_arrays(header, arrays, path)
        rows = mapped.named(arrays, "rows/")
        if graph is None:

            def ids() -> Ids:
                check()
                return from_stored(said["vertices"], said["numbering"], mapped.named(arrays, "ids/"))

            graph = Graph.kept(dag, (rows["offsets"], rows["targets"]) if rows else None, ids, said["checksum"], check)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise mapped.damaged(path, f"its header does not hold together ({type(error).__name__}: {error})") from None
    return Opened(graph, dag, found, params, own, check)
