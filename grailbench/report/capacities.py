"""Predictions of `capacity` as tables: the ways of a plan, the plans of ever larger graphs, and the check of them all
against recorded runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict

from grailbench.capacity import check, fitted
from grailbench.capacity.machine import Machine, machine
from grailbench.capacity.plan import (
    DEGREE,
    DEPTH,
    LARGE,
    MOST_VERTICES,
    SPREAD,
    STREAMED,
    Demand,
    Network,
    Plan,
    Way,
    edges_held,
    plan,
)
from grailbench.report.table import Table, numbers
from grailbench.words import BLANK, count, decimal_size, large, lasting, ms

EDGES = (10**9, 10**10, 10**11, 10**12)  #: of the graphs of the table 'scale'
RATE = 1e6  #: queries a second of the table
_PREDICTED = "Predicted, not measured."
_QUANTITIES = check.BUILD, check.MEMORY, check.QUERIES
_TEXTS = ("graph", "way", "today", "implementation", "limited by", "quantity", "fitted to")


def _share(value: float) -> str:
    """'12 %'."""
    return f"{value:.0%}".replace("%", " %")


def percent(error: float) -> str:
    """'+12 %'."""
    return f"{error:+.0%}".replace("%", " %")


# ------------------------------------------------------------------ plans


def ways(found: Plan) -> Table:
    """A line for each way of a plan, the chosen one first."""
    known = found.demand.scanned is not None
    rates = ["queries a second", "machines"] if known else [
        "queries a second, filters decide", "machines", "as in a random DAG", "machines for these"]  # fmt: skip
    headers = ["way", "today", "memory", "build", *rates, "edges over the network", "limited by"]
    lines = [
        [way.impl, _today(found, way), f"{decimal_size(int(way.memory))} of the {way.of}", lasting(way.build),
         *_rates(way, known), lasting(way.moved), _limits(way)]
        for way in found.ways
    ]  # fmt: skip
    demand = found.demand
    said = (
        f"{demand.vertices:,} vertices, {demand.edges:,} edges, {demand.depth:,} levels, {large(demand.rate)} queries "
        "a second"
    )
    notes = [note for way in found.ways for note in way.notes]
    notes += [f"errors of {way.impl} in the check: {way.band}" for way in found.ways if way.possible]
    if not known:
        notes += [
            f"{impl}: a random DAG of this size is taken to have {searches.scanned(demand.vertices):,.0f} edges "
            f"scanned a query, a law of {searches.graphs} recorded graphs that was off by a factor of "
            f"{searches.worst:.1f} at most"
            for impl in (check.CPU, check.GPU)
            for searches in [fitted.searches(impl)]
            if impl == check.CPU or found.machine.gpu is not None
        ]
        notes.append("--scanned takes what a run on a graph like yours counted, in place of both")
    notes = [_chosen(found), f"{_PREDICTED} Nothing was run.", *_of(found.machine), *notes]
    title, records = f"{said}, on {found.machine.title}", [asdict(way) for way in found.ways]
    return Table("capacity", title, headers, lines, numbers(headers, _TEXTS), notes=notes, records=records)


def _chosen(found: Plan) -> str:
    """What to take, and what it reaches beside what was wanted."""
    way, rate = found.chosen, found.demand.rate
    if way is None:
        return "no machine of this kind does this today; the lines say what is missing"
    each = f" with {count(way.gpus, 'GPU')} each" if way.gpus else ""
    sizes = [(way.machines_easy, way.easy, "where filters decide"), (way.machines_hard, way.hard, "as in a random DAG")]
    reached = []
    for machines, one, where in sizes:
        if machines is not None:
            together = machines * min(one, found.network.pairs) if machines > 1 else one
            reached.append(f"{count(machines, 'machine')}{each} for {large(together)} {where}")
    if found.demand.scanned is not None:
        reached = [text.removesuffix(" where filters decide") for text in reached[:1]]
    held = f"{decimal_size(int(way.memory))} of the {way.of}, a build of {lasting(way.build)}"
    return f"take {way.impl}: {held}; of {large(rate)} queries a second wanted, {', '.join(reached)}"


def _today(found: Plan, way: Way) -> str:
    return "take this" if way is found.chosen else "yes" if way.possible else "no"


def _rates(way: Way, known: bool) -> list[str]:
    easy = [large(way.easy), _machines(way.machines_easy)]
    return easy if known else [*easy, large(way.hard), _machines(way.machines_hard)]


def _machines(number: int | None) -> str:
    return BLANK if number is None else f"{number:,}"


def _limits(way: Way) -> str:
    return "; ".join(f"{what}: {by}" for what, by in way.limits.items() if by)


def _of(on: Machine) -> list[str]:
    """What a reader must know of the machine."""
    if not on.stands_in:
        return []
    return [
        f"the limits of this machine were not measured, so it is the shipped {on.name!r}: 'grailbench limits' measures "
        "yours, --machine names another"
    ]


# ------------------------------------------------------------------ the table of docs/scale.md


def scale(name: str = check.POPULATIONS["gpu build"].machine) -> Table:
    """A line for each number of edges of `EDGES` and each way, on machines of one kind."""
    on, headers = machine(name), [
        "edges", "way", "today", "machines", "GPUs", "memory of each", "edges over the network", "build, hours",
        "queries a second, filters decide", "as in a random DAG", "machines for a million a second",
    ]  # fmt: skip
    lines, records, notes, ends = [], [], [], set()
    for edges in EDGES:
        demand = Demand(edges // DEGREE, edges, DEPTH, RATE)
        found = plan(demand, on, Network())
        for way in (way for way in found.ways if way.possible or way.impl in (STREAMED, SPREAD)):
            lines.append([
                large(edges), way.impl, "yes" if way.possible else "no", f"{way.parts:,}",
                f"{way.gpus * way.parts:,}", f"{decimal_size(int(way.memory))}, {way.of}", lasting(way.moved),
                f"{way.build / 3600:.2g}", large(way.easy), large(way.hard), _both(way),
            ])  # fmt: skip
            records.append({"edges": edges, "vertices": demand.vertices, **asdict(way)})
            notes += way.notes[:1] if way.impl in (STREAMED, SPREAD) else []
        ends.add(len(lines) - 1)
    network = Network()
    notes = [
        f"{_PREDICTED} {DEGREE} edges a vertex, {DEPTH} levels, machines like {on.title}, joined by "
        f"{8 * network.bandwidth:g} Gbit/s and {1e6 * network.latency:g} us a message. A memory is filled to "
        f"{_share(LARGE)} at most",
        *dict.fromkeys(notes),
        f"numbers of vertices have 32 bits: no implementation takes more than {MOST_VERTICES:,}",
        "no: the machines do not hold it, vertices have numbers beyond 32 bits, or this version does not do it; the "
        "line says what it would take all the same",
    ]
    right = numbers(headers, _TEXTS)
    return Table("capacity-scale", "Predictions", headers, lines, right, keys=2, ends=frozenset(ends), notes=notes,
                 records=records)  # fmt: skip


def _both(way: Way) -> str:
    """Machines for easy and for hard queries."""
    numbers = [way.machines_easy, way.machines_hard]
    known = [f"{number:,}" for number in dict.fromkeys(numbers) if number is not None]
    return " to ".join(known) or BLANK


def held(name: str = check.POPULATIONS["gpu memory"].machine) -> Table:
    """What one GPU holds, by the peaks that were recorded."""
    on, found = machine(name), fitted.model("gpu memory")
    lines = [line for line in check.of(check.checked(), check.GPU, check.MEMORY) if line.measured > 2e9]
    headers = ["graph", "peak on the device", "predicted by the other graphs", "off", "bytes an edge",
               "edges of such graphs that fit"]  # fmt: skip
    rows = [
        [line.graph, decimal_size(int(line.measured)), decimal_size(int(line.predicted)), percent(line.error),
         f"{line.measured / line.edges:.1f}", large(on.gpu_memory_bytes * line.edges / line.measured)]
        for line in sorted(lines, key=lambda line: line.measured)
    ]  # fmt: skip
    process, edge, vertex = found.constants
    note = (
        f"Fitted to {found.graphs} graphs: {edge:.1f} bytes an edge of the file, {vertex:.0f} a vertex and "
        f"{decimal_size(int(process))}. So {_share(LARGE)} of one GPU of {decimal_size(on.gpu_memory_bytes)} takes "
        f"{large(edges_held(on))} edges at {DEGREE} edges a vertex (predicted, up to {_share(found.worst)} off)"
    )
    return Table("capacity-held", "What one GPU holds", headers, rows, numbers(headers), notes=[note])


# ------------------------------------------------------------------ the check


def errors() -> Table:
    """A line for each implementation and quantity: how many graphs, and the middle and largest error."""
    headers = [
        "implementation",
        "quantity",
        "fitted to",
        "graphs",
        "half of them within",
        "all within",
        "any configuration within",
    ]
    lines = []
    for impl in (check.CPU, check.GPU):
        for quantity in _QUANTITIES:
            own = check.of(check.checked(), impl, quantity)
            off = sorted(abs(line.error) for line in own)
            runs = dict.fromkeys(run for each in check.POPULATIONS.values() for run in each.runs
                                 if (each.impl, each.quantity) == (impl, quantity))  # fmt: skip
            worst = max(abs(line.worst) for line in own)
            lines.append(
                [impl, quantity, ", ".join(runs), str(len(own)), *map(_share, (off[len(off) // 2], off[-1], worst))]
            )
    far = [max(1 + line.error, 1 / (1 + line.error)) for line in check.carried()]
    where = check.ELSEWHERE[0]
    note = (
        "Each graph is predicted with constants that were fitted to the other graphs, on the machine "
        f"{own[0].machine}. On {where.machine}, to which nothing was fitted, queries of {len(far)} graphs in "
        f"{', '.join(where.runs)} were off by a factor of {sorted(far)[len(far) // 2]:.1f} (half of them) to "
        f"{max(far):.1f}"
    )
    return Table("capacity-errors", "Errors", headers, lines, numbers(headers, _TEXTS), notes=[note])


def checked(lines: Iterable[check.Line]) -> list[Table]:
    """A table for each implementation: each graph one line, with build, memory and queries."""
    lines = list(lines)
    return [_of_impl(impl, [line for line in lines if line.impl == impl]) for impl in (check.CPU, check.GPU)]


def _of_impl(impl: str, lines: list[check.Line]) -> Table:
    headers = ["graph"]
    for quantity in _QUANTITIES:
        headers += [quantity, f"{quantity} measured", f"{quantity} off"]
    by = {(line.graph, line.quantity): line for line in lines}
    rows = []
    for graph in dict.fromkeys(line.graph for line in lines):
        row = [graph]
        for quantity in _QUANTITIES:
            row += _cells(by.get((graph, quantity)))
        rows.append(row)
    notes = [
        "predicted with constants fitted to all graphs but this one; of several configurations of a graph, the one "
        "whose error is the middle one",
    ]
    wrong = [line for line in lines if not line.kept]
    notes += [
        f"{line.graph}, {line.quantity}: {percent(line.error)} is beyond {_share(check.WANTED)}" for line in wrong
    ]
    records = [{"impl": impl, **asdict(line), "error": line.error, "kept": line.kept} for line in lines]
    name = f"capacity-{impl}"
    return Table(name, f"{impl} on {lines[0].machine}: predicted and measured", headers, rows, numbers(headers),
                 notes=notes, records=records)  # fmt: skip


def _cells(line: check.Line | None) -> list[str]:
    if line is None:
        return [BLANK] * 3
    text: Callable[[float], str] = _bytes if line.quantity == check.MEMORY else _ms
    return [text(line.predicted), text(line.measured), percent(line.error)]


def _bytes(value: float) -> str:
    return decimal_size(int(value))


def _ms(value: float) -> str:
    return f"{ms(value)} ms"


#: what a block of a page may show, by name
BLOCKS: dict[str, Callable[[], Table]] = {
    "errors": errors,
    "scale": scale,
    "held": held,
    check.CPU: lambda: checked(check.checked())[0],
    check.GPU: lambda: checked(check.checked())[1],
}
