"""Measure what follows a switch: the error by age, the share of time in the target, and restricted mean waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.metrics.averages import CONFIDENCE, Average, Curve, half_width
from tracker.metrics.paired import Comparison, Paired
from tracker.metrics.recovery import MOST_COUNTS_HELD, group_trials, kaplan_meier, shares_of_modes

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.array_types import Array, Integers
    from tracker.metrics.averages import Scale


def mean_per_step(sums: Array, steps: Array, scale: Scale = "positive") -> Curve:
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
    return Curve(mean, np.sqrt(square * free) / np.where(total > 0, total, np.nan), trials, scale)


def restricted_mean(waits: Array, edges: Integers, horizon: float) -> Array:
    """Return the mean of min(wait, horizon) by Kaplan and Meier, shape (...), from counts (..., bins, 2).

    E min(W, t) = sum over n < t of P(W > n); in a wide bin the survival falls in proportion. Beyond the last count it
    stays where it is. The horizon is rounded down to an edge of a bin, but never to 0. nan without any wait.
    """
    bins = max(1, int(np.searchsorted(edges, horizon, side="right")) - 1)
    bins = min(bins, waits.shape[-2])
    after = kaplan_meier(waits)[..., :bins]
    before = np.concatenate([np.ones((*after.shape[:-1], 1)), after[..., :-1]], axis=-1)
    width = np.diff(edges[: bins + 1])
    total = (width * before + (after - before) * (width + 1) / 2.0).sum(axis=-1)
    return np.where(waits.sum(axis=(-1, -2)) > 0, total, np.nan)


def mixed_mean(waits: Array, edges: Integers, horizon: float) -> Array:
    """Return sum_i w_i E min(W_i, horizon) over the modes, shape (...), from counts (..., X, bins, 2): all waits pooled."""
    means = restricted_mean(waits, edges, horizon)
    found = (shares_of_modes(waits) * np.nan_to_num(means)).sum(axis=-1)
    return np.where(waits.sum(axis=(-1, -2, -3)) > 0, found, np.nan)


def pooled_mean(waits: Integers, edges: Integers, horizon: float) -> Average:
    """Return the restricted mean of all waits (T, X, bins, 2), with its standard error over trials (jackknife)."""
    met = waits.any(axis=(1, 2, 3))
    if not met.any():
        return Average(np.nan, np.nan)
    mean = float(mixed_mean(waits.sum(axis=0).astype(float), edges, horizon))
    values = _pseudo_values(lambda counts: mixed_mean(counts, edges, horizon), group_trials(waits[met]))
    return Average(mean, float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else np.nan)


def compare_waits(
    a: Integers,
    b: Integers,
    edges: Integers,
    horizon: float,
    price: tuple[float, float] = (1.0, 1.0),
    confidence: float = CONFIDENCE,
) -> Comparison:
    """Compare the waits (T, X, bins, 2) of two samplers by their pooled restricted means, each times its ``price`` per step.

    Notes
    -----
    A trial's own mean of few waits has a logarithm that depends on their number, so that averages of such logarithms compare
    how random the waits are. Pooled means do not; their intervals are those of the jackknife over paired trials, of the
    logarithm of the ratio and of the difference. Trials in which neither waited tell nothing and are left out.
    """
    met = a.any(axis=(1, 2, 3)) | b.any(axis=(1, 2, 3))
    a, b = a[met], b[met]
    trials, modes = len(a), a.shape[1]
    own = [price[n] * mixed_mean(one.astype(float), edges, horizon) for n, one in enumerate((a, b))]
    wins = int((own[0] < own[1]).sum())
    if trials == 0:
        return Comparison(Paired(np.nan, np.nan, np.nan, 0, 0), Paired(np.nan, np.nan, np.nan, 0, 0))
    both = group_trials(np.concatenate([a, b], axis=1))

    def means(counts: Array) -> Array:
        parts = (counts[..., :modes, :, :], counts[..., modes:, :, :])
        return np.stack([price[n] * mixed_mean(part, edges, horizon) for n, part in enumerate(parts)], axis=-1)

    def both_scales(counts: Array) -> Array:
        found = means(counts)
        logs = np.log(found)  # a wait lasts a step at least
        return np.stack([logs[..., 0] - logs[..., 1], found[..., 0] - found[..., 1]], axis=-1)

    estimates, values = both_scales(both.sum(axis=0)), _pseudo_values(both_scales, both)
    times, by = (_jackknife(float(estimates[n]), values[:, n], wins, trials, confidence) for n in range(2))
    with np.errstate(over="ignore"):
        estimate, low, high = (float(np.exp(end)) for end in times[:3])
    return Comparison(Paired(estimate, low, high, wins, trials), by)


def _jackknife(estimate: float, values: Array, wins: int, trials: int, confidence: float) -> Paired:
    """Return an estimate from all trials with Student's interval over its pseudo-values."""
    stderr = values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else np.nan
    reach = float(half_width(stderr, values.size, confidence))
    return Paired(estimate, estimate - reach, estimate + reach, wins, trials)


def _pseudo_values(statistic: Callable[[Array], Array], groups: Array) -> Array:
    """Return n f(all) - (n - 1) f(all but i) for each of n groups (n, ...): what each would have to be worth."""
    count, total = len(groups), groups.sum(axis=0)
    at_once = max(1, MOST_COUNTS_HELD // total.size)
    without = np.concatenate([statistic(total - groups[n : n + at_once]) for n in range(0, count, at_once)])
    return np.asarray(count * statistic(total) - (count - 1) * without)
