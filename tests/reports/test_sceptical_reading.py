"""What a sceptical reader stumbled over: checks that contradict their warnings, answers that hide who else is best, vague laws."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from interpreting import interpreted
from test_sweep_page import answer, swept
from worlds import SCENARIOS, bowls

import tracker
from tracker.formatting import times_or_percent, with_interval
from tracker.reports.checks import checks
from tracker.reports.exhibit import Exhibit, Omitted
from tracker.reports.exhibits import diagnostics, error_over_time, known_share, landscape, state_paths, switches, world
from tracker.reports.judged_by import MEAN_OF_THE_LAW
from tracker.reports.law_found import Distance
from tracker.reports.run_view import View
from tracker.reports.sampler_vs_sampler import exhibit as comparison
from tracker.reports.sweep_page import points_table, subtitle, sweep_exhibits, tuning_table
from tracker.reports.tuning import best_steps
from tracker.reports.verdict_box import did_it_find_the_law, did_it_track, which_sampler
from tracker.scenario.step_warnings import _share


@pytest.fixture(scope="module")
def switching() -> View:
    return View(interpreted(bowls(steps=400, trials=6)))


@pytest.fixture(scope="module")
def alone() -> View:
    return View(interpreted(bowls(modes=bowls().modes[:1], chain=None, steps=400, trials=6)))


# --- numbers


@pytest.mark.parametrize(
    ("found", "pivot", "text"),
    [
        ((1.0369, 1.0341, 1.0397), 1.0, "1.0369 [1.0341, 1.0397]"),
        ((0.5461, 0.522, 0.571), 1.0, "0.546 [0.522, 0.571]"),
        ((1.02, 1.018, 1.0222), 1.0, "1.0200 [1.0180, 1.0222]"),  # was "1.02 [1.02, 1.02]"
        ((21.0, 13.8, 32.0), 1.0, "21 [14, 32]"),
        ((1.4, 1.000004, 3.1), 1.0, "1.400000 [1.000004, 3.100000]"),  # no end that differs from 1 is written as 1
        ((1.4, 1.000004, 3.1), None, "1.4 [1.0, 3.1]"),
        ((0.0, 0.0, 0.0), None, "0 [0, 0]"),
    ],
)
def test_the_digits_of_an_interval_are_those_of_its_width(
    found: tuple[float, float, float], pivot: float | None, text: str
) -> None:
    assert with_interval(*found, pivot) == text


def test_a_ratio_above_one_is_told_as_times() -> None:
    assert [times_or_percent(ratio) for ratio in (0.052, 0.43, 1.0, 18.0, 21.07)] == [
        "5.2 % of", "43 % of", "1 times", "18 times", "21 times",
    ]  # fmt: skip


def test_counts_of_samplers_read_as_one_says_them() -> None:
    assert [_share(*counts) for counts in ((1, 1), (2, 2), (3, 3), (1, 3), (2, 3))] == [
        "the sampler is", "both samplers are", "all 3 samplers are", "1 of 3 samplers is", "2 of 3 samplers are",
    ]  # fmt: skip


def test_numbers_under_a_figure_have_the_digits_of_their_errors(switching: View) -> None:
    shown = error_over_time.exhibit(switching)
    assert isinstance(shown, Exhibit)
    assert shown.table.columns == ("around step (± standard errors)", *switching.names)
    cells = [str(cell) for row in shown.table.rows for cell in row[1:]]
    assert all("10⁻¹" not in cell for cell in cells)  # standing still, in all trials alike, has no error of rounding
    assert any(" ± " in cell for cell in cells)


# --- checks


def test_a_check_with_a_warning_does_not_say_that_all_is_well() -> None:
    """A step far too large, gradient noise far above the injected, and targets that nothing stays in."""
    hot = [{"name": "hot", "kind": "langevin", "epsilon": 1.9, "beta": 1e6}]
    view = View(interpreted(bowls(samplers=hot, steps=200, trials=6)))
    health = {"hot": replace(diagnostics.health(view)["hot"], step=2.5, any_noise=18.0)}
    made = {check.name: check for check in checks(view, health)}
    assert made["gradient noise"].result == "gradient noise at most 18 times the injected"
    assert made["steps"].result == "steps at most 2.5 times their stability limits"
    tiny = bowls(steps=300, trials=6)
    for mode in tiny.modes:
        tiny = tiny.set(f"modes.{mode.name}.target", {"radius": 1e-4})
    view = View(interpreted(tiny))
    made = {check.name: check for check in checks(view, diagnostics.health(view))}
    assert not made["minimisers"].fine
    assert made["minimisers"].result.endswith("; distances or targets say little")
    assert not made["chain"].fine
    assert made["chain"].result.endswith("; most waits were cut off")


def test_a_check_without_a_warning_is_told_as_before(switching: View) -> None:  # control
    made = {check.name: check for check in checks(switching, diagnostics.health(switching))}
    assert made["minimisers"].fine
    assert made["minimisers"].result == "no record lies below the least cost"


# --- the verdict


def test_who_is_best_by_cost_is_said_where_the_best_is_named(switching: View) -> None:
    costs = switching.values("excess_cost").copy()
    best = which_sampler(switching).mark
    other = next(name for name in switching.alive if name != best)
    assert which_sampler(switching).tone == "good"  # control
    costs[:, switching.index(other)] = 0.5 * costs[:, switching.index(best)]

    class Costly(View):
        """The same run, had the other sampler cost half as much."""

        def values(self, key: str) -> np.ndarray:
            return costs if key == "excess_cost" else switching.values(key)

    found = which_sampler(Costly(switching.run))
    assert (found.mark, found.tone) == (f"{best} by tracking error", "warn")
    assert found.answer.endswith(f" By cost {other} is best.")
    assert "By cost" not in did_it_track(Costly(switching.run)).answer
    assert len(found.answer.split()) <= 25


def test_a_winner_that_is_told_the_switches_is_said_to_be() -> None:
    inner = {"kind": "langevin"}
    keys = {
        "kind": "restart",
        "epsilon": 0.2,
        "beta": 20.0,
        "sampler": inner,
        "action": "hot",
        "hot_beta": 1.0,
        "hot_steps": 2,
    }
    told = {"name": "knows", "detector": "true-times", **keys}
    seen = {"name": "sees", "detector": "cusum", "threshold": 50.0, "shift": 1.0, "noise_variance": 1.0, **keys}
    view = View(interpreted(bowls(samplers=[told, seen], steps=200, trials=6)))
    errors = view.values("tracking_error").copy()

    class Planted(View):
        """The same run, had one of the two, whichever is asked, a tenth of the error."""

        def values(self, key: str) -> np.ndarray:
            return errors if key == "tracking_error" else view.values(key)

    for best, other, said in (("knows", "sees", True), ("sees", "knows", False)):
        errors[:, view.index(best)] = 0.1 * errors[:, view.index(other)]
        found = which_sampler(Planted(view.run))
        assert found.mark.startswith(best)
        assert (f"{best} is told each switch." in found.answer) is said


def test_the_share_of_the_way_stands_in_the_detail_where_accuracy_is_told() -> None:
    short = ["trials=5", "steps=60", "record_every=6", "chain.alpha=0.02"]
    view = View(interpreted(tracker.load(SCENARIOS / "logistic_stream.toml", short)))
    assert any(" of the way from standing still " in line for line in did_it_track(view).more)


def test_a_law_within_a_large_chance_is_not_called_found(alone: View) -> None:
    """W1 below what chance makes says little where chance is as wide as the law."""
    law = alone.law
    assert law is not None

    def judged(noise: float, dimension: int = 1) -> Any:
        distances = {name: Distance(0.1, 4.0, noise, 1.0) for name in alone.samplers}
        planted: Any = SimpleNamespace(
            alive=alone.alive,
            coordinate_name="θ₁",
            law=law._replace(distances=distances),
            asks_for_law=True,
            scenario=SimpleNamespace(dimension=dimension),
        )
        return did_it_find_the_law(planted)

    assert (judged(0.2).mark, judged(0.2).tone) == ("yes", "good")
    assert "within chance (up to 0.2" in judged(0.2).answer
    assert (judged(0.6).mark, judged(0.6).tone) == ("not told apart", "warn")
    assert "more than a quarter of the law's standard deviation" in judged(0.6).more[0]
    assert judged(0.05).mark == "no"  # told from the law
    assert judged(0.2).answer.startswith("W1 from the law: ")
    assert judged(0.2, 2).answer.startswith("W1 of θ₁ from the law: ")  # of one coordinate of two
    spread = float(next(iter(law.distances.values())).spread)
    mode, beta = alone.modes[0], float(alone.scenario.samplers[0].beta)
    assert spread == pytest.approx(float(np.sqrt(1.0 / (beta * mode.cost.curvature[0, 0]))), rel=1e-3)


# --- figures


def test_a_page_that_asks_for_the_law_compares_by_the_error_of_the_mean(alone: View) -> None:
    shown = comparison(alone)
    assert isinstance(shown, Exhibit)
    assert shown.caption.partition(": ")[2].startswith(MEAN_OF_THE_LAW)
    rows = [row for row in shown.table.rows if row[1] == MEAN_OF_THE_LAW]
    first, second = alone.samplers[:2]
    errors = alone.law.mean_errors  # type: ignore[union-attr]
    assert [row[0] for row in rows] == [second]  # the baselines have none
    assert rows[0][2] == pytest.approx(errors[:, alone.index(second)].mean() / errors[:, alone.index(first)].mean())


def test_waits_that_were_all_cut_short_have_no_ratio(switching: View) -> None:
    assert any("wait" in str(row[1]) for row in comparison(switching).table.rows)  # type: ignore[union-attr]
    lost = switching.run.summary | {
        "samplers": [
            {**row, "recovery": {**row["recovery"], "censored": 1.0}} for row in switching.run.summary["samplers"]
        ]
    }
    run = switching.run
    view = View(tracker.Run(run.scenario, lost, run.arrays, run.problem))
    assert not any("wait" in str(row[1]) for row in comparison(view).table.rows)  # type: ignore[union-attr]


def test_a_first_touch_is_said_to_be_one_where_no_visit_shows_a_stay(switching: View) -> None:
    """As where the chain is faster than theta settles: who swings through the target is not back."""
    assert "whether they stayed is not known" not in switches.exhibit(switching).caption  # type: ignore[union-attr]
    rows = [{**row, "recovery": {**row["recovery"], "stayed": None}} for row in switching.run.summary["samplers"]]
    run = switching.run
    view = View(tracker.Run(run.scenario, {**run.summary, "samplers": rows}, run.arrays, run.problem))
    assert "A wait ends at the first touch: whether they stayed is not known" in switches.exhibit(view).caption  # type: ignore[union-attr]


def test_large_errors_are_counted_in_thousands(switching: View) -> None:
    def labels(factor: float) -> list[str]:
        scaled = {**switching.run.arrays, "excess": factor * switching.run.arrays["excess"]}
        run = tracker.Run(switching.scenario, switching.run.summary, scaled, switching.run.problem)
        ax = error_over_time.exhibit(View(run)).figure.axes[1]  # type: ignore[union-attr]
        return [str(ax.yaxis.get_major_formatter()(y, 0)) for y in (20000.0, 40000.0)]

    assert labels(1e5) == ["20k", "40k"]
    assert labels(1.0) != ["20k", "40k"]  # control


def test_a_state_that_never_moves_takes_no_figure() -> None:
    inner = {"kind": "langevin"}
    told = {"name": "told", "kind": "restart", "epsilon": 0.05, "beta": 5.0, "sampler": inner, "detector": "true-times",
            "action": "hot", "hot_beta": 1.0, "hot_steps": 5}  # fmt: skip
    (shown,) = state_paths.exhibits(View(interpreted(bowls(samplers=[told], steps=100))))
    assert isinstance(shown, Omitted)
    assert shown.reason == "it stays 0."


def test_the_start_lies_within_the_frame_of_the_landscapes() -> None:
    """Beside the two bowls, but not so far that it would shrink them; far away it stays outside."""
    near = View(interpreted(bowls(steps=60, start=[1.9], burn_in=30))).plane.limits[0]
    far = View(interpreted(bowls(steps=60, start=[40.0], burn_in=50))).plane.limits[0]
    assert near[1] > 1.9
    assert far[1] < 40.0


def test_shares_in_the_long_run_are_written_alike() -> None:
    thirds = [[-1.0, 1.0], [1.0 + 1e-13, -1.0 - 1e-13]]
    view = View(interpreted(bowls(steps=60, chain={"alpha": 0.05, "Q": thirds, "initial": "stationary"})))
    assert "50 %" in world.exhibit(view).caption  # type: ignore[union-attr]
    assert "50.0 %" not in world.exhibit(view).caption  # type: ignore[union-attr]


def test_standing_still_is_told_beside_a_least_error_above_it(switching: View) -> None:
    assert "standing still has" not in known_share.exhibit(switching).caption  # type: ignore[union-attr]
    rows = [
        {**row, "mean_square_error": {"mean": 0.01, "stderr": None}} if row["name"] == "frozen" else row
        for row in switching.run.summary["samplers"]
    ]
    run = switching.run
    view = View(tracker.Run(run.scenario, {**run.summary, "samplers": rows}, run.arrays, run.problem))
    assert "; standing still has 0.01" in known_share.exhibit(view).caption  # type: ignore[union-attr]


def test_a_ring_in_a_section_is_said_to_be_one() -> None:
    short = ["trials=5", "steps=60", "record_every=6", "chain.alpha=0.02"]
    view = View(interpreted(tracker.load(SCENARIOS / "logistic_stream.toml", short)))
    assert "can be far from the target in the others" in landscape.exhibit(view).method  # type: ignore[union-attr]


# --- sweeps


def test_a_sweep_says_whose_best_step_lies_at_the_edge_where_it_names_the_winner() -> None:
    steps = {"chain.alpha": [0.001, 0.002], "samplers.*.epsilon": [0.01, 0.02, 0.03]}

    def level(name: str, settings: dict[str, Any]) -> float:
        epsilon = next(value for key, value in settings.items() if key.endswith("epsilon"))
        inner, rising = 0.5 + abs(epsilon - 0.02), 1.5 - epsilon
        return {"frozen": 2.0, "oracle": 0.0, "plain": inner, "skewed": rising}[name]

    found = answer(swept(level, steps), "Which sampler?")
    assert (found.mark, found.tone) == ("plain", "warn")
    assert found.answer.endswith("skewed may be better beyond the edge of the grid.")


def test_a_sweep_writes_its_numbers_as_runs_do() -> None:
    sweep = swept(
        lambda name, _: {"frozen": 2.0, "oracle": 0.0}.get(name, 1.0),
        {"chain.alpha": [1e-5, 2e-4], "samplers.*.epsilon": [0.01, 0.02]},
    )
    assert f"{sweep.scenario.steps:,} steps" in subtitle(sweep)
    shown = tuning_table(best_steps(sweep))
    worlds = {str(row[0]) for row in shown.table.rows}
    assert worlds == {"chain.alpha = 10⁻⁵", "chain.alpha = 0.0002"}
    drawn = next(one for one in sweep_exhibits(sweep) if one.key == "tracking-error")
    assert isinstance(drawn, Exhibit)
    assert {row[0] for row in drawn.table.rows} == {"10⁻⁵", "0.0002"}
    assert {row[1] for row in points_table(sweep).table.rows} == {"10⁻⁵", "0.0002"}


# --- the terminal


def test_a_run_that_goes_on_shows_no_interval_of_dashes() -> None:
    from rich.console import Console

    from tracker.cli.watch import _table
    from tracker.runs.so_far import ErrorSoFar

    few, enough = (
        ErrorSoFar("few", 0.6, float("nan"), float("nan"), 3, 0),
        ErrorSoFar("enough", 0.6, 0.5, 0.7, 5, 0),
    )
    screen = Console(width=100, record=True, force_terminal=False)
    screen.print(_table([few, enough], "tracking error"))
    shown = screen.export_text()
    assert "- to -" not in shown
    assert "0.5000 to 0.7000" in shown  # control
