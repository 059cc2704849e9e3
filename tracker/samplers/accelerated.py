"""The accelerated non-reversible algorithm with a fixed skew matrix, equation (5) of the paper.

Notes
-----
theta_{k+1} = theta_k - epsilon (I + S) grad c(theta_k, z_k) + sqrt(2 epsilon / beta) w_k
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from tracker.compiled import copy
from tracker.costs.base import gradient
from tracker.samplers.base import (
    SkewKeys,
    begin,
    langevin_move,
    skew_of,
    start_skew,
    state_size,
    step,
    unpack,
    write_pairs,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Words = NDArray[np.uint64]


class Accelerated(NamedTuple):
    """Parameters."""

    epsilon: float
    noise: float


class State(NamedTuple):
    """theta (N,), S (N, N); g is scratch."""

    theta: Array
    S: Array
    g: Array


@state_size.register(Accelerated)
def _state_size(sampler: Accelerated, dimension: int) -> int:
    return 2 * dimension + dimension * dimension


@unpack.register(Accelerated)
def _unpack(sampler: Accelerated, dimension: int, buffer: Array) -> State:
    N = dimension
    return State(buffer[:N], buffer[2 * N : 2 * N + N * N].reshape((N, N)), buffer[N : 2 * N])


@begin.register(Accelerated)
def _begin(sampler: Accelerated, state: State, start: Array, skew: Array) -> None:
    copy(start, state.theta)
    start_skew(state.S, skew, -np.inf, np.inf)


@step.register(Accelerated)
def _step(sampler: Accelerated, state: State, cost: Any, k: int, z: Array, w: Array, streams: Words) -> None:
    theta, S, g = state.theta, state.S, state.g
    gradient(cost, theta, z, g)
    langevin_move(theta, S, g, w, sampler.epsilon, sampler.noise)


@skew_of.register(Accelerated)
def _skew_of(sampler: Accelerated, state: State, out: Array) -> None:
    write_pairs(state.S, out)


class AcceleratedKeys(SkewKeys):
    """The accelerated non-reversible algorithm: a fixed ``skew`` beside ``epsilon`` and ``beta``."""

    kind: Literal["accelerated"]

    def build(self) -> Accelerated:
        """Return the parameters for the kernels."""
        return Accelerated(self.epsilon, self.noise)
