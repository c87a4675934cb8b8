"""Repairs of numba's simulator. Originally the launching thread waits actively (5 ms a barrier), two threads that
request a shared array at once can get different ones, and the real `cuda` is restored in a module when the first thread
returns from one of its device functions."""

import os
import sys
import threading
from contextlib import contextmanager
from importlib import import_module

import numpy as np


class _Block:
    """The barrier of a simulated block, which waits for all threads that have not ended."""

    def __init__(self, threads: int):
        self._running, self._waiting, self._round = threads, 0, 0
        self._changed = threading.Condition()

    def wait(self) -> None:
        """Waits until every running thread has called this."""
        with self._changed:
            mine = self._round
            self._waiting += 1
            if not self._release():
                while self._round == mine:
                    self._changed.wait()

    def leave(self) -> None:
        """Is called when a thread ends."""
        with self._changed:
            self._running -= 1
            self._release()

    def _release(self) -> bool:
        if self._waiting < self._running or not self._waiting:
            return False
        self._waiting = 0
        self._round += 1
        self._changed.notify_all()
        return True


class _Swap:
    """Replaces `cuda` in a module by the simulated one while at least one thread executes a function of the module."""

    def __init__(self, real):
        self._real = real
        self._lock = threading.Lock()
        self._inside: dict[int, int] = {}  # id of a module's globals -> number of threads
        self._names: dict[int, list[str]] = {}

    @contextmanager
    def __call__(self, function, fake):
        names = function.__globals__
        key = id(names)
        with self._lock:
            inside = self._inside[key] = self._inside.get(key, 0) + 1
            if inside == 1:
                self._names[key] = [name for name, value in names.items() if value is self._real]
                names.update(dict.fromkeys(self._names[key], fake))
        try:
            yield
        finally:
            with self._lock:
                self._inside[key] -= 1
                if not self._inside[key]:
                    names.update(dict.fromkeys(self._names[key], self._real))


def asked_for() -> bool:
    """Whether numba's NUMBA_ENABLE_CUDASIM is set, by `cuda.simulate` or by the user."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


def repair(package: str) -> None:
    """Repairs the simulator in the package with the name `package`."""
    kernel, api = import_module(f"{package}.kernel"), import_module(f"{package}.kernelapi")
    lock = threading.Lock()
    make = api.FakeCUDAShared.array

    class Thread(kernel.BlockThread):
        block: _Block

        def run(self):
            try:
                super().run()
            finally:
                self.block.leave()

        def syncthreads(self):
            self.block.wait()

    def run(self, grid_point, *args):
        points = list(kernel.np.ndindex(*self._block_dim))
        block = _Block(len(points))
        threads = [Thread(lambda: self._f(*args), self, grid_point, point, self._debug) for point in points]
        for thread in threads:
            thread.block = block
            thread.start()
        for thread in threads:
            thread.join()
        for thread in threads:
            if thread.exception:
                raise thread.exception[0].with_traceback(thread.exception[1])

    def array(self, shape, dtype):
        frame = sys._getframe(1)
        with lock:
            place = (frame.f_code, frame.f_lineno)
            if place not in self._allocations:
                known = set(self._allocations)
                made = make(self, shape, np.dtype(dtype) if isinstance(dtype, type) else dtype)
                for other in set(self._allocations) - known:  # recorded for the line of the call above
                    del self._allocations[other]
                self._allocations[place] = made
            return self._allocations[place]

    kernel.BlockManager.run = run
    kernel.swapped_cuda_module = _Swap(import_module("numba.cuda"))
    api.FakeCUDAShared.array = array
