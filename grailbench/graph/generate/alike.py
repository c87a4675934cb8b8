"""Generates a look-alike from a profile: matches edges, rearranges them by swaps, and numbers the vertices."""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.graph.csr import VERTEX, Graph
from grailbench.graph.generate.matching import match
from grailbench.graph.generate.profiles import Profile
from grailbench.graph.generate.shaping import draw_together, settle_heights
from grailbench.graph.hashing import below, draw, stream

_REPEATS = 8  # random stream of a seed


def alike(profile: Profile, seed: int) -> Graph:
    """A random graph with exactly the profile's vertices, edges, levels, degrees and edges between levels.

    Ids follow the places of the vertices (see `Matching`): neighbours tend to have similar ids, as in real files, and
    an id does not depend on the level. Edges ascend by source and target; `profile.duplicates` of them are repeated.
    The result is a pure function of profile and seed.
    """
    knobs = profile.knobs
    made = match(profile, seed)
    if knobs.heights:
        settle_heights(made, profile.height_step, knobs.heights, seed)
    if knobs.rounds:
        draw_together(made, profile.height_step, knobs.heights, knobs.rounds, seed)
    n = made.place.shape[0]
    edges = made.place[made.source] * n + made.place[made.target[made.mate]]
    edges.sort()
    if profile.duplicates:
        again = _picks(profile.duplicates, edges.shape[0], stream(seed, _REPEATS))
        edges = np.sort(np.concatenate((edges, edges[again])))
    return Graph(n, (edges // n).astype(VERTEX), (edges % n).astype(VERTEX))


@njit(cache=True)
def _picks(k, m, key):
    out = np.empty(k, np.int64)
    for t in range(k):
        out[t] = below(draw(key, t), m)
    return out
