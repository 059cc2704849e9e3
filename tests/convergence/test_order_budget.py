"""Coupled levels: paths are run once for all functions, and only as many as their cost allows."""

from __future__ import annotations

import numpy as np
import pytest
from worlds import pair, shipped

from tracker.convergence import budget, order_only, step_ladder
from tracker.convergence.check_request import Request
from tracker.convergence.exact_values import exact_values
from tracker.limits import OutOfScope
from tracker.limits.coupled_levels import coupled
from tracker.scenario import Scenario, parse


def test_functions_taken_together_are_those_taken_alone() -> None:
    scenario = shipped("example_d")
    functions = [lambda theta: theta[:, 0], lambda a, b: a * b, lambda theta: np.sum(theta**2, axis=1)]
    name = scenario.samplers[0].name
    together = coupled(scenario, name, functions, [0.5, 1.0], [8, 16], 50, against="limit")
    for f, found in zip(functions, together, strict=True):
        alone = coupled(scenario, name, f, [0.5, 1.0], [8, 16], 50, against="limit")
        for part in ("mean", "stderr", "value", "distance", "mismatch"):
            np.testing.assert_array_equal(getattr(found, part), getattr(alone, part))


def test_steps_per_unit_of_time_need_not_be_whole() -> None:
    """T = 0.3 in 4, 8, 16 steps; one more step in T is refused."""
    scenario = pair(1.0, 5.0, polynomial=True)
    levels = [4 / 0.3, 8 / 0.3, 16 / 0.3]
    found = coupled(scenario, "s", [lambda theta: theta[:, 0]], [0.3], levels, 200, against="limit")[0]
    assert np.abs(found.mean[0, 2]) < np.abs(found.mean[0, 0])
    with pytest.raises(ValueError, match="not whole numbers of steps"):
        coupled(scenario, "s", [lambda theta: theta[:, 0]], [0.35], levels, 200, against="limit")


def long_ladder(scenario: Scenario, first: int) -> step_ladder.Ladder:
    return step_ladder.Ladder(scenario, "s", 1.0, tuple(first * 2**rung for rung in range(5)))


def test_trials_and_then_levels_are_cut_by_the_cost_of_a_path() -> None:
    scenario = pair(1.0, 5.0, polynomial=True)
    rungs, count, cut = order_only.affordable(long_ladder(scenario, 4), None)
    assert (len(rungs.steps), count, cut) == (5, order_only.TRIALS, [])
    rungs, count, cut = order_only.affordable(long_ladder(scenario, 32), None)
    assert len(rungs.steps) == 5
    assert order_only.LEAST_TRIALS <= count < order_only.TRIALS
    assert f"{count} pairs of paths" in cut[0]
    work = 17 * sum(rungs.steps) * count
    assert work <= order_only.MOST_WORK
    rungs, count, cut = order_only.affordable(long_ladder(scenario, 2000), None)
    assert len(rungs.steps) < 5
    assert "left out" in cut[1]
    rungs, count, cut = order_only.affordable(long_ladder(scenario, 2000), 7000)
    assert (len(rungs.steps), count, cut) == (5, 7000, []), "what is asked for is done"


def test_a_law_over_the_bound_is_refused_before_it_begins_and_the_way_out_is_named() -> None:
    rungs = long_ladder(pair(3.0, 20.0, polynomial=True), 8)
    with pytest.raises(OutOfScope, match=r"products, and 1e\+06 are allowed; --max-work allows more"):
        exact_values(rungs, lambda _: None, work=1e6)
    assert "laws on a grid (at most 1.5e+10 products each)" in budget.plan(rungs, Request(None, 0.05, lambda *_: None))


def test_paths_that_run_away_are_said() -> None:
    scenario = parse("""
name = "away"
trials = 2
steps = 100
start = { mean = [5.0], covariance = [[1.0]] }
[[modes]]
name = "one"
cost = "polynomial"
variables = ["a"]
formula = "a^4"
[[samplers]]
name = "s"
kind = "langevin"
epsilon = 0.01
beta = 1.0
""")
    with pytest.raises(ValueError, match="ran away: begin with a smaller epsilon"):
        coupled(scenario, "s", lambda theta: theta[:, 0], [1.0], [8], 100, against="limit")
