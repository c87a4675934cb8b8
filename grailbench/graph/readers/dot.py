"""Reads graphs of Graphviz's DOT language, by pydot.

    digraph { a -> b -> c; "New York" -> {a b}; subgraph cluster_0 { d } }

Every node is a vertex. A subgraph at an end of an edge stands for its nodes. Ports and attributes are ignored. An
undirected graph gives both directions of every edge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import Graph
from grailbench.graph.readers.edges import both_ways
from grailbench.graph.readers.labelled import found_of, needed, parsing
from grailbench.graph.readers.table import decoded
from grailbench.graph.readers.text import Found

_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_DEFAULTS = {"node", "edge", "graph"}  # pydot keeps their default attributes as nodes of these names


def read_dot(path: Path, text: np.ndarray) -> Found:
    """Reads the graph in a DOT file (uint8[size]). Raises InputError if it is malformed, and MachineLacks without
    pydot."""
    parser = needed("pydot.dot_parser", "DOT").GraphParser.parser
    needed("pyparsing", "DOT").ParserElement.enable_packrat()  # else the time doubles with each level of subgraphs
    whole = decoded(path, text)
    with parsing(path, "a graph in the DOT language", "graph { ... } or digraph { ... }"):
        graphs = list(parser.parse_string(whole, parse_all=True))
        if len(graphs) != 1:
            raise InputError(f"{len(graphs)} graphs; one is expected", path=path)
        graph = graphs[0].obj_dict
        edges = list(_edges(graph))
        found = found_of(path, [u for u, _ in edges], [v for _, v in edges], list(dict.fromkeys(_nodes(graph))))
    if not found.graph.vertices:
        raise InputError("the file holds no vertex", path=path)
    if graph["type"] == "digraph":
        return found
    sources, targets, _ = both_ways(found.graph.sources, found.graph.targets)
    undirected = Graph(found.graph.vertices, sources, targets)
    return replace(found, graph=undirected, notes=("undirected: each edge in both directions",))


def _nodes(graph: Mapping) -> Iterator[str]:
    """The names of the nodes of a graph or subgraph, in the order of the file but for nodes that only edges name."""
    yield from (_name(node) for node in graph["nodes"] if node not in _DEFAULTS)
    for edges in graph["edges"].values():
        for edge in edges:
            for point in edge["points"]:
                yield from _nodes_at(point)
    for inner in _subgraphs(graph):
        yield from _nodes(inner)


def _nodes_at(point: str | Mapping) -> Iterator[str]:
    return iter([_name(point)]) if isinstance(point, str) else _nodes(point)


def _edges(graph: Mapping) -> Iterator[tuple[str, str]]:
    """The edges of a graph or subgraph, with those of subgraphs at ends of edges."""
    for edges in graph["edges"].values():
        for edge in edges:
            source, target = (list(dict.fromkeys(_nodes_at(point))) for point in edge["points"])
            yield from ((u, v) for u in source for v in target)
            for point in edge["points"]:
                if not isinstance(point, str):
                    yield from _edges(point)
    for inner in _subgraphs(graph):
        yield from _edges(inner)


def _subgraphs(graph: Mapping) -> Iterator[Mapping]:
    return (inner for inners in graph["subgraphs"].values() for inner in inners)


def _name(said: str) -> str:
    """The name of a node without quotes and port."""
    if said.startswith("<"):
        return said[: said.rfind(">") + 1]
    if quoted := _QUOTED.match(said):
        said = quoted[1].replace('\\"', '"')
        if not said:
            raise InputError('a node is named ""; a name that is not empty is expected')
        return said
    return said.partition(":")[0]
