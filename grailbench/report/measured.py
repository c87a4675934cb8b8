"""The table of all cells of a run, with the medians of the trials, and the table of all statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grailbench.compare.measures import median
from grailbench.compare.stability import STABLE, UNKNOWN, UNSTABLE, Verdict, judged_phases
from grailbench.harness import axes
from grailbench.harness.cells import Cell
from grailbench.harness.energies import METERS, SUMMED
from grailbench.harness.statistics import Stats
from grailbench.problems import contract
from grailbench.problems.contract import USUAL
from grailbench.report.detail import detail
from grailbench.report.footnotes import Footnotes
from grailbench.report.table import WORDS, Table, numbers
from grailbench.util.words import BLANK, grouped, ms, short, size

if TYPE_CHECKING:
    import pandas

NAME = "cells"
TITLE = "What was measured: medians of the trials"


@dataclass(frozen=True)
class Column:
    """A column of the table of cells.

    value  takes a cell to its value, and `text` the value to its text
    key    True if the column is part of a cell's identity
    usual  values that need not be shown: a column that has only these is left out
    """

    header: str
    value: Callable[[Cell], object]
    text: Callable[[object], str] = str
    key: bool = False
    usual: tuple = ()


def rate(cell: Cell) -> float | None:
    """The median rate of a sound cell, in its problem's unit, or None."""
    return Stats.of(list(cell.rates.values())).median if cell.sound and cell.rates else None


def joules(cells: Iterable[Cell], phase: str, foot: Footnotes, meter: str | None = None) -> str:
    """The joules of a phase of the first of some cells of which energy was asked, by a meter or by all, with a footnote
    that says why there are none or a meter is missing."""
    for cell in cells:
        if cell.energies:
            found = cell.joules(phase, meter)
            why = cell.energies.why(phase) if cell.sound else cell.reason
            if found is None:
                return BLANK + foot.mark([why] if why else [])
            return short(found) + foot.mark([why] if why and meter is None else [])
    return BLANK


def weighed(cells: Iterable[Cell], problem: str) -> list[str]:
    """The phases of a problem whose joules are shown: those of which a cell has some or, if none has any though they
    were asked for, the last one."""
    asked = [cell for cell in cells if cell.energies]
    phases = (*contract.problem(problem).phases, "ready")
    found = [phase for phase in phases if any(cell.joules(phase) is not None for cell in asked)]
    return found or [*phases[-2:-1]] if asked else []


def energy_notes(cells: Iterable[Cell], phases: Iterable[str]) -> list[str]:
    """What joules in a table of these cells and phases are of."""
    phases = [*phases]
    read = {meter for cell in cells if cell.sound and cell.energies for phase in phases
            for meter in cell.energies.meters(phase)}  # fmt: skip
    if not read:
        return []
    what = " and ".join(METERS[meter] for meter in SUMMED if meter in read)
    return [
        f"J: joules of one call of the phase, idle power and other programs included, of {what}, where a cell has it."
    ]


#: columns of rows that hold sizes in bytes, and their headers in tables of other problems
SIZES = {"index_bytes": "held", "host_peak_bytes": "host peak", "device_peak_bytes": "device peak"}


def sizes(cell: Cell) -> dict[str, int]:
    """The sizes of a cell in bytes, by the names of `SIZES`, without those that were not measured."""
    return {name: value for name in SIZES if (value := getattr(cell, name)) is not None}


def with_sizes(
    headers: list[str], lines: list[list[str]], found: Iterable[dict[str, int]]
) -> tuple[list[str], list[list[str]], list[str]]:
    """Add columns of sizes before the last column of a table, for the sizes that any cell has.

    `found` has the `sizes` of each line's cell. Returns the headers, the lines and notes on the sizes.
    """
    found = list(found)
    shown = [name for name in SIZES if any(name in each for each in found)]
    headers = [*headers[:-1], *(SIZES[name] for name in shown), headers[-1]]
    lines = [
        [*line[:-1], *(size(each[name]) if name in each else "" for name in shown), line[-1]]
        for line, each in zip(lines, found, strict=True)
    ]
    return headers, lines, [_SIZE_NOTES[name] for name in shown]


_SIZE_NOTES = {
    "index_bytes": "held: bytes that it holds beyond its input.",
    "host_peak_bytes": "host peak: resident memory at most, of cells in a process of their own.",
    "device_peak_bytes": "device peak: our arrays on the device at most.",
}


def columns(cells: list[Cell], problem: str = USUAL) -> list[Column]:
    """The columns of the table of these cells of a problem."""
    solved = contract.problem(problem)
    every = (
        Column("graph", lambda c: c.dataset, key=True),
        Column("implementation", lambda c: c.impl, key=True),
        *(Column(a.header, lambda c, axis=a: c.shown(axis), key=True, usual=_usual(a, problem)) for a in axes.shown()),
        Column("seed", lambda c: c.seed, key=True, usual=(None, 1)),
        Column("queries", lambda c: c.query_set, key=True, usual=() if problem == USUAL else ("all",)),
        Column("trials", lambda c: c.trials),
        *(Column(f"{phase} ms", lambda c, phase=phase: median(c, phase), ms, usual=(None,))
          for phase in (*solved.phases, "ready")),
        Column(solved.rate, rate, short, usual=(None,)),
        *(Column(f"{phase} J", lambda c, phase=phase: c.joules(phase), short) for phase in weighed(cells, problem)),
        Column("index size", lambda c: c.index_bytes, size, usual=(None,)),
        Column("host peak", lambda c: c.host_peak_bytes, size, usual=(None,)),
        Column("device peak", lambda c: c.device_peak_bytes, size, usual=(None,)),
        Column("positives" if problem == USUAL else solved.answer, lambda c: c.positives, grouped, usual=(None,)),
        Column("checked by", lambda c: c.verified, usual=(None,)),
        Column("status", lambda c: c.status),
    )  # fmt: skip
    return [each for each in every if not each.usual or any(each.value(cell) not in each.usual for cell in cells)]


def _usual(axis: axes.Axis, problem: str) -> tuple:
    """Values of an axis that need no column; for problems other than reachability, also those of no choice."""
    return axis.hidden if problem == USUAL else (*axis.hidden, None, "")


def ordered(cells: list[Cell]) -> list[Cell]:
    """The cells by graph, in the order of the run, then peers last, then by configuration and query set."""
    graphs = list(dict.fromkeys(cell.dataset for cell in cells))
    return sorted(
        cells,
        key=lambda c: (
            graphs.index(c.dataset), c.impl.startswith(("peer:", "program:")), c.impl,
            *(axis.rank(c.axes[axis.name]) for axis in axes.shown()), c.seed or 0, c.query_set,
        ),
    )  # fmt: skip


def table(cells: list[Cell], problem: str = USUAL, verdicts: Mapping[tuple, Verdict] | None = None) -> Table:
    """One line per cell of a problem; notes say why cells have no times.

    There is one record per cell, with times in ms, sizes in bytes and the verdict on its stability (`verdicts`, by
    key). For problems other than reachability the CSV has
    one line per cell and phase.
    """
    shown, foot = columns(cells, problem), Footnotes()
    phases = weighed(cells, problem)
    lines, values = [], []
    for cell in ordered(cells):
        found = [each.value(cell) for each in shown]
        line = ["" if value is None else each.text(value) for each, value in zip(shown, found, strict=True)]
        for at, header in enumerate(each.header for each in shown):
            if cell.energies and cell.sound and header in (f"{phase} J" for phase in phases):
                line[at] = joules([cell], header.removesuffix(" J"), foot)
        line[-1] = foot.status(line[-1], cell.reason)
        lines.append(line)
        values.append(found)
    headers = [each.header for each in shown]
    notes = [f"{like} ran in the place of {graph}." for like, graph in _in_place(cells)]
    if any(cell.search for cell in cells) and "search" not in headers:
        notes.append("Searches go depth first.")
    notes += [_SIZE_NOTES[name] for name, header in SIZES.items() if header in headers]
    notes += energy_notes(cells, phases)
    usual, phases = problem == USUAL, (*contract.problem(problem).phases, "ready")
    return Table(
        NAME if usual else problem, TITLE if usual else f"{problem}: medians of the trials", headers, lines,
        frozenset(headers).difference(WORDS), keys=sum(each.key for each in shown), notes=[*notes, *foot.lines()],
        values=values, file="" if usual else problem,
        records=[_record(cell, phases, (verdicts or {}).get(cell.key)) for cell in ordered(cells)],
        data=None if usual else detail(ordered(cells), verdicts),
    )  # fmt: skip


def _in_place(cells: list[Cell]) -> list[tuple[str, str]]:
    """Pairs of a look-alike and the graph that it replaces, each once."""
    return list(dict.fromkeys((cell.dataset, cell.stands_for) for cell in cells if cell.stands_for))


def plain(frame: pandas.DataFrame) -> list[dict]:
    """The rows of a frame as dictionaries, with None for missing values."""
    found = frame.to_dict("records")
    return [{key: None if value != value else value for key, value in line.items()} for line in found]


def _record(cell: Cell, phases: Iterable[str], said: Verdict | None) -> dict:
    return {
        "dataset": cell.dataset, "impl": cell.impl, **{axis.name: cell.shown(axis) or None for axis in axes.shown()},
        "seed": cell.seed, "queries": cell.query_set, "trials": cell.trials,
        **{f"{phase}_ms": median(cell, phase) for phase in phases}, "index_bytes": cell.index_bytes,
        "host_peak_bytes": cell.host_peak_bytes, "device_peak_bytes": cell.device_peak_bytes,
        **({} if rate(cell) is None else {"rate": rate(cell)}),
        **_weighed(cell, phases),
        "positives": cell.positives, "verified": cell.verified, "status": cell.status,
        "reason": cell.reason or None,
        **({} if said is None else {"stability": said.word, "unstable": list(said.reasons)}),
    }  # fmt: skip


def _weighed(cell: Cell, phases: Iterable[str]) -> dict:
    """Joules and meters of each phase, and why something of it is missing; nothing of a cell that was not asked."""
    found = {}
    for phase in phases if cell.energies and cell.sound else ():
        energies = cell.energies
        if (joules := cell.joules(phase)) is not None:
            found[f"{phase}_joules"], found[f"{phase}_idle_watts"] = joules, energies.idle_watts(phase)
            found[f"{phase}_meters"] = "+".join(energies.meters(phase))
        if phase in energies.named and (why := energies.why(phase)):
            found[f"{phase}_energy_reason"] = why
    if cell.energies and cell.energies.reason:
        found["energy_reason"] = cell.energies.reason
    return found


#: the axes that the table of all statistics has
_SUMMARY = [axis for axis in axes.shown() if axis.summary]


_TIMES = ("mean", "95 % of mean", "median", "95 % of median", "min", "IQR")


def details(found: list[Cell], verdicts: Mapping[tuple, Verdict] | None = None) -> Table:
    """One line per cell and phase, with the statistics of its trials and the verdict on its stability (`verdicts`, by
    key); notes say why cells have no times.

    Its CSV, `grailbench.report.detail`, has the cells of reachability only: each other problem has its own file.
    """
    own = [cell for cell in found if cell.problem == USUAL]
    named = len(own) < len(found)
    foot = Footnotes()
    keys = ["Data set", *(["problem"] if named else []), "implementation", *(axis.header for axis in _SUMMARY),
            "query set", "phase"]  # fmt: skip
    headers = [*keys, "n", *_TIMES, "outliers", "drift", *(["stability"] if verdicts else []), "positives", "status"]
    lines = []
    for cell in found:
        start = [cell.dataset, *([cell.problem] if named else []), cell.impl, *_choices(cell), cell.query_set]
        for (under, phase), s in list(cell.phases.items()) or [(("", ""), None)]:
            times = ["0", *[""] * 8] if s is None else [
                str(s.trials), ms(s.mean), f"{ms(s.low)}..{ms(s.high)}",
                ms(s.median), f"{ms(s.median_low)}..{ms(s.median_high)}",
                ms(s.least), ms(s.iqr), str(s.outliers or ""),
                "" if s.drift is None else f"{s.drift:+.0%}",
            ]  # fmt: skip
            if verdicts:
                times.append(_stability(cell, "" if under else phase, verdicts.get(cell.key)))
            end = ["" if cell.positives is None else str(cell.positives), foot.status(cell.status, cell.reason)]
            lines.append([*start, f"{under}/{phase}" if under else phase, *times, *end])
    return Table(
        "details", "All cells (ms)", headers, lines, numbers(headers), keys=len(keys), notes=foot.lines(), file="cells",
        data=detail(own, verdicts) if own else None, units=dict.fromkeys(_TIMES, "ms"),
    )  # fmt: skip


def _stability(cell: Cell, phase: str, said: Verdict | None) -> str:
    """'stable', 'UNSTABLE: drift' or 'unknown' for a phase that is judged, '' for others."""
    if said is None or phase not in judged_phases(cell):
        return ""
    if rules := said.of(phase):
        return f"{UNSTABLE.upper()}: {', '.join(rules)}"
    return UNKNOWN if said.unknown else STABLE


def _choices(cell: Cell) -> list[str]:
    """The cell's value on each axis of `_SUMMARY`. The column of threads shows the GPUs of a cell that has several."""
    texts = {axis.name: str(cell.shown(axis) or "") for axis in _SUMMARY}
    if (cell.devices or 1) > 1:
        texts["threads"] = f"{cell.devices} GPUs"
    return list(texts.values())
