"""Preconditioned Langevin: each coordinate has a step of its own, by a running mean of squared gradients.

Notes
-----
With g = grad c(theta_k, z_k), by coordinate, V_0 = 0 (RMSprop preconditioning: Li, Chen, Carlson and Carin, 2016):

    V_{k+1}     = second_decay V_k + (1 - second_decay) g^2
    G           = 1 / (floor + sqrt(V_{k+1}))
    theta_{k+1} = theta_k - epsilon G g + sqrt(2 epsilon G / beta) w_k

The noise is preconditioned like the gradient. The correction term, the divergence of G, is left out, as is usual: where G
depends on theta the law that it settles at is not the Gibbs law, not even for small epsilon.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from tracker.costs.base import gradient
from tracker.keys import Number, Positive
from tracker.samplers.base import SamplerKeys, sampler
from tracker.samplers.state import Recorded, carried, scratch

if TYPE_CHECKING:
    from tracker.array_types import Array, Words

SQUARES = Recorded(
    "mean_square_gradient", "theta", "V", "squared unit of the gradient", "running mean of g^2 by coordinate"
)


class Psgld(NamedTuple):
    """Parameters; ``noise`` is sqrt(2 epsilon / beta)."""

    epsilon: float
    noise: float
    second_decay: float
    floor: float


class State(NamedTuple):
    """The point, the running mean of squared gradients and the gradient."""

    theta: Array = carried("N")
    V: Array = carried("N", recorded=SQUARES)
    g: Array = scratch("N")


@sampler(Psgld, State)
def _step(sampler: Psgld, state: State, cost: Any, k: int, z: Array, w: Array, streams: Words) -> None:
    theta, V, g = state.theta, state.V, state.g
    rho = sampler.second_decay
    gradient(cost, theta, z, g)
    for d in range(theta.size):
        V[d] = rho * V[d] + (1.0 - rho) * g[d] * g[d]
        G = 1.0 / (sampler.floor + np.sqrt(V[d]))
        theta[d] = theta[d] + sampler.noise * np.sqrt(G) * w[d] - sampler.epsilon * G * g[d]


class PsgldKeys(SamplerKeys):
    """Preconditioned Langevin (RMSprop) without the correction term: ``second_decay`` and ``floor``."""

    kind: Literal["psgld"]
    also_called = ("rmsprop", "adagrad", "adam")
    parameters = Psgld
    adapts = "its preconditioner"
    second_decay: Annotated[Number, Field(ge=0, lt=1)] = Field(
        default=0.99, description="how much of the running mean of squared gradients is kept at a step"
    )
    floor: Positive = Field(default=1e-5, description="added to the root of that mean before dividing by it")
