"""Paired comparisons against hand computation, exact coverage and controls."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tracker.metrics.averages import Average, over_trials
from tracker.metrics.paired import difference, gap_closed, ratio_of_averages, ratio_of_means

IDENTITY = 1e-12
STUDENT_4 = 2.7764451051977987  # 97.5 % quantile of Student's law on 4 degrees of freedom, from any table


def test_difference_by_hand():
    """Differences -1, ..., -5: mean -3, standard deviation sqrt(5/2), standard error sqrt(1/2)."""
    b = np.arange(1.0, 6.0)
    found = difference(b, 2 * b)
    assert (found.estimate, found.wins, found.trials) == (-3.0, 5, 5)
    assert found.low == pytest.approx(-3.0 - STUDENT_4 / math.sqrt(2), rel=1e-9)
    assert found.high == pytest.approx(-3.0 + STUDENT_4 / math.sqrt(2), rel=1e-9)


def test_ratio_of_means_by_hand():
    """Means 2 and 4: ratio 1/2; influences 1/4, -1/2, 1/4, 0, 0 of variance 3/32."""
    a, b = np.array([1.0, 2.0, 3.0, 2.0, 2.0]), np.array([1.0, 6.0, 5.0, 4.0, 4.0])
    found = ratio_of_means(a, b)
    margin = STUDENT_4 * math.sqrt(3 / 32) / math.sqrt(5)
    assert found.estimate == pytest.approx(0.5, rel=IDENTITY)
    assert found.low == pytest.approx(0.5 * math.exp(-margin), rel=1e-9)
    assert found.high == pytest.approx(0.5 * math.exp(margin), rel=1e-9)
    assert (found.wins, found.trials) == (4, 5)
    turned = ratio_of_means(b, a)
    assert turned.estimate == pytest.approx(2.0, rel=IDENTITY)
    assert turned.low == pytest.approx(1 / found.high, rel=IDENTITY)


def geometric(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """The control: the interval of the geometric mean of the trials' ratios."""
    found = difference(np.log(a), np.log(b))
    return math.exp(found.low), math.exp(found.high)


def test_ratio_of_means_is_on_the_side_of_the_difference():
    """Smaller where little is at stake, larger where much is: the mean is larger. The geometric mean (the control) says the opposite."""
    easy, luck = np.arange(200) % 2 == 0, np.random.default_rng(4).uniform(0.9, 1.1, 200)
    b = np.where(easy, 0.1, 1.0) * luck
    a = np.where(easy, 0.8, 1.1) * b
    assert difference(a, b).low > 0.0
    assert ratio_of_means(a, b).low > 1.0
    assert geometric(a, b)[1] < 1.0


@pytest.mark.parametrize("seed", [1, 2])
def test_ratio_of_means_covers_the_ratio_of_expectations(seed: int):
    """a = 0.9 b (1 + noise that grows with b): E a / E b is known; 95 of 100 intervals hold it, not so the geometric ones."""
    rng = np.random.default_rng(seed)
    covered = control = 0
    for _ in range(100):
        b = rng.uniform(0.5, 1.5, 40)
        a = 0.9 * b * np.exp(0.5 * rng.standard_normal(40) - 0.125)  # the factor has mean 1
        found, (low, high) = ratio_of_means(a, b), geometric(a, b)
        covered += found.low <= 0.9 <= found.high
        control += low <= 0.9 <= high
    assert covered >= 82  # fewer than 82 of 100 at a coverage of 0.95: probability 7e-7
    assert control < 82


def test_trials_that_diverged_in_either_are_left_out():
    a, b = np.array([1.0, np.nan, 4.0, 9.0]), np.array([2.0, 1.0, np.inf, 3.0])
    assert ratio_of_means(a, b).trials == difference(a, b).trials == 2
    assert ratio_of_means(a, b).estimate == pytest.approx(10.0 / 5.0, rel=IDENTITY)


def test_zeros_and_too_few():
    assert ratio_of_means(np.zeros(3), np.ones(3))[:3] == (0.0, 0.0, 0.0)  # the oracle
    assert ratio_of_means(np.array([0.0, 1.0]), np.ones(2)).estimate == pytest.approx(0.5, rel=IDENTITY)
    assert math.isnan(ratio_of_means(np.ones(2), np.zeros(2)).estimate)
    assert math.isnan(ratio_of_means(np.full(2, np.nan), np.ones(2)).estimate)
    assert math.isnan(ratio_of_means(np.ones(1), np.ones(1)).high)
    four, five = difference(np.arange(4.0), np.zeros(4)), difference(np.arange(5.0), np.zeros(5))
    assert four.estimate == 1.5
    assert math.isnan(four.low)
    assert math.isnan(four.high)
    assert five.low < 2.0 < five.high
    assert math.isnan(ratio_of_means(1 + np.arange(4.0), np.ones(4)).high)
    assert difference(np.empty(0), np.empty(0)).trials == 0


def test_gap_closed_by_hand():
    """E a = 2, worst 5, best 1: three quarters of the way; the ends of the scale are 0 and 1."""
    a, worst, best = np.array([1.5, 2.5]), np.array([4.0, 6.0]), np.ones(2)
    assert gap_closed(a, worst, best).estimate == pytest.approx(0.75, rel=IDENTITY)
    five, low = 4 + np.arange(5.0), np.ones(5)
    assert gap_closed(five, five, low)[:3] == (0.0, 0.0, 0.0)
    assert gap_closed(low, five, low)[:3] == (1.0, 1.0, 1.0)
    assert gap_closed(2 * worst, worst, best).estimate < 0.0
    assert math.isnan(gap_closed(a, best, best).estimate)


@pytest.mark.parametrize("seed", [1, 2])
def test_pairing_narrows_what_trials_share(seed: int):
    """Two samplers share each trial's luck: paired intervals cover 0.9 in 95 of 100 cases; unpaired ones would be 5 times wider."""
    rng = np.random.default_rng(seed)
    covered, widths, loose = 0, [], []
    for _ in range(100):
        luck = np.exp(0.5 * rng.standard_normal(30))
        a, b = 0.9 * luck * np.exp(0.1 * rng.standard_normal(30) - 0.005), luck
        found = ratio_of_means(a, b)
        covered += found.low <= 0.9 <= found.high
        widths.append(math.log(found.high / found.low))
        shuffled = ratio_of_means(a, np.roll(b, 1))
        loose.append(math.log(shuffled.high / shuffled.low))
    assert covered >= 82  # fewer than 82 of 100 at a coverage of 0.95: probability 7e-7
    assert np.mean(loose) > 3 * np.mean(widths)  # control: pairing with the wrong trial loses it


def test_a_ratio_of_averages_holds_for_any_dependence_and_is_wider_than_the_paired_one() -> None:
    """Trials that go together, against each other, or their own ways: the true ratio of means, 0.9, is inside for all."""
    rng = np.random.default_rng(3)
    a = rng.uniform(0.5, 1.3, 40)
    for b in (a / 0.9, (1.8 - a) / 0.9, rng.permutation(a) / 0.9):
        found = ratio_of_averages(over_trials(a), over_trials(b), 40)
        assert found.low < 0.9 < found.high
        assert found.estimate == pytest.approx(a.mean() / b.mean(), rel=1e-12)  # identity
    paired = ratio_of_means(a, a / 0.9)
    wide = ratio_of_averages(over_trials(a), over_trials(a / 0.9), 40)
    assert wide.low < paired.low <= paired.high < wide.high < 1.3


def test_a_ratio_of_averages_knows_when_it_knows_nothing() -> None:
    assert np.isnan(ratio_of_averages(Average(1.0, np.nan), Average(2.0, np.nan), 1).high)
    assert np.isnan(ratio_of_averages(Average(1.0, 0.1), Average(0.0, 0.0), 9).estimate)
    assert ratio_of_averages(Average(1.0, 0.1), Average(1.0, 5.0), 9).high == np.inf
    assert ratio_of_averages(Average(1.0, 0.01), Average(3.0, 0.01), 9).high < 0.4
