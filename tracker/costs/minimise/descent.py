"""Descend from a point to a minimiser of the expected cost: BFGS, then Newton's method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.compiled import kernel
from tracker.costs.base import expected, expected_gradient

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.array_types import Array

EQUAL_COSTS = 1e-8  # costs that differ by less than this times (1 + |cost|) are equal
FLAT_CURVATURE = (
    1e-6  # below this share of the largest curvature a direction may be flat: minimisers may form a continuum
)
NEWTON_STEPS = 50
BFGS_STEPS, BISECTIONS = 200, 25
LOWER, LESS_STEEP = 1e-4, 0.9  # shares of the slope: how far a step must go down, how steep it may still be
ROUNDINGS = 4.0  # a rise of this many jumps from one number to the next is none
ROUNDING = 1e-15  # times 1 + |cost|: no descent below this can be seen
SHARES_OF_A_SEGMENT = (0.5, 0.276393, 0.881966, 0.098301)  # shares of a segment at which a rise is looked for
OUTWARDS = 2.0 ** np.arange(14)  # in units of the search scale: how far out it is looked whether a cost still falls
WIDEST_SCALE = 100.0  # times 1 + |theta|: a search scale beyond it says nothing of the cost close to theta


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
    """Go down from ``point`` by BFGS in the coordinates x = (theta - centre) / scale, until rounding hides any descent.

    Our own: scipy's takes five times as long for the few coordinates of most costs.
    """

    def at(x: Array) -> tuple[float, Array]:
        out = np.empty(x.size)
        return value_and_gradient(cost, centre + scale * x, out), scale * out

    x = (point - centre) / scale
    c, g = at(x)
    inverse = np.eye(x.size) / max(1.0, float(np.linalg.norm(g)))  # of the Hessian, as far as it is known
    for iteration in range(BFGS_STEPS):
        direction = -inverse @ g
        slope = float(direction @ g)
        if not slope < -ROUNDING * (1.0 + abs(c)) or c == -np.inf:
            break
        found = _line_search(at, x, c, direction, slope)
        if found is None:
            break
        s, c, y = found.x - x, found.c, found.g - g
        x, g = found.x, found.g
        if float(direction @ g) < LESS_STEEP * slope:  # a kink, or rounding errors: nothing is known of the curvature
            break
        if (sy := float(s @ y)) > 0.0:
            if iteration == 0:  # now the size of the curvature is known
                inverse = np.eye(x.size) * (sy / float(y @ y))
            shear = np.eye(x.size) - np.outer(s, y) / sy
            inverse = shear @ inverse @ shear.T + np.outer(s, s) / sy
    return Descent(float(c), np.ascontiguousarray(centre + scale * x), np.zeros(point.size))


class _Place(NamedTuple):
    x: Array
    c: float
    g: Array


def _line_search(
    at: Callable[[Array], tuple[float, Array]], x: Array, c: float, direction: Array, slope: float
) -> _Place | None:
    """Return a place that is lower by a share of ``slope`` and less steep (Wolfe's conditions), by bisection, or None.

    If no place is less steep, the farthest that is low enough.
    """
    short, long, length = 0.0, np.inf, 1.0
    lower = None
    for _ in range(BISECTIONS):
        place = x + length * direction
        there = _Place(place, *at(place))
        if not there.c <= c + LOWER * length * slope:
            long = length
        else:
            lower = there
            if direction @ there.g >= LESS_STEEP * slope:
                break
            short = length
        length = (short + long) / 2.0 if long < np.inf else 2.0 * short
    return lower


def polish(cost: Any, end: Descent, scale: Array) -> Descent:
    """Take Newton steps as long as they make the gradient smaller without climbing."""
    c, theta, step = end
    g = np.empty(theta.size)
    value_and_gradient(cost, theta, g)
    for _ in range(NEWTON_STEPS):
        H = expected_hessian(cost, theta, scale)
        if not np.isfinite(H).all():  # at the edge of what the cost is defined on
            return Descent(float(c), theta + 0.0, np.full(theta.size, np.inf))
        step = np.asarray(np.linalg.lstsq(H, g, rcond=1e-14)[0], dtype=np.float64)
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
    allowed = EQUAL_COSTS * (1.0 + abs(highest))
    unused = np.empty(one.point.size)
    for share in SHARES_OF_A_SEGMENT:
        rise = value_and_gradient(cost, one.point + share * (other.point - one.point), unused) - highest
        if not rise <= allowed:
            allowed = max(allowed, ROUNDINGS * rounding(cost, one))
        if not rise <= allowed:
            return False
    return True


def falls_on(cost: Any, end: Descent, scale: Array) -> Array | None:
    """Return a point far out to which the cost falls on from ``end``, as exp(-x) does, though too little for a descent; else None.

    It is looked along directions without curvature. A valley is as low on both sides, and a minimum has none lower beside it.
    """
    H = expected_hessian(cost, end.point, scale) * np.outer(scale, scale)
    if not np.isfinite(H).all():
        return None
    curvatures, directions = np.linalg.eigh(H)
    small = EQUAL_COSTS * (1.0 + abs(end.value))
    unused = np.empty(end.point.size)
    for direction in directions.T[curvatures <= max(small, FLAT_CURVATURE * np.abs(curvatures).max())]:
        out, back = (np.array([value_and_gradient(cost, end.point + sign * t * scale * direction, unused) for t in OUTWARDS]) for sign in (1.0, -1.0))  # fmt: skip
        for one, other, sign in ((out, back, 1.0), (back, out, -1.0)):
            falls = bool((np.diff(one, prepend=end.value) <= 0.0).all()) and one[-1] < end.value
            if falls and not (other <= end.value + small).all():
                return np.asarray(end.point + sign * OUTWARDS[-1] * scale * direction)
    return None


def rounding(cost: Any, end: Descent) -> float:
    """Return the largest jump of the cost when one coordinate becomes the next larger number."""
    unused, jumps = np.empty(end.point.size), []
    for d in range(end.point.size):
        moved = end.point.copy()
        moved[d] = np.nextafter(moved[d], np.inf)
        jumps.append(abs(value_and_gradient(cost, moved, unused) - end.value))
    return max(jumps)


def expected_hessian(cost: Any, theta: Array, scale: Array) -> Array:
    """Return the Hessian of the expected cost by central differences of its gradient, 1e-5 ``scale`` (N,) apart.

    Where the scale is that of a very wide search, the size of theta takes its place.
    """
    H = np.empty((theta.size, theta.size))
    up, down = np.empty(theta.size), np.empty(theta.size)
    for d in range(theta.size):
        h = 1e-5 * min(scale[d], WIDEST_SCALE * (1.0 + abs(theta[d])))
        moved = theta.copy()
        moved[d] = theta[d] + h
        value_and_gradient(cost, moved, up)
        moved[d] = theta[d] - h
        value_and_gradient(cost, moved, down)
        H[d] = (up - down) / (2.0 * h)
    return (H + H.T) / 2.0
