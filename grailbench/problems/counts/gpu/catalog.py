"""The registered counts on a GPU. Importing this module imports no CUDA module."""

from __future__ import annotations

import numpy as np

from grailbench.problems.counts.index import Counted, Implementation, Params, Solver, Task, Timer, register
from grailbench.problems.counts.reduce import expanded, listed


class _OnGpu(Solver):
    def __init__(self, task: Task):
        self._task = task

    def solve(self, asked: np.ndarray | None, timer: Timer) -> Counted:
        """Reduces on the host, and sweeps the whole graph on the device, whatever is asked."""
        from grailbench.cuda.timers import Phases
        from grailbench.problems.counts.gpu.sweep import swept

        phases = Phases()
        with timer.phase("reduce"):
            form = listed(self._task)
        columns, work, self.held_bytes = swept(self._task, form, phases)
        phases.hand_over(timer.record)
        with timer.phase("expand"):
            counts = expanded(self._task, form, columns)
        self.counters = {"vertices_left": form.order.shape[0], "columns": form.columns.shape[0], **work}
        return Counted(counts if asked is None else counts[asked])


@register
class CountsGpu(Implementation):
    """The columns of `counts`, 65,536 a pass, swept level by level on the device in one cooperative launch.

    The host peels and weighs as `counts` does; vertices keep their numbers. A warp takes a vertex: it learns from its
    children which of the pass's chunks of 2,048 columns they reach, unites their rows in these, and counts bits by
    planes of weights. What a child reaches whole is reached whole without a row. A barrier ends a level.
    """

    name = "counts-gpu"
    needs = ("gpu",)
    source = "after Then et al., The More the Merrier: Efficient Multi-Source Graph Traversal, PVLDB 8(4), 2014; ours"
    cost = (
        "O(n + m) on the host; on the device O((n + m) n / 64) words at most, a barrier a level and pass; 8 KiB a "
        "vertex, or half of the device's memory"
    )
    counts = ("vertices_left", "columns", "passes", "levels")

    @classmethod
    def require(cls) -> None:
        from grailbench.cuda.gateway import require

        require()

    @classmethod
    def prepare(cls, task: Task, params: Params, timer: Timer) -> Solver:
        cls.require()
        return _OnGpu(task)
