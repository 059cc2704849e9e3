r"""The hidden chain: its generator, its laws, and what a path tells about them.

A primer
--------
A hidden mode x_k in {0, ..., X-1} moves with transition matrix P = I + alpha Q,
where the rows of Q sum to 0 and q_ij >= 0 off the diagonal. P is stochastic if and
only if alpha max|q_ii| <= 1; its stationary law pi, pi Q = 0, does not depend on
alpha.

Mode i is left at each step with probability a_i = alpha |q_ii|, so a visit lasts a
geometric number of steps,

    P(dwell = n) = a_i (1 - a_i)^(n-1),  n = 1, 2, ...,  mean 1/a_i,

and is followed by mode j with probability q_ij / |q_ii|. A visit therefore needs one
uniform (where to) and one unit exponential E (for how long):

    dwell = max(1, ceil(E / -log(1 - a_i)))   is exactly geometric(a_i),

and the same E gives the dwell of the limiting continuous-time chain (skeleton
coupling, MATH 3): chains with different alpha can share their randomness.

From a path x_0, ..., x_K, with n_ij jumps i -> j and n_i steps taken from i (stays
included), the likelihood is largest at q_ij = n_ij / (alpha n_i). A visit that is
still going on has been seen for l steps and survived l - 1 of them, which is its
factor (1 - a_i)^(l-1): censored visits belong in n_i, and averaging the completed
ones alone is biased towards short visits (MATH 8).
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

NEVER = int(np.iinfo(np.int64).max)  # the dwell of an absorbing mode
ROW_SUM = 1e-9  # rows of Q sum to 0 within this part of max|q_ij|
ROUNDING = 1e-12  # alpha * max|q_ii| = 1 is allowed, and is rarely exact in floats
FEWEST_EXPECTED = 5.0  # per bin of the hazard test, for its chi-squared law


# --- the generator ------------------------------------------------------------------


def problems(Q: ArrayLike, alpha: float | None = None) -> list[str]:
    """One line for each reason why I + alpha Q is no transition matrix.

    Parameters
    ----------
    Q : array_like, shape (X, X)
    alpha : float, optional
        Checked only if given.
    """
    q = np.asarray(Q, dtype=np.float64)
    if q.ndim != 2 or q.shape[0] != q.shape[1] or q.size == 0:
        return [f"Q has shape {q.shape}, must be square"]
    found = [f"Q[{i}][{j}] = {float(q[i, j])} must be finite" for i, j in np.argwhere(~np.isfinite(q))]
    if not found:
        found = _generator_problems(q)
    if alpha is None:
        return found
    if not 0.0 < alpha < np.inf:
        return [*found, f"alpha: {alpha} must be > 0 and finite"]
    fastest = float(alpha) * float(np.abs(np.diag(q)).max())
    if fastest > 1.0 + ROUNDING:
        found.append(f"alpha: {alpha} is too large for Q: alpha * max|q_ii| = {fastest:.12g} > 1")
    return found


def _generator_problems(q: Floats) -> list[str]:
    negative = np.argwhere(_off_diagonal(q) < 0.0)
    with np.errstate(over="ignore", invalid="ignore"):  # of huge entries, and then reported
        sums = q.sum(axis=1)
        unbalanced = np.flatnonzero(~(np.abs(sums) <= ROW_SUM * np.abs(q).max()))
    return [
        *(f"Q[{i}][{j}] = {float(q[i, j])} must be >= 0" for i, j in negative),
        *(f"Q[{i}] sums to {float(sums[i]):.12g}, must be 0" for i in unbalanced),
    ]


def validate(Q: ArrayLike, alpha: float | None = None) -> None:
    """Raise ValueError with all `problems`, one per line."""
    if found := problems(Q, alpha):
        raise ValueError("\n".join(found))


def is_irreducible(Q: ArrayLike) -> bool:
    """Whether every mode can be reached from every other."""
    return bool(_reachable(np.asarray(Q, dtype=np.float64)).all())


def exit_probability(Q: ArrayLike, alpha: float) -> Floats:
    """a_i = alpha |q_ii|, shape (X,): the chance that a step leaves mode i."""
    rates: Floats = np.abs(np.diag(np.asarray(Q, dtype=np.float64)))
    return np.minimum(alpha * rates, 1.0)  # at most ROUNDING above 1 if valid


def transition_matrix(Q: ArrayLike, alpha: float) -> Floats:
    """P = I + alpha Q, shape (X, X)."""
    off = alpha * _off_diagonal(np.asarray(Q, dtype=np.float64))
    return off + np.diag(1.0 - exit_probability(Q, alpha))


def embedded_law(Q: ArrayLike) -> Floats:
    """Law of the next mode when one is left, q_ij / |q_ii|, shape (X, X).

    The row of an absorbing mode is 0.
    """
    off = _off_diagonal(np.asarray(Q, dtype=np.float64))
    leaving = off.sum(axis=1, keepdims=True)
    return off / np.where(leaving > 0.0, leaving, 1.0)


def stationary_law(Q: ArrayLike) -> Floats:
    """The law pi with pi Q = 0, shape (X,).

    Raises
    ------
    ValueError
        If there are several, because the chain has several closed classes.
    """
    q = np.asarray(Q, dtype=np.float64)
    reach = _reachable(q)
    closed = np.all(~reach | reach.T, axis=1)  # whatever i reaches leads back to i
    members = reach[np.argmax(closed)]
    if np.any(closed & ~members):
        classes = sorted({tuple(np.flatnonzero(row).tolist()) for row in reach[closed]})
        raise ValueError(
            f"Q has {len(classes)} closed classes {classes}, so no single stationary law: give `initial` explicitly"
        )
    law = np.zeros(len(q))
    law[members] = _eliminate(q[np.ix_(members, members)])
    return law


def _eliminate(q: Floats) -> Floats:
    """Stationary law of an irreducible Q by Grassmann, Taksar and Heyman (1985).

    Censor the chain on {0, ..., n-1} for n = X-1, ..., 1, then build pi back up. There
    is no subtraction, so every entry of pi has full relative accuracy.
    """
    rates, modes = q.copy(), len(q)
    for n in range(modes - 1, 0, -1):
        rates[:n, n] /= rates[n, :n].sum()
        rates[:n, :n] += np.outer(rates[:n, n], rates[n, :n])
    law: Floats = np.ones(modes)
    for n in range(1, modes):
        law[n] = law[:n] @ rates[:n, n]
    law /= law.sum()
    return law


def _off_diagonal(q: Floats) -> Floats:
    return np.where(np.eye(len(q), dtype=bool), 0.0, q)


def _reachable(q: Floats) -> Bools:
    """Entry (i, j): j can be reached from i in zero or more jumps."""
    reach: Bools = (q > 0.0) | np.eye(len(q), dtype=bool)
    for _ in range(len(q).bit_length()):  # squaring doubles the length of the paths
        reach = reach @ reach
    return reach


# --- one visit ----------------------------------------------------------------------


def dwell(exponential: ArrayLike, a: ArrayLike) -> Ints:
    """Steps spent in a mode that is left with probability a: geometric(a).

    Parameters
    ----------
    exponential : array_like, shape (...)
        Unit exponentials E.
    a : array_like, shape (...)
        Exit probabilities in [0, 1], broadcast against `exponential`.

    Returns
    -------
    ndarray of int64, shape (...)
        max(1, ceil(E / -log(1 - a))); 1 where a = 1, `NEVER` where a = 0.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        steps = np.ceil(np.asarray(exponential) / -np.log1p(-np.asarray(a)))
    ends = steps < float(NEVER)  # false for the nan of E = a = 0 too
    whole = np.maximum(np.where(ends, steps, 0.0).astype(np.int64), 1)
    return np.where(ends, whole, NEVER)


def next_mode(u: ArrayLike, cumulative: ArrayLike) -> Ints:
    """The first mode whose cumulative probability exceeds u.

    Parameters
    ----------
    u : array_like, shape (...)
        Uniforms in [0, 1).
    cumulative : array_like, shape (..., X)
        Cumulative sums of the probabilities of the modes.

    Returns
    -------
    ndarray of int64, shape (...)
        Never a mode of probability 0, whatever the rounding; -1 for a row without
        probability (an absorbing mode has no next one).
    """
    sums = np.asarray(cumulative, dtype=np.float64)
    total = sums[..., -1]
    found = np.sum(sums <= np.asarray(u)[..., None], axis=-1)
    # A sum may round to less than 1 and u lie beyond it: then take the mode that
    # brought the sum to its total, the last one with a probability.
    last = np.sum(sums < total[..., None], axis=-1)
    return np.where(total > 0.0, np.minimum(found, last), -1).astype(np.int64)


# --- what a path tells --------------------------------------------------------------


def age_edges(a: ArrayLike) -> Ints:
    """First age of each bin of dwell ages, shape (B,); the last bin is open.

    Ages 1 to 4 stand alone, where a dwell that is off by one shows; then bins double
    until 16 times the longest mean dwell. They depend on `a` alone, so that counts of
    different blocks and trials add up.
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

    edges: Ints
    jumps: Ints
    censored: Ints
    exits: Ints
    at_risk: Ints

    @property
    def steps(self) -> Ints:
        """n_i, shape (X,): transitions made by the chain from i, stays included."""
        return np.asarray(self.at_risk.sum(axis=-1))

    @property
    def completed(self) -> Ints:
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
    mode: Ints,
    length: Ints,
    completed: Bools,
    target: Ints,
    edges: Ints,
    modes: int,
    trial: Ints | None = None,
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
    """
    seen = length - ~completed
    owner = mode if trial is None else trial * modes + mode
    shape = (modes,) if trial is None else (trials, modes)
    size, bins = int(np.prod(shape)), len(edges)

    def tally(key: Ints, width: int) -> Ints:
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
    Q_hat, stderr, low, high : ndarray, shape (X, X)
        Delta method, sqrt(P (1 - P) / n_i) / alpha.
    exit_low, exit_high : ndarray, shape (X,)
        Clopper-Pearson interval of |q_ii|.
    mean_dwell : ndarray, shape (X,)
        n_i / exits, in steps, censoring included; inf where no exit was seen.
    """

    Q_hat: Floats
    stderr: Floats
    low: Floats
    high: Floats
    exit_low: Floats
    exit_high: Floats
    mean_dwell: Floats


def estimate(counts: DwellCounts, alpha: float, confidence: float = 0.95) -> Estimate:
    """Estimate Q from the counts of a path, with intervals."""
    from scipy.special import betaincinv

    n, exits = counts.steps, counts.completed
    tail = (1.0 - confidence) / 2.0
    with np.errstate(divide="ignore", invalid="ignore"):
        p = counts.jumps / n[..., None]
        p_exit = exits / n
        mean_dwell = n / exits
    sign = 1.0 - 2.0 * np.eye(p.shape[-1])
    p += np.eye(p.shape[-1]) * p_exit[..., None]  # jumps has a zero diagonal
    stderr = np.sqrt(p * (1.0 - p) / np.maximum(n, 1)[..., None]) / alpha
    Q_hat = sign * p / alpha
    margin = NormalDist().inv_cdf(1.0 - tail) * stderr
    known = np.where(n > 0, 1.0, np.nan)
    low = np.where(exits > 0, betaincinv(np.maximum(exits, 1), n - exits + 1, tail), 0)
    high = np.where(exits < n, betaincinv(exits + 1, np.maximum(n - exits, 1), 1.0 - tail), 1)
    return Estimate(
        Q_hat=Q_hat,
        stderr=stderr,
        low=Q_hat - margin,
        high=Q_hat + margin,
        exit_low=known * low / alpha,
        exit_high=known * high / alpha,
        mean_dwell=mean_dwell,
    )


@dataclass(frozen=True, eq=False)
class HazardTest:
    """Chi-squared test, mode by mode; all of shape (X,), p_value nan where df < 1."""

    statistic: Floats
    df: Ints
    p_value: Floats


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


def _merge(expected: Floats) -> Ints:
    """First indices of groups of neighbours that expect at least FEWEST_EXPECTED."""
    first, start, total = [], 0, 0.0
    for b, share in enumerate(expected):
        total += share
        if total >= FEWEST_EXPECTED:
            first.append(start)
            start, total = b + 1, 0.0
    return np.array(first, dtype=np.int64)  # what is left over joins the last group
