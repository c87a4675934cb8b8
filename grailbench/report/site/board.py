"""The leaderboard of a site: every cell of all its runs, filtered, ranked and sorted in the browser.

The page has all data in itself, as JSON that no browser runs: a page of a folder may load no file of data, and which
files of scripts it may load differs from browser to browser. Without JavaScript it shows the default view: what is the
fastest on each graph, on the machine with most such cells.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from markupsafe import Markup

from grailbench.harness.rows import SOUND
from grailbench.report.page import asset
from grailbench.report.render.html import templates
from grailbench.report.site.encoded import DIGITS, FROM_EDGES, RANDOM, encoded
from grailbench.report.site.entries import Entry
from grailbench.util import words

PAGE = 50  #: lines of a page of the table
UNMEASURED = "not measured"  #: in place of a time from edges
#: how the choices are explained, below the table
NOTES = (
    "Times are medians over the trials in ms. A rank is among the cells of one graph and one set of queries that the "
    "filters leave: '2 of 34' is the second of 34. Of a graph with several sets of queries, the fastest is that of "
    "the set with most cells.",
    "From edges to answers: all from raw edges in memory on, with the index of those problems that build one. Device "
    "alone: what a GPU's events say of the work there, for data that lie there already, without transfers; the time "
    "from edges of the same configuration stands in the same line.",
    "Every number leads to its rows.",
)
_FOLDERS = {"graph": "graphs", "impl": "implementations", "run": "runs"}  #: of the pages that names lead to


class Place(NamedTuple):
    """A line of a view: the index of a cell, its rank, and the number of cells it is ranked among."""

    cell: int
    rank: int
    of: int


class Shown(NamedTuple):
    """A cell of the table as the template takes it; `kind` is its CSS class."""

    text: str
    link: str = ""
    kind: str = ""


def block(entries: Iterable[Entry], up: str = "") -> Markup:
    """The leaderboard with its controls, for a page whose script and style sheet have those of this module. `up` leads
    from the page to the folder of the site."""
    data = encoded(entries)
    for at, problem in enumerate(data["problems"]):
        problem |= _usual(data, at)
    places, left = default_view(data) if data["problems"] else ([], 0)
    columns = shown_columns(data, places) if places else []
    lines = [[_shown(data, place, column, up) for column in columns] for place in places[:PAGE]]
    return Markup(  # noqa: S704 - an autoescaped template
        templates().get_template("site/board.html").render(
            caption=_caption(data) if data["problems"] else "", columns=columns, lines=lines, up=up, page=PAGE,
            notes=NOTES, data=Markup(_embedded(data)),  # noqa: S704 - JSON without a '<'
            total=len(places), left=left,
        )
    )  # fmt: skip


def files(entries: Iterable[Entry]) -> dict[str, bytes]:
    """Further files that the leaderboard needs, by their addresses: none."""
    return {}


def script() -> str:
    """The JavaScript of pages with a leaderboard."""
    return asset("site/board.js").replace("@DIGITS@", str(DIGITS)).replace("@UNMEASURED@", UNMEASURED)


def styles() -> str:
    """The CSS of pages with a leaderboard, beside that of all pages."""
    return asset("site/board.css")


def _embedded(data: dict[str, Any]) -> str:
    """JSON for an element of a page: no text in it can end the element, or begin a comment or another script."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _usual(data: dict[str, Any], problem: int) -> dict[str, Any]:
    """The choices of a problem's default view: random queries if it has any, the time that a user waits for if it was
    measured, and the machine with most sound cells that have it."""
    cells = data["cells"]
    sound = [i for i, of in enumerate(cells["problem"]) if of == problem and _sound(data, i)]
    kind = RANDOM if any(_kind(data, i) == RANDOM for i in sound) else ""
    sound = [i for i in sound if not kind or _kind(data, i) == kind]
    time = "answers" if any(cells["answers"][i] is not None for i in sound) else "solve"
    having = Counter(_machine(data, i) for i in sound if cells[time][i] is not None)
    return {"queries": kind, "time": time, "machine": min(having, key=lambda at: (-having[at], at), default=0)}


def default_view(data: dict[str, Any], at: int = 0) -> tuple[list[Place], int]:
    """The lines of the default view of a problem: the fastest cell of each graph, in the order of graphs; and the
    number of graphs without such a time. The page's script computes the same, and all other views."""
    cells, its = data["cells"], data["problems"][at]
    fit = [i for i, of in enumerate(cells["problem"]) if of == at and _sound(data, i)
           and its["queries"] in ("", _kind(data, i)) and _machine(data, i) == its["machine"]]  # fmt: skip
    groups: dict[tuple[int, int], list[int]] = {}
    for i in fit:
        if cells[its["time"]][i] is not None:
            groups.setdefault((cells["graph"][i], cells["queries"][i]), []).append(i)
    largest: dict[int, list[int]] = {}
    for (graph, _), group in sorted(groups.items()):
        if len(group) > len(largest.get(graph, ())):
            largest[graph] = group
    best = [Place(min(group, key=lambda i: (cells[its["time"]][i], i)), 1, len(group)) for group in largest.values()]
    return best, len({cells["graph"][i] for i in fit}) - len(best)


def shown_columns(data: dict[str, Any], places: list[Place], at: int = 0) -> list:
    """The columns of a view: numbers that none of its lines has are left out, but for times from edges and the one that
    ranks."""
    its, cells = data["problems"][at], data["cells"]
    always = (*FROM_EDGES, its["time"])
    return [
        each for each in its["columns"]
        if each.kind in ("rank", "name") or each.key in always
        or any(cells[each.key][place.cell] is not None for place in places)
    ]  # fmt: skip


def _caption(data: dict[str, Any], at: int = 0) -> str:
    its = data["problems"][at]
    time = next(column.header for column in its["columns"] if column.key == its["time"]).removesuffix(", ms")
    asked = f", {its['queries']} queries" if its["queries"] else ""
    where = data["machines"][its["machine"]]["name"] if data["machines"] else ""
    return f"{its['title']}: the fastest on each graph by ‘{time}’{asked}, on {where}"


def _sound(data: dict[str, Any], i: int) -> bool:
    return data["statuses"][data["cells"]["status"][i]][0] in SOUND


def _kind(data: dict[str, Any], i: int) -> str:
    return data["queries"]["kind"][data["cells"]["queries"][i]]


def _machine(data: dict[str, Any], i: int) -> int:
    return data["runs"]["machine"][data["cells"]["run"][i]]


def _shown(data: dict[str, Any], place: Place, column, up: str) -> Shown:
    """A cell of the table of the default view, as the page's script writes it too."""
    cells, i = data["cells"], place.cell
    run = cells["run"][i]
    row = f"{up}runs/{data['runs']['page'][run]}.html#c{cells['anchors'][12 * i : 12 * i + 12]}"
    if column.kind == "rank":
        return Shown(f"{place.rank} of {place.of:,}", row, "num")
    if column.kind == "name":
        return _named(data, i, column.key, up)
    value = cells[column.key][i]
    if value is None:
        return Shown(UNMEASURED if column.key in FROM_EDGES else words.BLANK, "", "num none")
    if column.kind == "bytes":
        return Shown(words.size(value), row, "num")
    scale = data["problems"][cells["problem"][i]]["scale"] if column.kind == "rate" else 1
    ranked = " ranked" if column.key == data["problems"][cells["problem"][i]]["time"] else ""
    return Shown(words.short(value * scale, DIGITS), row, f"num{ranked}")


def _named(data: dict[str, Any], i: int, key: str, up: str) -> Shown:
    cells = data["cells"]
    if key == "machine":
        return Shown(data["machines"][_machine(data, i)]["name"])
    at = cells[key][i]
    if key in ("graph", "impl", "run"):
        names = data[f"{key}s"]
        mark = names["mark"][at] if key == "run" else ""
        return Shown(names["name"][at] + mark, f"{up}{_FOLDERS[key]}/{names['page'][at]}.html")
    if key == "queries":
        return Shown(data["queries"]["name"][at])
    if key == "config":
        return Shown(data["configs"][at])
    word, standing, sign = data["statuses"][cells["status"][i]]
    note = data["notes"][at]
    return Shown(f"{sign} {word}{f', {note}' if note else ''}", "", f"status {standing}")
