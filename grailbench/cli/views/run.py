"""How a run goes, told on stderr: a live view in a terminal, plain lines elsewhere; and its summary.

Nothing here runs while something is timed: the view has no thread of its own and is drawn between trials.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from time import monotonic

from rich.console import Console
from rich.markup import escape

from grailbench import paths
from grailbench.bench.plan import Cell, Plan
from grailbench.cli.views.live import LiveView
from grailbench.contract import USUAL, Input, Problem, Workload, problem
from grailbench.report.footnotes import Footnotes
from grailbench.runs.environment import usable_cores
from grailbench.runs.rows import cell_of, sampled, standing
from grailbench.screen import Grid, fold
from grailbench.words import count, grouped, steady


class Screen:
    """A `Watcher` for people; with `as_json` each row is printed on stdout as soon as it is on disk."""

    def __init__(self, as_json: bool = False, console: Console | None = None):
        self.console = console or Console(stderr=True, highlight=False)
        self.as_json = as_json
        self.live: LiveView | None = None
        self._began = 0.0

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *exc) -> None:
        if self.live is not None:
            self.live.stop()

    def note(self, text: str) -> None:
        """A line of its own, folded between words in a terminal."""
        for line in fold(text, self.console.width) if self.console.is_terminal else [text]:
            self.console.print(escape(line), soft_wrap=True)

    def began(self, folder: Path | None, plan: Plan, steps: int) -> None:
        graphs = len(plan.by_dataset())
        what = f"{count(len(plan.cells), 'cell')} on {count(graphs, 'graph')}"
        self.note(what if folder is None else f"{what}, rows go to {paths.shown(folder)}")
        if self.console.is_terminal and not (self.as_json and sys.stdout.isatty()):
            self.live = LiveView(self.console, plan, steps)

    def opened(self, graph: Input, cells: int) -> None:
        self._began = monotonic()
        kind = {True: "real, checksum verified", False: "real, checksum not verified"}.get(graph.verified, graph.kind)
        self.note(f"{graph.name}: {graph.vertices:,} vertices, {graph.edges:,} edges ({kind}), {count(cells, 'cell')}")

    def answered(self, graph: Input, checkers: dict[str, Workload], cells: list[Cell]) -> None:
        for name, checker in checkers.items():
            sound = count(sum(cell.queries.name == name for cell in cells), "cell")
            end = ": their times are sampled" if sampled(checker.method) else ""
            self.note(f"  {name}: {checker.describe()}; {sound} verified by {checker.method}{end}")

    def timed(self, graph: Input) -> None:
        self.note(f"  done in {monotonic() - self._began:.1f} s")

    def step(self, cell: Cell, doing: str, steps: int = 1) -> None:
        if self.live is not None:
            self.live.step(cell, doing, steps)

    def trouble(self, cell: Cell, status: str, reason: str) -> None:
        self.note(f"  {status.upper()}: {cell.dataset} {cell.label()}: {reason}")

    def rows(self, rows: list[dict]) -> None:
        if self.live is not None:
            self.live.view.rows(rows)
        if self.as_json:
            for row in rows:
                sys.stdout.write(json.dumps(row) + "\n")
            sys.stdout.flush()


def plan_table(plan: Plan, missing: list[str]) -> Grid:
    """The cells of a plan; graphs that are not in the cache are marked."""
    absent, cores = set(missing), usable_cores()
    title = f"{plan.name}: {count(len(plan.cells), 'cell')} on {count(len(plan.by_dataset()), 'graph')}"
    heads = ["dataset", "impl", "d", "search", "filters", "order", "threads", "queries", "trials", "warm-up", "notes"]
    lines = []
    for cell in (cell for cells in plan.by_dataset().values() for cell in cells):
        notes = []
        if cell.dataset in absent:
            notes.append(f"to fetch, else {cell.dataset}-like" if cell.fallback else "to fetch")
        notes += ["from edges too"] if cell.from_edges else []
        notes += [f"at most {cell.time_limit:g} s"] if cell.time_limit else []
        notes += ["a process of its own"] if cell.process == "own" else []
        notes += [f"{count(cores, 'core')} here"] if (cell.threads or 0) > cores else []
        notes += [f"{cell.devices} GPUs"] if (cell.devices or 1) > 1 else []
        notes = [cell.problem, *notes] if cell.problem != USUAL else notes
        values = (cell.dataset, cell.impl, cell.dim, cell.search, cell.filters, cell.order, cell.threads)
        counts = (cell.queries.name, cell.trials, cell.warmup, ", ".join(notes))
        lines.append([_text(value) for value in (*values, *counts)])
    return Grid(title, heads, lines, frozenset({"d", "threads", "trials", "warm-up"}), keys=8)


def summary_tables(plan: Plan, rows: list[dict], timing: bool = True) -> list[Grid | str]:
    """A table a problem, one line a cell in the plan's order: median times in ms, rate, positive count, how it was
    checked, status; below it, each once, why cells have no times."""
    groups = _by_cell(plan, rows)
    names = list(dict.fromkeys(group[-1]["problem"] or USUAL for group in groups))
    several = names not in ([USUAL], [])
    return [
        part
        for name in names or [USUAL]
        for part in _summary(problem(name), [g for g in groups if (g[-1]["problem"] or USUAL) == name], timing, several)
    ]


def _summary(solved: Problem, groups: list[list[dict]], timing: bool, named: bool) -> list[Grid | str]:
    foot = Footnotes()
    rows = [row for group in groups for row in group]
    times = [f"{phase} ms" for phase in solved.phases] if timing else []
    if any(row["phase"] == "ready" for row in rows):
        times.append("ready ms")
    rates = [solved.rate] if timing and solved.rate else []
    axes = {"d": "dim", "search": "search", "filters": "filters", "threads": "threads"}
    if any((row.get("devices") or 1) > 1 for row in rows):
        axes["GPUs"] = "devices"
    if solved.name != USUAL:
        axes = {head: axis for head, axis in axes.items() if any(row[axis] is not None for row in rows)}
    numbers = ["d", "threads", "GPUs", "trials", *times, *rates, solved.answer]
    heads = ["dataset", "impl", *axes, "query set", *(["trials", *times, *rates] if timing else [])]
    title = "medians of the trials" if timing else ""
    lines = []
    for group in groups:
        last = group[-1]
        cells = [last[name] for name in ("dataset", "impl", *axes.values(), "query_set")]
        if timing:
            medians = [_median(group, head.split()[0]) for head in times]
            trials = sum(row["phase"] == solved.phases[-1] and not row["under"] for row in group)
            cells += [trials, *medians, *([_median_rate(group)] if rates else [])]
        cells += [grouped(last["positives"]), last["verified"]]
        status, reason = standing(group)
        lines.append([_text(value) for value in (*cells, foot.status(status, reason))])
    title = ": ".join(part for part in (solved.name if named else "", title) if part)
    heads += [solved.answer, "checked by", "status"]
    return [Grid(title, heads, lines, frozenset(numbers), keys=3 + len(axes)), *foot.lines()]


def _median_rate(rows: list[dict]) -> str:
    """Median rate to three significant digits, '' where there is none."""
    rates = [row["rate"] for row in rows if row.get("rate") is not None]
    return f"{statistics.median(rates):.3g}" if rates and standing(rows)[0] != "wrong" else ""


def _by_cell(plan: Plan, rows: list[dict]) -> list[list[dict]]:
    """The rows of each cell that has some; cells that only an earlier sitting had come last."""
    cells = [cell for graph in plan.by_dataset().values() for cell in graph]
    groups: dict[str, list[dict]] = {cell_of(cell.columns()): [] for cell in cells}
    for row in rows:
        groups.setdefault(cell_of(row), []).append(row)
    return [group for group in groups.values() if group]


def _median(rows: list[dict], phase: str) -> str:
    """Median ms of a phase to three significant digits; '' where a wrong cell, or none, has no time."""
    times = [row["ms"] for row in rows if row["phase"] == phase and not row["under"]]
    if not times or standing(rows)[0] == "wrong":
        return ""
    return steady(statistics.median(times))


def _text(value) -> str:
    return "" if value is None else str(value)
