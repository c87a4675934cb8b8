"""The contract of an implementation of reachability: an index, built on a `Dag`, that answers batches of queries.

An implementation is a class of about 25 lines. It never imports the harness. The runner uses only what this file and
`grailbench.problems.contract`, which has the registry, define.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.arguments import shown
from grailbench.graph.condense import condense
from grailbench.graph.csr import Dag, Graph
from grailbench.problems import contract
from grailbench.problems.contract import NoTimer, Timer, implementation, register
from grailbench.problems.reachability.counters import OUTCOMES

__all__ = ["FILTERS", "Count", "Decision", "Implementation", "Index", "NoTimer", "Params", "Timer", "edge_fault",
           "implementation", "register"]  # fmt: skip

FILTERS = ("level", "tree", "hubs")
CHOICES = {"search": ("dfs", "bfs", "bbfs"), "order": ("lexicographic", "random"), "trees": ("each", "one")}


@dataclass(frozen=True)
class Params(contract.Params):
    """The parameters of a cell. An implementation uses those named in its `axes` and ignores the rest.

    dim      number of label pairs d
    search   'dfs' (thesis algorithm 2), 'bfs' (algorithm 3) or 'bbfs' (breadth first from both ends, section 2.3)
    filters  exact filters in addition to the labels, of `FILTERS`: 'level' (longest-path level), 'tree' (positive cut),
             'hubs' (which of 64 vertices of large degree a vertex reaches, and which reach it)
    threads  worker threads, 0 for all cores
    order    child order of the traversals: 'lexicographic' or 'random' (seeded)
    trees    'each': of every label pair a depth-first tree of its own; 'one': that of the first, with its siblings in
             other orders
    devices  GPUs of this host that share the queries
    memory   bytes that the packed closure of `core` may take at most; 0 for a quarter of the free memory or 64 MiB,
             whichever is more. Of `gpu-path`: device bytes, 0 for all that are free
    inserted edges that are taken out of the graph before the index is built, and inserted then
    seed     seed of all random choices
    count    build the variant that counts its work (`Index.counters`); it is never timed
    """

    dim: int = 2
    search: str = "dfs"
    filters: tuple[str, ...] = ()
    order: str = "random"
    trees: str = "each"
    devices: int = 1
    memory: int = 0
    inserted: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dim < 1:
            raise InputError(f"dim {self.dim}: at least one label pair is needed")
        for axis, words in CHOICES.items():
            if not (isinstance(word := getattr(self, axis), str) and word in words):
                raise InputError(f"{axis} {shown(word)}: choose {' or '.join(words)}")
        if self.devices < 1:
            raise InputError(f"devices {self.devices}: at least one is needed")
        if self.memory < 0:
            raise InputError(f"memory {self.memory}: a number of bytes, or 0 for a share of what is free")
        if self.inserted < 0:
            raise InputError(f"inserted {self.inserted}: a number of edges, from 0 on")
        for name in self.filters:
            if not (isinstance(name, str) and name in FILTERS):
                raise InputError(f"filter {shown(name)}: choose among {', '.join(FILTERS)}")


@dataclass(frozen=True)
class Decision:
    """How one query was answered; see `Index.decide`.

    reachable  the answer
    by         what gave it: a filter of `FILTERS`, 'labels' or 'search'; or of `core`, 'in-tree', 'out-tree',
               'closure' or 'core'; 'same' or 'root' where that needs no index
    why        the reason in words, in which '{0}', '{1}', ... stand for the vertices of `vertices`
    vertices   int32[k]: vertices of the `Dag` that the reason names
    looked     the work: what was counted -> how often, such as 'edges scanned'
    """

    reachable: bool
    by: str
    why: str
    vertices: tuple[int, ...] = ()
    looked: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Count:
    """The answers to a batch by a program that says only how many pairs are reachable."""

    reachable: int


class OnePair(Protocol):
    """Answers queries of two original vertices, Python integers, one at a time; any number of threads may ask.

    quick  a function of `at` and two vertices that returns True, False, or None where only a search can tell or an
           integer is no vertex
    """

    at: int
    quick: Callable[[int, int, int], bool | None]

    def search(self, source: int, target: int) -> bool:
        """Answers for two vertices, which must be in range."""


class Index(ABC):
    """A built index. Vertices in queries are vertices of the `Dag`, or of the raw graph if the implementation condensed
    that itself (`Implementation.condenses`); reachability is reflexive."""

    #: exact work counts so far, by name (see `reachability.counters`); empty unless built with `Params.count`
    counters: dict[str, int] = {}
    #: whether building it again is as fast as reading it, so that it stores no array
    rebuilt: ClassVar[bool] = False
    #: whether several threads may call `query_batch` at the same time
    concurrent: ClassVar[bool] = False
    #: peak memory of another process that did the work, as fields of rows (`contract.Attempt.memory`)
    memory: dict[str, int] = {}

    @abstractmethod
    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Returns whether each source reaches its target, bool[k]. sources, targets: int32[k], contiguous.

        Adapters of programs that answer no single pair return a `Count`.
        """

    def check_labels(self, dag: Dag) -> str | None:
        """Returns what is wrong with the labels that answers are read from, or None, the default, if nothing is found
        or if there are none. It is called once per cell, outside all timed passes."""
        return None

    def columns(self, queries: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Returns two arrays, int32[k], for sources and targets of the next batch, which `query_batch` then need not
        copy; None if any arrays will do."""
        return None

    def expect(self, queries: int, timer: Timer) -> None:  # noqa: B027 - most need nothing
        """Allocates what a batch of so many queries needs; otherwise `query_batch` does so, within its time."""

    @property
    @abstractmethod
    def index_bytes(self) -> int | None:
        """Bytes of the index without the `Dag`; None if a program does not say."""

    def one_pair(self, component: np.ndarray | None) -> OnePair | None:
        """Returns what answers one query in much less time than a batch of one; None if there is nothing better.

        component: int32[original n], or None if each vertex is its own component.
        """
        return None

    def single(self) -> Callable[[int, int], bool]:
        """Returns what answers one query of two vertices, as `Index.reaches` of the library does it."""
        if (one := self.one_pair(None)) is None:
            return lambda u, v: bool(self.query_batch(np.array([u], np.int32), np.array([v], np.int32), NoTimer())[0])
        at, quick, search = one.at, one.quick, one.search
        return lambda u, v: search(u, v) if (answer := quick(at, u, v)) is None else answer

    def decide(self, source: int, target: int) -> Decision | None:
        """Returns how one query is answered; None if the index cannot tell."""
        return None

    def stored(self) -> dict[str, np.ndarray] | None:
        """Returns the arrays from which `Implementation.restored` makes this index again.

        None, the default, if it cannot be stored; no array if it is `rebuilt`.
        """
        return {} if self.rebuilt else None


class Implementation(contract.Implementation):
    """A way to build an index. Subclasses set the class variables and define `build`; `@register` adds them."""

    problem: ClassVar[str] = "reachability"
    neutral: ClassVar[tuple[str, ...]] = OUTCOMES
    parts: ClassVar[int] = 1  #: of its kernels, which `load_part` compiles apart from one another
    sample: ClassVar[int | None] = None  #: if it takes one pair at a time: it is asked the first so many pairs of a set

    @classmethod
    @abstractmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> Index:
        """Returns the index. Raises MachineLacks if an extra, a device or memory is missing."""

    @classmethod
    def restored(cls, dag: Dag, params: Params, arrays: dict[str, np.ndarray]) -> Index:
        """Returns the index whose `stored` gave `arrays`, which must not be written to; the default builds it again.

        Raises MachineLacks as `build` does.
        """
        return cls.build(dag, params, NoTimer())

    @classmethod
    def load_ready(cls, params: Params) -> None:
        """Compiles or loads what `ready` runs besides `build` and `condense`, so that no trial includes that time."""
        return None

    @classmethod
    def load_part(cls, part: int, params: Params) -> None:
        """Compiles or loads one of the `parts` of the kernels of `build` and of queries; processes share them."""
        raise NotImplementedError

    @classmethod
    def condenses(cls, graph: Graph, params: Params) -> bool:
        """Whether `ready` condenses this graph otherwise than `condense` does, and queries of its index are of vertices
        of the graph. Then the library builds by `ready`, and trials check the answers of that index too."""
        return False

    @classmethod
    def ready(cls, graph: Graph, params: Params, timer: Timer) -> Index:
        """Returns an index, built from raw edges in memory, that is ready for queries; the device has no work left.

        The default condenses, on `threads` threads if it uses that axis, on all cores if it needs a GPU, else on one,
        and builds. Nothing that was made from the graph before may be used.
        """
        with timer.phase("condense"):
            dag = condense(graph, params.workers if "threads" in cls.axes or "gpu" in cls.needs else 1)
        with timer.phase("label"):
            return cls.build(dag, params, timer)


def edge_fault(query_batch: Callable[..., np.ndarray], dag: Dag) -> str | None:
    """Returns the first edge that is not answered 'yes', or its reverse 'no'; None if there is none."""
    edges = tuple(np.ascontiguousarray(ends) for ends in dag.edges_without_super_root())
    for (us, vs), wanted in ((edges, True), (edges[::-1], False)):
        wrong = np.flatnonzero(query_batch(us, vs, NoTimer()) != wanted)
        if wrong.size:
            u, v = int(us[wrong[0]]), int(vs[wrong[0]])
            return f"{u} -> {v} is {'an edge' if wanted else 'against an edge'} and is answered {not wanted}"
    return None
