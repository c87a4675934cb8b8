"""Closures of the graphs of Datalog systems: their sizes and times, and what those systems print of them.

Printed times and joules are of other machines, each named; nothing is divided by them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grailbench.harness.cells import Cell
from grailbench.harness.statistics import Stats
from grailbench.report import measured, published
from grailbench.report.footnotes import Footnotes
from grailbench.report.papers.closures import ordered
from grailbench.report.table import Table, numbers
from grailbench.util.words import BLANK, brief, grouped, short

if TYPE_CHECKING:
    import pandas

SIZES, PRINT = "datalog", "datalog-print"  #: names of the tables
BITS, PAIRS = "condense-bits-gpu", "condense-pairs-gpu"
#: (under, phase) of the parts of `solve` after which a closure is on the device and counted, and of whole phases
COUNTED = tuple(("solve", part) for part in ("host_to_device", "condense", "allocate", "kernel"))
SOLVE, READY = (("", "solve"),), (("", "ready"),)
#: printed sizes of closures: tables and their columns
_PAIRS = {"datalog-atc23": "TC size", "datalog-sizes": "# TC"}
_POLARIS = "one A100 of Polaris"
#: printed times: table, column of seconds, column of joules or '', system, hardware, and whether that is one GPU
_PRINTED = (
    ("datalog-atc23", "Reproduced Results (Time/s)", "", "GPUJoin", "one A100, 80 GB", True),
    ("datalog-atc23", "Results in Paper", "", "GPUJoin", "one A100 of ThetaGPU", True),
    *(
        ("datalog-energy", f"{name} TotalTime(S)", f"{name} TotalEnergy(J)", system, _POLARIS, True)
        for name, system in {"GPULog": "GPULog", "MNMGDatalog": "MNMGDatalog", "cuDF": "cuDF", "BJoin": "BJoin",
                             "INLJoin": "GPUJoin"}.items()
    ),
    ("datalog-scaling", "1 GPU", "", "MNMGDatalog", _POLARIS, True),
    ("datalog-scaling", "32 GPU", "", "MNMGDatalog", "32 A100", False),
    ("datalog-scaling", "1 Node (32)", "", "MNMGDatalog", "32 CPU processes", False),
    ("datalog-scaling", "32 Node (1024)", "", "MNMGDatalog", "1,024 CPU processes", False),
)  # fmt: skip


@dataclass(frozen=True)
class Printed:
    """A printed time of the closure of a graph."""

    dataset: str
    system: str
    hardware: str
    seconds: float
    joules: float | None
    one: bool
    source: str


def printed(dataset: str) -> list[Printed]:
    """The printed times for a graph, shortest first; a printed 0 stands for no result, and is left out."""
    found = []
    for name, column, joules, system, hardware, one in _PRINTED:
        table = published.table(name)
        if dataset in table.rows and (seconds := table.number(dataset, column)):
            energy = table.number(dataset, joules) if joules else None
            found.append(Printed(dataset, system, hardware, seconds, energy, one, name))
    return sorted(found, key=lambda each: each.seconds)


def printed_sizes(dataset: str) -> set[int]:
    """The printed numbers of pairs of a graph's closure, with (v, v) on cycles."""
    tables = ((published.table(name), column) for name, column in _PAIRS.items())
    return {int(table.rows[dataset][column]) for table, column in tables if dataset in table.rows}


def tables(found: Iterable[Cell]) -> list[Table]:
    """The tables of the graphs that are in print; none without such a graph. Closures in blocks are left out."""
    own = [cell for cell in ordered(found) if printed_sizes(cell.dataset) and not cell.memory]
    if not own:
        return []
    graphs: dict[str, list[Cell]] = {}
    for cell in own:
        graphs.setdefault(cell.dataset, []).append(cell)
    return [_sizes(graphs), _print(graphs)]


def sum_ms(cell: Cell, phases: Iterable[tuple[str, str]] = SOLVE) -> float | None:
    """The median ms of a sound cell's phases, (under, phase), together; None if one was not timed."""
    found = [cell.times.get(phase) for phase in phases] if cell.sound else [None]
    if None in found:
        return None
    return Stats.of([sum(each) for each in zip(*(times.values() for times in found), strict=True)]).median


def _sizes(graphs: dict[str, list[Cell]]) -> Table:
    """A line per graph: the size of its closure, whether print agrees, and the times of all cells in ms."""
    cells = [cell for own in graphs.values() for cell in own]
    shown = {  # header -> (implementation, threads, phases)
        "counted on the GPU": (BITS, None, COUNTED),
        "bits on the host": (BITS, None, SOLVE),
        "pairs on the host": (PAIRS, None, SOLVE),
    }
    for impl, what in (("condense-bits", "bits"), ("condense-pairs", "pairs")):
        for threads in sorted({cell.threads for cell in cells if cell.impl == impl and cell.threads}, reverse=True):
            shown[f"{what}, {'one thread' if threads == 1 else f'{threads} threads'}"] = impl, threads, READY
    shown = {header: which for header, which in shown.items() if any(_times(own, *which) for own in graphs.values())}
    rate = "GB/s of pairs" if "pairs on the host" in shown else None
    lines, records, met, foot = [], [], 0, Footnotes()
    for graph, own in graphs.items():
        pairs = next((cell.positives for cell in own if cell.sound and cell.positives is not None), None)
        cyclic = next((cell.counters["pairs_with_cycles"] for cell in own if cell.sound and cell.counters
                       and "pairs_with_cycles" in cell.counters), None)  # fmt: skip
        said = printed_sizes(graph)
        agrees = cyclic is not None and said == {cyclic}
        met += agrees
        differing = f"DIFFERS: {' and '.join(map(grouped, sorted(said)))}"
        word = "equal" if agrees else BLANK if cyclic is None else differing
        times = [_times(own, *which) for which in shown.values()]
        line = [graph, grouped(own[0].vertices), grouped(own[0].edges), grouped(pairs), grouped(cyclic), word]
        for header, time in zip(shown, times, strict=True):
            line.append(short(time) or BLANK)
            if rate and header == "pairs on the host":
                line.append(short(8 * pairs / time / 1e6) if time and pairs else BLANK)
        lost = {f"{cell.label}: {cell.status}, {cell.reason}".rstrip(", ") for cell in own if not cell.sound}
        line[0] += foot.mark(sorted(lost))
        lines.append(line)
        records.append({"dataset": graph, "vertices": own[0].vertices, "edges": own[0].edges, "pairs": pairs,
                        "pairs_with_cycles": cyclic, "printed": sorted(said), "equal": agrees,
                        **dict(zip(shown, times, strict=True))})  # fmt: skip
    heads = [*shown]
    if rate:
        heads.insert(heads.index("pairs on the host") + 1, rate)
    headers = ["graph", "vertices", "edges", "pairs", "with (v, v)", "print", *heads]
    notes = [
        f"{met} of {len(lines)} closures have exactly the printed size, which counts a pair (v, v) for every vertex on "
        "a cycle; 'pairs' has none.",
        "Medians in ms, from edges in the host's memory: to a counted closure on the device, to its bits in pinned "
        "memory that was allocated before, or to all its pairs as two 32-bit integers each, handed over and not kept; "
        "of threads with what they allocate.",
        *foot.lines(),
    ]
    words = ("graph", "print")
    return Table(SIZES, "Closures of the graphs of Datalog systems", headers, lines, numbers(headers, words),
                 notes=notes, records=[{"table": SIZES, **each} for each in records])  # fmt: skip


def _times(own: Iterable[Cell], impl: str, threads: int | None, phases: Iterable) -> float | None:
    """The median ms of the cell with this implementation and these threads."""
    found = (cell for cell in own if cell.impl == impl and (cell.threads or None) == threads)
    return next((ms for cell in found if (ms := sum_ms(cell, phases)) is not None), None)


def _print(graphs: dict[str, list[Cell]]) -> Table:
    """A line per graph: seconds and joules of this run's GPU, and what each system prints of its own."""
    lines, foot = [], Footnotes()
    for graph, own in graphs.items():
        said = printed(graph)
        one = [each for each in said if each.one]
        lines.append([
            graph, _seconds(_times(own, BITS, None, COUNTED)), _seconds(_times(own, PAIRS, None, SOLVE)),
            *(
                measured.joules([cell for cell in own if cell.impl == impl], "solve", foot, "gpu")
                for impl in (BITS, PAIRS)
            ),
            _list(f"{short(each.seconds)} {each.system}" for each in one),
            _list(f"{short(each.joules)} {each.system}" for each in one if each.joules),
            _list(f"{short(each.seconds)} on {each.hardware}" for each in said if not each.one),
        ])  # fmt: skip
    headers = ["graph", "counted, s", "pairs on the host, s", "J, bits on the host", "J, pairs on the host",
               "printed, one A100, s", "printed J", "printed, MNMGDatalog on more, s"]  # fmt: skip
    cells = [cell for own in graphs.values() for cell in own if cell.joules("solve", "gpu") is not None]
    idle = [cell.energies.idle_watts("solve", "gpu") for cell in cells]
    notes = [
        "Printed times are of other machines, an A100 or several of them, and of systems that solve any Datalog query; "
        "no ratio of the two is one of code. GPUJoin is printed by two papers, and reproduced by one of them.",
        *([f"Joules are of the GPU's whole board while it solves ({_idle(idle)}), by the driver's counter; the host's "
           "are not among them."] if idle else []),
        *foot.lines(),
    ]  # fmt: skip
    return Table(PRINT, "Printed beside measured", headers, lines, numbers(headers, (headers[0], *headers[5:])),
                 notes=notes, data=_frame(graphs))  # fmt: skip


def _idle(watts: list[float]) -> str:
    least, most = brief(round(min(watts))), brief(round(max(watts)))
    return f"idle it takes {least if least == most else f'{least} to {most}'} W"


def _seconds(ms: float | None) -> str:
    return short(ms and ms / 1e3) or BLANK


def _list(words: Iterable[str]) -> str:
    return ", ".join(words) or BLANK


def _frame(graphs: dict[str, list[Cell]]) -> pandas.DataFrame:
    """A line per time, measured or printed: dataset, system, hardware, seconds, joules, source."""
    import pandas

    lines = []
    for graph, own in graphs.items():
        for cell in own:
            if (ms := sum_ms(cell)) is not None:
                joules = cell.joules("solve", "gpu")
                lines.append((graph, cell.label, "this run", ms / 1e3, joules, "measured"))
        for each in printed(graph):
            lines.append((graph, each.system, each.hardware, each.seconds, each.joules, each.source))
    return pandas.DataFrame(lines, columns=["dataset", "system", "hardware", "seconds", "joules", "source"])
