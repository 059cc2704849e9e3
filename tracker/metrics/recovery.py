"""Estimate the wait for re-acquisition after a switch: Kaplan-Meier by new mode, intervals by resampling trials.

A wait ends when theta first enters the target set of the new mode; it is censored by the next switch or the end of the run,
at the age of the last look before it: at the switch itself nobody can tell whether it would have ended there.
Averaging only the waits that ended would be biased towards the short ones. Kaplan and Meier need waits that do not depend
on what cuts them off: a mode that is left soon and found slowly would break that, so each mode has an estimate of its own,
and the one number for all is that of the mixture sum_i w_i S_i(t), w_i the share of the switches into mode i.

Switches at which theta stands inside the new target already are no waits: they are counted apart. Counts have the axes
(..., mode, bin, outcome); outcome 0 holds waits that ended, 1 those that were censored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.metrics.averages import CONFIDENCE, FEWEST_TRIALS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tracker.array_types import Array, Integers


RESAMPLES = 1000
ROUNDING = 1e-12
MOST_COUNTS_HELD = 4_000_000  # at a time, where trials are resampled or left out
MOST_GROUPS_OF_TRIALS = 400  # beyond this many trials, whole groups of them are resampled: they are independent too
RESAMPLING_SEED = 20_240_607  # a report must come out the same twice


class Waits(NamedTuple):
    """How soon the target was met again: of one mode, or of all.

    already : share of all switches at which theta stood inside the new target; the rest is about the ``switches`` others
    median, low, high : in steps, with a 95 % interval; inf where not reached, nan where not known
    censored : share of the waits that were cut off
    """

    already: float
    median: float
    low: float
    high: float
    censored: float
    switches: int


def kaplan_meier(waits: Array) -> Array:
    """Return the Kaplan-Meier estimate of P(wait > bin), shape (..., bins), from counts (..., bins, 2).

    Column 0 counts waits that ended in a bin, column 1 those censored there; a censored wait was still at risk in its bin.
    """
    ended, leaving = waits[..., 0], waits.sum(axis=-1)
    at_risk = np.flip(np.cumsum(np.flip(leaving, -1), axis=-1), -1)
    hazard = np.divide(ended, at_risk, out=np.zeros_like(at_risk, dtype=float), where=at_risk > 0)
    return np.cumprod(1.0 - hazard, axis=-1)


def waits_of_switches_out(waits: NDArray[Any], bins: Integers | None = None) -> Integers:
    """Return the counts without the switches at which theta stood inside already: a wait of 0 has a bin of its own.

    With ``bins`` only these are copied, in increasing order.
    """
    found = np.array(waits) if bins is None else waits[..., bins, :]
    if bins is None or 0 in bins[:1]:
        found[..., 0, 0] = 0
    return found


def shares_of_modes(waits: Array) -> Array:
    """Return w_i, shape (..., X): the share of the waits into each mode; 0 without any."""
    count = waits.sum(axis=(-1, -2), dtype=float)
    total = count.sum(axis=-1, keepdims=True)
    return np.divide(count, total, out=np.zeros_like(count), where=total > 0)


def mixed_survival(waits: Array) -> Array:
    """Return sum_i w_i S_i(t), shape (..., bins), from counts (..., X, bins, 2)."""
    return np.asarray((shares_of_modes(waits)[..., np.newaxis] * kaplan_meier(waits)).sum(axis=-2))


def median_wait(waits: Array, edges: Integers) -> Array:
    """Return the median wait, shape (...), from counts (..., bins, 2) and the ``edges`` (bins + 1,) of the bins; inf if not reached."""
    return median_of(kaplan_meier(waits), edges[:-1], np.diff(edges))


def median_of(alive: Array, first: Integers, width: Integers, *, last: bool = False) -> Array:
    """Return where ``alive`` (..., bins) comes down to one half, inf if nowhere; bins begin at ``first`` and have a ``width``.

    A bin of one number gives that number; in a wider one the estimate falls in proportion. Where the curve stays at one half
    for a while, any number there is a median: the first, or with ``last`` the one where it comes to lie below.
    """
    reached = alive < 0.5 - ROUNDING if last else alive <= 0.5 + ROUNDING
    b = reached.argmax(axis=-1)
    after = np.take_along_axis(alive, b[..., np.newaxis], -1)[..., 0]
    before = np.where(b > 0, np.take_along_axis(alive, np.maximum(b - 1, 0)[..., np.newaxis], -1)[..., 0], 1.0)
    share = np.divide(before - 0.5, before - after, out=np.zeros_like(before), where=before > after)
    return np.where(reached.any(axis=-1), first[b] + share * (width[b] - 1), np.inf)


def recovery(waits: Integers, edges: Integers) -> tuple[Waits, list[Waits]]:
    """Return the statistics of all modes together, and of each, from counts (T, X, bins, 2) in bins with ``edges`` (bins + 1,)."""
    modes = waits.shape[1]
    total = waits.sum(axis=0)
    rest = waits_of_switches_out(total)
    used = np.flatnonzero(rest.sum(axis=(0, 2)))
    first, width = edges[:-1][used], np.diff(edges)[used]
    counted = waits_of_switches_out(waits, used)
    medians, ends = np.full(modes + 1, np.nan), np.full((modes + 1, 2), np.nan)
    if used.size:
        left = rest[:, used].astype(float)
        medians = median_of(np.concatenate([kaplan_meier(left), [mixed_survival(left)]]), first, width)
        met = np.any(counted, axis=(2, 3))
        trials = np.append(met.sum(axis=0), np.any(met, axis=1).sum())
        if trials[-1] >= FEWEST_TRIALS:
            ends = _ends(counted, first, width, trials)
    found = [
        _waits(int(count[0, 0]), int(count.sum()), int(count[:, 1].sum()), medians[x], *ends[x])
        for x, count in enumerate([*total, total.sum(axis=0)])
    ]
    return found[-1], found[:-1]


def _waits(inside: int, switches: int, cut: int, median: float, low: float, high: float) -> Waits:
    waiting = switches - inside
    already, censored = inside / switches if switches else np.nan, cut / waiting if waiting else np.nan
    known = (float(median), float(low), float(high)) if waiting else (np.nan, np.nan, np.nan)
    return Waits(already, *known, censored, waiting)


def _ends(waits: Integers, first: Integers, width: Integers, trials: Integers) -> Array:
    """Return the ends of the intervals, shape (X + 1, 2); nan for a mode that too few trials met.

    With few waits the curve often stays at one half for long: the lower end is one of first medians, the upper of last ones.
    """
    groups = group_trials(waits)
    count = len(groups)
    weights = np.random.default_rng(RESAMPLING_SEED).multinomial(count, np.full(count, 1 / count), size=RESAMPLES)
    at_once = max(1, MOST_COUNTS_HELD // (2 * first.size))
    parts = [
        _resampled_medians(weights[start : start + at_once], groups, first, width)
        for start in range(0, RESAMPLES, at_once)
    ]
    lower, upper = np.sort(np.concatenate(parts, axis=1), axis=1)
    ends = np.full((lower.shape[1], 2), np.nan)
    for x, met in enumerate(np.minimum(trials, count)):
        if met >= FEWEST_TRIALS:
            below = int(expanded_tail(int(met)) * RESAMPLES)
            ends[x] = lower[below, x], upper[RESAMPLES - 1 - below, x]
    return ends


def _resampled_medians(weights: Integers, groups: Array, first: Integers, width: Integers) -> Array:
    """Return first and last medians, (2, R, X + 1), of each mode and of their mixture, the ``groups`` (G, X, bins, 2) weighted R times.

    A mode is looked at in its own bins only, which are few where modes are many: its curve is level in the others.
    """
    modes, bins = groups.shape[1:3]
    shares = shares_of_modes((weights @ groups.sum(axis=(2, 3)))[..., np.newaxis, np.newaxis])
    mixed, medians = np.zeros((len(weights), bins)), np.full((2, len(weights), modes + 1), np.inf)
    for x in range(modes):
        own = np.flatnonzero(groups[:, x].any(axis=(0, 2)))
        counts = weights @ groups[:, x, own].reshape(len(groups), -1)
        alive = kaplan_meier(counts.reshape(len(weights), own.size, 2))
        medians[..., x] = _both_medians(alive, first[own], width[own]) if own.size else np.inf
        level = np.concatenate([np.ones((len(weights), 1)), alive], axis=1)
        mixed += shares[:, x : x + 1] * np.repeat(level, np.diff(own, prepend=0, append=bins), axis=1)
    medians[..., modes] = _both_medians(mixed, first, width)
    return medians


def _both_medians(alive: Array, first: Integers, width: Integers) -> list[Array]:
    return [median_of(alive, first, width, last=last) for last in (False, True)]


def expanded_tail(trials: int, confidence: float = CONFIDENCE) -> float:
    """Return the share of resampled estimates to leave out at each end.

    The bootstrap of T trials scatters sqrt((T - 1)/T) as much as the truth, with normal tails: Phi(-sqrt(T/(T - 1)) t), t
    Student's quantile on T - 1 degrees of freedom, makes up for both.
    """
    from scipy.special import ndtr, stdtrit

    return float(ndtr(-np.sqrt(trials / (trials - 1.0)) * stdtrit(trials - 1.0, 0.5 + confidence / 2.0)))


def group_trials(waits: Integers) -> Array:
    """Add up neighbouring trials so that at most ``MOST_GROUPS_OF_TRIALS`` rows remain."""
    bounds = np.unique(np.linspace(0, len(waits), MOST_GROUPS_OF_TRIALS + 1).astype(int)[:-1])
    return np.asarray(np.add.reduceat(waits, bounds, axis=0), dtype=float)
