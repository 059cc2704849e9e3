"""Exhibit: the path of S, for samplers that move it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.formatting import number, percent
from tracker.metrics.skew_matrix import rms, share_at_bounds
from tracker.reports.exhibit import Exhibit, Omitted, Table
from tracker.reports.exhibits.error_over_time import time_bins
from tracker.reports.exhibits.state_paths import SKEW, draw_curves, over_time, samplers_that_record
from tracker.reports.figure_style import figure, from_zero, legend, steps_axis

if TYPE_CHECKING:
    from tracker.metrics.averages import Curve
    from tracker.reports.run_view import View

KEY, QUESTION = "skew-path", "What becomes of the skew matrix S?"
MOST_SAMPLERS_IN_A_CAPTION = 4


def samplers_that_move_skew(view: View) -> tuple[str, ...]:
    """The samplers whose S is recorded."""
    return samplers_that_record(view, SKEW)


def bounds(view: View, name: str) -> tuple[float, float]:
    """Return the bounds of S of a sampler that moves it."""
    keys = next(s for s in view.scenario.samplers if s.name == name)
    low, high = keys.skew_bounds  # type: ignore[attr-defined]
    return float(low), float(high)


def at_bounds(view: View, name: str) -> float:
    """Return the share of recorded entries of S that are at a bound."""
    return share_at_bounds(view.arrays[SKEW][:, samplers_that_move_skew(view).index(name)], *bounds(view, name))


def exhibit(view: View) -> Exhibit | Omitted:
    """Draw the size of S over time."""
    names = samplers_that_move_skew(view)
    if not names or view.scenario.dimension < 2:
        return Omitted(KEY, QUESTION, "no sampler moves its S.")
    middle, groups = time_bins(view.recorded)
    sizes = rms(view.arrays[SKEW])
    curves = {name: over_time(view, name, sizes[:, n], groups, "positive") for n, name in enumerate(names)}
    with figure(height=2.9) as fig:
        ax = fig.subplots()
        draw_curves(ax, view, middle, curves)
        from_zero(ax, (curve.mean for curve in curves.values()))
        ax.set_xlabel("step k")
        steps_axis(ax)
        ax.set_title("root mean square of S(i, j), i > j, mean over trials")
        legend(fig, ax)
    shares = {name: at_bounds(view, name) for name in names}
    alt = f"Root mean square of the entries of S over time for {len(names)} samplers, with bands over trials."
    return Exhibit(KEY, QUESTION, _caption(view, curves, shares), alt, fig, _table(view, curves, shares))


def _caption(view: View, curves: dict[str, Curve], shares: dict[str, float]) -> str:
    last = {name: float(curve.mean[-1]) for name, curve in curves.items()}
    told = list(curves)
    if len(told) > MOST_SAMPLERS_IN_A_CAPTION:
        told = list(
            dict.fromkeys(
                (min(last, key=last.__getitem__), max(last, key=last.__getitem__), max(shares, key=shares.__getitem__))
            )
        )
    parts = []
    for name in told:
        mean = curves[name].mean
        low, high = bounds(view, name)
        held = f", at its bounds [{low:g}, {high:g}] {percent(shares[name])} of the time" if shares[name] > 0.0 else ""
        parts.append(f"{name} from {number(float(mean[0]))} to {number(float(mean[-1]))}{held}")
    resets = sum(int(view.summary[name]["resets"]) for name in curves)
    guard = f"; the tangent process was reset {resets} times" if resets else ""
    some = ", the smallest, the largest and the one most at its bounds" if len(told) < len(curves) else ""
    return f"Size of S in the first and the last stretch of the run{some}: {'; '.join(parts)}{guard}."


def _table(view: View, curves: dict[str, Curve], shares: dict[str, float]) -> Table:
    rows: list[tuple[str | float | None, ...]] = []
    for name in view.names:
        if name in curves:
            mean = curves[name].mean
            row = (
                float(mean[0]),
                float(mean[len(mean) // 2]),
                float(mean[-1]),
                shares[name],
                int(view.summary[name]["resets"]),
            )
            rows.append((name, *row))
        else:
            final = view.arrays["final_skew"][:, view.index(name)]
            has = np.isfinite(final).any()
            still = float(np.nanmean(rms(final))) if has else None
            rows.append((name, still, still, still, None, None))
    return Table(("sampler", "rms of S, first stretch", "middle", "last", "share at bounds", "resets"), tuple(rows))
