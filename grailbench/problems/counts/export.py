"""Writes how many vertices each vertex of a graph of the library reaches, and is reached by, to a file."""

import os

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.readers.cells import needed
from grailbench.graph.writers import write_table
from grailbench.problems.contract import NoTimer, implementation
from grailbench.problems.counts.index import Params, task_of
from grailbench.util.outputs import replaced

FORMATS = ("csv", "parquet")
COLUMNS = ("vertex", "descendants", "ancestors")


def export(name: str, path: str | os.PathLike, format: str = "csv", impl: str = "counts", threads: int = 0) -> dict:
    """Writes a line per vertex of the graph of that name: its id, the number of other vertices that it reaches, and of
    those that reach it, int64.

    impl: an implementation of `counts` that counts all vertices. Returns a record, with `pairs`, the sum of all
    descendants, and `error`, the relative standard error of estimates, or None. Raises InputError for an unknown name
    or format or a file that cannot be written, MachineLacks without what `impl` or the format needs.
    """
    from grailbench.data.library import open_graph

    if format not in FORMATS:
        raise InputError(f"counts are not written as {format!r}", remedy=f"one of {', '.join(FORMATS)}")
    arrow = parquet = None
    if format == "parquet":
        arrow, parquet = (needed(each, "Parquet") for each in ("pyarrow", "pyarrow.parquet"))
    cls = implementation(impl, "counts")
    cls.require()
    graph = open_graph(name)
    params, columns, error = Params(threads=threads), [], None
    with replaced(path, seeks=parquet is not None) as stream:  # which is tried before hours of counting
        for ancestors in (False, True):
            task, counts = task_of(graph.dag, ancestors), np.empty(0, np.int64)
            if task.vertices:
                found = cls.prepare(task, params, NoTimer()).solve(None, NoTimer())
                counts, error = found.counts[task.component] - 1, found.error
            columns.append(counts)
        columns.insert(0, graph.ids.labels_of(np.arange(columns[0].size)))
        if parquet is None:
            write_table(stream, COLUMNS, columns, graph.ids)
        else:
            parquet.write_table(_table(arrow, columns), stream)
    return {
        "name": name, "path": str(path), "format": format, "vertices": int(columns[0].size),
        "pairs": int(columns[1].sum()), "ids": graph.ids.extent(), "error": error,
    }  # fmt: skip


def _table(arrow, columns: list[np.ndarray]):
    try:
        return arrow.table(dict(zip(COLUMNS, columns, strict=True)))
    except UnicodeEncodeError as error:
        name = error.object[:60].encode("ascii", "backslashreplace").decode()
        raise InputError(f"{name!r} is no Unicode, which Parquet needs", remedy="--format csv") from error
