"""Kinds of edges: each edge of a graph may have one, a text such as 'runtime' or 'dev'."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.arguments import id_column
from grailbench.util.words import count, did_you_mean, listing

STORED = np.uint16  #: the type of codes in files
_MOST = 1 << 16
_SHOWN = 6


class Kinds(NamedTuple):
    """The kinds of m edges.

    codes  uint8[m], or uint16[m] where there are more than 256 kinds: which of `names` each edge has
    names  different texts; one may be empty, that of edges without a kind
    """

    codes: np.ndarray
    names: tuple[str, ...]

    @classmethod
    def of(cls, labels: Sequence[str]) -> Kinds:
        """The kinds of m edges, a text each, in the order in which they first occur. Raises InputError for more than
        65,536 kinds."""
        places: dict[str, int] = {}
        codes = np.fromiter((places.setdefault(label, len(places)) for label in labels), np.int64, len(labels))
        if len(places) > _MOST:
            message = f"{len(places):,} kinds of edges; at most {_MOST:,} are possible"
            raise InputError(message, remedy="another column, or none, if these are not kinds")
        return cls.restored(codes, tuple(places))

    @classmethod
    def of_column(cls, values: Any) -> Kinds:
        """The kinds in a column of texts or whole numbers that a caller gave. Raises InputError for anything else."""
        return cls.of([*map(str, id_column(values, "kinds", ordered=True, remedy="str(kind) makes a text of each"))])

    @classmethod
    def restored(cls, codes: np.ndarray, names: Sequence[str]) -> Kinds:
        """The kinds of these codes, integers of any type, [m], and names."""
        return cls(codes.astype(_code(len(names))), tuple(names))

    def of_some(self, wanted: Collection[str]) -> np.ndarray:
        """The places of the edges that are of one of these kinds, int64[k], ascending. Raises InputError, which
        suggests similar ones, for a kind that no edge has."""
        for name in wanted:
            if name not in self.names:
                remedy = did_you_mean(name, self.names, self.described(), show=repr)
                raise InputError(f"no edge is of kind {name[:60]!r}", remedy=remedy)
        return np.flatnonzero(np.array([name in wanted for name in self.names], np.bool_)[self.codes])

    def at(self, places: np.ndarray) -> Kinds:
        """The kinds of the edges at these places (int64[k]), without names that none of them has."""
        codes = self.codes[places]
        kept = np.bincount(codes, minlength=len(self.names)) > 0
        names = [name for name, stays in zip(self.names, kept, strict=True) if stays]
        return Kinds.restored((np.cumsum(kept) - 1)[codes], names)

    def described(self) -> str:
        """The kinds in a few words: "3 kinds of edges: 'runtime', 'dev', 'test'"."""
        names = listing([repr(name[:40]) for name in self.names], _SHOWN)
        return f"{count(len(self.names), 'kind')} of edges: {names}"

    def fault(self, edges: int) -> str | None:
        """What is wrong with them as the kinds of so many edges; None if nothing is."""
        if self.codes.shape != (edges,):
            return f"{self.codes.size:,} kinds for {edges:,} edges"
        texts = all(isinstance(name, str) for name in self.names) and len({*self.names}) == len(self.names)
        if not texts or self.codes.dtype.kind != "u" or (edges and int(self.codes.max()) >= len(self.names)):
            return "the kinds of its edges have no names"
        return None


def joined(parts: Sequence[tuple[Kinds | None, int]]) -> Kinds | None:
    """The kinds of several lists of edges, one after the other: those of each, and how many edges it has; None if no
    part has kinds. Edges of a part without kinds are of kind ''."""
    if all(kinds is None for kinds, _ in parts):
        return None
    whole = [Kinds(np.zeros(edges, np.uint8), ("",)) if kinds is None else kinds for kinds, edges in parts if edges]
    place = {name: at for at, name in enumerate(dict.fromkeys(name for kinds in whole for name in kinds.names))}
    codes = [np.array([place[name] for name in kinds.names], np.int64)[kinds.codes] for kinds in whole]
    return Kinds.restored(np.concatenate([np.empty(0, np.int64), *codes]), tuple(place))


def _code(kinds: int) -> type[np.unsignedinteger[Any]]:
    return np.uint8 if kinds <= 1 << 8 else np.uint16
