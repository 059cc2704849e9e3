"""Exhibit: the running mean of the iterates against the mean of the law, for runs with one mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.formatting import number
from tracker.metrics.averages import curve_over_trials, running_mean
from tracker.reports.exhibit import Cell, Exhibit, Omitted, Table
from tracker.reports.figure_style import figure, from_zero, legend, log_axis

if TYPE_CHECKING:
    from tracker.array_types import Array, Integers
    from tracker.metrics.averages import Curve
    from tracker.reports.run_view import View


KEY, QUESTION = "running-mean", "How soon does the running mean settle?"
SHOWN = 60


def exhibit(view: View) -> Exhibit | Omitted:
    """Draw the distance from the running mean of theta to the mean of Gibbs' law."""
    if len(view.modes) > 1:
        return Omitted(KEY, QUESTION, "with several modes there is no one mean to settle at.")
    try:
        truth = posterior_mean(view)
    except ValueError as reason:
        return Omitted(KEY, QUESTION, f"{reason}.")
    first = int(np.searchsorted(view.recorded, view.scenario.burn_in))
    steps = view.recorded[first:]
    rows = np.unique(np.geomspace(1, len(steps), SHOWN).astype(int)) - 1
    # without baselines: the oracle stands at the minimiser, which is not the mean of the law, and would look worst of all
    curves = {name: _distance(view, name, truth, first, rows) for name in view.samplers}
    with figure(height=2.9) as fig:
        ax = fig.subplots()
        for name, curve in curves.items():
            look, mean, (low, high) = view.looks[name], curve.mean, curve.interval
            ax.plot(
                np.maximum(steps[rows], 1),
                mean,
                color=look.color,
                linestyle=look.linestyle,
                label=name,
                gid=view.gid(name) or None,
            )
            ax.fill_between(
                np.maximum(steps[rows], 1),
                low,
                high,
                color=look.color,
                alpha=0.14,
                linewidth=0,
                gid=view.gid(name) or None,
            )
        log_axis(ax)
        from_zero(ax, (curve.mean for curve in curves.values()))
        ax.set_xlabel("step k")
        ax.set_title("distance from the running mean of θ to the mean of the law")
        legend(fig, ax)
    ends = {name: float(curves[name].mean[-1]) for name in view.samplers}
    best, worst = min(ends, key=lambda n: ends[n]), max(ends, key=lambda n: ends[n])
    caption = f"At the end the running mean of {best} is {number(ends[best])} from the mean of Gibbs' law"
    caption += f", that of {worst} {number(ends[worst])}" if worst != best else ""
    bands = "mean over trials with 95 % bands" if view.trials > 1 else "one trial gives no band"
    caption += f"; from the recorded points, {bands}."
    alt = f"Distance of the running mean to the exact mean against steps, for {len(view.samplers)} samplers."
    return Exhibit(KEY, QUESTION, caption, alt, fig, _table(curves, steps[rows]))


def posterior_mean(view: View) -> Array:
    """Return the mean of Gibbs' law of the first mode; ValueError where it is not known."""
    from tracker.limits import gibbs_marginal

    temperatures = {sampler.beta for sampler in view.scenario.samplers}
    if len(temperatures) > 1:
        raise ValueError("the samplers run at different temperatures")
    laws = [gibbs_marginal(view.modes[0], float(min(temperatures)), d) for d in range(view.scenario.dimension)]
    return np.array([float(np.trapezoid(law.points * law.density, law.points)) for law in laws])


def _distance(view: View, name: str, truth: Array, first: int, rows: Integers) -> Curve:
    n = view.index(name)
    trace = view.arrays["theta"][view.kept[:, n], n]
    return curve_over_trials(np.sqrt(((running_mean(trace, first)[:, rows] - truth) ** 2).sum(axis=-1)), "positive")


def _table(curves: dict[str, Curve], steps: Integers) -> Table:
    shown = np.unique(np.linspace(0, len(steps) - 1, 8).astype(int))
    columns = ("at step", *(f"{name}{part}" for name in curves for part in ("", " ±")))
    body: list[tuple[Cell, ...]] = [
        (f"{steps[r]}", *(float(part[r]) for curve in curves.values() for part in (curve.mean, curve.stderr)))
        for r in shown
    ]
    return Table(columns, tuple(body))
