"""Occupation, scaled error and the wandering of S: closed numbers, and transcriptions that share no code."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from worlds import scenario_of, shipped

from tracker import limits

H = np.array([[[2.0, 0.3], [0.3, 1.0]], [[1.0, -0.2], [-0.2, 1.5]]])
SIGMA = np.array([np.diag([0.5, 0.2]), np.diag([0.3, 0.6])])
Q = np.array([[-1.0, 1.0], [1.0, -1.0]])
SKEW = np.array([[0.0, -0.4], [0.4, 0.0]])


def close(got, wanted, digits: float = 1e-11) -> None:
    np.testing.assert_allclose(got, wanted, rtol=0, atol=digits)


# --- occupation


def test_occupation_of_the_limit():
    found = limits.occupation(shipped("example_a"), "skewed", 1.0)
    close(found.mean, [0.486691848687, -0.161802649567])
    close(found.second, [[0.483379344904, -0.134512488499], [-0.134512488499, 0.192046830764]])
    close(found.with_theta, [[0.432534445295, -0.061891267715], [-0.258926541242, 0.237920907889]])


def test_occupation_of_the_algorithm():
    found = limits.occupation(shipped("example_a"), "skewed", 64, of="algorithm")
    close(found.mean, [0.492164042203, -0.161101744596])
    close(found.second, [[0.485104881387, -0.132887087035], [-0.132887087035, 0.191941940687]])


def test_occupation_by_integration() -> None:
    """Moments of (theta, A) by mode: their equations written out for Example A, and integrated."""
    M, r, Q = np.array([[1.0, -0.7], [0.7, 1.0]]), 1.5, np.array([[-1.0, 1.0], [0.6, -0.6]])
    curvatures, minima = ([[2.0, 0.3], [0.3, 1.0]], [[1.0, -0.2], [-0.2, 1.5]]), ([1.0, -1.0], [-1.0, 0.5])
    drift, push = np.zeros((2, 4, 4)), np.zeros((2, 4))
    for i in range(2):
        drift[i, :2, :2], drift[i, 2:, :2] = -M @ curvatures[i], np.eye(2)
        push[i, :2] = M @ curvatures[i] @ minima[i]
    heat = np.diag([1.0, 1.0, 0.0, 0.0])  # 2 / beta, beta = 2

    def slope(_: float, y: np.ndarray) -> np.ndarray:
        p, mu, Pi = y[:2], y[2:10].reshape(2, 4), y[10:].reshape(2, 4, 4)
        at = np.einsum("iab,ib->ia", drift, mu) + push * p[:, None] + r * Q.T @ mu
        half = np.einsum("iab,ibc->iac", drift, Pi) + push[:, :, None] * mu[:, None, :]
        second = half + np.swapaxes(half, 1, 2) + p[:, None, None] * heat + r * np.einsum("ji,jab->iab", Q, Pi)
        return np.concatenate([r * Q.T @ p, at.ravel(), second.ravel()])

    y = np.zeros(42)
    y[0], y[2], y[10] = 1.0, 0.5, 0.25  # mode one, theta = (1/2, 0)
    y = solve_ivp(slope, (0.0, 1.0), y, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    mu, Pi = y[2:10].reshape(2, 4).sum(axis=0), y[10:].reshape(2, 4, 4).sum(axis=0)
    found = limits.occupation(shipped("example_a"), "skewed", 1.0)
    close(found.mean, mu[2:], 1e-10)
    close(found.second, Pi[2:, 2:], 1e-10)
    close(found.with_theta, Pi[:2, 2:], 1e-10)


@pytest.mark.parametrize("of", ["limit", "algorithm"])
def test_occupation_is_a_sum_of_moments_at_two_times(of):
    """E A and E A A' from ``moments`` and ``two_time``, by a sum or by Gauss-Legendre."""
    scenario, epsilon = shipped("example_a"), 1 / 64
    if of == "algorithm":
        steps, weights = np.arange(8), np.full(8, epsilon)
        mean = weights @ limits.algorithm_moments(scenario, "skewed", steps).mean
        points, asked = steps * epsilon, 8
    else:
        x, w = np.polynomial.legendre.leggauss(14)
        points, weights, asked = (x + 1) / 4, w / 4, 0.5
        mean = weights @ limits.moments(scenario, "skewed", points).mean
    found = limits.occupation(scenario, "skewed", asked, of=of)
    close(found.mean, mean, 1e-12)
    pairs = sum(
        u * v * limits.two_time(scenario, "skewed", s, t, of=of)
        for s, u in zip(points, weights, strict=True)
        for t, v in zip(points, weights, strict=True)
    )
    tolerance = 1e-12 if of == "algorithm" else 5e-3  # the diagonal has a kink
    close(found.second, pairs, tolerance)
    assert np.abs(found.second - np.outer(mean, mean)).max() > 2 * tolerance  # the control: a path that does not vary


# --- scaled error


def jumping(epsilon: float, beta: float | str = "inf"):
    modes = [
        {"cost": "quadratic", "curvature": h.tolist(), "minimum": m, "gradient_noise": s.tolist()}
        for h, m, s in zip(H, ([1.0, -1.0], [-0.5, 0.8]), SIGMA, strict=True)
    ]
    sampler = {"kind": "accelerated", "epsilon": epsilon, "beta": beta, "skew": SKEW.tolist()}
    chain = {"alpha": 1.5 * epsilon, "Q": Q.tolist(), "initial": [0.5, 0.5]}
    return scenario_of(modes, [sampler], chain=chain)


def by_integration(t: float) -> np.ndarray:
    M = np.eye(2) + SKEW

    def slope(_: float, y: np.ndarray) -> np.ndarray:
        U = y.reshape(2, 2, 2)
        rate = [-M @ h @ u - u @ (M @ h).T + 0.5 * M @ s @ M.T for h, s, u in zip(H, SIGMA, U, strict=True)]
        return (np.array(rate) + 1.5 * np.einsum("ji,jab->iab", Q, U)).ravel()

    return solve_ivp(slope, (0, t), np.zeros(8), rtol=1e-12, atol=1e-13).y[:, -1].reshape(2, 2, 2)


def test_scaled_error_of_the_limit():
    found = limits.scaled_error(jumping(0.01), "sampler-0", [0.0, 0.3, 1.0])
    close(found.second[0], np.zeros((2, 2)))
    close(found.second_by_mode[1], by_integration(0.3), 1e-10)
    close(found.second_by_mode[2], by_integration(1.0), 1e-10)
    close(found.second[2], [[0.148243446, -0.0034610924], [-0.0034610924, 0.1661924426]], 1e-9)


def test_scaled_error_of_the_algorithm():
    """Step by step from its definition, and of order epsilon from the limit."""
    epsilon, U, p = 0.02, np.zeros((2, 2, 2)), np.array([0.5, 0.5])
    M, P = np.eye(2) + SKEW, np.eye(2) + 1.5 * epsilon * Q
    for _ in range(50):
        moved = []
        for i in range(2):
            B = np.eye(2) - epsilon * M @ H[i]
            moved.append(B @ U[i] @ B.T + epsilon * p[i] * M @ SIGMA[i] @ M.T)
        U, p = np.einsum("ji,jab->iab", P, np.array(moved)), p @ P
    found = limits.scaled_error(jumping(epsilon), "sampler-0", 50, of="algorithm")
    close(found.second_by_mode, U, 1e-13)
    errors = [
        limits.scaled_error(jumping(1 / n), "sampler-0", n, of="algorithm").second - by_integration(1.0).sum(axis=0)
        for n in (256, 512)
    ]
    assert np.abs(errors[0] / errors[1] - 2).max() < 0.05


def test_scaled_error_needs_no_temperature():
    with pytest.raises(limits.OutOfScope, match="beta = 3"):
        limits.scaled_error(jumping(0.01, 3.0), "sampler-0", 1.0)


# --- wandering of S


def still(skew: float, kind: str = "hessian", modes: int = 1, **keys):
    world = [
        {"cost": "quadratic", "curvature": [[3.0, 0.0], [0.0, 1.0]], "minimum": [0.0, float(i)]} for i in range(modes)
    ]
    moving = {"skew_step": 1e-4, "skew_bounds": [-5.0, 5.0]} if kind == "hessian" else {}
    chain = {"chain": {"alpha": 0.01, "Q": Q.tolist()}} if modes > 1 else {}
    return scenario_of(world, [{"kind": kind, "skew": skew, "beta": 1.0, **moving, **keys}], **chain)


@pytest.mark.parametrize(
    ("s", "a"), [(0.0, 7 / 12), (0.5, 0.4508333), (1.0, 0.3020833), (2.0, 0.2133333), (-1.0, 0.3020833)]
)
def test_wandering(s, a):
    assert limits.wander(still(s), "sampler-0").coefficient == pytest.approx([a], abs=1e-7)


def test_wandering_by_its_correlation():
    """a = 2 int_0^inf Cov(y'Ky(0), y'Ky(t)) dt, with the stationary law and the flow by integration of their equations."""
    s, beta, N = 0.7, 2.0, 2
    h, E = np.diag([3.0, 1.0]), np.array([[0.0, -1.0], [1.0, 0.0]])
    MH, none = (np.eye(N) + s * E) @ h, np.zeros((N, N))
    F, K = np.block([[MH, none], [E @ h, MH]]), np.block([[none, h / 2], [h / 2, none]])
    heat = np.diag([2 / beta] * N + [0.0] * N)
    G = solve_ivp(
        lambda _, g: (heat - F @ g.reshape(4, 4) - g.reshape(4, 4) @ F.T).ravel(), (0, 40), np.zeros(16), rtol=1e-11, atol=1e-12
    ).y[:, -1].reshape(4, 4)  # fmt: skip

    def slope(_: float, y: np.ndarray) -> np.ndarray:
        C = y[:16].reshape(4, 4)  # E y(t) y(0)'
        return np.append(-(F @ C).ravel(), 2 * 2 * np.trace(K @ C @ K @ C.T))

    a = solve_ivp(slope, (0, 40), np.append(G.ravel(), 0.0), rtol=1e-11, atol=1e-12).y[-1, -1]
    assert limits.wander(still(s, beta=beta), "sampler-0").coefficient == pytest.approx([a], rel=1e-9)


@pytest.mark.parametrize(
    ("scenario", "complaint"),
    [
        (lambda: still(0.5, kind="accelerated"), "follows g'D"),
        (lambda: still(0.5, modes=2), "2 modes"),
        (lambda: still(0.5, beta="inf"), "comes to rest"),
    ],
)
def test_wandering_has_its_scope(scenario, complaint):
    with pytest.raises(limits.OutOfScope, match=complaint):
        limits.wander(scenario(), "sampler-0")
