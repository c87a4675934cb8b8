"""A memory manager for numba that counts allocations (see `device.memory`) and explains those that fail."""

from __future__ import annotations

import os

from grailbench.errors import TooLittleMemory
from grailbench.words import gib

_OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY

managers: list = []  #: the counting manager of each device that this process uses, in the order of first use


def install(cuda) -> None:
    """Makes numba's CUDA module `cuda` allocate by a counting manager; to be called before a context exists."""
    if os.environ.get("NUMBA_CUDA_MEMORY_MANAGER", "default") != "default":
        return  # the user's choice
    driver = cuda.cudadrv.driver

    class Counting(driver.NumbaCUDAMemoryManager):
        """numba's own manager with a maximum of the memory in use, `most`, in bytes."""

        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.most = 0
            if self.context is not None:  # numba also creates a manager without a context, as a test
                managers.append(self)

        def held(self) -> int:
            """Bytes of device memory in use, including dropped arrays that are not freed yet."""
            taken = list(self.allocations.values())  # a copy, because a garbage collection can change it at any time
            used = sum(each.size for each in taken if isinstance(each, driver.AutoFreePointer))
            return used + int(self.deallocations._size)

        def memalloc(self, size):
            try:
                taken = super().memalloc(size)
            except driver.CudaAPIError as error:
                if error.code != _OUT_OF_MEMORY:
                    raise
                info = self.get_memory_info()
                raise TooLittleMemory(
                    f"an array of {gib(size)} beside {gib(self.held())} in use does not fit the "
                    f"device: {gib(info.free)} of {gib(info.total)} are free"
                ) from error
            self.most = max(self.most, self.held())
            return taken

    cuda.set_memory_manager(Counting)
