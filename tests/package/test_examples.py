"""The package as its users see it: every public function has an example that runs, and their own scripts are typed."""

from __future__ import annotations

import doctest
import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from interpreting import interpreting
from worlds import ROOT

import tracker
from tracker.engine.loop import drive
from tracker.references.metropolis_hastings import _walk

PUBLIC = (tracker, tracker.chain, tracker.limits, tracker.references, tracker.skew)
SCRIPT = """
import numpy as np
import tracker

scenario: tracker.Scenario = tracker.load("scenarios/example_a.toml", ["trials=4"])
run: tracker.Run = tracker.run(scenario, executor=2)
run.report("page.html")
mean = tracker.limits.moments(scenario, "skewed", [1.0]).mean
worst: float = float(np.abs(mean).max())
gap: float = tracker.skew.spectral_gap([[2.0]], [[0.0]])
law = tracker.references.posterior(scenario, "one")
verdict: str = tracker.check_limit(scenario).limit_verdict
sizes = {str(name): size for name, size in run.dataset.sizes.items()}
"""
WRONG = """
tracker.run("scenarios/example_a.toml")
tracker.limits.moment(scenario, "skewed", [1.0])
"""


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for module in PUBLIC:
        for name in module.__all__:
            thing = getattr(module, name)
            if not inspect.isclass(thing) and callable(thing):
                yield f"{module.__name__}.{name}", thing


@pytest.mark.parametrize(("name", "function"), [pytest.param(*each, id=each[0]) for each in functions()])
def test_the_example_of(name: str, function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (example,) = doctest.DocTestFinder(recurse=False).find(function, name, globs={})
    assert example.examples, "no example"
    said: list[str] = []
    with interpreting((drive, _walk)):
        doctest.DocTestRunner().run(example, out=said.append)
    assert not said, "".join(said)


def test_public_modules_are_found_without_importing_them() -> None:
    program = "import tracker\nassert {'limits', 'references', 'skew', 'chain'} <= set(dir(tracker))\n"
    program += "import sys\nassert 'numpy' not in sys.modules\ntracker.limits.moments\ntracker.skew.optimal\n"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)
    assert all(isinstance(module, ModuleType) for module in PUBLIC)


def test_a_users_script_has_strict_types(tmp_path: Path) -> None:
    """As installed: from elsewhere, by ``py.typed``; and what is wrong is noticed."""
    (tmp_path / "good.py").write_text(SCRIPT)
    (tmp_path / "wrong.py").write_text(SCRIPT + WRONG)
    cache = ROOT / ".mypy_cache" / "users"  # half a minute without it
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        f"--cache-dir={cache}",
        "good.py",
        "wrong.py",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert [line.partition(": ")[0] for line in lines] == ["wrong.py:15", "wrong.py:16"], done.stdout + done.stderr
