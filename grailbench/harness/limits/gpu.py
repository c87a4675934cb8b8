"""The GPU's ceilings: copy, random 4-byte gathers and atomic adds, launches, barriers, transfers.

Each operation first runs on little data, and its result is compared with that of numpy. Importing this module imports
CUDA (`cuda.gateway`). In the simulator all operations run, but their rows have no times.
"""

from collections.abc import Callable
from functools import partial
from time import perf_counter

import numpy as np

from grailbench.cuda.describe import Device, describe
from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.launch import cooperative_shape
from grailbench.cuda.timers import Span
from grailbench.errors import CheckFailed
from grailbench.harness.limits import Note, Scale, row

_SEED = 1
_AT_ONCE = 4  # independent loads of a thread before it uses the first
_COPIES = 5  # copies in one timed span
_BLOCKS_PER_MULTIPROCESSOR = (1, 2, 4, 8)
_BLOCK_THREADS = (256, 512, 1024)
_TRANSFER_BYTES = 64 << 20  # bytes transferred in one repeat, in up to _MOST_TRANSFERS transfers
_MOST_TRANSFERS = 100
_PATTERN_BYTES = 64 << 20


# ---------------------------------------------------------------------------------------- kernels


@cuda.jit(device=True)
def _step(x):
    """The next number of Marsaglia's xorshift32 (2003). Numba widens shifts of uint32, so each result is cast back."""
    x ^= np.uint32(x << np.uint32(13))
    x ^= np.uint32(x >> np.uint32(17))
    x ^= np.uint32(x << np.uint32(5))
    return np.uint32(x)


@cuda.jit
def _gather(table, mask, rounds, seeds, sums):
    """sums[t] = xor of 4 * rounds random elements of table.

    table uint32[mask + 1]; seeds, sums uint32[threads of the grid].
    """
    thread = cuda.grid(1)
    x = seeds[thread]
    found = np.uint32(0)
    for _ in range(rounds):
        a = _step(x)
        b = _step(a)
        c = _step(b)
        x = _step(c)
        found ^= table[a & mask] ^ table[b & mask] ^ table[c & mask] ^ table[x & mask]
    sums[thread] = found


@cuda.jit
def _add(table, mask, rounds, seeds):
    """Each thread adds 1 at 4 * rounds random places of table uint32[mask + 1]; seeds uint32[threads of the grid]."""
    x = seeds[cuda.grid(1)]
    one = np.uint32(1)
    for _ in range(rounds):
        a = _step(x)
        b = _step(a)
        c = _step(b)
        x = _step(c)
        cuda.atomic.add(table, a & mask, one)
        cuda.atomic.add(table, b & mask, one)
        cuda.atomic.add(table, c & mask, one)
        cuda.atomic.add(table, x & mask, one)


@cuda.jit
def _copy(source, target):
    """Copy uint64[n] to uint64[n], grid-stride."""
    for i in range(cuda.grid(1), source.size, cuda.gridsize(1)):
        target[i] = source[i]


@cuda.jit
def _nothing():
    """A launch without arguments."""


@cuda.jit
def _grid_barriers(rounds):
    """`rounds` barriers of the whole grid, in a cooperative launch."""
    grid = cuda.cg.this_grid()
    for _ in range(rounds):
        grid.sync()


@cuda.jit
def _relay(values, rounds):
    """In each round every thread of the grid takes its right neighbour's value; wrong if grid barriers do not work."""
    grid = cuda.cg.this_grid()
    thread = cuda.grid(1)
    neighbour = (thread + 1) % cuda.gridsize(1)
    for _ in range(rounds):
        taken = values[neighbour]
        grid.sync()
        values[thread] = taken
        grid.sync()


# ---------------------------------------------------------------------------------------- measuring


def measure(scale: Scale, note: Note) -> list[dict]:
    """Rows of all ceilings of the current device, with tables and copies of up to a quarter of its free memory.

    Raises MachineLacks if there is no device, CheckFailed if an operation computes a wrong result.
    """
    device = describe()
    found = []
    parts = {"copies": _copies, "gathers": _gathers, "atomic adds": _atomics, "launches": _launches,
             "barriers": _barriers, "transfers": _transfers}  # fmt: skip
    for what, part in parts.items():
        note(f"gpu: {what}")
        found += part(scale, device)
    return found


def _copies(scale: Scale, device: Device) -> list[dict]:
    blocks, threads = (32 * device.multiprocessors, 256) if not simulated else (2, 8)
    size = _fitting([scale.gpu_copy], device.free_bytes // 4)[-1]
    found = []
    for variant, copy in (
        ("driver", lambda source, target: target.copy_to_device(source)),
        ("kernel", _copy[blocks, threads]),
    ):
        small = _random(2000).view(np.uint64)
        target = cuda.to_device(np.zeros_like(small))
        copy(cuda.to_device(small), target)
        _check(np.array_equal(target.copy_to_host(), small), f"copy by {variant}")
        source, target = _filled(size).view(np.uint64), cuda.device_array(size // 8, np.uint64)
        ms = _spans(partial(copy, source, target), scale.repeats, _COPIES)
        rates = [2 * size * _COPIES / each / 1e6 for each in ms]
        found.append(row("gpu", "copy", "GB/s", rates, variant=variant, bytes=size))
    return found


def _gathers(scale: Scale, device: Device) -> list[dict]:
    blocks, threads, seeds = _full_grid(device)
    launch = _gather[blocks, threads]
    sums = cuda.device_array(blocks * threads, np.uint32)
    host = _random(min(scale.gpu_tables) // 4)
    launch(cuda.to_device(host), _mask(host), 2, seeds, sums)
    wanted = np.zeros(blocks * threads, np.uint32)
    for places in _walk(seeds.copy_to_host(), 2 * _AT_ONCE):
        wanted ^= host[places & _mask(host)]
    _check(np.array_equal(sums.copy_to_host(), wanted), "gather")
    return _by_table("gather", scale, device, lambda table, rounds: launch(table, _mask(table), rounds, seeds, sums))


def _atomics(scale: Scale, device: Device) -> list[dict]:
    blocks, threads, seeds = _full_grid(device)
    launch = _add[blocks, threads]
    small = cuda.to_device(np.zeros(min(scale.gpu_tables) // 4, np.uint32))
    launch(small, _mask(small), 2, seeds)
    wanted = np.zeros(small.size, np.uint32)
    for places in _walk(seeds.copy_to_host(), 2 * _AT_ONCE):
        np.add.at(wanted, places & _mask(small), np.uint32(1))
    _check(np.array_equal(small.copy_to_host(), wanted), "atomic add")
    return _by_table("atomic add", scale, device, lambda table, rounds: launch(table, _mask(table), rounds, seeds))


def _by_table(what: str, scale: Scale, device: Device, launch: Callable) -> list[dict]:
    """A row per table size of `launch(table, rounds)`, in which each thread accesses 4 * rounds random elements."""
    blocks, threads = _full_grid(device)[:2]
    rounds = max(1, scale.gathers // (blocks * threads * _AT_ONCE))
    touched = blocks * threads * rounds * _AT_ONCE
    found = []
    for size in _fitting(scale.gpu_tables, device.free_bytes // 4):
        ms = _spans(partial(launch, _filled(size), rounds), scale.repeats)
        rates = [touched / each / 1e6 for each in ms]
        found.append(row("gpu", what, "G/s", rates, bytes=size, blocks=blocks, threads=threads))
    return found


def _launches(scale: Scale, device: Device) -> list[dict]:
    """Host microseconds per call of launches without waiting, and of a launch with waiting."""
    found, launch = [], _nothing[1, 32]
    for variant, call in (("no arguments", launch), ("no arguments, waited for", partial(_waited, launch))):
        call()
        us = [] if simulated else [_calls(call, scale.launches) for _ in range(scale.repeats)]
        found.append(row("gpu", "launch", "us", us, variant=variant))
    return found


def _barriers(scale: Scale, device: Device) -> list[dict]:
    """Device microseconds per barrier, from the difference between twice the rounds and once the rounds."""
    _check_grid_barrier()
    found, seen = [], set()
    for per_multiprocessor in _BLOCKS_PER_MULTIPROCESSOR:
        for threads in _BLOCK_THREADS:
            shape = cooperative_shape(_grid_barriers, (1,), threads, per_multiprocessor)
            if shape not in seen:
                seen.add(shape)
                launch, rounds = _grid_barriers[shape.blocks, shape.threads], scale.barriers
                once, twice = (_spans(partial(launch, times * rounds), scale.repeats) for times in (1, 2))
                us = [(long - short) / rounds * 1e3 for short, long in zip(once, twice, strict=True)]
                found.append(row("gpu", "grid barrier", "us", us, blocks=shape.blocks, threads=shape.threads))
    return found


def _transfers(scale: Scale, device: Device) -> list[dict]:
    """Host times of blocking transfers between memory that is already allocated on both sides."""
    found = []
    for size in _fitting(scale.transfers, device.free_bytes // 4):
        random = _random(size // 4)
        there = cuda.device_array(size // 4, np.uint32)
        times = min(_MOST_TRANSFERS, max(1, _TRANSFER_BYTES // size))
        for kind, make in (("pageable", np.empty), ("pinned", cuda.pinned_array)):
            here, back = make(size // 4, np.uint32), make(size // 4, np.uint32)
            here[:], back[:] = random, 0
            there.copy_to_device(here)
            there.copy_to_host(back)
            _check(np.array_equal(back, random), f"transfer, {kind}")
            for way, copy, array in (("to device", there.copy_to_device, here), ("to host", there.copy_to_host, back)):
                transfer = partial(_waited, copy, array)
                us = [] if simulated else [_calls(transfer, times) for _ in range(scale.repeats)]
                rates = [size / each / 1e3 for each in us]
                found.append(row("gpu", "transfer", "GB/s", rates, variant=f"{way}, {kind}", bytes=size))
    return sorted(found, key=lambda each: each["variant"])


def _waited(call: Callable, *arguments) -> None:
    call(*arguments)
    cuda.synchronize()


# ---------------------------------------------------------------------------------------- helpers


def _spans(run: Callable[[], object], repeats: int, times: int = 1) -> list[float]:
    """Device milliseconds of `times` runs, measured `repeats` times after a warm-up run; empty in the simulator."""
    run()
    if simulated:
        return []
    spans = [Span() for _ in range(repeats)]
    for span in spans:
        with span:
            for _ in range(times):
                run()
    return [span.ms for span in spans]


def _calls(call: Callable[[], object], times: int) -> float:
    """Host microseconds per call of `times` calls on an idle device, without the wait for the device at the end."""
    cuda.synchronize()
    began = perf_counter()
    for _ in range(times):
        call()
    ended = perf_counter()
    cuda.synchronize()
    return (ended - began) / times * 1e6


def _check_grid_barrier() -> None:
    shape = cooperative_shape(_relay, (cuda.to_device(np.zeros(1, np.int32)), 1))
    values = np.arange(shape.blocks * shape.threads, dtype=np.int32)
    there = cuda.to_device(values)
    _relay[shape.blocks, shape.threads](there, 5)
    _check(np.array_equal(there.copy_to_host(), np.roll(values, -5)), "grid barrier")


def _check(right: bool, what: str) -> None:
    """Raises CheckFailed if the operation `what` did not compute the right result."""
    if not right:
        raise CheckFailed(f"limits: {what} on the device computed something wrong; no ceiling was taken")


def _full_grid(device: Device) -> tuple[int, int, object]:
    """Blocks, threads a block and a device array of their seeds (uint32, none 0), as many as fill the device."""
    blocks, threads = (8 * device.multiprocessors, 256) if not simulated else (2, 8)
    return blocks, threads, cuda.to_device(_random(blocks * threads) | np.uint32(1))


def _walk(seeds: np.ndarray, steps: int):
    """The numbers of `_step` from each seed, an array per step."""
    for _ in range(steps):
        seeds = seeds ^ (seeds << np.uint32(13))
        seeds = seeds ^ (seeds >> np.uint32(17))
        seeds = seeds ^ (seeds << np.uint32(5))
        yield seeds


def _filled(size: int):
    """A device table (uint32) of `size` bytes of repeated random words."""
    block = cuda.to_device(_random(min(size, _PATTERN_BYTES) // 4))
    table = cuda.device_array(size // 4, np.uint32)
    for first in range(0, table.size, block.size):
        table[first : first + block.size].copy_to_device(block)
    return table


def _mask(table) -> np.uint32:
    return np.uint32(table.size - 1)


def _random(length: int) -> np.ndarray:
    return np.random.default_rng(_SEED).integers(0, 1 << 32, length, dtype=np.uint32)


def _fitting(sizes, most: int) -> list[int]:
    """The sizes of up to `most` bytes, or the smallest size if there are none."""
    return [size for size in sizes if size <= most] or [min(sizes)]
