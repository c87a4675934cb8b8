"""Draws a figure as an SVG file, as a PNG file, and as part of a page, with the same code.

With the same version of matplotlib a figure always gives the same bytes: there are no dates, ids are fixed, and every
length is in inches.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from importlib.resources import files as resources

from markupsafe import Markup, escape

from grailbench.report.figure import Bars, Figure, of_trials, seen
from grailbench.util.visible import visible

DPI = 300
_WIDE, _TALL, _EDGE = 160, 14, 4  # pixels of a strip, and free at its borders


def svg(figure: Figure) -> str:
    """The drawings of a figure for a page, in a box that scrolls sideways: legend and panels without other text, in the
    page's colours and font. `script` adds tooltips on touch and a legend that hides series."""
    from grailbench.report.draw.markup import inline

    found = "".join(inline(sheet, drawn["svg"]) for sheet, drawn in _sheets(figure, ("svg",), words=False))
    label = escape(visible(figure.title))
    return f'<div class="drawing scroll" tabindex="0" role="region" aria-label="{label}">{found}</div>'


def files(figure: Figure, source: str, form: str = "both") -> Iterator[tuple[str, bytes]]:
    """Names and contents of a figure's files: each page as SVG, PNG or both (`form`), then the data as CSV.

    source  the sentence on the origin of the numbers at the foot of the figure
    """
    from grailbench.report.draw.markup import file

    kinds = ("svg", "png") if form == "both" else (form,)
    for number, (sheet, drawn) in enumerate(_sheets(figure, kinds, source), 1):
        stem = figure.name if number == 1 else f"{figure.name}-{number}"
        for kind in kinds:
            yield f"{stem}.{kind}", file(sheet, drawn[kind]) if kind == "svg" else drawn[kind]
    yield f"{figure.name}.csv", figure.csv.encode()


def strip(times: Sequence[float], low: float | None, median: float, high: float | None) -> Markup:
    """An SVG of 160 x 14 pixels for a table of a page, without text: a dot a trial from the least to the
    greatest on a log axis, the first trial lowest, over the interval and the median; its numbers are its accessible
    name. Empty without times. Its colours follow the page's theme by the rules of `styles`."""
    if not times:
        return Markup("")
    least, most = min(times), max(times)
    scale = math.log if least > 0 else float
    span = scale(most) - scale(least)

    def at(ms: float) -> str:
        share = (scale(min(max(ms, least), most)) - scale(least)) / span if span > 0 else 0.5
        return f"{_EDGE + share * (_WIDE - 2 * _EDGE):.1f}".removesuffix(".0")

    up = (_TALL - 4) / max(1, len(times) - 1)
    dots = "".join(f"M{at(ms)} {_TALL - 2 - up * number:.0f}h0" if len(times) > 1 else f"M{at(ms)} {_TALL // 2}h0"
                   for number, ms in enumerate(times))  # fmt: skip
    bar = ""
    if low is not None and high is not None:
        wide = f"{max(float(at(high)) - float(at(low)), 1):.1f}".removesuffix(".0")
        bar = f'<rect x="{at(low)}" width="{wide}" height="{_TALL}"/>'
    name = escape(of_trials(times, median, low, high))
    return Markup(  # noqa: S704 - numbers, and a name that is escaped above
        f'<svg class="strip" role="img" aria-label="{name}" width="{_WIDE}" height="{_TALL}">{bar}'
        f'<path class="m" d="M{at(median)} 0v{_TALL}"/><path d="{dots}"/></svg>'
    )


def script() -> str:
    """JavaScript of a page's figures, which does not use eval."""
    return resources(__name__).joinpath("figures.js").read_text("utf-8")


def styles() -> str:
    """CSS of a page's figures."""
    return resources(__name__).joinpath("figures.css").read_text("utf-8")


def _sheets(figure: Figure, kinds: tuple[str, ...], source: str = "", words: bool = True) -> Iterator[tuple]:
    """Each page of a figure, and its bytes from matplotlib by kind."""
    from grailbench.report.draw import forms
    from grailbench.report.draw.sheet import Sheet, page, styled

    figure, source = seen(figure), visible(source)
    form = figure.form
    names = () if form.empty else form.names
    with styled(figure.name):
        pages = page(forms.blocks(form)) or [[]]
    for number, own in enumerate(pages, 1):
        with styled(f"{figure.name}-{number}"):
            sheet = Sheet(figure, names, isinstance(form, Bars), sum(block.height for block in own), words, source)
            top = 0.0
            for block in own:
                block.draw(sheet, top)
                top += block.height
            drawn = {kind: _drawn(sheet, kind) for kind in kinds}
        yield sheet, drawn


def _drawn(sheet, kind: str) -> bytes:
    """A sheet's bytes from matplotlib, without dates."""
    about = {"Title": sheet.figure.title, "Description": sheet.figure.caption}
    about |= {"Date": None, "Creator": "grailbench"} if kind == "svg" else {"Software": "grailbench"}
    out = io.BytesIO()
    sheet.picture.savefig(out, format=kind, dpi=DPI, metadata=about)
    return out.getvalue()
