"""Says of one query which filter answered it, or what the search looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grailbench.problems.reachability import counters
from grailbench.problems.reachability.cpu.search import answer_blocks
from grailbench.problems.reachability.hubs import choose
from grailbench.problems.reachability.index import Decision

if TYPE_CHECKING:
    from grailbench.problems.reachability.cpu.grail import GrailIndex


def decide(index: GrailIndex, source: int, target: int) -> Decision:
    """Asks one query by the counting variant of the kernels, and reads from its counts which step answered it."""
    counts, answers = counters.zeros(), np.empty(1, np.bool_)
    batch = np.array([source], np.int32), np.array([target], np.int32), answers
    with index.scratches.lent() as scratch:
        answer_blocks((0, 1, 1), batch, index.rows, index.labels, index.hubs, scratch, index.breadth_first, counts)
    found, answer = dict(zip(counters.NAMES, counts.tolist(), strict=True)), bool(answers[0])
    if found["excluded_by_level"]:
        u, v = (int(index.dag.levels[end]) for end in (source, target))
        return Decision(answer, "level", f"{{0}} is on level {u} and {{1}} on level {v}, and every edge leads to a "
                        "greater level", (source, target))  # fmt: skip
    if found["excluded_by_labels"]:
        return Decision(answer, "labels", _excluding(index, source, target), (source, target))
    if found["accepted_by_tree"]:
        return Decision(answer, "tree", "{1} is below {0} in the spanning tree of a label pair", (source, target))
    if found["accepted_by_hubs"] or found["excluded_by_hubs"]:
        return _by_hub(index, source, target, answer)
    order = "breadth-first" if index.breadth_first else "depth-first"
    looked = {"vertices expanded": found["vertices_expanded"], "edges scanned": found["edges_scanned"]}
    end = "it arrived at {1}" if answer else "no vertex was left that could reach {1}"
    return Decision(answer, "search", f"the filters left it open; a {order} search from {{0}} ended when {end}",
                    (source, target), looked)  # fmt: skip


def _excluding(index: GrailIndex, source: int, target: int) -> str:
    """The first label pair that excludes the target, in words."""
    records = index.labels.lanes.reshape(-1, int(index.labels.width))
    for pair in range(len(index.labels.pairs)):
        start, end = records[source, 2 * pair], -records[source, 2 * pair + 1]
        first, last = records[target, 2 * pair], -records[target, 2 * pair + 1]
        if not (start <= first and last <= end):
            return (
                f"label pair {pair + 1} of {{0}}, the interval [{start}, {end}], does not contain that of {{1}}, "
                f"[{first}, {last}]"
            )
    raise AssertionError("no label pair excludes the target")


def _by_hub(index: GrailIndex, source: int, target: int, answer: bool) -> Decision:
    words = index.hubs.reshape(-1, 2)
    (forward, backward), (to_forward, to_backward) = words[source], words[target]
    if answer:
        between = choose(index.dag)[_lowest(forward & to_backward)]
        return Decision(True, "hubs", "{0} reaches {2}, and {2} reaches {1}", (source, target, int(between)))
    if beyond := int(to_forward & ~forward):
        hub = choose(index.dag)[_lowest(beyond)]
        return Decision(False, "hubs", "{1} reaches {2}, which {0} does not reach", (source, target, int(hub)))
    hub = choose(index.dag)[_lowest(backward & ~to_backward)]
    return Decision(False, "hubs", "{2} reaches {0} but not {1}", (source, target, int(hub)))


def _lowest(word) -> int:
    """The position of the lowest bit that is set."""
    word = int(word)
    return (word & -word).bit_length() - 1
