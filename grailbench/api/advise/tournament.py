"""A tournament of candidates on one graph: rounds of ordinary runs, the last of them in the tournament's own folder.

The first round takes every candidate once, with few pairs, under a tight time limit. If hardly any finishes, those that
ran out of time get more of it. The best few, and those that are the cheapest for some other number of queries, are then
measured with more pairs and many trials. Every answer is verified as in any run. Rounds before the last are runs in
subfolders `round-1`, `round-2`, ...

Candidates are all implementations that can run here, with a few values of their axes. None is known by name: what it
needs and which axes it has say how it is tried.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import numpy as np

from grailbench.api.advise.advice import Option, envelope, options
from grailbench.data.library import BenchGraph
from grailbench.errors import InputError, MachineLacks
from grailbench.graph.condense import condense, load_kernels
from grailbench.graph.csr import Graph
from grailbench.graph.store import require_same
from grailbench.harness import runner
from grailbench.harness.cells import cells
from grailbench.harness.environment import usable_cores
from grailbench.harness.plan import AXES, Config, Experiment, Plan, make_plan
from grailbench.harness.prepare import provide
from grailbench.harness.progress import Watcher
from grailbench.harness.tasks import implementation_of
from grailbench.harness.writer import new_run
from grailbench.problems.contract import USUAL, Checks, implementation, implementations, problem
from grailbench.problems.reachability.pairs import UNKNOWN, as_line, read_pairs
from grailbench.util.guard import guarded
from grailbench.util.outputs import atomic_file
from grailbench.util.words import count

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
FROM_FILES = "it begins with files, not with edges in memory, so its build is another thing"
#: the values of axes that are tried; an implementation takes those that it has, and each cell once
VARIANTS = (
    {"dim": [1, 2, 3], "filters": ["level,tree", "level,tree,hubs"], "order": "lexicographic"},
    {"dim": [2], "filters": ["none"], "order": "lexicographic"},
    {"dim": [2], "filters": ["level,tree,hubs"], "order": "lexicographic", "threads": [1]},
)


@dataclass(frozen=True)
class Entry:
    """What a tournament is about.

    graph            the name of a graph
    queries          how many queries are asked of one build
    pairs            a file of pairs like those that will be asked, '-' for the standard input; None for drawn ones
    implementations  who takes part; empty for all
    gpu              whether implementations on a GPU take part
    memory           the most bytes that the winner may need; None for any
    seconds          about how long it may take, compiling aside
    process          of the cells of the last round: 'own', which measures their memory, or 'shared'
    sha256           of the graph that is meant; None for any of that name
    """

    graph: str
    queries: int
    pairs: str | None = None
    implementations: tuple[str, ...] = ()
    gpu: bool = False
    memory: int | None = None
    seconds: float = 60.0
    process: str = "own"
    sha256: str | None = None


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
    entry: Entry, watching: Callable[[], AbstractContextManager[Watcher]], *, out: str | None = None, fetch: bool = True
) -> Outcome:
    """Hold a tournament in a new folder (`out`, or one in results/runs). `watching` gives the watcher of a round.

    Raises InputError for an unknown graph, one without vertices or wrong pairs, MachineLacks if a GPU is asked for and
    there is none, and the errors of `runner.run`.
    """
    taking = field(entry.implementations, entry.gpu)
    plan = entries(entry.graph, taking.names, queries=[DRAWN[-1]], **ONCE)
    with watching() as watcher:
        provide(plan, fetch, watcher.note)
        pairs = _Pairs(entry)
        watcher.note("loading kernels; the first time they are compiled, for a minute or two")
        _load_kernels(plan)
    limit = max(LEAST_SECONDS * _load(), SHARE * entry.seconds, CONDENSED * pairs.condensing)
    began = monotonic()  # neither fetching nor compiling counts
    folder = new_run(NAME, plan.digest, out)
    few = pairs.of(FIRST_PAIRS, folder)[-1:]
    first = {**ONCE, "queries": few, "trials": FIRST_TRIALS if pairs.edges <= LARGE else 1}
    plan = entries(entry.graph, taking.names, time_limit=limit, **first)
    measured: dict[str, Option] = {}
    for turn in range(1, ROUNDS + 1):
        measured |= {option.name: option for option in _run(plan, watching, folder / f"round-{turn}", entry.seconds)}
        late = [option.worst for option in measured.values() if option.worst.status == "timeout"]
        enough = sum(option.sound for option in measured.values()) >= ENOUGH
        if enough or not late or monotonic() - began > entry.seconds:
            break
        limit *= MORE
        plan = again(entry.graph, late, time_limit=limit, **first)
    chosen = finalists(measured.values(), entry.queries, entry.memory)
    if not chosen:
        return Outcome(folder, "", list(measured.values()), [], taking.absent)
    number, trials = _size(chosen, pairs, max(entry.seconds - (monotonic() - began), entry.seconds / 3))
    plan = again(
        entry.graph, [option.worst for option in chosen], queries=pairs.of(number, folder), count=number,
        trials=trials, process=None if entry.process == "shared" else entry.process, from_edges=True,
        time_limit=max(30.0, entry.seconds),
    )  # fmt: skip
    last = _run(plan, watching, folder, entry.seconds)
    for option in (*measured.values(), *last):
        require_same(option.worst.graph_sha256 or pairs.sha256, pairs.sha256, entry.graph)
    return Outcome(folder, pairs.words(number), list(measured.values()), last, taking.absent)


def _run(plan: Plan, watching, folder: Path, seconds: float) -> list[Option]:
    """One round: a run in a folder."""
    with watching() as watcher:
        done = runner.run(plan, watcher, out=folder, fetch=False, checks=Checks(oracle_seconds=seconds))
    return options(cells(done.rows))


def finalists(found: Iterable[Option], queries: int, memory: int | None = None) -> list[Option]:
    """The options for the last round: the cheapest for so many queries, the cheapest for any other number and, where
    memory counts, the smallest; without those that certainly need more memory."""
    sound = [option for option in found if option.sound and (memory is None or option.memory <= memory)]
    taken: list[Option] = []
    for option in sorted(sound, key=lambda each: each.cost(queries)):
        if len(taken) < FINALISTS and sum(other.impl == option.impl for other in taken) < OF_ONE:
            taken.append(option)
    taken += [step.option for step in envelope(sound)]
    taken += [min(sound, key=lambda option: option.memory)] if sound and memory is not None else []
    return list(dict.fromkeys(taken))


def _load() -> float:
    """How many processes there are for each core, at least 1."""
    return max(1.0, os.getloadavg()[0] / usable_cores())


def _size(chosen: list[Option], pairs: _Pairs, seconds: float) -> tuple[int, int]:
    """The number of pairs and of trials of the last round that take about so many seconds."""
    for number in LAST_PAIRS:
        estimate = pairs.sets * sum(2 * option.build + number * option.query for option in chosen) / 1e3
        passes = int(seconds / estimate) - 2  # one is verified, one warms up
        if passes >= TRIALS[0]:
            break
    return number, int(np.clip(passes, *TRIALS))


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
    """The pairs of an entry, and what is known of its graph: `edges`, `sha256`, and `condensing`, the seconds to
    condense it.

    Raises InputError if the graph has no vertices or is another than is meant, and the errors of `read_pairs`.
    """

    def __init__(self, entry: Entry):
        graph: BenchGraph = problem(USUAL).open(entry.graph)
        require_same(graph.sha256, entry.sha256, entry.graph)
        if graph.dag.component.size == 0:
            raise InputError(f"{entry.graph}: the graph has no vertices, so there is nothing to ask")
        self.edges, self.sha256, self.file, self.size = graph.edges, graph.sha256, entry.pairs, 0
        if self.file is not None:
            self.ids = graph.ids
            self.pairs = read_pairs(self.file, self.ids)
            self.size = self.pairs.sources.size
        load_kernels()
        raw, began = graph.raw, monotonic()
        condense(raw)
        self.condensing = monotonic() - began

    @property
    def sets(self) -> int:
        """The number of query sets of the last round."""
        return len(DRAWN) if self.file is None else 1

    def of(self, most: int, folder: Path) -> list[str]:
        """The query sets of a round, as an experiment takes them. Pairs of the standard input, or of a file of more
        than `most`, are written to a file in the folder: all, or so many, drawn from a seed."""
        if self.file is None:
            return list(DRAWN)
        if self.size <= most and Path(self.file).is_file():
            return [str(Path(self.file).resolve())]
        path = folder / f"pairs-{min(self.size, most)}.txt"
        if not path.exists():
            drawn = np.random.default_rng(1).choice(self.size, min(self.size, most), replace=False)
            with atomic_file(path) as stream:
                stream.writelines(map(self._line, np.sort(drawn)))
        return [str(path)]

    def _line(self, q: int) -> bytes:
        """A pair as a line of a query file."""
        ends = (self.ids.label_of(int(end[q])) for end in (self.pairs.sources, self.pairs.targets))
        answer = () if self.pairs.given[q] == UNKNOWN else (str(self.pairs.given[q]),)
        return as_line((*ends, *answer)).encode()

    def words(self, most: int) -> str:
        """The pairs of a round of `most`: '100,000 random and 100,000 balanced pairs'."""
        if self.file is None:
            return " and ".join(f"{most:,} {name}" for name in DRAWN) + " pairs"
        part = f"{most:,} of the " if self.size > most else ""
        where = "the standard input" if self.file == "-" else self.file
        return f"{part}{count(self.size, 'pair')} of {where}"


# ------------------------------------------------------------------ candidates


class Field(NamedTuple):
    """Who takes part: names of implementations, and why others cannot (by name)."""

    names: list[str]
    absent: dict[str, str]


def field(chosen: Iterable[str] = (), gpu: bool = False) -> Field:
    """The implementations that can run on this machine, of those chosen, or of all.

    Those that need a GPU take part if `gpu` or if they were chosen. Raises InputError for an unknown name; MachineLacks
    if no GPU can be used although `gpu`, or if none of the chosen can run.
    """
    chosen = list(chosen)
    found = [implementation(name) for name in chosen] or list(implementations(USUAL).values())
    found = [each for each in found if chosen or gpu or GPU not in each.needs]
    from_files = [each.name for each in found if not each.from_edges]
    found = [each for each in found if each.from_edges]
    if from_files and not found:
        raise InputError(f"{from_files[0]}: {FROM_FILES}", remedy="'grailbench run' measures it")
    lacking: dict[str, MachineLacks] = {}
    for each in found:
        try:
            each.require()
        except MachineLacks as error:
            lacking[each.name] = error
    for wanted, able in ((chosen, found), (gpu, [each for each in found if GPU in each.needs])):
        if wanted and able and all(each.name in lacking for each in able):
            raise lacking[able[0].name]
    if gpu and not any(GPU in each.needs for each in found):
        raise InputError("--gpu: none of the chosen implementations runs on a GPU", remedy="leave --gpu or --impl out")
    names = [each.name for each in found if each.name not in lacking]
    absent = dict.fromkeys(from_files, FROM_FILES) | {name: str(error) for name, error in lacking.items()}
    return Field(list(dict.fromkeys(names)), absent)


def entries(graph: str, names: Iterable[str], **fields) -> Plan:
    """The plan of the first round: every implementation with its `VARIANTS`. `fields` are those of an experiment."""
    names = list(names)
    blocks = [Experiment(datasets=[graph], implementations=names, **variant, **fields) for variant in VARIANTS]
    return make_plan(Config(name=NAME, experiment=blocks))


def again(graph: str, cells: Iterable, **fields) -> Plan:
    """The plan of a later round: the configurations of some cells, planned or measured, each once."""
    blocks: dict[tuple, Experiment] = {}
    for cell in cells:
        own = {axis: value for axis in AXES if (value := _value(cell, axis)) is not None}
        blocks.setdefault(
            (cell.impl, *own.items()), Experiment(datasets=[graph], implementations=[cell.impl], **own, **fields)
        )
    return make_plan(Config(name=NAME, experiment=list(blocks.values())))


def _value(cell, axis: str):
    """The value of an axis of a cell as an experiment takes it; None if the cell's implementation lacks the axis."""
    if axis not in implementation(cell.impl).axes:
        return None
    value = getattr(cell, axis)
    return "none" if axis == "filters" and not value else value
