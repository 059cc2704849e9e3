"""A control that cannot learn: S is a random walk reflected at its bounds.

Notes
-----
theta_{k+1}  = theta_k - epsilon (I + S_k) grad c(theta_k, z_k) + sqrt(2 epsilon / beta) w_k
S_{k+1}(i,j) = reflect(S_k(i,j) + skew_step n_k(i,j)),  n_k(i,j) ~ N(0, 1),  i > j
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from tracker.compiled import copy, inlined
from tracker.costs.base import gradient
from tracker.samplers.base import (
    PERTURBED,
    MovingSkewKeys,
    begin,
    idle,
    langevin_move,
    moving_skew,
    set_skew,
    skew_of,
    start_skew,
    state_size,
    step,
    unpack,
    write_pairs,
)
from tracker.streams import draw_normals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Words = NDArray[np.uint64]


class Wandering(NamedTuple):
    """Parameters."""

    epsilon: float
    noise: float
    skew_step: float
    low: float
    high: float


class State(NamedTuple):
    """theta (N,), S (N, N); g and n are scratch."""

    theta: Array
    S: Array
    g: Array
    n: Array


@state_size.register(Wandering)
def _state_size(sampler: Wandering, dimension: int) -> int:
    return 2 * dimension + dimension * dimension + dimension * (dimension - 1) // 2


@unpack.register(Wandering)
def _unpack(sampler: Wandering, dimension: int, buffer: Array) -> State:
    N = dimension
    s = 2 * N
    end = s + N * N
    return State(buffer[:N], buffer[s:end].reshape((N, N)), buffer[N:s], buffer[end : end + N * (N - 1) // 2])


@begin.register(Wandering)
def _begin(sampler: Wandering, state: State, start: Array, skew: Array) -> None:
    copy(start, state.theta)
    start_skew(state.S, skew, sampler.low, sampler.high)


@inlined
def reflect(s: float, low: float, high: float) -> float:
    """Fold s into [low, high] as between two mirrors."""
    width = high - low
    x = (s - low) % (2.0 * width)
    return low + min(x, 2.0 * width - x)


@step.register(Wandering)
def _step(sampler: Wandering, state: State, cost: Any, k: int, z: Array, w: Array, streams: Words) -> None:
    theta, S, g, n = state.theta, state.S, state.g, state.n
    gradient(cost, theta, z, g)
    langevin_move(theta, S, g, w, sampler.epsilon, sampler.noise)
    draw_normals(streams[PERTURBED], n)
    p = 0
    for i in range(theta.size):
        for j in range(i):
            s = reflect(S[i, j] + sampler.skew_step * n[p], sampler.low, sampler.high)
            set_skew(S, i, j, s, sampler.low, sampler.high)
            p += 1


@idle.register(Wandering)
def _idle(sampler: Wandering, state: State, cost: Any, k: int, streams: Words) -> None:
    draw_normals(streams[PERTURBED], state.n)


@skew_of.register(Wandering)
def _skew_of(sampler: Wandering, state: State, out: Array) -> None:
    write_pairs(state.S, out)


class WanderingKeys(MovingSkewKeys):
    """S is a reflected random walk and learns nothing, on purpose: compare every adaptive sampler with it."""

    kind: Literal["wandering"]

    def build(self) -> Wandering:
        """Return the parameters for the kernels."""
        return Wandering(**moving_skew(self))
