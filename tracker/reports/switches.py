"""After a switch: the error by the number of steps since, and how soon the new target is reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.metrics.recovery import survival
from tracker.metrics.switches import mean_per_step
from tracker.reports.exhibit import Exhibit, Omitted, Table
from tracker.reports.style import RULE, figure, from_zero, legend, log_axis
from tracker.reports.words import number, percent
from tracker.runs.summary import ERROR, STEPS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tracker.metrics.averages import Curve
    from tracker.reports.view import View

    Array = NDArray[np.float64]

KEY, QUESTION = "after-a-switch", "How soon after a switch are they back?"
FEWEST_VISITS = 10  # visits to an age, over all trials, below which a mean is not drawn
FIRST_AGE = 0.8  # where age 0 is drawn


def exhibit(view: View) -> Exhibit | Omitted:
    """Draw the error aligned at switches, and the share that has re-acquired the target."""
    if view.switches == 0:
        reason = "one mode, so nothing switches." if len(view.modes) == 1 else "no switch happened in this run."
        return Omitted(KEY, QUESTION, reason)
    curves = {name: aligned(view, name) for name in view.names}
    if not any(np.isfinite(curve.mean).any() for curve in curves.values()):
        return Omitted(KEY, QUESTION, f"fewer than {FEWEST_VISITS} visits in all trials: too few for a mean.")
    with figure(height=4.9 if view.has_targets else 2.9) as fig:
        axes = np.atleast_1d(fig.subplots(1 + view.has_targets, 1, sharex=True))
        _errors(axes[0], view, curves)
        if view.has_targets:
            _arrivals(axes[1], view)
        axes[-1].set_xlabel("steps since the switch")
        axes[-1].set_xlim(FIRST_AGE, view.scenario.steps)
        legend(fig, axes[0])
    return Exhibit(KEY, QUESTION, _caption(view), _alt(view), fig, _table(view))


def aligned(view: View, name: str) -> Curve:
    """Return the mean error at each age after a switch."""
    n = view.index(name)
    kept = view.kept[:, n]
    sums = view.arrays["by_age"][:, n]
    sums = sums if kept.all() else sums[kept]
    curve = mean_per_step(sums[..., ERROR], sums[..., STEPS])
    width = np.diff(view.age_edges)
    seen = sums[..., STEPS].sum(axis=0) / width  # so many visits reached this age, about
    curve.mean[seen < FEWEST_VISITS] = np.nan
    return curve


def _errors(ax: Axes, view: View, curves: dict[str, Curve]) -> None:
    middle = _middles(view.age_edges)
    for name, curve in curves.items():
        look, mean, reach = view.looks[name], curve.mean, curve.reach
        ax.plot(middle, mean, color=look.color, linestyle=look.linestyle, label=name)
        band = np.isfinite(mean) & np.isfinite(reach)
        low, high = (mean - reach)[band], (mean + reach)[band]
        ax.fill_between(middle[band], low, high, color=look.color, alpha=0.14, linewidth=0)
    log_axis(ax)
    from_zero(ax, (curve.mean for curve in curves.values()))
    ax.set_title("mean error by steps since the switch")


def _arrivals(ax: Axes, view: View) -> None:
    edges = view.wait_edges
    for name in view.names:
        waits = _pooled(view, name)
        if not waits.any():
            continue
        alive = survival(waits.astype(float))
        last = int(np.flatnonzero(waits.sum(axis=1))[-1]) + 1
        look = view.looks[name]
        # age 0 stands at the left edge of the logarithmic axis; the last level is held to the age of the last wait
        at = np.r_[np.maximum(edges[1 : last + 1] - 1, FIRST_AGE), max(edges[last], 2)]
        arrived = 1.0 - alive[:last]
        ax.step(at, np.r_[arrived, arrived[-1]], where="post", color=look.color, linestyle=look.linestyle)
    ax.axhline(0.5, color=RULE, linewidth=1.2)
    ax.set_ylim(0.0, 1.02)
    ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    ax.set_title("share back inside the target (Kaplan-Meier)")


def _pooled(view: View, name: str) -> NDArray[np.int64]:
    n = view.index(name)
    return np.asarray(view.arrays["waits"][:, n].sum(axis=0, where=view.kept[:, n, None, None]))


def _middles(edges: NDArray[np.int64]) -> Array:
    """The geometric middle of each bin of ages; age 0 stands left of 1, where the logarithmic axis begins."""
    return np.asarray(np.sqrt(np.maximum(edges[:-1], FIRST_AGE) * np.maximum(edges[1:] - 1, FIRST_AGE)))


def _caption(view: View) -> str:
    head = f"Over {view.switches} switches"
    if not view.has_targets:
        return f"{head}, the error by age of the visit; the modes share their minimisers, so re-acquisition has no meaning."
    if not view.alive:
        return f"{head}; every trial of every sampler diverged."
    medians = {name: view.summary[name]["recovery"]["median"] for name in view.alive}
    censored = {name: view.summary[name]["recovery"]["censored"] for name in view.alive}
    reached = {name: median for name, median in medians.items() if median is not None}
    if not reached:
        return f"{head}, no sampler was back inside the target after half of them before the next switch."
    soonest, latest = min(reached, key=lambda n: reached[n]), max(reached, key=lambda n: reached[n])
    text = f"{head}, {soonest} was back inside the target within a median of {number(reached[soonest])} steps"
    if latest != soonest:
        text += f", {latest} within {number(reached[latest])}"
    if missing := [name for name in medians if name not in reached]:
        text += f"; {', '.join(missing)} not in half of the cases"
    shares = [share for share in censored.values() if share is not None]
    few, many = percent(min(shares)), percent(max(shares))
    range_ = few if few == many else f"{few} to {many}"
    return f"{text}; {range_} of the waits were cut short by the next switch or the end."


def _alt(view: View) -> str:
    second = (
        ", and the share of switches after which each sampler is back inside the target" if view.has_targets else ""
    )
    return f"Mean error against steps since a switch on a logarithmic axis for {len(view.samplers)} samplers{second}."


def _table(view: View) -> Table:
    rows = []
    for n, name in enumerate(view.names):
        recovery = view.summary[name]["recovery"]
        wait = view.restricted_wait[:, n]
        mean = float(np.nanmean(wait)) if np.isfinite(wait).any() else None
        rows.append((name, *(recovery[key] for key in ("median", "low", "high", "censored")), mean))
    columns = ("sampler", "median steps", "low", "high", "censored share", f"mean within {view.horizon} steps")
    return Table(columns, tuple(rows))
