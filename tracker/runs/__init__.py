"""Runs: a scenario carried out, in memory or in a run directory."""

from __future__ import annotations

from tracker.runs.execution import run
from tracker.runs.reading import CorruptRun, open_run
from tracker.runs.result import Run
from tracker.runs.storage import RunExists

__all__ = ["CorruptRun", "Run", "RunExists", "open_run", "run"]
