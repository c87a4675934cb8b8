"""The progress of a run on stderr, as a live view in a terminal and as lines elsewhere; and the summary of a run.

Nothing here runs while something is timed: there is no thread, and the live view is drawn between trials.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import monotonic

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from grailbench.cli.printing import put_json, table
from grailbench.compare import answer
from grailbench.compare.stability import verdict, warnings
from grailbench.harness import axes
from grailbench.harness.axes import Axis
from grailbench.harness.cells import Cell as Measured
from grailbench.harness.cells import cells
from grailbench.harness.folder import spoken
from grailbench.harness.plan import Cell, Plan
from grailbench.harness.rows import cell_of, ends_trial, sampled
from grailbench.harness.runner import Finished
from grailbench.harness.statistics import Stats
from grailbench.problems.contract import USUAL, Input, Problem, Workload, problem
from grailbench.report.table import Footnotes, Table
from grailbench.util import paths
from grailbench.util.screen import error_console, fold
from grailbench.util.visible import visible
from grailbench.util.words import brief, count, grouped, listing, ms


class RunView:
    """A `Watcher` that prints progress.

    as_json  print each row on stdout too, as soon as it is on disk
    quiet    do not print cells that have no times, which are named at the end
    """

    def __init__(self, as_json: bool = False, console: Console | None = None, quiet: bool = False):
        self.console = console or error_console()
        self.as_json, self.quiet = as_json, quiet
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
        names = [f"{cell.name} ({', '.join(found.rules)})" for cell, found in verdicts if not found.stable]
        self.note(f"  done in {took:.1f} s" + (f"; unstable: {listing(names)}" if names else ""))

    def step(self, cell: Cell, doing: str, steps: int = 1) -> None:
        if self.live is not None:
            self.live.step(cell, doing, steps)

    def trouble(self, cell: Cell, status: str, reason: str) -> None:
        if not self.quiet:
            self.note(f"  {status.upper()}: {cell.dataset} {cell.label()}: {reason}")

    def rows(self, rows: list[dict]) -> None:
        self._rows += rows
        if self.live is not None:
            self.live.rows(rows)
        if self.as_json:
            put_json(rows)


def summary_tables(plan: Plan, found: list[Measured], timing: bool = True) -> list[Table | str]:
    """A table for each problem, with a line for each cell in the plan's order: median times in ms, rate, number of
    positive answers, how they were checked, status. Below it are the reasons why cells have no times."""
    planned = [cell_of(cell.columns()) for graph in plan.by_dataset().values() for cell in graph]
    places = {key: at for at, key in enumerate(planned)}  # cells of an earlier session that the plan lacks come last
    found = sorted(found, key=lambda cell: places.get(cell.key, len(places)))
    names = list(dict.fromkeys(cell.problem for cell in found)) or [USUAL]
    return [
        part
        for name in names
        for part in _summary(problem(name), [cell for cell in found if cell.problem == name], timing, names != [USUAL])
    ]


def answered(found: list[Measured]) -> list[str]:
    """Sentences that say which configuration is fastest; none if there is nothing to compare."""
    lines = answer.sentences(found)
    return [f"{answer.TITLE}:", *lines, ""] if lines else []


def unstable(done: Finished) -> list[str]:
    """Warnings of times that are unstable, machine by machine, with the remedy."""
    return [line for own, found in done.by_machine for line in warnings(found, own, spoken(done.folder))]


def _summary(solved: Problem, found: list[Measured], timing: bool, named: bool) -> list[Table | str]:
    foot = Footnotes()
    phases = [*(solved.phases if timing else ()), *(["ready"] if any("ready" in cell.timed for cell in found) else [])]
    shown = [axis for axis in axes.shown() if _has_column(axis, solved, found)]
    columns = {"dataset": "dataset", "impl": "impl"}
    columns |= {axis.header: lambda cell, axis=axis: cell.shown(axis) for axis in shown}
    columns["query set"] = "query_set"
    times = {f"{phase} ms": lambda cell, phase=phase: _median(cell, phase) for phase in phases} if timing else {}
    if timing:
        columns |= {"trials": lambda cell: len(cell.timed.get(solved.phases[-1], ())), **times}
        if solved.rate:
            columns[solved.rate] = lambda cell: (
                f"{Stats.of(list(cell.rates.values())).median:.3g}" if cell.rates else ""
            )
    columns |= {
        solved.answer: lambda cell: grouped(cell.positives), "checked by": "verified",
        "status": lambda cell: foot.status(cell.status, cell.reason),
    }  # fmt: skip
    numbers = [*(axis.header for axis in shown if axis.number), "trials", *times, solved.rate, solved.answer]
    title = ": ".join(filter(None, (solved.name if named else "", "medians of the trials" if timing else "")))
    return [table(title, columns, found, numbers, keys=3 + len(shown)), *foot.lines()]


def _has_column(axis: Axis, solved: Problem, found: list[Measured]) -> bool:
    """Whether a summary has a column for an axis: if the axis always has one, or if labels would name a value."""
    if axis.summary:
        return solved.name == USUAL or any(cell.shown(axis) not in (None, "") for cell in found)
    return any(cell.axes[axis.name] not in axis.unsaid for cell in found)


def _median(cell: Measured, phase: str) -> str:
    """Median ms of a phase; '' if it has no times."""
    return "" if (found := cell.stats(phase)) is None else ms(found.median)


# ------------------------------------------------------------------ the live view

DRAW_SECONDS = 0.1  #: the least time between two drawings
PACE_SECONDS = 3600.0  #: the time left is estimated from the steps of so many last seconds


class View:
    """The state of a run of so many steps as lines of text; `done` steps are over."""

    def __init__(self, plan: Plan, steps: int):
        self.steps, self.done = steps, 0
        timing = steps != len(plan.cells)  # with one step a cell, cells are only verified
        self._left = {cell_of(c.columns()): 1 + timing * (c.warmup + c.trials) for c in plan.cells}
        self._best: dict[tuple, tuple[float, str, str]] = {}
        self._last: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self.cell: Cell | None = None
        self.doing = ""

    def step(self, cell: Cell, doing: str, steps: int) -> None:
        """Records that so many steps of a cell are done; 0 means that a step begins."""
        key = cell_of(cell.columns())
        self.cell, self.doing, self._names[key] = cell, doing, cell.label()
        self._finish(key, steps)

    def rows(self, rows: list[dict]) -> None:
        """Takes the rows of a trial, or the one row of a cell that ended without times."""
        for row in rows:
            key = cell_of(row)
            if row["phase"] is None:
                if row["status"] != "ok":
                    self._finish(key, self._left.get(key, 0))
            elif ends_trial(row):
                some = ["sampled"] if sampled(row["verified"]) else []
                top = [f"{r['phase']} {brief(r['ms'])} ms" for r in rows if not r["under"]]
                self._last[key] = ", ".join(top + some)
                place = (row["dataset"], row["query_set"], row["problem"])
                if place not in self._best or row["ms"] < self._best[place][0]:
                    name = self._names.get(key, row["impl"])
                    self._best[place] = (row["ms"], ", ".join([name, *some]), row["phase"])

    def _finish(self, key: str, steps: int) -> None:
        self.done += steps
        self._left[key] = max(self._left.get(key, 0) - steps, 0)

    def lines(self) -> list[str]:
        """The cell, its stage and last times, and the fastest cell so far on this graph and these queries."""
        if self.cell is None:
            return []
        last = self._last.get(cell_of(self.cell.columns()))
        found = [f"{self.cell.dataset}: {self.cell.label()}", f"{self.doing}; last {last}" if last else self.doing]
        best = self._best.get((self.cell.dataset, self.cell.queries.name, self.cell.problem))
        if best is not None:
            found.append(f"best {best[2]} so far on {self.cell.dataset}: {brief(best[0])} ms, {best[1]}")
        return found


class LiveView(View):
    """A view at the bottom of a terminal, which is drawn only by calls of `step` and `draw`."""

    def __init__(self, console: Console, plan: Plan, steps: int):
        super().__init__(plan, steps)
        self._drawn = 0.0
        columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=console, speed_estimate_period=PACE_SECONDS)
        self._task = self._bar.add_task("", total=steps)
        self._live = Live(
            get_renderable=self._picture, console=console, auto_refresh=False, transient=True, redirect_stdout=False
        )
        self._live.start()

    def step(self, cell: Cell, doing: str, steps: int) -> None:
        """Updates the view; draws it when a step begins, unless it was drawn a moment ago."""
        super().step(cell, doing, steps)
        self._bar.update(self._task, completed=min(self.done, self.steps))
        if steps == 0 and monotonic() - self._drawn > DRAW_SECONDS:
            self.draw()

    def draw(self) -> None:
        """Draws the view now."""
        self._live.refresh()
        self._drawn = monotonic()

    def stop(self) -> None:
        """Removes the view; the lines that were printed above it stay."""
        self._live.stop()

    def _picture(self) -> Group:
        lines = (Text(visible(line), no_wrap=True, overflow="ellipsis") for line in self.lines())
        return Group(*lines, self._bar.get_renderable())
