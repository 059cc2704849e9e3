"""Trials that are all the same are one trial: nothing is judged by them, and the page says so."""

from __future__ import annotations

import pytest
from interpreting import interpreted

import tracker
from tracker.reports.checks import checks
from tracker.reports.exhibits.diagnostics import health
from tracker.reports.run_view import View

BOWL = {"cost": "quadratic", "curvature": 1.0}


def world(noise: float) -> tracker.Scenario:
    """A schedule of two bowls; without gradient noise, and at beta = inf, nothing is random."""
    return tracker.parse(
        {
            "name": "scheduled", "trials": 6, "steps": 60, "start": [0.0],
            "schedule": {"switches": [[0, "left"], [30, "right"]]},
            "modes": [{**BOWL, "name": "left", "minimum": [-1.0], "gradient_noise": noise}, {**BOWL, "name": "right", "minimum": [1.0], "gradient_noise": noise}],
            "samplers": [{"name": "fast", "kind": "langevin", "epsilon": 0.3, "beta": "inf"}, {"name": "slow", "kind": "langevin", "epsilon": 0.1, "beta": "inf"}],
            "claims": [{"text": "sooner", "left": "tracking_error.fast", "relation": "<", "right": "tracking_error.slow"}],
        }
    )  # fmt: skip


@pytest.mark.parametrize(("noise", "same"), [(0.0, True), (0.01, False)])
def test_trials_that_are_the_same_judge_nothing(noise: float, same: bool) -> None:
    run = interpreted(world(noise))
    (claim,) = run.summary["claims"]
    assert claim["estimate"] < 1.0
    assert (claim["outcome"], claim["low"] is None) == (("not told", True) if same else ("holds", False))
    view = View(run)
    (trials,) = (check for check in checks(view, health(view)) if check.name == "trials")
    assert any("trials are the same" in warning for warning in trials.warnings) == same
