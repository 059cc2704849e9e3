"""docs/own-code: every block is run, as a script, and its file with ``--code``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from interpreting import interpreting
from typer.testing import CliRunner
from worlds import ROOT

from tracker.cli import app

PAGE = (ROOT / "docs" / "own-code.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)


def blocks(language: str) -> list[str]:
    return [text for kind, text in BLOCKS if kind == language]


@pytest.fixture(autouse=True)
def _interpreted() -> Iterator[None]:
    with interpreting(None):
        yield


def shortened(text: str) -> str:
    """The same with fewer steps, which are interpreted here."""
    return text.replace("steps=2000", "steps=60").replace("steps = 2000", "steps = 60")


def test_there_are_no_other_blocks() -> None:
    assert {kind for kind, _ in BLOCKS} <= {"python", "toml", "bash"}


def test_the_blocks_run_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names = {"__name__": "own_code_page"}
    monkeypatch.setitem(__import__("sys").modules, "own_code_page", type(pytest)("own_code_page"))
    for text in blocks("python"):
        exec(compile(shortened(text), "own-code.md", "exec"), names)  # noqa: S102


def test_the_file_and_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    declared = [
        text
        for text in blocks("python")
        if "import tracker\n" not in text and "scenario" not in text and "run." not in text
    ]
    Path("my_world.py").write_text("\n".join(declared))
    (scenario,) = blocks("toml")
    Path("ripples.toml").write_text(shortened(scenario))
    for line in "\n".join(blocks("bash")).splitlines():
        words = line.split()
        assert words[0] == "tracker"
        done = CliRunner().invoke(app, words[1:])
        assert done.exit_code == 0, (line, done.output)
    assert Path("reports/ripples/code.py").read_text() == Path("my_world.py").read_text()


def test_each_sampler_of_the_page_has_at_most_40_lines() -> None:
    for name in ("Sghmc", "Tuned"):
        (text,) = (block for block in blocks("python") if f"class {name}(" in block)
        assert len([line for line in text.splitlines() if line.strip()]) <= 40, name
