"""Kernels whose rows begin near 2^32: each call is made twice, on the arrays given and on others whose offsets are
2^32 - 5 greater, and both must come to the same.

A file of 16 GiB without content stands for the edges before. A kernel that keeps a place of an edge in 32 bits, signed
or not, reads another edge there, or none.
"""

from __future__ import annotations

import inspect
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
from numba.core.dispatcher import Dispatcher

SHIFT = 2**32 - 5
ROOM = 1 << 20  #: edges behind
#: kernels that go through all edges, or make an array of them: these are not called
WHOLE = re.compile(r"(children|targets|edges|parents|sources|inner|heads)\.(shape|size)|_like\(|range\(m\)")


class Far:
    """Stands in for a compiled function: calls it, and once more on far rows, and notes where these differ."""

    def __init__(self, name: str, kernel: Dispatcher, world: World):
        self.name, self.kernel, self.world = name, kernel, world
        self.py_func, self.source = kernel.py_func, inspect.getsource(kernel.py_func)

    def __call__(self, *given):
        if not self.world.lock.acquire(blocking=False):
            return self.kernel(*given)
        try:
            far = self.world.moved(self, given)
            found = self.kernel(*given)
            if far is not None:
                other = self.kernel(*far)
                self.world.tried[self.name] = self.world.tried.get(self.name, 0) + 1
                if not (same(found, other) and same(given, far)):
                    self.world.faults.append(f"{self.name}: other results where rows begin at {SHIFT:,}")
            return found
        finally:
            self.world.lock.release()

    def __getattr__(self, name: str):
        return getattr(self.kernel, name)


class World:
    """The far edges, which kernels were tried and how often, and what was wrong."""

    def __init__(self, folder: str):
        self.lock, self.tried, self.whole, self.faults = threading.RLock(), {}, set(), []
        self._folder, self._edges = folder, {}

    def _window(self, number: int, given: np.ndarray) -> np.ndarray:
        """An array of the type of one by edge, whose content it has where the far rows are."""
        key = number, given.dtype
        if key not in self._edges:
            with open(f"{self._folder}/{number}{given.dtype}", "w+b") as file:
                file.truncate(given.itemsize * (SHIFT + ROOM))
                self._edges[key] = np.asarray(np.memmap(file, given.dtype, "r+", shape=(SHIFT + ROOM,)))
        window = self._edges[key]
        window[SHIFT : SHIFT + given.size] = given
        return window[: SHIFT + given.size]

    def moved(self, kernel: Far, given: tuple) -> tuple | None:
        """The arguments with far rows, copies of all others; None if they have no rows."""
        flat, places = list(_arrays(given)), {}
        sizes = {two.size for one, two in pairwise(flat) if _rows(one, two)}
        if not sizes:
            return None
        if WHOLE.search(kernel.source):
            self.whole.add(kernel.name)
            return None
        for number, one in enumerate(flat):
            if one.dtype == np.int64 and one.size > 1 and one[0] == 0 and int(one[-1]) in sizes and _ascend(one):
                places[id(one)] = one + SHIFT
            elif one.size in sizes and one.ndim == 1:
                places[id(one)] = self._window(number, one)
        return _with(given, places)


def _arrays(given) -> Iterator[np.ndarray]:
    for one in given:
        if isinstance(one, np.ndarray):
            yield one
        elif isinstance(one, tuple):
            yield from _arrays(one)


def _rows(one: np.ndarray, two: np.ndarray) -> bool:
    """Whether two arrays are the offsets of rows and what is in these."""
    return (
        one.dtype == np.int64 and two.dtype == np.int32 and one.ndim == two.ndim == 1
        and one.size >= 2 and 0 == one[0] < one[-1] == two.size < ROOM and _ascend(one)
    )  # fmt: skip


def _ascend(one: np.ndarray) -> bool:
    return bool((one[1:] >= one[:-1]).all())


def _with(given, places: dict):
    """Arguments with other arrays in the places of some, and copies of the rest."""
    found = []
    for one in given:
        if isinstance(one, np.ndarray):
            found.append(places[id(one)] if id(one) in places else one.copy())
        elif isinstance(one, tuple):
            inner = _with(one, places)
            found.append(type(one)(*inner) if hasattr(one, "_fields") else inner)
        else:
            found.append(one)
    return tuple(found)


def same(one, other) -> bool:
    """Whether results are equal, up to offsets that are far in one of them."""
    if isinstance(one, np.ndarray):
        if other.size > SHIFT:
            other = other[SHIFT:]
        if one.shape != other.shape:
            return False
        if np.array_equal(one, other):
            return True
        return one.dtype == np.int64 and bool(((one == other) | (one + SHIFT == other)).all())
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, int | np.integer) and not isinstance(one, bool):
        return int(other) in (int(one), int(one) + SHIFT)
    return one is other or one == other or (one != one and other != other)


@contextmanager
def far_rows() -> Iterator[World]:
    """Every compiled function of grailbench that is called from Python tries far rows too. All signatures that occur
    must have been compiled before."""
    changed = []
    with tempfile.TemporaryDirectory() as folder:
        world = World(folder)
        made: dict[int, Far] = {}
        for module in [each for name, each in sys.modules.items() if name.startswith("grailbench.")]:
            for name, value in list(vars(module).items()):
                if isinstance(value, Dispatcher) and type(value).__module__.startswith("numba.core"):
                    label = f"{value.py_func.__module__.removeprefix('grailbench.')}:{value.py_func.__name__}"
                    made.setdefault(id(value), Far(label, value, world))
                    changed.append((module, name, value))
                    setattr(module, name, made[id(value)])
        try:
            yield world
        finally:
            for module, name, value in changed:
                setattr(module, name, value)
