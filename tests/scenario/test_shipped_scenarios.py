"""Every scenario of the gallery runs, shortened by --set, in the interpreter: compiling each pair would take minutes.

Its claim is checked at full size by ``studies/claims``, whose table is committed in the gallery.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from interpreting import interpreted
from worlds import SCENARIOS

import tracker
from tracker.cli.list import first_comment
from tracker.runs.forecast import refusals
from tracker.scenario import build_modes, warnings

FILES = sorted(SCENARIOS.glob("*.toml"))
SHORT = ["trials=2", "steps=12", "burn_in=2", "record_every=6", "sweep={}"]


def test_there_are_scenarios() -> None:
    assert len(FILES) >= 14


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_scenario_runs_shortened(path: Path) -> None:
    scenario = tracker.load(path, SHORT)
    run = interpreted(scenario)
    rows = run.summary["samplers"]
    assert [row["name"] for row in rows] == [*(s.name for s in scenario.samplers), "frozen", "oracle"]
    assert all(row["diverged"] == 0 for row in rows)
    assert rows[-1]["tracking_error"]["mean"] == 0.0  # the oracle sits on the minimiser of each mode
    assert all(row["tracking_error"]["mean"] > 0 for row in rows[:-1] if row["name"] != "frozen")
    json.dumps(run.summary, allow_nan=False)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_scenario_says_its_claim_and_breaks_no_rule(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("#:schema ./scenario.schema.json\n# ")
    assert len(first_comment(text)) > 30
    scenario = tracker.load(path)
    assert refusals(scenario) == []
    assert scenario.name == path.stem.replace("_", "-")
    built = build_modes(scenario) if scenario.dimension <= 2 else None  # the others are built above
    assert warnings(scenario, built) == []


def test_a_scenario_with_data_runs_from_any_folder(tmp_path: Path) -> None:
    """The data file is beside the scenario, wherever one stands."""
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        assert tracker.load(os.path.relpath(SCENARIOS / "logistic_stream.toml")).files.keys() == {"breast_cancer.csv"}
    finally:
        os.chdir(before)
