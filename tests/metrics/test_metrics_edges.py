"""Edges of the statistics, by hand: nobody waited, few waited, cut off at once, level at one half, better than the best."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tracker.metrics.accuracy import accuracy_waits
from tracker.metrics.after_switch import compare_waits, pooled_mean
from tracker.metrics.averages import Average
from tracker.metrics.effective_size import effective_draws
from tracker.metrics.paired import gap_closed, ratio_of_averages
from tracker.metrics.recovery import median_of, recovery, waits_of_switches_out

EDGES = np.arange(41)


def counts(ended: list[int], censored: list[int]) -> np.ndarray:
    found = np.zeros((40, 2), dtype=np.int64)
    for column, waits in enumerate((ended, censored)):
        for wait in waits:
            found[wait, column] += 1
    return found


def test_a_mode_that_few_trials_met_has_no_interval():
    """Eight trials meet the first mode, four of them the second: one too few."""
    for met, known in ((4, False), (5, True)):
        waits = np.array([[counts([3 + t], []), counts([5] if t < met else [], [])] for t in range(8)])
        whole, (first, second) = recovery(waits, EDGES)
        assert math.isfinite(whole.low)
        assert math.isfinite(first.low)
        assert math.isfinite(second.low) == known
        assert second.median == 5.0


def test_a_wait_that_is_cut_off_at_once_is_one():
    """At age 0 theta was outside, and then the mode changed again: not counted with those that stood inside already."""
    both = counts([0, 0, 4], [0])
    assert waits_of_switches_out(both).tolist() == counts([4], [0]).tolist()
    found, _ = recovery(np.array([[both]] * 5), EDGES)
    assert (found.already, found.switches, found.censored) == (0.5, 10, 0.5)


def test_where_the_curve_is_level_at_one_half_any_number_is_a_median():
    """Half of the waits last 2 steps, half 6: from 2 to 6 half are still waiting."""
    alive = np.array([1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.0])
    first, width = np.arange(7), np.ones(7, dtype=np.int64)
    assert median_of(alive, first, width) == 2.0
    assert median_of(alive, first, width, last=True) == 6.0


def test_the_interval_of_a_median_reaches_to_the_last_of_them():
    """Each of five trials has a wait of 2 and one of 6: every resample is level at one half from 2 to 6."""
    found, _ = recovery(np.array([[counts([2, 6], [])]] * 5), EDGES)
    assert (found.median, found.low, found.high) == (2.0, 2.0, 6.0)


def test_trials_without_a_wait_tell_nothing():
    """They are no trials of the comparison, and make no standard error smaller."""
    rng = np.random.default_rng(3)
    a, b = (np.array([[counts(list(rng.integers(1, top, 4)), [])] for _ in range(9)]) for top in (12, 30))
    empty = np.zeros((11, *a.shape[1:]), dtype=np.int64)
    with_empty = [np.concatenate([one, empty]) for one in (a, b)]
    found, wanted = compare_waits(*with_empty, EDGES, 30), compare_waits(a, b, EDGES, 30)
    assert found.ratio == pytest.approx(wanted.ratio, rel=1e-12)
    assert found.difference == pytest.approx(wanted.difference, rel=1e-12)
    assert found.ratio.trials == 9
    assert pooled_mean(with_empty[0], EDGES, 30) == pytest.approx(pooled_mean(a, EDGES, 30), rel=1e-12)


def test_the_gap_where_some_trials_are_better_than_the_best():
    """Then the interval is that of the ratio itself; 2.570581836 is Student's quantile on five degrees of freedom."""
    above, gap = np.array([0.1, -0.05, 0.2, 0.3, -0.1, 0.15]), np.array([1.0, 1.2, 0.8, 1.1, 0.9, 1.0])
    found = gap_closed(above + 1.0, gap + 1.0, np.ones(6))
    left = above.sum() / gap.sum()
    residual = [one - left * whole for one, whole in zip(above, gap, strict=True)]
    stderr = math.sqrt(sum(one**2 for one in residual) / 5 / 6)
    reach = 2.570581836 * stderr / gap.mean()
    assert found[:3] == pytest.approx((1 - left, 1 - left - reach, 1 - left + reach), rel=1e-9)


def test_a_ratio_of_averages_gives_each_interval_half_of_what_may_go_wrong():
    """2.593092683 is Student's quantile on 11 degrees of freedom with 1.25 % above it."""
    found = ratio_of_averages(Average(1.0, 0.1), Average(2.0, 0.2), 12)
    low, high = (1 - 0.2593092683) / (2 + 0.5186185366), (1 + 0.2593092683) / (2 - 0.5186185366)
    assert found[:3] == pytest.approx((0.5, low, high), rel=1e-9)


def test_an_accuracy_at_the_level_is_not_above_it():
    """The new mode begins at the second point; the level 0.9 is met at once, and passed two points later."""
    found = accuracy_waits(np.array([[0.5, 0.9, 0.9, 0.95]]), np.array([[0, 1, 1, 1]]), 10, 0.9, EDGES)
    assert np.argwhere(found[0]).tolist() == [[20, 0]]


def test_what_a_sampler_does_elsewhere_does_not_change_its_draws():
    rng = np.random.default_rng(2)
    values, here = rng.standard_normal((4, 400)), rng.random((4, 400)) < 0.5
    wanted = effective_draws(values, here)
    assert effective_draws(np.where(here, values, 100.0), here) == pytest.approx(wanted, rel=1e-12)
    assert 0.7 * here.sum() < wanted < 1.4 * here.sum()  # they are independent
