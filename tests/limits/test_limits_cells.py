"""Cells that are too coarse say so, and laws for means are as good as the statistics need."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.special import erf
from test_limits_density import LIMIT_D, OTHER_SKEW_D, SAMPLER_D, example_d, numbers_d, table
from worlds import pair

from tracker.limits.density_means import algorithm_density_for_means, density_for_means
from tracker.limits.density_solvers import density
from tracker.limits.exact_moments import moments
from tracker.limits.grid_law import Law

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- cells that are too coarse for the skew


@pytest.mark.parametrize(("skew", "beta"), [(0.5, 5.0), (3.0, 5.0), (3.0, 20.0), (6.0, 20.0), (6.0, 100.0)])
def test_cells_under_strong_skew_are_right_to_their_estimate_or_warn(skew: float, beta: float) -> None:
    scenario = pair(skew, beta, polynomial=False)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        law = density(scenario, "s", [1.0], cells=96 if skew > 1.0 else 160)
    exact = moments(scenario, "s", [1.0]).second[0]
    second = [[float(law.expectation(lambda *z, a=a, b=b: z[a] * z[b])[0]) for b in range(2)] for a in range(2)]
    off = float(np.abs(np.array(second) - exact).max())
    assert off <= float(law.error_estimate[0]) or said
    assert bool(said) == (law.too_coarse or law.box_too_small) == (skew > 1.0)


def test_extrapolation_needs_three_grids_of_order_2() -> None:
    """A law of three grids whose means are 1 + c h^p: order 2 is taken off, order 1 is left alone, and its error is larger."""

    def cells(mean: float, coarse: Law | None) -> Law:
        n = 16 if coarse is None else 2 * len(coarse.axes[0])
        grid = (np.arange(n) + 0.5) / n
        rho = 1.0 + 12.0 * (mean - 0.5) * (grid - 0.5)
        return Law(
            np.array([1.0]), grid, rho[None, None], np.array([[0.0, 1.0]]), ("one",), smooth=False, coarse=coarse
        )

    def law(p: int) -> Law:
        found: Law | None = None
        for h in (4.0, 2.0, 1.0):
            found = cells(0.55 + 1e-3 * h**p, found)
        assert found is not None
        return found

    def theta(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return x

    # the midpoint rule has an order-2 error of its own, which is taken off too
    assert abs(law(2).extrapolated(theta)[0] - 0.55) < 1e-4 < abs(law(2).expectation(theta)[0] - 0.55)
    assert law(1).extrapolated(theta)[0] == law(1).expectation(theta)[0]
    np.testing.assert_allclose(law(1).expectation_error(theta)[0], 1e-3, rtol=0.1)


def test_the_antiderivative_by_fft_is_that_of_every_wave() -> None:
    """Against the waves integrated one by one, on an even and an odd number of points."""
    for n in (48, 49):
        grid = -3.0 + 6.0 * np.arange(n) / n
        rho = np.exp(-4.0 * (grid - 0.1) ** 2)
        law = Law(np.array([0.0]), grid, rho[None, None], np.array([[-3.0, 3.0]]), ("one",), smooth=True)
        x = np.linspace(-3.0, 3.0, 101)
        exact = np.sqrt(np.pi) / 4.0 * (erf(2.0 * (x - 0.1)) - erf(-6.2))
        np.testing.assert_allclose(law.cdf(x)[0], exact, rtol=0, atol=3e-9)


def test_laws_for_means_agree_with_the_exact_tables() -> None:
    """Example D: the limit by Fourier series, and the sampler's own law with a short kernel."""

    def apart(fine: Law, coarse: Law) -> float:
        return float(np.abs(numbers_d(fine) - numbers_d(coarse)).max())

    law = density_for_means(example_d(), "skewed", [1.0], apart, 1e-4)
    np.testing.assert_allclose(numbers_d(law)[0], LIMIT_D[1], atol=1e-5)
    assert not np.allclose(numbers_d(law)[0], table(OTHER_SKEW_D[next(iter(OTHER_SKEW_D))])[0], atol=1e-2)
    own = algorithm_density_for_means(example_d(16), "skewed", [16])
    np.testing.assert_allclose(numbers_d(own)[0], table(SAMPLER_D[16])[0], atol=1e-6)


def test_a_law_for_means_is_refused_by_its_size() -> None:
    with pytest.raises(ValueError, match="products, and 1e\\+04 are allowed"):
        density_for_means(example_d(), "skewed", [1.0], lambda *_: 0.0, 1.0, most_work=1e4)
    with pytest.raises(ValueError, match="simulation is the cheaper way"):
        algorithm_density_for_means(example_d(16), "skewed", [16], most=1e4)
