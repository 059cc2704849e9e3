"""The network whose teacher switches: its derivatives are exact, its equivalents cost the same, its page does not ask for distances."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest
from interpreting import interpreting
from worlds import ROOT

import tracker
from studies.network import TEACHERS, Network, equivalents, world
from tracker.costs.base import expected
from tracker.costs.derivative_checks import check_cost
from tracker.reports.exhibit import Omitted
from tracker.reports.exhibits import diagnostics, error_over_time, forecasts, known_share, landscape, one_trial
from tracker.reports.run_page import overview
from tracker.reports.run_view import View
from tracker.reports.verdict_box import verdict

SLOPE = np.array(TEACHERS["slope"])


@pytest.fixture(scope="module")
def run() -> Iterator[tracker.Run]:
    short = world(trials=5, steps=60).replace(record_every=3).set("chain.alpha", 0.05)
    with interpreting(None):
        yield tracker.run(short, executor=1)


def test_its_derivatives_are_exact() -> None:
    places = [SLOPE, np.linspace(-1.0, 1.0, 9), np.cos(np.arange(9.0))]
    check_cost(Network(np.array(TEACHERS["bump"])), places, thorough=True)


def test_48_weight_vectors_are_one_network() -> None:
    cost = Network(np.array(TEACHERS["bump"]))
    theta = np.linspace(-1.0, 1.3, 9)
    same = equivalents(theta)
    assert len(np.unique(same.round(12), axis=0)) == 48
    np.testing.assert_allclose([expected(cost, one) for one in same], expected(cost, theta), rtol=1e-12)
    assert np.linalg.norm(same - theta, axis=1).max() > 2.0  # and yet far apart
    swapped = theta[[1, 0, 2, 3, 4, 5, 6, 7, 8]]  # control: only the biases of two units change places
    assert abs(expected(cost, swapped) - expected(cost, theta)) > 1e-3


def test_its_summary_has_costs_and_no_distances(run: tracker.Run) -> None:
    nothing = {"mean": None, "stderr": None}
    for row in run.summary["samplers"]:
        assert row["tracking_error"] == row["mean_square_error"] == nothing
        assert row["recovery"]["median"] is None
        assert row["excess_cost"]["mean"] is not None
        assert row["prequential_loss"]["mean"] is not None
    assert any("48 weight vectors" in note for note in run.summary["notes"])
    oracle = next(row for row in run.summary["samplers"] if row["name"] == "oracle")
    assert oracle["excess_cost"]["mean"] == pytest.approx(0.0, abs=1e-12)
    # the teacher's own loss is the noise alone: 0.01/2, from 300 draws of a squared normal
    assert oracle["prequential_loss"]["mean"] == pytest.approx(0.005, abs=5 * 0.005 * np.sqrt(2 / 300))
    assert np.isnan([mode.radius2 for mode in run.problem.modes]).all()
    assert "tracking error" not in str(run).partition("note:")[0]


def test_its_page_is_judged_by_the_excess_cost(run: tracker.Run) -> None:
    view = View(run)
    assert view.score.title == "excess cost"
    assert overview(view).table.columns[1] == "excess cost"
    assert not {"tracking error", "mean square"} & {*overview(view).table.columns}
    first = verdict(view, diagnostics.health(view)).answers[0]
    assert any("not by distances: hidden units can change places" in line for line in first.more)
    for part in (landscape, one_trial, known_share):
        left_out = part.exhibit(view)
        assert isinstance(left_out, Omitted)
        assert "hidden units can change places" in left_out.reason
    drawn = error_over_time.exhibit(view)
    assert not isinstance(drawn, Omitted)
    assert "the excess cost is" in drawn.caption
    assert not isinstance(forecasts.exhibit(view), Omitted)


def test_the_blocks_of_the_page_run(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "network.md").read_text(encoding="utf-8")
    names = {"__name__": "network_page"}
    with interpreting(None):
        for text in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
            short = text.replace("trials=40, steps=100_000", "trials=2, steps=20")
            exec(compile(short, "network.md", "exec"), names)  # noqa: S102
    count, spread, far = capsys.readouterr().out.split("\n")[0].split()
    assert count == "48"
    assert float(spread) < 1e-15
    assert f"{float(far):.1f}" in page


def test_a_target_is_refused_and_so_is_a_forecast_of_one_mode_only() -> None:
    modes = {name: Network(np.array(teacher)) for name, teacher in TEACHERS.items()}
    with pytest.raises(tracker.ScenarioError, match="target: has no meaning here"):
        world().replace(modes=[{"name": "slope", "cost": modes["slope"], "target": {"radius": 0.1}}, modes["bump"]])
    bowl = {"name": "bump", "cost": "quadratic", "minimum": [0.0] * 9, "curvature": 1.0}
    with pytest.raises(tracker.ScenarioError, match="some say what a forecast loses"):
        world().replace(modes=[{"name": "slope", "cost": modes["slope"]}, bowl])
