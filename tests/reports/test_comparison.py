"""Samplers against each other on a page: ratios on the side of the means, and what diverged trials leave to be said."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
from test_report import ROOT, interpreted

import tracker
from tracker.formatting import interval
from tracker.metrics.paired import Paired, difference
from tracker.reports import sampler_vs_sampler
from tracker.reports.exhibit import Exhibit, Omitted
from tracker.reports.run_view import View
from tracker.reports.verdict_box import did_it_track, which_sampler
from tracker.runs.summary import ERROR, STEPS

TRIALS = 12
EASY = np.arange(TRIALS) % 2 == 0
LUCK = np.random.default_rng(6).uniform(0.95, 1.05, TRIALS)
FIRST, SECOND, THIRD = "skewed", "classical", "slow"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> tracker.Run:
    text = (ROOT / "scenarios" / "example_a.toml").read_text()
    keys = {"kind": "langevin", "epsilon": 0.05, "beta": 2.0}
    more = [{**keys, "name": name} for name in (FIRST, SECOND, THIRD)]
    settings = (f"trials={TRIALS}", "steps=120", "record_every=4", "chain.alpha=0.05", 'chain.initial="stationary"')
    out: Path = tmp_path_factory.mktemp("run") / "tiny"
    return interpreted(tracker.parse(text, settings=settings).replace(samplers=more), out)


def planted(base: tracker.Run, trials: int = TRIALS, **errors: np.ndarray | float) -> View:
    """The first trials of a run with these tracking errors; a trial whose error is nan diverged."""
    arrays = {key: v[:trials] if np.shape(v)[:1] == (TRIALS,) else v for key, v in base.arrays.items()}
    arrays = {key: np.array(value) for key, value in arrays.items()}
    summary = copy.deepcopy(dict(base.summary))
    for n, row in enumerate(summary["samplers"]):
        if row["name"] in errors:
            error = np.broadcast_to(np.asarray(errors[row["name"]], dtype=float), (trials,))
            lost = np.isnan(error)
            steps = arrays["by_mode"][:, n, :, STEPS]
            arrays["by_mode"][:, n, :, ERROR] = steps * np.where(lost, 1.0, error)[:, np.newaxis]
            arrays["diverged"][:, n] = np.where(lost, 5, -1)
            row["diverged"] = int(lost.sum())
            row["tracking_error"] = {"mean": None if lost.all() else float(np.nanmean(error)), "stderr": None}
    return View(tracker.Run(base.scenario, summary, arrays, base.problem))


def lost_but(*trials: int, count: int = TRIALS) -> np.ndarray:
    """1 in these trials, nan in the others."""
    return np.where(np.isin(np.arange(count), trials), 1.0, np.nan)


# --- the ratio says what the means say


def contradictory(base: tracker.Run) -> View:
    """The second sampler is smaller where errors are small and larger where they are large; its mean is larger."""
    first = np.where(EASY, 0.1, 1.0) * LUCK
    return planted(base, **{FIRST: first, SECOND: np.where(EASY, 0.8, 1.1) * first, THIRD: 3.0 * first})


def test_the_forest_plot_is_on_the_side_of_the_difference(base: tracker.Run) -> None:
    view = contradictory(base)
    quantity = sampler_vs_sampler.quantities(view)[0]
    values = view.values(quantity.metric.key)
    first, second = values[:, 0], values[:, 1]
    assert difference(second, first).estimate > 0.0
    assert sampler_vs_sampler.against(view, quantity, FIRST)[SECOND].estimate == pytest.approx(
        second.mean() / first.mean()
    )
    assert np.log(second / first).mean() < 0.0  # control: the geometric mean contradicts


def test_the_sampler_with_the_smallest_mean_is_judged_by_means(base: tracker.Run) -> None:
    """Against the next one its ratio is below 1; the geometric mean would be above."""
    found = which_sampler(contradictory(base))
    assert f"Then {SECOND}: 7 % less error (3 to 10 %)" in found.in_full


def test_times_to_reacquire_are_compared_by_the_means_of_all_waits(base: tracker.Run) -> None:
    view = View(base)
    quantity = next(q for q in sampler_vs_sampler.quantities(view) if q.is_time)
    means = {row["name"]: row["recovery"]["mean"] for row in base.summary["samplers"]}
    found = sampler_vs_sampler.against(view, quantity, FIRST)
    assert found[THIRD].estimate == pytest.approx(means[THIRD] / means[FIRST], rel=1e-12)
    assert np.isnan(found["frozen"].estimate)  # it never moved
    shown = sampler_vs_sampler.exhibit(view)
    assert isinstance(shown, Exhibit)
    assert (
        "Ratios are ratios of the means over paired trials, those of times of restricted means of all waits"
        in shown.method
    )


def with_evaluations(base: tracker.Run, **calls: dict[str, int]) -> View:
    """The run, of whose samplers these take so many evaluations a step."""
    summary = copy.deepcopy(dict(base.summary))
    for row in summary["samplers"]:
        row["evaluations"] |= calls.get(row["name"], {})
    return View(tracker.Run(base.scenario, summary, base.arrays, base.problem))


def test_only_times_are_compared_per_gradient_evaluation(base: tracker.Run) -> None:
    """The third takes 3 gradients a step: 3 times the ratio in steps. Errors and costs are no times: one row each."""
    shown = sampler_vs_sampler.exhibit(
        with_evaluations(base, **{SECOND: {"gradient": 1}, THIRD: {"gradient": 3, "cost": 2}})
    )
    found = rows(shown)
    titles = [title for name, title in found if name == THIRD]
    steps, work = "wait for the target, in steps", "wait for the target, in gradient evaluations"
    assert titles == ["tracking error", "excess cost", steps, work]
    assert {len(row) for row in found.values()} == {7}
    for column in (2, 3, 4):
        assert found[THIRD, work][column] == pytest.approx(3.0 * found[THIRD, steps][column], rel=1e-12)
        assert found[SECOND, work][column] == found[SECOND, steps][column]
    assert isinstance(shown, Exhibit)
    assert f"Not counted as gradient evaluations: {THIRD} also takes 2 costs a step." in shown.method
    assert "All take" not in shown.method


def test_the_same_gradients_need_no_other_comparison(base: tracker.Run) -> None:
    shown = sampler_vs_sampler.exhibit(
        with_evaluations(base, **{FIRST: {"hessian": 1}, THIRD: {"hessian": 1, "cost": 2}})
    )
    assert "recovery time, in gradient evaluations" not in {title for _, title in rows(shown)}
    assert isinstance(shown, Exhibit)
    assert "All take 1 gradient a step: times compare alike per step and per gradient evaluation." in shown.method
    also = f"{FIRST} also takes 1 Hessian a step and {THIRD} also takes 1 Hessian and 2 costs a step."
    assert f"Not counted as gradient evaluations: {also}" in shown.method
    plain = sampler_vs_sampler.exhibit(View(base))
    assert isinstance(plain, Exhibit)
    assert "Not counted" not in plain.method


# --- diverged trials


def rows(shown: Exhibit | Omitted) -> dict[tuple[object, object], tuple[object, ...]]:
    assert isinstance(shown, Exhibit)
    return {row[:2]: row for row in shown.table.rows}


def test_a_rival_that_diverged_everywhere_does_not_leave_it_undecided(base: tracker.Run) -> None:
    found = which_sampler(planted(base, **{FIRST: np.nan, SECOND: LUCK, THIRD: 2.0 * LUCK}))
    assert (found.mark, found.tone) == (SECOND, "good")
    assert f"Then {THIRD}: 50 % less error" in found.answer
    assert f"{FIRST} diverged in every trial." in found.answer
    assert "–" not in found.answer
    level = which_sampler(planted(base, **{FIRST: np.nan, SECOND: LUCK, THIRD: LUCK[::-1]}))
    assert level.mark == "undecided"  # control: two that are level stay so
    assert f"not told from {THIRD if level.answer.startswith(SECOND) else SECOND}," in level.answer


def test_the_only_survivor_is_named_with_those_that_diverged(base: tracker.Run) -> None:
    found = which_sampler(planted(base, **{FIRST: np.nan, SECOND: LUCK, THIRD: np.nan}))
    assert found.mark == SECOND
    assert f"{FIRST} and {THIRD} diverged in every trial." in found.answer


def test_rivals_without_a_trial_in_common_have_no_ratio(base: tracker.Run) -> None:
    found = which_sampler(planted(base, **{FIRST: lost_but(1), SECOND: lost_but(0, 2), THIRD: np.nan}))
    assert found.mark == "undecided"
    assert "there is no trial in which neither diverged" in found.in_full
    assert "–" not in found.answer


def test_a_smaller_error_with_more_diverged_trials_is_not_said_to_be_larger(base: tracker.Run) -> None:
    few = np.where(np.arange(TRIALS) < 2, np.nan, 0.5 * LUCK)
    found = which_sampler(planted(base, **{FIRST: few, SECOND: LUCK, THIRD: 3.0 * LUCK}))
    assert found.answer.startswith(f"{SECOND} has the smallest tracking error")
    assert "At these steps: epsilon = 0.05 for all." in found.more
    assert f"Chosen among those that diverged least; {FIRST} diverged more often." in found.more


def test_the_reference_is_the_first_sampler_with_surviving_trials(base: tracker.Run) -> None:
    view = planted(base, **{FIRST: np.nan, SECOND: LUCK, THIRD: 2.0 * LUCK})
    assert sampler_vs_sampler.reference_of(view) == SECOND
    shown = sampler_vs_sampler.exhibit(view)
    assert isinstance(shown, Exhibit)
    assert f"{THIRD} has 2 times that of {SECOND}" in shown.caption.replace("2.00", "2")
    assert f"Not drawn, as all their trials diverged: {FIRST}." in shown.caption
    assert f"ratio to {SECOND}" in shown.table.columns
    assert rows(shown)[THIRD, "tracking error"][2] == pytest.approx(2.0, rel=1e-12)


def test_without_a_survivor_the_comparison_says_so(base: tracker.Run) -> None:
    shown = sampler_vs_sampler.exhibit(planted(base, **{FIRST: np.nan, SECOND: np.nan, THIRD: np.nan}))
    assert isinstance(shown, Omitted)
    assert shown.reason == "every trial of every sampler diverged."


# --- intervals that do not exist


def test_nothing_is_worse_without_an_interval(base: tracker.Run) -> None:
    """Two trials of which one diverged: 1.05 times, and one trial says no more."""
    view = planted(base, 2, **{FIRST: 1.0, SECOND: 1.05 * lost_but(0, count=2), THIRD: np.nan})
    shown = sampler_vs_sampler.exhibit(view)
    assert isinstance(shown, Exhibit)
    assert (
        f"{SECOND} has 1.05 times that of {FIRST}, smaller in 0 of 1 trial (undecided: 1 trial gives" in shown.caption
    )
    assert "worse" not in shown.caption
    assert "–" not in shown.caption
    answer = which_sampler(view).answer
    assert "2 trials cannot tell samplers apart: that takes 5" in answer
    several = which_sampler(
        planted(base, 6, **{FIRST: 1.0, SECOND: 1.05 * lost_but(0, count=6), THIRD: np.nan})
    ).in_full
    assert "in 1 trial in which neither diverged: 1 trial gives no interval, which takes 5" in several
    worse = sampler_vs_sampler.exhibit(planted(base, **{FIRST: LUCK, SECOND: 1.05 * LUCK, THIRD: np.nan}))
    assert isinstance(worse, Exhibit)
    assert "(worse)" in worse.caption  # control


def test_the_reason_for_no_interval_is_the_true_one(base: tracker.Run) -> None:
    lost = {SECOND: np.nan, THIRD: np.nan}
    errors = {"frozen": 3.0, "oracle": 0.0, **lost}
    assert (
        "perfect; 1 trial gives no interval, which takes 5."
        in did_it_track(planted(base, 1, **{FIRST: 1.0, **errors})).answer
    )
    left = did_it_track(planted(base, **{FIRST: lost_but(3), **errors})).answer
    assert f"1 trial gives no interval, which takes 5 (of {TRIALS}, the others diverged)." in left


@pytest.mark.parametrize(
    ("low", "estimate", "high", "says"),
    [(0.8, 0.9, 0.99, "in 9 of 12 trials"), (0.8, 0.9, 1.01, "holds 1)"), (0.99, 1.1, 1.2, "holds 1)"), (1.01, 1.1, 1.2, "(worse)")],
)  # fmt: skip
def test_the_interval_and_not_the_estimate_decides(low: float, estimate: float, high: float, says: str) -> None:
    assert sampler_vs_sampler._how_sure(Paired(estimate, low, high, 9, TRIALS), "").endswith(says)


def test_the_best_of_two_is_quoted_with_an_interval_for_two(base: tracker.Run) -> None:
    """Student's 1 - 0.05 / 4 quantile with 11 degrees of freedom, from any table: 2.593; 2.201 would be that of one."""
    noise = np.random.default_rng(2).uniform(0.9, 1.1, (2, TRIALS))
    second, third = 0.95 * LUCK * noise[0], 1.2 * LUCK * noise[1]
    shown = sampler_vs_sampler.exhibit(planted(base, **{FIRST: LUCK, SECOND: second, THIRD: third}))
    assert isinstance(shown, Exhibit)
    influence = second / second.mean() - LUCK / LUCK.mean()
    reach = 2.593092683 * influence.std(ddof=1) / np.sqrt(TRIALS)
    ends = second.mean() / LUCK.mean() * np.exp([-reach, reach])
    assert f"95 % interval {interval(*ends)}, widened for the choice among 2, smaller in" in shown.caption
    assert shown.caption.startswith("At these steps (epsilon = 0.05 for all): tracking error:")
