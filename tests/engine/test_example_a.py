"""Example A (docs/mathematics, "Example A"): the engine against exact moments, with four planted faults that must be seen.

Statistical: each comparison within 4.9 standard errors, estimated in the test from the final points (two-sided false alarm
below 1e-6). A planted fault must be off by more than 8 in at least one of the same comparisons.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from worlds import SCENARIOS

import tracker
from tracker.engine import simulate
from tracker.environment import Environment, Timeline
from tracker.metrics import recovery
from tracker.runs import run_trials
from tracker.scenario import with_settings

SIGMAS, UNMISTAKABLE = 4.9, 8.0
TRIALS = 20_000
FILE = SCENARIOS / "example_a.toml"
PRINTED = tracker.load(FILE)

# docs/mathematics, "Example A", the sampler at T = 1: n -> p_1, mean, second moments (11, 12, 22).
EXACT = {
    8: (0.411030006250, 0.185965965203, -0.227466676885, 0.897819745909, -0.212354650304, 0.619579566851),
    32: (0.426572177055, 0.203811232865, -0.221229615983, 0.828057540023, -0.222496709461, 0.545131689696),
    128: (0.430421432346, 0.207592680894, -0.219943466414, 0.814120327405, -0.224567432020, 0.528762223776),
}
LAGGED_MEAN = (0.098527566011, -0.154949200556)  # the column "mean if x_{k+1} is used", n = 8


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interval of the recovery time, not looked at here, would take most of the time."""
    monkeypatch.setattr(recovery, "RESAMPLES", 40)


def scenario_at(n: int, skew: float = 0.7, alpha: float = 1.5) -> tracker.Scenario:
    """The problem of the file with epsilon = 1/n, alpha = 1.5/n and n steps."""
    settings = [f"samplers.skewed.epsilon={1 / n!r}", f"samplers.skewed.skew={skew!r}", f"chain.alpha={alpha / n!r}"]
    short = {"trials": TRIALS, "steps": n, "record_every": n, "samplers": PRINTED.samplers[:1], "baselines": []}
    return with_settings(PRINTED.replace(**short), settings)


def carry_out(scenario: tracker.Scenario) -> tracker.Run:
    return tracker.run(scenario, executor=2, shard_size=4000)


def deviations(run: tracker.Run, exact: tuple[float, ...]) -> np.ndarray:
    """(found - exact) in standard errors for p_1, the mean and the second moments."""
    theta, mode = run.arrays["final"][:, 0], run.arrays["final_mode"]
    assert theta.shape == (TRIALS, 2)
    samples = np.stack(
        [mode == 0, theta[:, 0], theta[:, 1], theta[:, 0] ** 2, theta[:, 0] * theta[:, 1], theta[:, 1] ** 2]
    )
    stderr = samples.std(axis=1, ddof=1) / np.sqrt(TRIALS)
    assert (stderr > 0).all()
    final = run.summary["samplers"][0]["final"]
    second = final["second"]
    assert second[0][1] == second[1][0]
    found = [final["by_mode"][0]["probability"], *final["mean"], second[0][0], second[0][1], second[1][1]]
    return (np.array(found) - exact) / stderr


@pytest.mark.parametrize("n", EXACT)
def test_final_moments_are_those_of_the_recursion(n: int) -> None:
    run = carry_out(scenario_at(n))
    assert run.summary["samplers"][0]["diverged"] == 0
    z = deviations(run, EXACT[n])
    assert np.abs(z).max() < SIGMAS, z
    by_mode = run.summary["samplers"][0]["final"]["by_mode"]
    final = run.summary["samplers"][0]["final"]
    # identity: the parts by mode, with the indicator, add up
    assert sum(part["probability"] for part in by_mode) == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(np.sum([part["mean"] for part in by_mode], axis=0), final["mean"], rtol=1e-12)
    np.testing.assert_allclose(np.sum([part["second"] for part in by_mode], axis=0), final["second"], rtol=1e-12)


class Lagging(Environment):
    """Hands out x_{k+1} where x_k is due; the mode at the end stays right."""

    def advance(self, stop: int) -> Timeline:
        t = super().advance(stop)
        at = t.offsets[1:]  # a segment for x_stop goes in at the end of each trial
        end = np.insert(t.end - 1, at, stop)
        mode = np.insert(t.mode, at, self.present)
        since = np.insert(t.since, at, t.since[at - 1])
        trial = np.insert(np.repeat(np.arange(len(at)), np.diff(t.offsets)), at, np.arange(len(at)))
        keep = end > t.start
        offsets = np.searchsorted(trial[keep], np.arange(len(at) + 1))
        return Timeline(t.start, t.stop, offsets, mode[keep], end[keep], since[keep], np.ones(keep.sum(), dtype=bool))


def with_lag(patch: pytest.MonkeyPatch) -> tracker.Scenario:
    patch.setattr(simulate, "Environment", Lagging)
    return scenario_at(8)


def with_noise_times_root_two(patch: pytest.MonkeyPatch) -> tracker.Scenario:
    def prepare(scenario: tracker.Scenario) -> Any:
        problem = simulate.prepare(scenario)
        first, *others = problem.contestants
        first = first._replace(parameters=first.parameters._replace(noise=first.parameters.noise * np.sqrt(2.0)))
        return problem._replace(contestants=(first, *others))

    patch.setattr(run_trials, "prepare", prepare)
    return scenario_at(8)


def with_the_wrong_sign_of_skew(patch: pytest.MonkeyPatch) -> tracker.Scenario:
    return scenario_at(8, skew=-0.7)


def with_alpha_doubled(patch: pytest.MonkeyPatch) -> tracker.Scenario:
    return scenario_at(8, alpha=3.0)


@pytest.mark.parametrize(
    "plant", [with_lag, with_noise_times_root_two, with_the_wrong_sign_of_skew, with_alpha_doubled]
)
def test_a_planted_fault_is_seen(plant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Controls: the comparison above must fail, and not narrowly."""
    run = carry_out(plant(monkeypatch))
    z = deviations(run, EXACT[8])
    assert np.abs(z).max() > UNMISTAKABLE, z
    if plant is with_lag:  # the fault is the one it is said to be: its own mean is known too
        lagged = (*EXACT[8][:1], *LAGGED_MEAN, *EXACT[8][3:])
        assert np.abs(deviations(run, lagged)[:3]).max() < SIGMAS
