"""The state of a cell during a run: its key, its progress, and the rows made from its trials."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

from grailbench.harness import folder as results
from grailbench.harness import plugins
from grailbench.harness.passes import Measured
from grailbench.harness.plan import Cell
from grailbench.harness.processes import OPENING_SECONDS, CellProcess
from grailbench.harness.rows import DISTRIBUTION, FIELDS, MEMORY
from grailbench.problems.contract import Input, Verdict, Workload, implementation, problem
from grailbench.util.words import count


@dataclass
class Task:
    """The state of a cell during a run.

    key      see `cell_key`
    done     the numbers of the trials that an earlier session finished
    spent    seconds that its passes took
    verdict  the result of verification
    over     whether it was given up
    process  its own process, if it has one
    has_energy  whether an earlier session measured its energy
    """

    cell: Cell
    key: str
    done: frozenset[int] = frozenset()
    spent: float = 0.0
    verdict: Verdict | None = None
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


def new_row(task: Task, run: str | None, graph: Input | None) -> dict:
    """A row that only identifies the cell and its graph."""
    row = dict.fromkeys(FIELDS) | task.cell.columns()
    row |= {"run": run, "stands_for": task.cell.stands_for, "planned": task.cell.trials, "under": "", "status": "ok"}
    row |= {"key": task.key, "at": results.now()}
    if plugins.outside(made_by := implementation_of(task.cell)):
        row[DISTRIBUTION] = plugins.named(made_by)
    if graph is not None:
        row |= {name: getattr(graph, name) for name in ("kind", "vertices", "edges", "roots")}
        row["graph_sha256"] = graph.sha256
        row["raw_edges"] = graph.raw_edges if task.cell.from_edges else None
    if task.process is not None:
        row["read_ms"] = round(task.process.read_ms, 6)
    return row


def verified_row(task: Task, run: str | None, graph: Input, checker: Workload) -> dict:
    """The row of a cell whose answers are right."""
    row = new_row(task, run, graph) | {
        "positives": task.verdict.positives,
        "queries": checker.size,
        "verified": task.verdict.method or checker.method,
        "checksum": task.verdict.checksum,
        "index_bytes": task.verdict.index_bytes,
        "counters": task.verdict.counters or None,
        **task.verdict.memory,
    }
    if task.process is None:
        row["host_peak_bytes"] = None  # that of a shared process is of all cells
    if not on_gpu(task.cell):
        row["device_peak_bytes"] = None  # there it is of cells on a GPU in the same process
    return row


def trial_rows(
    task: Task, run: str | None, graph: Input, checker: Workload, trial: int, measured: Measured
) -> list[dict]:
    """One row for each phase. That of the last phase of the problem comes last, with the rate and the counters."""
    base = verified_row(task, run, graph, checker) | {"trial": trial}
    for name, size in (measured.memory or {}).items():
        if base[name] is not None and size is not None:
            base[name] = max(base[name], size)
    last = ("", problem(task.cell.problem).phases[-1])
    phases = [*(phase for phase in measured.phases if phase != last), last]
    return [
        base
        | {"under": under, "phase": phase, "ms": round(measured.phases[under, phase], 6)}
        | ({"rate": measured.rate} if (under, phase) == last else dict.fromkeys(("counters", *MEMORY)))
        for under, phase in phases
    ]
