"""Exhibit: the error over time, means over trials with bands, beside the two baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.baseline_names import FROZEN, ORACLE
from tracker.formatting import listed, number, plus_minus, whole
from tracker.metrics.averages import FEWEST_TRIALS, curve_over_trials, no_interval
from tracker.reports.exhibit import Cell, Exhibit, Omitted, Table
from tracker.reports.figure_style import LOGARITHMIC_FROM, MUTED, RULE, figure, legend, short, shorten, steps_axis
from tracker.reports.shown_samplers import best_reference_worst

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tracker.array_types import Array, Integers
    from tracker.metrics.averages import Curve
    from tracker.reports.run_view import View


KEY, QUESTION = "error-over-time", "How far from the minimiser are they, over time?"
PANELS = {1: "One panel", 2: "Two panels"}
ASKED_OF_COSTS = "What do they lose, over time?"
MOST_BINS = 25
TABLE_ROWS = 10
FAR_ABOVE = 8.0
THOUSANDS = 1e4  # from here on an axis counts in thousands
MOST_LINES = 3  # samplers in one panel; more have a panel each
MOST_PANELS, PANELS_IN_A_ROW = 15, 3


def exhibit(view: View) -> Exhibit | Omitted:
    """Draw the recorded errors and excess costs, averaged over stretches of time and over trials."""
    question = ASKED_OF_COSTS if view.no_distance else QUESTION
    if not view.kept[:, : len(view.samplers)].any():
        return Omitted(KEY, question, "every trial of every sampler diverged.")
    middle, groups = time_bins(view.recorded)
    traces = {"excess cost": "excess"} if view.no_distance else {"tracking error": "error", "excess cost": "excess"}
    curves = {
        title: {name: means_in_stretches(view, trace, name, groups) for name in view.names}
        for title, trace in traces.items()
    }
    first = next(iter(curves.values()))
    fig = _small_multiples(view, middle, first) if len(view.alive) > MOST_LINES else _together(view, middle, curves)
    caption, alt = _caption(view, first, len(middle)), _alt(view, list(curves))
    return Exhibit(KEY, question, caption, alt, fig, _table(view, middle, first), _method(view))


def _together(view: View, middle: Array, curves: dict[str, dict[str, Curve]]) -> Figure:
    """All samplers in one panel for each quantity: for a few samplers."""
    with figure(height=2.3 * len(curves) + 0.6 * (len(curves) == 1)) as fig:
        axes = np.atleast_1d(fig.subplots(len(curves), 1, sharex=True))
        for ax, (title, own) in zip(axes, curves.items(), strict=True):
            ax.set_title(title + _draw(ax, view, middle, own))
        axes[-1].set_xlabel("step k")
        steps_axis(axes[-1])
        legend(fig, axes[0])
    return fig


def _small_multiples(view: View, middle: Array, error: dict[str, Curve]) -> Figure:
    """A panel for each sampler: its own error in colour with its band, that of the others in grey."""
    shown = view.alive if len(view.alive) <= MOST_PANELS else best_reference_worst(view)
    rows = -(-len(shown) // PANELS_IN_A_ROW)
    means = {name: curve.mean[np.isfinite(curve.mean)] for name, curve in error.items() if name in view.alive}
    least, most = (f([f(mean) for mean in means.values() if mean.size]) for f in (min, max))
    with figure(height=0.5 + 1.15 * rows) as fig:
        axes = fig.subplots(rows, min(PANELS_IN_A_ROW, len(shown)), sharex=True, sharey=True, squeeze=False)
        for ax, name, title in zip(axes.flat, shown, shorten(shown, 12), strict=False):
            for other in view.alive:
                if other != name:
                    ax.plot(middle, error[other].mean, color=RULE, linewidth=0.7, zorder=1)
            curve, look = error[name], view.looks[name]
            low, high = curve.interval
            ax.fill_between(middle, low, high, color=look.color, alpha=0.2, linewidth=0, gid=view.gid(name) or None)
            ax.plot(middle, curve.mean, color=look.color, linewidth=1.4, gid=view.gid(name) or None)
            ax.set_title(title, color=look.color)
            if FROZEN in error:
                ax.plot(middle, error[FROZEN].mean, color=MUTED, linewidth=0.9, linestyle=(0, (1, 2)), zorder=1)
        for ax in axes.flat[len(shown) :]:
            ax.set_visible(False)
        if least > 0.0 and most > LOGARITHMIC_FROM * least:
            axes[0, 0].set_yscale("log")
            axes[0, 0].yaxis.set_major_formatter(lambda value, _: short(value))
            axes[0, 0].set_ylim(0.7 * least, 1.5 * most)
        else:
            axes[0, 0].set_ylim(0.0, 1.25 * most)
        steps_axis(axes[0, 0])
        axes[0, 0].locator_params(axis="x", nbins=3)
    return fig


def time_bins(recorded: Integers) -> tuple[Array, Integers]:
    """Return the middles (B,) of at most 25 stretches of records, and the first record of each."""
    count = min(MOST_BINS, len(recorded))
    first = np.unique(np.linspace(0, len(recorded), count + 1).astype(int)[:-1])
    stop = np.r_[first[1:], len(recorded)]
    return (recorded[first] + recorded[stop - 1]) / 2.0, first


def means_in_stretches(view: View, quantity: str, name: str, groups: Integers) -> Curve:
    """Return the mean over trials in each stretch; diverged trials are left out."""
    n = view.index(name)
    trace, kept = view.arrays[quantity][:, n], view.kept[:, n]
    trace = trace if kept.all() else trace[kept]
    widths = np.diff(np.r_[groups, trace.shape[1]])
    return curve_over_trials(np.add.reduceat(trace, groups, axis=1) / widths, "positive")


def _draw(ax: Axes, view: View, middle: Array, curves: dict[str, Curve]) -> str:
    """Draw the curves; return what the title must say of the scale."""
    for name, curve in curves.items():
        look, mean, (low, high) = view.looks[name], curve.mean, curve.interval
        ax.plot(middle, mean, color=look.color, linestyle=look.linestyle, label=name, gid=view.gid(name) or None)
        if name in view.samplers and np.isfinite(low).any():
            ax.fill_between(middle, low, high, color=look.color, alpha=0.12, linewidth=0, gid=view.gid(name) or None)
    if (lowest := _floor_of_logarithm(view, curves)) > 0.0:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(lambda value, _: short(value))
        ax.set_ylim(0.7 * lowest, 1.5 * max(float(np.nanmax(curve.mean, initial=0.0)) for curve in curves.values()))
        return ", logarithmic (the oracle's is 0)" if ORACLE in curves else ", logarithmic"
    top = max(_top(curve.mean) for curve in curves.values())
    ax.set_ylim(min(0.0, -0.02 * top), 1.1 * top or 1.0)
    if top >= THOUSANDS:
        ax.yaxis.set_major_formatter(lambda value, _: short(value))
    highest = max(float(np.nanmax(curve.mean, initial=0.0)) for curve in curves.values())
    return f", cut off: it reaches {number(highest)}" if highest > 1.1 * top else ""


def _floor_of_logarithm(view: View, curves: dict[str, Curve]) -> float:
    """Return the lowest point of the samplers where standing still is so far above them that a plain scale would hide them."""
    if FROZEN not in curves:
        return 0.0
    means = np.array([curves[name].mean for name in view.samplers])
    means = means[np.isfinite(means)]
    still = float(np.nanmedian(curves[FROZEN].mean))
    hidden = means.size and means.min() > 0.0 and still > FAR_ABOVE * float(np.median(means))
    return float(means.min()) if hidden else 0.0


def _top(mean: Array) -> float:
    """The height of a curve, without a first excursion that would flatten all else."""
    finite = mean[np.isfinite(mean)]
    if not finite.size:
        return 0.0
    usual = 4.0 * float(np.median(finite))
    return min(float(finite.max()), usual) if usual > 0.0 else float(finite.max())


def _caption(view: View, error: dict[str, Curve], bins: int) -> str:
    half = bins // 2
    late = {
        name: float(np.nanmean(error[name].mean[half:])) for name in view.names if np.isfinite(error[name].mean).any()
    }
    own = {name: late[name] for name in view.samplers if name in late}
    best, worst = min(own, key=lambda n: own[n]), max(own, key=lambda n: own[n])
    among = (
        f"from {number(own[best])} ({best}) to {number(own[worst])} ({worst})" if best != worst else number(own[best])
    )
    beside = {FROZEN: "standing still", ORACLE: "knowing the mode"}
    told = [f"{number(late.get(name))} for {words}" for name, words in beside.items() if name in view.names]
    against = f", against {listed(told)}" if told else ""
    what = "excess cost" if view.no_distance else "error"
    return f"In the second half of the run the {what} is {among}{against}."


def _method(view: View) -> str:
    """How the figure is to be read."""
    bands = (
        "Bands are 95 % intervals over trials."
        if view.trials >= FEWEST_TRIALS
        else f"No bands: {no_interval(view.trials)}."
    )
    return bands + (" Grey: the other samplers; dotted: standing still." if len(view.alive) > MOST_LINES else "")


def _alt(view: View, titles: list[str]) -> str:
    baselines = [f"the {name}" for name in view.names if name not in view.samplers]
    beside = f", beside {listed(baselines)} baseline" if baselines else ""
    return (
        f"{PANELS[len(titles)]} over steps 0 to {view.scenario.steps}: mean {' and mean '.join(titles)} of "
        f"{len(view.samplers)} samplers, with bands{beside}."
    )


def _table(view: View, middle: Array, error: dict[str, Curve]) -> Table:
    rows = np.unique(np.linspace(0, len(middle) - 1, TABLE_ROWS).astype(int))
    body: list[tuple[Cell, ...]] = [
        (whole(middle[r]), *(plus_minus(error[name].mean[r], error[name].stderr[r]) for name in view.names))
        for r in rows
    ]
    return Table(("around step (± standard errors)", *view.names), tuple(body))
