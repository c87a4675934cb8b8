"""Executing a plan: each graph's cells verified, warmed up, then timed in interleaved trials; rows on disk at
once.

Trials are the outer loop and cells the inner one, in an order shuffled anew for each trial, so that a machine
that drifts moves all cells alike. The garbage collector rests while a phase is timed, and an index is dropped
as soon as its trial ends: graphs may have 25 million vertices. What a cell does is in `passes`; it does it in this
process or, where the plan says so, in one of its own (`processes`).
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Protocol

import numpy as np

from grailbench import device, paths
from grailbench.bench import passes, provenance
from grailbench.bench.passes import Measured
from grailbench.bench.plan import Cell, Plan
from grailbench.bench.processes import CellProcess, GraphProcess
from grailbench.bench.provide import provide
from grailbench.bench.resume import require_same
from grailbench.contract import Checks, Input, Problem, Verdict, Workload, implementation, problem
from grailbench.errors import CheckFailed, GrailbenchError, InputError, MachineLacks, NothingMeasured
from grailbench.graph.csr import Graph
from grailbench.guard import Outcome, guarded, prompt_interrupts
from grailbench.runs import cells as measured
from grailbench.runs import environment as machine
from grailbench.runs import folder as results
from grailbench.runs.rows import FIELDS, FORMAT, MEMORY, SOUND, cell_of
from grailbench.words import count

PATIENT = 2_000  #: pairs that a simulated GPU answers on a graph of some thousand vertices in about half a minute


class Watcher(Protocol):
    """Who is told how a run goes. None of it is called while something is timed."""

    def note(self, text: str) -> None: ...

    def began(self, folder: Path, plan: Plan, steps: int) -> None: ...

    def opened(self, graph: Input, cells: int) -> None: ...

    def answered(self, graph: Input, checkers: dict[str, Workload], cells: list[Cell]) -> None: ...

    def timed(self, graph: Input) -> None: ...

    def step(self, cell: Cell, doing: str, steps: int = 1) -> None: ...

    def trouble(self, cell: Cell, status: str, reason: str) -> None: ...

    def rows(self, rows: list[dict]) -> None: ...


@dataclass
class Task:
    """A cell on its way: its key, what is left of its trials and of its time, what verification gave, and its process,
    when it has one of its own."""

    cell: Cell
    key: str
    done: frozenset[int] = frozenset()
    spent: float = 0.0
    verdict: Verdict | None = None
    over: bool = False
    home: CellProcess | None = None

    @property
    def left(self) -> float | None:
        """Seconds that the cell may still take; None without a limit."""
        return None if self.cell.time_limit is None else self.cell.time_limit - self.spent


class Interrupted(GrailbenchError):
    """Ctrl-C, or a polite kill; the message says where the finished trials are."""

    exit_code = 130


@dataclass(frozen=True)
class Finished:
    """A run that came to its end: the plan as it was executed, look-alikes in place, and all rows that count."""

    folder: Path | None
    plan: Plan
    rows: list[dict]
    lacking: str | None = None

    @property
    def statuses(self) -> Counter:
        """Number of cells by status."""
        return Counter(cell.status for cell in measured.cells(self.rows))

    def check(self) -> None:
        """Raise CheckFailed for a wrong or failed cell, NothingMeasured or MachineLacks without any time."""
        counts = self.statuses
        bad = [f"{counts[status]} {status}" for status in ("wrong", "failed") if counts[status]]
        if bad:
            raise CheckFailed(f"cells without times: {', '.join(bad)}; see the reasons above")
        if not any(counts[status] for status in SOUND):
            if self.lacking:
                raise MachineLacks(self.lacking)
            raise NothingMeasured("no cell could be measured; see the reasons above")


def run(
    plan: Plan,
    watcher: Watcher,
    *,
    out: str | os.PathLike | None = None,
    resume: Path | None = None,
    fetch: bool = True,
    checks: Checks = Checks(),  # noqa: B008 - frozen
    open_graph: Callable[[str], Input] | None = None,
) -> Finished:
    """Execute a plan in a new folder (`out`, or one of results/runs), or continue the run in `resume`, which was begun
    with the same plan, but for more trials now; nothing in it changes before there is a row to add.

    Raises Interrupted after Ctrl-C, when what was finished is on disk, and InputError for a folder that cannot be
    used, a run that another process is at, or a bad query file. Raises MachineLacks, before anything starts, when the
    machine can run no implementation of the plan, or the simulator is on, which has no times.
    """
    _require(plan)
    if device.simulating() and any(map(_on_gpu, plan.cells)):
        raise MachineLacks("NUMBA_ENABLE_CUDASIM is set: the simulator has no times (unset it, or give --simulate)")
    if (target := resume or out) is not None and provenance.is_recorded(Path(target)):
        remedy = "--out elsewhere, then 'grailbench record'"
        raise InputError("a run is not measured among the recorded ones", path=target, remedy=remedy)
    folder = resume if resume is not None else results.new_run(plan.name, plan.digest, out)
    with results.only_writer(folder):
        return _run(plan, watcher, folder, fetch, checks, open_graph)


def _run(plan: Plan, watcher: Watcher, folder: Path, fetch: bool, checks: Checks, open_graph) -> Finished:
    known = (folder / results.PLAN).exists()
    same = require_same(folder, plan) if known else False
    prior, damage = results.repair(folder)
    if damage.torn or damage.rows:
        watcher.note(f"{folder / results.ROWS}: the last trial was cut short and is taken again")
    env, record = _recorder(folder, plan, same)
    if not known:
        record()
    sitting = _Sitting(folder, env, prior, watcher, checks, open_graph, record)
    try:
        with prompt_interrupts(_last_words(sitting.writer, folder)):
            settled = provide(plan, fetch, watcher.note)
            watcher.began(folder, settled, sum(_steps(cell) for cell in settled.cells))
            if load := machine.busy(env):
                watcher.note(f"{load}: other work disturbs the times")
            _note_threads(settled, env["cores"], watcher)
            for solved, name, cells in settled.sittings():
                sitting.graph(problem(solved), name, cells)
    except KeyboardInterrupt:
        raise Interrupted(interrupted(folder)) from None
    finally:
        gc.unfreeze()
        sitting.writer.close()
    if known and not sitting.new:
        watcher.note("already complete: this run has every trial of its plan")
    if sitting.outdated:
        watcher.note(f"{sitting.outdated} cells had rows of other code or another machine and were taken anew")
    return Finished(folder, settled, results.current(prior + sitting.new), sitting.lacking)


def verify(
    plan: Plan,
    watcher: Watcher,
    *,
    fetch: bool = True,
    checks: Checks = Checks(),  # noqa: B008 - frozen
    open_graph: Callable[[str], Input] | None = None,
    simulate: bool = False,
) -> Finished:
    """Verify every cell of a plan and time none; one row a cell, nothing is written. Raises as `run` does.

    `simulate` runs kernels in numba's simulator.
    """
    if simulate:
        device.simulate()
    _require(plan)
    env = machine.environment()
    env["fingerprint"] = machine.fingerprint(env)
    if simulate and (warning := _patience(plan)):
        watcher.note(warning)
    settled = provide(plan, fetch, watcher.note)
    sitting = _Sitting(None, env, [], watcher, checks, open_graph)
    watcher.began(None, settled, len(settled.cells))
    _note_threads(settled, env["cores"], watcher)
    for solved, name, cells in settled.sittings():
        sitting.graph(problem(solved), name, cells)
    return Finished(None, settled, sitting.new, sitting.lacking)


def _require(plan: Plan) -> None:
    """Raise MachineLacks when each implementation of the plan lacks something here; one that runs is enough."""
    lacking: MachineLacks | None = None
    for found in dict.fromkeys(_implementation(cell) for cell in plan.cells):
        try:
            found.require()
        except MachineLacks as error:
            lacking = lacking or error
        else:
            return
    if lacking is not None:
        raise lacking


def _note_threads(plan: Plan, cores: int, watcher: Watcher) -> None:
    """Say which cells have more threads than this process may use cores."""
    many = sorted({cell.threads for cell in plan.cells if (cell.threads or 0) > cores})
    if many:
        threads = " and ".join(f"{count:,}" for count in many)
        watcher.note(f"{threads} threads on {count(cores, 'core')}: they wait for one another")


def _patience(plan: Plan) -> str | None:
    """What to say of a plan that will keep the simulator busy for long."""
    asked = [cell.queries.count for cell in plan.cells if cell.queries.kind != "all" and _on_gpu(cell)]
    if max(asked, default=0) <= PATIENT:
        return None
    return f"the simulator may need an hour for {max(asked):,} queries: --count 1000 is over in a minute"


def _implementation(cell: Cell) -> type:
    return implementation(cell.impl, cell.problem)


def _on_gpu(cell: Cell) -> bool:
    return "gpu" in _implementation(cell).needs


def _steps(cell: Cell) -> int:
    return 1 + cell.warmup + cell.trials


def spoken(folder: Path) -> str:
    """What commands call a run: its name when it lies in results/runs, else its folder."""
    return folder.name if folder.resolve().parent == paths.runs_dir().resolve() else str(folder)


def interrupted(folder: Path) -> str:
    """What to tell the user after an interrupt."""
    return f"interrupted: finished trials are kept in {folder}\ngo on with: grailbench run --resume={spoken(folder)}"


def _last_words(writer: results.Writer, folder: Path) -> Callable[[], None]:
    def speak():
        writer.sync()
        os.write(2, f"\n{interrupted(folder)}\n".encode())

    return speak


def _recorder(folder: Path, plan: Plan, same: bool) -> tuple[dict, Callable[[], None]]:
    """The environment, and what writes it and, unless the run has the `same` one, the plan; environments of earlier
    sittings are kept where they differ."""
    env = machine.environment()
    env |= {"fingerprint": machine.fingerprint(env), "at": results.now()}
    path = folder / results.ENVIRONMENT
    if path.exists():
        before = results.read_environment(folder)
        env["earlier"] = before.pop("earlier", [])
        if [before.get(name) for name in ("fingerprint", "code")] != [env["fingerprint"], env["code"]]:
            env["earlier"].append(before)
    stored = {
        "format": FORMAT if results.has_sums(folder) else 1,
        "run": folder.name,
        "name": plan.name,
        "digest": plan.digest,
        "config": plan.config.model_dump(),
        "cells": [cell.record() for cell in plan.cells],
    }

    def write() -> None:
        results.write_json(path, env)
        if not same:
            results.write_json(folder / results.PLAN, stored)

    return env, write


def cell_key(cell: Cell, graph_sha256: str | None, env: dict) -> str:
    """16 hex digits: configuration, graph, code and machine. Rows of one key may be put together."""
    code = (env["code"], machine.source_hash(_implementation(cell)))
    text = json.dumps([cell.identity(), graph_sha256, code, env["fingerprint"]], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class _Sitting:
    """One go at a run: what it was given, the rows it adds."""

    def __init__(self, folder: Path | None, env: dict, prior: list[dict], watcher: Watcher, checks: Checks, open_graph,
                 record: Callable[[], None] = lambda: None):  # fmt: skip
        """record: called before the first row is written."""
        self.folder, self.env, self.watcher, self.checks, self.record = folder, env, watcher, checks, record
        self.open_graph = open_graph
        self.finished, self.settled = results.finished(prior), results.settled(prior)
        self.before, self.keys = {cell_of(row) for row in prior}, {row["key"] for row in prior}
        self.outdated = 0
        self.writer = results.Writer(folder) if folder is not None else None
        self.new: list[dict] = []
        self.lacking: str | None = None
        self.data: dict = {}  # of the graph at hand, by workload: what implementations are given

    @property
    def timing(self) -> bool:
        """False when cells are only verified, and nothing is kept."""
        return self.writer is not None

    def graph(self, solved: Problem, name: str, cells: list[Cell]) -> None:
        """All cells of one problem on one graph."""
        self.data.clear()
        outcome = guarded(lambda: (self.open_graph or solved.open)(name))
        if outcome.status != "ok":
            status = outcome.status if outcome.trace or outcome.status != "failed" else "skipped"
            self.watcher.note(f"  {status.upper()}: {name}, all {len(cells)} cells: {outcome.reason}")
            for cell in cells:
                task = Task(cell, cell_key(cell, None, self.env))
                self._give_up(task, replace(outcome, status=status), None)
            return
        graph: Input = outcome.value
        tasks = self._tasks(cells, graph)
        if not tasks:
            return
        self.watcher.opened(graph, len(tasks))
        checkers, tasks = self._checkers(solved, graph, tasks)
        with self._homes(graph, checkers, tasks):
            self._verify(graph, checkers, tasks)
            self.watcher.answered(graph, checkers, [task.cell for task in tasks if not task.over])
            if not self.timing:
                sound = [self._verified_row(task, graph, checkers) for task in tasks if not task.over]
                self._append([row | {"planned": None} for row in sound])
                return
            edges = self._edges(graph, tasks)
            self._warm_up(graph, checkers, tasks, edges)
            passes.settle()
            self._trials(graph, checkers, tasks, edges)
            self.watcher.timed(graph)

    @contextmanager
    def _homes(self, graph: Input, checkers: dict[str, Workload], tasks: list[Task]):
        """Processes of their own for the cells that ask for one, as long as the block lasts."""
        own = [task for task in tasks if task.cell.process == "own" and not task.over]
        if not own:
            yield
            return
        classes = list({_implementation(task.cell): None for task in own})
        specs = {task.cell.queries.name: task.cell.queries for task in own}
        workloads = {name: (spec, checkers[name].asked) for name, spec in specs.items()}
        outcome = guarded(lambda: GraphProcess(own[0].cell.problem, graph.name, graph.sha256, classes, workloads))
        for task in own if outcome.status != "ok" else ():
            self._give_up(task, outcome, graph)
        try:
            for task in own if outcome.status == "ok" else ():
                task.home = outcome.value.begin(task.cell)
            yield
        finally:
            if outcome.status == "ok":
                outcome.value.close()

    def _tasks(self, cells: list[Cell], graph: Input) -> list[Task]:
        """The cells that still have something to do."""
        tasks = []
        for cell in cells:
            key = cell_key(cell, graph.sha256, self.env)
            self.outdated += cell_of(cell.columns()) in self.before and key not in self.keys
            done = frozenset(self.finished.get(key, set()) & set(range(cell.trials)))
            if len(done) == cell.trials or key in self.settled:
                self.watcher.step(cell, "done before", _steps(cell))
            else:
                tasks.append(Task(cell, key, done))
                if done:
                    self.watcher.step(cell, "done before", len(done))
        return tasks

    def _checkers(self, solved: Problem, graph: Input, tasks: list[Task]) -> tuple[dict[str, Workload], list[Task]]:
        """The workload of each query set, and the tasks whose query set could be had."""
        checkers: dict[str, Workload] = {}

        def made(spec) -> Workload:
            self.data[spec.name] = solved.data(graph, spec)
            return solved.workload(spec, graph, self.data[spec.name], self.checks)

        for spec in dict.fromkeys(task.cell.queries for task in tasks):
            outcome = guarded(lambda spec=spec: made(spec))
            if outcome.status == "ok":
                checkers[spec.name] = outcome.value
            elif spec.kind == "file":
                raise InputError(f"on {graph.name}: {outcome.reason}")
            for task in tasks if outcome.status != "ok" else ():
                if task.cell.queries == spec:
                    self._give_up(task, outcome, graph)
        return checkers, [task for task in tasks if not task.over]

    def _verify(self, graph: Input, checkers: dict[str, Workload], tasks: list[Task]) -> None:
        """Build and answer once each; whoever is wrong, by oracle, labels or agreement, is not timed."""
        ahead = self._attempts_at_once(graph, checkers, tasks)
        for task in tasks:
            if task.over:
                continue
            self.watcher.step(task.cell, "verifying", 0)
            outcome = ahead[task.key].result() if task.key in ahead else self._attempt(task, graph, checkers)
            self.watcher.step(task.cell, "verified")
            if outcome.status == "ok":
                checker, attempt = checkers[task.cell.queries.name], outcome.value
                outcome = guarded(lambda task=task, c=checker, a=attempt: c.judge(task.key, a))
            if outcome.status != "ok":
                self._give_up(task, outcome, graph)
                continue
            task.verdict = outcome.value
            if task.verdict.fault:
                self._give_up(task, Outcome("wrong", task.verdict.fault), graph)
        for checker in checkers.values():
            faults = checker.settle()
            for task in tasks:
                if not task.over and task.key in faults:
                    self._give_up(task, Outcome("wrong", faults[task.key]), graph)

    def _edges(self, graph: Input, tasks: list[Task]) -> Graph | None:
        """The raw edges, when a cell is timed from them."""
        asking = [task for task in tasks if task.cell.from_edges and not task.over and task.home is None]
        if not asking:
            return None
        outcome = guarded(lambda: graph.raw)
        for task in asking if outcome.status != "ok" else ():
            self._give_up(task, outcome, graph)
        return outcome.value

    def _warm_up(self, graph, checkers, tasks: list[Task], edges: Graph | None) -> None:
        for task in tasks:
            if not task.over and not task.cell.warmup and task.home is None:
                # the verified pass ran kernels that count; those that are timed are others, on the CPU too
                guarded(lambda task=task: passes.prime(task.cell))
        for turn in range(max((task.cell.warmup for task in tasks), default=0)):
            for task in tasks:
                if task.over or turn >= task.cell.warmup:
                    continue
                self.watcher.step(task.cell, "warming up", 0)
                outcome = self._measure(task, graph, checkers, edges)
                self.watcher.step(task.cell, "warming up")
                if outcome.status != "ok":
                    self._give_up(task, outcome, graph)

    def _trials(self, graph, checkers, tasks: list[Task], edges: Graph | None) -> None:
        for trial in range(max((task.cell.trials for task in tasks), default=0)):
            turn = [t for t in tasks if not t.over and trial < t.cell.trials and trial not in t.done]
            if not turn:
                continue
            order = np.random.default_rng((turn[0].cell.seed, trial)).permutation(len(turn))
            for task in (turn[place] for place in order):
                doing = f"trial {trial + 1} of {task.cell.trials}"
                self.watcher.step(task.cell, doing, 0)
                outcome = self._measure(task, graph, checkers, edges)
                self.watcher.step(task.cell, doing)
                if outcome.status != "ok":
                    self._give_up(task, outcome, graph)
                elif outcome.value.checksum != task.verdict.checksum:
                    reason = f"trial {trial}: answers differ from the verified ones"
                    self._give_up(task, Outcome("wrong", reason), graph)
                else:
                    self._append(self._trial_rows(task, trial, outcome.value, graph, checkers))

    def _attempts_at_once(self, graph: Input, checkers: dict[str, Workload], tasks: list[Task]) -> dict[str, Future]:
        """The passes to be verified of cells in processes of their own, by key, as many at once as `checks.jobs`."""
        able = [task for task in tasks if task.home is not None and not task.over]
        if self.checks.jobs == 1 or len(able) < 2:
            return {}
        ahead = {}
        for jobs, some in (
            (1, [task for task in able if _on_gpu(task.cell)]),
            (self.checks.jobs, [task for task in able if not _on_gpu(task.cell)]),
        ):
            pool = ThreadPoolExecutor(jobs, thread_name_prefix="grailbench-verify")
            ahead |= {task.key: pool.submit(self._attempt, task, graph, checkers) for task in some}
            pool.shutdown(wait=False)
        return ahead

    def _attempt(self, task: Task, graph: Input, checkers: dict[str, Workload]) -> Outcome:
        """The pass that is verified, wherever the cell lives; its value is a `contract.Attempt`."""
        name = task.cell.queries.name
        return self._pass(task, "attempt", lambda: passes.attempt(task.cell, self.data[name], checkers[name].asked))

    def _measure(self, task: Task, graph: Input, checkers: dict[str, Workload], edges: Graph | None) -> Outcome:
        """A timed pass, wherever the cell lives; its value is a `passes.Measured`."""
        name = task.cell.queries.name
        return self._pass(
            task, "measure", lambda: passes.measure(task.cell, self.data[name], checkers[name].asked, edges)
        )

    def _pass(self, task: Task, what: str, here: Callable[[], object]) -> Outcome:
        began = monotonic()
        outcome = guarded(here, task.left) if task.home is None else task.home.ask(what, task.left)
        task.spent += monotonic() - began
        return outcome

    def _give_up(self, task: Task, outcome: Outcome, graph: Input | None) -> None:
        """End a cell with one row that says why it has no (more) times."""
        task.over = True
        if task.home is not None:
            task.home.close()
        if outcome.status == "skipped" and graph is not None:
            self.lacking = self.lacking or outcome.reason
        if outcome.trace and self.folder is not None:
            with open(self.folder / "errors.txt", "a", encoding="utf-8") as log:
                log.write(f"{task.cell.dataset}: {task.cell.label()}\n{outcome.trace}\n")
        reason = outcome.reason
        if outcome.status == "timeout":
            reason += f" ({task.cell.time_limit:g} s)"
        row = self._row(task, graph)
        row |= {"status": outcome.status, "reason": reason}
        if outcome.status == "wrong" and task.verdict is not None and task.verdict.errors:
            row["counters"] = task.verdict.errors
        self._append([row])
        if graph is not None:
            self.watcher.trouble(task.cell, outcome.status, reason)

    def _append(self, rows: list[dict]) -> None:
        if self.writer is not None:
            if not self.new:
                self.record()
            self.writer.append(rows)
        self.new += rows
        self.watcher.rows(rows)

    def _row(self, task: Task, graph: Input | None) -> dict:
        row = dict.fromkeys(FIELDS)
        row |= task.cell.columns()
        row |= {
            "run": self.folder.name if self.folder is not None else None,
            "stands_for": task.cell.stands_for,
            "planned": task.cell.trials,
            "under": "",
            "status": "ok",
            "key": task.key,
            "at": results.now(),
        }
        if graph is not None:
            row |= {
                "kind": graph.kind,
                "graph_sha256": graph.sha256,
                "vertices": graph.vertices,
                "edges": graph.edges,
                "roots": graph.roots,
            }
        if task.home is not None:
            row["read_ms"] = round(task.home.read_ms, 6)
        return row

    def _verified_row(self, task: Task, graph: Input, checkers: dict[str, Workload]) -> dict:
        checker = checkers[task.cell.queries.name]
        return self._row(task, graph) | {
            "positives": task.verdict.positives,
            "queries": checker.size,
            "verified": checker.method,
            "checksum": task.verdict.checksum,
            "index_bytes": task.verdict.index_bytes,
            "counters": task.verdict.counters or None,
            **task.verdict.memory,
            **({} if task.home is not None else {"host_peak_bytes": None}),  # a shared process's is no cell's
        }

    def _trial_rows(self, task, trial: int, measured: Measured, graph, checkers) -> list[dict]:
        """One row a phase, the problem's last one last; that one carries the rate, and the cell's counters."""
        base = self._verified_row(task, graph, checkers) | {"trial": trial}
        last = ("", problem(task.cell.problem).phases[-1])
        phases = [*(phase for phase in measured.phases if phase != last), last]
        return [
            base
            | {"under": under, "phase": phase, "ms": round(measured.phases[under, phase], 6)}
            | ({"rate": measured.rate} if (under, phase) == last else dict.fromkeys(("counters", *MEMORY)))
            for under, phase in phases
        ]
