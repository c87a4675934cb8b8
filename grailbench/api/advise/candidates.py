"""The candidates of a tournament: every implementation that can run here, with a few values of its axes.

No implementation is known by name: what it needs and which axes it has say how it is tried.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from grailbench.errors import InputError, MachineLacks
from grailbench.harness.plan import AXES, Config, Experiment, Plan, make_plan
from grailbench.problems.contract import USUAL, implementation, implementations

NAME = "advise"  #: of the plans of a tournament
GPU = "gpu"  #: in `needs` of implementations that run on one
FROM_FILES = "it begins with files, not with edges in memory, so its build is another thing"
#: the values of axes that are tried; an implementation takes those that it has, and each cell once
VARIANTS = (
    {"dim": [1, 2, 3], "filters": ["level,tree", "level,tree,hubs"], "order": "lexicographic"},
    {"dim": [2], "filters": ["none"], "order": "lexicographic"},
    {"dim": [2], "filters": ["level,tree,hubs"], "order": "lexicographic", "threads": [1]},
)


class Field(NamedTuple):
    """Who takes part: names of implementations, and why others cannot (by name)."""

    names: list[str]
    absent: dict[str, str]


def field(chosen: Iterable[str] = (), gpu: bool = False) -> Field:
    """The implementations that can run on this machine, of those chosen, or of all.

    Those that need a GPU take part if `gpu` or if they were chosen. Raises InputError for an unknown name; MachineLacks
    if no GPU can be used although `gpu`, or if none of the chosen can run.
    """
    chosen = list(chosen)
    found = [implementation(name) for name in chosen] or list(implementations(USUAL).values())
    found = [each for each in found if chosen or gpu or GPU not in each.needs]
    apart = [each.name for each in found if not each.from_edges]
    found = [each for each in found if each.from_edges]
    if apart and not found:
        raise InputError(f"{apart[0]}: {FROM_FILES}", remedy="'grailbench run' measures it")
    lacking: dict[str, MachineLacks] = {}
    for each in found:
        try:
            each.require()
        except MachineLacks as error:
            lacking[each.name] = error
    for wanted, asked in ((chosen, found), (gpu, [each for each in found if GPU in each.needs])):
        if wanted and asked and all(each.name in lacking for each in asked):
            raise lacking[asked[0].name]
    if gpu and not any(GPU in each.needs for each in found):
        raise InputError("--gpu: none of the chosen implementations runs on a GPU", remedy="leave --gpu or --impl out")
    names = [each.name for each in found if each.name not in lacking]
    absent = dict.fromkeys(apart, FROM_FILES) | {name: str(error) for name, error in lacking.items()}
    return Field(list(dict.fromkeys(names)), absent)


def entry(graph: str, names: Iterable[str], **fields) -> Plan:
    """The plan of the first round: every implementation with its `VARIANTS`. `fields` are those of an experiment."""
    names = list(names)
    blocks = [Experiment(datasets=[graph], implementations=names, **variant, **fields) for variant in VARIANTS]
    return make_plan(Config(name=NAME, experiment=blocks))


def again(graph: str, cells: Iterable, **fields) -> Plan:
    """The plan of a later round: the configurations of some cells, planned or measured, each once."""
    blocks: dict[tuple, Experiment] = {}
    for cell in cells:
        own = {axis: value for axis in AXES if (value := _value(cell, axis)) is not None}
        blocks.setdefault(
            (cell.impl, *own.items()), Experiment(datasets=[graph], implementations=[cell.impl], **own, **fields)
        )
    return make_plan(Config(name=NAME, experiment=list(blocks.values())))


def _value(cell, axis: str):
    """The value of an axis of a cell as an experiment takes it; None if the cell's implementation lacks the axis."""
    if axis not in implementation(cell.impl).axes:
        return None
    value = getattr(cell, axis)
    return "none" if axis == "filters" and not value else value
