"""The path of S, the noise it amplifies, running means and recomputed errors: by hand and against loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tracker.metrics.averages import Budget, distance_to_nearest, running_mean
from tracker.metrics.skew_matrix import noise_ratio, rms, share_at_bounds

IDENTITY = 1e-12


def test_size_of_s_and_share_at_bounds():
    pairs = np.array([[[3.0, -4.0, 0.0]], [[5.0, 5.0, -5.0]]])
    np.testing.assert_allclose(rms(pairs), [[5 / math.sqrt(3)], [5.0]], rtol=IDENTITY)
    assert share_at_bounds(pairs, -5.0, 5.0) == 0.5
    assert share_at_bounds(pairs, -4.0, 5.0) == pytest.approx(4 / 6)
    assert math.isnan(share_at_bounds(np.full((2, 1), np.nan), -1.0, 1.0))


def test_noise_ratio_by_hand():
    """S = 3 E_21, Sigma = diag(1, 0): (I + S) Sigma (I + S)' has the one eigenvalue 1 + 9; eps beta / 2 = 0.002."""
    S, noise = np.array([[0.0, -3.0], [3.0, 0.0]]), np.diag([1.0, 0.0])
    assert noise_ratio(S, noise, 1e-3, 4.0) == pytest.approx(0.02, rel=IDENTITY)
    assert noise_ratio(np.zeros((2, 2)), noise, 1e-3, 4.0) == pytest.approx(0.002, rel=IDENTITY)
    assert noise_ratio(S, noise, 1e-3, math.inf) == math.inf
    assert noise_ratio(S, 0 * noise, 1e-3, math.inf) == 0.0


def test_noise_ratio_of_the_paper_s_first_example():
    """At eps = 1e-3, beta = 1 the stiff eigenvalue 6520.9 makes the temperature factor 1 + ratio = 4.26.

    docs/mathematics, "Gradient noise".
    """
    assert 1 + noise_ratio(np.zeros((2, 2)), np.diag([85.25, 6520.9]), 1e-3, 1.0) == pytest.approx(4.26, abs=5e-3)


def test_running_mean_against_a_loop():
    trace = np.random.default_rng(1).standard_normal((3, 9, 2))
    found = running_mean(trace, 4)
    assert found.shape == (3, 5, 2)
    for r in range(5):
        np.testing.assert_allclose(found[:, r], trace[:, 4 : 5 + r].mean(axis=1), atol=IDENTITY)


def test_distance_to_the_nearest_minimiser_of_the_mode():
    theta = np.array([[0.0, 0.0], [3.0, 4.0], [1.0, 0.0]])
    minimisers = [np.array([[0.0, 1.0]]), np.array([[0.0, 0.0], [3.0, 3.0]])]
    found = distance_to_nearest(theta, np.array([0, 1, -1]), minimisers)
    np.testing.assert_allclose(found[:2], [1.0, 1.0], rtol=IDENTITY)
    assert math.isnan(found[2])


def test_a_budget_adds_up():
    assert Budget(0.5, 0.1, 0.2, 0.3, 1.25).rest == pytest.approx(0.15)
