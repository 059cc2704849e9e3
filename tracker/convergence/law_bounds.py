"""Distances between laws for N = 1: exact ones of the algorithm, and bounds with confidence from trials.

docs/mathematics, "Distances between laws". They are weak against a wrong noise level: the moments decide, these bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.convergence.verdict import Bound, LawDistance, LawGap
from tracker.limits.grid_law import ks_of_laws, w1_of_laws
from tracker.metrics.wasserstein import w1_on_grid, w1_quantile

if TYPE_CHECKING:
    from tracker.array_types import Array, Integers
    from tracker.convergence.exact_values import Exact
    from tracker.convergence.trials import Tally
    from tracker.convergence.verdict import Word
    from tracker.limits.grid_law import Law


CONFIDENCE, SURE = 0.05, 0.001  # of the statement; of a rejection, of whose 1 % the other tests have the rest
POINTS = 8001  # of the grid on which distribution functions are compared
FIGURE_POINTS, EMPTY = 400, 1e-4
ALLOWANCE = 2.0  # times the exact distance: further away than this, and surely so, is wrong


def law_distances(exact: Exact, epsilons: tuple[float, ...]) -> tuple[LawDistance, ...]:
    """W1 and KS between the laws of theta at T, at every rung; empty where laws are not known or N = 2."""
    if exact.law is None or len(exact.law.box) != 1:
        return ()
    return tuple(
        LawDistance(epsilon, float(w1_of_laws(law, exact.law)[-1]), float(ks_of_laws(law, exact.law)[-1]))
        for epsilon, law in zip(epsilons, exact.laws, strict=False)
    )


def grid_of(*laws: Law) -> Array:
    """Points that cover the boxes of all laws."""
    return np.linspace(min(law.box[0, 0] for law in laws), max(law.box[0, 1] for law in laws), POINTS)


def distribution(law: Law, x: Array) -> Array:
    """P(x = i, theta <= x) at T, shape (X, points): one row for each mode."""
    return np.array([law.cdf(x, mode)[-1] for mode in range(law.density.shape[1])])


def empirical(theta: Array, mode: Integers, x: Array, X: int) -> Array:
    """The share of trials in mode i with theta <= x, shape (X, points)."""
    return np.array([np.searchsorted(np.sort(theta[mode == i]), x, side="right") for i in range(X)]) / len(theta)


def lexicographic_gap(one: Array, other: Array) -> Array:
    """F - F' along the order (mode, theta), shape (X, points), of distributions by mode."""
    before = np.cumsum(one[:, -1] - other[:, -1]) - (one[:, -1] - other[:, -1])
    return np.asarray(one - other + before[:, None])


def sample_ks(theta: Array, mode: Integers, law: Law) -> float:
    """The largest |F_n - F| along the order (mode, theta), taken at every jump of F_n from both sides."""
    x = grid_of(law)
    F = distribution(law, x)
    R, worst, below, base = len(theta), 0.0, 0.0, 0.0
    for i, row in enumerate(F):
        points = np.sort(theta[mode == i])
        at = base + np.interp(points, x, row)
        steps = below + np.arange(len(points) + 1) / R
        if len(points):
            worst = max(worst, float(np.abs(at - steps[1:]).max()), float(np.abs(at - steps[:-1]).max()))
        base, below = base + row[-1], below + len(points) / R
        worst = max(worst, abs(base - below))
    return worst


def bounds(tally: Tally, exact: Exact, epsilon: float, delta: float) -> tuple[Bound, ...]:
    """KS and W1 from the trials at the smallest epsilon to the limit, with what they prove."""
    if exact.law is None or len(exact.law.box) != 1 or not tally.theta.size:
        return ()
    law, own = exact.law, exact.finest
    R = tally.trials
    x = grid_of(law, *([own] if own is not None else []))
    F = distribution(law, x)
    own_ks = None if own is None else float(np.abs(lexicographic_gap(distribution(own, x), F)).max())
    own_w1 = None if own is None else float(w1_of_laws(own, law)[-1])
    found = sample_ks(tally.theta, tally.mode, law)
    band, sure = (float(np.sqrt(np.log(2.0 / a) / (2.0 * R))) for a in (CONFIDENCE, SURE))
    total = F.sum(axis=0)
    ks_bound = Bound("ks", epsilon, R, found, band, found + band, own_ks, _word(found, band, sure, own_ks, delta))
    distance, width = w1_on_grid(tally.theta, x, total), w1_quantile(x, total, R)
    unit = float(np.std(tally.theta))
    word: Word = "confirmed" if distance + width < delta * unit else "inconclusive"
    return ks_bound, Bound("w1", epsilon, R, distance, width, distance + width, own_w1, word)


def law_gap(tally: Tally, exact: Exact) -> LawGap | None:
    """The difference of distribution functions for a figure, where the limit has mass."""
    if exact.law is None or len(exact.law.box) != 1 or not tally.theta.size:
        return None
    x = grid_of(exact.law)
    total = distribution(exact.law, x).sum(axis=0)
    held = x[(total > EMPTY) & (total < 1.0 - EMPTY)]
    x = np.linspace(held[0], held[-1], FIGURE_POINTS)
    # the ends of the order (mode, theta) are at the box's edge, where the trials of a mode before this one are all counted
    wide = np.concatenate([x, [max(exact.law.box[0, 1], float(tally.theta.max()))]])
    F = distribution(exact.law, wide)
    found = lexicographic_gap(empirical(tally.theta, tally.mode, wide, len(F)), F)
    own = None if exact.finest is None else lexicographic_gap(distribution(exact.finest, wide), F)

    def rows(gap: Array) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(row) for row in gap[:, :-1].tolist())

    return LawGap(tuple(x.tolist()), exact.panel.modes, rows(found), None if own is None else rows(own))


def _word(found: float, band: float, sure: float, exact: float | None, delta: float) -> Word:
    if exact is not None and found - sure > ALLOWANCE * exact:
        return "rejected"
    return "confirmed" if found + band < delta else "inconclusive"
