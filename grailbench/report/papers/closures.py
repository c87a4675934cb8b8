"""Runs of `--problem closure` as the closure report's tables have them, ours beside.

The graphs are those that `grailbench.graph.generate.shapes` makes from their names, or others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from grailbench.graph.generate import parse_shape
from grailbench.report import measured
from grailbench.report.footnotes import Footnotes
from grailbench.report.table import Table, numbers
from grailbench.runs.cells import NOT_FROM_EDGES, Cell
from grailbench.words import BLANK, ms

if TYPE_CHECKING:
    import pandas

PROBLEM = "closure"
KERNELS = ("floyd-warshall", "matmul", "naive", "pinned", "zero-copy", "pitched", "pitched-2d", "tiled", "managed",
           "sssp-each")  # fmt: skip
OURS = ("warshall-bits", "condense-bits", "warshall-bits-gpu", "condense-bits-gpu")
_CELL = ["dataset", "impl", "threads"]
_HEAD = ("dataset", "kind", "density", "vertices", "edges", "impl", "number", "status")


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
    for cell in ordered(found):
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


def ordered(found: Iterable[Cell]) -> list[Cell]:
    """The cells of the problem graph by graph, in the order in which the graphs came, implementations in `order`."""
    own = [cell for cell in found if cell.problem == PROBLEM]
    datasets, impls = list(dict.fromkeys(cell.dataset for cell in own)), order(cell.impl for cell in own)
    return sorted(own, key=lambda cell: (datasets.index(cell.dataset), impls.index(cell.impl)))


def _whole(value) -> int | None:
    import pandas

    return None if pandas.isna(value) else int(value)


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
    own = ordered(measurements)
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
