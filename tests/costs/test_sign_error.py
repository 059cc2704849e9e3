"""Sign-error LMS follows a frozen, a switched or an averaged equation, by the speed of the chain.

The equations are integrated here: theta' = -sqrt(2/pi) (theta - m_x) / sqrt((theta - m_x)^2 + v), x frozen, a Markov chain of
rates Q, or averaged over its stationary law (docs/mathematics, "Regression").
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracker

K = 4.9  # standard errors; a normal variable exceeds them with probability 1e-6
EPSILON, T, START, VARIANCE = 1 / 512, 2.0, 0.3, 0.25
m, Q = np.array([1.0, -1.0]), np.array([[-1.0, 1.0], [0.5, -0.5]])
PI = np.array([1.0, 2.0]) / 3.0


def drift(theta: Any, mode: Any) -> Any:
    away = theta - m[mode]
    return -np.sqrt(2 / np.pi) * away / np.sqrt(away**2 + VARIANCE)


def integrated(speed: Any, theta: float, steps: int = 4000) -> float:
    """Runge and Kutta."""
    h = T / steps
    for _ in range(steps):
        a = speed(theta)
        b = speed(theta + h / 2 * a)
        c = speed(theta + h / 2 * b)
        theta += h / 6 * (a + 2 * b + 2 * c + speed(theta + h * c))
    return theta


@pytest.fixture(scope="module")
def equations() -> dict[str, tuple[float, float]]:
    """The mean of theta(T), from mode 0 on, and its standard error."""
    rng, n, h = np.random.default_rng(3), 20_000, T / 2000
    theta, x = np.full(n, START), np.zeros(n, dtype=int)
    for _ in range(2000):
        theta = theta + h * drift(theta, x)
        x = np.where(rng.random(n) < h * -Q[x, x], 1 - x, x)
    averaged = integrated(lambda theta: PI[0] * drift(theta, 0) + PI[1] * drift(theta, 1), START)
    return {
        "frozen": (integrated(lambda theta: drift(theta, 0), START), 0.0),
        "switched": (float(theta.mean()), float(theta.std()) / np.sqrt(n)),
        "averaged": (averaged, 0.0),
    }


@pytest.mark.parametrize(("regime", "power", "rate"), [("frozen", 2.0, 2 * EPSILON), ("switched", 1.0, 2 * EPSILON), ("averaged", 0.5, EPSILON**0.5)])  # fmt: skip
def test_three_regimes(equations: dict[str, tuple[float, float]], regime: str, power: float, rate: float) -> None:
    modes = [
        {"name": name, "cost": "regression", "loss": "absolute", "truth": [centre], "regressor_covariance": 1.0, "noise_variance": VARIANCE}
        for name, centre in (("up", 1.0), ("down", -1.0))
    ]  # fmt: skip
    scenario = tracker.parse({
        "name": "sign", "seed": 5, "trials": 1500, "steps": round(T / EPSILON), "start": [START], "modes": modes, "baselines": [],
        "record_every": round(T / EPSILON), "chain": {"alpha": EPSILON**power, "Q": Q.tolist(), "initial": "up"},
        "samplers": [{"name": "sign", "kind": "langevin", "epsilon": EPSILON, "beta": "inf"}],
    })  # fmt: skip
    final = tracker.run(scenario).summary["samplers"][0]["final"]
    mean, error = final["mean"][0], np.sqrt((final["second"][0][0] - final["mean"][0] ** 2) / 1500)
    away = {name: abs(mean - wanted) for name, (wanted, _) in equations.items()}
    assert away[regime] < K * np.hypot(error, equations[regime][1]) + rate  # the rate at which it tends to its limit
    assert min(away, key=lambda name: away[name]) == regime
    assert all(away[other] > 0.2 for other in away if other != regime)  # control: the other equations are told apart
