"""What a part of a sampler's state was on average, where its kind declares that summaries and sweeps tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.metrics.averages import over_trials, time_average

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tracker.array_types import Array, Booleans
    from tracker.engine.simulate import Problem

STATE = "state"  # the key of a row of a summary


def state_means(problem: Problem, arrays: Mapping[str, Array], n: int, kept: Booleans) -> dict[str, Any]:
    """Return ``{"state": {name: {mean, stderr}}}`` of a contestant over undiverged trials; {} where nothing is to be told.

    Of an array with entries it is their root mean square.
    """
    found = {}
    for one in problem.contestants[n].recorded:
        if one.told:
            who = [contestant.name for contestant in problem.contestants if contestant.records(one.name)]
            trace = arrays[one.name][kept, who.index(problem.contestants[n].name)]
            found[one.name] = _told(np.sqrt(np.mean(trace**2, axis=-1)) if one.axis else trace, problem)
    return {STATE: found} if found else {}


def _told(trace: Array, problem: Problem) -> dict[str, float | None]:
    layout = problem.layout
    steps = np.arange(problem.records) * layout.record_every
    found = over_trials(time_average(trace, steps, layout.burn_in, layout.steps))
    return {key: None if np.isnan(value) else float(value) for key, value in found._asdict().items()}


def told_in(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of what rows of summaries tell of states, in the order in which they are met."""
    return list(dict.fromkeys(name for row in rows for name in row.get(STATE) or ()))
