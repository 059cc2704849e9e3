"""The lanes for other versions read pyproject.toml, and nothing else."""

import re
import subprocess
import sys

from worlds import ROOT


def test_the_lowest_versions_are_those_of_pyproject() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / ".ci" / "lowest.py"], capture_output=True, text=True, timeout=60, check=True
    )
    pins = done.stdout.split()
    declared = set(
        re.findall(r'"([\w.\[\]-]+>=[\w.]+)(?:,<[\w.]+)?"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    )
    assert {pin.replace("==", ">=") for pin in pins} <= declared
    names = {re.split(r"[\[=]", pin)[0] for pin in pins}
    assert names >= {"numba", "numpy", "scipy", "pydantic", "typer", "pytest", "distributed"}
    assert not names & {"mypy", "ruff"}
