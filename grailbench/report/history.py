"""A history of runs as tables, a figure, and blocks of a page: the steps, worst first, and what they are steps of."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from grailbench.compare.gate import Gate
from grailbench.compare.ratios import span
from grailbench.compare.runs import with_last_phases
from grailbench.errors import NothingMeasured
from grailbench.harness import plugins
from grailbench.harness.cells import Cell, Run
from grailbench.report.figure import Axis, Figure, Mark, Marks, Panel
from grailbench.report.page.sections import Block
from grailbench.report.render.csv import csv
from grailbench.report.series import COUNTERS, STATUS, TIME, History, Step, began, history, steps
from grailbench.report.table import Table
from grailbench.util import words

if TYPE_CHECKING:
    import pandas

KINDS = (TIME, COUNTERS, STATUS)
Link = Callable[[Run, Cell], str]  #: the address of a cell of a run, for pages
TITLE = "History"
_PANELS = 12  # of the figure
_WORDS = {
    (TIME, "regression"): "SLOWER", (TIME, "improvement"): "faster", (COUNTERS, "regression"): "MORE WORK",
    (COUNTERS, "improvement"): "less work", (COUNTERS, "changed"): "changed", (STATUS, "regression"): "LOST",
    (STATUS, "improvement"): "found again",
}  # fmt: skip
_ORDER = {"regression": 0, "improvement": 1, "changed": 2}


@dataclass(frozen=True)
class Told:
    """What is told of a history: its phases and its steps, worst first."""

    history: History
    phases: tuple[str, ...]
    steps: list[Step]

    @cached_property
    def runs(self) -> list[Run]:
        """The runs that belong to a series of runs."""
        return [run for machine in self.history.machines for run in machine.runs]

    def check(self) -> None:
        """Raises NothingMeasured if no cell is in two runs of one machine."""
        if not self.history.series:
            reasons = "; ".join(dict.fromkeys(f"{run.name} {reason}" for run, reason in self.history.apart))
            raise NothingMeasured(f"no cell is in two runs of one machine{': ' if reasons else ''}{reasons}")


def of_runs(
    runs: Iterable[Run], gate: Gate | None = None, kinds: Iterable[str] = KINDS,
    wanted: Callable[[Cell], bool] = lambda cell: True, phases: Iterable[str] = (),
) -> Told:  # fmt: skip
    """The history of some runs.

    gate    what is no step, as for `compare`
    kinds   of steps that are looked for: 'time', 'counters', 'status'
    wanted  which cells are looked at
    phases  of the times, by default the gate's and the last ones of the runs' problems
    """
    runs = list(runs)
    chosen = tuple(phases) or tuple(with_last_phases(gate or Gate(), *runs).metrics)
    found = history(runs, wanted)
    every = [step for series in found.series for step in steps(series, gate or Gate(), chosen, kinds)]
    return Told(found, chosen, sorted(every, key=_badness))


def _badness(step: Step) -> tuple:
    kind = 0 if step.kind == STATUS else 1
    size = math.inf if step.ratio is None or step.ratio <= 0 else abs(math.log(step.ratio))
    place = (step.series.machine, step.series.dataset, step.series.name, step.what, began(step.after))
    return _ORDER.get(step.verdict, 3), kind, -size, place


# ------------------------------------------------------------------ tables


def records(told: Told) -> Iterator[dict]:
    """A record a step, worst first, then one a machine, and one of each run that is in no series."""
    yield from map(record, told.steps)
    for machine in told.history.machines:
        own = [step for step in told.steps if step.series.machine == machine.name]
        still = len(machine.series) - len({id(step.series) for step in own})
        yield {"kind": "machine", "machine": machine.name, "runs": [run.name for run in machine.runs],
               "cells": len(machine.series), "steps": len(own), "cells_without_a_step": still}  # fmt: skip
    for run, reason in told.history.apart:
        yield {"kind": "apart", "run": run.name, "reason": reason}


def summary(told: Told) -> list[str]:
    """How many cells of how many runs were looked at, and what was found, a line a machine."""
    lines = []
    for machine in told.history.machines:
        own = [step for step in told.steps if step.series.machine == machine.name]
        moved = {id(step.series) for step in own}
        tally = Counter(_WORDS.get((step.kind, step.verdict), step.verdict) for step in own)
        said = ", ".join(f"{number} {word}" for word, number in tally.items()) or "none"
        lines.append(
            f"machine {machine.name} ({words.machine(machine.runs[-1].environment, whole=False)}): "
            f"{words.count(len(machine.runs), 'run')}, {words.count(len(machine.series), 'cell')} in two or more; "
            f"steps: {said}; {words.count(len(machine.series) - len(moved), 'cell')} without a step"
        )
    lines += [f"in no series: {run.name} {reason}" for run, reason in told.history.apart]
    return lines


def tables(told: Told, link: Link | None = None) -> list[Table]:
    """The steps, worst first, and the runs in their order."""
    return [steps_table(told, link), runs_table(told)]


def steps_table(told: Told, link: Link | None = None) -> Table:
    """A line a step: the cell, what changed, between which commits, by how much, and how sure that is. With `link` the
    values of both sides lead to their cells."""
    several = len(told.history.machines) > 1
    heads = ["graph", "configuration", *(["machine"] if several else []), "what", "step", "between", "run", "before",
             "after", "ratio", "95 %", "p", "found by"]  # fmt: skip
    lines, records, links = [], [], []
    for step in told.steps:
        cells = {id(point.run): point.cell for point in step.series.points}
        texts = [step.series.dataset, step.series.name, *([step.series.machine] if several else []), step.what,
                 _WORDS.get((step.kind, step.verdict), step.verdict), between(step), step.after.name]  # fmt: skip
        bounds = "" if step.bounds is None else span(step.bounds, words.fine_ratio)
        ratio = "" if step.ratio is None else words.fine_ratio(step.ratio)
        p = "" if step.p is None else f"{step.p:.3f}"
        lines.append([*texts, *(_value(step, value) for value in step.values), ratio, bounds, p, step.how])
        records.append(record(step))
        sides = [link(run, cells[id(run)]) if link else None for run in (step.before, step.after)]
        links.append([*[None] * len(texts), *sides, *[None] * 4])
    import pandas

    title = f"Steps: {words.count(len(lines), 'change')} between runs, worst first"
    return Table("steps", title, heads, lines, frozenset(("before", "after", "ratio", "95 %", "p")),
                 keys=2 + several, records=records, file="steps", notes=_notes(told), links=links if link else None,
                 data=pandas.DataFrame(records, columns=list(_RECORD)))  # fmt: skip


_RECORD = ("machine", "dataset", "configuration", "kind", "what", "verdict", "before_run", "before_commit", "after_run",
           "after_commit", "between", "before", "after", "ratio", "low", "high", "p", "found_by")  # fmt: skip


def record(step: Step) -> dict:
    """A step as plain values."""
    low, high = step.bounds or (None, None)
    commits = [run.environment.get("commit") for run in (step.before, step.after)]
    values = (
        step.series.machine, step.series.dataset, step.series.name, step.kind, step.what, step.verdict,
        step.before.name, commits[0], step.after.name, commits[1], between(step), *step.values, step.ratio, low, high,
        step.p, step.how,
    )  # fmt: skip
    return dict(zip(_RECORD, values, strict=True))


def between(step: Step) -> str:
    """'abc1234..def5678', with the code of a plug-in where the cell is of one: 'abc1234, bitclosure 0.1 1a2b3c4..0.2
    5d6e7f8'; and where both runs are of the same code 'abc1234, twice'."""
    before, after = commit(step.before), commit(step.after)
    codes = [run.environment.get("code") for run in (step.before, step.after)]
    same = before == after != "unknown" and codes[0] == codes[1] and not (after.endswith("+") and None in codes)
    cell = step.series.points[-1].cell
    name = plugins.key(cell.problem, cell.impl)
    theirs = [(run.environment.get("implementations") or {}).get(name) for run in (step.before, step.after)]
    if theirs[0] == theirs[1] and (theirs[0] is not None or cell.distribution is None):
        return f"{after}, twice" if same else f"{before}..{after}"
    first, last = (fact and f"{fact.get('version') or ''} {fact['files'][:7]}".strip() or "unknown" for fact in theirs)
    own = after if same else f"{before}..{after}"
    return f"{own}, {(theirs[1] or theirs[0] or {}).get('distribution') or cell.impl} {first}..{last}"


def commit(run: Run) -> str:
    """The commit of a run in seven digits, with '+' if there were changes; 'unknown' without one."""
    found = run.environment.get("commit")
    return f"{found[:7]}{'+' if run.environment.get('dirty') else ''}" if found else "unknown"


def _value(step: Step, value: object) -> str:
    if value is None:
        return "none"
    return f"{words.brief(value)} ms" if step.kind == TIME else words.grouped(value)


def _notes(told: Told) -> list[str]:
    notes = []
    if any(between(step).endswith("twice") for step in told.steps):
        notes.append(
            "twice: both runs are of one commit, and one code of a plug-in, so the machine or its load changed, not "
            "the code."
        )
    if any(step.kind == TIME for step in told.steps):
        notes.append("before, after: medians of the runs on either side; of counters the numbers.")
    return notes


def runs_table(told: Told) -> Table:
    """A line a run in its order, with the number that the figure has for it."""
    lines = [
        [machine.name, str(number), run.name, began(run)[:19].replace("T", " "), commit(run), str(len(run.cells))]
        for machine in told.history.machines
        for number, run in enumerate(machine.runs, 1)
    ]
    heads = ["machine", "number", "run", "began", "commit", "cells"]
    return Table("runs", "Runs, in the order in which they began", heads, lines, frozenset(("number", "cells")), keys=2)


# ------------------------------------------------------------------ figure


def frame(told: Told) -> pandas.DataFrame:
    """A line a cell, phase and run: median ms and its 95 % interval; `step` is the ratio if one ends there."""
    import pandas

    columns = ["machine", "dataset", "configuration", "phase", "number", "run", "began", "commit", "trials", "median",
               "low", "high", "step"]  # fmt: skip
    at = {(id(s.series), s.what, s.after.name): s.ratio for s in told.steps if s.kind == TIME}
    lines = []
    for machine in told.history.machines:
        numbers = {id(run): number for number, run in enumerate(machine.runs, 1)}
        for series in machine.series:
            for phase in told.phases:
                for run, cell in series.timed(phase):
                    stats = cell.stats(phase) or _part(cell, phase)
                    lines.append([
                        machine.name, series.dataset, series.name, phase, numbers[id(run)], run.name, began(run),
                        run.environment.get("commit"), stats.trials, stats.median, stats.median_low, stats.median_high,
                        at.get((id(series), phase, run.name)),
                    ])  # fmt: skip
    return pandas.DataFrame(lines, columns=columns)


def _part(cell: Cell, phase: str):
    under, _, name = phase.rpartition("/")
    return cell.phases[under, name]


def figures(told: Told, link: Link | None = None) -> list[Figure]:
    """Medians over runs of the cells with the worst steps, of any cells if there is none. With `link` marks lead to
    their cells."""
    data = frame(told)
    groups = {name: part for name, part in data.groupby(["machine", "dataset", "configuration", "phase"], sort=False)
              if len(part) > 1}  # fmt: skip
    stepped = dict.fromkeys((s.series.machine, s.series.dataset, s.series.name, s.what)
                            for s in told.steps if s.kind == TIME)  # fmt: skip
    first = [name for name in stepped if name in groups]
    names = [*first, *(name for name in groups if name not in stepped)][: max(len(first), 4)]
    several = len(told.history.machines) > 1
    addresses = _addresses(told, link) if link else {}
    panels = tuple(_panel(name, groups[name], several, addresses) for name in names[:_PANELS])
    phases = tuple(phase for phase in told.phases if any(panel.items[0].series == phase for panel in panels))
    form = Marks(panels, phases, Axis("run", "linear"), Axis("ms"), lines=True)
    hidden = len(first) - _PANELS
    missing = f"{words.count(hidden, 'more cell')} with steps: see the table and the CSV." if hidden > 0 else ""
    return [Figure("history", data, form, "" if panels else "Unavailable: no times of two runs.", missing)]


def _addresses(told: Told, link: Link) -> dict[tuple, str]:
    """The addresses of all cells, by machine, graph, configuration and the number of the run."""
    found = {}
    for machine in told.history.machines:
        numbers = {id(run): number for number, run in enumerate(machine.runs, 1)}
        for series in machine.series:
            for run, cell in series.points:
                found[machine.name, series.dataset, series.name, numbers[id(run)]] = link(run, cell)
    return found


def _panel(name: tuple, part: pandas.DataFrame, several: bool, addresses: Mapping[tuple, str]) -> Panel:
    machine, dataset, configuration, phase = name
    marks, above = [], []
    for line in part.itertuples():
        shown = f"{line.commit[:7]}" if isinstance(line.commit, str) else "unknown"
        hint = f"{line.run} ({shown}): {words.brief(line.median)} ms"
        stepped = line.step == line.step and line.step is not None
        if stepped:
            above.append((float(line.number), f"{shown} {words.times(line.step)}"))
        link = addresses.get((machine, dataset, configuration, line.number), "")
        marks.append(
            Mark(phase, float(line.number), line.median, hint, line.low, line.high, open=bool(stepped), link=link)
        )
    title = f"{dataset}: {configuration}, {phase}" + (f" ({machine})" if several else "")
    return Panel(title, tuple(marks), above=tuple(above))


def blocks(runs: Iterable[Run], gate: Gate | None = None, link: Link | None = None) -> list[Block]:
    """The history of some runs as blocks of a page; a text if there is none. `link` as for `steps_table`."""
    return told_blocks(of_runs(runs, gate), link)


def told_blocks(told: Told, link: Link | None = None) -> list[Block]:
    """A history as blocks of a page."""
    if not told.history.series:
        return [
            ("text", "No cell is in two runs of one machine."),
            *([("lines", summary(told))] if summary(told) else []),
        ]
    found, runs = tables(told, link)
    drawn = [figure for figure in figures(told, link) if figure.drawable]
    listed: list[Block] = [("table", found), ("data", ("steps", csv([found])))] if found.lines else [
        ("text", "No step: every cell is as it was.")]  # fmt: skip
    return [("lines", summary(told)), *listed, *(("figure", figure) for figure in drawn), ("table", runs)]
