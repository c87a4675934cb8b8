"""Parsers of lines: numba functions over the whole text, and what runs them and words their errors.

A parser stores its position in an int64 array, the state, whose slots are the constants `POS` and following. It fills
two int32 arrays with sources and targets, and a third with weights if the format has them, and returns one of the
status codes below. If the arrays are full it returns FULL and is called again with longer ones, so it reads each byte
once.
"""

from collections.abc import Callable, Mapping

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import VERTEX
from grailbench.graph.weights import (
    FRACTION,
    MOST_WEIGHT,
    NEGATIVE,
    NO_NUMBER,
    NOT_FINITE,
    TOO_LARGE,
    WEIGHT,
    ZERO,
    unused_message,
    used_message,
)
from grailbench.util import memory
from grailbench.util.compiled import njit, njit_later
from grailbench.util.files import REFETCH

# status codes of a parser
DONE, FULL = 0, 1
NOT_A_NUMBER, TOO_LONG, OUT_OF_RANGE, NO_COLON, NO_END, AFTER_END, CUT_OFF, TWICE, COLUMNS = range(2, 11)
# slots of a parser's state: byte position, line (from 1), edges so far, current vertex (-1: none), vertex lines so far,
# the number or column that an error is about; of the first unusable weight the reason (0: none), byte and line; the
# least and the greatest number of columns after an edge, and the first line where it differs from the first edge's;
# entries of a matrix whose value is 0
POS, LINE, COUNT, CURRENT, LINES, VALUE, UNFIT, UNFIT_POS, UNFIT_LINE, FEWEST, MOST, VARIED, ZEROS = range(13)

NEWLINE, HASH, PERCENT, COLON = 10, 35, 37, 58
PARSER = "int64(uint8[::1], int64[::1], int32[::1], int32[::1], {})"
WEIGHING_PARSER = "int64(uint8[::1], int64[::1], int32[::1], int32[::1], int32[::1], {})"
_WEIGHT_DIGITS = 17  # of a weight that are used; more may not fit 64 bits
MOST_DIGITS = 18  # longer numbers may not fit 64 bits and are errors
_FIRST_EDGES = 1 << 16  # length of the first edge arrays


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
    elif pos - start > MOST_DIGITS:
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


@njit(cache=True)
def weight_at(text, pos, end):
    """Parses text[pos:end] (uint8) as a weight. Returns 1..MOST_WEIGHT, or one of the reasons above, negated.

    Sign, decimal point and exponent are allowed. Leading zeros do not count as digits.
    """
    negative = False
    if pos < end and (text[pos] == 43 or text[pos] == 45):
        negative = text[pos] == 45
        pos += 1
    value, digits, after, seen, point = np.int64(0), 0, 0, 0, False
    inexact = False  # whether a digit other than 0 follows those that are used
    while pos < end and (48 <= text[pos] <= 57 or (text[pos] == 46 and not point)):
        if text[pos] == 46:
            point = True
        else:
            digit = np.int64(text[pos]) - 48
            seen += 1
            if digits < _WEIGHT_DIGITS:
                value = value * 10 + digit
                digits += value > 0
                after += point
            else:
                inexact |= digit != 0
                after -= not point
        pos += 1
    power, power_digits = 0, 1
    if pos < end and (text[pos] == 69 or text[pos] == 101):
        pos += 1
        down = pos < end and text[pos] == 45
        pos += pos < end and (text[pos] == 43 or text[pos] == 45)
        power_digits = 0
        while pos < end and 48 <= text[pos] <= 57:
            power = min(power * 10 + np.int64(text[pos]) - 48, 10**6)
            power_digits += 1
            pos += 1
        if down:
            power = -power
    if pos < end or seen == 0 or power_digits == 0:
        return np.int64(-NO_NUMBER)
    if value == 0:
        return np.int64(-ZERO)
    if negative:
        return np.int64(-NEGATIVE)
    power -= after
    while power < 0 and value % 10 == 0:
        value //= 10
        power += 1
    while power > 0 and value <= MOST_WEIGHT:
        value *= 10
        power -= 1
    if power < 0 or (inexact and value <= MOST_WEIGHT):
        return np.int64(-FRACTION)
    return np.int64(-TOO_LARGE) if value > MOST_WEIGHT else value


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
        TOO_LONG: f"{what} has more than {MOST_DIGITS} digits",
        OUT_OF_RANGE: f"{what} {int(state[VALUE])} is out of range ({first} to {vertices - 1 + first})",
    }
    message, pos = (usual | dict(messages or {}))[status], int(state[POS])
    if status == CUT_OFF:
        return InputError(message, line=int(state[LINE]), remedy=REFETCH)
    before, after = text[max(0, pos - 30) : pos].tobytes(), text[pos : pos + 30].tobytes()
    line = (before.rpartition(b"\n")[2] + after.partition(b"\n")[0]).decode("ascii", "backslashreplace").strip()
    return InputError(f"{message}, at byte {pos}: {line!r}", line=int(state[LINE]), remedy=remedy)


def check_stated(state: np.ndarray, found: int, stated: int, noun: str, line: int, remedy: str) -> None:
    """Raises InputError if the number of edges found differs from the one stated in `line`.

    `noun` is what the format calls edges; `remedy` is for the case that there are too many.
    """
    if found != stated:
        message = f"{found} {noun}, but line {line} says {stated}"
        raise InputError(message, line=int(state[LINE]), remedy=REFETCH if found < stated else remedy)


# ---------------------------------------------------------------------------------------- .gra


@njit_later(PARSER.format("uint8[::1]"))
def parse_gra(text, state, sources, targets, seen):
    """Parses vertex lines from state[POS] on; returns a status code.

    seen: uint8[n], set to 1 for every vertex that has a line. There are two nested loops, because a single loop over
    parser states takes twice as long.
    """
    end, room, n = text.size, targets.size, seen.size
    pos, line, count, vertex, lines = state[POS], state[LINE], state[COUNT], state[CURRENT], state[LINES]
    status = np.int64(-1)
    while status < 0:
        if vertex < 0:  # before a vertex line
            while pos < end and is_space(text[at(pos)]):
                line += text[at(pos)] == NEWLINE
                pos += 1
            if pos == end:
                status = DONE
                break
            start = pos
            value, pos = number(text, pos)
            while pos < end and is_blank(text[at(pos)]):
                pos += 1
            if pos == end:
                status = CUT_OFF
            elif value < 0:
                status, pos = (NOT_A_NUMBER if value == -1 else TOO_LONG), start
            elif text[at(pos)] != COLON:
                status = NO_COLON
            elif value >= n:
                status, state[VALUE], pos = OUT_OF_RANGE, value, start
            elif seen[value]:
                status, state[VALUE], pos = TWICE, value, start
            if status >= 0:
                break
            vertex = value
            pos += 1
        while status < 0:  # its children
            if pos == end:
                status = CUT_OFF
                break
            byte = text[at(pos)]
            if is_blank(byte):
                pos += 1
            elif byte == HASH:
                break
            elif byte == NEWLINE:
                status = NO_END
            else:
                start = pos
                value, pos = number(text, pos)
                if value < 0:
                    status, pos = (NOT_A_NUMBER if value == -1 else TOO_LONG), start
                elif value >= n:
                    status, state[VALUE], pos = OUT_OF_RANGE, value, start
                elif count == room:
                    status, pos = FULL, start
                else:
                    sources[at(count)] = vertex
                    targets[at(count)] = value
                    count += 1
        if status >= 0:
            break
        pos += 1
        while pos < end and is_blank(text[at(pos)]):
            pos += 1
        if pos < end and text[at(pos)] != NEWLINE:
            status = AFTER_END
            break
        seen[vertex] = 1
        lines += 1
        vertex = np.int64(-1)
    state[POS], state[LINE], state[COUNT], state[CURRENT], state[LINES] = pos, line, count, vertex, lines
    return status


# ---------------------------------------------------------------------------------------- METIS, adjacency lists


@njit(cache=True, inline="always")
def _in_number(byte):
    """Whether a byte can be part of a number: a digit, a sign, the decimal point, or the e of an exponent."""
    return 48 <= byte <= 57 or byte == 43 or byte == 45 or byte == 46 or byte == 69 or byte == 101


@njit_later(WEIGHING_PARSER.format("int64, int64, int64, int64, int64, int64"))
def parse_rows(text, state, sources, targets, weights, rows, first, last, comment, skipped, stride):
    """Parses rows of numbers from state[POS] on, a line each; returns a status code.

    A line has `skipped` numbers of any notation, then `stride` numbers for each neighbour: its id, one of first..last,
    which is stored minus `first`, and, if `stride` is 2, the edge's weight. Sources are numbers of rows. There are
    `rows` of them, and comments are lines of their own; or any number if it is -1: then empty lines are none, and
    comments may follow the last number of a line. state[LINES] is the current row; state[CURRENT] is how many numbers
    of its line were read, -1 at its start.
    """
    end, room = text.size, targets.size
    pos, line, count, row, read = state[POS], state[LINE], state[COUNT], state[LINES], state[CURRENT]
    status = np.int64(-1)
    while status < 0:
        while pos < end and is_blank(text[at(pos)]):
            pos += 1
        if (read < 0 or rows < 0) and pos < end and text[at(pos)] == comment:
            while pos < end and text[at(pos)] != NEWLINE:
                pos += 1
            if read < 0:
                pos = min(pos + 1, end)
                line += 1
        elif pos == end and read < 0:
            whole = rows < 0 or row == rows or (row == rows - 1 and skipped == 0)  # the last line may be empty
            status = DONE if whole else CUT_OFF
        elif pos == end or text[at(pos)] == NEWLINE:
            if row < rows:
                read = max(read, 0)
                if read < skipped or (read - skipped) % stride:
                    status = COLUMNS
                    break
            row += row < rows or read > 0
            read = np.int64(-1)
            line += pos < end
            pos = min(pos + 1, end)
        elif row >= rows >= 0:
            status = AFTER_END
        else:
            start, value = pos, np.int64(-1)
            read = max(read, 0)
            neighbour = read >= skipped and (read - skipped) % stride == 0
            if neighbour:
                value, pos = number(text, pos)
            while not neighbour and pos < end and _in_number(text[at(pos)]):
                pos, value = pos + 1, np.int64(0)
            if value < 0 or (pos < end and not is_space(text[at(pos)])):
                status, pos = (TOO_LONG if value == -2 else NOT_A_NUMBER), start
            elif neighbour and (value < first or value > last):
                status, state[VALUE], pos = OUT_OF_RANGE, value, start
            elif neighbour and count == room:
                status, pos = FULL, start
            else:
                if neighbour:
                    sources[at(count)] = row
                    targets[at(count)] = value - first
                    count += 1
                elif read >= skipped:
                    store_weight(text, start, pos, line, count - 1, weights, state)
                read += 1
    state[POS], state[LINE], state[COUNT], state[LINES], state[CURRENT] = pos, line, count, row, read
    return status


# ---------------------------------------------------------------------------------------- edges


@njit(cache=True)
def _fault_of(value, first, last):
    """The status code for a result of `number` that is not a valid vertex id."""
    if value == -2:
        return TOO_LONG
    return NOT_A_NUMBER if first <= value <= last or value == -1 else OUT_OF_RANGE


@njit_later(WEIGHING_PARSER.format("int64, int64, int64, int64, boolean"))
def parse_edges(text, state, sources, targets, weights, first, last, fewest, most, matrix):
    """Parses edge lines from state[POS] on; returns a status code.

    Ids of first..last are allowed and stored minus `first`. `fewest` to `most` numbers may follow an edge; the first
    is its weight, which is stored unless `weights` is empty. If lines are entries of a `matrix`, those whose numbers
    are all 0 are left out and counted in state[ZEROS]. With COLUMNS, state[VALUE] is -1 if the target is missing, 0 if
    a column is not a number, and 1 if the number of columns is wrong.
    """
    end, room, weighted = text.size, targets.size, weights.size > 0
    pos, line, count = state[POS], state[LINE], state[COUNT]
    least, greatest = state[FEWEST], state[MOST]
    status = np.int64(-1)
    while status < 0:
        while pos < end and is_space(text[at(pos)]):
            line += text[at(pos)] == NEWLINE
            pos += 1
        if pos == end:
            status = DONE
            break
        if text[at(pos)] == HASH or text[at(pos)] == PERCENT:
            while pos < end and text[at(pos)] != NEWLINE:
                pos += 1
            continue
        if count == room:
            status = FULL
            break
        start = pos
        source, pos = number(text, pos)
        if source < first or source > last or (pos < end and not is_space(text[at(pos)])):
            status, state[VALUE], pos = _fault_of(source, first, last), source, start
            break
        while pos < end and is_blank(text[at(pos)]):
            pos += 1
        if pos == end or text[at(pos)] == NEWLINE:
            status, state[VALUE], pos = COLUMNS, -1, start
            break
        start = pos
        target, pos = number(text, pos)
        if target < first or target > last or (pos < end and not is_space(text[at(pos)])):
            status, state[VALUE], pos = _fault_of(target, first, last), target, start
            break
        columns = zeros = 0
        while True:
            while pos < end and is_blank(text[at(pos)]):
                pos += 1
            if pos == end or text[at(pos)] == NEWLINE:
                break
            start = pos
            while pos < end and _in_number(text[at(pos)]):
                pos += 1
            columns += 1
            if pos == start or (pos < end and not is_space(text[at(pos)])):
                pos = non_finite(text, start)
            if pos == start or (pos < end and not is_space(text[at(pos)])):
                status, state[VALUE], pos = COLUMNS, 0, start
                break
            if matrix and is_zero(text, start, pos):
                zeros += 1
            elif weighted and columns == 1:
                store_weight(text, start, pos, line, count, weights, state)
        if status >= 0:
            break
        if columns < fewest or columns > most:
            status, state[VALUE] = COLUMNS, 1
            break
        if columns != least or columns != greatest:
            if least < 0:
                least = greatest = columns
            elif state[VARIED] == 0:
                state[VARIED] = line
            least, greatest = min(least, columns), max(greatest, columns)
        if columns and zeros == columns:
            state[ZEROS] += 1
            continue
        sources[at(count)] = source - first
        targets[at(count)] = target - first
        count += 1
    state[POS], state[LINE], state[COUNT], state[FEWEST], state[MOST] = pos, line, count, least, greatest
    return status
