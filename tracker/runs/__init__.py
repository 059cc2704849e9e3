"""Runs: a scenario carried out, in memory or in a run directory that survives, resumes and is read back; and sweeps."""

from __future__ import annotations

from tracker.runs.errors import CorruptRun, FailedShard, NothingComputed, RunDiffers, RunExists, RunLocked
from tracker.runs.execution import run
from tracker.runs.points import axes_of, points_of
from tracker.runs.reading import open_run
from tracker.runs.result import Run
from tracker.runs.sweep_reading import open_sweep
from tracker.runs.sweeping import Sweep, sweep

__all__ = [
    "CorruptRun",
    "FailedShard",
    "NothingComputed",
    "Run",
    "RunDiffers",
    "RunExists",
    "RunLocked",
    "Sweep",
    "axes_of",
    "open_run",
    "open_sweep",
    "points_of",
    "run",
    "sweep",
]
