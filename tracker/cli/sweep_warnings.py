"""Warn, before a sweep runs, of settings that are valid but probably not intended."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tracker.cli.error_messages import say
from tracker.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tracker.runs.sweep_points import Point

MOST_LINES = 10
MOST_SECONDS = 1.0  # for the limits of costs that are not quadratic, which take some 10 ms a point


def warnings_of(points: Sequence[Point]) -> list[list[str]]:
    """Return the warnings of each point; where all of them would take long, of the last ones only what takes no time."""
    from tracker.scenario import build_modes, warnings

    found, deadline = [], time.monotonic() + MOST_SECONDS
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
    for line in lines[:MOST_LINES]:
        say(line)
    if len(lines) > MOST_LINES:
        say(f"... and {counted(len(lines) - MOST_LINES, 'more warning')}")
