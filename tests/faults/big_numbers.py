"""Numbers at the ends of their types: places of edges near 2^32, ranks up to 2^31 - 2, and weights.

    python tests/faults/big_numbers.py --record numbers

- offsets   functions that go through rows are called twice, once with rows that begin near 2^32 (`far`)
- ranks     labels of the CPU are made again with ranks up to 2^31 - 2 (`far_ranks`)
- ids       graphs of more vertices than 2^31 - 2 are refused before memory is taken for them
- weights   at the limits of floats and integers, negative, NaN: used, or refused with the place

Exit code 1 if anything broke. It takes about two minutes.
"""

import tempfile
from pathlib import Path

import click
import far
import far_ranks
import numpy as np
import record
from oracle_checks import Digraph, implementations

ASKED = ("reachability/sequential", "reachability/sweep", "reachability/core", "bfs/sequential",
         "sssp/dijkstra", "closure/condense-bits", "closure/condense-pairs", "counts/search")  # fmt: skip


class Tally:
    """How many things were tried, and what broke."""

    def __init__(self):
        self.tried, self.faults, self.kernels, self.ranked = 0, [], {}, {}


def offsets(tally: Tally) -> None:
    """What goes through rows, with rows near and far; all of it is called once before, to be compiled."""
    from threads import asked_of

    random = np.random.default_rng(31)
    ends = np.concatenate([random.integers(0, 60, (110, 2)), np.stack([np.arange(59), np.arange(1, 60)], 1)[:40]])
    digraphs = [Digraph("cyclic", 1, 60, ends), Digraph("dag", 2, 60, np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1))]

    def drive() -> None:
        for digraph in digraphs:
            for problem, name, kind in implementations(False, ASKED):
                asked_of(problem, name, kind, digraph)(1)
            _drive_library(digraph)

    drive()
    with far.far_rows() as world:
        drive()
    tally.tried += sum(world.tried.values())
    tally.kernels = world.tried
    tally.faults += sorted(set(world.faults))
    tally.faults += [f"{name} was not reached" for name in far.ROWS if name not in world.tried]


def ranks(tally: Tally) -> None:
    """What makes labels, and answers by them, with ranks from 1 on and up to the greatest."""
    tally.ranked, tally.faults = far_ranks.compare(far_ranks.CPU)
    tally.tried = sum(tally.ranked.values())


def _drive_library(digraph: Digraph) -> None:
    import networkx as nx

    import grailbench as gb
    from grailbench.graph.oracle import swept_answers

    columns = np.array(digraph.edges, np.int64).T
    index = gb.build(gb.Graph.from_edges(*columns, vertices=60), "sequential")
    for u in (0, 7, 30):
        index.descendants(u), index.ancestors(u), index.path(u, 59), index.path(u, 31)
        index.count_descendants([u]), index.lowest_common_ancestors(u, 40)
    swept_answers(
        digraph.dag, *np.random.default_rng(3).integers(0, digraph.dag.vertices, (2, 50)).astype(np.int32), threads=1
    )
    nx.config.warnings_to_ignore.add("cache")
    source = nx.DiGraph(digraph.edges)
    nx.descendants(source, 0, backend="grailbench")
    nx.condensation(source, backend="grailbench")


def ids(tally: Tally) -> None:
    """Files that name more vertices than 32-bit ids have."""
    from grailbench.errors import InputError
    from grailbench.graph.csr import MAX_VERTICES
    from grailbench.graph.readers import read_graph

    with tempfile.TemporaryDirectory() as folder:
        for number in (MAX_VERTICES + 1, 2**31, 2**32, 2**32 + 1, 2**63, 2**64 + 5, 10**30):
            files = {
                "a.edges": f"0 {number}\n", "b.edges": f"# Nodes: {number} Edges: 1\n0 1\n",
                "c.gra": f"graph_for_greach\n{number}\n0: #\n",
                "d.mtx": f"%%MatrixMarket matrix coordinate pattern general\n{number} {number} 1\n1 2\n",
                "e.metis": f"{number} 1\n2\n1\n", "f.adjlist": f"0 {number}\n",
            }  # fmt: skip
            for name, content in files.items():
                path = Path(folder) / name
                path.write_text(content)
                tally.tried += 1
                try:
                    read_graph(path, {"e.metis": "metis", "f.adjlist": "adjlist"}.get(name))
                    tally.faults.append(f"{name} with {number} was read")
                except InputError as error:
                    if str(path) not in str(error):
                        tally.faults.append(f"{name} with {number}: {error}")
                except Exception as error:
                    tally.faults.append(f"{name} with {number}: {type(error).__name__}: {error}")


WEIGHTS = {  # text -> what is used, None if nothing is
    "1": 1, "1.0": 1, "1e0": 1, "10e-1": 1, "1073741823": 2**30 - 1, "1073741823.000": 2**30 - 1, "1e9": 10**9,
    "0": None, "-0.0": None, "-1": None, "-3.5": None, "0.5": None, "nan": None, "-nan": None, "inf": None,
    "-inf": None, "1e308": None, "1e400": None, "1.7976931348623157e308": None, "3.4028235e38": None,
    "1e-45": None, "5e-324": None, "2.2250738585072014e-308": None, "1073741824": None, "2147483648": None,
    "4294967297": None, "9007199254740993": None, "9223372036854775808": None, "18446744073709551617": None,
    "1" * 400: None, "0." + "0" * 400 + "1": None, "1e-99999999999999999999": None, "1e99999999999999999999": None,
}  # fmt: skip


def weights(tally: Tally) -> None:
    """Weights of files and of arrays."""
    from grailbench.errors import InputError
    from grailbench.graph.csr import Graph
    from grailbench.graph.readers import read

    with tempfile.TemporaryDirectory() as folder:
        for text, right in WEIGHTS.items():
            files = {
                "a.edges": f"0 1 5\n1 2 {text}\n",
                "b.mtx": f"%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 5\n2 3 {text}\n",
            }
            for name, content in files.items():
                path = Path(folder) / name
                path.write_text(content)
                tally.tried += 1
                found = read(path)
                used = None if found.graph.weights is None else found.graph.weights.tolist()
                line = content.count("\n", 0, content.rindex(text)) + 1
                place = found.weights and (f"line {line} " in found.weights or right is not None)
                zero = name == "b.mtx" and float(text) == 0 and not text.strip("-0.")  # which is no edge there
                if zero:
                    place = found.graph.edges == 1
                if used != ([5] if zero else None if right is None else [5, right]) or not place:
                    tally.faults.append(f"{name}, weight {text[:30]}: {used}, {found.weights}")
        for value in (0, -1, 2**31, 2**32 + 5, 2**53, 2**63 - 1, 0.5, 1.5, np.nan, np.inf, -np.inf, 1e308, 5e-324):
            tally.tried += 1
            try:
                Graph.from_edges(2, [0], [1], np.array([value]))
                tally.faults.append(f"an array with weight {value} was taken")
            except InputError:
                pass


SCENES = {"offsets": offsets, "ids": ids, "weights": weights, "ranks": ranks}


@record.program(
    "Numbers",
    "Places of edges beyond 2^32 and ranks up to 2^31 - 2 are right; impossible ids and weights are refused "
    "with the place.",
    night="The same: all of it is quick.",
)
@click.option("--only", type=click.Choice(list(SCENES)), multiple=True, help="A scene; may repeat.")
def main(nightly: bool, only: tuple[str, ...]) -> record.Found:
    tallies = {}
    for scene in only or SCENES:
        tally = tallies[scene] = Tally()
        SCENES[scene](tally)
        print(f"{scene}: {tally.tried:,} tried, {len(tally.faults)} faults", flush=True)
        record.warn(tally.faults[:20])
    tried, faults = sum(t.tried for t in tallies.values()), [fault for t in tallies.values() for fault in t.faults]
    kernels = {kernel: calls for tally in tallies.values() for kernel, calls in tally.kernels.items()}
    ranked = {what: times for tally in tallies.values() for what, times in tally.ranked.items()}
    figure = f"{len(kernels)} kernels with rows near 2^32, {len(ranked)} results with ranks up to 2^31 - 2, "
    figure += f"and {tried:,} calls in all, {len(faults)} faults"
    return record.Found(figure, faults, {"tried": {scene: tally.tried for scene, tally in tallies.items()},
                                         "kernels": kernels, "ranks": ranked})  # fmt: skip


if __name__ == "__main__":
    main()
