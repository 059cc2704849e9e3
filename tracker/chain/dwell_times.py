"""Count the visits of a path, estimate Q from them with intervals, and test the geometric law of dwells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tracker.array_types import Array, Booleans, Integers

FEWEST_EXPECTED = 5.0  # per bin of the hazard test, for its chi-squared law


def age_edges(a: ArrayLike) -> Integers:
    """First age of each bin of dwell ages, shape (B,); the last bin is open.

    Ages 1 to 4 stand alone, where a dwell that is off by one shows; then bins double
    until 16 times the longest mean dwell. They depend on `a` alone, so that counts of
    different blocks and trials add up.

    >>> from tracker import chain
    >>> chain.age_edges([0.5])
    array([ 1,  2,  3,  4,  5,  9, 17, 33])
    """
    exits = np.asarray(a, dtype=np.float64)
    if not np.any(exits > 0.0):
        return np.array([1], dtype=np.int64)
    oldest = min(16.0 / float(exits[exits > 0.0].min()), 2.0**62)
    doublings = range(2, max(3, int(oldest).bit_length()))
    return np.array([1, 2, 3, 4, *(2**n + 1 for n in doublings)], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class DwellCounts:
    """Sufficient counts of the visits of a path; they add up over blocks and trials.

    Leading axes (trials) are allowed in front of every shape but that of `edges`.

    Attributes
    ----------
    edges : ndarray of int64, shape (B,)
        `age_edges`.
    jumps : ndarray of int64, shape (X, X)
        Jumps i -> j made by the chain.
    censored : ndarray of int64, shape (X,)
        Visits whose end was not seen.
    exits, at_risk : ndarray of int64, shape (X, B)
        Visits of mode i that ended at an age in the bin, and steps taken at such ages.
    """

    edges: Integers
    jumps: Integers
    censored: Integers
    exits: Integers
    at_risk: Integers

    @property
    def steps(self) -> Integers:
        """n_i, shape (X,): transitions made by the chain from i, stays included."""
        return np.asarray(self.at_risk.sum(axis=-1))

    @property
    def completed(self) -> Integers:
        """Visits that the chain ended, shape (X,)."""
        return np.asarray(self.jumps.sum(axis=-1))

    def __add__(self, other: DwellCounts) -> DwellCounts:
        if not np.array_equal(self.edges, other.edges):
            raise ValueError(f"age bins differ: {self.edges} and {other.edges}")
        return DwellCounts(
            self.edges,
            self.jumps + other.jumps,
            self.censored + other.censored,
            self.exits + other.exits,
            self.at_risk + other.at_risk,
        )

    def pooled(self) -> DwellCounts:
        """The sum over a leading axis of trials."""
        return DwellCounts(
            self.edges,
            self.jumps.sum(axis=0),
            self.censored.sum(axis=0),
            self.exits.sum(axis=0),
            self.at_risk.sum(axis=0),
        )


def count_dwells(
    mode: Integers,
    length: Integers,
    completed: Booleans,
    target: Integers,
    edges: Integers,
    modes: int,
    trial: Integers | None = None,
    trials: int = 1,
) -> DwellCounts:
    """Count S visits.

    Parameters
    ----------
    mode, length, target : ndarray of int64, shape (S,)
        Where, for how many steps, and where to. `target` is read where `completed`.
        A visit of no step (overruled at once) tells nothing and is left out.
    completed : ndarray of bool, shape (S,)
        Whether the chain ended the visit: l steps are then l transitions, the last of
        them the exit. A censored visit is known for its l - 1 stays only.
    edges : ndarray of int64, shape (B,)
    modes : int
        X.
    trial : ndarray of int64, shape (S,), optional
        Gives all counts a leading axis of size `trials`.

    Examples
    --------
    >>> import numpy as np
    >>> from tracker import chain
    >>> visits = np.array([0, 1]), np.array([3, 5]), np.array([True, False]), np.array([1, -1])
    >>> chain.count_dwells(*visits, chain.age_edges([0.2]), modes=2).jumps.tolist()
    [[0, 1], [0, 0]]
    """
    seen = length - ~completed
    owner = mode if trial is None else trial * modes + mode
    shape = (modes,) if trial is None else (trials, modes)
    size, bins = int(np.prod(shape)), len(edges)

    def tally(key: Integers, width: int) -> Integers:
        return np.bincount(key, minlength=size * width).astype(np.int64)

    some = seen > 0
    bin_ = np.searchsorted(edges, seen[some], side="right") - 1
    cell = owner[some] * bins + bin_
    reached = tally(cell, bins).reshape(size, bins)
    beyond = reached[:, ::-1].cumsum(axis=1)[:, ::-1] - reached
    within = np.bincount(cell, seen[some] - edges[bin_] + 1, minlength=size * bins)
    at_risk = within.astype(np.int64).reshape(size, bins)
    at_risk[:, :-1] += beyond[:, :-1] * np.diff(edges)
    return DwellCounts(
        edges=edges,
        jumps=tally((owner * modes + target)[completed], modes).reshape(*shape, modes),
        censored=tally(owner[~completed & (length > 0)], 1).reshape(shape),
        exits=tally(cell[completed[some]], bins).reshape(*shape, bins),
        at_risk=at_risk.reshape(*shape, bins),
    )


@dataclass(frozen=True, eq=False)
class Estimate:
    """Likelihood estimate of Q; nan for modes without data.

    Attributes
    ----------
    Q_hat, stderr : ndarray, shape (X, X)
        Delta method, sqrt(P (1 - P) / n_i) / alpha.
    low, high : ndarray, shape (X, X)
        Clopper-Pearson intervals: rare jumps are no Gaussian matter.
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


def estimate(counts: DwellCounts, alpha: float, confidence: float = 0.95) -> Estimate:
    """Estimate Q from the counts of a path, with intervals.

    >>> import numpy as np
    >>> from tracker import chain
    >>> visits = np.array([0, 1]), np.array([4, 5]), np.array([True, False]), np.array([1, -1])
    >>> counts = chain.count_dwells(*visits, chain.age_edges([0.2]), modes=2)
    >>> chain.estimate(counts, alpha=0.5).Q_hat[0]  # one exit in four steps
    array([-0.5,  0.5])
    """
    n, exits = counts.steps, counts.completed
    with np.errstate(divide="ignore", invalid="ignore"):
        p = counts.jumps / n[..., None]
        p_exit = exits / n
        mean_dwell = n / exits
    sign = 1.0 - 2.0 * np.eye(p.shape[-1])
    p += np.eye(p.shape[-1]) * p_exit[..., None]  # jumps has a zero diagonal
    stderr = np.sqrt(p * (1.0 - p) / np.maximum(n, 1)[..., None]) / alpha
    diagonal = np.eye(p.shape[-1], dtype=bool)
    low, high = _clopper_pearson(np.where(diagonal, exits[..., None], counts.jumps), n[..., None], confidence)
    return Estimate(
        Q_hat=sign * p / alpha,
        stderr=stderr,
        low=np.where(diagonal, -high, low) / alpha,
        high=np.where(diagonal, -low, high) / alpha,
        exit_low=np.diagonal(low, axis1=-2, axis2=-1) / alpha,
        exit_high=np.diagonal(high, axis1=-2, axis2=-1) / alpha,
        mean_dwell=mean_dwell,
    )


def _clopper_pearson(count: Integers, n: Integers, confidence: float) -> tuple[Array, Array]:
    """Interval of a probability after `count` successes in n trials; nan for n = 0."""
    from scipy.special import betaincinv

    tail = (1.0 - confidence) / 2.0
    known = np.where(n > 0, 1.0, np.nan)
    low = np.where(count > 0, betaincinv(np.maximum(count, 1), n - count + 1, tail), 0.0)
    high = np.where(count < n, betaincinv(count + 1, np.maximum(n - count, 1), 1.0 - tail), 1.0)
    return known * low, known * high


def rate_test(counts: DwellCounts, a: ArrayLike) -> Array:
    """Does the chain leave each mode as often as the exit probabilities `a` say? p-values, shape (X,), nan without data.

    Two-sided binomial test of the exits among all steps; the hazard test with an estimated chance sees ages only.

    >>> import numpy as np
    >>> from tracker import chain
    >>> visits = np.array([0, 1]), np.array([4, 5]), np.array([True, False]), np.array([1, -1])
    >>> counts = chain.count_dwells(*visits, chain.age_edges([0.2]), modes=2)
    >>> chain.rate_test(counts, [0.25, 0.25]).round(3)
    array([1.   , 0.633])
    """
    from scipy.special import betainc, betaincc

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
    """Is the chance to leave a mode the same at every age of the visit?

    With d exits among r steps at the ages of a bin, sum (d - a r)^2 / (a r (1 - a)) is
    chi-squared on as many degrees of freedom as bins, less one if a is estimated.

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


def _merge(expected: Array) -> Integers:
    """First indices of groups of neighbours that expect at least FEWEST_EXPECTED."""
    first, start, total = [], 0, 0.0
    for b, share in enumerate(expected):
        total += share
        if total >= FEWEST_EXPECTED:
            first.append(start)
            start, total = b + 1, 0.0
    return np.array(first, dtype=np.int64)  # what is left over joins the last group
