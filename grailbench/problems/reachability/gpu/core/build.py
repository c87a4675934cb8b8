"""Builds the index of `core` on the device and answers batches by it, one thread a pair.

The DAG comes from the host, or from edges by the kernels of `cuda.edges`. Peel, close, write the records. The packed
closure of the core has the layout of `reachability.core.closure`: one cooperative launch fills it, level by level. The
rows of the deepest level come first. A thread unites one word of the rows of the children of one vertex, so that
neighbouring threads read neighbouring words. In levels that leave threads idle, the children of a vertex are shared
among several.

The records are those of `reachability.core.records`, which says when they are short, each packed into one number or
two, which a thread loads at once. Narrow records have fields of 16 bits and wide ones of 32, the first field lowest, so
that the bytes are those of the CPU's arrays: a source is int64[1] or int64[2], a target and a record of a tree uint32
or int64.
"""

from collections import namedtuple
from contextlib import nullcontext

import numpy as np

from grailbench.cuda.describe import memory, require_memory
from grailbench.cuda.device_arrays import cleared
from grailbench.cuda.edges import build as edges
from grailbench.cuda.edges import library, staging
from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.launch import Prepared, Shape, cooperative_shape, prepared_copy
from grailbench.cuda.timers import Span
from grailbench.errors import MachineLacks
from grailbench.graph.condense import rooted
from grailbench.graph.csr import Dag, Graph
from grailbench.graph.rows import transpose
from grailbench.problems.reachability.core import records as of_cpu
from grailbench.problems.reachability.core.closure import words
from grailbench.problems.reachability.core.index import SHARE, SMALL
from grailbench.problems.reachability.gpu.core.peel import (
    OF_ABOVE,
    OF_CORE,
    Given,
    Parts,
    graph_bytes,
    peeling,
    peeling_bytes,
    upload,
)
from grailbench.problems.reachability.index import NoTimer, Params, Timer

CLOSING_THREADS = 4 if simulated else 512
_LEAST = 2 if simulated else 32  #: children that a thread unites if a vertex is shared
_TASKS = 8  #: with so many words for each thread of the grid, no vertex is shared
_1 = np.uint64(1)


@cuda.jit(device=True)
def row_start(row, width):
    """As `reachability.core.closure.row_start`, for int64."""
    block = row >> 6
    return row * (width - block) + block * (32 * block + 31)


@cuda.jit(device=True)
def _unite(word, begin, end, width, edges, bits):
    """Returns the union of one word of the rows of the children edges[begin:end]."""
    found = np.uint64(0)
    for k in range(begin, end):
        child = np.int64(edges[k])
        if word >= (child + 1) >> 6:
            found |= bits[row_start(child, width) + word]
    return found


@cuda.jit(cache=True)
def close(levels, parts, most, bits):
    """Fills the closure: bits uint64[words]. levels: as in `Dag`; most int32[depth]: scratch. Any cooperative grid."""
    grid = cuda.cg.this_grid()
    thread, threads = cuda.grid(1), cuda.gridsize(1)
    core, depth = np.int64(parts.totals[OF_CORE]), most.shape[0]
    width = core // 64 + 1
    for level in range(thread, depth, threads):
        most[level] = 0
    for i in range(thread, bits.shape[0], threads):
        bits[i] = 0
    grid.sync()
    for row in range(thread, core, threads):
        degree, level = parts.ends[row] - parts.starts[row], levels[parts.core[row]]
        if degree > most[level]:
            cuda.atomic.max(most, level, degree)
        column = np.int64(row) + 1
        bits[row_start(np.int64(row), width) + (column >> 6)] = _1 << np.uint64(column & 63)
    grid.sync()
    for level in range(depth - 1, -1, -1):
        first, last = np.int64(parts.bounds[level]), np.int64(parts.bounds[level + 1])
        longest = np.int64(most[level])
        if longest > 0:
            before = (first + 1) >> 6
            words = width - before
            pieces = min((longest + _LEAST - 1) // _LEAST, _TASKS * threads // ((last - first) * words) + 1)
            each = (longest + pieces - 1) // pieces
            for task in range(thread, (last - first) * words * pieces, threads):
                piece, word = np.int64(task) // words, before + np.int64(task) % words
                row = first + piece // pieces
                begin = parts.starts[row] + each * (piece % pieces)
                end = min(begin + each, np.int64(parts.ends[row]))
                found = _unite(word, begin, end, width, parts.edges, bits)
                if found:
                    at = row_start(row, width) + word
                    if pieces > 1:
                        cuda.atomic.or_(bits, at, found)
                    else:
                        bits[at] |= found
            grid.sync()


def closing(graph: Given, parts: Parts, words: int) -> tuple[Prepared, object]:
    """Returns the launch that fills the closure of one core, and its bits, uint64[words]."""
    bits = cuda.device_array(words, np.uint64)
    args = graph.levels, parts, cuda.device_array(parts.bounds.shape[0] - 1, np.int32), bits
    return Prepared(close, args, cooperative_shape(close, args, CLOSING_THREADS)), bits


_SHORT, LONG = np.int64(2**16 - 1), np.int64(2**32 - 1)
OPEN = np.uint8(2)  #: an answer that only the index of the core can give


@cuda.jit(cache=True)
def fill_records(parts, narrow, sources, targets):
    """Fills all records. sources: int64[n] if narrow, else int64[2 n]; targets: uint32[n] or int64[n]."""
    n = parts.position.shape[0]
    above, core = parts.totals[OF_ABOVE], parts.totals[OF_CORE]
    never = _SHORT if narrow else LONG
    for v in range(cuda.grid(1), n, cuda.gridsize(1)):
        at, size, beyond = np.int64(parts.position[v]), np.int64(parts.end[v] - parts.position[v]), parts.gate[v]
        place, row, low, length, column = never, core, np.int64(0), np.int64(0), np.int64(0)
        gate, size_of_gate = np.int64(-1), np.int64(0)
        if beyond >= 0:
            gate, size_of_gate = np.int64(parts.position[beyond]), np.int64(parts.end[beyond] - parts.position[beyond])
        if v == n - 1:
            length = never
        elif at >= above + core:
            low, length, column = at, size, gate + 1
        elif at >= above:
            row, column = at - above, at + 1
        else:
            place, column = at, size
            if gate >= above + core:
                low, length = gate, size_of_gate
            elif gate >= 0:
                row = gate - above
        if narrow:
            sources[v] = place | row << 16 | low << 32 | length << 48
            targets[v] = at | column << 16
        else:
            sources[2 * v], sources[2 * v + 1] = place | row << 32, low | length << 32
            targets[v] = at | column << 32


@cuda.jit(cache=True)
def fill_tree(parts, narrow, tree):
    """Fills the records of a forest. tree: uint32[n] if narrow, else int64[n]."""
    for v in range(cuda.grid(1), parts.position.shape[0], cuda.gridsize(1)):
        at, size = np.int64(parts.position[v]), np.int64(parts.end[v] - parts.position[v])
        tree[v] = at | size << (16 if narrow else 32)


@cuda.jit(device=True)
def _reaches(place, row, u_low, u_length, low, length, above, width, bits):
    """Returns the answer to one pair, from fields of int64."""
    found = (low <= place) & (place - low < length) | (u_low <= low) & (low - u_low < u_length)
    column = max(length - above, np.int64(0))
    if column > row:  # else nothing is read
        found |= bits[row_start(row, width) + (column >> 6)] >> np.uint64(column & 63) & np.uint64(1) != 0
    return found


@cuda.jit(cache=True)
def answer_narrow(us, vs, sources, targets, above, width, bits, answers):
    """Answers a batch by narrow records, one thread a pair. us, vs: int32[k]; answers: uint8[k]."""
    for i in range(cuda.grid(1), us.shape[0], cuda.gridsize(1)):
        u, v = sources[us[i]], np.int64(targets[vs[i]])
        low, length = v & _SHORT, v >> 16
        answers[i] = _reaches(
            u & _SHORT, u >> 16 & _SHORT, u >> 32 & _SHORT, u >> 48 & _SHORT, low, length, above, width, bits
        )


@cuda.jit(cache=True)
def answer_wide(us, vs, sources, targets, above, width, bits, answers):
    """As `answer_narrow`, by wide records."""
    for i in range(cuda.grid(1), us.shape[0], cuda.gridsize(1)):
        at = 2 * np.int64(us[i])
        first, second, v = sources[at], sources[at + 1], targets[vs[i]]
        low, length = v & LONG, v >> 32 & LONG
        answers[i] = _reaches(
            first & LONG, first >> 32 & LONG, second & LONG, second >> 32 & LONG, low, length, above, width, bits
        )


@cuda.jit(cache=True)
def answer_tree(us, vs, tree, upward, narrow, answers):
    """Answers a batch on a forest, of in-trees if `upward`. us, vs: int32[k]; answers: uint8[k]."""
    mask, shift = (_SHORT, 16) if narrow else (LONG, 32)
    root = tree.shape[0] - 1
    for i in range(cuda.grid(1), us.shape[0], cuda.gridsize(1)):
        inner, outer = us[i], vs[i]
        from_root = inner == root
        if not upward:
            inner, outer = outer, inner
        place, other = np.int64(tree[inner]) & mask, np.int64(tree[outer])
        low, size = other & mask, other >> shift & mask
        answers[i] = (low <= place) & (place - low < size) | from_root


@cuda.jit(cache=True)
def settle(us, vs, sources, targets, above, narrow, answers, rows, columns):
    """Answers what the forests decide; pairs of the core are left `OPEN`, with their places in it.

    us, vs, rows, columns: int32[k]; answers: uint8[k].
    """
    mask, shift = (_SHORT, 16) if narrow else (LONG, 32)
    for i in range(cuda.grid(1), us.shape[0], cuda.gridsize(1)):
        target = np.int64(targets[vs[i]])
        low, length = target & mask, target >> shift & mask
        if narrow:
            first = sources[us[i]]
            second = first >> 32
        else:
            at = 2 * np.int64(us[i])
            first, second = sources[at], sources[at + 1]
        place, row, u_low, u_length = first & mask, first >> shift & mask, second & mask, second >> shift & mask
        column = max(length - above, np.int64(0))
        if column > row:
            answers[i], rows[i], columns[i] = OPEN, np.int32(row), np.int32(column - 1)
        else:
            answers[i] = (low <= place) & (place - low < length) | (u_low <= low) & (low - u_low < u_length)


_BATCH_BYTES = 9  #: of a pair: two ids and an answer
_THREADS = 4 if simulated else 256
_BLOCKS = 16  #: most blocks of a multiprocessor, each of which takes several pairs a thread


class DeviceIndex(namedtuple("DeviceIndex", "tree sources targets bits above core")):
    """The index on the device, in the layout below; `tree`, or the others, are None.

    tree     uint32[n] or int64[n]
    sources  int64[n] or int64[2 n]
    targets  uint32[n] or int64[n]
    bits     uint64[words], or None where another index answers pairs of the core
    above, core  numbers of vertices in the in-trees and in the core
    """

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(array.nbytes for array in self[:4] if array is not None)

    @property
    def vertices(self) -> int:
        """Number of vertices, the super-root included."""
        return (self.targets if self.tree is None else self.tree).shape[0]

    @property
    def narrow(self) -> bool:
        """Whether fields have 16 bits."""
        return (self.targets if self.tree is None else self.tree).dtype == np.uint32


def launch_of(index: DeviceIndex, us, vs, answers, rows=None, columns=None) -> Prepared:
    """Returns the launch that answers pairs on the device: us, vs int32[k] to answers uint8[k].

    Without a closure, pairs of the core are left `OPEN`, with their ends there in rows and columns, int32[k].
    """
    pairs = us.shape[0]
    most = _BLOCKS * (1 if simulated else cuda.get_current_device().MULTIPROCESSOR_COUNT)
    shape = Shape(min(-(-pairs // _THREADS), most), _THREADS)
    if index.tree is not None:
        return Prepared(answer_tree, (us, vs, index.tree, index.above > 0, index.narrow, answers), shape)
    own = us, vs, index.sources, index.targets, index.above
    if index.bits is None:
        return Prepared(settle, (*own, index.narrow, answers, rows, columns), shape)
    kernel = answer_narrow if index.narrow else answer_wide
    return Prepared(kernel, (*own, index.core // 64 + 1, index.bits, answers), shape)


def _by_threads(ends):
    """Returns the function that copies columns of the host to `ends` by several threads."""
    staging.prepare()
    return lambda columns: staging.bring(columns, [end.device_ctypes_pointer.value for end in ends])


def _by_turns(ends):
    """Returns the function that copies columns of the host to `ends`: one into pinned memory while another travels."""
    pinned = [cuda.pinned_array(end.shape[0], np.int32) for end in ends]
    copies = [prepared_copy(end, own, wait=False) for end, own in zip(ends, pinned, strict=True)]

    def bring(columns):
        for own, given, copy in zip(pinned, columns, copies, strict=True):
            own[:] = given
            copy()

    return bring


class Batch:
    """Pinned host memory and device memory for batches of k pairs, and the launch that answers them.

    inside  the ends of open pairs in the core, int32[k] each on the device, where there is no closure; else None
    """

    def __init__(self, k: int, index: DeviceIndex, component=None):
        """component: of each vertex of the graph, on the device, if pairs are of these. Raises TooLittleMemory if the
        device has too little."""
        open_ = index.tree is None and index.bits is None
        need = (_BATCH_BYTES + (8 if open_ else 0)) * k
        require_memory(need, f"a batch of {k:,} queries", "ask fewer at once with --count")
        self.size = k
        self._found = cuda.pinned_array(k, np.uint8)
        ends = [cuda.device_array(k, np.int32) for _ in range(2)]
        answers = cuda.device_array(k, np.uint8)
        # only those of open pairs are written, and all are copied
        self.inside = [cleared(k, np.int32) for _ in range(2)] if open_ else None
        self._take = prepared_copy(self._found, answers)
        answering = launch_of(index, *ends, answers, *(self.inside or ()))
        placing = () if component is None else (Prepared(_place, (component, *ends), answering.shape),)
        self._launches = *placing, answering
        self._span = Span()
        self._bring = _by_threads(ends) if staging.many(k) else _by_turns(ends)
        cuda.synchronize()

    def answer(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Answers, and returns uint8[k] that the next batch overwrites."""
        self._bring((sources, targets))
        timed = not isinstance(timer, NoTimer)
        with self._span if timed else nullcontext():
            for each in self._launches:
                each.launch()
        self._take()
        if timed:
            timer.record("on_device", self._span.ms)
        return self._found

    def hand_over(self, answers: np.ndarray) -> None:
        """Copies what `answer` found, 0 or 1, to bool[k]."""
        staging.spread(self._found.view(np.bool_), answers)


_MOST_BLOCKS = 4096
MOST_EDGES = 2**31 - 1


class Builder:
    """Builds the index of one DAG on the device; `budget`: bytes that the closure may take, 0 for a share of the free
    memory."""

    def __init__(self, graph: Given, depth: int, budget: int, timer: Timer):
        """depth: the number of levels."""
        with timer.phase("allocate", excluded=True):
            (self._peel, self._parts), self._span = peeling(graph, depth), Span()
            self._totals = cuda.pinned_array(3, np.int64)
            cuda.synchronize()
        self._graph, self._vertices, self._budget = graph, graph.order.shape[0], budget

    def run(self, timer: Timer) -> DeviceIndex:
        """Returns the index, without a closure if its bits do not fit; `on_device` is the time of the launches."""
        parts = self._parts
        self._launch(timer, self._peel)
        parts.totals.copy_to_host(self._totals)
        above, core, n = int(self._totals[OF_ABOVE]), int(self._totals[OF_CORE]), self._vertices - 1
        shape = Shape(1 if simulated else min(-(-self._vertices // _THREADS), _MOST_BLOCKS), _THREADS)
        tree = sources = targets = bits = None
        with timer.phase("allocate", excluded=True):
            if n in (above, n - above - core):
                short = n < of_cpu.SHORT - 1
                tree = cuda.device_array(n + 1, np.uint32 if short else np.int64)
                steps = (Prepared(fill_tree, (parts, short, tree), shape),)
            else:
                short, size = n + above + core + 2 < of_cpu.SHORT, words(core)
                steps = ()
                free, _ = memory()
                if not core or 8 * size <= (self._budget or max(SMALL, free // SHARE)) and 8 * size < free:
                    close, bits = closing(self._graph, parts, size)
                    steps = (close,)
                sources = cuda.device_array((n + 1) * (1 if short else 2), np.int64)
                targets = cuda.device_array(n + 1, np.uint32 if short else np.int64)
                steps += (Prepared(fill_records, (parts, short, sources, targets), shape),)
        self._launch(timer, *steps)
        return DeviceIndex(tree, sources, targets, bits, above, core)

    def _launch(self, timer: Timer, *steps: Prepared) -> None:
        with self._span:
            for step in steps:
                step.launch()
        timer.record("on_device", self._span.ms)

    def core_dag(self) -> Dag:
        """Returns the graph of the core, with a super-root of its own, on the host; vertices are places in the core."""
        parts, (_, core, edges) = self._parts, self._totals.tolist()
        starts, ends = parts.starts[:core].copy_to_host(), parts.ends[:core].copy_to_host()
        listed = parts.edges[:edges].copy_to_host() if edges else np.empty(0, np.int32)
        offsets = np.concatenate([[0], np.cumsum(ends - starts, dtype=np.int64)])
        rows = listed[np.repeat(starts - offsets[:-1], ends - starts) + np.arange(edges)]
        return rooted(*transpose(*transpose(offsets, rows)))  # twice, so that rows ascend


def _peeling(vertices: int, edges: int) -> str:
    return f"peeling {vertices:,} vertices and {edges:,} edges on the GPU"


def _require_few(edges: int) -> None:
    if edges > MOST_EDGES:
        raise MachineLacks(f"core-gpu counts up to {MOST_EDGES:,} edges, this graph has {edges:,}: take `core`")


def of_dag(dag: Dag, budget: int, timer: Timer) -> Builder:
    """Copies a DAG to the device. Raises TooLittleMemory if the device has too little for it, and MachineLacks if it
    has more edges than 32 bits count: rows of the core are `peel.Parts`."""
    n, m = dag.vertices, dag.edges
    _require_few(m)
    with timer.phase("allocate", excluded=True):
        require_memory(graph_bytes(n, m) + peeling_bytes(n, m), _peeling(n, m))
    with timer.phase("transpose", excluded=True):
        dag.parents  # noqa: B018 - made on first use
    with timer.phase("transfer", excluded=True):
        graph = upload(dag)
        cuda.synchronize()
    return Builder(graph, dag.depth, budget, timer)


def of_edges(graph: Graph, budget: int, timer: Timer) -> tuple[Builder, object | None]:
    """Condenses a graph with vertices on the device, as `gpu-fused` does. Returns also the component of each vertex,
    int32[n] on the device, None if each is its own. Raises what `of_dag` does."""
    edges.require_room(graph, "condensing")
    with library.counted():
        with timer.phase("transfer"):
            sources, targets = staging.to_device(graph.sources, graph.targets)
        with timer.phase("condense"):
            rows, walked, component = edges.condensed_rows(graph.vertices, graph.edges, sources, targets)
            del sources, targets
            m, depth, order, level_starts = walked.edges, walked.depth, walked.arrays.vertex, walked.arrays.level_starts
            _require_few(m)
            del walked
            given = Given(*edges.rooted(rows, m, order, level_starts, depth))
            del rows, level_starts
            cuda.synchronize()
        n = order.shape[0]
        require_memory(peeling_bytes(n, m), _peeling(n, m))
        builder = Builder(given, depth, budget, timer)
    return builder, None if component is None else library.seen(component)


@cuda.jit(cache=True)
def _place(component, us, vs):
    """Replaces vertices of a graph, int32[k] each, by their components, int32[n]."""
    for i in range(cuda.grid(1), us.shape[0], cuda.gridsize(1)):
        us[i], vs[i] = component[us[i]], component[vs[i]]


def load(params: Params) -> None:
    """Compiles or loads every kernel of the way from edges, and takes the pinned memory in which edges travel."""
    staging.prepare()
    for graph in edges.samples():
        of_edges(graph, params.memory, NoTimer())[0].run(NoTimer())


def upload_index(arrays: dict[str, np.ndarray]) -> DeviceIndex:
    """Copies the arrays of `reachability.core.index.CoreIndex`, of an index with a closure or of a forest."""
    above, core = (int(number) for number in arrays["shape"])

    def words_of(array: np.ndarray, short, long):
        return cuda.to_device(np.ascontiguousarray(array).reshape(-1).view(short if array.dtype == np.uint16 else long))

    if "tree" in arrays:
        return DeviceIndex(words_of(arrays["tree"], np.uint32, np.int64), None, None, None, above, core)
    sources = words_of(arrays["sources"], np.int64, np.int64)
    targets = words_of(arrays["targets"], np.uint32, np.int64)
    return DeviceIndex(None, sources, targets, cuda.to_device(np.ascontiguousarray(arrays["bits"])), above, core)
