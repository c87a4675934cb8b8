"""A DAG's adjacency on the device: rows of children and rows of parents, with separate arrays of row lengths.

The thesis (section 3.2) recommends separate arrays of row lengths (cardinalities): a kernel that sorts vertices by
degree makes one coalesced read a vertex instead of two reads of row starts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grailbench.cuda.gateway import cuda
from grailbench.cuda.launch import typed
from grailbench.graph.csr import Dag


class Rows(NamedTuple):
    """One direction of a graph on the device; row v is edges[starts[v] : starts[v] + cards[v]].

    starts int64[n], cards int32[n], edges int32[m]
    """

    starts: object
    cards: object
    edges: object


class DeviceDag(NamedTuple):
    """Both directions of a DAG on the device."""

    children: Rows
    parents: Rows


def upload_rows(offsets: np.ndarray, edges: np.ndarray) -> Rows:
    """Copies a CSR of the host (offsets int64[n + 1], edges int32[m]) to the device."""
    starts, cards = np.ascontiguousarray(offsets[:-1]), np.diff(offsets).astype(np.int32)
    edges = edges if edges.size else np.zeros(1, np.int32)  # the device has no empty arrays
    return typed(Rows(*map(cuda.to_device, (starts, cards, edges))))


def upload(dag: Dag) -> DeviceDag:
    """Copies a DAG to the device."""
    return DeviceDag(upload_rows(dag.offsets, dag.children), upload_rows(dag.parent_offsets, dag.parents))


def rows_bytes(vertices: int, edges: int) -> int:
    """The size of a `Rows` on the device in bytes."""
    return 12 * vertices + 4 * edges
