"""A tournament of candidates on one graph: rounds of ordinary runs, and the recommendation that follows from them.

The first round takes every candidate once, with few pairs, under a tight time limit. If hardly any finishes, those that
ran out of time get more of it. The best few, and those that are the cheapest for some other number of queries, are then
measured with more pairs and many trials. Every answer is verified as in any run. Rounds before the last are runs in
subfolders `round-1`, `round-2`, ...

Candidates are all implementations that can run here, with a few values of their axes. None is known by name: what it
needs and which axes it has say how it is tried.

The cost of a configuration for n queries is a straight line: the time from edges in memory to a ready index (phase
`ready`), once, and n times the time of a query (phase `query`, divided by the pairs of the batch). Where several query
sets were measured, each counts the same. Times are medians of the trials, in ms.
"""

import inspect
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from operator import attrgetter
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from grailbench.api.building import build
from grailbench.compare.costs import Cost, Step, Timed, break_even, envelope
from grailbench.compare.costs import front as pareto
from grailbench.compare.ratios import FEW, Ratio
from grailbench.data.library import BenchGraph
from grailbench.errors import InputError, MachineLacks, NothingMeasured
from grailbench.graph.condense import condense, load_kernels
from grailbench.graph.csr import Graph
from grailbench.graph.ids import as_line
from grailbench.graph.store import require_same
from grailbench.harness import axes, runner
from grailbench.harness.cells import Cell, cells
from grailbench.harness.folder import new_run
from grailbench.harness.plan import AXES, Config, Experiment, Plan, make_plan
from grailbench.harness.prepare import provide
from grailbench.harness.rows import STATUSES
from grailbench.harness.statistics import interval_of, resampled
from grailbench.harness.tasks import Watcher, implementation_of
from grailbench.problems.contract import USUAL, Checks, Params, implementation, implementations, problem
from grailbench.problems.reachability.pairs import UNKNOWN, read_pairs
from grailbench.util.cores import usable_cores
from grailbench.util.guard import guarded
from grailbench.util.outputs import atomic_file
from grailbench.util.words import count, decimal_size

DRAWN = ("random", "balanced")  #: the query sets where the user gives no pairs; each counts half
FIRST_PAIRS, LAST_PAIRS = 10_000, (100_000, 30_000, 10_000)  #: pairs of the first round, and of the last by their time
FINALISTS = 6  #: configurations of the last round by their cost, at most `OF_ONE` of an implementation
OF_ONE = 2
ENOUGH = 3  #: with fewer sound configurations, those that ran out of time get `MORE` times as much of it
MORE, ROUNDS = 4, 3
#: the time limit of a cell in the first round: so many seconds at least, more on a busy machine; a share of the budget;
#: and so many times the time that condensing the graph takes here and now
LEAST_SECONDS, SHARE, CONDENSED = 5.0, 1 / 12, 30
ONCE = {"count": FIRST_PAIRS, "warmup": 0, "from_edges": True}  #: fields of the first rounds
FIRST_TRIALS, LARGE = 3, 1_000_000  #: trials of the first round; on graphs of more edges there is one
TRIALS = 5, 20  #: the least and the most of the last round
NAME = "advise"  #: of the plans of a tournament
GPU = "gpu"  #: in `needs` of implementations that run on one
NO_EDGES = "it does not begin with edges in memory, so its build is another thing"
#: the values of axes that are tried; an implementation takes those that it has, and each cell once
VARIANTS = (
    {"dim": [1, 2, 3], "filters": ["level,tree", "level,tree,hubs"], "order": "lexicographic"},
    {"dim": [2], "filters": ["none"], "order": "lexicographic"},
    {"dim": [2], "filters": ["level,tree,hubs"], "order": "lexicographic", "threads": [1]},
)
LEVEL = 1.03  #: a configuration that takes at most so many times as long is about equal, whatever its trials say
ROUGH = 1.25  #: the same where there is no interval


# ------------------------------------------------------------------ configurations and their costs


@dataclass(frozen=True, eq=False)
class Option:
    """A configuration that can be taken: its cells on the graph, one a query set."""

    cells: tuple[Cell, ...]

    @property
    def name(self) -> str:
        """The configuration in words: 'sequential d=2 dfs level,tree'."""
        return axes.label(self.impl, self.cells[0].axes)

    @property
    def impl(self) -> str:
        return self.cells[0].impl

    @property
    def worst(self) -> Cell:
        """The cell with the worst status."""
        return max(self.cells, key=lambda cell: STATUSES.index(cell.status))

    @cached_property
    def cost(self) -> Cost | None:
        """ms from edges in memory to a ready index, and of one query of a batch; None if one of its query sets lacks
        either, or has a wrong answer."""
        timed = [Timed.of(cell, "ready") for cell in self.cells]
        return None if None in timed else Cost(*map(float, np.mean([each.cost() for each in timed], axis=0)))

    def _most(self, field: str) -> int | None:
        """The most of a field of the cells that have it."""
        return max((value for cell in self.cells if (value := getattr(cell, field)) is not None), default=None)

    @property
    def part(self) -> int | None:
        """How many pairs it was asked, if it takes one at a time and was asked the first of each query set; or None."""
        return self._most("part")

    @property
    def index_bytes(self) -> int | None:
        """Bytes of the index beside the graph; None if not known."""
        return self._most("index_bytes")

    @property
    def peak_bytes(self) -> int | None:
        """The most memory of the process that built and asked it, interpreter and graph included; None if it had no
        process of its own."""
        return self._most("host_peak_bytes")

    @property
    def memory(self) -> int:
        """The bytes that count against a bound on memory: the peak of its process, or those of the index if that is
        not known."""
        return max(self.peak_bytes or 0, self.index_bytes or 0)

    @property
    def trials(self) -> int:
        """The least number of trials of a cell."""
        return min(cell.trials for cell in self.cells)

    def draws(self, queries: float) -> np.ndarray:
        """float64[RESAMPLES]: bootstrap draws of `cost.of(queries)`. Options with the same number of trials are drawn
        by the same trials, so that what slowed a trial down for both cancels in their ratio."""
        drawn = [
            resampled(cell.sample("ready"), seed=seed)
            + queries / cell.queries * resampled(cell.sample("query"), seed=seed)
            for seed, cell in enumerate(self.cells, 1)
        ]
        return np.mean(drawn, axis=0)


def options(cells: Iterable[Cell]) -> list[Option]:
    """The configurations of some cells on one graph, in the order of their first cells."""
    found: dict[tuple, list[Cell]] = {}
    for cell in cells:
        found.setdefault((cell.impl, *cell.axes.items(), cell.seed), []).append(cell)
    return [Option(tuple(own)) for own in found.values()]


def unindexed(found: Iterable[Option], built: Option) -> Step | None:
    """The configuration without an index that has the shortest query, and from how many queries on building `built`
    pays against it (`math.inf` for never); None if `built` keeps no index, or nothing else does without one."""
    without = [option for option in found if option.cost and option.index_bytes == 0]
    if not without or not built.index_bytes:
        return None
    none = min(without, key=lambda option: option.cost.each)
    return Step(none, break_even(built.cost, none.cost))


def front(found: Iterable[Option]) -> list[Option]:
    """The Pareto front of build, query and index bytes: see `compare.costs.front`."""
    found = [option for option in found if option.cost]
    best = pareto([(*option.cost, option.index_bytes or 0) for option in found])
    return [option for option, kept in zip(found, best, strict=True) if kept]


def compared(option: Option, base: Option, queries: float) -> Ratio:
    """How many times as long an option takes as another, for so many queries."""
    value = option.cost.of(queries) / base.cost.of(queries)
    if min(option.trials, base.trials) < FEW:
        return Ratio(value)
    return Ratio(value, interval_of(option.draws(queries) / base.draws(queries)))


def level(ratio: Ratio) -> bool:
    """Whether two options are to be taken as equal in time."""
    most = ROUGH if ratio.interval is None else LEVEL
    return 1 / most <= ratio.value <= most or (ratio.interval is not None and ratio.order == 0)


# ------------------------------------------------------------------ the recommendation


@dataclass(frozen=True, eq=False)
class Advice:
    """The recommendation, and what it rests on.

    queries   the number of queries that a build is for
    best      the option to take
    level     the options that are about equal to the cheapest, which is the first; `best` is one of them
    ratios    how many times as long each sound option that fits the memory takes as `best`, the cheapest first
    steps     what is cheapest for how many queries, among those that fit the memory; `since` of a step is the least
              whole number of queries from which its dearer build has paid
    too_large the sound options that need more memory than is allowed
    lost      the options without times on some query set: wrong, failed, out of time or memory, not run
    """

    queries: int
    best: Option
    level: Sequence[Option]
    ratios: dict[Option, Ratio]
    steps: Sequence[Step]
    too_large: Sequence[Option] = ()
    lost: Sequence[Option] = ()

    @property
    def fastest(self) -> Option:
        """The option of least cost; another than `best` if that is level with it and smaller."""
        return self.level[0]


def advise(found: Iterable[Option], queries: int, memory: int | None = None) -> Advice:
    """What to take for so many queries to a build, within so many bytes of memory (None: any).

    The option of least cost wins, unless others are level with it: among these the one with the smallest index, then
    with fewer needs (extras, a GPU), then on fewer threads, then the cheapest. Wrong and failed options never win.

    Raises NothingMeasured if no option has times, and InputError if none fits the memory.
    """
    found = list(found)
    sound = sorted((option for option in found if option.cost), key=lambda option: option.cost.of(queries))
    lost = [option for option in found if not option.cost]
    if not sound:
        reasons = dict.fromkeys(f"{option.name}: {option.worst.reason or option.worst.status}" for option in lost)
        raise NothingMeasured(f"no candidate could be measured: {'; '.join(list(reasons)[:3]) or 'there is none'}")
    fitting = [option for option in sound if memory is None or option.memory <= memory]
    if not fitting:
        least = min(sound, key=attrgetter("memory"))
        needs = f"the least, {least.name}, needs {decimal_size(least.memory)}"
        raise InputError(f"no candidate fits {decimal_size(memory)}: {needs}", remedy="a larger --memory, or without")

    def burden(option: Option) -> tuple[float, ...]:
        size = math.inf if option.index_bytes is None else option.index_bytes
        needs = len(implementation(option.impl).needs)
        return size, needs, option.cells[0].threads or 1, option.cost.of(queries)

    # in ascending order up to the first that takes longer, so that none is taken that takes longer than that
    equal = list(takewhile(lambda option: level(compared(option, fitting[0], queries)), fitting))
    best = min(equal, key=burden)
    return Advice(
        queries, best, equal, {option: compared(option, best, queries) for option in fitting},
        envelope(fitting, attrgetter("cost")), [option for option in sound if option not in fitting], lost,
    )  # fmt: skip


#: axes that `build` takes by their own names, d aside
_NAMED = ("filters", "threads", "search", "order", "devices", "memory")


def program(graph: str, option: Option) -> list[str]:
    """Three lines of Python that build an option's index on a graph of that name and ask it for the pair (u, v)."""
    cell, has = option.cells[0], implementation(option.impl).axes
    usual = {name: parameter.default for name, parameter in inspect.signature(build).parameters.items()}
    usual["threads"] = Params(threads=usual["threads"]).workers  # a cell has the number of all cores
    given = [f"gb.Graph.open({graph!r})", repr(option.impl)]
    given += [f"d={cell.dim}"] if "dim" in has else []
    for axis in _NAMED:
        value = getattr(cell, axis) or ("none" if axis == "filters" else None)
        if axis in has and value not in (None, usual[axis]):
            given.append(f"{axis}={value!r}")
    return ["import grailbench as gb", f"index = gb.build({', '.join(given)})", "index.reaches(u, v)"]


# ------------------------------------------------------------------ the tournament


@dataclass(frozen=True)
class Outcome:
    """What a tournament found.

    folder  of the last round's run
    pairs   those of the last round in words
    first   the configurations as the first rounds measured them
    last    those of the last round, with its times
    absent  why implementations did not take part, by name
    """

    folder: Path
    pairs: str
    first: list[Option]
    last: list[Option]
    absent: dict[str, str]

    @property
    def dropped(self) -> list[Option]:
        """The configurations that did not come to the last round."""
        names = {option.name for option in self.last}
        return [option for option in self.first if option.name not in names]


def hold(
    graph: str, queries: int, watching: Callable[[], AbstractContextManager[Watcher]], *, pairs: str | None = None,
    chosen: Sequence[str] = (), gpu: bool = False, memory: int | None = None, seconds: float = 60.0,
    process: str = "own", sha256: str | None = None, out: str | None = None, fetch: bool = True,
) -> Outcome:  # fmt: skip
    """Hold a tournament on a graph in a new folder (`out`, or one in results/runs).

    queries   how many queries are asked of one build
    watching  gives the watcher of a round
    pairs     a file of pairs like those that will be asked, '-' for the standard input; None for drawn ones
    chosen    the implementations that take part; empty for all
    gpu       whether implementations on a GPU take part
    memory    the most bytes that the winner may need; None for any
    seconds   about how long it may take, compiling aside
    process   of the cells of the last round: 'own', which measures their memory, or 'shared'
    sha256    of the graph that is meant; None for any of that name

    Raises InputError for an unknown graph, one without vertices or wrong pairs, MachineLacks if a GPU is asked for and
    there is none, and the errors of `runner.run`.
    """
    names, absent = candidates(chosen, gpu)
    blocks = [{"implementations": names, **variant} for variant in VARIANTS]
    plan = planned(graph, blocks, queries=[DRAWN[-1]], **ONCE)
    with watching() as watcher:
        provide(plan, fetch, watcher.note)
        given = _Pairs(graph, pairs, sha256)
        watcher.note("loading kernels; the first time they are compiled, for a minute or two")
        _load_kernels(plan)
    busy = max(1.0, os.getloadavg()[0] / usable_cores())
    limit = max(LEAST_SECONDS * busy, SHARE * seconds, CONDENSED * given.condensing)
    began = monotonic()  # neither fetching nor compiling counts
    folder = new_run(NAME, plan.digest, out)
    few = given.of(FIRST_PAIRS, folder)[-1:]
    first = {**ONCE, "queries": few, "trials": FIRST_TRIALS if given.edges <= LARGE else 1}
    measured: dict[str, Option] = {}
    for turn in range(1, ROUNDS + 1):
        plan = planned(graph, blocks, time_limit=limit, **first)
        measured |= {option.name: option for option in _run(plan, watching, folder / f"round-{turn}", seconds)}
        late = [option.worst for option in measured.values() if option.worst.status == "timeout"]
        enough = sum(option.cost is not None for option in measured.values()) >= ENOUGH
        if enough or not late or monotonic() - began > seconds:
            break
        limit *= MORE
        blocks = [*map(configured, late)]
    best = finalists(measured.values(), queries, memory)
    if not best:
        return Outcome(folder, "", list(measured.values()), [], absent)
    left = max(seconds - (monotonic() - began), seconds / 3)
    for number in LAST_PAIRS:  # so many, and so many trials, that the last round takes about so many seconds
        each = sum(2 * option.cost.once + number * option.cost.each for option in best) / 1e3
        passes = int(left / (given.sets * each)) - 2  # one is verified, one warms up
        if passes >= TRIALS[0]:
            break
    plan = planned(
        graph, [configured(option.worst) for option in best], queries=given.of(number, folder), count=number,
        trials=int(np.clip(passes, *TRIALS)), process=None if process == "shared" else process,
        from_edges=True, time_limit=max(30.0, seconds),
    )  # fmt: skip
    last = _run(plan, watching, folder, seconds)
    for option in (*measured.values(), *last):
        require_same(option.worst.graph_sha256 or given.sha256, given.sha256, graph)
    return Outcome(folder, given.words(number), list(measured.values()), last, absent)


def _run(plan: Plan, watching, folder: Path, seconds: float) -> list[Option]:
    """One round: a run in a folder."""
    with watching() as watcher:
        done = runner.run(plan, watcher, out=folder, fetch=False, checks=Checks(oracle_seconds=seconds))
    return options(cells(done.rows))


def finalists(found: Iterable[Option], queries: int, memory: int | None = None) -> list[Option]:
    """The options for the last round: the cheapest for so many queries, the cheapest for any other number and, where
    memory counts, the smallest; without those that certainly need more memory."""
    sound = [option for option in found if option.cost and (memory is None or option.memory <= memory)]
    taken: list[Option] = []
    for option in sorted(sound, key=lambda each: each.cost.of(queries)):
        if len(taken) < FINALISTS and sum(other.impl == option.impl for other in taken) < OF_ONE:
            taken.append(option)
    taken += [step.option for step in envelope(sound, attrgetter("cost"))]
    taken += [min(sound, key=attrgetter("memory"))] if sound and memory is not None else []
    return list(dict.fromkeys(taken))


def _load_kernels(plan: Plan) -> None:
    """Compile or load the kernels of cells in this process, on a path of three vertices, so that no time limit counts
    it. What fails here fails again in the run, which reports it."""
    solved, ends = problem(USUAL), (np.array([0, 1], np.int32), np.array([1, 2], np.int32))
    path = condense(Graph.from_edges(3, *ends))
    for cell in plan.cells:
        if cell.process == "shared":
            guarded(lambda cell=cell: solved.prime(implementation_of(cell), cell.params, True))
            guarded(lambda cell=cell: solved.attempt(implementation_of(cell), cell.params, path, ends, dict))


class _Pairs:
    """The pairs of a tournament, those of a file or drawn ones, and what is known of its graph: `edges`, `sha256`, and
    `condensing`, the seconds to condense it.

    Raises InputError if the graph has no vertices or is another than is meant, and the errors of `read_pairs`.
    """

    def __init__(self, name: str, file: str | None, sha256: str | None):
        graph: BenchGraph = problem(USUAL).open(name)
        require_same(graph.sha256, sha256, name)
        if graph.dag.component.size == 0:
            raise InputError(f"{name}: the graph has no vertices, so there is nothing to ask")
        self.edges, self.sha256, self.file, self.sets = graph.edges, graph.sha256, file, len(DRAWN)
        if self.file is not None:
            self.ids, self.sets = graph.ids, 1
            self.pairs = read_pairs(self.file, self.ids)
        load_kernels()
        raw, began = graph.raw, monotonic()
        condense(raw)
        self.condensing = monotonic() - began

    def of(self, most: int, folder: Path) -> list[str]:
        """The query sets of a round, as an experiment takes them. Given pairs are written to a file in the folder: all,
        or as many as `most`, drawn from a seed."""
        if self.file is None:
            return list(DRAWN)
        size = self.pairs.sources.size
        taken = np.sort(np.random.default_rng(1).choice(size, min(size, most), replace=False))
        path = folder / f"pairs-{taken.size}.txt"
        with atomic_file(path) as stream:
            for u, v, given in zip(*(column[taken] for column in self.pairs[:3]), strict=True):
                answer = () if given == UNKNOWN else (str(given),)
                stream.write(as_line((self.ids.label_of(int(u)), self.ids.label_of(int(v)), *answer)).encode())
        return [str(path)]

    def words(self, most: int) -> str:
        """The pairs of a round of `most`: '100,000 random and 100,000 balanced pairs'."""
        if self.file is None:
            return " and ".join(f"{most:,} {name}" for name in DRAWN) + " pairs"
        size = self.pairs.sources.size
        part = f"{most:,} of the " if size > most else ""
        return f"{part}{count(size, 'pair')} of {'the standard input' if self.file == '-' else self.file}"


# ------------------------------------------------------------------ candidates


def candidates(chosen: Iterable[str] = (), gpu: bool = False) -> tuple[list[str], dict[str, str]]:
    """The names of the implementations that can run on this machine, of those chosen, or of all; and why others cannot,
    by name.

    Those that need a GPU take part if `gpu` or if they were chosen. Raises InputError for an unknown name; MachineLacks
    if no GPU can be used although `gpu`, or if none of the chosen can run.
    """
    chosen = list(chosen)
    found = [implementation(name) for name in chosen] or list(implementations(USUAL).values())
    found = [each for each in found if chosen or gpu or GPU not in each.needs]
    absent = {each.name: NO_EDGES for each in found if not each.from_edges}
    found = [each for each in found if each.from_edges]
    if absent and not found:
        raise InputError(f"{next(iter(absent))}: {NO_EDGES}", remedy="'grailbench run' measures it")
    lacking: dict[str, MachineLacks] = {}
    for each in found:
        try:
            each.require()
        except MachineLacks as error:
            lacking[each.name] = error
    on_gpu = [each for each in found if GPU in each.needs]
    for wanted, able in ((chosen, found), (gpu, on_gpu)):
        if wanted and able and all(each.name in lacking for each in able):
            raise lacking[able[0].name]
    if gpu and not on_gpu:
        raise InputError("--gpu: none of the chosen implementations runs on a GPU", remedy="leave --gpu or --impl out")
    names = dict.fromkeys(each.name for each in found if each.name not in lacking)
    return list(names), absent | {name: str(error) for name, error in lacking.items()}


def planned(graph: str, blocks: Iterable[Mapping[str, Any]], **fields) -> Plan:
    """The plan of a round: each block has fields of an experiment of its own, `fields` are those of all."""
    experiments = [Experiment(datasets=[graph], **block, **fields) for block in blocks]
    return make_plan(Config(name=NAME, experiment=experiments))


def configured(cell: Cell) -> dict[str, Any]:
    """The implementation of a cell and its axes, as the fields of an experiment."""
    has = implementation(cell.impl).axes
    own = {axis: getattr(cell, axis) for axis in AXES if axis in has}
    if "filters" in has:
        own["filters"] = cell.filters or "none"
    return {"implementations": [cell.impl]} | {axis: value for axis, value in own.items() if value is not None}
