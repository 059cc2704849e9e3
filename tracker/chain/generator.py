"""Check the generator Q, compute the laws that it implies, and draw one visit."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tracker.array_types import Array, Booleans, Integers

NEVER = int(np.iinfo(np.int64).max)  # the dwell of an absorbing mode
ROW_SUM = 1e-9  # rows of Q sum to 0 within this part of max|q_ij|
ROUNDING = 1e-12  # alpha * max|q_ii| = 1 is allowed, and is rarely exact in floats


# --- the generator ------------------------------------------------------------------


def problems(Q: ArrayLike, alpha: float | None = None) -> list[str]:
    """One line for each reason why I + alpha Q is no transition matrix.

    Parameters
    ----------
    Q : array_like, shape (X, X)
    alpha : float, optional
        Checked only if given.

    Examples
    --------
    >>> from tracker import chain
    >>> chain.problems([[-1.0, 2.0], [1.0, -1.0]])
    ['Q[0] sums to 1, must be 0']
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


def _generator_problems(q: Array) -> list[str]:
    negative = np.argwhere(_off_diagonal(q) < 0.0)
    with np.errstate(over="ignore", invalid="ignore"):  # of huge entries, and then reported
        sums = q.sum(axis=1)
        unbalanced = np.flatnonzero(~(np.abs(sums) <= ROW_SUM * np.abs(q).max()))
    if unbalanced.size and q.min() >= 0.0 and np.abs(sums - 1.0).max() <= ROW_SUM:
        return [
            f"Q = {q.tolist()} holds probabilities of one step, rows that sum to 1: Q must be that minus I, rows that sum to 0, with alpha = 1"
        ]
    return [
        *(f"Q[{i}][{j}] = {float(q[i, j])} must be >= 0" for i, j in negative),
        *(f"Q[{i}] sums to {float(sums[i]):.12g}, must be 0" for i in unbalanced),
    ]


def validate(Q: ArrayLike, alpha: float | None = None) -> None:
    """Raise ValueError with all `problems`, one per line.

    >>> from tracker import chain
    >>> chain.validate([[-1.0, 1.0], [1.0, -1.0]], alpha=0.1)
    """
    if found := problems(Q, alpha):
        raise ValueError("\n".join(found))


def is_irreducible(Q: ArrayLike) -> bool:
    """Whether every mode can be reached from every other.

    >>> from tracker import chain
    >>> chain.is_irreducible([[-1.0, 1.0], [0.0, 0.0]])
    False
    """
    return bool(_reachable(np.asarray(Q, dtype=np.float64)).all())


def exit_probability(Q: ArrayLike, alpha: float) -> Array:
    """a_i = alpha |q_ii|, shape (X,): the chance that a step leaves mode i.

    >>> from tracker import chain
    >>> chain.exit_probability([[-1.0, 1.0], [3.0, -3.0]], alpha=0.1)
    array([0.1, 0.3])
    """
    rates: Array = np.abs(np.diag(np.asarray(Q, dtype=np.float64)))
    return np.minimum(alpha * rates, 1.0)  # at most ROUNDING above 1 if valid


def transition_matrix(Q: ArrayLike, alpha: float) -> Array:
    """P = I + alpha Q, shape (X, X).

    >>> from tracker import chain
    >>> chain.transition_matrix([[-1.0, 1.0], [2.0, -2.0]], alpha=0.25).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """
    off = alpha * _off_diagonal(np.asarray(Q, dtype=np.float64))
    return off + np.diag(1.0 - exit_probability(Q, alpha))


def embedded_law(Q: ArrayLike) -> Array:
    """Law of the next mode when one is left, q_ij / |q_ii|, shape (X, X).

    The row of an absorbing mode is 0.

    >>> from tracker import chain
    >>> chain.embedded_law([[-2.0, 1.0, 1.0], [1.0, -1.0, 0.0], [0.0, 1.0, -1.0]])[0]
    array([0. , 0.5, 0.5])
    """
    off = _off_diagonal(np.asarray(Q, dtype=np.float64))
    leaving = off.sum(axis=1, keepdims=True)
    return off / np.where(leaving > 0.0, leaving, 1.0)


def stationary_law(Q: ArrayLike) -> Array:
    """The law pi with pi Q = 0, shape (X,).

    Raises
    ------
    ValueError
        If there are several, because the chain has several closed classes.

    Examples
    --------
    >>> from tracker import chain
    >>> chain.stationary_law([[-1.0, 1.0], [3.0, -3.0]])
    array([0.75, 0.25])
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


def _eliminate(q: Array) -> Array:
    """Stationary law of an irreducible Q by Grassmann, Taksar and Heyman (1985).

    Censor the chain on {0, ..., n-1} for n = X-1, ..., 1, then build pi back up. There
    is no subtraction, so every entry of pi has full relative accuracy.
    """
    rates, modes = q.copy(), len(q)
    for n in range(modes - 1, 0, -1):
        rates[:n, n] /= rates[n, :n].sum()
        rates[:n, :n] += np.outer(rates[:n, n], rates[n, :n])
    law: Array = np.ones(modes)
    for n in range(1, modes):
        law[n] = law[:n] @ rates[:n, n]
    law /= law.sum()
    return law


def _off_diagonal(q: Array) -> Array:
    return np.where(np.eye(len(q), dtype=bool), 0.0, q)


def _reachable(q: Array) -> Booleans:
    """Entry (i, j): j can be reached from i in zero or more jumps."""
    reach: Booleans = (q > 0.0) | np.eye(len(q), dtype=bool)
    for _ in range(len(q).bit_length()):  # squaring doubles the length of the paths
        reach = reach @ reach
    return reach


# --- one visit ----------------------------------------------------------------------


def dwell(exponential: ArrayLike, a: ArrayLike) -> Integers:
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

    Examples
    --------
    >>> from tracker import chain
    >>> chain.dwell([0.1, 1.0, 3.0], 0.5)
    array([1, 2, 5])
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        steps = np.ceil(np.asarray(exponential) / -np.log1p(-np.asarray(a)))
    ends = steps < float(NEVER)  # false for the nan of E = a = 0 too
    whole = np.maximum(np.where(ends, steps, 0.0).astype(np.int64), 1)
    return np.where(ends, whole, NEVER)


def next_mode(u: ArrayLike, cumulative: ArrayLike) -> Integers:
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

    Examples
    --------
    >>> from tracker import chain
    >>> chain.next_mode([0.1, 0.6], [0.0, 0.5, 1.0])
    array([1, 2])
    """
    sums = np.asarray(cumulative, dtype=np.float64)
    total = sums[..., -1]
    found = np.sum(sums <= np.asarray(u)[..., None], axis=-1)
    # A sum may round to less than 1 and u lie beyond it: then take the mode that
    # brought the sum to its total, the last one with a probability.
    last = np.sum(sums < total[..., None], axis=-1)
    return np.where(total > 0.0, np.minimum(found, last), -1).astype(np.int64)
