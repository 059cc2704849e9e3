"""Algorithm 2: S follows a simultaneous-perturbation estimate of its gradient; no Hessian.

Notes
-----
    theta+_{k+1} = theta+_k - epsilon (I + S_k + mu Delta_k) grad c(theta+_k, z_k) + sqrt(2 epsilon / beta) w_k
    theta-_{k+1} = theta-_k - epsilon (I + S_k - mu Delta_k) grad c(theta-_k, z_k) + sqrt(2 epsilon / beta) w_k
    S_{k+1}(i,j) = Proj[ S_k(i,j) - skew_step (c(theta+_{k+1}, z) - c(theta-_{k+1}, z)) / (2 mu Delta_k(i,j)) ],  i > j

z is the observation after the move (``cost_observation = "next"``: S is updated at the start of step k + 1, from z_{k+1}
in mode x_{k+1}) or that of the move (``"same"``). The output is theta+. With ``hold`` = L > 1 Delta is redrawn, and theta-
set to theta+, every L steps; L = 1 is the paper's: redrawn at each step, never re-synchronised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import Field

from tracker.compiled import any_of, copy, copy_where, where
from tracker.costs.base import value
from tracker.keys import CostObservation, Count, Positive
from tracker.samplers.base import (
    PERTURBED,
    Evaluations,
    MovingSkewKeys,
    idle,
    sampler,
)
from tracker.samplers.perturbed_skew import descend_skew, draw_perturbation, langevin_pair
from tracker.samplers.state import SKEW, carried, scratch

if TYPE_CHECKING:
    from tracker.array_types import Array, Words


UPDATE, REDRAW = 0, 1  # entries of State.owed


class Spsa(NamedTuple):
    """Parameters; ``next`` is 1 where the cost is observed after the move, else 0."""

    epsilon: float
    noise: float
    skew_step: float
    low: float
    high: float
    perturbation: float
    hold: int
    next: int


class State(NamedTuple):
    """theta+, theta-, S and Delta; ``owed``: 1 while an update of S, or a new Delta kept in M, waits."""

    theta: Array = carried("N")
    minus: Array = carried("N", start="theta")
    S: Array = carried("N", "N", start="skew", recorded=SKEW)
    Delta: Array = carried("N", "N")
    owed: Array = carried(2)
    M: Array = carried("N", "N")
    g: Array = scratch("N")


@sampler(Spsa, State)
def _step(sampler: Spsa, state: State, cost: Any, k: int, z: Array, w: Array, streams: Words) -> None:
    plus, minus, S, Delta, owed = state.theta, state.minus, state.S, state.Delta, state.owed
    due, kept = owed[UPDATE] == 1.0, owed[REDRAW] == 1.0
    if any_of(due):
        descend_skew(S, Delta, where(due, value(cost, plus, z) - value(cost, minus, z), 0.0), sampler)
    redraws = k % sampler.hold == 0
    if redraws:
        draw_perturbation(streams[PERTURBED], Delta)
    elif any_of(kept):
        copy_where(kept, state.M, Delta)
    if sampler.hold > 1 and redraws:
        copy(plus, minus)
    elif sampler.hold > 1 and any_of(kept):
        copy_where(kept, plus, minus)
    owed[REDRAW] = 0.0
    langevin_pair(plus, minus, state, cost, z, w, sampler)
    if sampler.next == 1:
        owed[UPDATE] = 1.0
    else:
        descend_skew(S, Delta, value(cost, plus, z) - value(cost, minus, z), sampler)


@idle.register(Spsa)
def _idle(sampler: Spsa, state: State, cost: Any, k: int, streams: Words) -> None:
    # The update that waits still needs Delta, so what is drawn stays in M until gradients are back.
    if k % sampler.hold == 0:
        draw_perturbation(streams[PERTURBED], state.M)
        state.owed[REDRAW] = 1.0


class SpsaKeys(MovingSkewKeys):
    """Algorithm 2: S follows an SPSA estimate of its gradient; two gradients and two costs a step."""

    kind: Literal["spsa"]
    also_called = ("algorithm-2",)
    parameters = Spsa
    perturbation: Positive = Field(default=0.1, description="the size mu of the perturbation of S")
    hold: Count = Field(default=1, description="for how many steps a perturbation is kept")
    cost_observation: CostObservation = Field(
        default="next", description="which observation the perturbed costs are compared under"
    )

    @property
    def evaluations(self) -> Evaluations:
        """Evaluations per step."""
        return Evaluations(gradient=2, cost=2)

    @property
    def next(self) -> int:
        """Whether the cost is observed after the move."""
        return int(self.cost_observation == "next")
