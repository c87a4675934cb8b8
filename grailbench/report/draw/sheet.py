"""One page of a figure, 16 cm wide: title, legend, a body of blocks, and a foot in small print, laid out in inches.

Matplotlib's automatic layout is not used, because its results differ in their last bits from one run to the next, and
the files would differ too.
"""

from __future__ import annotations

import io
import math
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as _Picture
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.textpath import text_to_path

from grailbench.report.draw import style
from grailbench.report.figure import Figure
from grailbench.util.words import clip

WIDTH = 6.3  #: inches (16 cm), the width of a printed page
TALL = 8.2  #: inches, the most height of a body; a taller figure continues on another page
SMALL = 7  #: size of the smallest text in points
_RC = {
    "font.size": SMALL, "font.family": "DejaVu Sans", "axes.titlesize": 8, "axes.titleweight": "bold",
    "axes.titlelocation": "left", "axes.titlepad": 4, "axes.labelsize": SMALL,
    "axes.labelcolor": style.INK, "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": style.EDGE,
    "text.color": style.INK, "text.parse_math": False, "figure.facecolor": style.PAPER,
    "svg.fonttype": "none",
}  # fmt: skip


class Block(NamedTuple):
    """A part of a body that stays on one page: its height in inches, and the function that draws it so many inches
    below the top of the body."""

    height: float
    draw: Callable[[Sheet, float], None]


class Meaning(NamedTuple):
    """The meaning of an artist of matplotlib.

    series  the position of its series in the legend
    hints   the tooltip of each of its shapes
    key     True for an artist that is part of the legend
    links   the address behind each of its shapes on a page, '' for none; () for no links
    """

    series: int
    hints: tuple[str, ...] = ()
    key: bool = False
    links: tuple[str, ...] = ()


class Picture(_Picture):
    """A figure of matplotlib that notebooks show also where pyplot was not imported."""

    def _repr_png_(self) -> bytes:
        out = io.BytesIO()
        self.savefig(out, format="png")
        return out.getvalue()


class Sheet:
    """One page: `picture` is the figure of matplotlib, `meanings` maps the ids of its artists to their meanings."""

    def __init__(self, figure: Figure, names: Iterable[str], bars: bool, body: float, words: bool, source: str):
        self.figure, self.meanings, names = figure, {}, list(names)
        heading, note, foot = [], [], []
        if words:
            heading, note = _wrap(figure.title, 11.5), _wrap(figure.note, 15)
            foot = [line for text in (figure.caption, figure.missing, source) for line in _wrap(text, 16.5)]
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
            self._key(series, name, bars, x, above + y)

    def _write(self, lines: list[str], top: float, size: float, **how) -> None:
        if lines:
            self.picture.text(
                0.05 / WIDTH, 1 - top / self.height, "\n".join(lines), va="top", fontsize=size, linespacing=1.2, **how
            )

    def _key(self, series: int, name: str, bars: bool, x: float, y: float) -> None:
        """Draw the legend's sign and name of a series, with the upper left corner at x and y."""
        place = {"transform": self.picture.dpi_scale_trans, "figure": self.picture}
        colour, at = style.LIGHT[style.colour(series)], self.height - y - 0.07
        if bars:
            sign = Rectangle((x, at - 0.045), 0.2, 0.09, facecolor=colour, linewidth=0, alpha=style.alpha(series),
                             **place)  # fmt: skip
        else:
            sign = Line2D([x + 0.1], [at], linestyle="none", marker=style.MARKS[style.mark(series)], markersize=5.5,
                          color=colour, markeredgecolor=style.PAPER, markeredgewidth=0.4, **place)  # fmt: skip
        self.picture.add_artist(sign)
        word = self.picture.text(
            (x + _SIGN) / WIDTH, at / self.height, clip(name, _LONGEST), va="center_baseline", fontsize=SMALL
        )
        for artist in (sign, word):
            self.stand_for(artist, Meaning(series, key=True))

    def stand_for(self, artist: Artist, meaning: Meaning) -> None:
        """Record the meaning of an artist, which the SVG then carries."""
        name = f"artist-{len(self.meanings)}"
        artist.set_gid(name)
        self.meanings[name] = meaning

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """New axes in the body; the place and the size are in inches from its upper left corner."""
        bottom = self.height - self.top - top - height
        return self.picture.add_axes([left / WIDTH, bottom / self.height, width / WIDTH, height / self.height])


_SIGN, _LONGEST = 0.27, 70  # width of a legend's sign in inches; the most letters of a name


def _places(names: list[str]) -> tuple[list[tuple[float, float]], float]:
    """The place of each entry of a legend in inches from its upper left corner, and the height of the legend."""
    widths = [_SIGN + inches(clip(name, _LONGEST)) + 0.16 for name in names]
    columns = max(1, min(len(names), int((WIDTH - 0.1) / max(widths, default=1.0))))
    places = [(0.05 + (i % columns) * (WIDTH - 0.1) / columns, 0.15 * (i // columns)) for i in range(len(names))]
    if sum(widths) < WIDTH - 0.1:  # all fit one line: side by side without columns
        places = [(0.05 + sum(widths[:i]), 0.0) for i in range(len(names))]
    return places, 0.15 * math.ceil(len(names) / columns)


def _wrap(text: str, letters: float) -> list[str]:
    """The lines of a text with so many letters per inch."""
    return textwrap.wrap(text, int((WIDTH - 0.1) * letters))


@lru_cache(4096)
def inches(text: str) -> float:
    """Width in inches of a line of text."""
    prop = FontProperties(family="DejaVu Sans", size=SMALL)
    return text_to_path.get_text_width_height_descent(text, prop, False)[0] / 72


@contextmanager
def styled(name: str) -> Iterator[None]:
    """A context with our settings of matplotlib; `name` makes the ids in the drawing differ from those of others. Names
    in scripts that its font lacks are no reason to warn: a viewer of SVG has other fonts."""
    settings = {**matplotlib.rcParamsDefault, **_RC, "backend": "agg", "svg.hashsalt": name}
    with warnings.catch_warnings(), matplotlib.rc_context(settings):
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


def page(blocks: Iterable[Block]) -> list[list[Block]]:
    """The blocks of each page. Pages are at most `TALL` inches high unless a single block is higher."""
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
    """The panels in rows of `across`."""
    panels = list(panels)
    return [panels[i : i + across] for i in range(0, len(panels), across)]


def box(x: float, y: float, wide: float, tall: float) -> list[tuple[float, float]]:
    """The corners of a rectangle with this corner and this size."""
    return [(x, y), (x + wide, y), (x + wide, y + tall), (x, y + tall)]
