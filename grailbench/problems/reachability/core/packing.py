"""Contracts the core and packs its closure: the steps of `rows`, one after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grailbench.graph.csr import Dag
from grailbench.problems.reachability.core import records
from grailbench.problems.reachability.core.patterns import find_patterns
from grailbench.problems.reachability.core.peel import Peeled
from grailbench.problems.reachability.core.rows import count, fill, graph_of_core, number, place_below

empty_bits = np.zeros  #: where memory may run out


def contracted(dag: Dag, peeled: Peeled, fits: Callable[[int], bool], most: int) -> dict[str, np.ndarray] | None:
    """Returns the records and the arrays of `patterns.Patterns` by name, and 'shape' as `CoreIndex` has it.

    None if `fits` says no to the bytes that the contracted closure takes as bits, if its patterns take more than
    `most`, or if there are too many of them. Raises MemoryError.
    """
    core, above = peeled.core, peeled.above
    edges = graph_of_core(dag.offsets, dag.children, core, peeled.position, above)
    columns, rows = count(*edges[:3])
    if not fits(_as_bits(rows, columns)):
        return None
    column, row, owned = number(*edges)
    short = peeled.vertices + above + columns + 2 < records.SHORT
    found = find_patterns((*edges[:3], column, row, owned), columns, rows, most, short)
    if found is None:
        return None
    patterns, known = found
    kind, n = np.uint16 if short else np.uint32, peeled.vertices
    tall, flat = np.empty((n + 1, 4), kind), np.empty((n + 1, 2), kind)
    trees = peeled.position, peeled.end, peeled.gate, above
    places, sizes, moved = place_below(peeled.position, peeled.gate, above, *edges[2:])
    never = np.iinfo(kind).max
    fill(*trees, core.shape[0], places, sizes, moved, column, row, known, never, tall, flat)
    arrays = patterns._asdict()
    shape = np.array([above, core.shape[0], arrays.pop("grid"), rows, columns], np.int64)
    return {"shape": shape, "sources": tall, "targets": flat, **arrays}


def needed(dag: Dag, peeled: Peeled) -> int:
    """Returns how many bytes `contracted` asks `fits` for."""
    edges = graph_of_core(dag.offsets, dag.children, peeled.core, peeled.position, peeled.above)
    columns, rows = count(*edges[:3])
    return _as_bits(rows, columns)


def _as_bits(rows: int, columns: int) -> int:
    return 8 * rows * (columns // 64 + 1)
