"""`python -m grailbench.api.nx [GRAPH]` times `has_path` by the backend and by NetworkX itself, in one process."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from grailbench.data.library import open_graph
from grailbench.errors import CheckFailed, GrailbenchError, InputError, MachineLacks
from grailbench.problems.reachability.queries import QuerySpec, query_set
from grailbench.util.screen import Grid, put

if TYPE_CHECKING:
    from rich.text import Text

try:
    import networkx as nx

    from grailbench.api.nx.graph import Converted
except ModuleNotFoundError as error:
    click.echo(f"error: NetworkX is not installed ({error}): pip install 'grailbench[networkx]'", err=True)
    sys.exit(MachineLacks.exit_code)


@dataclass(frozen=True)
class Timing:
    """What one thread took.

    queries  'random' or 'balanced' pairs, as `grailbench run` draws them
    pairs    how many were asked, 0 where none were; NetworkX itself is asked the first of them
    """

    graph: str
    queries: str
    what: str
    seconds: float
    pairs: int

    @property
    def microseconds(self) -> float | None:
        """Of one pair; None where none were asked."""
        return 1e6 * self.seconds / self.pairs if self.pairs else None

    def record(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**asdict(self), "microseconds": self.microseconds, "networkx": nx.__version__}


def measure(name: str, pairs: int = 100_000, sample: int = 1_000, seed: int = 1) -> list[Timing]:
    """Times `pairs` queries of each kind by the backend, and the first `sample` of them by NetworkX itself.

    Compiled code is loaded before. Raises InputError for an unknown graph or numbers below 1, CheckFailed if an answer
    is not that of NetworkX.
    """
    if pairs < 1 or sample < 1:
        raise InputError(f"{pairs} pairs and a sample of {sample}: at least one is needed")
    opened = open_graph(name)
    found: list[Timing] = []
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(opened.raw.vertices))
    graph.add_edges_from(zip(opened.raw.sources.tolist(), opened.raw.targets.tolist(), strict=True))
    with nx.config(warnings_to_ignore={"cache"}):
        Converted(nx.path_graph(3, nx.DiGraph)).index.reaches(0, 2)  # loads compiled code
        for kind in QuerySpec.DRAWN:
            drawn = query_set(QuerySpec(kind, pairs, seed), opened.dag, opened.sha256)
            asked = list(zip(drawn.sources.tolist(), drawn.targets.tolist(), strict=True))
            found += (Timing(opened.name, kind, *line) for line in _asked(graph, asked, sample))
    return found


def _asked(graph: nx.DiGraph[Any], pairs: list[tuple[Any, ...]], sample: int) -> Iterator[tuple[str, float, int]]:
    """What was timed, the seconds, and the number of pairs: line by line."""
    graph.__networkx_cache__.clear()
    start = perf_counter()
    converted = Converted(graph)
    middle = perf_counter()
    index = converted.index
    yield "the graph converted", middle - start, 0
    yield "its index built", perf_counter() - middle, 0
    by_networkx, seconds = _timed(partial(nx.has_path, graph), pairs[:sample])
    yield "has_path(G, u, v) by NetworkX itself", seconds, len(by_networkx)
    chosen = partial(nx.has_path, graph, backend="grailbench")
    for what, function in (
        ("has_path(G, u, v), converted and built at the first call", chosen),
        ("has_path(G, u, v), converted and built before", chosen),
        ("has_path(nx_backend.convert(G), u, v)", partial(nx.has_path, converted)),
        ("index.reaches(u, v) without NetworkX", index.reaches),
    ):
        answers, seconds = _timed(function, pairs)
        if answers[:sample] != by_networkx:
            raise CheckFailed(f"{what}: an answer is not that of NetworkX")
        yield what, seconds, len(answers)


def _timed(function: Callable[..., Any], pairs: list[tuple[Any, ...]]) -> tuple[list[bool], float]:
    start = perf_counter()
    answers = [function(source, target) for source, target in pairs]
    return answers, perf_counter() - start


def table(timings: Iterable[Timing]) -> Grid:
    """The timings of one graph."""
    lines: list[list[str | Text]] = []
    ends: list[int] = []
    for timing in timings:
        if lines and lines[-1][0] != timing.queries:
            ends.append(len(lines) - 1)
        each = "" if timing.microseconds is None else f"{timing.microseconds:,.1f}"
        pairs = f"{timing.pairs:,}" if timing.pairs else ""
        lines.append([timing.queries, timing.what, pairs, f"{timing.seconds:,.3f}", each])
        name = timing.graph
    heads = ["queries", "what", "pairs", "seconds", "µs a pair"]
    return Grid(
        f"has_path on {name}, NetworkX {nx.__version__}", heads, lines, frozenset(heads[2:]), 2, frozenset(ends)
    )


@click.command()
@click.argument("graph", default="citeseer")
@click.option("--pairs", default=100_000, show_default=True, help="Pairs of each kind.")
@click.option("--sample", default=1_000, show_default=True, help="The first of them, which NetworkX itself answers.")
@click.option("--json", "as_json", is_flag=True, help="JSON, one line a timing.")
def main(graph: str, pairs: int, sample: int, as_json: bool) -> None:
    """Times has_path on GRAPH by NetworkX's backend grailbench and by NetworkX itself."""
    try:
        timings = measure(graph, pairs, sample)
    except GrailbenchError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    if as_json:
        click.echo("\n".join(json.dumps(timing.record()) for timing in timings))
    else:
        put([table(timings)])


if __name__ == "__main__":
    main()
