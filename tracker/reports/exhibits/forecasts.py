"""Exhibit: what forecasts of the rows lose over time, each made before the row is learnt from, under the hidden mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.formatting import counted, listed, number
from tracker.metrics.averages import curve_over_trials
from tracker.reports.exhibit import Exhibit, Omitted, Table
from tracker.reports.figure_style import MODES, figure, from_zero, legend_of, mode_colours, steps_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tracker.array_types import Array, Integers
    from tracker.metrics.averages import Curve
    from tracker.reports.run_view import View

KEY, QUESTION = "forecasts", "How well are the next rows foretold?"
MOST_STRETCHES = 60
FEWEST_STRETCHES = 2
MOST_STAYS = 24  # in one panel whose ends can be seen
LAST_STAYS = 12  # that have a panel of their own, where there are more
USUAL = 0.95  # of all stretches decide how high a panel is


def exhibit(view: View) -> Exhibit | Omitted:
    """Draw the loss of forecasts in stretches of time, mean over trials; where the mode turns often, the last turns once more."""
    if "prequential" not in view.arrays:
        return Omitted(KEY, QUESTION, "rows do not come in an order of their own, so nothing is foretold.")
    edges = _edges(0, len(view.recorded) - 1)
    if len(edges) <= FEWEST_STRETCHES:
        return Omitted(KEY, QUESTION, "too few records.")
    turns = _turns(view)
    close = _edges(int(turns[-LAST_STAYS]), len(view.recorded) - 1) if len(turns) >= MOST_STAYS else None
    panels = [edges] if close is None else [edges, close]
    with figure(height=3.1 if close is None else 5.2) as fig:
        axes = fig.subplots(len(panels), 1, squeeze=False)[:, 0]
        for ax, own in zip(axes, panels, strict=True):
            _panel(ax, view, own)
        axes[0].set_title("mean loss of a forecast")
        if close is None:
            _stays(axes[0], view, edges)
        else:
            axes[1].set_title(f"the last {LAST_STAYS} turns of the mode")
            _stays(axes[1], view, close)
        axes[-1].set_xlabel("step k")
        _legend(fig, axes[0], view)
    alt = f"Mean loss of forecasts over time for {len(view.names)} samplers and baselines, the hidden mode behind."
    return Exhibit(KEY, QUESTION, _caption(view, close is not None), alt, fig, _table(view, edges))


def _edges(first: int, last: int) -> Array:
    return np.unique(np.linspace(first, last, min(MOST_STRETCHES, last - first) + 1).astype(int))


def _turns(view: View) -> Integers:
    """Return the records from which on another mode holds, in the first trial."""
    return np.flatnonzero(np.diff(view.arrays["mode"][0]) != 0) + 1


def _losses(view: View, name: str, edges: Array) -> Curve:
    """Return the mean loss of a forecast between the records at ``edges``."""
    n = view.index(name)
    total = view.arrays["prequential"][view.kept[:, n], n][:, edges]
    return curve_over_trials(np.diff(total, axis=1) / np.diff(view.recorded[edges]), "positive")


def _middle(view: View, edges: Array) -> Array:
    return np.asarray((view.recorded[edges[1:]] + view.recorded[edges[:-1]]) / 2.0)


def _panel(ax: Axes, view: View, edges: Array) -> None:
    means = []
    for name in view.names:
        look, curve = view.looks[name], _losses(view, name, edges)
        means.append(curve.mean)
        ax.plot(
            _middle(view, edges),
            curve.mean,
            color=look.color,
            linestyle=look.linestyle,
            label=name,
            gid=view.gid(name) or None,
        )
        low, high = curve.interval
        if name in view.samplers and np.isfinite(low).any():
            ax.fill_between(_middle(view, edges), low, high, color=look.color, alpha=0.12, linewidth=0)
    ax.set_xlim(view.recorded[edges[0]], view.recorded[edges[-1]])
    steps_axis(ax)
    usual = [np.nanquantile(mean, USUAL) for mean in means if np.isfinite(mean).any()]
    from_zero(ax, [np.array(usual)])


def _stays(ax: Axes, view: View, edges: Array) -> None:
    """Draw the mode of the first trial behind the curves."""
    mode, steps, colours = view.arrays["mode"][0], view.recorded, mode_colours(len(view.modes))
    first, last = edges[0], edges[-1]
    inside = [turn for turn in _turns(view) if first < turn < last]
    for begin, stop in zip([first, *inside], [*inside, last], strict=True):
        if mode[begin] >= 0:
            ax.axvspan(steps[begin], steps[stop], color=colours[int(mode[begin])], alpha=0.25, linewidth=0)
    ax.grid(visible=False, axis="x")


def _legend(fig: Figure, ax: Axes, view: View) -> None:
    """Name the lines, and the colours of the modes where there are not too many."""
    from matplotlib.patches import Patch

    handles, names = ax.get_legend_handles_labels()
    colours = mode_colours(len(view.modes))
    if 1 < len(colours) <= len(MODES):
        handles += [Patch(color=colour, alpha=0.5) for colour in colours]
        names += view.mode_names
    legend_of(fig, handles, names)


def _caption(view: View, close: bool) -> str:
    rows = {row["name"]: row.get("prequential_loss") for row in view.run.summary["samplers"]}
    told = [
        f"{name} {number(row['mean'])}" for name, row in rows.items() if row is not None and row["mean"] is not None
    ]
    turns = len(_turns(view))
    below = f"; below, the last {LAST_STAYS} turns" if close else ""
    changed = f" The mode turned {counted(turns, 'time')}{below}." if turns else ""
    return f"Predict, then learn: the loss of θ on the row of each step. On average: {listed(told)}.{changed}"


def _table(view: View, edges: Array) -> Table:
    middle, curves = _middle(view, edges), {name: _losses(view, name, edges) for name in view.names}
    every = max(1, len(middle) // 12)
    rows = [
        (int(at), *(float(curves[name].mean[i]) for name in view.names))
        for i, at in enumerate(middle)
        if i % every == 0
    ]
    return Table(("step", *view.names), tuple(rows))
