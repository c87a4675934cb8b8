"""The contract of an implementation of `counts`: it prepares a solver for a condensed graph with a number of vertices
in each component, and the solver says how many original vertices each component reaches, its own included. What users
get is one less: the *other* vertices."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from grailbench.graph.csr import Dag
from grailbench.graph.rows import transpose
from grailbench.problems import contract
from grailbench.problems.contract import NoTimer, Params, Timer, register

__all__ = ["Counted", "Implementation", "NoTimer", "Params", "Solver", "Task", "Timer", "register"]


@dataclass(frozen=True)
class Task:
    """An acyclic graph of k weighted vertices whose descendants are counted; its edges are reversed for ancestors.

    offsets, children   int64[k + 1], int32[m]   CSR, without super-root and without duplicates
    order               int32[k]                 every vertex before those it has edges to, by levels
    bounds              int64[levels + 1]        where each level begins in `order`; no edge stays within one
    sizes               int64[k]                 the original vertices of each component
    component           int32[original n]        the component of each original vertex
    """

    offsets: np.ndarray
    children: np.ndarray
    order: np.ndarray
    bounds: np.ndarray
    sizes: np.ndarray
    component: np.ndarray

    @property
    def vertices(self) -> int:
        """The number k of components."""
        return int(self.order.shape[0])

    @property
    def edges(self) -> int:
        """The number m of edges between components."""
        return int(self.children.shape[0])


def task_of(dag: Dag, ancestors: bool = False) -> Task:
    """The task of counting the descendants of all vertices of a condensed graph, or their ancestors."""
    offsets, order = dag.offsets[:-1], dag.order[1:]
    children = dag.children[: int(offsets[-1])]
    bounds = np.searchsorted(dag.levels[order], np.arange(1, dag.depth + 1))
    if ancestors:
        offsets, children = transpose(offsets, children)
        order, bounds = order[::-1], order.shape[0] - bounds[::-1]
    sizes = np.bincount(dag.component, minlength=order.shape[0])
    return Task(offsets, children, *map(np.ascontiguousarray, (order, bounds)), sizes, dag.component)


@dataclass(frozen=True)
class Counted:
    """What a solver found.

    counts  int64[k], or int64[q] of the components that were asked: the original vertices that each one reaches, its
            own included
    error   the relative standard error of estimates; None for exact counts
    """

    counts: np.ndarray
    error: float | None = None


class Solver(contract.Solver):
    """Counts, any number of times."""

    held_bytes: int = 0

    def __init__(self, task: Task, params: Params):
        self._task, self._workers = task, params.workers

    @abstractmethod
    def solve(self, batch: np.ndarray | None, timer: Timer) -> Counted:
        """The counts of the components of a batch, int32[q], or of all if that is None."""


class Implementation(contract.Prepared):
    """A way to count: prepares a `Solver` for a `Task`.

    sample  an implementation that searches from each vertex is asked this many vertices, drawn by the seed, of a graph
            that has more
    """

    problem: ClassVar[str] = "counts"
    sample: ClassVar[int | None] = None
