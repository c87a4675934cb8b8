"""Figures 4 to 8 of Computation 2020 and their data: times, memory, shares of phases, and stalls."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING

from grailbench.harness.cells import Cell
from grailbench.harness.rows import SOUND
from grailbench.report import stalls
from grailbench.report.figure import Axis, Bar, Bars, Figure, Mark, Marks, Panel, Part
from grailbench.report.papers.computation import Point, chosen, of_paper, points
from grailbench.report.published import PRINTED_QUERIES
from grailbench.util.words import count, short

if TYPE_CHECKING:
    import pandas

MIB = 1 << 20
_Bounds = list[tuple[float | None, float | None]]


def figures(cells: Iterable[Cell], sampled: str = "", profile: Path | None = None) -> list[Figure]:
    """The figures of a run; all are empty if the run does not repeat the paper's experiments.

    sampled  a sentence on sampled times
    profile  a CSV file of Nsight Compute

    Raises InputError for a profile that cannot be read.
    """
    import pandas

    cells = list(cells)
    found = points(cells) if (taken := of_paper(cells)) else []
    once = chosen(found)
    stalled = pandas.DataFrame(columns=stalls.COLUMNS) if profile is None else stalls.read(profile)
    peaks, steps = memory(once), shares(once)
    apart = "Unavailable: the run's cells had no processes of their own (process = 'own')."
    untimed = "Unavailable: no GPU implementation of the run has timed phases."
    unread = "" if steps.empty or "read" in set(steps.part) else "Reading was not timed in this run."
    unprofiled = f"Unavailable: the run has no {stalls.FILE} of Nsight Compute."
    noted = " ".join(text for text in (unread, "" if steps.empty else sampled) if text)
    return [
        _by_d("computation-4", labeling(once), "mean s", [_labeling_bounds(point) for point in once], sampled=sampled),
        _by_d("computation-5", peaks, "MiB", [(None, None)] * len(peaks),
              note="" if not taken or peaks.value.notna().any() else apart),
        _by_d("computation-6", queries(found), "mean ms", [_query_bounds(point) for point in found], sampled=sampled),
        Figure("computation-7", steps, _bars(steps), untimed if taken and steps.empty else noted),
        Figure("computation-8", stalled, _stalls(stalled), unprofiled if taken and profile is None else ""),
    ]  # fmt: skip


# ------------------------------------------------------------------ figures 4, 5 and 6


def _by_d(name: str, frame: pandas.DataFrame, unit: str, bounds: _Bounds, note: str = "", sampled: str = "") -> Figure:
    """A panel per set and series, with a line per graph and a mark per number of label pairs. The panels of a set have
    the same range of values. Batches of queries of another size than the paper's have panels of their own at the end.
    """
    kinds = ["set", "series", *(["memory"] if "memory" in frame else [])]
    limits = dict(zip(frame.index, bounds, strict=True))
    panels = []
    for number, part in enumerate([] if note else by_batch(frame)):
        for key, own in part.groupby(kinds, sort=False):
            if own.value.notna().any() or (~own.status.isin(SOUND)).any():
                marks = tuple(_mark(row, unit, limits[row.Index]) for row in own.itertuples())
                panels.append(Panel(f"{' '.join(key[1:])}: {key[0]}", marks, shared=f"{key[0]} {number}"))
    drawn = {panel.shared for panel in panels if any(not mark.word for mark in panel.items)}
    panels = tuple(panel for panel in panels if panel.shared in drawn)
    form = Marks(panels, tuple(f"d = {d}" for d in sorted(set(frame.d))), Axis(unit), Axis(scale="names"))
    if not frame.empty and (frame.status == "sampled").any():
        note = " ".join(text for text in (note, sampled) if text)
    missing = lost(frame)
    missing = f"Lost: {missing[:900]}{'…' if len(missing) > 900 else ''}." if missing else ""
    return Figure(name, frame, form, note, missing)


def _mark(row, unit: str, bounds: tuple[float | None, float | None]) -> Mark:
    graph, series = batch_label(row), f"d = {row.d}"
    if row.value is None or not row.value > 0:
        return Mark(series, None, graph, word=_WORDS.get(row.status, row.status.upper()))
    hint = f"{graph}, {series}: {short(row.value)} {unit.removeprefix('mean ')}"
    return Mark(series, row.value, graph, hint, *bounds, row.generated)


_WORDS = {"out of memory": "OOM"}


def _labeling_bounds(point: Point) -> tuple[float | None, float | None]:
    """Bounds of `Point.labeling_ms` in seconds: sums of the bounds of its phases, at least as wide as exact ones."""
    if point.labeling_ms is None:
        return None, None
    parts = [point.cell.phases["", name] for name in ("label", *point.apart)]
    return sum(part.low for part in parts) / 1e3, sum(part.high for part in parts) / 1e3


def _query_bounds(point: Point) -> tuple[float | None, float | None]:
    """Bounds of the mean of a batch in milliseconds."""
    query = point.cell.stats("query") if point.cell.sound else None
    return (None, None) if query is None else (query.low, query.high)


HEAD = ("set", "dataset", "generated", "vertices", "edges", "series", "d", "status", "reason")


def _head(point: Point) -> dict:
    own = {"set": point.set, "series": point.series.name, "d": point.d}
    return {name: own[name] if name in own else getattr(point.cell, name) for name in HEAD}


def _frame(rows: list[dict], *columns: str) -> pandas.DataFrame:
    import pandas

    return pandas.DataFrame(rows, columns=[*HEAD, *columns])


def labeling(found: list[Point]) -> pandas.DataFrame:
    """Figure 4, one row per cell: `HEAD`, trials, mean seconds of labeling with (`value`) and without (`label_s`)
    transfer and allocation."""
    rows = []
    for p in found:
        times = {"value": _scaled(p.labeling_ms, 1e-3), "label_s": _scaled(p.mean("label"), 1e-3)}
        rows.append(_head(p) | {"trials": p.cell.trials} | times)
    return _frame(rows, "trials", "value", "label_s")


def memory(found: list[Point]) -> pandas.DataFrame:
    """Figure 5, one row per cell and memory ('host', on GPUs also 'device'): `HEAD`, memory, peak in MiB (`value`)."""
    rows = []
    for p in found:
        peaks = {"host": p.cell.host_peak_bytes}
        peaks |= {"device": p.cell.device_peak_bytes} if p.series.impl.startswith("gpu") else {}
        for name, peak in peaks.items():
            rows.append(_head(p) | {"memory": name, "value": _scaled(peak if p.cell.sound else None, 1 / MIB)})
    return _frame(rows, "memory", "value")


def queries(found: list[Point]) -> pandas.DataFrame:
    """Figure 6, one row per cell: `HEAD`, trials, number of queries in the batch, positive queries, mean ms of the
    batch (`value`)."""
    rows = []
    for p in found:
        counted = {"trials": p.cell.trials, "queries": p.cell.batch, "positives": p.cell.positives}
        rows.append(_head(p) | counted | {"value": p.mean("query")})
    frame = _frame(rows, "trials", "queries", "positives", "value")
    return frame.astype({"queries": "Int64", "positives": "Int64"})


def batch_label(row) -> str:
    """The graph of a row of a frame, and the size of its batch of queries if it differs from the paper's."""
    return row.dataset if _printed(batch := getattr(row, "queries", None)) else f"{row.dataset}, {batch:,}"


def by_batch(frame: pandas.DataFrame) -> list[pandas.DataFrame]:
    """The rows of figures 4 to 6 that are drawn in separate panels: first those with the paper's batch of queries."""
    if "queries" not in frame:
        return [frame]
    printed = frame.queries.map(_printed, na_action=None).astype(bool)
    return [part for part in (frame[printed], frame[~printed]) if not part.empty]


def _printed(batch: int | None) -> bool:
    """True for a batch of the paper's size, and for one of unknown size (None or pandas' NA)."""
    return not isinstance(batch, Integral) or batch == PRINTED_QUERIES


def lost(frame: pandas.DataFrame) -> str:
    """The cells of a frame without a sound time, and why: 'gpu-path d=4,5 on dag_11-like: OUT OF MEMORY, ...'."""
    groups: dict[tuple, dict[int, None]] = {}
    for row in frame[~frame.status.isin(SOUND)].itertuples():
        groups.setdefault((row.series, batch_label(row), row.status, row.reason), {})[row.d] = None
    return "; ".join(
        f"{series} d={','.join(map(str, d))} on {graph}: {status.upper()}{f', {reason}' if reason else ''}"
        for (series, graph, status, reason), d in groups.items()
    )


# ------------------------------------------------------------------ figures 7 and 8


def _bars(frame: pandas.DataFrame) -> Bars:
    """A panel per series: for each set a bar of the steps of labeling and a bar with reading, allocation and transfer;
    real and generated graphs have separate bars."""
    panels = []
    for series, group in frame.groupby("series", sort=False):
        bars = []
        for (name, generated, of), own in group.groupby(["set", "generated", "of"], sort=False):
            label = f"{name}{', generated' if generated else ''}: {of} ({count(own.cells.iloc[0], 'cell')})"
            head, rows = f"{series}, {label}", own.itertuples()
            bars.append(Bar(label, tuple(Part(r.part, r.share, f"{head}, {r.part}: {r.share:.0%}") for r in rows)))
        panels.append(Panel(str(series), tuple(bars)))
    return Bars(tuple(panels), tuple(dict.fromkeys(frame.part)), whole=True, across=1)


def _stalls(frame: pandas.DataFrame) -> Bars:
    """A bar with a part for each of the paper's kinds of stalls, and a bar for each stall reason."""
    if frame.empty:
        return Bars((), ())
    words = frame.groupby("word", sort=False).share.sum().sort_values(ascending=False, kind="stable")
    parts = tuple(Part(word, share, f"{word}: {share:.1%}") for word, share in words.items())
    reasons = [
        Bar(f"{row.reason}: {row.meaning}", (Part(row.word, row.share, f"{row.reason}: {row.share:.1%}"),),
            f"{row.share:.1%}")
        for row in frame.itertuples()
    ]  # fmt: skip
    panels = (Panel("in the paper's words", (Bar("all stalls", parts),)), Panel("by stall reason", tuple(reasons)))
    return Bars(panels, tuple(words.index), whole=True, across=1)


def shares(found: list[Point]) -> pandas.DataFrame:
    """Figure 7: series, set, generated, of ('steps': the labeling; 'all': also reading, allocation and transfer),
    number of cells, part, and the mean over the cells of the part's share.

    Reading is the time to load the graph from the cache; it is in 'all' only if all of the cells have it.
    """
    import pandas

    groups: dict[tuple, list[Point]] = {}
    for point in found:
        if point.series.impl.startswith("gpu") and point.steps:
            groups.setdefault((point.series.name, point.set, point.cell.generated), []).append(point)
    rows = []
    for key, own in groups.items():
        reading = all(point.cell.read_ms is not None for point in own)
        for of in ("steps", "all"):
            parts = [_parts(point, of, reading) for point in own]
            for name in dict.fromkeys(name for part in parts for name in part):
                mean = sum(part.get(name, 0.0) / sum(part.values()) for part in parts) / len(parts)
                rows.append((*key, of, len(own), name.replace("_", " "), mean))
    return pandas.DataFrame(rows, columns=["series", "set", "generated", "of", "cells", "part", "share"])


def _parts(point: Point, of: str, reading: bool) -> dict[str, float]:
    """The parts of a point's time by name, in ms."""
    if of == "steps":
        return point.steps
    read = {"read": point.cell.read_ms or 0.0} if reading else {}
    return {**read, **point.apart, **point.steps}


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
