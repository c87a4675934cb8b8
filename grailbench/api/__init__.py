"""The library: `import grailbench as gb` hands out what is listed here.

A graph of the user's own ids, an index of any implementation on it, questions in those ids, and runs of benchmarks.
"""

from grailbench.api.build import build, load
from grailbench.api.explain import Explanation
from grailbench.api.graph import Graph
from grailbench.api.index import Index
from grailbench.api.kinds import KindIndex
from grailbench.api.runs import Run, read_run, run
from grailbench.errors import ClusterLost, GrailbenchError, InputError, MachineLacks

__all__ = [
    "ClusterLost", "Explanation", "Graph", "GrailbenchError", "Index", "InputError", "KindIndex", "MachineLacks", "Run",
    "build", "load", "read_run", "run",
]  # fmt: skip
