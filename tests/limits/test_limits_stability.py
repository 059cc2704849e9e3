"""S can make a switched system unstable in which each mode is stable: printed thresholds, naive oracles, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from typer.testing import CliRunner

import tracker
from tracker import limits, skew
from tracker.cli import app
from tracker.reports.exhibit import Exhibit
from tracker.reports.exhibits import diagnostics
from tracker.reports.exhibits.best_step import exhibit as regime_exhibit
from tracker.reports.run_view import View
from tracker.reports.verdict_box import verdict
from tracker.runs.run_reading import open_run
from tracker.scenario import switched_systems, warnings
from tracker.scenario.model import make_scenario
from tracker.skew import switched_moments

TURN = np.array([[0.0, -1.0], [1.0, 0.0]])
FLIP = np.array([[-1.0, 1.0], [1.0, -1.0]])


def world(K: float, s: float, ratio: float, epsilon: float = 1e-4, **more: object) -> tracker.Scenario:
    """H = diag(K, 1) and diag(1, K), q = 1."""
    modes = [
        {"name": name, "cost": "quadratic", "minimum": [m, 0.0], "curvature": H}
        for name, m, H in (("a", 1.0, [[K, 0.0], [0.0, 1.0]]), ("b", -1.0, [[1.0, 0.0], [0.0, K]]))
    ]
    sampler = {"name": "turning", "kind": "accelerated", "epsilon": epsilon, "beta": 4.0, "skew": s}
    data = {"name": "pump", "trials": 5, "steps": 2000, "start": [0.0, 0.0], "modes": modes, "samplers": [sampler]}
    return make_scenario({**data, "chain": {"alpha": ratio * epsilon, "Q": FLIP.tolist()}, **more})


def full_abscissa(K: float, s: float, ratio: float) -> float:
    """The largest real part of the generator on all N^2 entries, written out anew with Kronecker products."""
    eye = np.eye(2)
    blocks = [np.diag([K, 1.0]), np.diag([1.0, K])]
    L = np.zeros((8, 8))
    for i, H in enumerate(blocks):
        A = (eye + s * TURN) @ H
        L[4 * i : 4 * i + 4, 4 * i : 4 * i + 4] = -np.kron(A, eye) - np.kron(eye, A)
    return float(np.linalg.eigvals(L + np.kron(ratio * FLIP.T, np.eye(4))).real.max())


def full_radius(scenario: tracker.Scenario) -> float:
    """The radius of Pi -> sum P_ji B_j Pi_j B_j' on all entries."""
    sampler, chain = scenario.samplers[0], scenario.chain
    assert chain is not None
    N, X = scenario.dimension, len(scenario.modes)
    S = np.array(sampler.skew) if np.ndim(sampler.skew) else sampler.skew * TURN
    P = np.eye(X) + chain.alpha * np.array(chain.Q)
    T = np.zeros((X * N * N, X * N * N))
    for j, mode in enumerate(scenario.modes):
        B = np.eye(N) - sampler.epsilon * (np.eye(N) + S) @ np.array(mode.curvature)
        for i in range(X):
            T[i * N * N : (i + 1) * N * N, j * N * N : (j + 1) * N * N] = P[j, i] * np.kron(B, B)
    return float(np.abs(np.linalg.eigvals(T)).max())


def test_the_printed_abscissae_and_radius() -> None:
    for s, printed in ((2.0, -2.1255577), (4.0, 4.2729870)):
        found = limits.stability(world(10.0, s, 10.0), "turning")
        assert found.abscissa == pytest.approx(printed, abs=1e-7)
        assert found.abscissa == pytest.approx(full_abscissa(10.0, s, 10.0), rel=1e-12)
        assert found.stable == (s == 2.0)
    assert found.radius == pytest.approx(1.00042942, abs=0.51e-8)
    assert found.radius == pytest.approx(full_radius(world(10.0, 4.0, 10.0)), abs=1e-13)


@pytest.mark.parametrize(("ratio", "printed"), [(3.0, 6.259), (10.0, 2.614), (30.0, 3.353), (100.0, 5.476)])
def test_the_largest_skew_at_a_ratio(ratio: float, printed: float) -> None:
    """S = 1 in the file, so that c is s; the step is so small that the limit decides."""
    c = limits.stability(world(10.0, 1.0, ratio, 1e-7), "turning").largest_skew
    assert c == pytest.approx(printed, abs=0.51e-3)
    assert full_abscissa(10.0, 0.999 * c, ratio) < 0.0 < full_abscissa(10.0, 1.001 * c, ratio)


def test_a_slow_chain_lets_every_skew_be() -> None:
    assert all(full_abscissa(10.0, s, 1.0) < 0.0 for s in np.geomspace(0.1, 1e4, 60))
    # what ends it is the step, and a step a hundred times smaller ends it ten times later
    ends = [limits.stability(world(10.0, 1.0, 1.0, e), "turning").largest_skew for e in (1e-4, 1e-6)]
    assert ends[1] / ends[0] == pytest.approx(10.0, rel=0.02)
    assert limits.stability(world(10.0, 0.0, 10.0), "turning").largest_skew == np.inf


@pytest.mark.parametrize(("K", "printed"), [(3.0, 7.873), (5.0, 4.266), (10.0, 2.604), (30.0, 1.696), (50.0, 1.500)])
def test_the_least_threshold_over_all_ratios(K: float, printed: float) -> None:
    def threshold(log_ratio: float) -> float:
        def growth(s: float) -> float:
            A = (np.eye(2) + s * TURN) @ np.array([np.diag([K, 1.0]), np.diag([1.0, K])])
            return switched_moments.abscissa(switched_moments.generator(A, FLIP, float(np.exp(log_ratio))))

        return float(brentq(growth, 0.8 * printed, 1.5 * printed))

    least = minimize_scalar(threshold, bounds=np.log([8.0, 15.0]), method="bounded")
    assert least.fun == pytest.approx(printed, abs=0.51e-3)


def test_the_first_interval_of_stable_steps() -> None:
    """alpha = 1.5e-3, s = 4: stable where the chain is fast or slow beside the turning, unstable in between."""
    found = limits.stability(world(10.0, 4.0, 15.0), "turning")
    end = found.largest_epsilon
    assert end is not None
    assert end == pytest.approx(3.123e-5, rel=1e-3)
    radii = {f: full_radius(world(10.0, 4.0, 1.5e-3 / (f * end), f * end)) for f in (0.01, 0.1, 0.999, 1.001, 3.0)}
    assert [radius < 1.0 for radius in radii.values()] == [True, True, True, False, False]
    assert full_radius(world(10.0, 4.0, 1.5e-3 / 0.02, 0.02)) < 1.0  # a second interval of stable steps


def test_without_skew_the_step_alone_decides() -> None:
    """One curvature: 2 / h, whatever the chain does; and larger systems by another way."""
    scenario = world(10.0, 0.0, 15.0)
    same = scenario.replace(
        modes=[mode.model_copy(update={"curvature": [[4.0, 0.0], [0.0, 4.0]]}) for mode in scenario.modes]
    )
    assert limits.stability(same, "turning").largest_epsilon == pytest.approx(0.5, rel=1e-9)


def test_the_way_of_large_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = world(10.0, 2.0, 10.0, 1e-3)
    dense = limits.stability(scenario, "turning")
    monkeypatch.setattr(switched_moments, "MOST_UNKNOWNS", 0)
    other = limits.stability(scenario, "turning")
    assert (other.radius, other.abscissa) == pytest.approx((dense.radius, dense.abscissa), rel=1e-9)
    row = switched_systems(scenario)[0]
    assert (row.radius, row.stable, row.sentence) == (None, None, "")


# K, s, ratio, epsilon: the step is stable and its limit is not; then the limit is stable and the step is not
ONLY_THE_STEP, ONLY_THE_LIMIT = (30.0, 2.75, 68.0, 0.0144), (10.0, 0.5, 1.0, 0.3)


@pytest.mark.parametrize("case", [ONLY_THE_STEP, ONLY_THE_LIMIT])
def test_stable_means_the_step_and_its_limit(case: tuple[float, float, float, float]) -> None:
    """Each alone is no proof of the other; both rooms that judge it find the radius and the abscissa of the full systems."""
    scenario = world(*case)
    radius, abscissa = full_radius(scenario), full_abscissa(*case[:3])
    assert (radius < 1.0, abscissa < 0.0) == (case == ONLY_THE_STEP, case == ONLY_THE_LIMIT)
    for found in (limits.stability(scenario, "turning"), switched_systems(scenario)[0]):
        assert (found.radius, found.abscissa) == pytest.approx((radius, abscissa), rel=1e-10)
        assert not found.stable


def test_the_limit_ends_the_skew_where_the_step_would_not() -> None:
    K, _, ratio, epsilon = ONLY_THE_STEP
    c = limits.stability(world(K, 1.0, ratio, epsilon), "turning").largest_skew
    assert full_abscissa(K, 0.999 * c, ratio) < 0.0 < full_abscissa(K, 1.001 * c, ratio)
    assert full_radius(world(K, 1.001 * c, ratio, epsilon)) < 1.0


def test_a_band_of_unstable_steps_between_two_looks_is_found() -> None:
    """S a little above the least threshold at this alpha, 2.5995: the unstable steps are a band of six per cent."""
    alpha, s = 1.5e-3, 2.6
    end = limits.stability(world(10.0, s, 15.0), "turning").largest_epsilon
    assert end is not None
    radii = [full_radius(world(10.0, s, alpha / epsilon, epsilon)) for epsilon in (0.999 * end, 1.001 * end, 1.1 * end)]
    assert [radius < 1.0 for radius in radii] == [True, False, True]


def test_other_kinds_and_costs_are_refused() -> None:
    moving = world(10.0, 4.0, 15.0).replace(
        samplers=[
            {
                "name": "h",
                "kind": "hessian",
                "epsilon": 1e-4,
                "beta": 4.0,
                "skew_step": 1e-4,
                "skew": 4.0,
                "skew_bounds": [-5.0, 5.0],
            }
        ]
    )
    with pytest.raises(ValueError, match="needs an S that stands still"):
        limits.stability(moving, "h")
    assert switched_systems(moving) == []


def measured_rate(s: float, between: tuple[int, int], epsilon: float = 2e-3) -> tuple[float, float]:
    """log of the ratio of mean squares at two steps, per unit of time, of trials of the engine; with its standard error."""
    quiet = world(10.0, s, 10.0, epsilon, start=[1.0, 0.0]).set("samplers.turning.beta", "inf")
    still = [mode.model_copy(update={"minimum": [0.0, 0.0]}) for mode in quiet.modes]
    first, last = between
    run = tracker.run(
        quiet.replace(modes=still, trials=20_000, steps=last, record_every=first, baselines=[], moments="none")
    )
    square = (run.arrays["theta"][:, 0, [1, last // first]] ** 2).sum(axis=2)
    early, late = square.mean(axis=0)
    spread = (square[:, 1] / late - square[:, 0] / early).std() / np.sqrt(len(square))
    time = (last - first) * epsilon
    return float(np.log(late / early) / time), float(spread / time)


def test_simulated_second_moments_grow_at_the_rate_of_the_radius() -> None:
    rate, error = measured_rate(4.0, (200, 400))
    exact = np.log(full_radius(world(10.0, 4.0, 10.0, 2e-3))) / 2e-3
    assert exact > 0.0
    assert abs(rate - exact) < 4.9 * error
    assert error < 0.2 * exact
    other = np.log(full_radius(world(10.0, 3.0, 10.0, 2e-3))) / 2e-3  # the control: a smaller S
    assert abs(rate - other) > 4.9 * error


# --- what is said


def test_before_a_run_it_is_called_unstable_and_each_mode_stable() -> None:
    [line] = warnings(world(10.0, 4.0, 15.0))
    assert line.startswith('samplers "turning": unstable: ')
    assert "each mode alone is stable (epsilon = 0.0001 is below 0.0647059)" in line
    assert skew.stability_limit(np.diag([10.0, 1.0]), 4.0 * TURN) == pytest.approx(0.0647059, abs=1e-7)
    for calm in (world(10.0, 1.0, 15.0), world(10.0, 4.0, 1.0), world(1.0, 4.0, 15.0), world(10.0, 0.0, 15.0)):
        assert warnings(calm) == []  # control
        assert switched_systems(calm)[0].stable


def test_the_sentence_says_what_grows_and_how_fast() -> None:
    pumped, slow = world(10.0, 4.0, 15.0), world(*ONLY_THE_STEP)
    assert (
        f"a step multiplies the second moments by {full_radius(pumped):.9g}, " in switched_systems(pumped)[0].sentence
    )
    rate = f"{full_abscissa(*ONLY_THE_STEP[:3]):.6g}"
    told = switched_systems(slow)[0].sentence
    assert f"in the limit of small steps at this alpha / epsilon the second moments grow at the rate {rate}, " in told
    # where a mode alone is unstable, that is what is to be said
    too_large = world(*ONLY_THE_LIMIT)
    assert switched_systems(too_large)[0].sentence == ""
    assert all("is not mean-square stable in mode" in line for line in warnings(too_large))


def test_the_tightest_mode_tells_which_steps_are_stable_alone() -> None:
    """The eigenvalues of (I + S) diag(a, b) have the sum a + b and the product (1 + s^2) a b: 2 Re / |.|^2 is their quotient."""
    scenario = world(10.0, 4.0, 15.0)
    modes = [scenario.modes[0].model_copy(update={"curvature": [[3.0, 0.0], [0.0, 1.0]]}), scenario.modes[1]]
    [row] = switched_systems(scenario.replace(modes=modes))
    assert row.alone == pytest.approx(min(4.0 / (17.0 * 3.0), 11.0 / (17.0 * 10.0)), rel=1e-12)


def written(tmp_path: Path, s: float) -> Path:
    text = f"""
name = "pump"
trials = 5
steps = 2000
start = [0.0, 0.0]
[chain]
alpha = 1.5e-3
Q = [[-1.0, 1.0], [1.0, -1.0]]
[[modes]]
name = "a"
cost = "quadratic"
minimum = [1.0, 0.0]
curvature = [[10.0, 0.0], [0.0, 1.0]]
[[modes]]
name = "b"
cost = "quadratic"
minimum = [-1.0, 0.0]
curvature = [[1.0, 0.0], [0.0, 10.0]]
[[samplers]]
name = "turning"
kind = "accelerated"
epsilon = 1e-4
beta = 4.0
skew = {s}
"""
    file = tmp_path / "pump.toml"
    file.write_text(text, encoding="utf-8")
    return file


def claims_stability(text: str) -> bool:
    """Whether it is called stable anywhere; what is said of each mode alone does not count."""
    words = text.replace("each mode alone is stable", "").replace("unstable", "").replace('"stable": false', "")
    return " stable" in words or '"stable": true' in words


@pytest.mark.parametrize(("s", "stable"), [(4.0, False), (1.0, True)])
def test_validate_does_not_call_it_stable(tmp_path: Path, s: float, stable: bool) -> None:
    file = str(written(tmp_path, s))
    shown = CliRunner().invoke(app, ["validate", file])
    assert shown.exit_code == 0
    assert claims_stability(shown.output) == stable
    assert ("unstable" in shown.output) != stable
    [row] = [line for line in shown.stdout.splitlines() if line.strip().startswith("turning") and "stable" in line]
    assert ("unstable" in row) != stable
    told = CliRunner().invoke(app, ["validate", file, "--json"])
    facts = json.loads(told.stdout)
    assert facts["switched"][0]["stable"] is stable
    assert any("unstable" in line for line in facts["warnings"]) != stable
    assert claims_stability(told.stdout) == stable


def test_a_run_says_it_before_and_after_and_so_does_its_page(tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = CliRunner().invoke(app, ["run", str(written(tmp_path, 4.0)), "--out", str(out), "--quiet", "--no-report"])
    assert done.exit_code == 0, done.output
    assert done.output.count('"turning": unstable') == 2
    view = View(open_run(out))
    found = diagnostics.health(view)
    [line] = [line for line in verdict(view, found).warnings if "unstable" in line]
    assert "each mode alone is stable" in line
    assert "turning is unstable" in diagnostics._caption(view, found)
    regime = regime_exhibit(view)
    assert isinstance(regime, Exhibit)
    assert "S makes the switched system unstable from" in regime.caption
    assert "turning's step is not mean-square stable" in regime.caption
