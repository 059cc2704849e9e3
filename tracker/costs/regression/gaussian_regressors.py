"""Regression on regressors that are drawn: phi ~ N(0, R), y = phi'truth + noise of variance v, fresh at every step.

Notes
-----
c(theta, (phi, y)) = loss(y - phi'theta) + ridge |theta|^2 / 2. The residual is N(0, s^2) with s^2 = v + (theta - truth)'R(theta -
truth), so C and its gradient are known: grad C = E loss''(r) R (theta - truth) + ridge theta. With the squared loss C is a
bowl, H = R + ridge I, and the gradient noise grows with the distance to the truth (docs/mathematics, "Regression").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.compiled import any_of, inlined, room_for
from tracker.costs.base import (
    SELDOM,
    cost_every,
    expected,
    expected_gradient,
    gradient,
    hessian,
    known_minimisers,
    memory_size,
    observation_size,
    observe,
    observe_on,
    search_region,
    value,
)
from tracker.costs.facts import (
    ReducedLaw,
    RegressorNoise,
    constant_curvature,
    log_likelihood,
    reduced_law,
    regressor_noise,
)
from tracker.costs.noise_memory import remember
from tracker.costs.regression.losses import (
    AbsoluteLoss,
    HuberLoss,
    SquaredLoss,
    loss,
    loss_curvature,
    loss_slope,
    mean_curvature,
    mean_loss,
)
from tracker.streams import draw_normals

if TYPE_CHECKING:
    from tracker.array_types import Array, Words

FEW_COORDINATES = 2  # with which a value takes less than a tenth of a step


class DrawnRegression(NamedTuple):
    """Parameters: truth (N,); R and its factor (N, N), factor factor' = R; v, ridge, and the threshold of the loss.

    memory : phi = factor u, u a standard AR(1) with this correlation from step to step; 0 where regressors are drawn afresh
    """

    truth: Array
    covariance: Array
    factor: Array
    noise_variance: float
    ridge: float
    threshold: float
    memory: float = 0.0


class SquaredDrawn(SquaredLoss, DrawnRegression):
    """With the squared loss: LMS."""

    __slots__ = ()


class HuberDrawn(HuberLoss, DrawnRegression):
    """With Huber's loss."""

    __slots__ = ()


class AbsoluteDrawn(AbsoluteLoss, DrawnRegression):
    """With the absolute loss: sign-error LMS."""

    __slots__ = ()


@inlined
def residual(theta: Array, z: Array) -> float:
    """Return r = y - phi'theta, z = (phi, y)."""
    r = z[theta.size]
    for d in range(theta.size):
        r -= z[d] * theta[d]
    return r


@inlined
def pull_to_zero(ridge: float, theta: Array) -> float:
    """Return ridge |theta|^2 / 2."""
    c = 0.0
    for d in range(theta.size):
        c += 0.5 * ridge * theta[d] * theta[d]
    return c


@inlined
def _pull(cost: Any, theta: Array, d: int) -> float:
    """Return coordinate d of R (theta - truth)."""
    total = 0.0
    for e in range(theta.size):
        total += cost.covariance[d, e] * (theta[e] - cost.truth[e])
    return total


@inlined
def _spread(cost: Any, theta: Array) -> float:
    """Return s^2, the variance of the residual."""
    s2 = cost.noise_variance
    for d in range(theta.size):
        s2 += (theta[d] - cost.truth[d]) * _pull(cost, theta, d)
    return s2


@value.register(DrawnRegression)
def _value(cost: DrawnRegression, theta: Array, z: Array) -> float:
    return loss(cost, residual(theta, z)) + pull_to_zero(cost.ridge, theta)


@gradient.register(DrawnRegression)
def _gradient(cost: DrawnRegression, theta: Array, z: Array, out: Array) -> None:
    slope = loss_slope(cost, residual(theta, z))
    for d in range(theta.size):
        out[d] = cost.ridge * theta[d] - slope * z[d]


def _hessian(cost: Any, theta: Array, z: Array, out: Array) -> None:
    bend = loss_curvature(cost, residual(theta, z))
    for d in range(theta.size):
        for e in range(theta.size):
            out[d, e] = bend * z[d] * z[e]
        out[d, d] += cost.ridge


for _smooth in (SquaredDrawn, HuberDrawn):
    hessian.register(_smooth)(_hessian)


@expected.register(DrawnRegression)
def _expected(cost: DrawnRegression, theta: Array) -> float:
    return mean_loss(cost, _spread(cost, theta)) + pull_to_zero(cost.ridge, theta)


@expected_gradient.register(DrawnRegression)
def _expected_gradient(cost: DrawnRegression, theta: Array, out: Array) -> None:
    bend = mean_curvature(cost, _spread(cost, theta))
    for d in range(theta.size):
        out[d] = bend * _pull(cost, theta, d) + cost.ridge * theta[d]


@observation_size.register(DrawnRegression)
def _observation_size(cost: DrawnRegression) -> int:
    return cost.truth.size + 1


@observe.register(DrawnRegression)
def _observe(cost: DrawnRegression, k: int, count: int, stream: Words, out: Array) -> None:
    n = room_for(stream, cost.truth.size + 1)
    for i in range(count):
        draw_normals(stream, n)
        _seen(cost, n, n, out[i])


@inlined
def _seen(cost: Any, u: Array, n: Array, z: Array) -> None:
    """Write phi = factor u and y = phi'truth + sqrt(v) n_N to z."""
    N = cost.truth.size
    y = np.sqrt(cost.noise_variance) * n[N]
    for d in range(N):
        phi = 0.0
        for e in range(N):
            phi += cost.factor[d, e] * u[e]
        z[d] = phi
        y += phi * cost.truth[d]
    z[N] = y


@memory_size.register(DrawnRegression)
def _memory_size(cost: DrawnRegression) -> int:
    return cost.truth.size if cost.memory != 0.0 else 0


@observe_on.register(DrawnRegression)
def _observe_on(cost: DrawnRegression, k: int, count: int, stream: Words, memory: Array, out: Array) -> None:
    if any_of(cost.memory != 0.0):
        N = cost.truth.size
        n = room_for(stream, N + 1)
        for i in range(count):
            draw_normals(stream, n)
            remember(cost.memory, k + i, n[:N], memory)
            _seen(cost, memory, n, out[i])
    else:
        observe(cost, k, count, stream, out)


@cost_every.register(SquaredDrawn)
def _cost_every(cost: SquaredDrawn) -> int:
    return 1 if cost.truth.size <= FEW_COORDINATES else SELDOM


@known_minimisers.register(DrawnRegression)
def _known_minimisers(cost: DrawnRegression) -> Array | None:
    return cost.truth[np.newaxis].copy() if cost.ridge == 0.0 else None


@known_minimisers.register(SquaredDrawn)
def _known_to_be_shrunk(cost: SquaredDrawn) -> Array:
    return shrunk(cost)[np.newaxis].copy()


def shrunk(cost: DrawnRegression) -> Array:
    """Return the minimiser with the squared loss, shape (N,): the truth, drawn towards 0 by the ridge."""
    return (
        cost.truth
        if cost.ridge == 0.0
        else np.asarray(np.linalg.solve(mean_square(cost), cost.covariance @ cost.truth))
    )


def mean_square(cost: DrawnRegression) -> Array:
    """Return H = R + ridge I, shape (N, N)."""
    return np.asarray(cost.covariance + cost.ridge * np.eye(cost.truth.size))


@search_region.register(DrawnRegression)
def _between_zero_and_truth(cost: DrawnRegression, start: Array) -> tuple[Array, Array]:
    return cost.truth / 2.0, 0.1 + np.abs(cost.truth)


@constant_curvature.register(SquaredDrawn)
def _constant_curvature(cost: SquaredDrawn) -> Array:
    return mean_square(cost)


@regressor_noise.register(SquaredDrawn)
def _regressor_noise(cost: SquaredDrawn) -> RegressorNoise | None:
    return RegressorNoise(cost.covariance, cost.truth, cost.noise_variance) if cost.memory == 0.0 else None


@reduced_law.register(SquaredDrawn)
def _gaussian(cost: SquaredDrawn, beta: float, depth: float) -> ReducedLaw:
    """exp(-beta C) is N(m, (beta H)^-1): nothing is left to integrate."""
    N = cost.truth.size
    rest = np.asarray(np.linalg.inv(mean_square(cost)) / beta, dtype=float)
    return ReducedLaw(shrunk(cost), np.ones(N), np.zeros((N, 0)), rest, 0.0)


@log_likelihood.register(DrawnRegression)
def _log_likelihood(cost: DrawnRegression, z: Array) -> float:
    """The density of (phi, y); without noise in y, or in some direction of phi, there is none."""
    N, L = cost.truth.size, cost.factor
    if cost.noise_variance == 0.0 or L.shape[1] != N:
        return np.nan
    white, r = np.empty(N), z[N]
    total = np.log(cost.noise_variance) + (N + 1) * np.log(2.0 * np.pi)
    for d in range(N):  # L is Cholesky's: phi = L white
        known = 0.0
        for e in range(d):
            known += L[d, e] * white[e]
        white[d] = (z[d] - known) / L[d, d]
        total += white[d] * white[d] + 2.0 * np.log(L[d, d])
        r -= z[d] * cost.truth[d]
    return -0.5 * (total + r * r / cost.noise_variance)  # type: ignore[no-any-return]
