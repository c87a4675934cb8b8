"""A figure as data: its texts, its data frame (the CSV beside it), and the form that `report.draw` draws.

There are two forms: marks on axes, and stacked bars.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import zip_longest
from typing import Any, NamedTuple

import pandas

from grailbench.compare.measures import grouped
from grailbench.report.captions import CAPTIONS, OTHERS
from grailbench.report.render.csv import of_frame
from grailbench.util.visible import visible
from grailbench.util.words import short


class Mark(NamedTuple):
    """One mark, at a number or, on an axis of names, at a name.

    low, high  95 % interval of y, or of x if y is a name; None if there is none
    hint       the text that a pointer shows
    open       True if it is drawn without filling
    word       the status of a cell without a value, which is written in place of the mark: 'TIMEOUT'
    link       the address that a page has behind the mark, relative to the page, or of http; '' for none
    trials     on an axis of names: the times that x is the median of, drawn as a dot each, the first at the bottom
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
    trials: tuple[float, ...] = ()


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


@dataclass(frozen=True)
class Panel:
    """A part of a drawing with its own axes. Panels with the same `shared` have the same range of values; `above` are
    places on the horizontal axis and the names above them; `steps` are the points of a Pareto front, which a staircase
    joins; `x` and `y` stand in place of the form's labels; `guides` are lines y = factor * x with their factors and
    labels, of which 'equal' makes a bold one."""

    title: str
    items: tuple[Mark, ...] | tuple[Bar, ...]
    shared: str = ""
    above: tuple[tuple[float, str], ...] = ()
    steps: tuple[tuple[float, float], ...] = ()
    x: str = ""
    y: str = ""
    guides: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class Axis:
    """An axis: its label, and its scale: 'log' (on whose border is what is 0), 'log2', 'linear' (from zero) or
    'names'."""

    label: str = ""
    scale: str = "log"


@dataclass(frozen=True)
class _Panels:
    """Panels, and the names of series or parts in the order of the legend."""

    panels: tuple[Panel, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """True when there is nothing to draw."""
        return not self.panels


@dataclass(frozen=True)
class Marks(_Panels):
    """Panels of marks on axes, with their intervals.

    lines   True if the marks of a series are joined and their intervals drawn as a band
    square  True if both axes have the same range
    across  number of panels side by side
    """

    x: Axis = field(default_factory=Axis)
    y: Axis = field(default_factory=Axis)
    lines: bool = False
    square: bool = False
    across: int = 2


@dataclass(frozen=True)
class Bars(_Panels):
    """Panels of stacked bars. With `whole` the size of a part is its share; otherwise each panel has its own linear
    scale."""

    whole: bool = False
    across: int = 2


def panels(items: Iterable[tuple[str, Mark | Bar]]) -> tuple[Panel, ...]:
    """The panels of items that come after the titles of their panels."""
    found = grouped(items, lambda each: each[0])
    return tuple(Panel(title, tuple(item for _, item in own)) for title, own in found.items())


def marks(
    frame: pandas.DataFrame, series: str, at: str, value: str, *, panel: str = "", name: str = "dataset",
    bounds: tuple[str, str] | None = ("low", "high"), unit: str = " ms", opened: str = "", named: bool = False,
) -> tuple[Panel, ...]:  # fmt: skip
    """The panels of marks, one for each row of a data frame; all words are names of its columns.

    series, panel  of the series of a mark, and of the title of its panel
    at, value      its x and its y, or with `named` its y, a name, and its x
    name           what its hint begins with
    bounds         of the 95 % interval of the value; None if there is none
    opened         whether it is drawn without filling; '' if none is
    A row without a value has its status in place of a mark.
    """
    found = []
    for row in frame.to_dict("records"):
        of, title = str(row[series]), str(row[panel]) if panel else ""
        number, *ends = (None if row[key] is None or row[key] != row[key] else float(row[key])
                         for key in (value, *(bounds or ())))  # fmt: skip
        if number is None:
            word = "OOM" if row["status"] == "out of memory" else row["status"].upper()
            found.append((title, Mark(of, None, row[at], word=word)))
            continue
        hint = f"{row[name]}, {of}: {bounded(number, *(ends or (None, None)), unit)}"
        place = (number, row[at]) if named else (float(row[at]), number)
        found.append((title, Mark(of, *place, hint, *(ends or (None, None)), bool(opened and row[opened]))))
    return panels(found)


def stacked(frame: pandas.DataFrame, panel: str, bar: str, part: str = "part", across: int = 1) -> Bars:
    """Panels of bars of shares, by columns of a frame: the titles of panels, the labels of bars, the parts. The column
    `share` has the share of each part."""
    bars = []
    for (title, label), own in frame.groupby([panel, bar], sort=False):
        parts = zip(own[part], own["share"], strict=True)
        hint = ", ".join(filter(None, (title, label)))
        bars.append((title, Bar(label, tuple(Part(name, x, f"{hint}, {name}: {x:.1%}") for name, x in parts))))
    return Bars(panels(bars), tuple(dict.fromkeys(frame[part])), whole=True, across=across)


def noted(frame: pandas.DataFrame, sampled: str, *notes: str) -> str:
    """Notes in one line, and after them the sentence on sampled times if the frame has such."""
    return " ".join(filter(None, (*notes, sampled if (frame.status == "sampled").any() else "")))


def alone(found: tuple[Panel, ...], x: Axis, y: Axis, names: Iterable[str] = (), lines: bool = False) -> Marks:
    """A form of panels one below the other; the legend has `names`, or the series in the order of their marks."""
    every = tuple(names) or tuple(dict.fromkeys(mark.series for panel in found for mark in panel.items))
    return Marks(found, every, x, y, lines=lines, across=1)


def bounded(value: float, low: float | None, high: float | None, unit: str = " ms") -> str:
    """'2.04 ms (95 %: 2.01 to 2.10)', or only the value without an interval."""
    return short(value) + unit + ("" if low is None or high is None else f" (95 %: {short(low)} to {short(high)})")


def seen(part: Any) -> Any:
    """A form, or a part of one, with its texts as `visible` shows them. Addresses of links stay."""
    if isinstance(part, str):
        return visible(part)
    if isinstance(part, tuple):
        names = getattr(part, "_fields", ())
        texts = [each if name == "link" else seen(each) for name, each in zip_longest(names, part)]
        return type(part)._make(texts) if names else tuple(texts)
    if is_dataclass(part):
        return replace(part, **{each.name: seen(getattr(part, each.name)) for each in fields(part)})
    return part


@dataclass(frozen=True)
class Figure:
    """A figure to draw.

    name     of its files, one of `captions.CAPTIONS` or `captions.OTHERS`
    frame    its data, which is the CSV beside it
    form     what is drawn
    note     remarks on this run's figure: what was chosen, or why there is nothing to draw
    missing  a sentence on the cells without a mark, with the reasons
    words    a title and a caption of its own, in place of those of `captions`
    """

    name: str
    frame: pandas.DataFrame
    form: Marks | Bars
    note: str = ""
    missing: str = ""
    words: tuple[str, str] | None = None

    @property
    def title(self) -> str:
        """The title on a page or in a file."""
        return (self.words or (CAPTIONS | OTHERS)[self.name])[0]

    @property
    def caption(self) -> str:
        """A text on how to read it."""
        return (self.words or (CAPTIONS | OTHERS)[self.name])[1]

    @property
    def drawable(self) -> bool:
        """True if there is something to draw, or a note that says why it is unavailable."""
        return not self.form.empty or self.note.startswith("Unavailable")

    @property
    def csv(self) -> str:
        """The data as CSV, in full precision."""
        return of_frame(self.frame)


OTHERS_NAME = "others"  #: the series of marks that a legend has no room for


def fewer(figure: Figure, most: int) -> Figure:
    """A figure of marks with at most so many series: the first keep their names, the others share one; hints keep
    what each mark is of. Joined lines and bars stay as they are."""
    form = figure.form
    if not isinstance(form, Marks) or form.lines or len(form.names) <= most:
        return figure
    kept = form.names[: most - 1]
    panels = tuple(
        replace(panel, items=tuple(mark if mark.series in kept else mark._replace(series=OTHERS_NAME)
                                   for mark in panel.items)) for panel in form.panels)  # fmt: skip
    return replace(figure, form=replace(form, panels=panels, names=(*kept, OTHERS_NAME)))
