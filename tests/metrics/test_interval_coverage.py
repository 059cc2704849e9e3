"""Intervals cover as often as they say, at few trials: the short version of benchmarks/interval_coverage.py, with the old ones as controls."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from worlds import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import interval_coverage as table

from tracker.metrics.averages import mean_interval

FEW, MANY = 300, 1500  # replications: of waits, and of all else
LEAST = {5: 0.90, 20: 0.93}


def enough(trials: int, replications: int) -> float:
    """Four standard errors below what the table must reach: a false alarm has probability below 1e-4 where that is the coverage."""
    return LEAST[trials] - 4.0 * float(np.sqrt(LEAST[trials] * (1 - LEAST[trials]) / replications))


@pytest.mark.parametrize("trials", [5, 20])
@pytest.mark.parametrize("name", [name for name in table.CASES if "10 " not in name])
def test_intervals_cover(name: str, trials: int) -> None:
    case, replications = table.CASES[name]
    count = FEW if replications == table.OF_WAITS else MANY
    assert table.coverage(case, trials, count, 1) >= enough(trials, count)


def test_the_old_intervals_did_not() -> None:
    """Control at 5 trials, with enough replications to tell: Student's interval of the mean of log-normal numbers covers 0.88."""
    case, _ = table.CONTROLS["mean, log-normal (old)"]
    assert table.coverage(case, 5, 6000, 1) < 0.89
    assert table.coverage(table.CASES["mean, log-normal"][0], 5, 6000, 1) > 0.90
    case, _ = table.CONTROLS["recovery median, 10 switches (old)"]
    assert table.coverage(case, 5, FEW, 1) < enough(5, FEW)


def test_there_is_no_interval_below_five_trials() -> None:
    low, high = mean_interval([1.0, 1.0], [0.1, 0.1], [4, 5], "positive")
    np.testing.assert_array_equal(np.isnan(low), [True, False])
    np.testing.assert_array_equal(np.isnan(high), [True, False])
