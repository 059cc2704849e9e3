"""Were the switches noticed? What raises alarms, or holds P(mode), judged by the hidden switches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracker.formatting import average, number, percent
from tracker.reports.exhibit import Shown, Table

if TYPE_CHECKING:
    from tracker.reports.run_view import View

CAPTION = (
    "Were the switches noticed? Delay: steps from a switch to the first alarm before the next switch. A false alarm is one without "
    "a switch since the last. Of a filter, an alarm is a change of its likeliest mode. Before a change, and after one, "
    "limits.run_length tells how long a detector takes on average."
)


def shown(view: View) -> Shown | None:
    """Return delays, false alarms and missed switches as a table; None where nothing raises alarms."""
    found = {name: row["detection"] for name, row in view.summary.items() if row.get("detection")}
    rows = tuple(
        (name, average(one["delay"]), number(one["false_alarms"]), percent(one["missed"]))
        for name, one in found.items()
    )
    return Shown(CAPTION, Table(("sampler", "delay", "false alarms in 10,000 steps", "missed"), rows)) if rows else None
