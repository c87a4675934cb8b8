"""The barrier of a whole grid, which turns a chain of launches into one."""

from __future__ import annotations

import threading

from grailbench.device.gateway import cuda, simulated


def _simulated_grid_barrier():
    threading.current_thread().syncthreads()


def _grid_barrier():
    cuda.cg.this_grid().sync()


#: Device function: no thread of the grid passes before all have arrived, and what they wrote before is seen after.
#: The kernel must be launched cooperatively (`launch.cooperative_shape`), and every thread must arrive as often.
#: The simulator has one block only and swaps `cuda` in a kernel's module, not safely in another's: plain Python there.
grid_barrier = _simulated_grid_barrier if simulated else cuda.jit(device=True)(_grid_barrier)
