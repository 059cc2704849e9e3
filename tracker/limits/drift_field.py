"""The switched diffusion of one sampler as plain arrays, for costs of any kind.

Notes
-----
d theta = -(I + S) grad C_x dt + sqrt(2 / beta) dW, where x jumps with generator r Q, r = alpha / epsilon.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.chain import transition_matrix
from tracker.compiled import kernel
from tracker.costs.base import expected, expected_gradient, hessian, observation_size
from tracker.costs.facts import additive_noise
from tracker.limits.scope import read_scenario

if TYPE_CHECKING:
    from tracker.array_types import Array
    from tracker.scenario import Scenario


NUMBERS = 300  # that a cost is made of: a look at it takes as long again


def numbers_of(cost: Any) -> int:
    """How many numbers a cost is made of, its data among them; its gradient looks at each of them."""
    return sum(map(numbers_of, cost)) if isinstance(cost, tuple) else int(np.size(cost))


@kernel
def cost_values(cost: Any, points: Array, out: Array) -> None:
    """Write C at the rows of ``points`` (n, N) to ``out`` (n,)."""
    for k in range(points.shape[0]):
        out[k] = expected(cost, points[k])


@kernel
def cost_gradients(cost: Any, points: Array, out: Array) -> None:
    """Write grad C at the rows of ``points`` (n, N) to ``out`` (n, N)."""
    for k in range(points.shape[0]):
        expected_gradient(cost, points[k], out[k])


@kernel
def cost_hessians(cost: Any, points: Array, out: Array) -> None:
    """Write Hess c(., 0) at the rows of ``points`` (n, N) to ``out`` (n, N, N)."""
    z = np.zeros(max(1, observation_size(cost)))
    for k in range(points.shape[0]):
        hessian(cost, points[k], z, out[k])


@dataclass(frozen=True, eq=False)
class Field:
    """What moves theta, mode by mode.

    costs : parameters, one for each of the X modes
    names : of the modes of the file
    stages : of a stay, each with a cost of its own among ``costs``: X counts them
    M : ndarray, shape (N, N), I + S
    Q : ndarray, shape (X, X)
    alpha, epsilon : steps of the chain and of the sampler
    initial : ndarray, shape (X,), law of x_0
    mean, covariance : ndarrays, shape (N,) and (N, N), of theta_0; a point start has covariance 0
    """

    costs: tuple[Any, ...]
    names: tuple[str, ...]
    stages: int
    M: Array
    Q: Array
    alpha: float
    epsilon: float
    beta: float
    initial: Array
    mean: Array
    covariance: Array

    @property
    def generator(self) -> Array:
        """G = r Q."""
        return self.alpha / self.epsilon * self.Q

    @property
    def transitions(self) -> Array:
        """P = I + alpha Q."""
        return transition_matrix(self.Q, self.alpha)

    def values(self, mode: int, points: Array) -> Array:
        """C_i at points (..., N), shape (...)."""
        flat = np.ascontiguousarray(points.reshape(-1, points.shape[-1]), dtype=np.float64)
        out = np.empty(len(flat))
        cost_values(self.costs[mode], flat, out)
        return out.reshape(points.shape[:-1])

    def gradients(self, mode: int, points: Array) -> Array:
        """Grad C_i at points (..., N), same shape."""
        flat = np.ascontiguousarray(points.reshape(-1, points.shape[-1]), dtype=np.float64)
        out = np.empty_like(flat)
        cost_gradients(self.costs[mode], flat, out)
        return out.reshape(points.shape)

    def gradient_covariance(self, mode: int) -> Array | None:
        """Sigma_i, shape (N, N), of the gradient noise; None where it is not Gaussian and the same at every theta."""
        F = additive_noise(self.costs[mode], len(self.M))
        return None if F is None else np.asarray(F @ F.T)


def read_field(scenario: Scenario, sampler: str, *, at_given_skew: bool = False) -> Field:
    """Return the field of a sampler; without a chain the first mode lasts. See ``read_scenario`` for what is refused."""
    subject = read_scenario(scenario, sampler, at_given_skew=at_given_skew)
    return Field(
        costs=tuple(mode.build() for mode in subject.scenario.modes),
        names=tuple(mode.name for mode in scenario.modes),
        stages=subject.stages,
        M=np.eye(scenario.dimension) + subject.S,
        Q=subject.Q,
        alpha=1.0 if scenario.chain is None else float(subject.alpha),
        epsilon=float(subject.keys.epsilon),
        beta=float(subject.keys.beta),
        initial=subject.initial,
        mean=subject.mean,
        covariance=subject.covariance,
    )
