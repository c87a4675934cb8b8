"""The axes of a configuration: fields of configs, options of commands, columns of rows and tables, keys and labels are
made from them.

To add an axis, add an entry here and a field to the `Params` of the problem that uses it. Rows of older runs lack a new
axis, so it is `late`: a plan has it only where it has a value, so that the digests of older runs stay valid.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from grailbench.util.words import count


@dataclass(frozen=True)
class Axis:
    """One choice that an implementation may offer.

    name     of the column of rows, of the key of a config and of the field of `Params`
    header   of its column in tables
    help     of its option; `metavar` is the name of the value there
    usual    the default value
    least    the smallest number; None where values are names
    values   the names that it may have; empty where they cannot be listed
    words    formats a value in a label
    long     formats a value in the longer labels of tables; `words` by default
    unsaid   values that labels leave out
    hidden   a table has no column if all values are among these; empty for an axis that always has a column
    blank    the value in a `Cell` whose implementation does not have the axis
    machine  whether it selects how much of the machine is used; labels have such axes last
    summary  whether the summary of a reachability run always has the column
    late     whether rows of older runs lack it
    size     whether it is a number of bytes, which may be given as '8GB'
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
    size: bool = False

    @property
    def number(self) -> bool:
        """True if values are integers, False if they are names."""
        return self.least is not None

    def of(self, row: Mapping) -> Any:
        """The value in a row, as a `Cell` stores it."""
        value = row.get(self.name)
        return self.blank if value in (None, "", "none") else value

    def rank(self, value: Any) -> Any:
        """The sort key of a value: numbers by size, names alphabetically, missing values first."""
        return value or (0 if self.number else "")


#: in the order in which plans are expanded and keys are made
AXES = (
    Axis("dim", "d", "Label pairs", 2, "D", least=1, words=lambda d: f"d={d}", summary=True),
    Axis("search", "search", "Search order", "dfs", unsaid=(None, ""), hidden=(None, "dfs"), summary=True,
         values=("dfs", "bfs", "bbfs")),
    Axis("filters", "filters", "'level,tree,hubs', some of them, or 'none'", "none", "LIST",
         long=lambda names: f"filters {names}", unsaid=(None, "", "none"), blank="", summary=True),
    Axis("threads", "threads", "Worker threads, 0 for all cores", 0, "T", least=0, words=lambda n: count(n, "thread"),
         unsaid=(None, 0), blank=0, machine=True, summary=True),
    Axis("order", "order", "Child order", "random", long=lambda name: f"{name} order", unsaid=(None, "random"),
         hidden=(None, "random"), values=("lexicographic", "random")),
    Axis("trees", "trees", "Of `gpu-path`: a tree of its own for each label pair, or one for all, as its paper counts "
         "passes", "each", words=lambda name: f"{name} tree", unsaid=(None, "each"), hidden=(None, "each"),
         values=("each", "one"), late=True),
    Axis("inserted", "inserted", "Of `updated` and FELINE-PK: how many of the graph's edges are inserted into an index "
         "of the others", 0, "N", least=0, words=lambda n: f"{n:,} inserted", unsaid=(None, 0),
         hidden=(None, 0), blank=0, late=True),
    Axis("devices", "GPUs", "GPUs of this host that share the queries", 1, "N", least=1,
         words=lambda n: count(n, "GPU"), unsaid=(None, 1), hidden=(None, 1), machine=True, late=True),
    Axis("memory", "memory", "Bytes, also as 500MB or 8GB: of the closure that `core` keeps, 0 for a quarter of what "
         "is free, or 64 MiB; of the GPU for `gpu-path`, 0 for all; of --problem closure, in blocks if it takes more, "
         "0 for no blocks", 0, "SIZE", least=0,
         words=lambda n: f"memory {n:,}", unsaid=(None, 0), hidden=(None, 0), machine=True, late=True, size=True),
)  # fmt: skip
NAMES = tuple(axis.name for axis in AXES)
EARLY, LATE = (tuple(axis.name for axis in AXES if axis.late == late) for late in (False, True))


def shown() -> list[Axis]:
    """The axes in the order of labels and tables: those of the algorithm, then those of the machine."""
    return sorted(AXES, key=lambda axis: axis.machine)


def label(
    impl: str, values: Mapping[str, Any], *, long: bool = False, between: str = " ", before: str = "", after: str = ""
) -> str:
    """The label of a configuration with these values by axis: 'gpu-fused d=2 dfs level,tree 2 GPUs'.

    long     whether names say their axis: 'filters level,tree', 'lexicographic order'
    between  separates the algorithm from the values of the machine, and these from one another
    before   text at the beginning, such as the problem; `after` is at the end, such as the query set
    """
    parts: dict[bool, list[str]] = {False: [before, impl], True: []}
    for axis in shown():
        value = values.get(axis.name)
        if value not in axis.unsaid:
            parts[axis.machine].append((axis.long if long and axis.long else axis.words)(value))
    words = between.join([" ".join(filter(None, parts[False])), *parts[True]])
    return f"{words} {after}" if after else words
