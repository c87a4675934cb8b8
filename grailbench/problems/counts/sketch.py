"""Estimates of counts: the least of exponential ranks among the columns that a vertex reaches (Cohen 1997).

A column of weight w draws `RANKS` ranks, exponential with mean 1 / w; the least among columns of total weight W has
mean 1 / W. So W times the sum of a vertex's least ranks is gamma-distributed, and (RANKS - 1) / sum an estimate of W
without bias, of relative standard error 1 / sqrt(RANKS - 2). What a vertex counts besides columns is exact.
"""

import math

import numpy as np
from numba import njit

from grailbench.errors import TooLittleMemory
from grailbench.graph.threads import ThreadPool
from grailbench.problems.counts.index import Task
from grailbench.problems.counts.reduce import Reduced, expanded, reduced
from grailbench.util import memory
from grailbench.util.words import decimal_size

RANKS = 64
LANES = 16  #: ranks of a pass: a cache line of float32 a vertex
ERROR = 1 / math.sqrt(RANKS - 2)  #: the relative standard error
_NEVER = np.int32(0x7F800000)  # the bits of float32 infinity; those of positive numbers ascend with them


def memory_of(vertices: int, columns: int) -> int:
    """Bytes that a thread needs for a pass."""
    return (4 * LANES + 8) * vertices + 4 * LANES * columns


def estimated(task: Task, workers: int, seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    """For each vertex of the task an estimate, float64[k], and the exact part of it, int64[k]; and the bytes that were
    needed. They depend on the seed alone. Raises TooLittleMemory if a pass of `LANES` ranks does not fit half of what
    is free."""
    form, room = reduced(task), memory.available() // 2
    each = max(1, memory_of(form.vertices, form.columns.shape[0]))
    if each > room:
        raise TooLittleMemory(
            f"estimates for {form.vertices:,} vertices need {decimal_size(each)}, {decimal_size(room)} may be used"
        )
    passes, threads = range(RANKS // LANES), max(1, min(workers, room // each, RANKS // LANES))
    sums = np.zeros(form.vertices)
    with ThreadPool(threads) as pool:
        for first in range(0, len(passes), threads):
            for part in pool.each(lambda turn: _summed(form, seed, turn), passes[first : first + threads]):
                sums += part  # in the order of the passes, so that threads change no bit
    return expanded(task, form, (RANKS - 1) / sums), expanded(task, form, np.zeros_like(form.base)), threads * each


def _summed(form: Reduced, seed: int, turn: int) -> np.ndarray:
    """The sums of `LANES` least ranks of each vertex, float64[r]; infinite where no column is reached."""
    shape = form.columns.shape[0], LANES
    ranks = np.random.default_rng((seed, turn)).standard_exponential(shape, np.float32)
    ranks /= form.weights[:, None].astype(np.float32)
    return _pushed(form.offsets, form.parents, form.columns, ranks.view(np.int32))


@njit(cache=True, nogil=True)
def _pushed(offsets, parents, columns, ranks):
    """Brings the least ranks of each vertex to its parents, and returns the sums of them, float64[r].

    offsets, parents, columns: those of `Reduced`; ranks: int32[c, LANES], bits of float32, which compare as integers
    do.
    """
    rows = np.full((offsets.shape[0] - 1, LANES), _NEVER, np.int32)
    rows[columns] = ranks
    sums = np.zeros(rows.shape[0])
    least = rows.view(np.float32)
    for v in range(rows.shape[0]):
        row = rows[v]
        for lane in range(LANES):
            sums[v] += least[v, lane]
        if row[0] != _NEVER:
            for at in range(offsets[v], offsets[v + 1]):
                other = rows[parents[at]]
                for lane in range(LANES):
                    other[lane] = min(other[lane], row[lane])
    return sums


def bounds(shape: int, probability: float) -> tuple[float, float]:
    """Between which multiples of what is estimated an estimate of so many ranks lies, but for this probability."""
    from scipy.stats import gamma

    low, high = gamma.ppf((probability / 2, 1 - probability / 2), shape)
    return (shape - 1) / high, (shape - 1) / low
