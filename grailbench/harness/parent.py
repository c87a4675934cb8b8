"""Ending a process when its parent process has ended, however the parent ended.

This runs first in a new process, so it imports only cheap modules.
"""

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1  # of <linux/prctl.h>


def end_with(parent: int) -> None:
    """Have Linux kill this process once its parent process, of id `parent`, has ended, also during a compiled call; end
    it now if the parent has already ended."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
