"""Exact moments: the tables of docs/mathematics, "Example A", oracles that share no code with them, large systems, refusals.

Tables are held to half a unit of their last printed digit; identities and oracles to the tolerance in the assertion.
"""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from worlds import shipped

import tracker
from tracker import limits, skew
from tracker.limits import moment_system
from tracker.limits.stationary_moments import Steady, largest_step
from tracker.limits.switched_quadratic import read_quadratic
from tracker.scenario import with_settings
from tracker.scenario.model import make_scenario
from tracker.skew import switched_moments

A = shipped("example_a")
DIGIT_12, DIGIT_8 = 0.51e-12, 0.51e-8

# T -> p_1, mu_1, mu_2, Pi_1 (11, 12, 22), Pi_2 (11, 12, 22), E|theta - m_x|^2, E C
LIMIT = {
    0.25: (
        0.718007272559, (0.534917006652, -0.091815854213), (0.097297825199, -0.015286196723),
        (0.519254652784, -0.085237508634, 0.151045858416), (0.098601003812, -0.006855501616, 0.053372435051),
        1.567195529873, 0.891504743198,
    ),
    0.5: (
        0.563246382445, (0.472199317172, -0.151423839143), (0.070289741739, -0.041036462183),
        (0.547959636187, -0.163306252186, 0.222213742057), (0.191265666779, -0.016867589644, 0.132261144961),
        1.700504609848, 1.035683802751,
    ),
    1.0: (
        0.431698720806, (0.317588453423, -0.164099679642), (-0.108783795331, -0.055432028529),
        (0.437725546250, -0.198591218272, 0.284545987755), (0.372008598834, -0.026638142518, 0.238933263655),
        1.781475608834, 1.134756878309,
    ),
    2.0: (
        0.380143591906, (0.170141337927, -0.059918606733), (-0.341439223218, 0.038797924818),
        (0.320423746814, -0.132394561551, 0.272087452544), (0.632937861372, -0.065044542987, 0.299229593660),
        1.877990087743, 1.171333897503,
    ),
    4.0: (
        0.375042330460, (0.153695235478, 0.014534017494), (-0.351920743461, 0.134047204364),
        (0.307406984699, -0.091913248128, 0.253005426578), (0.653729385679, -0.107103214741, 0.320026984049),
        1.949239401593, 1.171280508668,
    ),
    np.inf: (
        0.375, (0.157611926593, 0.013625969218), (-0.342396832442, 0.134574057544),
        (0.308641022679, -0.091430488705, 0.251686932515), (0.639667275219, -0.104992166937, 0.319328515587),
        1.943234108824, 1.166687332905,
    ),
}  # fmt: skip

# n -> p_1, mean, second (11, 12, 22), E|theta - m_x|^2, mean if x_{k+1} is used
SAMPLER = {
    8: (
        0.411030006250, (0.185965965203, -0.227466676885), (0.897819745909, -0.212354650304, 0.619579566851),
        2.213001461948, (0.098527566011, -0.154949200556),
    ),
    16: (
        0.421406928898, (0.198392646646, -0.223085235053), (0.848626942739, -0.219497412612, 0.568256426042),
        1.981691169456, (0.153964777399, -0.189245663267),
    ),
    32: (
        0.426572177055, (0.203811232865, -0.221229615983), (0.828057540023, -0.222496709461, 0.545131689696),
        1.878036447767, (0.181491051379, -0.204836647986),
    ),
    64: (
        0.429141123149, (0.206357062389, -0.220363348736), (0.818633408793, -0.223892000712, 0.534130527398),
        1.828908350289, (0.195177647299, -0.212290429862),
    ),
    128: (
        0.430421432346, (0.207592680894, -0.219943466414), (0.814120327405, -0.224567432020, 0.528762223776),
        1.804984734625, (0.201998961997, -0.215936963188),
    ),
}  # fmt: skip


def example_a(n: int, ratio: float = 1.5) -> tracker.Scenario:
    """Example A with epsilon = 1/n and alpha = ratio/n."""
    return with_settings(A, [f"samplers.skewed.epsilon={1 / n!r}", f"chain.alpha={ratio / n!r}"])


def upper(second: np.ndarray) -> np.ndarray:
    return second[..., (0, 0, 1), (0, 1, 1)]


def random_scenario(X: int, N: int, seed: int, epsilon: float = 0.05, alpha: float = 0.08) -> tracker.Scenario:
    """Quadratic modes with noise, a skew matrix and a Gaussian start."""
    rng = np.random.default_rng(seed)

    def covariance(floor: float) -> list[list[float]]:
        F = rng.standard_normal((N, N)) / np.sqrt(N)
        C = F @ F.T + floor * np.eye(N)
        return ((C + C.T) / 2).tolist()

    modes = [
        {
            "name": f"m{i}",
            "cost": "quadratic",
            "minimum": rng.standard_normal(N).tolist(),
            "curvature": covariance(0.5),
            "gradient_noise": covariance(0.1),
        }
        for i in range(X)
    ]
    Q = rng.uniform(0.2, 1.0, (X, X)) / X
    np.fill_diagonal(Q, 0.0)
    Q -= np.diag(Q.sum(axis=1))
    S = np.tril(rng.standard_normal((N, N)), -1)
    data = {
        "name": "random",
        "trials": 1,
        "steps": 10,
        "start": {"mean": rng.standard_normal(N).tolist(), "covariance": covariance(0.0)},
        "modes": modes,
        "samplers": [{"name": "s", "kind": "accelerated", "epsilon": epsilon, "beta": 3.0, "skew": (S - S.T).tolist()}],
    }
    if X > 1:
        data["chain"] = {"alpha": alpha, "Q": Q.tolist(), "initial": [1.0, *[0.0] * (X - 1)]}
    return make_scenario(data)


# --- the tables


def test_the_limit_is_the_table() -> None:
    times = [T for T in LIMIT if np.isfinite(T)]
    m = limits.moments(A, "skewed", times)
    assert m.probability.shape == (5, 2)
    assert m.second_by_mode.shape == (5, 2, 2, 2)
    for n, T in enumerate(times):
        p, mu_1, mu_2, Pi_1, Pi_2, error, cost = LIMIT[T]
        np.testing.assert_allclose(m.probability[n], [p, 1 - p], rtol=0, atol=DIGIT_12)
        np.testing.assert_allclose(m.mean_by_mode[n], [mu_1, mu_2], rtol=0, atol=DIGIT_12)
        np.testing.assert_allclose(upper(m.second_by_mode[n]), [Pi_1, Pi_2], rtol=0, atol=DIGIT_12)
        assert m.mean_square_error[n] == pytest.approx(error, rel=0, abs=DIGIT_12)
        assert m.expected_cost[n] == pytest.approx(cost, rel=0, abs=DIGIT_12)
    np.testing.assert_array_equal(m.mean, m.mean_by_mode.sum(axis=1))
    np.testing.assert_array_equal(m.second, m.second_by_mode.sum(axis=1))


def test_the_stationary_limit_is_the_table() -> None:
    p, mu_1, mu_2, Pi_1, Pi_2, error, cost = LIMIT[np.inf]
    s = limits.stationary(A, "skewed", of="limit")
    np.testing.assert_allclose(s.probability, [p, 1 - p], rtol=1e-15)
    np.testing.assert_allclose(s.mean_by_mode, [mu_1, mu_2], rtol=0, atol=DIGIT_12)
    np.testing.assert_allclose(upper(s.second_by_mode), [Pi_1, Pi_2], rtol=0, atol=DIGIT_12)
    assert s.mean_square_error == pytest.approx(error, rel=0, abs=DIGIT_12)
    assert s.expected_cost == pytest.approx(cost, rel=0, abs=DIGIT_12)
    assert 0 < s.radius < 1
    late = limits.moments(A, "skewed", 60.0)  # no leading axis for one time
    np.testing.assert_allclose(late.second_by_mode, s.second_by_mode, rtol=1e-12)


@pytest.mark.parametrize("n", SAMPLER)
def test_the_algorithm_is_the_table(n: int) -> None:
    p, mean, second, error, lagged = SAMPLER[n]
    scenario = example_a(n)
    a = limits.algorithm_moments(scenario, "skewed", [0, n])
    np.testing.assert_array_equal(a.mean[0], [0.5, 0.0])
    assert a.probability[1, 0] == pytest.approx(p, rel=0, abs=DIGIT_12)
    np.testing.assert_allclose(a.mean[1], mean, rtol=0, atol=DIGIT_12)
    np.testing.assert_allclose(upper(a.second[1]), second, rtol=0, atol=DIGIT_12)
    assert a.mean_square_error[1] == pytest.approx(error, rel=0, abs=DIGIT_12)
    # the table's last column: with x_{k+1} the factors of the step change places
    problem = read_quadratic(scenario, "skewed")
    E = mutant_increment(problem)
    v = np.linalg.matrix_power(np.eye(len(E)) + E, n) @ moment_system.start(problem)
    np.testing.assert_allclose(moment_system.split(problem, v)[1].sum(axis=0), lagged, rtol=0, atol=DIGIT_12)


def mutant_increment(problem: object) -> np.ndarray:
    move = problem.epsilon * moment_system.drift(problem) + problem.epsilon**2 * moment_system.square(problem)
    mix = problem.alpha * moment_system.mixing(problem)
    return move + mix + move @ mix


def test_the_leading_constants() -> None:
    e = limits.leading_error(A, "skewed", 1.0)
    np.testing.assert_allclose(e.probability, [-0.163292315921, 0.163292315921], rtol=0, atol=DIGIT_12)
    np.testing.assert_allclose(e.mean, [-0.153657188873, -0.052206371187], rtol=0, atol=DIGIT_12)
    np.testing.assert_allclose(upper(e.second), [0.553487917553, 0.083902034027, 0.670847508947], rtol=0, atol=DIGIT_12)
    assert e.mean_square_error == pytest.approx(2.983029783047, rel=0, abs=DIGIT_12)
    limit, n = limits.moments(A, "skewed", 1.0), 2**20
    a = limits.algorithm_moments(example_a(n), "skewed", n)
    np.testing.assert_allclose(n * (a.second_by_mode - limit.second_by_mode), e.second_by_mode, rtol=0, atol=2e-5)
    # the mutant tends to the same limit with another constant
    problem = read_quadratic(example_a(n), "skewed")
    E = mutant_increment(problem)
    for _ in range(20):
        E = 2 * E + E @ E
    v = moment_system.start(problem)
    lagged = moment_system.split(problem, v + E @ v)[1].sum(axis=0)
    np.testing.assert_allclose(n * (lagged - limit.mean), [-0.870100486230, 0.456867805978], rtol=0, atol=2e-5)


@pytest.mark.parametrize(("n", "order"), [(16, 1.133), (256, 1.007), (1024, 1.0017), (16384, 1.0001)])
def test_the_order_is_one(n: int, order: float) -> None:
    limit = limits.moments(A, "skewed", 1.0).mean[0]
    coarse, fine = (limits.algorithm_moments(example_a(k), "skewed", k).mean[0] - limit for k in (n // 2, n))
    assert np.log2(coarse / fine) == pytest.approx(order, rel=0, abs=0.51 * 10.0 ** -(len(str(order)) - 2))


def test_two_times() -> None:
    printed = [[0.416944996553, -0.304984034234], [-0.036907533926, 0.226755466668]]
    found = limits.two_time(A, "skewed", 0.5, 1.0)
    np.testing.assert_allclose(found, printed, rtol=0, atol=DIGIT_12)
    np.testing.assert_array_equal(limits.two_time(A, "skewed", 1.0, 0.5), found.T)
    same = limits.two_time(A, "skewed", 1.0, 1.0)
    np.testing.assert_allclose(same, limits.moments(A, "skewed", 1.0).second, rtol=1e-13)
    gaps = [
        np.abs(limits.two_time(example_a(n), "skewed", 0.5, 1.0, of="algorithm") - found).max() for n in (512, 1024)
    ]
    assert np.log2(gaps[0] / gaps[1]) == pytest.approx(1.0, abs=0.02)


# --- oracles


@pytest.mark.parametrize(("X", "N"), [(3, 2), (2, 3), (1, 2), (3, 1)])
def test_the_algorithm_by_all_paths_of_the_chain(X: int, N: int) -> None:
    """Oracle: given the modes x_0..x_K, theta is Gaussian with a mean and covariance that need no mixing at all."""
    scenario, K = random_scenario(X, N, seed=X + 10 * N), 4
    problem = read_quadratic(scenario, "s")
    P = np.eye(X) + problem.alpha * problem.Q
    M, epsilon = np.eye(N) + problem.S, problem.epsilon
    p, mu, Pi, pair = np.zeros(X), np.zeros((X, N)), np.zeros((X, N, N)), np.zeros((N, N))
    for modes in itertools.product(range(X), repeat=K + 1):
        weight = problem.p0[modes[0]] * np.prod([P[i, j] for i, j in itertools.pairwise(modes)])
        mean, C = problem.mean0, problem.second0 - np.outer(problem.mean0, problem.mean0)
        tangent = np.eye(N)
        for k, i in enumerate(modes[:-1]):
            B = np.eye(N) - epsilon * M @ problem.H[i]
            mean = mean - epsilon * M @ problem.H[i] @ (mean - problem.m[i])
            C = B @ C @ B.T + 2 * epsilon / problem.beta * np.eye(N) + epsilon**2 * M @ problem.Sigma[i] @ M.T
            tangent = B @ tangent
            if k == 1:  # theta_2
                early, early_C, tangent = mean, C, np.eye(N)
        p[modes[-1]] += weight
        mu[modes[-1]] += weight * mean
        Pi[modes[-1]] += weight * (C + np.outer(mean, mean))
        pair += weight * (early_C @ tangent.T + np.outer(early, mean))
    a = limits.algorithm_moments(scenario, "s", K)
    np.testing.assert_allclose(a.probability, p, rtol=0, atol=1e-15)
    np.testing.assert_allclose(a.mean_by_mode, mu, rtol=0, atol=1e-14)
    np.testing.assert_allclose(a.second_by_mode, Pi, rtol=0, atol=1e-14)
    found = limits.two_time(scenario, "s", 2 * epsilon, K * epsilon, of="algorithm")
    np.testing.assert_allclose(found, pair, rtol=0, atol=1e-14)


def test_the_limit_by_integration() -> None:
    """Oracle: the three lines of docs/mathematics, "Moments of the limit", integrated."""
    scenario = random_scenario(3, 2, seed=5)
    problem = read_quadratic(scenario, "s")
    H, m, M, G = problem.H, problem.m, np.eye(2) + problem.S, problem.ratio * problem.Q

    def slope(_: float, v: np.ndarray) -> np.ndarray:
        p, mu, Pi = v[:3], v[3:9].reshape(3, 2), v[9:].reshape(3, 2, 2)
        dp, dmu, dPi = G.T @ p, np.empty((3, 2)), np.empty((3, 2, 2))
        for i in range(3):
            A_i, a_i = M @ H[i], M @ H[i] @ m[i]
            dmu[i] = a_i * p[i] - A_i @ mu[i] + sum(G[j, i] * mu[j] for j in range(3))
            dPi[i] = -A_i @ Pi[i] - Pi[i] @ A_i.T + np.outer(a_i, mu[i]) + np.outer(mu[i], a_i)
            dPi[i] += 2 / problem.beta * p[i] * np.eye(2) + sum(G[j, i] * Pi[j] for j in range(3))
        return np.concatenate([dp, dmu.ravel(), dPi.ravel()])

    path = solve_ivp(slope, (0, 1.5), moment_system.start(problem), "DOP853", rtol=1e-13, atol=1e-15)
    found = limits.moments(scenario, "s", 1.5)
    np.testing.assert_allclose(found.second_by_mode.ravel(), path.y[9:, -1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.mean_by_mode.ravel(), path.y[3:9, -1], rtol=0, atol=1e-12)


def test_ten_million_steps_cost_no_more_and_lose_no_digits() -> None:
    """Identity: the power of the step against the limit and its leading term; and against the stationary law."""
    n = 10**7
    began = time.perf_counter()
    a = limits.algorithm_moments(example_a(n), "skewed", [n, 40 * n])
    assert time.perf_counter() - began < 20  # milliseconds; step by step it would be minutes
    expected = limits.moments(A, "skewed", 1.0).second + limits.leading_error(A, "skewed", 1.0).second / n
    np.testing.assert_allclose(a.second[0], expected, rtol=0, atol=3e-13)
    np.testing.assert_allclose(a.second[1], limits.stationary(example_a(n), "skewed").second, rtol=1e-12)


# --- large systems


def test_structured_agrees_with_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = random_scenario(3, 4, seed=2)

    def everything() -> list[object]:
        return [
            limits.moments(scenario, "s", [1.0, 0.3, 1.0]),
            limits.algorithm_moments(scenario, "s", [40, 0, 7, 40]),
            limits.leading_error(scenario, "s", 0.7),
            limits.stationary(scenario, "s"),
            limits.stationary(scenario, "s", of="limit"),
            limits.skew_gain(scenario, "s", of="limit"),
            limits.skew_gain(scenario, "s", of="algorithm"),
        ]

    dense = everything()
    pairs = [limits.two_time(scenario, "s", 0.5, 1.0, of=of) for of in ("limit", "algorithm")]
    monkeypatch.setattr(moment_system, "DENSE", 0)
    halves = everything()
    for one, other in zip(dense, halves, strict=True):
        for field, value in vars(one).items():
            np.testing.assert_allclose(vars(other)[field], value, rtol=1e-9, atol=1e-11, err_msg=field)
    monkeypatch.setattr(switched_moments, "MOST_UNKNOWNS", 0)
    for one, other in zip(dense, everything(), strict=True):
        for field, value in vars(one).items():
            np.testing.assert_allclose(vars(other)[field], value, rtol=1e-9, atol=1e-11, err_msg=field)
    for of, pair in zip(("limit", "algorithm"), pairs, strict=True):
        np.testing.assert_allclose(limits.two_time(scenario, "s", 0.5, 1.0, of=of), pair, rtol=0, atol=1e-12)


def test_the_largest_step_is_found_in_twenty_dimensions() -> None:
    """Two modes of one curvature, diag(1, ..., 5.75): stable up to 2 / 5.75 whatever the chain does.

    Close to it the second moments are almost singular: a small residual is then out of reach, a small backward error is not.
    """
    N = 20
    curvature = np.diag(1.0 + 0.25 * np.arange(N)).tolist()
    modes = [
        {"name": name, "cost": "quadratic", "minimum": [place] * N, "curvature": curvature}
        for name, place in (("one", 1.0), ("two", -1.0))
    ]
    sampler = {"name": "s", "kind": "langevin", "epsilon": 0.02, "beta": 10.0}
    chain = {"alpha": 2e-3, "Q": [[-1.0, 1.0], [1.0, -1.0]]}
    scenario = A.replace(modes=modes, samplers=[sampler], start=[0.0] * N, chain=chain)
    problem = read_quadratic(scenario, "s")
    assert moment_system.size(problem) > moment_system.DENSE
    assert largest_step(problem, "alpha") == pytest.approx(2.0 / 5.75, rel=1e-9)
    best = limits.best_step(scenario, "s")
    around = [
        float(
            limits.stationary(
                with_settings(scenario, [f"samplers.s.epsilon={factor * best.epsilon!r}"]), "s"
            ).mean_square_error
        )
        for factor in (0.9, 1.0, 1.1)
    ]
    assert around[1] == pytest.approx(best.mean_square_error, rel=1e-9)
    assert around[1] < min(around[0], around[2])


def test_twenty_modes_in_dimension_twenty() -> None:
    scenario = random_scenario(20, 20, seed=1, epsilon=1e-3, alpha=2e-3)
    seconds, found = [], []
    for compute in (
        lambda: limits.moments(scenario, "s", 10.0),
        lambda: limits.algorithm_moments(scenario, "s", 10_000),
        lambda: limits.stationary(scenario, "s"),
    ):
        began = time.perf_counter()
        found.append(compute())
        seconds.append(time.perf_counter() - began)
    assert max(seconds) < 30, seconds
    limit, late, rest = found
    # at T = 10 the start is all but forgotten, and the limit is O(epsilon) away
    np.testing.assert_allclose(late.mean_square_error, rest.mean_square_error, rtol=1e-4)
    assert 0 < abs(limit.mean_square_error / late.mean_square_error - 1) < 0.05


# --- stability


def test_unstable_where_the_solve_returns_finite_nonsense() -> None:
    scenario = with_settings(A, ["samplers.skewed.epsilon=1.3"])
    nonsense = Steady(read_quadratic(scenario, "skewed"), "algorithm").v
    assert np.isfinite(nonsense).all()
    with pytest.raises(limits.Unstable, match="not mean-square stable") as caught:
        limits.stationary(scenario, "skewed")
    error = caught.value
    assert error.radius > 1
    # one of them is stable and the other is not, at the same ratio
    ratio = A.chain.alpha / 1.3
    for factor, stable in ((1 - 1e-6, True), (1 + 1e-6, False)):
        epsilon = error.largest_epsilon * factor
        near = with_settings(A, [f"samplers.skewed.epsilon={epsilon!r}", f"chain.alpha={ratio * epsilon!r}"])
        if stable:
            assert 1 - 1e-4 < limits.stationary(near, "skewed").radius < 1
        else:
            with pytest.raises(limits.Unstable):
                limits.stationary(near, "skewed")


def test_one_mode_is_stable_up_to_the_limit_of_the_skew_theory() -> None:
    scenario = random_scenario(1, 3, seed=4, epsilon=3.0)
    problem = read_quadratic(scenario, "s")
    with pytest.raises(limits.Unstable) as caught:
        limits.stationary(scenario, "s")
    limit = skew.stability_limit(problem.H[0], problem.S)
    assert caught.value.largest_epsilon == pytest.approx(limit, rel=1e-9)
    assert caught.value.radius == pytest.approx(skew.contraction(problem.H[0], problem.S, 3.0) ** 2, rel=1e-12)
    small = with_settings(scenario, [f"samplers.s.epsilon={limit / 3!r}"])
    s = limits.stationary(small, "s")
    expected = skew.stationary_covariance(problem.H[0], problem.S, limit / 3, problem.beta, problem.Sigma[0])
    np.testing.assert_allclose(s.second - np.outer(s.mean, s.mean), expected, rtol=1e-10)
    np.testing.assert_allclose(s.mean, problem.m[0], rtol=1e-10)


def test_switching_can_destroy_what_is_stable_in_every_mode() -> None:
    """Then no step helps, and the limit itself has no stationary second moments."""
    scenario = with_settings(
        example_a(1000, ratio=10.0),
        [
            "modes.one.curvature=[[5.0, 0.0], [0.0, 1.0]]",
            "modes.two.curvature=[[1.0, 0.0], [0.0, 5.0]]",
            "chain.Q=[[-1.0, 1.0], [1.0, -1.0]]",
            "samplers.skewed.skew=5.0",
        ],
    )
    for of in ("limit", "algorithm"):
        with pytest.raises(limits.Unstable, match="no epsilon is stable") as caught:
            limits.stationary(scenario, "skewed", of=of)
        assert caught.value.largest_epsilon == 0
        assert caught.value.radius > 1
        if of == "limit":
            m = limits.moments(scenario, "skewed", [20.0, 21.0])
            growth = np.trace(m.second[1]) / np.trace(m.second[0])
            assert growth == pytest.approx(caught.value.radius, rel=1e-6)
    problem = read_quadratic(scenario, "skewed")
    assert min(skew.spectral_gap(H, problem.S) for H in problem.H) > 0


# --- out of scope


def test_other_costs_are_refused() -> None:
    scenario = shipped("example_b")
    with pytest.raises(ValueError, match=r"quadratic costs only.*limits\.density.*limits\.coupled"):
        limits.moments(scenario, scenario.samplers[0].name, [1.0])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"kind": "hessian", "skew_step": 0.01, "skew_bounds": [-1.0, 1.0]},
            r"limits\.adaptive_path.*limits\.skew_gain",
        ),
        ({"kind": "wandering", "skew_step": 0.01, "skew_bounds": [-1.0, 1.0]}, "simulate it instead"),
        ({"skew": "random"}, "give a matrix"),
    ],
)
def test_other_samplers_are_refused(changes: dict[str, object], words: str) -> None:
    keys = {"name": "skewed", "kind": "accelerated", "epsilon": 0.1, "beta": 2.0, "skew": 0.7, **changes}
    with pytest.raises(ValueError, match=words):
        limits.algorithm_moments(A.replace(samplers=[keys]), "skewed", [1])


def test_other_worlds_are_refused() -> None:
    scheduled = {key: value for key, value in A.parts().items() if key != "chain"}
    scheduled["schedule"] = {"switches": [[0, "one"], [5, "two"]]}
    with pytest.raises(ValueError, match=r"schedule: .*\[chain\]"):
        limits.moments(make_scenario(scheduled), "skewed", [1.0])
    with pytest.raises(ValueError, match="interventions: "):
        limits.moments(A.replace(interventions=[{"kind": "switch", "at": 3, "to": "two"}]), "skewed", [1.0])
    with pytest.raises(ValueError, match="sweep: "):
        limits.moments(A.replace(sweep={"chain.alpha": [0.01, 0.02]}), "skewed", [1.0])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: limits.moments(A, "other", [1.0]), "none of the scenario's: skewed"),
        (lambda: limits.moments(A, "skewed", [-1.0]), "not negative"),
        (lambda: limits.algorithm_moments(A, "skewed", [1.5]), "whole numbers"),
        (lambda: limits.two_time(A, "skewed", 0.5, 0.505, of="algorithm"), "must be a whole number"),
        (lambda: limits.stationary(A, "skewed", of="both"), "limit.*algorithm"),
    ],
)
def test_wrong_arguments_are_named(call: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_one_mode_needs_no_chain_and_beta_may_be_infinite() -> None:
    scenario = with_settings(random_scenario(1, 2, seed=3), ['samplers.s.beta="inf"', "modes.m0.gradient_noise=0.0"])
    late = limits.stationary(scenario, "s", of="limit")
    np.testing.assert_allclose(late.mean, scenario.modes[0].minimum, rtol=1e-12)
    assert late.mean_square_error == pytest.approx(0.0, abs=1e-12)


def test_names_are_functions_whichever_file_was_read_first() -> None:
    import tracker.limits.exact_moments  # noqa: F401  (the file would hide the function of its name)

    for name in ("moments", "regimes", "skew_gain", "stationary", "best_step", "two_time"):
        assert callable(getattr(limits, name))
    assert set(dir(limits)) >= {"density", "coupled", "adaptive_path", "Unstable"}
    with pytest.raises(AttributeError, match="no attribute 'moment'"):
        _ = limits.moment
