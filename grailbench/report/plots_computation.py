"""Figures 4 to 8 of Computation 2020 with matplotlib, in the paper's layout: the benchmark above, home-made below."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from grailbench.report import figures_style as style
from grailbench.report.figures import Figure
from grailbench.report.papers.computation import SETS, UNITS, batch_label, by_batch
from grailbench.report.sheet import BAD, Sheet, chunks
from grailbench.runs.rows import SOUND

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

_LETTERS = 14  #: of a title in an inch
ACROSS = 4  #: panels side by side
_MARGINS = 0.62, 0.12, 0.5, 0.98  # of a panel in inches: left, right, above, below
_WORDS = {"out of memory": "OOM", "timeout": "TIMEOUT"}


def drawable(figure: Figure) -> bool:
    """True when there is something to draw, were it only that it is unavailable."""
    return not figure.frame.empty or bool(figure.note)


# ------------------------------------------------------------------ figures 4, 5, 6


def _by_d(figure: Figure) -> Iterator[Callable]:
    """A panel a series and set, a group of bars a graph, a bar a number of label pairs; batches of queries that are not
    the paper's on pages of their own."""
    frame = figure.frame
    if not frame.value.notna().any() and figure.note:
        yield _unavailable
        return
    for part in by_batch(frame):
        yield from _panels(part, UNITS[figure.name])


def _panels(frame: pandas.DataFrame, unit: str) -> Iterator[Callable]:
    """The pages of one part of a figure."""
    frame = frame.assign(graph=[batch_label(row) for row in frame.itertuples()])
    pairs = sorted(set(frame.d))
    kinds = ["series", "memory"] if "memory" in frame else ["series"]
    seen = frame.value.notna() | ~frame.status.isin(SOUND)
    columns = [(key, part) for key, part in frame.groupby(kinds, sort=False) if seen[part.index].any()]
    sets = [name for name in SETS if (frame.set == name).any()]
    graphs = {name: list(dict.fromkeys(frame.graph[frame.set == name])) for name in sets}
    bounds = {name: _bounds(frame[frame.set == name]) for name in sets}
    most = max(len(found) for found in graphs.values())
    left, right, above, below = _MARGINS
    for chunk in chunks(columns, ACROSS):

        def draw(sheet: Sheet, chunk=chunk):
            wide = max(2.2, 0.09 * (len(pairs) + 1.5) * most)
            tall = 2.2
            width, height = left + wide + right, above + tall + below
            names = [f"d = {d}" for d in pairs]
            sheet.begin(max(6.0, width * len(chunk)), height * len(sets), names, hatched=True, frame=frame)
            for row, name in enumerate(sets):
                for column, (key, part) in enumerate(chunk):
                    axes = sheet.axes(column * width + left, row * height + above, wide, tall)
                    own = part[part.set == name]
                    _group(axes, own, graphs[name], pairs, bounds[name])
                    letter = chr(ord("a") + row * len(chunk) + column)
                    title = f"({letter}) {' '.join(key)}: {name}"
                    axes.set_title("\n".join(textwrap.wrap(title, int(_LETTERS * wide))), fontsize=8.5)
                    if column == 0:
                        axes.set_ylabel(unit)

        yield draw


def _bounds(frame: pandas.DataFrame) -> tuple[float, float]:
    values = [value for value in frame.value if value is not None and value > 0]
    return style.log_range(values) if values else (0.5, 2.0)


def _group(axes: Axes, frame: pandas.DataFrame, graphs: list[str], pairs: list[int], bounds) -> None:
    """The bars of a panel; a cell that was lost has a word in its place."""
    from matplotlib.ticker import NullLocator

    low, high = bounds
    axes.set_yscale("log")
    axes.set(ylim=(low, high), xlim=(-0.6, len(graphs) - 0.4))
    ticks = style.log_ticks(low, high, most=6)
    axes.yaxis.set_ticks(ticks, labels=[style.tick_label(tick) for tick in ticks])
    axes.yaxis.set_minor_locator(NullLocator())
    width = 0.84 / len(pairs)
    for row in frame.itertuples():
        i = pairs.index(row.d)
        x = graphs.index(row.graph) + (i - (len(pairs) - 1) / 2) * width
        if row.value == row.value and row.value is not None and row.value > 0:
            axes.bar(
                x, row.value - low, width, low, color=style.LIGHT[style.colour(i)], edgecolor="white", linewidth=0.3,
                hatch=style.HATCHES[style.mark(i)], clip_on=False,
            )  # fmt: skip
        elif row.status not in SOUND:
            axes.text(
                x, low * (high / low) ** 0.02, _WORDS.get(row.status, row.status.upper()), rotation=90, ha="center",
                va="bottom", fontsize=5, color=BAD, fontweight="bold",
            )  # fmt: skip
    labels = [style.clip(graph, 26) for graph in graphs]
    axes.set_xticks(range(len(graphs)), labels=labels, rotation=40, ha="right", rotation_mode="anchor", fontsize=6.5)
    axes.grid(axis="x", visible=False)


# ------------------------------------------------------------------ figure 7


def _shares(figure: Figure) -> Iterator[Callable]:
    """A panel a series: a bar of the steps and one of everything, for each set; real and generated graphs apart."""
    frame = figure.frame
    names = list(dict.fromkeys(frame.part))
    groups = list(frame.groupby("series", sort=False))

    def draw(sheet: Sheet):
        tall = [0.3 * part.groupby(["set", "generated", "of"]).ngroups for _, part in groups]
        heights = [0.35 + each + 0.35 for each in tall]
        sheet.begin(8.0, sum(heights), names, hatched=True)
        for i, (series, part) in enumerate(groups):
            axes = sheet.axes(2.6, sum(heights[:i]) + 0.3, 5.0, tall[i])
            labels = []
            for y, ((name, generated, of), own) in enumerate(part.groupby(["set", "generated", "of"], sort=False)):
                cells = f"{own.cells.iloc[0]} cell{'s' if own.cells.iloc[0] > 1 else ''}"
                labels.append(f"{name}{', generated' if generated else ''}: {of} ({cells})")
                start = 0.0
                for row in own.itertuples():
                    number = names.index(row.part)
                    axes.barh(
                        y, row.share, 0.72, start, color=style.LIGHT[style.colour(number)], edgecolor="white",
                        linewidth=0.4 if row.share > 0.005 else 0, clip_on=False,
                        hatch=style.HATCHES[style.mark(number)] if row.share > 0.01 else "",
                    )  # fmt: skip
                    if row.share >= 0.06:
                        box = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
                        axes.text(start + row.share / 2, y, f"{row.share:.0%}", ha="center", va="center", fontsize=6,
                                  bbox=box)  # fmt: skip
                    start += row.share
            axes.set(xlim=(0, 1), ylim=(len(labels) - 0.5, -0.5))
            axes.set_yticks(range(len(labels)), labels=labels, fontsize=7)
            axes.set_xticks([0, 0.25, 0.5, 0.75, 1], labels=["0", "25 %", "50 %", "75 %", "100 %"], fontsize=7)
            axes.grid(axis="y", visible=False)
            axes.set_title(str(series))

    yield draw if names else _unavailable


# ------------------------------------------------------------------ figure 8


def _stalls(figure: Figure) -> Iterator[Callable]:
    """A pie of the paper's words, as large as from 'warp not selected' up, and the table of all reasons."""
    frame = figure.frame
    if frame.empty:
        yield _unavailable
        return

    words = frame.groupby("word", sort=False).share.sum().sort_values(ascending=False, kind="stable")
    floor = words.get("warp not selected", 0.02)
    shown = {word: share for word, share in words.items() if share >= floor and word != "warp not selected"}
    if (rest := 1 - sum(shown.values())) > 0.0005:
        shown["minor causes"] = rest

    def draw(sheet: Sheet):
        names = [f"{word} {share:.0%}" for word, share in shown.items()]
        sheet.begin(9.0, max(2.9, 0.2 * len(frame) + 0.3), names, hatched=True)
        axes = sheet.axes(0.1, 0.05, 2.8, 2.8)
        axes.set_axis_off()
        axes.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), aspect="equal")
        _pie(axes, list(shown.values()))
        table = sheet.axes(3.1, 0.05, 5.8, 0.2 * (len(frame) + 1))
        table.set_axis_off()
        table.set(xlim=(0, 1), ylim=(len(frame) + 1, 0))
        for i, row in enumerate([None, *frame.itertuples()]):
            cells = ("stall reason", "the paper's word", "meaning", "share") if row is None else (
                row.reason, row.word, row.meaning, f"{row.share:.1%}"
            )  # fmt: skip
            for x, text, side in zip((0.0, 0.21, 0.46, 1.0), cells, ("left", "left", "left", "right"), strict=True):
                weight = "bold" if row is None else "normal"
                table.text(x, i + 0.5, text, ha=side, va="center", fontsize=6, fontweight=weight)

    yield draw


def _pie(axes: Axes, shares: list[float]) -> None:
    from matplotlib.patches import Wedge

    turn = 90.0
    for i, share in enumerate(shares):
        end = turn - 360 * share
        wedge = Wedge((0, 0), 1.0, end, turn, facecolor=style.LIGHT[style.colour(i)], edgecolor="white", clip_on=False,
                      hatch=style.HATCHES[style.mark(i)])  # fmt: skip
        axes.add_patch(wedge)
        turn = end


def _unavailable(sheet: Sheet) -> None:
    """Title and note are all there is."""
    sheet.begin(6.0, 0.1)


PAGES: dict[str, Callable] = {
    "computation-4": _by_d,
    "computation-5": _by_d,
    "computation-6": _by_d,
    "computation-7": _shares,
    "computation-8": _stalls,
}
