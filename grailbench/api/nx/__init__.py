"""A backend of NetworkX: nine of its functions on reachability, answered by arrays and a cached index.

NetworkX finds it by the entry points `networkx.backends` (`functions.Backend`) and `networkx.backend_info` (`info`).
This package is imported whenever NetworkX is, so it imports nothing itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import networkx

#: what `networkx.config` and the documentation of NetworkX show for each function
_FUNCTIONS = {
    "has_path": "An index is built at the first call and kept with the graph.",
    "descendants": "",
    "ancestors": "",
    "single_source_shortest_path_length": "",
    "transitive_closure": "Attributes are those that the graph has at the time of the call.",
    "transitive_closure_dag": "Attributes are those that the graph has at the time of the call.",
    "condensation": "Given components are left to NetworkX.",
    "topological_generations": "",
    "is_directed_acyclic_graph": "",
}


def info() -> dict[str, Any]:
    """What NetworkX learns of the backend when it is imported (`networkx.backend_info`)."""
    return {
        "backend_name": "grailbench",
        "project": "grailbench",
        "package": "grailbench",
        "short_summary": "Reachability by an index.",
        "functions": {name: {"additional_docs": docs} for name, docs in _FUNCTIONS.items()},
    }


def convert(graph: networkx.Graph[Any]) -> Any:
    """The graph as this backend holds it (`graph.Converted`), to be passed to the functions of NetworkX in its place.

    They then call the backend at once, without looking for a conversion. They raise InputError when the graph was
    changed meanwhile.
    """
    from grailbench.api.nx.functions import Backend

    return Backend.convert_from_nx(graph)
