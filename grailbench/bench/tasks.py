"""A cell on its way through a run: its key, how far it is, and the rows that it gives."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from grailbench.bench.passes import Measured
from grailbench.bench.plan import Cell
from grailbench.bench.processes import CellProcess
from grailbench.contract import Input, Verdict, Workload, implementation, problem
from grailbench.runs import environment as machine
from grailbench.runs import folder as results
from grailbench.runs.rows import FIELDS, MEMORY


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


def implementation_of(cell: Cell) -> type:
    return implementation(cell.impl, cell.problem)


def on_gpu(cell: Cell) -> bool:
    return "gpu" in implementation_of(cell).needs


def steps(cell: Cell) -> int:
    return 1 + cell.warmup + cell.trials


def cell_key(cell: Cell, graph_sha256: str | None, env: dict) -> str:
    """16 hex digits: configuration, graph, code and machine. Rows of one key may be put together."""
    code = (env["code"], machine.source_hash(implementation_of(cell)))
    text = json.dumps([cell.identity(), graph_sha256, code, env["fingerprint"]], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def new_row(task: Task, run: str | None, graph: Input | None) -> dict:
    """A row of the cell that says nothing yet but which cell it is, and of which graph."""
    row = dict.fromkeys(FIELDS)
    row |= task.cell.columns()
    row |= {
        "run": run,
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


def verified_row(task: Task, run: str | None, graph: Input, checker: Workload) -> dict:
    """The row of a cell whose answers are right."""
    return new_row(task, run, graph) | {
        "positives": task.verdict.positives,
        "queries": checker.size,
        "verified": checker.method,
        "checksum": task.verdict.checksum,
        "index_bytes": task.verdict.index_bytes,
        "counters": task.verdict.counters or None,
        **task.verdict.memory,
        **({} if task.home is not None else {"host_peak_bytes": None}),  # a shared process's is no cell's
    }


def trial_rows(
    task: Task, run: str | None, graph: Input, checker: Workload, trial: int, measured: Measured
) -> list[dict]:
    """One row a phase, the problem's last one last; that one carries the rate, and the cell's counters."""
    base = verified_row(task, run, graph, checker) | {"trial": trial}
    last = ("", problem(task.cell.problem).phases[-1])
    phases = [*(phase for phase in measured.phases if phase != last), last]
    return [
        base
        | {"under": under, "phase": phase, "ms": round(measured.phases[under, phase], 6)}
        | ({"rate": measured.rate} if (under, phase) == last else dict.fromkeys(("counters", *MEMORY)))
        for under, phase in phases
    ]
