"""What a page is judged by: accuracy where there are labels, the law where nothing switches, the tracking error else."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker.baseline_names import FROZEN, ORACLE
from tracker.metrics.averages import CONFIDENCE
from tracker.metrics.paired import Paired, difference, gap_closed, ratio_of_means
from tracker.metrics.table import leading_metric

if TYPE_CHECKING:
    from tracker.array_types import Array
    from tracker.reports.run_view import View

MEAN_OF_THE_LAW = "error of the mean"


class Score(NamedTuple):
    """The quantity of the verdict: one number for each trial and sampler, shape (T, S).

    noun : what there is less or more of: "18 % less error"
    share : it is written in per cent, and differences in points
    """

    title: str
    noun: str
    values: Array
    smaller_is_better: bool = True
    share: bool = False


def score_of(view: View) -> Score:
    """Return what the samplers of a run are ranked by."""
    if view.asks_for_law and view.law is not None and view.law.one_law:
        return Score(MEAN_OF_THE_LAW, "error", view.law.mean_errors)
    metric = leading_metric(view.measured)
    noun = "error" if metric.unit == "distance" else metric.title
    return Score(metric.title, noun, view.values(metric.key), metric.smaller_is_better, metric.unit == "share")


def best_of(view: View) -> str | None:
    """Return the sampler with the best mean among those with the fewest divergences; None where all diverged."""
    score = view.score
    means = {name: mean for name in view.alive if np.isfinite(mean := mean_of(view, name))}
    if not means:
        return None
    whole = min(view.summary[name]["diverged"] for name in means)
    kept = [name for name in means if view.summary[name]["diverged"] == whole]
    return min(kept, key=lambda name: means[name] if score.smaller_is_better else -means[name])


def mean_of(view: View, name: str) -> float:
    """Return the mean score of a sampler over its undiverged trials; nan without any."""
    values = view.score.values[:, view.index(name)]
    values = values[np.isfinite(values)]
    return float(values.mean()) if values.size else float("nan")


def closed_gap(view: View, name: str, confidence: float = CONFIDENCE) -> Paired:
    """Return the share of the way from standing still to knowing the mode that a sampler goes; nan where the run has not both."""
    if FROZEN not in view.names or ORACLE not in view.names:
        return Paired(np.nan, np.nan, np.nan, 0, 0)
    sign = 1.0 if view.score.smaller_is_better else -1.0
    own, still, known = (sign * view.score.values[:, view.index(one)] for one in (name, FROZEN, ORACLE))
    return gap_closed(own, still, known, confidence)


def advantage(view: View, name: str, other: str, confidence: float) -> Paired:
    """Return by how much ``name`` is better: the share of the other's mean that it saves, or points of a share; > 0 is better."""
    own, rest = (view.score.values[:, view.index(one)] for one in (name, other))
    if view.score.share:
        found = difference(own, rest, confidence)
        return found if not view.score.smaller_is_better else _negated(found)
    if not view.score.smaller_is_better:
        own, rest = rest, own
    ratio = ratio_of_means(own, rest, confidence)
    return Paired(1.0 - ratio.estimate, 1.0 - ratio.high, 1.0 - ratio.low, ratio.wins, ratio.trials)


def wins_of(view: View, name: str, other: str) -> tuple[int, int]:
    """Return in how many trials ``name`` is better, and of how many."""
    own, rest = (view.score.values[:, view.index(one)] for one in (name, other))
    both = np.isfinite(own) & np.isfinite(rest)
    better = (own < rest) if view.score.smaller_is_better else (own > rest)
    return int((better & both).sum()), int(both.sum())


def _negated(found: Paired) -> Paired:
    return Paired(-found.estimate, -found.high, -found.low, found.wins, found.trials)
