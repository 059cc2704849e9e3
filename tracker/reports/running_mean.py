"""The running mean of the iterates against the mean of the law, where one mode lasts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.metrics.averages import running_mean
from tracker.reports.exhibit import Cell, Exhibit, Omitted, Table
from tracker.reports.style import figure, legend, log_axis
from tracker.reports.words import number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tracker.reports.view import View

    Array = NDArray[np.float64]

KEY, QUESTION = "running-mean", "How soon does the running mean settle?"
BAND = 1.96
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
    curves = {name: _distance(view, name, truth, first, rows) for name in view.names}
    with figure(height=2.9) as fig:
        ax = fig.subplots()
        for name, (mean, stderr) in curves.items():
            look = view.looks[name]
            ax.plot(np.maximum(steps[rows], 1), mean, color=look.color, linestyle=look.linestyle, label=name)
            low, high = mean - BAND * stderr, mean + BAND * stderr
            ax.fill_between(np.maximum(steps[rows], 1), low, high, color=look.color, alpha=0.14, linewidth=0)
        log_axis(ax)
        ax.set_ylim(bottom=0.0)
        ax.set_xlabel("step k")
        ax.set_title("distance from the running mean of θ to the mean of the law")
        legend(fig, ax)
    ends = {name: float(curves[name][0][-1]) for name in view.samplers}
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


def _distance(view: View, name: str, truth: Array, first: int, rows: NDArray[np.int64]) -> tuple[Array, Array]:
    n = view.index(name)
    trace = view.arrays["theta"][view.kept[:, n], n]
    away = np.sqrt(((running_mean(trace, first)[:, rows] - truth) ** 2).sum(axis=-1))
    if len(away) == 0:
        return np.full(len(rows), np.nan), np.full(len(rows), np.nan)
    stderr = away.std(axis=0, ddof=1) / np.sqrt(len(away)) if len(away) > 1 else np.full(len(rows), np.nan)
    return away.mean(axis=0), stderr


def _table(curves: dict[str, tuple[Array, Array]], steps: NDArray[np.int64]) -> Table:
    shown = np.unique(np.linspace(0, len(steps) - 1, 8).astype(int))
    columns = ("at step", *(f"{name}{part}" for name in curves for part in ("", " ±")))
    body: list[tuple[Cell, ...]] = [
        (f"{steps[r]}", *(float(part[r]) for pair in curves.values() for part in pair)) for r in shown
    ]
    return Table(columns, tuple(body))
