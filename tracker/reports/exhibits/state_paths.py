"""Exhibits: the path of whatever else the samplers record of their state, drawn from their declarations.

S has more to it, its bounds and its resets: see ``skew_path``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.formatting import number
from tracker.metrics.averages import FEWEST_TRIALS, curve_over_trials, no_interval
from tracker.metrics.skew_matrix import rms
from tracker.reports.exhibit import Cell, Exhibit, Omitted, Table
from tracker.reports.exhibits.error_over_time import time_bins
from tracker.reports.figure_style import figure, legend, steps_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tracker.array_types import Array, Integers
    from tracker.metrics.averages import Curve, Scale
    from tracker.reports.run_view import View

SKEW = "skew"  # the array with an exhibit of its own


def samplers_that_record(view: View, array: str) -> tuple[str, ...]:
    """The samplers whose state holds the recorded array, in its own order."""
    return tuple(c.name for c in view.run.problem.contestants if c.records(array))


def exhibits(view: View) -> list[Exhibit | Omitted]:
    """Draw each recorded array of the states, but for S; none where only theta and S are recorded."""
    declared = {one.name: one for c in view.run.problem.contestants for one in c.recorded}
    return [
        _exhibit(view, one.name, one.label, one.unit, one.long_name, entries=bool(one.axis))
        for one in declared.values()
        if one.name != SKEW and one.name in view.arrays and not one.by_one  # by one: it has an exhibit of its own
    ]


def _exhibit(view: View, array: str, label: str, unit: str, long_name: str, *, entries: bool) -> Exhibit | Omitted:
    names = samplers_that_record(view, array)
    middle, groups = time_bins(view.recorded)
    key, question, traces = f"state-{array.replace('_', '-')}", f"What becomes of {label}?", view.arrays[array]
    if np.nanmin(traces, initial=np.inf) == np.nanmax(traces, initial=-np.inf):
        return Omitted(key, question, f"it stays {number(float(np.nanmax(traces)))}.")
    sizes = rms(traces) if entries else traces
    curves = {name: over_time(view, name, sizes[:, n], groups) for n, name in enumerate(names)}
    what = f"root mean square of {label}" if entries else label
    with figure(height=2.9) as fig:
        ax = fig.subplots()
        draw_curves(ax, view, middle, curves)
        ax.set_xlabel("step k")
        steps_axis(ax)
        ax.set_title(f"{what}, mean over trials")
        legend(fig, ax)
    moves = "; ".join(
        f"{name} from {number(curve.mean[0])} to {number(curve.mean[-1])}" for name, curve in curves.items()
    )
    bands = (
        "bands are 95 % intervals over trials"
        if view.trials >= FEWEST_TRIALS
        else f"no bands: {no_interval(view.trials)}"
    )
    caption = f"{long_name[:1].upper()}{long_name[1:]}, in the first and the last stretch of the run: {moves}{f' ({unit})' if unit != '1' else ''}; {bands}."
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (name, *(float(c.mean[k]) for k in (0, len(c.mean) // 2, -1))) for name, c in curves.items()
    )
    table = Table(("sampler", f"{what}, first stretch", "middle", "last"), rows)
    alt = f"{what} over time for {len(names)} samplers, with bands over trials."
    return Exhibit(key, question, caption, alt, fig, table)


def over_time(view: View, name: str, trace: Array, groups: Integers, scale: Scale = "any") -> Curve:
    """Return the mean over trials of a trace (T, R) in each stretch of records; diverged trials are left out."""
    kept = trace[view.kept[:, view.index(name)]]
    return curve_over_trials(np.add.reduceat(kept, groups, axis=1) / np.diff(np.r_[groups, trace.shape[1]]), scale)


def draw_curves(ax: Axes, view: View, middle: Array, curves: dict[str, Curve]) -> None:
    """Draw means with their bands."""
    for name, curve in curves.items():
        look, (low, high) = view.looks[name], curve.interval
        ax.plot(middle, curve.mean, color=look.color, linestyle=look.linestyle, label=name, gid=view.gid(name) or None)
        if np.isfinite(low).any():
            ax.fill_between(middle, low, high, color=look.color, alpha=0.14, linewidth=0, gid=view.gid(name) or None)
