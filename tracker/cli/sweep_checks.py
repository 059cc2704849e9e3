"""Check a sweep before it runs: its cost, the limits that it breaks, and warnings about its points."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tracker.cli.error_messages import say
from tracker.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tracker.runs.forecast import PredictedCost, ResourceLimits
    from tracker.runs.sweep_points import Point

MOST_WARNINGS_SAID = 10
MOST_SECONDS_OF_CHECKS = 1.0  # for the limits of costs that are not quadratic, which take some 10 ms a point


def sweep_cost(points: Sequence[Point]) -> PredictedCost:
    """Return what all points cost together; they run one after another and write no page of their own, but the sweep does."""
    from tracker.runs.forecast import PAGE_DISK, PAGE_MEMORY, PredictedCost, predicted_cost

    costs = [predicted_cost(point.scenario, page=False) for point in points]
    disk = sum(cost.disk for cost in costs) + PAGE_DISK
    return PredictedCost(
        steps=sum(cost.steps for cost in costs),
        seconds=sum(cost.seconds for cost in costs),
        memory=max(cost.memory for cost in costs) + PAGE_MEMORY,
        disk=disk,
        disk_running=disk + max(cost.disk_running for cost in costs),
    )


def sweep_refusals(cost: PredictedCost, points: Sequence[Point], limits: ResourceLimits) -> list[str]:
    """Return a line for each limit that the sweep would break: steps and disk of all points, memory of the largest."""
    from tracker.runs.forecast import broken_limits

    return broken_limits(cost, limits, counted(len(points), "point"))


def warnings_of(points: Sequence[Point]) -> list[list[str]]:
    """Return the warnings of each point; where all of them would take long, of the last ones only what takes no time."""
    from tracker.scenario import build_modes, warnings

    found, deadline = [], time.monotonic() + MOST_SECONDS_OF_CHECKS
    for point in points:
        in_time = time.monotonic() < deadline
        if not in_time and deadline > 0.0:
            say(f"from point {point.index} on, only the step sizes of quadratic modes are checked")
            deadline = 0.0  # said once
        found.append(warnings(point.scenario, build_modes(point.scenario) if in_time else None))
    return found


def say_warnings(points: Sequence[Point], found: Sequence[Sequence[str]], given: Collection[str] = ()) -> None:
    """Print what is wrong at single points, if it was not ``given`` already; what is wrong at all of them is said once."""
    shared = [line for line in found[0] if all(line in others for others in found)]
    lines = [f"warning: {line}" for line in shared if line not in given]
    lines += [
        f"warning: {point.label}: {line}"
        for point, own in zip(points, found, strict=True)
        for line in own
        if line not in given and line not in shared
    ]
    for line in lines[:MOST_WARNINGS_SAID]:
        say(line)
    if len(lines) > MOST_WARNINGS_SAID:
        say(f"... and {counted(len(lines) - MOST_WARNINGS_SAID, 'more warning')}")
