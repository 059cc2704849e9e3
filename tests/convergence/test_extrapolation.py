"""Extrapolation to a step of 0 against numpy's least squares, and the words of the verdicts at their borders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.polynomial import polynomial

from tracker.convergence import extrapolation, implementation_verdict
from tracker.convergence.implementation_verdict import Watched, judge
from tracker.convergence.step_tests import Steps
from tracker.convergence.trials import Tally

H = np.array([1 / n for n in (8, 16, 32, 64, 128)])


@pytest.mark.parametrize(
    ("error", "truncation", "word"),
    [
        (0.004, 0.005, "confirmed"),
        (0.012, 0.005, "inconclusive"),
        (-0.02, 0.005, "rejected"),
        (0.0, 0.02, "inconclusive"),
    ],
)
def test_an_exact_error_is_rejected_where_all_that_it_may_be_is_too_large(
    error: float, truncation: float, word: str
) -> None:
    found = extrapolation.judge_exact(np.array([0.0, error]), np.array([0.0, truncation]), np.ones(2), 0.01)
    assert found.verdict == word
    assert found.reached == pytest.approx(abs(error) + truncation)


def test_the_truncation_is_what_the_highest_degree_changes() -> None:
    """A quartic: degree 4 goes through all five values, degree 3 does not."""
    values = 0.3 * H + 500.0 * H**4
    found = extrapolation.limit_from_exact(H, values[:, None], np.zeros(1), np.ones(1), 0.01, 1)
    assert found.discrepancy[0] == pytest.approx(0.0, abs=1e-10)
    cubic = polynomial.polyfit(H, values, 3)[0]
    assert abs(cubic) > 1e-4
    assert found.uncertainty[0] == pytest.approx(abs(cubic), rel=1e-6)


def test_the_noise_of_an_extrapolation_adds_up_by_squares() -> None:
    """Trials of variance 4, 100 at each step: the intercept of numpy's fit has the variance sum of c^2 4 / 100."""
    tallies = [Tally(100, np.zeros(1), np.full((1, 1), 4.0), np.zeros(0), np.zeros(0, dtype=np.int64)) for _ in H]
    c = np.array([polynomial.polyfit(H, unit, extrapolation.DEGREE)[0] for unit in np.eye(5)])
    found = extrapolation.limit_from_samples(H, tallies, np.zeros(1), 0.1, 1)
    assert found.uncertainty[0] == pytest.approx(np.linalg.norm(c) * 2.0 / 10.0, rel=1e-9)


@pytest.mark.parametrize(
    ("steps", "word"),
    [
        (Steps(reached=0.009), "confirmed"),
        (Steps(reached=0.011), "inconclusive"),
        (Steps(reached=0.001, rejected=True), "rejected"),
        (Steps(problem="nothing is known"), "unavailable"),
    ],
)
def test_steps_alone_are_confirmed_below_the_resolution(steps: Steps, word: str) -> None:
    assert steps.word(0.01) == word


@pytest.mark.parametrize("wrong", [False, True])
def test_a_step_that_is_rejected_rejects_the_engine_whatever_the_panel_says(
    monkeypatch: pytest.MonkeyPatch, *, wrong: bool
) -> None:
    """The panel finds the exact mean with a standard error of 0.001; half of the error rate is its own."""
    watched, sums = Watched(law=Unmoved()), object()  # type: ignore[arg-type]
    tally = Tally(10**6, np.zeros(2), np.eye(2), np.zeros(0), np.zeros(0, dtype=np.int64))._replace(steps=sums)
    monkeypatch.setattr(implementation_verdict, "judge_steps", lambda *_: Steps(reached=0.001, rejected=wrong))
    found = judge(tally, np.zeros(2), 2, 0.05, watched, "")
    assert found.verdict == ("rejected" if wrong else "confirmed")
    assert (Watched(None).level, watched.level) == (0.01, 0.005)


class Unmoved:
    """A law of steps of which only the chain is asked: it never leaves."""

    exits: Any = np.zeros(1)
