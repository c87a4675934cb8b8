"""The frame that every page shares, of a run's report and of a site: style sheet, script and policy.

A page loads nothing: its style sheet and its script stand in it, and its content security policy allows only these, by
their hashes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from markupsafe import Markup

from grailbench.harness.statistics import PENALTY
from grailbench.report import draw
from grailbench.report.draw import style
from grailbench.report.page import heat
from grailbench.report.render.html import templates
from grailbench.util.version import __version__

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


def rendered(template: str, styles: Iterable[str] = (), scripts: Iterable[str] = (), **words: object) -> str:
    """A page as text: a template that extends `shell.html`, with its words.

    styles, scripts  further CSS and JavaScript of this page, which its policy allows as well
    """
    sheet, script = "\n".join((_style(), *styles)), "\n".join((_script(), *scripts))
    policy = (
        f"default-src 'none'; style-src {_hash(sheet)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )
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
    return "\n".join((sheet, heat.rules(), draw.styles()))


@cache
def _script() -> str:
    known = {"DEEPEST": f"{style.DEEPEST:g}", "PENALTY": f"{PENALTY:g}", "LEVELS": str(heat.LEVELS)}
    script = asset("report.js").replace("// @FIGURES@", draw.script())
    for name, value in known.items():
        script = script.replace(f"@{name}@", value)
    return script
