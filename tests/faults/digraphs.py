"""Random digraphs through every implementation, with answers held against plain Python (`naive`).

    python tests/faults/digraphs.py --gpu --count 10000 --processes 12 --out found.jsonl

A digraph is known by its number: the same number always gives the same digraph and parameters, so a fault is seen again
with `--first NUMBER --count 1`. Each implementation answers on the condensed graph or the edges as it takes them, and
from edges too where it can start there. One line of JSON for each implementation: digraphs, answers compared, faults.
Exit code 1 if there is a fault, or an implementation that saw fewer digraphs than were asked for.
"""

from __future__ import annotations

import json
import subprocess
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from time import monotonic

import click
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from naive import closure, distances_from, reachable_from

MOST_PAIRS = 4_000  #: pairs asked of an index on one digraph
MOST_CLOSED = 1_000  #: vertices of digraphs of which plain Python closes all
ON_WORKERS = ("dask", "dask-gpu")  #: implementations that are others on worker processes, which have tests of their own
SEARCHES = ("bfs", "sssp")  #: problems whose answers are distances from some sources
VARIANTS = 13  #: sets of parameters; with as many processes each process has one
KINDS = ("any", "dense", "dag", "chain", "cycle", "hub", "layers", "tree", "islands", "loops")


def drawn(number: int) -> tuple[int, np.ndarray]:
    """A digraph: its vertices, and its edges as int64[m, 2]. One in eight has hundreds of vertices, others few."""
    random = np.random.default_rng((20, number))
    kind = KINDS[number % len(KINDS)]
    most = 700 if number % 8 == 0 else 60
    vertices = int(random.integers(0 if kind == "any" else 1, most))
    ends = _edges(kind, vertices, random) if vertices else np.empty((0, 2), np.int64)
    if ends.shape[0] and random.random() < 0.3:  # duplicates, in any place
        ends = np.concatenate([ends, ends[random.integers(0, ends.shape[0], 1 + ends.shape[0] // 8)]])
        random.shuffle(ends)
    if random.random() < 0.2:
        vertices += int(random.integers(1, 40))  # isolated
    names = random.permutation(vertices) if random.random() < 0.7 else np.arange(vertices)
    return vertices, names[ends].reshape(-1, 2)


def _edges(kind: str, vertices: int, random: np.random.Generator) -> np.ndarray:
    def pairs(count: int) -> np.ndarray:
        return random.integers(0, vertices, (count, 2))

    path = np.stack([np.arange(vertices - 1), np.arange(1, vertices)], axis=1)
    if kind == "dense":
        return pairs(vertices * min(vertices, 24))
    if kind == "dag":
        return np.sort(found := pairs(3 * vertices), axis=1)[found[:, 0] != found[:, 1]]
    if kind == "chain":
        return np.concatenate([path, np.sort(pairs(4), axis=1)])
    if kind == "cycle":
        return np.concatenate([path, [[vertices - 1, 0]], pairs(2)])
    if kind == "hub":
        hub, all_of = random.integers(vertices), np.arange(vertices)
        forward = np.stack([all_of, np.full(vertices, hub)], axis=1)
        into = random.random(vertices) < random.random()
        return np.concatenate([np.where(into[:, None], forward, forward[:, ::-1]), pairs(5)])
    if kind == "layers":
        wide = int(random.integers(1, 12))
        found = pairs(3 * vertices)
        return found[found[:, 0] // wide + 1 == found[:, 1] // wide]
    if kind == "tree":
        below = np.arange(1, vertices)
        above = (random.random(vertices - 1) * below).astype(np.int64)
        return np.stack([above, below], 1) if random.random() < 0.5 else np.stack([below, above], 1)
    if kind == "islands":
        size = int(random.integers(2, 9))
        found = pairs(2 * vertices)
        return found[found[:, 0] // size == found[:, 1] // size]
    if kind == "loops":
        return np.concatenate([pairs(vertices), np.repeat(np.arange(vertices), 2).reshape(-1, 2)])
    return pairs(int(random.integers(0, 4 * vertices)))


@dataclass
class Tally:
    """What one implementation was asked: digraphs, answers that were compared one by one, seconds, and faults."""

    digraphs: int = 0
    answers: int = 0
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)


class Digraph:
    """A digraph as each problem takes it, with what plain Python finds on it."""

    def __init__(self, number: int):
        self._of(f"digraph {number}", number, *drawn(number))

    @classmethod
    def of(cls, name: str, vertices: int, ends: np.ndarray) -> Digraph:
        """A graph of these edges, int64[m, 2]."""
        found = cls.__new__(cls)
        found._of(name, 0, vertices, ends)
        return found

    def _of(self, name: str, number: int, vertices: int, ends: np.ndarray) -> None:
        from grailbench.datasets.library import BenchGraph, RawGraph
        from grailbench.graph.condense import condense
        from grailbench.graph.csr import Graph
        from grailbench.graph.ids import Counted

        self.number, self.vertices = number, vertices
        self.edges = [tuple(pair) for pair in ends.tolist()]
        self.graph = Graph.from_edges(self.vertices, ends[:, 0].copy(), ends[:, 1].copy())
        self.dag = condense(self.graph)
        common = (name, "", "synthetic", "0" * 64, None)
        self.raw = RawGraph(*common, self.graph, Counted(self.vertices))
        self.bench = BenchGraph(name, "", "synthetic", "synthetic", "0" * 64, None, self.dag)
        self.random = np.random.default_rng((21, number))

    @cached_property
    def reach(self) -> list[set[int]]:
        """What each vertex reaches."""
        return closure(self.vertices, self.edges)

    def answers(self, sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """bool[k]: whether each source reaches its target."""
        if self.vertices > MOST_CLOSED:
            by_source = {s: reachable_from(self.vertices, self.edges, s) for s in set(sources.tolist())}
        else:
            by_source = self.reach
        return np.array([t in by_source[s] for s, t in zip(sources.tolist(), targets.tolist(), strict=True)], bool)

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of vertices, int64[k] each: all of them, or drawn ones."""
        if self.vertices > MOST_CLOSED:
            few = self.random.integers(0, self.vertices, 30)
            return self.random.choice(few, MOST_PAIRS), self.random.integers(0, self.vertices, MOST_PAIRS)
        every = self.random.permutation(self.vertices * self.vertices)[:MOST_PAIRS]
        return np.divmod(every, max(self.vertices, 1))


def check(found: Digraph, problem, implementation: type, params) -> int:
    """Ask an implementation everything; returns the number of answers compared. Raises AssertionError."""
    if problem.name == "reachability":
        return check_index(found, implementation, params)
    if found.vertices == 0:
        return 0  # there is nothing to ask, which they say
    return check_other(found, problem, implementation, params)


def check_index(found: Digraph, implementation: type, params) -> int:
    """Ask an index of reachability, and one from edges; returns the number of answers. Raises AssertionError."""
    from grailbench.reachability.index import NoTimer

    sources, targets = found.pairs()
    right = found.answers(sources, targets)
    places = [found.dag.component[ends].astype(np.int32) for ends in (sources, targets)]
    index = implementation.build(found.dag, params, NoTimer())
    fault = index.check_labels(found.dag)
    assert fault is None, f"labels: {fault}"
    _equal(index.query_batch(*places, NoTimer()), right, "the condensed graph")
    if not implementation.from_edges:
        return right.size
    index = implementation.ready(found.graph, params, NoTimer())
    own = implementation.condenses(found.graph, params)
    asked = (sources.astype(np.int32), targets.astype(np.int32)) if own else places
    index.expect(right.size, NoTimer())
    _equal(index.query_batch(*asked, NoTimer()), right, "edges")
    return 2 * right.size


def _equal(answers: np.ndarray, right: np.ndarray, of: str) -> None:
    wrong = np.flatnonzero(answers != right)
    assert wrong.size == 0, f"from {of}: {wrong.size} of {right.size} answers, the first at {wrong[0]}"


def check_other(found: Digraph, problem, implementation: type, params) -> int:
    """Have another problem's answers judged by its check, and counted by plain Python; returns their number."""
    from grailbench.bench.timing import PhaseTimer
    from grailbench.contract import Checks

    opened = found.bench if problem.name == "counts" else found.raw
    spec = problem.spec("random", min(3, max(found.vertices, 1)), found.number)
    data = problem.data(opened, spec)
    work = problem.workload(spec, opened, data, Checks())
    attempt = problem.attempt(implementation, params, data, work.asked, dict)
    verdict = work.judge("digraph", attempt)
    assert verdict.fault is None, verdict.fault
    if getattr(attempt.answers, "error", None) is None:  # else they are estimates
        expected = _plain(found, problem.name, data, work.asked)
        assert expected in (None, verdict.positives), f"{verdict.positives} reached, plain Python {expected}"
    trial = problem.trial(implementation, params, data, work.asked, PhaseTimer(), found.graph)
    assert trial.checksum == verdict.checksum, "a trial from edges gives other answers"
    return found.vertices * (
        1 if problem.name == "counts" else np.size(work.asked) if problem.name in SEARCHES else found.vertices
    )


def _plain(found: Digraph, name: str, data, asked) -> int | None:
    """How many are reached, by plain Python; None where that would take long."""
    if found.vertices > MOST_CLOSED:
        return None
    if name == "closure":
        loops = {u for u, v in found.edges if u == v}
        on_cycle = [any(v in found.reach[u] and u in found.reach[v] for v in range(found.vertices) if v != u)
                    for u in range(found.vertices)] if found.vertices <= 60 else None  # fmt: skip
        return None if on_cycle is None or loops or any(on_cycle) else sum(len(reach) - 1 for reach in found.reach)
    if name == "counts":
        return sum(len(reach) - 1 for reach in found.reach)
    if name in SEARCHES and found.vertices <= 60:
        weights = getattr(data, "weights", None)
        weights = np.ones(data.targets.size, int) if name == "bfs" or weights is None else weights
        heads = np.repeat(np.arange(data.vertices), np.diff(data.offsets))
        weighted = list(zip(heads.tolist(), data.targets.tolist(), weights.tolist(), strict=True))
        return sum(len(distances_from(data.vertices, weighted, int(source))) for source in asked)
    return None


def implementations(gpu: bool, only: tuple[str, ...] = ()) -> Iterator[tuple]:
    """Problem, name and class of each implementation on a GPU, or of each of ours on the CPU."""
    from grailbench.contract import PROBLEMS, problem
    from grailbench.contract import implementations as registered

    for solved in map(problem, PROBLEMS):
        for name, found in registered(solved.name).items():
            if name in ON_WORKERS or solved.name == "read" or name.startswith(("peer:", "program:")):
                continue
            label = f"{solved.name}/{name}"
            if (("gpu" in found.needs) == gpu and not getattr(found, "racy", False)) and (not only or label in only):
                yield solved, name, found


def params_of(problem, implementation: type, number: int):
    """Parameters of an implementation for one digraph: one of `VARIANTS` draws, since kernels are compiled for each."""
    random = np.random.default_rng((22, number % VARIANTS))
    if problem.name != "reachability":
        return problem.params(threads=int(random.integers(1, 4)), seed=number)
    from grailbench.reachability.index import FILTERS, Params

    chosen = Params(
        dim=int(random.choice([1, 2, 3, 5])), search=str(random.choice(["dfs", "bfs"])),
        filters=tuple(name for name in FILTERS if random.random() < 0.5), threads=int(random.integers(1, 4)),
        order=str(random.choice(["random", "lexicographic"])), seed=number,
        memory=0 if "streamed" in implementation.__module__ else int(random.choice([0, 1, 200])),
    )  # fmt: skip
    own = {name: getattr(chosen, name) for name in (*implementation.axes, "seed")}
    return replace(Params(), **own)


def sweep(numbers, gpu: bool, only: tuple[str, ...], until: float) -> dict[str, Tally]:
    """Each digraph through each implementation, until the clock shows `until`."""
    found = list(implementations(gpu, only))
    tallies = {f"{problem.name}/{name}": Tally() for problem, name, _ in found}
    for number in numbers:
        if monotonic() > until:
            break
        digraph = Digraph(number)
        for problem, name, implementation in found:
            tally, params = tallies[f"{problem.name}/{name}"], params_of(problem, implementation, number)
            tally.digraphs += 1
            start = monotonic()
            try:
                tally.answers += check(digraph, problem, implementation, params)
            except Exception as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                what = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
                tally.faults.append(f"digraph {number}, {params}: {what}")
            tally.seconds += monotonic() - start
    return tallies


@click.command(help=__doc__.partition("\n")[0])
@click.option("--gpu/--cpu", default=False, help="Implementations on a GPU, or ours on the CPU.")
@click.option("--count", default=100, show_default=True)
@click.option("--first", default=0, help="The number of the first digraph.")
@click.option("--processes", default=1, show_default=True)
@click.option("--part", default=0, hidden=True)
@click.option("--only", multiple=True, help="PROBLEM/IMPLEMENTATION; may repeat.")
@click.option("--seconds", type=float, default=float("inf"), help="Stop after so long.")
@click.option("--out", type=click.Path(path_type=Path), help="Also write the lines to this file.")
def main(gpu, count, first, processes, part, only, seconds, out):
    began = monotonic()
    if processes == 1 or part:
        step = max(processes, 1)
        numbers = range(first + max(part - 1, 0), first + count, step if part else 1)
        tallies = sweep(numbers, gpu, only, began + seconds)
    else:
        tallies = _apart(sys.argv[1:], processes)
    lines = [json.dumps({"implementation": name, **vars(tally)}) for name, tally in tallies.items()]
    print("\n".join(lines), flush=True)
    if out is not None and not part:
        out.write_text("\n".join(lines) + "\n")
    faults = sum(len(tally.faults) for tally in tallies.values())
    least = min((tally.digraphs for tally in tallies.values()), default=0)
    if not part:
        said = f"{len(tallies)} implementations, {least} digraphs each, {faults} faults, {monotonic() - began:.0f} s"
        print(said, file=sys.stderr)
    sys.exit(0 if part else int(faults > 0 or least < count))


def _apart(words: list[str], processes: int) -> dict[str, Tally]:
    """The sweep in several processes, joined."""
    command = [sys.executable, __file__, *words]
    running = [subprocess.Popen([*command, "--part", str(part)], stdout=subprocess.PIPE, text=True)
               for part in range(1, processes + 1)]  # fmt: skip
    joined: dict[str, Tally] = {}
    for process in running:
        text, _ = process.communicate()
        if process.returncode:
            sys.exit(f"a process ended with {process.returncode}")
        for line in map(json.loads, text.splitlines()):
            tally = joined.setdefault(line["implementation"], Tally())
            tally.digraphs += line["digraphs"]
            tally.answers += line["answers"]
            tally.seconds += line["seconds"]
            tally.faults += line["faults"]
    return joined


if __name__ == "__main__":
    main()
