"""Run scenarios and sweeps, in memory or in a directory that can be resumed and read back."""

from __future__ import annotations

from tracker.runs.merged_parts import merge
from tracker.runs.run_errors import (
    CorruptRun,
    FailedShard,
    FewerTrials,
    NothingComputed,
    RunDiffers,
    RunExists,
    RunLocked,
)
from tracker.runs.run_reading import open_run
from tracker.runs.run_result import Run
from tracker.runs.run_trials import run
from tracker.runs.sweep_points import axes_of, points_of
from tracker.runs.sweep_reading import open_sweep
from tracker.runs.sweep_result import Sweep
from tracker.runs.sweep_running import sweep

__all__ = [
    "CorruptRun",
    "FailedShard",
    "FewerTrials",
    "NothingComputed",
    "Run",
    "RunDiffers",
    "RunExists",
    "RunLocked",
    "Sweep",
    "axes_of",
    "merge",
    "open_run",
    "open_sweep",
    "points_of",
    "run",
    "sweep",
]
