"""Measured errors against docs/mathematics, "Scalar closed form": a scalar chain of two symmetric quadratic modes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from worlds import shipped

import tracker
from tracker.metrics.averages import distance_to_nearest, over_trials

SIGMAS = 4.9  # two-sided false alarm 1e-6
h, d, beta, sigma2, q = 1.3, 0.8, 5.0, 2.0, 0.7
PUBLISHED = {(0.1, 0.05): 0.497804355691, (0.02, 0.001): 0.204635257134, (0.3, 0.3): 0.994516363294}
LENGTH = {(0.1, 0.05): (900, 10), (0.02, 0.001): (4000, 40), (0.3, 0.3): (600, 2)}  # steps, record_every


def closed_form(epsilon: float, alpha: float) -> float:
    """c = E[theta m_x], V = E theta^2, mean-square error V - 2c + d^2."""
    lam, e, v = 1 - 2 * alpha * q, epsilon * h, 2 * epsilon / beta + epsilon**2 * sigma2
    c = lam * e * d**2 / (1 - lam * (1 - e))
    V = (e**2 * d**2 + 2 * (1 - e) * e * c + v) / (e * (2 - e))
    return V - 2 * c + d**2


def stationary_run(epsilon: float, alpha: float) -> tracker.Run:
    """1000 trials, averaged after 10 relaxation times."""
    steps, every = LENGTH[epsilon, alpha]
    modes = [
        {"name": name, "cost": "quadratic", "minimum": [m], "curvature": [[h]], "gradient_noise": sigma2}
        for name, m in (("up", d), ("down", -d))
    ]
    base = shipped("example_a")
    scenario = base.replace(
        name="scalar",
        seed=7,
        trials=1000,
        steps=steps,
        record_every=every,
        burn_in=math.ceil(10 / (epsilon * h) / every) * every,
        start=[0.0],
        chain={"alpha": alpha, "Q": [[-q, q], [q, -q]]},
        modes=modes,
        samplers=[{"name": "classical", "kind": "langevin", "epsilon": epsilon, "beta": beta}],
    )
    return tracker.run(scenario, executor=1)


def of_records(run: tracker.Run, shift: int) -> np.ndarray:
    """The mean-square error of each trial from the recorded points and the modes ``shift`` records earlier."""
    theta, mode = run.arrays["theta"][:, 0], run.arrays["mode"].astype(np.int64)
    first = run.scenario.burn_in // run.scenario.record_every
    records = np.arange(first + 1, theta.shape[1] - 1)
    again = distance_to_nearest(theta[:, records], mode[:, records - shift], [m.minimisers for m in run.problem.modes])
    return np.asarray((again**2).mean(axis=1))


@pytest.mark.parametrize(("epsilon", "alpha"), PUBLISHED)
def test_mean_square_error_is_the_closed_form(epsilon: float, alpha: float) -> None:
    exact = closed_form(epsilon, alpha)
    assert exact == pytest.approx(PUBLISHED[epsilon, alpha], abs=1e-12)
    run = stationary_run(epsilon, alpha)
    measured = run.summary["samplers"][0]["mean_square_error"]
    assert abs(measured["mean"] - exact) < SIGMAS * measured["stderr"]
    recorded = over_trials(of_records(run, 0))
    assert abs(recorded.mean - exact) < SIGMAS * recorded.stderr
    shifted = over_trials(of_records(run, 1))  # the planted fault: the time axis of the modes is off by one record
    assert abs(shifted.mean - exact) > SIGMAS * shifted.stderr


def test_the_recorded_errors_are_those_of_the_recorded_points() -> None:
    run = stationary_run(0.3, 0.3)
    minimisers = [m.minimisers for m in run.problem.modes]
    again = distance_to_nearest(run.arrays["theta"][:, 0], run.arrays["mode"].astype(np.int64), minimisers)
    np.testing.assert_allclose(again, run.arrays["error"][:, 0], rtol=1e-14)
