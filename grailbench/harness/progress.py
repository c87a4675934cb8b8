"""The rows of a run: those that it has, and where new ones are written; and who is called with its progress."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol

from grailbench.harness.plan import Cell, Plan
from grailbench.harness.rows import cell_of
from grailbench.harness.tasks import Task, cell_key, steps
from grailbench.harness.writer import finished, given_up
from grailbench.problems.contract import Input, Workload


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
    """Where the rows of a run go: `writer.Writer`, or what sends them to the process that has one.

    name  of the run
    """

    name: str

    def append(self, rows: list[dict]) -> None:
        """Keep the rows of one trial, or the one row of a cell without times."""

    def explain(self, text: str) -> None:
        """Keep a traceback for people."""


class Progress:
    """The rows of a run: those of earlier sessions, and those that this one adds.

    prior     the rows of earlier sessions; `new` are those of this one
    others    environments of the run besides `env`; a cell that is complete in one of them is not measured again
    outdated  the number of cells that have rows of other code or another machine only
    lacking   what the machine lacks for a skipped cell, if anything
    """

    def __init__(
        self,
        sink: Sink | None,
        env: dict,
        prior: list[dict],
        watcher: Watcher,
        record: Callable[[], None] = lambda: None,
        others: Iterable[Mapping] = (),
    ):
        """sink: None if cells are only verified. record: called before the first row is written."""
        self.sink, self.env, self.prior, self.watcher, self._record = sink, env, prior, watcher, record
        self.others = [other for other in others if other.get("code") == env["code"]]
        self.finished, self._given_up = finished(prior), given_up(prior)
        self._cells, self._keys = {cell_of(row) for row in prior}, {row["key"] for row in prior}
        self._with_energy = {row["key"] for row in prior if row.get("energy")}
        self.new: list[dict] = []
        self.outdated = 0
        self.lacking: str | None = None

    @property
    def name(self) -> str | None:
        """The name of the run in its rows; None when nothing is written."""
        return None if self.sink is None else self.sink.name

    @property
    def rows(self) -> list[dict]:
        """All rows."""
        return self.prior + self.new

    def task(self, cell: Cell, sha256: str) -> Task | None:
        """The task of a cell on the graph with this checksum, without the trials that are finished; None if it needs no
        more passes."""
        if self.is_over(cell, sha256):
            self.watcher.step(cell, "done before", steps(cell))
            return None
        key = cell_key(cell, sha256, self.env)
        self.outdated += cell_of(cell.columns()) in self._cells and key not in self._keys
        return Task(cell, key, self._done(cell, key), has_energy=key in self._with_energy)

    def is_over(self, cell: Cell, sha256: str) -> bool:
        """Whether a cell on the graph with this checksum needs no more passes: it is complete, here or in one of the
        other environments, or it was given up here and would be again."""
        key, *others = (cell_key(cell, sha256, env) for env in (self.env, *self.others))
        return key in self._given_up or any(self._complete(cell, each) for each in (key, *others))

    def _complete(self, cell: Cell, key: str) -> bool:
        return len(self._done(cell, key)) == cell.trials and (key in self._with_energy or not cell.energy)

    def _done(self, cell: Cell, key: str) -> frozenset[int]:
        """The numbers of the finished trials of a cell."""
        return frozenset(self.finished.get(key, set()) & set(range(cell.trials)))

    def append(self, rows: list[dict]) -> None:
        """Add the rows of one trial, or the one row of a cell without times."""
        if self.sink is not None:
            if not self.new:
                self._record()
            self.sink.append(rows)
        self.new += rows
        self.watcher.rows(rows)

    def environment_changed(self) -> None:
        """Writes the environment again, which changed, if rows were written already."""
        if self.new:
            self._record()
