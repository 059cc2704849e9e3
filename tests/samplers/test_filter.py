"""The Bayes filter against a transcription in probabilities, against quadrature, and against three planted faults.

The world of the statistics is scalar: minima at +-1, curvature 1, gradient noise 1, rate 1 each way (docs/mathematics, "Ladder of
knowledge"); the longer table is benchmarks/rivals.txt.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from interpreting import interpreted
from scipy.stats import multivariate_normal, norm
from worlds import SCENARIOS, bowls, scenario_of, shipped

import tracker
from tracker import limits
from tracker.reports.exhibits import mode_belief
from tracker.reports.run_view import View
from tracker.scenario import ScenarioError

Q = [[-1.0, 1.0], [1.0, -1.0]]
EXACT = {1e-2: 0.107936806689, 1e-3: 0.015766964402, 1e-4: 0.002045845071}


def jumping(alpha: float, **changes: Any) -> tracker.Scenario:
    modes = [
        {"cost": "quadratic", "minimum": [m], "curvature": [[1.0]], "gradient_noise": [[1.0]]} for m in (1.0, -1.0)
    ]
    settings = {"steps": 2000, "start": [0.0], "seed": 3, "record_every": 500, **changes}
    samplers = settings.pop("samplers", [{"kind": "langevin"}])
    return scenario_of(modes, samplers, chain={"alpha": alpha, "Q": Q}, **settings)


# --- step by step


def plane(**changes: Any) -> tracker.Scenario:
    """Three modes in the plane with curvatures and noise of their own, and an outage."""
    H = ([[2.0, 0.3], [0.3, 1.0]], [[1.0, -0.2], [-0.2, 1.5]], [[0.5, 0.0], [0.0, 0.7]])
    noise = ([[0.5, 0.1], [0.1, 0.4]], [[1.0, 0.0], [0.0, 2.0]], [[0.3, -0.1], [-0.1, 0.6]])
    modes = [
        {"cost": "quadratic", "curvature": h, "minimum": m, "gradient_noise": s}
        for h, m, s in zip(H, ([1.0, -1.0], [-1.0, 0.5], [0.0, 0.2]), noise, strict=True)
    ]
    chain = {"alpha": 0.03, "Q": [[-1.0, 1.0, 0.0], [0.0, -0.5, 0.5], [0.7, 0.0, -0.7]], "initial": [0.2, 0.5, 0.3]}
    outage = [{"kind": "outage", "at": 61, "steps": 20}]
    return scenario_of(modes, [{"kind": "langevin"}], chain=chain, interventions=outage, steps=300, **changes)


def naive_probabilities(scenario: tracker.Scenario, trial: int, modes: np.ndarray) -> np.ndarray:
    """pi_0, ..., pi_K from its definition, in probabilities; observations as the loop draws them."""
    P = np.eye(3) + scenario.chain.alpha * np.array(scenario.chain.Q)
    seeds = np.random.SeedSequence(scenario.seed, spawn_key=(1, trial))
    rng = np.random.Generator(np.random.SFC64(seeds))
    H, m, S = (
        np.array([getattr(mode, key) for mode in scenario.modes]) for key in ("curvature", "minimum", "gradient_noise")
    )
    pi, found = np.array(scenario.chain.initial), []
    for k in range(scenario.steps + 1):
        found.append(pi)
        if k == scenario.steps:
            break
        theta, x = pi @ m, modes[k]
        z = np.linalg.cholesky(S[x]) @ rng.standard_normal(2)
        g = H[x] @ (theta - m[x]) + z
        if not 61 <= k < 81:
            pi = pi * [multivariate_normal(H[i] @ (theta - m[i]), S[i]).pdf(g) for i in range(3)]
        pi = pi / pi.sum() @ P
    return np.array(found)


@pytest.mark.parametrize("compiled", [False, True])
def test_it_is_the_recursion(compiled):
    scenario = plane(trials=2)
    run = tracker.run(scenario, executor=1) if compiled else interpreted(scenario)
    got, theta = run.dataset["mode_probability"], run.dataset["theta_trace"].sel(sampler="filter")
    assert got.dims == ("trial", "time", "mode_name")
    m = np.array([mode.minimum for mode in scenario.modes])
    for trial in range(2):
        wanted = naive_probabilities(scenario, trial, run.dataset["mode"].values[trial])
        np.testing.assert_allclose(got[trial], wanted, rtol=0, atol=1e-12)
        np.testing.assert_allclose(theta[trial], wanted @ m, rtol=0, atol=1e-12)
        likeliest = wanted.argmax(axis=1)
        steps = run.dataset["alarm_steps"].sel(alarm_sampler="filter").values[trial]
        np.testing.assert_array_equal(steps[steps >= 0], np.flatnonzero(np.diff(likeliest)))
        assert run.dataset["alarms"].sel(sampler="filter")[trial] == (steps >= 0).sum() > 3
    assert (run.dataset["alarms"].sel(sampler="frozen") == -1).all()


def test_only_the_common_range_of_the_noise_is_compared():
    """Swapping wells have noise in one of two coordinates: the log odds follow from that coordinate alone."""
    scenario = shipped("swapping_wells", ["trials=1", "steps=400", "chain.alpha=0.01", "record_every=1"])
    run = interpreted(scenario)
    p = run.dataset["mode_probability"].values[0]
    modes = run.dataset["mode"].values[0]
    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence(scenario.seed, spawn_key=(1, 0))))
    pi, odds = p[0], []
    for x in modes[:-1]:
        odds.append(pi)
        g = (-0.35 if x == 0 else 0.35) + rng.standard_normal()  # up to what both modes share
        pi = pi * np.exp(-0.5 * (g - np.array([-0.35, 0.35])) ** 2)
        pi = pi / pi.sum() @ (np.eye(2) + 0.01 * np.array(scenario.chain.Q))
    np.testing.assert_allclose(p[:-1], odds, rtol=0, atol=1e-10)


TRUTHS, VARIANCES = np.array([[1.0, -1.0], [-0.5, 0.8]]), (0.4, 0.9)
R = np.array([[[2.0, 0.5], [0.5, 1.0]], [[1.0, -0.3], [-0.3, 1.5]]])
MEANS = np.array([[1.0, 0.0], [1.0, 1.0]])
OBSERVED = {
    "regression": [
        {"cost": "regression", "truth": t, "regressor_covariance": r, "noise_variance": v}
        for t, r, v in zip(TRUTHS.tolist(), R.tolist(), VARIANCES, strict=True)
    ],
    "mixture": [
        {
            "cost": "mixture", "means": MEANS.tolist(), "variance": v, "prior_mean": [0.0, 1.0], "prior_variance": [10.0, 1.0],
            "horizon": 100, "data": "stream", "truth": t,
        }
        for t, v in zip(TRUTHS.tolist(), VARIANCES, strict=True)
    ],
}  # fmt: skip


def density(cost: str, bits: Any, x: int) -> np.ndarray:
    """Draw an observation in mode x as docs/architecture says; return its density in both modes."""
    rng = np.random.Generator(bits)
    if cost == "mixture":
        component = int(bits.random_raw() & 1)
        y = MEANS[component] @ TRUTHS[x] + np.sqrt(VARIANCES[x]) * rng.standard_normal()
        return np.array([norm.pdf(y, MEANS @ t, np.sqrt(v)).mean() for t, v in zip(TRUTHS, VARIANCES, strict=True)])
    n = rng.standard_normal(3)
    phi = np.linalg.cholesky(R[x]) @ n[:2]
    y = phi @ TRUTHS[x] + np.sqrt(VARIANCES[x]) * n[2]
    whole = zip(R, TRUTHS, VARIANCES, strict=True)
    return np.array([multivariate_normal(cov=r).pdf(phi) * norm.pdf(y, phi @ t, np.sqrt(v)) for r, t, v in whole])


@pytest.mark.parametrize("cost", OBSERVED)
def test_observations_of_a_known_density_are_compared_themselves(cost):
    chain = {"alpha": 0.03, "Q": [[-1.0, 1.0], [0.7, -0.7]], "initial": [0.3, 0.7]}
    slow = [{"kind": "langevin", "epsilon": 1e-3}]
    run = interpreted(scenario_of(OBSERVED[cost], slow, chain=chain, steps=200, trials=2, seed=5))
    P = np.eye(2) + 0.03 * np.array(chain["Q"])
    for trial in range(2):
        bits, pi, found = np.random.SFC64(np.random.SeedSequence(5, spawn_key=(1, trial))), np.array([0.3, 0.7]), []
        for x in run.dataset["mode"].values[trial]:
            found.append(pi)
            pi = pi * density(cost, bits, int(x))
            pi = pi / pi.sum() @ P
        np.testing.assert_allclose(run.dataset["mode_probability"][trial], found, rtol=0, atol=1e-12)


def test_nothing_is_lost_by_underflow():
    """Gradients that favour one mode by thousands of orders of magnitude, and a chain that leads to a mode by one way only."""
    modes = [
        {"cost": "quadratic", "minimum": [m], "curvature": [[1.0]], "gradient_noise": [[1e-6]]} for m in (0.0, 1.0, 2.0)
    ]
    chain = {"alpha": 0.01, "Q": [[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0], [1.0, 0.0, -1.0]], "initial": "mode-0"}
    run = interpreted(scenario_of(modes, [{"kind": "langevin"}], chain=chain, steps=900, trials=1, start=[0.0]))
    p, mode = run.dataset["mode_probability"].values[0], run.dataset["mode"].values[0]
    assert np.isfinite(p).all()
    assert len(set(mode.tolist())) == 3
    settled = np.r_[False, mode[1:-1] == mode[:-2]]  # the gradient of the step before was seen in the same mode
    assert (p[:-1].argmax(axis=1)[settled] == mode[:-1][settled]).mean() > 0.999


# --- statistics


def mean_square_error(scenario: tracker.Scenario) -> tuple[float, float]:
    found = {row["name"]: row for row in tracker.run(scenario, executor=1).summary["samplers"]}["filter"]
    return found["mean_square_error"]["mean"], found["mean_square_error"]["stderr"]


@pytest.mark.parametrize(("alpha", "trials", "steps"), [(1e-2, 200, 40_000), (1e-3, 60, 40_000)])
def test_its_error_is_that_of_quadrature(alpha, trials, steps):
    """So many steps at 1e-2 that a filter told twice alpha, .0041 away, is rejected: a deviation of 11 standard errors."""
    error, stderr = mean_square_error(jumping(alpha, trials=trials, steps=steps, burn_in=steps // 20))
    assert limits.best_filter(jumping(alpha)).mean_square_error == pytest.approx(EXACT[alpha], abs=1e-8)
    assert abs(error - EXACT[alpha]) < 4.9 * stderr


def numpy_filter(fault: str, alpha: float = 1e-2, trials: int = 600, steps: int = 4000) -> tuple[float, float]:
    """The scalar filter for many trials at once, right or with a fault planted."""
    rng = np.random.default_rng(11)
    x, p = rng.choice([-1.0, 1.0], trials), np.full(trials, 0.5)  # p: of +1
    believed = {"alpha x 2": 2 * alpha, "no prediction": 0.0}.get(fault, alpha)
    total = np.zeros(trials)
    for _ in range(steps):
        theta = 2 * p - 1
        seen = theta - x + rng.standard_normal(trials)  # the gradient
        odds = p / (1 - p) * np.exp(-2 * (seen - theta))
        updated = np.clip(odds / (1 + odds), 1e-12, 1 - 1e-12)
        scored = 2 * updated - 1 if fault == "looks at x_k" else theta
        total += (scored - x) ** 2
        p = updated * (1 - believed) + (1 - updated) * believed
        x = np.where(rng.random(trials) < alpha, -x, x)
    each = total / steps
    return float(each.mean()), float(each.std(ddof=1) / np.sqrt(trials))


def test_the_test_rejects_planted_faults():
    error, stderr = numpy_filter("")
    assert abs(error - EXACT[1e-2]) < 4.9 * stderr
    for fault in ("alpha x 2", "no prediction", "looks at x_k"):
        error, stderr = numpy_filter(fault)
        assert abs(error - EXACT[1e-2]) > 4.9 * stderr, fault


# --- where it applies


ALIKE = {"cost": "quadratic", "curvature": [[1.0, 0.0], [0.0, 1.0]]}


def two(noise: list[Any], **changes: Any) -> tracker.Scenario:
    modes = [
        {**ALIKE, "minimum": [m, 0.0], **({"gradient_noise": s} if s else {})}
        for m, s in zip((1.0, -1.0), noise, strict=True)
    ]
    return scenario_of(modes, [{"kind": "langevin"}], chain={"alpha": 0.01, "Q": Q}, steps=20, trials=2, **changes)


LEFT_OUT = {
    "no noise": (two([None, None]), "no gradient noise"),
    "noise in one mode": (two([0.5, None]), "no gradient noise"),
    "other ranges": (two([[[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]]), "not the same range"),
    "stored rows": (
        tracker.load(SCENARIOS / "logistic_stream.toml", ["trials=2", "steps=20"]),
        "one of the stored rows",
    ),
}


@pytest.mark.parametrize("case", LEFT_OUT)
def test_where_it_does_not_apply_it_is_left_out_with_the_reason(case):
    scenario, reason = LEFT_OUT[case]
    run = interpreted(scenario)
    assert [row["name"] for row in run.summary["samplers"]][-2:] == ["frozen", "oracle"]
    assert [reason in note and "filter" in note for note in run.summary["notes"]] == [True]
    assert [row["rung"] for row in run.summary["ladder"]] == ["frozen", "oracle"]
    assert "mode_probability" not in run.dataset
    assert "alarms" not in run.dataset
    with pytest.raises(ScenarioError, match=f"baselines.*filter.*{reason}"):
        interpreted(scenario.replace(baselines=["filter"]))


def test_several_minimisers_leave_it_out():
    wells = [
        {"cost": "polynomial", "variables": ["a"], "formula": f"(a^2 - {m})^2", "gradient_noise": 1.0} for m in (1, 2)
    ]
    scenario = scenario_of(
        wells, [{"kind": "langevin"}], chain={"alpha": 0.01, "Q": Q}, steps=20, trials=2, start=[0.0]
    )
    run = interpreted(scenario)
    (note,) = run.summary["notes"]
    assert note.startswith("the baseline filter was left out: ")
    assert "more than one global minimiser" in note
    run.summary["notes"].insert(0, "another note, which names a filter")  # a page takes no note apart
    assert mode_belief.exhibit(View(run)).reason == f"{note}."
    with pytest.raises(ScenarioError, match="more than one global minimiser"):
        interpreted(scenario.replace(baselines=["frozen", "filter"]))


def test_without_a_chain_it_is_left_out_and_listing_it_is_refused_when_the_file_is_read():
    bowl = two([0.5, 0.5]).replace(chain=None, schedule={"switches": [[0, "mode-0"], [9, "mode-1"]]})
    assert "needs a [chain]" in interpreted(bowl).summary["notes"][0]
    with pytest.raises(ScenarioError, match=r"needs a \[chain\]"):
        bowl.replace(baselines=["filter"])


def test_baselines_that_are_chosen_need_no_note_and_leave_no_trace():
    chosen = interpreted(two([0.5, 0.5], baselines=["frozen", "oracle"]))
    assert chosen.summary["notes"] == []
    assert "mode_probability" not in chosen.dataset


def test_the_ladder_says_what_is_a_bound():
    equal = interpreted(bowls(steps=20, trials=2)).summary["ladder"]
    assert [(row["rung"], row["exact"], row["bound"]) for row in equal] == [
        ("frozen", False, False),
        ("filter", False, True),
        ("oracle", False, True),
    ]
    events = [{"kind": "switch", "at": 9, "to": "left"}]  # none of the chain's, which the filter relies on
    forced = interpreted(bowls(steps=20, trials=2, interventions=events)).summary["ladder"]
    assert [(row["rung"], row["bound"]) for row in forced] == [("frozen", False), ("filter", False), ("oracle", True)]
    unequal = interpreted(plane(trials=2)).summary["ladder"]
    assert [row["bound"] for row in unequal] == [False, False, True]
    noise = [[[1.0, 0.0], [0.0, 0.0]]] * 2
    assert [row["bound"] for row in interpreted(two(noise)).summary["ladder"]] == [False, True, True]
    # the gradients differ in the direction without noise, too: who looks there knows the mode
    modes = [
        {**ALIKE, "name": n, "minimum": m, "gradient_noise": noise[0]}
        for n, m in (("a", [1.0, 1.0]), ("b", [-1.0, -1.0]))
    ]
    told = interpreted(two(noise).replace(modes=modes))
    assert [row["bound"] for row in told.summary["ladder"]] == [False, False, True]
    assert not limits.best_filter(told.scenario).bound
    assert {"rung", "knows", "mean_square_error", "exact", "bound", "observations", "evaluations"} == set(unequal[0])
    assert [(row["observations"], row["evaluations"]["gradient"]) for row in equal] == [(0, 0), (1, 1), (0, 0)]


def test_a_run_is_opened_with_the_baselines_that_it_had(tmp_path):
    """The file leaves them open, and the program of today would run a filter: an earlier one did not."""
    scenario = bowls(steps=20, trials=2)
    run = interpreted(scenario, tmp_path / "now")
    again = tracker.open_run(tmp_path / "now")
    assert again.scenario.baselines == run.scenario.baselines == ("frozen", "oracle", "filter")
    np.testing.assert_array_equal(again.arrays["mode_probability"], run.arrays["mode_probability"])
    assert again.summary["ladder"] == run.summary["ladder"]
    assert again.scenario.sha256 == scenario.sha256
