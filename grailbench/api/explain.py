"""How one question was answered, in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from grailbench.problems.reachability.index import Decision
from grailbench.util.words import count

if TYPE_CHECKING:
    from collections.abc import Hashable

    from grailbench.api.engine import Engine
    from grailbench.api.graph import Graph

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


def explain(graph: Graph, engine: Engine, source: Hashable, target: Hashable, path: list[Any] | None) -> Explanation:
    """Asks one question and explains its answer. Raises InputError for an id that the graph has not.

    path  the ids on a shortest path; None if there is none
    """
    u, v = graph.vertex(source), graph.vertex(target)
    a, b = int(graph.dag.component[u]), int(graph.dag.component[v])
    if u == v:
        return Explanation(source, target, True, "same vertex", "every vertex reaches itself", path=path)
    if a == b:
        size = int(np.count_nonzero(graph.dag.component == a))
        why = f"both are in one strong component of {size:,} vertices, so there is a cycle through them"
        return Explanation(source, target, True, "component", why, path=path)
    found = engine.index.decide(a, b)
    if found is None:
        why = "this implementation does not tell which of its steps answered"
        found = Decision(path is not None, engine.implementation.name, why)
    known = {a: u, b: v}
    # of other components the least vertex
    names = [graph.ids.label_of(known.get(c, int(np.argmax(graph.dag.component == c)))) for c in found.vertices]
    return Explanation(source, target, found.reachable, found.by, found.why.format(*names), found.looked, path)


def _shown(path: list[Any]) -> str:
    names = list(map(str, path))
    if len(names) > _SHOWN:
        half = _SHOWN // 2
        names = [*names[:half], f"({len(names) - 2 * half:,} more)", *names[-half:]]
    return f"{' -> '.join(names)} ({count(len(path) - 1, 'edge')})"
