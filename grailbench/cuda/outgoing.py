"""Results of any length on their way to the host, in pieces: kernels fill one while another travels.

Two pieces on the device, and two of pinned memory unless they travel to the place where they are wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from grailbench.cuda.edges import library
from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.launch import check


class _Lane(NamedTuple):
    """A stream in which pieces travel, and for each of both an event when it is filled and one when it has gone."""

    stream: object
    filled: tuple
    gone: tuple


@cache
def _lane(device: int) -> _Lane:
    from cuda.bindings import driver

    def made(answer: tuple):
        check(answer, "make a stream")
        return answer[1]

    untimed = int(driver.CUevent_flags.CU_EVENT_DISABLE_TIMING)
    stream = made(driver.cuStreamCreate(int(driver.CUstream_flags.CU_STREAM_NON_BLOCKING)))
    return _Lane(stream, *(tuple(made(driver.cuEventCreate(untimed)) for _ in range(2)) for _ in range(2)))


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

        stream, filled, gone = _lane(cuda.get_current_device().id)
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

            check(driver.cuEventSynchronize(_lane(cuda.get_current_device().id).gone[side]), "copy from the device")
        return piece

    def _settle(self) -> None:
        """Waits until nothing travels: memory may be taken by others."""
        if not simulated:
            from cuda.bindings import driver

            check(driver.cuStreamSynchronize(_lane(cuda.get_current_device().id).stream), "copy from the device")
