"""Work of every sort, done again and again in one process: what `soak.py` repeats. Each piece leaves nothing behind."""

import io
import os
import pickle
import shutil
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

GRAPH = "soaked"  #: an imported graph, with cycles
#: an implementation of each other problem
OTHERS = {"bfs": "sequential", "sssp": "dijkstra", "closure": "condense-bits", "counts": "counts", "read": "edges"}
#: where commands print; the same ones each time, since click keeps every stream that it printed to
OUT, ERR = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))


class Wrong(Exception):
    """A piece of work did not end as it should."""


@dataclass
class Place:
    """Where work is done: `folder` is emptied after each piece, `kept` has what all may read (a run, its pack, file of
    edges)."""

    folder: Path
    kept: Path
    rounds: int = 0
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(7))


WORK: dict[str, Callable[[Place], None]] = {}


def work(function: Callable[[Place], None]) -> Callable[[Place], None]:
    WORK[function.__name__] = function
    return function


def command(*words: object, code: int = 0) -> str:
    """What `grailbench WORDS` prints, in this process. Raises Wrong if it ends with another code, and KeyboardInterrupt
    if somebody else interrupted it."""
    from grailbench.cli.main import main

    for stream in (OUT, ERR):
        stream.flush()
        stream.buffer.seek(0)
        stream.buffer.truncate()
    try:
        with redirect_stdout(OUT), redirect_stderr(ERR):
            main([*map(str, words)])
    except SystemExit as done:
        OUT.flush(), ERR.flush()
        if done.code == code:
            return OUT.buffer.getvalue().decode()
        if done.code == 130:
            raise KeyboardInterrupt from None
        said = ERR.buffer.getvalue().decode().strip().splitlines()[-3:]
        raise Wrong(f"grailbench {' '.join(map(str, words))}: {done.code}, not {code}: {said}") from None
    raise Wrong("the command did not exit")


def right(truth: object) -> None:
    if not truth:
        raise Wrong("another answer than before")


def edges(seed: int, vertices: int = 400, count: int = 700) -> np.ndarray:
    """int64[2, m]: edges of a graph."""
    return np.random.default_rng(seed).integers(0, vertices, (2, count))


def streamed_answers(index, pairs: np.ndarray, shard: int) -> np.ndarray:
    """bool[k]: the answers of a stream, which come as bits."""
    return np.unpackbits(np.concatenate(list(index.stream(pairs, shard=shard))), count=len(pairs)).astype(bool)


def prepare(place: Place) -> None:
    """Import the graph, and make the run that work reads."""
    place.kept.mkdir()
    lines = [f"{u} {v}\n" for u, v in edges(1).T]
    (place.kept / "edges.txt").write_text("".join(lines))
    command("import", place.kept / "edges.txt", "--name", GRAPH)
    many = ("--impl", "dfs", "--impl", "sequential", "--impl", "parallel", "--dim", 1, "--dim", 2, "--trials", 3)
    for name in ("run", "later"):
        command("run", "--dataset", GRAPH, *many, "--count", 200, "--out", place.kept / name)
    command("pack", place.kept / "run", "--out", place.kept / "run.pack.zip")


@work
def library(place: Place) -> None:
    """Graph, index, every kind of question, file, copy, for each implementation."""
    import grailbench as gb
    from grailbench.problems.contract import implementations

    ends = edges(place.rounds % 8)
    graph = gb.Graph.from_edges([f"v{u}" for u in ends[0]], [f"v{v}" for v in ends[1]])
    names = graph.ids_of(np.arange(graph.vertices))
    us, vs = (place.random.choice(names, 60) for _ in range(2))
    expected = None
    for name, implementation in implementations().items():
        if implementation.needs or name.startswith("peer:"):
            continue
        index = gb.build(graph, name, threads=2)
        found = index.reaches_many(us, vs)
        expected = found if expected is None else expected
        right((found == expected).all() and index.reaches(us[0], vs[0]) == expected[0])
        index.path(us[0], vs[0]), index.explain(us[0], vs[0]), index.descendants(us[0]), index.ancestors(vs[0])
        index.matrix(us[:5], vs[:5]), index.reaches_any(us, vs), index.common_ancestors(us[0], vs[0])
        right((pickle.loads(pickle.dumps(index)).reaches_many(us, vs) == expected).all())
        try:
            index.save(place.folder / f"{name}.index")
        except gb.InputError:  # it cannot be stored
            continue
        for given in (None, graph):
            loaded = gb.load(place.folder / f"{name}.index", graph=given)
            right((loaded.reaches_many(us, vs) == expected).all())
    index.count_descendants(), index.estimate_descendants()


@work
def opened(place: Place) -> None:
    """Graphs by name, from files and from other libraries."""
    import igraph
    import networkx as nx
    import scipy.sparse

    import grailbench as gb

    u, v = edges(3)
    graphs = [
        gb.Graph.open(GRAPH), gb.Graph.read(place.kept / "edges.txt"),
        gb.Graph.from_networkx(nx.DiGraph(list(zip(u.tolist(), v.tolist(), strict=True)))),
        gb.Graph.from_igraph(igraph.Graph(n=400, edges=list(zip(u, v, strict=True)), directed=True)),
        gb.Graph.from_scipy(scipy.sparse.coo_array((np.ones(u.size), (u, v)), shape=(400, 400))),
    ]  # fmt: skip
    for graph in graphs:
        graph.checksum, gb.build(graph).reaches_many(graph.ids_of([0, 1]), graph.ids_of([1, 2]))


@work
def threads(place: Place) -> None:
    """One index asked from eight threads."""
    import grailbench as gb

    graph = gb.Graph.from_edges(*edges(4), vertices=400)
    index = gb.build(graph, "parallel")
    us, vs = place.random.integers(0, 400, (2, 3_000))
    expected = index.reaches_many(us, vs)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: index.reaches_many(us, vs), range(24)):
            right((found == expected).all())


@work
def streams(place: Place) -> None:
    """Pairs in shards, to the end, to a file, left in the middle, and with a wrong one among them."""
    import grailbench as gb

    index = gb.build(gb.Graph.from_edges(*edges(5), vertices=400))
    pairs = place.random.integers(0, 400, (20_000, 2))
    expected = index.reaches_many(*pairs.T)
    right((streamed_answers(index, pairs, 999) == expected).all())
    index.stream_to(place.folder / "answers.npy", pairs, shard=999)
    left = index.stream(pairs, shard=500)
    next(left)
    del left
    pairs[15_000] = -1
    try:
        list(index.stream(pairs, shard=999))
    except gb.InputError:
        return
    raise Wrong("a vertex -1 was answered")


@work
def networkx(place: Place) -> None:
    """NetworkX with the backend: calls, a change between them, graphs returned."""
    import networkx as nx

    from grailbench.api import nx as nx_backend

    graph = nx.DiGraph(edges(6).T.tolist())
    for _ in range(2):
        nx.has_path(graph, 1, 2, backend="grailbench")
        nx.descendants(graph, 1, backend="grailbench"), nx.ancestors(graph, 1, backend="grailbench")
        graph.add_edge(1, 401)
    nx.condensation(graph, backend="grailbench"), nx.transitive_closure(graph, backend="grailbench")
    nx.is_directed_acyclic_graph(nx_backend.convert(graph))


@work
def run(place: Place) -> None:
    """Runs of every problem, some cells in processes of their own; extended, verified and answered."""
    out = place.folder / "run"
    words = ("run", "--dataset", GRAPH, "--trials", 2, "--count", 50)
    command(*words, "--impl", "sequential", "--impl", "core", "--dim", 1, "--out", out, "--from-edges")
    command("run", f"--resume={out}", "--trials", 3)
    command(*words, "--impl", "sequential", "--process", "own", "--out", place.folder / "own")
    command(*words, "--impl", "dfs", "--out", place.folder / "answered", "--answers", place.folder / "answers.txt")
    for problem, name in OTHERS.items():
        counted = ("--count", 3) if problem in ("bfs", "sssp") else ()
        command("run", "--problem", problem, "--dataset", GRAPH, "--trials", 1, "--impl", name, *counted,
                "--process", "shared", "--out", place.folder / problem)  # fmt: skip
    command("verify", "--dataset", GRAPH, "--impl", "sequential", "--count", 50)


@work
def reports(place: Place) -> None:
    """Tables, pages, figures, a site, a pack and citations of a run."""
    run, pack, out = place.kept / "run", place.kept / "run.pack.zip", place.folder
    command("report", run, "--out", out / "report", "--html", "--counters", "--details")
    command("report", run, "--format", "latex", "--out", out / "latex")
    command("report", pack, "--json")
    command("plot", run, "--all", "--out", out / "svg", "--format", "svg")
    command("plot", run, "--out", out / "png", "--format", "png", "--figure", "strips")
    command("site", out / "site", pack)
    command("pack", run, "--out", out / "again.pack.zip")
    command("pack", "--check", out / "again.pack.zip")
    command("cite", run), command("cite", pack, "--format", "json")
    command("compare", run, pack, "--times", "none"), command("history", run, place.kept / "later")


@work
def graphs(place: Place) -> None:
    """Import, export, generate, profile; build, ask; lists."""
    out = place.folder
    command("import", place.kept / "edges.txt", "--name", GRAPH, "--replace")
    command("export", GRAPH, out / "graph.gra")
    command("export", GRAPH, out / "closure.txt", "--closure", "--format", "edges")
    command("generate", "erdos-renyi-100-0.1"), command("profile", GRAPH, "--out", out / "profile")
    command("build", GRAPH, "--out", out / "graph.index", "--impl", "sequential")
    command("ask", out / "graph.index", 1, 2), command("ask", GRAPH, 1, 2, "--explain", "--impl", "core")
    (out / "pairs.txt").write_text("1 2\n2 3\n")
    command("ask", GRAPH, "--pairs", out / "pairs.txt", "--path", "--json")
    command("list", "implementations"), command("list", "datasets"), command("info", GRAPH), command("info", "core")
    command("plan", "--dataset", GRAPH), command("cluster", "--help")


@work
def errors(place: Place) -> None:
    """What is refused: files, names, options, damage."""
    import grailbench as gb

    bad = place.folder / "bad.txt"
    for text in ("1 2\n3\n", "x", "1 -2\n", "\x00\xff", "99999999999999999999 1\n"):
        bad.write_text(text, encoding="latin-1")
        command("import", bad, "--name", "bad", "--format", "edges", code=2)
    command("run", "--dataset", "none-such", code=2), command("run", "--dataset", GRAPH, "--dim", 0, code=2)
    command("report", place.folder, code=2), command("ask", GRAPH, 1, 100_000, code=2), command("nothing", code=2)
    command("run", "--dataset", GRAPH, "--impl", "gpu", "--out", place.folder / "gpu", code=4)
    shutil.copytree(place.kept / "run", place.folder / "damaged")
    rows = place.folder / "damaged" / "trials.jsonl"
    rows.write_bytes(rows.read_bytes().replace(b'"ms": ', b'"ms": 1', 1))
    command("report", place.folder / "damaged", code=2)
    pack = place.folder / "damaged.pack.zip"
    pack.write_bytes((place.kept / "run.pack.zip").read_bytes()[:-40])
    command("report", pack, code=2)
    index = place.folder / "damaged.index"
    gb.build(gb.Graph.open(GRAPH), "sequential").save(index)
    index.write_bytes(index.read_bytes()[:-100])
    try:
        gb.load(index).reaches(1, 2)
    except gb.InputError:
        return
    raise Wrong("a cut index was read")


@work
def interrupts(place: Place) -> None:
    """A run that is interrupted among its trials, and goes on."""
    out = place.folder / "interrupted"
    done = threading.Event()

    def interrupt() -> None:
        rows = out / "trials.jsonl"
        while not done.wait(0.05):
            if rows.exists() and rows.read_bytes().count(b"\n") > 1:  # a row that is being written may go
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
                return

    teller = threading.Thread(target=interrupt)
    teller.start()
    try:
        words = ("--impl", "sequential", "--dim", 1, "--count", 50, "--trials", 1_000_000)
        command("run", "--dataset", GRAPH, *words, "--out", out, code=130)
    finally:
        done.set()
        teller.join()
    command("report", out, "--out", place.folder / "report")


def round_(place: Place, only: tuple[str, ...] = ()) -> list[str]:
    """Each piece of work once. Returns what went wrong."""
    wrong = []
    for name, piece in WORK.items():
        if only and name not in only:
            continue
        place.folder.mkdir()
        here = os.getcwd()
        try:
            piece(place)
        except Exception as error:  # the others go on, and the verdict has it
            wrong.append(f"{name}: {type(error).__name__}: {error}")
        finally:
            os.chdir(here)
            shutil.rmtree(place.folder)
    place.rounds += 1
    return wrong
