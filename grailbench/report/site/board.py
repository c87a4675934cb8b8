"""The leaderboard of a site: every cell of all its runs, filtered, ranked and sorted in the browser.

The page has all data in itself, as JSON that no browser runs: a page of a folder may load no file of data, and which
files of scripts it may load differs from browser to browser. Without JavaScript it shows the default view: what is the
fastest on each graph, on the machine with most such cells.

The data are columns with dictionaries, small enough for a page: each name stands once, in a dictionary that is sorted
as people sort names; cells have its index there. Of an address only what cannot be derived is stored: stems of file
names in the dictionaries, and of each cell the twelve digits of its anchor. Times, rates and joules have four
significant digits, bytes are exact; what was not measured is None.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from pathlib import PurePosixPath
from statistics import median
from typing import Any, NamedTuple

from markupsafe import Markup

from grailbench.data.registry import registry
from grailbench.harness import axes, machines
from grailbench.harness.cells import ON_DEVICE, Cell
from grailbench.harness.rows import SOUND
from grailbench.problems import contract
from grailbench.problems.contract import USUAL
from grailbench.report.page import asset
from grailbench.report.papers import wording
from grailbench.report.render.html import SIGNS, state, templates
from grailbench.report.site.entries import SUBMITTED, Entry, Source, anchor
from grailbench.util import words
from grailbench.util.visible import visible

PAGE = 50  #: lines of a page of the table
DIGITS = 4  #: significant digits of times, rates and joules
UNMEASURED = "not measured"  #: in place of a time from edges
RANDOM, BALANCED, OTHER = "random", "balanced", "other"  #: kinds of query sets
#: sets of graphs that the registry does not have
_TITLES = {"imported": "Imported graphs", "generated": "Generated graphs", "other": "Other graphs"}
_MILLIONS = ("TEPS", "vertices/s")  #: rates that are shown in millions
_PARTS = re.compile(r"([0-9]+)")
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
#: the times that configurations may be ranked by, in the order of the columns; 'answers' is what a user waits for
TIMES = ("answers", "ready", "alone", "solve", "built", "build")
NUMBERS = (*TIMES, "rate", "index", "peak", "device", "joules")
FROM_EDGES = ("answers", "ready")  #: times that say in a word when they were not measured


class Column(NamedTuple):
    """A column of the leaderboard.

    key     of the column of cells that it shows, or 'rank'
    header  in words, with the unit
    kind    how its values are shown: 'rank', 'name', 'ms', 'rate', 'bytes' or 'joules'
    """

    key: str
    header: str
    kind: str = "name"


class Place(NamedTuple):
    """A line of a view: the index of a cell, its rank, and the number of cells it is ranked among."""

    cell: int
    rank: int
    of: int


class Text(NamedTuple):
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
    lines = [[_text(data, place, column, up) for column in columns] for place in places[:PAGE]]
    return Markup(  # noqa: S704 - an autoescaped template
        templates().get_template("site/board.html").render(
            caption=_caption(data) if data["problems"] else "", columns=columns, lines=lines, up=up, page=PAGE,
            notes=NOTES, data=Markup(_embedded(data)),  # noqa: S704 - JSON without a '<'
            total=len(places), left=left,
        )
    )  # fmt: skip


def script() -> str:
    """The JavaScript of pages with a leaderboard."""
    return asset("site/board.js").replace("@DIGITS@", str(DIGITS)).replace("@UNMEASURED@", UNMEASURED)


def styles() -> str:
    """The CSS of pages with a leaderboard, beside that of all pages."""
    return asset("site/board.css")


def _embedded(data: dict[str, Any]) -> str:
    """JSON for an element of a page: no text in it can end the element, or begin a comment or another script."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


# ------------------------------------------------------------------ the data


def encoded(entries: Iterable[Entry]) -> dict[str, Any]:
    """The entries as JSON takes them, names as `visible` shows them: the dictionaries; under 'cells' a list for each
    column that indexes one and for each of `NUMBERS`, and 'anchors', the digits of all anchors in one text."""
    entries = list(entries)
    cells = [entry.cell for entry in entries]
    seeds = len({cell.seed for cell in cells}) > 1
    hosts, measured = _machines(entries), [numbers(cell) for cell in cells]
    problems = _dictionary((cell.problem for cell in cells), [*contract.PROBLEMS].index)
    graphs = _dictionary(((cell.dataset, _set(cell)) for cell in cells), lambda key: (natural(key[0]), key[1]))
    impls = _dictionary(((cell.impl, cell.problem) for cell in cells), lambda key: (natural(key[0]), key[1]))
    sets = _dictionary((name for _, name in graphs), [*_sets()].index)
    runs = _dictionary((entry.source for entry in entries), lambda source: natural(source.name))
    asked = _dictionary((cell.query_set for cell in cells), natural)
    statuses = _dictionary(cell.status for cell in cells)
    configs, notes = [_config(cell, seeds) for cell in cells], [_note(cell) for cell in cells]
    known, said = _dictionary(configs, natural), _dictionary(notes, natural)
    graph_pages = {(entry.cell.dataset, _set(entry.cell)): _stem(entry.graph_address) for entry in entries}
    impl_pages = {(entry.cell.impl, entry.cell.problem): _stem(entry.implementation_address) for entry in entries}
    whole = {cell.query_set: cell.whole_set for cell in cells}
    return {
        "problems": [{"name": name, "title": wording(name).title or name, "columns": columns(name),
                      "scale": 1e-6 if contract.problem(name).rate in _MILLIONS else 1} for name in problems],
        "sets": [[name, _sets()[name]] for name in sets],
        "graphs": {"name": [visible(name) for name, _ in graphs], "set": [sets[name] for _, name in graphs],
                   "page": [graph_pages[key] for key in graphs]},
        "impls": {"name": [visible(name) for name, _ in impls], "problem": [problems[of] for _, of in impls],
                  "page": [impl_pages[key] for key in impls]},
        "configs": [*map(visible, known)], "notes": [*map(visible, said)],
        "queries": {"name": [*map(visible, asked)], "kind": [_kind(whole[name]) for name in asked]},
        "statuses": [[name, state(name), SIGNS[state(name)]] for name in statuses],
        "runs": {"name": [visible(source.name) for source in runs], "page": [_stem(source.address) for source in runs],
                 "machine": [hosts[_machine(source)][0] for source in runs],
                 "mark": [" (submitted)" if source.origin == SUBMITTED else "" for source in runs]},
        "machines": [each for _, each in hosts.values()],
        "cells": {
            "problem": [problems[cell.problem] for cell in cells],
            "graph": [graphs[cell.dataset, _set(cell)] for cell in cells],
            "impl": [impls[cell.impl, cell.problem] for cell in cells], "config": [known[text] for text in configs],
            "queries": [asked[cell.query_set] for cell in cells], "status": [statuses[cell.status] for cell in cells],
            "note": [said[text] for text in notes], "run": [runs[entry.source] for entry in entries],
            **{name: [each[at] for each in measured] for at, name in enumerate(NUMBERS)},
            "anchors": "".join(anchor(cell)[1:] for cell in cells),
        },
    }  # fmt: skip


def columns(problem: str) -> list[Column]:
    """The columns of a problem's leaderboard: of its times those that it can have. Those without a value in a view are
    left out of that."""
    its = contract.problem(problem)
    last = its.ranked[its.phases[-1]]
    indexed = problem == USUAL
    times = {"answers": "From edges to answers"} if its.from_edges else {}
    times |= {"ready": "From edges to index"} if indexed else {}
    times |= {"alone": f"{last}, device alone".capitalize(), "solve": last.capitalize()}
    if indexed:
        times |= {"built": "Index build, device alone", "build": "Index build"}
    elif len(its.phases) > 1:
        times |= {"build": "Preparing"}
    rate = "A pair, ns" if indexed else f"{'M ' if its.rate in _MILLIONS else ''}{its.rate}"
    return [
        Column("rank", "Rank", "rank"), Column("graph", "Graph"), Column("impl", "Implementation"),
        Column("config", "Configuration"),
        *(Column(key, f"{header}, ms", "ms") for key, header in times.items()),
        Column("rate", rate, "rate"), Column("index", "Index" if indexed else "Held", "bytes"),
        Column("peak", "Peak memory, host", "bytes"), Column("device", "Peak memory, device", "bytes"),
        Column("joules", "Joules", "joules"), Column("queries", "Queries"), Column("note", "Answers"),
        Column("machine", "Machine"), Column("run", "Run"),
    ]  # fmt: skip


def numbers(cell: Cell) -> tuple[float | int | None, ...]:
    """The numbers of a cell in the order of `NUMBERS`; those of a cell that is not sound are None."""
    if not cell.sound:
        return (None,) * len(NUMBERS)
    first, last = contract.problem(cell.problem).phases[0], cell.last_phase
    indexed = cell.problem == USUAL
    ready, solve = _ms(cell, "ready"), _ms(cell, last)
    whole = (None if None in (ready, solve) else ready + solve) if indexed else ready
    alone = _ms(cell, f"{last}/{ON_DEVICE}")
    if alone is None and cell.problem == "closure":
        alone = _ms(cell, f"{last}/kernel")
    times = (whole, ready if indexed else None, alone, solve, _ms(cell, f"{first}/{ON_DEVICE}"),
             None if first == last else _ms(cell, first))  # fmt: skip
    each = solve / cell.queries * 1e6 if indexed and solve is not None and cell.queries else None
    rate = each if indexed else cell.rate
    return (*map(_rounded, (*times, rate)), cell.index_bytes, cell.host_peak_bytes, cell.device_peak_bytes,
            _rounded(cell.joules(last)))  # fmt: skip


def natural(name: str) -> tuple:
    """A sort key of names as they are shown: case is ignored, and numbers in them go by their size."""
    name = visible(name)
    parts = _PARTS.split(name.casefold())
    return tuple((0, len(part.lstrip("0")), part.lstrip("0")) if at % 2 else (1, 0, part)
                 for at, part in enumerate(parts) if part), name  # fmt: skip


def _dictionary(values: Iterable[Hashable], key: Callable[[Any], Any] | None = None) -> dict[Any, int]:
    """The index of each value, the values sorted."""
    return {value: at for at, value in enumerate(sorted(set(values), key=key))}


def _stem(address: str) -> str:
    return PurePosixPath(address).name.removesuffix(".html")


def _ms(cell: Cell, phase: str) -> float | None:
    times = cell.timed.get(phase)
    return median(times.values()) if times else None


def _rounded(value: float | None) -> float | int | None:
    if value is None:
        return None
    near = float(f"{value:.{DIGITS}g}")
    return int(near) if near.is_integer() else near


def _config(cell: Cell, seeds: bool) -> str:
    return axes.label("", cell.axes, long=True, after=f"seed {cell.seed}" if seeds and cell.seed is not None else "")


def _note(cell: Cell) -> str:
    return cell.reason or (f"checked by {cell.verified}" if cell.verified else "")


def _kind(query_set: str) -> str:
    return next((kind for kind in (RANDOM, BALANCED) if query_set.partition("-")[0] == kind), OTHER)


def _sets() -> dict[str, str]:
    """The sets of graphs in the order of the registry, then the others, with their titles."""
    return {dataset.set: dataset.set_title for dataset in registry().values()} | _TITLES


def _set(cell: Cell) -> str:
    if cell.kind == "imported" or cell.generated:
        return "imported" if cell.kind == "imported" else "generated"
    known = registry().get(cell.dataset)
    return known.set if known else "other"


def _machine(source: Source) -> tuple[str, str]:
    """What tells machines apart: fingerprint and words, or the run where it has no machine of its own."""
    run, alone = source.run, f"run {source.name}"
    text = words.machine({**run.environment, "commit": None}, whole=False)
    if run.mixed:
        return alone, f"several machines, in the {alone}"
    return (run.fingerprint, text) if run.fingerprint else (alone, f"{text}, in the {alone}")


def _machines(entries: list[Entry]) -> dict[tuple[str, str], tuple[int, dict]]:
    """By what tells machines apart, those with most cells first: the index of each, and its name in addresses, its
    words and whether it is several."""
    owner = {entry.source: _machine(entry.source) for entry in entries}
    mixed = {owner[source] for source in owner if source.run.mixed}
    having = Counter(owner[entry.source] for entry in entries)
    taken, found = {"", "all"}, {}
    for key in sorted(having, key=lambda key: (-having[key], key)):
        short = machines.named(key[0]) if not key[0].startswith("run ") else key[0]
        name = next(each for n in range(len(taken) + 1) if (each := f"{short}-{n}" if n else short) not in taken)
        taken.add(name)
        found[key] = (len(found), {"id": name, "name": visible(f"{key[1]} ({name})" if name != key[0] else key[1]),
                                   "mixed": key in mixed})  # fmt: skip
    return found


# ------------------------------------------------------------------ the default view


def _usual(data: dict[str, Any], problem: int) -> dict[str, Any]:
    """The choices of a problem's default view: random queries if it has any, the time that a user waits for if it was
    measured, and the machine with most sound cells that have it."""
    cells = data["cells"]
    sound = [i for i, of in enumerate(cells["problem"]) if of == problem and _sound(data, i)]
    kind = RANDOM if any(_kind_of(data, i) == RANDOM for i in sound) else ""
    sound = [i for i in sound if not kind or _kind_of(data, i) == kind]
    time = "answers" if any(cells["answers"][i] is not None for i in sound) else "solve"
    having = Counter(_machine_of(data, i) for i in sound if cells[time][i] is not None)
    return {"queries": kind, "time": time, "machine": min(having, key=lambda at: (-having[at], at), default=0)}


def default_view(data: dict[str, Any], at: int = 0) -> tuple[list[Place], int]:
    """The lines of the default view of a problem: the fastest cell of each graph, in the order of graphs; and the
    number of graphs without such a time. The page's script computes the same, and all other views."""
    cells, its = data["cells"], data["problems"][at]
    fit = [i for i, of in enumerate(cells["problem"]) if of == at and _sound(data, i)
           and its["queries"] in ("", _kind_of(data, i)) and _machine_of(data, i) == its["machine"]]  # fmt: skip
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


def shown_columns(data: dict[str, Any], places: list[Place], at: int = 0) -> list[Column]:
    """The columns of a view: numbers that none of its lines has are left out, but for times from edges and the one that
    ranks."""
    its, cells = data["problems"][at], data["cells"]
    always = (*FROM_EDGES, its["time"])
    return [
        each for each in its["columns"]
        if each.kind in ("rank", "name") or each.key in always
        or any(cells[each.key][place.cell] is not None for place in places)
    ]  # fmt: skip


def _caption(data: dict[str, Any]) -> str:
    its = data["problems"][0]
    time = next(column.header for column in its["columns"] if column.key == its["time"]).removesuffix(", ms")
    asked = f", {its['queries']} queries" if its["queries"] else ""
    where = data["machines"][its["machine"]]["name"] if data["machines"] else ""
    return f"{its['title']}: the fastest on each graph by ‘{time}’{asked}, on {where}"


def _sound(data: dict[str, Any], i: int) -> bool:
    return data["statuses"][data["cells"]["status"][i]][0] in SOUND


def _kind_of(data: dict[str, Any], i: int) -> str:
    return data["queries"]["kind"][data["cells"]["queries"][i]]


def _machine_of(data: dict[str, Any], i: int) -> int:
    return data["runs"]["machine"][data["cells"]["run"][i]]


def _text(data: dict[str, Any], place: Place, column: Column, up: str) -> Text:
    """A cell of the table of the default view, as the page's script writes it too."""
    cells, i, key = data["cells"], place.cell, column.key
    problem, run = data["problems"][cells["problem"][i]], cells["run"][i]
    row = f"{up}runs/{data['runs']['page'][run]}.html#c{cells['anchors'][12 * i : 12 * i + 12]}"
    if key == "rank":
        return Text(f"{place.rank} of {place.of:,}", row, "num")
    if key == "note":
        word, kind, sign = data["statuses"][cells["status"][i]]
        return Text(", ".join(filter(None, (f"{sign} {word}", data["notes"][cells[key][i]]))), "", f"status {kind}")
    if key == "machine":
        return Text(data["machines"][_machine_of(data, i)]["name"])
    if key in ("config", "queries"):
        names = data["configs"] if key == "config" else data["queries"]["name"]
        return Text(names[cells[key][i]])
    if column.kind == "name":
        at, names = cells[key][i], data[f"{key}s"]
        folder = {"graph": "graphs", "impl": "implementations", "run": "runs"}[key]
        mark = names["mark"][at] if key == "run" else ""
        return Text(names["name"][at] + mark, f"{up}{folder}/{names['page'][at]}.html")
    value = cells[key][i]
    if value is None:
        return Text(UNMEASURED if key in FROM_EDGES else words.BLANK, "", "num none")
    if column.kind == "bytes":
        return Text(words.size(value), row, "num")
    value *= problem["scale"] if column.kind == "rate" else 1
    return Text(words.short(value, DIGITS), row, "num ranked" if key == problem["time"] else "num")
