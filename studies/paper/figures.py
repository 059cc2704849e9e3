"""Figures about the paper's examples: measured numbers in, Figure out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.metrics.averages import mean_interval, over_trials
from tracker.reports.figure_style import COLOURS, INK, MUTED, PAPER, WIDTH, figure, legend, log_axis, looks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from studies.paper.claims import Difference
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
KINDS = {  # of a name, up to its first dash and a digit: kinds have one colour on all pages
    "classical": "langevin",
    "accelerated": "accelerated",
    "fixed": "accelerated",
    "algorithm-1": "hessian",
    "ascent": "hessian",
    "algorithm-2": "spsa",
    "algorithm-3": "two-timescale-spsa",
    "wandering": "wandering",
}
# a sampler looks the same in all figures of this page
LOOKS = looks(tuple(LABELS), {name: kind for name in LABELS for begin, kind in KINDS.items() if name.startswith(begin)})


def short_label(name: str) -> str:
    """Return a name that has room at an axis."""
    return label(name).replace("Algorithm ", "Alg. ").replace("wandering S", "wander")


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
        axes.set_yticks(range(len(names)), [short_label(name) for name in names])
        axes.invert_yaxis()
        axes.set_title(title)
        if log:
            log_axis(axes)
    return drawn


def differences(found: Sequence[Difference]) -> Figure:
    """Draw paired differences, a panel for each measure and sampler that others are compared with; hollow: not shown."""
    groups: dict[tuple[str, str], list[Difference]] = {}
    for one in found:
        groups.setdefault((one.measure, one.right), []).append(one)
    with figure(WIDTH, 0.35 + sum(0.55 + 0.2 * len(rows) for rows in groups.values())) as drawn:
        ratios = [0.55 + 0.2 * len(rows) for rows in groups.values()]
        panels = np.atleast_1d(drawn.subplots(len(groups), 1, height_ratios=ratios))
        for axes, ((measure, right), rows) in zip(panels, groups.items(), strict=True):
            axes.axvline(0.0, color=MUTED, linewidth=1.0)
            for n, one in enumerate(rows):
                look = LOOKS[one.left]
                axes.plot([one.found.low, one.found.high], [n, n], color=look.color, linewidth=2.0)
                face = look.color if one.told else PAPER
                axes.plot([one.found.estimate], [n], look.marker, color=look.color, markerfacecolor=face)
            reach = 1.1 * max(abs(end) for one in rows for end in (one.found.low, one.found.high))
            axes.set_xlim(-reach, reach)
            axes.set_ylim(len(rows) - 0.5, -0.5)
            axes.set_yticks(range(len(rows)), [short_label(one.left) for one in rows])
            axes.grid(visible=False, axis="y")
            axes.locator_params(axis="x", nbins=5)
            axes.set_title(f"{measure}, minus {short_label(right)}")
        panels[-1].set_xlabel("difference; left of 0 it has less")
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
