"""``watch`` reads finished shards of a run under way, of one that was killed, and of one that was replaced."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from interpreting import interpreted, interpreting
from typer.testing import CliRunner
from worlds import bowls

import tracker
from tracker.cli import app
from tracker.formatting import number
from tracker.metrics.averages import half_width
from tracker.runs.so_far import FinishedShards

NAMES = ("slow", "quick", "frozen", "oracle", "filter")


class Killed(RuntimeError):
    """The process ended here."""


def begun(folder: Path, trials: int = 12, **changes: object) -> tracker.Run:
    """A run that is killed when two shards are finished; return what it would have become."""
    scenario = bowls(trials=trials, steps=60, **changes)
    whole = interpreted(scenario)
    journal = folder / "journal.jsonl"

    def stop(*_: object) -> None:
        if journal.exists() and len(journal.read_text().splitlines()) >= 2:
            raise Killed

    with interpreting(), pytest.raises(Killed):
        tracker.run(scenario, folder, executor=1, shard_size=3, progress=stop)
    return whole


def test_the_errors_so_far_are_those_of_the_finished_trials(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    whole = begun(folder)
    seen = FinishedShards(folder)
    seen.look()
    count = sum(len(errors) for errors in seen.errors.values())
    assert 3 <= count < 12
    sums = whole.arrays["by_mode"][:count].sum(axis=2)
    columns = whole.measured.columns
    errors = sums[..., columns.index("error")] / sums[..., columns.index("steps")]
    rows = seen.rows()
    assert [row.sampler for row in rows] == list(NAMES)
    np.testing.assert_allclose([row.mean for row in rows], errors.mean(axis=0), rtol=1e-12)  # identity
    if count >= 5:
        reach = half_width(errors[:, 0].std(ddof=1) / np.sqrt(count), count)
        assert rows[0].mean - rows[0].low == pytest.approx(float(reach), rel=1e-9)
    done = CliRunner().invoke(app, ["watch", str(folder), "--once"])
    assert done.exit_code == 0, done.output
    assert "so far" in done.stdout
    assert f"{count} of 12 trials" in done.stdout
    assert "nobody computes; to continue:" in done.stdout
    told = CliRunner().invoke(app, ["status", str(folder)]).stdout
    best = min(rows[:2], key=lambda row: row.mean)  # of the samplers: baselines are in no race
    assert f"smallest tracking error so far: {best.sampler}, {number(best.mean, 4)}" in told
    assert f"over {count} trials; tracker watch shows all" in told


def test_a_damaged_shard_counts_as_not_finished_and_a_replaced_run_is_read_anew(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    begun(folder)
    seen = FinishedShards(folder)
    seen.look()
    kept = dict(seen.errors)
    shard = min((folder / "shards").iterdir())
    data = bytearray(shard.read_bytes())
    data[-30] ^= 1
    shard.write_bytes(bytes(data))
    again = FinishedShards(folder)
    again.look()
    assert len(again.errors) == len(kept) - 1
    shutil.rmtree(folder)
    begun(folder, seed=7)
    seen.look()  # the same watcher: nothing of the other run is left
    fresh = FinishedShards(folder)
    fresh.look()
    assert seen.errors.keys() == fresh.errors.keys()
    assert all(np.array_equal(seen.errors[n], fresh.errors[n]) for n in fresh.errors)
    assert not np.array_equal(seen.errors[0], kept[0])  # control: it is another run


def test_every_kind_of_array_is_read_back(tmp_path: Path) -> None:
    """Also those of a filter and its alarms, whatever the order in which their numbers lie in memory."""
    whole = begun(tmp_path / "run")
    assert {"mode_probability", "alarm_steps"} <= whole.arrays.keys()
    told: list[str] = []
    with interpreting():
        again = tracker.run(whole.scenario, tmp_path / "run", 1, shard_size=3, resume=True, notice=told.append)
    assert (told, again.summary["hash"]) == ([], whole.summary["hash"])
    assert not (tmp_path / "run" / "damaged").exists()


def test_a_complete_run_is_told_and_ends_the_watch(tmp_path: Path) -> None:
    run = interpreted(bowls(), tmp_path / "run")
    done = CliRunner().invoke(app, ["watch", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    assert "complete, 6 trials" in done.stdout
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["hash"] == run.summary["hash"]
    nothing = CliRunner().invoke(app, ["watch", str(tmp_path / "nothing")])
    assert nothing.exit_code == 7
