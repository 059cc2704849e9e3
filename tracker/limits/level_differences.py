"""Differences of E f between coupled levels: means, intervals, and the slope at which they shrink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tracker.array_types import Array

QUANTILE = 1.959963984540054  # of the normal law, for 95 %


@dataclass(frozen=True, eq=False)
class Coupled:
    """Differences "level n minus level 2n" (or minus the limit) of E f; shape (times, levels) unless said.

    times, levels : ndarrays
    mean, stderr, variance : of the difference in one trial, and of its mean
    interval : 95 %, shape (times, levels, 2)
    value, value_stderr : E f at level n itself
    slope, slope_interval : of log |mean| against log(1/n), shapes (times,) and (times, 2); nan where a mean is not resolved
    distance : mean over trials of max_k |theta_k - its partner|, shape (levels,)
    mismatch : share of trials in another mode than the partner at the last time, shape (levels,)
    gradient_noise : "gaussian", "none", or "left out" (of costs whose noise comes from data: it vanishes in the limit)
    """

    times: Array
    levels: NDArray[Any]
    mean: Array
    stderr: Array
    variance: Array
    interval: Array
    value: Array
    value_stderr: Array
    slope: Array
    slope_interval: Array
    distance: Array
    mismatch: Array
    gradient_noise: str


def summarise(times: Array, levels: list[float], results: list[tuple[Array, ...]], noise: str) -> Coupled:
    """Return the differences of one function from what each level left: values here and there, distances, mismatches."""

    def over_levels(take: Callable[[tuple[Array, ...]], Array]) -> Array:
        return np.stack([take(level) for level in results], axis=1)

    trials = np.array([level[0].shape[-1] for level in results])
    mean = over_levels(lambda r: (r[0] - r[1]).mean(axis=-1))
    variance = over_levels(lambda r: (r[0] - r[1]).var(axis=-1, ddof=1))
    stderr = np.sqrt(variance / trials)
    fits = [_slope(np.array(levels), mean[t], stderr[t]) for t in range(len(times))]
    return Coupled(
        times=times,
        levels=np.array([n if n != round(n) else int(n) for n in levels]),
        mean=mean,
        stderr=stderr,
        variance=variance,
        interval=mean[..., None] + QUANTILE * stderr[..., None] * np.array([-1.0, 1.0]),
        value=over_levels(lambda r: r[0].mean(axis=-1)),
        value_stderr=over_levels(lambda r: r[0].std(axis=-1, ddof=1)) / np.sqrt(trials),
        slope=np.array([slope for slope, _ in fits]),
        slope_interval=np.array([[slope - QUANTILE * sd, slope + QUANTILE * sd] for slope, sd in fits]),
        distance=np.array([r[2].mean() for r in results]),
        mismatch=np.array([r[3].mean() for r in results]),
        gradient_noise=noise,
    )


def _slope(levels: NDArray[Any], mean: Array, stderr: Array) -> tuple[float, float]:
    """The slope of log |mean| against log(1/n) by weighted least squares, and its standard deviation."""
    if len(levels) < 2 or np.any(np.abs(mean) <= QUANTILE * stderr):
        return float("nan"), float("nan")
    relative = np.maximum(stderr / np.abs(mean), 1e-12)
    weight = relative**-2
    x, y = -np.log(levels), np.log(np.abs(mean))
    x = x - np.average(x, weights=weight)
    information = float(np.sum(weight * x * x))
    return float(np.sum(weight * x * y) / information), information**-0.5
