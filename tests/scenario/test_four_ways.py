"""A user's SGHMC and a sampler that tunes its step, from a script, a notebook, ``--code`` and a plugin: the same in all four.

The same paths, resumed after a break, swept, compared, exported, drawn; and SGHMC has the path and the moments of the
package's own ``kinetic``, which is the same recursion.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import own_world
import pytest
from interpreting import interpreting
from typer.testing import CliRunner

import tracker
from tracker import limits
from tracker.cli import app
from tracker.reports.exhibit import Exhibit
from tracker.reports.exhibits import state_paths
from tracker.reports.run_view import View
from tracker.reports.run_vs_run import compare
from tracker.reports.sweep_page import points_table
from tracker.runs import executors

CODE = Path(own_world.__file__).read_text()
WORLD = """\
name = "ways"
seed = 3
trials = 3
steps = 24
record_every = 4
start = [0.0]
baselines = ["frozen"]
[chain]
alpha = 0.05
Q = [[-1.0, 1.0], [1.0, -1.0]]
[[modes]]
name = "left"
cost = "ripple"
centre = -2.0
[[modes]]
name = "right"
cost = "ripple"
centre = 2.0
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
BOWLS = [
    {"name": n, "cost": "quadratic", "minimum": [x], "curvature": 1.0} for n, x in (("left", -2.0), ("right", 2.0))
]


def by_hand(classes: Any) -> tracker.Scenario:
    """What a script or a cell writes."""
    return tracker.load("ways.toml", code="mine.py").replace(
        modes={"left": classes.Ripple(-2.0), "right": classes.Ripple(2.0)},
        samplers={
            "hmc": classes.Sghmc(epsilon=0.05, friction=2.0, beta=8.0),
            "tuned-0.01": classes.Tuned(epsilon=0.01, beta=8.0),
        },
    )


def script() -> tracker.Scenario:
    return by_hand(own_world)


def notebook() -> tracker.Scenario:
    """A cell: its code stands in no file, and its classes in ``__main__`` or a module like it."""
    cell = sys.modules.setdefault("cell_of_tests", ModuleType("cell_of_tests"))
    if not hasattr(cell, "Ripple"):
        exec(compile(CODE, "<cell 1>", "exec"), vars(cell))  # noqa: S102
    return by_hand(cell)


def code() -> tracker.Scenario:
    return tracker.load("ways.toml", code="mine.py")


def plugin() -> tracker.Scenario:
    return tracker.load("ways.toml", plugins=["ways-of-tests"])


WAYS: dict[str, Callable[[], tracker.Scenario]] = {
    "script": script,
    "notebook": notebook,
    "code": code,
    "plugin": plugin,
}


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    Path("ways.toml").write_text(WORLD)
    Path("mine.py").write_text(CODE)
    with interpreting(None):
        yield


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An installed package that offers the same classes."""
    folder = tmp_path_factory.mktemp("site")
    info = folder / "ways_of_tests.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ways-of-tests\nVersion: 1.0\n")
    points = "[tracker.costs]\nripple = ways_of_tests:Ripple\n[tracker.samplers]\nsghmc = ways_of_tests:Sghmc\ntuned = ways_of_tests:Tuned\n"
    (info / "entry_points.txt").write_text(points)
    (folder / "ways_of_tests.py").write_text(CODE)
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def results() -> dict[str, str]:
    """The hash of the arrays in each way so far."""
    return {}


def broken_off(scenario: tracker.Scenario, out: str) -> None:
    """Compute one shard, then break off as a signal would."""
    whole = executors.simulate

    def fails_later(problem: Any, trials: range, *more: Any) -> Any:
        if trials[0] > 0:
            raise KeyboardInterrupt
        return whole(problem, trials, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(executors, "simulate", fails_later)
        with pytest.raises(KeyboardInterrupt):
            tracker.run(scenario, out, 1, shard_size=1)


@pytest.mark.parametrize("way", WAYS)
def test_run_resume_draw_sweep_compare_and_export(way: str, results: dict[str, str]) -> None:
    scenario = WAYS[way]()
    whole = tracker.run(scenario, executor=1)
    broken_off(scenario, "run")
    assert not Path("run/result.nc").exists()
    resumed = tracker.run(scenario, "run", 1, resume=True)
    assert resumed.summary["hash"] == whole.summary["hash"]
    results[way] = whole.summary["hash"]
    assert len(set(results.values())) == 1, "the same paths in all ways"

    (drawn,) = (
        one for one in state_paths.exhibits(View(resumed)) if isinstance(one, Exhibit) and one.key == "state-tuned-step"
    )
    assert "tuned-0.01" in str(drawn.table)
    steps = resumed.dataset["tuned_step"]
    assert steps.attrs["long_name"] == "the step it takes now"
    assert np.ptp(steps.values[np.isfinite(steps.values)]) > 0.0  # it moves

    found = tracker.sweep(scenario.replace(sweep={"samplers.hmc.friction": [2.0, 3.0]}), executor=1)
    table = found.dataset["tracking_error"].sel(sampler="hmc").values
    assert (
        table[0] == next(row for row in resumed.summary["samplers"] if row["name"] == "hmc")["tracking_error"]["mean"]
    )
    assert table[0] != table[1]
    tuned, taken = found.dataset["tuned_step"], steps.sel(tuned_step_sampler="tuned-0.01").values
    early = taken.reshape(scenario.trials, -1)[:, :-1].mean(axis=1)  # over the averaged records: the last one is K
    assert tuned.sel(sampler="tuned-0.01").values == pytest.approx([early.mean()] * 2)
    assert np.isnan(tuned.sel(sampler="hmc").values).all()
    assert found.dataset["tuned_step_stderr"].sel(sampler="tuned-0.01").values[0] == pytest.approx(
        early.std(ddof=1) / 3**0.5
    )
    assert "tuned step of tuned-0.01" in points_table(found).table.columns
    assert resumed.table["state_tuned_step"]["tuned-0.01"] == pytest.approx(early.mean())
    other = tracker.run(scenario.set("samplers.hmc.friction", 3.0), executor=1)
    moved = {
        change.sampler: change.ratio.estimate
        for change in compare(resumed, other)
        if change.quantity == "tracking_error"
    }
    assert moved["tuned-0.01"] == 1.0 != moved["hmc"]


@pytest.mark.parametrize("flags", [("--code", "mine.py"), ("--allow-plugins", "ways-of-tests")])
def test_the_shell_has_them_too(flags: tuple[str, str]) -> None:
    def call(*words: str) -> None:
        done = CliRunner().invoke(app, [*words, *flags])
        assert done.exit_code == 0, done.output

    call("run", "ways.toml", "--out", "run", "--no-report")
    call("run", "ways.toml", "--out", "run", "--resume", "--no-report")
    call("export", "run", "--csv", "csv")
    call("compare", "run", "run")
    with Path("csv/traces.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["sampler"] for row in rows if row["tuned_step"]} == {"tuned-0.01"}


@pytest.mark.parametrize("way", WAYS)
def test_sghmc_has_the_path_and_the_moments_of_kinetic(way: str) -> None:
    own = WAYS[way]().replace(modes=BOWLS)
    kinetic = {"name": "hmc", "kind": "kinetic", "epsilon": 0.05, "friction": 2.0, "beta": 8.0}
    ours = own.replace(samplers=[kinetic])
    for of in (limits.moments, limits.algorithm_moments):
        at = [0.5, 2.0] if of is limits.moments else [1, 7]
        mine, known = of(own, "hmc", at), of(ours, "hmc", at)
        np.testing.assert_allclose(mine.second, known.second, rtol=1e-12)
    paths = [tracker.run(one, executor=1).dataset["theta_trace"].sel(sampler="hmc").values for one in (own, ours)]
    np.testing.assert_allclose(*paths, rtol=1e-12)
    with pytest.raises(limits.OutOfScope, match="theory is not known for the kind"):
        limits.moments(own, "tuned-0.01", [1.0])
