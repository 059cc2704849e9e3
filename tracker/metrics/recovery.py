"""Re-acquisition after a switch: Kaplan-Meier from counts, with an interval by bootstrap over trials.

A wait ends when theta first enters the target set of the new mode; it is censored by the next switch or the end of the run,
at the age of the last look before it: at the switch itself nobody can tell whether it would have ended there.
Averaging only the waits that ended would be biased towards the short ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

RESAMPLES = 1000
MOST_GROUPS = 400  # beyond this many trials, whole groups of them are resampled: they are independent too
RESAMPLING_SEED = 20_240_607  # a report must come out the same twice


class Recovery(NamedTuple):
    """Median wait in steps with a 95 % interval (inf where not reached) and the censored share; nan without switches."""

    median: float
    low: float
    high: float
    censored: float


def survival(waits: Array) -> Array:
    """Return the Kaplan-Meier estimate of P(wait > bin), shape (..., bins), from counts (..., bins, 2).

    Column 0 counts waits that ended in a bin, column 1 those censored there; a censored wait was still at risk in its bin.
    """
    ended, leaving = waits[..., 0], waits.sum(axis=-1)
    at_risk = np.flip(np.cumsum(np.flip(leaving, -1), axis=-1), -1)
    hazard = np.divide(ended, at_risk, out=np.zeros_like(at_risk, dtype=float), where=at_risk > 0)
    return np.cumprod(1.0 - hazard, axis=-1)


def median_wait(waits: Array, edges: NDArray[np.int64]) -> Array:
    """Return the median wait, shape (...), from counts (..., bins, 2) and the ``edges`` (bins + 1,) of the bins; inf if not reached.

    A bin of one number gives that number; in a wider one the estimate falls in proportion.
    """
    alive = survival(waits)
    reached = alive <= 0.5 + 1e-12
    b = reached.argmax(axis=-1)
    after = np.take_along_axis(alive, b[..., np.newaxis], -1)[..., 0]
    before = np.where(b > 0, np.take_along_axis(alive, np.maximum(b - 1, 0)[..., np.newaxis], -1)[..., 0], 1.0)
    share = np.divide(before - 0.5, before - after, out=np.zeros_like(before), where=before > after)
    width = np.diff(edges)[b]
    return np.where(reached.any(axis=-1), edges[:-1][b] + share * (width - 1), np.inf)


def recovery(waits: NDArray[np.int64], edges: NDArray[np.int64]) -> Recovery:
    """Return the recovery statistics from counts (T, bins, 2) in bins with ``edges`` (bins + 1,); trials are resampled."""
    total = waits.sum(axis=0).astype(float)
    if total.sum() == 0:
        return Recovery(np.nan, np.nan, np.nan, np.nan)
    used = np.flatnonzero(total.sum(axis=1))[-1] + 1
    groups, edges, total = _grouped(waits[:, :used]), edges[: used + 1], total[:used]
    censored = float(total[:, 1].sum() / total.sum())
    median = float(median_wait(total, edges))
    count = len(groups)
    if count < 2:
        return Recovery(median, np.nan, np.nan, censored)
    weights = np.random.default_rng(RESAMPLING_SEED).multinomial(count, np.full(count, 1 / count), size=RESAMPLES)
    resampled = np.asarray(weights @ groups.reshape(count, -1), dtype=float).reshape(RESAMPLES, used, 2)
    medians = np.sort(median_wait(resampled, edges))
    low, high = medians[int(0.025 * RESAMPLES)], medians[int(np.ceil(0.975 * RESAMPLES)) - 1]
    return Recovery(median, float(low), float(high), censored)


def _grouped(waits: NDArray[np.int64]) -> Array:
    """Add up neighbouring trials so that at most ``MOST_GROUPS`` rows remain."""
    bounds = np.unique(np.linspace(0, len(waits), MOST_GROUPS + 1).astype(int)[:-1])
    return np.asarray(np.add.reduceat(waits, bounds, axis=0), dtype=float)
