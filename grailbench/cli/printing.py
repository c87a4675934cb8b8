"""What all commands print alike, and where they write answers: the standard output, or a file."""

import gzip
import io
import json
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any

import click

from grailbench.cli.streams import KEEP
from grailbench.report.table import Table
from grailbench.util.outputs import replaced
from grailbench.util.visible import visible
from grailbench.util.words import gib

Of = str | Callable[[Any], Any]  #: how a column gets its value of a thing


def table(
    title: str, columns: Mapping[str, Of] | Sequence[tuple[str, Of]], things: Iterable[Any], right: Iterable[str] = (),
    none: str = "", **more: Any,
) -> Table:  # fmt: skip
    """A table for people with a line for each thing.

    columns  header -> the key or attribute of a thing, or a function of it; as pairs where headers are equal
    right    the headers of right-aligned columns
    none     the text of a missing value
    more     further fields of the `Table`
    """

    def value(thing: Any, of: Of) -> Any:
        return of(thing) if callable(of) else thing[of] if isinstance(thing, Mapping) else getattr(thing, of)

    heads, values = zip(*(columns.items() if isinstance(columns, Mapping) else columns), strict=True)
    lines = [[text(value(thing, of), none) for of in values] for thing in things]
    return Table("", title, list(heads), lines, frozenset(right), **more)


def text(value: Any, none: str = "") -> str:
    """A value for people: thousands are grouped, names of a list and counts of a dictionary are listed."""
    if isinstance(value, str):
        return value
    if value is None:
        return none
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def sheet(record: Mapping[str, Any]) -> Iterator[str]:
    """A record for people, a line for each value, which fits a terminal: nested records are indented, sentences and
    addresses have a line each, missing values are left out."""
    from grailbench.util.screen import console, paired

    return paired(_pairs(record), console().width)


def _pairs(record: Mapping[str, Any], indent: str = "") -> Iterator[tuple[str, str]]:
    for key, value in record.items():
        if value in (None, []) or (isinstance(value, dict) and all(v is None for v in value.values())):
            continue
        label = indent + key.removesuffix("_bytes").replace("_", " ")
        if isinstance(value, dict) and not all(isinstance(v, int) for v in value.values()):
            yield label, ""
            yield from _pairs(value, indent + "  ")
        elif isinstance(value, list) and any(isinstance(v, dict) or re.search(r"[\s/]", str(v)) for v in value):
            for i, item in enumerate(value):
                if isinstance(item, dict):
                    item = ", ".join(f"{k.replace('_', ' ')} {text(v)}" for k, v in item.items() if v is not None)
                yield "" if i else label, str(item)
        else:
            yield label, gib(value, 1) if key.endswith("_bytes") else text(value)


def put_json(records: Iterable[dict]) -> None:
    """Print one JSON object a line."""
    for record in records:
        click.echo(json.dumps(record))


def put(parts: Iterable[Table | str], on_stderr: bool = False) -> None:
    """Print tables and lines for people; in a terminal they fit its width."""
    from grailbench.report.render import terminal
    from grailbench.util import screen

    to = screen.error_console() if on_stderr else None
    for part in parts:
        screen.put(terminal(part) if isinstance(part, Table) else [part], to)


def show(as_json: bool, records: Iterable[dict], parts: Iterable[Table | str]) -> None:
    """Print records as JSON, or else tables and lines for people."""
    put_json(records) if as_json else put(parts)


def note(line: str) -> None:
    """Print a line for people on stderr, where it does not mix with results, broken between words in a terminal."""
    line = visible(str(line))
    if sys.stderr.isatty():
        line = "\n".join(_wrapped(line, shutil.get_terminal_size().columns)) or line
    click.echo(line, err=True)


def _wrapped(line: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """A text in lines of at most `width` characters that begin with `first` and `rest`; no word is broken."""
    return textwrap.wrap(
        line, max(width, 1), initial_indent=first, subsequent_indent=rest, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


class Help(click.HelpFormatter):
    """A help text that breaks between words alone, however narrow the terminal is."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.width = min(self.width, max(shutil.get_terminal_size().columns - 2, 20))

    def write_text(self, text: str) -> None:
        """Writes paragraphs; of one that begins with a backspace, each line by itself."""
        indent = " " * self.current_indent
        for at, paragraph in enumerate(re.split(r"\n{2,}", text.strip())):
            lines = paragraph.removeprefix("\b\n").splitlines()
            if not paragraph.startswith("\b"):
                lines = [" ".join(lines)]
            self.write("\n" * (at > 0))
            self._write_lines(each for line in lines for each in self._lines(indent + line))

    def _lines(self, line: str) -> list[str]:
        """A line, broken where it is too long: an example of a command with a backslash, as a shell takes it."""
        own = line.lstrip()
        first = line[: len(line) - len(own)]
        end = " \\" if own.startswith("grailbench ") else ""
        found = _wrapped(own, self.width - len(end), first, first + "    " * (first != " " * self.current_indent))
        return [*(each + end for each in found[:-1]), found[-1]]

    def write_dl(self, rows, col_max: int = 30, col_spacing: int = 2) -> None:
        """Writes terms, and beside them, or below where there is no room, what they mean."""
        rows, indent = list(rows), " " * self.current_indent
        left = self.current_indent + min(max(len(term) for term, _ in rows), col_max) + col_spacing
        for term, text in rows:
            beside = len(indent + term) + col_spacing <= left <= self.width - 20
            rest = " " * left if left <= self.width - 20 else indent + "    "
            if not beside:
                self._write_lines(_wrapped(term, self.width, indent, rest))
            first = f"{indent}{term}".ljust(left) if beside else rest
            self._write_lines(_wrapped(text, self.width, first, rest) or [first.rstrip()])

    def _write_lines(self, lines: Iterable[str]) -> None:
        self.write("".join(f"{line}\n" for line in lines))


@contextmanager
def output(path: str | None) -> Iterator[IO[bytes]]:
    """A binary stream to a file, which appears whole or not at all and is compressed if its name ends with .gz; '-' and
    None are the standard output, where a terminal gets what is hidden as text, and a pipe every byte as it is.

    Raises InputError or MachineLacks if the file cannot be written.
    """
    if path in (None, "-"):
        yield _Screen()
        return
    with replaced(path) as stream:
        if path.endswith(".gz"):
            with gzip.GzipFile(filename="", fileobj=stream, mode="wb", mtime=0) as packed:
                yield packed
        else:
            yield stream


class _Screen(io.RawIOBase):
    """The standard output as a binary file; click writes to whatever stands in its place."""

    def write(self, content: bytes) -> int:
        if sys.stdout.isatty():
            click.echo(visible(content.decode("utf-8", "surrogateescape"), KEEP), nl=False)
        else:
            click.echo(content, nl=False)
        return len(content)
