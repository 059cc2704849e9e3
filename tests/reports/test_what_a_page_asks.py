"""A page asks what its world asks: laws where nothing moves, tracking where the minimum moves, and no mode where there is one."""

from __future__ import annotations

from math import erf
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from interpreting import interpreted
from worlds import bowls

from tracker.reports.exhibit import Exhibit, Omitted
from tracker.reports.exhibits import (
    diagnostics,
    dwells,
    escape_times,
    known_share,
    landscape,
    one_trial,
    reconstruction,
    right_answers,
    running_mean,
    time_in_target,
)
from tracker.reports.metrics_disagree import still_opinion
from tracker.reports.run_page import _asked, overview, sections
from tracker.reports.run_view import View
from tracker.reports.verdict_box import verdict
from tracker.runs import Run
from tracker.runs.summary import INSIDE, STEPS

WALK = {"kind": "random-walk", "covariance": 4e-2}


@pytest.fixture(scope="module")
def switching() -> View:
    return View(interpreted(bowls(steps=200)))


@pytest.fixture(scope="module")
def alone() -> View:
    """One mode, without gradient noise."""
    one = [bowls().modes[0].model_copy(update={"gradient_noise": None})]
    return View(interpreted(bowls(modes=one, chain=None, steps=200)))


@pytest.fixture(scope="module")
def walking() -> View:
    return View(interpreted(bowls(modes=bowls().modes[:1], chain=None, drift=WALK, steps=200)))


def answers(view: View) -> Any:
    return verdict(view, diagnostics.health(view)).answers


def test_a_part_asks_what_the_verdict_asks(switching: View, alone: View, walking: View) -> None:
    for view, asked in ((switching, "Did it track?"), (alone, "Did it find the law?"), (walking, "Did it track?")):
        assert answers(view)[0].question == asked
        assert _asked(view, "Did it track?") == asked
        assert _asked(view, "Which sampler?") == "Which sampler?"


def test_where_the_minimum_walks_samplers_are_said_to_track_it(walking: View) -> None:
    """Oracle: the gap closed, from the recorded errors. Earlier the page said that nothing switches and the law is not known."""
    error = {name: walking.tracking_error[:, walking.index(name)].mean() for name in walking.names}
    closed = 1.0 - error["quick"] / error["frozen"]
    assert closed > 0.5
    assert f"quick goes {100 * closed:.0f} %" in answers(walking)[0].answer
    assert "gap closed" in overview(walking).table.columns


def test_a_landscape_that_drifts_is_drawn_with_what_its_cost_sees(walking: View, switching: View) -> None:
    """The cost is that of theta less the drift: distances of what is drawn from the minimum are the recorded errors."""
    n = walking.index("quick")
    away = np.abs(walking.theta[:, n, :, 0] - walking.modes[0].minimisers[0, 0])
    np.testing.assert_allclose(away, walking.arrays["error"][:, n], atol=1e-6)
    low, high = walking.plane.limits[0]
    assert low < -1.0 < high
    strayed = np.ptp(walking.arrays["theta"][:, n, :, 0])
    assert high - low < 0.7 * strayed  # control: theta itself strays with the walk
    assert "relative to the drift" in landscape.exhibit(walking).caption  # type: ignore[union-attr]
    assert "relative to the drift" not in landscape.exhibit(switching).caption  # type: ignore[union-attr]


def test_a_page_of_one_mode_shows_no_modes(alone: View, switching: View) -> None:
    def rows(view: View) -> int:
        return len(one_trial.exhibit(view).figure.axes)  # type: ignore[union-attr]

    assert (rows(alone), rows(switching)) == (len(alone.samplers), 1 + len(switching.samplers))  # a strip of modes
    assert "the others: median wait" not in overview(alone).table.columns
    assert "the others: median wait" in overview(switching).table.columns
    assert landscape.exhibit(alone).question == "Where are they on the cost?"
    assert "current mode" not in time_in_target.LABEL_OF_ONE
    assert "with the mode known" not in known_share.exhibit(alone).caption  # type: ignore[union-attr]
    assert "from all records" in reconstruction.exhibit(alone).method  # type: ignore[union-attr]


def test_no_gradient_noise_is_said_so_and_takes_no_figure(alone: View, switching: View) -> None:
    without, with_noise = (diagnostics.exhibit(view, diagnostics.health(view)) for view in (alone, switching))
    assert without.caption.startswith("No gradient noise;")
    assert with_noise.caption.startswith("Gradient noise adds at most")
    assert (len(without.figure.axes), len(with_noise.figure.axes)) == (1, 2)


def test_a_mean_square_error_above_that_of_standing_still_is_said_so(switching: View) -> None:
    """The error of quick is planted: nearer on average, but far off at times."""
    assert "square" not in still_opinion(switching)  # control
    squares = switching.values("mean_square_error").copy()
    for name in switching.alive:
        squares[:, switching.index(name)] = 2.0 * squares[:, switching.index("frozen")]
    planted: Any = SimpleNamespace(
        alive=switching.alive, names=switching.names, index=switching.index, score=switching.score,
        values=lambda key: squares if key == "mean_square_error" else switching.values(key),
    )  # fmt: skip
    assert still_opinion(planted) == "By mean square error standing still is best."


def test_one_sampler_has_no_least_error() -> None:
    view = View(interpreted(bowls(samplers=bowls().samplers[1:], steps=200)))
    caption = known_share.exhibit(view).caption  # type: ignore[union-attr]
    assert caption.startswith("The mean square error of quick is ")


def test_escapes_over_no_barrier_are_not_set_against_the_formula() -> None:
    wait = {"mode": "right", "median": 26.0, "low": None, "high": None}

    def shown(barrier: float) -> Any:
        wells = [{"mode": "right", "rate": rate, "barrier": barrier, "speed_up": 1.0} for rate in (0.1, 0.2)]
        view: Any = SimpleNamespace(
            alive=("a",), mode_names=("right",), summary={"a": {"recovery": {"by_mode": [wait]}}}, epsilons={"a": 0.01},
            theory={"escape": {"a": wells}},
        )  # fmt: skip
        return escape_times.shown(view)

    assert shown(0.1) is None
    assert shown(2.0) is not None


def test_visits_that_mostly_last_are_drawn_on_a_linear_axis(switching: View) -> None:
    def scale(view: View) -> str:
        return str(dwells.exhibit(view).figure.axes[0].get_yscale())  # type: ignore[union-attr]

    assert (scale(View(interpreted(bowls(steps=16)))), scale(switching)) == ("linear", "log")


def test_ages_with_gaps_have_no_empty_bins() -> None:
    """Records every 24 steps of visits of 91 steps: four ages, which twelve even bins would hold with gaps between."""
    ages = np.tile([0, 24, 48, 72], 50)
    edges = right_answers.edges_of(ages)
    assert (np.histogram(ages, edges)[0] > 0).all()
    assert right_answers._mean_ages(ages, edges).tolist() == [0, 24, 48, 72]
    dense = right_answers.edges_of(np.arange(1000))  # control: where there are no gaps the bins are even
    assert len(dense) == right_answers.BINS + 1


def test_how_soon_the_mean_settles_comes_first_where_a_law_is_asked_for(alone: View, switching: View) -> None:
    """Without the baselines: the oracle stands at the minimiser, not at the mean, and looked worse than all samplers."""
    for view, first in ((alone, "running-mean"), (switching, "landscape")):
        parts = sections(view, diagnostics.health(view))
        (part,) = [one for one in parts if one.heading.startswith("Did it")]
        assert part.items[0].key == first  # type: ignore[union-attr]
    shown = running_mean.exhibit(alone)
    assert [text.get_text() for text in shown.figure.legends[0].get_texts()] == ["slow", "quick"]  # type: ignore[union-attr]
    assert not any("oracle" in column for column in shown.table.columns)  # type: ignore[union-attr]


def test_shares_that_are_all_alike_are_left_to_the_table(switching: View) -> None:
    assert isinstance(time_in_target.exhibit(switching), Exhibit)  # control
    alike = {name: array.copy() for name, array in switching.arrays.items()}
    sums = alike["by_mode"]
    sums[..., INSIDE] = 0.96 * sums[..., STEPS]
    view = View(Run(switching.scenario, switching.run.summary, alike, switching.run.problem))
    left = time_in_target.exhibit(view)
    assert isinstance(left, Omitted)
    assert left.reason == "every sampler is there 96 % of the time, in every mode: the table on top has it."
    sums[:, 1, 0, INSIDE] = 0.90 * sums[:, 1, 0, STEPS]
    found = time_in_target.exhibit(View(Run(switching.scenario, switching.run.summary, alike, switching.run.problem)))
    assert isinstance(found, Exhibit)
    low, _high = found.figure.axes[0].get_xlim()
    assert low > 0.8  # what lies close together fills the axis
    marks = [line.get_marker() for line in found.figure.axes[0].lines]
    assert marks.count("|") == 4  # two samplers in two modes: the exact share of Gibbs' law


def test_the_share_of_gibbs_law_inside_the_target_is_exact(switching: View) -> None:
    """A bowl on a line: the law is normal with variance 1/(beta h), and the share that of its middle."""
    radius = float(np.sqrt(switching.modes[0].radius2))
    assert time_in_target.by_gibbs(switching, "quick") == pytest.approx(
        [erf(radius * np.sqrt(10.0 / 2.0))] * 2, rel=1e-9
    )
    assert time_in_target.by_gibbs(switching, "frozen") is None
