"""Draws a figure as an SVG file, as a PNG file, and as part of a page, with the same code.

With the same version of matplotlib a figure always gives the same bytes: there are no dates, ids are fixed, and every
length is in inches.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from importlib.resources import files as resources
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import escape

from grailbench.report import destination
from grailbench.report.figure import Bars, Figure, seen
from grailbench.util.visible import visible

if TYPE_CHECKING:
    from grailbench.report.draw.sheet import Picture, Sheet

DPI = 300


def svg(figure: Figure) -> str:
    """The drawings of a figure for a page, in a box that scrolls sideways: legend and panels without other text, in the
    page's colours and font. `script` adds tooltips on touch and a legend that hides series."""
    from grailbench.report.draw.markup import inline

    found = "".join(inline(sheet, drawn["svg"]) for sheet, drawn in _sheets(figure, ("svg",), words=False))
    label = escape(visible(figure.title))
    return f'<div class="drawing scroll" tabindex="0" role="region" aria-label="{label}">{found}</div>'


def files(figure: Figure, source: str, form: str = "both") -> Iterator[tuple[str, bytes]]:
    """Names and contents of a figure's files: each page as SVG, PNG, both or PDF (`form`), then the data as CSV.

    source  the sentence on the origin of the numbers at the foot of the figure
    """
    from grailbench.report.draw.markup import file

    kinds = ("svg", "png") if form == "both" else (form,)
    for number, (sheet, drawn) in enumerate(_sheets(figure, kinds, source), 1):
        stem = figure.name if number == 1 else f"{figure.name}-{number}"
        for kind in kinds:
            yield f"{stem}.{kind}", file(sheet, drawn[kind]) if kind == "svg" else drawn[kind]
    yield f"{figure.name}.csv", figure.csv.encode()


def save(figures: Iterable[Figure], folder: Path, source: str, form: str = "both") -> list[Path]:
    """Write the files of figures that have something to show into a folder; returns the paths. Raises InputError if
    they cannot be written."""
    return [
        destination.save(folder / name, data)
        for figure in figures
        if figure.drawable
        for name, data in files(figure, source, form)
    ]


def script() -> str:
    """JavaScript of a page's figures, which does not use eval."""
    return resources(__name__).joinpath("figures.js").read_text("utf-8")


def styles() -> str:
    """CSS of a page's figures."""
    return resources(__name__).joinpath("figures.css").read_text("utf-8")


def pictures(figure: Figure, source: str) -> list[Picture]:
    """The pages of a figure as figures of matplotlib."""
    return [sheet.picture for _, sheet in _pages(figure, source, words=True)]


def _pages(figure: Figure, source: str, words: bool) -> Iterator[tuple[str, Sheet]]:
    """Each page of a figure, after the name of its style."""
    from grailbench.report.draw import forms
    from grailbench.report.draw.sheet import Sheet, page, styled

    figure, source = seen(figure), visible(source)
    form = figure.form
    with styled(figure.name):
        pages = page(forms.blocks(form)) or [[]]
    for number, own in enumerate(pages, 1):
        name = f"{figure.name}-{number}"
        with styled(name):
            names = form.names if form.panels else ()
            sheet = Sheet(figure, names, isinstance(form, Bars), sum(block.height for block in own), words, source)
            top = 0.0
            for block in own:
                block.draw(sheet, top)
                top += block.height
        yield name, sheet


def _sheets(figure: Figure, kinds: tuple[str, ...], source: str = "", words: bool = True) -> Iterator[tuple]:
    """Each page of a figure, and its bytes from matplotlib by kind, without dates."""
    from grailbench.report.draw.sheet import styled

    more = {"svg": {"Date": None, "Creator": "grailbench"}, "png": {"Software": "grailbench"},
            "pdf": {"CreationDate": None, "Creator": "grailbench"}}  # fmt: skip
    for name, sheet in _pages(figure, source, words):
        about, drawn = {"Title": sheet.figure.title}, {}
        with styled(name):
            for kind in kinds:
                about["Subject" if kind == "pdf" else "Description"] = sheet.figure.caption
                out = io.BytesIO()
                sheet.picture.savefig(out, format=kind, dpi=DPI, metadata=about | more[kind])
                drawn[kind] = out.getvalue()
        yield sheet, drawn
