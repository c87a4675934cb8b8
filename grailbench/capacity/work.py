"""What there is to do: a graph, an index of it and a batch of queries, as the counters of a recorded run tell it, or as
a user states it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grailbench.runs.cells import Cell

_DEPTHS = Path(__file__).with_name("depths.jsonl")  #: levels of the graphs of recorded runs, whose rows lack them
_SWEEPS = 3  #: sweeps of the levels in a labeling on a GPU, a barrier of the grid for each wide level in each of them


@dataclass(frozen=True)
class Work:
    """A graph, its index, and the queries of one batch.

    vertices, edges    of the condensed graph with its super-root
    raw_edges          of the file
    roots              edges of the super-root
    depth              levels
    dim, filters       label pairs, and the filters of the index
    threads            on a processor
    queries            of the batch
    filtered           pairs that the level filter left to the labels
    beyond_labels      pairs that the labels left, to the hubs or to a search
    searches, expanded, scanned, pushed
                       searches, vertices they expand, edges they scan, and vertices they visit
    again, groups      searches that a GPU begins anew with more threads, and groups of pairs that it sweeps at last
    """

    vertices: int
    edges: int
    raw_edges: int
    roots: int = 0
    depth: float = 1
    dim: int = 2
    filters: frozenset[str] = frozenset({"level", "tree", "hubs"})
    threads: int = 1
    queries: int = 0
    filtered: float = 0
    beyond_labels: float = 0
    searches: float = 0
    expanded: float = 0
    scanned: float = 0
    pushed: float = 0
    again: float = 0
    groups: float = 0

    @classmethod
    def of(cls, cell: Cell) -> Work:
        """The work of a recorded cell with counters; what its implementation does not count is 0."""
        counted, filters = cell.counters or {}, frozenset(filter(None, (cell.filters or "").split(",")))
        roots = cell.roots or 0
        filtered = counted.get("labels_tested", 0) - counted.get("edges_scanned", 0)
        left = filtered - counted.get("excluded_by_labels", 0) - counted.get("accepted_by_tree", 0)
        expanded = counted.get("vertices_expanded", 0)
        hubs = "hubs" in filters
        return cls(
            vertices=cell.vertices,
            edges=cell.edges,
            raw_edges=cell.edges - roots if cell.raw_edges is None else cell.raw_edges,
            roots=roots,
            depth=depth_of(cell),
            dim=cell.dim or 2,
            filters=filters,
            threads=cell.threads or 1,
            queries=cell.queries or 0,
            filtered=max(0, filtered),
            beyond_labels=max(0, left),
            searches=counted.get("searches", 0),
            expanded=expanded,
            scanned=counted.get("edges_scanned", 0),
            pushed=max(0, counted.get("hubs_tested", 0) - left if hubs else expanded),
            again=counted.get("queries_searched_again", 0),
            groups=counted.get("groups", 0),
        )

    @property
    def per_level(self) -> float:
        """Edges a level, without those of the super-root."""
        return (self.edges - self.roots) / max(self.depth, 1)

    @property
    def label_bytes(self) -> int:
        """Of the label records on a processor, and of every access to one."""
        return 4 * (3 * self.dim + 1) * self.vertices

    @property
    def hub_bytes(self) -> int:
        return 16 * self.vertices if "hubs" in self.filters else 0

    @property
    def level_bytes(self) -> int:
        """Of the array of the level filter."""
        return (2 if self.depth < 2**15 else 4) * self.vertices if "level" in self.filters else 0

    @property
    def searched_bytes(self) -> int:
        """Of all that a search on a processor reads at random: labels, hubs, levels, stamps and both arrays of rows."""
        return self.label_bytes + self.hub_bytes + self.level_bytes + 12 * self.vertices + 4 * self.edges


def depth_of(cell: Cell) -> float:
    """The levels of a cell's graph: as they were counted, else at least those whose barriers a labeling counted."""
    known = _depths().get(cell.graph_sha256 or "")
    barriers = (cell.counters or {}).get("label_barriers", 0)
    return known or max(1.0, math.ceil((barriers - _SWEEPS - 1) / _SWEEPS))


@cache
def _depths() -> dict[str, int]:
    lines = map(json.loads, _DEPTHS.read_text(encoding="utf-8").splitlines())
    return {line["sha256"]: line["depth"] for line in lines}
