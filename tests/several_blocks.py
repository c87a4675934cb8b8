"""Runs a cooperative kernel with several blocks at once, where numba's simulator has one. A thread is a Python thread.

Kernels are read anew with a `cuda` of this module in place of numba's: `load` them, then `launch`. It has what the
kernels of `traversal` use, and no warps.
"""

import operator
import sys
import threading
from importlib import import_module, util

import numpy as np
import pytest

from grailbench.cuda import gateway

PATIENCE = 20  # seconds at a barrier, after which a launch has failed


class _Place:
    """`cuda.threadIdx` and the like: `x` is that of the calling thread."""

    x = property(lambda self: getattr(_here, self.name))

    def __init__(self, name):
        self.name = name


def _atomic(change):
    def step(array, at, *values):
        with _lock:
            old = array[at]
            array[at] = change(old, *values)
            return old

    return staticmethod(step)


class _Cuda:
    """What stands for `numba.cuda`."""

    threadIdx, blockIdx, blockDim, gridDim = map(_Place, ("thread", "block", "threads", "blocks"))

    class atomic:
        add, min, exch = _atomic(lambda old, value: old + value), _atomic(min), _atomic(lambda old, value: value)
        cas = _atomic(lambda old, expected, value: value if old == expected else old)
        max, or_, xor = map(_atomic, (max, operator.or_, operator.xor))

    class cg:
        this_grid = staticmethod(lambda: _Cuda.cg)
        sync = staticmethod(lambda: _here.grid.wait(PATIENCE))

    class shared:
        @staticmethod
        def array(shape, dtype):
            frame = sys._getframe(1)
            with _lock:
                return _here.shared.setdefault((frame.f_code, frame.f_lineno), np.full(shape, 77, dtype))

    popc = staticmethod(lambda word: int(word).bit_count())
    jit = staticmethod(lambda *made, **_: made[0] if made else lambda function: function)
    grid = staticmethod(lambda _: _here.block * _here.threads + _here.thread)
    gridsize = staticmethod(lambda _: _here.blocks * _here.threads)
    syncthreads = staticmethod(lambda: _here.barrier.wait(PATIENCE))


_here, _lock = threading.local(), threading.Lock()


def load(*names):
    """Copies of modules of kernels, each of which gets the copies before it in place of what it imports."""
    found, _ = [], [import_module(name) for name in names]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(gateway, "cuda", _Cuda)
        for name in names:
            package, _, last = name.rpartition(".")
            spec = util.find_spec(name)
            module = util.module_from_spec(spec)
            spec.loader.exec_module(module)
            patched.setitem(sys.modules, name, module)
            patched.setattr(sys.modules[package], last, module)
            found.append(module)
    return found


def launch(kernel, args, blocks, threads):
    """Runs a kernel of a loaded module. Raises what its threads raised, or BrokenBarrierError if some wait for ever."""
    grid, failed = threading.Barrier(blocks * threads), []
    barriers, shared = [threading.Barrier(threads) for _ in range(blocks)], [{} for _ in range(blocks)]

    def run(block, thread):
        _here.__dict__.update(block=block, thread=thread, blocks=blocks, threads=threads, grid=grid)
        _here.__dict__.update(barrier=barriers[block], shared=shared[block])
        try:
            kernel(*args)
        except Exception as error:
            failed.append(error)
            for barrier in (grid, *barriers):
                barrier.abort()

    running = [threading.Thread(target=run, args=(b, t)) for b in range(blocks) for t in range(threads)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads take turns as often as they can
    try:
        for each in running:
            each.start()
        for each in running:
            each.join()
    finally:
        sys.setswitchinterval(interval)
    failed.sort(key=lambda error: isinstance(error, threading.BrokenBarrierError))
    if failed:
        raise failed[0]
