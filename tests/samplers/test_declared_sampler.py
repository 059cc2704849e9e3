"""A sampler declared in one file outside the package, with one line in the table, is known everywhere.

So is the array that it records: buffers, traces, shards, result.nc, export and schema follow from the declaration.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
import xarray
from interpreting import interpreted
from pydantic import Field

import tracker
from tracker import limits
from tracker.array_types import Array, Words
from tracker.costs.base import gradient
from tracker.keys import Positive
from tracker.reports.exhibit import Exhibit
from tracker.reports.run_page import exhibits
from tracker.runs import open_run
from tracker.samplers import SAMPLERS
from tracker.samplers.base import SamplerKeys, sampler
from tracker.samplers.state import Recorded, carried, scratch
from tracker.scenario import json_schema

TEXT = """
name = "declared"
seed = 3
trials = 6
steps = 60
record_every = 4
start = [0.5, 0.0]
[chain]
alpha = 0.05
Q = [[-1.0, 1.0], [1.0, -1.0]]
[[modes]]
name = "left"
cost = "quadratic"
minimum = [-1.0, 0.5]
curvature = [[1.0, -0.2], [-0.2, 1.5]]
[[modes]]
name = "right"
cost = "quadratic"
minimum = [1.0, -1.0]
curvature = [[2.0, 0.3], [0.3, 1.0]]
[[samplers]]
name = "classical"
kind = "langevin"
epsilon = 0.05
[[samplers]]
name = "mine"
kind = "tiring"
epsilon = 0.05
patience = 20.0
[[samplers]]
name = "twin"
kind = "twin"
epsilon = 0.05
"""


# --- the one file


class Tiring(NamedTuple):
    """Parameters."""

    epsilon: float
    noise: float
    patience: float


class TiringState(NamedTuple):
    """The point, the step that it takes now, and the gradient."""

    theta: Array = carried("N")
    now: Array = carried(
        1, start="epsilon", recorded=Recorded("own_step", "", "step", "1", "the step that it takes now")
    )
    g: Array = scratch("N")


@sampler(Tiring, TiringState)
def _step(sampler: Tiring, state: TiringState, cost: Any, k: int, z: Array, w: Array, streams: Words) -> None:
    theta, now, g = state.theta, state.now, state.g
    gradient(cost, theta, z, g)
    for d in range(theta.size):
        theta[d] = theta[d] + sampler.noise * w[d] - now[0] * g[d]
    now[0] = now[0] * (1.0 - 1.0 / sampler.patience)


class TiringKeys(SamplerKeys):
    """Langevin whose step shrinks by a part of ``patience`` at every step."""

    kind: Literal["tiring"]
    parameters = Tiring
    adapts = "its step"
    patience: Positive = Field(default=10.0, description="in how many steps the step shrinks by a factor e")


class Twin(NamedTuple):
    """Parameters of a sampler that does what classical Langevin does."""

    epsilon: float
    noise: float


class TwinState(NamedTuple):
    """The point and its gradient."""

    theta: Array = carried("N")
    g: Array = scratch("N")


@sampler(Twin, TwinState)
def _twin_step(sampler: Twin, state: TwinState, cost: Any, k: int, z: Array, w: Array, streams: Words) -> None:
    gradient(cost, state.theta, z, state.g)
    for d in range(state.theta.size):
        state.theta[d] = state.theta[d] + sampler.noise * w[d] - sampler.epsilon * state.g[d]


class TwinKeys(SamplerKeys):
    """Classical Langevin once more."""

    kind: Literal["twin"]
    parameters = Twin
    euler = True


# --- what follows from it


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SAMPLERS, "tiring", TiringKeys)
    monkeypatch.setitem(SAMPLERS, "twin", TwinKeys)


@pytest.fixture
def run(tmp_path: Path) -> tracker.Run:
    return interpreted(tracker.parse(TEXT), tmp_path / "run")


def test_its_path_and_what_it_records(run: tracker.Run) -> None:
    np.testing.assert_array_equal(run.arrays["theta"][:, 2], run.arrays["theta"][:, 0])
    steps = run.arrays["own_step"]
    assert steps.shape == (6, 1, 16)
    np.testing.assert_allclose(steps[:, 0], np.tile(0.05 * 0.95 ** np.arange(0, 61, 4), (6, 1)), rtol=1e-12)
    assert "own_step" not in interpreted(tracker.parse(TEXT).replace(samplers=[TEXT_CLASSICAL])).arrays  # control


TEXT_CLASSICAL = {"name": "classical", "kind": "langevin", "epsilon": 0.05}


def test_the_result_is_read_back(run: tracker.Run) -> None:
    assert run.path is not None
    again = open_run(run.path)
    assert again.summary["hash"] == run.summary["hash"]
    np.testing.assert_array_equal(again.arrays["own_step"], run.arrays["own_step"])
    with xarray.open_dataset(run.path / "result.nc", engine="h5netcdf") as found:
        assert found.own_step.attrs == {"units": "1", "long_name": "the step that it takes now"}
        assert list(found.own_step_sampler.values) == ["mine"]


def test_it_is_exported_and_drawn(run: tracker.Run, tmp_path: Path) -> None:
    run.to_csv(tmp_path / "csv")
    with (tmp_path / "csv" / "traces.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert float(next(row for row in rows if row["sampler"] == "mine")["own_step"]) == 0.05
    assert next(row for row in rows if row["sampler"] == "classical")["own_step"] == ""
    run.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "mine" in page
    assert "twin" in page
    assert 'id="state-own-step"' in page
    assert "The step that it takes now, in the first and the last stretch of the run: mine from 0.05" in page


def test_the_figure_of_what_it_records(run: tracker.Run) -> None:
    """The curve is the recorded step itself; a sampler that records nothing has none, and a run without any no figure."""
    (shown,) = [item for item in exhibits(run) if item.key == "state-own-step"]
    assert isinstance(shown, Exhibit)
    assert shown.question == "What becomes of step?"
    (line,) = shown.figure.axes[0].get_lines()
    assert line.get_label() == "mine"
    np.testing.assert_allclose(line.get_ydata(), 0.05 * 0.95 ** np.arange(0, 61, 4), rtol=1e-12)
    np.testing.assert_allclose(line.get_xdata(), np.arange(0, 61, 4))
    assert [row[0] for row in shown.table.rows] == ["mine"]
    classical = interpreted(tracker.parse(TEXT).replace(samplers=[TEXT_CLASSICAL]))
    assert [item.key for item in exhibits(classical) if item.key.startswith("state-")] == []  # control


def test_the_schema_and_the_messages_know_its_keys() -> None:
    schema = str(json_schema())
    assert "in how many steps the step shrinks by a factor e" in schema
    with pytest.raises(tracker.ScenarioError, match="patience: -1"):
        tracker.parse(TEXT.replace("patience = 20.0", "patience = -1.0"))
    with pytest.raises(tracker.ScenarioError, match="patience"):
        tracker.parse(TEXT.replace("patience = 20.0", "patiense = 20.0"))


def test_theory_knows_what_it_declares_and_no_more() -> None:
    scenario = tracker.parse(TEXT)
    mine, known = (limits.moments(scenario, name, [1.0]).second for name in ("twin", "classical"))
    np.testing.assert_array_equal(mine, known)
    with pytest.raises(ValueError, match="tiring moves its step"):
        limits.moments(scenario, "mine", [1.0])
