"""Exhibit: one trial, with the hidden mode, the minimiser and the iterates of each sampler."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.formatting import counted, number
from tracker.metrics.averages import over_trials
from tracker.metrics.table import metrics_of
from tracker.reports.exhibit import Exhibit, Omitted, Table
from tracker.reports.figure_style import (
    INK,
    LONGEST_TITLE,
    MODES,
    MUTED,
    figure,
    legend_of,
    mode_colours,
    shorten,
    some,
    steps_axis,
)
from tracker.reports.judged_by import best_of
from tracker.scenario.builders import distance_coordinates

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tracker.array_types import Array, Integers
    from tracker.reports.run_view import View

KEY, QUESTION = "one-trial", "What does one trial look like?"
MOST_ROWS = 6  # samplers that are drawn
WILDLY_WIDER = 4.0  # times the median width of the rows
FEWEST_CHANGES_OF_MODE = 3  # in the trial that is shown, if any has as many


def exhibit(view: View) -> Exhibit | Omitted:
    """Draw the trial whose error is nearest to the median."""
    if view.no_distance:
        return Omitted(KEY, QUESTION, f"distances to minimisers say nothing: {view.no_distance}.")
    trial = typical_trial(view)
    if trial is None:
        return Omitted(KEY, QUESTION, "every trial diverged.")
    shown = samplers_drawn(view)
    mode, steps = view.arrays["mode"][trial], view.recorded
    strip = len(view.modes) > 1 or _outages(view)  # of one mode without an outage it says nothing
    with figure(height=(0.75 if strip else 0.35) + 0.72 * len(shown) + 0.35) as fig:
        ratios = [0.3] * strip + [1.0] * len(shown)
        axes = np.atleast_1d(fig.subplots(len(ratios), 1, sharex=True, height_ratios=ratios))
        if strip:
            mode_strip(axes[0], view, mode)
            name_modes(fig, view)
        limits = scales(view, trial, shown)
        for ax, name, title in zip(axes[strip:], shown, shorten(shown, LONGEST_TITLE), strict=True):
            _iterates(ax, view, trial, name)
            ax.set_title(title, color=INK, pad=2.0)
            ax.set_ylim(*limits[name])
        axes[-1].set_xlabel("step k")
        steps_axis(axes[-1])
        fig.supylabel("as measured" if has_twins(view) else view.coordinate_name)
        axes[0].set_xlim(0, max(1, steps[-1]))
    changes = int((np.diff(mode[:-1]) != 0).sum())  # a change at the last record has no length
    return Exhibit(
        KEY, QUESTION, _caption(view, trial, changes), _alt(view, changes), fig, _table(view, trial), _method(view)
    )


def samplers_drawn(view: View) -> tuple[str, ...]:
    """The first samplers, and the one that the verdict names as the best."""
    first, best = view.samplers[:MOST_ROWS], best_of(view)
    return first if best is None or best in first else (*first[:-1], best)


def typical_trial(view: View) -> int | None:
    """Return the trial with the median error of the first sampler that has one, among those with a few changes of mode."""
    known = np.isfinite(view.tracking_error[:, : len(view.samplers)]).any(axis=0)
    error = view.tracking_error[:, int(np.argmax(known))]
    mode = view.arrays["mode"]
    changes = (np.diff(mode[:, :-1], axis=1) != 0).sum(axis=1)
    worthy = np.isfinite(error) & (changes >= min(FEWEST_CHANGES_OF_MODE, int(changes.max(initial=0))))
    if not worthy.any():
        worthy = np.isfinite(error)
    if not worthy.any():
        return None
    candidates = np.flatnonzero(worthy)
    return int(candidates[np.argsort(error[candidates], kind="stable")[(len(candidates) - 1) // 2]])


def has_twins(view: View) -> bool:
    """Tell whether one parameter stands at several places: more targets than minimisers."""
    return any(len(mode.targets) > len(mode.minimisers) for mode in view.modes)


def mode_strip(ax: Axes, view: View, mode: Integers) -> None:
    """Draw the hidden mode as a coloured band; the mode of a record holds until the next one."""
    change = np.flatnonzero(np.diff(mode)) + 1
    first, stop = np.r_[0, change], np.r_[change, len(mode) - 1]
    steps, colours = view.recorded, mode_colours(len(view.modes))
    for x in np.unique(mode[mode >= 0]):
        spans = [(steps[a], steps[b] - steps[a]) for a, b in zip(first, stop, strict=True) if mode[a] == x and b > a]
        ax.broken_barh(spans, (0, 1), facecolors=colours[int(x)], linewidth=0)
    for event in view.scenario.interventions:
        if event.kind == "outage":
            ax.broken_barh(
                [(event.at, event.steps)], (0, 1), facecolor="none", edgecolor=INK, hatch="//////", linewidth=0.6
            )
    ax.set(yticks=[], ylim=(0, 1))
    ax.set_ylabel("mode", rotation=0, ha="right", va="center")
    ax.grid(visible=False)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    ax.tick_params(bottom=False)


def name_modes(fig: Figure, view: View) -> None:
    """Say which colour stands for which mode."""
    from matplotlib.patches import Patch

    colours = mode_colours(len(view.modes))
    named = range(len(colours)) if len(colours) <= len(MODES) else some(len(colours), 4)  # of a scale, some
    legend_of(fig, [Patch(color=colours[n]) for n in named], [view.mode_names[n] for n in named], handlelength=1.0)


def _iterates(ax: Axes, view: View, trial: int, name: str) -> None:
    steps, look = view.recorded, view.looks[name]
    path, target = path_and_target(view, trial, name)
    ax.step(steps, target, where="post", color=MUTED, linewidth=2.0, alpha=0.55)
    ax.plot(steps, path, color=look.color, linewidth=0.9, gid=view.gid(name) or None)
    ax.grid(visible=True, axis="y")
    ax.grid(visible=False, axis="x")
    ax.spines["bottom"].set_color(MUTED)


def path_and_target(view: View, trial: int, name: str) -> tuple[Array, Array]:
    """Return the drawn coordinate of the iterates, and that of the minimiser nearest to them in the hidden mode, shapes (R,).

    Where one parameter stands at several places, both are taken where the cost measures distances, and the nearest twin is
    drawn: a sampler at the twin of a minimiser has found it.
    """
    shift = view.shift[min(trial, len(view.shift) - 1)]
    theta, mode = view.arrays["theta"][trial, view.index(name)] - shift, view.arrays["mode"][trial]
    if not has_twins(view):
        places, points, d = theta, [one.minimisers for one in view.modes], view.coordinate
    else:
        points, d = [one.targets for one in view.modes], drawn_measure(view)
        places = np.full((len(theta), points[0].shape[1]), np.nan)
        for r in np.flatnonzero((mode >= 0) & np.isfinite(theta).all(axis=1)):
            places[r] = distance_coordinates(view.modes[int(mode[r])].cost, theta[r])
    target = np.full(len(theta), np.nan)
    for x, ends in enumerate(points):
        here = np.flatnonzero((mode == x) & np.isfinite(places).all(axis=1))
        nearest = ((places[here][:, np.newaxis] - ends) ** 2).sum(axis=2).argmin(axis=1)
        target[here] = ends[nearest, d]
    moved = 0.0 if has_twins(view) else shift[:, d]  # where distances are measured, the drift is taken off
    return np.asarray(places[:, d] + moved), target + moved


def drawn_measure(view: View) -> int:
    """The coordinate, of those in which distances are measured, in which the targets of the modes are furthest apart."""
    return int(np.argmax(np.ptp(np.concatenate([mode.targets for mode in view.modes]), axis=0)))


def scales(view: View, trial: int, shown: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """One scale for all rows: it holds the minimisers and all but the wildest iterates; a row far wider has its own."""
    paths = {name: path_and_target(view, trial, name) for name in shown}
    known = [target[np.isfinite(target)] for _, target in paths.values()]
    places = np.concatenate(
        [*known, [mode.minimisers[0, view.coordinate] for mode in view.modes] if not has_twins(view) else []]
    )
    ends = {}
    for name in shown:
        path = paths[name][0]
        low, high = np.quantile(path[np.isfinite(path)], [0.002, 0.998]) if np.isfinite(path).any() else (0.0, 0.0)
        ends[name] = (min(low, places.min()), max(high, places.max()))
    lasting = [name for name in shown if view.kept[trial, view.index(name)]]
    widths = {name: ends[name][1] - ends[name][0] for name in lasting}
    usual = [name for name in lasting if widths[name] <= WILDLY_WIDER * float(np.median(list(widths.values())))]
    common = (
        min([float(places.min()), *(ends[name][0] for name in usual)]),
        max([float(places.max()), *(ends[name][1] for name in usual)]),
    )
    return {name: _with_margin(*(ends[name] if name in lasting and name not in usual else common)) for name in shown}


def _with_margin(low: float, high: float) -> tuple[float, float]:
    margin = 0.08 * (high - low) or 1.0
    return float(low - margin), float(high + margin)


def _caption(view: View, trial: int, changes: int) -> str:
    error = view.tracking_error[trial, : len(view.samplers)]
    best, worst = int(np.nanargmin(error)), int(np.nanargmax(error))
    first = view.names[int(np.argmax(np.isfinite(view.tracking_error).any(axis=0)))]
    eventful = (
        f", among those with at least {FEWEST_CHANGES_OF_MODE} changes of mode"
        if changes >= FEWEST_CHANGES_OF_MODE
        else ""
    )
    what = f"Trial {int(view.arrays['trial'][trial])}, the one with the median error of {first}{eventful}"
    happened = f"the mode was seen to change {counted(changes, 'time')}" if len(view.modes) > 1 else "one mode lasts"
    ends = f"{view.names[best]} stayed {number(error[best])} from the minimiser on average"
    if best != worst:
        ends += f", {view.names[worst]} {number(error[worst])}"
    shown, rest = samplers_drawn(view), ""
    if shown == view.samplers[:MOST_ROWS]:
        rest = f" (the first {MOST_ROWS} samplers are drawn)" if len(view.samplers) > MOST_ROWS else ""
    else:
        rest = f" (the first {MOST_ROWS - 1} samplers are drawn, and {shown[-1]}, the best by the {view.score.title})"
    if len(set(scales(view, trial, shown).values())) > 1:
        rest += "; mind the scales, which differ"
    hatched = " Hatched: an outage, in which no gradient arrives and nobody moves." if _outages(view) else ""
    return f"{what}: {happened}; {ends}{rest}.{hatched}"


def _method(view: View) -> str:
    """How the figure is to be read."""
    twins = (
        " A parameter and its label-swapped twin are the same point: the twin nearest to the sampler is drawn, in the coordinates "
        "in which the cost measures distances."
        if has_twins(view)
        else ""
    )
    line = "The grey line is the minimiser of the hidden mode, which no sampler sees." if len(view.modes) > 1 else (
        "The grey line is the minimiser."
    )  # fmt: skip
    return f"{line}{twins}"


def _outages(view: View) -> bool:
    return any(event.kind == "outage" for event in view.scenario.interventions)


def _alt(view: View, changes: int) -> str:
    strip = f"A strip shows the hidden mode with {changes} changes; below it, one" if len(view.modes) > 1 else "One"
    return (
        f"{strip} row per sampler shows coordinate "
        f"{view.coordinate + 1} of theta over steps 0 to {view.scenario.steps} around the minimiser."
    )


def _table(view: View, trial: int) -> Table:
    means = [metric for metric in metrics_of(view.measured) if metric.kind == "mean" and metric.shown]
    values = {metric.head: view.values(metric.key)[trial] for metric in means}
    rows: tuple[tuple[str | float | None, ...], ...] = tuple(
        (name, *(float(value[n]) for value in values.values()), over_trials(view.tracking_error[:, n]).mean)
        for n, name in enumerate(view.names)
    )
    return Table(("sampler", *values, "tracking error over all trials"), rows)
