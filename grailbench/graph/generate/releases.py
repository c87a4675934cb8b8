"""Generates releases of packages and what they depend on, as a registry such as Maven Central or npm grows.

A vertex is a release (a version of a package); it has an edge to the release of each package it depends on that was the
latest when it appeared. A new release of a package keeps most of what the one before depended on. What new packages
depend on is copied from others, so the number of dependents is heavy-tailed, as in every registry that was measured:
Kikas et al., *Structure and evolution of package dependency networks*, MSR 2017; Decan, Mens and Grosjean, *An
empirical comparison of dependency network evolution in seven software packaging ecosystems*, Empirical Software
Engineering 2019.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.errors import InputError
from grailbench.graph.csr import Graph
from grailbench.graph.generate.rows import absent, checked, edges_of, renumbered
from grailbench.graph.hashing import GAMMA, below, draw, mix64, stream

_ORDER, _ROWS = 0, 1  # random streams of a seed
MOST = 64  #: dependencies of a new package at most


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
