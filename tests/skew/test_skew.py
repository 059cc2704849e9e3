"""Skew algebra against definitions, brute-force iteration and known optima."""

from __future__ import annotations

import numpy as np
import pytest

from tracker import skew
from tracker.costs.gaussian_noise import noise_factor
from tracker.skew.optimal_skew import _zeroing_rotation

IDENTITY = 1e-12
SPECTRUM = 1e-10  # real parts of the optimal spectrum, relative to their mean
ITERATED = 1e-6  # rates measured on a few thousand iterations
COVARIANCE = 1e-10  # Lyapunov against the recursion run to its fixed point


def random_hessian(rng: np.random.Generator, N: int, condition: float = 100.0) -> np.ndarray:
    """Symmetric positive definite with the given condition number."""
    rotation, _ = np.linalg.qr(rng.standard_normal((N, N)))
    values = np.exp(rng.uniform(0.0, np.log(condition), N))
    values[: min(N, 2)] = [1.0, condition][: min(N, 2)]
    H = (rotation * values) @ rotation.T
    return (H + H.T) / 2


def random_skew(rng: np.random.Generator, N: int) -> np.ndarray:
    return skew.from_pairs(rng.standard_normal(N * (N - 1) // 2), N)


def measured_radius(B: np.ndarray) -> float:
    """Spectral radius by repeated squaring: |B^(2^40)|^(1/2^40), no eigenvalues."""
    log = 0.0
    power = B.copy()
    for k in range(40):
        norm = np.linalg.norm(power)
        log += np.log(norm) / 2**k
        power = power / norm
        power = power @ power
    return float(np.exp(log + np.log(np.linalg.norm(power)) / 2**40))


# -- pairs and E_ij --------------------------------------------------------------------


def test_pairs_are_in_the_published_order():
    one_based = skew.pairs(4) + 1
    assert one_based.tolist() == [[2, 1], [3, 1], [3, 2], [4, 1], [4, 2], [4, 3]]
    assert skew.pairs(4).dtype == np.int64
    assert skew.pairs(1).shape == (0, 2)


def test_basis_is_the_rotation_of_the_paper():
    assert skew.basis(1, 0, 2).tolist() == [[0.0, -1.0], [1.0, 0.0]]
    e = np.eye(5)
    expected = np.outer(e[3], e[1]) - np.outer(e[1], e[3])
    assert np.array_equal(skew.basis(3, 1, 5), expected)
    for i, j in [(1, 1), (2, 0), (-1, 0)]:
        with pytest.raises(ValueError, match="pair"):
            skew.basis(i, j, 2)


@pytest.mark.parametrize("N", [1, 2, 3, 7])
def test_pairs_make_a_matrix_and_come_back(N):
    values = np.random.default_rng(N).standard_normal(N * (N - 1) // 2)
    S = skew.from_pairs(values, N)
    by_definition = np.zeros((N, N))
    for v, (i, j) in zip(values, skew.pairs(N), strict=True):
        by_definition += v * skew.basis(int(i), int(j), N)
    assert np.array_equal(S, by_definition)
    assert np.array_equal(skew.to_pairs(S), values)
    assert skew.is_skew(S)


def test_is_skew_is_exact():
    S = np.array([[0.0, -1.0], [1.0, 0.0]])
    assert skew.is_skew(S)
    S[0, 1] = np.nextafter(-1.0, 0.0)
    assert not skew.is_skew(S)
    assert not skew.is_skew(np.eye(2))
    assert not skew.is_skew([[np.nan]])


def test_tridiagonal():
    S = skew.tridiagonal([1.0, 2.0, 3.0])
    assert [S[i + 1, i] for i in range(3)] == [1.0, 2.0, 3.0]
    assert skew.is_skew(S)
    assert np.count_nonzero(S) == 6
    several = skew.tridiagonal([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    np.testing.assert_array_equal(several, [S, skew.tridiagonal([4.0, 5.0, 6.0])])


def test_clip_is_exact_and_by_the_lower_triangle():
    S = skew.from_pairs([0.9, -0.9, 0.1], 3)
    clipped = skew.clip(S, -0.25, 0.52)
    assert skew.to_pairs(clipped).tolist() == [0.52, -0.25, 0.1]
    assert skew.is_skew(clipped)
    assert skew.to_pairs(skew.clip(S, 0.2, 0.3)).tolist() == [0.3, 0.2, 0.2]  # bounds without 0
    assert np.array_equal(np.diag(skew.clip(S, 0.2, 0.3)), np.zeros(3))
    with pytest.raises(ValueError, match="skew_bounds"):
        skew.clip(S, 1.0, -1.0)


# -- the optimal S -----------------------------------------------------------------------


@pytest.mark.parametrize("N", range(1, 13))
def test_optimal_spectrum_has_the_mean_real_part(N):
    rng = np.random.default_rng(100 + N)
    for _ in range(50):
        H = random_hessian(rng, N)
        S = skew.optimal(H)
        assert skew.is_skew(S)
        mean = np.trace(H) / N
        real = np.linalg.eigvals((np.eye(N) + S) @ H).real
        assert np.abs(real - mean).max() <= SPECTRUM * mean
        assert abs(skew.spectral_gap(H, S) - mean) <= SPECTRUM * mean


@pytest.mark.parametrize("angle", [0.0, 0.4, 2.0])
def test_optimal_in_two_dimensions_in_closed_form(angle):
    """Weights 1 : 2 and curvatures a, b: A = 3 (a - b) / 2 J, so that S = 3 (a - b) / (2 sqrt(a b)) J, or its transpose."""
    a, b = 7.0, 0.5
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    S = skew.optimal(turn @ np.diag([a, b]) @ turn.T)
    assert abs(S[1, 0]) == pytest.approx(3.0 * (a - b) / (2.0 * np.sqrt(a * b)), rel=1e-12)


@pytest.mark.parametrize(("a", "b", "d"), [(2.0, 0.7, -1.0), (2.0, -0.7, -1.0), (-0.5, 3.0, 4.0), (1.0, 0.0, -2.0)])
def test_a_rotation_takes_a_form_to_zero(a, b, d):
    turn = _zeroing_rotation(a, b, d)
    np.testing.assert_allclose(turn @ turn.T, np.eye(2), atol=1e-15)
    assert np.linalg.det(turn) == pytest.approx(1.0)
    assert turn[:, 0] @ np.array([[a, b], [b, d]]) @ turn[:, 0] == pytest.approx(0.0, abs=1e-14)


def test_optimal_needs_nothing_for_a_multiple_of_the_identity():
    assert np.array_equal(skew.optimal(3.0 * np.eye(4)), np.zeros((4, 4)))


def test_no_random_skew_has_a_larger_gap():
    rng = np.random.default_rng(3)
    H = random_hessian(rng, 4)
    best = skew.spectral_gap(H, skew.optimal(H))
    gaps = [skew.spectral_gap(H, s * random_skew(rng, 4)) for s in (0.0, 1.0, 10.0) for _ in "12345"]
    assert max(gaps) < best * (1 - IDENTITY)
    assert skew.spectral_gap(H, np.zeros((4, 4))) == pytest.approx(1.0, rel=SPECTRUM)


@pytest.mark.parametrize(
    ("H", "message"),
    [
        ([[1.0, 0.5], [0.0, 1.0]], "symmetric"),
        ([[1.0, 2.0], [2.0, 1.0]], "smallest eigenvalue is -1"),
        ([[1.0, np.nan], [np.nan, 1.0]], "finite"),
        ([1.0, 2.0], r"shape \(2,\)"),
    ],
)
def test_optimal_says_what_is_wrong(H, message):
    with pytest.raises(ValueError, match=message):
        skew.optimal(H)


# -- discrete steps ------------------------------------------------------------------------


@pytest.mark.parametrize("N", [2, 3, 6, 10])
def test_contraction_is_the_rate_of_the_iteration(N):
    rng = np.random.default_rng(10 + N)
    H, S = random_hessian(rng, N), random_skew(rng, N)
    for epsilon in (1e-3, 0.02, 0.3):
        B = np.eye(N) - epsilon * (np.eye(N) + S) @ H
        assert skew.contraction(H, S, epsilon) == pytest.approx(measured_radius(B), rel=ITERATED)


@pytest.mark.parametrize("N", [1, 2, 3, 6])
def test_stability_limit_separates_decay_from_growth(N):
    rng = np.random.default_rng(20 + N)
    H, S = random_hessian(rng, N, condition=10.0), random_skew(rng, N)
    limit = skew.stability_limit(H, S)
    sizes = []
    for factor in (0.99, 1.01):
        B = np.eye(N) - factor * limit * (np.eye(N) + S) @ H
        theta = np.ones(N)
        for _ in range(20_000):
            theta = B @ theta
            if not 1e-50 < np.linalg.norm(theta) < 1e50:
                break
        sizes.append(np.linalg.norm(theta))
    assert sizes[0] < 1e-10
    assert sizes[1] > 1e10


def test_stability_limit_without_skew_is_two_over_the_largest_curvature():
    H = np.diag([1.0, 4.0])
    assert skew.stability_limit(H, np.zeros((2, 2))) == pytest.approx(0.5, rel=IDENTITY)
    assert skew.stability_limit(-H, np.zeros((2, 2))) == 0.0


@pytest.mark.parametrize("epsilon", [1e-3, 0.05, 0.2, 0.35, 0.6])
def test_best_for_step_in_two_dimensions_reaches_the_bound(epsilon):
    H = np.array([[5.0, 1.0], [1.0, 1.5]])
    S = skew.best_for_step(H, epsilon)
    bound = abs(1 - epsilon * np.trace(H) / 2)  # |mean eigenvalue| of I - epsilon (I + S) H
    assert skew.contraction(H, S, epsilon) == pytest.approx(bound, abs=1e-7)  # a double root
    assert np.array_equal(S, skew.best_for_step(H, epsilon))


@pytest.mark.parametrize("N", [2, 3, 5, 10])
def test_best_for_step_beats_every_start_and_random_search(N):
    rng = np.random.default_rng(30 + N)
    H = random_hessian(rng, N)
    for scale in (0.01, 0.3, 1.0, 1.8):
        epsilon = scale * N / np.trace(H)
        S = skew.best_for_step(H, epsilon)
        best = skew.contraction(H, S, epsilon)
        assert skew.is_skew(S)
        assert best >= abs(1 - epsilon * np.trace(H) / N) - IDENTITY
        rivals = [t * skew.optimal(H) for t in np.linspace(0.0, 1.0, 21)]
        rivals += [t * random_skew(rng, N) for t in np.geomspace(0.01, 10.0, 40)]
        assert best <= min(skew.contraction(H, R, epsilon) for R in rivals)


def test_best_for_step_is_zero_where_nothing_is_gained():
    assert np.array_equal(skew.best_for_step(2.0 * np.eye(3), 0.1), np.zeros((3, 3)))
    with pytest.raises(ValueError, match="epsilon"):
        skew.best_for_step(np.eye(2), 0.0)


@pytest.mark.parametrize("N", [1, 2, 3, 12])
@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("beta", [2.0, np.inf])
def test_stationary_covariance_is_the_fixed_point(N, noisy, beta):
    rng = np.random.default_rng(40 + N)
    H, S = random_hessian(rng, N, condition=10.0), random_skew(rng, N) / N
    G = rng.standard_normal((N, N))
    noise = G @ G.T if noisy else None
    epsilon = 0.3 * skew.stability_limit(H, S)
    M = np.eye(N) + S
    B = np.eye(N) - epsilon * M @ H
    X = np.zeros((N, N))
    for _ in range(3000):
        X = B @ X @ B.T + (2 * epsilon / beta) * np.eye(N)
        if noise is not None:
            X += epsilon**2 * M @ noise @ M.T
    got = skew.stationary_covariance(H, S, epsilon, beta, noise)
    assert np.array_equal(got, got.T)
    assert np.abs(got - X).max() <= COVARIANCE * max(np.abs(X).max(), 1.0)


def test_small_steps_sample_the_gibbs_law_with_any_skew():
    H = np.array([[2.0, 0.3], [0.3, 1.0]])
    errors = []
    for epsilon in (1e-3, 5e-4):
        X = skew.stationary_covariance(H, 0.7 * skew.basis(1, 0, 2), epsilon, 4.0)
        errors.append(np.abs(X - np.linalg.inv(H) / 4.0).max())
    assert errors[0] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.01)  # order one in epsilon


def test_unstable_steps_are_refused_not_solved():
    H, S = np.diag([1.0, 4.0]), np.zeros((2, 2))
    for epsilon in (0.5, 0.51, 3.0, -0.1):
        with pytest.raises(ValueError, match=r"must be below 0\.5"):
            skew.stationary_covariance(H, S, epsilon, 1.0)
    with pytest.raises(ValueError, match="beta"):
        skew.stationary_covariance(H, S, 0.1, 0.0)
    with pytest.raises(ValueError, match="does not fit"):
        skew.contraction(H, np.zeros((3, 3)), 0.1)


# --- Hessians that differ from step to step


def scattered(rng: np.random.Generator, n: int, N: int) -> np.ndarray:
    """Hessians of single observations, some of them indefinite; their mean is positive definite."""
    noise = rng.standard_normal((n, N, N))
    return random_hessian(rng, N, condition=5.0) + 0.8 * (noise + noise.transpose(0, 2, 1))


def second_moment_radius(hessians: np.ndarray, S: np.ndarray, epsilon: float) -> float:
    """Radius of the mean of B (x) B, the N^2 x N^2 matrix that moves E[theta theta'] by one step."""
    N = len(S)
    steps = [np.eye(N) - epsilon * (np.eye(N) + S) @ h for h in hessians]
    return float(np.abs(np.linalg.eigvals(np.mean([np.kron(B, B) for B in steps], axis=0))).max())


@pytest.mark.parametrize("N", [1, 2, 4])
def test_independent_limit_is_where_the_second_moment_stops_to_shrink(N):
    rng = np.random.default_rng(40 + N)
    hessians, S = scattered(rng, 30, N), random_skew(rng, N)
    limit = skew.independent_limit(hessians, S)
    assert second_moment_radius(hessians, S, limit) == pytest.approx(1.0, abs=1e-7)  # the power iteration ends at 1e-8
    assert second_moment_radius(hessians, S, 0.99 * limit) < 1.0 < second_moment_radius(hessians, S, 1.01 * limit)
    assert limit < 0.9 * skew.stability_limit(hessians.mean(axis=0), S)  # control: the mean alone is too hopeful


@pytest.mark.parametrize("N", [1, 2, 4])
def test_cyclic_limit_is_where_a_sweep_stops_to_shrink(N):
    rng = np.random.default_rng(50 + N)
    hessians, S = scattered(rng, 30, N), random_skew(rng, N)
    limit = skew.cyclic_limit(hessians, S)

    def radius(epsilon):
        sweep = np.eye(N)
        for h in hessians:
            sweep = (np.eye(N) - epsilon * (np.eye(N) + S) @ h) @ sweep
        return float(np.abs(np.linalg.eigvals(sweep)).max())

    assert radius(limit) == pytest.approx(1.0, abs=1e-4)  # 30 factors, the step to 1e-6
    assert radius(0.99 * limit) < 1.0 < radius(1.01 * limit)
    assert abs(limit / skew.stability_limit(hessians.mean(axis=0), S) - 1.0) > 0.01  # control


def test_one_hessian_has_one_limit():
    rng = np.random.default_rng(60)
    H, S = random_hessian(rng, 3, condition=10.0), random_skew(rng, 3)
    wanted = skew.stability_limit(H, S)
    assert skew.independent_limit([H, H], S) == pytest.approx(wanted, rel=1e-6)
    assert skew.cyclic_limit([H], S) == pytest.approx(wanted, rel=2e-6)
    assert skew.independent_limit([-H], S) == skew.cyclic_limit([-H], S) == 0.0


def test_a_limit_that_rounding_hides_is_not_known() -> None:
    """(I + S) H has a positive eigenvalue of 1e-29, which comes out with either sign."""
    H, S = np.diag([1e-29, 1.0]), skew.from_pairs([0.4], 2)
    for limit in (skew.stability_limit(H, S), skew.independent_limit([H, H], S), skew.cyclic_limit([H], S)):
        assert np.isnan(limit)
    assert skew.stability_limit(np.diag([1e-12, 1.0]), np.zeros((2, 2))) == pytest.approx(2.0, rel=IDENTITY)


def test_the_limit_of_a_sweep_is_where_the_product_crosses_and_not_a_factor() -> None:
    """(1 - e)(1 - 3e) = 1 at 4/3; the factors alone cross at 2 and 2/3."""
    assert skew.cyclic_limit([[[1.0]], [[3.0]]], [[0.0]]) == pytest.approx(4.0 / 3.0, rel=3e-7)
    assert skew.cyclic_limit([[[2.0]]], [[0.0]]) == pytest.approx(1.0, rel=3e-7)


@pytest.mark.parametrize("N", [1, 2, 7, 60])
def test_eigenvalues_of_a_diagonal_matrix_are_its_entries_to_the_last_bit(N):
    """So that nothing depends on which of the two ways was taken; one number beside the diagonal, and LAPACK is asked."""
    rng = np.random.default_rng(N)
    H = np.diag(np.exp(5.0 * rng.standard_normal(N)))
    np.testing.assert_array_equal(skew.symmetric_eigenvalues(H), np.linalg.eigvalsh(H))
    np.testing.assert_array_equal(np.linalg.cholesky(H), noise_factor(H))
    if N > 1:
        H[0, 1] = H[1, 0] = 0.5 * np.sqrt(H[0, 0] * H[1, 1])
        np.testing.assert_array_equal(skew.symmetric_eigenvalues(H), np.linalg.eigvalsh(H))
        assert not np.isin(H[0, 0], skew.symmetric_eigenvalues(H))
