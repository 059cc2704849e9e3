"""LMS proper: correlated regressors, the sign of the error only; and the error over sqrt(epsilon)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import tracker
from studies.literature.experiment import (
    FLIP,
    Curve,
    Effort,
    Experiment,
    Found,
    Point,
    average,
    curve,
    long_enough,
    mean_square_error,
    world,
)
from studies.literature.own_laws import correlated_error, sign_error
from tracker import limits
from tracker.array_types import Array
from tracker.formatting import number

TRUTHS, NOISE = (-1.0, 1.0), 0.5


def regressions(epsilon: float, alpha: float, **keys: Any) -> tracker.Scenario:
    """Return y = phi m_x + n with phi standard normal, m = -1, 1, and n of variance 1/2."""
    modes = [
        {"cost": "regression", "truth": [m], "regressor_covariance": 1.0, "noise_variance": NOISE, **keys}
        for m in TRUTHS
    ]
    return world(modes, [{"name": "lms", "kind": "langevin", "epsilon": epsilon}], {"alpha": alpha, "Q": FLIP})


def _measured(line: str, x: float, exact: float, scenario: tracker.Scenario, effort: Effort) -> Point:
    epsilon = scenario.samplers[0].epsilon
    long = long_enough(scenario, 2.0 / epsilon, 400 / epsilon, effort)
    return Point(line, x, exact, *mean_square_error(long)["lms"])


# --- correlated regressors


RATIO = 0.2  # alpha / epsilon
SIZES = (0.05, 0.01)


def correlated(epsilon: float, memory: float) -> float:
    """Return the exact error."""
    return correlated_error(epsilon, RATIO * epsilon, FLIP, TRUTHS, NOISE, memory)


def _correlated(effort: Effort) -> Found:
    memories = effort.along(np.linspace(0.0, 0.9, 37))
    limit = float(limits.stationary(regressions(0.01, 0.01 * RATIO), "lms", of="limit").mean_square_error)
    curves = [curve(f"ε = {e:g}", memories, partial(correlated, e)) for e in SIZES]
    points = []
    for e in (size for size in SIZES if size >= effort.least):
        for r in (0.0, 0.5, 0.8, 0.9):
            scenario = regressions(e, RATIO * e, **({"regressor_memory": r} if r else {}))
            points.append(_measured(f"ε = {e:g}", r, correlated(e, r), scenario, effort))
    return Found([*curves, Curve("limit", [0.0, 0.9], [limit, limit])], points)


def _tell_correlated(found: Found) -> str:
    large, small, limit = found.curves
    gaps = [(one.y[-1] - limit.y[0]) / limit.y[0] for one in (large, small)]
    return (
        f"Correlation of the regressors is not in the limit, {number(limit.y[0], 5)}: at memory 0.9 the error is {number(100 * gaps[0], 2)} % above it at epsilon = {SIZES[0]:g} and {number(100 * gaps[1], 2)} % at "
        f"{SIZES[1]:g}."
    )


# --- the sign of the error


REGIMES = {"α = ε²": 2.0, "α = ε": 1.0, "α = √ε": 0.5}


def signed(epsilon: float, power: float) -> float:
    """Return the exact error."""
    return sign_error(epsilon, epsilon**power, FLIP, TRUTHS, NOISE)


def _signed(effort: Effort) -> Found:
    steps = effort.along(np.geomspace(0.02, 0.3, 6))
    curves = [curve(name, steps, partial(signed, power=power)) for name, power in REGIMES.items()]
    points = []
    for name, power in REGIMES.items():
        for e in (size for size in (0.3, 0.1, 0.03) if size >= effort.least):
            scenario = regressions(e, e**power, loss="absolute")
            points.append(_measured(name, e, signed(e, power), scenario, effort))
    return Found(curves, points)


def _tell_signed(found: Found) -> str:
    slow, matched, fast = (one.y[0] for one in found.curves)
    return (
        f"LMS that sees only the sign of its error has the same three regimes: at epsilon = {found.curves[0].x[0]:g} the error is {number(slow)} where the chain is slow, {number(matched)} where it keeps "
        f"pace, and {number(fast)} where it is fast and only the averaged minimum is followed."
    )


# --- the scaled error


CURVATURES, NOISES, PACE = (2.0, 0.5), (0.5, 1.0), 1.5  # PACE: alpha / epsilon


def alone(epsilon: float) -> tracker.Scenario:
    """Return one mode of curvature 1 with gradient noise 1/4."""
    mode = {"minimum": [0.0], "gradient_noise": 0.25}
    return world([mode], [{"name": "lms", "kind": "langevin", "epsilon": epsilon}])


def switching(epsilon: float, noise: float = 1.0) -> tracker.Scenario:
    """Return two modes of unequal curvature and noise; ``noise`` 0 is vartheta, on the same path of the chain."""
    modes = [
        {"minimum": [m], "curvature": h, "gradient_noise": noise * s}
        for m, h, s in zip((-1.0, 1.0), CURVATURES, NOISES, strict=True)
    ]
    chain = {"alpha": PACE * epsilon, "Q": FLIP, "initial": [0.5, 0.5]}
    return world(modes, [{"name": "lms", "kind": "langevin", "epsilon": epsilon}], chain)


def _by_mode(epsilon: float, of: str) -> Array:
    when = 1.0 if of == "limit" else round(1.0 / epsilon)
    return np.asarray(limits.scaled_error(switching(epsilon), "lms", when, of=of).second_by_mode[:, 0, 0])  # type: ignore[arg-type]


def _of_mode(mode: int, epsilon: float) -> float:
    return float(_by_mode(epsilon, "algorithm")[mode])


def _scaled(effort: Effort) -> Found:
    steps = effort.along(1.0 / np.unique(np.geomspace(8, 1024, 15).round())[::-1])

    def settled(epsilon: float) -> float:
        return float(limits.stationary(alone(epsilon), "lms").mean_square_error) / epsilon

    limit = _by_mode(0.01, "limit")
    curves = [curve("one mode, settled", steps, settled)]
    curves += [curve(f"mode {i}, time 1", steps, partial(_of_mode, i)) for i in range(2)]
    ends = [float(steps[0]), float(steps[-1])]
    curves += [Curve(f"limit {i}", ends, [float(y)] * 2) for i, y in enumerate((0.25 / 2.0, *limit))]
    points = []
    for n in (8, 64, 512):
        if 1 / n < effort.least:
            continue
        e, several = 1.0 / n, 20 * effort.trials
        mean, stderr = mean_square_error(long_enough(alone(e), n, 400 * n, effort))["lms"]
        points.append(Point("one mode, settled", e, settled(e), mean / e, stderr / e))
        runs = [tracker.run(switching(e, s).replace(trials=several, steps=n, record_every=n)) for s in (1.0, 0.0)]
        modes = [run.arrays["mode"][:, -1] for run in runs]
        assert np.array_equal(modes[0], modes[1])  # the same path of the chain
        u = (runs[0].arrays["theta"][:, 0, -1, 0] - runs[1].arrays["theta"][:, 0, -1, 0]) / np.sqrt(e)
        for i in range(2):
            exact = _of_mode(i, e)
            points.append(Point(f"mode {i}, time 1", e, exact, *average(u**2 * (modes[0] == i))))
    return Found(curves, points)


def _tell_scaled(found: Found) -> str:
    ends = [number(one.y[0], 4) for one in found.curves[3:]]
    return (
        f"The error over sqrt(epsilon) has a limit: in one mode that has settled the variance tends to sigma^2/(2h) = {ends[0]}, and with a chain that keeps pace E[u^2; x = i] at time 1 tends to {ends[1]} and "
        f"{ends[2]}, the law of a switching diffusion."
    )


EXPERIMENTS = (
    Experiment("scaled-error", "What is the law of the error over sqrt(epsilon)?", f"One mode (curvature 1, noise 1/4), and two modes with minima ±1, curvature {CURVATURES}, noise {NOISES}, alpha = {PACE} epsilon: u = (theta - vartheta)/sqrt(epsilon), vartheta without gradient noise on the same path of the chain.",
               ("ε", "E u²"), _scaled, _tell_scaled),
    Experiment("correlated", "What do correlated regressors do to LMS?", f"y = phi m + n, m = ±1, phi an AR(1) of variance 1, n of variance {NOISE}, rate 1, alpha = {RATIO} epsilon.", ("memory of the regressors", "mean square error"), _correlated, _tell_correlated, logarithmic=False),
    Experiment("sign-error", "What does LMS do that sees only the sign of its error?", "The same regressions without memory; loss |y - phi theta|. Exact by quadrature of the sampler's own law.", ("ε", "mean square error"), _signed, _tell_signed),
)  # fmt: skip
