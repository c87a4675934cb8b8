"""Values of a run from expressions: 'sequential label', 'printed Total table=6', 'sequential ready / gpu-fused ready'.

An expression is one selector, or two selectors with ' / ' between them. The name of another column may stand for the
selector of that column. A selector consists of words, split as a shell does: an implementation, what to take, and any
number of `key=value` pairs that choose the cell. What to take is a phase ('query', 'label/on_device'), a sum of phases
('label+transfer'), a field of the cell (`FIELDS`), or one of its counters. A field of the graph, such as `vertices`,
needs no implementation. `joules/query` are those of one pass of a phase by all meters that could be read,
`joules/query/gpu` those by one ('gpu', 'cpu', 'dram', 'psys'); `above_idle/...` is without what idle devices take in
that time, and `watts/...` and `idle_watts/...` are powers (`runs.energies`). `floor` is the least time of `ready` on a
GPU, `floor/counted` and `floor/solve` those of closures and counts (`report.floors.floor_ms`), by the ceilings of the
block's `limits`. `printed COLUMN` is the printed number for the graph, from a table whose name begins with the value of
`table=`; look-alikes have none.

A file of records, one JSON object a line, has values too: tables and stacked bars of its fields. A field whose name
ends in `_bytes` is shown as a size, one that ends in `_share` as a percentage, other numbers with three digits or, if
they are integers, whole.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas

from grailbench.errors import InputError
from grailbench.harness.axes import AXES
from grailbench.harness.cells import Cell
from grailbench.harness.limits.ceilings import Ceilings
from grailbench.harness.statistics import Stats, geometric_mean
from grailbench.report import published
from grailbench.report.figure import Bar, Bars, Panel, Part
from grailbench.report.floors import floor_ms
from grailbench.report.table import Table
from grailbench.util import words
from grailbench.util.files import read_text
from grailbench.util.words import did_you_mean

#: the fields of a cell that a selector can take, and their units
FIELDS = {
    "vertices": "count", "edges": "count", "queries": "count", "positives": "count",
    "index_bytes": "bytes", "host_peak_bytes": "bytes", "device_peak_bytes": "bytes", "rate": "/s",
}  # fmt: skip
#: keys of a selector and of a block's `where`: the axes of a configuration, and the set of queries
KEYS = {"queries": None, **{axis.name: axis for axis in AXES}}
#: the keys that a block requires of all cells; of several values of a key, the first that gives a value is used
Where = Mapping[str, str | Sequence[str]]
PRINTED, FLOOR = "printed", "floor"
ENERGY = {"joules": "J", "above_idle": "J", "watts": "W", "idle_watts": "W"}  #: of a phase, and their units


@dataclass(frozen=True)
class Value:
    """A number with its unit: 'ms', 'count', 'bytes', 'J', 'W', '/s', 'x' for a ratio of equal units, or '' for others.

    notes  remarks on the number
    times  statistics of the times that it is the sum of
    under  statistics of the times that it was divided by
    """

    number: float
    unit: str
    notes: tuple[str, ...] = ()
    times: tuple[Stats, ...] = ()
    under: tuple[Stats, ...] = ()

    @property
    def interval(self) -> tuple[float, float] | None:
        """Bounds of a time or of a ratio of times, from the 95 % bounds of the medians; None for other values."""
        if not self.times or (self.unit == "x" and not self.under):
            return None
        low, high = sum(time.median_low for time in self.times), sum(time.median_high for time in self.times)
        if not self.under:
            return low, high
        return low / sum(time.median_high for time in self.under), high / sum(time.median_low for time in self.under)

    def over(self, other: Value) -> Value:
        """This value / the other. Raises ValueError if the quotient has no unit."""
        if self.unit == other.unit:
            unit, number = "x", self.number / other.number
        elif (self.unit, other.unit) == ("count", "ms"):
            unit, number = "/s", 1000 * self.number / other.number
        elif (self.unit, other.unit) in (("bytes", "count"), ("ms", "count"), ("J", "count")):
            unit, number = self.unit.removeprefix("bytes"), self.number / other.number
        else:
            raise ValueError(f"{self.unit} over {other.unit} is no unit")
        both = unit == "x" and self.unit == "ms"
        notes = tuple(dict.fromkeys(self.notes + other.notes))
        return Value(number, unit, notes, self.times if both else (), other.times if both else ())

    def __str__(self) -> str:
        if self.unit == "x":
            return words.times(self.number)
        if self.unit == "count":
            return f"{self.number:,.0f}"
        if self.unit == "bytes":
            return words.decimal_size(self.number)
        if self.unit == "/s":
            scale, letter = (1e9, "G") if self.number >= 1e9 else (1e6, "M")
            return f"{self.number / scale:.1f} {letter}/s"
        return words.short(self.number) if self.unit else words.brief(self.number)


@dataclass(frozen=True)
class Selector:
    """One value per graph: `what` of the implementation's cell that has the values of `keys`."""

    text: str
    impl: str | None
    what: str
    keys: Mapping[str, str]

    @classmethod
    def parse(cls, text: str) -> Selector:
        """A selector from its text. Raises InputError if the text is not a selector."""
        parts = shlex.split(text)
        keys = dict(part.split("=", 1) for part in parts if "=" in part)
        names = [part for part in parts if "=" not in part]
        if len(names) == 1 and names[0] in FIELDS:
            names = ["", *names]
        if len(names) != 2:
            raise InputError(f"{text!r} is no value", remedy="such as 'sequential label dim=2', or 'vertices'")
        return cls(text, names[0] or None, names[1], keys)

    def of(
        self, cells: Iterable[Cell], dataset: str, where: Where, statistic: str, ceilings: Ceilings | None = None
    ) -> Value | None:
        """The value on a graph, None if it was not measured. Raises InputError if several cells have one."""
        if self._floor is not None and ceilings is None:
            raise InputError(f"{self.text!r}: no ceilings of a GPU", remedy='name their folder: limits = "limits"')
        if self.impl == PRINTED:
            return self._printed(dataset)
        for key, wanted in where.items():
            if not isinstance(wanted, str):
                tried = (self.of(cells, dataset, {**where, key: each}, statistic, ceilings) for each in wanted)
                return next((value for value in tried if value is not None), None)
        found = [cell for cell in cells if cell.dataset == dataset and self._fits(cell, where)]
        values = [value for cell in found if (value := self._value(cell, statistic, ceilings)) is not None]
        if self.impl is None:
            return values[0] if values else None
        if len(values) > 1:
            differing = [key for key in KEYS if len({_choice(cell, key) for cell in found}) > 1]
            remedy = f"they differ in {', '.join(differing)}: name it, as in {differing[0]}=..." if differing else None
            raise InputError(f"{len(values)} cells on {dataset} have {self.text!r}", remedy=remedy)
        return values[0] if values else None

    @property
    def _floor(self) -> str | None:
        """Which floor it takes, as `report.floors.floor_ms` names it; None if it takes none."""
        name, _, which = self.what.partition("/")
        return which if name == FLOOR and which in ("", "counted", "solve") else None

    def _fits(self, cell: Cell, where: Mapping[str, str]) -> bool:
        if not cell.sound or self.impl not in (None, cell.impl):
            return False
        return all(_has(cell, key, wanted, key in self.keys) for key, wanted in {**where, **self.keys}.items())

    def _value(self, cell: Cell, statistic: str, ceilings: Ceilings | None) -> Value | None:
        if self._floor is not None:
            least = floor_ms(cell, ceilings, self._floor)
            return None if least is None else Value(least, "ms")
        notes = ("sampled: not every answer was checked",) if cell.status == "sampled" else ()
        phases = [(under, phase) for under, _, phase in (name.rpartition("/") for name in self.what.split("+"))]
        if all(phase in cell.phases for phase in phases):
            times = tuple(cell.phases[phase] for phase in phases)
            return Value(sum(getattr(time, statistic) for time in times), "ms", notes, times)
        name, *rest = self.what.split("/")
        if name in ENERGY and len(rest) in (1, 2):
            return _energy(cell, name, *rest)
        if self.what in FIELDS:
            number = getattr(cell, self.what)
            return None if number is None else Value(number, FIELDS[self.what])
        number = (cell.counters or {}).get(self.what)
        return None if number is None else Value(number, "count")

    def _printed(self, dataset: str) -> Value | None:
        for name in published.names():
            table = published.table(name)
            if name.startswith(self.keys.get("table", "")) and self.what in table.rows.get(dataset, {}):
                unit = "ms" if "ms" in table.caption and "Queries" not in self.what else "count"
                notes = tuple(f"print: {note}" for note in table.notes(dataset, self.what))
                return Value(table.number(dataset, self.what), unit, notes)
        return None


def _energy(cell: Cell, name: str, phase: str, meter: str | None = None) -> Value | None:
    """What `ENERGY` names, of a phase by one meter or all; a note says which meter is missing."""
    if cell.energies is None or (number := getattr(cell.energies, name)(phase, meter)) is None:
        return None
    why = cell.energies.why(phase) if meter is None else ""
    return Value(number, ENERGY[name], (why,) if why else ())


def _has(cell: Cell, key: str, wanted: str, own: bool) -> bool:
    """True if a cell has the wanted value of a key. A query set may be named without its seed.

    Keys of the block (`own` False) do not apply to implementations without such a choice.
    """
    if key not in KEYS:
        raise InputError(f"no key {key!r}", remedy=f"there are {', '.join(KEYS)}")
    value = _choice(cell, key)
    if not own and value in (None, "", 0):
        return True
    return str(value) == wanted or (key == "queries" and str(value).startswith(f"{wanted}-s"))


def _choice(cell: Cell, key: str) -> object:
    return cell.query_set if KEYS[key] is None else cell.shown(KEYS[key])


@dataclass(frozen=True)
class Expression:
    """A selector, or the quotient of two."""

    text: str
    parts: tuple[Selector, ...]

    @classmethod
    def parse(cls, text: str, named: Mapping[str, str]) -> Expression:
        """An expression from its text, in which `named` gives the selectors of names. Raises InputError if it is
        invalid."""
        parts = tuple(Selector.parse(named.get(part, part)) for part in text.split(" / "))
        if len(parts) > 2:
            raise InputError(f"{text!r} divides more than once")
        return cls(text, parts)

    def of(
        self, cells: Iterable[Cell], dataset: str, where: Where, statistic: str, ceilings: Ceilings | None = None
    ) -> Value | None:
        """The value on a graph, None if a part of it was not measured. ceilings: what `floor` needs."""
        values = [part.of(cells, dataset, where, statistic, ceilings) for part in self.parts]
        if None in values:
            return None
        try:
            return values[0] if len(values) == 1 else values[0].over(values[1])
        except ValueError as error:
            raise InputError(f"{self.text!r}: {error}") from None

    def unmet(self, cells: Iterable[Cell]) -> str:
        """Why no graph has a value, with a near name for an unknown implementation."""
        cells = list(cells)
        impls = {cell.impl for cell in cells}
        for part in self.parts:
            if part.impl not in (None, PRINTED, *impls):
                near = did_you_mean(part.impl, impls, "", 1, repr)
                return f"no cell of {part.impl!r}" + (f", {near}" if near else "")
        return "no cell has it"


def together(values: Iterable[Value | None]) -> Value | None:
    """The geometric mean of the values that are not None; None without any."""
    found = [value for value in values if value is not None]
    if not found:
        return None
    notes = tuple(dict.fromkeys(note for value in found for note in value.notes))
    return replace(found[0], number=geometric_mean(value.number for value in found).value, notes=notes, times=())


# ------------------------------------------------------------------ files of records


@dataclass(frozen=True)
class Records:
    """Chosen fields of chosen records: the headers, the names of the fields, and a line of values per record."""

    headers: Sequence[str]
    fields: Sequence[str]
    values: list[list]

    @property
    def texts(self) -> list[list[str]]:
        """The values as they are shown."""
        return [[_field(*each) for each in zip(self.fields, line, strict=True)] for line in self.values]


def read_records(path: Path, columns: Mapping[str, str], where: Mapping) -> Records:
    """The fields that `columns` has by header, of the records whose fields have the values of `where`.

    Raises InputError if the file cannot be read or a record lacks a field.
    """
    try:
        found = [json.loads(line) for line in read_text(path).splitlines()]
        chosen = [each for each in found if all(each[field] == value for field, value in where.items())]
        lines = [[each[field] for field in columns.values()] for each in chosen]
    except OSError as error:
        raise InputError(f"cannot be read: {error}", path=path) from None
    except KeyError as error:
        raise InputError(f"a record without {error}", path=path) from None
    except ValueError as error:
        raise InputError(f"a line is no JSON: {error}", path=path) from None
    except TypeError:
        raise InputError("a line is no JSON object", path=path) from None
    except RecursionError:
        raise InputError("a record is nested too deep", path=path) from None
    for value in (value for line in lines for value in line):
        if isinstance(value, list | dict):  # not shown: some Pythons read what is too deep to be written
            raise InputError("a field is a list or an object: text, a number or null is expected", path=path)
        if value in (math.inf, -math.inf) or value != value:
            raise InputError(f"a field is {value}: text, a number or null is expected", path=path)
    return Records([*columns], [*columns.values()], lines)


def table_of(lines: Records, title: str = "") -> Table:
    """A table with a line per record."""
    numeric = {
        header
        for at, header in enumerate(lines.headers)
        if all(isinstance(line[at], int | float | None) for line in lines.values)
    }
    return Table("records", title, [*lines.headers], lines.texts, frozenset(numeric))


def bars(lines: Records) -> tuple[pandas.DataFrame, Bars]:
    """The data and the bars of a figure with a stacked bar per record: the first field is its name, the last stands at
    its end, and each field between is a part, whose length is its share of them all."""
    return stacked(lines.headers, lines.fields, lines.values, lines.texts)


def stacked(
    headers: Sequence[str], fields: Sequence[str], values: list[list], texts: list[list[str]]
) -> tuple[pandas.DataFrame, Bars]:
    """The same of lines of values, and of the words for them; a part of None or 0 is left out."""
    frame = pandas.DataFrame(values, columns=[*fields])
    drawn, names = [], headers[1:-1]
    for line, said in zip(values, texts, strict=True):
        whole = sum(value or 0 for value in line[1:-1])
        parts = [
            Part(name, value / whole, f"{said[0]}, {name}: {word}")
            for name, value, word in zip(names, line[1:-1], said[1:-1], strict=True)
            if value
        ]
        drawn.append(Bar(said[0], tuple(parts), said[-1]))
    return frame, Bars((Panel("", tuple(drawn)),) if drawn else (), tuple(names), whole=True, across=1)


def _field(field: str, value: str | float | None) -> str:
    if isinstance(value, str):
        return value
    if value is None or not field.endswith(("_bytes", "_share")):
        return words.grouped(value) if isinstance(value, int) else words.short(value)
    return words.size(value) if field.endswith("_bytes") else words.share(value, 1)
