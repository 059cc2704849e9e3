"""Regimes, adaptive paths, coupled paths and Metropolis-Hastings against transcriptions of their equations as plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from worlds import shipped

import tracker
from tracker import limits, references
from tracker.scenario import with_settings
from tracker.scenario.model import make_scenario

A = shipped("example_a")
H = np.array([[[2.0, 0.3], [0.3, 1.0]], [[1.0, -0.2], [-0.2, 1.5]]])
m = np.array([[1.0, -1.0], [-1.0, 0.5]])
Sigma = np.array([[[0.5, 0.1], [0.1, 0.4]], [[0.3, 0.0], [0.0, 0.6]]])
Q = np.array([[-1.0, 1.0], [0.6, -0.6]])
M = np.array([[1.0, -0.7], [0.7, 1.0]])
BETA, THETA = 2.0, np.array([0.5, 0.0])


def switched(horizon: float, ratio: float, curvature: np.ndarray, minima: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E theta and E theta theta' of the limit by an ODE for (p, mu, Pi), from the first mode and THETA."""
    X = len(curvature)
    rates = Q if X > 1 else np.zeros((1, 1))

    def slope(_: float, y: np.ndarray) -> np.ndarray:
        p, mu, Pi = y[:X], y[X : 3 * X].reshape(X, 2), y[3 * X :].reshape(X, 2, 2)
        dp, dmu, dPi = np.zeros(X), np.zeros((X, 2)), np.zeros((X, 2, 2))
        for i in range(X):
            drift, pull = M @ curvature[i], M @ curvature[i] @ minima[i]
            dmu[i] = pull * p[i] - drift @ mu[i]
            dPi[i] = np.outer(pull, mu[i]) - drift @ Pi[i]
            dPi[i] = dPi[i] + dPi[i].T + 2 / BETA * p[i] * np.eye(2)
            for j in range(X):
                dp[i] += ratio * rates[j, i] * p[j]
                dmu[i] += ratio * rates[j, i] * mu[j]
                dPi[i] += ratio * rates[j, i] * Pi[j]
        return np.concatenate([dp, dmu.ravel(), dPi.ravel()])

    first = np.zeros(7 * X)
    first[0], first[X : X + 2], first[3 * X : 3 * X + 4] = 1.0, THETA, np.outer(THETA, THETA).ravel()
    end = solve_ivp(slope, (0.0, horizon), first, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    return end[X : 3 * X].reshape(X, 2).sum(axis=0), end[3 * X :].reshape(X, 2, 2).sum(axis=0)


def stepped(steps: int, epsilon: float, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """E theta and E theta theta' of the algorithm, step by step."""
    p, mu, Pi = np.array([1.0, 0.0]), np.array([THETA, 0 * THETA]), np.zeros((2, 2, 2))
    Pi[0] = np.outer(THETA, THETA)
    P = np.eye(2) + alpha * Q
    for _ in range(steps):
        moved, square = np.zeros((2, 2)), np.zeros((2, 2, 2))
        for i in range(2):
            B, a = np.eye(2) - epsilon * M @ H[i], epsilon * M @ H[i] @ m[i]
            moved[i] = B @ mu[i] + a * p[i]
            cross = np.outer(B @ mu[i], a)
            noise = 2 * epsilon / BETA * np.eye(2) + epsilon**2 * M @ Sigma[i] @ M.T
            square[i] = B @ Pi[i] @ B.T + cross + cross.T + p[i] * (np.outer(a, a) + noise)
        p, mu, Pi = P.T @ p, np.einsum("ij,ia->ja", P, moved), np.einsum("ij,iab->jab", P, square)
    return mu.sum(axis=0), Pi.sum(axis=0)


def at(epsilon: float, alpha: float) -> tracker.Scenario:
    return with_settings(A, [f"samplers.skewed.epsilon={epsilon!r}", f"chain.alpha={alpha!r}"])


def test_the_scenario_is_the_one_written_out_above() -> None:
    assert A.samplers[0].name == "skewed"
    assert A.samplers[0].beta == BETA
    assert A.start == tuple(THETA)
    np.testing.assert_array_equal([mode.curvature for mode in A.modes], H)
    np.testing.assert_array_equal(A.chain.Q, Q)


@pytest.mark.parametrize("alpha", [1.5 / 64, 0.01 / 64, 0.5])
def test_regimes_are_the_solutions_of_their_equations(alpha: float) -> None:
    r = limits.regimes(at(1 / 64, alpha), "skewed", 1.0)
    pi = np.array([0.375, 0.625])
    mixed = np.einsum("i,iab->ab", pi, H)
    centre = np.linalg.solve(mixed, sum(w * h @ x for w, h, x in zip(pi, H, m, strict=True)))
    laws = {
        "frozen": switched(1.0, 0.0, H, m),
        "switched": switched(1.0, 1.5 if alpha == 1.5 / 64 else 1.0, H, m),
        "averaged": switched(1.0, 0.0, mixed[None], centre[None]),
    }
    mean, second = stepped(64, 1 / 64, alpha)
    np.testing.assert_allclose(r.algorithm.mean, mean, rtol=0, atol=1e-13)
    for name, (limit_mean, limit_second) in laws.items():
        found = getattr(r, name)
        np.testing.assert_allclose(found.mean, limit_mean, rtol=0, atol=1e-10)
        np.testing.assert_allclose(found.second, limit_second, rtol=0, atol=1e-10)
        apart = max(np.abs(mean - limit_mean).max(), np.abs(np.triu(second - limit_second)).max())
        assert r.distance[name] == pytest.approx(apart, abs=1e-10)


def gradient(theta: np.ndarray) -> np.ndarray:
    """Of (a^4 + b^4 + c^4)/4 + (a - 2b + 3c)^2/2 - a."""
    u = np.array([1.0, -2.0, 3.0])
    return theta**3 + u * (u @ theta) - np.array([1.0, 0.0, 0.0])


def hessian(theta: np.ndarray) -> np.ndarray:
    u = np.array([1.0, -2.0, 3.0])
    return np.diag(3.0 * theta**2) + np.outer(u, u)


@pytest.mark.parametrize("bounds", [None, (-0.25, 0.25)])
def test_an_adaptive_path_is_that_of_small_steps(bounds: tuple[float, float] | None) -> None:
    """Three dimensions, a cost that is not quadratic: Runge-Kutta with S clipped after each step of 1e-3."""
    low, high = bounds or (-np.inf, np.inf)
    order = [(1, 0), (2, 0), (2, 1)]
    first = np.array([[0.0, -0.2, 0.1], [0.2, 0.0, 0.05], [-0.1, -0.05, 0.0]])

    def rates(theta: np.ndarray, D: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        g, h, S = gradient(theta), hessian(theta), np.zeros((3, 3))
        for (i, j), entry in zip(order, s, strict=True):
            S[i, j], S[j, i] = entry, -entry
        B = np.eye(3) + S
        dD, ds = np.zeros((3, 3)), np.zeros(3)
        for k, (i, j) in enumerate(order):
            turned = np.zeros(3)
            turned[i], turned[j] = g[j], -g[i]
            dD[k] = -B @ h @ D[k] - turned
            ds[k] = -0.8 * g @ D[k]
            if (s[k] >= high and ds[k] > 0) or (s[k] <= low and ds[k] < 0):
                ds[k] = 0.0
        return -B @ g, dD, ds

    y = [np.array([1.0, -0.5, 0.8]), np.zeros((3, 3)), np.array([first[i, j] for i, j in order])]
    h = 1e-3
    for _ in range(1000):
        k1 = rates(*y)
        k2 = rates(*(a + h / 2 * b for a, b in zip(y, k1, strict=True)))
        k3 = rates(*(a + h / 2 * b for a, b in zip(y, k2, strict=True)))
        k4 = rates(*(a + h * b for a, b in zip(y, k3, strict=True)))
        y = [a + h / 6 * (p + 2 * q + 2 * r + t) for a, p, q, r, t in zip(y, k1, k2, k3, k4, strict=True)]
        y[2] = np.clip(y[2], low, high)
    path = limits.adaptive_path(gradient, hessian, [1.0, -0.5, 0.8], first, 0.8, [1.0], bounds=bounds)
    tolerance = 1e-8 if bounds is None else 1e-3  # a clipped step is off by a step at the moment of arrival
    np.testing.assert_allclose(path.theta[0], y[0], rtol=0, atol=tolerance)
    np.testing.assert_allclose(path.tangent[0], y[1], rtol=0, atol=tolerance)
    np.testing.assert_allclose([path.skew[0][i, j] for i, j in order], y[2], rtol=0, atol=tolerance)


def test_coupled_paths_have_the_exact_means_of_their_levels() -> None:
    """E theta_1^2 of levels 8 and 16 from the loop above; statistical, 4.9 standard errors (1e-6)."""
    found = limits.coupled(A, "skewed", lambda theta: theta[:, 0] ** 2, 1.0, [8, 16], 20_000, seed=3)
    exact = [stepped(n, 1 / n, 1.5 / n)[1][0, 0] for n in (8, 16, 32)]
    values, errors = found.value.ravel(), found.value_stderr.ravel()
    assert (np.abs(values - exact[:2]) < 4.9 * errors).all()
    differences = -np.diff(exact)
    assert (np.abs(found.mean.ravel() - differences) < 4.9 * found.stderr.ravel()).all()
    # control: the difference of the first level is told from that of the second
    assert abs(found.mean.ravel()[0] - differences[1]) > 4.9 * found.stderr.ravel()[0]


def test_metropolis_hastings_agrees_with_the_exact_law_of_a_polynomial() -> None:
    """Statistical, 4.9 standard errors from the effective size; at another temperature it must be told apart."""
    mode = {"name": "w", "cost": "polynomial", "variables": ["a", "b"], "formula": "a^4/4 - a*b + b^2 - 0.3*a"}
    sampler = {"name": "s", "kind": "langevin", "epsilon": 1e-3, "beta": 1.5}
    data = {"name": "p", "trials": 1, "steps": 1, "start": [0.0, 0.0], "modes": [mode], "samplers": [sampler]}
    scenario = make_scenario(data)
    draws = references.metropolis(scenario, beta=1.5, draws=8000, chains=4, seed=5)

    def score(beta: float) -> float:
        law = references.posterior(scenario, beta=beta)
        squares = np.square(draws.theta - law.mean).reshape(-1, 2)
        size = np.min(draws.effective_size)
        spread = squares.std(axis=0) / np.sqrt(size)
        off = np.abs(squares.mean(axis=0) - law.deviation**2) / spread
        centre = np.abs(draws.theta.reshape(-1, 2).mean(axis=0) - law.mean) / (law.deviation / np.sqrt(size))
        return float(max(off.max(), centre.max()))

    assert score(1.5) < 4.9
    assert score(2.5) > 4.9
