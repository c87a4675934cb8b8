"""Intervals hold what they promise, outliers and drift are found where they are planted and not where they are not."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from grailbench.harness import statistics
from grailbench.harness.statistics import PENALTY, Stats, drift, geometric_mean, median_interval, outliers, resampled


def noisy(seed, size=20, scale=0.03):
    """Times about 10 ms, skewed as times are."""
    return 10.0 + 10.0 * scale * np.random.default_rng(seed).gamma(2.0, size=size)


@pytest.mark.parametrize("size", [1, 2, 7, 20])
def test_medians_of_rows_are_numpys(size):
    rows = np.random.default_rng(size).random((50, size))
    np.testing.assert_array_equal(statistics.medians(rows), np.median(rows, axis=1))


def test_interval_is_that_of_scipys_percentile_bootstrap():
    times = noisy(2, size=40)
    theirs = reference.bootstrap(
        (times,), np.median, method="percentile", n_resamples=20_000, rng=np.random.default_rng(5)
    ).confidence_interval
    ours = median_interval(times)
    width = theirs.high - theirs.low
    assert ours.low == pytest.approx(theirs.low, abs=0.1 * width)
    assert ours.high == pytest.approx(theirs.high, abs=0.1 * width)


def test_same_times_give_the_same_interval_and_seeds_differ():
    times = noisy(3)
    assert median_interval(times) == median_interval(times.tolist())
    assert median_interval(times, seed=1) != median_interval(times, seed=7)


def test_paired_draws_cancel_what_slows_both_cells_in_a_trial():
    machine = np.random.default_rng(5).choice([1.0, 3.0], size=30)
    draws = resampled(2.0 * machine, beside=machine)
    np.testing.assert_allclose(draws, 2.0)


@pytest.mark.parametrize("times", [[], [[1.0]], [math.nan], [math.inf]])
def test_what_is_no_sample_is_refused(times):
    with pytest.raises(ValueError, match="a sample is"):
        Stats.of(times)


def test_a_planted_outlier_is_marked_and_no_other():
    times = 10.0 + 0.01 * np.arange(20)
    assert not outliers(times).any()
    times[7] = 12.0
    assert np.flatnonzero(outliers(times)).tolist() == [7]


def test_a_machine_that_slows_down_is_a_drift_whatever_its_direction():
    slower = noisy(6, size=30) * np.linspace(1.0, 1.3, 30)
    assert drift(slower) == pytest.approx(0.2, abs=0.06)
    assert drift(slower[::-1]) == pytest.approx(-0.17, abs=0.06)


def test_steady_times_hardly_ever_warn_of_drift():
    warned = [drift(noisy(seed, size=size)) is not None for size in (15, 20, 60) for seed in range(200)]
    assert np.mean(warned) < 0.01


def test_drift_of_a_hundredth_is_none_however_sure():
    assert drift(np.linspace(10.0, 10.1, 300)) is None


def test_drift_needs_five_trials_a_third():
    assert drift([1.0] * 5 + [2.0] * 4 + [3.0] * 5) is None
    assert drift([1.0] * 5 + [2.0] * 5 + [3.0] * 5) == 2.0


def test_geometric_mean_is_scipys_and_that_of_inverses_is_its_inverse():
    ratios = [0.5, 2.0, 3.0]
    assert geometric_mean(ratios).value == pytest.approx(reference.gmean(ratios))
    assert geometric_mean([1 / r for r in ratios]).value == pytest.approx(1 / reference.gmean(ratios))


def test_missing_ratio_counts_as_the_penalty_or_the_worst_measured_one():
    assert geometric_mean([1.0, None]) == (pytest.approx(math.sqrt(PENALTY)), 1, 1, PENALTY)
    found = geometric_mean([1.0, 50.0, None])
    assert found.penalty == 50.0
    assert found.value == pytest.approx(geometric_mean([1.0, 50.0, 50.0]).value)


def test_no_ratio_has_no_mean_and_a_bad_one_is_refused():
    assert geometric_mean([]) is None
    assert geometric_mean([None]) is None
    for bad in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="positive"):
            geometric_mean([1.0, bad])


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=40))
def test_summary_is_that_of_numpy_and_its_quartiles_to_the_last_bit(times):
    found = Stats.of(times)
    assert (found.trials, found.least, found.mean) == (len(times), min(times), pytest.approx(np.mean(times)))
    low, middle, high = np.quantile(np.array(times), (0.25, 0.5, 0.75))
    assert (found.median, found.iqr) == (middle, high - low)
