"""Cost, gradient and Hessian of the paper's two-component Gaussian mixture, from one observation.

Notes
-----
y ~ N(p, v)/2 + N(q, v)/2 with p = means[0]'theta, q = means[1]'theta, and a Gaussian prior, independent in the
coordinates. With T = ``horizon`` and every normalising constant kept,

    c(theta, y) = -log prior(theta) - T log p(y | theta),
    grad c = (theta - prior_mean)/prior_variance + (T/v) (w (p - y) means[0] + (1 - w) (q - y) means[1]),

w = 1/(1 + exp d), d = (q - p)(2y - p - q)/(2v), the probability that y came from the first component. In the code the
gradient is that of the likelier component plus the share of the other times the difference of the two.
The expected cost is -log prior - sum_i weight_i log p(node_i | theta): the nodes are the stored data with weights 1, or
a quadrature of the true law with weights that sum to T (the KL cost, up to a constant).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker.compiled import any_of, borrow, helper, inlined, room_for, where
from tracker.costs.base import (
    expected,
    expected_gradient,
    expected_of_each,
    gradient,
    hessian,
    value,
)
from tracker.exponential import decay, logarithm, logarithm_of_1_plus

if TYPE_CHECKING:
    from tracker.array_types import Array

STREAM, SWEEP, SHUFFLE = range(3)  # where observations come from

_CHUNK = 32  # nodes at a time; the scratch for them is small enough to be allocated quickly
_PRODUCT_LIMIT = 1e280  # times 2^_CHUNK is finite


class Mixture(NamedTuple):
    """Parameters of the cost of one observation; divisions are done beforehand.

    means (2, N); prior_mean, precision = 1/prior_variance (N,); constant: the logarithms of all normalising constants;
    half_precision = 1/(2v); slope = T/v; horizon = T; source: STREAM, SWEEP or SHUFFLE; centres (2,): the true p and q,
    deviation = sqrt v (both for STREAM); nodes, weights (M,): the law of the expected cost (stored data have one weight);
    data (T,) or (0,);
    scale (N,): how far from prior_mean minimisers may be.
    """

    means: Array
    prior_mean: Array
    precision: Array
    constant: float
    half_precision: float
    slope: float
    horizon: float
    source: int
    centres: Array
    deviation: float
    nodes: Array
    weights: Array
    data: Array
    scale: Array


class FullMixture(Mixture):
    """The same parameters; the gradient uses all stored data at once, so there is nothing to observe."""

    __slots__ = ()


@inlined
def along(means: Array, component: int, theta: Array) -> float:
    """Return means[component]'theta."""
    total = means[component, 0] * theta[0]
    for d in range(1, theta.size):
        total += means[component, d] * theta[d]
    return total


@inlined
def _leaning(p: float, q: float, y: float, half_precision: float) -> float:
    """Return d = log((1 - w)/w): positive where the second component is the likelier one.

    A step waits for this chain of operations more than for anything else: brackets keep it short.
    """
    return ((q - p) * half_precision) * (2.0 * y - (p + q))


@inlined
def _shares(p: float, q: float, y: float, half_precision: float) -> tuple[float, float]:
    """Return (w, 1 - w), each with full relative accuracy; nothing overflows."""
    d = _leaning(p, q, y, half_precision)
    odds = decay(abs(d))
    less, more = odds / (1.0 + odds), 1.0 / (1.0 + odds)
    return where(d > 0.0, less, more), where(d > 0.0, more, less)


@inlined
def surprise(p: float, q: float, y: float, half_precision: float) -> float:
    """Return -log(exp(-(y - p)^2/2v) + exp(-(y - q)^2/2v))."""
    a, b = (y - p) * (y - p) * half_precision, (y - q) * (y - q) * half_precision
    return min(a, b) - logarithm_of_1_plus(decay(abs(a - b)))


@helper
def _surprises(p: float, q: float, nodes: Array, half_precision: float) -> float:
    """Return the sum of the surprises at ``nodes``.

    With s = 1 + exp(-|a - b|) <= 2, one logarithm serves a product of many s. The loop with the exponentials has no sum
    in it, and sums and products go in four lanes, so that the compiler takes several nodes at a time.
    """
    room = room_for(p, 2 * _CHUNK)
    least, s = borrow(room[:_CHUNK]), borrow(room[_CHUNK:])
    total, product = 0.0, 1.0
    for first in range(0, nodes.size, _CHUNK):
        here = borrow(nodes[first : first + _CHUNK])
        for i in range(here.size):
            a, b = (here[i] - p) * (here[i] - p) * half_precision, (here[i] - q) * (here[i] - q) * half_precision
            least[i] = min(a, b)
            s[i] = 1.0 + decay(abs(a - b))
        for i in range(here.size, _CHUNK):
            least[i], s[i] = 0.0, 1.0
        c0, c1, c2, c3 = 0.0, 0.0, 0.0, 0.0
        s0, s1, s2, s3 = 1.0, 1.0, 1.0, 1.0
        for i in range(0, _CHUNK, 4):
            c0, c1, c2, c3 = c0 + least[i], c1 + least[i + 1], c2 + least[i + 2], c3 + least[i + 3]
            s0, s1, s2, s3 = s0 * s[i], s1 * s[i + 1], s2 * s[i + 2], s3 * s[i + 3]
        total += (c0 + c1) + (c2 + c3)
        product *= (s0 * s1) * (s2 * s3)
        large = product > _PRODUCT_LIMIT
        if any_of(large):
            total -= where(large, logarithm(product), 0.0)
            product = where(large, 1.0, product)
    room[0] = 0.0  # the owner of what is borrowed lives to here
    return total - logarithm(product)


@inlined
def _prior(theta: Array, prior_mean: Array, precision: Array, constant: float) -> float:
    """Return -log prior(theta), with ``constant`` in place of the prior's own."""
    c = constant
    for d in range(theta.size):
        c += 0.5 * precision[d] * (theta[d] - prior_mean[d]) * (theta[d] - prior_mean[d])
    return c


@value.register(Mixture)
def _value(cost: Mixture, theta: Array, z: Array) -> float:
    p, q = along(cost.means, 0, theta), along(cost.means, 1, theta)
    prior = _prior(theta, cost.prior_mean, cost.precision, cost.constant)
    return prior + cost.horizon * surprise(p, q, z[0], cost.half_precision)


@gradient.register(Mixture)
def _gradient(cost: Mixture, theta: Array, z: Array, out: Array) -> None:
    means, y = cost.means, z[0]
    p, q = along(means, 0, theta), along(means, 1, theta)
    d = _leaning(p, q, y, cost.half_precision)
    odds = decay(abs(d))
    share = odds / (1.0 + odds)  # of the less likely component; only a product and a sum wait for it
    to_p, to_q = cost.slope * (p - y), cost.slope * (q - y)
    second = d > 0.0
    there, other = where(second, to_q, to_p), where(second, to_p, to_q)
    for i in range(theta.size):
        pull = there * where(second, means[1, i], means[0, i])
        linear = cost.precision[i] * (theta[i] - cost.prior_mean[i]) + pull
        out[i] = linear + share * (other * where(second, means[0, i], means[1, i]) - pull)


@inlined
def _add_curvature(theta: Array, y: float, cost: Mixture, factor: float, out: Array) -> None:
    """Add ``factor`` times the Hessian of -log p(y | theta) to ``out`` (N, N)."""
    means, inverse = cost.means, 2.0 * cost.half_precision
    p, q = along(means, 0, theta), along(means, 1, theta)
    w, rest = _shares(p, q, y, cost.half_precision)
    a, b = (p - y) * inverse, (q - y) * inverse
    pp = factor * (w * inverse - w * rest * a * a)
    pq = factor * (w * rest * a * b)
    qq = factor * (rest * inverse - w * rest * b * b)
    for d in range(means.shape[1]):
        along_p = pp * means[0, d] + pq * means[1, d]
        along_q = pq * means[0, d] + qq * means[1, d]
        for e in range(means.shape[1]):
            out[d, e] += along_p * means[0, e] + along_q * means[1, e]


@inlined
def _set_prior_curvature(precision: Array, out: Array) -> None:
    for d in range(precision.size):
        for e in range(precision.size):
            out[d, e] = 0.0
        out[d, d] = precision[d]


@hessian.register(Mixture)
def _hessian(cost: Mixture, theta: Array, z: Array, out: Array) -> None:
    _set_prior_curvature(cost.precision, out)
    _add_curvature(theta, z[0], cost, cost.horizon, out)


@expected.register(Mixture)
def _expected(cost: Mixture, theta: Array) -> float:
    p, q = along(cost.means, 0, theta), along(cost.means, 1, theta)
    c = _prior(theta, cost.prior_mean, cost.precision, cost.constant)
    if cost.data.size > 0:  # the nodes are the stored data: all weights are the same
        return c + cost.weights[0] * _surprises(p, q, cost.nodes, cost.half_precision)
    for i in range(cost.nodes.size):
        c += cost.weights[i] * surprise(p, q, cost.nodes[i], cost.half_precision)
    return c


@expected_of_each.register(Mixture)
def _expected_of_each(cost: Mixture, thetas: Array) -> Array:
    p, q = (cost.half_precision * (cost.nodes - (thetas @ mean)[:, np.newaxis]) ** 2 for mean in cost.means)
    surprises = np.minimum(p, q) - np.log1p(np.exp(-np.abs(p - q)))
    found = surprises.sum(axis=1) * cost.weights[0] if cost.data.size > 0 else surprises @ cost.weights
    prior = 0.5 * ((thetas - cost.prior_mean) ** 2 @ cost.precision)
    return np.asarray(cost.constant + prior + found)


@expected_gradient.register(Mixture)
def _expected_gradient(cost: Mixture, theta: Array, out: Array) -> None:
    means, inverse = cost.means, 2.0 * cost.half_precision
    p, q = along(means, 0, theta), along(means, 1, theta)
    pull_p, pull_q = 0.0, 0.0
    for i in range(cost.nodes.size):
        y = cost.nodes[i]
        w, rest = _shares(p, q, y, cost.half_precision)
        pull_p += cost.weights[i] * w * (p - y)
        pull_q += cost.weights[i] * rest * (q - y)
    for d in range(theta.size):
        pull = inverse * (pull_p * means[0, d] + pull_q * means[1, d])
        out[d] = cost.precision[d] * (theta[d] - cost.prior_mean[d]) + pull


@value.register(FullMixture)
def _full_value(cost: FullMixture, theta: Array, z: Array) -> float:
    return expected(cost, theta)


@gradient.register(FullMixture)
def _full_gradient(cost: FullMixture, theta: Array, z: Array, out: Array) -> None:
    expected_gradient(cost, theta, out)


@hessian.register(FullMixture)
def _full_hessian(cost: FullMixture, theta: Array, z: Array, out: Array) -> None:
    _set_prior_curvature(cost.precision, out)
    for i in range(cost.nodes.size):
        _add_curvature(theta, cost.nodes[i], cost, cost.weights[i], out)
