"""Table: how long it takes to leave the wrong well after a switch, by theory and as measured. Theory is read, not solved, here."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tracker.formatting import interval, number
from tracker.reports.exhibit import Shown, Table

if TYPE_CHECKING:
    from tracker.reports.run_view import View

LEAST_BARRIER = 1.0  # in units of 1/β: below, nothing holds a sampler in the other well


def shown(view: View) -> Shown | None:
    """Return predicted and measured waits for the target of each mode that has a second well; None where there is none."""
    rows = []
    for name in view.alive:
        measured = {row["mode"]: row for row in (view.summary[name].get("recovery") or {}).get("by_mode") or ()}
        for mode in view.mode_names:
            wells = [row for row in view.theory["escape"].get(name) or () if row["mode"] == mode]
            waits = measured.get(mode)
            if len(wells) < 2 or waits is None or waits["median"] is None:
                continue
            slowest = min(wells[1:], key=lambda row: row["rate"])  # the first is the deepest, where it is to go
            # without a barrier to speak of the formula means nothing; of the highest ones the rate is no number any more
            if slowest["barrier"] < LEAST_BARRIER or not slowest["rate"] > 0.0:
                continue
            median = math.log(2.0) / (slowest["rate"] * view.epsilons[name])
            seen = number(waits["median"])
            seen += (
                f" {interval(waits['low'], waits['high'])}"
                if waits["low"] is not None and waits["high"] is not None
                else ""
            )
            rows.append((name, mode, slowest["barrier"], slowest["speed_up"], median, seen, waits["median"] / median))
    if not rows:
        return None
    caption = (
        "Waits for the deeper well after a switch, medians in steps: by the formula of Eyring and Kramers with S, and as measured [95 %]. The formula is asymptotic "
        "in the barrier, in units of 1/β; where that is a few, it is right to some tens of per cent. S speeds up by the factor shown, not by 1 + s²."
    )
    columns = ("sampler", "mode", "β × barrier", "S speeds up by", "predicted", "measured", "measured / predicted")
    return Shown(caption, Table(columns, tuple(rows)))
