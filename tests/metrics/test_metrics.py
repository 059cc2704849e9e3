"""Metrics: arrays in, numbers out; against a published example, hand computation and loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tracker
from tracker.engine.bins import WAIT_BITS, bin_edges, bin_of, lower_edge
from tracker.metrics.averages import (
    curve_over_trials,
    final_moments,
    half_width,
    mean_interval,
    over_trials,
    pooled_moments,
    ratio,
    time_average,
)
from tracker.metrics.recovery import Waits, expanded_tail, kaplan_meier, median_wait, mixed_survival, recovery

IDENTITY = 1e-12
PRINTED = 5e-4  # published to three digits
SIGMAS = 5.0  # two-sided false alarm below 1e-6

# Freireich et al. (1963), remission in weeks under 6-MP; Kaplan-Meier estimates as in Cox and Oakes, or any textbook
ENDED = [6, 6, 6, 7, 10, 13, 16, 22, 23]
CENSORED = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
PUBLISHED = {5: 1.0, 6: 0.857, 7: 0.807, 10: 0.753, 13: 0.690, 16: 0.627, 21: 0.627, 22: 0.538, 23: 0.448, 35: 0.448}


def counts(ended: list[int], censored: list[int], bins: int) -> np.ndarray:
    return np.stack([np.bincount(ended, minlength=bins), np.bincount(censored, minlength=bins)], axis=1)


FREIREICH = counts(ENDED, CENSORED, 40)


def test_kaplan_meier_equals_the_published_estimate():
    alive = kaplan_meier(FREIREICH)
    for week, wanted in PUBLISHED.items():
        assert alive[week] == pytest.approx(wanted, abs=PRINTED)
    assert alive[23] == pytest.approx(18 / 21 * 16 / 17 * 14 / 15 * 11 / 12 * 10 / 11 * 6 / 7 * 5 / 6, rel=IDENTITY)
    assert (np.diff(alive) <= 0).all()


def test_a_censored_wait_is_still_at_risk_in_its_bin():
    """Control: taking week 6's censored patient out before the events of week 6 gives 17/20, not 18/21."""
    early = FREIREICH.copy()
    early[5, 1] += early[6, 1]
    early[6, 1] = 0
    assert kaplan_meier(early)[6] == pytest.approx(17 / 20, rel=IDENTITY)
    assert kaplan_meier(FREIREICH)[6] == pytest.approx(18 / 21, rel=IDENTITY)


def test_median_is_the_published_one():
    assert median_wait(FREIREICH, np.arange(41)) == 23


def test_without_censoring_the_estimate_is_the_empirical_one():
    waits = [0, 0, 3, 3, 5, 8, 9]
    alive = kaplan_meier(counts(waits, [], 12))
    np.testing.assert_allclose(alive, [np.mean(np.array(waits) > n) for n in range(12)], atol=IDENTITY)
    assert median_wait(counts(waits, [], 12), np.arange(13)) == np.median(waits) == 3


def test_median_not_reached_is_infinite():
    assert median_wait(counts([1], [2, 2, 3], 5), np.arange(6)) == math.inf
    assert median_wait(counts([], [4, 4], 5), np.arange(6)) == math.inf
    assert median_wait(counts([1, 1], [2, 2], 5), np.arange(6)) == 1  # exactly one half has ended: reached


def test_median_in_a_wide_bin_falls_in_proportion():
    """Four waits in the bin {8, ..., 11}, two before it: three of six, one half, are gone a quarter into the bin."""
    edges = np.array([0, 1, 2, 4, 8, 12, 16])
    waits = np.zeros((6, 2), dtype=int)
    waits[1, 0], waits[4, 0] = 2, 4
    assert median_wait(waits, edges) == pytest.approx(8 + 0.25 * 3, rel=IDENTITY)


def together(waits: np.ndarray, edges: np.ndarray) -> Waits:
    """The statistics of counts (T, bins, 2) of one mode."""
    return recovery(waits[:, np.newaxis], edges)[0]


def test_median_in_the_last_bin_that_is_used_falls_in_proportion():
    """The width of a bin does not depend on whether a later one holds anything (here one late censored wait)."""
    edges = bin_edges(5000, WAIT_BITS)
    waits = np.zeros((2, edges.size - 1, 2), dtype=np.int64)
    waits[:, bin_of(1000, WAIT_BITS), 0] = 1000
    alone = together(waits, edges).median
    waits[0, bin_of(4000, WAIT_BITS), 1] = 1
    assert alone == pytest.approx(together(waits, edges).median, rel=1e-3)
    assert alone > lower_edge(bin_of(1000, WAIT_BITS), WAIT_BITS) + 1


def test_median_over_leading_axes():
    stacked = np.stack([FREIREICH, counts([2, 2, 5], [], 40)])
    np.testing.assert_array_equal(median_wait(stacked, np.arange(41)), [23, 2])


def test_recovery_of_nothing_and_of_few_trials():
    nothing = together(np.zeros((3, 40, 2), dtype=np.int64), np.arange(41))
    assert nothing.switches == 0
    assert all(math.isnan(number) for number in nothing[:-1])
    alone = together(FREIREICH[np.newaxis], np.arange(41))
    assert (alone.already, alone.median, alone.censored, alone.switches) == (0.0, 23, 12 / 21, 21)
    assert math.isnan(alone.low)
    assert math.isnan(alone.high)
    waits = simulated(5, 0.05, 0.05, seed=1)
    assert math.isnan(together(waits[:4], np.arange(401)).low)
    assert together(waits, np.arange(401)).low <= together(waits, np.arange(401)).median


def test_switches_that_find_it_inside_are_counted_apart():
    """Half of the switches find it inside: the median of the others is theirs, not 0; one that never arrives has none."""
    waits = np.array([counts([0] * 4 + [7, 7, 9], [30], 40)] * 6)
    found = together(waits, np.arange(41))
    assert (found.already, found.switches, found.censored) == (0.5, 24, 0.25)
    assert found.median == 7.0
    assert median_wait(waits.sum(axis=0), np.arange(41)) == 0.0  # control: together with them
    still = together(np.array([counts([0] * 4, [30] * 4, 40)] * 6), np.arange(41))
    assert (still.already, still.median, still.low, still.high) == (0.5, math.inf, math.inf, math.inf)
    inside = together(np.array([counts([0] * 4, [], 40)] * 6), np.arange(41))
    assert inside.already == 1.0
    assert math.isnan(inside.median)


def test_the_mixture_of_modes_by_hand():
    """Three waits of 2 in one mode, one of 6 in another: 1/4 is left after 2 steps."""
    waits = np.array([[counts([2, 2, 2], [], 10), counts([6], [], 10)]])
    np.testing.assert_allclose(
        mixed_survival(waits.astype(float))[0, [1, 2, 5, 6]], [1.0, 0.25, 0.25, 0.0], atol=IDENTITY
    )
    whole, (one, two) = recovery(waits, np.arange(11))
    assert (whole.median, one.median, two.median) == (2, 2, 6)
    assert (one.switches, two.switches) == (3, 1)


LEFT_SOON = """
name = "left-soon"
seed = 7
trials = 60
steps = 20_000
start = [0.0, 0.0]
[chain]
alpha = 0.02
Q = [[-0.0625, 0.0625], [1.0, -1.0]]
[[modes]]
name = "long"
cost = "quadratic"
minimum = [1.0, 0.0]
curvature = [[3.0, 0.0], [0.0, 3.0]]
target = { radius = 0.15 }
[[modes]]
name = "short"
cost = "quadratic"
minimum = [-1.0, 0.5]
curvature = [[0.4, 0.0], [0.0, 0.4]]
target = { radius = 0.12 }
[[samplers]]
name = "s"
kind = "langevin"
epsilon = 0.05
beta = 1.5
"""


def uncensored_waits(rng: np.random.Generator, trials: int) -> list[np.ndarray]:
    """Waits into either mode, of samplers that stand outside at the switch and then meet no other one.

    The state at a switch is that of the run: dwells of 800 and 50 steps on average, one after the other.
    """
    m, h = np.array([[1.0, 0.0], [-1.0, 0.5]]), np.array([3.0, 0.4])
    radius, leaving = np.array([0.15, 0.12]), np.array([1 / 800, 1 / 50])

    def moved(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
        noise = math.sqrt(0.1 / 1.5) * rng.standard_normal(theta.shape)
        return theta - 0.05 * h[x][:, np.newaxis] * (theta - m[x]) + noise

    theta, mode = np.zeros((trials, 2)), np.zeros(trials, dtype=int)
    starts: list[list[np.ndarray]] = [[], []]
    for k in range(6000):
        theta = moved(theta, mode)
        jump = rng.random(trials) < leaving[mode]
        mode = np.where(jump, 1 - mode, mode)
        for x in range(2):
            starts[x].append(theta[jump & (mode == x) & (k > 2000)])
    waits = []
    for x in range(2):
        point = np.concatenate(starts[x])
        point = point[np.linalg.norm(point - m[x], axis=1) > radius[x]]
        met = np.zeros(len(point), dtype=int)
        for k in range(1, 8000):
            point = moved(point, np.full(len(point), x))
            met[(met == 0) & (np.linalg.norm(point - m[x], axis=1) <= radius[x])] = k
            if met.all():
                break
        waits.append(met)
    return waits


def test_a_mode_that_is_left_soon_and_found_slowly_does_not_bias_the_median():
    """Waits that nothing cuts off have a median of about 61 steps, which lies in the interval of the run, in which the next switch
    cuts off 9 of 10 waits into the second mode. Control: pooled over the modes the interval lies below it."""
    run = tracker.run(tracker.parse(LEFT_SOON), executor=1)
    one, two = uncensored_waits(np.random.default_rng(2), 300)
    true = float(np.median(np.concatenate([one, two])))
    found = run.summary["samplers"][0]["recovery"]
    assert true == pytest.approx(61.0, abs=3.0)  # 59 to 62 with other seeds
    assert found["low"] < true < found["high"]
    assert found["low"] < 61.0 < found["high"]
    assert found["by_mode"][0]["low"] <= np.median(one) <= found["by_mode"][0]["high"]
    assert found["by_mode"][1]["censored"] > 0.8
    pooled = together(run.arrays["waits"][:, 0].sum(axis=1), bin_edges(20_000, WAIT_BITS))
    assert pooled.high < min(true, 61.0)
    assert found["switches"] == sum(entry["switches"] for entry in found["by_mode"])


def simulated(trials: int, q: float, cut: float, seed: int) -> np.ndarray:
    """Counts of 20 waits per trial, geometric with median about log 2 / q, censored at independent geometric times."""
    rng = np.random.default_rng(seed)
    wait, limit = rng.geometric(q, (trials, 20)), rng.geometric(cut, (trials, 20))
    rows = [counts(w[w <= c].tolist(), c[w > c].tolist(), 400) for w, c in zip(wait, limit, strict=True)]
    return np.array(rows)


def test_interval_is_deterministic_and_holds_the_median():
    waits = simulated(30, 0.05, 0.05, seed=1)
    first, second = together(waits, np.arange(401)), together(waits, np.arange(401))
    assert first == second
    assert first.low <= first.median <= first.high
    assert first.low < first.high
    wider = together(waits[:5], np.arange(401))
    assert wider.high - wider.low > first.high - first.low


def test_interval_covers_as_often_as_it_says(monkeypatch: pytest.MonkeyPatch):
    """Statistical, fixed seed: of 600 intervals 542 to 592 cover, which 95 % misses with probability 1e-6 and 85 % fulfils with 7e-5.

    Half of the trials are fast and half slow, so that waits of one trial go together: P(W > n) = (0.94^n + 0.985^n) / 2 is
    below 1/2 from n = 22 on. Waits beyond 60 share a bin, which no median reaches; 200 resamples, to be quick. Controls: intervals
    of 0.73 (those of 85 %) and of 2 times the width, and intervals that resample waits as if each were a trial of its own.
    """
    monkeypatch.setattr("tracker.metrics.recovery.RESAMPLES", 200)
    rng, trials, each, edges = np.random.default_rng(1), 30, 20, np.arange(62)
    true = next(n for n in range(99) if 0.94**n + 0.985**n <= 1.0)
    assert true == 22
    covered = dict.fromkeys((1.0, 0.73, 2.0), 0)
    loose = 0
    for replicate in range(600):
        wait, limit = (
            rng.geometric(rng.choice([0.06, 0.015], (trials, 1)), (trials, each)),
            rng.geometric(0.02, (trials, each)),
        )
        single = np.zeros((trials * each, 61, 2), dtype=np.int64)
        single[
            np.arange(trials * each), np.minimum(np.minimum(wait, limit), 60).ravel(), (wait > limit).ravel() * 1
        ] = 1
        found = together(single.reshape(trials, each, 61, 2).sum(axis=1), edges)
        for width in covered:
            low, high = (found.median + width * (end - found.median) for end in (found.low, found.high))
            covered[width] += low <= true <= high
        if replicate < 60:
            apart = together(rng.permutation(single), edges)
            loose += apart.low <= true <= apart.high
    assert 542 <= covered[1.0] <= 592
    assert covered[0.73] < 542
    assert covered[2.0] > 592
    assert loose < 46  # of 60, fewer than 46 at a coverage of 0.95: probability 2e-7


def bootstrap_median_at_most(k: int, count: int) -> float:
    """P that the median of ``count`` draws from 0, ..., count - 1, with replacement, is at most k; count is odd."""
    p, most = (k + 1) / count, (count + 1) // 2
    return sum(math.comb(count, n) * p**n * (1 - p) ** (count - n) for n in range(most, count + 1))


def test_the_ends_are_the_expanded_percentiles_of_the_bootstrap():
    """Trial i has one wait of i + 1 steps: the bootstrap law of the median is binomial, and below (above) the ends is their tail of it.

    The law is discrete: half of the end's own weight counts. 1000 resamples find 2.5 % with a standard deviation of 0.5 %, and
    six numbers of trials, each with resamples of its own, their mean with 0.2 %; 5 % is 12 of them away.
    """
    shares = []
    for count in range(201, 400, 36):
        waits = np.zeros((count, count + 1, 2), np.int64)
        waits[np.arange(count), np.arange(count) + 1, 0] = 1
        found = together(waits, np.arange(count + 2))
        low, high = round(found.low) - 1, count - round(found.high)  # the law is symmetric
        shares.append(
            [(bootstrap_median_at_most(k, count) + bootstrap_median_at_most(k - 1, count)) / 2 for k in (low, high)]
        )
    assert len(shares) == 6
    tail = expanded_tail(300)
    assert tail == pytest.approx(0.0243, abs=1e-4)  # Phi(-sqrt(300/299) 1.9679)
    np.testing.assert_allclose(np.mean(shares, axis=0), tail, atol=SIGMAS * 0.005 / math.sqrt(6))


def test_averaging_only_the_waits_that_ended_is_biased():
    """Censored at rate q too: the waits that end have mean about 1/(2q), the Kaplan-Meier median is right."""
    waits = simulated(200, 0.05, 0.05, seed=3).sum(axis=0)
    n = np.arange(400)
    ended = waits[:, 0]
    naive_median = n[np.searchsorted(np.cumsum(ended), ended.sum() / 2)]
    true = math.ceil(math.log(0.5) / math.log(0.95))  # 14
    # Greenwood at the true median: standard error of the survival, and of the median through the density
    at_risk = np.cumsum(waits.sum(axis=1)[::-1])[::-1]
    sigma = 0.5 * math.sqrt((ended[: true + 1] / np.maximum(at_risk[: true + 1], 1) ** 2).sum())
    stderr = sigma / (0.5 * 0.05)
    assert abs(median_wait(waits, np.arange(401)) - true) < SIGMAS * stderr + 1
    assert naive_median < true - SIGMAS * stderr  # control: the naive one fails the same test


# --- averages


def test_over_trials_leaves_out_nan():
    average = over_trials(np.array([1.0, np.nan, 2.0, 6.0, np.inf]))
    assert average.mean == pytest.approx(3.0, rel=IDENTITY)
    assert average.stderr == pytest.approx(math.sqrt((4 + 1 + 9) / 2 / 3), rel=IDENTITY)


def test_over_trials_of_one_or_none():
    one, none = over_trials(np.array([np.nan, 4.0])), over_trials(np.array([np.nan]))
    assert one.mean == 4.0
    assert math.isnan(one.stderr)
    assert math.isnan(none.mean)
    assert math.isnan(none.stderr)


STUDENT = {1: 12.706204736, 2: 4.302652730, 9: 2.262157163, 29: 2.045229642}  # 97.5 % quantiles, from any table


def test_half_width_is_students_quantile_times_the_standard_error():
    for freedom, quantile in STUDENT.items():
        if freedom < 4:
            assert np.isnan(half_width(0.5, freedom + 1))  # fewer than five trials
            continue
        assert half_width(0.5, freedom + 1) == pytest.approx(0.5 * quantile, rel=1e-9)  # digits of the table
    # each with its own number of trials
    np.testing.assert_allclose(half_width([1.0, 2.0], [10, 30]), [STUDENT[9], 2 * STUDENT[29]], rtol=1e-9)
    assert half_width(1.0, 5, 0.99) == pytest.approx(4.604094871, rel=1e-9)
    assert half_width(1.0, 10**7) == pytest.approx(1.959964, abs=1e-6)
    assert np.isnan(half_width(np.array([np.nan, 1.0, 1.0]), np.array([5, 1, 0]))).all()


def test_a_curve_over_trials_by_hand():
    """Means 2 and 5; deviations (-1, 1) and (-3, 3): standard errors 1 and 3, on one degree of freedom."""
    curve = curve_over_trials(np.array([[1.0, 2.0], [3.0, 8.0]]))
    np.testing.assert_allclose(curve.mean, [2.0, 5.0], rtol=IDENTITY)
    np.testing.assert_allclose(curve.stderr, [1.0, 3.0], rtol=IDENTITY)
    assert np.isnan(curve.interval).all()  # of two trials
    ten = curve_over_trials(np.arange(10.0)[:, np.newaxis])
    np.testing.assert_allclose(ten.interval[1][0], 4.5 + STUDENT[9] * math.sqrt(55 / 6 / 10), rtol=1e-9)
    one, none = curve_over_trials(np.ones((1, 4))), curve_over_trials(np.ones((0, 4)))
    assert (one.mean == 1.0).all()
    assert np.isnan([one.stderr, *one.interval, none.mean, none.stderr, *none.interval]).all()


def test_the_scales_of_an_interval_by_hand():
    """Mean 2 and reach 1: the upper end 2 exp(1/2). A share of 1/2 and reach 1/4: logits -1 and 1, of 1 and 0 nothing is known."""
    stderr = 1.0 / STUDENT[9]
    low, high = mean_interval([2.0, 0.5], [stderr, stderr], 10, "positive")
    np.testing.assert_allclose(low, [1.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(high, [2 * math.exp(0.5), 0.5 * math.exp(2.0)], rtol=1e-9)
    low, high = mean_interval([0.5, 1.0, 0.0], [stderr / 4, 0.0, 0.0], 10, "share")
    np.testing.assert_allclose(low, [0.25, 1.0, 0.0], atol=1e-9)  # the logit's end, 0.269, is inside Student's
    np.testing.assert_allclose(high, [0.75, 1.0, 0.0], atol=1e-9)
    low, high = mean_interval([0.98], [0.01 / STUDENT[9]], 10, "share")
    assert low[0] == pytest.approx(1 / (1 + math.exp(0.01 / 0.0196 - math.log(49))), rel=1e-8)
    assert high[0] == pytest.approx(0.99, rel=1e-9)
    assert np.isnan(mean_interval([2.0], [1.0], 4, "positive")).all()


def test_ratio_of_nothing_is_nan():
    np.testing.assert_array_equal(ratio(np.array([1.0, 0.0, 3.0]), np.array([2.0, 0.0, 4.0])), [0.5, np.nan, 0.75])


def sums_about(theta: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """What the loop leaves for each trial of theta (T, K, N): sums of theta - origin, and of its products below."""
    trials, steps, N = theta.shape
    moments = np.zeros((trials, N + 1, N))
    for t in range(trials):
        for k in range(steps):
            for d in range(N):
                moments[t, 0, d] += theta[t, k, d] - origin[d]
                for e in range(d + 1):
                    moments[t, d + 1, e] += (theta[t, k, d] - origin[d]) * (theta[t, k, e] - origin[e])
    return moments


def test_pooled_moments_keep_their_digits_far_from_zero():
    """theta near 1e8 with deviations of 1e-2: about a near origin 1e-7 of the variance is kept, about 0 nothing."""
    rng = np.random.default_rng(5)
    far, mixing = np.array([1e8, -1e8, 3e7]), np.array([[1.0, 0.0, 0.0], [0.5, 1.0, 0.0], [-0.3, 0.2, 2.0]])
    theta = far + 0.01 * rng.standard_normal((4, 200, 3)) @ mixing.T
    exact = (theta - far).reshape(-1, 3)  # the subtraction is exact
    wanted = (exact - exact.mean(axis=0)).T @ (exact - exact.mean(axis=0)) / len(exact)
    found = pooled_moments(sums_about(theta, far + 1.0), 800.0, far + 1.0)
    np.testing.assert_allclose(found.mean, far + exact.mean(axis=0), rtol=1e-15)
    np.testing.assert_allclose(found.covariance, wanted, atol=1e-10)
    np.testing.assert_array_equal(found.covariance, found.covariance.T)
    lost = pooled_moments(sums_about(theta, np.zeros(3)), 800.0, np.zeros(3))
    assert np.abs(lost.covariance - wanted).max() > np.abs(wanted).max()  # control


def test_pooled_moments_of_nothing():
    empty = pooled_moments(np.zeros((0, 3, 2)), 0.0, np.ones(2))
    assert np.isnan(empty.mean).all()
    assert np.isnan(empty.covariance).all()


def test_final_moments_against_loops():
    rng = np.random.default_rng(6)
    theta, mode, X = rng.standard_normal((50, 3)), rng.integers(0, 2, 50), 3  # the third mode is never met
    got = final_moments(theta, mode, X)
    for x in range(X):
        here = [theta[t] for t in range(50) if mode[t] == x]
        assert got.probability[x] == pytest.approx(len(here) / 50, rel=IDENTITY)
        np.testing.assert_allclose(got.mean_by_mode[x], sum(here, np.zeros(3)) / 50, atol=IDENTITY)
        products = sum((np.outer(row, row) for row in here), np.zeros((3, 3)))
        np.testing.assert_allclose(got.second_by_mode[x], products / 50, atol=IDENTITY)
    np.testing.assert_allclose(got.mean, theta.mean(axis=0), atol=IDENTITY)
    np.testing.assert_allclose(got.second, sum(np.outer(row, row) for row in theta) / 50, atol=IDENTITY)
    np.testing.assert_allclose(got.mean_by_mode.sum(axis=0), got.mean, atol=IDENTITY)


def test_time_average_takes_the_averaged_records():
    trace = np.array([[1.0, 2.0, 4.0, 8.0, 100.0]])
    steps = [0, 10, 20, 30, 40]
    assert time_average(trace, steps, 10, 40) == pytest.approx(14 / 3, rel=IDENTITY)  # k = 10, 20, 30, not K = 40
    assert time_average(trace, steps, 0, 40) == pytest.approx(15 / 4, rel=IDENTITY)
    assert np.isnan(time_average(trace, steps, 31, 40)).all()


FAST = """
name = "arrivals"
seed = 5
trials = 100
steps = 3000
start = [0.0]
[chain]
alpha = 0.3
Q = [[-1.0, 1.0], [1.0, -1.0]]
[[modes]]
name = "left"
cost = "quadratic"
minimum = [-50.0]
curvature = [[1.0]]
target = { radius = 0.1257 }
[[modes]]
name = "right"
cost = "quadratic"
minimum = [50.0]
curvature = [[1.0]]
target = { radius = 0.1257 }
[[samplers]]
name = "independent"
kind = "langevin"
epsilon = 1.0
beta = 2.0
"""


def test_recovery_is_right_where_most_waits_are_cut_by_the_next_switch():
    """With epsilon h = 1 theta_{k+1} = m + N(0, 1): from age 1 on arrivals are independent, p = P(|N(0, 1)| < 0.1257) = 0.1.

    The median is the first n with 0.9^n <= 1/2: 7. Control: cut at the switch, not at the last look before it, the hazard is
    seen too small by the factor 1 - alpha.
    """
    run = tracker.run(tracker.parse(FAST), executor=1)
    assert run.summary["samplers"][0]["recovery"]["median"] == 7
    waits = run.arrays["waits"][:, 0].sum(axis=(0, 1)).astype(float)
    alive = kaplan_meier(waits)
    at_risk = waits[:, :].sum(axis=1)[::-1].cumsum()[::-1]
    for n in range(1, 6):
        hazard, stderr = 1 - alive[n] / alive[n - 1], np.sqrt(0.1 * 0.9 / at_risk[n])
        assert abs(hazard - 0.10003) < SIGMAS * stderr
    late = waits.copy()
    late[1:, 1], late[0, 1] = waits[:-1, 1], 0.0
    assert median_wait(late, np.arange(len(late) + 1)) == 10
