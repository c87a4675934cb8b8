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
`table=`; look-alikes have none. `best-one-core`, `best-all-cores` and `best-cpu` in place of an implementation are the
fastest of the run there, by the same time on the same graph, which a note names; to build or be ready takes an index.

A file of records, one JSON object a line, has values too: tables and stacked bars of its fields. A field whose name
ends in `_bytes` is shown as a size, one that ends in `_share` as a percentage, other numbers with three digits or, if
they are integers, whole. Those with three digits are marked where the record's `unstable` is true.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import pandas

from grailbench.compare.measures import MANY, ONE, by_pair, keeps_index, place
from grailbench.compare.stability import mark, mark_of_record
from grailbench.errors import InputError
from grailbench.harness.axes import AXES
from grailbench.harness.cells import Cell
from grailbench.harness.limits.ceilings import Ceilings
from grailbench.harness.statistics import Stats, geometric_mean
from grailbench.problems.contract import USUAL
from grailbench.report import published
from grailbench.report.figure import Axis, Bar, Bars, Mark, Marks, Panel, Part
from grailbench.report.floors import floor_ms
from grailbench.report.table import Table, marked
from grailbench.util import words
from grailbench.util.files import read_text
from grailbench.util.words import worst

#: the fields of a cell that a selector can take, and their units
FIELDS = {
    "vertices": "count", "edges": "count", "queries": "count", "positives": "count",
    "index_bytes": "bytes", "host_peak_bytes": "bytes", "device_peak_bytes": "bytes", "rate": "/s",
}  # fmt: skip
#: keys of a selector and of a block's `where`: the axes of a configuration, and the set of queries
KEYS = {"queries": None, **{axis.name: axis for axis in AXES}}
PRINTED = "printed"
CPU = "CPU: "  #: how a note begins that names the fastest
BEST = {"best-one-core": (ONE,), "best-all-cores": (MANY,), "best-cpu": (ONE, MANY)}  #: in place of an implementation
FLOORS = {"floor": "", "floor/counted": "counted", "floor/solve": "solve"}  #: as `report.floors.floor_ms` names them
ENERGY = {"joules": "J", "above_idle": "J", "watts": "W", "idle_watts": "W"}  #: of a phase, and their units
#: units of quotients of unlike units
_QUOTIENTS = {("count", "ms"): "/s", ("bytes", "count"): "", ("ms", "count"): "ms", ("J", "count"): "J"}


class Source(NamedTuple):
    """What expressions take their values from.

    where      the values of `KEYS` that are required of all cells; of several values of a key, the first that gives a
               value is used; of several query sets the one that gives the best on a CPU the least time to an index
    statistic  of the trials: 'median', 'mean' or 'least'
    ceilings   what a floor needs
    """

    cells: Sequence[Cell]
    where: Mapping[str, str | Sequence[str]] = {}
    statistic: str = "median"
    ceilings: Ceilings | None = None


AXES = ("impl", "dim", "threads")  #: what the name of a column may say of its cells, and is checked


@dataclass(frozen=True)
class Value:
    """A number with its unit: 'ms', 'count', 'bytes', 'J', 'W', '/s', 'x' for a ratio of equal units, or '' for others.

    notes    remarks on the number
    times    statistics of the times that it is the sum of
    under    statistics of the times that it was divided by
    axes     (axis, value) of the cells that it is made of, for `AXES` where they have one
    mark     that of the cells whose times it is made of, '' for none (`stability.mark`)
    """

    number: float
    unit: str
    notes: tuple[str, ...] = ()
    times: tuple[Stats, ...] = ()
    under: tuple[Stats, ...] = ()
    axes: frozenset[tuple[str, str | int]] = frozenset()
    mark: str = ""

    @property
    def interval(self) -> tuple[float, float] | tuple[None, None]:
        """Bounds of a time or of a ratio of times, from the 95 % bounds of the medians; Nones for other values."""
        if not self.times or (self.unit == "x" and not self.under):
            return None, None
        low, high = sum(time.median_low for time in self.times), sum(time.median_high for time in self.times)
        if not self.under:
            return low, high
        return low / sum(time.median_high for time in self.under), high / sum(time.median_low for time in self.under)

    def over(self, other: Value) -> Value:
        """This value / the other. Raises InputError if the quotient has no unit, or the other is 0."""
        unit = "x" if self.unit == other.unit else _QUOTIENTS.get((self.unit, other.unit))
        if unit is None:
            raise InputError(f"{self.unit} over {other.unit} is no unit")
        if not other.number:
            raise InputError("it divides by 0")
        number = self.number / other.number * (1000 if unit == "/s" else 1)
        both = unit == "x" and self.unit == "ms"
        notes = tuple(dict.fromkeys(self.notes + other.notes))
        times = (self.times, other.times) if both else ((), ())
        return Value(number, unit, notes, *times, self.axes | other.axes, worst((self.mark, other.mark)))

    def __str__(self) -> str:
        return self._text() + self.mark

    def _text(self) -> str:
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


class Selector(NamedTuple):
    """One value per graph: `what` of the implementation's cell that has the values of `keys`. Of 'core|supports' it is
    the one of which a graph has a cell."""

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
        if unknown := [key for key in keys if key not in KEYS and names[0] != PRINTED]:
            raise _no_key(unknown[0])
        return cls(text, names[0] or None, names[1], keys)

    @property
    def impls(self) -> list[str]:
        """The implementations that it names."""
        return (self.impl or "").split("|")

    def of_phases(self, *phases: str) -> bool:
        """True if it takes nothing but times of some phases and of parts of them."""
        return all(name.partition("/")[0] in phases for name in self.what.split("+"))

    def of(self, source: Source, dataset: str) -> Value | None:
        """The value on a graph, None if it was not measured. Raises InputError if several cells have one."""
        if self.what in FLOORS and source.ceilings is None:
            raise InputError(f"{self.text!r}: no ceilings of a GPU", remedy='name their folder: limits = "limits"')
        if self.impl == PRINTED:
            return self._printed(dataset)
        for key, wanted in source.where.items():
            if not isinstance(wanted, str):
                tried = (self.of(source._replace(where={**source.where, key: each}), dataset) for each in wanted)
                measured = (value for value in tried if value is not None)
                to_index = key == "queries" and self.impl in BEST and self.of_phases("label", "ready")
                if to_index and all(cell.problem == USUAL for cell in source.cells):  # whatever it was asked then
                    return min(measured, key=lambda value: value.number, default=None)
                return next(measured, None)
        found = [cell for cell in source.cells if cell.dataset == dataset and self._fits(cell, source.where)]
        values = [replace(value, axes=frozenset((axis, at) for axis in AXES if (at := getattr(cell, axis))))
                  for cell in found
                  if (value := self._value(cell, source)) is not None]  # fmt: skip
        if self.impl in BEST:
            return min(values, key=lambda value: value.number, default=None)
        if len(values) > 1 and self.impl is not None:
            differing = [key for key in KEYS if len({_choice(cell, key) for cell in found}) > 1]
            remedy = f"they differ in {', '.join(differing)}: name it, as in {differing[0]}=..." if differing else None
            raise InputError(f"{len(values)} cells on {dataset} have {self.text!r}", remedy=remedy)
        return values[0] if values else None

    def _fits(self, cell: Cell, where: Mapping[str, str]) -> bool:
        """True for a sound cell with the values. Those of the block do not apply where there is no such choice; a
        query set may be named without its seed."""
        if not cell.sound or (self.impl and cell.impl not in self.impls and place(cell) not in BEST.get(self.impl, ())):
            return False
        if self.impl in BEST and self.what in ("label", "ready") and by_pair(cell) and not keeps_index(cell):
            return False
        for key, wanted in {**where, **self.keys}.items():
            value = _choice(cell, key)
            if key not in self.keys and value in (None, "", 0):
                continue
            if str(value) != wanted and not (key == "queries" and str(value).startswith(f"{wanted}-s")):
                return False
        return True

    def _value(self, cell: Cell, source: Source) -> Value | None:
        if self.what in FLOORS:
            number, unit = floor_ms(cell, source.ceilings, FLOORS[self.what]), "ms"
            return None if number is None else Value(number, unit)
        notes = ("sampled: not every answer was checked",) if cell.status == "sampled" else ()
        notes += (CPU + cell.label,) if self.impl in BEST else ()
        phases = [(under, phase) for under, _, phase in (name.rpartition("/") for name in self.what.split("+"))]
        if all(phase in cell.phases for phase in phases):
            times = tuple(cell.phases[phase] for phase in phases)
            its = mark(cell, phases=tuple(under or phase for under, phase in phases))
            return Value(sum(getattr(time, source.statistic) for time in times), "ms", notes, times, mark=its)
        name, _, phase = self.what.partition("/")
        if name in ENERGY and phase:
            phase, _, meter = phase.partition("/")
            number = cell.energies and getattr(cell.energies, name)(phase, meter or None)
            why = cell.energies.why(phase) if cell.energies and not meter else ""
            return None if number is None else Value(number, ENERGY[name], (why,) if why else ())
        number = getattr(cell, self.what) if self.what in FIELDS else (cell.counters or {}).get(self.what)
        its = mark(cell, phases=(cell.last_phase,)) if self.what == "rate" else ""
        return None if number is None else Value(number, FIELDS.get(self.what, "count"), mark=its)

    def _printed(self, dataset: str) -> Value | None:
        for name in published.CAPTIONS:
            table = published.table(name)
            if name.startswith(self.keys.get("table", "")) and self.what in table.rows.get(dataset, {}):
                unit = "ms" if "ms" in table.caption and "Queries" not in self.what else "count"
                notes = tuple(f"print: {note}" for note in table.notes(dataset, self.what))
                return Value(table.number(dataset, self.what), unit, notes)
        return None


def _choice(cell: Cell, key: str) -> object:
    if key not in KEYS:
        raise _no_key(key)
    return cell.query_set if KEYS[key] is None else cell.shown(KEYS[key])


def _no_key(key: str) -> InputError:
    return InputError(f"no key {key!r}", remedy=f"there are {', '.join(KEYS)}")


NO_CELL = "no cell has it"  #: why no graph has a value of an expression whose implementations were run


class Expression(NamedTuple):
    """A selector, or the quotient of two, which has no value where one of them is an erratum of print."""

    parts: tuple[Selector, ...]

    @classmethod
    def parse(cls, text: str, named: Mapping[str, str]) -> Expression:
        """An expression from its text, in which `named` gives the selectors of names. Raises InputError if it is
        invalid."""
        parts = tuple(Selector.parse(named.get(part, part)) for part in text.split(" / "))
        if len(parts) > 2:
            raise InputError(f"{text!r} divides more than once")
        return cls(parts)

    def of(self, source: Source, dataset: str) -> Value | None:
        """The value on a graph, None if a part of it was not measured."""
        values = [part.of(source, dataset) for part in self.parts]
        if None in values or len(values) == 1:
            return values[0] if len(values) == 1 else None
        errata = (part.impl == PRINTED and value.notes for part, value in zip(self.parts, values, strict=True))
        return None if any(errata) else values[0].over(values[1])

    def of_phase(self, phase: str) -> bool:
        """True if it takes nothing but times of a phase and of parts of it."""
        return all(part.of_phases(phase) for part in self.parts)

    def unmet(self, cells: Iterable[Cell]) -> str:
        """Why no graph has a value, with a near name for an unknown implementation."""
        impls = {cell.impl for cell in cells}
        for part in self.parts:
            if {"", PRINTED, *BEST, *impls}.isdisjoint(part.impls):
                near = words.did_you_mean(part.impl, impls, "", 1, repr)
                return f"no cell of {part.impl!r}" + (f", {near}" if near else "")
        return NO_CELL


def together(values: Iterable[Value | None]) -> Value | None:
    """The geometric mean of the values that are not None; None without any. Raises InputError if one is 0."""
    found = [value for value in values if value is not None]
    if len(found) < 2:
        return found[0] if found else None
    if not all(value.number for value in found):
        raise InputError("there is no geometric mean of 0")
    notes = tuple(dict.fromkeys(note for value in found for note in value.notes))
    number = geometric_mean(value.number for value in found).value
    return replace(found[0], number=number, notes=notes, times=(), mark=worst(value.mark for value in found))


# ------------------------------------------------------------------ lines of values, as of a file of records


class Lines(NamedTuple):
    """Lines of values with their headers, and the texts of the values."""

    headers: Sequence[str]
    values: list[list]
    texts: list[list[str]]

    def table(self, title: str = "") -> Table:
        """A table with a line per line; columns of numbers alone are right-aligned."""
        numeric = (all(isinstance(line[at], int | float | None) for line in self.values)
                   for at in range(len(self.headers)))  # fmt: skip
        right = frozenset(header for header, each in zip(self.headers, numeric, strict=True) if each)
        return Table("records", title, [*self.headers], self.texts, right, notes=marked(self.texts))

    def bars(self) -> tuple[pandas.DataFrame, Bars]:
        """The data and the bars of a figure with a stacked bar per line: the first value is its name, the last stands
        at its end, and each between, unless it is None or 0, is a part, whose length is its share of them all."""
        drawn, names = [], self.headers[1:-1]
        for line, texts in zip(self.values, self.texts, strict=True):
            whole = sum(value or 0 for value in line[1:-1])
            parts = (
                Part(name, value / whole, f"{texts[0]}, {name}: {text}")
                for name, value, text in zip(names, line[1:-1], texts[1:-1], strict=True) if value
            )  # fmt: skip
            drawn.append(Bar(texts[0], tuple(parts), texts[-1]))
        form = Bars((Panel("", tuple(drawn)),) if drawn else (), tuple(names), whole=True, across=1)
        return pandas.DataFrame(self.values, columns=[*self.headers]), form

    def marks(self, axis: str) -> tuple[pandas.DataFrame, Marks]:
        """The data and the marks of a figure with a mark per line, of three values: its name, its series, a number."""
        found = tuple(
            Mark(series, number, name, f"{name}, {series}: {texts[2]}")
            for (name, series, number), texts in zip(self.values, self.texts, strict=True)
        )
        names = tuple(dict.fromkeys(mark.series for mark in found))
        form = Marks((Panel("", found),) if found else (), names, Axis(axis), Axis(scale="names"), across=1)
        return pandas.DataFrame(self.values, columns=[*self.headers]), form


def read_records(path: Path, columns: Mapping[str, str], where: Mapping) -> Lines:
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
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"a line is no JSON object: {error}", path=path) from None
    if not all(value is None or isinstance(value, str) or (isinstance(value, int | float) and math.isfinite(value))
               for line in lines for value in line):  # fmt: skip
        raise InputError("a field is neither text nor a number nor null", path=path)
    texts = [[_text(*each, mark_of_record(record)) for each in zip(columns.values(), line, strict=True)]
             for record, line in zip(chosen, lines, strict=True)]  # fmt: skip
    return Lines([*columns], lines, texts)


def _text(field: str, value: str | float | None, its: str) -> str:
    if isinstance(value, str):
        return value
    if value is None or not field.endswith(("_bytes", "_share")):
        return words.grouped(value) if isinstance(value, int) else words.short(value) + its * (value is not None)
    return words.size(value) if field.endswith("_bytes") else words.share(value, 1)
