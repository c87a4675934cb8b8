"""The leaderboard of a site: every cell of all its runs, filtered, ranked and sorted in the browser.

The page has all data in itself, as JSON that no browser runs: a page of a folder may load no file of data, and which
files of scripts it may load differs from browser to browser.

The data are columns with dictionaries, small enough for a page: each name stands once, in a dictionary that is sorted
as people sort names; cells have its index there. Of an address only what cannot be derived is stored: stems of file
names in the dictionaries, and of each cell the twelve digits of its anchor. Times, rates and joules have four
significant digits, bytes are exact; what was not measured is None.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from markupsafe import Markup

from grailbench.compare.measures import median
from grailbench.data.registry import registry
from grailbench.harness import axes, machines
from grailbench.harness.cells import ON_DEVICE, Cell
from grailbench.problems import contract
from grailbench.report.page import asset
from grailbench.report.render.html import SIGNS, state, templates
from grailbench.report.site.entries import SUBMITTED, Entry, Source, anchor
from grailbench.util.visible import visible

PAGE = 50  #: lines of a page of the table
DIGITS = 4  #: significant digits of times, rates and joules
UNMEASURED = "not measured"  #: in place of a time from edges
RANDOM, BALANCED, OTHER = "random", "balanced", "other"  #: kinds of query sets
#: sets of graphs that the registry does not have
_TITLES = {"imported": "Imported graphs", "generated": "Generated graphs", "other": "Other graphs"}
_MILLIONS = ("TEPS", "vertices/s")  #: rates that are shown in millions
_PARTS = re.compile(r"([0-9]+)")
#: the numbers of a cell: first the times that configurations may be ranked by, in the order of the columns; 'answers'
#: is what a user waits for
NUMBERS = ("answers", "ready", "alone", "solve", "built", "build", "rate", "index", "peak", "device", "joules")
_PROBLEMS = {
    "reachability": "Reachability", "bfs": "Breadth-first searches", "sssp": "Shortest paths", "apsp": "All pairs",
    "closure": "Transitive closure", "counts": "Reachability counts", "read": "Reading graphs",
}  # fmt: skip


class Column(NamedTuple):
    """A column of the leaderboard.

    key     of the column of cells that it shows, or 'rank'
    header  in words, with the unit
    kind    how its values are shown: 'rank', 'name', 'ms', 'rate', 'bytes' or 'joules'
    """

    key: str
    header: str
    kind: str = "name"


def block(entries: Iterable[Entry]) -> Markup:
    """The leaderboard with its controls, for a page of the site's folder whose script has that of this module."""
    template = templates().get_template("site/board.html")
    data = Markup(embedded(encoded(entries)))  # noqa: S704 - JSON without a '<'
    return Markup(template.render(page=PAGE, data=data))  # noqa: S704 - an autoescaped template


def script() -> str:
    """The JavaScript of pages with a leaderboard."""
    return asset("site/board.js").replace("@DIGITS@", str(DIGITS)).replace("@UNMEASURED@", UNMEASURED)


def embedded(data: dict[str, Any]) -> str:
    """JSON for an element of a page: no text in it can end the element, or begin a comment or another script."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


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
    queries = _dictionary((cell.query_set for cell in cells), natural)
    statuses = _dictionary(cell.status for cell in cells)
    configs = [axes.label("", c.axes, long=True, after=f"seed {c.seed}" if seeds and c.seed is not None else "")
               for c in cells]  # fmt: skip
    notes = [cell.reason or (f"checked by {cell.verified}" if cell.verified else "") for cell in cells]
    every_config, every_note = _dictionary(configs, natural), _dictionary(notes, natural)
    graph_pages = {(entry.cell.dataset, _set(entry.cell)): _stem(entry.graph_address) for entry in entries}
    impl_pages = {(entry.cell.impl, entry.cell.problem): _stem(entry.implementation_address) for entry in entries}
    whole = {cell.query_set: cell.whole_set for cell in cells}
    kinds = [whole[name].partition("-")[0] for name in queries]
    found = {
        "problems": [{"name": name, "title": _PROBLEMS.get(name, name), "columns": columns(name),
                      "scale": 1e-6 if contract.problem(name).rate in _MILLIONS else 1} for name in problems],
        "sets": [[name, _sets()[name]] for name in sets],
        "graphs": {"name": [visible(name) for name, _ in graphs], "set": [sets[name] for _, name in graphs],
                   "page": [graph_pages[key] for key in graphs]},
        "impls": {"name": [visible(name) for name, _ in impls], "problem": [problems[of] for _, of in impls],
                  "page": [impl_pages[key] for key in impls]},
        "configs": [*map(visible, every_config)], "notes": [*map(visible, every_note)],
        "queries": {"name": [*map(visible, queries)],
                    "kind": [kind if kind in (RANDOM, BALANCED) else OTHER for kind in kinds]},
        "statuses": [[name, state(name), SIGNS[state(name)]] for name in statuses],
        "runs": {"name": [visible(source.name) for source in runs], "page": [_stem(source.address) for source in runs],
                 "machine": [[*hosts].index(_machine(source)) for source in runs],
                 "mark": [" (submitted)" if source.origin == SUBMITTED else "" for source in runs]},
        "machines": [*hosts.values()],
        "cells": {
            "problem": [problems[cell.problem] for cell in cells],
            "graph": [graphs[cell.dataset, _set(cell)] for cell in cells],
            "impl": [impls[cell.impl, cell.problem] for cell in cells],
            "config": [every_config[text] for text in configs],
            "queries": [queries[cell.query_set] for cell in cells], "status": [statuses[cell.status] for cell in cells],
            "note": [every_note[text] for text in notes], "run": [runs[entry.source] for entry in entries],
            **{name: [each[at] for each in measured] for at, name in enumerate(NUMBERS)},
            "anchors": "".join(anchor(cell)[1:] for cell in cells),
        },
    }  # fmt: skip
    for at, problem in enumerate(found["problems"]):
        problem |= _usual(found, [i for i, cell in enumerate(cells) if problems[cell.problem] == at and cell.sound])
    return found


def columns(problem: str) -> list[Column]:
    """The columns of a problem's leaderboard: of its times those that it can have. Those without a value in a view are
    left out of that."""
    its = contract.problem(problem)
    last = its.ranked[its.phases[-1]]
    indexed = problem == contract.USUAL
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
        Column("rate", rate, "rate"), Column("index", "Index" if indexed else "Memory", "bytes"),
        Column("peak", "Peak memory, host", "bytes"), Column("device", "Peak memory, device", "bytes"),
        Column("joules", "Joules", "joules"), Column("queries", "Queries"), Column("note", "Answers"),
        Column("machine", "Machine"), Column("run", "Run"),
    ]  # fmt: skip


def numbers(cell: Cell) -> tuple[float | int | None, ...]:
    """The numbers of a cell in the order of `NUMBERS`; those of a cell that is not sound are None."""
    if not cell.sound:
        return (None,) * len(NUMBERS)
    first, last = contract.problem(cell.problem).phases[0], cell.last_phase
    indexed = cell.problem == contract.USUAL
    ready, solve = median(cell, "ready"), median(cell, last)
    whole = (None if None in (ready, solve) else ready + solve) if indexed else ready
    alone = _inner(cell, last, ON_DEVICE)
    if alone is None and cell.problem == "closure":
        alone = _inner(cell, last, "kernel")
    times = (whole, ready if indexed else None, alone, solve, _inner(cell, first, ON_DEVICE),
             None if first == last else median(cell, first))  # fmt: skip
    each = solve / cell.queries * 1e6 if indexed and solve is not None and cell.queries else None
    rate = each if indexed else cell.rate
    return (*map(_rounded, (*times, rate)), cell.index_bytes, cell.host_peak_bytes, cell.device_peak_bytes,
            _rounded(cell.joules(last)))  # fmt: skip


def _inner(cell: Cell, phase: str, part: str) -> float | None:
    """The median ms of a part of a phase."""
    found = cell.phases.get((phase, part))
    return found and found.median


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


def _rounded(value: float | None) -> float | int | None:
    if value is None:
        return None
    near = float(f"{value:.{DIGITS}g}")
    return int(near) if near.is_integer() else near


def _sets() -> dict[str, str]:
    """The sets of graphs in the order of the registry, then the others, with their titles."""
    return {dataset.set: dataset.set_title for dataset in registry().values()} | _TITLES


def _set(cell: Cell) -> str:
    if cell.kind == "imported" or cell.generated:
        return "imported" if cell.kind == "imported" else "generated"
    known = registry().get(cell.dataset)
    return known.set if known else "other"


def _machine(source: Source) -> tuple[str, str]:
    """The machine of a run and its words; a run on several machines is one of its own."""
    return source.machine or (f"run {source.name}", f"several machines (run {source.name})")


def _machines(entries: list[Entry]) -> dict[tuple[str, str], dict]:
    """What the page says of each machine, of those with most cells first: its name in addresses, its words, and whether
    it is several."""
    having = Counter(_machine(entry.source) for entry in entries)
    mixed = {_machine(entry.source) for entry in entries if entry.source.machine is None}
    found: dict[tuple[str, str], dict] = {}
    for key in sorted(having, key=lambda key: (-having[key], key)):
        short = key[0] if key[0].startswith("run ") else machines.named(key[0])
        taken = {"", "all", *(each["id"] for each in found.values())}
        name = next(each for n in range(len(taken) + 1) if (each := f"{short}-{n}" if n else short) not in taken)
        found[key] = {"id": name, "name": visible(key[1]), "mixed": key in mixed}
    return found


def _usual(data: dict[str, Any], sound: list[int]) -> dict[str, Any]:
    """The choices of a problem's first view, of its sound cells: random queries if it has any, the time that a user
    waits for if it was measured, and the machine with most cells that have it."""
    cells, kinds = data["cells"], data["queries"]["kind"]
    random = [i for i in sound if kinds[cells["queries"][i]] == RANDOM]
    sound = random or sound
    time = "answers" if any(cells["answers"][i] is not None for i in sound) else "solve"
    having = Counter(data["runs"]["machine"][cells["run"][i]] for i in sound if cells[time][i] is not None)
    return {"queries": RANDOM if random else "", "time": time,
            "machine": min(having, key=lambda at: (-having[at], at), default=0)}  # fmt: skip
