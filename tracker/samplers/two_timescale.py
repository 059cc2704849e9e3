"""Algorithm 3: two-time-scale SPSA. A short look ahead at every step estimates the gradient in S.

Notes
-----
Slow scale:  theta_{k+1} = theta_k - epsilon (I + S_k) grad c(theta_k, z_k) + sqrt(2 epsilon / beta) w_k
             S_{k+1}(i,j) = Proj[ S_k(i,j) - skew_step D(i,j) ],  i > j
Fast scale, from theta+_0 = theta-_0 = theta_k, in mode x_k, one Delta_k for all n = 0, ..., inner_steps - 1, its own noise:
             theta+-_{n+1} = theta+-_n - epsilon (I + S_k +- mu Delta_k) grad c(theta+-_n, z_n) + sqrt(2 epsilon / beta) w_n
             D(i,j) = sum_n (c(theta+_{n+1}, z') - c(theta-_{n+1}, z')) / (2 mu Delta_k(i,j))

with z' = z_{n+1} (``cost_observation = "next"``) or z_n (``"same"``). Stored data that are swept in order give the inner loop
the observations that follow step k; otherwise they are fresh draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import Field

from tracker.compiled import copy, helper, room_for
from tracker.costs.base import gradient, observation_size, observe, value
from tracker.keys import CostObservation, Count, Positive
from tracker.samplers.base import (
    AHEAD,
    PERTURBED,
    Evaluations,
    MovingSkewKeys,
    idle,
    langevin_move,
    sampler,
)
from tracker.samplers.perturbed_skew import descend_skew, draw_perturbation, langevin_pair
from tracker.samplers.state import SKEW, carried, scratch
from tracker.streams import draw_normals

if TYPE_CHECKING:
    from tracker.array_types import Array, Words


MOST_INNER_STEPS = 100_000  # a step draws all its observations and noise at once, and must return in time


class TwoTimescaleSpsa(NamedTuple):
    """Parameters; ``next`` is 1 where the cost is observed after the move, else 0."""

    epsilon: float
    noise: float
    skew_step: float
    low: float
    high: float
    perturbation: float
    inner_steps: int
    next: int


class State(NamedTuple):
    """The point and S; the pair that looks ahead is scratch."""

    theta: Array = carried("N")
    S: Array = carried("N", "N", start="skew", recorded=SKEW)
    plus: Array = scratch("N")
    minus: Array = scratch("N")
    Delta: Array = scratch("N", "N")
    g: Array = scratch("N")
    M: Array = scratch("N", "N")


@helper
def look_ahead(sampler: TwoTimescaleSpsa, state: State, cost: Any, k: int, streams: Words) -> float:
    """Run the fast scale from theta_k and return the sum of the cost differences."""
    N, steps = state.theta.size, sampler.inner_steps
    seen = max(1, observation_size(cost))
    Z = room_for(state.theta, (steps + 1) * seen).reshape((steps + 1, seen))
    observe(cost, k, steps + 1, streams[AHEAD], Z)
    noise = room_for(state.theta, steps * N)
    W = noise.reshape((steps, N))
    draw_normals(streams[AHEAD], noise)
    draw_perturbation(streams[PERTURBED], state.Delta)
    copy(state.theta, state.plus)
    copy(state.theta, state.minus)
    total = 0.0
    for n in range(steps):
        langevin_pair(state.plus, state.minus, state, cost, Z[n], W[n], sampler)
        then = Z[n + sampler.next]
        total += value(cost, state.plus, then) - value(cost, state.minus, then)
    return total


@sampler(TwoTimescaleSpsa, State)
def _step(sampler: TwoTimescaleSpsa, state: State, cost: Any, k: int, z: Array, w: Array, streams: Words) -> None:
    theta, S, g = state.theta, state.S, state.g
    difference = look_ahead(sampler, state, cost, k, streams)
    gradient(cost, theta, z, g)
    langevin_move(theta, S, g, w, sampler.epsilon, sampler.noise)
    descend_skew(S, state.Delta, difference, sampler)


@idle.register(TwoTimescaleSpsa)
def _idle(sampler: TwoTimescaleSpsa, state: State, cost: Any, k: int, streams: Words) -> None:
    look_ahead(sampler, state, cost, k, streams)


class TwoTimescaleSpsaKeys(MovingSkewKeys):
    """Algorithm 3: two-time-scale SPSA; a look ahead of ``inner_steps`` at every step."""

    kind: Literal["two-timescale-spsa"]
    also_called = ("algorithm-3",)
    parameters = TwoTimescaleSpsa
    inner_steps: Annotated[Count, Field(le=MOST_INNER_STEPS)] = Field(description="how many steps the look-ahead takes")
    perturbation: Positive = Field(default=0.1, description="the size mu of the perturbation of S")
    cost_observation: CostObservation = Field(
        default="next", description="which observation the perturbed costs are compared under"
    )

    @property
    def evaluations(self) -> Evaluations:
        """Evaluations per step."""
        return Evaluations(gradient=1 + 2 * self.inner_steps, cost=2 * self.inner_steps)

    @property
    def observations(self) -> int:  # type: ignore[override]
        """Its own, and those of the look-ahead."""
        return 1 + self.inner_steps + self.next

    @property
    def next(self) -> int:
        """Whether the cost is observed after the move."""
        return int(self.cost_observation == "next")
