"""The terms of predictions: what a piece of work takes at least at the ceilings of a machine.

A term is a function of a `Work` and a `Machine`. Those of times are in milliseconds and those of memory in bytes. A
prediction is a sum of terms, each times a constant that is fitted to recorded runs (`model`): how many times its least
it takes. Only `start`, `call` and `process` are not derived from ceilings: the constant is their whole cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from grailbench.capacity.machine import Machine, gather_ms
from grailbench.capacity.work import Work

SHORT = 1 << 18  #: edges up to which a column travels to a GPU in one piece (`device.edges.staging`)
NARROW = 4096  #: edges of a level up to which one block of a GPU walks it (`device.edges.walk`)
LEVELS, DEEP = 256, 64  #: a graph is deep with more levels, if they have fewer edges each (`device.leveled`)
PAGE = 2 << 20  #: bytes of a page of memory that is zeroed when it is first touched
HOT = 16 << 10  #: bytes of a table that stays in the first-level cache

Term = Callable[[Work, Machine], float]
TERMS: dict[str, tuple[str, Term]] = {}  #: by name: what it is in words, and the function


def term(words: str) -> Callable[[Term], Term]:
    """Registers a term under the name of its function."""

    def register(function: Term) -> Term:
        TERMS[function.__name__] = words, function
        return function

    return register


def deep(work: Work) -> bool:
    """Whether the host walks and labels the graph for a GPU, since its levels are many and narrow."""
    return work.depth > LEVELS and work.depth * DEEP > work.edges


# ------------------------------------------------------------------ of both


@term("a call")
def call(work: Work, machine: Machine) -> float:
    return 1.0


@term("a process: interpreter, libraries, kernels")
def process(work: Work, machine: Machine) -> float:
    return 1.0


# ------------------------------------------------------------------ builds on a GPU


@term("edges through pinned memory to the GPU, 8 bytes each")
def inward(work: Work, machine: Machine) -> float:
    return machine.gpu.inward_ms(8 * work.raw_edges) if work.raw_edges else 0.0


@term("threads that copy more than 262,144 edges in pieces")
def pieces(work: Work, machine: Machine) -> float:
    return float(work.raw_edges > SHORT)


@term("edges of the file through the GPU's memory once, read and written as 64-bit keys")
def keys(work: Work, machine: Machine) -> float:
    return 16 * work.raw_edges / machine.gpu.bytes_per_ms()


@term("rows of children and of parents through the GPU's memory, 12 bytes an edge")
def rows(work: Work, machine: Machine) -> float:
    return 12 * work.edges / machine.gpu.bytes_per_ms()


@term("a barrier of the grid a level")
def levels(work: Work, machine: Machine) -> float:
    return work.depth * machine.gpu.barrier / 1e3


@term("vertices of narrow levels, gathered by one multiprocessor")
def narrow(work: Work, machine: Machine) -> float:
    if work.per_level >= NARROW:
        return 0.0
    return (work.vertices - work.roots) * machine.multiprocessors * gather_ms(machine.gpu, 0)


@term("vertices of a deep graph, gathered by one core from their labels")
def deep_vertices(work: Work, machine: Machine) -> float:
    return work.vertices * gather_ms(machine.one, work.label_bytes)


@term("levels of a deep graph, gathered by one core from their labels")
def deep_levels(work: Work, machine: Machine) -> float:
    return work.depth * gather_ms(machine.one, work.label_bytes)


# ------------------------------------------------------------------ queries on a GPU


@term("pairs to the GPU and answers back, 9 bytes a pair")
def pairs(work: Work, machine: Machine) -> float:
    return 9 * work.queries / (1e6 * machine.gpu.inward[-1][1])


@term("edges that searches scan, from the first cache of the GPU")
def scanned(work: Work, machine: Machine) -> float:
    return work.scanned * gather_ms(machine.gpu, 0)


@term("a second search by more threads, of the pairs where the first gave up")
def again(work: Work, machine: Machine) -> float:
    return float(work.again > 0)


@term("edges that searches scan, gathered from the index in the GPU's memory, 48 bytes a vertex")
def gathered(work: Work, machine: Machine) -> float:
    return work.scanned * gather_ms(machine.gpu, 48 * work.vertices)


# ------------------------------------------------------------------ builds on a processor


@term("edges of the file, read once by one thread")
def read_edges(work: Work, machine: Machine) -> float:
    return 8 * work.raw_edges / machine.one.bytes_per_ms()


@term("vertices in each pass, gathered by one thread from labels and rows")
def pass_vertices(work: Work, machine: Machine) -> float:
    return _passes(work) * work.vertices * gather_ms(machine.one, work.label_bytes + 4 * work.edges)


@term("vertices, numbered by one thread at the rate of its first cache")
def numbered(work: Work, machine: Machine) -> float:
    return work.vertices * gather_ms(machine.one, HOT)


def _passes(work: Work) -> int:
    """Traversals one after the other: each label pair has a thread of its own where there is one."""
    return math.ceil(work.dim / max(1, work.threads))


# ------------------------------------------------------------------ queries on a processor


@term("waking the other threads")
def start(work: Work, machine: Machine) -> float:
    return float(work.threads - 1)


@term("pages of a new index's visit stamps, zeroed at the first touch, 4 bytes a vertex and thread")
def fresh(work: Work, machine: Machine) -> float:
    ceilings, pages = machine.with_threads(work.threads), max(1.0, 4 * work.vertices / PAGE)
    each = work.pushed / work.threads
    touched = min(4 * work.vertices, PAGE * pages * -math.expm1(-each / pages))
    return work.threads * touched / ceilings.bytes_per_ms()


@term("records of both ends in each filter, gathered from its table")
def filtering(work: Work, machine: Machine) -> float:
    ceilings = machine.with_threads(work.threads)
    tables = [(work.queries, work.level_bytes), (work.filtered, work.label_bytes), (work.beyond_labels, work.hub_bytes)]
    return sum(2 * pairs * gather_ms(ceilings, size) for pairs, size in tables if size)


@term("edges that searches scan, from the first cache")
def scanned_hot(work: Work, machine: Machine) -> float:
    return work.scanned * gather_ms(machine.with_threads(work.threads), HOT)


@term("vertices that searches expand, gathered from labels, hubs, stamps and rows")
def expanded(work: Work, machine: Machine) -> float:
    return work.expanded * gather_ms(machine.with_threads(work.threads), work.searched_bytes)


# ------------------------------------------------------------------ memory, in bytes


@term("edges of the file")
def file_edges(work: Work, machine: Machine) -> float:
    return float(work.raw_edges)


@term("edges with those of the super-root")
def all_edges(work: Work, machine: Machine) -> float:
    return float(work.edges)


@term("vertices")
def all_vertices(work: Work, machine: Machine) -> float:
    return float(work.vertices)


@term("the index, row starts and levels, and the stamps of each thread, by vertex")
def resident(work: Work, machine: Machine) -> float:
    return float(work.label_bytes + work.hub_bytes + work.level_bytes + (24 + 4 * work.threads) * work.vertices)
