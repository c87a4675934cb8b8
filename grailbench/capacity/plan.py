"""What a graph and a rate of queries take on a machine: which way, how many GPUs and machines, how much memory, how
long, and what limits it. All of it is predicted (`fitted`), and nothing is measured here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from grailbench.capacity import fitted
from grailbench.capacity.machine import Machine, shipped
from grailbench.capacity.terms import TERMS, deep
from grailbench.capacity.work import Work
from grailbench.contract import implementations
from grailbench.errors import InputError
from grailbench.words import decimal_size

MOST_VERTICES = 2**31 - 2  #: vertices are numbered with 32 bits, and the super-root is one more
MOST = 10**18  #: vertices, edges, queries a second: with more, times are no numbers
SLOWEST, FASTEST = 1e-9, 1e9  #: GB/s, and seconds
EDGE_BYTES = 8  #: of an edge of the file, as it travels
STREAMED_BYTES = 48  #: of a vertex that `streamed` keeps in memory, at most; what else a process has is `process`
#: of the recorded build by `streamed` of a billion edges in 700 MB (results/baselines/cpu-2core/streamed): bytes read
#: and written, as multiples of those of the edges, and nanoseconds of one core an edge
STREAMED_PASSES, STREAMED_NS = 8.4 + 2.9, 290
BATCH = 10_000_000  #: pairs of a batch of a stream
LARGE = 0.9  #: of a memory, at most, that a plan fills
DEGREE, DEPTH = 20, 100  #: edges a vertex, and levels, of the graphs of the table

_QUERIES = {"parallel": "cpu queries", "gpu-fused": "gpu queries"}
ONE, GPU, STREAMED, SPREAD = "parallel", "gpu-fused", "streamed", "gpu-fused over several GPUs"


@dataclass(frozen=True)
class Demand:
    """What a user has and wants.

    vertices, edges  of the graph without cycles, duplicates and super-root
    depth            levels
    rate             queries a second
    scanned          edges that a query scans on the average, as counters of a run on a graph like it tell, or None
    """

    vertices: int
    edges: int
    depth: int
    rate: float
    scanned: float | None = None

    def __post_init__(self) -> None:
        least = {"--vertices": (self.vertices, 1), "--edges": (self.edges, 0), "--depth": (self.depth, 1),
                 "--queries-per-second": (self.rate, 0), "--scanned": (self.scanned or 0, 0)}  # fmt: skip
        for option, (value, bound) in least.items():
            if not bound <= value <= MOST:
                raise InputError(f"{option} {value:,} is no count", remedy=f"give a number from {bound} to {MOST:,}")
        most = self.vertices * (self.vertices - 1) // 2
        if self.edges > most:
            raise InputError(
                f"--edges {self.edges:,}: a graph of {self.vertices:,} vertices without cycles has {most:,} at most",
                remedy="count an edge once, and a strong component as one vertex; 'grailbench info GRAPH' counts both",
            )
        if self.depth > self.vertices:
            raise InputError(
                f"--depth {self.depth:,}: a graph of {self.vertices:,} vertices has no more levels than vertices",
                remedy="the depth is the number of vertices of a longest path; 'grailbench info GRAPH' tells it",
            )
        if self.depth > self.edges + 1:
            raise InputError(
                f"--depth {self.depth:,}: a path of so many vertices has more than {self.edges:,} edges",
                remedy="the depth is the number of vertices of a longest path; 'grailbench info GRAPH' tells it",
            )

    def work(self, impl: str, threads: int = 1, scanned: float | None = None) -> Work:
        """The work of a build and of a batch of a stream; `scanned` edges a pair, or as filters that decide nearly all
        leave them if None. `impl` is `ONE` or `GPU`."""
        n, m = self.vertices + 1, self.edges + 1
        easy = {name: share * BATCH for name, share in fitted.searches(impl).easy.items()}
        work = Work(n, m, self.edges, 1, self.depth + 1, threads=threads, queries=BATCH, **easy)
        if not scanned:
            return work
        expanded = scanned * BATCH * n / max(m, n)
        searched = fitted.searches(impl)
        part = min(1.0, scanned / searched.scanned(n))  # of what is begun anew and swept in a random DAG
        hard = {name: part * share * BATCH for name, share in searched.hard.items()}
        searches = min(BATCH, expanded)
        return replace(work, scanned=scanned * BATCH, expanded=expanded, searches=searches, pushed=expanded, **hard)


@dataclass(frozen=True)
class Network:
    """What machines are joined by: GB/s each way, and seconds of a message."""

    bandwidth: float = 3.125
    latency: float = 50e-6

    def __post_init__(self) -> None:
        if not SLOWEST <= self.bandwidth <= FASTEST:
            raise InputError(f"--bandwidth {self.bandwidth} is no rate", remedy="give GB/s, as 3.125 for 25 Gbit/s")
        if not 0 <= self.latency <= FASTEST:
            raise InputError(f"--latency {self.latency} is no time", remedy="give microseconds, as 50")

    def seconds(self, size: float, messages: float = 1) -> float:
        """Of so many bytes in so many messages, one after the other."""
        return size / (1e9 * self.bandwidth) + messages * self.latency

    @property
    def pairs(self) -> float:
        """Pairs a second to one machine: 8 bytes there, one bit back."""
        return 1e9 * self.bandwidth / EDGE_BYTES


@dataclass(frozen=True)
class Way:
    """One way to serve a demand on machines of one kind.

    impl         of the names above
    parts        machines that one index takes
    gpus         of a machine that are used
    memory       bytes of one machine, or of one GPU, as `of` says: 'GPU' or 'host'
    build        seconds from edges in memory to an index
    easy, hard   queries a second of one index where filters decide nearly all, and as in random DAGs; both with
                 `scanned` edges a query, where that is known; None where it is not predicted
    machines_easy, machines_hard
                 that the wanted rate takes, an index on each
    moved        seconds of the edges over the network, once
    limits       what takes most of the build and of the queries, and the memory that is too small
    band         how far off memory, build and queries were at most in the check, in words
    possible     whether the program does this today, on these machines
    notes        sentences
    """

    impl: str
    parts: int
    gpus: int
    memory: float
    of: str
    build: float
    easy: float | None
    hard: float | None
    machines_easy: int | None
    machines_hard: int | None
    moved: float
    limits: dict[str, str]
    band: str
    possible: bool
    notes: list[str]


@dataclass(frozen=True)
class Plan:
    """The ways of a demand, the chosen one first, if there is one."""

    demand: Demand
    machine: Machine
    network: Network
    ways: list[Way]

    @property
    def chosen(self) -> Way | None:
        """None if no machine of this kind can do it today."""
        return next((way for way in self.ways if way.possible), None)


def plan(demand: Demand, machine: Machine, network: Network | None = None, disk: float = 2.0) -> Plan:
    """Every way on machines of this kind, those that are possible first; of these one in memory before one from the
    disk, then the one with the fewest machines for hard queries, then the fastest build.

    disk: GB/s of a read from the disk, for `streamed`. Raises InputError if it is no rate.
    """
    network = network or Network()
    if not SLOWEST <= disk <= FASTEST:
        raise InputError(f"--disk {disk} is no rate", remedy="give GB/s of a read, as 2")
    ways = [_parallel(demand, machine, network), _streamed(demand, machine, network, disk)]
    if machine.gpu is not None:
        ways.append(_gpu(demand, machine, network))
        if "memory" in ways[-1].limits:
            ways.append(_spread(demand, machine, network))
    ways.sort(key=lambda way: (not way.possible, way.impl == STREAMED, way.machines_hard or 0, way.build))
    return Plan(demand, machine, network, ways)


def there(impl: str) -> bool:
    """Whether the program has an implementation of that name."""
    return impl in implementations()


def edges_held(machine: Machine, degree: float = DEGREE) -> int:
    """Edges that one GPU takes, by the peak that was measured by edge and vertex, with so many edges a vertex."""
    found = fitted.model("gpu memory")
    process, edge, vertex = found.constants
    return max(0, int((LARGE * machine.gpu_memory_bytes - process) / (edge + vertex / degree)))


# ------------------------------------------------------------------ ways


def _parallel(demand: Demand, machine: Machine, network: Network) -> Way:
    work = demand.work(ONE, machine.cores)
    models = "cpu memory", "cpu build", "cpu queries"
    memory, build = (_predicted(name, work, machine) for name in models[:2])
    return _way(_Draft(demand, machine, network, ONE), memory[0], "host", build,
                _rates(demand, machine, ONE, machine.cores), models)  # fmt: skip


def _gpu(demand: Demand, machine: Machine, network: Network) -> Way:
    work = demand.work(GPU)
    models = "gpu memory", "gpu build, deep" if deep(work) else "gpu build", "gpu queries"
    memory, build = (_predicted(name, work, machine) for name in models[:2])
    rates = _rates(demand, machine, GPU, 1)
    return _way(_Draft(demand, machine, network, GPU, gpus=1), memory[0], "GPU", build, rates, models)


def _streamed(demand: Demand, machine: Machine, network: Network, disk: float) -> Way:
    memory = STREAMED_BYTES * (demand.vertices + 1) + fitted.model("cpu memory").constants[0]
    reading = 1e3 * STREAMED_PASSES * EDGE_BYTES * demand.edges / (1e9 * disk)
    computing = 1e-6 * STREAMED_NS * demand.edges
    build = reading + computing, "edges from the disk" if reading > computing else "edges sorted by one thread"
    easy, limit = _predicted(_QUERIES[ONE], demand.work(ONE, machine.cores), machine)
    easy, known = 1e3 * BATCH / easy, demand.scanned == 0
    note = (
        f"{STREAMED}: at most {STREAMED_BYTES} bytes a vertex stay in memory; its build is taken to read and write "
        f"{STREAMED_PASSES:g} times the edges on a disk of {disk:g} GB/s and to take {STREAMED_NS} ns of one core an "
        "edge, as one build did elsewhere. Queries that filters leave open read the disk, and are not predicted"
    )
    rates = (easy, easy if known else None, limit) if known or demand.scanned is None else (None, None, "")
    return _way(_Draft(demand, machine, network, STREAMED, notes=(note,)), memory, "host", build, rates, ())


def _spread(demand: Demand, machine: Machine, network: Network) -> Way:
    """Labels of one graph over several GPUs of as many machines, which the program does not do: what it would take if
    memory and work divided evenly and every vertex's values crossed the network once."""
    memory, _ = _predicted("gpu memory", demand.work(GPU), machine)
    gpus = max(2, math.ceil(memory / (LARGE * machine.gpu_memory_bytes)))
    edges = -(-demand.edges // gpus)
    part = replace(demand.work(GPU), vertices=-(-demand.vertices // gpus) + 1, edges=edges + 1, raw_edges=edges)
    build, slow = _predicted("gpu build", part, machine)
    exchanged = 1e3 * network.seconds(STREAMED_BYTES * (demand.vertices + 1) / gpus, 2 * demand.depth)
    if exchanged > build:
        slow = "values of vertices over the network"
    note = (
        f"{SPREAD}: the program does not do this; work and memory are taken to divide evenly, and {STREAMED_BYTES} "
        "bytes of every vertex to cross the network"
    )
    draft = _Draft(demand, machine, network, SPREAD, parts=gpus, gpus=1, notes=(note,))
    return _way(draft, memory / gpus, "GPU", (build + exchanged, slow), (None, None, ""), ())


@dataclass(frozen=True)
class _Draft:
    """What a way begins with."""

    demand: Demand
    machine: Machine
    network: Network
    impl: str
    parts: int = 1
    gpus: int = 0
    notes: tuple[str, ...] = ()


def _way(draft: _Draft, memory: float, of: str, build: tuple[float, str], rates: tuple, models: Sequence[str]) -> Way:
    """A way: memory in bytes, the build in ms and what takes most of it, rates as of `_rates`, and names of models."""
    demand, machine, notes = draft.demand, draft.machine, list(draft.notes)
    limits = {"build": build[1], "queries": rates[2]}
    needs = [(memory, of)] + [(EDGE_BYTES * demand.edges / draft.parts, "host")] * (
        of == "GPU"
    )  # whence the edges come
    rooms = {"GPU": machine.gpu_memory_bytes, "host": machine.memory_bytes}
    short = [(size, where) for size, where in needs if size > LARGE * rooms[where]]
    for size, where in short:
        limits["memory"] = f"of the {where}"
        notes.append(
            f"{draft.impl}: {decimal_size(int(size))} do not fit in {100 * LARGE:.0f} % of the "
            f"{decimal_size(rooms[where])} of the {where}"
        )
    fits = not short
    if not there(draft.impl) and draft.impl != SPREAD:
        notes.append(f"{draft.impl}: this version has no such implementation")
    if demand.vertices > MOST_VERTICES:
        fits = False
        notes.append(f"no implementation takes more than {MOST_VERTICES:,} vertices, which have numbers of 32 bits")
    easy, hard = (_needed(rate, demand.rate, draft.network) for rate in rates[:2])
    if hard is not None and hard > 1 and rates[1] > draft.network.pairs:
        limits["queries"] = "pairs over the network"
    return Way(
        draft.impl, draft.parts, draft.gpus, memory, of, build[0] / 1e3, *rates[:2], easy, hard,
        draft.network.seconds(EDGE_BYTES * demand.edges), limits, _band(models, machine),
        fits and there(draft.impl), notes,
    )  # fmt: skip


def _needed(one: float | None, rate: float, network: Network) -> int | None:
    """Machines for so many queries a second if one answers `one`; those of several come over the network."""
    if one is None:
        return None
    return 1 if one >= rate else math.ceil(rate / min(one, network.pairs))


def _band(models: Sequence[str], machine: Machine) -> str:
    """How far off the models of a way were at most."""
    if not models:
        return "not checked"
    found = [fitted.model(name) for name in models]
    if machine.alike(shipped(found[0].machine)):
        return "up to " + ", ".join(
            f"{100 * each.worst:.0f} % ({what})"
            for each, what in zip(found, ("memory", "build", "queries"), strict=True)
        )
    return f"times up to a factor of {fitted.elsewhere():.1f}, memory {100 * found[0].worst:.0f} %"


def _rates(demand: Demand, machine: Machine, impl: str, threads: int) -> tuple[float, float, str]:
    """Queries a second of one machine where filters decide, and of hard queries; what takes longest of hard ones."""
    name = _QUERIES[impl]
    scanned = fitted.searches(impl).scanned(demand.vertices) if demand.scanned is None else demand.scanned
    hard, slow = _predicted(name, demand.work(impl, threads, scanned), machine)
    easy = hard if demand.scanned is not None else _predicted(name, demand.work(impl, threads), machine)[0]
    return 1e3 * BATCH / easy, 1e3 * BATCH / hard, slow


def _predicted(name: str, work: Work, machine: Machine) -> tuple[float, str]:
    """The prediction of a model in ms or bytes, and in words the term that is most of it."""
    found = fitted.model(name)
    terms = found.model.terms(work, machine)
    names = [term for part in found.model.parts for term in part.terms]
    shares: dict[str, float] = {}
    for term, constant, value in zip(names, found.constants, terms, strict=True):
        shares[term] = shares.get(term, 0.0) + constant * value
    largest: Callable[[str], float] = shares.__getitem__
    return sum(shares.values()), TERMS[max(shares, key=largest)][0]
