"""Runs: a scenario carried out, in memory or in a run directory that survives, resumes and is read back."""

from __future__ import annotations

from tracker.runs.errors import CorruptRun, FailedShard, NothingComputed, RunDiffers, RunExists, RunLocked
from tracker.runs.execution import run
from tracker.runs.reading import open_run
from tracker.runs.result import Run

__all__ = [
    "CorruptRun",
    "FailedShard",
    "NothingComputed",
    "Run",
    "RunDiffers",
    "RunExists",
    "RunLocked",
    "open_run",
    "run",
]
