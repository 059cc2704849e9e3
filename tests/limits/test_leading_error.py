"""d/d epsilon of the moments where curvatures and rates differ by a million, against sixty digits of Python's decimals."""

from __future__ import annotations

from decimal import Decimal, getcontext
from typing import Any

import numpy as np
import pytest

import tracker
from tracker import limits
from tracker.limits import epsilon_derivative, moment_system
from tracker.scenario.model import make_scenario

FINE = 70  # the smallest epsilon is 2^-70


@pytest.fixture(autouse=True)
def _many_digits() -> Any:
    kept = getcontext().prec
    getcontext().prec = 90
    yield
    getcontext().prec = kept


def world(stiff: float, ratio: float, s: float) -> tracker.Scenario:
    turned = np.array([[0.8, -0.6], [0.6, 0.8]])
    H = [np.diag([stiff, 1.0]), turned @ np.diag([1.0, stiff]) @ turned.T]
    modes = [
        {
            "name": f"m{i}",
            "cost": "quadratic",
            "minimum": m,
            "curvature": ((h + h.T) / 2).tolist(),
            "gradient_noise": 0.3,
        }
        for i, (h, m) in enumerate(zip(H, ([1.0, -0.5], [-1.0, 0.25]), strict=True))
    ]
    data = {"name": "stiff", "trials": 1, "steps": 1, "start": [0.5, 1.0], "modes": modes}
    # the ratio alone matters; alpha must be small enough for a chain
    chain = {"alpha": ratio * 2.0**-30, "Q": [[-1.0, 1.0], [0.5, -0.5]], "initial": "m0"}
    sampler = {"name": "s", "kind": "accelerated", "epsilon": 2.0**-30, "beta": 2.0, "skew": s}
    return make_scenario({**data, "chain": chain, "samplers": [sampler]})


def exact(values: Any) -> np.ndarray:
    return np.vectorize(Decimal, otypes=[object])(np.array(values, dtype=float))


def after(scenario: tracker.Scenario, power: int) -> np.ndarray:
    """v at time 1 with epsilon = 2^-power, by squaring the matrix of one step; columns are images of unit vectors."""
    sampler, chain = scenario.samplers[0], scenario.chain
    assert chain is not None
    epsilon = Decimal(2) ** -power
    ratio = Decimal(chain.alpha) / Decimal(sampler.epsilon)
    eye, zero = exact(np.eye(2)), exact(np.zeros((2, 2)))
    M = eye + exact([[0.0, -sampler.skew], [sampler.skew, 0.0]])
    mix = eye + epsilon * ratio * exact(chain.Q)
    columns = []
    for unit in exact(np.eye(14)):
        p, mu, Pi = unit[:2], unit[2:6].reshape(2, 2), unit[6:].reshape(2, 2, 2)
        new = [(p[i] * 0, zero[0], zero) for i in range(2)]
        for i, mode in enumerate(scenario.modes):
            A = M.dot(exact(mode.curvature))
            B, a = eye - epsilon * A, epsilon * A.dot(exact(mode.minimum))
            noise = epsilon**2 * Decimal(mode.gradient_noise) * M.dot(M.T) + 2 * epsilon / Decimal(sampler.beta) * eye
            moved = B.dot(mu[i])
            cross = np.outer(moved, a)
            second = B.dot(Pi[i]).dot(B.T) + cross + cross.T + p[i] * (np.outer(a, a) + noise)
            first = moved + a * p[i]
            new = [
                (q + mix[i, j] * p[i], m + mix[i, j] * first, S + mix[i, j] * second) for j, (q, m, S) in enumerate(new)
            ]
        columns.append(
            np.concatenate([[q for q, _, _ in new], *(m for _, m, _ in new), *(S.ravel() for _, _, S in new)])
        )
    step = np.array(columns).T
    for _ in range(power):
        step = step.dot(step)
    theta = exact(scenario.start)
    second = np.outer(theta, theta)
    return step.dot(np.concatenate([exact([1.0, 0.0]), theta, 0 * theta, second.ravel(), 0 * second.ravel()]))


@pytest.mark.parametrize(("stiff", "ratio", "s"), [(1e6, 1.5, 0.7), (1e6, 1.5, 0.0), (3.0, 1e6, 0.7), (1e6, 1e6, 0.7)])
def test_the_digits_of_the_leading_error(stiff: float, ratio: float, s: float) -> None:
    scenario = world(stiff, ratio, s)
    coarse, middle, fine = (after(scenario, power) for power in (FINE - 2, FINE - 1, FINE))
    step = Decimal(2) ** -FINE
    # quotients over two steps and over one, and the next term of the series removed
    wide, narrow = (coarse - middle) / (2 * step), (middle - fine) / step
    wanted = np.array(2 * narrow - wide, dtype=float)
    found = limits.leading_error(scenario, "s", 1.0)
    np.testing.assert_allclose(found.probability, wanted[:2], rtol=0, atol=1e-12)
    if ratio == 1e6:
        assert np.abs(found.probability).max() < 1e-12  # the chain has forgotten its start
    for ours, theirs in (
        (found.mean_by_mode, wanted[2:6].reshape(2, 2)),
        (found.second_by_mode, wanted[6:].reshape(2, 2, 2)),
        (found.second, wanted[6:].reshape(2, 2, 2).sum(axis=0)),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6 * np.abs(theirs).max())


def test_larger_systems_go_other_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = world(3.0, 1.5, 0.7)
    long = limits.leading_error(scenario, "s", [0.5, 1.0])
    monkeypatch.setattr(epsilon_derivative, "LONG", 0)
    for _ in range(2):
        other = limits.leading_error(scenario, "s", [0.5, 1.0])
        np.testing.assert_allclose(other.second_by_mode, long.second_by_mode, rtol=0, atol=1e-9)
        np.testing.assert_allclose(other.probability, long.probability, rtol=0, atol=1e-14)
        monkeypatch.setattr(moment_system, "DENSE", 0)
