"""Entries as columns with dictionaries: what the leaderboard's script reads, small enough for a page.

Each name stands once, in a dictionary that is sorted as people sort names; cells have its index there. Of an address
only what cannot be derived is stored: stems of file names in the dictionaries, and of each cell the twelve digits of
its anchor. Times, rates and joules have four significant digits, bytes are exact; what was not measured is None.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from pathlib import PurePosixPath
from statistics import median
from typing import Any, NamedTuple

from grailbench.data.registry import registry
from grailbench.harness import axes, machines
from grailbench.harness.cells import ON_DEVICE, Cell, Run
from grailbench.problems import contract
from grailbench.problems.contract import USUAL
from grailbench.report.problems import shown
from grailbench.report.render.html import SIGNS, state
from grailbench.report.site.entries import SUBMITTED, Entry, anchor
from grailbench.util import words
from grailbench.util.visible import visible

DIGITS = 4  #: significant digits of times, rates and joules
RANDOM, BALANCED, OTHER = "random", "balanced", "other"  #: kinds of query sets
IMPORTED, GENERATED, REAL = "imported", "generated", "other"  #: sets of graphs that the registry does not have
_TITLES = {IMPORTED: "Imported graphs", GENERATED: "Generated graphs", REAL: "Other graphs"}
_MILLIONS = ("TEPS", "vertices/s")  #: rates that are shown in millions
_PARTS = re.compile(r"([0-9]+)")


class Column(NamedTuple):
    """A column of the leaderboard.

    key     of the column of cells that it shows, or 'rank'
    header  in words, with the unit
    kind    how its values are shown: 'rank', 'name', 'ms', 'rate', 'bytes' or 'joules'
    """

    key: str
    header: str
    kind: str = "name"


#: columns of cells that index a dictionary
INDICES = ("problem", "graph", "impl", "config", "queries", "status", "note", "run")
#: the times that configurations may be ranked by, in the order of the columns; 'answers' is what a user waits for
TIMES = ("answers", "ready", "alone", "solve", "built", "build")
NUMBERS = (*TIMES, "rate", "index", "peak", "device", "joules")
FROM_EDGES = ("answers", "ready")  #: times that say in a word when they were not measured


def headers(problem: str) -> dict[str, str]:
    """The times of a problem by their keys in `TIMES`, in words. Times that it cannot have are missing."""
    its = contract.problem(problem)
    last = its.ranked[its.phases[-1]]
    found = {"answers": "From edges to answers"} if its.from_edges else {}
    if _indexed(problem):
        found["ready"] = "From edges to index"
    found |= {"alone": f"{last}, device alone".capitalize(), "solve": last.capitalize()}
    if _indexed(problem):
        return found | {"built": "Index build, device alone", "build": "Index build"}
    return found | ({"build": "Preparing"} if len(its.phases) > 1 else {})


def columns(problem: str) -> list[Column]:
    """The columns of a problem's leaderboard. Those without a value in a view are left out of it."""
    unit = contract.problem(problem).rate
    rate = "A pair, ns" if _indexed(problem) else f"{'M ' if unit in _MILLIONS else ''}{unit}"
    return [
        Column("rank", "Rank", "rank"), Column("graph", "Graph"), Column("impl", "Implementation"),
        Column("config", "Configuration"),
        *(Column(key, f"{header}, ms", "ms") for key, header in headers(problem).items()),
        Column("rate", rate, "rate"), Column("index", "Index" if _indexed(problem) else "Held", "bytes"),
        Column("peak", "Peak memory, host", "bytes"), Column("device", "Peak memory, device", "bytes"),
        Column("joules", "Joules", "joules"), Column("queries", "Queries"), Column("note", "Answers"),
        Column("machine", "Machine"), Column("run", "Run"),
    ]  # fmt: skip


def encoded(entries: Iterable[Entry]) -> dict[str, Any]:
    """The entries as JSON takes them, names as `visible` shows them: the dictionaries; under 'cells' a list for each of
    `INDICES` and `NUMBERS`, and 'anchors', the digits of all anchors in one text."""
    entries = list(entries)
    cells = [entry.cell for entry in entries]
    seeds = len({cell.seed for cell in cells}) > 1
    notes = [cell.reason or (f"checked by {cell.verified}" if cell.verified else "") for cell in cells]
    configs = [_config(cell, seeds) for cell in cells]
    sources = {entry.source: None for entry in entries}
    hosts, measured = _machines(entries), [numbers(cell) for cell in cells]
    problems = _dictionary((cell.problem for cell in cells), lambda name: [*contract.PROBLEMS].index(name))
    graphs = _dictionary(((cell.dataset, _set(cell)) for cell in cells), lambda key: (_shown(key[0]), key[1]))
    impls = _dictionary(((cell.impl, cell.problem) for cell in cells), lambda key: (_shown(key[0]), key[1]))
    sets = _dictionary((name for _, name in graphs), [*_sets()].index)
    asked = _dictionary((cell.query_set for cell in cells), _shown)
    runs = dict(zip(sorted(sources, key=lambda source: _shown(source.name)), range(len(sources)), strict=True))
    known, said = _dictionary(configs, _shown), _dictionary(notes, _shown)
    statuses = _dictionary(cell.status for cell in cells)
    one = {(entry.cell.dataset, _set(entry.cell)): entry for entry in entries}
    page = {(entry.cell.impl, entry.cell.problem): entry.implementation_address for entry in entries}
    found = {
        "problems": [{"name": name, "title": shown(name).title or name, "columns": columns(name),
                      "scale": 1e-6 if contract.problem(name).rate in _MILLIONS else 1} for name in problems],
        "sets": [[name, _sets()[name]] for name in sets],
        "graphs": {"name": [visible(name) for name, _ in graphs], "set": [sets[name] for _, name in graphs],
                   "page": [_stem(one[key].graph_address) for key in graphs]},
        "impls": {"name": [visible(name) for name, _ in impls], "problem": [problems[of] for _, of in impls],
                  "page": [_stem(page[key]) for key in impls]},
        "configs": [*map(visible, known)], "notes": [*map(visible, said)],
        "queries": {"name": [*map(visible, asked)], "kind": [_kind(name, cells) for name in asked]},
        "statuses": [[name, state(name), SIGNS[state(name)]] for name in statuses],
        "runs": {"name": [visible(source.name) for source in runs], "page": [_stem(source.address) for source in runs],
                 "machine": [hosts[_machine(source.name, source.run)][0] for source in runs],
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
    return found


def numbers(cell: Cell) -> tuple[float | int | None, ...]:
    """The numbers of a cell in the order of `NUMBERS`; those of a cell that is not sound are None."""
    if not cell.sound:
        return (None,) * len(NUMBERS)
    first, last = contract.problem(cell.problem).phases[0], cell.last_phase
    indexed = _indexed(cell.problem)
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
    """A sort key of names: case is ignored, and numbers in them go by their size."""
    parts = _PARTS.split(name.casefold())
    return tuple((0, len(part.lstrip("0")), part.lstrip("0")) if at % 2 else (1, 0, part)
                 for at, part in enumerate(parts) if part), name  # fmt: skip


def _indexed(problem: str) -> bool:
    """Whether a problem builds an index, with which `ready` ends, and answers with it."""
    return problem == USUAL


def _dictionary(values: Iterable[Hashable], key: Callable[[Any], Any] | None = None) -> dict[Any, int]:
    """The index of each value, the values sorted."""
    return {value: at for at, value in enumerate(sorted(set(values), key=key))}


def _shown(name: str) -> Any:
    """Sorts names as they are shown."""
    return natural(visible(name))


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


def _kind(name: str, cells: list[Cell]) -> str:
    whole = next(cell.whole_set for cell in cells if cell.query_set == name)
    return next((kind for kind in (RANDOM, BALANCED) if whole == kind or whole.startswith(f"{kind}-")), OTHER)


def _sets() -> dict[str, str]:
    """The sets of graphs in the order of the registry, then the others, with their titles."""
    return {dataset.set: dataset.set_title for dataset in registry().values()} | _TITLES


def _set(cell: Cell) -> str:
    if cell.kind == "imported":
        return IMPORTED
    if cell.generated:
        return GENERATED
    known = registry().get(cell.dataset)
    return known.set if known else REAL


def _machine(name: str, run: Run) -> tuple[str, str]:
    """What tells machines apart: fingerprint and words, or the run where it has no machine of its own."""
    text = words.machine({**run.environment, "commit": None}, whole=False)
    if run.mixed:
        return f"run {name}", f"several machines, in the run {name}"
    return (run.fingerprint, text) if run.fingerprint else (f"run {name}", f"{text}, in the run {name}")


def _machines(entries: list[Entry]) -> dict[tuple[str, str], tuple[int, dict]]:
    """By what tells machines apart, those with most cells first: the index of each, and its name in addresses, its
    words and whether it is several."""
    owner = {entry.source: _machine(entry.source.name, entry.source.run) for entry in entries}
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
