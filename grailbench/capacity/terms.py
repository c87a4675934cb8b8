"""The terms of predictions: what a piece of work takes at least at the ceilings of a machine.

A term is a function of a `Work` and a `Machine`. Those of times are in milliseconds and those of memory in bytes. A
prediction is a sum of terms, each times a constant that is fitted to recorded runs (`model`): how many times its least
it takes. Only `start`, `call`, `longest` and `process` are not derived from ceilings: the constant is their whole cost.
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


@term("edges to the GPU")
def inward(work: Work, machine: Machine) -> float:
    """Through pinned memory, 8 bytes each."""
    return machine.gpu.inward_ms(8 * work.raw_edges) if work.raw_edges else 0.0


@term("pieces of the copy to the GPU")
def pieces(work: Work, machine: Machine) -> float:
    """Threads copy more than `SHORT` edges in pieces."""
    return float(work.raw_edges > SHORT)


@term("sorting edges on the GPU")
def keys(work: Work, machine: Machine) -> float:
    """The edges of the file through the GPU's memory once, read and written as 64-bit keys."""
    return 16 * work.raw_edges / machine.gpu.bytes_per_ms()


@term("rows of edges through the GPU's memory")
def rows(work: Work, machine: Machine) -> float:
    """Rows of children and of parents, 12 bytes an edge."""
    return 12 * work.edges / machine.gpu.bytes_per_ms()


@term("levels, one after the other")
def levels(work: Work, machine: Machine) -> float:
    """A barrier of the grid a level."""
    return work.depth * machine.gpu.barrier / 1e3


@term("vertices of narrow levels on one multiprocessor")
def narrow(work: Work, machine: Machine) -> float:
    """Gathered by one of them."""
    if work.per_level >= NARROW:
        return 0.0
    return (work.vertices - work.roots) * machine.multiprocessors * gather_ms(machine.gpu, 0)


@term("vertices of a deep graph on one core")
def deep_vertices(work: Work, machine: Machine) -> float:
    """Gathered from their labels."""
    return work.vertices * gather_ms(machine.one, work.label_bytes)


@term("levels of a deep graph on one core")
def deep_levels(work: Work, machine: Machine) -> float:
    """Gathered from the labels."""
    return work.depth * gather_ms(machine.one, work.label_bytes)


# ------------------------------------------------------------------ queries on a GPU


@term("pairs to the GPU and answers back")
def pairs(work: Work, machine: Machine) -> float:
    """9 bytes a pair."""
    return 9 * work.queries / (1e6 * machine.gpu.inward[-1][1])


@term("edges that searches scan")
def scanned(work: Work, machine: Machine) -> float:
    """At the rate of the first cache of the GPU."""
    return work.scanned * gather_ms(machine.gpu, 0)


@term("the longest search")
def longest(work: Work, machine: Machine) -> float:
    """It grows with the logarithm of how many a GPU begins anew, as the longest of many does."""
    return math.log1p(work.again)


@term("sweeps over all edges")
def swept(work: Work, machine: Machine) -> float:
    """12 bytes each, for a group of pairs at once."""
    return work.groups * rows(work, machine)


@term("random reads of the index by searches")
def gathered(work: Work, machine: Machine) -> float:
    """An edge that a search scans reads the index in the GPU's memory, of 48 bytes a vertex."""
    return work.scanned * gather_ms(machine.gpu, 48 * work.vertices)


# ------------------------------------------------------------------ builds on a processor


@term("edges sorted by one thread")
def read_edges(work: Work, machine: Machine) -> float:
    """8 bytes each, read once."""
    return 8 * work.raw_edges / machine.one.bytes_per_ms()


@term("traversals for labels")
def pass_vertices(work: Work, machine: Machine) -> float:
    """The vertices in each pass, gathered by one thread from labels and rows."""
    return _passes(work) * work.vertices * gather_ms(machine.one, work.label_bytes + 4 * work.edges)


@term("vertices numbered by one thread")
def numbered(work: Work, machine: Machine) -> float:
    """At the rate of its first cache."""
    return work.vertices * gather_ms(machine.one, HOT)


def _passes(work: Work) -> int:
    """Traversals one after the other: each label pair has a thread of its own where there is one."""
    return math.ceil(work.dim / max(1, work.threads))


# ------------------------------------------------------------------ queries on a processor


@term("waking the other threads")
def start(work: Work, machine: Machine) -> float:
    return float(work.threads - 1)


@term("new pages of visit stamps")
def fresh(work: Work, machine: Machine) -> float:
    """Zeroed when first touched after a build, 4 bytes a vertex and thread."""
    ceilings, pages = machine.with_threads(work.threads), max(1.0, 4 * work.vertices / PAGE)
    each = work.pushed / work.threads
    touched = min(4 * work.vertices, PAGE * pages * -math.expm1(-each / pages))
    return work.threads * touched / ceilings.bytes_per_ms()


@term("random reads of the filters")
def filtering(work: Work, machine: Machine) -> float:
    """The records of both ends in each filter, gathered from its table."""
    ceilings = machine.with_threads(work.threads)
    tables = [(work.queries, work.level_bytes), (work.filtered, work.label_bytes), (work.beyond_labels, work.hub_bytes)]
    return sum(2 * pairs * gather_ms(ceilings, size) for pairs, size in tables if size)


@term("edges that searches scan")
def scanned_hot(work: Work, machine: Machine) -> float:
    """At the rate of the first cache."""
    return work.scanned * gather_ms(machine.with_threads(work.threads), HOT)


@term("random reads of searches")
def expanded(work: Work, machine: Machine) -> float:
    """The vertices that they expand, gathered from labels, hubs, stamps and rows."""
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


@term("the index and what threads need by vertex")
def resident(work: Work, machine: Machine) -> float:
    """The index, row starts and levels, and the stamps of each thread."""
    return float(work.label_bytes + work.hub_bytes + work.level_bytes + (24 + 4 * work.threads) * work.vertices)
