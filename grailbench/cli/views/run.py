"""The progress of a run on stderr, as a live view in a terminal and as lines elsewhere; and the summary of a run.

Nothing here runs while something is timed: there is no thread, and the live view is drawn between trials.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import monotonic

from rich.console import Console
from rich.text import Text

from grailbench.cli.views import put_json
from grailbench.cli.views.live import LiveView
from grailbench.compare.stability import verdict, warnings
from grailbench.harness import axes
from grailbench.harness.axes import Axis
from grailbench.harness.cells import Cell as Measured
from grailbench.harness.cells import cells
from grailbench.harness.environment import usable_cores
from grailbench.harness.folder import spoken
from grailbench.harness.plan import Cell, Plan
from grailbench.harness.rows import cell_of, sampled
from grailbench.harness.runner import Finished
from grailbench.harness.statistics import Stats
from grailbench.problems.contract import USUAL, Input, Problem, Workload, problem
from grailbench.report import answer
from grailbench.report.table import Footnotes
from grailbench.util import paths
from grailbench.util.screen import Grid, apart, fold
from grailbench.util.visible import visible
from grailbench.util.words import count, grouped, listing, median


class RunView:
    """A `Watcher` that prints progress; if `as_json`, also each row on stdout as soon as it is on disk."""

    def __init__(self, as_json: bool = False, console: Console | None = None):
        self.console = console or apart()
        self.as_json = as_json
        self.live: LiveView | None = None
        self._began = 0.0
        self._rows: list[dict] = []  # of the graph at hand

    def __enter__(self) -> RunView:
        return self

    def __exit__(self, *exc) -> None:
        if self.live is not None:
            self.live.stop()

    def note(self, text: str) -> None:
        """Prints a line, folded between words in a terminal."""
        text = visible(text)
        for line in fold(text, self.console.width) if self.console.is_terminal else [text]:
            self.console.print(Text(line), soft_wrap=True)

    def began(self, folder: Path | None, plan: Plan, steps: int) -> None:
        graphs = len(plan.by_dataset())
        what = f"{count(len(plan.cells), 'cell')} on {count(graphs, 'graph')}"
        self.note(what if folder is None else f"{what}, rows go to {paths.shown(folder)}")
        if self.console.is_terminal and not (self.as_json and sys.stdout.isatty()):
            self.live = LiveView(self.console, plan, steps)

    def opened(self, graph: Input, cells: int) -> None:
        self._began, self._rows = monotonic(), []
        kind = {True: "real, checksum verified", False: "real, checksum not verified"}.get(graph.verified, graph.kind)
        self.note(f"{graph.name}: {graph.vertices:,} vertices, {graph.edges:,} edges ({kind}), {count(cells, 'cell')}")

    def answered(self, graph: Input, checkers: dict[str, Workload], cells: list[Cell]) -> None:
        for name, checker in checkers.items():
            sound = count(sum(cell.queries.name == name for cell in cells), "cell")
            end = ": their times are sampled" if sampled(checker.method) else ""
            self.note(f"  {name}: {checker.describe()}; {sound} verified by {checker.method}{end}")

    def timed(self, graph: Input) -> None:
        took = monotonic() - self._began
        verdicts = [(cell, verdict(cell)) for cell in cells(self._rows)]
        names = [f"{cell.name} ({', '.join(said.rules)})" for cell, said in verdicts if not said.stable]
        self.note(f"  done in {took:.1f} s" + (f"; unstable: {listing(names)}" if names else ""))

    def step(self, cell: Cell, doing: str, steps: int = 1) -> None:
        if self.live is not None:
            self.live.step(cell, doing, steps)

    def trouble(self, cell: Cell, status: str, reason: str) -> None:
        self.note(f"  {status.upper()}: {cell.dataset} {cell.label()}: {reason}")

    def rows(self, rows: list[dict]) -> None:
        self._rows += rows
        if self.live is not None:
            self.live.view.rows(rows)
        if self.as_json:
            put_json(rows)


def plan_table(plan: Plan, missing: list[str]) -> Grid:
    """The cells of a plan as a table, with notes such as which graphs must be fetched."""
    absent, cores = set(missing), usable_cores()
    title = f"{plan.name}: {count(len(plan.cells), 'cell')} on {count(len(plan.by_dataset()), 'graph')}"
    columns, late = ([axis for axis in axes.shown() if axis.late is late] for late in (False, True))
    heads = ["dataset", "impl", *(axis.header for axis in columns), "queries", "trials", "warm-up", "notes"]
    lines = []
    for cell in (cell for graph in plan.by_dataset().values() for cell in graph):
        notes = []
        if cell.dataset in absent:
            notes.append(f"to fetch, else {cell.dataset}-like" if cell.fallback else "to fetch")
        notes += ["from edges too"] if cell.from_edges else []
        notes += ["energy too"] if cell.energy else []
        notes += [f"at most {cell.time_limit:g} s"] if cell.time_limit else []
        notes += [f"at most {cell.memory_limit:g} GiB"] if cell.memory_limit else []
        notes += ["a process of its own"] if cell.process == "own" else []
        notes += [f"{count(cores, 'core')} here"] if (cell.threads or 0) > cores else []
        notes += [axis.words(value) for axis in late if (value := getattr(cell, axis.name)) not in axis.unsaid]
        notes = [cell.problem, *notes] if cell.problem != USUAL else notes
        values = (cell.dataset, cell.impl, *(getattr(cell, axis.name) for axis in columns))
        counts = (cell.queries.name, cell.trials, cell.warmup, ", ".join(notes))
        lines.append([_text(value) for value in (*values, *counts)])
    numbers = {"trials", "warm-up", *(axis.header for axis in columns if axis.number)}
    return Grid(title, heads, lines, frozenset(numbers), keys=3 + len(columns))


def summary_tables(plan: Plan, found: list[Measured], timing: bool = True) -> list[Grid | str]:
    """A table for each problem, with a line for each cell in the plan's order: median times in ms, rate, number of
    positive answers, how they were checked, status. Below it are the reasons why cells have no times."""
    found = _in_order(plan, found)
    names = list(dict.fromkeys(cell.problem for cell in found))
    several = names not in ([USUAL], [])
    return [
        part
        for name in names or [USUAL]
        for part in _summary(problem(name), [cell for cell in found if cell.problem == name], timing, several)
    ]


def answered(found: list[Measured]) -> list[str]:
    """Sentences that say which configuration is fastest; none if there is nothing to compare."""
    lines = answer.sentences(found)
    return [f"{answer.TITLE}:", *lines, ""] if lines else []


def unstable(done: Finished) -> list[str]:
    """What is said loudly of times that cannot be trusted, machine by machine, with the remedy."""
    return [line for own, found in done.by_machine for line in warnings(found, own, spoken(done.folder))]


def _in_order(plan: Plan, found: list[Measured]) -> list[Measured]:
    """Cells in the order of the plan; cells of an earlier sitting that the plan lacks come last."""
    planned = [cell_of(cell.columns()) for graph in plan.by_dataset().values() for cell in graph]
    places = {key: at for at, key in enumerate(planned)}
    return sorted(found, key=lambda cell: places.get(cell.key, len(places)))


def _summary(solved: Problem, found: list[Measured], timing: bool, named: bool) -> list[Grid | str]:
    foot = Footnotes()
    phases = [*(solved.phases if timing else ()), *(["ready"] if any("ready" in cell.timed for cell in found) else [])]
    times = [f"{phase} ms" for phase in phases]
    rates = [solved.rate] if timing and solved.rate else []
    columns = [axis for axis in axes.shown() if _has_column(axis, solved, found)]
    numbers = [*(axis.header for axis in columns if axis.number), "trials", *times, *rates, solved.answer]
    heads = ["dataset", "impl", *(axis.header for axis in columns), "query set"]
    heads += ["trials", *times, *rates] if timing else []
    lines = []
    for cell in found:
        values = [cell.dataset, cell.impl, *map(cell.shown, columns), cell.query_set]
        if timing:
            values += [len(cell.timed.get(solved.phases[-1], ())), *(_median(cell, phase) for phase in phases)]
            values += [f"{Stats.of(list(cell.rates.values())).median:.3g}" if cell.rates else ""] if rates else []
        values += [grouped(cell.positives), cell.verified]
        lines.append([_text(value) for value in (*values, foot.status(cell.status, cell.reason))])
    title = ": ".join(filter(None, (solved.name if named else "", "medians of the trials" if timing else "")))
    heads += [solved.answer, "checked by", "status"]
    return [Grid(title, heads, lines, frozenset(numbers), keys=3 + len(columns)), *foot.lines()]


def _has_column(axis: Axis, solved: Problem, found: list[Measured]) -> bool:
    """Whether a summary has a column for an axis: if the axis always has one, or if labels would name a value."""
    if axis.summary:
        return solved.name == USUAL or any(cell.shown(axis) not in (None, "") for cell in found)
    return any(cell.axes[axis.name] not in axis.unsaid for cell in found)


def _median(cell: Measured, phase: str) -> str:
    """Median ms of a phase; '' if it has no times."""
    return "" if (found := cell.stats(phase)) is None else median(found.median)


def _text(value) -> str:
    return "" if value is None else str(value)
