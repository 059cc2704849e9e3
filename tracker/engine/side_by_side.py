"""Decide whether trials go side by side, how many, and say why not: the numbers are the same either way.

Whatever a scenario's own code cannot do in lanes is found out by compiling it: where numba refuses, trials go one at a time.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.compiled import kinds_in, lane_table, lanes_are_known
from tracker.costs.base import one_at_a_time
from tracker.costs.foretold import predicts
from tracker.costs.one_form import in_one_form
from tracker.engine.blocks import most_trials

if TYPE_CHECKING:
    from tracker.compiled import LaneTable
    from tracker.engine.problem import Contestant, Problem
    from tracker.scenario import Mode

LANES_VARIABLE = "TRACKER_LANES"
WIDTHS = (1, 2, 4, 8, 16)  # vectors of other numbers of doubles have gaps in memory
LANES = 8  # more gain nothing with vectors of four doubles, and little with those of eight
FEWEST_TRIALS = 4  # with fewer, most lanes would be idle
FEWEST_STEPS = 50_000_000  # over all trials: lanes take some seconds more to compile, once, and save some seconds of that many steps
refused: dict[tuple[type, ...], str] = {}  # kinds of samplers and costs that numba could not type in lanes


def lane_count(problem: Problem) -> int:
    """Return how many trials are to go side by side: ``TRACKER_LANES`` where it is one of WIDTHS, or as many as are worth it."""
    asked = os.environ.get(LANES_VARIABLE, "")
    if asked in map(str, WIDTHS):
        return int(asked)
    trials, steps = problem.scenario.trials, problem.scenario.steps
    worth_it = trials >= FEWEST_TRIALS and trials * steps >= FEWEST_STEPS and most_trials(problem) >= LANES
    return LANES if worth_it else 1


def lanes_of(problem: Problem, contestant: Contestant) -> tuple[LaneTable | None, str]:
    """Return the table of modes for lanes, or None and why trials go one at a time."""
    count, keys, N = lane_count(problem), contestant.keys, problem.origin.size
    costs = [mode.cost for mode in problem.modes]
    if count == 1:
        return None, "so few steps or trials are not worth more"
    if keys is None:
        return None, "a baseline takes no time"
    if not lanes_are_known():
        return None, "this numba is not one that can be taught lanes"
    if not keys.side_by_side(N):
        return None, f"the step of {keys.kind} is that of one trial"
    if problem.plan.drift is not None:
        return None, "the landscapes drift"
    if any(one_at_a_time(cost) or predicts(cost) for cost in costs):
        return None, "the costs look at rows of data by the place of one trial"
    if len({type(cost) for cost in costs}) > 1:
        return None, "the modes are of different families"
    if (why := refused.get(kinds_of(problem, contestant))) is not None:
        return None, why
    table = lane_table(alike(problem.modes), count)
    return table, "" if table is not None else "the modes differ in more than numbers"


def kinds_of(problem: Problem, contestant: Contestant) -> tuple[type, ...]:
    """Return the types of a contestant and of the costs."""
    return tuple(kinds_in((contestant.parameters, problem.modes[0].cost)))


def alike(modes: tuple[Mode, ...]) -> list[Any]:
    """Return the modes written alike, with as many minimisers and targets each: the last one repeated, which changes no least distance."""
    most = {field: max(len(getattr(mode, field)) for mode in modes) for field in ("minimisers", "targets")}
    return [
        mode._replace(**{field: _longer(getattr(mode, field), count) for field, count in most.items()})
        for mode in in_one_form(modes)
    ]


def _longer(rows: Any, count: int) -> Any:
    if len(rows) == count:
        return rows
    return np.concatenate([rows, np.repeat(rows[-1:], count - len(rows), axis=0)])
