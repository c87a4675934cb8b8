"""Types of options and arguments, whose values a shell completes, and options that several commands share.

Values are found without importing numba and the like. Names that only the code knows (graphs, implementations, printed
tables) are in a file of the cache, with a stamp of the files that they come from. The first completion after a change
imports the code, which takes a second or two; later ones read the file.
"""

import json
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from grailbench.errors import GrailbenchError, InputError
from grailbench.harness import axes
from grailbench.problems.contract import ENTRY_POINTS, PROBLEMS, USUAL
from grailbench.util import __version__, memory, paths
from grailbench.util.guard import MOST_SECONDS
from grailbench.util.visible import visible

CACHED = "completion.json"  #: the file of names in the cache
_SHELL = frozenset(" \"'\\$`&|;<>()*?[]{}~#!")  #: what a shell does not take for itself

# ------------------------------------------------------------------ types; help shows their `name` in capitals


class Named(click.ParamType):
    """A text for which a shell completes the names of some kinds (`_names`), or names that are given; if `file`, a path
    where no name fits."""

    def __init__(self, name: str, *kinds: str | tuple[str, ...], file: bool = False):
        self.name, self.kinds, self.file = name, kinds, file

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names that begin with what was typed, without those that are on the command line already.

        Names that a shell does not take as they are, as they would be commands or several words, are left out.
        """
        found: list[str] = []
        with suppress(GrailbenchError, OSError):
            found = [name for kind in self.kinds for name in _names(kind, ctx) if name.startswith(incomplete)]
        given = ctx.params.get(param.name) or () if param.multiple or param.nargs == -1 else ()
        items = [CompletionItem(name) for name in dict.fromkeys(found)
                 if name not in given and visible(name) == name and not _SHELL.intersection(name)]  # fmt: skip
        return items or ([CompletionItem(incomplete, type="file")] if self.file else [])


GRAPH = Named("name", "datasets", "look-alikes", "stored")
GRAPH_OR_FILE = Named("name", *GRAPH.kinds, file=True)
FETCHED = Named("name", "datasets")
STORED = Named("name", "stored")
LOOK_ALIKE = Named("name", "look-alikes", ("random", "citations"))
SET = Named("set", "sets")
SETS = Named("set", "sets", "generated sets", ("all",))
IMPLEMENTATION = Named("name", "implementations", file=True)
PROBLEM = Named("name", tuple(PROBLEMS))
CONFIG = Named("name-or-file", "configs", file=True)
RUN = Named("run", "runs", file=True)
TABLE = Named("number", "tables")
FILTERS = Named("list", ("none", "level", "tree", "hubs", "level,tree", "level,tree,hubs"))
QUERIES = Named("kind", ("random", "balanced"), file=True)
METRIC = Named("phase", ("label", "query", "ready", "prepare", "solve"))
FILE = Named("file", file=True)
ANY = Named("name", ("machine",), *GRAPH.kinds, "implementations", "configs", "runs")


def _names(kind: str | tuple[str, ...], ctx: click.Context) -> Iterable[str]:
    """The names of a kind. Graphs that are 'stored' were generated or imported here; 'implementations' are those of
    the command's --problem, or of the usual one, and of all where the command has no --problem; the latest of 'runs'
    is the first."""
    if isinstance(kind, tuple):
        return kind
    if kind == "configs":
        return sorted(path.stem for path in paths.shipped("configs").glob("*.toml"))
    if kind == "runs":
        return sorted((path.parent.name for path in paths.runs_dir().glob("*/plan.json")), reverse=True)
    if kind == "stored":
        folders = (paths.cache_dir() / name for name in ("generated", "imported"))
        return [name for folder in folders for name in sorted(path.stem for path in folder.glob("*.npz"))]
    found = _known()[kind]
    if kind != "implementations":
        return found
    if any(param.name == "problem" for param in ctx.command.params):
        return found.get(ctx.params.get("problem") or USUAL, [])
    return [name for names in found.values() for name in names]


@cache
def _known() -> dict:
    """The names that only the code knows, by kind; from the cache unless the version, a source file, a registry file or
    an installed entry point changed since."""
    package = Path(__file__).parents[1]
    files = [*package.rglob("*.py"), *paths.shipped("datasets").rglob("*.*")]
    files += paths.shipped("results/published").glob("*.csv")
    installed = sorted(f"{point.name}={point.value}" for point in entry_points(group=ENTRY_POINTS))
    stamp = [__version__, len(files), max(path.stat().st_mtime_ns for path in files), installed]
    stored = paths.cache_dir() / CACHED
    with suppress(OSError, ValueError, KeyError, TypeError):
        found = json.loads(stored.read_text(encoding="utf-8"))
        if found["stamp"] == stamp:
            return found["names"]
    from grailbench.data.registry import registry, sets
    from grailbench.graph.generate import catalogue, look_alikes
    from grailbench.problems.contract import implementations
    from grailbench.report import published
    from grailbench.util.outputs import atomic_file

    names = {
        "datasets": list(registry()), "sets": list(sets()), "generated sets": list(catalogue.sets()),
        "look-alikes": list(look_alikes()), "tables": list(published.CAPTIONS),
        "implementations": {problem: list(implementations(problem)) for problem in PROBLEMS},
    }  # fmt: skip
    with suppress(OSError), atomic_file(stored, durable=False) as stream:
        stream.write(json.dumps({"stamp": stamp, "names": names}).encode())
    return names


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
        self.name = "dir" if self.dir_okay else "file"


OUT_FILE = Output(dir_okay=False)
OUT_FOLDER = Output(file_okay=False, path_type=Path)


class Whole(click.IntRange):
    """A whole number from `min` on."""

    name = "n"


class Seconds(click.FloatRange):
    """A number of seconds from `least` on, 31 years at most: no clock waits for longer."""

    name = "seconds"

    def __init__(self, least: float = 0.0):
        super().__init__(least, MOST_SECONDS)

    def convert(self, value, param, ctx) -> float:
        """The seconds. 'nan' is no number of them."""
        found = super().convert(value, param, ctx)
        if found != found:
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return found


# ------------------------------------------------------------------ options


def many(flag: str, kind: click.ParamType | None = None, text: str = "", name: str | None = None, **more):
    """An option that may be given several times."""
    return click.option(flag, name or flag.lstrip("-"), multiple=True, type=kind, help=text, **more)


def _axis(axis: axes.Axis):
    """The option of an axis."""
    kind = FILTERS if axis.name == "filters" else None
    if axis.size:
        kind = Size(zero=axis.least == 0)
    elif axis.number:
        kind = click.IntRange(axis.least)
    elif axis.values:
        kind = click.Choice(axis.values)
    return many(f"--{axis.name}", kind, f"{axis.help}; may repeat. [default: {axis.usual}]", metavar=axis.metavar)


def _bundle(*options):
    """A decorator that adds these options to a command, in this order."""

    def decorate(command):
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
no_fetch = click.option("--no-fetch", is_flag=True, help="Do not fetch graphs that are missing.")
run_folder = click.option("--out", type=Output(), help="Folder of the run. [default: a new one in results/runs]")
gate = click.option("--gate", "gate_file", type=FILE, help="A TOML file that says what is allowed.")
#: what a single index is built with
index = _bundle(
    click.option("--impl", type=IMPLEMENTATION, default="auto", show_default=True,
                 help="The implementation of the index."),
    click.option("--dim", type=Whole(1), default=2, show_default=True, help="Label pairs."),
    click.option("--filters", type=FILTERS, help="Filters beside the labels. [default: all]"),
    click.option("--threads", type=Whole(0), default=0, help="Worker threads. [default: all cores]"),
)  # fmt: skip
#: what to measure: graphs, implementations and axes, from flags or a config; as `timing`, under the names of an
#: experiment's fields
matrix = _bundle(
    click.option("--config", type=CONFIG, help="A shipped config, or a TOML file; flags replace its keys."),
    click.option("--short", is_flag=True, help="Take the short form of the config: its keys in [short]."),
    click.option("--problem", type=PROBLEM, help=f"One of {', '.join(PROBLEMS)}. [default: {USUAL}]"),
    many("--dataset", GRAPH_OR_FILE, "A graph, by name or the file it was imported from; may repeat.", "datasets"),
    many("--set", SETS, "A set of graphs, as small-sparse; may repeat. 'all' is every set.", "sets"),
    many("--impl", IMPLEMENTATION, "An implementation, or a TOML file that describes a program; may repeat. "
         "[default: sequential, parallel, or the like]", "implementations"),
    *(_axis(axis) for axis in axes.shown()),
    many("--queries", QUERIES, "random, balanced, or a file of `u v [0|1]`; may repeat. [default: random]"),
    click.option("--count", type=Whole(1), help="Query pairs [default: 100000] or sources [default: 16]."),
    many("--seed", Whole(0), "Of queries, child orders, trial orders; may repeat. [default: 1]"),
    click.option("--time-limit", type=float, metavar="SECONDS", help="The most that one cell may take."),
    click.option("--memory-limit", type=float, metavar="GIB",
                 help="The most that a cell with a process of its own may allocate."),
    click.option("--process", type=click.Choice(["shared", "own"]),
                 help="'own': a process for each cell, so that its peak memory is measured and it can be stopped. "
                      "[default: own for peers, else shared]"),
)  # fmt: skip
#: how often to measure it
timing = _bundle(
    click.option("--trials", type=Whole(1), help="Timed passes of every cell. [default: 20]"),
    click.option("--warmup", type=Whole(0), help="Untimed passes before them. [default: 1]"),
    click.option("--from-edges/--no-from-edges", default=None, help="Time the whole way too, from edges in memory."),
    click.option("--energy/--no-energy", default=None,
                 help="Measure the joules of each phase too, of GPU and CPU where they can be read, once a cell after "
                      "its trials, some 2 to 12 s a phase."),
)  # fmt: skip
#: where cells are run, if not in this process
workers = _bundle(
    click.option("--workers", type=Whole(1),
                 help="Start N worker processes, which share out the cores and GPUs of this machine."),
    click.option("--scheduler", metavar="ADDRESS", help="Take the workers of a scheduler of dask, as tcp://HOST:8786."),
)  # fmt: skip
#: how to check answers and get graphs
checks = _bundle(
    click.option("--simulate", is_flag=True,
                 help="Run GPU kernels in numba's simulator: checks answers, records no time; slow, so give a small "
                      "--count."),
    click.option("--sample", type=Whole(1),
                 help="Check that many queries only on graphs of more than 50,000 vertices; their times are called "
                      "sampled. [default: all]"),
    click.option("--oracle-seconds", type=Seconds(),
                 help="The most that the oracle may take for a graph's queries; where it had to leave some, times are "
                      "called sampled. [default: no limit]"),
    click.option("--jobs", type=Whole(1), default=1, show_default=True,
                 help="Cells in processes of their own that are verified at once, but for those on a GPU; none is "
                      "timed then."),
    no_fetch,
)  # fmt: skip
#: what a comparison allows, and how it is shown
comparison = _bundle(
    gate,
    click.option("--format", "form", type=click.Choice(["table", "markdown", "json"]), default="table",
                 show_default=True, help="For people, for a pull request, or one JSON object a line."),
    many("--metric", METRIC, "label, query, ready, solve, label/NAME; repeats. [default: the gate's]"),
    click.option("--all", "everything", is_flag=True, help="Show the times that are the same too, and every graph."),
    click.option("--require-all", is_flag=True,
                 help="A cell or counter that only one of the runs has is a regression."),
)  # fmt: skip
drawn = click.option("--format", "form", type=click.Choice(("svg", "png", "pdf", "both")), default="both",
                     show_default=True, help="Kind of the figures' files; both are SVG and PNG.")  # fmt: skip
#: of what a run on unlike workers is shown
machine = click.option(
    "--machine", metavar="NAME",
    help="For a run on several kinds of machines: show what this one measured. The error lists them.",
)  # fmt: skip
