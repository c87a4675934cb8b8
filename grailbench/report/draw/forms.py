"""Draws the two forms of figures, panel by panel: `Marks` and `Bars` of `report.figure`."""

import math
from collections.abc import Iterable
from dataclasses import replace

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator, NullLocator

from grailbench.report.draw import style
from grailbench.report.draw.sheet import SMALL, TALL, WIDTH, Block, Meaning, Sheet, box, inches, rows
from grailbench.report.figure import Axis, Bars, Mark, Marks, Panel
from grailbench.util.words import clip


def blocks(form: Marks | Bars) -> list[Block]:
    """The blocks of a form from top to bottom, each of which stays on one page."""
    return (_marks if isinstance(form, Marks) else _bars)(form) if form.panels else []


# ------------------------------------------------------------------ marks on axes

_PLOT = 1.9, 2.6  # height in inches of a panel with two numeric axes: side by side with others, or alone
_LETTERS = 48, 26  # most letters of a name on an axis: of a panel alone, or side by side with others
_MOST = TALL - 0.7  # inches: height of the axes of a panel of names; a longer one goes on below, on the same axis
_SPREAD = 0.62  # share of the height of a line from its first trial to its last


def _marks(form: Marks) -> list[Block]:
    """A block for each row of panels."""
    named = form.y.scale == "names"
    if named:
        form = replace(form, panels=tuple(part for panel in form.panels for part in _parts(panel)))
    across = max(1, min(form.across, len(form.panels)))
    gutter = max(inches(_clipped(form, name)) for panel in form.panels for name in _names(panel)) + 0.12 if named else 0
    found = []
    for row in rows(form.panels, across):
        over = max(map(_above, row)) + (0.24 if any(panel.title for panel in row) else 0.1)
        height = max(_tall(panel) for panel in row) if named else _PLOT[across == 1]
        below = 0.42 if form.x.label or any(panel.x for panel in row) else 0.27

        def draw(sheet: Sheet, top: float, row=row, over=over, height=height):
            for i, panel in enumerate(row):
                left = gutter or 0.5
                size = WIDTH / across - left - 0.16, _tall(panel) if named else height
                _plot(sheet, sheet.axes(i * WIDTH / across + left, top + over, *size), form, panel, *size, gutter)

        found.append(Block(over + height + below, draw))
    return found


def _parts(panel: Panel) -> list[Panel]:
    """A panel of names in parts that fit a page, with one range of values."""
    found = rows(_names(panel), max(1, int(_MOST / _line(panel))))
    shared = panel.shared or f"{panel.title} {id(panel)}"
    return [replace(panel, items=tuple(mark for mark in panel.items if str(mark.y) in names), shared=shared)
            for names in map(set, found)]  # fmt: skip


def _names(panel: Panel) -> list[str]:
    """The names on the axis of names, in order."""
    return list(dict.fromkeys(str(mark.y) for mark in panel.items))


def _several(panel: Panel) -> list[str]:
    """The series of a panel whose marks stand below one another on a line; none if each line has one series."""
    pairs = {(str(mark.y), mark.series) for mark in panel.items}
    return list(dict.fromkeys(mark.series for mark in panel.items)) if len(pairs) > len(_names(panel)) else []


def _line(panel: Panel) -> float:
    """Height in inches of a line of a panel of names, by the number of its series."""
    return min(0.45, max(0.19, 0.06 * len(_several(panel)) + 0.06))


def _tall(panel: Panel) -> float:
    """Height in inches of a panel of names."""
    return len(_names(panel)) * _line(panel)


def _clipped(form: Marks, name: str) -> str:
    return clip(name, _LETTERS[form.across > 1])


def _above(panel: Panel) -> float:
    """Height in inches of the names of graphs above the axes of a panel."""
    return max((inches(name) for _, name in panel.above), default=-0.07) + 0.07


def _plot(sheet: Sheet, axes: Axes, form: Marks, panel: Panel, wide: float, tall: float, gutter: float) -> None:
    """Draw one panel in axes of this size in inches; `gutter` is the width of the names on its left."""
    named = form.y.scale == "names"
    ranged = [mark for each in form.panels if each is panel or (each.shared and each.shared == panel.shared)
              for mark in each.items if not mark.word]  # fmt: skip
    xs, ys = [mark.x for mark in ranged], [] if named else [mark.y for mark in ranged]
    spans = [bound for mark in ranged for bound in (mark.low, mark.high, *mark.trials) if bound is not None]
    (xs if named else ys).extend(spans)
    if form.square:
        xs = ys = [*xs, *ys]
    _scale(axes, "x", replace(form.x, label=panel.x or form.x.label), xs)
    if named:
        _lines_of_names(axes, form, panel)
    else:
        _scale(axes, "y", replace(form.y, label=panel.y or form.y.label), ys)
    _guides(axes, panel.guides)
    (left, _), (bottom, _) = axes.get_xlim(), axes.get_ylim()  # on a log axis what is 0 lies on the border
    _steps(axes, [(max(x, left), max(y, bottom)) for x, y in panel.steps])
    for at, name in enumerate(form.names):
        own = [mark if named else mark._replace(x=max(mark.x, left), y=max(mark.y, bottom))
               for mark in panel.items if mark.series == name and not mark.word]  # fmt: skip
        _series(sheet, axes, form, own, at, _places(panel, own))
    _graphs(axes, panel, wide)
    for line, place in ((axes.xaxis, (0.5, -0.22 / tall)), (axes.yaxis, (-0.38 / wide, 0.5))):
        line.set_major_locator(NullLocator())
        line.set_minor_locator(NullLocator())
        line.set_label_coords(*place)
    left = gutter - 0.05 if gutter else 0.0  # the title begins above the names
    axes.set_title(clip(panel.title, int((wide + left) * 13)), x=-left / wide, pad=4 + _above(panel) * 72)


def _places(panel: Panel, own: list[Mark]) -> list[float]:
    """The places of the marks of a series on the y axis; on an axis of names each series has a place of its own around
    that of the name."""
    if not own or not isinstance(own[0].y, str):
        return [mark.y for mark in own]
    names, series = _names(panel), _several(panel) or [own[0].series]
    shift = 0.76 * (series.index(own[0].series) + 0.5 - len(series) / 2) / len(series)
    return [names.index(mark.y) + shift for mark in own]


def _scale(axes: Axes, side: str, axis: Axis, values: list[float]) -> None:
    """Set range, ticks and label of an axis of numbers."""
    if axis.scale == "linear":
        low, high = 0.0, max(values) * 1.06
        ticks = [tick for tick in MaxNLocator(6).tick_values(low, high) if tick <= high]
    else:
        values = [value for value in values if value > 0] or [1.0]
        low, high = style.log_range(values)
        ticks = sorted(set(values)) if axis.scale == "log2" else style.log_ticks(low, high, most=5)
        getattr(axes, f"set_{side}scale")("log")
    getattr(axes, f"set_{side}lim")(low, high)
    getattr(axes, f"{side}axis").set_label_text(axis.label)
    _ticks(axes, side, ticks, list(map(style.tick_label, ticks)))


def _ticks(axes: Axes, side: str, places: Iterable[float], labels: list[str]) -> None:
    """Draw grid lines and their labels. Matplotlib's own ticks would take ten times as long."""
    across = side == "x"
    transform = axes.get_xaxis_transform() if across else axes.get_yaxis_transform()
    ends = [((place, 0), (place, 1)) if across else ((0, place), (1, place)) for place in places]
    lines = LineCollection(ends, colors=style.LINE, linewidths=0.6, transform=transform, zorder=0.5, clip_on=False)
    axes.add_collection(lines, autolim=False)
    for place, label in zip(places, labels, strict=True):
        axes.annotate(
            label, (place, 0) if across else (0, place), (0, -4) if across else (-4, 0), xycoords=transform,
            textcoords="offset points", ha="center" if across else "right", va="top" if across else "center_baseline",
            fontsize=SMALL, color=style.SOFT, annotation_clip=False,
        )  # fmt: skip


def _lines_of_names(axes: Axes, form: Marks, panel: Panel) -> None:
    """Draw a line per name with the words of its cells that have no mark."""
    names, trials = _names(panel), any(mark.trials for mark in panel.items)
    axes.set_ylim(len(names) - 0.5, -0.5)
    _ticks(axes, "y", range(len(names)), [_clipped(form, name) for name in names])
    for line, name in enumerate(names):
        lost = [mark for mark in panel.items if mark.word and str(mark.y) == name]
        words = {mark.word: [each.series for each in lost if each.word == mark.word] for mark in lost}
        text = "; ".join(word if trials else f"{word} {', '.join(series)}" for word, series in words.items())
        if text:
            axes.text(
                1.0, line, clip(text, 60 if trials else 40), transform=axes.get_yaxis_transform(), ha="right",
                va="center", fontsize=SMALL, color=style.BAD, fontweight="bold", bbox=style.PATCH, zorder=4,
            )  # fmt: skip


def _series(sheet: Sheet, axes: Axes, form: Marks, own: list[Mark], series: int, ys: list[float]) -> None:
    """Draw the marks of a series and their intervals."""
    colour, shape = style.LIGHT[style.colour(series)], style.MARKS[style.mark(series)]
    named = form.y.scale == "names"
    bounded = [(mark, y) for mark, y in zip(own, ys, strict=True) if mark.low is not None and mark.high is not None]
    if form.lines:
        order = sorted(own, key=lambda mark: mark.x)
        (line,) = axes.plot([m.x for m in order], [m.y for m in order], color=colour, linewidth=1, clip_on=False)
        sheet.stand_for(line, Meaning(series))
        band = [mark for mark in order if mark.low is not None]
        if len(band) > 1:
            area = axes.fill_between([m.x for m in band], [m.low for m in band], [m.high for m in band], color=colour,
                                     alpha=0.2, linewidth=0, clip_on=False)  # fmt: skip
            sheet.stand_for(area, Meaning(series))
    if any(mark.trials for mark in own):
        _trials(sheet, axes, list(zip(own, ys, strict=True)), colour, series)
        return
    if bounded:
        ends = [((m.low, y), (m.high, y)) if named else ((m.x, m.low), (m.x, m.high)) for m, y in bounded]
        bars = LineCollection(ends, colors=colour, linewidths=0.9, clip_on=False, zorder=2)
        axes.add_collection(bars, autolim=False)
        sheet.stand_for(bars, Meaning(series))
    for filled in (True, False):
        some = [(mark, y) for mark, y in zip(own, ys, strict=True) if mark.open != filled]
        if some:
            found = axes.scatter(
                [mark.x for mark, _ in some], [y for _, y in some], s=26 if shape in "PX*" else 18, marker=shape,
                facecolor=colour if filled else style.PAPER, edgecolor=style.PAPER if filled else colour,
                linewidth=0.4 if filled else 0.9, clip_on=False, zorder=3,
            )  # fmt: skip
            hints, links = tuple(mark.hint for mark, _ in some), tuple(mark.link for mark, _ in some)
            sheet.stand_for(found, Meaning(series, hints, links=links))


def _trials(sheet: Sheet, axes: Axes, own: list[tuple[Mark, float]], colour: str, series: int) -> None:
    """Draw the intervals as bars with the medians as lines in them, and over them the trials of each mark as one shape
    of ticks."""
    low, high = axes.get_xlim()
    bars = [box(mark.low, y - 0.4, max(mark.high, mark.low * (high / low) ** 0.001) - mark.low, 0.8)
            for mark, y in own if mark.low]  # fmt: skip
    medians = [((mark.x, y - 0.4), (mark.x, y + 0.4)) for mark, y in own if mark.low]
    for found in (PolyCollection(bars, facecolors=colour, alpha=0.25, linewidths=0, clip_on=False, zorder=1),
                  LineCollection(medians, colors=colour, linewidths=1, clip_on=False, zorder=2)):  # fmt: skip
        axes.add_collection(found, autolim=False)
        sheet.stand_for(found, Meaning(series))
    for mark, y in own:
        points = []
        for number, ms in enumerate(mark.trials):
            share = number / (len(mark.trials) - 1) if len(mark.trials) > 1 else 0.5
            middle = y + _SPREAD * (0.5 - share)
            points += [(max(ms, low), middle + 0.09), (max(ms, low), middle - 0.09)]
        ticks = PathPatch(Path(points, [Path.MOVETO, Path.LINETO] * len(mark.trials)), edgecolor=colour, fill=False,
                          linewidth=1.6, clip_on=False, zorder=3)  # fmt: skip
        axes.add_patch(ticks)
        sheet.stand_for(ticks, Meaning(series, (mark.hint,), links=(mark.link,)))


def _steps(axes: Axes, points: list[tuple[float, float]]) -> None:
    """Draw a staircase from point to point and on to the borders: what is above it is dominated."""
    if not points:
        return
    points = sorted(set(points))
    (_, right), (_, top) = axes.get_xlim(), axes.get_ylim()
    xs, ys = zip((points[0][0], top), *points, (right, points[-1][1]), strict=True)
    axes.plot(xs, ys, color=style.EDGE, linewidth=0.9, drawstyle="steps-post", zorder=1.2)


def _guides(axes: Axes, guides: Iterable[tuple[float, str]]) -> None:
    """Draw lines y = factor * x with labels at their ends; a line that only cuts a corner of the panel is left out."""
    (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
    for factor, label in guides:
        low, high = max(x0, y0 / factor), min(x1, y1 / factor)
        if low >= high or math.log(high / low) < 0.25 * math.log(x1 / x0):
            continue
        strong = label == "equal"
        axes.plot([low, high], [low * factor, high * factor], color=style.SOFT if strong else style.GUIDE,
                  linewidth=0.8, linestyle="-" if strong else (0, (4, 4)), zorder=1)  # fmt: skip
        axes.annotate(label, (high, high * factor), (-3, -7), textcoords="offset points", ha="right", va="center",
                      fontsize=SMALL, color=style.SOFT, bbox=style.PATCH, zorder=1.5)  # fmt: skip


def _graphs(axes: Axes, panel: Panel, wide: float) -> None:
    """Draw names of graphs above the panel, of those that have room."""
    scale = math.log if axes.get_xscale() == "log" else float
    low, high = map(scale, axes.get_xlim())
    last = -1.0
    for x, name in sorted(panel.above):
        place = (scale(x) - low) / (high - low)
        if (place - last) * wide > 0.14:
            axes.text(
                place, 1.02, name, transform=axes.transAxes, rotation=90, fontsize=SMALL, color=style.SOFT, ha="center",
                va="bottom",
            )  # fmt: skip
            last = place


# ------------------------------------------------------------------ stacked bars

_STEP, _BAR, _GAP = 0.31, 0.13, 0.2  # inches: height of a bar with its text, height of a bar, gap between panels


def _bars(form: Bars) -> list[Block]:
    """A block for each row of panels."""
    across = max(1, min(form.across, len(form.panels)))
    wide = WIDTH / across - 0.05 - _GAP
    found = []
    for row in rows(form.panels, across):

        def draw(sheet: Sheet, top: float, row=row):
            for i, panel in enumerate(row):
                axes = sheet.axes(i * WIDTH / across + 0.05, top + 0.22, wide, _STEP * len(panel.items))
                _stack(sheet, axes, form, panel, wide)

        found.append(Block(0.22 + _STEP * max(len(panel.items) for panel in row) + 0.1, draw))
    return found


def _stack(sheet: Sheet, axes: Axes, form: Bars, panel: Panel, wide: float) -> None:
    """Draw the bars of a panel, each below its text, in axes `wide` inches wide. A part of a whole that is wide enough
    has its share written into it."""
    axes.set_axis_off()
    axes.set(xlim=(0, wide), ylim=(_STEP * len(panel.items), 0))
    axes.set_title(clip(panel.title, int(wide * 13)))
    room = max((inches(bar.text) for bar in panel.items if bar.text), default=0.0) + 0.08
    longest = 1.0 if form.whole else max((sum(part.size for part in bar.parts) for bar in panel.items), default=0)
    scale = (wide - room) / (longest or 1.0)
    shapes: dict[str, list[tuple[list, float, str]]] = {}
    for i, bar in enumerate(panel.items):
        top, start = _STEP * i + 0.15, 0.0
        axes.text(0, top - 0.07, clip(bar.label, int(wide * 16)), fontsize=SMALL, color=style.SOFT, va="center")
        for part in bar.parts:
            size = part.size * scale
            shapes.setdefault(part.name, []).append((box(start, top, size, _BAR), size, part.hint))
            if form.whole and size > 0.3:
                axes.text(start + size / 2, top + _BAR / 2, f"{part.size:.0%}", ha="center", va="center_baseline",
                          fontsize=SMALL, bbox=style.PATCH | {"boxstyle": "square,pad=0.08"})  # fmt: skip
            start += size
        if bar.lost:
            axes.text(0, top + 0.06, clip(bar.lost, int(wide * 14)), fontsize=SMALL, color=style.BAD, va="center",
                      fontweight="bold")  # fmt: skip
        axes.text(start + 0.04, top + _BAR / 2, bar.text, fontsize=SMALL, va="center")
    for name, own in shapes.items():
        series = form.names.index(name)
        found = PolyCollection(
            [corners for corners, _, _ in own], facecolors=style.LIGHT[style.colour(series)], edgecolors=style.PAPER,
            linewidths=[0.4 if size > 0.03 else 0 for _, size, _ in own], alpha=style.alpha(series), clip_on=False,
        )  # fmt: skip
        axes.add_collection(found, autolim=False)
        sheet.stand_for(found, Meaning(series, tuple(hint for _, _, hint in own)))
