"""Choose how many steps one call of the loop takes: few enough that Ctrl-C works soon, and a multiple of the cell size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tracker.engine.problem import Problem

BLOCK_SECONDS = 0.25  # a kernel call should return within this time, so that an interruption is felt
FIRST_BLOCK = 50_000  # trial-steps of the first call, at most: nothing is known yet about the speed
MANY = 64  # coordinates
MOST_SHIFTS = 2**21  # numbers of a block that say where the landscapes are
MOST_SEGMENTS = 50_000  # of a block, over its trials: bounds memory when the chain moves fast


def first_block(problem: Problem, trials: int) -> int:
    """Return the length of the first block: whole cells, so that sums do not depend on it."""
    return whole_cells(problem, min(FIRST_BLOCK, BLOCK_SECONDS / slowest_step(problem)) / trials, trials)


def slowest_step(problem: Problem) -> float:
    """Return the predicted seconds of a step of the most expensive sampler; many coordinates may mean a product with a matrix."""
    N = problem.origin.size
    return 1e-9 * (max(keys.step_nanoseconds(N) for keys in problem.scenario.samplers) + (N >= MANY) * N * N)


def most_trials(problem: Problem) -> int:
    """Return how many trials a shard may have so that even its shortest block returns in time."""
    return max(1, int(BLOCK_SECONDS / (problem.layout.cell * slowest_step(problem))))


def next_block(problem: Problem, trials: int, length: int, slowest: float) -> int:
    """Return the length of the next block, given the seconds that the slowest contestant took for the last one."""
    growth = min(4.0, BLOCK_SECONDS / max(slowest, 1e-6))
    return whole_cells(problem, length * growth, trials)


def whole_cells(problem: Problem, steps: float, trials: int) -> int:
    """Return about ``steps``, in whole cells, of which at least one; fewer where the chain moves fast, or landscapes drift."""
    cell = problem.layout.cell
    if problem.plan.Q is not None and problem.plan.alpha is not None:
        leaving = problem.plan.alpha * float(np.abs(np.diag(problem.plan.Q)).max())
        steps = min(steps, MOST_SEGMENTS / (trials * max(leaving, 1e-12)))
    if problem.plan.drift is not None:
        steps = min(steps, MOST_SHIFTS / (max(1, trials) * problem.origin.size))
    return cell * max(1, int(steps) // cell)
