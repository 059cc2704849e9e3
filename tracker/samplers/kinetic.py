"""Underdamped (kinetic) Langevin: a velocity with friction; with beta = inf the heavy ball of Polyak (1964).

Notes
-----
With g = grad c(theta_k, z_k) and v_0 = 0 (stochastic gradient Hamiltonian Monte Carlo: Chen, Fox and Guestrin, 2014):

    v_{k+1}     = (1 - friction epsilon) v_k - epsilon g + sqrt(2 friction epsilon / beta) w_k
    theta_{k+1} = theta_k + epsilon v_{k+1}

For slow motion it behaves like the classical sampler with the effective step epsilon / friction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from tracker.costs.base import gradient
from tracker.keys import Positive
from tracker.samplers.base import SamplerKeys, sampler
from tracker.samplers.linear_step import linear_step
from tracker.samplers.state import Recorded, carried, scratch

if TYPE_CHECKING:
    from tracker.array_types import Array, Words
    from tracker.samplers.linear_step import LinearStep

VELOCITY = Recorded("velocity", "theta", "v", "unit of theta per unit of time", "velocity of the kinetic sampler")


class Kinetic(NamedTuple):
    """Parameters; ``noise`` is sqrt(2 friction epsilon / beta)."""

    epsilon: float
    friction: float
    noise: float


class State(NamedTuple):
    """The point, its velocity and the gradient."""

    theta: Array = carried("N")
    v: Array = carried("N", recorded=VELOCITY)
    g: Array = scratch("N")


@sampler(Kinetic, State)
def _step(sampler: Kinetic, state: State, cost: Any, k: int, z: Array, w: Array, streams: Words) -> None:
    theta, v, g = state.theta, state.v, state.g
    epsilon = sampler.epsilon
    gradient(cost, theta, z, g)
    for d in range(theta.size):
        v[d] = (1.0 - sampler.friction * epsilon) * v[d] - epsilon * g[d] + sampler.noise * w[d]
        theta[d] += epsilon * v[d]


class KineticKeys(SamplerKeys):
    """Underdamped Langevin with ``friction``; the effective step is epsilon / friction, and beta = "inf" is the heavy ball."""

    kind: Literal["kinetic"]
    also_called = ("sghmc", "hmc", "momentum", "heavy-ball", "underdamped")
    parameters = Kinetic
    samples_gibbs = True
    friction: Positive = Field(description="how fast the velocity is lost; the effective step is epsilon / friction")

    @model_validator(mode="after")
    def _velocity_is_lost(self) -> KineticKeys:
        if self.friction * self.epsilon >= 2.0:
            raise ValueError(
                f"friction: {self.friction:g} times epsilon = {self.epsilon:g} must be below 2, or the velocity grows by itself"
            )
        return self

    @property
    def noise(self) -> float:
        """The standard deviation sqrt(2 friction epsilon / beta) of the injected noise of the velocity."""
        return float(np.sqrt(2.0 * self.friction * self.epsilon / self.beta))

    @property
    def effective_step(self) -> float:
        """The step of the classical sampler that moves as fast."""
        return self.epsilon / self.friction

    def linear(self, epsilon: float, S: Array) -> LinearStep:
        """The state is (theta, v); a push on the velocity moves theta by epsilon times as much in the same step."""
        eye, none = np.eye(len(S)), np.zeros(S.shape)
        push = np.vstack([epsilon * eye, eye])
        return linear_step(
            gain=push,
            heat=2.0 * self.friction / self.beta * push @ push.T,
            drift=np.block([[none, (1.0 - self.friction * epsilon) * eye], [none, -self.friction * eye]]),
        )
