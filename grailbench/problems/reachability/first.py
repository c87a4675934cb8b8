"""What is compiled for a first answer and for the first cell, in parts that need nothing of one another, for `ahead`."""

import numpy as np

from grailbench.graph.csr import Dag, Graph
from grailbench.problems.reachability.index import NoTimer, Params
from grailbench.util.ahead import Job


def of_answer(index: bool) -> list[Job]:
    """The jobs of a first answer, by `core` if by an `index`; those are first that come last."""
    return [Job(f"{__name__}:{name}") for name in ("answer", "condensed")[not index :]]


def path() -> Dag:
    """A path of two vertices, and the super-root, condensed without a kernel."""
    ints = (np.array(each, np.int32) for each in ([1, 0], [1, 2, 0], [2, 0, 1], [0, 1]))
    children, levels, order, component = ints
    return Dag(np.array([0, 1, 1, 2]), children, levels, order, component)


def answer() -> None:
    """`core`, of a forest, and a single pair."""
    from grailbench.problems.reachability.core.index import Core

    pair = Core.build(path(), Params(), NoTimer()).one_pair(None)
    pair.quick(pair.at, 0, 1)


def condensed() -> None:
    """Condensing edges in no order, and rows of parents."""
    from grailbench.graph.condense import condense

    condense(Graph(3, np.array([1, 0], np.int32), np.array([2, 1], np.int32))).parents  # noqa: B018


def checked() -> None:
    """The oracle of graphs of few vertices."""
    from grailbench.graph.oracle import closure_answers

    ends = np.array([0, 1], np.int32), np.array([1, 0], np.int32)
    closure_answers(path(), *ends)
