"""Exhibit: what forecasts of the rows lose over time, each made before the row is learnt from, under the hidden mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.formatting import listed, number
from tracker.metrics.averages import curve_over_trials
from tracker.reports.exhibit import Exhibit, Omitted, Table
from tracker.reports.figure_style import figure, legend, mode_colours, steps_axis

if TYPE_CHECKING:
    from tracker.array_types import Array
    from tracker.metrics.averages import Curve
    from tracker.reports.run_view import View

KEY, QUESTION = "forecasts", "How well are the next rows foretold?"
MOST_STRETCHES = 60
FEWEST_STRETCHES = 2
MOST_BANDS = 400  # stays that are drawn as bands; more would be a blur


def exhibit(view: View) -> Exhibit | Omitted:
    """Draw the loss of forecasts in stretches of time, mean over trials."""
    if "prequential" not in view.arrays:
        return Omitted(KEY, QUESTION, "rows do not come in an order of their own, so nothing is foretold.")
    edges = _edges(len(view.recorded))
    if len(edges) <= FEWEST_STRETCHES:
        return Omitted(KEY, QUESTION, "too few records.")
    middle = (view.recorded[edges[1:]] + view.recorded[edges[:-1]]) / 2.0
    curves = {name: _losses(view, view.index(name), edges) for name in view.names}
    with figure(height=3.1) as fig:
        ax = fig.subplots()
        turned = _bands(ax, view)
        for name, curve in curves.items():
            look = view.looks[name]
            ax.plot(middle, curve.mean, color=look.color, linestyle=look.linestyle, label=name)
            low, high = curve.interval
            if name in view.samplers and np.isfinite(low).any():
                ax.fill_between(middle, low, high, color=look.color, alpha=0.12, linewidth=0)
        ax.set_title(f"mean loss of a forecast{turned}")
        ax.set_xlabel("step k")
        ax.set_xlim(0, view.recorded[-1])
        steps_axis(ax)
        legend(fig, ax)
    alt = f"Mean loss of forecasts over time for {len(view.names)} samplers and baselines, the hidden mode behind."
    return Exhibit(KEY, QUESTION, _caption(view), alt, fig, _table(view, middle, curves))


def _edges(records: int) -> Array:
    return np.unique(np.linspace(0, records - 1, min(MOST_STRETCHES, records - 1) + 1).astype(int))


def _losses(view: View, n: int, edges: Array) -> Curve:
    """Return the mean loss of a forecast between the records at ``edges``."""
    total = view.arrays["prequential"][view.kept[:, n], n][:, edges]
    return curve_over_trials(np.diff(total, axis=1) / np.diff(view.recorded[edges]), "positive")


def _bands(ax: object, view: View) -> str:
    """Draw the mode of the first trial behind the curves; return what the title says of it."""
    mode, steps, colours = view.arrays["mode"][0], view.recorded, mode_colours(len(view.modes))
    change = np.flatnonzero(np.diff(mode)) + 1
    if len(view.modes) == 1 or len(change) > MOST_BANDS:
        return ""
    for first, stop in zip(np.r_[0, change], np.r_[change, len(mode) - 1], strict=True):
        if stop > first and mode[first] >= 0:
            ax.axvspan(steps[first], steps[stop], color=colours[int(mode[first])], alpha=0.16, linewidth=0)  # type: ignore[attr-defined]
    return f"; behind: {', '.join(view.mode_names)}" if len(view.modes) <= len(colours) else ""


def _caption(view: View) -> str:
    rows = {row["name"]: row.get("prequential_loss") for row in view.run.summary["samplers"]}
    told = [
        f"{name} {number(row['mean'])}" for name, row in rows.items() if row is not None and row["mean"] is not None
    ]
    turns = int((np.diff(view.arrays["mode"][0]) != 0).sum())
    changed = f" The mode turned {turns} times." if turns else ""
    return f"Predict, then learn: the loss of theta_k on the row of step k. On average: {listed(told)}.{changed}"


def _table(view: View, middle: Array, curves: dict[str, Curve]) -> Table:
    every = max(1, len(middle) // 12)
    rows = [
        (int(at), *(float(curves[name].mean[i]) for name in view.names))
        for i, at in enumerate(middle)
        if i % every == 0
    ]
    return Table(("step", *view.names), tuple(rows))
