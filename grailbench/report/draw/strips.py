"""Draws panels of strips, a dot a trial: `report.figure.Strips`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from grailbench.report.draw import style
from grailbench.report.draw.sheet import SMALL, TALL, WIDTH, Block, Sheet, Shown, box, inches, rows
from grailbench.report.figure import Panel, Strip, Strips
from grailbench.util.words import clip

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW, _DOT = 0.19, 0.018  # inches: height of a strip, and from the middle of a dot to its corners
_SPREAD = 0.62  # share of a strip's height from its first trial to its last
_LETTERS = 48  # of the name of a strip
_ABOVE, _BELOW = 0.26, 0.42


def blocks(form: Strips) -> list[Block]:
    """A block per panel; one that does not fit a page goes on in the next, under its title and on the same axis."""
    found = []
    most = int((TALL - _ABOVE - _BELOW) / _ROW)
    labels = {strip.label for panel in form.panels for strip in panel.items}
    left = max((inches(clip(label, _LETTERS)) for label in labels), default=0.0) + 0.12
    for panel in form.panels:
        bounds = style.log_range([t for strip in panel.items for t in strip.times if t > 0] or [1.0])
        for own in rows(panel.items, most):

            def draw(sheet: Sheet, top: float, panel=panel, own=own, bounds=bounds):
                wide, tall = WIDTH - left - 0.16, _ROW * len(own)
                axes = sheet.axes(left, top + _ABOVE, wide, tall)
                _panel(sheet, axes, form, panel, own, bounds, (wide, tall, left))

            found.append(Block(_ABOVE + _ROW * len(own) + _BELOW, draw))
    return found


def _panel(sheet: Sheet, axes: Axes, form: Strips, panel: Panel, own: list[Strip], bounds: tuple, size: tuple) -> None:
    """Draw some strips of a panel, one below the other. Axes are in shares of their width, and in strips downward."""
    from grailbench.report.draw.marks import draw_ticks

    wide, tall, left = size
    low, high = (math.log(bound) for bound in bounds)

    def at(ms: float) -> float:
        return (math.log(ms) - low) / (high - low) if ms > 0 else 0.0

    axes.set(xlim=(0, 1), ylim=(len(own), 0), xticks=[], yticks=[])
    axes.set_xlabel(form.label)
    axes.xaxis.set_label_coords(0.5, -0.22 / tall)
    places = style.log_ticks(*bounds, most=7)
    draw_ticks(axes, "x", [at(place) for place in places], [style.tick_label(place) for place in places])
    draw_ticks(axes, "y", [line + 0.5 for line in range(len(own))], [clip(strip.label, _LETTERS) for strip in own])
    for series, name in enumerate(form.names):
        mine = [(line, strip) for line, strip in enumerate(own) if strip.series == name]
        _bounds(sheet, axes, series, [each for each in mine if each[1].low is not None], at)
        for line, strip in mine:
            _dots(sheet, axes, series, line, strip, at, wide)
    axes.set_title(clip(panel.title, int((wide + left) * 13)), x=-(left - 0.05) / wide)


def _bounds(sheet: Sheet, axes: Axes, series: int, own: list[tuple[int, Strip]], at) -> None:
    """Draw the intervals of a series as bars, and the medians as lines in them."""
    from matplotlib.collections import LineCollection, PolyCollection

    if not own:
        return
    colour = style.LIGHT[style.colour(series)]
    bars = [box(at(s.low), line + 0.1, max(at(s.high) - at(s.low), 0.001), 0.8) for line, s in own]
    lines = [((at(s.median), line + 0.1), (at(s.median), line + 0.9)) for line, s in own]
    for found in (PolyCollection(bars, facecolors=colour, alpha=0.25, linewidths=0, clip_on=False, zorder=1),
                  LineCollection(lines, colors=colour, linewidths=1, clip_on=False, zorder=2)):  # fmt: skip
        axes.add_collection(found, autolim=False)
        sheet.stand_for(found, Shown(series))


def _dots(sheet: Sheet, axes: Axes, series: int, line: int, strip: Strip, at, wide: float) -> None:
    """Draw the trials of a strip as one shape, the first at the bottom; or the status of a cell without."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if strip.word:
        axes.text(1.0, line + 0.5, clip(strip.word, 60), ha="right", va="center", fontsize=SMALL, color=style.BAD,
                  fontweight="bold", bbox=style.PATCH, zorder=4)  # fmt: skip
    if not strip.times:
        return
    points, across, up = [], _DOT / wide, _DOT / _ROW
    for number, ms in enumerate(strip.times):
        share = number / (len(strip.times) - 1) if len(strip.times) > 1 else 0.5
        x, y = at(ms), line + 0.5 + _SPREAD * (0.5 - share)
        points += [(x - across, y), (x, y - up), (x + across, y), (x, y + up), (x - across, y)]
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * len(strip.times)
    dots = PathPatch(Path(points, codes), facecolor=style.LIGHT[style.colour(series)], linewidth=0, clip_on=False,
                     zorder=3)  # fmt: skip
    axes.add_patch(dots)
    sheet.stand_for(dots, Shown(series, (strip.hint,), links=(strip.link,)))
