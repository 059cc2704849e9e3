"""What happens after a switch: the error by age, the share of time in the right place, waits restricted to a horizon."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.metrics.averages import Curve
from tracker.metrics.recovery import survival

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def mean_per_step(sums: Array, steps: Array) -> Curve:
    """Return sum / steps, pooled over trials, from arrays (T, ...): a ratio of means, with the standard error of one.

    Trials weigh by their steps: one that spent two steps at an age does not count as much as one with two thousand, and one
    that was never there is none of those that went into the mean.
    """
    total, trials = steps.sum(axis=0), (steps > 0).sum(axis=0)
    mean = np.divide(sums.sum(axis=0), total, out=np.full(total.shape, np.nan), where=total > 0)
    square = np.zeros(mean.shape)
    for one, count in zip(sums, steps, strict=True):  # trial by trial: no copy of the whole array
        square += (one - np.nan_to_num(mean) * count) ** 2
    free = np.divide(trials, trials - 1, out=np.full(mean.shape, np.nan), where=trials > 1)
    return Curve(mean, np.sqrt(square * free) / np.where(total > 0, total, np.nan), trials)


def restricted_mean(waits: Array, edges: NDArray[np.int64], horizon: float) -> Array:
    """Return the mean of min(wait, horizon) by Kaplan and Meier, shape (...), from counts (..., bins, 2).

    E min(W, t) = sum over n < t of P(W > n); in a wide bin the survival falls in proportion. Beyond the last count it
    stays where it is. The horizon is rounded down to an edge of a bin, but never to 0. nan without any wait.
    """
    bins = max(1, int(np.searchsorted(edges, horizon, side="right")) - 1)
    bins = min(bins, waits.shape[-2])
    after = survival(waits)[..., :bins]
    before = np.concatenate([np.ones((*after.shape[:-1], 1)), after[..., :-1]], axis=-1)
    width = np.diff(edges[: bins + 1])
    total = (width * before + (after - before) * (width + 1) / 2.0).sum(axis=-1)
    return np.where(waits.sum(axis=(-1, -2)) > 0, total, np.nan)
