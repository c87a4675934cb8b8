"""Profiles of graphs, from which look-alikes are generated; those of published graphs are in `datasets/profiles/`.

A profile contains no edges. It states the number of edges between each two levels, and the number of vertices of each
kind; a kind is a combination of level (longest path from a root), height (longest path to a sink), number of parents
and number of children. `grailbench generate --measure` makes a profile of any graph.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numba import njit

from grailbench.errors import InputError
from grailbench.graph.csr import Dag, Graph
from grailbench.graph.hashing import permutation, stream
from grailbench.util import paths

EXACT_KINDS = 1000  # if there are more kinds, degrees are grouped by powers of two;
MOST_KINDS = 2200  # if there are more than this after that, by higher powers, and then by height
HUBS = 16  # the vertices with the 16 largest in-degrees or out-degrees are never grouped


@dataclass(frozen=True)
class Knobs:
    """Parameters of a look-alike's edges, chosen so that its positive rate is that of the original graph.

    width    greatest initial distance of a parent and a child in millionths of all ids; 1,000,000 is unlimited
    heights  thousandths of the edges that must lead to a lower height
    rounds   rounds of moving neighbours closer together
    """

    width: int = 1_000_000
    heights: int = 0
    rounds: int = 0


@dataclass(frozen=True)
class Profile:
    """The counts of a graph without super-root and without duplicate edges.

    name, basis     canonical name of the graph; 'measured' or 'assumed'
    origin          where the counts come from; for a measured profile the sha256 of the file
    positive_rate   share of ordered pairs (u, v), including u = v, with a path from u to v; None if unknown
    rate_error      standard error of `positive_rate`
    duplicates      duplicate edges in the file, which the papers count
    triangles       triples u -> v -> w with an edge u -> w; None if unknown
    height_step     heights in `kinds` are divided by it and rounded down
    kinds           int64[5, k], ascending by level: level, height, vertices, total parents, total children. The
                    parents and children are distributed among the vertices of a kind as evenly as possible
    pairs           int64[l, l]: edges between levels
    notes           assumptions and their sources
    """

    name: str
    basis: str
    origin: str
    positive_rate: float | None
    rate_error: float
    duplicates: int
    triangles: int | None
    height_step: int
    kinds: np.ndarray
    pairs: np.ndarray
    knobs: Knobs = field(default_factory=Knobs)
    notes: tuple[str, ...] = ()

    @property
    def vertices(self) -> int:
        return int(self.kinds[2].sum())

    @property
    def edges(self) -> int:
        return int(self.pairs.sum())

    @property
    def printed(self) -> tuple[int, int]:
        """Vertices and edges including the super-root, its edges and duplicate edges, as in the thesis."""
        return self.vertices + 1, self.edges + self.duplicates + self.roots

    @cached_property
    def levels(self) -> np.ndarray:
        """The number of vertices of each level, int64[l]."""
        return np.bincount(self.kinds[0], self.kinds[2]).astype(np.int64)

    @cached_property
    def heights(self) -> np.ndarray:
        """The number of vertices of each height divided by `height_step`, int64[h]."""
        return np.bincount(self.kinds[1], self.kinds[2]).astype(np.int64)

    @cached_property
    def spans(self) -> np.ndarray:
        """The number of edges that lead 0, 1, 2, ... levels down, int64[l]."""
        source, target = np.nonzero(self.pairs)
        return np.bincount(target - source, self.pairs[source, target], len(self.levels)).astype(np.int64)

    @property
    def roots(self) -> int:
        return int(self.levels[0])

    @property
    def sinks(self) -> int:
        return int(self.kinds[2, self.kinds[4] == 0].sum())

    @property
    def max_in_degree(self) -> int:
        return int(np.max(-(-self.kinds[3] // self.kinds[2])))

    @property
    def max_out_degree(self) -> int:
        return int(np.max(-(-self.kinds[4] // self.kinds[2])))


def measure(dag: Dag, name: str, origin: str) -> Profile:
    """Measures the profile of a condensed graph, except for the knobs, which `tune` finds."""
    graph = plain_graph(dag)
    n = graph.vertices
    levels = dag.levels[:-1].astype(np.int64) - 1
    ins, outs = np.bincount(graph.targets, minlength=n), np.bincount(graph.sources, minlength=n)
    heights = _heights(dag)[:-1].astype(np.int64)
    step, kinds = grouped_kinds(levels, heights, ins, outs)
    rate = positive_rate(graph)
    depth = int(levels.max(initial=-1)) + 1
    pairs = np.bincount(levels[graph.sources] * depth + levels[graph.targets], minlength=depth * depth)
    return Profile(
        name=name,
        basis="measured",
        origin=origin,
        positive_rate=rate.value,
        rate_error=rate.error,
        duplicates=dag.duplicates,
        triangles=triangles(graph),
        height_step=step,
        kinds=kinds,
        pairs=pairs.reshape(depth, depth),
    )


def _heights(dag: Dag) -> np.ndarray:
    """The length of the longest path from each vertex to a sink, int32[n]."""
    heights = np.zeros(dag.vertices, np.int32)
    bounds = np.searchsorted(dag.levels[dag.order], np.arange(dag.depth + 1))
    for level in range(dag.depth - 1, -1, -1):
        row = dag.order[bounds[level] : bounds[level + 1]]
        row = row[dag.offsets[row + 1] > dag.offsets[row]]
        counts = dag.offsets[row + 1] - dag.offsets[row]
        starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
        at = np.repeat(dag.offsets[row] - starts[:-1], counts) + np.arange(starts[-1])
        if row.size:
            heights[row] = np.maximum.reduceat(heights[dag.children[at]], starts[:-1]) + 1
    return heights


def grouped_kinds(levels, heights, ins, outs) -> tuple[int, np.ndarray]:
    """The height step and the kinds (`Profile.kinds`), grouped by degree and then by height if there are too many."""
    kinds = _kinds(levels, heights, ins, outs, None)
    if kinds.shape[1] <= EXACT_KINDS:
        return 1, kinds
    for power in (2, 4, 8):
        if (kinds := _kinds(levels, heights, ins, outs, power)).shape[1] <= MOST_KINDS:
            return 1, kinds
    step = 1
    while kinds.shape[1] > MOST_KINDS and step <= heights.max():
        step += 1
        kinds = _kinds(levels, heights // step, ins, outs, power)
    return step, kinds


def _kinds(levels, heights, ins, outs, power: int | None) -> np.ndarray:
    """`Profile.kinds`, exact if `power` is None, else with degrees grouped by powers of it, except for hubs."""
    keys = [levels, heights, ins, outs]
    if power is not None:
        above = power ** np.arange(64 // power)
        hub = np.zeros(ins.size, np.int64)
        for degrees in (ins, outs):
            largest = np.argsort(-degrees, kind="stable")[:HUBS]
            hub[largest] = largest + 1
        keys = [levels, heights, *(np.searchsorted(above, degrees, "right") for degrees in (ins, outs)), hub]
    kind = np.zeros(ins.size, np.int64)
    for key in keys:  # one column at a time, which is ten times as fast as np.unique on rows
        kind = np.unique(kind * (int(key.max(initial=0)) + 1) + key, return_inverse=True)[1].reshape(-1)
    first = np.unique(kind, return_index=True)[1]
    totals = [np.bincount(kind, degrees).astype(np.int64) for degrees in (ins, outs)]
    return np.stack([levels[first], heights[first], np.bincount(kind), *totals]).astype(np.int64)


#: fields that a profile's JSON holds under their own names
_PLAIN = ("name", "basis", "origin", "notes", "positive_rate", "rate_error", "duplicates", "triangles")
_COLUMNS = ("level", "height", "vertices", "parents", "children")  # the rows of `kinds`


def profiles_dir() -> Path:
    """The folder of the shipped profiles, one JSON file each."""
    return paths.datasets_dir() / "profiles"


def save(profile: Profile, path: Path) -> None:
    """Writes a profile as JSON atomically, one line for each array."""
    from grailbench.util.outputs import atomic_file

    facts = {
        "vertices": profile.vertices,
        "edges": profile.edges,
        "roots": profile.roots,
        "sinks": profile.sinks,
        "levels": len(profile.levels),
        "max_in_degree": profile.max_in_degree,
        "max_out_degree": profile.max_out_degree,
    }
    fields = {key: getattr(profile, key) for key in _PLAIN} | {"counts": facts, "knobs": asdict(profile.knobs)}
    fields["height_step"] = profile.height_step
    lines = [f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items()]
    columns = [f'  "{key}": {_packed(row)}' for key, row in zip(_COLUMNS, profile.kinds, strict=True)]
    lines.append(' "kinds": {\n' + ",\n".join(columns) + "\n }")
    rows = [f"  {_packed(np.trim_zeros(row[level + 1 :], 'b'))}" for level, row in enumerate(profile.pairs)]
    lines.append(' "edges_to_the_next_levels": [\n' + ",\n".join(rows) + "\n ]")
    with atomic_file(path) as stream:
        stream.write(("{\n" + ",\n".join(lines) + "\n}\n").encode())


def _packed(row) -> str:
    return "[" + ",".join(map(str, row.tolist())) + "]"


def load(name: str) -> Profile:
    """The shipped profile of a graph, by canonical name. Raises InputError if there is none or it is not valid."""
    path = profiles_dir() / f"{name}.json"
    try:
        raw = json.loads(path.read_text("utf-8"))
        rows = raw["edges_to_the_next_levels"]
        pairs = np.zeros((len(rows), len(rows)), np.int64)
        for level, row in enumerate(rows):
            pairs[level, level + 1 : level + 1 + len(row)] = row
        kinds = np.array([raw["kinds"][key] for key in _COLUMNS], np.int64)
        plain = {key: raw[key] for key in _PLAIN} | {"notes": tuple(raw["notes"])}
        knobs = Knobs(**raw["knobs"])
        profile = Profile(**plain, height_step=raw["height_step"], kinds=kinds, pairs=pairs, knobs=knobs)
    except FileNotFoundError:
        raise InputError(f"no profile of {name!r}", path=path) from None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"faulty profile: {error!r}", path=path, remedy="reinstall grailbench") from error
    _check(profile, path)
    return profile


def _check(profile: Profile, path: Path) -> None:
    """Raises InputError unless kinds and pairs are consistent, on which the sizes of the kernels' arrays depend."""
    level, height, count, ins, outs = profile.kinds
    depth = len(profile.pairs)
    sound = (
        profile.kinds.min() >= 0
        and profile.pairs.min(initial=0) >= 0
        and count.min() > 0
        and bool(np.all(np.diff(level) >= 0))
        and int(level.max()) == depth - 1
        and np.array_equal(np.bincount(level, ins, depth), profile.pairs.sum(0))
        and np.array_equal(np.bincount(level, outs, depth), profile.pairs.sum(1))
        and bool(np.all(ins[level > 0] >= count[level > 0]))
        and bool(np.all(np.diagonal(profile.pairs, 1) >= profile.levels[1:]))
    )
    if not sound:
        raise InputError("faulty profile: vertices and edges disagree", path=path, remedy="reinstall grailbench")


# ---------------------------------------------------------------------------------------- reach


SAMPLES = 20_000
BUDGET = 1_000_000_000  # edges that may be scanned
_SAMPLE = 1 << 40  # a random stream that no generator uses: some of those would give a topological order


@dataclass(frozen=True)
class Rate:
    """The share of ordered pairs (u, v), including u = v, with a path from u to v.

    `sources` is the number of vertices from which the graph was searched; `error` is the standard error, which is 0 if
    these were all vertices.
    """

    value: float
    error: float
    sources: int


def plain_graph(dag: Dag) -> Graph:
    """A condensed graph without its super-root; edges ascend by source and target."""
    return Graph(dag.vertices - 1, *dag.edges_without_super_root())


def positive_rate(graph: Graph, samples: int = SAMPLES, budget: int = BUDGET, seed: int = 1) -> Rate:
    """Measures the positive rate of a graph, whose edges must be grouped by source, by searches from random vertices.

    The searches start from all vertices if these scan at most `budget` edges, otherwise from `samples` vertices or as
    many as the budget allows.
    """
    n = graph.vertices
    if n == 0:
        return Rate(0.0, 0.0, 0)
    offsets = _offsets(graph)
    sources = permutation(n, stream(seed, _SAMPLE))
    found, scanned = reached_from(offsets, graph.targets, sources[: min(n, 2000)], budget)
    share = budget if scanned / found.size * n <= budget else max(0, budget - scanned)
    more = sources[found.size :] if share == budget else sources[found.size : samples]
    if found.size < n:
        found = np.concatenate((found, reached_from(offsets, graph.targets, more, share)[0]))
    error = 0.0 if found.size == n else float(found.std() / np.sqrt(found.size) / n)
    return Rate(float(found.mean() / n), error, int(found.size))


def _offsets(graph: Graph) -> np.ndarray:
    """Where the row of each vertex begins, int64[n + 1]."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(graph.sources, minlength=graph.vertices))))


@njit(cache=True, nogil=True)
def reached_from(offsets, children, sources, budget, sizes=None):
    """The number of vertices that each source reaches, including itself (int64), until the budget is used up; and the
    number of edges scanned. With `sizes` (int64[n]) each vertex counts as so many."""
    n = offsets.shape[0] - 1
    stamp = np.full(n, -1, np.int32)
    stack = np.empty(n, np.int32)
    out = np.empty(sources.shape[0], np.int64)
    scanned = 0
    for k in range(sources.shape[0]):
        if scanned > budget:
            return out[:k], scanned
        top, seen = 1, np.int64(1) if sizes is None else sizes[sources[k]]
        stack[0] = sources[k]
        stamp[sources[k]] = k
        while top > 0:
            top -= 1
            u = stack[top]
            scanned += offsets[u + 1] - offsets[u]
            for e in range(offsets[u], offsets[u + 1]):
                v = children[e]
                if stamp[v] != k:
                    stamp[v] = k
                    seen += 1 if sizes is None else sizes[v]
                    stack[top] = v
                    top += 1
        out[k] = seen
    return out, scanned


def triangles(graph: Graph) -> int:
    """The number of triples u -> v -> w with an edge u -> w. Edges must be distinct and grouped by source."""
    return int(_triangles(_offsets(graph), graph.targets))


@njit(cache=True, nogil=True)
def _triangles(offsets, children):
    n = offsets.shape[0] - 1
    mark = np.full(n, -1, np.int32)
    found = 0
    for u in range(n):
        if offsets[u + 1] - offsets[u] < 2:
            continue
        for e in range(offsets[u], offsets[u + 1]):
            mark[children[e]] = u
        for e in range(offsets[u], offsets[u + 1]):
            v = children[e]
            for f in range(offsets[v], offsets[v + 1]):
                found += mark[children[f]] == u
    return found
