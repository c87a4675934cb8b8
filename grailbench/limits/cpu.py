"""The processor's ceilings: streams, and random 4-byte gathers by table size, with one thread and with all.

Kernels release the GIL; each thread of a pool runs one call on its own slice (streams) or its own random places of
one shared table (gathers), as the implementations' threads do.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

import numpy as np
import psutil
from numba import njit

from grailbench import kernelcache
from grailbench.errors import CheckFailed
from grailbench.limits.scale import Note, Scale, row
from grailbench.words import count

kernelcache.adopt()  # nothing of another room with kernels is imported here

_BLOCK = 1024  # random places, 4 KB: they stay in the first-level cache beside the table
_SEED = 1


@njit(nogil=True, cache=True)
def _copy(source, target):
    """Copy uint64[n] to uint64[n]."""
    for i in range(source.size):
        target[i] = source[i]


@njit(nogil=True, cache=True)
def _read(source):
    """Xor of uint64[n]."""
    found = np.uint64(0)
    for i in range(source.size):
        found ^= source[i]
    return found


@njit(nogil=True, cache=True)
def _gather(table, places, passes, seed):
    """Xor of `passes * places.size` random elements of uint32[power of two].

    Places come from an array in the first-level cache, as a vertex comes from an edge array, moved in each pass by
    a step of a linear congruential generator (Numerical Recipes' constants), so that every pass goes elsewhere.
    """
    mask = np.uint32(table.size - 1)
    step = np.uint32(seed)
    found = np.uint32(0)
    for _ in range(passes):
        step = np.uint32(step * np.uint32(1664525) + np.uint32(1013904223))
        for i in range(places.size):
            found ^= table[(places[i] ^ step) & mask]
    return found


def measure(scale: Scale, cores: int, last_level: int, note: Note) -> list[dict]:
    """Rows of the streams and gathers of this machine with 1 and `cores` threads, as far as memory allows.

    `last_level` is the largest cache's size in bytes. Raises CheckFailed when a kernel computes something wrong.
    """
    _check()
    most = psutil.virtual_memory().available // 4
    copied = min(max(scale.cpu_copy, 4 * last_level), most)
    found = []
    for threads in sorted({1, cores}):
        with ThreadPoolExecutor(threads) as pool:
            note(f"cpu: streams, {count(threads, 'thread')}")
            found += _streams(pool, threads, copied, scale.repeats)
    tables = [size for size in scale.cpu_tables if size <= most]
    table = np.random.default_rng(_SEED).integers(0, 1 << 32, tables[-1] // 4, dtype=np.uint32)
    for threads in sorted({1, cores}):
        with ThreadPoolExecutor(threads) as pool:
            note(f"cpu: gathers, {count(threads, 'thread')}")
            found += [_gathers(pool, threads, table[: size // 4], scale) for size in tables]
    return found


def _streams(pool: ThreadPoolExecutor, threads: int, size: int, repeats: int) -> list[dict]:
    """The rows of reading and copying an array of `size` bytes, cut evenly over the threads."""
    source, target = np.empty(size // 8, np.uint64), np.empty(size // 8, np.uint64)
    cuts = np.linspace(0, source.size, threads + 1).astype(np.int64)
    slices = [slice(a, b) for a, b in zip(cuts[:-1], cuts[1:], strict=True)]

    def touch(part):  # by the thread that will use it, so that its pages lie near it
        source[part] = 1
        target[part] = 0

    list(pool.map(touch, slices))
    reads = _timed(pool, _read, [(source[part],) for part in slices], repeats)
    copies = _timed(pool, _copy, [(source[part], target[part]) for part in slices], repeats)
    shape = {"bytes": source.nbytes, "threads": threads}
    return [
        row("cpu", "read", "GB/s", [source.nbytes / seconds / 1e9 for seconds in reads], **shape),
        row("cpu", "copy", "GB/s", [2 * source.nbytes / seconds / 1e9 for seconds in copies], **shape),
    ]


def _gathers(pool: ThreadPoolExecutor, threads: int, table: np.ndarray, scale: Scale) -> dict:
    """The row of random gathers from `table`; passes are added until one repeat is long enough to time."""
    places = np.random.default_rng(_SEED).integers(0, 1 << 32, _BLOCK, dtype=np.uint32)
    passes = 16
    while _timed(pool, _gather, [(table, places, passes, seed) for seed in range(threads)], 1)[0] < scale.seconds:
        passes *= 2
    seconds = _timed(pool, _gather, [(table, places, passes, seed) for seed in range(threads)], scale.repeats)
    done = threads * passes * _BLOCK
    return row("cpu", "gather", "G/s", [done / s / 1e9 for s in seconds], bytes=table.nbytes, threads=threads)


def _timed(pool: ThreadPoolExecutor, kernel, calls: list[tuple], repeats: int) -> list[float]:
    """Seconds of each of `repeats` rounds of `calls` of a compiled kernel, a call a thread, after one round unseen."""
    found = []
    for _ in range(repeats + 1):
        began = perf_counter()
        for done in [pool.submit(kernel, *call) for call in calls]:
            done.result()
        found.append(perf_counter() - began)
    return found[1:]


def _check() -> None:
    """Compile the kernels and hold what they compute against numpy."""
    random = np.random.default_rng(_SEED)
    words = random.integers(0, 1 << 63, 999, dtype=np.uint64)
    target = np.zeros_like(words)
    _copy(words, target)
    table, places = (random.integers(0, 1 << 32, size, dtype=np.uint32) for size in (4096, 64))
    wanted = 0
    step = 7
    for _ in range(3):
        step = (step * 1664525 + 1013904223) & 0xFFFFFFFF
        wanted ^= int(np.bitwise_xor.reduce(table[(places ^ np.uint32(step)) & np.uint32(4095)]))
    right = (
        np.array_equal(words, target),
        int(_read(words)) == int(np.bitwise_xor.reduce(words)),
        int(_gather(table, places, 3, 7)) == wanted,
    )
    if not all(right):
        raise CheckFailed(f"limits: copy, read, gather on the processor computed {right}; no ceiling was taken")
