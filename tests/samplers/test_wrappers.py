"""``restart`` and ``averaged`` around other samplers; test_kernels has their steps transcribed.

The world of the statistics is that of docs/mathematics, "Restart"; the longer table is benchmarks/rivals.txt.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from interpreting import interpreted
from test_filter import jumping
from worlds import scenario_of

import tracker
from tracker import limits
from tracker.formatting import average, number, percent
from tracker.reports.exhibits import detections
from tracker.reports.run_view import View
from tracker.scenario import ScenarioError

CUSUM = {
    "kind": "restart", "sampler": {"kind": "langevin"}, "beta": "inf", "noise_variance": 1.0, "curvature": 1.0,
    "threshold": 10.0, "shift": 1.0, "floor": 1e-3,
}  # fmt: skip
Z = 4.9  # standard errors
AVERAGED = {"kind": "averaged", "sampler": {"kind": "langevin"}, "rate": 0.1, "epsilon": 0.1, "beta": "inf"}


def named(**samplers: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": name, "epsilon": 0.02, **keys} for name, keys in samplers.items()]


def rows(run: tracker.Run) -> dict[str, Any]:
    return {row["name"]: row for row in run.summary["samplers"]}


# --- restart


def test_detection_beats_every_constant_step():
    """Floor 1e-3: 0.0038 to 0.0043 (within 5 %); at the best constant step 0.0127 to 0.0132; the best constant step 0.0201."""
    samplers = named(
        low=CUSUM,
        high={**CUSUM, "floor": 0.0196},
        quick={**CUSUM, "shift": 2.0},
        calm={**CUSUM, "threshold": 12.0},
        both={**CUSUM, "threshold": 12.0, "shift": 2.0},
        told={**CUSUM, "detector": "true-times", "floor": 0.0},
    )
    world = jumping(1e-4, samplers=samplers, trials=40, steps=150_000, burn_in=10_000, baselines=[])
    found = rows(tracker.run(world, executor=1))
    error = {name: row["mean_square_error"]["mean"] for name, row in found.items()}
    for name in ("low", "quick", "calm", "both"):
        reach = Z * found[name]["mean_square_error"]["stderr"]
        assert 0.95 * 0.0038 - reach < error[name] < 1.05 * 0.0043 + reach < 0.45 * error["high"]
    assert 0.95 * 0.0127 < error["high"] < 1.05 * 0.0132
    best = limits.best_step(
        jumping(1e-4, samplers=named(lms={"kind": "langevin", "beta": "inf"})), "lms"
    ).mean_square_error
    assert max(error[name] for name in ("low", "quick", "calm", "both")) < best / 4
    assert error["told"] < 0.7 * error["low"]
    assert found["told"]["detection"] == {"delay": {"mean": 0.0, "stderr": 0.0}, "false_alarms": 0.0, "missed": 0.0}
    delay = found["low"]["detection"]["delay"]
    # a mean gradient of 2 after the switch; U is seldom 0 when it happens, so that the alarm comes a little sooner than from 0
    assert 0.8 * (limits.run_length(2.0, 10.0, 1.0) - 1) < delay["mean"] < limits.run_length(2.0, 10.0, 1.0) - 1
    assert found["low"]["detection"]["missed"] < 0.02


@pytest.mark.parametrize(("mean", "threshold", "shift"), [(0.0, 2.5, 1.0), (1.0, 5.0, 1.0), (2.0, 10.0, 2.0)])
def test_run_lengths_are_those_of_brook_and_evans(mean, threshold, shift):
    """One mode; a step so short that theta stays where it began, ``mean`` from the minimiser: the first alarm is a run length."""
    mode = {"cost": "quadratic", "minimum": [0.0], "curvature": [[1.0]], "gradient_noise": [[1.0]]}
    keys = {**CUSUM, "epsilon": 1e-12, "threshold": threshold, "shift": shift}
    world = scenario_of([mode], [keys], start=[mean], trials=2000, steps=600, record_every=600, baselines=[])
    first = tracker.run(world, executor=1).dataset["alarm_steps"].values[:, 0, 0] + 1.0
    assert (first > 0).all()
    one, other = (limits.run_length(sign * mean, threshold, shift) for sign in (1, -1))
    stderr = first.std(ddof=1) / np.sqrt(first.size)
    assert abs(first.mean() - 1 / (1 / one + 1 / other)) < 4.9 * stderr
    assert (
        abs(first.mean() - limits.run_length(mean, 1.3 * threshold, shift)) > 4.9 * stderr
    )  # control: another threshold


def test_run_lengths_are_those_of_the_literature():
    """Tables of the CUSUM with k = 1/2 (Montgomery, Statistical Quality Control): two-sided 168 at h = 4, 465 at h = 5."""
    assert limits.run_length(0.0, 4.0, 1.0) / 2 == pytest.approx(168, abs=0.5)
    assert limits.run_length(0.0, 5.0, 1.0) / 2 == pytest.approx(465, abs=0.5)
    assert limits.run_length(1.0, 5.0, 1.0) == pytest.approx(10.4, abs=0.05)
    with pytest.raises(ValueError, match="threshold: 0 must be above 0"):
        limits.run_length(0.0, 0, 1.0)


def test_alarms_are_recorded_and_judged_by_the_switches():
    """From the recorded steps and the modes alone."""
    world = jumping(5e-3, samplers=named(cusum=CUSUM), trials=3, steps=3000, record_every=1)
    run = interpreted(world)
    modes = run.dataset["mode"].values
    for trial in range(3):
        steps = run.dataset["alarm_steps"].sel(alarm_sampler="cusum").values[trial]
        steps = steps[steps >= 0]
        switches = np.flatnonzero(np.diff(modes[trial][:-1])) + 1
        delays, false = [], 0
        open_switch = None
        for k in range(3000):
            open_switch = k if k in switches else open_switch
            if k in steps:
                false += open_switch is None
                delays += [] if open_switch is None else [k - open_switch]
                open_switch = None
        got = run.dataset["detections"].sel(alarm_sampler="cusum", trial=trial)
        assert got.values.tolist() == [len(switches), len(delays), sum(delays), false]
        assert run.dataset["alarms"].sel(sampler="cusum").values[trial] == len(steps)
    assert rows(run)["cusum"]["detection"]["missed"] < 0.5
    assert rows(run)["frozen"]["detection"] is None
    table = detections.shown(View(run)).table
    assert [row[0] for row in table.rows] == ["cusum", "filter"]
    found = rows(run)["cusum"]["detection"]
    assert table.rows[0][1:] == (average(found["delay"]), number(found["false_alarms"]), percent(found["missed"]))


def test_s_is_kept_and_velocities_are_not():
    inner = {"kind": "hessian", "skew": 0.4, "skew_step": 0.05, "skew_bounds": [-1.0, 1.0]}
    modes = [
        {"cost": "quadratic", "minimum": [m, 0.0], "curvature": [[1.0, 0.0], [0.0, 3.0]], "gradient_noise": 0.5}
        for m in (1.0, -1.0)
    ]
    told = {
        "kind": "restart",
        "sampler": inner,
        "detector": "true-times",
        "action": "mean",
        "curvature": 30.0,
        "epsilon": 0.02,
    }
    chain = {"alpha": 0.02, "Q": [[-1.0, 1.0], [1.0, -1.0]]}
    run = interpreted(scenario_of(modes, [told], chain=chain, steps=400, trials=1))
    S, theta = run.dataset["skew"].isel(trial=0, skew_sampler=0, pair=0).values, run.dataset["theta_trace"].values[0, 0]
    alarms = run.dataset["alarm_steps"].values[0, 0]
    alarms = alarms[alarms >= 0]
    assert len(alarms) > 2
    assert np.ptp(S) > 0.01
    for k in alarms:
        assert S[k + 1] == S[k]
        np.testing.assert_array_equal(theta[k + 1], theta[k])
    assert run.dataset["final_skew"].sel(sampler="sampler-0").values[0, 0] == S[-1]


def around(depth: int, kind: str) -> dict[str, Any]:
    """Return the keys of ``langevin`` with ``depth`` samplers around it."""
    keys: dict[str, Any] = {"kind": "langevin"}
    for _ in range(depth):
        outer = {"kind": "averaged", "rate": 0.1} if kind == "averaged" else {k: v for k, v in CUSUM.items() if k not in ("name", "sampler", "epsilon", "beta")}  # fmt: skip
        keys = {**outer, "sampler": keys}
    return keys


@pytest.mark.parametrize("kind", ["averaged", "restart"])
def test_samplers_stand_around_one_another_a_few_times_only(kind: str) -> None:
    """Twelve took 17 s of CPU to validate, and a quarter of an hour to compile was not enough."""
    mode = {"cost": "quadratic", "minimum": [0.0], "curvature": [[1.0]]}
    began = time.process_time()
    with pytest.raises(ScenarioError, match="sampler: at most 4 samplers may stand around one another"):
        scenario_of([mode], [{**around(12, kind), "epsilon": 0.02}], start=[0.0])
    with pytest.raises(ScenarioError, match="at most 4 samplers"):
        scenario_of([mode], [{**around(5, kind), "epsilon": 0.02}], start=[0.0])
    found = scenario_of([mode], [{**around(4, kind), "epsilon": 0.02}], start=[0.0])
    assert time.process_time() - began < 4.0
    assert found.samplers[0].kind == kind


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ({"threshold": None}, "threshold: missing: detector"),
        ({"curvature": None}, "curvature: missing: action"),
        ({"action": "hot"}, "hot_beta: missing"),
        ({"sampler": {"kind": "langevins"}}, "sampler.kind.*did you mean langevin"),
        ({"sampler": {"kind": "langevin", "epsilon": 0.1}}, "sampler.epsilon: is the wrapper's"),
        ({"sampler": {"kind": "kinetic"}}, "sampler.friction: missing"),
        ({"sampler": {"kind": "kinetic", "friktion": 1.0, "friction": 1.0}}, "sampler.friktion: unknown key"),
        (
            {"sampler": {"kind": "adaptive-step", "epsilon_step": 1e-5, "epsilon_bounds": [1e-3, 0.5]}},
            "cannot be set while it runs",
        ),
        ({"sampler": 3}, "sampler"),
    ],
)
def test_bad_keys_are_named(keys, complaint):
    given = {key: value for key, value in {**CUSUM, "epsilon": 0.02, **keys}.items() if value is not None}
    with pytest.raises(ScenarioError, match=complaint):
        scenario_of([{"cost": "quadratic", "minimum": [0.0], "curvature": [[1.0]]}], [given], start=[0.0])


def test_a_wrapper_is_written_and_read_again():
    scenario = jumping(1e-2, samplers=named(cusum=CUSUM, mean=AVERAGED))
    again = tracker.parse(scenario.toml())
    assert again.sha256 != ""
    assert again.samplers[0].sampler == {"kind": "langevin"}
    assert again.content() == scenario.content()
    assert again.set("samplers.cusum.threshold", 5.0).samplers[0].threshold == 5.0


# --- averaged


@pytest.mark.parametrize("inner", [{"kind": "langevin"}, {"kind": "kinetic", "friction": 2.0}])
def test_its_moments_are_exact(inner):
    """Theory against trials, and theory against the sum over all paths of (bar, u) written out."""
    keys = {"kind": "averaged", "sampler": inner, "rate": 0.15, "epsilon": 0.2, "beta": 4.0}
    world = jumping(2e-2, samplers=named(mean=keys), trials=64, steps=8000, burn_in=400, baselines=[])
    exact = limits.stationary(world, "mean").mean_square_error
    got = rows(tracker.run(world, executor=1))["mean"]["mean_square_error"]
    assert abs(got["mean"] - exact) < 4.9 * got["stderr"]
    other = limits.stationary(world.set("samplers.mean.rate", 0.3), "mean").mean_square_error
    assert abs(got["mean"] - other) > 4.9 * got["stderr"]  # control


def test_its_moments_by_hand():
    """Langevin in one mode: bar' = (1 - r) bar + r theta', theta' = (1 - eps) theta + noise; stationary covariance by iteration."""
    mode = {"cost": "quadratic", "minimum": [0.0], "curvature": [[1.0]], "gradient_noise": [[0.5]]}
    keys = {"kind": "averaged", "sampler": {"kind": "langevin"}, "rate": 0.3, "epsilon": 0.2, "beta": 4.0}
    world = scenario_of([mode], [keys], start=[0.0])
    r, eps = 0.3, 0.2
    A, b = np.array([[1 - r, r * (1 - eps)], [0.0, 1 - eps]]), np.array([r, 1.0])
    V, noise = np.zeros((2, 2)), eps**2 * 0.5 + 2 * eps / 4.0
    for _ in range(2000):
        V = A @ V @ A.T + noise * np.outer(b, b)
    assert limits.stationary(world, "sampler-0").second[0, 0] == pytest.approx(V[0, 0], rel=1e-12)
    limit = limits.stationary(world, "sampler-0", of="limit").second[0, 0]
    assert limit == pytest.approx(1 / 4.0, rel=1e-12)  # as epsilon -> 0 the average becomes the point
    assert limits.best_step(jumping(1e-3, samplers=named(mean=AVERAGED)), "mean").mean_square_error > 0
    with pytest.raises(limits.OutOfScope, match="no derivative at epsilon = 0"):
        limits.leading_error(world, "sampler-0", 1.0)
    assert limits.stability(jumping(1e-3, samplers=named(mean=AVERAGED)), "mean").stable


def test_at_rate_1_it_is_the_inner_sampler():
    run = interpreted(
        jumping(
            1e-2,
            samplers=named(whole={**AVERAGED, "rate": 1.0}, inner={"kind": "langevin", "epsilon": 0.1, "beta": "inf"}),
            trials=2,
            steps=600,
        )
    )
    theta = run.dataset["theta_trace"]
    np.testing.assert_array_equal(theta.sel(sampler="whole"), theta.sel(sampler="inner"))
