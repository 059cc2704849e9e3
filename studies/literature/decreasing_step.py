"""A sampler of this study: plain stochastic gradient whose step falls, epsilon_k = epsilon (offset/(offset + k))^power.

It is what a world that stands still asks for, and the control that must lose in one that switches.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tracker.costs.base import gradient
from tracker.samplers.base import sampler
from tracker.samplers.state import carried, scratch


class DecreasingStep(NamedTuple):
    """Parameters; the first step is ``epsilon``."""

    epsilon: float
    offset: float = 100.0
    power: float = 0.55


DecreasingStep.adapts = "its step"  # type: ignore[attr-defined]


class DecreasingState(NamedTuple):
    """The point and the gradient."""

    theta: np.ndarray = carried("N")
    g: np.ndarray = scratch("N")


@sampler(DecreasingStep, DecreasingState)
def _step(p: DecreasingStep, state: Any, cost: Any, k: int, z: Any, w: Any, streams: Any) -> None:
    gradient(cost, state.theta, z, state.g)
    now = p.epsilon * (p.offset / (p.offset + k)) ** p.power
    for d in range(state.theta.size):
        state.theta[d] -= now * state.g[d]
