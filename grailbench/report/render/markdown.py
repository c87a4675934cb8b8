"""A table as a section of a Markdown page."""

import re

from tabulate import tabulate

from grailbench.report.table import Table
from grailbench.util.visible import visible

_CODE = re.compile(r"(?<!`)`(?!`)(.+?)(?<!`)`(?!`)")
#: what would be more than text: escapes, tags, entities, the middle of a link, pictures, emphasis, mathematics
_ACTIVE = re.compile(
    r"\\(?=[!-/:-@\[-`{-~]|\Z)|[`|*$]|<(?=[A-Za-z/!?])|&(?=#?\w+;)|\](?=[(\[])|!(?=\[)|~(?=~)|(?<![^\W_])_|_(?![^\W_])"
)
#: what begins a heading, a point of a list, a quotation, a line, code, or the address of a link
_BLOCK = re.compile(r"\A(?:(?=#{1,6}(?:\s|\Z)|[-+](?:\s|\Z)|>|=+\Z|-+\Z|~~~|\[.*\]:)|(\d{1,9})(?=[.)](?:\s|\Z)))")


def text(line: str, bar: str = r"\|") -> str:
    """A line as Markdown that shows it, wherever in a line it stands, in a cell, say. What stands between two backticks
    is code; no name is any other markup. `bar` is how a bar is written in code, where cells alone need it escaped."""
    parts = _CODE.split(visible(line))
    parts[::2] = [_ACTIVE.sub(r"\\\g<0>", part) for part in parts[::2]]
    parts[1::2] = [f"`{part.replace('|', bar)}`" for part in parts[1::2]]
    return "".join(parts)


def paragraph(line: str) -> str:
    """The same for the beginning of a paragraph or of a point of a list."""
    return _BLOCK.sub(lambda found: f"{found[1] or ''}\\", text(line, "|"))


def markdown(table: Table, level: int = 2) -> str:
    """Heading of this level, table and notes."""
    return f"{'#' * level} {text(table.title)}\n\n{content(table)}"


def content(table: Table) -> str:
    """The table and its notes, without a heading."""
    body = tabulate(
        [list(map(text, line)) for line in table.lines],
        headers=list(map(text, table.headers)),
        tablefmt="github",
        disable_numparse=True,
        colalign=["right" if header in table.right else "left" for header in table.headers],
    )
    foot = "".join(f"- {paragraph(note)}\n" for note in table.notes)
    return f"{body}\n" + (f"\n{foot}" if foot else "")


def compact(table: Table) -> str:
    """As `content`, without padding, so that a changed number changes only one line of a page."""
    rule = ["---:" if header in table.right else "---" for header in table.headers]
    lines = [rule if line is rule else map(text, line) for line in (table.headers, rule, *table.lines)]
    body = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return body + "".join(["\n"] * bool(table.notes) + [f"- {paragraph(note)}\n" for note in table.notes])
