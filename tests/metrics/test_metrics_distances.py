"""W1 of samples against exact values: closed forms for Gaussians, a two-point law by hand, quadrature for the rest."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from tracker.metrics.wasserstein import tabulate, w1

IDENTITY = 1e-12
TABULATED = (
    1e-6  # a Gaussian on 20 001 points 9e-4 apart: linear interpolation is off by 1e-8 at most, over a width of 18
)
GAUSSIAN = tabulate(ndtr, -9.0, 9.0)
TWO_POINTS = ([0.0, 0.0, 1.0, 1.0], [0.0, 0.3, 0.3, 1.0])  # 0 with probability 0.3, else 1


def exact_to_gaussian(sample: np.ndarray) -> float:
    """Sum over i of the integral of |x_i - Phi^-1(u)| over u in [(i-1)/n, i/n], in closed form: int Phi^-1 = -phi(Phi^-1)."""
    x = np.sort(sample)
    n = len(x)
    total = 0.0
    for i in range(n):
        low, high = i / n, (i + 1) / n
        c = min(max(float(ndtr(x[i])), low), high)

        def partial(u: float) -> float:
            return -math.exp(-0.5 * ndtri(u) ** 2) / math.sqrt(2 * math.pi) if 0 < u < 1 else 0.0

        total += x[i] * (c - low) - (partial(c) - partial(low)) + (partial(high) - partial(c)) - x[i] * (high - c)
    return total


def test_a_point_to_the_standard_gaussian():
    """E|Z| = sqrt(2 / pi), and E|Z - 1| = 2 phi(1) + 1 - 2 Phi(-1)."""
    assert w1([0.0], *GAUSSIAN) == pytest.approx(math.sqrt(2 / math.pi), abs=TABULATED)
    phi = math.exp(-0.5) / math.sqrt(2 * math.pi)
    assert w1([1.0], *GAUSSIAN) == pytest.approx(2 * phi + 1 - 2 * ndtr(-1.0), abs=TABULATED)


@pytest.mark.parametrize("size", [2, 7, 500])
def test_samples_to_the_standard_gaussian(size: int):
    sample = np.random.default_rng(size).standard_normal(size)
    assert w1(sample, *GAUSSIAN) == pytest.approx(exact_to_gaussian(sample), abs=TABULATED)


def test_a_shifted_gaussian_is_as_far_as_its_shift():
    """Quantiles of N(2, 1) against N(0, 1): W1 = 2, whatever the resolution of the sample."""
    sample = 2.0 + ndtri((np.arange(2000) + 0.5) / 2000)
    assert w1(sample, *GAUSSIAN) == pytest.approx(2.0, abs=1e-3)
    assert w1(sample - 2.0, *GAUSSIAN) < 2e-3  # control: unshifted it is near 0


def test_two_points_by_hand():
    assert w1([0, 0, 0, 1, 1, 1, 1, 1, 1, 1], *TWO_POINTS) == pytest.approx(0.0, abs=IDENTITY)
    assert w1([0, 1], *TWO_POINTS) == pytest.approx(0.2, rel=IDENTITY)  # mass 0.2 goes from 0 to 1
    assert w1([0.5], *TWO_POINTS) == pytest.approx(0.5, rel=IDENTITY)
    assert w1([-1, 3], *TWO_POINTS) == pytest.approx(0.3 * 1 + 0.2 * 2 + 0.5 * 2, rel=IDENTITY)


def test_a_uniform_law_by_hand():
    """To uniform on [0, 1]: from the point 1/2 it is 1/4, from {1/4, 3/4} it is 1/8, from 2 it is 3/2."""
    uniform = ([0.0, 1.0], [0.0, 1.0])
    assert w1([0.5], *uniform) == pytest.approx(0.25, rel=IDENTITY)
    assert w1([0.25, 0.75], *uniform) == pytest.approx(0.125, rel=IDENTITY)
    assert w1([2.0], *uniform) == pytest.approx(1.5, rel=IDENTITY)


def test_order_and_empty_samples():
    sample = np.random.default_rng(3).standard_normal(50)
    assert w1(sample, *GAUSSIAN) == w1(sample[::-1], *GAUSSIAN)
    assert math.isnan(w1([], *GAUSSIAN))
    assert math.isnan(w1([np.inf], *GAUSSIAN))
    with pytest.raises(ValueError, match="must not decrease"):
        w1([0.0], [1.0, 0.0], [0.0, 1.0])
