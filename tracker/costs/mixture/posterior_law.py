"""The posterior law of a mixture: its region, the coordinates in which it is not Gaussian, and the exchange of its labels.

Notes
-----
The likelihood depends on theta only through p = means[0]'theta and q = means[1]'theta. Under the prior raised to the power
beta, theta = prior_mean + A xi with A = diag(sqrt(prior_variance / beta)) and xi standard normal. With W an orthonormal basis
of the row space of means A, write theta = prior_mean + A W u + (what is orthogonal): then

    beta C(prior_mean + A W u) = |u|^2 / 2 - beta log likelihood + const,

so u, with at most two coordinates, has the density exp(-beta C(prior_mean + A W u)), and given u, theta is Gaussian with
mean prior_mean + A W u and covariance A A' - A W W' A'. This holds for any N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.costs.base import expected, measure, measure_size, search_region, twins
from tracker.costs.facts import ReducedLaw, label_exchange, reduced_law
from tracker.costs.mixture.likelihood import Mixture, along

if TYPE_CHECKING:
    from tracker.array_types import Array

COORDINATES_OF_THE_LIKELIHOOD = 2  # coordinates of which the likelihood knows
ROUNDING_SHARE = 1e-9  # a direction whose share of the variance is below this is rounding


@measure_size.register(Mixture)
def _pair(cost: Mixture, dimension: int) -> int:
    return 2


@measure.register(Mixture)
def _measure(cost: Mixture, theta: Array, out: Array) -> None:
    out[0], out[1] = along(cost.means, 0, theta), along(cost.means, 1, theta)


@twins.register(Mixture)
def _twins(cost: Mixture, point: Array) -> Array:
    """Exchanging p and q changes no probability of y: both orders stand for the same parameter."""
    rows = np.empty((1 if point[0] == point[1] else 2, 2))
    rows[0] = point
    rows[-1] = point[::-1]
    return rows


@search_region.register(Mixture)
def _search_region(cost: Mixture, start: Array) -> tuple[Array, Array]:
    return cost.prior_mean.copy(), cost.scale.copy()


@label_exchange.register(Mixture)
def _label_exchange(cost: Mixture) -> Array | None:
    """Return I + K (P - I) means with K = V means' (means V means')^-1, V the prior covariance and P the exchange of p and q.

    None where p and q are no two separate forms.
    """
    means = cost.means
    spread = means / cost.precision  # means V, shape (2, N)
    gram = spread @ means.T
    if np.linalg.matrix_rank(gram) < 2:
        return None
    K = np.linalg.solve(gram, spread).T
    P = np.array([[0.0, 1.0], [1.0, 0.0]])
    return np.ascontiguousarray(np.eye(means.shape[1]) + K @ (P - np.eye(2)) @ means)


@reduced_law.register(Mixture)
def _reduced_law(cost: Mixture, beta: float, depth: float) -> ReducedLaw:
    scale = np.sqrt(1.0 / (beta * cost.precision))
    if scale.size <= COORDINATES_OF_THE_LIKELIHOOD:
        W = np.eye(scale.size)  # all of theta: the axes of u are those of theta
    else:
        _, singular, rows = np.linalg.svd(cost.means * scale, full_matrices=False)
        W = rows[singular > ROUNDING_SHARE * max(float(singular[0]), np.finfo(float).tiny)].T
    rest = scale[:, np.newaxis] * (np.eye(scale.size) - W @ W.T) * scale
    # -log(exp(-a) + exp(-b)) >= -log 2 for each observation, so beta C exceeds its value at u = 0 by ``depth`` beyond this
    above = expected(cost, cost.prior_mean) - cost.constant + np.log(2.0) * cost.weights.sum()
    return ReducedLaw(cost.prior_mean, scale, W, rest, float(np.sqrt(2.0 * (beta * above + depth))))
