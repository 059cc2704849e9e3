"""Classical stochastic gradient Langevin, equation (1) of the paper.

Notes
-----
theta_{k+1} = theta_k - epsilon grad c(theta_k, z_k) + sqrt(2 epsilon / beta) w_k
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tracker.compiled import copy
from tracker.costs.base import gradient
from tracker.samplers.base import SamplerKeys, begin, state_size, step, unpack

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Words = NDArray[np.uint64]


class Langevin(NamedTuple):
    """Parameters."""

    epsilon: float
    noise: float


class State(NamedTuple):
    """theta (N,); g is scratch."""

    theta: Array
    g: Array


@state_size.register(Langevin)
def _state_size(sampler: Langevin, dimension: int) -> int:
    return 2 * dimension


@unpack.register(Langevin)
def _unpack(sampler: Langevin, dimension: int, buffer: Array) -> State:
    return State(buffer[:dimension], buffer[dimension : 2 * dimension])


@begin.register(Langevin)
def _begin(sampler: Langevin, state: State, start: Array, skew: Array) -> None:
    copy(start, state.theta)


@step.register(Langevin)
def _step(sampler: Langevin, state: State, cost: Any, k: int, z: Array, w: Array, streams: Words) -> None:
    theta, g = state.theta, state.g
    gradient(cost, theta, z, g)
    for d in range(theta.size):
        theta[d] = theta[d] + sampler.noise * w[d] - sampler.epsilon * g[d]


class LangevinKeys(SamplerKeys):
    """Classical stochastic gradient Langevin: only ``epsilon`` and ``beta``."""

    kind: Literal["langevin"]

    def build(self) -> Langevin:
        """Return the parameters for the kernels."""
        return Langevin(self.epsilon, self.noise)
