"""What is measured at one step: the distance to the target, the excess cost, the accuracy, and a record of it all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.compiled import borrow, copy, helper, inlined
from tracker.costs.base import correct, expected, measure
from tracker.costs.foretold import forecast_loss, predicts
from tracker.costs.moved import drifts, move_to
from tracker.samplers.base import place, record_state

if TYPE_CHECKING:
    from tracker.array_types import Array

LOST = 3  # numbers that are kept of forecasts


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


@inlined
def foretell(cost: Any, theta: Array, z: Array, lost: Array, averaged: bool) -> None:
    """Add what theta loses in predicting z, before it learns from it, to ``lost`` (LOST,); see ``Work``."""
    if predicts(cost):
        loss = forecast_loss(cost, theta, z)
        lost[0] += loss
        if averaged:
            lost[1] += loss
            lost[2] += 1.0


@inlined
def add_moments(theta: Array, origin: Array, moments: Array) -> None:
    """Add theta - origin to the first row, and below it the lower triangle of its outer product, or one row of its squares."""
    for d in range(theta.size):
        c = theta[d] - origin[d]
        moments[0, d] += c
        if moments.shape[0] == theta.size + 1:
            for e in range(d + 1):
                moments[d + 1, e] += c * (theta[e] - origin[e])
        elif moments.shape[0] == 2:
            moments[1, d] += c * c


@inlined
def follow_drift(sampler: Any, state: Any, mode: Any, work: Any, k: int) -> None:
    """Let the landscape, and what sits on its minimum, stand where they are at step k; nothing where landscapes stand still."""
    if drifts(mode.cost):
        move_to(mode.cost, work.shift[k - work.begin], mode.minimisers)
        place(sampler, state, mode.minimisers)


@helper
def record(sampler: Any, state: Any, mode: Any, x: int, row: Array, work: Any) -> None:
    """Write the mode, the error, the excess cost, theta, what the sampler records and what forecasts lost to a row of the trace."""
    state, mode, row, work = borrow(state), borrow(mode), borrow(row), borrow(work)
    theta = state.theta
    N = theta.size
    row[0] = x
    row[1] = np.sqrt(square_error(mode.cost, mode.targets, theta, work.point))
    row[2] = expected(mode.cost, theta) - mode.floor
    copy(theta, row[3 : 3 + N])
    if row.size > 3 + N:
        record_state(sampler, state, row[3 + N :])
    if predicts(mode.cost):
        row[row.size - 1] = work.lost[0]


@helper
def appraise(mode: Any, theta: Array) -> tuple[float, float]:
    """Return the excess cost and the accuracy at theta."""
    mode, theta = borrow(mode), borrow(theta)
    return expected(mode.cost, theta) - mode.floor, correct(mode.cost, theta)
