"""The leaderboard of a site: every cell of all its runs, which Tabulator sorts and filters in the browser.

The page has all data in itself, as JSON that no browser runs: a page of a folder may load no file of data. The data are
columns; a column of names is a dictionary and the index of each cell in it.
"""

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from markupsafe import Markup

from grailbench.compare.measures import median, place
from grailbench.compare.stability import is_unstable, mark
from grailbench.harness import axes
from grailbench.harness.cells import ON_DEVICE, Cell
from grailbench.problems import contract
from grailbench.report.page import asset
from grailbench.report.render.html import templates
from grailbench.report.site.entries import SUBMITTED, Entry
from grailbench.util.visible import visible

DIGITS = 4  #: significant digits of times, rates and joules
_PARTS = re.compile(r"([0-9]+)")
#: columns of names: header, and the name of an entry; the numbers stand after the fourth
NAMES: dict[str, Callable[[Entry], str]] = {
    "Problem": lambda entry: entry.cell.problem,
    "Graph": lambda entry: entry.cell.dataset,
    "Implementation": lambda entry: entry.cell.impl,
    "Where": lambda entry: place(entry.cell),
    "Configuration": lambda entry: axes.label("", entry.cell.axes, long=True),
    "Queries": lambda entry: entry.cell.query_set,
    "Status": lambda entry: "unstable" if entry.cell.sound and is_unstable(entry.cell) else entry.cell.status,
    "Machine": lambda entry: entry.source.machine.title if entry.source.machine else "several machines",
    "Checked": lambda entry: entry.cell.reason or (entry.cell.verified and f"by {entry.cell.verified}") or "",
    "Run": lambda entry: entry.source.name + " (submitted)" * (entry.source.origin == SUBMITTED),
}
#: columns of numbers
NUMBERS = ("Edges to answers, ms", "Edges to index, ms", "Answers, ms", "On device, ms", "A pair, ns", "Index, bytes",
           "Peak, bytes", "Joules")  # fmt: skip


def block(entries: Iterable[Entry]) -> Markup:
    """The leaderboard, for a page whose script and style are those of this module."""
    data = Markup(embedded(encoded(entries)))  # noqa: S704 - JSON without a '<'
    return Markup(templates().get_template("site/board.html").render(data=data))  # noqa: S704 - autoescaped


def scripts() -> list[str]:
    """The JavaScript of pages with a leaderboard: Tabulator, and its columns."""
    return [asset("site/vendor/tabulator.min.js"), asset("site/board.js")]


def styles() -> list[str]:
    return [asset("site/vendor/tabulator.min.css"), asset("site/board.css")]


def embedded(data: dict[str, Any]) -> str:
    """JSON for an element of a page: no text in it can end the element, or begin a comment or another script."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def encoded(entries: Iterable[Entry]) -> dict[str, Any]:
    """The entries as JSON takes them, names as `visible` shows them: for each of `NAMES` its sorted names and the index
    of each cell, for each of `NUMBERS` the numbers, None where there is none, the marks of times, and the
    addresses of the rows."""
    entries = list(entries)
    measured = [numbers(entry.cell) for entry in entries]
    found: dict[str, Any] = {"names": {}, "numbers": {}}
    for header, name in NAMES.items():
        own = [visible(name(entry)) for entry in entries]
        at = {each: i for i, each in enumerate(sorted(set(own), key=natural))}
        found["names"][header] = [list(at), [at[each] for each in own]]
    for at, header in enumerate(NUMBERS):
        found["numbers"][header] = [each[at] for each in measured]
    found["marks"] = [mark(entry.cell) for entry in entries]
    pages = list(dict.fromkeys(entry.source.address for entry in entries))
    found["rows"] = [pages, [pages.index(entry.source.address) for entry in entries],
                     [entry.address.partition("#")[2] for entry in entries]]  # fmt: skip
    return found


def numbers(cell: Cell) -> tuple[float | int | None, ...]:
    """The numbers of a cell in the order of `NUMBERS`; those of a cell that is not sound are None."""
    if not cell.sound:
        return (None,) * len(NUMBERS)
    last = cell.last_phase
    indexed = cell.problem == contract.USUAL
    ready, solve = median(cell, "ready"), median(cell, last)
    whole = (None if None in (ready, solve) else ready + solve) if indexed else ready
    alone = cell.phases.get((last, ON_DEVICE)) or (cell.phases.get((last, "kernel")) if not indexed else None)
    each = solve / cell.queries * 1e6 if indexed and solve is not None and cell.queries else None
    times = (whole, ready if indexed else None, solve, alone and alone.median, each)
    return (*map(_rounded, times), cell.index_bytes, cell.host_peak_bytes, _rounded(cell.joules(last)))


def natural(name: str) -> tuple:
    """A sort key of names as they are shown: case is ignored, and numbers in them go by their size."""
    name = visible(name)
    parts = _PARTS.split(name.casefold())
    return tuple((0, len(part.lstrip("0")), part.lstrip("0")) if at % 2 else (1, 0, part)
                 for at, part in enumerate(parts) if part), name  # fmt: skip


def _rounded(value: float | None) -> float | int | None:
    if value is None:
        return None
    near = float(f"{value:.{DIGITS}g}")
    return int(near) if near.is_integer() else near
