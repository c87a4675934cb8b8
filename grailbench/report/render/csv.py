"""The typed values of tables as CSV, in full precision, in which no name is a formula.

A spreadsheet takes a text that begins with =, +, - or @ for a formula, and some do so after a tab, a line break or a
semicolon in a text. Such a text has an apostrophe before that sign. `exact` takes it off again; numbers stay numbers.
"""

import csv as library
import io
import re
from collections.abc import Iterable
from functools import lru_cache

import pandas

from grailbench.report.table import Table

_PARTS = r"(?:\A|(?<=[;\t\r\n]))"  # the start of a text, or what a spreadsheet may part columns or lines at
_CALCULATES = r"(?=[' ]*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n\0])"
_FORMULA, _APOSTROPHE = re.compile(_PARTS + _CALCULATES), re.compile(f"{_PARTS}'{_CALCULATES}")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?", re.IGNORECASE)


def csv(tables: Iterable[Table]) -> str:
    """The tables of one file: a header line, then one line per row of each `Table.data`."""
    frames = [table.data for table in tables if table.data is not None]
    whole = frames[0] if len(frames) == 1 else pandas.concat(frames, ignore_index=True)
    return of_frame(whole)


def of_frame(frame: pandas.DataFrame) -> str:
    """A data frame as CSV, without its index."""
    frame = frame.rename(columns=plain)
    for at, kind in enumerate(frame.dtypes):
        if kind.kind not in "biufcmM":
            values = [plain(value) for value in frame.iloc[:, at]]
            frame.isetitem(at, pandas.Series(values, frame.index, object))
    text = frame.to_csv(index=False, lineterminator="\n")
    return (
        text if "\r" not in text else frame.to_csv(index=False, lineterminator="\n", quoting=library.QUOTE_NONNUMERIC)
    )


def line(values: Iterable[object]) -> str:
    """A line of values, each as `plain` has it."""
    values, out = [plain(value) for value in values], io.StringIO()
    returns = any(isinstance(value, str) and "\r" in value for value in values)  # else unquoted, and the line would end
    quoting = library.QUOTE_NONNUMERIC if returns else library.QUOTE_MINIMAL
    library.writer(out, lineterminator="\n", quoting=quoting).writerow(values)
    return out.getvalue()


def plain(value: object) -> object:
    """A value for a cell of a CSV file: a text that is a formula to a spreadsheet has an apostrophe where it begins.
    Half of a surrogate pair, which no file can have, is as `visible` shows it."""
    return _plain(value) if isinstance(value, str) else value


@lru_cache(1 << 14)  # most texts of a table stand in many of its rows
def _plain(text: str) -> str:
    if _NUMBER.fullmatch(text):
        return text
    return _FORMULA.sub("'", text).encode("utf-8", "backslashreplace").decode()


def exact(text: str) -> str:
    """The text that `plain` was given."""
    return _APOSTROPHE.sub("", text)
