"""`grailbench completion`, and types of options and arguments whose values a shell completes.

Values are found without importing numba and the like. Names that only the code knows (graphs, implementations, printed
tables) are in a file of the cache, with a stamp of the files that they come from. The first completion after a change
imports the code, which takes a second or two; later ones read the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.metadata import entry_points
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
    """A text for which a shell completes the names of some kinds (`_names`); if `file`, a path where no name fits."""

    def __init__(self, name: str, *kinds: str, file: bool = False):
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


GRAPH = Named("graph", "datasets", "look-alikes", "stored")
GRAPH_OR_FILE = Named("graph", *GRAPH.kinds, file=True)
FETCHED = Named("graph", "datasets")
LOOK_ALIKE = Named("graph", "look-alikes", "drawn")
SET = Named("set", "sets")
SETS = Named("set", "sets", "generated sets", "every set")
IMPLEMENTATION = Named("impl", "implementations", file=True)
PROBLEM = Named("problem", "problems")
CONFIG = Named("config", "configs", file=True)
RUN = Named("run", "runs", file=True)
TABLE = Named("table", "tables")
FILTERS = Named("filters", "filters")
QUERIES = Named("queries", "queries", file=True)
METRIC = Named("phase", "phases")
FILE = Named("file", file=True)
ANY = Named("name", "machine", *GRAPH.kinds, "implementations", "configs", "runs")

#: kinds whose names are these
_FIXED = {
    "drawn": ("random", "citations"), "every set": ("all",), "machine": ("machine",), "queries": ("random", "balanced"),
    "filters": ("none", "level", "tree", "hubs", "level,tree", "level,tree,hubs"),
    "phases": ("label", "query", "ready", "prepare", "solve"),
}  # fmt: skip


def _names(kind: str, ctx: click.Context) -> Iterable[str]:
    """The names of a kind. Graphs that are 'stored' were generated or imported here; 'implementations' are those of
    the command's --problem, or of the usual one, and of all where the command has no --problem; the latest of 'runs'
    is the first."""
    from grailbench.problems.contract import PROBLEMS, USUAL

    if kind in _FIXED:
        return _FIXED[kind]
    if kind == "problems":
        return PROBLEMS
    if kind == "configs":
        return sorted(path.stem for path in paths.shipped("configs").glob("*.toml"))
    if kind == "runs":
        return sorted((path.parent.name for path in paths.runs_dir().glob("*/plan.json")), reverse=True)
    if kind == "stored":
        folders = (paths.cache_dir() / name for name in ("generated", "imported"))
        return [name for folder in folders for name in sorted(path.stem for path in folder.glob("*.npz"))]
    if kind != "implementations":
        return _known()[kind]
    found = _known()[kind]
    if any(param.name == "problem" for param in ctx.command.params):
        return found.get(ctx.params.get("problem") or USUAL, [])
    return [name for names in found.values() for name in names]


@cache
def _known() -> dict:
    """The names that only the code knows, by kind; from the cache unless something changed since."""
    stored, stamp = paths.cache_dir() / CACHED, _stamp()
    with suppress(OSError, ValueError, KeyError, TypeError):
        found = json.loads(stored.read_text(encoding="utf-8"))
        if found["stamp"] == stamp:
            return found["names"]
    from grailbench.data.registry import registry, sets
    from grailbench.graph.generate import catalogue, look_alikes
    from grailbench.problems import contract
    from grailbench.report import published
    from grailbench.util.outputs import atomic_file

    names = {
        "datasets": list(registry()), "sets": list(sets()), "generated sets": list(catalogue.sets()),
        "look-alikes": list(look_alikes()), "tables": published.names(),
        "implementations": {problem: list(contract.implementations(problem)) for problem in contract.PROBLEMS},
    }  # fmt: skip
    with suppress(OSError), atomic_file(stored, durable=False) as stream:
        stream.write(json.dumps({"stamp": stamp, "names": names}).encode())
    return names


def _stamp() -> list:
    """A value that changes when the version, a source file, a registry file or an installed entry point does."""
    from grailbench.problems.contract import ENTRY_POINTS

    package = Path(__file__).parents[1]
    files = [*package.rglob("*.py"), *paths.shipped("datasets").rglob("*.*")]
    files += paths.shipped("results/published").glob("*.csv")
    newest = max(path.stat().st_mtime_ns for path in files)
    others = sorted(f"{point.name}={point.value}" for point in entry_points(group=ENTRY_POINTS))
    return [__version__, len(files), newest, others]
