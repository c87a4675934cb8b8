"""The processor's ceilings: reads and copies, and random 4-byte gathers by table size, with one thread and with all.

Kernels release the GIL. Each thread of a pool runs one call, for reads and copies on its own slice, for gathers on its
own random elements of one shared table, as the threads of the implementations do.
"""

from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

import numpy as np
import psutil

from grailbench.errors import CheckFailed
from grailbench.harness.limits import Note, Scale, row
from grailbench.util.compiled import njit
from grailbench.util.words import count

_BLOCK = 1024  # random places (4 KB), which stay in the first-level cache
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

    Places are read from an array in the first-level cache, as vertices are read from an edge array. Each pass xors them
    with another step of a linear congruential generator (constants of Numerical Recipes), so that passes differ.
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
    """Rows of reads, copies and gathers on this machine with 1 and with `cores` threads, as far as memory allows.

    `last_level` is the size of the last-level cache in bytes. Raises CheckFailed if a kernel computes a wrong result.
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
    """The rows of reading and copying an array of `size` bytes, of which each thread has an equal part."""
    source, target = np.empty(size // 8, np.uint64), np.empty(size // 8, np.uint64)
    parts = list(zip(np.array_split(source, threads), np.array_split(target, threads), strict=True))
    list(pool.map(lambda part: (part[0].fill(1), part[1].fill(0)), parts))  # so that pages are near the threads
    reads = _timed(pool, _read, [part[:1] for part in parts], repeats)
    copies = _timed(pool, _copy, parts, repeats)
    shape = {"bytes": source.nbytes, "threads": threads}
    return [
        row("cpu", "read", "GB/s", [source.nbytes / seconds / 1e9 for seconds in reads], **shape),
        row("cpu", "copy", "GB/s", [2 * source.nbytes / seconds / 1e9 for seconds in copies], **shape),
    ]


def _gathers(pool: ThreadPoolExecutor, threads: int, table: np.ndarray, scale: Scale) -> dict:
    """The row of random gathers from `table`, with as many passes as make one repeat long enough to time."""
    places = np.random.default_rng(_SEED).integers(0, 1 << 32, _BLOCK, dtype=np.uint32)
    passes = 16
    while _timed(pool, _gather, [(table, places, passes, seed) for seed in range(threads)], 1)[0] < scale.seconds:
        passes *= 2
    seconds = _timed(pool, _gather, [(table, places, passes, seed) for seed in range(threads)], scale.repeats)
    done = threads * passes * _BLOCK
    return row("cpu", "gather", "G/s", [done / s / 1e9 for s in seconds], bytes=table.nbytes, threads=threads)


def _timed(pool: ThreadPoolExecutor, kernel, calls: list[tuple], repeats: int) -> list[float]:
    """Seconds of each of `repeats` rounds of `calls` of a compiled kernel, one per thread, after a warm-up round."""
    found = []
    for _ in range(repeats + 1):
        began = perf_counter()
        for done in [pool.submit(kernel, *call) for call in calls]:
            done.result()
        found.append(perf_counter() - began)
    return found[1:]


def _check() -> None:
    """Compile the kernels and compare their results with those of numpy. Raises CheckFailed if they differ."""
    random = np.random.default_rng(_SEED)
    words = random.integers(0, 1 << 63, 999, dtype=np.uint64)
    target = np.zeros_like(words)
    _copy(words, target)
    table, places = (random.integers(0, 1 << 32, size, dtype=np.uint32) for size in (4096, 64))
    wanted, step = 0, 7
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
