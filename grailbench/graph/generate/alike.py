"""A look-alike of a profile: match, settle, draw together, number."""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.graph.csr import VERTEX, Graph
from grailbench.graph.generate.matching import match
from grailbench.graph.generate.profiles import Profile
from grailbench.graph.generate.shaping import draw_together, settle_heights
from grailbench.graph.hashing import below, draw, stream

_REPEATS = 8  # stream of a seed


def alike(profile: Profile, seed: int) -> Graph:
    """A random graph with the profile's vertices, edges, levels, degrees and edges between levels, exactly.

    Its ids follow the latent place of the vertices: neighbours tend to have near ids, as in the files of the real
    graphs, and an id says nothing about the level. Edges ascend by source, then target; as many as the profile says
    come twice. A pure function of profile and seed.
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
