"""Reads pairs of vertices from query files: lines of words or tables, in the ids of the graph's file.

A line is `u v` or `u v answer`; '#' and '%' begin comments, unless the word is a name of the graph. Words are separated
by blanks, in a line with a tab only by tabs. A file named .csv or .tsv (also .gz) is a table: a first row that is no
pair of the graph is a header, by which source, target and answers (`ANSWERS`) are found. Lines of numbers are parsed by
a compiled function, 20 times as fast.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit

from grailbench.errors import InputError, in_file
from grailbench.graph.csr import VERTEX
from grailbench.graph.ids import Ids
from grailbench.graph.readers.cells import decoded, ends_of, first_row, place_of, rows, unrecognised, words_of
from grailbench.graph.readers.parsers import HASH, NEWLINE, PERCENT, is_blank, is_space, number
from grailbench.graph.readers.text import refuse_wide, with_line_feeds, without_bom
from grailbench.util import memory
from grailbench.util.files import opened

UNKNOWN = -1  #: the given answer of a pair without one
_BYTES_A_LINE = 250  # memory per line while a file is read
ANSWERS = ("answer", "expected", "reachable")  #: names of the column of expected answers
_NAMED = "name the columns source and target; grailbench ask has --source COLUMN --target COLUMN"
_LINE = "a line is 'u v' or 'u v 0|1'; in one with a tab only tabs separate"


class Pairs(NamedTuple):
    """k pairs of vertices: int32[k] sources and targets, int8[k] given answers (0, 1 or UNKNOWN), int64[k] lines."""

    sources: np.ndarray
    targets: np.ndarray
    given: np.ndarray
    lines: np.ndarray


def read_pairs(
    path: str | os.PathLike, ids: Ids, digest: str | None = None, pipes: bool = True,
    columns: tuple[str, str] | None = None,
) -> Pairs:  # fmt: skip
    """Reads the pairs of a file, which may be compressed by gzip; '-' is the standard input.

    ids     the ids of the graph that the pairs are of
    digest  the sha256 that the file has to have; None for any
    pipes   whether a pipe or the standard input may be read
    columns of a table with a header: the names of the columns of source and target; None to recognise them

    Raises InputError naming file and line for the first line that is no pair of the graph, and also if the file is
    missing, holds no pair or has changed; TooLittleMemory.
    """
    with opened(path, pipes=pipes) as source, in_file(shown := source.path if str(path) == "-" else path):
        if digest not in (None, source.sha256):
            raise InputError("the file changed since the run was planned", path=path, remedy="run it again")
        refuse_wide(start := source.head(4))
        if start == b"PAR1":
            raise InputError("pairs in Parquet are not read here", remedy="Index.stream does, in a program; or a .csv")
        text = without_bom(source.text)
        if not text.size:
            raise InputError("the file is empty", remedy=_LINE)
        lined = with_line_feeds(text)
        memory.require(_BYTES_A_LINE * np.count_nonzero(lined == NEWLINE), f"{shown}: its queries")
        table = _table_of(path, lined)
        text = text if table == "csv" else lined  # a cell in quotes may hold a carriage return
        if columns and not table:
            raise InputError("columns are named, but it is no table", remedy="a file named .csv or .tsv")
        found = None if table == "csv" or columns or not ids.numeric else _of_numbers(text, ids)
        if found is None:
            content = decoded(text)
            lines = rows(content) if table == "csv" else _as_named(words_of(content), ids)
            lines = _pairs_of_table(lines, ids, columns) if table else lines
            found = _of_texts(((line, words) for line, words in lines if not _is_comment(words[0], ids)), ids)
        if not found.sources.size:
            raise InputError("holds no query", remedy=_LINE)
        return found


def _table_of(path: str | os.PathLike, text: np.ndarray) -> str | None:
    """The kind of table that the pairs are in, 'csv' or 'tsv', by the file's name; of the standard input by its first
    line. None for lines of words."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes if suffix.lower() != ".gz"]
    if str(path) != "-":
        return {".csv": "csv", ".tsv": "tsv"}.get("".join(suffixes[-1:]))
    first = text[:4096].tobytes().partition(b"\n")[0]
    return "csv" if b"," in first and b"\t" not in first and len(first.split()) < 2 else None


def _of_numbers(text: np.ndarray, ids: Ids) -> Pairs | None:
    """The pairs of lines of numbers; None if a line is anything else, which the slower way reads or refuses."""
    room = int(np.count_nonzero(text == NEWLINE)) + 1
    labels, given, lines = np.empty((2, room), np.int64), np.empty(room, np.int8), np.empty(room, np.int64)
    count = _parse(text, labels[0], labels[1], given, lines)
    if count < 0:
        return None
    return _of_labels(labels[:, :count], given[:count], lines[:count], ids)


def _of_labels(labels: np.ndarray, given: np.ndarray, lines: np.ndarray, ids: Ids) -> Pairs:
    """The pairs of ids, [2, k]. Raises InputError for the first one with an id that the graph does not have."""
    ends = ids.vertices_of(labels)
    if (ends < 0).any():
        at = int(np.argmax((ends < 0).any(axis=0)))
        end = int(np.argmax(ends[:, at] < 0))
        raise InputError(str(ids.unknown(str(labels[end, at]))), line=int(lines[at]))
    return Pairs(*ends.astype(VERTEX), given, lines)


@njit(cache=True)
def _parse(text, sources, targets, given, lines):
    """Parses lines `u v [0|1]` of numbers and comments; returns the number of pairs, or -1 at any other line.

    text uint8[size]; sources, targets, lines int64 and given int8, as long as the lines of the text.
    """
    end, pos, line, count = text.size, 0, 1, 0
    while True:
        while pos < end and is_space(text[pos]):
            line += text[pos] == NEWLINE
            pos += 1
        if pos == end:
            return count
        if text[pos] == HASH or text[pos] == PERCENT:
            while pos < end and text[pos] != NEWLINE:
                pos += 1
            continue
        answer = np.int64(UNKNOWN)
        for column in range(3):
            while pos < end and is_blank(text[pos]):
                pos += 1
            if column == 2 and (pos == end or text[pos] == NEWLINE):
                break
            start = pos
            value, pos = number(text, pos)
            if value < 0 or (pos < end and not is_space(text[pos])):
                return -1
            if column == 0:
                sources[count] = value
            elif column == 1:
                targets[count] = value
            elif value > 1 or pos - start > 1:
                return -1
            else:
                answer = value
        while pos < end and is_blank(text[pos]):
            pos += 1
        if pos < end and text[pos] != NEWLINE:
            return -1
        given[count], lines[count] = answer, line
        count += 1


def _as_named(found: Iterator[tuple[int, list[str]]], ids: Ids) -> Iterator[tuple[int, list[str]]]:
    """Lines of words without the blanks at their ends, unless the graph has a name with them."""
    return ((line, [word if ids.has(word) else word.strip() for word in words]) for line, words in found)


def _pairs_of_table(
    found: Iterator[tuple[int, list[str]]], ids: Ids, columns: tuple[str, str] | None
) -> Iterator[tuple[int, list[str]]]:
    """The line and the cells of source, target and perhaps answer of each row of a table, without its header."""
    line, first = first_row(found, is_id=ids.has)
    places = _places(line, first, ids, columns)
    if places is None:
        yield line, _without_blank(first)
    for line, cells in found:
        if places is None or _is_comment(cells[0], ids):
            yield line, _without_blank(cells)
        elif len(cells) != len(first):
            message = f"{len(cells)} cells, but the header has {len(first)}"
            raise InputError(message, line=line, remedy="as many cells in every line")
        else:
            yield line, _without_blank([cells[place] for place in places])


def _without_blank(cells: list[str]) -> list[str]:
    """Cells without a third that is blank, which is no answer."""
    return cells[:2] if cells[2:] == [""] else cells


def _places(line: int, first: list[str], ids: Ids, columns: tuple[str, str] | None) -> list[int] | None:
    """The places of source, target and perhaps answer by the first row of a table; None if it is a pair, or, by its
    form, meant to be one."""
    if columns is not None:
        ends = place_of(line, first, columns[0]), place_of(line, first, columns[1])
    elif len(first) in (2, 3) and all(map(ids.has, first[:2])):
        return None
    elif (ends := ends_of(line, first, _NAMED)) is None:
        if len(first) in (2, 3) and all(map(ids.is_label, first[:2])) and first[2:] in ([], ["0"], ["1"], [""]):
            return None
        raise unrecognised(line, first, _NAMED)
    answers = [place for place, name in enumerate(first) if name.casefold() in ANSWERS]
    if len(answers) > 1:
        raise InputError(f"{len(answers)} columns of answers", line=line, remedy="one of them")
    return [*ends, *answers]


def _is_comment(word: str, ids: Ids) -> bool:
    return word[:1] in ("#", "%") and not ids.has(word)


def _of_texts(foundof_words: Iterator[tuple[int, list[str]]], ids: Ids) -> Pairs:
    """The pairs of rows of two or three words each."""
    found: list[tuple] = []
    for line, words in foundof_words:
        if len(words) not in (2, 3) or not (ids.is_label(words[0]) and ids.is_label(words[1])):
            raise InputError(f"no query `u v [0|1]`: {' '.join(words)[:60]!r}", line=line, remedy=_LINE)
        if len(words) == 3 and words[2] not in ("0", "1"):
            remedy = None if ids.numeric else "names that hold blanks are separated by tabs"
            raise InputError(f"answer {words[2][:60]!r}: 0 or 1 is expected", line=line, remedy=remedy)
        ends = words[:2]
        if ids.numeric:  # one by one, since one may be a number of too many digits
            try:
                ends = [ids.vertex_of(word) for word in ends]
            except InputError as error:
                raise InputError(str(error), line=line) from None
        found.append((*ends, int(words[2]) if len(words) == 3 else UNKNOWN, line))
    us, vs, answers, numbers = zip(*found, strict=True) if found else ((), (), (), ())
    given, lines = np.array(answers, np.int8), np.array(numbers, np.int64)
    if ids.numeric:
        return Pairs(np.array(us, VERTEX), np.array(vs, VERTEX), given, lines)
    return _of_labels(np.array([us, vs], object), given, lines, ids)
