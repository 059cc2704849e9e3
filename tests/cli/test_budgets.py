"""What is too much is refused before it begins, what is computed is told first; and the small ways to get a command wrong."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result
from worlds import ROOT, SCENARIOS

import tracker
from tracker.cli import app
from tracker.convergence import budget
from tracker.convergence.check_request import TooManySteps
from tracker.runs.forecast import ResourceLimits, refusals

EXAMPLE = str(SCENARIOS / "example_a.toml")


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize(
    "arguments",
    [
        ("--trials", str(10**12)),
        ("--trials", "1" + "0" * 400),
        ("--horizon", "1e300"),
        ("--trials", "1000", "--horizon", "1e9"),
        ("--trials", "100", "--max-steps", "10"),
    ],
)
def test_a_limit_that_takes_too_long_is_refused_before_it_begins(arguments: tuple[str, ...]) -> None:
    began = time.process_time()
    told = invoke("limit", EXAMPLE, *arguments)
    assert told.exit_code == 4
    assert time.process_time() - began < 5.0
    announced, refused = told.stderr.splitlines()
    assert announced.startswith("example-a: looking for the minimisers of 2 modes in 2 dimensions")
    assert "raise it with --max-steps" in refused


def test_steps_too_small_to_be_counted_are_refused() -> None:
    told = invoke("limit", EXAMPLE, "--horizon", "1e-300", "--quiet")
    assert told.exit_code == 2
    assert told.stderr.startswith("horizon: 1e-300 in ")


def test_moments_that_take_too_much_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "ResourceLimits", lambda: ResourceLimits(max_memory=1000.0))
    with pytest.raises(TooManySteps, match=r"memory: about 1\.6 kB for the moments of 2 coordinates in 2 modes"):
        tracker.check_limit(tracker.load(EXAMPLE))


def test_a_search_for_minimisers_that_takes_too_long_is_refused() -> None:
    means = [[1.0, 0.0], [0.0, 1.0]]
    common = {"cost": "mixture", "means": means, "variance": 1.0, "prior_mean": [0.0, 0.0], "prior_variance": [1.0]}
    data = {"data": "sweep", "data_seed": 1, "truth": [0.0, 1.0]}
    modes = [{"name": f"m{n}", **common, **data, "horizon": 10**5} for n in range(100)]
    Q = [[-1.0 if i == j else 1.0 if j == (i + 1) % 100 else 0.0 for j in range(100)] for i in range(100)]
    scenario = tracker.load(EXAMPLE).replace(modes=modes, chain={"alpha": 0.01, "Q": Q})
    swept = scenario.replace(sweep={"modes.m1.horizon": list(range(1000, 1100))})
    assert any(line.startswith("minimisers: about ") for line in refusals(swept))
    assert not any(line.startswith("minimisers: ") for line in refusals(tracker.load(EXAMPLE)))


def test_validate_says_first_what_it_looks_for() -> None:
    told = invoke("validate", EXAMPLE)
    assert told.exit_code == 0
    assert told.stderr.splitlines()[0].startswith("example-a: looking for the minimisers of 2 modes in 2 dimensions")


# --- small ways to get it wrong


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run"
    tracker.run(tracker.load(EXAMPLE).replace(trials=2, steps=100), path)
    return path


@pytest.mark.parametrize("name", ["", ".", "/"])
def test_an_export_to_no_file_is_wrong_usage(name: str, finished: Path) -> None:
    told = invoke("export", str(finished), "--arviz", name)
    assert told.exit_code == 2
    (line,) = told.stderr.splitlines()
    assert line.startswith("--arviz: ")


def test_no_command_prints_the_help_and_what_is_missing() -> None:
    told = outside("")  # the runner of the lowest click shows no stderr here
    assert told.returncode == 2
    assert "Usage" in told.stdout
    assert told.stderr == "usage: a command is missing, as in: tracker run FILE\n"


def test_a_link_that_leads_nowhere_does_not_hide_the_other_scenarios(tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text(Path(EXAMPLE).read_text())
    (tmp_path / "gone.toml").symlink_to(tmp_path / "nowhere")
    told = invoke("list", str(tmp_path))
    assert told.exit_code == 0
    assert "good.toml" in told.stdout
    assert "gone.toml" in told.stdout
    assert "No such file" in told.stdout


def outside(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S602  (a closed stream is the shell's to give)
        f"{sys.executable} -m tracker {command}",
        shell=True,
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_closed_stdout_loses_nothing_but_what_is_printed(tmp_path: Path) -> None:
    told = outside(f"run {EXAMPLE} --set trials=2 --set steps=100 --quiet --out {tmp_path}/out >&-")
    assert (told.returncode, told.stderr) == (0, "")
    assert (tmp_path / "out" / "summary.json").exists()


def test_a_backend_that_is_none_has_no_say(finished: Path, tmp_path: Path) -> None:
    told = outside(f"report {finished} --out {tmp_path}/page.html", MPLBACKEND="nonsense")
    assert told.returncode == 0, told.stderr
    assert (tmp_path / "page.html").exists()


def test_a_file_that_grows_too_large_is_named(tmp_path: Path) -> None:
    settings = "--set trials=8 --set steps=20000 --set record_every=1 --quiet"
    command = f"{sys.executable} -m tracker run {EXAMPLE} {settings} --out {tmp_path}/out"
    told = outside(f"--version; ulimit -f 20; {command}")
    assert told.returncode == 2
    assert f"{tmp_path}/out" in told.stderr.splitlines()[0]
    assert "File too large" in told.stderr
