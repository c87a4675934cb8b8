"""Searchers, which serve one index after the other."""

from __future__ import annotations

import numpy as np

from grailbench.cuda import describe
from grailbench.cuda.allocator import Reused
from grailbench.problems.reachability.gpu.fused.batch import Searcher, kind_of
from grailbench.problems.reachability.gpu.fused.records import Records
from grailbench.problems.reachability.gpu.fused.search import Adjacency

_spares = Reused()


def searcher(rank, level_starts: np.ndarray, adjacency: Adjacency, records: Records, counting: bool) -> Searcher:
    """Returns a searcher of an index, as `Searcher` makes it, on the current device."""
    found = None if counting else _spares.take((describe.current_device(), *kind_of(level_starts, adjacency, records)))
    if found is None:
        return Searcher(rank, level_starts, adjacency, records, counting=counting)
    found.serve(rank, level_starts, adjacency, records)
    return found


def give_back(searchers: list[Searcher]) -> None:
    """Keeps the searchers of an index that is gone, unless they count."""
    for each in searchers:
        if not each.counting:
            kind = each.device, *kind_of(each.level_starts, each.adjacency, each.records)
            each.rest()
            _spares.give(kind, each)
