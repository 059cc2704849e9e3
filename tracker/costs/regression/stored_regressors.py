"""Regression on stored rows: c(theta, i) = loss(y_i - x_i'theta) + ridge |theta|^2 / 2, one row i a step.

Notes
-----
C is the mean of c over the rows; it is convex, and its minimiser is found by Newton's method with Huber's loss, whose
threshold is large for the squared loss and goes to 0 for the absolute one (``huber_minimiser``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.compiled import entry, inlined, pick
from tracker.costs.base import (
    expected,
    expected_gradient,
    gradient,
    hessian,
    known_minimisers,
    value,
)
from tracker.costs.facts import constant_curvature
from tracker.costs.foretold import forecast_loss
from tracker.costs.regression.gaussian_regressors import pull_to_zero
from tracker.costs.regression.losses import AbsoluteLoss, HuberLoss, SquaredLoss, loss, loss_curvature, loss_slope
from tracker.costs.row_order import RowOrder, shows_rows

if TYPE_CHECKING:
    from tracker.array_types import Array

NEWTON_STEPS, HALVINGS = 200, 60
NARROWEST = 1e-10  # threshold of Huber's loss, relative to the residuals, that stands for the absolute loss
FLAT = 1e-12  # of the mean square of all numbers: curvature for directions that no row near the kink sees


class StoredRegression(NamedTuple):
    """Parameters: rows (n, N), shared by all modes on the same data; response (n,); ridge, and the threshold of the loss."""

    rows: Array
    response: Array
    ridge: float
    threshold: float
    order: RowOrder


class SquaredStored(SquaredLoss, StoredRegression):
    """With the squared loss."""

    __slots__ = ()


class HuberStored(HuberLoss, StoredRegression):
    """With Huber's loss."""

    __slots__ = ()


class AbsoluteStored(AbsoluteLoss, StoredRegression):
    """With the absolute loss."""

    __slots__ = ()


@inlined
def _residual(cost: Any, i: float, theta: Array) -> float:
    """Return y_i - x_i'theta."""
    r = pick(cost.response, i)
    for d in range(theta.size):
        r -= entry(cost.rows, i, d) * theta[d]
    return r  # type: ignore[no-any-return]


@value.register(StoredRegression)
def _value(cost: StoredRegression, theta: Array, z: Array) -> float:
    return loss(cost, _residual(cost, z[0], theta)) + pull_to_zero(cost.ridge, theta)


@gradient.register(StoredRegression)
def _gradient(cost: StoredRegression, theta: Array, z: Array, out: Array) -> None:
    rows, i = cost.rows, z[0]
    slope = loss_slope(cost, _residual(cost, i, theta))
    for d in range(theta.size):
        out[d] = cost.ridge * theta[d] - slope * entry(rows, i, d)


def _hessian(cost: Any, theta: Array, z: Array, out: Array) -> None:
    rows, i = cost.rows, z[0]
    bend = loss_curvature(cost, _residual(cost, i, theta))
    for d in range(theta.size):
        for e in range(theta.size):
            out[d, e] = bend * entry(rows, i, d) * entry(rows, i, e)
        out[d, d] += cost.ridge


for _smooth in (SquaredStored, HuberStored):
    hessian.register(_smooth)(_hessian)


shows_rows(StoredRegression)


@forecast_loss.register(StoredRegression)
def _forecast_loss(cost: StoredRegression, theta: Array, z: Array) -> float:
    return loss(cost, _residual(cost, z[0], theta))


@expected.register(StoredRegression)
def _expected(cost: StoredRegression, theta: Array) -> float:
    total = 0.0
    for i in range(cost.response.size):
        total += loss(cost, _residual(cost, i, theta))
    return pull_to_zero(cost.ridge, theta) + total / cost.response.size


@expected_gradient.register(StoredRegression)
def _expected_gradient(cost: StoredRegression, theta: Array, out: Array) -> None:
    for d in range(theta.size):
        out[d] = cost.ridge * theta[d]
    for i in range(cost.response.size):
        slope = loss_slope(cost, _residual(cost, i, theta)) / cost.response.size
        for d in range(theta.size):
            out[d] -= slope * cost.rows[i, d]


def mean_square(cost: StoredRegression) -> Array:
    """Return H = mean x x' + ridge I, shape (N, N)."""
    n, N = cost.rows.shape
    return np.asarray(np.einsum("nd,ne->de", cost.rows, cost.rows) / n + cost.ridge * np.eye(N))


def least_squares(cost: StoredRegression) -> Array:
    """Return the minimiser with the squared loss, shape (N,)."""
    return np.asarray(
        np.linalg.solve(mean_square(cost), np.einsum("nd,n->d", cost.rows, cost.response) / len(cost.rows))
    )


@constant_curvature.register(SquaredStored)
def _constant_curvature(cost: SquaredStored) -> Array:
    return mean_square(cost)


@known_minimisers.register(SquaredStored)
def _least_squares(cost: SquaredStored) -> Array:
    return least_squares(cost)[np.newaxis]


@known_minimisers.register(HuberStored)
def _huber(cost: HuberStored) -> Array:
    return huber_minimiser(cost, least_squares(cost), cost.threshold, cost.ridge)[np.newaxis]


@known_minimisers.register(AbsoluteStored)
def _absolute(cost: AbsoluteStored) -> Array:
    """Huber's loss over its threshold k tends to |r| as k -> 0; its minimiser is then within k of that of |r|."""
    theta = least_squares(cost)
    size = float(np.abs(cost.response - np.einsum("nd,d->n", cost.rows, theta)).max())
    k = size
    while k > NARROWEST * size:
        k /= 4.0
        theta = huber_minimiser(cost, theta, k, cost.ridge * k)
    return theta[np.newaxis]


def huber_minimiser(cost: StoredRegression, theta: Array, k: float, ridge: float) -> Array:
    """Return the minimiser of mean huber_k(y - x'theta) + ridge |theta|^2 / 2: Newton's method, halving steps that do not descend.

    Sums by ``einsum``, not by BLAS, whose rounding may depend on how many threads it is given.
    """
    x, y = cost.rows, cost.response
    n, N = x.shape
    little = FLAT * float(np.mean(x * x)) * np.eye(N)

    def at(place: Array) -> tuple[float, Array]:
        r = y - np.einsum("nd,d->n", x, place)
        size = np.abs(r)
        huber = np.where(size <= k, 0.5 * r * r, k * (size - 0.5 * k))
        return float(huber.mean() + 0.5 * ridge * place @ place), r

    lowest, r = at(theta)
    for _ in range(NEWTON_STEPS):
        g = ridge * theta - np.einsum("nd,n->d", x, np.clip(r, -k, k)) / n
        inside = np.abs(r) <= k
        H = np.einsum("nd,ne->de", x[inside], x[inside]) / n + ridge * np.eye(N) + little
        step = np.linalg.solve(H, g)
        for _ in range(HALVINGS):
            c, ahead = at(theta - step)
            if c < lowest:
                break
            step = step / 2.0
        else:
            break  # no descent is left that a float could show
        theta, lowest, r = theta - step, c, ahead
    return theta
