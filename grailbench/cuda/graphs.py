"""A DAG on the device, by rows of children and of parents, or renumbered by level. Rows have their lengths
(cardinalities) beside their starts: one coalesced read a vertex tells a degree (thesis, section 3.2)."""

from __future__ import annotations

from collections import namedtuple
from typing import NamedTuple

import numpy as np

from grailbench.cuda.device_arrays import copied
from grailbench.cuda.gateway import cuda
from grailbench.cuda.launch import typed
from grailbench.graph.csr import Dag
from grailbench.graph.leveled import Leveled


class Rows(namedtuple("Rows", "starts cards edges")):
    """One direction of a graph on the device; row v is edges[starts[v] : starts[v] + cards[v]].

    starts int64[n], cards int32[n], edges int32[m]
    """


class DeviceDag(NamedTuple):
    """Both directions of a DAG on the device."""

    children: Rows
    parents: Rows


def upload_rows(offsets: np.ndarray, edges: np.ndarray) -> Rows:
    """Copies a CSR of the host (offsets int64[n + 1], edges int32[m]) to the device."""
    starts, cards = np.ascontiguousarray(offsets[:-1]), np.diff(offsets).astype(np.int32)
    edges = edges if edges.size else np.zeros(1, np.int32)  # the device has no empty arrays
    return typed(Rows(*map(cuda.to_device, (starts, cards, edges))))


def upload_dag(dag: Dag) -> DeviceDag:
    """Copies a DAG to the device."""
    return DeviceDag(upload_rows(dag.offsets, dag.children), upload_rows(dag.parent_offsets, dag.parents))


def rows_bytes(vertices: int, edges: int) -> int:
    """The size of a `Rows` on the device in bytes."""
    return 12 * vertices + 4 * edges


class DeviceLeveled(namedtuple("DeviceLeveled", (*Leveled._fields, "parent_starts", "parents"), defaults=(None, None))):
    """A `graph.leveled.Leveled` on the device; offsets are int32 if they fit, else int64.

    The fields are those of `Leveled`; parent_starts and parents are the result of its `parents()`, or None.
    """


#: a graph is deep if it has fewer edges a level at some level beyond the first ones
DEEP_LEVELS, DEEP_EDGES = 256, 64


class Outline(NamedTuple):
    """What the host knows of a DAG by levels on the device.

    vertices, edges, deep_edges  numbers of vertices, edges, and edges to the next level
    level_starts           int32[depth + 1]  the first vertex of each level
    edge_starts            int64[depth + 1]  the first edge of each level
    deep_edge_starts       int64[depth + 1]  the same for the edges to the next level
    """

    vertices: int
    edges: int
    deep_edges: int
    level_starts: np.ndarray
    edge_starts: np.ndarray
    deep_edge_starts: np.ndarray

    @classmethod
    def of(cls, graph: Leveled) -> Outline:
        """Returns the outline of a graph on the host."""
        levels = graph.level_starts
        sizes = graph.vertex.shape[0], graph.sources.shape[0], graph.deep_sources.shape[0]
        return cls(*sizes, levels, graph.starts[levels], graph.deep_starts[levels])

    @property
    def deep(self) -> bool:
        """Whether some level beyond `DEEP_LEVELS` has fewer than `DEEP_EDGES` edges for each level before it.

        A level costs the device some microseconds, however narrow it is, and an edge one core some tens of nanoseconds:
        such graphs are condensed and labelled on the host. `cuda.edges.walk` finds the same while it walks.
        """
        depth = self.level_starts.shape[0] - 1
        beyond = np.arange(1, depth + 1) - DEEP_LEVELS
        return depth > DEEP_LEVELS and bool(np.any(beyond * DEEP_EDGES > self.edge_starts[:-1]))


def upload_leveled(graph: Leveled, parents: tuple[np.ndarray, np.ndarray] | None = None) -> DeviceLeveled:
    """Copies a graph to the device, and also `parents`, the result of `graph.parents()`, if they are given."""
    fields = [_narrow(field) for field in tuple(graph) + (() if parents is None else parents)]
    return DeviceLeveled(*copied(*fields))


def _narrow(array: np.ndarray) -> np.ndarray:
    if not array.size:
        return np.zeros(1, np.int32)  # the device has no empty arrays
    fits = array.dtype == np.int64 and array[-1] < 2**31
    return array.astype(np.int32) if fits else array


def leveled_bytes(vertices: int, edges: int, depth: int) -> int:
    """The most bytes of a `DeviceLeveled` with its parents, for so many levels."""
    rows = (vertices + 1) * (4 if edges < 2**31 else 8)
    return 8 * vertices + 4 * (depth + 1) + 3 * rows + 20 * edges
