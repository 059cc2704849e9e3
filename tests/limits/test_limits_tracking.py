"""Tracking error and best steps, the three regimes, what S is worth: tables and oracles.

The tables are those of docs/mathematics, "Tracking error", docs/mathematics, "Three regimes", and docs/mathematics, "Skew gain".
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from worlds import shipped

import tracker
from tracker import limits, skew
from tracker.limits.best_constant_step import error, slope, split_error
from tracker.limits.switched_quadratic import read_quadratic
from tracker.scenario import with_settings
from tracker.scenario.model import make_scenario

A = shipped("example_a")
DIGIT_8, DIGIT_10 = 0.51e-8, 0.51e-10


def example_a(epsilon: float, alpha: float, *more: str) -> tracker.Scenario:
    return with_settings(A, [f"samplers.skewed.epsilon={epsilon!r}", f"chain.alpha={alpha!r}", *more])


def quiet(epsilon: float, alpha: float) -> tracker.Scenario:
    """Example A without gradient noise."""
    return example_a(epsilon, alpha, "modes.*.gradient_noise=0.0")


def scalar(epsilon: float, alpha: float) -> tracker.Scenario:
    """Two symmetric modes: h = 1.3, d = 0.8, beta = 5, sigma^2 = 2, q = 0.7."""
    modes = [
        {"name": name, "cost": "quadratic", "minimum": [m], "curvature": [[1.3]], "gradient_noise": 2.0}
        for name, m in (("up", 0.8), ("down", -0.8))
    ]
    return make_scenario(
        {
            "name": "scalar",
            "trials": 1,
            "steps": 1,
            "start": [0.0],
            "chain": {"alpha": alpha, "Q": [[-0.7, 0.7], [0.7, -0.7]]},
            "modes": modes,
            "samplers": [{"name": "s", "kind": "langevin", "epsilon": epsilon, "beta": 5.0}],
        }
    )


def example_c(s: float, epsilon: float = 0.01, **sampler: object) -> tracker.Scenario:
    """H = diag(8, 1) in both modes, m = +-(0, 1), q = 1, ratio = 0.5, beta = 4."""
    modes = [
        {"name": name, "cost": "quadratic", "minimum": [0.0, m], "curvature": [[8.0, 0.0], [0.0, 1.0]]}
        for name, m in (("up", 1.0), ("down", -1.0))
    ]
    return make_scenario(
        {
            "name": "example-c",
            "trials": 1,
            "steps": 1,
            "start": [0.0, 0.0],
            "chain": {"alpha": 0.5 * epsilon, "Q": [[-1.0, 1.0], [1.0, -1.0]]},
            "modes": modes,
            "samplers": [{"name": "s", "kind": "accelerated", "epsilon": epsilon, "beta": 4.0, "skew": s, **sampler}],
        }
    )


def one_mode(s: float, epsilon: float) -> tracker.Scenario:
    """The cost with one mode of docs/mathematics, "Skew gain"."""
    mode = {"name": "one", "cost": "quadratic", "minimum": [0.3, -0.2], "curvature": [[3.0, 0.5], [0.5, 1.0]]}
    sampler = {"name": "s", "kind": "accelerated", "epsilon": epsilon, "beta": 2.0, "skew": s}
    return make_scenario(
        {"name": "b", "trials": 1, "steps": 1, "start": [2.0, 1.0], "modes": [mode], "samplers": [sampler]}
    )


# --- tracking


def closed_form(epsilon: complex, alpha: float) -> complex:
    """docs/mathematics, "Scalar closed form"."""
    h, d, beta, sigma2, q = 1.3, 0.8, 5.0, 2.0, 0.7
    lam, e, v = 1 - 2 * alpha * q, epsilon * h, 2 * epsilon / beta + epsilon**2 * sigma2
    c = lam * e * d**2 / (1 - lam * (1 - e))
    V = (e**2 * d**2 + 2 * (1 - e) * e * c + v) / (e * (2 - e))
    return V - 2 * c + d**2


@pytest.mark.parametrize(
    ("epsilon", "alpha", "printed"),
    [(0.1, 0.05, 0.497804355691), (0.02, 0.001, 0.204635257134), (0.3, 0.3, 0.994516363294)],
)
def test_the_scalar_closed_form(epsilon: float, alpha: float, printed: float) -> None:
    found = limits.stationary(scalar(epsilon, alpha), "s").mean_square_error
    assert found == pytest.approx(closed_form(epsilon, alpha), rel=1e-13)
    assert found == pytest.approx(printed, rel=0, abs=0.51e-12)


def test_the_scalar_closed_form_anywhere() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        epsilon, alpha = rng.uniform(1e-3, 1.4), rng.uniform(1e-3, 1.4)
        found = limits.stationary(scalar(epsilon, alpha), "s").mean_square_error
        assert found == pytest.approx(closed_form(epsilon, alpha), rel=1e-13)


@pytest.mark.parametrize(
    ("epsilon", "alpha", "printed"),
    [
        (0.1, 0.15, 2.292227),
        (0.1, 0.01, 1.174261),
        (0.0375, 0.001, 0.932809),
        (0.01, 0.001, 1.027627),
        (0.3, 0.001, 1.372792),
    ],
)
def test_tracking_errors_of_example_a(epsilon: float, alpha: float, printed: float) -> None:
    found = limits.stationary(example_a(epsilon, alpha), "skewed").mean_square_error
    assert found == pytest.approx(printed, rel=0, abs=0.51e-6)


def test_the_error_does_not_vanish_at_a_fixed_ratio() -> None:
    found = [limits.stationary(example_a(e, 1.5 * e), "skewed").mean_square_error for e in (1e-2, 1e-3, 1e-4)]
    np.testing.assert_allclose(found, [1.9745, 1.9463, 1.9435], rtol=0, atol=0.51e-4)


def test_the_lag_is_of_order_alpha_over_epsilon() -> None:
    """The excess over the error without switching, docs/mathematics, "Expansion of the error"."""
    problem = read_quadratic(example_a(1e-3, 1e-3), "skewed")
    modes = zip((0.375, 0.625), problem.H, problem.Sigma, strict=True)
    still = sum(p * np.trace(skew.stationary_covariance(H, problem.S, 1e-3, 2.0, Sigma)) for p, H, Sigma in modes)
    excess = [
        (limits.stationary(example_a(1e-3, alpha), "skewed").mean_square_error - still) / (alpha / 1e-3)
        for alpha in (1e-5, 1e-6, 1e-7)
    ]
    np.testing.assert_allclose(excess, [1.988, 2.005, 2.006], rtol=0, atol=0.51e-3)


@pytest.mark.parametrize(
    ("alpha", "exact", "asymptotic", "least"),
    [
        (1e-2, 0.10333485, 0.12607031, 1.1740824356),
        (1e-3, 0.03749481, 0.03986693, 0.9328089357),
        (1e-4, 0.01236596, 0.01260703, 0.8616693520),
        (1e-6, 0.00125828, 0.00126070, 0.8327880845),
    ],
)
def test_best_steps_of_example_a(alpha: float, exact: float, asymptotic: float, least: float) -> None:
    b = limits.best_step(example_a(0.015, alpha), "skewed")
    assert b.epsilon == pytest.approx(exact, rel=0, abs=DIGIT_8)
    assert b.asymptotic_epsilon == pytest.approx(asymptotic, rel=0, abs=DIGIT_8)
    assert b.mean_square_error == pytest.approx(least, rel=0, abs=DIGIT_10)
    np.testing.assert_allclose(
        [b.floor, b.noise, b.lag], [0.8296053575, 1.2612416401, 2.0045824602], rtol=0, atol=DIGIT_10
    )
    # neither neighbour is better, wherever the search began
    for factor in (0.999, 1.001):
        assert limits.stationary(example_a(factor * b.epsilon, alpha), "skewed").mean_square_error > b.mean_square_error
    assert limits.best_step(example_a(0.3, alpha), "skewed").epsilon == pytest.approx(b.epsilon, rel=1e-8)


@pytest.mark.parametrize(
    ("alpha", "exact", "asymptotic", "least"),
    [(1e-2, 0.07399616, 0.08904608, 0.3078915047), (1e-4, 0.00874644, 0.00890461, 0.1693221730)],
)
def test_best_steps_of_the_scalar_problem(alpha: float, exact: float, asymptotic: float, least: float) -> None:
    b = limits.best_step(scalar(0.1, alpha), "s")
    assert b.epsilon == pytest.approx(exact, rel=0, abs=1e-8)
    # oracle: the root of the closed form's derivative, which a complex step gives without rounding
    root = brentq(lambda e: closed_form(e + 1e-30j, alpha).imag, exact / 2, 2 * exact, xtol=1e-16)
    assert b.epsilon == pytest.approx(root, rel=1e-9)
    assert b.asymptotic_epsilon == pytest.approx(asymptotic, rel=0, abs=DIGIT_8)
    assert b.mean_square_error == pytest.approx(least, rel=0, abs=DIGIT_10)
    np.testing.assert_allclose(
        [b.floor, b.noise, b.lag], [0.1538461538, 0.8692307692, 0.6892307692], rtol=0, atol=DIGIT_10
    )


def test_the_slope_is_the_derivative_of_the_error() -> None:
    problem = read_quadratic(example_a(0.05, 0.01), "skewed")
    h = 1e-5
    difference = (error(problem, 0.05 + h) - error(problem, 0.05 - h)) / (2 * h)
    assert slope(problem, 0.05) == pytest.approx(difference, rel=1e-7)
    assert error(problem, 5.0) == np.inf


def test_the_floor_does_not_depend_on_skew() -> None:
    floors = [
        split_error(read_quadratic(example_a(0.1, 0.1, f"samplers.skewed.skew={s}"), "skewed"))[0] for s in (-2.0, 0.0)
    ]
    assert floors[0] == pytest.approx(floors[1], rel=1e-14)


def test_one_mode_has_no_best_step() -> None:
    with pytest.raises(ValueError, match=r"never switches.*limits\.stationary"):
        limits.best_step(one_mode(0.5, 0.1), "s")


# --- regimes

LIMITS = {
    "frozen": (1.02994072, -0.61026750, 1.31774492, -0.70762543, 0.82851434),
    "switched": (0.34723700, -0.30199656, 0.90988626, -0.31435516, 0.58325484),
    "averaged": (-0.00926950, 0.09728488, 0.33930602, 0.00090565, 0.36409512),
}
# power of epsilon in alpha -> n -> distance to the frozen, the switched (ratio 1) and the averaged limit
DISTANCES = {
    2.0: {
        64: (0.01494628, 0.66775744, 1.02426393),
        1024: (0.00095062, 0.68175310, 1.03825960),
        65536: (0.00001487, 0.68268885, 1.03919534),
    },
    1.0: {
        64: (0.68316942, 0.00794304, 0.57851697),
        1024: (0.68273241, 0.00048835, 0.57106457),
        65536: (0.68270417, 0.00000762, 0.57058780),
    },
    0.5: {
        64: (1.04003856, 0.42458156, 0.14599869),
        1024: (1.04223781, 0.52834010, 0.04224015),
        65536: (1.03971605, 0.56503350, 0.00554674),
    },
}


@pytest.mark.parametrize("power", DISTANCES)
@pytest.mark.parametrize("n", [64, 1024, 65536])
def test_the_table_of_regimes(power: float, n: int) -> None:
    scenario = quiet(1 / n, n**-power)
    r = limits.regimes(scenario, "skewed", 1.0)
    assert r.ratio == 1.0
    for name, printed in LIMITS.items():
        law = getattr(r, name)
        found = [*law.mean, law.second[0, 0], law.second[0, 1], law.second[1, 1]]
        np.testing.assert_allclose(found, printed, rtol=0, atol=DIGIT_8)
    found = [r.distance[name] for name in LIMITS]
    np.testing.assert_allclose(found, DISTANCES[power][n], rtol=0, atol=DIGIT_8)
    exact = limits.algorithm_moments(scenario, "skewed", n)
    np.testing.assert_array_equal(r.algorithm.second, exact.second)


def test_the_switched_limit_has_the_ratio_of_the_scenario_or_the_one_asked_for() -> None:
    scenario = example_a(1 / 64, 1.5 / 64)
    r = limits.regimes(scenario, "skewed", 1.0)
    assert r.ratio == 1.5
    np.testing.assert_allclose(r.switched.second, limits.moments(scenario, "skewed", 1.0).second, rtol=1e-14)
    assert min(r.distance, key=r.distance.__getitem__) == "switched"
    slow = example_a(1 / 64, 0.01 / 64)
    assert limits.regimes(slow, "skewed", 1.0, ratio=0.01).distance["switched"] < 0.02
    with pytest.raises(ValueError, match="must be a whole number"):
        limits.regimes(scenario, "skewed", 0.99)


# --- what S is worth


@pytest.mark.parametrize(("s", "printed"), [(0.0, 1.0926043170), (0.7, 1.1666873329), (2.0, 1.5127578135)])
def test_the_cost_of_example_a(s: float, printed: float) -> None:
    g = limits.skew_gain(example_a(0.01, 0.015, f"samplers.skewed.skew={s}"), "skewed")
    assert g.cost == pytest.approx(printed, rel=0, abs=DIGIT_10)


def test_the_best_skew_of_example_a() -> None:
    def gain(s: float) -> object:
        return limits.skew_gain(example_a(0.01, 0.015, f"samplers.skewed.skew={s!r}"), "skewed")

    best = brentq(lambda s: gain(s).gradient[0], -1, 1, xtol=1e-14)
    assert best == pytest.approx(-0.0299098289, rel=0, abs=DIGIT_10)
    assert gain(best).cost == pytest.approx(1.0924695511, rel=0, abs=DIGIT_10)


def test_the_cost_of_example_c() -> None:
    printed = {0.0: 0.5, 0.5: 0.4861111111, 1.0: 0.4572649573, 2.0: 0.4111111111, 5.0: 0.3725790010}
    for s, cost in printed.items():
        g = limits.skew_gain(example_c(s), "s")
        assert g.cost == pytest.approx(cost, rel=0, abs=DIGIT_10)
        assert (g.gradient[0] < -1e-6) if s else (abs(g.gradient[0]) < 1e-14)


@pytest.mark.parametrize(
    ("epsilon", "best"),
    [(0.05, 1.2159), (0.02, 2.0002), (0.01, 2.6189), (0.005, 3.3043), (0.002, 4.3590), (0.001, 5.3033)],
)
def test_the_best_skew_at_a_finite_step(epsilon: float, best: float) -> None:
    def gradient(s: float) -> float:
        return float(limits.skew_gain(example_c(s, epsilon), "s", of="algorithm").gradient[0])

    assert brentq(gradient, best - 0.1, best + 0.1) == pytest.approx(best, rel=0, abs=0.51e-4)


def test_one_mode_gains_nothing_in_the_limit() -> None:
    for s in (-1.0, 0.0, 0.5, 2.0):
        assert abs(limits.skew_gain(one_mode(s, 0.05), "s").gradient[0]) < 2e-15
    up, down = (limits.skew_gain(one_mode(s, 0.05), "s", of="algorithm").gradient[0] for s in (0.5, -0.5))
    assert up == pytest.approx(0.0191, rel=0, abs=0.51e-4)
    assert down == pytest.approx(-up, rel=1e-12)


def joint_gradient(problem: object, steps: int) -> np.ndarray:
    """E[g'D] by stepping the moments of the pair (theta, D) until they rest: nothing is differentiated."""
    X, N, epsilon = problem.X, problem.N, problem.epsilon
    P, found = np.eye(X) + problem.alpha * problem.Q, []
    M, I = np.eye(N) + problem.S, np.eye(N)
    for i, j in skew.pairs(N):
        E = skew.basis(i, j, N)
        F = [np.block([[I - epsilon * M @ H, 0 * I], [-epsilon * E @ H, I - epsilon * M @ H]]) for H in problem.H]
        push = [epsilon * np.concatenate([M @ H @ m, E @ H @ m]) for H, m in zip(problem.H, problem.m, strict=True)]
        both = np.vstack([M, E])
        heat = np.zeros((2 * N, 2 * N))
        heat[:N, :N] = 2 * epsilon / problem.beta * I
        noise = [epsilon**2 * both @ Sigma @ both.T + heat for Sigma in problem.Sigma]
        p, z, Z = problem.p0, np.zeros((X, 2 * N)), np.zeros((X, 2 * N, 2 * N))
        for _ in range(steps):
            Z = np.array(
                [
                    F[x] @ Z[x] @ F[x].T
                    + np.outer(F[x] @ z[x], push[x])
                    + np.outer(push[x], F[x] @ z[x])
                    + p[x] * (np.outer(push[x], push[x]) + noise[x])
                    for x in range(X)
                ]
            )
            z = np.array([F[x] @ z[x] + p[x] * push[x] for x in range(X)])
            p, z, Z = P.T @ p, np.einsum("xy,xa->ya", P, z), np.einsum("xy,xab->yab", P, Z)
        found.append(
            sum(np.trace(problem.H[x] @ Z[x, :N, N:]) - problem.m[x] @ problem.H[x] @ z[x, N:] for x in range(X))
        )
    return np.array(found)


def test_the_gradient_is_that_of_the_pair_theta_and_tangent() -> None:
    """Oracle, gradient noise included; and the derivative of J by differences."""
    scenario = example_a(0.1, 0.15)
    g = limits.skew_gain(scenario, "skewed", of="algorithm")
    pair = joint_gradient(read_quadratic(scenario, "skewed"), 600)
    np.testing.assert_allclose(g.gradient, pair, rtol=1e-12)
    for of in ("limit", "algorithm"):
        costs = [
            limits.skew_gain(example_a(0.1, 0.15, f"samplers.skewed.skew={0.7 + h!r}"), "skewed", of=of).cost
            for h in (-1e-5, 1e-5)
        ]
        found = limits.skew_gain(scenario, "skewed", of=of).gradient[0]
        assert found == pytest.approx((costs[1] - costs[0]) / 2e-5, rel=1e-8)


def test_the_slow_path_of_skew() -> None:
    printed = [1.8726106671, 1.9744552288, 2.1280708047, 2.3888647499]
    path = limits.slow_skew_path(example_c(1.8), "s", [2.0, 5.0, 10.0, 20.0])
    np.testing.assert_allclose(path[:, 1, 0], printed, rtol=2e-10)
    np.testing.assert_array_equal(path, -path.swapaxes(1, 2))
    moving = example_c(1.8, kind="hessian", skew_step=1e-3, skew_bounds=[-2.0, 2.0])
    bounded = limits.slow_skew_path(moving, "s", [5.0, 0.0, 10.0])
    assert bounded[0, 1, 0] == pytest.approx(printed[1], rel=2e-10)
    assert bounded[1, 1, 0] == 1.8
    assert bounded[2, 1, 0] == 2.0


def test_the_gain_of_a_moving_skew_is_that_of_its_first() -> None:
    moving = example_c(1.8, kind="hessian", skew_step=1e-3, skew_bounds=[-1.5, 1.5])
    g, fixed = limits.skew_gain(moving, "s"), limits.skew_gain(example_c(1.5), "s")
    assert (g.cost, g.gradient[0], g.skew[1, 0]) == (fixed.cost, fixed.gradient[0], 1.5)
    with pytest.raises(limits.Unstable):
        limits.skew_gain(example_c(1.8, 0.5), "s", of="algorithm")


@pytest.mark.parametrize(
    "keys",
    [
        {"kind": "kinetic", "friction": 1.0},
        {"kind": "averaged", "rate": 0.1, "sampler": {"kind": "accelerated", "skew": 0.5}},
    ],
)
def test_a_kind_without_s_in_its_step_has_no_gain(keys: dict[str, object]) -> None:
    """It was said to be 0 for ``kinetic``, which has no S, and that of its output for ``averaged``, whose slow path ended in a TypeError."""
    scenario = shipped("example_a").replace(samplers=[{"name": "s", "epsilon": 0.05, "beta": 2.0, **keys}])
    for question in (limits.skew_gain, lambda *both: limits.slow_skew_path(*both, [1.0])):
        with pytest.raises(limits.OutOfScope, match="has no S"):
            question(scenario, "s")
    classical = scenario.replace(samplers=[{"name": "s", "kind": "langevin", "epsilon": 0.05, "beta": 2.0}])
    assert limits.skew_gain(classical, "s").gradient[0] != 0.0  # at S = 0


RATES = {2.0: ("frozen", 0.997, 1.000), 1.0: ("switched", 1.002, 1.000), 0.5: ("averaged", 0.462, 0.495)}


@pytest.mark.parametrize("power", RATES)
def test_the_rates_to_the_limits(power: float) -> None:
    """docs/mathematics, "Three regimes", has the rate over the halving before; that over the one after is within 0.02."""
    own, printed, late = RATES[power]
    for n, wanted, tolerance in ((1024, printed, 0.02), (65536, late, 0.005)):
        r = limits.regimes(quiet(1 / n, n**-power), "skewed", 1.0)
        assert r.rate[own] == pytest.approx(wanted, abs=tolerance)
        assert all(abs(r.rate[name]) < 0.05 for name in LIMITS if name != own)  # control: no progress to a wrong limit
