"""LMS: exact theory against closed forms, a dense solve written here, simulation, and the literature's three-state chain.

docs/mathematics, "Regression", has the formulas and the numbers.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tracker
from tracker import limits, skew
from tracker.limits.switched_quadratic import read_quadratic
from tracker.scenario.step_warnings import stability_limits

K = 4.9  # standard errors; a normal variable exceeds them with probability 1e-6
R = np.array([[[2.0, 0.5], [0.5, 1.0]], [[1.0, -0.3], [-0.3, 1.5]]])
m = np.array([[1.0, -1.0], [-0.5, 0.8]])
v = np.array([0.4, 0.9])
Q = np.array([[-0.7, 0.7], [0.4, -0.4]])


def regression(truth: Any, covariance: Any, noise: float, **keys: Any) -> dict[str, Any]:
    return {"cost": "regression", "truth": np.atleast_1d(truth).tolist(), "noise_variance": float(noise),
            "regressor_covariance": np.asarray(covariance).tolist(), **keys}  # fmt: skip


def world(modes: list[dict[str, Any]], Q: Any = None, alpha: float = 0.01, **changes: Any) -> tracker.Scenario:
    named = [{"name": f"m{i}", **mode} for i, mode in enumerate(modes)]
    chain = {} if Q is None else {"chain": {"alpha": alpha, "Q": np.asarray(Q).tolist()}}
    N = len(modes[0].get("truth", modes[0].get("minimum")))
    sampler = {"name": "lms", "kind": "langevin", "epsilon": 0.05, "beta": "inf"}
    base = {"name": "lms", "trials": 2, "steps": 10, "start": [0.0] * N, **chain, "modes": named, "samplers": [sampler]}
    return tracker.parse({**base, **changes})


def pair(
    s: float = 0.0, *, beta: Any = "inf", epsilon: float = 0.05, alpha: float = 0.01, **keys: Any
) -> tracker.Scenario:
    sampler = {"name": "lms", "kind": "accelerated", "skew": s, "epsilon": epsilon, "beta": beta}
    modes = [regression(*law, **keys) for law in zip(m, R, v, strict=True)]
    return world(modes, Q, alpha, samplers=[sampler])


def naive_step(
    p: Any, mu: Any, Pi: Any, *, epsilon: float, alpha: float, S: Any, heat: float, ridge: float = 0.0
) -> Any:
    """One step of the moments by mode, from the equations of docs/mathematics, "Regression", and nothing else."""
    B, I, P = np.eye(2) + S, np.eye(2), np.eye(2) + alpha * Q
    after = [np.zeros(2), np.zeros((2, 2)), np.zeros((2, 2, 2))]
    for i in range(2):
        h = R[i] + ridge * I
        centre = np.linalg.solve(h, R[i] @ m[i])
        E = Pi[i] - np.outer(mu[i], m[i]) - np.outer(m[i], mu[i]) + p[i] * np.outer(m[i], m[i])
        noise = R[i] @ E @ R[i] + R[i] * np.trace(R[i] @ E) + v[i] * p[i] * R[i]
        A, a = I - epsilon * B @ h, epsilon * B @ h @ centre
        mean = A @ mu[i] + a * p[i]
        second = A @ Pi[i] @ A.T + np.outer(A @ mu[i], a) + np.outer(a, A @ mu[i]) + p[i] * np.outer(a, a)
        second = second + epsilon**2 * B @ noise @ B.T + heat * epsilon * p[i] * I
        for j in range(2):
            after[0][j] += P[i, j] * p[i]
            after[1][j] += P[i, j] * mean
            after[2][j] += P[i, j] * second
    return after


def dense_stationary(**laws: Any) -> Any:
    """Solve v = naive_step(v) with unknowns p, mu and the symmetric Pi; the map's matrix comes from unit vectors."""
    lower = [(a, b) for a, b in product(range(2), range(2)) if a >= b]

    def unpacked(x: Any) -> Any:
        Pi = np.zeros((2, 2, 2))
        for i, (n, (a, b)) in product(range(2), enumerate(lower)):
            Pi[i, a, b] = Pi[i, b, a] = x[6 + 3 * i + n]
        return x[:2], x[2:6].reshape(2, 2), Pi

    def packed(p: Any, mu: Any, Pi: Any) -> Any:
        return np.concatenate([p, mu.ravel(), [Pi[i, a, b] for i in range(2) for a, b in lower]])

    T = np.array([packed(*naive_step(*unpacked(e), **laws)) for e in np.eye(12)]).T
    system = np.vstack([T - np.eye(12), np.concatenate([[1.0, 1.0], np.zeros(10)])])
    found = np.linalg.lstsq(system, np.concatenate([np.zeros(12), [1.0]]), rcond=None)[0]
    return unpacked(found), float(np.abs(np.linalg.eigvals(T[6:, 6:])).max())


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 0.6])
def test_one_scalar_mode_has_the_closed_form(epsilon: float) -> None:
    one = world([regression(2.0, 1.0, 0.5)]).set("samplers.*.epsilon", epsilon)
    found = limits.stationary(one, "lms")
    assert float(found.mean_square_error) == pytest.approx(epsilon * 0.5 / (2 - 3 * epsilon), rel=1e-12)
    assert float(found.expected_cost) == pytest.approx(0.25 + epsilon * 0.25 / (2 - 3 * epsilon), rel=1e-12)


def test_the_stability_limit_of_a_scalar_is_two_thirds() -> None:
    one = world([regression(2.0, 1.0, 0.5)])
    assert limits.stability(one, "lms").largest_epsilon == pytest.approx(2 / 3, rel=1e-10)
    assert stability_limits(one)[0].limit == pytest.approx(2 / 3, rel=1e-10)
    with pytest.raises(limits.Unstable) as caught:
        limits.stationary(one.set("samplers.*.epsilon", 0.7), "lms")
    assert caught.value.largest_epsilon == pytest.approx(2 / 3, rel=1e-9)
    bowl = world([{"cost": "quadratic", "minimum": [2.0], "curvature": [[1.0]], "gradient_noise": 0.5}])
    assert limits.stability(bowl, "lms").largest_epsilon == pytest.approx(
        2.0, rel=1e-10
    )  # additive noise: another limit


def test_the_stability_limit_of_a_vector() -> None:
    """With R = diag(l), second moments of the coordinates alone: x_a -> x_a (1 - 2 e l_a + 2 e^2 l_a^2) + e^2 l_a sum l_b x_b."""
    l = np.array([3.0, 1.0, 0.2])

    def radius(e: float) -> float:
        T = np.diag(1 - 2 * e * l + 2 * e**2 * l**2) + e**2 * np.outer(l, l)
        return float(np.abs(np.linalg.eigvals(T)).max())

    low, high = 0.0, 1.0
    for _ in range(60):
        low, high = (low, (low + high) / 2) if radius((low + high) / 2) > 1 else ((low + high) / 2, high)
    three = world([regression([1.0, 2.0, 3.0], np.diag(l), 0.1)])
    assert limits.stability(three, "lms").largest_epsilon == pytest.approx(low, rel=1e-9)
    assert skew.regressor_limit(np.diag(l), np.diag(l), np.zeros((3, 3))) == pytest.approx(low, rel=1e-8)
    assert stability_limits(three)[0].limit == pytest.approx(low, rel=1e-8)


@pytest.mark.parametrize(("s", "beta", "ridge"), [(0.0, "inf", 0.0), (0.6, "inf", 0.0), (0.6, 2.0, 0.3)])
def test_stationary_is_a_dense_solve(s: float, beta: Any, ridge: float) -> None:
    S, heat = np.array([[0.0, -s], [s, 0.0]]), 0.0 if beta == "inf" else 2.0 / beta
    (p, mu, Pi), radius = dense_stationary(epsilon=0.05, alpha=0.01, S=S, heat=heat, ridge=ridge)
    scenario = pair(s, beta=beta, ridge=ridge)
    found = limits.stationary(scenario, "lms")
    np.testing.assert_allclose(found.probability, p, rtol=1e-12)
    np.testing.assert_allclose(found.mean_by_mode, mu, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(found.second_by_mode, Pi, rtol=1e-11, atol=1e-13)
    assert found.radius == pytest.approx(radius, rel=1e-12)
    assert limits.stability(scenario, "lms").radius == pytest.approx(radius, rel=1e-12)
    if ridge == 0.0:
        error = sum(np.trace(Pi[i]) - 2 * mu[i] @ m[i] + p[i] * m[i] @ m[i] for i in range(2))
        assert float(found.mean_square_error) == pytest.approx(error, rel=1e-12)


def test_the_numbers_of_the_page() -> None:
    assert float(limits.stationary(pair(), "lms").mean_square_error) == pytest.approx(0.2843970036, abs=5e-11)
    assert float(limits.stationary(pair(0.6), "lms").mean_square_error) == pytest.approx(0.3276323563, abs=5e-11)
    matched = pair(0.6, alpha=0.05)
    U = limits.scaled_error(matched, "lms", [1.0]).second[0]
    np.testing.assert_allclose(U, [[1.0977962, -0.1332906], [-0.1332906, 1.0936759]], atol=5e-8)
    np.testing.assert_allclose(U, integrated(0.6), atol=1e-9)
    assert np.abs(U - integrated(-0.6)).max() > 0.01  # the control: another S


def integrated(s: float) -> np.ndarray:
    """E u u' at time 1 with alpha = epsilon: the moments of vartheta and U by mode, from their equations."""
    B, p = np.array([[1.0, -s], [s, 1.0]]), np.array([4.0, 7.0]) / 11.0
    A = B @ R

    def slope(_: float, y: np.ndarray) -> np.ndarray:
        mu, (Pi, U) = y[:4].reshape(2, 2), y[4:].reshape(2, 2, 2, 2)
        pull = np.einsum("iab,ib->ia", A, m)
        out = [Q.T @ mu + pull * p[:, None] - np.einsum("iab,ib->ia", A, mu)]
        for i in range(2):
            half = np.outer(pull[i], mu[i]) - A[i] @ Pi[i]
            out.append(half + half.T + Q[0, i] * Pi[0] + Q[1, i] * Pi[1])
        for i in range(2):
            E = Pi[i] - np.outer(mu[i], m[i]) - np.outer(m[i], mu[i]) + p[i] * np.outer(m[i], m[i])
            noise = R[i] * np.trace(R[i] @ E) + R[i] @ E @ R[i] + v[i] * p[i] * R[i]
            half = -A[i] @ U[i]
            out.append(half + half.T + B @ noise @ B.T + Q[0, i] * U[0] + Q[1, i] * U[1])
        return np.concatenate([part.ravel() for part in out])

    y = solve_ivp(slope, (0.0, 1.0), np.zeros(20), method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    return np.asarray(y[12:].reshape(2, 2, 2).sum(axis=0))


def test_moments_and_scaled_errors_follow_the_recursion_step_by_step() -> None:
    scenario = pair(0.6, epsilon=0.1, alpha=0.1)
    S = np.array([[0.0, -0.6], [0.6, 0.0]])
    p, mu, Pi = np.array([4.0, 7.0]) / 11.0, np.zeros((2, 2)), np.zeros((2, 2, 2))
    for _ in range(25):
        p, mu, Pi = naive_step(p, mu, Pi, epsilon=0.1, alpha=0.1, S=S, heat=0.0)
    found = limits.algorithm_moments(scenario, "lms", 25)
    np.testing.assert_allclose(found.second_by_mode, Pi, rtol=1e-12)
    # theta - vartheta by simulation of both on one path: 60,000 paths
    rng, n = np.random.default_rng(5), 60_000
    x, factor = (rng.random(n) > p[0]).astype(int), np.linalg.cholesky(R)
    theta, still = np.zeros((n, 2)), np.zeros((n, 2))
    for _ in range(25):
        phi = np.einsum("nab,nb->na", factor[x], rng.standard_normal((n, 2)))
        r = np.einsum("na,na->n", phi, theta - m[x]) - np.sqrt(v[x]) * rng.standard_normal(n)
        theta = theta - 0.1 * (phi * r[:, None]) @ (np.eye(2) + S).T
        still = still - 0.1 * np.einsum("nab,nb->na", R[x], still - m[x]) @ (np.eye(2) + S).T
        x = np.where(rng.random(n) < 0.1 * -Q[x, x], 1 - x, x)
    u = (theta - still) / np.sqrt(0.1)
    products = u[:, :, None] * u[:, None, :]
    error = products.std(axis=0) / np.sqrt(n)
    exact = limits.scaled_error(scenario, "lms", [25], of="algorithm").second[0]
    assert (np.abs(products.mean(axis=0) - exact) < K * error).all()
    white = limits.scaled_error(pair(0.6, alpha=0.1), "lms", [1.0]).second[0]  # control: the limit is another number
    assert not (np.abs(products.mean(axis=0) - white) < K * error).all()


def test_leading_error_is_the_slope_of_the_recursion() -> None:
    finer = [pair(0.6, beta=2.0, epsilon=e, alpha=1.5 * e) for e in (1e-3, 5e-4)]
    limit = limits.moments(finer[0], "lms", 1.0).second
    slopes = [(limits.algorithm_moments(one, "lms", round(1 / e)).second - limit) / e for one, e in zip(finer, (1e-3, 5e-4), strict=True)]  # fmt: skip
    np.testing.assert_allclose(limits.leading_error(finer[0], "lms", 1.0).second, 2 * slopes[1] - slopes[0], rtol=2e-5)
    bare = read_quadratic(finer[0], "lms").growth
    assert bare is not None and bare.left.any()  # noqa: PT018


def test_best_step_is_the_least_error_and_expands_as_the_error_does() -> None:
    slow = pair(alpha=1e-6, beta=50.0)
    best = limits.best_step(slow, "lms")
    around = [float(limits.stationary(slow.set("samplers.*.epsilon", best.epsilon * c), "lms").mean_square_error) for c in (0.9, 1, 1.1)]  # fmt: skip
    assert around[1] == pytest.approx(best.mean_square_error, rel=1e-12)
    assert around[1] < min(around[0], around[2])
    assert best.epsilon == pytest.approx(best.asymptotic_epsilon, rel=0.02)
    expansion = best.floor + best.noise * best.epsilon + best.lag * 1e-6 / best.epsilon
    assert best.mean_square_error == pytest.approx(expansion, rel=1e-3)


def test_simulation_agrees() -> None:
    scenario = pair(0.6).set("trials", 300).set("steps", 3000).set("burn_in", 600).set("seed", 7)
    found = tracker.run(scenario).summary["samplers"][0]["mean_square_error"]
    exact = float(limits.stationary(scenario, "lms").mean_square_error)
    assert abs(found["mean"] - exact) < K * found["stderr"]
    bowls = [{"cost": "quadratic", "minimum": a.tolist(), "curvature": b.tolist(), "gradient_noise": (c * b).tolist()}
             for a, b, c in zip(m, R, v, strict=True)]  # fmt: skip
    additive = world(
        bowls, Q, samplers=[{"name": "lms", "kind": "accelerated", "skew": 0.6, "epsilon": 0.05, "beta": "inf"}]
    )
    wrong = float(limits.stationary(additive, "lms").mean_square_error)  # control: noise that does not grow
    assert abs(found["mean"] - wrong) > K * found["stderr"]


# --- the three-state chain of the literature on LMS tracking

Q3 = [[-0.6, 0.4, 0.2], [0.2, -0.5, 0.3], [0.4, 0.1, -0.5]]
BOWLS = [{"cost": "quadratic", "minimum": [c], "curvature": [[1.0]], "gradient_noise": 0.25} for c in (-1.0, 0.0, 1.0)]
LMS = [regression(c, 1.0, 0.25) for c in (-1.0, 0.0, 1.0)]


@pytest.mark.parametrize(
    ("modes", "wanted"), [(BOWLS, (0.33055, 0.31303, 0.30921)), (LMS, (0.34842, 0.31621, 0.30952))]
)
def test_three_states_at_equal_steps(modes: Any, wanted: tuple[float, ...]) -> None:
    for epsilon, error in zip((0.05, 0.01, 0.001), wanted, strict=True):
        scenario = world(modes, Q3, epsilon).set("samplers.*.epsilon", epsilon)
        assert float(limits.stationary(scenario, "lms").mean_square_error) == pytest.approx(error, abs=5.1e-6)
        limit = limits.stationary(scenario, "lms", of="limit")
        assert float(limit.mean_square_error) == pytest.approx(0.30879, abs=5.1e-6)


def test_three_states_error_falls_like_the_root_of_alpha() -> None:
    for alpha, error in zip(
        (1e-2, 1e-3, 1e-4, 1e-5, 1e-6), (0.06868, 0.02178, 0.006905, 0.002186, 0.000692), strict=True
    ):
        scenario = world(BOWLS, Q3, alpha).set("samplers.*.epsilon", float(np.sqrt(alpha)))
        assert float(limits.stationary(scenario, "lms").mean_square_error) == pytest.approx(error, rel=8e-4)
    best = limits.best_step(scenario, "lms")
    assert best.epsilon / 1e-3 == pytest.approx(2.13, abs=0.006)
    assert best.mean_square_error / 1e-3 == pytest.approx(0.533, abs=0.001)
