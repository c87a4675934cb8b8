"""The library: `import grailbench as gb` hands out what is listed here.

A graph of the user's own ids, an index of any implementation on it, questions in those ids, and runs of benchmarks.
Modules are imported when something of them is first used: NetworkX imports this package, and is to start without numba.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from grailbench.errors import ClusterLost, GrailbenchError, InputError, MachineLacks

if TYPE_CHECKING:
    from grailbench.api.building import build, load
    from grailbench.api.explain import Explanation
    from grailbench.api.graph import Graph
    from grailbench.api.index import Index
    from grailbench.api.kinds import KindIndex
    from grailbench.api.runs import Run, read_run, run

__all__ = [
    "ClusterLost", "Explanation", "Graph", "GrailbenchError", "Index", "InputError", "KindIndex", "MachineLacks", "Run",
    "build", "load", "read_run", "run",
]  # fmt: skip
_MODULES = {
    "Explanation": "explain", "Graph": "graph", "Index": "index", "KindIndex": "kinds", "Run": "runs",
    "build": "building", "load": "building", "read_run": "runs", "run": "runs",
}  # fmt: skip


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """The names of the library."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(f".{_MODULES[name]}", __name__), name)
        return found
