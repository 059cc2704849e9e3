"""A constant step in a switching world: three states, the two slopes, a fast chain, jumps against drift."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

import tracker
from studies.literature.experiment import (
    FLIP,
    THREE_STATES,
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
from tracker import limits
from tracker.formatting import number

# --- three states


def three_states(alpha: float, epsilon: float) -> tracker.Scenario:
    """Return minima -1, 0, 1, curvature 1 and gradient noise of variance 1/4."""
    sampler = {"name": "lms", "kind": "langevin", "epsilon": epsilon}
    return world(bowls((-1.0, 0.0, 1.0), 0.25), [sampler], {"alpha": alpha, "Q": THREE_STATES})


def _exact(scenario: tracker.Scenario) -> float:
    return float(limits.stationary(scenario, "lms").mean_square_error)


def _measured(line: str, x: float, scenario: tracker.Scenario, steps: float, effort: Effort) -> Point:
    epsilon = scenario.samplers[0].epsilon
    found = mean_square_error(long_enough(scenario, 1.0 / epsilon, steps, effort))
    return Point(line, x, _exact(scenario), *found["lms"])


def _three(effort: Effort) -> Found:
    def limit(ratio: float) -> float:
        return float(limits.stationary(three_states(1e-3 * ratio, 1e-3), "lms", of="limit").mean_square_error)

    ratios = effort.along(np.geomspace(1e-3, 1e2, 41))
    curves = [
        curve("limit", ratios, limit),
        curve("ε = 0.01", ratios, lambda r: _exact(three_states(0.01 * r, 0.01))),
    ]
    points = [
        _measured("ε = 0.01", r, three_states(0.01 * r, 0.01), 20_000, effort)
        for r in (0.01, 0.1, 1.0, 10.0, 100.0)
        if 0.1 * r >= effort.least
    ]
    points += [
        _measured(f"ε = {e:g}", 1.0, three_states(e, e), 200 / e, effort) for e in (0.05, 0.001) if e >= effort.least
    ]
    return Found(curves, points)


def _tell_three(found: Found) -> str:
    limit = {round(float(np.log10(x)), 6): y for x, y in zip(found.curves[0].x, found.curves[0].y, strict=True)}
    ends = ", ".join(f"{number(limit[k], 5)} at {10.0**k:g}" for k in (-2, -1, 0, 1, 2))
    return f"As epsilon -> 0 the mean square error tends to a number that depends on alpha/epsilon alone: {ends}; it lies between 0, of a frozen mode, and 2/3, of the averaged cost."


# --- the order of the error


def _rates(effort: Effort) -> Found:
    alphas = effort.along(np.geomspace(1e-6, 1e-2, 17))

    def best(alpha: float) -> float:
        return limits.best_step(three_states(alpha, 0.01), "lms").epsilon

    curves = [
        curve("ε = √α", alphas, lambda a: _exact(three_states(a, a**0.5))),
        curve("best ε", alphas, lambda a: _exact(three_states(a, best(a)))),
    ]
    points = []
    for a in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        if a >= effort.least:
            long = min(20 / a, 4e6)
            points += [_measured("ε = √α", a, three_states(a, a**0.5), long, effort)]
            points += [_measured("best ε", a, three_states(a, best(a)), long, effort)]
    return Found(curves, points)


def _tell_rates(found: Found) -> str:
    slopes = [number(one.slope(1e-6, 1e-5)) for one in found.curves]
    last = found.curves[1]
    return (
        f"Both fall like the square root of alpha (slopes below 1e-5: {slopes[0]} and {slopes[1]}); the best step's error is {number(last.y[0] / last.x[0] ** 0.5)} "
        f"sqrt(alpha), and no constant step does better."
    )


SLOW = 1e-4  # alpha of the two slopes


def _branches(effort: Effort) -> Found:
    best = limits.best_step(three_states(SLOW, 0.01), "lms")
    steps = effort.along(np.geomspace(1e-3, 0.3, 41))
    curves = [
        curve("exact", steps, lambda e: _exact(three_states(SLOW, e))),
        curve("Kn ε", steps, lambda e: best.noise * e),
        curve("Ks α/ε", steps, lambda e: best.lag * SLOW / e),
    ]
    points = [
        _measured("exact", e, three_states(SLOW, e), 20 / SLOW, effort)
        for e in (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
        if e >= effort.least
    ]
    return Found(curves, points)


def _tell_branches(found: Found) -> str:
    low, high = found.curves[0].slope(1e-3, 2e-3), found.curves[0].slope(0.15, 0.3)
    return (
        f"At alpha = {SLOW:g} small steps pay for jumps, alpha/epsilon (slope {number(low)} on the left), large ones for noise, epsilon (slope {number(high)} on the right): the error is "
        "O(epsilon + alpha/epsilon) with both terms present."
    )


# --- a chain that is faster than the algorithm


FAST_H, FAST_D, FAST_Q = 1.3, 0.8, 0.7
POWERS = {"α = ε^1/2": 0.5, "α = ε^3/4": 0.75}


def fast(epsilon: float, power: float) -> tracker.Scenario:
    """Return two modes at -d and d without gradient noise, so that only the chain moves theta about its average, 0."""
    q = FAST_Q
    modes = [{"minimum": [m], "curvature": FAST_H} for m in (-FAST_D, FAST_D)]
    sampler = {"name": "lms", "kind": "langevin", "epsilon": epsilon}
    return world(modes, [sampler], {"alpha": epsilon**power, "Q": [[-q, q], [q, -q]]})


def _scaled_fast(epsilon: float, power: float) -> float:
    scenario = fast(epsilon, power)
    return float(limits.stationary(scenario, "lms").second[0, 0]) * epsilon ** (power - 1.0)


def _fast(effort: Effort) -> Found:
    steps = effort.along(np.geomspace(1e-6, 1e-1, 26))
    target = FAST_H * FAST_D**2 / (2 * FAST_Q)
    curves = [curve(name, steps, partial(_scaled_fast, power=power)) for name, power in POWERS.items()]
    points = []
    for name, power in POWERS.items():
        for e in (1e-1, 1e-2, 1e-3, 1e-4):
            if e >= effort.least:
                scale = e ** (power - 1.0)
                mean, stderr = _second_moment(fast(e, power), 1.0 / (e * FAST_H), effort)
                points.append(Point(name, e, _scaled_fast(e, power), mean * scale, stderr * scale))
    return Found([*curves, Curve("h d²/(2q)", [1e-6, 1e-1], [target, target])], points)


def _second_moment(scenario: tracker.Scenario, relaxation: float, effort: Effort) -> tuple[float, float]:
    """Return E theta^2, averaged over points that are five relaxation times apart."""
    every = round(5 * relaxation)
    long = long_enough(scenario, relaxation, 200 * relaxation, effort)
    theta = tracker.run(long.replace(record_every=every)).arrays["theta"][:, 0, :, 0]
    return average((theta[:, np.arange(theta.shape[1]) * every >= long.burn_in] ** 2).mean(axis=1))


def _tell_fast(found: Found) -> str:
    target = found.curves[-1].y[0]
    gaps = [abs(one.y[0] / target - 1.0) for one in found.curves[:2]]
    return (
        f"The chain alone spreads theta about the averaged minimum by sqrt(epsilon/alpha): the variance over epsilon/alpha tends to h d^2/(2q) = {number(target, 5)}; at epsilon = 1e-6 it is "
        f"{number(gaps[0], 2)} and {number(gaps[1], 2)} of that away, a distance that falls like epsilon/alpha."
    )


# --- jumps against drift


def jumps(motion: float, epsilon: float = 0.05) -> tracker.Scenario:
    """Return minima at -1 and 1 that move, in the mean of squares, by ``motion`` a step."""
    sampler = {"name": "lms", "kind": "langevin", "epsilon": epsilon}
    return world(bowls((-1.0, 1.0), 1.0), [sampler], {"alpha": motion / 4.0, "Q": FLIP})


def drift(kind: str, motion: float, epsilon: float) -> tracker.Scenario:
    """Return one mode whose minimum walks at random, or runs along a ramp, by ``motion`` a step in the mean of squares."""
    how = {"covariance": motion} if kind == "random-walk" else {"velocity": [motion**0.5]}
    sampler = {"name": "lms", "kind": "langevin", "epsilon": epsilon}
    return world(bowls((0.0,), 1.0), [sampler], drift={"kind": kind, **how})


def walk_error(motion: float, epsilon: float) -> float:
    """Return (epsilon^2 s^2 + q)/(1 - (1 - epsilon)^2)."""
    return (epsilon**2 + motion) / (1.0 - (1.0 - epsilon) ** 2)


def ramp_error(motion: float, epsilon: float) -> float:
    """Return (u/epsilon)^2 + epsilon^2 s^2/(1 - (1 - epsilon)^2): it lags by u/epsilon."""
    return motion / epsilon**2 + walk_error(0.0, epsilon)


def best_of(error: Callable[[float, float], float], motion: float) -> float:
    """Return the best step of a closed form."""
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(lambda s: error(motion, float(np.exp(s))), bounds=(np.log(1e-5), np.log(0.9)), method="bounded", options={"xatol": 1e-9})  # fmt: skip
    return float(np.exp(found.x))


def least_error(error: Callable[[float, float], float], motion: float) -> float:
    """Return the error of a closed form at its best step."""
    return error(motion, best_of(error, motion))


FORMS = {"random walk": ("random-walk", walk_error), "ramp": ("ramp", ramp_error)}


def _drift(effort: Effort) -> Found:
    motions = effort.along(np.geomspace(4e-6, 4e-2, 17))
    curves = [curve("jumps", motions, lambda v: limits.best_step(jumps(v), "lms").mean_square_error)]
    curves += [curve(name, motions, partial(least_error, form)) for name, (_, form) in FORMS.items()]
    points = []
    for v in (4e-2, 4e-3, 4e-4, 4e-5):
        if v < effort.least:
            continue
        step = limits.best_step(jumps(v), "lms").epsilon
        points.append(_measured("jumps", v, jumps(v, step), 80 / v, effort))
        for name, (kind, form) in FORMS.items():
            step = best_of(form, v)
            scenario = long_enough(drift(kind, v, step), 1.0 / step, 400 / step, effort)
            points.append(Point(name, v, form(v, step), *mean_square_error(scenario)["lms"]))
    return Found(curves, points)


def _tell_drift(found: Found) -> str:
    slopes = [number(one.slope(4e-6, 4e-5)) for one in found.curves]
    ratio = found.curves[0].y[0] / found.curves[1].y[0]
    return (
        f"At each one's best step the error grows with the motion per step to the power {slopes[0]} for jumps, {slopes[1]} for a random walk and {slopes[2]} for a ramp. Jumps and a random walk of the "
        f"same motion are one to a linear algorithm (ratio {number(ratio, 4)} at the left end); only detection tells them apart."
    )


EXPERIMENTS = (
    Experiment("three-states", "LMS on a chain of three states: what does the error tend to?", "Minima -1, 0, 1, curvature 1, gradient noise 1/4, beta = inf; alpha = ratio x epsilon.",
               ("α/ε", "mean square error"), _three, _tell_three),
    Experiment("rate", "How does the error fall with alpha?", "The same chain and costs; at epsilon = sqrt(alpha), and at the best step.", ("α", "mean square error"), _rates, _tell_rates),
    Experiment("slopes", "Why is the error O(epsilon + alpha/epsilon)?", f"The same chain and costs at alpha = {SLOW:g}; thin lines are the two terms alone.", ("ε", "mean square error"), _branches, _tell_branches),
    Experiment("fast-chain", "What does a chain that is faster than the algorithm leave?", f"Minima ±{FAST_D}, curvature {FAST_H}, rate {FAST_Q}, no gradient noise.", ("ε", "variance of θ over ε/α"), _fast, _tell_fast),
    Experiment("drift", "Are jumps harder than drift?", "Curvature 1, gradient noise 1; minima that jump between ±1, walk at random, or run along a ramp; each at its best step.", ("mean square motion of the minimum per step", "mean square error"), _drift, _tell_drift),
)  # fmt: skip
