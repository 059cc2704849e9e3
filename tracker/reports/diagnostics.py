"""Can the numbers be trusted: noise against noise, the step against its limit, divergence, resets, speed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tracker import skew
from tracker.metrics.averages import distance_to_nearest
from tracker.metrics.skewness import noise_ratio
from tracker.reports.exhibit import Exhibit, Table
from tracker.reports.style import MUTED, RULE, figure, log_axis
from tracker.reports.words import number
from tracker.scenario import stability_limits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tracker.reports.view import View

    Array = NDArray[np.float64]

KEY, QUESTION = "diagnostics", "Is anything wrong with the run?"
LOOKED_AT = 50  # trials whose S enters the noise ratio, and whose records are recomputed
SMALLEST = 1e-6  # of the axes


@dataclass(frozen=True)
class Health:
    """Of one sampler: noise_ratio in the stiffest direction (worst mode, median and largest over trials), step over limit."""

    noise: float
    largest_noise: float
    step: float


def health(view: View) -> dict[str, Health]:
    """Return the state of each sampler."""
    from tracker.limits import gradient_noise

    noises = [gradient_noise(mode.cost, mode.minimisers[0]) for mode in view.modes]
    steps: dict[str, float] = {}
    for limit in stability_limits(view.scenario, view.modes):
        steps[limit.sampler] = max(steps.get(limit.sampler, 0.0), limit.epsilon / limit.limit)
    found = {}
    for keys in view.scenario.samplers:
        ratios = [
            max(noise_ratio(S, Sigma, keys.epsilon, float(keys.beta)) for Sigma in noises)
            for S in _skews(view, keys.name)
        ]
        found[keys.name] = Health(float(np.median(ratios)), float(max(ratios)), steps.get(keys.name, float("nan")))
    return found


def _skews(view: View, name: str) -> list[Array]:
    """S at the end of the first trials, or 0."""
    N = view.scenario.dimension
    pairs = view.arrays["final_skew"][:LOOKED_AT, view.index(name)]
    pairs = pairs[np.isfinite(pairs).all(axis=1)] if N > 1 else pairs[:0]
    return [skew.from_pairs(row, N) for row in pairs] or [np.zeros((N, N))]


def recomputed_difference(view: View) -> float | None:
    """Return the largest difference between recorded errors and those of the recorded points in the recorded modes.

    A result whose axes do not belong together fails here. None where a cost measures distances in its own way.
    """
    for mode in view.modes:
        if mode.targets.shape != mode.minimisers.shape or not np.allclose(mode.targets, mode.minimisers):
            return None
    worst = 0.0
    minimisers = [mode.minimisers for mode in view.modes]
    for n in range(len(view.names)):
        theta = view.arrays["theta"][:LOOKED_AT, n]
        again = distance_to_nearest(theta, view.arrays["mode"][:LOOKED_AT].astype(np.int64), minimisers)
        gap = np.abs(again - view.arrays["error"][:LOOKED_AT, n]) / (1.0 + again)
        worst = max(worst, float(np.nanmax(gap, initial=0.0)))
    return worst


def exhibit(view: View, found: dict[str, Health]) -> Exhibit:
    """Draw noise ratios and steps against their limits."""
    with figure(height=0.9 + 2 * (0.3 + 0.2 * len(found))) as fig:
        axes = fig.subplots(2, 1)
        _dots(
            axes[0],
            view,
            {name: h.noise for name, h in found.items()},
            {name: h.largest_noise for name, h in found.items()},
        )
        axes[0].set_title("gradient noise / injected noise, stiffest direction")
        _dots(axes[1], view, {name: h.step for name, h in found.items()}, {})
        axes[1].set_title("step / mean-square stability limit")
    alt = f"Two rows of dots for {len(found)} samplers: gradient noise over injected noise, and step over stability limit."
    return Exhibit(KEY, QUESTION, _caption(view, found), alt, fig, _table(view, found))


def _dots(ax: Axes, view: View, values: dict[str, float], largest: dict[str, float]) -> None:
    shown = {
        name: float(np.clip(np.nan_to_num(value, nan=SMALLEST, posinf=1e3), SMALLEST, 1e3))
        for name, value in values.items()
    }
    positive = [value for value in shown.values() if value > SMALLEST]
    low = min([0.01, *positive]) / 3
    ax.axvline(1.0, color=MUTED, linewidth=1.0)
    for row, (name, value) in enumerate(shown.items()):
        if row % 2:
            ax.axhspan(row - 0.5, row + 0.5, color=RULE, alpha=0.25, linewidth=0)
        look, top = view.looks[name], min(1e3, largest.get(name, value))
        ax.plot([max(value, low), max(value, low, top)], [row, row], color=look.color, linewidth=1.4)
        ax.plot([max(value, low)], [row], look.marker if value > SMALLEST else "<", color=look.color)
    log_axis(ax)
    ax.set_xlim(low / 1.2, max([3.0, *(3 * value for value in shown.values())]))
    ax.set_yticks(range(len(shown)), list(shown))
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")


def _caption(view: View, found: dict[str, Health]) -> str:
    hottest = max(found, key=lambda n: found[n].noise)
    nearest = max(found, key=lambda n: np.nan_to_num(found[n].step))
    diverged = sum(int(view.summary[name]["diverged"]) for name in view.samplers)
    total = view.trials * len(view.samplers)
    parts = [
        f"gradient noise adds at most {number(found[hottest].noise)} times the injected noise ({hottest})",
        f"the step nearest to its limit is at {number(found[nearest].step)} of it ({nearest})",
        f"{diverged or 'none'} of {total} trials diverged",
    ]
    difference = recomputed_difference(view)
    if difference is not None:
        parts.append(
            f"errors recomputed from the recorded points agree to {number(difference, 1)}"
            if difference
            else "errors recomputed from the recorded points agree exactly"
        )
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _table(view: View, found: dict[str, Health]) -> Table:
    rows = []
    for name in view.names:
        row, h = view.summary[name], found.get(name)
        evaluations = row["evaluations"]
        rows.append((
            name, h.noise if h else None, h.largest_noise if h else None, h.step if h else None, row["diverged"],
            row["first_divergence"], row["resets"], evaluations["gradient"], evaluations["cost"], evaluations["hessian"],
        ))  # fmt: skip
    columns = (
        "sampler", "noise ratio", "largest", "step / limit", "diverged", "first at step", "resets", "gradients per step", "costs",
        "Hessians",
    )  # fmt: skip
    return Table(columns, tuple(rows))
