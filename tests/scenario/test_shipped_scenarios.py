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
from tracker.scenario.data_files import notes_on_rows

FILES = sorted(SCENARIOS.glob("*.toml"))
# a chain, noise of one range and one minimiser in each mode
FILTERED = {
    "equal_jumps",
    "adapted_noise",
    "example_a",
    "four_wells",
    "jumping_mixture",
    "ladder",
    "rivals",
    "skew_instability",
    "swapping_wells",
    "swapping_wells_sweep",
    "three_regimes",
}
SHORT = ["trials=2", "steps=12", "burn_in=2", "record_every=6", "sweep={}"]


ABOUT_A_WARNING = {"skew_instability": "S pumps energy"}  # what such a scenario is there to show


def test_there_are_scenarios() -> None:
    assert len(FILES) >= 14


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_scenario_runs_shortened(path: Path) -> None:
    scenario = tracker.load(path, SHORT)
    run = interpreted(scenario)
    rows = run.summary["samplers"]
    filtered = ["filter"] if path.stem in FILTERED else []
    assert [row["name"] for row in rows] == [*(s.name for s in scenario.samplers), "frozen", "oracle", *filtered]
    assert len(run.summary["notes"]) == (not filtered)  # why there is no filter
    assert all(row["diverged"] == 0 for row in rows)
    errors = {row["name"]: row["tracking_error"]["mean"] for row in rows}
    assert errors["oracle"] == 0.0  # it sits on the minimiser of each mode
    assert all(error > 0 for name, error in errors.items() if name not in ("frozen", "oracle"))
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
    found = warnings(scenario, built)
    if path.stem in ABOUT_A_WARNING:
        assert len(found) == 1
        assert ABOUT_A_WARNING[path.stem] in found[0]
    else:
        assert found == []


def test_a_scenario_with_data_runs_from_any_folder(tmp_path: Path) -> None:
    """The data file is beside the scenario, wherever one stands."""
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        assert tracker.load(os.path.relpath(SCENARIOS / "logistic_stream.toml")).files.keys() == {"breast_cancer.csv"}
    finally:
        os.chdir(before)


def test_rows_that_do_not_come_in_the_order_of_their_column_are_told() -> None:
    """The modes follow the column; the rows do only where they are asked to. Who says how rows come needs no telling."""
    text = (SCENARIOS / "rain_seasons.toml").read_text()
    read = lambda text: notes_on_rows(tracker.parse(text, folder=SCENARIOS))  # noqa: E731
    assert read(text) == []
    (note,) = read(text.replace('rows = "random"\n', ""))
    assert 'in the mode that "season" names in row k, and learns from a row of that mode drawn at random' in note
    assert 'rows = "in-order"' in note
    assert read(text.replace('rows = "random"', 'rows = "in-order"')) == []
    short = tracker.parse(text.replace('rows = "random"\n', ""), folder=SCENARIOS).replace(
        trials=2, steps=20, burn_in=0
    )
    assert note in interpreted(short).summary["notes"]  # which its page shows on top
