"""Starters and copies of shipped scenarios: ``tracker new --like`` and ``--from``, from any folder."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from interpreting import interpreted
from typer.testing import CliRunner

import tracker
from tracker.cli import app
from tracker.cli.starters import STARTERS, starter_families
from tracker.costs import COSTS
from tracker.scenario.shipped import note_on, shipped_files

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = sorted((ROOT / "scenarios").glob("*.toml"))


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def _elsewhere(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)


def test_there_are_starters_for_families_that_exist() -> None:
    assert {"quadratic", "polynomial", "mixture", "logistic"} <= set(starter_families()) <= set(COSTS)
    assert {path.stem for path in STARTERS.glob("*.toml")} == set(starter_families())


@pytest.mark.usefixtures("_elsewhere")
def test_what_stands_there_is_named_and_left_alone() -> None:
    """A pipe is not waited for, a link that leads nowhere is no traceback."""
    os.mkfifo("rows.csv")
    Path("mine.toml").symlink_to("nowhere")
    for words, taken in ((("rows", "--like", "logistic"), "rows.csv"), (("mine",), "mine.toml")):
        done = invoke("new", *words)
        assert (done.exit_code, done.stderr) == (2, f"{taken}: exists already\n")
    assert sorted(path.name for path in Path().iterdir()) == ["mine.toml", "rows.csv"]


@pytest.mark.usefixtures("_elsewhere")
@pytest.mark.parametrize("family", starter_families())
def test_a_starter_is_of_its_family_and_runs_under_the_longest_name(family: str) -> None:
    """Interpreted, as the shipped scenarios are."""
    name = "x" * 64
    assert invoke("new", name, "--like", family).exit_code == 0
    scenario = tracker.load(f"{name}.toml")
    assert scenario.name == name
    assert {mode.cost for mode in scenario.modes} == {family}
    assert len(scenario.claim) > 20
    assert "my-world" not in scenario.toml()
    run = interpreted(scenario.replace(trials=2, steps=300))
    assert all(row["diverged"] == 0 for row in run.summary["samplers"])


@pytest.mark.usefixtures("_elsewhere")
@pytest.mark.parametrize("path", SHIPPED, ids=[path.stem for path in SHIPPED])
def test_a_copy_of_a_shipped_scenario_differs_in_its_name_only(path: Path) -> None:
    assert invoke("new", "mine", "--from", path.stem).exit_code == 0
    copy, original = tracker.load("mine.toml"), tracker.load(path)
    assert copy.name == "mine"
    assert copy.replace(name=original.name).content() == original.content()
    assert copy.files == original.files
    for data in copy.files:
        note = note_on(path.parent / data)
        assert note is not None
        assert Path(note.name).read_bytes() == note.read_bytes()


@pytest.mark.usefixtures("_elsewhere")
def test_a_scenario_is_found_by_either_spelling_of_its_name() -> None:
    for n, name in enumerate(("swapping_wells", "swapping-wells", "swapping_wells.toml")):
        assert invoke("new", f"copy-{n}", "--from", name).exit_code == 0
    assert Path("copy-0.toml").read_text().replace("copy-0", "copy-1") == Path("copy-1.toml").read_text()


@pytest.mark.usefixtures("_elsewhere")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--from", "swaping_wells"], 'did you mean "swapping_wells"?'),
        (["--from", "../scenarios/example_a"], "no scenario"),
        (["--like", "logistc"], 'did you mean "logistic"?'),
        (["--like", "quadratic", "--from", "example_a"], "exclude each other"),
    ],
)
def test_what_is_not_there_is_told_with_what_there_is(options: list[str], told: str) -> None:
    result = invoke("new", "mine", *options)
    assert result.exit_code == 2
    assert told in result.stderr
    assert list(Path().iterdir()) == []


@pytest.mark.usefixtures("_elsewhere")
def test_a_data_file_of_somebody_else_is_not_written_over() -> None:
    Path("breast_cancer.csv").write_text("mine\n")
    result = invoke("new", "mine", "--from", "logistic_stream")
    assert (result.exit_code, result.stderr) == (2, "breast_cancer.csv: exists already\n")
    assert [path.name for path in Path().iterdir()] == ["breast_cancer.csv"]
    Path("breast_cancer.csv").write_bytes((ROOT / "scenarios" / "breast_cancer.csv").read_bytes())
    assert invoke("new", "mine", "--from", "logistic_stream").exit_code == 0  # the same data serve


@pytest.mark.usefixtures("_elsewhere")
def test_list_works_from_any_folder_and_adds_the_scenarios_that_are_here() -> None:
    shipped = [path.name for path in shipped_files()]
    assert [row["file"] for row in json.loads(invoke("list", "--json").stdout)["scenarios"]] == shipped
    Path("scenarios").mkdir()
    shutil.copy(ROOT / "scenarios" / "example_a.toml", "scenarios/own.toml")
    assert [row["file"] for row in json.loads(invoke("list", "--json").stdout)["scenarios"]] == ["own.toml", *shipped]
