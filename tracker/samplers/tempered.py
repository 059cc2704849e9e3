"""Generalised Langevin with adapted noise: the injected variance follows the derivative process zeta = d theta / d sigma.

Notes
-----
The idea of Algorithm 1, applied to the size sigma of the injected noise instead of S. With g = grad c(theta_k, z_k),
h = Hess c(theta_k, z_k), q = sqrt(2 epsilon / beta), all right-hand sides at index k:

    theta_{k+1} = theta_k - epsilon g + sigma_k q w_k
    zeta_{k+1}  = zeta_k - epsilon h zeta_k + q w_k,  zeta_0 = 0
    sigma_{k+1} = Proj[ sigma_k - noise_step g'zeta_k ]  onto noise_bounds

sigma = 1 is the classical sampler; sigma stands for the inverse temperature beta / sigma^2. Where sigma stands still,
zeta is exactly the derivative of the path: differentiate the first line in sigma. So g'zeta estimates d c / d sigma, and
sigma descends the cost that the sampler meets.

What that optimises: E C at temperature sigma^2 / beta rises with sigma in every mode (by N sigma / beta in a quadratic
well), so in stationarity sigma goes down to its lower bound, and only switches speak for more noise. zeta knows the well
that theta is in, not the way over a barrier: it cannot see that noise would carry theta to a deeper well. A negative
``noise_step`` is the ascent control. zeta is reset to 0, and the reset counted, beyond max |zeta| > tangent_limit: over a
barrier h is negative, and zeta grows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from tracker.compiled import any_of, where
from tracker.costs.base import gradient, hessian
from tracker.keys import Bounds, Number, Positive
from tracker.samplers.base import Evaluations, SamplerKeys, reset_where, sampler
from tracker.samplers.state import SIGMA, carried, scratch

if TYPE_CHECKING:
    from tracker.array_types import Array, Words


class Tempered(NamedTuple):
    """Parameters; ``noise`` is q."""

    epsilon: float
    noise: float
    noise_step: float
    low: float
    high: float
    noise_start: float
    tangent_limit: float


class State(NamedTuple):
    """The triple (theta, zeta, sigma), how often zeta was reset, gradient and Hessian."""

    theta: Array = carried("N")
    zeta: Array = carried("N")
    sigma: Array = carried(1, start="noise_start", recorded=SIGMA)
    resets: Array = carried(1)
    g: Array = scratch("N")
    h: Array = scratch("N", "N")


@sampler(Tempered, State)
def _step(sampler: Tempered, state: State, cost: Any, k: int, z: Array, w: Array, streams: Words) -> None:
    theta, zeta, sigma, g, h = state.theta, state.zeta, state.sigma, state.g, state.h
    epsilon, q = sampler.epsilon, sampler.noise
    N = theta.size
    gradient(cost, theta, z, g)
    hessian(cost, theta, z, h)
    slope = 0.0
    for d in range(N):
        slope += g[d] * zeta[d]
        theta[d] = theta[d] + sigma[0] * q * w[d] - epsilon * g[d]
    for d in range(N):
        g[d] = 0.0  # from here on h zeta
        for e in range(N):
            g[d] += h[d, e] * zeta[e]
    wild = 0.0  # how many entries of zeta are beyond the limit
    for d in range(N):
        zeta[d] = zeta[d] + q * w[d] - epsilon * g[d]
        wild += where(abs(zeta[d]) <= sampler.tangent_limit, 0.0, 1.0)  # 1 for nan
    sigma[0] = min(max(sigma[0] - sampler.noise_step * slope, sampler.low), sampler.high)
    if any_of(wild > 0.0):
        reset_where(wild > 0.0, zeta, state.resets)


class TemperedKeys(SamplerKeys):
    """Generalised Langevin: the size of the injected noise follows its own derivative process; a Hessian a step.

    ``noise_step``, ``noise_bounds = [lo, hi]`` and ``noise_start`` (1.0) of sigma, the factor of the classical sampler's
    noise; ``tangent_limit``.
    """

    kind: Literal["tempered"]
    parameters = Tempered
    adapts = "its noise"
    noise_step: Number = Field(description="the step size of sigma, the factor of the injected noise")
    noise_bounds: Bounds = Field(description="[lo, hi]: where sigma is kept")
    noise_start: Positive = Field(default=1.0, description="sigma at step 0")
    tangent_limit: Positive = Field(default=1e6, description="beyond max|D| > tangent_limit D is reset to 0")

    @model_validator(mode="after")
    def _consistent(self) -> TemperedKeys:
        low, high = self.noise_bounds
        if low < 0:
            raise ValueError(f"noise_bounds[0]: {low:g} must be at least 0: -sigma makes the same noise as sigma")
        if not low <= self.noise_start <= high:
            raise ValueError(f"noise_start: {self.noise_start:g} is outside noise_bounds = [{low:g}, {high:g}]")
        if np.isinf(self.beta):
            raise ValueError('beta: "inf" leaves no noise to adapt: use kind = "langevin"')
        return self

    @property
    def classical_limit(self) -> bool:
        """Yes: only the noise is another."""
        return True

    @property
    def evaluations(self) -> Evaluations:
        """Evaluations per step."""
        return Evaluations(gradient=1, hessian=1)

    @property
    def low(self) -> float:
        """The lower bound of sigma."""
        return self.noise_bounds[0]

    @property
    def high(self) -> float:
        """The upper bound of sigma."""
        return self.noise_bounds[1]
