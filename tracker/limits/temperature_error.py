"""What temperature costs: the error of whoever knows the mode and samples its Gibbs law exactly (docs/mathematics, "Temperature")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker import chain
from tracker.compiled import kernel
from tracker.costs.base import known_minimisers, measure
from tracker.costs.facts import constant_curvature
from tracker.limits.drift_field import cost_values
from tracker.limits.gibbs_law import gibbs_grid
from tracker.limits.scope import sampler_keys, world_refusals
from tracker.scenario.builders import Mode, build_modes

if TYPE_CHECKING:
    from tracker.array_types import Array
    from tracker.scenario.model import Scenario

TERMS = 4000  # of the series for the mass of a Gaussian law in a ball
MOST_IN_A_BALL = 512  # points of its radius


@dataclass(frozen=True)
class GibbsError:
    """The error of a sampler that knows the mode and samples its Gibbs law at this beta exactly.

    mean_square_error : sum_i pi_i E_i |theta - m_i|^2, pi the stationary law of the chain, m_i the nearest global minimiser
    by_mode : ndarray, shape (X,), E_i |theta - m_i|^2
    outside : the share of the time that it spends outside the target; nan where a mode has none
    outside_by_mode : ndarray, shape (X,), the same in each mode alone
    """

    mean_square_error: float
    by_mode: Array
    outside: float
    outside_by_mode: Array


def gibbs_error(scenario: Scenario, sampler: str) -> GibbsError:
    """Return what the temperature of ``sampler`` costs; of the sampler its beta alone plays a part.

    Raises
    ------
    OutOfScope
        For costs that are not quadratic and have more than two coordinates.

    Examples
    --------
    >>> import tracker
    >>> wells = tracker.load("scenarios/swapping_wells.toml")
    >>> round(tracker.limits.gibbs_error(wells, "classical").mean_square_error, 6)
    0.294297
    """
    for refusal in world_refusals(scenario):
        raise refusal
    keys = sampler_keys(scenario, sampler)
    modes = build_modes(scenario)
    law = np.ones(1) if scenario.chain is None else chain.stationary_law(np.array(scenario.chain.Q, dtype=np.float64))
    if not np.isfinite(keys.beta):
        return GibbsError(0.0, np.zeros(len(modes)), 0.0, np.zeros(len(modes)))
    found = np.array([_of_mode(mode, float(keys.beta)) for mode in modes])
    return GibbsError(float(law @ found[:, 0]), found[:, 0], float(law @ found[:, 1]), found[:, 1])


def _of_mode(mode: Mode, beta: float) -> tuple[float, float]:
    """Return the mean square distance to the nearest minimiser and the share outside the target."""
    H, lowest = constant_curvature(mode.cost), known_minimisers(mode.cost)
    if H is not None and lowest is not None:
        variances: Array = 1.0 / (beta * np.linalg.eigvalsh(H).astype(np.float64))
        return float(variances.sum()), _outside_ball(variances, mode.radius2)
    axes, weights = gibbs_grid(mode, beta)
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    square = np.empty(len(points))
    nearest_squares(mode.cost, mode.targets, points, square)
    share = weights.ravel() / weights.sum()
    mass = float(weights.sum()) * float(np.prod([axis[1] - axis[0] for axis in axes]))
    return float(share @ square), _outside(mode, beta, mass, float(share @ (square > mode.radius2)))


@kernel
def nearest_squares(cost: Any, targets: Array, points: Array, out: Array) -> None:
    """Write the squared distances of the rows of ``points`` (n, N) to the nearest target, as the cost measures them, to ``out`` (n,)."""
    place = np.empty(targets.shape[1])
    for k in range(points.shape[0]):
        measure(cost, points[k], place)
        least = np.inf
        for t in range(targets.shape[0]):
            square = 0.0
            for d in range(place.size):
                square += (place[d] - targets[t, d]) ** 2
            least = min(least, square)
        out[k] = least


def _outside(mode: Mode, beta: float, mass: float, on_grid: float) -> float:
    """Return the share outside the target: one less the integral over its balls; on the grid where these are none in theta."""
    radius, centres = float(np.sqrt(mode.radius2)), mode.minimisers
    if not np.isfinite(radius):
        return float("nan")
    apart = np.linalg.norm(centres[:, None] - centres[None], axis=2)[np.triu_indices(len(centres), 1)]
    balls = np.array_equal(mode.targets, centres) and apart.min(initial=np.inf) > 2.0 * radius
    count, before = 32, np.inf
    while balls and count <= MOST_IN_A_BALL:
        inside = sum(_in_ball(mode, beta, centre, radius, count) for centre in centres) / mass
        if abs(inside - before) <= 1e-10:
            return max(0.0, 1.0 - inside)
        count, before = 2 * count, inside
    return on_grid


def _in_ball(mode: Mode, beta: float, centre: Array, radius: float, count: int) -> float:
    """Return the integral of exp(-beta (C - min C)) over a ball, N = 1 or 2, by Gauss and Legendre along the radius."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    if len(centre) == 1:
        points, weights = centre + radius * nodes[:, None], radius * weights
    else:
        turns = 2.0 * np.pi * np.arange(2 * count) / (2 * count)
        r = radius * (nodes + 1.0) / 2.0
        ways = np.column_stack([np.cos(turns), np.sin(turns)])
        points = (centre + r[:, None, None] * ways).reshape(-1, 2)
        weights = np.repeat(radius / 2.0 * weights * r * 2.0 * np.pi / len(turns), len(turns))
    values = np.empty(len(points))
    cost_values(mode.cost, np.ascontiguousarray(points), values)
    return float(weights @ np.exp(-beta * (values - mode.floor)))


def _outside_ball(variances: Array, radius2: float) -> float:
    """Return P(sum_d v_d n_d^2 > radius2) of independent standard normals n: Ruben's series of chi-square laws."""
    from scipy.special import chdtrc

    if not np.isfinite(radius2):
        return float("nan")
    least = float(variances.min())
    gamma = 1.0 - least / variances
    weights = np.empty(TERMS)
    powers = np.array([(gamma**k).sum() for k in range(1, TERMS)]) / 2.0
    weights[0] = np.sqrt(np.prod(least / variances))
    left = 1.0 - weights[0]
    outside = weights[0] * float(chdtrc(len(variances), radius2 / least))
    for k in range(1, TERMS):
        if left <= 1e-14:
            break
        weights[k] = (powers[:k][::-1] @ weights[:k]) / k
        left -= weights[k]
        outside += weights[k] * float(chdtrc(len(variances) + 2 * k, radius2 / least))
    else:
        return float("nan")  # curvatures too far apart for the series
    return outside
