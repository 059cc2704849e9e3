"""Files that nobody would write: refused or accepted, never a traceback, a leaked warning or a long wait.

The large version is ``benchmarks/soak.py scenarios``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import fuzzing
import later_keys
import pytest
from typer.testing import CliRunner
from worlds import ROOT

from tracker.cli import app

SEEDS, CHUNK = 160, 40
SECONDS = 10.0  # two on an idle machine; the margin is for a busy one


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_hostile_files_are_refused_or_accepted(first: int, tmp_path: Path) -> None:
    file, runner = tmp_path / "fuzz.toml", CliRunner()
    for name, content in later_keys.data_files().items():
        (tmp_path / name).write_bytes(content)
    codes = set()
    for seed in range(first, first + CHUNK):
        file.write_bytes(fuzzing.hostile(seed).encode("utf-8", "surrogatepass"))
        began = time.process_time()
        result = runner.invoke(app, ["validate", str(file)])  # a leaked warning is an error here
        assert result.exception is None or isinstance(result.exception, SystemExit), f"seed {seed}"
        assert result.exit_code in (0, 3, 4), f"seed {seed}: {result.output}"
        assert "Traceback" not in result.output
        assert time.process_time() - began < SECONDS, f"seed {seed}"
        codes.add(result.exit_code)
    assert codes >= {0, 3}, "the fuzzer reaches both sides"


def test_the_fuzzer_is_the_same_every_time_and_finds_planted_faults(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code = "import sys; sys.path.insert(0, 'tests'); import fuzzing; print(hash(fuzzing.hostile(7)))"
    env = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(ROOT)}
    told = [subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, env=env) for _ in range(2)]
    assert told[0] == told[1]

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    # a control: a command with a fault is seen
    monkeypatch.setattr("tracker.cli.validate.findings", broken)
    file, runner, seen = tmp_path / "fuzz.toml", CliRunner(), []
    for seed in range(CHUNK):
        file.write_bytes(fuzzing.hostile(seed).encode("utf-8", "surrogatepass"))
        seen.append(runner.invoke(app, ["validate", str(file)]).exception)
    assert any(isinstance(error, ZeroDivisionError) for error in seen)
