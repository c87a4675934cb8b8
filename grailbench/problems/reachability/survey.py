"""The trees at the ends and the core of the benchmark graphs, for `docs/benchmark-graphs.md`, a JSON line a graph:

    python -m grailbench.problems.reachability.survey [GRAPH]... > docs/benchmark-graphs.jsonl

The graphs are those of the papers' tables and of the sets that come with them; look-alikes stand for those that are not
available.
"""

from __future__ import annotations

import json
import sys

import click

from grailbench.data.library import BenchGraph, open_graph
from grailbench.data.registry import registry
from grailbench.errors import GrailbenchError
from grailbench.graph.generate import HOME_MADE
from grailbench.problems.reachability.profile import ends

SETS = ("small-sparse", "small-dense", "large", "scale-free")  #: those of the graphs that the papers compare
_LIKE = "-like"


def published() -> list[str]:
    """The graphs of `SETS`, with the look-alikes of those whose files are not available, and the home-made graphs of
    Computation 2020."""
    known = [(name, dataset.sha256) for name, dataset in registry().items() if dataset.set in SETS]
    real = [name if sha256 else f"{name}{_LIKE}" for name, sha256 in known]
    return [*real, *(f"{name}{_LIKE}" for name in HOME_MADE)]


def record(graph: BenchGraph) -> dict:
    """The record of a graph: its name, whether it is generated, the tables that print it, its SHA-256, the number of
    distinct edges between its vertices, and what `Ends` says of the graph alone, with shares."""
    found = ends(graph.dag)
    whole = max(1, found.vertices)
    return {
        "name": graph.name,
        "generated": graph.kind == "synthetic",
        "tables": _tables(graph.name.removesuffix(_LIKE)),
        "sha256": graph.sha256,
        "edges": int(graph.dag.offsets[-2]),
        **{name: value for name, value in vars(found).items() if name != "needed_bytes"},
        "forest": found.forest,
        **{f"{part}_share": getattr(found, part) / whole for part in ("sources", "sinks", "core")},
    }


def _tables(name: str) -> str:
    """'thesis, table 2.3; Computation 2020, table 1'."""
    if name in HOME_MADE:
        return "Computation 2020, table 2"
    dataset = registry().get(name)
    return "; ".join(row.where for row in dataset.published) if dataset else ""


@click.command()
@click.argument("names", nargs=-1, metavar="[GRAPH]...")
def main(names: tuple[str, ...]) -> None:
    """Writes a JSON line for each GRAPH, or for each graph of the page, once it is measured."""
    try:
        for name in names or published():
            click.echo(json.dumps(record(open_graph(name))))
    except GrailbenchError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
