"""What the text readers share: the state of a parser, its budget, the parts of its messages.

A parser is a numba function over the whole text. It keeps its place in an int64 state array (its slots are the
constants `POS` and following), fills two int32 arrays with sources and targets (and a third with weights, where the
format has some), and returns one of the status codes below. When the arrays are full it returns FULL, and is called
again with longer ones: a file is passed over once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba import njit

from grailbench import memory
from grailbench.errors import InputError
from grailbench.files import REFETCH as REFETCH  # what a reader needs, it takes from here
from grailbench.graph.csr import MAX_VERTICES, VERTEX, Graph
from grailbench.graph.ids import Ids
from grailbench.graph.weights import MOST_WEIGHT, NOT_FINITE, WEIGHT, refused, weight_at

# status codes of a parser
DONE, FULL = 0, 1
NOT_A_NUMBER, TOO_LONG, OUT_OF_RANGE, NO_COLON, NO_END, AFTER_END, CUT_OFF, TWICE, COLUMNS = range(2, 11)
# slots of a parser's state: byte position, line (1-based), edges so far, current vertex (-1: none), vertex lines
# so far, the number or column an error is about; the first weight that does not serve: why (0: all do), byte, line;
# the least and the most columns after an edge, and the first line that has another number of them than the first edge
POS, LINE, COUNT, CURRENT, LINES, VALUE, UNFIT, UNFIT_POS, UNFIT_LINE, FEWEST, MOST, VARIED = range(12)

NEWLINE, HASH, PERCENT, COLON = 10, 35, 37, 58
# Parsers are compiled when their module is imported (later: loaded from numba's cache), not inside a timing.
PARSER = "int64(uint8[::1], int64[::1], int32[::1], int32[::1], {})"
WEIGHING_PARSER = "int64(uint8[::1], int64[::1], int32[::1], int32[::1], int32[::1], {})"
_MOST_DIGITS = 18  # more may not fit 64 bits; such a number is refused, never wrapped
_WINDOW = 4096
_FIRST_EDGES = 1 << 16
_BYTES_A_VERTEX, _BYTES_AN_EDGE = 44, 16  # that condensing takes at least (measured: 44 to 46, 16 to 51)
BOM = b"\xef\xbb\xbf"  # of UTF-8
_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Found:
    """What a reader found in a file.

    ids      the ids that its vertices have there
    notes    what else was done to it, or should be known, each in a few words
    weights  what the file's weights are, or why they are not used; None where it has none
    """

    graph: Graph
    ids: Ids
    notes: tuple[str, ...] = ()
    weights: str | None = None


# ---------------------------------------------------------------------------------------- the text


def without_bom(text: np.ndarray, path: Path) -> np.ndarray:
    """The text with blanks in the place of a byte order mark of UTF-8, so that every byte keeps its number.

    Raises InputError when it is UTF-16.
    """
    start = text[:3].tobytes()
    refuse_wide(start, path)
    if start != BOM:
        return text
    text = text.copy()  # the bytes given are those of the file, of which a checksum is taken
    text[:3] = ord(" ")
    return text


def refuse_wide(start: bytes, path: str | os.PathLike) -> None:
    """Raises InputError when the first bytes of a file say that it is UTF-16."""
    if start[:2] in _WIDE_BOMS:
        raise InputError("the file is UTF-16 text", path=path, remedy="save it as UTF-8, or as plain ASCII")


def lines(text: np.ndarray, limit: int | None = None) -> Iterator[tuple[int, int, bytes]]:
    """(line number, position after it, stripped start of it) of the lines that begin in the first `limit` bytes."""
    pos = line = 0
    while pos < min(text.size, text.size if limit is None else limit):
        end = pos
        while end < text.size:
            found = text[end : end + _WINDOW].tobytes().find(b"\n")
            end += found if found >= 0 else _WINDOW
            if found >= 0:
                break
        line += 1
        yield line, min(end + 1, text.size), text[pos : min(end, pos + _WINDOW)].tobytes().strip()
        pos = end + 1


# ---------------------------------------------------------------------------------------- running a parser


def parse(parser: Callable, text: np.ndarray, state: np.ndarray, *arguments, weighed: bool | None = None) -> tuple:
    """Run `parser(text, state, sources, targets, *arguments)` to its end: status, sources and targets.

    The edge arrays grow by what the text passed so far lets expect. Where `weighed` is not None the parser takes a
    third array, for weights, and a fourth result has them; it is empty throughout where `weighed` is False. Raises
    MemoryError when the arrays do not fit.
    """
    columns = [np.empty(_FIRST_EDGES, VERTEX), np.empty(_FIRST_EDGES, VERTEX)]
    if weighed is not None:
        columns.append(np.empty(_FIRST_EDGES if weighed else 0, WEIGHT))
    start = int(state[POS])
    while (status := parser(text, state, *columns, *arguments)) == FULL:
        count, passed, left = int(state[COUNT]), int(state[POS]) - start, text.size - int(state[POS])
        expected = int(1.05 * count * (passed + left) / max(1, passed)) + 64
        room = max(2 * count, min(expected, count + left // 2 + 1))
        if (need := room * sum(column.itemsize for column in columns if column.size)) > memory.available():
            raise MemoryError(f"its edges take {need:,} bytes")
        columns = [_longer(column, count, room) if column.size else column for column in columns]
    for column in columns:  # gives the unused tail back without a copy; nobody else holds it
        column.resize(min(int(state[COUNT]), column.size), refcheck=False)
    return status, *columns


def _longer(column: np.ndarray, count: int, room: int) -> np.ndarray:
    longer = np.empty(room, column.dtype)
    longer[:count] = column[:count]
    return longer


def new_state(pos: int, line: int) -> np.ndarray:
    """The state of a parser that starts at byte `pos` (0-based), which lies on `line` (1-based)."""
    state = np.zeros(VARIED + 1, np.int64)
    state[POS], state[LINE], state[CURRENT], state[FEWEST], state[MOST] = pos, line, -1, -1, -1
    return state


@njit(cache=True, inline="always")
def is_blank(byte):
    """Space, tab or the CR of CRLF, nothing else: a hole of zero bytes in a damaged file is not read over."""
    return byte == 32 or byte == 9 or byte == 13


@njit(cache=True, inline="always")
def is_space(byte):
    """A blank or the end of a line."""
    return byte == NEWLINE or byte == 32 or byte == 9 or byte == 13


at = np.uint64  # an index of this type is not tested for being counted from the end


@njit(cache=True, inline="always")
def number(text, pos):
    """The decimal number at `pos`: (value, position after it). -1: no digit there; -2: too many digits."""
    start = pos
    value = np.int64(0)
    while pos < text.size:
        digit = np.int64(text[at(pos)]) - 48
        if digit < 0 or digit > 9:
            break
        value = value * 10 + digit
        pos += 1
    if pos == start:
        value = np.int64(-1)
    elif pos - start > _MOST_DIGITS:
        value = np.int64(-2)
    return value, pos


@njit(cache=True)
def non_finite(text, pos):
    """The position after 'nan', 'inf' or 'infinity' at `pos`, in any case and with any sign; `pos` where none is."""
    word = pos + (pos < text.size and (text[pos] == 43 or text[pos] == 45))
    end = word
    while end < text.size and 97 <= (text[end] | 32) <= 122:
        end += 1
    letters = np.int64(0)
    for k in range(word, min(end, word + 8)):
        letters = letters << 8 | np.int64(text[k] | 32)
    found = letters == 0x6E616E or letters == 0x696E66 or (letters == 0x696E66696E697479 and end - word == 8)
    return end if found else pos


@njit(cache=True, inline="always")
def weigh(text, start, end, line, count, weights, state):
    """weights[count] = what text[start:end] spells; where that does not serve, state[UNFIT] and following say why."""
    weight, stop = number(text, start)
    if stop < end or weight < 1 or weight > MOST_WEIGHT:  # not spelt in digits alone, or no weight
        weight = np.int64(-NOT_FINITE) if non_finite(text, start) > start else weight_at(text, start, end)
    if weight > 0:
        weights[at(count)] = weight
    elif state[UNFIT] == 0:
        state[UNFIT], state[UNFIT_POS], state[UNFIT_LINE] = -weight, start, line


def unfit(text: np.ndarray, state: np.ndarray) -> str:
    """What is said of weights when a parser met one that does not serve."""
    pos = int(state[UNFIT_POS])
    token = text[pos : pos + 40].tobytes().split(maxsplit=1)[0].decode("ascii", "backslashreplace")
    return refused(f"line {int(state[UNFIT_LINE])}", token, int(state[UNFIT]))


# ---------------------------------------------------------------------------------------- messages


def excerpt(text: np.ndarray, pos: int) -> str:
    """The line around byte `pos`, shortened, for a message."""
    before = text[max(0, pos - 30) : pos].tobytes()
    after = text[pos : pos + 30].tobytes()
    shown = before.rpartition(b"\n")[2] + after.partition(b"\n")[0]
    return repr(shown.decode("ascii", "backslashreplace").strip())


def malformed(path: Path, text: np.ndarray, state: np.ndarray, what: str, remedy: str | None = None) -> InputError:
    """The error of a line that says something it must not: file, line, byte and the text there."""
    pos = int(state[POS])
    return InputError(f"{what}, at byte {pos}: {excerpt(text, pos)}", path=path, line=int(state[LINE]), remedy=remedy)


def number_fault(status: int, state: np.ndarray, vertices: int, first: int, what: str) -> str | None:
    """The message part for a number that is none, or does not fit; None for other codes."""
    if status == NOT_A_NUMBER:
        return f"{what} expected"
    if status == TOO_LONG:
        return f"{what} has more than {_MOST_DIGITS} digits"
    if status == OUT_OF_RANGE:
        return f"{what} {int(state[VALUE])} is out of range ({first} to {vertices - 1 + first})"
    return None


def check_vertices(vertices: int, path: Path, line: int | None) -> None:
    """Raises InputError when 32-bit ids do not reach."""
    if vertices > MAX_VERTICES:
        raise InputError(f"{vertices} vertices; at most {MAX_VERTICES} fit 32-bit ids", path=path, line=line)


def check_memory(vertices: int, path: Path, line: int | None = None, edges: int = 0) -> None:
    """Raises TooLittleMemory when a graph of so many vertices and edges cannot be condensed here. To be asked before
    anything is as long as a count that no bytes of the file back; `line` is where that stands."""
    where = path if line is None else f"{path}, line {line}"
    need = _BYTES_A_VERTEX * vertices + _BYTES_AN_EDGE * edges
    memory.require(need, f"{where}: a graph of {vertices:,} vertices and {edges:,} edges")
