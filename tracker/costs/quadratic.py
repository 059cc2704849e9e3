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
    observation_size,
    observe,
    value,
)
from tracker.costs.facts import ReducedLaw, Tilt, constant_curvature, reduced_law, tilt
from tracker.costs.gaussian_noise import noise_factor, noise_in_form, observe_noise
from tracker.costs.matrix_keys import FORMS, SymmetricMatrix, diagonal_if_long, matrix_of, whole_matrix
from tracker.costs.noise_memory import NoiseMemory, remembered_by, remembering
from tracker.costs.one_form import in_form_of
from tracker.keys import Vector, together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.array_types import Array, Words


BY_COLUMNS = 32  # coordinates, from which on a product is taken column by column
FEW_COORDINATES = 2  # coordinates, with which a value takes less than a tenth of a step


@remembering
class Quadratic(NamedTuple):
    """Parameters: H (N, N), m (N,), F (N, rank) with F F' = Sigma, and the correlation of the noise from step to step.

    H and F may be one row: the diagonal of a large matrix.
    """

    curvature: Array
    minimum: Array
    noise: Array
    memory: float = 0.0


@expected.register(Quadratic)
def _expected(cost: Quadratic, theta: Array) -> float:
    H, m = cost.curvature, cost.minimum
    c = 0.0
    if H.shape[0] == 1:
        for d in range(theta.size):
            c += 0.5 * (theta[d] - m[d]) * (H[0, d] * (theta[d] - m[d]))
        return c
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
    if H.shape[0] == 1:
        for d in range(theta.size):
            out[d] = z[d] + H[0, d] * (theta[d] - m[d])
        return
    if (
        theta.size >= BY_COLUMNS
    ):  # the same sums in the same order, several coordinates at a time: H is exactly symmetric
        for d in range(theta.size):
            out[d] = z[d]
        for e in range(theta.size):
            away = theta[e] - m[e]
            for d in range(theta.size):
                out[d] += H[e, d] * away
        return
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
            if H.shape[0] > 1:
                out[d, e] = H[d, e]
            else:
                out[d, e] = H[0, d] if d == e else 0.0


@observation_size.register(Quadratic)
def _observation_size(cost: Quadratic) -> int:
    return cost.minimum.size


@observe.register(Quadratic)
def _observe(cost: Quadratic, k: int, count: int, stream: Words, out: Array) -> None:
    observe_noise(cost.noise, count, stream, out)


@in_form_of.register(Quadratic)
def _in_form_of(cost: Quadratic, costs: Sequence[Quadratic]) -> Any:
    if len({len(one.curvature) for one in costs}) > 1:  # a diagonal beside whole matrices
        cost = cost._replace(curvature=np.ascontiguousarray(whole_matrix(cost.curvature, cost.minimum.size)))
    return noise_in_form(cost, costs)


@cost_every.register(Quadratic)
def _cost_every(cost: Quadratic) -> int:
    return 1 if cost.minimum.size <= FEW_COORDINATES else SELDOM


@known_minimisers.register(Quadratic)
def _known_minimisers(cost: Quadratic) -> Array:
    return cost.minimum[np.newaxis].copy()


@constant_curvature.register(Quadratic)
def _constant_curvature(cost: Quadratic) -> Array:
    return whole_matrix(cost.curvature, cost.minimum.size)


@tilt.register(Quadratic)
def _tilt(cost: Quadratic) -> Tilt:
    """C = theta'H theta / 2 - (H m)'theta, and a constant."""
    H = whole_matrix(cost.curvature, cost.minimum.size)
    return Tilt((H,), -np.asarray(H @ cost.minimum))


@reduced_law.register(Quadratic)
def _gaussian(cost: Quadratic, beta: float, depth: float) -> ReducedLaw:
    """exp(-beta C) is N(m, (beta H)^-1): nothing is left to integrate."""
    N = cost.minimum.size
    rest = np.asarray(np.linalg.inv(whole_matrix(cost.curvature, N)) / beta, dtype=float)
    return ReducedLaw(cost.minimum, np.ones(N), np.zeros((N, 0)), rest, 0.0)


class QuadraticKeys(CostKeys):
    """A bowl: ``minimum``, ``curvature`` (positive definite), ``gradient_noise`` (a covariance)."""

    files = ("curvature", "gradient_noise")

    cost: Literal["quadratic"]
    minimum: Vector = Field(description="the minimiser of the cost")
    curvature: SymmetricMatrix = Field(
        description="the Hessian of the cost, symmetric and positive definite: a matrix, a list (its diagonal), one number "
        '(times I), or { file = "NAME.csv" } with N lines of N numbers'
    )
    gradient_noise: GradientNoise = None
    noise_memory: NoiseMemory = 0.0

    @model_validator(mode="after")
    def _consistent(self) -> QuadraticKeys:
        together(self._check_curvature, lambda: noise_covariance(self.gradient_noise, self.dimension))
        return self

    def _check_curvature(self) -> None:
        if self.curvature is None:
            raise ValueError(f"curvature: {FORMS}")
        matrix_of(self.curvature, "curvature", self.dimension, definite=True)

    @property
    def dimension(self) -> int:
        """N."""
        return len(self.minimum)

    @property
    def remembered(self) -> tuple[str, float, int]:
        """The noise, where it has a memory."""
        return remembered_by(self.noise_memory, self.gradient_noise, self.dimension)

    @property
    def quadratic(self) -> bool:
        """Yes."""
        return True

    def build(self) -> Any:
        """Return the parameters for the kernels."""
        H = matrix_of(self.curvature, "curvature", self.dimension, definite=True)
        F = noise_factor(noise_covariance(self.gradient_noise, self.dimension))
        stored = F if self.noise_memory != 0.0 else diagonal_if_long(F)
        return Quadratic(diagonal_if_long(H), np.array(self.minimum), stored, self.noise_memory)
