"""Predictions beside recorded runs: which cells each model is fitted to, and how far off it is on each graph.

Each graph is one line: that of its cells whose error is the middle one, since one configuration of a graph (its label
pairs, its set of pairs) may have a single trial, on a machine with slow minutes. The largest error of its cells stands
beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from grailbench import paths
from grailbench.capacity.machine import shipped
from grailbench.capacity.model import Model, Part, Sample, fitted, left_out
from grailbench.capacity.terms import deep
from grailbench.capacity.work import Work
from grailbench.errors import InputError, NothingMeasured
from grailbench.runs.cells import Cell, Run, of_machine, read

WANTED = 0.3  #: the error that docs/scale.md promises on each graph
ON_DEVICE = 1 << 17  #: edges of the file from which on a GPU builds from edges (`reachability.gpu.fused.index`)
MANY = 100_000  #: edges from which on a build on a processor is predicted: fewer take few milliseconds
BATCH = 100_000  #: pairs from which on a batch is predicted: fewer measure one slow search, not the rate
_ACYCLIC = 0.97  #: of the file's edges are left without duplicates in a file without cycles, at least
GPU, CPU = "gpu-fused", "parallel"
BUILD, MEMORY, QUERIES = "build", "memory", "queries"


@dataclass(frozen=True)
class Population:
    """The recorded cells that a model is fitted to.

    machine   a shipped one
    runs      names of runs below its folder in results/baselines
    impl      of the cells
    value     the measured values of the parts of the model in ms or bytes; None for a cell without them
    fits      which works are meant
    """

    model: Model
    impl: str
    quantity: str
    machine: str
    runs: tuple[str, ...]
    value: Callable[[Cell, Model], list[float] | None]
    fits: Callable[[Work], bool]

    @property
    def name(self) -> str:
        return self.model.name


def _ready(cell: Cell, model: Model) -> list[float] | None:
    """Times of the parts of `ready`, from edges to an index."""
    whole = cell.stats("ready")
    if whole is None or cell.edges - (cell.roots or 0) < _ACYCLIC * (cell.raw_edges or 0):
        return None
    if len(model.parts) == 1:
        return [whole.median]
    medians = {phase: stats.median for (under, phase), stats in cell.phases.items() if under == "ready"}
    return [sum(medians.get(phase, 0.0) for phase in part.phases) for part in model.parts]


def _query(cell: Cell, model: Model) -> list[float] | None:
    stats = cell.stats("query")
    known = cell.random and cell.counters and (cell.batch or 0) >= BATCH
    return [stats.median] if stats is not None and known else None


def _of_device(cell: Cell, model: Model) -> list[float] | None:
    return [float(cell.device_peak_bytes)] if cell.device_peak_bytes and _ready(cell, model) is not None else None


def _of_process(cell: Cell, model: Model) -> list[float] | None:
    return [float(cell.host_peak_bytes)] if cell.host_peak_bytes else None


_PHASES = (
    Part(("transfer",), ("call", "pieces", "inward")),
    Part(("condense",), ("call", "keys", "levels", "narrow")),
    Part(("allocate", "renumber"), ("call", "keys")),
    Part(("label",), ("call", "rows", "levels", "narrow")),
)


def _whole(name: str, *terms: str) -> Model:
    return Model(name, (Part((), terms),))


def _on_device(work: Work) -> bool:
    return work.raw_edges >= ON_DEVICE


_EDGES_TO_INDEX = ("edges-to-index", "billion", "two-billion")
_SEARCHED = ("computation-2020", "fused-large", "fused", "billion", "two-billion")
POPULATIONS = {
    each.name: each
    for each in (
        Population(Model("gpu build", _PHASES), GPU, BUILD, "h200", _EDGES_TO_INDEX, _ready,
                   lambda work: _on_device(work) and not deep(work)),
        Population(_whole("gpu build, deep", "deep_vertices", "deep_levels"), GPU, BUILD, "h200", _EDGES_TO_INDEX,
                   _ready, lambda work: _on_device(work) and deep(work)),
        Population(_whole("gpu memory", "process", "file_edges", "all_vertices"), GPU, MEMORY, "h200", _EDGES_TO_INDEX,
                   _of_device, _on_device),
        Population(_whole("gpu queries", "call", "pairs", "longest", "scanned", "gathered", "swept"), GPU, QUERIES,
                   "h200", _SEARCHED, _query, lambda work: work.vertices >= MANY or work.queries > BATCH),
        Population(_whole("cpu build", "read_edges", "numbered", "pass_vertices"), CPU, BUILD, "h200",
                   ("edges-to-index", "fused-large"), _ready, lambda work: work.edges >= MANY),
        Population(_whole("cpu memory", "process", "all_edges", "resident"), CPU, MEMORY, "h200",
                   ("computation-2020", "fused-large"), _of_process, lambda work: work.edges >= MANY),
        Population(_whole("cpu queries", "start", "fresh", "filtering", "scanned_hot", "expanded"), CPU, QUERIES,
                   "h200", ("computation-2020", "fused"), _query, lambda work: True),
    )
}  # fmt: skip


#: populations of another machine, predicted with constants that were fitted to none of its runs; builds are not
#: recorded there from edges with rows in random order
ELSEWHERE = tuple(
    replace(POPULATIONS["cpu queries"], impl=impl, machine="cpu-2core", runs=("thesis-cpu",),
            fits=lambda work: work.threads <= 2)
    for impl in ("sequential", CPU)
)  # fmt: skip


@dataclass(frozen=True)
class Line:
    """A graph of the check.

    quantity            of `BUILD`, `MEMORY` and `QUERIES`, `impl` the implementation
    edges               of the graph's file
    label               the configuration whose error is the middle one
    predicted, measured in ms or bytes, of that configuration
    cells, worst        configurations of the graph, and the error furthest from 0 among them
    """

    model: str
    impl: str
    quantity: str
    machine: str
    graph: str
    edges: int
    label: str
    predicted: float
    measured: float
    cells: int
    worst: float

    @property
    def error(self) -> float:
        """-0.25 for three quarters of what was measured."""
        return self.predicted / self.measured - 1

    @property
    def kept(self) -> bool:
        """Whether the error is within what is promised."""
        return abs(self.error) <= WANTED


@cache
def _run(folder: Path) -> Run:
    return of_machine(read(folder))


def samples(population: Population) -> list[Sample]:
    """The recorded cells of a population. Raises NothingMeasured where the recorded runs are not at hand."""
    on, found = shipped(population.machine), []
    for name in population.runs:
        folder = paths.baselines_dir() / population.machine / name
        try:
            cells = _run(folder).cells
        except InputError as error:
            raise NothingMeasured(
                f"the recorded runs that predictions are checked against are not here: {error} (the checkout of the "
                "project has them)"
            ) from None
        for cell in cells:
            if not (cell.problem == "reachability" and cell.impl == population.impl and cell.sound and cell.edges):
                continue
            if (values := population.value(cell, population.model)) is None:
                continue
            work = Work.of(cell)
            if population.fits(work):
                terms = np.array(population.model.terms(work, on))
                label = f"{name}: {cell.label}, {cell.query_set}"
                found.append(Sample(cell.dataset, work.raw_edges, label, terms, np.array(values)))
    return found


def lines(population: Population, constants: Sequence[float] | None = None) -> list[Line]:
    """A line for each graph of a population, in the order of its recorded cells; predicted with these constants, else
    with constants fitted to all graphs but the predicted one."""
    cells = samples(population)
    if constants is None:
        predictions = left_out(population.model, cells)
    else:
        predictions = [float(constants @ sample.terms) for sample in cells]
    graphs: dict[str, list[tuple[float, float, Sample]]] = {}
    for sample, predicted in zip(cells, predictions, strict=True):
        graphs.setdefault(sample.graph, []).append((predicted / sample.measured, predicted, sample))
    found = []
    for graph, own in graphs.items():
        own.sort(key=lambda each: each[0])
        _, predicted, sample = own[(len(own) - 1) // 2]
        worst = max((ratio - 1 for ratio, _, _ in own), key=abs)
        found.append(
            Line(population.name, population.impl, population.quantity, population.machine, graph, sample.edges,
                 sample.label, predicted, sample.measured, len(own), worst)
        )  # fmt: skip
    return found


@cache
def checked() -> tuple[Line, ...]:
    """Every graph of every population."""
    return tuple(line for population in POPULATIONS.values() for line in lines(population))


@cache
def constants(name: str) -> np.ndarray:
    """The constants of a model, fitted to all recorded cells of its population."""
    return fitted(POPULATIONS[name].model, samples(POPULATIONS[name]))


@cache
def carried() -> tuple[Line, ...]:
    """Every graph of `ELSEWHERE`, with constants from the runs of another machine."""
    return tuple(line for each in ELSEWHERE for line in lines(each, constants(each.name)))


def of(found: Iterable[Line], impl: str, quantity: str) -> list[Line]:
    """The lines of an implementation and a quantity."""
    return [line for line in found if (line.impl, line.quantity) == (impl, quantity)]


# ------------------------------------------------------------------ what pairs ask for

_EASY = 1.0  # edges a pair scans, at most, where filters decide
_HARD = "again", "groups"
_RANDOM_DAG = "dag_"  # names of the random DAGs of Computation 2020


def measured_searches(impl: str) -> dict:
    """The fields of `fitted.Searches` of an implementation, from recorded batches of random pairs.

    On a GPU all filters are on. On a processor no large random DAG was recorded with all filters, so its searches are
    those of labels alone: with filters there are fewer.
    """
    easy = [work for work in map(Work.of, _batches(CPU, ("fused",))) if work.scanned < _EASY * work.queries]
    names = "filtered", "beyond_labels", "searches", "expanded", "scanned", "pushed"
    shares = {name: float(np.median([getattr(work, name) / work.queries for work in easy])) for name in names}
    filters = "level,tree,hubs" if impl == GPU else ""
    hard = [
        work for cell in _batches(impl, ("computation-2020", "billion", "two-billion"), filters)
        if cell.dataset.startswith((_RANDOM_DAG, "random-")) and cell.dim == 2
        for work in [Work.of(cell)]
    ]  # fmt: skip
    x, y = np.log([(work.vertices / 1e6, work.scanned / work.queries) for work in hard]).T
    off = []
    for i in range(len(x)):
        power, edges = np.polyfit(np.delete(x, i), np.delete(y, i), 1)
        off.append(abs(edges + power * x[i] - y[i]))
    power, edges = np.polyfit(x, y, 1)
    return {
        "hard": {name: float(f"{max(getattr(work, name) / work.queries for work in hard):.4g}") for name in _HARD},
        "easy": {name: round(share, 6) for name, share in shares.items()},
        "edges": round(float(np.exp(edges)), 1),
        "power": round(float(power), 3),
        "graphs": len(hard),
        "worst": round(float(np.exp(max(off))), 2),
    }


def _batches(impl: str, runs: tuple[str, ...], filters: str = "level,tree,hubs") -> list[Cell]:
    """Recorded cells on the first machine with random pairs and these filters."""
    cells = [cell for name in runs for cell in _run(paths.baselines_dir() / "h200" / name).cells]
    return [
        cell for cell in cells
        if cell.impl == impl and cell.sound and cell.counters and cell.random and (cell.batch or 0) == BATCH
        and (cell.filters or "") == filters
    ]  # fmt: skip
