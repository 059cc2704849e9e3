"""Figures about the paper's examples: measured numbers in, Figure out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.metrics.averages import mean_interval, over_trials
from tracker.reports.figure_style import COLOURS, INK, LINES, MUTED, WIDTH, Look, figure, legend, log_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from studies.paper.numbers import Experiment, Measured
    from tracker.array_types import Array


LABELS = {
    "classical": "classical",
    "accelerated": "accelerated",
    "fixed-2": "fixed s = 2",
    "fixed-4": "fixed s = 4",
    "algorithm-1": "Algorithm 1",
    "algorithm-1-slow": "Algorithm 1, step / 10",
    "algorithm-1-fast": "Algorithm 1, step × 10",
    "algorithm-1-wide": "Algorithm 1, bounds ±5",
    "ascent": "Algorithm 1, flipped",
    "ascent-fast": "sign flipped, step × 10",
    "algorithm-2": "Algorithm 2",
    "algorithm-2-slow": "Algorithm 2, step / 100",
    "algorithm-2-fast": "Algorithm 2, step × 10",
    "algorithm-2-held": "Algorithm 2, held 100 steps",
    "algorithm-3": "Algorithm 3",
    "algorithm-3-slow": "Algorithm 3, step / 10",
    "wandering": "wandering S",
    "wandering-fast": "wandering S, step × 10",
}
# a sampler looks the same in all figures of this page; controls have dashes
LOOKS = {
    "classical": Look(MUTED, "-", "o"),
    "accelerated": Look(COLOURS[0], "-", "s"),
    "algorithm-1": Look(COLOURS[1], "-", "^"),
    "algorithm-1-slow": Look(COLOURS[1], LINES[2], "<"),
    "algorithm-1-fast": Look(COLOURS[1], LINES[1], "^"),
    "algorithm-2": Look(COLOURS[2], "-", "D"),
    "algorithm-2-fast": Look(COLOURS[2], LINES[1], "D"),
    "algorithm-3": Look(COLOURS[3], "-", "v"),
    "fixed-2": Look(COLOURS[5], LINES[2], "P"),
    "fixed-4": Look(COLOURS[5], LINES[1], "P"),
    "ascent": Look(COLOURS[4], LINES[3], "X"),
    "ascent-fast": Look(COLOURS[4], LINES[1], "X"),
    "wandering": Look(INK, LINES[2], "*"),
    "wandering-fast": Look(INK, LINES[1], "*"),
}


def label(name: str) -> str:
    """Return a sampler's name for readers."""
    return LABELS.get(name, name)


def _line(axes: Axes, one: Measured, values: Array, stderr: Array | None = None) -> None:
    look = LOOKS[one.name]
    axes.plot(one.steps, values, color=look.color, linestyle=look.linestyle, label=label(one.name))
    if stderr is not None:
        axes.fill_between(one.steps, values - stderr, values + stderr, color=look.color, alpha=0.15, linewidth=0)


def _over_steps(axes: Axes, title: str) -> None:
    log_axis(axes)
    axes.set_xlabel("iterations")
    axes.set_title(title)


def posterior_means(experiment: Experiment, names: Sequence[str]) -> Figure:
    """Draw the running posterior mean of both coordinates, averaged over trials, beside the exact one."""
    with figure(WIDTH, 3.3) as drawn:
        both: Any = drawn.subplots(1, 2)
        for d, axes in enumerate(both):
            axes.axhline(experiment.truth[d], color=INK, linewidth=0.9, linestyle=(0, (6, 3)), label="exact")
            for name in names:
                _line(axes, experiment[name], experiment[name].mean[:, d])
            _over_steps(axes, f"posterior mean of θ({d + 1})")
        legend(drawn, both[0])
    return drawn


def curves(experiment: Experiment, left: Sequence[str], right: Sequence[str], what: str, title: str) -> Figure:
    """Draw ``error_curve`` or ``w1_curve`` of two groups of samplers with a common scale; bands are standard errors."""
    with figure(WIDTH, 3.9) as drawn:
        both: Any = drawn.subplots(1, 2, sharey=True)
        for axes, names, group in zip(both, (left, right), ("the paper's", "controls"), strict=True):
            for name in names:
                mean, stderr = getattr(experiment[name], what)
                _line(axes, experiment[name], mean, stderr)
            _over_steps(axes, f"{title}: {group}")
            axes.set_yscale("log")
        low, high = both[0].get_ylim()  # shared, and before the ticks below widen it
        both[0].set_yticks([0.1, 0.2, 0.5, 1, 2, 5], ["0.1", "0.2", "0.5", "1", "2", "5"])
        both[0].set_yticks([], minor=True)
        both[0].set_ylim(low, high)
        handles: dict[str, Any] = {}
        for axes in both:
            handles.update(dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True)))
        drawn.legend(handles.values(), handles.keys(), loc="outside upper left", ncols=2, borderaxespad=0.0)
    return drawn


def skew_sizes(experiment: Experiment, names: Sequence[str]) -> Figure:
    """Draw how the root mean square of S grows."""
    with figure(WIDTH, 2.9) as drawn:
        axes: Any = drawn.subplots()
        for name in names:
            path = experiment[name].skew_curve
            if path is not None:
                _line(axes, experiment[name], path)
        _over_steps(axes, "root mean square of the entries of S")
        legend(drawn, axes)
    return drawn


def intervals(
    names: Sequence[str], values: Sequence[Array], title: str, reference: float | None, *, log: bool
) -> Figure:
    """Draw one mean with its 95 % interval for each sampler."""
    with figure(WIDTH, 0.55 + 0.27 * len(names)) as drawn:
        axes: Any = drawn.subplots()
        for row, (name, sample) in enumerate(zip(names, values, strict=True)):
            mean, stderr = over_trials(sample)
            low, high = mean_interval(mean, stderr, np.isfinite(sample).sum(), "positive" if log else "any")
            reach = np.nan_to_num([[mean - low], [high - mean]])
            axes.errorbar(mean, row, xerr=reach, fmt=LOOKS[name].marker, color=LOOKS[name].color, capsize=2.5)
        if reference is not None:
            axes.axvline(reference, color=INK, linewidth=0.9, linestyle=(0, (6, 3)))
        axes.set_yticks(range(len(names)), [label(name) for name in names])
        axes.invert_yaxis()
        axes.set_title(title)
        if log:
            log_axis(axes)
    return drawn


def density(points: Array, grid: tuple[Array, Array, Array], start: tuple[float, float]) -> Figure:
    """Draw contours of an exact density (x, y, log density above its top) and draws from it."""
    with figure(WIDTH, 3.4) as drawn:
        axes: Any = drawn.subplots()
        x, y, depth = grid
        axes.plot(
            points[:, 0], points[:, 1], ".", color=COLOURS[0], markersize=2.5, alpha=0.7, label="Metropolis-Hastings"
        )
        shades = axes.contour(x, y, depth, levels=[-6.0, -4.0, -2.0, -1.0, -0.5, -0.1], colors=[INK], linewidths=0.8)
        for collection in np.atleast_1d(shades):
            collection.set_linestyle("-")
        axes.plot([0, 1], [1, -1], "x", color=COLOURS[1], label="the paper's maxima")
        axes.annotate("to the start (4, 4)", start, xytext=(start[0] - 0.75, start[1] - 0.9), color=MUTED,
                      arrowprops={"arrowstyle": "->", "color": MUTED})  # fmt: skip
        axes.set_xlabel("θ(1)")
        axes.set_ylabel("θ(2)")
        legend(drawn, axes)
    return drawn
