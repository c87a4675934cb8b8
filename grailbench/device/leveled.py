"""A DAG renumbered by level, on the device."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grailbench.device.gateway import cuda
from grailbench.graph.leveled import Leveled


class DeviceLeveled(NamedTuple):
    """A `graph.leveled.Leveled` on the device; offsets are int32 if they fit, else int64.

    The fields are those of `Leveled`; parent_starts and parents are the result of its `parents()`, or None.
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
    """Copies a graph to the device, and also `parents`, the result of `graph.parents()`, if they are given."""
    fields = tuple(graph) + (() if parents is None else parents)
    return DeviceLeveled(*(cuda.to_device(_narrow(field)) for field in fields))


def _narrow(array: np.ndarray) -> np.ndarray:
    if not array.size:
        return np.zeros(1, np.int32)  # the device has no empty arrays
    fits = array.dtype == np.int64 and array[-1] < 2**31
    return array.astype(np.int32) if fits else array


def leveled_bytes(vertices: int, edges: int, deep: int, depth: int, parents: bool) -> int:
    """The size of a `DeviceLeveled` in bytes, for `deep` deep edges and `depth` levels, with or without parents."""
    wide = 4 if edges < 2**31 else 8
    rows = (vertices + 1) * wide
    return 8 * vertices + 4 * (depth + 1) + 2 * rows + 8 * edges + 8 * deep + parents * (rows + 4 * edges)
