"""Fit the order of convergence over the ladder, to simulated errors and to exact ones.

docs/mathematics, "Order of convergence". A functional whose leading constant is tiny has no slope: the fit would measure
the next term.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.convergence.verdict import Order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.array_types import Array
    from tracker.convergence.trials import Tally


CHI2 = 3.841458820694124
POWERS = np.linspace(-1.0, 4.0, 2001)
NOTHING = 1e-13  # relative to the values: an exact error that is rounding


def exact_order(epsilons: Sequence[float], error: Array, size: float = 1.0, *, power: float = 1.0) -> Order | None:
    """Return the slope of exact errors; None where there is no leading term. ``size`` is that of the values.

    The error is fitted by b h + c h^2 with h = epsilon^power. There is no slope where c h^2 is as large as b h at the largest
    step, or where the error changes sign on the ladder.
    """
    e = np.asarray(error, dtype=np.float64)
    if np.abs(e).max() <= NOTHING * max(size, 1e-300) or np.any(e == 0.0) or len(set(np.sign(e))) > 1:
        return None
    h = np.asarray(epsilons) ** power
    # relative errors, so that small steps count as much as large ones
    b, c = np.linalg.lstsq(np.column_stack([h, h * h]) / e[:, None], np.ones(len(e)), rcond=None)[0]
    if abs(b) <= abs(c) * h.max():
        return None
    slope = float(np.polyfit(np.log(epsilons), np.log(np.abs(e)), 1)[0])
    return Order(slope, slope, slope, slope)


def sampled_order(epsilons: Sequence[float], error: Array, stderr: Array, exact: Array | None) -> Order | None:
    """Return the fitted power with its interval; None where the data do not bound it."""
    if np.any(~(stderr > 0.0)):
        return None
    weight = 1.0 / np.asarray(stderr) ** 2
    misfit, p = _profile(np.asarray(epsilons), np.asarray(error), weight)
    inside = POWERS[misfit <= misfit.min() + CHI2]
    if inside[0] == POWERS[0] or inside[-1] == POWERS[-1]:
        return None
    truth = None if exact is None else float(_profile(np.asarray(epsilons), exact, weight)[1])
    return Order(p, float(inside[0]), float(inside[-1]), truth)


def order_of(epsilons: Sequence[float], error: Array, stderr: Array, truth: Array | None, size: float) -> Order | None:
    """Return the order of one functional: of its exact errors ``truth``, or fitted to the noisy ones; None without a slope."""
    exact = None if truth is None else exact_order(epsilons, truth, size)
    if not stderr.any():
        return exact
    if truth is not None and exact is None:
        return None  # no leading term: there is nothing to fit
    return sampled_order(epsilons, error, stderr, truth)


def _profile(epsilons: Array, error: Array, weight: Array) -> tuple[Array, float]:
    """The sum of squares at each of POWERS with the best b, and the best power."""
    basis = (epsilons / epsilons.max())[None, :] ** POWERS[:, None]
    b = (basis * weight * error).sum(axis=1) / (basis * weight * basis).sum(axis=1)
    misfit = np.asarray((weight * (error - b[:, None] * basis) ** 2).sum(axis=1))
    best = int(misfit.argmin())
    if not 0 < best < len(POWERS) - 1:
        return misfit, float(POWERS[best])
    # the vertex of the parabola through three neighbours: finer than the grid
    left, middle, right = misfit[best - 1 : best + 2]
    bend = left - 2.0 * middle + right
    shift = 0.0 if bend <= 0.0 else 0.5 * (left - right) / bend
    return misfit, float(POWERS[best] + shift * (POWERS[1] - POWERS[0]))


def overall_exact(epsilons: Sequence[float], errors: Array, scale: Array, *, power: float = 1.0) -> Order:
    """The order of the whole error: root mean square over the statistics, in their units; errors : (levels, J)."""
    unit = np.where(scale > 0.0, scale, 1.0)
    size = np.sqrt(np.mean((errors / unit) ** 2, axis=1))
    return exact_order(epsilons, size, power=power) or Order()


def overall_sampled(
    epsilons: Sequence[float], tallies: Sequence[Tally], limit: Array, exact: Array | None, tested: int
) -> Order:
    """The order of the one combination of statistics in which the error at the largest step stands out most from the noise.

    With e the exact error there and V the covariance of the statistics it is e' V^-1 d. Where e is not known the simulated
    error stands for it, and its own noise makes the combination a little too large there.
    """
    use = slice(0, tested)
    d = np.array([tally.mean - limit for tally in tallies])[:, use]
    V = tallies[0].covariance[use, use]
    ridge = 1e-9 * np.diag(np.maximum(np.diag(V), 1e-300))
    e = d[0] if exact is None else (exact - limit)[0, use]
    direction = np.linalg.solve(V + ridge, e)
    stderr = np.array([np.sqrt(direction @ t.covariance[use, use] @ direction / t.trials) for t in tallies])
    truth = None if exact is None else (exact - limit)[:, use] @ direction
    return sampled_order(epsilons, d @ direction, stderr, truth) or Order()
