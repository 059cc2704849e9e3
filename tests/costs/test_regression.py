"""Regression: keys that are refused, minimisers against other programs, sign-error LMS, the density of an observation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.optimize import linprog

import tracker
from tracker.costs import COSTS, base, facts
from tracker.costs.csv_rows import DataFile

DRAWN = {"truth": [1.0, -0.5], "regressor_covariance": [[2.0, 0.5], [0.5, 1.0]], "noise_variance": 0.3}


def keys_of(**keys: Any) -> Any:
    return COSTS["regression"](name="mode", cost="regression", **keys)


def rows(n: int = 400, seed: int = 3) -> tuple[Any, Any, DataFile]:
    """Rows with heavy tails, and the file that holds them."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 2)) @ [[1.0, 0.4], [0.0, 2.0]] + 1.0
    y = x @ [1.5, -0.7] + 0.3 + rng.standard_t(1.5, n)
    lines = ["a,b,y", *(",".join(f"{value:.17g}" for value in row) for row in np.column_stack([x, y]))]
    return x, y, DataFile("rows.csv", "\n".join(lines).encode())


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({}, "truth: missing"),
        ({"truth": [1.0]}, "regressor_covariance: missing: goes with truth"),
        ({**DRAWN, "intercept": True}, "intercept: is for stored rows"),
        ({**DRAWN, "loss": "huber"}, "threshold: missing"),
        ({**DRAWN, "threshold": 1.0}, 'threshold: 1 is for the loss "huber"'),
        ({**DRAWN, "regressor_covariance": 0.0}, "regressor_covariance: a variance of 0.0 is not positive"),
        ({**DRAWN, "regressor_covariance": [[1.0]]}, "1 x 1, but truth has 2"),
        ({"data": "rows.csv", "features": ["a", "c"], "response": "a"}, 'features[1]: no column "c"'),
        ({"data": "rows.csv", "features": ["a", "b", "a"], "response": "y"}, '"a" is there twice'),
        ({"data": "rows.csv", "response": "y"}, "features: missing: goes with data"),
    ],
)
def test_keys_that_do_not_fit_are_refused(keys: dict[str, Any], said: str) -> None:
    if "data" in keys:
        keys = {**keys, "data": rows(20)[2]}
    with pytest.raises(ValidationError) as caught:
        keys_of(**keys)
    assert said in str(caught.value)


def test_rows_that_do_not_tell_all_coefficients_are_refused() -> None:
    same = DataFile("same.csv", b"a,b,y\n1,2,1\n2,4,0\n3,6,2\n")
    with pytest.raises(ValidationError, match="combinations of others"):
        keys_of(data=same, features=["a", "b"], response="y")
    assert keys_of(data=same, features=["a", "b"], response="y", ridge=0.1).dimension == 3


def world(**keys: Any) -> dict[str, Any]:
    samplers = [{"name": name, "kind": kind, "epsilon": 0.01, "skew": 0.1, "skew_step": 1e-4, "skew_bounds": [-1.0, 1.0]}
                for name, kind in (("one", "hessian"), ("two", "spsa"))]  # fmt: skip
    mode = {"name": "m", "cost": "regression", **DRAWN, **keys}
    return {"name": "w", "trials": 1, "steps": 20, "start": [0.0, 0.0], "modes": [mode], "samplers": samplers}


def test_a_matrix_that_is_none_is_told_as_a_matrix() -> None:
    """Where a number would do as well, rows of different lengths are no wish for a number."""
    with pytest.raises(tracker.ScenarioError) as caught:
        tracker.parse(world(regressor_covariance=[[2.0, 0.5], [0.5]]))
    assert str(caught.value) == 'modes[0] "m": regressor_covariance: has rows of different lengths [1, 2]'


def test_the_absolute_loss_has_no_hessian_for_kinds_that_need_one() -> None:
    with pytest.raises(tracker.ScenarioError) as caught:
        tracker.parse(world(loss="absolute"))
    assert 'modes[0] "m": loss: "absolute" has no Hessian (it is 0 almost everywhere), which sampler one needs' in str(
        caught.value
    )
    assert tracker.parse(world(loss="huber", threshold=1.0)).dimension == 2


def test_minimisers_of_stored_rows_are_those_of_a_linear_program_and_of_a_grid() -> None:
    x, y, data = rows()
    stored = {"data": data, "features": ["a", "b"], "response": "y", "standardize": False}
    design = np.column_stack([x, np.ones(len(x))])
    n, N = design.shape
    # min sum u + v, X theta + u - v = y
    found = linprog(
        np.concatenate([np.zeros(N), np.ones(2 * n)]),
        A_eq=np.hstack([design, np.eye(n), -np.eye(n)]),
        b_eq=y,
        bounds=[(None, None)] * N + [(0, None)] * (2 * n),
    )
    absolute = keys_of(loss="absolute", **stored).build()
    (theta,) = base.known_minimisers(absolute)
    np.testing.assert_allclose(theta, found.x[:N], atol=1e-7)
    assert base.expected(absolute, theta) == pytest.approx(found.fun / n, rel=1e-9)
    least = np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose(base.known_minimisers(keys_of(**stored).build())[0], least, rtol=1e-10)
    huber = keys_of(loss="huber", threshold=0.7, ridge=0.05, **stored).build()
    (theta,) = base.known_minimisers(huber)
    slope = np.empty(N)
    base.expected_gradient(huber, theta, slope)
    np.testing.assert_allclose(slope, 0.0, atol=1e-12)  # C is convex
    assert np.abs(theta - least).max() > 0.1  # control: another loss, another minimiser


@pytest.mark.parametrize("loss", ["squared", "huber", "absolute"])
def test_a_ridge_draws_the_minimiser_towards_zero(loss: str) -> None:
    threshold = {"threshold": 0.5} if loss == "huber" else {}
    scenario = tracker.parse({**world(loss=loss, ridge=0.3, **threshold), "samplers": [
        {"name": "s", "kind": "langevin", "epsilon": 0.01}]})  # fmt: skip
    (theta,) = scenario.minimisers[0]
    cost, slope = scenario.modes[0].build(), np.empty(2)
    base.expected_gradient(cost, theta, slope)
    np.testing.assert_allclose(slope, 0.0, atol=1e-8)
    assert np.linalg.norm(theta) < np.linalg.norm(DRAWN["truth"])


def test_the_drift_of_sign_error_lms_is_that_of_gaussian_residuals() -> None:
    """E[phi sign(e)] = sqrt(2/pi) R (theta - m) / sd(e)."""
    cost, theta, found = keys_of(loss="absolute", **DRAWN).build(), np.array([0.3, 0.9]), np.empty(2)
    base.expected_gradient(cost, theta, found)
    R, away = np.array(DRAWN["regressor_covariance"]), theta - DRAWN["truth"]
    wanted = np.sqrt(2 / np.pi) * R @ away / np.sqrt(away @ R @ away + 0.3)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_gradient_noise_grows_with_the_distance_to_the_truth() -> None:
    """Against 200,000 gradients, each entry within 5.6 standard errors; with the sampled fourth moments as scale."""
    cost, theta = keys_of(ridge=0.4, **DRAWN).build(), np.array([2.0, 0.5])
    law = facts.regressor_noise(cost)
    rng = np.random.default_rng(11)
    phi = rng.standard_normal((200_000, 2)) @ np.linalg.cholesky(DRAWN["regressor_covariance"]).T
    y = phi @ DRAWN["truth"] + np.sqrt(0.3) * rng.standard_normal(len(phi))
    g = -phi * (y - phi @ theta)[:, None] + 0.4 * theta
    g -= g.mean(axis=0)
    E = np.outer(theta - law.centre, theta - law.centre)
    R = law.covariance
    wanted = R @ E @ R + R * np.trace(R @ E) + law.variance * R
    products = g[:, :, None] * g[:, None, :]
    error = products.std(axis=0) / np.sqrt(len(g))
    assert (np.abs(products.mean(axis=0) - wanted) < 5.6 * error).all()
    assert not (
        np.abs(products.mean(axis=0) - wanted - R @ E @ R) < 5.6 * error
    ).all()  # control: not the second moment
    assert facts.regressor_noise(keys_of(loss="huber", threshold=1.0, **DRAWN).build()) is None


def test_the_likelihood_of_an_observation_is_its_density() -> None:
    from scipy.stats import multivariate_normal

    cost = keys_of(**DRAWN).build()
    R, m, v = np.array(DRAWN["regressor_covariance"]), np.array(DRAWN["truth"]), 0.3
    joint = np.block([[R, (R @ m)[:, None]], [(R @ m)[None], np.array([[m @ R @ m + v]])]])
    z = np.array([0.4, -1.2, 0.7])
    assert facts.log_likelihood(cost, z) == pytest.approx(multivariate_normal(np.zeros(3), joint).logpdf(z), rel=1e-12)
    assert np.isnan(facts.log_likelihood(keys_of(**{**DRAWN, "noise_variance": 0.0}).build(), z))
