"""A sweep from outside: its points, its directory, what goes wrong on the way, and its one result."""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from faults import flipped
from typer.testing import CliRunner
from worlds import ROOT, SCENARIOS

import tracker
from tracker.cli import app
from tracker.runs import axes_of, points_of, sweep_directory, sweep_running
from tracker.runs.lock_file import hold_lock, living_holder
from tracker.runs.run_directory import RunDirectory
from tracker.scenario import with_settings

TEXT = (SCENARIOS / "example_a.toml").read_text()
SHORT = ("trials=2", "steps=130", "record_every=10", "chain.alpha=0.02", 'chain.initial="stationary"')
BASE = tracker.parse(TEXT, settings=SHORT)
# With s = 4 the limit on epsilon is 2 Re / |.|^2 = 3 / 34 = 0.09 of the eigenvalues of (I + S) H, H about diag(2, 1); with
# s = 2 it is 0.3: of 25 points one diverges.
EPSILON, SKEW = (0.005, 0.01, 0.02, 0.04, 0.2), (0.0, 0.5, 1.0, 2.0, 4.0)
FILE = f'{BASE.toml()}\n[sweep]\n"samplers.*.epsilon" = {list(EPSILON)}\n"samplers.skewed.skew" = {list(SKEW)}\n'
SCENARIO = tracker.parse(FILE)
LAST = "point 24 (samplers.*.epsilon = 0.2, samplers.skewed.skew = 4.0)"


def invoke(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, list(map(str, arguments)))


def hashes(folder: Path) -> list[str | None]:
    return [point["hash"] for point in json.loads((folder / "points.json").read_text())["points"]]


def small(**axes: list[Any]) -> tracker.Scenario:
    """A sweep of few points; an address is written with double underscores."""
    return BASE.replace(steps=30, sweep={name.replace("__", "."): values for name, values in axes.items()})


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The sweep of 25 points, undisturbed."""
    folder = tmp_path_factory.mktemp("sweeps")
    (folder / "a.toml").write_text(FILE)
    return folder / "out", invoke("sweep", folder / "a.toml", "--out", folder / "out", "--quiet")


# --- the points


def test_points_are_crossed_in_the_order_of_the_file() -> None:
    points = points_of(SCENARIO)
    assert [dict(point.settings) for point in points] == [
        {"samplers.*.epsilon": epsilon, "samplers.skewed.skew": skew} for epsilon in EPSILON for skew in SKEW
    ]
    for point in (points[0], points[7], points[24]):
        settings = [f"{address}={value}" for address, value in point.settings]
        assert point.scenario.content() == with_settings(BASE, settings).content()
        assert not point.scenario.sweep
    assert points[24].label == LAST
    assert points[7].folder == "07_epsilon=0.01_skew=1.0"


def test_names_of_folders_are_safe_and_differ() -> None:
    scenario = small(start=[[0.0, 0.0], [1e-3, -2.5]], description=["a/../b", 'x"y', "é" * 200, "é" * 201])
    folders = [point.folder for point in points_of(scenario)]
    assert len(set(folders)) == 8
    assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.=+-]{0,79}", folder) and ".." not in folder for folder in folders)


def run_problems(text: str, folder: Path, *flags: str) -> tuple[int, str]:
    (folder / "a.toml").write_text(text)
    found = invoke("sweep", folder / "a.toml", "--out", folder / "out", *flags)
    assert found.stdout == ""
    assert sorted(path.name for path in folder.iterdir()) == ["a.toml"], "something ran"
    return found.exit_code, found.stderr


def test_one_invalid_point_and_nothing_runs(tmp_path: Path) -> None:
    """Each value is valid alone; only burn_in = 60 with steps = 40 is not."""
    text = f"{BASE.toml()}\n[sweep]\nburn_in = [0, 60]\nsteps = [130, 40]\n"
    code, says = run_problems(text, tmp_path)
    assert code == 3
    assert says == "point 3 (burn_in = 60, steps = 40): burn_in: 60 must be less than steps = 40\n"


@pytest.mark.parametrize(
    ("table", "flags", "code", "says"),
    [
        ("", [], 3, 'sweep: missing: what to sweep, as in [sweep] with "chain.alpha"'),
        ("[sweep]\nsteps = [40, 50, 40]", [], 3, 'sweep."steps": 40 stands there more than once'),
        ("[sweep]\nstart = [[1, 2], [1, 2]]", [], 3, 'sweep."start": [1, 2] stands there more than once'),
        (
            "[sweep]\nsteps = [40, 50]",
            ["--set", "steps=60"],
            3,
            "--set steps: is swept; --set 'sweep={\"steps\" = [...]}'",
        ),
        ("[sweep]\nsteps = [40, 50]", ["--metric", "x"], 2, "--metric: 'x' is none of tracking_error, "),
        ("[sweep]\nsteps = [40, 50]", ["--resume", "--replace"], 2, "choose one"),
        (
            "[sweep]\nsteps = [40, 50]",
            ["--max-steps", "170"],
            4,
            "steps: 2 points = 180 is more than 170; raise it with --max-steps",
        ),
        ("[sweep]\nsteps = [40, 50]", ["--set", "trials=900_000", "--max-memory", "1"], 4, "memory: about "),
        ("[sweep]\nsteps = [40, 50]", ["--max-disk", "0.0001"], 4, "disk: about "),
    ],
)
def test_refusals(table: str, flags: list[str], code: int, says: str, tmp_path: Path) -> None:
    found = run_problems(f"{BASE.toml()}\n{table}\n", tmp_path, *flags)
    assert found[0] == code, found[1]
    assert says in found[1]


# --- a sweep with a diverging point


def test_a_diverging_point_is_told_and_the_others_go_on(done: tuple[Path, Any]) -> None:
    folder, result = done
    assert result.exit_code == 5, result.stderr
    told = [line for line in result.stderr.splitlines() if line.startswith(f"{LAST}: ")]
    assert len(told) == 1
    assert re.search(r"skewed diverged in 2 of 2 trials, first at step \d+$", told[0])
    assert "1 of 25 points diverged or failed: 24" in result.stderr
    warned = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
    assert [line.partition(" is not mean-square stable")[0] for line in warned] == [
        f'warning: {LAST}: samplers "skewed": epsilon: 0.2'
    ] * len(BASE.modes)
    points = json.loads((folder / "points.json").read_text())["points"]
    assert [point["state"] for point in points] == ["complete"] * 24 + ["diverged"]
    assert json.loads((folder / "sweep.json").read_text())["complete"] is True
    assert (folder / "scenario.toml").read_text() == FILE
    assert {path.name for path in folder.iterdir()} == {
        "points", "points.json", "scenario.toml", "sweep.json", "sweep.nc", "sweep.png", "sweep.svg",
    }  # fmt: skip


def test_the_table_of_points_is_printed_before_the_results(done: tuple[Path, Any]) -> None:
    lines = done[1].stdout.splitlines()
    first = [n for n, line in enumerate(lines) if re.match(r" *24 +0.2 +4.0 *$", line)]
    second = [n for n, line in enumerate(lines) if re.match(r" *24 +0.2 +4.0 .*diverged", line)]
    assert len(first) == len(second) == 1
    assert first < second
    assert any("25 points" in line for line in lines)


def test_a_point_is_the_run_that_it_says(done: tuple[Path, Any]) -> None:
    point = points_of(SCENARIO)[12]
    found = tracker.open_run(done[0] / "points" / point.folder)
    alone = tracker.run(with_settings(BASE, ["samplers.*.epsilon=0.02", "samplers.*.skew=1.0"]), executor=1)
    assert found.summary["hash"] == alone.summary["hash"] == hashes(done[0])[12]
    assert found.scenario.content() == point.scenario.content()


def test_the_tidy_result_opens_in_plain_xarray(done: tuple[Path, Any]) -> None:
    with xarray.open_dataset(done[0] / "sweep.nc") as found:
        found.load()
    assert dict(found.sizes) == {"samplers.*.epsilon": 5, "samplers.skewed.skew": 5, "sampler": 4}
    np.testing.assert_array_equal(found["samplers.*.epsilon"], EPSILON)
    for point in points_of(SCENARIO):
        summary = tracker.open_run(done[0] / "points" / point.folder).summary
        chosen = found.sel(dict(point.settings))
        for row in summary["samplers"]:
            one = chosen.sel(sampler=row["name"])
            for name in ("tracking_error", "mean_square_error", "excess_cost"):
                for suffix, key in (("", "mean"), ("_stderr", "stderr")):
                    expected = row[name][key] if row[name][key] is not None else np.nan
                    np.testing.assert_equal(float(one[f"{name}{suffix}"]), expected)
            assert float(one["diverged"]) == row["diverged"]
    np.testing.assert_array_equal(found["outcome"].values.ravel(), [0] * 24 + [1])
    assert found["outcome"].attrs["flag_meanings"] == "complete diverged failed"
    ratio = found["ratio"].sel(sampler="skewed").isel({"samplers.skewed.skew": 0})
    np.testing.assert_allclose(ratio, 0.02 / np.array(EPSILON), rtol=1e-15)


def test_json_is_one_object(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(small(chain__alpha=[0.01, 0.02]).toml())
    found = invoke(
        "sweep", tmp_path / "a.toml", "--out", tmp_path / "out", "--json", "--quiet", "--metric", "excess_cost"
    )
    assert found.exit_code == 0, found.stderr
    facts = json.loads(found.stdout, parse_constant=pytest.fail)
    assert [point["settings"] for point in facts["points"]] == [{"chain.alpha": 0.01}, {"chain.alpha": 0.02}]
    assert facts["metric"] == "excess_cost"
    assert facts["points"][1]["samplers"][0]["name"] == "skewed"


@pytest.mark.parametrize("broken", ["picture", "page"])
@pytest.mark.parametrize(("raises", "code"), [(KeyboardInterrupt(), 130), (KeyError("axes"), 1)])
def test_a_picture_or_page_that_is_not_drawn_hides_no_results(
    broken: str, raises: BaseException, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.toml").write_text(small(chain__alpha=[0.01, 0.02]).toml())
    command = ("sweep", tmp_path / "a.toml", "--out", tmp_path / "out", "--quiet")

    def fails(*_: Any) -> None:
        raise raises

    with monkeypatch.context() as patch:
        patch.delenv("TRACKER_NO_REPORT")
        patch.setattr("tracker.cli.sweep.write_picture", fails if broken == "picture" else lambda *_: "a caption")
        patch.setattr(sweep_running.Sweep, "report", fails)
        found, as_json = invoke(*command), invoke(*command, "--resume", "--json")
    for result in (found, as_json):
        assert result.exit_code == code
        assert f"the results are complete in {tmp_path / 'out'}. To write it: tracker " in result.stderr
    assert re.search(r"(?m)^ *1 +0.02 .* complete *$", found.stdout)
    assert [point["state"] for point in json.loads(as_json.stdout)["points"]] == ["complete"] * 2
    again = invoke(*shlex.split(found.stderr.splitlines()[-1].partition("To write it: tracker ")[2]))
    assert again.exit_code == 0, again.stderr


# --- interruptions


KILLED = """
import os, signal, sys
import tracker
def progress(done, total, note):
    if note.startswith("point 8 of 25: running") and done > 0:
        os.kill(os.getpid(), signal.SIGKILL)
tracker.sweep(tracker.load(sys.argv[1]), sys.argv[2], 1, progress=progress)
"""


def test_a_killed_sweep_is_resumed_without_computing_again(done: tuple[Path, Any], tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(FILE)
    out = tmp_path / "out"
    command = [sys.executable, "-c", KILLED, str(tmp_path / "a.toml"), str(out)]
    killed = subprocess.run(command, check=False, timeout=900, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert killed.returncode == -signal.SIGKILL
    finished = sorted(out.glob("points/*/result.nc"))
    assert len(finished) == 7
    assert not (out / "sweep.nc").exists()
    before = [path.stat().st_mtime_ns for path in finished]
    refused = invoke("sweep", tmp_path / "a.toml", "--out", out)
    assert (refused.exit_code, "--resume continues it" in refused.stderr) == (7, True)
    resumed = invoke("sweep", tmp_path / "a.toml", "--out", out, "--resume", "--quiet")
    assert resumed.exit_code == 5, resumed.stderr
    assert [path.stat().st_mtime_ns for path in finished] == before, "computed again"
    assert hashes(out) == hashes(done[0])
    assert LAST in resumed.stderr
    with xarray.open_dataset(out / "sweep.nc") as one, xarray.open_dataset(done[0] / "sweep.nc") as other:
        assert one.identical(other)


def test_a_sweep_killed_before_its_scenario_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    scenario = small(chain__alpha=[0.01, 0.02])
    out = tmp_path / "swept"
    with monkeypatch.context() as patch:
        patch.setattr(sweep_directory, "write_scenario", killed)
        with pytest.raises(KeyboardInterrupt):
            tracker.sweep(scenario, out)
    assert not (out / "scenario.toml").exists()
    tracker.sweep(scenario, out, resume=True)
    assert (out / "scenario.toml").read_text() == scenario.toml()


def test_ctrl_c_tells_the_command_that_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.toml").write_text(small(chain__alpha=[0.01, 0.02, 0.03]).toml())
    whole = sweep_running.run

    def interrupted(scenario: tracker.Scenario, *args: Any, **options: Any) -> tracker.Run:
        if scenario.chain is not None and scenario.chain.alpha == 0.02:
            raise KeyboardInterrupt
        return whole(scenario, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(sweep_running, "run", interrupted)
        stopped = invoke("sweep", tmp_path / "a.toml", "--out", tmp_path / "out", "--set", "trials=3", "--quiet")
    assert stopped.exit_code == 130
    line = stopped.stderr.splitlines()[-1]
    assert line.startswith("interrupted; what is finished is kept. Continue with: tracker sweep ")
    again = invoke(*shlex.split(line.partition("tracker ")[2]))
    assert again.exit_code == 0, again.stderr
    assert None not in hashes(tmp_path / "out")


def test_a_failing_point_leaves_a_gap_and_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = small(chain__alpha=[0.01, 0.02, 0.03])
    (tmp_path / "a.toml").write_text(scenario.toml())
    whole = sweep_running.run

    def fails(scenario: tracker.Scenario, *args: Any, **options: Any) -> tracker.Run:
        if scenario.chain is not None and scenario.chain.alpha == 0.02:
            raise MemoryError("planted")
        return whole(scenario, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(sweep_running, "run", fails)
        found = invoke("sweep", tmp_path / "a.toml", "--out", tmp_path / "out", "--quiet")
    assert found.exit_code == 5
    assert "point 1 (chain.alpha = 0.02): MemoryError: planted\n" in found.stderr
    with xarray.open_dataset(tmp_path / "out" / "sweep.nc") as data:
        np.testing.assert_array_equal(np.isnan(data["tracking_error"].sel(sampler="skewed")), [False, True, False])
        np.testing.assert_array_equal(data["outcome"], [0, 2, 0])
    assert invoke("sweep", tmp_path / "a.toml", "--out", tmp_path / "out", "--quiet", "--resume").exit_code == 0
    in_memory = tracker.sweep(scenario, executor=1)
    assert [outcome.summary and outcome.summary["hash"] for outcome in in_memory.outcomes] == hashes(tmp_path / "out")
    assert in_memory.path is None


# --- the directory


def test_what_is_damaged_is_computed_again_and_said(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(small(chain__alpha=[0.01, 0.02]).toml())
    command = ("sweep", tmp_path / "a.toml", "--out", tmp_path / "out", "--quiet")
    assert invoke(*command).exit_code == 0
    before = hashes(tmp_path / "out")
    result = next((tmp_path / "out" / "points").glob("1_*")) / "result.nc"
    content = bytearray(result.read_bytes())
    content[len(content) // 2] ^= 4
    result.write_bytes(content)
    again = invoke(*command, "--resume")
    assert again.exit_code == 0
    assert "point 1 (chain.alpha = 0.02): result.nc was changed since the run" in again.stderr
    assert hashes(tmp_path / "out") == before


def test_another_sweep_is_not_resumed_and_replaced_only_if_asked(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(small(chain__alpha=[0.01, 0.02]).toml())
    command = ("sweep", tmp_path / "a.toml", "--out", tmp_path / "out", "--quiet")
    assert invoke(*command).exit_code == 0
    before = hashes(tmp_path / "out")
    other = invoke(*command, "--resume", "--set", "seed=9")
    assert other.exit_code == 7
    assert "  seed: 1 in the run, 9 now" in other.stderr
    assert hashes(tmp_path / "out") == before
    assert invoke(*command, "--replace", "--set", "seed=9").exit_code == 0
    assert not set(hashes(tmp_path / "out")) & set(before)

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    for flag in ("--replace", "--resume", "--quiet"):
        refused = invoke("sweep", tmp_path / "a.toml", "--out", tmp_path / "mine", flag)
        assert (refused.exit_code, "no sweep" in refused.stderr) == (7, True)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


# --- from another terminal


def said(folder: Path, *flags: str) -> tuple[int, list[str], dict[str, Any]]:
    """Return the exit code, the lines and the JSON object of ``tracker status``."""
    text, facts = invoke("status", folder, *flags), invoke("status", folder, *flags, "--json")
    assert text.exit_code == facts.exit_code
    return text.exit_code, [*text.stdout.splitlines(), *text.stderr.splitlines()], json.loads(facts.stdout)


def test_status_of_a_finished_sweep(done: tuple[Path, Any]) -> None:
    code, lines, facts = said(done[0])
    assert (code, lines[:2]) == (0, ["example-a: complete", "100 % done, 25 of 25 points complete"])
    assert re.fullmatch(re.escape(LAST) + r" diverged: skewed diverged in 2 of 2 trials, first at step \d+", lines[2])
    assert len(lines) == 3
    assert (facts["state"], facts["points"], facts["points_done"], facts["part"]) == ("complete", 25, 25, 1.0)
    assert [point["index"] for point in facts["diverged"]] == [24]
    assert (facts["failed"], facts["unusable"], facts["verified"], facts["resume"]) == ([], [], True, None)


def test_status_of_a_sweep_that_is_under_way_and_of_one_that_was_broken_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Point 0 diverges, 1 fails, 2 is interrupted after one of its two trials; 3 takes three times the steps."""
    scenario = small(samplers__skewed__epsilon=[9.5, 0.02], steps=[100, 300]).replace(trials=2)
    (tmp_path / "a.toml").write_text(scenario.toml())
    out, whole, seen = tmp_path / "out", sweep_running.run, list[Any]()

    def run(scenario: tracker.Scenario, place: Path, *args: Any, **options: Any) -> tracker.Run:
        if "/1_" in str(place):
            raise MemoryError("planted")
        return whole(scenario, place, 1, **{**options, "shard_size": 1})

    add_shard = RunDirectory.add_shard

    def add_and_break_off(self: RunDirectory, *args: Any) -> None:
        add_shard(self, *args)
        if self.path.name.startswith("2_"):
            self.tell_progress(60.0, 50.0, 100.0, time.time() - 5.0)
            seen.append(said(out))
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sweep_running, "run", run)
        patch.setattr(RunDirectory, "add_shard", add_and_break_off)
        with pytest.raises(KeyboardInterrupt):
            tracker.sweep(scenario, out, 1)
    point = "point 2 (samplers.skewed.epsilon = 0.02, steps = 100)"
    code, lines, facts = seen[0]
    assert (code, facts["state"], facts["points"], facts["points_done"]) == (0, "running", 4, 1)
    assert lines[0] == f"example-a: running by {facts['holder']}"
    assert lines[1] == f"20 % done, 1 of 4 points complete; {point} at 60 %"  # (100 + 60) of 800 steps
    assert lines[2].startswith("2 steps/s, 5 min left")  # 20 s for 40 steps: 320 s for 640
    assert facts["seconds_left"] == pytest.approx(320.0, rel=0.01)
    assert facts["resume"] is None

    code, lines, facts = said(out)
    assert (code, lines[:2]) == (
        0,
        ["example-a: resumable", f"18.8 % done, 1 of 4 points complete; {point} at 50 %"],
    )
    assert "point 0 (samplers.skewed.epsilon = 9.5, steps = 100) diverged: skewed diverged in 2 of 2" in lines[2]
    assert lines[3].startswith("point 1 (samplers.skewed.epsilon = 9.5, steps = 300) failed: ")
    assert [one["index"] for one in facts["failed"]] == [1]
    again = lines[-1].removeprefix("to continue: tracker ")
    assert shlex.split(again) == ["sweep", f"{out}/scenario.toml", "--out", str(out), "--resume"]
    assert f"not finished; tracker {again} finishes it" in invoke("report", out).stderr
    with hold_lock(out):
        assert f"the sweep is not finished: it is being written by {living_holder(out)}" in invoke("report", out).stderr
    assert invoke(*shlex.split(again)).exit_code == 5  # points 0 and 1 diverge
    alone = tracker.sweep(scenario, executor=1)
    assert hashes(out) == [outcome.summary and outcome.summary["hash"] for outcome in alone.outcomes]


def test_status_checks_every_point_of_a_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.toml").write_text(small(chain__alpha=[0.01, 0.02]).toml())
    out = tmp_path / "out"
    assert invoke("sweep", tmp_path / "a.toml", "--out", out, "--quiet").exit_code == 0
    victim = next((out / "points").glob("1_*")) / "result.nc"
    victim.write_bytes(flipped(victim.read_bytes(), random.Random(1)))
    name = f"points/{victim.parent.name}/result.nc"
    code, lines, facts = said(out)
    assert (code, facts["unusable"]) == (7, [name])
    assert lines[-1].startswith(f"{out}: damaged: {name}; tracker sweep {out}/scenario.toml --out {out} --resume ")
    with monkeypatch.context() as patch:
        patch.setattr("tracker.runs.resume_preview.MOST_BYTES_VERIFIED_UNASKED", 10.0)
        code, lines, facts = said(out)
        assert (code, facts["verified"], "--verify reads them" in lines[-1]) == (0, False, True)
        assert said(out, "--verify")[0] == 7
    (out / "points.json").write_text("{}")
    assert said(out)[2]["unusable"] == ["points.json", name]
    assert invoke(*shlex.split(facts["resume"] or said(out)[2]["resume"])[1:], "--quiet").exit_code == 0
    assert said(out)[0] == 0
    assert "a sweep, not a run" in invoke("export", out, "--csv", tmp_path / "x").stderr


def test_axes_know_numbers_from_words() -> None:
    axes = axes_of(small(chain__alpha=[0.01, 1], samplers__skewed__beta=[1.0, "inf"], start=[[0.0, 0.0], [1.0, 0.0]]))
    assert axes[0].numbers is not None
    assert axes[1].numbers is None
    assert axes[1].labels == ("1.0", "inf")
    assert axes[2].labels == ("[0.0, 0.0]", "[1.0, 0.0]")
