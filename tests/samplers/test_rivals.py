"""``adaptive-step``, ``kinetic`` and ``psgld`` do what their literature says; test_kernels has their steps transcribed.

The world is scalar: minima at +-1, curvature 1, gradient noise 1, rate 1 each way (docs/mathematics, "Adaptive step" and "Kinetic").
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from interpreting import interpreted
from worlds import scenario_of

import tracker
from tracker import limits
from tracker.reports.run_page import overview
from tracker.reports.run_view import View
from tracker.reports.run_vs_run import steps, steps_line
from tracker.reports.sampler_vs_sampler import exhibit
from tracker.scenario import ScenarioError

Q = [[-1.0, 1.0], [1.0, -1.0]]


def jumping(alpha: float, samplers: list[dict[str, Any]], **changes: Any) -> Any:
    modes = [
        {"cost": "quadratic", "minimum": [m], "curvature": [[1.0]], "gradient_noise": [[1.0]]} for m in (1.0, -1.0)
    ]
    settings = {"steps": 2000, "start": [0.0], "seed": 3, "record_every": 500, "baselines": [], **changes}
    return scenario_of(modes, samplers, chain={"alpha": alpha, "Q": Q}, **settings)


def best_step(alpha: float, beta: float | str) -> limits.BestStep:
    return limits.best_step(jumping(alpha, [{"kind": "langevin", "beta": beta}]), "sampler-0")


def settled(alpha: float, beta: float | str, start: float, epsilon_step: float, steps: int) -> tuple[float, float]:
    """Step and mean square error over the second half, from ``start`` times the best step."""
    keys = {"kind": "adaptive-step", "epsilon": start * best_step(alpha, beta).epsilon, "beta": beta}
    keys |= {"epsilon_step": epsilon_step, "epsilon_bounds": [1e-4, 0.9]}
    run = tracker.run(jumping(alpha, [keys], trials=24, steps=steps, burn_in=steps // 2, record_every=steps // 100))
    learnt = run.dataset["adapted_epsilon"].sel(adapted_epsilon_sampler="sampler-0").values
    return float(learnt[:, 50:].mean()), run.summary["samplers"][0]["mean_square_error"]["mean"]


@pytest.mark.parametrize("start", [0.1, 5.0])
@pytest.mark.parametrize(("alpha", "epsilon_step", "steps"), [(1e-2, 2e-5, 400_000), (1e-3, 2e-6, 1_000_000)])
def test_the_step_is_learnt(alpha, epsilon_step, steps, start):
    best = best_step(alpha, "inf")
    epsilon, error = settled(alpha, "inf", start, epsilon_step, steps)
    assert abs(epsilon / best.epsilon - 1) < 0.1
    assert abs(error / best.mean_square_error - 1) < 0.03


@pytest.mark.parametrize(("epsilon_step", "step", "error"), [(3e-6, 0.0543, 0.2700), (1e-5, 0.0554, 0.2712)])
def test_the_step_is_learnt_at_a_temperature(epsilon_step, step, error):
    got = settled(1e-3, 5.0, 1.0, epsilon_step, 1_000_000)
    assert abs(got[0] / step - 1) < 0.03
    assert abs(got[1] / error - 1) < 0.03


@cache
def by_numpy(derivative_of_noise: bool) -> tuple[float, float]:
    """The same at alpha = 1e-3, beta = 5, written for many trials at once; from the best step."""
    rng, T, steps, beta = np.random.default_rng(8), 400, 60_000, 5.0
    m, theta, V, eps = rng.choice([-1.0, 1.0], T), np.zeros(T), np.zeros(T), np.full(T, 0.0542)
    learnt, square = 0.0, 0.0
    for k in range(steps):
        if k >= steps // 2:
            learnt += eps.mean()
            square += np.mean((theta - m) ** 2)
        g, w = theta - m + rng.standard_normal(T), rng.standard_normal(T)
        own = w / np.sqrt(2 * eps * beta) if derivative_of_noise else 0.0
        theta, V, eps = (
            theta - eps * g + np.sqrt(2 * eps / beta) * w,
            (1 - eps) * V - g + own,
            np.clip(eps - 1e-5 * g * V, 1e-4, 0.9),
        )
        m = np.where(rng.random(T) < 1e-3, -m, m)
    return learnt / (steps - steps // 2), square / (steps - steps // 2)


def test_without_the_derivative_of_the_noise_the_step_runs_away():
    epsilon, error = settled(1e-3, 5.0, 3.0, 1e-5, 1_000_000)
    right, wrong = by_numpy(True), by_numpy(False)
    assert abs(right[0] / epsilon - 1) < 0.05
    assert abs(right[1] / error - 1) < 0.05
    assert wrong[0] > 3 * epsilon
    assert wrong[1] > 1.25 * error


# --- kinetic


def heavy_ball_error(alpha: float, epsilon: float, friction: float) -> float:
    """E (theta - m)^2 of the recursion at beta = inf: moments by mode of y = (theta, v), from their definition."""
    A = np.array([[1 - epsilon**2, epsilon * (1 - friction * epsilon)], [-epsilon, 1 - friction * epsilon]])
    P, b, noise = np.eye(2) + alpha * np.array(Q), np.array([epsilon**2, epsilon]), np.array([-(epsilon**2), -epsilon])
    mean, second = np.zeros((2, 2)), np.zeros((2, 2, 2))
    for _ in range(400_000):
        moved, grown = [], []
        for m, mu, Y in zip((1.0, -1.0), mean, second, strict=True):
            a = m * b
            moved.append(A @ mu + a / 2)
            grown.append(
                A @ Y @ A.T
                + np.outer(A @ mu, a)
                + np.outer(a, A @ mu)
                + np.outer(a, a) / 2
                + np.outer(noise, noise) / 2
            )
        new = np.einsum("ij,iab->jab", P, np.array(grown))
        mean = P.T @ np.array(moved)
        if np.abs(new - second).max() < 1e-13:
            break
        second = new
    return float(sum(second[i, 0, 0] - 2 * m * mean[i, 0] + m * m / 2 for i, m in enumerate((1.0, -1.0))))


MOMENTUM = {1e-2: (0.3786032, 1.804), 1e-3: (0.0813692, 1.267), 1e-4: (0.0218080, 1.085)}


def heavy_ball(alpha: float) -> dict[str, float]:
    """Momentum 0.9 and the effective step of the best constant one: epsilon^2 / (1 - 0.9) and friction epsilon = 0.1."""
    epsilon = float(np.sqrt(0.1 * best_step(alpha, "inf").epsilon))
    return {"epsilon": epsilon, "friction": 0.1 / epsilon}


@pytest.mark.parametrize(("alpha", "trials", "steps"), [(1e-2, 64, 40_000), (1e-3, 64, 100_000), (1e-4, 64, 400_000)])
def test_momentum_at_an_equal_effective_step_is_worse(alpha, trials, steps):
    error, factor = MOMENTUM[alpha]
    keys, best = heavy_ball(alpha), best_step(alpha, "inf")
    exact = heavy_ball_error(alpha, **keys)
    assert exact == pytest.approx(error, abs=6e-8)
    assert exact / best.mean_square_error == pytest.approx(factor, abs=6e-4)
    world = jumping(
        alpha, [{"kind": "kinetic", "beta": "inf", **keys}], trials=trials, steps=steps, burn_in=steps // 10
    )
    assert world.samplers[0].effective_step == pytest.approx(best.epsilon, rel=1e-12)
    got = tracker.run(world).summary["samplers"][0]["mean_square_error"]
    assert abs(got["mean"] - exact) < 4.9 * got["stderr"]
    assert abs(got["mean"] - best.mean_square_error) > 4.9 * got["stderr"]  # the control: the error of the best step


def test_the_effective_step_stands_beside_epsilon():
    samplers = [{"kind": "langevin", "epsilon": 1e-2}, {"kind": "kinetic", "epsilon": 5e-2, "friction": 5.0}]
    everyone = ["frozen", "oracle", "filter"]
    run = interpreted(jumping(1e-2, samplers, trials=2, steps=200, record_every=20, baselines=everyone))
    assert [row["effective_step"] for row in run.summary["samplers"]] == [1e-2, 1e-2, None, None, None]
    at = "epsilon = 0.01 for sampler-0, 0.05 (effective 0.01) for sampler-1"
    assert steps_line(run, run) == f"At these steps: {at}, in both runs."
    assert [row["first"]["effective_step"] for row in steps(run, run)] == [1e-2, 1e-2]
    shown = overview(View(run)).table
    assert "0.05 (effective 0.01)" in str(shown.rows)
    assert "0.05 (effective 0.01)" in str(run)
    assert at in str(exhibit(View(run)).caption).replace("At these steps (", "")


def test_the_velocity_is_recorded():
    world = jumping(1e-2, [{"kind": "kinetic", "friction": 2.0, "epsilon": 0.1}], steps=50, record_every=1)
    run = tracker.run(world)
    theta = run.dataset["theta_trace"].sel(sampler="sampler-0").values[..., 0]
    v = run.dataset["velocity"].sel(velocity_sampler="sampler-0").values[..., 0]
    assert np.abs(v).max() > 0.1
    np.testing.assert_allclose(np.diff(theta, axis=1), 0.1 * v[:, 1:], atol=1e-13)


# --- psgld


def test_psgld_keeps_both_coordinates_equally_fast():
    """On curvatures 100 and 1 the classical sampler is a hundred times slower in one coordinate; psgld is not."""
    mode = {"cost": "quadratic", "minimum": [1.0, 1.0], "curvature": [[100.0, 0.0], [0.0, 1.0]]}
    common = {"epsilon": 2e-3, "beta": "inf"}
    run = tracker.run(
        scenario_of(
            [mode], [{"kind": "psgld", **common}, {"kind": "langevin", **common}], trials=1, steps=400, start=[0.0, 0.0]
        )
    )
    theta = run.dataset["theta_trace"].isel(trial=0)
    own, classical = (theta.sel(sampler=f"sampler-{i}").values for i in (0, 1))
    assert abs(own[100, 0] - own[100, 1]) < 0.02
    assert abs(classical[100, 0] - classical[100, 1]) > 0.5


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ({"kind": "kinetic", "friction": 50.0, "epsilon": 0.04}, "must be below 2"),
        ({"kind": "psgld", "second_decay": 1.0}, "second_decay"),
        ({"kind": "adaptive-step", "epsilon_step": 1e-5, "epsilon_bounds": [0.1, 0.5]}, "outside epsilon_bounds"),
        ({"kind": "adaptive-step", "epsilon_step": 1e-5, "epsilon_bounds": [0.0, 0.5]}, "must be above 0"),
    ],
)
def test_bad_keys_are_named(keys, complaint):
    with pytest.raises(ScenarioError, match=complaint):
        jumping(1e-2, [keys])
