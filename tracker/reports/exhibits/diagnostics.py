"""Exhibit: can the numbers be trusted? Gradient noise, step over its stability limit, divergence, resets, speed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.formatting import counted, listed, number, whole
from tracker.metrics.averages import distance_to_nearest
from tracker.metrics.skew_matrix import noise_ratio
from tracker.reports.exhibit import Exhibit, Table
from tracker.reports.figure_style import MUTED, figure, log_axis
from tracker.reports.forest_plot import Row, forest
from tracker.runs.stability_of_steps import TRIALS_LOOKED_AT, final_skews

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tracker.array_types import Array
    from tracker.reports.run_view import View


KEY, QUESTION = "diagnostics", "Is anything wrong with the run?"
SMALLEST_DRAWN = 1e-6  # of the axes
SAME_STIFFNESS = 1.0 - 1e-6  # of the largest curvature: directions that share it count as one


@dataclass(frozen=True)
class Health:
    """Of one sampler, with S and sigma as they are at the end of the trials, and at the worst of all minimisers.

    noise, median_noise : gradient noise over injected noise in the stiffest direction, the largest and the median over trials
    any_noise : the same in the direction where it is largest, the largest over trials; nan of kinds whose noise is not known
    step : over its mean-square stability limit, the largest over trials; nan where no limit is known
    """

    noise: float
    median_noise: float
    any_noise: float
    step: float


def health(view: View) -> dict[str, Health]:
    """Return the state of each sampler."""
    from tracker.costs.minimise.local import curvature, gradient_noise

    points = [(mode.cost, point) for mode in view.modes for point in mode.minimisers]
    noises = [gradient_noise(*pair) for pair in points]
    directions = [_stiffest(curvature(*pair)) for pair in points]
    found = {}
    for keys in view.scenario.samplers:
        epsilon, skews = keys.epsilon, final_skews(view.arrays, view.index(keys.name), view.scenario.dimension)
        stiff, every = [], []
        for S, beta in product(skews, _temperatures(view, keys)):  # one of them stands still
            stiff.append(
                max(_noise_along(U, S, Sigma, epsilon, beta) for U, Sigma in zip(directions, noises, strict=True))
            )
            every.append(max(noise_ratio(S, Sigma, epsilon, beta) for Sigma in noises))
        step = view.steps_over_limits[keys.name]
        if not keys.classical_limit and max(every) > 0.0:  # the noise that it injects is another, and may be none
            found[keys.name] = Health(np.nan, np.nan, np.nan, step)
        else:
            found[keys.name] = Health(float(max(stiff)), float(np.median(stiff)), float(max(every)), step)
    return found


def samplers_that_record(view: View, array: str) -> list[str]:
    """Return the names of the samplers with an array of their own, in its order."""
    return [c.name for c in view.run.problem.contestants if c.records(array)]


def _temperatures(view: View, keys: Any) -> list[float]:
    """The inverse temperature: that of the file, or what sigma has made of it at the end of the first trials."""
    names = samplers_that_record(view, "sigma")
    if keys.name not in names:
        return [float(keys.beta)]
    sigma = view.arrays["sigma"][:TRIALS_LOOKED_AT, names.index(keys.name), -1]
    with np.errstate(divide="ignore"):
        return list(float(keys.beta) / sigma[np.isfinite(sigma)] ** 2) or [float(keys.beta)]


def _stiffest(H: Array) -> Array:
    """The directions of largest curvature, shape (N, n); all where the curvature is not known."""
    if not np.isfinite(H).all():
        return np.eye(len(H))
    values, vectors = np.linalg.eigh(H)
    return np.asarray(vectors[:, values >= SAME_STIFFNESS * values[-1]]) if values[-1] > 0.0 else np.eye(len(H))


def _noise_along(U: Array, S: Array, Sigma: Array, epsilon: float, beta: float) -> float:
    """The noise ratio within the span of U: what a step adds there is U' M Sigma M' U."""
    M = np.eye(len(S)) + S
    n = U.shape[1]
    return noise_ratio(np.zeros((n, n)), U.T @ M @ Sigma @ M.T @ U, epsilon, beta)


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
        theta = view.seen(n)[:TRIALS_LOOKED_AT]
        again = distance_to_nearest(theta, view.arrays["mode"][:TRIALS_LOOKED_AT].astype(np.int64), minimisers)
        gap = np.abs(again - view.arrays["error"][:TRIALS_LOOKED_AT, n]) / (1.0 + again)
        worst = max(worst, float(np.nanmax(gap, initial=0.0)))
    return worst


def exhibit(view: View, found: dict[str, Health]) -> Exhibit:
    """Draw noise ratios and steps against their limits."""
    noisy = not _without_noise(found)
    with figure(height=0.9 + (1 + noisy) * (0.3 + 0.2 * len(found))) as fig:
        axes = np.atleast_1d(fig.subplots(1 + noisy, 1))
        if noisy:
            _dots(axes[0], view, {name: (h.median_noise, h.noise) for name, h in found.items()})
            axes[0].set_title("gradient noise / injected noise, stiffest direction")
        _dots(axes[-1], view, {name: (h.step, h.step) for name, h in found.items()})
        axes[-1].set_title("step / mean-square stability limit")
    noise = (
        "gradient noise over injected noise (the median over trials, with a line to the largest), and " if noisy else ""
    )
    alt = f"Dots for {len(found)} samplers: {noise}step over stability limit (the largest)."
    return Exhibit(KEY, QUESTION, _caption(view, found), alt, fig, _table(view, found), _method(found))


def _without_noise(found: dict[str, Health]) -> bool:
    return all(h.any_noise == 0.0 for h in found.values())


def _dots(ax: Axes, view: View, ranges: dict[str, tuple[float, float]]) -> None:
    """Draw a dot for each sampler and a line to its largest value; what is infinite points out of the axes."""
    finite = [value for pair in ranges.values() for value in pair if np.isfinite(value) and value > SMALLEST_DRAWN]
    low, high = min([0.01, *finite]) / 3, 3 * max([1.0, *finite])
    log_axis(ax)
    forest(ax, [Row(name, pair[0], *pair) for name, pair in ranges.items()], view.looks, 1.0, (low, high))
    ax.set_xlim(low / 1.2, high)
    for row, (name, pair) in enumerate(ranges.items()):
        if np.isnan(pair).any():
            ax.text(low, row, "not known", va="center", color=MUTED)
        elif np.isinf(pair[1]):
            ax.text(high / 1.2, row, "∞ ", ha="right", va="center", color=view.looks[name].color)


def _caption(view: View, found: dict[str, Health]) -> str:
    diverged = sum(int(view.summary[name]["diverged"]) for name in view.samplers)
    total = view.trials * len(view.samplers)
    parts = [
        *_about_noise(found),
        *_about_steps(view, found),
        f"{whole(diverged) if diverged else 'none'} of {counted(total, 'trial')} diverged",
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


def _method(found: dict[str, Health]) -> str:
    """How the figure is to be read."""
    spread = any(np.isfinite(h.noise) and h.noise > h.median_noise for h in found.values())
    return "Dots: the median over trials, with a line to the largest." if spread else ""


def _about_noise(found: dict[str, Health]) -> list[str]:
    if _without_noise(found):
        return ["no gradient noise"]
    alone = [name for name, h in found.items() if np.isinf(h.noise)]
    rest = {name: h.noise for name, h in found.items() if np.isfinite(h.noise)}
    parts = [f"gradient noise is the only noise at beta = ∞ ({listed(alone)})"] if alone else []
    if rest:
        hottest, widest = max(rest, key=lambda n: rest[n]), max(rest, key=lambda n: found[n].any_noise)
        parts.append(
            f"gradient noise adds at most {number(rest[hottest])} times the injected noise in the stiffest direction ({hottest}), "
            f"{number(found[widest].any_noise)} in any direction ({widest})"
        )
    unknown = [name for name, h in found.items() if np.isnan(h.noise)]
    return [*parts, *([f"noise ratios are not known for the kind of {listed(unknown)}"] if unknown else [])]


def _about_steps(view: View, found: dict[str, Health]) -> list[str]:
    known = {name: h.step for name, h in found.items() if not np.isnan(h.step)}
    if not known:
        return ["no stability limit is known"]
    nearest = max(known, key=lambda n: known[n])
    with_S = (
        ", with S as at the end of the trials"
        if np.nan_to_num(view.arrays["final_skew"][:, : len(found)]).any()
        else ""
    )
    from tracker.scenario.switching_check import switched_systems

    words = [f"the step nearest to the limit of a mode alone is at {number(known[nearest])} of it ({nearest}){with_S}"]
    switched = [row.sampler for row in switched_systems(view.scenario) if row.sentence]
    if switched:
        words.append(f"switched by the chain, {listed(switched)} {'is' if len(switched) == 1 else 'are'} unstable")
    return words


def _table(view: View, found: dict[str, Health]) -> Table:
    rows = []
    for name in view.names:
        row, h = view.summary[name], found.get(name)
        evaluations = row["evaluations"]
        rows.append((
            name, *((h.median_noise, h.noise, h.any_noise, h.step) if h else (None,) * 4), row["diverged"],
            row["first_divergence"], row["resets"], evaluations["gradient"], evaluations["cost"], evaluations["hessian"],
        ))  # fmt: skip
    columns = (
        "sampler", "noise ratio, median", "largest", "in any direction", "step / limit", "diverged", "first at step", "resets",
        "gradients per step", "costs", "Hessians",
    )  # fmt: skip
    return Table(columns, tuple(rows))
