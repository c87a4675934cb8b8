"""Columns of the host to the device through pinned memory: several threads copy pieces while others travel."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from itertools import count

import numpy as np

from grailbench.cuda.edges import library
from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.launch import check

PIECE, LEAST = 1 << 20, 1 << 16  #: most elements of a piece, 4 MiB, and least, if all are more
MOST = 8  #: threads; one copies 11 GB/s, and the bus takes 50


class _Lane:
    """A thread's pinned memory for two pieces, and the stream in which they travel."""

    def __init__(self):
        from cuda.bindings import driver

        self._pieces = [cuda.pinned_array(PIECE, np.int32) for _ in range(2)]
        self._context = _result(driver.cuCtxGetCurrent(), "name the context of this GPU")
        flag = driver.CUstream_flags.CU_STREAM_NON_BLOCKING
        self._stream = _result(driver.cuStreamCreate(flag), "make a stream")
        self._gone = [_result(driver.cuEventCreate(0), "make an event") for _ in range(2)]

    def carry(self, columns: list[np.ndarray], places: list[int], size: int, turns) -> None:
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

    def _send(self, columns: list[np.ndarray], places: list[int], size: int, turns) -> None:
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
    lanes = min(MOST, len(os.sched_getaffinity(0)))
    return ThreadPoolExecutor(lanes, thread_name_prefix="staging"), [_Lane() for _ in range(lanes)]


def prepare() -> None:
    """Starts the threads and pins their memory, unless done before."""
    if not simulated:
        _lanes(cuda.get_current_device().id)


def to_device(*columns: np.ndarray) -> list:
    """Copies int32 columns of equal lengths to the device, as arrays of `library`; returns when they have arrived."""
    arrays = [library.empty(each.shape[0], np.int32) for each in columns]
    length = columns[0].shape[0]
    if simulated or length <= PIECE // 4:
        for array, column in zip(arrays, columns, strict=True):
            if simulated:
                array[:length] = column
            else:
                array[:length].set(column)
        return arrays
    cuda.synchronize()  # the streams of the lanes must not overtake what used this memory before
    threads, lanes = _lanes(cuda.get_current_device().id)
    turns, places = count(), [array.data.ptr for array in arrays]
    size = min(PIECE, max(LEAST, -(-length * len(columns) // len(lanes))))  # a piece costs 10 us of the interpreter
    doing: list[Future] = []
    try:
        for lane in lanes:
            doing.append(threads.submit(lane.carry, list(columns), places, size, turns))
        wait(doing)
    finally:
        wait(doing)  # none may write to the arrays when an error or an interrupt frees them
    for done in doing:
        done.result()
    return arrays
