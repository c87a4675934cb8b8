"""The pictures that README.md and the pages of docs/ show, drawn from recorded runs: `PICTURES` lists them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from grailbench.errors import InputError
from grailbench.harness import provenance
from grailbench.report import document, draw, figures
from grailbench.report.figure import Figure
from grailbench.report.pages import Page, stamp
from grailbench.report.places import save


class Picture(NamedTuple):
    """A figure of a recorded run; further pages of it are named NAME-2 and so on."""

    run: str
    figure: str


PICTURES = (Picture("cpu-2core/peers", "edges"),)
PAGES = ("docs/benchmark-graphs.md",)  #: marked pages (`report.pages`) whose figures are pictures too


def write(folder: Path) -> list[Path]:
    """Draw the pictures into a folder, as SVG with their data as CSV; returns the paths of the files.

    Raises InputError outside a checkout, which alone has recorded runs, and if a file cannot be written.
    """
    return [
        save(folder / name, content.rstrip() + b"\n" + stamp(figure) + b"\n" if name.endswith(".svg") else content)
        for figure, source in _figures() for name, content in draw.files(figure, source, "svg")
    ]  # fmt: skip


def stale(folder: Path) -> list[Path]:
    """The files of a folder that are not what the runs say, or are not there. Pictures are known by the stamp of their
    title, caption and data: how they are drawn differs from one version of matplotlib to another."""
    found: list[Path] = []
    for figure, source in _figures():
        for name, content in draw.files(figure, source, "svg"):
            path = folder / name
            there = path.read_bytes() if path.is_file() else b""
            same = there.rstrip().endswith(stamp(figure)) if name.endswith(".svg") else there == content
            found += [] if same else [path]
    return found


def _figures() -> Iterator[tuple[Figure, str]]:
    """Each figure, and the sentence on its origin; pages say that of their own."""
    home = provenance.baselines()
    for page in PAGES:
        found = Page(home.parents[1] / page)
        if found.renewed:
            yield from ((figure, "") for figure in found.every_figure.values())
    for run, name in PICTURES:
        folder = home / run
        if not folder.is_dir():
            raise InputError("is not among the recorded runs", path=folder)
        report = document.of_run(str(folder))
        yield figures.of_report(report)[name], f"{report.title}. {report.machine}"
