"""Cells on a GPU that another cell lost to the process of the run: they go on in processes of their own.

After some errors of the driver every later call of a process fails (`faults`). The cell that met the error has failed.
The others on a GPU that were to be run in the same process are begun, or continued, in fresh ones, one for each cell;
their rows have `read_ms`, as those of all cells with a process of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from grailbench.harness.processes import GraphProcess
from grailbench.harness.tasks import Task, implementation_of, on_gpu
from grailbench.problems.contract import Input, Workload
from grailbench.util import faults
from grailbench.util.guard import guarded


class Rescue:
    """Processes for the cells of one graph, which end with the block. A graph that no other process can open has none:
    its cells on a GPU say that they are not tried."""

    def __init__(self, graph: Input, checkers: Mapping[str, Workload], tasks: list[Task], note: Callable[[str], None]):
        self._graph, self._checkers, self._tasks, self._note = graph, checkers, tasks, note
        self._process: GraphProcess | None = None
        self._tried = False

    def __enter__(self) -> Rescue:
        return self

    def __exit__(self, *_) -> None:
        if self._process is not None:
            self._process.close()

    def go_on(self, task: Task, warm: bool) -> None:
        """Gives a cell a process if this one has lost the GPU that the cell needs. warm: with its kernels loaded, and
        warmed up, as it is to be timed next."""
        if faults.lost is None or task.process is not None or task.over or not on_gpu(task.cell) or not self._opened():
            return
        task.process = guarded(lambda: self._process.begin(task.cell)).value  # None if that process has ended
        if task.process is None or not warm:
            return
        task.process.ask("prime", task.patience)
        for _ in range(max(task.cell.warmup, 1)):
            if not task.process.over:
                task.process.ask("measure", task.left)

    def _opened(self) -> bool:
        """Whether there is a process that has opened the graph; tried once."""
        if not self._tried:
            self._tried = True
            mine = [task for task in self._tasks if task.process is None and not task.over and on_gpu(task.cell)]
            classes = list({implementation_of(task.cell): None for task in mine})
            specs = {task.cell.queries.name: task.cell.queries for task in mine}
            workloads = {name: (spec, self._checkers[name].asked) for name, spec in specs.items()}
            graph = self._graph
            made = guarded(lambda: GraphProcess(mine[0].cell.problem, graph.name, graph.sha256, classes, workloads))
            self._process = made.value
            if self._process is not None:
                self._note("  the GPU was lost to this process: further cells on it have processes of their own")
        return self._process is not None
