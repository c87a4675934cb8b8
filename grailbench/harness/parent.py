"""Ending a process when its parent process has ended, however the parent ended.

This runs first in a new process, so it imports only cheap modules.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading

_PR_SET_PDEATHSIG = 1  # of <linux/prctl.h>
_POLL_SECONDS = 0.5


def end_with(parent: int, threads: bool = True) -> None:
    """Kill this process once its parent process, of id `parent`, has ended; at once when it already has.

    Linux does this itself, also during a compiled call. On other systems, if `threads` is true, a thread checks
    every half second; it cannot act during a compiled call.
    """
    asked = _ask_the_system()
    if os.getppid() != parent:
        os._exit(1)
    if not asked and threads:
        threading.Thread(target=_watch, args=(parent,), name="grailbench-parent", daemon=True).start()


def _ask_the_system() -> bool:
    """Ask the system for a SIGKILL when the parent ends. Returns False where that is not supported."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        return prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0) == 0
    except (OSError, AttributeError):
        return False


def _watch(parent: int) -> None:
    waiting = threading.Event()
    while os.getppid() == parent:
        waiting.wait(_POLL_SECONDS)
    os._exit(1)
