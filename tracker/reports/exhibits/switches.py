"""Exhibit: the error by the number of steps since a switch, and the wait until the new target is reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.formatting import MOST_NAMES, few, percent, sentence, whole
from tracker.metrics.after_switch import mean_per_step
from tracker.metrics.averages import FEWEST_TRIALS, no_interval
from tracker.metrics.recovery import mixed_survival
from tracker.reports.exhibit import Cell, Exhibit, Omitted, Table
from tracker.reports.figure_style import LOGARITHMIC_FROM, RULE, figure, from_zero, legend, log_axis, short
from tracker.reports.median_waits import NEVER, median_wait
from tracker.reports.shown_samplers import best_reference_worst, describe
from tracker.runs.summary import ERROR, STEPS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tracker.array_types import Array, Integers
    from tracker.metrics.averages import Curve
    from tracker.reports.run_view import View


KEY, QUESTION = "after-a-switch", "How soon after a switch are they back?"
MOST_IN_COLOUR = 8  # samplers; of more, the best, the first of the file and the worst are, the others are grey
FEWEST_VISITS = 10  # visits to an age, over all trials, below which a mean is not drawn
MOST_MODES_IN_THE_TABLE = 8  # of which each has a row in the table
EARLIEST, BEFORE = 0.01, 0.3  # the axis begins at this share of the age at which the first one in a hundred is back
AGE_0_IS_DRAWN_AT = 0.8  # where age 0 is drawn


def exhibit(view: View) -> Exhibit | Omitted:
    """Draw the error aligned at switches, and the share that has re-acquired the target."""
    if view.switches == 0:
        reason = "one mode, so nothing switches." if len(view.modes) == 1 else "no switch happened in this run."
        return Omitted(KEY, QUESTION, reason)
    if not view.alive:
        return Omitted(KEY, QUESTION, "every trial of every sampler diverged.")
    curves = {name: error_by_age(view, name) for name in view.names}
    if not any(np.isfinite(curve.mean).any() for curve in curves.values()):
        return Omitted(KEY, QUESTION, f"fewer than {FEWEST_VISITS} visits in all trials: too few for a mean.")
    arrivals = {name: found for name in view.samplers if (found := _arrivals(view, name)) is not None}
    with figure(height=4.9 if view.has_targets else 2.9) as fig:
        axes = np.atleast_1d(fig.subplots(1 + view.has_targets, 1, sharex=True))
        _errors(axes[0], view, curves)
        if view.has_targets:
            _draw_arrivals(axes[1], view, arrivals)
        axes[-1].set_xlabel("steps since the switch")
        axes[-1].set_xlim(*_ages_drawn(view, curves, arrivals))
        legend(fig, axes[0])
    return Exhibit(KEY, QUESTION, _caption(view), _alt(view), fig, _table(view), _method(view))


def error_by_age(view: View, name: str) -> Curve:
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
    grey = _grey(view)
    for name in grey:
        ax.plot(middle, curves[name].mean, color=RULE, linewidth=0.7, zorder=1, gid=view.gid(name) or None)
    for name, curve in curves.items():
        if name in grey:
            continue
        look, mean, (low, high) = view.looks[name], curve.mean, curve.interval
        ax.plot(middle, mean, color=look.color, linestyle=look.linestyle, label=name, gid=view.gid(name) or None)
        band = np.isfinite(mean) & np.isfinite(low)
        ax.fill_between(
            middle[band], low[band], high[band], color=look.color, alpha=0.14, linewidth=0, gid=view.gid(name) or None
        )
    log_axis(ax)
    means = [mean for name in view.samplers if (mean := curves[name].mean[np.isfinite(curves[name].mean)]).size]
    least, most = (f([f(mean) for mean in means], default=0.0) for f in (min, max))
    if 0.0 < LOGARITHMIC_FROM * least < most:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(lambda value, _: short(value))
        ax.set_ylim(0.7 * least, 1.5 * most)
    else:
        from_zero(ax, (curve.mean for curve in curves.values()))
    ax.set_title("mean error by steps since the switch")


def _grey(view: View) -> tuple[str, ...]:
    """The samplers that are drawn in grey, where there are too many for colours."""
    coloured = view.samplers if len(view.samplers) <= MOST_IN_COLOUR else best_reference_worst(view)
    return tuple(name for name in view.samplers if name not in coloured)


def _arrivals(view: View, name: str) -> tuple[Array, Array] | None:
    """Return ages after a switch, and the share that is back by then; None without any wait."""
    edges, waits = view.wait_edges, view.waits(name).sum(axis=0)
    if not waits.any():
        return None
    alive = mixed_survival(waits.astype(float))
    last = int(np.flatnonzero(waits.sum(axis=(0, 2)))[-1]) + 1
    # age 0 stands at the left edge of the logarithmic axis; the last level is held to the age of the last wait
    at = np.r_[np.maximum(edges[1 : last + 1] - 1, AGE_0_IS_DRAWN_AT), max(edges[last], 2)]
    arrived = 1.0 - alive[:last]
    return at, np.r_[arrived, arrived[-1]]


def _ages_drawn(view: View, curves: dict[str, Curve], arrivals: dict[str, tuple[Array, Array]]) -> tuple[float, float]:
    """Where the axis begins and ends: a little before one target in a hundred is re-acquired, and with the last of the data."""
    middle = _middles(view.age_edges)
    first = [float(at[arrived >= EARLIEST][0]) for at, arrived in arrivals.values() if (arrived >= EARLIEST).any()]
    last = [float(at[-1]) for at, _ in arrivals.values()]
    last += [float(middle[np.isfinite(curve.mean)][-1]) for curve in curves.values() if np.isfinite(curve.mean).any()]
    return max(AGE_0_IS_DRAWN_AT, BEFORE * min(first, default=0.0)), max(10.0, 1.1 * max(last))


def _draw_arrivals(ax: Axes, view: View, arrivals: dict[str, tuple[Array, Array]]) -> None:
    grey = _grey(view)
    for name, (at, arrived) in arrivals.items():
        look, gid = view.looks[name], view.gid(name) or None
        if name in grey:
            ax.step(at, arrived, where="post", color=RULE, linewidth=0.7, zorder=1, gid=gid)
            continue
        ax.step(at, arrived, where="post", color=look.color, linestyle=look.linestyle, gid=gid)
        median = view.summary[name]["recovery"]["median"]
        if median:
            ax.plot([median], [0.5], look.marker, color=look.color, gid=gid)
    ax.axhline(0.5, color=RULE, linewidth=1.2)
    ax.set_ylim(0.0, 1.02)
    ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    ax.set_title("share back inside the target (dot: half)")


def _middles(edges: Integers) -> Array:
    """The geometric middle of each bin of ages; age 0 stands left of 1, where the logarithmic axis begins."""
    return np.asarray(np.sqrt(np.maximum(edges[:-1], AGE_0_IS_DRAWN_AT) * np.maximum(edges[1:] - 1, AGE_0_IS_DRAWN_AT)))


def _caption(view: View) -> str:
    head = f"Over {whole(view.switches)} switches"
    if not view.has_targets:
        return f"{head}, the error by age of the visit; the modes share their minimisers, so re-acquisition has no meaning."
    found = {name: view.summary[name]["recovery"] for name in view.alive}
    text = f"{head}; of those that led out of the target, {_half_back(found)}"
    if inside := _range(found, "already"):
        text += f". At {inside} of all switches they stood in the new target already, and had nothing to wait for"
    if not _range(found, "stayed") and any(one["median"] is not None for one in found.values()):
        text += (
            ". A wait ends at the first touch: whether they stayed is not known, no visit lasted long enough to tell"
        )
    return f"{text}."


def _method(view: View) -> str:
    """What the medians rest on, and how the figure is to be read."""
    if not view.has_targets:
        return ""
    found = {name: view.summary[name]["recovery"] for name in view.alive}
    text = f"{sentence(_range(found, 'censored'))} of the waits were cut short by the next switch or the end."
    if stayed := _range(found, "stayed"):
        text += f" A wait ends at the first touch: a relaxation time later {stayed} were still inside."
    text += "" if view.trials >= FEWEST_TRIALS else f" {sentence(no_interval(view.trials))} of the medians."
    return text + (f" In colour {describe(view, best_reference_worst(view))}." if _grey(view) else "")


def _half_back(found: dict[str, dict[str, Any]]) -> str:
    """Tell after how many steps half were back, from the first to the last; what never was is named, and never called fast."""
    reached = {name: one for name, one in found.items() if one["median"] is not None}
    order = sorted(reached, key=lambda name: float(reached[name]["median"]))
    told = order if len(order) <= MOST_NAMES else [order[0], order[-1]]
    parts = [f"{name} {median_wait(reached[name], interval=True)}" for name in told]
    text = f"half were back after these steps: {', '.join(parts)}" if parts else ""
    if len(told) < len(order):
        text += f" ({len(order) - 2} others between)"
    never = [name for name, one in found.items() if median_wait(one) == NEVER]
    if never:
        text += f"{'; ' if text else ''}never in half of the cases: {few(never, 'sampler', len(found))}"
    return text or "there was none to wait for"


def _range(found: dict[str, dict[str, Any]], key: str) -> str:
    """Return a share, from the least to the largest over the samplers; nothing where none is known."""
    shares = [share for one in found.values() if (share := one.get(key)) is not None]
    if not shares:
        return ""
    few, many = percent(min(shares)), percent(max(shares))
    return few if few == many else f"{few} to {many}"


def _alt(view: View) -> str:
    second = (
        ", and the share of switches after which each sampler is back inside the target" if view.has_targets else ""
    )
    return f"Mean error against steps since a switch on a logarithmic axis for {len(view.samplers)} samplers{second}."


def _table(view: View) -> Table:
    keys = ("already", "switches", "median", "low", "high", "censored", "mean", "stayed")
    rows: list[tuple[Cell, ...]] = []
    for name in view.names:
        recovery = view.summary[name]["recovery"]
        rows.append((name, "all", *(recovery.get(key) for key in keys)))
        modes = recovery.get("by_mode") or () if len(view.modes) <= MOST_MODES_IN_THE_TABLE else ()
        rows += [(name, one["mode"], *(one.get(key) for key in keys)) for one in modes]
    columns = (
        "sampler", "new mode", "already there", "other switches", "median wait", "low", "high", "cut short",
        f"mean wait, up to {whole(view.horizon)} steps", "still inside later",
    )  # fmt: skip
    return Table(columns, tuple(rows))
