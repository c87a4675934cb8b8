"""Thirty-two threads that use the library and the NetworkX backend at once get right answers, and so do forked and
spawned processes, and programs that are interrupted.

    python tests/faults/callers.py --nightly --record callers

Each answer is compared with plain Python (`naive`), or with NetworkX's own function. The scenes:

- crowd     32 threads ask one index, new to all of them, whatever the library has: pairs, batches, sets, paths,
            explanations; they save and pickle it
- networkx  functions of NetworkX by the backend, on one graph and on graphs that their threads change
- forked    a process that is forked, or spawned, after the threads of a batch have run
- signals   Ctrl-C at random moments of a batch, a build and 32 threads: KeyboardInterrupt comes out, and what is asked
            next is right

Exit code 1 if an answer was wrong, an exception came that none is due, or a process died or hung. `--nightly` takes
about four minutes.
"""

import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import click
import numpy as np
import record
from naive import closure
from questions import QUESTIONS

CALLERS = 32
PATIENCE = 120  #: seconds after which a process is taken to hang
IMPLEMENTATIONS = ("auto", "core", "parallel", "sequential", "sweep", "dfs", "peer:scipy")
STORED = ("core", "parallel", "sequential", "sweep")  #: those that can be saved


@dataclass
class Tally:
    """How many answers were compared, and what was wrong."""

    answers: int = 0
    faults: list[str] = field(default_factory=list)


class Graph:
    """A graph of so many vertices by its number, with what plain Python finds; its ids are numbers or names."""

    def __init__(self, number: int, vertices: int = 150):
        random = np.random.default_rng((32, number))
        self.vertices, self.named = vertices, number % 2 == 1
        ends = random.integers(0, vertices, (vertices + vertices // 3, 2))
        if number % 3 == 0:
            ends = np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1)
        self.edges = [tuple(pair) for pair in ends.tolist()]
        self.reach = closure(vertices, self.edges)
        self.columns = tuple([self.id(v) for v in ends.tolist()] for ends in random.integers(0, vertices, (2, 40)))
        self.above = [{u for u in range(vertices) if v in self.reach[u]} for v in range(vertices)]

    def id(self, vertex: int) -> int | str:
        """What the user calls a vertex."""
        return f"v{vertex}" if self.named else vertex

    def number_of(self, id) -> int:
        """The vertex of an id."""
        return int(str(id).lstrip("v"))

    def of_library(self):
        """The graph of the library: made anew, so that nothing of it is computed yet."""
        import grailbench as gb

        us, vs = zip(*self.edges, strict=True)
        if not self.named:
            return gb.Graph.from_edges(us, vs, vertices=self.vertices)
        return gb.Graph.from_edges(us, vs, names=[self.id(v) for v in range(self.vertices)])

    def numbers(self, ids) -> set[int]:
        """The vertices of ids."""
        return {self.number_of(each) for each in ids}


def at_once(callers: int, work: Callable[[int], int], tally: Tally) -> None:
    """Call `work` with 0, 1, ... in so many threads that begin together; it returns how many answers were right."""
    gate = threading.Barrier(callers)

    def called(number: int) -> int:
        gate.wait()
        return work(number)

    with ThreadPoolExecutor(callers) as pool:
        for done in [pool.submit(called, number) for number in range(callers)]:
            try:
                tally.answers += done.result()
            except Exception as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                tally.faults.append(f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})")


def asked(index, graph: Graph, right: dict, random: np.random.Generator, folder: Path, calls: int, stored: bool) -> int:
    """Ask an index things in a random order; the number of answers that were compared. Raises AssertionError."""
    import grailbench as gb

    compared = 0
    for name in random.choice([*right, "reaches_many", "saved"], calls).tolist():
        if name == "saved" and stored:
            path = folder / f"{threading.get_ident()}.index"
            index.save(path)
            copies = gb.load(path), pickle.loads(pickle.dumps(index))
        else:
            copies = (index,)
        us, vs = random.integers(0, graph.vertices, (2, int(random.choice([1, 50, 700]))))
        expected = [v in graph.reach[u] for u, v in zip(us.tolist(), vs.tolist(), strict=True)]
        for copy in copies:
            found = copy.reaches_many(*([graph.id(x) for x in ends.tolist()] for ends in (us, vs)))
            assert found.tolist() == expected, name
            compared += us.size
        if name in right:
            assert QUESTIONS[name](index, *graph.columns) == right[name], name
            compared += 1
    return compared


def crowd(tally: Tally, rounds: int, callers: int = CALLERS, calls: int = 12) -> None:
    """Many threads, one index that nobody has asked before; what another one says alone is compared with plain
    Python first."""
    import grailbench as gb

    with tempfile.TemporaryDirectory() as made:
        for turn in range(rounds):
            graph = Graph(turn)
            name = IMPLEMENTATIONS[turn % len(IMPLEMENTATIONS)]
            index, alone = (gb.build(graph.of_library(), name, threads=3) for _ in range(2))
            right = {
                each: QUESTIONS[each](alone, *graph.columns) for each in QUESTIONS if name in STORED or each != "pickle"
            }
            for ask, of in (("descendants", graph.reach), ("ancestors", graph.above)):
                ids = graph.columns[0][:9] if ask == "descendants" else graph.columns[1][-9:]
                for id, found in zip(ids, right[ask], strict=True):
                    vertex = graph.number_of(id)
                    assert graph.numbers(found) == of[vertex] - {vertex}, f"{ask}({id})"

            def work(number: int, turn=turn, graph=graph, name=name, index=index, right=right) -> int:
                random = np.random.default_rng((turn, number))
                return asked(index, graph, right, random, Path(made), calls, name in STORED)

            at_once(callers, work, tally)


def _plain(found):
    """What a function of NetworkX returned, so that two can be compared."""
    if hasattr(found, "edges"):
        return sorted(found.nodes(data="members"), key=str), sorted(found.edges, key=str)
    if hasattr(found, "__next__"):
        return [sorted(each) for each in found]
    return found


def with_networkx(tally: Tally, rounds: int, callers: int = CALLERS) -> None:
    """Functions of NetworkX by the backend, from many threads, on one graph and on one each that its thread changes."""
    import networkx as nx

    nx.config.warnings_to_ignore.add("cache")
    functions = ("has_path", "descendants", "ancestors", "single_source_shortest_path_length", "condensation",
                 "is_directed_acyclic_graph", "transitive_closure", "topological_generations")  # fmt: skip

    def ask(source, random: np.random.Generator, right: dict | None = None) -> int:
        nodes = list(source)
        name = functions[int(random.integers(0, len(functions)))]
        some = [nodes[at] for at in random.integers(0, min(len(nodes), 20), 2)]
        given = some if name == "has_path" else some[:1] if name in functions[1:4] else []
        key = (name, *given)
        outcomes = []
        for how in ({}, {"backend": "grailbench"}):
            if not how and right is not None and key in right:
                outcomes.append(right[key])
                continue
            try:
                found = getattr(nx, name)
                found = _plain((found if how else found.orig_func)(source, *given, **how))
            except nx.NetworkXException as error:
                found = type(error).__name__, str(error)
            outcomes.append(found)
            if right is not None and not how:
                right[key] = found
        assert outcomes[0] == outcomes[1], f"{name}{tuple(given)}: {outcomes[1]!r:.80}, NetworkX {outcomes[0]!r:.80}"
        return 1

    for turn in range(rounds):
        shared, right = nx.gnp_random_graph(150, 0.01, seed=turn, directed=turn % 4 != 3), {}
        mine = [nx.gnp_random_graph(110, 0.008, seed=number, directed=True) for number in range(callers)]

        def work(number: int, turn=turn, shared=shared, right=right, mine=mine) -> int:
            random, own, compared = np.random.default_rng((turn, number)), mine[number], 0
            for _ in range(6):
                if shared.is_directed():
                    compared += ask(shared, random, right)
                compared += ask(own, random)
                own.add_edge(*random.integers(0, 110, 2).tolist())
                compared += ask(own, random)
                own.remove_node(list(own)[-1])
                compared += ask(own, random)
            return compared

        at_once(callers, work, tally)


def _answers_again(index, columns, expected) -> None:
    """In a process of its own: asks what was asked before; its exit code says whether the answers are those."""
    try:
        same = np.array_equal(index.reaches_many(*columns), expected)
    except BaseException:
        traceback.print_exc()
        os._exit(3)
    os._exit(0 if same else 1)


def forked(tally: Tally, rounds: int, ways: tuple[str, ...] = ("fork", "spawn")) -> None:
    """A process begun after threads of a batch have run answers the same."""
    import grailbench as gb

    graph = Graph(2, 400)
    columns = np.random.default_rng(3).integers(0, graph.vertices, (2, 300_000))
    expected = np.array([v in graph.reach[u] for u, v in columns.T.tolist()])
    for turn in range(rounds):
        for name in STORED:
            index = gb.build(graph.of_library(), name, threads=2)
            assert np.array_equal(index.reaches_many(*columns), expected)
            for way in ways if turn == 0 else ways[:1]:
                given = (index, columns, expected)
                process = multiprocessing.get_context(way).Process(target=_answers_again, args=given)
                process.start()
                process.join(PATIENCE)
                if process.exitcode != 0:
                    process.kill()
                    tally.faults.append(f"{name}, {way}: {'hangs' if process.exitcode is None else process.exitcode}")
                tally.answers += expected.size


_INTERRUPTED = """
import json, random, signal, sys, threading, time
import numpy as np
sys.path[:0] = {paths!r}
import grailbench as gb
from callers import Graph

seed, rounds = {seed}, {rounds}
draw, graph = random.Random(seed), Graph(seed, 300)
columns = np.random.default_rng(seed).integers(0, graph.vertices, (2, 30_000))
expected = np.array([v in graph.reach[u] for u, v in columns.T.tolist()])
made = graph.of_library()
index = gb.build(made, "parallel", threads=3)
index.reaches_many(*([graph.id(x) for x in each.tolist()] for each in columns)), index.reaches(graph.id(0), graph.id(1))
numbers = [made.vertices_of(np.array([graph.id(x) for x in each.tolist()], object)
           if graph.named else each).astype(np.int32) for each in columns]
interrupted, others = 0, []

def ask():
    while not over.is_set():
        others.append(bool((index.reaches_many_vertices(*numbers) == expected).all()))

for turn in range(rounds):
    over = threading.Event()
    crowd = [threading.Thread(target=ask) for _ in range(31 if turn % 3 == 2 else 0)]
    [each.start() for each in crowd]
    try:
        signal.setitimer(signal.ITIMER_REAL, draw.uniform(1e-4, 0.02))
        until = time.monotonic() + 0.05
        while time.monotonic() < until:
            if turn % 3 == 1:
                index = gb.build(made, draw.choice(["parallel", "core", "sweep", "sequential"]), threads=3)
            index.reaches_many_vertices(*numbers)
    except KeyboardInterrupt:
        interrupted += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    over.set()
    [each.join() for each in crowd]
    assert (index.reaches_many_vertices(*numbers) == expected).all(), "after an interrupt"
assert all(others), "beside an interrupt"
print(json.dumps([interrupted, len(others) + rounds]))
"""


def signals(tally: Tally, rounds: int, seeds: int = 1) -> None:
    """Interrupts at random moments, in a process of its own."""
    paths = [str(Path(__file__).parents[1]), str(Path(__file__).parent), str(record.ROOT)]
    alarm = "import signal\nsignal.signal(signal.SIGALRM, signal.default_int_handler)\n"
    for seed in range(seeds):
        code = alarm + _INTERRUPTED.format(paths=paths, seed=seed, rounds=rounds)
        try:
            done = subprocess.run(
                [sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True, timeout=5 * PATIENCE
            )
        except subprocess.TimeoutExpired:
            tally.faults.append(f"seed {seed}: hangs")
            continue
        if done.returncode:
            tally.faults.append(f"seed {seed}: {done.returncode}, {done.stderr.strip()[-600:]}")
            continue
        interrupted, answered = json.loads(done.stdout)
        tally.answers += answered
        if not interrupted:
            tally.faults.append(f"seed {seed}: no interrupt came while something ran")


SCENES = {"crowd": crowd, "networkx": with_networkx, "forked": forked, "signals": signals}
ROUNDS = {"crowd": 7, "networkx": 2, "forked": 1, "signals": 30}
NIGHTLY = {"crowd": 70, "networkx": 20, "forked": 4, "signals": 150}


@record.program(
    "Determinism and threads",
    "The library and the NetworkX backend answer right from 32 threads at once, in forked and spawned processes, and "
    "after an interrupt.",
    night="Many more rounds of each scene.",
)
@click.option("--only", type=click.Choice(list(SCENES)), multiple=True, help="A scene; may repeat.")
def main(nightly: bool, only: tuple[str, ...]) -> record.Found:
    tallies, rounds = {}, NIGHTLY if nightly else ROUNDS
    for scene in only or SCENES:
        start, tally = monotonic(), Tally()
        SCENES[scene](tally, rounds[scene])
        tallies[scene] = tally
        record.warn(tally.faults[:5])
        print(
            f"{scene}: {tally.answers:,} answers, {len(tally.faults)} faults, {monotonic() - start:.0f} s", flush=True
        )
    answers, faults = sum(t.answers for t in tallies.values()), [fault for t in tallies.values() for fault in t.faults]
    figure = f"{CALLERS} threads at once, forks, spawns and interrupts: {answers:,} answers, "
    return record.Found(f"{figure}{len(faults)} faults", faults, {
        "rounds": {scene: rounds[scene] for scene in tallies},
        "answers": {scene: tally.answers for scene, tally in tallies.items()},
        "implementations": list(IMPLEMENTATIONS),
    })  # fmt: skip


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
