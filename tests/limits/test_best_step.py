"""The best constant step: right, or refused in words, against a naive solve of the moments written out anew."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np
import pytest
from test_limits_moments import random_scenario

import tracker
from tracker import limits
from tracker.limits.best_constant_step import averaged_error
from tracker.limits.switched_quadratic import read_quadratic
from tracker.scenario import with_settings
from tracker.scenario.model import make_scenario

FALLS = r"^(S makes .*)?the error still falls at epsilon = \S+, so that no step is the best$"


def two_bowls(alpha: float, beta: float) -> tracker.Scenario:
    """Minima at 1 and -1, curvatures 1 and 10."""
    modes = [
        {"name": name, "cost": "quadratic", "minimum": [m], "curvature": [[h]]}
        for name, m, h in (("up", 1.0, 1.0), ("down", -1.0, 10.0))
    ]
    sampler = {"name": "s", "kind": "langevin", "epsilon": 0.01, "beta": beta}
    data = {"name": "two", "trials": 1, "steps": 1, "start": [0.0], "modes": modes, "samplers": [sampler]}
    return make_scenario({**data, "chain": {"alpha": alpha, "Q": [[-1.0, 1.0], [1.0, -1.0]]}})


def random_problem(seed: int) -> tracker.Scenario:
    """One or two dimensions, two or three modes, a fast chain."""
    rng = np.random.default_rng(seed)
    N, X = int(rng.integers(1, 3)), int(rng.integers(2, 4))
    scenario = random_scenario(X, N, seed, epsilon=0.01, alpha=float(rng.uniform(0.05, 0.3)))
    sampler = scenario.samplers[0].model_copy(update={"beta": float(10.0 ** rng.uniform(-1.5, 1.5))})
    return scenario.replace(samplers=[sampler])


def naive_error(scenario: tracker.Scenario, epsilon: float) -> float:
    """E|theta - m_x|^2 in stationarity; inf where the second moments grow. One matrix for all, by Kronecker products."""
    sampler, chain = scenario.samplers[0], scenario.chain
    assert chain is not None
    X, N, eye = len(scenario.modes), scenario.dimension, np.eye(scenario.dimension)
    S = np.array(getattr(sampler, "skew", np.zeros((N, N))), dtype=float).reshape(N, N)
    Q = np.array(chain.Q)
    mix, M = np.eye(X) + chain.alpha * Q, eye + S
    pi = np.linalg.lstsq(np.vstack([Q.T, np.ones(X)]), np.append(np.zeros(X), 1.0), rcond=None)[0]
    first, second, push, heat = [], [], [], []
    for i, mode in enumerate(scenario.modes):
        H, m = np.array(mode.curvature), np.array(mode.minimum)
        B, a = eye - epsilon * M @ H, epsilon * M @ H @ m
        noise = (
            epsilon**2 * M @ np.array(mode.gradient_noise or np.zeros((N, N))) @ M.T + 2 * epsilon / sampler.beta * eye
        )
        first.append(B)
        second.append(np.kron(B, B))
        push.append((B, a))
        heat.append(pi[i] * (noise + np.outer(a, a)))
    T1 = np.block([[mix[j, i] * first[j] for j in range(X)] for i in range(X)])
    T2 = np.block([[mix[j, i] * second[j] for j in range(X)] for i in range(X)])
    if not np.abs(np.linalg.eigvals(T2)).max() < 1.0:
        return np.inf
    sources = np.array([pi[j] * a for j, (_, a) in enumerate(push)])
    mu = np.linalg.solve(np.eye(X * N) - T1, (mix.T @ sources).ravel()).reshape(X, N)
    both = [heat[j] + np.outer(B @ mu[j], a) + np.outer(a, B @ mu[j]) for j, (B, a) in enumerate(push)]
    right = np.einsum("ji,jab->iab", mix, np.array(both)).reshape(-1)
    Pi = np.linalg.solve(np.eye(X * N * N) - T2, right).reshape(X, N, N)
    total = 0.0
    for i, mode in enumerate(scenario.modes):
        m = np.array(mode.minimum)
        total += np.trace(Pi[i]) - 2 * m @ mu[i] + pi[i] * m @ m
    return float(total)


@pytest.mark.parametrize("alpha", [0.02, 0.05, 0.1, 0.2, 0.3])
def test_where_averaging_is_best_no_step_is(alpha: float) -> None:
    scenario = two_bowls(alpha, 0.05)
    with pytest.raises(ValueError, match=FALLS):
        limits.best_step(scenario, "s")
    errors = [naive_error(scenario, e) for e in (1e-4, 1e-3, 1e-2, 1e-1)]
    assert errors == sorted(errors)


def test_the_level_of_averaging_is_that_of_ever_smaller_steps() -> None:
    """Curvatures 1 and 10: theta sits at -9/11 and spreads by 1 / (5.5 beta)."""
    scenario = two_bowls(0.3, 2.0)
    level = averaged_error(read_quadratic(scenario, "s"))
    assert level == pytest.approx(1.0 / 11.0 + ((1.0 + 9.0 / 11.0) ** 2 + (1.0 - 9.0 / 11.0) ** 2) / 2.0, rel=1e-12)
    assert level == pytest.approx(naive_error(scenario, 1e-7), rel=1e-5)


def test_a_valley_above_the_level_of_averaging_is_not_the_best_step() -> None:
    """One minimum, curvatures 10 : 1 either way, S = 2: from 0.0020 downwards the error rises, and then falls below it for good.

    Averaging sees curvatures 5.5 and 5.5, so that the error goes to 2 / (5.5 beta).
    """
    modes = [
        {"name": name, "cost": "quadratic", "minimum": [0.0, 0.0], "curvature": H}
        for name, H in (("a", [[10.0, 0.0], [0.0, 1.0]]), ("b", [[1.0, 0.0], [0.0, 10.0]]))
    ]
    skew = [[0.0, -2.0], [2.0, 0.0]]
    sampler = {"name": "s", "kind": "accelerated", "epsilon": 1e-3, "beta": 4.0, "skew": skew}
    data = {"name": "hump", "trials": 1, "steps": 1, "start": [0.0, 0.0], "modes": modes, "samplers": [sampler]}
    scenario = make_scenario({**data, "chain": {"alpha": 1e-4, "Q": [[-1.0, 1.0], [1.0, -1.0]]}})
    averaging, hump, below, valley, above = (naive_error(scenario, e) for e in (1e-8, 1e-5, 1e-3, 2e-3, 4e-3))
    assert averaging == pytest.approx(2.0 / (5.5 * 4.0), rel=3e-3)
    assert averaging < valley < min(below, above) < hump
    with pytest.raises(ValueError, match=FALLS):
        limits.best_step(scenario, "s")


def test_only_the_first_of_two_intervals_is_searched() -> None:
    """beta = 2 and alpha = 1: stable up to 0.230, and again from 0.871 to 1.10."""
    scenario = two_bowls(1.0, 2.0)
    stable = [np.isfinite(naive_error(scenario, e)) for e in (0.229, 0.231, 0.86, 0.88, 1.09, 1.11)]
    assert stable == [True, False, False, True, True, False]
    assert limits.stability(scenario, "s").largest_epsilon == pytest.approx(0.2298437881, abs=1e-9)
    slow = limits.best_step(two_bowls(1e-3, 2.0), "s")
    assert slow.searched == (0.0, limits.stability(two_bowls(1e-3, 2.0), "s").largest_epsilon)


def attempted(scenario: tracker.Scenario) -> tuple[Any, str]:
    """The best step, or None and the words of the refusal."""
    try:
        return limits.best_step(scenario, "s"), ""
    except ValueError as refusal:
        return None, str(refusal)


@pytest.mark.parametrize("batch", range(4))
def test_random_problems_are_right_or_refused_in_words(batch: int) -> None:
    for seed in range(15 * batch, 15 * batch + 15):
        scenario = random_problem(seed)
        end = limits.stability(scenario, "s").largest_epsilon
        assert end is not None
        grid = end * np.geomspace(1e-6, 0.999, 60)
        errors = np.array([naive_error(scenario, e) for e in grid])
        best, refusal = attempted(scenario)
        if best is None:
            assert re.match(FALLS, refusal), refusal
            assert errors.min() >= errors[0] * (1.0 - 1e-5), f"seed {seed}: refused, and there is a better step"
            continue
        assert best.searched == (0.0, end)
        assert best.mean_square_error == pytest.approx(naive_error(scenario, best.epsilon), rel=1e-8)
        assert best.mean_square_error <= errors.min() * (1.0 + 1e-9), f"seed {seed}: another step is better"
        assert best.mean_square_error < errors[0] * (1.0 - 1e-9)  # less than averaging


def test_twenty_dimensions_take_seconds() -> None:
    scenario = random_scenario(2, 20, seed=1, epsilon=1e-2, alpha=2e-3)
    began = time.process_time()
    best = limits.best_step(scenario, "s")
    assert time.process_time() - began < 10.0
    around = [
        limits.stationary(with_settings(scenario, [f"samplers.s.epsilon={f * best.epsilon!r}"]), "s").mean_square_error
        for f in (0.99, 1.0, 1.01)
    ]
    assert around[1] == pytest.approx(best.mean_square_error, rel=1e-9)
    assert around[1] < min(around[0], around[2])


def test_where_skew_cuts_the_stable_steps_short_it_is_named() -> None:
    """Curvatures 10 : 1, S = 4, alpha = 1.5e-3: the steps below 3.1e-5 are stable, and averaging is best among them."""
    modes = [
        {"name": name, "cost": "quadratic", "minimum": [m, 0.0], "curvature": H}
        for name, m, H in (("a", 1.0, [[10.0, 0.0], [0.0, 1.0]]), ("b", -1.0, [[1.0, 0.0], [0.0, 10.0]]))
    ]
    sampler = {"name": "s", "kind": "accelerated", "epsilon": 1e-4, "beta": 4.0, "skew": 4.0}
    data = {"name": "pump", "trials": 1, "steps": 1, "start": [0.0, 0.0], "modes": modes, "samplers": [sampler]}
    scenario = make_scenario({**data, "chain": {"alpha": 1.5e-3, "Q": [[-1.0, 1.0], [1.0, -1.0]]}})
    with pytest.raises(
        ValueError, match=r"S makes the switched system unstable from epsilon = 3\.12e-05 on.*no step is"
    ):
        limits.best_step(scenario, "s")
