"""Visits in stages and of fixed length: hazards, expectations and tests against scipy's laws and one step at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from tracker import chain
from tracker.chain.dwell_laws import expected_ends

REJECT = 1e-6


@pytest.mark.parametrize(("a", "shape"), [(0.1, 1), (0.1, 3), (0.25, 4), (0.02, 7), (1e-3, 2)])
def test_hazard_and_survival_are_those_of_the_negative_binomial_law(a: float, shape: int) -> None:
    ages = np.arange(1, 60)
    law = stats.nbinom(shape, min(shape * a, 1.0), loc=shape)
    reached = law.sf(ages - 1)
    known = np.divide(law.pmf(ages), reached, out=np.ones(len(ages)), where=reached > 1e-300)
    kept = reached > 1e-9
    np.testing.assert_allclose(chain.hazard(ages, shape * a, shape)[kept], known[kept], rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(chain.survival(ages, a, chain.DwellLaw(shape)), law.sf(ages), rtol=1e-9, atol=1e-12)


def test_stages_have_the_mean_of_the_geometric_law_and_the_generator_its_path() -> None:
    Q, alpha, shape = np.array([[-1.0, 0.7, 0.3], [0.2, -0.5, 0.3], [1.5, 0.5, -2.0]]), 0.1, 3
    P = np.eye(9) + alpha * chain.staged_generator(Q, shape)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-15)
    np.testing.assert_allclose(
        chain.stationary_law(chain.staged_generator(Q, shape)), np.repeat(chain.stationary_law(Q), 3) / 3, rtol=1e-12
    )
    inside = P[3:6, 3:6]  # of mode 1, entered at its first stage
    alive = np.array([np.linalg.matrix_power(inside, n)[0].sum() for n in range(1, 40)])
    np.testing.assert_allclose(alive, stats.nbinom(shape, 3 * 0.05, loc=shape).sf(np.arange(1, 40)), rtol=1e-12)


def test_sums_over_old_ages_are_right_although_they_are_integrals() -> None:
    leaving, shape, oldest = 3e-4, 4, 60_000
    h = chain.hazard(np.arange(1, oldest + 1), leaving, shape)
    at = np.array([0, 1, 3, 4096, 4097, 5000, 23_456, oldest])
    ends, variance = expected_ends(leaving, shape, oldest).up_to(at)
    np.testing.assert_allclose(ends, np.append(0.0, np.cumsum(h))[at], rtol=2e-6)
    np.testing.assert_allclose(variance, np.append(0.0, np.cumsum(h * (1 - h)))[at], rtol=2e-6)


def visits(rng: np.random.Generator, n: int, a: float, shape: int, horizon: int) -> tuple[Any, ...]:
    """Visits of one mode; what would last longer than the horizon is cut off, at a horizon of its own."""
    length = rng.geometric(shape * a, (n, shape)).sum(axis=1)
    seen = rng.integers(1, horizon, n)
    return np.zeros(n, int), np.minimum(length, seen), length <= seen, np.ones(n, int)


def test_expected_ends_are_counted_as_one_visit_after_the_other_would() -> None:
    a, shape, law = np.array([0.05, 0.1]), 3, chain.DwellLaw(3)
    drawn = visits(np.random.default_rng(1), 300, 0.05, 3, 60)
    edges = chain.age_edges(a)
    counts = chain.count_dwells(*drawn, edges, 2, leaving=a, law=law)
    expected = np.zeros((len(edges), 2))
    for length, completed in zip(drawn[1], drawn[2], strict=True):
        for age in range(1, length + int(completed)):
            h = float(chain.hazard(age, 0.15, shape))
            expected[np.searchsorted(edges, age, side="right") - 1] += h, h * (1 - h)
    assert counts.expected is not None
    np.testing.assert_allclose(counts.expected[0] / 1e9, expected, atol=1e-5)
    assert not counts.expected[1].any()


def test_tests_hold_for_stages_and_reject_other_laws_of_the_same_mean() -> None:
    """Under the law p-values are uniform; geometric visits, or stages of another number, are seen."""
    rng, a, found = np.random.default_rng(7), 0.02, []
    for _ in range(200):
        drawn = visits(rng, 400, a, 3, 250)
        counts = chain.count_dwells(*drawn, chain.age_edges([a, a]), 2, leaving=np.array([a, a]), law=chain.DwellLaw(3))
        found.append((chain.rate_test(counts, [a, a])[0], chain.hazard_test(counts).p_value[0]))
    for p in np.array(found).T:
        assert stats.kstest(p, "uniform").pvalue > 1e-4
    for shape in (1, 2, 6):
        drawn = visits(rng, 4000, a, shape, 250)
        counts = chain.count_dwells(*drawn, chain.age_edges([a, a]), 2, leaving=np.array([a, a]), law=chain.DwellLaw(3))
        assert chain.hazard_test(counts).p_value[0] < REJECT
    slower = visits(rng, 4000, 0.9 * a, 3, 250)
    counts = chain.count_dwells(*slower, chain.age_edges([a, a]), 2, leaving=np.array([a, a]), law=chain.DwellLaw(3))
    assert chain.rate_test(counts, [a, a])[0] < REJECT
    exits = counts.completed[0]
    assert chain.estimate(counts, alpha=a, leaving=[a, a]).mean_dwell[0] > (1 + 3 / np.sqrt(exits)) / a
    plain = visits(rng, 4000, a, 3, 250)
    counts = chain.count_dwells(*plain, chain.age_edges([a, a]), 2, leaving=np.array([a, a]), law=chain.DwellLaw(3))
    assert abs(a * chain.estimate(counts, alpha=a, leaving=[a, a]).mean_dwell[0] - 1) < 4.9 / np.sqrt(
        counts.completed[0]
    )


def test_a_fixed_length_must_be_whole_and_is_what_is_counted() -> None:
    assert chain.fixed_lengths([0.1, 1 / 3, 0.0]).tolist() == [10, 3, 0]
    with pytest.raises(ValueError, match=r"1/\(alpha \|Q\[1\]\[1\]\|\) = 3.33333333333 must be a whole number"):
        chain.fixed_lengths([0.1, 0.3])
    drawn = np.zeros(3, int), np.array([10, 10, 4]), np.array([True, True, False]), np.ones(3, int)
    a = np.array([0.1, 0.1])
    counts = chain.count_dwells(*drawn, chain.age_edges(a), 2, leaving=a, law=chain.DwellLaw(fixed=True))
    assert (counts.completed[0], counts.censored[0]) == (2, 1)
    assert chain.estimate(counts, 1.0, leaving=a).mean_dwell[0] == pytest.approx(10.0, rel=1e-9)
    assert np.isnan(chain.hazard_test(counts).p_value[0])
    assert np.isnan(chain.rate_test(counts, a)[0])
