"""The graphs of a plan: fetched where missing, and replaced by look-alikes where the plan allows it."""

from __future__ import annotations

import json
from dataclasses import replace

from grailbench.bench.plan import Cell, Plan
from grailbench.datasets.library import BenchGraph, RawGraph
from grailbench.errors import InputError
from grailbench.graph.csr import Graph
from grailbench.words import count

FETCH_JOBS = 4


def missing(plan: Plan) -> list[str]:
    """Names of the plan's published graphs that are not in the cache."""
    from grailbench.datasets.cache import local_file
    from grailbench.datasets.registry import registry

    known = registry()
    return [name for name in plan.by_dataset() if name in known and local_file(known[name]) is None]


def provide(plan: Plan, fetch: bool, note) -> Plan:
    """Fetch what the plan lacks, and put look-alikes, under their own names, where it still lacks something.

    `note` is called with a line for people about each thing done. Cells without `fallback` keep a graph that
    could not be had; the runner skips them with the reason. Raises InputError for a mirror that is none.
    """
    lacking = missing(plan)
    if lacking and fetch:
        _fetch(lacking, note)
        lacking = missing(plan)
    willing = {cell.dataset for cell in plan.cells if cell.fallback == "like"}
    replaced = [name for name in lacking if name in willing and _look_alike(name)]
    lost = [name for name in lacking if name not in replaced]
    if lost and fetch:
        note(f"not to be had: {', '.join(lost)}; GRAILBENCH_MIRROR may name a folder or URL that has their archives")
    if not replaced:
        return plan
    names = ", ".join(replaced)
    note(f"not to be had: {names}; generated look-alikes stand in, under their own names (NAME-like)")
    cells: dict[str, Cell] = {}
    for cell in plan.cells:
        if cell.dataset in replaced and cell.fallback == "like":
            cell = replace(cell, dataset=_look_alike(cell.dataset), stands_for=cell.dataset)
        cells.setdefault(json.dumps(cell.identity(), sort_keys=True), cell)
    return replace(plan, cells=tuple(cells.values()))


def _look_alike(name: str) -> str | None:
    from grailbench.graph.generate import look_alikes

    like = f"{name}-like"
    return like if like in look_alikes() else None


def _fetch(names: list[str], note) -> None:
    from grailbench.datasets.fetch import fetch
    from grailbench.datasets.registry import registry

    note(f"fetching {count(len(names), 'graph')}: {', '.join(names)}")
    results = fetch([registry()[name] for name in names], jobs=FETCH_JOBS)
    came = [result.name for result in results if result.status != "missing"]
    lost = [result for result in results if result.status == "missing"]
    reasons = dict.fromkeys(reason for result in lost for reason in result.reasons)
    if came:
        note(f"fetched {len(came)}: {', '.join(came)}")
    for reason in list(reasons)[:4]:
        note(f"  {reason}")


def raw_edges(graph: BenchGraph | RawGraph) -> Graph:
    """The edges of an opened graph as its file has them: where the way of phase `ready` begins."""
    if isinstance(graph, RawGraph):
        return graph.graph
    from grailbench import paths
    from grailbench.datasets.cache import held
    from grailbench.datasets.registry import registry
    from grailbench.graph.readers import read_graph
    from grailbench.graph.store import load_graph

    if graph.kind != "real":
        folder = {"synthetic": "generated", "imported": "imported"}[graph.kind]
        return load_graph(paths.cache_dir() / folder / f"{graph.name}.npz")[0]
    found = held(registry()[graph.name])
    if found is None or found.sha256 != graph.sha256:
        raise InputError(f"the file of {graph.name} changed during the run")
    return read_graph(found.path, found.form.format)
