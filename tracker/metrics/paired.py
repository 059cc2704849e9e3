"""Compare two samplers on the same trials: same chain, same data, same noise.

They are compared by the ratio of their means, which says the same as the difference of the means (waits for re-acquisition:
``tracker.metrics.after_switch.compare_waits``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker.metrics.averages import CONFIDENCE, FEWEST_TRIALS, Average, half_width, over_trials

if TYPE_CHECKING:
    from tracker.array_types import Array


class Paired(NamedTuple):
    """An estimate with its interval; in ``wins`` of ``trials`` trials the first had the smaller number.

    low and high are nan for fewer than five trials.
    """

    estimate: float
    low: float
    high: float
    wins: int
    trials: int


class Comparison(NamedTuple):
    """Two samplers on the same trials: the ratio of their means, and the difference."""

    ratio: Paired
    difference: Paired


def difference(a: Array, b: Array, confidence: float = CONFIDENCE) -> Paired:
    """Return the mean of a - b over the trials (T,) in which both are finite."""
    both = np.isfinite(a) & np.isfinite(b)
    return _interval(a[both] - b[both], int((a[both] < b[both]).sum()), confidence)


def ratio_of_means(a: Array, b: Array, confidence: float = CONFIDENCE) -> Paired:
    """Return E[a] / E[b] over the trials (T,) in which both are finite, for values that are not negative.

    Its logarithm has the influence values a_i / mean(a) - b_i / mean(b) (delta method); the interval is Student's for them.
    It is nan where E[b] = 0, and 0 without a doubt where a is 0 in all trials.
    """
    both = np.isfinite(a) & np.isfinite(b)
    a, b = a[both], b[both]
    wins = int((a < b).sum())
    if a.size == 0 or not (b.mean() > 0.0 and a.mean() >= 0.0):
        return Paired(np.nan, np.nan, np.nan, wins, a.size)
    if not a.any():
        return Paired(0.0, 0.0, 0.0, wins, a.size)
    influence = a / a.mean() - b / b.mean()
    return _exponential(_interval(np.log(a.mean() / b.mean()) + influence, wins, confidence))


def ratio_of_averages(a: Average, b: Average, trials: int, confidence: float = CONFIDENCE) -> Paired:
    """Return the ratio of two means of which only the standard errors are known, not the trials.

    Both intervals (Student's, each with half of what may go wrong) are taken at their worst, which holds however the
    trials of the one hang together with those of the other; so it is wider than that of ``ratio_of_means``, with which it
    shares the estimate. No wins are counted.
    """
    if not (b.mean > 0.0 and trials > 0):
        return Paired(np.nan, np.nan, np.nan, 0, 0)
    if trials < FEWEST_TRIALS:
        return Paired(a.mean / b.mean, np.nan, np.nan, 0, 0)
    own, other = (float(half_width(one.stderr, trials, 0.5 + confidence / 2.0)) for one in (a, b))
    least, most = b.mean - other, b.mean + other
    high = (a.mean + own) / least if least > 0.0 else np.inf
    return Paired(a.mean / b.mean, max(0.0, (a.mean - own) / most), high, 0, 0)


def gap_closed(a: Array, worst: Array, best: Array, confidence: float = CONFIDENCE) -> Paired:
    """Return 1 - E[a - best] / E[worst - best]: the share of the way from the worst to the best that was made good.

    What is left of the way, E[a - best] / E[worst - best], is a ratio of means: its interval is taken on the scale of the
    logarithm. Where a is best on average, nothing is left, and the interval is that of the ratio itself (delta method).
    """
    finite = np.isfinite(a) & np.isfinite(worst) & np.isfinite(best)
    above, gap = (a - best)[finite], (worst - best)[finite]
    trials, wins = above.size, int((above < gap).sum())
    if trials == 0 or not gap.mean() > 0.0:
        return Paired(np.nan, np.nan, np.nan, wins, trials)
    share = 1.0 - above.mean() / gap.mean()
    if (above >= 0.0).all() and above.any():
        left = ratio_of_means(above, gap, confidence)
        return Paired(float(share), 1.0 - left.high, 1.0 - left.low, wins, trials)
    residual = above - (1.0 - share) * gap
    margin = float(half_width(over_trials(residual).stderr, trials, confidence)) / gap.mean()
    return Paired(float(share), float(share - margin), float(share + margin), wins, trials)


def _interval(values: Array, wins: int, confidence: float) -> Paired:
    if values.size == 0:
        return Paired(np.nan, np.nan, np.nan, wins, 0)
    mean, stderr = over_trials(values)
    margin = float(half_width(stderr, values.size, confidence))
    return Paired(mean, mean - margin, mean + margin, wins, values.size)


def _exponential(logarithm: Paired) -> Paired:
    estimate, low, high, wins, trials = logarithm
    with np.errstate(over="ignore"):  # the upper end of what two trials know may be infinite
        return Paired(float(np.exp(estimate)), float(np.exp(low)), float(np.exp(high)), wins, trials)
