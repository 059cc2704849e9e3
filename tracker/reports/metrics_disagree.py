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


def still_opinion(view: View) -> str:
    """Return a short sentence where the cost, or the mean square error, does not tell that following beats standing still.

    Intervals over paired trials decide, widened for the number of comparisons.
    """
    if FROZEN not in view.names:
        return ""
    if means := _means(view, COST):
        least = min(means, key=lambda name: means[name])
        if _less(view, COST, FROZEN, least):
            return "By cost standing still is best."
        if not any(_less(view, COST, name, FROZEN) for name in means):
            return "By cost none is shown to beat standing still."
    # who strays far at times can be nearer on average, and yet worse
    squares = {} if view.score.share else _means(view, SQUARES)
    nearest = min(squares, key=lambda name: squares[name], default="")
    return "By mean square error standing still is best." if nearest and _less(view, SQUARES, FROZEN, nearest) else ""


def cheapest_instead(view: View, best: str) -> str:
    """Return the sampler that is shown to cost less than ``best``, which the error names; nothing where there is none."""
    means = _means(view, COST)
    least = min(means, key=lambda name: means[name], default=best)
    return least if least != best and best in means and _less(view, COST, least, best) else ""


def _means(view: View, key: str) -> dict[str, float]:
    """The means over trials of those samplers that have one."""
    values = view.values(key)
    own = {name: values[:, view.index(name)] for name in view.alive}
    return {name: float(np.nanmean(some)) for name, some in own.items() if np.isfinite(some).any()}


def _less(view: View, key: str, name: str, other: str) -> bool:
    values, confidence = view.values(key), confidence_of_best([len(view.alive) + 1])
    return ratio_of_means(values[:, view.index(name)], values[:, view.index(other)], confidence).high < 1.0
