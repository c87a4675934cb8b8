"""Every trial as a dot: strips of a run's cells as a figure, and as tiny drawings within a table of a page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from markupsafe import Markup, escape

from grailbench.harness.cells import Cell
from grailbench.harness.statistics import Stats
from grailbench.problems import contract
from grailbench.problems.contract import USUAL
from grailbench.report import figures as frames
from grailbench.report.figure import Figure, Panel, Strip, Strips
from grailbench.report.table import Footnotes, Table
from grailbench.util.words import count, short

NAME = "strips"
WIDE, TALL, _EDGE = 160, 14, 4  #: pixels of an inline strip, and free at its borders


def phases(cell: Cell) -> list[str]:
    """The top phases of its problem that a cell was timed in, the last one before `ready`."""
    return [phase for phase in (*contract.problem(cell.problem).phases, "ready") if cell.stats(phase)]


def figures(cells: Iterable[Cell], link: Callable[[Cell], str] | None = None) -> list[Figure]:
    """The one figure, of every trial; without a sound time its form is empty.

    link  gives the address behind a cell's trials
    """
    cells = frames.ordered(cells)
    panels: dict[tuple[str, str], list[Strip]] = {}
    lasts = {cell.last_phase for cell in cells}
    for head, cell, phase, stats in _strips(cells):
        problem = "" if cell.problem == USUAL else cell.problem
        queries = head["queries"] if head["queries"] != "all" else ""
        title = ", ".join(filter(None, (problem, head["dataset"], queries)))
        address = link(cell) if link else ""
        if stats is None:
            word = cell.status.upper() + (f": {cell.reason}" if cell.reason else "")
            strip = Strip(cell.impl, head["config"], (), word=word, link=address)
        else:
            low, high = (stats.median_low, stats.median_high) if stats.trials > 1 else (None, None)
            hint = f"{title}, {head['config']}, {phase}: {said(stats.times, stats.median, low, high)}"
            strip = Strip(cell.impl, head["config"], stats.times, stats.median, low, high, hint, link=address)
        panels.setdefault((title, phase), []).append(strip)
    titles = list(dict.fromkeys(title for title, _ in panels))
    order = sorted(panels, key=lambda key: (titles.index(key[0]), key[1] == "ready", key[1] in lasts))
    shown = [Panel(f"{title}: {phase}", tuple(own)) for title, phase in order for own in [panels[title, phase]]
             if any(strip.times for strip in own)]  # fmt: skip
    names = dict.fromkeys(strip.series for panel in shown for strip in panel.items)
    frame = _frame(cells)
    return [Figure(NAME, frame, Strips(tuple(shown), tuple(names)), missing=frames.missing(frame) if shown else "")]


def _strips(cells: list[Cell]) -> Iterator[tuple[dict, Cell, str, Stats | None]]:
    """Each cell with its `figures.HEAD`, phase by phase; of one without a sound time the last phase, without trials."""
    for head, cell in zip(frames.heads(cells), cells, strict=True):
        found = phases(cell) if cell.sound else []
        for phase in found:
            yield head, cell, phase, cell.stats(phase)
        if not found:
            yield head, cell, cell.last_phase, None


def _frame(cells: list[Cell]):
    """A row per cell, phase and trial: `figures.HEAD`, phase, trial, ms."""
    import pandas

    lines = []
    for head, cell, phase, stats in _strips(cells):
        times = cell.times["", phase] if stats else {None: None}
        lines += [head | {"phase": phase if stats else "", "trial": trial, "ms": ms} for trial, ms in times.items()]
    frame = pandas.DataFrame(lines, columns=[*frames.HEAD, "phase", "trial", "ms"])
    for name in ("vertices", "edges", "trial"):
        frame[name] = frame[name].astype("Int64")
    return frame.astype({"ms": float})


def table(cells: Iterable[Cell]) -> Table:
    """A line per cell and phase with an inline strip, which only HTML pages can show."""
    cells = frames.ordered(cells)
    problems = {cell.problem for cell in cells}
    foot, lines, values = Footnotes(), [], []
    for head, cell, phase, stats in _strips(cells):
        graph = ", ".join(filter(None, (cell.problem if len(problems) > 1 else "", head["dataset"])))
        line = [graph, head["queries"], head["config"], phase]
        texts, numbers = ["", "", "", ""], [None] * 4
        if stats:
            low, high = stats.median_low, stats.median_high
            texts = [inline(stats.times, low, stats.median, high), str(stats.trials), short(stats.median),
                     f"{short(low)} to {short(high)}" if stats.trials > 1 else ""]  # fmt: skip
            numbers = [None, stats.trials, stats.median, None]
        lines.append([*line, *texts, foot.status(cell.status, cell.reason)])
        values.append([*line, *numbers, cell.status])
    headers = ["graph", "queries", "configuration", "phase", "trials", "n", "median ms", "95 %", "status"]
    right = frozenset(("n", "median ms", "95 %"))
    return Table(NAME, "Every trial", headers, lines, right, keys=4, notes=foot.lines(), values=values)


# ------------------------------------------------------------------ inline


def said(times: Sequence[float], median: float, low: float | None, high: float | None) -> str:
    """'30 trials, 1.98 to 2.31 ms, median 2.04 ms (95 %: 2.01 to 2.10)'."""
    bounds = "" if low is None or high is None else f" (95 %: {short(low)} to {short(high)})"
    span = f", {short(min(times))} to {short(max(times))} ms" if len(times) > 1 else ""
    return f"{count(len(times), 'trial')}{span}, median {short(median)} ms{bounds}"


def inline(times: Sequence[float], low: float | None, median: float, high: float | None) -> Markup:
    """An SVG of `WIDE` x `TALL` pixels for a table of a page, without text: a dot a trial from the least to the
    greatest on a log axis, the first trial lowest, over the interval and the median; its numbers are its accessible
    name. Empty without times. Its colours follow the page's theme by the rules of `draw.styles`."""
    if not times:
        return Markup("")
    least, most = min(times), max(times)
    scale = math.log if least > 0 else float
    span = scale(most) - scale(least)

    def at(ms: float) -> str:
        share = (scale(min(max(ms, least), most)) - scale(least)) / span if span > 0 else 0.5
        return f"{_EDGE + share * (WIDE - 2 * _EDGE):.1f}".removesuffix(".0")

    up = (TALL - 4) / max(1, len(times) - 1)
    dots = "".join(f"M{at(ms)} {TALL - 2 - up * number:.0f}h0" if len(times) > 1 else f"M{at(ms)} {TALL // 2}h0"
                   for number, ms in enumerate(times))  # fmt: skip
    bar = ""
    if low is not None and high is not None:
        wide = f"{max(float(at(high)) - float(at(low)), 1):.1f}".removesuffix(".0")
        bar = f'<rect x="{at(low)}" width="{wide}" height="{TALL}"/>'
    name = escape(said(times, median, low, high))
    return Markup(  # noqa: S704 - numbers, and a name that is escaped above
        f'<svg class="strip" role="img" aria-label="{name}" width="{WIDE}" height="{TALL}">{bar}'
        f'<path class="m" d="M{at(median)} 0v{TALL}"/><path d="{dots}"/></svg>'
    )
