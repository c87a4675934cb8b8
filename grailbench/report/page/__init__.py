"""Pages of HTML, of a run's report and of a site: they need no network, no outside fonts or scripts, and their data
cannot run as code.

A page loads nothing: its style sheet and its script stand in it, and its content security policy allows only these, by
their hashes. Without JavaScript it lacks only sorting, hints on touch, legends that hide their series, and other
references in the heat map. The same run always gives the same file.
"""

import base64
import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path

from markupsafe import Markup

from grailbench.errors import InputError
from grailbench.harness.folder import spoken
from grailbench.report import draw, stalls
from grailbench.report.destination import WHY, folder_for, save
from grailbench.report.document import FOLDER, Report
from grailbench.report.draw import style
from grailbench.report.figure import Figure
from grailbench.report.page import sections
from grailbench.report.render.html import templates
from grailbench.util import __version__
from grailbench.util.visible import quoted

FILE = "report.html"
MOST = 1_950_000  #: bytes of a page that is not asked for whole
#: sections that a large page leaves out first, the last of them before the others
_LESS = ("phases", "edges", "cells", "counters", "trials")
COLOURS = {
    "light": {
        "page": "#ffffff", "raised": "#f3f5f7", "ink": "#1a1f24", "soft": "#56606b",
        "line": "#dfe3e8", "edge": "#8a949f", "link": "#14599b", "good": "#17703f", "bad": "#b3261e",
    },
    "dark": {
        "page": "#14181d", "raised": "#1f252c", "ink": "#e8ecf0", "soft": "#a3adb8",
        "line": "#2e3640", "edge": "#6d7883", "link": "#7cbcf7", "good": "#6ccf97", "bad": "#ff8f85",
    },
}  # fmt: skip


def write(
    report: Report, file: str | Path = "", reference: str | None = None, out: str | Path | None = None,
    everything: bool = False,
) -> Path:  # fmt: skip
    """Write the page of a run to `file`, by default to `report.html` in `out`, by default the run's `report` folder;
    atomically. Returns its path. Unless `everything` is asked for, the page has at most 2 MB.

    Raises InputError for a recorded run without `file` or `out`, if the name does not end in .html, if the file cannot
    be written, and for an unknown reference.
    """
    folder = report.run.folder
    where = folder_for(folder, FOLDER, out)
    if not file and where is None:
        raise InputError(WHY, path=folder, remedy="name a folder with --out, or a file: --html=FILE.html")
    path = checked(Path(file) if file else where / FILE)
    return save(path, page(report, reference, profile=stalls.of_run(folder), everything=everything).encode())


def checked(path: Path) -> Path:
    """The path of a page. Raises InputError if its name does not end in .html: it may be the name of a run."""
    if path.suffix.lower() not in (".html", ".htm"):
        remedy = "runs go before: report RUN --html"
        raise InputError("the name of an HTML file ends in .html", path=path, remedy=remedy)
    return path


def page(
    report: Report, reference: str | None = None, phase: str = "query", profile: Path | None = None,
    everything: bool = True,
) -> str:  # fmt: skip
    """The whole page as text, or what fits one of 2 MB. `profile` is a CSV of Nsight Compute.

    Raises InputError if the profile cannot be read, and for a reference that `frames.choose_reference` refuses.
    """
    parts = sections.of_report(report, reference, phase, profile)
    if not everything:
        parts = _fitting(parts, quoted(spoken(report.run.folder)))
    return whole(report.title, report.status_counts(), parts)


def _fitting(parts: list[sections.Section], run: str) -> list[sections.Section]:
    """The sections, drawn, with as many of their blocks as fit a page: without the data of figures and tables, and then
    without the blocks that are left out first, in whose place a sentence says where to find them."""
    draw_block = templates().get_template("blocks.html").module.block
    order = sorted(
        range(len(parts)), key=lambda at: (_LESS.index(name) if (name := parts[at].name) in _LESS else -1, at)
    )
    found: dict[int, list[sections.Block]] = {}
    for data in (True, False):
        left, lost = MOST - len(_style()) - len(_script()), False
        for at in order:
            section, blocks = parts[at], []
            for kind, content in section.blocks:
                most = left // 2 if kind == "figure" else left  # a drawing takes at least twice the room of its data
                text = "" if _least(content) > most else draw_block(kind, content, section.title, data)
                if text and len(text) <= left:
                    blocks.append(("markup", text))
                    left -= len(text)
                elif not text or text.strip():
                    lost = True
                    blocks.append(("text", f"Left out, as it is long: {_said(kind, content, run)}"))
            found[at] = blocks
            if lost and data:
                break
        if not lost:
            break
    return [section._replace(blocks=found[at]) for at, section in enumerate(parts)]


def _least(content: object) -> int:
    """Bytes that a block has at least: those of the data of a figure, also of a folded one."""
    if isinstance(content, sections.Folded):
        return sum(_least(each) for _, each in content.blocks)
    return len(content.csv) if isinstance(content, Figure) else 0


def _said(kind: str, content: object, run: str) -> str:
    """The command that shows a block."""
    if isinstance(content, sections.Folded):
        return _said(*content.blocks[0], run)
    if isinstance(content, Figure):
        return f"grailbench plot {run} --figure {content.name}"
    return f"grailbench report {run} --all --details"


def whole(title: str, lead: str, parts: list[sections.Section]) -> str:
    """A page of these sections as text; the first is named 'summary', to which the page's first link leads."""
    return rendered("page.html", title=title, lead=lead, sections=parts)


# ------------------------------------------------------------------ the frame of every page


def rendered(template: str, styles: Iterable[str] = (), scripts: Iterable[str] = (), **words: object) -> str:
    """A page as text: a template that extends `shell.html`, with its words.

    styles, scripts  further CSS and JavaScript of this page, which its policy allows as well
    """
    sheet, script = "\n".join((_style(), *styles)), "\n".join((_script(), *scripts))
    policy = f"default-src 'none'; style-src {_hash(sheet)}; script-src {_hash(script)}; img-src data:; "
    policy += "base-uri 'none'; form-action 'none'"
    own = {"style": Markup(sheet), "script": Markup(script)}  # noqa: S704 - of the package's files alone
    return templates().get_template(template).render(policy=policy, version=__version__, **own, **words)


def asset(name: str) -> str:
    """The text of a file of `grailbench/report/templates`."""
    return files("grailbench.report").joinpath("templates", name).read_text("utf-8")


def _hash(text: str) -> str:
    """The source expression of a script or style sheet in a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _style() -> str:
    sheet = asset("report.css")
    for name, series in (("light", style.LIGHT), ("dark", style.DARK)):
        colours = {**COLOURS[name], **{f"s{i}": colour for i, colour in enumerate(series)}}
        sheet = sheet.replace(f"@{name.upper()}@", " ".join(f"--{key}: {value};" for key, value in colours.items()))
    return "\n".join((sheet, draw.styles()))


@cache
def _script() -> str:
    return asset("report.js").replace("// @FIGURES@", draw.script())
