"""The progress of a run on stderr, as a live view in a terminal and as lines elsewhere; and the summary of a run.

Nothing here runs while something is timed: there is no thread, and the live view is drawn between trials.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from grailbench.cli.printing import put_json
from grailbench.compare.stability import verdict, warnings
from grailbench.harness.cells import Cell as Measured
from grailbench.harness.cells import cells
from grailbench.harness.folder import spoken
from grailbench.harness.plan import Cell, Plan
from grailbench.harness.rows import cell_of, ends_trial, sampled
from grailbench.harness.runner import Finished
from grailbench.problems.contract import USUAL, Input, Workload
from grailbench.report import measured
from grailbench.report.table import Table
from grailbench.util import paths
from grailbench.util.cores import usable_cores
from grailbench.util.screen import error_console, fold
from grailbench.util.visible import visible
from grailbench.util.words import brief, count, listing


class RunView:
    """A `Watcher` that prints progress.

    as_json  print each row on stdout too, as soon as it is on disk
    quiet    do not print cells that have no times, which are named at the end
    """

    def __init__(self, as_json: bool = False, console: Console | None = None, quiet: bool = False):
        self.console = console or error_console()
        self.as_json, self.quiet = as_json, quiet
        self.live: View | None = None
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
            self.live = View(plan, steps, self.console)
            self.live.start()

    def opened(self, graph: Input, cells: int) -> None:
        self._began, self._rows = monotonic(), []
        kind = {True: "real, checksum verified", False: "real, checksum not verified"}.get(graph.verified, graph.kind)
        size = f"{graph.vertices:,} vertices, {graph.edges:,} edges" + " with the super-root" * hasattr(graph, "dag")
        self.note(f"{graph.name}: {size} ({kind}), {count(cells, 'cell')}")

    def answered(self, graph: Input, checkers: dict[str, Workload], cells: list[Cell]) -> None:
        for name, checker in checkers.items():
            sound = count(sum(cell.queries.name == name for cell in cells), "cell")
            end = ": their times are sampled" if sampled(checker.method) else ""
            self.note(f"  {name}: {checker.describe()}; {sound} verified by {checker.method}{end}")

    def timed(self, graph: Input) -> None:
        took = monotonic() - self._began
        verdicts = [(cell, verdict(cell)) for cell in cells(self._rows, environment={"cores": usable_cores()})]
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


def summary(found: list[Measured]) -> list[Table]:
    """A table for each problem, with a line for each cell; below it are the reasons why cells have no times."""
    names = list(dict.fromkeys(cell.problem for cell in found)) or [USUAL]
    return [measured.table([cell for cell in found if cell.problem == name], name) for name in names]


def unstable(done: Finished) -> list[str]:
    """Warnings of times that are unstable, machine by machine, with the remedy."""
    return [line for _, found in done.by_machine for line in warnings(found, spoken(done.folder))]


# ------------------------------------------------------------------ the live view

DRAW_SECONDS = 0.1  #: the least time between two drawings
PACE_SECONDS = 3600.0  #: the time left is estimated from the steps of so many last seconds


class View(Progress):
    """The state of a run of so many steps: lines of text and a bar at the bottom of a terminal, which are drawn only by
    calls of `step` and `refresh`. `done` steps are over."""

    cell: Cell | None = None
    doing = ""

    def __init__(self, plan: Plan, steps: int, console: Console | None = None):
        super().__init__(
            BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(), console=console,
            auto_refresh=False, transient=True, redirect_stdout=False, speed_estimate_period=PACE_SECONDS,
        )  # fmt: skip
        self.steps, self.done, self._drawn = steps, 0, 0.0
        self._bar = self.add_task("", total=steps)
        timing = steps != len(plan.cells)  # with one step a cell, cells are only verified
        self._left = {cell_of(c.columns()): 1 + timing * (c.warmup + c.trials) for c in plan.cells}
        self._best: dict[tuple, tuple[float, str, str]] = {}
        self._last: dict[str, str] = {}
        self._names: dict[str, str] = {}

    def step(self, cell: Cell, doing: str, steps: int) -> None:
        """Records that so many steps of a cell are done. 0 means that a step begins: then the view is drawn, unless it
        was drawn a moment ago."""
        key = cell_of(cell.columns())
        self.cell, self.doing, self._names[key] = cell, doing, cell.label()
        self._finish(key, steps)
        if steps == 0 and monotonic() - self._drawn > DRAW_SECONDS:
            self.refresh()
            self._drawn = monotonic()

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
        self.update(self._bar, completed=min(self.done, self.steps))

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

    def get_renderables(self) -> Iterator[RenderableType]:
        """The lines, and the bar below them."""
        yield from (Text(visible(line), no_wrap=True, overflow="ellipsis") for line in self.lines())
        yield from super().get_renderables()
