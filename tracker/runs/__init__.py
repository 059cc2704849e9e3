"""Runs: a scenario carried out, in memory or in a run directory."""

from __future__ import annotations

from tracker.runs.execution import run
from tracker.runs.points import axes_of, points_of
from tracker.runs.reading import CorruptRun, open_run
from tracker.runs.result import Run
from tracker.runs.storage import RunExists
from tracker.runs.sweeping import Sweep, sweep

__all__ = ["CorruptRun", "Run", "RunExists", "Sweep", "axes_of", "open_run", "points_of", "run", "sweep"]
