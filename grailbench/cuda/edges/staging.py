"""Columns of the host to the device through pinned memory, and results of any length on their way back, in pieces:
several threads copy, or kernels fill, one piece while another travels.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from itertools import count, pairwise
from typing import NamedTuple

import numpy as np

from grailbench.cuda.edges import library
from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.launch import check
from grailbench.util.cores import usable_cores

PIECE, LEAST = 1 << 20, 1 << 16  #: most elements of a piece, 4 MiB, and least, if all are more
MOST = 8  #: threads; one copies 11 GB/s, and the bus takes 50
MANY = 1 << 21  #: pairs from which on several threads copy a batch; with a million they take twice as long as one


class _Lane:
    """A thread's pinned memory for two pieces, and the stream in which they travel."""

    def __init__(self):
        from cuda.bindings import driver

        self._pieces = [cuda.pinned_array(PIECE, np.int32) for _ in range(2)]
        self._context = _result(driver.cuCtxGetCurrent(), "name the context of this GPU")
        flag = driver.CUstream_flags.CU_STREAM_NON_BLOCKING
        self._stream = _result(driver.cuStreamCreate(flag), "make a stream")
        self._gone = [_result(driver.cuEventCreate(0), "make an event") for _ in range(2)]

    def carry(self, columns: list[np.ndarray], places: Sequence[int], size: int, turns) -> None:
        """Takes pieces of `size` elements by turns until none is left; returns when its own have arrived.

        places: device addresses.
        """
        from cuda.bindings import driver

        check(driver.cuCtxSetCurrent(self._context), "use the context of this GPU")
        try:
            self._send(columns, places, size, turns)
        finally:
            arrived = driver.cuStreamSynchronize(self._stream)
        check(arrived, "copy to the device")

    def _send(self, columns: list[np.ndarray], places: Sequence[int], size: int, turns) -> None:
        from cuda.bindings import driver

        each = -(-columns[0].shape[0] // size)
        side, used = 0, [False, False]
        for number in turns:  # next() of a count is one step of the interpreter, so no two lanes get the same
            if number >= each * len(columns):
                break
            column, low = columns[number // each], number % each * size
            piece = self._pieces[side][: min(size, column.shape[0] - low)]
            if used[side]:
                check(driver.cuEventSynchronize(self._gone[side]), "wait for a copy")
            np.copyto(piece, column[low : low + piece.shape[0]])
            to = places[number // each] + 4 * low
            check(driver.cuMemcpyHtoDAsync(to, piece.ctypes.data, piece.nbytes, self._stream), "copy to the device")
            check(driver.cuEventRecord(self._gone[side], self._stream), "record an event")
            used[side], side = True, 1 - side


def _result(answer: tuple, doing: str):
    check(answer, doing)
    return answer[1]


@cache
def _lanes(device: int) -> tuple[ThreadPoolExecutor, list[_Lane]]:
    """Returns threads and lanes, which are kept: pinning memory takes longer than copying it."""
    lanes = min(MOST, usable_cores())
    return ThreadPoolExecutor(lanes, thread_name_prefix="staging"), [_Lane() for _ in range(lanes)]


def prepare() -> None:
    """Starts the threads and pins their memory, unless done before."""
    if not simulated:
        _lanes(cuda.get_current_device().id)


def many(pairs: int) -> bool:
    """Whether several threads copy a batch of so many pairs."""
    return pairs >= MANY and not simulated


def to_device(*columns: np.ndarray) -> list:
    """Copies int32 columns of equal lengths to the device, as arrays of `library`; returns when they have arrived."""
    arrays = [library.empty(each.shape[0], np.int32) for each in columns]
    if not simulated and columns[0].shape[0] > PIECE // 4:
        bring(columns, [array.data.ptr for array in arrays])
        return arrays
    for array, column in zip(arrays, columns, strict=True):
        if simulated:
            array[: column.shape[0]] = column
        else:
            array[: column.shape[0]].set(column)
    return arrays


def bring(columns: Sequence[np.ndarray], places: Sequence[int]) -> None:
    """Copies int32 columns of equal lengths to addresses on the device; returns when they have arrived."""
    cuda.synchronize()  # the streams of the lanes must not overtake what used this memory before
    threads, lanes = _lanes(cuda.get_current_device().id)
    length, turns = columns[0].shape[0], count()
    size = min(PIECE, max(LEAST, -(-length * len(columns) // len(lanes))))  # a piece costs 10 us of the interpreter
    _finish(threads.submit(lane.carry, list(columns), places, size, turns) for lane in lanes)


def spread(source: np.ndarray, to: np.ndarray) -> None:
    """Copies an array of the host, a long one by the threads that copy columns."""
    if not many(source.shape[0]):
        to[:] = source
        return
    threads, lanes = _lanes(cuda.get_current_device().id)
    cuts = [source.shape[0] * i // len(lanes) for i in range(len(lanes) + 1)]
    _finish(threads.submit(np.copyto, to[low:end], source[low:end]) for low, end in pairwise(cuts))


def _finish(tasks: Iterable[Future]) -> None:
    """Waits for tasks, which start as they are iterated over, and raises what one of them raised."""
    begun: list[Future] = []
    try:
        for task in tasks:
            begun.append(task)
        wait(begun)
    finally:
        wait(begun)  # none may write to an array when an error or an interrupt frees it
    for task in begun:
        task.result()


class _Outward(NamedTuple):
    """A stream in which pieces travel, and for each of both an event when it is filled and one when it has gone."""

    stream: object
    filled: tuple
    gone: tuple


@cache
def _outward(device: int) -> _Outward:
    from cuda.bindings import driver

    untimed = int(driver.CUevent_flags.CU_EVENT_DISABLE_TIMING)
    stream = _result(driver.cuStreamCreate(int(driver.CUstream_flags.CU_STREAM_NON_BLOCKING)), "make a stream")
    events = [_result(driver.cuEventCreate(untimed), "make an event") for _ in range(4)]
    return _Outward(stream, tuple(events[:2]), tuple(events[2:]))


class Outgoing:
    """Two pieces of `size` elements on the device; one way at a time is under way in a process."""

    def __init__(self, size: int, dtype):
        self.size, self._dtype = size, np.dtype(dtype)
        with library.counted():
            self._there = [library.empty(size, dtype) for _ in range(2)]

    def pieces(self, fills: Iterable[tuple[Callable[[object], None], int]]) -> Iterator[np.ndarray]:
        """Yields what each of `fills` writes, its first elements, in pinned memory that the next piece but one takes.

        fills: pairs of a function, which launches kernels that fill a piece of the device and does not wait, and how
        many elements, at most `size`, these are.
        """
        here = [np.empty(self.size, self._dtype) if simulated else cuda.pinned_array(self.size, self._dtype)
                for _ in range(2)]  # fmt: skip
        waiting = None
        try:
            for number, (fill, count) in enumerate(fills):
                side = number % 2
                self._send(side, fill, here[side][:count], number >= 2)
                if waiting is not None:
                    yield self._arrived(*waiting)
                waiting = side, here[side][:count]
            if waiting is not None:
                yield self._arrived(*waiting)
        finally:
            self._settle()

    def carry(self, fills: Iterable[tuple[Callable[[object], None], int]], to: np.ndarray) -> None:
        """Puts what each of `fills` writes one after the other into pinned memory; returns when all has arrived."""
        at = 0
        try:
            for number, (fill, count) in enumerate(fills):
                self._send(number % 2, fill, to[at : at + count], number >= 2)
                at += count
        finally:
            self._settle()

    def _send(self, side: int, fill: Callable[[object], None], to: np.ndarray, used: bool) -> None:
        there = self._there[side]
        if simulated:
            fill(there)
            to[:] = there[: to.shape[0]]
            return
        from cuda.bindings import driver

        stream, filled, gone = _outward(cuda.get_current_device().id)
        if used:
            check(driver.cuStreamWaitEvent(0, gone[side], 0), "wait for a copy")
        fill(there)
        check(driver.cuEventRecord(filled[side], 0), "record an event")
        check(driver.cuStreamWaitEvent(stream, filled[side], 0), "wait for a kernel")
        check(driver.cuMemcpyDtoHAsync(to.ctypes.data, there.data.ptr, to.nbytes, stream), "copy from the device")
        check(driver.cuEventRecord(gone[side], stream), "record an event")

    def _arrived(self, side: int, piece: np.ndarray) -> np.ndarray:
        if not simulated:
            from cuda.bindings import driver

            check(driver.cuEventSynchronize(_outward(cuda.get_current_device().id).gone[side]), "copy from the device")
        return piece

    def _settle(self) -> None:
        """Waits until nothing travels: memory may be taken by others."""
        if not simulated:
            from cuda.bindings import driver

            check(driver.cuStreamSynchronize(_outward(cuda.get_current_device().id).stream), "copy from the device")
