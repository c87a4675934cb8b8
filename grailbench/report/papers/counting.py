"""Runs of `--problem counts`: a line per graph and direction, counts and estimates beside searches by their rate."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from grailbench.compare.measures import grouped
from grailbench.compare.stability import Verdict, mark
from grailbench.harness.cells import Cell
from grailbench.report import measured
from grailbench.report.papers import Part, Place
from grailbench.report.table import Column, Table, tabulate
from grailbench.util.words import BLANK, short
from grailbench.util.words import grouped as thousands

PROBLEM = "counts"
EXACT = ("counts", ON_GPU := "counts-gpu")
SKETCH = "counts-sketch"


def table(cells: Iterable[Cell], verdicts: Mapping[tuple, Verdict] | None = None) -> Table:
    """Medians in ms of what counts all vertices; of what searches from each drawn vertex, the time that all would take
    at that rate. Records have the rates, and why cells are unstable, by the verdicts on them by key."""
    own = [cell for cell in cells if cell.problem == PROBLEM]
    found = grouped(own, lambda cell: (cell.dataset, "ancestors" if cell.query_set.startswith("ancestors") else
                                       "descendants"))  # fmt: skip
    groups = [_Group(*place, its) for place, its in found.items()]
    known, named = (*EXACT, SKETCH), {(cell.impl, cell.threads or 0) for cell in own}
    whole = sorted((c for c in named if c[0] in known), key=lambda c: (known.index(c[0]), -c[1]))
    searching = sorted((c for c in named if c[0] not in known), key=lambda c: (c[0].startswith("peer:"), c))
    energy = any(cell.energies for cell in own if cell.impl == ON_GPU)
    columns = {  # by their names in records
        "dataset": Column("graph", lambda group: group.graph, key=True),
        "direction": Column("of every vertex", lambda group: group.direction, key=True),
        "vertices": Column("vertices", lambda group: group.first("queries"), thousands),
        "pairs": Column("pairs", lambda group: group.first("positives"), thousands),
        **{_name(*each): Column(f"{_name(*each)} ms", lambda group, each=each: (cell := group.cell(*each)) and
                                measured.median(cell, "solve"), short, none=BLANK,
                                mark=lambda group, each=each: mark(group.cell(*each))) for each in whole},
        "from edges": Column("from edges ms", lambda group: group.ready, short, none=BLANK,
                             mark=lambda group: mark(*group.exact)),
        **({"": measured.joules("J of the GPU", "solve", "gpu", of=_on_gpu)} if energy else {}),
        "sketch error": Column("sketch's error", lambda group: group.error, lambda e: f"{100 * e:.1f} %", none=BLANK),
        **{f"{_name(*each)} vertices/s": Column(
            f"{_name(*each)}, s", lambda group, each=each: (cell := group.cell(*each)) and measured.rate(cell),
            display=lambda group, each=each: _seconds(group, group.cell(*each)),
            mark=lambda group, each=each: mark(*filter(None, [group.cell(*each)]))) for each in searching},
    }  # fmt: skip
    status = Column(
        "status",
        lambda group: ", ".join(sorted({cell.status for cell in group.cells})),
        notes=lambda group: [f"{cell.label}: {cell.reason}" for cell in group.cells if cell.reason],
    )
    records = [
        {**{name: column.value(group) for name, column in columns.items() if name}}
        | ({} if verdicts is None else {"unstable": [
            f"{cell.label}: {why}" for cell in group.cells if cell.key in verdicts
            for why in verdicts[cell.key].reasons]})
        for group in groups
    ]  # fmt: skip
    notes = [
        "Medians of solve, from the condensed graph in the host's memory to all counts there; from edges: the faster "
        "of the exact ones, from raw edges. A vertex does not count itself; pairs are the sum of all counts.",
        "about 1.2 [30/s]: not measured but extrapolated; that many vertices a second were searched from, of those "
        "that were drawn, and all would take so long at that rate.",
        *(["J: of the GPU's whole board, in solve of counts-gpu, by the driver's counter."] if energy else []),
        "The sketch's error is the root mean square of its relative error over the vertices that were checked.",
    ]
    return tabulate(
        PROBLEM, "Descendants and ancestors of every vertex", [*columns.values(), status], groups, notes=notes,
        words=("graph", "of every vertex", "status"), records=records, file=PROBLEM,
        data=measured.detail(measured.ordered(own), verdicts) if own else None,
    )  # fmt: skip


class _Group(NamedTuple):
    """The cells of a graph and a direction."""

    graph: str
    direction: str
    cells: list[Cell]

    @property
    def exact(self) -> list[Cell]:
        """Those that count exactly."""
        return [cell for cell in self.cells if cell.impl in EXACT]

    @property
    def ready(self) -> float | None:
        """The shortest time of an exact one from edges."""
        times = (measured.median(cell, "ready") for cell in self.exact)
        return min((ms for ms in times if ms is not None), default=None)

    @property
    def error(self) -> float | None:
        """The relative error that was seen of the estimates; None where no row has it."""
        sketch = next((cell for cell in self.cells if cell.impl == SKETCH and cell.sound), None)
        seen = ((sketch.counters or {}) if sketch else {}).get("seen_permille")
        return None if seen is None else seen / 1000

    def first(self, name: str) -> Any:
        """An attribute of the first sound exact one."""
        return next((getattr(cell, name) for cell in self.exact if cell.sound), None)

    def cell(self, impl: str, threads: int) -> Cell | None:
        """The sound cell of an implementation with so many threads."""
        found = (cell for cell in self.cells if (cell.impl, cell.threads or 0) == (impl, threads) and cell.sound)
        return next(found, None)


def _on_gpu(group: _Group) -> Cell | None:
    """The exact one on a GPU of which energy was asked."""
    return next((cell for cell in group.cells if cell.impl == ON_GPU and cell.energies), None)


def _seconds(group: _Group, cell: Cell | None) -> str:
    """The seconds that all vertices take, or would take at the rate of those that were drawn."""
    rate, size = cell and measured.rate(cell), group.first("queries")
    if not rate or not size:
        return BLANK
    seconds = short(size / rate)
    return seconds if cell.queries == size else f"about {seconds} [{short(rate)}/s]"


def _name(impl: str, threads: int) -> str:
    return impl if not threads else f"{impl}, {'one thread' if threads == 1 else f'{threads} threads'}"


PARTS = (Part(PROBLEM, lambda report: [table(report.run.cells, report.verdicts)], (PROBLEM,), Place.PROBLEMS),)
