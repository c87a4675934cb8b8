"""Device memory that runs out at each allocation in turn, of every implementation on a GPU.

    python tests/faults/exhaust.py --record gpu-memory

An implementation answers on a small graph once, and its allocations are counted: device memory, pinned memory of the
host, and memory of CuPy. Then it is asked as often as it allocates, and each time another allocation fails. It must end
with one line that says what to do, or go on without, give all memory back, and answer right when it is asked again; so
must an index whose batch failed. On a GPU the driver's calls fail; in numba's simulator (NUMBA_ENABLE_CUDASIM=1) the
functions that make arrays fail in place of the driver. Exit code 1 if anything was wrong.
"""

import gc
import re
import weakref
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import product
from time import monotonic

import click
import numpy as np
import oracle_checks
import record

#: the digraph that is asked: a diamond that ends in a cycle, an edge twice, a self-loop, an isolated vertex
EDGES, VERTICES = ((0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 3), (0, 1), (2, 2)), 6
#: of the parameters there: one pair of labels, room for a closure; two pairs, and none
NUMBERS = 8, 4
ONE_LINE = re.compile(r"[^\n]+ \([^\n()]+\)")  #: what is wrong, and in parentheses what to do
DRIVER_SLACK = 16 << 20  #: bytes by which the driver's free memory may differ in the end: others may use the GPU
OUT_OF_MEMORY = 2
AGAIN = 4  #: after so many failures, and the last one, everything is asked again


@dataclass
class Tried:
    """What became of one implementation: allocations, how many of them failed in turn, and what was wrong."""

    allocations: int = 0
    failed: int = 0  #: with one line, and all memory given back
    went_on: int = 0  #: without what was asked for, with right answers
    in_batches: int = 0  #: of those that failed, in the midst of a batch
    faults: list[str] = field(default_factory=list)


class Memory:
    """Counts allocations, and has the one fail that it is told to."""

    def __init__(self):
        self.asked, self.fails_at, self.hit = 0, None, False

    def turn(self) -> bool:
        """Whether the allocation that begins is to fail."""
        self.asked += 1
        self.hit |= (now := self.asked == self.fails_at)
        return now

    def begin(self, fails_at: int | None = None) -> None:
        """Counts from now on."""
        self.asked, self.fails_at, self.hit = 0, fails_at, False

    def live(self) -> int:
        """Bytes in use, when all that is only kept for later was let go."""
        from grailbench.cuda.allocator import drops

        gc.collect()
        for drop in drops:
            drop()
        return self.bytes()

    def bytes(self) -> int:
        raise NotImplementedError

    def free(self) -> int | None:
        """Bytes that the driver has free."""
        return None


class CudaAPIError(RuntimeError):
    """As numba's, which its simulator lacks."""

    def __init__(self, code: int, what: str):
        self.code = code
        super().__init__(f"[{code}] {what}")


class Simulated(Memory):
    """Functions that make arrays; memory is that of arrays that something still holds."""

    MAKING = ("device_array", "to_device", "pinned_array", "mapped_array")

    def __init__(self):
        from grailbench.cuda.edges import library
        from grailbench.cuda.gateway import cuda

        super().__init__()
        self._made: list[weakref.ref] = []
        for name in self.MAKING:
            setattr(cuda, name, self._counted(getattr(cuda, name), name))
        library.empty = self._counted(library.empty, "empty")

    def _counted(self, make: Callable, name: str) -> Callable:
        def made(*args, **options):
            if self.turn():
                if name == "pinned_array":
                    raise CudaAPIError(OUT_OF_MEMORY, "Call to cuMemHostAlloc results in CUDA_ERROR_OUT_OF_MEMORY")
                self._refuse()
            array = make(*args, **options)
            self._made.append(weakref.ref(array))
            return array

        return made

    @staticmethod
    def _refuse() -> None:
        from enum import IntEnum

        from grailbench.cuda.launch import check

        check((IntEnum("Code", {"CUDA_ERROR_OUT_OF_MEMORY": OUT_OF_MEMORY})(OUT_OF_MEMORY),), "take memory")

    def bytes(self) -> int:
        left = [array for each in self._made if (array := each()) is not None]
        self._made = [weakref.ref(array) for array in left]
        return sum(int(np.prod(array.shape)) * np.dtype(array.dtype).itemsize for array in left)


class OnDevice(Memory):
    """The driver's calls, under this package's memory manager, and CuPy's own pool."""

    def __init__(self):
        from grailbench.cuda import allocator, describe, gateway

        gateway.require()
        describe.current_device()
        super().__init__()
        self._manager = allocator.managers[0]
        module = gateway.cuda.cudadrv.driver
        self._driver, self._error, self._refusing = module.driver, module.CudaAPIError, False
        self._context = gateway.cuda.current_context()
        kind, allocate = type(self._manager), self._driver.cuMemAlloc
        take, pin = kind._take, kind.memhostalloc

        def of_driver(size):
            if self._refusing:
                raise self._error(OUT_OF_MEMORY, "Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY")
            return allocate(size)

        def taken(manager, size):
            if self.turn():  # what is kept does not help: the driver is asked, twice
                self._refusing = True
                try:
                    manager._from_driver(allocator.room_for(size), size)
                finally:
                    self._refusing = False
            return take(manager, size)

        def pinned(manager, *args, **options):
            if self.turn():
                raise self._error(OUT_OF_MEMORY, "Call to cuMemHostAlloc results in CUDA_ERROR_OUT_OF_MEMORY")
            return pin(manager, *args, **options)

        self._driver.cuMemAlloc, kind._take, kind.memhostalloc = of_driver, taken, pinned
        self._pool = None
        try:
            import cupy
        except ImportError:
            return
        self._pool = cupy.get_default_memory_pool()

        def of_cupy(size):
            if self.turn():
                raise cupy.cuda.memory.OutOfMemoryError(size, self._pool.total_bytes())
            return self._pool.malloc(size)

        cupy.cuda.set_allocator(of_cupy)

    def bytes(self) -> int:
        if self._pool is None:
            return self._manager.in_use()
        return self._manager.in_use() + self._pool.used_bytes()

    def free(self) -> int:
        self.live()
        self._manager.flush()
        if self._pool is not None:
            self._pool.free_all_blocks()
        return int(self._context.get_memory_info().free)


def memory() -> Memory:
    """The allocator of this process, made to fail; to be called once."""
    from grailbench.cuda.gateway import simulated

    return Simulated() if simulated else OnDevice()


def exhausted(of: Memory, work: Callable[[], object], result: Tried, every: int = 1) -> int:
    """Has `work` fail at each of its allocations, or one of so many; returns how many it makes."""
    from grailbench.util.guard import guarded

    def right(when: str) -> None:
        of.begin()
        again = guarded(work)
        if again.status != "ok":
            result.faults.append(f"{when}: {again.status}: {again.reason}")

    right("before")
    of.live()
    right("before")
    allocations = of.asked
    if result.faults:
        return allocations
    gc.freeze()
    for at in range(1, allocations + 1, every):
        before = of.live()
        of.begin(at)
        outcome = guarded(work)
        of.fails_at = None
        status, reason = outcome.status, outcome.reason
        del outcome
        if not of.hit:
            if status != "ok":
                result.faults.append(f"before allocation {at} of {allocations}: {status}: {reason}")
            continue
        if status == "ok":
            result.went_on += 1
            continue
        result.failed += 1
        if status != "out of memory" or not ONE_LINE.fullmatch(reason or ""):
            result.faults.append(f"allocation {at} of {allocations}: {status}: {reason}")
        if (left := of.live() - before) != 0:
            result.faults.append(f"allocation {at} of {allocations}: {left} bytes are not given back")
        if result.failed % AGAIN == 0 or at + every > allocations:
            right(f"after allocation {at} of {allocations}")
    return allocations


def in_batches(
    of: Memory, found: oracle_checks.Digraph, implementation: type, params, result: Tried, every: int = 1
) -> None:
    """Has a batch fail at each of its allocations, and asks the same index again."""
    from grailbench.problems.reachability.index import NoTimer
    from grailbench.util.guard import guarded

    sources, targets = oracle_checks.asked_of(found, implementation)
    right = found.answers(sources, targets)
    places = [found.dag.component[ends].astype(np.int32) for ends in (sources, targets)]
    at, asked_for = 1, 1
    while at <= asked_for:
        of.live()
        index = implementation.build(found.dag, params, NoTimer())
        of.begin(at)
        outcome = guarded(lambda index=index: index.query_batch(*places, NoTimer()))
        of.fails_at = None
        if outcome.status == "ok":
            asked_for = of.asked
        else:
            result.in_batches += 1
            asked_for = at + every  # as many as are reached
        if of.hit and outcome.status not in ("ok", "out of memory"):
            result.faults.append(f"allocation {at} of a batch: {outcome.status}: {outcome.reason}")
        again = guarded(lambda index=index: index.query_batch(*places, NoTimer()))
        if again.status != "ok" or not np.array_equal(again.value, right):
            wrong = again.reason or "other answers"
            result.faults.append(f"after allocation {at} of a batch, of the same index: {wrong}")
        del index, outcome, again
        at += every


def tried(of: Memory, problem, implementation: type, every: int) -> Tried:
    """Tries one implementation, condensing on the host and, where that takes other memory, on the device."""
    result = Tried()
    found = oracle_checks.Digraph("small", NUMBERS[0], VERTICES, np.array(EDGES))
    ways = {}  # by allocations, as another way to condense is not always another way to allocate
    for number, on_device in product(NUMBERS if problem.name == "reachability" else NUMBERS[:1], (False, True)):
        params = oracle_checks.params_of(problem, implementation, number)
        with oracle_checks.condensing(on_device):
            for _ in range(2):  # the first loads kernels
                of.begin()
                oracle_checks.check(found, problem, implementation, params)
        ways.setdefault(of.asked, (params, on_device))
    free = of.free()
    for params, on_device in ways.values():
        with oracle_checks.condensing(on_device):
            work = partial(oracle_checks.check, found, problem, implementation, params)
            result.allocations += exhausted(of, work, result, every)
            if problem.name == "reachability":
                in_batches(of, found, implementation, params, result, every)
    found.works.clear()
    if free is not None and (lost := free - of.free()) > DRIVER_SLACK:
        result.faults.append(f"the driver has {lost} bytes less free than before")
    return result


@record.program(
    "GPU",
    "Device memory that runs out, at any allocation, ends in one line, is all given back, and the process goes on.",
)
@click.option("--only", multiple=True, help="PROBLEM/IMPLEMENTATION; may repeat.")
@click.option("--every", default=1, show_default=True, help="Fail at one of so many allocations.")
@click.option("--seconds", type=float, default=float("inf"), help="Begin no implementation after so long.")
def main(only: tuple[str, ...], every: int, seconds: float) -> record.Found:
    began, of, results = monotonic(), memory(), {}
    every_one = list(oracle_checks.implementations(True, only))
    for problem, name, implementation in every_one:
        if monotonic() < began + seconds:
            found = results[f"{problem.name}/{name}"] = tried(of, problem, implementation, every)
            print(f"{problem.name}/{name}: {found.failed} failed of {found.allocations}, {found.went_on} went on, "
                  f"{found.in_batches} in batches, {len(found.faults)} faults", flush=True)  # fmt: skip
    faults = [f"{name}: {fault}" for name, each in results.items() for fault in each.faults]
    record.warn(faults[:60])
    failed = sum(each.failed + each.in_batches for each in results.values())
    figure = f"{len(results)} implementations, {failed:,} failed allocations, {len(faults)} faults"
    details = {"memory": type(of).__name__, "every": every,
               "implementations": {name: asdict(each) for name, each in results.items()}}  # fmt: skip
    return record.Found(figure, faults, details, undone=len(results) < len(every_one))


if __name__ == "__main__":
    main()
