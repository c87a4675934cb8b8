"""What the columns of all CSV files mean: `columns.csv` beside this module has each with its type, unit and meaning,
but for counters that an implementation explains (`meaning`).

`make docs` makes a page of them (`page`).

A name is looked up for its file first, then for all: `value` of rivals.csv is not `value` of a figure. A `*` stands for
anything. A unit '=' is that of what the column's name or another column says.
"""

import csv
import re
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files as resources
from typing import NamedTuple

from grailbench.problems import contract

HEAD = """\
# The columns of CSV files

Files have a line of headers, commas, UTF-8, decimal points and numbers in full precision. A missing value is an empty
cell. A `*` stands for any name. Unit 1 is a plain number, B are bytes; with = it is that of what the header says, which
is ms for times of printed tables. Integers of a column with missing values may be written with a decimal point.

A spreadsheet would calculate a text that begins with `=`, `+`, `-` or `@`, or with a tab or a line break. Such a text,
the name of a graph for instance, has an apostrophe before that sign, `'=1+2`; so it has after a semicolon, a tab or a
line break within a text. All else of a name is as it was given. `exact` of `grailbench.report.render.csv` takes the
apostrophe off where it was put, and `--json` never has it.
"""


class Column(NamedTuple):
    """A column, or all whose names fit.

    file  the file that it is of, without its ending, or a pattern of such; '' for any
    unit  '1' for plain numbers, '' for text
    """

    group: str
    file: str
    name: str
    type: str
    unit: str
    description: str


@cache
def columns() -> tuple[Column, ...]:
    """Every entry, in the order of the page; counters that implementations of grailbench explain themselves come last
    in their group."""
    text = resources("grailbench.report").joinpath("columns.csv").read_text("utf-8")
    impls = (impl for problem in contract.PROBLEMS for impl in contract.implementations(problem).values())
    own = {
        name: text for impl in impls if impl.__module__.startswith("grailbench.") for name, text in impl.meaning.items()
    }
    listed = [Column(**line) for line in csv.DictReader(text.splitlines())]
    return (*listed, *(Column("Work counters", "counters", name, "integer", "1", text) for name, text in own.items()))


@cache
def column(file: str, name: str) -> Column | None:
    """The entry for a column of a file, whose name is without its ending; None if there is none.

    Names come before patterns, and entries of the file before those of any.
    """
    found = [each for each in columns() if fnmatchcase(file, each.file or "*")
             and re.fullmatch(re.escape(each.name).replace(r"\*", ".+"), name, re.DOTALL)]  # fmt: skip
    return min(found, key=lambda each: ("*" in each.name, each.name == "*", not each.file), default=None)


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for group in dict.fromkeys(each.group for each in columns()):
        parts += [f"## {group}", "", "| column | of | type | unit | meaning |", "| --- | --- | --- | --- | --- |"]
        parts += [f"| `{each.name}` | {each.file or 'any'} | {each.type} | {each.unit} | {each.description} |"
                  for each in columns() if each.group == group]  # fmt: skip
        parts.append("")
    return "\n".join(parts).rstrip("\n") + "\n"
