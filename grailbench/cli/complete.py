"""Types of options and arguments whose values a shell completes, found without importing numba and the like.

Names that only the code knows (graphs, implementations, printed tables) are kept in the cache with a stamp of the files
that they come from. The first completion after a change imports that code, which takes a second or two; the others read
the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from grailbench import __version__, paths
from grailbench.contract import ENTRY_POINTS, PROBLEMS, USUAL
from grailbench.errors import GrailbenchError

KEPT = "completion.json"  #: the file in the cache
_MADE = ("generated", "imported")  # folders of the cache with graphs made here
Source = Callable[[click.Context], Iterable[str]]


class Named(click.ParamType):
    """A text for which a shell completes the names that its sources give, or a file where `file` and no name fits."""

    def __init__(self, name: str, *sources: Source, file: bool = False):
        self.name, self.sources, self.file = name, sources, file

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names that begin with what was typed, without those that the command line has already."""
        found: list[str] = []
        with suppress(GrailbenchError, OSError):
            found = [name for source in self.sources for name in source(ctx) if name.startswith(incomplete)]
        had = ctx.params.get(param.name) or () if param.multiple or param.nargs == -1 else ()
        items = [CompletionItem(name) for name in dict.fromkeys(found) if name not in had]
        return items or ([CompletionItem(incomplete, type="file")] if self.file else [])


# ------------------------------------------------------------------ sources


def datasets(ctx: click.Context) -> Iterator[str]:
    """Graphs of the registry, look-alikes, and those generated or imported here."""
    yield from _known()["datasets"]
    yield from look_alikes(ctx)
    for folder in _MADE:
        yield from sorted(path.stem for path in (paths.cache_dir() / folder).glob("*.npz"))


def fetched(ctx: click.Context) -> list[str]:
    """Graphs of the registry, which can be fetched."""
    return _known()["datasets"]


def look_alikes(ctx: click.Context) -> list[str]:
    """What `generate` makes by name."""
    return _known()["look_alikes"]


def sets(ctx: click.Context) -> list[str]:
    """Sets of graphs."""
    return _known()["sets"]


def implementations(ctx: click.Context) -> list[str]:
    """Those of the command's --problem, or of reachability; of all problems where the command has no such option."""
    found = _known()["implementations"]
    if any(param.name == "problem" for param in ctx.command.params):
        return found.get(ctx.params.get("problem") or USUAL, [])
    return [name for names in found.values() for name in names]


def problems(ctx: click.Context) -> Iterable[str]:
    """Problems by name."""
    return PROBLEMS


def configs(ctx: click.Context) -> list[str]:
    """Shipped configs."""
    return sorted(path.stem for path in paths.configs_dir().glob("*.toml"))


def runs(ctx: click.Context) -> list[str]:
    """Runs of the default folder, the latest first."""
    folder = paths.runs_dir()
    return sorted((path.parent.name for path in folder.glob("*/plan.json")), reverse=True)


def tables(ctx: click.Context) -> list[str]:
    """Printed tables."""
    return _known()["tables"]


def one_of(*names: str) -> Source:
    """A source of these names."""
    return lambda ctx: names


# ------------------------------------------------------------------ types

GRAPH = Named("graph", datasets)
FETCHED = Named("graph", fetched)
LOOK_ALIKE = Named("graph", look_alikes, one_of("random", "citations"))
SET = Named("set", sets)
SETS = Named("set", sets, one_of("all"))
IMPLEMENTATION = Named("impl", implementations)
PROBLEM = Named("problem", problems)
CONFIG = Named("config", configs, file=True)
RUN = Named("run", runs, file=True)
TABLE = Named("table", tables)
FILTERS = Named("filters", one_of("none", "level", "tree", "hubs", "level,tree", "level,tree,hubs"))
QUERIES = Named("queries", one_of("random", "balanced"), file=True)
METRIC = Named("phase", one_of("label", "query", "ready", "prepare", "solve"))
FILE = Named("file", file=True)
ANY = Named("name", one_of("machine"), datasets, implementations, configs, runs)

# ------------------------------------------------------------------ what is kept


@cache
def _known() -> dict:
    """The names that only the code knows, from the cache where nothing changed since."""
    kept, stamp = paths.cache_dir() / KEPT, _stamp()
    with suppress(OSError, ValueError, KeyError, TypeError):
        found = json.loads(kept.read_text(encoding="utf-8"))
        if found["stamp"] == stamp:
            return found["names"]
    names = _look_up()
    from grailbench.graph.store import atomic_file

    with suppress(OSError), atomic_file(kept) as stream:
        stream.write(json.dumps({"stamp": stamp, "names": names}).encode())
    return names


def _stamp() -> list:
    """Changes when the version, a source or registry file, or an installed entry point does."""
    package = Path(__file__).parents[1]
    files = [*package.rglob("*.py"), *paths.datasets_dir().rglob("*.*"), *paths.published_dir().glob("*.csv")]
    newest = max(path.stat().st_mtime_ns for path in files)
    others = sorted(f"{point.name}={point.value}" for point in entry_points(group=ENTRY_POINTS))
    return [__version__, len(files), newest, others]


def _look_up() -> dict:
    from grailbench import contract
    from grailbench.datasets.registry import registry, sets
    from grailbench.graph.generate import look_alikes
    from grailbench.report import published

    return {
        "datasets": list(registry()),
        "sets": list(sets()),
        "look_alikes": list(look_alikes()),
        "implementations": {problem: list(contract.implementations(problem)) for problem in PROBLEMS},
        "tables": published.names(),
    }
