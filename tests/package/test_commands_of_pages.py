"""Every ``tracker`` line that a page shows is a command that works; what is long is shortened here."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer
from click.testing import Result
from interpreting import interpreting
from typer.testing import CliRunner
from worlds import ROOT

from tracker.cli import app

RUN_ELSEWHERE = {"own-code", "theorem"}  # whole, by tests of their own
PAGES = {
    page.stem: lines
    for page in [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
    if page.stem not in RUN_ELSEWHERE
    and (
        lines := [
            line
            for block in re.findall(r"```(?:text|bash)\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
            for line in block.splitlines()
            if line.startswith("tracker ")
        ]
    )
}
SHORTER = [
    ("FILE", "scenarios/swapping_wells.toml"),
    ("trials=10", "trials=2"),
    ("steps=200_000", "steps=60"),
    ("--trials 100 ", "--trials 12 "),
    ("--trials 12000", "--trials 100"),
    ("--part 3/10 --out parts/3", "--part 1/1 --out parts/3"),  # a merge needs all parts
    ("parts/*", "parts/3"),
]
ONLY_READ = ("--engine", "tracker tour")  # pools, clusters and the tour are started by tests of their own
SMALL = """
name = "swapping-wells"
trials = 6
steps = 40
start = [0.0]
chain = { alpha = 0.01, Q = [[-1.0, 1.0], [1.0, -1.0]] }
modes = [
  { name = "left", cost = "quadratic", minimum = [-1.0], curvature = 1.0, gradient_noise = 1.0 },
  { name = "right", cost = "quadratic", minimum = [1.0], curvature = 1.0, gradient_noise = 1.0 },
]
samplers = [{ name = "classical", kind = "langevin", epsilon = 0.1, beta = 5.0 }]
"""


def read(words: list[str]) -> None:
    """Fail where the program would not know the line: a command, an option, the form of a value."""
    program = typer.main.get_command(app)
    with program.make_context("tracker", list(words)) as context:
        name, command, rest = program.resolve_command(context, list(words))
        command.make_context(name, rest, parent=context)


def carry_out(line: str) -> Result:
    for long, short in SHORTER:
        line = line.replace(long, short)
    with interpreting(() if line.startswith("tracker limit") else None):  # a check has many steps even when it is short
        return CliRunner().invoke(app, shlex.split(line, comments=True)[1:])


@pytest.fixture
def _small_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("scenarios").mkdir()
    Path("scenarios/swapping_wells.toml").write_text(SMALL)
    for name in ("example_a.toml", "example_b.toml"):
        Path("scenarios", name).write_text((ROOT / "scenarios" / name).read_text(encoding="utf-8"))


def test_the_pages_show_commands() -> None:
    assert {"cluster", "convergence", "first-run", "surviving-runs", "sweeps"} <= set(PAGES)


@pytest.mark.usefixtures("_small_world")
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of(page: str) -> None:
    if page == "sweeps":  # two runs to compare
        for name in ("before", "after"):
            assert carry_out(f"tracker run FILE --out reports/{name}").exit_code == 0
    for line in PAGES[page]:
        read(shlex.split(line, comments=True)[1:])
        if not any(word in line for word in ONLY_READ):
            found = carry_out(line)
            assert found.exit_code == 0, (line, found.output)


@pytest.mark.parametrize("line", ["run x.toml --enigne threads", "sewep x.toml", "limit x.toml --trials many"])
def test_a_line_that_is_wrong_is_noticed(line: str) -> None:
    with pytest.raises(Exception, match=r"(?i)no such|not a valid|valid integer"):
        read(shlex.split(line))
