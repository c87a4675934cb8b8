"""Profiles of published graphs whose files are not available, made from printed counts and from assumptions.

Printed counts (vertices, edges, positives, and roots if the thesis prints the edges of the super-root) are exact;
degrees, levels and sinks come from models. `NAMES` lists the graphs; `notes` in their JSON files state what is assumed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.generate.profiles import Knobs, Profile, grouped_kinds, load


@dataclass(frozen=True)
class Citations:
    """A model of a citation graph, in which newer documents cite older ones.

    vertices, edges, roots, sinks, levels   the counts of the graph
    middle               the number of vertices of level l is proportional to l exp(-(l / middle)^2)
    fade                 the share of a level's vertices that have children is proportional to exp(-level / fade) and
                         at most 0.97, because the citations of old documents are not recorded
    most_in, most_out    the largest degrees
    tail_in, tail_out    exponents of the degree distributions: the share of degrees above d is proportional to d^-tail
    """

    vertices: int
    edges: int
    roots: int
    sinks: int
    levels: int
    middle: float
    fade: float
    most_in: int
    most_out: int
    tail_in: float
    tail_out: float


CIT_PATENTS = Citations(
    vertices=3_774_768,
    edges=16_518_947,
    roots=515_785,
    sinks=1_685_423,
    levels=33,
    middle=9.0,
    fade=8.0,
    most_in=779,
    most_out=770,
    tail_in=3.0,
    tail_out=3.0,
)
CITESEERX = Citations(
    vertices=6_540_401,
    edges=15_011_260,
    roots=1_895_000,
    sinks=3_417_000,
    levels=36,
    middle=3.0,
    fade=3.0,
    most_in=5_000,
    most_out=10_000,
    tail_in=1.8,
    tail_out=1.8,
)


def citations(model: Citations, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Kinds and pairs (see `Profile`) of a citation graph."""
    rng = np.random.default_rng(seed)
    levels, inner = _level_counts(model)
    pairs = _pairs(model, levels, inner)
    deeper = _deeper(levels)
    rows = []
    for level, count in enumerate(levels):
        ins, outs = np.zeros(count, np.int64), np.zeros(count, np.int64)
        if level:
            most = min(model.most_in, max(8, int(inner[level - 1])))
            ins = _spread(count, int(pairs[:, level].sum()), model.tail_in, most, rng)
        most = min(model.most_out, max(1, int(deeper[level]) // 2))
        outs[: inner[level]] = _spread(inner[level], int(pairs[level].sum()), model.tail_out, most, rng)
        rows.append((np.full(count, level), rng.permutation(ins), outs))
    level, ins, outs = (np.concatenate(column) for column in zip(*rows, strict=True))
    _raise_hub(level, ins, model.most_in)
    _raise_hub(level, outs, model.most_out)
    return grouped_kinds(level, np.zeros_like(level), ins, outs)[1], pairs


def _level_counts(model: Citations) -> tuple[np.ndarray, np.ndarray]:
    """The number of vertices of each level, and the number of those that have children."""
    below = np.arange(1, model.levels)
    share = below * np.exp(-((below / model.middle) ** 2)) + 1e-9
    rest = model.vertices - model.roots
    counts = 1 + np.floor((rest - below.size) * share / share.sum()).astype(np.int64)
    counts[np.argmax(counts)] += rest - counts.sum()
    levels = np.concatenate(([model.roots], counts))
    wanted = model.vertices - model.sinks - model.roots
    # A level needs enough parents for the next one: each has up to four children there, fewer if degrees are small.
    feeds = min(4.0, 0.7 * model.edges / (model.vertices - model.sinks))
    least = np.append(np.minimum(counts[:-1], 1 + (counts[1:] / feeds).astype(np.int64)), 0)
    low, high = 0.0, 1e6
    for _ in range(200):  # bisection for the factor that gives the wanted number of vertices with children
        factor = (low + high) / 2
        share = np.minimum(0.97, factor * np.exp(-below / model.fade))
        inner = np.maximum(least, np.floor(counts * share).astype(np.int64))
        inner[-1] = 0
        low, high = (factor, high) if inner.sum() < wanted else (low, factor)
    inner[np.argmax(counts)] += wanted - inner.sum()
    inner = np.concatenate(([model.roots], inner))
    return levels, inner


def _deeper(levels: np.ndarray) -> np.ndarray:
    """The number of vertices below each level, which bounds the out-degrees of the level."""
    return levels.sum() - np.cumsum(levels)


def _pairs(model: Citations, levels: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Edges between levels: iterative proportional fitting to the degrees of both levels, then rounding."""
    depth = len(levels)
    span = np.arange(depth)[None, :] - np.arange(depth)[:, None]
    weights = np.where(span > 0, 1.0, 0.0)
    into = np.where(np.arange(depth) > 0, levels, 0) * (model.edges / (model.vertices - model.roots))
    out = inner * np.minimum(model.edges / inner.sum(), np.maximum(1, _deeper(levels) / 4))
    out *= model.edges / out.sum()
    # small levels get at most a third of the edges that a simple graph can have between them
    room = np.where(span > 0, np.maximum(inner[:, None] * levels[None, :] / 3, 0), 0.0)
    for _ in range(2000):
        weights *= np.divide(out, weights.sum(1), out=np.zeros(depth), where=weights.sum(1) > 0)[:, None]
        weights *= np.divide(into, weights.sum(0), out=np.zeros(depth), where=weights.sum(0) > 0)[None, :]
        weights = np.minimum(weights, room)
    pairs = np.floor(weights).astype(np.int64)
    first = np.arange(depth - 1)
    pairs[first, first + 1] = np.maximum(pairs[first, first + 1], levels[1:])
    largest = np.unravel_index(np.argmax(pairs), pairs.shape)
    pairs[largest] += model.edges - pairs.sum()
    if np.any(pairs.sum(1) < inner):
        raise InputError("the model gives a level fewer edges than it has vertices with children")
    return pairs


def _spread(count: int, total: int, tail: float, most: int, rng) -> np.ndarray:
    """`total` divided into `count` shares of 1 to `most`, int64[count], descending, by a Pareto distribution of the
    second kind."""
    if count == 0:
        return np.zeros(0, np.int64)
    if not count <= total <= count * most:
        raise InputError(f"{total} edges cannot be shared among {count} vertices, 1 to {most} each")
    weights = np.sort(rng.pareto(tail, count))[::-1]
    return _shares(weights, total, np.ones(count, np.int64), most)


def _raise_hub(level: np.ndarray, degrees: np.ndarray, most: int) -> None:
    """Raises the largest degree to `most` and lowers other degrees of its level by as much."""
    hub = int(np.argmax(degrees))
    others = np.flatnonzero((level == level[hub]) & (degrees > 1))
    others = others[others != hub][: most - degrees[hub]]
    degrees[others] -= 1
    degrees[hub] += others.size


def uniprot(vertices: int, roots: int, pattern: Profile) -> tuple[np.ndarray, np.ndarray]:
    """Kinds and pairs of a larger release of uniprotenc_22, whose profile is `pattern`.

    The levels between the roots and the last ones grow in proportion, and their vertices have as many parents as in
    the pattern. The remaining roots have an edge to the sink. One level is added, which makes six with the super-root.
    """
    level, _, count, ins, _ = pattern.kinds
    below, levels = vertices - roots, pattern.levels
    factor = below / int(levels[1:].sum())
    second, third = round(levels[2] * factor), max(1, round(levels[2] * factor / 8))
    first = below - second - third - 1
    grown = _grow(count[level == 1], first)
    parents = ins[level == 1] // count[level == 1]
    kinds = [(1, c, c * p, c) for c, p in zip(grown.tolist(), parents.tolist(), strict=True)]
    from_roots = int((grown * parents).sum())
    kinds += [(2, second, second, second), (3, third, third, third)]
    direct = roots - 1 - from_roots
    into_sink = direct + (first - second) + (second - third) + third
    kinds = [(0, 1, 0, 0), (0, roots - 1, 0, roots - 1), *kinds, (4, 1, into_sink, 0)]
    pairs = np.zeros((5, 5), np.int64)
    pairs[0, 1], pairs[0, 4] = from_roots, direct
    pairs[1, 2], pairs[1, 4] = second, first - second
    pairs[2, 3], pairs[2, 4] = third, second - third
    pairs[3, 4] = third
    columns = np.array(kinds, np.int64).T
    return np.stack([columns[0], np.zeros_like(columns[0]), *columns[1:]]), pairs


def _grow(counts: np.ndarray, total: int) -> np.ndarray:
    """Scales counts to the sum `total`; none becomes 0."""
    grown = np.maximum(1, np.floor(counts * (total / counts.sum())).astype(np.int64))
    grown[np.argmax(grown)] += total - grown.sum()
    return grown


def go_uniprot(vertices: int, edges: int, terms: int, pattern: Profile, most_in: int, seed: int = 1):
    """Kinds and pairs of proteins that are annotated with the terms of an ontology: `pattern`, scaled and reversed.

    Proteins are the roots. The level of a term is its height in the pattern plus one; its children are its parents in
    the pattern.
    """
    rng = np.random.default_rng(seed)
    proteins = vertices - terms
    heights = _grow(pattern.heights, terms)
    depth = len(heights) + 1
    upward = _upward(pattern, heights)
    pairs = np.zeros((depth, depth), np.int64)
    pairs[1:, 1:] = upward
    annotations = edges - int(upward.sum())
    weights = rng.pareto(0.8, terms) + 0.01
    term_level = np.repeat(np.arange(1, depth), heights)
    received = _shares(weights, annotations, np.where(term_level == 1, 1, 0), most_in)
    pairs[0, 1:] = np.bincount(term_level, received, depth)[1:].astype(np.int64)
    ins = received.copy()
    outs = np.zeros(terms, np.int64)
    for level in range(1, depth):
        rows = np.flatnonzero(term_level == level)
        ins[rows] += _even(rows.size, int(upward[:, level - 1].sum()))
        outs[rows] = _even(rows.size, int(upward[level - 1].sum()))
    cites = _spread(proteins, annotations, 3.0, 200, rng)
    level = np.concatenate((np.zeros(proteins, np.int64), term_level))
    ins, outs = np.concatenate((np.zeros(proteins, np.int64), ins)), np.concatenate((cites, outs))
    return grouped_kinds(level, np.zeros_like(level), ins, outs)[1], pairs


def _upward(pattern: Profile, heights: np.ndarray) -> np.ndarray:
    """Edges between terms by height: enough between successive heights, and the rest spread over greater distances."""
    depth = len(heights)
    pairs = np.zeros((depth, depth), np.int64)
    at = np.arange(depth - 1)
    pairs[at, at + 1] = np.maximum(heights[:-1], heights[1:])
    wanted = round(pattern.edges / pattern.vertices * heights.sum()) - int(pairs.sum())
    for low in range(depth - 1):
        more = max(0, wanted) * heights[low] / heights[:-1].sum() / (depth - 1 - low)
        pairs[low, low + 1 :] += np.floor(more * np.ones(depth - 1 - low)).astype(np.int64)
    return pairs


def _even(count: int, total: int) -> np.ndarray:
    return total // count + (np.arange(count) < total % count)


def _shares(weights: np.ndarray, total: int, least: np.ndarray, most: int) -> np.ndarray:
    """`total` divided into shares, int64[k], of `least` (int64[k]) to `most` and otherwise proportional to weights."""
    shares, left = least.astype(np.int64).copy(), total - int(least.sum())
    order = np.argsort(-weights, kind="stable")
    while left:
        open_ = order[shares[order] < most]
        more = np.floor(weights[open_] * (left / weights[open_].sum())).astype(np.int64)
        more = np.minimum(more, most - shares[open_])
        if not more.any():
            more[: min(left, open_.size)] = 1
        shares[open_] += more
        left -= int(more.sum())
    return shares


_CITATION_NOTES = (
    "Vertices, edges: Computation 2020, table 1.",
    "Levels, level profile, sinks, degree tails and largest degrees are assumptions, not measurements; see "
    "grailbench.graph.generate.assumed.Citations.",
)


def profile(name: str) -> Profile:
    """The assumed profile of a graph of `NAMES`, which takes up to a minute and some GB of memory.

    Raises InputError on other names.
    """
    if name not in NAMES:
        raise InputError(f"nothing is assumed of {name!r}", remedy=f"choose among {', '.join(NAMES)}")
    made = NAMES[name]()
    found = dict(name=name, basis="assumed", origin="printed counts and a model", rate_error=0.0, duplicates=0)
    return Profile(**found, height_step=1, **made)


def _cit_patents() -> dict:
    kinds, pairs = citations(CIT_PATENTS)
    roots = "Roots: the edges the thesis counts more than Computation 2020 does, 17,034,732 - 16,518,947."
    rate = "Positive rate: 42 in 100,000 pairs, thesis table 2.6. Triangles: SNAP."
    longest = "The longest path is taken to have 32 edges."
    notes = (_CITATION_NOTES[0], roots, rate, longest, _CITATION_NOTES[1])
    return dict(kinds=kinds, pairs=pairs, positive_rate=42e-5, triangles=7_515_023, notes=notes, knobs=Knobs(1500))


def _citeseerx() -> dict:
    kinds, pairs = citations(CITESEERX)
    roots = (
        "Roots and sinks: in the proportions of pubmed; the longest path: as in citeseer. No positive rate is known."
    )
    notes = (_CITATION_NOTES[0], roots, _CITATION_NOTES[1])
    return dict(kinds=kinds, pairs=pairs, positive_rate=None, triangles=None, notes=notes, knobs=Knobs(1500))


def _uniprot(vertices: int, printed_edges: int) -> dict:
    roots = printed_edges - (vertices - 2)
    pattern = load("uniprotenc_22")
    kinds, pairs = uniprot(vertices, roots, pattern)
    notes = (
        "Vertices and edges with the super-root: thesis table 2.3. As uniprotenc_22 has, two edges fewer than vertices "
        "are taken to come before the super-root; the rest of the printed edges lead to the roots.",
        "Six levels with the super-root: thesis, section 2.4.2. Degrees and short paths are scaled from uniprotenc_22, "
        "and its positive rate is scaled by the number of vertices; the thesis prints 0 positives.",
    )
    rate = pattern.positive_rate * pattern.vertices / vertices
    return dict(kinds=kinds, pairs=pairs, positive_rate=rate, triangles=0, notes=notes)


def _go_uniprot() -> dict:
    kinds, pairs = go_uniprot(6_967_956, 34_770_235, 27_956, load("go"), 1_500_000)
    notes = (
        "Vertices, edges: Computation 2020, table 1.",
        "Assumed: 27,956 terms, an ontology shaped like go turned round, below 6,940,000 proteins, which are the "
        "roots; the largest term has 1,500,000 proteins. No positive rate is known.",
    )
    return dict(kinds=kinds, pairs=pairs, positive_rate=None, triangles=None, notes=notes)


NAMES = {
    "cit-patents": _cit_patents,
    "citeseerx": _citeseerx,
    "go-uniprot": _go_uniprot,
    "uniprotenc_100": lambda: _uniprot(16_087_295, 30_686_253),
    "uniprotenc_150": lambda: _uniprot(25_037_600, 46_687_655),
}
