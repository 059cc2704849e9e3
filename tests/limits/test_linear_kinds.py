"""A kind that declares its matrices gets exact moments, stationary law, stability and best step, with more state than theta.

Checked against sums over all paths of the hidden mode, differential equations written out by hand, and closed forms.
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
from interpreting import interpreted
from pydantic import Field
from scipy.integrate import solve_ivp
from scipy.linalg import solve_discrete_lyapunov

import tracker
from tracker import limits
from tracker.array_types import Array, Words
from tracker.convergence import step_ladder
from tracker.costs.base import gradient
from tracker.keys import Positive
from tracker.limits.best_constant_step import split_error
from tracker.limits.switched_quadratic import read_quadratic
from tracker.samplers import SAMPLERS
from tracker.samplers.base import SamplerKeys, sampler
from tracker.samplers.linear_step import LinearStep, linear_step
from tracker.samplers.state import carried, scratch
from tracker.scenario import switched_systems, warnings
from tracker.scenario.toml_text import to_toml

# --- two kinds from outside: one with a velocity, one whose output is an average of the point that reads gradients


class Rolling(NamedTuple):
    """Parameters."""

    epsilon: float
    beta: float
    friction: float


class RollingState(NamedTuple):
    """The point, its velocity and the gradient."""

    theta: Array = carried("N")
    v: Array = carried("N")
    g: Array = scratch("N")


@sampler(Rolling, RollingState)
def _roll(sampler: Rolling, state: RollingState, cost: Any, k: int, z: Array, w: Array, streams: Words) -> None:
    theta, v, g = state.theta, state.v, state.g
    gradient(cost, theta, z, g)
    heat = np.sqrt(2.0 * sampler.friction * sampler.epsilon / sampler.beta)
    for d in range(theta.size):
        v[d] = (1.0 - sampler.friction * sampler.epsilon) * v[d] - sampler.epsilon * g[d] + heat * w[d]
        theta[d] += sampler.epsilon * v[d]


class RollingKeys(SamplerKeys):
    """v <- (1 - friction epsilon) v - epsilon g + sqrt(2 friction epsilon / beta) w, then theta <- theta + epsilon v."""

    kind: Literal["rolling"]
    parameters = Rolling
    friction: Positive = Field(default=1.0, description="how fast the velocity is lost")

    def linear(self, epsilon: float, S: Array) -> LinearStep:
        """theta moves by epsilon times the new velocity."""
        eye, zero = np.eye(len(S)), np.zeros_like(S)
        kick = np.vstack([epsilon * eye, eye])
        drift = np.block([[zero, (1.0 - self.friction * epsilon) * eye], [zero, -self.friction * eye]])
        return linear_step(gain=kick, heat=2.0 * self.friction / self.beta * kick @ kick.T, drift=drift)


class Smoothed(NamedTuple):
    """Parameters."""

    epsilon: float
    noise: float
    rate: float


class SmoothedState(NamedTuple):
    """The average, the point and its gradient."""

    theta: Array = carried("N")
    inner: Array = carried("N", start="theta")
    g: Array = scratch("N")


@sampler(Smoothed, SmoothedState)
def _smooth(sampler: Smoothed, state: SmoothedState, cost: Any, k: int, z: Array, w: Array, streams: Words) -> None:
    theta, inner, g = state.theta, state.inner, state.g
    gradient(cost, inner, z, g)
    for d in range(theta.size):
        inner[d] += sampler.noise * w[d] - sampler.epsilon * g[d]
        theta[d] += sampler.epsilon * sampler.rate * (inner[d] - theta[d])


class SmoothedKeys(SamplerKeys):
    """Langevin, and its average with the weight epsilon rate for the newest point."""

    kind: Literal["smoothed"]
    parameters = Smoothed
    rate: Positive = Field(default=2.0, description="how fast the average forgets")

    def linear(self, epsilon: float, S: Array) -> LinearStep:
        """The average comes first, and gradients are read at the point behind it."""
        eye, zero = np.eye(len(S)), np.zeros_like(S)
        follow = np.vstack([epsilon * self.rate * eye, eye])
        drift = np.block([[-self.rate * eye, self.rate * eye], [zero, zero]])
        reads, begins = np.hstack([zero, eye]), np.vstack([eye, eye])
        return linear_step(follow, 2.0 / self.beta * follow @ follow.T, drift, reads, begins)


KINDS = {"rolling": RollingKeys, "smoothed": SmoothedKeys}


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, keys in KINDS.items():
        monkeypatch.setitem(SAMPLERS, kind, keys)


H = np.array([[[1.0, -0.2], [-0.2, 1.5]], [[2.0, 0.3], [0.3, 1.0]]])
M = np.array([[-1.0, 0.5], [1.0, -1.0]])
SIGMA = np.array([[[0.25, 0.1], [0.1, 0.05]], [[0.0, 0.0], [0.0, 0.49]]])  # of the gradient noise
Q = np.array([[-1.0, 1.0], [2.0, -2.0]])
START, SPREAD = np.array([0.5, 0.2]), 0.3


def read(tables: dict[str, Any]) -> tracker.Scenario:
    return tracker.parse(to_toml(tables))


def world(kind: str, *, epsilon: float = 0.1, alpha: float = 0.05, beta: float = 2.0, **keys: Any) -> tracker.Scenario:
    modes = [
        {
            "name": name,
            "cost": "quadratic",
            "minimum": m.tolist(),
            "curvature": h.tolist(),
            "gradient_noise": sigma.tolist(),
        }
        for name, m, h, sigma in zip(("left", "right"), M, H, SIGMA, strict=True)
    ]
    one = {"name": "s", "kind": kind, "epsilon": epsilon, "beta": beta, **keys}
    return read(
        {
            "name": "linear", "seed": 3, "trials": 4000, "steps": 12, "record_every": 12, "modes": modes,
            "start": {"mean": START.tolist(), "covariance": (SPREAD**2 * np.eye(2)).tolist()},
            "chain": {"alpha": alpha, "Q": Q.tolist(), "initial": [0.3, 0.7]}, "samplers": [one],
        }
    )  # fmt: skip


def scalar(kind: str, *, beta: float | str = "inf", epsilon: float = 0.1, **keys: Any) -> tracker.Scenario:
    mode = {"name": "one", "cost": "quadratic", "minimum": [0.0], "curvature": [[3.0]], "gradient_noise": [[0.16]]}
    one = {"name": "s", "kind": kind, "epsilon": epsilon, "beta": beta, **keys}
    head = {"name": "scalar", "seed": 1, "trials": 1, "steps": 10, "start": [1.0]}
    return read({**head, "modes": [mode], "samplers": [one]})


def affine(kind: str, epsilon: float, beta: float, i: int) -> tuple[Array, Array, Array]:
    """B, b, C of u -> B u + b + noise of covariance C in mode i, read off the lines of the step itself."""
    eye = np.eye(2)
    if kind == "rolling":
        friction = 1.0
        rows_v = np.hstack([-epsilon * H[i], (1.0 - friction * epsilon) * eye])
        B = np.vstack([np.hstack([eye, 0.0 * eye]) + epsilon * rows_v, rows_v])
        b = np.concatenate([epsilon**2 * H[i] @ M[i], epsilon * H[i] @ M[i]])
        L = np.vstack([epsilon * eye, eye])
        v_noise = 2.0 * friction * epsilon / beta * eye + epsilon**2 * SIGMA[i]
    else:
        weight = 2.0 * epsilon
        rows_inner = np.hstack([0.0 * eye, eye - epsilon * H[i]])
        B = np.vstack([np.hstack([(1.0 - weight) * eye, 0.0 * eye]) + weight * rows_inner, rows_inner])
        b = np.concatenate([weight * epsilon * H[i] @ M[i], epsilon * H[i] @ M[i]])
        L = np.vstack([weight * eye, eye])
        v_noise = 2.0 * epsilon / beta * eye + epsilon**2 * SIGMA[i]
    return B, b, L @ v_noise @ L.T


def over_all_paths(kind: str, epsilon: float, alpha: float, beta: float, steps: int) -> tuple[Array, Array]:
    """Mean and second moment of theta by mode after ``steps``, summed over every path of the hidden mode."""
    P = np.eye(2) + alpha * Q
    begins = np.vstack([np.eye(2), np.eye(2) if kind == "smoothed" else np.zeros((2, 2))])
    mean, second = np.zeros((2, 2)), np.zeros((2, 2, 2))
    for path in product((0, 1), repeat=steps + 1):
        weight = (0.3, 0.7)[path[0]] * np.prod([P[i, j] for i, j in pairwise(path)])
        u, cov = begins @ START, SPREAD**2 * begins @ begins.T
        for i in path[:-1]:
            B, b, C = affine(kind, epsilon, beta, i)
            u, cov = B @ u + b, B @ cov @ B.T + C
        mean[path[-1]] += weight * u[:2]
        second[path[-1]] += weight * (np.outer(u, u) + cov)[:2, :2]
    return mean, second


@pytest.mark.parametrize("kind", KINDS)
def test_the_moments_of_the_recursion_are_those_of_all_paths(kind: str) -> None:
    found = limits.algorithm_moments(world(kind), "s", 6)
    mean, second = over_all_paths(kind, 0.1, 0.05, 2.0, 6)
    assert found.mean.shape == (2,)
    np.testing.assert_allclose(found.mean_by_mode, mean, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.second_by_mode, second, rtol=1e-12, atol=1e-14)
    other = over_all_paths(kind, 0.1, 0.05, 2.2, 6)[1]  # control
    assert np.abs(found.second_by_mode - other).max() > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_two_times_of_the_recursion(kind: str) -> None:
    """E theta_1 theta_3' by all paths: the second moments of (theta_1, u) carried along."""
    epsilon, alpha, beta = 0.1, 0.05, 2.0
    P = np.eye(2) + alpha * Q
    begins = np.vstack([np.eye(2), np.eye(2) if kind == "smoothed" else np.zeros((2, 2))])
    expected = np.zeros((2, 2))
    for path in product((0, 1), repeat=3):
        weight = (0.3, 0.7)[path[0]] * np.prod([P[i, j] for i, j in pairwise(path)])
        u, cov = begins @ START, SPREAD**2 * begins @ begins.T
        B, b, C = affine(kind, epsilon, beta, path[0])
        u, cov = B @ u + b, B @ cov @ B.T + C
        later, cross = u, cov
        for i in path[1:]:
            B, b, _ = affine(kind, epsilon, beta, i)
            later, cross = B @ later + b, B @ cross
        expected += weight * (np.outer(u, later) + cross.T)[:2, :2]
    found = limits.two_time(world(kind), "s", 0.1, 0.3, of="algorithm")
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_the_limit_is_its_own_differential_equation(kind: str) -> None:
    """Mean and second moments of the switched diffusion by an integrator, with the equations of each kind written out."""
    ratio, beta, T = 0.5, 2.0, 0.7
    eye, zero = np.eye(2), np.zeros((2, 2))

    def slopes(_: float, flat: Array) -> Array:
        p, mu, Pi = flat[:2], flat[2:10].reshape(2, 4), flat[10:].reshape(2, 4, 4)
        dmu, dPi = ratio * Q.T @ mu, ratio * np.einsum("ji,jab->iab", Q, Pi)
        for i in (0, 1):
            if kind == "rolling":  # theta' = v, v' = -v - H (theta - m) + sqrt(2 / beta) dW
                J = np.block([[zero, eye], [-H[i], -eye]])
            else:  # theta' = 2 (inner - theta), inner' = -H (inner - m) + sqrt(2 / beta) dW
                J = np.block([[-2.0 * eye, 2.0 * eye], [zero, -H[i]]])
            push, heat = np.concatenate([np.zeros(2), H[i] @ M[i]]), np.diag([0.0, 0.0, 2.0 / beta, 2.0 / beta])
            dmu[i] += J @ mu[i] + push * p[i]
            dPi[i] += J @ Pi[i] + Pi[i] @ J.T + np.outer(push, mu[i]) + np.outer(mu[i], push) + heat * p[i]
        return np.concatenate([ratio * Q.T @ p, dmu.ravel(), dPi.ravel()])

    begins = np.vstack([eye, eye if kind == "smoothed" else zero])
    u, p0 = begins @ START, np.array([0.3, 0.7])
    second = np.outer(u, u) + SPREAD**2 * begins @ begins.T
    first = np.concatenate([p0, np.outer(p0, u).ravel(), np.multiply.outer(p0, second).ravel()])
    end = solve_ivp(slopes, (0.0, T), first, "DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    found = limits.moments(world(kind), "s", T)
    np.testing.assert_allclose(found.mean_by_mode, end[2:10].reshape(2, 4)[:, :2], rtol=1e-8)
    np.testing.assert_allclose(found.second_by_mode, end[10:].reshape(2, 4, 4)[:, :2, :2], rtol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_the_leading_error_is_the_slope_of_the_recursion(kind: str) -> None:
    def at(n: int) -> Array:
        return limits.algorithm_moments(world(kind, epsilon=1.0 / n, alpha=0.5 / n), "s", n).second

    limit = limits.moments(world(kind), "s", 1.0).second
    slope = [(at(n) - limit) * n for n in (400, 800, 1600)]
    finer = [2.0 * slope[1] - slope[0], 2.0 * slope[2] - slope[1]]
    expected = (4.0 * finer[1] - finer[0]) / 3.0
    np.testing.assert_allclose(limits.leading_error(world(kind), "s", 1.0).second, expected, rtol=2e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_stationary_law_of_one_mode(kind: str) -> None:
    """Of the limit in closed form; of the recursion by another solver."""
    keys, epsilon = scalar(kind, beta=2.0).samplers[0], 0.1
    limit = limits.stationary(scalar(kind, beta=2.0), "s", of="limit").second[0, 0]
    gibbs = 1.0 / (2.0 * 3.0)
    # an average of an Ornstein-Uhlenbeck process of rate 3 with the rate 2 has 2 / (2 + 3) of its variance
    assert limit == pytest.approx(gibbs if kind == "rolling" else gibbs * 2.0 / 5.0, rel=1e-10)
    step = keys.linear(epsilon, np.zeros((1, 1)))
    B = np.eye(2) + epsilon * (step.drift - 3.0 * step.gain @ step.reads)
    noise = epsilon * step.heat + epsilon**2 * 0.16 * step.gain @ step.gain.T
    own = limits.stationary(scalar(kind, beta=2.0), "s").second[0, 0]
    assert own == pytest.approx(solve_discrete_lyapunov(B, noise)[0, 0], rel=1e-10)


def test_the_largest_step_of_a_rolling_point() -> None:
    """The recursion's matrix has trace 2 - f e - e^2 h and determinant 1 - f e: stable while e^2 h + 2 f e < 4."""
    found = limits.stability(scalar("rolling"), "s")
    expected = (np.sqrt(1.0 + 4.0 * 3.0) - 1.0) / 3.0
    assert found.stable
    assert found.abscissa == pytest.approx(-1.0, rel=1e-9)  # twice the real part of (-1 +- sqrt(1 - 12)) / 2
    assert found.largest_epsilon == pytest.approx(expected, rel=1e-9)
    with pytest.raises(limits.Unstable, match="epsilon must be below"):
        limits.stationary(scalar("rolling", epsilon=1.01 * expected), "s")


def test_it_is_known_before_a_run_whether_a_step_is_stable() -> None:
    for kind in KINDS:
        (row,) = switched_systems(world(kind))
        found = limits.stability(world(kind), "s")
        assert (row.radius, row.abscissa, row.stable) == (
            pytest.approx(found.radius, rel=1e-12),
            pytest.approx(found.abscissa, rel=1e-9),
            True,
        )
        assert row.sentence == ""
    wild = world("rolling", epsilon=1.6)
    assert [line for line in warnings(wild) if "unstable: a step multiplies the second moments by" in line]
    assert not limits.stability(wild, "s").stable


def test_the_check_of_its_limit_begins_at_a_stable_step() -> None:
    for kind in KINDS:
        slow = world(kind, alpha=1e-6)  # the chain alone would allow steps of 25,000
        largest = limits.stability(slow, "s").largest_epsilon
        assert step_ladder.build(slow, "s").epsilons[0] <= largest / 4.0 < 1.0
    unknown = world("psgld", alpha=1e-6)
    assert step_ladder.build(unknown, "s").epsilons[0] == pytest.approx(0.1)  # that of the file


def tracking(kind: str, alpha: float, epsilon: float, beta: float | str = "inf", **keys: Any) -> tracker.Scenario:
    """Minima at +-1, curvature 1, gradient noise 1, rate 1."""
    modes = [
        {"name": n, "cost": "quadratic", "minimum": [m], "curvature": [[1.0]], "gradient_noise": [[1.0]]}
        for n, m in (("left", -1.0), ("right", 1.0))
    ]
    one = {"name": "s", "kind": kind, "epsilon": epsilon, "beta": beta, **keys}
    head = {"name": "tracking", "seed": 1, "trials": 1, "steps": 10, "start": [1.0]}
    chain = {"alpha": alpha, "Q": [[-1.0, 1.0], [1.0, -1.0]]}
    return read({**head, "chain": chain, "modes": modes, "samplers": [one]})


@pytest.mark.parametrize(("alpha", "expected"), [(1e-2, 1.804), (1e-3, 1.267), (1e-4, 1.085)])
def test_momentum_tracks_worse_than_the_best_constant_step(alpha: float, expected: float) -> None:
    """Momentum 0.9 at an equal effective step epsilon / friction; the quotients are those of an independent calculation."""
    best = limits.best_step(tracking("langevin", alpha, 0.1), "s")
    epsilon = float(np.sqrt(0.1 * best.epsilon))
    momentum = tracking("rolling", alpha, epsilon, friction=0.1 / epsilon)
    found = limits.stationary(momentum, "s").mean_square_error / best.mean_square_error
    assert float(found) == pytest.approx(expected, abs=6e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_the_error_is_floor_noise_and_lag_and_has_a_best_step(kind: str) -> None:
    alpha, beta = 1e-8, 2.0
    problem = read_quadratic(tracking(kind, alpha, 1e-4, beta), "s")
    floor, noise, lag = split_error(problem)
    total = float(limits.stationary(tracking(kind, alpha, 1e-4, beta), "s").mean_square_error)
    assert total == pytest.approx(floor + noise * 1e-4 + lag * alpha / 1e-4, abs=3e-7)
    assert noise * 1e-4 > 1e-5  # control: each part can be seen
    assert lag * alpha / 1e-4 > 1e-5
    best = limits.best_step(tracking(kind, 1e-3, 0.1, beta), "s")
    near = [
        float(limits.stationary(tracking(kind, 1e-3, f * best.epsilon, beta), "s").mean_square_error)
        for f in (0.99, 1.0, 1.01)
    ]
    assert near[1] == pytest.approx(best.mean_square_error, rel=1e-9)
    assert min(near) == near[1]


@pytest.mark.parametrize("kind", KINDS)
def test_the_steps_themselves_have_these_moments(kind: str) -> None:
    """The declared matrices against the declared step, by simulation; control: the matrices of another epsilon."""
    run = interpreted(world(kind).replace(trials=1500))
    last = run.arrays["theta"][:, 0, -1]
    found = limits.algorithm_moments(world(kind), "s", 12)
    error = last.std(axis=0, ddof=1) / np.sqrt(len(last))
    assert (np.abs(last.mean(axis=0) - found.mean) < 4.9 * error).all()
    squares = last**2
    error = squares.std(axis=0, ddof=1) / np.sqrt(len(last))
    expected = np.diag(found.second)
    assert (np.abs(squares.mean(axis=0) - expected) < 4.9 * error).all()
    other = limits.algorithm_moments(world(kind, epsilon=0.15, alpha=0.05), "s", 12)
    assert (np.abs(last.mean(axis=0) - other.mean) > 4.9 * last.std(axis=0) / np.sqrt(len(last))).any()


def test_large_systems_go_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    from tracker.limits import moment_system
    from tracker.skew import switched_moments

    scenario = world("rolling")
    small = (
        limits.stationary(scenario, "s"),
        limits.stationary(scenario, "s", of="limit"),
        limits.moments(scenario, "s", 1.0),
    )
    walked, late = limits.algorithm_moments(scenario, "s", 9), limits.leading_error(scenario, "s", 1.0)
    monkeypatch.setattr(moment_system, "DENSE", 1)
    monkeypatch.setattr(switched_moments, "MOST_UNKNOWNS", 1)
    large = (
        limits.stationary(scenario, "s"),
        limits.stationary(scenario, "s", of="limit"),
        limits.moments(scenario, "s", 1.0),
    )
    for one, other in zip(
        (*small, walked, late),
        (*large, limits.algorithm_moments(scenario, "s", 9), limits.leading_error(scenario, "s", 1.0)),
        strict=True,
    ):
        np.testing.assert_allclose(one.second_by_mode, other.second_by_mode, rtol=1e-8, atol=1e-12)


def test_what_needs_more_than_matrices_is_refused() -> None:
    with pytest.raises(limits.OutOfScope, match="theory knows the kind rolling by its moments on quadratic costs only"):
        limits.density(scalar("rolling"), "s", [1.0])
