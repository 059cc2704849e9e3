"""What else one could run: the Bayes filter, a step that adapts, momentum, and a step that falls and must lose."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracker
from studies.literature.decreasing_step import DecreasingStep
from studies.literature.experiment import (
    FLIP,
    Curve,
    Effort,
    Experiment,
    Found,
    Point,
    average,
    bowls,
    curve,
    long_enough,
    mean_square_error,
    world,
)
from studies.literature.own_laws import decreasing_errors
from tracker import limits
from tracker.array_types import Array
from tracker.formatting import number

PLAIN = {"name": "plain", "kind": "langevin"}


def pair(alpha: float, *samplers: dict[str, Any], **more: Any) -> tracker.Scenario:
    """Return minima -1 and 1, curvature, gradient noise and rate 1."""
    return world(bowls((-1.0, 1.0), 1.0), samplers, {"alpha": alpha, "Q": FLIP}, **more)


def _best(alpha: float) -> tuple[float, float]:
    """Return the best constant step and its error."""
    found = limits.best_step(pair(alpha, {**PLAIN, "epsilon": 0.1}), "plain")
    return found.epsilon, found.mean_square_error


# --- the Bayes filter


def _filter(effort: Effort) -> Found:
    alphas = effort.along(np.geomspace(1e-6, 1e-1, 21))
    curves = [
        curve("best step", alphas, lambda a: _best(a)[1]),
        curve("filter", alphas, lambda a: limits.best_filter(pair(a, {**PLAIN, "epsilon": 0.1})).mean_square_error),
    ]
    points = []
    for a in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5):
        if a < effort.least:
            continue
        step, error = _best(a)
        scenario = long_enough(
            pair(a, {**PLAIN, "epsilon": step}, baselines=["filter"]), 1.0 / step, min(20 / a, 1e6), effort
        )
        found = mean_square_error(scenario)
        points.append(Point("best step", a, error, *found["plain"]))
        points.append(Point("filter", a, limits.best_filter(scenario).mean_square_error, *found["filter"]))
    return Found(curves, points)


def _tell_filter(found: Found) -> str:
    step, known = found.curves
    at = [k for k, x in enumerate(step.x) if abs(np.log10(x) - round(np.log10(x))) < 1e-6 and x < 0.05][::-1]
    ratios = ", ".join(number(step.y[k] / known.y[k], 2) for k in at)
    return (
        f"The best constant step pays {ratios} times the error of the filter that knows Q, the minima and the noise, at alpha = 1e-2, 1e-3, 1e-4, 1e-5, 1e-6: it falls like the square root of "
        "alpha, the filter like alpha log(1/alpha)."
    )


# --- the step that adapts


RATES = {1e-2: (1e-3, 4e-4), 1e-3: (4e-5, 1.6e-5), 1e-4: (1e-6, 4e-7)}  # epsilon_step, the second for the extrapolation
STARTS = {"from ε*/10": 0.1, "from 5 ε*": 5.0}


def _adaptive(effort: Effort) -> Found:
    alphas = effort.along(np.geomspace(1e-5, 1e-1, 17))
    curves = [curve("best step", alphas, lambda a: _best(a)[0])]
    points = []
    for a, rates in RATES.items():
        if a < effort.least:
            continue
        best, _ = _best(a)
        for name, factor in STARTS.items():
            settled = [_settled(a, factor * best, rate, effort) for rate in rates]
            # the mean step is off by O(epsilon_step): the line through two of them, at 0; both meet the same randomness
            weight = rates[1] / (rates[0] - rates[1])
            mean, stderr = average((1.0 + weight) * settled[1] - weight * settled[0])
            points.append(Point(name, a, best, mean, stderr))
    return Found(curves, points)


def _settled(alpha: float, start: float, rate: float, effort: Effort) -> Array:
    """Return the mean step of the second half, by trial."""
    best, error = _best(alpha)
    keys = {
        "name": "adaptive", "kind": "adaptive-step", "epsilon": min(start, 0.9), "epsilon_step": rate,
        "epsilon_bounds": [1e-4 * best, 0.95],
    }  # fmt: skip
    # the averaged step settles at the rate epsilon_step J'', J'' about error / best^2
    relaxation = best**2 / (rate * error) + 1.0 / best
    scenario = long_enough(pair(alpha, keys), relaxation, 20 * relaxation, effort)
    every = round(relaxation / 4)
    path = tracker.run(scenario.replace(record_every=every)).arrays["adapted_epsilon"][:, 0]
    return np.asarray(path[:, np.arange(path.shape[1]) * every >= scenario.burn_in].mean(axis=1))


def _tell_adaptive(found: Found) -> str:
    worst = max(abs(p.measured / p.exact - 1.0) for p in found.points)
    return (
        f"From a tenth and from five times the best step, the step that follows its own derivative process settles at the best constant step, without being told alpha or the noise: extrapolated to "
        f"epsilon_step = 0, within {number(100 * worst, 2)} % of it."
    )


# --- momentum


MOMENTUM = 0.9


def heavy(alpha: float) -> dict[str, Any]:
    """Return heavy ball of momentum 0.9 whose effective step, epsilon^2/(1 - momentum), is the best constant step."""
    epsilon = ((1.0 - MOMENTUM) * _best(alpha)[0]) ** 0.5
    return {"name": "heavy", "kind": "kinetic", "epsilon": epsilon, "friction": (1.0 - MOMENTUM) / epsilon}


def _momentum(effort: Effort) -> Found:
    alphas = effort.along(np.geomspace(1e-6, 1e-1, 21))

    def ratio(alpha: float) -> float:
        return float(limits.stationary(pair(alpha, heavy(alpha)), "heavy").mean_square_error) / _best(alpha)[1]

    points = []
    for a in (1e-1, 1e-2, 1e-3, 1e-4):
        if a < effort.least:
            continue
        step, error = _best(a)
        scenario = long_enough(pair(a, heavy(a)), 20.0 + 1.0 / step, 40 / a, effort)
        mean, stderr = mean_square_error(scenario)["heavy"]
        points.append(Point("heavy ball", a, ratio(a), mean / error, stderr / error))
    return Found([curve("heavy ball", alphas, ratio), Curve("the same", [1e-6, 1e-1], [1.0, 1.0])], points)


def _tell_momentum(found: Found) -> str:
    first = found.curves[0]
    by_alpha = {round(float(np.log10(x)), 6): y for x, y in zip(first.x, first.y, strict=True)}
    told = ", ".join(number(by_alpha[k], 5) for k in (-2, -3, -4))
    return (
        f"Momentum {MOMENTUM} at the same effective step has {told} times the error of plain LMS at alpha = 1e-2, 1e-3, 1e-4: the equivalence that holds for a world that stands still holds here "
        "only as alpha -> 0, where the memory of the momentum is short beside a stay."
    )


# --- a step that falls


FALLING_ALPHA = 1e-3
FALLING = DecreasingStep(epsilon=0.3)
HORIZONS = (1_000, 3_000, 10_000, 30_000, 100_000)


def _falling(effort: Effort) -> Found:
    step, error = _best(FALLING_ALPHA)
    scenario = pair(FALLING_ALPHA, {**PLAIN, "epsilon": step})
    exact = decreasing_errors(FALLING, FALLING_ALPHA, HORIZONS[-1])
    at = effort.along(np.unique(np.geomspace(30, HORIZONS[-1], 60).round())).astype(int)
    points = []
    for horizon in HORIZONS[: None if effort.curves else 2]:
        # the mean over the second half, and not one step of it
        one = scenario.replace(samplers={"falling": FALLING}, trials=2 * effort.trials, steps=horizon, burn_in=horizon // 2, record_every=horizon)  # fmt: skip
        wanted = float(exact[horizon // 2 : horizon].mean())
        points.append(Point("falling", float(horizon), wanted, *mean_square_error(one)["falling"]))
    return Found(
        [
            curve("falling", at, lambda k: float(exact[int(k) // 2 : int(k)].mean())),
            Curve("best constant", [float(at[0]), float(at[-1])], [error, error]),
        ],
        points,
    )


def _tell_falling(found: Found) -> str:
    falling, constant = found.curves
    last = falling.y[-1]
    return (
        f"The step of Welling and Teh, which falls like k^-{FALLING.power}, is right for one posterior and loses in a world that switches: after {int(falling.x[-1]):,} steps its error is {number(last)}, "
        f"{number(last / constant.y[0], 2)} times that of the best constant step, {number(constant.y[0])}, and still growing."
    )


EXPERIMENTS = (
    Experiment("filter", "How far is LMS from the Bayes filter?", "Minima ±1, curvature, gradient noise and rate 1, beta = inf.", ("α", "mean square error"), _filter, _tell_filter),
    Experiment("adaptive-step", "Does a step that adapts find the best one?", "The same world; the line is the best constant step, the points are mean steps of adaptive-step, extrapolated to epsilon_step = 0.",
               ("α", "step"), _adaptive, _tell_adaptive),
    Experiment("momentum", "Is momentum only a larger step?", "The same world; heavy ball with the effective step of the best plain LMS.", ("α", "error over that of plain LMS"), _momentum, _tell_momentum),
    Experiment("falling-step", "What does a step that falls do in a world that switches?", f"The same world at alpha = {FALLING_ALPHA:g}; epsilon_k = 0.3 (100/(100 + k))^0.55; errors over the second half of the steps.",
               ("steps", "mean square error"), _falling, _tell_falling),
)  # fmt: skip
