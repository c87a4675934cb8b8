"""The page of an implementation: what was measured of it."""

from __future__ import annotations

from collections.abc import Iterable

from grailbench.report.page.sections import Block
from grailbench.report.site.board import listing
from grailbench.report.site.entries import Entry


def page(name: str, problem: str, entries: Iterable[Entry], up: str = "../") -> list[Block]:
    """Blocks of the page of an implementation with these entries."""
    return [("heading", "What was measured"), ("table", listing(f"Cells of {name}", entries, up))]
