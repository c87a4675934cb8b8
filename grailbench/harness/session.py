"""A session, one execution of a run: the cells of each graph are verified, warmed up and timed in interleaved trials.

Trials are the outer loop and cells the inner loop, shuffled for each trial, so that a drift of the machine affects all
cells alike. The garbage collector is off while a phase is timed, and an index is freed when its trial ends, because
graphs may have 25 million vertices. `Progress` knows which trials are finished, and takes the rows.

`Executor` makes the passes: in this process, or each in its cell's own (`processes`). A cell has a process of its own
if its plan says so, or if this process lost the GPU: after some errors of the driver every later call of a process
fails (`faults`). The cell that met the error has failed; other cells on a GPU are begun, or continued, in fresh
processes.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic
from typing import Any

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import Graph
from grailbench.harness import passes
from grailbench.harness.load import Others
from grailbench.harness.plan import Cell
from grailbench.harness.processes import LARGE, GraphProcess
from grailbench.harness.rows import MEMORY
from grailbench.harness.tasks import Progress, Task, cell_key, implementation_of, on_gpu
from grailbench.problems.contract import Checks, Input, Problem, Workload, problem
from grailbench.util import ahead, faults
from grailbench.util.guard import Outcome, guarded
from grailbench.util.words import count

LARGE_SECONDS = 240.0  #: the time limit on large graphs if the plan has none: a billion edges are searched for hours
Answered = Callable[[Workload, Any], None]  #: is called with a workload and the answers to it


class Session:
    """One execution of a run in this process, from the start or continued.

    opened  the graph that is open, which is not opened again
    """

    def __init__(
        self, progress: Progress, checks: Checks, answered: Answered | None = None, opened: OpenGraph | None = None
    ):
        """answered: called once, with the answers of the first cell that is verified as right."""
        self.progress, self.watcher, self.checks = progress, progress.watcher, checks
        self._answered, self.opened = answered, opened
        self._others = Others(progress.env.get("others"))
        self._primed: set[tuple] = set()  # configurations on the CPU whose kernels this process has

    def run(self, solved: Problem, name: str, cells: list[Cell]) -> None:
        """Run all cells of one problem on one graph."""
        outcome = self.open(solved, name)
        if outcome.status != "ok":
            self._skip_all(name, cells, outcome)
            return
        tasks = self._tasks(cells)
        if not tasks:
            return
        self._announce(tasks)
        tasks = self._with_workloads(tasks)
        with closing(Executor(self.opened, tasks, self._give_up, self.watcher.note)) as executor:
            executor.begin()
            self._verify(executor, tasks)
            workloads = {name: self.opened.workloads[name] for name in _query_sets(tasks)}
            self.watcher.answered(self.opened.graph, workloads, [task.cell for task in tasks if not task.over])
            if self.progress.sink is None:
                rows = [self._verified_row(task) for task in tasks if not task.over]
                self.progress.append([row | {"planned": None} for row in rows])
                return
            executor.take_edges()
            passes.freeze(first=True)
            self._warm_up(executor, tasks)
            passes.freeze(first=False)
            self._time(executor, tasks)
            self._measure_energy(executor, tasks)
            self.watcher.timed(self.opened.graph)

    # -------------------------------------------------------------- opening

    def open(self, solved: Problem, name: str) -> Outcome:
        """Open a graph in the form that a problem takes, unless it is the one that is open."""
        if self.opened is not None and (self.opened.problem.name, self.opened.graph.name) == (solved.name, name):
            return Outcome("ok")
        self.opened = None  # its memory is needed
        outcome = guarded(lambda: solved.open(name))
        if outcome.status == "ok":
            self.opened = OpenGraph(solved, outcome.value)
        return outcome

    def _skip_all(self, name: str, cells: list[Cell], outcome: Outcome) -> None:
        """End all cells of a graph that could not be opened."""
        status = outcome.status if outcome.trace or outcome.status != "failed" else "skipped"
        self.watcher.note(f"  {status.upper()}: {name}, {count(len(cells), 'cell')}: {outcome.reason}")
        for cell in cells:
            self._give_up(Task(cell, cell_key(cell, None, self.progress.env)), replace(outcome, status=status))

    def _tasks(self, cells: list[Cell]) -> list[Task]:
        """The tasks of the cells that still need passes."""
        graph, found = self.opened.graph, []
        for planned in cells:
            cell = self._bounded(planned) if graph.edges >= LARGE else planned
            task = self.progress.task(cell, graph.sha256)
            if task is None:
                continue
            found.append(task)
            if cell.warmup < planned.warmup:
                self.watcher.step(cell, "without a warm-up", planned.warmup - cell.warmup)
            if task.done:
                self.watcher.step(cell, "done before", len(task.done))
        return found

    def _announce(self, tasks: list[Task]) -> None:
        graph = self.opened.graph
        self.watcher.opened(graph, len(tasks))
        if any(task.cell.process == "own" for task in tasks) and graph.edges >= LARGE:
            limits = " and ".join(sorted({f"{task.cell.time_limit:g} s" for task in tasks}))
            self.watcher.note(
                f"  a large graph: each cell in a process of its own, for {limits} at most (--time-limit)"
            )

    def _bounded(self, cell: Cell) -> Cell:
        """The cell of a large graph, in a process of its own, which loads its kernels first and is warm when it was
        verified, with a time limit, and asked as much as its problem thinks fit. A cell that is only verified stays as
        it is."""
        if self.progress.sink is None:
            return cell
        part = problem(cell.problem).part(cell.queries, implementation_of(cell), large=True)
        return replace(cell, queries=part, process="own", warmup=0, time_limit=cell.time_limit or LARGE_SECONDS)

    def _with_workloads(self, tasks: list[Task]) -> list[Task]:
        """The tasks whose workload could be made. The others are given up.

        Raises InputError when a file of queries is wrong.
        """
        for spec in dict.fromkeys(task.cell.queries for task in tasks):
            outcome = guarded(lambda spec=spec: self.opened.workload(spec, self.checks))
            if outcome.status != "ok" and spec.kind == "file":
                raise InputError(f"on {self.opened.graph.name}: {outcome.reason}")
            for task in tasks if outcome.status != "ok" else ():
                if task.cell.queries == spec:
                    self._give_up(task, outcome)
        return [task for task in tasks if not task.over]

    # -------------------------------------------------------------- passes

    def _verify(self, executor: Executor, tasks: list[Task]) -> None:
        """Make and judge one pass of each cell. Cells with wrong labels, wrong answers or other answers than the rest
        are not timed."""
        ahead, first_right = executor.attempts_at_once(self.checks.jobs), None
        for task in tasks:
            if task.over:
                continue
            self.watcher.step(task.cell, "verifying", 0)
            outcome = ahead[task.key].result() if task.key in ahead else executor.attempt(task)
            self.watcher.step(task.cell, "verified")
            workload = self._workload(task)
            if outcome.status == "ok":
                attempt = outcome.value
                outcome = guarded(lambda task=task, w=workload, a=attempt: w.judge(task.key, a))
            if outcome.status != "ok":
                self._give_up(task, outcome)
                continue
            task.verdict = outcome.value
            if task.verdict.fault:
                self._give_up(task, Outcome("wrong", task.verdict.fault))
                continue
            if attempt.phases is not None and task.key not in ahead and not task.cell.warmup:
                task.first = passes.Measured(attempt.phases, task.verdict.checksum), self._others.read()
            if self._answered is not None and first_right is None and task.verdict.method is None:  # else a number
                first_right = task, workload, attempt.answers
        for name in _query_sets(tasks):
            faults = self.opened.workloads[name].compare()
            for task in tasks:
                if not task.over and task.key in faults:
                    self._give_up(task, Outcome("wrong", faults[task.key]))
        if first_right is not None and not first_right[0].over:
            self._answered(*first_right[1:])
            self._answered = None

    def _warm_up(self, executor: Executor, tasks: list[Task]) -> None:
        for task in tasks:
            if not task.over and not task.cell.warmup and task.process is None:
                # the verified pass ran other kernels than the timed ones: kernels with counters
                way = (task.cell.problem, task.cell.impl, repr(task.cell.params), task.cell.from_edges)
                if way not in self._primed and guarded(lambda task=task: passes.prime(task.cell)).status == "ok":
                    self._primed |= set() if on_gpu(task.cell) else {way}
        for turn in range(max((task.cell.warmup for task in tasks), default=0)):
            for task in tasks:
                if task.over or turn >= task.cell.warmup:
                    continue
                self._measure(executor, task, "warming up")

    def _time(self, executor: Executor, tasks: list[Task]) -> None:
        ahead.stop()
        self._others.read()  # of what came before
        for trial in range(max((task.cell.trials for task in tasks), default=0)):
            turn = [t for t in tasks if not t.over and trial < t.cell.trials and trial not in t.done]
            if not turn:
                continue
            order = np.random.default_rng((turn[0].cell.seed, trial)).permutation(len(turn))
            for task in (turn[place] for place in order):
                (found, others), task.first = task.first or (None, None), None
                doing = f"trial {trial + 1} of {task.cell.trials}"
                if found is None:
                    found, others = self._measure(executor, task, doing), self._others.read()
                else:
                    self.watcher.step(task.cell, doing)
                if found is not None and found.checksum != task.verdict.checksum:
                    self._give_up(task, Outcome("wrong", f"trial {trial}: answers differ from the verified ones"))
                elif found is not None:
                    run, graph = self.progress.name, self.opened.graph
                    rows = task.trial_rows(run, graph, self._workload(task), trial, found)
                    self.progress.append([row | {"others": others} for row in rows])

    def _measure(self, executor: Executor, task: Task, doing: str) -> passes.Measured | None:
        """Make a timed pass. None if it failed, and the cell is given up."""
        self.watcher.step(task.cell, doing, 0)
        outcome = executor.measure(task)
        self.watcher.step(task.cell, doing)
        if outcome.status != "ok":
            self._give_up(task, outcome)
        return outcome.value

    def _measure_energy(self, executor: Executor, tasks: list[Task]) -> None:
        """Measure the energy of cells of which it was asked, once all cells were timed, and add a row of it to each.
        What could not be measured has the reason there, and keeps its times."""
        noted = {None}
        for task in tasks:
            if task.over or not task.cell.energy or task.has_energy:
                continue
            self.watcher.step(task.cell, "measuring its energy", 0)
            found = executor.energy(task)
            self.watcher.step(task.cell, "measuring its energy")
            if (reason := found.get("reason")) not in noted:
                self.watcher.note(f"  no energy of {task.cell.label()}, and of others alike: {reason}")
                noted.add(reason)
            row = self._verified_row(task)
            self.progress.append([row | dict.fromkeys(("counters", *MEMORY)) | {"energy": found}])

    def _workload(self, task: Task) -> Workload:
        return self.opened.workloads[task.cell.queries.name]

    def _verified_row(self, task: Task) -> dict:
        return task.verified_row(self.progress.name, self.opened.graph, self._workload(task))

    # -------------------------------------------------------------- giving up

    def _give_up(self, task: Task, outcome: Outcome) -> None:
        """End a cell, with one row that has the reason why it gets no more times."""
        graph = None if self.opened is None else self.opened.graph
        task.over = True
        if task.process is not None:
            task.process.close()
        if outcome.status == "skipped" and graph is not None:
            self.progress.lacking = self.progress.lacking or outcome.reason
        if outcome.trace and self.progress.sink is not None:
            self.progress.sink.explain(f"{task.cell.dataset}: {task.cell.label()}\n{outcome.trace}\n")
        reason = outcome.reason
        if outcome.status == "timeout":
            reason += f" ({task.cell.time_limit:g} s)"
        if outcome.status == "out of memory" and task.process is not None and task.cell.memory_limit is not None:
            reason += f" (limit {task.cell.memory_limit:g} GiB)"
        row = task.new_row(self.progress.name, graph)
        row |= {"status": outcome.status, "reason": reason}
        if outcome.status == "wrong" and task.verdict is not None and task.verdict.errors:
            row["counters"] = task.verdict.errors
        self.progress.append([row])
        if graph is not None:
            self.watcher.trouble(task.cell, outcome.status, reason)


def _query_sets(tasks: list[Task]) -> list[str]:
    """The names of the query sets of tasks, each once."""
    return list(dict.fromkeys(task.cell.queries.name for task in tasks))


# ------------------------------------------------------------------ how passes are made


@dataclass
class OpenGraph:
    """A graph that was opened, and by query set what implementations get of it (`data`) and its workload, if they were
    made."""

    problem: Problem
    graph: Input
    data: dict[str, Any] = field(default_factory=dict)
    workloads: dict[str, Workload] = field(default_factory=dict)

    def workload(self, spec, checks: Checks) -> Workload:
        """The workload of a query set. Raises InputError when its file is wrong."""
        if spec.name not in self.workloads:
            self.data[spec.name] = self.problem.data(self.graph, spec)
            made = self.problem.workload(spec, self.graph, self.data[spec.name], checks)
            self.workloads[spec.name] = made
        return self.workloads[spec.name]


class Executor:
    """Makes the passes of tasks on one graph, whose workloads are made. Processes that it starts end with `close`.

    give_up  called with a task and an outcome when a task cannot be begun
    """

    def __init__(
        self,
        opened: OpenGraph,
        tasks: list[Task],
        give_up: Callable[[Task, Outcome], None],
        note: Callable[[str], None],
    ):
        self._opened, self._tasks, self._give_up, self._note = opened, tasks, give_up, note
        self._ending = ExitStack()
        self._fresh: Outcome | None = None  # of opening the graph in a process that has the GPU which this one lost
        self._exhausted: dict[tuple, Outcome] = {}  # what ran out of time or memory, by `Task.alike`
        self._edges: Graph | None = None  # of cells in this process that are timed from edges

    def begin(self) -> None:
        """Start the processes of the cells that have one by their plan."""
        own = [task for task in self._tasks if task.cell.process == "own" and not task.over]
        opened = self._open_apart(own) if own else None
        for task in own:
            begun = guarded(partial(opened.value.begin, task.cell)) if opened.status == "ok" else opened
            if begun.status == "ok":
                task.process = begun.value
            else:
                self._give_up(task, begun)

    def close(self) -> None:
        self._ending.close()

    def _open_apart(self, tasks: list[Task]) -> Outcome:
        """Have another process open the graph for these cells. The value is a `GraphProcess`."""
        classes = list(dict.fromkeys(implementation_of(task.cell) for task in tasks))
        specs = {task.cell.queries.name: task.cell.queries for task in tasks}
        workloads = {name: (spec, self._opened.workloads[name].batch) for name, spec in specs.items()}
        graph, solved = self._opened.graph, self._opened.problem.name
        outcome = guarded(lambda: GraphProcess(solved, graph.name, graph.sha256, classes, workloads))
        if outcome.status == "ok":
            self._ending.callback(outcome.value.close)
        return outcome

    # -------------------------------------------------------------- passes

    def take_edges(self) -> None:
        """Get the raw edges of the graph if a cell in this process is timed from edges."""
        asking = [task for task in self._tasks if task.cell.from_edges and not task.over and task.process is None]
        if not asking:
            return
        outcome = guarded(lambda: self._opened.graph.raw)
        self._edges = outcome.value
        for task in asking if outcome.status != "ok" else ():
            self._give_up(task, outcome)

    def attempt(self, task: Task) -> Outcome:
        """Make the pass that is verified. The value is a `contract.Attempt`."""
        if (before := self._exhausted.get(task.alike)) is not None and not task.cell.retry:
            return replace(before, reason=f"not tried: {before.reason}")
        self._go_on_elsewhere(task, warm=False)
        outcome = None if task.process is None else task.process.ask("prime", task.patience)
        if outcome is None or not task.process.over:  # an error of `prime` occurs again in the pass, which reports it
            outcome = self._pass(task, "attempt")
        if outcome.status in ("timeout", "out of memory"):
            what = "time" if outcome.status == "timeout" else "memory"
            reason = f"it ran out of {what} with {task.cell.queries.name}"
            self._exhausted[task.alike] = Outcome(outcome.status, reason)
        return outcome

    def attempts_at_once(self, jobs: int) -> dict[str, Future]:
        """Start the passes that are verified of cells with their own processes, `jobs` at once; those on a GPU one
        after another, and the cells of one query set before those of the next. Returns them by key; empty where there
        is nothing to run in parallel."""
        sets = list(self._opened.workloads)
        own = [task for task in self._tasks if task.process is not None and not task.over]
        own.sort(key=lambda task: sets.index(task.cell.queries.name))
        if jobs == 1 or len(own) < 2:
            return {}
        ahead: dict[str, Future] = {}
        for gpu, most in ((True, 1), (False, jobs)):
            pool = ThreadPoolExecutor(most, thread_name_prefix="grailbench-verify")
            chosen = [task for task in own if on_gpu(task.cell) == gpu]
            for task in chosen:
                before = [ahead[other.key] for other in chosen if other.key in ahead and other.alike == task.alike]
                ahead[task.key] = pool.submit(self._attempt_after, before, task)
            pool.shutdown(wait=False)
        return ahead

    def _attempt_after(self, before: list[Future], task: Task) -> Outcome:
        """Make the pass of a cell that is not to be tried if an earlier one like it ran out of time or memory, once
        that is known."""
        for each in before if not task.cell.retry else ():
            each.result()
        return self.attempt(task)

    def measure(self, task: Task) -> Outcome:
        """Make a timed pass. The value is a `passes.Measured`."""
        self._go_on_elsewhere(task, warm=True)
        return self._pass(task, "measure")

    def energy(self, task: Task) -> dict:
        """The energy of a cell as its row has it (`rows.FIELDS`). Phases share the time that its limit leaves."""
        found: dict[str, dict] = {}
        phases = passes.phases_of_energy(task.cell)
        self._go_on_elsewhere(task, warm=True)
        for at, phase in enumerate(phases):
            if task.process is not None and task.process.over:
                found[phase] = {"reason": "the cell's process had ended before"}
                continue
            budget = None if task.left is None else task.left / (len(phases) - at)
            outcome = self._pass(task, "energy", phase, budget)
            found[phase] = outcome.value if outcome.status == "ok" else {"reason": outcome.reason}
        reasons = [each["reason"] for each in found.values() if "reason" in each]
        return {"phases": found} if len(reasons) < len(found) else {"reason": "; ".join(dict.fromkeys(reasons))}

    def _pass(self, task: Task, what: str, *more) -> Outcome:
        """Make a pass where the cell is run, as `passes.made` says."""
        began = monotonic()
        if task.process is None:
            name = task.cell.queries.name
            given = self._opened.data[name], self._opened.workloads[name].batch, self._edges
            outcome = guarded(lambda: passes.made(what, task.cell, *given, *more), task.left)
        else:
            outcome = task.process.ask(what, task.left, *more)
        task.spent += monotonic() - began
        return outcome

    # -------------------------------------------------------------- a lost GPU

    def _go_on_elsewhere(self, task: Task, warm: bool) -> None:
        """Give a cell a process if this one has lost the GPU that the cell needs. warm: with its kernels loaded, and
        warmed up, as it is to be timed next. A graph that no other process can open has none: its cells on a GPU say
        that they are not tried."""
        if faults.lost is None or task.process is not None or task.over or not on_gpu(task.cell):
            return
        if self._fresh is None:
            mine = [each for each in self._tasks if each.process is None and not each.over and on_gpu(each.cell)]
            self._fresh = self._open_apart(mine)
            if self._fresh.status == "ok":
                self._note("  the GPU was lost to this process: further cells on it have processes of their own")
        if self._fresh.status != "ok":
            return
        task.process = guarded(lambda: self._fresh.value.begin(task.cell)).value  # None if that process has ended
        if task.process is None or not warm:
            return
        task.process.ask("prime", task.patience)
        for _ in range(max(task.cell.warmup, 1)):
            if not task.process.over:
                task.process.ask("measure", task.left)
