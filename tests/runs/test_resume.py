"""Runs that are broken off: by a failing disk, flipped bits, kill -9, Ctrl-C, failing shards. They end with the same bits."""

from __future__ import annotations

import errno
import json
import os
import random
import re
import shutil
import signal
import stat
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import h5py
import numpy as np
import pytest
from faults import FailingDisk, Killings, disk, flipped, kept_entries, wait_until, zygote
from typer.testing import CliRunner
from worlds import SCENARIOS

import tracker
from tracker.cli import app
from tracker.engine import blocks, simulate
from tracker.engine.loop import advance
from tracker.runs import (
    CorruptRun,
    NothingComputed,
    RunDiffers,
    RunLocked,
    atomic_files,
    checkpoints,
    compute_shards,
    executors,
    netcdf,
    run_identity,
)
from tracker.runs import resume_preview as kept
from tracker.runs.journal import read_journal
from tracker.runs.labelled_arrays import LabelledArrays
from tracker.runs.lock_file import LOCK, hold_lock, holder_of, living_holder
from tracker.runs.manifest import Manifest, shards_of
from tracker.runs.run_directory import RunDirectory
from tracker.runs.run_errors import FailedShard
from tracker.runs.run_status import status_of
from tracker.runs.shard_schedule import ShardSchedule
from tracker.runs.stored_shards import Stored
from tracker.runs.workers import Task

SHORT = ("trials=6", "steps=400", "record_every=20", "burn_in=50", "chain.alpha=0.02", 'chain.initial="stationary"')
SCENARIO = tracker.parse((SCENARIOS / "example_a.toml").read_text(), settings=SHORT)
TINY = SCENARIO.replace(trials=2, steps=40, burn_in=0)
PROBLEM = simulate.prepare(SCENARIO)
FINISHED = ["manifest.json", "result.nc", "scenario.toml", "summary.json"]


@pytest.fixture(scope="module", autouse=True)
def no_signs_of_life() -> Iterator[None]:
    """They come by the clock, and steps to the disk are counted here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compute_shards, "SECONDS_BETWEEN_SIGNS_OF_LIFE", 1e9)
        yield


@pytest.fixture(scope="module")
def expected() -> str:
    return str(tracker.run(SCENARIO, executor=1).summary["hash"])


@pytest.fixture(scope="module")
def broken_off(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of six shards that was interrupted after the third."""
    path = tmp_path_factory.mktemp("runs") / "run"
    interrupt(SCENARIO, path, after=3)
    return path


def interrupt(scenario: tracker.Scenario, path: Path, after: int) -> None:
    """Run until ``after`` shards of one trial each are kept; the next one waits until it is told to stop."""
    whole = executors.simulate

    def held(problem: Any, trials: range, progress: Any, cancelled: Any, keeper: Any) -> Any:
        if trials[0] >= after:
            wait_until(cancelled)
        return whole(problem, trials, progress, cancelled, keeper)

    def progress(done: float, total: float, note: str) -> None:
        if note.startswith("running") and len(kept_entries(path)) >= after:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(executors, "simulate", held)
        with pytest.raises(KeyboardInterrupt):
            tracker.run(scenario, path, 1, shard_size=1, progress=progress)
    assert len(kept_entries(path)) == after


def copy_of(path: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(path, tmp_path / f"copy{len(list(tmp_path.iterdir()))}"))


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


# --- what is kept


def test_a_run_that_was_broken_off_goes_on_where_it_was(
    broken_off: Path, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copy_of(broken_off, tmp_path)
    assert names(path) == ["checkpoints", "journal.jsonl", "manifest.json", "scenario.toml", "shards"]
    computed: list[int] = []
    whole = executors.simulate
    monkeypatch.setattr(executors, "simulate", lambda p, t, *o: computed.extend(t) or whole(p, t, *o))
    run = tracker.run(SCENARIO, path, 2, resume=True, shard_size=4)  # cut as it was begun, whatever is asked for
    assert run.summary["hash"] == expected
    assert sorted(computed) == [3, 4, 5]
    assert names(path) == FINISHED
    again = tracker.run(SCENARIO, path, 2, resume=True)  # complete: nothing to do
    assert (again.summary, len(computed)) == (run.summary, 3)


def test_the_time_that_was_spent_before_counts(broken_off: Path, tmp_path: Path) -> None:
    path = copy_of(broken_off, tmp_path)
    before = np.sum([entry.seconds for entry in kept_entries(path).values()], axis=0)
    run = tracker.run(SCENARIO, path, 1, resume=True)
    steps = SCENARIO.trials * SCENARIO.steps
    spent = steps / np.array([row["steps_per_second"] for row in run.summary["samplers"]])
    assert (spent > before).all()


def test_resume_where_nothing_is_begins(expected: str, tmp_path: Path) -> None:
    assert tracker.run(SCENARIO, tmp_path / "run", 2, resume=True).summary["hash"] == expected
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    with pytest.raises(CorruptRun, match="no run to resume"):
        tracker.run(SCENARIO, tmp_path / "mine", resume=True)
    with pytest.raises(ValueError, match="resume needs"):
        tracker.run(SCENARIO, resume=True)


def test_another_run_is_not_resumed_and_the_difference_is_shown(broken_off: Path, tmp_path: Path) -> None:
    before = {file: file.read_bytes() for file in broken_off.rglob("*") if file.is_file()}
    for changed, says in (
        (SCENARIO.replace(seed=9), "seed: 1 in the run, 9 now"),
        (SCENARIO.replace(trials=7), "trials: 6 in the run, 7 now"),
        (SCENARIO.replace(burn_in=None), "burn_in: 50 in the run, not given now"),
        (tracker.parse(SCENARIO.toml(), settings=["chain.alpha=0.03"]), "chain.alpha: 0.02 in the run, 0.03 now"),
        (tracker.parse(SCENARIO.toml(), settings=["samplers.*.beta=3"]), "samplers[0].beta: "),
    ):
        with pytest.raises(RunDiffers) as refused:
            tracker.run(changed, broken_off, resume=True)
        assert len(refused.value.differences) == 1
        assert refused.value.differences[0].startswith(says)
    (tmp_path / "x.toml").write_text(SCENARIO.replace(seed=9).toml())
    done = CliRunner().invoke(app, ["run", str(tmp_path / "x.toml"), "--out", str(broken_off), "--resume", "--quiet"])
    assert (done.exit_code, done.stderr.splitlines()[1]) == (7, "  seed: 1 in the run, 9 now")
    assert {file: file.read_bytes() for file in broken_off.rglob("*") if file.is_file()} == before


def test_another_version_or_other_data_are_not_resumed(broken_off: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = run_identity.manifest_of(SCENARIO, 1)
    with monkeypatch.context() as patch:
        patch.setattr(run_identity, "versions", lambda _: {**manifest.versions, "numpy": "0.1"})
        with pytest.raises(RunDiffers, match=f"version of numpy: '{np.__version__}' in the run, '0.1' now"):
            tracker.run(SCENARIO, broken_off, resume=True)
    with monkeypatch.context() as patch:
        patch.setattr(run_identity, "source_fingerprint", lambda: "0" * 16)
        with pytest.raises(RunDiffers, match="the program: its sources"):
            tracker.run(SCENARIO, broken_off, resume=True)
    changed = replace(manifest, data={"a.csv": "0" * 64}, scenario_sha256="0" * 64)
    assert run_identity.differences(replace(manifest, data={"a.csv": "1" * 64}), changed, {}, {}) == [
        "a.csv: the data changed"
    ]


def test_a_new_comment_is_no_other_scenario(tmp_path: Path, expected: str) -> None:
    text = SCENARIO.toml()
    interrupt(tracker.parse(text), tmp_path / "run", after=2)
    run = tracker.run(tracker.parse(text + "# a thought\n"), tmp_path / "run", resume=True)
    assert run.summary["hash"] == expected
    assert (tmp_path / "run" / "scenario.toml").read_text() == text
    assert run.scenario.source == text


# --- one writer


def test_a_second_writer_is_told_who_the_first_is(broken_off: Path, tmp_path: Path) -> None:
    path = copy_of(broken_off, tmp_path)
    with hold_lock(path):
        holder = living_holder(path)
        assert holder is not None
        assert holder.pid == os.getpid()
        assert status_of(path).state == "running"
        for way in ({"resume": True}, {"replace": True}, {}):
            with pytest.raises(RunLocked, match=re.escape(f"process {os.getpid()} on {holder.host}")):
                tracker.run(SCENARIO, path, **way)
        with pytest.raises(RunLocked), hold_lock(path):
            pass
    assert living_holder(path) is None
    assert names(path) == names(broken_off)


def test_a_lock_that_its_holder_left_does_not_count(broken_off: Path, expected: str, tmp_path: Path) -> None:
    path = copy_of(broken_off, tmp_path)
    (path / LOCK).write_text(json.dumps({"host": holder_name(), "pid": os.getpid(), "since": "yesterday"}))
    assert living_holder(path) is None  # the number may have been given to another process: the system's lock decides
    assert tracker.run(SCENARIO, path, resume=True).summary["hash"] == expected
    assert names(path) == FINISHED
    # killed before the manifest was there: its lock, which nobody holds, and a half file are known as a run's
    early = tmp_path / "early"
    early.mkdir()
    with hold_lock(early):
        left = (early / LOCK).read_bytes()
    (early / LOCK).write_bytes(left)
    (early / ".manifest.json.0123456789ab.tmp").write_text("half a file")
    assert holder_of(early) is not None
    assert tracker.run(SCENARIO, early).summary["hash"] == expected
    assert names(early) == FINISHED


def holder_name() -> str:
    import socket

    return socket.gethostname()


# --- a disk that fails


def steps_of_a_run(tmp_path: Path) -> int:
    sound = FailingDisk(0, 0)
    with disk(sound):
        tracker.run(TINY, tmp_path / "sound", 1, shard_size=1)
    return sound.steps


def write_quickly(path: Path, content: LabelledArrays) -> None:
    """Stand in for netCDF, which takes most of the time of a tiny run; `test_runs.py` has the real files."""
    with h5py.File(path, "w") as file:
        arrays = {name: one.values for name, one in content.variables.items()} | dict(content.labels)
        for name, values in arrays.items():
            if values.dtype.kind in "if":
                file[name] = values


def test_every_step_to_the_disk_may_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For each n: the n-th write, sync, rename or removal fails, once or for good; a resume ends with the equal hash."""
    monkeypatch.setattr(netcdf, "_write_netcdf", write_quickly)
    expected = tracker.run(TINY, executor=1).summary["hash"]
    count = steps_of_a_run(tmp_path)
    assert count > 50
    refused = 0
    told: set[str] = set()
    for n in range(1, count + 1):
        path = tmp_path / str(n)
        code = (errno.ENOSPC, errno.EIO)[n % 2]
        with disk(FailingDisk(n, code, for_good=n % 3 == 0)):
            try:
                tracker.run(TINY, path, 1, shard_size=1)
            except OSError as error:
                assert error.errno == code  # noqa: PT017  (some steps may fail without harm)
                refused += 1
        with disk(FailingDisk(0, 0)):
            assert tracker.run(TINY, path, 1, resume=True, notice=told.add).summary["hash"] == expected, n
        assert names(path) == FINISHED, n
        shutil.rmtree(path)
    assert told == {"journal.jsonl: its last line was cut off; that shard is computed again"}
    assert refused >= count - 4  # the removal of the lock and of what is temporary


class NotingDisk(atomic_files.Disk):
    """Notes each step with the name it is about; what is synced is told by its inode, which a rename keeps."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, object]] = []

    def open(self, path: Path, mode: str) -> BinaryIO:
        self.steps.append((f"open {mode}", path))
        return super().open(path, mode)

    def write(self, file: BinaryIO, data: bytes) -> None:
        self.steps.append(("write", data))
        super().write(file, data)

    def fill(self, path: Path, writer: Callable[[Path], None]) -> None:
        super().fill(path, writer)
        self.steps.append(("fill", path))

    def sync(self, handle: int) -> None:
        found = os.fstat(handle)
        self.steps.append(("sync", (found.st_ino, found.st_size) if stat.S_ISREG(found.st_mode) else found.st_ino))

    def rename(self, old: Path, new: Path) -> None:
        self.steps.append(("rename", (old, new)))
        super().rename(old, new)

    def remove(self, path: Path) -> None:
        self.steps.append(("remove", path))
        super().remove(path)


def whole(path: Path) -> tuple[int, int]:
    """The inode and the size of a file, as a sync of all of it is noted."""
    return path.stat().st_ino, path.stat().st_size


@pytest.mark.parametrize("before", [None, b"old"])
def test_a_file_is_on_the_disk_before_it_gets_its_name(before: bytes | None, tmp_path: Path) -> None:
    """Exactly: fill or write, sync the file, rename, sync the folder. A name without a sync may be empty after a power cut."""

    def library(temporary: Path) -> None:
        temporary.write_bytes(b"from a library")

    path, folder = tmp_path / "result.nc", tmp_path.stat().st_ino
    if before is not None:
        path.write_bytes(before)
    with disk(used := NotingDisk()):
        atomic_files.write_with(path, library)
    temporary = used.steps[0][1]
    assert used.steps == [("fill", temporary), ("sync", whole(path)), ("rename", (temporary, path)), ("sync", folder)]
    assert temporary != path
    assert path.read_bytes() == b"from a library"
    with disk(used := NotingDisk()):
        atomic_files.write_file(path, b"bytes")
    temporary, renamed = used.steps[0][1], ("rename", (used.steps[0][1], path))
    opened = [("open xb", temporary), ("write", b"bytes")]
    assert used.steps == [*opened, ("sync", whole(path)), renamed, ("sync", folder)]
    with disk(used := NotingDisk()):
        atomic_files.write_file(path, b"bytes", lasting=False)  # only whole or absent: nothing is synced
    assert [name for name, _ in used.steps] == ["open xb", "write", "rename"]


def test_a_line_is_on_the_disk_when_it_counts(tmp_path: Path) -> None:
    """The folder is synced only with the first line, which makes the name."""
    path, folder = tmp_path / "journal", tmp_path.stat().st_ino
    for line, last in ((b"one", [("sync", folder)]), (b"two", [])):
        with disk(used := NotingDisk()):
            atomic_files.append(path, line)
        assert used.steps == [("open ab", path), ("write", line), ("sync", whole(path)), *last]
    assert path.read_bytes() == b"onetwo"


def test_the_result_of_a_run_is_synced_whole(tmp_path: Path) -> None:
    """result.nc, before its name and before any shard goes: the shards are the only other copy."""
    with disk(used := NotingDisk()):
        tracker.run(TINY, tmp_path / "run", 1, shard_size=1)
    result = tmp_path / "run" / "result.nc"
    (filled,) = [n for n, (name, _) in enumerate(used.steps) if name == "fill"]
    temporary = used.steps[filled][1]
    sequence = [("sync", whole(result)), ("rename", (temporary, result)), ("sync", result.parent.stat().st_ino)]
    assert used.steps[filled + 1 : filled + 4] == sequence
    gone = [n for n, (name, path) in enumerate(used.steps) if name == "remove" and "shards" in str(path)]
    assert len(gone) >= 2
    assert min(gone) > filled + 3


@pytest.mark.parametrize("name", ["theta_trace", "diverged", "trial"])
def test_a_result_that_does_not_read_back_is_refused_and_the_shards_are_kept(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer changes one bit of one number and says nothing; a resume with a sound one needs no new shard."""

    sound = netcdf._write_netcdf

    def alters(path: Path, content: LabelledArrays) -> None:
        sound(path, content)
        with h5py.File(path, "r+") as file:
            values = file[name][()]
            values.reshape(-1).view(np.uint8)[-1] ^= 1
            file[name][...] = values

    expected, path = tracker.run(TINY, executor=1).summary["hash"], tmp_path / "run"
    monkeypatch.setattr(netcdf, "_write_netcdf", alters)
    with pytest.raises(OSError, match="did not read back as it was written"):
        tracker.run(TINY, path, 1, shard_size=1)
    assert not {"result.nc", "summary.json"} & set(names(path))
    assert names(path / "shards") == ["000000.npz", "000001.npz"]
    assert len(kept_entries(path)) == 2
    assert json.loads((path / "manifest.json").read_text())["complete"] is False
    monkeypatch.setattr(netcdf, "_write_netcdf", sound)
    monkeypatch.setattr(executors, "simulate", pytest.fail)
    assert tracker.run(TINY, path, 1, resume=True).summary["hash"] == expected
    assert names(path) == FINISHED


def test_a_full_disk_is_a_clean_message(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(TINY.toml())
    arguments = ["run", str(tmp_path / "x.toml"), "--out", str(tmp_path / "run"), "--quiet"]
    with disk(FailingDisk(30, errno.ENOSPC)):
        done = CliRunner().invoke(app, arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    first, second = done.stderr.splitlines()
    assert "No space left on device" in first
    assert second.endswith("--quiet --resume")


# --- damage


def test_a_record_cut_off_anywhere_tells_only_what_is_whole(broken_off: Path) -> None:
    data = (broken_off / "manifest.json").read_bytes()
    manifest = Manifest.decode(data)
    assert manifest is not None
    assert manifest.encode() == data
    assert [n for n in range(len(data)) if Manifest.decode(data[:n]) is not None] == []
    journal = (broken_off / "journal.jsonl").read_bytes()
    entries = read_journal(journal, manifest.identity).entries
    assert sorted(entries) == [0, 1, 2]
    for n in range(len(journal) + 1):
        found = read_journal(journal[:n], manifest.identity)
        whole = journal[:n].count(b"\n")
        assert found.entries == {index: entries[index] for index in sorted(entries)[:whole]}
        assert (found.damaged, found.torn) == (0, n > 0 and journal[n - 1 : n] != b"\n")
    assert read_journal(journal, "another run").entries == {}


def test_flipped_bits_are_never_accepted_in_silence(broken_off: Path, expected: str, tmp_path: Path) -> None:
    """Each flip, in a run under way or in a finished one, is refused, or what it hit is computed again."""
    rng = random.Random(5)
    folder = copy_of(broken_off, tmp_path)
    finished = tmp_path / "finished"
    tracker.run(SCENARIO, finished, 2)
    before = {file: file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}
    for _ in range(100):
        check_flip_under_way(folder, rng)  # asserts what was noticed
        check_flip_when_finished(finished, rng)
    assert {
        file: file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()
    } == before  # each was undone
    assert tracker.open_run(finished).summary["hash"] == expected


def check_flip_under_way(folder: Path, rng: random.Random) -> None:
    sound = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    victim = rng.choice([folder / "journal.jsonl", folder / "manifest.json", *sorted((folder / "shards").iterdir())])
    victim.write_bytes(flipped(sound[victim], rng))
    notices: list[str] = []
    directory = RunDirectory(folder, notices.append)
    try:
        manifest = directory.manifest()
    except CorruptRun:
        assert victim.name == "manifest.json"
    else:
        assert manifest is not None
        kept = directory.take_over(PROBLEM, manifest, shards_of(manifest))
        assert len(kept) in (1, 2)  # a flip may join two lines of the journal
        assert len(notices) >= 1
        if victim.parent.name == "shards":
            assert (len(kept), int(victim.stem) in kept) == (2, False)
            assert (folder / "damaged" / victim.name).read_bytes() != sound[victim]
    shutil.rmtree(folder)
    for file, data in sound.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


def check_flip_when_finished(folder: Path, rng: random.Random) -> None:
    victim = folder / rng.choice(FINISHED)
    sound = victim.read_bytes()
    victim.write_bytes(flipped(sound, rng))
    with pytest.raises(CorruptRun, match=victim.name):
        tracker.open_run(folder)
    victim.write_bytes(sound)


def test_damaged_shards_are_moved_aside_and_computed_again(broken_off: Path, expected: str, tmp_path: Path) -> None:
    path = copy_of(broken_off, tmp_path)
    victim = path / "shards" / "000001.npz"
    victim.write_bytes(flipped(victim.read_bytes(), random.Random(1)))
    (path / "shards" / "000002.npz").unlink()
    (path / "scenario.toml").unlink()
    notices: list[str] = []
    run = tracker.run(SCENARIO, path, resume=True, notice=notices.append)
    assert run.summary["hash"] == expected
    assert notices == [
        "scenario.toml was damaged: written again",
        "shards/000001.npz is damaged: moved to damaged/000001.npz, computed again",
        "shards/000002.npz: No such file or directory; computed again",
    ]
    assert names(path) == ["damaged", *FINISHED]
    assert status_of(path).damaged == 1


# --- inside a trial


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots as often as can be, of blocks as short as can be."""
    monkeypatch.setattr(checkpoints, "SECONDS_BETWEEN_SNAPSHOTS", -1.0)
    monkeypatch.setattr(checkpoints, "SECONDS_WORTH_KEEPING", -1.0)
    monkeypatch.setattr(blocks, "FIRST_BLOCK", 1)
    monkeypatch.setattr(blocks, "BLOCK_SECONDS", 1e-9)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("patience", [2, 3, 5])  # one look is taken by the replay
def test_a_shard_goes_on_inside_its_trials(patience: int, tmp_path: Path) -> None:
    """Stopped after every few calls of the kernel, also between the samplers of one block, it ends with the same bits."""
    outage = {"kind": "outage", "at": 350, "steps": 200}
    forced = {"kind": "switch", "at": 700, "to": SCENARIO.modes[0].name}
    scenario = SCENARIO.replace(steps=1000, interventions=[outage, forced])
    problem = simulate.prepare(scenario)
    whole, _ = simulate.simulate(problem, [4, 2])
    place = checkpoints.checkpoint_place(tmp_path, "this run", 3)
    stops = 0
    for _ in range(100):
        looks = iter(range(patience))
        steps: list[float] = []
        tired = partial(lambda looks: next(looks, None) is None, looks)
        try:
            arrays, seconds = simulate.simulate(problem, [4, 2], steps.append, tired, checkpoints.Checkpoint(place))
        except InterruptedError:
            stops += 1
        else:
            break
    assert stops > 4
    assert (seconds > 0).all()
    assert sum(steps) == 2 * 1000 * len(problem.contestants)  # what was done before is told too
    for name, array in whole.items():
        assert (array.dtype, array.tobytes()) == (arrays[name].dtype, arrays[name].tobytes()), name


@pytest.mark.usefixtures("eager")
def test_a_snapshot_is_trusted_only_if_it_is_whole_and_of_this_shard(tmp_path: Path) -> None:
    problem = simulate.prepare(TINY)
    ledgers = tuple(simulate.empty_ledger(problem, contestant, 1) for contestant in problem.contestants)
    empty = simulate.Snapshot(np.zeros(len(ledgers), dtype=np.int64), np.zeros(len(ledgers)), ledgers)
    data = checkpoints.encode(empty._replace(reached=empty.reached + 7), "run/1")
    found = checkpoints.decode(data, "run/1", empty)
    assert found is not None
    assert (found.reached == 7).all()
    assert checkpoints.decode(data, "run/2", empty) is None
    rng = random.Random(3)
    assert [checkpoints.decode(flipped(data, rng), "run/1", empty) for _ in range(50)] == [None] * 50
    assert [checkpoints.decode(data[:n], "run/1", empty) for n in range(0, len(data), 97)] == [None] * len(
        range(0, len(data), 97)
    )
    other = simulate.prepare(TINY.replace(steps=80, record_every=10))
    shape = tuple(simulate.empty_ledger(other, contestant, 1) for contestant in other.contestants)
    assert checkpoints.decode(data, "run/1", empty._replace(ledgers=shape)) is None
    with disk(FailingDisk(1, errno.ENOSPC, for_good=True)):
        checkpoints.Checkpoint(checkpoints.checkpoint_place(tmp_path, "run", 1)).save(empty)  # only time is at stake


@pytest.mark.usefixtures("eager")
def test_a_run_of_one_trial_is_resumed_inside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = SCENARIO.replace(trials=1, steps=2000)
    path = tmp_path / "run"

    whole = executors.simulate

    def breaks(problem: Any, trials: Any, progress: Any, _: Any, keeper: Any) -> Any:
        looks = iter(range(12))
        return whole(problem, trials, progress, lambda: next(looks, None) is None, keeper)

    with monkeypatch.context() as patch:
        patch.setattr(executors, "simulate", breaks)
        with pytest.raises(NothingComputed):  # each of the three attempts went on from the last
            tracker.run(scenario, path, 1, notice=lambda _: None)
    assert names(path / "checkpoints") == ["000000.npz"]
    parts = [status_of(path, verify=verify).part for verify in (None, True, False)]
    said = CliRunner().invoke(app, ["status", str(path)]).stdout.splitlines()
    assert said[1] == f"{100 * parts[0]:.3g} % done, 0 of 1 trial kept (0 of 1 shard)"
    whole_calls, told = [], list[float]()
    monkeypatch.setattr(simulate, "advance", lambda *given: whole_calls.append(given[8].start) or advance(*given))
    monkeypatch.setattr(executors, "simulate", lambda p, t, _, *rest: whole(p, t, told.append, *rest))
    run = tracker.run(scenario, path, 1, resume=True)
    assert min(start for start in whole_calls if start > 0) > 1000
    assert parts == [told[0] / sum(told)] * 3  # the first that a shard tells is what it need not compute again
    assert 0.5 < parts[0] < 1.0
    assert run.summary["hash"] == tracker.run(scenario, executor=1).summary["hash"]
    assert names(path) == FINISHED


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_what_a_snapshot_holds_is_no_progress_of_this_process(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two shards one is kept, and of the other a snapshot: a resume begins there, and only what is new comes on top."""
    scenario, path, whole = SCENARIO.replace(trials=2, steps=2000), tmp_path / "run", executors.simulate

    def breaks(problem: Any, trials: Any, progress: Any, cancelled: Any, keeper: Any) -> Any:
        looks = iter(range(30 if 1 in trials else 10**6))
        return whole(problem, trials, progress, lambda: next(looks, None) is None, keeper)

    with monkeypatch.context() as patch:
        patch.setattr(executors, "simulate", breaks)
        patch.setattr("tracker.runs.shard_schedule.ATTEMPTS", 1)
        tracker.run(scenario, path, 1, shard_size=1, notice=lambda _: None)
    begun = status_of(path).part
    assert 0.5 < begun < 1.0

    def waits(problem: Any, trials: Any, progress: Any, *rest: Any) -> Any:
        def add(more: float) -> None:
            progress(more)
            if next(first, None) is not None:
                time.sleep(0.5)  # long enough to be seen: only what the snapshot holds is told so far

        first = iter([True])
        return whole(problem, trials, add, *rest)

    monkeypatch.setattr(executors, "simulate", waits)
    monkeypatch.setattr(compute_shards, "SECONDS_BETWEEN_SIGNS_OF_LIFE", 0.1)
    told, signs = list[float](), list[tuple[float, ...]]()
    monkeypatch.setattr(RunDirectory, "tell_progress", lambda _, *sign: signs.append(sign[:3]))

    def listen(done: float, total: float, note: str) -> None:
        if note.startswith("running"):
            told.append(done / total)

    run = tracker.run(scenario, path, 1, resume=True, engine=engine, progress=listen)
    assert told[:3] == pytest.approx([begun] * 3, rel=1e-12)
    assert told == sorted(told)
    assert told[-1] == 1.0
    # what `tracker status` takes the speed from: the place from which this process went on, or the first new one
    assert {base / total for _, base, total in signs} <= {told[0], min(part for part in told if part > told[0])}
    assert run.summary["hash"] == tracker.run(scenario, executor=1).summary["hash"]


# --- shards that fail


def test_a_shard_that_fails_three_times_is_left_out_and_can_be_tried_again(
    expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, calls = executors.simulate, []

    def fails(problem: Any, trials: Any, *others: Any) -> Any:
        calls.append(list(trials))
        if 2 in trials:
            raise MemoryError("planted")
        return whole(problem, trials, *others)

    (tmp_path / "x.toml").write_text(SCENARIO.toml())
    arguments = ["run", str(tmp_path / "x.toml"), "--out", str(tmp_path / "run"), "--quiet", "--workers", "2"]
    with monkeypatch.context() as patch:
        patch.setattr(executors, "simulate", fails)
        done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 5
    assert "left out after 3 failures: trials 2 to 2: MemoryError: planted" in done.stderr
    assert calls.count([2]) == 3
    assert len(calls) == 5 + 3
    rest = tracker.open_run(tmp_path / "run")
    assert list(rest.arrays["trial"]) == [0, 1, 3, 4, 5]
    assert rest.summary["failed"] == [{"first": 2, "stop": 3, "error": "MemoryError: planted"}]
    status = status_of(tmp_path / "run")
    assert (status.state, status.failed) == ("resumable", (FailedShard(2, 3, "MemoryError: planted"),))
    again = CliRunner().invoke(app, [*arguments, "--resume", "--json"])
    assert again.exit_code == 0
    assert json.loads(again.stdout)["hash"] == expected
    assert names(tmp_path / "run") == FINISHED
    with monkeypatch.context() as patch:
        patch.setattr(executors, "simulate", lambda *_: 1 / 0)
        with pytest.raises(NothingComputed, match="ZeroDivisionError"), pytest.warns(RuntimeWarning, match="left out"):
            tracker.run(TINY, executor=1)


class Pool:
    """An engine whose pool breaks whenever one of the ``deadly`` shards is under way."""

    width = 3

    def __init__(self, deadly: set[int], breaks: int = 1000) -> None:
        self.deadly, self.breaks, self.rebuilt = deadly, breaks, 0
        self.under_way: list[tuple[Task, Future[Stored]]] = []

    def submit(self, task: Task) -> Future[Stored]:
        future: Future[Stored] = Future()
        self.under_way.append((task, future))
        return future

    def steps(self, shard: int) -> float:  # noqa: ARG002
        """The schedule looks here at each turn: time for things to happen."""
        broken = self.rebuilt < self.breaks and any(task.shard in self.deadly for task, _ in self.under_way)
        for task, future in self.under_way:
            if broken:
                future.set_exception(BrokenExecutor("a process died"))
            else:
                future.set_result(Stored({"trial": np.array([task.shard])}, np.zeros(1)))
        self.under_way = []
        return 0.0

    def rebuild(self) -> bool:
        self.rebuilt += 1
        return True

    def close(self, *, at_once: bool) -> None: ...


@pytest.mark.parametrize(
    ("deadly", "breaks", "left_out"), [(set(), 0, []), ({3}, 2, []), ({3}, 1000, [3]), ({0, 7, 8}, 1000, [0, 7, 8])]
)
def test_a_broken_pool_is_rebuilt_and_only_the_guilty_are_left_out(
    deadly: set[int], breaks: int, left_out: list[int]
) -> None:
    pool, notices = Pool(deadly, breaks), list[str]()
    kept: list[int] = []
    tasks = [Task(n, n, n + 1, None) for n in range(10)]
    schedule = ShardSchedule(pool, tasks, lambda task, _: kept.append(task.shard), notices.append)
    schedule.run(lambda _: None)
    assert sorted(kept) == sorted(set(range(10)) - set(left_out))
    assert sorted(shard.first for shard in schedule.failed) == left_out
    assert sum("the pool of workers broke" in notice for notice in notices) == pool.rebuilt


def test_a_machine_that_breaks_every_pool_is_given_up() -> None:
    pool, notices = Pool(set(range(100))), list[str]()
    schedule = ShardSchedule(pool, [Task(n, n, n + 1, None) for n in range(100)], lambda *_: None, notices.append)
    schedule.run(lambda _: None)
    assert len(schedule.failed) == 100
    assert pool.rebuilt <= 10


# --- processes that are killed or asked to end

LONG = ("trials=40", "steps=200_000", "record_every=2000")


@pytest.fixture
def in_the_background() -> Iterator[None]:
    """Ctrl-C is ignored there, and processes inherit that."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("in_the_background")
def test_killed_and_interrupted_processes_lose_nothing_that_was_kept(tmp_path: Path) -> None:
    file, folder = tmp_path / "long.toml", tmp_path / "run"
    file.write_text(tracker.parse(SCENARIO.toml(), settings=LONG).toml())
    expected = tracker.run(tracker.load(file), executor=2).summary["hash"]
    with zygote(file, tmp_path) as root:
        killings = Killings(root, file, folder, random.Random(2))
        # Ctrl-C, and the polite request to end
        for sent in (signal.SIGINT, signal.SIGTERM):
            before = len(kept_entries(folder))
            pid = root.start("run", str(file), "--out", str(folder), "--resume", "--workers", "1", "--quiet")
            wait_until(lambda before=before: len(kept_entries(folder)) > before)
            os.kill(pid, sent)
            code, said = root.end()
            assert code == 130
            assert f"Continue with: tracker run {file} --out {folder} --workers 1 --quiet --resume" in said
            assert LOCK not in names(folder)
            killings.look()
        while killings.kills < 5:
            if not killings.kill_once(longest=0.4):  # it came to its end: once more from the beginning
                killings.forget()
                shutil.rmtree(folder)
        assert killings.finish()["hash"] == expected
    assert (killings.lost, killings.twice) == (0, 0)
    assert names(folder) == FINISHED


# --- from another terminal


def test_status_of_a_run_in_every_state(broken_off: Path, expected: str, tmp_path: Path) -> None:
    path = copy_of(broken_off, tmp_path)
    said = CliRunner().invoke(app, ["status", str(path)]).stdout.splitlines()
    assert said[:2] == ["example-a: resumable", "50 % done, 3 of 6 trials kept (3 of 6 shards)"]
    assert said[2] == f"to continue: tracker run {path}/scenario.toml --out {path} --resume"
    command = said[2].partition("tracker ")[2].split()
    with hold_lock(path):
        RunDirectory(path, print).tell_progress(60.0, 50.0, 100.0, time.time() - 5.0)
        status = status_of(path)
        said = CliRunner().invoke(app, ["status", str(path)]).stdout.splitlines()
        facts = json.loads(CliRunner().invoke(app, ["status", str(path), "--json"]).stdout)
    assert (status.state, status.part) == ("running", 0.6)
    assert status.steps_per_second == pytest.approx(2.0, rel=0.01)
    assert status.seconds_left == pytest.approx(20.0, rel=0.01)
    assert said[0] == f"example-a: running by {facts['holder']}"
    assert said[2].startswith("2 steps/s, 20 s left")
    assert facts["resume"] is None
    assert CliRunner().invoke(app, command).exit_code == 0
    assert json.loads((path / "summary.json").read_bytes())["hash"] == expected
    assert CliRunner().invoke(app, ["status", str(path)]).stdout.splitlines()[0] == "example-a: complete"
    (tmp_path / "x.toml").write_text(SCENARIO.toml())
    again = CliRunner().invoke(app, ["run", str(tmp_path / "x.toml"), "--out", str(path), "--resume"])
    assert (again.exit_code, again.stderr) == (0, f"{path}: complete already, nothing was left to compute\n")
    nowhere = CliRunner().invoke(app, ["status", str(tmp_path / "nowhere")])
    assert (nowhere.exit_code, "not the directory of a run" in nowhere.stderr) == (7, True)


@pytest.mark.parametrize("command", [("report",), ("export", "--csv", "x"), ("compare", ".")])
def test_a_run_that_is_not_finished_is_not_read_and_says_who_finishes_it(
    broken_off: Path, command: tuple[str, ...], tmp_path: Path
) -> None:
    path = copy_of(broken_off, tmp_path)
    arguments = [command[0], str(path), *command[1:]]
    with hold_lock(path):
        busy = CliRunner().invoke(app, arguments)
        assert f"it is being written by {living_holder(path)}\n" in busy.stderr
    idle = CliRunner().invoke(app, arguments)
    assert f"not finished; tracker run {path}/scenario.toml --out {path} --resume finishes it\n" in idle.stderr
    assert (busy.exit_code, idle.exit_code) == (7, 7)


def test_status_counts_only_what_a_resume_would_trust(broken_off: Path, tmp_path: Path) -> None:
    path = copy_of(broken_off, tmp_path)
    victim = path / "shards" / "000001.npz"
    victim.write_bytes(flipped(victim.read_bytes(), random.Random(1)))
    (path / "shards" / "000002.npz").unlink()
    (path / "checkpoints" / "000004.npz").write_bytes(b"torn")
    there, found = status_of(path, verify=False), status_of(path)
    assert (there.part, there.shards_done, there.verified) == (2 / 6, 2, False)
    assert (found.part, found.shards_done, found.verified) == (1 / 6, 1, True)
    assert there.unusable == ("shards/000002.npz", "checkpoints/000004.npz")
    assert found.unusable == ("shards/000001.npz", *there.unusable)
    said = CliRunner().invoke(app, ["status", str(path)])
    assert (said.exit_code, said.stdout.splitlines()[1]) == (0, "16.7 % done, 1 of 6 trials kept (1 of 6 shards)")
    assert f"computed again on resume: {', '.join(found.unusable)}" in said.stdout
    computed: list[float] = []
    tracker.run(SCENARIO, path, 1, resume=True, notice=str, progress=lambda done, of, _: computed.append(done / of))
    assert next(part for part in computed if part) == found.part
    with hold_lock(path):
        assert status_of(path).part == 1.0


def test_status_reads_much_only_when_asked(broken_off: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_BYTES_VERIFIED_UNASKED", 10.0)
    assert status_of(broken_off).verified is False
    assert "--verify reads them" in CliRunner().invoke(app, ["status", str(broken_off)]).stdout
    assert json.loads(CliRunner().invoke(app, ["status", str(broken_off), "--verify", "--json"]).stdout)["verified"]


@pytest.mark.parametrize("name", ["result.nc", "summary.json"])
def test_status_of_a_finished_run_that_was_damaged(name: str, tmp_path: Path) -> None:
    tracker.run(TINY, tmp_path / "run", 1)
    (tmp_path / "run" / name).write_bytes(flipped((tmp_path / "run" / name).read_bytes(), random.Random(1)))
    said = CliRunner().invoke(app, ["status", str(tmp_path / "run")])
    assert (said.exit_code, f"damaged: {name}" in said.stderr) == (7, True)
    assert CliRunner().invoke(app, ["status", str(tmp_path / "run"), "--no-verify"]).exit_code == 0
