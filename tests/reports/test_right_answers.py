"""The figure of right answers: ages since a switch, shares against the definition, and where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from interpreting import interpreted
from worlds import SCENARIOS, bowls

import tracker
from tracker.costs.base import correct, expected, expected_of_each, right_shares
from tracker.reports.exhibits import right_answers
from tracker.reports.run_view import View
from tracker.reports.sampler_vs_sampler import against, quantities
from tracker.scenario.builders import build_modes


@pytest.fixture(scope="module")
def view() -> View:
    short = ["trials=5", "steps=60", "record_every=3", "chain.alpha=0.02"]
    return View(interpreted(tracker.load(SCENARIOS / "logistic_stream.toml", short)))


def test_ages_count_from_the_first_record_of_a_visit() -> None:
    mode = np.array([[0, 0, 1, 1, 1, 0]])
    assert right_answers.ages_of_records(mode, 10).tolist() == [[-1, -1, 0, 10, 20, 0]]


def test_shares_are_those_of_the_cost(view: View) -> None:
    """Oracle: ``correct`` one point at a time; theta = 0 ties every row."""
    thetas = np.vstack([np.zeros(view.scenario.dimension), view.arrays["theta"][0, :3, -1]])
    for mode in view.modes:
        alone = [correct(mode.cost, theta) for theta in thetas]
        np.testing.assert_allclose(right_shares(mode.cost, thetas), alone, rtol=1e-12)
        alone = [expected(mode.cost, theta) for theta in thetas]
        np.testing.assert_allclose(expected_of_each(mode.cost, thetas), alone, rtol=1e-12)


def test_a_page_judged_by_accuracy_shows_it_first(view: View) -> None:
    (shown,) = right_answers.exhibits(view)
    assert shown.table.columns == ("steps", *view.names)
    assert "standing still 50 %" in shown.caption  # theta = 0 guesses
    assert right_answers.exhibits(View(interpreted(bowls()))) == []  # control: no labels
    first = quantities(view)[0]
    assert first.title == "100 % − accuracy"
    values = view.values("accuracy")
    ratio = against(view, first, view.names[0])[view.names[1]].estimate
    assert ratio == pytest.approx((1.0 - values[:, 1].mean()) / (1.0 - values[:, 0].mean()), rel=1e-12)


@pytest.mark.parametrize("file", ["jumping_mixture", "example_2"])
def test_costs_at_many_points_are_those_at_each(file: str) -> None:
    """Oracle: ``expected`` one point at a time, on fresh draws and on stored data."""
    scenario = tracker.load(SCENARIOS / f"{file}.toml")
    thetas = np.random.default_rng(0).normal(size=(5, scenario.dimension))
    for mode in build_modes(scenario):
        alone = [expected(mode.cost, theta) for theta in thetas]
        np.testing.assert_allclose(expected_of_each(mode.cost, thetas), alone, rtol=1e-12)
