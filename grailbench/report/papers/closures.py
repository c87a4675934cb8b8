"""Runs of `--problem closure` in the form of the tables of Fenz et al. 2022, with our implementations beside theirs;
and closures of the graphs of Datalog systems: their sizes and times, and what those systems print of them.

Printed times and joules are of other machines, each named; nothing is divided by them.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import pandas

from grailbench.compare.measures import grouped as by_key
from grailbench.compare.stability import Verdict, mark
from grailbench.graph.generate import parse_shape
from grailbench.harness.cells import NOT_FROM_EDGES, Cell
from grailbench.harness.statistics import Stats
from grailbench.report import measured, published
from grailbench.report.papers import Part, Place
from grailbench.report.table import Column, Table, tabulate
from grailbench.util.words import BLANK, brief, grouped, ms, short

PROBLEM = "closure"
KERNELS = ("floyd-warshall", "matmul", "naive", "pinned", "zero-copy", "pitched", "pitched-2d", "tiled", "managed",
           "sssp-each")  # fmt: skip
OURS = ("tiled-registers", "warshall-bits", "condense-bits", "warshall-bits-gpu", "condense-bits-gpu", "condense-pairs",
        "condense-pairs-gpu")  # fmt: skip


BOUNDS = ("low", "high")


def series_name(impl: str) -> str:
    """'tiled (7)': the name with the report's number of the kernel."""
    return f"{impl} ({KERNELS.index(impl)})" if impl in KERNELS else impl


def cells(found: Iterable[Cell], verdicts: Mapping[tuple, Verdict] | None = None) -> pandas.DataFrame:
    """A line per cell and phase ('solve', 'kernel', 'ready', ...) without the parts of `ready`: the graph, the
    implementation and its number in the report, the number of trials and their statistics (ms), the number of edges of
    the closure, and what the verdicts on the stability of cells, by key, say of it (`measured.stability_columns`).

    `BOUNDS` are those of the mean. A cell without a sound time has one line with phase ''. `kind` and `density` are
    those of a graph that `grailbench.graph.generate.shapes` generates from its name; '' and None for other graphs.
    """
    lines = []
    for cell in ordered(found):
        shape = parse_shape(cell.dataset)
        for phase, s in _timed(cell).items() or [("", None)]:
            stats = (s.trials, s.mean, s.least, s.most, s.median, cell.positives) if s else (None,) * 6
            stable = measured.stability_columns((verdicts or {}).get(cell.key), phase)
            lines.append({
                "dataset": cell.dataset, "kind": shape.kind if shape else "",
                "density": shape.density if shape else None, "vertices": cell.vertices, "edges": cell.edges,
                "impl": cell.impl, "number": KERNELS.index(cell.impl) if cell.impl in KERNELS else None,
                "status": cell.status, "threads": cell.threads or None, "phase": phase, "reason": cell.reason,
                **dict(zip(("trials", "mean", "least", "most", "median", "closure"), stats, strict=True)),
                "stability": stable.get("stability"), "unstable_by": stable.get("unstable_by"),
                **{name: s and getattr(s, name) for name in BOUNDS},
            })  # fmt: skip
    found = pandas.DataFrame(lines)
    return found.astype(dict.fromkeys(("density", *BOUNDS), float)) if lines else found


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
    tiled = {cell.dataset: cell for cell in own if cell.impl == "tiled"}
    whole = any("ready" in each for each in medians.values())

    def took(header: str, phase: str, **more: Any) -> Column:
        return Column(header, lambda cell: medians[cell.key].get(phase), ms, mark=mark, **more)

    def over(header: str, phase: str) -> Column:
        def ratio(cell: Cell) -> float | None:
            if (beside := tiled.get(cell.dataset)) is None:
                return None
            base, mine = (medians[each.key].get(phase) for each in (beside, cell))
            return base / mine if base is not None and mine else None

        return Column(header, ratio, "{:.3g}".format, mark=lambda cell: mark(cell, tiled[cell.dataset]))

    columns = [
        Column("Graph", lambda cell: cell.dataset, key=True),
        Column("implementation", lambda cell: series_name(cell.impl), key=True),
        Column("threads", lambda cell: cell.threads or None, key=True),
        Column("n", lambda cell: cell.trials),
        *(took(f"{phase.replace('_', ' ')} ms", phase, usual=(None,) if phase in _OF_SOME else ())
          for phase in _PHASES),
        over("tiled / this", "solve"),
        *([took("from edges ms", "ready", none=BLANK), over("tiled / this, from edges", "ready")] if whole else []),
        Column("edges of the closure", lambda cell: cell.positives if medians[cell.key] else None, grouped),
        Column("with (v, v) on cycles",
               lambda cell: (cell.counters or {}).get(WITH_CYCLES) if medians[cell.key] else None, grouped,
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
    found = cells(own, verdicts).drop(columns=[*BOUNDS], errors="ignore")
    return tabulate(
        PROBLEM, PROBLEM, columns, own, notes=notes, after=measured.size_notes(own), records=measured.plain(found),
        file=PROBLEM, data=found,
    )  # fmt: skip


# ------------------------------------------------------------------ the graphs of Datalog systems

SIZES, PRINT = "datalog", "datalog-print"  #: names of the tables
BITS, PAIRS = "condense-bits-gpu", "condense-pairs-gpu"
ON_HOST = "pairs on the host"  #: a column
EQUAL = "equal"  #: the word for a closure of the printed size
#: (under, phase) of the parts of `solve` after which a closure is on the device and counted, and of whole phases
COUNTED = tuple(("solve", part) for part in ("host_to_device", "condense", "allocate", "kernel"))
SOLVE, READY = (("", "solve"),), (("", "ready"),)
#: printed sizes of closures: tables and their columns
_PAIRS = {"datalog-atc23": "TC size", "datalog-sizes": "# TC"}


class Printed(NamedTuple):
    """A printed time of the closure of a graph; `one`: whether it is of one GPU."""

    system: str
    hardware: str
    seconds: float
    joules: float | None
    one: bool
    source: str


def printed(dataset: str) -> list[Printed]:
    """The printed times for a graph, shortest first; a printed 0 stands for no result, and is left out."""
    found = []
    for each in published.TIMES:
        table, joules = published.table(each["table"]), each.get("joules")
        if dataset in table.rows and (seconds := table.number(dataset, each["seconds"])):
            spent = table.number(dataset, joules) if joules else None
            found.append(Printed(each["system"], each["hardware"], seconds, spent, each["one"], table.name))
    return sorted(found, key=lambda each: each.seconds)


def printed_sizes(dataset: str) -> set[int]:
    """The printed numbers of pairs of a graph's closure, with (v, v) on cycles."""
    tables = ((published.table(name), column) for name, column in _PAIRS.items())
    return {int(table.rows[dataset][column]) for table, column in tables if dataset in table.rows}


def tables(found: Iterable[Cell]) -> list[Table]:
    """The tables of the graphs that are in print; none without such a graph. Closures in blocks are left out."""
    own = [cell for cell in ordered(found) if printed_sizes(cell.dataset) and not cell.memory]
    graphs = [_Graph(*each) for each in by_key(own, lambda cell: cell.dataset).items()]
    return [_sizes(graphs), _print(graphs)] if graphs else []


def sum_ms(cell: Cell, phases: Iterable[tuple[str, str]] = SOLVE) -> float | None:
    """The median ms of a sound cell's phases, (under, phase), together; None if one was not timed."""
    found = [cell.times.get(phase) for phase in phases] if cell.sound else [None]
    if None in found:
        return None
    return Stats.of([sum(each) for each in zip(*(times.values() for times in found), strict=True)]).median


class _Graph(NamedTuple):
    """A graph in print and its cells."""

    name: str
    cells: list[Cell]

    @property
    def pairs(self) -> int | None:
        """The size of its closure."""
        return next((cell.positives for cell in self.cells if cell.sound and cell.positives is not None), None)

    @property
    def cyclic(self) -> int | None:
        """The same with a pair (v, v) for every vertex on a cycle."""
        found = (cell.counters.get(WITH_CYCLES) for cell in self.cells if cell.sound and cell.counters)
        return next((count for count in found if count is not None), None)

    @property
    def word(self) -> str | None:
        """'equal' if its closure has the printed size, None if its own is not known."""
        sizes = printed_sizes(self.name)
        if self.cyclic is None or sizes == {self.cyclic}:
            return None if self.cyclic is None else EQUAL
        return f"DIFFERS: {' and '.join(map(grouped, sorted(sizes)))}"

    def ms(self, impl: str, threads: int | None, phases: Iterable[tuple[str, str]]) -> float | None:
        """The median ms of the cell with this implementation and these threads."""
        found = (cell for cell in self.cells if cell.impl == impl and (cell.threads or None) == threads)
        return next((ms for cell in found if (ms := sum_ms(cell, phases)) is not None), None)

    def mark(self, impl: str, threads: int | None) -> str:
        """The mark of the cells with this implementation and these threads."""
        return mark(*(each for each in self.cells if each.impl == impl and (each.threads or None) == threads))


def _sizes(graphs: list[_Graph]) -> Table:
    """A line per graph: the size of its closure, whether print agrees, and the times of all cells in ms."""
    timed = {  # header -> (implementation, threads, phases)
        "counted on the GPU": (BITS, None, COUNTED),
        "bits on the host": (BITS, None, SOLVE),
        ON_HOST: (PAIRS, None, SOLVE),
    }
    for what in ("bits", "pairs"):
        impl = f"condense-{what}"
        every = {cell.threads for graph in graphs for cell in graph.cells if cell.impl == impl and cell.threads}
        for threads in sorted(every, reverse=True):
            timed[f"{what}, {'one thread' if threads == 1 else f'{threads} threads'}"] = impl, threads, READY
    timed = {header: which for header, which in timed.items() if any(graph.ms(*which) for graph in graphs)}

    def rate(graph: _Graph) -> float | None:
        ms = graph.ms(*timed[ON_HOST])
        return 8 * graph.pairs / ms / 1e6 if ms and graph.pairs else None

    def lost(graph: _Graph) -> list[str]:
        return sorted({f"{cell.label}: {cell.status}, {cell.reason}".rstrip(", ")
                       for cell in graph.cells if not cell.sound})  # fmt: skip

    columns = [
        Column("graph", lambda graph: graph.name, notes=lost, key=True),
        Column("vertices", lambda graph: graph.cells[0].vertices, grouped),
        Column("edges", lambda graph: graph.cells[0].edges, grouped),
        Column("pairs", lambda graph: graph.pairs, grouped),
        Column("with (v, v)", lambda graph: graph.cyclic, grouped),
        Column("print", lambda graph: graph.word, none=BLANK),
    ]
    for header, which in timed.items():
        columns.append(
            Column(
                header,
                lambda graph, which=which: graph.ms(*which),
                short,
                none=BLANK,
                mark=lambda graph, which=which: graph.mark(*which[:2]),
            )
        )
        if header == ON_HOST:
            columns.append(Column("GB/s of pairs", rate, short, none=BLANK,
                                  mark=lambda graph: graph.mark(*timed[ON_HOST][:2])))  # fmt: skip
    records = [
        {
            "dataset": graph.name, "vertices": graph.cells[0].vertices, "edges": graph.cells[0].edges,
            "pairs": graph.pairs, "pairs_with_cycles": graph.cyclic, "printed": sorted(printed_sizes(graph.name)),
            "equal": graph.word == EQUAL, **{header: graph.ms(*which) for header, which in timed.items()},
        }
        for graph in graphs
    ]  # fmt: skip
    notes = [
        f"{sum(graph.word == EQUAL for graph in graphs)} of {len(graphs)} closures have exactly the printed size, "
        "which counts a pair (v, v) for every vertex on a cycle; 'pairs' has none.",
        "Medians in ms, from edges in the host's memory: to a counted closure on the device, to its bits in pinned "
        "memory that was allocated before, or to all its pairs as two 32-bit integers, handed over and not kept. "
        "Times of threads count what they allocate.",
    ]
    return tabulate(SIZES, "Closures of the graphs of Datalog systems", columns, graphs, notes=notes,
                    words=("graph", "print"), records=records)  # fmt: skip


def _print(graphs: list[_Graph]) -> Table:
    """A line per graph: seconds and joules of this run's GPU, and what each system prints of its own. The CSV has a
    line per time, measured or printed."""

    def seconds(header: str, impl: str, phases: tuple) -> Column:
        return Column(header, lambda graph: (ms := graph.ms(impl, None, phases)) and ms / 1e3, short, none=BLANK,
                      mark=lambda graph: graph.mark(impl, None))  # fmt: skip

    def joules(header: str, impl: str) -> Column:
        return measured.joules(header, "solve", "gpu", of=lambda graph: next(
            (cell for cell in graph.cells if cell.impl == impl and cell.energies), None))  # fmt: skip

    def listed(header: str, shown: Callable[[Printed], str]) -> Column:
        return Column(header, lambda graph: ", ".join(filter(None, map(shown, printed(graph.name)))) or None,
                      none=BLANK)  # fmt: skip

    columns = [
        Column("graph", lambda graph: graph.name, key=True),
        seconds("counted, s", BITS, COUNTED),
        seconds("pairs on the host, s", PAIRS, SOLVE),
        joules("J, bits on the host", BITS),
        joules("J, pairs on the host", PAIRS),
        listed("printed, one A100, s", lambda p: p.one and f"{short(p.seconds)} {p.system}"),
        listed("printed J", lambda p: p.one and p.joules and f"{short(p.joules)} {p.system}"),
        listed("printed, MNMGDatalog on more, s", lambda p: "" if p.one else f"{short(p.seconds)} on {p.hardware}"),
    ]
    idle = sorted(round(cell.energies.idle_watts("solve", "gpu")) for graph in graphs for cell in graph.cells
                  if cell.joules("solve", "gpu") is not None)  # fmt: skip
    watts = " to ".join(dict.fromkeys(map(brief, idle[:1] + idle[-1:])))
    notes = [
        "Printed times are of other machines, an A100 or several of them, and of systems that solve any Datalog query; "
        "no ratio of the two is one of code. GPUJoin is printed by two papers, and reproduced by one of them.",
        *([f"Joules are of the GPU's whole board while it solves (idle it takes {watts} W), by the driver's counter; "
           "the host's are not among them."] if idle else []),
    ]  # fmt: skip
    lines = []
    for graph, own in graphs:
        lines += [(graph, cell.label, "this run", ms / 1e3, cell.joules("solve", "gpu"), "measured")
                  for cell in own if (ms := sum_ms(cell)) is not None]  # fmt: skip
        lines += [(graph, each.system, each.hardware, each.seconds, each.joules, each.source)
                  for each in printed(graph)]  # fmt: skip
    data = pandas.DataFrame(lines, columns=["dataset", "system", "hardware", "seconds", "joules", "source"])
    words = [column.header for column in (columns[0], *columns[5:])]
    return tabulate(PRINT, "Printed beside measured", columns, graphs, notes=notes, words=words, data=data)


PARTS = (
    Part(PROBLEM, lambda report: [table(report.run.cells, report.verdicts)], (PROBLEM,), Place.PROBLEMS),
    Part("systems", lambda report: tables(report.run.cells), (PROBLEM,)),
)
