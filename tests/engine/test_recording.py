"""What is measured does not depend on what is recorded: the loop goes from record to record in one stretch, or step by step."""

from __future__ import annotations

import numpy as np
import pytest
from interpreting import interpreted

import tracker
from tracker.costs.quadratic import Quadratic
from tracker.engine.measuring import square_error
from tracker.metrics.estimates import trial_values
from tracker.metrics.table import METRICS
from tracker.runs.summary import EXCESS, MEASURED, STEPS

WORLD = tracker.parse("""
    name = "bowls"
    seed = 5
    trials = 3
    steps = 200
    burn_in = 9
    start = [0.0, 0.0, 0.5]
    chain = { alpha = 0.04, Q = [[-1.0, 1.0], [1.0, -1.0]] }
    modes = [
        { name = "up", cost = "quadratic", minimum = [1.0, 1.0, 0.0], curvature = [[4.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 3.0]], target = { radius = 1.3 } },
        { name = "down", cost = "quadratic", minimum = [-1.0, 0.0, 0.0], curvature = [[4.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 3.0]], target = { radius = 1.3 } },
    ]
    samplers = [{ name = "a", kind = "langevin", epsilon = 0.05, beta = 9.0 }]
""")


@pytest.fixture(scope="module")
def every() -> tracker.Run:
    return interpreted(WORLD)


@pytest.mark.parametrize("record_every", [7, 200])
def test_sums_and_counts_do_not_depend_on_the_records(every: tracker.Run, record_every: int) -> None:
    """The order of additions may differ, and nothing else; neither divides the burn-in."""
    seldom = interpreted(WORLD.replace(record_every=record_every))
    for key in ("by_mode", "by_age", "moments", "final"):
        np.testing.assert_allclose(seldom.arrays[key], every.arrays[key], rtol=1e-12, atol=1e-12, err_msg=key)
    for key in ("waits", "stays", "diverged"):
        np.testing.assert_array_equal(seldom.arrays[key], every.arrays[key], err_msg=key)
    assert (seldom.arrays["by_mode"][..., STEPS].sum(axis=2) == 200 - 9).all()
    assert every.summary["cost_every"] == 17
    assert (seldom.arrays["by_mode"][..., MEASURED].sum(axis=2) == len(range(9 + 8, 200, 17))).all()
    assert every.arrays["stays"].sum() > 0  # control: something was re-acquired
    np.testing.assert_array_equal(seldom.arrays["theta"], every.arrays["theta"][:, :, ::record_every])


def test_the_summary_is_that_of_the_counts(every: tracker.Run) -> None:
    """By loops: costs over the steps at which they were measured, waits by Kaplan and Meier without those that were none."""
    row, by_mode = every.summary["samplers"][0], every.arrays["by_mode"][:, 0].sum(axis=1)
    excess = [one[EXCESS] / one[MEASURED] for one in by_mode]
    assert row["excess_cost"]["mean"] == pytest.approx(np.mean(excess), rel=1e-12)
    assert row["regret"]["mean"] == pytest.approx(17 * by_mode[:, EXCESS].mean(), rel=1e-12)
    np.testing.assert_allclose(trial_values(METRICS["excess_cost"], every.measured)[:, 0], excess, rtol=1e-12)
    looked, still = every.arrays["stays"][:, 0].sum(axis=(0, 1))
    assert row["recovery"]["stayed"] == still / looked
    assert still > 0

    waits, switches = every.arrays["waits"][:, 0].sum(axis=0), int(every.arrays["switches"].sum())
    assert waits[:, 0, 0].sum() > 0  # control: some stood inside already
    horizon = int(3 * 200 / (switches + 3))
    assert 1 < horizon < 64  # bins of one step each
    assert every.measured.horizon == horizon
    mean, count = 0.0, 0
    for mode in waits:
        ended, cut = mode[:, 0].copy(), mode[:, 1]
        ended[0] = 0
        alive, at_risk, total = 1.0, int(ended.sum() + cut.sum()), 0.0
        count += at_risk
        weight = at_risk
        for wait in range(horizon):
            alive *= 1.0 - ended[wait] / at_risk if at_risk else 1.0
            at_risk -= int(ended[wait] + cut[wait])
            total += alive
        mean += weight * total
    assert row["recovery"]["mean"] == pytest.approx(mean / count, rel=1e-12)


def test_the_nearest_of_several_targets_counts() -> None:
    """Wherever it stands in the list."""
    cost, point = Quadratic(np.eye(2), np.zeros(2), np.zeros((2, 0))), np.empty(2)
    targets = np.array([[3.0, 0.0], [0.0, 1.0], [-5.0, 2.0]])
    for theta, wanted in (((3.0, 0.5), 0.25), ((0.0, 0.0), 1.0), ((-4.0, 2.0), 1.0)):
        assert square_error(cost, targets, np.array(theta), point) == wanted
