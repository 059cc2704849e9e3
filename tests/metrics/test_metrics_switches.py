"""After a switch: means by age and restricted waits, against hand computation, integrals and loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tracker.engine.bins import WAIT_BITS, bin_edges, bin_of
from tracker.metrics.after_switch import compare_waits, mean_per_step, mixed_mean, pooled_mean, restricted_mean
from tracker.metrics.paired import difference
from tracker.metrics.recovery import kaplan_meier

IDENTITY = 1e-12
SIGMAS = 4.9  # two-sided false alarm 1e-6
EDGES = np.arange(401)


def counts(ended: np.ndarray, censored: np.ndarray, bins: int = 400) -> np.ndarray:
    return np.stack([np.bincount(ended, minlength=bins), np.bincount(censored, minlength=bins)], axis=1)


def censored_waits(rng: np.random.Generator, q: float, cut: float, switches: int) -> np.ndarray:
    wait, limit = rng.geometric(q, switches), rng.geometric(cut, switches)
    return counts(wait[wait <= limit], limit[wait > limit])


# --- restricted means


def test_restricted_mean_of_published_remission_times():
    """Freireich's 6-MP arm: the area under the Kaplan-Meier curve up to week 35, by rectangles from the published table."""
    ended, censored = [6, 6, 6, 7, 10, 13, 16, 22, 23], [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
    waits = counts(np.array(ended), np.array(censored), 40)
    steps = [(0, 1.0), (6, 18 / 21), (7, 18 / 21 * 16 / 17), (10, 18 / 21 * 16 / 17 * 14 / 15)]
    steps += [(13, steps[-1][1] * 11 / 12), (16, steps[-1][1] * 11 / 12 * 10 / 11)]
    steps += [(22, steps[-1][1] * 6 / 7), (23, steps[-1][1] * 6 / 7 * 5 / 6)]
    ends = [at for at, _ in steps[1:]] + [35]
    area = sum((end - at) * level for (at, level), end in zip(steps, ends, strict=True))
    assert restricted_mean(waits, np.arange(41), 35) == pytest.approx(area, rel=IDENTITY)
    assert area == pytest.approx(23.29, abs=0.01)  # as survival packages print it


def test_without_censoring_it_is_the_mean_of_the_truncated_waits():
    waits = np.array([0, 0, 3, 3, 5, 8, 9, 300])
    for horizon in (1, 4, 9, 100, 399):
        wanted = np.minimum(waits, horizon).mean()
        assert restricted_mean(counts(waits, np.empty(0, int)), EDGES, horizon) == pytest.approx(wanted, rel=IDENTITY)


def test_wide_bins_are_within_their_width():
    rng = np.random.default_rng(1)
    waits = rng.geometric(1e-3, 2000)
    edges = bin_edges(20_000, WAIT_BITS)
    binned = np.zeros((edges.size - 1, 2), dtype=int)
    np.add.at(binned[:, 0], [bin_of(int(w), WAIT_BITS) for w in waits], 1)
    horizon = int(edges[np.searchsorted(edges, 3000) - 1])
    assert restricted_mean(binned, edges, horizon) == pytest.approx(np.minimum(waits, horizon).mean(), rel=2e-3)


def test_over_leading_axes_and_without_waits():
    one, none = counts(np.array([2, 4]), np.empty(0, int)), np.zeros((400, 2), dtype=int)
    found = restricted_mean(np.stack([one, none]), EDGES, 10)
    assert found[0] == 3.0
    assert math.isnan(found[1])


def test_censoring_is_allowed_for_and_the_naive_mean_is_biased():
    """Waits with rate q, censored at rate q: the naive mean of those that ended is near 1/(2q), which fails the same test."""
    rng, q, horizon = np.random.default_rng(4), 0.05, 30
    exact = sum((1 - q) ** n for n in range(horizon))  # E min(W, 30)
    trials = [censored_waits(rng, q, q, 40) for _ in range(200)]
    means = np.array([restricted_mean(waits, EDGES, horizon) for waits in trials])
    stderr = means.std(ddof=1) / math.sqrt(len(means))
    n = np.minimum(np.arange(400), horizon)
    naive = np.array([waits[:, 0] @ n / waits[:, 0].sum() for waits in trials])
    assert abs(means.mean() - exact) < SIGMAS * stderr
    assert abs(naive.mean() - exact) > SIGMAS * naive.std(ddof=1) / math.sqrt(len(naive))  # control


def by_trial(waits: np.ndarray, bins: int = 4000) -> np.ndarray:
    """Counts (T, 1, bins, 2) of waits (T, n) of one mode, none of them censored."""
    return np.array([counts(row, np.empty(0, int), bins) for row in waits])[:, np.newaxis]


@pytest.mark.parametrize("switches", [1, 2, 5, 20])
def test_times_to_reacquire_compare_alike_however_many_switches_a_trial_has(switches: int):
    """Waits Exp(100) against waits of 100: equal means, so the interval holds 1. Control: the geometric mean of the trials' ratios
    says that the random one is faster (at 2 switches 0.76 times), because E log of a mean of n waits depends on n."""
    rng = np.random.default_rng(8)
    waits = np.ceil(rng.exponential(100.0, (200, switches))).astype(int)
    random, constant, edges = by_trial(waits), by_trial(np.full((200, switches), 100)), np.arange(4001)
    found = compare_waits(random, constant, edges, 4000)
    assert found.ratio.low < 1.0 < found.ratio.high
    assert found.difference.low < 0.0 < found.difference.high
    assert found.ratio.estimate == pytest.approx(waits.mean() / 100.0, rel=IDENTITY)
    if switches == 2:
        logs = difference(np.log(waits.mean(axis=1)), np.full(200, math.log(100.0)))
        assert math.exp(logs.high) < 0.9


def test_the_pooled_mean_weighs_modes_by_their_waits_and_has_the_jackknife_of_a_mean():
    """Uncensored waits of one mode in trials of equal size: the standard error is that of the mean over trials."""
    rng = np.random.default_rng(9)
    waits = rng.geometric(0.05, (40, 5))
    found = pooled_mean(by_trial(waits), np.arange(4001), 4000)
    means = waits.mean(axis=1)
    assert found.mean == pytest.approx(means.mean(), rel=IDENTITY)
    assert found.stderr == pytest.approx(means.std(ddof=1) / math.sqrt(40), rel=1e-9)
    two = np.concatenate([by_trial(np.full((3, 2), 10)), by_trial(np.full((3, 6), 30))], axis=1)
    assert mixed_mean(two.sum(axis=0).astype(float), np.arange(4001), 4000) == pytest.approx((2 * 10 + 6 * 30) / 8)
    assert np.isnan(pooled_mean(np.zeros((3, 1, 4000, 2), int), np.arange(4001), 4000)).all()


def test_a_sampler_that_is_twice_as_fast_is_seen_so_and_per_gradient_it_is_not():
    """Two samplers on the same switches, cut at the same times: the exact ratio of restricted means is in the interval."""
    rng, horizon, edges = np.random.default_rng(5), 50, np.arange(1501)
    slow, fast = [], []
    for _ in range(100):
        limit = rng.geometric(0.01, 40)
        for q, into in ((0.04, slow), (0.08, fast)):
            wait = rng.geometric(q, 40)
            into.append(counts(wait[wait <= limit], limit[wait > limit], 1500)[np.newaxis])
    exact = sum(0.92**n for n in range(horizon)) / sum(0.96**n for n in range(horizon))
    found = compare_waits(np.array(fast), np.array(slow), edges, horizon).ratio
    assert found.low < exact < found.high < 1.0
    assert found.wins > 80
    dear = compare_waits(np.array(fast), np.array(slow), edges, horizon, (2.0, 1.0)).ratio
    assert dear.estimate == pytest.approx(2 * found.estimate, rel=IDENTITY)
    assert dear.wins < found.wins
    few = compare_waits(np.array(fast[:4]), np.array(slow[:4]), edges, horizon).ratio
    assert few.trials == 4
    assert np.isfinite(few.estimate)
    assert math.isnan(few.low)


# --- the error by age


def test_mean_per_step_is_a_ratio_of_sums():
    sums, steps = np.array([[2.0, 0.0], [4.0, 3.0], [9.0, 0.0]]), np.array([[1.0, 0.0], [4.0, 2.0], [10.0, 0.0]])
    curve = mean_per_step(sums, steps)
    np.testing.assert_allclose(curve.mean, [1.0, 1.5], rtol=IDENTITY)
    residual = sums[:, 0] - 1.0 * steps[:, 0]
    assert curve.stderr[0] == pytest.approx(math.sqrt((residual**2).sum() * 3 / 2) / 15, rel=IDENTITY)
    assert curve.trials.tolist() == [3, 1]
    assert np.isnan(curve.stderr[1])  # one trial was there: two others that were not do not make it certain
    assert np.isnan(mean_per_step(sums[:1], steps[:1]).stderr).all()
    assert np.isnan(mean_per_step(np.zeros((2, 1)), np.zeros((2, 1))).mean).all()


def test_mean_per_step_weighs_trials_by_their_steps_and_its_error_is_right():
    """Visits of random length with mean error 2 per step: within 4.9 of its own standard errors, and the errors scatter as it says."""
    rng = np.random.default_rng(6)
    z = []
    for _ in range(400):
        steps = rng.integers(1, 50, (30, 1)).astype(float)
        sums = 2.0 * steps + np.sqrt(steps) * rng.standard_normal((30, 1))
        curve = mean_per_step(sums, steps)
        z.append((curve.mean[0] - 2.0) / curve.stderr[0])
    assert abs(np.mean(z)) < SIGMAS / math.sqrt(400)
    assert np.std(z) == pytest.approx(1.0, abs=SIGMAS / math.sqrt(2 * 400) + 0.05)  # Student's law on 29 is 4 % wider


def test_trials_that_were_never_there_do_not_narrow_an_interval():
    """Five trials with a visit among 45 without one: as if the 45 had not been."""
    rng = np.random.default_rng(8)
    steps = rng.integers(1, 50, (5, 1)).astype(float)
    sums = 2.0 * steps + rng.standard_normal((5, 1))
    few, many = mean_per_step(sums, steps), mean_per_step(*(np.pad(a, ((0, 45), (0, 0))) for a in (sums, steps)))
    assert many.stderr[0] == pytest.approx(few.stderr[0], rel=IDENTITY)
    reach = 2.776445105 * few.stderr[0]  # Student's on 4 degrees of freedom
    assert many.interval[0][0] == pytest.approx(many.mean[0] - reach, rel=1e-9)
    assert many.interval[1][0] == pytest.approx(many.mean[0] * math.exp(reach / many.mean[0]), rel=1e-9)


def test_survival_of_one_trial_is_that_of_its_counts():
    rng = np.random.default_rng(7)
    stacked = np.stack([censored_waits(rng, 0.1, 0.05, 20) for _ in range(3)])
    np.testing.assert_array_equal(kaplan_meier(stacked)[1], kaplan_meier(stacked[1]))
