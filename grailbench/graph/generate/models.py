"""Generators of the catalogue's graphs, each a model of a kind of graph on which an index is needed; ids never tell of
the order in which the vertices came.

papers     citations by copying: every paper cites recent ones and some of what those cite. The copying model is that of
           Kleinberg et al., *The web as a graph*, COCOON 1999, and of Vazquez, *Growing network with local rules*,
           Physical Review E 67, 2003: following the references of what one cites makes the number of citations
           heavy-tailed, as cumulative advantage does (Price, *A general theory of bibliometric and other cumulative
           advantage processes*, JASIS 1976), and makes triangles. `citations`, which is not in the catalogue, has
           neither
releases   releases of packages and what they depend on, as a registry such as Maven Central or npm grows. A vertex is a
           release (a version of a package); it has an edge to the release of each package it depends on that was the
           latest when it appeared. A new release of a package keeps most of what the one before depended on. What new
           packages depend on is copied from others, so the number of dependents is heavy-tailed, as in every registry
           that was measured: Kikas et al., *Structure and evolution of package dependency networks*, MSR 2017; Decan,
           Mens and Grosjean, *An empirical comparison of dependency network evolution in seven software packaging
           ecosystems*, Empirical Software Engineering 2019
commits    histories as git keeps them, in the shape of projects with maintainers, such as Linux: contributors' branches
           are pulled by maintainers, whose branches are pulled into the mainline. Every commit has one parent or, if it
           is a merge, two. In a clone of git itself of 2026-08, 26 % of the 81,966 commits of its main branch are
           merges, and 28 % of the 203,352 of all its branches
layers     layered DAGs with wide layers, as circuits, pipelines and task graphs are, by the layer-by-layer method of
           Tobita and Kasahara, *A standard task graph set for fair evaluation of multiprocessor scheduling algorithms*,
           Journal of Scheduling 2002: every vertex of a layer has edges to vertices of the next ones. Here these are
           near its own place, as wires are short, so that what a vertex reaches is a cone that widens layer by layer
chain, comb
           the deepest graphs: one path, and a path whose every vertex has a tooth
"""

import re

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import MAX_VERTICES, Graph
from grailbench.graph.hashing import GAMMA, below, draw, mix64, permutation, stream
from grailbench.graph.rows import bucketed
from grailbench.util.compiled import njit

_ORDER, _ROWS = 0, 1  # random streams of a seed
MOST = 64  #: references of a paper, and dependencies of a new package, at most


def checked(vertices: int) -> int:
    """Returns the number of vertices. Raises InputError if it is below 1 or too large for 32-bit ids."""
    if not 1 <= vertices <= MAX_VERTICES:
        raise InputError(f"{vertices} vertices; between 1 and {MAX_VERTICES} fit")
    return int(vertices)


def edges_of(vertices: int, degree: float) -> int:
    """Returns `vertices * degree` rounded up. Raises InputError if it is 2^31 or more."""
    if not 0 <= vertices * degree < 2**31:
        raise InputError(f"{vertices} vertices with {degree:g} edges each; fewer than 2^31 edges fit")
    return int(vertices * degree) + 1


@njit(cache=True, inline="always")
def absent(ends, begin, end, vertex):
    """Whether a vertex is none of ends[begin:end], the part of a row that is there already."""
    found = False
    for k in range(begin, end):
        found |= ends[k] == vertex
    return not found


def renumbered(offsets: np.ndarray, targets: np.ndarray, key: np.uint64) -> Graph:
    """The graph of a CSR, int64[n + 1] and int32[m], under random ids; its edges are grouped by source, ascending."""
    n = offsets.shape[0] - 1
    order = permutation(n, key)
    begins, ends = bucketed(n, np.repeat(order, np.diff(offsets)), order[targets])
    return Graph(n, np.repeat(np.arange(n, dtype=np.int32), np.diff(begins)), ends)


# ---------------------------------------------------------------------------------------- citations


_CITING = 2  # random stream of a seed
_CITATIONS = re.compile(r"citations-n(\d{1,10})-k(\d{1,10}(?:\.\d{1,10})?)-w(\d{1,10})-s(\d{1,18})")


def parse_citations(name: str) -> tuple[int, float, int, int] | None:
    """Vertices, degree, window and seed of a name like 'citations-n3800000-k4.6-w500000-s1'; None for other names."""
    found = _CITATIONS.fullmatch(name)
    return None if found is None else (int(found[1]), float(found[2]), int(found[3]), int(found[4]))


def citations(vertices: int, degree: float, window: int, seed: int = 1) -> Graph:
    """A DAG of citations. The order of ages is random, and ids do not depend on it.

    The model: `round(vertices * degree)` times, a uniformly random vertex cites the vertex that is `1 + x` places
    older, where x is uniform in [0, window). Citations of vertices older than the oldest one are dropped, about
    `degree * window / 2` edges, as real citation data begin with some year. A narrower window gives more levels and a
    higher positive rate.

    Edges are grouped by source and include a few duplicates. All arithmetic is on integers, so the result is the same
    on every machine. Raises InputError if a number is out of range.
    """
    checked(vertices)
    if not 0 <= degree < 2**31 / vertices:
        raise InputError(f"degree {degree}: a number of edges a vertex, 0 or more, and fewer than 2^31 edges in all")
    if not 1 <= window < 2**31:
        raise InputError(f"window {window}: a number of vertices from 1 to 2^31 - 1")
    order = permutation(vertices, stream(seed, _ORDER))
    keys = stream(seed, _ROWS), stream(seed, _CITING)
    return Graph(vertices, *_cite_within(vertices, round(vertices * degree), window, order, *keys))


@njit(cache=True, nogil=True)
def _cite_within(n, m, window, order, rows_key, citing_key):
    """Sources and targets, each int32[k], k <= m. order: int32[n], the vertex of each age, the oldest first."""
    drawn = np.zeros(n, np.int32)  # by age
    for k in range(m):
        drawn[below(draw(citing_key, k), n)] += 1
    offsets = np.zeros(n + 1, np.int64)
    for age in range(n):
        row_key = mix64(rows_key + np.uint64(age) * GAMMA)
        kept = 0
        for k in range(drawn[age]):
            kept += below(draw(row_key, k), window) < age
        offsets[order[age] + 1] = kept
    for v in range(n):
        offsets[v + 1] += offsets[v]
    sources, targets = np.empty(offsets[n], np.int32), np.empty(offsets[n], np.int32)
    for age in range(n):
        u = order[age]
        row_key = mix64(rows_key + np.uint64(age) * GAMMA)
        at = offsets[u]
        for k in range(drawn[age]):
            back = below(draw(row_key, k), window)
            if back < age:
                sources[at], targets[at] = u, order[age - 1 - back]
                at += 1
    return sources, targets


# ---------------------------------------------------------------------------------------- papers


def papers(vertices: int, references: float, copied: int, window: int, seed: int = 1) -> Graph:
    """A DAG of papers, each of which cites older ones.

    references  mean number that a paper asks for; numbers are geometric, at most `MOST`, and repetitions are dropped
    copied      percent of a paper's references that are drawn from those of a paper it cites already
    window      the others are at most that many papers back; the product of two uniform numbers, so mostly recent

    Edges are grouped by source, without duplicates; ids do not depend on age. Raises InputError if a number is out of
    range.
    """
    n, key = checked(vertices), stream(seed, _ROWS)
    if not 0 < references <= MOST / 4:
        raise InputError(f"{references} references a paper: a number above 0, at most {MOST // 4}")
    if not 0 <= copied <= 100:
        raise InputError(f"{copied} percent copied: a number from 0 to 100")
    if not 1 <= window < 2**31:
        raise InputError(f"window {window}: a number of vertices from 1 to 2^31 - 1")
    more = np.uint64(int(references / (1 + references) * 2.0**64))
    room = edges_of(n, 1.2 * references + 1)
    offsets, targets = _cite(n, more, copied, window, room, key)
    return renumbered(offsets, targets, stream(seed, _ORDER))


@njit(cache=True, nogil=True)
def _cite(n, more, copied, window, room, key):
    """CSR of the papers by age, the oldest first: int64[n + 1], int32[m]. `room`: edges to expect."""
    offsets, targets = np.zeros(n + 1, np.int64), np.empty(room, np.int32)
    end = np.int64(0)
    for i in range(n):
        row_key, t, begin = mix64(key + np.uint64(i) * GAMMA), 0, end
        wanted = 0
        while wanted < MOST and draw(row_key, t) < more:
            wanted += 1
            t += 1
        t += 1
        if end + wanted > targets.shape[0]:
            targets = np.append(targets, np.empty(targets.shape[0] // 4 + MOST, np.int32))
        for _ in range(wanted if i else 0):
            found = np.int64(-1)
            if end > begin and below(draw(row_key, t), 100) < copied:
                model = targets[begin + below(draw(row_key, t + 1), end - begin)]
                size = offsets[model + 1] - offsets[model]
                if size:
                    found = np.int64(targets[offsets[model] + below(draw(row_key, t + 2), size)])
            if found < 0:
                reach = 1 + below(draw(row_key, t + 1), min(i, window))
                found = i - 1 - below(draw(row_key, t + 2), reach)
            t += 3
            if absent(targets, begin, end, found):
                targets[end] = found
                end += 1
        offsets[i + 1] = end
    return offsets, targets[:end].copy()


# ---------------------------------------------------------------------------------------- releases


def releases(vertices: int, dependencies: float, packages: int, copied: int, changed: int, seed: int = 1) -> Graph:
    """A DAG of releases and their dependencies.

    dependencies  mean number that a new package asks for; numbers are geometric, at most `MOST`, repetitions dropped
    packages      percent of the releases that are the first of a package; the others are of the package of a release
                  drawn uniformly, so that a few packages have very many
    copied        percent of the dependencies that are drawn from those of a random earlier release; the others are
                  random packages
    changed       percent of its predecessor's dependencies that a release replaces

    Edges are grouped by source, without duplicates; ids do not depend on age. Raises InputError if a number is out of
    range.
    """
    n = checked(vertices)
    if not 0 < dependencies <= MOST / 4:
        raise InputError(f"{dependencies} dependencies: a number above 0, at most {MOST // 4}")
    for name, value in (("packages", packages), ("copied", copied), ("changed", changed)):
        if not 0 <= value <= 100:
            raise InputError(f"{value} percent {name}: a number from 0 to 100")
    more = np.uint64(int(dependencies / (1 + dependencies) * 2.0**64))
    room = edges_of(n, 1.2 * dependencies + 1)
    offsets, targets = _release(n, more, packages, copied, changed, room, stream(seed, _ROWS))
    return renumbered(offsets, targets, stream(seed, _ORDER))


@njit(cache=True, nogil=True)
def _release(n, more, packages, copied, changed, room, key):
    """CSR of the releases by age, the oldest first: int64[n + 1], int32[m]. `room`: edges to expect."""
    offsets, targets, needed = np.zeros(n + 1, np.int64), np.empty(room, np.int32), np.empty(room, np.int32)
    package, latest = np.empty(n, np.int32), np.empty(n, np.int32)  # of a release; of a package
    known, end = 0, np.int64(0)
    for i in range(n):
        row_key, t, begin = mix64(key + np.uint64(i) * GAMMA), 2, end
        new = i == 0 or below(draw(row_key, 0), 100) < packages
        own = known if new else package[below(draw(row_key, 1), i)]
        before = -1 if new else latest[own]
        kept, wanted = 0, 0
        if new:
            while wanted < MOST and draw(row_key, t) < more:
                wanted += 1
                t += 1
            t += 1
        else:
            kept = offsets[before + 1] - offsets[before]
            wanted = kept
        if end + wanted > targets.shape[0]:
            targets = np.append(targets, np.empty(targets.shape[0] // 4 + MOST, np.int32))
            needed = np.append(needed, np.empty(needed.shape[0] // 4 + MOST, np.int32))
        for k in range(wanted if known else 0):
            found = np.int64(-1)
            if k < kept and below(draw(row_key, t), 100) >= changed:
                found = np.int64(needed[offsets[before] + k])
            else:
                if below(draw(row_key, t + 1), 100) < copied:
                    model = below(draw(row_key, t + 2), i)
                    size = offsets[model + 1] - offsets[model]
                    if size:
                        found = np.int64(needed[offsets[model] + below(draw(row_key, t + 3), size)])
                if found < 0:
                    found = below(draw(row_key, t + 2), known)
            t += 4
            if found != own and absent(needed, begin, end, found):
                needed[end], targets[end] = found, latest[found]
                end += 1
        known += new
        package[i], latest[own] = own, i
        offsets[i + 1] = end
    return offsets, targets[:end].copy()


# ---------------------------------------------------------------------------------------- commits


def commits(vertices: int, merges: float, branches: int, pulled: int, seed: int = 1) -> Graph:
    """A DAG of commits, edges from child to parent as git has them.

    merges    percent of the commits that are merges, nearly: a branch without commits of its own is not merged
    branches  topic branches that are open at a time; a merged one begins again at the merge
    pulled    branches of an integrator; one merge in `pulled` takes an integrator's branch into the mainline, and it
              goes on from there

    Edges are grouped by source, without duplicates; ids do not depend on age. Raises InputError if a number is out of
    range.
    """
    n = checked(vertices)
    if not 0 <= merges <= 100:
        raise InputError(f"{merges} percent merges: a number from 0 to 100")
    if not 1 <= pulled <= branches < 2**24:
        raise InputError(f"{branches} branches, {pulled} an integrator: 1 to 2^24 - 1 branches, no more an integrator")
    limit = np.uint64(min(int(merges / 100 * 2.0**64), 2**64 - 1))
    offsets, parents = _grow(n, limit, branches, pulled, stream(seed, _ROWS))
    return renumbered(offsets, parents, stream(seed, _ORDER))


@njit(cache=True, nogil=True)
def _grow(n, limit, branches, pulled, key):
    """CSR of the parents by age, the oldest commit first: int64[n + 1], int32[m]. That one is the root of all."""
    offsets, parents, end = np.zeros(n + 1, np.int64), np.empty(2 * n, np.int32), np.int64(0)
    groups = -(-branches // pulled)
    topic, base = np.zeros(branches, np.int32), np.zeros(branches, np.int32)  # tip, and where the branch began
    lead, lead_base = np.zeros(groups, np.int32), np.zeros(groups, np.int32)
    main = 0
    for i in range(1, n):
        branch = below(draw(key, 3 * i), branches)
        group = branch // pulled
        merge = draw(key, 3 * i + 1) < limit
        if merge and below(draw(key, 3 * i + 2), pulled) == 0 and lead[group] != lead_base[group]:
            parents[end], parents[end + 1] = main, lead[group]
            end += 2
            main = i
            lead[group] = lead_base[group] = i
        elif merge and topic[branch] != base[branch]:
            parents[end], parents[end + 1] = lead[group], topic[branch]
            end += 2
            lead[group] = topic[branch] = base[branch] = i
        else:
            parents[end] = topic[branch]
            end += 1
            topic[branch] = i
        offsets[i + 1] = end
    return offsets, parents[:end].copy()


# ---------------------------------------------------------------------------------------- layers


def layers(depth: int, width: int, degree: int, span: int, skipped: int, seed: int = 1) -> Graph:
    """A DAG of `depth` layers of `width` vertices.

    degree   edges of a vertex; repetitions and those beyond the last layer are dropped
    span     an edge leads at most that many places to either side, around the ends
    skipped  percent of the edges that skip a layer; of these the same share skips another one, and so on

    Edges are grouped by source, without duplicates; ids do not depend on layer and place. Raises InputError if a number
    is out of range.
    """
    if not (depth >= 1 and width >= 1):
        raise InputError(f"{depth} layers of {width} vertices: at least one layer of one vertex is needed")
    n = checked(depth * width)
    if not 1 <= degree <= 256:
        raise InputError(f"degree {degree}: a number from 1 to 256")
    if not 0 <= span <= width // 2:
        raise InputError(f"span {span}: a number of places from 0 to half of the width")
    if not 0 <= skipped < 100:
        raise InputError(f"{skipped} percent skipped: a number from 0 to 99")
    edges_of(n, degree)
    offsets, ends = _wire(depth, width, degree, span, skipped, stream(seed, _ROWS))
    return renumbered(offsets, ends, stream(seed, _ORDER))


@njit(cache=True, nogil=True)
def _wire(depth, width, degree, span, skipped, key):
    """CSR of the children, vertices numbered layer by layer: int64[n + 1], int32[m]."""
    offsets, ends = np.zeros(depth * width + 1, np.int64), np.empty(depth * width * degree, np.int32)
    end = np.int64(0)
    for layer in range(depth):
        for place in range(width):
            u = layer * width + place
            row_key, t, begin = mix64(key + np.uint64(u) * GAMMA), 0, end
            for _ in range(degree):
                below_it = layer + 1
                while below(draw(row_key, t), 100) < skipped:
                    below_it += 1
                    t += 1
                side = below(draw(row_key, t + 1), 2 * span + 1) - span
                t += 2
                if below_it >= depth:
                    continue
                v = below_it * width + (place + side + width) % width
                if absent(ends, begin, end, v):
                    ends[end] = v
                    end += 1
            offsets[u + 1] = end
    return offsets, ends[:end].copy()


# ---------------------------------------------------------------------------------------- chains


def chain(vertices: int, seed: int = 1) -> Graph:
    """One path through all vertices, whose ids are random. Raises InputError if there are none, or too many."""
    n = checked(vertices)
    offsets = np.minimum(np.arange(n + 1, dtype=np.int64), n - 1)
    return renumbered(offsets, np.arange(1, n, dtype=np.int32), stream(seed, _ORDER))


def comb(vertices: int, seed: int = 1) -> Graph:
    """A path through half of the vertices, rounded up, each with one more child as long as there are vertices; ids do
    not depend on the place. Raises InputError if there are too many, or none."""
    n = checked(vertices)
    back = (n + 1) // 2
    teeth = n - back
    counts = np.zeros(n, np.int64)
    counts[: back - 1] = 1
    counts[:teeth] += 1
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    children = np.empty(int(offsets[-1]), np.int32)
    children[offsets[: back - 1]] = np.arange(1, back)
    children[offsets[1 : teeth + 1] - 1] = back + np.arange(teeth)
    return renumbered(offsets, children, stream(seed, _ORDER))
