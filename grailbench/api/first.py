"""What is compiled for first answers and first cells, in jobs that need nothing of one another (`util.ahead`).

Graphs are tiny and made without kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from grailbench.graph.csr import Dag, Graph
from grailbench.problems import contract
from grailbench.problems.contract import implementation, implementations
from grailbench.problems.reachability.index import Implementation, NoTimer, Params
from grailbench.util.ahead import Job

if TYPE_CHECKING:
    from grailbench.harness.plan import Cell

USUAL = "reachability"
#: formats of graphs, and the same two edges in each
TEXTS = {"gra": "graph_for_greach\n3\n0: 1 #\n1: 2 #\n2: #\n", "edges": "0 1\n1 2\n", "csv": "from,to\n0,1\n1,2\n"}


def _here(name: str, *args: object) -> Job:
    return Job(f"{__name__}:{name}", args)


def of_answer(index: bool) -> list[Job]:
    """The jobs of a first answer, by `core` if by an `index`; those are first that come last."""
    return [_here("answer"), _here("turned"), _here("condensed")][not index :]


def of_cells(cells: Sequence[Cell], simulated: bool) -> list[Job]:
    """The jobs of the first rows of cells: those of GPUs first, unless they are simulated."""
    known = {(cell.problem, cell.impl): cell for cell in reversed(cells)}.values()
    found = {cell: implementation(cell.impl, cell.problem) for cell in known}
    on_gpu = [cell for cell in known if "gpu" in found[cell].needs and not simulated]
    others = [cell for cell in known if "gpu" not in found[cell].needs]
    jobs = [job for cell in on_gpu for job in _of(found[cell], cell.params)]
    jobs += [Job("grailbench.harness.passes:prime", (cell, True)) for cell in others]
    return [*jobs, _here("checked"), _here("turned"), _here("condensed")]


def of_all(gpu: bool) -> list[Job]:
    """The jobs of `grailbench warmup`: reading, answers, and our implementations of reachability, on a GPU too."""
    found = [each for name, each in sorted(implementations(USUAL).items()) if ":" not in name]
    ours = [each for each in found if not each.needs or (gpu and each.needs == ("gpu",))]
    ours.sort(key=lambda each: "gpu" not in each.needs)
    jobs = [job for each in ours for job in _of(each, Params())]
    return [*jobs, *(_here(name) for name in ("read", "questions", "checked", "turned", "condensed"))]


def _of(found: type[contract.Implementation], params: contract.Params) -> list[Job]:
    """The jobs of one implementation."""
    name, solved = found.name, found.problem
    if issubclass(found, Implementation) and found.parts > 1:
        return [_here("part", name, params, number) for number in range(found.parts)]
    kinds = [replace(params, count=True), params] if found.counts else [params]
    return [_here("primed", name, solved, each, not each.count) for each in kinds]


def part(name: str, params: Params, number: int) -> None:
    """One part of the kernels of an implementation."""
    implementation(name).load_part(number, params)


def primed(name: str, solved: str, params: contract.Params, from_edges: bool) -> None:
    """The kernels of a pass of an implementation."""
    contract.problem(solved).prime(implementation(name, solved), params, from_edges)


def path() -> Dag:
    """A path of two vertices, and the super-root."""
    children, levels, order, component = (np.array(each, np.int32) for each in ([1, 0], [1, 2, 0], [2, 0, 1], [0, 1]))
    return Dag(np.array([0, 1, 1, 2]), children, levels, order, component)


def in_tree() -> Dag:
    """Two vertices above a third, and the super-root."""
    children, levels, order = (np.array(each, np.int32) for each in ([2, 2, 0, 1], [1, 1, 2, 0], [3, 0, 1, 2]))
    return Dag(np.array([0, 1, 2, 2, 4]), children, levels, order, np.arange(3, dtype=np.int32))


def answer() -> None:
    """A single pair, the records of `core` and its peeling, of forests, those first that come last."""
    from grailbench.problems.reachability.core.index import Core, CoreIndex
    from grailbench.problems.reachability.core.peel import Peeled, peel
    from grailbench.problems.reachability.core.records import tree_records

    tree = np.array([(0, 2), (1, 1), (2, 1)], np.uint16)
    pair = CoreIndex(path(), Params(), {"shape": np.zeros(2, np.int64), "tree": tree}).one_pair(None)
    pair.quick(pair.at, 0, 1)
    places = (np.arange(3, dtype=np.int32) for _ in range(3))
    tree_records(Peeled(0, np.empty(0, np.int32), *places))
    peel(path())
    Core.build(in_tree(), Params(), NoTimer())


def turned() -> None:
    """The last steps of condensing, and rows of parents."""
    from grailbench.graph.kahn import kahn
    from grailbench.graph.rows import transpose
    from grailbench.graph.threads import ThreadPool

    rows = np.array([0, 1, 1]), np.array([1], np.int32)
    transpose(*rows)
    with ThreadPool(1) as pool:
        kahn(2, *rows, pool)


def condensed() -> None:
    """Condensing edges in no order."""
    from grailbench.graph.condense import condense

    condense(Graph(3, np.array([1, 0], np.int32), np.array([2, 1], np.int32)))


def checked() -> None:
    """The oracle of graphs of few vertices."""
    from grailbench.graph.oracle import closure_answers

    closure_answers(path(), np.array([0, 1], np.int32), np.array([1, 0], np.int32))


def read() -> None:
    """The parsers of common formats."""
    from grailbench.graph.readers import read

    with TemporaryDirectory() as folder:
        for form, text in TEXTS.items():
            file = Path(folder, f"graph.{form}")
            file.write_text(text)
            read(file)


def questions() -> None:
    """An index of a user's graph, with cycles and a core, and every kind of question."""
    from grailbench.api import Graph, build

    graph = Graph.from_edges([0, 0, 1, 1, 2, 3, 4, 5], [2, 3, 2, 3, 4, 4, 5, 4])
    index = build(graph)
    index.reaches(0, 4)
    index.reaches_many([0, 1], [4, 5])
    index.path(0, 5)
    index.descendants(0)
    index.ancestors(5)
    index.explain(0, 4)
