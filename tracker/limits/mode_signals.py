"""What one noisy gradient a step tells about the hidden mode, for whoever knows the chain and all costs.

Notes
-----
docs/mathematics, "Ladder of knowledge". In mode i the gradient at theta is grad C_i(theta) + z, z ~ N(0, Sigma_i). Where the costs
differ by their slopes only, C_i = C + b_i'theta, what a gradient tells does not depend on where it is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker import chain
from tracker.costs.base import expected_gradient
from tracker.costs.facts import additive_noise, same_shape, tilt
from tracker.limits.scope import OutOfScope, world_refusals
from tracker.scenario.builders import build_modes
from tracker.scenario.complaints import place_of

if TYPE_CHECKING:
    from tracker.array_types import Array
    from tracker.scenario.model import Scenario

RUN_IT = 'run the filter baseline: baselines = ["frozen", "oracle", "filter"]'


@dataclass(frozen=True)
class Signals:
    """A chain and what its modes say.

    P : ndarray, shape (X, X), I + alpha Q
    law : ndarray, shape (X,), the stationary law of the chain
    minimisers : ndarray, shape (X, N), one for each mode
    Sigma : ndarray, shape (X, N, N), of the gradient noise
    slopes : ndarray, shape (X, N), b_i up to a common vector; None where the costs differ by more than their slopes
    costs : parameters, one for each mode
    """

    P: Array
    law: Array
    minimisers: Array
    Sigma: Array
    slopes: Array | None
    costs: tuple[Any, ...]

    def gradients(self, theta: Array) -> Array:
        """Return grad C_i(theta), shape (X, N)."""
        found = np.empty_like(self.minimisers)
        for cost, out in zip(self.costs, found, strict=True):
            expected_gradient(cost, np.ascontiguousarray(theta), out)
        return found


def read_signals(scenario: Scenario) -> Signals:
    """Return what the modes say.

    Raises
    ------
    OutOfScope
        Without a chain, with several minimisers in a mode, with noise that is not Gaussian, white and the same at every theta.
    """
    for refusal in world_refusals(scenario):
        raise refusal
    if scenario.chain is None or len(scenario.modes) == 1:
        raise OutOfScope("one mode that lasts leaves nothing to find out about the mode")
    if not scenario.chain.law.is_geometric:
        raise OutOfScope("dwell: the mode alone is no Markov chain, and a filter must know its age too", RUN_IT)
    modes = build_modes(scenario)
    factors = []
    for index, (keys, mode) in enumerate(zip(scenario.modes, modes, strict=True)):
        place = place_of("modes", index, keys)
        memory, correlation, _ = keys.remembered
        if correlation != 0.0:
            raise OutOfScope(f"{place}: {memory}: filters know white noise, and this one remembers")
        factor = additive_noise(mode.cost, scenario.dimension)
        if factor is None:
            raise OutOfScope(
                f"{place}: the noise of its gradients is not Gaussian, white and the same at every theta", RUN_IT
            )
        if len(mode.minimisers) != 1:
            raise OutOfScope(f"{place}: {len(mode.minimisers)} global minimisers, so there is no one point to name")
        factors.append(factor)
    Q = np.array(scenario.chain.Q, dtype=np.float64)
    return Signals(
        P=chain.transition_matrix(Q, scenario.chain.alpha),
        law=chain.stationary_law(Q),
        minimisers=np.concatenate([mode.minimisers for mode in modes]),
        Sigma=np.array([F @ F.T for F in factors]),
        slopes=_slopes([mode.cost for mode in modes]),
        costs=tuple(mode.cost for mode in modes),
    )


def _slopes(costs: list[Any]) -> Array | None:
    tilts = [tilt(cost) for cost in costs]
    first = tilts[0]
    if first is None:
        return None
    found = [each.slope for each in tilts if each is not None and same_shape(first, each)]
    return np.array(found) if len(found) == len(costs) else None
