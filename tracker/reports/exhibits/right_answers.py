"""Exhibit: how often a classifier is right, by the steps since the last switch, from the recorded points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.baseline_names import FROZEN
from tracker.costs.base import right_shares
from tracker.formatting import MOST_NAMES, percent, whole
from tracker.metrics.after_switch import mean_per_step
from tracker.reports.exhibit import Exhibit, Table
from tracker.reports.figure_style import figure, legend, steps_axis

if TYPE_CHECKING:
    from tracker.array_types import Array, Booleans, Integers
    from tracker.metrics.averages import Curve
    from tracker.reports.run_view import View

KEY, QUESTION = "right-answers", "How often is it right after a switch?"
METHOD = "By the recorded points; bands are 95 % intervals over trials."
BINS = 12
ROOM_BELOW = 0.15  # of the height, below the lowest sampler
OLDEST = 0.9  # quantile of the ages that are drawn: few visits last longer
MOST_RECORDS = 4000  # of a sampler, evenly thinned


def exhibits(view: View) -> list[Exhibit]:
    """Draw the share of right answers by age of the visit; nothing where no cost has labels, or nothing switches."""
    ages = ages_of_records(view.arrays["mode"], view.scenario.record_every)
    counted = (ages >= 0) & view.averaged
    if not view.score.share or not counted.any() or not view.alive:
        return []
    edges = edges_of(ages[counted])
    curves = {name: curve for name in view.names if (curve := _curve(view, name, ages, counted, edges)) is not None}
    if len(edges) < 3 or not all(name in curves for name in view.alive):
        return []
    middle = _mean_ages(ages[counted], edges)
    with figure(height=2.9) as fig:
        ax = fig.subplots()
        for name, curve in curves.items():
            look, gid = view.looks[name], view.gid(name) or None
            ax.plot(middle, curve.mean, color=look.color, linestyle=look.linestyle, label=name, gid=gid)
            low, high = curve.interval
            if name in view.samplers and np.isfinite(low).any():
                ax.fill_between(middle, low, high, color=look.color, alpha=0.12, linewidth=0, gid=gid)
        lowest = min(float(np.nanmin(curves[name].mean)) for name in view.alive)
        top = ax.get_ylim()[1]
        ax.set_ylim(max(0.0, lowest - ROOM_BELOW * (top - lowest)), top)  # standing still does not set the scale
        ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
        ax.set_title("share of the rows that are right")
        ax.set_xlabel("steps since the switch")
        steps_axis(ax)
        legend(fig, ax)
    alt = f"Share of right answers against steps since a switch for {len(curves)} samplers and baselines."
    rows = [(whole(at), *(percent(float(curves[name].mean[i])) for name in curves)) for i, at in enumerate(middle)]
    return [
        Exhibit(KEY, QUESTION, _caption(view, curves, middle), alt, fig, Table(("steps", *curves), tuple(rows)), METHOD)
    ]


def ages_of_records(mode: Integers, every: int) -> Integers:
    """Return the steps of each record (trial, record) since the first record of its visit; -1 before the first switch."""
    changed = np.zeros(mode.shape, dtype=bool)
    changed[:, 1:] = mode[:, 1:] != mode[:, :-1]
    last = np.maximum.accumulate(np.where(changed, np.arange(mode.shape[1]), -1), axis=1)
    return np.where(last >= 0, (np.arange(mode.shape[1]) - last) * every, -1)


def edges_of(ages: Integers) -> Integers:
    """Return the edges of bins of ages, none of which is empty: of a short visit there are few records, and gaps between them."""
    oldest = int(np.quantile(ages, OLDEST))
    edges = np.unique(np.linspace(0, oldest + 1, BINS + 1).astype(int))
    full = np.histogram(ages[ages <= oldest], edges)[0] > 0
    return np.append(edges[:-1][full], edges[-1])


def _mean_ages(ages: Integers, edges: Integers) -> Array:
    """The mean age of the records in each bin."""
    drawn = ages[ages < edges[-1]]
    return np.asarray(np.histogram(drawn, edges, weights=drawn)[0] / np.histogram(drawn, edges)[0])


def _curve(view: View, name: str, ages: Integers, counted: Booleans, edges: Integers) -> Curve | None:
    """The share that is right in each bin of ages, with intervals over trials; None where a cost does not tell it."""
    n, bins = view.index(name), len(edges) - 1
    theta = view.seen(n)
    places = np.argwhere(counted & view.kept[:, n, np.newaxis] & np.isfinite(theta).all(axis=-1) & (ages < edges[-1]))
    places = places[:: max(1, -(-len(places) // MOST_RECORDS))]
    trial, record = places.T
    right = np.full(len(places), np.nan)
    for x, mode in enumerate(view.modes):
        here = view.arrays["mode"][trial, record] == x
        found = right_shares(mode.cost, np.ascontiguousarray(theta[trial[here], record[here]], dtype=np.float64))
        if found.size != here.sum():
            return None
        right[here] = found
    cell = trial * bins + np.searchsorted(edges, ages[trial, record], side="right") - 1
    shape = (view.trials, bins)
    weights = (right, np.ones(len(right)))
    sums, steps = (np.bincount(cell, one, view.trials * bins).astype(np.float64).reshape(shape) for one in weights)
    return mean_per_step(sums, steps)


def _caption(view: View, curves: dict[str, Curve], middle: Array) -> str:
    """The first and the last stretch of the best sampler and of a few more."""
    order = sorted(view.alive, key=lambda name: -float(np.nan_to_num(curves[name].mean[-1])))
    told = order if len(order) <= MOST_NAMES else [order[0], order[-1]]
    parts = [
        f"{name} from {percent(float(curves[name].mean[0]))} to {percent(float(curves[name].mean[-1]))}"
        for name in told
    ]
    rest = f" ({len(order) - len(told)} others between)" if len(told) < len(order) else ""
    span = f"from {whole(middle[0])} to {whole(middle[-1])} steps after a switch"
    still = f"; standing still {percent(float(np.nanmean(curves[FROZEN].mean)))}" if FROZEN in curves else ""
    return f"Right answers {span}: {', '.join(parts)}{rest}{still}."
