"""The questions that theory and references ask of a cost, in the interpreter unless they say otherwise; each has a default answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.compiled import generic_with_default
from tracker.costs.base import expected, known_minimisers, observation_size
from tracker.costs.gaussian_noise import noise_factor

if TYPE_CHECKING:
    from tracker.array_types import Array


@generic_with_default
def additive_noise(cost: Any, dimension: int) -> Array | None:
    """Return F (N, rank) where c(theta, z) = C(theta) + z'theta, z ~ N(0, F F') afresh; rank 0 where nothing is observed.

    None elsewhere: then noise is multiplicative, too, and the Hessian may differ from observation to observation, or the noise
    has a memory.
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


class Tilt(NamedTuple):
    """C(theta) = C_0(theta) + slope'theta, where C_0 is made of the arrays ``shape``, as the family writes them down."""

    shape: tuple[Array, ...]
    slope: Array


@generic_with_default
def tilt(cost: Any) -> Tilt | None:
    """Return the cost without its slope, and its slope (N,): costs of one shape have gradients that differ by a constant.

    None where the family does not say.
    """
    return None


EQUAL_SHAPES = 1e-13  # of the largest number of two shapes: a difference that rounding may have made


def same_shape(one: Tilt, other: Tilt) -> bool:
    """Tell whether two costs of a family differ by their slopes only."""
    if [part.shape for part in one.shape] != [part.shape for part in other.shape]:
        return False
    return all(
        bool(np.abs(a - b).max(initial=0.0) <= EQUAL_SHAPES * np.abs(a).max(initial=0.0))
        for a, b in zip(one.shape, other.shape, strict=True)
    )


@generic_with_default
def log_likelihood(cost: Any, z: Array) -> float:
    """Return the logarithm of the density with which this mode hands out z; nan where it is not known (compiled, too)."""
    return np.nan


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


class RegressorNoise(NamedTuple):
    """Gradient noise of covariance R E R + R tr(R E) + v R, E = (theta - centre)(theta - centre)'.

    That of a residual times a Gaussian regressor of covariance R (N, N): it grows with the distance to ``centre`` (N,).
    """

    covariance: Array
    centre: Array
    variance: float


@generic_with_default
def regressor_noise(cost: Any) -> RegressorNoise | None:
    """Return the law of gradient noise that is multiplicative because regressors are random and Gaussian, else None."""
    return None


class RememberedNoise(NamedTuple):
    """Additive gradient noise z = factor u, u a standard AR(1): u_{k+1} = memory u_k + sqrt(1 - memory^2) n; factor (N, rank)."""

    factor: Array
    memory: float


@generic_with_default
def remembered_noise(cost: Any) -> RememberedNoise | None:
    """Return the law of additive gradient noise with a memory, else None."""
    return None


class QuadraticForm(NamedTuple):
    """E grad c(theta, z) = curvature (theta - minimum), with noise of covariance noise noise' and that of ``regressors``.

    curvature (N, N), minimum (N,), noise (N, rank); lowest: the cost at the minimum. ``regressors`` is None where the noise is
    additive; where not, noise noise' is its v R. ``memory``: the noise is noise u, u a standard AR(1) with it.
    """

    curvature: Array
    minimum: Array
    noise: Array
    regressors: RegressorNoise | None
    lowest: float
    memory: float

    @property
    def covariance(self) -> Array:
        """Sigma = noise noise', shape (N, N): all of the gradient noise where it is additive."""
        return np.asarray(self.noise @ self.noise.T)


def as_quadratic(cost: Any) -> QuadraticForm | None:
    """Return a cost that is quadratic with noise of known moments: theory knows all moments of samplers. None for others."""
    H, lowest = constant_curvature(cost), known_minimisers(cost)
    if H is None or lowest is None:
        return None
    F, regressors = additive_noise(cost, len(H)), regressor_noise(cost)
    if F is None and regressors is not None:
        F = noise_factor(regressors.variance * regressors.covariance)
    kept = remembered_noise(cost)
    if F is None and kept is not None:
        F = kept.factor
    memory = 0.0 if kept is None else kept.memory
    return None if F is None else QuadraticForm(H, lowest[0], F, regressors, float(expected(cost, lowest[0])), memory)
