"""Pages with a leaderboard for tests, and entries made up for them."""

from __future__ import annotations

from pathlib import Path

from stored import made

from grailbench.report.page import shell
from grailbench.report.site import board
from grailbench.report.site.entries import OWN, Entry, Source

PHONE, DESK = 360, 1280


def source(rows, environment=None, name="1", origin=OWN) -> Source:
    """A run of these rows as a site has it, without a folder."""
    return Source(name, made(rows, environment, name), origin)


def page(entries: list[Entry], path: Path) -> Path:
    """A page in the layout of a site that has the leaderboard alone."""
    text = shell.rendered(
        "site/layout.html", [shell.asset("site/site.css"), board.styles()], [board.script()], site="A site", up="",
        nav=[("Leaderboard", "index.html")], crumbs=[], address="index.html", under="", title="Leaderboard",
        description="Every cell.", sections=[], runs="1 run", data="data.csv",
    )  # fmt: skip
    path.write_text(text.replace("</main>", f"{board.block(entries)}</main>"), "utf-8", "surrogatepass")
    return path
