"""The numbers of a metric: the one place that computes them for summaries, comparisons and pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker.metrics.after_switch import compare_waits, pooled_mean
from tracker.metrics.averages import CONFIDENCE, Average, over_trials
from tracker.metrics.paired import Comparison, difference, ratio_of_means
from tracker.metrics.recovery import waits_of_switches_out

if TYPE_CHECKING:
    from tracker.array_types import Array, Booleans, Integers
    from tracker.metrics.measured_run import MeasuredRun
    from tracker.metrics.table import Metric


EQUAL_WITHIN = 1e-12  # relative: numbers that differ by rounding only


class Contender(NamedTuple):
    """Sampler ``n`` of a run; ``price`` is what a step of it costs, where times are not counted in steps."""

    run: MeasuredRun
    n: int
    price: float = 1.0


def trial_values(metric: Metric, run: MeasuredRun) -> Array:
    """Return one number for each trial and sampler, shape (T, S), of a "mean"; nan where a trial diverged or it does not apply."""
    if not metric.applies(run):
        return np.full(run.kept.shape, np.nan)
    return np.where(run.kept, metric.per_trial(run), np.nan)


def trial_waits(metric: Metric, who: Contender, trials: Booleans | None = None) -> Integers:
    """Return the counts of waits of a "time", shape (T, X, bins, 2), in the undiverged trials, or in those of them given.

    Switches at which there was nothing to wait for are left out. No counts where the metric does not apply, and for a
    baseline.
    """
    run, n = who.run, who.n
    chosen = run.kept[:, n] if trials is None else run.kept[:, n] & trials
    counts = metric.per_trial(run)
    if not (metric.applies(run) and run.waits_for_targets[n]):
        return np.zeros((int(chosen.sum()), *counts.shape[2:]), dtype=counts.dtype)
    return waits_of_switches_out(counts[:, n] if chosen.all() else counts[chosen, n])


def averages(metric: Metric, run: MeasuredRun) -> list[Average]:
    """Return the mean over trials of each sampler, of a "time" the restricted mean of all its waits, with standard errors."""
    if metric.kind == "time":
        counts = (trial_waits(metric, Contender(run, n)) for n in range(run.kept.shape[1]))
        return [pooled_mean(one, run.wait_edges, run.horizon) for one in counts]
    return [over_trials(values) for values in trial_values(metric, run).T]


def paired_comparison(metric: Metric, a: Contender, b: Contender, confidence: float = CONFIDENCE) -> Comparison:
    """Return ratio and difference of ``a`` to ``b`` on the trials that diverged for neither; "wins" are those of ``a``."""
    if metric.kind == "time":
        both = a.run.kept[:, a.n] & b.run.kept[:, b.n]
        first, second = (trial_waits(metric, who, both) for who in (a, b))
        return compare_waits(first, second, b.run.wait_edges, b.run.horizon, (a.price, b.price), confidence)
    one, two = (trial_values(metric, who.run)[:, who.n] for who in (a, b))
    found = Comparison(ratio_of_means(one, two, confidence), difference(one, two, confidence))
    if metric.smaller_is_better:
        return found
    wins = int((one > two).sum())
    return Comparison(*(pair._replace(wins=wins) for pair in found))


def trials_alike(metric: Metric, a: Contender, b: Contender) -> int:
    """Return in how many trials both have the metric, if it is the same in each of them; 0 if not."""
    if metric.kind == "time":
        both = a.run.kept[:, a.n] & b.run.kept[:, b.n]
        counts, other = (metric.per_trial(who.run)[both, who.n] for who in (a, b))
        return int((counts.sum(axis=(1, 2, 3)) > 0).sum()) if np.array_equal(counts, other) else 0
    one, two = (trial_values(metric, who.run)[:, who.n] for who in (a, b))
    both = np.isfinite(one) & np.isfinite(two)
    same = (np.abs(one - two)[both] <= EQUAL_WITHIN * np.abs(two)[both]).all()
    return int(both.sum()) if same else 0
