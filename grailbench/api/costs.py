"""What the library adds to the kernels: `python -m grailbench.api.costs` measures and checks it.

many      a million pairs by `Index.reaches_many`, beside the kernel that answers them (`query_batch`)
one       one pair at a time by `Index.reaches`, beside PyReachability's `query` on the same pairs
load      opening an index file, and the first answer, which waits for the check of the file
networkx  `has_path` by NetworkX itself and by the backend, and `Index.reaches`, one pair at a time

Lines of one table are timed in turns, in one process on one thread; a figure is the median of its rounds.
"""

import json
import sys
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import Any

import click
import numpy as np

from grailbench.api.building import build, load
from grailbench.api.graph import Graph
from grailbench.compare.stability import LEAST_TRIALS, mark_of_record, varies
from grailbench.errors import CheckFailed, GrailbenchError, InputError, MachineLacks, install
from grailbench.harness.statistics import median_interval
from grailbench.problems.contract import NoTimer
from grailbench.report.render import terminal
from grailbench.report.table import Table, marked
from grailbench.util import temporary
from grailbench.util.screen import put

PEER = "peer:pyreachability-grail"
Costs = list[dict[str, Any]]  #: see `_costs`
Ways = dict[str, Callable[[], Any]]  #: what is timed -> a round of it


def many(name: str, pairs: int, rounds: int) -> Costs:
    """`reaches_many` of random pairs on a graph beside the kernel. Raises CheckFailed if an answer differs."""
    graph = Graph.open(name)
    index = build(graph, "sequential")
    us, vs = np.random.default_rng(1).integers(0, graph.vertices, (2, pairs), dtype=np.int32)
    component = graph.dag.component
    kernel, ends = index._engine.index, (component[us], component[vs])
    wide, labels = (us.astype(np.int64), vs.astype(np.int64)), (graph.ids_of(us), graph.ids_of(vs))
    ways: Ways = {
        "the kernel, of components": lambda: kernel.query_batch(*ends, NoTimer()),
        "reaches_many_vertices of int32": lambda: index.reaches_many_vertices(us, vs),
        "reaches_many of the ids, int64": lambda: index.reaches_many(*(wide if graph.ids.numeric else labels)),
    }
    if graph.ids.numeric and graph.ids.digest == "":
        ways["reaches_many of the ids, int32"] = lambda: index.reaches_many(us, vs)
    return _costs("many", name, pairs, _in_turns(ways, rounds))


def one(name: str, pairs: int, rounds: int) -> Costs:
    """`reaches` of a tenth of the pairs, one by one, beside the peer's `query`. Raises CheckFailed as `many` does."""
    pairs = max(pairs // 10, 1)
    graph = Graph.open(name)
    index = build(graph, "sequential")
    ends = np.random.default_rng(1).integers(0, graph.vertices, (2, pairs))
    inner = list(zip(*(graph.dag.component[each].tolist() for each in ends), strict=True))
    ids = list(zip(*(graph.ids_of(each).tolist() for each in ends), strict=True))
    ways: Ways = {"Index.reaches": partial(_answered, index.reaches, ids)}
    try:
        peer = build(graph, PEER)._engine.index.method.query  # type: ignore[attr-defined]
    except MachineLacks:
        pass
    else:
        ways[f"query of {PEER}, of components"] = partial(_answered, peer, inner)
    return _costs("one", name, pairs, _in_turns(ways, rounds))


def opening(name: str, pairs: int, rounds: int) -> Costs:
    """Opening an index file in a folder for temporary files, and the first answer."""
    built = build(Graph.open(name), "sequential")
    with temporary.Folder("costs") as folder:
        path = folder / "saved.index"
        built.save(path)
        size = f"{path.stat().st_size / 1e6:,.1f} MB"
        first, then = [], []
        for _ in range(rounds):
            began = perf_counter()
            index = load(path)
            middle = perf_counter()
            index.reaches_many_vertices(np.zeros(1, np.int32), np.zeros(1, np.int32))
            first.append(1e3 * (middle - began))
            then.append(1e3 * (perf_counter() - middle))
            del index
    times = {f"load of {size}": first, "the first answer, with the check of the file": then}
    return _costs("load", name, 0, times)


def networkx(name: str, pairs: int, rounds: int) -> Costs:
    """`has_path` of a hundredth of the pairs, random and balanced ones, by NetworkX itself, by the backend, and without
    NetworkX. Raises CheckFailed as `many` does, MachineLacks without NetworkX."""
    try:
        import networkx as nx
    except ModuleNotFoundError as error:
        raise MachineLacks(f"NetworkX is not installed ({error}): {install('networkx')}") from None

    from grailbench.api.nx import convert
    from grailbench.data.library import open_graph
    from grailbench.problems.reachability.queries import QuerySpec, query_set

    opened, found = open_graph(name), []
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(opened.raw.vertices))
    graph.add_edges_from(zip(opened.raw.sources.tolist(), opened.raw.targets.tolist(), strict=True))
    converted = convert(graph)
    with nx.config(warnings_to_ignore={"cache"}):
        for kind in QuerySpec.DRAWN:
            drawn = query_set(QuerySpec(kind, max(pairs // 100, 1), 1), opened.dag, opened.sha256)
            ids = list(zip(drawn.sources.tolist(), drawn.targets.tolist(), strict=True))
            backend = partial(nx.has_path, graph, backend="grailbench")
            ways: Ways = {
                "has_path(G, u, v) by NetworkX itself": partial(_answered, partial(nx.has_path, graph), ids),
                "has_path(G, u, v), converted before": partial(_answered, backend, ids),
                "has_path(nx_backend.convert(G), u, v)": partial(_answered, partial(nx.has_path, converted), ids),
                "index.reaches(u, v) without NetworkX": partial(_answered, converted.index.reaches, ids),
            }
            found += _costs("networkx", f"{opened.name}, {kind}", len(ids), _in_turns(ways, rounds))
    return found


def _in_turns(ways: Ways, rounds: int) -> dict[str, list[float]]:
    """The ms of each round of each way, after one that is not timed. Raises CheckFailed if one gives other answers."""
    answers = {what: way() for what, way in ways.items()}
    right = next(iter(answers.values()))
    for what, given in answers.items():
        if not np.array_equal(given, right):
            raise CheckFailed(f"{what}: an answer differs from that of {next(iter(answers))}")
    times: dict[str, list[float]] = {what: [] for what in ways}
    for _ in range(rounds):
        for what, way in ways.items():
            began = perf_counter()
            way()
            times[what].append(1e3 * (perf_counter() - began))
    return times


def _answered(function: Callable[..., Any], pairs: list[tuple[Any, Any]]) -> list[bool]:
    return [function(source, target) for source, target in pairs]


def _costs(part: str, graph: str, calls: int, times: dict[str, list[float]]) -> Costs:
    """A record for each median: part, graph, what, calls (questions of a round; 0 where it is an opening), ms, beside
    (this time over the first, None for that and for openings), ns (nanoseconds a question), the 95 % intervals of ms
    and ns, and whether the rounds of either are `unstable`, or too `few` to tell."""
    medians = {what: median(ms) for what, ms in times.items()}
    within = {what: median_interval(ms) for what, ms in times.items()}
    base, *_ = medians.values()
    shaky = {what: varies(ms) for what, ms in times.items()}
    first, *_ = shaky.values()
    return [
        {
            "part": part, "graph": graph, "what": what, "calls": calls, "ms": ms,
            "beside": ms / base if at and calls else None, "ns": 1e6 * ms / calls if calls else None,
            "ms_low": within[what].low, "ms_high": within[what].high,
            "ns_low": 1e6 * within[what].low / calls if calls else None,
            "ns_high": 1e6 * within[what].high / calls if calls else None,
            "unstable": shaky[what] or bool(first and calls), "few": len(times[what]) < LEAST_TRIALS,
        } for at, (what, ms) in enumerate(medians.items())
    ]  # fmt: skip


def table(costs: Costs) -> Table:
    """The costs of a part."""

    def text(cost: dict[str, Any], key: str, places: int) -> str:
        return f"{cost[key]:,.{places}f}" + mark_of_record(cost) * (key != "calls") if cost[key] else ""

    heads = ["graph", "what", "questions", "ms", "95 % interval", "ns each", "over the first"]
    lines = [[each["graph"], each["what"], text(each, "calls", 0), text(each, "ms", 3),
              f"{each['ms_low']:,.3f} to {text(each, 'ms_high', 3)}", text(each, "ns", 0), text(each, "beside", 2)]
             for each in costs]  # fmt: skip
    ends = (at for at, pair in enumerate(pairwise(costs)) if pair[0]["graph"] != pair[1]["graph"])
    return Table("", costs[0]["part"], heads, lines, frozenset(heads[2:]), 2, frozenset(ends), notes=marked(lines))


#: part -> what measures a graph, and the graphs of it
PARTS = {
    "many": (many, ("kegg", "citeseer", "uniprotenc_22")),
    "one": (one, ("kegg", "citeseer")),
    "load": (opening, ("kegg", "uniprotenc_22")),
    "networkx": (networkx, ("citeseer",)),
}


@click.command()
@click.argument("graphs", nargs=-1)
@click.option("--part", "parts", multiple=True, type=click.Choice(list(PARTS)), help="Only this; may repeat.")
@click.option("--pairs", default=1_000_000, show_default=True, help="Of 'many'; 'one' and 'networkx' ask fewer.")
@click.option("--rounds", default=21, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def main(graphs: tuple[str, ...], parts: tuple[str, ...], pairs: int, rounds: int, as_json: bool) -> None:
    """Measure what the library costs beside the kernels, on GRAPHS or on those of each part; on an idle machine."""
    try:
        if pairs < 1 or rounds < 1:
            raise InputError(f"{pairs} pairs in {rounds} rounds: at least one of both is needed")
        for part in parts or PARTS:
            measure, usual = PARTS[part]
            costs = [cost for name in graphs or usual for cost in measure(name, pairs, rounds)]
            if as_json:
                click.echo("\n".join(map(json.dumps, costs)))
            else:
                put(terminal(table(costs)))
    except GrailbenchError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
