"""A cost is one file and one line: ``declared_cost.py``, and an entry in the table of costs. Nothing else is edited.

The truth is the package's own quadratic cost with the same numbers: every result must be equal.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from declared_cost import BowlKeys
from faults import kept_entries
from interpreting import interpreting
from typer.testing import CliRunner

import tracker
from tracker import limits, references
from tracker.cli import app
from tracker.costs import COSTS
from tracker.reports.run_vs_run import compare
from tracker.scenario import build_modes, stability_limits, switched_systems
from tracker.scenario.json_schema import json_schema

BOWL = 'cost = "bowl"\ncentre = [{x}, 0.5]\ndepth = 2.0\nnoise = 0.25\n'
SAME = 'cost = "quadratic"\nminimum = [{x}, 0.5]\ncurvature = [[2.0, 0.0], [0.0, 2.0]]\ngradient_noise = 0.25\n'
TEXT = """
name = "bowls"
trials = 3
steps = 40
start = [0.0, 0.0]
[chain]
alpha = 0.05
Q = [[-1.0, 1.0], [1.0, -1.0]]
[[modes]]
name = "left"
{left}
[[modes]]
name = "right"
{right}
[[samplers]]
name = "classical"
kind = "langevin"
epsilon = 0.05
beta = 4.0
[[samplers]]
name = "tangent"
kind = "hessian"
epsilon = 0.05
beta = 4.0
skew = 0.5
skew_step = 0.01
skew_bounds = [-5.0, 5.0]
"""


def text(mode: str) -> str:
    return TEXT.format(left=mode.format(x=-1.0), right=mode.format(x=1.0))


@pytest.fixture(autouse=True)
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One line: the entry of the table. And no kernel is worth compiling for 40 steps."""
    monkeypatch.setitem(COSTS, "bowl", BowlKeys)
    with interpreting(None):
        yield


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "bowls.toml").write_text(text(BOWL))
    return tmp_path / "bowls.toml"


def invoke(*arguments: str | Path) -> Any:
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done


def test_it_runs_and_is_resumed_like_our_own(file: Path, tmp_path: Path) -> None:
    scenario, out = tracker.load(file), tmp_path / "run"

    def progress(done: float, total: float, note: str) -> None:
        if note.startswith("running") and len(kept_entries(out)) >= 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tracker.run(scenario, out, 1, shard_size=1, progress=progress)
    run = tracker.run(scenario, out, 1, resume=True)
    same = tracker.run(tracker.parse(text(SAME)), executor=1)
    assert np.abs(run.dataset["theta"]).max() > 0.1
    for name in ("theta", "moments"):
        np.testing.assert_array_equal(run.dataset[name], same.dataset[name])
    for mine, ours in zip(run.summary["samplers"], same.summary["samplers"], strict=True):
        assert mine["tracking_error"] == ours["tracking_error"]
        assert mine["excess_cost"]["mean"] == pytest.approx(ours["excess_cost"]["mean"], rel=1e-12)
    assert tracker.open_run(out).summary == run.summary


def test_it_is_drawn_compared_and_exported(file: Path, tmp_path: Path) -> None:
    one = tracker.run(tracker.load(file), tmp_path / "one", 1)
    two = tracker.run(tracker.load(file, ["modes.*.depth=3.0"]), tmp_path / "two", 1)
    assert {change.sampler for change in compare(one, two)} >= {"classical", "tangent"}
    one.report(tmp_path / "page.html")
    assert "bowls" in (tmp_path / "page.html").read_text()
    invoke("export", tmp_path / "one", "--csv", tmp_path / "csv")
    rows = list((tmp_path / "csv").glob("*.csv"))
    assert rows
    assert all(path.stat().st_size for path in rows)


def test_it_is_swept(file: Path, tmp_path: Path) -> None:
    file.write_text(text(BOWL) + '[sweep]\n"modes.*.depth" = [1.0, 3.0]\n')
    swept = tracker.sweep(tracker.load(file), tmp_path / "sweep", 1)
    assert swept.troubled == ()
    for depth, outcome in zip((1.0, 3.0), swept.outcomes, strict=True):
        assert [mode.depth for mode in outcome.point.scenario.modes] == [depth, depth]
    assert swept.dataset.sizes["modes.*.depth"] == 2


def test_the_schema_and_the_list_know_it(tmp_path: Path) -> None:
    keys = json_schema()["$defs"]["BowlKeys"]
    assert keys["properties"]["centre"]["description"] == "where the bowl is lowest"
    assert keys["required"] == ["name", "cost", "centre", "depth"]
    assert {"$ref": "#/$defs/BowlKeys"} in json_schema()["properties"]["modes"]["items"]["oneOf"]
    listed = json.loads(invoke("list", tmp_path, "--json").stdout)
    assert listed["costs"]["bowl"] == "A round bowl: centre, depth and noise."


def test_wrong_keys_are_explained_in_its_own_words(file: Path) -> None:
    wrong = text(BOWL).replace("depth = 2.0", "detph = 2.0", 1).replace("centre = [1.0, 0.5]", "centre = [1.0]")
    with pytest.raises(tracker.ScenarioError) as found:
        tracker.parse(wrong)
    problems = "\n".join(found.value.problems)
    assert 'modes[0] "left": depth: missing: how steep the bowl is in every direction' in problems
    assert "detph: unknown key, with 2.0; did you mean depth?" in problems
    assert 'modes[1] "right": theta has dimension 1, but start has 2' in problems
    checked = json.loads(invoke("validate", file, "--json").stdout)
    assert {row["exact"] for row in checked["stability"]} == {True}


def test_theory_takes_it_for_what_it_says_it_is() -> None:
    bowl, same = tracker.parse(text(BOWL)), tracker.parse(text(SAME))
    mine, ours = (limits.moments(one, "classical", 1.0) for one in (bowl, same))
    np.testing.assert_array_equal(mine.mean, ours.mean)
    np.testing.assert_array_equal(mine.second, ours.second)
    assert stability_limits(bowl) == stability_limits(same)
    assert switched_systems(bowl) == switched_systems(same) != []
    optimal = {"name": "best", "kind": "accelerated", "epsilon": 0.05, "skew": "optimal"}
    alone = bowl.replace(modes=bowl.modes[:1], chain=None, samplers=[optimal])
    assert limits.moments(alone, "best", 1.0).mean.shape == (2,)
    mode = build_modes(bowl)[0]
    np.testing.assert_array_equal(limits.gibbs_marginal(mode, 4.0, 0).points[[0, -1]] < -1.0, [True, False])


def test_what_it_does_not_say_is_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: a family that says nothing of its curvature is refused where theory needs it."""
    monkeypatch.setattr(BowlKeys, "quadratic", property(lambda _: False))
    bowl = tracker.parse(text(BOWL))
    assert stability_limits(bowl) == []
    assert switched_systems(bowl) == []
    with pytest.raises(ValueError, match="no exact law is known for Bowl"):
        references.posterior(bowl, "left")
