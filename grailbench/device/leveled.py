"""A DAG renumbered by level, on the device."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grailbench.device.gateway import cuda
from grailbench.graph.leveled import Leveled


class DeviceLeveled(NamedTuple):
    """`graph.leveled.Leveled` on the device, its offsets int32 where they fit.

    vertex, rank, level_starts, starts, sources, targets, deep_starts, deep_sources, deep_targets: as there.
    parent_starts, parents: its `parents()`, when they were asked for; else None.
    """

    vertex: object
    rank: object
    level_starts: object
    starts: object
    sources: object
    targets: object
    deep_starts: object
    deep_sources: object
    deep_targets: object
    parent_starts: object = None
    parents: object = None


def upload(graph: Leveled, parents: tuple[np.ndarray, np.ndarray] | None = None) -> DeviceLeveled:
    """Copy it to the device; `parents` as `graph.parents()` gives them, if they are wanted there."""
    fields = tuple(graph) + (() if parents is None else parents)
    return DeviceLeveled(*(cuda.to_device(_narrow(field)) for field in fields))


def _narrow(array: np.ndarray) -> np.ndarray:
    if not array.size:
        return np.zeros(1, np.int32)  # no empty arrays on the device
    fits = array.dtype == np.int64 and array[-1] < 2**31
    return array.astype(np.int32) if fits else array


def leveled_bytes(vertices: int, edges: int, deep: int, depth: int, parents: bool) -> int:
    """Bytes on the device."""
    wide = 4 if edges < 2**31 else 8
    rows = (vertices + 1) * wide
    return 8 * vertices + 4 * (depth + 1) + 2 * rows + 8 * edges + 8 * deep + parents * (rows + 4 * edges)
