"""What a shard of trials begins with: the points theta_0, the matrices S_0, and a ledger in which nothing stands yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker import skew as skew_algebra
from tracker.engine.arrays import FIRST_COLUMNS, recorded_width
from tracker.engine.bins import AGE_BITS, WAIT_BITS, bin_of
from tracker.engine.ledger import COLUMNS, UNMARKED, Ledger
from tracker.engine.measuring import LOST
from tracker.samplers.base import state_size
from tracker.streams import SKEW, START, normals_by_trial

if TYPE_CHECKING:
    from tracker.array_types import Array, Integers
    from tracker.engine.problem import Contestant, Problem


def start_points(problem: Problem, trials: Integers) -> Array:
    """Return theta_0 of each trial, shape (T, N)."""
    scenario = problem.scenario
    factor = scenario.start_factor
    normals = np.zeros((trials.size, factor.shape[1]))
    normals_by_trial(problem.entropy, START, trials, normals)
    # Not a matrix product: BLAS may round a row differently in batches of different size.
    return np.ascontiguousarray(scenario.start_mean + (factor * normals[:, np.newaxis, :]).sum(axis=2))


def start_skews(problem: Problem, contestant: Contestant, trials: Integers) -> Array:
    """Return S_0 of each trial, shape (T, N, N), before the bounds."""
    N = problem.origin.size
    if not contestant.has_skew:
        return np.zeros((trials.size, 0, 0))
    if contestant.skew is not None:
        # a copy: a view would be read-only, another type, and the loop compiled for it once more
        return np.broadcast_to(contestant.skew, (trials.size, N, N)).copy()
    normals = np.zeros((trials.size, N - 1))
    normals_by_trial(problem.entropy, SKEW, trials, normals)
    return skew_algebra.tridiagonal(normals)


def empty_ledger(problem: Problem, contestant: Contestant, trials: int) -> Ledger:
    """Return the ledger of a contestant before its first step."""
    layout, N = problem.layout, problem.origin.size
    recorded = sum(recorded_width(one, N, layout.modes) for one in contestant.recorded)
    predicts = all(mode.predicts for mode in problem.scenario.modes)
    return Ledger(
        state=np.zeros((trials, state_size(contestant.parameters, N) + LOST * predicts + layout.memory_size)),
        streams=np.zeros((trials, 4, 4), dtype=np.uint64),
        marks=np.tile(np.array(UNMARKED, dtype=np.int64), (trials, 1)),
        sums=np.zeros((trials, layout.modes + bin_of(layout.steps, AGE_BITS) + 1, len(COLUMNS))),
        waits=np.zeros((trials, layout.modes, bin_of(layout.steps, WAIT_BITS) + 1, 2), dtype=np.int64),
        stays=np.zeros((trials, layout.modes, 2), dtype=np.int64),
        moments=np.zeros((trials, layout.moments, N)),
        trace=np.full((trials, problem.records, FIRST_COLUMNS + N + recorded + predicts), np.nan),
    )
