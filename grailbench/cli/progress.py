"""The progress of a run on stderr, as a live view in a terminal and as lines elsewhere; and the summary of a run.

Nothing here runs while something is timed: there is no thread, and the live view is drawn between trials.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import monotonic

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from grailbench.cli.printing import put_json
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
from grailbench.report.table import Footnotes
from grailbench.util import paths
from grailbench.util.screen import Grid, error_console, fold
from grailbench.util.visible import visible
from grailbench.util.words import brief, clock, count, grouped, listing, median


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
        names = [f"{cell.name} ({', '.join(said.rules)})" for cell, said in verdicts if not said.stable]
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
            self.live.view.rows(rows)
        if self.as_json:
            put_json(rows)


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
    """Cells in the order of the plan; cells of an earlier session that the plan lacks come last."""
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


# ------------------------------------------------------------------ the live view

FIRST, TRIAL = "first", "trial"  #: kinds of steps: verifying and warming up, and timing
DRAW_SECONDS = 0.1  #: the least time between two drawings
LONG_SECONDS = 0.5  #: if the last step of a cell took so long, its next step is always drawn


class View:
    """The state of a run as lines of text. `now` is a clock in seconds."""

    def __init__(self, plan: Plan, steps: int, now=monotonic):
        self._now = now
        self.steps, self.done = steps, 0
        timing = steps != len(plan.cells)  # with one step a cell, cells are only verified
        keyed = {cell_of(cell.columns()): cell for cell in plan.cells}
        self._left = {key: {FIRST: 1 + timing * c.warmup, TRIAL: timing * c.trials} for key, c in keyed.items()}
        self._graph = {key: cell.dataset for key, cell in keyed.items()}
        self._spent: dict[tuple[str, str], list[float]] = {}  # seconds of steps, by cell and kind
        self._took: dict[str, float] = {}  # seconds of the last step of a cell
        self._best: dict[tuple, tuple[float, str, str]] = {}
        self._last: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._since = now()
        self.cell: Cell | None = None
        self.doing = ""

    def step(self, cell: Cell, doing: str, steps: int) -> None:
        """Records that so many steps of a cell are done; 0 means that a step begins."""
        key, moment = cell_of(cell.columns()), self._now()
        self.cell, self.doing = cell, doing
        self._names[key] = cell.label()
        if steps and doing == "done before":
            self._finish(key, TRIAL, steps)
        elif steps:
            kind = TRIAL if doing.startswith(TRIAL) else FIRST
            self._took[key] = (moment - self._since) / steps
            self._spent.setdefault((key, kind), []).append(self._took[key])
            self._finish(key, kind, steps)
        self._since = moment

    def rows(self, rows: list[dict]) -> None:
        """Takes the rows of a trial, or the one row of a cell that ended without times."""
        for row in rows:
            key = cell_of(row)
            if row["phase"] is None:
                if row["status"] != "ok":
                    self._finish(key, TRIAL, sum(self._left.get(key, {}).values()))
            elif ends_trial(row):
                top = [f"{r['phase']} {brief(r['ms'])} ms" for r in rows if not r["under"]]
                top += ["sampled"] if sampled(row["verified"]) else []
                self._last[key] = ", ".join(top)
                place = (row["dataset"], row["query_set"], row["problem"])
                best = self._best.get(place)
                if best is None or row["ms"] < best[0]:
                    name = self._names.get(key, row["impl"]) + (", sampled" if sampled(row["verified"]) else "")
                    self._best[place] = (row["ms"], name, row["phase"])

    def _finish(self, key: str, kind: str, steps: int) -> None:
        """Subtracts steps from those left of a cell: of this kind, and then of the other if there are too few."""
        self.done += steps
        left = self._left.get(key, {})
        for each in sorted(left, key=lambda name: name != kind):
            taken = min(left[each], steps)
            left[each] -= taken
            steps -= taken

    @property
    def slow(self) -> bool:
        """True if the last step of the current cell took `LONG_SECONDS` or more."""
        return self.cell is not None and self._took.get(cell_of(self.cell.columns()), 0.0) >= LONG_SECONDS

    def seconds_left(self) -> float | None:
        """The expected time of the steps that are left, from the mean of such steps of the cell, its graph or the run.

        None before the first trial has ended or, in a run without trials, before a second cell is verified. Times of
        verifying do not predict those of trials, as verifying compiles kernels and checks answers.
        """
        total = 0.0
        for kind in (FIRST, TRIAL):
            owing = {key: left[kind] for key, left in self._left.items() if left[kind]}
            spent = {key: own for (key, each), own in self._spent.items() if each == kind}
            if kind == TRIAL and owing and not spent:
                return None
            if kind == FIRST and owing and len(spent) < 2 and not any(left[TRIAL] for left in self._left.values()):
                return None
            graphs: dict[str, list[float]] = {}
            for key, own in spent.items():
                graphs.setdefault(self._graph.get(key, ""), []).extend(own)
            everything = [each for own in spent.values() for each in own]
            for key, left in owing.items():
                pace = spent.get(key) or graphs.get(self._graph[key]) or everything or [0.0]
                total += left * sum(pace) / len(pace)
        return total

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


def duration(seconds: float | None) -> str:
    """'about 0:01:05 left'; '' if unknown."""
    return "" if seconds is None else f"about {clock(seconds)} left"


class LiveView:
    """A view at the bottom of a terminal, which is drawn only by calls of `step` and `draw`."""

    def __init__(self, console: Console, plan: Plan, steps: int):
        self.view = View(plan, steps)
        self._drawn = 0.0
        columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.fields[left]}"))
        self._bar = Progress(*columns, console=console)
        self._task = self._bar.add_task("", total=steps, left="")
        self._live = Live(
            get_renderable=self._picture, console=console, auto_refresh=False, transient=True, redirect_stdout=False
        )
        self._live.start()

    def step(self, cell: Cell, doing: str, steps: int) -> None:
        """Updates the view, and draws it unless it was drawn a moment ago."""
        self.view.step(cell, doing, steps)
        if monotonic() - self._drawn > DRAW_SECONDS or (steps == 0 and self.view.slow):
            self.draw()

    def draw(self) -> None:
        """Draws the view now."""
        left = duration(self.view.seconds_left())
        self._bar.update(self._task, completed=min(self.view.done, self.view.steps), left=left)
        self._live.refresh()
        self._drawn = monotonic()

    def stop(self) -> None:
        """Removes the view; the lines that were printed above it stay."""
        self._live.stop()

    def _picture(self) -> Group:
        lines = (Text(visible(line), no_wrap=True, overflow="ellipsis") for line in self.view.lines())
        return Group(*lines, self._bar.get_renderable())
