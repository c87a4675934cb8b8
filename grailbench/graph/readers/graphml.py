"""Reads GraphML. Every node is a vertex, named by its id; undirected edges give both directions.

Nodes and edges of a graph inside a node, as yEd writes groups, are read with those around it; the group is a vertex
too. Data, ports and labels are left aside. A file of several graphs, and hyperedges, are refused.
"""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.readers.edges import with_reverses
from grailbench.graph.readers.labelled import found_of, parsing
from grailbench.graph.readers.text import Found
from grailbench.util.files import REFETCH, Bytes

_DIRECTED = {"directed": True, "undirected": False, "true": True, "false": False, "1": True, "0": False}


def read_graphml(path: Path, text: np.ndarray) -> Found:
    """Reads the graph in a GraphML file (uint8[size]). Raises InputError if it is malformed, has several graphs or
    hyperedges."""
    with parsing(path, "a graph in GraphML", REFETCH):
        root = ElementTree.parse(io.BufferedReader(Bytes(text))).getroot()  # noqa: S314 - expat bounds entities
        space = root.tag.removesuffix("graphml")
        graphs = root.findall(f"{space}graph")
        if len(graphs) != 1 or root.tag == space:
            message = f"{len(graphs)} graphs; one is expected"
            raise InputError(message, path=path, remedy="<graphml><graph>...; several graphs in files of their own")
        nodes: list[str] = []
        edges: list[tuple[str, str, bool]] = []
        _collect(graphs[0], space, "", nodes, edges)
        found = found_of(path, [u for u, _, _ in edges], [v for _, v, _ in edges], list(dict.fromkeys(nodes)))
    if not found.graph.vertices:
        raise InputError("the file holds no vertex", path=path)
    undirected = np.array([not directed for _, _, directed in edges], np.bool_)
    graph, notes = with_reverses(found.graph, undirected)
    return replace(found, graph=graph, notes=notes)


def _collect(graph: Element, space: str, usual: str, nodes: list[str], edges: list[tuple[str, str, bool]]) -> None:
    """Appends the nodes and the edges (source, target, whether it is directed) of a graph and of those inside it.

    space  the namespace of all elements, in braces
    usual  the edgedefault of the graph around it
    """
    usual = graph.get("edgedefault", usual)
    for element in graph:
        kind = element.tag.removeprefix(space) if isinstance(element.tag, str) else ""
        if kind == "node":
            nodes.append(_attribute(element, "node", "id"))
        elif kind == "edge":
            said = element.get("directed", usual)
            if said not in _DIRECTED:
                raise InputError(f"edgedefault {said[:60]!r}: 'directed' or 'undirected' is expected")
            ends = _attribute(element, "edge", "source"), _attribute(element, "edge", "target")
            edges.append((*ends, _DIRECTED[said]))
        elif kind == "hyperedge":
            raise InputError("a hyperedge, which joins any number of nodes, is no edge of a directed graph")
        for inner in element.findall(f"{space}graph"):
            _collect(inner, space, usual, nodes, edges)


def _attribute(element: Element, kind: str, name: str) -> str:
    if not (found := element.get(name)):
        ends = " ".join(f"{each}={value!r}" for each, value in element.attrib.items())[:60]
        raise InputError(f"a{'n' * (kind == 'edge')} {kind} without {name}: <{kind} {ends}>")
    return found
