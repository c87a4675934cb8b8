"""The contract of an implementation of reachability: an index, built on a `Dag`, that answers batches of queries.

An implementation is a class of about 25 lines. It never imports the harness; the runner knows nothing about it beyond
this file and `grailbench.contract`, which has the registry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from grailbench import contract
from grailbench.contract import NoTimer, Timer, implementation, implementations, register
from grailbench.errors import InputError
from grailbench.graph.condense import condense
from grailbench.graph.csr import Dag, Graph

__all__ = [
    "FILTERS",
    "Implementation",
    "Index",
    "NoTimer",
    "Params",
    "Timer",
    "implementation",
    "implementations",
    "register",
]

FILTERS = ("level", "tree", "hubs")
CHOICES = {"search": ("dfs", "bfs"), "order": ("lexicographic", "random")}


@dataclass(frozen=True)
class Params(contract.Params):
    """What a cell fixes for an implementation; it obeys those named in its `axes` and ignores the rest.

    dim      number of label pairs d
    search   'dfs' (thesis algorithm 2) or 'bfs' (algorithm 3)
    filters  exact filters on top of the labels, of `FILTERS`: 'level' (longest-path level), 'tree' (positive cut),
             'hubs' (64 vertices of large degree, who reaches them and whom they reach)
    threads  worker threads, 0 for all cores
    order    child order of the traversals: 'lexicographic' or 'random' (seeded)
    devices  GPUs of this host that share the queries
    seed     of everything random
    count    build the variant that counts its work (`Index.counters`), which is never the one that is timed
    """

    dim: int = 2
    search: str = "dfs"
    filters: tuple[str, ...] = ()
    order: str = "random"
    devices: int = 1

    def __post_init__(self):
        super().__post_init__()
        if self.dim < 1:
            raise InputError(f"dim {self.dim}: at least one label pair is needed")
        for axis, words in CHOICES.items():
            if getattr(self, axis) not in words:
                raise InputError(f"{axis} {getattr(self, axis)!r}: choose {' or '.join(words)}")
        if self.devices < 1:
            raise InputError(f"devices {self.devices}: at least one is needed")
        for name in self.filters:
            if name not in FILTERS:
                raise InputError(f"filter {name!r}: choose among {', '.join(FILTERS)}")


class Index(ABC):
    """A built index. Vertices in queries are vertices of the `Dag`; reachability is reflexive."""

    #: exact work done so far, by name (see `reachability.counters`); empty unless built with `Params.count`
    counters: dict[str, int] = {}

    @abstractmethod
    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Answer k queries. `sources`, `targets`: int32[k], contiguous. Returns bool[k]: source reaches target."""

    @abstractmethod
    def check_labels(self, dag: Dag) -> str | None:
        """What is wrong with the labels that answers are read from, as far as it can be seen from the labels and the
        edges of the `Dag` that they were made from; None when nothing, or when there are no labels. Asked once a cell,
        outside all timed passes."""

    def expect(self, queries: int, timer: Timer) -> None:  # noqa: B027 - most need nothing
        """Allocate what a batch of so many queries takes beyond the index; else `query_batch` does, in its time."""

    @property
    @abstractmethod
    def index_bytes(self) -> int:
        """Bytes that the index holds beyond the `Dag` itself."""


class Implementation(contract.Implementation):
    """A way to build an index. Subclasses set the class variables and `build`; `@register` files them."""

    problem: ClassVar[str] = "reachability"

    @classmethod
    @abstractmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> Index:
        """Build the index. Raises MachineLacks when an extra, a device or memory is missing."""

    @classmethod
    def ready(cls, graph: Graph, params: Params, timer: Timer) -> Index:
        """From raw edges in memory to an index that can be asked at once: no work of a device is left under way.

        The default condenses and builds. Its host's steps get as many threads as the implementation: one, unless it
        obeys `threads`; an implementation on a GPU has all cores of its host. Peers that condense themselves take the
        edges as they are. Nothing that was made of the graph before may be used.
        """
        with timer.phase("condense"):
            dag = condense(graph, params.workers if "threads" in cls.axes or "gpu" in cls.needs else 1)
        with timer.phase("label"):
            return cls.build(dag, params, timer)
