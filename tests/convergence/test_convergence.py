"""The check of weak convergence, piece by piece: ladder, statistics, extrapolation, order, distances, words."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from interpreting import interpreting
from rich.console import Console
from worlds import shipped

import tracker
from tracker.cli.limit import print_verdict
from tracker.convergence import (
    Verdict,
    extrapolation,
    law_bounds,
    order,
    step_ladder,
    three_limits,
    trials,
)
from tracker.convergence.exact_values import exact_values
from tracker.convergence.rare_events import set_aside
from tracker.convergence.statistics import Sample, evaluate, moment_panel
from tracker.convergence.trials import Tally
from tracker.convergence.verdict import Distances, Observable, Order
from tracker.limits.grid_law import Law
from tracker.metrics.wasserstein import w1_on_grid, w1_quantile
from tracker.scenario import ScenarioError, with_settings

A = shipped("example_a")
POINTWISE = 1e-11  # docs/mathematics gives 12 digits


# --- the ladder


def test_the_ladder_of_example_a_is_that_of_the_published_check() -> None:
    rungs = step_ladder.build(A)
    assert rungs.steps == (8, 16, 32, 64, 128)
    assert rungs.horizon == 1.0
    assert rungs.ratio == pytest.approx(1.5, rel=1e-15)
    for rung in range(5):
        here = rungs.at(rung)
        assert here.chain is not None
        assert here.chain.alpha / here.samplers[0].epsilon == pytest.approx(1.5, rel=1e-14)
        assert here.steps * here.samplers[0].epsilon == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize(
    ("settings", "bound"),
    [
        (["chain.alpha=0.2"], 1 / (2 * 12.8)),  # ratio 12.8, max|q_ii| = 1
        (["modes.*.curvature=[[40.0, 0.0], [0.0, 40.0]]", "samplers.skewed.skew=0.0"], 2 / 40 / 4),  # stability
        ([], 1 / 8),
    ],
)
def test_the_first_step_obeys_the_three_bounds(settings: list[str], bound: float) -> None:
    rungs = step_ladder.build(with_settings(A, settings))
    first = rungs.epsilons[0]
    assert bound / 2 < first <= bound * (1 + 1e-12), "the largest whole fraction of T below the bound, up to evenness"
    assert all(n % 2 == 0 for n in rungs.steps)
    assert [b / a for a, b in zip(rungs.steps, rungs.steps[1:], strict=False)] == [2] * 4


def test_a_long_scenario_is_checked_over_a_shorter_time() -> None:
    rungs = step_ladder.build(A.replace(steps=10**7, record_every=10**5))
    assert rungs.steps[0] <= 64
    assert np.log2(rungs.horizon) == round(np.log2(rungs.horizon))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"epsilons": [0.1, 0.05]}, "at least 3"),
        ({"epsilons": [0.3, 0.1, 0.05]}, "whole number of times"),
        ({"epsilons": [0.5, 0.25, -0.125]}, "epsilons"),
        ({"epsilons": [1.0, 0.5, 0.25]}, "no transition matrix"),
        ({"horizon": -1.0}, "horizon"),
        ({"path": 0.0}, "path"),
        ({"sampler": "nobody"}, "skewed"),
        ({"trials": 10}, "at least 100"),
        ({"resolution": 0.0}, "resolution"),
    ],
)
def test_arguments_that_make_no_sense_are_named(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        tracker.check_limit(A, **arguments)  # type: ignore[arg-type]


def refused() -> dict[str, tracker.Scenario]:
    event = {"kind": "outage", "at": 3, "steps": 2}
    return {
        "random": with_settings(A, ['samplers.skewed.skew="random"']),
        "schedule": A.replace(chain=None, schedule={"switches": [[0, "one"], [10, "two"]]}),
        "interventions": A.replace(interventions=[event]),
        "sweep": A.replace(sweep={"chain.alpha": [1e-3, 1e-2]}),
    }


@pytest.mark.parametrize("what", ["random", "schedule", "interventions", "sweep"])
def test_what_has_no_limit_is_refused_with_a_reason(what: str) -> None:
    with pytest.raises(ScenarioError, match=what):
        tracker.check_limit(refused()[what])


# --- statistics


def test_the_statistics_have_the_published_values() -> None:
    """docs/mathematics, "Example A", at T = 1: the limit, two times, and the sampler at n = 8 and 128."""
    exact = exact_values(step_ladder.build(A), lambda _: None)
    assert len(exact.panel.tested) == 26  # 17 of laws at one and two times, 9 of the time spent
    at = dict(zip(exact.panel.names, exact.limit, strict=True))
    assert at["P(x = one)"] == pytest.approx(0.431698720806, abs=POINTWISE)
    assert at["E[theta_1; two]"] == pytest.approx(-0.108783795331, abs=POINTWISE)
    assert at["E[theta_1 theta_2; one]"] == pytest.approx(-0.198591218272, abs=POINTWISE)
    assert at["E[theta_1(T/2) theta_2(T)]"] == pytest.approx(-0.304984034234, abs=POINTWISE)
    assert at["E[theta_2(T/2) theta_1(T)]"] == pytest.approx(-0.036907533926, abs=POINTWISE)
    assert at["E[|theta - m_x|^2]"] == pytest.approx(1.781475608834, abs=POINTWISE)
    assert at["E[A_1 A_2]"] == pytest.approx(-0.134512488499, abs=POINTWISE)
    assert at["E[theta_2 A_1]"] == pytest.approx(-0.258926541242, abs=POINTWISE)
    assert exact.algorithm is not None
    for rung, mean, square in ((0, 0.185965965203, 2.213001461948), (4, 0.207592680894, 1.804984734625)):
        own = dict(zip(exact.panel.names, exact.algorithm[rung], strict=True))
        assert own["E[theta_1]"] == pytest.approx(mean, abs=POINTWISE)
        assert own["E[|theta - m_x|^2]"] == pytest.approx(square, abs=POINTWISE)


def test_statistics_of_trials_are_what_their_names_say() -> None:
    rng = np.random.default_rng(3)
    theta, early = rng.standard_normal((2, 7, 2))
    mode, before = rng.integers(0, 2, (2, 7))
    panel = moment_panel(2, ("one", "two"), halves=True)
    minima = np.array([[1.0, -1.0], [0.5, 2.0]])
    found = dict(zip(panel.names, evaluate(panel, Sample(theta, mode, early, before, early), minima).T, strict=True))
    np.testing.assert_array_equal(found["E[theta_1 theta_2; two]"], theta[:, 0] * theta[:, 1] * (mode == 1))
    np.testing.assert_array_equal(found["E[theta_2(T/2) theta_1(T)]"], early[:, 1] * theta[:, 0])
    np.testing.assert_array_equal(found["P(x(T/2) = x(T) = one)"], (mode == 0) & (before == 0))
    np.testing.assert_allclose(found["E[|theta - m_x|^2]"], ((theta - minima[mode]) ** 2).sum(axis=1), rtol=1e-14)


def test_rare_events_are_shown_and_not_tested() -> None:
    """A chain that leaves its first mode once in 10000 trials says nothing by its means."""
    slow = with_settings(A, ["chain.alpha=1e-6"])
    rungs = step_ladder.build(slow, epsilons=[1 / 8, 1 / 16, 1 / 32], horizon=1.0)
    exact, notes = set_aside(exact_values(rungs, lambda _: None), 4000)
    names = exact.panel.names[: len(exact.panel.tested)]
    assert not any("two" in name for name in names)
    assert "E[theta_1; one]" in names
    assert "not tested" in notes[0]
    whole = exact_values(rungs, lambda _: None)
    before = dict(zip(whole.panel.names, whole.limit, strict=True))
    after = dict(zip(exact.panel.names, exact.limit, strict=True))
    assert before == after, "values stay with their names"


# --- extrapolation


@pytest.mark.parametrize(("degree", "inflation"), [(1, 0.68), (2, 1.04), (3, 1.86)])
def test_extrapolation_inflates_noise_as_published(degree: int, inflation: float) -> None:
    """docs/mathematics, "Limit verdict": n = 8, ..., 128, to the digits given there."""
    c = extrapolation.weights([1 / n for n in (8, 16, 32, 64, 128)], degree)
    assert np.linalg.norm(c) == pytest.approx(inflation, abs=0.006)
    assert c.sum() == pytest.approx(1.0, abs=1e-12)


def test_the_quantile_of_the_largest_of_many_normals() -> None:
    """One: the normal quantile. Seventeen independent ones: Sidak's. Copies of one: the first again. 60000 draws: +-0.02."""
    assert extrapolation.largest_normal(np.eye(1)) == pytest.approx(2.5758, abs=0.04)
    assert extrapolation.largest_normal(np.diag(np.arange(1.0, 18.0))) == pytest.approx(3.436, abs=0.05)
    assert extrapolation.largest_normal(np.ones((5, 5))) == pytest.approx(2.5758, abs=0.04)


def judged(discrepancy: float, stderr: float, delta: float = 0.1) -> extrapolation.Judged:
    a, V = np.array([discrepancy, 0.0]), np.diag([stderr**2, stderr**2])
    return extrapolation.judge_sampled(a, V, np.ones(2), delta, 1000)


def test_the_three_words() -> None:
    """q = 2.806 for two independent statistics."""
    assert judged(0.0, 0.01).verdict == "confirmed"
    assert judged(0.03, 0.01).verdict == "rejected", "3 > 2.8, though 0.046 < delta: a rejection comes first"
    assert judged(0.06, 0.04).verdict == "inconclusive"
    assert judged(0.085, 0.05).verdict == "inconclusive"
    assert judged(0.2, 0.05).verdict == "rejected"
    undecided = judged(0.06, 0.04)
    assert undecided.needed == pytest.approx(1000 * ((2.806 + 1.645) * 0.04 / 0.1) ** 2, rel=0.02)
    assert judged(0.0, 0.04 * np.sqrt(1000 / (undecided.needed or 1))).verdict == "confirmed", "that many do decide"


def test_a_statistic_that_never_varies_is_right_or_wrong_for_sure() -> None:
    V = np.diag([0.0, 1e-4])
    right = extrapolation.judge_sampled(np.array([0.0, 0.0]), V, np.ones(2), 0.1, 1000)
    wrong = extrapolation.judge_sampled(np.array([0.3, 0.0]), V, np.ones(2), 0.1, 1000)
    assert (right.verdict, wrong.verdict) == ("confirmed", "rejected")


def test_statistics_without_noise_are_extrapolated_to_truncation() -> None:
    """All trials are equal where nothing is random: what the highest degree changes is allowed, another limit is not."""
    h = [1 / n for n in (8, 16, 32, 64, 128)]
    values = [np.array([1.0 + 0.3 * x + 0.2 * x**2 - 0.5 * x**3]) for x in h]
    tallies = [Tally(500, value, np.zeros((1, 1)), np.zeros(0), np.zeros(0, dtype=np.int64)) for value in values]
    for limit, word in ((1.0, "confirmed"), (1.01, "rejected")):
        assert extrapolation.limit_from_samples(h, tallies, np.array([limit]), 0.05, 1).verdict == word


def test_trials_that_are_equal_but_for_rounding_do_not_vary() -> None:
    shards = [
        Tally(10, np.array([0.1, v]), np.diag([1e-34, 9.0]), np.zeros(0), np.zeros(0, dtype=int)) for v in (1.0, 2.0)
    ]
    joined = trials._joined(shards)
    assert joined.covariance[0, 0] == 0.0
    assert joined.covariance[1, 1] == pytest.approx((18.0 + 5.0) / 19.0)


def test_exact_errors_are_judged_by_their_truncation() -> None:
    h = [1 / n for n in (8, 16, 32, 64, 128)]
    x = np.array(h)
    algorithm = np.column_stack([0.3 * x + 0.2 * x**2 - x**3, 0.04 + 0.1 * x])
    right = extrapolation.limit_from_exact(h, algorithm, np.array([0.0, 0.04]), np.ones(2), 0.01, 2)
    assert right.verdict == "confirmed"
    assert right.reached < 1e-12, "degree 4 takes a cubic error to rounding"
    wrong = extrapolation.limit_from_exact(h, algorithm, np.zeros(2), np.ones(2), 0.01, 2)
    assert wrong.verdict == "rejected", "control: another limit"


# --- order


def test_the_slope_is_that_of_the_ladder_not_one() -> None:
    """docs/mathematics, "Coupling", caution (i), has the slopes of level differences; here those of errors to the limit."""
    epsilons = [1 / n for n in (8, 16, 32, 64, 128)]
    x = np.array(epsilons)
    found = order.exact_order(epsilons, 2.0 * x + 3.0 * x**2)
    assert found is not None
    assert found.exact == pytest.approx(np.polyfit(np.log(x), np.log(2 * x + 3 * x**2), 1)[0], abs=1e-12)
    assert found.exact != pytest.approx(1.0, abs=0.01)
    assert order.exact_order(epsilons, 0.01 * x + 3.0 * x**2) is None, "no leading term to speak of"
    assert order.exact_order(epsilons, 0.01 * x - 0.1 * x**2) is None, "a change of sign"
    assert order.exact_order(epsilons, np.full(5, 1e-17)) is None, "rounding"


def test_the_interval_of_a_simulated_slope_holds_the_exact_one() -> None:
    """400 replicates: coverage of a 95 % interval within 3.5 binomial standard deviations; a wrong slope is not held."""
    rng = np.random.default_rng(11)
    epsilons = [1 / n for n in (8, 16, 32, 64, 128)]
    x = np.array(epsilons)
    truth, stderr = 2.0 * x + 3.0 * x**2, np.full(5, 0.01)
    fits = [order.sampled_order(epsilons, truth + stderr * rng.standard_normal(5), stderr, truth) for _ in range(400)]
    known = [f for f in fits if f is not None]
    assert len(known) > 395
    held = np.mean([f.low <= f.exact <= f.high for f in known])  # type: ignore[operator]
    assert abs(held - 0.95) < 3.5 * np.sqrt(0.05 * 0.95 / 400)
    assert np.mean([f.low <= 0.5 <= f.high for f in known]) < 0.05  # type: ignore[operator]
    assert order.sampled_order(epsilons, 0.01 * rng.standard_normal(5), stderr, None) is None, "noise has no slope"


# --- distances


def gaussian_law(mean: float, p: float) -> Law:
    """Two modes with the same Gaussian, by probability p and 1 - p, on cells."""
    edges = np.linspace(-6.0, 6.0, 1201)
    grid = (edges[1:] + edges[:-1]) / 2
    bell = np.exp(-((grid - mean) ** 2) / 2) / np.sqrt(2 * np.pi)
    return Law(
        np.array([1.0]), grid, np.array([[p * bell, (1 - p) * bell]]), np.array([[-6.0, 6.0]]), ("a", "b"), False
    )


def test_the_lexicographic_distance_by_brute_force() -> None:
    rng = np.random.default_rng(5)
    law, theta, mode = gaussian_law(0.0, 0.3), rng.standard_normal(60), (rng.random(60) > 0.4).astype(np.int64)
    x = np.linspace(-6, 6, 24_001)
    F = law_bounds.distribution(law, x)
    worst = 0.0
    for i in (0, 1):  # P((mode, theta) <= (i, x)), counted pair by pair
        low = np.array([np.sum((mode < i) | ((mode == i) & (theta <= at))) for at in x]) / 60
        worst = max(worst, float(np.abs(low - (F[i] + (0.3 if i else 0.0))).max()))
    assert law_bounds.sample_ks(theta, mode, law) == pytest.approx(worst, abs=2e-3), "the grid of the brute force"


def test_the_band_holds_the_right_law_and_not_a_wrong_one() -> None:
    """Dvoretzky-Kiefer-Wolfowitz-Massart at 5 %: at most 5 % of 300 samples outside (+3 sd); another law is always outside."""
    rng = np.random.default_rng(6)
    law, shifted, heavier = gaussian_law(0.0, 0.3), gaussian_law(0.4, 0.3), gaussian_law(0.0, 0.5)
    band = np.sqrt(np.log(2 / 0.05) / (2 * 400))
    outside = 0
    for n in range(300):
        theta, mode = rng.standard_normal(400), (rng.random(400) > 0.3).astype(np.int64)
        outside += law_bounds.sample_ks(theta, mode, law) > band
        if n < 20:
            assert law_bounds.sample_ks(theta, mode, shifted) > band
            assert law_bounds.sample_ks(theta, mode, heavier) > band, "it sees the mode too"
    assert outside / 300 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


def test_w1_of_a_shift_is_the_shift() -> None:
    rng = np.random.default_rng(7)
    law = gaussian_law(0.0, 0.3)
    x = law_bounds.grid_of(law)
    F = law_bounds.distribution(law, x).sum(axis=0)
    theta = rng.standard_normal(200_000) + 0.5
    assert w1_on_grid(theta, x, F) == pytest.approx(0.5, abs=0.01)
    width = w1_quantile(x, F, 1000)
    samples = [w1_on_grid(rng.standard_normal(1000), x, F) for _ in range(200)]
    assert np.mean(np.array(samples) <= width) == pytest.approx(0.95, abs=0.05)


# --- the three limits


def noiseless() -> tracker.Scenario:
    zero = [[0.0, 0.0], [0.0, 0.0]]
    return A.replace(modes=[mode.model_copy(update={"gradient_noise": zero}) for mode in A.modes])


@pytest.mark.parametrize(
    ("path", "name", "table", "rate"),
    [
        (2.0, "frozen", {64: (0.01494628, 0.66775744, 1.02426393), 1024: (0.00095062, 0.68175310, 1.03825960)}, 0.997),
        (
            0.5,
            "averaged",
            {64: (1.04003856, 0.42458156, 0.14599869), 1024: (1.04223781, 0.52834010, 0.04224015)},
            0.462,
        ),
    ],
)
def test_distances_along_a_path_are_those_published(
    path: float, name: str, table: dict[int, tuple[float, ...]], rate: float
) -> None:
    """docs/mathematics, "Three regimes": Example A without gradient noise, T = 1."""
    ends = {}
    for n, row in table.items():
        rungs = step_ladder.build(noiseless(), epsilons=[16 / n, 4 / n, 1 / n], horizon=1.0, path=path)
        three, own = three_limits.quadratic_limits(rungs)
        far, rates = three_limits.distances(three, own, rungs.epsilons)
        np.testing.assert_allclose([far.frozen, far.switched, far.averaged], row, atol=1e-8)
        ends[n] = far[name]
        assert far[name] == min(far.frozen, far.switched, far.averaged)  # type: ignore[type-var]
        assert rates[name] == pytest.approx(rate, abs=0.06)
    assert np.log(ends[64] / ends[1024]) / np.log(16) == pytest.approx(rate, abs=0.03)
    assert three_limits.expected_regime(path) == name


def test_the_averaged_scenario_has_the_averaged_cost() -> None:
    b = shipped("example_b")
    averaged = three_limits.averaged_scenario(b)
    assert averaged is not None
    from tracker.limits.drift_field import read_field

    x = np.linspace(-2, 2, 9)[:, None]
    one, both = (read_field(s, "classical") for s in (averaged, b))
    expected = (both.values(0, x) + 2 * both.values(1, x)) / 3  # pi = (1/3, 2/3)
    np.testing.assert_allclose(one.values(0, x), expected, rtol=1e-12)


# --- what a verdict looks like


def made() -> Verdict:
    seen = Observable(
        "E[theta_1]", 0.5, (0.6, 0.55), (0.0, 0.0), (0.1, 0.05), scale=1.0, order=Order(1.0, 1.0, 1.0, 1.0)
    )
    return Verdict(
        scenario="world", sampler="classical", ratio=1.5, horizon=1.0, reference="moments", epsilons=(0.1, 0.05),
        observables=(seen,), order=Order(1.0, 0.9, 1.1, 1.02), distances=Distances(0.7, 0.01, float("nan")),
        limit_verdict="confirmed", implementation_verdict="rejected", resolution=0.05,
        statements=("limit: confirmed <so>",),
    )  # fmt: skip


def test_at_80_columns_the_table_of_limit_drops_columns_and_stays_a_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "P(x(T/2) = x(T) = a mode with a name)"
    verdict = replace(made(), observables=(replace(made().observables[0], name=long),))
    shown = []
    for width in (80, 200):
        screen = Console(width=width, file=sys.stdout, force_terminal=True, color_system=None)
        monkeypatch.setattr("tracker.cli.limit.console", lambda screen=screen: screen)
        print_verdict(verdict)
        shown.append(capsys.readouterr().out)
    narrow, wide = (text.splitlines() for text in shown)
    assert narrow[1].startswith("limit: confirmed")
    assert max(map(len, narrow)) <= 80
    assert "too narrow for these columns: at 0.1, exact slope" in shown[0]
    assert len(narrow) == len(wide) + 1
    assert "too narrow" not in shown[1]


def test_fields_are_reached_by_name_and_by_key_and_go_to_json() -> None:
    verdict = made()
    assert verdict["order"]["exact"] == verdict.order.exact == 1.02
    with pytest.raises(KeyError):
        verdict["nothing"]
    data = json.loads(json.dumps(verdict.json(), allow_nan=False))
    expected = {"sampler", "ratio", "regime", "horizon", "reference", "epsilons", "observables", "order", "distances",
                "limit_verdict", "implementation_verdict", "resolution"}  # fmt: skip
    assert expected <= set(data)
    assert {"name", "limit", "algorithm", "stderr", "error"} <= set(data["observables"][0])
    assert set(data["order"]) == {"estimate", "low", "high", "exact"}
    assert data["distances"] == {"frozen": 0.7, "switched": 0.01, "averaged": None}
    assert verdict.rejected
    assert not replace(verdict, implementation_verdict="inconclusive").rejected
    assert "confirmed &lt;so&gt;" in verdict._repr_html_()
    assert "limit: confirmed" in str(verdict)
    with pytest.raises(AttributeError):
        verdict.resolution = 0.1  # type: ignore[misc]


# --- kinds whose limit nobody knows


def test_a_kind_that_theory_does_not_know_has_means_and_no_verdict() -> None:
    """It was refused as an invalid scenario, after the limit's law had been computed."""
    noise = {"noise_step": 0.01, "noise_bounds": [0.5, 2.0]}
    scenario = A.replace(samplers=[{"name": "s", "kind": "tempered", "epsilon": 0.1, **noise}])
    told: list[str] = []
    with interpreting(None):
        verdict = tracker.check_limit(
            scenario,
            trials=100,
            epsilons=[1 / 8, 1 / 16, 1 / 32],
            horizon=1.0,
            progress=lambda *one: told.append(one[2]),
        )
    assert (verdict.limit_verdict, verdict.implementation_verdict) == ("unavailable", "unavailable")
    assert told[0].startswith("s: theory needs a sampler that stays as it is, and tempered moves its noise; 100 trials")
    assert verdict.observables[0].limit is None
    assert verdict.observables[0].stderr[0] > 0.0
    assert "theory knows no limit of this kind here" in verdict.statements[0]
    assert "there is no limit to set the means against" in verdict.statements[3]
    assert "order only" not in str(verdict)
    assert json.loads(json.dumps(verdict.json()))["order"]["estimate"] is None
    with pytest.raises(ScenarioError, match="path: sampler"):
        tracker.check_limit(scenario, path=0.5)
