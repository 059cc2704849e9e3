"""How far a run is, seen from outside: nothing is locked, nothing is written."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tracker.runs.locking import living_holder
from tracker.runs.records import read_journal
from tracker.runs.storage import DAMAGED, JOURNAL, PROGRESS, read_manifest

if TYPE_CHECKING:
    from tracker.runs.errors import FailedShard
    from tracker.runs.records import Manifest

COMPLETE, RUNNING, RESUMABLE = "complete", "running", "resumable"


class Status(NamedTuple):
    """How far a run is.

    Attributes
    ----------
    state : "complete", "running" or "resumable"
    holder : str or None
        Which process writes to it.
    part : float
        How much of the steps is done, 0 to 1; with a run under way, shards that are not finished count too.
    seconds_left : float or None
        From the speed since the process began; None where nothing tells.
    seconds_since : float or None
        Since the last sign of life of a run under way.
    damaged : int
        Files that were put aside.
    """

    name: str
    state: str
    holder: str | None
    trials: int
    trials_done: int
    shards: int
    shards_done: int
    part: float
    steps_per_second: float | None
    seconds_left: float | None
    seconds_since: float | None
    failed: tuple[FailedShard, ...]
    damaged: int


def status_of(path: str | Path) -> Status:
    """Return how far the run in the directory ``path`` is; ``CorruptRun`` where there is none."""
    path = Path(path).resolve()
    manifest = read_manifest(path)
    holder = living_holder(path)
    shards = -(-manifest.trials // manifest.shard_size)
    trials_done, shards_done = _kept(path, manifest) if not manifest.complete else (manifest.trials, shards)
    state = COMPLETE if manifest.complete else RUNNING if holder is not None else RESUMABLE
    sign = _sign_of_life(path) if state == RUNNING else {}
    part, speed, left = trials_done / manifest.trials, None, None
    if sign:
        part = max(part, sign["done"] / sign["total"])
        speed = (sign["done"] - sign["base"]) / max(sign["at"] - sign["began"], 1e-9)
        left = (sign["total"] - sign["done"]) / speed if speed > 0 else None
    return Status(
        name=manifest.name,
        state=state,
        holder=str(holder) if holder is not None else None,
        trials=manifest.trials,
        trials_done=trials_done,
        shards=shards,
        shards_done=shards_done,
        part=part,
        steps_per_second=speed,
        seconds_left=left,
        seconds_since=max(0.0, time.time() - sign["at"]) if sign else None,
        failed=manifest.failed,
        damaged=len(list((path / DAMAGED).glob("*"))),
    )


def _kept(path: Path, manifest: Manifest) -> tuple[int, int]:
    try:
        data = (path / JOURNAL).read_bytes()
    except OSError:
        return 0, 0
    entries = read_journal(data, manifest.identity).entries.values()
    return sum(entry.stop - entry.first for entry in entries), len(entries)


def _sign_of_life(path: Path) -> dict[str, Any]:
    try:
        sign = json.loads((path / PROGRESS).read_bytes())
        return {key: float(sign[key]) for key in ("done", "base", "total", "began", "at")}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
