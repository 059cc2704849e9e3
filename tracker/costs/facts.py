"""The questions that theory and references ask of a cost, in the interpreter only; each has a default answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.compiled import generic_with_default
from tracker.costs.base import known_minimisers, observation_size

if TYPE_CHECKING:
    from tracker.array_types import Array


@generic_with_default
def additive_noise(cost: Any, dimension: int) -> Array | None:
    """Return F (N, rank) where c(theta, z) = C(theta) + z'theta, z ~ N(0, F F'); rank 0 where nothing is observed.

    None elsewhere: then noise is multiplicative, too, and the Hessian may differ from observation to observation.
    """
    return np.zeros((dimension, 0)) if observation_size(cost) == 0 else None


@generic_with_default
def common_fields(cost: Any) -> tuple[str, ...]:
    """Return the fields of the parameters that modes on the same data have in common; all others are a mode's own."""
    return ()


@generic_with_default
def constant_curvature(cost: Any) -> Array | None:
    """Return the Hessian of C, shape (N, N), where it is the same at every theta, else None."""
    return None


@generic_with_default
def log_likelihood(cost: Any, z: Array) -> float | None:
    """Return the logarithm of the density with which this mode hands out z; None where z has no density."""
    return None


@generic_with_default
def label_exchange(cost: Any) -> Array | None:
    """Return a linear map (N, N), its own inverse and of determinant +-1, that keeps the likelihood of all data, or None."""
    return None


class ReducedLaw(NamedTuple):
    """The law of theta = origin + scale * (directions u) + rest, where rest is normal and independent of u.

    origin, scale (N,); directions (N, r), orthonormal: u = directions'((theta - origin) / scale); rest (N, N), a covariance;
    reach: no coordinate of u is larger; None where that is to be looked for
    """

    origin: Array
    scale: Array
    directions: Array
    rest: Array
    reach: float | None


@generic_with_default
def reduced_law(cost: Any, beta: float, depth: float) -> ReducedLaw | None:
    """Return which coordinates u are left to integrate of the law proportional to exp(-beta C), C smooth; None if unknown.

    The density of u is proportional to exp(-beta C) at rest = 0; beyond ``reach`` it is below exp(-depth) times that at 0.
    """
    return None


class QuadraticForm(NamedTuple):
    """grad c(theta, z) = curvature (theta - minimum) + z, z ~ N(0, noise noise'); shapes (N, N), (N,), (N, rank)."""

    curvature: Array
    minimum: Array
    noise: Array

    @property
    def covariance(self) -> Array:
        """Sigma = noise noise', shape (N, N)."""
        return np.asarray(self.noise @ self.noise.T)


def as_quadratic(cost: Any) -> QuadraticForm | None:
    """Return H, m and F of a cost that is quadratic with additive noise: theory knows all its moments. None for others."""
    H, lowest = constant_curvature(cost), known_minimisers(cost)
    F = None if H is None else additive_noise(cost, len(H))
    return None if H is None or F is None or lowest is None else QuadraticForm(H, lowest[0], F)
