"""Tell from outside how far a run is, without locking or writing anything."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tracker.runs.file_names import DAMAGED
from tracker.runs.lock_file import living_holder
from tracker.runs.manifest import shards_of, trials_of
from tracker.runs.ownership import read_manifest
from tracker.runs.resume_preview import preview_resume
from tracker.runs.run_identity import resolve_links, resume_command
from tracker.runs.sign_of_life import sign_of_life

if TYPE_CHECKING:
    from tracker.runs.run_errors import FailedShard

COMPLETE, RUNNING, RESUMABLE = "complete", "running", "resumable"


class Status(NamedTuple):
    """How far a run is.

    Attributes
    ----------
    state : "complete", "running" or "resumable"
    holder : str or None
        Which process writes to it.
    part : float
        How much of the steps is done, 0 to 1, and would not be done again: shards that are kept, and snapshots of
        shards that are not finished; of a run under way, also what its process has in memory.
    seconds_left : float or None
        From the speed since the process began; None where nothing tells.
    seconds_since : float or None
        Since the last sign of life of a run under way.
    damaged : int
        Files that were put aside.
    unusable : tuple of str
        Files that are missing or damaged now; a resume computes again what they held.
    verified : bool
        Whether the content of the files was checked, not only whether they are there.
    resume : str or None
        The command that continues a resumable run.
    part_of_run : str or None
        "3/10" for part 3 of 10 of a run, whose share of the trials the other fields are about; None for a whole run.
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
    unusable: tuple[str, ...]
    verified: bool
    resume: str | None
    part_of_run: str | None = None


def status_of(path: str | Path, *, verify: bool | None = None) -> Status:
    """Return how far the run in the directory ``path`` is; ``CorruptRun`` where there is none.

    With ``verify`` all that is kept is read and checked against its hashes; by default where that takes a second or so.
    """
    given = Path(path)
    path = resolve_links(given)
    manifest = read_manifest(path)
    holder = living_holder(path)
    state = COMPLETE if manifest.complete else RUNNING if holder is not None else RESUMABLE
    # a process has in memory what it keeps: its files matter to nobody yet
    kept = preview_resume(path, manifest, False if verify is None and state == RUNNING else verify)
    sign = sign_of_life(path) if state == RUNNING else None
    part, speed, left = kept.part, None, None
    if sign:
        part = max(part, sign["done"] / sign["total"])
        speed = max(0.0, sign["done"] - sign["base"]) / max(sign["at"] - sign["began"], 1e-9)
        left = (sign["total"] - sign["done"]) / speed if speed > 0 else None
    return Status(
        name=manifest.name,
        state=state,
        holder=str(holder) if holder is not None else None,
        trials=len(trials_of(manifest)),
        trials_done=kept.trials,
        shards=len(shards_of(manifest)),
        shards_done=kept.shards,
        part=part,
        steps_per_second=speed,
        seconds_left=left,
        seconds_since=max(0.0, time.time() - sign["at"]) if sign else None,
        failed=manifest.failed,
        damaged=len(list((path / DAMAGED).glob("*"))),
        unusable=kept.unusable,
        verified=kept.verified,
        resume=resume_command("run", given, manifest) if state == RESUMABLE else None,
        part_of_run=str(manifest.part) if manifest.part is not None else None,
    )
