"""The polynomial cost C(theta) = p(u), u = basis theta, with additive gradient noise.

Notes
-----
c(theta, z) = C(theta) + z'theta, z ~ N(0, Sigma) in the coordinates of theta, so that value and gradient agree:
grad c = basis' (grad p)(u) + z, Hess c = basis' (Hess p)(u) basis. The derivative polynomials are taken beforehand.
A term c u_0^3 u_2 is stored as the coefficient c and the list of factors 0, 0, 0, 2: multiplying factor by factor needs
no table of powers, hence no memory, and rounds alike compiled and interpreted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker.compiled import inlined
from tracker.costs.base import (
    expected,
    expected_gradient,
    gradient,
    hessian,
    observation_size,
    observe,
    search_region,
    value,
)
from tracker.costs.facts import ReducedLaw, Tilt, common_fields, reduced_law, tilt
from tracker.costs.gaussian_noise import observe_noise
from tracker.costs.noise_memory import remembering

if TYPE_CHECKING:
    from tracker.array_types import Array, Integers, Words


class Terms(NamedTuple):
    """R polynomials in sparse form: polynomial r is the sum of the terms rows[r], ..., rows[r + 1] - 1.

    Term t is coefficients[t] times the product of u[factors[i]], i = starts[t], ..., starts[t + 1] - 1.
    """

    rows: Integers
    coefficients: Array
    starts: Integers
    factors: Integers


@remembering
class PolynomialCost(NamedTuple):
    """The polynomials p, its N first and its N(N+1)/2 second derivatives (row-wise, e <= d), in this order.

    noise: F (N, rank); basis (N, N), here the identity; scale (N,): how far from 0 minimisers may be; memory: of the noise.
    """

    terms: Terms
    noise: Array
    basis: Array
    scale: Array
    memory: float = 0.0


class PolynomialInBasis(PolynomialCost):
    """The same parameters; the formula is in u = basis theta, not in theta itself."""

    __slots__ = ()


@inlined
def _row(terms: Terms, r: int, u: Array) -> float:
    """Return polynomial r at u."""
    total = 0.0
    for t in range(terms.rows[r], terms.rows[r + 1]):
        product = terms.coefficients[t]
        for i in range(terms.starts[t], terms.starts[t + 1]):
            product *= u[terms.factors[i]]
        total += product
    return total


@inlined
def _entry(basis: Array, i: int, theta: Array) -> float:
    """Return u_i = basis[i]'theta."""
    u = 0.0
    for d in range(theta.size):
        u += basis[i, d] * theta[d]
    return u


@inlined
def _row_in_basis(terms: Terms, r: int, basis: Array, theta: Array) -> float:
    """Return polynomial r at u = basis theta; u_i is formed where it is met, so that there is no array to allocate."""
    total = 0.0
    for t in range(terms.rows[r], terms.rows[r + 1]):
        product = terms.coefficients[t]
        for i in range(terms.starts[t], terms.starts[t + 1]):
            product *= _entry(basis, terms.factors[i], theta)
        total += product
    return total


@inlined
def _noise_value(theta: Array, z: Array) -> float:
    """Return z'theta."""
    total = 0.0
    for d in range(theta.size):
        total += z[d] * theta[d]
    return total


@inlined
def _add_outer(c: float, a: Array, b: Array, out: Array) -> None:
    """Add c (a b' + b a') to ``out``."""
    for d in range(a.size):
        for e in range(a.size):
            out[d, e] += c * (a[d] * b[e] + b[d] * a[e])


@value.register(PolynomialCost)
def _value(cost: PolynomialCost, theta: Array, z: Array) -> float:
    return _row(cost.terms, 0, theta) + _noise_value(theta, z)


@gradient.register(PolynomialCost)
def _gradient(cost: PolynomialCost, theta: Array, z: Array, out: Array) -> None:
    for d in range(theta.size):
        out[d] = _row(cost.terms, 1 + d, theta) + z[d]


@hessian.register(PolynomialCost)
def _hessian(cost: PolynomialCost, theta: Array, z: Array, out: Array) -> None:
    r = 1 + theta.size
    for d in range(theta.size):
        for e in range(d + 1):
            out[d, e] = _row(cost.terms, r, theta)
            out[e, d] = out[d, e]
            r += 1


@value.register(PolynomialInBasis)
def _value_in_basis(cost: PolynomialInBasis, theta: Array, z: Array) -> float:
    return _row_in_basis(cost.terms, 0, cost.basis, theta) + _noise_value(theta, z)


@gradient.register(PolynomialInBasis)
def _gradient_in_basis(cost: PolynomialInBasis, theta: Array, z: Array, out: Array) -> None:
    for d in range(theta.size):
        out[d] = z[d]
    for i in range(theta.size):
        slope = _row_in_basis(cost.terms, 1 + i, cost.basis, theta)
        for d in range(theta.size):
            out[d] += cost.basis[i, d] * slope


@hessian.register(PolynomialInBasis)
def _hessian_in_basis(cost: PolynomialInBasis, theta: Array, z: Array, out: Array) -> None:
    for d in range(theta.size):
        for e in range(theta.size):
            out[d, e] = 0.0
    r = 1 + theta.size
    for i in range(theta.size):
        for j in range(i + 1):
            if cost.terms.rows[r + 1] > cost.terms.rows[r]:
                curvature = _row_in_basis(cost.terms, r, cost.basis, theta)
                _add_outer(curvature if i != j else 0.5 * curvature, cost.basis[i], cost.basis[j], out)
            r += 1


@expected.register(PolynomialCost)
def _expected(cost: PolynomialCost, theta: Array) -> float:
    return _row(cost.terms, 0, theta)


@expected_gradient.register(PolynomialCost)
def _expected_gradient(cost: PolynomialCost, theta: Array, out: Array) -> None:
    for d in range(theta.size):
        out[d] = _row(cost.terms, 1 + d, theta)


@expected.register(PolynomialInBasis)
def _expected_in_basis(cost: PolynomialInBasis, theta: Array) -> float:
    return _row_in_basis(cost.terms, 0, cost.basis, theta)


@expected_gradient.register(PolynomialInBasis)
def _expected_gradient_in_basis(cost: PolynomialInBasis, theta: Array, out: Array) -> None:
    for d in range(theta.size):
        out[d] = 0.0
    for i in range(theta.size):
        slope = _row_in_basis(cost.terms, 1 + i, cost.basis, theta)
        for d in range(theta.size):
            out[d] += cost.basis[i, d] * slope


@observation_size.register(PolynomialCost)
def _observation_size(cost: PolynomialCost) -> int:
    return cost.scale.size


@observe.register(PolynomialCost)
def _observe(cost: PolynomialCost, k: int, count: int, stream: Words, out: Array) -> None:
    observe_noise(cost.noise, count, stream, out)


@search_region.register(PolynomialCost)
def _search_region(cost: PolynomialCost, start: Array) -> tuple[Array, Array]:
    return np.zeros(cost.scale.size), cost.scale.copy()


@common_fields.register(PolynomialCost)
def _common_fields(cost: PolynomialCost) -> tuple[str, ...]:
    return ("basis",)


@common_fields.register(PolynomialInBasis)
def _a_basis_of_its_own(cost: PolynomialInBasis) -> tuple[str, ...]:
    return ()


@tilt.register(PolynomialCost)
def _tilt(cost: PolynomialCost) -> Tilt:
    """The terms of degree 1 are the slope; those of a higher degree, with the basis, are the shape."""
    terms, slope = cost.terms, np.zeros(cost.scale.size)
    degrees = np.diff(terms.starts)[: terms.rows[1]]
    for t in np.flatnonzero(degrees == 1):
        slope[terms.factors[terms.starts[t]]] += terms.coefficients[t]
    curved = np.flatnonzero(degrees > 1)
    factors = [terms.factors[terms.starts[t] : terms.starts[t + 1]] for t in curved]
    shape = (terms.coefficients[curved], degrees[curved], np.concatenate([[], *factors]), cost.basis)
    return Tilt(tuple(np.asarray(part, dtype=np.float64) for part in shape), np.asarray(cost.basis.T @ slope))


@reduced_law.register(PolynomialCost)
def _all_of_theta(cost: PolynomialCost, beta: float, depth: float) -> ReducedLaw:
    N = cost.scale.size
    return ReducedLaw(np.zeros(N), np.ones(N), np.eye(N), np.zeros((N, N)), None)
