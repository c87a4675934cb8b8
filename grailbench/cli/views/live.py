"""The live view of a run in a terminal: current cell, stage, trial, time left, and the fastest cell so far.

It is updated between trials only and computes nothing while something is timed.
"""

from __future__ import annotations

from time import monotonic

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from grailbench.harness.plan import Cell, Plan
from grailbench.harness.rows import cell_of, ends_trial, sampled
from grailbench.util.visible import visible
from grailbench.util.words import brief, clock

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
