"""Averages over trials, with their standard errors, and moments of the iterates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from tracker.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from tracker.array_types import Array, Integers


Scale = Literal["any", "positive", "share"]
CONFIDENCE = 0.95
FEWEST_TRIALS = 5  # an interval from fewer does not cover what it says


class Average(NamedTuple):
    """A mean over trials; stderr is nan for fewer than two trials."""

    mean: float
    stderr: float


class Curve(NamedTuple):
    """Means over trials with their standard errors, of the same shape, and how many trials went into each; nan for too few.

    ``scale`` is that of ``mean_interval``.
    """

    mean: Array
    stderr: Array
    trials: Integers
    scale: Scale = "any"

    @property
    def interval(self) -> tuple[Array, Array]:
        """The ends of the 95 % interval, nan for too few trials."""
        return mean_interval(self.mean, self.stderr, self.trials, self.scale)


class PooledMoments(NamedTuple):
    """Mean (N,) and covariance (N, N), or its diagonal (N,), or None where only the mean was measured."""

    mean: Array
    covariance: Array | None


def over_trials(values: Array) -> Average:
    """Return the mean of one value per trial; values that are nan are left out."""
    values = values[np.isfinite(values)]
    if values.size == 0:
        return Average(np.nan, np.nan)
    stderr = values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else np.nan
    return Average(float(values.mean()), float(stderr))


def curve_over_trials(values: Array, scale: Scale = "any") -> Curve:
    """Return the means over trials of ``values`` (T, ...)."""
    trials, shape = len(values), values.shape[1:]
    mean = values.mean(axis=0) if trials > 0 else np.full(shape, np.nan)
    stderr = values.std(axis=0, ddof=1) / np.sqrt(trials) if trials > 1 else np.full(shape, np.nan)
    return Curve(mean, stderr, np.full(shape, trials), scale)


def half_width(stderr: ArrayLike, trials: ArrayLike, confidence: float = CONFIDENCE) -> Array:
    """Return how far an interval reaches to both sides of a mean over ``trials``: Student's quantile times the standard error.

    trials : how many went into the mean, for each of ``stderr`` or for all. nan for fewer than five.
    """
    from scipy.special import stdtrit

    count = np.where(np.asarray(trials) >= FEWEST_TRIALS, trials, np.nan)
    return np.asarray(stdtrit(count - 1.0, 0.5 + confidence / 2.0) * np.asarray(stderr))


def mean_interval(
    mean: ArrayLike, stderr: ArrayLike, trials: ArrayLike, scale: Scale = "any", confidence: float = CONFIDENCE
) -> tuple[Array, Array]:
    """Return the ends of the interval of a mean over ``trials``, nan for fewer than five.

    scale : "any" for numbers of either sign, "positive" for those that are never negative, "share" for those in [0, 1]

    Notes
    -----
    Student's interval misses the mean of skewed numbers on one side: few trials seldom hold one of the large ones, and then
    both the mean and its standard error are too small. Of positive numbers the upper end is therefore taken on the scale of
    the logarithm, mean exp(reach/mean) > mean + reach; of shares both ends on that of the logit, where they reach further.
    Neither is ever narrower than Student's, but for what lies outside the numbers' range.
    """
    middle, reach = np.asarray(mean, dtype=float), half_width(stderr, trials, confidence)
    low, high = middle - reach, middle + reach
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if scale == "positive":
            high = np.where(middle > 0.0, middle * np.exp(reach / middle), high)
            low = np.maximum(low, 0.0)
        elif scale == "share":
            logit, wide = np.log(middle / (1.0 - middle)), reach / (middle * (1.0 - middle))
            inner = (middle > 0.0) & (middle < 1.0) & np.isfinite(wide)
            low = np.where(inner, np.minimum(low, 1.0 / (1.0 + np.exp(wide - logit))), low)
            high = np.where(inner, np.maximum(high, 1.0 / (1.0 + np.exp(-wide - logit))), high)
            low, high = np.maximum(low, 0.0), np.minimum(high, 1.0)
    return low, high


def confidence_of_each(comparisons: int) -> float:
    """Return the confidence of each of several intervals that hold all together with 95 % (Bonferroni)."""
    return 1.0 - (1.0 - CONFIDENCE) / max(1, comparisons)


def ratio(sums: Array, counts: Array) -> Array:
    """Return sums / counts, nan where there is nothing to divide by."""
    return np.divide(sums, counts, out=np.full(np.shape(sums), np.nan), where=counts > 0)


def pooled_moments(moments: Array, count: float, origin: Array) -> PooledMoments:
    """Return the moments of theta from sums of theta - origin and of its outer products (lower triangle) or squares.

    moments : ndarray, shape (T, N + 1, N), or (T, 2, N) with squares in the second row, or (T, 1, N) without either
    count : the number of terms, over all T trials
    """
    total, N = moments.sum(axis=0), origin.size
    if count == 0:
        total, count = np.full(total.shape, np.nan), 1.0
    shift = total[0] / count
    if len(total) == 1:
        return PooledMoments(origin + shift, None)
    if len(total) != N + 1:
        return PooledMoments(origin + shift, total[1] / count - shift**2)
    lower = np.tril(total[1:]) / count
    second = lower + np.tril(lower, -1).T
    return PooledMoments(origin + shift, second - np.outer(shift, shift))


Kept = Literal["full", "diagonal", "none"]  # which second moments


class FinalMoments(NamedTuple):
    """Of theta_K over trials; by mode with the indicator, not normalised. ``second`` may be the diagonals only, or None."""

    mean: Array  # (N,)
    second: Array | None  # (N, N)
    probability: Array  # (X,)
    mean_by_mode: Array  # (X, N)
    second_by_mode: Array | None  # (X, N, N)


def final_moments(theta: Array, mode: Integers, modes: int, kept: Kept = "full") -> FinalMoments:
    """Return the moments of ``theta`` (T, N) with the modes ``mode`` (T,); of the second ones those that are ``kept``."""
    here = (mode[:, np.newaxis] == np.arange(modes)).astype(float)
    trials = len(theta) or np.nan  # nothing is known without trials
    mean = np.einsum("tx,ti->xi", here, theta) / trials
    probability = here.sum(axis=0) / trials
    if kept == "none":
        return FinalMoments(mean.sum(axis=0), None, probability, mean, None)
    products = "tx,ti,tj->xij" if kept == "full" else "tx,ti,ti->xi"
    second = np.einsum(products, here, theta, theta) / trials
    return FinalMoments(mean.sum(axis=0), second.sum(axis=0), probability, mean, second)


def time_average(trace: Array, steps: Sequence[int] | Integers, burn_in: int, stop: int) -> Array:
    """Return the mean over the recorded steps burn_in <= k < stop of a ``trace`` (T, R), one value per trial."""
    k = np.asarray(steps)
    chosen = trace[:, (k >= burn_in) & (k < stop)]
    return chosen.mean(axis=1) if chosen.shape[1] else np.full(len(trace), np.nan)


def running_mean(trace: Array, first: int = 0) -> Array:
    """Return the means over records first, ..., r for each r, shape (T, R - first, N), of a ``trace`` (T, R, N)."""
    kept = trace[:, first:]
    return np.asarray(np.cumsum(kept, axis=1) / np.arange(1, kept.shape[1] + 1)[:, np.newaxis])


def distance_to_nearest(theta: Array, mode: Integers, minimisers: Sequence[Array]) -> Array:
    """Return the distance (...) from theta (..., N) to the nearest minimiser (m, N) of its mode (...); nan for mode -1."""
    found = np.full(mode.shape, np.nan)
    for x, points in enumerate(minimisers):
        here = mode == x
        away = theta[here][:, np.newaxis] - points
        found[here] = np.sqrt((away**2).sum(axis=-1)).min(axis=-1)
    return found


class Budget(NamedTuple):
    """What a stationary mean-square error is made of; ``rest`` is what the four leading terms leave over.

    floor : the temperature's, there at any step
    discretisation : of the step without gradient noise
    gradient_noise : of the observations
    lag : of the switches, alpha / epsilon times a constant
    total : the exact error
    """

    floor: float
    discretisation: float
    gradient_noise: float
    lag: float
    total: float

    @property
    def rest(self) -> float:
        """Total less the leading terms."""
        return self.total - self.floor - self.discretisation - self.gradient_noise - self.lag


def no_interval(trials: int) -> str:
    """Say why there is no interval."""
    return f"{counted(trials, 'trial')} {'gives' if trials == 1 else 'give'} no interval, which takes {FEWEST_TRIALS}"
