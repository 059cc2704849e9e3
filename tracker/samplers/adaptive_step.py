"""Langevin that learns its step: epsilon follows V = d theta / d epsilon, the ancestor of Algorithm 1.

Notes
-----
Benveniste, Metivier and Priouret (1990); Kushner and Yang (1995). With g = grad c(theta_k, z_k), h = Hess c(theta_k, z_k),
all right-hand sides at index k, V_0 = 0:

    theta_{k+1}   = theta_k - epsilon_k g + sqrt(2 epsilon_k / beta) w_k
    V_{k+1}       = (I - epsilon_k h) V_k - g + w_k / sqrt(2 epsilon_k beta)
    epsilon_{k+1} = Proj[ epsilon_k - epsilon_step g'V_k ]  onto epsilon_bounds

The last term of V is the derivative of the injected noise, with the same w_k: without it the step runs away
(docs/mathematics, "Adaptive step"). It vanishes at beta = inf. The step descends E C, which has the same best step as the
mean square error only where the curvature is a multiple of I. V is reset to 0, and the reset counted, beyond
max |V| > tangent_limit. A negative ``epsilon_step`` is the ascent control.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from tracker.compiled import any_of, where
from tracker.costs.base import gradient, hessian
from tracker.keys import Bounds, Number, Positive
from tracker.samplers.base import Evaluations, SamplerKeys, reset_where, sampler
from tracker.samplers.state import Recorded, carried, scratch

if TYPE_CHECKING:
    from tracker.array_types import Array, Words

ADAPTED_EPSILON = Recorded("adapted_epsilon", "", "epsilon", "1", "step that the sampler has learnt", told=True)


class AdaptiveStep(NamedTuple):
    """Parameters; ``epsilon`` is the step at k = 0, ``temperature`` is 1 / beta."""

    epsilon: float
    temperature: float
    epsilon_step: float
    low: float
    high: float
    tangent_limit: float


class State(NamedTuple):
    """The triple (theta, V, epsilon), how often V was reset, gradient and Hessian."""

    theta: Array = carried("N")
    V: Array = carried("N")
    epsilon: Array = carried(1, start="epsilon", recorded=ADAPTED_EPSILON)
    resets: Array = carried(1)
    g: Array = scratch("N")
    h: Array = scratch("N", "N")


@sampler(AdaptiveStep, State)
def _step(sampler: AdaptiveStep, state: State, cost: Any, k: int, z: Array, w: Array, streams: Words) -> None:
    theta, V, g, h = state.theta, state.V, state.g, state.h
    N, epsilon, temperature = theta.size, state.epsilon[0], sampler.temperature
    gradient(cost, theta, z, g)
    hessian(cost, theta, z, h)
    noise, its_derivative = np.sqrt(2.0 * epsilon * temperature), np.sqrt(temperature / (2.0 * epsilon))
    slope = 0.0
    for d in range(N):
        slope += g[d] * V[d]
        theta[d] = theta[d] + noise * w[d] - epsilon * g[d]
    for d in range(N):
        for e in range(N):
            g[d] += epsilon * h[d, e] * V[e]  # from here on g + epsilon h V
    wild = 0.0  # how many entries of V are beyond the limit
    for d in range(N):
        V[d] = V[d] + its_derivative * w[d] - g[d]
        wild += where(abs(V[d]) <= sampler.tangent_limit, 0.0, 1.0)  # 1 for nan
    state.epsilon[0] = min(max(epsilon - sampler.epsilon_step * slope, sampler.low), sampler.high)
    if any_of(wild > 0.0):
        reset_where(wild > 0.0, V, state.resets)


class AdaptiveStepKeys(SamplerKeys):
    """Langevin that learns its step: epsilon, from ``epsilon`` on, follows its own derivative process; a Hessian a step.

    ``epsilon_step`` is the step of epsilon, ``epsilon_bounds = [lo, hi]`` where it is kept; ``tangent_limit``.
    """

    kind: Literal["adaptive-step"]
    also_called = ("bmp", "benveniste", "kushner-yang")
    parameters = AdaptiveStep
    adapts = "its step"
    samples_gibbs = True
    epsilon_step: Number = Field(description="the step size of epsilon")
    epsilon_bounds: Bounds = Field(description="[lo, hi]: where epsilon is kept")
    tangent_limit: Positive = Field(default=1e6, description="beyond max|V| > tangent_limit V is reset to 0")

    @model_validator(mode="after")
    def _consistent(self) -> AdaptiveStepKeys:
        low, high = self.epsilon_bounds
        if low <= 0:
            raise ValueError(f"epsilon_bounds[0]: {low:g} must be above 0")
        if not low <= self.epsilon <= high:
            raise ValueError(
                f"epsilon: {self.epsilon:g}, where it starts, is outside epsilon_bounds = [{low:g}, {high:g}]"
            )
        return self

    @property
    def evaluations(self) -> Evaluations:
        """Evaluations per step."""
        return Evaluations(gradient=1, hessian=1)

    @property
    def temperature(self) -> float:
        """1 / beta, 0 where beta is "inf"."""
        return 1.0 / self.beta

    @property
    def low(self) -> float:
        """The lower bound of epsilon."""
        return self.epsilon_bounds[0]

    @property
    def high(self) -> float:
        """The upper bound of epsilon."""
        return self.epsilon_bounds[1]
