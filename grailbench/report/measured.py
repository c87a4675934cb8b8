"""The table of all cells of a run, with the medians of the trials, and the table of all statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from grailbench.compare.measures import median
from grailbench.compare.stability import STABLE, UNKNOWN, UNSTABLE, Verdict, judged_phases
from grailbench.harness import axes
from grailbench.harness.cells import Cell
from grailbench.harness.energies import METERS, SUMMED
from grailbench.harness.statistics import Stats
from grailbench.problems import contract
from grailbench.problems.contract import USUAL
from grailbench.report.table import Column, Table, tabulate
from grailbench.util.words import BLANK, grouped, ms, short, size

if TYPE_CHECKING:
    import pandas

NAME = "cells"
TITLE = "What was measured: medians of the trials"


def rate(cell: Cell) -> float | None:
    """The median rate of a sound cell, in its problem's unit, or None."""
    return Stats.of(list(cell.rates.values())).median if cell.sound and cell.rates else None


def joules(
    header: str, phase: str, meter: str | None = None, of: Callable[[Any], Cell | None] | None = None, none: str = BLANK
) -> Column:
    """A column of the joules of a phase, by a meter or by all, with notes that say why there are none or a meter is
    missing.

    of    the cell of a thing of which energy was asked, `none` being shown where there is none; by default the thing
          itself, if it is sound
    """
    of = of or (lambda cell: cell if cell.energies and cell.sound else None)

    def said(thing: object) -> str:
        return none if (cell := of(thing)) is None else short(cell.joules(phase, meter)) or BLANK

    def notes(thing: object) -> list[str]:
        if (cell := of(thing)) is None:
            return []
        why = cell.energies.why(phase) if cell.sound else cell.reason
        return [why] if why and (meter is None or cell.joules(phase, meter) is None) else []

    return Column(header, lambda thing: (cell := of(thing)) and cell.joules(phase, meter), said=said, notes=notes)


def energy_phases(cells: Iterable[Cell], problem: str) -> list[str]:
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


#: columns of rows that hold sizes in bytes: their headers in tables of other problems, and what they are
SIZES = {
    "index_bytes": ("held", "held: bytes that it holds beyond its input."),
    "host_peak_bytes": ("host peak", "host peak: resident memory at most, of cells in a process of their own."),
    "device_peak_bytes": ("device peak", "device peak: our arrays on the device at most."),
}


def sizes(cell: Cell) -> dict[str, int]:
    """The sizes of a cell in bytes, by the names of `SIZES`, without those that were not measured."""
    return {name: value for name in SIZES if (value := getattr(cell, name)) is not None}


def size_columns() -> list[Column]:
    """A column for each size that a cell has."""
    return [
        Column(header, lambda cell, name=name: getattr(cell, name), size, usual=(None,))
        for name, (header, _) in SIZES.items()
    ]


def size_notes(cells: Iterable[Cell], held: bool = True) -> list[str]:
    """What the columns of sizes in a table of these cells are; `held`: whether one is of what an index holds."""
    cells, names = list(cells), list(SIZES)[not held :]
    return [SIZES[name][1] for name in names if any(getattr(cell, name) is not None for cell in cells)]


#: the column of a cell's status, with a note on the reason for it
STATUS = Column("status", lambda cell: cell.status, notes=lambda cell: [cell.reason] if cell.reason else [])


def columns(cells: list[Cell], problem: str = USUAL) -> list[Column]:
    """The columns of the table of these cells of a problem."""
    solved = contract.problem(problem)
    return [
        Column("graph", lambda c: c.dataset, key=True),
        Column("implementation", lambda c: c.impl, key=True),
        *(Column(a.header, lambda c, axis=a: c.shown(axis), key=True, usual=_usual(a, problem)) for a in axes.shown()),
        Column("seed", lambda c: c.seed, key=True, usual=(None, 1)),
        Column("queries", lambda c: c.query_set, key=True, usual=() if problem == USUAL else ("all",)),
        Column("trials", lambda c: c.trials),
        *(Column(f"{phase} ms", lambda c, phase=phase: median(c, phase), ms, usual=(None,))
          for phase in (*solved.phases, "ready")),
        Column(solved.rate, rate, short, usual=(None,)),
        *(joules(f"{phase} J", phase, none="") for phase in energy_phases(cells, problem)),
        Column("index size", lambda c: c.index_bytes, size, usual=(None,)),
        Column("host peak", lambda c: c.host_peak_bytes, size, usual=(None,)),
        Column("device peak", lambda c: c.device_peak_bytes, size, usual=(None,)),
        Column("positives" if problem == USUAL else solved.answer, lambda c: c.positives, grouped, usual=(None,)),
        Column("checked by", lambda c: c.verified, usual=(None,)),
        STATUS,
    ]  # fmt: skip


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
    shown, phases, own = columns(cells, problem), energy_phases(cells, problem), ordered(cells)
    notes = [f"{like} ran in the place of {graph}." for like, graph in _in_place(cells)]
    if {cell.search for cell in cells} - {None, ""} == {"dfs"}:
        notes.append("Searches go depth first.")
    notes += [*size_notes(cells, held=False), *energy_notes(cells, phases)]
    usual, phases = problem == USUAL, (*contract.problem(problem).phases, "ready")
    return tabulate(
        NAME if usual else problem, TITLE if usual else f"{problem}: medians of the trials", shown, own, notes=notes,
        records=[_record(cell, phases, (verdicts or {}).get(cell.key)) for cell in own],
        file="" if usual else problem, data=None if usual else detail(own, verdicts),
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
        **_energy(cell, phases),
        "positives": cell.positives, "verified": cell.verified, "status": cell.status,
        "reason": cell.reason or None,
        **({} if said is None else {"stability": said.word, "unstable": list(said.reasons)}),
    }  # fmt: skip


def _energy(cell: Cell, phases: Iterable[str]) -> dict:
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


#: statistics of times, as text
_TIMES: dict[str, Callable[[Stats], str]] = {
    "mean": lambda s: ms(s.mean),
    "95 % of mean": lambda s: f"{ms(s.low)}..{ms(s.high)}",
    "median": lambda s: ms(s.median),
    "95 % of median": lambda s: f"{ms(s.median_low)}..{ms(s.median_high)}",
    "min": lambda s: ms(s.least),
    "IQR": lambda s: ms(s.iqr),
    "outliers": lambda s: str(s.outliers or ""),
    "drift": lambda s: "" if s.drift is None else f"{s.drift:+.0%}",
}


class _Line(NamedTuple):
    """A phase of a cell, within `under`; '' and no times for a cell without times."""

    cell: Cell
    under: str
    phase: str
    times: Stats | None


def details(found: list[Cell], verdicts: Mapping[tuple, Verdict] | None = None) -> Table:
    """One line per cell and phase, with the statistics of its trials and the verdict on its stability (`verdicts`, by
    key); notes say why cells have no times.

    Its CSV, `detail`, has the cells of reachability only: each other problem has its own file.
    """
    own = [cell for cell in found if cell.problem == USUAL]
    columns = [
        Column("Data set", lambda at: at.cell.dataset, key=True),
        Column("problem", lambda at: at.cell.problem, key=True, usual=() if len(own) < len(found) else (USUAL,)),
        Column("implementation", lambda at: at.cell.impl, key=True),
        *(Column(axis.header, lambda at, axis=axis: _choice(at.cell, axis), key=True) for axis in _SUMMARY),
        Column("query set", lambda at: at.cell.query_set, key=True),
        Column("phase", lambda at: f"{at.under}/{at.phase}" if at.under else at.phase, key=True),
        Column("n", lambda at: at.times.trials if at.times else 0),
        *(Column(name, lambda at, text=text: at.times and text(at.times)) for name, text in _TIMES.items()),
        *([Column("stability", lambda at: _stability(at.cell, "" if at.under else at.phase, verdicts.get(at.cell.key)))]
          if verdicts else []),
        Column("positives", lambda at: at.cell.positives),
        replace(STATUS, value=lambda at: at.cell.status, notes=lambda at: STATUS.notes(at.cell)),
    ]  # fmt: skip
    lines = [_Line(cell, *phase, times) for cell in found for phase, times in cell.phases.items() or [(("", ""), None)]]
    units = {name: "ms" for name in [*_TIMES][:6]}
    return tabulate("details", "All cells (ms)", columns, lines, values=None, file="cells", units=units,
                    data=detail(own, verdicts) if own else None)  # fmt: skip


def _stability(cell: Cell, phase: str, said: Verdict | None) -> str:
    """'stable', 'UNSTABLE: drift' or 'unknown' for a phase that is judged, '' for others."""
    if said is None or phase not in judged_phases(cell):
        return ""
    if rules := said.of(phase):
        return f"{UNSTABLE.upper()}: {', '.join(rules)}"
    return UNKNOWN if said.unknown else STABLE


def _choice(cell: Cell, axis: axes.Axis) -> str:
    """The cell's value on an axis of `_SUMMARY`. The column of threads shows the GPUs of a cell that has several."""
    if axis.name == "threads" and (cell.devices or 1) > 1:
        return f"{cell.devices} GPUs"
    return str(cell.shown(axis) or "")


# ------------------------------------------------------------------ statistics of all phases


def detail(measured: Iterable[Cell], verdicts: Mapping[tuple, Verdict] | None = None) -> pandas.DataFrame:
    """A table with one row for each cell and phase: configuration, trials, mean and median with their bounds, minimum
    and IQR (ms), outliers, drift (a fraction, if it is a warning), what the verdict of `runs.stability` on its cell
    says (`verdicts`, by key) and the rules by which this phase is unstable, energy of a call (joules, idle_watts, and
    the meters of both, such as 'gpu+cpu'; only phases of the runner have it), peak memory, status and reason.

    A cell without times has one row with an empty phase. Filters are those of `Cell.filtering`.
    """
    import pandas

    early = [axis.name for axis in axes.AXES if not axis.late]
    late = [axis.name for axis in axes.AXES if axis.late]
    values = ("kind", "stands_for", "queries", "positives", "verified")
    after = ("host_peak_bytes", "device_peak_bytes", "status", "reason")
    out = []
    for cell in measured:
        said = (verdicts or {}).get(cell.key)
        base = {"dataset": cell.dataset, "impl": cell.impl, **cell.axes, "filters": cell.filtering, "seed": cell.seed,
                "query_set": cell.query_set, **{name: getattr(cell, name) for name in (*values, *after)}}  # fmt: skip
        for (under, phase), s in list(cell.phases.items()) or [(("", ""), None)]:
            times = {} if s is None else {
                "trials": s.trials, "mean": s.mean, "mean_low": s.low, "mean_high": s.high,
                "median": s.median, "median_low": s.median_low, "median_high": s.median_high, "min": s.least,
                "iqr": s.iqr, "outliers": s.outliers, "drift": s.drift,
            }  # fmt: skip
            times |= stability_columns(said, phase, under)
            out.append({**base, "under": under, "phase": phase, "trials": 0, **times, **_meters(cell, under, phase)})
    columns = ["dataset", "impl", *early, "seed", "query_set", *values, *late, "under", "phase", "trials", "mean",
               "mean_low", "mean_high", "median", "median_low", "median_high", "min", "iqr", "outliers", "drift",
               "stability", "unstable_by", "joules", "idle_watts", "meters", *after]  # fmt: skip
    return pandas.DataFrame(out, columns=columns)


def stability_columns(said: Verdict | None, phase: str = "", under: str = "") -> dict[str, str]:
    """The columns of a verdict: its word on the cell, and the rules that speak against a phase, or against any; nothing
    of a part of a phase."""
    if said is None:
        return {}
    rules = said.of(phase) if phase else said.rules
    return {"stability": said.word, "unstable_by": "" if under else "; ".join(rules)}


def _meters(cell: Cell, under: str, phase: str) -> dict[str, Any]:
    if under or (joules := cell.joules(phase)) is None:
        return {}
    meters = "+".join(cell.energies.meters(phase))
    return {"joules": joules, "idle_watts": cell.energies.idle_watts(phase), "meters": meters}
