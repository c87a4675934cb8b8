"""Things that hold device memory and launches, kept when their owner is gone, as making another takes longer than use.

What they hold is let go before an allocation fails, and when memory is measured.
"""

from __future__ import annotations

from threading import RLock

from grailbench.cuda.allocator import spare

MOST = 4  #: spares of a collection that are kept


class Spares:
    """Things of several kinds; any of a kind serves whoever asks for one."""

    def __init__(self):
        self._kept: list[tuple] = []  # kind and thing, the one that was used last at the end
        self._lock = RLock()  # a garbage collection may come in between
        spare.append(self.clear)

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
            del self._kept[:-MOST]

    def clear(self) -> None:
        """Lets go of all."""
        with self._lock:
            self._kept.clear()
