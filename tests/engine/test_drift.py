"""Landscapes that drift: paths drawn again with numpy, every cost, closed forms, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from interpreting import interpreted
from scipy.optimize import minimize_scalar
from worlds import shipped

import tracker
from tracker import limits

BOWL = {"name": "a", "cost": "quadratic", "minimum": [1.0], "curvature": [[1.0]], "gradient_noise": 0.25}
LMS = {"name": "lms", "kind": "langevin", "epsilon": 0.05, "beta": "inf"}
WALK = {"kind": "random-walk", "covariance": 4e-4}


def world(drift: Any = WALK, **changes: Any) -> tracker.Scenario:
    data = {"name": "drifting", "seed": 3, "trials": 40, "steps": 4000, "burn_in": 500, "start": [1.0],
            "drift": drift, "modes": [BOWL], "samplers": [LMS], **changes}  # fmt: skip
    return tracker.parse({key: value for key, value in data.items() if value is not None})


def row(run: Any, name: str) -> dict[str, Any]:
    return next(one for one in run.summary["samplers"] if one["name"] == name)


def test_random_walk_has_the_closed_form_error_and_a_still_world_has_not() -> None:
    run = tracker.run(world())
    found, epsilon, q, s2 = row(run, "lms")["mean_square_error"], 0.05, 4e-4, 0.25
    exact = (epsilon**2 * s2 + q) / (1 - (1 - epsilon) ** 2)
    assert float(limits.stationary(world(), "lms").mean_square_error) == pytest.approx(exact, rel=1e-12)
    assert abs(found["mean"] - exact) < 4.9 * found["stderr"]
    still = epsilon**2 * s2 / (1 - (1 - epsilon) ** 2)
    assert abs(found["mean"] - still) > 10 * found["stderr"]
    assert row(run, "oracle")["tracking_error"]["mean"] < 1e-12
    assert row(run, "frozen")["mean_square_error"]["mean"] > 10 * exact


def test_moments_of_theta_and_of_the_error_are_exact_from_the_start() -> None:
    """One step after the other for E theta, E theta^2, E theta d and E d^2."""
    epsilon, q, s2, m = 0.05, 4e-4, 0.25, 1.0
    mean, second, cross, walked = 2.0, 4.0, 0.0, 0.0
    wanted = []
    for _ in range(30):
        error = second - 2 * cross + walked - 2 * m * mean + m * m  # E(theta - d - m)^2, E d = 0
        wanted.append((mean, second, error))
        b = 1 - epsilon
        new = b * b * second + 2 * b * epsilon * (cross + m * mean)
        second = new + epsilon**2 * (walked + m * m) + epsilon**2 * s2
        cross = b * cross + epsilon * walked
        mean, walked = b * mean + epsilon * m, walked + q
    found = limits.algorithm_moments(world(start=[2.0]), "lms", np.arange(30))
    np.testing.assert_allclose(found.mean[:, 0], [w[0] for w in wanted], rtol=1e-12)
    np.testing.assert_allclose(found.second[:, 0, 0], [w[1] for w in wanted], rtol=1e-12)
    np.testing.assert_allclose(found.mean_square_error, [w[2] for w in wanted], rtol=1e-10)


def stream(seed: int, role: int, trial: int) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(role, trial))))


DRIFTS = [
    ({"kind": "random-walk", "covariance": [[0.01, 0.004], [0.004, 0.02]]}, "walk"),
    ({"kind": "random-walk", "covariance": [[0.01, 0.0], [0.0, 0.0]]}, "walk"),
    ({"kind": "sinusoid", "amplitude": [0.5, -0.2], "period": 37.0, "phase": 0.4}, "sinusoid"),
    ({"kind": "ramp", "velocity": [0.01, -0.02]}, "ramp"),
]


@pytest.mark.parametrize(("drift", "kind"), DRIFTS)
def test_a_path_can_be_drawn_again_with_numpy(drift: dict[str, Any], kind: str) -> None:
    scenario = shipped("example_a").replace(trials=3, steps=300, record_every=1, drift=drift, interventions=[
        {"at": 50, "kind": "outage", "steps": 20}])  # fmt: skip
    run, trial, K = interpreted(scenario), 2, 300
    k = np.arange(K + 1)[:, None]
    if kind == "walk":
        covariance = np.array(drift["covariance"])
        normals = stream(scenario.seed, 7, trial).standard_normal((K, np.linalg.matrix_rank(covariance)))
        factor = np.linalg.cholesky(covariance) if normals.shape[1] == 2 else np.array([[0.1], [0.0]])
        steps = normals @ factor.T
        d = np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])
        if normals.shape[1] == 1:  # an eigenvector has either sign
            d *= np.sign(d[1, 0]) * np.sign(run.arrays["shift"][trial, 1, 0])
    elif kind == "ramp":
        d = k * np.array(drift["velocity"])
    else:
        d = np.array(drift["amplitude"]) * (np.sin(2 * np.pi * k / 37.0 + 0.4) - np.sin(0.4))
    np.testing.assert_allclose(run.arrays["shift"][trial], d, atol=1e-12)
    mode, sampler = run.arrays["mode"][trial], scenario.samplers[0]
    M = np.eye(2) + sampler.skew * np.array([[0.0, -1.0], [1.0, 0.0]])
    seen, noise, theta = stream(scenario.seed, 1, trial), stream(scenario.seed, 2, trial), np.array(scenario.start)
    for step in range(K):
        own = scenario.modes[mode[step]]
        np.testing.assert_allclose(run.arrays["theta"][trial, 0, step], theta, rtol=1e-9, atol=1e-12)
        error = np.linalg.norm(theta - d[step] - np.array(own.minimum))
        assert run.arrays["error"][trial, 0, step] == pytest.approx(error, rel=1e-9)
        z, w = np.linalg.cholesky(own.gradient_noise) @ seen.standard_normal(2), noise.standard_normal(2)
        g = np.array(own.curvature) @ (theta - d[step] - np.array(own.minimum)) + z
        if not 50 <= step < 70:
            theta = theta - sampler.epsilon * M @ g + np.sqrt(2 * sampler.epsilon / sampler.beta) * w


def test_every_sampler_and_cost_can_drift_and_a_walk_of_variance_0_is_no_drift() -> None:
    for name, kind in (("swapping_wells", "hessian"), ("jumping_mixture", "langevin")):
        scenario = shipped(name)
        samplers = [next(one for one in scenario.samplers if one.kind == kind)]
        scenario = scenario.replace(trials=2, steps=200, claims=None, samplers=samplers, baselines=[])
        still, standing, moving = (
            interpreted(scenario.replace(drift=drift))
            for drift in (None, *({"kind": "ramp", "velocity": [u, 0.0]} for u in (0.0, 1e-4)))
        )
        np.testing.assert_array_equal(still.arrays["theta"], standing.arrays["theta"])
        np.testing.assert_array_equal(still.arrays["error"], standing.arrays["error"])
        assert np.isfinite(moving.arrays["error"]).all()
        assert not np.array_equal(moving.arrays["theta"], still.arrays["theta"])


def test_a_ramp_is_followed_at_a_constant_lag() -> None:
    u, epsilon = 1e-3, 0.05
    scenario = world(
        {"kind": "ramp", "velocity": [u]}, modes=[{**BOWL, "gradient_noise": 0.0}], trials=1, record_every=100
    )
    run = tracker.run(scenario)
    lag = run.arrays["shift"][0, -1, 0] + 1.0 - run.arrays["theta"][0, 0, -1, 0]
    assert lag == pytest.approx(u / epsilon, rel=1e-9)


def test_results_do_not_depend_on_workers_and_a_page_is_drawn(tmp_path: Any) -> None:
    scenario = world(trials=6, steps=1500, burn_in=0)
    one, two = tracker.run(scenario), tracker.run(scenario, tmp_path / "run", executor=2)
    assert one.summary["hash"] == two.summary["hash"]
    again = tracker.open_run(tmp_path / "run")  # what stands on disk is checked when it is read
    np.testing.assert_array_equal(again.arrays["shift"], one.arrays["shift"])
    one.report(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("drift", "told"),
    [
        ({"kind": "random-walk"}, "drift.covariance: missing"),
        ({"kind": "ramp", "velocity": [1.0, 2.0]}, "drift: has 2 coordinates, but start has 1"),
        ({"kind": "ramp", "velocity": [1.0], "period": 2.0}, 'drift.period: is not for kind = "ramp"'),
        ({"kind": "random-walk", "covariance": -1.0}, "a variance of -1 is negative"),
        ({"kind": "walk"}, "drift.kind"),
        ({"kind": "sinusoid", "amplitude": [1.0], "period": 0.0}, "drift.period"),
    ],
)
def test_a_drift_that_cannot_be_is_refused_by_its_key(drift: dict[str, Any], told: str) -> None:
    with pytest.raises(tracker.ScenarioError) as refused:
        world(drift)
    assert told in str(refused.value)


def test_theory_that_knows_no_drift_refuses_it() -> None:
    for ask in (limits.best_step, limits.stability):
        with pytest.raises(limits.OutOfScope, match="drift: a random-walk"):
            ask(world(), "lms")
    with pytest.raises(limits.OutOfScope, match="drift"):
        limits.stationary(world(), "lms", of="limit")
    with pytest.raises(limits.OutOfScope, match="drift: a ramp"):
        limits.stationary(world({"kind": "ramp", "velocity": [0.1]}), "lms")
    with pytest.raises(tracker.ScenarioError, match="drift"):
        tracker.check_limit(world())


LINEAR_KINDS: list[dict[str, Any]] = [
    {"kind": "langevin"},
    {"kind": "accelerated", "skew": 0.7},
    {"kind": "kinetic", "friction": 1.0},
    {"kind": "averaged", "rate": 0.2, "sampler": {"kind": "accelerated", "skew": 0.5}},
]


def moving(kind: dict[str, Any], alpha: float, variation: float | None = None) -> tracker.Scenario:
    """Two bowls at +-a that are exchanged at rate 1, or one that walks with covariance ``variation`` alpha aa' a step."""
    a, bowl = np.array([1.0, 0.5]), {**BOWL, "curvature": [1.0, 2.0], "gradient_noise": [[1.0, 0.2], [0.2, 0.5]]}
    world = {"name": "moving", "trials": 1, "steps": 10, "start": [0.0, 0.0], "samplers": [{"name": "s", "epsilon": 0.1, "beta": "inf", **kind}]}  # fmt: skip
    if variation is None:
        modes = [{**bowl, "name": name, "minimum": place.tolist()} for name, place in (("a", a), ("b", -a))]
        return tracker.parse({**world, "modes": modes, "chain": {"alpha": alpha, "Q": [[-1.0, 1.0], [1.0, -1.0]]}})
    walk = {"kind": "random-walk", "covariance": (variation * alpha * np.outer(a, a)).tolist()}
    return tracker.parse({**world, "modes": [{**bowl, "minimum": [0.0, 0.0]}], "drift": walk})


def least(scenario: tracker.Scenario, alpha: float) -> tuple[float, float]:
    """The best step, and the mean square error with it."""

    def error(log: float) -> float:
        at = scenario.set("samplers.s.epsilon", float(np.exp(log)))
        return float(limits.stationary(at, "s").mean_square_error)

    around = np.log(np.sqrt(alpha) * np.array([0.2, 10.0]))
    found = minimize_scalar(error, bounds=around, method="bounded", options={"xatol": 1e-4})
    return float(np.exp(found.x)), float(found.fun)


@pytest.mark.parametrize("kind", LINEAR_KINDS, ids=lambda kind: kind["kind"])
def test_jumps_and_a_walk_of_equal_quadratic_variation_have_the_same_error_to_first_order(kind: dict[str, Any]) -> None:
    """4 aa' alpha a step: least error and best step differ by a factor 1 + O(sqrt alpha); twice the walk's variance by sqrt 2."""
    for alpha in (1e-4, 1e-6):
        (step, error), (own_step, own) = least(moving(kind, alpha), alpha), least(moving(kind, alpha, 4.0), alpha)
        assert own / error == pytest.approx(1.0, abs=0.6 * np.sqrt(alpha))
        assert own_step / step == pytest.approx(1.0, abs=2.0 * np.sqrt(alpha))
        assert least(moving(kind, alpha, 8.0), alpha)[1] / error == pytest.approx(np.sqrt(2.0), rel=0.05)  # control


@pytest.mark.parametrize("kind", LINEAR_KINDS, ids=lambda kind: kind["kind"])
def test_the_law_relative_to_a_walk_is_that_of_the_walk_beside_theta(kind: dict[str, Any]) -> None:
    walking = moving(kind, 1e-3, 4.0)
    late = limits.algorithm_moments(walking, "s", [3000]).mean_square_error[0]
    assert float(limits.stationary(walking, "s").mean_square_error) == pytest.approx(late, rel=1e-9)
