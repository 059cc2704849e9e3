"""Erlang stays: exact theory on modes times stages, against a dense solve, trials, and the geometric law as a control."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

import tracker
from tracker import limits

Q = np.array([[-1.0, 1.0], [0.5, -0.5]])
ALPHA, EPSILON, NOISE, SHAPE = 0.02, 0.05, 0.25, 3


def world(dwell: object = None, **changes: object) -> tracker.Scenario:
    mode = {"cost": "quadratic", "curvature": [[1.0]], "gradient_noise": NOISE}
    chain = {"alpha": ALPHA, "Q": Q.tolist(), **({} if dwell is None else {"dwell": dwell})}
    data = {
        "name": "stays", "seed": 3, "trials": 120, "steps": 6000, "burn_in": 1000, "start": [0.5], "chain": chain,
        "modes": [{**mode, "name": "a", "minimum": [1.0]}, {**mode, "name": "b", "minimum": [-1.0]}],
        "samplers": [{"name": "lms", "kind": "langevin", "epsilon": EPSILON, "beta": "inf"}], "baselines": [],
    }  # fmt: skip
    return tracker.parse({**data, **changes})


ERLANG = {"law": "erlang", "shape": SHAPE}


def dense() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """p, E[theta 1] and E[theta^2 1] of the recursion on six states, by a solve of its own."""
    P = np.zeros((6, 6))
    for i in range(2):
        leave = SHAPE * ALPHA * -Q[i, i]
        for s in range(3):
            P[3 * i + s, 3 * i + s] = 1 - leave
            P[3 * i + s, 3 * i + s + 1 if s < 2 else 3 * (1 - i)] = leave
    m = np.repeat([1.0, -1.0], 3)
    p = np.repeat([1 / 3, 2 / 3], 3) / 3
    mu = np.linalg.solve(np.eye(6) - (1 - EPSILON) * P.T, P.T @ (EPSILON * m * p))
    inner = 2 * (1 - EPSILON) * EPSILON * m * mu + (EPSILON * m) ** 2 * p + EPSILON**2 * NOISE * p
    return p, mu, np.linalg.solve(np.eye(6) - (1 - EPSILON) ** 2 * P.T, P.T @ inner)


def test_stationary_moments_are_those_of_modes_times_stages() -> None:
    p, mu, second = (one.reshape(2, 3).sum(axis=1) for one in dense())
    found = limits.stationary(world(ERLANG), "lms")
    np.testing.assert_allclose(found.probability, p, rtol=1e-12)
    np.testing.assert_allclose(found.mean_by_mode[:, 0], mu, rtol=1e-12)
    np.testing.assert_allclose(found.second_by_mode[:, 0, 0], second, rtol=1e-12)
    error = second - 2 * np.array([1, -1]) * mu + p
    assert float(found.mean_square_error) == pytest.approx(float(error.sum()), rel=1e-12)


def test_trials_agree_with_theory_and_not_with_that_of_the_geometric_law() -> None:
    run = tracker.run(world(ERLANG))
    found = run.summary["samplers"][0]["mean_square_error"]
    right, wrong = (float(limits.stationary(world(law), "lms").mean_square_error) for law in (ERLANG, None))
    assert abs(found["mean"] - right) < 4.9 * found["stderr"]
    assert abs(found["mean"] - wrong) > 10 * found["stderr"]
    assert all(row["p_value"] > 1e-4 for row in run.summary["chain"]["dwell"])
    assert run.summary["chain"]["law"] == "Erlang of shape 3"


def test_shape_1_is_the_geometric_law_bit_for_bit() -> None:
    laws = (None, {"law": "erlang", "shape": 1}, "geometric")
    assert len({tracker.run(world(law, trials=3, steps=500, burn_in=0)).summary["hash"] for law in laws}) == 1


def test_moments_from_the_start_know_that_a_named_first_mode_begins_anew() -> None:
    steps = np.array([0, 1, 7, 60])
    named = world(ERLANG).set("chain.initial", "a")
    found = limits.algorithm_moments(named, "lms", steps)
    leave = SHAPE * ALPHA
    staying = [np.linalg.matrix_power(np.diag([1 - leave] * 3) + np.diag([leave] * 2, 1), int(k))[0] for k in steps[:3]]
    never_left = np.array([one.sum() for one in staying])  # up to step 7 nobody comes back from b
    assert (found.probability[:3, 0] - never_left >= -1e-14).all()
    np.testing.assert_allclose(found.probability[:3, 0], never_left, rtol=2e-3)
    assert found.probability[1, 0] == 1.0  # the first of three stages is not the last
    stationary = limits.algorithm_moments(world(ERLANG), "lms", steps)
    np.testing.assert_allclose(stationary.probability, np.tile([1 / 3, 2 / 3], (4, 1)), rtol=1e-12)


def test_a_density_is_by_mode_and_has_the_moments() -> None:
    spread = {"mean": [0.5], "covariance": [[0.05]]}
    warm = world(ERLANG, start=spread).set("samplers.lms.beta", 4.0)
    law = limits.density(warm, "lms", [1.0], method="spectral")
    exact = limits.moments(warm, "lms", [1.0])
    assert law.density.shape[1] == 2
    np.testing.assert_allclose(law.probability, exact.probability, atol=1e-6)
    np.testing.assert_allclose(law.expectation(lambda x: x, mode="a"), exact.mean_by_mode[:, 0, 0], atol=1e-5)
    own = limits.algorithm_density(warm, "lms", [20])
    by_mode = limits.algorithm_moments(warm, "lms", [20]).mean_by_mode[:, 1, 0]
    np.testing.assert_allclose(own.expectation(lambda x: x, mode="b"), by_mode, atol=1e-5)


def test_the_best_step_to_first_order_does_not_depend_on_the_law_of_a_stay() -> None:
    plain, staged = (limits.best_step(world(law).set("chain.alpha", 1e-5), "lms") for law in (None, ERLANG))
    assert staged.lag == pytest.approx(plain.lag, rel=1e-9)
    assert staged.noise == pytest.approx(plain.noise, rel=1e-9)
    assert staged.epsilon == pytest.approx(plain.epsilon, rel=2e-2)


def test_by_mode_results_have_a_row_for_each_mode_of_the_file() -> None:
    scaled = limits.scaled_error(world(ERLANG), "lms", 1.0)
    assert scaled.second_by_mode.shape == (2, 1, 1)
    assert float(scaled.second[0, 0]) == pytest.approx(NOISE / 2 * (1 - np.exp(-2.0)), rel=1e-9)  # equal curvature
    values = limits.spectrum(world(ERLANG), "lms", count=6).eigenvalues
    own = np.linalg.eigvals(ALPHA / EPSILON * tracker.chain.staged_generator(Q, SHAPE))
    assert np.abs(values[:, None] - own).min(axis=0).min() < 1e-9
    assert limits.spectrum(world(ERLANG), "lms", mode="b").gap == pytest.approx(1.0)
    assert limits.stability(world(ERLANG), "lms").stable


def test_fixed_stays_have_no_theory_and_no_limit_check() -> None:
    fixed = world("fixed")
    with pytest.raises(limits.OutOfScope, match="fixed"):
        limits.stationary(fixed, "lms")
    with pytest.raises(tracker.ScenarioError, match=r"chain\.dwell: theory is about stays whose end is left to chance"):
        tracker.check_limit(fixed)
    assert tracker.scenario.switched_systems(fixed) == []


def test_the_limit_check_takes_stages_as_modes() -> None:
    verdict = tracker.check_limit(world(ERLANG).set("samplers.lms.beta", 2.0), trials=None, horizon=2.0)
    assert verdict.limit_verdict == "confirmed"
    stay = expm(np.diag([-1.2] * 3) + np.diag([1.2] * 2, 1))  # ratio 0.4 times shape 3, over T/2 = 1
    found = {row["name"]: row["limit"] for row in verdict.observables}
    assert found["P(x(T/2) = x(T) = a-1of3)"] == pytest.approx(1 / 9 * stay[0, 0], rel=2e-2)


@pytest.mark.parametrize(
    ("dwell", "told"),
    [
        ({"law": "erlang"}, "chain.dwell.shape: missing"),
        ({"law": "erlang", "shape": 0}, "chain.dwell.shape: 0"),
        ({"law": "erlang", "shape": 60}, "shape alpha max|q_ii| = 1.2 > 1"),
        ({"law": "fixed", "shape": 2}, 'only an "erlang" stay has stages'),
        ("weibull", 'chain.dwell: "weibull" must be "geometric", "erlang" or "fixed"'),
        (3, "chain.dwell"),
    ],
)
def test_a_law_that_cannot_be_is_refused_by_its_key(dwell: object, told: str) -> None:
    with pytest.raises(tracker.ScenarioError) as refused:
        world(dwell)
    assert told in str(refused.value)


def test_a_fixed_stay_that_is_not_whole_is_refused() -> None:
    with pytest.raises(tracker.ScenarioError, match=r"1/\(alpha \|Q\[0\]\[0\]\|\) = 33.3333333333 must be a whole"):
        world("fixed").set("chain.alpha", 0.03)
