"""A process that ends when the one that started it does, however that dies and whatever it is at itself.

Nothing heavy is imported here: this is the first thing that such a process does.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading

_PR_SET_PDEATHSIG = 1  # of <linux/prctl.h>
_LOOK_SECONDS = 0.5


def end_with(parent: int, threads: bool = True) -> None:
    """Have this process killed once `parent`, which started it, is no more; at once when that is so already.

    Linux does so by itself, in the middle of a compiled call too. Elsewhere a thread looks every half a second, unless
    `threads` are not wanted, and is heard when such a call returns.
    """
    asked = _ask_the_system()
    if os.getppid() != parent:
        os._exit(1)
    if not asked and threads:
        threading.Thread(target=_watch, args=(parent,), name="grailbench-parent", daemon=True).start()


def _ask_the_system() -> bool:
    """Ask for SIGKILL on the parent's death; False where there is no such thing."""
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
        waiting.wait(_LOOK_SECONDS)
    os._exit(1)
