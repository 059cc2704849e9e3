"""A cost as its author would write it: the whole of it in one file, outside the package.

C(theta) = depth |theta - centre|^2 / 2, with additive gradient noise of one variance in all coordinates.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from tracker.costs.base import (
    CostKeys,
    cost_every,
    gradient,
    hessian,
    known_minimisers,
    observation_size,
    observe,
    value,
)
from tracker.costs.facts import additive_noise, constant_curvature
from tracker.costs.gaussian_noise import observe_noise
from tracker.keys import Positive, Vector


class Bowl(NamedTuple):
    """centre (N,), depth, and the factor F (N, N) of the noise."""

    centre: Any
    depth: float
    noise: Any


@value.register(Bowl)
def _value(cost: Bowl, theta: Any, z: Any) -> float:
    c = 0.0
    for d in range(theta.size):
        c += 0.5 * cost.depth * (theta[d] - cost.centre[d]) ** 2 + z[d] * theta[d]
    return c


@gradient.register(Bowl)
def _gradient(cost: Bowl, theta: Any, z: Any, out: Any) -> None:
    for d in range(theta.size):
        out[d] = z[d] + cost.depth * (theta[d] - cost.centre[d])


@hessian.register(Bowl)
def _hessian(cost: Bowl, theta: Any, z: Any, out: Any) -> None:
    for d in range(theta.size):
        for e in range(theta.size):
            out[d, e] = cost.depth if d == e else 0.0


@observation_size.register(Bowl)
def _observation_size(cost: Bowl) -> int:
    return cost.centre.size


@observe.register(Bowl)
def _observe(cost: Bowl, k: int, count: int, stream: Any, out: Any) -> None:
    observe_noise(cost.noise, count, stream, out)


@cost_every.register(Bowl)
def _cost_every(cost: Bowl) -> int:
    return 1


@known_minimisers.register(Bowl)
def _known_minimisers(cost: Bowl) -> Any:
    return cost.centre[np.newaxis].copy()


@additive_noise.register(Bowl)
def _additive_noise(cost: Bowl, dimension: int) -> Any:
    return cost.noise


@constant_curvature.register(Bowl)
def _constant_curvature(cost: Bowl) -> Any:
    return cost.depth * np.eye(cost.centre.size)


class BowlKeys(CostKeys):
    """A round bowl: ``centre``, ``depth`` and ``noise``."""

    cost: Literal["bowl"]
    centre: Vector = Field(description="where the bowl is lowest")
    depth: Positive = Field(description="how steep the bowl is in every direction")
    noise: Positive = Field(default=1.0, description="the variance of each coordinate of the gradient")

    @property
    def dimension(self) -> int:
        """N."""
        return len(self.centre)

    @property
    def quadratic(self) -> bool:
        """Yes."""
        return True

    def build(self) -> Bowl:
        """Return the parameters for the kernels."""
        return Bowl(np.array(self.centre), self.depth, np.sqrt(self.noise) * np.eye(len(self.centre)))
