"""Say so where the cost, or the mean square error, names another winner than the error does: it is often the most interesting fact of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.baseline_names import FROZEN
from tracker.metrics.paired import ratio_of_means
from tracker.reports.best_of_sweep import confidence_of_best

if TYPE_CHECKING:
    from tracker.reports.run_view import View

COST, SQUARES = "excess_cost", "mean_square_error"


def second_opinion(view: View, best: str) -> str:
    """Return a short sentence where the excess cost contradicts the verdict on ``best``; nothing where it does not.

    Intervals over paired trials decide, widened for the number of comparisons: another sampler costs less than ``best``, or
    standing still costs less, or no sampler is told to cost less than standing still.
    """
    costs = view.values(COST)
    if not np.isfinite(costs[:, view.index(best)]).any():
        return _by_squares(view)
    confidence = confidence_of_best([len(view.alive) + 1])

    def cheaper(name: str, other: str) -> bool:
        return ratio_of_means(costs[:, view.index(name)], costs[:, view.index(other)], confidence).high < 1.0

    means = {name: float(np.nanmean(costs[:, view.index(name)])) for name in view.alive}
    least = min(means, key=lambda name: means[name])
    if FROZEN in view.names:
        if cheaper(FROZEN, least):
            return "By cost standing still is best."
        if not any(cheaper(name, FROZEN) for name in view.alive):
            return "By cost none is shown to beat standing still."
    return f"By cost {least} is best." if least != best and cheaper(least, best) else _by_squares(view)


def _by_squares(view: View) -> str:
    """Where standing still has the least mean square error: who strays far at times can be nearer on average, and yet worse."""
    if FROZEN not in view.names or view.score.share:
        return ""
    squares = view.values(SQUARES)
    means = {name: float(np.nanmean(squares[:, view.index(name)])) for name in view.alive}
    least = min(means, key=lambda name: means[name])
    still, own = squares[:, view.index(FROZEN)], squares[:, view.index(least)]
    worse = ratio_of_means(still, own, confidence_of_best([len(view.alive) + 1])).high < 1.0
    return "By mean square error standing still is best." if worse else ""
