"""Draws panels of stacked bars: `report.figure.Bars`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grailbench.report.draw import style
from grailbench.report.draw.sheet import SMALL, WIDTH, Block, Sheet, Shown, box, inches, rows
from grailbench.report.figure import Bar, Bars, Panel, Part
from grailbench.util.words import clip

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE, _BAR, _GAP = 0.31, 0.13, 0.2  # inches: height of a bar with its text, height of a bar, gap between panels


def blocks(form: Bars) -> list[Block]:
    """A block per row of panels."""
    across = max(1, min(form.across, len(form.panels)))
    found = []
    for row in rows(form.panels, across):

        def draw(sheet: Sheet, top: float, row=row):
            for i, panel in enumerate(row):
                wide = WIDTH / across
                axes = sheet.axes(i * wide + 0.05, top + 0.22, wide - 0.05 - _GAP, _LINE * len(panel.items))
                _panel(sheet, axes, form, panel, wide - 0.05 - _GAP)

        found.append(Block(0.22 + _LINE * max(len(panel.items) for panel in row) + 0.1, draw))
    return found


def _panel(sheet: Sheet, axes: Axes, form: Bars, panel: Panel, wide: float) -> None:
    """Draw the bars, each below its text, in axes `wide` inches wide."""
    axes.set_axis_off()
    axes.set(xlim=(0, wide), ylim=(_LINE * len(panel.items), 0))
    axes.set_title(clip(panel.title, int(wide * 13)))
    room = max((inches(bar.text) for bar in panel.items if bar.text), default=0.0) + 0.08
    longest = 1.0 if form.whole else max((sum(part.size for part in bar.parts) for bar in panel.items), default=0)
    scale = (wide - room) / (longest or 1.0)
    shapes: dict[str, list[tuple[float, float, Part]]] = {}
    for i, bar in enumerate(panel.items):
        top = _LINE * i
        axes.text(0, top + 0.08, clip(bar.label, int(wide * 16)), fontsize=SMALL, color=style.SOFT, va="center")
        end = _lay(axes, bar, top + 0.15, scale, shapes, form.whole)
        if bar.lost:
            axes.text(0, top + 0.21, clip(bar.lost, int(wide * 14)), fontsize=SMALL, color=style.BAD,
                      va="center", fontweight="bold")  # fmt: skip
        axes.text(end + 0.04, top + 0.15 + _BAR / 2, bar.text, fontsize=SMALL, va="center")
    for name, own in shapes.items():
        _fill(sheet, axes, form.names.index(name), own, scale)


def _lay(axes: Axes, bar: Bar, top: float, scale: float, shapes: dict, whole: bool) -> float:
    """Add the places of a bar's parts to `shapes` and return the end of the bar. A part that is wide enough has its
    share written into it."""
    start = 0.0
    for part in bar.parts:
        shapes.setdefault(part.name, []).append((start, top, part))
        if whole and part.size * scale > 0.3:
            patch = style.PATCH | {"boxstyle": "square,pad=0.08"}
            axes.text(start + part.size * scale / 2, top + _BAR / 2, f"{part.size:.0%}", ha="center",
                      va="center_baseline", fontsize=SMALL, bbox=patch)  # fmt: skip
        start += part.size * scale
    return start


def _fill(sheet: Sheet, axes: Axes, series: int, own: list[tuple[float, float, Part]], scale: float) -> None:
    """Draw the parts of one name in its colour and pattern; thin parts have no pattern and no edge."""
    from matplotlib.collections import PolyCollection

    for thin in (True, False):
        some = [(x, y, part) for x, y, part in own if (part.size * scale < 0.03) == thin]
        if not some:
            continue
        found = PolyCollection(
            [box(x, y, part.size * scale, _BAR) for x, y, part in some],
            facecolors=style.LIGHT[style.colour(series)], edgecolors=style.PAPER,
            linewidths=0 if thin else 0.4, hatch="" if thin else style.HATCHES[style.mark(series)], clip_on=False,
        )  # fmt: skip
        axes.add_collection(found, autolim=False)
        sheet.stand_for(found, Shown(series, tuple(part.hint for _, _, part in some)))
