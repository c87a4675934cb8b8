"""How one question was answered, in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from grailbench.util.words import count

_SHOWN = 12  #: vertices of a path that its text shows


@dataclass(frozen=True)
class Explanation:
    """The answer to one question and where it came from. `str` of it is a text of one or two lines.

    source, target  the ids
    reachable       the answer
    by              what answered: 'same vertex', 'component' (a cycle through both); 'in-tree', 'out-tree', 'closure'
                    or 'core' of `core`; 'level', 'labels', 'tree', 'hubs' or 'search' of others; or the name of an
                    implementation that does not tell
    why             the reason in words
    looked          what a search looked at: what was counted -> how often
    path            the ids on a shortest path, both ends included; None if there is none
    """

    source: Any
    target: Any
    reachable: bool
    by: str
    why: str
    looked: dict[str, int] = field(default_factory=dict)
    path: list[Any] | None = None

    def __str__(self) -> str:
        verb = "reaches" if self.reachable else "does not reach"
        looked = "".join(f"; {number:,} {what}" for what, number in self.looked.items())
        text = f"{self.source} {verb} {self.target} (by {self.by}): {self.why}{looked}"
        return text if self.path is None else f"{text}\nshortest path: {_shown(self.path)}"

    def record(self) -> dict[str, Any]:
        """The fields as a dictionary for JSON."""
        return {name: value for name, value in vars(self).items() if value not in (None, {})}


def _shown(path: list[Any]) -> str:
    names = list(map(str, path))
    if len(names) > _SHOWN:
        half = _SHOWN // 2
        names = [*names[:half], f"({len(names) - 2 * half:,} more)", *names[-half:]]
    return f"{' -> '.join(names)} ({count(len(path) - 1, 'edge')})"
