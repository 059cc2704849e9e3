"""Single steps of the engine: residuals, jumps, ages and starts, what they reject, and what they say they would have rejected.

Most engines here are a few lines of numpy, which share nothing with the compiled one; faults in the compiled one are planted by
benchmarks/verdict_faults.py, and their rates over many seeds are in benchmarks/verdict_power.txt.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from worlds import ROOT, shipped

import tracker
from tracker.convergence import implementation_verdict, residuals, step_ladder, step_tests, trials
from tracker.convergence.residuals import StepLaw, gather, join_sums, step_law
from tracker.convergence.sentences import sight
from tracker.convergence.statistics import Panel, Statistic
from tracker.convergence.step_tests import Steps, judge_steps
from tracker.convergence.trials import RungTrials
from tracker.convergence.verdict import Residual, Sees
from tracker.scenario import with_settings

sys.path.append(str(ROOT / "benchmarks"))
import verdict_faults as faults
import verdict_steps as power
from verdict_models import example_a, models

Array = NDArray[np.float64]
LEVEL, DELTA = implementation_verdict.STEPS, 0.05
A = example_a(gradient_noise=True)


def law_of(scenario: tracker.Scenario) -> tuple[StepLaw, int]:
    rungs = step_ladder.build(scenario)
    return step_law(rungs), rungs.steps[0]


def paths(
    law: StepLaw, K: int, R: int, rng: np.random.Generator, noise: float = 1.0, drift: float = 1.0, rate: float = 1.0
) -> tuple[Array, NDArray[np.int64]]:
    """Quadratic costs, a Gaussian start: theta (R, K + 1, N) and the modes, with relative faults."""
    f = law.field
    N, X = len(f.mean), len(f.costs)
    theta, mode = np.empty((R, K + 1, N)), np.empty((R, K + 1), dtype=np.int64)
    values, vectors = np.linalg.eigh(f.covariance)
    theta[:, 0] = f.mean + rng.standard_normal((R, N)) * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    mode[:, 0] = rng.choice(X, R, p=f.initial)
    P = np.eye(X) + rate * f.alpha * f.Q if X > 1 else np.eye(1)
    injected = noise * np.sqrt(2 * f.epsilon / f.beta)
    for k in range(K):
        for i, cost in enumerate(f.costs):
            here = mode[:, k] == i
            n = int(here.sum())
            old = theta[:, k][here]
            z = rng.standard_normal((n, cost.noise.shape[1])) @ cost.noise.T
            g = drift * (old - cost.minimum) @ cost.curvature + z
            theta[here, k + 1] = old - f.epsilon * g @ f.M.T + injected * rng.standard_normal((n, N))
            mode[here, k + 1] = rng.choice(X, n, p=P[i])
    return theta, mode


def judged(law: StepLaw, theta: Array, mode: NDArray[np.int64]) -> Steps:
    return judge_steps(law, gather(law, theta, mode), LEVEL, DELTA)


def z_of(steps: Steps) -> dict[str, float]:
    return {each.name: each.z for each in steps.residuals if each.z is not None}


# --- the sums, against a transcription


def test_the_sums_are_those_of_a_naive_transcription() -> None:
    law, K = law_of(A)
    rng = np.random.default_rng(1)
    theta, mode = paths(law, K, 7, rng)
    sums = gather(law, theta, mode)
    f, N = law.field, 2
    e, b = np.zeros((7, K, N)), np.zeros((7, K, N))
    ages = np.zeros((2, 2, len(law.edges)))
    squares, by_next = np.zeros((2, N, N)), np.zeros((2, 2, N))
    for t in range(7):
        age = 0
        for k in range(K):
            x, cost = mode[t, k], f.costs[mode[t, k]]
            V = 2 * f.epsilon / f.beta * np.eye(N) + f.epsilon**2 * f.M @ cost.noise @ cost.noise.T @ f.M.T
            values, vectors = np.linalg.eigh(V)
            root = vectors / np.sqrt(values) @ vectors.T
            push = f.epsilon * f.M @ cost.curvature @ (theta[t, k] - cost.minimum)
            e[t, k], b[t, k] = root @ (theta[t, k + 1] - theta[t, k] + push), root @ push
            age = age + 1 if k and mode[t, k - 1] == x else 1
            column = max(n for n, edge in enumerate(law.edges) if edge <= age)
            ages[:, x, column] += 1, mode[t, k + 1] != x
            squares[x] += np.outer(e[t, k], e[t, k])
            by_next[x, mode[t, k + 1]] += e[t, k]
    np.testing.assert_allclose(sums.squares, squares, rtol=1e-10)
    np.testing.assert_allclose(sums.along, [np.sum(e * b), np.sum(b * b)], rtol=1e-10)
    np.testing.assert_allclose(sums.by_next, by_next, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sums.lagged, [np.sum(e[:, 1:] * e[:, :-1]), 7 * (K - 1) * N], rtol=1e-9)
    np.testing.assert_allclose(sums.neighbours, [np.sum(e[1:] * e[:-1]), 6 * K * N], rtol=1e-9)
    np.testing.assert_array_equal(sums.ages, ages)
    assert sums.inner[0] == np.sum(np.abs(e) < stats.norm.ppf(0.75))
    assert sums.pairs[0].sum() == 7 * K
    whole = join_sums([gather(law, theta[:3], mode[:3]), gather(law, theta[3:], mode[3:])])
    np.testing.assert_allclose(whole.crossed, sums.crossed, rtol=1e-9, atol=1e-12)
    assert whole.trials == 7
    assert whole.neighbours[1] == 5 * K * N, "the pair across two shards is not one"


def test_noise_is_whitened_in_its_range() -> None:
    rng = np.random.default_rng(2)
    for rank in (0, 1, 2, 3):
        F = rng.standard_normal((3, rank))
        found = residuals.whitening(F @ F.T)
        assert found.rank == rank
        np.testing.assert_allclose(
            found.to @ F @ F.T @ found.to.T, np.diag([1.0] * rank + [0.0] * (3 - rank)), atol=1e-9
        )
        projector = F @ np.linalg.pinv(F) if rank else np.zeros((3, 3))
        np.testing.assert_allclose(found.back @ found.back.T, projector, atol=1e-9)


def test_tails_agree_with_scipy() -> None:
    for statistic, df in ((3.0, 4), (40.0, 7), (900.0, 800)):
        z = step_tests.chi_squared(statistic, df)
        assert 2 * stats.norm.sf(z) == pytest.approx(stats.chi2.sf(statistic, df), rel=1e-9)
    assert step_tests.chi_squared(1e5, 12) == pytest.approx(np.sqrt(1e5), rel=1e-2), "where the tail is below any float"
    for statistic in (60.0, 100.0, 150.0):
        assert step_tests.cube_root(statistic, 100) == pytest.approx(
            -stats.norm.ppf(stats.chi2.sf(statistic, 100)), abs=0.01
        )


# --- size and power


def singular() -> tracker.Scenario:
    return models()["N = 3, X = 3, beta = inf, noise of rank 1"]


@pytest.mark.parametrize(
    ("world", "seed"),
    [(A, 3), (singular(), 4), (models()["N = 1, X = 1, quadratic"], 5)],
    ids=["a", "singular", "line"],
)
def test_right_engines_are_seldom_rejected_and_every_z_is_standard(world: tracker.Scenario, seed: int) -> None:
    """0.4 % of 250: at most 6 (binomial, 1e-4); 5 % of all |z| beyond 1.96, within five standard deviations."""
    law, K = law_of(world)
    rng = np.random.default_rng(seed)
    found = [judged(law, *paths(law, K, 250, rng)) for _ in range(250)]
    assert sum(each.rejected for each in found) <= 6
    z = np.array([list(z_of(each).values()) for each in found])
    beyond = np.mean(np.abs(z) > 1.96, axis=0)
    assert np.all(np.abs(beyond - 0.05) < 5 * np.sqrt(0.05 * 0.95 / 250)), dict(
        zip(z_of(found[0]), beyond, strict=True)
    )
    wrong = judged(law, *paths(law, K, 250, rng, drift=1.5))
    assert wrong.rejected, "control: half as much drift again"


@pytest.mark.parametrize("fault", ["noise", "drift", "rate"])
def test_a_fault_of_the_size_that_is_named_is_rejected_with_95_per_cent(fault: str) -> None:
    """40 replicates: at least 32 (the sensitivity is that of a small fault); a third of the fault: at most 12."""
    law, K = law_of(A)
    rng = np.random.default_rng(6)
    size = judged(law, *paths(law, K, 1500, rng)).sees[fault]
    counts = [
        sum(judged(law, *paths(law, K, 1500, rng, **{fault: 1.0 + part * size})).rejected for _ in range(40))
        for part in (1.0, 1 / 3)
    ]
    assert counts[0] >= 32
    assert counts[1] <= 12


def test_what_each_statistic_is_for() -> None:
    law, K = law_of(A)
    rng = np.random.default_rng(7)
    theta, mode = paths(law, K, 3000, rng)
    assert not judged(law, theta, mode).rejected

    def rejected(theta: Array, mode: NDArray[np.int64]) -> set[str]:
        return {each.name for each in judged(law, theta, mode).residuals if each.rejected}

    assert "noise of neighbouring trials" in rejected(np.repeat(theta[::2], 2, axis=0), mode)
    assert "jumps of neighbouring trials" in rejected(theta, np.repeat(mode[::2], 2, axis=0))
    assert "size of the start" in rejected(theta + 0.2 * (theta[:, :1] - law.field.mean), mode)
    assert "mean of the start" in rejected(theta + 0.1, mode)
    late = np.concatenate([mode[:, :1], mode[:, :-1]], axis=1)
    assert {"drift after a switch", "drift before a switch"} & rejected(theta, late)
    other = mode.copy()
    other[:5, 0] = 1  # x_0 is mode one for sure
    assert "jumps that cannot be" in rejected(theta, other)


def test_signs_in_place_of_normals_are_seen_by_the_shape() -> None:
    """The same two moments at every step."""
    law, K = law_of(A.replace(modes=example_a().modes))
    rng = np.random.default_rng(8)
    theta, mode = paths(law, K, 500, rng)
    for k in range(K):
        for i, cost in enumerate(law.field.costs):
            here = mode[:, k] == i
            drift = law.field.epsilon * (theta[here, k] - cost.minimum) @ cost.curvature @ law.field.M.T
            sign = rng.choice([-1.0, 1.0], (int(here.sum()), 2))
            theta[here, k + 1] = theta[here, k] - drift + np.sqrt(2 * law.field.epsilon / law.field.beta) * sign
    found = judged(law, theta, mode)
    assert abs(z_of(found)["size of the noise"]) < 1e-6 * abs(z_of(found)["shape of the noise"]) + 60
    assert any(each.name == "shape of the noise" and each.rejected for each in found.residuals)


# --- without noise


def test_without_noise_every_step_is_right_to_rounding_or_wrong() -> None:
    law, K = law_of(example_a().replace(samplers=[A.samplers[0].model_copy(update={"beta": np.inf})], start=[0.5, 0.0]))
    rng = np.random.default_rng(9)
    right = judged(law, *paths(law, K, 200, rng))
    assert not right.rejected
    assert right.sees.noise is None
    assert right.sees.drift is not None
    assert right.sees.drift < 1e-8
    wrong = judged(law, *paths(law, K, 200, rng, drift=1 + 10 * right.sees.drift))
    assert [each.name for each in wrong.residuals if each.rejected] == ["steps where there is no noise"]
    start = judged(law, paths(law, K, 200, rng)[0] + 1e-6, paths(law, K, 200, rng)[1])
    assert "start where it does not vary" in {each.name for each in start.residuals if each.rejected}


def test_noise_below_rounding_is_not_judged() -> None:
    law, K = law_of(with_settings(example_a(), ["samplers.skewed.beta=1e22"]))
    found = judged(law, *paths(law, K, 50, np.random.default_rng(10)))
    assert found.word(DELTA) == "unavailable"
    assert "rounding" in found.problem


# --- the compiled engine


def test_faults_of_the_compiled_engine_at_default_settings() -> None:
    """The rows that must be rejected in 18 of 20, one replicate each, and the right engine."""
    assert power.outcome(power.WORLD, -1, 0).word == "confirmed"
    for n, fault in enumerate(power.FAULTS):
        if fault.most:
            found = power.outcome(power.WORLD, n, 0)
            assert found.word == "rejected", fault.name
            assert found.named, "by single steps, not by the panel"


def test_watching_changes_no_path_and_keeps_shards_small(monkeypatch: pytest.MonkeyPatch) -> None:
    rungs = step_ladder.build(A)
    panel = Panel((), (Statistic("mean"),), ("one", "two"))
    alone = RungTrials(rungs, panel, 300, [0], workers=1).run(0)
    law = step_law(rungs)
    watched = RungTrials(rungs, panel, 300, [0], workers=1).run(0, law)
    assert watched.steps is not None
    np.testing.assert_array_equal(watched.mean, alone.mean)
    monkeypatch.setattr(trials, "WATCHED_FLOATS", 9 * 5 * 20)
    sizes: list[int] = []
    honest = trials.gather
    monkeypatch.setattr(trials, "gather", lambda law, theta, mode: sizes.append(len(theta)) or honest(law, theta, mode))
    small = RungTrials(rungs, panel, 300, [0], workers=1).run(0, law)
    assert set(sizes) == {20}
    assert small.steps is not None
    np.testing.assert_allclose(small.steps.squares, watched.steps.squares, rtol=1e-12)


def test_three_dimensions_are_judged_by_their_steps_alone() -> None:
    name = "N = 3, X = 2, polynomial (no exact law)"
    assert power.outcome(name, -1, 1, 0.1).word == "confirmed"
    n = next(n for n, fault in enumerate(power.FAULTS) if fault.name == "noise x 1.03")
    assert power.outcome(name, n, 1, 0.1).word == "rejected"


# --- what is not judged, and what is said


MOVING = {"kind": "wandering", "skew": 0.1, "skew_step": 0.01, "skew_bounds": [-1.0, 1.0]}
TEMPERED = {"kind": "tempered", "noise_step": 0.01, "noise_bounds": [0.5, 2.0]}


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        (shipped("example_1"), "comes from data"),
        (
            A.replace(samplers=[{"name": "s", "epsilon": 0.1, **TEMPERED}]),
            "moves its noise",
        ),
        (A.replace(samplers=[{"name": "s", "epsilon": 0.1, **MOVING}]), "moves its S"),
    ],
    ids=["data", "tempered", "wandering"],
)
def test_a_law_that_is_not_known_is_named(scenario: tracker.Scenario, said: str) -> None:
    fixed = next(keys for keys in scenario.samplers if said != "comes from data" or keys.kind == "langevin")
    rungs = step_ladder.Ladder(scenario.replace(samplers=[fixed]), fixed.name, 1.0, (8, 16, 32))
    watched = implementation_verdict.watch(rungs)
    assert watched.law is None
    assert said in watched.reason


def test_paths_too_long_to_be_kept_are_not_watched() -> None:
    rungs = step_ladder.build(A)
    assert "too many" in implementation_verdict.watch(replace(rungs, steps=(10**8, 2 * 10**8))).reason


def test_what_was_seen_is_said() -> None:
    verdict: Any = type("V", (), {"sees": Sees(0.0101, 0.025, None)})()
    assert sight(verdict) == "an error of the noise by 1 % or the drift by 2.5 % would have been rejected (95 %)"
    steps = Steps((Residual("x", 1.0, rejected=False),), Sees(), rejected=False, reached=0.2, needed=3.0)
    assert [steps.word(delta) for delta in (0.1, 0.3)] == ["inconclusive", "confirmed"]


def test_rare_jumps_are_not_tested_and_a_note_says_so() -> None:
    slow = step_ladder.build(with_settings(A, ["chain.alpha=1e-7"]), epsilons=[1 / 8, 1 / 16, 1 / 32], horizon=1.0)
    watched = implementation_verdict.watch(slow)
    tally = RungTrials(slow, Panel((), (Statistic("mean"),), ("one", "two")), 400, [0], workers=1).run(0, watched.law)
    found = implementation_verdict.judge(tally, None, 0, 0.2, watched, "no law")
    assert found.verdict == "confirmed"
    assert found.sees.rate is None
    assert any("rate of jumps is not tested" in note for note in found.notes)
    with faults.noise_times(1.3):
        tally = RungTrials(slow, Panel((), (Statistic("mean"),), ("one", "two")), 400, [0], workers=1).run(
            0, watched.law
        )
    assert implementation_verdict.judge(tally, None, 0, 0.2, watched, "no law").verdict == "rejected"
