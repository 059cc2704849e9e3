"""Judge a claim about a run: a metric of one sampler against that of another, or against a number."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from tracker.metrics.averages import mean_interval
from tracker.metrics.estimates import Contender, averages, paired_comparison
from tracker.metrics.table import METRICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.metrics.averages import Scale
    from tracker.metrics.measured_run import MeasuredRun
    from tracker.metrics.table import Metric

Relation = Literal["<", ">"]
Holding = Literal["holds", "does not hold", "not told"]
MIRRORED: dict[Relation, Relation] = {"<": ">", ">": "<"}


class Side(NamedTuple):
    """A metric of a sampler."""

    quantity: str
    sampler: str


class JudgedClaim(NamedTuple):
    """What became of a claim: the estimate it is about and its 95 % interval; None where there is none."""

    outcome: Holding
    estimate: float | None
    low: float | None
    high: float | None


def read_side(text: str) -> Side:
    """Return ``QUANTITY.SAMPLER``, cut at its first dot: names of samplers may hold dots, those of metrics do not."""
    quantity, _, sampler = text.partition(".")
    return Side(quantity, sampler)


def judge(
    run: MeasuredRun, names: Sequence[str], left: str | float, relation: Relation, right: str | float
) -> JudgedClaim:
    """Judge ``left relation right``; each side is ``QUANTITY.SAMPLER`` or a number, one of them at least the former.

    Two samplers: the ratio left / right over paired trials against 1. One sampler: its mean against the number. The claim
    holds where the whole interval lies on the claimed side. A sampler of which a trial diverged is not judged: the trials
    that are left were chosen by their outcome. Nor is a run whose trials are all the same: it is one trial.

    names : of the samplers, in the order of the run's arrays
    """
    if isinstance(left, str) and isinstance(right, str):
        return _ratio(run, names, read_side(left), read_side(right), relation)
    if isinstance(left, str):
        return _against_number(run, names, read_side(left), relation, float(right))
    return _against_number(run, names, read_side(str(right)), MIRRORED[relation], float(left))


def _ratio(run: MeasuredRun, names: Sequence[str], left: Side, right: Side, relation: Relation) -> JudgedClaim:
    if left.sampler not in names or right.sampler not in names:
        return JudgedClaim("not told", None, None, None)
    places = [names.index(side.sampler) for side in (left, right)]
    first, second = (Contender(run, n) for n in places)
    pair = paired_comparison(METRICS[left.quantity], first, second).ratio
    return _judged(pair.estimate, pair.low, pair.high, relation, 1.0, whole=_whole(run, *places))


def _against_number(
    run: MeasuredRun, names: Sequence[str], side: Side, relation: Relation, bound: float
) -> JudgedClaim:
    metric = METRICS[side.quantity]
    if side.sampler not in names:
        return JudgedClaim("not told", None, None, None)
    n = names.index(side.sampler)
    mean, stderr = averages(metric, run)[n]
    low, high = mean_interval(mean, stderr, int(run.kept[:, n].sum()), scale_of(metric))
    return _judged(mean, float(low), float(high), relation, bound, whole=_whole(run, n))


def scale_of(metric: Metric) -> Scale:
    """Return the scale on which an interval of a metric's mean is taken: metrics are shares, or never negative."""
    return "share" if metric.unit == "share" else "positive"


def _whole(run: MeasuredRun, *places: int) -> bool:
    return bool(run.kept[:, places].all()) and not run.repeated


def _judged(estimate: float, low: float, high: float, relation: Relation, bound: float, *, whole: bool) -> JudgedClaim:
    found = float(estimate) if isfinite(estimate) else None
    if found is None or not whole or np.isnan(low) or np.isnan(high):
        return JudgedClaim("not told", found, None, None)
    below, above = high < bound, low > bound
    holds, fails = (below, above) if relation == "<" else (above, below)
    outcome: Holding = "holds" if holds else "does not hold" if fails else "not told"
    ends = [float(end) if isfinite(end) else None for end in (low, high)]
    return JudgedClaim(outcome, found, ends[0], ends[1])
