"""The problems by the name a user types. Each is imported when first asked for."""

from __future__ import annotations

import difflib
from functools import cache
from importlib import import_module

from grailbench.contract import HOMES, Problem
from grailbench.errors import InputError

NAMES: tuple[str, ...] = tuple(HOMES)
USUAL = "reachability"
_WHERE = {
    "reachability": ("grailbench.reachability.problem", "Reachability"),
    "bfs": ("grailbench.traversal.problem", "Bfs"),
    "sssp": ("grailbench.traversal.problem", "Sssp"),
    "apsp": ("grailbench.traversal.problem", "Apsp"),
    "closure": ("grailbench.closure.problem", "Closure"),
    "read": ("grailbench.reading.problem", "Reading"),
}


@cache
def problem(name: str) -> Problem:
    """The problem of that name. Raises InputError when there is none."""
    if name not in _WHERE:
        near = difflib.get_close_matches(name, NAMES, 1)
        hint = f"did you mean {near[0]}?" if near else f"choose among {', '.join(NAMES)}"
        raise InputError(f"no problem is named {name!r}", remedy=hint)
    module, found = _WHERE[name]
    return getattr(import_module(module), found)()
