"""Global minimisers against closed forms, the published minima of Example 1, ties and costs without minimum."""

from __future__ import annotations

import itertools
import time
from typing import Any, NamedTuple

import numpy as np
import pytest

from tracker.costs import COSTS, base
from tracker.costs.minimise import search as minimisers
from tracker.costs.minimise.local import neighbour
from tracker.costs.minimise.search import global_minimisers

pytestmark = pytest.mark.filterwarnings("error")

EXAMPLE_1 = {
    "means": [[1, 0], [1, 1]],
    "variance": 2,
    "prior_mean": [0, 0],
    "prior_variance": [10, 1],
    "horizon": 100,
    "truth": [0, 1],
}


def polynomial(formula: str, **keys: Any) -> Any:
    keys = {"variables": ["a", "b"], **keys}
    return COSTS["polynomial"](name="mode", cost="polynomial", formula=formula, **keys).build()


def mixture(**keys: Any) -> Any:
    return COSTS["mixture"](name="mode", cost="mixture", **{**EXAMPLE_1, **keys}).build()


def gradient_at(cost: Any, theta: Any) -> Any:
    out = np.empty(theta.size)
    base.expected_gradient(cost, theta, out)
    return out


class Valley(NamedTuple):
    """A user's cost with value and gradient only: cosh(theta_0 - centre) + theta_1^2."""

    centre: float


class Slope(NamedTuple):
    """A cost without minimum."""

    steepness: float


@base.value.register(Valley)
def _valley(cost: Any, theta: Any, z: Any) -> Any:
    return np.cosh(theta[0] - cost.centre) + theta[1] * theta[1]


@base.gradient.register(Valley)
def _valley_gradient(cost: Any, theta: Any, z: Any, out: Any) -> None:
    out[0] = np.sinh(theta[0] - cost.centre)
    out[1] = 2.0 * theta[1]


class Dent(NamedTuple):
    """A dent in a plain: 1 - exp(-|theta - centre|^2 / 2), almost flat from most starting points."""

    centre: float


@base.value.register(Dent)
def _dent(cost: Any, theta: Any, z: Any) -> Any:
    return 1.0 - np.exp(-0.5 * ((theta[0] - cost.centre) ** 2 + theta[1] ** 2))


@base.gradient.register(Dent)
def _dent_gradient(cost: Any, theta: Any, z: Any, out: Any) -> None:
    weight = np.exp(-0.5 * ((theta[0] - cost.centre) ** 2 + theta[1] ** 2))
    out[0] = weight * (theta[0] - cost.centre)
    out[1] = weight * theta[1]


@base.value.register(Slope)
def _slope(cost: Any, theta: Any, z: Any) -> Any:
    return cost.steepness * theta[0] + theta[1] * theta[1]


@base.gradient.register(Slope)
def _slope_gradient(cost: Any, theta: Any, z: Any, out: Any) -> None:
    out[0] = cost.steepness
    out[1] = 2.0 * theta[1]


def test_known_minimisers_are_used() -> None:
    keys = {"name": "mode", "cost": "quadratic", "minimum": [3, -1], "curvature": [[2, 0], [0, 1]]}
    found = global_minimisers(COSTS["quadratic"](**keys).build(), np.zeros(2))
    np.testing.assert_array_equal(found.points, [[3, -1]])
    assert found.value == 0.0


@pytest.mark.parametrize("tilt", [-0.35, 0.35])
@pytest.mark.parametrize("start", [[1, 0], [-1, 0]])
def test_the_deeper_well_wins_from_either_side(tilt: float, start: list[float]) -> None:
    found = global_minimisers(polynomial(f"(a^2 - 1)^2 + {tilt}*a + 25*b^2"), np.array(start))
    roots = np.roots([4, 0, -4, tilt]).real
    deepest = roots[np.argmin((roots**2 - 1) ** 2 + tilt * roots)]
    np.testing.assert_allclose(found.points, [[deepest, 0]], atol=1e-9)
    assert found.value == pytest.approx((deepest**2 - 1) ** 2 + tilt * deepest, abs=1e-12)


def test_ties_are_all_returned_in_order() -> None:
    found = global_minimisers(polynomial("(a^2 - 1)^2 + b^2"), np.array([0.3, 0.2]))
    np.testing.assert_allclose(found.points, [[-1, 0], [1, 0]], atol=1e-9)
    four = global_minimisers(polynomial("(a^2 - 1)^2/1000 + 1000*(b^2 - 4)^2"), np.zeros(2))
    np.testing.assert_allclose(four.points, [[-1, -2], [-1, 2], [1, -2], [1, 2]], atol=1e-7)


def test_tolerance_decides_what_ties() -> None:
    almost = polynomial("(a^2 - 1)^2 + 1e-6*a + b^2")
    assert len(global_minimisers(almost, np.zeros(2)).points) == 1
    assert len(global_minimisers(almost, np.zeros(2), tolerance=1e-5).points) == 2


def test_basis_turns_the_minimisers() -> None:
    basis = np.array([[0.8, 0.6], [-0.6, 0.8]])
    found = global_minimisers(polynomial("(a^2 - 1)^2 + 9*b^2", basis=basis.tolist()), np.zeros(2))
    np.testing.assert_allclose(found.points @ basis.T, [[-1, 0], [1, 0]], atol=1e-9)


@pytest.mark.parametrize(
    ("formula", "point"), [("(a - 1000)^2 + (b + 7)^2", [1000, -7]), ("a^2 + (b - 1e-3)^2", [0, 1e-3])]
)
def test_minimisers_far_and_near(formula: str, point: list[float]) -> None:
    np.testing.assert_allclose(global_minimisers(polynomial(formula), np.ones(2)).points, [point], atol=1e-8)


def test_flat_minimum() -> None:
    np.testing.assert_allclose(global_minimisers(polynomial("a^4 + b^2"), np.ones(2)).points, [[0, 0]], atol=1e-4)


def wells(N: int, coupling: np.ndarray, tilt: float) -> Any:
    """sum (x_i^2 - 1)^2 + tilt x_0 + sum of coupling_ij x_i x_j over i > j: a well for every pattern of signs."""
    terms = [f"(x{i}^2 - 1)^2" for i in range(N)] + [f"({tilt})*x0"]
    terms += [f"({coupling[i, j]:.6f})*x{i}*x{j}" for i in range(N) for j in range(i)]
    return polynomial(" + ".join(terms), variables=[f"x{i}" for i in range(N)])


def test_all_patterns_of_signs_are_found() -> None:
    """32 minimisers in five dimensions: a search from 66 points alone meets 27 of them."""
    found = global_minimisers(wells(5, np.zeros((5, 5)), 0.0), np.full(5, 0.3))
    np.testing.assert_allclose(found.points, list(itertools.product([-1.0, 1.0], repeat=5)), atol=1e-9)
    assert found.settled


def test_the_lowest_of_many_wells_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six coupled signs; truth by descending from all 64 patterns. Control: the first 66 descents alone miss it, and say so."""
    coupling = 0.15 * np.random.default_rng(0).standard_normal((6, 6))
    cost = wells(6, coupling, 0.05)
    ends = []
    for signs in itertools.product([-1.0, 1.0], repeat=6):
        theta = np.array(signs)
        for _ in range(200):
            theta = theta - 0.05 * gradient_at(cost, theta)
        ends.append(base.expected(cost, theta))
    start = np.full(6, 0.3)
    found = global_minimisers(cost, start)
    assert found.value == pytest.approx(min(ends), abs=1e-9)
    assert found.settled
    monkeypatch.setattr(minimisers, "MOST_DESCENTS", 0)
    few = minimisers._search(cost, start, minimisers.EQUAL_COSTS)
    assert few.value > min(ends) + 0.01
    assert not few.settled


@pytest.mark.parametrize(
    ("formula", "alone"),
    [
        ("a^2 + b^2", True),
        ("(a^2 - 1)^2 + 9*b^2", True),
        ("a^4 + b^2", True),  # a singular Hessian is not enough
        ("a^6 + b^6", True),
        ("a^2", False),
        ("(a - b)^2", False),
        ("(a^2 + b^2 - 1)^2", False),
        ("(a*b - 1)^2", False),
    ],
)
def test_a_valley_of_minimisers_is_told_from_points(formula: str, alone: bool) -> None:
    cost = polynomial(formula)
    found = global_minimisers(cost, np.array([0.4, 1.0]))
    others = [neighbour(cost, point, found.value) for point in found.points]
    assert all((other is None) == alone for other in others)
    for other in others if not alone else []:
        assert base.expected(cost, other) < minimisers.EQUAL_COSTS


def test_every_descent_into_a_valley_has_a_minimiser_of_its_own() -> None:
    """Points of a valley are two however near they are, down to 1e-4 of the search: each of the 65 starts has its own end."""
    found = global_minimisers(polynomial("(a - b)^2"), np.zeros(2)).points
    assert len(found) == 1 + minimisers.STARTS
    np.testing.assert_allclose(found[:, 0], found[:, 1], rtol=0, atol=1e-7)
    assert np.diff(found[:, 0]).min() < 0.01 * np.ptp(found[:, 0])


def test_the_flattest_point_is_no_valley() -> None:
    assert neighbour(polynomial("a^8 + b^8"), np.zeros(2), 0.0) is None
    assert neighbour(polynomial("(a - b)^8"), np.zeros(2), 0.0) is not None  # control


def test_example_1_has_the_published_minima() -> None:
    """docs/mathematics, "Corrected equations", has both local minima to 1e-8; the first is the global one, by 0.027."""
    cost, published = mixture(data="stream"), np.array([[0.21577498, 0.56755229], [0.75703036, -0.51718980]])
    for start in ([4, 4], [0.75703036, -0.5171898]):
        found = global_minimisers(cost, np.array(start, dtype=float))
        np.testing.assert_allclose(found.points, published[:1], atol=1e-7)
    both = global_minimisers(cost, np.zeros(2), tolerance=1e-3)
    np.testing.assert_allclose(both.points, published, atol=1e-7)
    for point in both.points:
        assert np.abs(gradient_at(cost, point)).max() < 1e-9


def test_stored_data_in_ten_dimensions() -> None:
    """A symmetric prior makes the two labellings tie: p and q exchanged, block by block."""
    means = np.kron(np.eye(2), np.ones(5)).tolist()
    truth = [0.2, -0.3, 0.5, -0.4, 0, 0.6, -0.1, 0.3, 0.4, -0.2]
    started = time.perf_counter()
    for data in ({"data": "stream"}, {"data": "full", "data_seed": 3}):
        cost = mixture(means=means, prior_mean=[0] * 10, prior_variance=3, truth=truth, **data)
        found = global_minimisers(cost, np.zeros(10))
        assert found.points.shape == (2, 10)
        np.testing.assert_allclose(found.points[0], np.roll(found.points[1], 5), atol=1e-8)
        assert np.abs(gradient_at(cost, found.points[0])).max() < 1e-8
    assert time.perf_counter() - started < 20.0  # ten times what it takes: only a runaway search fails here


def test_deterministic() -> None:
    cost = mixture(data="shuffle", data_seed=3)
    first, second = (global_minimisers(cost, np.array([4.0, 4.0])) for _ in range(2))
    assert np.array_equal(first.points, second.points)
    assert first.value == second.value


def test_a_users_cost_needs_value_and_gradient_only() -> None:
    found = global_minimisers(Valley(2.5), np.array([0.0, 1.0]))
    np.testing.assert_allclose(found.points, [[2.5, 0]], atol=1e-9)
    assert found.value == pytest.approx(1.0, abs=1e-12)


def test_descents_lost_in_a_plain_do_no_harm() -> None:
    found = global_minimisers(Dent(12.0), np.array([10.0, 10.0]))
    np.testing.assert_allclose(found.points, [[12, 0]], atol=1e-8)


def test_a_cost_without_minimum_is_refused() -> None:
    with pytest.raises(ValueError, match=r"the cost has no minimum: it is -.* still falling"):
        global_minimisers(Slope(1.0), np.zeros(2))


def test_a_cost_that_is_nowhere_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="not finite at any"):
        global_minimisers(Valley(float("nan")), np.zeros(2))


# --- a search that was made before


def searches(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A list that grows with each search that is really made."""
    made: list[Any] = []
    search = minimisers._search
    monkeypatch.setattr(minimisers, "_answers", {})
    monkeypatch.setattr(minimisers, "_search", lambda *question: (made.append(question), search(*question))[1])
    return made


def test_the_same_search_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = searches(monkeypatch)
    first = global_minimisers(polynomial("(a^2 - 1)^2 + b^2"), np.zeros(2))
    first.points[:] = 99.0  # the caller's own
    again = global_minimisers(polynomial("(a^2 - 1)^2 + b^2"), np.zeros(2))
    assert len(made) == 1
    np.testing.assert_allclose(again.points, [[-1, 0], [1, 0]], atol=1e-9)


@pytest.mark.parametrize(
    ("cost", "start", "tolerance"),
    [
        (lambda: polynomial("(a^2 - 1)^2 + 2*b^2"), [0.0, 0.0], 1e-6),
        (lambda: polynomial("(a^2 - 1)^2 + b^2"), [0.0, 1e-300], 1e-6),
        (lambda: polynomial("(a^2 - 1)^2 + b^2"), [0.0, 0.0], 1e-5),
        (lambda: mixture(data="sweep", data_seed=1), [0.0, 0.0], 1e-6),
    ],
)
def test_another_search_is_made_anew(monkeypatch: pytest.MonkeyPatch, cost: Any, start: Any, tolerance: float) -> None:
    made = searches(monkeypatch)
    global_minimisers(polynomial("(a^2 - 1)^2 + b^2"), np.zeros(2), tolerance=1e-6)
    global_minimisers(cost(), np.array(start), tolerance=tolerance)
    assert len(made) == 2


def test_a_cost_from_outside_is_always_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its functions may read what changes."""
    made = searches(monkeypatch)
    for _ in range(2):
        global_minimisers(Valley(0.5), np.zeros(2))
    assert len(made) == 2


def test_few_searches_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    searches(monkeypatch)
    for n in range(minimisers.SEARCHES_REMEMBERED + 3):
        global_minimisers(
            COSTS["quadratic"](name="m", cost="quadratic", minimum=[n], curvature=[[1]]).build(), np.zeros(1)
        )
    assert len(minimisers._answers) == minimisers.SEARCHES_REMEMBERED


def test_data_far_outside_the_prior_are_reached() -> None:
    """The prior makes the cost grow in all directions, so there is a minimum, however far the data pull it."""
    y = (1e6 * np.random.default_rng(7).normal(size=7)).tolist()
    keys = {"data": "full", "observations": y, "horizon": 7, "truth": None}
    found = global_minimisers(mixture(**keys), np.zeros(2))
    np.testing.assert_allclose(gradient_at(mixture(**keys), found.points[0]), 0.0, atol=1e-8 * 1e6)


class Twins(NamedTuple):
    """Two wells of a user's cost: log(1 + (t - 2)^2) + log(1 + (t + 2)^2), lowest at +-sqrt(3)."""

    half: float


@base.value.register(Twins)
def _twins(cost: Any, theta: Any, z: Any) -> Any:
    return np.log(1.0 + (theta[0] - cost.half) ** 2) + np.log(1.0 + (theta[0] + cost.half) ** 2)


@base.gradient.register(Twins)
def _twins_gradient(cost: Any, theta: Any, z: Any, out: Any) -> None:
    up, down = theta[0] - cost.half, theta[0] + cost.half
    out[0] = 2.0 * up / (1.0 + up**2) + 2.0 * down / (1.0 + down**2)


@pytest.mark.parametrize("start", [1.0, 30.0, 1e3, 4e3, 3e4, 1e6, -1e5])
def test_wells_far_narrower_than_the_search_box_are_not_merged(start: float) -> None:
    found = global_minimisers(Twins(2.0), np.array([start]))
    np.testing.assert_allclose(found.points, [[-np.sqrt(3.0)], [np.sqrt(3.0)]], atol=1e-7)
    assert found.settled


def test_a_wide_prior_does_not_merge_the_minima_of_a_mixture() -> None:
    found = global_minimisers(mixture(prior_variance=[1e6, 1e6], data="stream"), np.zeros(2))
    np.testing.assert_allclose(found.points, [[0.0, 1.0], [1.0, -1.0]], atol=1e-4)


def test_the_wells_hold_every_local_minimum() -> None:
    found = global_minimisers(polynomial("(a^2 - 9)^2/4 + 0.01*a + b^2"), np.zeros(2))
    assert len(found.points) == 1
    np.testing.assert_allclose(sorted(found.wells[:, 0]), [-3.0, 3.0], atol=1e-2)
    assert (np.diff(found.depths) >= 0).all()
    assert found.depths[0] == pytest.approx(found.value, abs=1e-8)


CANCELLING = "(a - b)^4 + 1e-4*(a + b)^2 - a"  # its minimum: a - b = 1/2, a + b = 2500, but for 0.1 %


def test_ends_that_differ_by_rounding_are_one_well() -> None:
    found = global_minimisers(polynomial(CANCELLING), np.array([1.266e6, -8.23e5]))
    assert found.settled
    assert found.points == pytest.approx(np.array([[1250.25, 1249.75]]), abs=0.05)


def test_a_cost_that_is_all_rounding_is_refused() -> None:
    with pytest.raises(ValueError, match=r"cannot be told from its rounding errors at .*start closer"):
        global_minimisers(polynomial(CANCELLING), np.array([2.841e6, 1.807e6]))
