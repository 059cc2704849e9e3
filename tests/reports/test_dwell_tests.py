"""Tests of the hidden chain: one correction for all of them, on a run's page, in the terminal and on a sweep's page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from interpreting import interpreted
from test_sweep_page import ALPHA, box, swept, times
from worlds import scalar

import tracker
from tracker import chain
from tracker.cli.summary_printing import print_summary
from tracker.metrics.multiple_tests import family
from tracker.reports.exhibit import Exhibit
from tracker.reports.exhibits import dwells
from tracker.reports.run_view import View
from tracker.reports.verdict_box import verdict
from tracker.runs import Sweep

ASKED = 0.3  # alpha of the file


def test_the_smallest_of_many_is_multiplied_by_how_many_there_are() -> None:
    assert family([0.03, 0.5, None, float("nan"), 0.2]) == (3, pytest.approx(0.09))
    assert family([0.4, 0.9]).corrected == 0.8
    assert family([0.6, 0.9]).corrected == 1.0
    assert family([None]).tests == 0
    assert np.isnan(family([]).corrected)
    assert family([0.1] * 5).correct(0.01) == pytest.approx(0.05)


def test_the_correction_holds_its_level_and_sees_a_wrong_rate() -> None:
    """41 modes, 500 right chains: the smallest of 41 p-values is below 5 % in most, corrected in at most some 5 %."""
    rng = np.random.default_rng(4)
    modes, visits, chance = 41, 60, 0.1

    def p_values(true: float) -> np.ndarray:
        steps = rng.geometric(true, (modes, visits)).sum(axis=1)
        jumps = np.zeros((modes, modes), dtype=np.int64)
        jumps[np.arange(modes), (np.arange(modes) + 1) % modes] = visits
        exits = np.full((modes, 1), visits)
        counts = chain.DwellCounts(np.array([1, 10**9]), jumps, np.zeros(modes, dtype=np.int64), exits, steps[:, None])
        return np.asarray(chain.rate_test(counts, np.full(modes, chance)))

    smallest = [p_values(chance) for _ in range(500)]
    plain = np.mean([p.min() < 0.05 for p in smallest])
    corrected = np.mean([family(p.tolist()).corrected < 0.05 for p in smallest])
    assert plain > 0.5  # what the page quoted without saying of how many
    assert corrected < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 500)
    assert np.mean([family(p_values(1.5 * chance).tolist()).corrected < 0.05 for _ in range(50)]) > 0.9  # the control


@pytest.fixture(scope="module")
def right() -> tracker.Run:
    return interpreted(scalar(alpha=ASKED, trials=20, steps=200))


def at_rate(run: tracker.Run, alpha: float) -> View:
    """The run of a chain at ``ASKED``, read as if ``alpha`` had been asked for."""
    law = run.scenario.chain
    assert law is not None
    return View(
        tracker.Run(run.scenario.replace(chain={"alpha": alpha, "Q": law.Q}), run.summary, run.arrays, run.problem)
    )


def test_a_page_names_the_number_of_tests_and_flags_the_wrong_rate(right: tracker.Run) -> None:
    caption = exhibit_of(at_rate(right, ASKED)).caption
    tests = dwells.tests_of(View(right), counted(right))
    least = min(*tests.rate, *tests.age)
    assert f"(smallest p of 4 tests, times 4: {min(1.0, 4 * least):.2f}" in caption
    wrong = at_rate(right, ASKED / 2)
    assert "is not left as often as alpha and Q say (p = " in exhibit_of(wrong).caption
    assert "corrected for 4 tests" in exhibit_of(wrong).caption
    for view, told in ((at_rate(right, ASKED), 0), (wrong, 2)):
        lines = [line for line in verdict(view, {}).warnings if "the chain is not the one that was asked for" in line]
        assert len(lines) == told


def test_one_in_a_thousand_after_the_correction_is_worth_a_clause(
    right: tracker.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four tests: 2.4e-4 is 9.6e-4 corrected, 2.6e-4 is 1.04e-3."""
    view, counts, level = View(right), counted(right), np.full(2, 0.4)
    for p, told in ((2.4e-4, 1), (2.6e-4, 0)):
        for tests in (dwells.Tests(np.array([p, 0.4]), level), dwells.Tests(level, np.array([0.4, p]))):
            monkeypatch.setattr(dwells, "tests_of", lambda *_, tests=tests: tests)
            assert len(dwells.suspicions(view, counts)) == told


def counted(run: tracker.Run) -> chain.DwellCounts:
    counts = dwells.visits_of(View(run))
    assert counts is not None
    return counts


def exhibit_of(view: View) -> Exhibit:
    found = dwells.exhibit(view)
    assert isinstance(found, Exhibit)
    return found


def test_the_terminal_names_the_number_of_tests(right: tracker.Run, capsys: pytest.CaptureFixture[str]) -> None:
    print_summary(right.summary, None)
    together = family(d[key] for d in right.summary["chain"]["dwell"] for key in ("p_value", "rate_p_value"))
    assert f"smallest p of 4 tests, times 4: {together.corrected:.2g}" in capsys.readouterr().out


def planted(rates: dict[int, float], ages: dict[int, float]) -> Sweep:
    """Three points with two modes each, every p-value 0.3 but those of mode 0 at some points."""
    sweep = swept(times(), ALPHA)

    def summary(outcome: Any) -> Any:
        n = outcome.point.index
        modes = [
            {"mode": "a", "p_value": ages.get(n, 0.3), "rate_p_value": rates.get(n, 0.3)},
            {"mode": "b", "p_value": None, "rate_p_value": 0.3},
        ]
        return {**outcome.summary, "chain": {"switches": 1000, "dwell": modes}}

    return Sweep(sweep.scenario, sweep.axes, tuple(replace(o, summary=summary(o)) for o in sweep.outcomes))


def test_a_sweep_reads_both_tests_and_counts_points_and_modes() -> None:
    """9 tests can be made: 1e-4 is no longer suspicious, 1e-5 is."""
    assert box(planted({}, {})).warnings == ()
    assert box(planted({1: 1.2e-4}, {2: 1.2e-4})).warnings == ()
    (line,) = box(planted({1: 1e-5}, {})).warnings
    assert line == (
        "point 1 (chain.alpha = 0.002): a mode is not left as often as alpha and Q say, so the chain is not the one that was asked "
        "for (smallest p = 9 × 10⁻⁵, corrected for 9 tests: points × modes × 2)."
    )
    (line,) = box(planted({}, {0: 1e-5, 2: 1e-7})).warnings
    assert line.startswith("points 0 and 2: the visits to a mode do not last as their law says")


def test_a_sweep_flags_a_chain_at_another_rate_and_no_right_one(right: tracker.Run) -> None:
    """The p-values are those that a summary computes from the counts."""
    for alpha, flagged in ((ASKED, False), (ASKED / 2, True)):
        tests = dwells.tests_of(at_rate(right, alpha), counted(right))
        entries = [{"p_value": age, "rate_p_value": rate} for rate, age in zip(tests.rate, tests.age, strict=True)]
        sweep = swept(times(), ALPHA)
        outcomes = [
            replace(o, summary={**(o.summary or {}), "chain": {"switches": 1000, "dwell": entries}})
            for o in sweep.outcomes
        ]
        told = box(Sweep(sweep.scenario, sweep.axes, tuple(outcomes))).warnings
        assert any("not left as often" in line for line in told) == flagged
