"""The key ``baselines``: which of them run, what is refused, and pages of runs that have only some or none."""

from __future__ import annotations

import numpy as np
import pytest
from interpreting import interpreted

import tracker
from tracker.baseline_names import BASELINES as NAMES
from tracker.reports.run_page import report
from tracker.reports.run_vs_run import compare, page
from tracker.runs.forecast import array_bytes
from tracker.samplers import baselines
from tracker.samplers.baselines import Baseline, Offer

SCENARIO = """
name = "beside"
trials = 6
steps = 60
start = [0.5, 0.0]

[chain]
alpha = 0.1
Q = [[-1.0, 1.0], [0.5, -0.5]]

[[modes]]
name = "one"
cost = "quadratic"
minimum = [1.0, -1.0]
curvature = [[2.0, 0.3], [0.3, 1.0]]

[[modes]]
name = "two"
cost = "quadratic"
minimum = [-1.0, 1.0]
curvature = [[2.0, 0.3], [0.3, 1.0]]

[[samplers]]
name = "classical"
kind = "langevin"
epsilon = 0.1
"""
SECOND = """
[[samplers]]
name = "colder"
kind = "langevin"
epsilon = 0.1
beta = 5.0
"""
CHOICES = (["frozen", "oracle"], ["oracle"], ["frozen"], [])


def chosen(names: list[str], more: str = "") -> tracker.Run:
    return interpreted(tracker.parse(SCENARIO + more).replace(baselines=names))


def test_all_run_unless_some_are_chosen_and_the_samplers_do_not_notice() -> None:
    unasked = interpreted(tracker.parse(SCENARIO))
    assert [row["name"] for row in unasked.summary["samplers"]] == ["classical", "frozen", "oracle"]
    for names in CHOICES:
        run = chosen(names)
        assert [row["name"] for row in run.summary["samplers"]] == ["classical", *names]
        assert run.summary["samplers"][0]["tracking_error"] == unasked.summary["samplers"][0]["tracking_error"]
        np.testing.assert_array_equal(run.arrays["theta"][:, 0], unasked.arrays["theta"][:, 0])
        assert (run.summary["hash"] == unasked.summary["hash"]) == (names == ["frozen", "oracle"])
    assert chosen(["oracle", "frozen"]).summary["hash"] == unasked.summary["hash"]  # the order is not the file's


def test_the_forecast_counts_those_that_run() -> None:
    scenario = tracker.parse(SCENARIO)
    for names in CHOICES:
        one = scenario.replace(baselines=names)
        held = sum(array.nbytes for key, array in interpreted(one).arrays.items() if key != "trial")
        assert array_bytes(one).held == pytest.approx(held, rel=0.01)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            '["forzen"]',
            r'baselines\[0\]: "forzen" is an unknown baseline; did you mean frozen\? \(known: frozen, oracle, filter\)',
        ),
        ('["oracle", "frozen", "oracle"]', r'baselines\[2\]: "oracle" is named twice'),
        ('"oracle"', 'baselines: "oracle" must be a list'),
        ("[1]", r"baselines\[0\]: 1 must be text"),
    ],
)
def test_what_is_not_a_baseline_is_refused(given: str, says: str) -> None:
    with pytest.raises(tracker.ScenarioError, match=says):
        tracker.parse(SCENARIO, settings=[f"baselines={given}"])


def test_one_that_does_not_apply_is_left_out_or_refused_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A third baseline is one line of the table; it says itself where it cannot be."""
    refuses = lambda parts: "there is a chain" if parts.get("chain") is not None else ""  # noqa: E731
    offer = Offer(Baseline, lambda _: Baseline(1), refuses)
    monkeypatch.setitem(baselines.BASELINES, "third", offer)
    assert interpreted(tracker.parse(SCENARIO)).scenario.baselines == ("frozen", "oracle")
    with pytest.raises(tracker.ScenarioError, match=r'baselines\[0\]: "third" does not apply: there is a chain'):
        tracker.parse(SCENARIO, settings=['baselines=["third"]'])
    still = tracker.parse(SCENARIO).replace(chain=None, schedule={"switches": [[0, "one"], [30, "two"]]})
    run = interpreted(still)
    assert [row["name"] for row in run.summary["samplers"]] == ["classical", "frozen", "oracle", "third"]


def test_names_stand_in_one_order() -> None:
    assert tuple(baselines.BASELINES) == NAMES


@pytest.mark.parametrize("more", ["", SECOND])
@pytest.mark.parametrize("names", CHOICES)
def test_pages_speak_only_of_the_baselines_that_the_run_has(names: list[str], more: str) -> None:
    """The one with both is the control: it speaks of both."""
    run = chosen(names, more)
    made = report(run)
    told = page(run, run, compare(run, run))
    for name, words in (("frozen", "standing still"), ("oracle", "knowing the mode")):
        assert (f">{name}<" in made) == (name in names)
        assert (words in made.replace("the gap between standing still and knowing the mode", "")) == (name in names)
        assert (f">{name}<" in told) == (name in names)
    assert ("key baselines" in made) == (len(names) < 2)
