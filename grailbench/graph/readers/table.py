"""What readers of tables and of words share: decoding a text, its rows, and the columns that are usual for edges."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from grailbench.errors import InputError

#: headers of a source and a target column
USUAL = (
    ("source", "target"),
    ("from", "to"),
    ("src", "dst"),
    ("src", "dest"),
    ("u", "v"),
    ("subject", "object"),
    ("parent", "child"),
    ("head", "tail"),
    ("start", "end"),
    ("citing", "cited"),
)


_LINE_END = re.compile(rb"\r\n?|\n")


def decoded(path: Path | str, text: np.ndarray) -> str:
    """A text (uint8[size]) as str, without a byte order mark. Raises InputError with the line if it is not UTF-8."""
    raw = text.tobytes()
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = len(_LINE_END.findall(raw[: error.start])) + 1
        raise InputError(
            f"no UTF-8 text, at byte {error.start}: {error.object[error.start : error.start + 20]!r}",
            path=path,
            line=line,
            remedy="save it as UTF-8",
        ) from None


def rows(path: Path | str, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The line (from 1) and the cells of each row of a table that is not blank. Raises InputError if it is malformed.

    Cells may be in double quotes, and then hold delimiters and line ends, and doubled quotes for quotes. The line of a
    row of several lines is the last.
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if row and (len(row) > 1 or row[0].strip()):
                yield reader.line_num, row
    except csv.Error as error:
        raise InputError(
            f"no row of cells: {error}",
            path=path,
            line=reader.line_num,
            remedy="a cell with a quote stands in quotes, and the quote in it is doubled",
        ) from None


def usual_columns(header: list[str]) -> tuple[int, int] | None:
    """The places of the first pair of `USUAL` names in a header, whatever their case; None if it has no pair."""
    known = [name.strip().casefold() for name in header]
    for source, target in USUAL:
        if source in known and target in known:
            return known.index(source), known.index(target)
    return None


def words_of(text: str) -> Iterator[tuple[int, list[str]]]:
    """The line (from 1) and the words of each line that is not blank.

    Blanks separate words; in a line with a tab only tabs do, and words may be empty.
    """
    for line, said in enumerate(text.split("\n"), 1):
        if words := [word.strip() for word in said.split("\t")] if "\t" in said.strip() else said.split():
            yield line, words
