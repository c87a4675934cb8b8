"""Reads formats that a library parses: DOT by pydot, GraphML by the standard library, OBO by obonet.

DOT and GraphML: every node is a vertex, and undirected edges give both directions. In DOT a subgraph at an end of an
edge stands for its nodes; ports and attributes are ignored. In GraphML nodes and edges of a graph inside a node, as yEd
writes groups, are read with those around it, and the group is a vertex too; several graphs and hyperedges are refused.

OBO: an edge goes from a term to the term that it is related to, from child to parent for is_a. The vertices are all
terms that are not obsolete, and those that edges lead to, which another file may define.
"""

import io
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import Graph
from grailbench.graph.readers.cells import decoded, found_of, needed, parsing
from grailbench.graph.readers.edges import both_ways, with_reverses
from grailbench.graph.readers.text import Found
from grailbench.util.files import REFETCH, Bytes
from grailbench.util.words import count, did_you_mean

# ---------------------------------------------------------------------------------------- DOT


_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_DEFAULTS = {"node", "edge", "graph"}  # pydot keeps their default attributes as nodes of these names


def read_dot(text: np.ndarray) -> Found:
    """Reads the graph in a DOT file (uint8[size]). Raises InputError if it is malformed, and MachineLacks without
    pydot."""
    parser = needed("pydot.dot_parser", "DOT").GraphParser.parser
    needed("pyparsing", "DOT").ParserElement.enable_packrat()  # else the time doubles with each level of subgraphs
    whole = decoded(text)
    with parsing("a graph in the DOT language", "graph { ... } or digraph { ... }"):
        graphs = list(parser.parse_string(whole, parse_all=True))
        if len(graphs) != 1:
            raise InputError(f"{len(graphs)} graphs; one is expected")
        graph = graphs[0].obj_dict
        edges = list(_edges(graph))
        found = found_of([u for u, _ in edges], [v for _, v in edges], list(dict.fromkeys(_nodes(graph))))
    if not found.graph.vertices:
        raise InputError("the file holds no vertex")
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


def _name(node: str) -> str:
    """The name of a node without quotes and port."""
    if node.startswith("<"):
        return node[: node.rfind(">") + 1]
    if quoted := _QUOTED.match(node):
        node = quoted[1].replace('\\"', '"')
        if not node:
            raise InputError('a node is named ""; a non-empty name is expected')
        return node
    return node.partition(":")[0]


# ---------------------------------------------------------------------------------------- GraphML


_DIRECTED = {"directed": True, "undirected": False, "true": True, "false": False, "1": True, "0": False}


def read_graphml(text: np.ndarray) -> Found:
    """Reads the graph in a GraphML file (uint8[size]). Raises InputError if it is malformed, has several graphs or
    hyperedges."""
    with parsing("a graph in GraphML", REFETCH):
        root = ElementTree.parse(io.BufferedReader(Bytes(text))).getroot()  # noqa: S314 - expat bounds entities
        space = root.tag.removesuffix("graphml")
        graphs = root.findall(f"{space}graph")
        if len(graphs) != 1 or root.tag == space:
            message = f"{len(graphs)} graphs; one is expected"
            raise InputError(message, remedy="<graphml><graph>...; several graphs in files of their own")
        nodes: list[str] = []
        edges: list[tuple[str, str, bool]] = []
        _collect(graphs[0], space, "", nodes, edges)
        found = found_of([u for u, _, _ in edges], [v for _, v, _ in edges], list(dict.fromkeys(nodes)))
    if not found.graph.vertices:
        raise InputError("the file holds no vertex")
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
            direction = element.get("directed", usual)
            if direction not in _DIRECTED:
                raise InputError(f"edgedefault {direction[:60]!r}: 'directed' or 'undirected' is expected")
            ends = _attribute(element, "edge", "source"), _attribute(element, "edge", "target")
            edges.append((*ends, _DIRECTED[direction]))
        elif kind == "hyperedge":
            raise InputError("a hyperedge, which joins any number of nodes, is no edge of a directed graph")
        for inner in element.findall(f"{space}graph"):
            _collect(inner, space, usual, nodes, edges)


def _attribute(element: Element, kind: str, name: str) -> str:
    if not (found := element.get(name)):
        ends = " ".join(f"{each}={value!r}" for each, value in element.attrib.items())[:60]
        raise InputError(f"a{'n' * (kind == 'edge')} {kind} without {name}: <{kind} {ends}>")
    return found


# ---------------------------------------------------------------------------------------- OBO


_TERM = re.compile(r"^\[Term\]", re.MULTILINE)
_NO_TAG = re.compile(r"^[^!\[:\s][^:\n]*$", re.MULTILINE)


def read_obo(text: np.ndarray, relations: tuple[str, ...]) -> Found:
    """Reads the terms of an ontology (uint8[size]) and the edges of these relations; is_a if none is named.

    Raises InputError if it is malformed or has no such relation, and MachineLacks without obonet.
    """
    reader = needed("obonet.read", "OBO")
    logging.getLogger("obonet.read").setLevel(logging.ERROR)  # it warns of files without a header
    whole = decoded(text).replace("\r\n", "\n")
    try:
        with parsing("an ontology in OBO format"):
            _, terms, _, _ = reader.get_sections(io.StringIO(whole))
    except InputError as error:
        if untagged := _NO_TAG.search(whole):
            line = whole.count("\n", 0, untagged.start()) + 1
            raise InputError(f"'tag: value' expected: {error}", line=line) from None
        raise
    current = [term for term in terms if term.get("is_obsolete", "false") != "true"]
    if (unnamed := next((at for at, term in enumerate(terms) if not term.get("id")), None)) is not None:
        begin = [found.start() for found in _TERM.finditer(whole)][unnamed]
        line = whole.count("\n", 0, begin) + 1
        raise InputError("a term without an id", line=line, remedy="id: after [Term]")
    edges = [(term["id"].strip(), *edge) for term in current for edge in _related(term)]
    occurring = dict.fromkeys(relation for _, relation, _ in edges)
    for relation in relations:
        if relation not in occurring:
            raise InputError(f"no relation {relation!r}", remedy=did_you_mean(relation, occurring))
    wanted = relations or ("is_a",)
    edges = [(u, v) for u, relation, v in edges if relation in wanted]
    ids = [term["id"].strip() for term in current]
    if not ids:
        raise InputError("the file holds no term", remedy="[Term] and its id: in OBO format")
    found = found_of([u for u, _ in edges], [v for _, v in edges], list(dict.fromkeys(ids)))
    notes = [f"edges of {' and '.join(wanted)}, from child to parent: from a term to the one it is related to"]
    if others := [relation for relation in occurring if relation not in wanted]:
        notes.append(f"relations left out: {', '.join(others)} (--relation)")
    if len(current) < len(terms):
        notes.append(f"{count(len(terms) - len(current), 'obsolete term')} left out")
    if undefined := found.graph.vertices - len(set(ids)):
        notes.append(
            f"{count(undefined, 'term')} that edges lead to, but that the file does not define or has obsolete"
        )
    return replace(found, notes=tuple(notes))


def _related(term: dict) -> Iterator[tuple[str, str]]:
    """The relation and the other term of each edge of a term."""
    yield from (("is_a", parent.strip()) for parent in term.get("is_a", ()) if parent.strip())
    for relationship in term.get("relationship", ()):
        words = relationship.split()
        if len(words) != 2:
            raise InputError(f"relationship {relationship[:60]!r} of {term['id']}: 'relation term' expected")
        yield words[0], words[1]
