"""Options that several commands share."""

from __future__ import annotations

import click

from grailbench.cli import completion
from grailbench.errors import InputError
from grailbench.harness import axes
from grailbench.problems.contract import PROBLEMS, USUAL
from grailbench.util import memory
from grailbench.util.guard import MOST_SECONDS

#: flag -> field of an experiment, where the names differ
_FIELDS = {"dataset": "datasets", "set_": "sets", "impl": "implementations"}


class Size(click.ParamType):
    """Bytes, as '500MB' or '1.5GiB'; 0 if `zero` allows it."""

    name = "size"

    def __init__(self, zero: bool = False):
        self._zero = zero

    def convert(self, value, param, ctx) -> int:
        """The number of bytes."""
        if isinstance(value, int) or (self._zero and value == "0"):
            return int(value)
        try:
            return memory.parsed(value)
        except InputError as error:
            self.fail(str(error), param, ctx)


class Output(click.Path):
    """A file or folder that a command writes. Every other value of an option or argument may name an input.

    index  whether it is an index file, which may replace one that was read
    """

    def __init__(self, index: bool = False, **how):
        super().__init__(**how)
        self.index = index


class Seconds(click.FloatRange):
    """A number of seconds from `least` on, 31 years at most: no clock waits for longer."""

    def __init__(self, least: float = 0.0):
        super().__init__(least, MOST_SECONDS)

    def convert(self, value, param, ctx) -> float:
        """The seconds. 'nan' is no number of them."""
        found = super().convert(value, param, ctx)
        if found != found:
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return found


def _many(flag: str, kind: click.ParamType | None = None, metavar: str | None = None, text: str = ""):
    """An option that may be given several times."""
    name = flag.lstrip("-")
    return click.option(flag, "set_" if name == "set" else name, multiple=True, type=kind, metavar=metavar, help=text)


def _axis(axis: axes.Axis):
    """The option of an axis."""
    kind = completion.FILTERS if axis.name == "filters" else None
    if axis.size:
        kind = Size(zero=axis.least == 0)
    elif axis.number:
        kind = click.IntRange(axis.least)
    elif axis.values:
        kind = click.Choice(axis.values)
    return _many(f"--{axis.name}", kind, axis.metavar, f"{axis.help}; may repeat. [default: {axis.usual}]")


def _bundle(*options):
    """A decorator that adds these options to a command, in this order."""

    def decorate(command):
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


#: what a single index is built with
index = _bundle(
    click.option("--impl", type=completion.IMPLEMENTATION, default="auto", show_default=True, metavar="NAME",
                 help="The implementation of the index."),
    click.option("--dim", type=click.IntRange(1), default=2, show_default=True, metavar="D", help="Label pairs."),
    click.option("--filters", type=completion.FILTERS, metavar="LIST",
                 help="Filters beside the labels. [default: all]"),
    click.option("--threads", type=click.IntRange(0), default=0, metavar="N",
                 help="Worker threads. [default: all cores]"),
)  # fmt: skip

#: what to measure: graphs, implementations and axes, from flags or a config
matrix = _bundle(
    click.option("--config", type=completion.CONFIG, metavar="NAME-or-FILE",
                 help="A shipped config, or a TOML file; flags replace its keys."),
    click.option("--short", is_flag=True, help="Take the short form of the config: its keys in [short]."),
    click.option("--problem", type=completion.PROBLEM, metavar="NAME",
                 help=f"One of {', '.join(PROBLEMS)}. [default: {USUAL}]"),
    _many("--dataset", completion.GRAPH, "NAME", "A graph; may repeat."),
    _many("--set", completion.SETS, "SET", "A set of graphs, as small-sparse; may repeat. 'all' is every set."),
    _many("--impl", completion.IMPLEMENTATION, "NAME",
          "An implementation, or a TOML file that describes a program; may repeat. "
          "[default: sequential, parallel, or the like]"),
    *(_axis(axis) for axis in axes.shown()),
    _many("--queries", completion.QUERIES, "KIND",
          "random, balanced, or a file of `u v [0|1]`; may repeat. [default: random]"),
    click.option("--count", type=click.IntRange(1), metavar="N",
                 help="Query pairs [default: 100000] or sources [default: 16]."),
    click.option("--seed", type=click.IntRange(0), metavar="N",
                 help="Of queries, child orders, trial orders. [default: 1]"),
    click.option("--time-limit", type=float, metavar="SECONDS", help="The most that one cell may take."),
    click.option("--memory-limit", type=float, metavar="GIB",
                 help="The most that a cell with a process of its own may allocate."),
    click.option("--process", type=click.Choice(["shared", "own"]),
                 help="'own': a process for each cell, so that its peak memory is measured and it can be stopped. "
                      "[default: own for peers, else shared]"),
)  # fmt: skip
#: how often to measure it
timing = _bundle(
    click.option("--trials", type=click.IntRange(1), metavar="N", help="Timed passes of every cell. [default: 20]"),
    click.option("--warmup", type=click.IntRange(0), metavar="N", help="Untimed passes before them. [default: 1]"),
    click.option("--from-edges/--no-from-edges", default=None, help="Time the whole way too, from edges in memory."),
    click.option(
        "--energy/--no-energy",
        default=None,
        help="Measure the joules of each phase too, of GPU and CPU where "
        "they can be read, once a cell after its trials, some 2 to 12 s a phase.",
    ),
)
#: where cells are run, if not in this process
workers = _bundle(
    click.option("--workers", type=click.IntRange(1), metavar="N", help="Start N worker processes, which share out the "
                 "cores and GPUs of this machine."),
    click.option("--scheduler", metavar="ADDRESS", help="Take the workers of a scheduler of dask, as tcp://HOST:8786."),
)  # fmt: skip
#: how to check answers and get graphs
checks = _bundle(
    click.option("--simulate", is_flag=True, help="Run GPU kernels in numba's simulator: checks answers, records no "
                 "time; slow, so give a small --count."),
    click.option("--sample", type=click.IntRange(1), metavar="N", help="Check that many queries only on graphs of more "
                 "than 50,000 vertices; their times are called sampled. [default: all]"),
    click.option("--oracle-seconds", type=Seconds(), metavar="SECONDS", help="The most that the oracle may "
                 "take for a graph's queries; where it had to leave some, times are called sampled. "
                 "[default: no limit]"),
    click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, metavar="N", help="Cells in processes "
                 "of their own that are verified at once, but for those on a GPU; none is timed then."),
    click.option("--no-fetch", is_flag=True, help="Do not fetch graphs that are missing."),
)  # fmt: skip
#: what a comparison allows, and how it is shown
comparison = _bundle(
    click.option("--gate", "gate_file", type=completion.FILE, metavar="FILE",
                 help="A TOML file that says what is allowed."),
    click.option("--format", "form", type=click.Choice(["table", "markdown", "json"]), default="table",
                 show_default=True, help="For people, for a pull request, or one JSON object a line."),
    _many("--metric", completion.METRIC, "PHASE",
          "label, query, ready, solve, label/NAME; repeats. [default: the gate's]"),
    click.option("--all", "everything", is_flag=True, help="Show the times that are the same too, and every graph."),
    click.option("--require-all", is_flag=True,
                 help="A cell or counter that only one of the runs has is a regression."),
)  # fmt: skip
#: of what a run on unlike workers is shown
machine = click.option(
    "--machine",
    metavar="NAME",
    help="For a run on several kinds of machines: show what this one measured. The error lists them.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")


def fields(flags: dict) -> dict:
    """The flags of `matrix` and `timing` under the names of an experiment's fields."""
    return {_FIELDS.get(name, name): value for name, value in flags.items()}
