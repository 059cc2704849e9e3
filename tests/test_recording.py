"""What is measured does not depend on what is recorded: a stretch between records is cut where the burn-in ends."""

from __future__ import annotations

import numpy as np
import pytest
from interpreting import interpreted

import tracker
from tracker.runs.summary import STEPS

WORLD = tracker.parse("""
    name = "bowls"
    seed = 5
    trials = 3
    steps = 200
    burn_in = 31
    start = [0.0, 0.0]
    chain = { alpha = 0.04, Q = [[-1.0, 1.0], [1.0, -1.0]] }
    modes = [
        { name = "up", cost = "quadratic", minimum = [1.0, 1.0], curvature = [[4.0, 1.0], [1.0, 2.0]], target = { radius = 0.4 } },
        { name = "down", cost = "quadratic", minimum = [-1.0, 0.0], curvature = [[4.0, 1.0], [1.0, 2.0]], target = { radius = 0.4 } },
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
    assert (seldom.arrays["by_mode"][..., STEPS].sum(axis=2) == 200 - 31).all()
    assert every.arrays["stays"].sum() > 0  # control: something was re-acquired
    np.testing.assert_array_equal(seldom.arrays["theta"], every.arrays["theta"][:, :, ::record_every])
