"""Trials added to a finished run, and runs put together from parts: the same bits as computed in one piece."""

from __future__ import annotations

import errno
import json
import random
import shutil
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from faults import FailingDisk, disk, flipped
from typer.testing import CliRunner
from worlds import bowls

import tracker
from tracker.cli import app
from tracker.runs import CorruptRun, FewerTrials, RunDiffers, RunExists, compute_shards, executors
from tracker.runs.manifest import Earlier, Manifest, Part, shards_of
from tracker.runs.page_seals import is_sealed, with_seal
from tracker.runs.run_identity import manifest_of
from tracker.runs.run_status import status_of

FEW, MANY = bowls(trials=3, steps=40), bowls(trials=8, steps=40)
FINISHED = ["manifest.json", "result.nc", "scenario.toml", "summary.json"]


@pytest.fixture(scope="module", autouse=True)
def no_signs_of_life() -> Any:
    """They come by the clock, and steps to the disk are counted here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compute_shards, "SECONDS_BETWEEN_SIGNS_OF_LIFE", 1e9)
        yield


@pytest.fixture(scope="module")
def whole() -> tracker.Run:
    """The run with all trials from the start."""
    return tracker.run(MANY, executor=1)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "few"
    tracker.run(FEW, path, 1)
    (path / "scenario.toml").chmod(0o644)
    return path


def copy_of(path: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(path, tmp_path / f"copy{len(list(tmp_path.iterdir()))}"))


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


def grown(path: Path, **options: Any) -> tracker.Run:
    return tracker.run(MANY, path, 1, add_trials=True, **options)


# --- added trials


@pytest.mark.parametrize("shard_size", [None, 1, 2, 100])
def test_added_trials_give_the_run_with_all_of_them(
    finished: Path, whole: tracker.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shard_size: int | None
) -> None:
    path, computed = copy_of(finished, tmp_path), []
    simulate = executors.simulate
    monkeypatch.setattr(executors, "simulate", lambda p, t, *o: computed.extend(t) or simulate(p, t, *o))
    run = grown(path, shard_size=shard_size)
    assert sorted(computed) == [3, 4, 5, 6, 7]  # the old bits stay
    assert run.summary["hash"] == whole.summary["hash"]
    again = tracker.open_run(path)
    assert again.summary["hash"] == whole.summary["hash"]
    assert again.scenario.trials == again.summary["scenario"]["trials"] == 8
    for row, one in zip(again.summary["samplers"], whole.summary["samplers"], strict=True):
        assert {**row, "steps_per_second": 0} == {**one, "steps_per_second": 0}
    assert names(path) == FINISHED
    assert status_of(path).trials == 8
    more = tracker.run(bowls(trials=9, steps=40), path, 1, add_trials=True)  # and once more
    assert more.summary["hash"] == tracker.run(bowls(trials=9, steps=40), executor=1).summary["hash"]


def test_equal_trials_compute_nothing_and_fewer_are_refused(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copy_of(finished, tmp_path)
    before = {name: (path / name).read_bytes() for name in FINISHED}
    monkeypatch.setattr(executors, "simulate", lambda *_: pytest.fail("computed"))
    assert tracker.run(FEW, path, add_trials=True).summary["scenario"]["trials"] == 3
    with pytest.raises(FewerTrials, match="has 3 trials, and 2 are fewer"):
        tracker.run(bowls(trials=2, steps=40), path, add_trials=True)
    with pytest.raises(RunDiffers, match="steps: 40 in the run, 41 now"):
        tracker.run(bowls(trials=8, steps=41), path, add_trials=True)
    assert {name: (path / name).read_bytes() for name in names(path)} == before


def test_a_page_of_fewer_trials_does_not_stay(finished: Path, tmp_path: Path) -> None:
    path = copy_of(finished, tmp_path)
    (path / "report.html").write_bytes(with_seal(b"<!doctype html><p>3 trials</p>\n", "html"))
    assert is_sealed((path / "report.html").read_bytes(), "html")
    (path / "figures").mkdir()
    (path / "figures" / "mine.png").write_bytes(b"not drawn by a run")
    grown(path)
    assert names(path) == ["figures", *FINISHED]
    assert names(path / "figures") == ["mine.png"]


def steps_of(path: Path) -> int:
    """How many steps to the disk adding trials takes."""
    sound = FailingDisk(0, 0)
    with disk(sound):
        grown(path, shard_size=2)
    return sound.steps


def test_a_kill_at_any_moment_loses_nothing(finished: Path, whole: tracker.Run, tmp_path: Path) -> None:
    """Every step to the disk fails in turn, for good; what stands there then goes on to the same bits."""
    count = steps_of(copy_of(finished, tmp_path))
    assert count > 40
    for n in range(1, count + 1):
        path = copy_of(finished, tmp_path)
        with disk(FailingDisk(n, errno.EIO, for_good=True)), suppress(OSError):  # the last steps only clear away
            grown(path, shard_size=2)
        manifest = Manifest.decode((path / "manifest.json").read_bytes())
        assert manifest is not None
        if not manifest.complete:
            assert manifest.earlier is not None
            kept = status_of(path)
            assert kept.state == "resumable"
            assert kept.trials_done >= 3
            with pytest.raises(CorruptRun, match="not finished"):
                tracker.open_run(path)
            with pytest.raises(RunExists):  # an unfinished one needs resume
                grown(path)
        run = grown(path, resume=not manifest.complete, notice=lambda _: None)
        assert run.summary["hash"] == whole.summary["hash"]
        assert names(path) == FINISHED
        shutil.rmtree(path)


def test_a_run_that_is_broken_off_can_be_replaced(finished: Path, whole: tracker.Run, tmp_path: Path) -> None:
    for n in (3, 6, 9, 12, 20):
        path = copy_of(finished, tmp_path)
        with disk(FailingDisk(n, errno.EIO, for_good=True)), pytest.raises(OSError):
            grown(path)
        assert tracker.run(MANY, path, 1, replace=True).summary["hash"] == whole.summary["hash"]
        assert names(path) == FINISHED


def test_a_damaged_earlier_result_is_computed_again(finished: Path, whole: tracker.Run, tmp_path: Path) -> None:
    path, told = copy_of(finished, tmp_path), []
    count = steps_of(copy_of(finished, tmp_path))
    with disk(FailingDisk(count // 2, errno.EIO, for_good=True)), pytest.raises(OSError):
        grown(path, shard_size=2)
    data = (path / "earlier.nc").read_bytes()
    (path / "earlier.nc").write_bytes(flipped(data, random.Random(1)))
    assert status_of(path).unusable == ("earlier.nc",)
    run = grown(path, resume=True, notice=told.append)
    assert run.summary["hash"] == whole.summary["hash"]
    assert any("earlier.nc" in line and "computed again" in line for line in told)
    assert names(path) == ["damaged", *FINISHED]


# --- the commands


def call(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(one) for one in arguments])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "bowls.toml"
    path.write_text(FEW.toml())
    return path


def test_the_command_sets_adds_and_refuses(file: Path, whole: tracker.Run, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "run", "--workers", 1, "--quiet")
    assert call("run", file, "--trials", 2, *out).exit_code == 0  # sets the number
    assert tracker.open_run(tmp_path / "run").scenario.trials == 2
    more = call("run", file, "--trials", 8, "--json", *out)
    assert more.exit_code == 0
    assert json.loads(more.stdout)["hash"] == whole.summary["hash"]
    assert "6 trials added to 2" in more.stderr
    same = call("run", file, "--trials", 8, *out)
    assert same.exit_code == 0
    assert "has 8 trials already" in same.stderr
    fewer = call("run", file, "--trials", 7, *out)
    assert fewer.exit_code == 2
    assert "has 8 trials already, and trials can only be added" in fewer.stderr
    changed = call("run", file, "--trials", 9, "--set", "seed=3", *out)
    assert changed.exit_code == 2
    assert "--set" in changed.stderr
    file.write_text(FEW.replace(seed=3).toml())
    other = call("run", file, "--trials", 9, *out)
    assert other.exit_code == 7
    assert "seed: not given in the run, 3 now" in other.stderr
    assert tracker.open_run(tmp_path / "run").summary["hash"] == whole.summary["hash"]
    anew = call("run", file, "--trials", 2, "--replace", "--set", "seed=0", *out)
    assert anew.exit_code == 0
    assert tracker.open_run(tmp_path / "run").scenario.trials == 2


# --- parts


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("parts")
    for n in (1, 2, 3):
        tracker.run(MANY, folder / str(n), 1, part=(n, 3))
    return [folder / str(n) for n in (1, 2, 3)]


def test_every_trial_is_in_one_part() -> None:
    for trials in (1, 7, 10, 1000, 10**9):
        for of in (of for of in (1, 2, 3, 7, 10, 999) if of <= trials):
            shares = [Part(n, of).share(trials) for n in range(1, of + 1)]
            assert (shares[0].start, shares[-1].stop) == (0, trials)
            assert all(a.stop == b.start for a, b in pairwise(shares))
            sizes = {len(share) for share in shares}
            assert 1 <= min(sizes) <= max(sizes) <= min(sizes) + 1


def test_merged_parts_are_the_whole_run(parts: list[Path], whole: tracker.Run, tmp_path: Path) -> None:
    run = tracker.merge(tmp_path / "all", parts[::-1])
    assert run.summary["hash"] == whole.summary["hash"]
    again = tracker.open_run(tmp_path / "all")
    assert again.summary["hash"] == whole.summary["hash"]
    for row, one in zip(again.summary["samplers"], whole.summary["samplers"], strict=True):
        assert {**row, "steps_per_second": 0} == {**one, "steps_per_second": 0}
    assert names(tmp_path / "all") == FINISHED
    np.testing.assert_array_equal(again.dataset["trial"], np.arange(8))
    more = tracker.run(bowls(trials=9, steps=40), tmp_path / "all", 1, add_trials=True)  # it is a run like any other
    assert more.scenario.trials == 9


def test_a_part_is_no_run(parts: list[Path], tmp_path: Path) -> None:
    assert status_of(parts[1]).part_of_run == "2/3"
    assert status_of(parts[1]).trials == 3
    for command in (
        ("report", parts[1]), ("compare", parts[1], parts[1]), ("export", parts[1], "--csv", tmp_path / "csv"),
    ):  # fmt: skip
        told = call(*command)
        assert told.exit_code == 7, command
        assert "part 2 of 3" in told.stderr
    assert call("status", parts[1]).exit_code == 0
    with pytest.raises(RunDiffers, match="part: '2/3' in the run, '1/3' now"):
        tracker.run(MANY, parts[1], 1, part=(1, 3), resume=True)
    with pytest.raises(RunDiffers, match="part: '2/3' in the run, not given now"):
        tracker.run(MANY, parts[1], 1, resume=True)
    with pytest.raises(RunDiffers, match="part"):
        tracker.run(bowls(trials=9, steps=40), parts[1], 1, add_trials=True)
    assert tracker.run(MANY, parts[1], 1, part=(2, 3), resume=True).summary["part"]["first"] == 2


def test_a_missing_doubled_or_foreign_part_is_named(parts: list[Path], tmp_path: Path) -> None:
    one, two, three = parts
    tracker.run(MANY.replace(seed=5), tmp_path / "seed", 1, part=(3, 3))
    tracker.run(MANY, tmp_path / "cut", 1, part=(3, 4))
    tracker.run(MANY, tmp_path / "run", 1)
    shutil.copytree(three, tmp_path / "twin")
    (tmp_path / "none").mkdir()
    damaged = shutil.copytree(three, tmp_path / "damaged")
    (damaged / "result.nc").write_bytes((three / "result.nc").read_bytes()[:-1] + b"?")
    cases = {
        (one, two): "missing: part 3/3",
        (two,): "missing: part 1/3, 3/3",
        (one, two, three, tmp_path / "twin"): "part 3/3 is given twice",
        (one, three, two, two): "part 2/3 is given twice",
        (one, two, tmp_path / "seed"): "another run than",
        (one, two, tmp_path / "cut"): "part: 1/3 and 3/4",
        (one, two, tmp_path / "run"): "a whole run, not a part",
        (one, two, tmp_path / "none"): "no run",
        (one, two, damaged): "result.nc",
    }
    for given, words in cases.items():
        told = call("merge", tmp_path / "all", *given)
        assert told.exit_code == 7, words
        assert words in told.stderr
        assert str(given[-1]) in told.stderr or "missing" in words
        assert not (tmp_path / "all").exists()
    assert call("merge", tmp_path / "run", one, two, three).exit_code == 7  # it holds something
    assert call("merge", one, one, two, three).exit_code == 7
    assert call("merge", tmp_path / "run", one, two, three, "--replace").exit_code == 0


def test_a_merge_that_is_broken_off_is_begun_again(parts: list[Path], whole: tracker.Run, tmp_path: Path) -> None:
    sound = FailingDisk(0, 0)
    with disk(sound):
        tracker.merge(tmp_path / "all", parts)
    for n in range(2, sound.steps + 1, 3):
        path = tmp_path / str(n)
        with disk(FailingDisk(n, errno.EIO, for_good=True)), pytest.raises(OSError):
            tracker.merge(path, parts)
        manifest = path / "manifest.json"
        if not (manifest.exists() and json.loads(manifest.read_text())["complete"]):
            tracker.merge(path, parts)
        assert tracker.run(MANY, path, 1, resume=True).summary["hash"] == whole.summary["hash"]
        assert names(path) == FINISHED


def test_the_command_of_a_part(file: Path, whole: tracker.Run, tmp_path: Path) -> None:
    several = ("--set", "trials=8", "--workers", 1, "--quiet")
    for n in (1, 2):
        done = call("run", file, *several, "--part", f"{n}/2", "--out", tmp_path / str(n), "--json")
        assert done.exit_code == 0
        assert json.loads(done.stdout)["part"]["of"] == 2
    merged = call("merge", tmp_path / "all", tmp_path / "1", tmp_path / "2", "--json")
    assert merged.exit_code == 0
    assert json.loads(merged.stdout)["hash"] == whole.summary["hash"]
    for wrong in ("0/2", "3/2", "x", "1", "1/9", "-1/2", "1/2/3"):
        assert call("run", file, *several, "--part", wrong, "--out", tmp_path / "no").exit_code == 2, wrong
    assert call("run", file, "--trials", 8, "--part", "1/2", "--out", tmp_path / "no").exit_code == 2
    assert not (tmp_path / "no").exists()


def test_a_merge_is_not_written_into_a_part_and_names_its_own_options(parts: list[Path], tmp_path: Path) -> None:
    """OUT inside of a part was accepted; where something stood in its place, options were named that merge does not have."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    inside = call("merge", parts[0] / "all", *parts)
    assert inside.exit_code == 7
    assert "is one of the parts, or inside of one" in inside.stderr
    assert not (parts[0] / "all").exists()
    for place, ways in ((tmp_path / "mine", "nothing here is touched, name another OUT"), (tmp_path / "all", "--replace overwrites it, name another OUT")):  # fmt: skip
        if place.name == "all":
            assert call("merge", place, *parts).exit_code == 0
        taken = call("merge", place, *parts)
        assert taken.exit_code == 7
        assert taken.stderr.endswith(f"{ways}\n")
        assert "--out" not in taken.stderr
        assert "--resume" not in taken.stderr
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "years of work"


def test_pieces_are_cut_where_the_earlier_run_ended() -> None:
    manifest = manifest_of(MANY, 2, earlier=Earlier(3, "0" * 64, "0" * 64, (1.0, 1.0)))
    assert shards_of(manifest) == [range(2), range(2, 3), range(3, 5), range(5, 7), range(7, 8)]
    assert Manifest.decode(manifest.encode()) == manifest
    assert Manifest.decode(replace(manifest, earlier=Earlier(8, "0" * 64, "0" * 64, ())).encode()) is None
    assert Manifest.decode(manifest_of(MANY, 2, Part(3, 2)).encode()) is None
    part = manifest_of(MANY, 2, Part(2, 3))
    assert Manifest.decode(part.encode()) == part
    assert shards_of(part) == [range(2, 4), range(4, 5)]
    assert part.identity != manifest_of(MANY, 2, Part(1, 3)).identity != manifest_of(MANY, 2).identity
