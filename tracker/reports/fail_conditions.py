"""Parse and judge the conditions of ``--fail-if``: ``QUANTITY.SAMPLER[.low|.high] > NUMBER``, on the ratio of two runs."""

from __future__ import annotations

import operator
import re
from math import isnan
from typing import TYPE_CHECKING, NamedTuple

from tracker.formatting import counted, listed
from tracker.metrics.averages import FEWEST_TRIALS, no_interval
from tracker.metrics.table import METRICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.reports.run_vs_run import Change

COMPARISONS = {">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le}
_CONDITION = re.compile(r"\s*(\w+)\.([\w.*-]+?)(?:\.(low|high))?\s*(>=|<=|>|<)\s*([-+.\deE]+)\s*")


class Condition(NamedTuple):
    """``quantity.sampler[.low|.high] > number``, about the ratio of the second run to the first."""

    text: str
    quantity: str
    sampler: str
    end: str
    comparison: str
    number: float

    def value(self, change: Change) -> float:
        """Return what it is about: the ratio or an end of its interval; nan where that is not known."""
        return float(getattr(change.ratio, self.end or "estimate"))

    def holds(self, change: Change) -> bool:
        """Tell whether it is true of a change."""
        return bool(COMPARISONS[self.comparison](self.value(change), self.number))


def parse_condition(text: str) -> Condition:
    """Read a condition; ValueError says what it should look like."""
    found = _CONDITION.fullmatch(text)
    try:
        value = float(found[5]) if found else float("nan")
    except ValueError:
        found = None
    if found is None or found[1] not in METRICS:
        raise ValueError(
            f"--fail-if {text!r}: must be QUANTITY.SAMPLER[.low|.high] > NUMBER (or <, >=, <=), QUANTITY one of "
            f"{', '.join(METRICS)}, SAMPLER a name or *; it is about the ratio of the second run to the first"
        )
    return Condition(text, found[1], found[2], found[3] or "", found[4], value)


def failures(changes: Sequence[Change], conditions: Sequence[Condition]) -> list[str]:
    """Return a line for each condition that holds or is not known not to; ValueError for one about nothing."""
    lines = []
    for condition in conditions:
        about = [c for c in changes if c.quantity == condition.quantity and condition.sampler in ("*", c.sampler)]
        if not any(c.quantity == condition.quantity for c in changes):
            raise ValueError(f"--fail-if {condition.text!r}: these runs have no {condition.quantity}")
        if not about:
            names = ", ".join(dict.fromkeys(c.sampler for c in changes))
            raise ValueError(
                f"--fail-if {condition.text!r}: no sampler {condition.sampler!r} in both runs, which share {names}"
            )
        for change in about:
            if isnan(condition.value(change)):
                lines.append(
                    f"failed: {condition.text}: the {change.quantity} of {change.sampler} has no known "
                    f"{'interval of the ratio' if condition.end else 'ratio'} to the first run: {_why_unknown(change)}"
                )
            elif condition.holds(change):
                r = change.ratio
                lines.append(
                    f"failed: {condition.text}: {change.sampler} has {r.estimate:.4g} times the {change.quantity} "
                    f"of the first run [{r.low:.4g}, {r.high:.4g}]"
                )
    return lines


def _why_unknown(change: Change) -> str:
    diverged = [
        f"{counted(count, 'trial')} of the {which} run"
        for which, count in (("first", change.first_diverged), ("second", change.second_diverged))
        if count
    ]
    trials = change.ratio.trials
    if trials < FEWEST_TRIALS and diverged:
        left = "no trial is" if trials == 0 else f"{counted(trials, 'trial')} {'is' if trials == 1 else 'are'}"
        return f"{listed(diverged)} diverged, and {left} left in both"
    if trials == 0:
        return "no trial has it in both runs"
    if trials < FEWEST_TRIALS and not isnan(change.ratio.estimate):
        return no_interval(trials)
    return "it is 0 in a trial, or in all trials, of one run"
