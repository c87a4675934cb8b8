"""Draws a table of tinted texts: `report.figure.Grid`."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable

from grailbench.report.draw import style
from grailbench.report.draw.sheet import SMALL, TALL, WIDTH, Block, Sheet, box, inches, rows
from grailbench.report.figure import Grid, Tile

_WIDE, _TALL, _LINE = 0.6, 0.19, 0.12  # inches: width and height of a tile, height of a further line of text
_NAME = 32  # letters in a line of a name
_HEADS = 2.2  # inches: the most height for the names of columns


def blocks(form: Grid) -> list[Block]:
    """Blocks with as many columns as fit the width and as many lines as fit a page; the other columns come below."""
    left = max((inches(line) for name, tiles in form.lines if tiles for line in _wrapped(name)), default=0.0) + 0.15
    most = max(1, int((WIDTH - left) / _WIDE))
    across = math.ceil(len(form.columns) / math.ceil(len(form.columns) / most)) if form.columns else 1
    found = []
    for lines in _chunks(form.lines):
        for own in rows(range(len(form.columns)), across):
            heads = [textwrap.wrap(form.columns[i], 26) for i in own]
            above = max(inches(line) for head in heads for line in head) + 0.12

            def draw(sheet: Sheet, top: float, own=own, lines=lines, heads=heads, above=above):
                shown = [(name, [tiles[i] for i in own] if tiles else []) for name, tiles in lines]
                _draw(sheet, top + above, shown, [_tall(line) for line in lines], heads, left)

            found.append(Block(above + sum(map(_tall, lines)) + 0.2, draw))
    return found


def _wrapped(name: str) -> list[str]:
    return textwrap.wrap(name, _NAME) or [""]


def _tall(line: tuple[str, tuple[Tile, ...]]) -> float:
    """Height of a line in inches, by the number of lines of text in its name and its tiles."""
    name, tiles = line
    texts = [len(_wrapped(name)) if tiles else 1, *(tile.text.count("\n") + 1 for tile in tiles)]
    return _TALL + _LINE * (max(texts) - 1)


def _chunks(lines: Iterable[tuple]) -> list[list[tuple]]:
    """The lines in groups that fit a page. A heading stays with the line below it, and is repeated on the next page if
    its lines go on there."""
    found, left, heading = [], 0.0, []
    for line in lines:
        if not line[1]:
            heading = [line]
        if _tall(line) + (0 if line[1] else _TALL) > left:
            found.append(list(heading) if line[1] else [])
            left = TALL - _HEADS - _TALL * len(found[-1])
        found[-1].append(line)
        left -= _tall(line)
    return found


def _draw(sheet: Sheet, top: float, lines: list, heights: list[float], heads: list[list[str]], left: float) -> None:
    """Draw lines of these heights (inches) below the names of columns; `left` is the width of the names of lines."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import LinearSegmentedColormap

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
        if not tiles:
            axes.text(0.05, y + tall / 2, name, va="center", fontsize=SMALL, fontweight="bold")
            continue
        axes.text(left - 0.08, y + tall / 2, "\n".join(_wrapped(name)), ha="right", va="center", fontsize=SMALL,
                  linespacing=1.1)  # fmt: skip
        for column, tile in enumerate(tiles):
            x = left + _WIDE * column
            corners.append(box(x, y, _WIDE, tall))
            colours.append(shades(0.5 + tile.depth * 0.31))  # light enough for dark text
            axes.text(x + _WIDE / 2, y + tall / 2, tile.text, ha="center", va="center", fontsize=SMALL,
                      color=style.BAD if tile.bad else style.INK, fontweight="bold" if tile.bad else "normal",
                      linespacing=1.1)  # fmt: skip
    tiles = PolyCollection(corners, facecolors=colours, edgecolors=style.PAPER, linewidths=0.6, clip_on=False, zorder=0)
    axes.add_collection(tiles, autolim=False)
