"""Figures 5 to 8 of Fenz et al. 2022 with our implementations beside theirs, and a figure of device times.

The figures show graphs that `grailbench.graph.generate.shapes` generates from their names. A mark is the mean over the
trials of a cell, and its band the 95 % bootstrap interval of the mean.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from grailbench.harness.cells import Cell
from grailbench.report.figure import Axis, Figure, Mark, Marks, Panel
from grailbench.report.papers import closures
from grailbench.util.words import short

if TYPE_CHECKING:
    import pandas

SMALL = 1000  #: the most vertices of a graph in figures 5 and 6, and the fewest in figures 7 and 8
FAST = ("tiled", "managed", "sssp-each", *closures.OURS)  #: the implementations in figure 8
TITLES = {"custom": "custom graph", "erdos-renyi": "Erdős-Rényi graph", "random-tree": "random tree",
          "scale-free": "scale-free graph"}  # fmt: skip
_COPIES = {"host_to_device": "host to device", "device_to_host": "device to host"}


def figures(measured: Iterable[Cell]) -> dict[str, Figure]:
    """Every figure of a run by name; a figure without data has an empty form."""
    measured = closures.ordered(measured)
    found = closures.cells(measured)
    solved = found[(found.phase == "solve") & found.kind.isin(list(TITLES))]
    copied = found[found.phase.isin(list(_COPIES)) & (found.kind != "")]
    renyi = solved[solved.kind == "erdos-renyi"]
    frames = {
        "closure-5": solved[solved.vertices <= SMALL],
        "closure-6": _copies(copied[copied.vertices <= SMALL]),
        "closure-7": renyi[renyi.impl.isin(["floyd-warshall", *FAST]) & (renyi.vertices >= SMALL)],
        "closure-8": solved[solved.impl.isin(FAST) & (solved.vertices >= SMALL) & (solved.vertices > SMALL).any()],
        "closure-kernels": found[(found.phase == "kernel") & found.kind.isin(list(TITLES))],
    }
    bounds = _bounds(measured)
    return {name: Figure(name, frame, _marks(name, frame, bounds)) for name, frame in frames.items()}


def _copies(frame: pandas.DataFrame) -> pandas.DataFrame:
    """One row per phase, implementation and number of vertices: the times over all kinds of graphs."""
    import pandas

    lines = []
    for (phase, impl, vertices), own in frame.groupby(["phase", "impl", "vertices"], sort=False):
        lines.append(("", None, vertices, impl, phase, own.trials.sum(), own["mean"].mean(), own.least.min(),
                      own.most.max()))  # fmt: skip
    columns = ["kind", "density", "vertices", "impl", "phase", "trials", "mean", "least", "most"]
    return pandas.DataFrame(lines, columns=columns)


def _bounds(measured: Iterable[Cell]) -> dict[tuple, tuple[float, float]]:
    """The 95 % intervals of the means of the drawn phases, by dataset, implementation, threads and phase."""
    return {
        (cell.dataset, cell.impl, cell.threads or None, phase): (stats.low, stats.high)
        for cell in measured
        if cell.sound
        for (under, phase), stats in cell.phases.items()
        if phase in ("solve", "kernel") and under != "ready"
    }


def _marks(name: str, frame: pandas.DataFrame, bounds: dict[tuple, tuple[float, float]]) -> Marks:
    """A panel per kind of graph (in figure 6 per direction of copying), with a line per implementation."""
    copies = name == "closure-6"
    names, panels = closures.order(frame.impl), {}
    for row in frame[frame["mean"] > 0].itertuples():
        title = _COPIES[row.phase] if copies else _panel_name(row)
        series = closures.series_name(row.impl)
        if copies:
            low, high = row.least, row.most
        else:
            threads = int(row.threads) if row.threads == row.threads and row.threads is not None else None
            low, high = bounds[row.dataset, row.impl, threads, row.phase]
        mark = Mark(series, float(row.vertices), row.mean, f"{series}, {row.vertices:,} vertices: {short(row.mean)} ms "
                    f"({short(low)} to {short(high)})", low, high)  # fmt: skip
        panels.setdefault(title, []).append(mark)
    across = Axis("vertices", "log" if name == "closure-kernels" else "linear")
    found = tuple(Panel(title, tuple(marks)) for title, marks in panels.items())
    return Marks(found, tuple(closures.series_name(each) for each in names), across, Axis("ms"), lines=True)


def _panel_name(row) -> str:
    """The title of a panel of figures 5, 7 and 8: 'custom graph, density 0.1'."""
    density = "" if row.density is None or row.density != row.density else f", density {row.density:g}"
    return f"{TITLES.get(row.kind, row.kind)}{density}"
