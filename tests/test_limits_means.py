"""Laws for means: right to what they claim, drifts calmed only where no mass is, refused by their size before any work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tracker.limits import density_means, spectral
from tracker.limits.density_solvers import Law, density_field
from tracker.limits.exact_moments import moments
from tracker.scenario import Scenario, parse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

QUADRATIC = ("minimum = [1.0, 0.0]\ncurvature = [[1.0, 0.0], [0.0, 2.0]]",
             "minimum = [-1.0, 0.5]\ncurvature = [[2.0, 0.5], [0.5, 1.0]]")  # fmt: skip
POLYNOMIAL = ("(a-1)^2/2 + b^2", "(a+1)^2 + 0.5*(a+1)*(b-0.5) + (b-0.5)^2/2")


def pair(skew: float, beta: float, *, polynomial: bool, spread: float = 0.02) -> Scenario:
    """Two quadratic modes, as they are or written as polynomials."""
    modes = ""
    for name, own, formula in zip("xy", QUADRATIC, POLYNOMIAL, strict=True):
        cost = f'variables = ["a", "b"]\nformula = "{formula}"' if polynomial else own
        modes += f'[[modes]]\nname = "{name}"\ncost = "{"polynomial" if polynomial else "quadratic"}"\n{cost}\n'
    return parse(f"""
name = "pair"
trials = 2
steps = 100
start = {{ mean = [1.0, 0.0], covariance = [[{spread}, 0.0], [0.0, {spread}]] }}
{modes}
[chain]
Q = [[-1.0, 1.0], [0.4, -0.4]]
alpha = 0.01
[[samplers]]
name = "s"
kind = "accelerated"
epsilon = 0.01
beta = {beta}
skew = {skew}
""")


def means(law: Law) -> Array:
    """E theta and E theta theta' at the last time, in standard deviations of the coordinates, whose squares are the last two."""
    first = [law.expectation(lambda *z, a=a: z[a])[-1] for a in (0, 1)]
    second = [law.expectation(lambda *z, a=a, b=b: z[a] * z[b])[-1] for a, b in ((0, 0), (0, 1), (1, 1))]
    return np.array([*first, *second])


def exact_means(scenario: Scenario, T: float) -> Array:
    exact = moments(scenario, "s", [T])
    return np.array([*exact.mean[0], exact.second[0][0, 0], exact.second[0][0, 1], exact.second[0][1, 1]])


def apart(fine: Law, coarse: Law) -> float:
    return float(np.abs(means(fine) - means(coarse)).max())


@pytest.mark.parametrize(("skew", "beta"), [(0.5, 5.0), (3.0, 5.0), (1.5, 10.0)])
@pytest.mark.parametrize("allowed", [3e-2, 5e-4])
def test_means_are_right_to_what_was_allowed(skew: float, beta: float, allowed: float) -> None:
    """Against the exact moments: the true error of the law that is handed out, whichever rule stopped it."""
    T = 0.25
    law = density_means.density_for_means(pair(skew, beta, polynomial=True), "s", [T], apart, allowed)
    off = np.abs(means(law) - exact_means(pair(skew, beta, polynomial=False), T)).max()
    assert off <= allowed
    assert law.coarse is not None
    coarse = np.abs(means(law.coarse) - exact_means(pair(skew, beta, polynomial=False), T)).max()
    assert apart(law, law.coarse) >= coarse - off, "the difference of the grids shows the error of the coarser one"


def test_two_grids_alone_must_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Differences that fall too slowly, or of which only one is known, are no reason to stop."""
    gaps = iter([1.5e-3, 1.2e-3, 3e-4, 9e-5])
    seen: list[int] = []

    def on_grid(*_: object, **__: object) -> object:
        seen.append(1)
        return Law(np.array([1.0]), np.arange(4.0), np.ones((1, 1, 4)), np.array([[0.0, 4.0]]), ("x",), smooth=True)

    monkeypatch.setattr(density_means, "law_on_grid", on_grid)
    field = density_field(pair(1.0, 5.0, polynomial=True), "s", "density")
    box = np.array([[-4.0, 4.0], [-4.0, 4.0]])
    density_means._agreed(field, box, np.array([0.01]), 48, lambda *_: next(gaps), 1e-3 * density_means.LEFT, [np.inf])
    assert len(seen) == 4, "1.5e-3 has nothing before it, 1.2e-3 has hardly fallen, 3e-4 has fallen to a quarter"


# --- drifts that are calmed

WIDE = np.array([[-12.0, 12.0], [-12.0, 12.0]])


def off_in_a_wide_box() -> float:
    """The largest error of the moments at skew 6, beta = 5, in a box whose corners are far faster than where mass is."""
    T, n = np.array([0.05]), 162
    field = density_field(pair(6.0, 5.0, polynomial=True, spread=0.06), "s", "density")
    axes = spectral.point_axes(WIDE, n)
    drifts = spectral.drifts(field, axes)
    assert np.abs(spectral.calmed(field, axes, drifts)).max() < 0.8 * np.abs(drifts).max(), "it acts"
    found = spectral.solve_for_means(field, WIDE, n, T)
    law = Law(T, axes, found, WIDE, field.names, smooth=True)
    return float(np.abs(means(law) - exact_means(pair(6.0, 5.0, polynomial=False, spread=0.06), 0.05)).max())


def test_calmed_drifts_leave_the_moments_alone() -> None:
    assert off_in_a_wide_box() < 5e-4


def test_drifts_that_are_calmed_where_mass_is_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: with a level below the start's own spread the moments are wrong."""
    monkeypatch.setattr(spectral, "DEPTH_FOR_MEANS", -6.0)
    monkeypatch.setattr(spectral, "START_FOR_MEANS", 0.0)
    monkeypatch.setattr(spectral, "SWITCHES", 0)
    assert off_in_a_wide_box() > 5e-2


def test_a_steep_cost_in_one_dimension_is_calmed_and_right() -> None:
    """A quartic, whose corners are 20 times too fast, against the dense exponential, which calms nothing."""
    scenario = parse("""
name = "steep"
trials = 2
steps = 100
start = { mean = [0.4], covariance = [[0.05]] }
[[modes]]
name = "one"
cost = "polynomial"
variables = ["a"]
formula = "(a^2 - 1)^2 + 0.3*a"
[[samplers]]
name = "s"
kind = "langevin"
epsilon = 0.01
beta = 3.0
""")
    field, box, n, at = density_field(scenario, "s", "density"), np.array([[-5.0, 5.0]]), 256, np.array([0.3])
    (x,) = axes = spectral.point_axes(box, n)
    drifts = spectral.drifts(field, axes)
    assert np.abs(drifts).max() > 10.0 * np.abs(spectral.calmed(field, axes, drifts)).max()
    calm, dense = spectral._factored(field, box, n, at)[0, 0], spectral.solve(field, box, n, at)[0, 0]
    h = x[1] - x[0]
    for power in range(1, 5):
        assert abs(float(((calm - dense) * x**power).sum() * h)) < 1e-5


# --- refused before any work


def test_a_law_that_is_too_narrow_is_refused_before_any_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    def grid(*_: object, **__: object) -> None:
        pytest.fail("a grid was computed")

    monkeypatch.setattr(density_means, "law_on_grid", grid)
    with pytest.raises(ValueError, match=r"wants \d+ points a side, and even half of them are too many"):
        density_means.density_for_means(pair(6.0, 1e4, polynomial=True), "s", [1.0], apart, 5e-4)


def test_all_grids_together_have_one_budget() -> None:
    scenario = pair(3.0, 20.0, polynomial=True)
    with pytest.raises(ValueError, match="are left of those allowed"):
        density_means.density_for_means(scenario, "s", [0.05], lambda *_: 1.0, 5e-4, most_work=2e7)
