"""The state of a run and of its cells: a cell's key, its progress and the rows made from its trials; the rows of the
run, those that it has and where new ones are written; and who is called with its progress."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from grailbench.harness import folder as results
from grailbench.harness import plugins
from grailbench.harness.folder import finished, given_up
from grailbench.harness.passes import Measured
from grailbench.harness.plan import Cell, Plan
from grailbench.harness.processes import OPENING_SECONDS, CellProcess
from grailbench.harness.rows import DISTRIBUTION, FIELDS, MEMORY, cell_of
from grailbench.problems.contract import Input, Verdict, Workload, implementation, problem
from grailbench.util.words import count


@dataclass
class Task:
    """The state of a cell during a run.

    key      see `cell_key`
    done     the numbers of the trials that an earlier session finished
    spent    seconds that its passes took
    verdict  the result of verification
    first    the trial that its verification was, with the cores that others took; None if it was none, or is used
    over     whether it was given up
    process  its own process, if it has one
    has_energy  whether an earlier session measured its energy
    """

    cell: Cell
    key: str
    done: frozenset[int] = frozenset()
    spent: float = 0.0
    verdict: Verdict | None = None
    first: tuple[Measured, float | None] | None = None
    over: bool = False
    process: CellProcess | None = None
    has_energy: bool = False

    @property
    def alike(self) -> tuple:
        """The configuration and the graph, which cells with other queries have too."""
        return tuple(value for name, value in self.cell.columns().items() if name != "query_set")

    @property
    def patience(self) -> float | None:
        """Seconds that priming may take, which `left` does not count; what counts its work compiles kernels there."""
        return OPENING_SECONDS if implementation_of(self.cell).counts else self.cell.time_limit

    @property
    def left(self) -> float | None:
        """Seconds that the cell may still take; None without a limit."""
        return None if self.cell.time_limit is None else self.cell.time_limit - self.spent

    def new_row(self, run: str | None, graph: Input | None) -> dict:
        """A row that only identifies the cell and its graph."""
        cell = self.cell
        row = dict.fromkeys(FIELDS) | cell.columns() | {"key": self.key, "at": results.now(), "run": run}
        row |= {"stands_for": cell.stands_for, "planned": cell.trials, "under": "", "status": "ok"}
        if plugins.outside(made_by := implementation_of(cell)):
            row[DISTRIBUTION] = plugins.named(made_by)
        if graph is not None:
            row |= {name: getattr(graph, name) for name in ("kind", "vertices", "edges", "roots")}
            row["graph_sha256"] = graph.sha256
            row["raw_edges"] = graph.raw_edges if cell.from_edges else None
        if self.process is not None:
            row["read_ms"] = round(self.process.read_ms, 6)
        return row

    def verified_row(self, run: str | None, graph: Input, checker: Workload) -> dict:
        """The row of a cell whose answers are right."""
        found = self.verdict
        row = self.new_row(run, graph) | {
            name: getattr(found, name) for name in ("positives", "checksum", "index_bytes")
        }
        row |= {"queries": checker.size, "verified": found.method or checker.method, "counters": found.counters or None}
        row |= found.memory
        if self.process is None:
            row["host_peak_bytes"] = None  # that of a shared process is of all cells
        if not on_gpu(self.cell):
            row["device_peak_bytes"] = None  # there it is of cells on a GPU in the same process
        return row

    def trial_rows(
        self, run: str | None, graph: Input, checker: Workload, trial: int, measured: Measured
    ) -> list[dict]:
        """One row for each phase. That of the last phase of the problem comes last, with the rate and the counters."""
        base = self.verified_row(run, graph, checker) | {"trial": trial}
        for name, size in (measured.memory or {}).items():
            if base[name] is not None and size is not None:
                base[name] = max(base[name], size)
        last = ("", problem(self.cell.problem).phases[-1])
        phases = [*(phase for phase in measured.phases if phase != last), last]
        return [
            base
            | {"under": under, "phase": phase, "ms": round(measured.phases[under, phase], 6)}
            | ({"rate": measured.rate} if (under, phase) == last else dict.fromkeys(("counters", *MEMORY)))
            for under, phase in phases
        ]


def implementation_of(cell: Cell) -> type:
    return implementation(cell.impl, cell.problem)


def on_gpu(cell: Cell) -> bool:
    return "gpu" in implementation_of(cell).needs


def crowded(cells: Iterable[Cell], cores: int, where: str) -> str | None:
    """'64 threads on 2 cores: they wait for one another', of cells with more threads than cores; None without any."""
    many = sorted({cell.threads for cell in cells if (cell.threads or 0) > cores})
    threads = " and ".join(f"{number:,}" for number in many)
    return f"{threads} threads on {where}{count(cores, 'core')}: they wait for one another" if many else None


def steps(cell: Cell) -> int:
    """The number of passes of a cell: the verified one, those of the warm-up, the trials, and one for energy."""
    return 1 + cell.warmup + cell.trials + cell.energy


def cell_key(cell: Cell, graph_sha256: str | None, env: dict) -> str:
    """16 hex digits of the configuration, the graph, the code and the machine. Rows with equal keys belong together."""
    code = (env["code"], plugins.source_hash(implementation_of(cell)))
    text = json.dumps([cell.identity(), graph_sha256, code, env["fingerprint"]], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# ------------------------------------------------------------------ the run


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


class Progress:
    """The rows of a run: those of earlier sessions, and those that this one adds.

    prior     the rows of earlier sessions; `new` are those of this one
    others    environments of the run besides `env`; a cell that is complete in one of them is not measured again
    outdated  the number of cells that have rows of other code or another machine only
    lacking   what the machine lacks for a skipped cell, if anything
    """

    def __init__(
        self,
        sink: Any,
        env: dict,
        prior: list[dict],
        watcher: Watcher,
        record: Callable[[], None] = lambda: None,
        others: Iterable[Mapping] = (),
    ):
        """sink: where new rows go, a `folder.Writer`, or what sends them to the process that has one, with its `name`,
        `append` and `explain`; None if cells are only verified. record: called before the first row is written."""
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
