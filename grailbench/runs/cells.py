"""Cells: what a run measured of one configuration on one graph, made from its rows; and the run that they are of.

Every command that shows or compares what was measured reads it from here: `load` gives a `Run`, a run its cells.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grailbench import words
from grailbench.contract import USUAL
from grailbench.runs import axes, folder
from grailbench.runs.folder import Damage
from grailbench.runs.rows import SOUND, cell_of, ends_trial, sampled, standing
from grailbench.runs.statistics import Stats

if TYPE_CHECKING:
    import pandas

#: the part of a phase that an implementation timed by the GPU's own events
ON_DEVICE = "on_device"
#: what is said where a device has a time of its own and the run none from edges
NOT_FROM_EDGES = "not measured, add --from-edges"
#: implementations that have no filters but those that are named
_UNFILTERED = ("sequential", "parallel", "gpu", "gpu-32", "gpu-path")
_LONGEST_REASON = 240  # an exception may speak for pages
_RANDOM = re.compile(r"random(?:-(\d+)-s\d+)?")  #: names of sets of uniform random pairs, with their size


def _axis(name: str) -> Any:
    return property(lambda cell: cell.axes[name])


@dataclass(frozen=True, eq=False)
class Cell:
    """What was measured of one configuration on one graph. Of what no row says, a field is None.

    key         that of its rows, `rows.cell_of`: problem, graph and configuration
    axes        values by axis, as `axes.Axis.of` gives them; those that code asks for have a property
    kind        of the graph: 'real', 'synthetic', 'imported', or None when it could not be opened
    stands_for  the published graph that a look-alike replaces in the run
    verified    how its answers were checked; `checksum` is that of the answers
    status      and reason, '' for none: as `rows.standing` has them
    times       ms by trial, by (under, phase): `under` is '' for the phases that the runner times itself (`label`,
                `query`, `ready`); trials in order; empty of a wrong cell
    rates       of the last phase by trial, where the problem has a rate
    vertices, edges, roots  of the graph as print counts it; `roots` without the super-root
    counters    exact work
    index_bytes, host_peak_bytes, device_peak_bytes, read_ms  as in `rows.FIELDS`
    """

    key: tuple
    problem: str
    dataset: str
    impl: str
    axes: Mapping[str, Any]
    seed: int | None
    query_set: str
    status: str
    reason: str
    planned: int | None
    times: Mapping[tuple[str, str], Mapping[int, float]]
    rates: Mapping[int, float]
    kind: str | None = None
    stands_for: str | None = None
    queries: int | None = None
    positives: int | None = None
    verified: str | None = None
    checksum: str | None = None
    graph_sha256: str | None = None
    vertices: int | None = None
    edges: int | None = None
    roots: int | None = None
    counters: dict[str, int] | None = None
    index_bytes: int | None = None
    host_peak_bytes: int | None = None
    device_peak_bytes: int | None = None
    read_ms: float | None = None

    dim = _axis("dim")
    search = _axis("search")
    filters = _axis("filters")
    threads = _axis("threads")
    order = _axis("order")
    devices = _axis("devices")

    @cached_property
    def phases(self) -> Mapping[tuple[str, str], Stats]:
        """The statistics of each phase by (under, phase)."""
        return {name: Stats.of(list(times.values())) for name, times in self.times.items()}

    def stats(self, phase: str) -> Stats | None:
        """The statistics of a phase timed by the runner, or None."""
        return self.phases.get(("", phase))

    @cached_property
    def timed(self) -> Mapping[str, Mapping[int, float]]:
        """ms by trial, in order, by phase in words: 'label', 'label/NAME' for a phase within."""
        return {f"{under}/{phase}" if under else phase: times for (under, phase), times in self.times.items()}

    def sample(self, phase: str) -> np.ndarray:
        """float64[trials]: the times of a phase of `timed`, in the order of the trials; empty where it has none."""
        return np.array(list(self.timed.get(phase, {}).values()))

    @property
    def trials(self) -> int:
        """Trials of the phase measured most often."""
        return max(map(len, self.times.values()), default=0)

    @property
    def label(self) -> str:
        """The configuration in words, without problem, graph and queries, for tables that say these elsewhere."""
        return axes.label(self.impl, self.axes, long=True)

    @property
    def name(self) -> str:
        """The configuration in words, with the problem unless it is reachability and the queries unless random."""
        problem = "" if self.problem == USUAL else self.problem
        queries = "" if self.query_set.startswith("random-") else self.query_set
        return axes.label(self.impl, self.axes, before=problem, after=queries)

    def shown(self, axis: axes.Axis) -> Any:
        """The value of an axis as tables show it: None where there is none, '' where it goes without saying."""
        return self.filtering if axis.name == "filters" else self.axes[axis.name] or None

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


#: fields of a cell that are those of the first of its rows that says one
_SAID = ("kind", "stands_for", "queries", "positives", "checksum", "graph_sha256", "vertices", "edges", "roots",
         "counters", "index_bytes", "host_peak_bytes", "device_peak_bytes", "read_ms")  # fmt: skip


def cells(rows: Iterable[Mapping], planned: int | None = None) -> list[Cell]:
    """Rows that count, by cell, in the order in which the cells first appear.

    `planned` is the number of trials each cell was to have when the rows do not say; a cell with fewer is 'incomplete'.
    """
    grouped: dict[tuple, list[Mapping]] = {}
    for row in rows:
        grouped.setdefault(cell_of(row), []).append(row)
    return [_cell(key, group, planned) for key, group in grouped.items()]


def _cell(key: tuple, rows: list[Mapping], planned: int | None) -> Cell:
    first, (status, reason) = rows[0], standing(rows, planned)
    said = {name: next((v for row in rows if (v := row.get(name)) is not None), None) for name in _SAID}
    checks = [v for row in rows if (v := row.get("verified")) is not None]
    return Cell(
        key=key,
        problem=first.get("problem") or USUAL,
        dataset=first["dataset"],
        impl=first["impl"],
        axes={axis.name: axis.of(first) for axis in axes.AXES},
        seed=first.get("seed"),
        query_set=first.get("query_set") or "random",
        status=status,
        reason=textwrap.shorten(reason, _LONGEST_REASON, placeholder=" ..."),
        planned=max((v for row in rows if (v := row.get("planned")) is not None), default=planned),
        times={} if status == "wrong" else _times(rows),
        rates={row["trial"]: row["rate"] for row in rows if row.get("rate") is not None and ends_trial(row)},
        verified=next(filter(sampled, checks), checks[0] if checks else None),
        **said,
    )


def _times(rows: Iterable[Mapping]) -> dict[tuple[str, str], dict[int, float]]:
    """ms by trial, in order, by (under, phase)."""
    found: dict[tuple[str, str], dict[int, float]] = {}
    for row in rows:
        if row["phase"] and row["ms"] is not None and row["status"] == "ok":
            found.setdefault((row["under"] or "", row["phase"]), {})[row["trial"]] = float(row["ms"])
    if not whole_ready(found):
        found = {name: times for name, times in found.items() if "ready" not in name}
    return {name: dict(sorted(times.items())) for name, times in found.items()}


def whole_ready(phases: Collection[tuple[str, str]]) -> bool:
    """Whether `ready` of a cell with these phases, (under, phase), is the whole way from edges.

    In rows of older versions it is not where phases were apart (a GPU's transfers, allocations, renumbering): they were
    taken out of it, and stand with those of `label` in one sum, so that they cannot be put back. Such rows have a part
    `build` and none for what is apart; of their `ready` nothing is shown.
    """
    parts = {phase for under, phase in phases if under == "ready"}
    apart = {phase for under, phase in phases if not under} - {"label", "query", "ready", "arrange"}
    return "build" not in parts or apart <= parts


@dataclass(frozen=True, eq=False)
class Run:
    """A run as it was read: the folder, what it ran on, the rows that count, and what was left out at the end."""

    folder: Path
    environment: Mapping[str, Any] = field(default_factory=dict)
    rows: list[dict] = field(default_factory=list)
    damage: Damage = Damage()

    @cached_property
    def cells(self) -> list[Cell]:
        """In the order in which they first appear."""
        return cells(self.rows)

    @cached_property
    def by_key(self) -> dict[tuple, Cell]:
        """The cells by `Cell.key`."""
        return {cell.key: cell for cell in self.cells}

    @property
    def name(self) -> str:
        """What to call it: the folder as it was found."""
        return self.folder.name

    @property
    def title(self) -> str:
        return f"Run {self.name}"

    @property
    def problems(self) -> list[str]:
        """The problems that it has cells of, each once."""
        return list(dict.fromkeys(cell.problem for cell in self.cells))

    def of(self, *problems: str) -> list[Cell]:
        """The cells of some problems."""
        return [cell for cell in self.cells if cell.problem in problems]

    @property
    def implementations(self) -> list[str]:
        """The names of its implementations, each once."""
        return list(dict.fromkeys(cell.impl for cell in self.cells))

    @property
    def fingerprint(self) -> str | None:
        """Of the machine; None when it is not known."""
        return self.environment.get("fingerprint")

    @property
    def mixed(self) -> bool:
        """True when its sittings were on different machines: its times have no one unit."""
        return any(before.get("fingerprint") != self.fingerprint for before in self.environment.get("earlier", ()))

    @property
    def machine(self) -> str:
        """Processor, cores, GPUs and commit in a line."""
        return words.machine(self.environment, whole=False)


def load(run: str | os.PathLike | None = None) -> Run:
    """Read a run: a folder, the name of one, or None for the latest that has a row.

    Raises InputError when there is none, else as `read`.
    """
    return read(folder.latest_results() if run is None else folder.find_run(run))


def read(where: Path) -> Run:
    """Read the run in a folder. Raises InputError for a row that is none, or an environment that cannot be.

    A torn trial at the end is left out; the file is not changed.
    """
    rows, damage = folder.read_rows(where)
    return Run(where, folder.read_environment(where), folder.current(rows), damage)


def detail(measured: Iterable[Cell]) -> pandas.DataFrame:
    """One row a cell and phase: configuration, trials, mean and its bounds, median and its bounds, min, IQR (ms),
    outliers, drift (a share, where it is a warning), peaks of memory, status, reason.

    A cell without times has one row with an empty phase. Filters are those of `Cell.filtering`.
    """
    import pandas

    early = [axis.name for axis in axes.AXES if not axis.late]
    late = [axis.name for axis in axes.AXES if axis.late]
    said = ("kind", "stands_for", "queries", "positives", "verified")
    after = ("host_peak_bytes", "device_peak_bytes", "status", "reason")
    out = []
    for cell in measured:
        base = {"dataset": cell.dataset, "impl": cell.impl, **cell.axes, "filters": cell.filtering, "seed": cell.seed,
                "query_set": cell.query_set, **{name: getattr(cell, name) for name in (*said, *after)}}  # fmt: skip
        for (under, phase), s in list(cell.phases.items()) or [(("", ""), None)]:
            times = {} if s is None else {
                "trials": s.trials, "mean": s.mean, "mean_low": s.low, "mean_high": s.high,
                "median": s.median, "median_low": s.median_low, "median_high": s.median_high, "min": s.least,
                "iqr": s.iqr, "outliers": s.outliers, "drift": s.drift,
            }  # fmt: skip
            out.append({**base, "under": under, "phase": phase, "trials": 0, **times})
    columns = ["dataset", "impl", *early, "seed", "query_set", *said, *late, "under", "phase", "trials", "mean",
               "mean_low", "mean_high", "median", "median_low", "median_high", "min", "iqr", "outliers", "drift",
               *after]  # fmt: skip
    return pandas.DataFrame(out, columns=columns)
