"""The rungs of the ladder of knowledge, against printed numbers, closed forms, a simulated filter and slow integrals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.linalg import solve_continuous_lyapunov
from worlds import scalar, scenario_of, shipped

import tracker
from tracker import limits
from tracker.limits.mode_signals import read_signals

Z = 4.9  # standard errors


def two(alpha: float, **changes: Any) -> tracker.Scenario:
    """Minima at -1 and 1, curvature 1, gradient noise 1, rate 1, beta = inf; ``changes`` are pairs, one for each mode."""
    keys = {
        "minimum": ([-1.0], [1.0]),
        "curvature": ([[1.0]], [[1.0]]),
        "gradient_noise": ([[1.0]], [[1.0]]),
        **changes,
    }
    modes = [{"cost": "quadratic", **{key: pair[i] for key, pair in keys.items()}} for i in (0, 1)]
    chain = {"alpha": alpha, "Q": [[-1.0, 1.0], [1.0, -1.0]]}
    one = {"name": "s", "kind": "langevin", "epsilon": 0.1, "beta": "inf"}
    return scenario_of(modes, [one], start=[0.0] * len(keys["minimum"][0]), chain=chain)


# --- the table of the scalar case


@pytest.mark.parametrize(
    ("alpha", "step", "linear", "bayes"),
    [
        (1e-2, 0.20988, 0.1990, 0.107936806689),
        (1e-3, 0.064244, 0.0632, 0.015766964402),
        (1e-4, 0.020100, 0.0200, 0.002045845071),
        (1e-5, 0.00634, 0.00632, 0.000250788828),
    ],
)
def test_the_printed_table(alpha: float, step: float, linear: float, bayes: float) -> None:
    """docs/mathematics, "Ladder of knowledge", to the digits printed; the filter to 1e-11."""
    world = two(alpha)
    rows = {row["rung"]: row for row in limits.ladder(world, "s")}
    assert list(rows) == ["knows the mode, samples at this beta", "best step", "best linear filter", "best filter"]
    error = {rung: row["mean_square_error"]["mean"] for rung, row in rows.items()}
    assert error["knows the mode, samples at this beta"] == 0.0  # beta = inf
    assert error["best step"] == pytest.approx(step, abs=6e-6)
    assert error["best linear filter"] == pytest.approx(linear, abs=5e-5 if alpha > 1e-5 else 5e-6)
    assert error["best filter"] == pytest.approx(bayes, abs=1e-11)
    assert [row["bound"] for row in rows.values()] == [False, False, False, True]
    assert all(row["exact"] and row["mean_square_error"]["stderr"] is None for row in rows.values())
    assert limits.best_filter(world).error < 1e-10


@pytest.mark.parametrize("alpha", [1e-2, 1e-4])
def test_the_scalar_riccati_equation(alpha: float) -> None:
    """P = r^2 P R / (P + R) + w with r = 1 - 2 alpha q, R = s^2 / h^2, w = a^2 (1 - r^2); a = .8, h = 1.3, s^2 = 2, q = .7."""
    found = limits.best_linear(scalar(alpha=alpha))
    r, R = 1 - 2 * alpha * 0.7, 2.0 / 1.3**2
    w, P = 0.64 * (1 - r * r), found.mean_square_error
    assert pytest.approx(r * r * P * R / (P + R) + w, rel=1e-10) == P
    assert found.gain[0, 0] == pytest.approx(P / (P + R) / 1.3, rel=1e-9)


def kalman(world: tracker.Scenario, steps: int) -> float:
    """The best linear filter step by step, on the indicators of all modes, from their stationary law."""
    assert world.chain is not None
    P = np.eye(len(world.modes)) + world.chain.alpha * np.array(world.chain.Q)
    nu = np.linalg.matrix_power(P, 1_000_000)[0]
    m = np.array([mode.minimum for mode in world.modes]).T
    H = np.array(world.modes[0].curvature)
    R = sum(p * np.array(mode.gradient_noise) for p, mode in zip(nu, world.modes, strict=True))
    R = np.linalg.inv(H) @ R @ np.linalg.inv(H)
    V = np.diag(nu) - np.outer(nu, nu)
    move = np.diag(nu) - P.T @ np.diag(nu) @ P
    for _ in range(steps):
        gain = V @ m.T @ np.linalg.inv(m @ V @ m.T + R)
        V = P.T @ (V - gain @ m @ V) @ P + move
    return float(np.trace(m @ V @ m.T))


def test_three_modes_in_the_plane_are_kalmans() -> None:
    H = [[2.0, 0.4], [0.4, 1.0]]
    modes = [
        {"cost": "quadratic", "minimum": m, "curvature": H, "gradient_noise": s}
        for m, s in (([1.0, 0.0], [[1.0, 0.2], [0.2, 0.5]]), ([-1.0, 0.5], [[0.3, 0.0], [0.0, 0.3]]), ([0.0, -2.0], [[2.0, 0.0], [0.0, 1.0]]))
    ]  # fmt: skip
    chain = {"alpha": 0.02, "Q": [[-1.0, 0.7, 0.3], [0.2, -0.5, 0.3], [1.0, 0.4, -1.4]]}
    world = scenario_of(modes, [{"kind": "langevin"}], chain=chain)
    found = limits.best_linear(world)
    assert found.mean_square_error == pytest.approx(kalman(world, 3000), rel=1e-9)
    assert found.gain.shape == (2, 2)
    with pytest.raises(limits.OutOfScope, match="3 modes") as refused:
        limits.best_filter(world)
    assert "filter baseline" in refused.value.advice


def test_stages_of_a_stay_are_modes_of_their_own() -> None:
    """Erlang stays of shape 2: the linear filter of the four stages, written out."""
    plain = two(5e-2)
    erlang = plain.replace(chain={"alpha": 5e-2, "Q": plain.chain.Q, "dwell": {"law": "erlang", "shape": 2}})
    staged = plain.replace(
        modes=[{**plain.modes[i // 2].model_dump(), "name": f"stage-{i}"} for i in range(4)],
        chain={
            "alpha": 5e-2,
            "Q": [[-2.0, 2.0, 0.0, 0.0], [0.0, -2.0, 2.0, 0.0], [0.0, 0.0, -2.0, 2.0], [2.0, 0.0, 0.0, -2.0]],
        },
    )
    error = limits.best_linear(erlang).mean_square_error
    assert error == pytest.approx(kalman(staged, 2000), rel=1e-9)
    assert error < limits.best_step(erlang, "s").mean_square_error
    assert error > 1.01 * limits.best_linear(plain).mean_square_error  # control: geometric stays are another world
    with pytest.raises(limits.OutOfScope, match="its age"):
        limits.best_filter(erlang)


def test_modes_that_share_their_minimum_leave_nothing_to_follow() -> None:
    same = two(1e-2, minimum=([1.0], [1.0]))
    assert limits.best_linear(same).mean_square_error == limits.best_filter(same).mean_square_error == 0.0


def test_who_is_told_the_switches_is_not_bound() -> None:
    world = two(1e-2)
    told = {
        "name": "s",
        "kind": "restart",
        "sampler": {"kind": "langevin"},
        "curvature": 1.0,
        "epsilon": 0.1,
        "beta": "inf",
    }
    cusum = {**told, "threshold": 10.0, "shift": 1.0, "noise_variance": 1.0}
    around = {"name": "s", "kind": "averaged", "rate": 0.5, "epsilon": 0.1, "beta": "inf"}
    inside = {key: value for key, value in told.items() if key not in ("name", "epsilon", "beta")}
    for sampler, bound in (
        (cusum, True),
        ({**told, "detector": "true-times"}, False),
        ({**around, "sampler": {**inside, "detector": "true-times"}}, False),
    ):
        rows = {row["rung"]: row["bound"] for row in limits.ladder(world.replace(samplers=[sampler]), "s")}
        assert rows["best filter"] is bound


def test_a_matrix_gain_wins_where_only_one_direction_jumps() -> None:
    """N = 2, m = +-(1, 0): the best step pays for noise in the direction that never moves; the linear filter does not."""
    eye = np.eye(2).tolist()
    world = two(1e-4, minimum=([-1.0, 0.0], [1.0, 0.0]), curvature=(eye, eye), gradient_noise=(eye, eye))
    assert limits.best_step(world, "s").mean_square_error == pytest.approx(0.02828, abs=2e-5)
    assert limits.best_linear(world).mean_square_error == pytest.approx(0.02000, abs=5e-6)
    assert limits.best_filter(world).mean_square_error == pytest.approx(0.002045845071, abs=1e-11)


# --- the filter, simulated slowly


def simulated(
    world: tracker.Scenario, paths: int, steps: int, burn: int, alpha_told: float | None = None
) -> tuple[float, float]:
    """Mean square error of a filter run on many paths at once with numpy, and its standard error; scalar theta."""
    assert world.chain is not None
    P = np.eye(2) + world.chain.alpha * np.array(world.chain.Q)
    told = P if alpha_told is None else np.eye(2) + alpha_told * np.array(world.chain.Q)
    m, h, s2 = (
        np.array([np.ravel(getattr(mode, key))[0] for mode in world.modes])
        for key in ("minimum", "curvature", "gradient_noise")
    )
    rng = np.random.default_rng(7)
    x, p, total = rng.integers(0, 2, paths), np.full(paths, 0.5), np.zeros(paths)
    for k in range(steps):
        theta = p * m[0] + (1 - p) * m[1]
        total += (theta - m[x]) ** 2 * (k >= burn)
        g = h[x] * (theta - m[x]) + np.sqrt(s2[x]) * rng.standard_normal(paths)
        odds = [np.exp(-((g - h[i] * (theta - m[i])) ** 2) / (2 * s2[i])) / np.sqrt(s2[i]) for i in (0, 1)]
        seen = p * odds[0] / (p * odds[0] + (1 - p) * odds[1])
        p = told[0, 0] * seen + told[1, 0] * (1 - seen)
        x = np.where(rng.random(paths) < P[x, 0], 0, 1)
    means = total / (steps - burn)
    return float(means.mean()), float(means.std(ddof=1) / np.sqrt(paths))


WORLDS = {
    "the scalar case": two(1e-2),
    "unequal curvature": two(1e-2, curvature=([[1.0]], [[2.0]])),
    "unequal noise": two(1e-2, gradient_noise=([[0.5]], [[2.0]])),
    "both": two(2e-2, curvature=([[1.0]], [[1.5]]), gradient_noise=([[1.0]], [[0.3]])),
}


@pytest.mark.parametrize("name", WORLDS)
def test_the_quadrature_is_the_mean_of_a_simulated_filter(name: str) -> None:
    found = limits.best_filter(WORLDS[name])
    mean, stderr = simulated(WORLDS[name], 4000, 500, 250)
    assert abs(mean - found.mean_square_error) < Z * stderr
    assert found.bound == ("curvature" not in name and name != "both")
    wrong, stderr = simulated(WORLDS[name], 4000, 500, 250, alpha_told=2 * WORLDS[name].chain.alpha)  # type: ignore[union-attr]
    if name == "the scalar case":  # control: told twice the rate, the filter is another
        assert abs(wrong - found.mean_square_error) > Z * stderr


def test_more_points_change_nothing_and_few_are_seen() -> None:
    whole = limits.best_filter(two(1e-3))
    assert limits.best_filter(two(1e-3), cells=256).mean_square_error == pytest.approx(
        whole.mean_square_error, abs=1e-10
    )
    few = limits.best_filter(two(1e-3), cells=16)
    assert few.error > 1e-7
    assert abs(few.mean_square_error - whole.mean_square_error) < 10 * few.error
    with pytest.raises(ValueError, match="cells"):
        limits.best_filter(two(1e-3), cells=3)


def test_a_filter_that_sees_everything_is_one_step_behind() -> None:
    """Without noise to speak of the mode of step k - 1 is known: the error is that of one step of the chain, 4 a (1 - a)."""
    found = limits.best_filter(two(1e-2, gradient_noise=([[1e-8]], [[1e-8]])))
    assert found.mean_square_error == pytest.approx(4 * 0.01 * 0.99, rel=1e-10)
    assert found.wrong == pytest.approx(0.01, rel=1e-10)


def test_a_filter_that_sees_nothing_stays_in_the_middle() -> None:
    found = limits.best_filter(two(1e-2, gradient_noise=([[1e12]], [[1e12]])))
    assert found.mean_square_error == pytest.approx(1.0, rel=1e-6)


def test_swapping_wells() -> None:
    """Gradients differ by .7 in one direction whose noise is 1, minimisers at +-1.04117."""
    wells = shipped("swapping_wells")
    signals = read_signals(wells)
    assert signals.slopes is not None
    assert signals.slopes[1] - signals.slopes[0] == pytest.approx([0.7, 0.0])
    assert signals.minimisers == pytest.approx(np.array([[1.04117, 0.0], [-1.04117, 0.0]]), abs=5e-6)
    found = limits.best_filter(wells)
    assert found.mean_square_error == pytest.approx(0.003166, abs=5e-7)
    assert found.bound
    rows = {row["rung"]: row for row in limits.ladder(wells, "classical")}
    assert rows["knows the mode, samples at this beta"]["mean_square_error"]["mean"] == pytest.approx(
        0.294296950, abs=1e-9
    )
    assert "best step" not in rows
    # what sees cost values or several gradients a step is not bound by it
    assert [row["bound"] for row in limits.ladder(wells, "algorithm-2") if row["rung"] == "best filter"] == [False]


def test_what_is_refused() -> None:
    with pytest.raises(limits.OutOfScope, match="more than their slopes"):
        limits.best_linear(shipped("example_a"))
    with pytest.raises(limits.OutOfScope, match="same range"):
        limits.best_filter(two(1e-2, gradient_noise=([[0.0]], [[1.0]])))
    with pytest.raises(limits.OutOfScope, match="one mode"):
        limits.best_filter(shipped("example_1"))
    with pytest.raises(limits.OutOfScope, match="not Gaussian") as refused:
        limits.best_filter(shipped("logistic_stream"))
    assert "filter baseline" in refused.value.advice
    with pytest.raises(ValueError, match="none of the scenario's"):
        limits.ladder(shipped("example_a"), "nobody")


def test_nobody_is_sent_to_a_filter_that_would_be_left_out() -> None:
    """With noise that remembers the filter baseline does not apply, and listing it is an error."""
    world = two(1e-2)
    keys = [{**mode.model_dump(exclude_unset=True), "noise_memory": 0.5} for mode in world.modes]
    for ask in (limits.best_filter, limits.best_linear):
        with pytest.raises(limits.OutOfScope, match="noise_memory: filters know white noise") as refused:
            ask(world.replace(modes=keys))
        assert refused.value.advice == ""


def test_a_stay_of_one_stage_is_geometric_for_filters_too() -> None:
    world = two(1e-2)
    one = world.replace(chain={"alpha": 1e-2, "Q": world.chain.Q, "dwell": {"law": "erlang", "shape": 1}})
    assert limits.best_filter(one) == limits.best_filter(world)
    assert limits.best_linear(one).mean_square_error == limits.best_linear(world).mean_square_error


# --- temperature


@pytest.mark.parametrize(
    ("beta", "printed"), [(4.0, 0.294296950), (8.0, 0.035081258), (16.0, 0.008696638), (40.0, 0.003341704)]
)
def test_temperature_in_swapping_wells(beta: float, printed: float) -> None:
    found = limits.gibbs_error(shipped("swapping_wells").set("samplers.*.beta", beta), "fixed-3")
    assert found.mean_square_error == pytest.approx(printed, abs=6e-10)
    assert found.by_mode == pytest.approx([printed, printed], abs=6e-10)
    if beta == 4.0:
        assert found.outside == pytest.approx(_outside_by_another_rule(), abs=1e-7)


def _outside_by_another_rule() -> float:
    """The share outside the disc of radius .35, by adaptive integrals; b is Gaussian and independent of a."""
    m = 1.0411723599
    top = (m * m - 1) ** 2 - 0.35 * m

    def density(b: float, a: float) -> float:
        return float(np.exp(-4.0 * ((a * a - 1) ** 2 - 0.35 * a + 25 * b * b - top)))

    whole = quad(lambda a: np.exp(-4.0 * ((a * a - 1) ** 2 - 0.35 * a - top)), -4, 4, epsabs=1e-12, limit=400)[
        0
    ] * np.sqrt(np.pi / 100)

    def edge(a: float) -> float:
        return float(np.sqrt(max(0.35**2 - (a - m) ** 2, 0.0)))

    inside = dblquad(density, m - 0.35, m + 0.35, lambda a: -edge(a), edge, epsabs=1e-10)[0]
    return float(1 - inside / whole)


def test_temperature_of_quadratic_costs() -> None:
    found = limits.gibbs_error(shipped("example_a"), "skewed")
    assert found.mean_square_error == pytest.approx(0.8296053575, abs=1e-10)
    draws = np.random.default_rng(3).standard_normal((400_000, 2))
    for i, mode in enumerate(shipped("example_a").modes):
        theta = draws @ np.linalg.cholesky(np.linalg.inv(2.0 * np.array(mode.curvature))).T
        assert found.by_mode[i] == pytest.approx((theta**2).sum(axis=1).mean(), rel=0.01)
    radius = np.hypot(2.0, 1.5) / 4
    share = [
        np.mean(np.hypot(*(draws @ np.linalg.cholesky(np.linalg.inv(2.0 * np.array(mode.curvature))).T).T) > radius)
        for mode in shipped("example_a").modes
    ]
    assert found.outside == pytest.approx(0.375 * share[0] + 0.625 * share[1], abs=Z * np.sqrt(0.25 / 400_000))


def test_temperature_of_many_coordinates_is_refused_unless_quadratic() -> None:
    with pytest.raises(limits.OutOfScope, match="N = 1 and 2"):
        limits.gibbs_error(shipped("example_2"), shipped("example_2").samplers[0].name)


def test_the_split_of_example_a() -> None:
    """floor, Kn and Ks as printed; the parts add up to the exact error, and the remainder is of higher order."""
    one = shipped("example_a", ["samplers.*.epsilon=1e-3", "chain.alpha=1e-6"])
    parts = limits.error_split(one, "skewed")
    assert parts.temperature == pytest.approx(0.8296053575, abs=1e-10)
    assert parts.noise == pytest.approx(1.2612416401e-3, rel=1e-9)
    assert parts.lag == pytest.approx(2.0045824602e-3, rel=1e-9)
    assert parts.temperature + parts.noise + parts.lag + parts.remainder == pytest.approx(parts.total, rel=1e-14)
    assert parts.total == limits.stationary(one, "skewed").mean_square_error
    assert abs(parts.remainder) < 0.01 * parts.lag
    with pytest.raises(limits.Unstable):
        limits.error_split(shipped("example_a", ["samplers.*.epsilon=3.0", "chain.alpha=0.1"]), "skewed")


# --- transfer


def one(kind: str, **keys: Any) -> tracker.Scenario:
    mode = {"cost": "quadratic", "minimum": [0.0], "curvature": [[1.3]], "gradient_noise": [[0.4]]}
    return scenario_of([mode], [{"name": "s", "kind": kind, **keys}], start=[0.0])


KINDS = {
    "langevin": {"epsilon": 0.2, "beta": 5.0},
    "kinetic": {"epsilon": 0.2, "friction": 1.5, "beta": 5.0},
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_noise_of_the_transfer_integrates_to_the_stationary_law(kind: str) -> None:
    w = 2 * np.pi * np.arange(4096) / 4096
    found = limits.transfer(one(kind, **KINDS[kind]), "s", w)
    assert found.noise[:, 0, 0].mean() == pytest.approx(
        float(limits.stationary(one(kind, **KINDS[kind]), "s").second[0, 0]), rel=1e-10
    )
    assert found.signal[0, 0, 0] == pytest.approx(1.0)  # a minimum that stands still is found


@pytest.mark.parametrize("kind", KINDS)
def test_the_signal_is_the_response_to_a_wave(kind: str) -> None:
    """The recursion of each kind, written out, driven by m_k = cos(w k) without noise."""
    keys, frequency, h = KINDS[kind], 0.37, 1.3
    theta, v, seen = 0.0, 0.0, []
    for k in range(4000):
        seen.append(theta)
        g = h * (theta - np.exp(1j * frequency * k))
        if kind == "langevin":
            theta = theta - keys["epsilon"] * g
        else:
            v = (1 - keys["friction"] * keys["epsilon"]) * v - keys["epsilon"] * g
            theta = theta + keys["epsilon"] * v
    found = limits.transfer(one(kind, **keys), "s", [frequency]).signal[0, 0, 0]
    assert seen[-1] / np.exp(1j * frequency * 3999) == pytest.approx(found, abs=1e-10)
    if kind == "langevin":
        e = keys["epsilon"] * h
        assert found == pytest.approx(e / (np.exp(1j * frequency) - 1 + e), abs=1e-12)


def test_jumps_by_their_spectrum_are_the_exact_error() -> None:
    """A minimum that jumps between +-d has the spectrum d^2 (1 - r^2) / |e^{iw} - r|^2, r = 1 - 2 alpha q: MSE by the integral."""
    alpha, epsilon = 0.05, 0.1
    exact = float(limits.stationary(scalar(epsilon, alpha), "a").mean_square_error)
    mode = {"cost": "quadratic", "minimum": [0.0], "curvature": [[1.3]], "gradient_noise": [[2.0]]}
    alone = scenario_of([mode], [{"name": "a", "kind": "langevin", "epsilon": epsilon, "beta": 5.0}], start=[0.0])
    w = 2 * np.pi * np.arange(1 << 14) / (1 << 14)
    r = 1 - 2 * alpha * 0.7
    jumps = 0.64 * (1 - r * r) / np.abs(np.exp(1j * w) - r) ** 2
    found = limits.transfer(alone, "a", w)
    assert np.mean(np.abs(1 - found.signal[:, 0, 0]) ** 2 * jumps + found.noise[:, 0, 0].real) == pytest.approx(
        exact, rel=1e-10
    )


def test_transfer_is_about_one_mode() -> None:
    with pytest.raises(limits.OutOfScope, match="several modes"):
        limits.transfer(scalar(), "a", [0.1])
    with pytest.raises(ValueError, match="frequencies"):
        limits.transfer(one("langevin"), "s", [[0.1]])
    with pytest.raises(limits.OutOfScope, match="psgld"):
        limits.transfer(one("psgld"), "s", [0.1])


# --- the shipped kinetic kind


@pytest.mark.parametrize(
    ("alpha", "error", "times"), [(1e-2, 0.3786032, 1.8039), (1e-3, 0.0813692, 1.2666), (1e-4, 0.0218080, 1.0850)]
)
def test_the_heavy_ball_beside_the_best_step(alpha: float, error: float, times: float) -> None:
    """Momentum .9 and an effective step equal to the best constant step."""
    best = limits.best_step(two(alpha), "s")
    epsilon = float(np.sqrt(0.1 * best.epsilon))
    ball = two(alpha).replace(
        samplers=[{"name": "s", "kind": "kinetic", "epsilon": epsilon, "friction": 0.1 / epsilon, "beta": "inf"}]
    )
    found = float(limits.stationary(ball, "s").mean_square_error)
    assert found == pytest.approx(error, abs=6e-8)
    assert found / best.mean_square_error == pytest.approx(times, abs=6e-5)
    parts = limits.error_split(ball, "s")
    assert parts.total == pytest.approx(found, rel=1e-12)
    assert limits.stability(ball, "s").stable


def test_kinetic_at_a_finite_temperature_keeps_gibbs() -> None:
    world = shipped("example_a").replace(
        samplers=[{"name": "s", "kind": "kinetic", "epsilon": 1e-3, "friction": 2.0, "beta": 2.0}]
    )
    parts = limits.error_split(world.set("chain.alpha", 1e-6), "s")
    assert parts.temperature == pytest.approx(limits.gibbs_error(world, "s").mean_square_error, rel=1e-9)
    H = np.array(world.modes[0].curvature)
    A = np.block([[np.zeros((2, 2)), -np.eye(2)], [H, 2.0 * np.eye(2)]])
    spread = solve_continuous_lyapunov(A, np.diag([0.0, 0.0, 2.0, 2.0]))
    assert spread[:2, :2] == pytest.approx(np.linalg.inv(2.0 * H), abs=1e-10)  # the reference itself


def test_the_limit_check_judges_kinetic_by_its_own_limit() -> None:
    """Confirmed against the moments of (theta, v)."""
    ball = {"name": "s", "kind": "kinetic", "epsilon": 1 / 64, "friction": 2.0, "beta": 2.0}
    world = shipped("example_a").replace(samplers=[ball])
    found = tracker.check_limit(world, sampler="s")
    assert (found.limit_verdict, found.implementation_verdict, found.reference) == ("confirmed", "confirmed", "moments")
    plain = {"name": "s", "kind": "langevin", "epsilon": 1 / 64, "beta": 2.0}
    classical = limits.moments(world.replace(samplers=[plain]), "s", 1.0)
    own = {each.name: each.limit for each in found.observables}["E[theta_1]"]
    assert abs(own - classical.mean[0]) > 0.1  # control: it is not the overdamped limit
