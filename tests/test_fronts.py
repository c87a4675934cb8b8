"""Pareto fronts and break-even numbers against their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grailbench.compare.costs import Cost, Timed, break_even, break_even_interval, envelope, front

few = st.integers(0, 12)
points = st.lists(st.tuples(few, few), max_size=12)
costs = st.lists(st.builds(Cost, st.integers(0, 60), few), min_size=1, max_size=8)
MOST = 70  #: queries; lines of `costs` cross before


@given(points)
def test_on_the_front_is_what_no_other_is_nowhere_more_and_somewhere_less_than(found):
    for (x, y), kept in zip(found, front(found), strict=True):
        assert kept == (not [1 for a, b in found if a <= x and b <= y and (a < x or b < y)])
    kept = front([*found, *found])  # equal points stay together
    assert any(kept) == bool(found)
    assert kept[: len(found)] == kept[len(found) :]


@given(st.tuples(few, few).map(lambda pair: Cost(*pair)), st.tuples(few, few).map(lambda pair: Cost(*pair)),
       st.integers(0, 2))  # fmt: skip
def test_a_build_pays_from_the_least_number_on_from_which_it_never_costs_more(own, other, least):
    found = break_even(own, other, least)
    if own.each >= other.each:
        assert found == math.inf
    else:
        assert found == next(n for n in range(least, MOST) if own.of(n) <= other.of(n))
        assert all(own.of(n) <= other.of(n) for n in range(found, MOST))


@given(costs, st.integers(0, 2))
def test_for_each_number_of_queries_the_step_is_cheapest(found, least):
    steps = envelope(found, lambda cost: cost, least)
    since = [step.since for step in steps]
    assert since == sorted(set(since))
    assert since[0] == least
    for n in range(least, MOST):
        (chosen,) = [s.option for s, end in zip(steps, [*since[1:], math.inf], strict=True) if s.since <= n < end]
        assert chosen.of(n) == min(cost.of(n) for cost in found)


def test_of_equal_lines_one_is_a_step_and_no_difference_of_queries_is_too_small():
    assert len(envelope([Cost(1, 2), Cost(1, 2)], lambda cost: cost)) == 1
    assert break_even(Cost(1e300, 0.0), Cost(0.0, 5e-324)) == math.inf
    assert envelope([Cost(0.0, 0.0), Cost(0.0, 0.0)], lambda cost: cost)[0].since == 0


def trials(*times):
    return dict(enumerate(times))


def test_the_interval_is_that_of_the_four_medians_drawn_by_the_same_trials():
    rng = np.random.default_rng(3)
    noise = [1 + 0.1 * value for value in rng.standard_normal(9)]
    # whatever slows a trial down does so for all four times, so that the number is the same in every draw
    same = [trials(*(ms * each for each in noise)) for ms in (8.0, 2.0, 1.0, 9.0)]
    found = break_even_interval(Timed(same[0], same[1], 1000), Timed(same[2], same[3], 1000))
    assert 1000 <= found.low <= found.high <= 1001, "but for rounding"
    other = {trial + 100: ms for trial, ms in same[2].items()}  # of other trials: drawn apart
    low, high = break_even_interval(Timed(same[0], same[1], 1000), Timed(other, same[3], 1000))
    assert low < 1000 < high
    assert break_even_interval(Timed(same[0], same[1], 1000), Timed(other, same[3], 1000)) == (low, high)


@pytest.mark.parametrize("slow", [2.0, 3.0])
def test_what_never_pays_in_some_draws_has_no_upper_bound(slow):
    own = Timed(trials(5, 5, 5), trials(1.0, slow, 3.0), 10)
    low, high = break_even_interval(own, Timed(trials(1, 1, 1), trials(2, 2, 2), 10))
    assert low < high == math.inf
    assert break_even_interval(own, Timed(trials(1, 1), trials(2, 2), 10)) is None
