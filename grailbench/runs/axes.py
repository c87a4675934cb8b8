"""The axes of a configuration, each declared once: what rows, keys, labels, plans and tables know of it.

A new axis is an entry here and a field of the `Params` of the problem that obeys it: fields of configs, options of
commands, columns of rows and of tables, keys and labels follow. Rows of older runs lack it, and so it is `late`: a plan
prints it only where it has a value, so that the digests of those runs hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from grailbench.words import count


@dataclass(frozen=True)
class Axis:
    """One choice that an implementation may obey.

    name     of the column of rows, of the key of a config and of the field of `Params`
    header   of its column in tables
    help     of the option, and `metavar` of its value
    usual    the value of a config that says nothing
    least    the least number; None where values are names
    values   the names that it may have; empty where they cannot be listed
    words    a value in a label
    long     a value in the label that stands alone in tables, where that says more; as `words` unless given
    unsaid   values that go without saying in labels
    hidden   values of which a table needs no column; empty where there is always one
    blank    what a `Cell` has where its implementation has no such choice, or chose nothing
    machine  True where it says how much of the machine works; such axes are named last
    summary  True where the summary of a run of reachability always has the column
    late     True where rows of older runs lack it
    """

    name: str
    header: str
    help: str
    usual: Any
    metavar: str | None = None
    least: int | None = None
    words: Callable[[Any], str] = str
    long: Callable[[Any], str] | None = None
    unsaid: tuple = (None,)
    hidden: tuple = ()
    blank: Any = None
    values: tuple[str, ...] = ()
    machine: bool = False
    summary: bool = False
    late: bool = False

    @property
    def number(self) -> bool:
        """True where values are whole numbers, False where they are names."""
        return self.least is not None

    def of(self, row: Mapping) -> Any:
        """The value of a row as a `Cell` has it."""
        value = row.get(self.name)
        return self.blank if value in (None, "", "none") else value

    def rank(self, value: Any) -> Any:
        """What orders values: numbers by size, names by letter, none first."""
        return value or (0 if self.number else "")


#: in the order in which plans are expanded and rows are keyed
AXES = (
    Axis("dim", "d", "Label pairs", 2, "D", least=1, words=lambda d: f"d={d}", summary=True),
    Axis("search", "search", "Search order", "dfs", unsaid=(None, ""), hidden=(None, "dfs"), summary=True,
         values=("dfs", "bfs")),
    Axis("filters", "filters", "'level,tree,hubs', some of them, or 'none'", "none", "LIST",
         long=lambda names: f"filters {names}", unsaid=(None, "", "none"), blank="", summary=True),
    Axis("threads", "threads", "Worker threads, 0 for all cores", 0, "T", least=0, words=lambda n: count(n, "thread"),
         unsaid=(None, 0), blank=0, machine=True, summary=True),
    Axis("order", "order", "Child order", "random", long=lambda name: f"{name} order", unsaid=(None, "random"),
         hidden=(None, "random"), values=("lexicographic", "random")),
    Axis("devices", "GPUs", "GPUs of this host that share the queries", 1, "N", least=1,
         words=lambda n: count(n, "GPU"), unsaid=(None, 1), hidden=(None, 1), machine=True, late=True),
)  # fmt: skip
NAMES = tuple(axis.name for axis in AXES)


def shown() -> list[Axis]:
    """The axes as labels and tables name them: those of the algorithm, then those of the machine."""
    return sorted(AXES, key=lambda axis: axis.machine)


def label(
    impl: str, values: Mapping[str, Any], *, long: bool = False, between: str = " ", before: str = "", after: str = ""
) -> str:
    """A configuration in words: 'gpu-fused d=2 dfs level,tree 2 GPUs'.

    values   of axes by name; one that is left out is not said
    long     say which axis a name is of: 'filters level,tree', 'lexicographic order'
    between  what parts the words on the algorithm from those on the machine, and these from one another
    before   a word in front, such as the problem; `after`: one at the end, such as the query set
    """
    parts: dict[bool, list[str]] = {False: [before, impl], True: []}
    for axis in shown():
        value = values.get(axis.name)
        if value not in axis.unsaid:
            parts[axis.machine].append((axis.long if long and axis.long else axis.words)(value))
    words = between.join([" ".join(filter(None, parts[False])), *parts[True]])
    return f"{words} {after}" if after else words
