"""Comparison of two runs: exact counters, times with their intervals, and lost cells.

Cells are matched by configuration, query set and graph, not by code or machine. The verdict and the means use the cells
that both runs have; the other cells are listed apart. 'Statistics and gates' of the docs says what a regression
is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from grailbench.compare.ratios import order
from grailbench.compare.stability import is_unstable
from grailbench.errors import CheckFailed, InputError, NothingMeasured
from grailbench.harness import pack, provenance, statistics
from grailbench.harness.cells import Cell, Run, load
from grailbench.harness.rows import TIMED, grouped
from grailbench.harness.statistics import Interval
from grailbench.problems.contract import neutral, problem, registered
from grailbench.util import settings, words
from grailbench.util.visible import quoted

ABSENT = "absent"
OTHER_ANSWERS = "answers differ: the queries are others, or a side is wrong"
SAMPLED = ", sampled"  #: ends the unit of times of cells whose answers were not all checked
_SAME = ("dataset", "query_set", "seed", "graph_sha256")  # of a cell and the reference that is its unit
_NAMED = 3  #: cells that an error names
MIN_TRIALS = 5  #: with fewer trials, the interval of a ratio excludes 1 by chance too often

Verdict = Literal["regression", "improvement", "unclear", "small", "same", "changed", "note"]
Ratio = Annotated[float, Field(gt=1.0, le=1000.0)]
Ms = Annotated[float, Field(ge=0.0, le=1e9)]


class Gate(BaseModel):
    """How much a time may grow before it is a regression: the keys of a gate's file.

    ratio       the largest new / base that is not a regression, for two runs on one machine
    across      the same for times in units of the reference, if the machines differ or `times` is 'reference'
    least_ms    a smaller difference is noise of clock and caches, whatever its ratio: "small"
    reference   the implementation whose times in the same run are the unit
    metrics     phases to compare: 'label', or 'label/NAME' for a phase within it
    times       'auto': ms on one machine, else the reference; 'reference': always the reference; 'none': only counters
    require_all True if a cell or counter that only one run has is a regression; otherwise it is only listed
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    ratio: Ratio = 1.10
    across: Ratio = 2.0
    least_ms: Ms = 0.05
    reference: str | None = None
    metrics: Annotated[list[str], Field(min_length=1)] = ["label", "query", "ready", "solve"]
    times: Literal["auto", "reference", "none"] = "auto"
    require_all: bool = False


@dataclass(frozen=True)
class CellChange:
    """A cell that cannot be compared, and why. `base` and `new` are statuses, 'absent' for a run without the cell."""

    dataset: str
    label: str
    base: str
    new: str
    reason: str
    verdict: Verdict


@dataclass(frozen=True)
class CounterChange:
    """A counter that differs; its value is None in a run without it."""

    dataset: str
    label: str
    counter: str
    base: int | None
    new: int | None
    verdict: Verdict


@dataclass(frozen=True)
class Side:
    """One run's times of a phase: the median in ms, then the median, its interval and the least time in the unit of the
    comparison, the number of outliers, and the drift."""

    trials: int
    ms: float
    median: float
    interval: Interval
    least: float
    outliers: int
    drift: float | None


@dataclass(frozen=True)
class TimeChange:
    """A phase of a cell that both runs timed.

    unit      'ms', or implementation and phase of the reference ('dfs query'); with `SAMPLED` at the end if not all
              answers of one of the cells were checked
    ratio     new / base of the medians, with the bootstrap interval `bounds`; `least` is that of the least times
    allowed   the largest ratio that the gate allows
    ms        new - base, in ms on the new run's machine
    """

    dataset: str
    label: str
    phase: str
    unit: str
    base: Side
    new: Side
    ratio: float
    bounds: Interval
    least: float
    allowed: float
    ms: float
    verdict: Verdict

    @property
    def sampled(self) -> bool:
        """True if not all answers of one of the cells were checked."""
        return self.unit.endswith(SAMPLED)

    @property
    def drifts(self) -> bool:
        """True if the trials of one of the cells drifted, which makes its interval less reliable."""
        return self.base.drift is not None or self.new.drift is not None


@dataclass(frozen=True)
class LeftOut:
    """A phase of a cell of both runs that was not compared, and why."""

    dataset: str
    label: str
    phase: str
    reason: str


Change = CellChange | CounterChange | TimeChange | LeftOut


@dataclass(frozen=True)
class MeanChange:
    """The geometric mean of new / base over the graphs of a configuration and phase; see `TimeChange` for `sampled`."""

    label: str
    phase: str
    mean: statistics.Mean
    sampled: bool = False


@dataclass
class Comparison:
    """The result of comparing two runs.

    how      how times were compared, in words
    matched  number of cells that both runs have
    counted  number of counters that were compared
    cells    the matched cells that were lost, or cannot be compared
    one_sided  the cells that only one of the runs has
    """

    base: Run
    new: Run
    how: str
    matched: int = 0
    counted: int = 0
    cells: list[CellChange] = field(default_factory=list)
    one_sided: list[CellChange] = field(default_factory=list)
    counters: list[CounterChange] = field(default_factory=list)
    times: list[TimeChange] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    means: list[MeanChange] = field(default_factory=list)

    def of(self, verdict: Verdict) -> list:
        """The changes with this verdict: cells first, then counters, then times."""
        changes = (*self.cells, *self.one_sided, *self.counters, *self.times)
        return [each for each in changes if each.verdict == verdict]

    @property
    def compared(self) -> bool:
        """False if the runs have no counter and no time in common and no matched cell was lost."""
        lost = any(each.verdict == "regression" for each in self.cells)
        return self.matched > 0 and bool(self.counted or self.times or lost)

    def only(self, side: Literal["base", "new"]) -> list[CellChange]:
        """The cells that only this run has."""
        other = "new" if side == "base" else "base"
        return [each for each in self.one_sided if getattr(each, other) == ABSENT]

    @property
    def exit_code(self) -> int:
        """0, or 1 if there is a regression, or 3 if nothing could be compared."""
        return 3 if not self.compared else 1 if self.of("regression") else 0

    def check(self) -> None:
        """Raises CheckFailed if there is a regression, NothingMeasured if nothing could be compared."""
        if not self.compared:
            raise NothingMeasured(f"nothing comparable in {self.base.folder} and {self.new.folder}: {self._why()}")
        if count := len(self.of("regression")):
            raise CheckFailed(f"{words.count(count, 'regression')} of {self.new.name} from {self.base.name}")

    def _why(self) -> str:
        if not self.matched:
            return "no cell is the same in configuration, query set and graph"
        reasons = dict.fromkeys(each.reason for each in self.left_out)
        return "; ".join(["no counters in both", *reasons])


def gate_of(path: str | os.PathLike | None, **given) -> Gate:
    """The gate of a file (None: the default gate), with the given keys replaced unless they are None or [].

    Raises InputError, with the file and the line or key, if the file is invalid.
    """
    gate = Gate() if path is None else settings.read(Path(path), Gate)
    return gate.model_copy(update={name: value for name, value in given.items() if value})


def of_runs(base: str | os.PathLike, new: str | os.PathLike, gate: Gate | None = None) -> Comparison:
    """Read two runs and compare them. Raises InputError if one is not a run."""
    return compare(load(base), load(new), gate or Gate())


def compare(base: Run, new: Run, gate: Gate) -> Comparison:
    """Compare two runs. Raises InputError if neither run has the gate's reference, or neither measured its metrics."""
    gate = with_last_phases(gate, base, new)
    _check_names(base, new, gate)
    clock = Clock(base, new, gate)
    found = Comparison(base, new, clock.how)
    lists = {CellChange: found.cells, CounterChange: found.counters, TimeChange: found.times, LeftOut: found.left_out}
    for key, old in base.by_key.items():
        now = new.by_key.get(key)
        if now is None or (old.graph_sha256 and now.graph_sha256 and old.graph_sha256 != now.graph_sha256):
            found.one_sided.append(_one_sided(old, now, gate))
        else:
            found.matched += 1
            for change in changes(old, now, gate, clock):
                if isinstance(change, CounterChange):
                    found.counted += None not in (change.base, change.new)
                if not (isinstance(change, CounterChange) and change.verdict == "same"):
                    lists[type(change)].append(change)
    found.one_sided += [_one_sided(None, cell, gate) for key, cell in new.by_key.items() if key not in base.by_key]
    found.means = _means(found, gate)
    return found


def _one_sided(old: Cell | None, now: Cell | None, gate: Gate) -> CellChange:
    """The change for a cell that only one run has; or, with both, for cells on different graphs of the same name."""
    cell = now if old is None else old
    base, new = (ABSENT if each is None else each.status for each in (old, now))
    reason = "" if old is None or now is None else "the graph of that name is another one"
    return CellChange(cell.dataset, cell.name, base, new, reason, "regression" if gate.require_all else "note")


def with_last_phases(gate: Gate, *runs: Run) -> Gate:
    """The gate. If it does not set `metrics`, the last phases of the runs' problems are added to them."""
    if "metrics" in gate.model_fields_set:
        return gate
    last = [problem(name).phases[-1] for run in runs for name in run.problems]
    return gate.model_copy(update={"metrics": list(dict.fromkeys([*gate.metrics, *last]))})


def _check_names(base: Run, new: Run, gate: Gate) -> None:
    known = dict.fromkeys([*base.implementations, *new.implementations])
    if gate.reference is not None and known and gate.reference not in known:
        raise InputError(f"no cell of the reference {gate.reference!r}", remedy=f"the runs have {', '.join(known)}")
    phases = dict.fromkeys(phase for run in (base, new) for cell in run.cells for phase in cell.timed)
    if phases and phases.keys().isdisjoint(gate.metrics):
        metrics = ", ".join(repr(metric) for metric in gate.metrics)
        raise InputError(f"no phase {metrics} was measured", remedy=f"the runs have {', '.join(phases)}")


def changes(old: Cell, now: Cell, gate: Gate, clock: Clock) -> Iterator[Change]:
    """What is found of a cell in two runs: that it is lost, found again, or has other answers; or else its counters and
    the times of the gate's phases, also those that are the same or cannot be compared."""

    def of_cell(reason: str, verdict: Verdict) -> CellChange:
        return CellChange(old.dataset, old.name, old.status, now.status, reason, verdict)

    if not old.sound:
        if now.sound:
            yield of_cell(old.reason, "note")
    elif not now.sound:
        yield of_cell(now.reason, "regression")
    elif old.checksum and now.checksum and old.checksum != now.checksum:
        yield of_cell(OTHER_ANSWERS, "regression")
    else:
        if now.status != old.status:  # one is incomplete or sampled: what both have can be compared
            yield of_cell(now.reason or old.reason, "note")
        yield from _counter_changes(old, now, gate)
        for phase in gate.metrics:
            if phase in old.timed or phase in now.timed:
                change = clock.change(old, now, phase)
                if isinstance(change, TimeChange) and "sampled" in (old.status, now.status):
                    change = replace(change, unit=change.unit + SAMPLED)
                yield change


# ------------------------------------------------------------------ counters


def _counter_changes(old: Cell, now: Cell, gate: Gate) -> Iterator[CounterChange]:
    """The counters of both cells. One that the timing of threads changes is left out if it is another one.

    More work is a regression and less is an improvement. A counter that only the base run has is a regression; one that
    only the new run has is a regression if all are required.
    """
    before, after = old.counters or {}, now.counters or {}
    known = registered(now.impl, now.problem)
    varying, outcomes = () if known is None else known.varying, neutral(now.problem)
    for name in dict.fromkeys([*before, *after]):
        a, b = before.get(name), after.get(name)
        if a == b:
            verdict = "same"
        elif a is None:
            verdict = "regression" if gate.require_all else "note"
        elif b is None:
            verdict = "regression"
        elif name in varying:
            continue
        elif name in outcomes:
            verdict = "changed"
        else:
            verdict = "regression" if b > a else "improvement"
        yield CounterChange(old.dataset, old.name, name, a, b, verdict)


# ------------------------------------------------------------------ times


class Clock:
    """Compares the times of two runs: in ms, in units of the reference's times, or not at all.

    same    True if both runs are from one machine
    direct  True if times are compared in ms
    reason  why no time can be compared, '' if times can be
    """

    def __init__(self, base: Run, new: Run, gate: Gate):
        self.base, self.new, self.gate = base, new, gate
        known = base.fingerprint is not None and not (base.mixed or new.mixed)
        self.same = known and base.fingerprint == new.fingerprint
        self.direct = self.same and gate.times == "auto"
        self.reason = ""
        if gate.times == "none":
            self.reason = "the gate compares no times"
        elif base.mixed or new.mixed:
            self.reason = "a run was measured on more than one machine"
        elif not self.direct and gate.reference is None:
            self.reason = "no reference" if self.same else "other machine, and no reference implementation is named"

    @property
    def how(self) -> str:
        """How times are compared, in words."""
        if self.reason:
            return f"no times: {self.reason}"
        unit = "ms" if self.direct else f"units of {self.gate.reference} in the same run"
        return f"times in {unit}, {'one machine' if self.same else 'two machines (or their software differs)'}"

    def change(self, old: Cell, now: Cell, phase: str) -> TimeChange | LeftOut:
        """The comparison of one phase of a cell, or the reason why there is none."""
        cells, pair = (old, now), (None, None)
        reason = self.reason or _untimed(old, now, phase)
        if not reason and not self.direct:
            pair, reason = self._pair(old, now)
        if reason:
            return LeftOut(old.dataset, old.name, phase, reason)
        found = self._judged(cells, phase, pair)
        if self.same and not self.direct and found.verdict in ("regression", "improvement"):
            plain = self._judged(cells, phase, (None, None))
            if plain.verdict != found.verdict:  # the reference or the machine changed, not the cell
                return replace(found, verdict="unclear")
        return found

    def _judged(self, cells: tuple[Cell, Cell], phase: str, pair: tuple[Cell | None, Cell | None]) -> TimeChange:
        """The comparison of the times of two cells, in ms or in units of a pair of cells of the reference."""
        alike = all(cell and cell.dim is not None and not _untimed(cell, cell, phase) for cell in pair)
        others = phase if alike or pair[0] is None else pair[0].last_phase  # a reference that builds labels has `phase`
        base, new = (_Timed(cell, phase, unit, others) for cell, unit in zip(cells, pair, strict=True))
        most = self.gate.ratio if self.same else self.gate.across
        ms, ratio = (new.side.median - base.side.median) * new.unit_ms, new.side.median / base.side.median
        shuffled = np.random.default_rng(2).permutation(new.draws)  # draws with equal seeds are not independent
        least, bounds = new.side.least / base.side.least, statistics.interval_of(shuffled / base.draws)
        overlap = new.scaled.min() <= base.scaled.max() and base.scaled.min() <= new.scaled.max()
        clear = order(bounds) != 0 and not (overlap and any(is_unstable(each, (phase,), load=False) for each in cells))
        verdict = _time_verdict(ratio, least, clear, most)
        if abs(ms) < self.gate.least_ms:
            verdict = "small" if verdict in ("regression", "improvement") else "same"
        return TimeChange(cells[0].dataset, cells[0].name, phase, base.unit, base.side, new.side, ratio, bounds, least,
                          most, ms, verdict)  # fmt: skip

    def _pair(self, old: Cell, now: Cell) -> tuple[tuple[Cell, Cell] | None, str]:
        """The reference's cells of the same graph and queries in both runs, or why there are none."""
        if old.impl == self.gate.reference:
            return None, "is the unit"
        pairs = [(cell, self.new.by_key[key]) for key, cell in self.base.by_key.items()
                 if cell.impl == self.gate.reference and key in self.new.by_key]  # fmt: skip
        pairs = [pair for pair in pairs if all(
            its.sound and all(getattr(its, name) == getattr(own, name) for name in _SAME)
            for its, own in zip(pair, (old, now), strict=True))]  # fmt: skip
        likest = max(pairs, key=lambda pair: sum(pair[0].axes[name] == old.axes[name] for name in old.axes), default=())
        if not likest:
            return None, f"no {self.gate.reference} of the same graph and queries in both runs"
        faults = [fault for cell in likest if (fault := _untimed(cell, cell, cell.last_phase))]
        return (None, f"{self.gate.reference}: {faults[0]}") if faults else (likest, "")


def _time_verdict(ratio: float, least: float, clear: bool, most: float) -> Verdict:
    """The verdict on a ratio of medians; `clear` is False where 1 lies in its interval, or where a side is unstable and
    trials of the two overlap. Other work on the machine only adds time, so a change of the code also shows in the ratio
    of the least times, here by half of the gate on a log scale.
    """
    if 1.0 / most <= ratio <= most:
        return "same"
    if not clear or (least if ratio > 1.0 else 1.0 / least) < most**0.5:
        return "unclear"
    return "regression" if ratio > most else "improvement"


class _Timed:
    """The times of a phase: what is told of them as a `side`, the trials in their unit, and draws of the median."""

    def __init__(self, cell: Cell, phase: str, reference: Cell | None, others: str):
        ms = cell.sample(phase)
        self.unit, self.unit_ms, least, self.draws = "ms", 1.0, ms.min(), statistics.resampled(ms)
        if reference is not None:
            units = reference.sample(others)
            self.unit, self.unit_ms, least = f"{reference.impl} {others}", float(np.median(units)), least / units.min()
            if cell.timed[phase].keys() == reference.timed[others].keys():
                self.draws = statistics.resampled(ms, beside=units)
            else:
                self.draws = self.draws / statistics.resampled(units, seed=2)
        self.scaled, median, interval = ms / self.unit_ms, float(np.median(ms)), statistics.interval_of(self.draws)
        outliers, drift = int(statistics.outliers(ms).sum()), statistics.drift(ms)
        self.side = Side(ms.size, median, median / self.unit_ms, interval, float(least), outliers, drift)


def _untimed(old: Cell, now: Cell, phase: str) -> str:
    """Why the times of a phase of two cells cannot be compared, '' if they can be."""
    for side, cell in (("base", old), ("new", now)):
        size = cell.sample(phase).size
        if size == 0:
            return f"not measured in the {side} run"
        if size < MIN_TRIALS:
            return f"{words.count(size, 'trial')} in the {side} run, {MIN_TRIALS} are needed"
        if not (cell.sample(phase) > 0.0).all():
            return f"a time of 0 ms in the {side} run"
    return ""


# ------------------------------------------------------------------ means over graphs


def _means(found: Comparison, gate: Gate) -> list[MeanChange]:
    """One mean per configuration and phase that was compared on at least two graphs; lost cells count as missing.

    Phases shorter than `least_ms` in both runs are left out: their ratios are noise of the clock.
    """
    ratios: dict[tuple[str, str], list[float | None]] = {}
    sampled: set[tuple[str, str]] = set()
    for each in found.times:
        if max(each.base.ms, each.new.ms) >= gate.least_ms:
            ratios.setdefault((each.label, each.phase), []).append(each.ratio)
            sampled |= {(each.label, each.phase)} if each.sampled else set()
    for lost in (cell for cell in found.cells if cell.base == "ok" and cell.new != "ok"):
        for label, phase in ratios:
            if label == lost.label:
                ratios[label, phase].append(None)
    return [
        MeanChange(label, phase, mean, (label, phase) in sampled)
        for (label, phase), values in ratios.items()
        if len(values) > 1 and (mean := statistics.geometric_mean(values)) is not None
    ]


# ------------------------------------------------------------------ the new run as the baseline


def accept(found: Comparison) -> list[str]:
    """Take the new run of a comparison as the baseline: in the place of its base, whole or not at all
    (`provenance.accept`). Regressions of times and counters do not hinder it. Returns sentences on what was done.

    Raises CheckFailed if the new run lacks cells of the base, has wrong, failed or incomplete ones, or other answers;
    InputError if its rows are damaged, and the errors of `provenance.accept`;
    NothingMeasured if the runs have nothing in common. The baseline is then as it was.
    """
    if not found.compared:
        raise NothingMeasured(f"nothing comparable in {found.base.folder} and {found.new.folder}: nothing is accepted")
    new = found.new
    if new.damage.torn or new.damage.rows or not new.rows:
        raise InputError(
            "its last trial is cut short", path=new.folder, remedy=f"grailbench run --resume={quoted(new.folder)}"
        )
    if faults := list(_faults(found)):
        raise CheckFailed(f"{new.name} is not accepted as the baseline: {'; '.join(faults)}")
    done = provenance.accept(found.base.folder, new.folder)
    if slower := len(found.of("regression")):
        done.append(f"its {words.count(slower, 'regression')} from the old baseline will not be reported again")
    return done


def _faults(found: Comparison):
    """What the new run lacks or has wrong, in words."""
    status = grouped(
        (cell for cell in found.new.cells if cell.status in ("failed", "incomplete")
         or cell.status == "wrong" and not pack.racy(cell.problem, cell.impl)),
        lambda cell: cell.status,
    )  # fmt: skip
    for word, cells in status.items():
        yield _named(f"{word} in it", [f"{cell.dataset} {cell.name}" for cell in cells])
    absent = [each for each in found.only("base") if each.base in TIMED]
    if absent:
        yield _named("not in it", [f"{each.dataset} {each.label}" for each in absent])
    lost = [each for each in found.cells if each.verdict == "regression" and each.new not in status]
    if lost:
        yield _named("lost", [f"{each.dataset} {each.label} ({each.reason or each.new})" for each in lost])


def _named(what: str, names: list[str]) -> str:
    return f"{words.count(len(names), 'cell')} {what}: {words.listing(names, _NAMED)}"
