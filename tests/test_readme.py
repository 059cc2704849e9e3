"""What the README shows works as shown."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tracker

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, flags=re.DOTALL)


def blocks(language):
    return [text for name, text in BLOCKS if name == language]


@pytest.mark.parametrize("number", range(len(blocks("python"))))
def test_python_examples_run(number):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", blocks("python")[number]],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=3600,  # of a busy machine; it takes seconds
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_scenario_shown_is_valid():
    (text,) = blocks("toml")
    scenario = tracker.parse(text)
    assert [sampler.kind for sampler in scenario.samplers] == ["langevin", "hessian"]


def test_the_commands_name_files_that_exist():
    run, test = blocks("bash")
    assert (ROOT / run.split()[-1]).is_file()
    assert "pytest" in test


def test_every_shipped_scenario_is_described():
    page = (ROOT / "docs" / "scenarios.md").read_text()
    for path in (ROOT / "scenarios").glob("*.toml"):
        assert path.name in page, f"docs/scenarios.md has no row for {path.name}"


def test_no_placeholder_is_left():
    assert not re.findall(r"^[A-Z]{4,}$", README, flags=re.MULTILINE)
