"""Cost, gradient and Hessian of logistic regression on stored rows, one row a step.

Notes
-----
Rows x_1, ..., x_n, labels l_i = +-1, prior N(0, v I), T = ``horizon``; the observation z is the index i of a row:

    c(theta, i) = |theta|^2/(2 v) + T log(1 + exp(-l_i x_i'theta)),
    grad c      = theta/v - T l_i s x_i,   s = 1/(1 + exp(l_i x_i'theta)),
    Hess c      = I/v + T s (1 - s) x_i x_i'.

C is the mean of c over the rows: strictly convex, so it has one minimiser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker.compiled import entry, inlined, pick, where
from tracker.costs.base import (
    classes,
    correct,
    expected,
    expected_gradient,
    expected_of_each,
    gradient,
    hessian,
    known_minimisers,
    right_shares,
    value,
)
from tracker.costs.foretold import forecast_loss
from tracker.costs.minimise.descent import value_and_gradient
from tracker.costs.row_order import RowOrder, shows_rows
from tracker.exponential import decay, logarithm_of_1_plus

if TYPE_CHECKING:
    from tracker.array_types import Array

CLASSES = 2
NEWTON_STEPS, HALVINGS = 100, 60


class Logistic(NamedTuple):
    """Parameters: rows (n, N), shared by all modes on the same data; labels (n,), +1 or -1; precision = 1/v; which row when."""

    rows: Array
    labels: Array
    precision: float
    horizon: float
    order: RowOrder


@inlined
def _margin(rows: Array, labels: Array, i: float, theta: Array) -> float:
    """Return l_i x_i'theta."""
    m = 0.0
    for d in range(theta.size):
        m += entry(rows, i, d) * theta[d]
    return pick(labels, i) * m  # type: ignore[no-any-return]


@inlined
def _surprise(margin: float) -> float:
    """Return log(1 + exp(-margin)) without overflow."""
    return max(0.0, -margin) + logarithm_of_1_plus(decay(abs(margin)))


@inlined
def _doubt(margin: float) -> float:
    """Return s = 1/(1 + exp(margin)) without overflow."""
    e = decay(abs(margin))
    return where(margin > 0.0, e, 1.0) / (1.0 + e)  # type: ignore[no-any-return]


@inlined
def _prior(theta: Array, precision: float) -> float:
    c = 0.0
    for d in range(theta.size):
        c += 0.5 * precision * theta[d] * theta[d]
    return c


@value.register(Logistic)
def _value(cost: Logistic, theta: Array, z: Array) -> float:
    m = _margin(cost.rows, cost.labels, z[0], theta)
    return _prior(theta, cost.precision) + cost.horizon * _surprise(m)


@gradient.register(Logistic)
def _gradient(cost: Logistic, theta: Array, z: Array, out: Array) -> None:
    rows, i = cost.rows, z[0]
    m = _margin(rows, cost.labels, i, theta)
    pull = cost.horizon * pick(cost.labels, i) * _doubt(m)
    for d in range(theta.size):
        out[d] = cost.precision * theta[d] - pull * entry(rows, i, d)


@hessian.register(Logistic)
def _hessian(cost: Logistic, theta: Array, z: Array, out: Array) -> None:
    rows, i = cost.rows, z[0]
    s = _doubt(_margin(rows, cost.labels, i, theta))
    weight = cost.horizon * s * (1.0 - s)
    for d in range(theta.size):
        for e in range(theta.size):
            out[d, e] = weight * entry(rows, i, d) * entry(rows, i, e)
        out[d, d] += cost.precision


shows_rows(Logistic)


@forecast_loss.register(Logistic)
def _forecast_loss(cost: Logistic, theta: Array, z: Array) -> float:
    return _surprise(_margin(cost.rows, cost.labels, z[0], theta))


@expected.register(Logistic)
def _expected(cost: Logistic, theta: Array) -> float:
    total = 0.0
    for i in range(cost.labels.size):
        total += _surprise(_margin(cost.rows, cost.labels, i, theta))
    return _prior(theta, cost.precision) + cost.horizon * total / cost.labels.size


@correct.register(Logistic)
def _correct(cost: Logistic, theta: Array) -> float:
    right = 0.0
    for i in range(cost.labels.size):
        margin = _margin(cost.rows, cost.labels, i, theta)
        right += where(margin > 0.0, 1.0, where(margin == 0.0, 0.5, 0.0))
    return right / cost.labels.size


@expected_of_each.register(Logistic)
def _expected_of_each(cost: Logistic, thetas: Array) -> Array:
    margins = (thetas @ cost.rows.T) * cost.labels
    surprise = np.logaddexp(0.0, -margins).mean(axis=1)
    return np.asarray(0.5 * cost.precision * (thetas**2).sum(axis=1) + cost.horizon * surprise)


@right_shares.register(Logistic)
def _right_shares(cost: Logistic, thetas: Array) -> Array:
    margins = (thetas @ cost.rows.T) * cost.labels
    return np.asarray((1.0 + np.sign(margins).mean(axis=1)) / 2.0)  # a margin of 0 is half right


@classes.register(Logistic)
def _classes(cost: Logistic) -> int:
    return CLASSES


@expected_gradient.register(Logistic)
def _expected_gradient(cost: Logistic, theta: Array, out: Array) -> None:
    rows, share = cost.rows, cost.horizon / cost.labels.size
    for d in range(theta.size):
        out[d] = cost.precision * theta[d]
    for i in range(cost.labels.size):
        pull = share * cost.labels[i] * _doubt(_margin(rows, cost.labels, i, theta))
        for d in range(theta.size):
            out[d] -= pull * rows[i, d]


@known_minimisers.register(Logistic)
def _known_minimisers(cost: Logistic) -> Array:
    """Return the one minimiser, shape (1, N): Newton's method, halving steps that do not descend.

    Sums by ``einsum``, not by BLAS, whose rounding may depend on how many threads it is given.
    """
    N, share = cost.rows.shape[1], cost.horizon / cost.labels.size
    theta, g, ahead = np.zeros(N), np.empty(N), np.empty(N)
    lowest = value_and_gradient(cost, theta, g)
    for _ in range(NEWTON_STEPS):
        s = 1.0 / (1.0 + np.exp(np.clip(cost.labels * np.einsum("nd,d->n", cost.rows, theta), -700.0, 700.0)))
        H = cost.precision * np.eye(N) + share * np.einsum("nd,n,ne->de", cost.rows, s * (1.0 - s), cost.rows)
        step = np.linalg.solve(H, g)
        for _ in range(HALVINGS):
            c = value_and_gradient(cost, theta - step, ahead)
            if c < lowest:
                break
            step = step / 2.0
        else:
            break  # no descent is left that a float could show
        theta, lowest, g, ahead = theta - step, c, ahead, g
    return np.ascontiguousarray(theta[np.newaxis])
