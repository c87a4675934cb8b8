"""Runs of `--problem closure` in the form of the tables of Fenz et al. 2022, with our implementations beside theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from grailbench.compare.stability import Verdict
from grailbench.graph.generate import parse_shape
from grailbench.harness.cells import NOT_FROM_EDGES, Cell
from grailbench.harness.statistics import Stats
from grailbench.report import measured
from grailbench.report.measured import said_of
from grailbench.report.papers import Part, Place
from grailbench.report.table import Column, Table, tabulate
from grailbench.util.words import BLANK, grouped, ms

if TYPE_CHECKING:
    import pandas

PROBLEM = "closure"
KERNELS = ("floyd-warshall", "matmul", "naive", "pinned", "zero-copy", "pitched", "pitched-2d", "tiled", "managed",
           "sssp-each")  # fmt: skip
OURS = ("tiled-registers", "warshall-bits", "condense-bits", "warshall-bits-gpu", "condense-bits-gpu", "condense-pairs",
        "condense-pairs-gpu")  # fmt: skip
_HEAD = ("dataset", "kind", "density", "vertices", "edges", "impl", "number", "status")


def series_name(impl: str) -> str:
    """'tiled (7)': the name with the report's number of the kernel."""
    return f"{impl} ({KERNELS.index(impl)})" if impl in KERNELS else impl


def cells(found: Iterable[Cell], verdicts: Mapping[tuple, Verdict] | None = None) -> pandas.DataFrame:
    """A line per cell and phase ('solve', 'kernel', 'ready', ...) without the parts of `ready`: `_HEAD`, threads,
    phase, reason, the number of trials and their statistics (ms), the number of edges of the closure, and what the
    verdicts on the stability of cells, by key, say of it (`measured.said_of`).

    A cell without a sound time has one line with phase ''. `kind` and `density` are those of a graph that
    `grailbench.graph.generate.shapes` generates from its name; '' and None for other graphs.
    """
    import pandas

    lines = []
    for cell in ordered(found):
        shape = parse_shape(cell.dataset)
        head = {
            "dataset": cell.dataset, "kind": shape.kind if shape else "", "density": shape.density if shape else None,
            "vertices": cell.vertices, "edges": cell.edges, "impl": cell.impl,
            "number": KERNELS.index(cell.impl) if cell.impl in KERNELS else None, "status": cell.status,
            "threads": cell.threads or None, "reason": cell.reason,
        }  # fmt: skip
        timed = [{"phase": phase, "trials": s.trials, "mean": s.mean, "least": s.least, "most": s.most,
                  "median": s.median, "closure": cell.positives} for phase, s in _timed(cell).items()]  # fmt: skip
        said = (verdicts or {}).get(cell.key)
        lines += [head | each | said_of(said, each["phase"]) for each in timed or [{"phase": ""}]]
    columns = [*_HEAD, "threads", "phase", "reason", "trials", "mean", "least", "most", "median", "closure",
               "stability", "unstable_by"]  # fmt: skip
    return pandas.DataFrame(lines, columns=columns)


def _timed(cell: Cell) -> dict[str, Stats]:
    """The statistics of a sound cell's phases without the parts of `ready`; empty if the cell is not sound."""
    return {phase: s for (under, phase), s in cell.phases.items() if under != "ready"} if cell.sound else {}


def ordered(found: Iterable[Cell]) -> list[Cell]:
    """The cells of the problem, by graph in the order in which the graphs appear, then by implementation in `order`."""
    own = [cell for cell in found if cell.problem == PROBLEM]
    datasets, impls = list(dict.fromkeys(cell.dataset for cell in own)), order(cell.impl for cell in own)
    return sorted(own, key=lambda cell: (datasets.index(cell.dataset), impls.index(cell.impl)))


def order(impls: Iterable[str]) -> list[str]:
    """Implementations, each once: those of the report in its order, then ours, then any others by name."""
    known = [*KERNELS, *OURS]
    return sorted(set(impls), key=lambda impl: (known.index(impl) if impl in known else len(known), impl))


# ------------------------------------------------------------------ the table

_PHASES = ("prepare", "condense", "host_to_device", "allocate", "kernel", "sweep", "count_edges", "device_to_host",
           "pairs", "solve")  # fmt: skip
_OF_SOME = ("allocate", "sweep", "pairs")  #: phases that have a column only where they were timed
WITH_CYCLES = "pairs_with_cycles"  #: the counter of edges with one (v, v) for every vertex on a cycle


def table(measurements: Iterable[Cell], verdicts: Mapping[tuple, Verdict] | None = None) -> Table:
    """A line of medians per cell, in the order of `ordered`; records and CSV are those of `cells`."""
    own = ordered(measurements)
    medians = {cell.key: {phase: s.median for phase, s in _timed(cell).items()} for cell in own}
    tiled = {cell.dataset: medians[cell.key] for cell in own if cell.impl == "tiled"}
    whole = any("ready" in each for each in medians.values())

    def took(phase: str) -> Callable[[Cell], float | None]:
        return lambda cell: medians[cell.key].get(phase)

    def over(phase: str) -> Callable[[Cell], float | None]:
        def ratio(cell: Cell) -> float | None:
            base, mine = tiled.get(cell.dataset, {}).get(phase), medians[cell.key].get(phase)
            return None if base is None or mine is None else base / mine

        return ratio

    def counted(value: Callable[[Cell], int | None]) -> Callable[[Cell], int | None]:
        return lambda cell: value(cell) if medians[cell.key] else None

    columns = [
        Column("Graph", lambda cell: cell.dataset, key=True),
        Column("implementation", lambda cell: series_name(cell.impl), key=True),
        Column("threads", lambda cell: cell.threads or None, key=True),
        Column("n", lambda cell: cell.trials),
        *(Column(f"{phase.replace('_', ' ')} ms", took(phase), ms, usual=(None,) if phase in _OF_SOME else ())
          for phase in _PHASES),
        Column("tiled / this", over("solve"), "{:.3g}".format),
        *([Column("from edges ms", took("ready"), ms, none=BLANK),
           Column("tiled / this, from edges", over("ready"), "{:.3g}".format)] if whole else []),
        Column("edges of the closure", counted(lambda cell: cell.positives), grouped),
        Column("with (v, v) on cycles", counted(lambda cell: (cell.counters or {}).get(WITH_CYCLES)), grouped,
               usual=(None,)),
        *measured.size_columns(),
        measured.STATUS,
    ]  # fmt: skip
    notes = [
        "Medians over n trials; kernel numbers of Fenz et al. 2022 in brackets.",
        "solve is from host memory to host memory; kernel, copies and counting are parts of it, timed on the device, "
        "of what condenses there by the host.",
        "From edges: from raw edges in memory to the closure on the host, the input's form and allocation included."
        if whole
        else f"From edges: {NOT_FROM_EDGES}.",
    ]
    found = cells(own, verdicts)
    return tabulate(
        PROBLEM, PROBLEM, columns, own, notes=notes, after=measured.size_notes(own), records=measured.plain(found),
        file=PROBLEM, data=found,
    )  # fmt: skip


PARTS = (Part(PROBLEM, lambda report: [table(report.run.cells, report.verdicts)], (PROBLEM,), Place.PROBLEMS),)
