"""The program that uses what was recommended."""

from __future__ import annotations

from grailbench.advise.costs import Option
from grailbench.contract import Params, implementation
from grailbench.runs import axes


def lines(graph: str, option: Option) -> list[str]:
    """Three lines of Python that build an option's index on a graph of that name and ask it for the pair (u, v)."""
    cell, has = option.cells[0], implementation(option.impl).axes
    given = [f"gb.Graph.open({graph!r})", repr(option.impl)]
    given += [f"d={cell.dim}"] if "dim" in has else []
    cores = Params().workers
    usual = {axis.name: axis.usual for axis in axes.AXES} | {"filters": "", "threads": cores}
    given += [f"{axis}={value!r}" for axis in ("filters", "threads", "search", "order")
              if axis in has and (value := getattr(cell, axis)) != usual[axis]]  # fmt: skip
    return ["import grailbench as gb", f"index = gb.build({', '.join(given)})", "index.reaches(u, v)"]
