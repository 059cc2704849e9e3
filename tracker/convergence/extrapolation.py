"""Extrapolate errors to epsilon = 0, and test whether they vanish there (docs/mathematics, "Limit verdict").

Exact values carry no noise that a high degree would blow up: they are interpolated, and what the highest degree changes
stands in the place of a standard error.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.array_types import Array
    from tracker.convergence.trials import Tally
    from tracker.convergence.verdict import Word


LEVEL = 0.01  # at which a right limit is rejected
ONE_SIDED = 1.6448536269514722  # 95 % quantile of the normal law
DEGREE, MOST_DEGREE = 2, 4  # of simulated and of exact errors
DRAWS, DRAW_SEED = 60_000, 20_170
AT_ONCE = 4_000_000  # normals
RARE = 25.0  # events expected; with fewer a mean is not nearly normal
ROUNDING = 1e-9


class Judged(NamedTuple):
    """A verdict on J discrepancies.

    discrepancy, uncertainty : (J,); uncertainty is one standard error, or the truncation of exact values
    reached : max_j (|a_j| + its margin) / scale_j
    needed : trials that would decide; None where the verdict is firm or trials do not help
    """

    verdict: Word
    discrepancy: Array
    uncertainty: Array
    reached: float
    largest_z: float | None
    needed: int | None


def weights(h: Sequence[float] | Array, degree: int = DEGREE) -> Array:
    """Return c with intercept = c @ values, by least squares of ``degree`` in h; shape (levels,)."""
    x = np.asarray(h, dtype=np.float64)
    design = np.vander(x / x.max(), min(degree, len(x) - 1) + 1, increasing=True)
    return np.asarray(np.linalg.pinv(design)[0])


def trials_for(delta: float, statistics: int, inflation: float, level: float = LEVEL) -> int:
    """Return R* for ``statistics`` of them, with Sidak's quantile in place of q."""
    q = -ndtri((1.0 - (1.0 - level) ** (1.0 / max(1, statistics))) / 2.0)
    return math.ceil(((q + ONE_SIDED) * inflation / delta) ** 2)


def largest_normal(covariance: Array, level: float = LEVEL) -> float:
    """Return the quantile 1 - level of max_j |N(0, corr)_j|, simulated from a fixed seed."""
    sd = np.sqrt(np.diag(covariance))
    values, vectors = np.linalg.eigh(covariance / np.outer(sd, sd))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    rng = np.random.default_rng(DRAW_SEED)
    size = max(1, AT_ONCE // len(sd))
    largest = [
        np.abs(rng.standard_normal((min(size, DRAWS - first), len(sd))) @ root.T).max(axis=1)
        for first in range(0, DRAWS, size)
    ]
    return float(np.quantile(np.concatenate(largest), 1.0 - level))


def judge_sampled(
    discrepancy: Array,
    covariance: Array,
    scale: Array,
    delta: float,
    trials: int,
    level: float = LEVEL,
    truncation: Array | float = 0.0,
) -> Judged:
    """Judge simulated discrepancies; covariance : (J, J), of the discrepancies; truncation : of those without noise."""
    variance = np.diag(covariance)
    stuck = ~(variance > 0.0)  # never varied: right to rounding and truncation, or wrong for sure
    if np.any(stuck & (np.abs(discrepancy) > ROUNDING + truncation)):
        return Judged("rejected", discrepancy, np.sqrt(variance), float("inf"), float("inf"), None)
    live = ~stuck
    a, se, unit = discrepancy[live], np.sqrt(variance[live]), scale[live]
    if not live.any():
        return Judged("confirmed", discrepancy, np.sqrt(variance), 0.0, 0.0, None)
    q = largest_normal(covariance[np.ix_(live, live)], level)
    z = float((np.abs(a) / se).max())
    reached = float(((np.abs(a) + ONE_SIDED * se) / unit).max())
    needed = math.ceil(trials * float(((q + ONE_SIDED) * se / (delta * unit)).max()) ** 2)
    uncertainty = np.sqrt(variance)
    if z > q:
        return Judged("rejected", discrepancy, uncertainty, reached, z, None)
    if reached < delta:
        return Judged("confirmed", discrepancy, uncertainty, reached, z, None)
    # R* trials were made and did not decide: the discrepancy is close to delta. Four times R* would decide at delta / 2.
    return Judged("inconclusive", discrepancy, uncertainty, reached, z, needed if needed > trials else 4 * needed)


def judge_exact(discrepancy: Array, truncation: Array, scale: Array, delta: float) -> Judged:
    """Judge exact discrepancies, each known up to its truncation."""
    unit = np.where(scale > 0.0, scale, 1.0)
    high = (np.abs(discrepancy) + truncation) / unit
    low = (np.abs(discrepancy) - truncation) / unit
    reached = float(high.max(initial=0.0))
    verdict: Word = "confirmed" if reached < delta else "rejected" if (low > delta).any() else "inconclusive"
    return Judged(verdict, discrepancy, truncation, reached, None, None)


def limit_from_samples(h: Sequence[float], tallies: Sequence[Tally], limit: Array, delta: float, tested: int) -> Judged:
    """Judge the extrapolated statistics of simulated rungs against the limit; ``tested``: how many of them, from the first."""
    c = weights(h)
    d = np.array([tally.mean - limit for tally in tallies])
    covariance = sum(w**2 * tally.covariance / tally.trials for w, tally in zip(c, tallies, strict=True))
    use = slice(0, tested)
    scale = np.sqrt(np.diag(tallies[-1].covariance))
    cut = np.abs((c - weights(h, DEGREE - 1)) @ d)[use]
    noise = np.asarray(covariance)[use, use]
    return judge_sampled((c @ d)[use], noise, scale[use], delta, tallies[0].trials, truncation=cut)


def limit_from_exact(
    h: Sequence[float], algorithm: Array, limit: Array, scale: Array, delta: float, tested: int
) -> Judged:
    """Judge the extrapolated exact statistics; algorithm : (levels, J)."""
    d = algorithm - limit
    top = min(len(h) - 1, MOST_DEGREE)
    a = weights(h, top) @ d
    truncation = np.abs(a - weights(h, top - 1) @ d)
    return judge_exact(a[:tested], truncation[:tested], scale[:tested], delta)


def implementation(tally: Tally, exact: Array, delta: float, tested: int, level: float = LEVEL) -> Judged:
    """Judge the trials of one rung against the exact law there."""
    use = slice(0, tested)
    scale = np.sqrt(np.diag(tally.covariance))
    covariance = tally.covariance[use, use] / tally.trials
    return judge_sampled((tally.mean - exact)[use], covariance, scale[use], delta, tally.trials, level)
