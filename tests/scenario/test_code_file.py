"""``--code FILE.py``: one's own costs and samplers for every command; part of the identity, kept for reading, never run from there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import own_world
import pytest
from interpreting import interpreting
from typer.testing import CliRunner

import tracker
from tracker.cli import app
from tracker.engine.simulate import prepare
from tracker.reports.exhibit import Listing
from tracker.reports.exhibits import provenance
from tracker.reports.run_view import View
from tracker.runs import RunDiffers, workers
from tracker.scenario.code_file import read_code
from tracker.scenario.plugins import PluginError

CODE = Path(own_world.__file__).read_text()
SCENARIO = """\
name = "rippled"
seed = 3
trials = 2
steps = 30
start = [0.0]

[chain]
alpha = 0.02
Q = [[-1.0, 1.0], [1.0, -1.0]]

[[modes]]
name = "left"
cost = "ripple"
centre = -2.0

[[modes]]
name = "right"
cost = "ripple"
centre = 2
target = { radius = 0.5 }

[[samplers]]
name = "hmc"
kind = "sghmc"
epsilon = 0.05
friction = 2.0
beta = 8.0

[[samplers]]
name = "tuned-0.01"
kind = "tuned"
epsilon = 0.01
beta = 8.0
"""


@pytest.fixture(autouse=True)
def _interpreted() -> Iterator[None]:
    with interpreting(None):
        yield


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w.toml").write_text(SCENARIO)
    (tmp_path / "mine.py").write_text(CODE)
    return tmp_path


def call(*words: str | Path) -> Any:
    return CliRunner().invoke(app, list(map(str, words)))


def test_without_the_flag_every_command_names_it(world: Path) -> None:
    for command in ("run", "validate", "limit", "sweep"):
        told = call(command, "w.toml")
        assert told.exit_code == 3
        assert told.stderr.count("--code FILE.py") == 4, told.stderr
        assert 'cost: "ripple" is an unknown family' in told.stderr


def test_a_run_with_code_goes_through_every_command(world: Path) -> None:
    done = call("run", "w.toml", "--code", "mine.py", "--json", "--out", "one")
    assert done.exit_code == 0, done.output
    assert [row["kind"] for row in json.loads(done.stdout)["samplers"]] == ["sghmc", "tuned", "frozen", "oracle"]
    assert (world / "one/code.py").read_text() == CODE
    manifest = json.loads((world / "one/manifest.json").read_text())
    assert manifest["code"] == hashlib.sha256(CODE.encode()).hexdigest()
    assert (
        call(
            "run", "w.toml", "--code", "mine.py", "--out", "two", "--set", "samplers.hmc.friction=3", "--no-report"
        ).exit_code
        == 0
    )
    for words in (
        ("report", "one", "--code", "mine.py", "--out", "page.html"),
        ("export", "one", "--code", "mine.py", "--csv", "csv"),
        ("compare", "one", "two", "--code", "mine.py"),
        ("validate", "w.toml", "--code", "mine.py"),
        ("status", "one"),
    ):
        told = call(*words)
        assert told.exit_code == 0, told.output
    page = (world / "page.html").read_text()
    assert "What becomes of step?" in page
    assert "tracker run rippled.toml --code mine.py" in page
    assert "tuned_step" in (world / "csv/traces.csv").read_text().splitlines()[0]


def test_a_sweep_with_code(world: Path) -> None:
    told = call(
        "sweep", "w.toml", "--code", "mine.py", "--set", 'sweep={"samplers.hmc.friction" = [1.0, 2.0]}', "--out", "s"
    )
    assert told.exit_code == 0, told.output
    assert (world / "s/code.py").exists()
    assert call("report", "s", "--code", "mine.py").exit_code == 0
    assert call("report", "s").exit_code == 7
    assert call("report", "s/points/0_friction=1.0", "--code", "mine.py").exit_code == 0


def test_other_code_is_another_run_and_both_hashes_are_told(world: Path) -> None:
    assert call("run", "w.toml", "--code", "mine.py", "--out", "one", "--no-report").exit_code == 0
    (world / "other.py").write_text(CODE + "\n# other\n")
    old, new = (hashlib.sha256((world / name).read_bytes()).hexdigest() for name in ("mine.py", "other.py"))
    for words in (("report", "one"), ("export", "one", "--csv", "x"), ("run", "w.toml", "--out", "one", "--resume")):
        told = call(*words, "--code", "other.py")
        assert (told.exit_code, old in told.stderr, new in told.stderr) == (7, True, True), told.output
        assert "rate" not in told.stderr  # a default that nobody gave did not change
    told = call("report", "one")
    assert (told.exit_code, old in told.stderr, "--code" in told.stderr) == (7, True, True)


def test_two_runs_of_two_codes_are_compared(world: Path) -> None:
    (world / "other.py").write_text(CODE.replace("2 * p.friction", "1.5 * p.friction"))
    for code, out in (("mine.py", "one"), ("other.py", "two")):
        assert call("run", "w.toml", "--code", code, "--out", out, "--no-report").exit_code == 0
    told = call("compare", "one", "two", "--code", "other.py", "--code", "mine.py")
    assert told.exit_code == 0, told.output
    assert call("compare", "one", "two", "--code", "mine.py").exit_code == 7


def test_the_copy_is_never_run(world: Path) -> None:
    """Somebody changed the copy: no command notices by running it."""
    assert call("run", "w.toml", "--code", "mine.py", "--out", "one").exit_code == 0
    trap = world / "trap"
    (world / "one/code.py").write_text(f"open({str(trap)!r}, 'w')\n")
    for words in (("report", "one"), ("export", "one", "--csv", "x"), ("compare", "one", "one"), ("status", "one"),
                  ("run", "one/scenario.toml", "--out", "one", "--resume")):  # fmt: skip
        call(*words)
        call(*words, "--code", "mine.py")
        told = call(*words, "--code", "one/code.py")
        assert told.exit_code == 2, told.output
    assert not trap.exists()
    (world / "link.py").symlink_to(world / "one/code.py")
    assert "for reading" in call("validate", "w.toml", "--code", "link.py").stderr
    assert not trap.exists()


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import math\nx = 1/0\n", "line 2: ZeroDivisionError"),
        ("def f(:\n", "line 1: SyntaxError"),
        ("import no_such_helper\n", "the file stands alone"),
        ("raise SystemExit(0)\n", "SystemExit"),
        ("x = 1\n", "it offers nothing"),
        ("costs = [1]\n", "costs must be a dict"),
        ("costs = {'ripple': 3}\n", "must be a NamedTuple class, or a subclass of CostKeys"),
        ("from typing import NamedTuple\nclass A(NamedTuple):\n    x: float\ncosts = {'a': A}\n", "value and gradient must be registered"),
        ("from typing import NamedTuple\nclass A(NamedTuple):\n    x: float\ncosts = {'quadratic': A}\n", "tracker has one of that name"),
        ("from tracker.samplers.langevin import LangevinKeys\nsamplers = {'calm': LangevinKeys}\n", 'must declare kind: Literal["calm"]'),
    ],
)  # fmt: skip
def test_code_that_cannot_be_used_is_told_in_one_line(world: Path, code: str, told: str) -> None:
    (world / "bad.py").write_text(code)
    done = call("validate", "w.toml", "--code", "bad.py")
    assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1), done.output
    assert done.stderr.startswith("--code bad.py: ")
    assert told in done.stderr


def test_code_that_is_not_used_is_no_part_of_a_run(world: Path) -> None:
    plain = (
        SCENARIO.partition("[chain]")[0]
        + '[[modes]]\nname = "a"\ncost = "quadratic"\nminimum = [0.0]\ncurvature = [[1.0]]\n'
    )
    plain += '[[samplers]]\nname = "s"\nkind = "langevin"\nepsilon = 0.1\n'
    assert tracker.parse(plain).sha256 == tracker.parse(plain, code="mine.py").sha256


def test_python_opens_and_resumes_it_and_workers_are_sent_the_code(world: Path) -> None:
    scenario = tracker.load("w.toml", code="mine.py")
    run = tracker.run(scenario, "one", 1)
    assert tracker.open_run("one", code="mine.py").summary["hash"] == run.summary["hash"]
    (world / "other.py").write_text(CODE + "\n# other\n")
    with pytest.raises(RunDiffers, match="code of sha256"):
        tracker.run(tracker.load("w.toml", code="other.py"), "one", 1, resume=True)
    payload = workers.pack(prepare(scenario))
    assert payload.code is not None
    assert payload.code.sha256 == read_code("mine.py").sha256
    with pytest.raises(PluginError):
        read_code("one/code.py")


def test_a_script_of_own_kinds_opens_in_a_shell_with_code(world: Path) -> None:
    """A run that Python made from tuples is opened by naming the file that has them under the names of their classes."""
    base = tracker.load("w.toml", code="mine.py").replace(name="scripted")
    named = base.replace(
        modes={"left": own_world.Ripple(-2.0), "right": own_world.Ripple(2.0)},
        samplers={"mine": own_world.Sghmc(0.05, 2.0)},
    )
    run = tracker.run(named, "scripted", 1)
    way = provenance.section(View(run)).items[1]
    assert isinstance(way, Listing)
    assert "Ripple and Sghmc are code of a script: run that again" in way.title
    assert way.text.endswith("--code FILE.py")
    told = call("export", "scripted", "--csv", "csv")
    assert (told.exit_code, "--code FILE.py" in told.stderr) == (7, True)
    (world / "named.py").write_text(CODE + 'costs = {"Ripple": Ripple}\nsamplers = {"Sghmc": Sghmc}\n')
    assert call("export", "scripted", "--csv", "csv", "--code", "named.py").exit_code == 0
    assert tracker.open_run("scripted", code="named.py").summary["hash"] == run.summary["hash"]
    (world / "changed.py").write_text((world / "named.py").read_text().replace("2 * p.friction", "3 * p.friction"))
    told = call("export", "scripted", "--csv", "csv", "--code", "changed.py")
    assert (told.exit_code, "was another when this was written" in told.stderr) == (7, True), told.stderr
