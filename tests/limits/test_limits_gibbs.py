"""The law of one mode alone: closed forms for quadratic costs, the published posterior of Example 1, and data by loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from worlds import shipped

from tracker import limits
from tracker.costs.base import gradient
from tracker.costs.minimise.local import gradient_noise
from tracker.limits.gibbs_law import Marginal, gaussian
from tracker.scenario import build_modes

QUADRATIC = build_modes(shipped("example_a"))
EXAMPLE_1 = build_modes(shipped("example_1"))[0]


def moments(law: Marginal) -> tuple[float, float]:
    mass = law.density * (law.points[1] - law.points[0])
    mean = float((mass * law.points).sum())
    return mean, float((mass * (law.points - mean) ** 2).sum())


def test_gibbs_of_a_quadratic_is_gaussian() -> None:
    """H = [[2, .3], [.3, 1]], m = (1, -1), beta = 2: the variances of (beta H)^-1 are 1/3.82 and 2/3.82."""
    for coordinate, mean, variance in ((0, 1.0, 1 / 3.82), (1, -1.0, 2 / 3.82)):
        found = moments(limits.gibbs_marginal(QUADRATIC[0], 2.0, coordinate))
        assert found == pytest.approx((mean, variance), rel=1e-10)


def test_the_step_widens_it_and_more_so_with_noise() -> None:
    """One dimension: variance (2 eps / beta + eps^2 sigma^2) / (e (2 - e)), e = eps h."""
    mode = QUADRATIC[0]
    cost = mode.cost._replace(minimum=np.array([0.5]), curvature=np.array([[1.3]]), noise=np.array([[math.sqrt(2.0)]]))
    one = mode._replace(cost=cost, minimisers=np.array([[0.5]]), targets=np.array([[0.5]]))
    e = 0.1 * 1.3
    wanted = (2 * 0.1 / 5.0 + 0.01 * 2.0) / (e * (2 - e))
    assert moments(limits.discretised_marginal(one, np.zeros((1, 1)), 0.1, 5.0, 0)) == pytest.approx(
        (0.5, wanted), rel=1e-9
    )
    with pytest.raises(ValueError, match="not stable"):
        limits.discretised_marginal(one, np.zeros((1, 1)), 2.0, 5.0, 0)
    with pytest.raises(ValueError, match="quadratic costs only"):
        limits.discretised_marginal(EXAMPLE_1, np.zeros((2, 2)), 1e-3, 1.0, 0)


def test_the_posterior_of_example_1() -> None:
    """docs/mathematics, "Posterior of a mixture": mean (0.49467076, 0.02830219), standard deviations (0.54742874, 1.05505966)."""
    wanted = ((0.49467076, 0.54742874), (0.02830219, 1.05505966))
    for coordinate, (mean, deviation) in enumerate(wanted):
        found = moments(limits.gibbs_marginal(EXAMPLE_1, 1.0, coordinate))
        assert found == pytest.approx((mean, deviation**2), abs=2e-8)


def test_what_is_out_of_reach_says_so() -> None:
    with pytest.raises(ValueError, match="no temperature"):
        limits.gibbs_marginal(QUADRATIC[0], math.inf, 0)
    far = EXAMPLE_1._replace(minimisers=np.zeros((1, 3)))
    with pytest.raises(ValueError, match="N = 3"):
        limits.gibbs_marginal(far, 1.0, 0)


def test_a_law_is_a_law() -> None:
    law = gaussian(3.0, 4.0)
    assert law.cdf[0] < 1e-15
    assert law.cdf[-1] == pytest.approx(1.0, abs=1e-15)
    assert (np.diff(law.cdf) >= 0).all()


def test_gradient_noise_is_exact_for_stored_data_and_additive_noise() -> None:
    np.testing.assert_allclose(gradient_noise(QUADRATIC[0].cost, np.ones(2)), [[0.5, 0.1], [0.1, 0.4]], rtol=1e-14)
    cost, theta = EXAMPLE_1.cost, EXAMPLE_1.minimisers[0]
    rows = []
    for y in cost.data:
        out = np.empty(2)
        gradient(cost, theta, np.array([y]), out)
        rows.append(out)
    wanted = np.cov(np.array(rows).T, bias=True)
    np.testing.assert_allclose(gradient_noise(cost, theta), wanted, rtol=1e-12)


def test_gradient_noise_of_logistic_regression_is_that_of_its_rows() -> None:
    """grad c = theta / v - T y x / (1 + exp(y x'theta)) for a row drawn at random: only the last term scatters."""
    scenario = shipped("logistic_stream")
    mode, keys = build_modes(scenario)[0], scenario.modes[0]
    theta, x, y = mode.minimisers[0], mode.cost.rows, mode.cost.labels
    pulls = -keys.horizon * (y / (1.0 + np.exp(y * (x @ theta))))[:, None] * x
    centred = pulls - pulls.mean(axis=0)
    np.testing.assert_allclose(gradient_noise(mode.cost, theta), centred.T @ centred / len(x), rtol=1e-10, atol=1e-10)


def test_gradient_noise_of_a_stream_has_the_stiff_eigenvalue() -> None:
    """At the first minimum of the expected cost it is 6520.9 (statistical: 4096 fixed draws, 2.5 % each).

    docs/mathematics, "Gradient noise".
    """
    stream = EXAMPLE_1.cost._replace(source=0, data=np.empty(0), centres=np.array([0.0, 1.0]))
    found = np.linalg.eigvalsh(gradient_noise(stream, np.array([0.0, 0.975])))
    assert found[1] == pytest.approx(6520.9, rel=0.12)
