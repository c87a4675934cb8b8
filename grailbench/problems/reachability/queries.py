"""Query sets: pairs of original vertices, drawn from a seed or read from a file, and the oracle's answers to them.

random     `count` pairs, both ends uniform over the original vertices, never the super-root
balanced   half reachable, half not. The source of a reachable pair is uniform among vertices with an edge out of
           their component, its target in one of the first `NEAR` other components that a BFS finds. An unreachable
           pair is a uniform one that a search of at most `SEARCHED` components proves so.
a file     pairs in the ids of the graph's file, perhaps with the expected answers; see `pairs`.

Every set is cached in cache/queries as one .npz with the oracle's answers and a sha256 of all this; of a set of more
than `MOST_STORED` queries only the answers are.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from numba import njit

from grailbench.errors import InputError
from grailbench.graph import npy
from grailbench.graph.csr import VERTEX, Dag
from grailbench.graph.ids import Counted, Ids
from grailbench.problems.contract import Spec
from grailbench.problems.reachability.pairs import UNKNOWN, read_pairs
from grailbench.util import caches, memory, paths
from grailbench.util.files import opened
from grailbench.util.outputs import atomic_file

FORMAT_VERSION = 2
NEAR = 4096
SEARCHED = 10_000
MOST_STORED = 2_000_000  #: most queries of a set whose pairs are cached
_ROUNDS = 64
_PAIRS = ("sources", "targets", "given")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class QuerySpec(Spec):
    """Which pairs to ask.

    path    the query file; None for drawn sets
    digest  the sha256 of its content
    first   if only the first pairs of the set are asked: how many (all, if the set has fewer)
    """

    DRAWN: ClassVar[tuple[str, ...]] = ("random", "balanced")

    path: str | None = None
    digest: str | None = None
    first: int | None = None

    @classmethod
    def parse(cls, text: str, count: int, seed: int) -> QuerySpec:
        """Parses 'random', 'balanced' or the path of a query file. Raises InputError if the file is missing."""
        if text in cls.DRAWN:
            return cls(text, count, seed)
        if not os.path.lexists(text):
            choices = f"choose {', '.join(cls.DRAWN)} or a file"
            raise InputError(f"no query set {text!r}: there is no such file", remedy=choices)
        with opened(text, pipes=False) as source:
            memory.require(source.raw.size, f"{text}: a query file of {source.raw.size:,} bytes")
            return cls("file", 0, 0, text, source.sha256)

    @property
    def name(self) -> str:
        """The name in rows and cache files, such as 'random-100000-s1' or 'random-100000-s1-first-1000'."""
        whole = f"{Path(self.path).stem}-{self.digest[:8]}" if self.kind == "file" else super().name
        return whole if self.first is None else f"{whole}-first-{self.first}"

    @property
    def usual(self) -> bool:
        """True for random pairs of which all are asked."""
        return super().usual and self.first is None

    def head(self, first: int) -> QuerySpec:
        """The first pairs of this set; the set itself if it is known to have no more."""
        return self if 0 < self.count <= first else replace(self, first=first)

    def identity(self) -> dict:
        """Returns what identifies the set on a graph; a file is identified by its content."""
        whole = {"kind": "file", "digest": self.digest} if self.kind == "file" else super().identity()
        return whole if self.first is None else whole | {"first": self.first}


@dataclass
class QuerySet:
    """k queries on one graph.

    sources, targets   int32[k]  original vertices
    u, v               int32[k]  their components, which are vertices of the `Dag`
    given              int8[k]   the expected answer by file or drawing: 0, 1 or UNKNOWN
    answers, known     bool[k]   the oracle's answers, and for which queries it gave one
    lines              int64[k]  line in the file, for messages; None for drawn sets
    method             how the oracle answered: '', 'closure' or 'sweep'
    agreed             number of reachable pairs by all implementations, if the oracle did not answer every query
    ids                returns the ids of the graph's file, for messages; None if original vertices are the ids
    """

    spec: QuerySpec
    graph_sha256: str
    sources: np.ndarray
    targets: np.ndarray
    u: np.ndarray
    v: np.ndarray
    given: np.ndarray
    lines: np.ndarray | None = None
    method: str = ""
    agreed: int | None = None
    answers: np.ndarray = field(default=None)
    known: np.ndarray = field(default=None)
    ids: Callable[[], Ids] | None = None

    def __post_init__(self):
        if self.answers is None:
            self.answers = np.zeros(self.size, np.bool_)
            self.known = np.zeros(self.size, np.bool_)

    @property
    def size(self) -> int:
        """Number of queries."""
        return int(self.u.shape[0])

    def pair(self, q: int) -> tuple[int | str, int | str]:
        """Returns source and target of query q as ids of the graph's file."""
        ends = int(self.sources[q]), int(self.targets[q])
        return ends if self.ids is None else tuple(map(self.ids().label_of, ends))

    @property
    def positives(self) -> int | None:
        """Number of reachable pairs; None while it is unknown."""
        return int(self.answers.sum()) if self.known.all() else self.agreed

    @property
    def path(self) -> Path:
        """The cache file of the set."""
        return _path(self.spec, self.graph_sha256)

    def save(self) -> None:
        """Stores the set atomically. Logs a warning if the cache cannot be written."""
        arrays = {"answers": np.packbits(self.answers), "known": np.packbits(self.known)}
        meta = {
            "format": FORMAT_VERSION, "spec": self.spec.identity(), "seed": self.spec.seed,
            "graph_sha256": self.graph_sha256, "pairs": self.pairs_sha256, "agreed": self.agreed, "method": self.method,
        }  # fmt: skip
        meta["sha256"] = _sha256(json.dumps(meta, sort_keys=True).encode(), *arrays.values())
        if self.size <= MOST_STORED:
            arrays |= {name: getattr(self, name) for name in _PAIRS}
        elif not self.known.any():
            return
        try:
            with atomic_file(self.path, durable=False, added=caches.added) as stream:
                np.savez_compressed(stream, meta=np.array(json.dumps(meta)), **arrays)
        except OSError as error:
            _log.warning("%s: the query set was not stored: %s", self.path, error)

    @property
    def pairs_sha256(self) -> str:
        """The sha256 of the pairs and their given answers."""
        return _sha256(*(getattr(self, name) for name in _PAIRS))

    def recall(self, meta: dict, arrays: dict) -> None:
        """Restores the oracle's answers from a cached set."""
        self.answers, self.known = (
            np.unpackbits(arrays[name], count=self.size).astype(np.bool_) for name in ("answers", "known")
        )
        self.method, self.agreed = meta["method"], meta["agreed"]


def _path(spec: QuerySpec, graph_sha256: str) -> Path:
    return paths.cache_dir() / "queries" / f"{graph_sha256[:16]}-{spec.name}.npz"


def _sha256(*parts: bytes | np.ndarray) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def query_set(spec: QuerySpec, dag: Dag, graph_sha256: str, ids: Callable[[], Ids] | None = None) -> QuerySet:
    """Returns the queries of `spec` on a graph, from the cache if they are intact there, else drawn and stored.

    `ids` returns the ids of the graph's file; None means that they are the original vertices. Raises InputError for a
    graph without vertices and for a bad query file, naming the line.
    """
    originals = int(dag.component.shape[0])
    if originals == 0:
        raise InputError("the graph has no vertices, so there is nothing to ask")
    if spec.first is not None:
        return _head(query_set(replace(spec, first=None), dag, graph_sha256, ids), spec)
    lines = None
    meta, stored = _stored(spec, graph_sha256, originals)
    if spec.kind == "file":
        named = Counted(originals) if ids is None else ids()
        sources, targets, given, lines = read_pairs(spec.path, named, spec.digest, pipes=False)
    elif "sources" in stored:
        sources, targets, given = (stored[name] for name in _PAIRS)
    elif spec.kind == "random":
        sources, targets = draw_random(originals, spec.count, spec.seed)
        given = np.full(spec.count, UNKNOWN, np.int8)
    else:
        sources, targets, given = draw_balanced(dag, spec.count, spec.seed)
    found = QuerySet(spec, graph_sha256, sources, targets, dag.component[sources], dag.component[targets], given, lines)
    found.ids = ids
    if meta.get("pairs") == found.pairs_sha256:
        found.recall(meta, stored)
    else:
        found.save()
    return found


def _head(whole: QuerySet, spec: QuerySpec) -> QuerySet:
    """The first pairs of a set, with the answers that the oracle gave of the whole set or, earlier, of these alone."""
    names = ("sources", "targets", "u", "v", "given", "answers", "known")
    cut = {name: np.ascontiguousarray(getattr(whole, name)[: spec.first]) for name in names}
    lines = None if whole.lines is None else whole.lines[: spec.first]
    found = QuerySet(spec, whole.graph_sha256, **cut, lines=lines, method=whole.method, ids=whole.ids)
    if not found.known.all():
        meta, stored = _stored(spec, whole.graph_sha256, int(max(cut["sources"].max(), cut["targets"].max())) + 1)
        if meta.get("pairs") == found.pairs_sha256:
            found.recall(meta, stored)
    return found


def _stored(spec: QuerySpec, graph_sha256: str, vertices: int) -> tuple[dict, dict[str, np.ndarray]]:
    """Returns metadata and arrays of the cached set, or empty dictionaries if it is missing, another or damaged.

    Logs a warning for a damaged one.
    """
    path = _path(spec, graph_sha256)
    caches.use(path)
    try:
        with zipfile.ZipFile(path) as archive:
            stored = npy.Archive(archive)
            meta = json.loads(str(stored["meta"]))
            if [meta[k] for k in ("format", "graph_sha256", "spec")] != [FORMAT_VERSION, graph_sha256, spec.identity()]:
                return {}, {}
            arrays = {name: stored[name] for name in stored.names if name != "meta"}
        expected = meta.pop("sha256")
        if _sha256(json.dumps(meta, sort_keys=True).encode(), arrays["answers"], arrays["known"]) != expected:
            raise ValueError("it is not what was stored")
        if "sources" in arrays and (
            _sha256(*(arrays[name] for name in _PAIRS)) != meta["pairs"]
            or max(arrays[name].max(initial=0) for name in ("sources", "targets")) >= vertices
        ):
            raise ValueError("its pairs are not those that were stored")
    except FileNotFoundError:
        return {}, {}
    except npy.FAULTS as error:
        _log.warning("%s: damaged query set, made again (%s)", path, error)
        return {}, {}
    return meta, arrays


def is_former(path: Path) -> bool:
    """Whether a cached set is of another version of the format, or damaged, so that nothing reads it."""
    try:
        with zipfile.ZipFile(path) as archive:
            return json.loads(str(npy.Archive(archive)["meta"])).get("format") != FORMAT_VERSION
    except FileNotFoundError:
        return False
    except npy.FAULTS:
        return True


def draw_random(vertices: int, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draws `count` pairs, int32[count] sources and targets, each end uniform over the original vertices."""
    rng = np.random.default_rng(seed)
    sources = rng.integers(0, vertices, count, dtype=VERTEX)
    return sources, rng.integers(0, vertices, count, dtype=VERTEX)


def draw_balanced(dag: Dag, count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draws `count` pairs, half of them (rounded up) reachable, and shuffles them; see the module's docstring.

    Returns int32[count] sources and targets (original vertices) and int8[count] answers. If a graph has too few pairs
    of one kind, the other kind fills up; if it has neither, each query asks whether a vertex reaches itself.
    """
    rng = np.random.default_rng(seed)
    originals = dag.component.shape[0]
    starting = np.flatnonzero(np.diff(dag.offsets)[dag.component]).astype(VERTEX)
    negative = _draw_unreachable(rng, dag, count // 2 if starting.size else count)
    missing = count - negative.shape[1]
    if starting.size:
        members = np.argsort(dag.component, kind="stable").astype(VERTEX)
        starts = np.searchsorted(dag.component[members], np.arange(dag.vertices))
        sources = starting[rng.integers(0, starting.size, missing)]
        picks = rng.integers(0, 2**32, (2, missing), dtype=np.int64)
        targets = _reachable_targets(dag.offsets, dag.children, dag.component, members, starts, sources, picks)
    else:
        sources = targets = rng.integers(0, originals, missing, dtype=VERTEX)
    pairs = np.concatenate((np.stack((sources, targets)), negative), axis=1)
    given = np.repeat(np.array([1, 0], np.int8), (missing, negative.shape[1]))
    shuffled = rng.permutation(count)
    return pairs[0][shuffled], pairs[1][shuffled], given[shuffled]


def _draw_unreachable(rng, dag: Dag, wanted: int) -> np.ndarray:
    """Returns up to `wanted` uniform pairs proved unreachable, int32[2, k], drawn in at most _ROUNDS rounds."""
    originals = dag.component.shape[0]
    found = [np.empty((2, 0), VERTEX)]
    missing = wanted
    for _ in range(_ROUNDS):
        if missing == 0:
            break
        pairs = rng.integers(0, originals, (2, 2 * missing + 64), dtype=VERTEX)
        ends = dag.component[pairs]
        settled = _surely_unreachable(dag.offsets, dag.children, dag.levels, ends[0], ends[1])
        found.append(pairs[:, np.flatnonzero(settled)[:missing]])
        missing -= found[-1].shape[1]
    return np.concatenate(found, axis=1)


@njit(cache=True)
def _reachable_targets(offsets, children, component, members, starts, sources, picks):
    """Returns for each source an original vertex that it reaches in another component, int32[k].

    The component of each source has a child. offsets int64[n + 1], children int32[m], component int32[originals];
    members int32[originals]: the vertices by component, those of c from starts[c] on, int64[n]; sources int32[k];
    picks int64[2, k]: random words that choose among the components found, and among the members of one.
    """
    n, k = offsets.shape[0] - 1, sources.shape[0]
    seen = np.full(n, -1, np.int32)
    met = np.empty(NEAR, np.int32)
    targets = np.empty(k, np.int32)
    for q in range(k):
        met[0] = component[sources[q]]
        seen[met[0]] = q
        filled, at = 1, 0
        while at < filled and filled < NEAR:
            for j in range(offsets[met[at]], offsets[met[at] + 1]):
                w = children[j]
                if filled == NEAR:
                    break
                if seen[w] != q:
                    seen[w] = q
                    met[filled] = w
                    filled += 1
            at += 1
        # This is never the super-root, which has no members: no component reaches it.
        chosen = met[1 + picks[0, q] % (filled - 1)]
        targets[q] = members[starts[chosen] + picks[1, q] % (starts[chosen + 1] - starts[chosen])]
    return targets


@njit(cache=True)
def _surely_unreachable(offsets, children, levels, u, v):
    """Returns whether a search of fewer than SEARCHED vertices from u[q] ended without v[q], bool[k]; u, v int32[k]."""
    n, k = offsets.shape[0] - 1, u.shape[0]
    seen = np.full(n, -1, np.int32)
    todo = np.empty(SEARCHED, np.int32)
    settled = np.empty(k, np.bool_)
    for q in range(k):
        goal = v[q]
        todo[0] = u[q]
        seen[u[q]] = q
        waiting, met = 1, 1
        unreached = u[q] != goal
        while unreached and waiting > 0:
            waiting -= 1
            at = todo[waiting]
            for j in range(offsets[at], offsets[at + 1]):
                w = children[j]
                if w == goal or met == SEARCHED:
                    unreached = False
                    break
                if levels[w] < levels[goal] and seen[w] != q:  # levels rise along every edge
                    seen[w] = q
                    todo[waiting] = w
                    waiting += 1
                    met += 1
        settled[q] = unreached
    return settled
