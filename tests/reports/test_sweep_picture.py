"""The picture of a sweep: lines for one axis, heat maps for two, and what it says of points that went wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from worlds import shipped

from tracker.reports.figure_files import figure_bytes
from tracker.reports.figure_style import WIDTH
from tracker.reports.sweep_axes import is_geometric
from tracker.reports.sweep_figures import sweep_exhibit
from tracker.runs import Sweep, axes_of, points_of
from tracker.runs.sweep_result import Outcome
from tracker.scenario.step_warnings import FAST, SLOW

BASE = shipped("example_a")
NAMES = ("skewed", "frozen", "oracle")
TRIALS = 16


def row(name: str, value: float | None, diverged: int) -> dict[str, Any]:
    average = {"mean": value, "stderr": None if value is None else 0.1 * value}
    return {
        "name": name,
        "epsilon": 0.01,
        "diverged": diverged,
        **dict.fromkeys(("tracking_error", "mean_square_error", "excess_cost", "inside_target"), average),
        "recovery": {"median": value, "mean": value, "low": value, "high": None, "censored": 0.1},
        "recovery_mean": {"mean": value, "stderr": None},
    }


def swept(values: dict[int, float], lost: tuple[int, ...] = (), some: tuple[int, ...] = (), **axes: Any) -> Sweep:
    """A sweep whose point n has the metric values[n], or n + 1; in ``lost`` all trials diverged, in ``some`` a few."""
    scenario = BASE.replace(sweep={name.replace("__", "."): list(entries) for name, entries in axes.items()})
    outcomes = []
    for point in points_of(scenario):
        n = point.index
        value = None if n in lost else values.get(n, n + 1.0)
        diverged = TRIALS if n in lost else 3 if n in some else 0
        rows = [row("skewed", value, diverged), row("frozen", 2.0, 0), row("oracle", 0.0, 0)]
        outcomes.append(Outcome(point, "diverged" if diverged else "complete", "", {"samplers": rows}))
    return Sweep(scenario, axes_of(scenario), tuple(outcomes))


@pytest.mark.parametrize(
    ("values", "geometric"),
    [
        ([1e-5, 1e-4, 1e-3], True),
        ([1, 2, 4, 8, 16], True),
        ([8, 1, 2, 4], True),
        ([1, 3, 10, 30], True),
        ([1, 2, 3, 4], False),
        ([0.0, 1, 10, 100], False),
        ([-1, 1, 10], False),
        ([1, 10], True),
        ([1, 2], False),
        ([5], False),
    ],
)
def test_a_logarithmic_axis_where_it_spaces_values_evenly(values: list[float], geometric: bool) -> None:
    assert is_geometric(np.array(values, dtype=float)) is geometric


def test_one_axis_is_a_line_with_bars() -> None:
    shown = sweep_exhibit(swept({}, lost=(2,), some=(1,), chain__alpha=[1e-4, 1e-3, 1e-2]))
    (ax,) = shown.figure.axes
    assert ax.get_xscale() == "log"
    bars = {bar.get_label(): bar for bar in ax.containers}
    assert set(bars) == {"skewed", "frozen"}, "the oracle's error is zero: no line"
    np.testing.assert_array_equal(bars["skewed"].lines[0].get_xdata(), [0.0064, 0.064, 0.64])  # over epsilon
    np.testing.assert_array_equal(bars["skewed"].lines[0].get_ydata(), [1.0, 2.0, np.nan])
    low, high = bars["skewed"].lines[2][0].get_segments()[0][:, 1]
    assert (low, high) == pytest.approx((0.8, 1.2))  # two standard errors
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["6.4e-3", "6.4e-2", "6.4e-1"]
    assert "From α/ε = 6.4e-3 to 6.4e-1: skewed 1 to 2 (6.4e-3 to 6.4e-2)." in shown.caption
    assert "Bars: ± 2 standard errors over trials." in shown.method
    assert "At 2 of 3 points trials diverged" in shown.caption
    assert shown.table.columns == ("chain.alpha", *NAMES, "outcome")
    assert figure_bytes(shown.figure, "png").startswith(b"\x89PNG")


def test_two_axes_are_a_heat_map_that_frames_the_best_choice_in_each_world() -> None:
    """Point 0 would be the best of the first world, had it not diverged."""
    sweep = swept(
        {0: 0.1, 2: 0.5, 4: 0.7}, some=(0,), chain__alpha=[0.001, 0.002], samplers__skewed__epsilon=[1e-3, 2e-3, 3e-3]
    )
    shown = sweep_exhibit(sweep, "excess_cost")
    ax = shown.figure.axes[0]
    assert ax.get_title(loc="left") == "skewed"
    np.testing.assert_array_equal(ax.images[0].get_array(), [[0.1, 2.0, 0.5], [4.0, 0.7, 6.0]])
    assert [(patch.get_x() + 0.44, patch.get_y() + 0.44) for patch in ax.patches] == [(2.0, 0.0), (1.0, 1.0)]
    assert [text.get_text() for text in ax.texts] == ["2", "0.50", "4", "0.70", "6"], "no number where trials diverged"
    assert "Best samplers.skewed.epsilon for chain.alpha = 0.001, 0.002: skewed 0.003, 0.002." in shown.caption


def test_maps_need_not_fill_their_rows() -> None:
    """Three maps in rows of two: the scale stands beside those that are there."""
    names = [f"s{n}" for n in range(3)]
    sweep = swept({}, chain__alpha=[0.001, 0.002], seed=[7, 8])
    outcomes = [
        Outcome(one.point, one.state, "", {"samplers": [row(name, 1.0 + n, 0) for n, name in enumerate(names)]})
        for one in sweep.outcomes
    ]
    shown = sweep_exhibit(Sweep(sweep.scenario, sweep.axes, tuple(outcomes)))
    assert [ax.get_title(loc="left") for ax in shown.figure.axes[:3]] == names
    assert figure_bytes(shown.figure, "svg")


def test_what_is_not_shown_of_three_axes_is_said() -> None:
    shown = sweep_exhibit(swept({}, chain__alpha=[0.001, 0.002], seed=[7, 8, 9], steps=[100, 200]), "recovery")
    np.testing.assert_array_equal(shown.figure.axes[0].images[0].get_array(), [[1, 3, 5], [7, 9, 11]])
    assert "only the first value is shown: steps = 100." in shown.caption


def test_words_stand_at_the_axis_as_they_are() -> None:
    shown = sweep_exhibit(swept({}, chain__initial=["one", "two", "stationary"]), "inside_target")
    (ax,) = shown.figure.axes
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["one", "two", "stationary"]
    assert "skewed 3 at chain.initial = stationary" in shown.caption, "of the share inside, more is better"


def test_long_words_are_cut_and_stand_aslant() -> None:
    words = ["a " * 20, "b$x$" * 9, "short"]
    (ax,) = sweep_exhibit(swept({}, description=words)).figure.axes
    labels = ax.get_xticklabels()
    assert [label.get_text() for label in labels] == [
        f"{'a ' * 4}…{'a ' * 4}",
        f"{'b$x$' * 2}…{'b$x$' * 2}",
        "short",
    ]
    assert all(label.get_rotation() == 25 and not label.get_parse_math() for label in labels)


def test_a_sweep_in_which_nothing_came_to_an_end_is_still_drawn() -> None:
    shown = sweep_exhibit(swept({}, lost=(0, 1, 2, 3), chain__alpha=[0.001, 0.002], seed=[7, 8]))
    assert "No point came to an end without divergence." in shown.caption
    assert figure_bytes(shown.figure, "svg")


def test_waits_that_are_cut_off_are_not_drawn_against_the_speed_of_the_chain() -> None:
    """The faster the chain, the sooner a wait is cut off: its restricted mean falls, and the worst world would look the best."""
    sweep = swept({0: 90.0, 1: 40.0, 2: 1.0}, chain__alpha=[0.001, 0.01, 1.0])
    assert "From α/ε = 0.064 to 64: skewed 90 to 1." in sweep_exhibit(sweep, "recovery").caption  # control
    for one in sweep.outcomes[2].summary["samplers"]:
        one["recovery"]["censored"] = 0.9
    shown = sweep_exhibit(sweep, "recovery")
    skewed = shown.figure.axes[0].containers[0].lines[0].get_ydata()
    assert skewed[:2].tolist() == [90.0, 40.0]
    assert np.isnan(skewed[2])
    assert "Not drawn: 1 mean wait of which more than half were cut off by the next switch." in shown.caption
    assert "Best" not in shown.caption  # alpha is nobody's choice
    errors = sweep_exhibit(sweep, "tracking_error")
    assert np.isfinite(errors.figure.axes[0].containers[0].lines[0].get_ydata()).all()


def test_alpha_over_epsilon_is_the_axis_where_all_samplers_have_one_step() -> None:
    """Control: with two steps there is no one ratio, and alpha itself is the axis, without regimes."""
    alphas = [1e-4, 1e-2, 1.0]
    (ax,) = sweep_exhibit(swept({}, chain__alpha=alphas)).figure.axes
    assert ax.get_xlabel().startswith("α/ε")
    assert [text.get_text() for text in ax.texts] == ["slow: frozen", "matched: switched", "fast: averaged"]
    bands = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in ax.patches]
    assert bands[0][1] == bands[1][0] == SLOW
    assert bands[1][1] == bands[2][0] == FAST
    plain = {"name": "plain", "kind": "langevin", "epsilon": 0.3, "beta": 2.0}
    one = swept({}, chain__alpha=alphas)
    scenario = one.scenario.replace(samplers=[*one.scenario.samplers, plain])
    outcomes = [Outcome(p, "complete", "", {"samplers": [row("skewed", 1.0, 0)]}) for p in points_of(scenario)]
    (ax,) = sweep_exhibit(Sweep(scenario, one.axes, tuple(outcomes))).figure.axes
    assert ax.get_xlabel() == "chain.alpha"
    assert not ax.texts


def test_letters_of_maps_are_as_large_as_those_of_other_figures() -> None:
    """A wider figure has smaller letters on a phone: all are as wide as the page is there."""
    for axes in ({"seed": [7, 8]}, {"seed": [7, 8, 9, 10, 11]}):
        shown = sweep_exhibit(swept({}, chain__alpha=[0.001, 0.002], **axes))
        assert shown.figure.get_figwidth() == WIDTH


def test_shares_are_not_drawn_on_a_logarithmic_axis() -> None:
    values = {0: 0.9, 1: 1e-3, 2: 1e-5}
    assert sweep_exhibit(swept(values, chain__alpha=[1e-4, 1e-2, 1.0])).figure.axes[0].get_yscale() == "log"  # control
    shown = sweep_exhibit(swept(values, chain__alpha=[1e-4, 1e-2, 1.0]), "inside_target")
    assert shown.figure.axes[0].get_yscale() == "linear"
