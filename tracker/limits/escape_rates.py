"""How fast a mode's wells are left: the formula of Eyring and Kramers with a skew matrix.

Notes
-----
docs/mathematics, "Escape". From a minimum over its lowest saddle, as beta -> infinity:

    rate = |lambda| / (2 pi) sqrt(det H_min / |det H_saddle|) exp(-beta (C_saddle - C_min)),

lambda the negative eigenvalue of (I + S) H_saddle. Saddles are looked for by following the softest direction upwards from
the highest point between two minima; each is kept only if descents from its two sides end in two different minima.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from tracker.costs.base import search_region
from tracker.costs.minimise.descent import expected_hessian, value_and_gradient
from tracker.costs.minimise.search import global_minimisers
from tracker.limits.drift_field import read_field
from tracker.limits.scope import OutOfScope

if TYPE_CHECKING:
    from tracker.array_types import Array
    from tracker.scenario.model import Scenario

ALONG = 201  # points on the way from one minimum to another
STEPS, SMALL = 400, 1e-11  # of the search for a saddle: at most, and the size of a gradient that is 0 beside the first
LONGEST = 0.1  # step, as a share of the distance of the two minima
ASIDE = 1e-4  # of that distance: where the descents from a saddle begin
MOST_MINIMA = 40
NEAR = 1e-2  # of the distance of two minima: ends that are nearer to one are there


@dataclass(frozen=True)
class Escape:
    """Rates out of wells, asymptotic in beta; each a tuple over modes of arrays over their minima, the deepest first.

    minima : each of shape (w, N); a mode with one well has one minimum and nothing to leave it by
    saddles : each of shape (w, N), the lowest saddle of each minimum; nan where none was found
    barriers : each of shape (w,), beta (C_saddle - C_min): the formula is good where it is large
    rates : each of shape (w,), per unit of t = k epsilon; nan where there is no saddle
    speed_up : each of shape (w,), the rate over that with S = 0
    """

    minima: tuple[Array, ...]
    saddles: tuple[Array, ...]
    barriers: tuple[Array, ...]
    rates: tuple[Array, ...]
    speed_up: tuple[Array, ...]


class _Saddle(NamedTuple):
    point: Array
    value: float
    sides: tuple[int, int]


def escape(scenario: Scenario, sampler: str, most_minima: int = MOST_MINIMA) -> Escape:
    """Return the rates at which the limit of ``sampler`` leaves the wells of each mode, were the mode to last.

    A mode with more than ``most_minima`` minima is refused.

    >>> import tracker
    >>> wells = tracker.load("scenarios/swapping_wells.toml")
    >>> tracker.limits.escape(wells, "fixed-3").speed_up[0].round(2)
    array([6.86, 6.86])
    """
    field = read_field(scenario, sampler)
    if not np.isfinite(field.beta):
        raise OutOfScope('escape: at beta = "inf" no path climbs', "give a finite beta", sampler)
    rows = [_of_mode(cost, field.mean, field.M, field.beta, most_minima) for cost in field.costs[:: field.stages]]
    return Escape(*(tuple(column) for column in zip(*rows, strict=True)))


def _of_mode(cost: Any, start: Array, M: Array, beta: float, most: int) -> tuple[Array, Array, Array, Array, Array]:
    scale = search_region(cost, start)[1]
    found = global_minimisers(cost, start)
    minima = np.array([_settled(cost, point, scale) for point in found.wells])
    minima = _distinct(minima[[_index(cost, point, scale) == 0 for point in minima]], scale)
    if len(minima) > most:
        raise OutOfScope(f"escape: {len(minima)} minima in a mode are more than {most}")
    saddles = _saddles(cost, minima, scale)
    N, w = start.size, len(minima)
    lowest, barriers, rates, gains = np.full((w, N), np.nan), *(np.full(w, np.nan) for _ in range(3))
    for k, minimum in enumerate(minima):
        around = [saddle for saddle in saddles if k in saddle.sides]
        if not around:
            continue
        saddle = min(around, key=lambda one: one.value)
        at_minimum, at_saddle = expected_hessian(cost, minimum, scale), expected_hessian(cost, saddle.point, scale)
        climb = saddle.value - _value(cost, minimum)
        down, plain = (-float(np.linalg.eigvals(A @ at_saddle).real.min()) for A in (M, np.eye(N)))
        spread = np.sqrt(np.linalg.det(at_minimum) / abs(np.linalg.det(at_saddle)))
        lowest[k], barriers[k], gains[k] = saddle.point, beta * climb, down / plain
        rates[k] = down / (2.0 * np.pi) * spread * np.exp(-beta * climb)
    return minima, lowest, barriers, rates, gains


def _value(cost: Any, theta: Array) -> float:
    return value_and_gradient(cost, np.ascontiguousarray(theta), np.empty(theta.size))


def _gradient(cost: Any, theta: Array) -> Array:
    g = np.empty(theta.size)
    value_and_gradient(cost, np.ascontiguousarray(theta), g)
    return g


def _index(cost: Any, theta: Array, scale: Array) -> int:
    """The number of directions in which the cost falls."""
    return int((np.linalg.eigvalsh(expected_hessian(cost, theta, scale)) <= 0.0).sum())


def _settled(cost: Any, theta: Array, scale: Array) -> Array:
    """A few Newton steps from where a descent ended."""
    for _ in range(6):
        step = np.linalg.lstsq(expected_hessian(cost, theta, scale), _gradient(cost, theta), rcond=1e-12)[0]
        if np.linalg.norm(_gradient(cost, theta - step)) >= np.linalg.norm(_gradient(cost, theta)):
            break
        theta = theta - step
    return theta


def _distinct(points: Array, scale: Array) -> Array:
    kept: list[Array] = []
    for point in points:
        if all(np.abs((point - other) / scale).max() > 1e-6 for other in kept):
            kept.append(point)
    return np.array(kept).reshape(-1, points.shape[1] if points.ndim == 2 else 1)


def _saddles(cost: Any, minima: Array, scale: Array) -> list[_Saddle]:
    found = []
    for one, other in combinations(range(len(minima)), 2):
        way = np.linspace(0.0, 1.0, ALONG)[:, None] * (minima[other] - minima[one]) + minima[one]
        begin = way[int(np.argmax([_value(cost, point) for point in way]))]
        apart = float(np.linalg.norm(minima[other] - minima[one]))
        point = _climb(cost, begin, scale, LONGEST * apart)
        if point is not None and (sides := _sides(cost, point, minima, scale, apart)) is not None:
            found.append(_Saddle(point, _value(cost, point), sides))
    return found


def _climb(cost: Any, theta: Array, scale: Array, longest: float) -> Array | None:
    """Go up along the softest direction and down along all others, by Newton steps with the signs turned so; None if it fails."""
    first = None
    for _ in range(STEPS):
        g = _gradient(cost, theta)
        values, vectors = np.linalg.eigh(expected_hessian(cost, theta, scale))
        turned = np.abs(values)
        turned[0] *= -1.0
        step = -vectors @ ((vectors.T @ g) / np.where(turned == 0.0, 1e-300, turned))
        size = float(np.linalg.norm(step))
        if not np.isfinite(size):
            return None
        first = size if first is None or size > first else first
        if size <= SMALL * max(longest, first):
            return theta if values[0] < 0.0 and (len(values) == 1 or values[1] > 0.0) else None
        theta = theta + step * min(1.0, longest / size)
    return None


def _sides(cost: Any, saddle: Array, minima: Array, scale: Array, apart: float) -> tuple[int, int] | None:
    """The two minima that lie below a saddle; None if its sides lead to one, or elsewhere."""
    values, vectors = np.linalg.eigh(expected_hessian(cost, saddle, scale))
    stiff = float(np.abs(values).max())
    ends = []
    for sign in (1.0, -1.0):
        begin = saddle + sign * ASIDE * apart * vectors[:, 0]
        time = 60.0 / float(np.abs(values).min()) + 60.0 / stiff
        path = solve_ivp(lambda _, x: -_gradient(cost, x), (0.0, time), begin, "LSODA", rtol=1e-6, atol=1e-9 * apart)
        gaps = np.linalg.norm(minima - path.y[:, -1], axis=1)
        nearest = int(gaps.argmin())
        if gaps[nearest] > NEAR * apart:
            return None
        ends.append(nearest)
    return (ends[0], ends[1]) if ends[0] != ends[1] else None
