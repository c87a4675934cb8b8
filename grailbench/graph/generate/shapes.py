"""Generates the eight kinds of graphs of the closure report (Fenz et al. 2022, figure 4), by kind, size and seed.

A name has the form KIND-VERTICES, or KIND-VERTICES-DENSITY for `custom` and `erdos-renyi`, with `-seedS` for a seed
other than 1: `path-100`, `erdos-renyi-10000-0.1`, `random-tree-1000-seed7`. The report does not define the kinds
completely; docs/explanation/decisions.md explains the definitions here.

    path         0 -> 1 -> ... -> n-1
    cycle        a path, and n-1 -> 0
    star         0 -> v for every other v
    complete     every ordered pair of different vertices
    custom       weakly connected: a random recursive tree with edges of random direction, and uniform random pairs;
                 together round(density n (n-1)) different edges, but at least n-1
    erdos-renyi  G(n, p): every ordered pair of different vertices with probability p, independently
    random-tree  a uniform random labelled tree (Pruefer 1918) with edges away from vertex 0
    scale-free   Bollobas, Borgs, Chayes and Riordan, Directed scale-free graphs, SODA 2003, with networkx's defaults:
                 alpha 0.41, beta 0.54, gamma 0.05, delta_in 0.2, delta_out 0, from a cycle of three

The density is the share of the n (n-1) ordered pairs that are edges. Graphs are pure functions of their names and the
same on every machine. `scale-free` has self-loops and duplicate edges.
"""

import re
from dataclasses import dataclass

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import MAX_VERTICES, Graph
from grailbench.graph.generate.uniform import mark
from grailbench.graph.hashing import GAMMA, below, draw, mix64, permutation, stream
from grailbench.util.compiled import njit

KINDS = ("path", "cycle", "star", "complete", "custom", "erdos-renyi", "random-tree", "scale-free")
DENSE = ("custom", "erdos-renyi")  #: the kinds that take a density
_SPEC = re.compile(rf"({'|'.join(KINDS)})-(\d{{1,10}})(?:-((?:0|1)(?:\.\d+)?))?(?:-seed(\d{{1,19}}))?")
_MOST_PAIRS = 2**32  # limit for kinds that consider every pair: 65,536 vertices
_PERMUTATION, _PAIRS = 0, 1
_ALPHA, _BETA, _DELTA_IN, _DELTA_OUT = 0.41, 0.54, 0.2, 0.0


@dataclass(frozen=True)
class Shape:
    """One graph of the report: a `kind` of KINDS, and a `density` in [0, 1] for those in DENSE, else None.

    Raises InputError if a value is invalid.
    """

    kind: str
    vertices: int
    density: float | None = None
    seed: int = 1

    def __post_init__(self):
        if self.kind not in KINDS:
            raise InputError(f"no kind of graph is named {self.kind!r}", remedy=f"one of {', '.join(KINDS)}")
        if (self.density is None) != (self.kind not in DENSE):
            needs = "needs a density" if self.density is None else "has no density"
            raise InputError(f"{self.kind} {needs}", remedy="such as erdos-renyi-1000-0.1 and path-1000")
        if self.density is not None and not 0 <= self.density <= 1:
            raise InputError(f"density {self.density}: a number from 0 to 1")
        least = 3 if self.kind == "scale-free" else 1
        if not least <= self.vertices <= MAX_VERTICES:
            raise InputError(f"{self.kind} of {self.vertices} vertices; between {least} and {MAX_VERTICES} fit")
        if self.kind in (*DENSE, "complete") and self.vertices**2 > _MOST_PAIRS:
            raise InputError(f"{self.kind} looks at every pair of vertices: at most {int(_MOST_PAIRS**0.5)} vertices")
        if not 0 <= self.seed < 2**63:
            raise InputError(f"seed {self.seed}: a number from 0 to 2**63 - 1")

    @property
    def name(self) -> str:
        """The canonical name."""
        density = "" if self.density is None else f"-{self.density:.12f}".rstrip("0").rstrip(".")
        return f"{self.kind}-{self.vertices}{density}{'' if self.seed == 1 else f'-seed{self.seed}'}"

    def graph(self) -> Graph:
        """Generates the raw graph."""
        return Graph.from_edges(self.vertices, *self._ends())

    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Sources and targets."""
        n, ids, key = self.vertices, np.arange(self.vertices, dtype=np.int32), stream(self.seed, _PAIRS)
        if self.kind == "path":
            return ids[:-1], ids[1:]
        if self.kind == "cycle":
            return (ids, np.roll(ids, -1)) if n > 1 else (ids[:0], ids[:0])
        if self.kind == "star":
            return np.zeros(n - 1, np.int32), ids[1:]
        if self.kind == "complete" or (self.kind == "erdos-renyi" and self.density == 1):
            sources, targets = np.repeat(ids, n - 1), np.tile(ids[:-1], n)
            return sources, targets + (targets >= sources)
        if self.kind == "erdos-renyi":
            sizes, limit = np.empty(n, np.int64), np.uint64(int(self.density * 2.0**64))
            _er_rows(n, limit, key, sizes, None, None)
            offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
            sources, targets = np.empty((2, int(offsets[-1])), np.int32)
            _er_rows(n, limit, key, offsets, sources, targets)
            return sources, targets
        if self.kind == "custom":
            m = min(max(round(self.density * n * (n - 1)), n - 1), n * (n - 1))
            return _connected(n, m, permutation(n, stream(self.seed, _PERMUTATION)), key)
        if self.kind == "random-tree":
            return _pruefer(n, key)
        thresholds = np.array([int(_ALPHA * 2.0**64), int((_ALPHA + _BETA) * 2.0**64)], np.uint64)
        return _bollobas(n, thresholds, _DELTA_IN, _DELTA_OUT, key)


def parse_shape(name: str) -> Shape | None:
    """The shape with this name, or None if the name has another form. Raises InputError if a value is invalid."""
    found = _SPEC.fullmatch(name)
    if found is None:
        return None
    kind, vertices, density, seed = found.groups()
    return Shape(kind, int(vertices), None if density is None else float(density), 1 if seed is None else int(seed))


@njit(cache=True)
def _er_rows(n, limit, key, rows, sources, targets):
    """If `sources` is None, stores the size of row u in rows[u] (int64[n]); else rows[u] is where row u begins, and the
    edges are stored in `sources` and `targets`."""
    for u in range(n):
        row_key = mix64(key + np.uint64(u) * GAMMA)
        at = np.int64(0) if sources is None else rows[u]
        for v in range(n):
            if v != u and draw(row_key, v) < limit:
                if sources is not None:
                    sources[at] = u
                    targets[at] = v
                at += 1
        if sources is None:
            rows[u] = at


@njit(cache=True)
def _connected(n, m, order, key):
    """m different edges that connect n vertices weakly, ascending. order: int32[n], a permutation."""
    pairs = np.int64(n) * (n - 1)
    tree = np.zeros((np.int64(n) * n >> 6) + 1, np.uint64)
    counter = np.int64(0)
    for i in range(1, n):
        u, v = order[below(draw(key, counter), i)], order[i]
        if draw(key, counter + 1) & np.uint64(1):
            u, v = v, u
        counter += 2
        mark(tree, np.int64(u) * n + v)
    # If more than half of the pairs are edges, the others are drawn instead, so that a pair takes two draws on average
    # at most.
    inverted = m - (n - 1) > (pairs - (n - 1)) // 2
    drawn = tree.copy()
    missing = pairs - m if inverted else m - (n - 1)
    while missing > 0:
        u, v = below(draw(key, counter), n), below(draw(key, counter + 1), n - 1)
        v += v >= u
        counter += 2
        if mark(drawn, np.int64(u) * n + v):
            missing -= 1
    sources, targets = np.empty(m, np.int32), np.empty(m, np.int32)
    at = np.int64(0)
    for u in range(n):
        for v in range(n):
            place = np.int64(u) * n + v
            word, bit = place >> 6, np.uint64(1) << np.uint64(place & 63)
            in_tree, in_drawn = (tree[word] & bit) != 0, (drawn[word] & bit) != 0
            if u != v and (in_tree or in_drawn != inverted):
                sources[at] = u
                targets[at] = v
                at += 1
    return sources, targets


@njit(cache=True)
def _pruefer(n, key):
    """The tree of a uniform Pruefer sequence, with edges away from vertex 0 in the order of a breadth-first search."""
    sources, targets = np.empty(max(n - 1, 0), np.int32), np.empty(max(n - 1, 0), np.int32)
    if n < 2:
        return sources, targets
    code = np.empty(max(n - 2, 0), np.int32)
    degree = np.ones(n, np.int32)
    for i in range(n - 2):
        code[i] = below(draw(key, i), n)
        degree[code[i]] += 1
    offsets = np.zeros(n + 1, np.int64)
    offsets[1:] = np.cumsum(degree)
    beside, filled = np.empty(2 * (n - 1), np.int32), offsets[:n].copy()
    least = 0
    while degree[least] != 1:
        least += 1
    leaf = least
    for i in range(n - 1):
        parent = code[i] if i < n - 2 else np.int32(n - 1)
        beside[filled[leaf]] = parent
        beside[filled[parent]] = leaf
        filled[leaf] += 1
        filled[parent] += 1
        degree[parent] -= 1
        if parent < least and degree[parent] == 1:
            leaf = parent
        else:
            least += 1
            while least < n and degree[least] != 1:
                least += 1
            leaf = least
    order, seen = np.empty(n, np.int32), np.zeros(n, np.bool_)
    order[0], seen[0] = 0, True
    found, at = 1, 0
    while at < found:
        u = order[at]
        at += 1
        for k in range(offsets[u], offsets[u + 1]):
            v = beside[k]
            if not seen[v]:
                seen[v] = True
                sources[found - 1] = u
                targets[found - 1] = v
                order[found] = v
                found += 1
    return sources, targets


@njit(cache=True, inline="always")
def _by_degree(ends, edges, vertices, delta, key, counter):
    """A random vertex with a probability proportional to its number of occurrences in `ends` plus delta; two draws."""
    share = np.float64(draw(key, counter) >> np.uint64(11)) * 2.0**-53 * (edges + delta * vertices)
    return (
        ends[below(draw(key, counter + 1), edges)]
        if share < edges
        else np.int32(below(draw(key, counter + 1), vertices))
    )


@njit(cache=True)
def _bollobas(n, thresholds, delta_in, delta_out, key):
    room = 4 * n
    sources, targets = np.empty(room, np.int32), np.empty(room, np.int32)
    for u in range(3):
        sources[u], targets[u] = u, (u + 1) % 3
    vertices, edges, counter = 3, 3, np.int64(0)
    while vertices < n:
        if edges == room:
            more = np.empty(room, np.int32)
            sources, targets, room = np.append(sources, more), np.append(targets, more), 2 * room
        which = draw(key, counter)
        if which < thresholds[0]:  # a new vertex, with an edge to an old one
            u, v = np.int32(vertices), _by_degree(targets, edges, vertices, delta_in, key, counter + 1)
            vertices += 1
        elif which < thresholds[1]:  # an edge between old ones
            u = _by_degree(sources, edges, vertices, delta_out, key, counter + 1)
            v = _by_degree(targets, edges, vertices, delta_in, key, counter + 3)
        else:  # a new vertex, with an edge from an old one
            u, v = _by_degree(sources, edges, vertices, delta_out, key, counter + 1), np.int32(vertices)
            vertices += 1
        sources[edges], targets[edges] = u, v
        edges += 1
        counter += 5
    return sources[:edges].copy(), targets[:edges].copy()
