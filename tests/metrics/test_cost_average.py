"""Excess cost and accuracy are averages over the same steps as the errors, whatever is recorded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from interpreting import interpreted
from worlds import shipped

import tracker
from tracker.costs.base import SELDOM
from tracker.engine import problem as building
from tracker.engine.problem import first_look, prepare, steps_between_looks
from tracker.metrics.accuracy import Classes, accuracy
from tracker.runs.summary import MEASURED

EXACT = 1.34437  # the mean over k of the exact expected excess cost, from the moments of the algorithm
FAR = shipped("example_a").replace(trials=200, steps=5000, start=[5.0, 5.0])


@pytest.mark.parametrize("cost_every", [1, 17])
@pytest.mark.parametrize("record_every", [1, 100, 2500])
def test_excess_cost_is_the_exact_one_whatever_is_recorded(
    record_every: int, cost_every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statistical, within 4 standard errors. Control: the mean of the records, of which the first is the far start."""
    monkeypatch.setattr(building, "steps_between_looks", lambda _: cost_every)
    run = tracker.run(FAR.replace(record_every=record_every, samplers=FAR.samplers[:1]))
    found = run.summary["samplers"][0]["excess_cost"]
    assert run.summary["cost_every"] == cost_every
    assert abs(found["mean"] - EXACT) < 4 * found["stderr"]
    regret = run.summary["samplers"][0]["regret"]["mean"]
    measured = run.arrays["by_mode"][0, 0, :, MEASURED].sum()
    assert regret == pytest.approx(found["mean"] * cost_every * measured, rel=1e-12)
    if record_every > 1:
        recorded = run.arrays["excess"][:, 0, :-1].mean()
        assert recorded - EXACT > 4 * found["stderr"]


def test_even_the_shortest_run_is_looked_at_once() -> None:
    """The middle of 17 steps would lie beyond its end."""
    for burn_in, steps in ((0, 1), (0, 5), (3, 4), (0, 9), (5, 40)):
        first = first_look(burn_in, steps, SELDOM)
        assert burn_in <= first < steps
    assert first_look(5, 40, SELDOM) == 13
    assert first_look(5, 40, 1) == 5


def test_a_record_every_that_records_nothing_is_refused() -> None:
    with pytest.raises(tracker.ScenarioError, match="record_every: 11 must be at most steps = 10"):
        FAR.replace(steps=10, record_every=11)
    assert FAR.replace(steps=10, record_every=10).record_every == 10


MIXTURE = {"cost": "mixture", "means": [[1, 0], [1, 1]], "variance": 2, "prior_mean": [0, 0], "prior_variance": [10, 1]}


@pytest.mark.parametrize(
    ("horizon", "data", "every"), [(12, "sweep", 17), (34, "sweep", 19), (34, "shuffle", 17), (34, "full", 17)]
)
def test_looks_at_the_cost_meet_every_stored_observation(horizon: int, data: str, every: int) -> None:
    """17 and 18 have a common factor with 34, so looks would always meet the same observations."""
    keys = {**MIXTURE, "name": "a", "truth": [0, 1], "data_seed": 1, "data": data, "horizon": horizon}
    scenario = FAR.replace(chain=None, modes=[keys], start=[0.0, 0.0], steps=100, record_every=1)
    assert prepare(scenario).layout.cost_every == every


def test_costs_declare_how_often_they_are_looked_at() -> None:
    quadratic = {"cost": "quadratic", "name": "a", "minimum": [0.0, 0.0], "curvature": [[1, 0], [0, 1]]}
    three = {"cost": "quadratic", "name": "a", "minimum": [0.0] * 3, "curvature": np.eye(3).tolist()}
    wells = {"cost": "polynomial", "name": "b", "variables": ["a", "b"], "formula": "(a^2-1)^2 + b^2"}
    plain: dict[str, object] = {"steps": 100, "record_every": 1, "chain": None}
    plain["samplers"] = [{"name": "s", "kind": "langevin", "epsilon": 0.01, "beta": 1.0}]

    def looks(mode: dict[str, object], start: list[float]) -> int:
        modes = prepare(FAR.replace(**plain, modes=[mode], start=start)).modes
        return steps_between_looks([one.cost for one in modes])

    assert looks(quadratic, [0.0, 0.0]) == 1
    assert looks(three, [0.0] * 3) == looks(wells, [0.0, 0.0]) == SELDOM


def test_a_tie_is_half_right() -> None:
    """theta = 0 says nothing of any row: as good as a guess, not worse."""
    classes = [Classes(np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, 0.1]]), np.array([1.0, 1.0, -1.0]))]
    assert accuracy(classes, np.zeros((1, 2)), np.zeros(1, dtype=int)) == 0.5
    assert accuracy(classes, np.array([[1.0, 0.0]]), np.zeros(1, dtype=int)) == pytest.approx(1 / 3)


def test_standing_still_at_zero_is_half_right(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("label,x\n1,0.5\n1,-1.5\n0,2.0\n1,1.0\n")
    (tmp_path / "s.toml").write_text("""
name = "labels"
trials = 2
steps = 40
start = [0.0, 0.0]
[[modes]]
name = "a"
cost = "logistic"
data = "rows.csv"
features = ["x"]
label = "label"
prior_variance = 4.0
horizon = 4
[[samplers]]
name = "s"
kind = "langevin"
epsilon = 0.01
beta = 10.0
""")
    run = interpreted(tracker.load(tmp_path / "s.toml"))
    rows = {row["name"]: row for row in run.summary["samplers"]}
    assert rows["frozen"]["accuracy"]["mean"] == 0.5
    assert 0.0 < rows["s"]["accuracy"]["mean"] < 1.0
    assert run.summary["cost_every"] == 17
