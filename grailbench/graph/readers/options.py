"""What a caller may say about how a graph file is read, and which formats take what."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from grailbench.errors import InputError

_TABLES = ("csv", "tsv", "parquet")
#: option of `Options` -> its name on the command line, and the formats that take it
_TAKEN_BY = {
    "vertices": ("--vertices", ("edges",)),
    "renumber": ("--renumber", ("edges",)),
    "source": ("--source", _TABLES),
    "target": ("--target", _TABLES),
    "weight": ("--weight", _TABLES),
    "header": ("--no-header", ("csv", "tsv")),
    "relations": ("--relation", ("obo",)),
    "outside": ("--outside", ("python",)),
}


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a file is read.

    vertices   the number of vertices of an edge list, which replaces that of a header
    renumber   whether the vertices of an edge list are exactly the ids that occur in it
    source, target, weight
               columns of a table, by name, or by number from 1 where it has no header; None for the usual ones, and
               for no weights
    header     whether a table begins with the names of its columns
    relations  relations of an ontology whose edges are taken; empty for is_a
    outside    whether modules outside of a Python tree are vertices too
    """

    vertices: int | None = None
    renumber: bool = False
    source: str | None = None
    target: str | None = None
    weight: str | None = None
    header: bool = True
    relations: tuple[str, ...] = ()
    outside: bool = False

    def given(self) -> dict:
        """The options that differ from what is taken without them."""
        pairs = ((field.name, getattr(self, field.name), field.default) for field in fields(self))
        return {name: value for name, value, default in pairs if value != default}

    def of(self, format: str, path: Path) -> dict:
        """The options that the reader of a format takes. Raises InputError if another one is given."""
        for name in self.given():
            word, formats = _TAKEN_BY[name]
            if format not in formats:
                raise InputError(f"{word} is for {', '.join(formats)}; this is {format}", path=path)
        if (self.source is None) != (self.target is None):
            raise InputError("--source and --target: both or none", path=path)
        return {name: getattr(self, name) for name, (_, formats) in _TAKEN_BY.items() if format in formats}
