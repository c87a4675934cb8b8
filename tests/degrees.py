"""A problem that no package has: the greatest out-degree of a graph. It shows all that a new problem takes."""

import numpy as np

from grailbench.data.library import open_raw
from grailbench.problems import contract
from grailbench.problems.contract import Attempt, NoTimer, Params, Problem, Spec, Trial, Verdict, Workload, register


class Implementation(contract.Implementation):
    """A way to find the greatest out-degree."""

    problem = "degree"

    @classmethod
    def solve(cls, graph, timer):
        """The number, of a raw graph."""
        raise NotImplementedError


class Degree(Problem):
    """Phase: `count`."""

    name, asks, count, counted = "degree", "vertices", 1, False
    modules, usual, phases = ("degrees",), ("bincount",), ("count",)
    answer = "greatest out-degree"
    from_edges = False

    def params(self, **axes):
        return Params(seed=axes["seed"])

    def open(self, name):
        return open_raw(name)

    def spec(self, text, count, seed):
        return Spec("all")

    def data(self, graph, spec):
        return graph.graph

    def workload(self, spec, graph, data, checks):
        return Greatest(data)

    def attempt(self, implementation, params, data, asked, peaks):
        return Attempt(implementation.solve(data, NoTimer()), memory=peaks())

    def trial(self, implementation, params, data, asked, timer, edges=None):
        with timer.phase("count"):
            found = implementation.solve(data, timer)
        return Trial(f"{found:016x}")


class Greatest(Workload):
    """One number, found edge by edge."""

    method = "edge by edge"

    def __init__(self, graph):
        self.size, counts = graph.vertices, {}
        for source in graph.sources.tolist():
            counts[source] = counts.get(source, 0) + 1
        self._right = max(counts.values(), default=0)

    size = 0

    def describe(self):
        return f"the greatest of {self.size} out-degrees"

    def judge(self, key, attempt):
        fault = None if attempt.answers == self._right else f"{attempt.answers}, and it is {self._right}"
        return Verdict(fault, attempt.answers, f"{attempt.answers:016x}", None, {}, attempt.memory)


class Bincount(Implementation):
    """By numpy."""

    name, source = "bincount", "numpy"

    @classmethod
    def solve(cls, graph, timer):
        return int(np.bincount(graph.sources, minlength=1).max())


class Guess(Implementation):
    """Always seven."""

    name, source = "guess", "nobody"

    @classmethod
    def solve(cls, graph, timer):
        return 7


def register_all():
    """What `@register` does, once the problem has its line in `contract.PROBLEMS`."""
    for made in (Bincount, Guess):
        register(made)
