"""What a graph asks of an index: the trees at its ends, and the core between them.

`python -m grailbench.problems.reachability.ends > docs/benchmark-graphs.jsonl` measures the graphs of the papers'
tables and of the sets that come with them; look-alikes stand for those that cannot be had. With names, it measures
these graphs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

import click

from grailbench.data.library import BenchGraph, open_graph
from grailbench.data.registry import registry
from grailbench.errors import GrailbenchError
from grailbench.graph.csr import Dag
from grailbench.graph.generate import HOME_MADE
from grailbench.problems.reachability.core.closure import words
from grailbench.problems.reachability.core.index import fits, needed
from grailbench.problems.reachability.core.peel import peel
from grailbench.problems.reachability.index import Params

#: what `Ends.forest` may be, in words
FORESTS = {
    "in-forest": "no component has more than one child",
    "out-forest": "no component has more than one parent",
}
SETS = ("small-sparse", "small-dense", "large", "scale-free")  #: those of the graphs that the papers compare
_LIKE = "-like"


@dataclass(frozen=True)
class Ends:
    """What is peeled from the ends of a condensed graph, without the super-root, and what is left; see `core.peel`.

    vertices       of the condensed graph
    sources        vertices of the in-trees, peeled from the end of the sources
    sinks          vertices of the out-trees, peeled from the end of the sinks
    core           vertices that are left
    closure_bytes  of the packed closure of the core: a bit for each pair in one order, about k^2 / 16 bytes for a core
                   of k vertices
    needed_bytes   of the closure that `core` makes, as bits; it may be of fewer vertices (`core.rows`), and is packed
    """

    vertices: int
    sources: int
    sinks: int
    core: int
    closure_bytes: int
    needed_bytes: int

    @property
    def forest(self) -> str:
        """A key of `FORESTS`, 'out-forest' if the graph is both; '' if it is neither, or has no vertices."""
        whole = {self.sinks: "out-forest", self.sources: "in-forest"}
        return whole.get(self.vertices, "") if self.vertices else ""

    @property
    def fits(self) -> bool:
        """Whether `core` makes its closure on this machine now, unless it is told otherwise."""
        return fits(self.needed_bytes, Params())


def ends(dag: Dag) -> Ends:
    """Peels a condensed graph."""
    peeled = peel(dag)
    core = int(peeled.core.shape[0])
    closure = 8 * words(core) if core else 0
    return Ends(peeled.vertices, peeled.above, peeled.below, core, closure, needed(dag, peeled))


# ------------------------------------------------------------------ the graphs of the papers


def published() -> list[str]:
    """The graphs of `SETS`, with the look-alikes of those whose files cannot be had, and the home-made graphs of
    Computation 2020."""
    known = [(name, dataset.sha256) for name, dataset in registry().items() if dataset.set in SETS]
    real = [name if sha256 else f"{name}{_LIKE}" for name, sha256 in known]
    return [*real, *(f"{name}{_LIKE}" for name in HOME_MADE)]


def record(graph: BenchGraph) -> dict:
    """A record of a graph: its name, whether it is generated, the tables that print it, its SHA-256, the number of
    distinct edges between its vertices, and what `Ends` says of the graph alone, with shares."""
    found = ends(graph.dag)
    whole, numbers = max(1, found.vertices), asdict(found)
    del numbers["needed_bytes"]
    return {
        "name": graph.name,
        "generated": graph.kind == "synthetic",
        "tables": _tables(graph.name.removesuffix(_LIKE)),
        "sha256": graph.sha256,
        "edges": int(graph.dag.offsets[-2]),
        **numbers,
        "forest": found.forest,
        "sources_share": found.sources / whole,
        "sinks_share": found.sinks / whole,
        "core_share": found.core / whole,
    }


def _tables(name: str) -> str:
    """'thesis, table 2.3; Computation 2020, table 1'."""
    if name in HOME_MADE:
        return "Computation 2020, table 2"
    dataset = registry().get(name)
    return "; ".join(row.where for row in dataset.published) if dataset else ""


def records(names: list[str]) -> Iterator[dict]:
    """The record of each graph. Raises the errors of `open_graph`."""
    for name in names:
        yield record(open_graph(name))


@click.command()
@click.argument("names", nargs=-1, metavar="[GRAPH]...")
def main(names: tuple[str, ...]) -> None:
    """Writes a JSON line for each GRAPH, or for each graph of the papers."""
    write_lines(records([*names] or published()))


def write_lines(found: Iterable[dict]) -> None:
    """Writes each record as a JSON line once it is found; ends the program with one line if a graph cannot be had."""
    try:
        for each in found:
            click.echo(json.dumps(each))
    except GrailbenchError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
