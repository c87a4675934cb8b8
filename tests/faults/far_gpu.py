"""Kernels of a GPU whose rows begin near 2^32: as `far`, each launch is made twice, in numba's simulator.

Which arrays are rows is known by the bundles that kernels take (`BUNDLES`), and by place for others (`PLACES`). Offsets
that have 32 bits on small graphs get 64, as on graphs of 2^31 edges. The simulator keeps the types of numpy, so that it
wraps what a cast makes narrow, and also sums of narrow numbers, which a GPU takes in 64 bits.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

import far
import numpy as np

#: class of a bundle -> its fields with offsets, and those with a value an edge
BUNDLES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "cuda.graphs:Rows": (("starts",), ("edges",)),
    "problems.reachability.gpu.ranks:Sums": ((), ("prefix",)),
    "problems.reachability.gpu.ranks:Ranks": ((), ("prefix",)),
    "problems.reachability.gpu.parents:TreeRows": ((), ("edges",)),
    "problems.reachability.gpu.parents:Costs": (("starts",), ("prefix", "costs", "offers", "ranks")),
    "problems.reachability.gpu.fused.search:Adjacency": (("child_starts", "parent_starts"), ("children", "parents")),
    "problems.counts.gpu.sweep:Adjacency": (("starts",), ("children",)),
    "problems.closure.gpu.sweep:Order": (("starts",), ("children",)),
}
#: kernel -> the places of its arguments with offsets, and with a value an edge
PLACES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "problems.closure.gpu.dense:_relax": ((0,), (1,)),
    "cuda.oracle:_count_falling": ((0,), (1,)),
    "cuda.oracle:_pull": ((3,), (4,)),
    "cuda.oracle:_pull_long": ((1,), (2,)),
    "cuda.edges.components:_list_edges": ((0,), (3, 4)),
    "cuda.edges.walk:kernel.<locals>.walk_levels": ((0,), (1,)),
    "cuda.edges.build:_list_edges": ((4,), (5,)),
}
MOST_PAIRS = 400  #: asked of a sweep
#: kernels that have to be reached
EXPECTED = (*PLACES, "problems.reachability.gpu.fused.batch:sweep")
#: implementations whose kernels take such rows
ASKED = ("reachability/gpu", "reachability/gpu-path", "reachability/gpu-fused", "closure/sssp-each",
         "closure/condense-bits-gpu", "counts/counts-gpu")  # fmt: skip


class Launches:
    """What makes a second launch of each, on far rows."""

    def __init__(self, world: far.World, call):
        self.world, self._call, self._inside = world, call, False

    def __call__(self, kernel, *given):
        """Stands in for the call of a kernel of the simulator."""
        name = _name(kernel)
        if kernel._device or self._inside or not name:
            return self._call(kernel, *given)
        moved = self._moved(name, given)
        if moved is None:
            return self._call(kernel, *given)
        self._inside = True  # device functions are called through the same method, by threads
        try:
            self._call(kernel, *moved)
            found = self._call(kernel, *given)
        finally:
            self._inside = False
        self.world.tried[name] = self.world.tried.get(name, 0) + 1
        if not _same(given, moved):
            self.world.faults.append(f"{name}: other results where rows begin at {far.SHIFT:,}")
        return found

    def _moved(self, name: str, given: tuple) -> tuple | None:
        """The arguments with far rows, copies of all other arrays; None if none of them are rows."""
        places = _kinds(PLACES.get(name, ((), ())), range(len(given)))
        kinds: dict[tuple, str] = {}  # of each array, which may be in several places
        for _, key, kind in _arrays(given, places):
            kinds[key] = kind or kinds.get(key, "")
        if "starts" not in kinds.values():
            return None
        made = {}
        for plain, key, _ in _arrays(given, places):
            if key not in made:
                one = plain.size == 1 and kinds[key] == "edges"  # stands for an array that is not used
                made[key] = self._copied(plain, "" if one else kinds[key], len(made))
        return _replaced(given, made)

    def _copied(self, plain: np.ndarray, kind: str, number: int):
        wrap = import_module(f"{_package()}.cudadrv.devicearray").FakeCUDAArray
        if kind == "starts":
            return wrap(plain.astype(np.int64) + far.SHIFT)
        return wrap(self.world._window(number, plain) if kind == "edges" else plain.copy())


def _kinds(known: tuple, places) -> list[str]:
    return ["starts" if at in known[0] else "edges" if at in known[1] else "" for at in places]


def _arrays(given: tuple, kinds: list[str]) -> Iterator[tuple[np.ndarray, tuple, str]]:
    """Each array in arguments, what tells it from others, and whether it has offsets, or a value an edge."""
    for one, kind in zip(given, kinds, strict=True):
        if isinstance(one, tuple):
            label = f"{type(one).__module__.removeprefix('grailbench.')}:{type(one).__name__}"
            fields = getattr(one, "_fields", [""] * len(one))
            yield from _arrays(one, _kinds(BUNDLES.get(label, ((), ())), fields))
        elif (plain := _plain(one)) is not None:
            yield plain, _key(plain), kind


def _key(plain: np.ndarray) -> tuple:
    return plain.__array_interface__["data"][0], plain.shape, plain.dtype


def _replaced(given: tuple, made: dict) -> tuple:
    found = []
    for one in given:
        if isinstance(one, tuple):
            inner = _replaced(one, made)
            found.append(type(one)(*inner) if hasattr(one, "_fields") else inner)
        else:
            plain = _plain(one)
            found.append(one if plain is None else made[_key(plain)])
    return tuple(found)


def _package() -> str:
    from grailbench.cuda.gateway import cuda

    return cuda.jit.__module__.rpartition(".")[0]


def _name(kernel) -> str:
    module, _, rest = kernel.fn.__module__.partition(".")
    return f"{rest}:{kernel.fn.__qualname__}" if module == "grailbench" else ""


def _plain(one) -> np.ndarray | None:
    """The array of numpy behind an argument with elements; None for other arguments."""
    found = getattr(one, "_ary", one)
    return found if isinstance(found, np.ndarray) and found.ndim and found.size else None


def _same(one, other) -> bool:
    """Whether arrays came to the same, up to the order in which threads came."""
    if isinstance(one, tuple):
        return all(map(_same, one, other))
    one, other = _plain(one), _plain(other)
    if one is None or other is None:
        return True
    if other.size > far.SHIFT:
        other = other[far.SHIFT :]
    elif one.dtype != other.dtype or (one.ndim == 1 and np.array_equal(one.astype(np.int64) + far.SHIFT, other)):
        return np.array_equal(one.astype(np.int64) + far.SHIFT, other)
    return np.array_equal(one, other) or np.array_equal(np.sort(one, axis=None), np.sort(other, axis=None))


def drive(asked_of: tuple[str, ...] = ASKED) -> None:
    """Asks implementations, by small digraphs, for all kernels that take rows; wrong answers are raised."""
    from oracle_checks import Digraph, check, condensing, implementations, params_of

    from grailbench.cuda import oracle
    from grailbench.cuda.edges import build, rows
    from grailbench.problems.reachability.gpu.fused import batch

    random = np.random.default_rng(31)
    ends = np.concatenate([random.integers(0, 20, (26, 2)), [(3, v) for v in range(9, 18)]])
    known, batch.SIMULATED = batch.SIMULATED, batch.SearchSizes(1, 2, 16, 1, 2, 32, 2, 1)  # each leaves queries open
    try:
        for number, pairs in enumerate((ends, np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1))):
            digraph = Digraph("small", number, 20, pairs)
            digraph.__dict__["pairs"] = tuple(random.integers(0, 20, (2, 24)))
            for problem, name, kind in implementations(True, asked_of):
                if number or name in ("gpu-fused", "condense-bits-gpu"):
                    with condensing(True):
                        check(digraph, problem, kind, params_of(problem, kind, 3))
        asked = random.integers(0, 20, (2, 30)).astype(np.int32)
        oracle.swept_answers(digraph.dag, *asked)
        build.walk_levels_on_host(20, rows.simple_rows(20, len(pairs), *pairs.astype(np.int32).T.copy()))
        _sweep(digraph, batch.SearchSizes(warps=1, size=8, budget=0, late_size=16, late_budget=0))  # no search answers
    finally:
        batch.SIMULATED = known


def _sweep(digraph, sizes) -> None:
    from fused import searcher_on
    from oracle_checks import some_pairs

    from grailbench.problems.reachability.index import Params

    us, vs, right = some_pairs(digraph, MOST_PAIRS)
    assert np.array_equal(searcher_on(digraph.dag, Params(), sizes).search(us, vs), right), "swept with rows near"


@contextmanager
def far_launches() -> Iterator[far.World]:
    """Every launch of a kernel of grailbench in the simulator tries far rows too."""
    kind = import_module(f"{_package()}.kernel").FakeCUDAKernel
    known = kind.__call__
    with tempfile.TemporaryDirectory() as folder:
        world = far.World(folder)
        launches = Launches(world, known)
        kind.__call__ = lambda kernel, *given: launches(kernel, *given)
        try:
            yield world
        finally:
            kind.__call__ = known
