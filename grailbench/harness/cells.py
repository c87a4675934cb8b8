"""Cells, the measurements of one configuration on one graph, and the run that contains them.

All commands that show or compare measurements read them here: `load` returns a `Run`, which has its cells.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from grailbench.harness import axes, folder, machines, pack
from grailbench.harness import environment as machine
from grailbench.harness.energies import Energies
from grailbench.harness.folder import Damage
from grailbench.harness.rows import TIMED, cell_of, ends_trial, grouped, part_of, sampled, status_of
from grailbench.harness.statistics import Stats
from grailbench.problems.contract import OTHERS, USUAL, problem, registered
from grailbench.util import words

ON_DEVICE = "on_device"  #: the part of a phase that an implementation timed with events of the GPU
NOT_FROM_EDGES = "not measured, add --from-edges"  #: shown beside a time on the device where there is none from edges
_LONGEST_REASON = 240  # characters; messages of exceptions can be very long
_RANDOM = re.compile(r"random(?:-(\d+)(?:-s\d+)?)?")  # names of sets of uniform random pairs, with their size
_COUNTER = "counter/"
_SEED = re.compile(r"-s\d+\b")  # the seed in the name of a query set


def _axis(name: str) -> Any:
    return property(lambda cell: cell.axes[name])


@dataclass(frozen=True, eq=False)
class Cell:
    """The measurements of one configuration on one graph. A field is None if no row has it.

    key         the key of its rows, `rows.cell_of`: problem, graph and configuration
    axes        the values by axis, see `axes.Axis.of`; frequently used ones are also properties
    kind        of the graph: 'real', 'synthetic', 'imported', or None when it could not be opened
    stands_for  the published graph that a look-alike replaces in the run
    verified    how the answers were checked; `checksum` is that of the answers
    status      see `rows.status_of`; `reason` is '' if there is none
    times       ms by trial, by (under, phase), trials in ascending order; `under` is '' for the phases that the runner
                times itself (`label`, `query`, `ready`); empty for a wrong cell
    rates       of the last phase by trial, if the problem has a rate
    vertices, edges, roots  of the graph as the papers count them; `roots` without the super-root
    counters    exact counts of work
    seed        None for a cell of several seeds, each a trial; `positives` and `counters` are means then, and `spread`
                has the least and the greatest of each by name
    index_bytes, host_peak_bytes, device_peak_bytes, read_ms, raw_edges, energy  as in `rows.FIELDS`
    distribution  of a plug-in, with its version, 'bitclosure 0.1'
    load        what other work the machine had: 'other work took 1.2 of 2 cores'; '' for none that is known
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
    raw_edges: int | None = None
    energy: Mapping[str, Any] | None = None
    distribution: str | None = None
    load: str = ""
    spread: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    dim = _axis("dim")
    search = _axis("search")
    filters = _axis("filters")
    threads = _axis("threads")
    order = _axis("order")
    devices = _axis("devices")
    memory = _axis("memory")

    @cached_property
    def phases(self) -> Mapping[tuple[str, str], Stats]:
        """Statistics of each phase by (under, phase)."""
        return {name: Stats.of(list(times.values())) for name, times in self.times.items()}

    @property
    def rate(self) -> float | None:
        """The median of `rates`; None if the problem has none."""
        return median(self.rates.values()) if self.rates else None

    def stats(self, phase: str) -> Stats | None:
        """Statistics of a phase timed by the runner; None if it has no times."""
        return self.phases.get(("", phase))

    @cached_property
    def timed(self) -> Mapping[str, Mapping[int, float]]:
        """ms by trial, in ascending order, by the name of the phase: 'label', or 'label/NAME' for a part of it."""
        return {f"{under}/{phase}" if under else phase: times for (under, phase), times in self.times.items()}

    def sample(self, phase: str) -> np.ndarray:
        """float64[trials]: the times of a phase of `timed` in ms, in the order of the trials; empty if it has none."""
        return np.array(list(self.timed.get(phase, {}).values()))

    @property
    def last_phase(self) -> str:
        """The phase that answers and ends a trial: 'query' or 'solve'."""
        return problem(self.problem).phases[-1]

    @cached_property
    def energies(self) -> Energies | None:
        """Its energy by phase and meter, or why it has none; None if it was not asked for."""
        return Energies.of(self.energy, self.last_phase) if self.energy else None

    def joules(self, phase: str, meter: str | None = None) -> float | None:
        """The joules of one pass of a phase of a sound cell, by one meter ('gpu', 'cpu') or all of `energies.SUMMED`
        that could be read; None where it cannot be had."""
        return self.energies.joules(phase, meter) if self.sound and self.energies else None

    @property
    def trials(self) -> int:
        """The largest number of trials of a phase."""
        return max(map(len, self.times.values()), default=0)

    @property
    def label(self) -> str:
        """The configuration in words, without problem, graph and queries."""
        return axes.label(self.impl, self.axes, long=True)

    @property
    def name(self) -> str:
        """The configuration in words, with the problem unless it is reachability and the queries unless random."""
        problem = "" if self.problem == USUAL else self.problem
        queries = "" if self.query_set.startswith("random-") and self.part is None else self.query_set
        return axes.label(self.impl, self.axes, before=problem, after=queries)

    def shown(self, axis: axes.Axis) -> Any:
        """The value of an axis as tables show it: None if the cell has none, '' if tables leave it out."""
        return self.filtering if axis.name == "filters" else self.axes[axis.name] or None

    @property
    def filtering(self) -> str:
        """Its filters as tables show them: 'none' for an index of this project without filters, '' for other
        implementations without this choice."""
        known = None if self.filters else registered(self.impl, self.problem)
        none = known is not None and (known.unfiltered or "filters" in known.axes)
        return self.filters or ("none" if none else "")

    @property
    def ours(self) -> bool:
        """False for an implementation of others: an adapter of a library, a program, a plug-in."""
        return self.distribution is None and not self.impl.startswith(OTHERS)

    @property
    def generated(self) -> bool:
        """True for generated graphs such as look-alikes, which are not shown in rows of published tables."""
        return self.kind == "synthetic" or self.dataset.endswith("-like")

    @property
    def random(self) -> bool:
        """True if its queries are uniform random pairs, as in the papers."""
        return _RANDOM.fullmatch(self.query_set) is not None

    @property
    def whole_set(self) -> str:
        """The name of its query set, or of the set whose first pairs it was asked."""
        return part_of(self.query_set)[0]

    @property
    def part(self) -> int | None:
        """How many pairs it was asked if it was asked the first of a query set, else None."""
        return part_of(self.query_set)[1]

    @property
    def batch(self) -> int | None:
        """The number of random queries in the name of the query set, else the number of queries."""
        found = _RANDOM.fullmatch(self.query_set)
        return int(found[1]) if found and found[1] else self.queries

    @property
    def sound(self) -> bool:
        """True if its times may be shown: its answers, or a sample of them, are right; trials may be missing."""
        return self.status in TIMED


def batches(cells: Iterable[Cell]) -> dict[int | None, list[Cell]]:
    """The cells with random queries by the size of the batch, the largest first; unknown sizes come last."""
    found = grouped((cell for cell in cells if cell.random), lambda cell: cell.batch)
    return dict(sorted(found.items(), key=lambda each: each[0] or 0, reverse=True))


def together(cells: Iterable[Cell]) -> list[Cell]:
    """The cells of one graph whose labeling times and memory are shown, since these do not depend on the queries: of
    several batches of random queries those of the batch with most sound cells (then trials, then queries), so that they
    were measured together, and for configurations without a sound cell there those of other batches."""
    cells = list(cells)
    sound = batches(cell for cell in cells if cell.sound)
    if len(sound) < 2:
        return cells
    most = max(sound, key=lambda size: (len(sound[size]), sum(cell.trials for cell in sound[size])))
    there = {cell.label for cell in sound[most]}
    return [cell for cell in cells if cell.random and (cell.batch == most or cell.label not in there)]


#: fields of a cell that are taken from its first row with a value
_FIRST_VALUES = ("kind", "stands_for", "queries", "positives", "checksum", "graph_sha256", "vertices", "edges", "roots",
         "counters", "index_bytes", "host_peak_bytes", "device_peak_bytes", "read_ms", "raw_edges",
         "energy", "distribution")  # fmt: skip


def cells(rows: Iterable[Mapping], planned: int | None = None, environment: Mapping | None = None) -> list[Cell]:
    """The cells of some current rows, in the order of their first rows. Cells with one planned trial each that differ
    in nothing but the seed are one: a trial a seed, as the thesis has them.

    `planned` is the number of planned trials for rows that do not have it; cells with fewer trials are 'incomplete'.
    `environment` is that of the rows, by which those of older versions know what other work the machine had.
    """
    before = ", later ".join(machine.loads(environment or {}))
    cores = (environment or {}).get("cores")
    found = []
    for key, group in _over_seeds(grouped(rows, cell_of)).items():
        others = [row["others"] for row in group if row.get("others") is not None]
        load = (machine.said(median(others), cores) or "") if others else before
        found.append(_cell(key, group, planned, load))
    return found


def without_seed(key: tuple) -> tuple:
    """The key of a cell of several seeds, of that of a row of one of them."""
    return (*key[:-2], None, _SEED.sub("", key[-1] or ""))


def _over_seeds(groups: Mapping[tuple, list[Mapping]]) -> dict[tuple, list[Mapping]]:
    """The rows by cell, where those of cells that differ in the seed alone, with one planned trial each, are of one."""
    alike: dict[tuple, list[tuple]] = {}
    for key, rows in groups.items():
        one = rows[0].get("planned") == 1
        alike.setdefault(without_seed(key) if one else key, []).append(key)
    found = {}
    for key, seeds in alike.items():
        if len(seeds) == 1:
            found[seeds[0]] = groups[seeds[0]]
            continue
        own = {"seed": None, "query_set": key[-1], "planned": len(seeds)}
        found[key] = [{**row, **own, "trial": trial} for trial, seed in enumerate(seeds) for row in groups[seed]]
    return found


def _spread(rows: list[Mapping]) -> dict[str, list[int]]:
    """The positives of each trial of a cell of several seeds, and its counters by 'counter/NAME'."""
    found: dict[str, dict[int, int]] = {}
    for row in rows:
        counters = {f"{_COUNTER}{name}": count for name, count in (row.get("counters") or {}).items()}
        counted = {"positives": row.get("positives"), **counters}
        for name, value in counted.items():
            if value is not None:
                found.setdefault(name, {})[row["trial"]] = value
    return {name: [*values.values()] for name, values in found.items()}


def _cell(key: tuple, rows: list[Mapping], planned: int | None, load: str) -> Cell:
    first, (status, reason) = rows[0], status_of(rows, planned)
    values = {name: next((v for row in rows if (v := row.get(name)) is not None), None) for name in _FIRST_VALUES}
    checks = [v for row in rows if (v := row.get("verified")) is not None]
    if first.get("seed") is None and len({row["trial"] for row in rows}) > 1:
        counts = _spread(rows)
        means = {name: round(sum(each) / len(each)) for name, each in counts.items()}
        counters = {name.removeprefix(_COUNTER): mean for name, mean in means.items() if name.startswith(_COUNTER)}
        values |= {"positives": means.get("positives"), "counters": counters or None}
        values["spread"] = {name: (min(each), max(each)) for name, each in counts.items()}
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
        load=load,
        **values,
    )


def _times(rows: Iterable[Mapping]) -> dict[tuple[str, str], dict[int, float]]:
    """ms by trial, in ascending order, by (under, phase)."""
    found: dict[tuple[str, str], dict[int, float]] = {}
    for row in rows:
        if row["phase"] and row["ms"] is not None and row["status"] == "ok":
            found.setdefault((row["under"] or "", row["phase"]), {})[row["trial"]] = float(row["ms"])
    if not whole_ready(found):
        found = {name: times for name, times in found.items() if "ready" not in name}
    return {name: dict(sorted(times.items())) for name, times in found.items()}


def whole_ready(phases: Collection[tuple[str, str]]) -> bool:
    """Whether `ready` of a cell with these phases, (under, phase), is the whole time from edges.

    Older versions subtracted excluded phases (transfers, allocations and renumbering of a GPU) from it. Such cells
    have a part `build` of `ready` and no parts for these phases; their `ready` is not shown.
    """
    parts = {phase for under, phase in phases if under == "ready"}
    excluded = {phase for under, phase in phases if not under} - {"label", "query", "single", "ready", "arrange"}
    return "build" not in parts or excluded <= parts


@dataclass(frozen=True, eq=False)
class Run:
    """A run as it was read: its folder, its environment, its current rows, and what was left out at the end.

    environment  that in which the rows were measured (`machines.measuring`); `stored` is as its file has it
    """

    folder: Path
    environment: Mapping[str, Any] = field(default_factory=dict)
    rows: list[dict] = field(default_factory=list)
    damage: Damage = Damage()
    stored: Mapping[str, Any] | None = None

    @cached_property
    def cells(self) -> list[Cell]:
        """The cells in the order of their first rows."""
        return cells(self.rows, environment=self.environment)

    def rowless(self, **changes: Any) -> Run:
        """The run with its cells and without its rows, which take most of its memory, and with other fields."""
        found = replace(self, rows=[], **changes)
        found.__dict__["cells"] = self.cells
        return found

    @cached_property
    def by_key(self) -> dict[tuple, Cell]:
        """The cells by `Cell.key`."""
        return {cell.key: cell for cell in self.cells}

    @property
    def name(self) -> str:
        """The name of its folder, or of its pack without the ending."""
        return pack.name_of(self.folder)

    @property
    def title(self) -> str:
        return f"Run {self.name}"

    @property
    def problems(self) -> list[str]:
        """The problems of its cells, each once."""
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
        """The fingerprint of the machine; None when it is not known."""
        return self.environment.get("fingerprint")

    @property
    def mixed(self) -> bool:
        """True if its sessions were on different machines, so that its times cannot be compared with one another."""
        return any(before.get("fingerprint") != self.fingerprint for before in self.environment.get("earlier", ()))

    @property
    def machine(self) -> str:
        """Processor, cores, GPUs and commit in one line."""
        return words.machine(self.environment, whole=False)


def load(run: str | os.PathLike | None = None) -> Run:
    """Read a run, given its folder, its name or its pack (whose file is its `folder` then), or None for the latest run
    that has a row. Raises InputError when there is no such run, or no whole pack, and the errors of `read`."""
    place = folder.latest_results() if run is None else pack.place_of(run)
    with pack.folder_of(place) as where:
        return replace(read(where), folder=place)


def joined(runs: Iterable[Run]) -> Run:
    """At least one run as one: the first, with the rows of cells that only later ones have, and the environments of
    these as earlier sessions, so that `mixed` says whether all are of one machine."""
    first, *others = runs
    rows, have = list(first.rows), {cell_of(row) for row in first.rows}
    for run in others:
        more = [row for row in run.rows if cell_of(row) not in have]
        rows += more
        have |= {cell_of(row) for row in more}
    earlier = [*first.environment.get("earlier", ())]
    for run in others:
        earlier += [*run.environment.get("earlier", ()), run.environment]
    return Run(first.folder, {**first.environment, "earlier": earlier}, rows, first.damage)


def read(where: Path) -> Run:
    """Read the run in a folder. Raises InputError for a wrong row or environment.

    An incomplete trial at the end is left out. The files are not changed.
    """
    folder.protect(where)
    rows, damage = folder.read_rows(where)
    rows, stored = folder.current(rows), folder.read_environment(where)
    return Run(where, machines.measuring(stored, rows), rows, damage, stored)


def of_machine(run: Run, machine: str | None = None) -> Run:
    """The run, or what one machine measured of it: only such cells may be one ratio.

    Raises InputError, which names the machines, if workers on unlike machines measured it and none is chosen, or if no
    machine is named so.
    """
    stored = run.environment if run.stored is None else run.stored
    if not stored.get("workers") and machine is None:
        return run
    environment, rows = machines.one(stored, run.rows, machine)
    return replace(run, environment=machines.measuring(environment, rows), rows=rows)
