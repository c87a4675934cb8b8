"""The command `grailbench list`."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from grailbench.cli import options
from grailbench.cli.printing import show, table
from grailbench.errors import GrailbenchError
from grailbench.util import paths
from grailbench.util.words import BLANK

#: kind -> columns of its table
COLUMNS = {
    "datasets": ("name", "set", "table", "vertices", "published_vertices", "edges", "published_edges",
                 "matches", "verified"),
    "implementations": ("name", "problem", "needs", "axes", "source"),
    "configs": ("name", "experiments", "description"),
    "runs": ("name", "recorded", "cells", "statuses", "rows", "cpu"),
}  # fmt: skip
NUMBERS = ("vertices", "published_vertices", "edges", "published_edges", "experiments", "cells", "rows")


@click.command("list")
@click.argument("kind", type=click.Choice([*COLUMNS]), required=False)
@options.as_json
def list_(kind, as_json):
    """List datasets, implementations, configs or runs; without KIND all four. 'grailbench report NAME' shows a run.

    Vertices and edges are counted with the super-root, as the thesis counts them, for the graphs that are in
    the cache; 'matches' says whether they are the published ones.

    \b
    Examples:
      grailbench list
      grailbench list datasets
      grailbench list implementations --json
    """
    for each in (kind,) if kind else COLUMNS:
        found = list(RECORDS[each]())
        heads = {column.replace("_", " "): column for column in COLUMNS[each]}
        notes = [f"{record['name']}: {record['reason']}" for record in found if record.get("reason")]
        notes += _examples() if each == "runs" else []
        right = [head for head, column in heads.items() if column in NUMBERS]
        show(as_json, found, [table(each, heads, found, right, BLANK, notes=notes) if found else f"{each}: none"])


def _examples() -> list[str]:
    """How to show the recorded run that has the thesis's tables on a GPU, if it is there."""
    from grailbench.harness.folder import example_report

    command = example_report()
    return [f"show one: {command} (the thesis's tables on a GPU)"] if command else []


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

    blank = dict.fromkeys(("name", "set", "vertices", "edges", "published_vertices", "published_edges", "matches",
                           "verified", "table", "title", "reason"))  # fmt: skip
    for dataset in registry().values():
        record = fetched(dataset)
        yield {key: record.get(key) for key in blank}
    stored, known = stored_here(), catalogue.graphs()
    for name in dict.fromkeys([*known, *stored]):
        listed = {"name": name, "set": catalogue.set_of(name), "title": known[name].title} if name in known else {}
        yield blank | (made(name) if name in stored else listed)


def fetched(dataset) -> dict:
    """The record of a dataset of the registry (`library.describe`); its `reason` says why it cannot be opened."""
    from grailbench.data.library import describe

    try:
        return describe(dataset) | {"reason": None}
    except GrailbenchError as error:
        printed = dataset.printed(super_root=True)
        return {
            "name": dataset.name, "set": dataset.set, "table": dataset.table, "title": dataset.title, "vertices": None,
            "published_vertices": printed and printed.vertices, "published_edges": printed and printed.edges,
            "reason": str(error),
        }  # fmt: skip


def made(name: str) -> dict:
    """The record of a generated or imported graph."""
    from grailbench.data.library import open_graph

    try:
        graph = open_graph(name)
    except GrailbenchError as error:
        return {"name": name, "reason": str(error)}
    return {"name": name, "set": graph.set, "title": graph.title, "vertices": graph.dag.vertices,
            "edges": graph.dag.printed_edges}  # fmt: skip


def implementations() -> Iterator[dict]:
    """Every implementation. Keys: problem, name, needs (extras or hardware), source, axes (those it obeys)."""
    from grailbench.problems import contract

    for problem in contract.PROBLEMS:
        for name, found in contract.implementations(problem).items():
            yield {
                "problem": problem, "name": name, "needs": list(found.needs), "source": found.source,
                "axes": sorted(found.axes),
            }  # fmt: skip


def configs(wanted: str | None = None) -> Iterator[dict]:
    """Every shipped config, or the one of that name. Keys: name, description, experiments, path."""
    from grailbench.harness.plan import load_config, shipped_configs

    for name in shipped_configs():
        if wanted in (None, name):
            config = load_config(name)
            yield {"name": name, "description": config.description, "experiments": len(config.experiment),
                   "path": str(paths.shipped("configs") / f"{name}.toml")}  # fmt: skip


def runs() -> Iterator[dict]:
    """Every run in the default folder, the latest first, then the recorded ones, whose rows are not read. Keys: name,
    recorded, rows, cells (planned, of a recorded one), statuses, cpu, path, reason."""
    from grailbench.harness import folder as results

    blank = dict.fromkeys(("rows", "cells", "statuses", "cpu"))
    for folder in reversed(results.runs()):
        try:
            yield {key: value for key, value in run(folder).items() if key != "environment"} | {"recorded": False}
        except GrailbenchError as error:
            yield {"name": folder.name, **blank, "path": str(folder), "reason": str(error), "recorded": False}
    for name, folder in results.recorded_runs().items():
        found = {"cells": len(results.read_json(folder / results.PLAN)["cells"]), "path": str(folder), "reason": None,
                 "cpu": results.read_environment(folder).get("cpu"), "recorded": True}  # fmt: skip
        yield {"name": name} | blank | found


def run(folder: Path) -> dict:
    """The record of a run, with its `environment`. Raises InputError if it cannot be read."""
    from grailbench.harness.cells import load

    found = load(folder)
    statuses = [cell.status for cell in found.cells]
    return {
        "name": found.name, "rows": len(found.rows), "cells": len(statuses), "statuses": dict(Counter(statuses)),
        "cpu": found.environment.get("cpu"), "path": str(folder), "reason": None, "environment": found.environment,
    }  # fmt: skip


RECORDS = {"datasets": datasets, "implementations": implementations, "configs": configs, "runs": runs}
