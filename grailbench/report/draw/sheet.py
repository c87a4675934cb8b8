"""One drawing of 16 cm: a title and a legend, a body of blocks, a few lines of small print; all of it in inches.

Matplotlib's own layout gives other last bits each time, and with them other files; here everything has its place.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from grailbench.report.draw import style
from grailbench.report.figure import Figure
from grailbench.words import clip

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

WIDTH = 6.3  #: inches, 16 cm: a page of print
TALL = 8.2  #: inches of a body, from which a figure goes on on another page
SMALL = 7  #: points of the smallest text
_RC = {
    "font.size": SMALL, "font.family": "DejaVu Sans", "axes.titlesize": 8, "axes.titleweight": "bold",
    "axes.titlelocation": "left", "axes.titlepad": 4, "axes.labelsize": SMALL,
    "axes.labelcolor": style.INK, "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": style.EDGE,
    "text.color": style.INK, "text.parse_math": False, "hatch.linewidth": 0.5, "figure.facecolor": style.PAPER,
    "svg.fonttype": "none",
}  # fmt: skip


class Block(NamedTuple):
    """A part of a body that stays on one page: its height in inches, and what draws it that far below the top."""

    height: float
    draw: Callable[[Sheet, float], None]


class Shown(NamedTuple):
    """What an artist stands for: a series by its place in the legend, and the hint of each of its shapes.

    key  whether it is the series in the legend
    """

    series: int
    hints: tuple[str, ...] = ()
    key: bool = False


class Sheet:
    """A drawing under way. `picture` is matplotlib's; `shown` says what its artists with an id stand for."""

    def __init__(self, figure: Figure, names: Iterable[str], patterned: bool, body: float, words: bool, source: str):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Picture

        self.figure, self.shown, names = figure, {}, list(names)
        heading = _wrap(figure.title, 11.5) if words else []
        note = _wrap(figure.note, 15) if words else []
        foot = (
            [line for text in (figure.caption, figure.missing, source) for line in _wrap(text, 16.5)] if words else []
        )
        places, legend = _places(names)
        above = 0.17 * len(heading) + 0.14 * len(note) + (0.1 if words else 0.02)
        self.top = above + (legend + 0.1 if names else 0.0)
        self.height = self.top + body + 0.13 * len(foot) + (0.12 if words else 0.02)
        self.picture = Picture(figsize=(WIDTH, self.height))
        FigureCanvasAgg(self.picture)
        self._write(heading, 0.05, 10, fontweight="bold")
        self._write(note, 0.05 + 0.17 * len(heading), 8)
        self._write(foot, self.height - 0.13 * len(foot) - 0.05, SMALL, color=style.SOFT)
        for series, (name, (x, y)) in enumerate(zip(names, places, strict=True)):
            self._key(series, name, patterned, x, above + y)

    def _write(self, lines: list[str], top: float, size: float, **how) -> None:
        if lines:
            self.picture.text(
                0.05 / WIDTH, 1 - top / self.height, "\n".join(lines), va="top", fontsize=size, linespacing=1.2, **how
            )

    def _key(self, series: int, name: str, patterned: bool, x: float, y: float) -> None:
        """The sign of a series and its name, with the upper left corner here."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Rectangle

        place = {"transform": self.picture.dpi_scale_trans, "figure": self.picture}
        colour, at = style.LIGHT[style.colour(series)], self.height - y - 0.07
        if patterned:
            hatch = style.HATCHES[style.mark(series)]
            sign = Rectangle((x, at - 0.045), 0.2, 0.09, facecolor=colour, edgecolor=style.PAPER, linewidth=0,
                             hatch=hatch, **place)  # fmt: skip
        else:
            sign = Line2D([x + 0.1], [at], linestyle="none", marker=style.MARKS[style.mark(series)], markersize=5.5,
                          color=colour, markeredgecolor=style.PAPER, markeredgewidth=0.4, **place)  # fmt: skip
        self.picture.add_artist(sign)
        word = self.picture.text(
            (x + _SIGN) / WIDTH, at / self.height, clip(name, _LONGEST), va="center_baseline", fontsize=SMALL
        )
        for artist in (sign, word):
            self.stand_for(artist, Shown(series, key=True))

    def stand_for(self, artist: Artist, shown: Shown) -> None:
        """Say what an artist is, for the marks of the SVG."""
        name = f"shown-{len(self.shown)}"
        artist.set_gid(name)
        self.shown[name] = shown

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Axes in the body, in inches from its upper left corner."""
        bottom = self.height - self.top - top - height
        return self.picture.add_axes(
            [left / WIDTH, bottom / self.height, width / WIDTH, height / self.height],
        )


_SIGN, _LONGEST = 0.27, 70  # inches of a legend's sign; letters of a name


def _places(names: list[str]) -> tuple[list[tuple[float, float]], float]:
    """Where each entry of a legend stands, in inches from its upper left corner, and how high it is."""
    widths = [_SIGN + inches(clip(name, _LONGEST)) + 0.16 for name in names]
    columns = max(1, min(len(names), int((WIDTH - 0.1) / max(widths, default=1.0))))
    places = [(0.05 + (i % columns) * (WIDTH - 0.1) / columns, 0.15 * (i // columns)) for i in range(len(names))]
    if sum(widths) < WIDTH - 0.1:  # in one line, no wider than needed
        places = [(0.05 + sum(widths[:i]), 0.0) for i in range(len(names))]
    return places, 0.15 * math.ceil(len(names) / columns)


def _wrap(text: str, letters: float) -> list[str]:
    """Lines of a text with this many letters an inch."""
    return textwrap.wrap(text, int((WIDTH - 0.1) * letters))


@lru_cache(4096)
def inches(text: str, size: float = SMALL) -> float:
    """Width of a line of text of this size in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    prop = FontProperties(family="DejaVu Sans", size=size)
    return text_to_path.get_text_width_height_descent(text, prop, False)[0] / 72


@contextmanager
def styled(name: str) -> Iterator[None]:
    """Matplotlib's settings for a drawing of this name, which makes its ids its own; afterwards as they were."""
    import matplotlib

    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **_RC, "backend": "agg", "svg.hashsalt": name}):
        yield


def page(blocks: Iterable[Block]) -> list[list[Block]]:
    """Blocks in pages that are no taller than `TALL`, but for a block that is taller by itself."""
    pages: list[list[Block]] = []
    left = 0.0
    for block in blocks:
        if not pages or block.height > left:
            pages.append([])
            left = TALL
        pages[-1].append(block)
        left -= block.height
    return pages


def rows(panels: Iterable, across: int) -> list[list]:
    """Panels side by side."""
    panels = list(panels)
    return [panels[i : i + across] for i in range(0, len(panels), across)]
