"""The stationary law of one mode alone: the Gibbs law of its cost, and the law of the sampler with its step.

docs/mathematics, "Gibbs law" and docs/mathematics, "Stationary law": both are Gaussian for a quadratic cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker import skew
from tracker.costs.facts import as_quadratic
from tracker.costs.minimise.search import global_minimisers
from tracker.limits.drift_field import Field
from tracker.limits.grid_box import DEPTH, automatic_box
from tracker.limits.scope import OutOfScope

if TYPE_CHECKING:
    from tracker.array_types import Array
    from tracker.scenario import Mode


POINTS = {1: 4001, 2: 241}  # a side
MOST_POINTS = {1: 64001, 2: 961}
RESOLVED = 3e-3  # the change that half of the points may make: all of them are then right to 1e-10
DEVIATIONS = 8.5  # of a Gaussian law that are tabulated


class Marginal(NamedTuple):
    """The law of one coordinate: density and distribution function at increasing points, shapes (n,)."""

    points: Array
    density: Array
    cdf: Array


def gibbs_marginal(mode: Mode, beta: float, coordinate: int) -> Marginal:
    """Return the law of one coordinate under Gibbs' law of a mode.

    Raises
    ------
    ValueError
        For what is out of reach, with the reason.

    Examples
    --------
    >>> import tracker
    >>> from tracker.scenario import build_modes
    >>> scenario = tracker.load("scenarios/example_a.toml")
    >>> law = tracker.limits.gibbs_marginal(build_modes(scenario)[0], beta=2.0, coordinate=0)
    >>> round(float((law.points * law.density).sum() / law.density.sum()), 6)  # the minimum
    1.0
    """
    if not np.isfinite(beta):
        raise OutOfScope('beta = "inf" leaves no temperature, so no Gibbs law')
    bowl = as_quadratic(mode.cost)
    if bowl is not None:
        variance = np.linalg.inv(bowl.curvature)[coordinate, coordinate] / beta
        return gaussian(float(bowl.minimum[coordinate]), float(variance))
    axes, weights = gibbs_grid(mode, beta)
    rest = tuple(axis for axis in range(weights.ndim) if axis != coordinate)
    return _normalised(axes[coordinate], np.asarray(weights.sum(axis=rest)))


def gibbs_grid(mode: Mode, beta: float) -> tuple[list[Array], Array]:
    """Return the axes of a grid that resolves Gibbs' law of a mode, N = 1 or 2, and weights proportional to its density there.

    Sums over the grid of a smooth function times the weights are integrals to about 1e-10.
    """
    N = mode.minimisers.shape[1]
    if N not in POINTS:
        raise OutOfScope(
            f"Gibbs' law of a cost that is not quadratic is computed on a grid for N = 1 and 2, here N = {N}"
        )
    field = _alone(mode, beta)
    found = global_minimisers(mode.cost, mode.minimisers[0])
    wells = found.wells[found.depths <= mode.floor + DEPTH / beta]
    sides = automatic_box(field, np.vstack([mode.minimisers, wells]))
    points = POINTS[N]
    while True:
        axes = [np.linspace(low, high, points) for low, high in sides]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        weights = np.exp(-beta * np.maximum(field.values(0, grid) - mode.floor, 0.0))
        if _coarser_change(weights) < RESOLVED:
            return axes, weights
        points = 2 * points - 1
        if points > MOST_POINTS[N]:
            raise OutOfScope(
                f"Gibbs' law is too narrow for its extent: {MOST_POINTS[N]} points a side do not resolve it"
            )


def _coarser_change(weights: Array) -> float:
    """Return how much every second point alone would change mass and balance of the law, its first moments along the axes.

    The trapezoidal rule gains digits so fast that the error of all points is about the fourth power of this.
    """
    found = []
    for part in (weights, weights[tuple(slice(None, None, 2) for _ in weights.shape)]):
        mass = float(part.sum())
        if not mass > 0.0:
            return float("inf")  # all wells lie between the points
        places = [
            float(part.sum(axis=tuple(b for b in range(part.ndim) if b != a)) @ np.linspace(-1.0, 1.0, part.shape[a]))
            / mass
            for a in range(part.ndim)
        ]
        found.append(np.array([mass * 2.0 ** (0 if part is weights else weights.ndim), *places]))
    return float(max(abs(found[1][0] / found[0][0] - 1.0), np.abs(found[1][1:] - found[0][1:]).max()))


def discretised_marginal(mode: Mode, S: Array, epsilon: float, beta: float, coordinate: int) -> Marginal:
    """Return the law of one coordinate under the sampler's own stationary law in a quadratic mode.

    Raises
    ------
    ValueError
        If the cost is not quadratic or the step not stable.

    Examples
    --------
    >>> import tracker
    >>> from tracker.scenario import build_modes
    >>> scenario = tracker.load("scenarios/example_a.toml")
    >>> S = tracker.skew.from_pairs([0.7], 2)
    >>> law = tracker.limits.discretised_marginal(build_modes(scenario)[0], S, 1 / 64, 2.0, 0)
    >>> round(float((law.points * law.density).sum() / law.density.sum()), 6)
    1.0
    """
    bowl = as_quadratic(mode.cost)
    if bowl is None:
        raise OutOfScope("the sampler's own law in a mode is known in closed form for quadratic costs only")
    if bowl.regressors is not None:
        raise OutOfScope("the sampler's own law is not Gaussian where the gradient noise grows with theta")
    X = skew.stationary_covariance(bowl.curvature, S, epsilon, beta, bowl.covariance)
    return gaussian(float(bowl.minimum[coordinate]), float(X[coordinate, coordinate]))


def gaussian(mean: float, variance: float) -> Marginal:
    """Return a Gaussian law, tabulated."""
    from scipy.special import ndtr

    x = np.linspace(-DEVIATIONS, DEVIATIONS, POINTS[1])
    sigma = np.sqrt(variance)
    return Marginal(mean + sigma * x, np.exp(-0.5 * x * x) / (sigma * np.sqrt(2.0 * np.pi)), np.asarray(ndtr(x)))


def _alone(mode: Mode, beta: float) -> Field:
    """The diffusion in this mode for ever, begun at its minimiser."""
    N = mode.minimisers.shape[1]
    return Field(
        costs=(mode.cost,),
        names=("",),
        stages=1,
        M=np.eye(N),
        Q=np.zeros((1, 1)),
        alpha=1.0,
        epsilon=1.0,
        beta=beta,
        initial=np.ones(1),
        mean=mode.minimisers[0],
        covariance=np.zeros((N, N)),
    )


def _normalised(points: Array, weights: Array) -> Marginal:
    """Normalise by the trapezoidal rule, which converges fast for a smooth law that vanishes at both ends."""
    spacing = points[1] - points[0]
    density = weights / (weights.sum() * spacing)
    rise = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2.0 * spacing)])
    return Marginal(points, density, np.asarray(rise / rise[-1]))
