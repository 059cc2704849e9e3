"""What is measured at one step: the distance to the target, the excess cost, the accuracy, and a record of it all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.compiled import borrow, copy, helper, inlined
from tracker.costs.base import correct, expected, measure
from tracker.samplers.base import record_state

if TYPE_CHECKING:
    from tracker.array_types import Array


@inlined
def square_error(cost: Any, targets: Array, theta: Array, point: Array) -> float:
    """Return the squared distance to the nearest minimiser, in the coordinates that the cost measures in."""
    measure(cost, theta, point)
    best = np.inf
    for t in range(targets.shape[0]):
        distance = 0.0
        for d in range(targets.shape[1]):
            difference = point[d] - targets[t, d]
            distance += difference * difference
        best = min(best, distance)
    return best


@inlined
def near(theta: Array, origin: Array, runaway: float) -> bool:
    """Tell whether theta is finite and has not run away in any coordinate."""
    largest = 0.0
    for d in range(theta.size):
        largest += (theta[d] - origin[d]) ** 2  # a sum, not a maximum: nan must come through
    return largest < runaway * theta.size


@helper
def record(sampler: Any, state: Any, mode: Any, x: int, row: Array, point: Array) -> None:
    """Write the mode, the error, the excess cost, theta and what the sampler records to a row of the trace."""
    state, mode, row, point = borrow(state), borrow(mode), borrow(row), borrow(point)
    theta = state.theta
    N = theta.size
    row[0] = x
    row[1] = np.sqrt(square_error(mode.cost, mode.targets, theta, point))
    row[2] = expected(mode.cost, theta) - mode.floor
    copy(theta, row[3 : 3 + N])
    if row.size > 3 + N:
        record_state(sampler, state, row[3 + N :])


@helper
def appraise(mode: Any, theta: Array) -> tuple[float, float]:
    """Return the excess cost and the accuracy at theta."""
    mode, theta = borrow(mode), borrow(theta)
    return expected(mode.cost, theta) - mode.floor, correct(mode.cost, theta)
