"""Estimate Q from the visits of a path with intervals, and test the law of dwells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tracker.array_types import Array, Integers
from tracker.chain.dwell_counts import DwellCounts
from tracker.chain.dwell_laws import BILLIONTHS

FEWEST_EXPECTED = 5.0  # per bin of the hazard test, for its chi-squared law


@dataclass(frozen=True, eq=False)
class Estimate:
    """Likelihood estimate of Q; nan for modes without data.

    Attributes
    ----------
    Q_hat, stderr : ndarray, shape (X, X)
        Delta method, sqrt(P (1 - P) / n_i) / alpha.
    low, high : ndarray, shape (X, X)
        Clopper-Pearson intervals: rare jumps are no Gaussian matter. (Gaussian ones where the chance to leave depends on
        the age: visits are then more regular than a binomial law.)
    exit_low, exit_high : ndarray, shape (X,)
        The same of |q_ii|.
    mean_dwell : ndarray, shape (X,)
        n_i / exits, in steps, censoring included; inf where no exit was seen.
    """

    Q_hat: Array
    stderr: Array
    low: Array
    high: Array
    exit_low: Array
    exit_high: Array
    mean_dwell: Array


def estimate(counts: DwellCounts, alpha: float, confidence: float = 0.95, leaving: ArrayLike | None = None) -> Estimate:
    """Estimate Q from the counts of a path, with intervals.

    ``leaving`` (X,), the chances a_i, is needed where the chance to leave depends on the age. There n_i is the number of steps
    in which a geometric law would expect as many exits as were expected: E_i / a_i.

    >>> import numpy as np
    >>> from tracker import chain
    >>> visits = np.array([0, 1]), np.array([4, 5]), np.array([True, False]), np.array([1, -1])
    >>> counts = chain.count_dwells(*visits, chain.age_edges([0.2]), modes=2)
    >>> chain.estimate(counts, alpha=0.5).Q_hat[0]  # one exit in four steps
    array([-0.5,  0.5])
    """
    n, exits = _steps_at_mean_chance(counts, leaving), counts.completed
    with np.errstate(divide="ignore", invalid="ignore"):
        p = counts.jumps / n[..., None]
        p_exit = exits / n
        mean_dwell = n / exits
    sign = 1.0 - 2.0 * np.eye(p.shape[-1])
    p += np.eye(p.shape[-1]) * p_exit[..., None]  # jumps has a zero diagonal
    stderr = np.sqrt(p * (1.0 - p) / np.maximum(n, 1)[..., None]) / alpha
    diagonal = np.eye(p.shape[-1], dtype=bool)
    jumps = np.where(diagonal, exits[..., None], counts.jumps)
    if counts.expected is None:
        low, high = _clopper_pearson(jumps, n[..., None], confidence)
    else:
        low, high, stderr = _by_variance(jumps, exits, counts.expected, n, confidence)
        stderr = stderr / alpha
    return Estimate(
        Q_hat=sign * p / alpha,
        stderr=stderr,
        low=np.where(diagonal, -high, low) / alpha,
        high=np.where(diagonal, -low, high) / alpha,
        exit_low=np.diagonal(low, axis1=-2, axis2=-1) / alpha,
        exit_high=np.diagonal(high, axis1=-2, axis2=-1) / alpha,
        mean_dwell=mean_dwell,
    )


def _steps_at_mean_chance(counts: DwellCounts, leaving: ArrayLike | None) -> Array:
    """n_i, shape (X,)."""
    if counts.expected is None:
        return np.asarray(counts.steps)
    if leaving is None:
        raise ValueError("leaving: the chance to leave depends on the age, and its mean must be given")
    a = np.asarray(leaving, dtype=np.float64)
    expected = counts.expected[..., 0].sum(axis=-1) / BILLIONTHS
    return np.asarray(np.divide(expected, a, out=np.zeros_like(expected), where=a > 0.0))


def _by_variance(
    jumps: Integers, exits: Integers, expected: Integers, n: Array, confidence: float
) -> tuple[Array, Array, Array]:
    """Interval and standard error of jumps / n: the exits have the variance V, and each goes to j with a probability."""
    from scipy.special import ndtri

    V = expected[..., 1].sum(axis=-1)[..., None] / BILLIONTHS
    with np.errstate(divide="ignore", invalid="ignore"):
        share = jumps / exits[..., None]
        found, spread = jumps / n[..., None], np.sqrt(jumps * (1.0 - share) + share**2 * V) / n[..., None]
    reach = ndtri((1.0 + confidence) / 2.0)
    return np.maximum(found - reach * spread, 0.0), found + reach * spread, spread


def _clopper_pearson(count: Integers, n: Array | Integers, confidence: float) -> tuple[Array, Array]:
    """Interval of a probability after `count` successes in n trials; nan for n = 0."""
    from scipy.special import betaincinv

    tail = (1.0 - confidence) / 2.0
    known = np.where(n > 0, 1.0, np.nan)
    low = np.where(count > 0, betaincinv(np.maximum(count, 1), n - count + 1, tail), 0.0)
    high = np.where(count < n, betaincinv(count + 1, np.maximum(n - count, 1), 1.0 - tail), 1.0)
    return known * low, known * high


def rate_test(counts: DwellCounts, a: ArrayLike) -> Array:
    """Does the chain leave each mode as often as the exit probabilities `a` say? p-values, shape (X,), nan without data.

    Two-sided binomial test of the exits among all steps; the hazard test with an estimated chance sees ages only. Where the
    chance to leave depends on the age, exits less their expectation, over their standard deviation, is nearly normal; nan
    where fewer than 5 are expected, or nothing is left to chance.

    >>> import numpy as np
    >>> from tracker import chain
    >>> visits = np.array([0, 1]), np.array([4, 5]), np.array([True, False]), np.array([1, -1])
    >>> counts = chain.count_dwells(*visits, chain.age_edges([0.2]), modes=2)
    >>> chain.rate_test(counts, [0.25, 0.25]).round(3)
    array([1.   , 0.633])
    """
    from scipy.special import betainc, betaincc, ndtr

    if counts.expected is not None:
        E, V = np.moveaxis(counts.expected.sum(axis=-2) / BILLIONTHS, -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = (counts.completed - E) / np.sqrt(V)
        return np.where((E >= FEWEST_EXPECTED) & (V > 0.0), 2.0 * ndtr(-np.abs(z)), np.nan)
    n, exits, chance = counts.steps, counts.completed, np.asarray(a, dtype=np.float64)
    at_least = np.where(exits > 0, betainc(np.maximum(exits, 1), n - exits + 1, chance), 1.0)
    at_most = np.where(exits < n, betaincc(exits + 1, np.maximum(n - exits, 1), chance), 1.0)
    return np.where(n > 0, np.minimum(1.0, 2.0 * np.minimum(at_least, at_most)), np.nan)


@dataclass(frozen=True, eq=False)
class HazardTest:
    """Chi-squared test, mode by mode; all of shape (X,), p_value nan where df < 1."""

    statistic: Array
    df: Integers
    p_value: Array


def hazard_test(counts: DwellCounts, a: ArrayLike | None = None) -> HazardTest:
    """Is the chance to leave a mode at every age of the visit what the law says?

    With d exits among r steps at the ages of a bin, sum (d - a r)^2 / (a r (1 - a)) is
    chi-squared on as many degrees of freedom as bins, less one if a is estimated. Where the
    chance depends on the age, a r and a r (1 - a) are the expectation and variance that were
    counted, times the estimated quotient of exits and their expectation.

    Parameters
    ----------
    counts : DwellCounts
        Without a leading axis (`DwellCounts.pooled`).
    a : array_like, shape (X,), optional
        Exit probabilities; estimated from `counts` if not given.

    Examples
    --------
    >>> import numpy as np
    >>> from tracker import chain
    >>> n = 400
    >>> lengths = chain.dwell(np.random.default_rng(1).exponential(size=n), 0.5)
    >>> visits = np.zeros(n, int), lengths, np.ones(n, bool), np.ones(n, int)
    >>> counts = chain.count_dwells(*visits, chain.age_edges([0.5]), modes=2)
    >>> bool(chain.hazard_test(counts).p_value[0] > 0.01)
    True
    """
    from scipy.special import chdtrc

    if counts.expected is not None:
        return _hazard_test_by_age(counts, counts.expected)
    modes = len(counts.steps)
    mean = counts.completed / np.maximum(counts.steps, 1)
    chance = mean if a is None else np.asarray(a, dtype=np.float64)
    statistic, df = np.zeros(modes), np.zeros(modes, dtype=np.int64)
    for i in range(modes):
        scarcer = min(chance[i], 1.0 - chance[i])
        first = _merge(counts.at_risk[i] * scarcer)
        if len(first) > 0:
            d = np.add.reduceat(counts.exits[i], first)
            r = np.add.reduceat(counts.at_risk[i], first)
            variance = chance[i] * (1.0 - chance[i]) * r
            statistic[i] = np.sum((d - chance[i] * r) ** 2 / variance)
            df[i] = len(first) - (a is None)
    p_value = np.where(df > 0, chdtrc(np.maximum(df, 1), statistic), np.nan)
    return HazardTest(statistic, df, p_value)


def _hazard_test_by_age(counts: DwellCounts, expected: Integers) -> HazardTest:
    from scipy.special import chdtrc

    modes = len(counts.steps)
    statistic, df = np.zeros(modes), np.zeros(modes, dtype=np.int64)
    for i in range(modes):
        E, V = expected[i].T / BILLIONTHS
        quotient = counts.completed[i] / E.sum() if E.sum() > 0.0 else 0.0
        first = _merge(quotient * V)
        if len(first) > 1:
            d, e, v = (np.add.reduceat(one, first) for one in (counts.exits[i], E, V))
            statistic[i] = np.sum((d - quotient * e) ** 2 / (quotient * v))
            df[i] = len(first) - 1
    p_value = np.where(df > 0, chdtrc(np.maximum(df, 1), statistic), np.nan)
    return HazardTest(statistic, df, p_value)


def _merge(expected: Array) -> Integers:
    """First indices of groups of neighbours that expect at least FEWEST_EXPECTED."""
    first, start, total = [], 0, 0.0
    for b, share in enumerate(expected):
        total += share
        if total >= FEWEST_EXPECTED:
            first.append(start)
            start, total = b + 1, 0.0
    return np.array(first, dtype=np.int64)  # what is left over joins the last group
