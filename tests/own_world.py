"""A cost and two samplers as a user would write them: for scripts, notebooks, ``--code`` and plugins alike."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracker.costs.base import gradient, hessian, value
from tracker.samplers.base import sampler
from tracker.samplers.linear_step import linear_step
from tracker.samplers.state import Recorded, carried, scratch


class Ripple(NamedTuple):
    """A bowl with ripples: C = sum_d (x_d - centre)^2/2 + height (1 - cos(2 pi (x_d - centre)))."""

    centre: float
    height: float = 0.0


@value.register(Ripple)
def _value(cost, theta, z):
    c = 0.0
    for d in range(theta.size):
        x = theta[d] - cost.centre
        c += 0.5 * x * x + cost.height * (1.0 - np.cos(2 * np.pi * x))
    return c


@gradient.register(Ripple)
def _gradient(cost, theta, z, out):
    for d in range(theta.size):
        x = theta[d] - cost.centre
        out[d] = x + cost.height * 2 * np.pi * np.sin(2 * np.pi * x)


@hessian.register(Ripple)
def _hessian(cost, theta, z, out):
    for d in range(theta.size):
        for e in range(theta.size):
            out[d, e] = 0.0
        out[d, d] = 1.0 + cost.height * 4 * np.pi**2 * np.cos(2 * np.pi * (theta[d] - cost.centre))


class Sghmc(NamedTuple):
    """Stochastic gradient Hamiltonian Monte Carlo: a velocity with friction."""

    epsilon: float
    friction: float
    beta: float = 1.0

    @property
    def effective_step(self):
        return self.epsilon / self.friction

    def linear(self, epsilon, S):
        eye, zero = np.eye(len(S)), np.zeros_like(S)
        kick = np.vstack([epsilon * eye, eye])
        drift = np.block([[zero, (1.0 - self.friction * epsilon) * eye], [zero, -self.friction * eye]])
        return linear_step(gain=kick, heat=2.0 * self.friction / self.beta * kick @ kick.T, drift=drift)


class SghmcState(NamedTuple):
    """The point, its velocity, the gradient."""

    theta: np.ndarray = carried("N")
    v: np.ndarray = carried("N", recorded=Recorded("own_velocity", "theta", "v", "theta per time", "velocity of SGHMC"))
    g: np.ndarray = scratch("N")


@sampler(Sghmc, SghmcState)
def _sghmc(p, state, cost, k, z, w, streams):
    gradient(cost, state.theta, z, state.g)
    noise = np.sqrt(2 * p.friction * p.epsilon / p.beta)
    for d in range(state.theta.size):
        state.v[d] = (1.0 - p.friction * p.epsilon) * state.v[d] - p.epsilon * state.g[d] + noise * w[d]
        state.theta[d] += p.epsilon * state.v[d]


class Tuned(NamedTuple):
    """Langevin with a step that follows the products of successive gradients (sign of progress)."""

    epsilon: float
    rate: float = 0.01
    low: float = 1e-4
    high: float = 0.5
    beta: float = 1.0


class TunedState(NamedTuple):
    """The point, the step it takes now, this gradient and the last."""

    theta: np.ndarray = carried("N")
    now: np.ndarray = carried(
        1, start="epsilon", recorded=Recorded("tuned_step", "", "step", "1", "the step it takes now", told=True)
    )
    last: np.ndarray = carried("N")
    g: np.ndarray = scratch("N")


@sampler(Tuned, TunedState)
def _tuned(p, state, cost, k, z, w, streams):
    gradient(cost, state.theta, z, state.g)
    agree = 0.0
    for d in range(state.theta.size):
        agree += state.g[d] * state.last[d]
        state.theta[d] += np.sqrt(2 * state.now[0] / p.beta) * w[d] - state.now[0] * state.g[d]
        state.last[d] = state.g[d]
    state.now[0] = min(max(state.now[0] * np.exp(p.rate * np.tanh(agree)), p.low), p.high)


costs = {"ripple": Ripple}
samplers = {"sghmc": Sghmc, "tuned": Tuned}
