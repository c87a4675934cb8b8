"""Thresholds at which graphs of a few edges are cut as large ones are, so that small ones go through the code of many
threads."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def small_pieces(block_bits: int = 1, wide: int = 2, everywhere: bool = False) -> Iterator[None]:
    """Those of condensing, of edges in blocks of 2^block_bits and levels from `wide` vertices; or of all that has
    threads."""
    from grailbench.graph import condense, kahn

    found = [
        (condense, {"_EDGES_PER_THREAD": 1, "_LEAST": 1, "_RANGE": 4, "_SMALL": 0}),
        (kahn, {"_LEAST": 1, "_WIDE": wide, "_MANY": 2, "_LARGE": 0, "_BLOCK_BITS": block_bits, "_RANGE_BITS": 2}),
        *(_elsewhere() if everywhere else ()),
    ]
    with pytest.MonkeyPatch.context() as patch:
        for place, values in found:
            for name, value in values.items():
                patch.setattr(place, name, value)
        yield


def _elsewhere() -> list[tuple[object, dict]]:
    """Modules and functions, and what of them is set."""
    from grailbench.api import kernels
    from grailbench.graph import threads
    from grailbench.outofcore import index as streamed
    from grailbench.problems.closure import sweep, warshall
    from grailbench.problems.closure import sweep as blocks
    from grailbench.problems.counts import sweep as counted
    from grailbench.problems.reachability.core import index as core
    from grailbench.problems.reachability.cpu import grail, traverse
    from grailbench.problems.reachability.sweep import index as swept

    return [
        (kernels, {"PIECE": 64}),
        (sweep, {"LEAST": 1}),
        (blocks, {"LEAST": 1, "PIECE": 64}),
        (warshall.close_bits, {"__defaults__": (1, 8)}),  # workers, and rows of one
        (counted.swept, {"__defaults__": (64,)}),  # columns of a block
        (core, {"_PER_THREAD": 16}),
        (grail, {"ALONE": 0.0}),
        (traverse, {"_SHARE": 64}),
        (streamed, {"_BLOCK": 64}),
        (swept, {"_BLOCK": 64, "NARROW": 64, "WIDE": 64}),
        (threads, {"PER_THREAD": 16}),
    ]
