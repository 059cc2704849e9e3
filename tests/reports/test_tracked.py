""" "It tracked" is decided by the end of the interval, not by the estimate: in a run and in a sweep."""

from __future__ import annotations

import copy
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from interpreting import interpreted
from test_sweep_page import ALPHA, LUCK, answer, swept
from worlds import bowls

import tracker
from tracker.formatting import percent_with_interval
from tracker.reports.run_view import View
from tracker.reports.verdict_box import did_it_track, verdict
from tracker.runs.summary import ERROR, STEPS

STUDENT_11 = 2.200985160  # the 97.5 % quantile on 11 degrees of freedom, from any table
TWELVE = np.resize([1.0, -1.0], 12)  # mean 0, standard error 1 / sqrt 11
IN_TURN = np.resize([1.0, -1.0], LUCK.size)


@pytest.fixture(scope="module")
def base() -> tracker.Run:
    """One sampler, two modes, 12 trials."""
    one = {"name": "a", "kind": "langevin", "epsilon": 0.05, "beta": 2.0}
    return interpreted(bowls(trials=12, steps=40, samplers=[one], baselines=["frozen", "oracle"]))


def with_errors(base: tracker.Run, errors: dict[str, np.ndarray]) -> View:
    """The run, had its trials had these errors."""
    arrays, summary = dict(base.arrays), copy.deepcopy(dict(base.summary))
    arrays["by_mode"] = arrays["by_mode"].copy()
    for n, row in enumerate(summary["samplers"]):
        error = errors[row["name"]]
        arrays["by_mode"][:, n, :, ERROR] = arrays["by_mode"][:, n, :, STEPS] * error[:, np.newaxis]
        row["tracking_error"] = {"mean": float(error.mean()), "stderr": None}
    return View(tracker.Run(base.scenario, summary, arrays, base.problem))


@pytest.mark.parametrize(
    ("error", "spread", "mark", "said"),
    [
        (0.9, 0.1, "mostly", "goes 55 %"),
        (0.9, 0.4, "partly", "goes 55 %"),  # more than half of the gap, but the interval begins at 41 %
        (0.9, 0.2, "partly", "goes 55 %"),  # at 49 %
        (0.19, 0.4, "mostly", "goes 90 %"),  # at 88 %
        (0.15, 0.2, "fully", "goes 92 %"),
        (1.6, 0.1, "hardly", "goes 20 %"),
        (1.8, 0.4, "no", "not told from standing still"),  # the interval holds 0
        (2.4, 0.4, "no", "not told from standing still"),  # and here too
        (2.4, 0.1, "no", "Standing still is better"),
    ],
)
def test_the_end_of_the_interval_decides(base: tracker.Run, error: float, spread: float, mark: str, said: str) -> None:
    """Standing still has the error 2, knowing the mode 0; what is left of the gap is error / 2, times exp(+-t s / sqrt 11)."""
    own = error * (1.0 + spread * TWELVE)
    found = did_it_track(with_errors(base, {"a": own, "frozen": np.full(12, 2.0), "oracle": np.zeros(12)}))
    reach = math.exp(STUDENT_11 * spread / math.sqrt(11))
    low, high = 1.0 - error / 2.0 * reach, 1.0 - error / 2.0 / reach
    assert found.mark == mark
    assert said in found.answer
    assert percent_with_interval(1.0 - error / 2.0, low, high).partition(" ")[2] in found.in_full


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (0.5, ""),
        (0.51, "more than half of its stability limit"),
        (1.0, "beyond its mean-square stability limit"),
        (5.0, "beyond"),
    ],
)
def test_a_step_at_its_limit_is_beyond_it(base: tracker.Run, step: float, said: str) -> None:
    health: Any = {"a": SimpleNamespace(step=step, any_noise=math.nan)}
    lines = [line for line in verdict(View(base), health).warnings if line.startswith("a: the step is")]
    assert len(lines) == bool(said)
    assert all(said in line for line in lines)


@pytest.mark.parametrize(("error", "spread", "mark"), [(0.9, 0.05, "mostly"), (0.9, 0.4, "partly"), (1.8, 0.4, "no")])
def test_the_end_of_the_interval_decides_in_a_sweep(error: float, spread: float, mark: str) -> None:
    """The estimates are 55 %, 55 % and 10 % of the gap in all of three worlds."""
    own = {"skewed": error * (1.0 + spread * IN_TURN), "plain": 3.0, "frozen": 2.0, "oracle": 0.0}
    assert answer(swept(lambda name, _: own[name] / LUCK, ALPHA), "Did it track?").mark == mark
