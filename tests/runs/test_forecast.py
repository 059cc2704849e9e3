"""What a run will cost, told before it starts, against what it does cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner
from worlds import SCENARIOS

import tracker
from tracker.cli import app
from tracker.runs.forecast import (
    PAGE_DISK,
    PROGRAM,
    ResourceLimits,
    array_bytes,
    predicted_cost,
    refusals,
    seconds_to_compile,
)

TEXT = (SCENARIOS / "example_a.toml").read_text()
TOLERANCE = 0.25  # what the forecast promises


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def invoke(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.mark.parametrize(
    "settings",
    [
        ("trials=1500", "steps=64", "record_every=8"),  # sums dominate
        ("trials=40", "steps=2000", "record_every=1"),  # traces do
        ("trials=3", "steps=100", "record_every=50"),  # nothing but frames
    ],
    ids=["sums", "traces", "frames"],
)
def test_arrays_and_disk_are_as_predicted(settings: tuple[str, ...], tmp_path: Path) -> None:
    scenario = tracker.parse(TEXT, settings=settings)
    run = tracker.run(scenario, tmp_path / "run", 1)
    held = sum(array.nbytes for array in run.arrays.values())
    assert array_bytes(scenario).held == held
    assert predicted_cost(scenario, page=False).disk == pytest.approx(size(tmp_path / "run"), rel=TOLERANCE)


def test_memory_counts_the_program_and_what_grows() -> None:
    """The slope between two sizes is that of the arrays, some copies of them; nothing depends on the steps alone."""
    scenario = tracker.parse(TEXT)
    small, large = scenario.replace(trials=10), scenario.replace(trials=1_000_000)
    assert PROGRAM < predicted_cost(small).memory < 1.3 * PROGRAM
    copies = (predicted_cost(large).memory - predicted_cost(small).memory) / (
        array_bytes(large).held - array_bytes(small).held
    )
    assert 2.0 <= copies <= 4.0
    short = scenario.replace(trials=2, steps=10**6, record_every=2 * 10**3)
    long = scenario.replace(trials=2, steps=10**8, record_every=2 * 10**5)
    assert predicted_cost(long).memory == pytest.approx(predicted_cost(short).memory, rel=0.001)
    assert predicted_cost(short).disk - predicted_cost(short, page=False).disk > PAGE_DISK


def test_each_limit_has_its_line_and_its_flag() -> None:
    scenario = tracker.parse(TEXT)
    cost = predicted_cost(scenario)
    lines = refusals(scenario, ResourceLimits(cost.steps - 1, cost.memory - 1, cost.disk_running - 1))
    assert [line.partition(":")[0] for line in lines] == ["steps", "memory", "disk"]
    assert [line.rpartition(" ")[2] for line in lines] == ["--max-steps", "--max-memory", "--max-disk"]
    assert refusals(scenario, ResourceLimits(cost.steps, cost.memory, cost.disk_running)) == []


def test_a_run_over_the_limits_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    """1e15 steps, petabytes of records: refused at once, with nothing allocated."""
    file = tmp_path / "a.toml"
    file.write_text(TEXT)
    huge = ("--set", "trials=1_000_000", "--set", "steps=1_000_000_000", "--set", "record_every=1")
    for command in (("run", file, "--out", tmp_path / "out"), ("validate", file)):
        found = invoke(*command, *huge)
        assert found.exit_code == 4, found.stderr
        assert {"--max-steps", "--max-memory", "--max-disk"} == set(found.stderr.split()) & {
            "--max-steps", "--max-memory", "--max-disk",
        }  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["a.toml"]


def test_validate_shows_steps_memory_and_disk(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(TEXT)
    scenario = tracker.parse(TEXT)
    facts = json.loads(invoke("validate", file, "--json").stdout)
    assert (
        facts["predicted"].pop("compiling") == seconds_to_compile(scenario) > 0
    )  # told beside what a run costs once compiled
    assert facts["predicted"] == pytest.approx(predicted_cost(scenario)._asdict())
    shown = invoke("validate", file).stdout
    assert "1,280,000 steps" in shown
    assert " of memory, " in shown
    assert " while it runs)" in shown
    file.write_text(TEXT + '\n[sweep]\n"chain.alpha" = [0.01, 0.02]\nseed = [1, 2, 3]\n')
    facts = json.loads(invoke("validate", file, "--json").stdout)
    assert facts["points"] == 6
    assert facts["predicted"]["steps"] == 6 * scenario.trials * scenario.steps
    assert "a sweep of 6 points: 7,680,000 steps" in invoke("validate", file).stdout
