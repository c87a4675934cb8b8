"""The program that uses what was recommended."""

from __future__ import annotations

import inspect

from grailbench.api.advise.costs import Option
from grailbench.api.build import build
from grailbench.problems.contract import Params, implementation

#: axes that `build` takes by their own names, d aside
_SAID = ("filters", "threads", "search", "order", "devices", "memory")


def lines(graph: str, option: Option) -> list[str]:
    """Three lines of Python that build an option's index on a graph of that name and ask it for the pair (u, v)."""
    cell, has = option.cells[0], implementation(option.impl).axes
    usual = {name: parameter.default for name, parameter in inspect.signature(build).parameters.items()}
    usual["threads"] = Params(threads=usual["threads"]).workers  # a cell has the number of all cores
    given = [f"gb.Graph.open({graph!r})", repr(option.impl)]
    given += [f"d={cell.dim}"] if "dim" in has else []
    for axis in _SAID:
        value = getattr(cell, axis) or ("none" if axis == "filters" else None)
        if axis in has and value not in (None, usual[axis]):
            given.append(f"{axis}={value!r}")
    return ["import grailbench as gb", f"index = gb.build({', '.join(given)})", "index.reaches(u, v)"]
