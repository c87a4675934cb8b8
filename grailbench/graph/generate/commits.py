"""Generates histories of commits as git keeps them: topic branches, merged by integrators, merged into one mainline.

The shape is that of projects with maintainers, such as Linux: contributors' branches are pulled by maintainers, whose
branches are pulled into the mainline. Every commit has one parent or, if it is a merge, two. In a clone of git itself
of 2026-08, 26 % of the 81,966 commits of its main branch are merges, and 28 % of the 203,352 of all its branches.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.errors import InputError
from grailbench.graph.csr import Graph
from grailbench.graph.generate.rows import checked, renumbered
from grailbench.graph.hashing import below, draw, stream

_ORDER, _STEPS = 0, 1  # random streams of a seed


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
    offsets, parents = _grow(n, limit, branches, pulled, stream(seed, _STEPS))
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
