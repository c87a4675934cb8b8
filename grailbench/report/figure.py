"""A figure as data: its texts, its data frame (the CSV beside it), and the form that `report.draw` draws.

There are four forms: marks on axes, strips of trials, stacked bars, and a grid of tinted numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from grailbench.report.captions import CAPTIONS, OTHERS
from grailbench.report.render.csv import of_frame
from grailbench.util.visible import visible

if TYPE_CHECKING:
    import pandas


class Mark(NamedTuple):
    """One mark, at a number or, on an axis of names, at a name.

    low, high  95 % interval of y, or of x if y is a name; None if there is none
    hint       the text that a pointer shows
    open       True if it is drawn without filling
    word       the status of a cell without a value, which is written in place of the mark: 'TIMEOUT'
    link       the address that a page has behind the mark, relative to the page, or of http; '' for none
    """

    series: str
    x: float | str | None
    y: float | str
    hint: str = ""
    low: float | None = None
    high: float | None = None
    open: bool = False
    word: str = ""
    link: str = ""


class Strip(NamedTuple):
    """The trials of a phase of a cell, in their order: a dot each, with the median and its 95 % interval.

    times      in ms
    low, high  None if there is no interval
    word       the status of a cell without times
    link       as that of a `Mark`
    """

    series: str
    label: str
    times: tuple[float, ...]
    median: float | None = None
    low: float | None = None
    high: float | None = None
    hint: str = ""
    word: str = ""
    link: str = ""


class Part(NamedTuple):
    """A part of a stacked bar: its name in the legend, its length, and the text that a pointer shows."""

    name: str
    size: float
    hint: str = ""


class Bar(NamedTuple):
    """A stacked bar: the text above it, its parts, the text at its end; `lost` is the text of a bar without parts."""

    label: str
    parts: tuple[Part, ...]
    text: str = ""
    lost: str = ""


class Tile(NamedTuple):
    """A cell of a grid: its text, the depth of its tint from -1 (slower) to 1 (faster), and whether it was lost."""

    text: str
    depth: float = 0.0
    bad: bool = False


@dataclass(frozen=True)
class Panel:
    """A part of a drawing with its own axes. Panels with the same `shared` have the same range of values; `above` are
    places on the horizontal axis and the names above them; `steps` are the points of a Pareto front, which a staircase
    joins; `x`, `y` and `guides` stand in place of the form's."""

    title: str
    items: tuple[Mark, ...] | tuple[Bar, ...] | tuple[Strip, ...]
    shared: str = ""
    above: tuple[tuple[float, str], ...] = ()
    steps: tuple[tuple[float, float], ...] = ()
    x: str = ""
    y: str = ""
    guides: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class Axis:
    """An axis: its label, and its scale: 'log', 'log2', 'linear' (from zero) or 'names'. With `zero` a log axis has a
    place for 0, apart from the others, where a value is 0."""

    label: str = ""
    scale: str = "log"
    zero: bool = False


@dataclass(frozen=True)
class Marks:
    """Panels of marks on axes, with their intervals.

    names   the series, in the order of the legend
    lines   True if the marks of a series are joined and their intervals drawn as a band
    square  True if both axes have the same range
    guides  factor and label of lines y = factor * x; the label 'equal' makes a bold line
    guided  titles of the panels with guides, None for all
    across  number of panels side by side
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
class Strips:
    """Panels of `Strip`s, each panel with a log axis of its own; `names` are the series, in the order of the legend."""

    panels: tuple[Panel, ...]
    names: tuple[str, ...]
    label: str = "ms"

    @property
    def empty(self) -> bool:
        """True when there is nothing to draw."""
        return not self.panels


@dataclass(frozen=True)
class Bars:
    """Panels of stacked bars; `names` are those of the parts, in the order of the legend. With `whole` the size of a
    part is its share; otherwise each panel has its own linear scale."""

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
    """Lines of tinted texts: the names of the columns, and each line's name and tiles. A line without tiles is a
    heading."""

    columns: tuple[str, ...]
    lines: tuple[tuple[str, tuple[Tile, ...]], ...]

    @property
    def empty(self) -> bool:
        """True when there is nothing to draw."""
        return not self.lines


_ADDRESS = "link"  #: the field of an address


def seen(part: Any) -> Any:
    """A form, or a part of one, with its texts as `visible` shows them; those of tiles have lines. Addresses of links
    stay."""
    if isinstance(part, str):
        return visible(part)
    if isinstance(part, Tile):
        return part._replace(text=visible(part.text, "\n"))
    if isinstance(part, tuple):
        texts = [
            each if name == _ADDRESS else seen(each) for name, each in zip_longest(getattr(part, "_fields", ()), part)
        ]
        return type(part)._make(texts) if hasattr(part, "_make") else tuple(texts)
    if is_dataclass(part):
        texts = [each.name for each in fields(part) if each.name != _ADDRESS]
        return replace(part, **{name: seen(getattr(part, name)) for name in texts})
    return part


@dataclass(frozen=True)
class Figure:
    """A figure to draw.

    name     of its files, one of `captions.CAPTIONS` or `captions.OTHERS`
    frame    its data, which is the CSV beside it
    form     what is drawn
    note     remarks on this run's figure: what was chosen, or why there is nothing to draw
    missing  a sentence on the cells without a mark, with the reasons
    """

    name: str
    frame: pandas.DataFrame
    form: Marks | Strips | Bars | Grid
    note: str = ""
    missing: str = ""

    @property
    def title(self) -> str:
        """The title on a page or in a file."""
        return (CAPTIONS | OTHERS)[self.name][0]

    @property
    def caption(self) -> str:
        """A text on how to read it."""
        return (CAPTIONS | OTHERS)[self.name][1]

    @property
    def drawable(self) -> bool:
        """True if there is something to draw, or a note that says why it is unavailable."""
        return not self.form.empty or self.note.startswith("Unavailable")

    @property
    def csv(self) -> str:
        """The data as CSV, in full precision."""
        return of_frame(self.frame)
