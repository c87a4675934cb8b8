"""What the problems and the harness agree on: parameters, timers, implementations, and what a problem must supply to be
planned, verified, timed and reported; with the registry of both.

A problem is a package (`reachability`, `traversal`, `closure`, `reading`) and one line in `PROBLEMS`. It never imports
the harness nor another problem; the harness knows nothing of it beyond this file. Third parties register
implementations through the entry-point group `grailbench.implementations`: an entry point loads a class that satisfies
`Implementation`, or a module whose import registers some.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from grailbench.errors import InputError
from grailbench.words import did_you_mean

if TYPE_CHECKING:
    from grailbench.graph.csr import Graph
    from grailbench.graph.ids import Ids

#: every problem by the name a user types: the module and the class of its `Problem`, imported when first asked for
PROBLEMS = {
    "reachability": ("grailbench.reachability.problem", "Reachability"),
    "bfs": ("grailbench.traversal.problem", "Bfs"),
    "sssp": ("grailbench.traversal.problem", "Sssp"),
    "apsp": ("grailbench.traversal.problem", "Apsp"),
    "closure": ("grailbench.closure.problem", "Closure"),
    "read": ("grailbench.reading.problem", "Reading"),
}
USUAL = "reachability"  #: the problem of flags, configs and rows that name none
ENTRY_POINTS = "grailbench.implementations"


@dataclass(frozen=True)
class Params:
    """What a cell of any problem fixes for an implementation; it obeys those named in its `axes`.

    threads  worker threads, 0 for all cores
    seed     of everything random
    count    build the variant that counts its work, which is never the one that is timed
    """

    threads: int = 0
    seed: int = 1
    count: bool = False

    def __post_init__(self):
        if self.threads < 0:
            raise InputError(f"threads {self.threads}: a positive number, or 0 for all cores")

    @property
    def workers(self) -> int:
        """Worker threads: `threads`, or one for each core this process may use."""
        return self.threads or len(os.sched_getaffinity(0))


class Timer(Protocol):
    """What an implementation may ask of a timer: `with timer.phase(name)` around a part of the work.

    A phase `apart` (a conversion for an adapter's sake, a transfer, an allocation) is reported on its own and not
    counted in the phases around it, but in `ready`, of which it is a part.
    """

    def phase(self, name: str, apart: bool = False): ...

    def record(self, name: str, ms: float) -> None: ...


class NoTimer:
    """A timer that measures nothing."""

    def phase(self, name: str, apart: bool = False):
        return nullcontext()

    def record(self, name: str, ms: float) -> None:
        return None


# ------------------------------------------------------------------ implementations


class Implementation(ABC):
    """A way to solve a problem; each problem says what more it has. `@register` files it under its name.

    A subclass's docstring is what `grailbench info` says of it: a line, then what it does step by step.
    """

    name: ClassVar[str]
    problem: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()  #: extras or hardware beyond the base install, such as 'peers'
    source: ClassVar[str]  #: paper and algorithm, or the project it adapts
    cost: ClassVar[str] = ""  #: time and memory, for n vertices, m edges, d label pairs, q queries
    counts: ClassVar[tuple[str, ...]] = ()  #: the work counters it may fill, but for the traffic that they imply
    axes: ClassVar[frozenset[str]] = frozenset()  #: the fields of the problem's `Params` it obeys
    fixed: ClassVar[dict[str, str]] = {}  #: what its cells say of an axis that it does not obey but has, by name
    process: ClassVar[str] = "shared"  #: 'own' where only a process of its own can be stopped, unless a config says

    @classmethod
    def require(cls) -> None:
        """Raise MachineLacks when this machine has not what every build needs; asked before anything starts."""
        return None


_registry: dict[str, dict[str, type[Implementation]]] = {}  # by problem and name
_loaded: set[str] = set()


def register(cls: type[Implementation]) -> type[Implementation]:
    """Class decorator: file an implementation under its problem and name, in lower case.

    Raises ValueError for an unknown problem and on a second implementation of that name.
    """
    if cls.name != cls.name.lower():
        raise ValueError(f"{cls.name!r}: names of implementations are lower-case")
    if cls.problem not in PROBLEMS:
        raise ValueError(f"{cls.name!r}: no problem is named {cls.problem!r}")
    filed = _registry.setdefault(cls.problem, {})
    if cls.name in filed and filed[cls.name] is not cls:
        raise ValueError(f"two implementations of {cls.problem} are named {cls.name!r}")
    filed[cls.name] = cls
    return cls


def implementations(solved: str = USUAL) -> dict[str, type]:
    """The implementations of a problem by name: our own, the peers that are installed, and third parties'."""
    if solved not in _loaded:
        _loaded.add(solved)
        for module in problem(solved).modules:
            import_module(module)
    if ENTRY_POINTS not in _loaded:
        _loaded.add(ENTRY_POINTS)
        for point in entry_points(group=ENTRY_POINTS):
            found = point.load()
            if isinstance(found, type):
                register(found)
    return dict(_registry.setdefault(solved, {}))


def implementation(name: str, solved: str = USUAL) -> type:
    """The implementation of that name. Raises InputError with the nearest names when there is none."""
    known = implementations(solved)
    if name.lower() in known:
        return known[name.lower()]
    hint = did_you_mean(name, known, "'grailbench list implementations' shows them")
    elsewhere = [other for other in PROBLEMS if other != solved and name.lower() in implementations(other)]
    if elsewhere:
        hint = f"it belongs to --problem {' or '.join(elsewhere)}"
    what = "" if solved == USUAL else f" of {solved}"
    raise InputError(f"no implementation{what} is named {name!r}", remedy=hint)


# ------------------------------------------------------------------ problems


def problem(name: str) -> Problem:
    """The problem of that name. Raises InputError when there is none."""
    if name not in PROBLEMS:
        remedy = did_you_mean(name, PROBLEMS, f"choose among {', '.join(PROBLEMS)}")
        raise InputError(f"no problem is named {name!r}", remedy=remedy)
    return _made(*PROBLEMS[name])


@cache
def _made(module: str, name: str) -> Problem:
    return getattr(import_module(module), name)()


@dataclass(frozen=True)
class Checks:
    """How thoroughly answers are checked, as far as a problem can check less than all of them.

    sample          answers that are checked on a graph of more than `closure_limit` vertices; None for all of them
    oracle_seconds  what the oracle may take for the questions on one graph; None for as long as it needs
    closure_limit   vertices up to which all answers are checked, whatever else is said
    jobs            cells in processes of their own that make the pass that is verified at once; those on a GPU one at a
                    time
    """

    sample: int | None = None
    oracle_seconds: float | None = None
    closure_limit: int = 50_000
    jobs: int = 1


@dataclass(frozen=True)
class Attempt:
    """What a pass to be verified gave, not yet judged; it may come from another process.

    answers      whatever the problem's `Workload.judge` understands
    fault        what the implementation finds wrong with what it built, or None
    index_bytes  what it holds beyond its input; None where that says nothing
    counters     exact work of this pass, which counts; those of the trials do not
    memory       row fields: host_peak_bytes, device_peak_bytes, as the process had them when the answers were there
    """

    answers: Any
    fault: str | None = None
    index_bytes: int | None = None
    counters: dict[str, int] = field(default_factory=dict)
    memory: dict[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """What a pass showed, judged. `fault` is None when everything that was checked holds.

    positives  what the problem counts of its answers (pairs reachable, vertices reached, edges of the closure)
    checksum   of the answers; the trials' answers must have the same
    errors     how wrong it was, in exact counts; kept with the row of a wrong cell, in place of counters

    The others are those of the `Attempt`.
    """

    fault: str | None
    positives: int | None
    checksum: str
    index_bytes: int | None = None
    counters: dict[str, int] = field(default_factory=dict)
    memory: dict[str, int | None] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Trial:
    """What one timed pass gave, beside its times: the checksum of its answers (of those from edges, where they are
    others) and the problem's rate, if it has one."""

    checksum: str
    rate: float | None = None


class Input(Protocol):
    """A graph ready to be measured, as a problem wants it. `verified` as in `datasets.library.BenchGraph`.

    ids    those that vertices have in the graph's file, and that messages speak
    roots  vertices without parents before the super-root came; None where there is none
    raw    the edges as the file has them: where the way of phase `ready` begins
    """

    name: str
    kind: str
    sha256: str
    verified: bool | None

    @property
    def ids(self) -> Ids: ...

    @property
    def vertices(self) -> int: ...

    @property
    def edges(self) -> int: ...

    @property
    def roots(self) -> int | None: ...

    @property
    def raw(self) -> Graph: ...


class Workload(ABC):
    """What is asked of every implementation on one graph, and the check of what they answer.

    asked  what `Problem.attempt` and `trial` are given; it can be pickled
    """

    asked: Any = None

    @property
    @abstractmethod
    def size(self) -> int:
        """How many questions: pairs, sources."""

    @property
    @abstractmethod
    def method(self) -> str:
        """How answers are checked, for people."""

    @abstractmethod
    def describe(self) -> str:
        """What is asked and, where known, what the answer is, in a few words."""

    @abstractmethod
    def judge(self, key: str, attempt: Attempt) -> Verdict:
        """Judge what a cell's first pass gave, `key` naming the cell."""

    def compare(self) -> dict[str, str]:
        """After all were verified: faults found by comparing them with one another, by key."""
        return {}


class Problem(ABC):
    """What the harness must know of a problem. Instances have no state."""

    name: ClassVar[str]
    asks: ClassVar[str]  #: what a workload is made of, for people: 'pairs', 'sources'
    count: ClassVar[int]  #: how many of them, unless given
    counted: ClassVar[bool] = True  #: False where that changes nothing: the workload is the whole graph
    most_vertices: ClassVar[int | None] = None  #: of a graph that can be worked on; None for no bound
    modules: ClassVar[tuple[str, ...]]  #: those whose import registers our own implementations
    phases: ClassVar[tuple[str, ...]]  #: of a trial, at the top; the last one ends it, and its row the trial's rows
    usual: ClassVar[tuple[str, ...]]  #: implementations that are taken when none is named
    rate: ClassVar[str] = ""  #: unit of `Trial.rate`, '' for none
    answer: ClassVar[str] = "reachable"  #: what `Verdict.positives` counts
    from_edges: ClassVar[bool] = True  #: False where edges are what it gives, so that no way begins at them
    exact: ClassVar[bool] = False  #: True where every pass of a cell counts the same work

    def value(self, axis: str, value: Any) -> Any:
        """A value of an axis in the one spelling that rows have. Raises InputError for one that means nothing."""
        return value

    def beside(self, folder: Path, text: str) -> str:
        """What `spec` is given, with a file that is named relative to `folder` by its absolute path."""
        return text

    @abstractmethod
    def params(self, **axes) -> Params:
        """The parameters of a cell: dim, search, filters, threads, order, seed, as far as the cell has them."""

    @abstractmethod
    def open(self, name: str) -> Input:
        """The graph of that name. Raises InputError when there is none."""

    @abstractmethod
    def spec(self, text: str, count: int, seed: int) -> Spec:
        """Which workload: 'random', or what else the problem knows. Raises InputError for any other."""

    @abstractmethod
    def data(self, graph: Any, spec: Any) -> Any:
        """What implementations are given of an opened graph: made once a graph and workload, outside all trials."""

    def require_few(self, name: str, vertices: int | None) -> None:
        """Raise InputError for a graph of more than `most_vertices`; `vertices` is None where that is not known."""
        if self.most_vertices is not None and vertices is not None and vertices > self.most_vertices:
            raise InputError(
                f"{name}: {vertices:,} vertices are too many for {self.name}",
                remedy=f"a graph of at most {self.most_vertices:,}",
            )

    def share(self, data: Any) -> None:  # noqa: B027 - most have nothing to do
        """Make what `data` makes on demand, once, before the processes of several cells share it."""

    def prime(self, implementation: type, params: Params, from_edges: bool) -> None:  # noqa: B027 - others warm up
        """Have the kernels of trials compiled or loaded, on a graph of a few vertices: in a new process the first trial
        would pay for it. from_edges: those of the way from edges too."""

    @abstractmethod
    def workload(self, spec: Any, graph: Any, data: Any, checks: Checks) -> Workload:
        """The workload on an opened graph. Raises InputError."""

    @abstractmethod
    def attempt(
        self, implementation: type, params: Params, data: Any, asked: Any, peaks: Callable[[], dict]
    ) -> Attempt:
        """One pass to be judged, counting its work; `peaks()` gives `Attempt.memory`, to be called when the answers
        are there. Raises what the implementation raises."""

    @abstractmethod
    def trial(self, implementation: type, params: Params, data: Any, asked: Any, timer, edges: Any = None) -> Trial:
        """One timed pass: enters the problem's phases, in order. Nothing that was built outlives the call.

        `edges`: the raw edges, when the cell is timed from them too: phase `ready`, all there is from them in memory to
        an index or, where a problem has none, to all answers on the host, by the host's clock and with nothing that was
        made before. Work that is no part of a phase (checksums) is not timed. `timer.phase(...)` gives what has `ms`
        once it was left; `timer.whole("ready")` is a phase that nothing is taken out of (`bench.timing.PhaseTimer`).
        """


@dataclass(frozen=True)
class Spec:
    """Which workload a cell has: drawn from a seed ('random'), 'all' there is, or what else the problem knows; the kind
    'file' is that of a user's file, whose faults end the run."""

    kind: str
    count: int = 0
    seed: int = 0

    @property
    def name(self) -> str:
        """What rows call it, such as 'random-16-s1'."""
        return f"{self.kind}-{self.count}-s{self.seed}" if self.count else self.kind

    def identity(self) -> dict:
        """What makes two specs the same workload on one graph."""
        return {"kind": self.kind, "count": self.count, "seed": self.seed}
