"""How many trials went side by side, in words; and the size of shards, so that no place beside others is left empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracker.engine.problem import prepare
from tracker.engine.side_by_side import lane_count, lanes_of

if TYPE_CHECKING:
    from tracker.engine.problem import Problem
    from tracker.scenario import Scenario


def told(problem: Problem) -> list[str]:
    """Return a line for each contestant."""
    lines = []
    for contestant in problem.contestants:
        table, why = lanes_of(problem, contestant)
        how = f"{len(table.width)} trials side by side" if table is not None else f"one trial at a time: {why}"
        lines.append(f"{contestant.name}: {how}")
    return lines


def told_of(scenario: Scenario) -> list[str]:
    """Return a line for each contestant of a scenario that is built for this alone."""
    return told(prepare(scenario))


def filled(problem: Problem, size: int) -> int:
    """Return the size of a shard of about ``size`` trials in which trials fill whole groups, where they go in groups."""
    count = lane_count(problem)
    if count == 1 or all(lanes_of(problem, contestant)[0] is None for contestant in problem.contestants):
        return size
    return max(count, size - size % count)
