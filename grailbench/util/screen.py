"""Output for people on stdout: lines that are folded between words, and tables that fit the window.

The width is that of the terminal, or COLUMNS if set; pipes and files have no limit, so that no column is lost. A word
that is longer than the window makes its line longer.
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

from grailbench.util.visible import visible

_ANY_WIDTH = 10_000
_LEAST_WIDTH = 20  #: the width that is assumed for narrower windows
_EDGE = " "  #: left of a table
_GAP, _LEAST_GAP = 3, 2  #: spaces between columns of a table, and of a narrow table
_READABLE = 20  #: the least width of a folded text
#: colours of verdicts and statuses, by their first word in lower case; the console leaves them out for NO_COLOR
TONES = {
    **dict.fromkeys(("ok", "stable", "faster", "less", "improvement"), "green"),
    **dict.fromkeys(("wrong", "failed", "lost", "slower", "more", "regression", "unstable", "error"), "red"),
    **dict.fromkeys(("timeout", "out", "skipped", "incomplete", "sampled", "unclear", "changed"), "yellow"),
}
_TONED = ("status", "verdict", "stability", "stable")  #: headers of the columns that have them


def console() -> Console:
    """A rich console on stdout; it has no colors if stdout is no terminal or NO_COLOR is set."""
    columns = os.environ.get("COLUMNS", "")
    bounded = sys.stdout.isatty() or (columns.isdigit() and int(columns) > 0)
    width = shutil.get_terminal_size().columns if bounded else _ANY_WIDTH  # COLUMNS first, then the terminal
    return Console(file=_bare(sys.stdout), highlight=False, width=max(width, _LEAST_WIDTH))


def error_console() -> Console:
    """A rich console on stderr."""
    return Console(file=_bare(sys.stderr), highlight=False)


def _bare(stream):
    """The stream for a console, which is given visible texts alone: that below a stream of `cli.streams`, which would
    show the console's own colours as text."""
    return getattr(stream, "bare", stream)


def put(parts: Iterable[Grid | str], to: Console | None = None) -> None:
    """Prints tables and lines of text, each of which is one line or, folded, one paragraph."""
    to = to or console()
    for part in parts:
        if isinstance(part, str):
            first = part.partition(":")[0]
            tone = TONES.get(first.lower(), "") if first.isupper() else ""
            part = Text("\n".join(fold(visible(part), to.width)), tone)
        to.print(part, soft_wrap=True)  # only lines of one word are longer than the window


def fold(text: str, width: int) -> list[str]:
    """Splits a line at spaces into lines of at most `width` columns, all with the indentation of the first."""
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
    """Lines 'key   value' with aligned values; a long value is folded and stays aligned."""
    pairs = [(visible(key), visible(value)) for key, value in pairs]
    left = 2 + max((cell_len(key) for key, _ in pairs), default=0)
    for key, value in pairs:
        for i, line in enumerate(fold(value, max(width - left, _LEAST_WIDTH))):
            yield f"{'' if i else key:<{left}}{line}".rstrip()


@dataclass
class Grid:
    """A table for people that fits the window.

    If the window is too narrow for the texts, empty columns are left out, what is the same in every line goes to the
    title, headers and texts are folded. If that is not enough, there are several tables: with the first `keys` columns,
    which say what a line is about, in each; or, where these take more than half of the window, on a line of their own.

    title  printed above the table; '' for none
    lines  the cells of each line
    right  headers of right-aligned columns, whose cells are never folded
    ends   indices of the lines that are followed by a blank line
    """

    title: str
    headers: list[str]
    lines: list[list[str]]
    right: frozenset[str] = frozenset()
    keys: int = 1
    ends: frozenset[int] = frozenset()

    def __post_init__(self):
        self.title = visible(self.title)
        self.headers = [visible(header) for header in self.headers]
        self.lines = [[visible(cell) for cell in line] for line in self.lines]
        self.right = frozenset(map(visible, self.right))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        width = max(options.max_width, _LEAST_WIDTH)
        columns, gap, title = list(range(len(self.headers))), _GAP, self.title
        if sum(most for _, most in self._sizes) + gap * (len(columns) - 1) >= width:
            columns, gap = [i for i in columns if any(line[i].strip() for line in self.lines)], _LEAST_GAP
            if alike := [i for i in columns if len({line[i] for line in self.lines}) == 1 < len(self.lines)]:
                columns = [i for i in columns if i not in alike] or columns
                title = f"{title} ({self._head(self.lines[0], alike)})".strip()
        parts, heads, keys = [columns], [""] * len(self.lines), [i for i in columns if i < self.keys]
        if self._fit(columns, width, gap) is None:
            rest = [i for i in columns if i >= self.keys]
            first = rest[:1] if rest and not self.headers[rest[0]] else []
            if keys and sum(self._sizes[i][0] + gap for i in keys) <= width // 2:
                parts = self._parts(rest[len(first) :], width, keys + first)
            else:
                parts = self._parts(rest[len(first) :], width, first)
                heads = [self._head(line, keys) for line in self.lines]
        for line in fold(title, width) if title else ():
            yield Text(line, style="table.title")
        for part in parts:
            widths = self._fit(part, width, gap) or [self._sizes[i][0] for i in part]
            yield Text()
            if part:
                yield from self._line([self.headers[i] for i in part], part, widths, gap, style="table.header")
                rule = "-" if options.ascii_only else "─"
                yield Text(_EDGE + rule * (sum(widths) + gap * (len(widths) - 1)))
            for number, line in enumerate(self.lines):
                if heads[number] and (number == 0 or heads[number] != heads[number - 1]):
                    yield from map(Text, fold(heads[number], width))
                yield from self._line([line[i] for i in part], part, widths, gap)
                if number in self.ends:
                    yield Text()
            yield Text()

    @cached_property
    def _sizes(self) -> list[tuple[int, int]]:
        """The least width of each column, with its header and texts folded, and that with nothing folded."""
        found = []
        for i, header in enumerate(self.headers):
            cells = [line[i] for line in self.lines]
            body = max(map(cell_len, cells), default=0)
            folded = body if header in self.right else max(min(body, _READABLE), *map(_longest_word, cells), 0)
            found.append((max(_longest_word(header), folded), max(cell_len(header), body)))
        return found

    def _fit(self, columns: list[int], width: int, gap: int) -> list[int] | None:
        """Widths with which columns fit side by side, the narrowest widened first; None if they do not fit."""
        room = width - len(_EDGE) - gap * (len(columns) - 1)
        widths, whole = ([self._sizes[i][way] for i in columns] for way in range(2))
        if sum(widths) > room:
            return None
        for _ in range(min(room, sum(whole)) - sum(widths)):
            at = min((i for i in range(len(widths)) if widths[i] < whole[i]), key=widths.__getitem__)
            widths[at] += 1
        return widths

    def _parts(self, columns: list[int], width: int, first: list[int]) -> list[list[int]]:
        """Distributes the columns to tables that fit, each of which begins with those of `first`."""
        parts = [first]
        for i in columns:
            if parts[-1] != first and self._fit([*parts[-1], i], width, _LEAST_GAP) is None:
                parts.append(first)
            parts[-1] = [*parts[-1], i]
        return parts

    def _head(self, line: list[str], columns: list[int]) -> str:
        """Some cells of a line in words: 'kegg, sequential, d 2'."""
        alone = [i < self.keys and header not in self.right for i, header in enumerate(self.headers)]
        return ", ".join((line[i] if alone[i] else f"{self.headers[i]} {line[i]}").strip() for i in columns if line[i])

    def _line(self, cells: list[str], columns: list[int], widths: list[int], gap: int, style="") -> Iterator[Text]:
        """The printed lines of one line of cells; of a header, which has a style, the last lines are aligned."""
        stacks = [fold(cell, width) for cell, width in zip(cells, widths, strict=True)]
        tall = max(map(len, stacks), default=0)
        for at in range(tall):
            out = Text(_EDGE)
            for column, stack, width in zip(columns, stacks, widths, strict=True):
                own = at - (tall - len(stack) if style else 0)
                text = stack[own] if 0 <= own < len(stack) else ""
                pad = " " * (width - cell_len(text))
                text = pad + text if self.headers[column] in self.right else text + pad
                out.append(text + " " * gap, style or self._tone(column, stack))
            out.rstrip()
            yield out

    def _tone(self, column: int, stack: list[str]) -> str:
        """The colour of a cell."""
        found = stack[0].lower().rstrip("~:").split() if stack and self.headers[column] in _TONED else []
        return TONES.get(found[0].rstrip(":"), "") if found else ""


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)
