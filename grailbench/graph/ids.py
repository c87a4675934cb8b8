"""Converts between the vertex ids of a file and the vertices 0..n-1 that are used internally.

Kernels use vertices only. Everything a user writes or reads (query files, messages, exported graphs) uses the ids of
the file. A mapping is either `Counted` (n consecutive ids) or `Listed` (n different numbers).
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from bisect import bisect_left
from functools import cached_property

import numpy as np

from grailbench.errors import InputError

_MOST_DIGITS = 18  # longer ids may not fit 64 bits


class Ids(ABC):
    """A mapping between the ids of a file and the vertices 0..`vertices` - 1.

    digest  '' if every id equals its vertex, else hex digits that identify the mapping
    """

    vertices: int
    digest: str

    @abstractmethod
    def label_of(self, vertex: int) -> int | str:
        """The id of one vertex. The vertex must be in range."""

    @abstractmethod
    def labels_of(self, vertices: np.ndarray) -> np.ndarray:
        """The ids, [k], of vertices int[k]. The vertices must be in range."""

    @abstractmethod
    def vertices_of(self, labels: np.ndarray) -> np.ndarray:
        """The vertices, int64[k], of ids int64[k]; -1 where the file has no such id."""

    @abstractmethod
    def extent(self) -> str:
        """The range of the ids, for example '1..5'."""

    @abstractmethod
    def describe(self) -> str:
        """The range of the ids, and the vertices they are mapped to, in a few words."""

    @abstractmethod
    def stored(self) -> tuple[dict, np.ndarray | None]:
        """What `from_stored` needs to restore the mapping: a description for JSON, and int64[n] or None."""

    def is_label(self, text: str) -> bool:
        """Whether a word can be an id, that is, consists of decimal digits."""
        return text.isdigit() and text.isascii()

    def vertex_of(self, label: str) -> int:
        """The vertex of an id given as text. Raises InputError if the file has no such id."""
        vertex = self._place(int(label)) if len(label) <= _MOST_DIGITS and self.is_label(label) else -1
        if vertex < 0:
            raise InputError(f"vertex {label[:60]} is out of range: the graph has {self.extent()}")
        return vertex

    @abstractmethod
    def _place(self, number: int) -> int:
        """The vertex of one id, or -1. It is called for every word of a query file, so it has to be fast."""


class Counted(Ids):
    """The consecutive ids `first`, `first` + 1, ..., `first` + `vertices` - 1."""

    def __init__(self, vertices: int, first: int = 0):
        self.vertices, self.first = vertices, first
        self.digest = f"from-{first}" if first else ""

    def label_of(self, vertex: int) -> int:
        return int(vertex) + self.first

    def labels_of(self, vertices: np.ndarray) -> np.ndarray:
        return vertices.astype(np.int64) + self.first

    def vertices_of(self, labels: np.ndarray) -> np.ndarray:
        found = labels.astype(np.int64) - self.first
        found[(found < 0) | (found >= self.vertices)] = -1
        return found

    def _place(self, number: int) -> int:
        return number - self.first if self.first <= number < self.first + self.vertices else -1

    def extent(self) -> str:
        """For example '1..5'."""
        return f"{self.first}..{self.first + self.vertices - 1}" if self.vertices else "no vertices"

    def describe(self) -> str:
        """For example '1 to 5, as in the file (inside 0 to 4)'."""
        if self.vertices == 0:
            return "none"
        last = self.vertices - 1
        inside = f" (inside 0 to {last})" if self.first else ""
        return f"{self.first} to {self.first + last}, as in the file{inside}"

    def stored(self) -> tuple[dict, np.ndarray | None]:
        return {"kind": "counted", "first": self.first}, None


class Listed(Ids):
    """Arbitrary different ids; `labels` (int64[n]) holds that of each vertex."""

    def __init__(self, labels: np.ndarray):
        self.labels = np.ascontiguousarray(labels, dtype=np.int64)
        self.vertices = int(self.labels.size)

    @cached_property
    def digest(self) -> str:
        """The first 16 hex digits of the sha256 of the ids."""
        return hashlib.sha256(self.labels.astype("<i8", copy=False)).hexdigest()[:16]

    @cached_property
    def _order(self) -> np.ndarray | None:
        """The vertices by ascending id, int64[n]; None if the ids ascend already."""
        return None if (self.labels[1:] > self.labels[:-1]).all() else np.argsort(self.labels, kind="stable")

    def label_of(self, vertex: int) -> int:
        return int(self.labels[vertex])

    def labels_of(self, vertices: np.ndarray) -> np.ndarray:
        return self.labels[vertices]

    def vertices_of(self, labels: np.ndarray) -> np.ndarray:
        labels = labels.astype(np.int64)
        if self.vertices == 0:
            return np.full(labels.shape, -1, np.int64)
        place = np.searchsorted(self.labels, labels, sorter=self._order)
        found = np.minimum(place, self.vertices - 1)
        if self._order is not None:
            found = self._order[found]
        return np.where(self.labels[found] == labels, found, -1)

    @cached_property
    def _ascending(self) -> memoryview:
        """The ids in ascending order; a memoryview gives Python integers, which bisect compares fastest."""
        return memoryview(self.labels if self._order is None else self.labels[self._order])

    def _place(self, number: int) -> int:
        place = bisect_left(self._ascending, number)
        if place == self.vertices or self._ascending[place] != number:
            return -1
        return place if self._order is None else int(self._order[place])

    def extent(self) -> str:
        """For example '3 ids from 956203 to 6009554'."""
        if self.vertices == 0:
            return "no vertices"
        return f"{self.vertices} ids from {self.labels.min()} to {self.labels.max()}"

    def describe(self) -> str:
        """For example '3 ids from 956203 to 6009554, as in the file (inside 0 to 2)'."""
        return f"{self.extent()}, as in the file (inside 0 to {self.vertices - 1})" if self.vertices else "none"

    def stored(self) -> tuple[dict, np.ndarray | None]:
        return {"kind": "listed"}, self.labels


def ids_from(labels: np.ndarray) -> Ids:
    """The mapping with these ids (int64[n], all different): `Counted` if they are consecutive, else `Listed`."""
    first = int(labels[0]) if labels.size else 0
    if labels.size == 0 or (labels == np.arange(first, first + labels.size)).all():
        return Counted(int(labels.size), first)
    return Listed(labels)


def from_stored(vertices: int, said: dict, labels: np.ndarray | None) -> Ids:
    """Restores a mapping from what `Ids.stored` returned. Raises ValueError if that is not a valid mapping."""
    if said.get("kind") == "counted" and isinstance(said.get("first"), int) and said["first"] >= 0:
        return Counted(vertices, said["first"])
    if said.get("kind") == "listed" and labels is not None:
        if labels.shape != (vertices,) or np.unique(labels).size != vertices or (vertices and labels.min() < 0):
            raise ValueError("its ids are not one for each vertex")
        return Listed(labels)
    raise ValueError("it says nothing that is known of its ids")
