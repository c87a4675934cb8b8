"""Collects the vertices and edges that a parser finds one by one, and makes a graph of them."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.readers.cells import found_of
from grailbench.graph.readers.edges import with_reverses
from grailbench.graph.readers.text import Found


class Gathered:
    """Vertices, in the order in which they are added, and edges; those of `undirected` lead both ways.

    kind  the attribute of edges that the user named as their kind
    """

    def __init__(self, kind: str | None = None):
        self.kind = kind
        self.kinds: list[object] = []
        self.vertices: dict[str, None] = {}
        self.sources: list[str] = []
        self.targets: list[str] = []
        self.undirected: list[bool] = []

    def vertex(self, name: str) -> None:
        self.vertices[name] = None

    def edge(self, source: str, target: str, undirected: bool = False, kind: object = None) -> None:
        self.sources.append(source)
        self.targets.append(target)
        self.undirected.append(undirected)
        self.kinds.append(kind)

    def found(self, *notes: str) -> Found:
        """The graph, with notes. Raises InputError if it has no vertex, or no edge has the attribute `kind`."""
        if not (self.vertices or self.sources):
            raise InputError("the file holds no vertex")
        kinds = None
        if any(kind is not None for kind in self.kinds):
            kinds = ["" if kind is None else str(kind) for kind in self.kinds]
        elif self.kind is not None:
            raise InputError(f"no edge has an attribute {self.kind[:60]!r}", remedy="--kind names one that edges have")
        found = found_of(self.sources, self.targets, list(self.vertices), kinds=kinds)
        graph, both = with_reverses(found.graph, np.array(self.undirected, np.bool_))
        return replace(found, graph=graph, notes=(*notes, *both))


def by_label(labels: Mapping[str, str | None]) -> tuple[dict[str, str], list[str]]:
    """The name of each vertex by its id: its label if each has one that no other has, else its id; and notes on it."""
    given = [label for label in labels.values() if label]
    if given and len(given) == len(set(given)) == len(labels):
        return dict(zip(labels, given, strict=True)), ["vertices are named by their labels"]
    note = "vertices are named by their ids, as not each has a label of its own"
    return {key: key for key in labels}, [note] if given else []


def counted(graphs: int) -> list[str]:
    """The note on a file with several graphs."""
    return [f"{graphs} graphs, read as one: vertices of one name are one"] if graphs > 1 else []
