"""A figure as data: its words, its frame (the CSV beside it), and what is drawn of it. `report.draw` draws any.

There are three forms: marks on axes, bars cut into parts, and a grid of tinted numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from grailbench.report.captions import CAPTIONS

if TYPE_CHECKING:
    import pandas


class Mark(NamedTuple):
    """One mark, at a number or, on an axis of names, at a name.

    low, high  95 % interval of its value, None for one that has none: of y, or of x where y is a name
    hint       what a pointer shows
    open       drawn without filling
    word       what became of a cell without a value, which has no mark: 'TIMEOUT'
    """

    series: str
    x: float | str | None
    y: float | str
    hint: str = ""
    low: float | None = None
    high: float | None = None
    open: bool = False
    word: str = ""


class Part(NamedTuple):
    """A part of a bar: its name in the legend, its length, what a pointer shows."""

    name: str
    size: float
    hint: str = ""


class Bar(NamedTuple):
    """A bar: the text above it, its parts, the text at its end; `lost` stands in the place of one without parts."""

    label: str
    parts: tuple[Part, ...]
    text: str = ""
    lost: str = ""


class Tile(NamedTuple):
    """A cell of a grid: its text, how deep its tint is (from -1, slower, to 1, faster), and whether it was lost."""

    text: str
    depth: float = 0.0
    bad: bool = False


@dataclass(frozen=True)
class Panel:
    """A part of a drawing with axes of its own. Panels with the same `shared` have the same range of values;
    `above` are names at places of the axis across."""

    title: str
    items: tuple[Mark, ...] | tuple[Bar, ...]
    shared: str = ""
    above: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class Axis:
    """An axis: its label, and its scale: 'log', 'log2', 'linear' (from zero) or 'names'."""

    label: str = ""
    scale: str = "log"


@dataclass(frozen=True)
class Marks:
    """Panels of marks on axes, each with the intervals that it has.

    names   the series, in the order of the legend
    lines   whether the marks of a series are joined, their intervals a band
    square  whether both axes have the same range
    guides  lines y = factor * x: factor and label; a label 'equal' makes it a strong one
    guided  titles of the panels that have guides, None for all
    across  panels side by side
    """

    panels: tuple[Panel, ...]
    names: tuple[str, ...]
    x: Axis = field(default_factory=Axis)
    y: Axis = field(default_factory=Axis)
    lines: bool = False
    square: bool = False
    guides: tuple[tuple[float, str], ...] = ()
    guided: tuple[str, ...] | None = None
    across: int = 2

    @property
    def empty(self) -> bool:
        """True when there is nothing to draw."""
        return not self.panels


@dataclass(frozen=True)
class Bars:
    """Panels of bars cut into parts, whose names are in the order of the legend. `whole`: a part's
    size is its share; else each panel has a linear scale of its own."""

    panels: tuple[Panel, ...]
    names: tuple[str, ...]
    whole: bool = False
    across: int = 2

    @property
    def empty(self) -> bool:
        """True when there is nothing to draw."""
        return not self.panels


@dataclass(frozen=True)
class Grid:
    """Lines of tinted texts: the names of its columns, and each line's name and tiles. A line without tiles is a
    heading."""

    columns: tuple[str, ...]
    lines: tuple[tuple[str, tuple[Tile, ...]], ...]

    @property
    def empty(self) -> bool:
        """True when there is nothing to draw."""
        return not self.lines


@dataclass(frozen=True)
class Figure:
    """A figure to draw.

    name     of its files, one of `captions.CAPTIONS`
    frame    its data, the CSV beside it
    form     what is drawn of them
    note     what is special about this run's: what was chosen, or why there is nothing to draw
    missing  the cells that have no mark, and why, in a sentence
    """

    name: str
    frame: pandas.DataFrame
    form: Marks | Bars | Grid
    note: str = ""
    missing: str = ""

    @property
    def title(self) -> str:
        """Its title, as that of a page or a file."""
        return CAPTIONS[self.name][0]

    @property
    def caption(self) -> str:
        """How to read it."""
        return CAPTIONS[self.name][1]

    @property
    def drawable(self) -> bool:
        """True when there is something to draw, or to say in its place."""
        return not self.form.empty or self.note.startswith("Unavailable")

    @property
    def csv(self) -> str:
        """The data as CSV, full precision."""
        return self.frame.to_csv(index=False, lineterminator="\n")
