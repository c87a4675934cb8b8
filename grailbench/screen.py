"""What people see on stdout: lines folded between words, and tables that fit the window.

A terminal has its width, or the one that COLUMNS says; a pipe or a file has all the width it needs, so that it loses
no column. No word is ever broken: one that is longer than the window makes its line longer.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.text import Text

_ANY_WIDTH = 10_000
_LEAST_WIDTH = 20  #: a narrower window is written to as if it had this
_EDGE = " "  #: left of a table
_GAP, _LEAST_GAP = 3, 2  #: columns between those of a table, and of a narrow one
_READABLE = 20  #: what a folded text keeps of its width, so that it is no tower of single words


def console() -> Console:
    """A rich console on stdout, plain when that is no terminal or NO_COLOR is set; its width as said above."""
    said = os.environ.get("COLUMNS", "")
    bounded = sys.stdout.isatty() or (said.isdigit() and int(said) > 0)
    width = shutil.get_terminal_size().columns if bounded else _ANY_WIDTH  # COLUMNS first, then the terminal
    return Console(file=sys.stdout, highlight=False, width=max(width, _LEAST_WIDTH))


def put(parts: Iterable[Grid | str], to: Console | None = None) -> None:
    """Print tables and lines of text."""
    to = to or console()
    for part in parts:
        if isinstance(part, str):
            part = Text("\n".join(line for each in part.split("\n") for line in fold(each, to.width)))
        to.print(part, soft_wrap=True)  # a line that is longer than the window has one word


def fold(text: str, width: int) -> list[str]:
    """A line as lines of at most `width` columns, parted at spaces; all begin with the spaces that it begins with."""
    if cell_len(text) <= width:
        return [text]
    lines, indent = [], " " * (len(text) - len(text.lstrip()))
    for word in text.split():
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(indent + word)
    return lines


def paired(pairs: Iterable[tuple[str, str]], width: int = _ANY_WIDTH) -> Iterator[str]:
    """Lines 'key   value', the values below one another; a long value goes on below its beginning."""
    pairs = list(pairs)
    left = 2 + max((cell_len(key) for key, _ in pairs), default=0)
    for key, value in pairs:
        for i, line in enumerate(fold(value, max(width - left, _LEAST_WIDTH))):
            yield f"{'' if i else key:<{left}}{line}".rstrip()


@dataclass(frozen=True)
class Grid:
    """A table for people, as wide as its texts where the window has that width, else narrow.

    A narrow table has folded headers and texts, and no empty column; where that does not do, the columns that say what
    a line is about (the first `keys`) stand on lines of their own, and the others below them, in several tables if need
    be.

    title  printed above it; '' for none
    lines  the cells; one is a text, or a `Text` with a style
    right  headers of right-aligned columns, whose cells are never folded
    ends   numbers of the lines that a blank one follows
    """

    title: str
    headers: list[str]
    lines: list[list[str | Text]]
    right: frozenset[str] = frozenset()
    keys: int = 1
    ends: frozenset[int] = frozenset()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        width = max(options.max_width, _LEAST_WIDTH)
        rule = "-" if options.ascii_only else "─"
        every = list(range(len(self.headers)))
        for line in fold(self.title, width) if self.title else ():
            yield Text(line, style="table.title")
        told = [i for i in every if any(str(line[i]).strip() for line in self.lines)]
        for columns, gap in ((every, _GAP), (every, _LEAST_GAP), (told, _LEAST_GAP)):
            if (widths := self._fit(columns, width, gap)) is not None:
                yield from self._drawn(columns, widths, gap, rule)
                return
        heads = [self._head(line) for line in self.lines]
        for columns in self._parts([i for i in told if i >= self.keys], width):
            widths = self._fit(columns, width, _LEAST_GAP) or [self._sizes[i][2] for i in columns]
            yield from self._drawn(columns, widths, _LEAST_GAP, rule, heads, width)

    @cached_property
    def _sizes(self) -> list[tuple[int, int, int]]:
        """What each column takes: nothing folded, its header folded, and the cells too if they are texts."""
        found = []
        for i, header in enumerate(self.headers):
            cells = [line[i] for line in self.lines]
            body = max([_longest_word(header), *(cell_len(str(cell)) for cell in cells)])
            words = max([_longest_word(header), min(body, _READABLE), *(_longest_word(str(cell)) for cell in cells)])
            fixed = header in self.right or any(isinstance(cell, Text) for cell in cells)
            found.append((max(cell_len(header), body), body, body if fixed else words))
        return found

    def _fit(self, columns: list[int], width: int, gap: int) -> list[int] | None:
        """Widths of columns that fit side by side, with as little folding as that takes; None when they cannot."""
        room = width - len(_EDGE) - gap * (len(columns) - 1)
        whole, bodies, least = ([self._sizes[i][way] for i in columns] for way in range(3))
        if sum(whole) <= room:
            return whole
        if sum(bodies) <= room:
            return _between(bodies, whole, room)
        return _between(least, bodies, room) if sum(least) <= room else None

    def _parts(self, columns: list[int], width: int) -> list[list[int]]:
        """The columns in as few tables as fit, and those about as wide as one another; a first column without a header
        is in each of them."""
        first = [i for i in columns[:1] if not self.headers[i]]

        def parted(width: int) -> list[list[int]]:
            parts = [first]
            for i in columns[len(first) :]:
                if parts[-1] != first and self._fit([*parts[-1], i], width, _LEAST_GAP) is None:
                    parts.append(first)
                parts[-1] = [*parts[-1], i]
            return parts

        fewest = found = parted(width)
        while width > _LEAST_WIDTH and len(found) == len(fewest):
            fewest, width = found, width - 1
            found = parted(width)
        return fewest

    def _head(self, line: list[str | Text]) -> str:
        """What a line is about: 'kegg, sequential, d 2'."""
        named = zip(self.headers[: self.keys], map(str, line), strict=False)
        words = (f"{header} {cell}" if header in self.right else cell for header, cell in named if cell)
        return ", ".join(word.strip() for word in words)

    def _drawn(
        self, columns: list[int], widths: list[int], gap: int, rule: str, heads: list[str] | None = None, width: int = 0
    ) -> Iterator[Text]:
        """The lines of a table of some columns; `heads`: what stands above each line, folded to `width`, where it is
        not what stands above the one before."""
        yield Text()
        if columns:
            heading = [self.headers[i] for i in columns]
            yield from self._line(heading, columns, widths, gap, style="table.header", low=True)
            yield Text(_EDGE + rule * (sum(widths) + gap * (len(widths) - 1)))
        for number, line in enumerate(self.lines):
            if heads and heads[number] and (number == 0 or heads[number] != heads[number - 1]):
                yield from (Text(each) for each in fold(heads[number], width))
            yield from self._line([line[i] for i in columns], columns, widths, gap)
            if number in self.ends:
                yield Text()
        yield Text()

    def _line(
        self, cells: list[str | Text], columns: list[int], widths: list[int], gap: int, style="", low=False
    ) -> Iterator[Text]:
        """The lines of text of one line of cells; those of a folded header stand `low`, down at the rule."""
        stacks = [fold(str(cell), width) for cell, width in zip(cells, widths, strict=True)]
        styles = [cell.style if isinstance(cell, Text) else style for cell in cells]
        tall = max(map(len, stacks), default=0)
        for at in range(tall):
            out = Text(_EDGE)
            for i, (column, stack) in enumerate(zip(columns, stacks, strict=True)):
                own = at - (tall - len(stack) if low else 0)
                text = stack[own] if 0 <= own < len(stack) else ""
                pad = " " * (widths[i] - cell_len(text))
                text = pad + text if self.headers[column] in self.right else text + pad
                out.append(text + " " * gap, styles[i])
            out.rstrip()
            yield out


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)


def _between(low: list[int], high: list[int], room: int) -> list[int]:
    """Widths from `low` to `high` that fill the room, the narrowest widened first."""
    widths = list(low)
    for _ in range(min(room, sum(high)) - sum(low)):
        at = min((i for i in range(len(widths)) if widths[i] < high[i]), key=widths.__getitem__)
        widths[at] += 1
    return widths
