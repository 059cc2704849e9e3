"""The best S: against a grid, differences, and the stationary law by its own function; never an unstable one."""

from __future__ import annotations

import numpy as np
import pytest
from worlds import scenario_of, shipped

import tracker
from tracker import limits, skew
from tracker.limits.best_skew_matrix import error_and_gradient
from tracker.limits.switched_quadratic import read_quadratic


def random_world(seed: int, N: int = 2, X: int = 2) -> tracker.Scenario:
    rng = np.random.default_rng(seed)
    modes = []
    for _ in range(X):
        R = np.linalg.qr(rng.standard_normal((N, N)))[0]
        H = R @ np.diag(np.exp(rng.uniform(-1.0, 2.0, N))) @ R.T
        F = 0.5 * rng.standard_normal((N, N))
        modes.append({"cost": "quadratic", "minimum": rng.standard_normal(N).tolist(), "curvature": ((H + H.T) / 2).tolist(),
                      "gradient_noise": (F @ F.T).tolist()})  # fmt: skip
    Q = rng.uniform(0.3, 1.5, (X, X))
    np.fill_diagonal(Q, 0.0)
    np.fill_diagonal(Q, -Q.sum(axis=1))
    epsilon = float(np.exp(rng.uniform(-5.0, -3.5)))
    chain = {"alpha": float(np.exp(rng.uniform(-1.0, 1.0))) * epsilon, "Q": Q.tolist()}
    sampler = {
        "kind": "accelerated",
        "epsilon": epsilon,
        "beta": float(rng.uniform(2.0, 20.0)),
        "skew": np.zeros((N, N)).tolist(),
    }
    return scenario_of(modes, [sampler], chain=chain, start=[0.0] * N)


def with_skew(scenario: tracker.Scenario, S: np.ndarray) -> tracker.Scenario:
    keys = scenario.samplers[0]
    return scenario.replace(
        samplers=[
            {"name": keys.name, "kind": "accelerated", "epsilon": keys.epsilon, "beta": keys.beta, "skew": S.tolist()}
        ]
    )


def error_of(scenario: tracker.Scenario, S: np.ndarray) -> float:
    """By the function that everybody uses; inf where sampler or limit is unstable."""
    try:
        changed = with_skew(scenario, S)
        limits.stationary(changed, "sampler-0", of="limit")
        return float(limits.stationary(changed, "sampler-0").mean_square_error)
    except limits.Unstable:
        return float("inf")


@pytest.mark.parametrize("seed", range(10))
def test_no_s_of_a_grid_is_better(seed: int) -> None:
    scenario = random_world(seed)
    best = limits.best_skew(scenario, "sampler-0")
    assert limits.stability(with_skew(scenario, best.skew), "sampler-0").stable
    assert best.value == pytest.approx(error_of(scenario, best.skew), rel=1e-11)
    assert best.without == pytest.approx(error_of(scenario, 0 * best.skew), rel=1e-11)
    grid = [error_of(scenario, skew.from_pairs([s], 2)) for s in np.sinh(np.linspace(-3.5, 3.5, 81))]
    assert best.value <= min(grid) + 1e-8
    assert best.value <= best.without


@pytest.mark.parametrize("seed", [3, 4])
def test_three_dimensions(seed: int) -> None:
    scenario = random_world(seed, N=3, X=3)
    best = limits.best_skew(scenario, "sampler-0")
    assert limits.stability(with_skew(scenario, best.skew), "sampler-0").stable
    rng = np.random.default_rng(1)
    here = skew.to_pairs(best.skew)
    for width in (0.01, 0.3, 2.0):
        for _ in range(12):
            assert best.value <= error_of(scenario, skew.from_pairs(here + width * rng.standard_normal(3), 3)) + 1e-8
    assert np.abs(best.gradient).max() < 1e-6 * best.value


@pytest.mark.parametrize(("seed", "N"), [(0, 2), (3, 3), (5, 4)])
def test_the_gradient_is_that_of_differences(seed: int, N: int) -> None:
    scenario = random_world(seed, N)
    problem = read_quadratic(scenario, "sampler-0")
    s = 0.2 * np.random.default_rng(seed).standard_normal(N * (N - 1) // 2)
    value, slope = error_and_gradient(problem, s)
    h = 1e-4
    for k, E in enumerate(np.eye(s.size)):
        ahead, behind = (error_of(scenario, skew.from_pairs(s + sign * h * E, N)) for sign in (1, -1))
        assert slope[k] == pytest.approx((ahead - behind) / (2 * h), abs=1e-6 * value)


def pumped(s: float, ratio: float = 10.0, epsilon: float = 1e-3) -> tracker.Scenario:
    modes = [
        {"cost": "quadratic", "minimum": [m, 0.0], "curvature": np.diag(h).tolist()}
        for m, h in ((3.0, [10.0, 1.0]), (-3.0, [1.0, 10.0]))
    ]
    sampler = {"kind": "accelerated", "epsilon": epsilon, "beta": 50.0, "skew": s}
    return scenario_of(modes, [sampler], chain={"alpha": ratio * epsilon, "Q": [[-1.0, 1.0], [1.0, -1.0]]})


def test_it_never_returns_an_unstable_one() -> None:
    """Where S pumps, the solve alone would give a finite and even negative error beyond the threshold 2.614."""
    for ratio in (3.0, 10.0, 30.0):
        scenario = pumped(0.0, ratio)
        best = limits.best_skew(scenario, "sampler-0")
        assert limits.stability(with_skew(scenario, best.skew), "sampler-0").stable
        assert np.isfinite(best.value)
        assert best.value > 0
    assert not limits.stability(pumped(4.0), "sampler-0").stable
    assert error_and_gradient(read_quadratic(pumped(4.0), "sampler-0"), np.array([4.0]))[0] == np.inf


def test_kinds_and_scope() -> None:
    """The sampler's own S plays no part: classical, adaptive and random ones have the same best S."""
    base = shipped("example_a")
    found = []
    for keys in (
        {"kind": "langevin"},
        {"kind": "accelerated", "skew": "random"},
        {"kind": "hessian", "skew": 0.3, "skew_step": 1e-3, "skew_bounds": [-1.0, 1.0]},
    ):
        scenario = base.replace(samplers=[{"name": "one", "epsilon": 1 / 64, "beta": 2.0, **keys}])
        found.append(limits.best_skew(scenario, "one").value)
    assert found == pytest.approx([limits.best_skew(base, "skewed").value] * 3, rel=1e-12)
    momentum = base.replace(samplers=[{"name": "one", "kind": "kinetic", "friction": 1.0, "epsilon": 0.01}])
    with pytest.raises(limits.OutOfScope, match="kinetic"):
        limits.best_skew(momentum, "one")
    with pytest.raises(limits.OutOfScope, match="quadratic"):
        limits.best_skew(shipped("swapping_wells"), "fixed-3")
    with pytest.raises(limits.OutOfScope, match="S = 0"):
        limits.best_skew(pumped(0.0, epsilon=0.3, ratio=0.1), "sampler-0")
