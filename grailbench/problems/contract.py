"""The interfaces between problems and the harness, and the registry of problems and implementations.

A problem is a package and a line in `PROBLEMS`. It imports neither the harness nor another problem, and the harness
knows only what this file says of it. Entry points of the group `grailbench.implementations` load more implementations:
a subclass of `Implementation`, or a module whose import registers some.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from threading import RLock
from typing import IO, TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from grailbench.errors import InputError
from grailbench.util.cores import usable_cores
from grailbench.util.words import did_you_mean

if TYPE_CHECKING:
    from grailbench.data.library import BenchGraph, RawGraph

#: problem, as users type it -> module and class of its `Problem`, which is imported on first use
PROBLEMS = {
    "reachability": ("grailbench.problems.reachability.problem", "Reachability"),
    "bfs": ("grailbench.problems.traversal.problem", "Bfs"),
    "sssp": ("grailbench.problems.traversal.problem", "Sssp"),
    "apsp": ("grailbench.problems.traversal.problem", "Apsp"),
    "closure": ("grailbench.problems.closure.problem", "Closure"),
    "read": ("grailbench.problems.reading.problem", "Reading"),
    "counts": ("grailbench.problems.counts.problem", "Counts"),
}
#: problem -> modules of packages above `problems` whose import registers more implementations of it
MORE = {"reachability": ("grailbench.outofcore.index", "grailbench.distributed.implementations")}
MOST_THREADS = 4096  #: each has memory of its own from the start
USUAL = "reachability"  #: the problem of flags, configs and rows that do not name one
ENTRY_POINTS = "grailbench.implementations"
OTHERS = ("peer:", "program:")  #: how names of adapters of others' libraries, and of programs, begin


@dataclass(frozen=True)
class Params:
    """The parameters of a cell. An implementation obeys those that its `axes` name. Problems add their own.

    threads  worker threads, 0 for all cores
    seed     of everything random
    count    build the variant that counts its work; timed passes never use it
    """

    threads: int = 0
    seed: int = 1
    count: bool = False

    def __post_init__(self) -> None:
        if self.threads < 0:
            raise InputError(f"threads {self.threads}: a positive number, or 0 for all cores")
        if self.threads > MOST_THREADS:
            raise InputError(f"threads {self.threads:,}: at most {MOST_THREADS:,}, or 0 for all cores")

    @property
    def workers(self) -> int:
        """The number of worker threads: `threads`, or one for each core that this process may use."""
        return self.threads or usable_cores()


class Timer(Protocol):
    """Measures `with timer.phase(name)` around a part of the work.

    An `excluded` phase (a conversion, a transfer, an allocation) is reported by itself and not counted in those around
    it, except in `ready`. `record` adds a time that was measured otherwise, such as what another program says of its
    own work.
    """

    def phase(self, name: str, excluded: bool = False) -> AbstractContextManager[Any]: ...

    def record(self, name: str, ms: float, excluded: bool = False) -> None: ...


class NoTimer:
    """A timer that measures nothing."""

    def phase(self, name: str, excluded: bool = False) -> AbstractContextManager[Any]:
        return nullcontext()

    def record(self, name: str, ms: float, excluded: bool = False) -> None:
        return None


# ------------------------------------------------------------------ implementations


class Implementation(ABC):
    """A way to solve a problem, registered by `@register`; each problem has a subclass with more methods.

    `grailbench info` prints the docstring of an implementation: one line, then what it does step by step.
    """

    name: ClassVar[str]
    problem: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()  #: extras or hardware beyond the base install, such as 'peers'
    source: ClassVar[str]  #: paper and algorithm, or the project it adapts
    cost: ClassVar[str] = ""  #: time and memory, for n vertices, m edges, d label pairs, q queries
    counts: ClassVar[tuple[str, ...]] = ()  #: the work counters it may fill, without the traffic that they imply
    meaning: ClassVar[Mapping[str, str]] = {}  #: a sentence on each counter that no other implementation has
    varying: ClassVar[tuple[str, ...]] = ()  #: those of them that the timing of threads changes: shown, never compared
    neutral: ClassVar[tuple[str, ...]] = ()  #: counters of outcomes and of forms: more is neither better nor worse
    axes: ClassVar[frozenset[str]] = frozenset()  #: the fields of the problem's `Params` that it obeys
    fixed: ClassVar[dict[str, str]] = {}  #: axis -> the only value it has, for axes that it does not obey
    unfiltered: ClassVar[bool] = False  #: True if other indexes of its kind have filters, so that tables show 'none'
    process: ClassVar[str] = "shared"  #: 'own' if it can be stopped only in its own process; configs may override it
    from_edges: ClassVar[bool] = True  #: False if it cannot start from edges in memory, and has no phase `ready`
    repeats: ClassVar[bool] = True  #: False if its phases are what a program prints: none is repeated by itself, and
    #: the pass that is verified is a trial too (`Problem.attempt` gets a `timer`)
    label_free: ClassVar[bool] = False  #: True if it answers without label pairs; tables of papers have columns of it
    racy: ClassVar[bool] = False  #: True if it is right by luck, as printed; its wrong cells may be recorded
    described_by: ClassVar[Path | None] = None  #: the file that was given in place of its name, if it has one

    @classmethod
    def require(cls) -> None:
        """Raises MachineLacks if this machine cannot run it, by default for want of a GPU if `needs` names one; called
        before anything starts."""
        if "gpu" in cls.needs:
            from grailbench.cuda.gateway import require

            require()

    @classmethod
    def files(cls) -> list[Path]:
        """The files beside its code on which times and answers depend; cells measured with others are taken anew."""
        return []


class Solver(ABC):  # noqa: B024 - what is solved, and how, differs
    """What an implementation prepares for some data, which it does not change, and solves any number of times.

    counters    exact work counts, by name
    held_bytes  bytes held in addition to the input; None if that is not counted
    """

    counters: Mapping[str, int] = {}
    held_bytes: int | None = None


class Prepared(Implementation):
    """An implementation that prepares a solver: an object of its own class, unless `prepare` is defined."""

    @classmethod
    def prepare(cls, data: Any, params: Params, timer: Timer) -> Solver:
        """Returns a solver, ready for its data. Raises MachineLacks if an extra, a device or memory is missing."""
        cls.require()
        return cls(data, params)  # type: ignore[call-arg, return-value]


_registry: dict[str, dict[str, type[Implementation]]] = {}  # by problem and name
programs: dict[tuple[str, str], type[Implementation]] = {}  #: those that files describe, by problem and name
_loaded: set[str] = set()
_loading = RLock()  #: held while implementations are loaded, so that no thread sees half of them


def register(cls: type[Implementation]) -> type[Implementation]:
    """Class decorator that registers an implementation under its problem and name. Raises ValueError if the name is not
    in lower case or is taken, or if the problem is unknown."""
    if cls.name != cls.name.lower():
        raise ValueError(f"{cls.name!r}: names of implementations are lower-case")
    if cls.problem not in PROBLEMS:
        raise ValueError(f"{cls.name!r}: no problem is named {cls.problem!r}")
    filed = _registry.setdefault(cls.problem, {})
    if cls.name in filed and filed[cls.name] is not cls:
        raise ValueError(f"two implementations of {cls.problem} are named {cls.name!r}")
    filed[cls.name] = cls
    return cls


def implementations(solved: str = USUAL) -> dict[str, type[Implementation]]:
    """The implementations of a problem by name: ours, the peers that are installed, and those of third parties."""
    with _loading:
        if solved not in _loaded:
            _loaded.add(solved)
            for module in (*problem(solved).modules, *MORE.get(solved, ())):
                import_module(module)
        if ENTRY_POINTS not in _loaded:
            _loaded.add(ENTRY_POINTS)
            for point in entry_points(group=ENTRY_POINTS):
                found = point.load()
                if isinstance(found, type):
                    register(found)
    return dict(_registry.setdefault(solved, {}))


def registered(name: str, solved: str) -> type[Implementation] | None:
    """The implementation of exactly that name, or the program; None if this installation has none, as of runs made
    elsewhere."""
    return implementations(solved).get(name) or programs.get((solved, name))


def neutral(solved: str) -> frozenset[str]:
    """The counters of a problem's implementations of which more is neither better nor worse."""
    return frozenset(name for each in implementations(solved).values() for name in each.neutral)


def implementation(name: str, solved: str = USUAL) -> type[Any]:
    """The implementation of that name, or that a file describes. Raises InputError, with similar names, if there is
    none."""
    if (known := registered(name.lower(), solved)) is not None:
        return known
    if (found := problem(solved).described(name)) is not None:
        return found
    hint = did_you_mean(name, implementations(solved), "'grailbench list implementations' shows them")
    elsewhere = [other for other in PROBLEMS if other != solved and name.lower() in implementations(other)]
    if elsewhere:
        hint = f"it belongs to --problem {' or '.join(elsewhere)}"
    what = "" if solved == USUAL else f" of {solved}"
    raise InputError(f"no implementation{what} is named {name!r}", remedy=hint)


# ------------------------------------------------------------------ problems


def checksum(content: bytes | memoryview | Any) -> str:
    """The first 16 hex digits of the sha256 of bytes, or of a contiguous array."""
    return hashlib.sha256(content).hexdigest()[:16]


def problem(name: str) -> Problem:
    """The problem of that name. Raises InputError if there is none."""
    if name not in PROBLEMS:
        remedy = did_you_mean(name, PROBLEMS, f"choose among {', '.join(PROBLEMS)}")
        raise InputError(f"no problem is named {name!r}", remedy=remedy)
    return _made(*PROBLEMS[name])


@cache
def _made(module: str, name: str) -> Problem:
    made: Problem = getattr(import_module(module), name)()
    return made


@dataclass(frozen=True)
class Checks:
    """How many answers are checked. Problems that always check all answers ignore all but `jobs`.

    sample          answers to check on a graph of more than `closure_limit` vertices; None for all
    oracle_seconds  the time limit of the oracle for the questions on one graph; None for no limit
    closure_limit   all answers are checked on graphs of at most that many vertices
    jobs            cells that are verified at the same time, each in its own process; only one of them on a GPU
    """

    sample: int | None = None
    oracle_seconds: float | None = None
    closure_limit: int = 50_000
    jobs: int = 1


@dataclass(frozen=True)
class Attempt:
    """The result of a pass before it is judged; it may come from another process.

    answers      in the form that the problem's `Workload.judge` takes
    fault        what the implementation found wrong with its own index, or None
    index_bytes  bytes that it holds beyond its input; None if that has no meaning
    counters     the work that this pass counted; trials do not count
    memory       row fields host_peak_bytes and device_peak_bytes, read once the answers were complete
    phases       the times of one that may count as a trial, as of a program, in ms by (under, phase); or None
    """

    answers: Any
    fault: str | None = None
    index_bytes: int | None = None
    counters: dict[str, int] = field(default_factory=dict)
    memory: dict[str, int | None] = field(default_factory=dict)
    phases: dict[tuple[str, str], float] | None = None

    def verdict(self, fault: str | None, positives: int | None, checksum: str, **more: Any) -> Verdict:
        """The judgement of this attempt, which repeats what it has; more: fields of `Verdict` in place of its own."""
        mine = {"index_bytes": self.index_bytes, "counters": self.counters, "memory": self.memory}
        return Verdict(fault, positives, checksum, **mine | more)


@dataclass(frozen=True)
class Verdict:
    """The judgement of an `Attempt`, whose other fields it repeats.

    fault      what is wrong; None if everything that was checked is right
    positives  reachable pairs, reached vertices or edges of the closure, depending on the problem
    checksum   of the answers; every trial must give the same
    errors     how many answers of each kind are wrong; the row of a wrong cell has them in place of counters
    method     how they were checked, in words, if otherwise than `Workload.method` says
    """

    fault: str | None
    positives: int | None
    checksum: str
    index_bytes: int | None = None
    counters: dict[str, int] = field(default_factory=dict)
    memory: dict[str, int | None] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    method: str | None = None


@dataclass(frozen=True)
class Trial:
    """The result of one timed pass besides its times: the checksum of its answers (of those from edges, if that way
    gives others) and the problem's rate, if it has one."""

    checksum: str
    rate: float | None = None


#: a graph as a problem opens it, whose ids messages use and with whose `raw` edges phase `ready` begins
Input: TypeAlias = "BenchGraph | RawGraph"


class Workload(ABC):
    """The questions for all implementations on one graph, and the check of their answers.

    batch  the queries as `Problem.attempt` and `trial` take them; they can be pickled
    """

    batch: Any = None

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of questions: pairs or sources."""

    @property
    @abstractmethod
    def method(self) -> str:
        """How answers are checked, in words."""

    @abstractmethod
    def describe(self) -> str:
        """The questions and, if known, their answers in a few words."""

    @abstractmethod
    def judge(self, key: str, attempt: Attempt) -> Verdict:
        """Judges the result of the first pass of the cell named `key`."""

    def write_answers(self, stream: IO[bytes], answers: Any) -> None:
        """Writes the answers of an `Attempt` that was judged right, a line a question, if `Problem.written`."""
        raise NotImplementedError

    def compare(self) -> dict[str, str]:
        """Cell -> fault, found by comparing the answers of all cells with one another after all were judged."""
        return {}


class Problem(ABC):
    """A problem as the harness sees it. Instances have no state."""

    name: ClassVar[str]
    asks: ClassVar[str]  #: what the questions are, for people: 'pairs', 'sources'
    count: ClassVar[int]  #: the default number of questions
    counted: ClassVar[bool] = True  #: False if the workload is the whole graph, whatever the count
    most_vertices: ClassVar[int | None] = None  #: the most vertices of a graph; None for no bound
    modules: ClassVar[tuple[str, ...]]  #: the modules whose import registers our implementations
    phases: ClassVar[tuple[str, ...]]  #: the top phases of a trial in order; the row of the last one ends the trial
    usual: ClassVar[tuple[str, ...]]  #: the implementations to run if none is named
    parameters: ClassVar[type[Params]] = Params  #: the class of what `params` returns
    rate: ClassVar[str] = ""  #: unit of `Trial.rate`, '' for none
    answer: ClassVar[str] = "reachable"  #: what `Verdict.positives` counts
    counts: ClassVar[tuple[str, ...]] = ()  #: the counters that its check adds to those of every implementation
    from_edges: ClassVar[bool] = True  #: False if it cannot be timed from edges, as edges are its result
    single: ClassVar[bool] = False  #: True if `trial` has an argument `single`: questions one at a time too
    written: ClassVar[bool] = False  #: True if its workloads have `write_answers`
    exact: ClassVar[bool] = False  #: True if every pass of a cell counts the same work
    repeated: ClassVar[tuple[str, ...]] = ()  #: the top phases that `again` repeats, of cells that have them

    @property
    def ranked(self) -> Mapping[str, str]:
        """The phases by which configurations are ranked, with their names in words: first the last phase of a trial,
        then `ready`, then phases that are used if `ready` was not timed."""
        return {self.phases[-1]: self.name, "ready": "from edges"}

    def value(self, axis: str, value: Any) -> Any:
        """A value of an axis, spelled as in rows. Raises InputError if there is no such value."""
        return value

    def beside(self, folder: Path, text: str) -> str:
        """The text for `spec`; if it names a file relative to `folder`, with its absolute path."""
        return text

    def described(self, name: str) -> type | None:
        """The implementation that a file describes, if `name` is that of such a file, else None. Raises InputError if
        the file is wrong."""
        return None

    def params(self, **axes: Any) -> Params:
        """The parameters of a cell, from its axes and its seed; a cell need not have all axes."""
        return self.parameters(**{each.name: axes[each.name] for each in fields(self.parameters) if each.name in axes})

    def open(self, name: str) -> Input:
        """The graph of that name, by default as it is in its file. Raises InputError if there is none."""
        from grailbench.data.library import open_raw

        return open_raw(name)

    def only(self, text: str, remedy: str) -> None:
        """Raises InputError for any query set but 'random', the usual one."""
        if text != "random":
            raise InputError(f"{self.name} has no query set {text!r}", remedy=remedy)

    @abstractmethod
    def spec(self, text: str, count: int, seed: int) -> Spec:
        """The workload that a text names, such as 'random'. Raises InputError if the problem has no such workload."""

    def part(self, spec: Any, implementation: type, large: bool = False) -> Any:
        """The part of a workload that this implementation is asked, on a large graph: all, unless the problem says
        otherwise."""
        return spec

    @abstractmethod
    def data(self, graph: Any, spec: Any) -> Any:
        """The input of implementations, made of an opened graph once for each graph and workload, and not timed."""

    def require_few(self, name: str, vertices: int | None) -> None:
        """Raises InputError if a graph has more than `most_vertices`; `vertices` is None if not known."""
        if self.most_vertices is not None and vertices is not None and vertices > self.most_vertices:
            raise InputError(
                f"{name}: {vertices:,} vertices are too many for {self.name}",
                remedy=f"a graph of at most {self.most_vertices:,}",
            )

    def share(self, data: Any) -> None:  # noqa: B027 - most have nothing to do
        """Computes the lazy parts of `data`, before the processes of several cells share it."""

    def prime(self, implementation: type, params: Params, from_edges: bool) -> None:  # noqa: B027 - others warm up
        """Compiles or loads the kernels of trials on a tiny graph, so that the first trial of a new process does not
        pay for it; if `from_edges`, also the kernels that start from edges."""

    @abstractmethod
    def workload(self, spec: Any, graph: Any, data: Any, checks: Checks) -> Workload:
        """The workload on an opened graph. Raises InputError if a file of questions is wrong."""

    @abstractmethod
    def attempt(
        self, implementation: type, params: Params, data: Any, batch: Any, peaks: Callable[[], dict[str, Any]]
    ) -> Attempt:
        """One pass that counts its work and is judged. Call `peaks()`, which gives `Attempt.memory`, once the answers
        are complete. Raises what the implementation raises."""

    @abstractmethod
    def trial(
        self, implementation: type, params: Params, data: Any, batch: Any, timer: Any, edges: Any = None
    ) -> Trial:
        """One timed pass, which enters the problem's phases in order. Nothing that it builds outlives the call.

        edges: the raw edges if the cell is timed from edges too. Phase `ready` then takes the host's time from edges in
        memory to an index or, without one, to all answers on the host, and reuses nothing. Work outside of phases, such
        as checksums, is not timed. `timer` is a `harness.timing.PhaseTimer`: `timer.phase(...)` has `ms` after its
        block, and `timer.whole("ready")` includes excluded phases.
        """

    def again(
        self, implementation: type, params: Params, data: Any, batch: Any, phase: str, edges: Any = None
    ) -> Callable[[], Any] | None:
        """Prepares, and returns a function that does once more what a trial times as `phase`, one of `repeated`, from
        the same input, to measure its energy; None if there is no such. edges: as in `trial`, for `ready`."""
        return None


class SolverProblem(Problem):
    """A problem whose implementations prepare a solver, which solves once a trial, with these phases.

    prepare  brings the data into the form of the implementation, and allocates
    solve    from memory of the host to the answer there
    ready    if asked for: from raw edges in memory to the answer. Its parts are those of `data_of`, and the others
    """

    phases = ("prepare", "solve")
    repeated = ("solve",)

    @abstractmethod
    def solve(self, solver: Any, data: Any, batch: Any, timer: Timer) -> Any:
        """Has a solver solve, and returns what it found."""

    @abstractmethod
    def data_of(self, edges: Any, params: Params, batch: Any, timer: Timer) -> Any:
        """The input of implementations, made of raw edges."""

    @abstractmethod
    def checksum(self, found: Any) -> str:
        """The checksum of what was found."""

    def answers(self, data: Any, found: Any) -> Any:
        """What was found, as `Workload.judge` takes it."""
        return found

    def rated(self, data: Any, batch: Any) -> int:
        """How many of what `rate` counts a second are asked."""
        return 0

    def attempt(
        self, implementation: type, params: Params, data: Any, batch: Any, peaks: Callable[[], dict[str, Any]]
    ) -> Attempt:
        """Prepares and solves once."""
        solver = implementation.prepare(data, params, NoTimer())  # type: ignore[attr-defined]
        found, memory = self.solve(solver, data, batch, NoTimer()), peaks()
        return Attempt(self.answers(data, found), None, solver.held_bytes, dict(solver.counters), memory)

    def trial(
        self, implementation: type, params: Params, data: Any, batch: Any, timer: Any, edges: Any = None
    ) -> Trial:
        """Prepares and solves; with `edges` does so once more from the raw edges."""
        solver, found, ms = self._timed(implementation, params, data, batch, timer)
        mark = self.checksum(found)
        if edges is not None:
            del solver, found
            with timer.whole("ready"):
                given = self.data_of(edges, params, batch, timer)
                solver, found, _ = self._timed(implementation, params, given, batch, timer)
            mark = self.checksum(found)
        return Trial(mark, self.rated(data, batch) / ms * 1e3 if self.rate and ms else None)

    def _timed(self, implementation: Any, params: Params, data: Any, batch: Any, timer: Any) -> tuple[Any, Any, float]:
        with timer.phase("prepare"):
            solver = implementation.prepare(data, params, timer)
        with timer.phase("solve") as solving:
            found = self.solve(solver, data, batch, timer)
        return solver, found, solving.ms  # the solver is returned so that freeing it is not timed

    def again(
        self, implementation: Any, params: Params, data: Any, batch: Any, phase: str, edges: Any = None
    ) -> Callable[[], Any]:
        """Prepares; returns what solves."""
        solver = implementation.prepare(data, params, NoTimer())
        return lambda: self.solve(solver, data, batch, NoTimer())


@dataclass(frozen=True)
class Spec:
    """Names a workload. Kinds: 'random' (drawn from the seed), 'all', 'file' (a user's file, whose faults end the run)
    and others that a problem has."""

    kind: str
    count: int = 0
    seed: int = 0

    @property
    def name(self) -> str:
        """Its name in rows, such as 'random-16-s1'."""
        return f"{self.kind}-{self.count}-s{self.seed}" if self.count else self.kind

    @property
    def usual(self) -> bool:
        """True if labels of cells need not name it."""
        return self.kind in ("random", "all")

    def identity(self) -> dict[str, Any]:
        """The fields that tell workloads on one graph apart."""
        return {"kind": self.kind, "count": self.count, "seed": self.seed}
