"""The library: `import grailbench as gb` hands out what is listed here.

A graph of the user's own ids, an index of any implementation on it, and questions in those ids.
"""

from grailbench.api.build import build, load
from grailbench.api.explain import Explanation
from grailbench.api.graph import Graph
from grailbench.api.index import Index
from grailbench.errors import ClusterLost, GrailbenchError, InputError, MachineLacks

__all__ = [
    "ClusterLost", "Explanation", "Graph", "GrailbenchError", "Index", "InputError", "MachineLacks", "build", "load",
]  # fmt: skip
