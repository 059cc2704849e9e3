"""The recipes of docs/extending: a sampler, a cost, a metric, an array, a command and a key from one file and one line each.

The files are those of the page, outside the package; the lines are entries of the tables. Nothing else is edited.
"""

from __future__ import annotations

import csv
import importlib
import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import xarray
from faults import kept_entries
from interpreting import interpreting
from typer.testing import CliRunner
from worlds import ROOT

import tracker
from tracker import limits
from tracker.cli import app
from tracker.costs import COSTS
from tracker.engine.arrays import ARRAYS
from tracker.metrics.table import METRICS
from tracker.reports.run_vs_run import compare
from tracker.runs.array_shapes import shapes_of
from tracker.runs.forecast import array_bytes
from tracker.samplers import SAMPLERS
from tracker.scenario import json_schema

PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
RECIPES = ("A sampler", "A cost", "A metric", "A command", "A scenario key", "Storage")
TABLES: tuple[dict[str, Any], ...] = (SAMPLERS, COSTS, METRICS, ARRAYS)
TEXT = """
name = "own"
seed = 4
trials = 6
steps = 40
record_every = 1
start = [0.5, 0.0]
[chain]
alpha = 0.05
Q = [[-1.0, 1.0], [1.0, -1.0]]
[[modes]]
name = "left"
cost = "bowl"
centre = [-1.0, 0.5]
depth = 2.0
[[modes]]
name = "right"
cost = "bowl"
centre = [1.0, 0.5]
depth = 2.0
[[samplers]]
name = "classical"
kind = "langevin"
epsilon = 0.05
beta = 4.0
[[samplers]]
name = "mine"
kind = "metered"
epsilon = 0.05
beta = 4.0
"""


def blocks(heading: str) -> list[str]:
    """The examples of a section of the page."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)


@pytest.fixture(scope="module", autouse=True)
def added(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Everything of the page, in files outside the package; no kernel is worth compiling for 40 steps."""
    folder, before, commands = tmp_path_factory.mktemp("outside"), [dict(t) for t in TABLES], [*app.registered_commands]
    try:
        with pytest.MonkeyPatch.context() as patch, interpreting(None):
            patch.syspath_prepend(folder)
            for heading in RECIPES:
                file, line = blocks(heading)
                name = f"own_{heading.split()[-1].lower()}"
                (folder / f"{name}.py").write_text(file, encoding="utf-8")
                patch.delitem(sys.modules, name, raising=False)
                exec(line, vars(importlib.import_module(name)))  # noqa: S102  (our own page)
            yield
    finally:
        for table, rows in zip(TABLES, before, strict=True):
            table.clear()
            table.update(rows)
        app.registered_commands[:] = commands


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tracker.Run:
    return tracker.run(tracker.parse(TEXT), tmp_path_factory.mktemp("runs") / "run", 1)


def invoke(*arguments: str | Path) -> Any:
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done


def test_every_recipe_has_one_file_and_one_line() -> None:
    for heading in RECIPES:
        _, line = blocks(heading)
        assert len([part for part in line.splitlines() if part and "import" not in part]) == 1
    assert tuple(re.findall(r"^## (.+)$", PAGE, flags=re.MULTILINE)) == RECIPES


def test_they_are_known_only_by_their_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control."""
    tracker.parse(TEXT)
    monkeypatch.delitem(COSTS, "bowl")
    with pytest.raises(tracker.ScenarioError, match='"bowl" is an unknown family'):
        tracker.parse(TEXT)


def test_a_run_has_their_numbers(run: tracker.Run) -> None:
    """The way is the sum of the moves, the worst error the largest so far, the end error the last one."""
    theta, error = run.arrays["theta"], run.arrays["error"]
    np.testing.assert_allclose(theta[:, 1], theta[:, 0], rtol=0.0, atol=1e-12)  # the same noise, and classical Langevin
    assert np.abs(theta).max() > 0.1
    moves = np.linalg.norm(np.diff(theta[:, 1], axis=1), axis=-1)
    np.testing.assert_allclose(run.arrays["way"][:, 0, 1:], np.cumsum(moves, axis=1), rtol=1e-12)
    for t, s in np.ndindex(error.shape[:2]):
        assert run.arrays["worst_error"][t, s].tolist() == [max(error[t, s, : k + 1]) for k in range(41)]
    for n, row in enumerate(run.summary["samplers"]):
        assert row["end_error"]["mean"] == pytest.approx(error[:, n, -1].mean(), rel=1e-12)


def test_a_run_is_resumed(run: tracker.Run, tmp_path: Path) -> None:
    def progress(done: float, total: float, note: str) -> None:
        if note.startswith("running") and kept_entries(tmp_path / "broken"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tracker.run(run.scenario, tmp_path / "broken", 1, shard_size=1, progress=progress)
    resumed = tracker.run(run.scenario, tmp_path / "broken", 1, resume=True)
    assert resumed.summary["hash"] == run.summary["hash"]
    assert run.path is not None
    assert tracker.open_run(run.path).summary["hash"] == run.summary["hash"]


def test_what_is_foreseen_is_what_is_kept(run: tracker.Run) -> None:
    shapes = shapes_of(run.scenario, run.scenario.trials)
    assert {name: shape.shape for name, shape in shapes.items()} == {n: a.shape for n, a in run.arrays.items()}
    assert array_bytes(run.scenario).held == sum(array.nbytes for array in run.arrays.values())


def test_it_is_exported(run: tracker.Run, tmp_path: Path) -> None:
    assert run.path is not None
    invoke("export", run.path, "--csv", tmp_path / "csv")
    with (tmp_path / "csv" / "traces.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if (row["sampler"], row["trial"]) == ("mine", "0")]
    assert [float(row["way"]) for row in rows] == run.arrays["way"][0, 0].tolist()
    assert [float(row["worst_error"]) for row in rows] == run.arrays["worst_error"][0, 1].tolist()
    with (tmp_path / "csv" / "summary.csv").open(newline="") as file:
        assert [float(row["end_error.mean"]) for row in csv.DictReader(file)] == [
            row["end_error"]["mean"] for row in run.summary["samplers"]
        ]
    with xarray.open_dataset(run.path / "result.nc", engine="h5netcdf") as found:
        assert found.way.attrs == {"units": "theta", "long_name": "length of the path so far"}
        assert found.worst_error.attrs == {"units": "theta", "long_name": "largest recorded error so far"}
        assert list(found.way_sampler.values) == ["mine"]
        assert found.cost.values.tolist() == ["bowl", "bowl"]
    assert run.to_arviz("mine").sample_stats["worst_error"].shape == (6, 40)


def test_its_page(run: tracker.Run, tmp_path: Path) -> None:
    run.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "mine" in page
    assert "end error" in page


def test_it_is_swept_and_the_sweep_has_a_page(tmp_path: Path) -> None:
    swept = tracker.parse(TEXT + '[sweep]\n"modes.*.depth" = [1.0, 3.0]\n')
    sweep = tracker.sweep(swept, tmp_path / "sweep", 1)
    assert sweep.troubled == ()
    for outcome, values in zip(sweep.outcomes, sweep.dataset["end_error"].values, strict=True):
        np.testing.assert_array_equal(values, [row["end_error"]["mean"] for row in outcome.summary["samplers"]])
    sweep.report(tmp_path / "sweep.html")
    page = (tmp_path / "sweep.html").read_text()
    assert "end error" in page
    assert "modes.*.depth" in page


def test_two_runs_are_compared(run: tracker.Run, tmp_path: Path) -> None:
    deeper = tracker.run(tracker.parse(TEXT, settings=["modes.*.depth=3.0"]), tmp_path / "deeper", 1)
    found = {(change.sampler, change.quantity): change for change in compare(run, deeper)}
    one, two = (each.arrays["error"][:, 1, -1] for each in (run, deeper))
    assert found["mine", "end_error"].ratio.estimate == pytest.approx(two.mean() / one.mean(), rel=1e-12)
    assert run.path is not None
    page = tmp_path / "page.html"
    told = invoke("compare", run.path, tmp_path / "deeper", "--fail-if", "end_error.mine > 1e9", "--out", page)
    assert "end_error" in told.stdout
    assert "end error" in page.read_text()


def test_theory_knows_what_is_declared_linear_and_quadratic() -> None:
    """Against the closed form of one bowl: the mean goes to the centre as exp(-depth t), the variance to 1/(beta depth)."""
    scenario = tracker.parse(TEXT)
    for time in (0.3, 2.0):
        np.testing.assert_array_equal(*(limits.moments(scenario, name, time).second for name in ("mine", "classical")))
        found = limits.moments(scenario.replace(modes=scenario.modes[:1], chain=None), "mine", time)
        left = np.exp(-2.0 * time)
        np.testing.assert_allclose(found.mean, np.array([-1.0, 0.5]) + left * np.array([1.5, -0.5]), rtol=1e-10)
        around = found.second - np.outer(found.mean, found.mean)
        np.testing.assert_allclose(around, (1.0 - left**2) / (4.0 * 2.0) * np.eye(2), rtol=1e-9, atol=1e-12)


def test_the_schema_and_the_reference_pages_know_them() -> None:
    schema = json_schema()
    assert (
        schema["$defs"]["BowlKeys"]["properties"]["depth"]["description"] == "how steep the bowl is in every direction"
    )
    assert {"MeteredKeys", "ThriftyKeys"} <= set(schema["$defs"])
    maker = reference_maker()
    scenario, results = maker.scenario_reference(), maker.results_reference()
    for words in ('cost = "bowl"', 'kind = "metered"', 'kind = "thrifty"', "where the bowl is lowest", "`way`"):
        assert words in scenario
    for words in ("`end_error`", "`worst_error`", "largest recorded error so far"):
        assert words in results


def reference_maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_reference", ROOT / "docs" / "make_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_command_is_there_and_refuses_as_others_do(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(TEXT)
    assert invoke("modes", tmp_path / "own.toml").stdout.split() == ["left", "right"]
    assert "List the modes of a scenario." in invoke("--help").stdout
    (tmp_path / "own.toml").write_text(TEXT.replace("depth = 2.0", "detph = 2.0", 1))
    done = CliRunner().invoke(app, ["modes", str(tmp_path / "own.toml")])
    assert done.exit_code == 3
    assert "detph: unknown key, with 2.0; did you mean depth?" in done.stderr


def test_the_key_is_checked_and_its_default_changes_nothing() -> None:
    thrifty = TEXT.replace('kind = "metered"', 'kind = "thrifty"')
    theta = tracker.run(tracker.parse(thrifty), None, 1).arrays["theta"]
    np.testing.assert_array_equal(theta[:, 1], theta[:, 0])
    with pytest.raises(tracker.ScenarioError, match="budget: 10 gradients do not last for 1/epsilon = 20 steps"):
        tracker.parse(f"{thrifty}budget = 10.0\n")
    with pytest.raises(tracker.ScenarioError, match="did you mean budget"):
        tracker.parse(f"{thrifty}buget = 10.0\n")
    assert json.dumps(json_schema()).count("how many gradients may be spent on one unit of time") == 1
