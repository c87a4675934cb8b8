"""A file of records, one JSON object a line: tables and stacked bars of its fields.

A field whose name ends in `_bytes` is shown as a size, one that ends in `_share` as a percentage, other numbers with
three digits or, if they are integers, whole.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas

from grailbench.errors import InputError
from grailbench.report.figure import Bar, Bars, Panel, Part
from grailbench.report.table import Table
from grailbench.util import words
from grailbench.util.files import read_text


@dataclass(frozen=True)
class Lines:
    """Chosen fields of chosen records: the headers, the names of the fields, and a line of values per record."""

    headers: Sequence[str]
    fields: Sequence[str]
    values: list[list]

    @property
    def words(self) -> list[list[str]]:
        """The values as they are shown."""
        return [[_word(*each) for each in zip(self.fields, line, strict=True)] for line in self.values]


def read(path: Path, columns: Mapping[str, str], where: Mapping) -> Lines:
    """The fields that `columns` has by header, of the records whose fields have the values of `where`.

    Raises InputError if the file cannot be read or a record lacks a field.
    """
    try:
        found = [json.loads(line) for line in read_text(path).splitlines()]
        chosen = [each for each in found if all(each[field] == value for field, value in where.items())]
        lines = [[each[field] for field in columns.values()] for each in chosen]
    except OSError as error:
        raise InputError(f"cannot be read: {error}", path=path) from None
    except KeyError as error:
        raise InputError(f"a record without {error}", path=path) from None
    except ValueError as error:
        raise InputError(f"a line is no JSON: {error}", path=path) from None
    except TypeError:
        raise InputError("a line is no JSON object", path=path) from None
    except RecursionError:
        raise InputError("a record is nested too deep", path=path) from None
    for value in (value for line in lines for value in line):
        if isinstance(value, list | dict):  # not shown: some Pythons read what is too deep to be written
            raise InputError("a field is a list or an object: text, a number or null is expected", path=path)
        if value in (math.inf, -math.inf) or value != value:
            raise InputError(f"a field is {value}: text, a number or null is expected", path=path)
    return Lines([*columns], [*columns.values()], lines)


def table(lines: Lines, title: str = "") -> Table:
    """A table with a line per record."""
    numeric = {
        header
        for at, header in enumerate(lines.headers)
        if all(isinstance(line[at], int | float | None) for line in lines.values)
    }
    return Table("records", title, [*lines.headers], lines.words, frozenset(numeric))


def bars(lines: Lines) -> tuple[pandas.DataFrame, Bars]:
    """The data and the bars of a figure with a stacked bar per record: the first field is its name, the last stands at
    its end, and each field between is a part, whose length is its share of them all."""
    return stacked(lines.headers, lines.fields, lines.values, lines.words)


def stacked(
    headers: Sequence[str], fields: Sequence[str], values: list[list], words: list[list[str]]
) -> tuple[pandas.DataFrame, Bars]:
    """The same of lines of values, and of the words for them; a part of None or 0 is left out."""
    frame = pandas.DataFrame(values, columns=[*fields])
    drawn, names = [], headers[1:-1]
    for line, said in zip(values, words, strict=True):
        whole = sum(value or 0 for value in line[1:-1])
        parts = [
            Part(name, value / whole, f"{said[0]}, {name}: {word}")
            for name, value, word in zip(names, line[1:-1], said[1:-1], strict=True)
            if value
        ]
        drawn.append(Bar(said[0], tuple(parts), said[-1]))
    return frame, Bars((Panel("", tuple(drawn)),) if drawn else (), tuple(names), whole=True, across=1)


def _word(field: str, value: str | float | None) -> str:
    if isinstance(value, str):
        return value
    if value is None or not field.endswith(("_bytes", "_share")):
        return words.grouped(value) if isinstance(value, int) else words.short(value)
    return words.size(value) if field.endswith("_bytes") else words.share(value, 1)
