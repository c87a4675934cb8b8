"""What the readers of text formats share: running a parser, its state, checks and error messages.

A parser is a numba function over the whole text. It stores its position in an int64 array, the state, whose slots are
the constants `POS` and following. It fills two int32 arrays with sources and targets, and a third with weights if the
format has them, and returns one of the status codes below. If the arrays are full it returns FULL and is called again
with longer ones, so it reads each byte once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numba import njit

from grailbench.errors import InputError
from grailbench.graph.csr import MAX_VERTICES, VERTEX, Graph
from grailbench.graph.ids import Ids
from grailbench.graph.weights import MOST_WEIGHT, NOT_FINITE, WEIGHT, unused_message, used_message, weight_at
from grailbench.util import memory
from grailbench.util.files import REFETCH as REFETCH  # so that readers import it from here with the rest
from grailbench.util.words import count

# status codes of a parser
DONE, FULL = 0, 1
NOT_A_NUMBER, TOO_LONG, OUT_OF_RANGE, NO_COLON, NO_END, AFTER_END, CUT_OFF, TWICE, COLUMNS = range(2, 11)
# slots of a parser's state: byte position, line (from 1), edges so far, current vertex (-1: none), vertex lines so far,
# the number or column that an error is about; of the first unusable weight the reason (0: none), byte and line; the
# least and the greatest number of columns after an edge, and the first line where it differs from the first edge's;
# entries of a matrix whose value is 0
POS, LINE, COUNT, CURRENT, LINES, VALUE, UNFIT, UNFIT_POS, UNFIT_LINE, FEWEST, MOST, VARIED, ZEROS = range(13)

NEWLINE, RETURN, HASH, PERCENT, COLON = 10, 13, 35, 37, 58
# Signatures, with which numba compiles a parser, or loads it from its cache, on import and not during a measurement.
PARSER = "int64(uint8[::1], int64[::1], int32[::1], int32[::1], {})"
WEIGHING_PARSER = "int64(uint8[::1], int64[::1], int32[::1], int32[::1], int32[::1], {})"
_MOST_DIGITS = 18  # longer numbers may not fit 64 bits and are errors
_WINDOW = 4096  # bytes that are searched for the end of a line at a time
_FIRST_EDGES = 1 << 16  # length of the first edge arrays
_BYTES_A_VERTEX, _BYTES_AN_EDGE = 44, 16  # that condensing takes at least (measured: 44 to 46, 16 to 51)
BOM = b"\xef\xbb\xbf"  #: the byte order mark of UTF-8
_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff")  # those of UTF-16


@dataclass(frozen=True)
class Found:
    """What a reader found in a file.

    ids      the ids of the vertices in the file
    notes    changes made to the graph and other remarks, each in a few words
    weights  a description of the file's weights, or why they are not used; None if it has none
    """

    graph: Graph
    ids: Ids
    notes: tuple[str, ...] = ()
    weights: str | None = None


def without_bom(text: np.ndarray) -> np.ndarray:
    """The text with a byte order mark of UTF-8 replaced by blanks, so that the positions of bytes do not change.

    Raises InputError if it is UTF-16.
    """
    start = text[:3].tobytes()
    refuse_wide(start)
    if start != BOM:
        return text
    text = text.copy()  # the caller computes a checksum of the original bytes
    text[:3] = ord(" ")
    return text


def with_line_feeds(text: np.ndarray) -> np.ndarray:
    """The text (uint8[size]) with a line feed for every carriage return that no line feed follows.

    So lines may end in LF, CRLF or CR, also in one file. The positions of bytes do not change; a text without such a
    carriage return is returned as it is.
    """
    if text.size == 0 or not (_has_lone_return(text) or text[-1] == RETURN):
        return text
    lone = text == RETURN
    lone[:-1] &= text[1:] != NEWLINE
    text = text.copy()  # the caller computes a checksum of the original bytes
    text[lone] = NEWLINE
    return text


@njit("boolean(uint8[::1])", cache=True)
def _has_lone_return(text):
    """Whether a carriage return is followed by another byte than a line feed. One pass that compiles to vectors."""
    found = np.uint8(0)
    for k in range(text.size - 1):
        found |= np.uint8(text[k] == RETURN) & np.uint8(text[k + 1] != NEWLINE)
    return found != 0


def refuse_wide(start: bytes) -> None:
    """Raises InputError if a file with these first bytes is UTF-16."""
    if start[:2] in _WIDE_BOMS:
        raise InputError("the file is UTF-16 text", remedy="save it as UTF-8, or as plain ASCII")


def lines(text: np.ndarray, limit: int | None = None) -> Iterator[tuple[int, int, bytes]]:
    """The line number, the position after the line, and its first bytes without surrounding blanks, of all lines that
    begin in the first `limit` bytes."""
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


def first_line(text: np.ndarray, what: str, comment: bytes | None = None) -> tuple[int, int, bytes]:
    """As `lines`, the first line that is neither blank nor starts with `comment`.

    Raises InputError if there is none; `what` names it in the message.
    """
    line = 1
    for line, after, content in lines(text):
        if content and not (comment and content.startswith(comment)):
            return line, after, content
    raise InputError(f"the file ends before {what}", line=line, remedy=REFETCH)


def are_counts(words: list[bytes]) -> bool:
    """Whether all words are decimal numbers that fit 64 bits."""
    return all(word.isdigit() and len(word) <= _MOST_DIGITS for word in words)


def parse(parser: Callable, text: np.ndarray, state: np.ndarray, *arguments, weighted: bool | None = None) -> tuple:
    """Runs `parser(text, state, sources, targets, *arguments)` to the end. Returns its status, sources and targets.

    The length of the arrays is estimated from the part of the text parsed so far. If `weighted` is not None, the parser
    takes a third array for weights, which is also returned; it is empty if `weighted` is False. Raises MemoryError if
    the arrays do not fit the memory.
    """
    columns = [np.empty(_FIRST_EDGES, VERTEX), np.empty(_FIRST_EDGES, VERTEX)]
    if weighted is not None:
        columns.append(np.empty(_FIRST_EDGES if weighted else 0, WEIGHT))
    start = int(state[POS])
    while (status := parser(text, state, *columns, *arguments)) == FULL:
        count, passed, left = int(state[COUNT]), int(state[POS]) - start, text.size - int(state[POS])
        expected = int(1.05 * count * (passed + left) / max(1, passed)) + 64
        room = max(2 * count, min(expected, count + left // 2 + 1))
        if (need := room * sum(column.itemsize for column in columns if column.size)) > memory.available():
            raise MemoryError(f"its edges take {need:,} bytes")
        columns = [_longer(column, count, room) if column.size else column for column in columns]
    for column in columns:  # frees the unused end without a copy; there is no other reference to the array
        column.resize(min(int(state[COUNT]), column.size), refcheck=False)
    return status, *columns


def _longer(column: np.ndarray, count: int, room: int) -> np.ndarray:
    longer = np.empty(room, column.dtype)
    longer[:count] = column[:count]
    return longer


def new_state(pos: int, line: int) -> np.ndarray:
    """The state of a parser that starts at byte `pos` (from 0) in line `line` (from 1)."""
    state = np.zeros(ZEROS + 1, np.int64)
    state[POS], state[LINE], state[CURRENT], state[FEWEST], state[MOST] = pos, line, -1, -1, -1
    return state


@njit(cache=True, inline="always")
def is_blank(byte):
    """Whether a byte is a space, a tab or the CR of CRLF. Other control characters, such as zeros, are errors."""
    return byte == 32 or byte == 9 or byte == 13


@njit(cache=True, inline="always")
def is_space(byte):
    """Whether a byte is a blank or ends a line."""
    return byte == NEWLINE or byte == 32 or byte == 9 or byte == 13


at = np.uint64  # numba skips the test for negative indices if an index has this type


@njit(cache=True, inline="always")
def number(text, pos):
    """The decimal number at `pos` and the position after it. The value is -1 if there is no digit, -2 if too many."""
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
    """The position after a 'nan', 'inf' or 'infinity' at `pos`, in any case, with any sign; `pos` if there is none."""
    word = pos + (pos < text.size and (text[pos] == 43 or text[pos] == 45))
    end = word
    while end < text.size and 97 <= (text[end] | 32) <= 122:
        end += 1
    letters = np.int64(0)
    for k in range(word, min(end, word + 8)):
        letters = letters << 8 | np.int64(text[k] | 32)
    found = letters == 0x6E616E or letters == 0x696E66 or (letters == 0x696E66696E697479 and end - word == 8)
    return end if found else pos


@njit(cache=True)
def is_zero(text, start, pos):
    """Whether the number text[start:pos] is 0, in any notation."""
    digits = 0
    for k in range(start, pos):
        if text[k] == 69 or text[k] == 101:  # of the exponent, which changes no 0
            break
        if text[k] == 48:
            digits += 1
        elif text[k] != 43 and text[k] != 45 and text[k] != 46:
            return False
    return digits > 0


@njit(cache=True, inline="always")
def store_weight(text, start, end, line, count, weights, state):
    """Stores text[start:end] as weights[count]; if it is not usable, the reason goes to state[UNFIT] and following."""
    weight, stop = number(text, start)
    if stop < end or weight < 1 or weight > MOST_WEIGHT:  # not only digits, or out of range
        weight = np.int64(-NOT_FINITE) if non_finite(text, start) > start else weight_at(text, start, end)
    if weight > 0:
        weights[at(count)] = weight
    elif state[UNFIT] == 0:
        state[UNFIT], state[UNFIT_POS], state[UNFIT_LINE] = -weight, start, line


def usable_weights(
    text: np.ndarray, state: np.ndarray, weights: np.ndarray, what: str
) -> tuple[np.ndarray | None, str]:
    """The weights that a parser read, or None if one of them is not usable; and a description of them for the user."""
    if state[UNFIT] == 0:
        return weights, used_message(weights, what)
    pos = int(state[UNFIT_POS])
    token = text[pos : pos + 40].tobytes().split(maxsplit=1)[0].decode("ascii", "backslashreplace")
    return None, unused_message(f"line {int(state[UNFIT_LINE])}", token, int(state[UNFIT]))


def fault(
    text: np.ndarray, state: np.ndarray, status: int, what: str, vertices: int, first: int = 0,
    messages: Mapping[int, str] | None = None, remedy: str | None = None,
) -> InputError:  # fmt: skip
    """The error for the status with which a parser stopped, with file, line, byte and the text there.

    what, vertices, first  what a number is there, and which are in range
    messages               those of the statuses that are about no number, or instead of the usual ones
    """
    usual = {
        NOT_A_NUMBER: f"{what} expected",
        TOO_LONG: f"{what} has more than {_MOST_DIGITS} digits",
        OUT_OF_RANGE: f"{what} {int(state[VALUE])} is out of range ({first} to {vertices - 1 + first})",
    }
    message, pos = (usual | dict(messages or {}))[status], int(state[POS])
    if status == CUT_OFF:
        return InputError(message, line=int(state[LINE]), remedy=REFETCH)
    before, after = text[max(0, pos - 30) : pos].tobytes(), text[pos : pos + 30].tobytes()
    line = (before.rpartition(b"\n")[2] + after.partition(b"\n")[0]).decode("ascii", "backslashreplace").strip()
    return InputError(f"{message}, at byte {pos}: {line!r}", line=int(state[LINE]), remedy=remedy)


def zeros_left_out(zeros: int) -> tuple[str, ...]:
    """The note on so many entries of a matrix that are stored and 0; none on none."""
    return (f"{count(zeros, 'stored zero')} left out",) if zeros else ()


def check_stated(state: np.ndarray, found: int, stated: int, noun: str, line: int, remedy: str) -> None:
    """Raises InputError if the number of edges found differs from the one stated in `line`.

    `noun` is what the format calls edges; `remedy` is for the case that there are too many.
    """
    if found != stated:
        message = f"{found} {noun}, but line {line} says {stated}"
        raise InputError(message, line=int(state[LINE]), remedy=REFETCH if found < stated else remedy)


def check_vertices(vertices: int, line: int | None = None) -> None:
    """Raises InputError if the vertices are too many for 32-bit ids."""
    if vertices > MAX_VERTICES:
        raise InputError(f"{vertices} vertices; at most {MAX_VERTICES} fit 32-bit ids", line=line)


def check_memory(vertices: int, line: int | None = None, edges: int = 0) -> None:
    """Raises TooLittleMemory if the memory does not suffice to condense a graph with so many vertices and edges.

    Readers call it before they allocate an array whose size is only stated in a file, in line `line`.
    """
    where = "" if line is None else f"line {line}: "
    need = _BYTES_A_VERTEX * vertices + _BYTES_AN_EDGE * edges
    memory.require(need, f"{where}a graph of {vertices:,} vertices and {edges:,} edges")
