"""Noise with memory: the path of a run against a transcription with numpy's own streams, and exact moments against closed forms.

docs/mathematics, "Noise with memory".
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from interpreting import interpreted

import tracker
from tracker import limits
from tracker.costs import COSTS, base, facts
from tracker.costs.moved import movable

K = 4.9  # standard errors; a normal variable exceeds them with probability 1e-6
SEED, RHO = 2**33 + 5, 0.8
NOISE = np.array([[[1.0, 0.3], [0.3, 0.5]], [[0.2, 0.0], [0.0, 0.7]]])
H = np.array([[[2.0, 0.3], [0.3, 1.0]], [[1.0, -0.2], [-0.2, 1.5]]])
m = np.array([[1.0, -1.0], [-1.0, 0.5]])
Q = [[-1.0, 1.0], [0.6, -0.6]]


def bowls(rho: float = RHO) -> list[dict[str, Any]]:
    return [
        {"name": f"m{i}", "cost": "quadratic", "minimum": m[i].tolist(), "curvature": H[i].tolist(), "gradient_noise": NOISE[i].tolist(),
         "noise_memory": rho} for i in range(2)
    ]  # fmt: skip


def world(modes: list[dict[str, Any]], **changes: Any) -> tracker.Scenario:
    N = len(modes[0].get("minimum", modes[0].get("truth", [0.0])))
    chain = {"chain": {"alpha": 0.05, "Q": Q}} if len(modes) > 1 else {}
    sampler = {"name": "s", "kind": "langevin", "epsilon": 0.05, "beta": "inf"}
    return tracker.parse({
        "name": "w", "seed": SEED, "trials": 2, "steps": 300, "record_every": 1, "start": [0.5] * N, "baselines": [], **chain, "modes": modes,
        "samplers": [sampler], **changes,
    })  # fmt: skip


def stream(trial: int) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(SEED, spawn_key=(1, trial))))


def test_one_memory_serves_all_modes_and_runs_on_in_an_outage() -> None:
    outage = (101, 37)
    run = interpreted(world(bowls(), interventions=[{"kind": "outage", "at": outage[0], "steps": outage[1]}]))
    theta, modes = run.dataset["theta_trace"].to_numpy()[0], run.dataset["mode"].to_numpy()
    factors = np.linalg.cholesky(NOISE)
    for trial in range(2):
        rng, at, u = stream(trial), np.array([0.5, 0.5]), np.zeros(2)
        for k in range(300):
            np.testing.assert_allclose(theta[trial, k], at, rtol=1e-12, atol=1e-12)
            n, x = rng.standard_normal(2), int(modes[trial, k])
            u = n if k == 0 else RHO * u + np.sqrt(1 - RHO**2) * n
            if not outage[0] <= k < outage[0] + outage[1]:
                at = at - 0.05 * (H[x] @ (at - m[x]) + factors[x] @ u)
    assert len(set(modes[0].tolist())) == 2


def test_regressors_remember_and_their_noise_does_not() -> None:
    R = np.array([[2.0, 0.5], [0.5, 1.0]])
    mode = {"name": "m", "cost": "regression", "truth": [1.0, -1.0], "regressor_covariance": R.tolist(), "noise_variance": 0.3, "regressor_memory": -0.6}  # fmt: skip
    run = interpreted(world([mode]))
    theta, F = run.dataset["theta_trace"].to_numpy()[0, 1], np.linalg.cholesky(R)
    rng, at, u = stream(1), np.array([0.5, 0.5]), np.zeros(2)
    for k in range(300):
        np.testing.assert_allclose(theta[k], at, rtol=1e-11, atol=1e-12)
        n = rng.standard_normal(3)
        u = n[:2] if k == 0 else -0.6 * u + 0.8 * n[:2]
        phi = F @ u
        at = at + 0.05 * phi * (phi @ np.array([1.0, -1.0]) + np.sqrt(0.3) * n[2] - phi @ at)
    with pytest.raises(limits.OutOfScope):
        limits.stationary(world([mode]), "s")


def test_a_memory_of_zero_changes_no_bit_and_blocks_do_not_matter() -> None:
    white = world([{key: part for key, part in mode.items() if key != "noise_memory"} for mode in bowls()])
    with_zero = interpreted(world(bowls(0.0))).dataset["theta_trace"].to_numpy()
    np.testing.assert_array_equal(interpreted(white).dataset["theta_trace"].to_numpy(), with_zero)
    cost, streams = (
        COSTS["quadratic"](**bowls()[0]).build(),
        [np.random.SFC64(5).state["state"]["state"].copy() for _ in "ab"],
    )
    whole, pieces, memories = np.zeros((20, 2)), np.zeros((20, 2)), np.zeros((2, 2))
    with np.errstate(over="ignore"):
        base.observe_on(cost, 0, 20, streams[0], memories[0], whole)
        for k, count in ((0, 3), (3, 1), (4, 16)):
            base.observe_on(cost, k, count, streams[1], memories[1], pieces[k : k + count])
    np.testing.assert_array_equal(whole, pieces)
    np.testing.assert_array_equal(*memories)
    moved = movable(cost, m[:1], np.zeros(2), np.zeros(2))  # a landscape that drifts hands out the same noise
    again, memory, words = np.zeros((20, 2)), np.zeros(2), np.random.SFC64(5).state["state"]["state"].copy()
    with np.errstate(over="ignore"):
        base.observe_on(moved, 0, 20, words, memory, again)
    np.testing.assert_array_equal(again, whole)
    assert base.memory_size(moved) == 2
    assert facts.additive_noise(cost, 2) is None  # nobody takes it for white noise
    assert base.memory_size(COSTS["quadratic"](**bowls(0.0)[0]).build()) == 0


def test_modes_that_remember_differently_are_refused() -> None:
    for change, said in (
        ({"noise_memory": 0.5}, 'modes[1] "m1": noise_memory: 0.5, but modes[0] "m0" has noise_memory = 0.8'),
        ({"gradient_noise": [[1.0, 0.0], [0.0, 0.0]]}, "its noise has rank 1, but that of modes[0]"),
        ({"noise_memory": 1.0}, "noise_memory"),
    ):
        with pytest.raises(tracker.ScenarioError) as caught:
            world([bowls()[0], {**bowls()[1], **change}])
        assert said in str(caught.value)


def scalar(rho: float, epsilon: float, **changes: Any) -> tracker.Scenario:
    mode = {
        "name": "m",
        "cost": "quadratic",
        "minimum": [0.0],
        "curvature": [[1.3]],
        "gradient_noise": 0.7,
        "noise_memory": rho,
    }
    return world(
        [mode], **{"samplers": [{"name": "s", "kind": "langevin", "epsilon": epsilon, "beta": "inf"}], **changes}
    )


def closed_form(rho: float, epsilon: float, h: float = 1.3, s2: float = 0.7) -> float:
    """theta' = b theta - epsilon z, b = 1 - epsilon h, z an AR(1): epsilon^2 s^2 (1 + rho b) / ((1 - b^2)(1 - rho b))."""
    b = 1 - epsilon * h
    return epsilon**2 * s2 * (1 + rho * b) / ((1 - b**2) * (1 - rho * b))


@pytest.mark.parametrize("rho", [-0.5, 0.5, 0.9])
def test_one_scalar_mode_has_the_closed_form(rho: float) -> None:
    for epsilon in (0.3, 0.02):
        found = limits.stationary(scalar(rho, epsilon), "s")
        assert float(found.mean_square_error) == pytest.approx(closed_form(rho, epsilon), rel=1e-11)
    small = float(limits.stationary(scalar(rho, 1e-5), "s").mean_square_error) / (1e-5 * 0.7 / (2 * 1.3))
    assert small == pytest.approx((1 + rho) / (1 - rho), rel=1e-3)
    u = limits.scaled_error(scalar(rho, 0.02), "s", [50.0]).second[0, 0, 0]
    assert u == pytest.approx(0.7 / 2.6 * (1 + rho) / (1 - rho), rel=1e-9)
    whole = limits.scaled_error(scalar(rho, 0.02), "s", [4000], of="algorithm").second[0, 0, 0]
    assert whole == pytest.approx(closed_form(rho, 0.02) / 0.02, rel=1e-9)


@pytest.mark.parametrize("rho", [0.5, 0.9])
def test_simulation_agrees(rho: float) -> None:
    settings = {"trials": 200, "steps": 4000, "burn_in": 500, "record_every": 1000, "start": [0.0, 0.0]}
    scenario = world(bowls(rho), **settings)
    found = tracker.run(scenario).summary["samplers"][0]["mean_square_error"]
    exact = float(limits.stationary(scenario, "s").mean_square_error)
    white = float(limits.stationary(world(bowls(0.0)), "s").mean_square_error)
    assert abs(found["mean"] - exact) < K * found["stderr"]
    assert abs(found["mean"] - white) > K * found["stderr"]  # control: white noise has another error


def test_moments_follow_the_recursion_of_theta_and_memory_with_two_modes() -> None:
    """Second moments of w = (theta, u, 1) by mode, one step after the other, written out."""
    epsilon, alpha, P = 0.05, 0.05, np.eye(2) + 0.05 * np.array(Q)
    F = np.linalg.cholesky(NOISE)
    begin = np.zeros((5, 5))
    begin[2:4, 2:4] = np.eye(2)
    mean = np.array([0.5, 0.5, 0.0, 0.0, 1.0])
    begin += np.outer(mean, mean)
    moments = [0.375 * begin, 0.625 * begin]
    for _ in range(40):
        after = []
        for i in range(2):
            T = np.zeros((5, 5))
            T[:2, :2] = np.eye(2) - epsilon * H[i]
            T[:2, 2:4] = -epsilon * F[i]
            T[:2, 4] = epsilon * H[i] @ m[i]
            T[2:4, 2:4] = RHO * np.eye(2)
            T[4, 4] = 1.0
            fresh = np.zeros((5, 5))
            fresh[2:4, 2:4] = (1 - RHO**2) * np.eye(2)
            after.append(T @ moments[i] @ T.T + moments[i][4, 4] * fresh)
        moments = [sum(P[i, j] * after[i] for i in range(2)) for j in range(2)]
    found = limits.algorithm_moments(world(bowls()), "s", 40)
    np.testing.assert_allclose(found.second_by_mode, [one[:2, :2] for one in moments], rtol=1e-11)
    np.testing.assert_allclose(found.mean_by_mode, [one[:2, 4] for one in moments], rtol=1e-11)
    assert alpha == 0.05


def test_first_order_sees_the_long_run_covariance() -> None:
    sampler = [{"name": "s", "kind": "langevin", "epsilon": 5e-4, "beta": 3.0}]
    fine = world(bowls(), samplers=sampler, chain={"alpha": 5e-4, "Q": Q})
    slope = (limits.algorithm_moments(fine, "s", 2000).second - limits.moments(fine, "s", 1.0).second) / 5e-4
    np.testing.assert_allclose(limits.leading_error(fine, "s", 1.0).second, slope, rtol=0.02, atol=0.01)
    best = limits.best_step(world(bowls(), chain={"alpha": 1e-6, "Q": Q}), "s")
    assert best.epsilon == pytest.approx(best.asymptotic_epsilon, rel=0.02)
    parts = limits.error_split(fine, "s")
    assert parts.noise == pytest.approx(limits.best_step(fine, "s").noise * 5e-4, rel=1e-12)
    with pytest.raises(limits.OutOfScope, match="noise_memory"):
        limits.best_skew(fine.replace(samplers=[{**sampler[0], "kind": "accelerated", "skew": 0.3}]), "s")
