"""`grailbench completion`, and types of options and arguments whose values a shell completes.

Values are found without importing numba and the like. Names that only the code knows (graphs, implementations, printed
tables) are in a file of the cache, with a stamp of the files that they come from. The first completion after a change
imports the code, which takes a second or two; later ones read the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from grailbench.errors import GrailbenchError
from grailbench.util import __version__, paths
from grailbench.util.visible import visible

SHELLS = ("bash", "zsh", "fish")
#: bash ends a word at a colon, but names such as 'peer:pyreachability-grail' contain one
_COLONS = "COMP_WORDBREAKS=${COMP_WORDBREAKS//:}\n"
CACHED = "completion.json"  #: the file in the cache
_SHELL = frozenset(" \"'\\$`&|;<>()*?[]{}~#!")  #: what a shell does not take for itself
Source = Callable[[click.Context], Iterable[str]]


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx, shell):
    """Print a script that makes SHELL complete commands, options and values: names of graphs, implementations, configs,
    figures, tables and runs.

    bash must be 4.4 or newer. The script calls 'grailbench', which must be on the PATH then.

    \b
    Examples:
      eval "$(grailbench completion bash)"
      grailbench completion zsh > ~/.grailbench.zsh
      grailbench completion fish > ~/.config/fish/completions/grailbench.fish
    """
    found = get_completion_class(shell)(ctx.find_root().command, {}, "grailbench", "_GRAILBENCH_COMPLETE")
    click.echo((_COLONS if shell == "bash" else "") + found.source())


class Named(click.ParamType):
    """A text for which a shell completes the names that `sources` give; if `file`, a path where no name fits."""

    def __init__(self, name: str, *sources: Source, file: bool = False):
        self.name, self.sources, self.file = name, sources, file

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names that begin with what was typed, without those that are on the command line already."""
        found: list[str] = []
        with suppress(GrailbenchError, OSError):
            found = [name for source in self.sources for name in source(ctx) if name.startswith(incomplete)]
        found = [name for name in found if _typed(name)]
        given = ctx.params.get(param.name) or () if param.multiple or param.nargs == -1 else ()
        items = [CompletionItem(name) for name in dict.fromkeys(found) if name not in given]
        return items or ([CompletionItem(incomplete, type="file")] if self.file else [])


def _typed(name: str) -> bool:
    """Whether a shell takes a name as it is: others are not completed, as they would be commands, or several words."""
    return visible(name) == name and not _SHELL.intersection(name)


# ------------------------------------------------------------------ sources


def one_of(*names: str) -> Source:
    """A source of these names."""
    return lambda ctx: names


def known(kind: str) -> Source:
    """A source of the names of a kind that `_look_up` knows."""
    return lambda ctx: _known()[kind]


def stored(ctx: click.Context) -> Iterator[str]:
    """Graphs that were generated or imported on this machine."""
    for folder in ("generated", "imported"):
        yield from sorted(path.stem for path in (paths.cache_dir() / folder).glob("*.npz"))


def implementations(ctx: click.Context) -> list[str]:
    """Implementations of the command's --problem, or of the usual one; of all where the command has no --problem."""
    from grailbench.problems.contract import USUAL

    found = _known()["implementations"]
    if any(param.name == "problem" for param in ctx.command.params):
        return found.get(ctx.params.get("problem") or USUAL, [])
    return [name for names in found.values() for name in names]


def problems(ctx: click.Context) -> Iterable[str]:
    """The problems."""
    from grailbench.problems.contract import PROBLEMS

    return PROBLEMS


def configs(ctx: click.Context) -> list[str]:
    """The shipped configs."""
    return sorted(path.stem for path in paths.configs_dir().glob("*.toml"))


def runs(ctx: click.Context) -> list[str]:
    """Runs of the default folder, the latest first."""
    folder = paths.runs_dir()
    return sorted((path.parent.name for path in folder.glob("*/plan.json")), reverse=True)


# ------------------------------------------------------------------ types

_DATASETS = (known("datasets"), known("look_alikes"), stored)
GRAPH = Named("graph", *_DATASETS)
GRAPH_OR_FILE = Named("graph", *_DATASETS, file=True)
FETCHED = Named("graph", known("datasets"))
LOOK_ALIKE = Named("graph", known("look_alikes"), one_of("random", "citations"))
SET = Named("set", known("sets"))
SETS = Named("set", known("sets"), known("made_sets"), one_of("all"))
IMPLEMENTATION = Named("impl", implementations, file=True)
PROBLEM = Named("problem", problems)
CONFIG = Named("config", configs, file=True)
RUN = Named("run", runs, file=True)
TABLE = Named("table", known("tables"))
FILTERS = Named("filters", one_of("none", "level", "tree", "hubs", "level,tree", "level,tree,hubs"))
QUERIES = Named("queries", one_of("random", "balanced"), file=True)
METRIC = Named("phase", one_of("label", "query", "ready", "prepare", "solve"))
FILE = Named("file", file=True)
ANY = Named("name", one_of("machine"), *_DATASETS, implementations, configs, runs)

# ------------------------------------------------------------------ the file in the cache


@cache
def _known() -> dict:
    """The names that only the code knows, by kind; from the cache unless something changed since."""
    import json

    stored, stamp = paths.cache_dir() / CACHED, _stamp()
    with suppress(OSError, ValueError, KeyError, TypeError):
        found = json.loads(stored.read_text(encoding="utf-8"))
        if found["stamp"] == stamp:
            return found["names"]
    names = _look_up()
    from grailbench.util.outputs import atomic_file

    with suppress(OSError), atomic_file(stored, durable=False) as stream:
        stream.write(json.dumps({"stamp": stamp, "names": names}).encode())
    return names


def _stamp() -> list:
    """A value that changes when the version, a source file, a registry file or an installed entry point does."""
    from importlib.metadata import entry_points

    from grailbench.problems.contract import ENTRY_POINTS

    package = Path(__file__).parents[1]
    files = [*package.rglob("*.py"), *paths.datasets_dir().rglob("*.*"), *paths.published_dir().glob("*.csv")]
    newest = max(path.stat().st_mtime_ns for path in files)
    others = sorted(f"{point.name}={point.value}" for point in entry_points(group=ENTRY_POINTS))
    return [__version__, len(files), newest, others]


def _look_up() -> dict:
    from grailbench.data.registry import registry, sets
    from grailbench.graph.generate import catalogue, look_alikes
    from grailbench.problems import contract
    from grailbench.report import published

    return {
        "datasets": list(registry()),
        "sets": list(sets()),
        "made_sets": list(catalogue.sets()),
        "look_alikes": list(look_alikes()),
        "implementations": {problem: list(contract.implementations(problem)) for problem in contract.PROBLEMS},
        "tables": published.names(),
    }
