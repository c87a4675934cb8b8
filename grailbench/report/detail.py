"""Every cell and phase with its statistics, as a data frame: what CSV files of cells hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from grailbench.compare.stability import Verdict
from grailbench.harness import axes
from grailbench.harness.cells import Cell

if TYPE_CHECKING:
    import pandas


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
            times |= said_of(said, phase, under)
            out.append({**base, "under": under, "phase": phase, "trials": 0, **times, **_weighed(cell, under, phase)})
    columns = ["dataset", "impl", *early, "seed", "query_set", *values, *late, "under", "phase", "trials", "mean",
               "mean_low", "mean_high", "median", "median_low", "median_high", "min", "iqr", "outliers", "drift",
               "stability", "unstable_by", "joules", "idle_watts", "meters", *after]  # fmt: skip
    return pandas.DataFrame(out, columns=columns)


def said_of(said: Verdict | None, phase: str = "", under: str = "") -> dict[str, str]:
    """The columns of a verdict: its word on the cell, and the rules that speak against a phase, or against any; nothing
    of a part of a phase."""
    if said is None:
        return {}
    rules = said.of(phase) if phase else said.rules
    return {"stability": said.word, "unstable_by": "" if under else "; ".join(rules)}


def _weighed(cell: Cell, under: str, phase: str) -> dict[str, Any]:
    if under or (joules := cell.joules(phase)) is None:
        return {}
    meters = "+".join(cell.energies.meters(phase))
    return {"joules": joules, "idle_watts": cell.energies.idle_watts(phase), "meters": meters}
