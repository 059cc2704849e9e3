"""The axes of recorded arrays: how long each is, and what the places along it are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker import skew
from tracker.engine.arrays import kinds_of, pairs_kept, rows_of
from tracker.engine.bins import AGE_BITS, WAIT_BITS, bin_edges, bin_of
from tracker.engine.ledger import COLUMNS
from tracker.engine.problem import moment_rows, plan_of
from tracker.environment import dwell_ages
from tracker.samplers.alarms import COUNTS, MOST_TIMES, raises_alarms
from tracker.samplers.base import recorded_by
from tracker.samplers.state import SIGMA, SKEW

if TYPE_CHECKING:
    from tracker.array_types import Integers
    from tracker.engine.problem import Problem
    from tracker.scenario import Scenario


def axis_sizes(scenario: Scenario) -> dict[str, int]:
    """Return the length of every axis of a run's arrays, known before anything is built."""
    N, X, kinds = scenario.dimension, len(scenario.modes), kinds_of(scenario)
    names = {SKEW.name, SIGMA.name, *(one.name for kind in kinds for one in recorded_by(*kind))}
    return {
        "trial": scenario.trials,
        "time": scenario.steps // scenario.record_every + 1,
        "sampler": len(kinds),
        "theta": N,
        "pair": pairs_kept(scenario),
        "moment": moment_rows(scenario),
        "mode_from": X,
        "mode_to": X,
        "dwell_age": dwell_ages(plan_of(scenario)).size,
        "age": bin_of(scenario.steps, AGE_BITS) + 1,
        "wait": bin_of(scenario.steps, WAIT_BITS) + 1,
        "sum": len(COLUMNS),
        "outcome": 2,
        "look": 2,
        "expectation": 2,
        "forecast": 2,
        "mode_name": X,
        "alarm_sampler": sum(map(raises_alarms, kinds)),
        "alarm": MOST_TIMES,
        "detection": len(COUNTS),
        **{
            f"{name}_sampler": sum(name in {one.name for one in recorded_by(*kind)} for kind in kinds) for name in names
        },
    }


def axis_labels(problem: Problem, trials: Integers) -> dict[str, Any]:
    """Return what the places along each axis are called, where they have names of their own."""
    layout, N = problem.layout, problem.origin.size
    modes = [mode.name for mode in problem.scenario.modes]
    labels = {
        "sampler": [contestant.name for contestant in problem.contestants],
        "trial": trials,
        "time": np.arange(problem.records) * layout.record_every,
        "theta": np.arange(1, N + 1),
        "pair": [f"({i + 1},{j + 1})" for i, j in skew.pairs(N)] if pairs_kept(problem.scenario) else [],
        "mode_from": modes,
        "mode_to": modes,
        "sum": list(COLUMNS),
        "outcome": ["reached", "censored"],
        "look": ["all", "inside"],
        "expectation": ["mean", "variance"],
        "forecast": ["loss", "number"],
        "age": bin_edges(layout.steps, AGE_BITS)[:-1],
        "wait": bin_edges(layout.steps, WAIT_BITS)[:-1],
        **{
            f"{name}_sampler": [c.name for c in problem.contestants if c.records(name)]
            for name in (row.name for row in rows_of(problem) if f"{row.name}_sampler" in row.axes)
        },
        "mode_name": modes,
        "alarm_sampler": [c.name for c in problem.contestants if c.raises_alarms],
        "detection": list(COUNTS),
    }
    used = {axis for row in rows_of(problem) for axis in row.axes}
    return {axis: names for axis, names in labels.items() if axis in used}
