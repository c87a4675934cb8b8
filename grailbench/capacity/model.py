"""Predictions of a time or of memory: sums of terms whose constants are fitted to recorded runs.

Constants are fitted with least squares of the relative errors, none of them negative. Each graph has the same weight,
however many cells it has. A row of the check predicts a graph with constants fitted to all other graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grailbench.capacity.machine import Machine
from grailbench.capacity.terms import TERMS
from grailbench.capacity.work import Work

_ROUNDS = 30  # of weighing errors by the prediction too, so that half and double count alike
_LEAST_SHARE = 0.1  # of the whole, that a part is weighed with


@dataclass(frozen=True)
class Part:
    """A part of a quantity that is predicted by itself: phases of a build, or the whole.

    phases  of `ready`, summed up; () for the whole
    terms   names in `TERMS`
    """

    phases: tuple[str, ...]
    terms: tuple[str, ...]


@dataclass(frozen=True)
class Model:
    """How a quantity is predicted: the sum of its parts, in ms or bytes."""

    name: str
    parts: tuple[Part, ...]

    def terms(self, work: Work, machine: Machine) -> list[float]:
        """The terms of all parts, in their order."""
        return [TERMS[name][1](work, machine) for part in self.parts for name in part.terms]

    def predicted(self, constants: Sequence[float], work: Work, machine: Machine) -> float:
        return float(np.dot(constants, self.terms(work, machine)))


@dataclass(frozen=True)
class Sample:
    """A recorded cell: its graph, the edges of that file, its configuration, its terms, and what was measured.

    terms   float64[terms of the model]
    parts   float64[parts of the model], whose sum is the measured value
    """

    graph: str
    edges: int
    label: str
    terms: np.ndarray
    parts: np.ndarray

    @property
    def measured(self) -> float:
        return float(self.parts.sum())


def fitted(model: Model, samples: Sequence[Sample]) -> np.ndarray:
    """The constants of a model, float64[terms], fitted to some samples."""
    share = {name: sum(sample.graph == name for sample in samples) for name in {sample.graph for sample in samples}}
    found, first = [], 0
    for number, part in enumerate(model.parts):
        last = first + len(part.terms)
        terms = np.array([sample.terms[first:last] for sample in samples])
        values = np.array([sample.parts[number] for sample in samples])
        least = _LEAST_SHARE * np.array([sample.measured for sample in samples])
        weights = np.array([share[sample.graph] ** -0.5 for sample in samples])
        found.append(_least_squares(terms, values, np.maximum(values, least), weights, len(model.parts) == 1))
        first = last
    return np.concatenate(found)


def _least_squares(terms, values, scale, weights, again: bool) -> np.ndarray:
    from scipy.optimize import nnls

    left, right = terms / scale[:, None], values / scale
    constants = nnls(left * weights[:, None], right * weights)[0]
    for _ in range(_ROUNDS if again else 0):
        by = weights / np.sqrt(np.maximum(left @ constants, 1e-9))
        before, constants = constants, nnls(left * by[:, None], right * by)[0]
        if np.allclose(before, constants, rtol=1e-4):
            break
    return constants


def left_out(model: Model, samples: Sequence[Sample]) -> list[float]:
    """The prediction of each sample with constants fitted to the samples of all other graphs."""
    constants = {
        graph: fitted(model, [sample for sample in samples if sample.graph != graph])
        for graph in {sample.graph for sample in samples}
    }
    return [float(constants[sample.graph] @ sample.terms) for sample in samples]
