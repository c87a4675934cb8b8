"""A memory manager for numba that counts allocations, keeps what is freed for the next one, and explains what fails.

Taking memory from the driver takes up to milliseconds, so dropped arrays leave their memory here, by size. All of it
goes back before an allocation fails, or by `Counting.flush`. Whoever uses another stream than the default one waits for
it before dropping an array. If NUMBA_CUDA_MEMORY_MANAGER selects another manager, nothing is counted.
"""

import os
import weakref
from threading import RLock

import psutil

from grailbench.errors import TooLittleMemory
from grailbench.util import faults
from grailbench.util.words import gib

_OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY
_LEAST, _FINE = 512, 1 << 20
#: bytes of pinned memory that are kept at most: a closure as bits, on a machine that has more than enough
MOST_PINNED = min(max(1 << 28, psutil.virtual_memory().total // 32), 1 << 33)

drops: list = []  #: functions that drop arrays which are only kept because making them takes time
managers: list = []  #: the counting manager of each device that this process uses, in the order of first use


def room_for(size: int) -> int:
    """Returns how many bytes an array of `size` bytes takes: a power of two, or a sixteenth more at most if large."""
    if size <= _FINE:
        return max(_LEAST, 1 << (size - 1).bit_length())
    step = 1 << size.bit_length() - 5
    return -(-size // step) * step


class Freed:
    """Memory that was freed, by size: pointers, and their bytes together. Any thread may use it."""

    def __init__(self, free, most: int | None = None):
        """free: gives a pointer back to the driver; most: bytes that are kept at most, None for all."""
        self._free, self._most, self._lock = free, most, RLock()  # a garbage collection may come in between
        self._pointers: dict[int, list] = {}
        self.bytes = 0

    def take(self, room: int):
        """Returns a pointer to so many bytes, or None."""
        with self._lock:
            found = self._pointers.get(room)
            if not found:
                return None
            self.bytes -= room
            return found.pop()

    def give(self, pointer, room: int) -> None:
        """Keeps a pointer to so many bytes, or gives it back to the driver."""
        with self._lock:
            if self._most is None or self.bytes + room <= self._most:
                self._pointers.setdefault(room, []).append(pointer)
                self.bytes += room
                return
        self._free(pointer)

    def flush(self) -> None:
        """Gives all memory back to the driver."""
        with self._lock:
            pointers = [pointer for found in self._pointers.values() for pointer in found]
            self._pointers.clear()
            self.bytes = 0
        for pointer in pointers:
            self._free(pointer)

    def abandon(self) -> None:
        """Keeps nothing, and gives nothing back to the driver: it takes nothing from a process that lost its GPU."""
        self._free, self._most = lambda pointer: None, 0
        self.flush()


class Taken:
    """Bytes of device memory, which their manager gets back when nobody refers to this. numba's own kind of owner takes
    four times as long to make."""

    __slots__ = ("_back", "device_pointer", "room")

    def __init__(self, pointer, room: int, back):
        self.device_pointer, self.room, self._back = pointer, room, back

    def __del__(self):
        self._back(self.device_pointer, self.room)


def install(cuda) -> None:
    """Makes numba's CUDA module `cuda` allocate by a counting manager; to be called before a context exists."""
    if os.environ.get("NUMBA_CUDA_MEMORY_MANAGER", "default") != "default":
        return  # the user's choice
    module = cuda.cudadrv.driver
    driver = module.driver

    class Counting(module.NumbaCUDAMemoryManager):
        """numba's own manager with the memory in use, its maximum `most`, in bytes, and what is kept."""

        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.most = self._used = 0
            self._lock = RLock()
            self._kept = Freed(lambda pointer: driver.cuMemFree(pointer))  # without a driver there is no such function
            self._pinned = Freed(lambda pointer: driver.cuMemFreeHost(pointer), MOST_PINNED)
            if self.context is not None:  # numba also creates a manager without a context, as a test
                managers.append(self)
                faults.when_lost.append(self.abandon)

        def in_use(self) -> int:
            """Bytes of device memory in use."""
            return self._used

        def reserved(self) -> int:
            """Bytes of device memory that are kept for later arrays."""
            return self._kept.bytes

        def flush(self) -> None:
            """Gives the memory that is kept back to the driver."""
            for drop in drops:
                drop()
            self.deallocations.clear()
            self._kept.flush()
            self._pinned.flush()

        def abandon(self) -> None:
            """Makes no call of the driver any more to give something back."""
            self._disabled = [each.disable() for each in (self.deallocations, self.context.deallocations)]
            for each in self._disabled:
                each.__enter__()
            self._kept.abandon()
            self._pinned.abandon()
            for code in list(self.context.modules.values()):
                code._finalizer.detach()

        def _use(self, room: int) -> None:
            with self._lock:
                self._used += room
                self.most = max(self.most, self._used)

        def take(self, size: int) -> Taken:
            """Returns so many bytes, more than 0. Raises TooLittleMemory."""
            return Taken(*self._take(size), self._give_back)

        def _take(self, size: int) -> tuple:
            room = room_for(size)
            pointer = self._kept.take(room)
            if pointer is None:
                pointer = self._from_driver(room, size)
            self._use(room)
            return pointer, room

        def _give_back(self, pointer, room: int) -> None:
            self._kept.give(pointer, room)
            self._use(-room)

        def memalloc(self, size):
            pointer, room = self._take(size)
            allocations, give_back = self.allocations, self._give_back

            def drop():
                allocations.pop(pointer, None)
                give_back(pointer, room)

            taken = module.AutoFreePointer(weakref.proxy(self.context), pointer, size, finalizer=drop)
            self.allocations[pointer] = taken
            return taken.own()

        def _from_driver(self, room: int, size: int):
            for last in (False, True):
                try:
                    return driver.cuMemAlloc(room)
                except module.CudaAPIError as error:
                    if error.code != _OUT_OF_MEMORY:
                        raise
                    if last:
                        info = self.get_memory_info()
                        raise TooLittleMemory(
                            f"an array of {gib(size)} beside {gib(self.in_use())} in use does not fit the "
                            f"device: {gib(info.free)} of {gib(info.total)} are free "
                            "(take a smaller graph, or a GPU with more)"
                        ) from error
                    self.flush()

        def memhostalloc(self, size, mapped=False, portable=False, wc=False):
            if mapped or portable or wc:
                return super().memhostalloc(size, mapped, portable, wc)
            room, pinned = room_for(size), self._pinned
            pointer = pinned.take(room)
            if pointer is None:
                pointer = driver.cuMemHostAlloc(room, 0)
            return module.PinnedMemory(
                weakref.proxy(self.context), pointer, size, finalizer=lambda: pinned.give(pointer, room)
            )

        def reset(self):
            super().reset()
            self.flush()

    cuda.set_memory_manager(Counting)


MOST_REUSED = 4  #: spares of a collection that are kept


class Reused:
    """Things of several kinds; any of a kind serves whoever asks for one."""

    def __init__(self):
        self._kept: list[tuple] = []  # kind and thing, the one that was used last at the end
        self._lock = RLock()  # a garbage collection may come in between
        drops.append(self.clear)

    def take(self, kind):
        """Returns one of that kind, or None if none is left."""
        with self._lock:
            for at in reversed(range(len(self._kept))):
                if self._kept[at][0] == kind:
                    return self._kept.pop(at)[1]
        return None

    def give(self, kind, thing) -> None:
        """Keeps one whose owner is gone."""
        with self._lock:
            self._kept.append((kind, thing))
            del self._kept[:-MOST_REUSED]

    def clear(self) -> None:
        """Lets go of all."""
        with self._lock:
            self._kept.clear()


def in_use() -> int | None:
    """Bytes in use on all devices; None if nothing is counted (no device in use, the simulator, another manager).

    It does not create a context.
    """
    return sum(manager.in_use() for manager in managers) if managers else None


def peak() -> int | None:
    """The greatest number of bytes in use since `restart` or the start of the process, summed over the devices."""
    return sum(manager.most for manager in managers) if managers else None


def restart() -> None:
    """Sets the maximum to what is in use now, and gives memory that is kept back to the driver."""
    for manager in managers:
        manager.flush()
        manager.most = manager.in_use()


def release() -> None:
    """Frees what numba frees late: modules, events and streams. Memory of dropped arrays is kept for later ones."""
    for manager in managers:
        manager.deallocations.clear()
