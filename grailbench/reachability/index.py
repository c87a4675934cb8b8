"""The contract of an implementation, and the registry that finds it by the name a user types.

An implementation is a class of about 25 lines: it builds an index on a `Dag` and answers batches of queries.
It never imports the harness; the runner knows nothing about it beyond this file.
Third parties register through the entry-point group `grailbench.implementations`: an entry point loads a class
that satisfies `Implementation`, or a module whose import registers some.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import nullcontext
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import ClassVar, Protocol

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.condense import condense
from grailbench.graph.csr import Dag, Graph

ENTRY_POINTS = "grailbench.implementations"
FILTERS = ("level", "tree", "hubs")


@dataclass(frozen=True)
class Params:
    """What a cell fixes for an implementation; it obeys those named in its `axes` and ignores the rest.

    dim      number of label pairs d
    search   'dfs' (thesis algorithm 2) or 'bfs' (algorithm 3)
    filters  exact filters on top of the labels, of `FILTERS`: 'level' (longest-path level), 'tree' (positive cut),
             'hubs' (64 vertices of large degree, who reaches them and whom they reach)
    threads  worker threads, 0 for all cores
    order    child order of the traversals: 'lexicographic' or 'random' (seeded)
    seed     of everything random
    count    build the variant that counts its work (`Index.counters`), which is never the one that is timed
    """

    dim: int = 2
    search: str = "dfs"
    filters: tuple[str, ...] = ()
    threads: int = 0
    order: str = "random"
    seed: int = 1
    count: bool = False

    def __post_init__(self):
        if self.dim < 1:
            raise InputError(f"dim {self.dim}: at least one label pair is needed")
        if self.search not in ("dfs", "bfs"):
            raise InputError(f"search {self.search!r}: choose dfs or bfs")
        if self.order not in ("lexicographic", "random"):
            raise InputError(f"order {self.order!r}: choose lexicographic or random")
        if self.threads < 0:
            raise InputError(f"threads {self.threads}: a positive number, or 0 for all cores")
        for name in self.filters:
            if name not in FILTERS:
                raise InputError(f"filter {name!r}: choose among {', '.join(FILTERS)}")

    @property
    def workers(self) -> int:
        """Worker threads: `threads`, or one for each core this process may use."""
        return self.threads or len(os.sched_getaffinity(0))


class Timer(Protocol):
    """What an implementation may ask of a timer: `with timer.phase(name)` around a part of the work.

    A phase `apart` (a conversion for an adapter's sake, a transfer, an allocation) is reported on its own and not
    counted in the phases around it.
    """

    def phase(self, name: str, apart: bool = False): ...

    def record(self, name: str, ms: float) -> None: ...


class NoTimer:
    """A timer that measures nothing."""

    def phase(self, name: str, apart: bool = False):
        return nullcontext()

    def record(self, name: str, ms: float) -> None:
        return None


class Index(ABC):
    """A built index. Vertices in queries are vertices of the `Dag`; reachability is reflexive."""

    #: exact work done so far, by name (see `reachability.counters`); empty unless built with `Params.count`
    counters: dict[str, int] = {}

    @abstractmethod
    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Answer k queries. `sources`, `targets`: int32[k], contiguous. Returns bool[k]: source reaches target."""

    @property
    @abstractmethod
    def index_bytes(self) -> int:
        """Bytes that the index holds beyond the `Dag` itself."""


class Implementation(ABC):
    """A way to build an index. Subclasses set the class variables and `build`; `@register` files them."""

    name: ClassVar[str]
    problem: ClassVar[str] = "reachability"
    needs: ClassVar[tuple[str, ...]] = ()  #: extras or hardware beyond the base install, such as 'peers'
    source: ClassVar[str]  #: paper and algorithm, or the project it adapts
    axes: ClassVar[frozenset[str]] = frozenset()  #: the fields of `Params` it obeys

    @classmethod
    def require(cls) -> None:
        """Raise MachineLacks when this machine has not what every build needs; asked before anything starts."""
        return None

    @classmethod
    @abstractmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> Index:
        """Build the index. Raises MachineLacks when an extra, a device or memory is missing."""

    @classmethod
    def ready(cls, graph: Graph, params: Params, timer: Timer) -> Index:
        """From edges in memory to a ready index; the default condenses and builds. Peers that condense
        themselves take the edges as they are."""
        with timer.phase("condense"):
            dag = condense(graph)
        with timer.phase("build"):
            return cls.build(dag, params, timer)


_OURS = (
    "grailbench.reachability.cpu.grail",
    "grailbench.reachability.cpu.unguided",
    "grailbench.reachability.gpu.thesis",
    "grailbench.reachability.peers.pyreachability",
)
_registry: dict[str, type[Implementation]] = {}
_loaded = False


def register(cls: type[Implementation]) -> type[Implementation]:
    """Class decorator: file an implementation under its name, in lower case. Raises ValueError on a second one."""
    if cls.name != cls.name.lower():
        raise ValueError(f"{cls.name!r}: names of implementations are lower-case")
    if cls.name in _registry and _registry[cls.name] is not cls:
        raise ValueError(f"two implementations are named {cls.name!r}")
    _registry[cls.name] = cls
    return cls


def implementations() -> dict[str, type[Implementation]]:
    """Every implementation by name: our own, the peers that are installed, and third parties'."""
    global _loaded
    if not _loaded:
        _loaded = True
        for module in _OURS:
            import_module(module)
        for point in entry_points(group=ENTRY_POINTS):
            found = point.load()
            if isinstance(found, type):
                register(found)
    return dict(_registry)


def implementation(name: str) -> type[Implementation]:
    """The implementation of that name. Raises InputError with the nearest names when there is none."""
    known = implementations()
    if name.lower() in known:
        return known[name.lower()]
    import difflib

    near = difflib.get_close_matches(name, known, 3)
    hint = f"did you mean {' or '.join(near)}?" if near else "'grailbench list implementations' shows them"
    raise InputError(f"no implementation is named {name!r}", remedy=hint)
