"""A control that cannot learn: S is a random walk reflected at its bounds.

Notes
-----
theta_{k+1}  = theta_k - epsilon (I + S_k) grad c(theta_k, z_k) + sqrt(2 epsilon / beta) w_k
S_{k+1}(i,j) = reflect(S_k(i,j) + skew_step n_k(i,j)),  n_k(i,j) ~ N(0, 1),  i > j
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tracker.compiled import any_of, inlined
from tracker.costs.base import gradient
from tracker.samplers.base import PERTURBED, MovingSkewKeys, idle, langevin_move, sampler
from tracker.samplers.state import SKEW, carried, scratch, set_skew
from tracker.streams import draw_normals

if TYPE_CHECKING:
    from tracker.array_types import Array, Words


class Wandering(NamedTuple):
    """Parameters."""

    epsilon: float
    noise: float
    skew_step: float
    low: float
    high: float


class State(NamedTuple):
    """The point, S, the gradient, and the normals that S is moved by."""

    theta: Array = carried("N")
    S: Array = carried("N", "N", start="skew", recorded=SKEW)
    g: Array = scratch("N")
    n: Array = scratch("pairs")


@inlined
def reflect(s: float, low: float, high: float) -> float:
    """Fold s into [low, high] as between two mirrors."""
    width = high - low
    x = s - low
    if any_of((x < 0.0) | (x >= 2.0 * width)):  # elsewhere the remainder is x itself
        x = x % (2.0 * width)
    return low + min(x, 2.0 * width - x)


@sampler(Wandering, State)
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


class WanderingKeys(MovingSkewKeys):
    """S is a reflected random walk and learns nothing, on purpose: compare every adaptive sampler with it."""

    kind: Literal["wandering"]
    parameters = Wandering
