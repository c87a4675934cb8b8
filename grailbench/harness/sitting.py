"""A sitting, one execution of a run: the cells of each graph are verified, warmed up and timed in interleaved trials.

Trials are the outer loop and cells the inner loop, shuffled for each trial, so that a drift of the machine affects all
cells alike. The garbage collector is off while a phase is timed, and an index is freed when its trial ends, because
graphs may have 25 million vertices. `passes` has the passes of a cell, which are made in this process or, if the plan
says so or the graph is large (`LARGE`), in the cell's own process (`processes`). A cell on a GPU that another one lost
to this process goes on in a process of its own (`rescue`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import Graph
from grailbench.harness import passes
from grailbench.harness.plan import Cell, Plan
from grailbench.harness.processes import LARGE, GraphProcess
from grailbench.harness.rescue import Rescue
from grailbench.harness.rows import MEMORY, cell_of
from grailbench.harness.tasks import (
    Task,
    cell_key,
    implementation_of,
    new_row,
    on_gpu,
    steps,
    trial_rows,
    verified_row,
)
from grailbench.harness.writer import finished, given_up
from grailbench.problems.contract import Checks, Input, Problem, Workload, problem
from grailbench.util.guard import Outcome, guarded

LARGE_SECONDS = 240.0  #: the time limit on large graphs if the plan has none: a billion edges are searched for hours
Answered = Callable[[Workload, Any], None]  #: is called with a workload and the answers to it


class Watcher(Protocol):
    """Is called with the progress of a run, but never while a phase is timed."""

    def note(self, text: str) -> None: ...
    def began(self, folder: Path, plan: Plan, steps: int) -> None: ...
    def opened(self, graph: Input, cells: int) -> None: ...
    def answered(self, graph: Input, checkers: dict[str, Workload], cells: list[Cell]) -> None: ...
    def timed(self, graph: Input) -> None: ...
    def step(self, cell: Cell, doing: str, steps: int = 1) -> None: ...
    def trouble(self, cell: Cell, status: str, reason: str) -> None: ...
    def rows(self, rows: list[dict]) -> None: ...


class Sink(Protocol):
    """Where the rows of a run go: `writer.Writer`, or what hands them to the process that has one.

    name  of the run
    """

    name: str

    def append(self, rows: list[dict]) -> None:
        """Keep the rows of one trial, or the one row of a cell without times."""

    def explain(self, text: str) -> None:
        """Keep a traceback for people."""


@dataclass
class Opened:
    """A graph that was opened, and by query set what implementations get of it (`data`) and its workload, if they were
    made."""

    problem: str
    graph: Input
    data: dict[str, Any] = field(default_factory=dict)
    checkers: dict[str, Workload] = field(default_factory=dict)


class Sitting:
    """One execution of a run, from the start or continued, and the rows that it adds."""

    def __init__(self, sink: Sink | None, env: dict, prior: list[dict], watcher: Watcher, checks: Checks,
                 open_graph=None, record: Callable[[], None] = lambda: None, answered: Answered | None = None,
                 opened: Opened | None = None, others: Iterable[Mapping] = ()):  # fmt: skip
        """sink: None if cells are only verified. record: called before the first row is written. answered: called once,
        with the answers of the first cell that is verified as right. opened: a graph that need not be opened again.
        others: environments of the run besides `env`; a cell that is complete in one of them stands."""
        self.sink, self.env, self.watcher, self.checks, self.record = sink, env, watcher, checks, record
        self.open_graph, self.answered, self.opened = open_graph, answered, opened
        self.others = [other for other in others if other.get("code") == env["code"]]
        self.prior, self.finished, self.given_up = prior, finished(prior), given_up(prior)
        self.before, self.keys = {cell_of(row) for row in prior}, {row["key"] for row in prior}
        self.weighed = {row["key"] for row in prior if row.get("energy")}
        self.primed: set[tuple] = set()  # configurations on the CPU whose kernels this process has
        self.outdated = 0
        self.new: list[dict] = []
        self.lacking: str | None = None
        self.lost: dict[tuple, Outcome] = {}  # what ran out of time or memory, by `Task.alike`
        self.rescue: Rescue | None = None  # for the cells of the graph that is open

    @property
    def name(self) -> str | None:
        """The name of the run in its rows; None when nothing is written."""
        return None if self.sink is None else self.sink.name

    @property
    def timing(self) -> bool:
        """False when cells are only verified and nothing is written."""
        return self.sink is not None

    @property
    def data(self) -> dict[str, Any]:
        """What implementations get of the current graph, by query set."""
        return self.opened.data

    def graph(self, solved: Problem, name: str, cells: list[Cell]) -> None:
        """Run all cells of one problem on one graph."""
        outcome = self.open(solved, name)
        if outcome.status != "ok":
            status = outcome.status if outcome.trace or outcome.status != "failed" else "skipped"
            self.watcher.note(f"  {status.upper()}: {name}, all {len(cells)} cells: {outcome.reason}")
            for cell in cells:
                task = Task(cell, cell_key(cell, None, self.env))
                self._give_up(task, replace(outcome, status=status), None)
            return
        graph = self.opened.graph
        tasks = self._tasks(cells, graph)
        if not tasks:
            return
        self.watcher.opened(graph, len(tasks))
        if any(task.cell.process == "own" for task in tasks) and graph.edges >= LARGE:
            limits = " and ".join(sorted({f"{task.cell.time_limit:g} s" for task in tasks}))
            self.watcher.note(
                f"  a large graph: each cell in a process of its own, for {limits} at most (--time-limit)"
            )
        checkers, tasks = self._checkers(solved, graph, tasks)
        with (
            self._own_processes(graph, checkers, tasks),
            Rescue(graph, checkers, tasks, self.watcher.note) as self.rescue,
        ):
            self._verify(graph, checkers, tasks)
            self.watcher.answered(graph, checkers, [task.cell for task in tasks if not task.over])
            if not self.timing:
                rows = [verified_row(t, self.name, graph, checkers[t.cell.queries.name]) for t in tasks if not t.over]
                self.append([row | {"planned": None} for row in rows])
                return
            edges = self._edges(graph, tasks)
            passes.freeze(first=True)
            self._warm_up(graph, checkers, tasks, edges)
            passes.freeze(first=False)
            self._trials(graph, checkers, tasks, edges)
            self._energies(graph, checkers, tasks, edges)
            self.watcher.timed(graph)

    def open(self, solved: Problem, name: str) -> Outcome:
        """Open a graph in the form that a problem takes, unless it is the one that is open."""
        if self.opened is not None and (self.opened.problem, self.opened.graph.name) == (solved.name, name):
            return Outcome("ok")
        self.opened = None  # its memory is needed
        outcome = guarded(lambda: (self.open_graph or solved.open)(name))
        if outcome.status == "ok":
            self.opened = Opened(solved.name, outcome.value)
        return outcome

    @contextmanager
    def _own_processes(self, graph: Input, checkers: dict[str, Workload], tasks: list[Task]):
        """Start a process for each cell whose plan says 'own'; they are ended at the end of the block."""
        own = [task for task in tasks if task.cell.process == "own" and not task.over]
        if not own:
            yield
            return
        classes = list({implementation_of(task.cell): None for task in own})
        specs = {task.cell.queries.name: task.cell.queries for task in own}
        workloads = {name: (spec, checkers[name].asked) for name, spec in specs.items()}
        outcome = guarded(lambda: GraphProcess(own[0].cell.problem, graph.name, graph.sha256, classes, workloads))
        if outcome.status != "ok":
            self._give_up_all(own, outcome, graph)
            yield
            return
        try:
            for task in own:
                begun = guarded(lambda task=task: outcome.value.begin(task.cell))
                task.process = begun.value
                if begun.status != "ok":
                    self._give_up(task, begun, graph)
            yield
        finally:
            outcome.value.close()

    def _tasks(self, cells: list[Cell], graph: Input) -> list[Task]:
        """The cells that still need passes."""
        tasks = []
        for planned in cells:
            cell = self._bounded(planned) if graph.edges >= LARGE else planned
            key = cell_key(cell, graph.sha256, self.env)
            if self.is_over(cell, graph.sha256):
                self.watcher.step(cell, "done before", steps(cell))
            else:
                self.outdated += cell_of(cell.columns()) in self.before and key not in self.keys
                done = self._done(cell, key)
                tasks.append(Task(cell, key, done))
                if cell.warmup < planned.warmup:
                    self.watcher.step(cell, "without a warm-up", planned.warmup - cell.warmup)
                if done:
                    self.watcher.step(cell, "done before", len(done))
        return tasks

    def is_over(self, cell: Cell, sha256: str) -> bool:
        """Whether a cell on the graph with this checksum needs no more passes: it is complete, here or in one of the
        other environments, or it was given up here and would be again."""
        key, *others = (cell_key(cell, sha256, env) for env in (self.env, *self.others))
        return key in self.given_up or any(self._complete(cell, each) for each in (key, *others))

    def _complete(self, cell: Cell, key: str) -> bool:
        return len(self._done(cell, key)) == cell.trials and (key in self.weighed or not cell.energy)

    def _done(self, cell: Cell, key: str) -> frozenset[int]:
        """The numbers of the finished trials of a cell."""
        return frozenset(self.finished.get(key, set()) & set(range(cell.trials)))

    def _bounded(self, cell: Cell) -> Cell:
        """The cell of a large graph, in a process of its own, which loads its kernels first and is warm when it was
        verified, with a time limit, and asked as much as its problem thinks fit. A cell that is only verified, or whose
        graph has no name that another process could open, stays as it is."""
        if not self.timing or self.open_graph is not None:
            return cell
        asked = problem(cell.problem).part(cell.queries, implementation_of(cell), large=True)
        return replace(cell, queries=asked, process="own", warmup=0, time_limit=cell.time_limit or LARGE_SECONDS)

    def _checkers(self, solved: Problem, graph: Input, tasks: list[Task]) -> tuple[dict[str, Workload], list[Task]]:
        """The workload of each query set, and the tasks whose workload could be made. The others are given up.

        Raises InputError when a file of queries is wrong.
        """
        kept, checkers = self.opened.checkers, {}

        def made(spec) -> Workload:
            if spec.name not in kept:
                self.data[spec.name] = solved.data(graph, spec)
                kept[spec.name] = solved.workload(spec, graph, self.data[spec.name], self.checks)
            return kept[spec.name]

        for spec in dict.fromkeys(task.cell.queries for task in tasks):
            outcome = guarded(lambda spec=spec: made(spec))
            if outcome.status == "ok":
                checkers[spec.name] = outcome.value
            elif spec.kind == "file":
                raise InputError(f"on {graph.name}: {outcome.reason}")
            else:
                self._give_up_all([task for task in tasks if task.cell.queries == spec], outcome, graph)
        return checkers, [task for task in tasks if not task.over]

    def _verify(self, graph: Input, checkers: dict[str, Workload], tasks: list[Task]) -> None:
        """Make and judge one pass of each cell. Cells with wrong labels, wrong answers or other answers than the rest
        are not timed."""
        ahead, kept = self._attempts_at_once(checkers, tasks), None
        for task in tasks:
            if task.over:
                continue
            self.watcher.step(task.cell, "verifying", 0)
            outcome = ahead[task.key].result() if task.key in ahead else self._attempt(task, checkers)
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
            elif self.answered is not None and kept is None and task.verdict.method is None:  # else a number alone
                kept = task, checker, attempt.answers
        for checker in checkers.values():
            faults = checker.compare()
            for task in tasks:
                if not task.over and task.key in faults:
                    self._give_up(task, Outcome("wrong", faults[task.key]), graph)
        if kept is not None and not kept[0].over:
            self.answered(*kept[1:])
            self.answered = None

    def _edges(self, graph: Input, tasks: list[Task]) -> Graph | None:
        """The raw edges of the graph if a cell in this process is timed from edges, else None."""
        asking = [task for task in tasks if task.cell.from_edges and not task.over and task.process is None]
        if not asking:
            return None
        outcome = guarded(lambda: graph.raw)
        if outcome.status != "ok":
            self._give_up_all(asking, outcome, graph)
        return outcome.value

    def _warm_up(self, graph, checkers, tasks: list[Task], edges: Graph | None) -> None:
        for task in tasks:
            if not task.over and not task.cell.warmup and task.process is None:
                # the verified pass ran other kernels than the timed ones: kernels with counters
                way = (task.cell.problem, task.cell.impl, repr(task.cell.params), task.cell.from_edges)
                if way not in self.primed and guarded(lambda task=task: passes.prime(task.cell)).status == "ok":
                    self.primed |= set() if on_gpu(task.cell) else {way}
        for turn in range(max((task.cell.warmup for task in tasks), default=0)):
            for task in tasks:
                if task.over or turn >= task.cell.warmup:
                    continue
                self.watcher.step(task.cell, "warming up", 0)
                outcome = self._measure(task, checkers, edges)
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
                outcome = self._measure(task, checkers, edges)
                self.watcher.step(task.cell, doing)
                if outcome.status != "ok":
                    self._give_up(task, outcome, graph)
                elif outcome.value.checksum != task.verdict.checksum:
                    reason = f"trial {trial}: answers differ from the verified ones"
                    self._give_up(task, Outcome("wrong", reason), graph)
                else:
                    checker = checkers[task.cell.queries.name]
                    self.append(trial_rows(task, self.name, graph, checker, trial, outcome.value))

    def _energies(self, graph, checkers: dict[str, Workload], tasks: list[Task], edges: Graph | None) -> None:
        """Measure the energy of cells of which it was asked, once all cells were timed, and add a row of it to each.
        What could not be measured has the reason there, and keeps its times."""
        told = {None}
        for task in tasks:
            if task.over or not task.cell.energy or task.key in self.weighed:
                continue
            self.watcher.step(task.cell, "measuring its energy", 0)
            checker = checkers[task.cell.queries.name]
            found = self._energy(task, checker, edges)
            self.watcher.step(task.cell, "measuring its energy")
            if (reason := found.get("reason")) not in told:
                self.watcher.note(f"  no energy of {task.cell.label()}, and of others alike: {reason}")
                told.add(reason)
            row = verified_row(task, self.name, graph, checker)
            self.append([row | dict.fromkeys(("counters", *MEMORY)) | {"energy": found}])

    def _energy(self, task: Task, checker: Workload, edges: Graph | None) -> dict:
        """The energy of a cell as its row has it (`rows.FIELDS`). Phases share the time that its limit leaves."""
        found, phases, data = {}, passes.weighed(task.cell), self.data[task.cell.queries.name]
        self.rescue.go_on(task, warm=True)
        for at, phase in enumerate(phases):
            if task.process is not None and task.process.over:
                found[phase] = {"reason": "the cell's process had ended before"}
                continue
            budget = None if task.left is None else task.left / (len(phases) - at)
            here = lambda phase=phase, budget=budget: passes.energy(  # noqa: E731
                task.cell, data, checker.asked, edges, phase, budget
            )
            outcome = self._pass(task, "energy", here, phase, budget)
            found[phase] = outcome.value if outcome.status == "ok" else {"reason": outcome.reason}
        reasons = [each["reason"] for each in found.values() if "reason" in each]
        return {"phases": found} if len(reasons) < len(found) else {"reason": "; ".join(dict.fromkeys(reasons))}

    def _attempts_at_once(self, checkers: dict[str, Workload], tasks: list[Task]) -> dict[str, Future]:
        """Start the passes that are verified of cells with their own processes, `checks.jobs` at once; those on a GPU
        one after another, and the cells of one query set before those of the next. Returns them by key; empty where
        there is nothing to run in parallel."""
        sets = list(checkers)
        own = [task for task in tasks if task.process is not None and not task.over]
        own.sort(key=lambda task: sets.index(task.cell.queries.name))
        if self.checks.jobs == 1 or len(own) < 2:
            return {}
        ahead = {}
        for gpu, jobs in ((True, 1), (False, self.checks.jobs)):
            pool = ThreadPoolExecutor(jobs, thread_name_prefix="grailbench-verify")
            chosen = [task for task in own if on_gpu(task.cell) == gpu]
            for task in chosen:
                before = [ahead[other.key] for other in chosen if other.key in ahead and other.alike == task.alike]
                ahead[task.key] = pool.submit(self._attempt_after, before, task, checkers)
            pool.shutdown(wait=False)
        return ahead

    def _attempt_after(self, before: list[Future], task: Task, checkers: dict[str, Workload]) -> Outcome:
        """Make the pass of a cell that is not to be tried if an earlier one like it was lost, once that is known."""
        for each in before if not task.cell.retry else ():
            each.result()
        return self._attempt(task, checkers)

    def _attempt(self, task: Task, checkers: dict[str, Workload]) -> Outcome:
        """Make the pass that is verified, in this process or that of the cell. The value is a `contract.Attempt`."""
        name = task.cell.queries.name
        if (before := self.lost.get(task.alike)) is not None and not task.cell.retry:
            return replace(before, reason=f"not tried: {before.reason}")
        self.rescue.go_on(task, warm=False)
        outcome = None if task.process is None else task.process.ask("prime", task.patience)
        if outcome is None or not task.process.over:  # an error of `prime` occurs again in the pass, which reports it
            here = lambda: passes.attempt(task.cell, self.data[name], checkers[name].asked)  # noqa: E731
            outcome = self._pass(task, "attempt", here)
        if outcome.status in ("timeout", "out of memory"):
            what = "time" if outcome.status == "timeout" else "memory"
            self.lost[task.alike] = Outcome(outcome.status, f"it ran out of {what} with {name}")
        return outcome

    def _measure(self, task: Task, checkers: dict[str, Workload], edges: Graph | None) -> Outcome:
        """Make a timed pass, in this process or that of the cell. The value is a `passes.Measured`."""
        name = task.cell.queries.name
        self.rescue.go_on(task, warm=True)
        return self._pass(
            task, "measure", lambda: passes.measure(task.cell, self.data[name], checkers[name].asked, edges)
        )

    def _pass(self, task: Task, what: str, here: Callable[[], object], *more) -> Outcome:
        began = monotonic()
        outcome = guarded(here, task.left) if task.process is None else task.process.ask(what, task.left, *more)
        task.spent += monotonic() - began
        return outcome

    def _give_up(self, task: Task, outcome: Outcome, graph: Input | None) -> None:
        """End a cell, with one row that has the reason why it gets no more times."""
        task.over = True
        if task.process is not None:
            task.process.close()
        if outcome.status == "skipped" and graph is not None:
            self.lacking = self.lacking or outcome.reason
        if outcome.trace and self.sink is not None:
            self.sink.explain(f"{task.cell.dataset}: {task.cell.label()}\n{outcome.trace}\n")
        reason = outcome.reason
        if outcome.status == "timeout":
            reason += f" ({task.cell.time_limit:g} s)"
        if outcome.status == "out of memory" and task.process is not None and task.cell.memory_limit is not None:
            reason += f" (limit {task.cell.memory_limit:g} GiB)"
        row = new_row(task, self.name, graph)
        row |= {"status": outcome.status, "reason": reason}
        if outcome.status == "wrong" and task.verdict is not None and task.verdict.errors:
            row["counters"] = task.verdict.errors
        self.append([row])
        if graph is not None:
            self.watcher.trouble(task.cell, outcome.status, reason)

    def _give_up_all(self, tasks: list[Task], outcome: Outcome, graph: Input) -> None:
        for task in tasks:
            self._give_up(task, outcome, graph)

    def append(self, rows: list[dict]) -> None:
        """Add the rows of one trial, or the one row of a cell without times."""
        if self.sink is not None:
            if not self.new:
                self.record()
            self.sink.append(rows)
        self.new += rows
        self.watcher.rows(rows)
