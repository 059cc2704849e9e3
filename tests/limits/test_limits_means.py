"""Laws for means: right to what they claim, and refused by their size before any work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from worlds import pair

from tracker.limits import density_means, flow_law, mass_places, spectral
from tracker.limits.density_solvers import density_field
from tracker.limits.exact_moments import moments
from tracker.limits.grid_box import automatic_box
from tracker.limits.grid_law import Law
from tracker.scenario import Scenario, parse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


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


# --- transitions of the flow


def flows(scenario: Scenario, T: float, allowed: float = 1e-3) -> Law:
    field = density_field(scenario, "s", "density")
    found = mass_places.places(field, automatic_box(field), T)
    return density_means.by_flows(field, found, np.array([T / 2, T]), apart, allowed, np.inf)


@pytest.mark.parametrize(("skew", "beta", "T"), [(0.5, 5.0, 1.0), (3.0, 20.0, 1.0), (6.0, 100.0, 0.25)])
def test_flows_have_the_exact_moments_however_strong_the_skew(skew: float, beta: float, T: float) -> None:
    """The rows of cells that are too coarse: here the second moments are right to 1e-3, against closed forms."""
    law = flows(pair(skew, beta, polynomial=True), T)
    exact = exact_means(pair(skew, beta, polynomial=False), T)
    assert np.abs(means(law) - exact).max() < 5e-4
    assert float(law.mass_error.max()) < density_means.MOST_LOST
    wrong = exact_means(pair(1.02 * skew, beta, polynomial=False), T)
    assert np.abs(means(law) - wrong).max() > 1e-3, "two hundredths more skew would be seen"


QUARTIC = """
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
"""


def test_flows_of_a_double_well_are_those_of_the_dense_exponential() -> None:
    """Far from quadratic, where a Gaussian transition is only nearly right: the error falls with the steps."""
    field = density_field(parse(QUARTIC), "s", "density")
    found = mass_places.places(field, automatic_box(field), 0.5)
    at = np.array([0.5])
    x = spectral.point_axes(found.box, 256)[0]
    exact = spectral.solve(field, found.box, 256, at)[0, 0] @ np.stack([x, x**2, x**4], axis=1) * (x[1] - x[0])
    off = []
    for steps in (16, 32, 64):
        level = flow_law.level(field, found, 0.5, steps, np.inf)
        y = spectral.point_axes(found.box, level.points)[0]
        own = flow_law.solve(field, found.box, level, at, steps)[0, 0] @ np.stack([y, y**2, y**4], axis=1)
        off.append(np.abs(own * (y[1] - y[0]) - exact).max())
    assert off[2] < 2e-4
    assert 3.0 < off[0] / off[1] < 5.5, "order 2"
    assert 3.0 < off[1] / off[2] < 5.5, "order 2"


# --- refused before any work


def test_a_law_that_is_too_narrow_is_refused_before_its_transitions(monkeypatch: pytest.MonkeyPatch) -> None:
    def solve(*_: object, **__: object) -> None:
        pytest.fail("a grid was computed")

    monkeypatch.setattr(flow_law, "solve", solve)
    monkeypatch.setattr(density_means, "law_on_grid", solve)
    with pytest.raises(ValueError, match=r"points (take|need) .*, (and|more than)"):
        density_means.density_for_means(pair(6.0, 1e4, polynomial=True), "s", [1.0], apart, 5e-4)


def test_too_many_modes_are_refused_before_any_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mass_places, "places", lambda *_: pytest.fail("a look was taken"))
    with pytest.raises(ValueError, match="2 modes, or their data, are too many"):
        density_means.density_for_means(pair(1.0, 5.0, polynomial=True), "s", [0.1], apart, 5e-4, most_work=1e8)


def test_all_levels_together_have_one_budget() -> None:
    with pytest.raises(ValueError, match=r"products, and .* are left"):
        density_means.density_for_means(
            pair(3.0, 20.0, polynomial=True), "s", [0.5], lambda *_: 1.0, 5e-4, most_work=1.3e9
        )
