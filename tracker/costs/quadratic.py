"""The quadratic cost C(theta) = (theta - m)'H(theta - m)/2 with additive gradient noise.

Notes
-----
c(theta, z) = C(theta) + z'theta, z ~ N(0, Sigma), so that value and gradient agree:
grad c = H (theta - m) + z. Every moment of the samplers on such costs is known: docs/mathematics, "Exact moments".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from tracker.costs.base import (
    SELDOM,
    CostKeys,
    GradientNoise,
    cost_every,
    expected,
    gradient,
    hessian,
    known_minimisers,
    noise_covariance,
    noise_factor,
    observation_size,
    observe,
    observe_noise,
    value,
)
from tracker.costs.facts import ReducedLaw, additive_noise, constant_curvature, reduced_law
from tracker.keys import Matrix, Vector, symmetric, together

if TYPE_CHECKING:
    from tracker.array_types import Array, Words


FEW_COORDINATES = 2  # coordinates, with which a value takes less than a tenth of a step


class Quadratic(NamedTuple):
    """Parameters: H (N, N), m (N,), F (N, rank) with F F' = Sigma."""

    curvature: Array
    minimum: Array
    noise: Array


@expected.register(Quadratic)
def _expected(cost: Quadratic, theta: Array) -> float:
    H, m = cost.curvature, cost.minimum
    c = 0.0
    for d in range(theta.size):
        slope = 0.0
        for e in range(theta.size):
            slope += H[d, e] * (theta[e] - m[e])
        c += 0.5 * (theta[d] - m[d]) * slope
    return c


@value.register(Quadratic)
def _value(cost: Quadratic, theta: Array, z: Array) -> float:
    c = expected(cost, theta)
    for d in range(theta.size):
        c += z[d] * theta[d]
    return c


@gradient.register(Quadratic)
def _gradient(cost: Quadratic, theta: Array, z: Array, out: Array) -> None:
    H, m = cost.curvature, cost.minimum
    for d in range(theta.size):
        g = z[d]
        for e in range(theta.size):
            g += H[d, e] * (theta[e] - m[e])
        out[d] = g


@hessian.register(Quadratic)
def _hessian(cost: Quadratic, theta: Array, z: Array, out: Array) -> None:
    H = cost.curvature
    for d in range(theta.size):
        for e in range(theta.size):
            out[d, e] = H[d, e]


@observation_size.register(Quadratic)
def _observation_size(cost: Quadratic) -> int:
    return cost.minimum.size


@observe.register(Quadratic)
def _observe(cost: Quadratic, k: int, count: int, stream: Words, out: Array) -> None:
    observe_noise(cost.noise, count, stream, out)


@cost_every.register(Quadratic)
def _cost_every(cost: Quadratic) -> int:
    return 1 if cost.minimum.size <= FEW_COORDINATES else SELDOM


@known_minimisers.register(Quadratic)
def _known_minimisers(cost: Quadratic) -> Array:
    return cost.minimum[np.newaxis].copy()


@constant_curvature.register(Quadratic)
def _constant_curvature(cost: Quadratic) -> Array:
    return np.asarray(cost.curvature)


@additive_noise.register(Quadratic)
def _additive_noise(cost: Quadratic, dimension: int) -> Array:
    return np.asarray(cost.noise)


@reduced_law.register(Quadratic)
def _gaussian(cost: Quadratic, beta: float, depth: float) -> ReducedLaw:
    """exp(-beta C) is N(m, (beta H)^-1): nothing is left to integrate."""
    N = cost.minimum.size
    rest = np.asarray(np.linalg.inv(cost.curvature) / beta, dtype=float)
    return ReducedLaw(cost.minimum, np.ones(N), np.zeros((N, 0)), rest, 0.0)


class QuadraticKeys(CostKeys):
    """A bowl: ``minimum``, ``curvature`` (positive definite), ``gradient_noise`` (covariance, or one variance)."""

    cost: Literal["quadratic"]
    minimum: Vector = Field(description="the minimiser of the cost")
    curvature: Matrix = Field(description="the Hessian of the cost: symmetric and positive definite")
    gradient_noise: GradientNoise = None

    @model_validator(mode="after")
    def _consistent(self) -> QuadraticKeys:
        together(self._check_curvature, lambda: noise_covariance(self.gradient_noise, self.dimension))
        return self

    def _check_curvature(self) -> None:
        H = symmetric(self.curvature, "curvature", definite=True)
        if len(H) != self.dimension:
            raise ValueError(f"curvature: {len(H)} x {len(H)}, but minimum has {self.dimension} coordinates")

    @property
    def dimension(self) -> int:
        """N."""
        return len(self.minimum)

    @property
    def quadratic(self) -> bool:
        """Yes."""
        return True

    def build(self) -> Any:
        """Return the parameters for the kernels."""
        covariance = noise_covariance(self.gradient_noise, self.dimension)
        return Quadratic(
            symmetric(self.curvature, "curvature", definite=True), np.array(self.minimum), noise_factor(covariance)
        )
