"""From measurement rows to cells: one record a cell, with the statistics of each of its phases."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from grailbench.runs.rows import SOUND, sampled, standing
from grailbench.runs.statistics import summarise

if TYPE_CHECKING:
    import pandas

#: the part of a phase that an implementation timed by the GPU's own events
ON_DEVICE = "on_device"
#: what is said where a device has a time of its own and the run none from edges
NOT_FROM_EDGES = "not measured, add --from-edges"
#: implementations that have no filters but those that are named
_UNFILTERED = ("sequential", "parallel", "gpu", "gpu-32", "gpu-path")
_LONGEST_REASON = 240  # an exception may speak for pages


@dataclass(frozen=True)
class Stats:
    """Of one phase over the trials of a cell, in ms. `low` and `high` bound the mean, `median_low` and `median_high`
    the median (95 % bootstrap); `outliers` and `drift` as in `grailbench.runs.statistics.Summary`."""

    trials: int
    mean: float
    low: float
    high: float
    median: float
    median_low: float
    median_high: float
    least: float
    iqr: float
    outliers: int
    drift: float | None

    @classmethod
    def of(cls, times: Iterable[float]) -> Stats:
        """Statistics of at least one time, in the order of the trials. The same times give the same bounds."""
        s = summarise(list(times))
        return cls(
            s.trials, s.mean, *s.mean_interval, s.median, *s.interval, s.least, s.iqr, s.outliers, s.drift
        )  # fmt: skip


_RANDOM = re.compile(r"random(?:-(\d+)-s\d+)?")  #: names of sets of uniform random pairs, with their size


@dataclass(frozen=True)
class Cell:
    """What was measured of one configuration on one graph.

    `kind` is that of the graph: 'real', 'synthetic', 'imported', or None when it could not be opened;
    `stands_for` names the published graph that a look-alike replaces in the run; `verified` says how its
    answers were checked. `dim`, `search`, `order` are None and `threads` 0 where the implementation has no
    such choice; `filters` is comma-separated, empty for none. `queries` and `positives` are None when no row
    says them. `phases` maps `(under, phase)` to statistics, `under` being '' for the phases the runner times
    itself (`label`, `query`, `ready`). `vertices` and `edges` are those of the graph as print counts them, `roots`
    those before the super-root came, `counters` the exact work of the cell, where it was counted. Peaks of memory and
    `read_ms`, None where they were not measured, and `index_bytes` are as in `grailbench.runs.rows.FIELDS`.
    `devices`: GPUs that shared the queries, None where the implementation has no such choice.
    """

    dataset: str
    impl: str
    dim: int | None
    search: str | None
    filters: str
    threads: int
    order: str | None
    seed: int | None
    query_set: str
    kind: str | None
    stands_for: str | None
    queries: int | None
    positives: int | None
    verified: str | None
    status: str
    reason: str
    planned: int | None
    phases: dict[tuple[str, str], Stats]
    vertices: int | None = None
    edges: int | None = None
    counters: dict[str, int] | None = None
    roots: int | None = None
    host_peak_bytes: int | None = None
    device_peak_bytes: int | None = None
    read_ms: float | None = None
    devices: int | None = None
    index_bytes: int | None = None

    @property
    def trials(self) -> int:
        """Trials of the phase measured most often."""
        return max((s.trials for s in self.phases.values()), default=0)

    @property
    def label(self) -> str:
        """The configuration in words, without the graph."""
        parts = [self.impl]
        if self.dim is not None:
            parts.append(f"d={self.dim}")
        parts += [part for part in (self.search, self.filters and f"filters {self.filters}") if part]
        if self.order not in (None, "random"):
            parts.append(f"{self.order} order")
        if self.threads:
            parts.append(f"{self.threads} thread{'s' if self.threads > 1 else ''}")
        if (self.devices or 1) > 1:
            parts.append(f"{self.devices} GPUs")
        return " ".join(parts)

    @property
    def filtering(self) -> str:
        """Its filters as tables show them: 'none' of an index of ours without any, '' where there is no index, and of a
        peer, which has what its authors gave it."""
        return self.filters or ("none" if self.impl in _UNFILTERED else "")

    @property
    def generated(self) -> bool:
        """True for a generated graph, a look-alike above all; it never stands in a published row."""
        return self.kind == "synthetic" or self.dataset.endswith("-like")

    @property
    def random(self) -> bool:
        """True when its queries are uniform random pairs, as print's are."""
        return _RANDOM.fullmatch(self.query_set) is not None

    @property
    def batch(self) -> int | None:
        """How many random queries were to be asked, as the query set's name says; else how many were asked."""
        found = _RANDOM.fullmatch(self.query_set)
        return int(found[1]) if found and found[1] else self.queries

    @property
    def sound(self) -> bool:
        """True when its times may be shown: verified, though perhaps by a sample, or with fewer trials than planned."""
        return self.status in SOUND

    def stats(self, phase: str) -> Stats | None:
        """The statistics of a phase timed by the runner, or None."""
        return self.phases.get(("", phase))


def batches(cells: Iterable[Cell]) -> dict[int | None, list[Cell]]:
    """The cells on random queries by how many were to be asked, the largest batch first, one of unknown size last."""
    found: dict[int | None, list[Cell]] = {}
    for cell in cells:
        if cell.random:
            found.setdefault(cell.batch, []).append(cell)
    return dict(sorted(found.items(), key=lambda each: each[0] or 0, reverse=True))


def together(cells: Iterable[Cell]) -> list[Cell]:
    """The cells of one graph to take labels and memory from, which do not depend on the queries.

    Where the graph was asked several batches of random queries these are the cells of the batch that has most sound
    ones, of equals the one with more trials, then the largest, so that configurations are compared as they were
    measured together; and, of a configuration without a sound cell there, those of other batches.
    """
    cells = list(cells)
    sound = batches(cell for cell in cells if cell.sound)
    if len(sound) < 2:
        return cells
    most = max(sound, key=lambda size: (len(sound[size]), sum(cell.trials for cell in sound[size])))
    there = {cell.label for cell in sound[most]}
    return [cell for cell in cells if cell.random and (cell.batch == most or cell.label not in there)]


_KEYS = ("dataset", "impl", "dim", "search", "filters", "threads", "order", "seed", "query_set")


def cells(rows: pandas.DataFrame, planned: int | None = None) -> list[Cell]:
    """Group rows into cells, in the order in which they first appear.

    `rows` has one row a trial and phase, with the columns `dataset, impl, dim, search, filters, threads,
    phase, ms, status` and, where known, the others of `grailbench.runs.rows.FIELDS`. `planned` is the
    number of trials each cell was to have when the rows do not say; a cell with fewer is 'incomplete'.
    """
    grouped: dict[tuple, list[dict]] = {}
    for row in _records(rows):
        grouped.setdefault(tuple(row[key] for key in (*_KEYS, "devices")), []).append(row)
    return [_cell(key, group, planned) for key, group in grouped.items()]


def detail(measured: Iterable[Cell]) -> pandas.DataFrame:
    """One row a cell and phase: configuration, trials, mean and its bounds, median and its bounds, min, IQR (ms),
    outliers, drift (a share, where it is a warning), peaks of memory, status, reason.

    A cell without times has one row with an empty phase. Filters are those of `Cell.filtering`.
    """
    import pandas

    flat = [f.name for f in fields(Cell) if f.name not in ("phases", "planned")]
    out = []
    for cell in measured:
        base = {name: getattr(cell, name) for name in flat} | {"filters": cell.filtering}
        for (under, phase), s in list(cell.phases.items()) or [(("", ""), None)]:
            times = {} if s is None else {
                "trials": s.trials, "mean": s.mean, "mean_low": s.low, "mean_high": s.high,
                "median": s.median, "median_low": s.median_low, "median_high": s.median_high, "min": s.least,
                "iqr": s.iqr, "outliers": s.outliers, "drift": s.drift,
            }  # fmt: skip
            out.append({**base, "under": under, "phase": phase, "trials": 0, **times})
    columns = [*flat[: flat.index("status")], "devices", "under", "phase", "trials", "mean", "mean_low", "mean_high",
               "median", "median_low", "median_high", "min", "iqr", "outliers", "drift", "host_peak_bytes",
               "device_peak_bytes", "status", "reason"]  # fmt: skip
    return pandas.DataFrame(out, columns=columns)


def _cell(key: tuple, rows: list[dict], planned: int | None) -> Cell:
    status, reason = standing(rows, planned)
    times: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row["phase"] and row["ms"] is not None and row["status"] == "ok":
            times.setdefault((row["under"], row["phase"]), []).append(row["ms"])
    if not whole_ready(times):
        times = {(under, phase): ms for (under, phase), ms in times.items() if "ready" not in (under, phase)}
    phases = {} if status == "wrong" else {name: Stats.of(ms) for name, ms in times.items()}  # a wrong cell has no time
    verified = next((row["verified"] for row in rows if sampled(row["verified"])), _first(rows, "verified"))
    return Cell(
        *key[:-1],
        devices=key[-1],
        kind=_first(rows, "kind"),
        stands_for=_first(rows, "stands_for"),
        queries=_first(rows, "queries"),
        positives=_first(rows, "positives"),
        verified=verified,
        status=status,
        reason=reason,
        planned=max((row["planned"] for row in rows if row["planned"] is not None), default=planned),
        phases=phases,
        vertices=_first(rows, "vertices"),
        edges=_first(rows, "edges"),
        counters=_first(rows, "counters"),
        roots=_first(rows, "roots"),
        host_peak_bytes=_first(rows, "host_peak_bytes"),
        device_peak_bytes=_first(rows, "device_peak_bytes"),
        read_ms=_first(rows, "read_ms"),
        index_bytes=_first(rows, "index_bytes"),
    )


def whole_ready(phases: Collection[tuple[str, str]]) -> bool:
    """Whether `ready` of a cell with these phases, (under, phase), is the whole way from edges.

    In rows of older versions it is not where phases were apart (a GPU's transfers, allocations, renumbering): they were
    taken out of it, and stand with those of `label` in one sum, so that they cannot be put back. Such rows have a part
    `build` and none for what is apart; of their `ready` nothing is shown.
    """
    parts = {phase for under, phase in phases if under == "ready"}
    apart = {phase for under, phase in phases if not under} - {"label", "query", "ready", "arrange"}
    return "build" not in parts or apart <= parts


def _first(rows: list[dict], name: str) -> Any:
    return next((row[name] for row in rows if row[name] is not None), None)


def _records(rows: pandas.DataFrame) -> Iterator[dict]:
    """Rows as dictionaries with every field present, missing values None, integers integers."""
    for record in plain(rows):
        get = record.get
        filters = get("filters") or ""
        filters = filters if isinstance(filters, str) else ",".join(filters)
        yield {
            "dataset": get("dataset"),
            "impl": get("impl"),
            "dim": _int(get("dim")),
            "search": get("search") or None,
            "filters": "" if filters == "none" else filters,
            "threads": _int(get("threads")) or 0,
            "order": get("order") or None,
            "seed": _int(get("seed")),
            "query_set": get("query_set") or "random",
            "under": get("under") or "",
            "phase": get("phase") or "",
            "ms": None if get("ms") is None else float(get("ms")),
            "queries": _int(get("queries")),
            "positives": _int(get("positives")),
            "kind": get("kind"),
            "stands_for": get("stands_for"),
            "verified": get("verified"),
            "status": get("status") or "ok",
            "reason": textwrap.shorten(get("reason") or "", _LONGEST_REASON, placeholder=" ..."),
            "planned": _int(get("planned")),
            "vertices": _int(get("vertices")),
            "edges": _int(get("edges")),
            "counters": get("counters") or None,
            "roots": _int(get("roots")),
            "host_peak_bytes": _int(get("host_peak_bytes")),
            "device_peak_bytes": _int(get("device_peak_bytes")),
            "read_ms": None if get("read_ms") is None else float(get("read_ms")),
            "devices": _int(get("devices")),
            "index_bytes": _int(get("index_bytes")),
        }


def plain(rows: pandas.DataFrame) -> Iterator[dict]:
    """Rows as dictionaries, missing values None whatever pandas makes of them."""
    for record in rows.to_dict("records"):
        yield {name: None if _missing(value) else value for name, value in record.items()}


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ == "NAType"


def _int(value: Any) -> int | None:
    return None if value is None else int(value)
