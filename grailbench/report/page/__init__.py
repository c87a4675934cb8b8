"""A run's report as one HTML file. It needs no network, no outside fonts or scripts, and its data cannot run as code.

The answer comes first, then tables and figures. Without JavaScript the page lacks only sorting, hints on touch, legends
that hide their series, and other references in the heat map. Its content security policy allows only its own style
sheet and script, by their hashes. The same run always gives the same file.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from pathlib import Path

from markupsafe import Markup

from grailbench import __version__
from grailbench.errors import InputError
from grailbench.report import draw, stalls
from grailbench.report.document import FOLDER, Report
from grailbench.report.draw import style
from grailbench.report.page import heat, sections
from grailbench.report.places import WHY, place, save
from grailbench.report.render.html import templates
from grailbench.runs.statistics import PENALTY

FILE = "report.html"
COLOURS = {
    "light": {
        "page": "#ffffff", "raised": "#f3f5f7", "ink": "#1a1f24", "soft": "#56606b",
        "line": "#dfe3e8", "edge": "#8a949f", "link": "#14599b", "good": "#17703f", "bad": "#b3261e",
        "faster": "31 111 180", "slower": "200 98 20",
    },
    "dark": {
        "page": "#14181d", "raised": "#1f252c", "ink": "#e8ecf0", "soft": "#a3adb8",
        "line": "#2e3640", "edge": "#6d7883", "link": "#7cbcf7", "good": "#6ccf97", "bad": "#ff8f85",
        "faster": "64 140 220", "slower": "205 110 40",
    },
}  # fmt: skip


def of_run(report: Report, file: str = "", reference: str | None = None, out: str | Path | None = None) -> Path:
    """Write the page of a run to `file`, by default to `report.html` in `out`, by default the run's `report` folder.

    Raises InputError for a recorded run without `file` or `out`, and the errors of `write`.
    """
    folder = report.run.folder
    where = place(folder, FOLDER, out)
    if not file and where is None:
        raise InputError(WHY, path=folder, remedy="name a folder with --out, or a file: --html=FILE.html")
    path = Path(file) if file else where / FILE
    return write(report, path, reference, profile=stalls.of_run(folder))


def write(
    report: Report, path: Path, reference: str | None = None, phase: str = "query", profile: Path | None = None
) -> Path:
    """Write the page to `path`, atomically. Returns the path.

    Raises InputError if the name does not end in .html (it may be the name of a run), if the file cannot be written,
    and for an unknown reference.
    """
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(
            "the name of an HTML file ends in .html", path=path, remedy="a run goes before: report RUN --html"
        )
    return save(path, page(report, reference, phase, profile).encode())


def page(report: Report, reference: str | None = None, phase: str = "query", profile: Path | None = None) -> str:
    """The whole page as text. `profile` is a CSV of Nsight Compute.

    Raises InputError if the profile cannot be read, and for a reference that `figures.choose_reference` refuses.
    """
    sheet, script = _style(), _script()
    policy = (
        f"default-src 'none'; style-src {_hash(sheet)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )
    return templates().get_template("page.html").render(
        title=report.title, lead=report.status_counts(), policy=policy, style=Markup(sheet), script=Markup(script),
        sections=sections.of_report(report, reference, phase, profile), version=__version__,
        drawing=lambda figure: Markup(draw.svg(figure)),
    )  # fmt: skip


def _hash(text: str) -> str:
    """The source expression of a script or style sheet in a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _style() -> str:
    sheet = _template("report.css")
    for name, series in (("light", style.LIGHT), ("dark", style.DARK)):
        colours = {**COLOURS[name], **{f"s{i}": colour for i, colour in enumerate(series)}}
        sheet = sheet.replace(f"@{name.upper()}@", " ".join(f"--{key}: {value};" for key, value in colours.items()))
    return "\n".join((sheet, heat.rules(), draw.styles()))


def _script() -> str:
    known = {"DEEPEST": f"{style.DEEPEST:g}", "PENALTY": f"{PENALTY:g}", "LEVELS": str(heat.LEVELS)}
    script = _template("report.js").replace("// @FIGURES@", draw.script())
    for name, value in known.items():
        script = script.replace(f"@{name}@", value)
    return script


def _template(name: str) -> str:
    return files("grailbench.report").joinpath("templates", name).read_text("utf-8")
