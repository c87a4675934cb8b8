"""Kernels whose rows begin near 2^32: each call is made twice, on the arrays given and on others whose offsets are
2^32 - 5 greater, and both must come to the same.

A file of 16 GiB without content stands for the edges before. A kernel that keeps a place of an edge in 32 bits, signed
or not, reads another edge there, or none.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numba.core.dispatcher import Dispatcher

SHIFT = 2**32 - 5
ROOM = 1 << 20  #: edges behind
_FIRST = ((0,),), ((1,),)  #: rows are the first two arguments
#: function -> where its arguments have offsets, and where arrays with a value an edge: places in tuples in tuples. Not
#: here are those that go through all edges, and those whose result depends on the number or the place of edges
ROWS: dict[str, tuple[tuple, tuple]] = {
    "graph.kahn:walk": _FIRST,
    "graph.condense:_tarjan": _FIRST,
    "graph.oracle:_push": _FIRST,
    "problems.reachability.cpu.traverse:label_pair": _FIRST,
    "problems.reachability.cpu.search:answer_blocks": (((2, 0),), ((2, 1),)),
    "problems.reachability.hubs:sweep_backward": _FIRST,
    "problems.reachability.hubs:sweep_forward": _FIRST,
    "problems.reachability.labels:_first_violation": _FIRST,
    "problems.reachability.core.peel:_peel_above": _FIRST,
    "problems.reachability.core.peel:_peel_below": _FIRST,
    "problems.reachability.sweep.search:settle": (((0, 0), (1, 0)), ((0, 1), (1, 1))),
    "problems.traversal.cpu:_bfs": _FIRST,
    "problems.traversal.check:_certified": (((0,),), ((1,), (2,))),
    "problems.closure.sweep:_close": (((0, 3),), ((0, 4), (4,))),
    "problems.closure.sweep:_fill": (((0, 3),), ((0, 4), (6,))),
    "problems.counts.catalog:searched": _FIRST,
    "api.kernels:reached": _FIRST,
    "api.kernels:shortest_path": _FIRST,
    "api.kernels:lowest": _FIRST,
    "api.nx.walks:breadth_first": _FIRST,
    "api.nx.walks:strong_components": _FIRST,
}


class Far:
    """Stands in for a compiled function: calls it, and once more on far rows, and notes where these differ."""

    def __init__(self, name: str, kernel: Dispatcher, world: World):
        self.name, self.kernel, self.world = name, kernel, world

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
        self.lock, self.tried, self.faults = threading.RLock(), {}, []
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
        """The arguments with far rows, copies of all others; None if it is no function of `ROWS`, or there is no edge
        or one thing has more values than edges."""
        if kernel.name not in ROWS:
            return None
        starts, edges = ROWS[kernel.name]
        places = {where: _at(given, where) + SHIFT for where in starts if _at(given, where) is not None}
        for number, where in enumerate(edges):
            one = _at(given, where)
            if one is None:
                continue
            if not 0 < one.size < ROOM:
                return None
            places[where] = self._window(number, one)
        return _with(given, places)


def _at(given, where: tuple[int, ...]):
    for place in where:
        given = given[place]
    return given


def _with(given, places: dict, here: tuple[int, ...] = ()):
    """Arguments with other arrays in some places, and copies of the rest."""
    found = []
    for place, one in enumerate(given):
        at = (*here, place)
        if at in places:
            found.append(places[at])
        elif isinstance(one, np.ndarray):
            found.append(one.copy())
        elif isinstance(one, tuple):
            inner = _with(one, places, at)
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
