"""`grailbench list`: datasets, implementations, configs and runs."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from grailbench.cli import options
from grailbench.cli.printing import show
from grailbench.errors import GrailbenchError, InputError
from grailbench.report.render import terminal
from grailbench.report.table import Table
from grailbench.util import paths
from grailbench.util.screen import paired
from grailbench.util.words import BLANK, gib

KINDS = ("datasets", "implementations", "configs", "runs")


@click.command("list")
@click.argument("kind", type=click.Choice(KINDS), required=False)
@options.as_json
def command(kind, as_json):
    """List datasets, implementations, configs or runs; without KIND all four.

    Vertices and edges are counted with the super-root, as the thesis counts them, for the graphs that are in
    the cache; 'matches' says whether they are the published ones.

    \b
    Examples:
      grailbench list
      grailbench list datasets
      grailbench list implementations --json
    """

    for each in (kind,) if kind else KINDS:
        show(as_json, records(each), table(each))


def records(kind: str) -> Iterator[dict]:
    """The records of a kind ('datasets', 'implementations', 'configs', 'runs'), as dictionaries of plain values."""
    return _KINDS[kind]()


def datasets() -> Iterator[dict]:
    """Every graph of the registry, then those of the sets of generated graphs, then others that were generated or
    imported here.

    Keys: name, set, vertices, edges (with the super-root; None if the graph is not in the cache),
    published_vertices, published_edges (with the super-root; None if not published so), matches (None if measured
    or published counts are missing), verified, table, title, reason (why a graph in the cache cannot be opened).
    """
    from grailbench.data.locate import stored_here
    from grailbench.data.registry import registry
    from grailbench.graph.generate import catalogue

    for dataset in registry().values():
        yield {key: value for key, value in _dataset(dataset).items() if key in _DATASET_KEYS}
    stored, made = stored_here(), catalogue.graphs()
    for name, graph in made.items():
        blank = dict.fromkeys(_DATASET_KEYS) | {"name": name, "set": catalogue.set_of(name), "title": graph.title}
        yield _made(name) if name in stored else blank
    for name in stored:
        if name not in made:
            yield _made(name)


_DATASET_KEYS = ("name", "set", "vertices", "edges", "published_vertices", "published_edges", "matches",
                 "verified", "table", "title", "reason")  # fmt: skip


def _dataset(dataset) -> dict:
    """The record of `describe` for a dataset; if the dataset cannot be opened, its `reason` says why."""
    from grailbench.data.library import describe

    try:
        return {**describe(dataset), "reason": None}
    except GrailbenchError as error:
        printed = dataset.printed(super_root=True)
        return dict.fromkeys(_DATASET_KEYS) | {
            "name": dataset.name, "set": dataset.set, "table": dataset.table, "title": dataset.title,
            "published_vertices": printed and printed.vertices, "published_edges": printed and printed.edges,
            "reason": str(error),
        }  # fmt: skip


def _made(name: str) -> dict:
    """The record of a generated or imported graph."""
    from grailbench.data.library import open_graph

    record = dict.fromkeys(_DATASET_KEYS) | {"name": name}
    try:
        graph = open_graph(name)
    except GrailbenchError as error:
        return record | {"reason": str(error)}
    counts = {"vertices": graph.dag.vertices, "edges": graph.dag.printed_edges}
    return record | {"set": graph.set, "title": graph.title, **counts}


def implementations() -> Iterator[dict]:
    """Every implementation. Keys: problem, name, needs (extras or hardware), source, axes (those it obeys)."""
    from grailbench.problems.contract import PROBLEMS
    from grailbench.problems.contract import implementations as registered

    for problem in PROBLEMS:
        for name, found in registered(problem).items():
            yield {
                "problem": problem, "name": name, "needs": list(found.needs), "source": found.source,
                "axes": sorted(found.axes),
            }  # fmt: skip


def configs(wanted: str | None = None) -> Iterator[dict]:
    """Every shipped config, or the one of that name. Keys: name, description, experiments, path."""
    from grailbench.harness.plan import load_config, shipped_configs

    for name in shipped_configs():
        if wanted not in (None, name):
            continue
        config = load_config(name)
        counts = {"description": config.description, "experiments": len(config.experiment)}
        yield {"name": name, **counts, "path": str(paths.configs_dir() / f"{name}.toml")}


def runs() -> Iterator[dict]:
    """Every run in the default folder, the latest first. Keys: name, rows, cells, statuses, cpu, path, reason."""
    from grailbench.harness import folder as results

    for folder in reversed(results.runs()):
        try:
            yield {key: value for key, value in _run(folder).items() if key != "environment"}
        except GrailbenchError as error:
            blank = dict.fromkeys(("rows", "cells", "statuses", "cpu"))
            yield {"name": folder.name, **blank, "path": str(folder), "reason": str(error)}


def _run(folder: Path) -> dict:
    from grailbench.harness.cells import load

    run = load(folder)
    statuses = [cell.status for cell in run.cells]
    return {
        "name": run.name, "rows": len(run.rows), "cells": len(statuses), "statuses": dict(Counter(statuses)),
        "cpu": run.environment.get("cpu"), "path": str(folder), "reason": None, "environment": run.environment,
    }  # fmt: skip


_KINDS = {"datasets": datasets, "implementations": implementations, "configs": configs, "runs": runs}
_COLUMNS = {
    "datasets": ("name", "set", "table", "vertices", "published_vertices", "edges", "published_edges",
                 "matches", "verified"),
    "implementations": ("name", "problem", "needs", "axes", "source"),
    "configs": ("name", "experiments", "description"),
    "runs": ("name", "cells", "statuses", "rows", "cpu"),
}  # fmt: skip
_NUMBERS = ("vertices", "published_vertices", "edges", "published_edges", "experiments", "cells", "rows")


def table(kind: str) -> Iterator:
    """A table with notes, or a line which says that there are none."""
    found = list(records(kind))
    if not found:
        yield f"{kind}: none"
        return
    columns = _COLUMNS[kind]
    lines = [[_text(record.get(column)) for column in columns] for record in found]
    notes = [f"{r['name']}: {r['reason']}" for r in found if r.get("reason")]
    headers = [column.replace("_", " ") for column in columns]
    right = frozenset(headers[i] for i, column in enumerate(columns) if column in _NUMBERS)
    yield from terminal(Table(kind, kind, headers, lines, right, notes=notes))


def info(name: str) -> list[dict]:
    """A record for each thing of that name: the machine; or datasets, implementations and configs; or else a run.

    The name of an implementation may be that of a file which describes a program. `kind` says what a record is. Raises
    InputError if there is nothing of that name.
    """
    from grailbench.problems.contract import PROBLEMS, problem

    if name == "machine":
        from grailbench.harness.environment import environment

        return [{"kind": "machine", **environment()}]
    programs = (problem(solved).described(name) for solved in PROBLEMS)
    name = next((program.name for program in programs if program is not None), name)
    dataset = _dataset_info(name)
    found = [] if dataset is None else [{"kind": "dataset", **dataset}]
    for record in implementations():
        if record["name"] == name:
            found.append({"kind": "implementation", **record, **_explained(record["problem"], name)})
    found += [{"kind": "config", **record} for record in configs(name)]
    return found or [_run_info(name)]


def _explained(solved: str, name: str) -> dict:
    """The explanation of an implementation: `what` it is in a line, its `steps` as sentences, its `cost` in time and
    memory, what is `asked` of it if that is not all, the work `counters` that it may fill, and those `varying`."""
    from grailbench.problems.contract import implementation, problem

    found = implementation(name, solved)
    what, _, rest = inspect.cleandoc(found.__doc__ or "").partition("\n\n")
    steps = re.split(r"(?<=[.:]) (?=[A-Z`])", " ".join(rest.split()))
    part = getattr(found, "sample", None)
    asked = None if part is None else f"the first {part:,} pairs of a query set"
    return {
        "what": " ".join(what.split()), "steps": steps, "cost": found.cost or None, "asked": asked,
        "counters": [*found.counts, *problem(solved).counts], "varying": [*found.varying] or None,
    }  # fmt: skip


def _dataset_info(name: str) -> dict | None:
    """The record of a dataset by name or alias, or of a generated or imported graph; None if there is none. A graph
    that is not generated yet has its number of vertices only."""
    from grailbench.data.library import open_graph
    from grailbench.data.locate import look_up

    if (found := look_up(name)) is None:
        return None
    if (dataset := found.dataset) is None:
        said = _catalogued(found.name)
        if found.here:
            return _made_info(found.name) | said
        return {"name": found.name, "set": found.kind, "file_vertices": found.vertices, "here": False} | said
    record = _dataset(dataset)
    held = record["reason"] is None and record["vertices"] is not None
    ids = open_graph(dataset.name).ids.describe() if held else None
    return record | {"ids": ids, "aliases": list(dataset.aliases), "sources": list(dataset.sources)}


def _catalogued(name: str) -> dict:
    """What the catalogue says of a generated graph: `set`, `title`, the `model` and its `parameters`, `recorded` counts
    of seed 1; nothing of a graph that is not in it."""
    from grailbench.graph.generate import catalogue

    if (graph := catalogue.graphs().get(name)) is None:
        return {}
    return {
        "set": catalogue.set_of(name), "title": graph.title, "model": graph.model, "parameters": graph.parameters,
        "recorded": graph.measured.model_dump(), "about": catalogue.sets()[catalogue.set_of(name)].about,
    }  # fmt: skip


def _made_info(name: str) -> dict:
    """The record of a generated or imported graph with more keys: `file_vertices` and `file_edges` of the raw graph,
    which closures and traversals take; in words, the `ids` of its file, its `weights`, and `notes` of the import."""
    from grailbench.data.library import open_graph, open_raw
    from grailbench.graph.profile import characteristics

    raw = open_raw(name)
    known = {"file_vertices": raw.vertices, "file_edges": raw.edges, "ids": raw.ids.describe()}
    known |= {"weights": raw.weights or "none in the file", "notes": list(raw.notes)}
    return _made(name) | characteristics(open_graph(name).dag) | known


def _run_info(name: str) -> dict:
    from grailbench.harness import folder as results

    try:
        folder = results.find_run(name)
    except InputError as error:
        remedy = "'grailbench list' shows datasets, implementations, configs and runs"
        raise InputError(f"nothing is named {name!r}", remedy=remedy) from error
    return {"kind": "run", **_run(folder)}


def sheet(record: dict, width: int) -> Iterator[str]:
    """A record as aligned lines of `width` columns: nested records are indented, missing values left out."""
    return paired(_lines(record), width)


def _lines(record: dict, indent: str = "") -> Iterator[tuple[str, str]]:
    for key, value in record.items():
        if value is None or value == [] or (isinstance(value, dict) and all(v is None for v in value.values())):
            continue
        label = indent + key.removesuffix("_bytes").replace("_", " ")
        if isinstance(value, dict):
            yield label, ""
            yield from _lines(value, indent + "  ")
        elif isinstance(value, list) and isinstance(value[0], dict):
            for item in value:
                yield label, ", ".join(f"{k.replace('_', ' ')} {_text(v)}" for k, v in item.items() if v is not None)
                label = ""
        elif isinstance(value, list) and len(value) > 1 and len(_text(value)) > _LONG and _are_texts(value):
            for item in value:
                yield label, item
                label = ""
        else:
            yield label, gib(value, 1) if key.endswith("_bytes") else _text(value)


_LONG = 80  # a list of longer texts is printed with one item a line


def _are_texts(values: list) -> bool:
    """Whether a list has sentences or addresses, not just words."""
    return any(isinstance(value, str) and re.search(r"[\s/]", value) for value in values)


def _text(value: Any) -> str:
    """A value for people."""
    if value is None:
        return BLANK
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{count} {name}" for name, count in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)
