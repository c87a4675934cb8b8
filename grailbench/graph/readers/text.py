"""What readers share: what they find, the beginning of a text, its first lines, and checks of stated sizes."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import MAX_VERTICES, Graph
from grailbench.graph.ids import Ids
from grailbench.graph.readers.parsers import MOST_DIGITS, NEWLINE
from grailbench.util import memory
from grailbench.util.files import REFETCH
from grailbench.util.words import count

_BYTES_A_VERTEX, _BYTES_AN_EDGE = 44, 16  # that condensing takes at least (measured: 44 to 46, 16 to 51)
BOM = b"\xef\xbb\xbf"  #: the byte order mark of UTF-8
_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff")  # those of UTF-16
_PART = 1 << 18  # bytes that are looked through at once, in the cache of a core
_WINDOW = 4096  # bytes that are searched for the end of a line at a time
RETURN = 13


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


def _has_lone_return(text: np.ndarray) -> bool:
    """Whether a carriage return is followed by another byte than a line feed."""
    for first in range(0, text.size - 1, _PART):
        part = text[first : first + _PART + 1]
        returns = part[:-1] == RETURN
        if returns.any() and (returns & (part[1:] != NEWLINE)).any():
            return True
    return False


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
    return all(word.isdigit() and len(word) <= MOST_DIGITS for word in words)


def zeros_left_out(zeros: int) -> tuple[str, ...]:
    """The note on so many entries of a matrix that are stored and 0; none on none."""
    return (f"{count(zeros, 'stored zero')} left out",) if zeros else ()


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
