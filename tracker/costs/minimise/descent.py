"""Descend from a point to a minimiser of the expected cost: BFGS, then Newton's method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.compiled import kernel
from tracker.costs.base import expected, expected_gradient

if TYPE_CHECKING:
    from tracker.array_types import Array

TIE = 1e-8  # costs that differ by less than this times (1 + |cost|) are equal
FLAT = 1e-6  # below this share of the largest curvature a direction may be flat: minimisers may form a continuum
NEWTON_STEPS = 50
BETWEEN = (0.5, 0.276393, 0.881966, 0.098301)  # shares of a segment at which a rise is looked for
WIDE = 100.0  # times 1 + |theta|: a search scale beyond it says nothing of the cost close to theta


class Descent(NamedTuple):
    """Where a descent ended, and the Newton step that it would take next."""

    value: float
    point: Array
    step: Array


@kernel
def value_and_gradient(cost: Any, theta: Array, out: Array) -> float:
    """Return C(theta) and write its gradient to ``out`` (N,)."""
    expected_gradient(cost, theta, out)
    return expected(cost, theta)


def descend(cost: Any, point: Array, centre: Array, scale: Array) -> Descent:
    """Go down from ``point`` by BFGS in the coordinates (theta - centre) / scale."""
    from scipy.optimize import minimize  # slow to import, and known minimisers do without

    out = np.empty(point.size)

    def scaled(x: Array) -> tuple[float, Array]:
        c = value_and_gradient(cost, centre + scale * x, out)
        return c, scale * out

    # not L-BFGS-B: it wakes all BLAS threads even for 2 x 2 matrices, on a busy machine up to 40 times slower
    x = (point - centre) / scale
    found = minimize(scaled, x, jac=True, method="BFGS", options={"maxiter": 200, "gtol": 1e-9})
    return Descent(float(found.fun), np.ascontiguousarray(centre + scale * found.x), np.zeros(point.size))


def polish(cost: Any, end: Descent, scale: Array) -> Descent:
    """Take Newton steps as long as they make the gradient smaller without climbing."""
    c, theta, step = end
    g = np.empty(theta.size)
    value_and_gradient(cost, theta, g)
    for _ in range(NEWTON_STEPS):
        step = np.asarray(np.linalg.lstsq(expected_hessian(cost, theta, scale), g, rcond=1e-14)[0], dtype=np.float64)
        trial, trial_g = np.ascontiguousarray(theta - step), np.empty(theta.size)
        trial_c = value_and_gradient(cost, trial, trial_g)
        climbs = not trial_c <= c + 1e-12 * (1.0 + abs(c))
        if climbs or not np.abs(scale * trial_g).max() < np.abs(scale * g).max():
            break
        c, theta, g = trial_c, trial, trial_g
    return Descent(float(c), theta + 0.0, step)  # + 0.0: no negative zeros


def same_well(cost: Any, one: Descent, other: Descent) -> bool:
    """Tell whether the cost nowhere rises between two ends: then they lie in one well, or in one flat valley.

    It is looked at a few places of the segment, no two of them a whole number of periods apart for wells in a row.
    """
    highest = max(one.value, other.value)
    unused = np.empty(one.point.size)
    return all(
        value_and_gradient(cost, one.point + share * (other.point - one.point), unused)
        <= highest + TIE * (1.0 + abs(highest))
        for share in BETWEEN
    )


def expected_hessian(cost: Any, theta: Array, scale: Array) -> Array:
    """Return the Hessian of the expected cost by central differences of its gradient, 1e-5 ``scale`` (N,) apart.

    Where the scale is that of a very wide search, the size of theta takes its place.
    """
    H = np.empty((theta.size, theta.size))
    up, down = np.empty(theta.size), np.empty(theta.size)
    for d in range(theta.size):
        h = 1e-5 * min(scale[d], WIDE * (1.0 + abs(theta[d])))
        moved = theta.copy()
        moved[d] = theta[d] + h
        value_and_gradient(cost, moved, up)
        moved[d] = theta[d] - h
        value_and_gradient(cost, moved, down)
        H[d] = (up - down) / (2.0 * h)
    return (H + H.T) / 2.0
