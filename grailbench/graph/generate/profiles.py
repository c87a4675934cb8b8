"""Profiles of graphs, from which look-alikes are generated; those of published graphs are in `datasets/profiles/`.

A profile contains no edges. It states the number of edges between each two levels, and the number of vertices of each
kind; a kind is a combination of level (longest path from a root), height (longest path to a sink), number of parents
and number of children. The knobs were chosen so that the positive rate of the look-alike is that of the graph.
"""

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.condense import condense
from grailbench.graph.csr import Dag, Graph
from grailbench.graph.profile import characteristics, reach
from grailbench.util import paths
from grailbench.util.compiled import njit


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


#: fields that a profile's JSON holds under their own names
_PLAIN = ("name", "basis", "origin", "notes", "positive_rate", "rate_error", "duplicates", "triangles")
_COLUMNS = ("level", "height", "vertices", "parents", "children")  # the rows of `kinds`


def profiles_dir() -> Path:
    """The folder of the shipped profiles, one JSON file each."""
    return paths.shipped("datasets") / "profiles"


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


# ---------------------------------------------------------------------------------------- comparing


PAIRS = 100_000  # the papers' batch


@dataclass(frozen=True)
class Difference:
    """One quantity as wanted by the profile and as found in the generated graph.

    `relative` is generated / wanted - 1, or None if `wanted` is 0 or None.
    """

    quantity: str
    wanted: float | None
    generated: float

    @property
    def relative(self) -> float | None:
        return self.generated / self.wanted - 1 if self.wanted else None


def compare(profile: Profile, graph: Graph) -> list[Difference]:
    """Measures a look-alike and compares it with its profile.

    Vertices and edges include the super-root, its edges and duplicate edges, as in the thesis. 'vertices at another
    level' is the number of vertices that would have to change their level to make the numbers per level equal.
    """
    dag = condense(graph)
    found = characteristics(dag)
    sources, targets = dag.edges_without_super_root()
    spans = dag.levels[targets] - dag.levels[sources]
    wanted_span = float(np.average(np.arange(len(profile.spans)), weights=profile.spans)) if profile.edges else 0.0
    wanted_rate = None if profile.positive_rate is None else PAIRS * profile.positive_rate
    rows = [
        ("vertices", profile.printed[0], dag.vertices),
        ("edges", profile.printed[1], dag.printed_edges),
        ("distinct edges", profile.edges + profile.roots, dag.edges),
        ("roots", profile.roots, found["roots"]),
        ("sinks", profile.sinks, found["sinks"]),
        ("levels", len(profile.levels), dag.depth - 1),
        ("vertices at another level", 0, _moved(profile.levels, dag)),
        ("largest in-degree", profile.max_in_degree, found["max_in_degree"]),
        ("largest out-degree", profile.max_out_degree, found["max_out_degree"]),
        ("mean span of an edge", wanted_span, float(spans.mean()) if spans.size else 0.0),
        ("triangles", profile.triangles, triangles(dag)),
        ("positives in 100,000 pairs", wanted_rate, PAIRS * reach(dag).rate),
    ]
    return [Difference(*row) for row in rows]


def _moved(wanted: np.ndarray, dag: Dag) -> int:
    found = np.bincount(dag.levels[:-1] - 1)
    depth = max(wanted.size, found.size)
    return int(np.abs(np.pad(wanted, (0, depth - wanted.size)) - np.pad(found, (0, depth - found.size))).sum() // 2)


def triangles(dag: Dag) -> int:
    """The number of triples u -> v -> w with an edge u -> w, without the super-root."""
    return int(_triangles(dag.offsets[:-1], dag.children))


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
