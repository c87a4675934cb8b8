"""A build out of memory, from a stream of edges to the arrays of an index on disk, or to the file of an index."""

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import Dag
from grailbench.outofcore import blocks, edges, labels, levels
from grailbench.outofcore.blocks import EDGES
from grailbench.outofcore.folder import SAVED, STAGES, Folder, spare
from grailbench.outofcore.paged import Mapped
from grailbench.outofcore.streams import Stream
from grailbench.problems.reachability.index import Params
from grailbench.util.memory import available

Save = Callable[[Dag, dict[str, np.ndarray], Path], None]  #: writes an index, of a graph and its arrays, to a file
SHARE = 4  #: this part of the free memory is used, unless `Params.memory` says otherwise
_FILE = "index"


def file_of(folder: str | os.PathLike[str]) -> Path:
    """The file in which `build_in` saved the index."""
    return Path(folder) / SAVED / _FILE


def build_in(
    folder: Path,
    stream: Stream,
    params: Params,
    save: Save,
    resume: bool = False,
    note: Callable[[str], None] | None = None,
    block: int = EDGES,
) -> dict[str, dict[str, Any]]:
    """Builds an index of a stream of edges in a folder, and saves it there.

    folder  keeps the stages until the index is saved, and then that
    resume  go on with a build that was begun there: the edges are read again, and refused if they are others
    note    is called with a line on each stage when it is whole
    block   edges of a block

    Returns the records of the stages. Raises what `build` raises, and InputError for another build's folder.
    """
    given = {"of": stream.origin, "vertices": stream.vertices, "first": stream.first}
    with closing(Folder(folder, given | {"dim": params.dim, "seed": params.seed}, resume, note)) as work:
        finished = work.record(SAVED)
        sorted_before = finished["stages"][STAGES[0]] if finished else work.record(STAGES[0])
        if sorted_before and edges.checksum(stream.blocks(), stream.vertices) != sorted_before["checksum"]:
            raise InputError("it has a build of other edges", path=folder, remedy="name another folder")
        if finished:
            return finished["stages"]
        dag, arrays, stages = build(work, stream, params, block)

        def write(to: Path) -> dict[str, Any]:
            save(dag, arrays, to / _FILE)
            return {"stages": stages}

        room = sum(array.nbytes for array in (dag.offsets, dag.children, *arrays.values())) + 12 * dag.vertices
        whole = work.stage(SAVED, room, write)
        work.drop(*STAGES)
    return stages | {SAVED: {key: whole[key] for key in whole if key != "stages"}}


def build(
    folder: Folder, stream: Stream, params: Params, block: int = EDGES
) -> tuple[Dag, dict[str, np.ndarray], dict[str, dict]]:
    """Goes through the stages that are not whole yet; the edges are read if the first one is not.

    Of `params` it takes dim, seed, and memory: the bytes that the process may use, or a share of what is free. Returns
    the `Dag` and the arrays 'labels' and 'hubs' (see `search`), mapped from the folder; and the record of each stage,
    with its seconds and the bytes that it moved. Raises InputError for ids out of range and for cycles,
    TooLittleMemory and MachineLacks.
    """
    memory, vertices = params.memory or available() // SHARE, stream.vertices
    if vertices is not None:
        spare(memory, vertices)
    places = [folder.path / name for name in STAGES]
    records: dict[str, dict] = {}

    def stage(number: int, room: int, work: Callable[[Path], dict]) -> dict:
        records[STAGES[number]] = folder.stage(STAGES[number], room, work)
        return records[STAGES[number]]

    found = stage(0, 20 * stream.edges, lambda to: edges.sort(stream.blocks(), vertices, memory, to, stream.edges))
    n, m, dim = found["vertices"], found["edges"], params.dim
    left = spare(memory, n)
    stage(1, 12 * n, lambda to: levels.peel(places[0], to, left, stream.first))
    stage(2, 12 * m + 8 * n, lambda to: blocks.write(*places[:2], to, left, block))
    stage(3, 8 * dim * n + 8 * n, lambda to: labels.trees(*places[:3], to, dim, params.seed))
    stage(4, 4 * labels.record_width(dim) * n + 24 * n, lambda to: labels.label(*places[:4], to, dim))
    arrays = {
        labels.LABELS: Mapped(places[4] / labels.LABELS, np.int32).array,
        labels.HUBS: Mapped(places[4] / labels.HUBS, np.uint64).array,
    }
    return _dag(places[0], places[1], found), arrays, records


def _dag(rows: Path, leveled: Path, found: dict) -> Dag:
    """The `Dag`, whose super-root's row is written behind the others."""
    n, m = found["vertices"], found["edges"]
    order = Mapped(leveled / levels.ORDER, np.int32).array
    starts = np.fromfile(leveled / levels.STARTS, np.int32)
    roots = order[1 : int(starts[2]) if starts.shape[0] > 2 else 1]
    with open(rows / edges.CHILDREN, "r+b") as file:
        file.truncate(4 * m)
        file.seek(4 * m)
        file.write(np.ascontiguousarray(roots).data)
    offsets = np.append(np.fromfile(rows / edges.OFFSETS, np.int64), m + roots.shape[0])
    children = Mapped(rows / edges.CHILDREN, np.int32).array
    depths = Mapped(leveled / levels.LEVELS, np.int32).array
    component = np.arange(n, dtype=np.int32)
    return Dag(offsets, children, depths, order, component, found["duplicates"], found["loops"])
