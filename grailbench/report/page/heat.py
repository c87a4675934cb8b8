"""The heat map: the speed-up of every configuration on every graph, as numbers on tinted cells.

The page's script recomputes it for another reference or phase.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from grailbench.harness.cells import Cell
from grailbench.harness.rows import SOUND
from grailbench.report import figures
from grailbench.report.draw import style
from grailbench.util.words import BLANK, short, times

LEVELS = 20  #: number of tints, each a class of the style sheet


class Tile(NamedTuple):
    """A cell of the map.

    kind    its CSS classes
    hint    the text that a pointer shows
    times   median ms by phase, as text
    absent  True if the run has no such cell
    over    of a mean: the number of graphs
    """

    text: str
    kind: str
    hint: str = ""
    times: tuple[tuple[str, str], ...] = ()
    absent: bool = False
    over: str = ""


class Line(NamedTuple):
    """The tiles of one graph, or the means over graphs."""

    name: str
    tiles: list[Tile]
    mean: bool = False


class Heat(NamedTuple):
    """The map: a line per graph and a column per configuration, in bodies that each end with a line of means."""

    configs: list[str]
    phases: list[str]
    reference: str
    phase: str
    bodies: list[list[Line]]


def heat(cells: Iterable[Cell], reference: str, phase: str, phases: Iterable[str]) -> Heat | None:
    """The heat map of the cells of one problem; None if no cell can be compared with the reference.

    reference, phase  the ones that the page shows first
    phases            the phases that a reader may choose
    """
    cells = figures.ordered(cells)
    frames = {name: figures.speedup(cells, reference, name) for name in dict.fromkeys([*phases, phase])}
    chosen = frames[phase]
    if chosen.speedup.notna().sum() == 0:
        return None
    phases = [name for name, frame in frames.items() if frame.ms.notna().any()]
    configs = list(dict.fromkeys(chosen.config))
    medians = {
        (row.dataset, row.queries, row.config, name): row.ms
        for name in phases for row in frames[name].itertuples() if row.ms == row.ms
    }  # fmt: skip
    bodies = []
    for (generated, queries), part in chosen.groupby(["generated", "queries"], sort=False):
        lines = []
        for (dataset,), own in part.groupby(["dataset"], sort=False):
            by_config = {row.config: row for row in own.itertuples()}
            known = [[(p, medians.get((dataset, queries, config, p))) for p in phases] for config in configs]
            tiles = [_tile(by_config.get(config), mine) for config, mine in zip(configs, known, strict=True)]
            lines.append(Line(figures.graph_label(next(own.itertuples())), tiles))
        means = {mean.config: mean for mean in figures.mean_speedups(part)}
        words = ("geometric mean", queries, "generated graphs" if generated else "")
        tiles = [_mean(means.get(config)) for config in configs]
        bodies.append([*lines, Line(", ".join(word for word in words if word), tiles, mean=True)])
    return Heat(configs, phases, reference, phase, bodies)


def rules() -> str:
    """The CSS classes of the tints."""
    return "\n".join(f".t{i} {{ --depth: {0.55 * i / LEVELS:.4g}; }}" for i in range(1, LEVELS + 1))


def _tile(row, medians: list[tuple[str, float | None]]) -> Tile:
    if row is None:
        return Tile("", "none", "not in the run", absent=True)
    if row.status not in SOUND:
        return Tile(row.status.upper(), "fault", row.reason or row.status)
    known = tuple((phase, repr(float(ms))) for phase, ms in medians if ms is not None)
    return Tile(*tint(row.speedup), f"{short(row.ms)} ms", known)


def tint(ratio: float | None) -> tuple[str, str]:
    """The text and CSS classes of a speed-up; the page's script does the same for another reference."""
    if ratio is None or ratio != ratio:
        return BLANK, "none"
    kind, level = "faster" if ratio > 1 else "slower" if ratio < 1 else "same", round(style.depth(ratio) * LEVELS)
    return times(ratio), f"{kind} t{level}" if level else kind


def _mean(mean: figures.MeanSpeedup | None) -> Tile:
    return Tile(BLANK, "none") if mean is None else Tile(*tint(mean.speedup), over=figures.over(mean))
