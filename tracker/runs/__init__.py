"""Run scenarios and sweeps, in memory or in a directory that can be resumed and read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracker.lazy_names import lazy_names

if TYPE_CHECKING:
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
else:  # what a type checker must not see: it would take any name for granted
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "merged_parts": ["merge"],
            "run_errors": [
                "CorruptRun", "FailedShard", "FewerTrials", "NothingComputed", "RunDiffers", "RunExists", "RunLocked",
            ],
            "run_reading": ["open_run"],
            "run_result": ["Run"],
            "run_trials": ["run"],
            "sweep_points": ["axes_of", "points_of"],
            "sweep_reading": ["open_sweep"],
            "sweep_result": ["Sweep"],
            "sweep_running": ["sweep"],
        },
    )  # fmt: skip

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
