"""Functionals of whole paths: exact values against enumeration, and a wrong engine that laws at T/2 and T do not see."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from numpy.typing import NDArray
from worlds import shipped

import tracker
from tracker import limits
from tracker.convergence import path_functionals, step_ladder
from tracker.convergence.exact_values import exact_values
from tracker.convergence.implementation_verdict import STEPS
from tracker.convergence.residuals import gather, step_law
from tracker.convergence.statistics import SPENT, Sample, evaluate
from tracker.convergence.step_tests import judge_steps
from tracker.limits.scope import OutOfScope

Array = NDArray[np.float64]

SCALAR = {
    "trials": 10,
    "steps": 32,
    "start": [0.2],
    "chain": {"alpha": 1 / 32, "Q": [[-1.0, 1.0], [1.0, -1.0]], "initial": "one"},
    "modes": [
        {"name": "one", "cost": "quadratic", "curvature": [[1.0]], "minimum": [1.0], "gradient_noise": 0.0},
        {"name": "two", "cost": "quadratic", "curvature": [[1.0]], "minimum": [-1.0], "gradient_noise": 0.0},
    ],
    "samplers": [{"name": "plain", "kind": "langevin", "epsilon": 1 / 16, "beta": 2.0}],
}


def world(**changes: object) -> tracker.Scenario:
    return tracker.parse({"name": "paths", **SCALAR, **changes})


# --- increments


def test_increments_of_the_algorithm_by_enumerating_the_modes() -> None:
    """Given the modes a path is Gaussian, so that its increment has closed moments; six steps have 64 paths of modes."""
    scenario = shipped("example_a")
    found = limits.increments(scenario, "skewed", [0, 2, 4, 6], of="algorithm")
    problem = [(np.array(m.curvature), np.array(m.minimum), np.array(m.gradient_noise)) for m in scenario.modes]
    epsilon, beta, M = 1 / 64, 2.0, np.array([[1.0, -0.7], [0.7, 1.0]])
    P = np.eye(2) + scenario.chain.alpha * np.array(scenario.chain.Q)
    second = fourth = 0.0
    for modes in product((0, 1), repeat=6):
        if modes[0] != 0:
            continue
        weight = np.prod([P[i, j] for i, j in pairwise(modes)])
        mean, V = np.array([0.5, 0.0, 0.0, 0.0]), np.zeros((4, 4))  # of theta and of its value at step 2
        for k, i in enumerate(modes):
            if k == 2:
                copy = np.block([[np.eye(2), np.zeros((2, 2))], [np.eye(2), np.zeros((2, 2))]])
                mean, V = copy @ mean, copy @ V @ copy.T
            H, m, Sigma = problem[i]
            F = np.block([[np.eye(2) - epsilon * M @ H, np.zeros((2, 2))], [np.zeros((2, 2)), np.eye(2)]])
            noise = np.zeros((4, 4))
            noise[:2, :2] = 2 * epsilon / beta * np.eye(2) + epsilon**2 * M @ Sigma @ M.T
            mean = F @ mean + np.concatenate([epsilon * M @ H @ m, np.zeros(2)])
            V = F @ V @ F.T + noise
        D = np.hstack([np.eye(2), -np.eye(2)])
        a, W = D @ mean, D @ V @ D.T
        square = a @ a + np.trace(W)
        second += weight * square
        fourth += weight * (square**2 + 2 * np.trace(W @ W) + 4 * a @ W @ a)
    np.testing.assert_allclose(found.second[1, 3], second, rtol=1e-12)
    np.testing.assert_allclose(found.fourth[1, 3], fourth, rtol=1e-12)


def test_increments_of_the_limit_are_those_of_two_times_and_the_algorithm_tends_to_them() -> None:
    scenario = shipped("example_a")
    found = limits.increments(scenario, "skewed", [0.0, 0.5, 1.0])
    at = limits.moments(scenario, "skewed", [0.5, 1.0]).second
    both = limits.two_time(scenario, "skewed", 0.5, 1.0)
    np.testing.assert_allclose(found.second[1, 2], np.trace(at[0] + at[1] - 2 * both), rtol=1e-10)
    errors = []
    for n in (64, 128):
        finer = scenario.set("samplers.skewed.epsilon", 1 / n).set("chain.alpha", 1.5 / n)
        own = limits.increments(finer, "skewed", [0, n // 2, n], of="algorithm")
        errors.append(own.fourth[0, 1] - found.fourth[0, 1])
    assert errors[1] / errors[0] == pytest.approx(0.5, abs=0.02)


def test_increments_that_are_out_of_reach_are_refused() -> None:
    with pytest.raises(ValueError, match="equally spaced"):
        limits.increments(shipped("example_a"), "skewed", [0.0, 0.5, 0.6])
    many = tracker.parse(
        {
            "name": "many",
            "trials": 1,
            "steps": 1,
            "start": [0.0] * 6,
            "modes": [{"name": "a", "cost": "quadratic", "curvature": np.eye(6).tolist(), "minimum": [0.0] * 6}],
            "samplers": [{"name": "plain", "kind": "langevin", "epsilon": 0.1}],
        }
    )
    with pytest.raises(OutOfScope, match="moments of degree"):
        limits.increments(many, "plain", [0.0, 1.0])


# --- the verdict's lines


def test_first_passage_has_two_orders() -> None:
    """The published survivals at b = 1 are tested with ``limits.first_passage``; here the orders over the ladder."""
    rungs = step_ladder.build(shipped("example_b"), epsilons=[1 / 16, 1 / 32, 1 / 64], horizon=1.0)
    found = path_functionals.first_passage(rungs, lambda _: None)
    assert found is not None
    assert found.level == pytest.approx(1.12542, abs=1e-5)
    assert found.order == pytest.approx(0.42, abs=0.05)
    assert found.order_raised == pytest.approx(0.97, abs=0.05)
    assert path_functionals.first_passage(step_ladder.build(shipped("example_a")), lambda _: None) is None


def test_the_modulus_stays_bounded_and_tends_to_that_of_the_limit() -> None:
    found = path_functionals.modulus(step_ladder.build(shipped("example_a")), lambda _: None)
    assert found is not None
    assert found.parts == 8
    gaps = np.abs(np.array(found.algorithm) - found.limit)
    assert gaps[-1] < gaps[-2] < 0.3
    # at short times a diffusion in two dimensions has E|dtheta|^4 = 2 (2 + 2) (2 / beta)^2 dt^2
    assert found.limit > 8.0


# --- the control: laws at T/2 and T are right, paths are not


def wandering(n: int, R: int, c: float, rng: np.random.Generator) -> tuple[Array, NDArray[np.int64]]:
    """Paths of ``SCALAR`` in numpy; ``c`` makes the noise of each half of the time larger at first and smaller later."""
    epsilon, half = 2.0 / n, n // 2
    theta, mode = np.empty((R, n + 1, 1)), np.empty((R, n + 1), dtype=np.int64)
    theta[:, 0], mode[:, 0] = 0.2, 0
    for k in range(n):
        psi = (1 - epsilon) ** (2 * (k % half)) * np.cos(2 * np.pi * (k % half) / half)
        deviation = np.sqrt(2 * epsilon / 2.0 * (1 + c * psi))
        minimum = np.where(mode[:, k] == 0, 1.0, -1.0)[:, None]
        theta[:, k + 1] = theta[:, k] - epsilon * (theta[:, k] - minimum) + deviation * rng.standard_normal((R, 1))
        mode[:, k + 1] = np.where(rng.random(R) < epsilon / 2, 1 - mode[:, k], mode[:, k])
    return theta, mode


@pytest.fixture(scope="module")
def scores() -> dict[float, dict[str, float]]:
    """z of the panel and of the steps, for the right engine and the control, by c."""
    rungs = step_ladder.build(world(), epsilons=[1 / 16, 1 / 32, 1 / 64], horizon=2.0)
    law, exact = step_law(rungs), exact_values(rungs, lambda _: None)
    found = {}
    for c in (0.0, 0.9):
        theta, mode = wandering(32, 100_000, c, np.random.default_rng(5))
        sample = Sample(theta[:, -1], mode[:, -1], theta[:, 16], mode[:, 16], theta[:, :-1].sum(axis=1) / 16)
        values = evaluate(exact.panel, sample, np.array([[1.0], [-1.0]]))
        z = (values.mean(axis=0) - exact.algorithm[0]) / np.maximum(values.std(axis=0), 1e-12) * np.sqrt(len(values))
        found[c] = dict(zip(exact.panel.names, z.tolist(), strict=True))
        steps = judge_steps(law, gather(law, theta, mode), STEPS, 0.05)
        found[c] |= {each.name: each.z for each in steps.residuals if each.z is not None}
    return found


PATHS = ("E[A_1 A_1]", "paths that stay below the level", "increments of paths")


def test_a_right_engine_passes(scores: dict[float, dict[str, float]]) -> None:
    assert max(map(abs, scores[0.0].values())) < 4.0


def test_the_laws_at_two_times_do_not_see_the_control(scores: dict[float, dict[str, float]]) -> None:
    laws = [z for name, z in scores[0.9].items() if name.startswith(("E[theta", "P(")) and "A_" not in name]
    assert len(laws) >= 6
    assert max(map(abs, laws)) < 4.0


@pytest.mark.parametrize("name", PATHS)
def test_functionals_of_paths_see_the_control(scores: dict[float, dict[str, float]], name: str) -> None:
    assert abs(scores[0.9][name]) > 5.0


def test_the_panel_holds_the_time_spent() -> None:
    exact = exact_values(step_ladder.build(world(), epsilons=[1 / 16, 1 / 32, 1 / 64], horizon=2.0), lambda _: None)
    assert {s.kind for s in exact.panel.tested} >= set(SPENT)
    at = dict(zip(exact.panel.names, exact.limit, strict=True))
    spent = limits.occupation(world(), "plain", 2.0)
    assert at["E[A_1 A_1]"] == pytest.approx(spent.second[0, 0], rel=1e-12)
