"""The papers' tables as printed, with known errors.

The CSV files (`results/published`) keep the printed digits, row and column order and column names.
`errata.csv` says which cells are wrong or odd and why, `reasons.csv` why measured values are far from printed ones.
Tables, rows and columns of reasons are patterns, of which the first that fits counts.
"""

import csv
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from grailbench.errors import InputError
from grailbench.util.paths import shipped

THESIS = "Caiazza, MSc thesis, Politecnico di Torino, 2019"
COMPUTATION = "Quer, Calabrese, Computation 8(4), 2020"
#: the machine of both papers, as they name it
PRINTED_MACHINE = "Intel Core i7-7770HQ, 4 cores, 2.8 GHz"
#: threads of the thesis's parallel versions, and queries of its tables 2.4-2.6 and 6.4-6.6
PRINTED_THREADS = 16
PRINTED_QUERIES = 100_000

#: the captions of the tables that reports fill in, of those of closures by Datalog systems, whose times are seconds,
#: and of those of the slides' graphs, for which look-alikes stand; and where the second have times
CAPTIONS, DATALOG, SLIDES, TIMES = tomllib.loads(
    files("grailbench.report").joinpath("published.toml").read_text("utf-8")
).values()

#: columns of whole numbers
INTEGERS = ("Vertices", "Edges", "# Vertices (n)", "# Edges (m)", "Positive Queries", "Queries on GPU")
FAR = 3.0  #: ratio of measured to printed, or its inverse, from which a known reason is given
PAPER_TABLES = ("computation-1", "computation-2")  #: the tables of Computation 2020
COUNT_TABLES = ("2.1", "2.2", "2.3", *PAPER_TABLES)  #: the tables of vertices and edges, without times


class Note(NamedTuple):
    """A note on one printed cell (`row`: canonical dataset name, `column`: printed name), or on a row (`column` empty)
    or a whole table (both empty). A reason why measured values are far from it has patterns in their place, the `side`,
    'above' or 'below', and its `kind`: 'machine', 'order', 'pairs', 'method' or 'not known'."""

    table: str
    row: str
    column: str
    note: str
    source: str
    side: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Published:
    """A printed table.

    name     '2.4', 'computation-1'
    caption  as printed
    columns  printed column names; the first is that of the row names
    rows     printed cells by canonical dataset name and column, both in printed order, digits as printed
    errata   the notes on this table
    reasons  known reasons for measured values far from printed ones
    """

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: dict[str, dict[str, str]]
    errata: tuple[Note, ...]
    reasons: tuple[Note, ...]

    @property
    def values(self) -> tuple[str, ...]:
        """The columns that hold numbers."""
        return self.columns[1:]

    def title(self, dataset: str) -> str:
        """The row's name as printed."""
        return self.rows[dataset][self.columns[0]]

    def number(self, dataset: str, column: str) -> float:
        """A printed cell as a number. Raises KeyError if the table has no such cell."""
        return float(self.rows[dataset][column])

    def notes(self, dataset: str, column: str) -> list[str]:
        """The errata of a cell."""
        return [e.note for e in self.errata if (e.row, e.column) == (dataset, column)]

    def reason(self, dataset: str, column: str, ratio: float) -> str:
        """The known reason for a ratio of measured to printed that is at least `FAR` or at most 1 / `FAR`, else ''."""
        side = "above" if ratio >= FAR else "below" if ratio <= 1 / FAR else ""
        return next((f"{each.kind}: {each.note}" for each in self.reasons if side and fnmatchcase(side, each.side)
                     and fnmatchcase(dataset, each.row) and fnmatchcase(column, each.column)), "")  # fmt: skip


def stem(name: str) -> str:
    """The name of a table's file without its ending; `errata.csv` uses the same name."""
    return f"thesis-{name}" if name[:1].isdigit() else name


@cache
def table(name: str) -> Published:
    """The printed table with this name. Raises InputError if there is none, or if its file is missing or damaged."""
    captions = CAPTIONS | DATALOG | SLIDES
    if name not in captions:
        raise InputError(f"no printed table {name!r}", remedy=f"there are {', '.join(captions)}")
    path = shipped("results/published") / f"{stem(name)}.csv"
    header, *lines = _read(path)
    rows = {}
    for number, line in enumerate(lines, start=2):
        if len(line) != len(header):
            raise InputError(f"{len(line)} cells, the header has {len(header)}", path=path, line=number)
        rows[line[0]] = dict(zip(header[1:], line[1:], strict=True))
    errata = tuple(note for note in _errata() if note.table == stem(name))
    reasons = tuple(note for note in known_reasons() if fnmatchcase(stem(name), note.table))
    return Published(name, captions[name], tuple(header[1:]), rows, errata, reasons)


@cache
def claims_file(paper: str) -> dict:
    """What `claims-PAPER.toml` has: the claims of a paper's text."""
    with open(shipped("results/published") / f"claims-{paper}.toml", "rb") as stream:
        return tomllib.load(stream)


@cache
def known_reasons() -> tuple[Note, ...]:
    """Every known reason for a ratio far from 1."""
    lines = _read(shipped("results/published") / "reasons.csv")[1:]
    return tuple(Note(*at, note, source, side, kind) for *at, side, kind, note, source in lines)


@cache
def _errata() -> tuple[Note, ...]:
    return tuple(Note(*line) for line in _read(shipped("results/published") / "errata.csv")[1:])


def _read(path) -> list[list[str]]:
    try:
        with open(path, newline="", encoding="utf-8") as file:
            return list(csv.reader(file))
    except OSError as error:
        raise InputError(f"cannot read the printed table: {error.strerror}", path=path) from error
