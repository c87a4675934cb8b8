"""Whatever computes in threads, on 1 to 64 of them and again and again, gives the same bytes.

    python tests/faults/threads.py --nightly --record determinism-threads
    python tests/faults/threads.py --gpu --vertices 300 --repeats 4 --record determinism-gpu

Every implementation of ours on the CPU, condensing, renumbering, the oracle and generating, on graphs whose
threads get in each other's way, cut into pieces so small that every thread has some. Labels, answers, distances,
closures, counts and the work that was counted are compared with those of one thread; threads begin at random moments,
and there are more of them than cores. `--nightly` takes about ten minutes. With `--gpu` every implementation on a GPU
is asked again and again instead, whose threads come in another order each time; it condenses there too. That takes
four minutes with 300 vertices, and far longer with 1,000, as `gpu` and `gpu-32` launch kernels for each level of the
chain. Counters that an implementation calls varying may differ. Exit code 1 if anything differed.
"""

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from random import Random
from time import monotonic, sleep

import click
import numpy as np
import pytest
import record
from oracle_checks import FEW_PAIRS, IN_GROUPS, Digraph, condensing, implementations
from pieces import small_pieces

EVERY = tuple(range(1, 65))
FEW = (1, 2, 3, 7, 16, 64)
ONE = (1,)
#: counters that are of how the work was shared out, so that they depend on the number of threads, and why
BY_THREADS = {
    "bfs/many": ("levels", "bottom_up"),  # each thread searches from sources of its own, and these searches are counted
}
PAIRS = 3_000
#: on a GPU, what launches kernels for a search from each vertex is asked of graphs of so many vertices at most
SEARCHES_ALL, SMALL = ("sssp-each",), 300


def graphs(vertices: int) -> dict[str, np.ndarray]:
    """Edges, int64[m, 2], of graphs in which threads meet: name -> edges of about so many vertices."""
    random = np.random.default_rng(64)
    n = np.arange(vertices)
    half, wide = np.full(vertices, vertices // 2), 50

    def pairs(count: int, below: int = vertices) -> np.ndarray:
        return random.integers(0, below, (count, 2))

    next_layer = np.repeat(n[:-wide], 3) // wide * wide + wide + random.integers(0, wide, 3 * (vertices - wide))
    found = {
        "hub": np.concatenate([np.stack([n, half], 1), pairs(40)]),
        "layers": np.stack([np.repeat(n[:-wide], 3), next_layer % vertices], 1),
        "dense": pairs(4 * vertices, vertices // 8),
        "chain": np.concatenate([np.stack([n[:-1], n[1:]], 1), pairs(50)]),
        "duplicates": np.repeat(pairs(vertices // 4, vertices // 4), 16, axis=0),
        "cycles": pairs(3 * vertices),
    }
    for name, ends in found.items():
        if name != "cycles":
            found[name] = np.ascontiguousarray(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1))
    return found


@contextmanager
def shaken(seed: int, cores: int) -> Iterator[None]:
    """Threads take turns as often as Python can, and begin at random moments; the machine has so many cores."""
    random, right, before = Random(seed), ThreadPoolExecutor.submit, sys.getswitchinterval()

    def submit(self, work, /, *given, **named):
        wait = random.choice((0, 0, 1e-5, 1e-4, 1e-3))

        def late(*given, **named):
            sleep(wait)
            return work(*given, **named)

        return right(self, late, *given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ThreadPoolExecutor, "submit", submit)
        patch.setattr(os, "sched_getaffinity", lambda process: set(range(cores)))
        sys.setswitchinterval(1e-5)
        try:
            yield
        finally:
            sys.setswitchinterval(before)


def digest(found) -> str:
    """A checksum of arrays and plain values, in whatever they are put."""
    told = hashlib.sha256()
    _feed(told, found)
    return told.hexdigest()


def _feed(told, found) -> None:
    if isinstance(found, np.ndarray):
        told.update(f"{found.dtype}{found.shape}".encode())
        told.update(np.ascontiguousarray(found).view(np.uint8).data if found.size else b"")
    elif isinstance(found, dict):
        for name, value in found.items():
            told.update(repr(name).encode())
            _feed(told, value)
    elif isinstance(found, list | tuple):
        told.update(b"[")
        for value in found:
            _feed(told, value)
    elif is_dataclass(found):
        _feed(told, {each.name: getattr(found, each.name) for each in fields(found)})
    else:
        plain = found is None or isinstance(found, str | bytes | int | float | bool | np.generic)
        told.update(repr(found).encode() if plain else b"")
        if not plain:
            _feed(told, vars(found))


@dataclass
class Tally:
    """What was compared, and what differed."""

    compared: int = 0
    faults: list[str] = field(default_factory=list)

    def same(self, what: str, ask: Callable[[int], dict], threads: tuple[int, ...], repeats: int, seed: int) -> None:
        """Compare what `ask` gives on each number of threads with what it first gives on one, part by part."""
        right = {name: digest(value) for name, value in ask(1).items()}
        for turn, count in enumerate(number for number in threads for _ in range(repeats)):
            with shaken(seed + turn, count):
                found = {name: digest(value) for name, value in ask(count).items()}
            self.compared += len(found)
            wrong = [name for name in right | found if right.get(name) != found.get(name)]
            if wrong:
                where = "asked again" if threads == ONE else f"on {count} threads"
                self.faults.append(f"{what} {where}: other {', '.join(wrong)}")


def asked_of(problem, name: str, implementation: type, digraph: Digraph) -> Callable[[int], dict]:
    """What an implementation finds on a graph, by name, on a number of threads."""
    if problem.name == "reachability":
        return _of_index(implementation, digraph)
    from grailbench.problems.contract import Checks, NoTimer

    opened = digraph.bench if problem.name == "counts" else digraph.raw
    spec = problem.spec("random", 40 if problem.name != "closure" else 1, 1)
    data = problem.data(opened, spec)
    work = problem.workload(spec, opened, data, Checks())

    def ask(threads: int) -> dict:
        params = problem.params(threads=threads, seed=1)
        attempt = problem.attempt(implementation, replace(params, count=True), data, work.batch, dict)
        left_out = (*BY_THREADS.get(f"{problem.name}/{name}", ()), *implementation.varying)
        counters = {key: value for key, value in attempt.counters.items() if key not in left_out}
        found = {"answers": attempt.answers, "counters": sorted(counters.items())}
        if problem.name == "closure":
            solver = implementation.prepare(data, params, NoTimer())
            if hasattr(solver, "pairs"):
                found["pairs"] = np.concatenate([piece.copy() for piece in solver.pairs(NoTimer())])
        return found

    return ask


def _of_index(implementation: type, digraph: Digraph) -> Callable[[int], dict]:
    from grailbench.problems.reachability.index import FILTERS, NoTimer, Params

    random, n = np.random.default_rng(5), digraph.vertices
    sources, targets = random.integers(0, n, (2, FEW_PAIRS if implementation.name in IN_GROUPS else PAIRS))
    places = [digraph.dag.component[ends].astype(np.int32) for ends in (sources, targets)]
    chosen = {"dim": 3, "filters": FILTERS, "count": True, "memory": 0, "search": "dfs", "order": "random"}
    own = {name: chosen[name] for name in (*implementation.axes, "count") if name in chosen}
    if implementation.name == "streamed":
        own["memory"] = 1 << 30  # or what is free at the moment decides

    def ask(threads: int) -> dict:
        params = Params(threads=threads, **own) if "threads" in implementation.axes else Params(**own)
        index = implementation.build(digraph.dag, params, NoTimer())
        found = {"answers": index.query_batch(*places, NoTimer()), "counters": sorted(index.counters.items())}
        found["labels"] = index.stored() or {}
        fault = index.check_labels(digraph.dag)
        assert fault is None, fault
        if implementation.from_edges:
            ready = implementation.ready(digraph.graph, replace(params, count=False), NoTimer())
            raw = implementation.condenses(digraph.graph, params)
            asked = (sources.astype(np.int32), targets.astype(np.int32)) if raw else places
            found["answers from edges"] = ready.query_batch(*asked, NoTimer())
            found["labels from edges"] = ready.stored() or {}
        return found

    return ask


def _dag_parts(dag) -> list:
    return [dag.offsets, dag.children, dag.levels, dag.order, dag.component, dag.duplicates, dag.loops]


def machinery(digraph: Digraph) -> Iterator[tuple[str, Callable[[int], dict]]]:
    """What else computes in threads on a graph: its name and what it finds on a number of threads."""
    from grailbench.graph.condense import condense, simple_rows
    from grailbench.graph.generate.uniform import random_dag
    from grailbench.graph.oracle import swept_answers

    graph, dag = digraph.graph, digraph.dag
    pairs = np.random.default_rng(6).integers(0, dag.vertices, (2, PAIRS)).astype(np.int32)
    yield "condense", lambda threads: {"dag": _dag_parts(condense(graph, threads))}
    yield "rows", lambda threads: {"rows": simple_rows(graph, threads)}
    yield "oracle", lambda threads: {"answers": swept_answers(dag, *pairs, sources=64, threads=threads)}

    def drawn(threads: int) -> dict:
        made = random_dag(digraph.vertices, 3.0, 9, threads)
        return {"sources": made.sources, "targets": made.targets}

    yield "generate", drawn


def library(digraph: Digraph, folder: Path) -> Callable[[int], dict]:
    """What the library answers on a graph, and the bytes that it saves, on a number of threads. The file says that
    number, so each has bytes of its own."""
    import grailbench as gb

    sources, targets = np.random.default_rng(7).integers(0, digraph.vertices, (2, PAIRS))
    ends = np.array(digraph.edges, np.int64).reshape(-1, 2)

    def ask(threads: int) -> dict:
        graph = gb.Graph.from_edges(*ends.T, vertices=digraph.vertices)
        index, saved = gb.build(graph, "parallel", threads=threads), []
        for turn in range(2):
            path = folder / f"{turn}.index"
            gb.build(graph, "parallel", threads=threads).save(path)
            saved.append(path.read_bytes())
        assert saved[0] == saved[1], "two saved indexes of one graph differ"
        return {
            "answers": index.reaches_many(sources, targets), "graph": graph.checksum,
            "descendants": [index.descendants(int(source)) for source in sources[:20]],
            "counts": index.count_descendants(), "estimates": index.estimate_descendants(),
        }  # fmt: skip

    return ask


def sweep(
    threads: tuple[int, ...], repeats: int, vertices: int, only: tuple[str, ...], until: float, gpu: bool = False
) -> dict:
    """Everything on every graph: a `Tally` by name. Stops after the thing at hand once the clock shows `until`.

    gpu: implementations on a GPU, which have no number of threads of their own, so that `threads` is `ONE`.
    """
    found: dict[str, Tally] = {}
    with small_pieces(everywhere=True), condensing(gpu), tempfile.TemporaryDirectory() as made:
        few = graphs(min(vertices, SMALL)) if gpu else {}
        for number, (name, ends) in enumerate(graphs(vertices).items()):
            digraph = Digraph(name, 0, vertices, ends)
            small = Digraph(name, 0, min(vertices, SMALL), few[name]) if gpu else digraph
            things = [
                (f"{problem.name}/{impl}", asked_of(problem, impl, kind, small if impl in SEARCHES_ALL else digraph))
                for problem, impl, kind in implementations(gpu, only)
                if gpu or _takes(problem, kind, digraph)
            ]
            others = [] if gpu else [*machinery(digraph), ("library", library(digraph, Path(made)))]
            things += [(what, ask) for what, ask in others if not only or what in only]
            for what, ask in things:
                tally = found.setdefault(what, Tally())
                try:
                    tally.same(name, ask, threads, repeats, 1000 * number)
                except Exception as error:
                    tally.faults.append(f"{name}: {type(error).__name__}: {error}")
                if monotonic() > until:
                    return found
    return found


def _takes(problem, implementation: type, digraph: Digraph) -> bool:
    """Whether a graph is small enough for an implementation of n^3 steps."""
    slow = problem.name == "apsp" or implementation.name == "floyd-warshall"
    return not slow or digraph.vertices <= 400


@record.program(
    "Determinism and threads",
    "Labels, answers, counts, closures, saved files and the work that is counted do not depend on the number of "
    "threads, nor on their timing.",
    night="Every number of threads from 1 to 64.",
)
@click.option("--gpu", is_flag=True, help="Implementations on a GPU, again and again.")
@click.option("--vertices", type=click.IntRange(64), default=300, show_default=True, help="Of each graph.")
@click.option("--repeats", type=click.IntRange(1), default=1, show_default=True, help="Of each number of threads.")
@click.option("--only", multiple=True, help="PROBLEM/IMPLEMENTATION, or condense, rows, ...; may repeat.")
@click.option("--seconds", type=float, default=float("inf"), help="Stop after so long.")
def main(nightly, gpu, vertices, repeats, only, seconds) -> record.Found:
    began = monotonic()
    threads = ONE if gpu else EVERY if nightly else FEW
    found = sweep(threads, repeats, vertices, only, began + seconds, gpu)
    for what, tally in found.items():
        print(f"{what}: {tally.compared:,} compared, {len(tally.faults)} faults", flush=True)
        record.warn(tally.faults[:5])
    compared = sum(tally.compared for tally in found.values())
    faults = [fault for tally in found.values() for fault in tally.faults]
    details = {"repeats": repeats, "vertices": vertices, "graphs": list(graphs(vertices)),
               "compared": {what: tally.compared for what, tally in found.items()}}  # fmt: skip
    cut = monotonic() - began > seconds  # graphs are left
    if not gpu:
        details |= {"threads": [threads[0], threads[-1]], "numbers of threads": len(threads)}
        details["counters that depend on threads by design"] = {key: list(names) for key, names in BY_THREADS.items()}
        figure = f"{len(found)} things in threads, {compared:,} results compared with those of one thread"
        return record.Found(f"{figure}, {len(faults)} differ", faults, details, more={"kept": not (faults or cut)})
    every = list(implementations(True))
    details["counters that the timing of threads changes by design"] = {
        f"{p.name}/{impl}": list(kind.varying) for p, impl, kind in every if kind.varying
    }
    figure = f"{len(found)} implementations, {compared:,} results compared with those of the first time"
    return record.Found(f"{figure}, {len(faults)} differ", faults, details, more={
        "promise": "On a GPU, labels, answers, distances, closures, counts and the work that is counted are the same "
        "each time.",
        "kept": not (faults or cut) and len(found) == len(every),
    })  # fmt: skip


if __name__ == "__main__":
    main()
