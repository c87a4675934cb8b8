"""Reads GraphML, by networkx. Every node is a vertex, named by its id; undirected edges give both directions."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np

from grailbench.errors import InputError
from grailbench.files import REFETCH, Bytes
from grailbench.graph.csr import Graph
from grailbench.graph.readers.edges import both_ways
from grailbench.graph.readers.labelled import found_of, needed, parsing
from grailbench.graph.readers.text import Found


def read_graphml(path: Path, text: np.ndarray) -> Found:
    """Reads the graph in a GraphML file (uint8[size]). Raises InputError if it is malformed or mixes directed and
    undirected edges, and MachineLacks without networkx."""
    networkx = needed("networkx", "GraphML")
    with parsing(path, "a graph in GraphML", REFETCH):
        graph = networkx.read_graphml(io.BufferedReader(Bytes(text)))
        edges = list(graph.edges())
        found = found_of(path, [u for u, _ in edges], [v for _, v in edges], list(graph))
    if not found.graph.vertices:
        raise InputError("the file holds no vertex", path=path)
    if graph.is_directed():
        return found
    sources, targets, _ = both_ways(found.graph.sources, found.graph.targets)
    undirected = Graph(found.graph.vertices, sources, targets)
    return replace(found, graph=undirected, notes=("undirected: each edge in both directions",))
