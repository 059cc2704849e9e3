"""Exhibit: the share of time inside the target, mode by mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.baseline_names import FROZEN
from tracker.formatting import few, percent
from tracker.metrics.after_switch import mean_per_step
from tracker.metrics.averages import FEWEST_TRIALS, confidence_of_each, no_interval, ratio
from tracker.metrics.paired import difference
from tracker.reports.exhibit import Exhibit, Omitted, Table
from tracker.reports.figure_style import INK, MARKERS, MODES, RULE, figure, legend, mode_colours, names_below, some
from tracker.runs.summary import INSIDE, STEPS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tracker.array_types import Array
    from tracker.metrics.averages import Curve
    from tracker.reports.run_view import View


KEY, QUESTION = "right-basin", "How much of the time are they in the right basin?"
LABEL_OF_ONE = "share of steps inside the target"
LABEL = f"{LABEL_OF_ONE} of the current mode"
WORTH_A_WORD = 0.1  # of the time, between a sampler's modes
WORTH_A_FIGURE = 0.03  # of the time, between the least and the largest share
ZOOMED_BELOW, PAD = 0.5, 0.02  # of the axis: shares that lie closer together fill it
MOST_TICKS = 6  # names of modes along an axis


def exhibit(view: View) -> Exhibit | Omitted:
    """Draw the share of steps inside the target set of the current mode, by mode."""
    if not view.has_targets:
        return Omitted(
            KEY, QUESTION, "there is no target set: no two modes have different minimisers, and no radius is given."
        )
    shares = {name: by_mode(view, name) for name in view.names}
    means = np.array([shares[name].mean for name in view.samplers])
    if np.isfinite(means).any() and not _differs(view, means):
        low, high = percent(float(np.nanmin(means))), percent(float(np.nanmax(means)))
        who = "every sampler" if len(view.samplers) > 1 else view.samplers[0]
        where = ", in every mode" if len(view.modes) > 1 else ""
        much = low if low == high else f"{low} to {high}"
        return Omitted(KEY, QUESTION, f"{who} is there {much} of the time{where}: the table on top has it.")
    fig = _rows(view, shares) if len(view.modes) <= len(MODES) else _lines(view, shares)
    return Exhibit(KEY, QUESTION, _caption(view, shares), _alt(view), fig, _table(view, shares))


def _differs(view: View, means: Array) -> bool:
    """Tell whether there is something to see: shares that are apart, or a mode in which a sampler does better."""
    if float(np.nanmax(means) - np.nanmin(means)) > WORTH_A_FIGURE:
        return True
    return any(differs_by_mode(view, name) for name in view.samplers)


def _rows(view: View, shares: dict[str, Curve]) -> Figure:
    """A row for each sampler, a dot for each mode."""
    X, colours = len(view.modes), mode_colours(len(view.modes))
    with figure(height=0.9 + len(view.names) * max(0.24, 0.12 * X + 0.1)) as fig:
        ax = fig.subplots()
        low, high = _span(view, shares)
        for row in range(1, len(view.names), 2):
            ax.axhspan(row - 0.5, row + 0.5, color=RULE, alpha=0.25, linewidth=0)
        for x, mode in enumerate(view.mode_names):
            offset = (x - (X - 1) / 2) * 0.7 / X
            mean = np.array([shares[name].mean[x] for name in view.names])
            reach = np.stack([_bars(shares[name])[:, x] for name in view.names], axis=1)
            rows = np.arange(len(view.names)) + offset
            marker = MARKERS[x % len(MARKERS)]
            ax.errorbar(mean, rows, xerr=reach, fmt=marker, color=colours[x], elinewidth=1.6, label=mode)
            for row, name in zip(rows, view.names, strict=True):
                if (gibbs := by_gibbs(view, name)) is not None:
                    ax.plot([gibbs[x]], [row], "|", color=INK, markersize=11.0, markeredgewidth=1.4, zorder=4)
            for out in np.flatnonzero((mean < low) | (mean > high)):  # a baseline beside a zoomed axis
                marker, edge = ("<", low) if mean[out] < low else (">", high)
                ax.plot([edge], [rows[out]], marker, color=colours[x], clip_on=False)
        ax.set_yticks(range(len(view.names)), view.names)
        ax.set_ylim(len(view.names) - 0.5, -0.5)
        ax.set_xlim(low, high)
        ax.grid(visible=False, axis="y")
        ax.xaxis.set_major_formatter(_percent)
        ax.set_xlabel(LABEL if X > 1 else LABEL_OF_ONE)
        if X > 1:
            legend(fig, ax)
    return fig


def _span(view: View, shares: dict[str, Curve]) -> tuple[float, float]:
    """The ends of the axis: all of it, or what holds the samplers and their bars where these lie close together."""
    ends = [end for name in view.samplers for end in (*shares[name].interval, shares[name].mean)]
    ends += [np.array(gibbs) for name in view.samplers if (gibbs := by_gibbs(view, name)) is not None]
    known = np.concatenate([end[np.isfinite(end)] for end in ends])
    if known.size and np.ptp(known) < ZOOMED_BELOW:
        pad = PAD + 0.08 * float(np.ptp(known))
        return max(-PAD, float(known.min()) - pad), min(1.0 + PAD, float(known.max()) + pad)
    return -PAD, 1.0 + PAD


def by_gibbs(view: View, name: str) -> list[float] | None:
    """Return the share of Gibbs' law inside the target, mode by mode, where theory knows it for a sampler."""
    found = view.theory["outside"].get(name)
    return [1.0 - share for share in found] if found is not None and len(found) == len(view.modes) else None


def _lines(view: View, shares: dict[str, Curve]) -> Figure:
    """A line for each sampler over the modes, in the order of the file: for many modes."""
    with figure(height=3.2) as fig:
        ax = fig.subplots()
        for name in view.names:
            look, mean, reach = view.looks[name], shares[name].mean, _bars(shares[name])
            style = {"color": look.color, "linestyle": look.linestyle, "marker": look.marker, "markersize": 2.5}
            ax.errorbar(np.arange(mean.size), mean, reach, elinewidth=1.0, linewidth=1.1, label=name, **style)
        ticks = some(len(view.modes), MOST_TICKS)
        names_below(ax, ticks, [view.mode_names[x] for x in ticks])
        ax.set_ylim(-0.02, 1.02)
        ax.yaxis.set_major_formatter(_percent)
        ax.set_xlabel("current mode")
        ax.set_title(LABEL)
        legend(fig, ax)
    return fig


def _bars(shares: Curve) -> Array:
    """How far the intervals reach below and above, shape (2, X); 0 where there is none."""
    low, high = shares.interval
    return np.maximum(np.nan_to_num([shares.mean - low, high - shares.mean]), 0.0)


def _percent(share: float, _: float) -> str:
    return f"{100 * share:.0f} %"


def by_mode(view: View, name: str) -> Curve:
    """Return the share of steps inside the target, shape (X,)."""
    n = view.index(name)
    sums = view.arrays["by_mode"][view.kept[:, n], n]
    return mean_per_step(sums[..., INSIDE], sums[..., STEPS], "share")


def differs_by_mode(view: View, name: str) -> bool:
    """Tell whether the paired trials tell a sampler's best mode from its worst, by more than a tenth of the time."""
    n = view.index(name)
    sums = view.arrays["by_mode"][view.kept[:, n], n]
    shares = ratio(sums[..., INSIDE], sums[..., STEPS])
    pooled = by_mode(view, name).mean
    if not np.isfinite(pooled).any():
        return False
    best, worst = int(np.nanargmax(pooled)), int(np.nanargmin(pooled))
    pairs = len(view.modes) * (len(view.modes) - 1) // 2
    gap = difference(shares[:, best], shares[:, worst], confidence_of_each(pairs * len(view.samplers)))
    return bool(pooled[best] - pooled[worst] > WORTH_A_WORD and gap.low > 0.0)


def _caption(view: View, shares: dict[str, Curve]) -> str:
    total = {name: view.summary[name]["inside_target"]["mean"] for name in view.names}
    known = {name: total[name] for name in view.samplers if total[name] is not None}
    if not known:
        return "Every trial diverged."
    best, worst = max(known, key=lambda n: known[n]), min(known, key=lambda n: known[n])
    text = f"{best} spends {percent(known[best])} of its time within reach of the right minimiser"
    if worst != best:
        text += f", {worst} {percent(known[worst])}"
    text += f", standing still {percent(total[FROZEN])}" if FROZEN in total else ""
    apart = [name for name in known if differs_by_mode(view, name)]
    does = "does" if len(apart) == 1 else "do"
    uneven = f"; {few(apart, 'sampler', len(known))} {does} better in some modes than in others" if apart else ""
    bars = (
        "Bars are 95 % intervals over trials"
        if view.trials >= FEWEST_TRIALS
        else f"No bars: {no_interval(view.trials)}"
    )
    exact = any(by_gibbs(view, name) is not None for name in view.samplers) and len(view.modes) <= len(MODES)
    strokes = (
        f" Strokes: the exact share of Gibbs' law{', if the mode stayed' if len(view.modes) > 1 else ''}."
        if exact
        else ""
    )
    return f"{text}{uneven}. {bars}.{strokes}"


def _alt(view: View) -> str:
    return f"Dots with intervals: the share of steps inside the target for {len(view.names)} rows and {len(view.modes)} modes."


def _table(view: View, shares: dict[str, Curve]) -> Table:
    exact = {name: gibbs for name in view.samplers if (gibbs := by_gibbs(view, name)) is not None}
    heads = ("", " ±", " by Gibbs' law") if exact else ("", " ±")
    columns = ("sampler", "all modes", *(f"{mode}{part}" for mode in view.mode_names for part in heads))
    rows = tuple(
        (
            name,
            view.summary[name]["inside_target"]["mean"],
            *(cell for x in range(len(view.modes)) for cell in _cells(shares[name], exact, name, x)),
        )
        for name in view.names
    )
    return Table(columns, rows)


def _cells(share: Curve, exact: dict[str, list[float]], name: str, x: int) -> list[float | None]:
    own: list[float | None] = [float(share.mean[x]), float(share.stderr[x])]
    return [*own, exact[name][x] if name in exact else None] if exact else own
