"""``tracker tour``: every stop is a command that works, and a folder that is there is left alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tracker.cli import COMMANDS, app, tour

SHORTER = "--set trials=3 --set steps=2_000"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_whole_tour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACKER_NO_REPORT", raising=False)
    stops = tuple(stop._replace(command=stop.command.replace(tour.SHORT, SHORTER)) for stop in tour.STOPS)
    monkeypatch.setattr(tour, "STOPS", stops)
    found = CliRunner().invoke(app, ["tour"])
    assert found.exit_code == 0, found.output
    for stop in stops:
        assert stop.command in found.output
    made = Path("tracker-tour")
    assert {path.name for path in made.iterdir()} == {"tour.toml", "first", "second", "compare.html"}
    assert (made / "first" / "report.html").is_file()
    assert "mean_square_error" in found.output


def test_a_folder_that_exists_is_left_alone() -> None:
    kept = Path("tracker-tour") / "mine.txt"
    kept.parent.mkdir()
    kept.write_text("mine")
    found = CliRunner().invoke(app, ["tour"])
    assert found.exit_code == 7
    assert "name another folder" in found.output
    assert kept.read_text() == "mine"


def test_what_a_stop_refuses_ends_the_tour_with_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = tour.Stop("A file that is not there.", "tracker validate nowhere.toml")
    monkeypatch.setattr(tour, "STOPS", (stop,))
    found = CliRunner().invoke(app, ["tour", "--no-wait"])
    assert found.exit_code == 2
    assert "Where to go on" not in found.output


def test_the_commands_at_the_end_exist() -> None:
    named = set(re.findall(r"^  tracker ([a-z]+)", tour.NEXT, flags=re.MULTILINE))
    assert named <= {command.__name__.rstrip("_") for command in COMMANDS} | {"help"}
    assert len(named) >= 3
