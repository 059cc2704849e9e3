"""Costs and samplers of installed packages: used only when their package is allowed, and never imported before."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tracker
from tracker.cli import app
from tracker.engine.simulate import prepare
from tracker.runs import RunDiffers, workers
from tracker.scenario.plugins import PluginError

SOURCE = '''
from typing import Any, Literal, NamedTuple

import numpy as np

from tracker.costs.base import CostKeys, gradient, value
from tracker.keys import Positive, Vector
from tracker.samplers.langevin import LangevinKeys


class Bowl(NamedTuple):
    centre: np.ndarray
    depth: float


@value.register(Bowl)
def _value(cost, theta, z):
    c = 0.0
    for d in range(theta.size):
        c += 0.5 * cost.depth * (theta[d] - cost.centre[d]) ** 2
    return c


@gradient.register(Bowl)
def _gradient(cost, theta, z, out):
    for d in range(theta.size):
        out[d] = cost.depth * (theta[d] - cost.centre[d])


class BowlKeys(CostKeys):
    cost: Literal["bowl"]
    centre: Vector
    depth: Positive = 1.0

    @property
    def dimension(self) -> int:
        return len(self.centre)

    def build(self) -> Any:
        return Bowl(np.array(self.centre), self.depth)


class CalmKeys(LangevinKeys):
    """Langevin under another name."""

    kind: Literal["calm"]


class Stranger:
    pass
'''
SCENARIO = """\
name = "bowls"
trials = 2
steps = 60
start = [0.5]
baselines = []  # each would be compiled, and not kept: the cost is a stranger's

[chain]
alpha = 0.1
Q = [[-1.0, 1.0], [0.5, -0.5]]

[[modes]]
name = "one"
cost = "bowl"
centre = [1.0]

[[modes]]
name = "two"
cost = "quadratic"
minimum = [-1.0]
curvature = [[2.0]]

[[samplers]]
name = "classical"
kind = "calm"
epsilon = 0.01
"""
POINTS = {"tracker.costs": {"bowl": "bowls_of_tests:BowlKeys"}, "tracker.samplers": {"calm": "bowls_of_tests:CalmKeys"}}


def install(
    folder: Path, points: dict[str, dict[str, str]], version: str = "1.2", name: str = "Bowls_of.tests"
) -> None:
    """Put a package where Python finds it, as an installer would."""
    info = folder / f"{name}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    groups = [f"[{g}]\n" + "\n".join(f"{n} = {v}" for n, v in entries.items()) for g, entries in points.items()]
    (info / "entry_points.txt").write_text("\n\n".join(groups) + "\n")
    (folder / "bowls_of_tests.py").write_text(SOURCE)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder on the path, for all tests: a module that has registered its functions stays."""
    folder = tmp_path_factory.mktemp("site")
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


@pytest.fixture
def file(site: Path, tmp_path: Path) -> Path:
    install(site, POINTS)
    (tmp_path / "bowls.toml").write_text(SCENARIO)
    return tmp_path / "bowls.toml"


NAME = "bowls-of-tests"


def test_without_the_flag_nothing_is_imported_and_the_flag_is_named(site: Path, file: Path) -> None:
    """The package fails when it is imported; control: with the flag it is, and does."""
    install(
        site, {"tracker.costs": {"bowl": "fails_of_tests:Keys"}, "tracker.samplers": {"calm": "fails_of_tests:Keys"}}
    )
    (site / "fails_of_tests.py").write_text("raise RuntimeError('imported')")
    for command in ("run", "validate", "limit", "sweep"):
        told = CliRunner().invoke(app, [command, str(file)])
        assert told.exit_code == 3
        assert [line.partition(" is not known, but ")[::2] for line in told.stderr.splitlines()] == [
            (place, "Bowls_of.tests 1.2, which is installed, offers it: --allow-plugins Bowls_of.tests")
            for place in ('modes[0] "one": cost: "bowl"', 'samplers[0] "classical": kind: "calm"')
        ]
    told = CliRunner().invoke(app, ["validate", str(file), "--allow-plugins", NAME])
    assert (told.exit_code, "RuntimeError: imported" in told.stderr) == (2, True)


def test_allowed_it_joins_the_table_for_that_load_only(file: Path) -> None:
    scenario = tracker.load(file, plugins=(NAME,))
    assert (scenario.modes[0].cost, scenario.samplers[0].kind) == ("bowl", "calm")
    assert scenario.packages == ("Bowls_of.tests",)
    changed = scenario.replace(steps=30)
    assert (changed.plugins, changed.packages) == (scenario.plugins, scenario.packages)
    assert tracker.load(file, ["modes.one.depth=3", "samplers.*.epsilon=0.02"], (NAME,)).modes[0].depth == 3.0
    with pytest.raises(tracker.ScenarioError, match=r"did you mean modes\.one\.depth"):
        tracker.load(file, ["modes.one.dpeth=3"], (NAME,))
    with pytest.raises(tracker.ScenarioError, match="--allow-plugins"):
        tracker.load(file)


def test_a_run_says_what_it_depends_on_and_a_resume_compares_it(file: Path, site: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["run", str(file), "--out", str(out), "--no-report", "--allow-plugins", NAME]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert '"plugin Bowls_of.tests": "1.2"' in (out / "manifest.json").read_text()
    assert CliRunner().invoke(app, [*arguments, "--resume"]).exit_code == 0
    assert tracker.open_run(out, plugins=[NAME]).scenario.packages == ("Bowls_of.tests",)
    told = CliRunner().invoke(app, ["export", str(out), "--csv", str(tmp_path / "csv")])
    assert (told.exit_code, "--allow-plugins Bowls_of.tests" in told.stderr) == (7, True)
    told = CliRunner().invoke(app, ["export", str(out), "--csv", str(tmp_path / "csv"), "--allow-plugins", NAME])
    assert told.exit_code == 0
    (tmp_path / "commented.toml").write_text(f"{SCENARIO}# a comment changes nothing\n")
    tracker.run(tracker.load(tmp_path / "commented.toml", plugins=[NAME]), out, resume=True)
    install(site, POINTS, version="1.3")
    with pytest.raises(RunDiffers) as found:
        tracker.run(tracker.load(file, plugins=[NAME]), out, resume=True)
    assert list(found.value.differences) == ["version of plugin Bowls_of.tests: '1.2' in the run, '1.3' now"]


def test_a_sweep_may_sweep_its_keys(file: Path) -> None:
    scenario = tracker.load(file, ['sweep={"modes.one.depth" = [1.0, 2.0]}'], [NAME])
    assert [point.scenario.modes[0].depth for point in tracker.runs.points_of(scenario)] == [1.0, 2.0]


def test_workers_get_the_problem_built_and_compare_the_version(file: Path, site: Path) -> None:
    payload = workers.pack(prepare(tracker.load(file, plugins=[NAME])))
    stored = workers.work(payload, workers.Task(0, 0, 2, None))
    assert stored.arrays["theta"].shape[0] == 2
    workers._problem.cache_clear()
    install(site, POINTS, version="1.3")
    with pytest.raises(workers.OtherProgram, match=r"'plugin Bowls_of\.tests': '1.3'"):
        workers.work(payload, workers.Task(0, 0, 2, None))


@pytest.mark.parametrize(
    ("points", "says"),
    [
        ({}, "it offers nothing in tracker.costs or tracker.samplers"),
        ({"tracker.costs": {"quadratic": "bowls_of_tests:BowlKeys"}}, "tracker has one of that name"),
        ({"tracker.costs": {"bowl": "bowls_of_tests:Stranger"}}, "a subclass of CostKeys"),
        ({"tracker.costs": {"vase": "bowls_of_tests:BowlKeys"}}, 'must declare cost: Literal["vase"]'),
        ({"tracker.samplers": {"bowl": "bowls_of_tests:BowlKeys"}}, "a subclass of SamplerKeys"),
        ({"tracker.costs": {"bowl": "no_such_module:Keys"}}, "ModuleNotFoundError"),
    ],
)
def test_what_cannot_be_used_is_wrong_usage(points: Any, says: str, file: Path, site: Path) -> None:
    install(site, points)
    with pytest.raises(PluginError) as found:
        tracker.load(file, plugins=[NAME])
    assert says in str(found.value)
    told = CliRunner().invoke(app, ["validate", str(file), "--allow-plugins", NAME])
    assert (told.exit_code, says in told.stderr) == (2, True)
    told = CliRunner().invoke(app, ["validate", str(file), "--allow-plugins", "no-such"])
    assert (told.exit_code, "no such package is installed" in told.stderr) == (2, True)
