"""The ladder of knowledge in the scalar case: exact errors against alpha on logarithmic axes, with measured points on them.

Minima at -1 and 1, curvature, gradient noise and rate 1, beta = inf. A constant step, at its best, has an error that falls like
sqrt(alpha), the Bayes filter one that falls like alpha log(1/alpha); so does a restart whose threshold is log(1/alpha) and a bit.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tracker
from tracker import limits
from tracker.formatting import number
from tracker.reports.exhibit import Exhibit, Section, Table
from tracker.reports.figure_style import figure, legend, log_axis
from tracker.reports.html_page import render, write

ALPHAS = np.geomspace(1e-6, 1e-1, 21)
MEASURED = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
SWITCHES = 40  # mean switches of a trial, half of them before averages begin
MOST_TRIALS, FEWEST_TRIALS, STEPS = 100, 5, 40_000_000  # of a measured point; its steps over all trials
SHIFT, ABOVE = (
    2.0,
    2.0,
)  # of the restart: its threshold is log(1/alpha) + ABOVE, so that false alarms are as rare as switches
COLOURS = {
    "constant step": "#0072b2",
    "linear filter": "#009e73",
    "Bayes filter": "#d55e00",
    "restart": "#cc79a7",
}


class Point(NamedTuple):
    """A measured mean square error with its standard error."""

    rung: str
    alpha: float
    error: float
    stderr: float


def world(alpha: float, **changes: Any) -> tracker.Scenario:
    """Return the scalar case at ``alpha``."""
    modes = [
        {"name": name, "cost": "quadratic", "minimum": [m], "curvature": [[1.0]], "gradient_noise": 1.0}
        for name, m in (("left", -1.0), ("right", 1.0))
    ]
    steps = round(SWITCHES / alpha)
    data = {
        "name": "scalar", "seed": round(1 / alpha), "trials": int(np.clip(STEPS // steps, FEWEST_TRIALS, MOST_TRIALS)), "steps": steps, "burn_in": steps // 2, "start": [0.0], "modes": modes,
        "chain": {"alpha": alpha, "Q": [[-1.0, 1.0], [1.0, -1.0]]},
        "samplers": [{"name": "constant", "kind": "langevin", "epsilon": 0.1, "beta": "inf"}],
    }  # fmt: skip
    return tracker.parse({**data, **changes})


def exact() -> dict[str, list[float]]:
    """Return the exact errors at ALPHAS, by rung."""
    found: dict[str, list[float]] = {"constant step": [], "linear filter": [], "Bayes filter": []}
    for alpha in ALPHAS:
        one = world(float(alpha), steps=10, burn_in=0)
        found["constant step"].append(limits.best_step(one, "constant").mean_square_error)
        found["linear filter"].append(limits.best_linear(one).mean_square_error)
        found["Bayes filter"].append(limits.best_filter(one).mean_square_error)
    return found


def measured(alpha: float) -> list[Point]:
    """Run the best constant step, the filter baseline and the restart at ``alpha``."""
    step = limits.best_step(world(alpha, steps=10, burn_in=0), "constant").epsilon
    samplers = [{"name": "constant", "kind": "langevin", "epsilon": step, "beta": "inf"}]
    restart = {
        "name": "restart", "kind": "restart", "epsilon": step, "beta": "inf", "sampler": {"kind": "langevin"}, "detector": "cusum",
        "threshold": float(ABOVE - np.log(alpha)), "shift": SHIFT, "noise_variance": 1.0, "action": "mean", "curvature": 1.0,
    }  # fmt: skip
    scenario = world(alpha, samplers=[*samplers, restart], baselines=["filter"])
    names = {"constant": "constant step", "filter": "Bayes filter", "restart": "restart"}
    return [
        Point(names[row["name"]], alpha, row["mean_square_error"]["mean"], row["mean_square_error"]["stderr"])
        for row in tracker.run(scenario).summary["samplers"]
    ]


def exhibit() -> Exhibit:
    """Draw the curves and the points."""
    curves, points = exact(), [point for alpha in MEASURED for point in measured(alpha)]
    with figure(height=4.2) as fig:
        ax = fig.subplots()
        for rung, errors in curves.items():
            ax.plot(ALPHAS, errors, color=COLOURS[rung], label=rung)
        for rung in dict.fromkeys(point.rung for point in points):
            own = [point for point in points if point.rung == rung]
            reach = [1.96 * point.stderr for point in own]
            ax.errorbar(
                [point.alpha for point in own], [point.error for point in own], yerr=reach, fmt="o", markersize=5, color=COLOURS[rung],
                label=f"{rung}, run",
            )  # fmt: skip
        log_axis(ax)
        ax.set_yscale("log")
        ax.set_xlabel("α, step of the chain")
        ax.set_ylabel("mean square error")
        legend(fig, ax)
    rows = [(float(a), *(curves[rung][k] for rung in curves), *_at(points, float(a))) for k, a in enumerate(ALPHAS)]
    heads = tuple(dict.fromkeys(point.rung for point in points))
    columns = ("α", *curves, *(f"{rung}, measured" for rung in heads))
    caption = _caption(curves, points)
    alt = "Mean square errors against alpha on logarithmic axes: lines for theory, dots for measured errors."
    return Exhibit("ladder", "How fast could one know?", caption, alt, fig, Table(columns, tuple(rows)))


def _at(points: list[Point], alpha: float) -> list[str | None]:
    rungs = dict.fromkeys(point.rung for point in points)
    found = {point.rung: point for point in points if np.isclose(point.alpha, alpha)}
    return [f"{number(found[r].error)} ± {number(found[r].stderr, 2)}" if r in found else None for r in rungs]


def _caption(curves: dict[str, list[float]], points: list[Point]) -> str:
    few = ALPHAS < 1e-4
    slopes = {
        rung: np.polyfit(np.log(ALPHAS[few]), np.log(np.array(errors)[few]), 1)[0] for rung, errors in curves.items()
    }
    told = "; ".join(f"{rung} {number(slope)}" for rung, slope in slopes.items())
    exact_at = {rung: dict(zip(np.round(np.log10(ALPHAS), 6), errors, strict=True)) for rung, errors in curves.items()}
    misses = [
        abs(p.error - exact_at[p.rung][round(np.log10(p.alpha), 6)]) / p.stderr
        for p in points
        if p.rung in exact_at and p.stderr > 0
    ]
    return (
        f"Slopes on these axes below alpha = 1e-4: {told}. Constant steps and linear filters fall like the square root of alpha, the Bayes filter like "
        f"alpha log(1/alpha). {len(misses)} measured points lie within {number(max(misses, default=0.0), 2)} standard errors of their curves. {_between(points)}"
    )


def _between(points: list[Point]) -> str:
    """Say where the restart stands between the other two, as measured."""
    at = {(point.rung, point.alpha): point for point in points}
    found = []
    for alpha in MEASURED:
        filtered, own, constant = (at[rung, alpha] for rung in ("Bayes filter", "restart", "constant step"))
        gaps = ((filtered, own), (own, constant))
        if all(high.error - low.error > 4.0 * np.hypot(high.stderr, low.stderr) for low, high in gaps):
            found.append(alpha)
    where = ", ".join(f"{alpha:g}" for alpha in found) or "none of them"
    return (
        f"The restart, which knows the noise, the size of the jumps and alpha (its threshold is log(1/alpha) + {number(ABOVE)}), is between the two by "
        f"more than 4 standard errors at alpha = {where}."
    )


def write_page(path: Path) -> None:
    """Write the page."""
    one = exhibit()
    subtitle = "minima at ±1, curvature, gradient noise and rate 1, beta = inf; exact curves, measured points"
    write(path, lambda: render("The ladder of knowledge", subtitle, [Section("", (), (one,))]))
