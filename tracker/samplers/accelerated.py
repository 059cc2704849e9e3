"""The accelerated non-reversible algorithm with a fixed skew matrix: equation (5) of the paper.

theta_{k+1} = theta_k - epsilon (I + S) grad c(theta_k, z_k) + sqrt(2 epsilon / beta) w_k
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tracker.costs.base import gradient
from tracker.samplers.banded_skew import band_of, banded_move
from tracker.samplers.base import SkewKeys, langevin_move, sampler
from tracker.samplers.state import carried, scratch

if TYPE_CHECKING:
    from tracker.array_types import Array, Words


FEW_COORDINATES = 16  # up to which a product with all of S takes as long as one with a band


class Accelerated(NamedTuple):
    """Parameters; S has no entry farther than ``band`` from its diagonal."""

    epsilon: float
    noise: float
    band: int


class State(NamedTuple):
    """The point, its skew matrix and its gradient."""

    theta: Array = carried("N")
    S: Array = carried("N", "N", start="skew")
    g: Array = scratch("N")


@sampler(Accelerated, State)
def _step(sampler: Accelerated, state: State, cost: Any, k: int, z: Array, w: Array, streams: Words) -> None:
    theta, S, g = state.theta, state.S, state.g
    gradient(cost, theta, z, g)
    if theta.size > FEW_COORDINATES:
        banded_move(theta, S, g, w, sampler.epsilon, sampler.noise, sampler.band)
    else:
        langevin_move(theta, S, g, w, sampler.epsilon, sampler.noise)


class AcceleratedKeys(SkewKeys):
    """The accelerated non-reversible algorithm: a fixed ``skew`` beside ``epsilon`` and ``beta``."""

    kind: Literal["accelerated"]
    also_called = ("nonreversible", "non-reversible", "irreversible")
    parameters = Accelerated
    euler = True

    @property
    def band(self) -> int:
        """How far from its diagonal S has entries."""
        return band_of(self.skew)
