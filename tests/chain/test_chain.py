"""The chain's laws against closed forms, matrix powers and counts made by hand."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chi2, ncx2

from tracker import chain

IDENTITY = 1e-12  # relative, for residuals and closed forms
SIGMAS = 5.5  # statistical: two-sided false alarm below 1e-7
REJECT = 1e-6  # p-value below which a law is rejected; fixed seeds
THREE = np.array([[-1.0, 0.7, 0.3], [0.2, -0.5, 0.3], [1.5, 0.5, -2.0]])
LARGEST_BELOW_ONE = math.nextafter(1.0, 0.0)


def naive_paths(P: np.ndarray, start: int, steps: int, paths: int, seed: int) -> np.ndarray:
    """Paths drawn one step at a time from the rows of P, shape (steps + 1, paths)."""
    rng = np.random.default_rng(seed)
    x = np.full((steps + 1, paths), start)
    cumulative = np.cumsum(P, axis=1)
    cumulative[:, -1] = 1.0
    for k in range(steps):
        x[k + 1] = np.argmax(rng.random(paths)[:, None] < cumulative[x[k]], axis=1)
    return x


def visits_of(path: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(mode, length, completed, target) of a path x_0, ..., x_K that the chain made alone."""
    starts = np.concatenate([[0], np.flatnonzero(np.diff(path)) + 1])
    length = np.diff(np.append(starts, len(path)))
    completed = np.arange(len(starts)) < len(starts) - 1
    return path[starts], length, completed, np.append(path[starts[1:]], -1)


def count_path(path: np.ndarray, edges: np.ndarray, modes: int) -> chain.DwellCounts:
    return chain.count_dwells(*visits_of(path), edges, modes)


def geometric_counts(a: float, visits: int, seed: int, shift: int = 0) -> chain.DwellCounts:
    length = chain.dwell(np.random.default_rng(seed).exponential(size=visits), a) + shift
    mode = np.zeros(visits, dtype=np.int64)
    return chain.count_dwells(mode, length, mode == 0, mode + 1, chain.age_edges([a]), 2)


# --- the generator


@pytest.mark.parametrize(
    ("Q", "alpha", "line"),
    [
        ([[1.0, -1.0], [1.0, -1.0]], None, "Q[0][1] = -1.0 must be >= 0"),
        ([[-1.0, 1.5], [1.0, -1.0]], None, "Q[0] sums to 0.5, must be 0"),
        ([[-1.0, 1.0 + 2.0**-20], [1.0, -1.0]], None, "Q[0] sums to 9.53674316406e-07, must be 0"),
        ([[-1.0, 1.0]], None, "Q has shape (1, 2), must be square"),
        ([[-1.0, np.nan], [1.0, -1.0]], None, "Q[0][1] = nan must be finite"),
        ([[-2.0, 2.0], [1.0, -1.0]], 0.8, "alpha: 0.8 is too large for Q: alpha * max|q_ii| = 1.6 > 1"),
        ([[-2.0, 2.0], [1.0, -1.0]], 0.50025, "alpha: 0.50025 is too large for Q: alpha * max|q_ii| = 1.0005 > 1"),
        ([[-2.0, 2.0], [1.0, -1.0]], 0.0, "alpha: 0.0 must be > 0 and finite"),
    ],
)
def test_a_problem_is_named_with_its_value(Q: list[list[float]], alpha: float | None, line: str) -> None:
    assert line in chain.problems(Q, alpha)
    with pytest.raises(ValueError) as error:
        chain.validate(Q, alpha)
    assert line in str(error.value).splitlines()


def test_all_problems_are_listed_and_a_good_chain_has_none() -> None:
    assert len(chain.problems([[0.0, -1.0], [-2.0, 1.0]], -1.0)) == 5
    assert chain.problems(THREE, 0.5) == []
    assert chain.problems(49.0 * THREE / 2.0, 1.0 / 49.0) == []  # alpha max|q_ii| = 1 up to rounding
    assert chain.problems([[0.0]], 1.0) == []


@given(arrays(np.float64, (3, 3), elements=st.floats(allow_nan=False, allow_infinity=False)), st.floats(1e-9, 1e9))
def test_problems_never_raise(Q: np.ndarray, alpha: float) -> None:
    assert all(isinstance(line, str) for line in chain.problems(Q, alpha))


def test_transition_and_embedded_law_identities() -> None:
    P = chain.transition_matrix(THREE, 0.5)
    np.testing.assert_allclose(P, np.eye(3) + 0.5 * THREE, rtol=IDENTITY, atol=1e-16)
    assert P[2, 2] == 0.0
    np.testing.assert_allclose(chain.embedded_law(THREE)[2], [0.75, 0.25, 0.0], rtol=IDENTITY)
    np.testing.assert_array_equal(chain.embedded_law([[0.0, 0.0], [2.0, -2.0]]), [[0.0, 0.0], [1.0, 0.0]])
    np.testing.assert_allclose(chain.exit_probability(THREE, 0.5), [0.5, 0.25, 1.0], rtol=IDENTITY)


def test_stationary_law_is_the_limit_of_matrix_powers() -> None:
    law = chain.stationary_law(THREE)
    np.testing.assert_allclose(law, np.linalg.matrix_power(chain.transition_matrix(THREE, 0.3), 2000)[0], rtol=IDENTITY)


def test_stationary_law_is_accurate_entry_by_entry() -> None:
    """Birth and death, pi_n proportional to prod up/down: entries down to 1e-60 keep their digits."""
    up, down = 1e-20, 1.0
    Q = np.diag([up] * 3, 1) + np.diag([down] * 3, -1)
    Q -= np.diag(Q.sum(axis=1))
    law = chain.stationary_law(Q)
    np.testing.assert_allclose(law, [1.0, 1e-20, 1e-40, 1e-60], rtol=IDENTITY)


def test_stationary_law_of_reducible_chains() -> None:
    one = np.array([[-3.0, 1.0, 2.0], [0.0, -1.0, 1.0], [0.0, 3.0, -3.0]])
    np.testing.assert_allclose(chain.stationary_law(one), [0.0, 0.75, 0.25], rtol=IDENTITY)
    assert not chain.is_irreducible(one)
    assert chain.is_irreducible(THREE)
    two = np.array([[0.0, 0.0, 0.0], [1.0, -2.0, 1.0], [0.0, 0.0, 0.0]])
    with pytest.raises(ValueError, match=r"2 closed classes .* give `initial` explicitly"):
        chain.stationary_law(two)
    np.testing.assert_array_equal(chain.stationary_law([[0.0]]), [1.0])


def test_a_long_cycle_is_irreducible() -> None:
    Q = np.roll(np.eye(17), 1, axis=1) - np.eye(17)
    assert chain.is_irreducible(Q)
    Q[16] = 0.0
    assert not chain.is_irreducible(Q)
    np.testing.assert_array_equal(chain.stationary_law(Q), np.eye(17)[16])


# --- one visit


@given(st.floats(1e-6, 0.999), st.integers(1, 1000))
def test_dwell_inverts_the_geometric_tail(a: float, n: int) -> None:
    """dwell > n exactly where exp(-E) < (1 - a)^n."""
    threshold = -n * math.log1p(-a)
    assert chain.dwell(threshold * (1.0 - 1e-9), a) <= n
    assert chain.dwell(threshold * (1.0 + 1e-9), a) > n


def test_dwell_at_the_edges() -> None:
    np.testing.assert_array_equal(chain.dwell([0.0, 1.0, 40.0], 1.0), 1)
    np.testing.assert_array_equal(chain.dwell([0.0, 1.0, 40.0], 0.0), np.iinfo(np.int64).max)
    np.testing.assert_array_equal(chain.dwell([0.0, 40.0], 1e-300), [1, chain.NEVER])
    assert chain.dwell(np.ones((3, 1)), np.full(2, 0.5)).shape == (3, 2)


@settings(max_examples=300)
@given(
    st.lists(st.sampled_from([0.0, 1e-300, 1e-17, 0.1, 1 / 3, 0.7, 1.0]), min_size=1, max_size=12),
    st.sampled_from([0.0, 5e-324, 1e-17, 0.1, 1 / 3, 0.5, 1.0 - 2**-52, LARGEST_BELOW_ONE])
    | st.floats(0, 1, exclude_max=True),
    st.sampled_from([1.0, 1.0 - 2**-53, 1.0 + 2**-52]),
)
def test_next_mode_only_lands_on_a_mode_with_probability(weights: list[float], u: float, rounding: float) -> None:
    p = np.array(weights)
    if p.sum() > 0.0:
        p *= rounding / p.sum()
    found = int(chain.next_mode(u, np.cumsum(p)))
    if p.sum() == 0.0:
        assert found == -1
    else:
        assert 0 <= found < len(p)
        assert p[found] > 0.0


def test_next_mode_at_a_short_sum_where_a_plain_search_runs_past_the_end() -> None:
    cumulative = np.array([0.3, 1.0 - 1e-15, 1.0 - 1e-15])  # the last mode has probability 0
    assert np.searchsorted(cumulative, LARGEST_BELOW_ONE, side="right") == 3  # control: the plain search
    assert chain.next_mode(LARGEST_BELOW_ONE, cumulative) == 1
    np.testing.assert_array_equal(chain.next_mode([0.0, 0.3, 0.29], cumulative), [0, 1, 0])
    np.testing.assert_array_equal(chain.next_mode(0.0, [0.0, 1.0]), 1)


# --- what a path tells


def test_counts_of_a_path_equal_a_count_by_hand() -> None:
    path = naive_paths(chain.transition_matrix(THREE, 0.2), 1, 3000, 1, seed=3)[:, 0]
    edges = chain.age_edges(chain.exit_probability(THREE, 0.2))
    jumps, at_risk, exits = np.zeros((3, 3)), np.zeros((3, len(edges))), np.zeros((3, len(edges)))
    age = 0
    for now, then in pairwise(path):
        age += 1
        bin_ = max(b for b in range(len(edges)) if edges[b] <= age)
        at_risk[now, bin_] += 1
        if then != now:
            jumps[now, then] += 1
            exits[now, bin_] += 1
            age = 0
    counts = count_path(path, edges, 3)
    np.testing.assert_array_equal(counts.jumps, jumps)
    np.testing.assert_array_equal(counts.at_risk, at_risk)
    np.testing.assert_array_equal(counts.exits, exits)
    np.testing.assert_array_equal(counts.steps, np.bincount(path[:-1], minlength=3))
    np.testing.assert_array_equal(counts.completed, exits.sum(axis=1))
    np.testing.assert_array_equal(counts.censored, np.eye(3)[path[-1]])


def test_counts_add_up_and_have_a_trial_axis() -> None:
    path = naive_paths(chain.transition_matrix(THREE, 0.2), 1, 500, 2, seed=4)
    edges = chain.age_edges(chain.exit_probability(THREE, 0.2))
    both = [visits_of(path[:, t]) for t in range(2)]
    trial = np.repeat([0, 1], [len(v[0]) for v in both])
    mode, length, completed, target = (np.concatenate(pair) for pair in zip(*both, strict=True))
    stacked = chain.count_dwells(mode, length, completed, target, edges, 3, trial, 2)
    apart = [chain.count_dwells(*v, edges, 3) for v in both]
    total = apart[0] + apart[1]
    for name in ("jumps", "censored", "exits", "at_risk", "steps", "completed"):
        np.testing.assert_array_equal(getattr(stacked, name)[1], getattr(apart[1], name))
        np.testing.assert_array_equal(getattr(stacked.pooled(), name), getattr(total, name))
    with pytest.raises(ValueError, match="age bins differ"):
        total + count_path(path[:, 0], edges[:-1], 3)


def test_a_visit_of_no_step_tells_nothing_and_a_censored_one_of_one_step_only_its_existence() -> None:
    mode = np.array([0, 1])
    counts = chain.count_dwells(mode, mode, mode > 1, mode, chain.age_edges([0.5, 0.5]), 2)
    np.testing.assert_array_equal(counts.steps, [0, 0])
    np.testing.assert_array_equal(counts.censored, [0, 1])


def test_age_edges() -> None:
    edges = chain.age_edges([1e-3, 0.5, 0.0])
    np.testing.assert_array_equal(edges[:7], [1, 2, 3, 4, 5, 9, 17])
    assert 8_000 < edges[-1] <= 16_001
    assert np.all(np.diff(edges) > 0)
    np.testing.assert_array_equal(chain.age_edges([0.0]), [1])
    assert np.all(np.diff(chain.age_edges([1e-300])) > 0)


def test_estimate_by_hand() -> None:
    counts = count_path(np.array([0, 0, 0, 1, 1, 0, 0, 0]), chain.age_edges([0.5, 0.5]), 3)
    e = chain.estimate(counts, alpha=0.5)
    np.testing.assert_allclose(e.Q_hat[:2, :2], [[-0.4, 0.4], [1.0, -1.0]], rtol=IDENTITY)
    np.testing.assert_allclose(e.stderr[0, 1], math.sqrt(0.2 * 0.8 / 5) / 0.5, rtol=IDENTITY)
    np.testing.assert_allclose(e.mean_dwell[:2], [5.0, 2.0], rtol=IDENTITY)
    # Clopper-Pearson, 1 of 5: the tails of the binomial law at the ends are 2.5% each.
    low, high = e.exit_low[0] * 0.5, e.exit_high[0] * 0.5
    np.testing.assert_allclose(1.0 - (1.0 - low) ** 5, 0.025, rtol=1e-9)
    np.testing.assert_allclose((1.0 - high) ** 5 + 5 * high * (1.0 - high) ** 4, 0.025, rtol=1e-9)
    # two modes: all that leaves 0 goes to 1, and the diagonal is minus that
    np.testing.assert_allclose([e.low[0, 1], e.high[0, 1]], [e.exit_low[0], e.exit_high[0]], rtol=IDENTITY)
    np.testing.assert_allclose([e.low[0, 0], e.high[0, 0]], [-e.exit_high[0], -e.exit_low[0]], rtol=IDENTITY)
    for values in (e.Q_hat[2], e.stderr[2], e.exit_low[2:], e.exit_high[2:], e.mean_dwell[2:]):
        assert np.all(np.isnan(values))


def test_intervals_of_the_estimate_cover_the_truth() -> None:
    """95% intervals over 400 paths; control: intervals of half the width must fall short."""
    alpha, paths = 0.2, 400
    a = chain.exit_probability(THREE, alpha)
    x = naive_paths(chain.transition_matrix(THREE, alpha), 0, 2000, paths, seed=5)
    estimates = [chain.estimate(count_path(x[:, t], chain.age_edges(a), 3), alpha) for t in range(paths)]
    Q_hat, stderr = (np.array([getattr(e, name) for e in estimates]) for name in ("Q_hat", "stderr"))
    seen = THREE != 0.0
    cover = np.mean((np.abs(Q_hat - THREE) < 1.96 * stderr)[:, seen], axis=0)
    control = np.mean((np.abs(Q_hat - THREE) < 0.98 * stderr)[:, seen], axis=0)
    least = 0.934 - SIGMAS * math.sqrt(0.05 * 0.95 / paths)  # .934: the least coverage found
    assert np.all(cover > least)
    assert np.all(control < least)
    exits = -np.diag(THREE)
    exact = np.mean([(e.exit_low < exits) & (exits < e.exit_high) for e in estimates], axis=0)
    assert np.all(exact > least)


def test_intervals_of_rare_jumps_cover_the_truth() -> None:
    """q_01 = 0.01: two such jumps a path on average, often none. Control: Q_hat +- 1.96 stderr covers 2 times in 3."""
    alpha, n, paths = 1e-2, 20_000, 2000
    rng = np.random.default_rng(8)
    rare = rng.binomial(n, alpha * 0.01, paths)
    jumps = np.zeros((paths, 3, 3), dtype=np.int64)
    jumps[:, 0, 1], jumps[:, 0, 2] = rare, rng.binomial(n, alpha, paths)
    steps = np.zeros((paths, 3, 1), dtype=np.int64)
    steps[:, 0] = n
    none = np.zeros((paths, 3), dtype=np.int64)
    e = chain.estimate(chain.DwellCounts(np.array([1]), jumps, none, jumps.sum(axis=2)[..., None], steps), alpha)
    low, high, Q_hat, stderr = (getattr(e, name)[:, 0, 1] for name in ("low", "high", "Q_hat", "stderr"))
    assert np.mean((low <= 0.01) & (high >= 0.01)) > 0.95 - SIGMAS * math.sqrt(0.05 * 0.95 / paths)
    assert (low >= 0.0).all()
    assert np.mean(np.abs(Q_hat - 0.01) <= 1.96 * stderr) < 0.9


def test_rate_test_has_its_size_and_sees_what_the_hazard_test_cannot() -> None:
    """Exits at a wrong rate, at every age alike: p tiny. Under the law 5 % reject, somewhat fewer as counts are whole."""
    a = [0.05, 0.05]
    p = np.array([chain.rate_test(geometric_counts(0.05, 2000, seed), a)[0] for seed in range(1000)])
    assert 0.03 < np.mean(p < 0.05) < 0.05 + SIGMAS * math.sqrt(0.05 * 0.95 / 1000)
    faster = geometric_counts(0.1, 2000, 3)
    assert chain.rate_test(faster, a)[0] < REJECT
    assert chain.hazard_test(faster).p_value[0] > REJECT
    assert np.isnan(chain.rate_test(faster, a)[1])  # a mode without data
    # by hand: 1 exit in 5 steps at a = 1/2: P(at most 1) = 6/32, doubled
    by_hand = count_path(np.array([0, 0, 0, 1, 1, 0, 0, 0]), chain.age_edges([0.5, 0.5]), 2)
    assert chain.rate_test(by_hand, [0.5, 0.5])[0] == pytest.approx(12 / 32, rel=IDENTITY)


def test_mean_dwell_takes_censored_visits_in() -> None:
    """docs/mathematics, "Estimating the chain": K = 60, mean 50. Control: the average of completed dwells is far too short."""
    a, steps, paths = 0.02, 60, 4000
    x = naive_paths(np.array([[1 - a, a], [a, 1 - a]]), 0, steps, paths, seed=6)
    visits = [visits_of(x[:, t]) for t in range(paths)]
    mode, length, completed, target = (np.concatenate(column) for column in zip(*visits, strict=True))
    counts = chain.count_dwells(mode, length, completed, target, chain.age_edges([a, a]), 2)
    mean = counts.steps.sum() / counts.completed.sum()
    tolerance = SIGMAS * 50.0 / math.sqrt(counts.completed.sum())
    assert abs(mean - 50.0) < tolerance
    assert 50.0 - np.mean(length[completed]) > 5 * tolerance


@pytest.mark.parametrize("a", [0.5, 0.05, 0.004])
@pytest.mark.parametrize("given_a", [False, True])
def test_hazard_test_accepts_geometric_dwells_and_rejects_off_by_one(a: float, given_a: bool) -> None:
    known = [a, a] if given_a else None
    true = chain.hazard_test(geometric_counts(a, 100_000, seed=7), known)
    fault = chain.hazard_test(geometric_counts(a, 100_000, seed=7, shift=1), known)
    assert true.p_value[0] > REJECT
    assert fault.p_value[0] < REJECT
    assert true.df[0] >= 5
    assert np.isnan(true.p_value[1])  # a mode without data


def test_hazard_test_has_its_size() -> None:
    """5% of 1000 tests reject; docs/mathematics, "Estimating the chain", has .041. Control: counts with 3% more exits given a."""
    p = [chain.hazard_test(geometric_counts(0.05, 2000, seed)).p_value[0] for seed in range(1000)]
    assert abs(np.mean(np.array(p) < 0.05) - 0.05) < SIGMAS * math.sqrt(0.05 * 0.95 / 1000)
    control = chain.hazard_test(geometric_counts(0.0515, 200_000, 0), [0.05, 0.05])
    assert control.p_value[0] < REJECT


def test_hazard_test_by_hand() -> None:
    """At a = 1/2 the variance of d among r is r / 4, half of what a r would be."""
    jumps, none = np.array([[0, 110], [0, 0]]), np.zeros(2, dtype=np.int64)
    exits, at_risk = np.array([[60, 30, 20], [0, 0, 0]]), np.array([[100, 60, 40], [0, 0, 0]])
    counts = chain.DwellCounts(np.array([1, 2, 3]), jumps, none, exits, at_risk)
    known = chain.hazard_test(counts, [0.5, 0.5])
    assert known.statistic[0] == pytest.approx(10**2 / 25, rel=IDENTITY)
    assert known.df[0] == 3
    # chi-squared on 3: P(> x) = erfc(sqrt(x / 2)) + sqrt(2 x / pi) exp(-x / 2)
    assert known.p_value[0] == pytest.approx(math.erfc(math.sqrt(2)) + math.sqrt(8 / math.pi) / math.e**2, rel=1e-9)
    estimated = chain.hazard_test(counts)  # a = 110 / 200: d - a r is 5, -3 and -2
    assert estimated.statistic[0] == pytest.approx((25 / 100 + 9 / 60 + 4 / 40) / (0.55 * 0.45), rel=IDENTITY)
    assert estimated.df[0] == 2
    assert estimated.p_value[0] == pytest.approx(math.exp(-estimated.statistic[0] / 2), rel=1e-9)


def test_hazard_test_of_a_given_chance_has_its_size_and_its_power() -> None:
    """a = 1/2 is told. Of 2000 tests 5 % reject, and of counts at 0.52 as many as the noncentral law says.

    1600 visits take 1600 / a steps; the noncentrality is their number times (0.52 - 0.5)^2 / (0.5 (1 - 0.5)), on as many
    degrees of freedom as there are bins. 0.01: r and the bins are random, and the variance at 0.52 is 0.16 % smaller.
    """
    tests, visits, a = 2000, 1600, 0.52
    spread = SIGMAS * math.sqrt(0.05 * 0.95 / tests)
    true = [chain.hazard_test(geometric_counts(0.5, visits, seed), [0.5, 0.5]) for seed in range(tests)]
    assert abs(np.mean([test.p_value[0] < 0.05 for test in true]) - 0.05) < spread
    other = [chain.hazard_test(geometric_counts(a, visits, seed), [0.5, 0.5]) for seed in range(tests)]
    df = np.array([test.df[0] for test in other])
    power = float(np.mean(ncx2.sf(chi2.isf(0.05, df), df, visits / a * (a - 0.5) ** 2 / 0.25)))
    assert abs(np.mean([test.p_value[0] < 0.05 for test in other]) - power) < (
        SIGMAS * math.sqrt(power * (1 - power) / tests) + 0.01
    )
    assert power > 0.2


def test_hazard_test_merges_bins_that_expect_little() -> None:
    few = chain.hazard_test(geometric_counts(0.5, 8, seed=1))
    assert few.df[0] == 0
    assert np.isnan(few.p_value[0])
    always = chain.hazard_test(geometric_counts(1.0, 100, seed=1))  # left at every step: nothing to test
    assert np.isnan(always.p_value[0])
    known = chain.hazard_test(geometric_counts(0.5, 12, seed=1), [0.5, 0.5])
    estimated = chain.hazard_test(geometric_counts(0.5, 12, seed=1))
    assert known.df[0] >= 1
    assert known.df[0] == estimated.df[0] + 1
