"""grailbench: benchmarks of graph reachability, every answer checked, and the indexes as a library.

`import grailbench as gb` gives `gb.Graph`, `gb.build`, `gb.load`, `gb.Index`, `gb.KindIndex`, `gb.Explanation`;
`gb.run`, `gb.read_run`, `gb.Run`; and the errors `gb.GrailbenchError`, `gb.InputError`, `gb.MachineLacks` and
`gb.ClusterLost`. They are imported when they are first used, so that the command line starts without them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from grailbench.util import __version__

if TYPE_CHECKING:
    from grailbench.api import (
        ClusterLost,
        Explanation,
        GrailbenchError,
        Graph,
        Index,
        InputError,
        KindIndex,
        MachineLacks,
    )
    from grailbench.api.building import build, load
    from grailbench.api.runs import Run, read_run, run

__all__ = [
    "ClusterLost", "Explanation", "Graph", "GrailbenchError", "Index", "InputError", "KindIndex", "MachineLacks", "Run",
    "__version__", "build", "load", "read_run", "run",
]  # fmt: skip


if not TYPE_CHECKING:  # to which any name would be one of the library

    def __getattr__(name: str) -> Any:
        """The names of the library, from package `api`."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if not hasattr(found := import_module(".errors", __name__), name):  # errors need no libraries
            import_module(".util.memory", __name__).require_loadable()
            found = import_module(".api", __name__)
        found = globals()[name] = getattr(found, name)
        return found


def __dir__() -> list[str]:
    return sorted(__all__)
