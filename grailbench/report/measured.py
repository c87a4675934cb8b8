"""The table of all cells of a run, with the medians of the trials, and the table of all statistics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from grailbench.compare.measures import median
from grailbench.compare.stability import STABLE, UNSTABLE, Verdict, mark
from grailbench.harness import axes
from grailbench.harness.cells import Cell
from grailbench.harness.energies import METERS, SUMMED
from grailbench.harness.rows import STATUSES
from grailbench.harness.statistics import Stats
from grailbench.problems import contract
from grailbench.report.table import Column, Table, tabulate
from grailbench.util.words import BLANK, grouped, ms, short, size

if TYPE_CHECKING:
    import pandas

NAME = "cells"
TITLE = "What was measured: medians of the trials"


def statuses(found: Iterable[str]) -> str:
    """'3 wrong, 1 failed'."""
    counts = Counter(found)
    return ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status])


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

    def text(thing: object) -> str:
        return none if (cell := of(thing)) is None else short(cell.joules(phase, meter)) or BLANK

    def notes(thing: object) -> list[str]:
        if (cell := of(thing)) is None:
            return []
        why = cell.energies.why(phase) if cell.sound else cell.reason
        return [why] if why and (meter is None or cell.joules(phase, meter) is None) else []

    return Column(header, lambda thing: (cell := of(thing)) and cell.joules(phase, meter), display=text, notes=notes)


def energy_phases(cells: Iterable[Cell], problem: str) -> list[str]:
    """The phases of a problem whose joules are shown: those of which a cell has some or, if none has any though they
    were asked for, the last one."""
    metered = [cell for cell in cells if cell.energies]
    phases = (*contract.problem(problem).phases, "ready")
    found = [phase for phase in phases if any(cell.joules(phase) is not None for cell in metered)]
    return found or [*phases[-2:-1]] if metered else []


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


def size_columns(**headers: str) -> list[Column]:
    """A column for each size that a cell has, below other headers for those that are given."""
    return [Column(headers.get(name, header), lambda cell, name=name: getattr(cell, name), size, usual=(None,))
            for name, (header, _) in SIZES.items()]  # fmt: skip


def size_notes(cells: Iterable[Cell], index: bool = True) -> list[str]:
    """What the columns of sizes in a table of these cells are; `index`: whether one is of the bytes of an index."""
    cells, names = list(cells), list(SIZES)[not index :]
    return [SIZES[name][1] for name in names if any(getattr(cell, name) is not None for cell in cells)]


#: the column of a cell's status, with a note on the reason for it
STATUS = Column("status", lambda cell: cell.status, notes=lambda cell: [cell.reason] if cell.reason else [])


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


def table(cells: list[Cell], problem: str = contract.USUAL, verdicts: Mapping[tuple, Verdict] | None = None) -> Table:
    """One line per cell of a problem; notes say why cells have no times.

    There is one record per cell, with times in ms, sizes in bytes and the verdict on its stability (`verdicts`, by
    key). For problems other than reachability the CSV has one line per cell and phase.
    """
    solved, own, usual = contract.problem(problem), ordered(cells), problem == contract.USUAL
    phases, measured = (*solved.phases, "ready"), energy_phases(cells, problem)
    columns = [
        Column("graph", lambda c: c.dataset, key=True),
        Column("implementation", lambda c: c.impl, key=True),
        *(Column(a.header, lambda c, axis=a: c.shown(axis), key=True,
                 usual=a.hidden if usual else (*a.hidden, None, "")) for a in axes.shown()),
        Column("seed", lambda c: c.seed, key=True, usual=(None, 1)),
        Column("queries", lambda c: c.query_set, key=True, usual=() if usual else ("all",)),
        Column("trials", lambda c: c.trials, usual=(0,)),
        *(Column(f"{phase} ms", lambda c, phase=phase: median(c, phase), ms, usual=(None,),
                 mark=lambda c, phase=phase: mark(c, phases=(phase,))) for phase in phases),
        Column(solved.rate, rate, short, usual=(None,), mark=lambda c: mark(c, phases=(c.last_phase,))),
        *(joules(f"{phase} J", phase, none="") for phase in measured),
        *size_columns(index_bytes="index size"),
        Column("positives" if usual else solved.answer, lambda c: c.positives, grouped, usual=(None,)),
        Column("checked by", lambda c: c.verified, usual=(None,)),
        STATUS,
    ]  # fmt: skip
    in_place = dict.fromkeys((cell.dataset, cell.stands_for) for cell in cells if cell.stands_for)
    notes = [f"{like} ran in the place of {graph}." for like, graph in in_place]
    if {cell.search for cell in cells} - {None, ""} == {"dfs"}:
        notes.append("Searches go depth first.")
    notes += [*size_notes(cells, index=False), *energy_notes(cells, measured)]
    timed = any(cell.trials for cell in own)
    title = (TITLE if usual else f"{problem}: medians of the trials") if timed else "" if usual else problem
    return tabulate(
        NAME if usual else problem, title, columns, own, notes=notes,
        records=[_record(cell, phases, (verdicts or {}).get(cell.key)) for cell in own],
        file="" if usual else problem, data=None if usual else detail(own, verdicts),
    )  # fmt: skip


def plain(frame: pandas.DataFrame) -> list[dict]:
    """The rows of a frame as dictionaries, with None for missing values."""
    return [{key: None if value != value else value for key, value in line.items()}
            for line in frame.to_dict("records")]  # fmt: skip


def _energy(cell: Cell, phase: str) -> dict:
    """The energy of a call of a phase, by column; nothing where it was not read."""
    if (joules := cell.joules(phase)) is None:
        return {}
    meters = "+".join(cell.energies.meters(phase))
    return {"joules": joules, "idle_watts": cell.energies.idle_watts(phase), "meters": meters}


def _record(cell: Cell, phases: Iterable[str], verdict: Verdict | None) -> dict:
    energy = {}
    for phase in phases if cell.energies and cell.sound else ():
        energy |= {f"{phase}_{name}": value for name, value in _energy(cell, phase).items()}
        if phase in cell.energies.named and (why := cell.energies.why(phase)):
            energy[f"{phase}_energy_reason"] = why
    if cell.energies and cell.energies.reason:
        energy["energy_reason"] = cell.energies.reason
    return {
        "dataset": cell.dataset, "impl": cell.impl, **{axis.name: cell.shown(axis) or None for axis in axes.shown()},
        "seed": cell.seed, "queries": cell.query_set, "trials": cell.trials,
        **{f"{phase}_ms": median(cell, phase) for phase in phases}, "index_bytes": cell.index_bytes,
        "host_peak_bytes": cell.host_peak_bytes, "device_peak_bytes": cell.device_peak_bytes,
        **({} if rate(cell) is None else {"rate": rate(cell)}), **energy,
        "positives": cell.positives, "verified": cell.verified, "status": cell.status,
        "reason": cell.reason or None,
        **({} if verdict is None else {"stability": verdict.word, "unstable": list(verdict.reasons)}),
    }  # fmt: skip


# ------------------------------------------------------------------ statistics of all phases

_TIMES = ("trials", "mean", "mean_low", "mean_high", "median", "median_low", "median_high", "min", "iqr", "outliers",
          "drift")  # fmt: skip


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
    columns = ["dataset", "impl", *early, "seed", "query_set", *_OF_CELL[:5], *late, "under", "phase", *_TIMES,
               "stability", "unstable_by", "joules", "idle_watts", "meters", *_OF_CELL[5:]]  # fmt: skip
    return pandas.DataFrame(_rows(measured, verdicts), columns=columns)


#: attributes of a cell that have columns
_OF_CELL = ("kind", "stands_for", "queries", "positives", "verified", "host_peak_bytes", "device_peak_bytes", "status",
            "reason")  # fmt: skip


def _rows(measured: Iterable[Cell], verdicts: Mapping[tuple, Verdict] | None) -> list[dict]:
    """The rows of `detail`, with the problem."""
    out = []
    for cell in measured:
        base = {"problem": cell.problem, "dataset": cell.dataset, "impl": cell.impl, **cell.axes,
                "filters": cell.filtering, "seed": cell.seed, "query_set": cell.query_set,
                **{name: getattr(cell, name) for name in _OF_CELL}}  # fmt: skip
        for (under, phase), s in list(cell.phases.items()) or [(("", ""), None)]:
            times = dict.fromkeys(_TIMES) | {"trials": 0}
            if s is not None:
                times = dict(zip(_TIMES, (s.trials, s.mean, s.low, s.high, s.median, s.median_low, s.median_high,
                                          s.least, s.iqr, s.outliers, s.drift), strict=True))  # fmt: skip
            times |= stability_columns((verdicts or {}).get(cell.key), phase, under)
            out.append({**base, "under": under, "phase": phase, **times, **({} if under else _energy(cell, phase))})
    return out


def stability_columns(verdict: Verdict | None, phase: str = "", under: str = "") -> dict[str, str]:
    """The columns of a verdict: its word on the cell, and the rules that speak against a phase, or against any, with
    the mark; nothing of a part of a phase."""
    if verdict is None:
        return {}
    phases = (phase,) if phase else ()
    own = {"unstable_by": "; ".join(verdict.of(*phases)), "mark": verdict.mark(*phases)}
    return {"stability": verdict.word, **(dict.fromkeys(own, "") if under else own)}


def details(found: list[Cell], verdicts: Mapping[tuple, Verdict] | None = None) -> Table:
    """One line per cell and phase, with the statistics of its trials and the verdict on its stability (`verdicts`, by
    key); notes say why cells have no times.

    Its CSV, `detail`, has the cells of reachability only: each other problem has its own file.
    """
    own = [cell for cell in found if cell.problem == contract.USUAL]
    summary = [axis for axis in axes.shown() if axis.summary]
    columns = [
        Column("Data set", "dataset", key=True),
        Column("problem", "problem", key=True, usual=() if len(own) < len(found) else (contract.USUAL,)),
        Column("implementation", "impl", key=True),
        *(Column(axis.header, axis.name, lambda value: str(value or ""), key=True,
                 display=_threads if axis.name == "threads" else None) for axis in summary),
        Column("query set", "query_set", key=True),
        Column("phase", lambda row: "/".join(filter(None, (row["under"], row["phase"]))), key=True),
        Column("n", "trials"),
        Column("mean", "mean", ms, mark=mark_of), _bounds("95 % of mean", "mean"),
        Column("median", "median", ms, mark=mark_of), _bounds("95 % of median", "median"),
        Column("min", "min", ms, mark=mark_of),
        Column("IQR", "iqr", ms), Column("outliers", "outliers", lambda n: str(n or "")),
        Column("drift", "drift", "{:+.0%}".format),
        *([Column("stability", _stability)] if verdicts else []),
        Column("positives", "positives"),
        Column("status", "status", notes=lambda row: [row["reason"]] if row["reason"] else []),
    ]  # fmt: skip
    rows = _rows(found, verdicts)
    return tabulate("details", "All cells (ms)", columns, rows, rows=rows, values=None, file="cells",
                    data=detail(own, verdicts) if own else None)  # fmt: skip


def mark_of(row: Mapping) -> str:
    """The mark of a row with `stability_columns`."""
    return row.get("mark") or ""


def _threads(row: Mapping) -> str:
    """The threads of a row, or its GPUs if there are several."""
    return f"{row['devices']} GPUs" if (row["devices"] or 1) > 1 else str(row["threads"] or "")


def _bounds(header: str, name: str) -> Column:
    return Column(header, f"{name}_low", display=lambda row: "" if row[f"{name}_low"] is None else
                  f"{ms(row[f'{name}_low'])}..{ms(row[f'{name}_high'])}")  # fmt: skip


def _stability(row: Mapping) -> str:
    """'stable', 'UNSTABLE: drift' or 'unknown' for a phase that the runner timed, '' for others."""
    if row["under"] or row["phase"] not in (*contract.problem(row["problem"]).phases, "ready"):
        return ""
    if row["unstable_by"]:
        return f"{UNSTABLE.upper()}: {row['unstable_by']}"
    return STABLE if row["stability"] == UNSTABLE else row["stability"]
