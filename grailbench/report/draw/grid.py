"""Draws lines of tinted texts: `report.figure.Grid`."""

from __future__ import annotations

import math
import textwrap

from grailbench.report.draw import style
from grailbench.report.draw.sheet import SMALL, TALL, WIDTH, Block, Sheet, inches, rows
from grailbench.report.figure import Grid
from grailbench.words import clip

_WIDE, _TALL, _LINE = 0.6, 0.19, 0.12  # inches of a tile, and of a line of text
_NAME = 38  # letters of a line's name


def blocks(form: Grid) -> list[Block]:
    """As many columns as fit side by side, the rest below; no more lines than fit a page."""
    left = max((inches(clip(name, _NAME)) for name, _ in form.lines), default=0.0) + 0.15
    most = max(1, int((WIDTH - left) / _WIDE))
    across = math.ceil(len(form.columns) / math.ceil(len(form.columns) / most)) if form.columns else 1
    columns, found = range(len(form.columns)), []
    tallest = max((len(tile.text.split("\n")) for _, tiles in form.lines for tile in tiles), default=1)
    for lines in rows(form.lines, int((TALL - 2.2) / (_TALL + _LINE * (tallest - 1)))):
        heights = [_TALL + _LINE * max(tile.text.count("\n") for tile in tiles) for _, tiles in lines]
        for own in rows(columns, across):
            heads = [textwrap.wrap(form.columns[i], 26) for i in own]
            above = max(inches(line) for head in heads for line in head) + 0.12

            def draw(sheet: Sheet, top: float, own=own, lines=lines, heights=heights, heads=heads, above=above):
                _draw(sheet, top + above, [(name, [tiles[i] for i in own]) for name, tiles in lines], heights, heads)

            found.append(Block(above + sum(heights) + 0.2, draw))
    return found


def _draw(sheet: Sheet, top: float, lines: list, heights: list[float], heads: list[list[str]]) -> None:
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import LinearSegmentedColormap

    left = WIDTH - _WIDE * len(heads) - 0.02
    left = min(left, max(inches(clip(name, _NAME)) for name, _ in lines) + 0.15)
    axes = sheet.axes(0, top, WIDTH, sum(heights))
    axes.set_axis_off()
    axes.set(xlim=(0, WIDTH), ylim=(sum(heights), 0))
    shades = LinearSegmentedColormap.from_list("shades", [style.SLOWER, style.PAPER, style.FASTER])
    corners, colours = [], []
    for column, head in enumerate(heads):
        axes.text(left + _WIDE * (column + 0.5), -0.05, "\n".join(head), rotation=90, ha="center", va="bottom",
                  fontsize=SMALL, color=style.SOFT, linespacing=1.1)  # fmt: skip
    for i, (name, tiles) in enumerate(lines):
        y, tall = sum(heights[:i]), heights[i]
        axes.text(left - 0.08, y + tall / 2, clip(name, _NAME), ha="right", va="center", fontsize=SMALL)
        for column, tile in enumerate(tiles):
            x = left + _WIDE * column
            corners.append([(x, y), (x + _WIDE, y), (x + _WIDE, y + tall), (x, y + tall)])
            colours.append(shades(0.5 + tile.depth * 0.31))  # light enough for dark text
            axes.text(x + _WIDE / 2, y + tall / 2, tile.text, ha="center", va="center", fontsize=SMALL,
                      color=style.BAD if tile.bad else style.INK, fontweight="bold" if tile.bad else "normal",
                      linespacing=1.1)  # fmt: skip
    tiles = PolyCollection(corners, facecolors=colours, edgecolors=style.PAPER, linewidths=0.6, clip_on=False, zorder=0)
    axes.add_collection(tiles, autolim=False)
