"""Exact laws against brute force that shares no code with them, and against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from worlds import shipped

import tracker
from tracker import limits, references
from tracker.costs.minimise.search import global_minimisers
from tracker.references import lattice_integrals
from tracker.references.exact_posterior import law_of
from tracker.references.lattice_integrals import integrate
from tracker.scenario import build_modes

ISSUED = 1e-9  # the accuracy that was asked for
BRUTE = 1e-10  # what the brute-force sums below reach
IDENTITY = 1e-12

ONE = shipped("example_1")
TWO = shipped("example_2")


def mixture(**keys) -> tracker.Scenario:
    """A scenario with one mixture of these keys."""
    mode = {"name": "law", "cost": "mixture", "variance": 0.7, "data": "sweep", "target": {"radius": 1.0}, **keys}
    mode.setdefault("horizon", len(mode.get("observations", ())))
    sampler = {"name": "classical", "kind": "langevin", "epsilon": 1e-4}
    return ONE.replace(modes=[mode], samplers=[sampler], start=[0.0] * len(mode["means"][0]))


def polynomial(formula: str, *variables: str) -> tracker.Scenario:
    mode = {"name": "well", "cost": "polynomial", "variables": list(variables), "formula": formula}
    sampler = {"name": "classical", "kind": "langevin", "epsilon": 1e-4}
    return ONE.replace(modes=[{**mode, "target": {"radius": 1.0}}], samplers=[sampler], start=[0.0] * len(variables))


def test_example_1_has_the_issued_moments():
    law = references.posterior(ONE)
    np.testing.assert_allclose(law.mean, [0.494670758781, 0.028302190571], rtol=0, atol=ISSUED)
    wanted = [[0.299678230128, -0.555198478039], [-0.555198478039, 1.113150889764]]
    np.testing.assert_allclose(law.covariance, wanted, rtol=0, atol=ISSUED)
    np.testing.assert_allclose(law.deviation, [0.54742874, 1.05505966], atol=5e-9)
    assert float(law.cdf(1, 0.0)) == pytest.approx(0.4881, abs=5e-5)
    assert law.error < ISSUED


def test_example_2_has_the_issued_moments():
    law = references.posterior(TWO)
    np.testing.assert_allclose(law.mean[:2], [-1.115691415404, -0.375696620430], rtol=0, atol=ISSUED)
    np.testing.assert_allclose(law.deviation[:2], [1.955119, 2.135277], atol=5e-7)
    assert law.error < ISSUED


def density_of_example_1(theta1: np.ndarray, theta2: np.ndarray) -> np.ndarray:
    """The posterior as it stands in the paper, written out anew; not normalised."""
    rng = np.random.default_rng(3)
    component = rng.integers(0, 2, size=100)
    y = 0.0 + component * 1.0 + np.sqrt(2.0) * rng.standard_normal(100)
    log_density = -(theta1**2) / 20.0 - theta2**2 / 2.0
    for one in y:
        likelihood = np.exp(-((one - theta1) ** 2) / 4.0) + np.exp(-((one - theta1 - theta2) ** 2) / 4.0)
        log_density = log_density + np.log(likelihood)
    return np.exp(log_density + 150.0)


def test_example_1_by_brute_force_in_theta():
    a, b = np.linspace(-6.0, 7.0, 521), np.linspace(-9.0, 9.0, 601)
    density = density_of_example_1(a[:, np.newaxis], b)
    density /= density.sum()
    mean = np.array([density.sum(axis=1) @ a, density.sum(axis=0) @ b])
    cross = (a - mean[0]) @ density @ (b - mean[1])
    second = [density.sum(axis=1) @ (a - mean[0]) ** 2, density.sum(axis=0) @ (b - mean[1]) ** 2]
    law = references.posterior(ONE)
    np.testing.assert_allclose(law.mean, mean, rtol=0, atol=BRUTE)
    np.testing.assert_allclose(law.covariance, [[second[0], cross], [cross, second[1]]], rtol=0, atol=BRUTE)


@pytest.mark.parametrize("coordinate", [0, 1])
def test_marginal_laws_of_example_1_by_brute_force(coordinate: int):
    """Gauss-Legendre up to the point, the trapezoidal rule across: the sinc series of the package has no part in it."""
    across = (np.linspace(-9.0, 9.0, 601), np.linspace(-6.0, 7.0, 521))[coordinate]
    nodes, weights = np.polynomial.legendre.leggauss(160)

    def mass(low: float, high: float) -> float:
        x = (low + high) / 2 + (high - low) / 2 * nodes
        pair = (x[:, np.newaxis], across) if coordinate == 0 else (across, x[:, np.newaxis])
        return float(weights @ density_of_example_1(*pair).sum(axis=1)) * (high - low) / 2

    ends = (-5.0, 6.0) if coordinate == 0 else (-8.0, 8.0)
    points = [-0.7, 0.1, 0.4946, 1.3]
    total = mass(ends[0], 0.3) + mass(0.3, ends[1])
    wanted = [mass(ends[0], point) / total for point in points]
    np.testing.assert_allclose(references.posterior(ONE).cdf(coordinate, points), wanted, rtol=0, atol=BRUTE)


def test_the_mean_follows_from_the_distribution_function():
    """E theta = high - int F over a wide interval: in ten dimensions too, where a normal law is left over given p, q."""
    law = references.posterior(TWO)
    for d in (0, 7):
        x, h = np.linspace(law.mean[d] - 9 * law.deviation[d], law.mean[d] + 9 * law.deviation[d], 721, retstep=True)
        F = law.cdf(d, x)
        assert (np.diff(F) > -IDENTITY).all()
        assert x[-1] - h * (F.sum() - (F[0] + F[-1]) / 2) == pytest.approx(law.mean[d], abs=BRUTE)


def test_three_dimensions_against_a_sum_over_a_grid():
    """What is left over given p and q: a law of three coordinates at another temperature, by brute force in all three."""
    means, y, beta = [[1.0, 0.5, 0.0], [0.2, -1.0, 1.0]], [0.3, -1.2, 0.8, 1.9, -0.4], 1.7
    prior_mean, prior_variance = np.array([0.2, -0.3, 0.1]), np.array([0.8, 0.5, 0.02])
    scenario = mixture(
        means=means, observations=y, prior_mean=prior_mean.tolist(), prior_variance=prior_variance.tolist()
    )
    law = references.posterior(scenario, "law", beta)
    axes = [m + np.sqrt(v / beta) * np.linspace(-9, 9, 91) for m, v in zip(prior_mean, prior_variance, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    log_density = -(((grid - prior_mean) ** 2) / prior_variance).sum(axis=-1) / 2.0
    p, q = grid @ np.array(means[0]), grid @ np.array(means[1])
    for one in y:
        log_density += np.log(np.exp(-((one - p) ** 2) / 1.4) + np.exp(-((one - q) ** 2) / 1.4))
    weight = np.exp(beta * (log_density - log_density.max()))
    weight /= weight.sum()
    mean = np.einsum("abc,abcd->d", weight, grid)
    covariance = np.einsum("abc,abcd,abce->de", weight, grid - mean, grid - mean)
    np.testing.assert_allclose(law.mean, mean, rtol=0, atol=BRUTE)
    np.testing.assert_allclose(law.covariance, covariance, rtol=0, atol=BRUTE)
    for d in range(3):  # the third has little to do with the data: its own normal law nearly fills it
        F = law.cdf(d, axes[d])
        first = axes[d][-1] - (axes[d][1] - axes[d][0]) * (F.sum() - (F[0] + F[-1]) / 2)
        assert first == pytest.approx(mean[d], abs=BRUTE)


def test_one_dimension_against_scipy():
    y = np.array([0.5, 2.0, -1.0])
    scenario = mixture(means=[[1.0], [-2.0]], observations=y.tolist(), prior_mean=[0.3], prior_variance=[1.5])

    def density(t: float) -> float:
        likelihood = np.exp(-((y - t) ** 2) / 1.4) + np.exp(-((y + 2 * t) ** 2) / 1.4)
        return float(np.exp(-((t - 0.3) ** 2) / 3.0) * likelihood.prod())

    tight = {"epsabs": 1e-14, "epsrel": 1e-12, "limit": 400}
    total = quad(density, -12, 12, **tight)[0]
    law = references.posterior(scenario)
    assert law.mean[0] == pytest.approx(quad(lambda t: t * density(t), -12, 12, **tight)[0] / total, abs=BRUTE)
    for point in (-0.6, 0.2, 0.9):
        assert float(law.cdf(0, point)) == pytest.approx(quad(density, -12, point, **tight)[0] / total, abs=BRUTE)


def test_two_needles_far_apart():
    """Modes 40 of their own widths apart, exchangeable: half the mass each, and the width that one component gives."""
    rng = np.random.default_rng(1)
    y = np.concatenate([rng.standard_normal(400) * 0.1 - 3.0, rng.standard_normal(400) * 0.1 + 3.0])
    keys = {"means": [[1.0, 0.0], [0.0, 1.0]], "prior_mean": [0.0, 0.0], "prior_variance": [9.0, 9.0]}
    law = references.posterior(mixture(**keys, observations=y.tolist(), variance=0.01))
    np.testing.assert_allclose(law.mean, [0.0 + y.mean() * 400 / (400 + 0.01 / 9)] * 2, atol=1e-9)
    assert float(law.cdf(0, 0.0)) == pytest.approx(0.5, abs=1e-12)
    width = np.sqrt(1.0 / (400 / 0.01 + 1.0 / 9.0))
    left = y[:400].sum() / 0.01 * width**2
    np.testing.assert_allclose(law.cdf(0, [left - width, left, left + width]), ndtr([-1, 0, 1]) / 2, atol=1e-9)


def test_a_needle_in_a_wide_law_is_resolved_before_the_lattice_settles():
    """Half a standard normal, half one of width 1e-3 at 0.3: the wide half alone settles on a lattice that is far too coarse."""

    def f(u):
        wide, needle = u[:, 0] ** 2 / 2, (u[:, 0] - 0.3) ** 2 / 2e-6 - np.log(1e3)
        return -np.logaddexp(-wide, -needle)

    law = integrate(f, 1, 10.0, np.array([[0.0], [0.3]]))
    assert law.mean[0] == pytest.approx(0.15, abs=1e-10)
    assert law.covariance[0, 0] == pytest.approx(0.5 + 0.5e-6 + 0.15**2, abs=1e-10)
    assert abs(integrate(f, 1, 10.0).mean[0]) < 1e-9  # control: whoever does not know of the needle loses it


def test_data_that_say_nothing_leave_the_prior():
    keys = {
        "means": [[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]],
        "prior_mean": [0.0, 1.0, -1.0],
        "prior_variance": [1.0, 4.0, 9.0],
    }
    law = references.posterior(mixture(**keys, observations=[0.4]))  # only the first coordinate is seen
    np.testing.assert_allclose(law.mean[1:], [1.0, -1.0], atol=IDENTITY)
    np.testing.assert_allclose(law.covariance[1:, 1:], np.diag([4.0, 9.0]), atol=IDENTITY)
    np.testing.assert_allclose(law.cdf(2, [-1.0, 2.0]), ndtr([0.0, 1.0]), atol=IDENTITY)


def test_the_order_of_the_data_does_not_matter():
    law = references.posterior(ONE)
    for data in ("shuffle", "full"):
        other = references.posterior(shipped("example_1", [f'modes.posterior.data="{data}"']))
        np.testing.assert_allclose(other.mean, law.mean, atol=IDENTITY)


def test_a_quadratic_cost_is_gaussian():
    H, m = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([1.0, -1.0])
    scenario = shipped("example_a")
    law = references.posterior(scenario, scenario.modes[0].name, beta=2.0)
    np.testing.assert_allclose(law.mean, m, atol=IDENTITY)
    np.testing.assert_allclose(law.covariance, np.linalg.inv(H) / 2.0, atol=IDENTITY)
    deviation = np.sqrt(np.linalg.inv(H)[1, 1] / 2.0)
    np.testing.assert_allclose(law.cdf(1, [-1.0, -1.0 + deviation]), ndtr([0.0, 1.0]), atol=IDENTITY)


def test_polynomials_of_one_and_two_variables_against_scipy():
    law = references.posterior(polynomial("(a^2 - 1)^2 - 0.3*a", "a"), beta=3.0)

    def density(a: float) -> float:
        return float(np.exp(-3.0 * ((a * a - 1.0) ** 2 - 0.3 * a)))

    total = quad(density, -6, 6, epsabs=1e-14, epsrel=1e-12, limit=200)[0]
    assert law.mean[0] == pytest.approx(quad(lambda a: a * density(a), -6, 6, epsabs=1e-14)[0] / total, abs=BRUTE)
    right = quad(density, 0, 6, epsabs=1e-14, epsrel=1e-12)[0] / total
    assert 1.0 - float(law.cdf(0, 0.0)) == pytest.approx(right, abs=BRUTE)
    plane = references.posterior(polynomial("(a^2 - 1)^2 - 0.3*a + 25*b^2 - b", "a", "b"), beta=3.0)
    assert plane.mean == pytest.approx([law.mean[0], 1.0 / 50.0], abs=BRUTE)
    assert plane.covariance[1, 1] == pytest.approx(1.0 / (3.0 * 50.0), abs=BRUTE)
    assert float(plane.cdf(0, 0.4)) == pytest.approx(float(law.cdf(0, 0.4)), abs=BRUTE)


def test_the_error_estimate_is_no_smaller_than_the_error():
    """A law known in closed form, so narrow in one direction that the first lattices miss it."""
    wanted = np.array([[1.0, 0.999], [0.999, 1.0]])
    precision = np.linalg.inv(wanted)
    found = integrate(lambda u: 0.5 * np.einsum("ni,ij,nj->n", u - 3.3, precision, u - 3.3), 2, 60.0)
    error = max(np.abs(found.mean - 3.3).max(), np.abs(found.covariance - wanted).max())
    assert error <= max(found.error, IDENTITY)
    assert error < BRUTE


def test_what_it_cannot_do_it_says(monkeypatch):
    two = shipped("example_a")
    with pytest.raises(ValueError, match="has 2 modes, name one of"):
        references.posterior(two)
    for stranger in ("nowhere", 2, -1, 0.5):
        with pytest.raises(ValueError, match=r"neither one of one, two nor a place from 0 to 1"):
            references.posterior(two, stranger)
    np.testing.assert_array_equal(references.posterior(two, 1).mean, references.posterior(two, "two").mean)
    with pytest.raises(ValueError, match="positive and finite"):
        references.posterior(ONE, beta=np.inf)
    with pytest.raises(ValueError, match="coordinates count from 0"):
        references.posterior(ONE).cdf(2, 0.0)
    with pytest.raises(ValueError, match=r"no exact law of 3 coordinates together .*: use references.metropolis"):
        references.posterior(polynomial("a^2 + b^2 + c^2", "a", "b", "c"))
    monkeypatch.setattr(lattice_integrals, "MOST_POINTS", 20_000)
    with pytest.raises(ValueError, match="too narrow for its extent: more than 20000 points"):
        integrate(lambda u: 1e16 * (u[:, 0] - 0.3) ** 2 + 1e-3 * u[:, 1] ** 2, 2, 500.0)
    with pytest.raises(ValueError, match="no exact law is known for int"):
        law_of(1, 1.0, np.zeros(1))


# --- wells behind high barriers


def double_well(d: int, beta: float) -> tuple[tracker.Scenario, float, float]:
    """(a^2 - d^2)^2 / 4 with a tilt that leaves both wells mass; mean and variance by a sum over 1e6 points."""
    tilt = 0.3 / (beta * d)
    a = np.linspace(-d - 12.0, d + 12.0, 1_000_001)
    C = (a * a - d * d) ** 2 / 4 + tilt * a
    weight = np.exp(-beta * (C - C.min()))
    weight /= weight.sum()
    mean = float(weight @ a)
    return polynomial(f"(a^2 - {d * d})^2/4 + {tilt!r}*a", "a"), mean, float(weight @ (a - mean) ** 2)


@pytest.mark.parametrize("beta", [1.0, 3.0, 10.0, 30.0, 100.0])
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_no_well_is_lost(d: int, beta: float):
    scenario, mean, variance = double_well(d, beta)
    law = references.posterior(scenario, beta=beta)
    assert (law.mean[0], law.covariance[0, 0]) == pytest.approx((mean, variance), abs=1e-8)
    assert law.error < 1e-8
    gibbs = limits.gibbs_marginal(build_modes(scenario)[0], beta, 0)
    mass = gibbs.density * (gibbs.points[1] - gibbs.points[0])
    found = float(mass @ gibbs.points)
    assert (found, float(mass @ (gibbs.points - found) ** 2)) == pytest.approx((mean, variance), abs=1e-8)
    for x in (-d, 0.0, d / 2):
        assert law.cdf(0, x) == pytest.approx(np.interp(x, gibbs.points, gibbs.cdf), abs=1e-4)


def test_a_well_that_the_search_has_missed_is_found_beyond_its_barrier(monkeypatch):
    """The search tells of the well at 4 only; the cost at its edges is out of reach, and comes down again at -4."""

    def half(cost, start):
        found = global_minimisers(cost, start)
        right = found.wells[:, 0] > 0.0
        return found._replace(points=found.wells[right], wells=found.wells[right], depths=found.depths[right])

    scenario, mean, variance = double_well(4, 1.5)
    monkeypatch.setitem(law_of.__globals__, "global_minimisers", half)
    law = references.posterior(scenario, beta=1.5)
    assert (law.mean[0], law.covariance[0, 0]) == pytest.approx((mean, variance), abs=1e-8)


@pytest.mark.parametrize("beta", [1.0, 30.0, 100.0])
def test_no_well_of_a_plane_is_lost(beta: float):
    scenario = polynomial("(a^2 - 9)^2/4 + 0.01*a + b^2", "a", "b")
    a = np.linspace(-8.0, 8.0, 400_001)
    weight = np.exp(-beta * ((a * a - 9) ** 2 / 4 + 0.01 * a + 0.03))
    weight /= weight.sum()
    mean = float(weight @ a)
    wanted = np.diag([float(weight @ (a - mean) ** 2), 0.5 / beta])
    law = references.posterior(scenario, beta=beta)
    np.testing.assert_allclose(law.mean, [mean, 0.0], rtol=0, atol=1e-8)
    np.testing.assert_allclose(law.covariance, wanted, rtol=0, atol=1e-8)
    gibbs = limits.gibbs_marginal(build_modes(scenario)[0], beta, 0)
    assert float(gibbs.density @ gibbs.points) * (gibbs.points[1] - gibbs.points[0]) == pytest.approx(mean, abs=1e-8)


def test_wells_too_narrow_for_a_grid_are_refused():
    mode = build_modes(polynomial("(a^2 - 25)^2/4", "a"))[0]
    with pytest.raises(ValueError, match="too narrow for its extent"):
        limits.gibbs_marginal(mode, 1e7, 0)
