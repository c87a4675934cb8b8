"""Contracts the core and packs its closure: the steps of `rows`, one after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grailbench.graph.csr import Dag
from grailbench.reachability.core import records
from grailbench.reachability.core.peel import Peeled
from grailbench.reachability.core.rows import (
    close_rows,
    fill,
    graph_of_core,
    number,
    packed,
    place_below,
)

empty_bits = np.zeros  #: where memory may run out


def contracted(dag: Dag, peeled: Peeled, fits: Callable[[int], bool]) -> dict[str, np.ndarray] | None:
    """Returns the records and the fields of `rows.Rows` by name, and 'shape' as `CoreIndex` has it.

    None if `fits` says no to the bytes that the closure takes before it is packed. Raises MemoryError.
    """
    core, above = peeled.core, peeled.above
    edges = graph_of_core(dag.offsets, dag.children, core, peeled.position, above)
    starts, targets, parents, _ = edges
    column, row, columns, rows, owned = number(*edges)
    width = columns // 64 + 1
    if not fits(8 * rows * width):
        return None
    bits = empty_bits(rows * width, np.uint64)
    close_rows(starts, targets, parents, column, row, owned, width, bits)
    masks, begins, pointers, words, numbers = packed(bits, rows, width)
    short = _short(peeled, columns, numbers, words)
    kind, n = np.uint16 if short else np.uint32, peeled.vertices
    tall, flat = np.empty((n + 1, 4), kind), np.empty((n + 1, 2), kind)
    trees = peeled.position, peeled.end, peeled.gate, above
    places, sizes, moved = place_below(dag.offsets, dag.children, core, *trees, *edges)
    never = np.iinfo(kind).max
    fill(*trees, core.shape[0], places, sizes, moved, column, row, numbers, never, tall, flat)
    return {
        "shape": np.array([above, core.shape[0], columns], np.int64), "sources": tall, "targets": flat,
        "masks": masks, "starts": begins, "pointers": pointers.astype(kind, copy=False), "words": words,
    }  # fmt: skip


def needed(dag: Dag, peeled: Peeled) -> int:
    """Returns how many bytes `contracted` asks `fits` for."""
    edges = graph_of_core(dag.offsets, dag.children, peeled.core, peeled.position, peeled.above)
    _, _, columns, rows, _ = number(*edges)
    return 8 * rows * (columns // 64 + 1)


def _short(peeled: Peeled, columns: int, numbers: np.ndarray, words: np.ndarray) -> bool:
    """Whether all fields and pointers fit 16 bits."""
    most = max(peeled.vertices + peeled.above + columns + 2, int(numbers[-1]), words.shape[0])
    return most < records.SHORT
