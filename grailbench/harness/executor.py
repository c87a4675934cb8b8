"""How the passes of the cells of one graph are made: in this process, or each in its cell's own (`processes`).

A cell has a process of its own if its plan says so, or if this process lost the GPU: after some errors of the driver
every later call of a process fails (`faults`). The cell that met the error has failed; other cells on a GPU are begun,
or continued, in fresh processes.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic
from typing import Any

from grailbench.graph.csr import Graph
from grailbench.harness import passes
from grailbench.harness.processes import GraphProcess
from grailbench.harness.tasks import Task, implementation_of, on_gpu
from grailbench.problems.contract import Checks, Input, Problem, Workload
from grailbench.util import faults
from grailbench.util.guard import Outcome, guarded


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
