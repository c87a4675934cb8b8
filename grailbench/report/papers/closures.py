"""Runs of `--problem closure`: the closure report's figures 5 to 8 with ours beside, and a table of all cells.

The graphs are those that `grailbench.graph.generate.shapes` makes from their names; others stand in the table alone.
Figures show means over a cell's trials, as the report does, and the range between the least and the greatest.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from grailbench.graph.generate import parse_shape
from grailbench.report import measured
from grailbench.report.figures import Figure
from grailbench.report.footnotes import Footnotes
from grailbench.report.table import Table, numbers
from grailbench.runs.cells import NOT_FROM_EDGES, Cell
from grailbench.words import BLANK, ms

if TYPE_CHECKING:
    import pandas

PROBLEM = "closure"
SMALL = 1000  #: vertices up to which figures 5 and 6 go
KERNELS = ("floyd-warshall", "matmul", "naive", "pinned", "zero-copy", "pitched", "pitched-2d", "tiled", "managed",
           "sssp-each")  # fmt: skip
OURS = ("warshall-bits", "condense-bits", "warshall-bits-gpu", "condense-bits-gpu")
FAST = ("tiled", "managed", "sssp-each", *OURS)  #: what figure 8 shows
TITLES = {
    "custom": "custom graph",
    "erdos-renyi": "Erdős-Rényi graph",
    "random-tree": "random tree",
    "scale-free": "scale-free graph",
}
_CELL = ["dataset", "impl", "threads"]
_HEAD = ("dataset", "kind", "density", "vertices", "edges", "impl", "number", "status")

#: name to title and how to read it
FIGURES = {
    "closure-5": (
        "Closure times, small graphs (Fenz et al. 2022, figure 5)",
        "Mean ms from host memory to host memory against vertices, log time; the shade is from the least to the "
        "greatest trial. In brackets the report's kernel numbers; those without are ours.",
    ),
    "closure-6": (
        "Copies (Fenz et al. 2022, figure 6)",
        "Mean ms of device time to copy the input to the device and the closure back, over the kinds of graph of one "
        "size; the shade is from the least to the greatest. sssp-each copies row by row, timed by the host; "
        "zero-copy copies nothing.",
    ),
    "closure-7": (
        "CPU against GPU (Fenz et al. 2022, figure 7)",
        "Mean ms from host memory to host memory on Erdős-Rényi graphs of low and high density, log time.",
    ),
    "closure-8": (
        "Closure times, large graphs (Fenz et al. 2022, figure 8)",
        "Mean ms from host memory to host memory, log time; the shade is from the least to the greatest trial.",
    ),
    "closure-kernels": (
        "Device time of the closure itself",
        "Mean ms of phase kernel (events on the device): neither copies nor counting. Log axes.",
    ),
}


def series_name(impl: str) -> str:
    """'tiled (7)', with the report's number of a kernel."""
    return f"{impl} ({KERNELS.index(impl)})" if impl in KERNELS else impl


def cells(found: Iterable[Cell]) -> pandas.DataFrame:
    """A line a cell and phase ('solve', 'kernel', 'ready', ...), but for the parts of `ready`: `_HEAD`, threads, phase,
    trials, their statistics, edges of the closure.

    A cell without a sound time has one line, its phase ''. `density` is None where the kind has none, `kind` '' for a
    graph of another making.
    """
    import pandas

    lines = []
    for cell in _ordered(found):
        shape = parse_shape(cell.dataset)
        head = {
            "dataset": cell.dataset,
            "kind": shape.kind if shape else "",
            "density": shape.density if shape else None,
            "vertices": cell.vertices,
            "edges": cell.edges,
            "impl": cell.impl,
            "number": KERNELS.index(cell.impl) if cell.impl in KERNELS else None,
            "status": cell.status,
            "threads": cell.threads or None,
            "reason": cell.reason,
        }
        phases = {phase: s for (under, phase), s in cell.phases.items() if under != "ready"} if cell.sound else {}
        lines += [] if phases else [head | {"phase": ""}]
        for phase, s in phases.items():
            lines.append(head | {
                "phase": phase, "trials": s.trials, "mean": s.mean, "least": s.least, "most": s.most,
                "median": s.median, "closure": cell.positives,
            })  # fmt: skip
    columns = [*_HEAD, "threads", "phase", "reason", "trials", "mean", "least", "most", "median", "closure"]
    return pandas.DataFrame(lines, columns=columns)


def _ordered(found: Iterable[Cell]) -> list[Cell]:
    """The cells of the problem graph by graph, in the order in which the graphs came, implementations in `order`."""
    own = [cell for cell in found if cell.problem == PROBLEM]
    datasets, impls = list(dict.fromkeys(cell.dataset for cell in own)), order(cell.impl for cell in own)
    return sorted(own, key=lambda cell: (datasets.index(cell.dataset), impls.index(cell.impl)))


def _whole(value) -> int | None:
    import pandas

    return None if pandas.isna(value) else int(value)


def figures(found: Iterable[Cell]) -> dict[str, Figure]:
    """Every figure of a run by name; one without data has an empty frame."""
    found = cells(found)
    solved = found[(found.phase == "solve") & found.kind.isin(list(TITLES))]
    copied = found[found.phase.isin(["host_to_device", "device_to_host"]) & (found.kind != "")]
    renyi = solved[solved.kind == "erdos-renyi"]
    large = set(solved.vertices[solved.vertices > SMALL])
    frames = {
        "closure-5": solved[solved.vertices <= SMALL],
        "closure-6": _copies(copied[copied.vertices <= SMALL]),
        "closure-7": renyi[renyi.impl.isin(["floyd-warshall", *FAST]) & (renyi.vertices >= SMALL)],
        "closure-8": solved[solved.impl.isin(FAST) & (solved.vertices >= SMALL)] if large else solved[:0],
        "closure-kernels": found[(found.phase == "kernel") & found.kind.isin(list(TITLES))],
    }
    return {name: Figure(name, *FIGURES[name], frame) for name, frame in frames.items()}


def _copies(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Over the kinds of graph of one size."""
    import pandas

    lines = []
    for (phase, impl, vertices), own in frame.groupby(["phase", "impl", "vertices"], sort=False):
        lines.append({
            "kind": "", "density": None, "vertices": vertices, "impl": impl, "phase": phase, "trials": own.trials.sum(),
            "mean": own["mean"].mean(), "least": own.least.min(), "most": own.most.max(),
        })  # fmt: skip
    columns = ["kind", "density", "vertices", "impl", "phase", "trials", "mean", "least", "most"]
    return pandas.DataFrame(lines, columns=columns)


def panel_name(row) -> str:
    """What a panel of figures 5, 7, 8 is called: 'custom graph, density 0.1'."""
    density = "" if row.density is None or row.density != row.density else f", density {row.density:g}"
    return f"{TITLES.get(row.kind, row.kind)}{density}"


def order(impls: Iterable[str]) -> list[str]:
    """Implementations in the order of the report, ours last, then others."""
    known = [*KERNELS, *OURS]
    return sorted(set(impls), key=lambda impl: (known.index(impl) if impl in known else len(known), impl))


# ------------------------------------------------------------------ the table

_PHASES = ("prepare", "condense", "host_to_device", "kernel", "count_edges", "device_to_host", "solve")
HEADERS = ["Graph", "implementation", "threads", "n", *(f"{name.replace('_', ' ')} ms" for name in _PHASES),
           "tiled / this", "edges of the closure", "status"]  # fmt: skip


def table(measurements: Iterable[Cell]) -> Table:
    """Medians of every cell, graphs in the order of the run, implementations in `order`; records and rows of the CSV
    are those of `cells`."""
    own = _ordered(measurements)
    found = cells(own)
    tiled = {
        phase: found[(found.impl == "tiled") & (found.phase == phase)].set_index("dataset")["median"].to_dict()
        for phase in ("solve", "ready")
    }
    sized = {(cell.dataset, cell.impl, cell.threads or None): measured.sizes(cell) for cell in own}
    whole, lines, sizes, foot = (found.phase == "ready").any(), [], [], Footnotes()
    for (dataset, impl, threads), own in found.groupby(_CELL, sort=False, dropna=False):
        first = own.iloc[0]
        medians = own.set_index("phase")["median"].to_dict()
        times = [ms(medians[name]) if name in medians else "" for name in _PHASES]
        ratios = [
            f"{base[dataset] / medians[phase]:.3g}" if dataset in base and phase in medians else ""
            for phase, base in tiled.items()
        ]
        ready = [ms(medians["ready"]) if "ready" in medians else BLANK, ratios[1]] if whole else []
        closed = "" if _whole(first.closure) is None else f"{int(first.closure):,}"
        lines.append([
            dataset, series_name(impl), str(_whole(first.threads) or ""), str(_whole(first.trials) or 0), *times,
            ratios[0], *ready, closed, foot.status(first.status, first.reason),
        ])  # fmt: skip
        sizes.append(sized[dataset, impl, _whole(threads)])
    notes = [
        "Medians over n trials; kernel numbers of Fenz et al. 2022 in brackets.",
        "solve is from host memory to host memory; kernel, copies and counting are parts of it, timed on the device.",
        "From edges: from raw edges in memory to the closure on the host, the input's form and allocation included."
        if whole
        else f"From edges: {NOT_FROM_EDGES}.",
        *foot.lines(),
    ]
    at = HEADERS.index("tiled / this") + 1
    columns = ["from edges ms", "tiled / this, from edges"] if whole else []
    headers, lines, more = measured.with_sizes([*HEADERS[:at], *columns, *HEADERS[at:]], lines, sizes)
    return Table(
        PROBLEM, PROBLEM, headers, lines, numbers(headers), keys=3, notes=[*notes, *more],
        records=measured.plain(found), file=PROBLEM, data=found,
    )  # fmt: skip
