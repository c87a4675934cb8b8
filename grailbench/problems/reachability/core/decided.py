"""Says of one query which step of `core` answered it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grailbench.problems.contract import NoTimer
from grailbench.problems.reachability.index import Decision

if TYPE_CHECKING:
    from grailbench.problems.reachability.core.index import CoreIndex


def decide(index: CoreIndex, source: int, target: int) -> Decision:
    """Asks one query, and reads from the records which step answered it."""
    ends = np.array([source], np.int32), np.array([target], np.int32)
    answer = bool(index.query_batch(*ends, NoTimer())[0])
    if source == target:
        return Decision(answer, "same", "{0} and {1} are the same vertex, or in one component", (source, target))
    if source == index.dag.super_root:
        return Decision(answer, "root", "{0} is the super-root, which reaches everything", (source, target))
    if index.tree is not None:
        side = "in-tree" if index.upward else "out-tree"
        return Decision(answer, side, _placed(answer, side), (source, target))
    (_, row, low, length), (place, column) = index.sources[source].tolist(), index.targets[target].tolist()
    if place < index.above:
        return Decision(answer, "in-tree", _placed(answer, "in-tree"), (source, target))
    if length and low <= place < low + length:
        return Decision(answer, "out-tree", _placed(answer, "out-tree"), (source, target))
    if row == index.sources[-1, 1] or column <= index.above:
        end = "{0} reaches nothing of the core" if row == index.sources[-1, 1] else "nothing of the core reaches {1}"
        return Decision(answer, "core", f"{end} that lies outside of its trees", (source, target))
    gates = index.gates(source, target)
    whose = "the packed closure of the core" if index.inner is None else index.inner.words
    said = "yes" if answer else "no"
    why = f"{{0}} reaches what {{2}} does, {{1}} is reached by what {{3}} is, and {whose} says {said}"
    return Decision(answer, "closure" if index.inner is None else "core", why, (source, target, *gates))


def _placed(answer: bool, side: str) -> str:
    if side == "in-tree":
        return f"{{0}} is {'' if answer else 'not '}above {{1}} in an in-tree, the only way to {{1}}"
    return f"{{1}} is {'' if answer else 'not '}below what {{0}} leads to in an out-tree"
