"""Classical stochastic gradient Langevin: equation (1) of the paper.

theta_{k+1} = theta_k - epsilon grad c(theta_k, z_k) + sqrt(2 epsilon / beta) w_k
"""

from typing import Any, Literal, NamedTuple

from tracker.array_types import Array, Words
from tracker.costs.base import gradient
from tracker.samplers.base import SamplerKeys, sampler
from tracker.samplers.state import carried, scratch


class Langevin(NamedTuple):
    """Parameters."""

    epsilon: float
    noise: float


class State(NamedTuple):
    """The point and its gradient."""

    theta: Array = carried("N")
    g: Array = scratch("N")


@sampler(Langevin, State)
def _step(sampler: Langevin, state: State, cost: Any, k: int, z: Array, w: Array, streams: Words) -> None:
    theta, g = state.theta, state.g
    gradient(cost, theta, z, g)
    for d in range(theta.size):
        theta[d] = theta[d] + sampler.noise * w[d] - sampler.epsilon * g[d]


class LangevinKeys(SamplerKeys):
    """Classical stochastic gradient Langevin: only ``epsilon`` and ``beta``."""

    kind: Literal["langevin"]
    also_called = ("sgld", "sgd", "ula", "lmc")
    parameters = Langevin
    euler = True
    samples_gibbs = True
